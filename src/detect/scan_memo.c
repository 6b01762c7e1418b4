/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found in short buffers the last time. A client sends the same User-Agent, Host and Accept with each of its requests, in the same
 * order, and a server the same line and type with each answer: comparing such a buffer with what it was costs a tenth of a scan, which would
 * find the same again.
 *
 * A table of pairs of places by hash; what comes to lie there takes the place of the one that was not used last. All bytes are compared, so
 * nobody can have one buffer taken for another; whoever sees to it that nothing is ever found pays the hash and a copy with each scan.
 *
 * Threads: a detector's own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

enum {
    PAIRS_BITS = 7,
    CHECKS = 12, /* of a buffer in which more are found nothing is kept */
};

struct scan_memo_place {
    const struct scan_memo_owner *owner; /* NULL: nothing is kept */
    uint64_t gist;
    uint32_t length, count;
    uint32_t checks[CHECKS];
    uint8_t bytes[SCAN_MEMO_LENGTH];
};

struct scan_memo_pair {
    struct scan_memo_place places[2];
    unsigned older;
};

struct scan_memo {
    struct scan_memo_place *open; /* what is being scanned */
    struct scan_memo_pair pairs[1U << PAIRS_BITS];
};

int scan_memo_new(struct scan_memo **out)
{
    *out = calloc(1, sizeof(**out));
    return *out ? 0 : -ENOMEM;
}

void scan_memo_free(struct scan_memo *memo)
{
    free(memo);
}

void scan_memo_clear(struct scan_memo *memo)
{
    memo->open = NULL;
    for (size_t i = 0; i < sizeof(memo->pairs) / sizeof(memo->pairs[0]); i++)
        memo->pairs[i].places[0].owner = memo->pairs[i].places[1].owner = NULL;
}

static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static uint64_t load_half(const uint8_t *bytes)
{
    uint32_t half;

    memcpy(&half, bytes, sizeof(half));
    return half;
}

/* Begin, middle and end: they tell most buffers of one kind apart, and that others take each other's place does no harm. Of those that are
 * shorter than a word it is all that there is. */
static uint64_t gist_of(const uint8_t *bytes, uint32_t length)
{
    if (length >= sizeof(uint64_t))
        return load_word(bytes) + 3 * load_word(bytes + (length - sizeof(uint64_t)) / 2) +
               5 * load_word(bytes + length - sizeof(uint64_t));
    if (length >= sizeof(uint32_t))
        return load_half(bytes) << 32 | load_half(bytes + length - sizeof(uint32_t));
    return length > 0 ? (uint64_t)bytes[0] << 16 | (uint64_t)bytes[length / 2] << 8 | bytes[length - 1] : 0;
}

static struct scan_memo_pair *pair_of(struct scan_memo *memo, const struct scan_memo_owner *owner, uint64_t gist,
                                      uint32_t length)
{
    uint64_t key = gist ^ ((uint64_t)owner->salt << 16 | length) * UINT64_C(0xff51afd7ed558ccd);

    key ^= key >> 32;
    return &memo->pairs[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - PAIRS_BITS)];
}

static bool is_of(const struct scan_memo_place *place, const struct scan_memo_owner *owner, uint64_t gist,
                  const uint8_t *bytes, uint32_t length)
{
    return place->owner == owner && place->gist == gist && place->length == length &&
           (length < sizeof(gist) || memcmp(place->bytes, bytes, length) == 0);
}

static void open_place(struct detector *detector, struct scan_memo_place *place, const struct scan_memo_owner *owner,
                       uint64_t gist, const uint8_t *bytes, uint32_t length)
{
    place->owner = owner;
    place->gist = gist;
    place->length = length;
    place->count = 0;
    memcpy(place->bytes, bytes, length);
    detector->memo->open = place;
    detector->is_noting = true;
}

/* The place that was not used last, now it is: it has the buffer, or will have. */
static __attribute__((noinline)) struct scan_memo_place *
turn_to_older(struct detector *detector, struct scan_memo_pair *pair, const struct scan_memo_owner *owner,
              uint64_t gist, const uint8_t *bytes, uint32_t length)
{
    struct scan_memo_place *place = &pair->places[pair->older];

    pair->older = !pair->older;
    if (is_of(place, owner, gist, bytes, length))
        return place;
    open_place(detector, place, owner, gist, bytes, length);
    return NULL;
}

bool scan_memo_recall(struct detector *detector, const struct scan_memo_owner *owner, const uint8_t *bytes,
                      uint32_t length)
{
    uint64_t gist = gist_of(bytes, length);
    struct scan_memo_pair *pair = pair_of(detector->memo, owner, gist, length);
    const struct scan_memo_place *place = &pair->places[!pair->older];

    if (!is_of(place, owner, gist, bytes, length))
        place = turn_to_older(detector, pair, owner, gist, bytes, length);
    if (!place)
        return false;
    for (uint32_t i = 0; i < place->count; i++)
        detector_add_candidate(detector, place->checks[i]);
    detector->counters.scans_recalled++;
    return true;
}

void scan_memo_note(struct detector *detector, uint32_t check)
{
    struct scan_memo_place *place = detector->memo->open;

    if (place->count < CHECKS)
        place->checks[place->count] = check;
    place->count++;
}

void scan_memo_keep(struct detector *detector)
{
    struct scan_memo_place *place = detector->memo->open;

    if (place->count > CHECKS)
        place->owner = NULL;
    detector->memo->open = NULL;
    detector->is_noting = false;
}
