/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the assembly share: blocks, extents and the walk over both. See assembly.h.
 *
 * Blocks hold bytes at fixed offsets (a block begins at a multiple of its size), so the place of a byte never moves and
 * a segment in order is one copy. Only blocks that hold something exist. They are a list, searched from the nearer end:
 * segments come near the end, retransmissions near the start.
 *
 * One kind of object, the extent, serves three lists: what has been seen out of order, places without bytes, and
 * (passive) the segments as they came, which the systems' ways with overlaps ask about.
 */
#ifndef SLUICE_STREAM_ASSEMBLY_PRIV_H
#define SLUICE_STREAM_ASSEMBLY_PRIV_H

#include "sluice/pool.h"
#include "assembly.h"

enum {
    BLOCK_SIZE = 2048,
    MAX_EXTENTS = 256,   /* of one direction */
    MAX_HOLES = 256,     /* of one direction */
    MAX_SEGMENTS = 1024, /* of one direction, passive; beyond it neighbours become one */
    VIEW_MAX = 65536,
    HISTORY_MAX = 65536, /* a window is not larger */
};

struct assembly_block {
    struct assembly_block *next, *previous;
    uint64_t start; /* a multiple of BLOCK_SIZE */
    uint8_t bytes[BLOCK_SIZE];
};

struct assembly_extent {
    struct assembly_extent *next;
    uint64_t start, end;
    bool lost; /* holes: true: bytes were there that we have not seen; false: skipped, there are none */
};

struct assembly_store {
    struct pool *blocks, *extents;
    bool inline_mode;

    /* The segment that was added last, when the bytes that are kept are the same as its own: views may point there. */
    const struct assembly *trusted_assembly;
    const uint8_t *trusted_bytes;
    uint64_t trusted_offset;

    /* The window of which view lies in scratch. */
    const struct assembly *window_assembly;
    uint64_t window_offset, window_view;
    const uint8_t *window_bytes;
    uint32_t window_length, window_view_at;

    uint8_t before[STREAM_BEFORE_MAX];
    uint8_t scratch[HISTORY_MAX + VIEW_MAX]; /* a view lies at HISTORY_MAX, its history before it */
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

/* Makes the blocks of a range exist. 0, or -ENOMEM and nothing has changed. */
int block_reserve(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end);
/*
 * The range has blocks. Whoever goes over several ranges, ascending, keeps a hint (NULL at first) so that the list is
 * searched once: a segment over many small pieces would be costly otherwise.
 */
void block_write(struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                 const uint8_t *bytes);
void block_read(const struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                uint8_t *out);
bool block_equal(const struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                 const uint8_t *bytes);
/* The bytes in place, when one block has all of them; NULL otherwise. */
const uint8_t *block_peek(const struct assembly *assembly, uint64_t start, uint64_t end);
void block_release(struct assembly_store *store, struct assembly *assembly, uint64_t before);

/* --- Extents (assembly_extent.c) ------------------------------------------------------------------ */

enum piece_kind {
    PIECE_NEW,     /* not seen */
    PIECE_SEEN,    /* has bytes */
    PIECE_LOST,    /* given up */
    PIECE_SKIPPED, /* counts as seen, no bytes */
};

struct piece {
    uint64_t start, end;
    enum piece_kind kind;
};

/* Goes over a range piece by piece. The lists must not change meanwhile. */
struct walk {
    struct assembly_block *block; /* the hint for the pieces' bytes */
    uint64_t at, end, contiguous;
    const struct assembly_extent *extent, *hole;
};
struct walk walk_start(const struct assembly *assembly, uint64_t start, uint64_t end);
bool walk_next(struct walk *walk, struct piece *piece);

/* Whether extent_add() can: 0, -ENOSPC or -ENOMEM. */
int extent_room(const struct assembly_store *store, const struct assembly *assembly, uint64_t start, uint64_t end);
/* The range counts as seen from now on. */
void extent_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end);
/* Everything before `offset` that was not seen is lost; true when there was something. */
bool extent_give_up(struct assembly_store *store, struct assembly *assembly, uint64_t offset);
int hole_add(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end, bool lost);
/* Forgets holes and segments that end before `offset`. */
void extent_release(struct assembly_store *store, struct assembly *assembly, uint64_t before);
void extent_clear(struct assembly_store *store, struct assembly *assembly);

/* --- Passive: the receiver's way with overlaps (assembly_overlap.c) ------------------------------- */

/* Writes what of a segment's bytes wins over those that are kept in [start, end), which were seen before. */
void overlap_write(struct assembly *assembly, struct assembly_block **hint, enum host_os os,
                   const struct assembly_extent *segment, const struct piece *piece, const uint8_t *bytes);
/* Remembers a segment as it came. */
void segment_add(struct assembly_store *store, struct assembly *assembly, const struct assembly_extent *segment);

#endif
