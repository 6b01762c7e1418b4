/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detects segments without new information before the state machine runs: keep-alives and their answers, answers to
 * probes of a closed window, old acknowledgments, retransmissions of acknowledged data. Also detects forged window
 * updates, which would shrink the window so that segments of the real peer are outside of it.
 */
#include "stream_priv.h"

static bool has_no_syn_fin_rst(const struct segment *seg)
{
    return !(seg->pkt->tcp.flags & (TCP_SYN | TCP_FIN | TCP_RST));
}

static bool is_bare_ack(const struct segment *seg)
{
    return seg->session->state >= TCP_STATE_ESTABLISHED && seg->length == 0 && seg->has_ack && has_no_syn_fin_rst(seg);
}

/*
 * RFC 9293 §3.8.4: a keep-alive has the sequence number next_seq - 1 and contains no byte or one arbitrary byte. A byte
 * must be in acknowledged data: otherwise the receiver may accept it as new data, for example if the segment that
 * contained the original byte is still under way.
 */
static bool is_keepalive(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;

    if (seg->length > 1 || !has_no_syn_fin_rst(seg) || seg->ack != seg->receiver->last_ack ||
        seg->seq != sender->next_seq - 1)
        return false;
    if (seg->length == 1 && seq_before(sender->last_ack, sender->next_seq))
        return false;
    sender->flags |= PEER_KEEPALIVE;
    seg->pkt->stream_flags |= PACKET_STREAM_KEEPALIVE;
    if (segment_is_inline(seg)) /* inline, it also announces a window */
        peer_extend_window(seg->receiver, seg->ack + segment_window(seg));
    return true;
}

static bool answers_keepalive(struct segment *seg)
{
    struct tcp_peer *receiver = seg->receiver;

    if (seg->length > 0 || !has_no_syn_fin_rst(seg) || seg->pkt->tcp.window == 0 ||
        segment_window(seg) != receiver->window || !(receiver->flags & PEER_KEEPALIVE) ||
        seg->ack != receiver->last_ack || seg->seq != seg->sender->next_seq)
        return false;
    receiver->flags &= (uint16_t)~PEER_KEEPALIVE;
    seg->pkt->stream_flags |= PACKET_STREAM_KEEPALIVE_ACK;
    return true;
}

static bool answers_window_probe(struct segment *seg)
{
    if (!seg->answers_probe || !is_bare_ack(seg) || seg->pkt->tcp.window != 0 || seg->receiver->window != 0 ||
        seg->seq != seg->sender->next_seq || seg->ack != seg->receiver->last_ack)
        return false;
    seg->pkt->stream_flags |= PACKET_STREAM_ZERO_WINDOW_PROBE_ACK;
    return true;
}

/* Returns true for the ACK of the last FIN, when both sides have sent FIN. */
static bool is_last_ack(const struct segment *seg)
{
    uint8_t state = seg->session->state;

    return (state == TCP_STATE_TIME_WAIT || state == TCP_STATE_CLOSE_WAIT || state == TCP_STATE_LAST_ACK) &&
           seg->pkt->tcp.flags == TCP_ACK && seg->length == 0 && seg->seq == seg->sender->next_seq + 1 &&
           seg->ack == seg->receiver->next_seq + 1;
}

static bool is_window_update(struct segment *seg)
{
    if (seg->session->state < TCP_STATE_ESTABLISHED || seg->length > 0 || !has_no_syn_fin_rst(seg) ||
        seg->pkt->tcp.window == 0 || segment_window(seg) == seg->receiver->window ||
        seg->ack != seg->receiver->last_ack || seg->seq != seg->sender->next_seq)
        return false;
    seg->pkt->stream_flags |= PACKET_STREAM_WINDOW_UPDATE;
    return true;
}

/* Returns true for a segment whose sequence and acknowledgment numbers are both beyond the expected ones, and whose
 * window shrinks by more than its data and acknowledgment explain. Not checked for sessions picked up inline, whose
 * earlier numbers are unknown and whose window is not enforced, nor if acknowledgments are missed. */
static bool is_bad_window_update(struct segment *seg)
{
    enum { WINDOW_WITH_MARGIN = 1024, MARGIN = 32 };
    const struct tcp_peer *receiver = seg->receiver;
    uint8_t state = seg->session->state;
    uint32_t window = segment_window(seg), shrinks, acknowledges;

    if (state < TCP_STATE_ESTABLISHED || state == TCP_STATE_CLOSED || !has_no_syn_fin_rst(seg) ||
        window >= receiver->window || segment_is_midstream(seg) || receiver->flags & PEER_ACKS_MISSED)
        return false;
    shrinks = receiver->window - window;
    acknowledges = seg->ack - receiver->last_ack;
    bool has_uncounted_fin = segment_is_inline(seg) && (receiver->flags & PEER_FIN);

    if (shrinks <= seg->length || !seq_after(seg->ack, receiver->next_seq + has_uncounted_fin) ||
        !seq_after(seg->seq, seg->sender->next_seq))
        return false;
    if (shrinks <= (uint64_t)acknowledges + (window > WINDOW_WITH_MARGIN ? MARGIN : 0))
        return false;
    segment_add_event(seg, STREAM_EVENT_PKT_BAD_WINDOW_UPDATE);
    return true;
}

/* Returns true for an acknowledgment without new information. Inline, its sequence number may also be lower than the
 * next one: the acknowledgment was reordered, and dropping it has no benefit. */
static bool is_outdated_ack(const struct segment *seg)
{
    bool in_place =
        segment_is_inline(seg) ? seq_at_or_before(seg->seq, seg->sender->next_seq) : seg->seq == seg->sender->next_seq;

    return is_bare_ack(seg) && in_place && seq_before(seg->ack, seg->receiver->last_ack) &&
           (seg->pkt->tcp.sack_count == 0 || sack_is_outdated(seg->receiver, seg->pkt));
}

/* Inline, before the SYN/ACK, no segment counts as a retransmission: the SYN that was seen may be old, so that the
 * server has sent much more, and data with lower sequence numbers may belong to another connection. */
static bool is_before_syn_ack(const struct segment *seg)
{
    return seg->session->state == TCP_STATE_SYN_SENT && segment_is_inline(seg);
}

/* Sets the event for a segment whose bytes are all acknowledged or precede the stored bytes. Returns true only if they
 * precede the stored bytes, so that they cannot be compared. */
static bool is_spurious_retransmission(struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;
    bool before_base =
        !(sender->flags & PEER_STOPPED) && peer_offset(sender, seg->end) <= (int64_t)sender->assembly.base;

    if (seg->length == 0 || (seg->pkt->tcp.flags & TCP_SYN) || is_before_syn_ack(seg) ||
        (!before_base && !seq_at_or_before(seg->end, sender->last_ack)))
        return false;
    seg->pkt->stream_flags |= PACKET_STREAM_SPURIOUS_RETRANSMISSION;
    segment_add_event(seg, STREAM_EVENT_PKT_SPURIOUS_RETRANSMISSION);
    return before_base;
}

enum filtered filter_segment(struct segment *seg)
{
    if (is_keepalive(seg))
        return FILTER_DONE;
    bool is_answer = answers_keepalive(seg);

    seg->sender->flags &= (uint16_t)~PEER_KEEPALIVE;
    if (is_answer)
        return FILTER_DONE;
    seg->answers_probe = seg->receiver->flags & PEER_WINDOW_PROBE;
    seg->receiver->flags &= (uint16_t)~PEER_WINDOW_PROBE;
    if (answers_window_probe(seg))
        return FILTER_DONE;
    if (!is_last_ack(seg) && !is_window_update(seg)) {
        /* Inline, a segment with data is rejected, because its data would reach the receiver without being added to the
         * stream. */
        if (is_bad_window_update(seg))
            return segment_is_inline(seg) && seg->length > 0 ? FILTER_INVALID : FILTER_DONE;
        if (is_outdated_ack(seg))
            return FILTER_DONE;
    }
    if (!is_spurious_retransmission(seg))
        return FILTER_GO_ON;
    /* Data with sequence numbers before the pick-up is not added to the stream. If it may be new to the receiver, it is
     * dropped: the receiver's acknowledgment then shows which number it expects (has_wrong_start()), and the sender
     * retransmits the data. */
    return session_begins_anywhere(&seg->stream->options, seg->session, seg->pkt->time_ns) &&
                   (seg->sender->flags & PEER_HEARD)
               ? FILTER_INVALID
               : FILTER_DONE;
}
