/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets for the test of allocation failures:
 * - the corpora of the fuzz targets app_*, as TCP connections and UDP datagrams
 * - conversations for features without corpus (ftp-data, files, reassembly)
 * - conversations in fragments and tunnels
 * - captures
 */
#ifndef CONVERSATION_H
#define CONVERSATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/packet.h"

struct frame {
    uint8_t *bytes;
    uint32_t length, wire_length;
    enum link_type link;
    uint64_t delay_ns; /* time since the conversation's first packet */
};

struct conversation {
    char name[160];
    unsigned protocol; /* id of the application protocol that it tests; 0: none */
    bool passive;      /* for a passive pipeline, not an inline one */
    bool sampled;      /* a capture: without --all only some allocations fail */
    struct frame *frames;
    size_t count, room;
};

struct conversations {
    struct conversation *list;
    size_t count, room;
};

/* Adds all conversations other than captures; `source` is the source tree with the corpora. */
void conversations_add_built_in(struct conversations *all, const char *source);
/* Adds a capture file, or all those below a folder, with at most `largest` bytes each. Skips files that libpcap cannot
 * read. */
void conversations_add_captures(struct conversations *all, const char *path, uint64_t largest);
void conversations_clear(struct conversations *all);

#endif
