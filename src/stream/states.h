/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that work on a segment, its session and its peers, by file.
 */
#ifndef SLUICE_STREAM_STATES_H
#define SLUICE_STREAM_STATES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/pool.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

#include "assembly.h"
#include "session.h"
#include "segment.h"

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
