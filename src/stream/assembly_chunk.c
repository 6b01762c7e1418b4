/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Yields the bytes of an assembly as chunks: in order, each byte once.
 *
 * A chunk points into the packet's payload or into a block if one of them contains all of its bytes; otherwise its
 * bytes are copied to the store's scratch buffer. The buffer has space in front of the chunk for its history, so that
 * the inspection window of a copied chunk requires a copy of the history only.
 *
 * Threads:   a store and its assemblies belong to one worker.
 * Ownership: the bytes of a chunk belong to the store or the packet, and are valid until the next call with the same
 * store.
 */
#include <string.h>

#include "assembly_priv.h"

/* Advances `inspected` over the gaps that begin there. Returns the offset of the next gap, at most `stop`. */
static uint64_t skip_gaps(struct assembly *assembly, uint64_t stop)
{
    const struct assembly_extent *gap = assembly->gaps;

    for (; gap && gap->start <= assembly->inspected && assembly->inspected < stop; gap = gap->next) {
        if (gap->end <= assembly->inspected)
            continue;
        assembly->inspected = smaller(gap->end, stop);
        if (gap->lost) {
            assembly->gap_before_next = true;
            assembly->before_length = 0;
        }
    }
    return gap ? smaller(gap->start, stop) : stop;
}

static const uint8_t *find_stored_bytes(struct assembly_store *store, const struct assembly *assembly, uint64_t start,
                                        uint64_t end)
{
    const uint8_t *place = block_peek(assembly, start, end);
    struct assembly_block *hint = NULL;

    if (place)
        return place;
    block_read(assembly, &hint, start, end, store->scratch + HISTORY_MAX);
    return store->scratch + HISTORY_MAX;
}

bool assembly_next_chunk(struct assembly_store *store, struct assembly *assembly, uint64_t until,
                         const uint8_t *payload, uint64_t payload_offset, uint32_t payload_length,
                         struct stream_chunk *chunk)
{
    store->window_assembly = NULL;
    assembly_release(store, assembly);

    uint64_t stop = smaller(until, assembly->contiguous);
    uint64_t end = skip_gaps(assembly, stop), start = assembly->inspected;

    if (start >= end)
        return false;
    end = smaller(end, start + CHUNK_MAX);
    memcpy(store->before, assembly->before, sizeof(store->before));
    *chunk = (struct stream_chunk){ .length = (uint32_t)(end - start),
                                    .offset = start,
                                    .before = store->before,
                                    .before_length = assembly->before_length,
                                    .gap = assembly->gap_before_next,
                                    .end = assembly->limit && end == assembly->limit };

    /* Use the packet's payload if it equals the stored bytes. payload_offset may be negative (before the stream's
     * start); the unsigned difference is correct then, too. */
    uint64_t skipped = start - payload_offset;

    if (payload && store->trusted_assembly == assembly && store->trusted_bytes == payload &&
        store->trusted_offset == payload_offset && skipped < payload_length && end - payload_offset <= payload_length)
        chunk->data = payload + skipped;
    chunk->is_payload = payload && chunk->data == payload && chunk->length == payload_length;
    if (!chunk->data)
        chunk->data = find_stored_bytes(store, assembly, start, end);

    /* Keep the last bytes of the chunk for patterns that cross its end. */
    if (chunk->length >= STREAM_BEFORE_MAX) {
        memcpy(assembly->before, chunk->data + chunk->length - STREAM_BEFORE_MAX, STREAM_BEFORE_MAX);
        assembly->before_length = STREAM_BEFORE_MAX;
    } else {
        uint32_t kept = (uint32_t)smaller(assembly->before_length, STREAM_BEFORE_MAX - chunk->length);

        memmove(assembly->before, assembly->before + (assembly->before_length - kept), kept);
        memcpy(assembly->before + kept, chunk->data, chunk->length);
        assembly->before_length = (uint8_t)(kept + chunk->length);
    }
    assembly->gap_before_next = false;
    assembly->inspected = end;
    return true;
}

bool assembly_next_parsed(struct assembly_store *store, struct assembly *assembly, uint64_t until,
                          struct stream_chunk *chunk)
{
    uint64_t start = larger(assembly->parsed, assembly->base), stop = smaller(until, assembly->contiguous), end;

    /* Skip ranges without bytes, and stop before the next one. */
    for (const struct assembly_extent *gap = assembly->gaps; gap && gap->start < stop; gap = gap->next) {
        if (gap->end <= start)
            continue;
        if (gap->start > start) {
            stop = gap->start;
            break;
        }
        start = smaller(gap->end, stop);
    }
    store->window_assembly = NULL;
    if (start >= stop)
        return false;
    end = smaller(stop, start + CHUNK_MAX);
    *chunk = (struct stream_chunk){ .data = find_stored_bytes(store, assembly, start, end),
                                    .length = (uint32_t)(end - start),
                                    .offset = start,
                                    .gap = start > assembly->parsed,
                                    .end = assembly->limit && end == assembly->limit };
    assembly->parsed = end;
    return true;
}

/* --- Inspection window ---------------------------------------------------------------------------- */

/* Returns the offset at which the history of a chunk at `offset` begins, not before the last lost gap. Sets *skipped to
 * the number of bytes in the history that were skipped (RANGE_SKIPPED). */
static uint64_t history_start(const struct assembly *assembly, uint64_t offset, uint64_t *skipped)
{
    uint64_t size = smaller(assembly->window, HISTORY_MAX);
    uint64_t start = larger(assembly->base, offset > size ? offset - size : 0);
    struct walk walk = walk_start(assembly, start, offset);
    struct range range;

    *skipped = 0;
    while (walk_next(&walk, &range)) {
        if (range.kind == RANGE_SKIPPED && range.start > start) {
            *skipped += range.end - range.start;
        } else if (range.kind != RANGE_SEEN) {
            start = range.end;
            *skipped = 0;
        }
    }
    return start;
}

uint64_t assembly_window(struct assembly_store *store, const struct assembly *assembly,
                         const struct stream_chunk *chunk, const uint8_t **bytes, uint32_t *length, uint32_t *chunk_at)
{
    if (store->window_assembly != assembly || store->window_chunk != chunk->offset) {
        uint64_t skipped, start = history_start(assembly, chunk->offset, &skipped);
        uint32_t history = (uint32_t)(chunk->offset - start - skipped);

        store->window_bytes = chunk->data;
        if (history > 0) { /* copy the history in front of the chunk, in the scratch buffer */
            uint8_t *data = store->scratch + HISTORY_MAX, *out = data - history;
            struct walk walk = walk_start(assembly, start, chunk->offset);
            struct range range;

            if (chunk->data != data)
                memcpy(data, chunk->data, chunk->length);
            store->window_bytes = out;
            while (walk_next(&walk, &range)) {
                if (range.kind != RANGE_SEEN)
                    continue;
                block_read(assembly, &walk.block, range.start, range.end, out);
                out += range.end - range.start;
            }
        }
        store->window_assembly = assembly;
        store->window_chunk = chunk->offset;
        store->window_offset = start;
        store->window_chunk_at = history;
        store->window_length = history + chunk->length;
    }
    *bytes = store->window_bytes;
    *length = store->window_length;
    *chunk_at = store->window_chunk_at;
    return store->window_offset;
}

/* --- Copy of the stored bytes --------------------------------------------------------------------- */

size_t assembly_copy(const struct assembly *assembly, uint8_t *out, size_t size,
                     void (*on_gap)(size_t at, uint64_t missing, void *user), void *user)
{
    const struct assembly_extent *last = assembly->extents;
    struct range range;
    struct walk walk;
    size_t at = 0;

    while (last && last->next)
        last = last->next;
    walk = walk_start(assembly, assembly->base, last ? last->end : assembly->contiguous);
    while (at < size && walk_next(&walk, &range)) {
        uint64_t count = smaller(size - at, range.end - range.start);

        if (range.kind == RANGE_SEEN) {
            block_read(assembly, &walk.block, range.start, range.start + count, out + at);
            at += count;
        } else if (range.kind != RANGE_SKIPPED && on_gap) {
            on_gap(at, range.end - range.start, user);
        }
    }
    return at;
}

size_t assembly_copy_run(const struct assembly *assembly, uint64_t *offset, uint64_t until, uint8_t *out, size_t size)
{
    struct walk walk = walk_start(assembly, larger(*offset, assembly->base), smaller(until, assembly->contiguous));
    struct range range;
    size_t length = 0;

    while (assembly->first && length < size && walk_next(&walk, &range)) {
        uint64_t count = smaller(size - length, range.end - range.start);

        if (range.kind == RANGE_SKIPPED)
            continue;
        if (range.kind != RANGE_SEEN && length > 0)
            break;
        if (range.kind != RANGE_SEEN)
            continue;
        if (length == 0)
            *offset = range.start;
        block_read(assembly, &walk.block, range.start, range.start + count, out + length);
        length += count;
    }
    return length;
}
