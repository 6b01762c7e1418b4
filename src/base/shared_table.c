/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The upper half of a key's hash selects the shard, the lower half the bucket. Entries are numbered from 1; 0 means
 * none. A bucket's filter has a bit for each of its entries, selected by the entry's hash: most keys of a port scan are
 * not in the table, and the filter shows this without a read of an entry. An insert that finds no free entry checks the
 * next SWEEP_PER_INSERT entries for expired ones (the sweep), so that its cost is bounded and all entries are checked
 * in turn. When none of them has expired, one of the next EVICT_SAMPLES entries is evicted.
 */
#include "sluice/shared_table.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "sluice/pool.h"

enum { MIN_ENTRIES = 64, SWEEP_PER_INSERT = 64, EVICT_SAMPLES = 16 };

struct shared_bucket {
    uint32_t first;  /* number of the first entry of the chain */
    uint32_t filter; /* filter_bit() of all entries of the chain */
};

struct shared_shard {
    pthread_mutex_t lock;
    struct shared_table *table;
    uint64_t hash;                           /* hash of the key passed to shared_table_lock() */
    uint8_t *entries;                        /* [entry_count] of entry_size */
    _Atomic(struct shared_bucket *) buckets; /* read without the lock for prefetching only */
    uint32_t entry_count, bucket_mask;
    uint32_t used;           /* number of entries in chains */
    uint32_t fresh;          /* entries from here on were never used */
    uint32_t free_entry;     /* first of the chain of freed entries */
    uint32_t sweep;          /* the entry that the sweep checks next */
    uint64_t next_expiry_ns; /* the earliest expiry found in this round of the sweep */
    uint64_t quiet_until_ns; /* no entry expires before this time, because a whole round of the sweep freed none: no
                                sweep is needed until then */
};

struct shared_table {
    struct shared_table_options options;
    struct pool *memory; /* one object: all entries, then all buckets */
    struct shared_shard shard[SHARED_TABLE_SHARDS];
    unsigned shards_made;
    atomic_uint_least64_t evicted;
};

static uint64_t hash_key(const struct shared_table *table, const void *key)
{
    return XXH3_64bits_withSeed(key, table->options.key_size, table->options.seed);
}

static struct shared_entry *entry_at(const struct shared_shard *shard, uint32_t index)
{
    return (struct shared_entry *)(shard->entries + (size_t)index * shard->table->options.entry_size);
}

static uint32_t index_of(const struct shared_shard *shard, const void *entry)
{
    return (uint32_t)((size_t)((const uint8_t *)entry - shard->entries) / shard->table->options.entry_size);
}

static void *key_of(struct shared_entry *entry)
{
    return entry + 1;
}

static struct shared_bucket *bucket_of(struct shared_shard *shard, uint64_t hash)
{
    return &atomic_load_explicit(&shard->buckets, memory_order_relaxed)[hash & shard->bucket_mask];
}

/* Returns the part of the hash that is stored in entries. */
static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

/* Uses the highest bits of the tag: the lowest are the shard's number, equal for all entries of a shard. */
static uint32_t filter_bit(uint32_t tag)
{
    return UINT32_C(1) << (tag >> 27);
}

/* Returns the number of entries of a shard. */
static uint32_t entries_for(const struct shared_table *table, size_t memcap)
{
    size_t count = memcap / SHARED_TABLE_SHARDS /
                   (table->options.entry_size + 2 * sizeof(struct shared_bucket)); /* one or two buckets per entry */

    return count < MIN_ENTRIES ? MIN_ENTRIES : count > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)count;
}

/* Computes the number of entries and buckets of a shard. */
static void plan_shard(struct shared_shard *shard, struct shared_table *table)
{
    uint32_t buckets = MIN_ENTRIES;

    shard->table = table;
    shard->entry_count = entries_for(table, table->options.memcap);
    while (buckets < shard->entry_count)
        buckets *= 2;
    shard->bucket_mask = buckets - 1;
    shard->fresh = shard->sweep = 1;
    shard->next_expiry_ns = UINT64_MAX;
}

static size_t entries_size(const struct shared_shard *shard)
{
    return shard->entry_count * shard->table->options.entry_size;
}

static size_t buckets_size(const struct shared_shard *shard)
{
    return ((size_t)shard->bucket_mask + 1) * sizeof(struct shared_bucket);
}

/* All shards have the same size. */
static int reserve(struct shared_table *table)
{
    size_t entries = entries_size(&table->shard[0]), buckets = buckets_size(&table->shard[0]);
    int err = pool_new(&table->memory, SHARED_TABLE_SHARDS * (entries + buckets), 0);

    if (err)
        return err;
    uint8_t *memory = pool_alloc(table->memory), *after = memory + SHARED_TABLE_SHARDS * entries;

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++) {
        table->shard[i].entries = memory + i * entries;
        atomic_init(&table->shard[i].buckets, (struct shared_bucket *)(void *)(after + i * buckets));
    }
    return 0;
}

int shared_table_new(struct shared_table **out, const struct shared_table_options *options)
{
    struct shared_table *table;

    assert(options->entry_size % 8 == 0 && sizeof(struct shared_entry) + options->key_size <= options->entry_size);
    table = calloc(1, sizeof(*table));
    if (!table)
        return -ENOMEM;
    table->options = *options;
    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++)
        plan_shard(&table->shard[i], table);
    int err = reserve(table);

    while (!err && table->shards_made < SHARED_TABLE_SHARDS) {
        err = -pthread_mutex_init(&table->shard[table->shards_made].lock, NULL);
        table->shards_made += !err;
    }
    if (err) {
        shared_table_free(table);
        return -ENOMEM;
    }
    *out = table;
    return 0;
}

void shared_table_free(struct shared_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < table->shards_made; i++)
        pthread_mutex_destroy(&table->shard[i].lock);
    pool_free(table->memory);
    free(table);
}

size_t shared_table_memory(const struct shared_table *table)
{
    size_t memory = sizeof(*table);

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++)
        memory += entries_size(&table->shard[i]) + buckets_size(&table->shard[i]);
    return memory;
}

uint64_t shared_table_evicted(const struct shared_table *table)
{
    return atomic_load_explicit(&table->evicted, memory_order_relaxed);
}

void shared_table_set_seed(struct shared_table *table, uint64_t seed)
{
    table->options.seed = seed;
}

struct shared_shard *shared_table_lock(struct shared_table *table, const void *key)
{
    uint64_t hash = hash_key(table, key);
    struct shared_shard *shard = &table->shard[hash >> 32 & (SHARED_TABLE_SHARDS - 1)];

    __builtin_prefetch(bucket_of(shard, hash), 1);
    pthread_mutex_lock(&shard->lock);
    shard->hash = hash;
    return shard;
}

void shared_table_unlock(struct shared_shard *shard)
{
    pthread_mutex_unlock(&shard->lock);
}

unsigned shared_shard_number(const struct shared_shard *shard)
{
    return (unsigned)(shard - shard->table->shard);
}

/* Removes the entry from its bucket's chain. */
static void unlink_entry(struct shared_shard *shard, struct shared_bucket *bucket, uint32_t index)
{
    uint32_t *link = &bucket->first;

    bucket->filter = 0;
    while (*link) {
        struct shared_entry *entry = entry_at(shard, *link);

        if (*link == index) {
            *link = entry->next;
        } else {
            bucket->filter |= filter_bit(entry->tag);
            link = &entry->next;
        }
    }
}

void shared_shard_remove(struct shared_shard *shard, void *removed)
{
    const struct shared_table_options *options = &shard->table->options;
    struct shared_entry *entry = removed;
    uint32_t index = index_of(shard, entry);

    unlink_entry(shard, bucket_of(shard, hash_key(shard->table, key_of(entry))), index);
    if (options->forget)
        options->forget(options->user, shared_shard_number(shard), entry);
    memset(entry, 0, options->entry_size);
    entry->next = shard->free_entry;
    shard->free_entry = index;
    shard->used--;
    shard->quiet_until_ns = 0;
}

/* Starts a round of the sweep over all entries. If the last round freed nothing, no sweep is needed before the first
 * entry expires: until next_expiry_ns. */
static void begin_round(struct shared_shard *shard)
{
    shard->sweep = 1;
    shard->quiet_until_ns = shard->next_expiry_ns;
    shard->next_expiry_ns = UINT64_MAX;
}

static void sweep(struct shared_shard *shard, uint64_t now_ns)
{
    if (now_ns <= shard->quiet_until_ns)
        return;
    for (unsigned i = 0; i < SWEEP_PER_INSERT; i++) {
        struct shared_entry *entry = entry_at(shard, shard->sweep);

        if (entry->expires_ns != 0 && entry->expires_ns < now_ns) {
            shared_shard_remove(shard, entry);
            shard->next_expiry_ns = 0; /* the next round is not delayed: an entry with any expiry may be stored here */
        } else if (entry->expires_ns < shard->next_expiry_ns) {
            shard->next_expiry_ns = entry->expires_ns;
        }
        if (++shard->sweep >= shard->entry_count)
            begin_round(shard);
    }
}

static bool gives_way(const struct shared_table_options *options, const struct shared_entry *entry,
                      const struct shared_entry *other)
{
    return options->gives_way ? options->gives_way(entry, other) : entry->expires_ns < other->expires_ns;
}

/* Evicts one of the next EVICT_SAMPLES entries: the one chosen by options.gives_way, by default the entry that expires
 * first. During a flood of new keys most of the samples are entries of the flood. */
static void evict(struct shared_shard *shard)
{
    struct shared_entry *chosen = NULL;

    for (unsigned i = 0; i < EVICT_SAMPLES; i++) {
        struct shared_entry *entry = entry_at(shard, shard->sweep);

        if (entry->expires_ns != 0 && (!chosen || gives_way(&shard->table->options, entry, chosen)))
            chosen = entry;
        if (++shard->sweep >= shard->entry_count)
            begin_round(shard);
    }
    if (!chosen)
        return;
    shared_shard_remove(shard, chosen);
    atomic_fetch_add_explicit(&shard->table->evicted, 1, memory_order_relaxed);
}

/* Returns whether the memcap is reached. Otherwise an entry is free, or was never used. */
static bool is_full(const struct shared_shard *shard)
{
    return shard->used + 1 >= shard->entry_count;
}

static uint32_t alloc_entry(struct shared_shard *shard, uint64_t now_ns)
{
    if (is_full(shard))
        sweep(shard, now_ns);
    if (is_full(shard))
        evict(shard);
    if (is_full(shard))
        return 0;
    if (!shard->free_entry)
        return shard->fresh++;

    uint32_t index = shard->free_entry;

    shard->free_entry = entry_at(shard, index)->next;
    return index;
}

void *shared_shard_find(struct shared_shard *shard, const void *key)
{
    const struct shared_bucket *bucket = bucket_of(shard, shard->hash);
    uint32_t tag = tag_of(shard->hash);

    if (!(bucket->filter & filter_bit(tag)))
        return NULL;
    for (uint32_t i = bucket->first; i; i = entry_at(shard, i)->next) {
        struct shared_entry *entry = entry_at(shard, i);

        if (entry->tag == tag && memcmp(key_of(entry), key, shard->table->options.key_size) == 0)
            return entry;
    }
    return NULL;
}

void *shared_shard_get(struct shared_shard *shard, const void *key, uint64_t now_ns, bool *fresh)
{
    struct shared_entry *entry = shared_shard_find(shard, key);
    struct shared_bucket *bucket = bucket_of(shard, shard->hash);
    uint32_t index;

    *fresh = false;
    if (entry)
        return entry;
    index = alloc_entry(shard, now_ns);
    if (!index)
        return NULL;
    entry = entry_at(shard, index);
    memset(entry, 0, shard->table->options.entry_size);
    memcpy(key_of(entry), key, shard->table->options.key_size);
    entry->tag = tag_of(shard->hash);
    entry->next = bucket->first; /* after alloc_entry(): the sweep may have changed it */
    bucket->first = index;
    bucket->filter |= filter_bit(entry->tag);
    shard->used++;
    *fresh = true;
    return entry;
}

void shared_table_each(struct shared_table *table, shared_table_function *each, void *user)
{
    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++) {
        struct shared_shard *shard = &table->shard[i];

        pthread_mutex_lock(&shard->lock);
        for (size_t bucket = 0; bucket <= shard->bucket_mask; bucket++) {
            for (uint32_t at = bucket_of(shard, bucket)->first; at; at = entry_at(shard, at)->next)
                each(shard, entry_at(shard, at), user);
        }
        pthread_mutex_unlock(&shard->lock);
    }
}

/* --- Change of the memcap ------------------------------------------------------------------------- */

size_t shared_table_memory_used(struct shared_table *table)
{
    size_t used = 0;

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++) {
        pthread_mutex_lock(&table->shard[i].lock);
        used += table->shard[i].used * table->options.entry_size;
        pthread_mutex_unlock(&table->shard[i].lock);
    }
    return used;
}

/* Copies the entries of a locked shard to new memory for `count` entries, numbered from 1 in the order of the chains.
 * Entries that other threads have added meanwhile and that do not fit are evicted. */
static void move_shard(struct shared_shard *shard, uint8_t *entries, struct shared_bucket *buckets, uint32_t count)
{
    const struct shared_table_options *options = &shard->table->options;
    uint32_t next = 1;

    for (size_t bucket = 0; bucket <= shard->bucket_mask; bucket++) {
        uint32_t *link = &buckets[bucket].first;

        for (uint32_t at = bucket_of(shard, bucket)->first; at; at = entry_at(shard, at)->next) {
            struct shared_entry *from = entry_at(shard, at);
            struct shared_entry *to = (struct shared_entry *)(void *)(entries + next * options->entry_size);

            if (next == count) {
                if (options->forget)
                    options->forget(options->user, shared_shard_number(shard), from);
                atomic_fetch_add_explicit(&shard->table->evicted, 1, memory_order_relaxed);
                continue;
            }
            memcpy(to, from, options->entry_size);
            to->next = 0;
            *link = next++;
            link = &to->next;
            buckets[bucket].filter |= filter_bit(to->tag);
        }
    }
    shard->entries = entries;
    atomic_store_explicit(&shard->buckets, buckets, memory_order_relaxed);
    shard->entry_count = count;
    shard->used = next - 1;
    shard->fresh = next;
    shard->free_entry = 0;
    begin_round(shard);
    shard->quiet_until_ns = 0;
}

/* Each shard is moved to new memory while it is locked. The number of buckets does not change, so the chains are longer
 * after the memcap was raised. */
int shared_table_set_memcap(struct shared_table *table, size_t memcap)
{
    uint32_t count = entries_for(table, memcap);
    size_t entries = count * table->options.entry_size, buckets = buckets_size(&table->shard[0]);
    struct pool *memory, *before = table->memory;
    int err = 0;

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS && !err; i++) {
        pthread_mutex_lock(&table->shard[i].lock);
        err = table->shard[i].used >= count ? -EBUSY : 0;
        pthread_mutex_unlock(&table->shard[i].lock);
    }
    if (!err)
        err = pool_new(&memory, SHARED_TABLE_SHARDS * (entries + buckets), 0);
    if (err)
        return err;
    uint8_t *bytes = pool_alloc(memory), *after = bytes + SHARED_TABLE_SHARDS * entries;

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++) {
        pthread_mutex_lock(&table->shard[i].lock);
        move_shard(&table->shard[i], bytes + i * entries, (struct shared_bucket *)(void *)(after + i * buckets), count);
        pthread_mutex_unlock(&table->shard[i].lock);
    }
    table->memory = memory;
    pool_free(before);
    return 0;
}
