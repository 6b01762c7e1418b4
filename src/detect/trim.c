/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pattern trimming: shorter literals for the same rules. In a buffer that is present as a whole, any part of a literal
 * may find the rule: a part is chosen that is fast to search and rare.
 *
 * Hyperscan matches eight bytes at once and has to confirm the rest of a longer literal: literals with the same end
 * ("HTTP/1.1") are all confirmed at each occurrence of that end. Therefore the eight bytes are kept that the fewest
 * others contain.
 *
 * For a stream twice as much is kept: there the part may be found in one segment, and the rule then waits for the rest
 * in the next one (struct signature.may_span_segments). The part is not longer than what is searched at once at a
 * segment border (matcher.c).
 */
#include <stdlib.h>

#include "detect_priv.h"
#include "gram_counts.h"

enum { PART_LENGTH = 8 };

static uint64_t count_grams(const struct gram_counts *counts, const uint8_t *part, uint32_t length)
{
    uint64_t sum = 0;

    for (unsigned at = 0; at + GRAM_LENGTH <= length; at++)
        sum += gram_counts_get(counts, part + at);
    return sum;
}

/* Keeps the rarest part; of equal ones the last, because words differ at their end more often than at their start. */
static void cut_literal(struct literal *literal, uint32_t length, const struct gram_counts *counts)
{
    uint64_t lowest = UINT64_MAX;
    size_t best = 0;

    for (size_t at = 0; at + length <= literal->length; at++) {
        uint64_t sum = count_grams(counts, literal->bytes + at, length);

        if (sum > lowest)
            continue;
        lowest = sum;
        best = at;
    }
    literal->bytes += best;
    literal->length = length;
    literal->is_part = true;
}

int literals_trim(struct literal *const *literals, uint32_t count)
{
    struct gram_counts counts;
    int err = gram_counts_make(&counts, literals, count);

    for (uint32_t i = 0; i < count && !err; i++) {
        uint32_t part = literals[i]->is_whole ? PART_LENGTH : LITERAL_STREAM_PART;

        if (!literals[i]->grows && literals[i]->length > part)
            cut_literal(literals[i], part, &counts);
    }
    if (!err)
        gram_counts_clear(&counts);
    return err;
}
