/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state of thresholds, shared by all workers: a shared table, and beside each of its shards, under the same lock, blocks
 * of bits for the ports that `unique_on` has seen. A match never allocates; what finds no room is counted.
 *
 * Block 0 stands for none.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"

enum {
    PORT_BLOCK_SIZE = 65536 / 8,
    PORT_SHARE = 4, /* one part in so many of the memcap is for seen ports */
};

struct port_blocks {
    uint8_t *blocks;
    uint32_t count, fresh;
    uint32_t *free; /* stack */
    uint32_t free_count;
};

struct threshold_table {
    struct shared_table *states;
    struct port_blocks ports[SHARED_TABLE_SHARDS];
};

_Static_assert(offsetof(struct threshold_state, key) == sizeof(struct shared_entry), "the key follows the head");
_Static_assert(sizeof(struct threshold_key) == 48, "keys are hashed whole: no padding");

static int port_blocks_init(struct port_blocks *ports, size_t memcap)
{
    ports->count = (uint32_t)(memcap / (PORT_BLOCK_SIZE + sizeof(*ports->free))) + 2;
    ports->fresh = 1;
    ports->blocks = calloc(ports->count, PORT_BLOCK_SIZE);
    ports->free = calloc(ports->count, sizeof(*ports->free));
    return ports->blocks && ports->free ? 0 : -ENOMEM;
}

static void forget_ports(struct port_blocks *ports, struct threshold_state *state)
{
    if (!state->seen_block)
        return;
    memset(&ports->blocks[(size_t)state->seen_block * PORT_BLOCK_SIZE], 0, PORT_BLOCK_SIZE);
    ports->free[ports->free_count++] = state->seen_block;
    state->seen_block = 0;
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
        free(table->ports[i].free);
    }
    shared_table_free(table->states);
    free(table);
}

size_t threshold_table_memory(const struct threshold_table *table)
{
    size_t memory = shared_table_memory(table->states);

    for (unsigned i = 0; i < SHARED_TABLE_SHARDS; i++)
        memory += table->ports[i].count * (PORT_BLOCK_SIZE + sizeof(*table->ports[i].free));
    return memory;
}

struct shared_shard *threshold_table_lock(struct threshold_table *table, const struct threshold_key *key)
{
    return shared_table_lock(table->states, key);
}

bool threshold_table_see_port(struct threshold_table *table, const struct shared_shard *shard,
                              struct threshold_state *state, uint16_t port)
{
    struct port_blocks *ports = &table->ports[shared_shard_number(shard)];

    if (!state->seen_block) {
        if (ports->free_count > 0)
            state->seen_block = ports->free[--ports->free_count];
        else if (ports->fresh < ports->count)
            state->seen_block = ports->fresh++;
        else
            return false;
    }
    uint8_t *byte = &ports->blocks[(size_t)state->seen_block * PORT_BLOCK_SIZE + port / 8];
    uint8_t bit = (uint8_t)(1 << port % 8);
    bool is_new = !(*byte & bit);

    *byte |= bit;
    return is_new;
}

void threshold_table_forget_ports(struct threshold_table *table, const struct shared_shard *shard,
                                  struct threshold_state *state)
{
    forget_ports(&table->ports[shared_shard_number(shard)], state);
}
