/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to config: the tree of nodes that the YAML reader builds, the table of settings, and the pass over a tree
 * that checks values. */
#ifndef SLUICE_CONFIG_PRIV_H
#define SLUICE_CONFIG_PRIV_H

#include "sluice/arena.h"
#include "sluice/config.h"
#include "sluice/text.h"

/* Limits of a configuration; exceeding one is an error. */
enum {
    CONFIG_MAX_FILE_SIZE = 16 << 20, /* bytes of one file */
    CONFIG_MAX_NODES = 100000,       /* nodes of all files together; each use of an alias adds the nodes of its copy */
    CONFIG_MAX_MEMBERS = 4096,       /* members of one mapping */
    CONFIG_MAX_DEPTH = 32,           /* levels of nested mappings and lists, and parts of a name with dots */
    CONFIG_MAX_FILES = 64,           /* files read, including included ones */
    CONFIG_MAX_INCLUDES = 8,         /* levels of nested includes */
    CONFIG_MAX_KEY = 256,            /* characters of a key in a mapping */
    CONFIG_MAX_PATH = 1024,          /* bytes of the full name of a setting, NUL included */
};

enum node_kind { NODE_NULL, NODE_SCALAR, NODE_LIST, NODE_MAP };

struct node {
    enum node_kind kind;
    bool unread;       /* import: names a file to include that was not read */
    bool quoted;       /* NODE_SCALAR: true if the value was in quotes, so that "no" is a string, not a boolean */
    const char *key;   /* name of a member of a mapping, otherwise NULL */
    const char *value; /* NODE_SCALAR: the text, without quotes */
    struct position key_at, at;
    struct node *first, *last, *next; /* first and last member or item of this node; next sibling of this node */
    size_t count;
    /* NODE_LIST: the items as an array, NULL-terminated; NULL in a tree that the YAML reader built */
    const char *const *strings;
};

/* A row of the table of settings, and its parsed default. */
struct schema_row {
    const struct setting *setting;
    struct node *default_node; /* NULL if the setting has no default */
};

/* A row whose name contains '*'. Paths that match end with `end`, the part of the name after the last '*'. */
struct schema_pattern {
    struct schema_row *row;
    const char *end;
    size_t end_length;
};

struct config {
    struct arena *arena;
    struct schema_row *rows;
    size_t row_count;
    struct schema_row **by_name;     /* all rows, sorted by name */
    struct schema_pattern *patterns; /* rows whose name contains '*', in the order of the table */
    size_t pattern_count;
    struct node *root;
    size_t suricata_keys;  /* number of unknown settings that are settings of Suricata */
    bool keeps_duplicates; /* true for the import: a mapping may contain a name twice, as in Suricata */
    size_t nodes;          /* nodes allocated so far; see CONFIG_MAX_NODES */
    size_t files;          /* files read so far; see CONFIG_MAX_FILES */
    const char *file_names[CONFIG_MAX_FILES];
};

/* --- node.c: trees -------------------------------------------------------------------------------- */

/* Returns a new node, which counts towards CONFIG_MAX_NODES; NULL if that limit is reached or memory is exhausted. */
struct node *node_new(struct config *config, enum node_kind kind);
void node_add(struct node *parent, struct node *child);
struct node *node_member(const struct node *map, const char *key, size_t key_length);
struct node *node_item(const struct node *parent, size_t index);
/* Returns the node at a path ("a.b.c") below `root`, or NULL. */
struct node *node_find(const struct node *root, const char *path);
/* Returns the node at a path like node_find(), but adds the missing nodes of the path, and replaces nodes on it that
 * are not mappings. Returns NULL if node_new() fails. */
struct node *node_make(struct config *config, struct node *root, const char *path);

/* --- yaml.c: text to tree ------------------------------------------------------------------------- */

/* Parses YAML and sets *out to the root of the tree, or NULL for an empty file. Returns 0, -EINVAL after a report, or
 * -ENOMEM. `name` and `text` must be in the configuration's arena, because positions refer to them. */
int yaml_read(struct config *config, struct node **out, const char *name, const char *text, size_t length,
              struct diag *diag);

/* --- schema.c: the table of settings -------------------------------------------------------------- */

/* Returns the row of a path, or NULL. */
struct schema_row *schema_find(const struct config *config, const char *path);
/* Fills config->by_name and config->patterns. Call it after all rows were added. */
void schema_sort(struct config *config);
/* Returns whether the table has settings below the path. */
bool schema_is_section(const struct config *config, const char *path);
/* Returns the length of the longest parent of `path` that exists as a section or setting: 5 for "queue.nonsense.x" (its
 * parent queue exists); 0 if there is none. */
size_t schema_known_length(const struct config *config, const char *path);
/* Returns whether paths in other settings are relative to the folder that this setting names. */
bool schema_is_folder(const struct config *config, const char *path);
/* Returns the full name of the setting most similar to `path`, for "did you mean", or NULL. `out`, of CONFIG_MAX_PATH
 * bytes, is a buffer that the result may point to. */
const char *schema_nearest(const struct config *config, const char *path, char *out);

/* --- apply.c, value.c: check and store the values of a file ---------------------------------------- */

struct walk {
    struct config *config;
    struct diag *diag;
    enum config_strictness strictness;
    const char *folder; /* directory to which relative paths refer; "": the working directory */
    unsigned includes;  /* levels of includes that led to this file */
    bool out_of_memory;
};

/* Applies all members of a tree. A mistake is reported in the diag, and the member is skipped. Returns 0 or -ENOMEM. */
int apply_tree(struct walk *walk, const struct node *tree);

/* Parses a value of a setting. Returns a new node with the value in canonical form, or NULL after a report. */
struct node *value_parse_node(struct walk *walk, const struct setting *setting, const char *path,
                              const struct node *in);

/* Parse a boolean, and a number with an optional unit of size. Return false if the value has another format. */
bool value_to_bool(const char *value, bool *out);
bool value_to_size(const char *value, int64_t *out);

/* --- load.c --------------------------------------------------------------------------------------- */

/* Reads a file and parses it; *out is NULL for an empty file. `at` as for load_file(). Sets walk->folder to the folder
 * of the file. Returns 0, -EINVAL after a report of mistakes in YAML, or -errno; a file that cannot be read is
 * reported, as by load_file(). */
int load_tree(struct walk *walk, const char *path, struct position at, struct node **out);
/* Returns the directory to which relative paths in a file refer, "" for the working directory; NULL if memory is
 * exhausted. */
const char *folder_of(struct arena *arena, const char *path);
/* Reads a file and applies it. `at` is the position of the include that names the file; at.file is NULL for the first
 * file. Returns 0 or -errno; a file that cannot be read is reported in the diag. */
int load_file(struct walk *walk, const char *path, struct position at);

/* --- config.c ------------------------------------------------------------------------------------- */

/* Returns whether the section is present; it may be empty or present by default. */
bool config_has_section(const struct config *config, const char *name);

/* --- print.c -------------------------------------------------------------------------------------- */

/* Returns whether all sections above `path` are present. If one is missing, the setting has no effect: options of an
 * event type, for example, if the output does not list that type. */
bool config_is_within_sections(const struct config *config, const char *path);
/* Writes a value in YAML's flow style, in one line, to follow "key: ". */
void config_write_value(struct text *out, const struct node *node);

/* --- variables.c ---------------------------------------------------------------------------------- */

/* Sets *out to the rule variable number `index` that has a default. Returns false past the last one. */
bool default_variable(enum config_variable_kind kind, size_t index, struct config_variable *out);

#endif
