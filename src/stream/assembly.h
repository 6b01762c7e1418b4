/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly: the bytes of one direction of a stream, by their offset (0 is the first byte after the SYN; the session
 * unwraps sequence numbers to 64 bits before it calls these functions).
 *
 * Bytes are in blocks of fixed size from a pool; a list of extents records which offsets have been seen. When bytes for
 * a seen offset arrive again, they are compared with the stored ones. Inline the stored bytes never change; in passive
 * mode the overlap policy of the receiver's operating system decides. Bytes are freed when they are acknowledged and
 * precede the history that is kept for inspection.
 *
 * These functions do not depend on TCP's states, flags and windows.
 */
#ifndef SLUICE_STREAM_ASSEMBLY_H
#define SLUICE_STREAM_ASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/host_os.h"
#include "sluice/stream.h"

struct assembly_block;
struct assembly_extent;
struct transfer;

/* Shared by all assemblies of a worker: the pools, and a scratch buffer for chunks. */
struct assembly_store;
struct assembly_options {
    size_t memcap;    /* bytes, for blocks and extents */
    bool inline_mode; /* true: first-seen data wins; false: overlaps are resolved as the receiver's system does */
};
int assembly_store_new(struct assembly_store **out, const struct assembly_options *options); /* 0 or -ENOMEM */
void assembly_store_free(struct assembly_store *store);
int assembly_store_set_memcap(struct assembly_store *store, size_t memcap); /* as stream_set_reassembly_memcap() */
size_t assembly_store_memory(const struct assembly_store *store);           /* bytes in use */
void assembly_store_trim(struct assembly_store *store);                     /* pool_trim() */
bool assembly_store_is_tight(const struct assembly_store *store); /* true: more than three quarters of the blocks are in
                                                                     use, so no history is kept */

/* The kind of data that assembly_evict() discarded. */
enum assembly_evicted { EVICTED_NOTHING, EVICTED_UNACKNOWLEDGED, EVICTED_OUT_OF_ORDER };

/* The assembly of one direction, a member of struct tcp_peer. If all members are zero, it is empty and has no limits.
 */
struct assembly {
    struct assembly_block *first, *last;
    struct assembly_extent *extents; /* seen ranges beyond `contiguous`, ascending, disjoint, not touching */
    struct assembly_extent *gaps;    /* ranges that count as seen without bytes: lost or skipped; ascending */
    struct assembly_extent *segments, *segments_last; /* passive: segments as received, ascending by their start */
    uint64_t base;                                    /* offset before which bytes were freed */
    uint64_t contiguous;                              /* offset before which all bytes were seen or lost */
    uint64_t acknowledged;                            /* offset before which the receiver has acknowledged all bytes */
    uint64_t inspected;                               /* offset before which bytes were yielded as chunks */
    uint64_t parsed; /* passive: offset before which bytes were yielded to protocol parsers */
    uint64_t limit;  /* offset from which on bytes are not stored (reassembly depth); 0: no limit */
    uint32_t window; /* bytes of history kept before `inspected` */
    uint16_t extent_count, hole_count, segment_count;
    uint16_t max_extents_seen;     /* largest extent_count so far; 0: all segments arrived in order */
    bool has_gap, gap_before_next; /* true: bytes were lost somewhere; bytes were lost directly before the next chunk */
    bool stopped;                  /* assembly_stop() was called */
    uint8_t evicted;               /* enum assembly_evicted */
    uint8_t before[STREAM_BEFORE_MAX]; /* the last bytes before `inspected` */
    uint8_t before_length;
};

struct assembly_report {
    uint32_t added;       /* bytes that were not seen before */
    uint32_t overlapping; /* bytes that were seen before */
    bool differs;         /* some overlapping bytes differ from the stored ones */
    bool beyond_limit;    /* bytes past `limit` were not kept */
    bool too_old;   /* some bytes are before `base` or in a lost range, so there is nothing to compare them with */
    bool lost;      /* some bytes are in a lost range, whose bytes were not inspected */
    bool no_memory; /* memory is exhausted: nothing of this segment was stored */
    bool too_many_extents; /* the list of extents is full: nothing of this segment was stored */
};

/*
 * Adds the bytes of a segment, at most 64 KiB. An offset may be negative (two's complement): bytes before 0 are too
 * old. Returns 0, -ENOMEM (report->no_memory), -EBUSY (report->no_memory; refused after assembly_evict()), or -ENOSPC
 * (too_many_extents). `os`: operating system of the receiver, used in passive mode only.
 *
 * New bytes of a segment are added although other bytes of it differ: a caller that drops such segments calls
 * assembly_differs() first.
 */
int assembly_add(struct assembly_store *store, struct assembly *assembly, uint64_t offset, const uint8_t *bytes,
                 uint32_t length, enum host_os os, struct assembly_report *report);

/* Returns whether some of the bytes differ from those seen first; changes nothing. */
bool assembly_differs(const struct assembly *assembly, uint64_t offset, const uint8_t *bytes, uint32_t length);

/* Overwrites the bytes in `out` (a copy of the segment) that were seen before with those that were seen first. */
void assembly_rewrite(const struct assembly *assembly, uint64_t offset, uint8_t *out, uint32_t length);

/* Records that the receiver acknowledged everything before `offset`. Gaps before `offset` are marked as lost, because
 * the sender will not fill them. Returns true when there was such a gap. */
bool assembly_acknowledge(struct assembly_store *store, struct assembly *assembly, uint64_t offset);

/* Marks a range without bytes (out-of-band urgent data): `length` bytes from `offset` count as seen and are left out of
 * chunks. Returns 0, -ENOSPC or -ENOMEM. */
int assembly_skip(struct assembly_store *store, struct assembly *assembly, uint64_t offset, uint32_t length);

/* Frees bytes that are acknowledged and precede the history (`window` bytes before `inspected`). Invalidates chunks. */
void assembly_release(struct assembly_store *store, struct assembly *assembly);
/*
 * Evicts all bytes, for lack of memory. The receiver may still hold those that it has not acknowledged, and later
 * segments cannot be compared with them any more. So inline, assembly_add() refuses later data with -EBUSY. If bytes
 * behind a gap were evicted, it refuses all data, because filling the gap would make the receiver's program read bytes
 * that were not inspected. Otherwise it refuses only data that overlaps unacknowledged bytes. Returns true if
 * unacknowledged bytes or bytes behind a gap were evicted.
 */
bool assembly_evict(struct assembly_store *store, struct assembly *assembly);

/* Discards all bytes; later calls of assembly_add() store nothing. */
void assembly_stop(struct assembly_store *store, struct assembly *assembly);
void assembly_end(struct assembly_store *store,
                  struct assembly *assembly); /* frees all memory; the assembly cannot be used afterwards */
void assembly_clear(struct assembly_store *store,
                    struct assembly *assembly); /* frees all memory and sets all members to zero */

/*
 * Gets the next bytes to inspect: at most 64 KiB, and only bytes before the offset `until`. The caller passes an offset
 * before which bytes are contiguous (inline) or acknowledged (passive). `payload` and payload_offset are those of the
 * last call of assembly_add(): if the payload contains all bytes of the chunk, the chunk points there and nothing is
 * copied. Returns false when there are no bytes. Sets chunk->end when the limit is reached; the caller sets it in the
 * other cases.
 */
bool assembly_next_chunk(struct assembly_store *store, struct assembly *assembly, uint64_t until,
                         const uint8_t *payload, uint64_t payload_offset, uint32_t payload_length,
                         struct stream_chunk *chunk);
/* Passive: as assembly_next_chunk(), for protocol parsers, which get acknowledged bytes immediately. Bytes that were
 * freed before they were yielded appear as a gap. Invalidates chunks. */
bool assembly_next_parsed(struct assembly_store *store, struct assembly *assembly, uint64_t until,
                          struct stream_chunk *chunk);
/* Transfers the assembly to another process; when reading, the assembly must be empty. Returns false when memory is
 * exhausted. */
bool assembly_transfer(struct transfer *t, struct assembly_store *store, struct assembly *assembly);
/* Gets the inspection window of a chunk; see stream_inspection_window(). */
uint64_t assembly_window(struct assembly_store *store, const struct assembly *assembly,
                         const struct stream_chunk *chunk, const uint8_t **bytes, uint32_t *length, uint32_t *chunk_at);
/* Copies the stored bytes to `out`; see stream_copy(). */
size_t assembly_copy(const struct assembly *assembly, uint8_t *out, size_t size,
                     void (*on_gap)(size_t at, uint64_t missing, void *user), void *user);
/* Copies stored bytes without a gap; see stream_copy_run(). */
size_t assembly_copy_run(const struct assembly *assembly, uint64_t *offset, uint64_t until, uint8_t *out, size_t size);

#endif
