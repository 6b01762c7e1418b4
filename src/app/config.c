/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * config: changes the configuration for a transaction or a packet when the rule matches: `logging disable, type tx,
 * scope tx` writes no event of the transaction; `tracking disable, type flow, scope packet` gives the packet no flow,
 * in rules with the hook pre_flow.
 */
#include <errno.h>

#include "app_priv.h"

static void disable_logging(const struct match_input *in, const void *data)
{
    (void)data;
    if (in->transaction && !in->transaction->logged)
        app_tx_set_logged(in->transaction);
}

static void disable_tracking(const struct match_input *in, const void *data)
{
    (void)data;
    *in->untracked = true;
}

/* Parses `NAME VALUE` and compares the name. Returns false, with *value empty, if the name differs. */
static bool parse_pair(struct span *rest, const char *name, struct span *value)
{
    struct span part = { .at = NULL };

    *value = part;
    if (!span_next(rest, ',', &part) || !span_next(&part, ' ', value) || !span_equal(*value, name))
        return false;
    *value = part.at ? span_trim(part) : (struct span){ .at = NULL };
    return value->length > 0;
}

static int config_keyword_parse(struct rule_parser *parser, struct span value)
{
    struct span rest = value, part = { .at = NULL }, subsystem, type, scope;
    const struct rule *rule = rule_parser_rule(parser);

    if (!span_next(&rest, ',', &part) || !span_next(&part, ' ', &subsystem) || !part.at ||
        !span_equal(span_trim(part), "disable") || !parse_pair(&rest, "type", &type) ||
        !parse_pair(&rest, "scope", &scope) || rest.at)
        return rule_parser_error(parser, value, "expected 'SUBSYSTEM disable, type TYPE, scope SCOPE'");
    if (span_equal(subsystem, "logging") && span_equal(type, "tx") && span_equal(scope, "tx"))
        return rule_parser_add_action(parser, disable_logging, NULL, false);
    if (span_equal(subsystem, "tracking") && span_equal(type, "flow") && span_equal(scope, "packet")) {
        if (rule->hook.kind != RULE_HOOK_PRE_FLOW)
            return rule_parser_error(parser, value, "'tracking disable' needs the hook pre_flow: 'ip:pre_flow'");
        return rule_parser_add_action(parser, disable_tracking, NULL, true);
    }
    return rule_parser_error(parser, value,
                             "supported are 'logging disable, type tx, scope tx' and 'tracking disable, type flow, "
                             "scope packet'");
}

const struct keyword keyword_config = {
    .name = "config",
    .value = "logging disable, type tx, scope tx; or tracking disable, type flow, scope packet",
    .help = "writes no event of the transaction in which the rule matches, or gives the packet no flow",
    .manual = "The rule action config acts like alert with noalert. `tracking disable` is for rules with the hook "
              "pre_flow: the "
              "packet is not part of a flow, so that neither its TCP stream nor its application protocol is inspected. "
              "`logging disable` does not affect events of files, nor the response to a DNS query, which is a "
              "separate transaction.",
    .kind = KEYWORD_META,
    .parse = config_keyword_parse,
};
