/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * app-layer-state: the state of a transaction, by the names of the hooks. As in Suricata a state without a sign makes
 * it the hook of the rule; with `<` or `>` it is a condition on the progress of the transaction in the direction of the
 * state.
 */
#include <errno.h>

#include "app_priv.h"
#include "progress.h"

struct state_condition {
    struct rule_hook state;
    bool above; /* `>`; false: `<` */
    const char *words[2];
};

static bool app_layer_state_match(const struct match_input *in, const void *data)
{
    const struct state_condition *condition = data;
    const struct rule_hook *state = &condition->state;
    uint8_t progress = in->transaction->progress[state->direction];

    if (state->sub_state != 0 && state->sub_state != in->transaction->sub_state)
        return false;
    return condition->above ? progress > state->progress : progress < state->progress;
}

static int app_layer_state_parse(struct rule_parser *parser, struct span value)
{
    struct rule *rule = rule_parser_rule(parser);
    struct state_condition *out = arena_alloc(rule_parser_arena(parser), sizeof(*out));
    const char *application = rule->protocol.application;
    char sign = value.length > 0 && (value.at[0] == '<' || value.at[0] == '>') ? value.at[0] : '\0';
    struct span name = sign ? span_trim((struct span){ value.at + 1, value.length - 1 }) : value;
    const struct app_proto *proto;
    int err;

    if (!out)
        return -ENOMEM;
    if (!application)
        return rule_parser_error(parser, value, "app-layer-state needs a rule for an application protocol");
    if (rule->transactional)
        return rule_parser_error(parser, value, "app-layer-state can't be used in a rule with '=>'");
    if (!app_hook_names.find(application, name, &out->state))
        return rule_parser_error(parser, name, "'%s' has no state '" SPAN_FORMAT "'", application, SPAN_ARGS(name));
    proto = app_proto_by_id(app_id_by_name(application));
    out->above = sign == '>';
    out->words[0] = out->state.protocol;
    err = rule_parser_require_applications(parser, out->words);
    if (!err)
        err = rule_parser_require_state(parser, out->state.direction);
    if (err)
        return err;
    if (!sign) {
        if (rule->hook.kind != RULE_HOOK_NONE)
            return rule_parser_error(parser, value, "the rule has a hook already: '%s'", rule->hook.name);
        rule->hook = out->state;
        rule->file_needs |= out->state.progress == 0 ? RULE_TX_START : 0;
        return 0;
    }
    if (sign == '<' && out->state.progress == 0)
        return rule_parser_error(parser, value, "no state is before '%s'", out->state.name);
    if (sign == '>' && out->state.progress >= app_complete_progress(proto, out->state.direction))
        return rule_parser_error(parser, value, "no state is after '%s'", out->state.name);
    rule->file_needs |= out->above ? 0 : RULE_TX_START;
    return rule_parser_add_transaction_condition(parser, out, false);
}

const struct keyword keyword_app_layer_state = {
    .name = "app-layer-state",
    .value = "[<|>]STATE",
    .help = "matches the state of a transaction: the name of a hook of the rule's protocol",
    .manual =
        "Without a sign, STATE becomes the hook of the rule, as if it were written after the protocol. With < or >, "
        "the rule matches while the transaction is before or after the state, in the direction of the state. "
        "The manual page of each protocol lists its hooks; every protocol has request_started, request_complete, "
        "response_started and response_complete.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_STATE,
    .parse = app_layer_state_parse,
    .transaction = { .match = app_layer_state_match },
};
