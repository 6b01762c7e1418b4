/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of flows and streams that the tests define. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output_rig.h"

#include "sluice/clock.h"
#include "stream_double.h"

/* Variables and gaps in the record of an event, and the smallest ring. */
enum { VARIABLES_MAX = 256, GAPS_MAX = 64, RING_MIN_SIZE = 2 << 20 };

static struct sample_session *session_of(struct flow *flow)
{
    struct sample_session *session = calloc(1, sizeof(*session));

    session->bytes[FLOW_TO_SERVER] = session->bytes[FLOW_TO_CLIENT] = "";
    flow->tcp = (struct tcp_session *)session;
    return session;
}

static void end_flow(enum flow_end reason)
{
    output_flow(output_port(output_rig->output, 0), &output_rig->sample.flow, reason, 7);
}

/* --- Events of flows ------------------------------------------------------------------------------ */

static void both(struct output_options *options)
{
    options->eve.enabled[OUTPUT_NETFLOW] = true;
}

static void everything(struct output_options *options)
{
    struct eve_options *eve = &options->eve;

    both(options);
    eve->ethernet = eve->community_id = eve->pcap_file = eve->ipv6_compress = true;
    eve->pcap_file_name = "x.pcap";
}

static void live(struct output_options *options)
{
    both(options);
    options->queue_fields = true;
}

static void without_metadata(struct output_options *options)
{
    both(options);
    options->eve.metadata = false;
}

static void without_names(struct output_options *options)
{
    both(options);
    options->names = NULL;
}

static void plain(struct flow *flow)
{
    (void)flow;
}

static void with_session(struct flow *flow)
{
    session_of(flow)->summary = (struct tcp_summary){
        .state = TCP_STATE_CLOSED,
        .reported = TCP_STATE_CLOSED,
        .flags = { TCP_SYN | TCP_ACK | TCP_PSH | TCP_FIN, TCP_SYN | TCP_ACK },
        .max_regions = { 2, 1 },
    };
}

static void with_holes(struct flow *flow)
{
    session_of(flow)->summary = (struct tcp_summary){
        .state = TCP_STATE_ESTABLISHED,
        .reported = TCP_STATE_ESTABLISHED,
        .flags = { 0, TCP_RST | TCP_URG | TCP_ECE | TCP_CWR },
        .has_gap = { true, true },
        .urgent_oob = { 3, 4 },
    };
}

static void dropped(struct flow *flow)
{
    flow->flags = FLOW_DROPPED | FLOW_ALERTED | FLOW_PASSED;
    flow->exceptions[EXCEPTION_STREAM_MIDSTREAM] = EXCEPTION_DROP_FLOW + 1;
    flow->exceptions[EXCEPTION_FLOW_MEMCAP] = EXCEPTION_IGNORE + 1;
}

static void passed(struct flow *flow)
{
    flow->flags = FLOW_PASSED;
}

static void accepted_whole(struct flow *flow)
{
    flow->flags = FLOW_ACCEPTED_BY_EXCEPTION;
}

static void bypassed(struct flow *flow)
{
    flow->state = FLOW_BYPASSED;
    flow->emergency = true;
}

static void one_way(struct flow *flow)
{
    flow->state = FLOW_NEW;
    flow->side[FLOW_TO_CLIENT] = (struct flow_side){ 0 };
    flow->macs->count[FLOW_TO_CLIENT] = 0;
}

static void long_ago(struct flow *flow)
{
    flow->last_ns = flow->start_ns + 600 * UINT64_C(1000000000);
}

static void with_variables(struct flow *flow)
{
    uint32_t bit = rule_names_number(output_rig->names, RULE_NAME_FLOWBIT, span_of("ET.Evil"));
    uint32_t label = rule_names_number(output_rig->names, RULE_NAME_FLOWBIT, span_of("traffic/label/web"));
    uint32_t integer = rule_names_number(output_rig->names, RULE_NAME_FLOWINT, span_of("count"));

    ck_assert(flow_bit_set(output_rig->flows, flow, bit) && flow_bit_set(output_rig->flows, flow, label));
    ck_assert(flow_integer_set(output_rig->flows, flow, integer, 9));
}

static void of_unnamed_protocol(struct flow *flow)
{
    flow->protocol = 253;
}

enum { WITHOUT, WITH };

/* The order of the events of a flow: flow, netflow to the server, netflow to the client. */
enum { EVENT_FLOW, EVENT_TO_SERVER, EVENT_TO_CLIENT };

static const struct field_case {
    void (*packet)(struct sample *sample);
    void (*change)(struct flow *flow);
    void (*options)(struct output_options *options);
    size_t event;
    bool present;
    const char *piece;
} fields[] = {
    { sample_tcp, plain, both, EVENT_FLOW, WITH,
      "{\"timestamp\":\"2020-01-01T00:00:01.000123+0000\",\"flow_id\":4503599627370497,\"event_type\":\"flow\","
      "\"src_ip\":\"10.1.0.2\",\"src_port\":41234,\"dest_ip\":\"10.2.0.2\",\"dest_port\":80,\"ip_v\":4,"
      "\"proto\":\"TCP\",\"flow\":{\"pkts_toserver\":3,\"pkts_toclient\":2,\"bytes_toserver\":300,"
      "\"bytes_toclient\":200,\"start\":\"2020-01-01T00:00:00.100123+0000\","
      "\"end\":\"2020-01-01T00:00:01.000123+0000\",\"age\":1,\"state\":\"established\",\"reason\":\"timeout\","
      "\"alerted\":false},\"tcp\":{\"tcp_flags\":\"00\",\"tcp_flags_ts\":\"00\",\"tcp_flags_tc\":\"00\"}}\n" },
    { sample_tcp, with_session, both, EVENT_FLOW, WITH,
      "\"tcp\":{\"tcp_flags\":\"1b\",\"tcp_flags_ts\":\"1b\",\"tcp_flags_tc\":\"12\",\"syn\":true,\"fin\":true,"
      "\"psh\":true,\"ack\":true,\"state\":\"closed\",\"ts_max_regions\":2,\"tc_max_regions\":1}}\n" },
    { sample_tcp, with_holes, both, EVENT_FLOW, WITH,
      "\"tcp\":{\"tcp_flags\":\"e4\",\"tcp_flags_ts\":\"00\",\"tcp_flags_tc\":\"e4\",\"rst\":true,\"urg\":true,"
      "\"ecn\":true,\"cwr\":true,\"state\":\"established\",\"tc_gap\":true,\"ts_gap\":true,\"ts_max_regions\":0,"
      "\"tc_max_regions\":0,\"ts_urgent_oob_data\":3,\"tc_urgent_oob_data\":4}}\n" },
    { sample_tcp, dropped, both, EVENT_FLOW, WITH,
      "\"alerted\":true,\"action\":\"drop\",\"exception_policy\":[{\"target\":\"flow_memcap\",\"policy\":\"ignore\"},"
      "{\"target\":\"stream_midstream\",\"policy\":\"drop_flow\"}]}" },
    { sample_tcp, passed, both, EVENT_FLOW, WITH, "\"action\":\"pass\"}" },
    { sample_tcp, accepted_whole, both, EVENT_FLOW, WITH, "\"action\":\"pass\"}" },
    { sample_tcp, bypassed, both, EVENT_FLOW, WITH,
      "\"emergency\":true,\"state\":\"bypassed\",\"bypass\":\"local\",\"reason\":\"timeout\"" },
    { sample_tcp, long_ago, both, EVENT_FLOW, WITH, "\"age\":600," },
    { sample_tcp, plain, both, EVENT_FLOW, WITHOUT, "\"metadata\":" },
    { sample_tcp, plain, both, EVENT_FLOW, WITHOUT, "\"vlan\":" },
    { sample_tcp, plain, both, EVENT_FLOW, WITHOUT, "\"pcap_cnt\":" },
    { sample_tcp, plain, both, EVENT_FLOW, WITHOUT, "\"ether\":" },
    { sample_tcp, plain, both, EVENT_FLOW, WITHOUT, "\"in_iface\":" },
    { sample_tcp, plain, both, EVENT_FLOW, WITHOUT, "\"app_proto\":" },
    { sample_tcp, with_variables, both, EVENT_FLOW, WITH,
      "\"alerted\":false},\"traffic\":{\"label\":[\"web\"]},\"metadata\":{\"flowbits\":[\"ET.Evil\"],"
      "\"flowints\":{\"count\":9}},\"tcp\":{" },
    { sample_tcp, with_variables, without_metadata, EVENT_FLOW, WITHOUT, "\"metadata\":" },
    { sample_tcp, with_variables, without_names, EVENT_FLOW, WITHOUT, "\"metadata\":" },
    { sample_tcp, plain, everything, EVENT_FLOW, WITH,
      "\"ether\":{\"dest_macs\":[\"00:25:90:e3:d2:e1\"],\"src_macs\":[\"0c:86:10:ed:d7:c6\"]}" },
    { sample_tcp, one_way, everything, EVENT_FLOW, WITH, "\"ether\":{\"src_macs\":[\"0c:86:10:ed:d7:c6\"]}" },
    { sample_tcp, plain, everything, EVENT_FLOW, WITH, "\"community_id\":\"1:" },
    { sample_tcp, plain, everything, EVENT_FLOW, WITH, "\"pcap_filename\":\"x.pcap\"}\n" },
    { sample_queue, plain, live, EVENT_FLOW, WITH, "\"flow_id\":4503599627370497,\"in_iface\":\"lo\"," },
    { sample_queue, plain, live, EVENT_FLOW, WITH,
      "\"sluice\":{\"queue\":{\"number\":3,\"mark\":5,\"hook\":\"forward\",\"in_iface\":\"lo\",\"ct_id\":70,\"ct_"
      "mark\":80,"
      "\"ruleset\":7}" },
    { sample_queue, plain, live, EVENT_FLOW, WITHOUT, "{\"timestamp\":\"2020-01-01T00" },
    { sample_udp6, plain, both, EVENT_FLOW, WITH,
      "\"event_type\":\"flow\",\"vlan\":[100,200],\"src_ip\":\"2001:0db8:0000:0000:0000:0000:0000:0001\"" },
    { sample_udp6, plain, everything, EVENT_FLOW, WITH, "\"src_ip\":\"2001:db8::1\",\"src_port\":5353" },
    { sample_udp6, plain, both, EVENT_FLOW, WITHOUT, "\"tcp\":" },
    { sample_icmp, plain, both, EVENT_FLOW, WITH,
      "\"dest_ip\":\"10.2.0.2\",\"ip_v\":4,\"proto\":\"ICMP\",\"icmp_type\":8,\"icmp_code\":0,"
      "\"response_icmp_type\":0,\"response_icmp_code\":0,\"flow\":{" },
    { sample_icmp, one_way, both, EVENT_FLOW, WITH, "\"icmp_type\":8,\"icmp_code\":0,\"flow\":{" },
    { sample_tcp, of_unnamed_protocol, both, EVENT_FLOW, WITH,
      "\"src_ip\":\"10.1.0.2\",\"dest_ip\":\"10.2.0.2\",\"ip_v\":4,\"proto\":\"253\",\"flow\":{" },

    { sample_tcp, with_session, both, EVENT_TO_SERVER, WITH,
      "\"event_type\":\"netflow\",\"src_ip\":\"10.1.0.2\",\"src_port\":41234,\"dest_ip\":\"10.2.0.2\","
      "\"dest_port\":80,\"ip_v\":4,\"proto\":\"TCP\",\"app_proto\":\"unknown\",\"netflow\":{\"pkts\":3,\"bytes\":300,"
      "\"start\":\"2020-01-01T00:00:00.100123+0000\",\"end\":\"2020-01-01T00:00:01.000123+0000\",\"age\":1,"
      "\"min_ttl\":63,\"max_ttl\":64},\"tcp\":{\"tcp_flags\":\"1b\",\"syn\":true,\"fin\":true,\"psh\":true,"
      "\"ack\":true}}\n" },
    { sample_tcp, with_session, both, EVENT_TO_CLIENT, WITH,
      "\"event_type\":\"netflow\",\"src_ip\":\"10.2.0.2\",\"src_port\":80,\"dest_ip\":\"10.1.0.2\","
      "\"dest_port\":41234,\"ip_v\":4,\"proto\":\"TCP\",\"app_proto\":\"unknown\",\"netflow\":{\"pkts\":2,\"bytes\":"
      "200," },
    { sample_tcp, with_session, both, EVENT_TO_CLIENT, WITH,
      "\"min_ttl\":50,\"max_ttl\":51},\"tcp\":{\"tcp_flags\":\"12\",\"syn\":true,\"ack\":true}}\n" },
    { sample_tcp, with_variables, both, EVENT_TO_CLIENT, WITH, "\"metadata\":{\"flowbits\":[\"ET.Evil\"]" },
    { sample_tcp, plain, everything, EVENT_TO_CLIENT, WITH,
      "\"ether\":{\"dest_macs\":[\"0c:86:10:ed:d7:c6\"],\"src_macs\":[\"00:25:90:e3:d2:e1\"]}" },
    { sample_icmp, plain, both, EVENT_TO_SERVER, WITH,
      "\"icmp_type\":8,\"icmp_code\":0,\"app_proto\":\"unknown\",\"netflow\":{" },
    { sample_icmp, plain, both, EVENT_TO_CLIENT, WITH,
      "\"icmp_type\":0,\"icmp_code\":0,\"app_proto\":\"unknown\",\"netflow\":{" },
};

START_TEST(writes_the_field)
{
    const struct field_case *c = &fields[_i];

    c->options(&output_rig->options);
    output_rig_open(1);
    c->packet(&output_rig->sample);
    sample_flow(&output_rig->sample);
    c->change(&output_rig->sample.flow);
    end_flow(FLOW_END_TIMEOUT);
    output_rig_finish(output_rig->path);
    ck_assert_uint_gt(output_rig->count, c->event);
    output_rig_expect(output_rig->events[c->event], c->present, c->piece);
    free(output_rig->sample.flow.tcp);
}
END_TEST

static const char *const reasons[] = { "timeout", "forced", "shutdown", "tcp_reuse" };

START_TEST(names_every_reason)
{
    char piece[64];

    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_flow(&output_rig->sample);
    end_flow((enum flow_end)_i);
    output_rig_finish(output_rig->path);
    snprintf(piece, sizeof(piece), "\"reason\":\"%s\"", reasons[_i]);
    output_rig_expect(output_rig->events[0], true, piece);
}
END_TEST

static const struct {
    bool flow, netflow, has_file, has_answer;
    uint64_t flows, netflows;
} kinds[] = {
    { true, true, true, true, 1, 2 },  { true, true, true, false, 1, 1 },  { true, false, true, true, 1, 0 },
    { false, true, true, true, 0, 2 }, { false, false, true, true, 0, 0 }, { true, true, false, true, 0, 0 },
};

START_TEST(writes_what_is_enabled)
{
    char *text = NULL;
    size_t size = 0;

    output_rig->options.eve.enabled[OUTPUT_FLOW] = kinds[_i].flow;
    output_rig->options.eve.enabled[OUTPUT_NETFLOW] = kinds[_i].netflow;
    output_rig->options.console = open_memstream(&text, &size);
    if (!kinds[_i].has_file)
        output_rig->options.eve_path = NULL;
    output_rig_open(1);
    sample_udp6(&output_rig->sample);
    sample_flow(&output_rig->sample);
    if (!kinds[_i].has_answer)
        one_way(&output_rig->sample.flow);
    end_flow(FLOW_END_SHUTDOWN);
    output_stop(output_rig->output);
    fclose(output_rig->options.console);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_eq(got.written[OUTPUT_FLOW], kinds[_i].flows);
    ck_assert_uint_eq(got.written[OUTPUT_NETFLOW], kinds[_i].netflows);
    ck_assert_uint_eq(size, 0); /* no line for the console */
    free(text);
}
END_TEST

START_TEST(counts_what_a_full_ring_loses)
{
    uint64_t flows = 0;

    output_rig->options.ring_size = 1;
    both(&output_rig->options);
    output_rig_open(1);
    sample_udp6(&output_rig->sample);
    sample_flow(&output_rig->sample);
    while (output_rig_counters().lost[OUTPUT_FLOW] < 10) {
        end_flow(FLOW_END_TIMEOUT);
        flows++;
        ck_assert_uint_lt(flows, RING_MIN_SIZE);
    }
    output_rig_finish(output_rig->path);

    struct output_counters got = output_rig_counters();

    ck_assert_uint_eq(got.written[OUTPUT_FLOW], flows - 10);
    ck_assert_uint_eq(got.written[OUTPUT_NETFLOW], 2 * (flows - 10));
    ck_assert_uint_eq(got.lost[OUTPUT_NETFLOW], 20);
    ck_assert_uint_eq(output_rig->count, 3 * (flows - 10));
}
END_TEST

/* Variables for which the record has no room are omitted; the event is still complete. */
START_TEST(bounds_the_variables)
{
    char name[32], last[40], beyond[40];

    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_flow(&output_rig->sample);
    for (int i = 0; i < VARIABLES_MAX + 10; i++) {
        snprintf(name, sizeof(name), "bit-%03d", i);
        ck_assert(flow_bit_set(output_rig->flows, &output_rig->sample.flow,
                               rule_names_number(output_rig->names, RULE_NAME_FLOWBIT, span_of(name))));
    }
    end_flow(FLOW_END_TIMEOUT);
    sample_alert(&output_rig->sample);
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 2);
    snprintf(last, sizeof(last), "\"bit-%03d\"]}", VARIABLES_MAX - 1);
    snprintf(beyond, sizeof(beyond), "\"bit-%03d\"", VARIABLES_MAX);
    for (size_t i = 0; i < output_rig->count; i++) {
        output_rig_expect(output_rig->events[i], true, last);
        output_rig_expect(output_rig->events[i], false, beyond);
    }
}
END_TEST

/* --- Drops of a flow ------------------------------------------------------------------------------ */

enum { BY_RULE = 1, TO_CLIENT = 2, OF_PACKET = 4, NO_FLOW = 8, LAST = 16 };

/* Sequences of dropped packets, and the number of drop events. */
static const struct {
    int packets[8];
    uint64_t at_start, all;
} drops[] = {
    { { BY_RULE, 0, 0, TO_CLIENT, TO_CLIENT, 0, LAST }, 2, 6 },
    { { 0, 0, TO_CLIENT, 0, LAST }, 2, 4 },
    { { TO_CLIENT, TO_CLIENT, 0, BY_RULE, BY_RULE | TO_CLIENT, LAST }, 4, 5 },
    { { OF_PACKET, OF_PACKET, OF_PACKET | TO_CLIENT, LAST }, 3, 3 },
    { { NO_FLOW, NO_FLOW, 0, NO_FLOW, 0, LAST }, 4, 5 },
};

/* The first half of the runs uses drop.flows: start, the second half all. */
START_TEST(tells_a_dropped_flow_once_per_direction)
{
    const int row = _i % ROWS(drops);
    bool all = _i >= ROWS(drops);

    output_rig->options.eve.drop.all_flows = all;
    output_rig->options.eve.enabled[OUTPUT_ALERT] = false;
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_flow(&output_rig->sample);
    for (const int *packet = drops[row].packets; *packet != LAST; packet++) {
        struct packet *pkt = &output_rig->sample.packet;

        output_rig->sample.decision =
            (struct decision){ .drop_rule = *packet & BY_RULE ? &output_rig->sample.rule : NULL };
        pkt->flags = *packet & TO_CLIENT ? PACKET_TO_CLIENT : 0;
        pkt->flow = *packet & NO_FLOW ? NULL : &output_rig->sample.flow;
        pkt->verdict = VERDICT_DROP;
        pkt->drop_reason = *packet & BY_RULE ? DROP_REASON_RULES : DROP_REASON_FLOW;
        if (!(*packet & OF_PACKET))
            output_rig->sample.flow.flags |= FLOW_DROPPED;
        output_rig_put(0);
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_DROP], all ? drops[row].all : drops[row].at_start);
}
END_TEST

/* In each of two seconds five drops and five flows, with a limit of two events per second. Drops by rules always have
 * events. */
START_TEST(floods_have_few_events)
{
    output_rig->options.eve.drop.rate_limit = output_rig->options.eve.flow_rate_limit = 2;
    output_rig->options.eve.enabled[OUTPUT_ALERT] = output_rig->options.eve.enabled[OUTPUT_NETFLOW] = false;
    output_rig->options.eve.enabled[OUTPUT_FLOW] = true;
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_flow(&output_rig->sample);
    output_rig->sample.packet.verdict = VERDICT_DROP;
    output_rig->sample.packet.drop_reason = DROP_REASON_STREAM_ERROR;
    output_rig->sample.packet.flow = NULL;
    for (int i = 0; i < 10; i++) {
        output_rig->sample.packet.time_ns = (100 + (uint64_t)i / 5) * NS_PER_SECOND;
        output_rig->sample.decision = (struct decision){ .drop_rule = NULL };
        output_rig_put(0);
        output_rig->sample.decision = (struct decision){ .drop_rule = &output_rig->sample.rule };
        output_rig_put(0);
        output_rig->sample.flow.last_ns = output_rig->sample.packet.time_ns;
        output_rig->sample.flow.state = FLOW_NEW;
        output_rig->sample.flow.flags = 0;
        output_flow(output_port(output_rig->output, 0), &output_rig->sample.flow, FLOW_END_TIMEOUT, 1);
        output_rig->sample.flow.flags = FLOW_ALERTED;
        output_flow(output_port(output_rig->output, 0), &output_rig->sample.flow, FLOW_END_TIMEOUT, 1);
    }
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_DROP], 2 * 2 + 10);
    ck_assert_uint_eq(output_rig_counters().limited[OUTPUT_DROP], 6);
    ck_assert_uint_eq(output_rig_counters().written[OUTPUT_FLOW], 2 * 2 + 10);
    ck_assert_uint_eq(output_rig_counters().limited[OUTPUT_FLOW], 6);
    ck_assert_uint_eq(output_rig_counters().lost[OUTPUT_DROP] + output_rig_counters().lost[OUTPUT_FLOW], 0);
}
END_TEST

START_TEST(names_the_rule_that_dropped_the_flow)
{
    char *text = NULL;
    size_t size = 0;

    output_rig->options.console = open_memstream(&text, &size);
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_flow(&output_rig->sample);
    output_rig->sample.packet.verdict = VERDICT_DROP;
    output_rig->sample.packet.drop_reason = DROP_REASON_FLOW;
    output_rig->sample.flow.flags = FLOW_DROPPED;
    output_rig->sample.flow.drop_gid = 1;
    output_rig->sample.flow.drop_sid = 9000001;
    output_rig_put(0);
    output_rig->sample.packet.flags = PACKET_TO_CLIENT;
    output_rig->sample.packet.drop_reason = DROP_REASON_STREAM_MIDSTREAM;
    output_rig_put(0);
    output_stop(output_rig->output);
    fclose(output_rig->options.console);
    ck_assert_str_eq(text,
                     "00:00:01.000123 DROP  {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (packet 13, flow drop, by 1:9000001)\n"
                     "00:00:01.000123 DROP  {TCP} 10.1.0.2:41234 -> 10.2.0.2:80 (packet 13, stream midstream)\n");
    free(text);
}
END_TEST

/* --- Payload from the stream ---------------------------------------------------------------------- */

static const struct payload_case {
    const char *bytes; /* bytes of the stream; NULL: no stream */
    struct {
        size_t at;
        uint64_t missing;
    } gaps[2];
    unsigned gap_count;
    bool in_stream, to_client, has_payload;
    uint32_t buffer_size;
    const char *expected;
} payloads[] = {
    { "GOOD",
      { { 0 } },
      0,
      true,
      false,
      true,
      4096,
      "\"payload\":\"R09PRA==\",\"payload_length\":4,\"payload_printable\":\"GOOD\",\"stream\":1}" },
    { "GOOD",
      { { 0 } },
      0,
      true,
      true,
      true,
      4096,
      "\"payload\":\"R09PRA==\",\"payload_length\":4,\"payload_printable\":\"GOOD\",\"stream\":1}" },
    { "GOOD",
      { { 0 } },
      0,
      false,
      false,
      true,
      4096,
      "\"payload\":\"eHh4\",\"payload_length\":3,\"payload_printable\":\"xxx\",\"stream\":0}" },
    { "GOOD",
      { { 0 } },
      0,
      true,
      false,
      false,
      4096,
      "\"payload\":\"R09PRA==\",\"payload_length\":4,\"payload_printable\":\"GOOD\",\"stream\":1}" },
    { "GOODDATA", { { 0, 4 } }, 1, true, false, true, 4096, "\"payload_printable\":\"[4 bytes missing]GOODDATA\"" },
    { "GOODDATA", { { 0, 4 } }, 1, true, false, true, 4096, "\"payload_length\":25," },
    { "GOODDATA",
      { { 4, 1 }, { 8, 7 } },
      2,
      true,
      false,
      true,
      4096,
      "\"payload_printable\":\"GOOD[1 bytes missing]DATA[7 bytes missing]\"" },
    { "GOOD\x01\xff", { { 0 } }, 0, true, false, true, 4096, "\"payload_printable\":\"GOOD..\"" },
    { "GOODDATA",
      { { 0 } },
      0,
      true,
      false,
      true,
      5,
      "\"payload\":\"R09PREQ=\",\"payload_length\":5,\"payload_printable\":\"GOODD\"" },
    { "GOODDATA",
      { { 0, 4 } },
      1,
      true,
      false,
      true,
      19,
      "\"payload_length\":19,\"payload_printable\":\"[4 bytes missing]GO\"" },
    { "",
      { { 0 } },
      0,
      true,
      false,
      true,
      4096, /* the stream stores none of it */
      "\"payload\":\"eHh4\",\"payload_length\":3,\"payload_printable\":\"xxx\",\"stream\":1}" },
    { NULL,
      { { 0 } },
      0,
      true,
      false,
      true,
      4096,
      "\"payload\":\"eHh4\",\"payload_length\":3,\"payload_printable\":\"xxx\",\"stream\":1}" },
};

static void prepare_payload(const struct payload_case *c)
{
    struct sample_session *session;

    output_rig->options.eve.alert.payload = output_rig->options.eve.alert.payload_printable = true;
    output_rig->options.eve.alert.payload_length = true;
    output_rig->options.eve.alert.flow = false;
    output_rig->options.eve.alert.payload_buffer_size = c->buffer_size;
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_payload(&output_rig->sample, "xxx");
    sample_flow(&output_rig->sample);
    sample_alert(&output_rig->sample);
    output_rig->sample.alerts[0].in_stream = c->in_stream;
    output_rig->sample.decision.stream =
        (const struct stream *)output_rig; /* not NULL; the functions of stream_double.c ignore it */
    if (c->to_client)
        output_rig->sample.packet.flags |= PACKET_TO_CLIENT;
    if (!c->has_payload)
        output_rig->sample.packet.payload = NULL;
    if (!c->bytes)
        return;
    session = session_of(&output_rig->sample.flow);
    session->bytes[c->to_client] = c->bytes;
    session->gap_count = c->gap_count;
    for (unsigned i = 0; i < c->gap_count; i++) {
        session->gaps[i].at = c->gaps[i].at;
        session->gaps[i].missing = c->gaps[i].missing;
    }
}

START_TEST(shows_the_stream)
{
    prepare_payload(&payloads[_i]);
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 1);
    output_rig_expect(output_rig->events[0], true, payloads[_i].expected);
    free(output_rig->sample.flow.tcp);
}
END_TEST

/* Without stream and payload the event has no payload. */
START_TEST(shows_nothing_of_an_empty_stream)
{
    static const struct payload_case empty = { .bytes = "", .in_stream = true, .buffer_size = 4096 };

    prepare_payload(&empty);
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    output_rig_expect(output_rig->events[0], false, "\"payload");
    output_rig_expect(output_rig->events[0], true, "\"stream\":1}");
    free(output_rig->sample.flow.tcp);
}
END_TEST

/* A match in the packet and one in the stream, for the same packet: each alert has the corresponding payload. */
START_TEST(shows_to_each_alert_its_own)
{
    prepare_payload(&payloads[0]);
    output_rig->sample.alerts[1] = (struct alert){ .rule = &output_rig->sample.second_rule };
    output_rig->sample.decision.alert_count = 2;
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 2);
    output_rig_expect(output_rig->events[0], true, "\"payload_printable\":\"GOOD\",\"stream\":1}");
    output_rig_expect(output_rig->events[1], true, "\"payload_printable\":\"xxx\",\"stream\":0}");
    free(output_rig->sample.flow.tcp);
}
END_TEST

/* The record has no room for all gaps; those that it has are at the right positions. */
START_TEST(bounds_the_holes)
{
    static char bytes[SAMPLE_MAX_GAPS + 1];
    struct sample_session *session;

    _Static_assert((int)SAMPLE_MAX_GAPS > (int)GAPS_MAX, "more holes than fit");
    memset(bytes, 'A', SAMPLE_MAX_GAPS);
    prepare_payload(&payloads[0]);
    session = (struct sample_session *)output_rig->sample.flow.tcp;
    session->bytes[FLOW_TO_SERVER] = bytes;
    session->gap_count = SAMPLE_MAX_GAPS;
    for (unsigned i = 0; i < SAMPLE_MAX_GAPS; i++) {
        session->gaps[i].at = i;
        session->gaps[i].missing = 1;
    }
    output_rig_put(0);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig_number(output_rig->events[0], "payload_length"),
                      SAMPLE_MAX_GAPS + GAPS_MAX * strlen("[1 bytes missing]"));
    output_rig_expect(output_rig->events[0], true, "A[1 bytes missing]AA");
    free(session);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output of flows");
    TCase *tcase = tcase_create("flow");

    tcase_add_checked_fixture(tcase, output_rig_setup, output_rig_teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, writes_the_field, 0, ROWS(fields));
    tcase_add_loop_test(tcase, names_every_reason, 0, ROWS(reasons));
    tcase_add_loop_test(tcase, writes_what_is_enabled, 0, ROWS(kinds));
    tcase_add_test(tcase, counts_what_a_full_ring_loses);
    tcase_add_test(tcase, bounds_the_variables);
    tcase_add_loop_test(tcase, tells_a_dropped_flow_once_per_direction, 0, 2 * ROWS(drops));
    tcase_add_test(tcase, names_the_rule_that_dropped_the_flow);
    tcase_add_test(tcase, floods_have_few_events);
    tcase_add_loop_test(tcase, shows_the_stream, 0, ROWS(payloads));
    tcase_add_test(tcase, shows_nothing_of_an_empty_stream);
    tcase_add_test(tcase, shows_to_each_alert_its_own);
    tcase_add_test(tcase, bounds_the_holes);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
