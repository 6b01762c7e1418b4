/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside dataset:
 *
 *   registry.c   sets by name, where their files are
 *   set.c        one set: shards, blocks
 *   file.c       reading and writing files of values
 *   line.c       one line of them
 */
#ifndef SLUICE_DATASET_PRIV_H
#define SLUICE_DATASET_PRIV_H

#include "sluice/dataset.h"

/* --- set.c ---------------------------------------------------------------------------------------- */

/* 0 or -ENOMEM. */
int dataset_new(struct dataset **out, enum dataset_type type, size_t memcap, uint64_t seed);
struct dataset *dataset_share(struct dataset *set); /* with one more owner, who frees it, too */
void dataset_free(struct dataset *set);
size_t dataset_memory(const struct dataset *set);
uint64_t dataset_memcap_hits(const struct dataset *set);

/* As dataset_add(), with the number of a datarep; a value that is there gets the number. */
enum dataset_change dataset_put(struct dataset *set, const uint8_t *bytes, size_t length, uint16_t value);

void dataset_clear(struct dataset *set); /* no value is in it any more */

/* Calls `each` for all values, in no order; an error ends it. `bytes` are lent for the call. */
int dataset_each(struct dataset *set, int (*each)(const uint8_t *bytes, size_t length, void *user), void *user);

/* The values with their numbers. Reading: instead of those that are there. */
void dataset_transfer(struct transfer *t, struct dataset *set);

/* --- file.c --------------------------------------------------------------------------------------- */

/* 0, -errno when the file can't be read, -EINVAL for one that is none or has mistakes, -ENOSPC when the set is full.
 * Lines with mistakes, and the one that did not fit, are in `diag`. */
int dataset_load(struct dataset *set, const char *path, struct diag *diag);
/* 0 or -errno, not reported. */
int dataset_save(struct dataset *set, const char *path);

#endif
