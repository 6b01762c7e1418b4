/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the settings in which two configurations with the same tables differ. */
#include "config_priv.h"

#include <string.h>

static bool is_equal_text(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : !one && !other;
}

static bool is_equal_node(const struct node *one, const struct node *other)
{
    if (!one || !other)
        return !one && !other;
    if (one->kind != other->kind || one->count != other->count || !is_equal_text(one->value, other->value))
        return false;

    const struct node *b = other->first;

    for (const struct node *a = one->first; a && b; a = a->next, b = b->next) {
        if (!is_equal_text(a->key, b->key) || !is_equal_node(a, b))
            return false;
    }
    return true;
}

static const struct node *effective(const struct config *config, const struct schema_row *row, const char *path)
{
    const struct node *node = node_find(config->root, path);

    return node && node->kind != NODE_NULL ? node : row->default_node;
}

void config_each_difference(const struct config *one, const struct config *other,
                            void (*each)(const char *name, void *user), void *user)
{
    char path[CONFIG_MAX_PATH], reported[CONFIG_MAX_PATH] = "";

    for (size_t i = 0; i < one->row_count; i++) {
        const struct schema_row *row = &one->rows[i];
        const char *name = row->setting->name;
        size_t length = strcspn(name, "*"), before = strlen(reported);

        if (strlen(name) >= sizeof(path))
            continue;
        if (name[length] == '*' && length > 0)
            length--; /* omit the dot before the `*`, too */
        memcpy(path, name, length);
        path[length] = '\0';
        /* If the section was reported, its settings are not: rows with a `*` are compared as a whole section, and the
         * rows of one section are adjacent. */
        if (before > 0 && strncmp(path, reported, before) == 0 && (path[before] == '.' || path[before] == '\0'))
            continue;
        if (is_equal_node(effective(one, row, path), effective(other, row, path)))
            continue;
        strcpy(reported, path);
        each(path, user);
    }
}
