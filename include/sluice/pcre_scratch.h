/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker needs to match regular expressions: PCRE2's match data, a stack for compiled code and the match limits.
 *
 * Threads:   a scratch belongs to one worker. Matching takes no memory from the system: what PCRE2 asks for while it
 *            interprets a pattern that could not be compiled to machine code comes from a block of the scratch, and
 * when that is used up the pattern does not match.
 */
#ifndef SLUICE_PCRE_SCRATCH_H
#define SLUICE_PCRE_SCRATCH_H

#include <stdint.h>

struct pcre_scratch; /* defined in src/keyword/payload/pcre_scratch_priv.h */

/* PCRE2's limits for one match: calls of its matching function, and how deep they nest. */
struct pcre_limits {
    uint32_t match, depth;
};
/* Suricata's defaults. */
enum { PCRE_DEFAULT_MATCH_LIMIT = 3500, PCRE_DEFAULT_DEPTH_LIMIT = 1500 };

struct pcre_scratch *pcre_scratch_new(const struct pcre_limits *limits); /* NULL when out of memory */
void pcre_scratch_free(struct pcre_scratch *scratch);                    /* NULL is allowed */

#endif
