/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * fwsam:src, 10 minutes; when the rule drops a packet, the kernel drops the host's packets for this time, without
 * queueing them. The keyword and its value, WHO[HOW], TIME, are those of SnortSam. A block always covers packets from
 * and to the host, so HOW is accepted and ignored.
 */
#include "sluice/keyword.h"

enum { DAY = 86400 };

struct word {
    const char *text;
    uint32_t value;
};

static const struct word sides[] = {
    { "src", RULE_BLOCK_SOURCE },       { "source", RULE_BLOCK_SOURCE },           { "dst", RULE_BLOCK_DESTINATION },
    { "dest", RULE_BLOCK_DESTINATION }, { "destination", RULE_BLOCK_DESTINATION }, { "both", RULE_BLOCK_BOTH },
    { "either", RULE_BLOCK_BOTH },
};

/* Units of time; any prefix of a name is accepted. The time must not exceed one year. */
static const struct word units[] = {
    { "seconds", 1 },     { "minutes", 60 },      { "hours", 3600 },      { "days", DAY },
    { "weeks", 7 * DAY }, { "months", 30 * DAY }, { "years", 365 * DAY },
};

static const struct word for_good[] = { { "permanent", 0 }, { "infinite", 0 }, { "always", 0 } };

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Returns the first word that begins with `span`, ignoring case; NULL if there is none or `span` has fewer than `least`
 * characters. */
static const struct word *find_word(const struct word *words, size_t count, struct span span, size_t least)
{
    for (size_t i = 0; i < count; i++) {
        struct span begin = { .at = words[i].text, .length = span.length };

        if (span.length < least || span.length > strlen(words[i].text))
            continue;
        char lower[16];

        memcpy(lower, begin.at, begin.length);
        lower[begin.length] = '\0';
        if (span_equal_nocase(span, lower))
            return &words[i];
    }
    return NULL;
}

static int parse_who(struct rule_parser *parser, struct span value, enum rule_block *out)
{
    struct span name = value;
    const struct word *side = NULL;

    for (size_t i = 0; i < value.length; i++)
        if (value.at[i] == '[')
            name.length = i;
    name = span_trim(name);
    for (size_t i = 0; i < COUNT(sides) && !side; i++)
        if (span_equal_nocase(name, sides[i].text))
            side = &sides[i];
    if (!side)
        return rule_parser_error(parser, value, "'fwsam' blocks src, dst or both, not '" SPAN_FORMAT "'",
                                 SPAN_ARGS(value));
    *out = (enum rule_block)side->value;
    return 0;
}

static int parse_time(struct rule_parser *parser, struct span value, uint32_t *out)
{
    struct span number = { .at = value.at, .length = 0 }, unit = value;
    const struct word *word = find_word(for_good, COUNT(for_good), value, 3);
    uint64_t seconds, factor = 1;

    if (word) {
        *out = 0;
        return 0;
    }
    while (number.length < value.length && value.at[number.length] >= '0' && value.at[number.length] <= '9')
        number.length++;
    unit.at += number.length;
    unit.length -= number.length;
    unit = span_trim(unit);
    if (unit.length > 0) {
        word = find_word(units, COUNT(units), unit, 1);
        factor = word ? word->value : 0;
    }
    if (!span_to_uint(number, 0, 365 * DAY, &seconds) || factor == 0 || seconds * factor > 365 * DAY)
        return rule_parser_error(parser, value,
                                 "'fwsam' needs a time of at most a year such as 10 minutes, or permanent, not "
                                 "'" SPAN_FORMAT "'",
                                 SPAN_ARGS(value));
    *out = (uint32_t)(seconds * factor);
    return 0;
}

static int fwsam_parse(struct rule_parser *parser, struct span value)
{
    struct rule *rule = rule_parser_rule(parser);
    enum rule_block who = RULE_BLOCK_NONE;
    uint32_t seconds = RULE_BLOCK_SECONDS_DEFAULT;
    struct span rest = value, part;
    int err = 0;

    if (rule->action == ACTION_ALERT || rule->action == ACTION_PASS)
        rule_parser_warning(parser, value, "'fwsam' blocks hosts of rules that drop; this one does not");
    if (span_next(&rest, ',', &part))
        err = parse_who(parser, part, &who);
    if (!err && span_next(&rest, ',', &part))
        err = parse_time(parser, part, &seconds);
    if (!err && rest.at)
        err = rule_parser_error(parser, value, "'fwsam' needs an address and a duration: src, 10 minutes");
    if (err)
        return err;
    rule->block = who;
    rule->block_seconds = seconds;
    return 0;
}

const struct keyword keyword_fwsam = {
    .name = "fwsam",
    .value = "src|dst|both[, TIME]",
    .help = "block a host of the dropped packet in the kernel for a time (nft.blocklist.enabled)",
    .manual = "TIME is a number with seconds, minutes, hours, days, weeks, months or years, or permanent "
              "(default\n"
              "nft.blocklist.timeout). src and dst are the addresses of the dropped packet. Addresses in\n"
              "nft.blocklist.never are not blocked.",
    .kind = KEYWORD_META,
    .parse = fwsam_parse,
};
