/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simple model of stream/assembly.h, to hold it against: one array of bytes, one of what each is. A script (any
 * bytes) is carried out on both; the first difference ends the process. For the unit test with scripts by chance and
 * for the fuzz target.
 *
 * Checked of every view: that it begins where the last one ended or behind a hole, reaches as far as it can, and has
 * the bytes that came first (passive: those that the receiver's system keeps); so no byte comes twice, and none is
 * missing.
 */
#ifndef SLUICE_ASSEMBLY_MODEL_H
#define SLUICE_ASSEMBLY_MODEL_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stream/assembly.h"

enum {
    MODEL_SIZE = 1 << 18,
    MODEL_SEGMENTS = 1000, /* so many commands are carried out at most */
    MODEL_MAX_LENGTH = 65535,
    MODEL_MAX_EXTENTS = 256,
    MODEL_HISTORY = 65536,
    MODEL_HOLES = 100, /* with more of them nothing is given up or skipped: what happens then is not of the model */
    MODEL_VARIANTS = 4,
};

enum model_kind { MODEL_UNSEEN, MODEL_SEEN, MODEL_LOST, MODEL_SKIPPED };

struct model_segment {
    uint64_t start, end;
};

struct model {
    struct assembly assembly;
    uint8_t kind[MODEL_SIZE], value[MODEL_SIZE];
    uint64_t base, contiguous, acknowledged, inspected, end;
    uint64_t limit;
    uint32_t window;
    bool gap_before_next, stopped;
    uint8_t before[STREAM_BEFORE_MAX];
    size_t before_length;
    size_t holes;
    struct model_segment segments[MODEL_SEGMENTS];
    size_t segment_count;
};

struct model_run {
    struct assembly_store *store;
    bool inline_mode, small;
    enum host_os os;
    struct model model[2];
    const uint8_t *script;
    size_t length, at;
    /* The last segment added. */
    uint8_t payload[MODEL_MAX_LENGTH];
    uint64_t payload_offset;
    uint32_t payload_length;
    struct model *payload_of;
};

#define MODEL_MUST(what)                                                                                               \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #what);                                  \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

/* --- The model's own steps ------------------------------------------------------------------------ */

struct model_expectation {
    uint32_t added, overlapping;
    bool differs;
};

/* --- Commands: each is done on both, and compared ------------------------------------------------- */

/* The first bytes of a script are the options: flags, system, windows, limits. */
void model_run(const uint8_t *script, size_t length);

#endif
