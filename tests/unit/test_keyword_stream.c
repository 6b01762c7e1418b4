/* SPDX-License-Identifier: GPL-2.0-or-later */
/* stream_size and tcp.session: a TCP session packet by packet, through the real flow table and stream engine. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/stream.h"

#include "rule_text.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { SECOND = 1000000000, CLIENT_ISN = 1000, SERVER_ISN = 0x7fffffff };

static struct flow_table *flows;
static struct stream *stream;
static uint8_t header[20];
static const uint8_t data[64];

static void end_flow(struct flow *flow, enum flow_end reason, void *user)
{
    (void)reason;
    (void)user;
    stream_end(stream, flow);
}

static void setup(void)
{
    struct stream_options stream_options;
    struct flow_options flow_options;

    stream_options_default(&stream_options);
    flow_options_default(&flow_options);
    flow_options.memcap = 1 << 20;
    stream_options.memcap = stream_options.reassembly_memcap = 1 << 22;
    stream_options.inline_mode = true;
    ck_assert_int_eq(stream_new(&stream, &stream_options), 0);
    ck_assert_int_eq(flow_table_new(&flows, &flow_options, end_flow, NULL), 0);
}

static void teardown(void)
{
    flow_table_end_all(flows, FLOW_END_SHUTDOWN);
    flow_table_free(flows);
    stream_free(stream);
}

/* A segment. Sequence numbers are relative to the ISN of the side. */
struct segment {
    bool to_client;
    uint8_t flags;
    uint32_t sequence, acknowledgment, length;
};

static const struct segment session[] = {
    { false, TCP_SYN, 0, 0, 0 },
    { true, TCP_SYN | TCP_ACK, 0, 1, 0 },
    { false, TCP_ACK, 1, 1, 0 },
    { false, TCP_ACK | TCP_PSH, 1, 1, 10 },
    { true, TCP_ACK | TCP_PSH, 1, 11, 50 },
    { false, TCP_ACK | TCP_FIN, 11, 51, 0 },
    { true, TCP_ACK | TCP_FIN, 51, 12, 0 },
    { false, TCP_ACK, 12, 52, 0 },
};

static struct packet packet_of(const struct segment *segment, uint64_t time_ns)
{
    bool to_client = segment->to_client;

    return (struct packet){
        .ip_version = 4,
        .protocol = IPPROTO_TCP,
        .transport = header,
        .transport_header_length = sizeof(header),
        .source_address = { .bytes = { 10, 0, 0, to_client ? 2 : 1 } },
        .destination_address = { .bytes = { 10, 0, 0, to_client ? 1 : 2 } },
        .source_port = to_client ? 80 : 4000,
        .destination_port = to_client ? 4000 : 80,
        .time_ns = time_ns,
        .length = 40 + segment->length,
        .wire_length = 40 + segment->length,
        .payload = segment->length > 0 ? data : NULL,
        .payload_length = segment->length,
        .tcp = { .flags = segment->flags,
                 .window = 8192,
                 .sequence = segment->sequence + (to_client ? SERVER_ISN : CLIENT_ISN),
                 .acknowledgment =
                     segment->flags & TCP_ACK ? segment->acknowledgment + (to_client ? CLIENT_ISN : SERVER_ISN) : 0 },
    };
}

/* Sends the first `count` packets; returns the last one, on which the rule is evaluated. */
static struct packet play(size_t count)
{
    struct packet pkt = { 0 };

    for (size_t i = 0; i < count; i++) {
        struct stream_verdict verdict = { 0 };
        enum exception_cause exception;

        pkt = packet_of(&session[i], (i + 1) * SECOND);
        pkt.root = &pkt;
        pkt.flow = flow_table_get(flows, &pkt, &exception);
        ck_assert_ptr_nonnull(pkt.flow);
        flow_update(flows, pkt.flow, &pkt);
        stream_packet(stream, flows, pkt.flow, &pkt, &verdict);
        ck_assert_msg(!verdict.drop && verdict.exception == EXCEPTION_NONE, "packet %zu", i + 1);
    }
    return pkt;
}

static const struct {
    size_t packets;
    const char *option;
    bool expected;
} cases[] = {
    { 1, "stream_size:client,=,1", true },
    { 1, "stream_size:server,=,0", true },
    { 1, "stream_size:server,<,0", false },
    { 1, "stream_size:server,>=,0", true },
    { 2, "stream_size:both,=,1", true },
    { 2, "stream_size:either,!=,1", false },
    { 4, "stream_size:client,=,11", true },
    { 4, "stream_size:client,>,11", false },
    { 4, "stream_size:client,>=,11", true },
    { 4, "stream_size:client,<,12", true },
    { 4, "stream_size:client,<=,10", false },
    { 4, "stream_size:client,!=,11", false },
    { 4, "stream_size:server,<,5", true },
    { 5, "stream_size:server,=,51", true },
    { 5, "stream_size:client,=,51", false },
    { 5, "stream_size:both,>,11", false },
    { 5, "stream_size:both,>,10", true },
    { 5, "stream_size:either,>,50", true },
    { 5, "stream_size:either,>,51", false },
    { 1, "tcp.session:setup", true },
    { 1, "tcp.session:established,closing", false },
    { 4, "tcp.session:setup", false },
    { 4, "tcp.session:established", true },
    { 4, "tcp.session:closing", false },
    { 6, "tcp.session:closing", true },
    { 6, "tcp.session:established", true },
    { 6, "tcp.session:setup", false },
    { 7, "tcp.session:setup,closing", true },
};

static bool holds(const char *option, const struct packet *pkt)
{
    const struct match_input in = { .packet = pkt, .flows = flows };
    struct rule_text text;
    char options[128];

    snprintf(options, sizeof(options), "%s;", option);
    rule_text_open(&text, options, strlen(options));
    ck_assert_msg(text.rule != NULL, "%s: %s", option, text.message);
    const struct condition *condition = text.rule->packet_conditions;
    bool result = condition->keyword->packet.match(&in, condition->data);

    rule_text_close(&text);
    return result;
}

START_TEST(follows_the_session)
{
    struct packet pkt = play(cases[_i].packets);

    ck_assert_msg(holds(cases[_i].option, &pkt) == cases[_i].expected, "%zu packets, %s", cases[_i].packets,
                  cases[_i].option);
}
END_TEST

static const char *const without_session[] = { "stream_size:client,>=,0", "stream_size:either,!=,5" };

START_TEST(needs_a_session)
{
    struct packet pkt = packet_of(&session[0], SECOND);
    enum exception_cause exception;

    pkt.flow = flow_table_get(flows, &pkt, &exception);
    ck_assert_ptr_nonnull(pkt.flow);
    ck_assert(!holds(without_session[_i], &pkt));
    ck_assert(holds("tcp.session:setup", &pkt)); /* Suricata requires only a flow */
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("keyword_stream");
    TCase *tc = tcase_create("stream");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, follows_the_session, 0, COUNT(cases));
    tcase_add_loop_test(tc, needs_a_session, 0, COUNT(without_session));
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
