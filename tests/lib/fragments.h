/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds and decodes fragments, and sends them to a defragmenter, for tests. */
#ifndef FRAGMENTS_H
#define FRAGMENTS_H

#include <stdlib.h>
#include <string.h>

#include "sluice/clock.h"
#include "sluice/decode.h"
#include "sluice/decode_event.h"
#include "sluice/defrag.h"

enum { FRAGMENTS_MAX = 70000, FRAGMENTS_CHAIN = 2048 };

/* Description of a fragment. */
struct piece {
    int version;
    uint32_t id;
    uint32_t offset;
    bool more;
    const uint8_t *bytes;
    size_t length;
    uint8_t protocol;     /* 0 means 17; IPv6: next header of the fragment header */
    uint8_t host;         /* last byte of the destination address */
    const uint8_t *chain; /* IPv4 options; or IPv6 extension headers: first hop-by-hop, the last with next header 44 */
    size_t chain_length;
};

struct defragging {
    struct decoder *decoder;
    struct defrag *defrag;
    uint64_t now_ns;
    uint16_t vlan; /* VLAN id of the next packet, or 0 */
    uint8_t bytes[FRAGMENTS_MAX];
    struct packet packet, whole;
    struct packet *found[DECODE_MAX_PACKETS];
    enum exception_cause exception;
};

/* Aborts if memory is short. */
void defragging_open(struct defragging *d, const struct defrag_options *options);

void defragging_close(struct defragging *d);
void defragging_decode(struct defragging *d, const struct piece *piece);

/* The packet must be a fragment. */
enum defrag_result defragging_send(struct defragging *d, const struct piece *piece);

uint64_t defragging_counter(const struct defragging *d, const char *name);

#endif
