/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly, internal: blocks, extents and the walk over both. See assembly.h.
 *
 * Blocks hold bytes at fixed offsets (a block begins at a multiple of its size), so a byte never moves and a segment in
 * order is one copy. Only blocks that hold data exist. They form a list, searched from the nearer end: new segments are
 * near the end, retransmissions near the start.
 *
 * One kind of object, the extent, serves three lists: data seen out of order, ranges without bytes, and (passive) the
 * segments as received, which the overlap policies need.
 */
#ifndef SLUICE_STREAM_ASSEMBLY_PRIV_H
#define SLUICE_STREAM_ASSEMBLY_PRIV_H

#include "sluice/pool.h"
#include "assembly.h"

enum {
    BLOCK_SIZE = 2048,
    MAX_EXTENTS = 256,   /* maximum number of extents per direction */
    MAX_GAPS = 256,      /* maximum number of gaps per direction */
    MAX_SEGMENTS = 1024, /* recorded segments per direction (passive); beyond it, adjacent ones are merged */
    CHUNK_MAX = 65536,   /* maximum length of a chunk */
    HISTORY_MAX = 65536, /* maximum number of bytes of history in an inspection window */
};

struct assembly_block {
    struct assembly_block *next, *previous;
    uint64_t start; /* a multiple of BLOCK_SIZE */
    uint8_t bytes[BLOCK_SIZE];
};

struct assembly_extent {
    struct assembly_extent *next;
    uint64_t start, end;
    bool lost; /* for gaps only; true: bytes were sent but not seen; false: there are no bytes (skipped) */
};

struct assembly_store {
    struct pool *blocks, *extents;
    bool inline_mode;

    /* The segment that was added last, if the stored bytes equal its bytes: chunks may then point into the segment.
     * trusted_assembly NULL: none. */
    const struct assembly *trusted_assembly;
    const uint8_t *trusted_bytes;
    uint64_t trusted_offset;

    /* The chunk for which the inspection window was built last. window_assembly NULL: none. */
    const struct assembly *window_assembly;
    uint64_t window_offset, window_chunk;
    const uint8_t *window_bytes;
    uint32_t window_length, window_chunk_at;

    uint8_t before[STREAM_BEFORE_MAX];
    uint8_t scratch[HISTORY_MAX + CHUNK_MAX]; /* a copied chunk begins at HISTORY_MAX; its history ends there */
};

static inline uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* --- Blocks (assembly_block.c). Ranges are not empty. --------------------------------------------- */

/* Allocates the missing blocks of a range. Returns 0, or -ENOMEM without any change. */
int block_reserve(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end);
/*
 * Writes bytes to a range whose blocks exist. *hint is the block used last (NULL at first): a caller that passes
 * ascending ranges keeps it, so that the list of blocks is searched once and not for each range.
 */
void block_write(struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                 const uint8_t *bytes);
void block_read(const struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                uint8_t *out);
bool block_equal(const struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                 const uint8_t *bytes);
/* Returns a pointer to the bytes if one block contains all of them, otherwise NULL. */
const uint8_t *block_peek(const struct assembly *assembly, uint64_t start, uint64_t end);
void block_release(struct assembly_store *store, struct assembly *assembly, uint64_t before);

/* --- Extents (assembly_extent.c) ------------------------------------------------------------------ */

enum range_kind {
    RANGE_NEW,     /* not seen */
    RANGE_SEEN,    /* has bytes */
    RANGE_LOST,    /* counts as seen: the bytes were sent but not seen here */
    RANGE_SKIPPED, /* counts as seen: there are no bytes (out-of-band urgent data) */
};

struct range {
    uint64_t start, end;
    enum range_kind kind;
};

/* An iterator over a range that returns parts with one kind of bytes each. The lists must not change during the
 * iteration. */
struct walk {
    struct assembly_block *block; /* hint for block_write(), block_read() and block_equal() */
    uint64_t at, end, contiguous;
    const struct assembly_extent *extent, *gap;
};
struct walk walk_start(const struct assembly *assembly, uint64_t start, uint64_t end);
bool walk_next(struct walk *walk, struct range *range);

/* Checks whether extent_add() is possible. Returns 0, -ENOSPC (MAX_EXTENTS reached) or -ENOMEM. */
int extent_check_room(const struct assembly_store *store, const struct assembly *assembly, uint64_t start,
                      uint64_t end);
/* Marks the range as seen. Does nothing if memory is exhausted; see extent_check_room(). */
void extent_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end);
/* Marks the unseen bytes before `offset` as lost; returns true when there were any. */
bool extent_mark_lost(struct assembly_store *store, struct assembly *assembly, uint64_t offset);
/* Adds a gap; `lost`: see assembly_extent. Returns 0, -ENOSPC (MAX_GAPS reached) or -ENOMEM. */
int gap_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end, bool lost);
/* Removes gaps and segments that end before offset `before`. */
void extent_release(struct assembly_store *store, struct assembly *assembly, uint64_t before);
void extent_clear(struct assembly_store *store, struct assembly *assembly);

/* --- Overlaps as the receiver's system resolves them, passive (assembly_overlap.c) ---------------- */

/* Writes those bytes of a segment that win over the stored ones in [start, end), which were seen before. */
void overlap_write(struct assembly *assembly, struct assembly_block **hint, enum host_os os,
                   const struct assembly_extent *segment, const struct range *range, const uint8_t *bytes);
/* Records the range of a received segment, for the overlap policies. */
void segment_add(struct assembly_store *store, struct assembly *assembly, const struct assembly_extent *segment);

#endif
