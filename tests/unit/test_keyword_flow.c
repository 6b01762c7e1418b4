/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Flow keywords: rules as text, packets of a real flow, whether they match, and the resulting flowbits and integers. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/flow.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/stream_event.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SECOND = 1000000000 };

/* --- Rules ---------------------------------------------------------------------------------------- */

static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct rule_names *names;
static struct diag *diag;
static struct rule_list *list;

/* Parses a rule. The numbers of names are kept from call to call, as from reload to reload. */
static const struct rule *parse_as(const char *protocol, const char *options)
{
    const struct rule_list_options list_options = { .keywords = keywords, .variables = variables, .names = names };
    char text[512];
    int length = snprintf(text, sizeof(text), "alert %s any any -> any any (%s; sid:1;)", protocol, options);

    rule_list_free(list);
    list = NULL;
    ck_assert_int_eq(rule_list_new(&list, &list_options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test.rules", text, (size_t)length, diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_msg(rule_list_count(list) == 1, "%s: %s", options, diag_count(diag) ? diag_get(diag, 0)->message : "?");
    return rule_list_get(list, 0);
}

static const struct rule *parse(const char *options)
{
    return parse_as("tcp", options);
}

/* --- A flow --------------------------------------------------------------------------------------- */

static struct flow_table *flows;
static uint8_t tcp_header[20];

static void ignore_end(struct flow *flow, enum flow_end reason, void *user)
{
    (void)flow;
    (void)reason;
    (void)user;
}

static void open_flows(void)
{
    struct flow_options options;

    flow_options_default(&options);
    options.memcap = 1 << 20;
    ck_assert_int_eq(flow_table_new(&flows, &options, ignore_end, NULL), 0);
}

static struct packet packet_of(bool to_client, uint64_t time_ns, uint32_t length)
{
    struct packet pkt = {
        .ip_version = 4,
        .protocol = IPPROTO_UDP,
        .transport = tcp_header,
        .transport_header_length = 8,
        .source_address = { .bytes = { 10, 0, 0, to_client ? 2 : 1 } },
        .destination_address = { .bytes = { 10, 0, 0, to_client ? 1 : 2 } },
        .source_port = to_client ? 53 : 4000,
        .destination_port = to_client ? 4000 : 53,
        .time_ns = time_ns,
        .length = length,
        .wire_length = length,
    };

    return pkt;
}

/* Assigns the packet to its flow, as the pipeline does. */
static void track(struct packet *pkt)
{
    enum exception_cause exception;

    pkt->flow = flow_table_get(flows, pkt, &exception);
    ck_assert_ptr_nonnull(pkt->flow);
    flow_update(flows, pkt->flow, pkt);
}

static void setup(void)
{
    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    names = rule_names_new();
    diag = diag_new();
    list = NULL;
    ck_assert(keywords && variables && names && diag);
    open_flows();
}

static void teardown(void)
{
    flow_table_end_all(flows, FLOW_END_SHUTDOWN);
    flow_table_free(flows);
    rule_list_free(list);
    rule_names_free(names);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

static bool holds(const struct rule *rule, const struct packet *pkt, bool in_stream)
{
    const struct match_input in = { .packet = pkt, .flows = pkt->flow ? flows : NULL, .in_stream = in_stream };

    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->packet.match(&in, c->data) == c->negated)
            return false;
    }
    return true;
}

static void act(const struct rule *rule, const struct packet *pkt)
{
    const struct match_input in = { .packet = pkt, .flows = pkt->flow ? flows : NULL };

    for (const struct match_action *c = rule->actions; c; c = c->next)
        c->act(&in, c->data);
}

/* --- flow ----------------------------------------------------------------------------------------- */

enum traits {
    NO_FLOW = 1 << 0,
    TO_CLIENT = 1 << 1,
    ESTABLISHED = 1 << 2,
    IN_STREAM = 1 << 3,
    REASSEMBLED = 1 << 4,
};

static const struct {
    const char *options;
    unsigned traits;
    bool expected;
} flow_cases[] = {
    { "flow:to_server", 0, true },
    { "flow:to_server", TO_CLIENT | ESTABLISHED, false },
    { "flow:from_client", ESTABLISHED, true },
    { "flow:to_client", TO_CLIENT, true },
    { "flow:from_server", 0, false },
    { "flow:established", ESTABLISHED, true },
    { "flow:established", TO_CLIENT | ESTABLISHED | IN_STREAM, true },
    { "flow:established", 0, false },
    { "flow:established,to_server", ESTABLISHED, true },
    { "flow:established,to_server", ESTABLISHED | TO_CLIENT, false },
    { "flow:to_server; flow:established", ESTABLISHED, true },
    { "flow:to_server; flow:established", ESTABLISHED | TO_CLIENT, false },
    { "flow:not_established", 0, true },
    { "flow:not_established", ESTABLISHED, false },
    { "flow:stateless", 0, true },
    { "flow:stateless,to_client", ESTABLISHED | TO_CLIENT, true },
    { "flow:only_stream; content:\"a\"", IN_STREAM, true },
    { "flow:only_stream; content:\"a\"", 0, false },
    { "flow:no_stream; content:\"a\"", 0, true },
    { "flow:no_stream; content:\"a\"", IN_STREAM, false },
    /* Without contents only_stream and no_stream have no effect. */
    { "flow:only_stream", 0, true },
    { "flow:no_stream", IN_STREAM, true },
    { "flow:only_frag", REASSEMBLED, true },
    { "flow:only_frag", 0, false },
    { "flow:no_frag", REASSEMBLED, false },
    { "flow:to_client,established,only_stream,no_frag", TO_CLIENT | ESTABLISHED | IN_STREAM, true },
    { "flow:to_client,established,only_stream,no_frag", TO_CLIENT | ESTABLISHED | IN_STREAM | REASSEMBLED, false },
    /* Packets without a flow. */
    { "flow:to_server", NO_FLOW, true },
    { "flow:to_client", NO_FLOW, false },
    { "flow:stateless", NO_FLOW, false },
    { "flow:established", NO_FLOW, false },
    { "flow:not_established", NO_FLOW, false },
    { "flow:to_server,not_established", NO_FLOW, false },
    { "flow:only_frag", NO_FLOW | REASSEMBLED, false },
    { "flow:no_stream", NO_FLOW, true },
    { "flow:no_stream,not_established", NO_FLOW, true },
    { "flow:no_stream,to_server", NO_FLOW, false },
};

START_TEST(asks_the_packet_for_its_flow)
{
    unsigned traits = flow_cases[_i].traits;
    struct packet pkt = packet_of(false, SECOND, 100);

    if (!(traits & NO_FLOW))
        track(&pkt);
    pkt.flags = (traits & TO_CLIENT ? PACKET_TO_CLIENT : 0u) | (traits & ESTABLISHED ? PACKET_ESTABLISHED : 0u) |
                (traits & REASSEMBLED ? PACKET_REASSEMBLED : 0u);
    ck_assert_msg(holds(parse(flow_cases[_i].options), &pkt, traits & IN_STREAM) == flow_cases[_i].expected,
                  "row %d: %s", _i, flow_cases[_i].options);
}
END_TEST

static const struct {
    const char *protocol, *options;
    enum rule_payload payload;
} payload_cases[] = {
    { "tcp", "content:\"a\"", RULE_PAYLOAD_DEFAULT },
    { "tcp", "flow:established; content:\"a\"", RULE_PAYLOAD_DEFAULT },
    { "tcp", "flow:established,no_stream; content:\"a\"", RULE_PAYLOAD_PACKET_ONLY },
    { "tcp", "flow:established,only_stream; content:\"a\"", RULE_PAYLOAD_STREAM_ONLY },
    { "tcp-pkt", "flow:established; content:\"a\"", RULE_PAYLOAD_PACKET_ONLY },
    { "tcp-stream", "content:\"a\"", RULE_PAYLOAD_STREAM_ONLY },
    { "tcp-stream", "flow:no_stream; content:\"a\"", RULE_PAYLOAD_PACKET_ONLY },
};

START_TEST(says_where_contents_are_looked_for)
{
    ck_assert_int_eq(parse_as(payload_cases[_i].protocol, payload_cases[_i].options)->payload,
                     payload_cases[_i].payload);
}
END_TEST

/* --- flowbits and flowint ------------------------------------------------------------------------- */

/* Rules that are evaluated one after the other on the same flow; a matching rule executes its actions. */
struct step {
    const char *options;
    bool expected;
};

static const struct step bit_steps[] = {
    { "flowbits:isset,a", false },
    { "flowbits:isnotset,a", true },
    { "flowbits:isset,a; flowbits:set,b", false },
    { "flowbits:isset,b", false },
    { "flowbits:set,a", true },
    { "flowbits:isset,a", true },
    { "flowbits:isset,A", false },
    { "flowbits:isnotset,a", false },
    { "flowbits:isset,c|b|a", true },
    { "flowbits:isset,c|b", false },
    { "flowbits:isnotset,a|b", true },
    { "flowbits:toggle,b; flowbits:set,c", true },
    { "flowbits:isset,b; flowbits:isset,c", true },
    { "flowbits:isnotset,a|b|c", false },
    { "flowbits:toggle,b", true },
    { "flowbits:isset,b", false },
    { "flowbits:isset,a; flowbits:unset,a", true },
    { "flowbits:isset,a", false },
    { "flowbits:unset,a", true },
    { "flowint:a,isset", false }, /* flowbits and flowints have separate names */
};

static const struct step integer_steps[] = {
    { "flowint:n,notset", true },
    { "flowint:n,isset", false },
    { "flowint:n,==,0", false },
    { "flowint:n,!=,1", false },
    { "flowint:n,<,1", false },
    { "flowint:n,-,1", true },
    { "flowint:n,isset", false },
    { "flowint:n,+,3", true },
    { "flowint:n,isset", true },
    { "flowint:n,isnotset", false },
    { "flowint:n,==,3", true },
    { "flowint:n,==,4", false },
    { "flowint:n,!=,4", true },
    { "flowint:n,!=,3", false },
    { "flowint:n,<,4", true },
    { "flowint:n,<,3", false },
    { "flowint:n,<=,3", true },
    { "flowint:n,<=,2", false },
    { "flowint:n,>,2", true },
    { "flowint:n,>,3", false },
    { "flowint:n,>=,3", true },
    { "flowint:n,>=,4", false },
    { "flowint:n,>,unknown", true },
    { "flowint:m,=,n", true },
    { "flowint:n,==,m", true },
    { "flowint:n,+,m", true },
    { "flowint:n,==,6", true },
    { "flowint:n,-,m; flowint:m,+,1", true },
    { "flowint:n,<,m; flowint:m,==,4", true },
    { "flowint:n,-,4", true },
    { "flowint:n,==,4294967295", true },
    { "flowint:n,+,2", true },
    { "flowint:n,==,1", true },
    { "flowint:n,=,unknown", true },
    { "flowint:n,==,0", true },
    { "flowint:m,>,100; flowint:n,=,7", false },
    { "flowint:n,==,0", true },
    { "flowbits:isset,n", false },
};

static void run_steps(const struct step *steps, size_t count, const struct packet *pkt)
{
    for (size_t i = 0; i < count; i++) {
        const struct rule *rule = parse(steps[i].options);
        bool matched = holds(rule, pkt, false);

        ck_assert_msg(matched == steps[i].expected, "step %zu: %s", i, steps[i].options);
        if (matched)
            act(rule, pkt);
    }
}

START_TEST(keeps_bits_in_the_flow)
{
    struct packet pkt = packet_of(false, SECOND, 100);

    track(&pkt);
    run_steps(bit_steps, COUNT(bit_steps), &pkt);
}
END_TEST

START_TEST(keeps_integers_in_the_flow)
{
    struct packet pkt = packet_of(false, SECOND, 100);

    track(&pkt);
    run_steps(integer_steps, COUNT(integer_steps), &pkt);
}
END_TEST

START_TEST(shares_them_with_the_other_direction_only)
{
    struct packet there = packet_of(false, SECOND, 100), back = packet_of(true, SECOND, 100);
    struct packet other = packet_of(false, SECOND, 100);

    other.source_port = 4001;
    track(&there);
    track(&back);
    track(&other);
    act(parse("flowbits:set,a; flowint:n,=,5"), &there);
    ck_assert(holds(parse("flowbits:isset,a; flowint:n,==,5"), &back, false));
    ck_assert(holds(parse("flowbits:isnotset,a; flowint:n,notset"), &other, false));
}
END_TEST

static const char *const needs_flow[] = {
    "flowbits:isset,a",     "flowbits:isnotset,a",  "flowint:n,isset",       "flowint:n,notset",
    "flowint:n,!=,1",       "flow.age:<10",         "flow.pkts:either,<10",  "flow.pkts_toserver:<10",
    "flow.pkts_toclient:0", "flow.bytes:both,<100", "flow.bytes_toserver:0", "flow.bytes_toclient:0",
    "stream_size:both,<,9", "tcp.session:setup",
};

START_TEST(does_not_match_without_a_flow)
{
    struct packet pkt = packet_of(false, SECOND, 100);

    pkt.protocol = IPPROTO_TCP;
    ck_assert_msg(!holds(parse(needs_flow[_i]), &pkt, false), "%s", needs_flow[_i]);
}
END_TEST

START_TEST(acts_on_nothing_without_a_flow)
{
    struct packet pkt = packet_of(false, SECOND, 100);
    const struct rule *rule =
        parse("flowbits:set,a; flowbits:unset,a; flowbits:toggle,a; flowint:n,=,1; flowint:n,+,1");

    ck_assert(holds(rule, &pkt, false)); /* keywords that only change a value match always */
    act(rule, &pkt);
}
END_TEST

/* --- Totals --------------------------------------------------------------------------------------- */

/* Evaluated after packets of 100 and 200 bytes (to the server) and 50 bytes (to the client), at 4.4 s, in a flow that
 * began at 1.5 s. */
static const struct {
    const char *options;
    bool expected;
} total_cases[] = {
    { "flow.pkts:toserver,2", true },
    { "flow.pkts:toserver,=1", false },
    { "flow.pkts:toclient,1", true },
    { "flow.pkts:toclient,>1", false },
    { "flow.pkts:either,>1", true },
    { "flow.pkts:either,>2", false },
    { "flow.pkts:both,>0", true },
    { "flow.pkts:both,>1", false },
    { "flow.pkts_toserver:2", true },
    { "flow.pkts_toserver:<2", false },
    { "flow.pkts_toclient:!2", true },
    { "flow.pkts_toclient:>=2", false },
    { "flow.bytes:toserver,300", true },
    { "flow.bytes:toserver,<300", false },
    { "flow.bytes:toclient,49-51", true },
    { "flow.bytes:either,>200", true },
    { "flow.bytes:either,>300", false },
    { "flow.bytes:both,>200", false },
    { "flow.bytes_toserver:>=300", true },
    { "flow.bytes_toserver:>1kb", false },
    { "flow.bytes_toclient:50", true },
    { "flow.bytes_toclient:>50", false },
    { "flow.age:3", true }, /* 4 s - 1 s: times are truncated to seconds before the subtraction */
    { "flow.age:<3", false },
    { "flow.age:>2", true },
};

START_TEST(counts_what_the_flow_had)
{
    struct packet first = packet_of(false, 3 * (uint64_t)SECOND / 2, 100);
    struct packet answer = packet_of(true, 2 * (uint64_t)SECOND, 50);
    struct packet last = packet_of(false, 44 * (uint64_t)SECOND / 10, 200);

    track(&first);
    track(&answer);
    track(&last);
    ck_assert_msg(holds(parse(total_cases[_i].options), &last, false) == total_cases[_i].expected, "%s",
                  total_cases[_i].options);
}
END_TEST

/* --- Rules that are not evaluated on packets ------------------------------------------------------ */

START_TEST(tags)
{
    const struct rule_tag *tag = parse("tag:session")->tag;

    ck_assert_ptr_nonnull(tag);
    ck_assert(tag->scope == TAG_SESSION && tag->unit == TAG_PACKETS && tag->count == 256 && !tag->next);
    tag = parse("tag:host,600,seconds,src,exclusive")->tag;
    ck_assert(tag->scope == TAG_HOST && tag->unit == TAG_SECONDS && tag->count == 600);
    ck_assert(tag->of_source && tag->exclusive);
    tag = parse("tag:host,9,bytes,dst")->tag;
    ck_assert(tag->unit == TAG_BYTES && tag->count == 9 && !tag->of_source && !tag->exclusive);
    tag = parse("tag:session,257,packets")->tag;
    ck_assert_uint_eq(tag->count, 256);
    ck_assert_ptr_null(parse("content:\"a\"")->tag);
}
END_TEST

START_TEST(asks_for_bypass)
{
    ck_assert(parse("content:\"a\"; bypass")->bypass);
    ck_assert(!parse("content:\"a\"")->bypass);
}
END_TEST

START_TEST(uses_state)
{
    const struct rule *rule = parse("flowbits:isset,a; flowint:n,+,1");

    ck_assert_uint_eq(rule->state_use[RULE_NAME_FLOWBIT], RULE_STATE_READS);
    ck_assert_uint_eq(rule->state_use[RULE_NAME_FLOWINT], RULE_STATE_WRITES);
    rule = parse("flowbits:isset,a; flowbits:unset,a; flowint:n,>,m");
    ck_assert_uint_eq(rule->state_use[RULE_NAME_FLOWBIT], RULE_STATE_READS | RULE_STATE_WRITES);
    ck_assert_uint_eq(rule->state_use[RULE_NAME_FLOWINT], RULE_STATE_READS);
    rule = parse("flowbits:noalert");
    ck_assert(rule->noalert);
    ck_assert_uint_eq(rule->state_use[RULE_NAME_FLOWBIT], 0);
}
END_TEST

/* Whether a condition restricts contents to the packet (Suricata's SIG_FLAG_REQUIRE_PACKET). */
static const struct {
    const char *name;
    bool in_stream;
} stream_cases[] = {
    { "flow", true },
    { "flowbits", true },
    { "flowint", true },
    { "stream_size", true },
    { "tcp.session", true },
    { "stream-event", true },
    { "decode-event", true },
    { "ipv4-csum", true },
    { "tcpv4-csum", true },
    { "tcpv6-csum", true },
    { "flow.age", false },
    { "flow.pkts", false },
    { "flow.bytes_toclient", false },
    { "dsize", false },
    { "ttl", false },
    { "tcp.flags", false },
    { "tcp.seq", false },
    { "sameip", false },
    { "ip_proto", false },
    { "vlan.id", false },
};

START_TEST(leaves_contents_in_the_stream)
{
    const struct keyword *keyword = keyword_table_find(keywords, span_of(stream_cases[_i].name));

    ck_assert_ptr_nonnull(keyword);
    ck_assert_msg(!!(keyword->flags & KEYWORD_STATE) == stream_cases[_i].in_stream, "%s", keyword->name);
}
END_TEST

/* --- Events --------------------------------------------------------------------------------------- */

static const char *const event_options[] = { "stream-event:pkt_invalid_ack", "engine-event:stream.pkt_invalid_ack" };

START_TEST(knows_events_of_the_stream)
{
    const struct rule *rule = parse(event_options[_i]);
    const struct condition *condition = rule->packet_conditions;
    struct packet pkt = packet_of(false, SECOND, 100);

    ck_assert_int_eq(condition->keyword->hints->event(condition->data), STREAM_EVENT_PKT_INVALID_ACK);
    ck_assert(!holds(rule, &pkt, false));
    packet_add_event(&pkt, STREAM_EVENT_PKT_INVALID_ACK);
    ck_assert(holds(rule, &pkt, false));
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("keyword_flow");
    TCase *tc = tcase_create("flow");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, asks_the_packet_for_its_flow, 0, COUNT(flow_cases));
    tcase_add_loop_test(tc, says_where_contents_are_looked_for, 0, COUNT(payload_cases));
    tcase_add_test(tc, keeps_bits_in_the_flow);
    tcase_add_test(tc, keeps_integers_in_the_flow);
    tcase_add_test(tc, shares_them_with_the_other_direction_only);
    tcase_add_loop_test(tc, does_not_match_without_a_flow, 0, COUNT(needs_flow));
    tcase_add_test(tc, acts_on_nothing_without_a_flow);
    tcase_add_loop_test(tc, counts_what_the_flow_had, 0, COUNT(total_cases));
    tcase_add_test(tc, tags);
    tcase_add_test(tc, asks_for_bypass);
    tcase_add_test(tc, uses_state);
    tcase_add_loop_test(tc, leaves_contents_in_the_stream, 0, COUNT(stream_cases));
    tcase_add_loop_test(tc, knows_events_of_the_stream, 0, COUNT(event_options));
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
