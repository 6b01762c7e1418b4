/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internal interfaces of dataset:
 *
 *   registry.c   registry of sets by name; resolves the paths of their files
 *   set.c        one set: hash tables (shards) and their memory blocks
 *   file.c       loading and saving dataset files
 *   line.c       one line of a dataset file
 */
#ifndef SLUICE_DATASET_PRIV_H
#define SLUICE_DATASET_PRIV_H

#include "sluice/dataset.h"

/* --- set.c ---------------------------------------------------------------------------------------- */

/* Creates a set with one owner. `memcap` is its size in bytes; `seed` is for the hash function. Returns 0 or -ENOMEM.
 */
int dataset_new(struct dataset **out, enum dataset_type type, size_t memcap, uint64_t seed);
/* adds an owner and returns the set; each owner must call dataset_free() */
struct dataset *dataset_share(struct dataset *set);
void dataset_free(struct dataset *set);
size_t dataset_memory(const struct dataset *set);
uint64_t dataset_memcap_hits(const struct dataset *set);

/* Adds a value like dataset_add(), together with its reputation (datarep). If the set has the value already, replaces
 * its reputation and returns DATASET_UNCHANGED. */
enum dataset_change dataset_set_value(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t value);

void dataset_clear(struct dataset *set); /* removes all values; the memory remains allocated */

/* Calls `each` for all values in unspecified order until one call returns an error, and returns this error, or 0.
 * `bytes` are valid only during the call. */
int dataset_each(struct dataset *set, int (*each)(const uint8_t *bytes, size_t length, void *user), void *user);

/* Writes all values and their reputation to a transfer, or reads them from it and replaces the values in the set. */
void dataset_transfer(struct transfer *t, struct dataset *set);

/* --- file.c --------------------------------------------------------------------------------------- */

/* Adds the values of a file to the set. Returns 0, -EINVAL if it is not a regular file or has invalid lines, -ENOSPC if
 * the set is full, or another -errno if it cannot be read. Invalid lines, and the line that did not fit, are reported
 * in `diag`. */
int dataset_load(struct dataset *set, const char *path, struct diag *diag);
/* Writes all values to a file, which it replaces. Returns 0 or -errno; errors are not reported in a diag. */
int dataset_save(struct dataset *set, const char *path);

#endif
