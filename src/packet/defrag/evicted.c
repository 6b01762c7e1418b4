/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evicted datagrams. Receivers may still have a part of such a datagram, so its later fragments are dropped: otherwise
 * an attacker could flood the table with fragments to get a datagram through that was never inspected as a whole.
 * Hashes of evicted datagrams are stored in two Bloom filters of fixed size, for at least one timeout and at most two.
 * If very many datagrams were evicted, fragments of other datagrams match the filters by chance and are dropped, too.
 * So a flood can cause the loss of fragments, but no evasion.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "defrag_priv.h"
#include "sluice/transfer.h"

enum {
    FILTER_SHARE = 16, /* a filter uses at most 1/16 of the memcap */
    HASHES = 3,        /* bits that are set per datagram */
    WORD_BITS = 64,
};

int evicted_new(struct evicted *evicted, size_t memcap)
{
    size_t words = 64;

    while (words * 2 * sizeof(uint64_t) <= memcap / FILTER_SHARE && words < UINT32_MAX / WORD_BITS / 2)
        words *= 2;
    evicted->bit_mask = (uint32_t)(words * WORD_BITS - 1);
    for (unsigned i = 0; i < EVICTED_FILTERS; i++) {
        evicted->filter[i].words = calloc(words, sizeof(uint64_t));
        if (!evicted->filter[i].words)
            return -ENOMEM;
    }
    return 0;
}

void evicted_free(struct evicted *evicted)
{
    for (unsigned i = 0; i < EVICTED_FILTERS; i++)
        free(evicted->filter[i].words);
}

static void clear_filter(const struct evicted *evicted, struct evicted_filter *filter)
{
    if (filter->count > 0)
        memset(filter->words, 0, ((size_t)evicted->bit_mask + 1) / 8);
    filter->count = 0;
}

/* If a timeout has passed since the last rotation, clears the older filter and makes it the current one. */
static void rotate_filters(struct evicted *evicted, uint64_t now_ns, uint64_t timeout_ns)
{
    if (now_ns < evicted->rotated_ns + timeout_ns)
        return;
    if (now_ns >= evicted->rotated_ns + 2 * timeout_ns)
        clear_filter(evicted, &evicted->filter[evicted->current]);
    evicted->current = !evicted->current;
    clear_filter(evicted, &evicted->filter[evicted->current]);
    evicted->rotated_ns = now_ns;
}

static uint32_t bit_of(const struct evicted *evicted, uint64_t hash, unsigned number)
{
    return (uint32_t)(hash + number * (hash >> 32 | 1)) & evicted->bit_mask;
}

void evicted_add(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns)
{
    struct evicted_filter *filter;

    rotate_filters(evicted, now_ns, timeout_ns);
    filter = &evicted->filter[evicted->current];
    filter->count++;
    for (unsigned i = 0; i < HASHES; i++) {
        uint32_t bit = bit_of(evicted, hash, i);

        filter->words[bit / WORD_BITS] |= UINT64_C(1) << bit % WORD_BITS;
    }
}

static bool filter_contains(const struct evicted *evicted, const struct evicted_filter *filter, uint64_t hash)
{
    for (unsigned i = 0; i < HASHES; i++) {
        uint32_t bit = bit_of(evicted, hash, i);

        if (!(filter->words[bit / WORD_BITS] >> bit % WORD_BITS & 1))
            return false;
    }
    return true;
}

bool evicted_contains(struct evicted *evicted, uint64_t hash, uint64_t now_ns, uint64_t timeout_ns)
{
    if (evicted->filter[0].count + evicted->filter[1].count == 0)
        return false;
    rotate_filters(evicted, now_ns, timeout_ns);
    return (evicted->filter[0].count > 0 && filter_contains(evicted, &evicted->filter[0], hash)) ||
           (evicted->filter[1].count > 0 && filter_contains(evicted, &evicted->filter[1], hash));
}

/* --- Transfer to the next engine ------------------------------------------------------------------ */

static void write_filter(struct transfer *t, const struct evicted *evicted, struct evicted_filter *filter)
{
    uint32_t words = (evicted->bit_mask + 1) / WORD_BITS;

    for (uint32_t at = 0; filter->count > 0 && at < words; at++) {
        if (filter->words[at] == 0)
            continue;
        transfer_u32(t, &at);
        transfer_u64(t, &filter->words[at]);
    }
    transfer_u32(t, &words); /* an index behind the last word marks the end of the filter */
}

/* Adds word number `at` of a filter with source_words words to `filter`, which may have another size: a larger filter
 * is folded, a smaller one is repeated. Both cause false positives only, never a missed datagram. */
static void add_word(struct evicted *evicted, struct evicted_filter *filter, uint32_t source_words, uint32_t at,
                     uint64_t word)
{
    uint32_t words = (evicted->bit_mask + 1) / WORD_BITS;

    for (uint32_t i = at % words; i < words; i += source_words < words ? source_words : words)
        filter->words[i] |= word;
}

static void read_filter(struct transfer *t, struct evicted *evicted, struct evicted_filter *filter,
                        uint32_t source_words)
{
    while (!t->error) {
        uint32_t at = 0;
        uint64_t word = 0;

        transfer_u32(t, &at);
        transfer_require(t, at <= source_words);
        if (t->error || at == source_words)
            return;
        transfer_u64(t, &word);
        if (!t->error)
            add_word(evicted, filter, source_words, at, word);
    }
}

void evicted_transfer(struct transfer *t, struct evicted *evicted)
{
    uint32_t mask = evicted->bit_mask, current = evicted->current;
    uint64_t rotated_ns = evicted->rotated_ns, count[EVICTED_FILTERS];

    for (unsigned i = 0; i < EVICTED_FILTERS; i++)
        count[i] = evicted->filter[i].count;
    transfer_u32(t, &mask);
    transfer_u32(t, &current);
    transfer_u64(t, &rotated_ns);
    for (unsigned i = 0; i < EVICTED_FILTERS; i++)
        transfer_u64(t, &count[i]);
    transfer_require(t, current < EVICTED_FILTERS && mask >= WORD_BITS - 1 && (mask & (mask + 1)) == 0 &&
                            mask < UINT32_MAX);
    if (t->reading && !t->error && evicted->filter[0].count + evicted->filter[1].count == 0) {
        evicted->current = current;
        evicted->rotated_ns = rotated_ns;
    }
    for (unsigned i = 0; i < EVICTED_FILTERS && !t->error; i++) {
        /* The current filter of the writer is added to the current one of the reader. */
        struct evicted_filter *filter = &evicted->filter[i ^ current ^ evicted->current];

        if (!t->reading) {
            write_filter(t, evicted, filter);
            continue;
        }
        filter->count += count[i];
        read_filter(t, evicted, filter, (mask + 1) / WORD_BITS);
    }
}
