/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flowbits:COMMAND,NAME; bits that rules set on a flow for other rules.
 *
 * isset and isnotset are conditions; a packet without a flow never matches them. set, unset and toggle run once all
 * conditions of the rule have matched. `a|b` lists alternatives: isset matches when any of them is set, isnotset when
 * any of them is not set.
 */
#include <errno.h>

#include "state_name.h"

extern const struct keyword keyword_flowbits;

enum { MAX_NAMES = 100 };

enum bit_command { BIT_IS_SET, BIT_IS_NOT_SET, BIT_SET, BIT_UNSET, BIT_TOGGLE };

struct flow_bits {
    enum bit_command command;
    uint32_t count;
    uint32_t numbers[];
};

static const struct {
    const char *name;
    enum bit_command command;
    bool is_action;
} commands[] = {
    { "isset", BIT_IS_SET, false }, { "isnotset", BIT_IS_NOT_SET, false }, { "set", BIT_SET, true },
    { "unset", BIT_UNSET, true },   { "toggle", BIT_TOGGLE, true },
};

enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static bool flowbits_match(const struct match_input *in, const void *data)
{
    const struct flow_bits *bits = data;
    const struct flow *flow = in->packet->flow;
    bool wanted = bits->command == BIT_IS_SET;

    for (uint32_t i = 0; flow && i < bits->count; i++) {
        if (flow_bit_is_set(flow, bits->numbers[i]) == wanted)
            return true;
    }
    return false;
}

static bool flowbits_needs_variables(const void *data)
{
    return ((const struct flow_bits *)data)->command == BIT_IS_SET;
}

static void flowbits_act(const struct match_input *in, const void *data)
{
    const struct flow_bits *bits = data;
    struct flow *flow = in->packet->flow;
    uint32_t number = bits->numbers[0];

    if (!flow)
        return;
    if (bits->command == BIT_SET || (bits->command == BIT_TOGGLE && !flow_bit_is_set(flow, number)))
        flow_bit_set(in->flows, flow, number);
    else
        flow_bit_clear(in->flows, flow, number);
}

/* Returns whether one of the conditions is a flowbits option with this command and with this name alone. */
static bool has_command(const struct condition *conditions, enum bit_command command, uint32_t number)
{
    for (const struct condition *c = conditions; c; c = c->next) {
        const struct flow_bits *bits = c->data;

        if (c->keyword == &keyword_flowbits && bits->command == command && bits->count == 1 &&
            bits->numbers[0] == number)
            return true;
    }
    return false;
}

static int add_command(struct rule_parser *parser, struct span value, struct span names, size_t row)
{
    bool is_action = commands[row].is_action;
    unsigned use = is_action ? RULE_STATE_WRITES : RULE_STATE_READS;
    struct flow_bits *bits;
    uint32_t count = 1;

    for (size_t i = 0; i < names.length; i++)
        count += names.at[i] == '|';
    if (is_action && count > 1)
        return rule_parser_error(parser, names, "'%s' takes one name; write a 'flowbits' for each", commands[row].name);
    if (count > MAX_NAMES)
        return rule_parser_error(parser, names, "a list can have at most %d names", MAX_NAMES);
    bits = arena_alloc(rule_parser_arena(parser), sizeof(*bits) + count * sizeof(bits->numbers[0]));
    if (!bits)
        return -ENOMEM;
    bits->command = commands[row].command;
    for (struct span name; span_next(&names, '|', &name); bits->count++) {
        int err = state_name_number(parser, RULE_NAME_FLOWBIT, name, use, &bits->numbers[bits->count]);

        if (err)
            return err;
    }
    if (!is_action && bits->count == 1 &&
        has_command(rule_parser_rule(parser)->packet_conditions,
                    bits->command == BIT_IS_SET ? BIT_IS_NOT_SET : BIT_IS_SET, bits->numbers[0]))
        return rule_parser_error(parser, value,
                                 "the rule can't match: it tests the same bit with both isset and isnotset");
    /* As in Suricata, an address-only rule may set bits, because setting one again changes nothing. */
    return is_action ? rule_parser_add_action(parser, flowbits_act, bits, bits->command != BIT_SET)
                     : rule_parser_add_packet_condition(parser, bits, false);
}

static int flowbits_parse(struct rule_parser *parser, struct span value)
{
    struct span names = value, command;

    span_next(&names, ',', &command);
    if (span_equal(command, "noalert")) {
        if (names.at)
            return rule_parser_error(parser, names, "'noalert' takes no name");
        rule_parser_rule(parser)->noalert = true;
        return 0;
    }
    for (size_t row = 0; row < COMMANDS; row++) {
        if (!span_equal(command, commands[row].name))
            continue;
        if (!names.at)
            return rule_parser_error(parser, command, "'%s' needs a name: %s,NAME", commands[row].name,
                                     commands[row].name);
        return add_command(parser, value, span_trim(names), row);
    }
    return rule_parser_error(parser, command,
                             "unknown command '" SPAN_FORMAT
                             "'; flowbits supports set, unset, toggle, isset, isnotset and "
                             "noalert",
                             SPAN_ARGS(command));
}

const struct keyword keyword_flowbits = {
    .name = "flowbits",
    .value = "set|unset|toggle,NAME; isset|isnotset,NAME[|NAME...]; or noalert",
    .help = "test or change named bits of the packet's flow, shared with other rules",
    .manual = "isset and isnotset are conditions; of several names, one that is (or is not) set suffices. "
              "set, unset and toggle run after the rule has matched. Names are case-sensitive. The "
              "conditions never match packets without a flow.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = flowbits_parse,
    .hints = &(const struct prefilter_hints){ .needs_variables = flowbits_needs_variables },
    .packet = { .cost = 1, .match = flowbits_match },
};
