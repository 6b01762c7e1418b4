/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Config: YAML files, checked against tables of settings.
 *
 * A module describes its settings by an array of rows: name, type, range, default, help, and the field of its options
 * that config_fill() writes the value to. `sluice settings`, sluice.yaml(5) and docs/settings.md are printed from the
 * rows. A name is a path ("stream.midstream"). A `*` in it stands for one part of the user's choice
 * ("vars.address-groups.*"), a final `**` for any subtree, which is kept and not checked.
 *
 * A module never looks a value up by its name: once the configuration has been read, config_fill() writes all its
 * values to a struct with typed members. Names are needed only for positions in diagnostics (config_position()), the
 * members of sections that the user has named (config_each()), and whether a setting is set at all (config_is_set()).
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
    SETTING_PATH,     /* a path, relative to the folder of the file that sets it; const char * */
    SETTING_LIST,     /* strings, each one of `choices` if there are any; a scalar is a list of one.
                       * const char *const *, NULL-terminated and never NULL */
    SETTING_PATHS,    /* paths as SETTING_PATH; as SETTING_LIST */
    SETTING_VARIABLE, /* addresses or ports in the syntax of rules; a list becomes "[a,b]". const char * */
    SETTING_SECTION,  /* a mapping that has an effect even when it is empty; `no` removes it. `choices` are its members
                         if no file sets the section. bool: whether it is present */
    SETTING_ANY, /* any subtree; no field. If the name ends in `*` and there are `choices`, only these names are allowed
                    in its place */
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
    const char *(*check)(const char *value); /* for strings: returns NULL if the value is accepted, otherwise the
                                                expected form, for the error text */
    const char *warning;                     /* reported when a file has the setting: "has no effect yet"; NULL: none */
    const char *folder; /* for paths: name of another setting, without `*` and `.`. If that setting is set, also further
                           down in the same file, relative paths refer to the folder that it names. NULL: none */
    /* The field of the options; both 0: none. */
    size_t offset, size;
    uint64_t scale; /* factor from the unit of the setting to the smaller unit of the field; 0: the same unit */
    /* Optional: converts a string that `check` has accepted and writes it to `options`; the row then has no field. */
    void (*store)(const char *value, void *options);
};
#define SETTING_FIELD(tag, member) .offset = offsetof(struct tag, member), .size = sizeof(((struct tag *)NULL)->member)

/* Values of settings with setting_auto_choices. */
enum setting_auto { SETTING_AUTO, SETTING_YES, SETTING_NO };
extern const char *const setting_auto_choices[];

struct config;

/* CONFIG_STRICT: unknown keys are errors (`sluice check`, `sluice run`); CONFIG_LENIENT: warnings (`sluice replay`).
 * Wrong values are errors in both. */
enum config_strictness { CONFIG_STRICT, CONFIG_LENIENT };

/* Creates a configuration that has only the defaults of `tables`, a NULL-terminated array of tables. Returns 0 or
 * -ENOMEM. */
int config_new(struct config **out, const struct setting *const *tables);
void config_free(struct config *config);
/* Returns a setting by its index in the order of the tables, in which an alias counts as a setting; NULL past the
 * last. */
const struct setting *config_setting(const struct config *config, size_t index);

/* Read a file, or a text that messages call `name`; the values replace earlier ones. Return 0, also when mistakes were
 * reported to `diag`, or -errno when the file cannot be read, which is reported, too. */
int config_load(struct config *config, const char *path, enum config_strictness strictness, struct diag *diag);
int config_parse(struct config *config, const char *name, const char *text, size_t length,
                 enum config_strictness strictness, struct diag *diag);
/* Sets one setting, given on the command line as "key=value". Returns 0, -ENOMEM, or -EINVAL after a mistake, which is
 * reported to `diag`. */
int config_set(struct config *config, const char *assignment, struct diag *diag);

/*
 * Writes the values of the rows to their fields of `options`. A setting that has neither a value nor a default leaves
 * its field unchanged; when several settings or aliases write the same field, the last one that is set counts. Rows
 * with a `*` in their name are read only for a part that replaces it: config_fill(c, rows, "0-3", &options) reads
 * "queues.0-3.mark" for "queues.*.mark", and no row without `*`. Each name must be in a table of config_new()
 * (asserted).
 */
void config_fill(const struct config *config, const struct setting *rows, const char *part, void *options);

/* Whether a file or config_set() has set the setting or section; the name must be in a table (asserted). For commands
 * with a default other than the table's: sluice replay writes to the working directory unless log-dir is set. */
bool config_is_set(const struct config *config, const char *name);
/* Appends the value of a setting, or else its default, to `out`: numbers in the unit of the file, the items of a list
 * separated by ", ", one item of a list by its index ("rule-files.0"). */
enum config_value_kind { CONFIG_VALUE, CONFIG_VALUE_UNSET, CONFIG_VALUE_SECTION, CONFIG_VALUE_UNKNOWN };
struct text;
enum config_value_kind config_value_text(const struct config *config, const char *name, struct text *out);
/* Returns the path of a file that was read, as it was given; NULL past the last. */
const char *config_file(const struct config *config, size_t index);
/* Returns the position of a value, or of the name of a section, for diagnostics; line 0 if it is not set. */
struct position config_position(const struct config *config, const char *name);

/* Returns the name of a section's member by its index in the order of the file; NULL past the last. Example:
 * config_each(c, "vars.address-groups", 0) returns "HOME_NET". */
const char *config_each(const struct config *config, const char *name, size_t index);

/* Gets a rule variable by its index: first the variables of the files in their order, then Suricata's defaults for
 * names that the files do not define (HOME_NET ...). Returns false past the last. */
enum config_variable_kind { CONFIG_ADDRESS_VARIABLE, CONFIG_PORT_VARIABLE };
struct config_variable {
    const char *name, *value;
};
bool config_variable(const struct config *config, enum config_variable_kind kind, size_t index,
                     struct config_variable *out);

/* Reads ports: "any", numbers, and port variables ("[4789,$VXLAN_PORTS]"). Returns the number of ports written, or
 * -EINVAL after a report. If the value contains "any", sets *any and returns 0. `name` is the setting of the value, for
 * the report. */
int config_ports(const struct config *config, const char *name, const char *value, uint16_t *out, size_t max, bool *any,
                 struct diag *diag);

/* The following functions parse formats of values. */

/* Parses a list of queues or CPUs: "0-3,8" gives 0 1 2 3 8. Returns how many numbers were written to `out`, or -EINVAL
 * for another format, a number above `high`, a number that is listed twice, or more than `max` numbers. */
int config_ranges(const char *value, uint32_t high, uint32_t *out, size_t max);
/* Parses a duration: "90" (seconds), "90s", "15m", "12h", "7d", "2w". Returns false for another format. */
bool config_duration(const char *value, uint64_t *seconds);
/* Parses a size in bytes: "65536", "512kb", "64 MiB". Returns false for another format. */
bool config_size(const char *value, int64_t *bytes);
/* Parses permissions in octal: "0660". Returns false for another format. */
bool config_mode(const char *value, unsigned *mode);
/* Parses MARK/MASK: "0x1/0x1". Returns false for another format, a mask of 0, or a mark with bits outside the mask. */
bool config_mark(const char *value, uint32_t *mark, uint32_t *mask);
const char *config_check_mark(const char *value); /* for setting.check */
/* Parses a network ("10.0.0.0/8") or an address, and clears the bits after the prefix. Returns the IP version, or
 * -EINVAL for another format. */
int config_network(const char *value, struct address *network, unsigned *prefix);

/* Calls `each` with the name of every setting whose value differs between the two configurations. Settings with a `*`
 * are compared as a whole section, and `each` gets the name of the section. */
void config_each_difference(const struct config *one, const struct config *other,
                            void (*each)(const char *name, void *user), void *user);

/* Writes the effective configuration as YAML, for `sluice check`. */
struct text;
void config_print(const struct config *config, struct text *out);
/* Writes the effective configuration as lines NAME = VALUE, as `suricata --dump-config` does: the items of a list have
 * the names NAME.0, NAME.1, and a list or section itself has the value "(null)". */
void config_print_flat(const struct config *config, struct text *out);
/* Writes all settings as YAML, commented out, with their defaults and help: the installed sluice.yaml. `config` must be
 * as config_new() created it. */
void config_print_example(const struct config *config, struct text *out);

/* Return the type of a setting ("yes or no"), and write its values ("accept, drop", "number 1 to 255"). */
const char *config_type_name(const struct setting *setting);
void config_describe_values(const struct setting *setting, struct text *out);

#endif
