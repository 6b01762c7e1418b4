/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Registry of sets by name. The first definition creates a set; later ones must not contradict its type and files.
 *
 * Paths are resolved as in Suricata: `load` relative to the rule file, then to the data directory, then to the working
 * directory; `save` and `state` relative to the data directory. Rules may save outside of it only if the configuration
 * allows that.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "dataset_priv.h"
#include "sluice/transfer.h"

struct named {
    struct named *next;
    struct dataset *set; /* NULL: its file could not be loaded */
    char *name;
    char *load, *save; /* paths, or NULL */
    enum dataset_type type;
    bool inherited; /* shared from the previous registry, and not yet defined by a rule of this one */
};

struct datasets {
    struct datasets_options options;
    char *data_dir;
    struct named *first, **last;
};

void datasets_options_default(struct datasets_options *options)
{
    *options = (struct datasets_options){
        .memcap = (size_t)100 << 20,
        .allow_write = true,
    };
}

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

static void free_named(struct named *named)
{
    dataset_free(named->set);
    free(named->name);
    free(named->load);
    free(named->save);
    free(named);
}

void datasets_free(struct datasets *datasets)
{
    if (!datasets)
        return;
    while (datasets->first) {
        struct named *named = datasets->first;

        datasets->first = named->next;
        free_named(named);
    }
    free(datasets->data_dir);
    free(datasets);
}

static int refuse(char error[DATASET_ERROR_SIZE], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int refuse(char error[DATASET_ERROR_SIZE], const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, DATASET_ERROR_SIZE, format, args);
    va_end(args);
    return -EINVAL;
}

/* --- Files ---------------------------------------------------------------------------------------- */

static char *join(struct span folder, struct span name)
{
    char *path = NULL;

    if (asprintf(&path, SPAN_FORMAT "/" SPAN_FORMAT, SPAN_ARGS(folder), SPAN_ARGS(name)) < 0)
        return NULL;
    return path;
}

/* Returns the directory part of a path; "." when it has none. */
static struct span folder_of(const char *file)
{
    const char *slash = strrchr(file, '/');

    return slash ? (struct span){ file, slash == file ? 1 : (size_t)(slash - file) } : span_of(".");
}

/* Returns the path of an existing file in the directory, NULL otherwise. */
static char *find_below(struct span folder, struct span name)
{
    char *path = join(folder, name);

    if (path && access(path, F_OK) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

static int load_path(const struct datasets *datasets, const struct dataset_spec *spec, char **out)
{
    char *path = NULL;

    if (spec->load.at[0] != '/') {
        if (spec->rule_file)
            path = find_below(folder_of(spec->rule_file), spec->load);
        if (!path && datasets->data_dir)
            path = find_below(span_of(datasets->data_dir), spec->load);
    }
    if (!path)
        path = strndup(spec->load.at, spec->load.length);
    *out = path;
    return path ? 0 : -ENOMEM;
}

static bool leads_up(struct span path)
{
    for (struct span part; span_next(&path, '/', &part);) {
        if (span_equal(part, ".."))
            return true;
    }
    return false;
}

static int save_path(const struct datasets *datasets, const struct dataset_spec *spec, struct span name, char **out,
                     char error[DATASET_ERROR_SIZE])
{
    const struct datasets_options *options = &datasets->options;
    bool absolute = name.at[0] == '/';

    if (spec->from_rule && !options->allow_write)
        return refuse(error, "rules may not save datasets: datasets.rules.allow-write is off");
    if (spec->from_rule && !options->allow_absolute_names && (absolute || leads_up(name)))
        return refuse(error, "a rule must save to a path relative to data-dir, without a leading '/' and without '..', "
                             "unless datasets.rules.allow-absolute-filenames is on");
    if (!absolute && !datasets->data_dir)
        return refuse(error, "no directory to save to: set data-dir");
    *out = absolute ? strndup(name.at, name.length) : join(span_of(datasets->data_dir), name);
    return *out ? 0 : -ENOMEM;
}

static int find_paths(const struct datasets *datasets, const struct dataset_spec *spec, char **load, char **save,
                      char error[DATASET_ERROR_SIZE])
{
    int err = 0;

    *load = *save = NULL;
    if (spec->save.at)
        err = save_path(datasets, spec, spec->save, save, error);
    if (!err && spec->has_state)
        err = (*load = strdup(*save)) ? 0 : -ENOMEM;
    else if (!err && spec->load.at && spec->save.at) /* `load` with `save`: both relative to data-dir */
        err = save_path(datasets, spec, spec->load, load, error);
    else if (!err && spec->load.at)
        err = load_path(datasets, spec, load);
    return err;
}

/* --- Sets ----------------------------------------------------------------------------------------- */

static struct named *find_named(const struct datasets *datasets, struct span name)
{
    for (struct named *named = datasets->first; named; named = named->next)
        if (span_equal(name, named->name))
            return named;
    return NULL;
}

static bool same_path(const char *one, const char *other)
{
    return one && other ? strcmp(one, other) == 0 : !one && !other;
}

/* Checks that a definition does not contradict the existing set. Without files it matches any. */
static int check_agreement(const struct named *named, const struct dataset_spec *spec, const char *load,
                           const char *save, char error[DATASET_ERROR_SIZE])
{
    if (!named->set)
        return refuse(error, "the dataset '%s' could not be loaded, see the errors above", named->name);
    if (spec->has_type && spec->type != named->type)
        return refuse(error, "the dataset '%s' is already defined with type %s", named->name,
                      dataset_type_name(named->type));
    if ((load || save) && (!same_path(load, named->load) || !same_path(save, named->save)))
        return refuse(error, "the dataset '%s' is already defined with other files: load %s, save %s", named->name,
                      named->load ? named->load : "none", named->save ? named->save : "none");
    return 0;
}

static int make_set(struct datasets *datasets, const struct dataset_spec *spec, struct named *named, struct diag *diag,
                    char error[DATASET_ERROR_SIZE])
{
    size_t memcap = spec->memcap ? spec->memcap : datasets->options.memcap;
    int err = dataset_new(&named->set, spec->type, memcap, datasets->options.seed);

    if (err)
        return refuse(error, "not enough memory for the %zu bytes (memcap) of the dataset '%s'", memcap, named->name);
    if (!named->load || (named->save && access(named->load, F_OK) != 0))
        return 0; /* no file, or nothing saved yet */
    err = dataset_load(named->set, named->load, diag);
    if (!err)
        return 0;
    dataset_free(named->set);
    named->set = NULL;
    return refuse(error, "the dataset '%s' could not be loaded from '%s': %s", named->name, named->load,
                  err == -EINVAL   ? "the file is not a valid dataset file"
                  : err == -ENOSPC ? "the file has too many values for the memcap"
                                   : strerror(-err));
}

static char *copy_path(const char *path, bool *failed)
{
    char *copy = path ? strdup(path) : NULL;

    *failed |= path && !copy;
    return copy;
}

/* Whether the set only has a load file: as in Suricata, a reload reads it again and drops changes made at run time. */
static bool is_static(const struct named *named)
{
    return named->load && !named->save;
}

static int inherit(struct datasets *datasets, const struct named *before)
{
    struct named *named = calloc(1, sizeof(*named));
    bool failed = false;

    if (!named)
        return -ENOMEM;
    named->name = copy_path(before->name, &failed);
    named->load = copy_path(before->load, &failed);
    named->save = copy_path(before->save, &failed);
    named->type = before->type;
    named->inherited = true;
    if (failed) {
        free_named(named);
        return -ENOMEM;
    }
    named->set = dataset_share(before->set);
    *datasets->last = named;
    datasets->last = &named->next;
    return 0;
}

int datasets_inherit(struct datasets *datasets, const struct datasets *before)
{
    int err = 0;

    for (const struct named *named = before->first; named && !err; named = named->next) {
        if (named->set && !is_static(named))
            err = inherit(datasets, named);
    }
    return err;
}

static void remove_named(struct datasets *datasets, struct named *gone)
{
    struct named **link = &datasets->first;

    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    if (datasets->last == &gone->next)
        datasets->last = link;
    free_named(gone);
}

/* Appends a set without content. Takes ownership of the paths, also on failure. */
static int add_named(struct datasets *datasets, const struct dataset_spec *spec, char *load, char *save,
                     struct named **out)
{
    struct named *named = calloc(1, sizeof(*named));

    if (named)
        named->name = strndup(spec->name.at, spec->name.length);
    if (!named || !named->name) {
        free(named);
        free(load);
        free(save);
        return -ENOMEM;
    }
    named->load = load;
    named->save = save;
    named->type = spec->type;
    *datasets->last = named;
    datasets->last = &named->next;
    *out = named;
    return 0;
}

int datasets_get(struct datasets *datasets, const struct dataset_spec *spec, struct dataset **out, struct diag *diag,
                 char error[DATASET_ERROR_SIZE])
{
    struct named *named = find_named(datasets, spec->name);
    char *load, *save;
    int err;

    if (spec->name.length > DATASET_MAX_NAME)
        return refuse(error, "the name of a dataset may have at most %d characters", DATASET_MAX_NAME);
    if (!named && !spec->has_type)
        return refuse(error, "unknown dataset '" SPAN_FORMAT "': specify its type", SPAN_ARGS(spec->name));
    err = find_paths(datasets, spec, &load, &save, error);
    if (!err && named && named->inherited && spec->has_type && check_agreement(named, spec, load, save, error)) {
        remove_named(datasets, named);
        named = NULL;
    }
    if (named)
        named->inherited = false;
    if (!err && named) {
        err = check_agreement(named, spec, load, save, error);
    } else if (!err) {
        err = add_named(datasets, spec, load, save, &named);
        load = save = NULL;
        if (!err)
            err = make_set(datasets, spec, named, diag, error);
    }
    free(load);
    free(save);
    if (!err)
        *out = named->set;
    return err;
}

int datasets_save(struct datasets *datasets, struct diag *diag)
{
    int first = 0;

    for (struct named *named = datasets->first; named; named = named->next) {
        int err = named->set && named->save ? dataset_save(named->set, named->save) : 0;

        if (err)
            diag_error(diag, (struct position){ .file = named->save }, "the dataset '%s' could not be saved: %s",
                       named->name, strerror(-err));
        if (!first)
            first = err;
    }
    return first;
}

/* --- State transfer ------------------------------------------------------------------------------- */

enum { PART_SET };

static void write_set(struct transfer *t, const struct named *named)
{
    size_t start = transfer_part_start(t, PART_SET);
    uint8_t type = (uint8_t)named->type;

    transfer_put_text(t, named->name);
    transfer_u8(t, &type);
    dataset_transfer(t, named->set);
    transfer_part_end(t, start);
}

static void read_set(struct transfer *t, const struct datasets *datasets)
{
    struct span name = { .at = NULL };
    struct named *named;
    uint8_t type = 0;

    name.at = transfer_lend_text(t, &name.length);
    transfer_u8(t, &type);
    named = t->error ? NULL : find_named(datasets, name);
    if (named && named->set && named->type == type && !is_static(named))
        dataset_transfer(t, named->set);
}

void datasets_transfer(struct transfer *t, struct datasets *datasets)
{
    struct transfer part;
    uint16_t kind = 0;

    if (!t->reading) {
        for (const struct named *named = datasets->first; named; named = named->next) {
            if (named->set && !is_static(named))
                write_set(t, named);
        }
        return;
    }
    while (!t->error && transfer_next_part(t, &kind, &part)) {
        if (kind == PART_SET)
            read_set(&part, datasets);
        t->error = part.error;
    }
}

uint64_t datasets_memcap_hits(const struct datasets *datasets)
{
    uint64_t hits = 0;

    for (const struct named *named = datasets->first; named; named = named->next)
        hits += named->set ? dataset_memcap_hits(named->set) : 0;
    return hits;
}

size_t datasets_memory(const struct datasets *datasets)
{
    size_t memory = sizeof(*datasets);

    for (const struct named *named = datasets->first; named; named = named->next)
        memory += named->set ? dataset_memory(named->set) : 0;
    return memory;
}
