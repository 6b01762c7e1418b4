/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writeback of the event file: pages that were written are sent to the disk early and dropped from the page cache, so
 * that the log does not displace other files.
 *
 * Threads: only the thread that writes to the file calls write_out_note(), which may block while the disk is busy.
 */
#ifndef SLUICE_OUTPUT_WRITE_OUT_H
#define SLUICE_OUTPUT_WRITE_OUT_H

#include <stddef.h>

/* State for one file. Initialise it with zeros. */
struct write_out {
    size_t waiting;           /* bytes at the end of the file for which writeback has not been started */
    unsigned windows_to_skip; /* windows for which writeback is not started, because the disk was slow */
};

/* To be called after `written` bytes were appended to the file; starts writeback if a window is full. I/O errors are
 * ignored: the next write(2) reports them. */
void write_out_note(struct write_out *out, int fd, size_t written);

#endif
