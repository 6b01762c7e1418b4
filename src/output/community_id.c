/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Community ID version 1 (github.com/corelight/community-id-spec): a hash of the flow's tuple, by which events of
 * different tools can be correlated. Both directions have the same hash, because the smaller endpoint is hashed first.
 * For ICMP the type and the type of its reply are hashed as ports. A type without a reply is hashed with the code as
 * second port, in the direction of the packet. Other protocols are hashed without ports.
 */
#include <nettle/sha1.h>
#include <netinet/in.h>
#include <string.h>

#include "community_id.h"
#include "eve.h"
#include "sluice/base64.h"

struct tuple {
    uint16_t source_port, destination_port;
    bool has_ports, one_way;
};

static struct tuple tuple_of(const struct endpoints *ends, uint8_t icmp_type, uint8_t icmp_code)
{
    uint8_t answer;

    if (protocol_has_ports(ends->protocol))
        return (struct tuple){ ends->source_port, ends->destination_port, true, false };
    if (ends->protocol != IPPROTO_ICMP && ends->protocol != IPPROTO_ICMPV6)
        return (struct tuple){ .has_ports = false };
    if (flow_icmp_reply_type(ends->protocol, icmp_type, &answer))
        return (struct tuple){ icmp_type, answer, true, false };
    return (struct tuple){ icmp_type, icmp_code, true, true };
}

static void hash_u16(struct sha1_ctx *hash, uint16_t value)
{
    const uint8_t bytes[2] = { (uint8_t)(value >> 8), (uint8_t)value };

    sha1_update(hash, sizeof(bytes), bytes);
}

void community_id(const struct endpoints *ends, uint8_t icmp_type, uint8_t icmp_code, uint16_t seed,
                  char out[COMMUNITY_ID_SIZE])
{
    const struct address *first = &ends->source, *second = &ends->destination;
    size_t address_size = ends->ip_version == 4 ? 4 : 16;
    const uint8_t protocol_and_padding[2] = { ends->protocol, 0 };
    uint8_t digest[SHA1_DIGEST_SIZE];
    struct sha1_ctx hash;
    struct tuple tuple = tuple_of(ends, icmp_type, icmp_code);
    int order = memcmp(first->bytes, second->bytes, address_size);

    if (!tuple.one_way && (order > 0 || (order == 0 && tuple.source_port > tuple.destination_port))) {
        first = &ends->destination;
        second = &ends->source;
        tuple = (struct tuple){ tuple.destination_port, tuple.source_port, tuple.has_ports, false };
    }
    sha1_init(&hash);
    hash_u16(&hash, seed);
    sha1_update(&hash, address_size, first->bytes);
    sha1_update(&hash, address_size, second->bytes);
    sha1_update(&hash, sizeof(protocol_and_padding), protocol_and_padding);
    if (tuple.has_ports) {
        hash_u16(&hash, tuple.source_port);
        hash_u16(&hash, tuple.destination_port);
    }
    sha1_digest(&hash, sizeof(digest), digest);
    memcpy(out, "1:", 2);
    base64_encode(digest, sizeof(digest), out + 2);
    out[2 + base64_encoded_size(sizeof(digest))] = '\0';
}
