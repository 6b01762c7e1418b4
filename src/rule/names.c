/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers for the names of shared state. A name keeps its number as long as the registry exists: flows and hosts store
 * numbers, and rules come and go with reloads. Names are case-sensitive, as in Suricata.
 *
 * The loader of new rules adds names while the output thread reads old ones. A lookup by name takes a lock. A lookup by
 * number takes no lock, because it happens for every event. This is safe because texts are never removed and keep their
 * address, an old list of texts is kept when a larger one replaces it, and the count is raised last.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

struct kind_names {
    struct map numbers;           /* name -> struct numbered, the entry with the name's number */
    _Atomic(const char **) texts; /* the name of number N at [N - 1]; in the arena */
    _Atomic uint32_t count;
    uint32_t capacity;
};

struct rule_names {
    pthread_mutex_t lock;
    struct arena *arena;
    struct kind_names kinds[RULE_NAME_KIND_COUNT];
};

struct rule_names *rule_names_new(void)
{
    struct rule_names *names = calloc(1, sizeof(*names));

    if (!names)
        return NULL;
    names->arena = arena_new(0);
    if (!names->arena) {
        free(names);
        return NULL;
    }
    pthread_mutex_init(&names->lock, NULL);
    for (size_t i = 0; i < RULE_NAME_KIND_COUNT; i++)
        map_init(&names->kinds[i].numbers, false);
    return names;
}

void rule_names_free(struct rule_names *names)
{
    if (!names)
        return;
    for (size_t i = 0; i < RULE_NAME_KIND_COUNT; i++)
        map_clear(&names->kinds[i].numbers);
    pthread_mutex_destroy(&names->lock);
    arena_free(names->arena);
    free(names);
}

struct numbered {
    const char *text;
    uint32_t number;
};

static uint32_t add_name(struct rule_names *names, struct kind_names *kind, struct span name)
{
    uint32_t count = atomic_load_explicit(&kind->count, memory_order_relaxed);
    const char **texts = atomic_load_explicit(&kind->texts, memory_order_relaxed);
    struct numbered *entry = arena_alloc(names->arena, sizeof(*entry));

    if (!entry)
        return 0;
    if (count == kind->capacity) {
        uint32_t capacity = kind->capacity ? kind->capacity * 2 : 64;
        const char **larger = arena_alloc(names->arena, capacity * sizeof(*larger));

        if (!larger)
            return 0;
        if (count > 0)
            memcpy(larger, texts, count * sizeof(*larger));
        atomic_store_explicit(&kind->texts, larger, memory_order_release);
        kind->capacity = capacity;
        texts = larger;
    }
    entry->text = arena_strndup(names->arena, name.at, name.length);
    entry->number = count + 1;
    if (!entry->text || map_put(&kind->numbers, (struct span){ entry->text, name.length }, entry))
        return 0;
    texts[count] = entry->text;
    atomic_store_explicit(&kind->count, count + 1, memory_order_release);
    return entry->number;
}

uint32_t rule_names_number(struct rule_names *names, enum rule_name_kind kind, struct span name)
{
    pthread_mutex_lock(&names->lock);

    const struct numbered *entry = map_get(&names->kinds[kind].numbers, name);
    uint32_t number = entry ? entry->number : add_name(names, &names->kinds[kind], name);

    pthread_mutex_unlock(&names->lock);
    return number;
}

uint32_t rule_names_find(const struct rule_names *names, enum rule_name_kind kind, struct span name)
{
    pthread_mutex_t *lock = (pthread_mutex_t *)&names->lock;

    pthread_mutex_lock(lock);

    const struct numbered *entry = map_get(&names->kinds[kind].numbers, name);
    uint32_t number = entry ? entry->number : 0;

    pthread_mutex_unlock(lock);
    return number;
}

const char *rule_names_text(const struct rule_names *names, enum rule_name_kind kind, uint32_t number)
{
    const struct kind_names *list = &names->kinds[kind];

    if (number == 0 || number > atomic_load_explicit(&list->count, memory_order_acquire))
        return NULL;
    return atomic_load_explicit(&list->texts, memory_order_acquire)[number - 1];
}
