/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config: one YAML file, checked against a table of settings.
 *
 * Each setting is a row: name, type, range, default, help. The table parses the file, answers the getters, and prints
 * `sluice settings` and the reference in the user guide. A name is a path ("stream.midstream"); a `*` in it stands for
 * one free part ("vars.address-groups.*"), a trailing `**` for any subtree that is kept and not checked further.
 *
 * Every mistake is reported with its position: unknown keys with the nearest known one, wrong types, values out of
 * range.
 *
 * Threads:   built by one thread, then read only.
 * Ownership: strings are lent until config_free().
 */
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/diag.h"

enum setting_type {
    SETTING_BOOL,   /* yes, no, true, false, on, off */
    SETTING_NUMBER, /* decimal, or hexadecimal after 0x */
    SETTING_SIZE,   /* bytes, with k, M, G (and kb, KiB and so on: all are powers of 1024) */
    SETTING_STRING,
    SETTING_ENUM,     /* one of `choices` */
    SETTING_PATH,     /* relative to the file that names it */
    SETTING_LIST,     /* of strings, each one of `choices` if there are any; a single scalar is a list of one */
    SETTING_PATHS,    /* a list of paths, relative to the file that names them */
    SETTING_VARIABLE, /* text in the rule language's form for addresses or ports; a list becomes "[a,b]" */
    SETTING_SECTION,  /* a mapping whose presence says something; `no` or leaving it out is absence. `choices` are the
                       * members that it has when the file does not name it */
    SETTING_ANY,      /* anything, with what is below it; after a final `*` only the names in `choices`, if any */
};

struct setting {
    const char *name;
    enum setting_type type;
    const char *default_value;  /* as it would be written; NULL: unset */
    int64_t low, high;          /* SETTING_NUMBER and SETTING_SIZE; both 0: any */
    const char *const *choices; /* NULL-terminated; see the types */
    const char *help;
    const char *(*check)(const char *value); /* optional, of each string: NULL, or what was expected instead */
    const char *warning;                     /* given when the setting is used: "has no effect yet" */
};

/* The table that belongs to Sluice itself; protocols bring their own. Ends with a row without a name. */
extern const struct setting config_settings[];

struct config;

/* Unknown keys are errors in `check` and `run`, warnings in `replay`. Wrong values are errors everywhere. */
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

/* Getters. The name must be in a table (asserted): with its default if the file does not set it. A number that has no
 * default is 0, a list is empty. */
bool config_is_set(const struct config *config, const char *name);        /* by a file or config_set */
bool config_bool(const struct config *config, const char *name);          /* of a section: whether it is there */
int64_t config_number(const struct config *config, const char *name);     /* numbers and sizes */
const char *config_string(const struct config *config, const char *name); /* strings, enums, paths; NULL when unset */
size_t config_list_count(const struct config *config, const char *name);
const char *config_list_get(const struct config *config, const char *name, size_t index);
/* The same with a default of the caller, for names below a `*`: config_string_or(c, "queues.0-3.verdict", NULL). */
const char *config_string_or(const struct config *config, const char *name, const char *otherwise);
int64_t config_number_or(const struct config *config, const char *name, int64_t otherwise);
bool config_bool_or(const struct config *config, const char *name, bool otherwise);
/* The files that were read, as they were named; NULL past the last. */
const char *config_file(const struct config *config, size_t index);
/* Where a setting was written, for diagnostics of its meaning; line 0 when it was not. */
struct position config_position(const struct config *config, const char *name);

/* The free parts below a name, in the order of the file: config_each(c, "vars.address-groups", i) gives "HOME_NET"...
 * NULL past the last. A null or empty mapping has none, but config_has_section() knows that it is there. */
const char *config_each(const struct config *config, const char *name, size_t index);
bool config_has_section(const struct config *config, const char *name);

/* The rule variables: those of the file in its order, then the defaults of the names that it does not define (HOME_NET
 * and so on, as Suricata ships them). False past the last. */
enum config_variable_kind { CONFIG_ADDRESS_VARIABLE, CONFIG_PORT_VARIABLE };
struct config_variable {
    const char *name, *value;
};
bool config_variable(const struct config *config, enum config_variable_kind kind, size_t index,
                     struct config_variable *out);

/* The ports that a setting names: "any", numbers, and port variables ("[4789,$VXLAN_PORTS]"). Returns how many were
 * written (0 with *any), or -EINVAL after a report. */
int config_ports(const struct config *config, const char *name, uint16_t *out, size_t max, bool *any,
                 struct diag *diag);

/* Forms that values have. Queues and CPUs: "0-3,8" gives 0 1 2 3 8; returns how many, or -EINVAL when it is no such
 * list, a number is above `high` or more than `max` are named. */
int config_ranges(const char *value, uint32_t high, uint32_t *out, size_t max);
/* "90" (seconds), "90s", "15m", "12h", "7d", "2w". */
bool config_duration(const char *value, uint64_t *seconds);
/* "0660": permissions in octal. */
bool config_mode(const char *value, unsigned *mode);
/* "0x1/0x1": a mark within a mask that is not 0. */
bool config_mark(const char *value, uint32_t *mark, uint32_t *mask);
/* "10.0.0.0/8", or an address alone: its version, with the bits behind the prefix zero; -EINVAL when it is neither. */
int config_network(const char *value, struct address *network, unsigned *prefix);

/* Reports contradictions between settings of config_settings: repeat without a mark, a route to a queue of our own...
 */
void config_check(const struct config *config, struct diag *diag);

/* Calls `each` for every setting (or the section of those with a `*`) whose value differs. */
void config_each_difference(const struct config *one, const struct config *other,
                            void (*each)(const char *name, void *user), void *user);

/* The effective configuration as YAML, for `sluice check`. */
struct text;
void config_print(const struct config *config, struct text *out);
/* All settings as YAML, commented out, with their defaults and help: the shipped sluice.yaml. `config` is one that was
 * just made. */
void config_print_example(const struct config *config, struct text *out);

/* The type of a setting, "yes or no", and the values that it may have: "accept, drop", "number 1 to 255". */
const char *config_type_name(const struct setting *setting);
void config_describe_values(const struct setting *setting, struct text *out);

#endif
