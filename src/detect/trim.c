/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pattern trimming: replaces long literals by a part of them. If a buffer is complete when it is scanned, any part of
 * the literal finds the rule, so a part is chosen that can be searched fast and is rare.
 *
 * Hyperscan matches eight bytes at once and has to confirm the rest of a longer literal: all literals with the same end
 * ("HTTP/1.1") are confirmed at each occurrence of this end. Therefore only the eight bytes of a long literal that are
 * presumably the rarest in traffic are searched. Their frequency is estimated by their four-byte sequences. A sequence
 * that many literals contain is frequent in traffic, too. A sequence in a common value of a buffer (struct
 * prefilter_hints.common) is even more frequent.
 *
 * For a stream or a growing buffer, the part has 16 bytes (LITERAL_STREAM_PART): when a part is found whose literal may
 * continue in the next segment, the rule becomes pending (struct signature.may_span_segments) or waits with its
 * transaction, so parts must be rare.
 *
 * Gain (docs/detection.md): without pattern trimming, HTTP traffic (W6) takes 1.07 times as many instructions. Without
 * common values in the estimate, it also takes 1.07 times as many. If the literals of growing buffers are not trimmed,
 * Hyperscan takes 1.11 times as many.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

enum {
    PART_LENGTH = 8,
    SEQUENCE_LENGTH = 4,
    MIN_BITS = 8,
    MAX_BITS = 18,
    COMMON_WEIGHT = 1 << 16, /* a common value counts as much as this many literals */
};

/* Number of occurrences of four-byte sequences, by their hash; collisions may make it too high. */
struct sequence_counts {
    uint32_t *of;
    unsigned shift;
};

/* Returns the counter of the four bytes; the case of letters is ignored. */
static uint32_t *count_of(const struct sequence_counts *counts, const uint8_t *bytes)
{
    uint32_t sequence;

    memcpy(&sequence, bytes, sizeof(sequence));
    return &counts->of[(sequence & UINT32_C(0xdfdfdfdf)) * UINT32_C(0x9e3779b1) >> counts->shift];
}

static const char *const *common_values(const struct literal *literal)
{
    return literal->buffer && literal->buffer->hints ? literal->buffer->hints->common : NULL;
}

/* Returns the common values of the literal's buffer; an empty list if there are none, or if the previous literal is of
 * the same buffer. Literals of one buffer are mostly adjacent, so few values are counted twice. */
static const char *const *new_common_values(struct literal *const *literals, uint32_t i)
{
    static const char *const none[] = { NULL };
    const char *const *common = common_values(literals[i]);

    return common && (i == 0 || common_values(literals[i - 1]) != common) ? common : none;
}

static int count_sequences(struct sequence_counts *counts, struct literal *const *literals, uint32_t count)
{
    unsigned bits = MIN_BITS;
    uint64_t total = 0;

    for (uint32_t i = 0; i < count; i++) {
        total += literals[i]->length;
        for (const char *const *text = new_common_values(literals, i); *text; text++)
            total += strlen(*text);
    }
    while (bits < MAX_BITS && (UINT64_C(1) << bits) < total * 2)
        bits++;
    counts->shift = 32 - bits;
    counts->of = calloc(UINT64_C(1) << bits, sizeof(*counts->of));
    if (!counts->of)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        for (size_t at = 0; at + SEQUENCE_LENGTH <= literals[i]->length; at++)
            ++*count_of(counts, literals[i]->bytes + at);
        for (const char *const *text = new_common_values(literals, i); *text; text++) {
            size_t length = strlen(*text);

            for (size_t at = 0; at + SEQUENCE_LENGTH <= length; at++) {
                uint32_t *common = count_of(counts, (const uint8_t *)*text + at);

                *common += *common < COMMON_WEIGHT ? COMMON_WEIGHT : 0;
            }
        }
    }
    return 0;
}

int literals_trim(struct literal *const *literals, uint32_t count)
{
    struct sequence_counts counts;
    int err = count_sequences(&counts, literals, count);

    if (err)
        return err;
    for (uint32_t i = 0; i < count; i++) {
        struct literal *literal = literals[i];
        uint32_t length = literal->is_whole ? PART_LENGTH : LITERAL_STREAM_PART;
        uint64_t lowest = UINT64_MAX;
        size_t best = 0;

        if (literal->length <= length)
            continue;
        /* Keep the rarest part; of equally rare ones the last, because words differ at their end more often than at
         * their start. */
        for (size_t start = 0; start + length <= literal->length; start++) {
            uint64_t sum = 0;

            for (size_t at = start; at + SEQUENCE_LENGTH <= start + length; at++) {
                const uint8_t *bytes = literal->bytes + at;
                bool is_padding = memcmp(bytes, bytes + 1, SEQUENCE_LENGTH - 1) == 0; /* frequent in any traffic */

                sum += is_padding ? UINT32_MAX : *count_of(&counts, bytes);
            }
            if (sum > lowest)
                continue;
            lowest = sum;
            best = start;
        }
        literal->bytes += best;
        literal->length = length;
        literal->is_part = true;
    }
    free(counts.of);
    return 0;
}
