/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfers TCP sessions to another process: completely, including bytes behind gaps, so that first-seen data wins
 * there, too, and the hand-over causes no gap. Values that are derived from the configuration (the operating system of
 * a host) are not transferred.
 */
#include "sluice/transfer.h"

#include <string.h>

#include "stream_priv.h"

#define OFFSET_MAX (INT64_C(1) << 62)

enum { HANDSHAKE_SIZE = 22 };

static void transfer_offset(struct transfer *t, int64_t *offset)
{
    transfer_i64(t, offset);
    transfer_require(t, *offset > -OFFSET_MAX && *offset < OFFSET_MAX);
}

/* If memory is exhausted when reading, the direction is not reassembled any more: its packets are inspected one by one.
 */
static void transfer_peer(struct transfer *t, struct stream *stream, struct tcp_peer *peer)
{
    transfer_u32(t, &peer->isn);
    transfer_u32(t, &peer->next_seq);
    transfer_u32(t, &peer->last_ack);
    transfer_u32(t, &peer->next_win);
    transfer_u32(t, &peer->window);
    transfer_u32(t, &peer->max_window);
    transfer_u32(t, &peer->last_timestamp);
    transfer_u32(t, &peer->last_seconds);
    transfer_u32(t, &peer->fin_seq);
    transfer_u16(t, &peer->flags);
    transfer_u8(t, &peer->window_scale);
    transfer_u8(t, &peer->tcp_flags);
    transfer_offset(t, &peer->next_offset);
    transfer_offset(t, &peer->edge);
    transfer_offset(t, &peer->urgent_offset);
    transfer_u32(t, &peer->urgent_oob);
    transfer_u8(t, &peer->urgent_count);
    transfer_require(t, peer->urgent_count <= URGENT_MAX);
    for (unsigned i = 0; i < peer->urgent_count && !t->error; i++)
        transfer_offset(t, &peer->urgent[i]);
    transfer_require(t, peer->window_scale <= WINDOW_SCALE_MAX);
    transfer_u8(t, &peer->sack_count);
    transfer_require(t, peer->sack_count <= SACK_RANGES);
    for (unsigned i = 0; i < peer->sack_count && !t->error; i++) {
        transfer_u32(t, &peer->sack[i].from);
        transfer_u32(t, &peer->sack[i].to);
    }
    if (t->reading)
        peer->flags &= (uint16_t)~PEER_OS_KNOWN;
    if (t->error || assembly_transfer(t, stream->store, &peer->assembly))
        return;
    t->at = t->limit;
    assembly_stop(stream->store, &peer->assembly);
    peer->flags |= PEER_STOPPED;
}

static void transfer_entry(struct transfer *t, struct handshake_entry *entry)
{
    transfer_u32(t, &entry->seq);
    transfer_u32(t, &entry->ack);
    transfer_u32(t, &entry->timestamp);
    transfer_u32(t, &entry->seconds);
    transfer_u16(t, &entry->window);
    transfer_u8(t, &entry->window_scale);
    transfer_bool(t, &entry->has_timestamp);
    transfer_bool(t, &entry->has_window_scale);
    transfer_bool(t, &entry->has_sack);
    transfer_require(t, entry->window_scale <= WINDOW_SCALE_MAX);
}

/* Each peer is a separate part of the transfer: if memory is exhausted while one is read, the other is still read. */
static void transfer_peers(struct transfer *t, struct stream *stream, struct tcp_session *session)
{
    for (uint16_t i = 0; i < FLOW_DIRECTIONS; i++) {
        struct transfer part = { .bytes = NULL };
        uint16_t kind = 0;

        if (t->reading) {
            transfer_require(t, transfer_next_part(t, &kind, &part) && kind == i);
            if (t->error)
                return;
            transfer_peer(&part, stream, &session->peer[i]);
            t->error = part.error;
        } else {
            size_t start = transfer_part_start(t, i);

            transfer_peer(t, stream, &session->peer[i]);
            transfer_part_end(t, start);
        }
    }
}

static void transfer_session(struct transfer *t, struct stream *stream, struct tcp_session *session)
{
    struct handshake_entry **link = &session->queue;
    uint8_t queued = session->queued;

    transfer_u8(t, &session->state);
    transfer_u8(t, &session->previous);
    transfer_u16(t, &session->flags);
    transfer_require(t, session->state < TCP_STATE_COUNT && session->previous < TCP_STATE_COUNT);
    if (t->reading && !t->error)
        session->reported = session->state;
    transfer_u8(t, &queued);
    transfer_require(t, transfer_has_room(t, queued, HANDSHAKE_SIZE));
    for (struct handshake_entry *entry = session->queue; entry; entry = entry->next)
        transfer_entry(t, entry);
    for (unsigned i = 0; t->reading && i < queued && !t->error; i++) {
        struct handshake_entry read = { .seq = 0 }, *entry;

        transfer_entry(t, &read);
        entry = t->error ? NULL : pool_alloc(stream->handshakes);
        if (!entry)
            continue; /* the pool is exhausted: the entry was read and is ignored */
        *entry = read;
        *link = entry;
        link = &entry->next;
        session->queued++;
    }
    transfer_peers(t, stream, session);
}

static bool read_session(struct transfer *t, struct stream *stream, struct flow *flow)
{
    struct tcp_session *session = pool_alloc(stream->sessions);

    if (!session) {
        flow->flags |= FLOW_NO_STREAM;
        return false;
    }
    memset(session, 0, sizeof(*session));
    session->flow = flow;
    transfer_session(t, stream, session);
    session_link(stream, session);
    holder_add(stream, session);
    flow->tcp = session;
    if (t->error) {
        stream_end(stream, flow);
        flow->flags |= FLOW_NO_STREAM;
    }
    return !t->error;
}

bool stream_transfer(struct transfer *t, struct stream *stream, struct flow *flow)
{
    if (t->reading)
        return !flow->tcp && read_session(t, stream, flow);
    transfer_session(t, stream, flow->tcp);
    return true;
}

void stream_transfer_half_open(struct transfer *t, struct stream *stream, bool same_flows)
{
    half_open_transfer(t, &stream->half_open_records, same_flows);
}
