/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Thresholds: sequences of matches, and the result of each; the order of actions; limits of the state. */
#include <check.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "default_options.h"
#include "sluice/clock.h"
#include "sluice/policy.h"

static struct rule_list *no_rules; /* without thresholds for all rules */
static struct policy_shared *shared;
static struct policy *policy;

static struct rule_list *empty_list(void)
{
    static const struct rule_list_options options;
    struct diag *diag = diag_new();
    struct rule_list *list = NULL;

    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    diag_free(diag);
    return list;
}

static void make_policy(bool inline_mode, unsigned alert_max, size_t memcap)
{
    struct policy_options options;

    policy_options_default(&options);
    options.inline_mode = inline_mode;
    options.packet_alert_max = alert_max;
    options.threshold_memcap = memcap;
    ck_assert_int_eq(policy_shared_new(&shared, &options), 0);
    ck_assert_int_eq(policy_new(&policy, &options, shared), 0);
    no_rules = empty_list();
}

static void free_policy(void)
{
    policy_free(policy);
    policy_shared_free(shared);
    rule_list_free(no_rules);
}

static struct packet make_packet(uint32_t source, double seconds)
{
    struct packet pkt = {
        .ip_version = 4,
        .protocol = 6,
        .time_ns = (uint64_t)((1000 + seconds) * NS_PER_SECOND),
        .source_address = { .bytes = { 10, 0, (uint8_t)(source >> 8), (uint8_t)source } },
        .destination_address = { .bytes = { 10, 9, 9, 9 } },
        .source_port = 1024,
        .destination_port = 80,
    };

    return pkt;
}

static struct decision apply_to(struct policy *to, struct packet *pkt, const struct rule *const *rules, size_t count)
{
    struct hit hits[16] = { 0 };
    struct decision decision;

    for (size_t i = 0; i < count; i++)
        hits[i].rule = rules[i];
    pkt->root = pkt;
    policy_apply(to, no_rules, pkt, hits, count, NULL, &decision);
    return decision;
}

static struct decision apply(struct packet *pkt, const struct rule *const *rules, size_t count)
{
    return apply_to(policy, pkt, rules, count);
}

/* --- Thresholds ----------------------------------------------------------------------------------- */

/* Expected result of each match: A alert and drop, s drop without alert, . nothing. One time in seconds for each match.
 */
static const struct {
    const char *name;
    struct threshold threshold;
    const char *expected;
    double times[12];
} thresholds[] = {
    { "limit",
      { .kind = THRESHOLD_LIMIT, .track = TRACK_SOURCE, .count = 2, .seconds = 10 },
      "AAssAAs",
      { 0, 1, 2, 9, 20, 21, 22 } },
    { "limit 1",
      { .kind = THRESHOLD_LIMIT, .track = TRACK_SOURCE, .count = 1, .seconds = 60 },
      "AssA",
      { 0, 1, 60, 61 } },
    { "threshold",
      { .kind = THRESHOLD_THRESHOLD, .track = TRACK_SOURCE, .count = 3, .seconds = 10 },
      "..A..A..",
      { 0, 1, 2, 3, 4, 5, 6, 20 } },
    { "threshold 1",
      { .kind = THRESHOLD_THRESHOLD, .track = TRACK_SOURCE, .count = 1, .seconds = 10 },
      "AAA",
      { 0, 1, 30 } },
    { "both",
      { .kind = THRESHOLD_BOTH, .track = TRACK_SOURCE, .count = 3, .seconds = 10 },
      "..Ass..A",
      { 0, 1, 2, 3, 4, 20, 21, 22 } },
    { "backoff",
      { .kind = THRESHOLD_BACKOFF, .track = TRACK_SOURCE, .count = 1, .multiplier = 2 },
      "AAsAsssA",
      { 0, 1, 2, 3, 4, 5, 6, 7 } },
    { "detection_filter",
      { .kind = THRESHOLD_DETECTION_FILTER, .track = TRACK_SOURCE, .count = 2, .seconds = 10 },
      "..AA..A",
      { 0, 1, 2, 3, 20, 21, 22 } },
    { "rule", { .kind = THRESHOLD_LIMIT, .track = TRACK_RULE, .count = 1, .seconds = 10 }, "As", { 0, 1 } },
};

START_TEST(thresholds_count_as_the_field_does)
{
    struct threshold threshold = thresholds[_i].threshold;
    const struct rule rule = { .action = ACTION_DROP, .sid = 1, .gid = 1, .thresholds = &threshold };
    const struct rule *list[] = { &rule };

    make_policy(true, 15, 1 << 20);
    for (size_t i = 0; i < strlen(thresholds[_i].expected); i++) {
        struct packet pkt = make_packet(1, thresholds[_i].times[i]);
        struct decision decision = apply(&pkt, list, 1);
        bool dropped = pkt.verdict == VERDICT_DROP;
        char got = decision.alert_count ? 'A' : dropped ? 's' : '.';

        ck_assert_msg(got == thresholds[_i].expected[i], "%s: match %zu is '%c'", thresholds[_i].name, i, got);
        ck_assert(dropped == (got != '.'));
    }
    free_policy();
}
END_TEST

static const struct {
    enum threshold_track track;
    unsigned distinct; /* number of separate counts for: 1->9, 2->9, 9->1, 1->9 from another port */
} tracks[] = {
    { TRACK_SOURCE, 3 }, { TRACK_DESTINATION, 2 }, { TRACK_BOTH, 2 }, { TRACK_FLOW, 3 }, { TRACK_RULE, 1 },
};

START_TEST(counts_belong_to_what_is_tracked)
{
    struct threshold threshold = { .kind = THRESHOLD_LIMIT, .track = tracks[_i].track, .count = 1, .seconds = 10 };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &threshold };
    const struct rule *list[] = { &rule };
    struct flow flow = { .start_ns = 5 };
    unsigned alerts = 0;

    make_policy(true, 15, 1 << 20);
    for (int i = 0; i < 4; i++) {
        struct packet pkt = make_packet(i == 1 ? 2 : 1, i);

        if (i == 2) {
            struct address swap = pkt.source_address;

            pkt.source_address = pkt.destination_address;
            pkt.destination_address = swap;
            pkt.source_port = 80;
            pkt.destination_port = 1024;
        }
        if (i == 3)
            pkt.source_port = 1025;
        pkt.flow = &flow;
        alerts += (unsigned)apply(&pkt, list, 1).alert_count;
    }
    ck_assert_uint_eq(alerts, tracks[_i].distinct);
    free_policy();
}
END_TEST

START_TEST(another_flow_of_the_same_ports_counts_anew)
{
    struct threshold threshold = { .kind = THRESHOLD_LIMIT, .track = TRACK_FLOW, .count = 1, .seconds = 10 };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &threshold };
    const struct rule *list[] = { &rule };
    struct flow first = { .start_ns = 1 }, second = { .start_ns = 2 };
    struct flow *flows[] = { &first, &first, &second, NULL, &second };
    const size_t alerts[] = { 1, 0, 1, 0, 0 }; /* none without a flow */

    make_policy(true, 15, 1 << 20);
    for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
        struct packet pkt = make_packet(1, i);

        pkt.flow = flows[i];
        ck_assert_uint_eq(apply(&pkt, list, 1).alert_count, alerts[i]);
    }
    free_policy();
}
END_TEST

START_TEST(rate_filter_changes_the_action_for_a_while)
{
    struct threshold filter = { .kind = THRESHOLD_RATE_FILTER,
                                .track = TRACK_SOURCE,
                                .count = 2,
                                .seconds = 10,
                                .timeout = 30,
                                .new_action = ACTION_DROP };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &filter };
    const struct rule *list[] = { &rule };
    static const struct {
        double seconds;
        bool dropped;
    } steps[] = { { 0, false }, { 1, false }, { 2, true }, { 20, true }, { 32, true }, { 40, false }, { 41, false } };

    make_policy(true, 15, 1 << 20);
    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct packet pkt = make_packet(1, steps[i].seconds);
        struct decision decision = apply(&pkt, list, 1);

        ck_assert_uint_eq(decision.alert_count, 1);
        ck_assert_msg((pkt.verdict == VERDICT_DROP) == steps[i].dropped, "step %zu", i);
        if (steps[i].dropped)
            ck_assert_int_eq(pkt.drop_reason, DROP_REASON_RATE_FILTER);
    }
    free_policy();
}
END_TEST

START_TEST(distinct_ports_count_once)
{
    struct threshold filter = { .kind = THRESHOLD_DETECTION_FILTER,
                                .track = TRACK_SOURCE,
                                .unique = UNIQUE_DESTINATION_PORT,
                                .count = 3,
                                .seconds = 60 };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &filter };
    const struct rule *list[] = { &rule };
    static const uint16_t ports[] = { 80, 80, 80, 80, 80, 443, 443, 22, 80, 23, 24 };
    static const char expected[] = ".........AA";

    make_policy(true, 15, 1 << 20);
    for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
        struct packet pkt = make_packet(1, (double)i);

        pkt.destination_port = ports[i];
        ck_assert_msg((apply(&pkt, list, 1).alert_count ? 'A' : '.') == expected[i], "match %zu", i);
    }
    free_policy();
}
END_TEST

START_TEST(suppression_hides_the_alert_and_keeps_the_drop)
{
    static const struct address_range4 range = { 0x0a000001, 0x0a000001 };
    static const struct address_set set = { .count4 = 1, .range4 = &range };
    struct threshold suppress = {
        .kind = THRESHOLD_SUPPRESS, .track = TRACK_SOURCE, .has_track = true, .addresses = &set
    };
    const struct rule rule = { .action = ACTION_DROP, .sid = 1, .gid = 1, .thresholds = &suppress };
    const struct rule *list[] = { &rule };
    struct packet named = make_packet(1, 0), other = make_packet(2, 0);

    make_policy(true, 15, 1 << 20);
    ck_assert_uint_eq(apply(&named, list, 1).alert_count, 0);
    ck_assert_int_eq(named.verdict, VERDICT_DROP);
    ck_assert_uint_eq(apply(&other, list, 1).alert_count, 1);
    free_policy();
}
END_TEST

/* A scan from many addresses: memory is bounded; low counts are evicted, higher ones stay. */
START_TEST(state_is_bounded)
{
    struct threshold threshold = { .kind = THRESHOLD_LIMIT, .track = TRACK_SOURCE, .count = 1, .seconds = 10 };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &threshold };
    const struct rule *list[] = { &rule };

    make_policy(true, 15, 256 << 10);
    size_t memory = policy_shared_memory(shared);

    ck_assert_uint_le(memory, 1 << 20);
    unsigned reported = 0;

    for (unsigned i = 0; i < 3; i++) {
        struct packet pkt = make_packet(40000, 0);

        ck_assert_uint_eq(apply(&pkt, list, 1).alert_count, i == 0);
    }
    for (unsigned i = 0; i < 20000; i++) {
        struct packet pkt = make_packet(i, 0);

        reported += (unsigned)apply(&pkt, list, 1).alert_count;
    }
    ck_assert_uint_eq(reported, 20000);
    uint64_t evicted = policy_thresholds_evicted(policy);
    struct packet again = make_packet(40000, 0);

    ck_assert_uint_gt(evicted, 10000);
    ck_assert_uint_eq(apply(&again, list, 1).alert_count, 0);
    for (unsigned i = 0; i < 1000; i++) {
        struct packet pkt = make_packet(30000 + i, 100);

        apply(&pkt, list, 1);
    }
    ck_assert_uint_eq(policy_thresholds_evicted(policy), evicted); /* expired entries are reused */
    ck_assert_uint_eq(policy_counters(policy)->threshold_memcap_hits, 0);
    ck_assert_uint_eq(policy_shared_memory(shared), memory);
    free_policy();
}
END_TEST

/* --- Actions -------------------------------------------------------------------------------------- */

static const struct rule pass = { .action = ACTION_PASS, .sid = 1 };
static const struct rule drop = { .action = ACTION_DROP, .sid = 2 };
static const struct rule reject_both = { .action = ACTION_REJECT_BOTH, .sid = 3 };
static const struct rule alert_rule = { .action = ACTION_ALERT, .sid = 4 };
static const struct rule quiet_drop = { .action = ACTION_DROP, .sid = 5, .noalert = true };

static const struct {
    const char *name;
    const struct rule *hits[4];
    bool inline_mode, dropped;
    enum reject_kind reject;
    unsigned alerts;
} actions[] = {
    { "nothing", { 0 }, true, false, REJECT_NONE, 0 },
    { "alert", { &alert_rule }, true, false, REJECT_NONE, 1 },
    { "drop", { &drop }, true, true, REJECT_NONE, 1 },
    { "drop, not inline", { &drop }, false, false, REJECT_NONE, 1 },
    { "pass ends it", { &pass, &drop, &alert_rule }, true, false, REJECT_NONE, 0 },
    { "alert before pass", { &alert_rule, &pass, &drop }, true, false, REJECT_NONE, 1 },
    { "drop and alert", { &drop, &alert_rule }, true, true, REJECT_NONE, 2 },
    { "reject", { &reject_both }, true, true, REJECT_BOTH, 1 },
    { "reject, not inline", { &reject_both }, false, false, REJECT_BOTH, 1 }, /* only for the event */
    { "noalert drops", { &quiet_drop }, true, true, REJECT_NONE, 0 },
};

START_TEST(actions_in_their_order)
{
    struct packet pkt = make_packet(1, 0);
    size_t count = 0;

    while (count < 4 && actions[_i].hits[count])
        count++;
    make_policy(actions[_i].inline_mode, 15, 1 << 20);

    struct decision decision = apply(&pkt, actions[_i].hits, count);

    ck_assert_msg((pkt.verdict == VERDICT_DROP) == actions[_i].dropped, "%s", actions[_i].name);
    ck_assert_msg(pkt.reject == actions[_i].reject, "%s", actions[_i].name);
    ck_assert_msg(decision.alert_count == actions[_i].alerts, "%s: %zu", actions[_i].name, decision.alert_count);
    ck_assert(actions[_i].dropped == (decision.drop_rule != NULL));
    free_policy();
}
END_TEST

START_TEST(alerts_per_packet_are_bounded)
{
    const struct rule *many[16];
    struct packet pkt = make_packet(1, 0);

    for (size_t i = 0; i < 16; i++)
        many[i] = i == 15 ? &drop : &alert_rule;
    make_policy(true, 5, 1 << 20);
    ck_assert_uint_eq(apply(&pkt, many, 16).alert_count, 5);
    ck_assert_int_eq(pkt.verdict, VERDICT_DROP); /* an action without alert still takes effect */
    ck_assert_uint_eq(policy_counters(policy)->alerts_overflow, 11);
    free_policy();
}
END_TEST

START_TEST(a_drop_inside_a_tunnel_drops_its_carrier)
{
    const struct rule *list[] = { &drop };
    struct packet outer = make_packet(1, 0), inner = make_packet(2, 0);
    struct hit hit = { .rule = &drop };
    struct decision decision;

    (void)list;
    outer.root = &outer;
    inner.root = &outer;
    inner.outer = &outer;
    make_policy(true, 15, 1 << 20);
    policy_apply(policy, no_rules, &inner, &hit, 1, NULL, &decision);
    ck_assert_int_eq(inner.drop_reason, DROP_REASON_RULES);
    ck_assert_int_eq(outer.verdict, VERDICT_DROP);
    ck_assert_int_eq(outer.drop_reason, DROP_REASON_TUNNEL);
    free_policy();
}
END_TEST

/* --- Alert-only ----------------------------------------------------------------------------------- */

START_TEST(alert_only_drops_nothing_and_tells_what_drop_does)
{
    struct packet pkt = make_packet(1, 0);
    bool drops = actions[_i].dropped;
    size_t count = 0;

    while (count < 4 && actions[_i].hits[count])
        count++;
    make_policy(actions[_i].inline_mode, 15, 1 << 20);
    policy_set_mode(policy, IPS_MODE_ALERT_ONLY);

    struct decision decision = apply(&pkt, actions[_i].hits, count);

    ck_assert_int_eq(pkt.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(pkt.reject, actions[_i].inline_mode ? REJECT_NONE : actions[_i].reject);
    ck_assert_ptr_null(decision.drop_rule);
    ck_assert_msg(pkt.would_drop == (drops ? DROP_REASON_RULES : DROP_REASON_NONE), "%s", actions[_i].name);
    ck_assert(pkt.would_reject == (actions[_i].inline_mode && actions[_i].reject != REJECT_NONE));
    ck_assert((decision.would_drop_rule != NULL) == drops);
    ck_assert_uint_eq(decision.alert_count, actions[_i].alerts);
    for (size_t i = 0; i < decision.alert_count; i++) {
        bool of_drop = actions[_i].inline_mode && decision.alerts[i].action != ACTION_ALERT;

        ck_assert(decision.alerts[i].blocked == (!actions[_i].inline_mode && actions[_i].reject != REJECT_NONE));
        ck_assert(decision.alerts[i].would_drop == of_drop);
    }
    ck_assert_uint_eq(policy_counters(policy)->dropped, 0);
    free_policy();
}
END_TEST

START_TEST(alert_only_blocks_no_host)
{
    const struct rule blocker = { .action = ACTION_DROP, .sid = 6, .block = RULE_BLOCK_SOURCE };
    const struct rule *list[] = { &blocker };
    struct packet pkt = make_packet(1, 0);

    make_policy(true, 15, 1 << 20);
    ck_assert_ptr_eq(apply(&pkt, list, 1).block_rule, &blocker);
    policy_set_mode(policy, IPS_MODE_ALERT_ONLY);
    ck_assert_ptr_null(apply(&pkt, list, 1).block_rule);
    free_policy();
}
END_TEST

START_TEST(alert_only_rule_lets_others_drop)
{
    const struct rule quiet = { .action = ACTION_REJECT, .sid = 7, .alert_only = true };
    const struct rule *alone[] = { &quiet }, *both[] = { &quiet, &drop };
    struct packet pkt = make_packet(1, 0), second = make_packet(1, 1);
    struct decision decision;

    make_policy(true, 15, 1 << 20);
    decision = apply(&pkt, alone, 1);
    ck_assert_int_eq(pkt.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(pkt.would_drop, DROP_REASON_RULES);
    ck_assert(decision.alerts[0].would_drop && !decision.alerts[0].blocked);
    decision = apply(&second, both, 2);
    ck_assert_int_eq(second.verdict, VERDICT_DROP);
    ck_assert_int_eq(second.reject, REJECT_NONE);
    ck_assert(decision.alerts[0].would_drop && decision.alerts[1].blocked);
    ck_assert_ptr_eq(decision.drop_rule, &drop);
    free_policy();
}
END_TEST

/* Sends a packet of the flow; `rule` matches in its stream, unless NULL. Returns whether rules are evaluated for it. */
static bool send_in_flow(struct flow *flow, const struct rule *rule, struct packet *pkt)
{
    struct hit hit = { .rule = rule, .in_stream = true, .of_flow = true };
    struct decision decision;
    bool settled;

    *pkt = make_packet(1, 0);
    pkt->root = pkt;
    pkt->flow = flow;
    settled = policy_flow(policy, pkt);
    if (!settled)
        policy_apply(policy, no_rules, pkt, &hit, rule ? 1 : 0, NULL, &decision);
    return !settled;
}

START_TEST(alert_only_inspects_a_flow_further)
{
    struct flow flow = { .flags = FLOW_IP_ONLY_TO_SERVER };
    struct packet pkt;

    make_policy(true, 15, 1 << 20);
    policy_set_mode(policy, IPS_MODE_ALERT_ONLY);
    ck_assert(send_in_flow(&flow, &drop, &pkt));
    ck_assert_int_eq(pkt.would_drop, DROP_REASON_RULES);
    ck_assert(send_in_flow(&flow, NULL, &pkt));
    ck_assert_int_eq(pkt.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(pkt.would_drop, DROP_REASON_FLOW);
    ck_assert_uint_eq(flow.flags & FLOW_DROPPED, 0);
    ck_assert_uint_eq(flow.drop_sid, drop.sid);

    /* Back in mode drop: earlier matches of the flow are ignored, address-only rules are evaluated again, and the next
     * match drops. */
    policy_set_mode(policy, IPS_MODE_DROP);
    ck_assert(send_in_flow(&flow, NULL, &pkt));
    ck_assert_int_eq(pkt.would_drop, DROP_REASON_NONE);
    ck_assert_uint_eq(flow.flags & FLOW_IP_ONLY_TO_SERVER, 0);
    ck_assert(send_in_flow(&flow, &drop, &pkt));
    ck_assert_int_eq(pkt.verdict, VERDICT_DROP);
    ck_assert(!send_in_flow(&flow, NULL, &pkt));
    ck_assert_int_eq(pkt.verdict, VERDICT_DROP);
    policy_flow_end(policy, &flow);

    /* After a match of an alert-only rule, later packets are counted, and rules are not evaluated again. */
    const struct rule quiet = { .action = ACTION_DROP, .sid = 7, .alert_only = true };

    flow = (struct flow){ .flags = FLOW_IP_ONLY_TO_SERVER };
    ck_assert(send_in_flow(&flow, &quiet, &pkt));
    ck_assert(send_in_flow(&flow, NULL, &pkt));
    ck_assert_int_eq(pkt.would_drop, DROP_REASON_FLOW);
    ck_assert_uint_ne(flow.flags & FLOW_IP_ONLY_TO_SERVER, 0);
    policy_flow_end(policy, &flow);
    free_policy();
}
END_TEST

START_TEST(alert_only_releases_a_dropped_flow)
{
    struct flow flow = { .offload = OFFLOAD_DROP };
    struct packet pkt;

    make_policy(true, 15, 1 << 20);
    ck_assert(send_in_flow(&flow, &drop, &pkt));
    ck_assert_uint_ne(flow.flags & FLOW_DROPPED, 0);
    policy_set_mode(policy, IPS_MODE_ALERT_ONLY);
    ck_assert(send_in_flow(&flow, NULL, &pkt));
    ck_assert_int_eq(pkt.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(pkt.would_drop, DROP_REASON_FLOW);
    ck_assert_int_eq(flow.offload, OFFLOAD_NONE);
    policy_set_mode(policy, IPS_MODE_DROP);
    ck_assert(send_in_flow(&flow, NULL, &pkt));
    ck_assert_int_eq(pkt.verdict, VERDICT_ACCEPT);
    policy_flow_end(policy, &flow);
    free_policy();
}
END_TEST

START_TEST(alert_only_covers_exception_policies)
{
    enum exception_policy all[EXCEPTION_COUNT];
    enum exception_policy action = (enum exception_policy)_i;
    struct flow flow = { .flags = 0 };
    struct packet pkt = make_packet(1, 0);
    bool drops = action >= EXCEPTION_DROP_PACKET;

    for (unsigned i = 0; i < EXCEPTION_COUNT; i++)
        all[i] = action;
    make_policy(true, 15, 1 << 20);
    policy_set_exceptions(policy, all);
    policy_set_mode(policy, IPS_MODE_ALERT_ONLY);
    pkt.root = &pkt;
    pkt.flow = &flow;
    /* Inspection continues as with `ignore`. */
    ck_assert(policy_exception(policy, &pkt, EXCEPTION_APP_ERROR) == (!drops && action != EXCEPTION_IGNORE));
    ck_assert_int_eq(pkt.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(pkt.reject, REJECT_NONE);
    ck_assert_int_eq(pkt.would_drop, drops ? DROP_REASON_APP_ERROR : DROP_REASON_NONE);
    ck_assert(pkt.would_reject == (action >= EXCEPTION_REJECT));
    ck_assert(flow.would_drop == (action > EXCEPTION_DROP_PACKET ? FLOW_WOULD_DROP_BY_MODE : FLOW_WOULD_DROP_NO));
    ck_assert_uint_eq(flow.flags & FLOW_DROPPED, 0);
    if (flow.would_drop) {
        struct packet next;

        ck_assert(send_in_flow(&flow, NULL, &next));
        ck_assert_int_eq(next.would_drop, DROP_REASON_EXCEPTION_FLOW);
    }
    policy_flow_end(policy, &flow);
    free_policy();
}
END_TEST

START_TEST(alert_only_covers_drops_of_stream_and_tunnels)
{
    struct packet outer = make_packet(1, 0), inner = make_packet(2, 0);

    outer.root = &outer;
    inner.root = &outer;
    inner.outer = &outer;
    make_policy(true, 15, 1 << 20);
    policy_set_mode(policy, IPS_MODE_ALERT_ONLY);
    policy_drop(policy, &inner, DROP_REASON_STREAM_ERROR);
    policy_drop(policy, &inner, DROP_REASON_STREAM_URGENT);
    ck_assert_int_eq(inner.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(outer.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(inner.would_drop, DROP_REASON_STREAM_ERROR); /* the first reason stays */
    ck_assert_int_eq(outer.would_drop, DROP_REASON_TUNNEL);
    free_policy();
}
END_TEST

/* Hosts with few ports leave room for hosts with many; ports without room are counted. */
START_TEST(ports_of_many_hosts_have_room)
{
    struct threshold filter = { .kind = THRESHOLD_DETECTION_FILTER,
                                .track = TRACK_SOURCE,
                                .unique = UNIQUE_DESTINATION_PORT,
                                .count = 60,
                                .seconds = 60 };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &filter };
    const struct rule *list[] = { &rule };
    unsigned alerts = 0;

    make_policy(true, 15, 1 << 20);
    for (unsigned source = 2; source < 1500; source++) {
        struct packet pkt = make_packet(source, 1);

        ck_assert_uint_eq(apply(&pkt, list, 1).alert_count, 0);
    }
    ck_assert_uint_eq(policy_counters(policy)->threshold_memcap_hits, 0);
    for (unsigned port = 1; port <= 200; port++) {
        struct packet pkt = make_packet(1, 2);

        pkt.destination_port = (uint16_t)port;
        alerts += apply(&pkt, list, 1).alert_count > 0;
    }
    ck_assert_uint_eq(alerts, 200 - 60);
    for (unsigned source = 2000; source < 6000; source++) {
        struct packet pkt = make_packet(source, 3);

        apply(&pkt, list, 1);
    }
    ck_assert_uint_gt(policy_counters(policy)->threshold_memcap_hits, 0);
    free_policy();
}
END_TEST

/* Several workers count the same key; no count may be lost. */
enum { THREADS = 4, PER_THREAD = 2000 };

static void *count_matches(void *arg)
{
    struct threshold threshold = { .kind = THRESHOLD_THRESHOLD, .track = TRACK_RULE, .count = 10, .seconds = 3600 };
    const struct rule rule = { .action = ACTION_ALERT, .sid = 1, .gid = 1, .thresholds = &threshold };
    const struct rule *list[] = { &rule };
    struct policy_options options;
    struct policy *worker;
    uintptr_t alerts = 0;

    (void)arg;
    policy_options_default(&options);
    ck_assert_int_eq(policy_new(&worker, &options, shared), 0);
    for (int i = 0; i < PER_THREAD; i++) {
        struct packet pkt = make_packet(1, 0);

        alerts += apply_to(worker, &pkt, list, 1).alert_count;
    }
    policy_free(worker);
    return (void *)alerts;
}

START_TEST(workers_share_counts)
{
    pthread_t threads[THREADS];
    uintptr_t total = 0;

    make_policy(true, 15, 1 << 20);
    for (int i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, count_matches, NULL), 0);
    for (int i = 0; i < THREADS; i++) {
        void *alerts;

        pthread_join(threads[i], &alerts);
        total += (uintptr_t)alerts;
    }
    ck_assert_uint_eq(total, THREADS * PER_THREAD / 10);
    free_policy();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("policy");
    TCase *tcase = tcase_create("policy");

    tcase_add_loop_test(tcase, thresholds_count_as_the_field_does, 0, sizeof(thresholds) / sizeof(thresholds[0]));
    tcase_add_loop_test(tcase, counts_belong_to_what_is_tracked, 0, sizeof(tracks) / sizeof(tracks[0]));
    tcase_add_test(tcase, another_flow_of_the_same_ports_counts_anew);
    tcase_add_test(tcase, rate_filter_changes_the_action_for_a_while);
    tcase_add_test(tcase, distinct_ports_count_once);
    tcase_add_test(tcase, ports_of_many_hosts_have_room);
    tcase_add_test(tcase, suppression_hides_the_alert_and_keeps_the_drop);
    tcase_add_test(tcase, state_is_bounded);
    tcase_add_loop_test(tcase, actions_in_their_order, 0, sizeof(actions) / sizeof(actions[0]));
    tcase_add_test(tcase, alerts_per_packet_are_bounded);
    tcase_add_loop_test(tcase, alert_only_drops_nothing_and_tells_what_drop_does, 0,
                        sizeof(actions) / sizeof(actions[0]));
    tcase_add_test(tcase, alert_only_blocks_no_host);
    tcase_add_test(tcase, alert_only_rule_lets_others_drop);
    tcase_add_test(tcase, alert_only_inspects_a_flow_further);
    tcase_add_test(tcase, alert_only_releases_a_dropped_flow);
    tcase_add_loop_test(tcase, alert_only_covers_exception_policies, 0, EXCEPTION_POLICY_COUNT);
    tcase_add_test(tcase, alert_only_covers_drops_of_stream_and_tunnels);
    tcase_add_test(tcase, a_drop_inside_a_tunnel_drops_its_carrier);
    tcase_add_test(tcase, workers_share_counts);
    tcase_set_timeout(tcase, 60);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
