/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The lists of seen ranges (extents) and of ranges without bytes (gaps) of a direction.
 *
 * All offsets before `contiguous` count as seen. The extents are behind it, and touch neither it nor each other. A gap
 * is a range that counts as seen but has no bytes, for one of two reasons: the receiver acknowledged bytes that were
 * not seen here (lost), or the byte is not part of the stream (skipped).
 *
 * Threads:   a store and its assemblies belong to one worker.
 * Ownership: the extents, gaps and recorded segments belong to the assembly.
 */
#include <errno.h>

#include "assembly_priv.h"

struct walk walk_start(const struct assembly *assembly, uint64_t start, uint64_t end)
{
    return (struct walk){
        .at = start, .end = end, .contiguous = assembly->contiguous, .extent = assembly->extents, .gap = assembly->gaps
    };
}

bool walk_next(struct walk *walk, struct range *range)
{
    if (walk->at >= walk->end)
        return false;
    while (walk->gap && walk->gap->end <= walk->at)
        walk->gap = walk->gap->next;
    while (walk->extent && walk->extent->end <= walk->at)
        walk->extent = walk->extent->next;

    range->start = walk->at;
    range->end = walk->end;
    if (walk->gap && walk->gap->start <= walk->at) {
        range->kind = walk->gap->lost ? RANGE_LOST : RANGE_SKIPPED;
        range->end = smaller(walk->end, walk->gap->end);
    } else {
        uint64_t stop = walk->gap ? smaller(walk->end, walk->gap->start) : walk->end;
        bool in_extent = walk->extent && walk->extent->start <= walk->at;

        range->kind = walk->at < walk->contiguous || in_extent ? RANGE_SEEN : RANGE_NEW;
        if (walk->at < walk->contiguous)
            range->end = smaller(stop, walk->contiguous);
        else if (walk->extent)
            range->end = smaller(stop, in_extent ? walk->extent->end : walk->extent->start);
        else
            range->end = stop;
    }
    walk->at = range->end;
    return true;
}

/* Returns the link to the first extent that ends at or behind `start`. */
static struct assembly_extent **find_extent(struct assembly_extent **link, uint64_t start)
{
    while (*link && (*link)->end < start)
        link = &(*link)->next;
    return link;
}

int extent_check_room(const struct assembly_store *store, const struct assembly *assembly, uint64_t start, uint64_t end)
{
    const struct assembly_extent *extent = assembly->extents;

    if (start <= assembly->contiguous)
        return 0;
    while (extent && extent->end < start)
        extent = extent->next;
    if (extent && extent->start <= end)
        return 0;
    if (assembly->extent_count >= MAX_EXTENTS)
        return -ENOSPC;
    return pool_used(store->extents) < pool_capacity(store->extents) ? 0 : -ENOMEM;
}

static struct assembly_extent *extent_insert(struct assembly_store *store, struct assembly_extent **link,
                                             uint64_t start, uint64_t end)
{
    struct assembly_extent *extent = pool_alloc(store->extents);

    if (extent) {
        *extent = (struct assembly_extent){ .next = *link, .start = start, .end = end };
        *link = extent;
    }
    return extent;
}

/* Removes the extents from *link on that overlap or touch the range up to `end`; returns the end of the merged range.
 */
static uint64_t merge_extents(struct assembly_store *store, struct assembly *assembly, struct assembly_extent **link,
                              uint64_t end)
{
    struct assembly_extent *extent;

    while ((extent = *link) && extent->start <= end) {
        end = larger(end, extent->end);
        *link = extent->next;
        assembly->extent_count--;
        pool_release(store->extents, extent);
    }
    return end;
}

void extent_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end)
{
    if (start <= assembly->contiguous) {
        if (end > assembly->contiguous)
            assembly->contiguous = merge_extents(store, assembly, &assembly->extents, end);
        return;
    }
    struct assembly_extent **link = find_extent(&assembly->extents, start);
    struct assembly_extent *extent = *link;

    if (extent && extent->start <= end) {
        extent->start = smaller(extent->start, start);
        extent->end = merge_extents(store, assembly, &extent->next, larger(extent->end, end));
    } else if (extent_insert(store, link, start, end)) {
        assembly->extent_count++;
        assembly->max_extents_seen = (uint16_t)larger(assembly->max_extents_seen, assembly->extent_count);
    }
}

/* --- Gaps ----------------------------------------------------------------------------------------- */

/* Merges the two oldest gaps if all bytes up to the second one are inspected and acknowledged, so that only history is
 * lost. Returns false otherwise. */
static bool merge_oldest_holes(struct assembly_store *store, struct assembly *assembly)
{
    struct assembly_extent *gap = assembly->gaps, *next = gap ? gap->next : NULL;

    if (!next || next->end > smaller(assembly->inspected, assembly->acknowledged))
        return false;
    gap->end = next->end;
    gap->lost = true;
    gap->next = next->next;
    assembly->hole_count--;
    pool_release(store->extents, next);
    return true;
}

int gap_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end, bool lost)
{
    if (assembly->hole_count >= MAX_GAPS && !merge_oldest_holes(store, assembly))
        return -ENOSPC;
    if (pool_used(store->extents) == pool_capacity(store->extents) && !merge_oldest_holes(store, assembly))
        return -ENOMEM;

    struct assembly_extent **link = find_extent(&assembly->gaps, start), *gap = *link;

    if (gap && gap->end == start) {
        if (gap->lost == lost) {
            gap->end = end;
            return 0;
        }
        link = &gap->next;
    }
    gap = extent_insert(store, link, start, end);
    gap->lost = lost;
    assembly->hole_count++;
    return 0;
}

/* Discards all data before the end (`offset`) of a gap that gap_add() cannot record. Returns false if data before the
 * gap is not inspected yet or the gap is not acknowledged. */
static bool skip_before(struct assembly_store *store, struct assembly *assembly, uint64_t offset)
{
    if (assembly->inspected < assembly->contiguous || offset > assembly->acknowledged)
        return false;
    block_release(store, assembly, offset);
    extent_release(store, assembly, offset);
    assembly->base = assembly->inspected = offset;
    assembly->gap_before_next = true;
    assembly->before_length = 0;
    return true;
}

bool extent_mark_lost(struct assembly_store *store, struct assembly *assembly, uint64_t offset)
{
    bool found = false;

    while (assembly->contiguous < offset) {
        uint64_t start = assembly->contiguous;
        uint64_t end = assembly->extents ? smaller(offset, assembly->extents->start) : offset;

        /* If data before the gap must be inspected first, the next acknowledgment tries again. */
        if (gap_add(store, assembly, start, end, true) && !skip_before(store, assembly, end))
            break;
        found = true;
        assembly->contiguous = merge_extents(store, assembly, &assembly->extents, end);
    }
    assembly->has_gap |= found;
    return found;
}

static void release_list(struct assembly_store *store, struct assembly_extent **list, uint16_t *count, uint64_t before)
{
    struct assembly_extent *extent;

    while ((extent = *list) && extent->end <= before) {
        *list = extent->next;
        --*count;
        pool_release(store->extents, extent);
    }
}

void extent_release(struct assembly_store *store, struct assembly *assembly, uint64_t before)
{
    release_list(store, &assembly->gaps, &assembly->hole_count, before);
    release_list(store, &assembly->segments, &assembly->segment_count, before);
    if (!assembly->segments)
        assembly->segments_last = NULL;
}

void extent_clear(struct assembly_store *store, struct assembly *assembly)
{
    extent_release(store, assembly, UINT64_MAX);
    release_list(store, &assembly->extents, &assembly->extent_count, UINT64_MAX);
}
