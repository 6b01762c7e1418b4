/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Prints the effective configuration as YAML: each setting that has a value or a default.
 *
 * The settings are first copied to a tree in the order of the tables, which is then written. Loading the output gives
 * the same configuration.
 */
#include "config_priv.h"

#include <stdio.h>
#include <string.h>

#include "sluice/text.h"

struct plan {
    /* provides an arena and a node count of its own, so that printing does not change the configuration */
    struct config scratch;
    const struct config *config;
    bool failed;
};

/* --- Laying out ----------------------------------------------------------------------------------- */

static struct node *copy_tree(struct plan *plan, const struct node *from)
{
    struct node *copy = node_new(&plan->scratch, from->kind);

    if (!copy)
        return NULL;
    *copy = *from;
    copy->first = copy->last = copy->next = NULL;
    copy->count = 0;
    for (const struct node *child = from->first; child; child = child->next) {
        struct node *copied = copy_tree(plan, child);

        if (!copied)
            return NULL;
        node_add(copy, copied);
    }
    return copy;
}

static void place(struct plan *plan, const char *path, const struct node *value)
{
    struct node *copy = copy_tree(plan, value);
    struct node *at = copy ? node_make(&plan->scratch, plan->scratch.root, path) : NULL;

    if (!at) {
        plan->failed = true;
        return;
    }
    copy->key = at->key;
    copy->next = at->next;
    *at = *copy;
}

bool config_is_within_sections(const struct config *config, const char *path)
{
    char parent[CONFIG_MAX_PATH];

    for (const char *dot = strchr(path, '.'); dot; dot = strchr(dot + 1, '.')) {
        const struct schema_row *row;

        memcpy(parent, path, (size_t)(dot - path));
        parent[dot - path] = '\0';
        row = schema_find(config, parent);
        if (row && row->setting->type == SETTING_SECTION && !config_has_section(config, parent))
            return false;
    }
    return true;
}

/* Adds a section to the tree: as an empty mapping if it is present, as `no` if it is present by default but was
 * removed. */
static void place_section(struct plan *plan, const struct schema_row *row)
{
    const struct node empty = { .kind = NODE_MAP };
    const struct node off = { .kind = NODE_SCALAR, .value = "no" };
    const char *path = row->setting->name;

    if (config_has_section(plan->config, path))
        place(plan, path, &empty);
    else if (row->default_node || row->setting->choices)
        place(plan, path, &off);
}

static void place_row(struct plan *plan, const struct schema_row *row)
{
    const char *path = row->setting->name;
    const struct node *set = node_find(plan->config->root, path);

    /* omitted, because paths are printed together with this folder */
    if (schema_is_folder(plan->config, path))
        return;
    if (strchr(path, '*') || !config_is_within_sections(plan->config, path))
        return;
    if (row->setting->type == SETTING_SECTION)
        place_section(plan, row);
    else if (set && set->kind != NODE_NULL)
        place(plan, path, set);
    else if (row->default_node)
        place(plan, path, row->default_node);
}

static void place_variables(struct plan *plan, enum config_variable_kind kind, const char *section)
{
    struct config_variable row;

    for (size_t i = 0; !plan->failed && config_variable(plan->config, kind, i, &row); i++) {
        const struct node value = { .kind = NODE_SCALAR, .value = row.value };
        struct text path;

        text_init(&path);
        text_printf(&path, "%s.%s", section, row.name);
        if (path.failed)
            plan->failed = true;
        else if (schema_find(plan->config, path.bytes))
            place(plan, path.bytes, &value);
        text_clear(&path);
    }
}

/* Copies the members that match only rows with `*`, so that place_row() did not add them, from `map` to `to`. A member
 * without a value counts as not set and is skipped. */
static void place_rest(struct plan *plan, const struct node *map, struct node *to)
{
    for (const struct node *node = map->first; node && !plan->failed; node = node->next) {
        struct node *known = node_member(to, node->key, strlen(node->key)), *added;

        if (to == plan->scratch.root && schema_is_folder(plan->config, node->key))
            continue;
        if (node->kind == NODE_NULL || (known && (known->kind != NODE_MAP || node->kind != NODE_MAP)))
            continue;
        if (known) {
            place_rest(plan, node, known);
            continue;
        }
        if (node->kind == NODE_MAP && node->first) {
            added = node_new(&plan->scratch, NODE_MAP);
            if (added) {
                added->key = node->key;
                place_rest(plan, node, added);
                if (!added->first)
                    continue;
            }
        } else {
            added = copy_tree(plan, node);
        }
        if (added)
            node_add(to, added);
        plan->failed |= !added;
    }
}

static void lay_out(struct plan *plan)
{
    for (size_t i = 0; i < plan->config->row_count && !plan->failed; i++)
        place_row(plan, &plan->config->rows[i]);
    place_variables(plan, CONFIG_ADDRESS_VARIABLE, "vars.address-groups");
    place_variables(plan, CONFIG_PORT_VARIABLE, "vars.port-groups");
    if (!plan->failed)
        place_rest(plan, plan->config->root, plan->scratch.root);
}

/* --- Writing -------------------------------------------------------------------------------------- */

/* Returns true if a string can be written without quotes in YAML, whatever the type of its setting is. */
static bool is_plain(const char *value)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-";
    size_t length = strlen(value);

    if (length == 0 || strspn(value, letters) != length || value[0] == '-' || value[0] == '.')
        return false;
    return strcmp(value, "null") != 0 && strcmp(value, "Null") != 0 && strcmp(value, "NULL") != 0;
}

/* Decodes the UTF-8 character at `at` and sets *length to its bytes. An invalid byte is returned unchanged, with
 * length 1. */
static uint32_t character(const char *at, size_t *length)
{
    static const uint32_t lowest[] = { 0, 0, 0x80, 0x800, 0x10000 };
    unsigned char lead = (unsigned char)*at;
    size_t size = lead < 0x80 ? 1 : lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
    uint32_t code = size == 1 ? lead : lead & (0xffu >> (size + 1));

    for (size_t i = 1; i < size; i++) {
        if (((unsigned char)at[i] & 0xc0) != 0x80) {
            *length = 1;
            return lead;
        }
        code = code << 6 | ((unsigned char)at[i] & 0x3f);
    }
    *length = code >= lowest[size] ? size : 1;
    return code >= lowest[size] ? code : lead;
}

/* Returns true if a character can be written in double quotes without an escape. Control characters, Unicode line
 * breaks, the byte order mark and surrogates cannot. */
static bool is_written_raw(uint32_t code, size_t length)
{
    if (code < 0x80)
        return code >= 0x20 && code < 0x7f;
    if (length == 1 || code < 0xa0 || code == 0x2028 || code == 0x2029 || code == 0xfeff)
        return false;
    return (code < 0xd800 || code > 0xdfff) && code != 0xfffe && code != 0xffff && code <= 0x10ffff;
}

/* Writes a string, in double quotes with YAML's escapes if necessary. */
static void write_text(struct text *out, const char *value)
{
    size_t length;

    if (is_plain(value)) {
        text_puts(out, value);
        return;
    }
    text_puts(out, "\"");
    for (const char *at = value; *at; at += length) {
        uint32_t code = character(at, &length);

        if (code == '"' || code == '\\')
            text_printf(out, "\\%c", (char)code);
        else if (is_written_raw(code, length))
            text_append(out, at, length);
        else
            text_printf(out, code > 0xffff ? "\\U%08x" : "\\u%04x", (unsigned)code);
    }
    text_puts(out, "\"");
}

void config_write_value(struct text *out, const struct node *node)
{
    bool map = node->kind == NODE_MAP;

    if (node->kind == NODE_NULL)
        text_puts(out, "~");
    else if (node->kind == NODE_SCALAR)
        write_text(out, node->value);
    if (node->kind == NODE_NULL || node->kind == NODE_SCALAR)
        return;
    text_puts(out, map ? "{" : "[");
    for (const struct node *child = node->first; child; child = child->next) {
        if (map) {
            write_text(out, child->key);
            text_puts(out, ": ");
        }
        config_write_value(out, child);
        text_puts(out, child->next ? ", " : "");
    }
    text_puts(out, map ? "}" : "]");
}

static void write_members(struct text *out, const struct node *map, unsigned depth)
{
    for (const struct node *node = map->first; node; node = node->next) {
        text_printf(out, "%*s", (int)(4 * depth), "");
        write_text(out, node->key);
        text_puts(out, ":");
        if (node->kind == NODE_MAP && node->first) {
            text_puts(out, "\n");
            write_members(out, node, depth + 1);
            continue;
        }
        text_puts(out, " ");
        config_write_value(out, node);
        text_puts(out, "\n");
    }
}

/* Writes the nodes below `parent` as lines NAME = VALUE. `name`, of CONFIG_MAX_PATH bytes, is the name of `parent`,
 * `length` characters long. */
static void write_flat(struct text *out, const struct node *parent, char *name, size_t length)
{
    size_t index = 0;

    for (const struct node *node = parent->first; node; node = node->next, index++) {
        const char *dot = length > 0 ? "." : "";
        int added = parent->kind == NODE_MAP ? snprintf(name + length, CONFIG_MAX_PATH - length, "%s%s", dot, node->key)
                                             : snprintf(name + length, CONFIG_MAX_PATH - length, "%s%zu", dot, index);

        if (added < 0 || (size_t)added >= CONFIG_MAX_PATH - length)
            continue; /* longer than any setting's name */
        text_printf(out, "%s = ", name);
        if (node->kind == NODE_SCALAR)
            text_printable(out, node->value, strlen(node->value));
        else
            text_puts(out, "(null)");
        text_puts(out, "\n");
        write_flat(out, node, name, length + (size_t)added);
    }
}

static void print(const struct config *config, struct text *out, bool flat)
{
    char name[CONFIG_MAX_PATH] = "";
    struct plan plan = { .config = config };

    plan.scratch.arena = arena_new(0);
    if (plan.scratch.arena)
        plan.scratch.root = node_new(&plan.scratch, NODE_MAP);
    if (plan.scratch.root)
        lay_out(&plan);
    if (!plan.scratch.root || plan.failed)
        out->failed = true;
    else if (flat)
        write_flat(out, plan.scratch.root, name, 0);
    else
        write_members(out, plan.scratch.root, 0);
    arena_free(plan.scratch.arena);
}

void config_print(const struct config *config, struct text *out)
{
    print(config, out, false);
}

void config_print_flat(const struct config *config, struct text *out)
{
    print(config, out, true);
}
