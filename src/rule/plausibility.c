/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks for rules that are valid but most likely not intended: an option whose `;` is missing swallows the next one,
 * and a drop rule without conditions drops all traffic of its header.
 */
#include <errno.h>
#include <string.h>

#include "rule_priv.h"

/* --- A missing ';' -------------------------------------------------------------------------------- */

/* Returns the keyword at the start of the text; an empty span if there is none. Sets *has_value to whether a colon
 * follows. */
static struct span keyword_at(const struct rule_parser *parser, struct span text, bool *has_value)
{
    static const char characters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    struct span name = { .at = text.at };

    while (name.length < text.length && memchr(characters, text.at[name.length], sizeof(characters) - 1))
        name.length++;
    if (name.length == 0 || !(keyword_table_find(parser->list->options.keywords, name) || known_keyword_find(name)))
        return (struct span){ .at = text.at };
    text = span_trim((struct span){ text.at + name.length, text.length - name.length });
    *has_value = text.length > 0 && text.at[0] == ':';
    return *has_value || text.length == 0 ? name : (struct span){ .at = name.at };
}

/* Returns the first unescaped quote after the opening one, or NULL. */
static const char *closing_quote(struct span value)
{
    for (size_t i = 1; i < value.length; i++) {
        if (value.at[i] == '\\')
            i++;
        else if (value.at[i] == '"')
            return value.at + i;
    }
    return NULL;
}

/* Returns whether the quote ends a pcre value. A quote inside a pattern need not be escaped, so the closing quote is
 * the one that follows the slash and the flags. */
static bool ends_pattern(struct span value, const char *quote)
{
    const char *at = quote - 1;

    while (at > value.at + 1 && ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z')))
        at--;
    return at > value.at + 1 && *at == '/';
}

static int check_after_quote(struct rule_parser *parser, struct span value)
{
    const char *quote = closing_quote(value);
    struct span rest, name;
    bool has_value;

    if (!quote || (span_equal(span_of(parser->keyword->name), "pcre") && !ends_pattern(value, quote)))
        return 0;
    rest = span_trim((struct span){ quote + 1, value.length - (size_t)(quote + 1 - value.at) });
    name = keyword_at(parser, rest, &has_value);
    if (name.length == 0)
        return 0;
    return rule_parser_error(parser, name, "a ';' is missing before '" SPAN_FORMAT "'", SPAN_ARGS(span_shown(name)));
}

/* Warns if a value without quotes contains a keyword and a colon. This is no error, because the text may be intended.
 */
static void check_plain(struct rule_parser *parser, struct span value)
{
    if (!memchr(value.at, ':', value.length))
        return;
    for (size_t i = 1; i < value.length; i++) {
        bool has_value;
        struct span name;

        if (!strchr(" \t", value.at[i - 1]) || strchr(" \t", value.at[i]))
            continue;
        name = keyword_at(parser, (struct span){ value.at + i, value.length - i }, &has_value);
        if (name.length == 0 || !has_value)
            continue;
        rule_parser_warning(parser, name, "'" SPAN_FORMAT "' is part of the value of '%s': is a ';' missing before it?",
                            SPAN_ARGS(span_shown(name)), parser->keyword->name);
        return;
    }
}

int plausibility_check_value(struct rule_parser *parser, struct span value)
{
    /* A `tcp.flags` condition on SYN, ACK, PSH, CWR and ECE only (the last two also by their old names 1 and 2) matches
     * in every TCP connection. */
    for (size_t i = 0; strcmp(parser->keyword->name, "tcp.flags") == 0 && i < value.length; i++)
        parser->unusual_flags |= !strchr("SsAaPpCcEe12+, ", value.at[i]);
    if (value.length > 0 && value.at[0] == '!')
        value = span_trim((struct span){ value.at + 1, value.length - 1 });
    if (value.length == 0)
        return 0;
    if (value.at[0] == '"')
        return check_after_quote(parser, value);
    check_plain(parser, value);
    return 0;
}

/* --- Rules that drop everything ------------------------------------------------------------------- */

static bool ends_with(struct span text, const char *end)
{
    size_t length = strlen(end);

    return text.length >= length && memcmp(text.at + text.length - length, end, length) == 0;
}

/* Returns whether a variable stands for a network or a group of hosts, as $HOME_NET and $HTTP_SERVERS do in Suricata's
 * configuration and published rules. */
static bool is_network_variable(struct span name)
{
    static const char *const ends[] = { "_NET", "_SERVERS", "_SERVER", "_CLIENT" };

    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        if (ends_with(name, ends[i]))
            return true;
    }
    return false;
}

bool plausibility_names_addresses(struct span word)
{
    const char *end = word.at + word.length;

    if (word.length > 0 && word.at[0] == '!')
        return false;
    for (const char *at = word.at; at < end;) {
        struct span item = { .at = at };

        while (at < end && !strchr("[], \t", *at))
            at++;
        item.length = (size_t)(at - item.at);
        at++;
        if (item.length == 0 || item.at[0] == '!' || span_equal_nocase(item, "any") || ends_with(item, "/0"))
            continue;
        if (item.at[0] != '$' || !is_network_variable(item))
            return true;
    }
    return false;
}

/* Returns whether the rule restricts the packets that it drops. A rule whose header lists addresses, or ports on both
 * sides, is assumed to drop all traffic of its header on purpose. */
static bool has_condition(const struct rule_parser *parser)
{
    const struct rule *rule = parser->rule;

    if (parser->names_addresses || (!rule->source_port->any && !rule->destination_port->any))
        return true;
    if (rule->buffers || rule->transaction_conditions || rule->file_conditions)
        return true;
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (strcmp(c->keyword->name, "flow") != 0 &&
            (strcmp(c->keyword->name, "tcp.flags") != 0 || parser->unusual_flags))
            return true;
    }
    for (const struct threshold *t = rule->thresholds; t; t = t->next) {
        if (t->kind != THRESHOLD_LIMIT)
            return true;
    }
    return false;
}

void plausibility_check_rule(struct rule_parser *parser)
{
    const struct rule *rule = parser->rule;
    struct span action = parser->statement->text;

    if (!rule_action_drops(rule->action) || rule->firewall || has_condition(parser))
        return;
    action.length = strlen(rule_action_name(rule->action)) < action.length ? strlen(rule_action_name(rule->action)) : 1;
    rule_parser_warning(parser, action,
                        "rule %u:%u drops all traffic of its header: it has no condition besides header and flow",
                        rule->gid, rule->sid);
}
