/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder. The first byte selects link type and options; the rest is a packet. The contract: the packets found are
 * nested in the documented order, every pointer and its length is within the packet, and the same bytes give the same
 * result. Then the bytes are decoded as a reassembled datagram.
 */
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/decode.h"
#include "sluice/decode_event.h"

enum { OPTION_BIT_PERMISSIVE = 0x10, OPTION_BIT_ANY_PORT = 0x20, OPTION_BIT_FEW_LAYERS = 0x40, LINK_MASK = 0x0f };

#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            abort();                                                                                                   \
    } while (0)

static void check_inside(const struct packet *pkt, const uint8_t *at, size_t length)
{
    if (at)
        MUST(at >= pkt->data && length <= pkt->length && (size_t)(at - pkt->data) <= pkt->length - length);
    else
        MUST(length == 0);
}

static void check_ip(const struct packet *pkt)
{
    MUST((pkt->ip_version == 0) == (pkt->ip == NULL));
    if (!pkt->ip) {
        MUST(!pkt->transport && !pkt->payload && !(pkt->flags & PACKET_FRAGMENT));
        return;
    }
    MUST(pkt->ip_version == 4 || pkt->ip_version == 6);
    MUST(pkt->ip[0] >> 4 == pkt->ip_version);
    MUST(pkt->ip_total_length >= (uint32_t)pkt->ip_header_length + pkt->ip_extension_length);
    check_inside(pkt, pkt->ip, pkt->ip_total_length);
    if (pkt->flags & PACKET_FRAGMENT)
        MUST(!pkt->transport && !pkt->payload && (pkt->more_fragments || pkt->fragment_offset > 0));
    if (pkt->transport)
        MUST(pkt->transport == pkt->ip + pkt->ip_header_length + pkt->ip_extension_length);
    if (pkt->payload)
        MUST(pkt->payload + pkt->payload_length <= pkt->ip + pkt->ip_total_length);
}

static void check_packet(const struct packet *pkt)
{
    uint64_t bits[PACKET_EVENT_WORDS] = { 0 };

    check_inside(pkt, pkt->ethernet, pkt->ethernet ? 14 : 0);
    check_inside(pkt, pkt->transport, pkt->transport_header_length);
    check_inside(pkt, pkt->payload, pkt->payload_length);
    MUST((pkt->payload == NULL) == (pkt->payload_length == 0));
    check_ip(pkt);
    MUST(pkt->vlan_count <= PACKET_MAX_VLANS);
    MUST(pkt->event_count <= PACKET_MAX_EVENTS);
    for (unsigned i = 0; i < pkt->event_count; i++) {
        MUST(pkt->event_list[i] < DECODE_EVENT_COUNT);
        bits[pkt->event_list[i] / 64] |= UINT64_C(1) << (pkt->event_list[i] % 64);
    }
    MUST(memcmp(bits, pkt->events, sizeof(bits)) == 0);
    MUST(!(pkt->flags & PACKET_MALFORMED) || pkt->event_count > 0);
}

static void check_found(struct packet *const *found, size_t count, const struct packet *last)
{
    MUST(count >= 1 && count <= DECODE_MAX_PACKETS);
    MUST(found[count - 1] == last);
    for (size_t i = 0; i < count; i++) {
        const struct packet *pkt = found[i];

        check_packet(pkt);
        MUST(pkt->root == last->root);
        if (i + 1 == count)
            break;
        MUST(pkt->flags & PACKET_TUNNELED);
        MUST(pkt->outer == found[i + 1] && (found[i + 1]->flags & PACKET_CARRIES_TUNNEL));
        MUST(pkt->tunnel_depth == found[i + 1]->tunnel_depth + 1);
        check_inside(pkt->outer, pkt->data, pkt->length);
    }
}

static void check_sums(struct packet *const *found, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        decode_check_checksums(found[i]);
        (void)decode_transport_checksum(found[i]);
    }
}

static struct decoder *open_decoder(uint8_t choice)
{
    struct decode_options options;
    struct decoder *decoder;

    decode_options_default(&options);
    options.vxlan_permissive = choice & OPTION_BIT_PERMISSIVE;
    options.teredo.any = options.vxlan.any = options.geneve.any = options.gtp.any = choice & OPTION_BIT_ANY_PORT;
    if (choice & OPTION_BIT_FEW_LAYERS)
        options.max_layers = 4;
    if (decoder_new(&decoder, &options) != 0)
        abort();
    return decoder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct packet *found[DECODE_MAX_PACKETS], *again[DECODE_MAX_PACKETS];

    if (size == 0 || size > UINT16_MAX)
        return 0;
    struct decoder *decoder = open_decoder(data[0]);
    struct packet pkt = {
        .data = data + 1,
        .length = (uint32_t)size - 1,
        .wire_length = (uint32_t)size - 1,
        .link = (enum link_type)((data[0] & LINK_MASK) % (LINK_UNSUPPORTED + 1)),
    };
    size_t count = decode_packet(decoder, &pkt, found);
    struct packet first = pkt;

    check_found(found, count, &pkt);
    MUST(decode_packet(decoder, &pkt, again) == count && memcmp(&first, &pkt, sizeof(pkt)) == 0);
    check_sums(again, count);

    struct packet whole = { .data = pkt.data, .length = pkt.length, .wire_length = pkt.length };

    count = decode_reassembled(decoder, &whole, again[0], found);
    check_found(found, count, &whole);
    decoder_free(decoder);
    return 0;
}
