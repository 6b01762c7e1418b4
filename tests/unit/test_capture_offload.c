/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Verdicts that offload the rest of a connection. */
#include "nfqueue_rig.h"

#include <linux/netfilter/nfnetlink_conntrack.h>
#include <stdlib.h>

enum { MAX_ITEMS = 8 };

enum action { END, PASS, DROP, PASS_ALL, DROP_ALL, REPLACE_ALL, PASS_ACKNOWLEDGMENTS, QUEUE_ALL, DROP_AND_QUEUE };

static const struct {
    enum queue_offload how;
    enum queue_verdict_mode mode;
    bool behind; /* the chain that saves the mark also drops */
    struct {
        enum action action;
        uint32_t mark; /* mark of the packet */
    } items[MAX_ITEMS];
    const char *sent;
    uint64_t accepted, dropped; /* number of offloaded connections */
} cases[] = {
    /* offload is off */
    { QUEUE_OFFLOAD_NONE, .items = { { PASS_ALL }, { DROP_ALL } }, .sent = "single 2 drop; single 1 accept" },
    /* by NFQA_CT in the verdict: one message for each packet */
    { QUEUE_OFFLOAD_CONNECTION, .items = { { PASS }, { PASS_ALL, 7 }, { PASS }, { PASS } },
      .sent = "single 1 accept; single 2 accept connection 0x10/0x30; batch 4 accept", .accepted = 1 },
    { QUEUE_OFFLOAD_CONNECTION, .items = { { PASS_ALL }, { PASS_ALL } },
      .sent = "single 1 accept connection 0x10/0x30; single 2 accept connection 0x10/0x30", .accepted = 2 },
    { QUEUE_OFFLOAD_CONNECTION, .items = { { PASS }, { DROP_ALL }, { DROP }, { PASS } },
      .sent = "single 2 drop connection 0x40/0xc0; single 3 drop; batch 4 accept", .dropped = 1 },
    { QUEUE_OFFLOAD_CONNECTION, .items = { { REPLACE_ALL } },
      .sent = "single 1 accept connection 0x10/0x30 payload 5 'hello'", .accepted = 1 },
    { QUEUE_OFFLOAD_CONNECTION, QUEUE_REPEAT, .items = { { PASS_ALL } },
      .sent = "single 1 repeat mark 0x1 connection 0x10/0x30", .accepted = 1 },
    { QUEUE_OFFLOAD_CONNECTION, QUEUE_ROUTE, .items = { { PASS_ALL }, { DROP_ALL } },
      .sent = "single 1 0x00050003 connection 0x10/0x30; single 2 drop connection 0x40/0xc0", .accepted = 1,
      .dropped = 1 },
    /* the mark of acknowledgments is set and cleared independently of the others */
    { QUEUE_OFFLOAD_CONNECTION, .items = { { PASS }, { PASS_ACKNOWLEDGMENTS }, { QUEUE_ALL }, { PASS } },
      .sent = "single 1 accept; single 2 accept connection 0x100/0x300; single 3 accept connection 0x0/0x300; "
              "single 4 accept" },
    { QUEUE_OFFLOAD_CONNECTION, .items = { { DROP_AND_QUEUE }, { PASS_ACKNOWLEDGMENTS, 7 } },
      .sent = "single 1 drop connection 0x0/0x300; single 2 accept connection 0x100/0x300" },
    { QUEUE_OFFLOAD_CONNECTION, QUEUE_REPEAT, .items = { { PASS_ACKNOWLEDGMENTS } },
      .sent = "single 1 repeat mark 0x1 connection 0x100/0x300" },
    { QUEUE_OFFLOAD_PACKET_MARK, .items = { { PASS_ACKNOWLEDGMENTS }, { QUEUE_ALL } }, .sent = "batch 2 accept" },
    { QUEUE_OFFLOAD_NONE, .items = { { PASS_ACKNOWLEDGMENTS }, { DROP_AND_QUEUE } },
      .sent = "single 2 drop; single 1 accept" },
    /* by the packet's mark: packets with equal marks share a batch verdict */
    { QUEUE_OFFLOAD_PACKET_MARK, .items = { { PASS_ALL, 0x8000 }, { PASS_ALL, 0x8020 }, { PASS, 0x8000 } },
      .sent = "batch 2 accept mark 0x8010; single 3 accept", .accepted = 2 },
    { QUEUE_OFFLOAD_PACKET_MARK, .behind = true, .items = { { DROP_ALL, 5 }, { DROP }, { DROP_ALL, 5 } },
      .sent = "single 2 drop; batch 3 accept mark 0x45", .dropped = 2 },
    /* no chain drops marked packets, so the packet must be dropped here */
    { QUEUE_OFFLOAD_PACKET_MARK, .items = { { DROP_ALL } }, .sent = "single 1 drop" },
    /* the packet already has the mark, so the chain did not drop it */
    { QUEUE_OFFLOAD_PACKET_MARK, .behind = true, .items = { { DROP_ALL, 0x41 } }, .sent = "single 1 drop" },
    { QUEUE_OFFLOAD_PACKET_MARK, .behind = true, .items = { { DROP_ALL, 0xc1 } }, .sent = "single 1 accept mark 0x41",
      .dropped = 1 },
    /* a packet that is accepted for the chain to drop it does not get the mark or queue of accepted packets */
    { QUEUE_OFFLOAD_PACKET_MARK, QUEUE_REPEAT, .behind = true, .items = { { DROP_ALL }, { PASS_ALL } },
      .sent = "single 1 accept mark 0x40; single 2 repeat mark 0x11", .accepted = 1, .dropped = 1 },
    { QUEUE_OFFLOAD_PACKET_MARK, QUEUE_ROUTE, .behind = true, .items = { { DROP_ALL }, { PASS_ALL } },
      .sent = "single 1 accept mark 0x40; single 2 0x00050003 mark 0x10", .accepted = 1, .dropped = 1 },
};

static struct nfqueue_options options_of(int row)
{
    struct nfqueue_options options = options_for(-1);

    options.mode = cases[row].mode;
    if (options.mode == QUEUE_REPEAT)
        options.mark = options.mark_mask = 1;
    options.route_to = 5;
    options.offload = cases[row].how;
    options.offload_accept = 0x10;
    options.offload_accept_mask = 0x30;
    options.offload_drop = 0x40;
    options.offload_drop_mask = 0xc0;
    options.offload_acknowledge = 0x100;
    options.offload_acknowledge_mask = 0x300;
    options.offload_drop_by_rule = cases[row].behind;
    return options;
}

/* The supervisor has bound the queue, and the kernel granted NFQA_CFG_F_CONNTRACK, with which connections can be
 * marked. The capture clears the flag again, because no rule needs conntrack data. */
static void open_bound(struct rig *rig, struct nfqueue_options options)
{
    options.kept = true;
    queue_rig_open_with(rig, options, 0);
    nfqueue_confirm_bound(rig->capture, NFQA_CFG_F_CONNTRACK, false);
    expect_config(rig, SEQUENCE_CONNTRACK, 0, NFQA_CFG_F_CONNTRACK);
}

static void act(struct packet *pkt, enum action action)
{
    static const uint8_t data[] = "hello";

    pkt->verdict = action == DROP || action == DROP_ALL || action == DROP_AND_QUEUE ? VERDICT_DROP : VERDICT_ACCEPT;
    pkt->offload = action == DROP_ALL                                ? OFFLOAD_DROP
                   : action == PASS_ALL || action == REPLACE_ALL     ? OFFLOAD_ACCEPT
                   : action == PASS_ACKNOWLEDGMENTS                  ? OFFLOAD_ACKNOWLEDGMENTS
                   : action == QUEUE_ALL || action == DROP_AND_QUEUE ? OFFLOAD_QUEUE
                                                                     : OFFLOAD_NONE;
    if (action != REPLACE_ALL)
        return;
    pkt->new_data = data;
    pkt->new_length = 5;
}

START_TEST(verdicts_for_the_rest)
{
    const struct capture_counters *counters;
    char text[TEXT_SIZE];
    struct rig rig;
    int count = 0, dropped = 0;

    open_bound(&rig, options_of(_i));
    ck_assert_int_eq(nfqueue_offload(rig.capture), cases[_i].how);
    for (; count < MAX_ITEMS && cases[_i].items[count].action != END; count++)
        queue_rig_send_packet(&rig, (uint32_t)count + 1, cases[_i].items[count].mark);
    ck_assert_int_eq(queue_rig_receive(&rig), count);
    for (int i = 0; i < count; i++) {
        act(rig.batch[i], cases[_i].items[i].action);
        dropped += rig.batch[i]->verdict == VERDICT_DROP;
    }
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, (size_t)count), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, cases[_i].sent);
    counters = capture_counters(rig.capture);
    ck_assert_uint_eq(counters->offload_accept, cases[_i].accepted);
    ck_assert_uint_eq(counters->offload_drop, cases[_i].dropped);
    ck_assert_uint_eq(counters->dropped, (uint64_t)dropped); /* dropped by verdict or by the chain */
    ck_assert_uint_eq(counters->accepted + counters->repeated + counters->routed, (uint64_t)(count - dropped));
    queue_rig_close(&rig);
}
END_TEST

/* A whole batch of such verdicts fits into the buffer. */
START_TEST(a_whole_batch)
{
    struct nfqueue_options options = options_of(1);
    char text[TEXT_SIZE];
    struct rig rig;
    int count;

    options.batch = 64;
    options.mark = 1; /* the verdict also changes the packet's mark */
    options.mark_mask = 1;
    open_bound(&rig, options);
    ck_assert_int_eq(nfqueue_offload(rig.capture), QUEUE_OFFLOAD_CONNECTION);
    for (uint32_t i = 1; i <= 64; i++)
        queue_rig_send_packet(&rig, i, 0);
    count = queue_rig_receive(&rig);
    ck_assert_int_gt(count, 0);
    for (int i = 0; i < count; i++)
        act(rig.batch[i], REPLACE_ALL);
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, (size_t)count), 0);
    ck_assert_uint_ge(queue_rig_sent(&rig, text), 1);
    ck_assert_ptr_nonnull(strstr(text, "single 1 accept mark 0x1 connection 0x10/0x30 payload 5 'hello'"));
    queue_rig_close(&rig);
}
END_TEST

static const struct {
    enum queue_offload asked, got;
} settled[] = {
    { QUEUE_OFFLOAD_NONE, QUEUE_OFFLOAD_NONE },
    { QUEUE_OFFLOAD_AUTO, QUEUE_OFFLOAD_PACKET_MARK },
    { QUEUE_OFFLOAD_CONNECTION, QUEUE_OFFLOAD_NONE },
    { QUEUE_OFFLOAD_PACKET_MARK, QUEUE_OFFLOAD_PACKET_MARK },
};

/* For an adopted queue the features of the kernel are unknown and are not queried, so packets are marked. */
START_TEST(adopted_queues_mark_packets)
{
    struct nfqueue_options options = options_of(0);
    char text[TEXT_SIZE];
    struct rig rig;

    options.offload = settled[_i].asked;
    queue_rig_open_with(&rig, options, 0);
    ck_assert_int_eq(nfqueue_offload(rig.capture), settled[_i].got);
    ck_assert_uint_eq(nfqueue_flags(rig.capture), NFQA_CFG_F_GSO);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    queue_rig_close(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capture_offload");
    TCase *tcase = tcase_create("capture_offload");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_loop_test(tcase, verdicts_for_the_rest, 0, (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_test(tcase, a_whole_batch);
    tcase_add_loop_test(tcase, adopted_queues_mark_packets, 0, (int)(sizeof(settled) / sizeof(settled[0])));
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
