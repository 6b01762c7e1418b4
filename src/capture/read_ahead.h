/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A regular file in large pieces, one after the other, read ahead by a thread of its own when the file is large:
 * copying it out of the page cache, and waiting for a disk, is then nothing that the packets wait for.
 *
 * Before each piece there is room, for what the user of the piece before has not finished with.
 *
 * Threads:   the functions are called by one thread; the reader thread is inside.
 * Ownership: a piece is lent until read_ahead_release().
 */
#ifndef SLUICE_READ_AHEAD_H
#define SLUICE_READ_AHEAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct read_ahead;

/* Begins at `offset` of the file, which is `size` bytes long. `fd` is lent; its position is not touched. 0 or -ENOMEM.
 */
int read_ahead_new(struct read_ahead **out, int fd, uint64_t offset, uint64_t size, size_t room);
void read_ahead_free(struct read_ahead *reader); /* NULL is allowed */

/* The next piece: its length, 0 at the end of the file, -errno. The one lent before stays where it is. */
ssize_t read_ahead_next(struct read_ahead *reader, uint8_t **piece);
/* The piece before the last one is not needed any more. */
void read_ahead_release(struct read_ahead *reader);

#endif
