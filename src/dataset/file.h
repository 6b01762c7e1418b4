/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files with the values of a set: one value a line (dataset_parse_line()), or JSON. */
#ifndef SLUICE_DATASET_FILE_H
#define SLUICE_DATASET_FILE_H

#include "sluice/dataset.h"

/* Adds the values of a file, whose form is spec->format, to the set. A JSON object without the member spec->value_key
 * is left out, with a warning. Returns 0, -EINVAL if it is not a regular file or has invalid lines, -ENOSPC if the set
 * is full, or another -errno if it cannot be read. Invalid lines, and the line that did not fit, are reported in
 * `diag`. */
int dataset_load(struct dataset *set, const char *path, const struct dataset_spec *spec, struct diag *diag);
/* Writes all values to a file, which it replaces. Returns 0 or -errno; errors are not reported in a diag. */
int dataset_save(struct dataset *set, const char *path);

#endif
