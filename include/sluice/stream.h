/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stream: TCP sessions (RFC 9293, 7323, 2018, 7413) and the byte streams of their two directions, in order.
 *
 * Inline, the bytes that a packet completes can be inspected before the packet is forwarded. For each direction the
 * engine keeps every byte from the receiver's last acknowledgment on (and some history before it), in order or not, so
 * that the first-seen data wins: a segment that brings different bytes for an offset already seen is dropped, or
 * rewritten to the bytes that were seen first (options.overlap). A segment out of order may pass; the segment that
 * fills the gap yields all the data that it releases. In passive mode (inline_mode false) overlaps are resolved as the
 * target system does, and bytes are yielded when the receiver has acknowledged them.
 *
 * A segment with a wrong checksum does not change the session, nor does one that the receiver would not accept
 * (sequence number out of window, old timestamp, invalid RST); inline, the latter causes EXCEPTION_STREAM_INVALID.
 * Inline, a segment that arrives after later ones (reordering) passes although its timestamp or its acknowledgment is
 * old, because its receiver may not have got the later ones.
 *
 * All memory is reserved at the start. The module is independent of rules.
 *
 * Threads:   a stream engine belongs to one worker.
 * Ownership: sessions belong to the engine and are attached to their flow until stream_end(). The bytes of a stream
 * chunk are valid until the next call for the same engine.
 */
#ifndef SLUICE_STREAM_H
#define SLUICE_STREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/host_os.h"
#include "sluice/packet.h"

struct stream;
struct transfer;
struct conntrack;

enum stream_overlap {
    STREAM_OVERLAP_DROP,    /* drop the contradicting segment */
    STREAM_OVERLAP_REWRITE, /* forward it with the bytes that were seen first */
};

/* Treatment of the byte that the urgent pointer marks (RFC 6093; Suricata's stream.urgent-policy). */
enum stream_urgent {
    STREAM_URGENT_OOB,    /* out of band: not part of the stream */
    STREAM_URGENT_INLINE, /* part of the stream */
    STREAM_URGENT_DROP,   /* drop packets with URG */
    STREAM_URGENT_GAP,    /* the byte becomes a gap of one byte in the stream */
    STREAM_URGENT_CLEAR,  /* inline: part of the stream; URG is removed, so that the receiver reads the byte in the
                             stream, too */
    STREAM_URGENT_BOTH,   /* inline: the stream is inspected twice, with and without the byte; see urgent.c */
    STREAM_URGENT_AUTO,   /* value of the setting only: STREAM_URGENT_BOTH when inline, STREAM_URGENT_OOB otherwise */
};

/* Whether conntrack data decides about picking up a session whose handshake was not seen
 * (stream.midstream-conntrack). */
enum stream_conntrack {
    STREAM_CONNTRACK_NO,
    STREAM_CONNTRACK_YES,  /* a connection that is established in conntrack is picked up at any time, without the
                              exception EXCEPTION_STREAM_MIDSTREAM */
    STREAM_CONNTRACK_ONLY, /* as YES; in addition, midstream_until_ns applies only to connections of which conntrack has
                              seen both sides */
};

struct stream_options {
    bool inline_mode;
    bool midstream;              /* pick up sessions whose handshake was not seen */
    uint64_t midstream_until_ns; /* until this time, sessions whose handshake was not seen are picked up without an
                                    exception, because they may be older than the program; 0: never */
    enum stream_conntrack conntrack;
    bool async_oneside;               /* accept sessions of which only one direction is seen (asymmetric routing) */
    bool checksum_validation;         /* segments with PACKET_BAD_L4_CHECKSUM are not tracked */
    uint32_t depth;                   /* bytes inspected per direction; 0: all */
    uint32_t window[FLOW_DIRECTIONS]; /* bytes of history kept for inspection, by direction */
    uint32_t chunk[FLOW_DIRECTIONS];  /* passive: bytes that are collected and inspected at once (Suricata's toserver-
                                         and toclient-chunk-size) */
    size_t memcap;                    /* bytes for sessions of this worker */
    uint64_t seed;                    /* random seed for the hash of half-open connections */
    size_t reassembly_memcap;         /* bytes for stream data of this worker */
    enum stream_overlap overlap;
    /* urgent_limit: the policy that applies after 64 kB of out-of-band bytes */
    enum stream_urgent urgent, urgent_limit;
    uint32_t max_syn_queued, max_synack_queued;
    struct host_os_policy host_os;
};
extern const struct setting stream_settings[]; /* of struct stream_options; the memcaps are for all workers together */

int stream_new(struct stream **out, const struct stream_options *options); /* 0 or -ENOMEM */
/* Change the memcap of sessions, and the memcap of stream data (one worker's share), as flow_table_set_memcap(). */
int stream_set_memcap(struct stream *stream, size_t memcap);
int stream_set_reassembly_memcap(struct stream *stream, size_t memcap);
void stream_trim(struct stream *stream); /* gives memory that is no longer in use back to the kernel: pool_trim() */
void stream_free(struct stream *stream); /* NULL is allowed */

/*
 * Looks up the connection of a packet in the conntrack table. Called for packets without conntrack data whose session
 * was not seen from its beginning. Returns 0 with *out, -ENOENT when conntrack has no such connection, -EAGAIN when a
 * lookup is not possible now, or another -errno.
 */
typedef int stream_find_connection(void *user, const struct packet *pkt, struct conntrack *out);
/* Sets the lookup function. Without one (find is NULL) only conntrack data attached to packets is used. `user` must
 * outlive the stream engine. */
void stream_set_connections(struct stream *stream, stream_find_connection *find, void *user);

/* Result of tracking a packet. */
struct stream_verdict {
    enum exception_cause exception; /* EXCEPTION_NONE, or the reason why the packet was not tracked */
    bool undecided; /* with EXCEPTION_STREAM_MIDSTREAM. true: the conntrack lookup failed temporarily and may succeed
                       for a later packet */
    bool drop;      /* inline: this segment must not pass; `reason` says why */
    enum drop_reason reason; /* DROP_REASON_STREAM_... */
};

/* Returns true if the packet does not belong to the flow's session. This is so if the packet begins another connection
 * on the ports of a session that has ended (a SYN or, with midstream or async_oneside, a SYN/ACK), if it answers the
 * SYN of another connection, or if it shows that the session was picked up at the wrong sequence number. The caller
 * then ends the flow and gets a new one. May set PACKET_STREAM_NEEDS_ANSWER. */
bool stream_is_port_reuse(const struct stream *stream, const struct flow *flow, struct packet *pkt);

/*
 * Tracks the packet (TCP, with transport) in its flow, after flow_update(): session, state of the flow (flow_set_state,
 * flow_swap), events (packet_add_event, counted here), reassembly. Sets PACKET_STREAM_ADDED when the payload has become
 * part of the stream and is inspected there. May set pkt->new_data (overlap rewritten), which is valid until the next
 * packet.
 */
void stream_packet(struct stream *stream, struct flow_table *flows, struct flow *flow, struct packet *pkt,
                   struct stream_verdict *verdict);

/* Returns whether both directions have been inspected up to stream_options.depth. */
bool stream_is_at_depth(const struct flow *flow);
/* Returns whether the direction has reached stream_options.depth and all its bytes up to the depth were yielded; the
 * bytes after the depth are not inspected. */
bool stream_is_truncated(const struct flow *flow, enum flow_direction direction);

/*
 * Returns whether the session can at present be tracked without the acknowledgments of the connection (segments without
 * payload and with no flag but ACK), so that the kernel need not queue them. Inline only: the handshake was seen, no
 * side closes the connection, no data is missing, and little data waits for an acknowledgment, because it is kept until
 * then. `misses`: the kernel does not queue them now.
 */
bool stream_can_miss_acknowledgments(const struct stream *stream, const struct flow *flow, bool misses);
/* Records that acknowledgments of the session may not be seen: its windows and the numbers that were acknowledged are
 * not exact from now on. */
void stream_miss_acknowledgments(struct flow *flow);

/* Frees the session of a flow that ends; flow->tcp is NULL afterwards. */
void stream_end(struct stream *stream, struct flow *flow);
/* Inline: frees the stream data of a closed connection, because its ends accept no further data and all received data
 * has been inspected. To be called after the events of the packet are recorded, because they may contain the data. */
void stream_release_closed(struct stream *stream, struct flow *flow);
/* Stops reassembly of this direction (bypass, pass, drop) and frees its memory. */
void stream_stop(struct stream *stream, struct flow *flow, enum flow_direction direction);

/* --- Data to inspect ------------------------------------------------------------------------------ */

enum { STREAM_BEFORE_MAX = 64 };

/* Stream chunk: bytes of one direction that no chunk contained before, in order and without a gap. */
struct stream_chunk {
    const uint8_t *data;
    uint32_t length;
    uint64_t offset;        /* offset of data[0] in the direction's stream: 0 is the first byte after the SYN */
    const uint8_t *before;  /* the bytes just before `data`, at most STREAM_BEFORE_MAX, to match patterns across the
                               boundary of two chunks */
    uint32_t before_length; /* 0 at the start and behind a gap */
    bool gap;               /* bytes between this chunk and the previous one were lost */
    bool is_payload;        /* `data` is the packet's own payload, all of it */
    bool end;          /* true: the last chunk of the direction, because of FIN, RST, depth or the end of the flow */
    bool has_readings; /* the chunk's inspection window may have further readings: call stream_next_reading() */
    bool is_reading;   /* the chunk is from stream_next_reading(): `data` is the whole inspection window */
    uint32_t new_at;   /* is_reading: index in `data` of the first byte that was not inspected before */
};

/*
 * Gets the next chunk of a direction; the caller repeats the call until it returns false: there is none. Bytes that
 * were yielded count as inspected. `all`: in passive mode, also yield unacknowledged bytes and less than options.chunk
 * bytes, because the flow has ended. Chunks are at most 64 KiB.
 */
bool stream_next_chunk(struct stream *stream, struct flow *flow, enum flow_direction direction,
                       const struct packet *pkt, bool all, struct stream_chunk *chunk);

/* Returns whether stream_next_chunk() with `all` may yield a chunk; cheaper than that call. */
bool stream_has_remaining_data(const struct flow *flow, enum flow_direction direction);

/*
 * Passive: gets the next chunk for application protocol parsers; returns false when there is none. Parsers get bytes
 * with the packet that acknowledges them, each byte once, independently of stream_next_chunk(). `all`: also yield
 * unacknowledged bytes. The end of a stream may be a chunk without bytes (chunk->end).
 */
bool stream_next_parser_chunk(struct stream *stream, struct flow *flow, enum flow_direction direction, bool all,
                              struct stream_chunk *chunk);
/* Returns whether only one direction of the connection is seen, so that its bytes are never acknowledged. */
bool stream_is_one_sided(const struct flow *flow);
/* Returns whether the FIN of the direction was seen and all bytes before the FIN have been yielded. */
bool stream_has_ended(const struct flow *flow, enum flow_direction direction);
/* Returns true if the session was picked up midstream: the beginning of the connection was not seen. */
bool stream_is_midstream(const struct flow *flow);
/* Sets *sessions to the number of half-open and idle sessions evicted because of memcap, and *data to the number of
 * sessions whose stream data was evicted because of reassembly_memcap. */
void stream_count_evictions(const struct stream *stream, uint64_t *sessions, uint64_t *data);
/* Returns the offset in the direction's stream of the next byte that will be yielded for protocol parsers; 0 without a
 * session. */
uint64_t stream_parsed_offset(const struct flow *flow, enum flow_direction direction);
/* Returns the offset behind the last byte of the direction's stream that has arrived, acknowledged or not, and whether
 * or not there are gaps before it; 0 without a session. */
uint64_t stream_seen_offset(const struct flow *flow, enum flow_direction direction);
/* Exchanges client and server of a session whose beginning was not seen; the caller calls flow_swap(), too. Returns
 * false, without a change, when there is no session or its beginning was seen. Invalidates chunks. */
bool stream_swap_sides(struct flow *flow);
/* Passive: makes stream_next_chunk() yield the acknowledged bytes of the direction even if they are less than
 * options.chunk bytes. Called when a protocol message is complete. */
void stream_flush(struct flow *flow, enum flow_direction direction);

/*
 * Gets the inspection window of a chunk in one piece: the history kept before the chunk (options.window), followed by
 * the chunk. Sets *bytes and *length to the window, and *chunk_at to the index of the chunk in it. Returns the offset
 * of (*bytes)[0] in the direction's stream. The window is built at the first call for a chunk and then cached.
 */
uint64_t stream_inspection_window(struct stream *stream, const struct flow *flow, enum flow_direction direction,
                                  const struct stream_chunk *chunk, const uint8_t **bytes, uint32_t *length,
                                  uint32_t *chunk_at);

/*
 * STREAM_URGENT_BOTH: gets the inspection window of the chunk as read by a receiver that removes urgent bytes from the
 * stream. `number` counts from 1; its bits select the urgent bytes that this receiver removes. Returns false after the
 * last reading. *out is valid until the next call for the same engine.
 */
bool stream_next_reading(struct stream *stream, const struct flow *flow, enum flow_direction direction,
                         const struct stream_chunk *chunk, unsigned number, struct stream_chunk *out);
/* STREAM_URGENT_BOTH: returns whether the packet keeps its URG flag, so that the stream is also inspected without the
 * urgent byte. Sets *place to the offset of the urgent byte. */
bool stream_get_urgent_offset(const struct stream *stream, const struct flow *flow, enum flow_direction direction,
                              const struct packet *pkt, uint64_t *place);
/* Returns how many offsets of urgent bytes are stored for the direction, and sets *places to them; they are valid until
 * the next packet. */
unsigned stream_get_urgent_offsets(const struct flow *flow, enum flow_direction direction, const int64_t **places);
/* Removes URG from a packet for which stream_get_urgent_offset() is true. If the packet cannot be rewritten, sets
 * verdict->drop and ->reason. */
void stream_clear_urgent(struct stream *stream, struct flow *flow, enum flow_direction direction, struct packet *pkt,
                         struct stream_verdict *verdict);

/* Copies the bytes kept of a direction's stream, from the oldest on, for EVE's payload; returns the number of bytes.
 * Calls on_gap (may be NULL) for each gap, with its position in `out`. */
size_t stream_copy(const struct stream *stream, const struct flow *flow, enum flow_direction direction, uint8_t *out,
                   size_t size, void (*on_gap)(size_t at, uint64_t missing, void *user), void *user);

/* Copies stored bytes of a direction's stream: from the first one at or behind *offset up to the next gap, but not
 * beyond the offset `until`. Sets *offset to the offset of the first copied byte. Returns the number of bytes, at most
 * `size`; 0: no byte of the range is stored. */
size_t stream_copy_run(const struct flow *flow, enum flow_direction direction, uint64_t *offset, uint64_t until,
                       uint8_t *out, size_t size);

/* Transfers the session of a flow to another process (sluice/transfer.h). The writer calls it only for flows with a
 * session. The reader returns false when out of memory or on an error; then the flow has no session, and its packets
 * are inspected one by one. */
bool stream_transfer(struct transfer *t, struct stream *stream, struct flow *flow);

/* Transfers the records of half-open connections without session. `same_flows`: reader and writer hash flows with the
 * same seed. If false, or if the tables of reader and writer differ in size, the records are lost, and clients must
 * send their SYN again. */
void stream_transfer_half_open(struct transfer *t, struct stream *stream, bool same_flows);

/* --- Facts for rules and events ------------------------------------------------------------------- */

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
const char *tcp_state_name(enum tcp_state state); /* names in EVE: "none", "syn_sent", ... */

/* Facts about a session. In arrays by direction, [FLOW_TO_SERVER] is about the segments that the client sent. */
struct tcp_summary {
    enum tcp_state state;
    enum tcp_state reported; /* the state in events: for a dropped flow the state at the drop, otherwise `state` */
    bool midstream, has_gap[FLOW_DIRECTIONS];
    uint8_t flags[FLOW_DIRECTIONS];        /* TCP flags seen in any segment (bits TCP_FIN etc.) */
    uint32_t size[FLOW_DIRECTIONS];        /* stream_size: next sequence number minus the initial one */
    uint16_t max_regions[FLOW_DIRECTIONS]; /* largest number of separate ranges of bytes stored at a time (EVE's
                                              ts_max_regions) */
    uint64_t bytes[FLOW_DIRECTIONS];       /* bytes received in order so far */
    uint32_t urgent_oob[FLOW_DIRECTIONS];  /* bytes left out of the stream as out-of-band */
};
/* Returns the flow state for a session that reaches this TCP state. FLOW_NEW: the state of the flow does not change. */
enum flow_state stream_flow_state(enum tcp_state state);
/* Fills *out; all fields are zero when the flow has no session. */
void stream_summary(const struct flow *flow, struct tcp_summary *out);

/* A session after a packet, for EVE's stream_tcp. `flags` have Suricata's names: stream_session_flag_name(). */
enum { STREAM_SESSION_FLAGS = 14, STREAM_SIDE_FLAGS = 8 };
struct tcp_side_facts {
    uint32_t isn, next_seq, last_ack, next_win, window;
    uint32_t base_seq;           /* sequence number of the oldest byte that is kept */
    uint32_t right_edge;         /* sequence number after the last byte seen; 0: none was seen */
    uint8_t window_scale, flags; /* bits, by stream_side_flag_name() */
    bool is_reassembled;         /* base_seq and right_edge are valid */
};
struct tcp_session_facts {
    enum tcp_state state, previous;
    uint16_t flags; /* bits, by stream_session_flag_name() */
    struct tcp_side_facts side[FLOW_DIRECTIONS];
};
/* Fills *out. Returns false, with all fields zero, when the flow has no session. */
bool stream_session_facts(const struct flow *flow, struct tcp_session_facts *out);
/* name of a bit of tcp_session_facts.flags; `bit` is less than STREAM_SESSION_FLAGS */
const char *stream_session_flag_name(unsigned bit);
/* name of a bit of tcp_side_facts.flags; `bit` is less than STREAM_SIDE_FLAGS */
const char *stream_side_flag_name(unsigned bit);

/* Counters, named as in EVE below stats: "tcp.sessions", "tcp.syn", "tcp.segment_memcap_drop", "tcp.reassembly_gap",
 * "tcp.overlap", "tcp.overlap_diff_data", "tcp.memuse", "tcp.reassembly_memuse"... then "stream.EVENT" for every stream
 * event. */
size_t stream_counter_count(void);
const char *stream_counter_name(size_t index);
uint64_t stream_counter_value(const struct stream *stream, size_t index);

#endif
