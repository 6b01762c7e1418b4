/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inject: the packets that `reject` sends - TCP RST and ICMP unreachable - through raw sockets with a mark by which the
 * rules of the sluice table exclude them from the queue. Across a bridge they are sent as frames out of its ports; such
 * frames reach no queue.
 *
 * Building is separate from sending, so that tests and replay can use it without a socket.
 *
 * Threads: an injector belongs to one worker. It is used only when a reject rule or policy has matched.
 */
#ifndef SLUICE_INJECT_H
#define SLUICE_INJECT_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/packet.h"

struct injector;

enum { INJECT_MAX_PACKET = 1280, INJECT_MAX_LINK_HEADER = 32, INJECT_ERROR_SIZE = 256 };

/* The sockets for sending: raw IPv4, raw IPv6, and AF_PACKET for frames on a bridge; indices of an array of
 * descriptors. */
enum inject_socket { INJECT_IPV4, INJECT_IPV6, INJECT_FRAMES, INJECT_SOCKETS };

/* Opens the sockets, which requires CAP_NET_RAW; a process without it gets them from the caller. A descriptor is -1 if
 * this host does not support its protocol. Returns 0, or -errno with a line in `error`. */
int inject_open(int out[INJECT_SOCKETS], char error[INJECT_ERROR_SIZE]);

/* Creates an injector with duplicates of `sockets`; if `sockets` is NULL or all its descriptors are -1, it opens its
 * own. Sets `mark` on all packets that it sends, which requires CAP_NET_ADMIN. Returns 0, or -errno with a line in
 * `error`. */
int injector_new(struct injector **out, const int *sockets, uint32_t mark, char error[INJECT_ERROR_SIZE]);
void injector_free(struct injector *injector);

/* Builds one packet in response to `pkt`: to its sender (REJECT_SOURCE) or its receiver (REJECT_DESTINATION). For TCP
 * it is a RST that the receiving end accepts (RFC 9293 §3.5.2, §3.10.7), for other protocols ICMP/ICMPv6 unreachable
 * "administratively prohibited" (RFC 792, RFC 1812 §5.2.7.1, RFC 4443 §3.1). The receiver gets nothing for protocols
 * other than TCP and UDP. Nothing is sent in response to a RST, an ICMP error, a fragment that is not the first, a
 * packet in a tunnel, multicast or broadcast. Returns the length written to `out`, or 0 when there is nothing to
 * send. */
size_t inject_build(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_PACKET]);

/* For a response to a packet that crosses a bridge: inject_link_header() writes the link header and returns its length,
 * inject_port() returns the interface index of the bridge port to send from. Both return 0 if the packet does not cross
 * a bridge. inject_link_header() also returns 0 for multicast frames, and for frames with another encapsulation than
 * VLAN tags. */
size_t inject_link_header(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_LINK_HEADER]);
uint32_t inject_port(const struct packet *pkt, enum reject_kind to);

/* Builds and sends the packets that pkt->reject requests (none, one or two). Returns 0, or the -errno of the first
 * packet that could not be sent. */
int injector_reject(struct injector *injector, const struct packet *pkt);

struct inject_counters {
    uint64_t sent, failed;
};
const struct inject_counters *injector_counters(const struct injector *injector);

#endif
