/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_DETECT_GRAM_COUNTS_H
#define SLUICE_DETECT_GRAM_COUNTS_H

#include "detect_priv.h"

enum { GRAM_LENGTH = 4 };

/* Returns four bytes as a number, ignoring the case of letters. */
static inline uint32_t gram_of(const uint8_t *bytes)
{
    uint32_t gram;

    memcpy(&gram, bytes, sizeof(gram));
    return gram & UINT32_C(0xdfdfdfdf);
}

struct gram_counts {
    uint32_t *of;
    unsigned shift;
};

/* Counts the sequences of all literals of at least four bytes. Returns 0 or -ENOMEM. */
int gram_counts_make(struct gram_counts *counts, struct literal *const *literals, uint32_t count);
void gram_counts_clear(struct gram_counts *counts);
/* Returns the number of occurrences of the four bytes. */
uint64_t gram_counts_get(const struct gram_counts *counts, const uint8_t *bytes);

#endif
