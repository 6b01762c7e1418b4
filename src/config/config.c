/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The configuration: the rows of all tables of settings with their defaults, and one tree of the values that files and
 * the command line have set. config_fill() writes both to the options of a module. Values are checked when they are
 * set, so filling cannot fail.
 */
#include "config_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Adds a row and parses its default like a value of a file. An invalid default is a programming error in the table.
 * Returns 0 or -ENOMEM. */
static int add_row(struct config *config, const struct setting *setting, struct diag *diag)
{
    struct schema_row *row = &config->rows[config->row_count++];
    struct walk walk = { .config = config, .diag = diag, .folder = "" };
    struct node *written;

    row->setting = setting;
    if (!setting->default_value)
        return 0;
    written = node_new(config, NODE_SCALAR);
    if (!written)
        return -ENOMEM;
    written->value = setting->default_value;
    row->default_node = value_parse_node(&walk, setting, setting->name, written);
    if (walk.out_of_memory)
        return -ENOMEM;
    assert(row->default_node);
    return 0;
}

int config_new(struct config **out, const struct setting *const *tables)
{
    struct config *config = calloc(1, sizeof(*config));
    struct diag *diag = diag_new();
    size_t count = 0;
    int err = -ENOMEM;

    if (!config || !diag)
        goto free_config;
    config->arena = arena_new(0);
    if (!config->arena)
        goto free_config;
    for (size_t i = 0; tables[i]; i++)
        for (const struct setting *row = tables[i]; row->name; row++)
            count += row->alias ? 2 : 1;
    config->rows = arena_alloc(config->arena, count * sizeof(*config->rows) + 1);
    config->by_name = arena_alloc(config->arena, count * sizeof(*config->by_name) + 1);
    config->patterns = arena_alloc(config->arena, count * sizeof(*config->patterns) + 1);
    config->root = node_new(config, NODE_MAP);
    if (!config->rows || !config->by_name || !config->patterns || !config->root)
        goto free_config;
    err = 0;
    for (size_t i = 0; tables[i] && !err; i++)
        for (const struct setting *row = tables[i]; row->name && !err; row++) {
            err = add_row(config, row, diag);
            if (!row->alias || err)
                continue;
            struct setting *alias = arena_alloc(config->arena, sizeof(*alias));

            err = -ENOMEM;
            if (alias) {
                *alias = *row;
                alias->name = row->alias;
                alias->alias = NULL;
                err = add_row(config, alias, diag);
            }
        }
    if (err)
        goto free_config;
    schema_sort(config);
    *out = config;
    diag_free(diag);
    return 0;

free_config:
    diag_free(diag);
    config_free(config);
    return err;
}

void config_free(struct config *config)
{
    if (!config)
        return;
    arena_free(config->arena);
    free(config);
}

const struct setting *config_setting(const struct config *config, size_t index)
{
    return index < config->row_count ? config->rows[index].setting : NULL;
}

/* --- Nodes ---------------------------------------------------------------------------------------- */

static const struct node *set_node(const struct config *config, const char *name)
{
    const struct node *node = node_find(config->root, name);

    return node && node->kind != NODE_NULL ? node : NULL;
}

bool config_is_set(const struct config *config, const char *name)
{
    assert(schema_find(config, name) || schema_is_section(config, name));
    return set_node(config, name) != NULL;
}

struct position config_position(const struct config *config, const char *name)
{
    const struct node *node = node_find(config->root, name);

    if (!node)
        return (struct position){ .line = 0 };
    return node->kind == NODE_MAP ? node->key_at : node->at;
}

/* Finds the value of a setting: the value that is set, or else the default. Sets *row to the setting's row; NULL if no
 * setting has this name. */
static const struct node *effective_node(const struct config *config, const char *name, const struct schema_row **row)
{
    const struct node *node = set_node(config, name);

    *row = strlen(name) < CONFIG_MAX_PATH ? schema_find(config, name) : NULL;
    if (!node && *row && (*row)->setting->alias)
        node = set_node(config, (*row)->setting->alias);
    for (size_t i = 0; !node && *row && i < config->row_count; i++) {
        const char *alias = config->rows[i].setting->alias;

        if (alias && strcmp(alias, name) == 0)
            node = set_node(config, config->rows[i].setting->name);
    }
    return !node && *row ? (*row)->default_node : node;
}

enum config_value_kind config_value_text(const struct config *config, const char *name, struct text *out)
{
    const struct schema_row *row;
    const struct node *node = effective_node(config, name, &row);
    const char *dot = strrchr(name, '.');
    uint64_t index;

    if (!row && !node && dot && text_to_uint(dot + 1, strlen(dot + 1), 0, UINT32_MAX, &index)) {
        char list[CONFIG_MAX_PATH];

        snprintf(list, sizeof(list), "%.*s", (int)(dot - name), name);
        node = effective_node(config, list, &row);
        node = node && node->kind == NODE_LIST ? node_item(node, (size_t)index) : NULL;
        row = NULL;
    }
    if ((*name && schema_is_section(config, name)) || (node && node->kind == NODE_MAP))
        return CONFIG_VALUE_SECTION;
    if (!node)
        return row ? CONFIG_VALUE_UNSET : CONFIG_VALUE_UNKNOWN;
    for (const struct node *item = node->kind == NODE_LIST ? node->first : NULL; item; item = item->next)
        text_printf(out, "%s%s", item == node->first ? "" : ", ", item->value ? item->value : "");
    if (node->kind == NODE_SCALAR)
        text_puts(out, node->value);
    return CONFIG_VALUE;
}

/* --- Values --------------------------------------------------------------------------------------- */

static bool node_bool(const struct node *node)
{
    bool value = false;

    return node->kind == NODE_SCALAR && value_to_bool(node->value, &value) && value;
}

static int64_t node_number(const struct node *node)
{
    int64_t value = 0;

    if (node->kind == NODE_SCALAR)
        text_to_int(node->value, strlen(node->value), INT64_MIN, INT64_MAX, &value);
    return value;
}

/* --- Options of modules --------------------------------------------------------------------------- */

const char *const setting_auto_choices[] = {
    [SETTING_AUTO] = "auto", [SETTING_YES] = "yes", [SETTING_NO] = "no", NULL
};

static void store_number(const struct setting *row, uint64_t value, char *field)
{
    const uint8_t value8 = (uint8_t)value;
    const uint16_t value16 = (uint16_t)value;
    const uint32_t value32 = (uint32_t)value;
    const void *from = row->size == 1   ? (const void *)&value8
                       : row->size == 2 ? (const void *)&value16
                       : row->size == 4 ? (const void *)&value32
                                        : &value;

    assert(row->size == 1 || row->size == 2 || row->size == 4 || row->size == 8);
    memcpy(field, from, row->size);
}

static void store_value(const struct setting *row, const struct node *node, void *options)
{
    char *field = (char *)options + row->offset;
    uint64_t index = 0;

    if (row->type == SETTING_LIST || row->type == SETTING_PATHS) {
        memcpy(field, &node->strings, sizeof(node->strings));
    } else if (node->kind != NODE_SCALAR) {
        return;
    } else if (row->store) {
        row->store(node->value, options);
    } else if (row->type == SETTING_BOOL) {
        store_number(row, node_bool(node), field);
    } else if (row->type == SETTING_NUMBER || row->type == SETTING_SIZE) {
        store_number(row, (uint64_t)node_number(node) * (row->scale ? row->scale : 1), field);
    } else if (row->type == SETTING_ENUM) {
        while (strcmp(row->choices[index], node->value) != 0)
            index++;
        store_number(row, index, field);
    } else {
        memcpy(field, &node->value, sizeof(node->value));
    }
}

/* Stores a value in the field of `options` that the row names: the row's default if `is_default`, otherwise the value
 * that a file or the command line has set, if any. */
static void store_setting(const struct config *config, const struct setting *row, const char *name, bool is_default,
                          void *options)
{
    static const char *const no_strings[] = { NULL };
    static const struct node empty_list = { .kind = NODE_LIST, .strings = no_strings };
    const struct schema_row *known = is_default ? schema_find(config, name) : NULL;

    assert(known || !is_default);
    const struct node *node = is_default ? known->default_node : set_node(config, name);

    if (row->type == SETTING_SECTION)
        store_number(row, config_has_section(config, name), (char *)options + row->offset);
    else if (node && (node->kind != NODE_LIST || node->strings))
        store_value(row, node, options);
    else if (is_default && (row->type == SETTING_LIST || row->type == SETTING_PATHS))
        store_value(row, &empty_list, options);
}

/* Two settings may fill the same field. The first pass therefore stores all defaults and the second all values that
 * were set, so that the default of one setting does not replace the value of the other. */
void config_fill(const struct config *config, const struct setting *rows, const char *part, void *options)
{
    char name[CONFIG_MAX_PATH];

    for (unsigned pass = 0; pass < 2; pass++) {
        for (const struct setting *row = rows; row->name; row++) {
            const char *star = strchr(row->name, '*');

            if ((row->size == 0 && !row->store) || !star != !part)
                continue;
            if (!star)
                store_setting(config, row, row->name, pass == 0, options);
            else if (snprintf(name, sizeof(name), "%.*s%s%s", (int)(star - row->name), row->name, part, star + 1) <
                     (int)sizeof(name))
                store_setting(config, row, name, pass == 0, options);
            if (row->alias && pass == 1)
                store_setting(config, row, row->alias, false, options);
        }
    }
}

/* --- Sections ------------------------------------------------------------------------------------- */

/* Returns the names of a section's default members, NULL-terminated; NULL if there are none or a file sets the section.
 */
static const char *const *default_members(const struct config *config, const char *name)
{
    const struct schema_row *row = schema_find(config, name);

    if (node_find(config->root, name) || !row || row->setting->type != SETTING_SECTION)
        return NULL;
    return row->setting->choices;
}

const char *config_each(const struct config *config, const char *name, size_t index)
{
    const struct node *section = node_find(config->root, name);
    const char *const *members = default_members(config, name);

    for (; members && *members; members++)
        if (index-- == 0)
            return *members;
    if (!section || section->kind != NODE_MAP)
        return NULL;

    const struct node *member = node_item(section, index);

    return member ? member->key : NULL;
}

bool config_has_section(const struct config *config, const char *name)
{
    const struct node *node = node_find(config->root, name);
    const struct schema_row *row = schema_find(config, name);
    const char *dot = strrchr(name, '.');
    char parent[CONFIG_MAX_PATH];

    if (node)
        return node->kind != NODE_SCALAR || node_bool(node);
    if (default_members(config, name))
        return true;
    if (row && row->setting->type == SETTING_SECTION && row->default_node)
        return node_bool(row->default_node);
    if (!dot || (size_t)(dot - name) >= sizeof(parent))
        return false;
    memcpy(parent, name, (size_t)(dot - name));
    parent[dot - name] = '\0';
    for (const char *const *member = default_members(config, parent); member && *member; member++)
        if (strcmp(*member, dot + 1) == 0)
            return true;
    return false;
}
