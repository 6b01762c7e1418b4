/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel's connection tracking says of a packet: the attributes CTA_* of
 * linux/netfilter/nfnetlink_conntrack.h, as NFQUEUE hands them over with NFQA_CFG_F_CONNTRACK. Capture only notes where
 * they are; they are read here when somebody asks, which is once for a connection and not for each packet.
 *
 * The original direction is that of the connection's first packet; the client sends in it. NAT changes addresses on the
 * way through the hooks, so a packet may show either end as before or as after; which direction it has the kernel says
 * all the same.
 *
 * Threads: no state.
 */
#ifndef SLUICE_CONNTRACK_H
#define SLUICE_CONNTRACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/packet.h"

enum conntrack_direction { CONNTRACK_ORIGINAL, CONNTRACK_REPLY, CONNTRACK_DIRECTIONS };

/* The packets of one direction as they come in. */
struct conntrack_tuple {
    struct address source, destination;
    uint16_t source_port, destination_port; /* host order; 0 where the protocol has none */
    uint8_t ip_version, protocol;           /* 0: not told */
};

struct conntrack {
    struct conntrack_tuple tuple[CONNTRACK_DIRECTIONS];
    uint32_t info;   /* enum ip_conntrack_info: what the packet is to its connection */
    uint32_t status; /* IPS_* */
    uint32_t id, mark, timeout_seconds;
    bool has_counts; /* of the whole connection so far; only where the kernel counts and is asked outside of packets */
    uint64_t packets[CONNTRACK_DIRECTIONS], bytes[CONNTRACK_DIRECTIONS];
    bool has_tcp;
    uint8_t tcp_state; /* enum tcp_conntrack, with this packet */
    /* Of the side that sends in the direction: the window scale that it announced, and IP_CT_TCP_FLAG_*. */
    uint8_t window_scale[CONNTRACK_DIRECTIONS], tcp_flags[CONNTRACK_DIRECTIONS];
};

/* Reads the nested attributes of NFQA_CT; those that are unknown are skipped. False when they are damaged; *out is
 * written then, too. */
bool conntrack_read(struct conntrack *out, const uint8_t *bytes, size_t length);

/* False when nothing is said, when it makes no sense, and when neither end of the packet is one of the connection's:
 * then nothing of it is to be believed. */
bool conntrack_of_packet(struct conntrack *out, const struct packet *pkt);

/* Cheap, and before anything is read: whether the packet goes in the reply direction, if what is said is to be
 * believed. */
bool conntrack_may_be_reply(const struct packet *pkt);
/* The same, for sure: TCP, UDP and SCTP. */
bool conntrack_is_reply(const struct packet *pkt);

/* TCP: both sides have spoken, the handshake is complete (or both went on with a connection older than conntrack), and
 * it is not over. */
bool conntrack_is_established(const struct conntrack *conntrack);
/* The connection is none that conntrack had seen both sides of. */
bool conntrack_is_new(const struct conntrack *conntrack);
/* TCP: the connection was established, and is closed by both sides or by a reset, perhaps this packet. Conntrack
 * accepts a reset only with the right sequence number. */
bool conntrack_is_over(const struct conntrack *conntrack);
/* The packet goes in the reply direction, by `info`. */
bool conntrack_goes_in_reply(const struct conntrack *conntrack);
/* Whether conntrack has seen the handshake, and so knows what window scales were agreed on. */
bool conntrack_knows_scales(const struct conntrack *conntrack);

#endif
