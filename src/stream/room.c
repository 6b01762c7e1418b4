/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the sessions that release memory when stream.reassembly-memcap is used up. Sessions that have held data are
 * in a list. Of the IDLE_SAMPLES oldest sessions in the list, the one that has been idle for the longest time is
 * selected, and all of them move to the end. So packets need not move their sessions in the list, the cost of a
 * selection is bounded, and each session is considered in turn.
 *
 * When memory is tight, only history (inspected bytes) of the oldest sessions in the list is freed, idle or not: the
 * loss is that rules miss matches that begin in it.
 * When memory is used up, unacknowledged data and data behind a gap of an idle session is evicted. The receiver may
 * have this data already, so inline, later segments that would complete or replace it are refused (assembly_evict()).
 */
#include "stream_priv.h"

enum {
    IDLE_SAMPLES = 8,
    HISTORY_SESSIONS = 2, /* maximum number of sessions whose history is freed for one segment */
    EVICT_SESSIONS =
        40, /* maximum number of sessions whose data is evicted for one segment: a super-packet needs 33 blocks */
};
/* Idle times after which the data of a session may be evicted: IDLE_WITH_HOLE_NS if some of it is behind a gap,
 * otherwise IDLE_NS. */
#define IDLE_NS UINT64_C(10000000000)
#define IDLE_WITH_HOLE_NS UINT64_C(500000000)

static void list_add(struct stream *stream, struct tcp_session *session)
{
    struct session_list *list = &stream->holders;

    session->older_holder = list->newest;
    session->newer_holder = NULL;
    *(list->newest ? &list->newest->newer_holder : &list->oldest) = session;
    list->newest = session;
}

static void list_remove(struct stream *stream, struct tcp_session *session)
{
    struct session_list *list = &stream->holders;

    *(session->newer_holder ? &session->newer_holder->older_holder : &list->newest) = session->older_holder;
    *(session->older_holder ? &session->older_holder->newer_holder : &list->oldest) = session->newer_holder;
}

void holder_add(struct stream *stream, struct tcp_session *session)
{
    if (session->is_holder)
        return;
    session->is_holder = true;
    list_add(stream, session);
}

void holder_remove(struct stream *stream, struct tcp_session *session)
{
    if (!session->is_holder)
        return;
    session->is_holder = false;
    list_remove(stream, session);
}

/* Moves the oldest session of stream.holders to the end of the list and returns it; NULL if it is `except`. */
static struct tcp_session *next_holder(struct stream *stream, const struct tcp_session *except)
{
    struct tcp_session *session = stream->holders.oldest;

    if (!session)
        return NULL;
    list_remove(stream, session);
    list_add(stream, session);
    return session != except ? session : NULL;
}

void release_histories(struct segment *seg)
{
    struct stream *stream = seg->stream;

    for (unsigned i = 0; i < HISTORY_SESSIONS && assembly_store_is_tight(stream->store); i++) {
        struct tcp_session *session = next_holder(stream, seg->session);
        bool holds_data = false;

        if (!session)
            return;
        for (unsigned direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            struct assembly *assembly = &session->peer[direction].assembly;

            assembly_release(stream->store, assembly);
            holds_data |= assembly->first || assembly->extents;
        }
        if (!holds_data)
            holder_remove(stream, session);
    }
}

/* Data of active sessions is not evicted: it does less harm to refuse the current segment, which its sender
 * retransmits. */
bool evict_idle_data(struct segment *seg, unsigned *evicted)
{
    struct tcp_session *idle = NULL;
    bool lost = false;

    for (unsigned i = 0; i < IDLE_SAMPLES && *evicted < EVICT_SESSIONS; i++) {
        struct tcp_session *session = next_holder(seg->stream, seg->session);
        bool has_hole = session && (session->peer[FLOW_TO_SERVER].assembly.extents ||
                                    session->peer[FLOW_TO_CLIENT].assembly.extents);

        if (session && seg->pkt->time_ns > session->flow->last_ns + (has_hole ? IDLE_WITH_HOLE_NS : IDLE_NS) &&
            (!idle || session->flow->last_ns < idle->flow->last_ns))
            idle = session;
    }
    if (!idle)
        return false;
    for (unsigned direction = 0; direction < FLOW_DIRECTIONS; direction++)
        lost |= assembly_evict(seg->stream->store, &idle->peer[direction].assembly);
    holder_remove(seg->stream, idle);
    if (lost)
        stream_count(seg->stream, STREAM_REASSEMBLY_EVICTED);
    (*evicted)++;
    return true;
}
