/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream: tracking of a packet in its session. The checks common to all segments (checksum, flags, urgent data) are
 * here; those that depend on the session's state are in state.c and the state_*.c files. See stream.h for the semantics
 * and stream_priv.h for the parts.
 *
 * Threads:   a struct stream belongs to one worker.
 * Ownership: sessions belong to the pool of the struct stream, and are released by stream_end().
 */
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "stream_priv.h"

enum {
    HANDSHAKE_SHARE = 16, /* one part in 16 of the memcap is for handshakes with more than one SYN or SYN/ACK */
    HALF_OPEN_SHARE = 16, /* one part in 16 of the memcap is for records of half-open connections without a session */
};

int stream_new(struct stream **out, const struct stream_options *options)
{
    struct stream *stream = calloc(1, sizeof(*stream));
    struct assembly_options assembly = { options->reassembly_memcap, options->inline_mode };
    size_t handshakes = options->memcap / HANDSHAKE_SHARE, half_open = options->memcap / HALF_OPEN_SHARE;

    if (!stream)
        return -ENOMEM;
    stream->options = *options;
    stream->rewrite = malloc(STREAM_REWRITE_SIZE);
    stream->reading = options->urgent == STREAM_URGENT_BOTH ? malloc(STREAM_READING_SIZE) : NULL;
    if (!stream->rewrite || (options->urgent == STREAM_URGENT_BOTH && !stream->reading) ||
        pool_new(&stream->handshakes, sizeof(struct handshake_entry), handshakes) ||
        pool_new(&stream->sessions, sizeof(struct tcp_session), options->memcap - handshakes - half_open) ||
        half_open_init(&stream->half_open_records, half_open, options->seed) ||
        assembly_store_new(&stream->store, &assembly)) {
        stream_free(stream);
        return -ENOMEM;
    }
    *out = stream;
    return 0;
}

int stream_set_memcap(struct stream *stream, size_t memcap)
{
    size_t handshakes = memcap / HANDSHAKE_SHARE, half_open = half_open_memory(&stream->half_open_records);
    size_t sessions = memcap > handshakes + half_open ? memcap - handshakes - half_open : 0;
    int err = sessions > 0 ? pool_check_memcap(stream->handshakes, handshakes) : -EBUSY;

    if (!err)
        err = pool_set_memcap(stream->sessions, sessions);
    return err ? err : pool_set_memcap(stream->handshakes, handshakes);
}

int stream_set_reassembly_memcap(struct stream *stream, size_t memcap)
{
    return assembly_store_set_memcap(stream->store, memcap);
}

void stream_trim(struct stream *stream)
{
    pool_trim(stream->sessions);
    pool_trim(stream->handshakes);
    assembly_store_trim(stream->store);
}

void stream_free(struct stream *stream)
{
    if (!stream)
        return;
    assembly_store_free(stream->store);
    pool_free(stream->sessions);
    pool_free(stream->handshakes);
    half_open_clear(&stream->half_open_records);
    free(stream->rewrite);
    free(stream->reading);
    free(stream);
}

void stream_set_connections(struct stream *stream, stream_find_connection *find, void *user)
{
    stream->find_connection = find;
    stream->find_user = user;
}

/* --- The segment ---------------------------------------------------------------------------------- */

void segment_add_event(struct segment *seg, enum stream_event event)
{
    if (seg->flow->flags &
        FLOW_DROPPED) /* the flow is still tracked, but its segments are dropped, so events would mislead */
        return;
    packet_add_event(seg->pkt, event);
    seg->pkt->stream_flags |= PACKET_STREAM_EVENT;
    seg->stream->events[event - STREAM_EVENT_FIRST]++;
}

int segment_reject(struct segment *seg, enum stream_event event)
{
    segment_add_event(seg, event);
    return -EINVAL;
}

void segment_set_direction(struct segment *seg, enum flow_direction direction)
{
    seg->direction = direction;
    if (!seg->session)
        return;
    seg->sender = &seg->session->peer[direction];
    seg->receiver = &seg->session->peer[!direction];
}

void segment_swap_sides(struct segment *seg, enum flow_direction direction)
{
    if (seg->direction == direction)
        return;
    flow_swap(seg->flow, seg->pkt);
    segment_set_direction(seg, direction);
}

static enum segment_kind kind_of(uint8_t flags)
{
    if (flags & TCP_RST)
        return SEGMENT_RST;
    if (flags & TCP_FIN)
        return SEGMENT_FIN;
    if (flags & TCP_SYN)
        return flags & TCP_ACK ? SEGMENT_SYN_ACK : SEGMENT_SYN;
    return flags & TCP_ACK ? SEGMENT_ACK : SEGMENT_OTHER;
}

/* --- Dispatch ------------------------------------------------------------------------------------- */

/* Inline: handles a segment without new data whose timestamp is so old that the receiver ignores it. The segment passes
 * unless its data differs from the stored data. Returns true if it was handled. */
static bool is_late_copy(struct segment *seg)
{
    if (!segment_is_inline(seg) || seg->kind != SEGMENT_ACK || seg->session->state < TCP_STATE_ESTABLISHED ||
        (seg->length > 0 && !seq_at_or_before(seg->end, seg->sender->next_seq)) ||
        classify_timestamp(seg) != TIMESTAMP_OLD)
        return false;
    segment_add_event(seg, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
    data_add(seg);
    return true;
}

/* Processes a segment of a session. Returns 0, or -EINVAL if the receiver would not accept the segment. */
static int process_segment(struct segment *seg)
{
    enum filtered filtered;
    int err = 0;

    seg->sender->tcp_flags |= seg->pkt->tcp.flags;
    if (seg->sender->tcp_flags && seg->receiver->tcp_flags) /* both sides have sent segments */
        seg->session->flags &= (uint16_t)~SESSION_ASYNC;
    filtered = filter_segment(seg);
    if (filtered == FILTER_INVALID)
        return -EINVAL;
    if (filtered == FILTER_GO_ON && !is_late_copy(seg))
        err = state_dispatch(seg, (enum tcp_state)seg->session->state);
    if (err || seg->kind == SEGMENT_RST || !(seg->receiver->flags & PEER_RESET_RECEIVED))
        return err;
    /* The sender continues after a reset in its name, so the reset was forged or ignored. */
    seg->receiver->flags &= (uint16_t)~PEER_RESET_RECEIVED;
    segment_add_event(seg, STREAM_EVENT_SUSPECTED_RST_INJECT);
    return 0;
}

void stream_packet(struct stream *stream, struct flow_table *flows, struct flow *flow, struct packet *pkt,
                   struct stream_verdict *verdict)
{
    const uint8_t flags = pkt->tcp.flags;
    int err;

    *verdict = (struct stream_verdict){ 0 };
    if (pkt->time_ns > stream->now_ns)
        stream->now_ns = pkt->time_ns;
    if (stream->options.checksum_validation && pkt->flags & PACKET_BAD_L4_CHECKSUM) {
        stream_count(stream, STREAM_INVALID_CHECKSUM);
        if (stream->options.inline_mode)
            verdict->exception = EXCEPTION_STREAM_INVALID;
        return;
    }
    struct segment seg = {
        .stream = stream,
        .flows = flows,
        .flow = flow,
        .pkt = pkt,
        .verdict = verdict,
        .session = flow->tcp,
        .kind = kind_of(flags),
        .seq = pkt->tcp.sequence,
        .ack = pkt->tcp.acknowledgment,
        .length = pkt->payload_length,
        .end = pkt->tcp.sequence + pkt->payload_length,
        .has_ack = flags & TCP_ACK,
    };

    segment_set_direction(&seg, pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER);
    if (flags & TCP_SYN)
        stream_count(stream, flags & TCP_ACK ? STREAM_SYNACK : STREAM_SYN);
    if (flags & TCP_RST)
        stream_count(stream, STREAM_RST);
    if (flags & TCP_URG)
        stream_count(stream, STREAM_URG);
    if (!seg.has_ack && seg.ack != 0)
        segment_add_event(&seg, STREAM_EVENT_PKT_BROKEN_ACK);
    if (stream->options.inline_mode && stream->options.urgent == STREAM_URGENT_DROP && flags & TCP_URG) {
        verdict->drop = true;
        verdict->reason = DROP_REASON_STREAM_URGENT;
        return;
    }
    err = seg.session ? process_segment(&seg) : state_dispatch(&seg, TCP_STATE_NONE);
    if (!seg.session)
        flow->flags |= FLOW_NO_STREAM;
    if (err && stream->options.inline_mode && verdict->exception == EXCEPTION_NONE)
        verdict->exception = EXCEPTION_STREAM_INVALID;
    urgent_process(&seg);
}

/* --- Reuse, end ----------------------------------------------------------------------------------- */

/* Returns true if the session was picked up at a segment that its receiver did not expect, as an acknowledgment of the
 * receiver shows. A new session then starts at the acknowledged number. */
static bool has_wrong_start(const struct stream *stream, const struct flow *flow, const struct packet *pkt)
{
    const struct tcp_session *session = flow->tcp;
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    const struct tcp_peer *sender = &session->peer[direction], *receiver = &session->peer[!direction];

    return session_begins_anywhere(&stream->options, session, pkt->time_ns) && kind_of(pkt->tcp.flags) == SEGMENT_ACK &&
           (receiver->flags & PEER_HEARD) && !(sender->flags & PEER_HEARD) &&
           seq_before(pkt->tcp.acknowledgment, receiver->isn + 1) &&
           !(stream->options.checksum_validation && pkt->flags & PACKET_BAD_L4_CHECKSUM) &&
           !(flow->flags & (FLOW_DROPPED | FLOW_PASSED)) && flow->state != FLOW_BYPASSED;
}

/*
 * Returns true if the SYN/ACK acknowledges another SYN than that of the session: the server has no state of the session
 * any more, and a new connection begins. Conntrack uses the same criterion.
 *
 * A SYN/ACK with the sequence numbers of a closed session may also answer the client's new SYN, because SYN cookies
 * repeat the server's number for about a minute; or it is the old SYN/ACK sent again. It counts as an answer if no data
 * of the client was seen, or if the server sent segments after the handshake.
 */
static bool answers_other_syn(const struct stream *stream, const struct flow *flow, const struct packet *pkt)
{
    const struct tcp_session *session = flow->tcp;
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    const struct tcp_peer *server = &session->peer[direction], *client = &session->peer[!direction];
    bool is_own = client->isn + 1 == pkt->tcp.acknowledgment &&
                  (session->state < TCP_STATE_ESTABLISHED || server->isn == pkt->tcp.sequence);
    bool may_answer_again =
        session->state == TCP_STATE_CLOSED && (client->edge == 0 || session->flags & SESSION_CONFIRMED);

    return (!is_own || may_answer_again) &&
           !(stream->options.checksum_validation && pkt->flags & PACKET_BAD_L4_CHECKSUM) &&
           half_open_is_answered(stream, flow, pkt);
}

bool stream_is_port_reuse(const struct stream *stream, const struct flow *flow, struct packet *pkt)
{
    const struct stream_options *options = &stream->options;
    const struct tcp_session *session = flow->tcp;
    enum segment_kind kind = kind_of(pkt->tcp.flags);
    bool to_client = pkt->flags & PACKET_TO_CLIENT;

    if (pkt->protocol != IPPROTO_TCP || !pkt->transport)
        return false;
    if (session && has_wrong_start(stream, flow, pkt))
        return true;
    if (session && kind == SEGMENT_SYN_ACK && answers_other_syn(stream, flow, pkt))
        return true;
    if (kind != SEGMENT_SYN && (kind != SEGMENT_SYN_ACK || (!options->midstream && !options->async_oneside)))
        return false;
    if (options->checksum_validation && (pkt->flags & PACKET_BAD_L4_CHECKSUM))
        return false;
    if (!session) /* no session, but earlier packets: the flow belongs to an older connection */
        return (kind == SEGMENT_SYN || !to_client) && flow->side[0].packets + flow->side[1].packets > 0;
    if (kind == SEGMENT_SYN && !to_client && (session->flags & SESSION_FAST_OPEN_IGNORED) && !options->inline_mode)
        return true;
    /* A SYN of the client or a SYN/ACK of the server with the initial sequence number of the session is a
     * retransmission. */
    bool is_opener = kind == SEGMENT_SYN ? !to_client : to_client;

    if (is_opener && session->peer[to_client].isn == pkt->tcp.sequence)
        return false;
    if (session->state != TCP_STATE_NONE && session->state < TCP_STATE_LAST_ACK)
        return false; /* the session has not ended */
    /* Inline: the server may not have received or accepted the client's reset or FIN, and may still hold the
     * connection. Data after the SYN is accepted only when the server has answered it. If no segment of the server was
     * seen (asymmetric routing), no answer can be expected, and none is required. */
    if (kind == SEGMENT_SYN && options->inline_mode &&
        flow->side[to_client ? FLOW_TO_SERVER : FLOW_TO_CLIENT].packets > 0)
        pkt->stream_flags |= PACKET_STREAM_NEEDS_ANSWER;
    return true;
}

void stream_end(struct stream *stream, struct flow *flow)
{
    if (!flow->tcp)
        return;
    half_open_record_session(stream, flow->tcp);
    stream->counters[STREAM_END_STATE + flow->tcp->reported]++;
    session_release(stream, flow->tcp);
    flow->tcp = NULL;
}

void stream_stop(struct stream *stream, struct flow *flow, enum flow_direction direction)
{
    if (!flow->tcp)
        return;
    struct tcp_peer *peer = &flow->tcp->peer[direction];

    if (peer->flags & PEER_STOPPED)
        return;
    assembly_stop(stream->store, &peer->assembly);
    peer->flags |= PEER_STOPPED;
}

/* --- Missed acknowledgments ----------------------------------------------------------------------- */

/* Returns whether little data of the peer is kept because it is not acknowledged, and none waits for missing data,
 * which an acknowledgment may show to be lost. Behind the reassembly depth no further data arrives, so all of it can be
 * freed. */
static bool keeps_little(const struct stream *stream, const struct tcp_peer *peer, bool misses)
{
    enum { KEPT_MAX = 64 * 1024, KEPT_TIGHT = 8 * 1024 };
    const struct assembly *assembly = &peer->assembly;
    uint64_t kept = assembly->contiguous > assembly->acknowledged ? assembly->contiguous - assembly->acknowledged : 0;
    uint64_t limit = assembly_store_is_tight(stream->store) ? KEPT_TIGHT : KEPT_MAX;

    if (peer->flags & PEER_STOPPED)
        return true;
    if (peer->flags & PEER_DEPTH_REACHED)
        limit = 0;
    return !assembly->extents && kept <= (misses ? limit : limit / 2);
}

bool stream_can_miss_acknowledgments(const struct stream *stream, const struct flow *flow, bool misses)
{
    const uint16_t inexact = SESSION_MIDSTREAM | SESSION_MIDSTREAM_ESTABLISHED | SESSION_MIDSTREAM_SYNACK |
                             SESSION_ASYNC | SESSION_FOUR_WAY | SESSION_EVASION;
    const struct tcp_session *session = flow->tcp;

    if (!session || !stream->options.inline_mode || session->state != TCP_STATE_ESTABLISHED ||
        session->flags & inexact || !(session->flags & SESSION_CONFIRMED))
        return false;
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        const struct tcp_peer *peer = &session->peer[i];

        if (peer->flags & (PEER_FIN | PEER_RESET_RECEIVED | PEER_CHALLENGED | PEER_WINDOW_PROBE) || peer->window == 0 ||
            !keeps_little(stream, peer, misses))
            return false;
    }
    return true;
}

void stream_miss_acknowledgments(struct flow *flow)
{
    flow->tcp->peer[FLOW_TO_SERVER].flags |= PEER_ACKS_MISSED;
    flow->tcp->peer[FLOW_TO_CLIENT].flags |= PEER_ACKS_MISSED;
}

bool stream_is_at_depth(const struct flow *flow)
{
    return flow->tcp &&
           flow->tcp->peer[FLOW_TO_SERVER].flags & flow->tcp->peer[FLOW_TO_CLIENT].flags & PEER_DEPTH_REACHED;
}

bool stream_is_truncated(const struct flow *flow, enum flow_direction direction)
{
    const struct tcp_peer *peer = flow->tcp ? &flow->tcp->peer[direction] : NULL;

    return peer && (peer->flags & PEER_DEPTH_REACHED) &&
           (peer->assembly.inspected >= peer->assembly.limit || peer->assembly.parsed >= peer->assembly.limit);
}

void stream_release_closed(struct stream *stream, struct flow *flow)
{
    if (!flow->tcp || !stream->options.inline_mode || flow->tcp->state != TCP_STATE_CLOSED)
        return;
    stream_stop(stream, flow, FLOW_TO_SERVER);
    stream_stop(stream, flow, FLOW_TO_CLIENT);
}
