/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scan cache: results of previous scans of equal buffers. A client sends the same User-Agent, Host and Accept with
 * each request in the same order, and a server the same status line and type with each response: comparing such a
 * buffer with its previous value costs a tenth of a scan with the same result. Popular pages, images and scripts
 * repeat, too.
 *
 * The table has pairs of entries, selected by hash; a new buffer replaces the entry of the pair that was not used
 * last. All bytes are compared, so an attacker cannot have one buffer mistaken for another; one who prevents all cache
 * hits makes each scan cost an additional hash and copy.
 *
 * Long buffers have a separate table and mostly do not repeat: a long buffer is stored when one with the same hash was
 * seen before, so that a buffer that does not repeat costs only the hash.
 *
 * Threads: belongs to one detector.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

enum {
    SHORT_LENGTH = 256,
    SHORT_BITS = 7, /* log2 of the number of pairs */
    LONG_BITS = 4,
    SEEN_BITS = 9,
    CHECKS = 12, /* a buffer with more matches is not cached */
};

struct scan_memo_place {
    const struct scan_memo_owner *owner; /* NULL: the entry is empty */
    uint64_t gist;
    uint32_t length, count;
    uint32_t checks[CHECKS];
    uint8_t *bytes; /* sized for the longest buffer of its table */
};

struct scan_memo_pair {
    struct scan_memo_place places[2];
    unsigned older;
};

struct scan_memo {
    struct scan_memo_place *open;   /* entry of the current scan; NULL: nothing is recorded */
    uint32_t seen[1U << SEEN_BITS]; /* recent hashes of long buffers, truncated */
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

/* Hashes the first, middle and last word, which distinguish most buffers of a kind; a collision only replaces an entry.
 * For a buffer shorter than a word this is the whole content. */
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

/* Whether a buffer with this hash was seen before; may be wrong for a few others. */
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

/* Returns NULL if neither entry matches; the older one is then to be replaced. */
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
