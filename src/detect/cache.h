/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was compiled once, kept in a folder: bytes by a key that is a digest of all they depend on. Several programs may
 * share the folder.
 *
 * Threads:   get and put may be called by several threads; the others by one.
 * Ownership: a cache owns its folder's descriptor; what cache_get() gives is the caller's.
 */
#ifndef SLUICE_DETECT_CACHE_H
#define SLUICE_DETECT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"

enum { CACHE_KEY_SIZE = 32 };

struct cache_key {
    uint8_t bytes[CACHE_KEY_SIZE]; /* SHA-256 */
};

/* --- cache_file.c: a file's form ------------------------------------------------------------------ */

enum { CACHE_FILE_HEADER = 8 + 4 + 4 + CACHE_KEY_SIZE + 8 + 32, CACHE_FILE_MAX = 1 << 30 };

/* The header for a file of these bytes. */
void cache_file_header(uint8_t out[CACHE_FILE_HEADER], const struct cache_key *key, const void *bytes, size_t length);
/* NULL when the file is whole, and of this key: then what follows the header are the bytes that were put. Otherwise
 * what is wrong. */
const char *cache_file_check(const struct cache_key *key, const uint8_t *file, size_t size);

/* --- cache.c: the folder -------------------------------------------------------------------------- */

struct cache_options {
    const char *path;         /* made, with those above it, when it is not there */
    uint64_t max_age_seconds; /* without use, after which a file is removed; 0: never */
    uint64_t max_bytes;       /* of all files; the longest unused ones are removed first. 0: any */
};

struct cache;

int cache_open(struct cache **out, const struct cache_options *options); /* 0 or -errno */
void cache_close(struct cache *cache);                                   /* NULL is allowed */

struct cache_item {
    uint8_t *memory; /* to be freed */
    const uint8_t *bytes;
    size_t length;
};

/* Whether it is there and sound; only then *out is written. A file that is not is told by cache_tell(). */
bool cache_get(struct cache *cache, const struct cache_key *key, struct cache_item *out);
/* What was got and is of no use after all. */
void cache_refuse(struct cache *cache, const struct cache_key *key, const char *cause);
/* Failure only means that it will not be there; the first one is told. */
void cache_put(struct cache *cache, const struct cache_key *key, const void *bytes, size_t length);

/* Removes what is too old and too much. */
void cache_tidy(struct cache *cache);
/* Warnings of what was damaged, and of what could not be written. */
void cache_tell(const struct cache *cache, struct diag *diag);

#endif
