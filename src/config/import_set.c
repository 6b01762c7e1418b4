/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sets the settings of the result. Each value is first applied to the configuration, and is added to the result only if
 * the configuration accepts it. The result has the values as they are written in the input; the configuration stores
 * them in canonical form.
 */
#include "import_priv.h"

#include <stdio.h>
#include <string.h>

#include "sluice/array.h"

/* Applies a value to the configuration. Returns true if it is accepted; otherwise *why is the reason. */
static bool try_value(struct import *import, const char *name, const struct node *value, const char **why)
{
    struct walk walk = { .config = import->config, .diag = import->trial, .strictness = CONFIG_STRICT, .folder = "" };
    struct node *root = node_new(import->config, NODE_MAP), *member = node_new(import->config, value->kind);

    *why = "too many values in the configuration";
    if (!root || !member)
        return false;
    *member = *value;
    member->next = NULL;
    member->key = name;
    member->at = member->key_at = (struct position){ .file = NULL };
    node_add(root, member);
    diag_clear(import->trial);
    if (apply_tree(&walk, root)) {
        import->failed = true;
        return false;
    }
    if (diag_errors(import->trial) + diag_warnings(import->trial) == 0)
        return true;
    *why = arena_strdup(import->config->arena, diag_get(import->trial, 0)->message);
    import->failed |= !*why;
    return false;
}

static struct import_setting *find(const struct import *import, const char *name)
{
    for (size_t i = 0; i < import->setting_count; i++)
        if (strcmp(import->settings[i].name, name) == 0)
            return &import->settings[i];
    return NULL;
}

bool import_has(const struct import *import, const char *name)
{
    return find(import, name) != NULL;
}

const char *import_value(const struct import *import, const char *name)
{
    const struct import_setting *setting = find(import, name);

    return setting && setting->value->kind == NODE_SCALAR ? setting->value->value : NULL;
}

static struct import_setting *add_setting(struct import *import, const char *name, struct node *value)
{
    struct import_setting *setting;
    const char *own_name = arena_strdup(import->config->arena, name);

    if (!own_name ||
        array_grow(&import->settings, import->setting_count, &import->setting_capacity, sizeof(*import->settings))) {
        import->failed = true;
        return NULL;
    }
    setting = &import->settings[import->setting_count++];
    *setting = (struct import_setting){ .name = own_name, .value = value };
    return setting;
}

/* Stores "name: value" as the setting of the leaf, and sets the leaf's group to IMPORT_TAKEN. */
static void take(struct import *import, struct import_leaf *leaf, const char *name, const struct node *value)
{
    struct text text;

    text_init(&text);
    text_printf(&text, "%s: ", name);
    config_write_value(&text, value);
    leaf->key.group = IMPORT_TAKEN;
    leaf->key.text = NULL;
    leaf->key.setting = text.failed ? NULL : arena_strdup(import->config->arena, text.bytes);
    import->failed |= !leaf->key.setting;
    text_clear(&text);
}

static bool set_node(struct import *import, struct import_leaf *leaf, const char *name, struct node *value,
                     const char **why)
{
    struct import_setting *setting = find(import, name);
    const struct schema_row *row = schema_find(import->config, name);
    const bool is_list = leaf->is_item && row &&
                         (row->setting->type == SETTING_LIST || row->setting->type == SETTING_PATHS ||
                          row->setting->type == SETTING_VARIABLE);

    if (!try_value(import, name, value, why))
        return false;
    take(import, leaf, name, value);
    if (!setting) {
        struct node *whole = is_list ? node_new(import->config, NODE_LIST) : value;

        setting = whole ? add_setting(import, name, whole) : NULL;
        import->failed |= !setting;
        if (!setting)
            return false;
        setting->from = leaf->key.at;
        setting->path = leaf->key.path;
    }
    if (!is_list) {
        setting->value = value;
        return true;
    }
    node_add(setting->value, value);
    return true;
}

void import_set_lists(struct import *import)
{
    const char *why;

    for (size_t i = 0; i < import->setting_count; i++)
        if (import->settings[i].value->kind == NODE_LIST)
            try_value(import, import->settings[i].name, import->settings[i].value, &why);
}

bool import_set(struct import *import, struct import_leaf *leaf, const char *name, const char *value, const char **why)
{
    struct node *node = node_new(import->config, NODE_SCALAR);

    if (node)
        node->value = arena_strdup(import->config->arena, value);
    *why = "too many values in the configuration";
    return node && node->value && set_node(import, leaf, name, node, why);
}

bool import_add_item(struct import *import, struct import_leaf *leaf, const char *name, const char *value,
                     const char **why)
{
    const struct import_setting *setting = find(import, name);
    const bool was_item = leaf->is_item;
    bool set;

    for (const struct node *item = setting ? setting->value->first : NULL; item; item = item->next)
        if (strcmp(item->value, value) == 0)
            return true;
    leaf->is_item = true;
    set = import_set(import, leaf, name, value, why);
    leaf->is_item = was_item;
    return set;
}

bool import_set_section(struct import *import, struct import_leaf *leaf, const char *name, const char **why)
{
    struct node *node = node_new(import->config, NODE_MAP);

    *why = "too many values in the configuration";
    return node && set_node(import, leaf, name, node, why);
}

void import_add(struct import *import, const char *name, const char *value, const char *text)
{
    struct node *node = node_new(import->config, value ? NODE_SCALAR : NODE_MAP);
    struct import_setting *setting;
    const char *why;

    if (node && value)
        node->value = arena_strdup(import->config->arena, value);
    if (!node || (value && !node->value) || !try_value(import, name, node, &why))
        return;
    setting = add_setting(import, name, node);
    if (setting)
        setting->text = text;
}
