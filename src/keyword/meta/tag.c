/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tag:session|host[,COUNT,packets|seconds|bytes[,src|dst][,exclusive]]; selects packets to log in addition to the
 * matching one. The policy module implements the tagging.
 */
#include <errno.h>

#include "sluice/keyword.h"

static int parse_scope(struct rule_parser *parser, struct span text, struct rule_tag *tag)
{
    if (span_equal(text, "session"))
        tag->scope = TAG_SESSION;
    else if (span_equal(text, "host"))
        tag->scope = TAG_HOST;
    else
        return rule_parser_error(
            parser, text, "'tag' needs session or host as its first argument, got '" SPAN_FORMAT "'", SPAN_ARGS(text));
    return 0;
}

static int parse_unit(struct rule_parser *parser, struct span text, struct rule_tag *tag)
{
    static const char *const units[] = {
        [TAG_PACKETS] = "packets",
        [TAG_SECONDS] = "seconds",
        [TAG_BYTES] = "bytes",
    };

    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (span_equal(text, units[i])) {
            tag->unit = (enum tag_unit)i;
            return 0;
        }
    }
    return rule_parser_error(parser, text, "expected packets, seconds or bytes, got '" SPAN_FORMAT "'",
                             SPAN_ARGS(text));
}

static int parse_count(struct rule_parser *parser, struct span count, struct span unit, struct rule_tag *tag)
{
    uint64_t number = 0;

    if (!span_to_uint(count, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, count, "expected a number from 0 to %u, got '" SPAN_FORMAT "'", UINT32_MAX,
                                 SPAN_ARGS(count));
    int err = parse_unit(parser, unit, tag);

    if (err)
        return err;
    tag->count = (uint32_t)number;
    if (tag->unit == TAG_PACKETS && tag->count > RULE_TAG_MAX_PACKETS) {
        rule_parser_warning(parser, count, "the count is limited to %d packets", RULE_TAG_MAX_PACKETS);
        tag->count = RULE_TAG_MAX_PACKETS;
    }
    return 0;
}

static int parse_side(struct rule_parser *parser, struct span text, struct rule_tag *tag)
{
    if (span_equal(text, "exclusive")) {
        tag->exclusive = true;
        return 0;
    }
    if (!span_equal(text, "src") && !span_equal(text, "dst"))
        return rule_parser_error(parser, text, "expected src, dst or exclusive, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(text));
    tag->of_source = span_equal(text, "src");
    if (tag->scope == TAG_SESSION)
        rule_parser_warning(parser, text, "'" SPAN_FORMAT "' has no effect for a session", SPAN_ARGS(text));
    return 0;
}

static int parse_fields(struct rule_parser *parser, struct span rest, struct rule_tag *tag)
{
    struct span scope, count, unit, side;
    int err;

    span_next(&rest, ',', &scope);
    err = parse_scope(parser, scope, tag);
    if (err || !span_next(&rest, ',', &count))
        return err;
    if (!span_next(&rest, ',', &unit))
        return rule_parser_error(parser, count, "a unit must follow the count: packets, seconds or bytes");
    err = parse_count(parser, count, unit, tag);
    while (!err && span_next(&rest, ',', &side))
        err = parse_side(parser, side, tag);
    return err;
}

static int tag_parse(struct rule_parser *parser, struct span value)
{
    struct rule *rule = rule_parser_rule(parser);
    struct rule_tag *tag = arena_alloc(rule_parser_arena(parser), sizeof(*tag));

    if (!tag)
        return -ENOMEM;
    *tag = (struct rule_tag){ .count = RULE_TAG_MAX_PACKETS, .unit = TAG_PACKETS, .next = rule->tag };
    int err = parse_fields(parser, value, tag);

    if (!err)
        rule->tag = tag;
    return err;
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
