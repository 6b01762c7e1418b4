/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tag:session|host[,COUNT,packets|seconds|bytes[,src|dst][,exclusive]]; selects packets to log in addition to the
 * matching one. The policy module implements the tagging.
 */
#include <errno.h>

#include "sluice/keyword.h"

static int tag_parse(struct rule_parser *parser, struct span value)
{
    static const char *const units[] = {
        [TAG_PACKETS] = "packets",
        [TAG_SECONDS] = "seconds",
        [TAG_BYTES] = "bytes",
    };
    enum { UNITS = sizeof(units) / sizeof(units[0]) };
    struct rule *rule = rule_parser_rule(parser);
    struct rule_tag *tag = arena_alloc(rule_parser_arena(parser), sizeof(*tag));
    struct span rest = value, scope, count, unit, word;
    uint64_t number = 0;
    size_t row = 0;

    if (!tag)
        return -ENOMEM;
    *tag = (struct rule_tag){ .count = RULE_TAG_MAX_PACKETS, .unit = TAG_PACKETS, .next = rule->tag };
    span_next(&rest, ',', &scope);
    if (!span_equal(scope, "session") && !span_equal(scope, "host"))
        return rule_parser_error(parser, scope,
                                 "'tag' needs session or host as its first argument, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(scope));
    tag->scope = span_equal(scope, "session") ? TAG_SESSION : TAG_HOST;
    if (!span_next(&rest, ',', &count))
        goto add;
    if (!span_next(&rest, ',', &unit))
        return rule_parser_error(parser, count, "a unit must follow the count: packets, seconds or bytes");
    if (!span_to_uint(count, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, count, "expected a number from 0 to %u, got '" SPAN_FORMAT "'", UINT32_MAX,
                                 SPAN_ARGS(count));
    while (row < UNITS && !span_equal(unit, units[row]))
        row++;
    if (row == UNITS)
        return rule_parser_error(parser, unit, "expected packets, seconds or bytes, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(unit));
    tag->unit = (enum tag_unit)row;
    tag->count = (uint32_t)number;
    if (tag->unit == TAG_PACKETS && tag->count > RULE_TAG_MAX_PACKETS) {
        rule_parser_warning(parser, count, "the count is limited to %d packets", RULE_TAG_MAX_PACKETS);
        tag->count = RULE_TAG_MAX_PACKETS;
    }
    while (span_next(&rest, ',', &word)) {
        if (span_equal(word, "exclusive")) {
            tag->exclusive = true;
            continue;
        }
        if (!span_equal(word, "src") && !span_equal(word, "dst"))
            return rule_parser_error(parser, word, "expected src, dst or exclusive, got '" SPAN_FORMAT "'",
                                     SPAN_ARGS(word));
        tag->of_source = span_equal(word, "src");
        if (tag->scope == TAG_SESSION)
            rule_parser_warning(parser, word, "'" SPAN_FORMAT "' has no effect for a session", SPAN_ARGS(word));
    }
add:
    rule->tag = tag;
    return 0;
}

const struct keyword keyword_tag = {
    .name = "tag",
    .value = "session|host[,COUNT,packets|seconds|bytes[,src|dst][,exclusive]]",
    .help = "log further packets of the session or host once the rule has matched",
    .manual = "COUNT is at most 256 packets (default 256). host is the packet's destination unless src is "
              "given. exclusive: a session or host that this rule already tags is not tagged again.",
    .kind = KEYWORD_META,
    .parse = tag_parse,
};
