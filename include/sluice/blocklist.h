/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocklist: hosts whose packets the kernel drops, in sets of the sluice table (nft.blocklist.enabled). It is
 * stored only in the kernel: any process with CAP_NET_ADMIN may read and change it while the daemon runs, and a host is
 * removed when its timeout expires.
 *
 * Threads:   any; each call opens its own netlink session.
 */
#ifndef SLUICE_BLOCKLIST_H
#define SLUICE_BLOCKLIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/firewall.h"

struct blocked_host {
    struct address address;
    uint8_t version;         /* 4 or 6 */
    uint64_t timeout_ms;     /* 0: permanent */
    uint64_t expires_ms;     /* remaining time; output of blocklist_each(), as are the counters */
    uint64_t packets, bytes; /* dropped by the kernel, from and to the host */
};

typedef int blocklist_each_function(const struct blocked_host *host, void *user);

/* Calls `each` for all blocked hosts, in no particular order, until it returns -errno. Returns 0, or -errno with a line
 * in `error`; -ENOENT: the sluice table has no blocklist. */
int blocklist_each(const char *table, blocklist_each_function *each, void *user, char error[FIREWALL_ERROR_SIZE]);

/* Blocks each host for its timeout_ms from now on, also if it is already blocked. Returns 0 or -errno with a line in
 * `error`. Long lists need several transactions: when one fails, the hosts of the earlier transactions stay blocked. */
int blocklist_add(const char *table, const struct blocked_host *hosts, size_t count, char error[FIREWALL_ERROR_SIZE]);

/* Unblocks the hosts. *removed is the number of hosts in `hosts` that were blocked. Returns 0, or -errno with a line in
 * `error`. */
int blocklist_remove(const char *table, const struct blocked_host *hosts, size_t count, size_t *removed,
                     char error[FIREWALL_ERROR_SIZE]);
/* Unblocks all hosts. Returns 0, or -errno with a line in `error`. */
int blocklist_flush(const char *table, char error[FIREWALL_ERROR_SIZE]);

#endif
