/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the file engine know of each other. */
#ifndef FILE_PRIV_H
#define FILE_PRIV_H

#include "sluice/file.h"

struct file_engine {
    struct heap *heap;
    struct file_options options;
    unsigned digests, rule_digests; /* wanted by the configuration or by rules; by rules */
    bool magic, rule_magic, may_store;
    uint64_t tick;
    struct file_magic *libmagic; /* NULL until it is wanted, or when it can't be had */
    struct file_counts counts;
};

/* Digests: contexts for the kinds in `digests`; NULL when there is no memory. */
struct file_hash *hash_new(struct heap *heap, unsigned digests);
unsigned hash_kinds(const struct file_hash *hash);
void hash_update(struct file_hash *hash, const void *bytes, size_t length);
void hash_digest(struct file_hash *hash, enum file_digest kind, uint8_t *out); /* once a kind */

/* Lent until the next call; NULL when it knows nothing. */
const char *magic_of(struct file_magic *magic, const void *bytes, size_t length);

/* What becomes of a file's bytes on disk. */
void keep_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length);
void keep_before_sliding(struct file_engine *engine, struct file *file);
void keep_close(struct file_engine *engine, struct file *file);
void keep_clear(struct file_engine *engine, struct file *file);

#endif
