/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The states after a FIN. The expected sequence numbers depend on the sender of the FIN: next_seq of the server
 * includes its FIN, next_seq of the client does not (established_on_fin()).
 */
#include <errno.h>

#include "stream_priv.h"

int closing_on_syn(struct segment *seg)
{
    uint8_t state = seg->session->state;

    if ((state < TCP_STATE_TIME_WAIT || state == TCP_STATE_CLOSE_WAIT) && syn_ack_is_older(seg))
        return 0;
    if (state == TCP_STATE_CLOSE_WAIT && syn_is_overtaken(seg))
        return 0;
    if (seg->kind == SEGMENT_SYN &&
        (segment_is_inline(seg) || seg->seq != seg->sender->isn)) /* some systems reuse the initial sequence number */
        return handle_other_syn(seg, STREAM_EVENT_SHUTDOWN_SYN_RESEND);
    return segment_reject(seg, STREAM_EVENT_SHUTDOWN_SYN_RESEND);
}

/* Updates the session for an accepted segment. `again`: a retransmission, which does not update the window. */
static void accept_segment(struct segment *seg, bool again)
{
    if (!again)
        peer_set_window(seg->receiver, segment_window(seg));
    record_timestamp(seg);
    peer_extend_to_ack(seg);
    peer_update_from_answer(seg);
}

/* Sets next_seq behind a segment that contains or touches the expected number; a retransmission may also contain new
 * data. */
static void advance_from(struct segment *seg, uint32_t expected)
{
    if (seq_at_or_before(seg->seq, expected) && seq_at_or_after(seg->end, expected))
        peer_advance(seg, seg->sender, seg->end);
}

/* Inline: returns true for a retransmission of a known FIN, whatever it acknowledges, or for the first FIN of a sender
 * whose later ACK overtook it. */
static bool is_fin_late(const struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;

    if (sender->flags & PEER_FIN)
        return segment_is_inline(seg) && seg->end == sender->fin_seq;
    return segment_is_inline(seg) && seq_before(seg->end, sender->next_seq) &&
           (segment_is_midstream(seg) || seq_at_or_after(seg->end, sender->last_ack));
}

/* Returns true for a retransmitted FIN. A FIN of the server may have a newer acknowledgment number; in passive mode a
 * FIN of the client may not. */
static bool is_fin_retransmission(const struct segment *seg)
{
    if (is_fin_late(seg))
        return true;
    return seg->end == seg->sender->next_seq - 1 &&
           (seg->direction == FLOW_TO_CLIENT || seg->ack == seg->receiver->last_ack);
}

/* Inline: returns true for a segment that was sent before its sender's FIN, or before the ACK behind the FIN: it was
 * reordered, or it retransmits lost data. */
static bool is_before_fin(const struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;

    if (!segment_is_inline(seg))
        return false;
    if (sender->flags & PEER_FIN)
        return seq_at_or_before(seg->end, sender->fin_seq + (seg->length == 0));
    return seg->length == 0 && seq_before(seg->seq, sender->next_seq);
}

/* --- FIN_WAIT1: the server has sent FIN ----------------------------------------------------------- */

int fin_wait1_on_fin(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;
    bool to_client = seg->direction == FLOW_TO_CLIENT;

    if (!check_timestamp(seg))
        return -EINVAL;
    if (fin_is_older(seg))
        return 0;
    bool again = (to_client ? is_fin_retransmission(seg) : is_fin_late(seg)) || check_retransmission(seg);

    if (!again && (seq_before(seg->end, sender->next_seq - 1) || !check_window(seg)))
        return segment_reject(seg, STREAM_EVENT_FIN1_FIN_WRONG_SEQ);
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_FIN1_INVALID_ACK);
    if (!again)
        session_set_state(seg, seg->has_ack ? TCP_STATE_TIME_WAIT : TCP_STATE_CLOSING);
    accept_segment(seg, again);
    if (!again)
        advance_from(seg, to_client ? sender->next_seq - 1 : sender->next_seq);
    peer_record_fin(seg);
    data_add(seg);
    return 0;
}

static void finish_ack(struct segment *seg, uint32_t expected)
{
    record_timestamp(seg);
    peer_extend_to_ack(seg);
    advance_from(seg, expected);
    peer_update_from_answer(seg);
    data_add(seg);
}

/* The segment may acknowledge the server's FIN. */
int fin_wait1_on_ack_to_server(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender, *receiver = seg->receiver;

    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg);

    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_FIN1_INVALID_ACK);
    if (!again && !check_window(seg))
        return segment_reject(seg, STREAM_EVENT_FIN1_ACK_WRONG_SEQ);
    if (!again && seg->ack == receiver->next_seq) {
        if (seg->seq == sender->next_seq)
            session_set_state(seg, TCP_STATE_FIN_WAIT2);
        peer_set_window(receiver, segment_window(seg));
    }
    finish_ack(seg, sender->next_seq);
    return 0;
}

int fin_wait1_on_ack_to_client(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;

    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg);

    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_FIN1_INVALID_ACK);
    if (!again) {
        if (!check_window(seg))
            return segment_reject(seg, STREAM_EVENT_FIN1_ACK_WRONG_SEQ);
        if (seg->seq == sender->next_seq - 1)
            session_set_state(seg, TCP_STATE_FIN_WAIT2);
        peer_set_window(seg->receiver, segment_window(seg));
    }
    finish_ack(seg, sender->next_seq - 1);
    return 0;
}

/* --- FIN_WAIT2: the FIN of the server was acknowledged -------------------------------------------- */

int fin_wait2_on_fin(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;

    if (!check_timestamp(seg))
        return -EINVAL;
    if (fin_is_older(seg))
        return 0;
    bool again = is_fin_retransmission(seg) || check_retransmission(seg);

    if (!again && (seq_before(seg->end, sender->next_seq) || !check_window(seg)))
        return segment_reject(seg, STREAM_EVENT_FIN2_FIN_WRONG_SEQ);
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_FIN2_INVALID_ACK);
    if (!again)
        session_set_state(seg, TCP_STATE_TIME_WAIT);
    accept_segment(seg, again);
    if (!again)
        advance_from(seg, sender->next_seq);
    peer_record_fin(seg);
    data_add(seg);
    return 0;
}

int fin_wait2_on_ack(struct segment *seg)
{
    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg);

    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_FIN2_INVALID_ACK);
    if (!again) {
        if (!check_window(seg))
            return segment_reject(seg, STREAM_EVENT_FIN2_ACK_WRONG_SEQ);
        peer_set_window(seg->receiver, segment_window(seg));
    }
    finish_ack(seg, seg->sender->next_seq);
    return 0;
}

/* --- CLOSING: both have sent FIN at once ---------------------------------------------------------- */

int closing_on_fin(struct segment *seg)
{
    return seg->has_ack ? closing_on_ack(seg) : without_flags(seg);
}

int closing_on_ack(struct segment *seg)
{
    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg);

    if (seg->seq != seg->sender->next_seq && !is_before_fin(seg))
        return segment_reject(seg, STREAM_EVENT_CLOSING_ACK_WRONG_SEQ);
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_CLOSING_INVALID_ACK);
    if (!again)
        session_set_state(seg, TCP_STATE_TIME_WAIT);
    accept_segment(seg, again);
    data_add(seg);
    return 0;
}

/* --- CLOSE_WAIT: the client has sent FIN ---------------------------------------------------------- */

int close_wait_on_fin(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;

    if (!check_timestamp(seg))
        return -EINVAL;
    if (fin_is_older(seg))
        return 0;
    bool again = is_fin_late(seg) || check_retransmission(seg);

    if (!again && (seq_before(seg->end, sender->next_seq) || !check_window(seg)))
        return segment_reject(seg, STREAM_EVENT_CLOSEWAIT_FIN_OUT_OF_WINDOW);
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_CLOSEWAIT_INVALID_ACK);
    if (!again && seg->direction == FLOW_TO_CLIENT)
        session_set_state(seg, TCP_STATE_LAST_ACK);
    accept_segment(seg, again);
    if (!again)
        advance_from(seg, sender->next_seq);
    peer_record_fin(seg);
    data_add(seg);
    return 0;
}

int close_wait_on_ack(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;

    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg);

    if (seg->length > 0 && seq_at_or_before(seg->end, sender->last_ack)) { /* passes, as in ESTABLISHED */
        segment_add_event(seg, STREAM_EVENT_CLOSEWAIT_PKT_BEFORE_LAST_ACK);
        if (segment_is_inline(seg))
            data_add(seg);
        return 0;
    }
    if (!check_window(seg))
        return segment_reject(seg, STREAM_EVENT_CLOSEWAIT_ACK_OUT_OF_WINDOW);
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_CLOSEWAIT_INVALID_ACK);
    accept_segment(seg, again);
    advance_from(seg, sender->next_seq);
    data_add(seg);
    return 0;
}

/* --- LAST_ACK: the server has sent FIN, too ------------------------------------------------------- */

/* Both sides have sent FIN, so only retransmissions and the server's acknowledgment of the client's FIN are expected.
 * The data of a retransmission is compared with the stored data. */
int last_ack_on_other(struct segment *seg)
{
    if (!check_window(seg) || (seg->has_ack && !check_ack(seg)))
        return segment_is_inline(seg) ? -EINVAL : 0;
    peer_update_from_answer(seg);
    if (seg->kind == SEGMENT_ACK && session_is_complete(seg->session))
        session_set_state(seg, TCP_STATE_CLOSED);
    data_add(seg);
    return 0;
}

int last_ack_on_ack(struct segment *seg)
{
    uint32_t next_seq = seg->sender->next_seq;

    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg);

    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_LASTACK_INVALID_ACK);
    if (!again && seq_after(seg->seq, next_seq + 1))
        return segment_reject(seg, STREAM_EVENT_LASTACK_ACK_WRONG_SEQ);
    accept_segment(seg, again);
    if (session_is_complete(seg->session)) /* both FINs are acknowledged; the segment may be a reset that answers data
                                              sent before the FIN */
        session_set_state(seg, TCP_STATE_CLOSED);
    data_add(seg);
    return 0;
}

/* --- TIME_WAIT ------------------------------------------------------------------------------------ */

int time_wait_on_fin(struct segment *seg)
{
    return last_ack_on_other(seg);
}

int time_wait_on_ack(struct segment *seg)
{
    uint32_t next_seq = seg->sender->next_seq, beside = seg->direction == FLOW_TO_SERVER ? next_seq + 1 : next_seq - 1;

    if (!check_timestamp(seg))
        return -EINVAL;
    bool again = check_retransmission(seg) || is_before_fin(seg);

    if (!again && seg->seq != next_seq && seg->seq != beside) {
        if (seg->direction == FLOW_TO_CLIENT && seg->length > 0 && seg->seq == seg->sender->last_ack)
            return last_ack_on_other(seg);
        return segment_reject(seg, STREAM_EVENT_TIMEWAIT_ACK_WRONG_SEQ);
    }
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_TIMEWAIT_INVALID_ACK);
    accept_segment(seg, again);
    if (session_is_complete(seg->session))
        session_set_state(seg, TCP_STATE_CLOSED);
    data_add(seg);
    return 0;
}

/* --- CLOSED --------------------------------------------------------------------------------------- */

int closed_on_reset(struct segment *seg)
{
    (void)seg;
    return 0;
}

/*
 * If the receiver may have ignored the reset that closed the session, the session continues in its previous state.
 * Otherwise no more segments are expected. Inline, new data is rejected, because it would not be inspected at its
 * offset in the stream.
 */
int closed_on_any(struct segment *seg)
{
    struct tcp_session *session = seg->session;

    /* A SYN/ACK after a reset in SYN_SENT: the client ignored the reset that answered its SYN, or the server ignored a
     * reset that arrived before its SYN/ACK. */
    if (session->previous == TCP_STATE_SYN_SENT && seg->kind == SEGMENT_SYN_ACK && seg->direction == FLOW_TO_CLIENT &&
        seg->ack == seg->receiver->isn + 1) {
        session_set_state(seg, TCP_STATE_SYN_SENT);
        return state_dispatch(seg, TCP_STATE_SYN_SENT);
    }
    if ((seg->receiver->flags & PEER_RESET_RECEIVED) && !(seg->sender->flags & PEER_RESET_RECEIVED) &&
        session->previous != TCP_STATE_CLOSED) {
        int err = state_dispatch(seg, (enum tcp_state)session->previous);

        if (!err && session->state == TCP_STATE_CLOSED)
            session_set_state(seg, (enum tcp_state)session->previous);
        if (!err && seg->kind == SEGMENT_SYN && session->state >= TCP_STATE_ESTABLISHED)
            half_open_record_syn(seg);
        return err;
    }
    /* Inline: a SYN with the initial sequence number of the closed session. The client may open a new connection, or
     * may only pretend to, while the server still has the old connection. Only the server's SYN/ACK shows that the
     * connection is new (stream_is_port_reuse()), so data in the SYN is dropped. */
    if (seg->kind == SEGMENT_SYN && segment_is_inline(seg)) {
        half_open_record_syn(seg);
        return seg->length == 0 ? 0 : segment_reject(seg, STREAM_EVENT_SHUTDOWN_SYN_RESEND);
    }
    bool is_old = seg->length == 0 || seq_at_or_before(seg->end, seg->sender->last_ack);

    return segment_is_inline(seg) && !is_old ? -EINVAL : 0;
}
