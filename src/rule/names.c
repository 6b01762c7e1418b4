/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers for the names of shared state. A name keeps its number as long as the registry lives: flows and hosts remember
 * numbers, and rules come and go with reloads. Names are case sensitive, as in the field.
 *
 * A lock, because the loader of new rules adds names while the output thread asks for old ones.
 */
#include <pthread.h>
#include <stdlib.h>

#include "rule_priv.h"

struct kind_names {
    struct map numbers; /* name -> struct numbered */
    const char **texts; /* [number - 1] */
    uint32_t count, capacity;
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
    for (size_t i = 0; i < RULE_NAME_KIND_COUNT; i++) {
        map_clear(&names->kinds[i].numbers);
        free(names->kinds[i].texts);
    }
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
    struct numbered *entry = arena_alloc(names->arena, sizeof(*entry));

    if (!entry)
        return 0;
    if (kind->count == kind->capacity) {
        uint32_t capacity = kind->capacity ? kind->capacity * 2 : 64;
        const char **texts = realloc(kind->texts, capacity * sizeof(*texts));

        if (!texts)
            return 0;
        kind->texts = texts;
        kind->capacity = capacity;
    }
    entry->text = arena_strndup(names->arena, name.at, name.length);
    entry->number = kind->count + 1;
    if (!entry->text || map_put(&kind->numbers, (struct span){ entry->text, name.length }, entry))
        return 0;
    kind->texts[kind->count++] = entry->text;
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
    pthread_mutex_t *lock = (pthread_mutex_t *)&names->lock;
    const char *text = NULL;

    pthread_mutex_lock(lock);
    if (number > 0 && number <= names->kinds[kind].count)
        text = names->kinds[kind].texts[number - 1];
    pthread_mutex_unlock(lock);
    return text;
}
