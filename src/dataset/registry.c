/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registry of sets by name. The first rule or setting that defines a set creates it; later definitions must have the
 * same type and files.
 *
 * Paths are resolved as in Suricata: `load` relative to the rule file, then to the data directory, then to the working
 * directory; `save`, `state`, and `load` together with `save`, relative to the data directory. The configuration
 * decides whether rules may save sets, and whether also outside of the data directory.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file.h"
#include "set.h"
#include "sluice/transfer.h"

struct set_entry {
    struct set_entry *next;
    struct dataset *set; /* NULL: the set's file could not be loaded */
    char *name;
    char *load, *save; /* paths of the files to load from and save to; NULL: none */
    enum dataset_type type;
    bool inherited; /* true: the set is from the previous registry, and was not defined again since the reload */
};

struct datasets {
    struct datasets_options options;
    char *data_dir;
    struct set_entry *first, **last;
};

int datasets_new(struct datasets **out, const struct datasets_options *options)
{
    struct datasets *datasets = calloc(1, sizeof(*datasets));

    if (!datasets)
        return -ENOMEM;
    datasets->options = *options;
    datasets->last = &datasets->first;
    if (options->data_dir) {
        datasets->data_dir = strdup(options->data_dir);
        if (!datasets->data_dir) {
            free(datasets);
            return -ENOMEM;
        }
    }
    *out = datasets;
    return 0;
}

static void free_entry(struct set_entry *entry)
{
    dataset_free(entry->set);
    free(entry->name);
    free(entry->load);
    free(entry->save);
    free(entry);
}

void datasets_free(struct datasets *datasets)
{
    if (!datasets)
        return;
    while (datasets->first) {
        struct set_entry *entry = datasets->first;

        datasets->first = entry->next;
        free_entry(entry);
    }
    free(datasets->data_dir);
    free(datasets);
}

static int set_error(char error[DATASET_ERROR_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int set_error(char error[DATASET_ERROR_SIZE], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, DATASET_ERROR_SIZE, format, args);
    va_end(args);
    return -EINVAL;
}

/* --- Files ---------------------------------------------------------------------------------------- */

static char *join_path(struct span folder, struct span name)
{
    char *path = NULL;

    if (asprintf(&path, SPAN_FORMAT "/" SPAN_FORMAT, SPAN_ARGS(folder), SPAN_ARGS(name)) < 0)
        return NULL;
    return path;
}

/* Returns the allocated path of the file in the directory; NULL if it does not exist or memory is exhausted. */
static char *find_in_directory(struct span folder, struct span name)
{
    char *path = join_path(folder, name);

    if (path && access(path, F_OK) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

static int resolve_load_path(const struct datasets *datasets, const struct dataset_spec *spec, char **out)
{
    char *path = NULL;

    if (spec->load.at[0] != '/') {
        const char *rule_file = spec->rule_file, *slash = rule_file ? strrchr(rule_file, '/') : NULL;
        struct span directory = span_of(".");

        if (slash)
            directory = (struct span){ rule_file, slash == rule_file ? 1 : (size_t)(slash - rule_file) };
        if (rule_file)
            path = find_in_directory(directory, spec->load);
        if (!path && datasets->data_dir)
            path = find_in_directory(span_of(datasets->data_dir), spec->load);
    }
    if (!path)
        path = strndup(spec->load.at, spec->load.length);
    *out = path;
    return path ? 0 : -ENOMEM;
}

static int resolve_save_path(const struct datasets *datasets, const struct dataset_spec *spec, struct span name,
                             char **out, char error[DATASET_ERROR_SIZE])
{
    const struct datasets_options *options = &datasets->options;
    bool absolute = name.at[0] == '/', leaves_data_dir = absolute;

    for (struct span rest = name, part; span_next(&rest, '/', &part);)
        leaves_data_dir |= span_equal(part, "..");

    if (spec->from_rule && !options->allow_write)
        return set_error(error, "rules may not save datasets: datasets.rules.allow-write is off");
    if (spec->from_rule && !options->allow_absolute_names && leaves_data_dir)
        return set_error(error,
                         "a rule must save to a path relative to data-dir, without a leading '/' and without '..', "
                         "unless datasets.rules.allow-absolute-filenames is on");
    if (!absolute && !datasets->data_dir)
        return set_error(error, "no directory to save to: set data-dir");
    *out = absolute ? strndup(name.at, name.length) : join_path(span_of(datasets->data_dir), name);
    return *out ? 0 : -ENOMEM;
}

static int resolve_paths(const struct datasets *datasets, const struct dataset_spec *spec, char **load, char **save,
                         char error[DATASET_ERROR_SIZE])
{
    int err = 0;

    *load = *save = NULL;
    if (spec->save.at)
        err = resolve_save_path(datasets, spec, spec->save, save, error);
    if (!err && spec->has_state)
        err = (*load = strdup(*save)) ? 0 : -ENOMEM;
    /* the file of a set that is also saved is in data-dir, so `load` is resolved as `save` is */
    else if (!err && spec->load.at && spec->save.at)
        err = resolve_save_path(datasets, spec, spec->load, load, error);
    else if (!err && spec->load.at)
        err = resolve_load_path(datasets, spec, load);
    return err;
}

/* --- Sets ----------------------------------------------------------------------------------------- */

static struct set_entry *find_entry(const struct datasets *datasets, struct span name)
{
    for (struct set_entry *entry = datasets->first; entry; entry = entry->next)
        if (span_equal(name, entry->name))
            return entry;
    return NULL;
}

struct dataset *datasets_find(const struct datasets *datasets, struct span name)
{
    const struct set_entry *entry = find_entry(datasets, name);

    return entry ? entry->set : NULL;
}

const char *datasets_name(const struct datasets *datasets, size_t index, struct dataset **set)
{
    for (const struct set_entry *entry = datasets->first; entry; entry = entry->next) {
        if (!entry->set || index-- > 0)
            continue;
        *set = entry->set;
        return entry->name;
    }
    return NULL;
}

static bool same_path(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : !one && !other;
}

/* Checks that a definition has the same type and files as the existing set. A definition without a type, or without
 * files, is accepted. Returns 0, or -EINVAL after writing `error`. */
static int check_definition(const struct set_entry *entry, const struct dataset_spec *spec, const char *load,
                            const char *save, char error[DATASET_ERROR_SIZE])
{
    if (!entry->set)
        return set_error(error, "the dataset '%s' could not be loaded, see the errors above", entry->name);
    if (spec->has_type && spec->type != entry->type)
        return set_error(error, "the dataset '%s' is already defined with type %s", entry->name,
                         dataset_type_name(entry->type));
    if ((load || save) && (!same_path(load, entry->load) || !same_path(save, entry->save)))
        return set_error(error, "the dataset '%s' is already defined with other files: load %s, save %s", entry->name,
                         entry->load ? entry->load : "none", entry->save ? entry->save : "none");
    return 0;
}

static int create_set(struct datasets *datasets, const struct dataset_spec *spec, struct set_entry *entry,
                      struct diag *diag, char error[DATASET_ERROR_SIZE])
{
    size_t memcap = spec->memcap ? spec->memcap : datasets->options.memcap;
    int err = dataset_new(&entry->set, spec->type, memcap, datasets->options.seed);

    if (err)
        return set_error(error, "not enough memory for the %zu bytes (memcap) of the dataset '%s'", memcap,
                         entry->name);
    if (!entry->load || (entry->save && access(entry->load, F_OK) != 0))
        return 0; /* the set has no file to load, or has not been saved yet */
    err = dataset_load(entry->set, entry->load, spec, diag);
    if (!err)
        return 0;
    dataset_free(entry->set);
    entry->set = NULL;
    return set_error(error, "the dataset '%s' could not be loaded from '%s': %s", entry->name, entry->load,
                     err == -EINVAL   ? "the file is not a valid dataset file"
                     : err == -ENOSPC ? "the file has too many values for the memcap"
                                      : strerror(-err));
}

static char *copy_string(const char *path, bool *failed)
{
    char *copy = path ? strdup(path) : NULL;

    *failed |= path && !copy;
    return copy;
}

/* Returns whether the set has a file to load but none to save. As in Suricata, a reload loads such a set again, and
 * changes made at run time are lost. */
static bool is_static(const struct set_entry *entry)
{
    return entry->load && !entry->save;
}

int datasets_inherit(struct datasets *datasets, const struct datasets *previous)
{
    for (const struct set_entry *old = previous->first; old; old = old->next) {
        struct set_entry *entry;
        bool failed = false;

        if (!old->set || is_static(old))
            continue;
        entry = calloc(1, sizeof(*entry));
        if (!entry)
            return -ENOMEM;
        entry->name = copy_string(old->name, &failed);
        entry->load = copy_string(old->load, &failed);
        entry->save = copy_string(old->save, &failed);
        entry->type = old->type;
        entry->inherited = true;
        if (failed) {
            free_entry(entry);
            return -ENOMEM;
        }
        entry->set = dataset_share(old->set);
        *datasets->last = entry;
        datasets->last = &entry->next;
    }
    return 0;
}

/* Appends an entry without a set (entry->set is NULL). Takes ownership of the paths, and frees them on failure. Returns
 * 0 or -ENOMEM. */
static int add_entry(struct datasets *datasets, const struct dataset_spec *spec, char *load, char *save,
                     struct set_entry **out)
{
    struct set_entry *entry = calloc(1, sizeof(*entry));

    if (entry)
        entry->name = strndup(spec->name.at, spec->name.length);
    if (!entry || !entry->name) {
        free(entry);
        free(load);
        free(save);
        return -ENOMEM;
    }
    entry->load = load;
    entry->save = save;
    entry->type = spec->type;
    *datasets->last = entry;
    datasets->last = &entry->next;
    *out = entry;
    return 0;
}

int datasets_get(struct datasets *datasets, const struct dataset_spec *spec, struct dataset **out, struct diag *diag,
                 char error[DATASET_ERROR_SIZE])
{
    struct set_entry *entry = find_entry(datasets, spec->name);
    char *load, *save;
    int err;

    if (spec->name.length > DATASET_MAX_NAME)
        return set_error(error, "the name of a dataset may have at most %d characters", DATASET_MAX_NAME);
    if (spec->format != DATASET_LINES && (!spec->load.at || spec->save.at))
        return set_error(error, "a dataset in JSON needs 'load'; it cannot be saved");
    if (spec->format != DATASET_LINES && !spec->value_key.at)
        return set_error(error, "a dataset in JSON needs 'value_key', the member of the objects that has the value");
    if (!entry && !spec->has_type)
        return set_error(error, "unknown dataset '" SPAN_FORMAT "': specify its type", SPAN_ARGS(spec->name));
    err = resolve_paths(datasets, spec, &load, &save, error);
    if (!err && entry && entry->inherited && spec->has_type && check_definition(entry, spec, load, save, error)) {
        /* The definition has changed since the last reload: remove the inherited set, so that a new one is created. */
        struct set_entry **link = &datasets->first;

        while (*link != entry)
            link = &(*link)->next;
        *link = entry->next;
        if (datasets->last == &entry->next)
            datasets->last = link;
        free_entry(entry);
        entry = NULL;
    }
    if (entry)
        entry->inherited = false;
    if (!err && entry) {
        err = check_definition(entry, spec, load, save, error);
    } else if (!err) {
        err = add_entry(datasets, spec, load, save, &entry);
        load = save = NULL;
        if (!err)
            err = create_set(datasets, spec, entry, diag, error);
    }
    free(load);
    free(save);
    if (!err)
        *out = entry->set;
    return err;
}

int datasets_save(struct datasets *datasets, struct diag *diag)
{
    int first_error = 0;

    for (struct set_entry *entry = datasets->first; entry; entry = entry->next) {
        int err = entry->set && entry->save ? dataset_save(entry->set, entry->save) : 0;

        if (err)
            diag_error(diag, (struct position){ .file = entry->save }, "the dataset '%s' could not be saved: %s",
                       entry->name, strerror(-err));
        if (!first_error)
            first_error = err;
    }
    return first_error;
}

/* --- State transfer ------------------------------------------------------------------------------- */

enum { PART_SET };

void datasets_transfer(struct transfer *t, struct datasets *datasets)
{
    struct transfer part;
    uint16_t kind = 0;

    if (!t->reading) {
        for (const struct set_entry *entry = datasets->first; entry; entry = entry->next) {
            uint8_t type = (uint8_t)entry->type;
            size_t start;

            if (!entry->set || is_static(entry))
                continue;
            start = transfer_part_start(t, PART_SET);
            transfer_put_text(t, entry->name);
            transfer_u8(t, &type);
            dataset_transfer(t, entry->set);
            transfer_part_end(t, start);
        }
        return;
    }
    while (!t->error && transfer_next_part(t, &kind, &part)) {
        if (kind == PART_SET) {
            struct span name = { .at = NULL };
            struct set_entry *entry;
            uint8_t type = 0;

            name.at = transfer_lend_text(&part, &name.length);
            transfer_u8(&part, &type);
            entry = part.error ? NULL : find_entry(datasets, name);
            if (entry && entry->set && entry->type == type && !is_static(entry))
                dataset_transfer(&part, entry->set);
        }
        t->error = part.error;
    }
}

uint64_t datasets_memcap_hits(const struct datasets *datasets)
{
    uint64_t hits = 0;

    for (const struct set_entry *entry = datasets->first; entry; entry = entry->next)
        hits += entry->set ? dataset_memcap_hits(entry->set) : 0;
    return hits;
}

size_t datasets_memory(const struct datasets *datasets)
{
    size_t memory = sizeof(*datasets);

    for (const struct set_entry *entry = datasets->first; entry; entry = entry->next)
        memory += entry->set ? dataset_memory(entry->set) : 0;
    return memory;
}
