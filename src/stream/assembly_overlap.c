/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passive mode: decides which bytes the receiver keeps where segments overlap (Novak and Sturges, "Target-Based TCP
 * Stream Reassembly"; the systems and their policies are those of Suricata's host-os-policy).
 *
 * A system decides by the shape of the overlap: how the two ends of the new segment compare to those of a stored one.
 * So the ranges of received segments are recorded, including parts whose bytes were freed. The new segment replaces a
 * byte if it wins against every earlier segment that contains this byte. Bytes that the receiver has acknowledged, or
 * that were inspected, do not change.
 *
 * Threads:   a store and its assemblies belong to one worker.
 * Ownership: the recorded segments belong to the assembly.
 */
#include "assembly_priv.h"

/* Position of the start (or end) of the new segment, relative to the start (or end) of the old one. */
enum side {
    SIDE_BEFORE,
    SIDE_SAME,
    SIDE_BEHIND,
    SIDE_COUNT,
};

/* Shapes of an overlap, as bits: the side of the new segment's start, then the side of its end. */
enum {
    BEFORE_BEFORE = 1 << (SIDE_BEFORE * SIDE_COUNT + SIDE_BEFORE),
    BEFORE_SAME = 1 << (SIDE_BEFORE * SIDE_COUNT + SIDE_SAME),
    BEFORE_BEHIND = 1 << (SIDE_BEFORE * SIDE_COUNT + SIDE_BEHIND),
    SAME_SAME = 1 << (SIDE_SAME * SIDE_COUNT + SIDE_SAME),
    SAME_BEHIND = 1 << (SIDE_SAME * SIDE_COUNT + SIDE_BEHIND),
    BEHIND_BEHIND = 1 << (SIDE_BEHIND * SIDE_COUNT + SIDE_BEHIND),

    BEGINS_BEFORE = BEFORE_BEFORE | BEFORE_SAME | BEFORE_BEHIND,
    SOLARIS_WAY = BEFORE_SAME | BEFORE_BEHIND | SAME_SAME | SAME_BEHIND | BEHIND_BEHIND,
};

/* The overlap shapes in which the new segment wins. */
static const uint16_t new_wins[HOST_OS_COUNT] = {
    [HOST_OS_BSD] = BEGINS_BEFORE,
    [HOST_OS_BSD_RIGHT] = BEGINS_BEFORE,
    [HOST_OS_OLD_LINUX] = BEGINS_BEFORE | SAME_SAME | SAME_BEHIND,
    [HOST_OS_LINUX] = BEGINS_BEFORE | SAME_BEHIND,
    [HOST_OS_OLD_SOLARIS] = SOLARIS_WAY,
    [HOST_OS_SOLARIS] = SOLARIS_WAY,
    [HOST_OS_HPUX10] = BEGINS_BEFORE,
    [HOST_OS_HPUX11] = SOLARIS_WAY,
    [HOST_OS_IRIX] = BEGINS_BEFORE,
    [HOST_OS_MACOS] = BEGINS_BEFORE,
    [HOST_OS_WINDOWS] = BEGINS_BEFORE,
    [HOST_OS_VISTA] = 0,
    [HOST_OS_WINDOWS2K3] = BEGINS_BEFORE,
};

static enum side side_of(uint64_t now, uint64_t old)
{
    return now < old ? SIDE_BEFORE : now == old ? SIDE_SAME : SIDE_BEHIND;
}

void overlap_write(struct assembly *assembly, struct assembly_block **hint, enum host_os os,
                   const struct assembly_extent *segment, const struct range *range, const uint8_t *bytes)
{
    uint64_t at = larger(range->start, larger(assembly->acknowledged, assembly->inspected));
    const struct assembly_extent *old = assembly->segments;

    /* The segments ascend by their start. */
    for (; old && old->start < range->end; old = old->next) {
        unsigned shape = side_of(segment->start, old->start) * SIDE_COUNT + side_of(segment->end, old->end);

        if (old->end <= at || new_wins[os] >> shape & 1)
            continue;
        if (at < old->start)
            block_write(assembly, hint, at, old->start, bytes + (at - range->start));
        at = old->end;
    }
    if (at < range->end)
        block_write(assembly, hint, at, range->end, bytes + (at - range->start));
}

void segment_add(struct assembly_store *store, struct assembly *assembly, const struct assembly_extent *segment)
{
    struct assembly_extent *previous = assembly->segments_last; /* the last one that begins at or before the new one */
    struct assembly_extent *added;

    if (previous && previous->start > segment->start) {
        previous = NULL;
        for (struct assembly_extent *at = assembly->segments; at && at->start <= segment->start; at = at->next)
            previous = at;
    }
    if (previous && previous->start == segment->start && previous->end == segment->end)
        return;
    added = assembly->segment_count < MAX_SEGMENTS ? pool_alloc(store->extents) : NULL;
    if (!added) { /* no memory or too many: extend an adjacent entry to this segment. Overlap shapes are less exact
                     then; no data is lost */
        if (previous)
            previous->end = larger(previous->end, segment->end);
        else if (assembly->segments)
            assembly->segments->start = segment->start;
        return;
    }
    *added = (struct assembly_extent){ .start = segment->start, .end = segment->end };
    added->next = previous ? previous->next : assembly->segments;
    *(previous ? &previous->next : &assembly->segments) = added;
    if (!added->next)
        assembly->segments_last = added;
    assembly->segment_count++;
}
