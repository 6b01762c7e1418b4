/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frequency estimate of four-byte sequences ("grams") in traffic: sequences that are part of many rules ("HTTP/1.1",
 * ".com") are frequent in traffic, too, and the common values of a buffer (struct keyword.common) even more so.
 * Counted by hash, so a collision may make a count too high.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gram_counts.h"

enum {
    MIN_BITS = 8,
    MAX_BITS = 18,
    COMMON_WEIGHT = 1 << 16, /* weight of a common value, in literals */
};

static uint32_t hash_at(const struct gram_counts *counts, const uint8_t *bytes)
{
    return gram_of(bytes) * UINT32_C(0x9e3779b1) >> counts->shift;
}

static void count_literal(struct gram_counts *counts, const struct literal *literal)
{
    for (size_t at = 0; at + GRAM_LENGTH <= literal->length; at++)
        counts->of[hash_at(counts, literal->bytes + at)]++;
}

static void count_common_value(struct gram_counts *counts, const char *text)
{
    const uint8_t *bytes = (const uint8_t *)text;
    size_t length = strlen(text);

    for (size_t at = 0; at + GRAM_LENGTH <= length; at++) {
        uint32_t *count = &counts->of[hash_at(counts, bytes + at)];

        *count += *count < COMMON_WEIGHT ? COMMON_WEIGHT : 0;
    }
}

static const char *const *common_of(const struct literal *literal)
{
    return literal->buffer ? literal->buffer->common : NULL;
}

/* Whether the literal's common values are not counted yet; equal lists are mostly adjacent. */
static bool is_first_of_list(struct literal *const *literals, uint32_t i)
{
    return common_of(literals[i]) && (i == 0 || common_of(literals[i - 1]) != common_of(literals[i]));
}

static size_t length_of_list(const char *const *texts)
{
    size_t length = 0;

    for (; *texts; texts++)
        length += strlen(*texts);
    return length;
}

int gram_counts_make(struct gram_counts *counts, struct literal *const *literals, uint32_t count)
{
    unsigned bits = MIN_BITS;
    uint64_t total = 0;

    for (uint32_t i = 0; i < count; i++)
        total += literals[i]->length + (is_first_of_list(literals, i) ? length_of_list(common_of(literals[i])) : 0);
    while (bits < MAX_BITS && (UINT64_C(1) << bits) < total * 2)
        bits++;
    counts->shift = 32 - bits;
    counts->of = calloc(UINT64_C(1) << bits, sizeof(*counts->of));
    if (!counts->of)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        count_literal(counts, literals[i]);
        for (const char *const *text = is_first_of_list(literals, i) ? common_of(literals[i]) : NULL; text && *text;
             text++)
            count_common_value(counts, *text);
    }
    return 0;
}

void gram_counts_clear(struct gram_counts *counts)
{
    free(counts->of);
    counts->of = NULL;
}

/* Whether all bytes are equal: padding, which is frequent in any traffic. */
static bool is_padding(const uint8_t *bytes)
{
    return memcmp(bytes, bytes + 1, GRAM_LENGTH - 1) == 0;
}

uint64_t gram_counts_get(const struct gram_counts *counts, const uint8_t *bytes)
{
    return is_padding(bytes) ? UINT32_MAX : counts->of[hash_at(counts, bytes)];
}
