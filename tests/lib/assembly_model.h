/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A simple model of stream/assembly.h: one array with the bytes, and one with the state of each byte. A script (any
 * bytes) runs on the model and on the assembly; the first difference aborts the process. The unit test runs random
 * scripts; the fuzz target runs its inputs.
 *
 * Every chunk must begin at the end of the previous one or behind a gap, and must be as long as possible. It must have
 * the bytes that arrived first (passive: those that the receiver's system keeps). So no byte is repeated or missing.
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
    MODEL_SEGMENTS = 1000, /* maximum number of segments of a script */
    MODEL_MAX_LENGTH = 65535,
    MODEL_MAX_EXTENTS = 256,
    MODEL_HISTORY = 65536,
    MODEL_HOLES = 100, /* with more gaps the script skips and gives up no data, because the model does not cover that */
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

/* --- Commands ------------------------------------------------------------------------------------- */

/* Runs each command on model and assembly, and compares them. The first bytes of a script are options: flags, system,
 * windows, limits. */
void model_run(const uint8_t *script, size_t length);

#endif
