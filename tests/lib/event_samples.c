/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "event_samples.h"

void sample_rules(struct sample *sample)
{
    sample->metadata[0] = (struct metadata){ span_of("tag one, created_at 2020_01_01"), &sample->metadata[1] };
    sample->metadata[1] = (struct metadata){ span_of("tag two"), NULL };
    sample->references[0] = (struct reference){ "url", "example.org/x", "http://", &sample->references[1] };
    sample->references[1] = (struct reference){ "house", "17", NULL, NULL };
    sample->rule = (struct rule){
        .action = ACTION_ALERT,
        .sid = 9000001,
        .gid = 1,
        .revision = 3,
        .priority = 2,
        .message = "A \"test\" rule",
        .class_name = "bad-unknown",
        .class_description = "Potentially Bad Traffic",
        .metadata = sample->metadata,
        .references = sample->references,
        .text = "alert tcp any any -> any any (msg:\"A test\"; sid:9000001;)",
    };
    sample->second_rule = (struct rule){ .action = ACTION_ALERT, .sid = 2, .gid = 1, .priority = 3 };
    sample->decision.alerts = sample->alerts;
}

void sample_payload(struct sample *sample, const char *payload)
{
    struct packet *pkt = &sample->packet;
    size_t length = strlen(payload);

    memcpy(sample->bytes + SAMPLE_HEADERS, payload, length);
    pkt->payload = sample->bytes + SAMPLE_HEADERS;
    pkt->payload_length = (uint32_t)length;
    pkt->length = pkt->wire_length = (uint32_t)(SAMPLE_HEADERS + length);
}

static void sample_common(struct sample *sample)
{
    struct packet *pkt = &sample->packet;

    memset(sample, 0, sizeof(*sample));
    sample_rules(sample);
    pkt->data = sample->bytes;
    pkt->length = pkt->wire_length = SAMPLE_HEADERS;
    pkt->time_ns = SAMPLE_TIME_NS;
    pkt->number = 13;
    pkt->link = LINK_ETHERNET;
    pkt->root = pkt;
    memcpy(sample->bytes, "\x00\x25\x90\xe3\xd2\xe1\x0c\x86\x10\xed\xd7\xc6\x08\x00", 14);
    pkt->ethernet = sample->bytes;
    pkt->ttl = 64;
    pkt->tos = 8;
}

void sample_ipv4(struct sample *sample, uint8_t protocol)
{
    struct packet *pkt = &sample->packet;

    sample_common(sample);
    pkt->ip = sample->bytes + 14;
    memcpy(sample->bytes + 14, "\x45\x08\x01\x02\x12\x34", 6); /* total length 258, id 0x1234 */
    pkt->ip_version = 4;
    pkt->ip_header_length = 20;
    pkt->protocol = protocol;
    pkt->fragment_id = 0x1234;
    memcpy(pkt->source_address.bytes, "\x0a\x01\x00\x02", 4);
    memcpy(pkt->destination_address.bytes, "\x0a\x02\x00\x02", 4);
    pkt->transport = sample->bytes + 34;
    pkt->transport_header_length = 20;
}

void sample_tcp(struct sample *sample)
{
    sample_ipv4(sample, IPPROTO_TCP);
    sample->packet.source_port = 41234;
    sample->packet.destination_port = 80;
    sample->packet.tcp.sequence = 4000000000u;
    sample->packet.tcp.acknowledgment = 7;
    sample->packet.tcp.window = 502;
    sample->packet.tcp.flags = TCP_ACK | TCP_PSH;
    sample->packet.tcp.reserved = 1;
    sample_payload(sample, "GET /\x01\xff HTTP/1.1\r\n\r\n");
}

void sample_icmp(struct sample *sample)
{
    sample_ipv4(sample, IPPROTO_ICMP);
    sample->packet.icmp.type = 8;
    sample->packet.icmp.code = 0;
    sample->packet.icmp.has_id = true;
    sample->packet.icmp.id = 77;
    sample->packet.icmp.sequence = 5;
}

void sample_udp6(struct sample *sample)
{
    struct packet *pkt = &sample->packet;

    sample_common(sample);
    pkt->ip = sample->bytes + 14;
    memcpy(sample->bytes + 14, "\x60\x8a\xbc\xde\x00\x10", 6); /* class 8, flow label 0xabcde, 16 bytes */
    pkt->ip_version = 6;
    pkt->ip_header_length = 40;
    pkt->protocol = IPPROTO_UDP;
    memcpy(pkt->source_address.bytes, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
    memcpy(pkt->destination_address.bytes, "\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\x02", 16);
    pkt->transport = sample->bytes + 54;
    pkt->source_port = 5353;
    pkt->destination_port = 53;
    pkt->udp.length = 16;
    pkt->vlan_count = 2;
    pkt->vlan_id[0] = 100;
    pkt->vlan_id[1] = 200;
}

void sample_arp(struct sample *sample)
{
    sample_common(sample);
    sample->bytes[13] = 0x06;
    packet_add_event(&sample->packet, DECODE_EVENT_ARP_PKT_TOO_SMALL);
}

void sample_tunnel(struct sample *sample)
{
    sample_tcp(sample);
    sample->packet.source = PACKET_SOURCE_VXLAN;
    sample->packet.flags |= PACKET_TUNNELED;
    sample->packet.tunnel_depth = 1;
    sample->outer =
        (struct packet){ .time_ns = SAMPLE_TIME_NS, .number = 21, .ip_version = 4, .protocol = IPPROTO_UDP };
    memcpy(sample->outer.source_address.bytes, "\xc0\x00\x02\x01", 4);
    memcpy(sample->outer.destination_address.bytes, "\xc0\x00\x02\x02", 4);
    sample->outer.source_port = 50000;
    sample->outer.destination_port = 4789;
    sample->outer.root = &sample->outer;
    sample->packet.outer = sample->packet.root = &sample->outer;
}

void sample_flow(struct sample *sample)
{
    struct packet *pkt = &sample->packet;
    bool is_icmp = pkt->protocol == IPPROTO_ICMP || pkt->protocol == IPPROTO_ICMPV6;

    sample->flow = (struct flow){
        .client = pkt->source_address,
        .server = pkt->destination_address,
        .client_port = is_icmp ? pkt->icmp.type : pkt->source_port,
        .server_port = is_icmp ? pkt->icmp.code : pkt->destination_port,
        .vlan_count = pkt->vlan_count,
        .ip_version = pkt->ip_version,
        .protocol = pkt->protocol,
        .state = FLOW_ESTABLISHED,
        .side = { { .packets = 3, .bytes = 300, .ttl_low = 63, .ttl_high = 64 },
                  { .packets = 2, .bytes = 200, .ttl_low = 50, .ttl_high = 51 } },
        .id = 4503599627370497,
        .start_ns = SAMPLE_TIME_NS - 900 * 1000 * 1000, /* within the previous second */
        .last_ns = SAMPLE_TIME_NS,
        .origin = { .in_ifindex = pkt->meta.in_ifindex,
                    .mark = pkt->meta.mark,
                    .queue = pkt->meta.queue,
                    .hook = pkt->meta.hook,
                    .conntrack_id = 70,
                    .conntrack_mark = 80,
                    .has_conntrack = pkt->meta.id != 0 },
        .macs = &sample->macs,
    };
    sample->macs = (struct flow_macs){
        .count = { 1, 1 },
        .address = { { { 0x0c, 0x86, 0x10, 0xed, 0xd7, 0xc6 } }, { { 0, 0x25, 0x90, 0xe3, 0xd2, 0xe1 } } },
    };
    memcpy(sample->flow.vlan_id, pkt->vlan_id, sizeof(sample->flow.vlan_id));
    pkt->flow = &sample->flow;
}

void sample_answered_flow(struct sample *sample)
{
    struct flow *flow = &sample->flow;

    sample_flow(sample);
    flow->client = sample->packet.destination_address;
    flow->server = sample->packet.source_address;
    flow->client_port = sample->packet.destination_port;
    flow->server_port = sample->packet.source_port;
    sample->packet.flags |= PACKET_TO_CLIENT;
}

void sample_queue(struct sample *sample)
{
    sample_tcp(sample);
    sample->packet.link = LINK_RAW;
    sample->packet.ethernet = NULL;
    sample->packet.meta = (struct queue_meta){
        .id = 99,
        .mark = 5,
        .in_ifindex = 1, /* lo has index 1 in every namespace */
        .queue = 3,
        .hook = 2,
        .hardware_address_length = 6,
        .hardware_address = { 0x0c, 0x86, 0x10, 0xed, 0xd7, 0xc6 },
    };
}

void sample_alert(struct sample *sample)
{
    sample->alerts[0] = (struct alert){ .rule = &sample->rule, .action = ACTION_ALERT };
    sample->decision.alert_count = 1;
}

void sample_drop(struct sample *sample)
{
    sample->rule.action = ACTION_DROP;
    sample->alerts[0] = (struct alert){ .rule = &sample->rule, .action = ACTION_DROP, .blocked = true };
    sample->decision.alert_count = 1;
    sample->decision.drop_rule = &sample->rule;
    sample->packet.verdict = VERDICT_DROP;
    sample->packet.drop_reason = DROP_REASON_RULES;
}

void sample_reject(struct sample *sample)
{
    sample_drop(sample);
    sample->rule.action = sample->alerts[0].action = ACTION_REJECT;
    sample->packet.reject = REJECT_SOURCE;
}

void sample_second_drops(struct sample *sample)
{
    sample_drop(sample);
    sample->alerts[1] = sample->alerts[0];
    sample->alerts[0] = (struct alert){ .rule = &sample->second_rule };
    sample->decision.alert_count = 2;
}
