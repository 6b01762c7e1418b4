/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The worker threads of a replay, in the order of the packets.
 */
#ifndef SLUICE_REPLAY_WORKERS_H
#define SLUICE_REPLAY_WORKERS_H

#include "sluice/worker.h"

struct replay_position;

struct replay_workers;
/* For workers whose pipelines are ready; gives each a turn. All that is passed is lent. 0 or -ENOMEM. */
int replay_workers_new(struct replay_workers **out, struct worker *workers, unsigned count,
                       const struct ruleset *ruleset, const struct decode_options *decode);
void replay_workers_free(struct replay_workers *all); /* finishes, too; NULL is allowed */
/* A packet that will be given later: which pairs of addresses belong together? Before the first is given. */
void replay_workers_group_addresses(struct replay_workers *all, struct packet *pkt);
int replay_workers_start(struct replay_workers *all);
/* Copies the packet for the worker that has its flow; waits while that one has no room. */
void replay_workers_send(struct replay_workers *all, struct packet *pkt);
/* All of them end the flows whose time is over. */
void replay_workers_expire(struct replay_workers *all, uint64_t now_ns);
/* Waits until all is judged, ends all flows and the threads, and copies their counters. */
void replay_workers_finish(struct replay_workers *all, uint64_t now_ns);
/* An output_progress_function; `user` is the struct replay_workers. */
void replay_workers_progress(void *user, unsigned port, struct replay_position *out);

#endif
