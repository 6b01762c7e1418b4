/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a worker for matching regular expressions: PCRE2's match data, a stack for compiled code and the match
 * limits.
 *
 * Threads:   a scratch belongs to one worker. Matching does not allocate from the system: PCRE2's allocations for
 * interpreted patterns come from a block of the scratch. An exhausted block counts as a reached limit
 * (INSPECT_LIMIT_PCRE).
 */
#ifndef SLUICE_PCRE_SCRATCH_H
#define SLUICE_PCRE_SCRATCH_H

#include <stdint.h>

struct pcre_scratch; /* defined in src/keyword/payload/pcre_scratch_priv.h */

/* PCRE2's limits for one match: match_limit (number of steps) and depth_limit (nesting of backtracking). */
struct pcre_limits {
    uint32_t match, depth;
};

struct pcre_scratch *pcre_scratch_new(const struct pcre_limits *limits); /* NULL when out of memory */
void pcre_scratch_free(struct pcre_scratch *scratch);                    /* NULL is allowed */

#endif
