/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shows a progress line on the terminal while rules are loaded. */
#ifndef SLUICE_LOAD_PROGRESS_H
#define SLUICE_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"

/* State of the progress line, which is written to stderr if that is a terminal and loading takes longer than a
 * second. */
struct load_progress {
    struct diag *diag; /* borrowed; NULL: stderr is not a terminal, so nothing is shown */
    uint64_t begin_ns, shown_ns;
    bool shown;
};
void load_progress_start(struct load_progress *progress, struct diag *diag);
void load_progress_stop(struct load_progress *progress); /* removes the line from the terminal */

enum { PROGRESS_SIZE = 128 };
/* Writes the line for `done` of `total` units of `what` (see diag_progress()). Returns its length; 0: nothing to show
 * yet (loading takes less than a second so far, or the line was updated less than 0.1 s ago). */
size_t load_progress_line(struct load_progress *progress, uint64_t now_ns, const char *what, size_t done, size_t total,
                          char out[PROGRESS_SIZE]);

#endif
