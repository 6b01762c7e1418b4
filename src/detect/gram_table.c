/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Four-byte gram table: searches literals in short buffers, such as a method, a host name, most URIs. For these a
 * Hyperscan scan mostly consists of its start-up cost, and its tables have left the processor cache by the next
 * request; a transaction has a dozen such buffers.
 *
 * Each literal is represented by a gram: four of its bytes (two or one of a short literal), those that are rarest
 * among the literals. At each position of the buffer, the hash of the bytes selects a bit of a small map, and, if the
 * bit is set, a bucket whose literals are compared. Grams ignore the case of letters, so caseless literals are in the
 * same table.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gram_counts.h"

enum {
    GRAM_WIDTHS = 3,
    BITS_PER_LITERAL = 32, /* one of this many positions without a gram is a false positive */
    MIN_BITS = 6,
    MAX_BITS = 17,
    BUCKET_SHIFT = 2, /* log2 of the bits that share a bucket */
};

static const uint32_t widths[GRAM_WIDTHS] = { GRAM_LENGTH, 2, 1 };

struct gram_entry {
    uint32_t gram, hash;
    uint32_t literal; /* index of the literal */
    uint32_t at;      /* offset of the gram in the literal */
};

/* The grams of one width. */
struct gram_index {
    uint64_t *bits;  /* bit map, by hash */
    unsigned shift;  /* shift from the product to the hash */
    uint32_t *first; /* per bucket: index of its first entry; one more at the end */
    struct gram_entry *entries;
    uint32_t count;
};

struct gram_table {
    struct gram_index of[GRAM_WIDTHS];
    const struct literal *literals;
};

static inline uint32_t hash_of(uint32_t gram, unsigned shift)
{
    return gram * UINT32_C(0x9e3779b1) >> shift;
}

static inline uint32_t gram_of_two(const uint8_t *bytes)
{
    uint16_t gram;

    memcpy(&gram, bytes, sizeof(gram));
    return gram & UINT32_C(0xdfdf);
}

static inline uint32_t gram_of_one(const uint8_t *bytes)
{
    return *bytes & UINT32_C(0xdf);
}

static uint32_t gram_at(const uint8_t *bytes, uint32_t width)
{
    if (width == GRAM_LENGTH)
        return gram_of(bytes);
    return width == 2 ? gram_of_two(bytes) : gram_of_one(bytes);
}

/* --- Building ------------------------------------------------------------------------------------- */

static unsigned width_of(const struct literal *literal)
{
    unsigned i = 0;

    while (widths[i] > literal->length)
        i++;
    return i;
}

static struct gram_entry choose_gram(const struct literal *literal, uint32_t index, const struct gram_counts *counts)
{
    uint32_t width = widths[width_of(literal)];
    struct gram_entry best = { .literal = index, .gram = gram_at(literal->bytes, width) };
    uint64_t lowest = UINT64_MAX;

    for (uint32_t at = 0; width == GRAM_LENGTH && at + width <= literal->length; at++) {
        uint64_t count = gram_counts_get(counts, literal->bytes + at);

        if (count >= lowest)
            continue;
        lowest = count;
        best.gram = gram_of(literal->bytes + at);
        best.at = at;
    }
    return best;
}

static int compare_hashes(const void *left, const void *right)
{
    const struct gram_entry *a = left, *b = right;

    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->literal < b->literal ? -1 : a->literal > b->literal;
}

static void fill_buckets(struct gram_index *index, uint32_t buckets)
{
    uint32_t at = 0;

    for (uint32_t bucket = 0; bucket <= buckets; bucket++) {
        while (at < index->count && index->entries[at].hash >> BUCKET_SHIFT < bucket)
            at++;
        index->first[bucket] = at;
    }
}

static unsigned bits_for(uint32_t count)
{
    unsigned bits = MIN_BITS;

    while (bits < MAX_BITS && (UINT64_C(1) << bits) < (uint64_t)count * BITS_PER_LITERAL)
        bits++;
    return bits;
}

static int index_build(struct gram_index *index)
{
    unsigned bits = bits_for(index->count);
    uint32_t buckets = UINT32_C(1) << (bits - BUCKET_SHIFT);

    index->shift = 32 - bits;
    index->bits = calloc((UINT64_C(1) << bits) / 64, sizeof(*index->bits));
    index->first = calloc(buckets + 1, sizeof(*index->first));
    if (!index->bits || !index->first)
        return -ENOMEM;
    for (uint32_t i = 0; i < index->count; i++) {
        uint32_t hash = hash_of(index->entries[i].gram, index->shift);

        index->entries[i].hash = hash;
        index->bits[hash / 64] |= UINT64_C(1) << (hash % 64);
    }
    qsort(index->entries, index->count, sizeof(*index->entries), compare_hashes);
    fill_buckets(index, buckets);
    return 0;
}

static int add_entries(struct gram_table *table, uint32_t count, const struct gram_counts *counts)
{
    uint32_t width_counts[GRAM_WIDTHS] = { 0 };

    for (uint32_t i = 0; i < count; i++)
        width_counts[width_of(&table->literals[i])]++;
    for (unsigned i = 0; i < GRAM_WIDTHS; i++) {
        table->of[i].entries = calloc(width_counts[i] + 1, sizeof(*table->of[i].entries));
        if (!table->of[i].entries)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct gram_index *index = &table->of[width_of(&table->literals[i])];

        index->entries[index->count++] = choose_gram(&table->literals[i], i, counts);
    }
    return 0;
}

int gram_table_new(struct gram_table **out, struct literal *const *literals, uint32_t count,
                   const struct literal *patterns, uint32_t pattern_count)
{
    struct gram_table *table = calloc(1, sizeof(*table));
    struct gram_counts counts = { NULL, 0 };
    int err = table ? gram_counts_make(&counts, literals, count) : -ENOMEM;

    if (!err) {
        table->literals = patterns;
        err = add_entries(table, pattern_count, &counts);
    }
    for (unsigned i = 0; i < GRAM_WIDTHS && !err; i++) {
        if (table->of[i].count > 0)
            err = index_build(&table->of[i]);
    }
    gram_counts_clear(&counts);
    if (err) {
        gram_table_free(table);
        return err;
    }
    *out = table;
    return 0;
}

void gram_table_free(struct gram_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < GRAM_WIDTHS; i++) {
        free(table->of[i].bits);
        free(table->of[i].first);
        free(table->of[i].entries);
    }
    free(table);
}

/* --- Search --------------------------------------------------------------------------------------- */

struct search {
    const struct literal *literals;
    const uint8_t *bytes;
    uint32_t length;
    pattern_found *found;
    void *user;
};

/* Returns the end of the literal whose gram is at the position; 0: no match. */
static uint32_t match_end(const struct search *search, const struct gram_entry *entry, uint32_t place)
{
    const struct literal *literal = &search->literals[entry->literal];
    uint32_t start = place - entry->at;

    if (entry->at > place || literal->length > search->length - start || !literal_equal(literal, search->bytes + start))
        return 0;
    return start + (uint32_t)literal->length;
}

static void search_bucket(const struct search *search, const struct gram_index *index, uint32_t gram, uint32_t place)
{
    const uint32_t *bucket = &index->first[hash_of(gram, index->shift) >> BUCKET_SHIFT];

    for (uint32_t i = bucket[0]; i < bucket[1]; i++) {
        uint32_t end = index->entries[i].gram == gram ? match_end(search, &index->entries[i], place) : 0;

        if (end > 0)
            search->found(search->user, index->entries[i].literal, end);
    }
}

/* Collects the positions whose bytes may be a gram, without a branch, because these are unpredictable. Expanded for
 * each width. */
#define COLLECT_PLACES(index, width, gram_of_width)                                                                    \
    for (uint32_t place = from; place + (width) <= length; place++) {                                                  \
        uint32_t hash = hash_of(gram_of_width(bytes + place), (index)->shift);                                         \
                                                                                                                       \
        places[count] = (uint8_t)place;                                                                                \
        count += (index)->bits[hash / 64] >> (hash % 64) & 1;                                                          \
    }

static uint32_t collect_places(const struct gram_index *index, unsigned width, const uint8_t *bytes, uint32_t from,
                               uint32_t length, uint8_t places[GRAM_TABLE_LENGTH])
{
    uint32_t count = 0;

    if (width == GRAM_LENGTH)
        COLLECT_PLACES(index, GRAM_LENGTH, gram_of)
    else if (width == 2)
        COLLECT_PLACES(index, 2, gram_of_two)
    else
        COLLECT_PLACES(index, 1, gram_of_one)
    return count;
}

static void search_index(const struct search *search, const struct gram_index *index, unsigned width, uint32_t from,
                         uint32_t length)
{
    uint8_t places[GRAM_TABLE_LENGTH];
    uint32_t count = index->count > 0 ? collect_places(index, width, search->bytes, from, length, places) : 0;

    for (uint32_t k = 0; k < count; k++)
        search_bucket(search, index, gram_at(search->bytes + places[k], width), places[k]);
}

void gram_table_search(const struct gram_table *table, const uint8_t *bytes, uint32_t length, pattern_found *found,
                       void *user)
{
    const struct search search = { table->literals, bytes, length, found, user };

    for (unsigned i = 0; i < GRAM_WIDTHS; i++)
        search_index(&search, &table->of[i], widths[i], 0, length);
}

/* The first two bytes of a literal of two or three bytes are its gram, so its position is known; one byte cannot cross
 * the border. */
void gram_table_search_border(const struct gram_table *table, const uint8_t *bytes, uint32_t length, uint32_t border,
                              pattern_found *found, void *user)
{
    const struct search search = { table->literals, bytes, length, found, user };
    uint32_t from = border > 2 ? border - 2 : 0, to = border + 1 < length ? border + 1 : length;

    search_index(&search, &table->of[0], widths[0], 0, length);
    search_index(&search, &table->of[1], widths[1], from, to);
}
