/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Threshold state, shared by all workers: a shared table, and for each of its shards (under the shard's lock) chained
 * blocks that store the ports seen by `unique_on`. Blocks are small, because many hosts with few ports each are the
 * common case. A state stores no more ports than its threshold's count. No memory is allocated at a match. States and
 * ports that do not fit are counted.
 *
 * Block index 0 means: no block.
 */
#include <errno.h>
#include <stdlib.h>

#include "policy_priv.h"
#include "sluice/transfer.h"

enum {
    PORTS_PER_BLOCK = 61,
    PORT_SHARE = 4, /* 1/PORT_SHARE of the memcap is reserved for the ports seen by unique_on */
};

struct port_block {
    uint32_t next; /* next block of the chain, or of the free list */
    uint16_t used;
    uint16_t ports[PORTS_PER_BLOCK];
};

struct port_blocks {
    struct port_block *blocks;
    uint32_t count, fresh, free; /* number of blocks; first block that was never used; first free block */
};

struct threshold_table {
    struct shared_table *states;
    struct port_blocks ports[SHARED_TABLE_SHARDS];
};

_Static_assert(offsetof(struct threshold_state, key) == sizeof(struct shared_entry), "the key follows the head");
_Static_assert(sizeof(struct threshold_key) == 48, "keys are hashed whole: no padding");

static void free_ports(struct port_blocks *ports, struct threshold_state *state)
{
    uint32_t next;

    for (uint32_t block = state->seen_block; block; block = next) {
        next = ports->blocks[block].next;
        ports->blocks[block].next = ports->free;
        ports->free = block;
    }
    state->seen_block = 0;
}

/* Prepends a free block to the chain of the state. Returns its index; 0 when no block is free. */
static uint32_t add_block(struct port_blocks *ports, struct threshold_state *state)
{
    uint32_t block = ports->free;

    if (block)
        ports->free = ports->blocks[block].next;
    else if (ports->fresh < ports->count)
        block = ports->fresh++;
    else
        return 0;
    ports->blocks[block].next = state->seen_block;
    ports->blocks[block].used = 0;
    state->seen_block = block;
    return block;
}

static bool has_port(const struct port_blocks *ports, const struct threshold_state *state, uint16_t port)
{
    for (uint32_t block = state->seen_block; block; block = ports->blocks[block].next) {
        for (uint16_t i = 0; i < ports->blocks[block].used; i++) {
            if (ports->blocks[block].ports[i] == port)
                return true;
        }
    }
    return false;
}

static void forget_state(void *user, unsigned shard, void *entry)
{
    struct threshold_table *table = user;

    free_ports(&table->ports[shard], entry);
}

/* Returns whether `entry` is evicted rather than `other`. States with low counts are evicted first, so that a flood
 * from many addresses does not evict the state of a frequent sender. */
static bool gives_way(const void *entry, const void *other)
{
    const struct threshold_state *one = entry, *two = other;

    return one->count != two->count ? one->count < two->count : one->entry.expires_ns < two->entry.expires_ns;
}

int threshold_table_new(struct threshold_table **out, size_t memcap, uint64_t seed)
{
    struct threshold_table *table = calloc(1, sizeof(*table));
    const struct shared_table_options options = {
        .entry_size = sizeof(struct threshold_state),
        .key_size = sizeof(struct threshold_key),
        .memcap = memcap - memcap / PORT_SHARE,
        .seed = seed,
        .forget = forget_state,
        .gives_way = gives_way,
        .user = table,
    };
    int err = table ? shared_table_new(&table->states, &options) : -ENOMEM;

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS && !err; i++) {
        struct port_blocks *ports = &table->ports[i];

        ports->count = (uint32_t)(memcap / PORT_SHARE / SHARED_TABLE_SHARDS / sizeof(*ports->blocks)) + 2;
        ports->fresh = 1;
        ports->blocks = calloc(ports->count, sizeof(*ports->blocks));
        err = ports->blocks ? 0 : -ENOMEM;
    }
    if (err)
        threshold_table_free(table);
    else
        *out = table;
    return err;
}

void threshold_table_free(struct threshold_table *table)
{
    if (!table)
        return;
    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++) {
        free(table->ports[i].blocks);
    }
    shared_table_free(table->states);
    free(table);
}

uint64_t threshold_table_evicted(const struct threshold_table *table)
{
    return shared_table_evicted(table->states);
}

size_t threshold_table_memory(const struct threshold_table *table)
{
    size_t memory = shared_table_memory(table->states);

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++)
        memory += table->ports[i].count * sizeof(*table->ports[i].blocks);
    return memory;
}

struct shared_shard *threshold_table_lock(struct threshold_table *table, const struct threshold_key *key)
{
    return shared_table_lock(table->states, key);
}

enum port_status threshold_table_add_port(struct threshold_table *table, const struct shared_shard *shard,
                                          struct threshold_state *state, uint16_t port)
{
    struct port_blocks *ports = &table->ports[shared_shard_number(shard)];
    uint32_t block = state->seen_block;

    if (has_port(ports, state, port))
        return PORT_KNOWN;
    if (!block || ports->blocks[block].used == PORTS_PER_BLOCK)
        block = add_block(ports, state);
    if (!block)
        return PORT_NO_MEMORY;
    ports->blocks[block].ports[ports->blocks[block].used++] = port;
    return PORT_NEW;
}

void threshold_table_clear_ports(struct threshold_table *table, const struct shared_shard *shard,
                                 struct threshold_state *state)
{
    free_ports(&table->ports[shared_shard_number(shard)], state);
}

/* --- State transfer ------------------------------------------------------------------------------- */

struct threshold_writer {
    struct transfer *t;
    struct threshold_table *table;
    uint64_t now_ns;
};

static void transfer_state(struct transfer *t, struct threshold_state *state)
{
    transfer_u32(t, &state->key.gid);
    transfer_u32(t, &state->key.sid);
    transfer_u8(t, &state->key.kind);
    transfer_u8(t, &state->key.ip_version);
    transfer_u8(t, &state->key.track);
    transfer_u8(t, &state->key.protocol);
    transfer_u16(t, &state->key.first_port);
    transfer_u16(t, &state->key.second_port);
    transfer_bytes(t, &state->key.first, sizeof(state->key.first));
    transfer_bytes(t, &state->key.second, sizeof(state->key.second));
    transfer_u64(t, &state->entry.expires_ns);
    transfer_u64(t, &state->start_ns);
    transfer_u64(t, &state->timeout_ns);
    transfer_u32(t, &state->count);
    transfer_u32(t, &state->next_count);
}

static void write_state(struct shared_shard *shard, void *entry, void *user)
{
    struct threshold_writer *writer = user;
    struct threshold_state *state = entry;

    if (state->entry.expires_ns != 0 && state->entry.expires_ns < writer->now_ns)
        return;
    transfer_state(writer->t, state);

    const struct port_blocks *ports = &writer->table->ports[shared_shard_number(shard)];
    uint32_t count = 0;

    for (uint32_t block = state->seen_block; block; block = ports->blocks[block].next)
        count += ports->blocks[block].used;
    transfer_u32(writer->t, &count);
    for (uint32_t block = state->seen_block; block; block = ports->blocks[block].next) {
        for (uint16_t i = 0; i < ports->blocks[block].used; i++)
            transfer_u16(writer->t, &ports->blocks[block].ports[i]);
    }
}

/* Reads the seen ports of a state, and stores each one once, as long as there is memory. Duplicates are not stored, so
 * the cost is bounded by the number of ports. */
static void read_ports(struct transfer *t, struct threshold_table *table, struct shared_shard *shard,
                       struct threshold_state *state)
{
    uint32_t count = 0;

    transfer_u32(t, &count);
    transfer_require(t, count <= UINT16_MAX + 1 && transfer_has_room(t, count, sizeof(uint16_t)));
    for (uint32_t i = 0; i < count && !t->error; i++) {
        uint16_t port = 0;

        transfer_u16(t, &port);
        if (shard)
            threshold_table_add_port(table, shard, state, port);
    }
}

static void read_state(struct transfer *t, struct threshold_table *table)
{
    struct threshold_state read = { .count = 0 }, *state = NULL;
    struct shared_shard *shard;
    bool fresh = false;

    transfer_state(t, &read);
    if (t->error)
        return;
    shard = shared_table_lock(table->states, &read.key);
    state = shared_shard_get(shard, &read.key, 0, &fresh);
    if (state && fresh) {
        state->entry.expires_ns = read.entry.expires_ns;
        state->start_ns = read.start_ns;
        state->timeout_ns = read.timeout_ns;
        state->count = read.count;
        state->next_count = read.next_count;
    }
    read_ports(t, table, fresh ? shard : NULL, state);
    shared_table_unlock(shard);
}

void threshold_table_transfer(struct transfer *t, struct threshold_table *table, uint64_t now_ns)
{
    struct threshold_writer writer = { t, table, now_ns };

    if (!t->reading)
        shared_table_each(table->states, write_state, &writer);
    while (t->reading && !t->error && t->at < t->limit)
        read_state(t, table);
}
