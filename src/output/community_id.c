/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Community ID version 1 (github.com/corelight/community-id-spec): a hash of the flow's tuple that other tools compute too.
 * Both directions give the same: the smaller end comes first. ICMP's type and its answer's type stand for the ports;
 * types without an answer keep their direction, with the code as second port.
 */
#include <nettle/base64.h>
#include <nettle/sha1.h>
#include <netinet/in.h>
#include <string.h>

#include "output_priv.h"

struct tuple {
    uint16_t source_port, destination_port;
    bool one_way;
};

/* Types that answer each other. */
static const uint8_t icmp_pairs[][2] = { { 8, 0 }, { 13, 14 }, { 15, 16 }, { 10, 9 }, { 17, 18 } };
static const uint8_t icmpv6_pairs[][2] = { { 128, 129 }, { 133, 134 }, { 135, 136 },
                                           { 130, 131 }, { 139, 140 }, { 144, 145 } };

static struct tuple icmp_tuple(const uint8_t (*pairs)[2], size_t count, uint8_t type, uint8_t code)
{
    for (size_t i = 0; i < count; i++) {
        if (pairs[i][0] == type)
            return (struct tuple){ type, pairs[i][1], false };
        if (pairs[i][1] == type)
            return (struct tuple){ type, pairs[i][0], false };
    }
    return (struct tuple){ type, code, true };
}

static bool tuple_of(const struct packet_record *record, struct tuple *out)
{
    const struct endpoints *ends = &record->endpoints;

    if (!record->has_transport)
        return false;
    if (protocol_has_ports(ends->protocol))
        *out = (struct tuple){ ends->source_port, ends->destination_port, false };
    else if (ends->protocol == IPPROTO_ICMP)
        *out = icmp_tuple(icmp_pairs, sizeof(icmp_pairs) / sizeof(icmp_pairs[0]), record->icmp_type, record->icmp_code);
    else if (ends->protocol == IPPROTO_ICMPV6)
        *out = icmp_tuple(icmpv6_pairs, sizeof(icmpv6_pairs) / sizeof(icmpv6_pairs[0]), record->icmp_type,
                          record->icmp_code);
    else
        return false;
    return true;
}

static void hash_u16(struct sha1_ctx *hash, uint16_t value)
{
    const uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

    sha1_update(hash, sizeof(bytes), bytes);
}

bool community_id(const struct packet_record *record, uint16_t seed, char out[COMMUNITY_ID_SIZE])
{
    const struct endpoints *ends = &record->endpoints;
    const struct address *first = &ends->source, *second = &ends->destination;
    size_t address_size = ends->ip_version == 4 ? 4 : 16;
    const uint8_t protocol_and_padding[2] = { ends->protocol, 0 };
    uint8_t digest[SHA1_DIGEST_SIZE];
    struct sha1_ctx hash;
    struct tuple tuple;

    if (!tuple_of(record, &tuple))
        return false;

    int order = memcmp(first->bytes, second->bytes, address_size);

    if (!tuple.one_way && (order > 0 || (order == 0 && tuple.source_port > tuple.destination_port))) {
        first = &ends->destination;
        second = &ends->source;
        tuple = (struct tuple){ tuple.destination_port, tuple.source_port, false };
    }
    sha1_init(&hash);
    hash_u16(&hash, seed);
    sha1_update(&hash, address_size, first->bytes);
    sha1_update(&hash, address_size, second->bytes);
    sha1_update(&hash, sizeof(protocol_and_padding), protocol_and_padding);
    hash_u16(&hash, tuple.source_port);
    hash_u16(&hash, tuple.destination_port);
    sha1_digest(&hash, sizeof(digest), digest);
    memcpy(out, "1:", 2);
    base64_encode_raw(out + 2, sizeof(digest), digest);
    out[2 + BASE64_ENCODE_RAW_LENGTH(SHA1_DIGEST_SIZE)] = '\0';
    return true;
}
