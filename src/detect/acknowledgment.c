/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the rules that need acknowledgments: TCP segments of established connections without payload and with no flag
 * but ACK. Without such a rule, these segments need not be inspected (nft.offload.acknowledgments).
 *
 * A rule needs them if it can match one of them (these have a header and lengths without errors, no IP options, no
 * extension headers and no reserved bit), if it counts packets, or if it requires a stream event that depends on what
 * was acknowledged. In doubt a rule needs them.
 */
#include <netinet/in.h>

#include "detect_priv.h"
#include "sluice/decode_event.h"
#include "sluice/stream_event.h"

/* Returns whether packets with the event can be acknowledgments, or whether the event of another packet depends on
 * acknowledgments. Not so for events of the handshake, because acknowledgments are inspected until the connection is
 * established, and for events of other headers than that of TCP. */
static bool event_needs_acknowledgments(int event)
{
    switch (event) {
    case DECODE_EVENT_TCP_INVALID_OPTLEN:
    case DECODE_EVENT_TCP_OPT_DUPLICATE:
    case DECODE_EVENT_TCP_OPT_INVALID_LEN:
        return true;
    case STREAM_EVENT_EST_SYNACK_RESEND:
    case STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFFERENT_ACK:
    case STREAM_EVENT_EST_SYNACK_RESEND_WITH_DIFF_SEQ:
    case STREAM_EVENT_EST_SYNACK_TOSERVER:
    case STREAM_EVENT_EST_SYN_RESEND:
    case STREAM_EVENT_EST_SYN_RESEND_DIFF_SEQ:
    case STREAM_EVENT_EST_SYN_TOCLIENT:
    case STREAM_EVENT_FIN_BUT_NO_SESSION:
    case STREAM_EVENT_FIN_SYN:
    case STREAM_EVENT_RST_BUT_NO_SESSION:
    case STREAM_EVENT_RST_WITH_DATA:
    case STREAM_EVENT_SHUTDOWN_SYN_RESEND:
    case STREAM_EVENT_WRONG_THREAD:
    case STREAM_EVENT_REASSEMBLY_OVERLAP_DIFFERENT_DATA:
    case STREAM_EVENT_REASSEMBLY_DEPTH_REACHED:
    case STREAM_EVENT_REASSEMBLY_INSERT_LIMIT:
    case STREAM_EVENT_REASSEMBLY_INSERT_INVALID:
    case STREAM_EVENT_REASSEMBLY_URGENT_OOB_LIMIT_REACHED:
        return false;
    default: /* the events of the handshake come first */
        return event > STREAM_EVENT_4WHS_INVALID_ACK && event < STREAM_EVENT_END;
    }
}

/* Returns whether an acknowledgment can have the packet properties that the rule requires. Those of connections between
 * equal addresses are never offloaded. */
static bool needs_admit(const struct packet_needs *needs)
{
    const uint64_t flags = UINT64_C(0xff) << PACKET_PROPERTY_TCP_FLAGS;
    const uint64_t known = flags | PACKET_ESTABLISHED | PACKET_FRAGMENT | PACKET_PROTOCOL_DETECTED |
                           PACKET_PROPERTY_IP_OPTIONS | PACKET_PROPERTY_RESERVED_BIT | PACKET_PROPERTY_SAME_ADDRESSES;
    const uint64_t values = (uint64_t)TCP_ACK << PACKET_PROPERTY_TCP_FLAGS | PACKET_ESTABLISHED;

    return needs->payload_low == 0 && ((needs->properties ^ values) & needs->properties_mask & known) == 0;
}

bool signature_needs_acknowledgments(const struct signature *signature)
{
    const struct rule *rule = signature->rule;
    int event = rule_required_event(rule);

    /* Firewall rules are evaluated for each packet of a flow that they have not accepted: the caller of
     * ruleset_needs_acknowledgments() considers that for each flow. */
    if (rule->firewall || !signature_admits_traffic(signature, TRAFFIC_TCP))
        return false;
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->flags & KEYWORD_COUNTS_PACKETS)
            return true;
    }
    for (const struct rule_tag *tag = rule->tag; tag; tag = tag->next) {
        if (tag->scope == TAG_HOST)
            return true;
    }
    if (event >= 0)
        return event_needs_acknowledgments(event);
    if (signature->of_transaction || signature->of_frame || signature->has_payload ||
        signature->type == RULE_TYPE_IP_ONLY || signature->type == RULE_TYPE_PROTOCOL_DETECTED)
        return false;
    return needs_admit(&signature->needs);
}

int acknowledgment_rules_find(struct ruleset *ruleset)
{
    int err = 0;

    for (uint32_t i = 0; i < ruleset->signature_count && !err; i++) {
        if (signature_needs_acknowledgments(&ruleset->signatures[i]))
            err = signature_list_add(&ruleset->acknowledgment_rules, i);
    }
    return err;
}

size_t ruleset_acknowledgment_count(const struct ruleset *ruleset)
{
    return ruleset->acknowledgment_rules.count;
}

const struct rule *ruleset_acknowledgment_rule(const struct ruleset *ruleset, size_t number)
{
    return ruleset->signatures[ruleset->acknowledgment_rules.index[number]].rule;
}
