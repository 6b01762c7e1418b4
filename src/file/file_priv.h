/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internal interfaces of the file engine: engine state, digests, libmagic, storing. */
#ifndef FILE_PRIV_H
#define FILE_PRIV_H

#include "sluice/file.h"

struct file_engine {
    struct heap *heap;
    struct file_options options;
    /* digests to compute, and digests that rules need, as bits 1 << enum file_digest */
    unsigned digests, rule_digests;
    bool magic, rule_magic, may_store;
    uint64_t tick;
    struct file_magic *libmagic; /* NULL until an option or a rule needs file types, and if it cannot be loaded */
    struct file_counts counts;
};

/* Returns contexts for the digests with the bits 1 << enum file_digest; NULL if memory is exhausted. heap_release()
 * frees them. */
struct file_hash *hash_new(struct heap *heap, unsigned digests);
unsigned hash_kinds(const struct file_hash *hash);
void hash_update(struct file_hash *hash, const void *bytes, size_t length);
void hash_digest(struct file_hash *hash, enum file_digest kind, uint8_t *out); /* may be called once for each kind */

/* Returns libmagic's description of the bytes, which is valid until the next call with this handle; NULL on failure. */
const char *magic_identify(struct file_magic *magic, const void *bytes, size_t length);

/* --- spooling.c: forwarding of files to the file store -------------------------------------------- */

/* Writes received bytes to the file store if the file is being stored. */
void spool_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length);
/* Starts storing if the loaded rules may store files. Must be called before the start of the file is removed from the
 * window. */
void spool_before_sliding(struct file_engine *engine, struct file *file);
void spool_close(struct file_engine *engine, struct file *file);
/* Discards the stored bytes of a file that is being stored. */
void spool_clear(struct file_engine *engine, struct file *file);

#endif
