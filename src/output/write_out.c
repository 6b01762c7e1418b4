/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writeback of the event file. A log that grows by tens of megabytes per second would fill the page cache with pages
 * that are rarely read again. They would displace pages of other files, and the kernel would write all dirty pages to
 * the disk at once when they exceed their share of memory. So writeback is started whenever WINDOW bytes have been
 * appended, and pages more than KEPT bytes before the end of the file are dropped from the page cache. Pages whose
 * writeback has not finished stay in the cache.
 *
 * sync_file_range(2) blocks when the queue of the disk is full. After a call that took longer than SLOW_MS, writeback
 * is not started for the next SKIPPED windows.
 */
#include <fcntl.h>
#include <unistd.h>

#include "write_out.h"
#include "sluice/clock.h"

enum { PAGE = 4096, WINDOW = 1 << 20, KEPT = 8 << 20, SLOW_MS = 20, SKIPPED = 255 };

void write_out_note(struct write_out *out, int fd, size_t written)
{
    uint64_t before_ns;
    off_t end, from, to;

    out->waiting += written;
    if (out->waiting < WINDOW)
        return;
    if (out->windows_to_skip > 0) {
        out->windows_to_skip--;
        out->waiting = 0;
        return;
    }
    end = lseek(fd, 0, SEEK_CUR);  /* file offset after the last write */
    if (end < (off_t)out->waiting) /* the file was replaced or truncated */
        out->waiting = end < 0 ? 0 : (size_t)end;
    if (out->waiting < WINDOW)
        return;
    from = (end - (off_t)out->waiting) / PAGE * PAGE;
    to = end / PAGE * PAGE;
    out->waiting = (size_t)(end - to);
    before_ns = clock_monotonic_ns();
    /* an I/O error is ignored here: the next write() reports it */
    sync_file_range(fd, from, to - from, SYNC_FILE_RANGE_WRITE);
    if (clock_monotonic_ns() - before_ns > SLOW_MS * (NS_PER_SECOND / 1000))
        out->windows_to_skip = SKIPPED;
    if (from > KEPT) { /* includes the window before, whose pages could not be dropped last time if they were still
                          being written */
        off_t first = from - KEPT - WINDOW > 0 ? from - KEPT - WINDOW : 0;

        posix_fadvise(fd, first, to - KEPT - first, POSIX_FADV_DONTNEED);
    }
}
