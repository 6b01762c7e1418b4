/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets for the test of allocation failures: the corpora of the fuzz targets of the application protocols as TCP
 * connections and UDP datagrams, conversations made up for what has no corpus of that form (ftp-data, files,
 * reassembly), the same in fragments and tunnels, and captures.
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
    uint64_t delay_ns; /* since the conversation's first packet */
};

struct conversation {
    char name[160];
    unsigned protocol; /* id of the application protocol that it is about; 0: none */
    bool passive;      /* played to a pipeline that only listens */
    bool sampled;      /* a capture: only some allocations are refused, unless all are asked for */
    struct frame *frames;
    size_t count, room;
};

struct conversations {
    struct conversation *list;
    size_t count, room;
};

/* All that are made of the tree at `source`. */
void conversations_add_built_in(struct conversations *all, const char *source);
/* A capture file, or those of a folder and its folders, of at most `largest` bytes each; files that libpcap refuses are
 * left out. */
void conversations_add_captures(struct conversations *all, const char *path, uint64_t largest);
void conversations_clear(struct conversations *all);

#endif
