/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of packets, written by the worker. The worker only copies the fields and bytes that the enabled events need;
 * the output thread formats them.
 */
#include <netinet/in.h>
#include <string.h>

#include "output_priv.h"
#include "sluice/conntrack.h"
#include "sluice/bytes.h"
#include "sluice/decode_event.h"
#include "sluice/stream_event.h"

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

static bool is_wanted_anomaly(const struct eve_options *eve, unsigned event)
{
    if (event >= APP_LAYER_EVENT_FIRST)
        return eve->anomaly.application;
    return event < DECODE_EVENT_COUNT ? eve->anomaly.decode : eve->anomaly.stream;
}

static unsigned anomaly_count(const struct eve_options *eve, const struct packet *pkt)
{
    unsigned count = 0;

    for (unsigned i = 0; i < pkt->event_count; i++)
        count += is_wanted_anomaly(eve, pkt->event_list[i]);
    return count;
}

static enum flow_direction direction_of(const struct packet *pkt)
{
    return pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
}

uint16_t record_drop_flag(const struct packet *pkt)
{
    return direction_of(pkt) == FLOW_TO_CLIENT ? FLOW_DROP_LOGGED_TO_CLIENT : FLOW_DROP_LOGGED;
}

uint32_t record_kinds(uint32_t wanted, const struct eve_options *eve, const struct packet *pkt,
                      const struct decision *decision)
{
    bool dropped = pkt->verdict == VERDICT_DROP, is_pseudo = pkt->flags & PACKET_PSEUDO;
    const struct rule *drop_rule = dropped ? decision->drop_rule : decision->would_drop_rule;
    const struct flow *flow = pkt->flow;
    bool flow_dropped = flow && (dropped ? (flow->flags & FLOW_DROPPED) != 0 : flow->would_drop != 0);
    uint32_t kinds = 0;

    if (decision->alert_count > 0)
        kinds |= 1u << OUTPUT_ALERT;
    /* A packet that a rule drops always has an event; of the other packets of a dropped flow, only the first in each
     * direction has one, unless eve.types.drop.flows is all. The same applies to would_drop events. */
    if ((dropped || pkt->would_drop) && !is_pseudo &&
        (eve->drop.all_flows || drop_rule || !flow_dropped || !(flow->flags & record_drop_flag(pkt))))
        kinds |= dropped ? 1u << OUTPUT_DROP : 1u << OUTPUT_WOULD_DROP;
    if (anomaly_count(eve, pkt) > 0)
        kinds |= 1u << OUTPUT_ANOMALY;
    if (decision->tagged && pkt->ip_version != 0 && !is_pseudo)
        kinds |= 1u << OUTPUT_PACKET;
    for (uint32_t i = 0; decision->texts && i < decision->texts->count; i++) {
        if (decision->texts->list[i].kind == RULE_NAME_PACKET_TEXT)
            kinds |= 1u << OUTPUT_METADATA;
    }
    if (pkt->protocol == IPPROTO_TCP && pkt->transport && !is_pseudo &&
        (eve->stream.all || pkt->stream_flags & eve->stream.triggers))
        kinds |= 1u << OUTPUT_STREAM;
    if (pkt->protocol == IPPROTO_IGMP && pkt->transport)
        kinds |= 1u << OUTPUT_IGMP;
    if (pkt->arp)
        kinds |= 1u << OUTPUT_ARP;
    return kinds & wanted;
}

uint64_t record_event_count(enum output_event kind, const struct eve_options *eve, const struct packet *pkt,
                            const struct decision *decision)
{
    switch (kind) {
    case OUTPUT_ALERT:
        return decision->alert_count;
    case OUTPUT_ANOMALY:
        return anomaly_count(eve, pkt);
    default:
        return 1;
    }
}

static uint32_t alerts_copied(uint32_t kinds, const struct decision *decision)
{
    bool wanted = kinds & (1u << OUTPUT_ALERT | 1u << OUTPUT_DROP | 1u << OUTPUT_WOULD_DROP);

    return wanted ? at_most((uint32_t)decision->alert_count, RECORD_MAX_ALERTS) : 0;
}

static uint32_t payload_copied(const struct eve_options *eve, uint32_t kinds, const struct packet *pkt)
{
    bool wanted = kinds & 1u << OUTPUT_ALERT && (eve->alert.payload || eve->alert.payload_printable);

    return wanted && pkt->payload ? at_most(pkt->payload_length, eve->alert.payload_buffer_size) : 0;
}

static uint32_t packet_length(const struct packet *pkt)
{
    return pkt->new_data ? pkt->new_length : pkt->length;
}

static uint32_t packet_copied(const struct eve_options *eve, uint32_t kinds, const struct packet *pkt)
{
    if (kinds & 1u << OUTPUT_PACKET || (kinds & 1u << OUTPUT_ALERT && eve->alert.packet))
        return at_most(packet_length(pkt), RECORD_MAX_PACKET);
    if (kinds & 1u << OUTPUT_ANOMALY && eve->anomaly.packet_header)
        return at_most(packet_length(pkt), ANOMALY_PACKET_SIZE);
    return 0;
}

static void add_gap(size_t at, uint64_t missing, void *user)
{
    struct record_scratch *scratch = user;

    if (scratch->gap_count < RECORD_MAX_GAPS)
        scratch->gaps[scratch->gap_count++] = (struct record_gap){ .missing = missing, .at = (uint32_t)at };
}

static void collect_stream(struct record_scratch *scratch, const struct eve_options *eve, const struct packet *pkt,
                           const struct decision *decision)
{
    bool wanted = eve->alert.payload || eve->alert.payload_printable || eve->alert.payload_length;
    uint32_t size = at_most(scratch->stream_size, eve->alert.payload_buffer_size);
    bool in_stream = false;

    for (size_t i = 0; i < decision->alert_count; i++)
        in_stream |= decision->alerts[i].in_stream;
    if (wanted && size > 0 && decision->stream && pkt->flow && pkt->flow->tcp && in_stream)
        scratch->stream_length = (uint32_t)stream_copy(decision->stream, pkt->flow, direction_of(pkt), scratch->stream,
                                                       size, add_gap, scratch);
}

void record_collect(struct record_scratch *scratch, const struct eve_options *eve, uint32_t kinds,
                    const struct packet *pkt, const struct decision *decision)
{
    scratch->stream_length = scratch->gap_count = 0;
    if (kinds & 1u << OUTPUT_ALERT)
        collect_stream(scratch, eve, pkt, decision);
    scratch->fields.length = 0;
    scratch->has_transactions = false;
    if (kinds & 1u << OUTPUT_ALERT)
        app_alert_collect(scratch, eve, pkt, decision);
    flow_variables_collect(scratch, decision->texts, eve->metadata || kinds & 1u << OUTPUT_METADATA ? pkt->flow : NULL);
}

void record_get_segment(const struct packet_record *record, struct record_segment *out)
{
    memcpy(out, record_fields(record) + record->fields_copied, sizeof(*out));
}

size_t record_size(const struct record_scratch *scratch, const struct eve_options *eve, uint32_t kinds,
                   const struct packet *pkt, const struct decision *decision)
{
    return sizeof(struct packet_record) + alerts_copied(kinds, decision) * sizeof(struct alert) +
           scratch->gap_count * sizeof(struct record_gap) + scratch->variable_count * sizeof(struct record_variable) +
           scratch->text_count * sizeof(struct rule_capture) + payload_copied(eve, kinds, pkt) +
           scratch->stream_length + packet_copied(eve, kinds, pkt) +
           (scratch->has_transactions ? alerts_copied(kinds, decision) * sizeof(struct record_transaction) : 0) +
           scratch->fields.length + (kinds & 1u << OUTPUT_STREAM ? sizeof(struct record_segment) : 0);
}

static struct endpoints endpoints_of(const struct packet *pkt)
{
    return (struct endpoints){
        .source = pkt->source_address,
        .destination = pkt->destination_address,
        .source_port = pkt->source_port,
        .destination_port = pkt->destination_port,
        .ip_version = pkt->ip_version,
        .protocol = pkt->protocol,
        .packet_source = (uint8_t)pkt->source,
    };
}

void record_copy_packet(struct packet_record *out, const struct packet *pkt)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;
    struct conntrack conntrack;

    out->endpoints = endpoints_of(pkt);
    out->verdict = (uint8_t)pkt->verdict;
    out->mark_set = pkt->mark_set;
    out->mark_value = pkt->mark_value;
    out->mark_mask = pkt->mark_mask;
    out->is_tunneled = root != pkt;
    out->tunnel_depth = pkt->tunnel_depth;
    out->meta = root->meta;
    out->number = root->number;
    out->time_ns = root->time_ns;
    if (out->is_tunneled)
        out->root = endpoints_of(root);
    /* Conntrack data is parsed here and not for each packet, because only packets with an event need it. */
    out->has_conntrack =
        root->conntrack.bytes && conntrack_parse(&conntrack, root->conntrack.bytes, root->conntrack.length);
    if (out->has_conntrack) {
        out->conntrack_id = conntrack.id;
        out->conntrack_mark = conntrack.mark;
        out->conntrack_info = root->conntrack.info;
    }
    out->link = (uint8_t)pkt->link;
    out->vlan_count = (uint8_t)at_most(pkt->vlan_count, PACKET_MAX_VLANS);
    memcpy(out->vlan_id, pkt->vlan_id, sizeof(out->vlan_id));
    out->has_ethernet = pkt->ethernet != NULL;
    if (pkt->ethernet)
        memcpy(out->ethernet, pkt->ethernet, sizeof(out->ethernet));
    if (pkt->arp)
        memcpy(out->arp, pkt->arp, sizeof(out->arp));
    out->has_transport = pkt->ip_version != 0 && pkt->transport;
    if (!out->has_transport)
        return;
    switch (pkt->protocol) {
    case IPPROTO_TCP:
        out->tcp_flags = pkt->tcp.flags;
        out->tcp_reserved = pkt->tcp.reserved;
        out->tcp_window = pkt->tcp.window;
        out->tcp_urgent = pkt->tcp.urgent;
        out->tcp_sequence = pkt->tcp.sequence;
        out->tcp_acknowledgment = pkt->tcp.acknowledgment;
        break;
    case IPPROTO_UDP:
        out->udp_length = pkt->udp.length;
        break;
    case IPPROTO_SCTP:
        out->sctp = pkt->sctp;
        break;
    case IPPROTO_IGMP:
        out->igmp = pkt->igmp;
        break;
    case IPPROTO_ESP:
        out->esp_spi = pkt->esp.spi;
        break;
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        out->icmp_type = pkt->icmp.type;
        out->icmp_code = pkt->icmp.code;
        if (pkt->icmp.has_id) {
            out->icmp_id = pkt->icmp.id;
            out->icmp_sequence = pkt->icmp.sequence;
        }
        break;
    default:
        break;
    }
}

uint8_t *record_append(uint8_t *at, const void *bytes, size_t size)
{
    if (bytes && size > 0)
        memcpy(at, bytes, size);
    return at + size;
}

void record_write(struct packet_record *out, const struct record_scratch *scratch, const struct eve_options *eve,
                  uint32_t kinds, const struct packet *pkt, const struct decision *decision, unsigned generation)
{
    bool dropped = pkt->verdict == VERDICT_DROP;

    *out = (struct packet_record){
        .kinds = kinds,
        .alert_count = alerts_copied(kinds, decision),
        .gap_count = scratch->gap_count,
        .variable_count = scratch->variable_count,
        .text_count = scratch->text_count,
        .payload_length = pkt->payload ? pkt->payload_length : 0,
        .payload_copied = payload_copied(eve, kinds, pkt),
        .stream_copied = scratch->stream_length,
        .packet_copied = packet_copied(eve, kinds, pkt),
        .fields_copied = scratch->fields.length,
        .has_transactions = scratch->has_transactions,
        .generation = generation,
        .names = decision->names,
        .drop_reason = (uint8_t)(dropped ? pkt->drop_reason : pkt->would_drop),
        .drop_rule = dropped ? decision->drop_rule : decision->would_drop_rule,
        .reject = (uint8_t)pkt->reject,
        .passed = decision->passed,
        .filtered = decision->filtered,
        .drop_filter = decision->drop_filter,
    };
    record_copy_packet(out, pkt);
    for (unsigned i = 0; i < pkt->event_count; i++)
        if (is_wanted_anomaly(eve, pkt->event_list[i]))
            out->event_list[out->event_count++] = pkt->event_list[i];
    out->tos = pkt->tos;
    out->ttl = pkt->ttl;
    out->ip_id = pkt->fragment_id;
    if (pkt->ip && pkt->ip_version == 4) {
        out->ip_length = load_be16(pkt->ip + 2);
    } else if (pkt->ip && pkt->ip_version == 6) {
        out->ip_length = load_be16(pkt->ip + 4);
        out->flow_label = load_be32(pkt->ip) & 0xfffff;
    }
    if (pkt->flow) {
        out->has_flow = true;
        out->to_client = direction_of(pkt) == FLOW_TO_CLIENT;
        flow_facts_copy(&out->flow, pkt->flow);
        out->flow_drop_gid = pkt->flow->drop_gid;
        out->flow_drop_sid = pkt->flow->drop_sid;
    }

    uint8_t *at = (uint8_t *)(out + 1);

    at = record_append(at, decision->alerts, out->alert_count * sizeof(struct alert));
    if (out->has_transactions)
        at = record_append(at, scratch->transactions, out->alert_count * sizeof(struct record_transaction));
    at = record_append(at, scratch->gaps, out->gap_count * sizeof(struct record_gap));
    at = record_append(at, scratch->variables, out->variable_count * sizeof(struct record_variable));
    at = record_append(at, scratch->texts, out->text_count * sizeof(struct rule_capture));
    at = record_append(at, pkt->payload, out->payload_copied);
    at = record_append(at, scratch->stream, out->stream_copied);
    /* If the packet was rewritten (inline), copy the bytes that are forwarded. */
    at = record_append(at, pkt->new_data ? pkt->new_data : pkt->data, out->packet_copied);
    at = record_append(at, scratch->field_bytes, out->fields_copied);
    if (kinds & 1u << OUTPUT_STREAM) {
        struct record_segment segment = { .flags = pkt->stream_flags };

        segment.has_session = pkt->flow && stream_session_facts(pkt->flow, &segment.session);
        for (unsigned i = 0; i < pkt->event_count; i++) {
            if (pkt->event_list[i] >= STREAM_EVENT_FIRST && pkt->event_list[i] < STREAM_EVENT_END)
                segment.events[segment.event_count++] = pkt->event_list[i];
        }
        record_append(at, &segment, sizeof(segment));
    }
}
