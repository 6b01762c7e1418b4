/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads a suricata.yaml into a list of its keys. The content of included files is inserted behind their `include`, as
 * in Suricata; a key that is set again later counts with its last value. import_convert.c then decides about each key.
 */
#include "import_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/array.h"

/* --- Includes ------------------------------------------------------------------------------------- */

static int expand_includes(struct walk *walk, const struct import *import, struct node *node);

/* Inserts the members or items of a file behind the `include`. `name` is the node that names the file. */
static int include_file(struct walk *walk, const struct import *import, struct node *include, struct node *name)
{
    struct walk inner = *walk;
    struct node *tree = NULL;
    const char *path = name->value;

    inner.includes++;
    if (path[0] != '/' && walk->folder[0])
        path = arena_printf(walk->config->arena, "%s/%s", walk->folder, path);
    if (!path)
        return -ENOMEM;
    name->unread = import->options.no_files || access(path, R_OK) != 0;
    if (name->unread) {
        diag_warning(walk->diag, name->at, "cannot read '%s': %s; its settings are not imported", path,
                     import->options.no_files ? "not allowed" : strerror(errno));
        return 0;
    }
    int err = load_tree(&inner, path, name->at, &tree);

    if (!err && tree && tree->first) {
        err = expand_includes(&inner, import, tree);
        tree->last->next = include->next;
        include->next = tree->first;
    }
    return err;
}

static int expand_includes(struct walk *walk, const struct import *import, struct node *node)
{
    int err = 0;

    for (struct node *child = node->first, *next; child && !err; child = next) {
        next = child->next;
        if (!child->key || strcmp(child->key, "include") != 0) {
            err = expand_includes(walk, import, child);
            continue;
        }
        if (child->kind == NODE_SCALAR)
            err = include_file(walk, import, child, child);
        /* the last file first, because each is inserted directly behind the include */
        for (size_t i = child->kind == NODE_LIST ? child->count : 0; i > 0 && !err; i--)
            if (node_item(child, i - 1)->kind == NODE_SCALAR)
                err = include_file(walk, import, child, node_item(child, i - 1));
    }
    while (node->last && node->last->next)
        node->last = node->last->next;
    return err;
}

/* --- Leaves --------------------------------------------------------------------------------------- */

/* What a leaf inherits from the nodes above it. */
struct place {
    const char *path, *name;
    const struct node *by;
    bool disabled, is_include, is_item;
    unsigned output, depth;
};

static struct import_leaf *add_leaf(struct import *import, const struct place *place, const struct node *node)
{
    if (array_grow(&import->leaves, import->leaf_count, &import->leaf_capacity, sizeof(*import->leaves))) {
        import->failed = true;
        return NULL;
    }
    struct import_leaf *leaf = &import->leaves[import->leaf_count++];

    *leaf = (struct import_leaf){
        .key = { .path = place->path,
                 .value = node->kind == NODE_SCALAR ? node->value : "",
                 .at = node->key ? node->key_at : node->at },
        .name = place->name,
        .node = node,
        .by = place->by,
        .disabled = place->disabled,
        .is_include = place->is_include,
        .is_item = place->is_item,
        .output = place->output,
    };
    return leaf;
}

/* Returns the last of the members that have the key. */
static const struct node *last_member(const struct node *first, const char *key)
{
    const struct node *last = NULL;

    for (const struct node *node = first; node; node = node->next)
        if (node->key && strcmp(node->key, key) == 0)
            last = node;
    return last;
}

static bool is_off(const struct node *node)
{
    bool on;

    return node && node->kind == NODE_SCALAR && value_to_bool(node->value, &on) && !on;
}

static const char *join(struct import *import, const char *parent, const char *key)
{
    const char *joined = arena_printf(import->config->arena, "%s%s%s", parent, parent[0] ? "." : "", key);

    import->failed |= !joined;
    return joined ? joined : "";
}

/* Whether the items of this list are names of sections: `types: [alert, {http: {extended: yes}}]`. */
static bool has_named_items(const char *name)
{
    return strcmp(name, "outputs") == 0 || strcmp(name, "outputs.eve-log.types") == 0;
}

static void find_leaves(struct import *import, const struct place *place, const struct node *node)
{
    static const struct node nothing = { .kind = NODE_NULL };
    const bool disabled = place->disabled || is_off(last_member(node->first, "enabled"));
    unsigned position = 0;

    if (!node->first) {
        add_leaf(import, place, node);
        return;
    }
    for (const struct node *child = node->first; child && !import->failed; child = child->next) {
        struct place inner = *place;
        char number[16];

        snprintf(number, sizeof(number), "%u", position);
        inner.path = join(import, place->path, child->key ? child->key : number);
        if (child->key) {
            const struct node *last = last_member(child->next, child->key);

            inner.is_item = false;
            inner.is_include = strcmp(child->key, "include") == 0;
            inner.name = join(import, place->name, child->key);
            inner.by = place->by ? place->by : inner.is_include ? NULL : last;
            /* the switch itself is not in the section that it disables */
            inner.disabled = strcmp(child->key, "enabled") == 0 ? place->disabled : disabled;
        } else {
            inner.is_item = true;
            inner.output = strcmp(place->name, "outputs") == 0 ? position : place->output;
            position++;
        }
        if (!child->key && child->kind == NODE_SCALAR && has_named_items(place->name)) {
            struct import_leaf *leaf;

            inner.name = join(import, place->name, child->value);
            inner.is_item = false;
            leaf = add_leaf(import, &inner, child);
            if (leaf)
                leaf->node = &nothing;
            continue;
        }
        find_leaves(import, &inner, child);
    }
}

const struct import_leaf *import_find(const struct import *import, const char *name)
{
    for (size_t i = import->leaf_count; i > 0; i--)
        if (!import->leaves[i - 1].by && strcmp(import->leaves[i - 1].name, name) == 0)
            return &import->leaves[i - 1];
    return NULL;
}

const char *import_find_value(const struct import *import, const char *name)
{
    const struct import_leaf *leaf = import_find(import, name);

    return leaf && leaf->node->kind == NODE_SCALAR ? leaf->node->value : NULL;
}

/* --- Import --------------------------------------------------------------------------------------- */

/* Creates an import from the file `path`, or from a text if `text` is not NULL. */
static int import_new(struct import **out, struct config *config, const char *path, const char *text, size_t length,
                      const struct import_options *options, struct diag *diag)
{
    struct import *import = calloc(1, sizeof(*import));
    struct walk walk = { .config = config, .diag = diag, .strictness = CONFIG_STRICT, .folder = "" };
    const struct place root = { .path = "", .name = "" };
    struct node *tree = NULL;
    int err = -ENOMEM;

    if (!import)
        return err;
    *import = (struct import){ .config = config, .options = *options, .diag = diag, .trial = diag_new() };
    if (!import->trial)
        goto free_import;
    config->keeps_duplicates = true;
    if (text)
        err = yaml_read(config, &tree, path, text, length, diag);
    else
        err = load_tree(&walk, path, (struct position){ .file = NULL }, &tree);
    import->folder = walk.folder;
    if (!err && diag_errors(diag) == 0 && (!tree || tree->kind != NODE_MAP))
        diag_error(diag, (struct position){ .file = path },
                   "this is no suricata.yaml: it has no settings (name: value)");
    if (!err && diag_errors(diag) == 0)
        err = expand_includes(&walk, import, tree);
    config->keeps_duplicates = false;
    if (!err && diag_errors(diag) > 0)
        err = -EINVAL;
    if (err)
        goto free_import;
    find_leaves(import, &root, tree);
    import_convert(import);
    for (size_t i = 0; i < import->leaf_count; i++)
        import->counts[import->leaves[i].key.group]++;
    err = import->failed ? -ENOMEM : 0;
    if (err)
        goto free_import;
    *out = import;
    return 0;

free_import:
    import_free(import);
    return err;
}

int import_read(struct import **out, struct config *config, const char *path, const struct import_options *options,
                struct diag *diag)
{
    return import_new(out, config, path, NULL, 0, options, diag);
}

int import_parse(struct import **out, struct config *config, const char *name, const char *text, size_t length,
                 const struct import_options *options, struct diag *diag)
{
    const char *own_name = arena_strdup(config->arena, name), *own_text;

    if (length > CONFIG_MAX_FILE_SIZE)
        return -EFBIG;
    own_text = arena_strndup(config->arena, text, length);
    return own_name && own_text ? import_new(out, config, own_name, own_text, length, options, diag) : -ENOMEM;
}

void import_free(struct import *import)
{
    if (!import)
        return;
    diag_free(import->trial);
    free(import->leaves);
    free(import->settings);
    free(import);
}

const struct import_key *import_key(const struct import *import, size_t index)
{
    return index < import->leaf_count ? &import->leaves[index].key : NULL;
}

size_t import_count(const struct import *import, enum import_group group)
{
    return import->counts[group];
}

const char *import_group_name(enum import_group group)
{
    static const char *const names[] = { "taken", "implied", "no counterpart", "replaced", "unknown" };

    return names[group];
}

/* Returns whether a name can be in a comment: it has no line break, and nothing that looks like one. */
static bool is_printable(const char *name)
{
    for (; *name; name++)
        if (*name < ' ' || *name > '~')
            return false;
    return true;
}

void import_print(const struct import *import, struct text *out)
{
    const char *before = "";

    for (size_t i = 0; i < import->setting_count; i++) {
        const struct import_setting *setting = &import->settings[i];
        const struct node name = { .kind = NODE_SCALAR, .value = setting->name };
        size_t length = strcspn(setting->name, ".");

        if (strncmp(setting->name, before, length) != 0 || strcspn(before, ".") != length)
            text_puts(out, "\n");
        config_write_value(out, &name); /* in quotes if necessary: a variable may have any name */
        text_puts(out, ": ");
        config_write_value(out, setting->value);
        if (!setting->from.line)
            text_printf(out, " # added: %s", setting->text);
        else if (strcmp(setting->path, setting->name) != 0 && is_printable(setting->path))
            text_printf(out, " # %s", setting->path);
        text_puts(out, "\n");
        before = setting->name;
    }
}
