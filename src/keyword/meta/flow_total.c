/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "flow_total.h"

#include <errno.h>

static const char *const sides[] = {
    [FLOW_TOTAL_TO_SERVER] = "toserver",
    [FLOW_TOTAL_TO_CLIENT] = "toclient",
    [FLOW_TOTAL_EITHER] = "either",
    [FLOW_TOTAL_BOTH] = "both",
};

int flow_total_condition_of(struct rule_parser *parser, struct span value, uint64_t limit, enum flow_total_side side)
{
    struct flow_total *total = arena_alloc(rule_parser_arena(parser), sizeof(*total));

    if (!total)
        return -ENOMEM;
    total->side = side;
    int err = number_range_parse(parser, value, limit, NULL, &total->range);

    return err ? err : rule_parser_add_packet_condition(parser, total, false);
}

int flow_total_condition(struct rule_parser *parser, struct span value, uint64_t limit)
{
    struct span number = value, name;

    span_next(&number, ',', &name);
    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        if (!span_equal(name, sides[i]))
            continue;
        if (!number.at)
            return rule_parser_error(parser, name, "'%s' needs a number: %s,NUMBER", sides[i], sides[i]);
        return flow_total_condition_of(parser, span_trim(number), limit, (enum flow_total_side)i);
    }
    return rule_parser_error(parser, name, "expected toserver, toclient, either or both, got '" SPAN_FORMAT "'",
                             SPAN_ARGS(name));
}

static bool total_has(const struct flow_total *total, uint64_t to_server, uint64_t to_client)
{
    bool server = number_range_has(&total->range, to_server);
    bool client = number_range_has(&total->range, to_client);

    switch (total->side) {
    case FLOW_TOTAL_TO_SERVER:
        return server;
    case FLOW_TOTAL_TO_CLIENT:
        return client;
    case FLOW_TOTAL_EITHER:
        return server || client;
    case FLOW_TOTAL_BOTH:
        return server && client;
    }
    return false;
}

bool flow_total_packets(const struct match_input *in, const void *data)
{
    const struct flow *flow = in->packet->flow;

    return flow && total_has(data, flow->side[FLOW_TO_SERVER].packets, flow->side[FLOW_TO_CLIENT].packets);
}

bool flow_total_bytes(const struct match_input *in, const void *data)
{
    const struct flow *flow = in->packet->flow;

    return flow && total_has(data, flow->side[FLOW_TO_SERVER].bytes, flow->side[FLOW_TO_CLIENT].bytes);
}
