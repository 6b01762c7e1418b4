/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files transferred by application protocols: name, digests, and an inspection window for rules (file.data).
 *
 * A parser opens a file in the file list of a transaction, appends bytes to it and closes it; a message may carry
 * several files, sequentially or interleaved. Only the digests that rules or the configuration need are computed (with
 * nettle). The first FILE_INSPECT_LIMIT bytes are kept for rules, later bytes in a sliding window.
 *
 * Threads:   a file engine belongs to one worker.
 * Ownership: files belong to their list, which belongs to a transaction; file_list_clear() frees them.
 */
#ifndef SLUICE_FILE_H
#define SLUICE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/heap.h"

enum file_state {
    FILE_OPEN,
    FILE_CLOSED,    /* complete, without gaps */
    FILE_TRUNCATED, /* bytes are missing: a gap, a limit, or the flow's end */
    FILE_ERROR,
};
const char *
file_state_name(enum file_state state); /* returns the name in EVE: "UNKNOWN", "CLOSED", "TRUNCATED", "ERROR" */

enum file_digest { FILE_MD5, FILE_SHA1, FILE_SHA256, FILE_DIGESTS };

struct file_hash;  /* states of the digest computations */
struct file_spool; /* a worker's ring to the writer thread of the file store: sluice/file_store.h */

enum {
    FILE_NAME_MAX = 4096,
    FILE_MAX_SIDS = 8,
    FILE_MAGIC_BYTES = 4096, /* libmagic sees up to this many bytes from the start of the file */
};

struct file {
    struct file *next;
    uint32_t id; /* unique in the flow, starting at 0 */
    enum file_state state;
    bool has_gaps;        /* bytes were lost in the middle */
    bool store_requested; /* a rule or the configuration requests storage */
    bool stored;          /* completely written to the file store's ring */
    bool store_refused;   /* cannot be stored: bytes are missing, or a limit was reached */
    bool magic_done;      /* libmagic has evaluated the file, or will not */
    bool logged;          /* the fileinfo event was written */
    uint8_t sid_count;
    uint32_t sids[FILE_MAX_SIDS]; /* rules that requested storage, ascending */
    struct buffer name;
    struct buffer other_names; /* alternative names a receiver may use, each followed by a line feed; for rules only */
    uint64_t size;             /* bytes received so far, plus the bytes of gaps */
    uint64_t missing;          /* bytes of gaps after the first received byte */
    uint64_t start, end;       /* byte range (HTTP 206); both 0: none */
    struct byterange_file *byterange_file; /* entry of app/byterange.c that appends later ranges, or NULL */
    struct buffer data;                    /* inspection window */
    uint64_t data_offset;                  /* offset of data.bytes[0] in the file, `missing` not counted */
    uint8_t digest[FILE_DIGESTS][32];      /* valid after file_close() for the kinds in `digests` */
    unsigned digests;  /* bits 1 << enum file_digest: the digests that are known; set by file_close() */
    const char *magic; /* libmagic's description, freed with the file; NULL: unknown, or not evaluated yet */
    /* private to src/file */
    struct file_hash *hash;
    uint64_t fresh_offset; /* offset of the first byte appended since file_engine_tick() */
    uint64_t tick;         /* the engine's tick in which fresh_offset was set */
    bool has_store_name;   /* the SHA-256 is known, even if events do not report it */
    uint64_t stored_tick;  /* tick in which `stored` was set */
    uint64_t spooled;      /* number in the worker's spool; 0: not in the file store */
};

/* Returns the offset of the next byte as rules see the file: without missing bytes, as in `data_offset`. */
static inline uint64_t file_received(const struct file *file)
{
    return file->size - file->missing;
}

struct file_list {
    struct file *first, *last;
    uint32_t count;
    bool store_requested; /* store all files of the list, also later ones, for the rule store_sid (0: no rule) */
    uint32_t store_sid;
};

struct file_engine;

/* FILE_INSPECT_LIMIT: number of bytes that are kept from the start of a file. FILE_INSPECT_WINDOW: size of the sliding
 * window for the bytes after them. */
enum { FILE_INSPECT_LIMIT = 100 << 10, FILE_INSPECT_WINDOW = 16 << 10 };

struct file_options {
    unsigned digests;         /* kinds requested by the configuration (force-hash) */
    bool magic;               /* force-magic */
    struct file_spool *spool; /* outlives the engine; NULL: no file store */
    bool store_all;           /* force-filestore */
    uint64_t store_limit;     /* larger files are not stored; 0: no limit */
};

/* Creates an engine; `heap` must outlive it. Returns 0 or -ENOMEM. */
int file_engine_new(struct file_engine **out, const struct file_options *options, struct heap *heap);
void file_engine_free(struct file_engine *engine);
/* Sets what the loaded rules need in addition to the options: kinds of digests, and file types. Called between packets.
 */
void file_engine_set_needs(struct file_engine *engine, unsigned digests, bool magic);
/* Loading libmagic's database is slow, so another thread may create the handle in advance. file_engine_set_magic()
 * moves it to the engine and sets *magic to NULL, unless the engine already has one. */
struct file_magic;
struct file_magic *file_magic_new(void);        /* NULL without memory or database */
void file_magic_free(struct file_magic *magic); /* NULL is allowed */
void file_engine_set_magic(struct file_engine *engine, struct file_magic **magic);
/* Sets whether loaded rules may store files (filestore). If so, each file is written to the file store when its start
 * leaves the inspection window, so that a rule can still request its storage. */
void file_engine_set_may_store(struct file_engine *engine, bool may_store);
/* Marks all bytes received so far as inspected: the window may now drop them. Called before more bytes are fed. */
void file_engine_tick(struct file_engine *engine);

struct file_counts {
    uint64_t opened, no_memory, magic; /* files; allocations that failed; evaluations by libmagic */
    uint64_t stored, store_refused;    /* files */
};
const struct file_counts *file_engine_counts(const struct file_engine *engine);

/* Appends a new file to the list and returns it; NULL without memory (counted). `name` may be NULL; it is truncated to
 * FILE_NAME_MAX bytes. `id` is unique in the flow. */
struct file *file_open(struct file_engine *engine, struct file_list *list, uint32_t id, const void *name,
                       size_t name_length);
/* Appends alternative names that a receiver may use, in the format of file.other_names. */
void file_add_names(struct file_engine *engine, struct file *file, const void *names, size_t length);
/* Appends bytes of the file. */
void file_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length);
/* Records lost bytes; `length` 0 means an unknown number. */
void file_gap(struct file_engine *engine, struct file *file, uint64_t length);
/* Ends the file: completes the digests and sets its state. A file with gaps gets FILE_TRUNCATED in place of
 * FILE_CLOSED. */
void file_close(struct file_engine *engine, struct file *file, enum file_state state);
/* Writes the members of EVE's fileinfo. `engine` is passed for alerts, so that a file stored since the last
 * file_engine_tick() is still reported as "storing", as in Suricata; for other events it is NULL. */
struct fields;
void file_describe(const struct file *file, uint64_t tx_id, const struct file_engine *engine, struct fields *out);
/* Frees the inspection windows of all files of the list; each window restarts at the next byte. Digests and the file
 * store stay complete. */
void file_list_shed(struct file_engine *engine, struct file_list *list);
void file_list_clear(struct file_engine *engine, struct file_list *list);
/* Move a file between lists: file_list_remove() removes it from one, file_list_add() appends it to another. The file is
 * also stored if file_list_request_store() was called for the list to which it is added. */
void file_list_remove(struct file_list *list, struct file *file);
void file_list_add(struct file_engine *engine, struct file_list *list, struct file *file);
/* Returns the heap memory of the file in bytes. */
size_t file_heap_size(const struct file_engine *engine, const struct file *file);
/* Requests that a file is stored, at once or when it is complete. sid: the requesting rule, or 0. */
void file_request_store(struct file_engine *engine, struct file *file, uint32_t sid);
/* Requests that all present and later files of the list are stored. */
void file_list_request_store(struct file_engine *engine, struct file_list *list, uint32_t sid);

/* --- chunks.c: data that arrives out of order ------------------------------------------------------ */

struct file_chunk;
struct file_chunks {
    struct file_chunk *first; /* queued data beyond `tracked`, in the order of offsets */
    uint32_t count;           /* queued chunks */
    uint64_t queued;          /* bytes in chunks */
    uint64_t tracked;         /* bytes passed to the file engine, gaps included */
};
/* Appends data at `offset` of the file, and the queued data that follows it; data after a gap is queued. bytes == NULL:
 * the data was lost. Without memory data is not queued, which heap_refused_count() counts. Returns whether the file has
 * grown. */
bool file_chunks_add(struct file_engine *engine, struct file_chunks *chunks, struct file *file, uint64_t offset,
                     const uint8_t *bytes, uint64_t length);
/* Appends all queued data, with the gaps before it recorded as lost. */
void file_chunks_flush(struct file_engine *engine, struct file_chunks *chunks, struct file *file);
void file_chunks_clear(struct file_engine *engine, struct file_chunks *chunks);

#endif
