/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was found in buffers the last time. A client sends the same User-Agent, Host and Accept with each of its
 * requests, in the same order, and a server the same line and type with each answer: comparing such a buffer with what
 * it was costs a tenth of a scan, which would find the same again. Pages, pictures and scripts come again, too, as
 * everybody asks for the same ones.
 *
 * A table of pairs of places by hash; what comes to lie there takes the place of the one that was not used last. All
 * bytes are compared, so nobody can have one buffer taken for another; whoever sees to it that nothing is ever found
 * pays the hash and a copy with each scan.
 *
 * Long buffers have a table of their own, and mostly do not come again: one is copied when another with the same gist
 * was seen before, so that what comes once costs no more than the gist.
 *
 * Threads: a detector's own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

enum {
    SHORT_LENGTH = 256,
    SHORT_BITS = 7, /* of the number of pairs */
    LONG_BITS = 4,
    SEEN_BITS = 9,
    CHECKS = 12, /* of a buffer in which more are found nothing is kept */
};

struct scan_memo_place {
    const struct scan_memo_owner *owner; /* NULL: nothing is kept */
    uint64_t gist;
    uint32_t length, count;
    uint32_t checks[CHECKS];
    uint8_t *bytes; /* room for the longest of its table */
};

struct scan_memo_pair {
    struct scan_memo_place places[2];
    unsigned older;
};

struct scan_memo {
    struct scan_memo_place *open;   /* what is being scanned; NULL: nothing is put down */
    uint32_t seen[1U << SEEN_BITS]; /* parts of the keys of long buffers, the last of each kind */
    struct scan_memo_pair short_pairs[1U << SHORT_BITS], long_pairs[1U << LONG_BITS];
    uint8_t short_bytes[2U << SHORT_BITS][SHORT_LENGTH], long_bytes[2U << LONG_BITS][SCAN_MEMO_LENGTH];
};

int scan_memo_new(struct scan_memo **out)
{
    struct scan_memo *memo = calloc(1, sizeof(*memo));

    if (!memo)
        return -ENOMEM;
    for (size_t i = 0; i < 2U << SHORT_BITS; i++)
        memo->short_pairs[i / 2].places[i % 2].bytes = memo->short_bytes[i];
    for (size_t i = 0; i < 2U << LONG_BITS; i++)
        memo->long_pairs[i / 2].places[i % 2].bytes = memo->long_bytes[i];
    *out = memo;
    return 0;
}

void scan_memo_free(struct scan_memo *memo)
{
    free(memo);
}

static void forget(struct scan_memo_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i].places[0].owner = pairs[i].places[1].owner = NULL;
}

void scan_memo_clear(struct scan_memo *memo)
{
    memo->open = NULL;
    memset(memo->seen, 0, sizeof(memo->seen));
    forget(memo->short_pairs, 1U << SHORT_BITS);
    forget(memo->long_pairs, 1U << LONG_BITS);
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

/* Begin, middle and end: they tell most buffers of one kind apart, and that others take each other's place does no
 * harm. Of those that are shorter than a word it is all that there is. */
static uint64_t gist_of(const uint8_t *bytes, uint32_t length)
{
    if (length >= sizeof(uint64_t))
        return load_word(bytes) + 3 * load_word(bytes + (length - sizeof(uint64_t)) / 2) +
               5 * load_word(bytes + length - sizeof(uint64_t));
    if (length >= sizeof(uint32_t))
        return load_half(bytes) << 32 | load_half(bytes + length - sizeof(uint32_t));
    return length > 0 ? (uint64_t)bytes[0] << 16 | (uint64_t)bytes[length / 2] << 8 | bytes[length - 1] : 0;
}

static uint64_t key_of(const struct scan_memo_owner *owner, uint64_t gist, uint32_t length)
{
    uint64_t key = gist ^ ((uint64_t)owner->salt << 16 | length) * UINT64_C(0xff51afd7ed558ccd);

    key ^= key >> 32;
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* Whether a buffer with this key, or one of a few others, came before. */
static bool was_seen(struct scan_memo *memo, uint64_t key)
{
    uint32_t *seen = &memo->seen[key >> (64 - SEEN_BITS)];
    bool before = *seen == (uint32_t)key;

    *seen = (uint32_t)key;
    return before;
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

/* NULL: in none. The other place is then the one to take. */
static const struct scan_memo_place *find(struct scan_memo_pair *pair, const struct scan_memo_owner *owner,
                                          uint64_t gist, const uint8_t *bytes, uint32_t length)
{
    if (is_of(&pair->places[!pair->older], owner, gist, bytes, length))
        return &pair->places[!pair->older];
    if (!is_of(&pair->places[pair->older], owner, gist, bytes, length))
        return NULL;
    pair->older = !pair->older;
    return &pair->places[!pair->older];
}

bool scan_memo_recall(struct detector *detector, const struct scan_memo_owner *owner, const uint8_t *bytes,
                      uint32_t length)
{
    struct scan_memo *memo = detector->memo;
    bool is_long = length > SHORT_LENGTH;
    uint64_t gist = gist_of(bytes, length), key = key_of(owner, gist, length);
    struct scan_memo_pair *pair =
        is_long ? &memo->long_pairs[key >> (64 - LONG_BITS)] : &memo->short_pairs[key >> (64 - SHORT_BITS)];
    const struct scan_memo_place *place = find(pair, owner, gist, bytes, length);

    if (!place) {
        if (!is_long || was_seen(memo, key)) {
            open_place(detector, &pair->places[pair->older], owner, gist, bytes, length);
            pair->older = !pair->older;
        }
        return false;
    }
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

    if (!place)
        return;
    if (place->count > CHECKS)
        place->owner = NULL;
    detector->memo->open = NULL;
    detector->is_noting = false;
}
