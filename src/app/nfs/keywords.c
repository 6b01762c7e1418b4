/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NFS keywords: fields of a call. */
#include <errno.h>

#include "nfs_priv.h"
#include "sluice/arena.h"
#include "sluice/number_range.h"
#include "sluice/text.h"

enum { VERSIONS = 5 };

static const char *const applications[] = { "nfs", NULL };

/* A condition on the procedure: either a range of numbers for all versions, or a name, which has a different number in
 * each version. */
struct procedure_condition {
    bool named, negated; /* named: the procedures in `number` match; with `negated`, all other procedures match. Without
                            `named`, the numbers in `range` match */
    int32_t number[VERSIONS]; /* procedure number by version; -1: the version does not have the procedure */
    struct number_range range;
};

static bool procedure_match(const struct match_input *in, const void *data)
{
    const struct nfs_tx *nfs = (const struct nfs_tx *)in->transaction;
    const struct procedure_condition *condition = data;

    if (!nfs->parsed)
        return false;
    if (!condition->named)
        return number_range_has(&condition->range, nfs->procedure);
    return (condition->number[nfs->version] == (int64_t)nfs->procedure) != condition->negated;
}

/* Parses LOW<>HIGH, which for this keyword includes both ends, unlike the ranges of number_range_parse(). */
static int parse_closed_range(struct rule_parser *parser, struct span text, size_t at, size_t length,
                              struct number_range *out)
{
    struct span low = span_trim((struct span){ text.at, at });
    struct span high = span_trim((struct span){ text.at + at + length, text.length - at - length });
    uint64_t first, last;

    if (number_range_number(parser, low, UINT32_MAX, &first) || number_range_number(parser, high, UINT32_MAX, &last))
        return -EINVAL;
    if (last < first)
        return rule_parser_error(parser, text, "the range is empty");
    *out = (struct number_range){ .mask = UINT64_MAX, .low = first, .width = last - first };
    return 0;
}

static int procedure_parse(struct rule_parser *parser, struct span value)
{
    struct procedure_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span text = span_trim(value), name = text;
    size_t length = 0, at = number_range_separator(text, &length);
    int err = 0;

    if (!condition)
        return -ENOMEM;
    if (name.length > 0 && name.at[0] == '!') {
        condition->negated = true;
        name = span_trim((struct span){ name.at + 1, name.length - 1 });
    }
    for (uint8_t version = 0; version < VERSIONS; version++) {
        condition->number[version] = nfs_procedure_number(version, name.at, name.length);
        condition->named |= condition->number[version] >= 0;
    }
    if (!condition->named)
        err = at ? parse_closed_range(parser, text, at, length, &condition->range)
                 : number_range_parse(parser, text, UINT32_MAX, NULL, &condition->range);
    return err ? err : rule_parser_add_transaction_condition(parser, condition, false);
}

const struct keyword keyword_nfs_procedure = {
    .name = "nfs_procedure",
    .aliases = { "nfs.procedure" },
    .value = "[<|>]NUMBER, LOW<>HIGH or [!]NAME",
    .help = "procedure of an NFS call by number or name: 6 or read; in version 4 the main operation of the compound",
    .manual =
        "A name is translated to the procedure number of the call's version. Ranges include both ends. All reads of "
        "a file form one transaction, and so do all writes.",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = procedure_parse,
    .transaction = { .match = procedure_match },
};

static bool version_match(const struct match_input *in, const void *data)
{
    const struct nfs_tx *nfs = (const struct nfs_tx *)in->transaction;

    return nfs->parsed && number_range_has(data, nfs->version);
}

static int version_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT32_MAX, NULL);
}

const struct keyword keyword_nfs_version = {
    .name = "nfs.version",
    .aliases = { "nfs_version" },
    .value = NUMBER_RANGE_FORM,
    .help = "version of an NFS call: 2, 3 or 4",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = version_parse,
    .transaction = { .match = version_match },
};

const struct app_buffer nfs_buffers[NFS_BUFFERS] = {
    { &keyword_file_data, APP_BOTH, 0, .get = app_file_data, .grows = true },
};

const struct app_condition nfs_conditions[NFS_CONDITIONS] = {
    { &keyword_nfs_procedure, APP_TO_SERVER, NFS_STARTED },
    { &keyword_nfs_version, APP_TO_SERVER, NFS_STARTED },
};
