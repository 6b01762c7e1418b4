/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The key of a packet. The source in the key is the sender, so that the comparison with a flow yields the direction.
 * The hash of a key is computed from the hashes of both ends by multiply-and-fold, as in wyhash and for the short keys
 * of XXH3. The secrets are derived from a seed, so that an attacker cannot choose flows that fall into one bucket. The
 * identifier of a flow is computed once, from both ends in an order that is the same for both directions.
 */
#include <assert.h>
#include <netinet/in.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "flow_priv.h"

/* The input of the hash for flow identifiers. It must not contain padding, because all of its bytes are hashed. */
struct hash_input {
    struct address low, high;
    uint16_t low_port, high_port;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t vlan_count, ip_version, protocol, tunnel_depth;
};

static_assert(sizeof(struct hash_input) == 46, "no padding");

/* Returns whether packets of an IP protocol belong to flows: the same protocols as in Suricata. */
static bool protocol_has_flows(uint8_t protocol)
{
    static const uint64_t with_flows = UINT64_C(1) << IPPROTO_TCP | UINT64_C(1) << IPPROTO_UDP |
                                       UINT64_C(1) << IPPROTO_ICMP | UINT64_C(1) << IPPROTO_ICMPV6 |
                                       UINT64_C(1) << IPPROTO_ESP;

    return protocol < 64 ? with_flows >> protocol & 1 : protocol == IPPROTO_SCTP;
}

bool key_of_packet(struct flow_key *key, const struct packet *pkt)
{
    /* IP in IP has a flow although it has no transport header */
    if (!(pkt->transport && protocol_has_flows(pkt->protocol)) &&
        !((pkt->protocol == IPPROTO_IPIP || pkt->protocol == IPPROTO_IPV6) && pkt->flags & PACKET_CARRIES_TUNNEL))
        return false;
    key->source = pkt->source_address;
    key->destination = pkt->destination_address;
    key->source_port = pkt->source_port;
    key->destination_port = pkt->destination_port;
    memcpy(key->vlan_id, pkt->vlan_id, sizeof(key->vlan_id));
    key->vlan_count = pkt->vlan_count;
    key->ip_version = pkt->ip_version;
    key->protocol = pkt->protocol;
    key->tunnel_depth = pkt->tunnel_depth;
    if (protocol_is_icmp(pkt->protocol)) {
        key->source_port = pkt->icmp.type;
        key->destination_port = icmp_answer(pkt->protocol, pkt->icmp.type);
    } else if (pkt->protocol == IPPROTO_ESP) {
        /* A security association has one direction. The halves of its SPI are used as ports, so that its packets are
         * one flow, and those of the opposite association another one. */
        key->source_port = (uint16_t)(pkt->esp.spi >> 16);
        key->destination_port = (uint16_t)pkt->esp.spi;
    }
    return true;
}

/* Returns the XOR of the halves of the 128-bit product, which depends on all bits of both factors. */
static uint64_t multiply_and_fold(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Derives the secrets from the seed by steps of splitmix64. */
void key_secret_init(struct key_secret *secret, uint64_t seed)
{
    for (unsigned i = 0; i < KEY_SECRETS; i++) {
        uint64_t word = seed += UINT64_C(0x9E3779B97F4A7C15);

        word = (word ^ word >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
        word = (word ^ word >> 27) * UINT64_C(0x94D049BB133111EB);
        secret->words[i] = word ^ word >> 31;
    }
}

/* Returns the hash of one end. Address and port are combined with different secrets, so that a change of one cannot
 * compensate for a change of the other. */
static uint64_t hash_end(const struct address *address, uint16_t port, const uint64_t *secret)
{
    uint64_t words[2];

    memcpy(words, address->bytes, sizeof(words));
    return multiply_and_fold(multiply_and_fold(words[0] ^ secret[0], words[1] ^ secret[1]) ^ secret[2],
                             port ^ secret[3]);
}

/* The sum of the hashes of both ends is the same in both directions. */
uint32_t key_hash(const struct flow_key *key, const struct key_secret *secret)
{
    uint16_t source_port = key->source_port, destination_port = key->destination_port;
    uint64_t rest = (uint64_t)key->protocol << 8 | (uint64_t)key->ip_version << 4 | key->vlan_count;

    if (protocol_is_icmp(key->protocol))
        source_port = destination_port = source_port < destination_port ? source_port : destination_port;
    for (unsigned i = 0; i < PACKET_MAX_VLANS; i++)
        rest = rest << 16 | key->vlan_id[i];
    uint64_t ends = hash_end(&key->source, source_port, secret->words) +
                    hash_end(&key->destination, destination_port, secret->words);
    uint64_t hash = multiply_and_fold(ends ^ secret->words[4], (rest + key->tunnel_depth) ^ secret->words[5]);

    return (uint32_t)(hash ^ hash >> 32);
}

uint64_t key_flow_id(const struct flow_key *key, uint64_t start_ns, uint64_t number)
{
    struct hash_input input;
    uint64_t source[2], destination[2], id;
    bool swap;

    /* Order the ends by address, compared as numbers, which is faster than memcmp(). Any order suffices if it is the
     * same in both directions. */
    memcpy(source, key->source.bytes, sizeof(source));
    memcpy(destination, key->destination.bytes, sizeof(destination));
    if (source[0] != destination[0])
        swap = source[0] > destination[0];
    else if (source[1] != destination[1])
        swap = source[1] > destination[1];
    else
        swap = key->source_port > key->destination_port;
    input.low = swap ? key->destination : key->source;
    input.high = swap ? key->source : key->destination;
    input.low_port = swap ? key->destination_port : key->source_port;
    input.high_port = swap ? key->source_port : key->destination_port;
    if (protocol_is_icmp(key->protocol)) {
        uint16_t type = key->source_port < key->destination_port ? key->source_port : key->destination_port;

        input.low_port = input.high_port = type;
    }
    memcpy(input.vlan_id, key->vlan_id, sizeof(input.vlan_id));
    input.vlan_count = key->vlan_count;
    input.ip_version = key->ip_version;
    input.protocol = key->protocol;
    input.tunnel_depth = key->tunnel_depth;
    id = XXH3_64bits_withSeed(&input, sizeof(input), start_ns ^ number * UINT64_C(0x9E3779B97F4A7C15));
    id >>= 11; /* JSON readers keep 53 bits of a number */
    return id ? id : 1;
}

void key_mask(struct flow_key *key, const struct flow_options *options)
{
    if (!options->vlan_tracking) {
        memset(key->vlan_id, 0, sizeof(key->vlan_id));
        key->vlan_count = 0;
    }
    if (!options->tunnel_level_tracking)
        key->tunnel_depth = 0;
}

static bool ends_match(const struct flow_key *key, const struct flow *flow, enum flow_direction direction)
{
    bool to_server = direction == FLOW_TO_SERVER;
    uint16_t client_port = to_server ? key->source_port : key->destination_port;
    uint16_t server_port = to_server ? key->destination_port : key->source_port;

    return address_equal(&flow->client, to_server ? &key->source : &key->destination) &&
           address_equal(&flow->server, to_server ? &key->destination : &key->source) &&
           flow->client_port == client_port && (flow->server_port == server_port || protocol_is_icmp(flow->protocol));
}

bool key_matches(const struct flow_key *key, const struct flow *flow, const struct flow_options *options,
                 enum flow_direction *direction)
{
    if (flow->protocol != key->protocol || flow->ip_version != key->ip_version)
        return false;
    if (options->tunnel_level_tracking && flow->tunnel_depth != key->tunnel_depth)
        return false;
    if (options->vlan_tracking &&
        (flow->vlan_count != key->vlan_count || memcmp(flow->vlan_id, key->vlan_id, sizeof(flow->vlan_id)) != 0))
        return false;
    *direction = ends_match(key, flow, FLOW_TO_SERVER) ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    return *direction == FLOW_TO_SERVER || ends_match(key, flow, FLOW_TO_CLIENT);
}

uint32_t flow_packet_hash(const struct packet *pkt, uint64_t seed, bool addresses_only)
{
    struct key_secret secret;
    struct flow_key key;

    bool has_key;

    if (pkt->ip_version == 0)
        return 0;
    /* An ICMP error has the key of the packet that it quotes. A packet without a key is hashed by addresses and
     * protocol; ESP as well, without the SPI, so that the packets of both directions have the same hash and are
     * processed by the same worker. */
    if (icmp_is_error(pkt))
        has_key = icmp_quoted_key(&key, pkt);
    else
        has_key = pkt->protocol != IPPROTO_ESP && key_of_packet(&key, pkt);
    if (!has_key)
        key = (struct flow_key){
            .source = pkt->source_address,
            .destination = pkt->destination_address,
            .ip_version = pkt->ip_version,
            .protocol = pkt->protocol,
        };
    memset(key.vlan_id, 0, sizeof(key.vlan_id));
    key.vlan_count = key.tunnel_depth = 0;
    if (addresses_only || (pkt->flags & PACKET_FRAGMENT)) {
        key.source_port = key.destination_port = 0;
        key.protocol = 0;
    }
    key_secret_init(&secret, seed);
    return key_hash(&key, &secret);
}
