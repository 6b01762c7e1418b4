/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of thresholds, shared by all workers: a shared table, and beside each of its shards, under the same lock, blocks
 * for the ports that `unique_on` has seen, in chains: a few ports of many hosts are the usual case. Nobody keeps more ports
 * than the count that he waits for. A match never allocates; what finds no room is counted.
 *
 * Block 0 stands for none.
 */
#include <errno.h>
#include <stdlib.h>

#include "policy_priv.h"

enum {
    PORTS_PER_BLOCK = 61,
    PORT_SHARE = 4, /* one part in so many of the memcap is for seen ports */
};

struct port_block {
    uint32_t next; /* of the chain, or of those that are free */
    uint16_t used;
    uint16_t ports[PORTS_PER_BLOCK];
};

struct port_blocks {
    struct port_block *blocks;
    uint32_t count, fresh, free;
};

struct threshold_table {
    struct shared_table *states;
    struct port_blocks ports[SHARED_TABLE_SHARDS];
};

_Static_assert(offsetof(struct threshold_state, key) == sizeof(struct shared_entry), "the key follows the head");
_Static_assert(sizeof(struct threshold_key) == 48, "keys are hashed whole: no padding");

static int port_blocks_init(struct port_blocks *ports, size_t memcap)
{
    ports->count = (uint32_t)(memcap / sizeof(*ports->blocks)) + 2;
    ports->fresh = 1;
    ports->blocks = calloc(ports->count, sizeof(*ports->blocks));
    return ports->blocks ? 0 : -ENOMEM;
}

static void forget_ports(struct port_blocks *ports, struct threshold_state *state)
{
    uint32_t next;

    for (uint32_t block = state->seen_block; block; block = next) {
        next = ports->blocks[block].next;
        ports->blocks[block].next = ports->free;
        ports->free = block;
    }
    state->seen_block = 0;
}

/* A block in front of the chain; 0 when there is none. */
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

    forget_ports(&table->ports[shard], entry);
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
        .user = table,
    };
    int err = table ? shared_table_new(&table->states, &options) : -ENOMEM;

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS && !err; i++)
        err = port_blocks_init(&table->ports[i], memcap / PORT_SHARE / SHARED_TABLE_SHARDS);
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

enum port_seen threshold_table_see_port(struct threshold_table *table, const struct shared_shard *shard,
                                        struct threshold_state *state, uint16_t port)
{
    struct port_blocks *ports = &table->ports[shared_shard_number(shard)];
    uint32_t block = state->seen_block;

    if (has_port(ports, state, port))
        return PORT_OLD;
    if (!block || ports->blocks[block].used == PORTS_PER_BLOCK)
        block = add_block(ports, state);
    if (!block)
        return PORT_NO_MEMORY;
    ports->blocks[block].ports[ports->blocks[block].used++] = port;
    return PORT_NEW;
}

void threshold_table_forget_ports(struct threshold_table *table, const struct shared_shard *shard,
                                  struct threshold_state *state)
{
    forget_ports(&table->ports[shared_shard_number(shard)], state);
}
