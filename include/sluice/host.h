/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Host state: bits that rules set on an address or on a pair of addresses for a limited time (hostbits, xbits). One
 * table for all workers, because each worker receives part of a host's packets.
 *
 * Threads:   any worker; the table is sharded, a lock is held for one lookup. Accessed only when the evaluation of a
 * rule reaches such a keyword. Callers wait for the replay ordering first (replay_order.h).
 */
#ifndef SLUICE_HOST_H
#define SLUICE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"

struct host_table;
struct transfer;

/* Identifies a bit; unused fields are zero. The order of the addresses of a pair does not matter. */
struct host_key {
    struct address first, second; /* second: only for pairs */
    uint8_t ip_version;
    bool is_pair;
    uint32_t number; /* number of the bit's name in the ruleset */
};

int host_table_new(struct host_table **out, size_t memcap); /* 0 or -ENOMEM */
void host_table_free(struct host_table *table);             /* NULL is allowed */
/* Sets the hash seed; called before the first use. Random in a daemon, so that senders cannot choose addresses that
 * collide; constant (0) in a replay, so that every run evicts and refuses the same entries. */
void host_table_set_seed(struct host_table *table, uint64_t seed);

/* Whether the bit is set and has not expired. */
bool host_bit_is_set(struct host_table *table, const struct host_key *key, uint64_t now_ns);
/* Returns when the bit expires in *expires_ns (UINT64_MAX: never); false if it is not set. */
bool host_bit_expiry(struct host_table *table, const struct host_key *key, uint64_t now_ns, uint64_t *expires_ns);
/* Sets the bit until expires_ns (UINT64_MAX: never expires). Returns false when the table is full, which is counted. */
bool host_bit_set(struct host_table *table, const struct host_key *key, uint64_t now_ns, uint64_t expires_ns);
/* Clears the bit if it is set, sets it otherwise. Returns true when the bit is set afterwards. */
bool host_bit_toggle(struct host_table *table, const struct host_key *key, uint64_t now_ns, uint64_t expires_ns);
/* Clears the bit. Returns whether it was set and had not expired. */
bool host_bit_clear(struct host_table *table, const struct host_key *key, uint64_t now_ns);

/* Transfers all unexpired bits to another process (sluice/transfer.h). The reader passes `numbers`, which maps the
 * writer's numbers of names to the reader's; 0: the reader does not have the name. */
struct host_numbers {
    const uint32_t *hosts, *pairs; /* indexed by the writer's number */
    uint32_t host_count, pair_count;
};
void host_table_transfer(struct transfer *t, struct host_table *table, const struct host_numbers *numbers,
                         uint64_t now_ns);

uint64_t host_table_memcap_hits(const struct host_table *table); /* bits not set because the table was full */
uint64_t host_table_evicted(const struct host_table *table);     /* unexpired bits evicted to make room */
size_t host_table_memory(const struct host_table *table);
size_t host_table_memory_used(struct host_table *table); /* bytes of the bits that are set */
/* Changes the memcap, as shared_table_set_memcap(). */
int host_table_set_memcap(struct host_table *table, size_t memcap);

#endif
