/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker threads of a replay, which inspect packets in parallel but access shared state in the order of the
 * packets.
 */
#ifndef SLUICE_REPLAY_WORKERS_H
#define SLUICE_REPLAY_WORKERS_H

#include "sluice/worker.h"

struct replay_position;

struct replay_workers;
/* Allocates the state of the threads. The pipelines of `workers` must be initialised; they use the replay order from
 * now on. All arguments must stay valid until replay_workers_free(). Returns 0 or -ENOMEM. */
int replay_workers_new(struct replay_workers **out, struct worker *workers, unsigned count,
                       const struct ruleset *ruleset, const struct decode_options *decode);
void replay_workers_free(struct replay_workers *all); /* also stops the threads; NULL is allowed */
/* Records which pairs of addresses of a packet must reach the same worker. Called for all packets before the first is
 * sent. */
void replay_workers_group_addresses(struct replay_workers *all, struct packet *pkt);
int replay_workers_start(struct replay_workers *all);
/* Copies the packet into the ring of the worker that its addresses select; waits while the ring is full. */
void replay_workers_send(struct replay_workers *all, struct packet *pkt);
/* Sends all workers the point in time `now_ns`, at which they end flows that have timed out. */
void replay_workers_expire(struct replay_workers *all, uint64_t now_ns);
/* Waits until the workers have inspected all packets that were sent. */
void replay_workers_wait(struct replay_workers *all);
/* Makes the workers inspect the remaining packets and end all flows, joins the threads, and copies the workers'
 * counters. */
void replay_workers_finish(struct replay_workers *all, uint64_t now_ns);
/* An output_progress_function; `user` is the struct replay_workers. */
void replay_workers_progress(void *user, unsigned port, struct replay_position *out);

#endif
