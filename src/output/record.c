/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a packet to a record: the worker's half of output. Copies fields and as many bytes as the options ask for, and
 * nothing else; formatting is the other thread's.
 */
#include <netinet/in.h>
#include <string.h>

#include "output_priv.h"
#include "sluice/bytes.h"

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return value < limit ? value : limit;
}

uint32_t record_kinds(uint32_t wanted, const struct packet *pkt, const struct decision *decision)
{
    uint32_t kinds = 0;

    if (decision->alert_count > 0)
        kinds |= 1u << OUTPUT_ALERT;
    if (pkt->verdict == VERDICT_DROP)
        kinds |= 1u << OUTPUT_DROP;
    if (pkt->event_count > 0)
        kinds |= 1u << OUTPUT_ANOMALY;
    return kinds & wanted;
}

uint64_t record_event_count(enum output_event kind, const struct packet *pkt, const struct decision *decision)
{
    switch (kind) {
    case OUTPUT_ALERT:
        return decision->alert_count;
    case OUTPUT_ANOMALY:
        return pkt->event_count;
    default:
        return 1;
    }
}

static uint32_t alerts_copied(uint32_t kinds, const struct decision *decision)
{
    bool wanted = kinds & (1u << OUTPUT_ALERT | 1u << OUTPUT_DROP);

    return wanted ? at_most((uint32_t)decision->alert_count, RECORD_MAX_ALERTS) : 0;
}

static uint32_t payload_copied(const struct eve_options *eve, uint32_t kinds, const struct packet *pkt)
{
    bool wanted = kinds & 1u << OUTPUT_ALERT && (eve->alert.payload || eve->alert.payload_printable);

    return wanted && pkt->payload ? at_most(pkt->payload_length, eve->alert.payload_buffer_size) : 0;
}

static uint32_t packet_copied(const struct eve_options *eve, uint32_t kinds, const struct packet *pkt)
{
    if (kinds & 1u << OUTPUT_ALERT && eve->alert.packet)
        return at_most(pkt->length, RECORD_MAX_PACKET);
    if (kinds & 1u << OUTPUT_ANOMALY && eve->anomaly.packet_header)
        return at_most(pkt->length, ANOMALY_PACKET_SIZE);
    return 0;
}

size_t record_size(const struct eve_options *eve, uint32_t kinds, const struct packet *pkt,
                   const struct decision *decision)
{
    return sizeof(struct packet_record) + alerts_copied(kinds, decision) * sizeof(struct alert) +
           payload_copied(eve, kinds, pkt) + packet_copied(eve, kinds, pkt);
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

static void copy_ip(struct packet_record *out, const struct packet *pkt)
{
    out->tos = pkt->tos;
    out->ttl = pkt->ttl;
    out->ip_id = pkt->fragment_id;
    if (pkt->ip && pkt->ip_version == 4) {
        out->ip_length = load_be16(pkt->ip + 2);
    } else if (pkt->ip && pkt->ip_version == 6) {
        out->ip_length = load_be16(pkt->ip + 4);
        out->flow_label = load_be32(pkt->ip) & 0xfffff;
    }
}

static void copy_transport(struct packet_record *out, const struct packet *pkt)
{
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

static void copy_link(struct packet_record *out, const struct packet *pkt)
{
    out->link = (uint8_t)pkt->link;
    out->vlan_count = (uint8_t)at_most(pkt->vlan_count, PACKET_MAX_VLANS);
    memcpy(out->vlan_id, pkt->vlan_id, sizeof(out->vlan_id));
    out->has_ethernet = pkt->ethernet != NULL;
    if (pkt->ethernet)
        memcpy(out->ethernet, pkt->ethernet, sizeof(out->ethernet));
}

static void copy_tunnel(struct packet_record *out, const struct packet *pkt)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;

    out->is_tunneled = root != pkt;
    out->tunnel_depth = pkt->tunnel_depth;
    out->meta = root->meta;
    out->number = root->number;
    out->time_ns = root->time_ns;
    if (out->is_tunneled)
        out->root = endpoints_of(root);
}

static void copy_decision(struct packet_record *out, const struct packet *pkt, const struct decision *decision)
{
    out->verdict = (uint8_t)pkt->verdict;
    out->drop_reason = (uint8_t)pkt->drop_reason;
    out->reject = (uint8_t)pkt->reject;
    out->passed = decision->passed;
    out->drop_rule = decision->drop_rule;
    out->mark_set = pkt->mark_set;
    out->mark_value = pkt->mark_value;
    out->mark_mask = pkt->mark_mask;
}

void record_write(struct packet_record *out, const struct eve_options *eve, uint32_t kinds, const struct packet *pkt,
                  const struct decision *decision, unsigned generation)
{
    *out = (struct packet_record){
        .kinds = kinds,
        .alert_count = alerts_copied(kinds, decision),
        .payload_length = pkt->payload ? pkt->payload_length : 0,
        .payload_copied = payload_copied(eve, kinds, pkt),
        .packet_copied = packet_copied(eve, kinds, pkt),
        .generation = generation,
        .endpoints = endpoints_of(pkt),
    };
    out->event_count = pkt->event_count;
    memcpy(out->event_list, pkt->event_list, sizeof(out->event_list));
    copy_tunnel(out, pkt);
    copy_link(out, pkt);
    copy_ip(out, pkt);
    copy_transport(out, pkt);
    copy_decision(out, pkt, decision);

    uint8_t *at = (uint8_t *)(out + 1);

    if (out->alert_count > 0)
        memcpy(at, decision->alerts, out->alert_count * sizeof(struct alert));
    at += out->alert_count * sizeof(struct alert);
    if (pkt->payload && out->payload_copied > 0)
        memcpy(at, pkt->payload, out->payload_copied);
    at += out->payload_copied;
    if (out->packet_copied > 0)
        memcpy(at, pkt->data, out->packet_copied);
}
