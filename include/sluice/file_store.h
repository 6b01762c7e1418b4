/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File store: writes files extracted from the traffic to disk, in the layout of Suricata's filestore version 2:
 * DIR/ab/abcd..., where the name is the SHA-256 of the content. Files with equal content are stored once; the
 * modification time is the time of the last transfer.
 *
 * Each worker copies bytes into its own ring (a spool); a writer thread writes them to disk. A worker never waits for
 * the disk: when its ring is full, storing the file is aborted and counted. Incomplete files are in DIR/tmp.
 *
 * Threads:   new, start, stop and free by one thread; a spool belongs to one worker; counts by any thread.
 * Ownership: the store owns its spools; they are valid until file_store_free().
 */
#ifndef SLUICE_FILE_STORE_H
#define SLUICE_FILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_store;
struct file_spool;

struct file_store_options {
    const char *dir;  /* created with its parents if missing */
    unsigned workers; /* number of spools */
    size_t ring_size; /* bytes of the ring of one worker; 0: 4 MiB */
    bool lossless;    /* replay: a worker waits for room in its ring */
};

/* Creates the directories and removes incomplete files of an earlier run from DIR/tmp. 0 or -errno. */
int file_store_new(struct file_store **out, const struct file_store_options *options);
int file_store_start(struct file_store *store); /* 0 or -errno */
void file_store_stop(struct file_store *store); /* writes all records; no worker may use its spool any more */
void file_store_free(struct file_store *store); /* NULL is allowed; stops */

struct file_spool *file_store_spool(struct file_store *store, unsigned worker);

struct file_store_counts {
    uint64_t files;  /* completed, including those whose content was stored before */
    uint64_t errors; /* files that were not stored: an error of the file system, or too many files written at once */
};
void file_store_counts(struct file_store *store, struct file_store_counts *out);

/* --- Spool of a worker ---------------------------------------------------------------------------- */

/* Starts a file. Returns its number in this spool, or 0 when the ring is full. */
uint64_t file_spool_open(struct file_spool *spool);
/* Appends bytes. False when the ring is full: the caller must then discard the file. */
bool file_spool_write(struct file_spool *spool, uint64_t number, const void *bytes, size_t length);
/* Completes the file and names it by its SHA-256. False when the ring is full: the caller must then discard the
 * file. */
bool file_spool_finish(struct file_spool *spool, uint64_t number, const uint8_t sha256[32]);
/* Deletes what was written of the file. */
void file_spool_discard(struct file_spool *spool, uint64_t number);

#endif
