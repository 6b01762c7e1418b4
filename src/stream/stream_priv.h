/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream, internal: the session, the current segment, and the functions that work on them.
 *
 * A session has two peers, numbered by the direction of what they send. All fields of a peer describe its sending: its
 * sequence numbers, how many of them the other side has acknowledged, and how much the other side's window lets it
 * send. So almost every rule is written once, for "the sender" and "the receiver" of a segment; where Suricata treats
 * client and server differently, the code says so.
 *
 * Handlers of segments change nothing before they have accepted a segment: they check, then record.
 */
#ifndef SLUICE_STREAM_PRIV_H
#define SLUICE_STREAM_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "assembly.h"
#include "sluice/pool.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

enum {
    STREAM_EVENT_COUNT = STREAM_EVENT_END - STREAM_EVENT_FIRST,
    STREAM_REWRITE_SIZE = 128 * 1024, /* a super-packet with its headers */
    STREAM_READING_SIZE = 128 * 1024, /* an inspection window without its urgent bytes */
    SACK_RANGES = 6,
    URGENT_MAX = 4,           /* each doubles the number of readings */
    WINDOW_SCALE_MAX = 14,    /* RFC 7323 §2.3; assumed where the handshake was not seen */
    WINDOW_UNKNOWN = 1 << 26, /* bytes that may be in flight in a session whose window was not seen */
};

enum session_flag {
    SESSION_MIDSTREAM = 1 << 0,
    SESSION_MIDSTREAM_ESTABLISHED = 1 << 1, /* and the other side has not sent a segment yet */
    SESSION_MIDSTREAM_SYNACK = 1 << 2,
    SESSION_TIMESTAMP = 1 << 3,
    SESSION_WINDOW_SCALE = 1 << 4, /* offered by the SYN */
    SESSION_ASYNC = 1 << 5,        /* only one side is seen */
    SESSION_FOUR_WAY = 1 << 6,     /* the server answered the SYN with a SYN instead of a SYN/ACK */
    SESSION_EVASION = 1 << 7,      /* handshake's ACK with a wrong number */
    SESSION_SYN_SACK = 1 << 8,
    SESSION_SACK = 1 << 9,
    SESSION_CONFIRMED = 1 << 10, /* the server has sent a segment after the handshake */
    SESSION_FAST_OPEN = 1 << 11,
    SESSION_FAST_OPEN_IGNORED = 1 << 12, /* the server did not accept the SYN's data */
    SESSION_SCALES_KNOWN = 1 << 13,      /* picked up, and conntrack knew the window scales */
    SESSION_FAST_OPEN_TAKEN = 1 << 14,   /* the SYN's data was acknowledged: the cookie proved the client's address */
    SESSION_NEEDS_ANSWER = 1 << 15,      /* the server may still hold the previous connection of these ports */
};

enum peer_flag {
    PEER_KEEPALIVE = 1 << 0,
    PEER_TIMESTAMP = 1 << 1,
    PEER_ZERO_TIMESTAMP = 1 << 2,
    PEER_RESET_RECEIVED = 1 << 3, /* and possibly ignored by the receiver */
    PEER_DEPTH_REACHED = 1 << 4,
    PEER_STOPPED = 1 << 5, /* reassembly has stopped */
    PEER_WINDOW_PROBE = 1 << 6,
    PEER_URGENT = 1 << 7, /* urgent_offset is valid */
    PEER_URGENT_LIMIT = 1 << 8,
    PEER_OS_KNOWN = 1 << 9,
    PEER_FIN = 1 << 10,
    PEER_FLUSH = 1 << 11,       /* acknowledged bytes are inspected even if they are less than a chunk */
    PEER_CHALLENGED = 1 << 12,  /* its SYN was answered by an ACK of a connection that it does not have */
    PEER_HEARD = 1 << 13,       /* picked up: it has announced a window */
    PEER_END_YIELDED = 1 << 14, /* the parsers have received the end of this peer's stream */
};

struct sack_range {
    uint32_t from, to;
};

/* One side: what it sends, and what the other side has acknowledged of it. */
struct tcp_peer {
    uint32_t isn, next_seq, last_ack;
    uint32_t next_win, window; /* right edge of what it may send, and the window last advertised to it */
    uint32_t max_window;       /* the largest advertised so far: MAX.SND.WND of RFC 5961 §5.2 */
    uint32_t last_timestamp, last_seconds;
    uint32_t fin_seq; /* sequence number of its FIN, when PEER_FIN */
    uint16_t flags;   /* enum peer_flag */
    uint8_t window_scale, tcp_flags;
    uint8_t os; /* enum host_os of this side, when PEER_OS_KNOWN */
    uint8_t sack_count;
    struct sack_range sack[SACK_RANGES]; /* ascending, disjoint, beyond last_ack */
    int64_t next_offset;                 /* offset of next_seq in the stream */
    int64_t edge;                        /* end of the last byte that was seen */
    int64_t urgent_offset;               /* offset of the out-of-band byte, received or announced */
    uint32_t urgent_oob;
    uint8_t urgent_count;
    int64_t urgent[URGENT_MAX]; /* STREAM_URGENT_BOTH: offsets of urgent bytes, in the order of their announcement */
    struct assembly assembly;
};

/* A SYN or SYN/ACK, recorded because there were several. */
struct handshake_entry {
    struct handshake_entry *next;
    uint32_t seq, ack, timestamp, seconds;
    uint16_t window;
    uint8_t window_scale;
    bool has_timestamp, has_window_scale, has_sack;
};

struct tcp_session {
    uint8_t state, previous; /* enum tcp_state; `previous`: before the last change */
    uint8_t reported;        /* enum tcp_state in events: no longer changes once the flow is dropped */
    uint8_t queued, repeated_syns;
    bool is_holder;
    uint16_t flags; /* enum session_flag */
    struct handshake_entry *queue;
    struct flow *flow;
    struct tcp_session *newer, *older;               /* links of the session_list of its state */
    struct tcp_session *newer_holder, *older_holder; /* when is_holder: links among the sessions that have held data */
    struct tcp_peer peer[FLOW_DIRECTIONS];
};

/* Sessions that may be evicted, in the order in which they were added. */
struct session_list {
    struct tcp_session *newest, *oldest;
};

enum stream_counter {
    STREAM_SESSIONS,
    STREAM_SSN_MEMCAP_DROP,
    STREAM_SSN_ENDED_EARLY, /* closed, and evicted for a new one */
    STREAM_SSN_EVICTED,     /* idle, and evicted for a new one */
    STREAM_SSN_RESTORED,    /* evicted while half-open, and the handshake continued */
    STREAM_SSN_FROM_CACHE,
    STREAM_SSN_FROM_POOL,
    STREAM_PSEUDO,
    STREAM_PSEUDO_FAILED,
    STREAM_INVALID_CHECKSUM,
    STREAM_MIDSTREAM_PICKUPS,
    STREAM_MIDSTREAM_CONNTRACK, /* of these, the ones that conntrack knew */
    STREAM_CONNTRACK_QUERIES,
    STREAM_CONNTRACK_UNDECIDED, /* segments of unknown connections that could not be looked up */
    STREAM_WRONG_THREAD,
    STREAM_ACK_UNSEEN_DATA,
    STREAM_SYN,
    STREAM_SYNACK,
    STREAM_RST,
    STREAM_URG,
    STREAM_ACTIVE_SESSIONS,
    STREAM_SEGMENT_MEMCAP_DROP,
    STREAM_REASSEMBLY_EVICTED, /* sessions whose data was evicted for another one */
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
    STREAM_COUNTERS,
};

/* See half_open.c. */
struct half_open_table {
    struct pool *pool;
    struct half_open_bucket *buckets;
    uint32_t mask; /* buckets - 1 */
    size_t used;   /* records */
    uint64_t seed;
};

struct stream {
    struct stream_options options;
    stream_find_connection *find_connection; /* NULL: none */
    void *find_user;
    struct pool *sessions, *handshakes;
    struct assembly_store *store;
    struct session_list half_open, over; /* half_open: SYN_SENT and SYN_RECV; over: TIME_WAIT and CLOSED */
    struct session_list holders;         /* sessions that have held data since they were added */
    struct half_open_table half_open_records;
    uint64_t now_ns;  /* time of the newest packet, for the age of records, which must not decrease */
    uint8_t *rewrite; /* STREAM_REWRITE_SIZE bytes for pkt->new_data */
    uint8_t *reading; /* STREAM_READING_SIZE bytes; NULL unless the policy is STREAM_URGENT_BOTH */
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
    struct tcp_session *session; /* NULL until there is one */
    struct tcp_peer *sender, *receiver;
    enum flow_direction direction;
    enum segment_kind kind;
    uint32_t seq, ack, length, end; /* end: seq + length */
    bool has_ack;
    bool answers_probe; /* the other side had probed a zero window */
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

/* Inline, and the session may be older than the program: segments missed at its start have reached their receiver all
 * the same. */
static inline bool segment_may_be_older(const struct segment *seg)
{
    return segment_is_inline(seg) && seg->pkt->time_ns < seg->stream->options.midstream_until_ns;
}

/* Inline, and the segments before the session was picked up are unknown. */
static inline bool segment_is_midstream(const struct segment *seg)
{
    return segment_is_inline(seg) && (seg->session->flags & SESSION_MIDSTREAM);
}

/*
 * The session was picked up because of conntrack alone, at the first segment of one side, and the other side has not
 * sent a segment since. The sender of that segment may have chosen a number that the receiver does not expect, so that
 * the data accepted by the receiver is before it.
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

/* Returns the window scale that a SYN offers; more than 14 counts as 14 (RFC 7323 §2.3). */
static inline uint8_t segment_scale(const struct segment *seg)
{
    const struct tcp_info *tcp = &seg->pkt->tcp;

    if (!tcp->has_window_scale)
        return 0;
    return tcp->window_scale > WINDOW_SCALE_MAX ? WINDOW_SCALE_MAX : tcp->window_scale;
}

void segment_add_event(struct segment *seg, enum stream_event event);
/* Records the event; returns -EINVAL, for a handler to return. */
int segment_reject(struct segment *seg, enum stream_event event);
void segment_set_direction(struct segment *seg, enum flow_direction direction);

/* Sets the direction of the segment, and exchanges client and server of its flow if they are the other way round. */
void segment_swap_sides(struct segment *seg, enum flow_direction direction);

/* --- event.c, counter.c --------------------------------------------------------------------------- */

const char *stream_event_counter_name(size_t index);

/* --- session.c ------------------------------------------------------------------------------------ */

/* Allocates the segment's session. Returns 0, or -ENOMEM (counted, and set in the verdict). */
int session_new(struct segment *seg);
void session_release(struct stream *stream, struct tcp_session *session);
/* Adds a session in SYN_SENT to the list of half-open ones, if it is not in it. */
void session_link(struct stream *stream, struct tcp_session *session); /* adds it to the list of its state */
void session_set_state(struct segment *seg, enum tcp_state state);
/* True when both sides have sent FIN and know that it arrived: only old segments can follow. */
bool session_is_complete(const struct tcp_session *session);
void session_close_by_reset(struct segment *seg);

/* Sets the start of a peer's sequence space: offset 0 is isn + 1. Stored bytes are discarded. */
void peer_start_sequence(struct segment *seg, struct tcp_peer *peer, uint32_t isn);
void peer_set_next_seq(struct tcp_peer *peer, uint32_t seq);
/* The same, when the segment continued from there; with only one side seen the data counts as acknowledged. */
void peer_advance(struct segment *seg, struct tcp_peer *peer, uint32_t seq);
void peer_update_ack(struct tcp_peer *peer, uint32_t ack);
/* The receiver's bytes that the segment acknowledges exist, even if they were not seen here. */
void peer_extend_to_ack(struct segment *seg);
/* Records the segment as its sender's FIN; only the first one counts. */
void peer_record_fin(struct segment *seg);
/* Records the acknowledgment and the window of a segment for what its receiver sends. */
void peer_update_from_answer(struct segment *seg);
/* Sets the window that the other side advertises. */
void peer_set_window(struct tcp_peer *peer, uint32_t window);
/* Moves the right edge of the window, never back. */
void peer_extend_window(struct tcp_peer *peer, uint32_t right_edge);
int64_t peer_offset(const struct tcp_peer *peer, uint32_t seq);
enum host_os peer_os(struct segment *seg, struct tcp_peer *peer);

/* --- room.c --------------------------------------------------------------------------------------- */

/* Adds a session to those whose data may be evicted, if it is not among them. */
void holder_add(struct stream *stream, struct tcp_session *session);
void holder_remove(struct stream *stream, struct tcp_session *session);
/* When memory is tight: frees the history of idle sessions, kept for later matches. Invalidates chunks. */
void release_histories(struct segment *seg);
/* When memory is used up: evicts the data of one idle session. False when there is none. `*evicted`: number of sessions
 * evicted for this segment. */
bool evict_idle_data(struct segment *seg, unsigned *evicted);

/* --- sack.c --------------------------------------------------------------------------------------- */

void sack_update(struct tcp_peer *peer, const struct packet *pkt);
void sack_prune(struct tcp_peer *peer);
uint32_t sack_size(const struct tcp_peer *peer);
/* True when the packet's blocks contain nothing new. */
bool sack_is_outdated(const struct tcp_peer *peer, const struct packet *pkt);

/* --- check.c: acceptability of segments ----------------------------------------------------------- */

/* True without an ACK flag. Records pkt_invalid_ack. */
bool check_ack(struct segment *seg);
/* Records the event that names the error. */
bool check_reset(struct segment *seg);
/* PAWS (RFC 7323 §5) as the receiver's system does it; sessions without timestamps are always current. Changes nothing.
 */
enum timestamp_age { TIMESTAMP_CURRENT, TIMESTAMP_OVERTAKEN, TIMESTAMP_OLD };
enum timestamp_age classify_timestamp(struct segment *seg);
/* False when it is old. Records pkt_invalid_timestamp unless it is current. */
bool check_timestamp(struct segment *seg);
/* Records the timestamp of an accepted segment for the next check_timestamp(). */
void record_timestamp(struct segment *seg);
/* For a segment that answers a SYN: whether its timestamp echo is that of the SYN. */
bool check_syn_echo(const struct segment *seg);
/* During midstream-grace: the SYN that is answered may have passed before the program began, and the one seen is its
 * retransmission. The echo remains that of the first; the client accepts an echo as old as that, and no older. */
bool check_older_syn_echo(const struct segment *seg);
/* Inline: a FIN that was acknowledged before the session was picked up, and retransmitted because that acknowledgment
 * waited in the queue. The receiver has it, and all data before it; it passes and changes nothing. */
bool fin_is_older(const struct segment *seg);
/* Inline: the SYN/ACK of this connection, retransmitted before the server had got an answer. The client answers again.
 */
bool syn_ack_is_older(const struct segment *seg);
/* Inline: the SYN of this connection, retransmitted, and overtaken by the handshake. The server answers with an ACK. */
bool syn_is_overtaken(const struct segment *seg);
/* Whether the segment is within the window, if that is known; or one byte that probes a closed window. */
bool check_window(const struct segment *seg);
bool check_window_probe(const struct segment *seg);
/* Records pkt_retransmission. */
bool check_retransmission(struct segment *seg);

/* --- filter.c: segments that do not reach the states ---------------------------------------------- */

enum filtered { FILTER_GO_ON, FILTER_DONE, FILTER_INVALID };
enum filtered filter_segment(struct segment *seg);

/* --- handshake.c ---------------------------------------------------------------------------------- */

/* Adds the segment's SYN/ACK to those of this session. -ENOSPC, with an event, when there are too many. */
int handshake_queue_syn_ack(struct segment *seg);
/* Records the session's current SYN before another one replaces it. */
void handshake_queue_syn(struct segment *seg);
/* Uses the SYN whose timestamp the SYN/ACK echoes; false when there is none. */
bool handshake_use_queued_syn(struct segment *seg);
/* Uses the queued SYN/ACK that the ACK acknowledges. */
void handshake_use_queued_syn_ack(struct segment *seg);
void handshake_apply_syn_ack(struct segment *seg);
void handshake_apply_syn(struct segment *seg);
/* Begins the session with its first SYN, with its data when it has the fast open option; in state_handshake.c. */
void handshake_begin(struct segment *seg);
void handshake_clear(struct stream *stream, struct tcp_session *session);

/* In state_handshake.c: 0 when the SYN passes, or -EINVAL. */
int handle_other_syn(struct segment *seg, enum stream_event event);
bool is_simultaneous_syn_ack(const struct segment *seg);

/* --- half_open.c ---------------------------------------------------------------------------------- */

int half_open_init(struct half_open_table *table, size_t memcap, uint64_t seed); /* 0 or -ENOMEM */
void half_open_clear(struct half_open_table *table);
size_t half_open_memory(const struct half_open_table *table);
void half_open_transfer(struct transfer *t, struct half_open_table *table, bool same_flows);
/* Stores a record of a session that is removed during its handshake; nothing for other sessions. */
void half_open_record_session(struct stream *stream, const struct tcp_session *session);
/* Stores a record of the segment, a SYN other than that of its session. */
void half_open_record_syn(struct segment *seg);
/* Whether the packet, a SYN/ACK, acknowledges a SYN that has a record. */
bool half_open_is_answered(const struct stream *stream, const struct flow *flow, const struct packet *pkt);
/* Whether the segment, a reset, refuses a SYN or SYN/ACK that has a record. */
bool half_open_is_reset(const struct segment *seg);
/* Restores the session of a record before the handler of its state runs: in SYN_SENT for the SYN/ACK, in SYN_RECV for
 * the ACK of the handshake. Returns 0, -ENOENT when there is no record, or -ENOMEM as session_new() does. */
int half_open_restore_by_syn_ack(struct segment *seg);
int half_open_restore_by_ack(struct segment *seg);

/* --- data.c --------------------------------------------------------------------------------------- */

/* Adds acknowledgments and payload of an accepted segment to the assemblies. */
void data_add(struct segment *seg);

/* --- rewrite.c ------------------------------------------------------------------------------------ */

/* Builds pkt->new_data: the packet with the bytes that were seen first; false when that is not possible. */
bool rewrite_payload(struct segment *seg, int64_t offset);
/* Removes URG and the urgent pointer from the packet, rewritten or not. False when it cannot be rewritten. */
bool rewrite_without_urgent(struct stream *stream, struct packet *pkt);

/* --- urgent.c ------------------------------------------------------------------------------------- */

/* Processes URG of an accepted segment: records the offset of the marked byte, or removes the flag. */
void urgent_process(struct segment *seg);

/* --- state*.c: handlers; 0, or -EINVAL for a segment that its receiver would not accept ----------- */

typedef int segment_handler(struct segment *seg);

/* By state, direction and kind; NULL: the segment is ignored. */
extern segment_handler *const state_handlers[TCP_STATE_COUNT][FLOW_DIRECTIONS][SEGMENT_KINDS];
int state_dispatch(struct segment *seg, enum tcp_state state);

segment_handler none_on_reset, none_on_fin, none_on_syn_ack, none_on_syn, none_on_ack;
segment_handler syn_sent_on_syn_ack, syn_sent_on_wrong_syn_ack, syn_sent_on_reset, syn_sent_on_syn,
    syn_sent_on_server_syn, syn_sent_on_ack, syn_sent_on_fin, syn_sent_on_other;
segment_handler syn_recv_on_reset, syn_recv_on_fin, syn_recv_on_syn_ack, syn_recv_on_syn_ack_to_server, syn_recv_on_syn,
    syn_recv_on_syn_to_client, syn_recv_on_ack;
segment_handler established_on_reset, established_on_fin, established_on_syn_ack, established_on_syn_ack_to_server,
    established_on_syn, established_on_syn_to_client, established_on_ack;
segment_handler closing_on_reset, closing_on_syn;
segment_handler fin_wait1_on_fin, fin_wait1_on_ack_to_server, fin_wait1_on_ack_to_client;
segment_handler fin_wait2_on_fin, fin_wait2_on_ack;
segment_handler closing_on_fin, closing_on_ack;
segment_handler close_wait_on_fin, close_wait_on_ack;
segment_handler last_ack_on_ack, last_ack_on_other;
segment_handler time_wait_on_ack, time_wait_on_fin;
segment_handler closed_on_reset, closed_on_any;
segment_handler without_flags;

#endif
