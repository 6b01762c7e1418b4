/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies the tree of a file to the configuration: finds the row (struct setting) of each member, checks the member's
 * value and stores it under its path. Later files replace values of earlier ones; within one file a setting may be set
 * only once.
 *
 * Dots in keys are levels: `queue.length: 100` is the same as `queue: {length: 100}`.
 */
#include "config_priv.h"
#include "suricata_keys.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static void apply_members(struct walk *walk, const struct node *map, const char *path);

static void report_unknown(struct walk *walk, const char *path, const struct node *node)
{
    char buffer[CONFIG_MAX_PATH];
    const struct suricata_key *row = suricata_key_find(path);
    const char *near = row ? NULL : schema_nearest(walk->config, path, buffer);
    enum diag_severity severity = walk->strictness == CONFIG_STRICT ? DIAG_ERROR : DIAG_WARNING;
    size_t known = schema_known_length(walk->config, path);

    walk->config->suricata_keys += row != NULL;
    if (row && row->setting && suricata_key_setting(row, path, buffer, sizeof(buffer)))
        near = buffer;
    if (row && row->text && row->group != IMPORT_TAKEN)
        diag_report(walk->diag, severity, node->key_at, NULL, "unknown setting '%s' of Suricata: %s", path, row->text);
    else if (near)
        diag_report(walk->diag, severity, node->key_at, NULL, "unknown setting '%s', did you mean '%s'?", path, near);
    else
        diag_report(walk->diag, severity, node->key_at, NULL, "unknown setting '%s' (`sluice settings%s%.*s` lists %s)",
                    path, known > 0 ? " " : "", (int)known, path, known > 0 ? "those of this section" : "all");
}

static void report_memory(struct walk *walk, struct position at)
{
    if (walk->config->nodes >= CONFIG_MAX_NODES)
        diag_error(walk->diag, at, "more than %d values in the configuration", CONFIG_MAX_NODES);
    else
        walk->out_of_memory = true;
}

/* --- One member ----------------------------------------------------------------------------------- */

static void apply_value(struct walk *walk, const struct setting *setting, const char *path, const struct node *in)
{
    struct node *value = value_parse_node(walk, setting, path, in);
    const struct node *old = node_find(walk->config->root, path);
    bool on;

    if (!value)
        return;
    /* Positions in one file share the string with its name, so equal pointers mean that the file sets the value twice.
     */
    if (old && old->kind != NODE_MAP && old->at.file && old->at.file == in->at.file) {
        diag_error(walk->diag, in->key_at, "'%s' is set twice, first in line %u", path, old->at.line);
        return;
    }

    struct node *place = node_make(walk->config, walk->config->root, path);

    if (!place) {
        report_memory(walk, in->at);
        return;
    }
    struct node *next = place->next;
    const char *key = place->key;

    *place = *value;
    place->next = next;
    place->key = key;
    place->key_at = in->key_at;
    if (setting->warning && !(in->kind == NODE_SCALAR && value_to_bool(in->value, &on) && !on))
        diag_warning(walk->diag, in->key_at, "'%s' %s", path, setting->warning);
}

/* Adds an empty section, or restores one that an earlier file removed (`no`). */
static void open_section(struct walk *walk, const char *path, const struct node *in)
{
    struct node *place = node_make(walk->config, walk->config->root, path);

    if (!place) {
        report_memory(walk, in->at);
        return;
    }
    if (place->kind != NODE_MAP)
        *place = (struct node){ .kind = NODE_MAP, .key = place->key, .next = place->next };
    place->at = in->at;
    place->key_at = in->key_at;
}

static void apply_member(struct walk *walk, const char *parent, const struct node *member);

/* Applies a section: a mapping of its settings; `no`, which removes the section; `yes`, which adds it without settings;
 * or, as in Suricata, a list whose items are names or mappings with one name. `setting` is NULL if the section itself
 * has no row. */
static void apply_section(struct walk *walk, const struct setting *setting, const char *path, const struct node *in)
{
    bool on = true;

    if (in->kind == NODE_SCALAR && (!setting || !value_to_bool(in->value, &on))) {
        diag_error(walk->diag, in->at, "'%s' needs settings below it, got '%s'", path, in->value);
        return;
    }
    if (in->kind == NODE_LIST && !setting) {
        const struct suricata_key *row = suricata_key_find(path);

        walk->config->suricata_keys += row != NULL;
        diag_error(walk->diag, in->at, "'%s' needs settings below it, got a list%s%s", path,
                   row && row->text ? ", as in Suricata: " : "", row && row->text ? row->text : "");
        return;
    }
    open_section(walk, path, in);
    if (in->kind == NODE_SCALAR) {
        struct node *place = node_find(walk->config->root, path);

        if (place && !on) {
            place->kind = NODE_SCALAR;
            place->value = "no";
            place->first = place->last = NULL;
            place->count = 0;
        }
        return;
    }
    if (in->kind != NODE_LIST) {
        apply_members(walk, in, path);
        return;
    }
    for (const struct node *item = in->first; item; item = item->next) {
        if (item->kind == NODE_MAP) {
            apply_members(walk, item, path);
        } else if (item->kind == NODE_SCALAR && item->value[0] && strlen(item->value) <= CONFIG_MAX_KEY) {
            struct node name = { .kind = NODE_NULL, .key = item->value, .key_at = item->at, .at = item->at };

            apply_member(walk, path, &name);
        } else {
            diag_error(walk->diag, item->at, "'%s' needs names in its list", path);
        }
    }
}

/* --- include -------------------------------------------------------------------------------------- */

static void include_one(struct walk *walk, const struct node *in)
{
    struct walk inner = *walk;
    const char *path = in->kind == NODE_SCALAR ? in->value : "";

    if (path[0] == '\0') {
        diag_error(walk->diag, in->at, "'include' needs the name of a file");
        return;
    }
    if (path[0] != '/' && walk->folder[0])
        path = arena_printf(walk->config->arena, "%s/%s", walk->folder, path);
    inner.includes++;
    if (!path || load_file(&inner, path, in->at) == -ENOMEM || inner.out_of_memory)
        walk->out_of_memory = true;
}

static void apply_include(struct walk *walk, const struct node *in)
{
    if (in->kind != NODE_LIST) {
        include_one(walk, in);
        return;
    }
    for (const struct node *item = in->first; item; item = item->next)
        include_one(walk, item);
}

/* --- Tree ----------------------------------------------------------------------------------------- */

/* Returns false if a part of the name is empty, as in "a..b" or ".a". */
static bool is_valid_path(const char *path)
{
    size_t length = strlen(path);

    return length > 0 && path[0] != '.' && path[length - 1] != '.' && !strstr(path, "..");
}

/* Writes the full name of a member to `path`; "app-layer.tls" becomes "app-layer.protocols.tls". Returns false if the
 * name is too long. */
static bool write_path(const struct walk *walk, const char *parent, const struct node *member,
                       char path[CONFIG_MAX_PATH])
{
    int length = snprintf(path, CONFIG_MAX_PATH, "%s%s%s", parent, parent[0] ? "." : "", member->key);

    if (length < 0 || length >= CONFIG_MAX_PATH)
        return false;
    if (strcmp(parent, "app-layer") != 0 || !is_valid_path(path) || schema_find(walk->config, path) ||
        schema_is_section(walk->config, path))
        return true;
    length = snprintf(path, CONFIG_MAX_PATH, "app-layer.protocols.%s", member->key);
    if (length < CONFIG_MAX_PATH && !schema_is_section(walk->config, path))
        length = snprintf(path, CONFIG_MAX_PATH, "%s.%s", parent, member->key);
    return length < CONFIG_MAX_PATH;
}

static void apply_member(struct walk *walk, const char *parent, const struct node *member)
{
    char path[CONFIG_MAX_PATH];

    if (!write_path(walk, parent, member, path)) {
        diag_error(walk->diag, member->key_at, "the name of this setting is longer than %d characters",
                   CONFIG_MAX_PATH);
        return;
    }
    unsigned parts = 1;

    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.'))
        parts++;
    /* each part of the name becomes a level of nesting when the configuration is printed */
    if (parts > CONFIG_MAX_DEPTH) {
        diag_error(walk->diag, member->key_at, "the name of this setting has more than %d parts", CONFIG_MAX_DEPTH);
        return;
    }
    if (strcmp(path, "include") == 0) {
        apply_include(walk, member);
        return;
    }
    const struct schema_row *row = is_valid_path(path) ? schema_find(walk->config, path) : NULL;

    if (row && row->setting->type != SETTING_SECTION)
        apply_value(walk, row->setting, path, member);
    else if (row || (is_valid_path(path) && schema_is_section(walk->config, path)))
        apply_section(walk, row ? row->setting : NULL, path, member);
    else
        report_unknown(walk, path, member);
}

static void apply_members(struct walk *walk, const struct node *map, const char *path)
{
    for (const struct node *member = map->first; member && !walk->out_of_memory; member = member->next)
        if (path[0] || !schema_is_folder(walk->config, member->key))
            apply_member(walk, path, member);
}

int apply_tree(struct walk *walk, const struct node *tree)
{
    if (tree && tree->kind != NODE_MAP && tree->kind != NODE_NULL)
        diag_error(walk->diag, tree->at, "a configuration is a mapping of settings (name: value)");
    /* first the settings that name folders: paths in other settings are relative to them */
    for (const struct node *member = tree && tree->kind == NODE_MAP ? tree->first : NULL; member; member = member->next)
        if (schema_is_folder(walk->config, member->key))
            apply_member(walk, "", member);
    if (tree && tree->kind == NODE_MAP)
        apply_members(walk, tree, "");
    return walk->out_of_memory ? -ENOMEM : 0;
}
