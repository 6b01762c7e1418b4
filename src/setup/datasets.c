/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the section `datasets` of the configuration: limits, and datasets that rules can use by name only. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "setup_priv.h"

#include "sluice/config.h"
#include "sluice/dataset.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/log.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/text.h"

/* Returns true if the member of the section is a setting, false if it is a dataset. */
static bool is_reserved(const char *name)
{
    return strcmp(name, "defaults") == 0 || strcmp(name, "limits") == 0 || strcmp(name, "rules") == 0;
}

static struct span optional(const char *value)
{
    return value ? span_of(value) : (struct span){ NULL, 0 };
}

static void open_set(struct datasets *datasets, const struct config *config, const char *name, struct diag *diag)
{
    char path[256], error[DATASET_ERROR_SIZE];
    struct dataset_options options = { .has_type = false };
    struct dataset *set;

    config_fill(config, dataset_settings, name, &options);
    if (!options.has_type) /* as in Suricata, a member without `type` is ignored */
        return;
    const struct dataset_spec spec = {
        .name = span_of(name),
        .has_type = true,
        .type = options.type,
        .load = optional(options.state ? options.state : options.load),
        .save = optional(options.state),
        .has_state = options.state != NULL,
        .memcap = options.memcap,
    };

    snprintf(path, sizeof(path), "datasets.%s.type", name);
    if (datasets_get(datasets, &spec, &set, diag, error))
        diag_error(diag, config_position(config, path), "%s", error);
}

int setup_open_datasets(struct datasets **out, const struct config *config, const struct ruleset *before,
                        struct diag *diag)
{
    struct rules_options rules;
    const char *name;
    int err;

    config_fill(config, rules_settings, NULL, &rules);
    if (getrandom(&rules.datasets.seed, sizeof(rules.datasets.seed), GRND_NONBLOCK) < 0)
        rules.datasets.seed = 0;
    err = datasets_new(out, &rules.datasets);
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
