/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly: adding segments; assembly_chunk.c yields chunks. See assembly.h for the semantics and assembly_priv.h for
 * the data structures.
 *
 * A segment that continues the contiguous data, with no out-of-order data in its range, touches neither extents nor
 * gaps: one copy into the last blocks. Other segments are processed range by range. Memory for blocks and for an extent
 * is reserved before anything is written, so a segment is stored completely or not at all.
 *
 * Bytes that are not needed any more are freed by the next call that modifies the assembly, not when a chunk is
 * yielded, because the chunk may point to them.
 *
 * Threads:   a store and its assemblies belong to one worker.
 * Ownership: as in assembly.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "assembly_priv.h"

enum { EXTENT_SHARE = 32 }; /* one part in 32 of the memcap is for extents */

int assembly_store_new(struct assembly_store **out, const struct assembly_options *options)
{
    struct assembly_store *store = calloc(1, sizeof(*store));
    size_t extents = options->memcap / EXTENT_SHARE;

    if (!store)
        return -ENOMEM;
    store->inline_mode = options->inline_mode;
    if (pool_new(&store->extents, sizeof(struct assembly_extent), extents) ||
        pool_new(&store->blocks, sizeof(struct assembly_block), options->memcap - extents)) {
        assembly_store_free(store);
        return -ENOMEM;
    }
    *out = store;
    return 0;
}

void assembly_store_free(struct assembly_store *store)
{
    if (!store)
        return;
    pool_free(store->blocks);
    pool_free(store->extents);
    free(store);
}

int assembly_store_set_memcap(struct assembly_store *store, size_t memcap)
{
    size_t extents = memcap / EXTENT_SHARE;
    int err = pool_check_memcap(store->extents, extents);

    if (!err)
        err = pool_set_memcap(store->blocks, memcap - extents);
    return err ? err : pool_set_memcap(store->extents, extents);
}

size_t assembly_store_memory(const struct assembly_store *store)
{
    return pool_memory(store->blocks) + pool_memory(store->extents);
}

void assembly_store_trim(struct assembly_store *store)
{
    pool_trim(store->blocks);
    pool_trim(store->extents);
}

/* --- Releasing memory ----------------------------------------------------------------------------- */

/* The last quarter of the memory is reserved for unacknowledged data, which cannot be discarded without loss. History
 * (inspected bytes, kept for later matches) can be discarded, so none is kept when memory is tight. */
bool assembly_store_is_tight(const struct assembly_store *store)
{
    return pool_used(store->blocks) > pool_capacity(store->blocks) / 4 * 3;
}

void assembly_release(struct assembly_store *store, struct assembly *assembly)
{
    bool tight = assembly_store_is_tight(store);
    uint64_t history = tight ? 0 : smaller(assembly->window, HISTORY_MAX);
    uint64_t inspected = assembly->inspected > history ? assembly->inspected - history : 0;
    uint64_t before = smaller(assembly->acknowledged, inspected);

    if (before <= assembly->base)
        return;
    assembly->base = before;
    block_release(store, assembly, before);
    if (tight && before == assembly->contiguous && assembly->extent_count == 0)
        block_release(store, assembly,
                      UINT64_MAX); /* the last block contains only bytes that are not needed any more */
    extent_release(store, assembly, before);
}

bool assembly_acknowledge(struct assembly_store *store, struct assembly *assembly, uint64_t offset)
{
    if (assembly->stopped)
        return false;
    assembly->acknowledged = larger(offset, assembly->acknowledged);

    uint64_t until = assembly->limit ? smaller(assembly->acknowledged, assembly->limit) : assembly->acknowledged;
    bool gap = assembly->contiguous < until && extent_mark_lost(store, assembly, until);

    assembly_release(store, assembly);
    return gap;
}

static void forget_chunks(struct assembly_store *store, const struct assembly *assembly)
{
    if (store->trusted_assembly == assembly)
        store->trusted_assembly = NULL;
    if (store->window_assembly == assembly)
        store->window_assembly = NULL;
}

bool assembly_evict(struct assembly_store *store, struct assembly *assembly)
{
    uint64_t inspected =
        store->inline_mode ? assembly->inspected : smaller(assembly->inspected, assembly->acknowledged);
    bool out_of_order = assembly->extents != NULL || inspected < assembly->contiguous;
    bool unacknowledged = assembly->acknowledged < assembly->contiguous;

    if (assembly->stopped)
        return false;
    forget_chunks(store, assembly);
    block_release(store, assembly, UINT64_MAX);
    extent_clear(store, assembly);
    if (assembly->base < assembly->contiguous)
        assembly->base = assembly->contiguous;
    assembly->inspected = larger(assembly->inspected, assembly->contiguous);
    assembly->parsed = larger(assembly->parsed, assembly->contiguous);
    assembly->before_length = 0;
    if (!store->inline_mode) /* passive: segments reach the receiver in any case, so none is refused later */
        assembly->has_gap |= out_of_order, assembly->gap_before_next |= out_of_order;
    else if (out_of_order)
        assembly->evicted = EVICTED_OUT_OF_ORDER;
    else if (unacknowledged && assembly->evicted == EVICTED_NOTHING)
        assembly->evicted = EVICTED_UNACKNOWLEDGED;
    return out_of_order || unacknowledged;
}

void assembly_stop(struct assembly_store *store, struct assembly *assembly)
{
    forget_chunks(store, assembly);
    block_release(store, assembly, UINT64_MAX);
    extent_clear(store, assembly);
    assembly->base = assembly->inspected = assembly->limit = assembly->contiguous;
    assembly->before_length = 0;
    assembly->stopped = true;
}

void assembly_end(struct assembly_store *store, struct assembly *assembly)
{
    if (assembly->first || assembly->extents || assembly->gaps || assembly->segments)
        assembly_stop(store, assembly);
    else
        forget_chunks(store, assembly);
}

void assembly_clear(struct assembly_store *store, struct assembly *assembly)
{
    assembly_end(store, assembly);
    *assembly = (struct assembly){ 0 };
}

/* --- Adding --------------------------------------------------------------------------------------- */

/* The part of a segment that can be stored: from assembly.base up to assembly.limit. */
struct clipped {
    uint64_t start, end;
    const uint8_t *bytes; /* bytes from `start` on; NULL: not given (rewrite, skip) */
};

static struct clipped clip(const struct assembly *assembly, uint64_t offset, const uint8_t *bytes, uint32_t length,
                           struct assembly_report *report)
{
    uint64_t base = assembly->base;
    uint64_t missed = (int64_t)offset < 0 ? -offset + base : offset < base ? base - offset : 0;
    uint64_t end = offset + length;

    report->too_old = missed > 0 && length > 0;
    if (missed >= length)
        return (struct clipped){ 0 };
    if ((assembly->limit || assembly->stopped) && end > assembly->limit) {
        report->beyond_limit = true;
        end = assembly->limit;
    }
    return (struct clipped){ offset + missed, end, bytes ? bytes + missed : NULL };
}

/* Compares a segment with the stored bytes in its range. Adds to report->added and ->overlapping, and sets ->differs,
 * ->too_old and ->lost. */
static void compare_segment(const struct assembly *assembly, const struct clipped *clipped,
                            struct assembly_report *report)
{
    struct walk walk = walk_start(assembly, clipped->start, clipped->end);
    struct range range;

    while (walk_next(&walk, &range)) {
        uint32_t count = (uint32_t)(range.end - range.start);

        if (range.kind == RANGE_NEW) {
            report->added += count;
        } else if (range.kind == RANGE_LOST) {
            report->too_old = report->lost = true;
        } else {
            report->overlapping += count;
            report->differs |= range.kind == RANGE_SEEN && !report->differs &&
                               !block_equal(assembly, &walk.block, range.start, range.end,
                                            clipped->bytes + (range.start - clipped->start));
        }
    }
}

/* Returns whether the segment begins at the end of the contiguous data and ends before the first extent. */
static bool is_in_order(const struct assembly *assembly, const struct clipped *clipped)
{
    return clipped->start == assembly->contiguous && (!assembly->extents || clipped->end < assembly->extents->start);
}

/* Adds a segment range by range: compares bytes that are stored already, and writes missing ones. Returns 0, -ENOMEM or
 * -ENOSPC. */
static int add_ranges(struct assembly_store *store, struct assembly *assembly, const struct clipped *clipped,
                      enum host_os os, const struct assembly_extent *segment, struct assembly_report *report)
{
    struct walk walk;
    struct range range;

    compare_segment(assembly, clipped, report);
    if (report->added > 0) {
        size_t capacity = pool_capacity(store->blocks);
        int err = extent_check_room(store, assembly, clipped->start, clipped->end);

        /* A sender can keep data behind a gap in memory as long as it does not fill the gap. The last eighth of the
         * memory is therefore reserved for data in order, which is freed when it is acknowledged. */
        if (!err && clipped->start > assembly->contiguous && capacity - pool_used(store->blocks) < capacity / 8)
            err = -ENOMEM;
        if (!err)
            err = block_reserve(store, assembly, clipped->start, clipped->end);
        report->no_memory = err == -ENOMEM;
        report->too_many_extents = err == -ENOSPC;
        if (err) {
            report->added = 0;
            return err;
        }
    }
    walk = walk_start(assembly, clipped->start, clipped->end);
    while (walk_next(&walk, &range)) {
        const uint8_t *bytes = clipped->bytes + (range.start - clipped->start);

        if (range.kind == RANGE_NEW)
            block_write(assembly, &walk.block, range.start, range.end, bytes);
        else if (range.kind == RANGE_SEEN && report->differs && !store->inline_mode)
            overlap_write(assembly, &walk.block, os, segment, &range, bytes);
    }
    extent_add(store, assembly, clipped->start, clipped->end);
    return 0;
}

int assembly_add(struct assembly_store *store, struct assembly *assembly, uint64_t offset, const uint8_t *bytes,
                 uint32_t length, enum host_os os, struct assembly_report *report)
{
    *report = (struct assembly_report){ 0 };
    store->trusted_assembly = NULL;
    assembly_release(store, assembly);

    struct clipped clipped = clip(assembly, offset, bytes, length, report);
    struct assembly_extent segment = { .start = (int64_t)offset < 0 ? 0 : offset, .end = clipped.end };

    /* Refuse a segment whose bytes in an evicted range cannot be compared with the first-seen ones, although the
     * receiver may accept them. */
    if (length > 0 && (assembly->evicted == EVICTED_OUT_OF_ORDER ||
                       (assembly->evicted == EVICTED_UNACKNOWLEDGED && (int64_t)offset < (int64_t)assembly->base &&
                        (int64_t)(offset + length) > (int64_t)assembly->acknowledged))) {
        report->no_memory = true;
        return -EBUSY;
    }
    if (clipped.start >= clipped.end)
        return 0;
    if (is_in_order(assembly, &clipped)) {
        struct assembly_block *hint = NULL;

        if (block_reserve(store, assembly, clipped.start, clipped.end)) {
            report->no_memory = true;
            return -ENOMEM;
        }
        block_write(assembly, &hint, clipped.start, clipped.end, clipped.bytes);
        assembly->contiguous = clipped.end;
        report->added = (uint32_t)(clipped.end - clipped.start);
    } else {
        int err = add_ranges(store, assembly, &clipped, os, &segment, report);

        if (err)
            return err;
    }
    if (!store->inline_mode)
        segment_add(store, assembly, &segment);
    if (!report->differs) { /* the next chunk may point into this segment */
        store->trusted_assembly = assembly;
        store->trusted_offset = offset;
        store->trusted_bytes = bytes;
    }
    return 0;
}

bool assembly_differs(const struct assembly *assembly, uint64_t offset, const uint8_t *bytes, uint32_t length)
{
    struct assembly_report report = { 0 };
    struct clipped clipped = clip(assembly, offset, bytes, length, &report);

    if (clipped.start < clipped.end && !is_in_order(assembly, &clipped))
        compare_segment(assembly, &clipped, &report);
    return report.differs;
}

void assembly_rewrite(const struct assembly *assembly, uint64_t offset, uint8_t *out, uint32_t length)
{
    struct assembly_report report;
    struct clipped clipped = clip(assembly, offset, NULL, length, &report);
    struct walk walk = walk_start(assembly, clipped.start, clipped.end);
    struct range range;

    while (walk_next(&walk, &range))
        if (range.kind == RANGE_SEEN)
            block_read(assembly, &walk.block, range.start, range.end, out + (range.start - offset));
}

/* --- Skipping ------------------------------------------------------------------------------------- */

int assembly_skip(struct assembly_store *store, struct assembly *assembly, uint64_t offset, uint32_t length)
{
    struct assembly_report report = { 0 };
    struct clipped clipped = clip(assembly, offset, NULL, length, &report);

    while (clipped.start < clipped.end) {
        struct walk walk = walk_start(assembly, clipped.start, clipped.end);
        struct range range;

        walk_next(&walk, &range);
        if (range.kind == RANGE_NEW) {
            int err = extent_check_room(store, assembly, range.start, range.end);

            if (!err && pool_capacity(store->extents) - pool_used(store->extents) < 2) /* an extent and a gap */
                err = -ENOMEM;
            if (!err)
                err = gap_add(store, assembly, range.start, range.end, false);
            if (err)
                return err;
            extent_add(store, assembly, range.start, range.end);
        }
        clipped.start = range.end;
    }
    return 0;
}
