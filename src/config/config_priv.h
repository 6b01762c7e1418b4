/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside of config: the tree of nodes that the YAML reader makes, the table of settings and the walk that checks. */
#ifndef SLUICE_CONFIG_PRIV_H
#define SLUICE_CONFIG_PRIV_H

#include "sluice/arena.h"
#include "sluice/config.h"
#include "sluice/text.h"

/* Bounds of what a file may hold: enough for any real one, and a hostile one ends in a message. */
enum {
    CONFIG_MAX_FILE_SIZE = 16 << 20,
    CONFIG_MAX_NODES = 100000, /* of all files together, aliases counted where they are used */
    CONFIG_MAX_MEMBERS = 4096, /* of one mapping */
    CONFIG_MAX_DEPTH = 32,
    CONFIG_MAX_FILES = 64,   /* included ones */
    CONFIG_MAX_INCLUDES = 8, /* an include within an include ... */
    CONFIG_MAX_KEY = 256,
    CONFIG_MAX_PATH = 1024,
};

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool quoted;       /* NODE_SCALAR: stood in quotes, so "no" is text */
    const char *key;   /* in a mapping */
    const char *value; /* NODE_SCALAR */
    struct position key_at, at;
    struct node *first, *last, *next; /* members or items; the next sibling */
    size_t count;
    const char *const *strings; /* NODE_LIST of a setting: the values, NULL-terminated */
};

/* A row with its default, parsed. */
struct schema_row {
    const struct setting *setting;
    struct node *default_node; /* NULL without one */
};

struct config {
    struct arena *arena;
    struct schema_row *rows;
    size_t row_count;
    struct node *root;
    size_t nodes; /* made so far */
    size_t files; /* read so far */
    const char *file_names[CONFIG_MAX_FILES];
};

/* --- node.c: trees -------------------------------------------------------------------------------- */

/* Counted against CONFIG_MAX_NODES; NULL when that or the memory is used up. */
struct node *node_new(struct config *config, enum node_kind kind);
void node_add(struct node *parent, struct node *child);
struct node *node_member(const struct node *map, const char *key, size_t key_length);
struct node *node_item(const struct node *parent, size_t index);
/* The node at a path ("a.b.c") below `root`, or NULL. */
struct node *node_find(const struct node *root, const char *path);
/* The same, made as far as it is missing; what is no mapping on the way becomes one. NULL when out of memory. */
struct node *node_make(struct config *config, struct node *root, const char *path);

/* --- yaml.c: text to tree ------------------------------------------------------------------------- */

/* *out is NULL for an empty file. 0, -EINVAL after a report, or -ENOMEM. `name` and `text` live in the config's arena.
 */
int yaml_read(struct config *config, struct node **out, const char *name, const char *text, size_t length,
              struct diag *diag);

/* --- schema.c: the table of settings -------------------------------------------------------------- */

/* The row of a path, or NULL. */
struct schema_row *schema_find(const struct config *config, const char *path);
/* Whether rows lie below the path. */
bool schema_is_section(const struct config *config, const char *path);
/* For "did you mean": a full name near to `path`, or NULL. `out` has CONFIG_MAX_PATH bytes and may be what is returned.
 */
const char *schema_nearest(const struct config *config, const char *path, char *out);

/* --- apply.c, value.c: a file's tree into the config's -------------------------------------------- */

struct walk {
    struct config *config;
    struct diag *diag;
    enum config_strictness strictness;
    const char *folder; /* what relative paths start from; "" is the working directory */
    unsigned includes;  /* how deep */
    bool out_of_memory;
};

/* All members of a tree. 0 or -ENOMEM; mistakes are in the diag and leave the config without that member. */
int apply_tree(struct walk *walk, const struct node *tree);

/* One value for a row: a new node with the value in canonical form, or NULL after a report. */
struct node *value_take(struct walk *walk, const struct setting *setting, const char *path, const struct node *in);

/* The scalars' forms; false when it is none. */
bool value_to_bool(const char *value, bool *out);
bool value_to_size(const char *value, int64_t *out);

/* --- load.c --------------------------------------------------------------------------------------- */

/* Reads a file and applies it; `at` is the include that named it, with file NULL for the first. */
int load_file(struct walk *walk, const char *path, struct position at);

/* --- print.c -------------------------------------------------------------------------------------- */

/* Whether the sections above `path` are on: options of an event type that is not written have no effect. */
bool config_is_within_sections(const struct config *config, const char *path);
/* A value in one line, as it would stand behind a key. */
void config_write_value(struct text *out, const struct node *node);

/* --- defaults.c ----------------------------------------------------------------------------------- */

/* The default of a rule variable by index; false past the last. */
bool default_variable(enum config_variable_kind kind, size_t index, struct config_variable *out);

#endif
