/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internet checksums (RFC 1071). The sum is computed over words of eight bytes, because the byte order does not matter
 * until the sum is folded to 16 bits. A carry out of 64 bits counts as 1, like a carry out of 16 bits. The checksum
 * field is included, so the sum of a correct packet is 0xffff.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "decode_priv.h"

enum { TCP_CHECKSUM_OFFSET = 16, UDP_CHECKSUM_OFFSET = 6, ICMP_CHECKSUM_OFFSET = 2, SUM_OF_RIGHT = 0xffff };

static uint64_t add_words(uint64_t sum, const uint8_t *bytes, size_t length)
{
    struct cursor cur = cursor_of(bytes, length);
    uint8_t last[2] = { 0 };
    uint64_t long_sum = 0, carries = 0, word;
    uint32_t half;
    uint16_t number;

    for (const uint8_t *at; (at = cursor_read(&cur, 4 * sizeof(word)));) {
        for (size_t i = 0; i < 4; i++) {
            memcpy(&word, at + i * sizeof(word), sizeof(word));
            carries += __builtin_add_overflow(long_sum, word, &long_sum);
        }
    }
    sum += (uint32_t)long_sum + (long_sum >> 32) + carries;
    for (const uint8_t *at; (at = cursor_read(&cur, sizeof(half)));) {
        memcpy(&half, at, sizeof(half));
        sum += half;
    }
    if (cursor_remaining(&cur) >= sizeof(number)) {
        memcpy(&number, cursor_read(&cur, sizeof(number)), sizeof(number));
        sum += number;
    }
    if (cursor_u8(&cur, last)) {
        memcpy(&number, last, sizeof(number));
        sum += number;
    }
    return sum;
}

static uint16_t fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* The checksum of a protocol: offset of its field, whether it includes the pseudo header, and number of bytes that it
 * covers. */
struct covered {
    unsigned offset;
    bool pseudo_header;
    uint32_t length;
};

static bool find_covered(const struct packet *pkt, struct covered *out)
{
    if (!pkt->transport || !pkt->ip || pkt->ip_version == 0)
        return false;
    *out = (struct covered){
        .offset = ICMP_CHECKSUM_OFFSET,
        .length = pkt->ip_total_length - (uint32_t)(pkt->transport - pkt->ip),
    };
    switch (pkt->protocol) {
    case IPPROTO_TCP:
        out->offset = TCP_CHECKSUM_OFFSET;
        out->pseudo_header = true;
        return true;
    case IPPROTO_UDP:
        out->offset = UDP_CHECKSUM_OFFSET;
        out->pseudo_header = true;
        out->length = pkt->udp.length;
        return true;
    case IPPROTO_ICMPV6:
        out->pseudo_header = true;
        return true;
    default:
        return pkt->protocol == IPPROTO_ICMP || pkt->protocol == IPPROTO_IGMP;
    }
}

/* Returns the sum of the pseudo header (RFC 9293 §3.1, RFC 8200 §8.1): addresses, protocol and `length`. */
static uint64_t sum_pseudo_header(const struct packet *pkt, uint32_t length)
{
    uint64_t sum = htons(pkt->protocol) + (uint64_t)htonl(length);
    const uint8_t *source = pkt->source_address.bytes, *destination = pkt->destination_address.bytes;
    uint32_t addresses[2];

    if (pkt->ip_version == 4) {
        memcpy(&addresses[0], source, sizeof(addresses[0]));
        memcpy(&addresses[1], destination, sizeof(addresses[1]));
        return sum + addresses[0] + addresses[1];
    }
    return add_words(add_words(sum, source, 16), destination, 16);
}

void decode_check_checksums(struct packet *pkt)
{
    struct covered covered;
    bool is_right;

    if (pkt->flags & PACKET_TRUNCATED)
        return;
    if (pkt->ip_version == 4 && fold(add_words(0, pkt->ip, pkt->ip_header_length)) != SUM_OF_RIGHT)
        pkt->flags |= PACKET_BAD_L3_CHECKSUM;
    if (pkt->flags & (PACKET_CHECKSUM_NOT_READY | PACKET_FRAGMENT | PACKET_ROUTED))
        return;
    if (!find_covered(pkt, &covered))
        return;
    if (pkt->protocol == IPPROTO_UDP && pkt->udp.checksum == 0) { /* no checksum, which IPv6 permits for tunnels only */
        is_right = pkt->ip_version == 4 || (pkt->flags & PACKET_CARRIES_TUNNEL);
    } else {
        uint64_t sum = covered.pseudo_header ? sum_pseudo_header(pkt, covered.length) : 0;

        is_right = fold(add_words(sum, pkt->transport, covered.length)) == SUM_OF_RIGHT;
    }
    if (!is_right)
        pkt->flags |= PACKET_BAD_L4_CHECKSUM;
}

void decode_clear_partial_checksum(struct packet *pkt)
{
    struct covered covered;
    uint16_t field;

    if (!(pkt->flags & PACKET_BAD_L4_CHECKSUM) || !find_covered(pkt, &covered) || !covered.pseudo_header)
        return;
    memcpy(&field, pkt->transport + covered.offset, sizeof(field));
    if (field == fold(sum_pseudo_header(pkt, covered.length)))
        pkt->flags &= ~(uint32_t)PACKET_BAD_L4_CHECKSUM;
}

uint16_t decode_transport_checksum(const struct packet *pkt)
{
    struct covered covered;

    if (!find_covered(pkt, &covered))
        return 0;
    uint32_t after = covered.offset + (uint32_t)sizeof(uint16_t);
    uint64_t sum = covered.pseudo_header ? sum_pseudo_header(pkt, covered.length) : 0;

    sum = add_words(sum, pkt->transport, covered.offset);
    sum = add_words(sum, pkt->transport + after, covered.length - after);
    uint16_t checksum = ntohs((uint16_t)~fold(sum));

    return checksum == 0 && pkt->protocol == IPPROTO_UDP ? 0xffff : checksum;
}
