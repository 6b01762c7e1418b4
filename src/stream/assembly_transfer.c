/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfers the assembly of a direction to another process: its offsets, its lists, then the stored bytes in order. The
 * lists determine the ranges with stored bytes, so reader and writer iterate over the same ranges.
 *
 * Threads:   a store and its assemblies belong to one worker.
 * Ownership: data that was read before an error belongs to the assembly; the caller frees it with assembly_end().
 */
#include "sluice/transfer.h"

#include "assembly_priv.h"

#define OFFSET_MAX (UINT64_C(1) << 62)

enum { EXTENT_SIZE = 17 };

static void transfer_offset(struct transfer *t, uint64_t *offset)
{
    transfer_u64(t, offset);
    transfer_require(t, *offset < OFFSET_MAX);
}

/* --- Lists ---------------------------------------------------------------------------------------- */

static void transfer_extent(struct transfer *t, struct assembly_extent *extent)
{
    transfer_offset(t, &extent->start);
    transfer_offset(t, &extent->end);
    transfer_bool(t, &extent->lost);
    transfer_require(t, extent->start < extent->end);
}

static void write_list(struct transfer *t, struct assembly_extent *list, uint16_t count)
{
    transfer_u16(t, &count);
    for (struct assembly_extent *extent = list; extent; extent = extent->next)
        transfer_extent(t, extent);
}

/* The order that read_list() requires of the entries of a list. */
enum list_order {
    LIST_APART,  /* ascending, with space between the entries */
    LIST_BESIDE, /* ascending; entries may touch */
    LIST_OVER,   /* ascending by their start; entries may overlap */
};

/* Reads a list. Returns false if memory is exhausted. */
static bool read_list(struct transfer *t, struct assembly_store *store, struct assembly_extent **list, uint16_t *count,
                      uint16_t max, enum list_order order)
{
    struct assembly_extent *before = NULL, **link = list;
    uint16_t wanted = 0;

    transfer_u16(t, &wanted);
    transfer_require(t, wanted <= max && transfer_has_room(t, wanted, EXTENT_SIZE));
    for (uint16_t i = 0; i < wanted && !t->error; i++) {
        struct assembly_extent read = { .start = 0 }, *extent;
        uint64_t least = !before ? 0 : order == LIST_OVER ? before->start : before->end + (order == LIST_APART);

        transfer_extent(t, &read);
        transfer_require(t, read.start >= least);
        if (t->error || !(extent = pool_alloc(store->extents)))
            return t->error != 0;
        *extent = read;
        *link = before = extent;
        link = &extent->next;
        ++*count;
    }
    return true;
}

static bool transfer_lists(struct transfer *t, struct assembly_store *store, struct assembly *assembly)
{
    if (!t->reading) {
        write_list(t, assembly->extents, assembly->extent_count);
        write_list(t, assembly->gaps, assembly->hole_count);
        write_list(t, assembly->segments, assembly->segment_count);
        return true;
    }
    if (!read_list(t, store, &assembly->extents, &assembly->extent_count, MAX_EXTENTS, LIST_APART) ||
        !read_list(t, store, &assembly->gaps, &assembly->hole_count, MAX_GAPS, LIST_BESIDE) ||
        !read_list(t, store, &assembly->segments, &assembly->segment_count, MAX_SEGMENTS, LIST_OVER))
        return false;
    for (struct assembly_extent *segment = assembly->segments; segment; segment = segment->next)
        assembly->segments_last = segment;
    transfer_require(t, !assembly->extents || assembly->extents->start > assembly->contiguous);
    return true;
}

/* --- Bytes ---------------------------------------------------------------------------------------- */

bool assembly_transfer(struct transfer *t, struct assembly_store *store, struct assembly *assembly)
{
    const struct assembly_extent *last;
    struct assembly_block *hint = NULL;
    struct range range;
    struct walk walk;

    transfer_offset(t, &assembly->base);
    transfer_offset(t, &assembly->contiguous);
    transfer_offset(t, &assembly->acknowledged);
    transfer_offset(t, &assembly->inspected);
    transfer_offset(t, &assembly->parsed);
    transfer_offset(t, &assembly->limit);
    transfer_u32(t, &assembly->window);
    transfer_u16(t, &assembly->max_extents_seen);
    transfer_bool(t, &assembly->has_gap);
    transfer_bool(t, &assembly->gap_before_next);
    transfer_bool(t, &assembly->stopped);
    transfer_u8(t, &assembly->evicted);
    transfer_require(t, assembly->evicted <= EVICTED_OUT_OF_ORDER);
    transfer_u8(t, &assembly->before_length);
    transfer_require(t, assembly->base <= assembly->inspected && assembly->inspected <= assembly->contiguous &&
                            assembly->before_length <= STREAM_BEFORE_MAX);
    if (!t->error)
        transfer_bytes(t, assembly->before, assembly->before_length);
    if (t->error)
        return true;
    if (!transfer_lists(t, store, assembly))
        return false;
    if (t->error)
        return true;

    last = assembly->extents;
    while (last && last->next)
        last = last->next;
    walk = walk_start(assembly, assembly->base, last ? last->end : assembly->contiguous);
    while (!t->error && walk_next(&walk, &range)) {
        uint64_t length = range.end - range.start;

        if (range.kind != RANGE_SEEN)
            continue;
        if (t->reading) {
            const uint8_t *bytes = transfer_lend(t, length);

            if (bytes && block_reserve(store, assembly, range.start, range.end))
                return false; /* memory is exhausted */
            if (bytes)
                block_write(assembly, &hint, range.start, range.end, bytes);
        } else {
            uint8_t *place = transfer_reserve_next(t, length);

            if (place)
                block_read(assembly, &hint, range.start, range.end, place);
        }
    }
    return true;
}
