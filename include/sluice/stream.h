/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream: TCP sessions (RFC 9293, 7323, 2018, 7413) and the byte streams of their two directions, in order.
 *
 * Inline, what a packet completes can be inspected before the packet is forwarded. A direction keeps every byte from
 * the receiver's last acknowledgment on (and some history before it), in order or not, so that the first-seen data
 * wins: a segment that brings other bytes for a place already seen is dropped, or rewritten to what was seen first
 * (options.overlap). A segment out of order may pass; the one that fills the hole yields all that it releases. Passive
 * (inline_mode false), the target's own way with overlaps counts, and bytes are yielded when the receiver has
 * acknowledged them.
 *
 * A segment with a wrong checksum changes nothing, nor does one that the receiver would not accept (sequence out of
 * window, old timestamp, bad RST): those are EXCEPTION_STREAM_INVALID inline. What others have overtaken passes inline
 * although its timestamp or its acknowledgment is old: its receiver may not have got those.
 *
 * All memory is reserved at the start. Nothing here knows rules.
 *
 * Threads:   a stream engine belongs to one worker.
 * Ownership: sessions belong to the engine and hang on their flow until stream_end(). Views are lent until the next
 * call for the same engine.
 */
#ifndef SLUICE_STREAM_H
#define SLUICE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/host_os.h"
#include "sluice/packet.h"

struct stream;
struct transfer;
struct conntrack;

enum stream_overlap {
    STREAM_OVERLAP_DROP,    /* the segment that contradicts is dropped */
    STREAM_OVERLAP_REWRITE, /* it goes on with the bytes that were seen first */
};

/* What the byte that the urgent pointer marks is (RFC 6093; the field's stream.urgent-policy). */
enum stream_urgent {
    STREAM_URGENT_OOB,    /* out of band: not part of the stream */
    STREAM_URGENT_INLINE, /* part of the stream */
    STREAM_URGENT_DROP,   /* drop packets with URG */
    STREAM_URGENT_GAP,    /* a hole of one byte in the stream */
    STREAM_URGENT_CLEAR,  /* inline: part of the stream, and made so for the receiver: it does not learn that it was
                             urgent */
    STREAM_URGENT_BOTH,   /* inline: part of the stream in one reading, and not in another; see urgent.c */
};

/* What conntrack's word counts for when a session begins in the middle. */
enum stream_conntrack {
    STREAM_CONNTRACK_NO,
    STREAM_CONNTRACK_YES,  /* one that conntrack knows as established is picked up, at any time and without an exception
                            */
    STREAM_CONNTRACK_ONLY, /* and before midstream_until_ns none that it knows nothing of, or only one side */
};

struct stream_options {
    bool inline_mode;
    bool midstream;              /* pick up sessions whose handshake was not seen */
    uint64_t midstream_until_ns; /* so too, and without an exception, for packets before this time: connections that are
                                  * older than the program; 0: none */
    enum stream_conntrack conntrack;
    bool async_oneside;               /* accept sessions of which one side is seen */
    bool checksum_validation;         /* segments with PACKET_BAD_L4_CHECKSUM are not tracked */
    uint32_t depth;                   /* bytes inspected per direction; 0: all */
    uint32_t window[FLOW_DIRECTIONS]; /* bytes of history that stay for inspection, by direction */
    uint32_t chunk[FLOW_DIRECTIONS];  /* passive: bytes inspected at once (the field's chunk sizes) */
    size_t memcap;                    /* bytes of sessions of this worker */
    uint64_t seed;                    /* secret: of the hash of half-open connections */
    size_t reassembly_memcap;         /* bytes of stream data of this worker */
    enum stream_overlap overlap;
    enum stream_urgent urgent, urgent_limit; /* urgent_limit: past 64 kB of out-of-band bytes */
    uint32_t max_syn_queued, max_synack_queued;
    struct host_os_policy host_os;
};
/* Suricata's defaults (depth 1 MiB, windows 2560, memcaps 64 and 256 MiB, urgent oob) and inline_mode. */
void stream_options_default(struct stream_options *options);

int stream_new(struct stream **out, const struct stream_options *options); /* 0 or -ENOMEM */
void stream_free(struct stream *stream);                                   /* NULL is allowed */

/*
 * Looks up the connection of a packet in conntrack's table: for a session whose beginning was not seen, where the
 * packet came without conntrack data. 0 with *out, -ENOENT when there is none, -EAGAIN when it can't be looked up now,
 * or another -errno.
 */
typedef int stream_find_connection(void *user, const struct packet *pkt, struct conntrack *out);
/* Without it (find is NULL) only conntrack data attached to packets is used. `user` must outlive the object. */
void stream_set_connections(struct stream *stream, stream_find_connection *find, void *user);

/* What the stream says of a packet. */
struct stream_verdict {
    enum exception_cause exception; /* EXCEPTION_NONE, or what prevented tracking */
    bool undecided; /* with EXCEPTION_STREAM_MIDSTREAM: the look-up in conntrack failed for now; a later packet may be
                       found */
    bool drop;      /* inline: this segment must not pass; `reason` says why */
    enum drop_reason reason; /* DROP_REASON_STREAM_... */
};

/* Whether the packet, a SYN, begins another connection on the ports of a flow that has ended, or shows that the flow's
 * session was picked up at the wrong place: then the caller ends the flow and gets a new one. May set
 * PACKET_STREAM_NEEDS_ANSWER. */
bool stream_is_reuse(const struct stream *stream, const struct flow *flow, struct packet *pkt);

/*
 * Tracks the packet (TCP, with transport) in its flow, after flow_update(): session, state of the flow (flow_set_state,
 * flow_swap), events (packet_add_event, counted here), reassembly. Sets PACKET_STREAM_ADDED when the payload has become
 * part of the stream, and so is inspected there. May set pkt->new_data (overlap rewritten), lent until the next packet.
 */
void stream_packet(struct stream *stream, struct flow_table *flows, struct flow *flow, struct packet *pkt,
                   struct stream_verdict *verdict);

/* Both directions have been looked at as far as options->depth says. */
bool stream_is_at_depth(const struct flow *flow);
/* This one has, and all that there is of it was yielded: it goes on, but not here. */
bool stream_is_truncated(const struct flow *flow, enum flow_direction direction);

/* Gives back the session of a flow that ends; flow->tcp is NULL afterwards. */
void stream_end(struct stream *stream, struct flow *flow);
/* Gives back the bytes of a connection that is over, inline: nothing that its sides would take can come any more, and
 * what came has been inspected. To be called when the events of the packet are written. */
void stream_release_closed(struct stream *stream, struct flow *flow);
/* No more reassembly for this direction (bypass, pass, drop): its memory is given back. */
void stream_stop(struct stream *stream, struct flow *flow, enum flow_direction direction);

/* --- What there is to inspect --------------------------------------------------------------------- */

enum { STREAM_BEFORE_MAX = 64 };

/* Bytes of one direction that were not yielded before, in order, without a hole. */
struct stream_view {
    const uint8_t *data;
    uint32_t length;
    uint64_t offset; /* of data[0] in the direction's bytes: 0 is the first after the SYN */
    const uint8_t *
        before; /* the bytes just before `data`, as many as are kept up to STREAM_BEFORE_MAX: for words on the border */
    uint32_t before_length; /* 0 at the start and behind a gap */
    bool gap;               /* bytes between this view and the last one were lost */
    bool is_payload;        /* `data` is the packet's own payload, all of it */
    bool end;               /* nothing will follow: FIN, RST, depth or the flow's end */
    bool has_readings;      /* its window may have other readings: stream_next_reading() */
    bool is_reading;        /* made by stream_next_reading(): `data` is the whole window */
    uint32_t new_at;        /* is_reading: index in `data` of the first byte that was not inspected before */
};

/*
 * The next view of a direction; false when there is nothing. Call until false. Bytes count as inspected once yielded.
 * `all`, passive: also what has not been acknowledged, and less than a chunk (the flow is over). Views are at most 64
 * KiB.
 */
bool stream_next_view(struct stream *stream, struct flow *flow, enum flow_direction direction, const struct packet *pkt,
                      bool all, struct stream_view *view);

/* Whether stream_next_view() with `all` may give something: costs less than to ask it. */
bool stream_has_rest(const struct flow *flow, enum flow_direction direction);

/*
 * Passive: the same for application protocols, which are told on the packet that acknowledges; each byte once,
 * independent of the views above. `all`: also what has not been acknowledged. The end of a stream may come alone, with
 * a view without bytes.
 */
bool stream_next_acknowledged(struct stream *stream, struct flow *flow, enum flow_direction direction, bool all,
                              struct stream_view *view);
/* Whether one side alone is seen: nothing it says is acknowledged by anybody. */
bool stream_is_oneside(const struct flow *flow);
/* The direction has sent its FIN, and all bytes before it have been yielded. */
bool stream_has_ended(const struct flow *flow, enum flow_direction direction);
/* Whether the beginning of the connection was not seen. */
bool stream_is_midstream(const struct flow *flow);
/* How many sessions, and data of how many sessions, gave way to others. */
void stream_count_evictions(const struct stream *stream, uint64_t *sessions, uint64_t *data);
/* The offset of the next byte of a direction that will be yielded for protocols; 0 without a session. */
uint64_t stream_next_offset(const struct flow *flow, enum flow_direction direction);
/* Client and server of a connection whose beginning was not seen change places (flow_swap() is the caller's); false
 * when it was seen. Ends what is lent of views. */
bool stream_turn_round(struct flow *flow);
/* Passive: what is acknowledged of the direction is to be inspected, however little it is: a message of a protocol is
 * complete. */
void stream_flush(struct flow *flow, enum flow_direction direction);

/*
 * The view with the history that is kept before it (options.window), in one piece: *bytes, *length; the view begins at
 * *view_at. Returns the offset of *bytes[0] in the direction. Built at the first call for a view, then cached.
 */
uint64_t stream_window(struct stream *stream, const struct flow *flow, enum flow_direction direction,
                       const struct stream_view *view, const uint8_t **bytes, uint32_t *length, uint32_t *view_at);

/*
 * STREAM_URGENT_BOTH: gives the window of the view as a receiver reads it that takes urgent bytes out of the stream.
 * `number` counts from 1. False when there is no such reading. Lent until the next call for the same engine.
 */
bool stream_next_reading(struct stream *stream, const struct flow *flow, enum flow_direction direction,
                         const struct stream_view *view, unsigned number, struct stream_view *out);
/* STREAM_URGENT_BOTH: whether the packet keeps its URG flag, so that the stream is also inspected without the urgent
 * byte. *place: offset of that byte. */
bool stream_urgent_place(const struct stream *stream, const struct flow *flow, enum flow_direction direction,
                         const struct packet *pkt, uint64_t *place);
/* How many such places are remembered for the direction; *places: lent until the next packet. */
unsigned stream_urgent_places(const struct flow *flow, enum flow_direction direction, const int64_t **places);
/* Removes URG from a packet for which stream_urgent_place() is true. If the packet cannot be rewritten, sets
 * verdict->drop and ->reason. */
void stream_clear_urgent(struct stream *stream, struct flow *flow, enum flow_direction direction, struct packet *pkt,
                         struct stream_verdict *verdict);

/* Copies what is kept of a direction's stream, from the oldest byte on, for EVE's payload; returns the number of bytes.
 * Holes are told by on_gap (may be NULL) at their place in `out`. */
size_t stream_copy(const struct stream *stream, const struct flow *flow, enum flow_direction direction, uint8_t *out,
                   size_t size, void (*on_gap)(size_t at, uint64_t missing, void *user), void *user);

/* To another process (sluice/transfer.h): the flow's session, which a writer has. Reading: false when there was no room
 * for it, or an error; then the flow has none, and its packets are inspected one by one. */
bool stream_transfer(struct transfer *t, struct stream *stream, struct flow *flow);

/* Transfers the records of half-open connections without session. `same_flows`: reader and writer hash flows with the
 * same seed. The records are lost if they do not, or if their tables differ in size; clients must then send their SYN
 * again. */
void stream_transfer_half_open(struct transfer *t, struct stream *stream, bool same_flows);

/* --- What rules and events ask -------------------------------------------------------------------- */

enum tcp_state {
    TCP_STATE_NONE,
    TCP_STATE_SYN_SENT,
    TCP_STATE_SYN_RECV,
    TCP_STATE_ESTABLISHED,
    TCP_STATE_FIN_WAIT1,
    TCP_STATE_FIN_WAIT2,
    TCP_STATE_TIME_WAIT,
    TCP_STATE_LAST_ACK,
    TCP_STATE_CLOSE_WAIT,
    TCP_STATE_CLOSING,
    TCP_STATE_CLOSED,
    TCP_STATE_COUNT,
};
const char *tcp_state_name(enum tcp_state state); /* EVE's: "none", "syn_sent", ... */

/* A copy of what is of interest about a session. Per direction: [FLOW_TO_SERVER] is what the client sent. */
struct tcp_summary {
    enum tcp_state state;
    enum tcp_state reported; /* state in events: `state`, or of a dropped flow the state at the drop */
    bool midstream, has_gap[FLOW_DIRECTIONS];
    uint8_t flags[FLOW_DIRECTIONS];        /* all TCP flags seen */
    uint32_t size[FLOW_DIRECTIONS];        /* stream_size: next sequence number - initial one */
    uint16_t max_regions[FLOW_DIRECTIONS]; /* pieces that its bytes lay in at most (EVE's ts_max_regions) */
    uint64_t bytes[FLOW_DIRECTIONS];       /* in order so far */
    uint32_t urgent_oob[FLOW_DIRECTIONS];
};
/* The state that a flow takes when its session reaches this state. FLOW_NEW: the state of the flow does not change. */
enum flow_state stream_flow_state(enum tcp_state state);
/* All zero when the flow has no session. */
void stream_summary(const struct flow *flow, struct tcp_summary *out);

/* A session as it is after a packet, for EVE's stream_tcp. `flags` have Suricata's names: stream_session_flag_name().
 */
enum { STREAM_SESSION_FLAGS = 14, STREAM_SIDE_FLAGS = 8 };
struct tcp_side_facts {
    uint32_t isn, next_seq, last_ack, next_win, window;
    uint32_t base_seq;           /* of the oldest byte that is kept */
    uint32_t right_edge;         /* behind the last byte that was seen; 0: none was */
    uint8_t window_scale, flags; /* bits, by stream_side_flag_name() */
    bool is_reassembled;         /* base_seq and right_edge are valid */
};
struct tcp_session_facts {
    enum tcp_state state, previous;
    uint16_t flags; /* bits, by stream_session_flag_name() */
    struct tcp_side_facts side[FLOW_DIRECTIONS];
};
/* False, and all zero, when the flow has no session. */
bool stream_session_facts(const struct flow *flow, struct tcp_session_facts *out);
const char *stream_session_flag_name(unsigned bit); /* of fewer than STREAM_SESSION_FLAGS */
const char *stream_side_flag_name(unsigned bit);    /* of fewer than STREAM_SIDE_FLAGS */

/* Counters, EVE's below stats: "tcp.sessions", "tcp.syn", "tcp.segment_memcap_drop", "tcp.reassembly_gap",
 * "tcp.overlap", "tcp.overlap_diff_data", "tcp.memuse", "tcp.reassembly_memuse"... then "stream.EVENT" for every stream
 * event. */
size_t stream_counter_count(void);
const char *stream_counter_name(size_t index);
uint64_t stream_counter_value(const struct stream *stream, size_t index);

#endif
