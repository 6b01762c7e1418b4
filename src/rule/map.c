/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Hash table from text to pointers: open addressing, FNV-1a, at most two thirds full, no removal. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "rule_priv.h"

enum { FIRST_CAPACITY = 64 };

void map_init(struct map *map, bool nocase)
{
    *map = (struct map){ .nocase = nocase };
}

void map_clear(struct map *map)
{
    free(map->slots);
    map_init(map, map->nocase);
}

static unsigned char lower(unsigned char c)
{
    return c >= 'A' && c <= 'Z' ? (unsigned char)(c + 32) : c;
}

static uint64_t hash_key(const struct map *map, struct span key)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < key.length; i++) {
        unsigned char c = (unsigned char)key.at[i];

        hash = (hash ^ (map->nocase ? lower(c) : c)) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static bool same_key(const struct map *map, struct span a, struct span b)
{
    if (a.length != b.length)
        return false;
    if (!map->nocase)
        return memcmp(a.at, b.at, a.length) == 0;
    for (size_t i = 0; i < a.length; i++) {
        if (lower((unsigned char)a.at[i]) != lower((unsigned char)b.at[i]))
            return false;
    }
    return true;
}

/* Returns the key's slot, or the empty slot in which to insert it. */
static struct map_slot *find_slot(const struct map *map, struct span key, uint64_t hash)
{
    for (size_t i = hash & (map->capacity - 1);; i = (i + 1) & (map->capacity - 1)) {
        struct map_slot *slot = &map->slots[i];

        if (!slot->key.at || (slot->hash == hash && same_key(map, slot->key, key)))
            return slot;
    }
}

void *map_get(const struct map *map, struct span key)
{
    return map->capacity ? find_slot(map, key, hash_key(map, key))->value : NULL;
}

static int grow(struct map *map)
{
    struct map larger = { .count = map->count, .nocase = map->nocase };

    larger.capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
    larger.slots = calloc(larger.capacity, sizeof(*larger.slots));
    if (!larger.slots)
        return -ENOMEM;
    for (size_t i = 0; i < map->capacity; i++) {
        if (map->slots[i].key.at)
            *find_slot(&larger, map->slots[i].key, map->slots[i].hash) = map->slots[i];
    }
    free(map->slots);
    *map = larger;
    return 0;
}

int map_put(struct map *map, struct span key, void *value)
{
    uint64_t hash = hash_key(map, key);

    if (3 * (map->count + 1) > 2 * map->capacity && grow(map))
        return -ENOMEM;

    struct map_slot *slot = find_slot(map, key, hash);

    map->count += !slot->key.at;
    *slot = (struct map_slot){ .key = key, .hash = hash, .value = value };
    return 0;
}
