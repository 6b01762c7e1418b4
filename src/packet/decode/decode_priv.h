/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decode, internal: the decoder itself and the type of a header's function.
 *
 * The function of a header gets the bytes from this header to the end that the enclosing header announces. It returns
 * whether the header was valid. Only decode_tunnel() uses the result: a packet inside a tunnel whose first header is
 * malformed is discarded.
 */
#ifndef SLUICE_DECODE_PRIV_H
#define SLUICE_DECODE_PRIV_H

#include <netinet/in.h>

#include "sluice/bytes.h"
#include "sluice/decode.h"
#include "sluice/decode_event.h"
#include "sluice/packet.h"

enum {
    IPV4_HEADER_LENGTH = 20,
    IPV6_HEADER_LENGTH = 40,
    ETHERNET_HEADER_LENGTH = 14,
    /* Each inner packet counts as a layer. Twice as many entries, because each one may be a fragment that completes a
     * datagram. */
    DECODE_INNER_PACKETS = 2 * DECODE_MAX_LAYERS,
};

enum ether_type {
    ETHER_IPV4 = 0x0800,
    ETHER_ARP = 0x0806,
    ETHER_ERSPAN3 = 0x22eb,
    ETHER_BRIDGE = 0x6558,
    ETHER_VLAN = 0x8100,
    ETHER_IPV6 = 0x86dd,
    ETHER_PPP = 0x880b,
    ETHER_MPLS = 0x8847,
    ETHER_MPLS_MULTICAST = 0x8848,
    ETHER_PPPOE_DISCOVERY = 0x8863,
    ETHER_PPPOE_SESSION = 0x8864,
    ETHER_PROVIDER_BRIDGE = 0x88a8, /* 802.1ad */
    ETHER_ERSPAN = 0x88be,
    ETHER_BACKBONE_BRIDGE = 0x88e7, /* 802.1ah */
    ETHER_DCE = 0x8903,
    ETHER_VNTAG = 0x8926,
    ETHER_ETAG = 0x893f,
    ETHER_NSH = 0x894f,
    ETHER_QINQ = 0x9100,
};

enum decode_counter {
    COUNTER_PKTS,
    COUNTER_BYTES,
    COUNTER_INVALID,
    COUNTER_IPV4,
    COUNTER_IPV6,
    COUNTER_ETHERNET,
    COUNTER_ARP,
    COUNTER_UNKNOWN_ETHERTYPE,
    COUNTER_CHDLC,
    COUNTER_RAW,
    COUNTER_NULL,
    COUNTER_SLL,
    COUNTER_SLL2,
    COUNTER_TCP,
    COUNTER_UDP,
    COUNTER_SCTP,
    COUNTER_ESP,
    COUNTER_ICMPV4,
    COUNTER_ICMPV6,
    COUNTER_IGMP,
    COUNTER_PPP,
    COUNTER_PPPOE,
    COUNTER_GENEVE,
    COUNTER_GTP,
    COUNTER_GRE,
    COUNTER_VLAN,
    COUNTER_VLAN_QINQ,
    COUNTER_VLAN_QINQINQ,
    COUNTER_VXLAN,
    COUNTER_VNTAG,
    COUNTER_ETAG,
    COUNTER_IEEE8021AH,
    COUNTER_TEREDO,
    COUNTER_IPV4_IN_IPV4,
    COUNTER_IPV6_IN_IPV4,
    COUNTER_IPV4_IN_IPV6,
    COUNTER_IPV6_IN_IPV6,
    COUNTER_MPLS,
    COUNTER_AVG_PKT_SIZE,
    COUNTER_MAX_PKT_SIZE,
    COUNTER_MAX_MAC_ADDRS_SRC,
    COUNTER_MAX_MAC_ADDRS_DST,
    COUNTER_ERSPAN,
    COUNTER_NSH,
    COUNTER_TOO_MANY_LAYERS,
    COUNTER_COUNT,
};

struct decoder {
    uint64_t counters[COUNTER_COUNT];
    uint64_t event_counters[DECODE_EVENT_COUNT];
    struct packet **found; /* array of the caller; valid during decoding */
    size_t found_count;
    unsigned inner_used; /* number of used entries of `inner` */
    struct decode_options options;
    uint64_t tunnel_ports; /* bit N: some UDP tunnel port is N modulo 64; if the bit of a packet's port is 0, the lists
                              of ports need not be searched */
    struct packet inner[DECODE_INNER_PACKETS];
};

typedef bool decode_header(struct decoder *decoder, struct packet *pkt, struct cursor cur);

decode_header decode_arp, decode_backbone_bridge, decode_bridge, decode_chdlc, decode_dce, decode_erspan,
    decode_erspan1, decode_esp, decode_etag, decode_ethernet, decode_geneve, decode_gre, decode_gtp, decode_icmpv4,
    decode_icmpv6, decode_igmp, decode_ipv4, decode_ipv6, decode_ipv6_extensions, decode_loop, decode_mpls, decode_nsh,
    decode_null, decode_ppp, decode_pppoe_discovery, decode_pppoe_session, decode_raw, decode_sctp, decode_sll,
    decode_sll2, decode_tcp, decode_teredo, decode_udp, decode_vlan, decode_vntag, decode_vxlan;

/* Returns the counter name, e.g. "event.ipv4.pkt_too_small". */
const char *decode_event_counter_name(enum decode_event event);

/* Decodes the header that the EtherType announces. Returns false only if the type is unknown. */
bool decode_ether_type(struct decoder *decoder, struct packet *pkt, uint16_t type, struct cursor cur);

/* Decodes the options of an IPv4 header. Returns false if they make the header invalid. */
bool decode_ipv4_options(struct packet *pkt, struct cursor cur);

/* Decodes the upper-layer protocol `next` after an IPv6 header. Returns false if its header is invalid; an unknown
 * protocol only gets an event. */
bool decode_ipv6_upper(struct decoder *decoder, struct packet *pkt, uint8_t next, struct cursor cur);

/*
 * Creates an inner packet of `outer` from the bytes and decodes it with `decode`. If its first header is valid, adds it
 * to decoder->found, marks `outer` as PACKET_CARRIES_TUNNEL and returns true.
 */
bool decode_tunnel(struct decoder *decoder, struct packet *outer, struct cursor cur, enum packet_source source,
                   decode_header *decode);

static inline void decode_count(struct decoder *decoder, enum decode_counter counter)
{
    decoder->counters[counter]++;
}

static inline void decode_note(struct packet *pkt, enum decode_event event)
{
    packet_add_event(pkt, event);
}

/* Whether the bytes at an IP header whose length field is 0 are a TCP super-packet of more than 64 KiB (BIG TCP), whose
 * length the field cannot hold. Only the capture knows that a packet is a super-packet; on the wire the length 0 is
 * invalid. */
static inline bool decode_is_big_tcp(const struct packet *pkt, uint8_t protocol, const struct cursor *cur)
{
    return pkt->flags & PACKET_GSO && protocol == IPPROTO_TCP && cursor_remaining(cur) > UINT16_MAX;
}

/* Sets an event that marks the packet as PACKET_MALFORMED. Returns false, so that the function of a header can return
 * the result. */
static inline bool decode_invalid(struct packet *pkt, enum decode_event event)
{
    pkt->flags |= PACKET_MALFORMED;
    packet_add_event(pkt, event);
    return false;
}

/* Counts a header of the packet. Returns false, with an event, if the number of headers reaches options.max_layers. */
static inline bool decode_layer(const struct decoder *decoder, struct packet *pkt)
{
    return ++pkt->layers < decoder->options.max_layers || decode_invalid(pkt, DECODE_EVENT_TOO_MANY_LAYERS);
}

static inline void decode_payload(struct packet *pkt, struct cursor cur)
{
    pkt->payload_length = (uint32_t)cursor_remaining(&cur);
    pkt->payload = pkt->payload_length > 0 ? cur.at : NULL;
}

/* Sets the transport header to the first `length` bytes of `cur`, which must exist, and the payload to the rest. */
static inline void decode_transport(struct packet *pkt, struct cursor cur, size_t length)
{
    pkt->transport = cursor_read(&cur, length);
    pkt->transport_header_length = (uint16_t)length;
    decode_payload(pkt, cur);
}

static inline bool decode_port_listed(const struct decode_ports *ports, uint16_t port)
{
    for (unsigned i = 0; i < ports->count; i++) {
        if (ports->port[i] == port)
            return true;
    }
    return ports->any;
}

#endif
