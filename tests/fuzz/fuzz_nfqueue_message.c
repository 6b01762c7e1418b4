/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Netlink messages as NFQUEUE sends them. The contract: what a packet lends lies within the message, its lengths and the
 * truncation flag agree, and a message is a packet, an answer, or neither.
 */
#include <stdlib.h>
#include <string.h>

#include "capture/nfqueue_priv.h"

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
    if (pkt->link != LINK_RAW && pkt->link != LINK_UNSUPPORTED)
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
