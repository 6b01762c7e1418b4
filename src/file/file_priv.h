/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal interfaces of the file engine: engine state, digests, libmagic, storing. */
#ifndef FILE_PRIV_H
#define FILE_PRIV_H

#include "sluice/file.h"

struct file_engine {
    struct heap *heap;
    struct file_options options;
    unsigned digests, rule_digests; /* kinds that configuration and rules need, and that rules need */
    bool magic, rule_magic, may_store;
    uint64_t tick;
    struct file_magic *libmagic; /* NULL until needed, or if it cannot be loaded */
    struct file_counts counts;
};

/* Allocates digest contexts for the kinds in `digests`; NULL without memory. */
struct file_hash *hash_new(struct heap *heap, unsigned digests);
unsigned hash_kinds(const struct file_hash *hash);
void hash_update(struct file_hash *hash, const void *bytes, size_t length);
void hash_digest(struct file_hash *hash, enum file_digest kind, uint8_t *out); /* once for each kind */

/* Returns libmagic's description, valid until the next call; NULL on failure. */
const char *magic_identify(struct file_magic *magic, const void *bytes, size_t length);

/* Forwarding of a file's bytes to the file store (see spooling.c). */
/* Writes received bytes if the file is being stored. */
void spool_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length);
/* Starts storing if rules may store the file. Must be called before the start of the file leaves the window. */
void spool_before_sliding(struct file_engine *engine, struct file *file);
void spool_close(struct file_engine *engine, struct file *file);
/* Discards a file that is being stored. */
void spool_clear(struct file_engine *engine, struct file *file);

#endif
