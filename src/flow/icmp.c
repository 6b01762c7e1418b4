/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ICMP: pairs of request and reply types, and keys of the packets that errors quote. An error may quote no more than
 * the IP header and the first bytes of the transport header (RFC 792, RFC 1812 section 4.3.2.3, RFC 4443 section 3),
 * which is sufficient for a key.
 */
#include <netinet/in.h>

#include "flow_priv.h"
#include "sluice/bytes.h"

enum {
    ICMP_ERROR_HEADER_LENGTH = 8,
    IPV4_HEADER_LENGTH = 20,
    IPV6_HEADER_LENGTH = 40,
    FRAGMENT_OFFSET_MASK_V4 = 0x1fff,
    FRAGMENT_OFFSET_MASK_V6 = 0xfff8,
    MAX_EXTENSIONS = 8,
    FIRST_INFORMATION_TYPE_V6 = 128,
};

/* Types that answer each other, as in Suricata. */
static const uint8_t pairs_v4[][2] = { { 8, 0 }, { 13, 14 }, { 15, 16 }, { 10, 9 }, { 17, 18 } };
static const uint8_t pairs_v6[][2] = { { 128, 129 }, { 135, 136 }, { 133, 134 }, { 130, 131 }, { 139, 140 },
                                       { 144, 145 }, { 146, 147 }, { 148, 149 }, { 152, 151 }, { 157, 158 } };

static uint16_t answer_in(const uint8_t (*pairs)[2], size_t count, uint8_t type)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i][0] == type)
            return pairs[i][1];
        if (pairs[i][1] == type)
            return pairs[i][0];
    }
    return ICMP_NO_ANSWER;
}

uint16_t icmp_answer(uint8_t protocol, uint8_t type)
{
    return protocol == IPPROTO_ICMP ? answer_in(pairs_v4, sizeof(pairs_v4) / sizeof(pairs_v4[0]), type)
                                    : answer_in(pairs_v6, sizeof(pairs_v6) / sizeof(pairs_v6[0]), type);
}

bool flow_icmp_reply_type(uint8_t protocol, uint8_t type, uint8_t *answer)
{
    uint16_t found = icmp_answer(protocol, type);

    if (found == ICMP_NO_ANSWER)
        return false;
    *answer = (uint8_t)found;
    return true;
}

static bool type_is_error(uint8_t protocol, uint8_t type)
{
    if (protocol == IPPROTO_ICMPV6)
        return type < FIRST_INFORMATION_TYPE_V6;
    return type == 3 || type == 4 || type == 5 || type == 11 || type == 12;
}

bool icmp_is_error(const struct packet *pkt)
{
    return protocol_is_icmp(pkt->protocol) && pkt->transport && type_is_error(pkt->protocol, pkt->icmp.type);
}

/* Reads the ports, or the ICMP type, of the quoted packet into the key. Returns false if they are missing, or the
 * quoted packet is an ICMP error itself. */
static bool read_ports(struct flow_key *key, struct cursor *cur)
{
    const uint8_t *ports;

    switch (key->protocol) {
    case IPPROTO_TCP:
    case IPPROTO_UDP:
    case IPPROTO_SCTP:
        ports = cursor_read(cur, 4);
        if (!ports)
            return false;
        key->source_port = load_be16(ports);
        key->destination_port = load_be16(ports + 2);
        return true;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        ports = cursor_read(cur, 1);
        if (!ports || type_is_error(key->protocol, ports[0]))
            return false;
        key->source_port = ports[0];
        key->destination_port = icmp_answer(key->protocol, ports[0]);
        return true;
    default:
        return true;
    }
}

/* Skips the IPv6 extension headers; *next is the type of the next header. Returns false if they are malformed, or the
 * packet is not the first fragment. */
static bool skip_extensions(uint8_t *next, struct cursor *cur)
{
    for (unsigned i = 0; i < MAX_EXTENSIONS; i++) {
        const uint8_t *header;
        size_t length;

        if (*next != IPPROTO_HOPOPTS && *next != IPPROTO_ROUTING && *next != IPPROTO_DSTOPTS &&
            *next != IPPROTO_FRAGMENT && *next != IPPROTO_AH)
            return true;
        header = cursor_read(cur, 8);
        if (!header)
            return false;
        if (*next == IPPROTO_FRAGMENT) {
            if ((load_be16(header + 2) & FRAGMENT_OFFSET_MASK_V6) != 0)
                return false;
            length = 0;
        } else {
            length = *next == IPPROTO_AH ? header[1] * 4u : header[1] * 8u;
        }
        *next = header[0];
        if (!cursor_skip(cur, length))
            return false;
    }
    return false;
}

bool icmp_quoted_key(struct flow_key *key, const struct packet *error)
{
    struct cursor cur = cursor_of(error->transport, (size_t)error->transport_header_length + error->payload_length);

    *key = (struct flow_key){
        .vlan_count = error->vlan_count,
        .ip_version = error->ip_version,
        .tunnel_depth = error->tunnel_depth,
    };
    memcpy(key->vlan_id, error->vlan_id, sizeof(key->vlan_id));
    if (!cursor_skip(&cur, ICMP_ERROR_HEADER_LENGTH))
        return false;
    if (error->protocol == IPPROTO_ICMP) {
        const uint8_t *ip = cursor_read(&cur, IPV4_HEADER_LENGTH);

        if (!ip || ip[0] >> 4 != 4 || (ip[0] & 0x0f) < 5 || (load_be16(ip + 6) & FRAGMENT_OFFSET_MASK_V4) != 0)
            return false;
        key->protocol = ip[9];
        memcpy(key->source.bytes, ip + 12, 4);
        memcpy(key->destination.bytes, ip + 16, 4);
        return cursor_skip(&cur, (ip[0] & 0x0f) * 4u - IPV4_HEADER_LENGTH) && read_ports(key, &cur);
    }
    const uint8_t *ip = cursor_read(&cur, IPV6_HEADER_LENGTH);

    if (!ip || ip[0] >> 4 != 6)
        return false;
    key->protocol = ip[6];
    memcpy(key->source.bytes, ip + 8, 16);
    memcpy(key->destination.bytes, ip + 24, 16);
    return skip_extensions(&key->protocol, &cur) && read_ports(key, &cur);
}
