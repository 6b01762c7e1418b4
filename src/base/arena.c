/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An arena is a list of blocks; the newest is filled from the front. A request larger than half a block that does not
 * fit into the newest block gets a block of its own, which is put behind the newest, so that the free rest of the
 * newest block stays usable. arena_reset() keeps the blocks on a free list.
 *
 * Each block of a cold arena is a shared mapping of a separate memory file. The pages of such a mapping can be removed
 * from the process at any time, because the file keeps them. A file can fail to be created: it needs a file descriptor
 * for a moment, and its pages are charged to the control group. The block is then allocated with malloc().
 */
#include "sluice/arena.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { DEFAULT_BLOCK_SIZE = 64 * 1024, ALIGNMENT = 16 };

struct block {
    struct block *next;
    size_t size, used;
    size_t mapping_length; /* of the memory file; 0: allocated with malloc() */
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct arena {
    struct block *blocks; /* newest first */
    struct block *unused; /* blocks kept by arena_reset() for reuse */
    size_t block_size;
    size_t used, reserved;
    bool is_cold;
};

struct arena *arena_new(size_t block_size)
{
    struct arena *arena = calloc(1, sizeof(*arena));

    if (arena)
        arena->block_size = block_size ? block_size : DEFAULT_BLOCK_SIZE;
    return arena;
}

struct arena *arena_new_cold(size_t block_size)
{
    struct arena *arena = arena_new(block_size);

    if (arena)
        arena->is_cold = true;
    return arena;
}

void arena_page_out(const struct arena *arena)
{
    for (struct block *block = arena->blocks, *next; block; block = next) {
        next = block->next; /* read it before its page is removed */
        if (block->mapping_length > 0)
            (void)madvise(block, block->mapping_length, MADV_DONTNEED);
    }
}

static struct block *map_block(size_t size)
{
    int fd = memfd_create("sluice-rules", MFD_CLOEXEC);
    void *block = MAP_FAILED;

    if (fd < 0)
        return NULL;
    /* This write sets the size of the file: the engine's seccomp filter does not allow ftruncate(). */
    if (pwrite(fd, "", 1, (off_t)size - 1) == 1)
        block = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (block == MAP_FAILED)
        return NULL;
    ((struct block *)block)->mapping_length = size;
    return block;
}

static void free_blocks(struct block *block)
{
    while (block) {
        struct block *next = block->next;

        if (block->mapping_length > 0)
            munmap(block, block->mapping_length);
        else
            free(block);
        block = next;
    }
}

void arena_free(struct arena *arena)
{
    if (!arena)
        return;
    free_blocks(arena->blocks);
    free_blocks(arena->unused);
    free(arena);
}

static struct block *reuse_block(struct arena *arena, size_t size)
{
    for (struct block **link = &arena->unused; *link; link = &(*link)->next) {
        struct block *block = *link;

        if (block->size >= size) {
            *link = block->next;
            block->used = 0;
            return block;
        }
    }
    return NULL;
}

static struct block *add_block(struct arena *arena, size_t size)
{
    size_t wanted = size > arena->block_size ? size : arena->block_size;
    struct block *block = reuse_block(arena, size);

    if (!block) {
        if (wanted > SIZE_MAX - sizeof(*block))
            return NULL;
        block = arena->is_cold ? map_block(sizeof(*block) + wanted) : NULL;
        if (!block) {
            block = malloc(sizeof(*block) + wanted);
            if (!block)
                return NULL;
            block->mapping_length = 0;
        }
        block->size = wanted;
        block->used = 0;
        arena->reserved += wanted;
    }
    if (arena->blocks && size > arena->block_size / 2) {
        block->next = arena->blocks->next;
        arena->blocks->next = block;
    } else {
        block->next = arena->blocks;
        arena->blocks = block;
    }
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX - ALIGNMENT)
        return NULL;
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

    struct block *block = arena->blocks;

    if (!block || block->size - block->used < size) {
        block = add_block(arena, size);
        if (!block)
            return NULL;
    }
    void *bytes = block->bytes + block->used;

    block->used += size;
    arena->used += size;
    return memset(bytes, 0, size);
}

void *arena_copy(struct arena *arena, const void *bytes, size_t size)
{
    void *copy = arena_alloc(arena, size);

    if (copy && size > 0)
        memcpy(copy, bytes, size);
    return copy;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length)
{
    char *copy = length < SIZE_MAX ? arena_alloc(arena, length + 1) : NULL;

    if (copy)
        memcpy(copy, text, length);
    return copy;
}

char *arena_strdup(struct arena *arena, const char *text)
{
    return arena_strndup(arena, text, strlen(text));
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return NULL;

    char *text = arena_alloc(arena, (size_t)length + 1);

    if (text) {
        va_start(args, format);
        vsnprintf(text, (size_t)length + 1, format, args);
        va_end(args);
    }
    return text;
}

void arena_reset(struct arena *arena)
{
    while (arena->blocks) {
        struct block *block = arena->blocks;

        arena->blocks = block->next;
        block->next = arena->unused;
        arena->unused = block;
    }
    arena->used = 0;
}

size_t arena_used(const struct arena *arena)
{
    return arena->used;
}

size_t arena_reserved(const struct arena *arena)
{
    return arena->reserved;
}
