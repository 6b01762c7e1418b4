/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Host state: bits that rules set on an address, on a pair of addresses, for a time (hostbits, xbits). One table for
 * all workers, because a host's packets come through all of them.
 *
 * Threads:   any worker; sharded, a lock is held for one look-up. Touched only when a rule with such a keyword gets
 * that far. Callers take their turn first (turn.h).
 */
#ifndef SLUICE_HOST_H
#define SLUICE_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"

struct host_table;
struct transfer;

/* What a bit belongs to; unused fields zero. A pair is the same in both orders. */
struct host_key {
    struct address first, second; /* second: of a pair */
    uint8_t ip_version;
    bool is_pair;
    uint32_t number; /* of the bit's name */
};

int host_table_new(struct host_table **out, size_t memcap); /* 0 or -ENOMEM */
void host_table_free(struct host_table *table);             /* NULL is allowed */
/* Of the hash, before the first use: random in a daemon, so that nobody can choose addresses that make one chain;
 * always the same (0) in a replay, where also what finds no room has to be the same in every run. */
void host_table_set_seed(struct host_table *table, uint64_t seed);

/* Whether the bit is set and has not expired. */
bool host_bit_is_set(struct host_table *table, const struct host_key *key, uint64_t now_ns);
/* Sets it until expires_ns (UINT64_MAX: for good). False when there is no memory, which is counted. */
bool host_bit_set(struct host_table *table, const struct host_key *key, uint64_t now_ns, uint64_t expires_ns);
/* Clears it when it is set, sets it otherwise; whether it is set now. */
bool host_bit_toggle(struct host_table *table, const struct host_key *key, uint64_t now_ns, uint64_t expires_ns);
void host_bit_clear(struct host_table *table, const struct host_key *key);

/* To another process (sluice/transfer.h): all bits that have not expired. Reading: what the writer's numbers of names
 * are here, 0 for those that have none. */
struct host_numbers {
    const uint32_t *hosts, *pairs; /* by the writer's number */
    uint32_t host_count, pair_count;
};
void host_table_transfer(struct transfer *t, struct host_table *table, const struct host_numbers *numbers,
                         uint64_t now_ns);

uint64_t host_table_memcap_hits(const struct host_table *table);
uint64_t host_table_evicted(const struct host_table *table); /* bits that gave way to others before they expired */
size_t host_table_memory(const struct host_table *table);

#endif
