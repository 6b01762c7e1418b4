/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Arena: memory that is freed together (a ruleset, a configuration, a batch's scratch).
 *
 * Threads:   an arena belongs to one thread at a time; nothing here locks.
 * Ownership: memory from arena_alloc() and the copy functions is valid until arena_free() or arena_reset().
 */
#ifndef SLUICE_ARENA_H
#define SLUICE_ARENA_H

#include <stddef.h>

struct arena;

/* Returns an empty arena that grows by blocks of at least `block_size` bytes (0: default); NULL when out of memory. */
struct arena *arena_new(size_t block_size);

/* Returns an arena for data that is rarely read. The data is in memory files (memfd_create()): arena_page_out() removes
 * it from the resident memory of the process, and an access maps the page again. */
struct arena *arena_new_cold(size_t block_size);
/* Unmaps all pages of a cold arena; the memory files keep their content. Other threads may read the arena at the same
 * time. */
void arena_page_out(const struct arena *arena);

/* Frees the arena with all its memory; NULL is allowed. */
void arena_free(struct arena *arena);

/* Returns zeroed memory, aligned for any type; NULL when out of memory. */
void *arena_alloc(struct arena *arena, size_t size);

/* Copy bytes or text into the arena; copies of texts are NUL-terminated. Return NULL when out of memory. */
void *arena_copy(struct arena *arena, const void *bytes, size_t size);
char *arena_strndup(struct arena *arena, const char *text, size_t length);
char *arena_strdup(struct arena *arena, const char *text);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Invalidates all memory that was allocated from the arena, and keeps its blocks for reuse. */
void arena_reset(struct arena *arena);

/* Return the bytes in use, and the bytes allocated from the system. */
size_t arena_used(const struct arena *arena);
size_t arena_reserved(const struct arena *arena);

#endif
