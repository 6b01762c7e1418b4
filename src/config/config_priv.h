/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to config: the tree of nodes that the YAML reader builds, the table of settings, and the pass over a tree
 * that checks values. */
#ifndef SLUICE_CONFIG_PRIV_H
#define SLUICE_CONFIG_PRIV_H

#include "sluice/arena.h"
#include "sluice/config.h"
#include "sluice/text.h"

/* Limits of a configuration; beyond them it is refused. */
enum {
    CONFIG_MAX_FILE_SIZE = 16 << 20,
    CONFIG_MAX_NODES = 100000, /* of all files together; each use of an alias counts */
    CONFIG_MAX_MEMBERS = 4096, /* of one mapping */
    CONFIG_MAX_DEPTH = 32,
    CONFIG_MAX_FILES = 64,   /* included ones */
    CONFIG_MAX_INCLUDES = 8, /* nesting of includes */
    CONFIG_MAX_KEY = 256,
    CONFIG_MAX_PATH = 1024,
};

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool quoted;       /* NODE_SCALAR: was in quotes, so "no" is a string */
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
    size_t nodes; /* allocated so far */
    size_t files; /* read so far */
    const char *file_names[CONFIG_MAX_FILES];
};

/* --- node.c: trees -------------------------------------------------------------------------------- */

/* Counts towards CONFIG_MAX_NODES; NULL at that limit or without memory. */
struct node *node_new(struct config *config, enum node_kind kind);
void node_add(struct node *parent, struct node *child);
struct node *node_member(const struct node *map, const char *key, size_t key_length);
struct node *node_item(const struct node *parent, size_t index);
/* The node at a path ("a.b.c") below `root`, or NULL. */
struct node *node_find(const struct node *root, const char *path);
/* The same, but adds the missing nodes of the path, and replaces nodes that are not mappings. NULL without memory. */
struct node *node_make(struct config *config, struct node *root, const char *path);

/* --- yaml.c: text to tree ------------------------------------------------------------------------- */

/* *out is NULL for an empty file. 0, -EINVAL after a report, or -ENOMEM. `name` and `text` live in the config's arena.
 */
int yaml_read(struct config *config, struct node **out, const char *name, const char *text, size_t length,
              struct diag *diag);

/* --- schema.c: the table of settings -------------------------------------------------------------- */

/* The row of a path, or NULL. */
struct schema_row *schema_find(const struct config *config, const char *path);
/* Whether there are settings below the path. */
bool schema_is_section(const struct config *config, const char *path);
/* Returns the full name nearest to `path`, for "did you mean"; or NULL. It may be written to `out`, of CONFIG_MAX_PATH
 * bytes. */
const char *schema_nearest(const struct config *config, const char *path, char *out);

/* --- apply.c, value.c: values of a file into the configuration ------------------------------------ */

struct walk {
    struct config *config;
    struct diag *diag;
    enum config_strictness strictness;
    const char *folder; /* of relative paths; "": the working directory */
    unsigned includes;  /* nesting */
    bool out_of_memory;
};

/* Applies all members of a tree. 0 or -ENOMEM. A mistake is reported in the diag, and its member is skipped. */
int apply_tree(struct walk *walk, const struct node *tree);

/* Parses a value of a setting. Returns a new node with the value in canonical form, or NULL after a report. */
struct node *value_parse_node(struct walk *walk, const struct setting *setting, const char *path,
                              const struct node *in);

/* Parse scalars; false for another format. */
bool value_to_bool(const char *value, bool *out);
bool value_to_size(const char *value, int64_t *out);

/* --- load.c --------------------------------------------------------------------------------------- */

/* Reads a file and applies it. `at` is the include that names it; its file is NULL for the first file. */
int load_file(struct walk *walk, const char *path, struct position at);

/* --- config.c ------------------------------------------------------------------------------------- */

/* Whether the section is present, if only by default or empty. */
bool config_has_section(const struct config *config, const char *name);

/* --- print.c -------------------------------------------------------------------------------------- */

/* Whether all sections above `path` are present: the settings of an event type that is not written have no effect. */
bool config_is_within_sections(const struct config *config, const char *path);
/* Writes a value in one line, as it follows a key. */
void config_write_value(struct text *out, const struct node *node);

/* --- variables.c ---------------------------------------------------------------------------------- */

/* The default of a rule variable by index; false past the last. */
bool default_variable(enum config_variable_kind kind, size_t index, struct config_variable *out);

#endif
