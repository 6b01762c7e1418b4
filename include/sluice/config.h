/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config: one YAML file, checked against a table of settings.
 *
 * Each setting is a row: name, type, range, default, help. The table parses the file, answers the getters, and prints
 * `sluice settings` and the reference in the user guide. A name is a path ("stream.midstream"); a `*` in it stands for one
 * free part ("vars.address-groups.*"), a trailing `**` for any subtree that is kept and not checked further.
 *
 * Every mistake is reported with its position: unknown keys with the nearest known one, wrong types, values out of range.
 *
 * Threads:   built by one thread, then read only.
 * Ownership: strings are lent until config_free().
 */
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/diag.h"

enum setting_type {
    SETTING_BOOL,
    SETTING_NUMBER,
    SETTING_SIZE, /* bytes, with KiB, MiB, GiB, kb, mb, gb */
    SETTING_STRING,
    SETTING_ENUM, /* one of `choices` */
    SETTING_PATH, /* relative to the file that names it */
    SETTING_LIST, /* of strings; a single scalar is a list of one */
    SETTING_ANY,  /* anything, with what is below it */
};

struct setting {
    const char *name;
    enum setting_type type;
    const char *default_value;  /* as it would be written; NULL: unset */
    int64_t low, high;          /* SETTING_NUMBER and SETTING_SIZE; both 0: any */
    const char *const *choices; /* SETTING_ENUM, NULL-terminated */
    const char *help;
};

/* The table that belongs to Sluice itself; protocols bring their own. Ends with a row without a name. */
extern const struct setting config_settings[];

struct config;

/* Unknown keys are errors in `check` and `run`, warnings in `replay`. */
enum config_strictness { CONFIG_STRICT, CONFIG_LENIENT };

/* An empty configuration with the defaults of the tables (NULL-terminated array of tables). 0 or -ENOMEM. */
int config_new(struct config **out, const struct setting *const *tables);
void config_free(struct config *config);

/* Reads a file on top of what is there. 0, or -errno when it can't be read (reported too); mistakes are in `diag`. */
int config_load(struct config *config, const char *path, enum config_strictness strictness, struct diag *diag);
int config_parse(struct config *config, const char *name, const char *text, size_t length,
                 enum config_strictness strictness, struct diag *diag);
/* One setting from the command line: "key=value". */
int config_set(struct config *config, const char *assignment, struct diag *diag);

/* Getters. The name must be in a table (asserted): with its default if the file does not set it. */
bool config_is_set(const struct config *config, const char *name); /* by a file or config_set */
bool config_bool(const struct config *config, const char *name);
int64_t config_number(const struct config *config, const char *name);     /* numbers and sizes */
const char *config_string(const struct config *config, const char *name); /* strings, enums, paths; NULL when unset */
size_t config_list_count(const struct config *config, const char *name);
const char *config_list_get(const struct config *config, const char *name, size_t index);
/* The same with a default of the caller, for names below a `*`: config_string_or(c, "queues.0-3.verdict", NULL). */
const char *config_string_or(const struct config *config, const char *name, const char *otherwise);
int64_t config_number_or(const struct config *config, const char *name, int64_t otherwise);
bool config_bool_or(const struct config *config, const char *name, bool otherwise);
/* Where a setting was written, for diagnostics of its meaning; line 0 when it was not. */
struct position config_position(const struct config *config, const char *name);

/* The free parts below a name, in the order of the file: config_each(c, "vars.address-groups", i) gives "HOME_NET"...
 * NULL past the last. A null or empty mapping has none, but config_has_section() knows that it is there. */
const char *config_each(const struct config *config, const char *name, size_t index);
bool config_has_section(const struct config *config, const char *name);

/* The effective configuration as YAML, for `sluice check`. */
struct text;
void config_print(const struct config *config, struct text *out);

#endif
