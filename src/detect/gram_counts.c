/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How common four bytes are among the literals that are looked for together: what is in many rules ("HTTP/1.1", ".com") is in much of the
 * traffic, too. By hash, so it may be told too high.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gram_counts.h"

enum { MIN_BITS = 8, MAX_BITS = 18 };

static uint32_t hash_at(const struct gram_counts *counts, const uint8_t *bytes)
{
    return gram_of(bytes) * UINT32_C(0x9e3779b1) >> counts->shift;
}

int gram_counts_make(struct gram_counts *counts, struct literal *const *literals, uint32_t count)
{
    unsigned bits = MIN_BITS;
    uint64_t total = 0;

    for (uint32_t i = 0; i < count; i++)
        total += literals[i]->length;
    while (bits < MAX_BITS && (UINT64_C(1) << bits) < total * 2)
        bits++;
    counts->shift = 32 - bits;
    counts->of = calloc(UINT64_C(1) << bits, sizeof(*counts->of));
    if (!counts->of)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        for (size_t at = 0; at + GRAM_LENGTH <= literals[i]->length; at++)
            counts->of[hash_at(counts, literals[i]->bytes + at)]++;
    }
    return 0;
}

void gram_counts_clear(struct gram_counts *counts)
{
    free(counts->of);
    counts->of = NULL;
}

/* Equal bytes are padding, and found where there is nothing. */
static bool is_padding(const uint8_t *bytes)
{
    return memcmp(bytes, bytes + 1, GRAM_LENGTH - 1) == 0;
}

uint64_t gram_counts_get(const struct gram_counts *counts, const uint8_t *bytes)
{
    return is_padding(bytes) ? UINT32_MAX : counts->of[hash_at(counts, bytes)];
}
