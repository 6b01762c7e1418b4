/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The blocks of an assembly: bytes by their offset. The extents record which bytes of a block are valid; the functions
 * here do not check that.
 *
 * Threads:   a store and its assemblies belong to one worker.
 * Ownership: blocks belong to the assembly until block_release().
 */
#include <errno.h>
#include <string.h>

#include "assembly_priv.h"

static uint64_t block_start(uint64_t offset)
{
    return offset & ~(uint64_t)(BLOCK_SIZE - 1);
}

static uint64_t block_end(const struct assembly_block *block)
{
    return block->start + BLOCK_SIZE;
}

/* Returns the last block that begins at or before `offset`, or NULL if there is none. */
static struct assembly_block *find_floor(const struct assembly *assembly, uint64_t offset)
{
    struct assembly_block *block = assembly->last;

    if (!block || offset >= block->start)
        return block;
    if (offset < assembly->first->start)
        return NULL;
    if (offset - assembly->first->start < block->start - offset) {
        for (block = assembly->first; block->next->start <= offset;)
            block = block->next;
        return block;
    }
    while (block->start > offset)
        block = block->previous;
    return block;
}

static struct assembly_block *find_near(const struct assembly *assembly, struct assembly_block **hint, uint64_t offset)
{
    struct assembly_block *block = *hint;

    if (!block || block->start > offset)
        block = find_floor(assembly, offset);
    while (block->next && block->next->start <= offset)
        block = block->next;
    *hint = block;
    return block;
}

int block_reserve(struct assembly_store *store, struct assembly *assembly, uint64_t start, uint64_t end)
{
    struct assembly_block *block = find_floor(assembly, start), *next = assembly->first;
    size_t missing = (block_start(end - 1) - block_start(start)) / BLOCK_SIZE + 1;

    if (block && end <= block_end(block))
        return 0;
    if (block)
        next = block->start == block_start(start) ? block : block->next;
    for (; next && next->start < end; next = next->next)
        missing--;
    if (missing > pool_capacity(store->blocks) - pool_used(store->blocks))
        return -ENOMEM;

    for (uint64_t at = block_start(start); at < end; at += BLOCK_SIZE) {
        struct assembly_block *previous = block;

        if (block && block->start == at)
            continue;
        next = block ? block->next : assembly->first;
        block = next;
        if (next && next->start == at)
            continue;
        block = pool_alloc(store->blocks);
        block->start = at;
        block->previous = previous;
        block->next = next;
        *(previous ? &previous->next : &assembly->first) = block;
        *(next ? &next->previous : &assembly->last) = block;
    }
    return 0;
}

void block_write(struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                 const uint8_t *bytes)
{
    struct assembly_block *block = find_near(assembly, hint, start);

    for (uint64_t at = start; at < end; block = block->next) {
        size_t count = smaller(end, block_end(block)) - at;

        memcpy(block->bytes + (at - block->start), bytes + (at - start), count);
        at += count;
    }
}

void block_read(const struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                uint8_t *out)
{
    const struct assembly_block *block = find_near(assembly, hint, start);

    for (uint64_t at = start; at < end; block = block->next) {
        size_t count = smaller(end, block_end(block)) - at;

        memcpy(out + (at - start), block->bytes + (at - block->start), count);
        at += count;
    }
}

bool block_equal(const struct assembly *assembly, struct assembly_block **hint, uint64_t start, uint64_t end,
                 const uint8_t *bytes)
{
    const struct assembly_block *block = find_near(assembly, hint, start);

    for (uint64_t at = start; at < end; block = block->next) {
        size_t count = smaller(end, block_end(block)) - at;

        if (memcmp(block->bytes + (at - block->start), bytes + (at - start), count) != 0)
            return false;
        at += count;
    }
    return true;
}

const uint8_t *block_peek(const struct assembly *assembly, uint64_t start, uint64_t end)
{
    const struct assembly_block *block = find_floor(assembly, start);

    return end <= block_end(block) ? block->bytes + (start - block->start) : NULL;
}

void block_release(struct assembly_store *store, struct assembly *assembly, uint64_t before)
{
    struct assembly_block *block;

    while ((block = assembly->first) && block_end(block) <= before) {
        assembly->first = block->next;
        *(block->next ? &block->next->previous : &assembly->last) = NULL;
        pool_release(store->blocks, block);
    }
}
