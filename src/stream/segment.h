/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of TCP tracking in a worker (struct stream), and the segment that is being processed.
 */
#ifndef SLUICE_STREAM_SEGMENT_H
#define SLUICE_STREAM_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/pool.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

#include "assembly.h"
#include "session.h"

enum stream_counter {
    STREAM_SESSIONS,
    STREAM_SSN_MEMCAP_DROP,
    STREAM_SSN_ENDED_EARLY, /* closed sessions that were evicted for a new one */
    STREAM_SSN_EVICTED,     /* idle sessions that were evicted for a new one */
    STREAM_SSN_RESTORED,    /* half-open sessions that were evicted, and restored when the handshake continued */
    STREAM_SSN_FROM_CACHE,
    STREAM_SSN_FROM_POOL,
    STREAM_PSEUDO,
    STREAM_PSEUDO_FAILED,
    STREAM_INVALID_CHECKSUM,
    STREAM_MIDSTREAM_PICKUPS,
    STREAM_MIDSTREAM_CONNTRACK, /* the part of STREAM_MIDSTREAM_PICKUPS that was found in conntrack */
    STREAM_CONNTRACK_QUERIES,
    STREAM_CONNTRACK_UNDECIDED, /* segments without session whose conntrack lookup failed temporarily */
    STREAM_WRONG_THREAD,
    STREAM_ACK_UNSEEN_DATA,
    STREAM_SYN,
    STREAM_SYNACK,
    STREAM_RST,
    STREAM_URG,
    STREAM_ACTIVE_SESSIONS,
    STREAM_SEGMENT_MEMCAP_DROP,
    STREAM_REASSEMBLY_EVICTED, /* evictions of a session's data to free memory for another session */
    STREAM_SEGMENT_FROM_CACHE,
    STREAM_SEGMENT_FROM_POOL,
    STREAM_DEPTH_REACHED,
    STREAM_GAP,
    STREAM_OVERLAP,
    STREAM_OVERLAP_DIFF_DATA,
    STREAM_INSERT_NORMAL_FAIL,
    STREAM_INSERT_OVERLAP_FAIL,
    STREAM_URGENT_OOB_DATA,
    STREAM_URGENT_CLEARED,
    STREAM_MEMUSE,
    STREAM_REASSEMBLY_MEMUSE,
    STREAM_END_STATE, /* first of one counter per enum tcp_state: sessions at the end of their flow */
    STREAM_COUNTERS = STREAM_END_STATE + TCP_STATE_COUNT,
};

/* Records of evicted half-open sessions; see half_open.c. */
struct half_open_table {
    struct pool *pool;
    struct half_open_bucket *buckets;
    uint32_t mask; /* number of buckets - 1 */
    size_t used;   /* number of records */
    uint64_t seed;
};

struct stream {
    struct stream_options options;
    stream_find_connection *find_connection; /* conntrack lookup; NULL: not available */
    void *find_user;
    struct pool *sessions, *handshakes;
    struct assembly_store *store;
    struct session_list half_open, over; /* half_open: SYN_SENT and SYN_RECV; over: TIME_WAIT and CLOSED */
    struct session_list holders;         /* sessions whose stored data may be evicted (room.c) */
    struct half_open_table half_open_records;
    uint64_t now_ns;  /* time of the newest packet; never decreases, because the age of half-open records is computed
                         from it */
    uint8_t *rewrite; /* STREAM_REWRITE_SIZE bytes for pkt->new_data */
    uint8_t *reading; /* STREAM_READING_SIZE bytes; NULL unless the policy is STREAM_URGENT_BOTH */
    uint64_t half_open_evicted; /* part of STREAM_SSN_MEMCAP_DROP: a half-open session was evicted for the new one */
    uint64_t counters[STREAM_COUNTERS];
    uint64_t events[STREAM_EVENT_COUNT];
};

enum segment_kind {
    SEGMENT_RST,
    SEGMENT_FIN,
    SEGMENT_SYN_ACK,
    SEGMENT_SYN,
    SEGMENT_ACK,
    SEGMENT_OTHER, /* without any of the flags above */
    SEGMENT_KINDS,
};

/* The segment that is being processed. */
struct segment {
    struct stream *stream;
    struct flow_table *flows;
    struct flow *flow;
    struct packet *pkt;
    struct stream_verdict *verdict;
    struct tcp_session *session; /* NULL: not created yet */
    struct tcp_peer *sender, *receiver;
    enum flow_direction direction;
    enum segment_kind kind;
    uint32_t seq, ack, length, end; /* end: seq + length */
    bool has_ack;
    bool answers_probe; /* the previous segment of the other side probed a zero window */
};

/* --- Sequence numbers modulo 2^32 ----------------------------------------------------------------- */

static inline bool seq_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) < 0;
}

static inline bool seq_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) > 0;
}

static inline bool seq_at_or_before(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) <= 0;
}

static inline bool seq_at_or_after(uint32_t a, uint32_t b)
{
    return (int32_t)(a - b) >= 0;
}

/* --- stream.c ------------------------------------------------------------------------------------- */

static inline void stream_count(struct stream *stream, enum stream_counter counter)
{
    stream->counters[counter]++;
}

static inline bool segment_is_inline(const struct segment *seg)
{
    return seg->stream->options.inline_mode;
}

static inline uint32_t segment_seconds(const struct segment *seg)
{
    return (uint32_t)(seg->pkt->time_ns / UINT64_C(1000000000));
}

/* Returns true inline while a session may be older than the program (midstream-grace): segments that this program did
 * not see may have reached their receiver. */
static inline bool segment_may_be_older(const struct segment *seg)
{
    return segment_is_inline(seg) && seg->pkt->time_ns < seg->stream->options.midstream_until_ns;
}

/* Returns true inline for a session that was picked up midstream: its earlier segments are unknown. */
static inline bool segment_is_midstream(const struct segment *seg)
{
    return segment_is_inline(seg) && (seg->session->flags & SESSION_MIDSTREAM);
}

/*
 * Returns true if the session was picked up only because conntrack knows the connection, and the other side has not
 * sent a segment since. The sender of the first segment may have chosen a sequence number that the receiver does not
 * expect, to hide data that has lower sequence numbers and that the receiver accepts.
 */
static inline bool session_begins_anywhere(const struct stream_options *options, const struct tcp_session *session,
                                           uint64_t now_ns)
{
    return options->inline_mode && (session->flags & SESSION_MIDSTREAM_ESTABLISHED) && !options->midstream &&
           !options->async_oneside && now_ns >= options->midstream_until_ns;
}

/* Returns the window that the segment advertises to its receiver, scaled. */
static inline uint32_t segment_window(const struct segment *seg)
{
    return (uint32_t)seg->pkt->tcp.window << seg->receiver->window_scale;
}

/* Returns the window scale option of a SYN or SYN/ACK, at most 14 (RFC 7323 §2.3); 0 without the option. */
static inline uint8_t segment_scale(const struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;

    if (!tcp->has_window_scale)
        return 0;
    return tcp->window_scale > WINDOW_SCALE_MAX ? WINDOW_SCALE_MAX : tcp->window_scale;
}

void segment_add_event(struct segment *seg, enum stream_event event);
/* Sets the event in the packet; returns -EINVAL, so that a handler can return the result. */
int segment_reject(struct segment *seg, enum stream_event event);
void segment_set_direction(struct segment *seg, enum flow_direction direction);

/* Sets the direction of the segment. If its packet has the opposite direction, exchanges client and server of the flow.
 */
void segment_swap_sides(struct segment *seg, enum flow_direction direction);

#endif
