/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parts of a live ruleset that are read from /proc and by ioctl. */
#ifndef SLUICE_NETRULES_LIVE_PRIV_H
#define SLUICE_NETRULES_LIVE_PRIV_H

#include "sluice/netrules.h"

/* Reads the listeners of the queues; none where the kernel has no queues. Returns 0 or -ENOMEM. */
int netrules_read_holders(struct netrules *ruleset);
/* Reads one line of /proc/net/netfilter/nfnetlink_queue; other lines are ignored. Returns 0 or -ENOMEM. */
int netrules_add_holder(struct netrules *ruleset, const char *line);

/* Sets netrules_link.merges_udp of all links, as far as their drivers report it. */
void netrules_read_features(struct netrules *ruleset);

/* Reads whether the host forwards packets and has IPv6, and the kernel version. */
void netrules_read_host(struct netrules *ruleset);

#endif
