/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of thresholds, shared by all workers: SHARDS hash tables, each with a lock of its own that is held for one
 * look-up and update. All memory is reserved at the start (and touched by the kernel only as it is used), so a match
 * never allocates; a scan from many addresses fills the table and then reuses expired entries, or is counted.
 *
 * Entry 0 and block 0 stand for none.
 */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "policy_priv.h"

enum {
    SHARDS = 32,
    MIN_ENTRIES = 64,
    SWEEP_PER_INSERT = 64, /* entries looked at for an expired one when none is free */
    PORT_BLOCK_SIZE = 65536 / 8,
    PORT_SHARE = 4, /* one part in so many of the memcap is for seen ports */
};

struct threshold_shard {
    pthread_mutex_t lock;
    struct threshold_state *entries;
    uint32_t *buckets;
    uint8_t *port_blocks;
    uint32_t entry_count, bucket_mask;
    uint32_t fresh;      /* entries from here on were never used */
    uint32_t free_entry; /* chain of freed entries */
    uint32_t sweep;
    uint32_t block_count, fresh_block;
    uint32_t *free_blocks; /* stack */
    uint32_t free_block_count;
};

struct threshold_table {
    struct threshold_shard shard[SHARDS];
    size_t memory;
};

static uint64_t hash_key(const struct threshold_key *key)
{
    return XXH3_64bits(key, sizeof(*key));
}

static int shard_init(struct threshold_shard *shard, size_t memcap)
{
    size_t for_ports = memcap / PORT_SHARE;
    size_t for_entries = memcap - for_ports;
    uint32_t buckets = MIN_ENTRIES;

    shard->entry_count = (uint32_t)(for_entries / (sizeof(*shard->entries) + sizeof(*shard->buckets)));
    if (shard->entry_count < MIN_ENTRIES)
        shard->entry_count = MIN_ENTRIES;
    while (buckets * 2 <= shard->entry_count)
        buckets *= 2;
    shard->bucket_mask = buckets - 1;
    shard->block_count = (uint32_t)(for_ports / (PORT_BLOCK_SIZE + sizeof(*shard->free_blocks))) + 2;
    shard->fresh = shard->fresh_block = shard->sweep = 1;
    shard->entries = calloc(shard->entry_count, sizeof(*shard->entries));
    shard->buckets = calloc(buckets, sizeof(*shard->buckets));
    shard->port_blocks = calloc(shard->block_count, PORT_BLOCK_SIZE);
    shard->free_blocks = calloc(shard->block_count, sizeof(*shard->free_blocks));
    if (!shard->entries || !shard->buckets || !shard->port_blocks || !shard->free_blocks)
        return -ENOMEM;
    return -pthread_mutex_init(&shard->lock, NULL);
}

int threshold_table_new(struct threshold_table **out, size_t memcap)
{
    struct threshold_table *table = calloc(1, sizeof(*table));

    if (!table)
        return -ENOMEM;
    for (unsigned i = 0; i < SHARDS; i++) {
        if (shard_init(&table->shard[i], memcap / SHARDS)) {
            threshold_table_free(table);
            return -ENOMEM;
        }
    }
    for (unsigned i = 0; i < SHARDS; i++) {
        const struct threshold_shard *shard = &table->shard[i];

        table->memory += shard->entry_count * sizeof(*shard->entries) +
                         (shard->bucket_mask + 1) * sizeof(*shard->buckets) +
                         shard->block_count * (PORT_BLOCK_SIZE + sizeof(*shard->free_blocks));
    }
    *out = table;
    return 0;
}

void threshold_table_free(struct threshold_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < SHARDS; i++) {
        struct threshold_shard *shard = &table->shard[i];

        free(shard->entries);
        free(shard->buckets);
        free(shard->port_blocks);
        free(shard->free_blocks);
    }
    free(table);
}

size_t threshold_table_memory(const struct threshold_table *table)
{
    return table->memory;
}

struct threshold_shard *threshold_table_lock(struct threshold_table *table, const struct threshold_key *key)
{
    struct threshold_shard *shard = &table->shard[hash_key(key) >> 32 & (SHARDS - 1)];

    pthread_mutex_lock(&shard->lock);
    return shard;
}

void threshold_table_unlock(struct threshold_shard *shard)
{
    pthread_mutex_unlock(&shard->lock);
}

static uint32_t *bucket_of(struct threshold_shard *shard, const struct threshold_key *key)
{
    return &shard->buckets[hash_key(key) & shard->bucket_mask];
}

static void release_entry(struct threshold_shard *shard, uint32_t index)
{
    struct threshold_state *state = &shard->entries[index];

    for (uint32_t *link = bucket_of(shard, &state->key); *link; link = &shard->entries[*link].next) {
        if (*link == index) {
            *link = state->next;
            break;
        }
    }
    threshold_shard_forget_ports(shard, state);
    memset(state, 0, sizeof(*state));
    state->next = shard->free_entry;
    shard->free_entry = index;
}

/* Looks at the next few entries in turn and frees the expired ones: the cost is bounded, all get their turn. */
static void sweep(struct threshold_shard *shard, uint64_t now_ns)
{
    for (unsigned i = 0; i < SWEEP_PER_INSERT; i++) {
        uint32_t index = shard->sweep;

        shard->sweep = index + 1 < shard->entry_count ? index + 1 : 1;
        if (shard->entries[index].expires_ns != 0 && shard->entries[index].expires_ns < now_ns)
            release_entry(shard, index);
    }
}

static uint32_t take_entry(struct threshold_shard *shard, uint64_t now_ns)
{
    if (!shard->free_entry && shard->fresh < shard->entry_count)
        return shard->fresh++;
    if (!shard->free_entry)
        sweep(shard, now_ns);

    uint32_t index = shard->free_entry;

    if (index)
        shard->free_entry = shard->entries[index].next;
    return index;
}

struct threshold_state *threshold_shard_get(struct threshold_shard *shard, const struct threshold_key *key,
                                            uint64_t now_ns, bool *fresh)
{
    *fresh = false;
    for (uint32_t i = *bucket_of(shard, key); i; i = shard->entries[i].next) {
        if (memcmp(&shard->entries[i].key, key, sizeof(*key)) == 0)
            return &shard->entries[i];
    }
    uint32_t index = take_entry(shard, now_ns);

    if (!index)
        return NULL;

    struct threshold_state *state = &shard->entries[index];
    uint32_t *bucket = bucket_of(shard, key);

    memset(state, 0, sizeof(*state));
    state->key = *key;
    state->next = *bucket;
    *bucket = index;
    *fresh = true;
    return state;
}

bool threshold_shard_see_port(struct threshold_shard *shard, struct threshold_state *state, uint16_t port)
{
    if (!state->seen_block) {
        if (shard->free_block_count > 0)
            state->seen_block = shard->free_blocks[--shard->free_block_count];
        else if (shard->fresh_block < shard->block_count)
            state->seen_block = shard->fresh_block++;
        else
            return false;
    }
    uint8_t *byte = &shard->port_blocks[(size_t)state->seen_block * PORT_BLOCK_SIZE + port / 8];
    uint8_t bit = (uint8_t)(1 << port % 8);
    bool is_new = !(*byte & bit);

    *byte |= bit;
    return is_new;
}

void threshold_shard_forget_ports(struct threshold_shard *shard, struct threshold_state *state)
{
    if (!state->seen_block)
        return;
    memset(&shard->port_blocks[(size_t)state->seen_block * PORT_BLOCK_SIZE], 0, PORT_BLOCK_SIZE);
    shard->free_blocks[shard->free_block_count++] = state->seen_block;
    state->seen_block = 0;
}
