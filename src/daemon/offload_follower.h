/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Offload follower: a thread that reads from conntrack the counters of offloaded connections and when they end, and
 * reports both to the workers.
 */
#ifndef SLUICE_OFFLOAD_FOLLOWER_H
#define SLUICE_OFFLOAD_FOLLOWER_H

#include "sluice/firewall.h"
#include "sluice/worker.h"

struct offload_follower;
/* Allocates a follower. *out is NULL when nothing is offloaded, when nft.offload.interval is 0, or when conntrack is
 * not available (which is logged). Returns 0 or -errno. */
int offload_follower_new(struct offload_follower **out, const struct config *config,
                         const struct firewall_options *firewall, unsigned workers);
/* Starts the thread. Returns 0 or -errno. This function, stop, free and port accept NULL. */
int offload_follower_start(struct offload_follower *offload_follower);
/* Lists the connections in conntrack once more, reports them, and ends the thread. */
void offload_follower_stop(struct offload_follower *offload_follower);
void offload_follower_free(struct offload_follower *offload_follower);

struct offload_follower_counters {
    uint64_t reports, lost; /* `lost`: reports for which a ring had no room, and notifications that the kernel lost */
};
void offload_follower_counters(const struct offload_follower *offload_follower, struct offload_follower_counters *out);
/* Returns the ring with the reports for a worker; NULL when there is no follower. */
struct ring *offload_follower_port(struct offload_follower *offload_follower, unsigned worker);

#endif
