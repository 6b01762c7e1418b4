/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parser of one rule:
 *
 *     ACTION PROTOCOL ADDRESSES PORTS DIRECTION ADDRESSES PORTS (OPTIONS)
 *
 * As in Suricata an option ends at the next `;` without a preceding backslash, even within quotes. The first `:` of an
 * option ends its name. Parsing continues after a mistake, so that one run shows all mistakes of a rule. A placeholder
 * replaces an unsupported buffer or content keyword, so that modifiers and conditions after it are not reported as
 * mistakes.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rule_priv.h"

enum { MAX_RULE_LENGTH = 64 * 1024, DEFAULT_PRIORITY = 3, MAX_NEAREST = 1000 };

void rule_parser_init(struct rule_parser *parser, struct rule_list *list, const struct statement *statement,
                      struct diag *diag)
{
    *parser = (struct rule_parser){
        .list = list,
        .diag = diag,
        .statement = statement,
        .keyword_directions = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT,
        .flow_directions = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT,
    };
}

/* --- Placeholders for unsupported keywords, so that the following options are still parsed --------- */

const struct keyword unsupported_buffer = { .name = "(not supported)", .kind = KEYWORD_BUFFER };
static const struct keyword unsupported_content = {
    .name = "(not supported)",
    .kind = KEYWORD_CONTENT,
    .content = { .is_literal = true },
};

static int stand_in(struct rule_parser *parser, enum known_kind kind)
{
    if (kind == KNOWN_BUFFER)
        return rule_parser_select_buffer(parser, &unsupported_buffer);
    if (kind == KNOWN_CONTENT) {
        struct content *content = arena_alloc(parser->list->arena, sizeof(*content));

        parser->keyword = &unsupported_content;
        return content ? rule_parser_add_content_condition(parser, content, false) : -ENOMEM;
    }
    return 0;
}

/* --- Options -------------------------------------------------------------------------------------- */

static int unknown_keyword(struct rule_parser *parser, struct span name)
{
    const struct known_keyword *known = known_keyword_find(name);
    const char *nearest;
    char tag[64];
    size_t length = name.length < sizeof(tag) ? name.length : sizeof(tag) - 1;
    bool fresh;

    if (known) {
        rule_parser_unsupported(parser, name, known->name, "keyword '%s' is not supported", known->name);
        return stand_in(parser, known->kind);
    }
    for (size_t i = 0; i < length; i++)
        tag[i] = (char)(name.at[i] >= 'A' && name.at[i] <= 'Z' ? name.at[i] + 32 : name.at[i]);
    tag[length] = '\0';

    struct missing *missing = rule_list_missing(parser->list, tag, &fresh);

    /* The search for a similar name compares all keyword names, so it is done once per unknown word and for the first
     * MAX_NEAREST words only: a file that contains no rules has many unknown words. */
    if (missing && fresh && parser->list->missing.count <= MAX_NEAREST) {
        missing->nearest = keyword_table_nearest(parser->list->options.keywords, name);
        if (!missing->nearest)
            missing->nearest = known_keyword_nearest(name);
    }
    nearest = missing ? missing->nearest : NULL;
    rule_parser_unknown(parser, name, tag, "unknown keyword '" SPAN_FORMAT "'%s%s%s", SPAN_ARGS(span_shown(name)),
                        nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
    return 0;
}

/* Checks the value against the keyword's flags and strips it to the form that parse() expects. */
static int prepare_value(struct rule_parser *parser, struct span *value)
{
    const struct keyword *keyword = parser->keyword;
    bool no_value = keyword->flags & KEYWORD_NO_VALUE || (!keyword->parse && keyword->kind == KEYWORD_BUFFER);

    if (value->length == 0) {
        if (no_value || keyword->flags & KEYWORD_OPTIONAL_VALUE)
            return 0;
        return rule_parser_error(parser, parser->keyword_name, "'%s' needs a value", keyword->name);
    }
    if (no_value)
        return rule_parser_error(parser, *value, "'%s' takes no value", keyword->name);
    if (keyword->flags & KEYWORD_NEGATABLE && value->at[0] == '!') {
        parser->negated = true;
        *value = span_trim((struct span){ value->at + 1, value->length - 1 });
        if (value->length == 0)
            return rule_parser_error(parser, parser->keyword_name, "'%s' needs a value after the '!'", keyword->name);
    }
    if (!(keyword->flags & KEYWORD_QUOTED))
        return 0;
    if (value->length == 0 || value->at[0] != '"') {
        if (keyword->flags & KEYWORD_QUOTES_REQUIRED)
            return rule_parser_error(parser, *value, "the value of '%s' must be in double quotes", keyword->name);
        return 0;
    }
    if (value->length < 2 || value->at[value->length - 1] != '"')
        return rule_parser_error(
            parser, *value, "the value of '%s' has no closing quote (is a ';' inside not escaped?)", keyword->name);
    value->at++;
    value->length -= 2;
    return value->length > 0 ? 0 : rule_parser_error(parser, *value, "the value of '%s' is empty", keyword->name);
}

static int parse_option(struct rule_parser *parser, struct span option)
{
    const char *colon = option.length > 0 ? memchr(option.at, ':', option.length) : NULL;
    struct span name = option, value = { .at = option.at + option.length };
    const struct keyword *keyword;
    unsigned unsupported = parser->unsupported, reported = parser->mistakes + unsupported;

    if (colon) {
        name = span_trim((struct span){ option.at, (size_t)(colon - option.at) });
        value = span_trim((struct span){ colon + 1, option.length - (size_t)(colon - option.at) - 1 });
    }
    if (name.length == 0)
        return rule_parser_error(parser, option, "an option without a name");
    keyword = keyword_table_find(parser->list->options.keywords, name);
    if (!keyword)
        return unknown_keyword(parser, name);
    parser->keyword = keyword;
    parser->keyword_name = name;
    parser->keyword_value = (struct span){ .at = "" };
    parser->negated = false;
    if (plausibility_check_value(parser, value))
        return keyword->kind == KEYWORD_CONTENT ? stand_in(parser, KNOWN_CONTENT) : 0;
    if (keyword->kind == KEYWORD_MODIFIER && parser->last_content &&
        parser->last_content->keyword == &unsupported_content)
        return 0; /* the modifier of an unsupported content has no effect */
    for (unsigned i = 0; keyword->flags & KEYWORD_ONCE && i < parser->once_count; i++) {
        if (parser->once[i] == keyword)
            return rule_parser_error(parser, name, "a rule can have only one '%s'", keyword->name);
    }
    if (keyword->flags & KEYWORD_ONCE && parser->once_count < PARSER_MAX_ONCE)
        parser->once[parser->once_count++] = keyword;
    if (applications_cut_direction(parser, &value) || prepare_value(parser, &value))
        return 0;
    parser->keyword_value = value;
    if (span_equal(span_of(keyword->name), "sid"))
        parser->sid_text = value;

    int err = rule_parser_parse_as(parser, keyword, value);

    if (err && err != -ENOMEM && parser->mistakes + parser->unsupported == reported)
        rule_parser_error(parser, name, "'%s' can't be used here: %s", keyword->name, strerror(-err));
    /* Conditions after an unsupported content may be relative to it, so a placeholder is added. */
    if (err == -EINVAL && keyword->kind == KEYWORD_CONTENT && parser->unsupported > unsupported)
        err = stand_in(parser, KNOWN_CONTENT);
    return err == -ENOMEM ? err : 0;
}

bool rule_parser_next_option(struct span *rest, struct span *option, bool *terminated)
{
    const char *at = rest->at, *end = rest->at + rest->length;

    while (at < end && strchr(" \t\r", *at))
        at++;
    if (at == end)
        return false;

    const char *stop = at;

    /* The next `;` ends the option, unless a backslash precedes it. */
    while ((stop = memchr(stop, ';', (size_t)(end - stop))) && stop > at && stop[-1] == '\\')
        stop++;
    *terminated = stop != NULL;
    *option = span_trim((struct span){ at, (size_t)((stop ? stop : end) - at) });
    rest->at = stop ? stop + 1 : end;
    rest->length = (size_t)(end - rest->at);
    return true;
}

static int parse_options(struct rule_parser *parser, struct span options)
{
    struct span option;
    bool terminated;

    while (rule_parser_next_option(&options, &option, &terminated)) {
        if (!terminated) {
            rule_parser_error(parser, span_shown(option), "the last option has no ';'");
            return 0;
        }
        if (parse_option(parser, option) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

/* Returns the text between the parentheses. As in Suricata a missing parenthesis causes a warning, not an error. */
static struct span take_options(struct rule_parser *parser, struct span rest)
{
    bool opened = false, closed = false;

    while (rest.length > 0 && strchr(" \t(", rest.at[0])) {
        opened |= rest.at[0] == '(';
        rest.at++;
        rest.length--;
    }
    while (rest.length > 0 && strchr(" \t\r)", rest.at[rest.length - 1])) {
        closed |= rest.at[rest.length - 1] == ')';
        rest.length--;
    }
    if (rest.length > 0 && !opened)
        rule_parser_warning(parser, (struct span){ rest.at, 1 }, "the options should begin with a '('");
    if (rest.length > 0 && !closed)
        rule_parser_warning(parser, (struct span){ rest.at + rest.length, 1 }, "the rule should end with a ')'");
    return rest;
}

/* --- Header --------------------------------------------------------------------------------------- */

/* Sets *length to the length of the text's first word. With `lists`, spaces inside brackets do not end the word.
 * Returns false if a bracket is not closed. */
static bool measure_word(struct span text, bool lists, size_t *length)
{
    int depth = 0;
    size_t i = 0;

    for (; i < text.length; i++) {
        char c = text.at[i];

        if (lists)
            depth += (c == '[') - (c == ']');
        if (depth <= 0 && (c == ' ' || c == '\t' || c == '\r' || c == '('))
            break;
    }
    *length = i;
    return depth <= 0;
}

/* Removes the first word of the header from `rest` and returns it. */
static struct span take_word(struct span *rest)
{
    struct span word;

    *rest = span_trim(*rest);
    word = *rest;
    if (!measure_word(*rest, true, &word.length))
        measure_word(*rest, false, &word.length);
    rest->at += word.length;
    rest->length -= word.length;
    return word;
}

static void parse_protocol(struct rule_parser *parser, struct span word)
{
    const char *colon = memchr(word.at, ':', word.length);
    struct span hook = { colon ? colon + 1 : word.at, colon ? word.length - (size_t)(colon + 1 - word.at) : 0 };
    const char *nearest;
    char tag[64];
    int length;

    if (colon)
        word.length = (size_t)(colon - word.at);
    switch (protocol_parse(word, parser->list->options.applications, &parser->rule->protocol)) {
    case PROTOCOL_OK:
        if (parser->rule->protocol.packet_only)
            parser->rule->payload = RULE_PAYLOAD_PACKET_ONLY;
        else if (parser->rule->protocol.stream_only)
            parser->rule->payload = RULE_PAYLOAD_STREAM_ONLY;
        if (colon)
            hook_parse(parser, hook);
        return;
    case PROTOCOL_NOT_SUPPORTED:
        length = snprintf(tag, sizeof(tag), "protocol " SPAN_FORMAT, SPAN_ARGS(span_shown(word)));
        for (int i = 0; i < length && i < (int)sizeof(tag); i++)
            tag[i] = (char)(tag[i] >= 'A' && tag[i] <= 'Z' ? tag[i] + 32 : tag[i]);
        rule_parser_unsupported(parser, word, tag, "protocol '%s' is not supported", tag + sizeof("protocol"));
        return;
    case PROTOCOL_UNKNOWN:
        nearest = protocol_nearest(word);
        rule_parser_error(parser, word, "unknown protocol '" SPAN_FORMAT "'%s%s%s", SPAN_ARGS(span_shown(word)),
                          nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'?" : "");
        return;
    }
}

static void parse_direction(struct rule_parser *parser, struct span word)
{
    parser->arrow = word;
    if (span_equal(word, "<>"))
        parser->rule->bidirectional = true;
    else if (span_equal(word, "=>"))
        parser->rule->transactional = true;
    else if (span_equal(word, "<-"))
        rule_parser_error(parser, word, "there is no direction '<-'; swap the two sides and write '->'");
    else if (!span_equal(word, "->"))
        rule_parser_error(parser, word, "expected '->', '=>' or '<>', got '" SPAN_FORMAT "'",
                          SPAN_ARGS(span_shown(word)));
}

static void parse_source(struct rule_parser *parser, struct span word)
{
    parser->names_addresses |= plausibility_names_addresses(word);
    parser->rule->source = rule_parser_addresses(parser, word);
}

static void parse_source_port(struct rule_parser *parser, struct span word)
{
    parser->rule->source_port = rule_parser_ports(parser, word);
}

static void parse_destination(struct rule_parser *parser, struct span word)
{
    parser->names_addresses |= plausibility_names_addresses(word);
    parser->rule->destination = rule_parser_addresses(parser, word);
}

static void parse_destination_port(struct rule_parser *parser, struct span word)
{
    parser->rule->destination_port = rule_parser_ports(parser, word);
}

static const struct {
    const char *what;
    void (*parse)(struct rule_parser *parser, struct span word);
} header[] = {
    { "protocol", parse_protocol },
    { "source addresses", parse_source },
    { "source ports", parse_source_port },
    { "direction", parse_direction },
    { "destination addresses", parse_destination },
    { "destination ports", parse_destination_port },
};

/* Parses the header and removes it from `rest`. Returns false if the options cannot be parsed, because a word of the
 * header is missing or the line is not a rule. */
static bool parse_header(struct rule_parser *parser, struct span *rest)
{
    unsigned mistakes = parser->mistakes, reported = mistakes + parser->unsupported;
    struct span action = take_word(rest), after = *rest;
    struct rule *rule = parser->rule;
    struct rule_protocol ignored;

    actions_parse(parser, action);
    /* The first word is no action and the second no protocol: the line is not a rule, so one error is enough. */
    if (parser->mistakes > mistakes &&
        protocol_parse(take_word(&after), parser->list->options.applications, &ignored) == PROTOCOL_UNKNOWN)
        return false;
    for (size_t i = 0; i < sizeof(header) / sizeof(header[0]); i++) {
        struct span word = take_word(rest);

        if (word.length == 0 && i == 1 && rest->length > 0 && rest->at[0] == '(') {
            rule_parser_unsupported(parser, (struct span){ rest->at, 1 }, "header without addresses",
                                    "a rule header without addresses and ports (Snort 3) is not supported");
            return false;
        }
        if (word.length == 0) {
            rule_parser_error(parser, (struct span){ word.at, 1 }, "the rule has no %s", header[i].what);
            return false;
        }
        header[i].parse(parser, word);
    }
    if (parser->mistakes + parser->unsupported == reported) {
        if (!rule->protocol.has_ports && !(rule->source_port->any && rule->destination_port->any))
            rule_parser_warning(parser, parser->statement->text, "the rule can't match: protocol '%s' has no ports",
                                rule->protocol.name);
        if (rule->source == rule->destination && rule->source_port == rule->destination_port)
            /* both sides are equal: `<>` means the same as `->`, so the sides need not be exchanged */
            rule->bidirectional = false;
    }
    applications_start(parser);
    return true;
}

/* --- Rules ---------------------------------------------------------------------------------------- */

/* Sets next_relative in each condition to which a later condition is relative: the evaluation tries further positions
 * of these conditions only. A content that is not relative starts a new sequence. */
static void mark_next_relative(struct rule_buffer *buffer)
{
    struct condition *start = buffer->conditions;

    for (struct condition *c = buffer->conditions; c; c = c->next) {
        if (c->relative) {
            for (struct condition *before = start; before != c; before = before->next)
                before->next_relative = true;
            start = c;
        } else if (condition_content(c)) {
            start = c;
        }
    }
}

static int finish_conditions(struct rule_parser *parser, const struct condition *conditions)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        parser->keyword = c->keyword;
        parser->keyword_name = parser->statement->text;
        if (c->keyword->finish && c->keyword->finish(parser, c) == -ENOMEM)
            return -ENOMEM;
    }
    return 0;
}

/* Checks that the buffer's `absent` keyword and its conditions are compatible. Returns 0, or -EINVAL after an error. */
static int check_absence(struct rule_parser *parser, const struct rule_buffer *buffer)
{
    const char *name = buffer->keyword ? buffer->keyword->name : "pkt_data";

    if (buffer->absence == BUFFER_ABSENT && buffer->conditions)
        return rule_parser_error(parser, parser->statement->text,
                                 "'%s' must be absent, but the rule has conditions on it", name);
    if (buffer->absence == BUFFER_ABSENT_OR_ELSE && !buffer->conditions)
        return rule_parser_error(parser, parser->statement->text,
                                 "'absent:or_else' of '%s' needs a condition on the buffer", name);
    for (const struct condition *c = buffer->conditions; buffer->absence != BUFFER_PRESENT && c; c = c->next) {
        const struct content *content = condition_content(c);

        if (content && content->fast_pattern && !content->negated)
            return rule_parser_error(parser, parser->statement->text,
                                     "'%s' may be absent, so it can't have the 'fast_pattern'", name);
    }
    return 0;
}

/* Reports an error for a content that cannot occur in the output of the buffer's transforms, unless it is negated.
 * Returns 0 or -EINVAL. */
static int check_transforms(struct rule_parser *parser, const struct rule_buffer *buffer)
{
    for (const struct condition *c = buffer->transforms ? buffer->conditions : NULL; c; c = c->next) {
        const struct content *content = condition_content(c);

        for (const struct condition *t = buffer->transforms; t && content && !content->negated; t = t->next) {
            if (t->keyword->transform.admits && !t->keyword->transform.admits(content))
                return rule_parser_error(parser, parser->statement->text, "a content of '%s' can't be found after '%s'",
                                         buffer->keyword->name, t->keyword->name);
        }
    }
    return 0;
}

static int finish_buffers(struct rule_parser *parser)
{
    struct rule_buffer **link = &parser->rule->buffers;

    while (*link) {
        struct rule_buffer *buffer = *link;

        if (!buffer->conditions && buffer->keyword && buffer->absence == BUFFER_PRESENT)
            return rule_parser_error(parser, parser->statement->text, "'%s' selects a buffer, but no condition follows",
                                     buffer->keyword->name);
        if (!buffer->conditions && !buffer->keyword) {
            *link = buffer->next; /* all its contents were moved to other buffers */
            continue;
        }
        mark_next_relative(buffer);
        if (finish_conditions(parser, buffer->transforms) || finish_conditions(parser, buffer->conditions))
            return -ENOMEM;
        if (buffer->keyword && buffer->keyword->finish && buffer->conditions) {
            parser->keyword = buffer->keyword;
            if (buffer->keyword->finish(parser, buffer->conditions) == -ENOMEM)
                return -ENOMEM;
        }
        if (check_absence(parser, buffer) || check_transforms(parser, buffer))
            return -EINVAL;
        link = &buffer->next;
    }
    return 0;
}

static int finish_rule(struct rule_parser *parser)
{
    struct rule *rule = parser->rule;
    struct condition *sorted = NULL;
    int err;

    if (rule->sid == 0)
        return rule_parser_error(parser, parser->statement->text, "the rule has no sid");
    rule_parser_settle_buffer(parser);
    /* Sort the packet conditions by cost, lowest first; equal costs keep their order. Insertion sort is sufficient for
     * the few packet conditions of a rule. */
    for (struct condition *c = rule->packet_conditions, *next; c; c = next) {
        struct condition **link = &sorted;

        next = c->next;
        while (*link && (*link)->keyword->packet.cost <= c->keyword->packet.cost)
            link = &(*link)->next;
        c->next = *link;
        *link = c;
    }
    rule->packet_conditions = sorted;
    if (finish_conditions(parser, rule->packet_conditions) || finish_conditions(parser, rule->transaction_conditions) ||
        finish_conditions(parser, rule->file_conditions))
        return -ENOMEM;
    err = finish_buffers(parser);
    if (err)
        return err;
    plausibility_check_rule(parser);
    /* Move buffers that a condition in another buffer produces and evaluates (KEYWORD_NESTED) to rule->nested. */
    for (struct rule_buffer **link = &rule->buffers, *buffer; (buffer = *link);) {
        if (!buffer->keyword || !(buffer->keyword->flags & KEYWORD_NESTED)) {
            link = &buffer->next;
            continue;
        }
        *link = buffer->next;
        buffer->next = rule->nested;
        rule->nested = buffer;
    }
    return applications_finish(parser);
}

int rule_parse(struct rule_parser *parser, struct rule **out)
{
    const struct statement *statement = parser->statement;
    struct span rest = statement->text;
    int err = 0;

    if (rest.length > MAX_RULE_LENGTH)
        return rule_parser_error(parser, (struct span){ rest.at, 1 }, "the rule is longer than %d bytes",
                                 MAX_RULE_LENGTH);
    if (memchr(rest.at, '\0', rest.length))
        return rule_parser_error(parser, (struct span){ memchr(rest.at, '\0', rest.length), 1 },
                                 "a NUL byte in the rule");
    /* Before all other options, because a rule for another version may have keywords and syntax of that version. */
    err = requires_check(parser);
    if (err) {
        parser->unmet = err > 0;
        return -EINVAL;
    }
    parser->rule = arena_alloc(parser->list->arena, sizeof(*parser->rule));
    if (!parser->rule)
        return -ENOMEM;
    *parser->rule = (struct rule){
        .firewall = parser->list->loads_firewall,
        .gid = 1,
        .priority = DEFAULT_PRIORITY,
        .message = "",
        .text = statement->text.at,
        .file = statement->source->name,
        .line = statement->line,
    };
    if (parse_header(parser, &rest)) {
        rest = take_options(parser, rest);
        if (rest.length == 0)
            rule_parser_error(parser, (struct span){ rest.at, 1 }, "the rule has no options");
        err = parse_options(parser, rest);
        if (parser->rule->firewall && parser->mistakes + parser->unsupported == 0)
            firewall_rule_check(parser);
        else if (!parser->rule->firewall)
            early_rule_check(parser);
        if (!err && parser->mistakes + parser->unsupported == 0)
            err = finish_rule(parser);
    }
    if (err == -ENOMEM || parser->out_of_memory)
        return -ENOMEM;
    if (parser->mistakes + parser->unsupported > 0)
        return -EINVAL;
    *out = parser->rule;
    return 0;
}
