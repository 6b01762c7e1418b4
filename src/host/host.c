/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bits that rules set on hosts and on pairs of hosts (hostbits, xbits). Each set bit is one entry of a shared table.
 * There is no object per host, so a host uses no memory until a rule sets a bit on it, and clearing the bit frees that
 * memory.
 */
#include "sluice/host.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "sluice/shared_table.h"
#include "sluice/transfer.h"

/* The key of a bit: struct host_key without padding, and with the addresses of a pair in ascending order, because a
 * pair has no direction. */
struct key {
    struct address first, second;
    uint32_t number;
    uint16_t ip_version, is_pair;
};

struct bit {
    struct shared_entry entry; /* expires_ns: when the bit expires; UINT64_MAX: never */
    struct key key;
};

struct host_table {
    struct shared_table *bits;
    atomic_uint_least64_t memcap_hits;
};

_Static_assert(sizeof(struct key) == 40, "keys are hashed whole: no padding");
_Static_assert(offsetof(struct bit, key) == sizeof(struct shared_entry), "the key follows the entry's head");

int host_table_new(struct host_table **out, size_t memcap)
{
    const struct shared_table_options options = {
        .entry_size = sizeof(struct bit),
        .key_size = sizeof(struct key),
        .memcap = memcap,
    };
    struct host_table *table = calloc(1, sizeof(*table));

    if (!table)
        return -ENOMEM;
    if (shared_table_new(&table->bits, &options)) {
        free(table);
        return -ENOMEM;
    }
    *out = table;
    return 0;
}

void host_table_free(struct host_table *table)
{
    if (!table)
        return;
    shared_table_free(table->bits);
    free(table);
}

void host_table_set_seed(struct host_table *table, uint64_t seed)
{
    shared_table_set_seed(table->bits, seed);
}

static struct key make_key(const struct host_key *from)
{
    bool swap = from->is_pair && memcmp(&from->first, &from->second, sizeof(from->first)) > 0;

    return (struct key){
        .first = swap ? from->second : from->first,
        .second = swap ? from->first : from->second,
        .number = from->number,
        .ip_version = from->ip_version,
        .is_pair = from->is_pair,
    };
}

/* Returns the bit if it is set, otherwise NULL. Removes the bit if it has expired. */
static struct bit *find_bit(struct shared_shard *shard, const struct key *key, uint64_t now_ns)
{
    struct bit *bit = shared_shard_find(shard, key);

    if (bit && bit->entry.expires_ns < now_ns) {
        shared_shard_remove(shard, bit);
        bit = NULL;
    }
    return bit;
}

static bool set_bit(struct host_table *table, struct shared_shard *shard, const struct key *key, uint64_t now_ns,
                    uint64_t expires_ns)
{
    bool fresh;
    struct bit *bit = shared_shard_get(shard, key, now_ns, &fresh);

    if (!bit) {
        atomic_fetch_add_explicit(&table->memcap_hits, 1, memory_order_relaxed);
        return false;
    }
    /* 1 instead of 0, which would mean "no expiry set" in the shared table. */
    bit->entry.expires_ns = expires_ns ? expires_ns : 1;
    return true;
}

bool host_bit_expiry(struct host_table *table, const struct host_key *host_key, uint64_t now_ns, uint64_t *expires_ns)
{
    struct key key = make_key(host_key);
    struct shared_shard *shard = shared_table_lock(table->bits, &key);
    const struct bit *bit = find_bit(shard, &key, now_ns);
    bool found = bit != NULL;

    if (bit)
        *expires_ns = bit->entry.expires_ns;
    shared_table_unlock(shard);
    return found;
}

bool host_bit_is_set(struct host_table *table, const struct host_key *host_key, uint64_t now_ns)
{
    uint64_t expires_ns;

    return host_bit_expiry(table, host_key, now_ns, &expires_ns);
}

bool host_bit_set(struct host_table *table, const struct host_key *host_key, uint64_t now_ns, uint64_t expires_ns)
{
    struct key key = make_key(host_key);
    struct shared_shard *shard = shared_table_lock(table->bits, &key);
    bool done = set_bit(table, shard, &key, now_ns, expires_ns);

    shared_table_unlock(shard);
    return done;
}

bool host_bit_toggle(struct host_table *table, const struct host_key *host_key, uint64_t now_ns, uint64_t expires_ns)
{
    struct key key = make_key(host_key);
    struct shared_shard *shard = shared_table_lock(table->bits, &key);
    struct bit *bit = find_bit(shard, &key, now_ns);
    bool is_set = false;

    if (bit)
        shared_shard_remove(shard, bit);
    else
        is_set = set_bit(table, shard, &key, now_ns, expires_ns);
    shared_table_unlock(shard);
    return is_set;
}

bool host_bit_clear(struct host_table *table, const struct host_key *host_key, uint64_t now_ns)
{
    struct key key = make_key(host_key);
    struct shared_shard *shard = shared_table_lock(table->bits, &key);
    struct bit *bit = find_bit(shard, &key, now_ns);

    if (bit)
        shared_shard_remove(shard, bit);
    shared_table_unlock(shard);
    return bit != NULL;
}

uint64_t host_table_evicted(const struct host_table *table)
{
    return shared_table_evicted(table->bits);
}

uint64_t host_table_memcap_hits(const struct host_table *table)
{
    return atomic_load_explicit(&table->memcap_hits, memory_order_relaxed);
}

size_t host_table_memory_used(struct host_table *table)
{
    return shared_table_memory_used(table->bits);
}

int host_table_set_memcap(struct host_table *table, size_t memcap)
{
    return shared_table_set_memcap(table->bits, memcap);
}

size_t host_table_memory(const struct host_table *table)
{
    return sizeof(*table) + shared_table_memory(table->bits);
}

/* --- State transfer ------------------------------------------------------------------------------- */

struct bit_writer {
    struct transfer *t;
    uint64_t now_ns;
};

static void transfer_bit(struct transfer *t, struct bit *bit)
{
    transfer_bytes(t, &bit->key.first, sizeof(bit->key.first));
    transfer_bytes(t, &bit->key.second, sizeof(bit->key.second));
    transfer_u32(t, &bit->key.number);
    transfer_u16(t, &bit->key.ip_version);
    transfer_u16(t, &bit->key.is_pair);
    transfer_u64(t, &bit->entry.expires_ns);
    transfer_require(t, bit->key.is_pair <= 1);
}

static void write_bit(struct shared_shard *shard, void *entry, void *user)
{
    const struct bit_writer *writer = user;
    struct bit *bit = entry;

    (void)shard;
    if (bit->entry.expires_ns >= writer->now_ns)
        transfer_bit(writer->t, bit);
}

static void read_bit(struct transfer *t, struct host_table *table, const struct host_numbers *numbers)
{
    struct bit read = { .key = { .number = 0 } };
    struct shared_shard *shard;
    const uint32_t *own_numbers;
    uint32_t count;

    transfer_bit(t, &read);
    own_numbers = read.key.is_pair ? numbers->pairs : numbers->hosts;
    count = read.key.is_pair ? numbers->pair_count : numbers->host_count;
    if (t->error || read.key.number >= count || own_numbers[read.key.number] == 0)
        return;
    read.key.number = own_numbers[read.key.number];
    shard = shared_table_lock(table->bits, &read.key);
    set_bit(table, shard, &read.key, 0, read.entry.expires_ns);
    shared_table_unlock(shard);
}

void host_table_transfer(struct transfer *t, struct host_table *table, const struct host_numbers *numbers,
                         uint64_t now_ns)
{
    struct bit_writer writer = { t, now_ns };

    if (!t->reading)
        shared_table_each(table->bits, write_bit, &writer);
    while (t->reading && !t->error && t->at < t->limit)
        read_bit(t, table, numbers);
}
