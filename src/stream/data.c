/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data: adds the payload of an accepted segment to the assembly of its sender, and the acknowledgment of the segment to
 * the assembly of its receiver.
 *
 * Urgent data (RFC 6093) is in practice one byte, the one before the urgent pointer. A receiver removes this byte from
 * the stream unless the program has set SO_OOBINLINE, so in passive mode the byte is not inspected by default; for
 * inline mode see urgent.c.
 *
 * An acknowledgment counts only up to the highest byte that was seen. The other acknowledged bytes may have taken
 * another path, or may be captured later; they become a gap only when data behind them is seen.
 */
#include <errno.h>
#include <string.h>

#include "stream_priv.h"

enum {
    URGENT_LIMIT = UINT16_MAX, /* maximum number of urgent bytes per direction, as in Suricata: more of them are meant
                                  to hide data */
    ADD_MAX = 65535,           /* bytes: maximum for one call of assembly_add() */
};

/* Bytes of a segment and their offset. */
struct range {
    int64_t at;
    const uint8_t *bytes;
    uint32_t length;
};

static void acknowledge(struct segment *seg, struct tcp_peer *peer)
{
    int64_t offset = peer_offset(peer, peer->last_ack);

    if (offset > peer->edge)
        offset = peer->edge;
    if ((peer->flags & PEER_STOPPED) || offset <= (int64_t)peer->assembly.acknowledged)
        return;
    if (assembly_acknowledge(seg->stream->store, &peer->assembly, (uint64_t)offset)) {
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_SEQ_GAP);
        stream_count(seg->stream, STREAM_GAP);
    }
}

static void move_edge(struct tcp_peer *peer, int64_t end)
{
    if (peer->assembly.limit > 0 && end > (int64_t)peer->assembly.limit)
        end = (int64_t)peer->assembly.limit;
    if (end > peer->edge)
        peer->edge = end;
}

/* Adds bytes to the assembly of the sender, and the results to *all. If memory is exhausted, evicts idle data of other
 * sessions. */
static void add_range(struct segment *seg, struct range range, struct assembly_report *all)
{
    struct tcp_peer *peer = seg->sender;
    uint32_t length;

    for (uint32_t done = 0; done < range.length; done += length) { /* more than one iteration only for jumbograms */
        struct assembly_report one = { 0 };
        unsigned evicted = 0;
        int err;

        length = range.length - done < ADD_MAX ? range.length - done : ADD_MAX;
        do {
            err = assembly_add(seg->stream->store, &peer->assembly, (uint64_t)(range.at + done), range.bytes + done,
                               length, peer_os(seg, seg->receiver), &one);
        } while (err == -ENOMEM && evict_idle_data(seg, &evicted));
        if (!err)
            move_edge(peer, range.at + done + length);
        all->added += one.added;
        all->overlapping += one.overlapping;
        all->differs |= one.differs;
        all->beyond_limit |= one.beyond_limit;
        all->too_old |= one.too_old;
        all->lost |= one.lost;
        all->no_memory |= one.no_memory;
        all->too_many_extents |= one.too_many_extents;
    }
}

/* --- Urgent data ---------------------------------------------------------------------------------- */

static enum stream_urgent urgent_policy(struct segment *seg)
{
    const struct stream_options *options = &seg->stream->options;
    struct tcp_peer *peer = seg->sender;

    if (options->urgent != STREAM_URGENT_OOB || peer->urgent_oob < URGENT_LIMIT)
        return options->urgent;
    if (!(peer->flags & PEER_URGENT_LIMIT))
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_URGENT_OOB_LIMIT_REACHED);
    peer->flags |= PEER_URGENT_LIMIT;
    return options->urgent_limit;
}

static bool covers(struct range range, int64_t offset)
{
    return offset >= range.at && offset < range.at + range.length;
}

/*
 * Returns true, with the offset in *urgent, if a byte of the segment is not part of the stream. Linux removes the
 * urgent byte from any segment that contains it; other systems only from a segment with URG. A byte that was removed
 * before stays removed in retransmissions. An urgent pointer of zero is ignored by BSD, and marks the first byte for
 * Linux.
 */
static bool has_urgent_byte(struct segment *seg, struct range range, int64_t *urgent)
{
    struct tcp_peer *peer = seg->sender;
    uint16_t pointer = seg->pkt->tcp.urgent;
    enum host_os os = peer_os(seg, seg->receiver);
    bool linux_receiver = os == HOST_OS_LINUX || os == HOST_OS_OLD_LINUX;
    bool announced = seg->pkt->tcp.flags & TCP_URG && (pointer > 0 || linux_receiver);

    *urgent = range.at + (pointer > 0 ? pointer - 1 : 0);
    if (announced && covers(range, *urgent)) {
        peer->urgent_offset = *urgent;
        peer->flags |= PEER_URGENT;
        return true;
    }
    if (peer->flags & PEER_URGENT && covers(range, peer->urgent_offset)) {
        *urgent = peer->urgent_offset;
        return peer->urgent_offset < (int64_t)peer->assembly.contiguous || linux_receiver;
    }
    if (announced) {
        peer->urgent_offset = *urgent;
        peer->flags |= PEER_URGENT;
    }
    return false;
}

/* Adds the bytes to the assembly, except for an urgent byte that is not part of the stream. */
static void add_without_urgent(struct segment *seg, struct range range, struct assembly_report *report)
{
    enum stream_urgent policy = urgent_policy(seg);
    int64_t urgent = 0;

    if (policy == STREAM_URGENT_INLINE || policy == STREAM_URGENT_CLEAR || policy == STREAM_URGENT_BOTH ||
        policy == STREAM_URGENT_DROP || !has_urgent_byte(seg, range, &urgent)) {
        add_range(seg, range, report);
        return;
    }
    uint32_t before = (uint32_t)(urgent - range.at);

    add_range(seg, (struct range){ range.at, range.bytes, before }, report);
    if (urgent >= 0 && policy == STREAM_URGENT_OOB) {
        struct tcp_peer *peer = seg->sender;

        peer->urgent_oob += urgent >= (int64_t)peer->assembly.contiguous;
        stream_count(seg->stream, STREAM_URGENT_OOB_DATA);
        if (assembly_skip(seg->stream->store, &peer->assembly, (uint64_t)urgent, 1) == 0)
            move_edge(peer, urgent + 1);
    }
    add_range(seg, (struct range){ urgent + 1, range.bytes + before + 1, range.length - before - 1 }, report);
}

/* --- Results -------------------------------------------------------------------------------------- */

static void report_contradiction(struct segment *seg)
{
    segment_add_event(seg, STREAM_EVENT_REASSEMBLY_OVERLAP_DIFFERENT_DATA);
    stream_count(seg->stream, STREAM_OVERLAP);
    stream_count(seg->stream, STREAM_OVERLAP_DIFF_DATA);
}

/* Sets events and counters for the result of assembly_add(), and PACKET_STREAM_ADDED if all of the payload is, was or
 * will be in a chunk. */
static void evaluate_report(struct segment *seg, const struct assembly_report *report)
{
    struct tcp_peer *peer = seg->sender;
    bool stored = !report->no_memory && !report->too_many_extents;

    if (report->no_memory) {
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_NO_SEGMENT);
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_INSERT_MEMCAP);
        stream_count(seg->stream, STREAM_SEGMENT_MEMCAP_DROP);
    } else if (report->too_many_extents) {
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_INSERT_LIMIT);
        stream_count(seg->stream, report->overlapping > 0 ? STREAM_INSERT_OVERLAP_FAIL : STREAM_INSERT_NORMAL_FAIL);
    }
    if (!stored)
        seg->verdict->exception = EXCEPTION_STREAM_REASSEMBLY;
    if (report->too_old)
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_SEGMENT_BEFORE_BASE_SEQ);
    if (report->differs)
        report_contradiction(seg);
    else if (report->overlapping > 0)
        stream_count(seg->stream, STREAM_OVERLAP);
    if (report->beyond_limit && !(peer->flags & PEER_DEPTH_REACHED)) {
        peer->flags |= PEER_DEPTH_REACHED;
        segment_add_event(seg, STREAM_EVENT_REASSEMBLY_DEPTH_REACHED);
        stream_count(seg->stream, STREAM_DEPTH_REACHED);
    }
    /* If the session has a gap, bytes before `base` may have been discarded without inspection. */
    if (stored && !report->beyond_limit && !report->lost && !(report->too_old && peer->assembly.has_gap))
        seg->pkt->flags |= PACKET_STREAM_ADDED;
}

/* Returns true for a segment that may be a keep-alive with one arbitrary byte (is_keepalive()): whether the byte that
 * it repeats was acknowledged is unknown, because acknowledgments are missed. */
static bool may_be_keepalive(const struct segment *seg)
{
    return seg->length == 1 && seg->sender->flags & PEER_ACKS_MISSED && seg->seq == seg->sender->next_seq - 1;
}

static void add_payload(struct segment *seg)
{
    bool has_syn = seg->pkt->tcp.flags & TCP_SYN;
    struct assembly_report report = { 0 };
    struct range range = {
        .at = peer_offset(seg->sender, seg->seq + has_syn),
        .bytes = seg->pkt->payload,
        .length = seg->length,
    };

    if (segment_is_inline(seg) && seg->pkt->tcp.flags & TCP_URG && urgent_policy(seg) == STREAM_URGENT_DROP) {
        seg->verdict->drop = true;
        seg->verdict->reason = DROP_REASON_STREAM_URGENT;
        return;
    }
    /* Inline: a segment whose bytes differ from first-seen ones is rewritten, or dropped completely. Skipped
     * out-of-band bytes are not stored and not compared. */
    if (segment_is_inline(seg) &&
        assembly_differs(&seg->sender->assembly, (uint64_t)range.at, range.bytes, range.length)) {
        bool keepalive = may_be_keepalive(seg);

        if (!keepalive)
            report_contradiction(seg);
        if ((seg->stream->options.overlap != STREAM_OVERLAP_REWRITE && !keepalive) || !rewrite_payload(seg, range.at)) {
            seg->verdict->drop = true;
            seg->verdict->reason = DROP_REASON_STREAM_ERROR;
            return;
        }
        range.bytes = seg->pkt->payload;
    }
    holder_add(seg->stream, seg->session);
    release_histories(seg);
    add_without_urgent(seg, range, &report);
    evaluate_report(seg, &report);
    if (range.at < 0 && (seg->session->flags & SESSION_MIDSTREAM)) /* bytes from before the pick-up are in no chunk */
        seg->pkt->flags &= (uint32_t)~PACKET_STREAM_ADDED;
}

void data_add(struct segment *seg)
{
    /* Payload of a reset is no stream data, and its acknowledgment does not matter, because the connection ends. */
    if (seg->kind == SEGMENT_RST)
        return;
    acknowledge(seg, seg->receiver);
    if (seg->length > 0 && !(seg->sender->flags & PEER_STOPPED))
        add_payload(seg);
    acknowledge(seg, seg->sender); /* the other side may have acknowledged these bytes before they were seen */
}
