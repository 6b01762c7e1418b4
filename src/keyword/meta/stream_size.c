/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * stream_size:SIDE,OPERATOR,NUMBER; the number of bytes a side has sent, computed from its sequence numbers, including
 * the SYN. Evaluated for TCP packets whose flow has a session.
 */
#include "sluice/stream.h"

#include <errno.h>

#include "keyword/header/header.h"
#include "sluice/number_range.h"

enum size_side { SIZE_SERVER, SIZE_CLIENT, SIZE_BOTH, SIZE_EITHER };

static const char *const sides[] = {
    [SIZE_SERVER] = "server",
    [SIZE_CLIENT] = "client",
    [SIZE_BOTH] = "both",
    [SIZE_EITHER] = "either",
};

enum { SIDES = sizeof(sides) / sizeof(sides[0]) };

struct stream_size {
    enum size_side side;
    struct number_range range;
};

static bool stream_size_match(const struct match_input *in, const void *data)
{
    const struct stream_size *size = data;
    const struct packet *pkt = in->packet;
    struct tcp_summary summary;

    if (pkt->protocol != IPPROTO_TCP || !pkt->flow || !pkt->flow->tcp)
        return false;
    stream_summary(pkt->flow, &summary);
    bool server = number_range_has(&size->range, summary.size[FLOW_TO_CLIENT]);
    bool client = number_range_has(&size->range, summary.size[FLOW_TO_SERVER]);

    switch (size->side) {
    case SIZE_SERVER:
        return server;
    case SIZE_CLIENT:
        return client;
    case SIZE_BOTH:
        return server && client;
    case SIZE_EITHER:
        return server || client;
    }
    return false;
}

/* Returns the range for an operator and a number. Unlike in other keywords, a condition that always matches is
 * accepted, because published rules have stream_size:client,>=,0. */
static struct number_range range_of(struct span operator_text, uint32_t number)
{
    struct number_range range = { .mask = UINT64_MAX, .low = number };
    char first = operator_text.at[0];
    bool with_equal = operator_text.length == 2;

    if (first == '>') {
        range.low = (uint64_t)number + !with_equal;
        range.width = UINT64_MAX - range.low;
    } else if (first == '<' && number == 0 && !with_equal) {
        range = (struct number_range){ .width = UINT64_MAX, .negated = true };
    } else if (first == '<') {
        range.low = 0;
        range.width = number - !with_equal;
    }
    if (first == '!')
        range.negated = true;
    return range;
}

static int stream_size_parse(struct rule_parser *parser, struct span value)
{
    static const char *const operators[] = { "<", "<=", ">", ">=", "=", "!=", "!" };
    struct stream_size *size = arena_alloc(rule_parser_arena(parser), sizeof(*size));
    struct span rest = value, side, operator_text, number_text;
    uint64_t number = 0;
    bool is_operator = false;
    size_t row = 0;

    if (!size)
        return -ENOMEM;
    if (!span_next(&rest, ',', &side) || !span_next(&rest, ',', &operator_text) ||
        !span_next(&rest, ',', &number_text) || rest.at)
        return rule_parser_error(parser, value, "expected SIDE,OPERATOR,NUMBER like client,>,100");
    while (row < SIDES && !span_equal(side, sides[row]))
        row++;
    if (row == SIDES)
        return rule_parser_error(parser, side, "expected server, client, both or either, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(side));
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        is_operator |= span_equal(operator_text, operators[i]);
    if (!is_operator)
        return rule_parser_error(parser, operator_text, "expected one of <, <=, >, >=, = and !=, got '" SPAN_FORMAT "'",
                                 SPAN_ARGS(operator_text));
    if (!span_to_uint(number_text, 0, UINT32_MAX, &number))
        return rule_parser_error(parser, number_text, "expected a number from 0 to %u, got '" SPAN_FORMAT "'",
                                 UINT32_MAX, SPAN_ARGS(number_text));
    size->side = (enum size_side)row;
    size->range = range_of(operator_text, (uint32_t)number);
    return rule_parser_add_packet_condition(parser, size, false);
}

const struct keyword keyword_stream_size = {
    .name = "stream_size",
    .value = "server|client|both|either,<|<=|>|>=|=|!=,NUMBER",
    .help = "number of bytes that a side of the TCP session has sent, computed from its sequence numbers",
    .manual = "A SYN counts as one byte. Packets whose flow has no TCP session do not match.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = stream_size_parse,
    .packet = { .cost = 1, .match = stream_size_match },
};
