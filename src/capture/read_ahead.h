/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a regular file in large pieces, ahead of the user by a separate thread when the file is large, so that packets
 * do not wait for the copy out of the page cache or for the disk.
 *
 * Before each piece there are `room` writable bytes, into which the user can copy data of the previous piece that is
 * not processed yet.
 *
 * Threads:   the functions are called by one thread; the reader thread is internal.
 * Ownership: a piece is valid until read_ahead_release().
 */
#ifndef SLUICE_READ_AHEAD_H
#define SLUICE_READ_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct read_ahead;

/* Allocates a reader that begins at `offset` of the file, which is `size` bytes long. The caller still owns `fd`, and
 * its position is not changed. Returns 0 or -ENOMEM. */
int read_ahead_new(struct read_ahead **out, int fd, uint64_t offset, uint64_t size, size_t room);
void read_ahead_free(struct read_ahead *reader); /* NULL is allowed */

/* Returns the length of the next piece, 0 at the end of the file, or -errno. The previous piece stays valid until
 * read_ahead_release(). */
ssize_t read_ahead_next(struct read_ahead *reader, uint8_t **piece);
/* Releases the piece before the one that read_ahead_next() returned last. */
void read_ahead_release(struct read_ahead *reader);

#endif
