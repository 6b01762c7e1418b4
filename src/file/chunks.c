/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Data of a file that arrives out of order. Data beyond the next expected offset is queued until the gap before it is
 * filled. Bytes that have been passed to the file engine are not replaced by later ones; of overlapping queued data,
 * the bytes of the chunk with the lower offset are used.
 */
#include "file_priv.h"

struct file_chunk {
    struct file_chunk *next;
    uint64_t offset; /* offset of the bytes in the file */
    struct buffer bytes;
};

static void free_first(struct file_engine *engine, struct file_chunks *chunks)
{
    struct file_chunk *chunk = chunks->first;

    chunks->first = chunk->next;
    chunks->count--;
    chunks->queued -= chunk->bytes.length;
    buffer_clear(engine->heap, &chunk->bytes);
    heap_release(engine->heap, chunk);
}

void file_chunks_clear(struct file_engine *engine, struct file_chunks *chunks)
{
    while (chunks->first)
        free_first(engine, chunks);
}

/* Returns the chunk that ends at `offset`, or a new one, inserted in the order of offsets; NULL without memory. */
static struct file_chunk *get_chunk(struct file_engine *engine, struct file_chunks *chunks, uint64_t offset)
{
    struct file_chunk **link = &chunks->first, *chunk;

    for (; *link && (*link)->offset <= offset; link = &(*link)->next)
        if ((*link)->offset + (*link)->bytes.length == offset)
            return *link;
    chunk = heap_alloc(engine->heap, sizeof(*chunk));
    if (!chunk)
        return NULL;
    chunk->offset = offset;
    chunk->next = *link;
    *link = chunk;
    chunks->count++;
    return chunk;
}

static void append_data(struct file_engine *engine, struct file_chunks *chunks, struct file *file, const uint8_t *bytes,
                        uint64_t length)
{
    if (bytes)
        file_append(engine, file, bytes, length);
    else
        file_gap(engine, file, length);
    chunks->tracked += length;
}

/* Appends the queued data up to the next gap. */
static void append_queued(struct file_engine *engine, struct file_chunks *chunks, struct file *file)
{
    while (chunks->first && chunks->first->offset <= chunks->tracked) {
        const struct file_chunk *chunk = chunks->first;
        uint64_t repeated = chunks->tracked - chunk->offset;

        if (repeated < chunk->bytes.length)
            append_data(engine, chunks, file, chunk->bytes.bytes + repeated, chunk->bytes.length - repeated);
        free_first(engine, chunks);
    }
}

bool file_chunks_add(struct file_engine *engine, struct file_chunks *chunks, struct file *file, uint64_t offset,
                     const uint8_t *bytes, uint64_t length)
{
    if (offset < chunks->tracked) {
        uint64_t repeated = chunks->tracked - offset < length ? chunks->tracked - offset : length;

        bytes = bytes ? bytes + repeated : NULL;
        offset += repeated;
        length -= repeated;
    }
    if (length == 0)
        return false;
    if (offset > chunks->tracked) {
        struct file_chunk *chunk = bytes ? get_chunk(engine, chunks, offset) : NULL;

        if (chunk)
            chunks->queued += buffer_append(engine->heap, &chunk->bytes, bytes, (uint32_t)length, HEAP_OBJECT_MAX);
        return false;
    }
    append_data(engine, chunks, file, bytes, length);
    append_queued(engine, chunks, file);
    return true;
}

void file_chunks_flush(struct file_engine *engine, struct file_chunks *chunks, struct file *file)
{
    while (chunks->first) {
        append_data(engine, chunks, file, NULL, chunks->first->offset - chunks->tracked);
        append_queued(engine, chunks, file);
    }
}
