/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds keywords by name or alias. Case is ignored, because published rules contain `Content`. */
#include <stdlib.h>
#include <string.h>

#include "rule_priv.h"

enum { MAX_ALIASES = sizeof(((struct keyword *)0)->aliases) / sizeof(char *), MAX_NAME = 64 };

struct keyword_table {
    struct map map; /* name or alias -> const struct keyword */
    const char **names;
    size_t name_count;
};

static int add_name(struct keyword_table *table, const char *name, const struct keyword *keyword)
{
    table->names[table->name_count++] = name;
    return map_put(&table->map, span_of(name), (void *)keyword);
}

struct keyword_table *keyword_table_new(const struct keyword *const *keywords, size_t count)
{
    struct keyword_table *table = calloc(1, sizeof(*table));

    if (!table)
        return NULL;
    map_init(&table->map, true);
    table->names = calloc(count * (1 + MAX_ALIASES) + 1, sizeof(*table->names));
    if (!table->names)
        goto free_table;
    for (size_t i = 0; i < count; i++) {
        int err = add_name(table, keywords[i]->name, keywords[i]);

        for (size_t k = 0; !err && k < MAX_ALIASES && keywords[i]->aliases[k]; k++)
            err = add_name(table, keywords[i]->aliases[k], keywords[i]);
        if (err)
            goto free_table;
    }
    return table;

free_table:
    keyword_table_free(table);
    return NULL;
}

void keyword_table_free(struct keyword_table *table)
{
    if (!table)
        return;
    map_clear(&table->map);
    free(table->names);
    free(table);
}

const struct keyword *keyword_table_find(const struct keyword_table *table, struct span name)
{
    return map_get(&table->map, name);
}

const char *keyword_table_nearest(const struct keyword_table *table, struct span name)
{
    char word[MAX_NAME];

    if (name.length == 0 || name.length >= sizeof(word))
        return NULL;
    memcpy(word, name.at, name.length);
    word[name.length] = '\0';
    return text_nearest(word, table->names, table->name_count);
}
