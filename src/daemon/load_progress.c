/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shows that a large ruleset is being loaded. A progress line appears on the terminal after one second, and is updated
 * ten times a second.
 */
#include "sluice/load_progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/diag.h"

enum { WAIT_NS = 1000000000, PAUSE_NS = 100000000, NAME_MAX_SHOWN = 40 };

/* Returns the last NAME_MAX_SHOWN bytes of a long path, or the whole path if it is not longer. */
static const char *shortened(const char *what)
{
    size_t length = strlen(what);

    return length > NAME_MAX_SHOWN ? what + length - NAME_MAX_SHOWN : what;
}

size_t load_progress_line(struct load_progress *progress, uint64_t now_ns, const char *what, size_t done, size_t total,
                          char out[PROGRESS_SIZE])
{
    if (total == 0 || now_ns - progress->begin_ns < WAIT_NS ||
        (progress->shown && now_ns - progress->shown_ns < PAUSE_NS))
        return 0;
    progress->shown = true;
    progress->shown_ns = now_ns;
    return (size_t)snprintf(out, PROGRESS_SIZE, "\rsluice: %s: %3u %%\033[K", shortened(what),
                            (unsigned)(100.0 * (double)done / (double)total));
}

static void write_line(const char *line, size_t length)
{
    if (length > 0 && write(STDERR_FILENO, line, length) < 0)
        return; /* no progress line is shown; loading continues */
}

static void show(void *user, const char *what, size_t done, size_t total)
{
    char line[PROGRESS_SIZE];

    write_line(line, load_progress_line(user, clock_monotonic_ns(), what, done, total, line));
}

void load_progress_start(struct load_progress *progress, struct diag *diag)
{
    *progress = (struct load_progress){ .begin_ns = clock_monotonic_ns() };
    if (!isatty(STDERR_FILENO))
        return;
    progress->diag = diag;
    diag_on_progress(diag, show, progress);
}

void load_progress_stop(struct load_progress *progress)
{
    static const char nothing[] = "\r\033[K";

    if (!progress->diag)
        return;
    diag_on_progress(progress->diag, NULL, NULL);
    if (progress->shown)
        write_line(nothing, sizeof(nothing) - 1);
}
