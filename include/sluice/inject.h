/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inject: the answers of `reject` - TCP RST and ICMP unreachable - from raw sockets whose packets carry a mark that
 * keeps them out of the queue; over a bridge as frames out of its ports, which come to no queue.
 *
 * Building is apart from sending, so that it is tested and used by replay without a socket.
 *
 * Threads:   an injector belongs to one worker. It is used on a reject match only.
 */
#ifndef SLUICE_INJECT_H
#define SLUICE_INJECT_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/packet.h"

struct injector;

enum { INJECT_MAX_PACKET = 1280, INJECT_MAX_LINK_HEADER = 32, INJECT_ERROR_SIZE = 256 };

/* The sockets that answers go out by. */
enum inject_socket { INJECT_IPV4, INJECT_IPV6, INJECT_FRAMES, INJECT_SOCKETS };

/* Opens them (CAP_NET_RAW), for somebody else who may not; -1 is one that this host does not have. 0 or -errno with a
 * line in `error`. */
int inject_open(int out[INJECT_SOCKETS], char error[INJECT_ERROR_SIZE]);

/* With duplicates of `sockets`, or with sockets of its own when that is NULL or has none; their packets have `mark`
 * (CAP_NET_ADMIN). 0 or -errno with a line in `error`. */
int injector_new(struct injector **out, const int *sockets, uint32_t mark, char error[INJECT_ERROR_SIZE]);
void injector_free(struct injector *injector);

/*
 * Builds one answer to `pkt`: towards its sender (REJECT_SOURCE) or its receiver (REJECT_DESTINATION). TCP gets a RST
 * that its receiver accepts (RFC 9293 §3.5.2, §3.10.7), anything else ICMP/ICMPv6 unreachable "administratively
 * prohibited" (RFC 792, RFC 1812 §5.2.7.1, RFC 4443 §3.1). Never an answer to a RST, an ICMP error, a fragment that is
 * not the first, multicast or broadcast. Returns the length written to `out`, or 0 when there is nothing to send.
 */
size_t inject_build(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_PACKET]);

/* The link header of an answer to a packet that crosses a bridge, and the port by which it leaves; both 0 where there
 * is none. */
size_t inject_link_header(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_LINK_HEADER]);
uint32_t inject_port(const struct packet *pkt, enum reject_kind to);

/* Sends what pkt->reject asks for. 0, or the first -errno. */
int injector_reject(struct injector *injector, const struct packet *pkt);

struct inject_counters {
    uint64_t sent, failed;
};
const struct inject_counters *injector_counters(const struct injector *injector);

#endif
