/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Resources that the rules of a list share and other modules implement: datasets, reputation, the GeoIP database. If a
 * file cannot be read, this is reported, and rules that need the file are rejected.
 */
#include <errno.h>

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

const char *rule_parser_file(const struct rule_parser *parser)
{
    return parser->statement->source->name;
}

struct diag *rule_parser_diag(struct rule_parser *parser)
{
    return parser->diag;
}
