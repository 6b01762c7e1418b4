/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A log that grows by tens of megabytes a second would fill the machine's memory with pages that hardly anybody reads
 * again: each write would take fresh ones, other files' would be pushed out, and once a share of memory is dirty all of
 * it goes to the disk at once. So what was written is begun to be written out a window at a time, and what is a good
 * way behind is dropped from the page cache, whose pages then serve the next writes. Pages that are still on their way
 * to the disk then simply stay.
 *
 * sync_file_range(2) waits where the disk's queue is full. A disk that takes so long is left to the kernel for a while,
 * which buffers what the disk cannot take yet.
 */
#include <fcntl.h>
#include <unistd.h>

#include "output_priv.h"
#include "sluice/clock.h"

enum { PAGE = 4096, WINDOW = 1 << 20, KEPT = 8 << 20, SLOW_MS = 20, LEFT_ALONE = 255 };

static void begin(struct write_out *out, int fd, off_t from, off_t to)
{
    uint64_t begun_ns = clock_monotonic_ns();

    sync_file_range(fd, from, to - from, SYNC_FILE_RANGE_WRITE); /* an error of the disk is told by the next write */
    if (clock_monotonic_ns() - begun_ns > SLOW_MS * (NS_PER_SECOND / 1000))
        out->windows_left_alone = LEFT_ALONE;
}

static void drop(int fd, off_t from, off_t to)
{
    if (from < 0)
        from = 0;
    posix_fadvise(fd, from, to - from, POSIX_FADV_DONTNEED);
}

void write_out_note(struct write_out *out, int fd, size_t written)
{
    off_t end;

    out->waiting += written;
    if (out->waiting < WINDOW)
        return;
    if (out->windows_left_alone > 0) {
        out->windows_left_alone--;
        out->waiting = 0;
        return;
    }
    end = lseek(fd, 0, SEEK_CUR);  /* behind what was appended last */
    if (end < (off_t)out->waiting) /* another file by now, or it was cut */
        out->waiting = end < 0 ? 0 : (size_t)end;
    if (out->waiting < WINDOW)
        return;

    off_t from = (end - (off_t)out->waiting) / PAGE * PAGE, to = end / PAGE * PAGE;

    out->waiting = (size_t)(end - to);
    begin(out, fd, from, to);
    if (from > KEPT) /* the window before, too: it may not have been on the disk the last time */
        drop(fd, from - KEPT - WINDOW, to - KEPT);
}
