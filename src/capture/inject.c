/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds the packets that `reject` sends.
 *
 * The source address of such a packet is the other end of the connection, not the gateway: the receiver's TCP accepts
 * no other, connection tracking can reverse the address translation on the way back, and a bridge has no address.
 *
 * TCP: the rejected packet was not delivered. Its sender gets the RST of a closed port (RFC 9293 §3.10.7.1). Its
 * receiver gets a RST with the sequence number of the packet (of a SYN: plus 1), the only number that a receiver
 * following RFC 5961 §3.2 accepts without a challenge ACK.
 *
 * Other protocols: the sender gets an ICMP unreachable message, administratively prohibited, that quotes as much of the
 * packet as fits. The receiver has sent nothing that could be quoted. For UDP the message to the receiver therefore
 * quotes an imitation of a datagram that it has sent: addresses and ports of the packet, exchanged, are all that a
 * socket compares. For other protocols the receiver gets no message, because it would not recognise a quote.
 */
#include "sluice/inject.h"

#include <netinet/in.h>
#include <netinet/icmp6.h>
#include <netinet/ip_icmp.h>
#include <string.h>

#include "sluice/bytes.h"

enum {
    IPV4_HEADER = 20,
    IPV6_HEADER = 40,
    TCP_HEADER = 20,
    ICMP_HEADER = 8,
    UDP_HEADER = 8,
    IPV4_MAX_ANSWER = 576,  /* bytes (RFC 1812 §4.3.2.3) */
    IPV6_MAX_ANSWER = 1280, /* bytes (RFC 4443 §2.4 (c)) */
    ANSWER_TTL = 64,
    ICMP6_REDIRECT = 137,
};

/* Source and destination of the packet that is being built. */
struct ends {
    const struct address *from, *to;
    uint16_t from_port, to_port;
};

static struct ends ends_of(const struct packet *pkt, enum reject_kind to)
{
    const struct address *source = &pkt->source_address, *destination = &pkt->destination_address;

    if (to == REJECT_SOURCE)
        return (struct ends){ destination, source, pkt->destination_port, pkt->source_port };
    return (struct ends){ source, destination, pkt->source_port, pkt->destination_port };
}

/* --- Headers and checksums -------------------------------------------------------------------------- */

/* Returns the sum of RFC 1071 without the final complement, added to `sum`. */
static uint32_t sum_bytes(uint32_t sum, const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i + 1 < length; i += 2)
        sum += load_be16(bytes + i);
    if (length % 2)
        sum += (uint32_t)bytes[length - 1] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return sum;
}

/* Returns the sum of a transport segment and its pseudo header; the caller complements it for the checksum. The pseudo
 * headers of IPv4 (RFC 9293 §3.1) and IPv6 (RFC 8200 §8.1) contain the same fields. */
static uint32_t transport_sum(int version, const struct ends *ends, uint8_t protocol, const uint8_t *bytes,
                              size_t length)
{
    size_t size = version == 4 ? 4 : 16;
    uint32_t sum = sum_bytes(protocol + (uint32_t)length, ends->from->bytes, size);

    sum = sum_bytes(sum, ends->to->bytes, size);
    return sum_bytes(sum, bytes, length);
}

/* Writes the IP header of a packet of `length` bytes in total. Returns the length of the header. */
static size_t put_ip(uint8_t *out, int version, const struct ends *ends, uint8_t protocol, size_t length)
{
    if (version == 4) {
        memset(out, 0, IPV4_HEADER);
        out[0] = 4 << 4 | IPV4_HEADER / 4;
        store_be16(out + 2, (uint32_t)length);
        store_be16(out + 6, 0x4000); /* DF set: then the id need not be unique (RFC 6864 §4.1) */
        out[8] = ANSWER_TTL;
        out[9] = protocol;
        memcpy(out + 12, ends->from->bytes, 4);
        memcpy(out + 16, ends->to->bytes, 4);
        store_be16(out + 10, ~sum_bytes(0, out, IPV4_HEADER));
        return IPV4_HEADER;
    }
    store_be16(out, 6U << 12);
    store_be16(out + 2, 0);
    store_be16(out + 4, (uint32_t)length - IPV6_HEADER);
    out[6] = protocol;
    out[7] = ANSWER_TTL;
    memcpy(out + 8, ends->from->bytes, 16);
    memcpy(out + 24, ends->to->bytes, 16);
    return IPV6_HEADER;
}

/* --- TCP -------------------------------------------------------------------------------------------- */

static size_t build_reset(const struct packet *pkt, enum reject_kind to, uint8_t *out)
{
    const struct tcp_info *tcp = &pkt->tcp;
    struct ends ends = ends_of(pkt, to);
    size_t at = put_ip(out, pkt->ip_version, &ends, IPPROTO_TCP,
                       (pkt->ip_version == 4 ? IPV4_HEADER : IPV6_HEADER) + TCP_HEADER);
    uint8_t *reset = out + at;
    bool acknowledges = tcp->flags & TCP_ACK;
    uint32_t sequence, acknowledgment = 0;
    uint8_t flags = TCP_RST;

    if (to == REJECT_SOURCE && acknowledges) {
        sequence = tcp->acknowledgment;
    } else if (to == REJECT_SOURCE) {
        uint32_t cut = pkt->wire_length > pkt->length ? pkt->wire_length - pkt->length : 0;

        sequence = 0;
        acknowledgment = tcp->sequence + pkt->payload_length + cut + ((tcp->flags & TCP_SYN) != 0) +
                         ((tcp->flags & TCP_FIN) != 0); /* SYN and FIN count in SEG.LEN (RFC 9293 §3.10.7.1) */
        flags |= TCP_ACK;
    } else { /* to the receiver: an earlier copy of the SYN may have begun a connection there, so count the SYN */
        sequence = tcp->sequence + ((tcp->flags & TCP_SYN) != 0);
        acknowledgment = acknowledges ? tcp->acknowledgment : 0;
        flags |= acknowledges ? TCP_ACK : 0;
    }

    memset(reset, 0, TCP_HEADER);
    store_be16(reset, ends.from_port);
    store_be16(reset + 2, ends.to_port);
    store_be16(reset + 4, sequence >> 16);
    store_be16(reset + 6, sequence);
    store_be16(reset + 8, acknowledgment >> 16);
    store_be16(reset + 10, acknowledgment);
    reset[12] = TCP_HEADER / 4 << 4;
    reset[13] = flags;
    store_be16(reset + 16, ~transport_sum(pkt->ip_version, &ends, IPPROTO_TCP, reset, TCP_HEADER));
    return at + TCP_HEADER;
}

/* --- ICMP ------------------------------------------------------------------------------------------- */

static size_t build_unreachable(const struct packet *pkt, enum reject_kind to, uint8_t *out)
{
    bool four = pkt->ip_version == 4;
    struct ends ends = ends_of(pkt, to);
    size_t at = four ? IPV4_HEADER : IPV6_HEADER, before = (size_t)(pkt->ip - pkt->data), quoted, length;
    uint8_t *icmp = out + at, *quote = icmp + ICMP_HEADER;
    uint8_t protocol = four ? IPPROTO_ICMP : IPPROTO_ICMPV6;

    memset(icmp, 0, ICMP_HEADER);
    icmp[0] = four ? ICMP_DEST_UNREACH : ICMP6_DST_UNREACH;
    icmp[1] = four ? ICMP_PKT_FILTERED : ICMP6_DST_UNREACH_ADMIN;
    if (to == REJECT_DESTINATION) {
        /* The receiver expects a quote of a datagram that it has sent: an IP header without options, and source and
         * destination exchanged. */
        struct ends swapped = ends_of(pkt, REJECT_SOURCE);

        quoted = put_ip(quote, pkt->ip_version, &swapped, pkt->protocol, at + UDP_HEADER);
        store_be16(quote + quoted, swapped.from_port);
        store_be16(quote + quoted + 2, swapped.to_port);
        store_be16(quote + quoted + 4, UDP_HEADER);
        store_be16(quote + quoted + 6, 0);
        store_be16(quote + quoted + 6,
                   ~transport_sum(pkt->ip_version, &swapped, pkt->protocol, quote + quoted, UDP_HEADER));
        quoted += UDP_HEADER;
    } else {
        /* Quote the packet from its IP header on: as much as was captured and as there is space for. */
        struct cursor bytes = cursor_of(pkt->ip, before < pkt->length ? pkt->length - before : 0);

        if (pkt->ip_total_length >= pkt->ip_header_length)
            cursor_limit(&bytes, pkt->ip_total_length);
        cursor_limit(&bytes, (four ? IPV4_MAX_ANSWER : IPV6_MAX_ANSWER) - at - ICMP_HEADER);
        quoted = cursor_remaining(&bytes);
        memcpy(quote, bytes.at, quoted);
    }
    if (quoted < at) /* without a whole IP header the receiver cannot assign the message to a socket */
        return 0;
    length = ICMP_HEADER + quoted;
    put_ip(out, pkt->ip_version, &ends, protocol, at + length);
    store_be16(icmp + 2, ~(four ? sum_bytes(0, icmp, length) : transport_sum(6, &ends, protocol, icmp, length)));
    return at + length;
}

/* --- Packets that may be answered ------------------------------------------------------------------- */

static bool is_unicast(int version, const struct address *address)
{
    static const struct address none;
    const uint8_t *bytes = address->bytes;

    if (address_equal(address, &none))
        return false;
    if (version == 6)
        return bytes[0] != 0xff;
    return bytes[0] != 0 && (bytes[0] & 0xf0) != 0xe0 && load_be32(bytes) != 0xffffffff;
}

/* Returns true if the packet may be answered. Returns false for a packet from a tunnel, because the answer would leave
 * outside the tunnel, perhaps to another host with the same address. Returns false also for later fragments, group
 * addresses (RFC 1122 §3.2.2) and ICMP errors. */
static bool may_answer(const struct packet *pkt)
{
    const bool is_icmp = pkt->protocol == (pkt->ip_version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
    const uint8_t type = pkt->icmp.type;

    if ((pkt->ip_version != 4 && pkt->ip_version != 6) || !pkt->ip || pkt->fragment_offset > 0)
        return false;
    if (pkt->flags & PACKET_TUNNELED || (pkt->ethernet && pkt->ethernet[0] & 1))
        return false;
    if (is_icmp && !pkt->transport)
        return false;
    if (is_icmp && pkt->ip_version == 6 && (type < 128 || type == ICMP6_REDIRECT)) /* RFC 4443 §2.1 */
        return false;
    if (is_icmp && pkt->ip_version == 4 &&
        (type == ICMP_DEST_UNREACH || type == ICMP_SOURCE_QUENCH || type == ICMP_REDIRECT ||
         type == ICMP_TIME_EXCEEDED || type == ICMP_PARAMETERPROB))
        return false;
    return is_unicast(pkt->ip_version, &pkt->source_address) && is_unicast(pkt->ip_version, &pkt->destination_address);
}

size_t inject_build(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_PACKET])
{
    if ((to != REJECT_SOURCE && to != REJECT_DESTINATION) || !may_answer(pkt))
        return 0;
    if (pkt->protocol == IPPROTO_TCP)
        return !pkt->transport || pkt->tcp.flags & TCP_RST ? 0 : build_reset(pkt, to, out);
    if (to == REJECT_DESTINATION && (!pkt->transport || pkt->protocol != IPPROTO_UDP))
        return 0;
    return build_unreachable(pkt, to, out);
}
