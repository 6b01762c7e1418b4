/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A progress line on a terminal while rules are loaded. */
#ifndef SLUICE_LOAD_PROGRESS_H
#define SLUICE_LOAD_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"

/* Shows the progress in one line of the terminal at stderr when loading takes longer than a second. */
struct load_progress {
    struct diag *diag; /* NULL: stderr is no terminal */
    uint64_t begin_ns, shown_ns;
    bool shown;
};
void load_progress_start(struct load_progress *progress, struct diag *diag);
void load_progress_stop(struct load_progress *progress); /* removes the line */

enum { PROGRESS_SIZE = 128 };
/* Writes the line to show now. Returns its length; 0 when there is none. */
size_t load_progress_line(struct load_progress *progress, uint64_t now_ns, const char *what, size_t done, size_t total,
                          char out[PROGRESS_SIZE]);

#endif
