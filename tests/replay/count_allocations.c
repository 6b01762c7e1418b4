/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Library for LD_PRELOAD that counts allocations and mmap() calls of a program, and calls glibc's allocator by its
 * internal names. At exit it writes four numbers to the file COUNT_ALLOCATIONS: allocations and mappings of the main
 * thread, then those of all other threads. In a replay with one worker the main thread reads and inspects the packets;
 * the output thread writes the events.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *old, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct {
    _Atomic unsigned long allocations, maps;
} main_thread, others;

static void count_allocation(void)
{
    atomic_fetch_add(gettid() == getpid() ? &main_thread.allocations : &others.allocations, 1);
}

void *malloc(size_t size)
{
    count_allocation();
    return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    count_allocation();
    return __libc_calloc(count, size);
}

void *realloc(void *old, size_t size)
{
    count_allocation();
    return __libc_realloc(old, size);
}

void *memalign(size_t alignment, size_t size); /* malloc.h would declare the other functions, too */

void *memalign(size_t alignment, size_t size)
{
    count_allocation();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    void *block = memalign(alignment, size);

    if (!block)
        return ENOMEM;
    *out = block;
    return 0;
}

void *mmap(void *address, size_t length, int protection, int flags, int fd, off_t offset)
{
    atomic_fetch_add(gettid() == getpid() ? &main_thread.maps : &others.maps, 1);
    return (void *)syscall(SYS_mmap, address, length, protection, flags, fd, offset);
}

void *mmap64(void *address, size_t length, int protection, int flags, int fd, off64_t offset)
{
    return mmap(address, length, protection, flags, fd, offset);
}

__attribute__((destructor)) static void report(void)
{
    const char *path = getenv("COUNT_ALLOCATIONS");
    FILE *file = path ? fopen(path, "we") : NULL;

    if (!file)
        return;
    fprintf(file, "%lu %lu %lu %lu\n", atomic_load(&main_thread.allocations), atomic_load(&main_thread.maps),
            atomic_load(&others.allocations), atomic_load(&others.maps));
    fclose(file);
}
