/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared table: state by key that several workers read and change (thresholds, bits of hosts). It consists of hash
 * tables called shards, each with its own lock, which is held for one lookup and update.
 *
 * All memory is reserved at the start or by shared_table_set_memcap() (and backed by the kernel only when used), so a
 * lookup never allocates. When the table is full, for example after a scan from many addresses, a new entry replaces an
 * expired one, or one that may be evicted.
 *
 * Threads:   any, between lock and unlock of the key's shard.
 * Ownership: entries belong to the table; a pointer to one is valid until shared_table_unlock().
 */
#ifndef SLUICE_SHARED_TABLE_H
#define SLUICE_SHARED_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_table;
struct shared_shard;

/* The first member of the struct of an entry; the key is the next member. Keys are hashed and compared as bytes. */
struct shared_entry {
    uint64_t expires_ns; /* time after which the entry may be reused; 0: not set yet, so the entry is kept */
    uint32_t next;       /* private: next entry of the bucket, or of the list of free entries */
    uint32_t tag;        /* private: part of the key's hash */
};

enum { SHARED_TABLE_SHARDS = 32 }; /* a power of two */

struct shared_table_options {
    size_t entry_size; /* a multiple of 8 */
    size_t key_size;
    size_t memcap; /* bytes; each shard has room for a few entries in any case */
    uint64_t seed; /* seed of the hash: random if senders must not find keys that share a bucket */
    /* Called before an entry is removed or reused, to free what it refers to; may be NULL. `shard` counts from 0. */
    void (*forget)(void *user, unsigned shard, void *entry);
    /* Returns whether, when the memcap is reached, `entry` is evicted rather than `other`. NULL: the entry that expires
     * first is evicted. */
    bool (*gives_way)(const void *entry, const void *other);
    void *user;
};

/* 0 or -ENOMEM. */
int shared_table_new(struct shared_table **out, const struct shared_table_options *options);
void shared_table_free(struct shared_table *table); /* NULL is allowed; does not call forget() */
size_t shared_table_memory(const struct shared_table *table);
uint64_t shared_table_evicted(const struct shared_table *table); /* number of entries evicted before they expired */
size_t shared_table_memory_used(struct shared_table *table);     /* bytes of the entries in use */
/* Changes the memcap while workers use the table; one thread at a time. The entries of each shard are copied to new
 * memory with the shard locked. Returns 0, -EBUSY if the entries in use need more, or -ENOMEM. */
int shared_table_set_memcap(struct shared_table *table, size_t memcap);
/* Changes the seed of the hash. Allowed only while the table is empty and no other thread uses it. */
void shared_table_set_seed(struct shared_table *table, uint64_t seed);

struct shared_shard *shared_table_lock(struct shared_table *table,
                                       const void *key); /* returns the key's shard, locked */
void shared_table_unlock(struct shared_shard *shard);
unsigned shared_shard_number(const struct shared_shard *shard);

/* Returns the entry of the key for which the shard was locked, expired or not; NULL when there is none. */
void *shared_shard_find(struct shared_shard *shard, const void *key);
/* Returns the entry of the key, and creates it if there is none: then *fresh is true, and the bytes after its key are
 * zero. When the memcap is reached, another entry is evicted; returns NULL if none can be evicted. */
void *shared_shard_get(struct shared_shard *shard, const void *key, uint64_t now_ns, bool *fresh);
void shared_shard_remove(struct shared_shard *shard, void *entry);

/* Calls `each` for all entries with their shard locked: `each` may read and write the bytes after the entry's key, and
 * must not call other functions of the table. */
typedef void shared_table_function(struct shared_shard *shard, void *entry, void *user);
void shared_table_each(struct shared_table *table, shared_table_function *each, void *user);

#endif
