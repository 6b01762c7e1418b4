/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netlink messages of NFQUEUE. The contract: the pointers of a packet are within the message, its lengths agree with
 * the truncation flag, and every message is a packet, an error message, or unknown. Conntrack data is parsed as well:
 * it applies to a packet only if the packet has the addresses and ports of the tuple of its direction.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/nfqueue_message.h"
#include "sluice/conntrack.h"

enum { QUEUE = 0x1234 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_packet(const struct packet *pkt, const uint8_t *data, size_t size)
{
    if (pkt->data < data || pkt->data > data + size || pkt->length > (size_t)(data + size - pkt->data))
        abort();
    if (pkt->wire_length < pkt->length || (pkt->wire_length > pkt->length) != ((pkt->flags & PACKET_TRUNCATED) != 0))
        abort();
    if (pkt->meta.queue != QUEUE || pkt->meta.hardware_address_length > sizeof(pkt->meta.hardware_address))
        abort();
    if (pkt->link != LINK_RAW && pkt->link != LINK_BRIDGE)
        abort();
    if (pkt->frame_header && (pkt->frame_header < data || pkt->frame_header + 14 > data + size))
        abort();
}

/* Gives the packet the addresses and ports of a tuple. */
static void set_tuple(struct packet *pkt, const struct conntrack_tuple *tuple)
{
    pkt->ip_version = tuple->ip_version;
    pkt->protocol = tuple->protocol;
    pkt->source_address = tuple->source;
    pkt->destination_address = tuple->destination;
    pkt->source_port = tuple->source_port;
    pkt->destination_port = tuple->destination_port;
}

static void check_conntrack(struct packet *pkt, const uint8_t *data, size_t size)
{
    const struct packet_conntrack *told = &pkt->conntrack;
    struct conntrack conntrack, again;

    if (!told->bytes)
        return;
    if (told->bytes < data || told->bytes > data + size || told->length > (size_t)(data + size - told->bytes))
        abort();
    if (!conntrack_parse(&conntrack, told->bytes, told->length))
        return;
    if (conntrack.window_scale[0] > 14 || conntrack.window_scale[1] > 14)
        abort();
    if (conntrack_is_established(&conntrack) && conntrack_is_new(&conntrack))
        abort();

    const struct conntrack_tuple *tuples = conntrack.tuple;
    bool same_kind = tuples[0].ip_version == tuples[1].ip_version && tuples[0].protocol == tuples[1].protocol;
    bool is_reply = conntrack_may_be_reply(pkt);

    set_tuple(pkt, &tuples[is_reply]);
    if (conntrack_parse_packet(&again, pkt) != (same_kind && tuples[0].ip_version != 0 && told->info < 5))
        abort();
    pkt->source_port ^= 1; /* NAT may change one tuple, but then the other tuple must have this port */
    if (conntrack_parse_packet(&again, pkt) && again.tuple[!is_reply].destination_port != pkt->source_port)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct nfqueue_result result = { .error = 1 };
    struct packet pkt;

    memset(&pkt, 0xa5, sizeof(pkt));
    switch (nfqueue_message_read(data, size, QUEUE, &pkt, &result)) {
    case NFQUEUE_PACKET:
    case NFQUEUE_DAMAGED:
        check_packet(&pkt, data, size);
        check_conntrack(&pkt, data, size);
        break;
    case NFQUEUE_RESULT:
        if (size < 20 || memcmp(&result.error, data + 16, sizeof(result.error)) != 0)
            abort();
        break;
    case NFQUEUE_NO_ID:
    case NFQUEUE_UNKNOWN:
        break;
    }
    return 0;
}
