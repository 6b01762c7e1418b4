/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources that the rules of a list share and other modules implement: datasets, reputation, the GeoIP database,
 * scripts. If a file cannot be read, this is reported, and rules that need the file are rejected.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "rule_priv.h"
#include "sluice/dataset.h"
#include "sluice/geoip.h"
#include "sluice/reputation.h"

static int open_reputation(struct rule_list *list, struct diag *diag)
{
    const char *categories = list->options.reputation_categories;
    const char *const *files = list->options.reputation_files;
    int err = 0;

    if (!categories && !(files && files[0]))
        return 0;
    err = reputation_new(&list->reputation);
    if (!err && categories)
        err = reputation_load_categories(list->reputation, categories, diag);
    for (size_t i = 0; err != -ENOMEM && files && files[i]; i++)
        err = reputation_load(list->reputation, files[i], diag);
    return err == -ENOMEM ? err : 0;
}

int rule_resources_open(struct rule_list *list, struct diag *diag)
{
    int err = open_reputation(list, diag);

    /* the list owns the datasets only if this function succeeds */
    list->own_datasets = !err && list->options.owns_datasets;
    return err;
}

void rule_resources_close(struct rule_list *list)
{
    if (list->own_datasets)
        datasets_free(list->options.datasets);
    reputation_free(list->reputation);
    geoip_close(list->geoip);
    script_set_free(list->scripts);
}

const struct script_set *rule_list_scripts(const struct rule_list *list)
{
    return list->scripts;
}

struct datasets *rule_list_datasets(const struct rule_list *list)
{
    return list->options.datasets;
}

/* --- For keywords --------------------------------------------------------------------------------- */

struct datasets *rule_parser_datasets(const struct rule_parser *parser)
{
    return parser->list->options.datasets;
}

const struct reputation *rule_parser_reputation(const struct rule_parser *parser)
{
    return parser->list->reputation;
}

const struct geoip *rule_parser_geoip(struct rule_parser *parser, struct span where)
{
    struct rule_list *list = parser->list;
    const char *path = list->options.geoip_database;
    char error[512] = "the GeoIP database could not be opened, see above";

    if (!path)
        rule_parser_error(parser, where, "no GeoIP database is configured: set geoip-database");
    else if (list->geoip_failed || (!list->geoip && geoip_open(&list->geoip, path, error, sizeof(error))))
        rule_parser_error(parser, where, "%s", error);
    list->geoip_failed = path && !list->geoip;
    return list->geoip;
}

/* Writes the path of a script: in the folder of the rule file or, if it is not there, in default-rule-path. Returns
 * false if it is too long. */
static bool script_path_of(const struct rule_parser *parser, struct span name, char path[PATH_MAX])
{
    const char *rules = rule_parser_file(parser), *slash = strrchr(rules, '/');
    const char *folder = parser->list->options.script_folder;
    int prefix = name.length > 0 && name.at[0] != '/' && slash ? (int)(slash + 1 - rules) : 0;
    int length = snprintf(path, PATH_MAX, "%.*s" SPAN_FORMAT, prefix, rules, SPAN_ARGS(name));

    if (length >= 0 && length < PATH_MAX && folder && name.length > 0 && name.at[0] != '/' && access(path, F_OK) != 0)
        length = snprintf(path, PATH_MAX, "%s/" SPAN_FORMAT, folder, SPAN_ARGS(name));
    return length >= 0 && length < PATH_MAX;
}

int rule_parser_load_script(struct rule_parser *parser, struct span where, const struct script_load *how,
                            struct script **out)
{
    struct rule_list *list = parser->list;
    struct script_load load = *how;
    char path[PATH_MAX], error[512];
    int err;

    if (!script_is_available())
        return rule_parser_unsupported(parser, where, parser->keyword->name, "this program was built without Lua");
    if (!list->options.scripts.allowed)
        return rule_parser_unsupported(parser, where, parser->keyword->name,
                                       "scripts in rules are not allowed (security.lua.allow-rules)");
    if (!script_path_of(parser, where, path))
        return rule_parser_error(parser, where, "the path is too long");
    load.path = path;
    err = list->scripts ? 0 : script_set_new(&list->scripts, &list->options.scripts);
    if (!err)
        err = script_load(list->scripts, &load, out, error, sizeof(error));
    if (err == -EINVAL)
        return rule_parser_error(parser, where, "%s", error);
    return err;
}

const char *rule_parser_file(const struct rule_parser *parser)
{
    return parser->statement->source->name;
}

struct diag *rule_parser_diag(struct rule_parser *parser)
{
    return parser->diag;
}
