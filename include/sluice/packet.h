/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * struct packet: a packet from capture to verdict. Public because the hot path reads its fields.
 *
 * Capture fills the first part, decode the second; policy writes the verdict and capture reads it. Headers are parsed
 * once; later stages use the pointers and numbers stored here.
 *
 * Threads:   a packet belongs to one worker.
 * Ownership: capture owns packets and their bytes and lends them until its next receive; packets found inside tunnels
 * belong to the decoder and are lent until its next decode_packet().
 */
#ifndef SLUICE_PACKET_H
#define SLUICE_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"

/* Type of the first header. The values are private; capture maps DLT_* to them. */
enum link_type {
    LINK_RAW, /* an IP packet, the version in its first nibble: NFQUEUE */
    LINK_ETHERNET,
    LINK_LINUX_SLL,
    LINK_LINUX_SLL2,
    LINK_NULL, /* BSD loopback: address family in host order of the capturing machine */
    LINK_LOOP, /* OpenBSD loopback: address family in network order */
    LINK_PPP,
    LINK_IPV4,
    LINK_IPV6,
    LINK_CHDLC,
    LINK_BRIDGE, /* payload of a bridged frame; meta.hardware_protocol is its EtherType, frame_header its Ethernet
                    header */
    LINK_UNSUPPORTED,
};

enum packet_flag {
    PACKET_TRUNCATED = 1 << 0,           /* the kernel or the capture cut bytes off: length < wire_length */
    PACKET_CHECKSUM_NOT_READY = 1 << 1,  /* locally generated or GSO: the L4 checksum is filled in later */
    PACKET_CHECKSUM_UNVERIFIED = 1 << 2, /* the kernel has not verified the L4 checksum (NFQA_SKB_CSUM_NOTVERIFIED) */
    PACKET_GSO = 1 << 3,                 /* a super-packet of several segments */
    PACKET_MARKED = 1 << 4,              /* arrived with the repeat mark already set */
    PACKET_FRAGMENT = 1 << 5,            /* a fragment (offset or more-fragments set), not reassembled */
    PACKET_TUNNELED = 1 << 6,            /* found inside another packet: `outer` is set */
    PACKET_CARRIES_TUNNEL = 1 << 7,      /* has inner packets that are inspected separately */
    /* direction of the packet in its flow; not set: to the server, or the flow is not known yet */
    PACKET_TO_CLIENT = 1 << 8,
    PACKET_BAD_L3_CHECKSUM = 1 << 9,
    PACKET_BAD_L4_CHECKSUM = 1 << 10,
    /* a decoder event marks the packet as invalid; decoding has usually stopped at the invalid header */
    PACKET_MALFORMED = 1 << 11,
    PACKET_REASSEMBLED = 1 << 12, /* built by defrag from fragments */
    PACKET_ROUTED = 1 << 13, /* IPv6 routing header with segments left: the destination address is not the final one */
    PACKET_ESTABLISHED = 1 << 14,  /* the packet's flow is established (possibly by this packet) or closed */
    PACKET_STREAM_ADDED = 1 << 15, /* TCP: the payload is part of the stream and is inspected there */
    PACKET_LOOPING = 1 << 17, /* returned to the queue without the repeat mark too often (repeat guard): another rule or
                                 program clears the mark */
    PACKET_KERNEL_TIME = 1 << 18, /* time_ns is the kernel's timestamp, not the time of the receive */
    PACKET_PSEUDO = 1 << 16, /* pseudo packet, created when a flow ends, to inspect the rest of its stream; it was never
                                on the wire */
    PACKET_PROTOCOL_DETECTED = 1 << 20, /* detection of the application protocol finished in the packet's direction */
    PACKET_CAN_SEGMENT = 1 << 19, /* a super-packet for which VERDICT_SEGMENT is allowed: the kernel can segment it */
    PACKET_EITHER_DIRECTION = 1 << 21, /* UDP: the client is unknown, so rules of both directions are evaluated */
    PACKET_ARP = 1 << 22,              /* `arp` is set */
    PACKET_ETHERNET = 1 << 23,         /* `ethernet` is set */

    /* Properties of the captured bytes, which inner packets inherit. The other flags are set by decode and later
     * stages. */
    PACKET_CAPTURE_FLAGS = PACKET_TRUNCATED | PACKET_CHECKSUM_NOT_READY | PACKET_CHECKSUM_UNVERIFIED | PACKET_GSO |
                           PACKET_MARKED | PACKET_LOOPING | PACKET_KERNEL_TIME | PACKET_CAN_SEGMENT,
};

/* How TCP tracking classified a segment, for EVE's stream_tcp. */
enum packet_stream_flag {
    PACKET_STREAM_STATE_UPDATE = 1 << 0, /* the segment changed the state of its session */
    PACKET_STREAM_EVENT = 1 << 1,        /* the segment has a stream event */
    PACKET_STREAM_RETRANSMISSION = 1 << 2,
    PACKET_STREAM_SPURIOUS_RETRANSMISSION = 1 << 3, /* repeats bytes that the receiver has acknowledged */
    PACKET_STREAM_KEEPALIVE = 1 << 4,
    PACKET_STREAM_KEEPALIVE_ACK = 1 << 5,
    PACKET_STREAM_WINDOW_UPDATE = 1 << 6,
    PACKET_STREAM_ACK_UNSEEN_DATA = 1 << 7,
    PACKET_STREAM_PORT_REUSE = 1 << 8, /* the segment begins a connection on the ports of one that has ended */
    PACKET_STREAM_ZERO_WINDOW_PROBE = 1 << 9,
    PACKET_STREAM_ZERO_WINDOW_PROBE_ACK = 1 << 10,
    PACKET_STREAM_NEEDS_ANSWER = 1 << 11, /* a SYN whose receiver may still hold the previous connection on these ports:
                                             data is accepted only after the SYN is answered */
};

/* Origin of a packet, EVE's pkt_src. */
enum packet_source {
    PACKET_SOURCE_WIRE,
    PACKET_SOURCE_GRE,
    PACKET_SOURCE_IPV4, /* IPv4 in IP */
    PACKET_SOURCE_IPV6, /* IPv6 in IP */
    PACKET_SOURCE_TEREDO,
    PACKET_SOURCE_DEFRAG,
    PACKET_SOURCE_ERSPAN,
    PACKET_SOURCE_VXLAN,
    PACKET_SOURCE_GENEVE,
    PACKET_SOURCE_GTP,
    PACKET_SOURCE_ETHERNET, /* Ethernet inside GRE (transparent bridging) or NSH */
    PACKET_SOURCE_STREAM_TIMEOUT,
};

enum verdict {
    VERDICT_ACCEPT, /* the queue's verdict for accepted packets: ACCEPT, REPEAT with mark, or the next queue */
    VERDICT_DROP,
    VERDICT_SEGMENT, /* PACKET_CAN_SEGMENT: queued again in segments; nothing was inspected */
};

/* Why a packet was dropped; output_drop_reason_name() returns the names. */
enum drop_reason {
    DROP_REASON_NONE,
    DROP_REASON_RULES,          /* a drop or reject rule matched */
    DROP_REASON_RATE_FILTER,    /* a rate_filter changed the rule's action to one that drops */
    DROP_REASON_DECODE_ERROR,   /* policy for packets that cannot be decoded */
    DROP_REASON_MARKED,         /* policy for packets that arrive in the queue with the mark of inspected packets */
    DROP_REASON_TUNNEL,         /* an inner packet of the tunnel was dropped */
    DROP_REASON_FLOW,           /* the packet's flow was dropped earlier, by a rule */
    DROP_REASON_EXCEPTION_FLOW, /* the packet's flow was dropped earlier, by an exception policy */
    DROP_REASON_DEFRAG_ERROR,   /* a fragment that contradicts earlier ones, or belongs to a dropped datagram */
    DROP_REASON_DEFRAG_MEMCAP,  /* this and the next four: exception policy for the cause in the name */
    DROP_REASON_FLOW_MEMCAP,
    DROP_REASON_STREAM_MEMCAP,
    DROP_REASON_STREAM_REASSEMBLY,
    DROP_REASON_STREAM_MIDSTREAM,
    DROP_REASON_STREAM_ERROR,  /* exception policy for a segment that is invalid for its session; or the segment
                                  contradicts bytes that were seen first */
    DROP_REASON_STREAM_URGENT, /* policy for urgent data */
    DROP_REASON_APP_ERROR,     /* this and the next two: exception policy for the cause in the name */
    DROP_REASON_APP_MEMCAP,
    DROP_REASON_OVERLOAD,
    DROP_REASON_LOOP,                   /* policy for packets that repeatedly return without the repeat mark */
    DROP_REASON_TRUNCATED,              /* policy for packets longer than the part that the kernel copies */
    DROP_REASON_APP_AMBIGUOUS,          /* a protocol's setting for messages that endpoints may interpret differently */
    DROP_REASON_FIREWALL_RULES,         /* a drop or reject rule of the firewall rules matched */
    DROP_REASON_FIREWALL_PACKET_POLICY, /* no firewall rule accepted the packet: default policy of the hook */
    DROP_REASON_FIREWALL_APP_POLICY,    /* no firewall rule accepted the transaction: default policy of the hook */
    DROP_REASON_FIREWALL_FLOW,          /* the packet's flow was dropped earlier, by the firewall rules */
    DROP_REASON_FIREWALL_PRE_FLOW,      /* firewall rule or policy of the hook pre_flow */
    DROP_REASON_FIREWALL_PRE_STREAM,    /* firewall rule or policy of the hook pre_stream */
    DROP_REASON_COUNT,
};
/* Whether the firewall rules dropped the packet. */
static inline bool drop_reason_is_firewall(enum drop_reason reason)
{
    return reason >= DROP_REASON_FIREWALL_RULES && reason <= DROP_REASON_FIREWALL_PRE_STREAM;
}

/* How the kernel is to handle the remaining packets of the packet's connection. */
enum packet_offload {
    OFFLOAD_NONE,
    OFFLOAD_ACCEPT,          /* accept the remaining packets without queueing them */
    OFFLOAD_DROP,            /* drop this packet and the remaining ones */
    OFFLOAD_ACKNOWLEDGMENTS, /* accept TCP segments without payload and with no flag but ACK without queueing them */
    OFFLOAD_QUEUE,           /* queue all packets again; ends OFFLOAD_ACKNOWLEDGMENTS */
};

enum reject_kind {
    REJECT_NONE = 0,
    REJECT_SOURCE = 1,      /* answer to the sender */
    REJECT_DESTINATION = 2, /* answer to the receiver */
    REJECT_BOTH = 3,
};

/* Bit of in_ifindex: the number is that of an interface in a capture file, not of one of this host. */
#define PACKET_FILE_INTERFACE UINT32_C(0x80000000)

/* Metadata from NFQUEUE; zero where the kernel provides none. */
struct queue_meta {
    uint32_t id; /* packet id of the kernel, unique within the queue */
    uint32_t mark;
    uint32_t in_ifindex, out_ifindex;
    uint32_t in_physical_ifindex, out_physical_ifindex;
    uint16_t queue;
    uint16_t hardware_protocol; /* ETH_P_* */
    uint16_t vlan_protocol;     /* ETH_P_8021Q or ETH_P_8021AD; 0: no tag, or not available for the family */
    uint16_t vlan_tci;
    uint8_t hook; /* enum nf_inet_hooks */
    uint8_t hardware_address_length;
    uint8_t hardware_address[8]; /* MAC address of the sender */
};

/* Unparsed conntrack data of the packet: sluice/conntrack.h. `bytes` is NULL where the kernel provides none, and for
 * inner packets. */
struct packet_conntrack {
    const uint8_t *bytes; /* the attributes within NFQA_CT, lent as long as the packet */
    uint32_t length;
    uint32_t info; /* enum ip_conntrack_info */
};

/* Value of `info` when conntrack data is enabled, but the packet has no connection; `bytes` is then NULL. */
enum { PACKET_CONNTRACK_NONE = 0x100 };

enum {
    PACKET_MAX_VLANS = 3,
    PACKET_EVENT_WORDS = 4,
    PACKET_MAX_EVENTS = 15, /* maximum number of events recorded per packet, as in Suricata; further events are lost */
    PACKET_MAX_IP_OPTIONS = 40,
};

/* TCP flags: bits of tcp_info.flags, byte 13 of the header (RFC 9293 §3.1). */
enum {
    TCP_FIN = 0x01,
    TCP_SYN = 0x02,
    TCP_RST = 0x04,
    TCP_PSH = 0x08,
    TCP_ACK = 0x10,
    TCP_URG = 0x20,
    TCP_ECE = 0x40,
    TCP_CWR = 0x80,
};

/* A TCP header, parsed; numbers in host order. */
struct tcp_info {
    uint32_t sequence, acknowledgment;
    uint32_t timestamp_value, timestamp_echo; /* RFC 7323; valid if has_timestamp */
    uint16_t window, checksum, urgent;
    uint16_t mss; /* maximum segment size; valid if has_mss */
    uint8_t flags;
    uint8_t reserved;     /* the four bits between data offset and flags */
    uint8_t window_scale; /* shift count; valid if has_window_scale */
    uint8_t sack_count;   /* number of SACK blocks at `sack` */
    bool has_mss, has_window_scale, has_sack_permitted, has_timestamp, has_fast_open;
    bool has_signature;       /* RFC 2385 or RFC 5925 */
    uint8_t fast_open_length; /* number of cookie bytes at `fast_open` */
    const uint8_t *sack;      /* sack_count pairs of left and right edge, in network order */
    const uint8_t *fast_open;
};

enum { SCTP_MAX_LISTED_CHUNKS = 16 };

struct sctp_info {
    uint32_t verification_tag;
    uint32_t chunk_count;
    uint8_t chunk_types[SCTP_MAX_LISTED_CHUNKS]; /* types of the first chunks */
};

struct igmp_info {
    uint8_t type;
    uint8_t version; /* IGMP version 1 to 3; 0: a message type that does not show the version */
};

struct icmp_info {
    uint8_t type, code;
    bool has_id; /* echo and similar: id and sequence are valid */
    uint16_t id, sequence;
    uint32_t mtu; /* MTU in packet too big or fragmentation needed; otherwise 0 */
};

/* Bit numbers of ip_options_seen: IPv4 options present, for the ipopts keyword and events. */
enum ip_option_bit {
    IP_OPTION_RR,
    IP_OPTION_EOL,
    IP_OPTION_NOP,
    IP_OPTION_TS,
    IP_OPTION_SEC,
    IP_OPTION_ESEC,
    IP_OPTION_LSRR,
    IP_OPTION_SSRR,
    IP_OPTION_SATID,
    IP_OPTION_QS,
    IP_OPTION_CIPSO,
    IP_OPTION_RTRALT,
};

struct flow;
struct packet_edits;

struct packet {
    /* --- capture ---------------------------------------------------------------------------------- */
    const uint8_t *data;  /* first byte of the header of type `link` */
    uint32_t length;      /* bytes at data */
    uint32_t wire_length; /* length of the packet on the wire */
    uint64_t time_ns;     /* capture time in ns since 1970 */
    uint64_t number;      /* number of the packet, counted from 1: EVE's pcap_cnt in replay */
    enum link_type link;
    uint32_t flags; /* enum packet_flag */
    struct queue_meta meta;
    struct packet_conntrack conntrack;
    const uint8_t *frame_header; /* LINK_BRIDGE: an Ethernet header (14 bytes); otherwise NULL */

    /* --- decode: packet_reset() clears everything from here on ------------------------------------ */
    struct packet *outer; /* the packet that carries this one; NULL for a packet from capture */
    struct packet *root;  /* the captured packet that this one belongs to; the packet itself if it is not in a tunnel */
    enum packet_source source;
    uint8_t tunnel_depth; /* 0 for a packet from capture */
    uint8_t layers;       /* number of headers decoded so far, including those of the outer packets */
    uint8_t ip_version;   /* 4, 6, or 0 when there is no IP header */
    uint8_t protocol;     /* IPPROTO_* after all extension headers (IPPROTO_FRAGMENT for an IPv6 fragment; 0 for ICMPv4
                           * in IPv6); valid when ip_version != 0 */
    uint8_t ttl;          /* TTL or hop limit */
    uint8_t tos;          /* TOS or traffic class */
    uint8_t vlan_count;
    uint16_t vlan_id[PACKET_MAX_VLANS]; /* outermost first */
    uint16_t ip_header_length;          /* bytes; IPv4: including options; IPv6: 40 */
    uint16_t ip_extension_length;       /* IPv6: bytes of extension headers before the transport or fragment header */
    uint16_t fragment_offset;           /* bytes */
    bool more_fragments, dont_fragment, reserved_fragment_bit;
    uint32_t fragment_id; /* identification of IPv4 or of the IPv6 fragment header */
    uint32_t ip_options_seen;
    struct address source_address, destination_address; /* addresses as reported in EVE and matched by rules */
    uint16_t source_port, destination_port;             /* host order; 0 where the protocol has none */
    uint32_t ip_total_length;                           /* length of header and payload according to the IP header */

    const uint8_t *ethernet;  /* 14 bytes, or NULL */
    const uint8_t *arp;       /* valid ARP message for IPv4 over Ethernet (28 bytes, RFC 826), or NULL */
    const uint8_t *ip;        /* ip_header_length bytes, or NULL */
    const uint8_t *transport; /* transport_header_length bytes, or NULL: TCP, UDP, ICMP, SCTP... header */
    const uint8_t *payload;   /* payload of the transport protocol, or of IP when that is unknown; NULL when empty, for
                                 fragments, and when the transport header is malformed */
    uint32_t payload_length;
    uint16_t transport_header_length;
    uint16_t ether_type; /* EtherType of the innermost link header; 0: none */
    union {
        struct tcp_info tcp;   /* protocol == IPPROTO_TCP && transport */
        struct icmp_info icmp; /* protocol == IPPROTO_ICMP or IPPROTO_ICMPV6 && transport */
        struct sctp_info sctp; /* protocol == IPPROTO_SCTP && transport */
        struct igmp_info igmp; /* protocol == IPPROTO_IGMP && transport */
        struct {
            uint16_t length, checksum;
        } udp;
        struct {
            uint32_t spi; /* security parameters index */
        } esp;            /* protocol == IPPROTO_ESP && transport */
    };

    uint64_t events[PACKET_EVENT_WORDS];   /* bit set of enum decode_event and enum stream_event */
    uint8_t event_list[PACKET_MAX_EVENTS]; /* the events in the order of detection, including repetitions */
    uint8_t event_count;                   /* number of entries in event_list */
    uint16_t stream_flags;                 /* enum packet_stream_flag */

    uint32_t flow_hash;         /* hash of the packet's flow key in the flow table, if computed already; otherwise 0 */
    struct flow *flow;          /* the flow of the packet, owned by the flow table; NULL: none */
    struct packet_edits *edits; /* bytes that rules replace (keyword replace); NULL where replacement is not possible:
                                   in passive mode and inside a tunnel */

    /* --- policy ----------------------------------------------------------------------------------- */
    enum drop_reason would_drop; /* alert-only: reason why mode drop would drop the packet, which passes.
                                    DROP_REASON_NONE: mode drop would accept it, too */
    bool would_reject;           /* alert-only: mode drop would also send reject packets */
    enum verdict verdict;
    enum drop_reason drop_reason;
    enum reject_kind reject;
    enum packet_offload offload; /* only for packets from NFQUEUE */
    bool mark_set; /* true: the verdict sets the bits of mark_mask in the packet's mark to mark_value, as a rule
                      requests */
    uint32_t mark_value, mark_mask;
    const uint8_t *new_data; /* bytes to forward instead of `data`, valid as long as the packet; NULL: forward the
                                packet unchanged */
    uint32_t new_length;
};

/* Clears all fields after the capture part and all flags except PACKET_CAPTURE_FLAGS, and sets `root` to the packet
 * itself. Called by decode_packet(). */
void packet_reset(struct packet *pkt);

/* Records an event in the packet; does nothing if the packet has PACKET_MAX_EVENTS already. It does not count the
 * event: see decode_count_event(). */
static inline void packet_add_event(struct packet *pkt, unsigned event)
{
    if (pkt->event_count >= PACKET_MAX_EVENTS)
        return;
    pkt->event_list[pkt->event_count++] = (uint8_t)event;
    pkt->events[event / 64] |= UINT64_C(1) << (event % 64);
}

static inline bool packet_has_event(const struct packet *pkt, unsigned event)
{
    return pkt->events[event / 64] >> (event % 64) & 1;
}

#endif
