/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Policy for whole flows: drop, pass, exceptions, and tags. */
#include "pipeline_rig.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void teardown(void)
{
    rig_close();
}

static void expect_drop(enum drop_reason reason)
{
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert_int_eq(rig.packet.drop_reason, reason);
}

static void expect_accept(void)
{
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
}

/* --- Drop and pass -------------------------------------------------------------------------------- */

START_TEST(a_drop_in_the_stream_is_one_of_the_flow)
{
    rig_open("drop tcp any any -> any any (content:\"EvilWord\"; sid:7; gid:3;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "Evil");
    expect_accept();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Word"), "7");
    expect_drop(DROP_REASON_RULES);
    const struct flow *flow = rig.packet.flow;

    ck_assert(flow->flags & FLOW_DROPPED);
    ck_assert(!flow->drop_by_exception);
    ck_assert_uint_eq(flow->drop_sid, 7);
    ck_assert_uint_eq(flow->drop_gid, 3);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "");
    expect_drop(DROP_REASON_FLOW);
    rig_send(RIG_SERVER, "answer");
    expect_drop(DROP_REASON_FLOW);
    ck_assert_uint_eq(policy_counters(rig.pipeline.policy)->flow_drops, 2);
}
END_TEST

START_TEST(a_drop_in_a_packet_is_its_own)
{
    rig_open("drop tcp-pkt any any -> any any (content:\"EvilWord\"; sid:7;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "EvilWord");
    expect_drop(DROP_REASON_RULES);
    ck_assert(!(rig.packet.flow->flags & FLOW_DROPPED));
    rig_send(RIG_CLIENT, "more");
    expect_accept();
}
END_TEST

START_TEST(a_drop_by_addresses_is_one_of_the_flow)
{
    rig_open("drop tcp any any -> any 80 (sid:7;)");
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0);
    expect_drop(DROP_REASON_RULES);
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "");
    expect_drop(DROP_REASON_FLOW);
}
END_TEST

START_TEST(a_pass_in_the_stream_is_one_of_the_flow)
{
    rig_open("pass tcp any any -> any any (content:\"GoodWord\"; sid:1;)\n"
             "drop tcp any any -> any any (content:\"EvilWord\"; sid:2;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord GoodWord"), "1 2");
    expect_accept();
    ck_assert(rig.packet.flow->flags & FLOW_PASSED);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "");
    ck_assert_str_eq(rig_send(RIG_SERVER, "EvilWord"), "");
    expect_accept();
}
END_TEST

START_TEST(what_came_first_holds)
{
    rig_open("pass tcp any any -> any any (content:\"GoodWord\"; sid:1;)\n"
             "drop tcp any any -> any any (content:\"EvilWord\"; sid:2;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "EvilWord");
    expect_drop(DROP_REASON_RULES);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "GoodWord"), "");
    expect_drop(DROP_REASON_FLOW);
    ck_assert(!(rig.packet.flow->flags & FLOW_PASSED));
}
END_TEST

START_TEST(passive_nothing_is_dropped)
{
    rig_passive();
    rig_open("drop tcp any any -> any 80 (sid:7;)");
    ck_assert_str_eq(rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0), "7");
    expect_accept();
    ck_assert(!(rig.packet.flow->flags & FLOW_DROPPED));
}
END_TEST

/* A decision about a flow does not apply to a new connection with the same ports. */
START_TEST(a_new_connection_is_judged_anew)
{
    rig.options.policy.exceptions[EXCEPTION_STREAM_MIDSTREAM] = EXCEPTION_DROP_FLOW;
    rig_open("alert tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_send(RIG_CLIENT, "midstream");
    expect_drop(DROP_REASON_STREAM_MIDSTREAM);
    rig_send(RIG_CLIENT, "midstream");
    expect_drop(DROP_REASON_EXCEPTION_FLOW);
    rig_handshake();
    expect_accept();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "1");
    expect_accept();
}
END_TEST

START_TEST(a_reject_answers_once)
{
    rig_open("reject tcp any any -> any any (content:\"EvilWord\"; sid:1;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "EvilWord");
    expect_drop(DROP_REASON_RULES);
    ck_assert_int_eq(rig.packet.reject, REJECT_SOURCE);
    rig_send(RIG_CLIENT, "EvilWord");
    expect_drop(DROP_REASON_FLOW);
    ck_assert_int_eq(rig.packet.reject, REJECT_NONE);
    ck_assert_uint_eq(rig.pipeline.counters.rejected, 1);
}
END_TEST

START_TEST(a_bypassed_flow_is_let_go)
{
    rig_open("alert tcp any any -> any any (content:\"Enough\"; bypass; sid:1;)\n"
             "drop tcp any any -> any any (content:\"EvilWord\"; sid:2;)");
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "Enough"), "1");
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EvilWord"), "");
    expect_accept();
}
END_TEST

/* --- Exceptions ----------------------------------------------------------------------------------- */

static const struct {
    enum exception_policy policy;
    bool drops, settles;
    enum reject_kind reject;
    unsigned flow_flags;
} exceptions[] = {
    { EXCEPTION_IGNORE, false, false, REJECT_NONE, 0 },
    { EXCEPTION_PASS_PACKET, false, true, REJECT_NONE, 0 },
    { EXCEPTION_PASS_FLOW, false, true, REJECT_NONE, FLOW_PASSED | FLOW_ACCEPTED_BY_EXCEPTION },
    { EXCEPTION_BYPASS, false, true, REJECT_NONE, FLOW_BYPASS_REQUESTED },
    { EXCEPTION_DROP_PACKET, true, true, REJECT_NONE, 0 },
    { EXCEPTION_DROP_FLOW, true, true, REJECT_NONE, FLOW_DROPPED },
    { EXCEPTION_REJECT, true, true, REJECT_SOURCE, FLOW_DROPPED },
    { EXCEPTION_REJECT_BOTH, true, true, REJECT_BOTH, FLOW_DROPPED },
};

static void check_exception(struct policy *policy, enum exception_cause cause, size_t row, bool inline_mode,
                            bool has_flow)
{
    enum exception_policy wanted = exceptions[row].policy;
    bool without_effect = exceptions[row].drops && !inline_mode;
    struct flow flow = { 0 };
    struct packet pkt = { .ip_version = 4, .flow = has_flow ? &flow : NULL };
    uint64_t before = policy_counters(policy)->exceptions[cause][without_effect ? EXCEPTION_IGNORE : wanted];

    pkt.root = &pkt;
    ck_assert_int_eq(policy_exception(policy, &pkt, cause), exceptions[row].settles && !without_effect);
    ck_assert_int_eq(pkt.verdict, exceptions[row].drops && inline_mode ? VERDICT_DROP : VERDICT_ACCEPT);
    ck_assert_int_eq(pkt.drop_reason != DROP_REASON_NONE, pkt.verdict == VERDICT_DROP);
    ck_assert_int_eq(pkt.reject, inline_mode ? exceptions[row].reject : REJECT_NONE);
    ck_assert_uint_eq(flow.flags, has_flow && !without_effect ? exceptions[row].flow_flags : 0);
    if (has_flow) {
        ck_assert_uint_eq(flow.exceptions[cause], (without_effect ? EXCEPTION_IGNORE : wanted) + 1u);
        ck_assert_int_eq(flow.drop_by_exception, (flow.flags & FLOW_DROPPED) != 0);
        ck_assert_int_eq(flow.drop_reason, flow.flags & FLOW_DROPPED ? pkt.drop_reason : DROP_REASON_NONE);
    }
    ck_assert_uint_eq(policy_counters(policy)->exceptions[cause][without_effect ? EXCEPTION_IGNORE : wanted],
                      before + 1);
}

START_TEST(exceptions_do_what_is_configured)
{
    rig_open("");
    for (int mode = 0; mode < 4; mode++) {
        struct policy_options options = rig.options.policy;
        struct policy *policy;

        options.inline_mode = mode & 1;
        for (enum exception_cause cause = EXCEPTION_NONE + 1; cause < EXCEPTION_COUNT; cause++)
            options.exceptions[cause] = exceptions[_i].policy;
        ck_assert_int_eq(policy_new(&policy, &options, rig.shared.policy), 0);
        for (enum exception_cause cause = EXCEPTION_NONE + 1; cause < EXCEPTION_COUNT; cause++)
            check_exception(policy, cause, (size_t)_i, mode & 1, mode & 2);
        policy_free(policy);
    }
}
END_TEST

/* A flow that an exception policy passes is not dropped by a later exception. */
START_TEST(an_exception_does_not_stop_what_another_let_through)
{
    rig.options.policy.exceptions[EXCEPTION_STREAM_REASSEMBLY] = EXCEPTION_PASS_FLOW;
    rig.options.policy.exceptions[EXCEPTION_STREAM_INVALID] = EXCEPTION_DROP_FLOW;
    rig_open("");
    rig_handshake();
    rig_send(RIG_CLIENT, "data");
    rig.packet.flow->flags |= FLOW_PASSED | FLOW_ACCEPTED_BY_EXCEPTION;
    rig_send_at(RIG_CLIENT, 2000000, "beyond the window");
    expect_accept();
}
END_TEST

/* --- Tags ----------------------------------------------------------------------------------------- */

/* Bit n: the n-th packet after the match is logged. Packets have 100 bytes, one per second. */
static const struct {
    const char *name;
    struct rule_tag tag;
    unsigned expected;
} tags[] = {
    { "packets", { .unit = TAG_PACKETS, .count = 3 }, 0x3 },
    { "seconds", { .unit = TAG_SECONDS, .count = 4 }, 0xf },
    { "bytes", { .unit = TAG_BYTES, .count = 450 }, 0x7 },
    { "packets of a host", { .scope = TAG_HOST, .unit = TAG_PACKETS, .count = 3, .of_source = true }, 0x3 },
    { "seconds of a host", { .scope = TAG_HOST, .unit = TAG_SECONDS, .count = 4 }, 0xf },
};

struct tagged {
    struct flow flow;
    struct packet pkt;
    struct rule rules[6];
};

static struct tagged tagged;

static bool tag_packet(const struct rule_tag *tag, unsigned rules)
{
    struct hit hits[6];
    struct decision decision;

    tagged.pkt = (struct packet){ .ip_version = 4,
                                  .wire_length = 100,
                                  .time_ns = rig.time_ns,
                                  .flow = &tagged.flow,
                                  .source_address = { .bytes = { 10, 0, 0, 1 } },
                                  .destination_address = { .bytes = { 10, 0, 0, 2 } } };
    tagged.pkt.root = &tagged.pkt;
    rig.time_ns += RIG_SECOND;
    for (unsigned i = 0; i < rules; i++) {
        tagged.rules[i] = (struct rule){ .action = ACTION_ALERT, .sid = i + 1, .gid = 1, .tag = tag };
        hits[i] = (struct hit){ .rule = &tagged.rules[i] };
    }
    policy_apply(rig.pipeline.policy, ruleset_rules(rig.ruleset), &tagged.pkt, hits, rules, NULL, &decision);
    return decision.tagged;
}

/* Opens the rig with a rule that tags hosts, so that tags are looked up for packets. */
static void open_for_tags(void)
{
    rig_open("alert tcp any any -> any any (content:\"xyz\"; tag:host,10,packets,src; sid:99;)");
    memset(&tagged, 0, sizeof(tagged));
}

START_TEST(tags_follow_as_long_as_they_say)
{
    unsigned written = 0;

    open_for_tags();
    ck_assert(!tag_packet(&tags[_i].tag, 1));
    for (unsigned i = 0; i < 10; i++)
        written |= (unsigned)tag_packet(NULL, 0) << i;
    ck_assert_msg(written == tags[_i].expected, "%s: %#x", tags[_i].name, written);
    policy_flow_end(rig.pipeline.policy, &tagged.flow);
    ck_assert_ptr_null(tagged.flow.tag);
}
END_TEST

START_TEST(tags_begin_anew_but_not_for_ever)
{
    const struct rule_tag tag = { .unit = TAG_PACKETS, .count = 3 };
    int matches = 0;

    open_for_tags();
    tag_packet(&tag, 1);
    while (tag_packet(&tag, 1) && matches < 100)
        matches++;
    ck_assert_int_gt(matches, 5);
    ck_assert_int_lt(matches, 20);
    policy_flow_end(rig.pipeline.policy, &tagged.flow);
}
END_TEST

START_TEST(an_exclusive_tag_is_not_begun_anew)
{
    const struct rule_tag tag = { .unit = TAG_PACKETS, .count = 4, .exclusive = true };

    open_for_tags();
    tag_packet(&tag, 1);
    ck_assert(tag_packet(&tag, 1));
    ck_assert(tag_packet(NULL, 0));
    ck_assert(tag_packet(NULL, 0));
    ck_assert(!tag_packet(NULL, 0));
    policy_flow_end(rig.pipeline.policy, &tagged.flow);
}
END_TEST

/* More rules with tag than a flow has room for: further tags are ignored. */
START_TEST(a_flow_has_a_handful_of_tags)
{
    const struct rule_tag tag = { .unit = TAG_PACKETS, .count = 2 };

    open_for_tags();
    tag_packet(&tag, 6);
    ck_assert(tag_packet(NULL, 0));
    ck_assert(!tag_packet(NULL, 0));
    policy_flow_end(rig.pipeline.policy, &tagged.flow);
}
END_TEST

START_TEST(a_packet_that_was_never_sent_is_not_tagged)
{
    const struct rule_tag tag = { .unit = TAG_PACKETS, .count = 2 };

    open_for_tags();
    tag_packet(&tag, 1);
    tagged.pkt.flags |= PACKET_PSEUDO;
    struct decision decision;

    policy_apply(rig.pipeline.policy, ruleset_rules(rig.ruleset), &tagged.pkt, NULL, 0, NULL, &decision);
    ck_assert(!decision.tagged);
    ck_assert(tag_packet(NULL, 0));
    policy_flow_end(rig.pipeline.policy, &tagged.flow);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("policy_flow");

    tcase_add_checked_fixture(tcase, rig_setup, teardown);
    tcase_add_test(tcase, a_drop_in_the_stream_is_one_of_the_flow);
    tcase_add_test(tcase, a_drop_in_a_packet_is_its_own);
    tcase_add_test(tcase, a_drop_by_addresses_is_one_of_the_flow);
    tcase_add_test(tcase, a_pass_in_the_stream_is_one_of_the_flow);
    tcase_add_test(tcase, what_came_first_holds);
    tcase_add_test(tcase, passive_nothing_is_dropped);
    tcase_add_test(tcase, a_new_connection_is_judged_anew);
    tcase_add_test(tcase, a_reject_answers_once);
    tcase_add_test(tcase, a_bypassed_flow_is_let_go);
    tcase_add_loop_test(tcase, exceptions_do_what_is_configured, 0, COUNT(exceptions));
    tcase_add_test(tcase, an_exception_does_not_stop_what_another_let_through);
    tcase_add_loop_test(tcase, tags_follow_as_long_as_they_say, 0, COUNT(tags));
    tcase_add_test(tcase, tags_begin_anew_but_not_for_ever);
    tcase_add_test(tcase, an_exclusive_tag_is_not_begun_anew);
    tcase_add_test(tcase, a_flow_has_a_handful_of_tags);
    tcase_add_test(tcase, a_packet_that_was_never_sent_is_not_tagged);
    return rig_run(tcase, "policy_flow");
}
