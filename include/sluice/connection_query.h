/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks up one packet's connection in the kernel's conntrack table, by ctnetlink. For the first packet of a connection that Sluice does not
 * know: the kernel may not be able to attach conntrack data to queued packets, and doing so for every packet costs more.
 *
 * A look-up is a send and two receives, some microseconds, and does not wait for anybody but another user of ctnetlink. Their rate is
 * limited, so that a flood of packets without a connection can't spend the worker's time with it.
 *
 * Threads: an object belongs to one worker. Needs CAP_NET_ADMIN.
 */
#ifndef SLUICE_CONNECTION_QUERY_H
#define SLUICE_CONNECTION_QUERY_H

#include "sluice/conntrack.h"

struct connection_query;

/* 0 or -errno: -EOPNOTSUPP when the kernel has no ctnetlink. */
int connection_query_open(struct connection_query **out);
void connection_query_close(struct connection_query *query); /* NULL is allowed */

/*
 * TCP only. 0 with the connection (*out, its `info` is IP_CT_ESTABLISHED, with IP_CT_IS_REPLY for a packet of the reply direction), -ENOENT when
 * conntrack has no such connection, -EAGAIN when the limit is reached, or another -errno.
 *
 * The packet may show addresses before or after NAT, but not one of source NAT and one of destination NAT: between the two, which is what the
 * forward hook sees, the kernel's table has no entry by these addresses. Only the default conntrack zone is searched.
 */
int connection_query_find(struct connection_query *query, const struct packet *pkt, struct conntrack *out);

#endif
