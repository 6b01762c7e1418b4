/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table with texts as keys.
 */
#ifndef SLUICE_RULE_MAP_H
#define SLUICE_RULE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/arena.h"
#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/text.h"

/* --- Hash table ----------------------------------------------------------------------------------- */

struct map_slot {
    struct span key; /* the map stores no copy: the text must stay valid as long as the map */
    uint64_t hash;
    void *value;
};
struct map {
    struct map_slot *slots;
    size_t count, capacity;
    bool nocase;
};
void map_init(struct map *map, bool nocase);
void map_clear(struct map *map);
void *map_get(const struct map *map, struct span key); /* returns the value, or NULL if the map does not have the key */
int map_put(struct map *map, struct span key, void *value);

#endif
