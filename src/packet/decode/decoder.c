/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The decoder: decodes a captured packet and the packets inside it, all of which are inspected.
 *
 * The functions of the headers call each other, from link to network to transport layer, each with a cursor that ends
 * where the enclosing header says. If a header encapsulates a whole packet (a tunnel), this inner packet is decoded
 * immediately into a struct packet of the array `inner`, so that it is inspected before the outer packet. The size of
 * the array follows from the maximum number of layers; nothing is allocated during decoding.
 *
 * An inner packet whose first header is malformed is discarded, together with its events.
 */
#include <errno.h>
#include <stdlib.h>

#include "decode_priv.h"

_Static_assert(DECODE_EVENT_COUNT <= UINT8_MAX, "event_list holds events in bytes");
_Static_assert(DECODE_EVENT_COUNT <= PACKET_EVENT_WORDS * 64, "events holds events in bits");

static decode_header *const by_link[] = {
    [LINK_RAW] = decode_raw,         [LINK_ETHERNET] = decode_ethernet, [LINK_LINUX_SLL] = decode_sll,
    [LINK_LINUX_SLL2] = decode_sll2, [LINK_NULL] = decode_null,         [LINK_LOOP] = decode_loop,
    [LINK_PPP] = decode_ppp,         [LINK_IPV4] = decode_ipv4,         [LINK_IPV6] = decode_ipv6,
    [LINK_CHDLC] = decode_chdlc,     [LINK_BRIDGE] = decode_bridge,     [LINK_UNSUPPORTED] = NULL,
};

static uint64_t port_bits(const struct decode_ports *ports)
{
    uint64_t bits = ports->any ? UINT64_MAX : 0;

    for (unsigned i = 0; i < ports->count; i++)
        bits |= UINT64_C(1) << ports->port[i] % 64;
    return bits;
}

int decoder_new(struct decoder **out, const struct decode_options *options)
{
    struct decoder *decoder = calloc(1, sizeof(*decoder));

    if (!decoder)
        return -ENOMEM;
    decoder->options = *options;
    if (decoder->options.max_layers == 0 || decoder->options.max_layers > DECODE_MAX_LAYERS)
        decoder->options.max_layers = DECODE_MAX_LAYERS;
    decoder->tunnel_ports = port_bits(&options->teredo) | port_bits(&options->geneve) | port_bits(&options->vxlan) |
                            port_bits(&options->gtp);
    *out = decoder;
    return 0;
}

void decoder_free(struct decoder *decoder)
{
    free(decoder);
}

static void add_found(struct decoder *decoder, struct packet *pkt)
{
    for (unsigned i = 0; i < pkt->event_count; i++)
        decoder->event_counters[pkt->event_list[i]]++;
    if (packet_has_event(pkt, DECODE_EVENT_TOO_MANY_LAYERS))
        decode_count(decoder, COUNTER_TOO_MANY_LAYERS);
    decoder->found[decoder->found_count++] = pkt;
}

void decode_count_event(struct decoder *decoder, struct packet *pkt, enum decode_event event)
{
    if (pkt->event_count < PACKET_MAX_EVENTS)
        decoder->event_counters[event]++;
    packet_add_event(pkt, event);
}

static size_t decode_from(struct decoder *decoder, struct packet *pkt, decode_header *decode, struct packet **found)
{
    decoder->found = found;
    decoder->found_count = 0;
    if (decode)
        decode(decoder, pkt, cursor_of(pkt->data, pkt->length));
    add_found(decoder, pkt);
    return decoder->found_count;
}

size_t decode_packet(struct decoder *decoder, struct packet *pkt, struct packet *found[DECODE_MAX_PACKETS])
{
    packet_reset(pkt);
    decode_count(decoder, COUNTER_PKTS);
    decoder->counters[COUNTER_BYTES] += pkt->length;
    if (pkt->length > decoder->counters[COUNTER_MAX_PKT_SIZE])
        decoder->counters[COUNTER_MAX_PKT_SIZE] = pkt->length;
    decoder->inner_used = 0;
    size_t count = decode_from(decoder, pkt, by_link[pkt->link], found);

    if (pkt->flags & PACKET_MALFORMED)
        decode_count(decoder, COUNTER_INVALID);
    return count;
}

/* Copies the fields that the capture sets (time, number, metadata, flags) to a packet that was not captured itself. */
static void copy_capture_fields(struct packet *pkt, const struct packet *from)
{
    pkt->time_ns = from->time_ns;
    pkt->number = from->number;
    pkt->link = LINK_RAW;
    pkt->flags = from->flags & PACKET_CAPTURE_FLAGS;
    pkt->meta = from->meta;
    pkt->conntrack = (struct packet_conntrack){ 0 };
    pkt->frame_header = NULL;
    packet_reset(pkt);
    pkt->root = from->root;
}

size_t decode_reassembled(struct decoder *decoder, struct packet *pkt, const struct packet *fragment,
                          struct packet *found[DECODE_MAX_PACKETS])
{
    copy_capture_fields(pkt, fragment);
    pkt->flags |= (fragment->flags & PACKET_TUNNELED) | PACKET_REASSEMBLED;
    pkt->outer = fragment->outer;
    pkt->tunnel_depth = fragment->tunnel_depth;
    pkt->layers = fragment->layers > 0 ? fragment->layers - 1 : 0; /* the IP header of the fragment is replaced */
    pkt->source = PACKET_SOURCE_DEFRAG;
    pkt->ethernet = fragment->ethernet;
    pkt->flags |= fragment->flags & PACKET_ETHERNET;
    pkt->ether_type = fragment->ether_type;
    pkt->vlan_count = fragment->vlan_count;
    memcpy(pkt->vlan_id, fragment->vlan_id, sizeof(pkt->vlan_id));
    return decode_from(decoder, pkt, fragment->ip_version == 6 ? decode_ipv6 : decode_ipv4, found);
}

bool decode_tunnel(struct decoder *decoder, struct packet *outer, struct cursor cur, enum packet_source source,
                   decode_header *decode)
{
    unsigned inner_before = decoder->inner_used;
    size_t found_before = decoder->found_count;
    struct packet *pkt;

    /* An inner packet counts as a layer, and so does its first header. If both would exceed the limit, the outer packet
     * gets the event, because an event of a discarded inner packet would be lost. */
    if (outer->layers + 2u >= decoder->options.max_layers || decoder->inner_used == DECODE_INNER_PACKETS)
        return decode_invalid(outer, DECODE_EVENT_TOO_MANY_LAYERS);
    pkt = &decoder->inner[decoder->inner_used++];
    copy_capture_fields(pkt, outer);
    pkt->flags |= PACKET_TUNNELED;
    pkt->outer = outer;
    pkt->tunnel_depth = outer->tunnel_depth + 1;
    pkt->layers = outer->layers + 1;
    pkt->data = cur.at;
    pkt->length = (uint32_t)cursor_remaining(&cur);
    pkt->wire_length = pkt->length;
    pkt->source = source;
    if (!decode(decoder, pkt, cur)) {
        decoder->inner_used = inner_before;
        decoder->found_count = found_before;
        return false;
    }
    add_found(decoder, pkt);
    outer->flags |= PACKET_CARRIES_TUNNEL;
    return true;
}
