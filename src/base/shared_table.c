/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The upper half of a key's hash picks the shard, the lower half the bucket. Entries are numbered from 1; 0 stands for none. An
 * insert that finds no free entry looks at the next SWEEP_PER_INSERT in turn for expired ones: its cost is bounded, and all
 * entries get their turn.
 */
#include "sluice/shared_table.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

enum { MIN_ENTRIES = 64, SWEEP_PER_INSERT = 64 };

struct shared_shard {
    pthread_mutex_t lock;
    struct shared_table *table;
    uint8_t *entries; /* [entry_count] of entry_size */
    uint32_t *buckets;
    uint32_t entry_count, bucket_mask;
    uint32_t fresh;      /* entries from here on were never used */
    uint32_t free_entry; /* chain of freed entries */
    uint32_t sweep;
    uint64_t next_expiry_ns; /* the earliest that this round of the sweep has met */
    uint64_t quiet_until_ns; /* a whole round found nothing that expires before */
};

struct shared_table {
    struct shared_table_options options;
    struct shared_shard shard[SHARED_TABLE_SHARDS];
    unsigned shards_made;
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

static int shard_init(struct shared_shard *shard, struct shared_table *table)
{
    size_t memcap = table->options.memcap / SHARED_TABLE_SHARDS;
    size_t count = memcap / (table->options.entry_size + 2 * sizeof(*shard->buckets)); /* a bucket an entry, or two */
    uint32_t buckets = MIN_ENTRIES;

    shard->table = table;
    shard->entry_count = count < MIN_ENTRIES ? MIN_ENTRIES : count > UINT32_MAX / 2 ? UINT32_MAX / 2 : (uint32_t)count;
    while (buckets < shard->entry_count)
        buckets *= 2;
    shard->bucket_mask = buckets - 1;
    shard->fresh = shard->sweep = 1;
    shard->next_expiry_ns = UINT64_MAX;
    shard->entries = calloc(shard->entry_count, table->options.entry_size);
    shard->buckets = calloc(buckets, sizeof(*shard->buckets));
    if (!shard->entries || !shard->buckets || pthread_mutex_init(&shard->lock, NULL)) {
        free(shard->entries);
        free(shard->buckets);
        return -ENOMEM;
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
    for (; table->shards_made < SHARED_TABLE_SHARDS; table->shards_made++) {
        if (shard_init(&table->shard[table->shards_made], table)) {
            shared_table_free(table);
            return -ENOMEM;
        }
    }
    *out = table;
    return 0;
}

void shared_table_free(struct shared_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < table->shards_made; i++) {
        pthread_mutex_destroy(&table->shard[i].lock);
        free(table->shard[i].entries);
        free(table->shard[i].buckets);
    }
    free(table);
}

size_t shared_table_memory(const struct shared_table *table)
{
    size_t memory = sizeof(*table);

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++)
        memory += table->shard[i].entry_count * table->options.entry_size +
                  ((size_t)table->shard[i].bucket_mask + 1) * sizeof(uint32_t);
    return memory;
}

void shared_table_set_seed(struct shared_table *table, uint64_t seed)
{
    table->options.seed = seed;
}

struct shared_shard *shared_table_lock(struct shared_table *table, const void *key)
{
    struct shared_shard *shard = &table->shard[hash_key(table, key) >> 32 & (SHARED_TABLE_SHARDS - 1)];

    pthread_mutex_lock(&shard->lock);
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

static uint32_t *bucket_of(struct shared_shard *shard, uint64_t hash)
{
    return &shard->buckets[hash & shard->bucket_mask];
}

static uint32_t tag_of(uint64_t hash)
{
    return (uint32_t)(hash >> 32);
}

void shared_shard_remove(struct shared_shard *shard, void *removed)
{
    const struct shared_table_options *options = &shard->table->options;
    struct shared_entry *entry = removed;
    uint32_t index = index_of(shard, entry);

    for (uint32_t *link = bucket_of(shard, hash_key(shard->table, key_of(entry))); *link;
         link = &entry_at(shard, *link)->next) {
        if (*link == index) {
            *link = entry->next;
            break;
        }
    }
    if (options->forget)
        options->forget(options->user, shared_shard_number(shard), entry);
    memset(entry, 0, options->entry_size);
    entry->next = shard->free_entry;
    shard->free_entry = index;
    shard->quiet_until_ns = 0;
}

/* A round is over: when it freed nothing there is no use in another before the first entry expires. */
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
            shard->next_expiry_ns = 0; /* what takes its place may expire at any time */
        } else if (entry->expires_ns < shard->next_expiry_ns) {
            shard->next_expiry_ns = entry->expires_ns;
        }
        if (++shard->sweep >= shard->entry_count)
            begin_round(shard);
    }
}

static uint32_t take_entry(struct shared_shard *shard, uint64_t now_ns)
{
    if (!shard->free_entry && shard->fresh < shard->entry_count)
        return shard->fresh++;
    if (!shard->free_entry)
        sweep(shard, now_ns);

    uint32_t index = shard->free_entry;

    if (index)
        shard->free_entry = entry_at(shard, index)->next;
    return index;
}

static struct shared_entry *find(struct shared_shard *shard, const void *key, uint64_t hash)
{
    for (uint32_t i = *bucket_of(shard, hash); i; i = entry_at(shard, i)->next) {
        struct shared_entry *entry = entry_at(shard, i);

        if (entry->tag == tag_of(hash) && memcmp(key_of(entry), key, shard->table->options.key_size) == 0)
            return entry;
    }
    return NULL;
}

void *shared_shard_find(struct shared_shard *shard, const void *key)
{
    return find(shard, key, hash_key(shard->table, key));
}

void *shared_shard_get(struct shared_shard *shard, const void *key, uint64_t now_ns, bool *fresh)
{
    uint64_t hash = hash_key(shard->table, key);
    struct shared_entry *entry = find(shard, key, hash);
    uint32_t index, *bucket;

    *fresh = false;
    if (entry)
        return entry;
    index = take_entry(shard, now_ns);
    if (!index)
        return NULL;
    entry = entry_at(shard, index);
    memset(entry, 0, shard->table->options.entry_size);
    memcpy(key_of(entry), key, shard->table->options.key_size);
    entry->tag = tag_of(hash);
    bucket = bucket_of(shard, hash); /* after take_entry: the sweep may have changed it */
    entry->next = *bucket;
    *bucket = index;
    *fresh = true;
    return entry;
}
