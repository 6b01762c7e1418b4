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
    MAX_SIGNATURES = 12, /* a buffer with more matches is not cached */
};

struct scan_cache_entry {
    const struct scan_cache_owner *owner; /* NULL: the entry is empty */
    uint64_t hash;
    uint32_t length, count;
    uint32_t signatures[MAX_SIGNATURES];
    uint8_t *bytes; /* sized for the longest buffer of its table */
};

struct scan_cache_pair {
    struct scan_cache_entry entries[2];
    unsigned older;
};

struct scan_cache {
    struct scan_cache_entry *open;  /* entry of the current scan; NULL: nothing is recorded */
    uint32_t seen[1U << SEEN_BITS]; /* recent hashes of long buffers, truncated */
    struct scan_cache_pair short_pairs[1U << SHORT_BITS], long_pairs[1U << LONG_BITS];
    uint8_t short_bytes[2U << SHORT_BITS][SHORT_LENGTH], long_bytes[2U << LONG_BITS][SCAN_CACHE_LENGTH];
};

int scan_cache_new(struct scan_cache **out)
{
    struct scan_cache *cache = calloc(1, sizeof(*cache));

    if (!cache)
        return -ENOMEM;
    for (size_t i = 0; i < 2U << SHORT_BITS; i++)
        cache->short_pairs[i / 2].entries[i % 2].bytes = cache->short_bytes[i];
    for (size_t i = 0; i < 2U << LONG_BITS; i++)
        cache->long_pairs[i / 2].entries[i % 2].bytes = cache->long_bytes[i];
    *out = cache;
    return 0;
}

void scan_cache_free(struct scan_cache *cache)
{
    free(cache);
}

static void clear_pairs(struct scan_cache_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        pairs[i].entries[0].owner = pairs[i].entries[1].owner = NULL;
}

void scan_cache_clear(struct scan_cache *cache)
{
    cache->open = NULL;
    memset(cache->seen, 0, sizeof(cache->seen));
    clear_pairs(cache->short_pairs, 1U << SHORT_BITS);
    clear_pairs(cache->long_pairs, 1U << LONG_BITS);
}

static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof(word));
    return word;
}

static uint64_t load_half_word(const uint8_t *bytes)
{
    uint32_t half;

    memcpy(&half, bytes, sizeof(half));
    return half;
}

/* Hashes the first, middle and last word, which distinguish most buffers of a kind; a collision only replaces an entry.
 * For a buffer shorter than a word this is the whole content. */
static uint64_t hash_of(const uint8_t *bytes, uint32_t length)
{
    if (length >= sizeof(uint64_t))
        return load_word(bytes) + 3 * load_word(bytes + (length - sizeof(uint64_t)) / 2) +
               5 * load_word(bytes + length - sizeof(uint64_t));
    if (length >= sizeof(uint32_t))
        return load_half_word(bytes) << 32 | load_half_word(bytes + length - sizeof(uint32_t));
    return length > 0 ? (uint64_t)bytes[0] << 16 | (uint64_t)bytes[length / 2] << 8 | bytes[length - 1] : 0;
}

static uint64_t key_of(const struct scan_cache_owner *owner, uint64_t hash, uint32_t length)
{
    uint64_t key = hash ^ ((uint64_t)owner->salt << 16 | length) * UINT64_C(0xff51afd7ed558ccd);

    key ^= key >> 32;
    return key * UINT64_C(0x9e3779b97f4a7c15);
}

/* Whether a buffer with this hash was seen before; may be wrong for a few others. */
static bool was_seen(struct scan_cache *cache, uint64_t key)
{
    uint32_t *seen = &cache->seen[key >> (64 - SEEN_BITS)];
    bool before = *seen == (uint32_t)key;

    *seen = (uint32_t)key;
    return before;
}

static bool entry_matches(const struct scan_cache_entry *entry, const struct scan_cache_owner *owner, uint64_t hash,
                          const uint8_t *bytes, uint32_t length)
{
    return entry->owner == owner && entry->hash == hash && entry->length == length &&
           (length < sizeof(hash) || memcmp(entry->bytes, bytes, length) == 0);
}

static void open_entry(struct detector *detector, struct scan_cache_entry *entry, const struct scan_cache_owner *owner,
                       uint64_t hash, const uint8_t *bytes, uint32_t length)
{
    entry->owner = owner;
    entry->hash = hash;
    entry->length = length;
    entry->count = 0;
    memcpy(entry->bytes, bytes, length);
    detector->scan_cache->open = entry;
    detector->is_recording = true;
}

/* Returns NULL if neither entry matches; the older one is then to be replaced. */
static const struct scan_cache_entry *find_entry(struct scan_cache_pair *pair, const struct scan_cache_owner *owner,
                                                 uint64_t hash, const uint8_t *bytes, uint32_t length)
{
    if (entry_matches(&pair->entries[!pair->older], owner, hash, bytes, length))
        return &pair->entries[!pair->older];
    if (!entry_matches(&pair->entries[pair->older], owner, hash, bytes, length))
        return NULL;
    pair->older = !pair->older;
    return &pair->entries[!pair->older];
}

bool scan_cache_find(struct detector *detector, const struct scan_cache_owner *owner, const uint8_t *bytes,
                     uint32_t length)
{
    struct scan_cache *cache = detector->scan_cache;
    bool is_long = length > SHORT_LENGTH;
    uint64_t hash = hash_of(bytes, length), key = key_of(owner, hash, length);
    struct scan_cache_pair *pair =
        is_long ? &cache->long_pairs[key >> (64 - LONG_BITS)] : &cache->short_pairs[key >> (64 - SHORT_BITS)];
    const struct scan_cache_entry *entry = find_entry(pair, owner, hash, bytes, length);

    if (!entry) {
        if (!is_long || was_seen(cache, key)) {
            open_entry(detector, &pair->entries[pair->older], owner, hash, bytes, length);
            pair->older = !pair->older;
        }
        return false;
    }
    for (uint32_t i = 0; i < entry->count; i++)
        detector_add_candidate(detector, entry->signatures[i]);
    detector->counters.scans_recalled++;
    return true;
}

void scan_cache_record(struct detector *detector, uint32_t signature)
{
    struct scan_cache_entry *entry = detector->scan_cache->open;

    if (entry->count < MAX_SIGNATURES)
        entry->signatures[entry->count] = signature;
    entry->count++;
}

void scan_cache_end(struct detector *detector)
{
    struct scan_cache_entry *entry = detector->scan_cache->open;

    if (!entry)
        return;
    if (entry->count > MAX_SIGNATURES)
        entry->owner = NULL;
    detector->scan_cache->open = NULL;
    detector->is_recording = false;
}
