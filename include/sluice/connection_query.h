/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up one packet's connection in the kernel's conntrack table, by ctnetlink. For the first packet of a connection
 * that Sluice does not know: the kernel may not be able to attach conntrack data to queued packets, and doing so for
 * every packet costs more.
 *
 * A look-up costs one send and two receives, which take some microseconds. It waits only while another process uses
 * ctnetlink. The rate of look-ups is limited, so that a flood of packets without a connection cannot use up the
 * worker's time.
 *
 * Threads: an object belongs to one worker. Needs CAP_NET_ADMIN.
 */
#ifndef SLUICE_CONNECTION_QUERY_H
#define SLUICE_CONNECTION_QUERY_H

#include "sluice/conntrack.h"

struct connection_query;

/* Returns 0 or -errno; -EOPNOTSUPP: the kernel has no ctnetlink. */
int connection_query_open(struct connection_query **out);
void connection_query_close(struct connection_query *query); /* NULL is allowed */

/*
 * Looks up the connection of a TCP packet. Returns 0 with the connection in *out (out->info is IP_CT_ESTABLISHED, with
 * IP_CT_IS_REPLY for a packet of the reply direction), -ENOENT when conntrack has no such connection, -EAGAIN when the
 * rate limit is reached, or another -errno.
 *
 * The addresses of the packet may be those before or after NAT. With both source and destination NAT, the forward hook
 * sees a packet between the two, and conntrack's table has no entry for these addresses. Only the default conntrack
 * zone is searched.
 */
int connection_query_find(struct connection_query *query, const struct packet *pkt, struct conntrack *out);

#endif
