/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Settings of rule files, datasets, variables, and of the cache of compiled patterns. */
#include "setup_priv.h"

#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"

static const char *const actions[] = { "pass", "drop", "reject", "alert", NULL };
static const char *const dataset_types[] = { "string", "md5", "sha256", "ipv4", "ip", "ipv6", NULL };

static const char *check_duration(const char *value)
{
    uint64_t seconds;

    return config_duration(value, &seconds) ? NULL : "a time such as 90, 90s, 15m, 12h, 7d or 2w";
}

static void store_cache_age(const char *value, void *options)
{
    config_duration(value, &((struct rules_options *)options)->cache_max_age_seconds);
}

static void store_dataset_type(const char *value, void *options)
{
    struct dataset_options *dataset = options;

    dataset->has_type = dataset_type_parse(span_of(value), &dataset->type);
}

const struct setting rules_settings[] = {
    { .name = "rule-files",
      SETTING_FIELD(rules_options, files),
      .type = SETTING_PATHS,
      .folder = "default-rule-path",
      .help = "Rule files; `*`, `?` and `[a-z]` in a name stand for characters, as in a shell; --rules adds more" },
    { .name = "default-rule-path",
      SETTING_FIELD(rules_options, list.script_folder),
      .type = SETTING_PATH,
      .help =
          "Folder of the files that rule-files in this file, or in one read later, names by a relative path, and of "
          "scripts that are not in the folder of their rule file; unset: the folder of the configuration file" },
    { .name = "classification-file",
      SETTING_FIELD(rules_options, list.classification_file),
      .type = SETTING_PATH,
      .help = "File of rule classes (classification.config): the names for classtype, with their priorities" },
    { .name = "reference-config-file",
      SETTING_FIELD(rules_options, list.reference_file),
      .type = SETTING_PATH,
      .help = "File of reference systems (reference.config): the URL prefixes for the keyword reference" },
    { .name = "threshold-file",
      SETTING_FIELD(rules_options, list.threshold_file),
      .type = SETTING_PATH,
      .help = "File of thresholds (threshold.config): suppress, threshold and rate_filter by sid" },
    { .name = "rule-policy.file",
      SETTING_FIELD(rules_options, list.policy.decisions),
      .type = SETTING_PATH,
      .help = "Enable, disable and change rules without editing rule files: lines of a verb (enable, disable, drop, "
              "alert, reject, pass, alert-only, modify, metadata-add) and a matcher" },
    { .name = "rule-policy.disable-file",
      SETTING_FIELD(rules_options, list.policy.disable),
      .type = SETTING_PATH,
      .help = "Disable the rules that match the lines of this file, a disable.conf of suricata-update" },
    { .name = "rule-policy.enable-file",
      SETTING_FIELD(rules_options, list.policy.enable),
      .type = SETTING_PATH,
      .help = "Enable the rules that match the lines of this file, an enable.conf; applied after "
              "rule-policy.disable-file" },
    { .name = "rule-policy.drop-file",
      SETTING_FIELD(rules_options, list.policy.drop),
      .type = SETTING_PATH,
      .help = "Change the rules that match the lines of this file to drop, a drop.conf; applied after "
              "rule-policy.enable-file" },
    { .name = "rule-policy.modify-file",
      SETTING_FIELD(rules_options, list.policy.modify),
      .type = SETTING_PATH,
      .help = "Change the text of rules by regular expressions, a modify.conf; applied after rule-policy.drop-file, "
              "before rule-policy.file" },
    { .name = "reputation.categories",
      SETTING_FIELD(rules_options, list.reputation_categories),
      .type = SETTING_PATH,
      .help = "File of the categories for the keyword iprep: lines NUMBER,NAME,DESCRIPTION" },
    { .name = "reputation.files",
      SETTING_FIELD(rules_options, list.reputation_files),
      .type = SETTING_PATHS,
      .help =
          "Files of reputations for the keyword iprep: lines ADDRESS[/BITS],CATEGORY,VALUE with values from 0 to 127" },
    { .name = "geoip-database",
      SETTING_FIELD(rules_options, list.geoip_database),
      .type = SETTING_PATH,
      .help = "MaxMind database of countries, for the keyword geoip" },
    { .name = "security.lua.allow-rules",
      SETTING_FIELD(rules_options, list.scripts.allowed),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Allow rules to run Lua scripts (lua, luaxform); otherwise rules with these keywords are not loaded" },
    { .name = "security.lua.max-bytes",
      SETTING_FIELD(rules_options, list.scripts.max_bytes),
      .type = SETTING_SIZE,
      .default_value = "500000",
      .low = 65536,
      .high = 64 << 20,
      .help = "Memory of each script of a rule and worker; a script that needs more has no result" },
    { .name = "security.lua.max-instructions",
      SETTING_FIELD(rules_options, list.scripts.max_instructions),
      .type = SETTING_NUMBER,
      .default_value = "500000",
      .low = 1000,
      .high = 1000000000,
      .help = "Maximum number of instructions of one call of a script, including the steps of patterns; a script that "
              "needs more has no result" },
    { .name = "security.lua.allow-restricted-functions",
      SETTING_FIELD(rules_options, list.scripts.all_functions),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Allow scripts of rules to call all functions of Lua, among them those that open files and run programs; "
              "their work is not limited" },
    { .name = "datasets.enabled",
      .type = SETTING_BOOL,
      .help = "Accepted without effect: a dataset exists when it is named" },
    { .name = "datasets.save-directory",
      .type = SETTING_STRING,
      .help = "Accepted without effect: datasets are written to data-dir" },
    { .name = "datasets.defaults.memcap",
      SETTING_FIELD(rules_options, datasets.memcap),
      .type = SETTING_SIZE,
      .default_value = "100 MiB",
      .low = 65536,
      .high = INT64_C(16) << 30,
      .help = "Memory of each dataset whose rule sets no memcap; values that do not fit are counted and not added" },
    { .name = "datasets.defaults.hashsize",
      .type = SETTING_NUMBER,
      .help = "Accepted without effect: the size of the hash table follows from the memcap" },
    { .name = "datasets.limits.total-hashsizes",
      .type = SETTING_NUMBER,
      .help = "Accepted without effect: the memcaps limit the memory" },
    { .name = "datasets.limits.single-hashsize",
      .type = SETTING_NUMBER,
      .help = "Accepted without effect: the memcaps limit the memory" },
    { .name = "datasets.rules.allow-write",
      SETTING_FIELD(rules_options, datasets.allow_write),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Allow rules to name files that are written (save, state)" },
    { .name = "datasets.rules.allow-absolute-filenames",
      SETTING_FIELD(rules_options, datasets.allow_absolute_names),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Allow the files that rules write (save, state) to be outside of data-dir" },
    { .name = "vars.address-groups.*",
      .type = SETTING_VARIABLE,
      .help = "Address variables for rules, such as $HOME_NET: an address, a network, a group or another variable" },
    { .name = "vars.port-groups.*",
      .type = SETTING_VARIABLE,
      .help = "Port variables for rules, such as $HTTP_PORTS: a port, LOW:HIGH, a group or another variable" },
    { .name = "action-order",
      SETTING_FIELD(rules_options, action_order),
      .type = SETTING_LIST,
      .default_value = "pass, drop, reject, alert",
      .choices = actions,
      .help = "Order in which rules are evaluated, by their actions" },
    { .name = "data-dir",
      SETTING_FIELD(rules_options, datasets.data_dir),
      .type = SETTING_PATH,
      .default_value = "/var/lib/sluice",
      .help = "Folder of data that is kept between runs (datasets); created by root at the start if it is missing" },
    { .name = "engine.init-failure-fatal",
      SETTING_FIELD(rules_options, mistakes_are_fatal),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Refuse to start, and to reload, when a rule has a mistake or is not supported, or a rule file cannot "
              "be read; no: leave out the rule or file, and report it" },
    { .name = "detect.sgh-mpm-caching",
      SETTING_FIELD(rules_options, cache),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Keep compiled pattern databases on disk, so that the same rules load faster" },
    { .name = "detect.sgh-mpm-caching-path",
      SETTING_FIELD(rules_options, cache_path),
      .type = SETTING_PATH,
      .default_value = "/var/cache/sluice/sgh",
      .help = "Folder of the compiled databases, created if missing; several instances may share it" },
    { .name = "detect.sgh-mpm-caching-max-age",
      .store = store_cache_age,
      .type = SETTING_STRING,
      .default_value = "7d",
      .check = check_duration,
      .help = "Age at which unused databases are deleted: seconds, or a number with s, m, h, d or w; 0: never" },
    { .name = "detect.sgh-mpm-caching-max-size",
      SETTING_FIELD(rules_options, cache_max_bytes),
      .type = SETTING_SIZE,
      .default_value = "512 MiB",
      .low = 0,
      .high = INT64_C(1) << 40,
      .help = "Maximum size of all databases together; beyond it those unused for longest are deleted, except "
              "those used in the last hour; 0: unlimited" },
    { .name = NULL },
};

const struct setting dataset_settings[] = {
    { .name = "datasets.*.type",
      .store = store_dataset_type,
      .type = SETTING_ENUM,
      .choices = dataset_types,
      .help = "Type of the values of the dataset NAME" },
    { .name = "datasets.*.load",
      SETTING_FIELD(dataset_options, load),
      .type = SETTING_STRING,
      .help = "File of values of the dataset, relative to data-dir or absolute" },
    { .name = "datasets.*.state",
      SETTING_FIELD(dataset_options, state),
      .type = SETTING_STRING,
      .help = "File in data-dir from which the values are read at the start and to which they are written at a clean "
              "stop" },
    { .name = "datasets.*.memcap",
      SETTING_FIELD(dataset_options, memcap),
      .type = SETTING_SIZE,
      .low = 65536,
      .high = INT64_C(16) << 30,
      .help = "Memory of the dataset; unset: datasets.defaults.memcap" },
    { .name = "datasets.*.hashsize",
      .type = SETTING_NUMBER,
      .help = "Accepted without effect: the size of the hash table follows from the memcap" },
    { .name = NULL },
};
