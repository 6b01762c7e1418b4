/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lookup of literals with a fixed offset (startswith, or a depth equal to the length), which more than half of the
 * rules on raw payload have. Such literals are not searched: at a few offsets, the two bytes of the payload (the key)
 * select a bucket, and the literals in this bucket are compared with the payload. As few offsets as possible are
 * chosen, so that each literal contains a key at one of them.
 *
 * The lookup ignores the case of letters, so caseless literals are in the same buckets.
 *
 * Gain: without this lookup, captures of many protocols take 1.23 times as many instructions (docs/detection.md).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

enum {
    KEY_LENGTH = 2,
    WORD_LENGTH = 8,
    CASE_BIT = 0x20,
    MIN_BITS = 4,
    MAX_BITS = 12,
    BUCKETS_PER_ENTRY = 4,
    /* A bucket has one byte in `marks`, and the hash of a key selects a bit of it. If that bit is 0, no literal of the
     * bucket has the key. Most keys are excluded by this test, for which `marks` fits into the L1 cache. */
    MARKS_PER_BUCKET = 8,
    MARK_SHIFT = 3,
    MAX_EQUAL_KEYS = 6, /* a key that more than this many literals have at an offset is not selective there */
    COUNT_BITS = 12,
};

struct entry {
    uint64_t word,
        mask; /* first bytes of the literal in memory order; `mask` clears case bits and bytes behind the literal */
    struct literal literal;
    uint32_t signature;
    uint32_t place, bucket;             /* offset of its key in the payload; number of its bucket at this offset */
    uint64_t places[LITERAL_NEAR / 64]; /* a bit per offset of the payload: the key there is selective */
};

struct place {
    uint32_t at;    /* offset in the payload */
    uint32_t shift; /* shift from the key's hash to a mark; a bucket has MARKS_PER_BUCKET marks */
    uint32_t first; /* index of the offset's first bucket in `buckets` and of its first byte in `marks` */
};

struct anchored {
    struct entry *entries; /* sorted by place, then bucket, then signature */
    uint32_t entry_count, entry_capacity;
    struct place *places; /* ascending */
    uint32_t place_count;
    uint32_t *buckets; /* per bucket: index of its first entry in `entries`; after the buckets of each place, the end of
                          the last one */
    uint8_t *marks;    /* one byte per bucket */
};

bool anchored_accepts(const struct literal *literal)
{
    return literal->at != LITERAL_ANYWHERE && literal->length >= KEY_LENGTH &&
           literal->at + literal->length <= LITERAL_NEAR;
}

int anchored_new(struct anchored **out)
{
    struct anchored *anchored = calloc(1, sizeof(*anchored));

    if (!anchored)
        return -ENOMEM;
    *out = anchored;
    return 0;
}

void anchored_free(struct anchored *anchored)
{
    if (!anchored)
        return;
    free(anchored->entries);
    free(anchored->places);
    free(anchored->buckets);
    free(anchored->marks);
    free(anchored);
}

int anchored_add(struct anchored *anchored, const struct literal *literal, uint32_t signature)
{
    if (anchored->entry_count == anchored->entry_capacity) {
        uint32_t capacity = anchored->entry_capacity ? anchored->entry_capacity * 2 : 16;
        struct entry *entries = realloc(anchored->entries, capacity * sizeof(*entries));

        if (!entries)
            return -ENOMEM;
        anchored->entries = entries;
        anchored->entry_capacity = capacity;
    }
    struct entry *entry = &anchored->entries[anchored->entry_count++];

    uint8_t word[WORD_LENGTH] = { 0 }, mask[WORD_LENGTH] = { 0 };

    *entry = (struct entry){ .literal = *literal, .signature = signature };
    for (size_t i = 0; i < WORD_LENGTH && i < literal->length; i++) {
        uint8_t lower = literal_fold(literal->bytes[i], literal->nocase);
        bool is_letter = literal->nocase && lower >= 'a' && lower <= 'z';

        mask[i] = is_letter ? (uint8_t)~CASE_BIT : 0xff;
        word[i] = lower & mask[i];
    }
    memcpy(&entry->word, word, sizeof(word));
    memcpy(&entry->mask, mask, sizeof(mask));
    return 0;
}

bool anchored_equal(const struct anchored *a, const struct anchored *b)
{
    if (!a || !b || a->entry_count != b->entry_count)
        return a == b;
    for (uint32_t i = 0; i < a->entry_count;
         i++) { /* literals are not compared, because each signature has one literal only */
        if (a->entries[i].signature != b->entries[i].signature)
            return false;
    }
    return true;
}

/* --- Building ------------------------------------------------------------------------------------- */

static uint32_t mark_of(const uint8_t key[KEY_LENGTH], uint32_t shift)
{
    uint16_t number;

    memcpy(&number, key, sizeof(number));
    return (number & (uint32_t) ~(CASE_BIT * 0x101)) * UINT32_C(0x9e3779b1) >> shift;
}

static const uint8_t *key_of(const struct entry *entry, uint32_t place)
{
    return entry->literal.bytes + (place - entry->literal.at);
}

static bool contains_key_at(const struct entry *entry, uint32_t place)
{
    return place >= entry->literal.at && place + KEY_LENGTH <= entry->literal.at + entry->literal.length;
}

/* Returns whether the key of the literal may be at the offset. If no offset of the literal is selective, it may be at
 * any offset within the literal. */
static bool may_use_place(const struct entry *entry, uint32_t place)
{
    uint64_t any = 0;

    if (!contains_key_at(entry, place))
        return false;
    for (unsigned i = 0; i < LITERAL_NEAR / 64; i++)
        any |= entry->places[i];
    return any == 0 || entry->places[place / 64] >> (place % 64) & 1;
}

/* Assigns an offset to each entry, so that few different offsets are in use: repeatedly chooses the offset that is
 * allowed for most of the remaining entries (greedy set cover). */
static void choose_places(struct anchored *anchored)
{
    struct entry *entries = anchored->entries;

    for (uint32_t place = 0; place < LITERAL_NEAR; place++) {
        uint32_t counts[1 << COUNT_BITS] = { 0 };

        for (uint32_t i = 0; i < anchored->entry_count; i++) {
            if (contains_key_at(&entries[i], place))
                counts[mark_of(key_of(&entries[i], place), 32 - COUNT_BITS)]++;
        }
        for (uint32_t i = 0; i < anchored->entry_count; i++) {
            const uint8_t *key = contains_key_at(&entries[i], place) ? key_of(&entries[i], place) : NULL;

            /* Two equal bytes are often padding, so such a key would cause too many comparisons. */
            if (key && key[0] != key[1] && counts[mark_of(key, 32 - COUNT_BITS)] <= MAX_EQUAL_KEYS)
                entries[i].places[place / 64] |= UINT64_C(1) << (place % 64);
        }
    }
    for (uint32_t done = 0; done < anchored->entry_count;) {
        uint32_t suits[LITERAL_NEAR] = { 0 }, best = 0;

        for (uint32_t i = done; i < anchored->entry_count; i++) {
            for (uint32_t place = 0; place < LITERAL_NEAR; place++)
                suits[place] += may_use_place(&entries[i], place);
        }
        for (uint32_t place = 1; place < LITERAL_NEAR; place++) {
            if (suits[place] > suits[best])
                best = place;
        }
        for (uint32_t i = done; i < anchored->entry_count; i++) {
            struct entry chosen = entries[i];

            if (!may_use_place(&chosen, best))
                continue;
            chosen.place = best;
            entries[i] = entries[done];
            entries[done++] = chosen;
        }
    }
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->bucket != b->bucket)
        return a->bucket < b->bucket ? -1 : 1;
    return a->signature < b->signature ? -1 : a->signature > b->signature;
}

/* Returns the index behind the last entry with the same offset as entry `from`. Sets *bits to the base-2 logarithm of
 * the number of buckets for these entries. */
static uint32_t end_of_place(const struct anchored *anchored, uint32_t from, unsigned *bits)
{
    uint32_t end = from;

    while (end < anchored->entry_count && anchored->entries[end].place == anchored->entries[from].place)
        end++;
    *bits = MIN_BITS;
    while (*bits < MAX_BITS && (UINT32_C(1) << *bits) < (end - from) * BUCKETS_PER_ENTRY)
        ++*bits;
    return end;
}

int anchored_build(struct anchored *anchored)
{
    struct entry *entries = anchored->entries;
    uint32_t place_count = 0, bucket_count = 0, first = 0;
    unsigned bits;

    choose_places(anchored);
    qsort(entries, anchored->entry_count, sizeof(*entries), compare_entries);
    for (uint32_t i = 0; i < anchored->entry_count; place_count++) {
        i = end_of_place(anchored, i, &bits);
        bucket_count += (UINT32_C(1) << bits) + 1;
    }
    anchored->places = calloc(place_count, sizeof(*anchored->places));
    anchored->buckets = calloc(bucket_count, sizeof(*anchored->buckets));
    anchored->marks = calloc(bucket_count, 1);
    if (!anchored->places || !anchored->buckets || !anchored->marks)
        return -ENOMEM;
    for (uint32_t from = 0, end; from < anchored->entry_count; from = end) {
        uint32_t at = from;

        end = end_of_place(anchored, from, &bits);
        const struct place place = { entries[from].place, 32 - bits - MARK_SHIFT, first };

        anchored->places[anchored->place_count++] = place;
        for (uint32_t i = from; i < end; i++) {
            uint32_t mark = mark_of(key_of(&entries[i], place.at), place.shift);

            entries[i].bucket = mark >> MARK_SHIFT;
            anchored->marks[first + entries[i].bucket] |= (uint8_t)(1U << mark % MARKS_PER_BUCKET);
        }
        qsort(entries + from, end - from, sizeof(*entries), compare_entries);
        for (uint32_t bucket = 0; bucket <= UINT32_C(1) << bits; bucket++) {
            while (at < end && entries[at].bucket < bucket)
                at++;
            anchored->buckets[first++] = at;
        }
    }
    return 0;
}

/* --- Lookup --------------------------------------------------------------------------------------- */

void anchored_scan(const struct anchored *anchored, struct detector *detector, const uint8_t *bytes, uint32_t length,
                   uint32_t from)
{
    for (uint32_t i = 0; i < anchored->place_count; i++) {
        const struct place *place = &anchored->places[i];

        if (length < KEY_LENGTH || place->at > length - KEY_LENGTH)
            return;

        uint32_t mark = mark_of(bytes + place->at, place->shift), at = place->first + (mark >> MARK_SHIFT);

        if (!(anchored->marks[at] >> mark % MARKS_PER_BUCKET & 1))
            continue;

        const uint32_t *bucket = &anchored->buckets[at];

        for (uint32_t k = bucket[0]; k < bucket[1]; k++) {
            const struct entry *entry = &anchored->entries[k];
            const struct literal *literal = &entry->literal;
            uint32_t end = (uint32_t)literal->at + (uint32_t)literal->length, rest = length - (uint32_t)literal->at;
            uint64_t word = 0;

            if (end > length || end <= from)
                continue;
            memcpy(&word, bytes + literal->at, rest < WORD_LENGTH ? rest : WORD_LENGTH);
            if ((word & entry->mask) == entry->word && literal_equal(literal, bytes + literal->at))
                candidates_add(&detector->candidates, entry->signature);
        }
    }
}
