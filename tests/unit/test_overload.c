/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Overload: the waiting time of packets, estimated by their ids; begin and end of overload; the flows that are shed;
 * and the functions that a worker calls. The tests set the time.
 */
#include "default_options.h"
#include "sluice/overload.h"
#include "pipeline_app_rig.h"
#include "sluice/clock.h"
#include "sluice/ring.h"
#include "tls_builder.h"

#define MS UINT64_C(1000000)

/* --- Age ------------------------------------------------------------------------------------------ */

START_TEST(nothing_is_known_at_first)
{
    struct queue_age age = { 0 };

    ck_assert_uint_eq(queue_age_of(&age, 1, 1000 * MS), 0);
}
END_TEST

START_TEST(an_age_lies_between_two_marks)
{
    struct queue_age age = { 0 };

    queue_age_mark(&age, 100, 1000 * MS, true);
    queue_age_mark(&age, 200, 1010 * MS, false);
    queue_age_mark(&age, 300, 1030 * MS, false);
    ck_assert_uint_eq(queue_age_of(&age, 101, 1040 * MS), 40 * MS - MS / 10);
    ck_assert_uint_eq(queue_age_of(&age, 150, 1040 * MS), 35 * MS);
    ck_assert_uint_eq(queue_age_of(&age, 200, 1040 * MS), 30 * MS);
    ck_assert_uint_eq(queue_age_of(&age, 250, 1040 * MS), 20 * MS);
    ck_assert_uint_eq(queue_age_of(&age, 301, 1045 * MS), 15 * MS); /* an upper bound */
    ck_assert_uint_eq(queue_age_of(&age, 301, 1020 * MS), 0);       /* the clock went back */
}
END_TEST

START_TEST(ids_begin_again)
{
    struct queue_age age = { 0 };

    queue_age_mark(&age, UINT32_MAX - 50, 1000 * MS, true);
    queue_age_mark(&age, 49, 1010 * MS, false);
    ck_assert_uint_eq(queue_age_of(&age, UINT32_MAX, 1020 * MS), 15 * MS);
    ck_assert_uint_eq(queue_age_of(&age, 24, 1020 * MS), 20 * MS - 7500000);
    ck_assert_uint_eq(queue_age_of(&age, 60, 1020 * MS), 10 * MS);
}
END_TEST

/* After a receive that slept, the first packet has just arrived. */
START_TEST(sleeping_is_not_waiting)
{
    struct queue_age age = { 0 };

    queue_age_mark(&age, 7, 1000 * MS, true);
    queue_age_slept(&age, 200 * MS);
    ck_assert_uint_eq(queue_age_of(&age, 8, 1201 * MS), MS);
    queue_age_mark(&age, 20, 1300 * MS, false);
    queue_age_slept(&age, 200 * MS); /* a receive does not sleep if packets are waiting */
    ck_assert_uint_eq(queue_age_of(&age, 21, 1301 * MS), MS);
}
END_TEST

/* The oldest marks are discarded; ages are then overestimated. */
START_TEST(marks_are_bounded)
{
    struct queue_age age = { 0 };

    for (uint32_t i = 0; i < 1000; i++)
        queue_age_mark(&age, i * 10, i * MS, false);
    ck_assert_uint_eq(age.count, QUEUE_AGE_MARKS);
    ck_assert_uint_eq(queue_age_of(&age, 5, 1000 * MS), (1000 - (1000 - QUEUE_AGE_MARKS)) * MS);
    ck_assert_uint_eq(queue_age_of(&age, 9995, 1000 * MS), MS);
    ck_assert_uint_eq(age.count, 1);
}
END_TEST

/* After packet loss a later mark may not have a higher id than the one before. */
START_TEST(lost_ids_do_no_harm)
{
    struct queue_age age = { 0 };

    queue_age_mark(&age, 200, 1000 * MS, false);
    queue_age_mark(&age, 150, 1005 * MS, true);
    ck_assert_uint_eq(queue_age_of(&age, 160, 1010 * MS), 5 * MS);
    queue_age_mark(&age, 200, 1020 * MS, false);
    ck_assert_uint_le(queue_age_of(&age, 200, 1030 * MS), 30 * MS);
    ck_assert_uint_eq(queue_age_of(&age, 201, 1030 * MS), 10 * MS);
}
END_TEST

START_TEST(percentiles)
{
    struct queue_age_counts counts = { 0 }, before;

    ck_assert_uint_eq(queue_age_percentile(&counts, NULL, 500), 0);
    queue_age_count(&counts, 5000, 98);
    queue_age_count(&counts, 1000 * MS, 2);
    ck_assert_uint_eq(queue_age_percentile(&counts, NULL, 500), 5000);
    ck_assert_uint_eq(queue_age_percentile(&counts, NULL, 980), 5000);
    ck_assert_uint_ge(queue_age_percentile(&counts, NULL, 990), 1000 * MS);
    ck_assert_uint_le(queue_age_percentile(&counts, NULL, 990), 1125 * MS);
    ck_assert_uint_eq(counts.last_ns, 1000 * MS);
    before = counts;
    ck_assert_uint_eq(queue_age_percentile(&counts, &before, 990), 0);
    queue_age_count(&counts, 3000, 1);
    ck_assert_uint_eq(queue_age_percentile(&counts, &before, 990), 3000);
    ck_assert_uint_eq(counts.max_ns, 1000 * MS);
    queue_age_count(&counts, UINT64_MAX, 1);
    ck_assert_uint_gt(queue_age_percentile(&counts, NULL, 1000), 1000000 * MS);
}
END_TEST

/* An age is at most an eighth below the reported bound of its bucket, and never above. */
START_TEST(buckets_hold_what_they_say)
{
    for (uint64_t us = 0; us < 5000000; us += us / 100 + 1) {
        struct queue_age_counts counts = { 0 };
        uint64_t told;

        queue_age_count(&counts, us * 1000, 1);
        told = queue_age_percentile(&counts, NULL, 500) / 1000;
        ck_assert_uint_ge(told, us);
        ck_assert_uint_le(told, us + us / 8);
    }
}
END_TEST

/* --- The state ------------------------------------------------------------------------------------ */

static struct overload state;

static void open_state(void)
{
    memset(&state, 0, sizeof(state));
    overload_options_default(&state.options);
    state.options.class_count = 3;
    state.options.classes[1] = SHED_BULK;
    state.options.classes[2] = SHED_NEW;
}

START_TEST(a_full_queue_is_overload_at_once)
{
    ck_assert_int_eq(overload_update(&state, 499, 0, 1000 * MS), OVERLOAD_SAME);
    ck_assert_uint_eq(overload_shedding(&state), 0);
    ck_assert_int_eq(overload_update(&state, 500, 0, 1001 * MS), OVERLOAD_ENTERED);
    ck_assert_uint_eq(overload_shedding(&state), 1u << SHED_ENCRYPTED);
}
END_TEST

/* A single pause is no overload: the next batch ends it. */
START_TEST(old_packets_are_overload_when_it_goes_on)
{
    ck_assert_int_eq(overload_update(&state, 0, 500 * MS, 1000 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 1 * MS, 1001 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 100 * MS, 1002 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 100 * MS, 1021 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 100 * MS, 1022 * MS), OVERLOAD_ENTERED);
}
END_TEST

START_TEST(classes_follow_each_other_while_it_lasts)
{
    ck_assert_int_eq(overload_update(&state, 900, 0, 1000 * MS), OVERLOAD_ENTERED);
    ck_assert_int_eq(overload_update(&state, 900, 0, 1049 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 400, 0, 1051 * MS), OVERLOAD_SAME); /* below the limit */
    ck_assert_int_eq(overload_update(&state, 500, 0, 1052 * MS), OVERLOAD_WIDENED);
    ck_assert_uint_eq(overload_shedding(&state), 1u << SHED_ENCRYPTED | 1u << SHED_BULK);
    ck_assert_int_eq(overload_update(&state, 500, 0, 1101 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 500, 0, 1102 * MS), OVERLOAD_WIDENED);
    ck_assert_int_eq(overload_update(&state, 500, 0, 1500 * MS), OVERLOAD_SAME); /* nothing more can be shed */
    ck_assert_uint_eq(overload_shedding(&state), 1u << SHED_ENCRYPTED | 1u << SHED_BULK | 1u << SHED_NEW);
}
END_TEST

START_TEST(it_ends_below_half_for_a_second)
{
    ck_assert_int_eq(overload_update(&state, 900, 0, 1000 * MS), OVERLOAD_ENTERED);
    ck_assert_int_eq(overload_update(&state, 250, 0, 3000 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 50 * MS, 4500 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 249, 49 * MS, 5000 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 60 * MS, 5900 * MS),
                     OVERLOAD_SAME); /* and the waiting time starts again */
    ck_assert_uint_eq(overload_shedding(&state), 1u << SHED_ENCRYPTED);
    ck_assert_int_eq(overload_update(&state, 0, 0, 6000 * MS), OVERLOAD_SAME);
    ck_assert_uint_eq(overload_shedding(&state), 0); /* as long as there is no overload */
    ck_assert(state.active);
    ck_assert_int_eq(overload_update(&state, 0, 0, 6999 * MS), OVERLOAD_SAME);
    ck_assert_int_eq(overload_update(&state, 0, 0, 7000 * MS), OVERLOAD_LEFT);
    ck_assert_uint_eq(overload_shedding(&state), 0);
    ck_assert_uint_eq(state.times, 1);
    ck_assert_uint_eq(state.total_ns, 6000 * MS);
    ck_assert_int_eq(overload_update(&state, 900, 0, 7001 * MS), OVERLOAD_ENTERED);
    ck_assert_uint_eq(overload_shedding(&state), 1u << SHED_ENCRYPTED); /* begins with the first class again */
}
END_TEST

START_TEST(without_classes_it_is_told_and_nothing_is_shed)
{
    state.options.class_count = 0;
    ck_assert_int_eq(overload_update(&state, 900, 0, 1000 * MS), OVERLOAD_ENTERED);
    ck_assert_int_eq(overload_update(&state, 900, 0, 2000 * MS), OVERLOAD_SAME);
    ck_assert_uint_eq(overload_shedding(&state), 0);
}
END_TEST

START_TEST(other_settings_hold_at_once)
{
    struct overload_options options;

    ck_assert_int_eq(overload_update(&state, 900, 0, 1000 * MS), OVERLOAD_ENTERED);
    ck_assert_int_eq(overload_update(&state, 900, 0, 1050 * MS), OVERLOAD_WIDENED);
    overload_options_default(&options);
    overload_set_options(&state, &options);
    ck_assert_uint_eq(overload_shedding(&state), 1u << SHED_ENCRYPTED);
    options.enabled = false;
    overload_set_options(&state, &options);
    ck_assert_int_eq(overload_update(&state, 900, 0, 1100 * MS), OVERLOAD_LEFT);
    ck_assert_int_eq(overload_update(&state, 1000, 0, 1200 * MS), OVERLOAD_SAME);
}
END_TEST

START_TEST(the_configuration_says_the_order)
{
    struct overload_options options;

    rig_configure_applications(
        "overload:\n  queue-fill: 80\n  queue-age: 250\n  bulk-size: 1 MiB\n  shed: [bulk, encrypted, bulk]\n");
    overload_options_read(rig_config, &options);
    ck_assert(options.enabled);
    ck_assert_uint_eq(options.fill_permille, 800);
    ck_assert_uint_eq(options.age_ns, 250 * MS);
    ck_assert_uint_eq(options.limits.bulk_bytes, 1 << 20);
    ck_assert_uint_eq(options.class_count, 2);
    ck_assert_uint_eq(options.classes[0], SHED_BULK);
    ck_assert_uint_eq(options.classes[1], SHED_ENCRYPTED);
    app_options_clear(&rig.options.app);
    rig_configure_applications("overload:\n  enabled: no\n  shed: []\n");
    overload_options_read(rig_config, &options);
    ck_assert(!options.enabled);
    ck_assert_uint_eq(options.class_count, 0);
    app_options_clear(&rig.options.app);
    config_free(rig_config);
}
END_TEST

/* --- Flows ---------------------------------------------------------------------------------------- */

#define EVIL "drop tcp any any -> any any (content:\"EVIL\"; sid:1;)\n"

static void shed_only(enum shed_class class)
{
    rig.pipeline.shedding = 1u << class;
}

static uint64_t shed_count(enum shed_class class)
{
    return rig.pipeline.counters.shed[class];
}

static uint64_t bypasses(void)
{
    return policy_counters(rig.pipeline.policy)->exceptions[EXCEPTION_OVERLOAD][EXCEPTION_BYPASS];
}

START_TEST(without_overload_nothing_is_shed)
{
    rig.options.overload.limits.bulk_bytes = 1;
    rig_open(EVIL);
    rig_handshake();
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.flow->state, FLOW_ESTABLISHED);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
}
END_TEST

START_TEST(an_established_flow_is_shed_and_says_so)
{
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_ESTABLISHED);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_uint_eq(rig.packet.flow->exceptions[EXCEPTION_OVERLOAD], EXCEPTION_BYPASS + 1);
    ck_assert_uint_eq(shed_count(SHED_ESTABLISHED), 1);
    ck_assert_uint_eq(bypasses(), 1);
    rig.pipeline.shedding = 0; /* permanently */
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_uint_eq(bypasses(), 1);
}
END_TEST

/* If flows are offloaded, the packet that sheds a flow also offloads it. */
START_TEST(the_kernel_gets_what_is_shed)
{
    rig.options.offload.accept = true;
    rig_open(EVIL);
    rig_handshake();
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    shed_only(SHED_ESTABLISHED);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_ACCEPT);
    ck_assert_uint_eq(rig.pipeline.counters.offloaded_accept, 1);
}
END_TEST

/* The packet with which a flow is shed is still inspected. */
START_TEST(the_packet_at_hand_is_still_inspected)
{
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_ESTABLISHED);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert(rig.packet.flow->flags & FLOW_DROPPED);
    ck_assert_uint_eq(shed_count(SHED_ESTABLISHED), 0);
}
END_TEST

START_TEST(what_a_rule_has_met_stays_inspected)
{
    rig_open(EVIL "alert tcp any any -> any any (content:\"strange\"; noalert; sid:2;)");
    rig_handshake();
    rig_send(RIG_CLIENT, "strange");
    shed_only(SHED_ESTABLISHED);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.flow->state, FLOW_ESTABLISHED);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
}
END_TEST

START_TEST(bulk_is_more_than_so_much)
{
    rig.options.overload.limits.bulk_bytes = 5000;
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_BULK);
    rig_send_filler(RIG_CLIENT, 2000);
    ck_assert_int_eq(rig.packet.flow->state, FLOW_ESTABLISHED);
    rig_send_filler(RIG_SERVER, 3000);
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_uint_eq(shed_count(SHED_BULK), 1);
    ck_assert_uint_eq(shed_count(SHED_ESTABLISHED), 0);
}
END_TEST

/* Flows beyond the stream depth are bulk, too. */
START_TEST(bulk_past_the_depth)
{
    rig.options.overload.limits.bulk_bytes = 50000;
    rig.options.stream.depth = 10000;
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_BULK);
    for (int i = 0; i < 40; i++) {
        rig_send_filler(RIG_SERVER, 1400);
        rig_acknowledge(RIG_CLIENT);
    }
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_uint_eq(shed_count(SHED_BULK), 1);
}
END_TEST

/* Bytes after a gap are not inspected yet, so the flow must not be shed. */
START_TEST(a_stream_with_a_hole_waits)
{
    rig.options.overload.limits.bulk_bytes = 1000;
    rig_open(EVIL);
    rig_handshake();
    rig_send_filler(RIG_CLIENT, 900);
    shed_only(SHED_BULK);
    rig.next[RIG_CLIENT] += 2;
    rig_send(RIG_CLIENT, "IL and more words");
    ck_assert_int_eq(rig.packet.flow->state, FLOW_ESTABLISHED);
    rig.next[RIG_CLIENT] -= 2 + 17;
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EV"), "1");
}
END_TEST

START_TEST(an_encrypted_flow_is_shed_when_it_is_encrypted)
{
    static const char encrypted[] = "\x17\x03\x03\x00\x0dsecretsecrets";
    static struct bytes bytes, extensions, message;

    rig_open(EVIL "alert tcp any any -> any any (tls.sni; content:\"www\"; noalert; sid:2;)");
    shed_only(SHED_ENCRYPTED);
    rig_handshake();
    put_sni(&extensions, "www.example.com");
    put_client_hello(&message, 0x0303, "1301", &extensions);
    put_records(&bytes, 22, 0x0303, &message, 16384);
    rig_send_bytes(RIG_CLIENT, bytes.at, bytes.length);
    extensions.length = message.length = bytes.length = 0;
    put_extension(&extensions, 43, "\x03\x04", 2);
    put_server_hello(&message, 0x0303, "", 0x1301, &extensions);
    put_records(&bytes, 22, 0x0303, &message, 16384);
    rig_send_bytes(RIG_SERVER, bytes.at, bytes.length);
    ck_assert_uint_eq(shed_count(SHED_ENCRYPTED), 0);
    for (int i = 0; i < 2; i++) {
        rig_send_bytes(RIG_CLIENT, encrypted, 18);
        rig_send_bytes(RIG_SERVER, encrypted, 18);
    }
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_uint_eq(shed_count(SHED_ENCRYPTED), 1);
}
END_TEST

START_TEST(plain_flows_are_not_encrypted)
{
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_ENCRYPTED);
    for (int i = 0; i < 10; i++)
        rig_send_filler(RIG_SERVER, 1400);
    ck_assert_int_eq(rig.packet.flow->state, FLOW_ESTABLISHED);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
}
END_TEST

/* The response to the first request is small; that to the second one is large and incomplete. */
START_TEST(who_carries_a_large_file_is_shed)
{
    rig.options.overload.limits.file_bytes = 3000;
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_FILES);
    rig_send(RIG_CLIENT, "GET /one HTTP/1.1\r\nHost: x\r\n\r\n");
    rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 2500\r\n\r\n");
    rig_send_filler(RIG_SERVER, 2500);
    rig_send(RIG_CLIENT, "GET /two HTTP/1.1\r\nHost: x\r\n\r\n");
    rig_send(RIG_SERVER, "HTTP/1.1 200 OK\r\nContent-Length: 50000\r\n\r\n");
    rig_send_filler(RIG_SERVER, 2000);
    ck_assert_int_eq(rig.packet.flow->state, FLOW_ESTABLISHED);
    rig_send_filler(RIG_SERVER, 1001);
    ck_assert_int_eq(rig.packet.flow->state, FLOW_BYPASSED);
    ck_assert_uint_eq(shed_count(SHED_FILES), 1);
}
END_TEST

START_TEST(new_flows_are_treated_by_their_policy)
{
    static const struct {
        enum exception_policy policy;
        bool dropped, inspected;
    } rows[] = {
        { EXCEPTION_IGNORE, false, true },      { EXCEPTION_DROP_FLOW, true, false },
        { EXCEPTION_DROP_PACKET, true, false }, { EXCEPTION_PASS_FLOW, false, false },
        { EXCEPTION_BYPASS, false, false },
    };

    rig.options.policy.exceptions[EXCEPTION_OVERLOAD] = rows[_i].policy;
    rig_open(EVIL);
    shed_only(SHED_NEW);
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0);
    ck_assert_int_eq(rig.packet.verdict, rows[_i].dropped ? VERDICT_DROP : VERDICT_ACCEPT);
    ck_assert_int_eq(rig.packet.drop_reason == DROP_REASON_OVERLOAD, rows[_i].dropped);
    ck_assert_uint_eq(shed_count(SHED_NEW), 1);
    rig_segment(RIG_CLIENT, TCP_SYN, -1, NULL, 0); /* a new connection */
    ck_assert_int_eq(rig.packet.verdict, rows[_i].dropped ? VERDICT_DROP : VERDICT_ACCEPT);
    ck_assert_uint_eq(shed_count(SHED_NEW), 1);
    if (rows[_i].dropped)
        return;
    rig.pipeline.shedding = 0;
    rig_handshake();
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), rows[_i].inspected ? "1" : "");
}
END_TEST

START_TEST(a_flow_that_is_there_is_not_new)
{
    rig.options.policy.exceptions[EXCEPTION_OVERLOAD] = EXCEPTION_DROP_FLOW;
    rig_open(EVIL);
    rig_handshake();
    shed_only(SHED_NEW);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
    ck_assert_uint_eq(shed_count(SHED_NEW), 0);
}
END_TEST

/* --- A worker's receives -------------------------------------------------------------------------- */

struct queue_of_test {
    struct capture capture;
    struct capture_counters counters;
    struct queue_level level;
    unsigned looks;
};

static const struct capture_counters *test_counters(const struct capture *capture)
{
    return &((const struct queue_of_test *)capture)->counters;
}

static int test_level(struct capture *capture, struct queue_level *out)
{
    struct queue_of_test *queue = (struct queue_of_test *)capture;

    queue->looks++;
    *out = queue->level;
    return 0;
}

static const struct capture_ops test_ops = { .name = "test", .counters = test_counters, .level = test_level };
static struct queue_of_test source;
static struct queue_watch watch;
static uint64_t none_shed[SHED_CLASSES];

static void open_watch(void)
{
    memset(&source, 0, sizeof(source));
    memset(&watch, 0, sizeof(watch));
    source.capture.ops = &test_ops;
    source.level = (struct queue_level){ .length = 1000, .buffer = 1 << 20, .has_sequence = true };
    overload_options_default(&watch.overload.options);
    watch.begun = true;
    ck_assert_int_eq(ring_new(&watch.notices, 32 << 10), 0);
}

static void close_watch(void)
{
    ring_free(watch.notices);
}

/* Receives packets with ids `first` to `last`, with verdicts a millisecond later. Returns the classes that are shed
 * then. */
static unsigned receive(uint32_t first, uint32_t last, uint64_t receive_ns, uint64_t at_ns)
{
    struct packet one = { .meta.id = first }, other = { .meta.id = last };
    struct packet *const batch[] = { &one, &other };

    queue_watch_receiving(&watch, receive_ns);
    queue_watch_received(&watch, &source.capture, batch, 2, at_ns);
    return queue_watch_update(&watch, 2, none_shed, at_ns + MS);
}

START_TEST(an_idle_queue_has_young_packets_and_is_not_looked_at)
{
    receive(1, 2, 1000 * MS, 1000 * MS);
    receive(3, 4, 1001 * MS, 1200 * MS); /* the receive slept until they arrived */
    ck_assert_uint_eq(watch.ages.last_ns,
                      2 * MS); /* at most a millisecond since the last receive, and one until the verdict */
    ck_assert_uint_eq(source.looks, 0);
}
END_TEST

/* A receive waits at most 200 ms. If it took seconds, the worker was stopped, and the packets may have waited all the
 * time. */
START_TEST(a_worker_that_was_stopped_hides_no_age)
{
    receive(1, 2, 1000 * MS, 1000 * MS);
    source.level.waiting = 2;
    source.level.id_sequence = 4;
    queue_watch_receiving(&watch, 1001 * MS);
    queue_watch_received(&watch, &source.capture, NULL, 0,
                         6000 * MS); /* the worker was stopped in the receive, which a signal interrupted */
    queue_watch_update(&watch, 0, none_shed, 6000 * MS);
    receive(3, 4, 6000 * MS, 6000 * MS);
    ck_assert_uint_ge(watch.ages.max_ns, 5000 * MS);
}
END_TEST

START_TEST(a_worker_without_cpu_sheds_nothing)
{
    for (uint32_t i = 0; i < 4; i++)
        ck_assert_uint_eq(receive(1 + 2 * i, 2 + 2 * i, (1001 + 900 * i) * MS, (1900 + 900 * i) * MS), 0);
    ck_assert_uint_ge(watch.ages.max_ns, 700 * MS);
    ck_assert_uint_eq(watch.overload.times, 0);
}
END_TEST

START_TEST(a_worker_that_was_stopped_while_nothing_came_has_young_packets)
{
    receive(1, 2, 1000 * MS, 1000 * MS);
    source.level.id_sequence = 2;
    queue_watch_receiving(&watch, 1001 * MS);
    queue_watch_received(&watch, &source.capture, NULL, 0, 6000 * MS);
    queue_watch_update(&watch, 0, none_shed, 6000 * MS);
    receive(3, 4, 6000 * MS, 6001 * MS);
    ck_assert_uint_le(watch.ages.max_ns, 10 * MS);
}
END_TEST

START_TEST(a_queue_that_is_never_empty_is_looked_at_now_and_then)
{
    source.counters.full_batches = 1;
    source.level.waiting = 100;
    source.level.id_sequence = 101;
    receive(1, 2, 1000 * MS, 1000 * MS);
    ck_assert_uint_eq(source.looks, 1);
    ck_assert_uint_eq(watch.fill_permille, 100);
    source.counters.full_batches = 2;
    receive(3, 4, 1001 * MS, 1001 * MS);
    ck_assert_uint_eq(source.looks, 1);
    source.counters.full_batches = 3;
    source.level.id_sequence = 201;
    receive(102, 103, 1010 * MS, 1010 * MS);
    ck_assert_uint_eq(source.looks, 2);
    ck_assert_uint_ge(watch.ages.last_ns,
                      10 * MS); /* arrived after packet 101, which was the last one ten milliseconds earlier */
    ck_assert_uint_le(watch.ages.last_ns, 11 * MS);
}
END_TEST

START_TEST(a_full_socket_counts_as_well)
{
    source.counters.full_batches = 1;
    source.level.waiting = 10;
    source.level.buffered = 600 << 10;
    ck_assert_uint_eq(receive(1, 2, 1000 * MS, 1000 * MS), 1u << SHED_ENCRYPTED);
    ck_assert_uint_eq(watch.fill_permille, 585);
}
END_TEST

START_TEST(main_is_told_what_was_shed)
{
    const struct overload_notice *notice;
    size_t size;

    source.counters.full_batches = 1;
    source.level.waiting = 700;
    none_shed[SHED_ENCRYPTED] = 5;
    ck_assert_uint_eq(receive(1, 2, 1000 * MS, 1000 * MS), 1u << SHED_ENCRYPTED);
    notice = ring_peek(watch.notices, &size);
    ck_assert_ptr_nonnull(notice);
    ck_assert_int_eq(notice->change, OVERLOAD_ENTERED);
    ck_assert_uint_eq(notice->fill_permille, 700);
    ck_assert_uint_eq(notice->shed[SHED_ENCRYPTED], 0);
    ring_release(watch.notices);
    none_shed[SHED_ENCRYPTED] = 12;
    ck_assert_uint_eq(receive(3, 4, 1010 * MS, 1010 * MS), 0); /* no waiting packets, but the overload has not ended */
    ck_assert(watch.overload.active);
    ck_assert_ptr_null(ring_peek(watch.notices, &size));
    for (uint32_t i = 0; i < 5; i++)
        ck_assert_uint_eq(receive(5 + 2 * i, 6 + 2 * i, (1011 + 200 * i) * MS, (1200 + 200 * i) * MS), 0);
    ck_assert_uint_eq(receive(15, 16, 2001 * MS, 2100 * MS), 0);
    notice = ring_peek(watch.notices, &size);
    ck_assert_ptr_nonnull(notice);
    ck_assert_int_eq(notice->change, OVERLOAD_LEFT);
    ck_assert_uint_eq(notice->shed[SHED_ENCRYPTED], 7);
    ck_assert_uint_eq(notice->duration_ns, 1100 * MS);
    memset(none_shed, 0, sizeof(none_shed));
}
END_TEST

/* Packets that waited before the worker started are no overload, unless waiting continues. */
START_TEST(a_backlog_at_the_start_is_none)
{
    watch.begun = false;
    source.counters.full_batches = 1;
    source.level.waiting = 900;
    ck_assert_uint_eq(receive(1, 2, 1000 * MS, 1000 * MS), 0);
    source.counters.full_batches = 2;
    ck_assert_uint_eq(receive(3, 4, 3900 * MS, 3900 * MS), 0);
    source.counters.full_batches = 3;
    ck_assert_uint_eq(receive(5, 6, 4000 * MS, 4000 * MS), 1u << SHED_ENCRYPTED);
}
END_TEST

START_TEST(after_the_backlog_it_is)
{
    watch.begun = false;
    source.level.waiting = 900;
    ck_assert_uint_eq(receive(1, 2, 1000 * MS, 1000 * MS), 0); /* all packets that waited */
    source.counters.full_batches = 1;
    ck_assert_uint_eq(receive(3, 4, 1010 * MS, 1010 * MS), 1u << SHED_ENCRYPTED);
}
END_TEST

START_TEST(the_kernels_time_goes_ahead)
{
    struct packet pkt = { .meta.id = 9, .flags = PACKET_KERNEL_TIME };
    struct packet *const batch[] = { &pkt };
    uint64_t now_ns = clock_realtime_ns();

    pkt.time_ns = now_ns - 3000 * MS;
    queue_watch_receiving(&watch, 1000 * MS);
    queue_watch_received(&watch, &source.capture, batch, 1, 1000 * MS);
    ck_assert_uint_ge(watch.oldest_ns, 3000 * MS);
    ck_assert_uint_lt(watch.oldest_ns, 50000 * MS);
    pkt.time_ns = 5; /* not from the clock of the worker */
    queue_watch_received(&watch, &source.capture, batch, 1, 1000 * MS);
    ck_assert_uint_lt(watch.oldest_ns, 3000 * MS);
}
END_TEST

static TCase *case_of(const char *name)
{
    return tcase_create(name);
}

static Suite *make_suite(void)
{
    Suite *suite = suite_create("overload");
    TCase *age = case_of("age"), *states = case_of("state"), *flows = case_of("flows"), *receives = case_of("receives");
    TCase *settings = case_of("settings");

    tcase_add_test(age, nothing_is_known_at_first);
    tcase_add_test(age, an_age_lies_between_two_marks);
    tcase_add_test(age, ids_begin_again);
    tcase_add_test(age, sleeping_is_not_waiting);
    tcase_add_test(age, marks_are_bounded);
    tcase_add_test(age, lost_ids_do_no_harm);
    tcase_add_test(age, percentiles);
    tcase_add_test(age, buckets_hold_what_they_say);
    tcase_add_checked_fixture(states, open_state, NULL);
    tcase_add_test(states, a_full_queue_is_overload_at_once);
    tcase_add_test(states, old_packets_are_overload_when_it_goes_on);
    tcase_add_test(states, classes_follow_each_other_while_it_lasts);
    tcase_add_test(states, it_ends_below_half_for_a_second);
    tcase_add_test(states, without_classes_it_is_told_and_nothing_is_shed);
    tcase_add_test(states, other_settings_hold_at_once);
    tcase_add_test(settings, the_configuration_says_the_order);
    tcase_add_checked_fixture(flows, rig_setup_applications, rig_close_applications);
    tcase_add_test(flows, without_overload_nothing_is_shed);
    tcase_add_test(flows, an_established_flow_is_shed_and_says_so);
    tcase_add_test(flows, the_kernel_gets_what_is_shed);
    tcase_add_test(flows, the_packet_at_hand_is_still_inspected);
    tcase_add_test(flows, what_a_rule_has_met_stays_inspected);
    tcase_add_test(flows, bulk_is_more_than_so_much);
    tcase_add_test(flows, bulk_past_the_depth);
    tcase_add_test(flows, a_stream_with_a_hole_waits);
    tcase_add_test(flows, an_encrypted_flow_is_shed_when_it_is_encrypted);
    tcase_add_test(flows, plain_flows_are_not_encrypted);
    tcase_add_test(flows, who_carries_a_large_file_is_shed);
    tcase_add_loop_test(flows, new_flows_are_treated_by_their_policy, 0, 5);
    tcase_add_test(flows, a_flow_that_is_there_is_not_new);
    tcase_add_checked_fixture(receives, open_watch, close_watch);
    tcase_add_test(receives, an_idle_queue_has_young_packets_and_is_not_looked_at);
    tcase_add_test(receives, a_worker_that_was_stopped_hides_no_age);
    tcase_add_test(receives, a_worker_without_cpu_sheds_nothing);
    tcase_add_test(receives, a_worker_that_was_stopped_while_nothing_came_has_young_packets);
    tcase_add_test(receives, a_queue_that_is_never_empty_is_looked_at_now_and_then);
    tcase_add_test(receives, a_full_socket_counts_as_well);
    tcase_add_test(receives, main_is_told_what_was_shed);
    tcase_add_test(receives, a_backlog_at_the_start_is_none);
    tcase_add_test(receives, after_the_backlog_it_is);
    tcase_add_test(receives, the_kernels_time_goes_ahead);
    suite_add_tcase(suite, age);
    suite_add_tcase(suite, states);
    suite_add_tcase(suite, settings);
    suite_add_tcase(suite, flows);
    suite_add_tcase(suite, receives);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());
    int failed;

    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
