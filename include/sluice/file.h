/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that protocols carry: a name, bytes as they come, digests, and a window of bytes for rules (file.data).
 *
 * A protocol opens a file in a list of its transaction, appends to it and closes it; a message may carry several, one
 * after the other or interleaved. Digests are computed only for the kinds that somebody wants (rules, or the
 * configuration). The first `inspect_limit` bytes are kept for rules, then a window that slides.
 *
 * Threads:   a file engine belongs to one worker; digests of nettle.
 * Ownership: files belong to their list, which belongs to a transaction; file_list_clear() gives them back.
 */
#ifndef SLUICE_FILE_H
#define SLUICE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/heap.h"

enum file_state {
    FILE_OPEN,
    FILE_CLOSED,    /* complete */
    FILE_TRUNCATED, /* bytes are missing: a gap, a limit, or the flow's end */
    FILE_ERROR,
};
const char *file_state_name(enum file_state state); /* EVE's: "UNKNOWN", "CLOSED", "TRUNCATED", "ERROR" */

enum file_digest { FILE_MD5, FILE_SHA1, FILE_SHA256, FILE_DIGESTS };

struct file_hash;  /* digest contexts */
struct file_spool; /* a worker's way to the file store */

enum {
    FILE_NAME_MAX = 4096,
    FILE_MAX_SIDS = 8,
    FILE_MAGIC_BYTES = 4096, /* libmagic is asked about so many of the first bytes, or all of a smaller file */
};

struct file {
    struct file *next;
    uint32_t id; /* from 0 on, within the flow */
    enum file_state state;
    bool has_gaps;
    bool store_wanted;  /* a rule or the configuration wants it stored */
    bool stored;        /* all of it was handed to the file store */
    bool store_refused; /* it can't be stored any more: bytes were lost */
    bool magic_done;
    bool logged; /* for whoever writes events */
    uint8_t sid_count;
    uint32_t sids[FILE_MAX_SIDS]; /* rules that wanted it stored */
    struct buffer name;
    struct buffer other_names; /* that receivers may take for its name, each followed by a line feed; for rules alone */
    uint64_t size;             /* bytes so far, with those of gaps */
    uint64_t missing;          /* bytes of gaps behind the first byte that came */
    uint64_t start, end;       /* of a range (HTTP 206); 0 and 0: none */
    struct byterange_file *byterange_file; /* entry of app/byterange.c that adds later ranges; NULL: none */
    struct buffer data;                    /* what is kept for rules */
    uint64_t data_offset;                  /* of data.bytes[0] in the file, without counting `missing` */
    uint8_t digest[FILE_DIGESTS][32];      /* once closed, as far as in `digests` */
    unsigned digests;                      /* bits 1 << enum file_digest: computed */
    const char *magic;                     /* libmagic's text; NULL: not asked, or not known yet. Lent by the engine */
    /* the engine's own */
    struct file_hash *hash;
    uint64_t fresh_offset; /* of the first byte that came since file_engine_tick() */
    uint64_t tick;
    bool has_store_name;  /* the SHA-256 is known, though it may not be told */
    uint64_t stored_tick; /* when it became `stored` */
    uint64_t spooled;     /* its number in the file store; 0: nothing of it went there */
};

/* Offset of the next byte as rules see the file: like `data_offset`, it does not count missing bytes. */
static inline uint64_t file_received(const struct file *file)
{
    return file->size - file->missing;
}

struct file_list {
    struct file *first, *last;
    uint32_t count;
    bool keep; /* file_list_keep() */
    uint32_t keep_sid;
};

struct file_engine;

struct file_options {
    uint32_t inspect_limit;   /* bytes kept from the start; 100 KiB */
    uint32_t inspect_window;  /* kept behind them; 16 KiB */
    unsigned digests;         /* wanted by the configuration (force-hash) */
    bool magic;               /* force-magic */
    struct file_spool *spool; /* outlives the engine; NULL: nothing is stored */
    bool store_all;           /* force-filestore */
    uint64_t store_limit;     /* larger files are not stored; 0: all are */
};
void file_options_default(struct file_options *options);

/* `heap` outlives the engine. 0 or -ENOMEM. */
int file_engine_new(struct file_engine **out, const struct file_options *options, struct heap *heap);
void file_engine_free(struct file_engine *engine);
/* What the rules at hand ask for besides. Between packets. */
void file_engine_want(struct file_engine *engine, unsigned digests, bool magic);
/* libmagic reads its database when it is first wanted, which takes a while. Made aside by another thread it is given
 * before; the engine takes it when it has none, and *magic is NULL then. */
struct file_magic;
struct file_magic *file_magic_new(void);        /* NULL when it can't be had */
void file_magic_free(struct file_magic *magic); /* NULL is allowed */
void file_engine_give_magic(struct file_engine *engine, struct file_magic **magic);
/* Rules may ask for files to be stored (filestore): files are kept so that it can still be done when they are complete.
 */
void file_engine_want_store(struct file_engine *engine, bool may_store);
/* Before more bytes are fed: those that came before have been inspected, and the window may leave them behind. */
void file_engine_tick(struct file_engine *engine);

struct file_counts {
    uint64_t opened, no_memory, magic;
    uint64_t stored, store_refused; /* files */
};
const struct file_counts *file_engine_counts(const struct file_engine *engine);

/* A new file at the end of the list; NULL when there is no memory (counted). `name` may be NULL; it is cut at 4,096
 * bytes. `id` is unique in the flow. */
struct file *file_open(struct file_engine *engine, struct file_list *list, uint32_t id, const void *name,
                       size_t name_length);
/* Names that some receivers take for the file's. */
void file_add_names(struct file_engine *engine, struct file *file, const void *names, size_t length);
/* More of it. */
void file_append(struct file_engine *engine, struct file *file, const void *bytes, size_t length);
/* Bytes that are lost: `length` 0 is unknown. */
void file_gap(struct file_engine *engine, struct file *file, uint64_t length);
void file_close(struct file_engine *engine, struct file *file, enum file_state state);
/* Members of EVE's fileinfo. `now` for alerts: what was stored since its tick is being stored still, as in the field;
 * NULL otherwise. */
struct fields;
void file_describe(const struct file *file, uint64_t tx_id, const struct file_engine *now, struct fields *out);
/* Frees the inspection windows of all files of the list; each window restarts at the next byte. Digests and the file
 * store stay complete. */
void file_list_shed(struct file_engine *engine, struct file_list *list);
void file_list_clear(struct file_engine *engine, struct file_list *list);
/* Remove a file from a list; append it to a list. If file_list_keep() was called for the new list, the file is stored,
 * too. */
void file_list_remove(struct file_list *list, struct file *file);
void file_list_add(struct file_engine *engine, struct file_list *list, struct file *file);
/* Heap memory of the file, in bytes. */
size_t file_heap_size(const struct file_engine *engine, const struct file *file);
/* Wants a file stored, now or when it is complete; `sid` is the rule that does, or 0. */
void file_keep(struct file_engine *engine, struct file *file, uint32_t sid);
/* The same for all files of the list, those that come, too. */
void file_list_keep(struct file_engine *engine, struct file_list *list, uint32_t sid);

#endif
