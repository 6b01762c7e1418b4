/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assembly: the bytes of one direction of a stream, by their offset (0 is the first byte after the SYN; sequence
 * numbers are unwrapped to 64 bits by the session before they come here).
 *
 * Bytes lie in blocks of fixed size out of a pool; which of them have been seen is a list of extents. A byte is written
 * once: bytes for a place that has been seen are compared, never stored (inline), or stored as the receiver would
 * (passive, by its system). What lies before both the acknowledgment and the history that is wanted is given back.
 *
 * Knows nothing of TCP's states, flags or windows.
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

/* What all assemblies of a worker share: the pools, and scratch for views. */
struct assembly_store;
struct assembly_options {
    size_t memcap;
    bool inline_mode; /* first-seen data wins; otherwise the receiver's way */
};
int assembly_store_new(struct assembly_store **out, const struct assembly_options *options); /* 0 or -ENOMEM */
void assembly_store_free(struct assembly_store *store);
size_t assembly_store_memory(const struct assembly_store *store); /* bytes in use */
bool assembly_store_is_tight(const struct assembly_store *store); /* three quarters are in use: no history is kept */

/* The kind of data that assembly_evict() discarded. */
enum assembly_evicted { EVICTED_NOTHING, EVICTED_UNACKNOWLEDGED, EVICTED_OUT_OF_ORDER };

/* One direction; embedded in the session. All zero is an empty one without limits. */
struct assembly {
    struct assembly_block *first, *last;
    struct assembly_extent *extents; /* seen ranges beyond `contiguous`, ascending, disjoint, not touching */
    struct assembly_extent *holes; /* places that count as seen and have no bytes: lost ones, skipped ones; ascending */
    struct assembly_extent *segments, *segments_last; /* passive: segments as they came, ascending by their start */
    uint64_t base;                                    /* bytes before it are given back */
    uint64_t contiguous;                              /* everything before it was seen, or given up as lost */
    uint64_t acknowledged;                            /* the receiver has everything before it */
    uint64_t inspected;                               /* yielded as views up to here */
    uint64_t parsed;                                  /* passive: yielded for protocols up to here */
    uint64_t limit;                                   /* no byte from here on is kept; 0: none. The depth */
    uint32_t window;                                  /* bytes of history kept before `inspected` */
    uint16_t extent_count, hole_count, segment_count;
    uint16_t max_extents_seen; /* 0: all came in order */
    bool has_gap, gap_before_next;
    bool stopped;                      /* assembly_stop() */
    uint8_t evicted;                   /* enum assembly_evicted */
    uint8_t before[STREAM_BEFORE_MAX]; /* the last bytes before `inspected` */
    uint8_t before_length;
};

struct assembly_report {
    uint32_t added;       /* bytes that were not seen before */
    uint32_t overlapping; /* bytes that were */
    bool differs;         /* some of those were others */
    bool beyond_limit;    /* bytes past `limit` were not kept */
    bool too_old;         /* bytes before `base` or given up as lost: nothing to compare them with */
    bool lost;            /* too old, and nobody has inspected what was in their place */
    bool no_memory;       /* not all could be kept: nothing of this segment was */
    bool too_many_pieces; /* the list of extents is full: nothing of this segment was kept */
};

/*
 * Adds a segment's bytes; at most 64 KiB. An offset may be negative (two's complement): what lies before 0 is too old.
 * 0, or -ENOMEM (report->no_memory), -EBUSY (the same: see assembly_evict()), -ENOSPC (too_many_pieces). `os` is the
 * receiver's, passive mode.
 *
 * What is new of a segment is added although other bytes of it differ: whoever drops those segments asks
 * assembly_differs() before.
 */
int assembly_add(struct assembly_store *store, struct assembly *assembly, uint64_t offset, const uint8_t *bytes,
                 uint32_t length, enum host_os os, struct assembly_report *report);

/* Whether some of the bytes are others than those seen first: report->differs, without adding. */
bool assembly_differs(const struct assembly *assembly, uint64_t offset, const uint8_t *bytes, uint32_t length);

/* Overwrites in `out` (a copy of the segment's bytes) what was seen before with what was seen first. */
void assembly_rewrite(const struct assembly *assembly, uint64_t offset, uint8_t *out, uint32_t length);

/* The receiver acknowledged everything before `offset`. Holes before it will not be filled: they are gaps (true when
 * there was one). */
bool assembly_acknowledge(struct assembly_store *store, struct assembly *assembly, uint64_t offset);

/* A place without bytes (urgent data that is out of band): length bytes from offset count as seen and are left out of
 * views. */
int assembly_skip(struct assembly_store *store, struct assembly *assembly, uint64_t offset, uint32_t length);

/* Gives back what is acknowledged and before the history of `inspected`. Ends what is lent of views. */
void assembly_release(struct assembly_store *store, struct assembly *assembly);
/*
 * Gives up all bytes, for lack of memory. The receiver may have those that were not acknowledged: later assembly_add()
 * refuses (no_memory) what replaces them; where bytes behind a hole were among them it refuses everything, as what
 * fills the hole releases them. True when there were any.
 */
bool assembly_evict(struct assembly_store *store, struct assembly *assembly);

/* Forgets everything and keeps nothing from now on (limit = contiguous). */
void assembly_stop(struct assembly_store *store, struct assembly *assembly);
void assembly_end(struct assembly_store *store, struct assembly *assembly);   /* gives all back; of no use afterwards */
void assembly_clear(struct assembly_store *store, struct assembly *assembly); /* gives all back; all zero afterwards */

/*
 * The next bytes to inspect, before `until` (inline: contiguous; passive: acknowledged); at most 64 KiB. When `payload`
 * (of the packet at hand, at payload_offset; the pointer and offset that the last assembly_add() took) has all of them
 * the view points there and nothing is copied. False when there is nothing. `end` is set where the limit is reached;
 * the session knows the other ends.
 */
bool assembly_next_view(struct assembly_store *store, struct assembly *assembly, uint64_t until, const uint8_t *payload,
                        uint64_t payload_offset, uint32_t payload_length, struct stream_view *view);
/* Passive: the same for protocols, which see what is certain at once; what was given back before is lost to them. Ends
 * what is lent of views. */
bool assembly_next_parsed(struct assembly_store *store, struct assembly *assembly, uint64_t until,
                          struct stream_view *view);
/* To another process; reading: into an empty one. False when there was no memory for all of it. */
bool assembly_transfer(struct transfer *t, struct assembly_store *store, struct assembly *assembly);
/* See stream_window(). */
uint64_t assembly_window(struct assembly_store *store, const struct assembly *assembly, const struct stream_view *view,
                         const uint8_t **bytes, uint32_t *length, uint32_t *view_at);
/* See stream_copy(). */
size_t assembly_copy(const struct assembly *assembly, uint8_t *out, size_t size,
                     void (*on_gap)(size_t at, uint64_t missing, void *user), void *user);

#endif
