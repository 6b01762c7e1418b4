/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cache of compiled databases in a folder. The key is a digest of all data that a database depends on. Several
 * processes may share the folder.
 *
 * Threads:   cache_get() and cache_put() may be called by several threads; the other functions by one.
 * Ownership: a cache owns the descriptor of its folder; the caller owns the item that cache_get() returns.
 */
#ifndef SLUICE_DETECT_CACHE_H
#define SLUICE_DETECT_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"

enum { CACHE_KEY_SIZE = 32 };

struct cache_key {
    uint8_t bytes[CACHE_KEY_SIZE]; /* SHA-256 of the data that the database depends on */
};

/* --- cache_file.c: file format -------------------------------------------------------------------- */

enum { CACHE_FILE_HEADER = 8 + 4 + 4 + CACHE_KEY_SIZE + 8 + 32, CACHE_FILE_MAX = 1 << 30 };

/* Writes the header of a cache file that contains `bytes` to `out`. */
void cache_file_header(uint8_t out[CACHE_FILE_HEADER], const struct cache_key *key, const void *bytes, size_t length);
/* Checks a file that was read completely. Returns NULL if it is intact and belongs to this key; its database begins at
 * offset CACHE_FILE_HEADER. Otherwise returns the error text. */
const char *cache_file_check(const struct cache_key *key, const uint8_t *file, size_t size);

/* --- cache.c: folder ------------------------------------------------------------------------------ */

struct cache_options {
    const char *path;         /* created with its parents if missing */
    uint64_t max_age_seconds; /* unused files are removed after this time; 0: never */
    uint64_t max_bytes;       /* limit for all files; the least recently used ones are removed first. 0: unlimited */
};

struct cache;

int cache_open(struct cache **out, const struct cache_options *options); /* 0 or -errno */
void cache_close(struct cache *cache);                                   /* NULL is allowed */

struct cache_item {
    uint8_t *memory;      /* allocated block; the caller frees it */
    const uint8_t *bytes; /* the database, within `memory` */
    size_t length;
};

/* Reads the database of a key. Returns false, leaving *out unset, if its file is missing, invalid or cannot be read.
 * cache_report() reports invalid files. */
bool cache_get(struct cache *cache, const struct cache_key *key, struct cache_item *out);
/* Records for cache_report() that the database of a key was read but cannot be used. */
void cache_reject(struct cache *cache, const struct cache_key *key, const char *cause);
/* Writes the database of a key. The first write error is recorded for cache_report(), and no more databases are written
 * after it: they are compiled again at the next start. */
void cache_put(struct cache *cache, const struct cache_key *key, const void *bytes, size_t length);

/* Removes files that were not used for max_age_seconds, then the least recently used ones until the rest fits into
 * max_bytes. Files that were used in the last hour are kept. */
void cache_expire(struct cache *cache);
/* Adds warnings about invalid files and about the first write error to `diag`. */
void cache_report(const struct cache *cache, struct diag *diag);

#endif
