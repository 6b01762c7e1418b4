/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocklist: hosts whose packets the kernel drops, in sets of our own nftables table (nft.blocklist.enabled). It
 * lives in the kernel alone: whoever has CAP_NET_ADMIN may read and change it beside a running daemon, and a host
 * leaves by itself when its time is over.
 *
 * Threads:   any; each call has a netlink session of its own.
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
    uint64_t timeout_ms;     /* 0: for good */
    uint64_t expires_ms;     /* how much of it is left; read only, as the next two */
    uint64_t packets, bytes; /* dropped, from it and to it */
};

typedef int blocklist_each_function(const struct blocked_host *host, void *user);

/* All of them, in no order. `each` ends it by -errno. 0 or -errno with a line in `error`; -ENOENT: our table has no
 * blocklist. */
int blocklist_each(const char *table, blocklist_each_function *each, void *user, char error[FIREWALL_ERROR_SIZE]);

/* Blocks them from now on for their timeouts, also those that are blocked already. In transactions of so many hosts:
 * when one fails, those before it are blocked. */
int blocklist_add(const char *table, const struct blocked_host *hosts, size_t count, char error[FIREWALL_ERROR_SIZE]);

/* *removed says how many were blocked. */
int blocklist_remove(const char *table, const struct blocked_host *hosts, size_t count, size_t *removed,
                     char error[FIREWALL_ERROR_SIZE]);
int blocklist_flush(const char *table, char error[FIREWALL_ERROR_SIZE]);

#endif
