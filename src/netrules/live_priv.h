/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of a live ruleset is read from files of /proc. */
#ifndef SLUICE_NETRULES_LIVE_PRIV_H
#define SLUICE_NETRULES_LIVE_PRIV_H

#include "sluice/netrules.h"

/* Who holds which queue; nobody where the kernel has no queues. 0 or -ENOMEM. */
int netrules_read_holders(struct netrules *ruleset);
/* One line of /proc/net/netfilter/nfnetlink_queue. 0 or -ENOMEM; what is none is passed over. */
int netrules_add_holder(struct netrules *ruleset, const char *line);

/* Sets netrules_link.merges_udp of all links, as far as their drivers tell. */
void netrules_read_features(struct netrules *ruleset);

/* Whether the host forwards, and has IPv6; its kernel. */
void netrules_read_host(struct netrules *ruleset);

#endif
