/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions and their peers: allocation from the pool, states, sequence numbers and their offsets in the stream.
 *
 * next_seq and next_offset of a peer denote the same byte. The stream offset of another sequence number is next_offset
 * plus its distance from next_seq, modulo 2^32: correct while the distance is below 2 GiB, which is more than any
 * window.
 */
#include <errno.h>
#include <string.h>

#include "stream_priv.h"

static void prepare_peer(const struct stream_options *options, struct tcp_peer *peer, enum flow_direction direction)
{
    peer->assembly.limit = options->depth;
    peer->assembly.window = options->window[direction];
}

/* --- Eviction ------------------------------------------------------------------------------------- */

/* Returns the list of evictable sessions to which a session with this state and these flags belongs; NULL: no list. */
static struct session_list *list_of_state(struct stream *stream, uint8_t state, uint16_t flags)
{
    switch (state) {
    case TCP_STATE_SYN_SENT:
        return &stream->half_open;
    case TCP_STATE_SYN_RECV:
        return flags & SESSION_FAST_OPEN_TAKEN ? NULL : &stream->half_open;
    case TCP_STATE_TIME_WAIT:
    case TCP_STATE_CLOSED:
        return &stream->over;
    default:
        return NULL;
    }
}

void session_link(struct stream *stream, struct tcp_session *session)
{
    struct session_list *list = list_of_state(stream, session->state, session->flags);

    if (!list)
        return;
    session->older = list->newest;
    session->newer = NULL;
    *(session->older ? &session->older->newer : &list->oldest) = session;
    list->newest = session;
    list->count++;
}

static void unlink_session(struct stream *stream, struct tcp_session *session)
{
    struct session_list *list = list_of_state(stream, session->state, session->flags);

    if (!list)
        return;
    *(session->newer ? &session->newer->older : &list->newest) = session->older;
    *(session->older ? &session->older->newer : &list->oldest) = session->newer;
    list->count--;
}

/* Prefetches the sessions to be evicted next, which are the oldest ones and thus not in the CPU cache: the flow of
 * `next`, and the session after it. */
static void prefetch_victims(const struct tcp_session *next)
{
    enum { CACHE_LINE = 64 };
    const struct tcp_session *after = next ? next->newer : NULL;

    if (next)
        __builtin_prefetch(&next->flow->tcp, 1);
    for (size_t at = 0; after && at < sizeof(*after); at += CACHE_LINE)
        __builtin_prefetch((const char *)after + at, 1);
}

/*
 * Ends the flow of the session that has been closed for the longest time; returns false if no session is closed. Closed
 * sessions are kept for late packets until the timeout flow.timeouts.tcp.closed, unless memory is needed, or they take
 * more than three quarters of it.
 */
static bool end_oldest_closed(struct segment *seg)
{
    struct tcp_session *session = seg->stream->over.oldest;

    if (!session)
        return false;
    prefetch_victims(session->newer);
    stream_count(seg->stream, STREAM_SSN_ENDED_EARLY);
    flow_table_end(seg->flows, session->flow, FLOW_END_FORCED);
    return true;
}

/*
 * A SYN flood must not lock out clients that complete the handshake: when no session is free, the oldest half-open one
 * is evicted, whether or not the server has answered it. Its flow is kept, and so is a record of 16 bytes, from which
 * the next segment of the handshake restores the session (half_open.c). Returns false if there is no half-open session.
 */
static bool evict_oldest_half_open(struct stream *stream)
{
    struct tcp_session *session = stream->half_open.oldest;

    stream_count(stream, STREAM_SSN_MEMCAP_DROP);
    if (!session)
        return false;
    stream->half_open_evicted++;
    prefetch_victims(session->newer);
    half_open_record_session(stream, session);
    session->flow->tcp = NULL;
    session->flow->flags |= FLOW_NO_STREAM;
    session_release(stream, session);
    return true;
}

/* Ends the flow of an idle connection; called if there are neither closed nor half-open sessions. If the connection
 * continues, it is picked up midstream where that is allowed (may_pick_up()). Returns false if no connection is idle.
 */
static bool end_idle_session(struct segment *seg)
{
    struct flow *flow = flow_table_find_idle_tcp(seg->flows, seg->pkt->time_ns);

    if (!flow || !flow->tcp)
        return false;
    stream_count(seg->stream, STREAM_SSN_EVICTED);
    flow_table_end(seg->flows, flow, FLOW_END_FORCED);
    return true;
}

/* --- Sessions ------------------------------------------------------------------------------------- */

int session_new(struct segment *seg)
{
    struct stream *stream = seg->stream;

    if (stream->over.count > pool_capacity(stream->sessions) / 4 * 3)
        end_oldest_closed(seg);
    struct tcp_session *session = pool_alloc(stream->sessions);

    if (!session && (end_oldest_closed(seg) || evict_oldest_half_open(stream) || end_idle_session(seg)))
        session = pool_alloc(stream->sessions);
    if (!session) {
        seg->verdict->exception = EXCEPTION_STREAM_MEMCAP;
        return -ENOMEM;
    }
    memset(session, 0, sizeof(*session));
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        prepare_peer(&stream->options, &session->peer[i], (enum flow_direction)i);
    stream_count(stream, STREAM_SESSIONS);
    stream_count(stream, STREAM_SSN_FROM_POOL);
    session->flow = seg->flow;
    seg->flow->tcp = seg->session = session;
    seg->flow->flags &= (uint16_t)~FLOW_NO_STREAM;
    segment_set_direction(seg, seg->direction);
    seg->sender->tcp_flags = seg->pkt->tcp.flags;
    return 0;
}

void session_release(struct stream *stream, struct tcp_session *session)
{
    unlink_session(stream, session);
    holder_remove(stream, session);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        assembly_end(stream->store, &session->peer[i].assembly);
    handshake_clear(stream, session);
    pool_release(stream->sessions, session);
}

enum flow_state stream_flow_state(enum tcp_state state)
{
    switch (state) {
    case TCP_STATE_ESTABLISHED:
    case TCP_STATE_FIN_WAIT1:
    case TCP_STATE_FIN_WAIT2:
    case TCP_STATE_CLOSING:
    case TCP_STATE_CLOSE_WAIT:
        return FLOW_ESTABLISHED;
    case TCP_STATE_LAST_ACK:
    case TCP_STATE_TIME_WAIT:
    case TCP_STATE_CLOSED:
        return FLOW_CLOSED;
    default:
        return FLOW_NEW;
    }
}

void session_set_state(struct segment *seg, enum tcp_state state)
{
    struct tcp_session *session = seg->session;
    enum flow_state flow_state = stream_flow_state(state);

    if (session->state == state)
        return;
    bool moves = list_of_state(seg->stream, session->state, session->flags) !=
                 list_of_state(seg->stream, (uint8_t)state, session->flags);

    if (moves)
        unlink_session(seg->stream, session);
    session->previous = session->state;
    session->state = (uint8_t)state;
    if (!(seg->flow->flags & FLOW_DROPPED)) {
        seg->pkt->stream_flags |= PACKET_STREAM_STATE_UPDATE;
        session->reported = (uint8_t)state;
    }
    if (moves)
        session_link(seg->stream, session);
    if (flow_state != FLOW_NEW && seg->flow->state != flow_state && seg->flow->state != FLOW_BYPASSED)
        flow_set_state(seg->flows, seg->flow, flow_state);
}

bool session_is_complete(const struct tcp_session *session)
{
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        const struct tcp_peer *peer = &session->peer[i];

        if (!(peer->flags & PEER_FIN) || !seq_after(peer->last_ack, peer->fin_seq))
            return false;
    }
    return true;
}

void session_close_by_reset(struct segment *seg)
{
    session_set_state(seg, TCP_STATE_CLOSED);
}

void peer_start_sequence(struct segment *seg, struct tcp_peer *peer, uint32_t isn)
{
    enum flow_direction direction = peer == &seg->session->peer[FLOW_TO_SERVER] ? FLOW_TO_SERVER : FLOW_TO_CLIENT;

    assembly_clear(seg->stream->store, &peer->assembly);
    prepare_peer(&seg->stream->options, peer, direction);
    peer->isn = isn;
    peer->next_seq = isn + 1;
    peer->next_offset = 0;
    peer->edge = 0;
}

int64_t peer_offset(const struct tcp_peer *peer, uint32_t seq)
{
    return peer->next_offset + (int32_t)(seq - peer->next_seq);
}

void peer_set_next_seq(struct tcp_peer *peer, uint32_t seq)
{
    peer->next_offset = peer_offset(peer, seq);
    peer->next_seq = seq;
}

void peer_advance(struct segment *seg, struct tcp_peer *peer, uint32_t seq)
{
    peer_set_next_seq(peer, seq);
    if (seg->session->flags & SESSION_ASYNC)
        peer_update_ack(peer, seq);
}

void peer_update_ack(struct tcp_peer *peer, uint32_t ack)
{
    if (!seq_after(ack, peer->last_ack))
        return;
    peer->last_ack = ack;
    sack_prune(peer);
}

void peer_set_window(struct tcp_peer *peer, uint32_t window)
{
    peer->window = window;
    if (window > peer->max_window)
        peer->max_window = window;
}

void peer_extend_window(struct tcp_peer *peer, uint32_t right_edge)
{
    right_edge += sack_size(peer);
    if (seq_after(right_edge, peer->next_win))
        peer->next_win = right_edge;
}

void peer_record_fin(struct segment *seg)
{
    if (seg->sender->flags & PEER_FIN)
        return;
    seg->sender->flags |= PEER_FIN;
    seg->sender->fin_seq = seg->end;
}

void peer_update_from_answer(struct segment *seg)
{
    struct tcp_peer *receiver = seg->receiver;

    if (!seg->has_ack)
        return;
    peer_update_ack(receiver, seg->ack);
    sack_update(receiver, seg->pkt);
    peer_extend_window(receiver, receiver->last_ack + receiver->window);
}

void peer_extend_to_ack(struct segment *seg)
{
    if (seg->has_ack && seq_before(seg->receiver->next_seq, seg->ack))
        peer_set_next_seq(seg->receiver, seg->ack);
}

enum host_os peer_os(struct segment *seg, struct tcp_peer *peer)
{
    if (!(peer->flags & PEER_OS_KNOWN)) {
        bool is_client = peer == &seg->session->peer[FLOW_TO_SERVER];
        enum host_os os = host_os_lookup(&seg->stream->options.host_os, seg->flow->ip_version,
                                         is_client ? &seg->flow->client : &seg->flow->server);

        peer->os = (uint8_t)(os == HOST_OS_OLD_SOLARIS ? HOST_OS_SOLARIS : os); /* the two differ in reassembly only */
        peer->flags |= PEER_OS_KNOWN;
    }
    return (enum host_os)peer->os;
}
