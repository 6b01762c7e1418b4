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

/* Allocates the segment's session; may evict another one. Returns 0, or -ENOMEM with EXCEPTION_STREAM_MEMCAP in the
 * verdict. */
int session_new(struct segment *seg);
void session_release(struct stream *stream, struct tcp_session *session);
/* Adds the session to the list of its state (half_open, over), as the newest. Sessions of other states, and sessions in
 * SYN_RECV with SESSION_FAST_OPEN_TAKEN, are in no list. */
void session_link(struct stream *stream, struct tcp_session *session);
void session_set_state(struct segment *seg, enum tcp_state state);
/* Returns true when both FINs were acknowledged: only old segments can follow. */
bool session_is_complete(const struct tcp_session *session);
void session_close_by_reset(struct segment *seg);

/* Resets a peer to the initial sequence number `isn`: stream offset 0 is the byte isn + 1. Discards stored bytes. */
void peer_start_sequence(struct segment *seg, struct tcp_peer *peer, uint32_t isn);
void peer_set_next_seq(struct tcp_peer *peer, uint32_t seq);
/* Sets next_seq after a segment was accepted. If only one side is seen (SESSION_ASYNC), the bytes before `seq` count as
 * acknowledged. */
void peer_advance(struct segment *seg, struct tcp_peer *peer, uint32_t seq);
void peer_update_ack(struct tcp_peer *peer, uint32_t ack);
/* Moves next_seq of the receiver up to the acknowledgment of the segment: the acknowledged bytes were sent, even if
 * they were not seen here. */
void peer_extend_to_ack(struct segment *seg);
/* Stores fin_seq of the sender from a segment with FIN, unless a FIN was recorded before. */
void peer_record_fin(struct segment *seg);
/* Records the acknowledgment number and the SACK blocks of the segment in its receiver, and moves the right edge of the
 * receiver's window accordingly. The size of the window is set by peer_set_window(). */
void peer_update_from_answer(struct segment *seg);
/* Sets the window that the other side advertises to the peer, and updates max_window. */
void peer_set_window(struct tcp_peer *peer, uint32_t window);
/* Moves next_win forward to `right_edge` plus the selectively acknowledged bytes; never moves it back. */
void peer_extend_window(struct tcp_peer *peer, uint32_t right_edge);
int64_t peer_offset(const struct tcp_peer *peer, uint32_t seq);
enum host_os peer_os(struct segment *seg, struct tcp_peer *peer);

/* --- room.c --------------------------------------------------------------------------------------- */

/* Adds a session to the list of sessions whose data may be evicted (stream.holders), if it is not in the list. */
void holder_add(struct stream *stream, struct tcp_session *session);
void holder_remove(struct stream *stream, struct tcp_session *session);
/* Frees the history (inspected bytes that are kept for later matches) of a few other sessions when memory is tight,
 * otherwise does nothing. Invalidates chunks. */
void release_histories(struct segment *seg);
/* Evicts the data of one idle session, to be called when memory is used up, and increments *evicted, which counts the
 * evictions for this segment. Returns false when none of the examined sessions is idle, or *evicted has reached its
 * limit. */
bool evict_idle_data(struct segment *seg, unsigned *evicted);

/* --- sack.c --------------------------------------------------------------------------------------- */

void sack_update(struct tcp_peer *peer, const struct packet *pkt);
void sack_prune(struct tcp_peer *peer);
uint32_t sack_size(const struct tcp_peer *peer);
/* Returns true when all bytes in the packet's SACK blocks are recorded already. */
bool sack_is_outdated(const struct tcp_peer *peer, const struct packet *pkt);

/* --- check.c: acceptability of segments ----------------------------------------------------------- */

/* Returns whether the acknowledgment number is acceptable; true for a segment without the ACK flag. Sets the event
 * pkt_invalid_ack if it is not. */
bool check_ack(struct segment *seg);
/* Returns whether the receiver would accept the reset; sets the event that names the error if it would not. */
bool check_reset(struct segment *seg);
/* Classifies the timestamp of the segment by PAWS (RFC 7323 §5), as implemented by the receiver's operating system.
 * Segments of sessions without timestamps are TIMESTAMP_CURRENT. Changes nothing. */
enum timestamp_age { TIMESTAMP_CURRENT, TIMESTAMP_OVERTAKEN, TIMESTAMP_OLD };
enum timestamp_age classify_timestamp(struct segment *seg);
/* Returns false for TIMESTAMP_OLD. Sets the event pkt_invalid_timestamp unless the timestamp is TIMESTAMP_CURRENT. */
bool check_timestamp(struct segment *seg);
/* Stores the timestamp of an accepted segment in its sender, for the next check_timestamp(). */
void record_timestamp(struct segment *seg);
/* Returns false if a segment of the server answers the SYN but does not echo its timestamp. A segment without an echo
 * is accepted. */
bool check_syn_echo(const struct segment *seg);
/* Inline, during midstream-grace: returns true if the SYN/ACK echoes an older timestamp than that of the SYN that was
 * seen. The SYN/ACK may then answer the first SYN, which passed before the program started; the SYN that was seen is
 * its retransmission. */
bool check_older_syn_echo(const struct segment *seg);
/* Inline: returns true for a retransmitted FIN that was acknowledged before the session was picked up. Its sender
 * retransmitted it because the acknowledgment waited in the queue. The receiver has the FIN and all data before it, so
 * the segment passes and changes nothing. */
bool fin_is_older(const struct segment *seg);
/* Inline: returns true for a retransmission of this connection's SYN/ACK, sent before the server received the
 * handshake's ACK. The client answers it with another ACK. */
bool syn_ack_is_older(const struct segment *seg);
/* Inline: returns true for a retransmission of this connection's SYN that arrives after the handshake. The server
 * answers it with an ACK. */
bool syn_is_overtaken(const struct segment *seg);
/* Returns true if the segment is within the window, the window is unknown (picked up or one-sided session, missed
 * acknowledgments), or the segment is a window probe. */
bool check_window(const struct segment *seg);
bool check_window_probe(const struct segment *seg); /* true for one byte sent into a zero window */
/* Returns whether the segment retransmits bytes that are in flight or acknowledged; if so, sets the event
 * pkt_retransmission. */
bool check_retransmission(struct segment *seg);

/* --- filter.c: segments that do not reach the states ---------------------------------------------- */

/* FILTER_GO_ON: the handler of the state processes the segment. FILTER_DONE: the segment passes and changes nothing
 * more. FILTER_INVALID: the segment is rejected. */
enum filtered { FILTER_GO_ON, FILTER_DONE, FILTER_INVALID };
enum filtered filter_segment(struct segment *seg);

/* --- handshake.c ---------------------------------------------------------------------------------- */

/* Adds the SYN/ACK to the session's queue. Returns 0, or -ENOSPC with an event if the queue already has
 * max_synack_queued entries. */
int handshake_queue_syn_ack(struct segment *seg);
/* Adds the session's current SYN to its queue, before the SYN in `seg` replaces it. */
void handshake_queue_syn(struct segment *seg);
/* Sets the session's SYN to the queued one whose timestamp the SYN/ACK echoes. Returns false when the queue contains no
 * such SYN. */
bool handshake_use_queued_syn(struct segment *seg);
/* Sets the session's SYN/ACK to the queued one that the ACK acknowledges. */
void handshake_use_queued_syn_ack(struct segment *seg);
void handshake_apply_syn_ack(struct segment *seg);
void handshake_apply_syn(struct segment *seg);
/* Initializes the session from its first SYN, and adds the data of the SYN if it has a fast open option. In
 * state_handshake.c. */
void handshake_begin(struct segment *seg);
void handshake_clear(struct stream *stream, struct tcp_session *session);

/* Handles a SYN that does not belong to the session, and sets `event`. Returns 0 if the SYN passes, or -EINVAL. In
 * state_handshake.c. */
int handle_other_syn(struct segment *seg, enum stream_event event);
bool is_simultaneous_syn_ack(const struct segment *seg);

/* --- half_open.c ---------------------------------------------------------------------------------- */

int half_open_init(struct half_open_table *table, size_t memcap, uint64_t seed); /* 0 or -ENOMEM */
void half_open_clear(struct half_open_table *table);
size_t half_open_memory(const struct half_open_table *table);
void half_open_transfer(struct transfer *t, struct half_open_table *table, bool same_flows);
/* Stores a record of a session that is evicted during its handshake; does nothing for other sessions. */
void half_open_record_session(struct stream *stream, const struct tcp_session *session);
/* Stores a record of the segment, which is a SYN, but not the SYN of its session. */
void half_open_record_syn(struct segment *seg);
/* Returns whether the packet, a SYN/ACK, acknowledges a SYN of which there is a record. */
bool half_open_is_answered(const struct stream *stream, const struct flow *flow, const struct packet *pkt);
/* Returns whether the segment, a reset, refuses a SYN or SYN/ACK of which there is a record. */
bool half_open_is_reset(const struct segment *seg);
/* Restore an evicted session from its record, before the handler of its state processes the segment. A SYN/ACK restores
 * the session in SYN_SENT, the ACK of the handshake restores it in SYN_RECV. Return 0, -ENOENT when there is no record,
 * or -ENOMEM as session_new() does. */
int half_open_restore_by_syn_ack(struct segment *seg);
int half_open_restore_by_ack(struct segment *seg);

/* --- data.c --------------------------------------------------------------------------------------- */

/* Adds the acknowledgment of an accepted segment to the receiver's assembly, and its payload to the sender's. */
void data_add(struct segment *seg);

/* --- rewrite.c ------------------------------------------------------------------------------------ */

/* Builds pkt->new_data, a copy of the packet in which the bytes that were seen first replace different bytes. `offset`:
 * stream offset of the payload. Returns false when the packet cannot be rewritten. */
bool rewrite_payload(struct segment *seg, int64_t offset);
/* Removes URG and the urgent pointer from the packet, whose payload may have been rewritten before. Returns false when
 * the packet cannot be rewritten. */
bool rewrite_without_urgent(struct stream *stream, struct packet *pkt);

/* --- urgent.c ------------------------------------------------------------------------------------- */

/* Processes URG of an accepted segment: records the offset of the marked byte, or removes the flag. */
void urgent_process(struct segment *seg);

/* --- state*.c: handlers return 0, or -EINVAL for a segment that its receiver would not accept ----- */

typedef int segment_handler(struct segment *seg);

/* Handlers by state, direction and kind of the segment. NULL: the segment is ignored. */
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
