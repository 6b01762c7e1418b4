/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Estimates how long packets have waited in a queue. The kernel attaches a time stamp to few packets (NFQA_TIMESTAMP),
 * but it numbers all packets when it queues them. A mark consists of a time and the id of the last packet queued at
 * that time: packets up to that id were queued before the time, all others after it. Each receive that empties the
 * queue sets a mark at no cost; while the queue is never empty, queue_watch.c reads the last id from the kernel from
 * time to time. The age of a packet is interpolated between two marks by its id.
 *
 * The error of an age is therefore at most the time between two marks, unless old marks had to be dropped.
 */
#include <string.h>

#include "sluice/overload.h"

static struct queue_age_mark *mark_at(struct queue_age *age, unsigned index)
{
    return &age->marks[(age->first + index) % QUEUE_AGE_MARKS];
}

/* Whether `id` was assigned after `other`. Ids have 32 bits and wrap around. */
static bool is_after(uint32_t id, uint32_t other)
{
    return (int32_t)(id - other) > 0;
}

void queue_age_mark(struct queue_age *age, uint32_t id, uint64_t at_ns, bool drained)
{
    /* Drop the oldest mark. The ages of packets that were queued before the next mark are then estimated too low. */
    if (age->count == QUEUE_AGE_MARKS) {
        age->first = (age->first + 1) % QUEUE_AGE_MARKS;
        age->count--;
    }
    *mark_at(age, age->count++) = (struct queue_age_mark){ id, at_ns };
    age->drained = drained;
}

void queue_age_slept(struct queue_age *age, uint64_t slept_ns)
{
    if (age->count > 0 && age->drained)
        mark_at(age, age->count - 1)->at_ns += slept_ns;
}

static uint64_t since(uint64_t at_ns, uint64_t now_ns)
{
    return now_ns > at_ns ? now_ns - at_ns : 0;
}

uint64_t queue_age_of(struct queue_age *age, uint32_t id, uint64_t now_ns)
{
    const struct queue_age_mark *low, *high;

    /* The packet arrived after the second mark, so the first is not needed any more. */
    while (age->count > 1 && is_after(id, mark_at(age, 1)->id)) {
        age->first = (age->first + 1) % QUEUE_AGE_MARKS;
        age->count--;
    }
    if (age->count == 0)
        return 0;
    low = mark_at(age, 0);
    if (!is_after(id, low->id) ||
        age->count == 1) /* the result is a minimum before the first mark, and a maximum after the only mark */
        return since(low->at_ns, now_ns);
    high = mark_at(age, 1);
    return since(low->at_ns + (high->at_ns - low->at_ns) * (id - low->id) / (high->id - low->id), now_ns);
}

/* --- Distribution --------------------------------------------------------------------------------- */

/* Returns the histogram bucket of an age: one bucket per microsecond for 0 to 7, above that eight per power of two. */
static unsigned bucket_of(uint64_t us)
{
    unsigned power, bucket;

    if (us < QUEUE_AGE_STEPS)
        return (unsigned)us;
    power = 63 - (unsigned)__builtin_clzll(us); /* the highest set bit; at least 3 */
    bucket = (power - 2) * QUEUE_AGE_STEPS + (unsigned)(us >> (power - 3) & (QUEUE_AGE_STEPS - 1));
    return bucket < QUEUE_AGE_BUCKETS ? bucket : QUEUE_AGE_BUCKETS - 1;
}

/* Returns the highest age in a bucket, in microseconds. */
static uint64_t bucket_end(unsigned bucket)
{
    unsigned power = bucket / QUEUE_AGE_STEPS + 2, step = bucket % QUEUE_AGE_STEPS;

    if (bucket < QUEUE_AGE_STEPS)
        return bucket;
    return ((UINT64_C(1) << power) + ((uint64_t)(step + 1) << (power - 3))) - 1;
}

void queue_age_count(struct queue_age_counts *counts, uint64_t age_ns, uint32_t packets)
{
    counts->last_ns = age_ns;
    if (age_ns > counts->max_ns)
        counts->max_ns = age_ns;
    counts->packets[bucket_of(age_ns / 1000)] += packets;
}

uint64_t queue_age_percentile(const struct queue_age_counts *counts, const struct queue_age_counts *before,
                              unsigned permille)
{
    uint64_t total = 0, seen = 0, wanted;

    for (unsigned i = 0; i < QUEUE_AGE_BUCKETS; i++)
        total += counts->packets[i] - (before ? before->packets[i] : 0);
    wanted = total - total / 1000 * (1000 - permille) - total % 1000 * (1000 - permille) / 1000;
    for (unsigned i = 0; i < QUEUE_AGE_BUCKETS && total > 0; i++) {
        seen += counts->packets[i] - (before ? before->packets[i] : 0);
        if (seen >= wanted && seen > 0)
            return bucket_end(i) * 1000;
    }
    return 0;
}
