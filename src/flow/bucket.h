/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A bucket of the table is one cache line: the hashes of its flows beside the pointers to them, so that an unsuccessful
 * lookup touches no flow, and a successful one only the flow that it finds. Flows past the last slot are in a linked
 * list.
 */
#ifndef SLUICE_FLOW_BUCKET_H
#define SLUICE_FLOW_BUCKET_H

#include "flow_priv.h"

enum { BUCKET_PLACES = 5, BUCKET_LAST = BUCKET_PLACES - 1 };

struct bucket {
    uint32_t hashes[BUCKET_PLACES];
    uint32_t count; /* number of flows, including those in the list */
    struct flow *flows[BUCKET_PLACES];
};

static inline uint32_t bucket_places(const struct bucket *bucket)
{
    return bucket->count < BUCKET_PLACES ? bucket->count : BUCKET_PLACES;
}

/* Returns the next flow of a bucket, or NULL after the last one. *place is the position of the iteration, 0 at first;
 * `previous` is the flow that was returned last. */
static inline struct flow *bucket_next(const struct bucket *bucket, const struct flow *previous, uint32_t *place)
{
    if (*place < bucket_places(bucket))
        return bucket->flows[(*place)++];
    return bucket->count > BUCKET_PLACES ? previous->next : NULL;
}

static inline void bucket_put(struct bucket *bucket, uint32_t place, struct flow *flow)
{
    bucket->flows[place] = flow;
    bucket->hashes[place] = flow->hash;
}

static inline void bucket_add(struct bucket *bucket, struct flow *flow)
{
    uint32_t place = bucket_places(bucket);

    flow->next = place == BUCKET_PLACES ? bucket->flows[BUCKET_LAST] : NULL;
    bucket_put(bucket, place == BUCKET_PLACES ? BUCKET_LAST : place, flow);
    bucket->count++;
}

static inline void bucket_unlist(struct bucket *bucket, struct flow *flow)
{
    struct flow *before = bucket->flows[BUCKET_LAST];

    while (before->next != flow)
        before = before->next;
    before->next = flow->next;
}

static inline void bucket_move(struct bucket *bucket, uint32_t from, uint32_t to)
{
    bucket->flows[to] = bucket->flows[from];
    bucket->hashes[to] = bucket->hashes[from];
}

/* Removes a flow that is in the bucket. If the flow is in a slot, the flow of the last slot moves there, and the first
 * flow of the list moves to the last slot. The memory of other flows is accessed only if there is a list. */
static inline void bucket_remove(struct bucket *bucket, struct flow *flow)
{
    uint32_t places = bucket_places(bucket), place = 0;

    while (place < places && bucket->flows[place] != flow)
        place++;
    if (place == places) {
        bucket_unlist(bucket, flow);
    } else if (bucket->count <= BUCKET_PLACES) {
        bucket_move(bucket, places - 1, place);
    } else {
        struct flow *last = bucket->flows[BUCKET_LAST], *rest = last->next;

        last->next = NULL;
        bucket_move(bucket, BUCKET_LAST, place);
        bucket_put(bucket, BUCKET_LAST, rest);
    }
    bucket->count--;
}

static inline struct bucket *bucket_of(const struct flow_table *table, uint32_t hash)
{
    return &table->buckets[hash & table->bucket_mask];
}

/* Prefetches memory for a sequence of calls of flow_table_end(), whose flows are not in the CPU cache: the bucket of
 * the flow that ends next, and the flow that ends after it. The caller passes as `next` the flow that was `after` in
 * the previous call. Both may be NULL. */
static inline void bucket_prefetch_end(const struct flow_table *table, const struct flow *next,
                                       const struct flow *after)
{
    enum { CACHE_LINE = 64 };

    if (next)
        __builtin_prefetch(bucket_of(table, next->hash), 1);
    for (size_t at = 0; after && at < sizeof(*after); at += CACHE_LINE)
        __builtin_prefetch((const char *)after + at, 1);
}

#endif
