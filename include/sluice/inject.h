/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inject: the packets that `reject` sends - TCP RST and ICMP unreachable - through raw sockets with a mark that keeps
 * them out of the queue; over a bridge as frames out of its ports, which reach no queue.
 *
 * Building is separate from sending, so that tests and replay can use it without a socket.
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

/* The sockets for sending. */
enum inject_socket { INJECT_IPV4, INJECT_IPV6, INJECT_FRAMES, INJECT_SOCKETS };

/* Opens the sockets (CAP_NET_RAW) for a process without that capability; -1 for a protocol that this host does not
 * support. Returns 0, or -errno with a line in `error`. */
int inject_open(int out[INJECT_SOCKETS], char error[INJECT_ERROR_SIZE]);

/* Creates an injector with duplicates of `sockets`, or with its own sockets when that is NULL or has none; their
 * packets have `mark` (CAP_NET_ADMIN). Returns 0, or -errno with a line in `error`. */
int injector_new(struct injector **out, const int *sockets, uint32_t mark, char error[INJECT_ERROR_SIZE]);
void injector_free(struct injector *injector);

/* Builds one packet in response to `pkt`: to its sender (REJECT_SOURCE) or its receiver (REJECT_DESTINATION). TCP gets
 * a RST that the receiving end accepts (RFC 9293 §3.5.2, §3.10.7), other protocols ICMP/ICMPv6 unreachable
 * "administratively prohibited" (RFC 792, RFC 1812 §5.2.7.1, RFC 4443 §3.1). There is no response to a RST, an ICMP
 * error, a fragment that is not the first, multicast or broadcast. Returns the length written to `out`, or 0 when there
 * is nothing to send. */
size_t inject_build(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_PACKET]);

/* Writes the link header for a response to a packet that crosses a bridge, and returns its length; inject_port()
 * returns the port to send it from. Both return 0 without a bridge. */
size_t inject_link_header(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_LINK_HEADER]);
uint32_t inject_port(const struct packet *pkt, enum reject_kind to);

/* Sends the packets that pkt->reject requests. Returns 0, or the first -errno. */
int injector_reject(struct injector *injector, const struct packet *pkt);

struct inject_counters {
    uint64_t sent, failed;
};
const struct inject_counters *injector_counters(const struct injector *injector);

#endif
