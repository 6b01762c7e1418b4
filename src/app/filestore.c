/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * filestore: writes the files that a rule matched to the file store. As a condition it is true for every file, so a
 * rule with filestore matches only if there is a file. As an action it is executed when the rest of the rule matches.
 *
 * Without arguments it applies to the files for which all file conditions of the rule are true.
 */
#include <errno.h>

#include "app_priv.h"

enum scope { SCOPE_FILE, SCOPE_TRANSACTION, SCOPE_FLOW };

struct filestore {
    const struct rule *rule;
    enum scope scope;
    unsigned directions; /* bits APP_TO_SERVER, APP_TO_CLIENT; 0 (no argument): the direction being evaluated */
};

static enum file_match filestore_match(const struct file *file, const void *data)
{
    (void)file;
    (void)data;
    return FILE_MATCH_YES;
}

static bool conditions_hold(const struct rule *rule, const struct file *file, enum flow_direction direction)
{
    for (const struct condition *c = rule->file_conditions; c; c = c->next) {
        if (c->directions && !(c->directions >> direction & 1))
            continue;
        if (c->keyword->file.match(file, c->data) != (c->negated ? FILE_MATCH_NO : FILE_MATCH_YES))
            return false;
    }
    return true;
}

static void keep_file(const struct match_input *in, const struct filestore *store)
{
    enum flow_direction direction = in->direction;

    /* A transactional rule is evaluated in the direction to the client, regardless of the direction of the file. */
    if (store->rule->transactional)
        direction = store->directions == APP_TO_SERVER ? FLOW_TO_SERVER : FLOW_TO_CLIENT;
    if (store->directions && !(store->directions >> direction & 1))
        return;
    for (struct file *file = in->transaction->files[direction].first; file; file = file->next)
        if (conditions_hold(store->rule, file, direction))
            file_request_store(in->files, file, store->rule->sid);
}

static void filestore_act(const struct match_input *in, const void *data)
{
    const struct filestore *store = data;

    if (!in->transaction || !in->files)
        return;
    if (store->scope == SCOPE_FILE) {
        keep_file(in, store);
        return;
    }
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (!(store->directions >> direction & 1))
            continue;
        if (store->scope == SCOPE_FLOW)
            app_store_files(in->packet->flow, in->files, direction, store->rule->sid);
        else
            file_list_request_store(in->files, &in->transaction->files[direction], store->rule->sid);
    }
}

static int filestore_parse(struct rule_parser *parser, struct span value)
{
    static const struct {
        const char *name;
        unsigned directions;
    } directions[] = {
        { "request", APP_TO_SERVER },   { "to_server", APP_TO_SERVER }, { "response", APP_TO_CLIENT },
        { "to_client", APP_TO_CLIENT }, { "both", APP_BOTH },
    };
    static const struct {
        const char *name;
        enum scope scope;
    } scopes[] = {
        { "file", SCOPE_FILE },
        { "tx", SCOPE_TRANSACTION },
        { "flow", SCOPE_FLOW },
        { "ssn", SCOPE_FLOW },
    };
    enum { DIRECTIONS = sizeof(directions) / sizeof(directions[0]), SCOPES = sizeof(scopes) / sizeof(scopes[0]) };
    struct filestore *store = arena_alloc(rule_parser_arena(parser), sizeof(*store));
    struct span rest = value, word;
    size_t row = 0;
    int err;

    if (!store)
        return -ENOMEM;
    store->rule = rule_parser_rule(parser);
    if (value.length == 0)
        rest.at = NULL;
    if (span_next(&rest, ',', &word)) {
        while (row < DIRECTIONS && !span_equal_nocase(word, directions[row].name))
            row++;
        if (row == DIRECTIONS)
            return rule_parser_error(
                parser, word, "the direction of 'filestore' must be request, response or both, got '" SPAN_FORMAT "'",
                SPAN_ARGS(word));
        store->directions = directions[row].directions;
        store->scope = SCOPE_TRANSACTION;
    }
    if (span_next(&rest, ',', &word)) {
        for (row = 0; row < SCOPES && !span_equal_nocase(word, scopes[row].name); row++)
            ;
        if (row == SCOPES)
            return rule_parser_error(parser, word,
                                     "the scope of 'filestore' must be file, tx or flow, got '" SPAN_FORMAT "'",
                                     SPAN_ARGS(word));
        store->scope = scopes[row].scope;
    }
    if (rest.at)
        return rule_parser_error(parser, rest, "'filestore' has at most two arguments, a direction and a scope");
    if (store->directions == APP_TO_SERVER || store->directions == APP_TO_CLIENT)
        rule_parser_set_direction(parser, store->directions);
    err = rule_parser_add_file_condition(parser, store, false);
    if (!err)
        err = rule_parser_add_action(parser, filestore_act, store, true);
    if (!err)
        rule_parser_rule(parser)->file_needs |= RULE_FILE_STORE;
    return err;
}

const struct keyword keyword_filestore = {
    .name = "filestore",
    .value = "[DIRECTION[,SCOPE]]",
    .help = "stores the file in the file store",
    .manual =
        "DIRECTION is request, response or both. "
        "SCOPE is file (the files that match the file conditions of the rule), tx (all files of the transaction) or "
        "flow (all files of the flow). "
        "Without arguments the scope is file; with a direction only, it is tx. "
        "Location and cost of the store: file-store in sluice.yaml(5).",
    .kind = KEYWORD_FILE,
    .flags = KEYWORD_OPTIONAL_VALUE | KEYWORD_ONCE | KEYWORD_PARSES_DIRECTION,
    .scope = { app_file_protocols, APP_BOTH },
    .parse = filestore_parse,
    .file = { .match = filestore_match },
};
