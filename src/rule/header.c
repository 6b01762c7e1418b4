/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses the action, the first word of a rule, with its scope (`drop:flow`) and further actions (`pass:flow,alert`),
 * and the hook, which follows the protocol (`http1:request_line`).
 */
#include <errno.h>
#include <string.h>

#include "rule_priv.h"

static const struct {
    const char *word;
    enum rule_action action;
} actions[] = {
    { "alert", ACTION_ALERT },
    { "pass", ACTION_PASS },
    { "drop", ACTION_DROP },
    { "reject", ACTION_REJECT },
    { "rejectsrc", ACTION_REJECT },
    { "rejectdst", ACTION_REJECT_DESTINATION },
    { "rejectboth", ACTION_REJECT_BOTH },
    { "accept", ACTION_ACCEPT },
    { "sdrop", ACTION_DROP }, /* Snort's drop without an alert */
    { "log", ACTION_ALERT },  /* Snort's record of a packet: events have no other form */
};

/* Actions of Suricata 8 and Snort that Sluice does not support. */
static const struct {
    const char *word, *hint;
} unsupported_actions[] = {
    { "config", "only the action of a rule can be 'config'" },
    { "block", "use 'drop'" },
    { "react", "use 'reject'" },
    { "rewrite", "use 'replace'" },
    { "file_id", NULL },
    { "activate", "use flowbits" },
    { "dynamic", "use flowbits" },
};

const char *rule_action_name(enum rule_action action)
{
    static const char *const names[ACTION_COUNT] = {
        [ACTION_ALERT] = "alert",
        [ACTION_PASS] = "pass",
        [ACTION_DROP] = "drop",
        [ACTION_REJECT] = "reject",
        [ACTION_REJECT_DESTINATION] = "rejectdst",
        [ACTION_REJECT_BOTH] = "rejectboth",
        [ACTION_ACCEPT] = "accept",
    };

    return names[action];
}

const char *rule_scope_name(enum rule_scope scope)
{
    static const char *const names[RULE_SCOPE_COUNT] = {
        [RULE_SCOPE_PACKET] = "packet",
        [RULE_SCOPE_FLOW] = "flow",
        [RULE_SCOPE_HOOK] = "hook",
        [RULE_SCOPE_TX] = "tx",
    };

    return names[scope];
}

int action_parse(struct span word, enum rule_action *out, const char **hint)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (span_equal_nocase(word, actions[i].word)) {
            *out = actions[i].action;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof(unsupported_actions) / sizeof(unsupported_actions[0]); i++) {
        if (span_equal_nocase(word, unsupported_actions[i].word)) {
            *hint = unsupported_actions[i].hint;
            return -ENOTSUP;
        }
    }
    return -EINVAL;
}

/* --- Scopes --------------------------------------------------------------------------------------- */

/* Parses the scope of an action. Returns 0, or -EINVAL after an error was reported. */
static int scope_parse(struct rule_parser *parser, struct span word, enum rule_action action, enum rule_scope *out)
{
    enum rule_scope last = action == ACTION_ACCEPT ? RULE_SCOPE_TX : RULE_SCOPE_FLOW;

    if (action == ACTION_ALERT)
        return rule_parser_error(parser, word, "the action 'alert' has no scope");
    for (enum rule_scope scope = RULE_SCOPE_PACKET; scope <= last; scope++) {
        if (span_equal_nocase(word, rule_scope_name(scope))) {
            *out = scope;
            return 0;
        }
    }
    return rule_parser_error(
        parser, word, "unknown scope '" SPAN_FORMAT "' of the action '%s'; it can be packet, flow%s",
        SPAN_ARGS(span_shown(word)), rule_action_name(action), action == ACTION_ACCEPT ? ", hook, tx" : "");
}

/* Applies an action of the list, the first one or a further one, to the rule. Returns 0, or -EINVAL after an error was
 * reported. */
static int take_action(struct rule_parser *parser, struct span word, bool first, enum rule_action action,
                       enum rule_scope scope)
{
    struct rule *rule = parser->rule;

    if (!first && action == ACTION_ALERT) {
        rule->alert = true;
        return 0;
    }
    if (!first && action == ACTION_PASS && rule->firewall && rule->action == ACTION_ACCEPT) {
        rule->pass = scope != RULE_SCOPE_DEFAULT ? scope : RULE_SCOPE_FLOW;
        return 0;
    }
    if (!first)
        return rule_parser_error(parser, word, "the action '%s' can't follow '%s'; %s can", rule_action_name(action),
                                 rule_action_name(rule->action),
                                 rule->firewall && rule->action == ACTION_ACCEPT ? "'pass' and 'alert'" : "'alert'");
    rule->action = action;
    rule->scope = scope;
    if (!rule->firewall && action == ACTION_ACCEPT)
        return rule_parser_unsupported(parser, word, "action",
                                       "the action 'accept' is for firewall rules (firewall.rule-files); use 'pass'");
    if (rule->firewall && (action == ACTION_ALERT || action == ACTION_PASS))
        return rule_parser_error(parser, word, "a firewall rule accepts, drops or rejects; '%s' can follow that action",
                                 rule_action_name(action));
    if (rule->firewall && scope == RULE_SCOPE_DEFAULT)
        return rule_parser_error(parser, word,
                                 "the action of a firewall rule needs a scope: '%s:packet' or '%s:flow'%s",
                                 rule_action_name(action), rule_action_name(action),
                                 action == ACTION_ACCEPT ? ", 'accept:hook' or 'accept:tx'" : "");
    return 0;
}

void actions_parse(struct rule_parser *parser, struct span words)
{
    struct span word;
    bool first = true;

    for (; span_next(&words, ',', &word); first = false) {
        const char *colon = word.length > 0 ? memchr(word.at, ':', word.length) : NULL;
        struct span name = { word.at, colon ? (size_t)(colon - word.at) : word.length };
        enum rule_scope scope = RULE_SCOPE_DEFAULT;
        enum rule_action action;
        const char *hint;
        bool is_config = first && span_equal_nocase(name, "config");
        int err = is_config ? 0 : action_parse(name, &action, &hint);

        if (err == -ENOTSUP) {
            rule_parser_unsupported(parser, name, "action", "the action '" SPAN_FORMAT "' is not supported%s%s",
                                    SPAN_ARGS(name), hint ? "; " : "", hint ? hint : "");
            return;
        }
        if (err) {
            rule_parser_error(parser, name, "unknown action '" SPAN_FORMAT "'", SPAN_ARGS(span_shown(name)));
            return;
        }
        if (is_config) /* an alert without alerts; only scope_parse() is called with another action */
            action = ACTION_ACCEPT;
        if (colon && scope_parse(parser, (struct span){ colon + 1, word.length - name.length - 1 }, action, &scope))
            return;
        parser->rule->noalert |= span_equal_nocase(name, "sdrop");
        if (is_config) {
            parser->rule->action = ACTION_ALERT;
            parser->rule->scope = scope;
            parser->rule->noalert = true;
        } else if (take_action(parser, word, first, action, scope)) {
            return;
        }
    }
}

/* --- Hooks ---------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    enum rule_hook_kind kind;
} packet_hooks[] = {
    { "all", RULE_HOOK_ALL },
    { "flow_start", RULE_HOOK_FLOW_START },
    { "pre_flow", RULE_HOOK_PRE_FLOW },
    { "pre_stream", RULE_HOOK_PRE_STREAM },
};

/* Appends the hooks of the protocol, for an error message. */
static void list_hooks(const struct rule_parser *parser, const char *application, struct text *out)
{
    const struct rule_hook_names *hooks = parser->list->options.hooks;
    const char *name;

    if (!application) {
        for (size_t i = 0; i < sizeof(packet_hooks) / sizeof(packet_hooks[0]); i++)
            text_printf(out, "%s%s", i > 0 ? ", " : "", packet_hooks[i].name);
        return;
    }
    for (size_t i = 0; hooks && (name = hooks->name(application, i)); i++)
        text_printf(out, "%s%s", i > 0 ? ", " : "", name);
}

static bool find_packet_hook(struct span name, struct rule_hook *out)
{
    for (size_t i = 0; i < sizeof(packet_hooks) / sizeof(packet_hooks[0]); i++) {
        if (!span_equal_nocase(name, packet_hooks[i].name))
            continue;
        *out = (struct rule_hook){ .kind = packet_hooks[i].kind, .name = packet_hooks[i].name };
        return true;
    }
    return false;
}

static bool is_first_packet(const struct match_input *in, const void *data)
{
    const struct packet *pkt = in->packet;

    (void)data;
    return pkt->flow && pkt->flow->side[pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER].packets == 1;
}

const struct keyword flow_start_condition = {
    .name = "flow_start",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .packet = { .match = is_first_packet },
};

/* Reports scopes that the hook of a firewall rule does not have. */
static void check_firewall_hook(struct rule_parser *parser, struct span name)
{
    struct rule *rule = parser->rule;
    bool of_app = rule->hook.kind == RULE_HOOK_APP;

    if (!of_app && rule->hook.and_earlier)
        rule_parser_error(parser, name, "'<' is for hooks of application protocols");
    else if (!of_app && rule->scope == RULE_SCOPE_TX)
        rule_parser_error(parser, name, "the scope 'tx' needs a hook of an application protocol");
    else if (rule_hook_is_early(&rule->hook) && rule->scope == RULE_SCOPE_FLOW)
        rule_parser_error(parser, name, "the hook '%s' decides about packets, not flows: write '%s:packet'",
                          rule->hook.name, rule_action_name(rule->action));
    /* Firewall rules decide about single packets; only TCP data that was parsed is a stream. */
    if (!of_app && !rule->protocol.stream_only)
        rule->payload = RULE_PAYLOAD_PACKET_ONLY;
}

void hook_parse(struct rule_parser *parser, struct span name)
{
    const struct rule_hook_names *hooks = parser->list->options.hooks;
    const char *application = parser->rule->protocol.application;
    struct rule_hook *hook = &parser->rule->hook;
    const char *less = name.length > 0 ? memchr(name.at, '<', name.length) : NULL;
    struct span word = name;
    char copy[64];
    bool and_earlier = less && (less == name.at || less[-1] == ':'), found;

    if (and_earlier && name.length <= sizeof(copy)) { /* the `<` is before the name of the hook: `<x`, `sub-state:<x` */
        size_t before = (size_t)(less - name.at);

        memcpy(copy, name.at, before);
        memcpy(copy + before, less + 1, name.length - before - 1);
        word = (struct span){ copy, name.length - 1 };
    }
    if (application)
        found = hooks && hooks->find(application, word, hook);
    else
        found = find_packet_hook(word, hook);
    if (!found) {
        struct text list;

        text_init(&list);
        list_hooks(parser, application, &list);
        rule_parser_error(parser, name, "'%s' has no hook '" SPAN_FORMAT "'; its hooks are %s",
                          parser->rule->protocol.name, SPAN_ARGS(span_shown(word)),
                          list.length > 0 ? list.bytes : "none");
        text_clear(&list);
        return;
    }
    hook->and_earlier = and_earlier;
    if (!application)
        hook->protocol = parser->rule->protocol.name;
    if (parser->rule->firewall) {
        check_firewall_hook(parser, name);
    } else if (and_earlier) {
        rule_parser_unsupported(parser, name, "hook", "'<' before a hook is for firewall rules");
        return;
    } else if (rule_hook_is_early(hook)) {
        parser->rule->payload = RULE_PAYLOAD_PACKET_ONLY; /* there is no stream yet */
    }
    if (hook->kind == RULE_HOOK_FLOW_START) {
        parser->keyword = &flow_start_condition;
        parser->keyword_name = name;
        rule_parser_add_packet_condition(parser, NULL, false);
    } else if (hook->kind == RULE_HOOK_APP) {
        parser->has_application_keyword = true;
        parser->keyword_directions &= 1U << hook->direction;
    }
}

/* Returns whether the rule has conditions on transactions. Those of app-layer-event belong to no keyword's protocols.
 */
static bool inspects_transactions(const struct rule_parser *parser)
{
    return parser->has_application_keyword || parser->rule->transaction_conditions || parser->rule->file_conditions;
}

void early_rule_check(struct rule_parser *parser)
{
    const struct rule *rule = parser->rule;

    if (rule_hook_is_early(&rule->hook) && (inspects_transactions(parser) || rule->payload != RULE_PAYLOAD_PACKET_ONLY))
        rule_parser_error(parser, parser->statement->text,
                          "a rule with the hook '%s' can't inspect streams and application protocols", rule->hook.name);
}

void firewall_rule_check(struct rule_parser *parser)
{
    const struct rule *rule = parser->rule;
    struct span text = parser->statement->text;

    if (!rule->hook.name)
        rule_parser_error(parser, text,
                          "a firewall rule needs a hook after the protocol: 'tcp:all', 'http1:request_line'");
    else if (rule->hook.kind != RULE_HOOK_APP && inspects_transactions(parser))
        rule_parser_error(parser, text,
                          "keywords of application protocols need a hook of the protocol, such as '%s:%s'",
                          parser->applications.count > 0 ? parser->applications.names[0] : "http1", "request_started");
    if (rule->transactional || rule->bypass)
        rule_parser_error(parser, text, "a firewall rule can't have %s", rule->bypass ? "'bypass'" : "'=>'");
}
