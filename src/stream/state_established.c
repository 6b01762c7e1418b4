/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ESTABLISHED: data, acknowledgments, and the start of the close. */
#include <errno.h>

#include "stream_priv.h"

/* --- Resets, in this state and all later ones ----------------------------------------------------- */

int closing_on_reset(struct segment *seg)
{
    /* Inline, a RST without ACK and with a sequence number below the acknowledgment of its receiver passes: the
     * receiver ignores it. A host whose program closes a socket with unread data answers each segment in flight with a
     * RST; its sequence number is the acknowledgment number of that segment. Only the last RST has the sequence number
     * that the receiver expects. */
    if (segment_is_inline(seg) && seg->length == 0 && !seg->has_ack && seq_before(seg->seq, seg->sender->last_ack) &&
        !(seg->session->flags & SESSION_ASYNC) && !segment_is_midstream(seg))
        return 0;
    if (!check_reset(seg))
        return -EINVAL;
    bool ack_is_right = seg->has_ack && check_ack(seg);

    session_close_by_reset(seg);
    if (ack_is_right)
        peer_update_ack(seg->receiver, seg->ack);
    peer_update_ack(seg->sender, seg->seq);
    record_timestamp(seg);
    data_add(seg);
    return 0;
}

int established_on_reset(struct segment *seg)
{
    return closing_on_reset(seg);
}

/* --- FIN ------------------------------------------------------------------------------------------ */

bool fin_is_older(const struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;

    return segment_is_inline(seg) && (seg->session->flags & SESSION_MIDSTREAM) && !(sender->flags & PEER_FIN) &&
           seq_before(seg->end, sender->last_ack);
}

int established_on_fin(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;
    bool to_server = seg->direction == FLOW_TO_SERVER;

    if (!check_timestamp(seg))
        return -EINVAL;
    if (fin_is_older(seg))
        return 0;
    if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_FIN_INVALID_ACK);
    /* The FIN may follow data that is already acknowledged, if it was retransmitted together with unacknowledged data.
     */
    if (seq_before(seg->end, sender->last_ack) || !check_window(seg))
        return segment_reject(seg, STREAM_EVENT_FIN_OUT_OF_WINDOW);
    if (seg->pkt->tcp.flags & TCP_SYN)
        return segment_reject(seg, STREAM_EVENT_FIN_SYN);
    session_set_state(seg, to_server ? TCP_STATE_CLOSE_WAIT : TCP_STATE_FIN_WAIT1);
    record_timestamp(seg);
    /* next_seq includes the sequence number of the server's FIN, but not that of the client's FIN: the handlers of the
     * following states depend on it. */
    peer_set_next_seq(sender, seg->end + (to_server ? 0 : 1));
    peer_set_window(seg->receiver, segment_window(seg));
    peer_extend_to_ack(seg);
    peer_update_from_answer(seg);
    peer_record_fin(seg);
    data_add(seg);
    return 0;
}

/* --- Repeated SYN and SYN/ACK --------------------------------------------------------------------- */

int established_on_syn_ack_to_server(struct segment *seg)
{
    segment_add_event(seg, STREAM_EVENT_EST_SYNACK_TOSERVER);
    return is_simultaneous_syn_ack(seg) ? 0 : -EINVAL;
}

bool syn_ack_is_older(const struct segment *seg)
{
    const struct tcp_peer *server = seg->sender, *client = seg->receiver;

    if (seg->kind != SEGMENT_SYN_ACK || seg->direction != FLOW_TO_CLIENT || seg->length > 0)
        return false;
    /* Picked-up session: the SYN/ACK was retransmitted before the pick-up or reordered. If the client has sent a SYN
     * since the pick-up, the SYN/ACK answers this SYN and opens another connection, whose data would have wrong
     * offsets. */
    if (segment_is_midstream(seg) && !(client->tcp_flags & TCP_SYN) && seq_at_or_before(seg->seq, server->isn) &&
        seq_at_or_before(seg->ack, client->next_seq + 1))
        return true;
    /* A copy of the first SYN/ACK counts as older until the server has sent another segment. */
    return segment_is_inline(seg) && seg->seq == server->isn && seg->ack == client->isn + 1 &&
           !(seg->session->flags & SESSION_CONFIRMED);
}

int established_on_syn_ack(struct segment *seg)
{
    if (syn_ack_is_older(seg))
        return 0;
    if (seg->ack != seg->receiver->last_ack)
        return segment_reject(seg, STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFFERENT_ACK);
    if (seg->seq != seg->sender->isn)
        return segment_reject(seg, STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFF_SEQ);
    /* As long as the server has sent nothing else, it may not have received the handshake's last ACK, and repeats the
     * SYN/ACK. */
    if (seg->session->flags & SESSION_CONFIRMED)
        return segment_reject(seg, STREAM_EVENT_EST_SYNACK_RESEND);
    return 0;
}

int established_on_syn_to_client(struct segment *seg)
{
    return handle_other_syn(seg, STREAM_EVENT_EST_SYN_TOCLIENT);
}

/* After the server has sent a segment behind the handshake, a copy of the SYN does not count as reordered any more. */
bool syn_is_overtaken(const struct segment *seg)
{
    return segment_is_inline(seg) && seg->kind == SEGMENT_SYN && seg->direction == FLOW_TO_SERVER && seg->length == 0 &&
           seg->seq == seg->sender->isn && !(seg->session->flags & SESSION_CONFIRMED);
}

int established_on_syn(struct segment *seg)
{
    if (syn_is_overtaken(seg)) {
        segment_add_event(seg, STREAM_EVENT_EST_SYN_RESEND);
        return 0;
    }
    /* Some systems reuse the initial sequence number for a new connection on the same ports. */
    return handle_other_syn(seg, seg->seq != seg->sender->isn ? STREAM_EVENT_EST_SYN_RESEND_DIFF_SEQ
                                                              : STREAM_EVENT_EST_SYN_RESEND);
}

/* --- Data and acknowledgments --------------------------------------------------------------------- */

/* For a session that was picked up within the data: at the first segment of the other side, sets the window in which
 * that side may send. Unless conntrack has reported the window scales, the window that this segment announces is the
 * best estimate. */
static void set_midstream_window(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *sender = seg->sender;

    if (!(session->flags & SESSION_MIDSTREAM_ESTABLISHED))
        return;
    sender->flags |= PEER_HEARD;
    if (!(seg->receiver->flags & PEER_HEARD))
        return;
    session->flags &= (uint16_t)~SESSION_MIDSTREAM_ESTABLISHED;
    if (session->flags & SESSION_SCALES_KNOWN)
        return;
    peer_set_window(sender, (uint32_t)seg->pkt->tcp.window << sender->window_scale);
    sender->next_win = sender->last_ack + sender->window;
}

int established_on_ack(struct segment *seg)
{
    struct tcp_session *session = seg->session;
    struct tcp_peer *sender = seg->sender, *receiver = seg->receiver;

    if (!check_timestamp(seg))
        return -EINVAL;
    /* The byte of a window probe is not included in next_seq, but may be acknowledged. */
    if (seg->has_ack && seg->answers_probe && seg->ack == receiver->next_seq + 1)
        segment_add_event(seg, STREAM_EVENT_EST_ACK_ZWP_DATA);
    else if (!check_ack(seg))
        return segment_reject(seg, STREAM_EVENT_EST_INVALID_ACK);
    set_midstream_window(seg);

    if (seq_before(seg->end, sender->last_ack) && (seg->length > 1 || seg->seq != sender->next_seq - 1)) {
        /* True if no acknowledgment of the sender's data is seen here, so last_ack does not show what is old. */
        bool is_one_sided = seg->direction == FLOW_TO_SERVER && seg->stream->options.async_oneside &&
                            (session->flags & SESSION_MIDSTREAM) &&
                            (sender->next_seq == seg->seq || sender->last_ack == sender->isn + 1);

        if (session->flags & SESSION_ASYNC || is_one_sided) {
            session->flags |= SESSION_ASYNC;
            peer_update_ack(sender, seg->seq);
        } else if (seq_at_or_before(sender->last_ack, sender->next_seq) ||
                   seq_at_or_before(seg->end, sender->next_seq)) { /* the data was seen before it was acknowledged */
            /* An old segment passes: the receiver has all of its data and repeats the acknowledgment, for which the
             * sender may be waiting. Inline its data is compared with the bytes that are still stored. */
            segment_add_event(seg, STREAM_EVENT_EST_PKT_BEFORE_LAST_ACK);
            if (segment_is_inline(seg))
                data_add(seg);
            return 0;
        }
    }
    if (check_window_probe(seg)) {
        sender->flags |= PEER_WINDOW_PROBE;
        seg->pkt->stream_flags |= PACKET_STREAM_ZERO_WINDOW_PROBE;
        data_add(seg);
        return 0;
    }
    if (!check_window(seg))
        return segment_reject(seg, STREAM_EVENT_EST_PACKET_OUT_OF_WINDOW);

    if (seg->direction == FLOW_TO_CLIENT)
        session->flags |= SESSION_CONFIRMED;
    record_timestamp(seg);
    if (seq_at_or_after(seg->end, sender->next_seq))
        peer_advance(seg, sender, seg->end);
    peer_set_window(receiver, segment_window(seg));
    peer_update_from_answer(seg);
    if (seg->has_ack && !(session->flags & SESSION_ASYNC) && seq_after(receiver->last_ack, receiver->next_seq)) {
        seg->pkt->stream_flags |= PACKET_STREAM_ACK_UNSEEN_DATA;
        stream_count(seg->stream, STREAM_ACK_UNSEEN_DATA);
    }
    data_add(seg);
    return 0;
}
