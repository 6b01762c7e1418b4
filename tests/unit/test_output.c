/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of packets and rules that the tests define. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conntrack_bytes.h"
#include "output/community_id.h"
#include "output_rig.h"

/* Returns the first event of a type. */
static const char *event_of(const char *type)
{
    char piece[64];

    snprintf(piece, sizeof(piece), "\"event_type\":\"%s\"", type);
    for (size_t i = 0; i < output_rig->count; i++)
        if (strstr(output_rig->events[i], piece))
            return output_rig->events[i];
    ck_abort_msg("no %s event", type);
}

/* --- Fields --------------------------------------------------------------------------------------- */

static void everything(struct output_options *options)
{
    struct eve_options *eve = &options->eve;

    eve->ethernet = eve->community_id = eve->pcap_file = eve->ipv6_compress = true;
    eve->pcap_file_name = "x.pcap";
    eve->alert.payload = eve->alert.payload_printable = eve->alert.payload_length = eve->alert.packet = true;
    eve->alert.verdict = eve->alert.reference = eve->alert.rule_raw = true;
    eve->drop.verdict = eve->anomaly.packet_header = true;
}

static void short_payload(struct output_options *options)
{
    everything(options);
    options->eve.alert.payload_buffer_size = 5;
}

static void from_queue(struct output_options *options)
{
    options->queue_fields = options->eve.ethernet = true;
}

static void bare(struct output_options *options)
{
    options->eve.alert.rule_metadata = options->eve.drop.alerts = false;
}

static void not_inline(struct output_options *options)
{
    everything(options);
    options->inline_mode = false;
}

static void target_is_source(struct sample *sample)
{
    sample_alert(sample);
    sample->rule.target = TARGET_SOURCE;
}

static void target_is_destination(struct sample *sample)
{
    sample_alert(sample);
    sample->rule.target = TARGET_DESTINATION;
}

static void nameless(struct sample *sample)
{
    sample->alerts[0] = (struct alert){ .rule = &sample->second_rule };
    sample->decision.alert_count = 1;
}

static void passed(struct sample *sample)
{
    sample_alert(sample);
    sample->decision.passed = true;
}

/* The alert of the rule that dropped is suppressed, or the rule has noalert. */
static void drops_silently(struct sample *sample)
{
    sample_drop(sample);
    sample->decision.alert_count = 0;
}

static void cannot_be_decoded(struct sample *sample)
{
    sample->packet.verdict = VERDICT_DROP;
    sample->packet.drop_reason = DROP_REASON_DECODE_ERROR;
}

static void rejects_both(struct sample *sample)
{
    sample_reject(sample);
    sample->packet.reject = REJECT_BOTH;
}

static void rejects_without_ips(struct sample *sample)
{
    sample_alert(sample);
    sample->packet.reject = REJECT_DESTINATION;
}

static void sets_mark(struct sample *sample)
{
    sample_alert(sample);
    sample->packet.mark_set = true;
    sample->packet.mark_value = 16;
    sample->packet.mark_mask = 255;
}

static struct conntrack_bytes connection;

static void knows_connection(struct sample *sample)
{
    sample_alert(sample);
    connection.length = 0;
    ct_u32(&connection, CTA_ID, 4000000000u);
    ct_u32(&connection, CTA_MARK, 18);
    sample->packet.conntrack =
        (struct packet_conntrack){ connection.bytes, (uint32_t)connection.length, IP_CT_RELATED_REPLY };
}

static void knows_damaged_connection(struct sample *sample)
{
    knows_connection(sample);
    sample->packet.conntrack.length -= 2;
}

static void sample_gre(struct sample *sample)
{
    sample_ipv4(sample, IPPROTO_GRE);
}

static void sample_unnamed(struct sample *sample)
{
    sample_ipv4(sample, 253);
}

static void nothing(struct sample *sample)
{
    (void)sample;
}

static void sample_tcp_flow(struct sample *sample)
{
    sample_tcp(sample);
    sample_flow(sample);
}

static void sample_tcp_answer(struct sample *sample)
{
    sample_tcp(sample);
    sample_answered_flow(sample);
}

static void sample_icmp_flow(struct sample *sample)
{
    sample_icmp(sample);
    sample_flow(sample);
}

/* Reassembly has restored the bytes that were seen first. */
static void sample_rewritten(struct sample *sample)
{
    static const uint8_t bytes[] = "rewritten";

    sample_tcp(sample);
    sample->packet.new_data = bytes;
    sample->packet.new_length = sizeof(bytes) - 1;
}

/* An earlier packet of the flow was dropped. */
static void flow_dropped_before(struct sample *sample)
{
    sample->packet.verdict = VERDICT_DROP;
    sample->packet.drop_reason = DROP_REASON_FLOW;
    sample->flow.flags |= FLOW_DROPPED;
    sample->flow.drop_gid = 1;
    sample->flow.drop_sid = 9000001;
}

static void tagged(struct sample *sample)
{
    sample->decision.tagged = true;
}

static void stream_event(struct sample *sample)
{
    packet_add_event(&sample->packet, STREAM_EVENT_PKT_INVALID_TIMESTAMP);
}

static void stream_events_too(struct output_options *options)
{
    options->eve.anomaly.stream = true;
}

static void alert_without_flow(struct output_options *options)
{
    options->eve.alert.flow = false;
}

static void without_metadata(struct output_options *options)
{
    options->eve.metadata = false;
}

static uint32_t number_of(enum rule_name_kind kind, const char *name)
{
    return rule_names_number(output_rig->names, kind, span_of(name));
}

static void set_bit(struct sample *sample, const char *name)
{
    ck_assert(flow_bit_set(output_rig->flows, &sample->flow, number_of(RULE_NAME_FLOWBIT, name)));
}

static void set_variables(struct sample *sample)
{
    set_bit(sample, "ET.Evil");
    set_bit(sample, "second \"bit\"");
    ck_assert(flow_integer_set(output_rig->flows, &sample->flow, number_of(RULE_NAME_FLOWINT, "count"), 4000000000u));
}

static void alert_with_variables(struct sample *sample)
{
    sample_alert(sample);
    set_variables(sample);
}

static void alert_with_traffic(struct sample *sample)
{
    sample_alert(sample);
    set_bit(sample, "traffic/id/curl");
    set_bit(sample, "traffic/label/one");
    set_bit(sample, "traffic/label/two");
}

enum { WITHOUT, WITH };

/* Events are compact JSON with a fixed order, so a field can be searched as text. schema.py validates the JSON. */
static const struct field_case {
    void (*packet)(struct sample *sample);
    void (*decision)(struct sample *sample);
    void (*options)(struct output_options *options);
    const char *type;
    bool present;
    const char *piece;
} fields[] = {
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"timestamp\":\"2020-01-01T00:00:01.000123+0000\"" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"pcap_cnt\":13" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"src_ip\":\"10.1.0.2\"" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"src_port\":41234" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"dest_ip\":\"10.2.0.2\"" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"dest_port\":80" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"proto\":\"TCP\"" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"ip_v\":4" },
    { sample_tcp, sample_alert, NULL, "alert", WITH, "\"pkt_src\":\"wire/pcap\"" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"vlan\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"ether\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"community_id\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"sluice\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"in_iface\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"icmp_type\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"tunnel\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"payload\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"stream\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"packet\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"verdict\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"pcap_filename\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITH,
      "\"alert\":{\"action\":\"allowed\",\"gid\":1,\"signature_id\":9000001,\"rev\":3,"
      "\"signature\":\"A \\\"test\\\" rule\",\"category\":\"Potentially Bad Traffic\",\"severity\":2,"
      "\"metadata\":{\"tag\":[\"one\",\"two\"],\"created_at\":[\"2020_01_01\"]}}" },
    { sample_tcp, nameless, NULL, "alert", WITH,
      "\"alert\":{\"action\":\"allowed\",\"gid\":1,\"signature_id\":2,\"rev\":0,\"signature\":\"\","
      "\"category\":\"\",\"severity\":3}" },
    { sample_tcp, sample_alert, bare, "alert", WITHOUT, "\"metadata\":" },
    { sample_tcp, sample_alert, everything, "alert", WITH,
      "\"ether\":{\"ether_type\":2048,\"src_mac\":\"0c:86:10:ed:d7:c6\",\"dest_mac\":\"00:25:90:e3:d2:e1\"}" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"references\":[\"http://example.org/x\",\"house:17\"]" },
    { sample_tcp, nameless, everything, "alert", WITHOUT, "\"references\":" },
    { sample_tcp, sample_alert, everything, "alert", WITH,
      "\"rule\":\"alert tcp any any -> any any (msg:\\\"A test\\\"; sid:9000001;)\"" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"payload\":\"R0VUIC8B/yBIVFRQLzEuMQ0KDQo=\"" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"payload_printable\":\"GET /.. HTTP/1.1\\r\\n\\r\\n\"" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"payload_length\":20" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"stream\":0" },
    { sample_tcp, sample_alert, everything, "alert", WITH,
      "\"packet_info\":{\"linktype\":1,\"linktype_name\":\"EN10MB\"}" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"verdict\":{\"action\":\"alert\"}" },
    { sample_tcp, passed, everything, "alert", WITH, "\"verdict\":{\"action\":\"pass\"}" },
    { sample_tcp, sample_alert, everything, "alert", WITH, "\"pcap_filename\":\"x.pcap\"" },
    { sample_tcp, sample_alert, short_payload, "alert", WITH, "\"payload\":\"R0VUIC8=\"" },
    { sample_tcp, sample_alert, short_payload, "alert", WITH, "\"payload_printable\":\"GET /\"" },
    { sample_tcp, sample_alert, short_payload, "alert", WITH, "\"payload_length\":20" },
    { sample_tcp, target_is_source, NULL, "alert", WITH, "\"target\":{\"ip\":\"10.1.0.2\",\"port\":41234}" },
    { sample_tcp, target_is_source, NULL, "alert", WITH, "\"source\":{\"ip\":\"10.2.0.2\",\"port\":80}" },
    { sample_icmp, target_is_destination, NULL, "alert", WITH, "\"target\":{\"ip\":\"10.2.0.2\"}" },
    { sample_icmp, target_is_destination, NULL, "alert", WITH, "\"source\":{\"ip\":\"10.1.0.2\"}" },
    { sample_arp, target_is_source, NULL, "alert", WITHOUT, "\"target\":" },
    { sample_icmp, sample_alert, NULL, "alert", WITH, "\"proto\":\"ICMP\"" },
    { sample_icmp, sample_alert, NULL, "alert", WITH, "\"icmp_type\":8" },
    { sample_icmp, sample_alert, NULL, "alert", WITH, "\"icmp_code\":0" },
    { sample_icmp, sample_alert, NULL, "alert", WITHOUT, "\"src_port\":" },
    { sample_gre, sample_alert, NULL, "alert", WITH, "\"proto\":\"GRE\"" },
    { sample_unnamed, sample_alert, NULL, "alert", WITH, "\"proto\":\"253\"" },
    { sample_udp6, sample_alert, NULL, "alert", WITH, "\"src_ip\":\"2001:0db8:0000:0000:0000:0000:0000:0001\"" },
    { sample_udp6, sample_alert, everything, "alert", WITH, "\"src_ip\":\"2001:db8::1\"" },
    { sample_udp6, sample_alert, NULL, "alert", WITH, "\"ip_v\":6" },
    { sample_udp6, sample_alert, NULL, "alert", WITH, "\"vlan\":[100,200]" },
    { sample_arp, sample_alert, NULL, "alert", WITHOUT, "\"src_ip\":" },
    { sample_arp, sample_alert, NULL, "alert", WITHOUT, "\"proto\":" },
    { sample_arp, sample_alert, NULL, "alert", WITHOUT, "\"ip_v\":" },
    { sample_arp, sample_alert, everything, "alert", WITHOUT, "\"payload\":" },
    { sample_arp, sample_alert, everything, "alert", WITHOUT, "\"community_id\":" },
    { sample_tunnel, sample_alert, NULL, "alert", WITH, "\"pkt_src\":\"vxlan encapsulation\"" },
    { sample_tunnel, sample_alert, NULL, "alert", WITH, "\"pcap_cnt\":21" },
    { sample_tunnel, sample_alert, NULL, "alert", WITH,
      "\"tunnel\":{\"src_ip\":\"192.0.2.1\",\"src_port\":50000,\"dest_ip\":\"192.0.2.2\","
      "\"dest_port\":4789,\"proto\":\"UDP\",\"depth\":1,\"pcap_cnt\":21,\"pkt_src\":\"wire/pcap\"}" },
    { sample_queue, sample_alert, from_queue, "alert", WITH, "\"in_iface\":\"lo\"" },
    { sample_queue, sample_alert, from_queue, "alert", WITHOUT, "\"pcap_cnt\":" },
    { sample_queue, sample_alert, from_queue, "alert", WITH, "\"ether\":{\"src_mac\":\"0c:86:10:ed:d7:c6\"}" },
    { sample_queue, sample_alert, from_queue, "alert", WITH,
      "\"sluice\":{\"queue\":{\"number\":3,\"id\":99,\"mark\":5,\"hook\":\"forward\",\"in_iface\":\"lo\","
      "\"verdict\":\"accept\",\"ruleset\":7}" },
    { sample_queue, sample_drop, from_queue, "drop", WITH, "\"verdict\":\"drop\"" },
    { sample_queue, sets_mark, from_queue, "alert", WITH, "\"set_mark\":16" },
    { sample_queue, sets_mark, from_queue, "alert", WITH, "\"set_mask\":255" },
    { sample_queue, knows_connection, from_queue, "alert", WITH,
      "\"in_iface\":\"lo\",\"ct_id\":4000000000,\"ct_mark\":18,\"ct_state\":\"related\",\"verdict\":\"accept\"" },
    { sample_queue, knows_damaged_connection, from_queue, "alert", WITHOUT, "\"ct_" },
    { sample_tcp, sample_drop, NULL, "alert", WITH, "\"action\":\"blocked\"" },
    { sample_tcp, sample_drop, NULL, "drop", WITH,
      "\"drop\":{\"len\":258,\"tos\":8,\"ttl\":64,\"ipid\":4660,\"tcpseq\":4000000000,\"tcpack\":7,"
      "\"tcpwin\":502,\"syn\":false,\"ack\":true,\"psh\":true,\"rst\":false,\"urg\":false,\"fin\":false,"
      "\"tcpres\":1,\"tcpurgp\":0,\"reason\":\"rules\"}" },
    { sample_tcp, sample_drop, NULL, "drop", WITH, "\"signature_id\":9000001" },
    { sample_tcp, sample_drop, NULL, "drop", WITHOUT, "\"metadata\":" },
    { sample_tcp, sample_drop, bare, "drop", WITHOUT, "\"alert\":" },
    { sample_tcp, sample_drop, NULL, "drop", WITHOUT, "\"verdict\":" },
    { sample_tcp, sample_drop, everything, "drop", WITH, "\"verdict\":{\"action\":\"drop\"}" },
    { sample_tcp, sample_drop, everything, "alert", WITH, "\"verdict\":{\"action\":\"drop\"}" },
    { sample_tcp, sample_second_drops, NULL, "alert", WITH, "\"action\":\"allowed\"" },
    { sample_tcp, sample_second_drops, NULL, "drop", WITH, "\"signature_id\":9000001" },
    { sample_tcp, drops_silently, NULL, "drop", WITH, "\"signature_id\":9000001" },
    { sample_tcp, drops_silently, NULL, "drop", WITH, "\"action\":\"blocked\"" },
    { sample_tcp, cannot_be_decoded, NULL, "drop", WITH, "\"reason\":\"decode error\"" },
    { sample_tcp, cannot_be_decoded, NULL, "drop", WITHOUT, "\"alert\":" },
    { sample_icmp, sample_drop, NULL, "drop", WITH,
      "\"drop\":{\"len\":258,\"tos\":8,\"ttl\":64,\"ipid\":4660,\"icmp_id\":77,\"icmp_seq\":5,"
      "\"reason\":\"rules\"}" },
    { sample_udp6, sample_drop, NULL, "drop", WITH,
      "\"drop\":{\"len\":16,\"tc\":8,\"hoplimit\":64,\"flowlbl\":703710,\"udplen\":16,\"reason\":\"rules\"}" },
    { sample_arp, sample_drop, NULL, "drop", WITH, "\"drop\":{\"reason\":\"rules\"}" },
    { sample_tcp, sample_reject, everything, "drop", WITH,
      "\"verdict\":{\"action\":\"drop\",\"reject_target\":\"to_client\",\"reject\":[\"tcp-reset\"]}" },
    { sample_udp6, rejects_both, everything, "drop", WITH,
      "\"verdict\":{\"action\":\"drop\",\"reject_target\":\"both\",\"reject\":[\"icmp-prohib\"]}" },
    { sample_gre, sample_reject, everything, "drop", WITH,
      "\"verdict\":{\"action\":\"drop\",\"reject_target\":\"to_client\",\"reject\":[]}" },
    { sample_tcp, rejects_without_ips, not_inline, "alert", WITH,
      "\"verdict\":{\"action\":\"alert\",\"reject_target\":\"to_server\",\"reject\":[\"tcp-reset\"]}" },
    { sample_arp, nothing, NULL, "anomaly", WITH,
      "\"anomaly\":{\"type\":\"decode\",\"event\":\"decoder.arp.pkt_too_small\"}" },
    { sample_arp, nothing, NULL, "anomaly", WITHOUT, "\"packet\":" },
    { sample_arp, nothing, everything, "anomaly", WITH, "\"packet\":\"ACWQ49LhDIYQ7dfGCAYAAAAAAAAAAAAAAAAAAAAAAAA=\"" },
    { sample_arp, nothing, everything, "anomaly", WITH, "\"linktype\":1" },

    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"flow_id\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"direction\":" },
    { sample_tcp, sample_alert, NULL, "alert", WITHOUT, "\"flow\":" },
    { sample_tcp_flow, sample_alert, NULL, "alert", WITH,
      "000123+0000\",\"flow_id\":4503599627370497,\"pcap_cnt\":13," },
    { sample_tcp_flow, sample_alert, NULL, "alert", WITH,
      "\"direction\":\"to_server\",\"flow\":{\"pkts_toserver\":3,\"pkts_toclient\":2,\"bytes_toserver\":300,"
      "\"bytes_toclient\":200,\"start\":\"2020-01-01T00:00:00.100123+0000\",\"src_ip\":\"10.1.0.2\","
      "\"dest_ip\":\"10.2.0.2\",\"src_port\":41234,\"dest_port\":80}" },
    { sample_tcp_answer, sample_alert, NULL, "alert", WITH, "\"src_ip\":\"10.1.0.2\",\"src_port\":41234" },
    { sample_tcp_answer, sample_alert, NULL, "alert", WITH, "\"direction\":\"to_client\"" },
    { sample_tcp_answer, sample_alert, NULL, "alert", WITH,
      "\"src_ip\":\"10.2.0.2\",\"dest_ip\":\"10.1.0.2\",\"src_port\":80,\"dest_port\":41234}" },
    { sample_tcp_flow, sample_alert, alert_without_flow, "alert", WITH, "\"direction\":\"to_server\"" },
    { sample_tcp_flow, sample_alert, alert_without_flow, "alert", WITHOUT, "\"flow\":" },
    { sample_icmp_flow, sample_alert, NULL, "alert", WITH, "\"src_ip\":\"10.1.0.2\",\"dest_ip\":\"10.2.0.2\"}" },
    { sample_rewritten, sample_alert, everything, "alert", WITH, "\"packet\":\"cmV3cml0dGVu\"" },
    { sample_tcp_flow, sample_alert, NULL, "alert", WITHOUT, "\"flowbits\":" },
    { sample_tcp_flow, alert_with_variables, NULL, "alert", WITH,
      "\"pkt_src\":\"wire/pcap\",\"metadata\":{\"flowbits\":[\"ET.Evil\",\"second \\\"bit\\\"\"],"
      "\"flowints\":{\"count\":4000000000}},\"alert\"" },
    { sample_tcp_flow, alert_with_variables, without_metadata, "alert", WITHOUT, "\"flowbits\":" },
    { sample_tcp_flow, alert_with_variables, without_metadata, "alert", WITHOUT, "\"flowints\":" },
    { sample_tcp_flow, alert_with_traffic, NULL, "alert", WITH,
      "\"pkt_src\":\"wire/pcap\",\"traffic\":{\"id\":[\"curl\"],\"label\":[\"one\",\"two\"]},\"alert\"" },
    { sample_tcp_flow, sample_drop, NULL, "drop", WITH, "\"flow_id\":4503599627370497," },
    { sample_tcp_flow, sample_drop, NULL, "drop", WITH, "\"direction\":\"to_server\",\"drop\":{" },
    { sample_tcp_flow, sample_drop, NULL, "drop", WITHOUT, "\"flow\":" },
    { sample_tcp_answer, flow_dropped_before, NULL, "drop", WITH, "\"direction\":\"to_client\",\"drop\":{" },
    { sample_tcp_flow, flow_dropped_before, NULL, "drop", WITH, "\"reason\":\"flow drop\"}}" },
    { sample_tcp_flow, stream_event, stream_events_too, "anomaly", WITH, "\"flow_id\":4503599627370497," },
    { sample_tcp_flow, stream_event, stream_events_too, "anomaly", WITH,
      "\"anomaly\":{\"type\":\"stream\",\"event\":\"stream.pkt_invalid_timestamp\"}}" },
    { sample_tcp_flow, tagged, NULL, "packet", WITH, "\"flow_id\":4503599627370497," },
    { sample_tcp_flow, tagged, NULL, "packet", WITH, "\"src_ip\":\"10.1.0.2\",\"src_port\":41234," },
    { sample_tcp_flow, tagged, NULL, "packet", WITH, "\"packet\":\"ACWQ49LhDIYQ7dfGCAB" },
    { sample_tcp_flow, tagged, NULL, "packet", WITH, "\"linktype_name\":\"EN10MB\"}}" },
};

START_TEST(writes_the_field)
{
    const struct field_case *c = &fields[_i];

    if (c->options)
        c->options(&output_rig->options);
    output_rig_open(1);
    c->packet(&output_rig->sample);
    c->decision(&output_rig->sample);
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    output_rig_expect(event_of(c->type), c->present, c->piece);
}
END_TEST

START_TEST(names_every_reason)
{
    for (int reason = 0; reason < DROP_REASON_COUNT; reason++)
        ck_assert_ptr_nonnull(output_drop_reason_name((enum drop_reason)reason));
}
END_TEST

/* --- Selection of events -------------------------------------------------------------------------- */

enum { A = 1 << OUTPUT_ALERT, D = 1 << OUTPUT_DROP, N = 1 << OUTPUT_ANOMALY, P = 1 << OUTPUT_PACKET, ALL = ~0 };

static void both_kinds_of_anomaly(struct sample *sample)
{
    stream_event(sample);
    packet_add_event(&sample->packet, DECODE_EVENT_AFPACKET_TRUNC_PKT);
    stream_event(sample);
}

static void drop_of_pseudo_packet(struct sample *sample)
{
    sample_drop(sample);
    sample->decision.tagged = true;
    sample->packet.flags |= PACKET_PSEUDO;
}

static void tagged_alert(struct sample *sample)
{
    sample_alert(sample);
    tagged(sample);
}

static const struct {
    void (*packet)(struct sample *sample);
    void (*decision)(struct sample *sample);
    int enabled;
    bool decode, stream, tagged;
    uint64_t alerts, drops, anomalies, packets;
} kinds[] = {
    { sample_tcp, nothing, ALL, true, true, true, 0, 0, 0, 0 },
    { sample_tcp, sample_alert, ALL, true, true, true, 1, 0, 0, 0 },
    { sample_tcp, sample_second_drops, ALL, true, true, true, 2, 1, 0, 0 },
    { sample_tcp, sample_second_drops, ALL & ~A, true, true, true, 0, 1, 0, 0 },
    { sample_tcp, sample_second_drops, ALL & ~D, true, true, true, 2, 0, 0, 0 },
    { sample_arp, sample_drop, ALL, true, true, true, 1, 1, 1, 0 },
    { sample_arp, sample_drop, ALL, false, true, true, 1, 1, 0, 0 },
    { sample_arp, sample_drop, ALL & ~N, true, true, true, 1, 1, 0, 0 },
    { sample_arp, sample_drop, 0, true, true, true, 0, 0, 0, 0 },
    { sample_tcp, both_kinds_of_anomaly, ALL, true, true, true, 0, 0, 3, 0 },
    { sample_tcp, both_kinds_of_anomaly, ALL, true, false, true, 0, 0, 1, 0 },
    { sample_tcp, both_kinds_of_anomaly, ALL, false, true, true, 0, 0, 2, 0 },
    { sample_tcp, both_kinds_of_anomaly, ALL, false, false, true, 0, 0, 0, 0 },
    { sample_tcp, drop_of_pseudo_packet, ALL, true, true, true, 1, 0, 0, 0 },
    { sample_tcp, tagged, ALL, true, true, true, 0, 0, 0, 1 },
    { sample_tcp, tagged_alert, ALL, true, true, true, 1, 0, 0, 1 },
    { sample_tcp, tagged, ALL, true, true, false, 0, 0, 0, 0 },
    { sample_tcp, tagged, ALL & ~P, true, true, true, 0, 0, 0, 0 },
    { sample_arp, tagged, ALL, true, true, true, 0, 0, 1, 0 },
};

START_TEST(writes_what_is_enabled)
{
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        output_rig->options.eve.enabled[kind] = kinds[_i].enabled >> kind & 1;
    output_rig->options.eve.anomaly.decode = kinds[_i].decode;
    output_rig->options.eve.anomaly.stream = kinds[_i].stream;
    output_rig->options.eve.alert.tagged_packets = kinds[_i].tagged;
    output_rig_open(1);
    kinds[_i].packet(&output_rig->sample);
    kinds[_i].decision(&output_rig->sample);
    output_rig_put(0);
    output_rig_finish(output_rig->path);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_eq(got.written[OUTPUT_ALERT], kinds[_i].alerts);
    ck_assert_uint_eq(got.written[OUTPUT_DROP], kinds[_i].drops);
    ck_assert_uint_eq(got.written[OUTPUT_ANOMALY], kinds[_i].anomalies);
    ck_assert_uint_eq(got.written[OUTPUT_PACKET], kinds[_i].packets);
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        ck_assert_uint_eq(got.lost[kind], 0);
    ck_assert_uint_eq(output_rig->count, kinds[_i].alerts + kinds[_i].drops + kinds[_i].anomalies + kinds[_i].packets);
}
END_TEST

START_TEST(needs_no_decision)
{
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    cannot_be_decoded(&output_rig->sample);
    output_packet(output_port(output_rig->output, 0), &output_rig->sample.packet, NULL, 0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 1);
    output_rig_expect(output_rig->events[0], true, "\"reason\":\"decode error\"");
}
END_TEST

/* Timestamps in sequence: new seconds and days, and earlier ones. */
static const struct {
    uint64_t time_ns;
    const char *text;
} moments[] = {
    { 0, "1970-01-01T00:00:00.000000+0000" },
    { 999999999, "1970-01-01T00:00:00.999999+0000" },
    { 1000000000, "1970-01-01T00:00:01.000000+0000" },
    { 951782399000001000, "2000-02-28T23:59:59.000001+0000" },
    { 951782400120000000, "2000-02-29T00:00:00.120000+0000" },
    { 951782400120001999, "2000-02-29T00:00:00.120001+0000" },
    { 951782399000000000, "2000-02-28T23:59:59.000000+0000" },
    { 4107542399999999999, "2100-02-28T23:59:59.999999+0000" },
    { 4107542400000000000, "2100-03-01T00:00:00.000000+0000" },
};

START_TEST(each_event_has_its_own_time)
{
    char piece[64];

    output_rig_open(1);
    for (int i = 0; i < ROWS(moments); i++) {
        sample_tcp(&output_rig->sample);
        cannot_be_decoded(&output_rig->sample);
        output_rig->sample.packet.time_ns = moments[i].time_ns;
        output_packet(output_port(output_rig->output, 0), &output_rig->sample.packet, NULL, 0);
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, ROWS(moments));
    for (int i = 0; i < ROWS(moments); i++) {
        snprintf(piece, sizeof(piece), "{\"timestamp\":\"%s\",", moments[i].text);
        output_rig_expect(output_rig->events[i], true, piece);
    }
}
END_TEST

START_TEST(writes_one_anomaly_per_event)
{
    output_rig_open(1);
    sample_arp(&output_rig->sample);
    packet_add_event(&output_rig->sample.packet, DECODE_EVENT_AFPACKET_TRUNC_PKT);
    packet_add_event(&output_rig->sample.packet, DECODE_EVENT_ARP_PKT_TOO_SMALL);
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 3); /* in the order of arrival, also repeated ones */
    output_rig_expect(output_rig->events[0], true, "\"event\":\"decoder.arp.pkt_too_small\"");
    output_rig_expect(output_rig->events[1], true, "\"event\":\"decoder.afpacket.trunc_pkt\"");
    output_rig_expect(output_rig->events[2], true, "\"event\":\"decoder.arp.pkt_too_small\"");
}
END_TEST

/* --- Community ID --------------------------------------------------------------------------------- */

/* Examples of the Community ID specification, and captures with the IDs that Suricata computes. */
static const struct {
    const char *source, *destination;
    uint16_t source_port, destination_port; /* type and code for ICMP */
    uint8_t protocol;
    uint16_t seed;
    const char *id;
} community_ids[] = {
    { "128.232.110.120", "66.35.250.204", 34855, 80, IPPROTO_TCP, 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=" },
    { "66.35.250.204", "128.232.110.120", 80, 34855, IPPROTO_TCP, 0, "1:LQU9qZlK+B5F3KDmev6m5PMibrg=" },
    { "128.232.110.120", "66.35.250.204", 34855, 80, IPPROTO_TCP, 1, "1:3V71V58M3Ksw/yuFALMcW0LAHvc=" },
    { "192.168.1.52", "8.8.8.8", 54585, 53, IPPROTO_UDP, 0, "1:d/FP5EW3wiY1vCndhwleRRKHowQ=" },
    { "8.8.8.8", "192.168.1.52", 53, 54585, IPPROTO_UDP, 0, "1:d/FP5EW3wiY1vCndhwleRRKHowQ=" },
    { "192.168.170.8", "192.168.170.56", 7, 80, IPPROTO_SCTP, 0, "1:jQgCxbku+pNGw8WPbEc/TS/uTpQ=" },
    { "192.168.0.89", "192.168.0.1", 8, 0, IPPROTO_ICMP, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=" },
    { "192.168.0.1", "192.168.0.89", 0, 0, IPPROTO_ICMP, 0, "1:X0snYXpgwiv9TZtqg64sgzUn6Dk=" },
    { "fe80::200:86ff:fe05:80da", "fe80::260:97ff:fe07:69ea", 135, 0, IPPROTO_ICMPV6, 0,
      "1:dGHyGvjMfljg6Bppwm3bg0LO8TY=" },
    { "fe80::260:97ff:fe07:69ea", "fe80::200:86ff:fe05:80da", 136, 0, IPPROTO_ICMPV6, 0,
      "1:dGHyGvjMfljg6Bppwm3bg0LO8TY=" },
    { "172.26.0.39", "172.217.14.206", 35958, 443, IPPROTO_TCP, 7, "1:IwiTNfuO7aCaamMijl+7/X9uLx0=" },
    { "2600:1f13:f8:d400:3a6:303c:e011:18eb", "2607:f8b0:400a:800::200e", 60202, 443, IPPROTO_TCP, 7,
      "1:ptJhMvufAbB5nLDNW77cB800wFM=" },
    { "192.1.2.23", "192.1.2.45", 0x1234, 0x5678, IPPROTO_ESP, 0, "1:focy7H+71dTQz46IkC2YcGxjkfg=" },
    { "192.1.2.45", "192.1.2.23", 0x8765, 0x4321, IPPROTO_ESP, 0, "1:focy7H+71dTQz46IkC2YcGxjkfg=" },
};

START_TEST(hashes_both_directions_alike)
{
    struct endpoints ends = { .protocol = community_ids[_i].protocol };
    uint16_t source_port = community_ids[_i].source_port, destination_port = community_ids[_i].destination_port;
    char id[COMMUNITY_ID_SIZE];

    ends.ip_version = (uint8_t)address_parse(community_ids[_i].source, strlen(community_ids[_i].source), &ends.source);
    address_parse(community_ids[_i].destination, strlen(community_ids[_i].destination), &ends.destination);
    ends.source_port = source_port;
    ends.destination_port = destination_port;
    community_id(&ends, (uint8_t)source_port, (uint8_t)destination_port, community_ids[_i].seed, id);
    ck_assert_str_eq(id, community_ids[_i].id);
}
END_TEST

/* The ID of an ICMP message without a counterpart keeps its direction. */
START_TEST(keeps_the_direction_of_one_way_icmp)
{
    const struct endpoints there = { .ip_version = 4, .protocol = IPPROTO_ICMP, .source = { { 10, 0, 0, 2 } } };
    const struct endpoints back = { .ip_version = 4, .protocol = IPPROTO_ICMP, .destination = { { 10, 0, 0, 2 } } };
    char id[COMMUNITY_ID_SIZE], other[COMMUNITY_ID_SIZE];

    community_id(&there, 3, 1, 0, id);
    community_id(&back, 3, 1, 0, other);
    ck_assert_str_ne(id, other);
}
END_TEST

/* --- Statistics ----------------------------------------------------------------------------------- */

static void put_stats(uint64_t packets)
{
    const struct output_stat stats[] = {
        { "decoder.pkts", packets },
        { "queue.0.waiting", 5 },
        { "decoder.event.ipv4.trunc_pkt", 0 },
        { "queue.10.waiting", 6 },
        { "decoder.bytes", 2 * packets },
        { "threads.W-0.decoder.pkts", 1 },
        { "decoder-x.more", 1 },
        { "top", 9 },
    };

    output_stats(output_rig->output, stats, (size_t)ROWS(stats), 30, SAMPLE_TIME_NS);
}

static void all_stats(struct output_options *options)
{
    options->eve.stats.threads = options->eve.stats.deltas = true;
}

static void no_zeros(struct output_options *options)
{
    options->eve.stats.null_values = false;
}

static void only_threads(struct output_options *options)
{
    options->eve.stats.totals = false;
    options->eve.stats.threads = true;
}

static const struct {
    void (*options)(struct output_options *options);
    size_t event;
    const char *stats;
} stats_cases[] = {
    { NULL, 0,
      "{\"uptime\":30,\"decoder\":{\"bytes\":20,\"event\":{\"ipv4\":{\"trunc_pkt\":0}},\"pkts\":10},"
      "\"decoder-x\":{\"more\":1},\"top\":9},"
      "\"sluice\":{\"stats\":{\"queue\":{\"0\":{\"waiting\":5},\"10\":{\"waiting\":6}}}}}" },
    { no_zeros, 0,
      "{\"uptime\":30,\"decoder\":{\"bytes\":20,\"pkts\":10},\"decoder-x\":{\"more\":1},\"top\":9},"
      "\"sluice\":{\"stats\":{\"queue\":{\"0\":{\"waiting\":5},\"10\":{\"waiting\":6}}}}}" },
    { only_threads, 0, "{\"uptime\":30,\"threads\":{\"W-0\":{\"decoder\":{\"pkts\":1}}}}" },
    { all_stats, 1,
      "{\"uptime\":30,\"decoder\":{\"bytes\":50,\"bytes_delta\":30,\"event\":{\"ipv4\":{\"trunc_pkt\":0,"
      "\"trunc_pkt_delta\":0}},\"pkts\":25,\"pkts_delta\":15},\"decoder-x\":{\"more\":1,\"more_delta\":0},"
      "\"threads\":{\"W-0\":{\"decoder\":{\"pkts\":1,\"pkts_delta\":0}}},\"top\":9,\"top_delta\":0},"
      "\"sluice\":{\"stats\":{"
      "\"queue\":{\"0\":{\"waiting\":5,\"waiting_delta\":0},\"10\":{\"waiting\":6,\"waiting_delta\":0}}}}}" },
};

START_TEST(nests_statistics)
{
    if (stats_cases[_i].options)
        stats_cases[_i].options(&output_rig->options);
    output_rig_open(1);
    put_stats(10);
    put_stats(25);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 2);
    output_rig_expect(
        output_rig->events[stats_cases[_i].event], true,
        "{\"timestamp\":\"2020-01-01T00:00:01.000123+0000\",\"event_type\":\"stats\",\"stats\":{\"uptime\":30,");
    output_rig_expect(output_rig->events[stats_cases[_i].event], true, stats_cases[_i].stats);
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_STATS], 2);
}
END_TEST

START_TEST(writes_statistics_after_what_was_before)
{
    output_rig_open(2);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    for (int i = 0; i < 1000; i++)
        output_rig_put(i % 2);
    put_stats(1);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 1001);
    output_rig_expect(output_rig->events[1000], true, "\"event_type\":\"stats\"");
}
END_TEST

/* --- The terminal --------------------------------------------------------------------------------- */

static void coloured(struct output_options *options)
{
    options->console_colour = true;
}

static void on_queue(struct output_options *options)
{
    options->queue_fields = true;
}

static void hostile(struct sample *sample)
{
    sample_alert(sample);
    sample->rule.message = "\033[2Jgone\n";
}

static const struct {
    void (*packet)(struct sample *sample);
    void (*decision)(struct sample *sample);
    void (*options)(struct output_options *options);
    const char *text;
} lines[] = {
    { sample_tcp, sample_alert, NULL,
      "00:00:01.000123 ALERT [1:9000001:3] A \"test\" rule {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (packet 13)\n" },
    { sample_queue, sample_drop, on_queue,
      "00:00:01.000123 DROP  [1:9000001:3] A \"test\" rule {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (queue 3, rules)\n" },
    { sample_queue, sample_reject, on_queue,
      "00:00:01.000123 REJECT [1:9000001:3] A \"test\" rule {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (queue 3, rules)\n" },
    { sample_udp6, sample_second_drops, NULL,
      "00:00:01.000123 ALERT [1:2:0] {UDP} [2001:db8::1]:5353 -> [2001:db8::2]:53 (packet 13)\n"
      "00:00:01.000123 DROP  [1:9000001:3] A \"test\" rule {UDP} [2001:db8::1]:5353 -> [2001:db8::2]:53 "
      "(packet 13, rules)\n" },
    { sample_unnamed, cannot_be_decoded, NULL,
      "00:00:01.000123 DROP  {253} 10.1.0.2 -> 10.2.0.2 (packet 13, decode error)\n" },
    { sample_arp, nothing, NULL, "00:00:01.000123 ANOMALY decoder.arp.pkt_too_small (packet 13)\n" },
    { sample_icmp, hostile, NULL,
      "00:00:01.000123 ALERT [1:9000001:3] \\x1b[2Jgone\\x0a {ICMP} 10.1.0.2 -> 10.2.0.2 (packet 13)\n" },
    { sample_icmp, sample_alert, coloured,
      "\033[33m00:00:01.000123 ALERT [1:9000001:3] A \"test\" rule {ICMP} 10.1.0.2 -> 10.2.0.2 (packet 13)\033[0m\n" },
    { sample_icmp, drops_silently, coloured,
      "\033[31m00:00:01.000123 DROP  [1:9000001:3] A \"test\" rule {ICMP} 10.1.0.2 -> 10.2.0.2 (packet 13, rules)"
      "\033[0m\n" },
    { sample_arp, nothing, coloured, "\033[2m00:00:01.000123 ANOMALY decoder.arp.pkt_too_small (packet 13)\033[0m\n" },
};

/* The first half of the runs writes the file, the second half does not. */
START_TEST(writes_lines_for_people)
{
    const int row = _i % ROWS(lines);
    char *text = NULL;
    size_t size = 0;

    output_rig->options.console = open_memstream(&text, &size);
    if (_i >= ROWS(lines))
        output_rig->options.eve_path = NULL;
    if (lines[row].options)
        lines[row].options(&output_rig->options);
    output_rig_open(1);
    lines[row].packet(&output_rig->sample);
    lines[row].decision(&output_rig->sample);
    output_rig_put(0);
    output_stop(output_rig->output);
    fclose(output_rig->options.console);
    ck_assert_str_eq(text, lines[row].text);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_gt(got.written[OUTPUT_ALERT] + got.written[OUTPUT_DROP] + got.written[OUTPUT_ANOMALY], 0);
    free(text);
}
END_TEST

START_TEST(writes_statistics_for_people)
{
    char *text = NULL;
    size_t size = 0;

    output_rig->options.console = open_memstream(&text, &size);
    output_rig->options.console_stats = true;
    output_rig_open(1);
    put_stats(1);
    output_stop(output_rig->output);
    fclose(output_rig->options.console);
    ck_assert_str_eq(text, "00:00:01.000123 STATS up 30 s decoder.pkts=1 queue.0.waiting=5 queue.10.waiting=6 "
                           "decoder.bytes=2 threads.W-0.decoder.pkts=1 decoder-x.more=1 top=9\n");
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output");
    TCase *tcase = tcase_create("output");

    tcase_add_checked_fixture(tcase, output_rig_setup, output_rig_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, writes_the_field, 0, ROWS(fields));
    tcase_add_test(tcase, names_every_reason);
    tcase_add_loop_test(tcase, writes_what_is_enabled, 0, ROWS(kinds));
    tcase_add_test(tcase, needs_no_decision);
    tcase_add_test(tcase, each_event_has_its_own_time);
    tcase_add_test(tcase, writes_one_anomaly_per_event);
    tcase_add_loop_test(tcase, hashes_both_directions_alike, 0, ROWS(community_ids));
    tcase_add_test(tcase, keeps_the_direction_of_one_way_icmp);
    tcase_add_loop_test(tcase, nests_statistics, 0, ROWS(stats_cases));
    tcase_add_test(tcase, writes_statistics_after_what_was_before);
    tcase_add_loop_test(tcase, writes_lines_for_people, 0, 2 * ROWS(lines));
    tcase_add_test(tcase, writes_statistics_for_people);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
