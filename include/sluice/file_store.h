/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * File store: files out of the traffic on disk, in the layout of Suricata's filestore version 2: DIR/ab/abcd..., where
 * the name is the SHA-256 of the content, so that equal files are one; its time says when it was seen last.
 *
 * Workers copy bytes into a ring of their own; a thread writes them. A worker never waits for the disk: when the ring
 * is full, the file is given up and counted. What is not complete yet lies in DIR/tmp.
 *
 * Threads:   new, start, stop and free by one thread; a spool belongs to one worker; counts by any thread.
 * Ownership: the store owns its spools; they are lent until file_store_free().
 */
#ifndef SLUICE_FILE_STORE_H
#define SLUICE_FILE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_store;
struct file_spool;

struct file_store_options {
    const char *dir;  /* made with its parents if need be */
    unsigned workers; /* one spool each */
    size_t ring_size; /* bytes between a worker and the thread; 0: 4 MiB */
    bool lossless;    /* a worker waits for room: replay */
};

/* Makes the folders and takes what an earlier run left in DIR/tmp away. 0 or -errno. */
int file_store_new(struct file_store **out, const struct file_store_options *options);
int file_store_start(struct file_store *store); /* 0 or -errno */
void file_store_stop(struct file_store *store); /* when no worker uses its spool any more: all is written */
void file_store_free(struct file_store *store); /* NULL is allowed; stops */

struct file_spool *file_store_spool(struct file_store *store, unsigned worker);

struct file_store_counts {
    uint64_t files;  /* that have got their name, or had it */
    uint64_t errors; /* of the file system */
};
void file_store_counts(struct file_store *store, struct file_store_counts *out);

/* --- What a worker does --------------------------------------------------------------------------- */

/* A new file: its number in this spool, or 0 when there is no room. */
uint64_t file_spool_open(struct file_spool *spool);
/* False when there is no room: then the file is to be given up. */
bool file_spool_write(struct file_spool *spool, uint64_t number, const void *bytes, size_t length);
/* It is complete: `sha256` names it. False as above. */
bool file_spool_finish(struct file_spool *spool, uint64_t number, const uint8_t sha256[32]);
/* Nobody wants it. */
void file_spool_discard(struct file_spool *spool, uint64_t number);

#endif
