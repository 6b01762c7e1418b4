/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Acknowledgments that the kernel does not queue: when they are offloaded, when they are queued again, and that nothing
 * else changes for a connection whose acknowledgments are missed. */
#include "pipeline_rig.h"

#define EVIL "drop tcp any any -> any any (content:\"EVIL\"; sid:1;)\n"
#define NEEDS "alert tcp any any -> any any (flags:A; dsize:0; sid:2;)\n"

enum { KILO = 1024 };

static void setup(void)
{
    rig_setup();
    rig.options.offload.acknowledge = true;
}

static void open_rig(const char *rules)
{
    rig_open(rules);
    rig_handshake();
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
}

/* Opens a connection whose acknowledgments are offloaded. */
static void open_offloaded(const char *rules)
{
    open_rig(rules);
    rig_send(RIG_SERVER, "hello");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_ACKNOWLEDGMENTS);
    ck_assert_int_eq(rig.packet.flow->offload, OFFLOAD_ACKNOWLEDGMENTS);
    ck_assert_uint_eq(rig.pipeline.counters.offloaded_acknowledgments, 1);
}

START_TEST(off_by_default)
{
    rig.options.offload.acknowledge = false;
    open_rig(EVIL);
    for (int i = 0; i < 20; i++) {
        rig_send(RIG_SERVER, "hello");
        ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    }
    rig_close();
}
END_TEST

START_TEST(short_flows_are_not_marked)
{
    rig.options.offload.acknowledgment_packets = 6;
    open_rig(EVIL);
    rig_send(RIG_SERVER, "4");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    rig_send(RIG_CLIENT, "5");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    rig_send(RIG_SERVER, "6");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_ACKNOWLEDGMENTS);
    rig_close();
}
END_TEST

/* Before the server has sent a segment behind the handshake, its acknowledgments are needed. */
START_TEST(the_server_must_have_sent)
{
    open_rig(EVIL);
    rig_send(RIG_CLIENT, "GET");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    rig_acknowledge(RIG_SERVER);
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_ACKNOWLEDGMENTS);
    rig_send(RIG_CLIENT, "more");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE); /* unchanged */
    rig_acknowledge(RIG_SERVER);                        /* was queued before the mark: the mark is set again */
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_ACKNOWLEDGMENTS);
    ck_assert_uint_eq(rig.pipeline.counters.offloaded_acknowledgments, 1);
    rig_close();
}
END_TEST

START_TEST(a_close_ends_it)
{
    open_offloaded(EVIL);
    rig_segment(RIG_CLIENT, TCP_FIN | TCP_ACK, 0, NULL, 0);
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_QUEUE);
    ck_assert_int_eq(rig.packet.flow->offload, OFFLOAD_NONE);
    rig_acknowledge(RIG_SERVER);
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    rig_close();
}
END_TEST

START_TEST(a_drop_ends_it)
{
    open_offloaded(EVIL);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_QUEUE);
    rig_send(RIG_CLIENT, "more");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    rig_close();
}
END_TEST

START_TEST(rules_decide_after_a_reload)
{
    open_offloaded(EVIL);
    rig_reload(EVIL NEEDS);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_QUEUE);
    rig_send(RIG_SERVER, "words");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    ck_assert_str_eq(rig_acknowledge(RIG_CLIENT), "2");
    rig_reload(EVIL);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_ACKNOWLEDGMENTS);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
    rig_close();
}
END_TEST

START_TEST(firewall_rules_need_each_packet)
{
    rig.firewall = "accept:hook tcp:all any any -> any any (sid:10;)\n";
    open_rig(EVIL);
    rig_send(RIG_SERVER, "hello");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    rig_close();
}
END_TEST

/* A flow that was picked up may still have the mark. */
START_TEST(a_picked_up_flow_loses_the_mark)
{
    rig.options.stream.midstream = true;
    rig_open(EVIL);
    rig_send(RIG_CLIENT, "words");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_QUEUE);
    for (int i = 0; i < 5; i++) {
        rig_send(RIG_SERVER, "words");
        ck_assert_int_eq(rig.packet.offload, OFFLOAD_NONE);
    }
    rig_close();
}
END_TEST

/* Data is kept until it is acknowledged, so when much is kept, an acknowledgment is needed. */
START_TEST(kept_data_is_bounded)
{
    uint64_t queued = 0, skipped = 0;
    bool queues = false;

    rig.options.stream.depth = 0;
    open_offloaded(EVIL);
    for (int i = 0; i < 300; i++) {
        rig_send_filler(RIG_CLIENT, 4 * KILO);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
        queues = rig.packet.offload == OFFLOAD_QUEUE || (queues && rig.packet.offload == OFFLOAD_NONE);
        if (queues)
            rig_acknowledge(RIG_SERVER);
        queued += queues;
        skipped += !queues;
        queues &= rig.packet.offload != OFFLOAD_ACKNOWLEDGMENTS;
    }
    ck_assert_uint_gt(queued, 10);
    ck_assert_uint_gt(skipped, 5 * queued);
    for (size_t i = 0; i < stream_counter_count(); i++) {
        if (strcmp(stream_counter_name(i), "tcp.reassembly_memuse") == 0)
            ck_assert_uint_le(stream_counter_value(rig.pipeline.stream, i), 512 * KILO);
    }
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
    rig_close();
}
END_TEST

/* All data of the connection is beyond the window that was seen last. */
START_TEST(the_window_is_not_known)
{
    open_offloaded(EVIL);
    for (int i = 0; i < 40; i++) {
        rig_send_filler(RIG_CLIENT, 4 * KILO);
        ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    }
    rig_send(RIG_SERVER, "this acknowledges all of it");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(rig.packet.event_count, 0);
    ck_assert_str_eq(rig_send(RIG_CLIENT, "EVIL"), "1");
    rig_close();
}
END_TEST

/* The data of the first segment stays in force for retransmissions, as if it were never acknowledged. */
START_TEST(retransmissions_are_compared)
{
    rig.options.stream.overlap = STREAM_OVERLAP_REWRITE;
    open_offloaded(EVIL);
    rig_send(RIG_CLIENT, "good");
    rig_send(RIG_CLIENT, "more");
    rig_send_at(RIG_CLIENT, 0, "harm");
    ck_assert_ptr_nonnull(rig.packet.new_data);
    ck_assert_mem_eq(rig.packet.new_data + RIG_HEADERS, "good", 4);
    rig_close();
}
END_TEST

/* A keep-alive may have one arbitrary byte. The byte that it repeats may not have been acknowledged, as far as is
 * known. */
START_TEST(keepalives_pass)
{
    rig.options.stream.overlap = _i ? STREAM_OVERLAP_REWRITE : STREAM_OVERLAP_DROP;
    open_offloaded(EVIL);
    rig_send(RIG_CLIENT, "words");
    rig_segment(RIG_CLIENT, TCP_ACK, 4, "", 1);
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_int_eq(rig.packet.event_count, 0);
    ck_assert(!rig.packet.new_data || rig.packet.new_data[RIG_HEADERS] == 's');
    rig_close();
}
END_TEST

/* While data is missing, an acknowledgment could show that it is lost. */
START_TEST(missing_data_needs_acknowledgments)
{
    open_offloaded(EVIL);
    rig_send_at(RIG_CLIENT, 4, "IL");
    ck_assert_int_eq(rig.packet.offload, OFFLOAD_QUEUE);
    ck_assert_str_eq(rig_send_at(RIG_CLIENT, 0, "..EV"), "1");
    rig_close();
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("acknowledgments");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, off_by_default);
    tcase_add_test(tcase, short_flows_are_not_marked);
    tcase_add_test(tcase, the_server_must_have_sent);
    tcase_add_test(tcase, a_close_ends_it);
    tcase_add_test(tcase, a_drop_ends_it);
    tcase_add_test(tcase, rules_decide_after_a_reload);
    tcase_add_test(tcase, firewall_rules_need_each_packet);
    tcase_add_test(tcase, a_picked_up_flow_loses_the_mark);
    tcase_add_test(tcase, kept_data_is_bounded);
    tcase_add_test(tcase, the_window_is_not_known);
    tcase_add_test(tcase, retransmissions_are_compared);
    tcase_add_loop_test(tcase, keepalives_pass, 0, 2);
    tcase_add_test(tcase, missing_data_needs_acknowledgments);
    return rig_run(tcase, "pipeline_acknowledgments");
}
