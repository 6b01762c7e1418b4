/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One set of values. Its name and its files belong to registry.c. Further operations on a set are in sluice/dataset.h.
 *
 * Threads:   any thread may call these functions; each shard is locked while it is read or changed.
 * Ownership: reference counted, see dataset_share(). dataset_new() reserves all memory.
 */
#ifndef SLUICE_DATASET_SET_H
#define SLUICE_DATASET_SET_H

#include "sluice/dataset.h"

/* Creates a set with one owner. `memcap` is its size in bytes; `seed` is for the hash function. Returns 0 or -ENOMEM.
 */
int dataset_new(struct dataset **out, enum dataset_type type, size_t memcap, uint64_t seed);
/* adds an owner and returns the set; each owner must call dataset_free() */
struct dataset *dataset_share(struct dataset *set);
void dataset_free(struct dataset *set);
size_t dataset_memory(const struct dataset *set);
uint64_t dataset_memcap_hits(const struct dataset *set);

/* Adds a value with a JSON object, whose text is copied. A set with objects gets values only while it is loaded, by one
 * thread. If the set has the value already, it keeps its first object, and the result is DATASET_UNCHANGED. */
enum dataset_change dataset_add_object(struct dataset *set, const uint8_t *bytes, size_t length, const char *json);

/* Calls `each` for all values in unspecified order until one call returns an error, and returns this error, or 0.
 * `bytes` are valid only during the call. Values that other threads add or remove meanwhile may be included or not. */
int dataset_each(struct dataset *set, int (*each)(const uint8_t *bytes, size_t length, void *user), void *user);

/* Writes all values and their reputation to a transfer, or reads them from it and replaces the values in the set. */
void dataset_transfer(struct transfer *t, struct dataset *set);

#endif
