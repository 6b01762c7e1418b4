/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A progress line on a terminal while rules are loaded.
 */
#ifndef SLUICE_LOAD_PROGRESS_H
#define SLUICE_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"

/* How far loading is, in one line of a terminal on stderr, when it takes longer than a second. The line is gone after
 * the end. */
struct load_progress {
    struct diag *diag; /* NULL: stderr is no terminal */
    uint64_t begin_ns, shown_ns;
    bool shown;
};
void load_progress_start(struct load_progress *progress, struct diag *diag);
void load_progress_stop(struct load_progress *progress);

enum { PROGRESS_SIZE = 128 };
/* The line to be shown now, and its length; 0 when there is none. */
size_t load_progress_line(struct load_progress *progress, uint64_t now_ns, const char *what, size_t done, size_t total,
                          char out[PROGRESS_SIZE]);

#endif
