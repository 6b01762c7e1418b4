/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * replace:"BYTES"; in inline mode, replaces the bytes that the preceding content matched, when the rule matches. A rule
 * with replace must inspect single packets, because earlier data of a stream has already been forwarded.
 */
#include <errno.h>

#include "condition.h"
#include "literal.h"
#include "sluice/edit.h"

extern const struct keyword keyword_replace;

struct replacement {
    const struct rule *rule;
    const uint8_t *bytes;
    struct span value; /* the value, as the position of errors that finish() reports */
    uint16_t length;
    uint8_t slot; /* index of the replacement among the pending edits of the rule */
};

void replacement_note(const struct inspection *in, const struct replacement *replacement, uint32_t offset)
{
    const struct packet *pkt = in->input->packet;

    if (pkt->edits && in->data == pkt->payload)
        edit_note(pkt->edits, replacement->slot, offset, replacement->length, replacement->bytes);
}

static void replace_act(const struct match_input *in, const void *data)
{
    const struct replacement *replacement = data;

    if (!in->packet->edits || in->in_stream)
        return;
    if (replacement->rule->alert_only)
        in->packet->edits->withheld++;
    else
        edit_commit(in->packet->edits, replacement->slot);
}

int replacement_finish(struct rule_parser *parser, const struct content_condition *condition)
{
    const struct rule *rule = rule_parser_rule(parser);

    if (rule->payload == RULE_PAYLOAD_PACKET_ONLY && !rule->protocol.stream_only)
        return 0;
    return rule_parser_error(parser, condition->replacement->value,
                             "'replace' can't be used in a stream, whose earlier bytes have been forwarded already; "
                             "it needs single packets: tcp, tcp-pkt, udp or icmp, without flow:only_stream");
}

/* Returns whether the rule's protocol has a checksum over the payload that Sluice can update. */
static bool protocol_can(const struct rule *rule)
{
    enum { TCP = 6, UDP = 17, ICMP = 1, ICMPV6 = 58 };
    uint64_t first = rule->protocol.ip_protocols[0];

    return (first & (UINT64_C(1) << TCP | UINT64_C(1) << UDP | UINT64_C(1) << ICMP | UINT64_C(1) << ICMPV6)) &&
           !rule->protocol.stream_only;
}

static uint8_t count_replacements(const struct rule *rule)
{
    unsigned count = 0;

    for (const struct match_action *action = rule->actions; action; action = action->next)
        count += action->keyword == &keyword_replace;
    return (uint8_t)(count < EDIT_MAX_PENDING ? count : EDIT_MAX_PENDING);
}

static int check_place(struct rule_parser *parser, struct span value, const struct content_condition *condition)
{
    if (!condition || rule_parser_current_buffer(parser))
        return rule_parser_error(parser, value, "'replace' must follow a content on the payload");
    if (condition->content.negated)
        return rule_parser_error(parser, value, "a negated content can't be replaced");
    if (condition->replacement)
        return rule_parser_error(parser, value, "the content already has a replacement");
    if (!protocol_can(rule_parser_rule(parser)))
        return rule_parser_error(parser, value, "'replace' requires a rule for single packets of tcp, udp or icmp");
    return 0;
}

static int replace_parse(struct rule_parser *parser, struct span value)
{
    /* The content is the first member of struct content_condition. */
    struct content_condition *condition = (struct content_condition *)rule_parser_last_content(parser);
    struct replacement *replacement = arena_alloc(rule_parser_arena(parser), sizeof(*replacement));
    struct rule *rule = rule_parser_rule(parser);
    uint8_t *bytes;
    int err = replacement ? check_place(parser, value, condition) : -ENOMEM;

    if (!err)
        err = literal_parse(parser, value, &bytes, &replacement->length);
    if (err)
        return err;
    if (replacement->length != condition->content.length)
        return rule_parser_error(parser, value,
                                 "the replacement must have the length of the content: it has %u bytes, the content %u",
                                 replacement->length, condition->content.length);
    replacement->rule = rule;
    replacement->bytes = bytes;
    replacement->value = value;
    replacement->slot = count_replacements(rule);
    if (replacement->slot == EDIT_MAX_PENDING)
        return rule_parser_error(parser, value, "at most %d contents of a rule can be replaced", EDIT_MAX_PENDING);
    if (rule->payload == RULE_PAYLOAD_DEFAULT)
        rule->payload = RULE_PAYLOAD_PACKET_ONLY;
    condition->replacement = replacement;
    return rule_parser_add_action(parser, replace_act, replacement, true);
}

const struct keyword keyword_replace = {
    .name = "replace",
    .value = "\"BYTES\"",
    .help = "replace the preceding content by as many other bytes (inline only)",
    .manual = "The value is written like a content. Checksums are updated. The rule inspects single packets "
              "instead of the stream. Packets inside tunnels and reassembled packets are not modified. "
              "Other rules see the original packet. Without inline operation nothing is replaced.",
    .kind = KEYWORD_MODIFIER,
    .parse = replace_parse,
};
