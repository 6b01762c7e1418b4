/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * flow:to_server,established; the direction and state of the packet's flow, and whether contents are searched in the
 * stream or in packets.
 *
 * Words of the same group exclude each other. The conditions on the packet form a mask over its flags. A packet
 * without a flow counts as to_server when the rule requires only a direction, and it matches no_stream without a
 * direction; in every other case it does not match (Suricata: flow_gh, SIG_FLAG_INIT_FLOW and FlowMatch).
 */
#include <errno.h>

#include "sluice/keyword.h"

extern const struct keyword keyword_flow;

enum flow_group { GROUP_DIRECTION, GROUP_STATE, GROUP_STREAM, GROUP_FRAGMENT, GROUP_COUNT };

struct flow_word {
    const char *name;
    enum flow_group group;
    uint32_t mask, value; /* `value` has the required values of the bits of packet->flags that `mask` selects */
    enum rule_payload payload;
};

static const struct flow_word words[] = {
    { "to_server", GROUP_DIRECTION, PACKET_TO_CLIENT, 0, RULE_PAYLOAD_DEFAULT },
    { "from_client", GROUP_DIRECTION, PACKET_TO_CLIENT, 0, RULE_PAYLOAD_DEFAULT },
    { "to_client", GROUP_DIRECTION, PACKET_TO_CLIENT, PACKET_TO_CLIENT, RULE_PAYLOAD_DEFAULT },
    { "from_server", GROUP_DIRECTION, PACKET_TO_CLIENT, PACKET_TO_CLIENT, RULE_PAYLOAD_DEFAULT },
    { "established", GROUP_STATE, PACKET_ESTABLISHED, PACKET_ESTABLISHED, RULE_PAYLOAD_DEFAULT },
    { "not_established", GROUP_STATE, PACKET_ESTABLISHED, 0, RULE_PAYLOAD_DEFAULT },
    { "stateless", GROUP_STATE, 0, 0, RULE_PAYLOAD_DEFAULT },
    { "only_stream", GROUP_STREAM, 0, 0, RULE_PAYLOAD_STREAM_ONLY },
    { "no_stream", GROUP_STREAM, 0, 0, RULE_PAYLOAD_PACKET_ONLY },
    { "only_frag", GROUP_FRAGMENT, PACKET_REASSEMBLED, PACKET_REASSEMBLED, RULE_PAYLOAD_DEFAULT },
    { "no_frag", GROUP_FRAGMENT, PACKET_REASSEMBLED, 0, RULE_PAYLOAD_DEFAULT },
};

struct flow_condition {
    uint32_t mask, value;
    enum rule_payload payload;
    bool direction_only; /* true: the condition has nothing but a direction */
    /* true: no condition on the state or on fragments, only on the direction and on where contents are searched */
    bool header_only;
    bool needs_flow;
};

static bool flow_match(const struct match_input *in, const void *data)
{
    const struct flow_condition *want = data;

    if ((in->packet->flags & want->mask) != want->value || (want->needs_flow && !in->packet->flow))
        return false;
    return want->payload == RULE_PAYLOAD_DEFAULT || in->in_stream == (want->payload == RULE_PAYLOAD_STREAM_ONLY);
}

static void flow_narrow(const void *data, struct packet_needs *needs)
{
    const struct flow_condition *want = data;

    packet_needs_properties(needs, want->mask, want->value);
}

/* Returns whether the condition is part of the rule's header: it has no condition on the state or on fragments. */
static bool flow_is_header(const void *data)
{
    const struct flow_condition *want = data;

    return want->header_only;
}

static const struct flow_word *find_word(struct span text)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (span_equal_nocase(text, words[i].name))
            return &words[i];
    }
    return NULL;
}

static int parse_words(struct rule_parser *parser, struct span rest, const struct flow_word *seen[GROUP_COUNT])
{
    for (struct span part; span_next(&rest, ',', &part);) {
        const struct flow_word *word = find_word(part);

        if (!word)
            return rule_parser_error(parser, part,
                                     "unknown word '" SPAN_FORMAT "'; flow has to_server, from_client, to_client, "
                                     "from_server, established, not_established, stateless, only_stream, no_stream, "
                                     "only_frag and no_frag",
                                     SPAN_ARGS(part));
        if (seen[word->group])
            return rule_parser_error(parser, part, "'%s' can't be used together with '%s'; leave one of them out",
                                     word->name, seen[word->group]->name);
        seen[word->group] = word;
    }
    return 0;
}

static void combine(const struct flow_word *const seen[GROUP_COUNT], struct flow_condition *out)
{
    out->direction_only = true;
    for (size_t i = 0; i < GROUP_COUNT; i++) {
        if (!seen[i])
            continue;
        out->mask |= seen[i]->mask;
        out->value |= seen[i]->value;
        out->payload = seen[i]->payload != RULE_PAYLOAD_DEFAULT ? seen[i]->payload : out->payload;
        out->direction_only &= i == GROUP_DIRECTION;
    }
    out->header_only = !seen[GROUP_STATE] && !seen[GROUP_FRAGMENT];
    out->needs_flow = !out->direction_only && (seen[GROUP_DIRECTION] || out->payload != RULE_PAYLOAD_PACKET_ONLY);
}

/* Checks a `flow` against earlier ones of the rule. As in Suricata, a `flow` that has only a direction may be followed
 * by another one: flow:to_server; flow:established. */
static int check_earlier(struct rule_parser *parser, struct span value, const struct flow_condition *added)
{
    for (const struct condition *c = rule_parser_rule(parser)->packet_conditions; c; c = c->next) {
        const struct flow_condition *earlier = c->data;

        if (c->keyword != &keyword_flow)
            continue;
        if (!earlier->direction_only)
            return rule_parser_error(parser, value, "a rule can have only one 'flow'; write its words in one list");
        if ((earlier->value ^ added->value) & earlier->mask & added->mask)
            return rule_parser_error(parser, value, "an earlier 'flow' selects the other direction");
    }
    return 0;
}

static int flow_parse(struct rule_parser *parser, struct span value)
{
    struct flow_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    const struct flow_word *seen[GROUP_COUNT] = { 0 };

    if (!condition)
        return -ENOMEM;
    int err = parse_words(parser, value, seen);

    if (err)
        return err;
    combine(seen, condition);
    err = check_earlier(parser, value, condition);
    if (err)
        return err;
    if (seen[GROUP_DIRECTION]) {
        err = rule_parser_require_directions(
            parser, 1U << (seen[GROUP_DIRECTION]->value & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER));
        if (err)
            return err;
    }
    if (condition->payload != RULE_PAYLOAD_DEFAULT)
        rule_parser_rule(parser)->payload = condition->payload;
    return rule_parser_add_packet_condition(parser, condition, false);
}

/* Removes only_stream and no_stream from the condition if the rule has no content in the payload: then it does not
 * matter whether contents are searched in the stream or in packets. */
static int flow_finish(struct rule_parser *parser, const struct condition *condition)
{
    struct flow_condition *want = (struct flow_condition *)condition->data;

    for (const struct rule_buffer *buffer = rule_parser_rule(parser)->buffers; buffer; buffer = buffer->next) {
        if (!buffer->keyword)
            return 0;
    }
    want->payload = RULE_PAYLOAD_DEFAULT;
    want->needs_flow &= !want->header_only || want->mask != 0;
    return 0;
}

const struct keyword keyword_flow = {
    .name = "flow",
    .value = "[to_server|to_client][,established|not_established|stateless][,only_stream|no_stream]"
             "[,only_frag|no_frag]",
    .help = "direction and state of the packet's flow",
    .manual = "from_client is an alias of to_server, from_server of to_client. A TCP flow is established "
              "once its handshake is complete, any other flow once packets were seen in both directions. "
              "only_stream searches contents in the reassembled stream only, no_stream in single packets "
              "only. only_frag matches packets reassembled from fragments, no_frag all others. A packet "
              "without a flow counts as to_server; it matches a direction alone, or no_stream, but no "
              "state.",
    .kind = KEYWORD_PACKET,
    .flags = KEYWORD_STATE,
    .parse = flow_parse,
    .finish = flow_finish,
    .packet = { .match = flow_match, .is_header = flow_is_header },
    .hints = &(const struct prefilter_hints){ .narrow = flow_narrow },
};
