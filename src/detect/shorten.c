/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shorter literals for the same rules. What a literal is looked for in is there as a whole, or not at all, so any part
 * of it that is found says that the rule is to be asked: a part is chosen that is found fast and seldom.
 *
 * Hyperscan matches eight bytes at once, and has to look again for the rest of a longer literal: those that end alike
 * ("HTTP/1.1") all at each place where that is. Of each the eight bytes are kept that the fewest others have.
 *
 * In a stream twice as much is kept: there a part may be found in one segment, and the rule has to wait for the rest
 * with the next (struct check.may_wait). It is not longer than what is searched at once where two segments meet
 * (matcher.c).
 */
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "gram_counts.h"

enum {
    PART_LENGTH = 8,
    SHARED_LENGTH = 6,
    SHARED_BYTES = 4,
    SHARED_MAX = 256, /* literals are compared each with each */
};

/* --- Literals that contain others ----------------------------------------------------------------- */

/* Long enough, and of enough different bytes, to be rare. */
static bool is_telling(const struct literal *literal)
{
    unsigned different = 0;

    for (size_t i = 0; i < literal->length; i++)
        different += !memchr(literal->bytes, literal->bytes[i], i);
    return literal->length >= SHARED_LENGTH && different >= SHARED_BYTES;
}

static bool contains(const struct literal *outer, const struct literal *inner)
{
    if (inner->length >= outer->length || (outer->nocase && !inner->nocase))
        return false;
    for (size_t i = 0; i <= outer->length - inner->length; i++) {
        if (literal_equal(inner, outer->bytes + i))
            return true;
    }
    return false;
}

/*
 * Where a literal occurs, all occur that it contains: a rule may just as well be found by one of these, when another
 * rule is found by it anyway. Rulesets have many rules for variants of one thing, and fewer patterns are found faster.
 * In a stream the shorter one may have been seen with an earlier segment.
 */
static void share(struct literal *const *literals, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct literal *shortest = literals[i];

        for (uint32_t k = 0; k < count && literals[i]->may_share; k++) {
            const struct literal *other = literals[k];

            if (other->length < shortest->length && is_telling(other) && contains(literals[i], other))
                shortest = other;
        }
        literals[i]->bytes = shortest->bytes;
        literals[i]->length = shortest->length;
        literals[i]->nocase = shortest->nocase;
    }
}

/* --- Parts ---------------------------------------------------------------------------------------- */

static uint64_t commonness(const struct gram_counts *counts, const uint8_t *part, uint32_t length)
{
    uint64_t sum = 0;

    for (unsigned at = 0; at + GRAM_LENGTH <= length; at++)
        sum += gram_counts_get(counts, part + at);
    return sum;
}

/* Of equals the last: words end in what tells them apart more often than they begin with it. */
static void cut(struct literal *literal, uint32_t length, const struct gram_counts *counts)
{
    uint64_t lowest = UINT64_MAX;
    size_t best = 0;

    for (size_t at = 0; at + length <= literal->length; at++) {
        uint64_t sum = commonness(counts, literal->bytes + at, length);

        if (sum > lowest)
            continue;
        lowest = sum;
        best = at;
    }
    literal->bytes += best;
    literal->length = length;
    literal->is_part = true;
}

int literals_shorten(struct literal *const *literals, uint32_t count)
{
    struct gram_counts counts;
    int err = 0;

    if (count <= SHARED_MAX)
        share(literals, count);
    err = gram_counts_make(&counts, literals, count);
    for (uint32_t i = 0; i < count && !err; i++) {
        uint32_t part = literals[i]->is_whole ? PART_LENGTH : LITERAL_STREAM_PART;

        if (!literals[i]->grows && literals[i]->length > part)
            cut(literals[i], part, &counts);
    }
    if (!err)
        gram_counts_clear(&counts);
    return err;
}
