/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with the values of a set: one value a line (dataset_parse_line()). */
#ifndef SLUICE_DATASET_FILE_H
#define SLUICE_DATASET_FILE_H

#include "sluice/dataset.h"

/* Adds the values of a file to the set. Returns 0, -EINVAL if it is not a regular file or has invalid lines, -ENOSPC if
 * the set is full, or another -errno if it cannot be read. Invalid lines, and the line that did not fit, are reported
 * in `diag`. */
int dataset_load(struct dataset *set, const char *path, struct diag *diag);
/* Writes all values to a file, which it replaces. Returns 0 or -errno; errors are not reported in a diag. */
int dataset_save(struct dataset *set, const char *path);

#endif
