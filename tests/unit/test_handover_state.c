/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Engine hand-over between two pipelines: state other than streams: history, threshold counts, time, datasets,
 * counters, and a direction beyond its depth. */
#include "app/expect.h"
#include "handover_rig.h"
#include "sluice/worker.h"

#define ALERT(sid, options) "alert tcp any any -> any any (" options "; sid:" #sid ";)\n"

/* Earlier alerts of a flow are still reported, and its tag continues to count packets. */
START_TEST(history_and_tags_go_on)
{
    static const char rules[] = "alert tcp any any -> any any (content:\"data\"; tag:session,3,packets; sid:5;)\n"
                                "alert tcp any any -> any any (content:\"data\"; tag:host,100,packets,src; sid:6;)\n";
    const struct flow_history *history;

    rig_setup_applications();
    rig.names = rule_names_new();
    rig_open(rules);
    rig_handshake();
    rig_send(RIG_CLIENT, "data");
    ck_assert_ptr_nonnull(rig.packet.flow->tag);
    rig_hand_over(rules);
    rig_send(RIG_CLIENT, "more");
    history = rig.packet.flow->history;
    ck_assert_ptr_nonnull(history);
    ck_assert_uint_eq(history->count, 2);
    ck_assert_uint_eq(history->rules[0].sid, 5);
    ck_assert(history->rules[0].reported);
    ck_assert_ptr_nonnull(rig.packet.flow->tag);
    rig_send(RIG_CLIENT, "data");
    ck_assert_uint_eq(history->rules[0].count, 2);
    for (uint32_t sid = 5; sid <= 6; sid++) {
        const struct rule *rule = rule_list_find(ruleset_rules(rig.ruleset), 1, sid);
        const struct rule_tally *tally = policy_tally(rig.pipeline.policy, rule->number);

        ck_assert_ptr_nonnull(tally);
        ck_assert_uint_eq(tally->matches, 2); /* one match before the hand-over, one after */
        ck_assert_uint_eq(tally->alerts, 2);
    }
    rig_close_applications();
}
END_TEST

/* Firewall rules do not accept a second time what they have accepted: a flow, and a hook of a transaction. */
START_TEST(what_firewall_rules_accepted_goes_on)
{
    static const char rules[] = ALERT(1, "content:\"data\"");

    for (unsigned of_flow = 0; of_flow < 2; of_flow++) {
        rig_setup_applications();
        rig.firewall = of_flow ? "accept:flow tcp:flow_start any any -> any any (flow:to_server; sid:1;)\n"
                               : "accept:hook tcp:all any any -> any any (sid:1;)\n"
                                 "accept:hook http1:<request_line any any -> any any "
                                 "(flowbits:isnotset,once; flowbits:set,once; sid:2;)\n"
                                 "accept:tx http1:request_headers any any -> any any (sid:3;)\n";
        rig_open(rules);
        rig_handshake();
        rig_send(RIG_CLIENT, "GET / HTTP/1.1\r\nHost");
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        rig_hand_over(rules);
        rig_send(RIG_CLIENT, ": a\r\n\r\n");
        ck_assert_msg(rig.packet.verdict == VERDICT_ACCEPT, "dropped after the hand-over, of_flow %u", of_flow);
        ck_assert_int_eq(rig.packet.flow->accepted, of_flow);
        rig_close_applications();
    }
}
END_TEST

/* A data connection keeps the id of the flow that announced it. */
START_TEST(the_parent_of_a_flow_goes_on)
{
    static const char rules[] = ALERT(1, "content:\"data\"");
    struct app_expectation what = { .server_port = 80, .ip_version = 4, .proto = "ftp-data", .parent_id = 77 };

    memcpy(what.client.bytes, "\x0a\0\0\1", 4);
    memcpy(what.server.bytes, "\x0a\0\0\2", 4);
    rig_setup_applications();
    rig_open(rules);
    ck_assert(app_shared_expect(rig.shared.apps, &what, "tag", 3, rig.time_ns));
    rig_handshake();
    rig_send(RIG_SERVER, "a file");
    ck_assert_uint_eq(app_flow_parent(rig.packet.flow), 77);
    rig_hand_over(rules);
    rig_send(RIG_SERVER, " and more");
    ck_assert_uint_eq(app_flow_parent(rig.packet.flow), 77);
    rig_close_applications();
}
END_TEST

/* A memcap that was changed stays, unless its setting has changed; a size that no client can set is ignored. */
START_TEST(changed_memcaps_go_on)
{
    static const char rules[] = ALERT(1, "content:\"data\"");
    struct memcap_state before[PIPELINE_MEMCAPS] = { 0 }, after[PIPELINE_MEMCAPS] = { 0 };
    struct handover_counts counts = { 0 };
    int fd = rig_memory_file();

    rig_setup_applications();
    rig_open(rules);
    after[MEMCAP_DEFRAG].configured = before[MEMCAP_DEFRAG].configured = rig.options.defrag.memcap;
    before[MEMCAP_DEFRAG].changed = rig.options.defrag.memcap / 2;
    after[MEMCAP_STREAM].configured = rig.options.stream.memcap;
    before[MEMCAP_STREAM] = (struct memcap_state){ rig.options.stream.memcap + 1, rig.options.stream.memcap / 2 };
    after[MEMCAP_FLOW].configured = before[MEMCAP_FLOW].configured = rig.options.flow.memcap;
    before[MEMCAP_FLOW].changed = (MEMCAP_MAX_GROWTH + 1) * rig.options.flow.memcap;
    after[PIPELINE_MEMCAP_HOST].configured = before[PIPELINE_MEMCAP_HOST].configured = 1 << 20;
    before[PIPELINE_MEMCAP_HOST].changed = 8 << 20;
    rig.pipeline.memcaps = before;
    ck_assert_int_eq(handover_write(&rig.pipeline, rig.ruleset, rig_place, fd, &counts), 0);
    rig_discard_pipeline();
    rig_new_pipeline(rules, "");
    rig.pipeline.memcaps = after;
    ck_assert_int_eq(handover_read(&rig.pipeline, rig.ruleset, rig_place, fd, &counts), 0);
    ck_assert_uint_eq(after[MEMCAP_DEFRAG].changed, rig.options.defrag.memcap / 2);
    ck_assert_uint_eq(after[MEMCAP_STREAM].changed, 0);
    ck_assert_uint_eq(after[MEMCAP_FLOW].changed, 0);
    ck_assert_uint_eq(after[PIPELINE_MEMCAP_HOST].changed, 8 << 20);
    close(fd);
    rig_close_applications();
}
END_TEST

/* A flow expires its timeout after the last packet, also if the previous engine saw that packet. */
START_TEST(time_goes_on)
{
    rig_setup_applications();
    rig_open(ALERT(1, "content:\"data\""));
    rig_handshake();
    rig.time_ns += 7000 * RIG_SECOND;
    rig_hand_over(ALERT(1, "content:\"data\""));
    pipeline_expire(&rig.pipeline, rig.ruleset, rig.time_ns, 100);
    ck_assert_uint_eq(flow_table_count(rig.pipeline.flows), 1);
    rig.time_ns += 450 * RIG_SECOND;
    pipeline_expire(&rig.pipeline, rig.ruleset, rig.time_ns, 100);
    ck_assert_uint_eq(flow_table_count(rig.pipeline.flows), 0);
    rig_close_applications();
}
END_TEST

static const char dataset_rules[] =
    "alert tcp any any -> any any (http.uri; content:\"/learn\"; http.user_agent; dataset:set,agents,type "
    "string,memcap "
    "1mb; sid:1;)\n"
    "alert tcp any any -> any any (http.uri; content:\"/forget\"; http.user_agent; dataset:unset,agents; sid:2;)\n"
    "alert tcp any any -> any any (http.uri; content:\"/ask\"; http.user_agent; dataset:isset,agents; sid:3;)\n";

static const char *request(const char *path, const char *agent)
{
    char text[256];

    snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: a\r\nUser-Agent: %s\r\n\r\n", path, agent);
    return rig_send(RIG_CLIENT, text);
}

/* A hand-over after the responses have reached the depth, while a request is complete but not freed, or incomplete. */
START_TEST(a_truncated_direction_goes_on)
{
    static const char rules[] = "alert tcp any any -> any any (http.uri; content:\"/learn\"; sid:1;)\n";

    rig_setup_applications();
    rig.options.stream.depth = 64 << 10;
    rig.options.policy.exceptions[EXCEPTION_APP_ERROR] = EXCEPTION_DROP_FLOW;
    rig_open(rules);
    rig_handshake();
    ck_assert_str_eq(request("/learn", "x"), "1");
    rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 73728\r\n\r\n");
    for (unsigned i = 0; i < 9; i++) {
        rig_send_filler(RIG_SERVER, 8192);
        rig_acknowledge(RIG_CLIENT);
    }
    for (unsigned i = 0; i < 1000; i++) {
        const char *hits;
        char path[32];

        snprintf(path, sizeof(path), i % 100 == 7 ? "/learn%u" : "/%u", i);
        if (i % 300 == 299)
            rig_send(RIG_CLIENT, "GET /beg");
        if (i % 300 == 299)
            rig_hand_over(rules);
        if (i % 300 == 299)
            ck_assert_str_eq(rig_send(RIG_CLIENT, "in/learn HTTP/1.1\r\nUser-Agent: x\r\n\r\n"), "1");
        hits = request(path, "x");
        ck_assert_msg(strcmp(hits, i % 100 == 7 ? "1" : "") == 0, "request %u: '%s'", i, hits);
        if (i % 300 == 150)
            rig_hand_over(rules);
        rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789");
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    }
    ck_assert_ptr_null(app_transactions(rig.packet.flow));
    ck_assert_uint_eq(app_tx_count(rig.packet.flow), 1004);
    rig_close_applications();
}
END_TEST

/* Datasets without a file: the next engine gets their values only by the hand-over. */
START_TEST(datasets_go_on)
{
    rig_setup_applications();
    rig_open(dataset_rules);
    rig_handshake();
    ck_assert_str_eq(request("/learn", "one"), "1");
    ck_assert_str_eq(request("/learn", "two, which is longer than what one block of the set has room for, by far"),
                     "1");
    ck_assert_str_eq(request("/learn", "three"), "1");
    ck_assert_str_eq(request("/forget", "three"), "2");
    rig_hand_over(dataset_rules);
    ck_assert_str_eq(request("/ask", "one"), "3");
    ck_assert_str_eq(request("/ask", "two, which is longer than what one block of the set has room for, by far"), "3");
    ck_assert_str_eq(request("/ask", "three"), "");
    ck_assert_str_eq(request("/learn", "four"), "1");
    rig_hand_over("alert tcp any any -> any any (http.user_agent; dataset:isset,agents,type md5; sid:1;)\n");
    rig_hand_over(dataset_rules); /* values are not restored into a dataset of another type */
    ck_assert_str_eq(request("/ask", "one"), "");
    rig_close_applications();
}
END_TEST

static uint64_t carried(const char *name, uint64_t value)
{
    return transferred_counters_add(rig.shared.counters, name, value);
}

/* Sums continue, maxima stay, and gauges begin at 0. */
START_TEST(counters_go_on)
{
    const struct output_stat before[] = {
        { "tcp.sessions", 40 },
        { "ips.blocked", 7 },
        { "decoder.max_pkt_size", 1500 },
        { "tcp.memuse", 1 << 20 },
        { "flow.active", 12 },
        { "queue.3.packets", 99 },
        { "queue.3.waiting", 5 },
        { "engine.restarts", 2 },
        { "uptime", 100 },
        { "defrag.max_frags_reached", 3 },
        { "decoder.avg_pkt_size", 700 },
        { "detect.waiting", 4 },
    };
    int shared = rig_memory_file();

    rig_setup_applications();
    rig_open(ALERT(1, "content:\"data\""));
    rig.shared.counters = transferred_counters_new();
    ck_assert_ptr_nonnull(rig.shared.counters);
    ck_assert_int_eq(transferred_counters_replace(rig.shared.counters, before, sizeof(before) / sizeof(before[0])), 0);
    rig.shared.mode_override = UINT64_C(2) << 62 | 1234;
    rig.shared.capture_file = 1764241234;
    ck_assert_int_eq(handover_write_shared(&rig.shared, rig.ruleset, rig.time_ns, shared), 0);
    rig_discard_pipeline();
    rig_new_pipeline(ALERT(1, "content:\"data\""), "");
    ck_assert_uint_eq(carried("tcp.sessions", 1), 1);
    rig.shared.counters = transferred_counters_new();
    ck_assert_ptr_nonnull(rig.shared.counters);
    ck_assert_uint_eq(carried("tcp.sessions", 1), 1);
    rig.shared.mode_override = 0;
    rig.shared.capture_file = 0;
    ck_assert_int_eq(handover_read_shared(&rig.shared, rig.ruleset, shared), 0);
    ck_assert_uint_eq(rig.shared.mode_override, UINT64_C(2) << 62 | 1234);
    ck_assert_uint_eq(rig.shared.capture_file, 1764241234);
    ck_assert_uint_eq(carried("tcp.sessions", 1), 41);
    ck_assert_uint_eq(carried("ips.blocked", 0), 7);
    ck_assert_uint_eq(carried("ips.accepted", 5), 5);
    ck_assert_uint_eq(carried("decoder.max_pkt_size", 60), 1500);
    ck_assert_uint_eq(carried("decoder.max_pkt_size", 9000), 9000);
    ck_assert_uint_eq(carried("decoder.avg_pkt_size", 60), 60);
    ck_assert_uint_eq(carried("tcp.memuse", 3), 3);
    ck_assert_uint_eq(carried("flow.active", 4), 4);
    ck_assert_uint_eq(carried("queue.3.packets", 1), 100);
    ck_assert_uint_eq(carried("queue.3.waiting", 1), 1);
    ck_assert_uint_eq(carried("engine.restarts", 2), 2);
    ck_assert_uint_eq(carried("defrag.max_frags_reached", 1), 4);
    ck_assert_uint_eq(carried("detect.waiting", 1), 5);
    ck_assert_uint_eq(carried("uptime", 1), 101);
    close(shared);
    rig_close_applications();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("handover_state");

    tcase_add_test(tcase, history_and_tags_go_on);
    tcase_add_test(tcase, the_parent_of_a_flow_goes_on);
    tcase_add_test(tcase, changed_memcaps_go_on);
    tcase_add_test(tcase, time_goes_on);
    tcase_add_test(tcase, a_truncated_direction_goes_on);
    tcase_add_test(tcase, what_firewall_rules_accepted_goes_on);
    tcase_add_test(tcase, datasets_go_on);
    tcase_add_test(tcase, counters_go_on);
    return rig_run(tcase, "handover_state");
}
