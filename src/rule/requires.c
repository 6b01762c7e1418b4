/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * requires:feature NAME, keyword NAME, version >= 7.0.4 < 8 | >= 8.0.1;
 *
 * A rule set for several versions of Suricata names in `requires` what a rule needs. As in Suricata 8, this option is
 * evaluated before all others: a rule whose requirements are not met may have keywords that this program does not know,
 * and is skipped without a report. Versions are compared with the version of Suricata whose rule language Sluice
 * implements (RULE_SURICATA_VERSION), features and keywords with the keywords of this build.
 *
 * Suricata's grammar is kept: a list of KEY VALUE with commas; the numbers of a version are at most 255, and a space,
 * '.', '-' or the end follows each; comparisons side by side must all be true, and of alternatives separated by '|' at
 * least one. Suricata silently ignores the text after the last comparison that it can parse. Sluice ignores it with a
 * warning.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rule_priv.h"

enum { MAX_PART = 255 };

/* Features of Suricata, and the keyword that exists if Sluice has the feature. */
static const struct {
    const char *feature, *keyword;
} features[] = {
    { "geoip", "geoip" },
    { "ja3", "ja3.hash" },
    { "ja4", "ja4.hash" },
    { "lua", "lua" },
    { "output::file-store", "filestore" },
};

struct comparison {
    bool or_equal, greater;
    unsigned version[3];
};

static void skip(struct span *text, size_t length)
{
    text->at += length;
    text->length -= length;
}

static void skip_spaces(struct span *text)
{
    while (text->length > 0 && isspace((unsigned char)text->at[0]))
        skip(text, 1);
}

/* Removes a comparison such as ">= 7.0.4" from `text`. Returns false, and removes nothing, if there is none. */
static bool parse_comparison(struct span *text, struct comparison *out)
{
    struct span rest = *text;

    skip_spaces(&rest);
    if (rest.length == 0 || (rest.at[0] != '<' && rest.at[0] != '>'))
        return false;
    out->greater = rest.at[0] == '>';
    skip(&rest, 1);
    out->or_equal = rest.length > 0 && rest.at[0] == '=';
    skip(&rest, out->or_equal);
    skip_spaces(&rest);
    for (size_t i = 0; i < 3; i++) {
        uint64_t number;
        size_t length = 0;

        out->version[i] = 0;
        if (i > 0 && (rest.length == 0 || rest.at[0] == ' '))
            continue;
        if (i > 0 && rest.at[0] != '.')
            return false;
        skip(&rest, i > 0);
        while (length < rest.length && !strchr(".- ", rest.at[length]))
            length++;
        if (!span_to_uint((struct span){ rest.at, length }, 0, MAX_PART, &number))
            return false;
        out->version[i] = (unsigned)number;
        skip(&rest, length);
    }
    *text = rest;
    return true;
}

static bool is_true(const struct comparison *comparison)
{
    static const unsigned own[3] = { RULE_SURICATA_MAJOR, RULE_SURICATA_MINOR, RULE_SURICATA_PATCH };

    for (size_t i = 0; i < 3; i++) {
        if (own[i] != comparison->version[i])
            return comparison->greater == (own[i] > comparison->version[i]);
    }
    return comparison->or_equal;
}

/* Evaluates the value of `version`. Returns 1 if it is true, 0 if not, or -EINVAL after reporting a mistake. */
static int check_version(struct rule_parser *parser, struct span value)
{
    struct comparison comparison;
    struct span rest = value;
    bool any = false;

    for (;;) {
        struct span alternative = rest;
        bool all = true, first = true;

        for (; parse_comparison(&rest, &comparison); first = false)
            all &= is_true(&comparison);
        if (first && alternative.at == value.at)
            return rule_parser_error(parser, value,
                                     "'" SPAN_FORMAT "' is no version range; write for example `version >= 7.0.4 < 8`",
                                     SPAN_ARGS(span_shown(value)));
        if (first) {
            rest = (struct span){ alternative.at - 1, alternative.length + 1 }; /* with the '|' */
            break;
        }
        any |= all;
        skip_spaces(&rest);
        if (rest.length == 0 || rest.at[0] != '|')
            break;
        skip(&rest, 1);
    }
    if (rest.length > 0)
        rule_parser_warning(parser, rest, "'" SPAN_FORMAT "' after the version range is ignored, as in Suricata",
                            SPAN_ARGS(span_shown(rest)));
    return any;
}

static bool has_keyword(const struct rule_parser *parser, struct span name)
{
    return keyword_table_find(parser->list->options.keywords, name) != NULL;
}

static bool has_feature(const struct rule_parser *parser, struct span name)
{
    for (size_t i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
        if (span_equal(name, features[i].feature))
            return has_keyword(parser, span_of(features[i].keyword)) &&
                   (strcmp(features[i].feature, "lua") != 0 || script_is_available());
    }
    return false;
}

/* Evaluates the value of one `requires`. Returns 0, 1 if it is not met, with parser->reason, or -EINVAL after reporting
 * a mistake. */
static int check_requirements(struct rule_parser *parser, struct span value)
{
    struct span rest = value, item;
    bool versioned = false, unmet = false;

    if (span_trim(value).length == 0)
        return rule_parser_error(parser, value, "'requires' needs a value, such as `version >= 8`");
    while (span_next(&rest, ',', &item)) {
        struct span key = item, argument;
        int result = 0;

        if (item.length == 0)
            continue;
        for (key.length = 0; key.length < item.length; key.length++) {
            unsigned char c = (unsigned char)item.at[key.length];

            if (!isalnum(c) && c != '-' && c != '_')
                break;
        }
        argument = span_trim((struct span){ item.at + key.length, item.length - key.length });
        if (span_equal(key, "version")) {
            if (versioned)
                return rule_parser_error(parser, item,
                                         "'requires' can have only one version; write `version >= 7.0.4 < 8`");
            versioned = true;
            result = check_version(parser, argument);
            if (result < 0)
                return result;
        } else if (span_equal(key, "feature")) {
            result = has_feature(parser, argument);
        } else if (span_equal(key, "keyword")) {
            result = has_keyword(parser, argument);
        }
        if (result == 0 && !unmet)
            snprintf(parser->reason, sizeof(parser->reason),
                     "requires '" SPAN_FORMAT "', which Sluice (rules of Suricata " RULE_SURICATA_VERSION
                     ") does not meet",
                     SPAN_ARGS(span_shown(item)));
        unmet |= result == 0;
    }
    return unmet;
}

int requires_check(struct rule_parser *parser)
{
    struct span text = parser->statement->text, option;
    const char *open = memchr(text.at, '(', text.length);
    int result = 0;
    bool terminated;

    if (!open || !memmem(text.at, text.length, "requires", strlen("requires")))
        return 0;
    skip(&text, (size_t)(open - text.at) + 1);
    while (result == 0 && rule_parser_next_option(&text, &option, &terminated) && terminated) {
        const char *colon = memchr(option.at, ':', option.length);
        size_t length = colon ? (size_t)(colon - option.at) : option.length;

        if (colon && span_equal_nocase(span_trim((struct span){ option.at, length }), "requires"))
            result = check_requirements(parser, span_trim((struct span){ colon + 1, option.length - length - 1 }));
    }
    return result;
}
