/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Conntrack data of a packet: the attributes CTA_* of linux/netfilter/nfnetlink_conntrack.h, attached by NFQUEUE with
 * NFQA_CFG_F_CONNTRACK. Capture only records where the attributes are in the message; the functions below parse them on
 * demand, which is once per connection and not for each packet.
 *
 * The original direction is that of the connection's first packet, which the client sends. NAT changes addresses
 * between the hooks, so each address of a packet may be that before or that after NAT; the kernel reports the direction
 * of the packet in both cases.
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

/* Addresses and ports of the packets of one direction, before NAT. */
struct conntrack_tuple {
    struct address source, destination;
    uint16_t source_port, destination_port; /* host order; 0 where the protocol has none */
    uint8_t ip_version, protocol;           /* 0: unknown */
};

struct conntrack {
    struct conntrack_tuple tuple[CONNTRACK_DIRECTIONS];
    uint32_t info;   /* enum ip_conntrack_info: the packet's relation to its connection */
    uint32_t status; /* IPS_* */
    uint32_t id, mark, timeout_seconds;
    bool has_counts; /* `packets` and `bytes`, of the whole connection, are known: only for data queried through
                        ctnetlink, and if nf_conntrack_acct is on */
    uint64_t packets[CONNTRACK_DIRECTIONS], bytes[CONNTRACK_DIRECTIONS];
    bool has_tcp;      /* the next members are known */
    uint8_t tcp_state; /* enum tcp_conntrack, after this packet */
    /* Per direction, for the side that sends: the window scale that it announced, and IP_CT_TCP_FLAG_*. */
    uint8_t window_scale[CONNTRACK_DIRECTIONS], tcp_flags[CONNTRACK_DIRECTIONS];
};

/* Parses the nested attributes of NFQA_CT; unknown ones are skipped. Returns false when they are malformed; *out is
 * then incomplete. */
bool conntrack_parse(struct conntrack *out, const uint8_t *bytes, size_t length);

/* Parses the packet's conntrack data. Returns false when there is none, when it is inconsistent, or when the packet's
 * addresses and ports are not those of the connection; *out must not be used then. */
bool conntrack_parse_packet(struct conntrack *out, const struct packet *pkt);

/* Returns whether the packet is in the reply direction. A cheap test, which does not check the conntrack data: if the
 * data is invalid, the result may be wrong. */
bool conntrack_may_be_reply(const struct packet *pkt);
/* Whether the packet is in the reply direction; checks the conntrack data by conntrack_parse_packet(). False for
 * protocols other than TCP, UDP and SCTP. */
bool conntrack_is_reply(const struct packet *pkt);

/* TCP: both sides have sent packets, the handshake is complete (or both continued a connection older than conntrack),
 * and the connection has not ended. */
bool conntrack_is_established(const struct conntrack *conntrack);
/* Returns true as long as conntrack has seen packets of one side only. The current packet counts, too: for a packet in
 * the reply direction the result is false. */
bool conntrack_is_new(const struct conntrack *conntrack);
/* TCP: the connection was established, and was closed by both sides or by a reset, possibly this packet. Conntrack
 * accepts a reset only with the right sequence number. */
bool conntrack_has_ended(const struct conntrack *conntrack);
/* Whether the packet is in the reply direction, by `info`. */
bool conntrack_is_reply_direction(const struct conntrack *conntrack);
/* Whether conntrack has seen the handshake, and so knows the negotiated window scales. */
bool conntrack_has_window_scales(const struct conntrack *conntrack);

#endif
