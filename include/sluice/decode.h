/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decode: from bytes to headers. Each header has a file under src/packet/decode/, with a function that reads it through
 * a checked cursor (sluice/bytes.h).
 *
 * A malformed packet is never an error: it gets an event (with Suricata's decoder-event name), the event is counted,
 * and the valid part is kept in the packet. Packets inside tunnels (GRE, ERSPAN, VXLAN, GENEVE, GTP-U, Teredo, IPIP,
 * 6in4, 4in6) become separate packets, to a bounded depth.
 *
 * Threads:   a decoder belongs to one worker. decode_options are immutable.
 * Ownership: packets from tunnels are valid until the next decode_packet() of the same decoder.
 */
#ifndef SLUICE_DECODE_H
#define SLUICE_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/packet.h"

enum decode_event; /* from sluice/decode_event.h */

enum {
    DECODE_MAX_PORTS = 16,   /* ports of one tunnel protocol */
    DECODE_MAX_LAYERS = 16,  /* headers in one packet, all tunnels together */
    DECODE_MAX_PACKETS = 17, /* the packet itself and those inside it */
};

struct decode_ports {
    bool any; /* all ports; false: those in `port` */
    uint8_t count;
    uint16_t port[DECODE_MAX_PORTS];
};

struct decode_options {
    struct decode_ports teredo, vxlan, geneve, gtp;
    bool teredo_enabled, vxlan_enabled, geneve_enabled, gtp_enabled;
    bool vxlan_permissive; /* reserved bits of the VXLAN header may be set */
    bool erspan_type1;     /* decode ERSPAN type I, which has no ERSPAN header */
    unsigned max_layers;   /* 1 to DECODE_MAX_LAYERS */
};
extern const struct setting decode_settings[];
/* Reads the settings decoder.*. Returns 0, or -EINVAL after a report of invalid ports. */
int decode_options_read(const struct config *config, struct decode_options *out, struct diag *diag);

struct decoder;

/* Creates a decoder with a copy of the options. Returns 0, or -ENOMEM with *out unchanged. */
int decoder_new(struct decoder **out, const struct decode_options *options);
void decoder_free(struct decoder *decoder);

/*
 * Decodes the packet and all packets inside it. Writes to `found` the packets to inspect in their order, innermost
 * first and `pkt` itself last, and returns how many (at least 1, at most DECODE_MAX_PACKETS).
 */
size_t decode_packet(struct decoder *decoder, struct packet *pkt, struct packet *found[DECODE_MAX_PACKETS]);

/*
 * Decodes a datagram that defrag reassembled, from its IP header on. The caller has set data, length and wire_length of
 * `pkt`, whose bytes must live as long as it does; all other fields, including the outer packet, come from `fragment`,
 * which completed the datagram. `pkt` is marked PACKET_REASSEMBLED. Writes and returns what decode_packet() does; the
 * packets of the last decode_packet() stay valid. The counters of packets and bytes are not incremented again.
 */
size_t decode_reassembled(struct decoder *decoder, struct packet *pkt, const struct packet *fragment,
                          struct packet *found[DECODE_MAX_PACKETS]);

/* Adds an event detected by a later stage to the packet and to the counters. */
void decode_count_event(struct decoder *decoder, struct packet *pkt, enum decode_event event);

/*
 * Verifies the checksums of IPv4 header and transport: sets PACKET_BAD_L3_CHECKSUM and PACKET_BAD_L4_CHECKSUM.
 * Truncated packets are not checked. The transport's checksum is not checked in fragments, nor with
 * PACKET_CHECKSUM_NOT_READY or PACKET_ROUTED. A UDP checksum of zero means none over IPv4, and is wrong over IPv6
 * unless the packet carries a tunnel (RFC 6935). SCTP and GRE are not checked. decode_packet() does not call it: the
 * caller decides whether checksums are needed.
 */
void decode_check_checksums(struct packet *pkt);
/* Clears PACKET_BAD_L4_CHECKSUM when the transport checksum covers only the pseudo-header: the packet was captured
 * before the network card computed it. */
void decode_clear_partial_checksum(struct packet *pkt);

/* Returns the correct transport checksum of a packet (network order value as a host integer), for tests and reject.
 * Returns 0 where there is no checksum of 16 bits: no transport header, SCTP, GRE, ESP. */
uint16_t decode_transport_checksum(const struct packet *pkt);

/* Counters: index 0 .. decode_counter_count() - 1. Names are EVE's below stats.decoder: "pkts", "bytes", "ipv4", "tcp",
 * "max_pkt_size", "avg_pkt_size"..., then "event.ipv4.pkt_too_small" and so on for every decode_event. */
size_t decode_counter_count(void);
const char *decode_counter_name(size_t index);
uint64_t decode_counter_value(const struct decoder *decoder, size_t index);

#endif
