/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host_bit.h"

#include <errno.h>

#include "sluice/clock.h"
#include "sluice/host.h"
#include "state_name.h"

static const struct {
    const char *name;
    enum host_bit_command command;
} commands[] = {
    { "isset", HOST_BIT_IS_SET }, { "isnotset", HOST_BIT_IS_NOT_SET }, { "set", HOST_BIT_SET },
    { "unset", HOST_BIT_UNSET },  { "toggle", HOST_BIT_TOGGLE },
};

static bool is_action(enum host_bit_command command)
{
    return command != HOST_BIT_IS_SET && command != HOST_BIT_IS_NOT_SET;
}

int host_bit_parse_command(struct rule_parser *parser, struct span *rest, enum host_bit_command *command, bool *done)
{
    struct span word = *rest;

    *done = false;
    span_next(rest, ',', &word);
    if (span_equal(word, "noalert")) {
        if (rest->at)
            return rule_parser_error(parser, *rest, "nothing may follow 'noalert'");
        rule_parser_rule(parser)->noalert = *done = true;
        return 0;
    }
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
        if (!span_equal(word, commands[i].name))
            continue;
        if (!rest->at)
            return rule_parser_error(parser, word, "'%s' needs a name: %s,NAME", commands[i].name, commands[i].name);
        *command = commands[i].command;
        return 0;
    }
    return rule_parser_error(
        parser, word, "unknown command '" SPAN_FORMAT "'; expected set, unset, toggle, isset, isnotset or noalert",
        SPAN_ARGS(word));
}

int host_bit_add(struct rule_parser *parser, struct span name, const struct host_bit *bit)
{
    enum rule_name_kind kind = bit->track == HOST_BIT_PAIR ? RULE_NAME_XBIT : RULE_NAME_HOSTBIT;
    struct host_bit *copy = arena_alloc(rule_parser_arena(parser), sizeof(*copy));
    bool acts = is_action(bit->command);

    if (!copy)
        return -ENOMEM;
    *copy = *bit;
    int err = state_name_number(parser, kind, name, acts ? RULE_STATE_WRITES : RULE_STATE_READS, &copy->number);

    if (err)
        return err;
    return acts ? rule_parser_add_action(parser, host_bit_act, copy, false)
                : rule_parser_add_packet_condition(parser, copy, false);
}

/* Sets *key for the bit of the packet's address or addresses. Returns false if the packet has no IP addresses. */
static bool make_key(const struct match_input *in, const struct host_bit *bit, struct host_key *key)
{
    const struct packet *pkt = in->packet;

    if (pkt->ip_version == 0 || !in->hosts)
        return false;
    *key = (struct host_key){
        .first = bit->track == HOST_BIT_DESTINATION ? pkt->destination_address : pkt->source_address,
        .ip_version = pkt->ip_version,
        .is_pair = bit->track == HOST_BIT_PAIR,
        .number = bit->number,
    };
    if (key->is_pair)
        key->second = pkt->destination_address;
    return true;
}

bool host_bit_match(const struct match_input *in, const void *data)
{
    const struct host_bit *bit = data;
    struct host_key key;

    if (!make_key(in, bit, &key))
        return false;
    replay_order_wait(in->order);
    return host_bit_is_set(in->hosts, &key, in->packet->time_ns) == (bit->command == HOST_BIT_IS_SET);
}

void host_bit_act(const struct match_input *in, const void *data)
{
    const struct host_bit *bit = data;
    uint64_t now_ns = in->packet->time_ns;
    uint64_t expires_ns = now_ns + bit->expire_seconds * NS_PER_SECOND;
    struct host_key key;

    if (!make_key(in, bit, &key))
        return;
    replay_order_wait(in->order);
    if (bit->command == HOST_BIT_SET)
        host_bit_set(in->hosts, &key, now_ns, expires_ns);
    else if (bit->command == HOST_BIT_TOGGLE)
        host_bit_toggle(in->hosts, &key, now_ns, expires_ns);
    else
        host_bit_clear(in->hosts, &key, in->packet->time_ns);
}
