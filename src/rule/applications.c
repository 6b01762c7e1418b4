/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Application protocols of a rule and the directions in which it can match. They are limited by the protocol in the
 * rule's header and by each of the rule's keywords. They are computed keyword by keyword, so that a contradiction is
 * reported at the keyword that causes it. A protocol name may include several protocols: `alert http` matches HTTP/1
 * and HTTP/2. A keyword lists each of its protocols.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "rule_priv.h"

enum { FAMILY_MAX = 3 };

/* Protocol names with which a rule matches several protocols, including the one of that name. */
static const struct {
    const char *word;
    const char *members[FAMILY_MAX + 1];
} families[] = {
    { "http", { "http", "http2", "doh2" } },
    { "http2", { "http2", "doh2" } },
    { "dns", { "dns", "doh2" } },
    { "dcerpc", { "dcerpc", "smb" } },
};

/* Aliases of protocol names. */
static const struct {
    const char *word, *name;
} synonyms[] = {
    { "http1", "http" },
    { "ssl", "tls" },
    { "ikev2", "ike" },
};

const char *const *rule_protocol_members(const char *word)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (strcmp(families[i].word, word) == 0)
            return families[i].members;
    }
    return NULL;
}

static const char *canonical(const char *word)
{
    for (size_t i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++) {
        if (strcmp(word, synonyms[i].word) == 0)
            return synonyms[i].name;
    }
    return word;
}

static bool is_supported(const struct rule_parser *parser, const char *name)
{
    for (const char *const *word = parser->list->options.applications; word && *word; word++) {
        if (strcmp(canonical(*word), name) == 0)
            return true;
    }
    return false;
}

static bool has_application(const struct application_set *set, const char *name)
{
    for (unsigned i = 0; i < set->count; i++) {
        if (strcmp(set->names[i], name) == 0)
            return true;
    }
    return false;
}

static void add_application(struct application_set *set, const char *name)
{
    if (set->count < APPLICATIONS_MAX && !has_application(set, name))
        set->names[set->count++] = name;
}

/* Writes the protocol names in `words` to `out`, without the unsupported ones (options.applications). If all are
 * unsupported, writes all. */
static void collect(const struct rule_parser *parser, const char *const *words, struct application_set *out)
{
    out->count = 0;
    for (const char *const *word = words; *word; word++) {
        if (is_supported(parser, canonical(*word)))
            add_application(out, canonical(*word));
    }
    if (out->count > 0)
        return;
    for (const char *const *word = words; *word; word++)
        add_application(out, canonical(*word));
}

void applications_start(struct rule_parser *parser)
{
    const char *word = parser->rule->protocol.application;
    const char *alone[] = { word, NULL };
    const char *const *members = NULL;

    if (!word)
        return;
    if (parser->rule->hook.kind == RULE_HOOK_NONE) /* a hook belongs to one protocol */
        members = rule_protocol_members(word);
    collect(parser, members ? members : alone, &parser->applications);
}

int rule_parser_require_applications(struct rule_parser *parser, const char *const *words)
{
    const struct rule_protocol *protocol = &parser->rule->protocol;
    struct application_set wanted, common = { .count = 0 };

    if (!protocol->name)
        return 0; /* the header's protocol is wrong, which has been reported */
    if (!(protocol->ip_protocols[0] & (UINT64_C(1) << IPPROTO_TCP | UINT64_C(1) << IPPROTO_UDP)))
        return rule_parser_error(parser, parser->keyword_name,
                                 "'%s' belongs to '%s', which cannot match in a rule for '%s'", parser->keyword->name,
                                 words[0], protocol->name);
    collect(parser, words, &wanted);
    if (parser->applications.count == 0)
        common = wanted;
    for (unsigned i = 0; i < parser->applications.count; i++) {
        if (has_application(&wanted, parser->applications.names[i]))
            common.names[common.count++] = parser->applications.names[i];
    }
    if (common.count == 0)
        return rule_parser_error(parser, parser->keyword_name, "'%s' belongs to '%s', but the rule is for '%s'%s",
                                 parser->keyword->name, words[0], parser->applications.names[0],
                                 protocol->application ? "" : " because of an earlier keyword");
    parser->applications = common;
    return 0;
}

/* --- Directions ----------------------------------------------------------------------------------- */

enum { BOTH_DIRECTIONS = 1 << FLOW_TO_SERVER | 1 << FLOW_TO_CLIENT };

static int check_directions(struct rule_parser *parser)
{
    if (parser->rule->transactional && parser->flow_directions != BOTH_DIRECTIONS)
        return rule_parser_error(parser, parser->keyword_name,
                                 "a rule with '=>' matches in both directions; remove the direction or write '->'");
    if (parser->keyword_directions & parser->flow_directions)
        return 0;
    return rule_parser_error(
        parser, parser->keyword_name,
        "rule mixes keywords with conflicting directions; write '=>' instead of '->' to inspect both "
        "directions of a transaction");
}

/* Returns the directions in which a keyword may be used; both if it has no restriction. */
static unsigned directions_of(const struct rule_parser *parser, const struct keyword *keyword)
{
    if (parser->forced_directions)
        return parser->forced_directions;
    return keyword->scope.directions ? keyword->scope.directions : BOTH_DIRECTIONS;
}

int applications_cut_direction(struct rule_parser *parser, struct span *value)
{
    static const struct {
        const char *word;
        unsigned directions;
    } words[] = {
        { "to_server", 1 << FLOW_TO_SERVER },
        { "to_client", 1 << FLOW_TO_CLIENT },
    };
    const struct keyword *keyword = parser->keyword;
    bool may_have = keyword->kind == KEYWORD_BUFFER || keyword->kind == KEYWORD_TRANSACTION ||
                    (keyword->kind == KEYWORD_FILE && !(keyword->flags & KEYWORD_PARSES_DIRECTION));
    struct span rest = *value, word;

    parser->forced_directions = 0;
    if (!may_have || !keyword->scope.applications ||
        (keyword->scope.directions != 0 && keyword->scope.directions != BOTH_DIRECTIONS))
        return 0;
    if (value->length == 0 || !span_next(&rest, ',', &word))
        return 0;
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (span_equal(word, words[i].word))
            parser->forced_directions = words[i].directions;
    }
    if (!parser->forced_directions)
        return 0;
    *value = rest.at ? span_trim(rest) : (struct span){ .at = value->at + value->length };
    return parser->rule->transactional ? 0 : rule_parser_require_directions(parser, parser->forced_directions);
}

void rule_parser_set_direction(struct rule_parser *parser, unsigned direction)
{
    parser->forced_directions = direction;
}

uint8_t applications_directions(const struct rule_parser *parser, const struct keyword *keyword)
{
    if (!parser->rule->transactional || !keyword || !keyword->scope.applications)
        return 0;
    return (uint8_t)directions_of(parser, keyword);
}

/* Records the direction of a keyword in a transactional rule, and reports an error for a keyword that may be in either
 * direction. Conditions on the packet have no direction: they are evaluated on the packet that completes the match. */
static int take_direction(struct rule_parser *parser, const struct keyword *keyword)
{
    unsigned directions = directions_of(parser, keyword);

    if (keyword->kind == KEYWORD_PACKET)
        return 0;
    if (directions == BOTH_DIRECTIONS)
        return rule_parser_error(parser, parser->keyword_name,
                                 "'%s' exists in both directions; in a rule with '=>' write '%s' with 'to_server' or "
                                 "'to_client' as its first word",
                                 keyword->name, keyword->name);
    parser->used_directions |= directions;
    return 0;
}

int rule_parser_require_directions(struct rule_parser *parser, unsigned directions)
{
    parser->flow_directions &= directions;
    return check_directions(parser);
}

int rule_parser_require_state(struct rule_parser *parser, unsigned direction)
{
    parser->has_application_keyword = true;
    parser->keyword_directions &= 1U << direction;
    return check_directions(parser);
}

int applications_take(struct rule_parser *parser, const struct keyword *keyword)
{
    int err;

    if (!keyword || !keyword->scope.applications)
        return 0;
    err = rule_parser_require_applications(parser, keyword->scope.applications);
    if (err)
        return err;
    parser->has_application_keyword = true;
    if (parser->rule->transactional)
        return take_direction(parser, keyword);
    if (keyword->scope.directions == 0)
        return 0;
    parser->keyword_directions &= keyword->scope.directions;
    return check_directions(parser);
}

/* Reports an error for a transactional rule with a content on the payload, or whose keywords are all in one direction.
 * A transactional rule is evaluated in the direction to the client only, so a rule on requests would act later than
 * with `->`. */
static int check_transactional(struct rule_parser *parser)
{
    for (const struct rule_buffer *buffer = parser->rule->buffers; buffer; buffer = buffer->next) {
        if (!buffer->keyword)
            return rule_parser_error(parser, parser->arrow,
                                     "a rule with '=>' inspects transactions, but a content applies to the payload; "
                                     "select a buffer for it, or write '->'");
    }
    if (parser->used_directions == BOTH_DIRECTIONS)
        return 0;
    return rule_parser_error(parser, parser->arrow,
                             "a rule with '=>' needs keywords of both directions, and this one has %s%s; write '->'",
                             parser->used_directions ? "none " : "none",
                             parser->used_directions == 1 << FLOW_TO_SERVER   ? "to the client"
                             : parser->used_directions == 1 << FLOW_TO_CLIENT ? "to the server"
                                                                              : "");
}

int applications_finish(struct rule_parser *parser)
{
    const struct application_set *set = &parser->applications;
    const char **names;
    int err = parser->rule->transactional ? check_transactional(parser) : 0;

    if (err)
        return err;

    if (parser->has_application_keyword)
        parser->rule->directions = parser->keyword_directions & parser->flow_directions;
    if (set->count == 0)
        return 0;
    names = arena_alloc(parser->list->arena, (set->count + 1) * sizeof(names[0]));
    if (!names)
        return -ENOMEM;
    memcpy(names, set->names, set->count * sizeof(names[0]));
    names[set->count] = NULL;
    parser->rule->applications = names;
    return 0;
}
