/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The set of candidates of a scan: signatures whose literal was found, or that have no literal, each once, in the order
 * in which they were found. Clearing the set costs the same for any number of signatures: a signature is in the set if
 * its mark is the number of the current scan.
 *
 * Threads: a set belongs to one worker.
 */
#ifndef SLUICE_DETECT_CANDIDATES_H
#define SLUICE_DETECT_CANDIDATES_H

#include <stdbool.h>
#include <stdint.h>

struct candidates {
    uint32_t *list; /* indices into ruleset.signatures; candidates_add() must not be called for larger ones */
    uint32_t count;
    uint32_t serial; /* number of the current scan; never 0, so that a mark of 0 is in no set */
    uint32_t *marks; /* per signature: the number of the scan in which it was added last */
    uint32_t capacity;
};

/* Allocates an empty set for signatures 0 to capacity - 1. Returns 0 or -ENOMEM. */
int candidates_init(struct candidates *candidates, uint32_t capacity);
void candidates_free(struct candidates *candidates);

/* Empties the set, for the next scan. */
void candidates_clear(struct candidates *candidates);

static inline bool candidates_contain(const struct candidates *candidates, uint32_t signature)
{
    return candidates->marks[signature] == candidates->serial;
}

/* Adds a signature, unless it was already added since candidates_clear(). */
static inline void candidates_add(struct candidates *candidates, uint32_t signature)
{
    if (candidates_contain(candidates, signature))
        return;
    candidates->marks[signature] = candidates->serial;
    candidates->list[candidates->count++] = signature;
}

#endif
