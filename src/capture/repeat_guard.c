/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "repeat_guard.h"

#include <errno.h>
#include <stdlib.h>
#include <xxhash.h>

#include "sluice/packet.h"

enum {
    WAYS = 4, /* entries of a bucket, which is one cache line */
    MAX_BUCKETS = 1 << 14,
    HEAD = 256, /* HEAD bytes from the start of a packet and TAIL bytes from its end are hashed */
    TAIL = 64,
};

struct entry {
    uint64_t hash;    /* 0: the entry was never used */
    uint32_t receive; /* number of the receive in which the packet arrived last */
    uint32_t count;   /* how often in a row the packet has come back */
};

struct repeat_guard {
    uint64_t seed;
    uint32_t mask; /* number of buckets - 1 */
    /* Number of receives after which a packet cannot be in the queue any more, even if the queue was full. */
    uint32_t horizon;
    uint32_t receive;    /* number of the current receive */
    uint32_t last_empty; /* number of the last receive before the current one that left the socket empty */
    bool emptied;        /* the current receive left the socket empty */
    struct entry *entries;
};

int repeat_guard_new(struct repeat_guard **out, uint32_t length, uint32_t batch, uint64_t seed)
{
    struct repeat_guard *guard = calloc(1, sizeof(*guard));
    uint32_t buckets = 1;

    if (!guard)
        return -ENOMEM;
    while (buckets < MAX_BUCKETS && buckets * WAYS / 2 < length)
        buckets *= 2;
    guard->entries = calloc((size_t)buckets * WAYS, sizeof(*guard->entries));
    if (!guard->entries) {
        free(guard);
        return -ENOMEM;
    }
    guard->seed = seed;
    guard->mask = buckets - 1;
    guard->horizon = length / batch + 2;
    *out = guard;
    return 0;
}

void repeat_guard_free(struct repeat_guard *guard)
{
    if (!guard)
        return;
    free(guard->entries);
    free(guard);
}

void repeat_guard_receive(struct repeat_guard *guard, bool emptied)
{
    if (guard->emptied)
        guard->last_empty = guard->receive;
    guard->receive++;
    guard->emptied = emptied;
}

/* Returns the hash of a packet, never 0. The hash includes hook and interfaces, because the same packet may be queued
 * on two hooks. */
static uint64_t hash_of(const struct repeat_guard *guard, const struct packet *pkt)
{
    const uint32_t where[] = { pkt->wire_length, pkt->meta.in_ifindex, pkt->meta.out_ifindex, pkt->meta.hook };
    uint64_t hash = XXH3_64bits_withSeed(where, sizeof(where), guard->seed);
    uint32_t head = pkt->length < HEAD ? pkt->length : HEAD;
    uint32_t rest = pkt->length - head, tail = rest < TAIL ? rest : TAIL;

    hash = XXH3_64bits_withSeed(pkt->data, head, hash);
    if (tail > 0)
        hash = XXH3_64bits_withSeed(pkt->data + pkt->length - tail, tail, hash);
    return hash | 1;
}

/* Returns true if the packet of an entry, which was repeated after its last receive, may still be in the queue or
 * arrive in the current receive. */
static bool is_under_way(const struct repeat_guard *guard, const struct entry *entry)
{
    uint32_t age = guard->receive - entry->receive;

    return entry->hash != 0 && age <= guard->horizon && guard->receive - guard->last_empty >= age;
}

uint32_t repeat_guard_count(struct repeat_guard *guard, const struct packet *pkt)
{
    uint64_t hash = hash_of(guard, pkt);
    struct entry *bucket = &guard->entries[(size_t)(hash >> 32 & guard->mask) * WAYS];

    for (unsigned i = 0; i < WAYS; i++) {
        struct entry *entry = &bucket[i];

        if (entry->hash != hash || !is_under_way(guard, entry))
            continue;
        if (entry->receive != guard->receive) /* two packets of one receive cannot be the same packet */
            entry->count++;
        entry->receive = guard->receive;
        return entry->count;
    }
    for (unsigned i = 0; i < WAYS; i++) { /* use an entry whose packet cannot return any more */
        if (!is_under_way(guard, &bucket[i])) {
            bucket[i] = (struct entry){ .hash = hash, .receive = guard->receive };
            break;
        }
    }
    return 0;
}
