/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks whether the receiver would accept a segment's acknowledgment number, timestamp or reset. Operating systems
 * differ, so the checks depend on the receiver's system (host-os-policy), as in Suricata. They set Suricata's events.
 */
#include "stream_priv.h"

enum {
    PAWS_SECONDS = 24 * 24 * 60 * 60, /* RFC 7323 §5.5: a timestamp older than this may have wrapped */
    /* Inline, a segment whose timestamp is at most this many ticks older than the newest one counts as overtaken, not
     * as old. The sender's clock advances at most once per millisecond (RFC 7323 §5.4), so this is at least 65 s.
     * Packets wait less than that while the supervisor replaces a hung engine. */
    OVERTAKEN_TICKS = 64 * 1024,
    ACK_WINDOW_MIN = 1 << 20,
};

bool check_ack(struct segment *seg)
{
    const struct tcp_peer *peer = seg->receiver;
    uint32_t ack = seg->ack;

    if (!seg->has_ack || ack == peer->last_ack)
        return true;
    if (seq_before(ack, peer->last_ack)) {
        uint32_t window = peer->max_window;

        /* RFC 5961 §5.2: an old acknowledgment is acceptable if it is at most max_window behind. The largest window is
         * used, because reordered segments may have been sent before the last, smaller one was advertised. Inline the
         * distance is at least ACK_WINDOW_MIN, because a fast connection with small windows may reorder more than a
         * window. */
        if (segment_is_inline(seg) && window < ACK_WINDOW_MIN)
            window = ACK_WINDOW_MIN;
        if (peer->window == 0 || !seq_before(ack, peer->last_ack - window))
            return true;
        segment_add_event(seg, STREAM_EVENT_PKT_INVALID_ACK);
        return false;
    }
    /* The window is unknown if only one side is seen, or if only one side has sent segments since the pick-up. */
    if (seq_at_or_before(ack, peer->next_win) ||
        (seg->session->flags & (SESSION_ASYNC | SESSION_MIDSTREAM_ESTABLISHED)))
        return true;
    /* After a pick-up, the data that the other side sent before is unknown, and so is its window. */
    if (segment_is_midstream(seg) && !(seg->session->flags & SESSION_SCALES_KNOWN)) {
        uint32_t from = seq_after(peer->next_win, peer->last_ack) ? peer->next_win : peer->last_ack;

        if (seq_at_or_before(ack, from + WINDOW_UNKNOWN))
            return true;
    }
    /* The acknowledgments that moved the window may not have been seen. The data that they acknowledged was seen,
     * unless it passed while the queue was full. */
    if (peer->flags & PEER_ACKS_MISSED && seq_at_or_before(ack, peer->next_seq + WINDOW_UNKNOWN))
        return true;
    /* A reset that answers a SYN comes before any window was advertised. */
    if (seg->session->state == TCP_STATE_SYN_SENT && seg->direction == FLOW_TO_CLIENT && seg->kind == SEGMENT_RST &&
        ack == peer->isn + 1)
        return true;
    segment_add_event(seg, STREAM_EVENT_PKT_INVALID_ACK);
    return false;
}

/*
 * Returns whether the receiver accepts the sequence number of a reset. Linux accepts any number within the window. Most
 * other systems accept only the number that they expect next (RFC 5961 §3.2). This is the one that they have
 * acknowledged, or sender->next_seq if the last segments arrived but are not acknowledged yet.
 */
static bool reset_is_in_place(struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;
    bool follows_fin = (sender->flags & PEER_FIN) && seg->seq == sender->next_seq + 1;

    if (seg->session->flags & SESSION_ASYNC)
        return seq_at_or_after(seg->seq, sender->next_seq);
    if (segment_is_midstream(seg) && seq_at_or_after(seg->seq, sender->last_ack - WINDOW_UNKNOWN) &&
        seq_at_or_before(seg->seq, sender->next_seq + WINDOW_UNKNOWN)) {
        seg->receiver->flags |= PEER_RESET_RECEIVED; /* the receiver may have ignored it */
        return true;
    }
    /* The number that the receiver expects next is unknown, but at least last_ack. */
    if (sender->flags & PEER_ACKS_MISSED && seq_at_or_after(seg->seq, sender->last_ack) &&
        seq_before(seg->seq, sender->next_seq)) {
        seg->receiver->flags |= PEER_RESET_RECEIVED;
        return true;
    }
    switch (peer_os(seg, seg->receiver)) {
    case HOST_OS_HPUX11:
        return seq_at_or_after(seg->seq, sender->next_seq);
    case HOST_OS_OLD_LINUX:
    case HOST_OS_LINUX:
    case HOST_OS_SOLARIS:
        return seq_at_or_after(seg->end, sender->last_ack) && seq_before(seg->seq, sender->next_seq + sender->window);
    default:
        return seg->seq == sender->next_seq || seg->seq == sender->last_ack || follows_fin;
    }
}

bool check_reset(struct segment *seg)
{
    if (!check_timestamp(seg))
        return false;
    if (seg->length > 0)
        segment_add_event(seg, STREAM_EVENT_RST_WITH_DATA);
    if (seg->has_ack && seg->ack != 0 && !check_ack(seg)) {
        segment_add_event(seg, STREAM_EVENT_RST_INVALID_ACK);
        return false;
    }
    if (!reset_is_in_place(seg))
        return false;
    /* RFC 2385 and RFC 5925: only the peers, which have the key, can verify the reset. If the peer in whose name it was
     * sent continues to send, the reset was forged (process_segment()). */
    if (seg->pkt->tcp.has_signature)
        seg->receiver->flags |= PEER_RESET_RECEIVED;
    return true;
}

/* How an operating system checks the timestamps of a peer whose first timestamp was zero. ZERO_CHECKED: as for other
 * peers. ZERO_IGNORED: not at all. ZERO_STARTS_NOW: accepts the next timestamp unchecked, then checks as for other
 * peers. */
enum zero_start { ZERO_CHECKED, ZERO_IGNORED, ZERO_STARTS_NOW };

static enum zero_start zero_start_of(const struct segment *seg, enum host_os os)
{
    if (!(seg->sender->flags & PEER_ZERO_TIMESTAMP))
        return ZERO_CHECKED;
    switch (os) {
    case HOST_OS_LINUX:
    case HOST_OS_WINDOWS2K3:
        return ZERO_IGNORED;
    case HOST_OS_OLD_LINUX:
    case HOST_OS_WINDOWS:
    case HOST_OS_VISTA:
        return ZERO_STARTS_NOW;
    default:
        return ZERO_CHECKED;
    }
}

/*
 * Inline: returns true if the timestamp may be old because later segments overtook this one. The receiver accepts the
 * segment if the later ones were lost or are behind a gap (RFC 7323 §4.3), so dropping it would disturb a correct
 * connection. If the receiver ignores it, passing it does no harm: its bytes are the first-seen data, and later
 * segments with different bytes are dropped or rewritten.
 */
static bool is_overtaken(const struct segment *seg)
{
    int32_t step = (int32_t)(seg->pkt->tcp.timestamp_value - seg->sender->last_timestamp);

    return segment_is_inline(seg) &&
           (seg->kind == SEGMENT_ACK || seg->kind == SEGMENT_FIN || seg->kind == SEGMENT_RST) &&
           seg->session->state >= TCP_STATE_SYN_RECV && step < 0 && step >= -OVERTAKEN_TICKS;
}

/* Returns true if the receiver accepts the timestamp, or does not check timestamps. As by default in Suricata, a
 * timestamp that is one tick old counts as acceptable. */
static bool is_timestamp_current(const struct segment *seg, enum host_os os)
{
    const struct tcp_peer *sender = seg->sender;
    bool is_next = seg->seq == sender->next_seq;
    enum zero_start zero = zero_start_of(seg, os);

    if (zero == ZERO_IGNORED || (zero == ZERO_STARTS_NOW && is_next) || (os == HOST_OS_HPUX11 && !is_next))
        return true;

    int32_t step = (int32_t)(seg->pkt->tcp.timestamp_value - sender->last_timestamp + 1);
    bool is_expired = segment_seconds(seg) > (uint64_t)sender->last_seconds + PAWS_SECONDS;

    if (is_expired && sender->last_seconds == 0 && (seg->session->flags & SESSION_MIDSTREAM))
        is_expired = false;
    if (step >= 0 && (sender->last_timestamp == 0 || !is_expired))
        return true;
    return is_next && is_expired;
}

enum timestamp_age classify_timestamp(struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;

    if (!(seg->session->flags & SESSION_TIMESTAMP) || !seg->pkt->tcp.has_timestamp)
        return TIMESTAMP_CURRENT;
    enum host_os os = peer_os(seg, seg->receiver);

    if (seg->pkt->tcp.timestamp_value == 0 && !(sender->flags & PEER_ZERO_TIMESTAMP)) {
        uint32_t last = sender->last_timestamp;
        bool allows_zero = os == HOST_OS_OLD_LINUX || os == HOST_OS_WINDOWS || os == HOST_OS_WINDOWS2K3 ||
                           os == HOST_OS_VISTA || os == HOST_OS_SOLARIS;
        /* Zero is a regular value when the sender's clock wraps around. */
        bool wraps = (segment_is_inline(seg) && last >= UINT32_MAX - OVERTAKEN_TICKS) ||
                     (segment_is_midstream(seg) && last <= OVERTAKEN_TICKS);

        if (!allows_zero && !wraps)
            return TIMESTAMP_OLD;
    }
    if (is_timestamp_current(seg, os))
        return TIMESTAMP_CURRENT;
    return is_overtaken(seg) ? TIMESTAMP_OVERTAKEN : TIMESTAMP_OLD;
}

bool check_timestamp(struct segment *seg)
{
    enum timestamp_age age = classify_timestamp(seg);

    if (age != TIMESTAMP_CURRENT)
        segment_add_event(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
    return age != TIMESTAMP_OLD;
}

void record_timestamp(struct segment *seg)
{
    struct tcp_peer *sender = seg->sender;

    if (!(seg->session->flags & SESSION_TIMESTAMP))
        return;
    enum host_os os = peer_os(seg, seg->receiver);

    if (!seg->pkt->tcp.has_timestamp) {
        if (os == HOST_OS_SOLARIS)
            seg->session->flags &= (uint16_t)~SESSION_TIMESTAMP;
        return;
    }
    enum zero_start zero = zero_start_of(seg, os);
    bool is_current = is_timestamp_current(seg, os);

    if (zero == ZERO_IGNORED)
        seg->session->flags &= (uint16_t)~SESSION_TIMESTAMP;
    if (zero == ZERO_STARTS_NOW)
        sender->flags &= (uint16_t)~PEER_ZERO_TIMESTAMP;
    if (zero == ZERO_IGNORED || (os == HOST_OS_HPUX11 && seg->seq != sender->next_seq))
        return;
    if (!is_current)
        return;
    if (seg->seq == sender->next_seq)
        sender->last_timestamp = seg->pkt->tcp.timestamp_value;
    sender->last_seconds = segment_seconds(seg);
}

bool check_syn_echo(const struct segment *seg)
{
    const struct tcp_peer *client = seg->receiver;
    uint32_t echo = seg->pkt->tcp.timestamp_echo;

    if (seg->direction == FLOW_TO_SERVER || !seg->pkt->tcp.has_timestamp || echo == 0)
        return true;
    if (client->flags & PEER_TIMESTAMP)
        return client->last_timestamp == 0 || echo == client->last_timestamp;
    return client->last_timestamp != 0;
}

bool check_older_syn_echo(const struct segment *seg)
{
    const struct tcp_peer *client = seg->receiver;

    return segment_is_inline(seg) && seg->pkt->time_ns < seg->stream->options.midstream_until_ns &&
           (client->flags & PEER_TIMESTAMP) && seq_before(seg->pkt->tcp.timestamp_echo, client->last_timestamp);
}

bool check_window_probe(const struct segment *seg)
{
    return seg->length == 1 && seg->seq == seg->sender->next_seq && seg->sender->window == 0;
}

bool check_window(const struct segment *seg)
{
    const struct tcp_peer *sender = seg->sender;

    if (sender->flags & PEER_ACKS_MISSED && seq_at_or_before(seg->end, sender->next_seq + WINDOW_UNKNOWN))
        return true;
    return seq_at_or_before(seg->end, sender->next_win) || check_window_probe(seg) ||
           (seg->session->flags & (SESSION_MIDSTREAM | SESSION_ASYNC));
}

bool check_retransmission(struct segment *seg)
{
    uint32_t acknowledged = seg->sender->last_ack;

    /* A retransmission ends at or before next_seq, or contains acknowledged bytes. */
    if (seg->length == 0 || (!seq_at_or_before(seg->end, seg->sender->next_seq) &&
                             !seq_at_or_before(seg->end, acknowledged) && !seq_before(seg->seq, acknowledged)))
        return false;
    seg->pkt->stream_flags |= PACKET_STREAM_RETRANSMISSION;
    segment_add_event(seg, STREAM_EVENT_PKT_RETRANSMISSION);
    return true;
}
