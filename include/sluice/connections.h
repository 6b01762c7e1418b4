/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections with a mark of Sluice in conntrack: reports their ends, lists them with their counters, and removes the
 * mark. Uses ctnetlink; counters exist when net.netfilter.nf_conntrack_acct was 1 at the start of the connection.
 *
 * Threads:   one at a time for each object. Needs CAP_NET_ADMIN.
 */
#ifndef SLUICE_CONNECTIONS_H
#define SLUICE_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/conntrack.h"

enum { CONNECTIONS_MAX_MARKS = 3 };

struct connection_mark {
    uint32_t mark, mask;
};

struct connections;

/* Subscribes to the kernel's notifications of ended connections, which connections_receive() reads. The marks are
 * copied. Returns 0, or -errno, also on a kernel without ctnetlink. */
int connections_open(struct connections **out, const struct connection_mark *marks, unsigned count);
void connections_close(struct connections *connections); /* NULL is allowed */
/* Returns a descriptor that is readable when connections have ended. */
int connections_fd(const struct connections *connections);

/* `ended`: the connection has ended. False: it exists (connections_list()). */
typedef void connection_function(const struct conntrack *connection, bool ended, void *user);

/* Calls `each` for the connections that have ended since the last call; does not block. Returns false when the kernel
 * could not deliver some of these notifications. */
bool connections_receive(struct connections *connections, connection_function *each, void *user);
/* Calls `each` for all connections that have one of the marks now. Returns 0 or -errno. A connection may be reported
 * twice when others begin or end during the call. */
int connections_list(struct connections *connections, connection_function *each, void *user);

/* Clears the bits under the masks in all connections that have one of the marks. *changed is the number of these
 * connections. Returns 0 or -errno. */
int connections_unmark(const struct connection_mark *marks, unsigned count, size_t *changed);

/* Whether the kernel counts the packets of new connections. */
bool connections_have_counters(void);

#endif
