/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config: YAML files, checked against tables of settings.
 *
 * A module describes its settings by an array of rows: name, type, range, default, help, and the field of its options
 * that config_fill() writes the value to. `sluice settings`, sluice.yaml(5) and docs/settings.md are printed from the
 * rows. A name is a path ("stream.midstream"). A `*` in it stands for one part of the user's choice
 * ("vars.address-groups.*"), a final `**` for any subtree, which is kept and not checked.
 *
 * A module never looks a value up by its name: config_fill() writes all its values to a struct with typed members, when
 * the configuration was read. Names are for what has no value: positions for diagnostics, the members that the user has
 * chosen (config_each()), and whether a setting is set at all.
 *
 * All mistakes are reported with their positions: unknown settings with the nearest known name, wrong types, values out
 * of range. A setting with a mistake keeps its previous value or default.
 *
 * Threads:   one thread reads the files; then the configuration is read-only for all threads.
 * Ownership: strings and lists are valid until config_free().
 */
#ifndef SLUICE_CONFIG_H
#define SLUICE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/address.h"
#include "sluice/diag.h"

enum setting_type {
    /* Type of the value in the file, and C type of the field */
    SETTING_BOOL,     /* yes, no, true, false, on, off; bool */
    SETTING_NUMBER,   /* decimal, or hexadecimal after 0x; unsigned integer of any width */
    SETTING_SIZE,     /* bytes, with a unit k, M, G (or kb, KiB ...), all powers of 1024; as SETTING_NUMBER */
    SETTING_STRING,   /* const char * */
    SETTING_ENUM,     /* one of `choices`; its index, as an enum, bool or unsigned integer */
    SETTING_PATH,     /* relative to the folder of the file that has it; const char * */
    SETTING_LIST,     /* strings, each one of `choices` if there are any; a scalar is a list of one.
                       * const char *const *, NULL-terminated and never NULL */
    SETTING_PATHS,    /* paths as SETTING_PATH; as SETTING_LIST */
    SETTING_VARIABLE, /* addresses or ports in the syntax of rules; a list becomes "[a,b]". const char * */
    SETTING_SECTION,  /* a mapping that has an effect even when it is empty; `no` removes it. `choices` are its members
                       * if no file has it. bool: whether it is present */
    SETTING_ANY,      /* any subtree; for a name that ends in `*` only the names in `choices`, if any. No field */
};

/* A row; an array of rows ends with one without a name. */
struct setting {
    const char *name;
    const char *alias; /* another name of the setting, without `*`; NULL: none */
    enum setting_type type;
    const char *default_value;  /* as in a file; NULL: unset */
    int64_t low, high;          /* SETTING_NUMBER and SETTING_SIZE; both 0: any */
    const char *const *choices; /* NULL-terminated; see the types */
    const char *help;
    const char *(*check)(const char *value); /* for strings; NULL, or the expected form for the error text */
    const char *warning;                     /* reported when a file has the setting: "has no effect yet" */
    /* The field of the options; both 0: none. */
    size_t offset, size;
    uint64_t scale; /* numbers: the field's unit is smaller by this factor; 0: the same unit */
    /* Writes a string of another form to the options, instead of the field. `check` has accepted it. */
    void (*store)(const char *value, void *options);
};
#define SETTING_FIELD(tag, member) .offset = offsetof(struct tag, member), .size = sizeof(((struct tag *)NULL)->member)

/* Values of settings with setting_auto_choices. */
enum setting_auto { SETTING_AUTO, SETTING_YES, SETTING_NO };
extern const char *const setting_auto_choices[];

struct config;

/* Unknown keys are errors in `check` and `run`, warnings in `replay`. Wrong values are errors everywhere. */
enum config_strictness { CONFIG_STRICT, CONFIG_LENIENT };

/* An empty configuration with the defaults of the tables (NULL-terminated array of tables). 0 or -ENOMEM. */
int config_new(struct config **out, const struct setting *const *tables);
void config_free(struct config *config);
/* The settings in the order of the tables, an alias as a setting of its own; NULL past the last. */
const struct setting *config_setting(const struct config *config, size_t index);

/* Reads a file; its values replace earlier ones. 0, or -errno if it cannot be read (reported, too). Mistakes are in
 * `diag`. */
int config_load(struct config *config, const char *path, enum config_strictness strictness, struct diag *diag);
int config_parse(struct config *config, const char *name, const char *text, size_t length,
                 enum config_strictness strictness, struct diag *diag);
/* One setting from the command line: "key=value". */
int config_set(struct config *config, const char *assignment, struct diag *diag);

/*
 * Writes the values of the rows to their fields of `options`. A setting that has neither a value nor a default leaves
 * its field unchanged; of several settings for a field, or names of a setting, the last one that is set counts. Rows
 * with a `*` in their name are read only for a part that replaces it: config_fill(c, rows, "0-3", &options) reads
 * "queues.0-3.mark" for "queues.*.mark", and no row without `*`. Each name must be in a table of config_new()
 * (asserted).
 */
void config_fill(const struct config *config, const struct setting *rows, const char *part, void *options);

/* Whether a file or config_set() sets it; the name must be in a table (asserted). For commands whose default is another
 * than that of the table: sluice replay writes to the working directory unless log-dir is set. */
bool config_is_set(const struct config *config, const char *name);
/* The paths of the files that were read, as they were given; NULL past the last. */
const char *config_file(const struct config *config, size_t index);
/* The position of a value, or of the name of a section, for diagnostics; line 0 if it is not set. */
struct position config_position(const struct config *config, const char *name);

/* The members of a section in the order of the file: config_each(c, "vars.address-groups", i) returns "HOME_NET" ...;
 * NULL past the last. */
const char *config_each(const struct config *config, const char *name, size_t index);

/* The rule variables: those of the files in their order, then Suricata's defaults for names that they do not define
 * (HOME_NET ...). False past the last. */
enum config_variable_kind { CONFIG_ADDRESS_VARIABLE, CONFIG_PORT_VARIABLE };
struct config_variable {
    const char *name, *value;
};
bool config_variable(const struct config *config, enum config_variable_kind kind, size_t index,
                     struct config_variable *out);

/* Reads ports: "any", numbers, and port variables ("[4789,$VXLAN_PORTS]"). Returns the number of ports written (0 with
 * *any), or -EINVAL after a report. `name` is the setting of the value, for the report. */
int config_ports(const struct config *config, const char *name, const char *value, uint16_t *out, size_t max, bool *any,
                 struct diag *diag);

/* Formats of values. Queues and CPUs: "0-3,8" gives 0 1 2 3 8. Returns the number of numbers, or -EINVAL for another
 * format, a number above `high`, one that is listed twice, or more than `max` numbers. */
int config_ranges(const char *value, uint32_t high, uint32_t *out, size_t max);
/* "90" (seconds), "90s", "15m", "12h", "7d", "2w". */
bool config_duration(const char *value, uint64_t *seconds);
/* "0660": permissions in octal. */
bool config_mode(const char *value, unsigned *mode);
/* "0x1/0x1": MARK/MASK. The mask is not 0, and the mark has no bits outside it. */
bool config_mark(const char *value, uint32_t *mark, uint32_t *mask);
const char *config_check_mark(const char *value); /* for rows */
/* "10.0.0.0/8", or an address. Returns its IP version and clears the bits after the prefix; -EINVAL for another format.
 */
int config_network(const char *value, struct address *network, unsigned *prefix);

/* Calls `each` for every setting (or the section of those with a `*`) whose value differs. */
void config_each_difference(const struct config *one, const struct config *other,
                            void (*each)(const char *name, void *user), void *user);

/* The effective configuration as YAML, for `sluice check`. */
struct text;
void config_print(const struct config *config, struct text *out);
/* All settings as YAML, commented out, with their defaults and help: the installed sluice.yaml. `config` has no values.
 */
void config_print_example(const struct config *config, struct text *out);

/* The type of a setting ("yes or no"), and its values ("accept, drop", "number 1 to 255"). */
const char *config_type_name(const struct setting *setting);
void config_describe_values(const struct setting *setting, struct text *out);

#endif
