/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a direction that have been seen, and the ranges that have none.
 *
 * Everything before `contiguous` counts as seen; beyond it are the extents, which neither touch it nor each other. A
 * gap is a range that counts as seen and has no bytes: lost, because the receiver acknowledged bytes that were not seen
 * here, or skipped.
 *
 * Threads:   those of the store: one.
 * Ownership: objects of the three lists belong to the assembly.
 */
#include <errno.h>

#include "assembly_priv.h"

struct walk walk_start(const struct assembly *assembly, uint64_t start, uint64_t end)
{
    return (struct walk){ .at = start,
                          .end = end,
                          .contiguous = assembly->contiguous,
                          .extent = assembly->extents,
                          .hole = assembly->holes };
}

bool walk_next(struct walk *walk, struct piece *piece)
{
    if (walk->at >= walk->end)
        return false;
    while (walk->hole && walk->hole->end <= walk->at)
        walk->hole = walk->hole->next;
    while (walk->extent && walk->extent->end <= walk->at)
        walk->extent = walk->extent->next;

    piece->start = walk->at;
    piece->end = walk->end;
    if (walk->hole && walk->hole->start <= walk->at) {
        piece->kind = walk->hole->lost ? PIECE_LOST : PIECE_SKIPPED;
        piece->end = smaller(walk->end, walk->hole->end);
    } else {
        uint64_t stop = walk->hole ? smaller(walk->end, walk->hole->start) : walk->end;
        bool in_extent = walk->extent && walk->extent->start <= walk->at;

        piece->kind = walk->at < walk->contiguous || in_extent ? PIECE_SEEN : PIECE_NEW;
        if (walk->at < walk->contiguous)
            piece->end = smaller(stop, walk->contiguous);
        else if (walk->extent)
            piece->end = smaller(stop, in_extent ? walk->extent->end : walk->extent->start);
        else
            piece->end = stop;
    }
    walk->at = piece->end;
    return true;
}

/* Returns the link to the first extent that ends at or behind `start`. */
static struct assembly_extent **find_extent(struct assembly_extent **link, uint64_t start)
{
    while (*link && (*link)->end < start)
        link = &(*link)->next;
    return link;
}

int extent_room(const struct assembly_store *store, const struct assembly *assembly, uint64_t start, uint64_t end)
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
    struct assembly_extent *extent = pool_take(store->extents);

    if (extent) {
        *extent = (struct assembly_extent){ .next = *link, .start = start, .end = end };
        *link = extent;
    }
    return extent;
}

/* Removes the extents from *link on that overlap or touch the range up to `end`; returns the end of the merged range.
 */
static uint64_t absorb(struct assembly_store *store, struct assembly *assembly, struct assembly_extent **link,
                       uint64_t end)
{
    struct assembly_extent *extent;

    while ((extent = *link) && extent->start <= end) {
        end = larger(end, extent->end);
        *link = extent->next;
        assembly->extent_count--;
        pool_give(store->extents, extent);
    }
    return end;
}

void extent_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end)
{
    if (start <= assembly->contiguous) {
        if (end > assembly->contiguous)
            assembly->contiguous = absorb(store, assembly, &assembly->extents, end);
        return;
    }
    struct assembly_extent **link = find_extent(&assembly->extents, start);
    struct assembly_extent *extent = *link;

    if (extent && extent->start <= end) {
        extent->start = smaller(extent->start, start);
        extent->end = absorb(store, assembly, &extent->next, larger(extent->end, end));
    } else if (extent_insert(store, link, start, end)) {
        assembly->extent_count++;
        assembly->max_extents_seen = (uint16_t)larger(assembly->max_extents_seen, assembly->extent_count);
    }
}

/* --- Gaps ----------------------------------------------------------------------------------------- */

/* Merges the two oldest gaps when only history is lost by that. */
static bool merge_oldest_holes(struct assembly_store *store, struct assembly *assembly)
{
    struct assembly_extent *hole = assembly->holes, *next = hole ? hole->next : NULL;

    if (!next || next->end > smaller(assembly->inspected, assembly->acknowledged))
        return false;
    hole->end = next->end;
    hole->lost = true;
    hole->next = next->next;
    assembly->hole_count--;
    pool_give(store->extents, next);
    return true;
}

int hole_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end, bool lost)
{
    if (assembly->hole_count >= MAX_HOLES && !merge_oldest_holes(store, assembly))
        return -ENOSPC;
    if (pool_used(store->extents) == pool_capacity(store->extents) && !merge_oldest_holes(store, assembly))
        return -ENOMEM;

    struct assembly_extent **link = find_extent(&assembly->holes, start), *hole = *link;

    if (hole && hole->end == start) {
        if (hole->lost == lost) {
            hole->end = end;
            return 0;
        }
        link = &hole->next;
    }
    hole = extent_insert(store, link, start, end);
    hole->lost = lost;
    assembly->hole_count++;
    return 0;
}

/* Gives up a gap that cannot be recorded, together with everything before it. */
static bool jump(struct assembly_store *store, struct assembly *assembly, uint64_t offset)
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

bool extent_give_up(struct assembly_store *store, struct assembly *assembly, uint64_t offset)
{
    bool found = false;

    while (assembly->contiguous < offset) {
        uint64_t start = assembly->contiguous;
        uint64_t end = assembly->extents ? smaller(offset, assembly->extents->start) : offset;

        /* A gap that cannot be given up now is retried at the next acknowledgment, after more data has been inspected.
         */
        if (hole_add(store, assembly, start, end, true) && !jump(store, assembly, end))
            break;
        found = true;
        assembly->contiguous = absorb(store, assembly, &assembly->extents, end);
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
        pool_give(store->extents, extent);
    }
}

void extent_release(struct assembly_store *store, struct assembly *assembly, uint64_t before)
{
    release_list(store, &assembly->holes, &assembly->hole_count, before);
    release_list(store, &assembly->segments, &assembly->segment_count, before);
    if (!assembly->segments)
        assembly->segments_last = NULL;
}

void extent_clear(struct assembly_store *store, struct assembly *assembly)
{
    extent_release(store, assembly, UINT64_MAX);
    release_list(store, &assembly->extents, &assembly->extent_count, UINT64_MAX);
}
