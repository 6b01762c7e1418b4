/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal interfaces of dataset:
 *
 *   registry.c   sets by name, and the paths of their files
 *   set.c        one set: shards, blocks
 *   file.c       loading and saving dataset files
 *   line.c       one line of a dataset file
 */
#ifndef SLUICE_DATASET_PRIV_H
#define SLUICE_DATASET_PRIV_H

#include "sluice/dataset.h"

/* --- set.c ---------------------------------------------------------------------------------------- */

/* 0 or -ENOMEM. */
int dataset_new(struct dataset **out, enum dataset_type type, size_t memcap, uint64_t seed);
struct dataset *dataset_share(struct dataset *set); /* adds an owner, which must also call dataset_free() */
void dataset_free(struct dataset *set);
size_t dataset_memory(const struct dataset *set);
uint64_t dataset_memcap_hits(const struct dataset *set);

/* Like dataset_add(), with a reputation value (datarep), which replaces that of an existing entry. */
enum dataset_change dataset_set_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t value);

void dataset_clear(struct dataset *set); /* removes all values */

/* Calls `each` for all values in unspecified order; stops at an error. `bytes` are valid during the call only. */
int dataset_each(struct dataset *set, int (*each)(const uint8_t *bytes, size_t length, void *user), void *user);

/* Transfers values and their reputation; the reading side replaces its current values. */
void dataset_transfer(struct transfer *t, struct dataset *set);

/* --- file.c --------------------------------------------------------------------------------------- */

/* 0; -errno when the file cannot be read; -EINVAL when it is not a regular file or has invalid lines; -ENOSPC when the
 * set is full. Invalid lines, and the line that did not fit, are reported to `diag`. */
int dataset_load(struct dataset *set, const char *path, struct diag *diag);
/* 0 or -errno; reports nothing itself. */
int dataset_save(struct dataset *set, const char *path);

#endif
