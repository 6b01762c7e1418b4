/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The chunks of a direction that can be inspected, and the facts of a session for rules and events.
 *
 * Inline, data in order is yielded immediately. In passive mode only acknowledged data is yielded, because the receiver
 * may replace other data. As in Suricata, it is yielded when a packet of the direction arrives and at least
 * stream_options.chunk bytes are available, so that rules inspect the same chunks as in Suricata.
 */
#include "stream_priv.h"

/* Returns the offset before which the data of the direction may be inspected now. `all`: the stream has ended, so all
 * data is inspected. */
static uint64_t find_limit(struct stream *stream, struct tcp_session *session, enum flow_direction direction,
                           const struct packet *pkt, bool all)
{
    struct tcp_peer *peer = &session->peer[direction];
    const struct assembly *assembly = &peer->assembly;

    if (all) {
        /* Mark missing data as lost. STREAM_GAP does not count it, because the data was not acknowledged. */
        assembly_acknowledge(stream->store, &peer->assembly, (uint64_t)peer->edge);
        return assembly->contiguous;
    }
    if (stream->options.inline_mode)
        return assembly->contiguous;
    if (!pkt || !(pkt->flags & PACKET_TO_CLIENT) != (direction == FLOW_TO_SERVER))
        return 0;
    /* At the reassembly depth and in the states behind TCP_STATE_TIME_WAIT, even less than a chunk is inspected,
     * because little or no data follows. A flush request has the same effect. */
    if ((peer->flags & (PEER_DEPTH_REACHED | PEER_FLUSH)) || session->state > TCP_STATE_TIME_WAIT)
        return assembly->acknowledged;
    if (assembly->acknowledged >= assembly->inspected &&
        assembly->acknowledged - assembly->inspected >= stream->options.chunk[direction])
        return assembly->acknowledged;
    return 0;
}

bool stream_next_chunk(struct stream *stream, struct flow *flow, enum flow_direction direction,
                       const struct packet *pkt, bool all, struct stream_chunk *chunk)
{
    struct tcp_session *session = flow->tcp;
    const uint8_t *payload = NULL;
    uint64_t payload_offset = 0;

    if (!session || (session->peer[direction].flags & PEER_STOPPED))
        return false;
    struct tcp_peer *peer = &session->peer[direction];
    uint64_t until = find_limit(stream, session, direction, pkt, all);

    if (pkt && (pkt->flags & PACKET_STREAM_ADDED) &&
        !(pkt->flags & PACKET_TO_CLIENT) == (direction == FLOW_TO_SERVER)) {
        payload = pkt->payload;
        payload_offset = (uint64_t)peer_offset(peer, pkt->tcp.sequence + (pkt->tcp.flags & TCP_SYN ? 1 : 0));
    }
    if (!assembly_next_chunk(stream->store, &peer->assembly, until, payload, payload_offset,
                             payload ? pkt->payload_length : 0, chunk))
        return false;
    bool is_last = chunk->offset + chunk->length >= (uint64_t)peer->edge;

    if (peer->assembly.inspected >= peer->assembly.acknowledged)
        peer->flags &= (uint16_t)~PEER_FLUSH;
    chunk->end |= is_last && (all || session->state == TCP_STATE_CLOSED || (peer->flags & PEER_FIN));
    chunk->has_readings = peer->urgent_count > 0;
    return true;
}

bool stream_next_parser_chunk(struct stream *stream, struct flow *flow, enum flow_direction direction, bool all,
                              struct stream_chunk *chunk)
{
    struct tcp_session *session = flow->tcp;

    if (!session || (session->peer[direction].flags & PEER_STOPPED) || (!all && session->state < TCP_STATE_ESTABLISHED))
        return false;
    struct tcp_peer *peer = &session->peer[direction];
    const struct assembly *assembly = &peer->assembly;
    uint64_t until = assembly->acknowledged;

    if (all && session->state != TCP_STATE_CLOSED)
        until = find_limit(stream, session, direction, NULL, true);
    else if (all && assembly->contiguous > until) /* after a reset: also unacknowledged bytes, up to the first gap */
        until = assembly->contiguous;
    if (!assembly_next_parsed(stream->store, &peer->assembly, until, chunk)) {
        /* If the session closed after all bytes had been yielded, yield an empty chunk with `end`. */
        if (all || session->state < TCP_STATE_CLOSING || (peer->flags & PEER_END_YIELDED) || assembly->parsed == 0 ||
            assembly->parsed < (uint64_t)peer->edge)
            return false;
        *chunk = (struct stream_chunk){ .offset = assembly->parsed, .end = true };
        peer->flags |= PEER_END_YIELDED;
        return true;
    }
    bool is_last = chunk->offset + chunk->length >= (uint64_t)peer->edge;

    chunk->end |= is_last && (all || session->state == TCP_STATE_CLOSED || (peer->flags & PEER_FIN));
    if (chunk->end)
        peer->flags |= PEER_END_YIELDED;
    return true;
}

bool stream_has_ended(const struct flow *flow, enum flow_direction direction)
{
    const struct tcp_peer *peer = flow->tcp ? &flow->tcp->peer[direction] : NULL;

    return peer && peer->flags & PEER_FIN && !(peer->flags & PEER_STOPPED) &&
           peer->assembly.inspected >= (uint64_t)peer->edge;
}

bool stream_is_one_sided(const struct flow *flow)
{
    return flow->tcp && flow->tcp->flags & SESSION_ASYNC;
}

bool stream_is_midstream(const struct flow *flow)
{
    return flow->tcp && flow->tcp->flags & SESSION_MIDSTREAM;
}

uint64_t stream_parsed_offset(const struct flow *flow, enum flow_direction direction)
{
    const struct assembly *assembly = flow->tcp ? &flow->tcp->peer[direction].assembly : NULL;

    if (!assembly)
        return 0;
    return assembly->parsed > assembly->inspected ? assembly->parsed : assembly->inspected;
}

uint64_t stream_seen_offset(const struct flow *flow, enum flow_direction direction)
{
    return flow->tcp ? (uint64_t)flow->tcp->peer[direction].edge : 0;
}

bool stream_swap_sides(struct flow *flow)
{
    struct tcp_session *session = flow->tcp;
    struct tcp_peer peer;

    if (!session || !(session->flags & SESSION_MIDSTREAM))
        return false;
    peer = session->peer[FLOW_TO_SERVER];
    session->peer[FLOW_TO_SERVER] = session->peer[FLOW_TO_CLIENT];
    session->peer[FLOW_TO_CLIENT] = peer;
    return true;
}

void stream_flush(struct flow *flow, enum flow_direction direction)
{
    if (flow->tcp)
        flow->tcp->peer[direction].flags |= PEER_FLUSH;
}

bool stream_has_remaining_data(const struct flow *flow, enum flow_direction direction)
{
    const struct tcp_peer *peer = flow->tcp ? &flow->tcp->peer[direction] : NULL;

    if (!peer || (peer->flags & PEER_STOPPED))
        return false;
    return peer->assembly.contiguous > peer->assembly.inspected || (uint64_t)peer->edge > peer->assembly.inspected;
}

uint64_t stream_inspection_window(struct stream *stream, const struct flow *flow, enum flow_direction direction,
                                  const struct stream_chunk *chunk, const uint8_t **bytes, uint32_t *length,
                                  uint32_t *chunk_at)
{
    if (chunk->is_reading) {
        *bytes = chunk->data;
        *length = chunk->length;
        *chunk_at = chunk->new_at;
        return chunk->offset;
    }
    return assembly_window(stream->store, &flow->tcp->peer[direction].assembly, chunk, bytes, length, chunk_at);
}

size_t stream_copy(const struct stream *stream, const struct flow *flow, enum flow_direction direction, uint8_t *out,
                   size_t size, void (*on_gap)(size_t at, uint64_t missing, void *user), void *user)
{
    (void)stream;
    return flow->tcp ? assembly_copy(&flow->tcp->peer[direction].assembly, out, size, on_gap, user) : 0;
}

size_t stream_copy_run(const struct flow *flow, enum flow_direction direction, uint64_t *offset, uint64_t until,
                       uint8_t *out, size_t size)
{
    return flow->tcp ? assembly_copy_run(&flow->tcp->peer[direction].assembly, offset, until, out, size) : 0;
}

void stream_summary(const struct flow *flow, struct tcp_summary *out)
{
    const struct tcp_session *session = flow->tcp;

    *out = (struct tcp_summary){ 0 };
    if (!session)
        return;
    out->state = (enum tcp_state)session->state;
    out->reported = (enum tcp_state)session->reported;
    out->midstream = session->flags & SESSION_MIDSTREAM;
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        const struct tcp_peer *peer = &session->peer[i];

        out->has_gap[i] = peer->assembly.has_gap;
        out->flags[i] = peer->tcp_flags;
        out->size[i] = peer->next_seq - peer->isn;
        out->max_regions[i] = (uint16_t)(peer->assembly.max_extents_seen + 1);
        out->bytes[i] = peer->assembly.contiguous;
        out->urgent_oob[i] = peer->urgent_oob;
    }
}
