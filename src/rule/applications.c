/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which application protocols a rule is about, and in which direction it can match: what its protocol word and its keywords have
 * in common. Asked keyword by keyword, so that a contradiction is shown at the keyword that makes it.
 *
 * A word of a rule may stand for several protocols: `alert http` is about HTTP/1 and HTTP/2. A keyword names each of its own.
 */
#include <errno.h>
#include <netinet/in.h>
#include <string.h>

#include "rule_priv.h"

enum { FAMILY_MAX = 3 };

/* Protocols that a rule with the word is about, besides the word's own. */
static const struct {
    const char *word;
    const char *members[FAMILY_MAX + 1];
} families[] = {
    { "http", { "http", "http2", "doh2" } },
    { "http2", { "http2", "doh2" } },
    { "dns", { "dns", "doh2" } },
    { "dcerpc", { "dcerpc", "smb" } },
};

/* Other words for one protocol. */
static const struct {
    const char *word, *name;
} synonyms[] = {
    { "http1", "http" },
    { "ssl", "tls" },
    { "ikev2", "ike" },
};

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

static bool has(const struct application_set *set, const char *name)
{
    for (unsigned i = 0; i < set->count; i++) {
        if (strcmp(set->names[i], name) == 0)
            return true;
    }
    return false;
}

static void add(struct application_set *set, const char *name)
{
    if (set->count < APPLICATIONS_MAX && !has(set, name))
        set->names[set->count++] = name;
}

/* Those of the words that are supported; all when none is. */
static void collect(const struct rule_parser *parser, const char *const *words, struct application_set *out)
{
    out->count = 0;
    for (const char *const *word = words; *word; word++) {
        if (is_supported(parser, canonical(*word)))
            add(out, canonical(*word));
    }
    if (out->count > 0)
        return;
    for (const char *const *word = words; *word; word++)
        add(out, canonical(*word));
}

static void keep_common(struct application_set *set, const struct application_set *with)
{
    unsigned kept = 0;

    for (unsigned i = 0; i < set->count; i++) {
        if (has(with, set->names[i]))
            set->names[kept++] = set->names[i];
    }
    set->count = kept;
}

static bool is_above_tcp_or_udp(const struct rule_protocol *protocol)
{
    return protocol->ip_protocols[0] & (UINT64_C(1) << IPPROTO_TCP | UINT64_C(1) << IPPROTO_UDP);
}

void applications_start(struct rule_parser *parser)
{
    const char *word = parser->rule->protocol.application;
    const char *alone[] = { word, NULL };
    const char *const *members = alone;

    if (!word)
        return;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (strcmp(families[i].word, word) == 0)
            members = families[i].members;
    }
    collect(parser, members, &parser->applications);
}

int rule_parser_require_applications(struct rule_parser *parser, const char *const *words)
{
    const struct rule_protocol *protocol = &parser->rule->protocol;
    struct application_set wanted, common = parser->applications;

    if (!protocol->name)
        return 0; /* a mistake in the header, which has been told */
    if (!is_above_tcp_or_udp(protocol))
        return rule_parser_error(parser, parser->keyword_name, "'%s' is about '%s', which a rule for '%s' never sees",
                                 parser->keyword->name, words[0], protocol->name);
    collect(parser, words, &wanted);
    if (common.count == 0)
        common = wanted;
    keep_common(&common, &wanted);
    if (common.count == 0)
        return rule_parser_error(parser, parser->keyword_name, "'%s' is about '%s', but the rule is about '%s'%s",
                                 parser->keyword->name, words[0], parser->applications.names[0],
                                 protocol->application ? "" : " by a keyword before this");
    parser->applications = common;
    return 0;
}

static int check_directions(struct rule_parser *parser)
{
    if (parser->keyword_directions & parser->flow_directions)
        return 0;
    return rule_parser_error(parser, parser->keyword_name, "rule mixes keywords with conflicting directions");
}

int rule_parser_require_directions(struct rule_parser *parser, unsigned directions)
{
    parser->flow_directions &= directions;
    return check_directions(parser);
}

int applications_take(struct rule_parser *parser, const struct keyword *keyword)
{
    int err;

    if (!keyword || !keyword->applications)
        return 0;
    err = rule_parser_require_applications(parser, keyword->applications);
    if (err)
        return err;
    parser->has_application_keyword = true;
    if (keyword->directions == 0)
        return 0;
    parser->keyword_directions &= keyword->directions;
    return check_directions(parser);
}

int applications_finish(struct rule_parser *parser)
{
    const struct application_set *set = &parser->applications;
    const char **names;

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
