/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the section `datasets` of the configuration: limits, and datasets that rules can use by name only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "sluice/config.h"
#include "sluice/dataset.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/log.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/text.h"

/* Members of the section that are not datasets. */
static bool is_reserved(const char *name)
{
    return strcmp(name, "defaults") == 0 || strcmp(name, "limits") == 0 || strcmp(name, "rules") == 0;
}

static const char *member(char *out, size_t size, const char *set, const char *name)
{
    snprintf(out, size, "datasets.%s.%s", set, name);
    return out;
}

static struct span optional(const char *value)
{
    return value ? span_of(value) : (struct span){ NULL, 0 };
}

static void open_set(struct datasets *datasets, const struct config *config, const char *name, struct diag *diag)
{
    char path[256], error[DATASET_ERROR_SIZE];
    const char *type = config_string_or(config, member(path, sizeof(path), name, "type"), NULL);
    const char *state = config_string_or(config, member(path, sizeof(path), name, "state"), NULL);
    const char *load = config_string_or(config, member(path, sizeof(path), name, "load"), NULL);
    struct dataset_spec spec = {
        .name = span_of(name),
        .load = optional(state ? state : load),
        .save = optional(state),
        .has_state = state != NULL,
        .memcap = (size_t)config_number_or(config, member(path, sizeof(path), name, "memcap"), 0),
    };
    struct dataset *set;

    if (!type) /* not a dataset, as in Suricata */
        return;
    spec.has_type = dataset_type_parse(span_of(type), &spec.type);
    if (datasets_get(datasets, &spec, &set, diag, error))
        diag_error(diag, config_position(config, member(path, sizeof(path), name, "type")), "%s", error);
}

int setup_open_datasets(struct datasets **out, const struct config *config, const struct ruleset *before,
                        struct diag *diag)
{
    struct datasets_options options;
    const char *name;
    int err;

    datasets_options_default(&options);
    options.memcap = (size_t)config_number(config, "datasets.defaults.memcap");
    options.data_dir = config_string(config, "data-dir");
    options.allow_write = config_bool(config, "datasets.rules.allow-write");
    options.allow_absolute_names = config_bool(config, "datasets.rules.allow-absolute-filenames");
    if (getrandom(&options.seed, sizeof(options.seed), GRND_NONBLOCK) < 0)
        options.seed = 0;
    err = datasets_new(out, &options);
    if (err)
        return err;
    if (before)
        err = datasets_inherit(*out, rule_list_datasets(ruleset_rules(before)));
    if (err)
        datasets_free(*out);
    for (size_t i = 0; !err && (name = config_each(config, "datasets", i)); i++) {
        if (!is_reserved(name))
            open_set(*out, config, name, diag);
    }
    return err;
}

int setup_save_datasets(const struct ruleset *ruleset)
{
    struct diag *diag = diag_new();
    int err = diag ? 0 : -ENOMEM;

    if (diag && ruleset)
        err = datasets_save(rule_list_datasets(ruleset_rules(ruleset)), diag);
    for (size_t i = 0; err && diag && i < diag_count(diag); i++)
        log_error("%s: %s", diag_get(diag, i)->file, diag_get(diag, i)->message);
    diag_free(diag);
    return err;
}
