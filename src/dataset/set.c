/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One set: several hash tables (shards), each with its own lock and memory.
 *
 * Values have different lengths, so the memory of a shard, which is reserved once, is divided into blocks of 64 bytes.
 * A value occupies a first block and, if it is longer, a chain of other blocks. Any value can use a freed block, so
 * memory is not fragmented. (base/shared_table.c only supports entries of one size.)
 *
 * Block index 0 stands for no block.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "set.h"
#include "sluice/arena.h"
#include "sluice/transfer.h"

enum {
    SHARDS = 16,
    MIN_BLOCKS = 64,
    BLOCK_SIZE = 64,
    ENTRY_BYTES = 44,
    CONTINUATION_BYTES = 60,
    BUCKETS_PER_LOCK = 64, /* dataset_each() holds the lock of a shard for this number of buckets */
};

/* The first block of a value; entries of the same bucket (hash & bucket_mask) form a linked list. */
struct entry {
    uint32_t next_block; /* index of the value's next block; in a free block: of the next free block; 0: none */
    uint32_t next;       /* index of the first block of the next value in the bucket; 0: none */
    uint32_t hash;
    uint32_t length;
    uint32_t value; /* reputation of the value (datarep); in a set of JSON objects: number of the object, from 1 on */
    uint8_t bytes[ENTRY_BYTES];
};

/* A further block of a value, which continues the bytes of the previous block. */
struct continuation {
    uint32_t next_block;
    uint8_t bytes[CONTINUATION_BYTES];
};

union block {
    struct entry entry;
    struct continuation continuation;
};
_Static_assert(sizeof(union block) == BLOCK_SIZE, "a cache line each");

struct shard {
    pthread_mutex_t lock;
    union block *blocks;
    uint32_t *buckets;
    uint32_t block_count, bucket_mask;
    uint32_t first_unused; /* blocks from this index on have never been used and are not in the list of free blocks */
    uint32_t free_block, free_count;
    size_t entries;
};

struct dataset {
    enum dataset_type type;
    uint64_t seed;
    atomic_uint owners; /* number of owners (registries); dataset_free() of the last one frees the set */
    atomic_uint_least64_t memcap_hits;
    unsigned shards_made;
    /* JSON objects of the values, in the order of the file; written only while the set is loaded. */
    struct arena *object_memory; /* NULL: the set has no objects */
    const char **objects;
    uint32_t object_count, object_capacity;
    size_t object_bytes, memcap;
    struct shard shard[SHARDS];
};

/* A value in the form in which it is stored; `address` is the buffer for an IPv4 address mapped to IPv6 (type `ip`). */
struct key {
    const uint8_t *bytes;
    uint32_t length;
    uint64_t hash;
    uint8_t address[16];
};

static int shard_init(struct shard *shard, size_t memcap)
{
    size_t count = memcap / (BLOCK_SIZE + sizeof(*shard->buckets));
    uint32_t buckets = MIN_BLOCKS;

    shard->block_count = count < MIN_BLOCKS ? MIN_BLOCKS : count > UINT32_MAX / 4 ? UINT32_MAX / 4 : (uint32_t)count;
    while (buckets * 2 <= shard->block_count)
        buckets *= 2;
    shard->bucket_mask = buckets - 1;
    shard->first_unused = 1;
    shard->blocks = calloc(shard->block_count, sizeof(*shard->blocks));
    shard->buckets = calloc(buckets, sizeof(*shard->buckets));
    if (!shard->blocks || !shard->buckets || pthread_mutex_init(&shard->lock, NULL)) {
        free(shard->blocks);
        free(shard->buckets);
        return -ENOMEM;
    }
    return 0;
}

int dataset_new(struct dataset **out, enum dataset_type type, size_t memcap, uint64_t seed)
{
    struct dataset *set = calloc(1, sizeof(*set));

    if (!set)
        return -ENOMEM;
    set->type = type;
    set->seed = seed;
    set->memcap = memcap;
    atomic_init(&set->owners, 1);
    for (; set->shards_made < SHARDS; set->shards_made++) {
        if (shard_init(&set->shard[set->shards_made], memcap / SHARDS)) {
            dataset_free(set);
            return -ENOMEM;
        }
    }
    *out = set;
    return 0;
}

struct dataset *dataset_share(struct dataset *set)
{
    atomic_fetch_add_explicit(&set->owners, 1, memory_order_relaxed);
    return set;
}

void dataset_free(struct dataset *set)
{
    if (!set || atomic_fetch_sub_explicit(&set->owners, 1, memory_order_acq_rel) > 1)
        return;
    for (unsigned i = 0; i < set->shards_made; i++) {
        pthread_mutex_destroy(&set->shard[i].lock);
        free(set->shard[i].blocks);
        free(set->shard[i].buckets);
    }
    arena_free(set->object_memory);
    free(set->objects);
    free(set);
}

size_t dataset_memory(const struct dataset *set)
{
    size_t memory = sizeof(*set) + set->object_bytes + set->object_capacity * sizeof(*set->objects);

    for (unsigned i = 0; i < SHARDS; i++)
        memory += set->shard[i].block_count * sizeof(union block) +
                  ((size_t)set->shard[i].bucket_mask + 1) * sizeof(uint32_t);
    return memory;
}

uint64_t dataset_memcap_hits(const struct dataset *set)
{
    return atomic_load_explicit(&set->memcap_hits, memory_order_relaxed);
}

enum dataset_type dataset_type_of(const struct dataset *set)
{
    return set->type;
}

/* --- Keys ----------------------------------------------------------------------------------------- */

static bool make_key(const struct dataset *set, const uint8_t *bytes, size_t length, struct key *key)
{
    static const uint8_t prefix[12] = { [10] = 0xff, [11] = 0xff };
    static const uint8_t lengths[DATASET_TYPE_COUNT] = {
        [DATASET_MD5] = 16, [DATASET_SHA256] = 32, [DATASET_IPV4] = 4, [DATASET_IP] = 16
    };

    key->bytes = bytes;
    key->length = (uint32_t)length;
    if (set->type == DATASET_IP && length == 4) {
        /* An `ip` set stores an IPv4 address as ::ffff:a.b.c.d (RFC 4291 §2.5.5.2), which is not valid in an IPv6
         * packet. */
        memcpy(key->address, prefix, sizeof(prefix));
        memcpy(key->address + sizeof(prefix), bytes, 4);
        key->bytes = key->address;
        key->length = sizeof(key->address);
    } else if (set->type == DATASET_STRING ? length == 0 || length > DATASET_MAX_STRING
                                           : length != lengths[set->type]) {
        return false;
    }
    key->hash = XXH3_64bits_withSeed(key->bytes, key->length, set->seed);
    return true;
}

static struct shard *lock_shard(struct dataset *set, const struct key *key)
{
    struct shard *shard = &set->shard[key->hash >> 32 & (SHARDS - 1)];

    pthread_mutex_lock(&shard->lock);
    return shard;
}

/* --- Blocks --------------------------------------------------------------------------------------- */

static uint32_t alloc_block(struct shard *shard)
{
    uint32_t index = shard->free_block;

    if (!index)
        return shard->first_unused++;
    shard->free_block = shard->blocks[index].continuation.next_block;
    shard->free_count--;
    return index;
}

static void free_blocks(struct shard *shard, uint32_t index)
{
    while (index) {
        uint32_t next = shard->blocks[index].continuation.next_block;

        shard->blocks[index].continuation.next_block = shard->free_block;
        shard->free_block = index;
        shard->free_count++;
        index = next;
    }
}

/* Stores a value and returns its first block. The caller must have checked that enough blocks are free. */
static uint32_t store_value(struct shard *shard, const struct key *key)
{
    uint32_t first = alloc_block(shard), last = first;
    uint32_t at = key->length < ENTRY_BYTES ? key->length : ENTRY_BYTES;
    struct entry *entry = &shard->blocks[first].entry;

    *entry = (struct entry){ .hash = (uint32_t)key->hash, .length = key->length };
    memcpy(entry->bytes, key->bytes, at);
    while (at < key->length) {
        uint32_t index = alloc_block(shard),
                 part = key->length - at < CONTINUATION_BYTES ? key->length - at : CONTINUATION_BYTES;

        shard->blocks[index].continuation.next_block = 0;
        memcpy(shard->blocks[index].continuation.bytes, key->bytes + at, part);
        shard->blocks[last].continuation.next_block = index;
        last = index;
        at += part;
    }
    return first;
}

static bool entry_matches(const struct shard *shard, const struct entry *entry, const struct key *key)
{
    uint32_t at = key->length < ENTRY_BYTES ? key->length : ENTRY_BYTES;

    if (entry->hash != (uint32_t)key->hash || entry->length != key->length || memcmp(entry->bytes, key->bytes, at) != 0)
        return false;
    for (uint32_t index = entry->next_block; index; index = shard->blocks[index].continuation.next_block) {
        uint32_t part = key->length - at < CONTINUATION_BYTES ? key->length - at : CONTINUATION_BYTES;

        if (memcmp(shard->blocks[index].continuation.bytes, key->bytes + at, part) != 0)
            return false;
        at += part;
    }
    return true;
}

/* Returns a pointer to the link (in the bucket or the entry before) that contains the index of the value's entry; the
 * index is 0 if the set does not have the value. */
static uint32_t *find_link(struct shard *shard, const struct key *key)
{
    uint32_t *link = &shard->buckets[key->hash & shard->bucket_mask];

    while (*link && !entry_matches(shard, &shard->blocks[*link].entry, key))
        link = &shard->blocks[*link].entry.next;
    return link;
}

/* --- Lookup, addition and removal ----------------------------------------------------------------- */

/* Returns whether the set has the value, with the member `value` of its entry in *value. */
static bool find_value(struct dataset *set, const uint8_t *bytes, size_t length, uint32_t *value)
{
    struct key key;

    if (!make_key(set, bytes, length, &key))
        return false;
    struct shard *shard = lock_shard(set, &key);
    uint32_t index = *find_link(shard, &key);

    if (index)
        *value = shard->blocks[index].entry.value;
    pthread_mutex_unlock(&shard->lock);
    return index != 0;
}

bool dataset_has(struct dataset *set, const uint8_t *bytes, size_t length)
{
    uint32_t value;

    return find_value(set, bytes, length, &value);
}

bool dataset_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t *value)
{
    uint32_t found;

    if (!find_value(set, bytes, length, &found))
        return false;
    *value = set->object_memory ? 0 : (uint16_t)found;
    return true;
}

bool dataset_object(struct dataset *set, const uint8_t *bytes, size_t length, const char **json)
{
    uint32_t found;

    if (!find_value(set, bytes, length, &found))
        return false;
    *json = set->object_memory && found > 0 ? set->objects[found - 1] : NULL;
    return true;
}

/* Adds a value, or changes the member `value` of its entry. */
static enum dataset_change store(struct dataset *set, const uint8_t *bytes, size_t length, uint32_t value)
{
    struct key key;

    if (!make_key(set, bytes, length, &key))
        return DATASET_UNCHANGED;
    struct shard *shard = lock_shard(set, &key);
    enum dataset_change change = DATASET_UNCHANGED;
    uint32_t *link = find_link(shard, &key), blocks_needed = 1;

    if (key.length > ENTRY_BYTES)
        blocks_needed += (key.length - ENTRY_BYTES + CONTINUATION_BYTES - 1) / CONTINUATION_BYTES;

    if (*link) {
        shard->blocks[*link].entry.value = value;
    } else if (blocks_needed > shard->free_count + (shard->block_count - shard->first_unused)) {
        change = DATASET_FULL;
    } else {
        uint32_t index = store_value(shard, &key);

        shard->blocks[index].entry.value = value;
        *link = index;
        shard->entries++;
        change = DATASET_CHANGED;
    }
    pthread_mutex_unlock(&shard->lock);
    if (change == DATASET_FULL)
        atomic_fetch_add_explicit(&set->memcap_hits, 1, memory_order_relaxed);
    return change;
}

enum dataset_change dataset_set_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t value)
{
    return store(set, bytes, length, value);
}

enum dataset_change dataset_add_object(struct dataset *set, const uint8_t *bytes, size_t length, const char *json)
{
    size_t size = strlen(json) + 1;
    enum dataset_change change;
    char *copy;

    if (dataset_has(set, bytes, length))
        return DATASET_UNCHANGED;
    if (!set->object_memory)
        set->object_memory = arena_new(0);
    if (set->object_count == set->object_capacity) {
        uint32_t capacity = set->object_capacity ? set->object_capacity * 2 : 64;
        const char **objects = realloc(set->objects, capacity * sizeof(*objects));

        if (!objects)
            return DATASET_FULL;
        set->objects = objects;
        set->object_capacity = capacity;
    }
    if (!set->object_memory || set->object_bytes + size > set->memcap ||
        !(copy = arena_alloc(set->object_memory, size)))
        return DATASET_FULL;
    memcpy(copy, json, size);
    change = store(set, bytes, length, set->object_count + 1);
    if (change == DATASET_CHANGED) {
        set->objects[set->object_count++] = copy;
        set->object_bytes += size;
    }
    return change;
}

enum dataset_change dataset_add(struct dataset *set, const uint8_t *bytes, size_t length)
{
    return dataset_set_value(set, bytes, length, 0);
}

enum dataset_change dataset_remove(struct dataset *set, const uint8_t *bytes, size_t length)
{
    struct key key;

    if (!make_key(set, bytes, length, &key))
        return DATASET_UNCHANGED;
    struct shard *shard = lock_shard(set, &key);
    uint32_t *link = find_link(shard, &key), index = *link;

    if (index) {
        *link = shard->blocks[index].entry.next;
        free_blocks(shard, index);
        shard->entries--;
    }
    pthread_mutex_unlock(&shard->lock);
    return index ? DATASET_CHANGED : DATASET_UNCHANGED;
}

size_t dataset_count(struct dataset *set)
{
    size_t count = 0;

    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&set->shard[i].lock);
        count += set->shard[i].entries;
        pthread_mutex_unlock(&set->shard[i].lock);
    }
    return count;
}

static void copy_value(const struct shard *shard, uint32_t index, uint8_t *bytes)
{
    const struct entry *entry = &shard->blocks[index].entry;
    uint32_t at = entry->length < ENTRY_BYTES ? entry->length : ENTRY_BYTES;

    memcpy(bytes, entry->bytes, at);
    for (index = entry->next_block; index; index = shard->blocks[index].continuation.next_block) {
        uint32_t part = entry->length - at < CONTINUATION_BYTES ? entry->length - at : CONTINUATION_BYTES;

        memcpy(bytes + at, shard->blocks[index].continuation.bytes, part);
        at += part;
    }
}

int dataset_each(struct dataset *set, int (*each)(const uint8_t *bytes, size_t length, void *user), void *user)
{
    uint8_t *bytes = malloc(DATASET_MAX_STRING);
    int err = bytes ? 0 : -ENOMEM;

    for (unsigned i = 0; i < SHARDS && !err; i++) {
        struct shard *shard = &set->shard[i];

        pthread_mutex_lock(&shard->lock);
        for (uint32_t bucket = 0; bucket <= shard->bucket_mask && !err; bucket++) {
            for (uint32_t k = shard->buckets[bucket]; k && !err; k = shard->blocks[k].entry.next) {
                copy_value(shard, k, bytes);
                err = each(bytes, shard->blocks[k].entry.length, user);
            }
            if (bucket % BUCKETS_PER_LOCK == BUCKETS_PER_LOCK - 1) { /* lets a worker that waits for the shard go on */
                pthread_mutex_unlock(&shard->lock);
                pthread_mutex_lock(&shard->lock);
            }
        }
        pthread_mutex_unlock(&shard->lock);
    }
    free(bytes);
    return err;
}

void dataset_clear(struct dataset *set)
{
    for (unsigned i = 0; i < SHARDS; i++) {
        struct shard *shard = &set->shard[i];

        pthread_mutex_lock(&shard->lock);
        memset(shard->buckets, 0, ((size_t)shard->bucket_mask + 1) * sizeof(*shard->buckets));
        shard->first_unused = 1;
        shard->free_block = shard->free_count = 0;
        shard->entries = 0;
        pthread_mutex_unlock(&shard->lock);
    }
}

/* --- State transfer ------------------------------------------------------------------------------- */

enum { VALUE_SIZE = 6 }; /* bytes that precede each value in a transfer: its length (4) and reputation (2) */

static void write_values(struct transfer *t, struct dataset *set)
{
    uint8_t *bytes = malloc(DATASET_MAX_STRING);
    uint64_t count = dataset_count(set);

    transfer_u64(t, &count);
    if (!bytes && !t->error)
        t->error = -ENOMEM;
    for (unsigned i = 0; i < SHARDS && !t->error; i++) {
        struct shard *shard = &set->shard[i];

        pthread_mutex_lock(&shard->lock);
        for (uint32_t bucket = 0; bucket <= shard->bucket_mask && !t->error; bucket++) {
            for (uint32_t k = shard->buckets[bucket]; k && !t->error; k = shard->blocks[k].entry.next) {
                struct entry *entry = &shard->blocks[k].entry;
                uint16_t value = (uint16_t)entry->value; /* sets of JSON objects are not transferred */

                copy_value(shard, k, bytes);
                transfer_u32(t, &entry->length);
                transfer_u16(t, &value);
                transfer_bytes(t, bytes, entry->length);
            }
        }
        pthread_mutex_unlock(&shard->lock);
    }
    free(bytes);
}

void dataset_transfer(struct transfer *t, struct dataset *set)
{
    uint64_t count = 0;

    if (!t->reading) {
        write_values(t, set);
        return;
    }
    transfer_u64(t, &count);
    transfer_require(t, transfer_has_room(t, count, VALUE_SIZE));
    if (!t->error)
        dataset_clear(set);
    for (uint64_t i = 0; i < count && !t->error; i++) {
        const uint8_t *bytes;
        uint32_t length = 0;
        uint16_t value = 0;

        transfer_u32(t, &length);
        transfer_u16(t, &value);
        transfer_require(t, length > 0);
        bytes = t->error ? NULL : transfer_lend(t, length);
        if (bytes)
            dataset_set_value(set, bytes, length, value);
    }
}
