/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connections that carry our mark, as the kernel tracks them: told when they end, listed with what they have moved, and
 * the mark taken off them again. By ctnetlink; counts are there when net.netfilter.nf_conntrack_acct was 1 when the
 * connection began.
 *
 * Threads:   one at a time for each object. Needs CAP_NET_ADMIN.
 */
#ifndef SLUICE_CONNECTIONS_H
#define SLUICE_CONNECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/conntrack.h"

enum { CONNECTIONS_MAX_MARKS = 2 };

struct connection_mark {
    uint32_t mark, mask;
};

struct connections;

/* Listens for ends from now on. The marks are copied. 0 or -errno: a kernel without ctnetlink. */
int connections_open(struct connections **out, const struct connection_mark *marks, unsigned count);
void connections_close(struct connections *connections); /* NULL is allowed */
/* Readable when connections have ended. */
int connections_fd(const struct connections *connections);

typedef void connection_function(const struct conntrack *connection, bool ended, void *user);

/* Those that have ended; does not wait. False when the kernel could not tell of some. */
bool connections_receive(struct connections *connections, connection_function *each, void *user);
/* All that have one of the marks now. 0 or -errno; what is listed while others come and go may have been told before.
 */
int connections_list(struct connections *connections, connection_function *each, void *user);

/* Takes the bits under the masks off all connections that have one of the marks. *changed is how many; 0 or -errno. */
int connections_unmark(const struct connection_mark *marks, unsigned count, size_t *changed);

/* Whether the kernel counts the packets of connections that begin now. */
bool connections_are_counted(void);

#endif
