/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Urgent data (RFC 6093) inline, with STREAM_URGENT_BOTH. Which byte is urgent, and whether the receiver reads it in
 * the stream, depends on the receiver's system, on its options, on the time of its reads, and on which copy of a
 * segment arrives. Programs that read the byte out of band need the URG flag, so the flag is kept, and rules inspect
 * the stream in each way in which it can be read.
 *
 * A direction stores the offsets of up to URGENT_MAX urgent bytes, until they have left the inspection window of new
 * data. n of them result in 2^n readings. If the list is full, the URG flag is removed from further packets, because
 * without URG there is only one reading. The pipeline removes the flag, too, if the parser of the stream supports one
 * reading only.
 */
#include <string.h>

#include "stream_priv.h"

/* Returns the stream offset of the urgent byte. An urgent pointer of zero marks the first byte for Linux, and is
 * ignored by BSD: rules inspect both readings. */
static int64_t marked_offset(const struct tcp_peer *peer, const struct packet *pkt)
{
    uint16_t pointer = pkt->tcp.urgent;
    uint32_t first = pkt->tcp.sequence + (pkt->tcp.flags & TCP_SYN ? 1 : 0);

    return peer_offset(peer, first) + (pointer > 0 ? pointer - 1 : 0);
}

static bool is_remembered(const struct tcp_peer *peer, int64_t place)
{
    for (unsigned i = 0; i < peer->urgent_count; i++) {
        if (peer->urgent[i] == place)
            return true;
    }
    return false;
}

/* Removes URG from the packet; sets a drop verdict if the packet cannot be rewritten. */
static void remove_urgent_flag(struct stream *stream, struct packet *pkt, struct stream_verdict *verdict)
{
    stream_count(stream, STREAM_URGENT_CLEARED);
    if (rewrite_without_urgent(stream, pkt))
        return;
    verdict->drop = true;
    verdict->reason = DROP_REASON_STREAM_URGENT;
}

void urgent_process(struct segment *seg)
{
    const struct stream_options *options = &seg->stream->options;
    struct tcp_peer *peer = seg->session ? seg->sender : NULL;
    unsigned kept = 0;
    int64_t place;

    if (!(seg->pkt->tcp.flags & TCP_URG) || !options->inline_mode || seg->verdict->drop ||
        (options->urgent != STREAM_URGENT_CLEAR && options->urgent != STREAM_URGENT_BOTH))
        return;
    if (!peer || options->urgent == STREAM_URGENT_CLEAR) {
        remove_urgent_flag(seg->stream, seg->pkt, seg->verdict);
        return;
    }
    place = marked_offset(peer, seg->pkt);
    if (peer->flags & PEER_STOPPED || is_remembered(peer, place) || place < (int64_t)peer->assembly.base)
        return;
    for (unsigned i = 0; i < peer->urgent_count; i++) { /* forget bytes before the inspection window */
        if (peer->urgent[i] + (int64_t)peer->assembly.window >= (int64_t)peer->assembly.inspected)
            peer->urgent[kept++] = peer->urgent[i];
    }
    peer->urgent_count = (uint8_t)kept;
    if (peer->urgent_count == URGENT_MAX)
        remove_urgent_flag(seg->stream, seg->pkt, seg->verdict);
    else
        peer->urgent[peer->urgent_count++] = place;
}

bool stream_get_urgent_offset(const struct stream *stream, const struct flow *flow, enum flow_direction direction,
                              const struct packet *pkt, uint64_t *place)
{
    const struct tcp_peer *peer = flow->tcp ? &flow->tcp->peer[direction] : NULL;
    int64_t marked;

    if (!peer || peer->flags & PEER_STOPPED || !stream->options.inline_mode ||
        stream->options.urgent != STREAM_URGENT_BOTH)
        return false;
    marked = marked_offset(peer, pkt);
    *place = (uint64_t)marked;
    return is_remembered(peer, marked);
}

unsigned stream_get_urgent_offsets(const struct flow *flow, enum flow_direction direction, const int64_t **places)
{
    const struct tcp_peer *peer = flow->tcp ? &flow->tcp->peer[direction] : NULL;

    if (!peer || peer->urgent_count == 0)
        return 0;
    *places = peer->urgent;
    return peer->urgent_count;
}

void stream_clear_urgent(struct stream *stream, struct flow *flow, enum flow_direction direction, struct packet *pkt,
                         struct stream_verdict *verdict)
{
    struct tcp_peer *peer = &flow->tcp->peer[direction];
    int64_t place = marked_offset(peer, pkt);
    unsigned kept = 0;

    for (unsigned i = 0; i < peer->urgent_count; i++) {
        if (peer->urgent[i] != place)
            peer->urgent[kept++] = peer->urgent[i];
    }
    peer->urgent_count = (uint8_t)kept;
    *verdict = (struct stream_verdict){ 0 };
    remove_urgent_flag(stream, pkt, verdict);
}

/* --- Readings ------------------------------------------------------------------------------------- */

bool stream_next_reading(struct stream *stream, const struct flow *flow, enum flow_direction direction,
                         const struct stream_chunk *chunk, unsigned number, struct stream_chunk *out)
{
    const struct tcp_peer *peer = &flow->tcp->peer[direction];
    const uint8_t *bytes;
    uint32_t length, chunk_at, taken = 0, left = 0;
    uint64_t start = stream_inspection_window(stream, flow, direction, chunk, &bytes, &length, &chunk_at);
    uint32_t at[URGENT_MAX], before_chunk = 0; /* at: offsets of the urgent bytes in the window */
    unsigned count = 0;

    /* Collect the urgent bytes in the inspection window, ascending. With STREAM_URGENT_BOTH no bytes are skipped, so a
     * window is contiguous. */
    for (unsigned i = 0; i < peer->urgent_count; i++) {
        int64_t place = peer->urgent[i] - (int64_t)start;
        unsigned slot = count;

        if (place < 0 || place >= (int64_t)length)
            continue;
        for (; slot > 0 && at[slot - 1] > place; slot--)
            at[slot] = at[slot - 1];
        at[slot] = (uint32_t)place;
        count++;
    }
    if (number >> count)
        return false;
    for (unsigned i = 0; i < count; i++) {
        if (!(number >> i & 1))
            continue;
        memcpy(stream->reading + left, bytes + taken, at[i] - taken);
        left += at[i] - taken;
        taken = at[i] + 1;
        before_chunk += at[i] < chunk_at;
    }
    memcpy(stream->reading + left, bytes + taken, length - taken);
    *out = (struct stream_chunk){
        .data = stream->reading,
        .length = left + length - taken,
        .offset = start,
        .gap = start > 0,
        .is_reading = true,
        .new_at = chunk_at - before_chunk,
        .end = chunk->end,
    };
    return out->length > 0;
}
