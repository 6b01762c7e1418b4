/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of settings: finds the row of a path, and the known name that is nearest to an unknown one. */
#include "config_priv.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_SIBLINGS = 512, MAX_NEAREST_LENGTH = 128 };

/* Compares the next parts (up to the dot) of a row's name and of a path, and advances both pointers past them. */
static bool part_matches(const char **pattern, const char **path)
{
    size_t wanted = strcspn(*pattern, "."), length = strcspn(*path, ".");
    bool same = wanted == 1 && **pattern == '*' ? length > 0 : wanted == length && memcmp(*pattern, *path, length) == 0;

    *pattern += wanted + ((*pattern)[wanted] == '.');
    *path += length + ((*path)[length] == '.');
    return same;
}

static bool name_matches(const struct setting *setting, const char *path)
{
    const char *pattern = setting->name, *last = path;

    while (*pattern && *path) {
        if (strcmp(pattern, "**") == 0)
            return true;
        last = path;
        if (!part_matches(&pattern, &path))
            return false;
    }
    if (*pattern || *path)
        return false;
    if (setting->type != SETTING_ANY || !setting->choices)
        return true;
    for (const char *const *choice = setting->choices; *choice; choice++)
        if (strcmp(*choice, last) == 0)
            return true;
    return false;
}

static int compare_rows(const void *left, const void *right)
{
    const struct schema_row *const *a = left, *const *b = right;

    return strcmp((*a)->setting->name, (*b)->setting->name);
}

void schema_sort(struct config *config)
{
    for (size_t i = 0; i < config->row_count; i++) {
        const char *star = strrchr(config->rows[i].setting->name, '*');

        config->by_name[i] = &config->rows[i];
        if (star)
            config->patterns[config->pattern_count++] =
                (struct schema_pattern){ .row = &config->rows[i], .end = star + 1, .end_length = strlen(star + 1) };
    }
    qsort(config->by_name, config->row_count, sizeof(*config->by_name), compare_rows);
}

static int compare_path(const void *path, const void *row)
{
    return strcmp(path, (*(const struct schema_row *const *)row)->setting->name);
}

struct schema_row *schema_find(const struct config *config, const char *path)
{
    struct schema_row **found =
        bsearch(path, config->by_name, config->row_count, sizeof(*config->by_name), compare_path);

    if (found)
        return *found;
    size_t length = strlen(path);

    for (size_t i = 0; i < config->pattern_count; i++) {
        const struct schema_pattern *pattern = &config->patterns[i];

        if (length > pattern->end_length &&
            memcmp(path + length - pattern->end_length, pattern->end, pattern->end_length) == 0 &&
            name_matches(pattern->row->setting, path))
            return pattern->row;
    }
    return NULL;
}

/* Returns the part of a row's name that follows `path`, or NULL if the row is not below `path`. */
static const char *rest_of_name(const char *pattern, const char *path)
{
    while (*path) {
        if (!*pattern || strcmp(pattern, "**") == 0 || !part_matches(&pattern, &path))
            return NULL;
    }
    return *pattern ? pattern : NULL;
}

bool schema_is_section(const struct config *config, const char *path)
{
    for (size_t i = 0; i < config->row_count; i++)
        if (rest_of_name(config->rows[i].setting->name, path))
            return true;
    return false;
}

size_t schema_known_length(const struct config *config, const char *path)
{
    char section[CONFIG_MAX_PATH];
    size_t length = strlen(path);

    if (length >= sizeof(section))
        return 0;
    memcpy(section, path, length + 1);
    for (char *dot = strrchr(section, '.'); dot; dot = strrchr(section, '.')) {
        *dot = '\0';
        if (schema_find(config, section) || schema_is_section(config, section))
            return strlen(section);
    }
    return 0;
}

bool schema_is_folder(const struct config *config, const char *path)
{
    for (size_t i = 0; i < config->row_count; i++)
        if (config->rows[i].setting->folder && strcmp(config->rows[i].setting->folder, path) == 0)
            return true;
    return false;
}

/* --- "did you mean" ------------------------------------------------------------------------------- */

struct siblings {
    const char *names[MAX_SIBLINGS];
    size_t count;
    char bytes[1 << 14];
    size_t used;
};

static void add_sibling(struct siblings *siblings, const char *name, size_t length)
{
    if (siblings->count >= MAX_SIBLINGS || siblings->used + length + 1 > sizeof(siblings->bytes) || name[0] == '*')
        return;
    for (size_t i = 0; i < siblings->count; i++)
        if (strlen(siblings->names[i]) == length && memcmp(siblings->names[i], name, length) == 0)
            return;
    char *copy = siblings->bytes + siblings->used;

    memcpy(copy, name, length);
    copy[length] = '\0';
    siblings->names[siblings->count++] = copy;
    siblings->used += length + 1;
}

/* Collects the names of the settings directly below `parent`. */
static void find_siblings(const struct config *config, const char *parent, struct siblings *siblings)
{
    for (size_t i = 0; i < config->row_count; i++) {
        const struct setting *setting = config->rows[i].setting;
        const char *rest = parent[0] ? rest_of_name(setting->name, parent) : setting->name;

        if (rest)
            add_sibling(siblings, rest, strcspn(rest, "."));
        if (rest && rest[0] == '*' && setting->type == SETTING_ANY)
            for (const char *const *name = setting->choices; name && *name; name++)
                add_sibling(siblings, *name, strlen(*name));
    }
}

/* Returns the name of a setting that has the key after its first dot: "queue.fail-open" for "fail-open". Returns NULL
 * if there is none. */
static const char *same_ending(const struct config *config, const char *key)
{
    for (size_t i = 0; i < config->row_count; i++) {
        const char *name = config->rows[i].setting->name, *dot = strchr(name, '.');

        if (dot && strcmp(dot + 1, key) == 0)
            return name;
    }
    return NULL;
}

const char *schema_nearest(const struct config *config, const char *path, char *out)
{
    struct siblings siblings = { .count = 0 };
    const char *dot = strrchr(path, '.'), *key = dot ? dot + 1 : path;
    size_t parent_length = dot ? (size_t)(dot - path) : 0;

    if (strlen(key) > MAX_NEAREST_LENGTH || strlen(path) >= CONFIG_MAX_PATH)
        return NULL;
    memcpy(out, path, parent_length);
    out[parent_length] = '\0';
    find_siblings(config, out, &siblings);

    const char *near = text_nearest(key, siblings.names, siblings.count);

    if (!near) /* do not suggest a key of another section if the section of `path` exists */
        return schema_known_length(config, path) > 0 ? NULL : same_ending(config, key);
    if (parent_length + 1 + strlen(near) >= CONFIG_MAX_PATH)
        return NULL;
    if (parent_length > 0)
        out[parent_length++] = '.';
    memcpy(out + parent_length, near, strlen(near) + 1);
    return out;
}
