/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows the connections that the kernel handles.
 */
#ifndef SLUICE_OFFLOAD_FOLLOWER_H
#define SLUICE_OFFLOAD_FOLLOWER_H

#include "sluice/firewall.h"
#include "sluice/worker.h"

/* A thread that follows the connections that the kernel handles, and tells the workers of them. */
struct offload_follower;
/* *out is NULL when there is nothing to follow, or nobody to ask (logged). 0 or -ENOMEM. */
int offload_follower_new(struct offload_follower **out, const struct config *config,
                         const struct firewall_options *firewall, unsigned workers);
int offload_follower_start(struct offload_follower *offload_follower); /* 0 or -errno. NULL is allowed here and below */
/* Looks a last time, tells, and ends the thread. */
void offload_follower_stop(struct offload_follower *offload_follower);
void offload_follower_free(struct offload_follower *offload_follower);

struct offload_follower_counters {
    uint64_t reports, lost;
};
void offload_follower_counters(const struct offload_follower *offload_follower, struct offload_follower_counters *out);
/* A worker's end; NULL when nobody follows. */
struct ring *offload_follower_port(struct offload_follower *offload_follower, unsigned worker);

#endif
