/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One Hyperscan database over the literals of many rules. Equal literals are one pattern with a list of checks. The
 * literal API is used: bytes are taken as they are, and Hyperscan knows that it needs nothing but its literal matchers.
 *
 * A pattern reports at most once per scan (HS_FLAG_SINGLEMATCH): whether it occurs is all that is asked.
 */
#include <errno.h>
#include <hs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

struct entry {
    struct literal literal;
    uint32_t check;
};

struct prefilter {
    struct entry *entries; /* while collecting */
    uint32_t entry_count, entry_capacity;

    hs_database_t *database;
    uint32_t *first; /* per pattern: where its checks begin in `checks`; one more at the end */
    uint32_t *checks;
    uint32_t pattern_count;
    size_t shortest, longest;
    struct literal *literals; /* by pattern; their bytes are the rules' */
};

int prefilter_new(struct prefilter **out)
{
    struct prefilter *prefilter = calloc(1, sizeof(*prefilter));

    if (!prefilter)
        return -ENOMEM;
    *out = prefilter;
    return 0;
}

void prefilter_free(struct prefilter *prefilter)
{
    if (!prefilter)
        return;
    if (prefilter->database)
        hs_free_database(prefilter->database);
    free(prefilter->entries);
    free(prefilter->first);
    free(prefilter->checks);
    free(prefilter->literals);
    free(prefilter);
}

int prefilter_add(struct prefilter *prefilter, const struct literal *literal, uint32_t check)
{
    if (prefilter->entry_count == prefilter->entry_capacity) {
        uint32_t capacity = prefilter->entry_capacity ? prefilter->entry_capacity * 2 : 256;
        struct entry *entries = realloc(prefilter->entries, capacity * sizeof(*entries));

        if (!entries)
            return -ENOMEM;
        prefilter->entries = entries;
        prefilter->entry_capacity = capacity;
    }
    prefilter->entries[prefilter->entry_count++] = (struct entry){ *literal, check };
    return 0;
}

bool prefilter_equal(const struct prefilter *a, const struct prefilter *b)
{
    if (!a || !b || a->entry_count != b->entry_count)
        return a == b;
    for (uint32_t i = 0; i < a->entry_count; i++) { /* a check has one literal */
        if (a->entries[i].check != b->entries[i].check)
            return false;
    }
    return true;
}

/* ASCII only: Hyperscan's caseless literals fold no other letters. */
static uint8_t fold(uint8_t byte, bool nocase)
{
    return nocase && byte >= 'A' && byte <= 'Z' ? byte + ('a' - 'A') : byte;
}

static int compare_literals(const struct literal *a, const struct literal *b)
{
    if (a->nocase != b->nocase)
        return a->nocase ? 1 : -1;
    if (a->length != b->length)
        return a->length < b->length ? -1 : 1;
    for (size_t i = 0; i < a->length; i++) {
        uint8_t left = fold(a->bytes[i], a->nocase), right = fold(b->bytes[i], b->nocase);

        if (left != right)
            return left < right ? -1 : 1;
    }
    return 0;
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = compare_literals(&a->literal, &b->literal);

    if (order != 0)
        return order;
    return a->check < b->check ? -1 : a->check > b->check;
}

struct pattern_arrays {
    const char **bytes;
    unsigned *flags, *ids;
    size_t *lengths;
};

static int compile_patterns(struct prefilter *prefilter, const struct pattern_arrays *patterns, char error[256])
{
    hs_compile_error_t *cause = NULL;
    hs_error_t result =
        hs_compile_lit_multi(patterns->bytes, patterns->flags, patterns->ids, patterns->lengths,
                             prefilter->pattern_count, HS_MODE_BLOCK, NULL, &prefilter->database, &cause);

    if (result == HS_SUCCESS)
        return 0;
    snprintf(error, 256, "the pattern matcher refused the rules' literals: %s",
             cause && cause->message ? cause->message : "out of memory");
    hs_free_compile_error(cause);
    return result == HS_NOMEM ? -ENOMEM : -EINVAL;
}

/* Sorts the entries, gives each distinct literal an id and lists its checks. */
static void number_patterns(struct prefilter *prefilter, struct pattern_arrays *patterns)
{
    uint32_t count = 0;

    qsort(prefilter->entries, prefilter->entry_count, sizeof(*prefilter->entries), compare_entries);
    prefilter->shortest = SIZE_MAX;
    for (uint32_t i = 0; i < prefilter->entry_count; i++) {
        const struct literal *literal = &prefilter->entries[i].literal;

        prefilter->checks[i] = prefilter->entries[i].check;
        if (i > 0 && compare_literals(&prefilter->entries[i - 1].literal, literal) == 0)
            continue;
        patterns->bytes[count] = (const char *)literal->bytes;
        patterns->lengths[count] = literal->length;
        patterns->flags[count] = HS_FLAG_SINGLEMATCH | (literal->nocase ? HS_FLAG_CASELESS : 0);
        patterns->ids[count] = count;
        prefilter->literals[count] = *literal;
        prefilter->first[count++] = i;
        if (literal->length > prefilter->longest)
            prefilter->longest = literal->length;
        if (literal->length < prefilter->shortest)
            prefilter->shortest = literal->length;
    }
    prefilter->first[count] = prefilter->entry_count;
    prefilter->pattern_count = count;
}

int prefilter_compile(struct prefilter *prefilter, char error[256])
{
    size_t count = prefilter->entry_count;
    struct pattern_arrays patterns = {
        .bytes = calloc(count + 1, sizeof(*patterns.bytes)),
        .flags = calloc(count + 1, sizeof(*patterns.flags)),
        .ids = calloc(count + 1, sizeof(*patterns.ids)),
        .lengths = calloc(count + 1, sizeof(*patterns.lengths)),
    };
    int err = -ENOMEM;

    prefilter->first = calloc(count + 1, sizeof(*prefilter->first));
    prefilter->checks = calloc(count + 1, sizeof(*prefilter->checks));
    prefilter->literals = calloc(count + 1, sizeof(*prefilter->literals));
    if (patterns.bytes && patterns.flags && patterns.ids && patterns.lengths && prefilter->first && prefilter->checks &&
        prefilter->literals) {
        number_patterns(prefilter, &patterns);
        err = compile_patterns(prefilter, &patterns, error);
    }
    if (err == -ENOMEM)
        snprintf(error, 256, "out of memory for the pattern matcher");
    free(patterns.bytes);
    free(patterns.flags);
    free(patterns.ids);
    free(patterns.lengths);
    free(prefilter->entries);
    prefilter->entries = NULL;
    return err;
}

int prefilter_grow_scratch(const struct prefilter *prefilter, struct hs_scratch **scratch)
{
    if (!prefilter)
        return 0;
    return hs_alloc_scratch(prefilter->database, scratch) == HS_SUCCESS ? 0 : -ENOMEM;
}

struct scan {
    const struct prefilter *prefilter;
    struct detector *detector;
    const uint8_t *bytes; /* of a border */
    uint32_t border;      /* where its new bytes begin */
    uint32_t length;
};

static void add_checks(const struct scan *scan, unsigned id)
{
    const struct prefilter *prefilter = scan->prefilter;

    for (uint32_t i = prefilter->first[id]; i < prefilter->first[id + 1]; i++)
        detector_add_candidate(scan->detector, prefilter->checks[i]);
}

static int on_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *user)
{
    (void)from;
    (void)to;
    (void)flags;
    add_checks(user, id);
    return 0;
}

void prefilter_scan(const struct prefilter *prefilter, struct detector *detector, const uint8_t *bytes, uint32_t length)
{
    struct scan scan = { .prefilter = prefilter, .detector = detector };

    if (length < prefilter->shortest)
        return;
    detector->counters.packets_scanned++;
    detector->counters.bytes_scanned += length;
    hs_scan(prefilter->database, (const char *)bytes, length, 0, detector->scratch, on_match, &scan);
}

static bool equal(const struct literal *literal, const uint8_t *bytes)
{
    for (size_t i = 0; i < literal->length; i++) {
        if (fold(literal->bytes[i], literal->nocase) != fold(bytes[i], literal->nocase))
            return false;
    }
    return true;
}

/* The pattern is reported once, at its first place. When that lies wholly before the border, one across it is looked for. */
static int on_border_match(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *user)
{
    const struct scan *scan = user;
    const struct literal *literal = &scan->prefilter->literals[id];

    (void)from;
    (void)flags;
    if (to > scan->border) {
        add_checks(scan, id);
        return 0;
    }
    for (uint64_t end = (uint64_t)scan->border + 1; end <= scan->length && end < scan->border + literal->length;
         end++) {
        if (end >= literal->length && equal(literal, scan->bytes + end - literal->length)) {
            add_checks(scan, id);
            return 0;
        }
    }
    return 0;
}

void prefilter_scan_border(const struct prefilter *prefilter, struct detector *detector, const uint8_t *before,
                           uint32_t before_length, const uint8_t *bytes, uint32_t length)
{
    uint32_t reach = prefilter->longest > 0 ? (uint32_t)prefilter->longest - 1 : 0;
    uint32_t old = before_length < reach ? before_length : reach;
    uint32_t new = length < reach ? length : reach;
    uint8_t border[2 * LITERAL_MAX];
    struct scan scan = { prefilter, detector, border, old, old + new };

    if (old == 0 || new == 0 || old + new < prefilter->shortest)
        return;
    memcpy(border, before + before_length - old, old);
    memcpy(border + old, bytes, new);
    hs_scan(prefilter->database, (const char *)border, old + new, 0, detector->scratch, on_border_match, &scan);
}
