/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The bytes of a capture file: a regular file, a pipe or standard input, decompressed if it is compressed with gzip,
 * Zstandard or LZ4. The format is recognised by its magic number, not by the name of the file.
 *
 * Memory is bounded: a Zstandard frame whose window is larger than 128 MiB (zstd --ultra --long=28 and above) is an
 * error, and the windows of gzip and LZ4 have at most 32 KiB and 64 KiB.
 *
 * Threads:   one.
 * Ownership: the input owns its descriptor; a stream of capture_input_stream() must be closed before the input.
 */
#ifndef SLUICE_CAPTURE_INPUT_H
#define SLUICE_CAPTURE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

struct capture_input;

/* Opens a file; "-" is standard input. When `stop_fd` becomes readable, a read that waits for a pipe ends; 0: none.
 * Returns 0, or -errno; if *out is set nevertheless, capture_input_error() returns the cause. */
int capture_input_open(struct capture_input **out, const char *path, int stop_fd);
void capture_input_close(struct capture_input *input); /* NULL is allowed */

/* Reads at most `size` bytes (not 0) of the capture. Returns their number, 0 at the end, or -errno; then
 * capture_input_error() returns the cause. */
ssize_t capture_input_read(struct capture_input *input, void *buffer, size_t size);
/* Reads the first four bytes of the capture, big-endian, which the next read returns, too. 0: there are fewer, or they
 * cannot be read. To be called before the first read. */
uint32_t capture_input_magic(struct capture_input *input);
/* Returns a stream that reads from the input; NULL: errno has the cause. */
FILE *capture_input_stream(struct capture_input *input);

/* Returns the descriptor of a regular file that is not compressed and can be read at any position; -1: the input can
 * only be read from its beginning to its end. */
int capture_input_fd(const struct capture_input *input);
/* Returns whether the packets come from a pipe, so that a read can wait for them. */
bool capture_input_is_live(const struct capture_input *input);
/* Returns the cause of an error; NULL: none. */
const char *capture_input_error(const struct capture_input *input);
/* Returns whether stop_fd has ended a read. */
bool capture_input_stopped(const struct capture_input *input);

#endif
