/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Super-packets that are repeated for segmentation by the kernel: the queue's GSO flag, the verdicts, and the limits.
 */
#include <errno.h>
#include <stdlib.h>

#include "nfqueue_rig.h"

static void send_super_packet(struct rig *rig, uint32_t id)
{
    struct message m;

    packet_start(&m, NFPROTO_IPV4, id, 0x0800);
    add_u32(&m, NFQA_CAP_LEN, 150000);
    add_u32(&m, NFQA_SKB_INFO, NFQA_SKB_GSO);
    add_attribute(&m, NFQA_PAYLOAD, "the beginning", 13);
    message_finish(&m);
    queue_rig_send(rig, &m);
}

/* The flag is cleared once, before the first verdict; later packets get one batch verdict. */
START_TEST(segmented_super_packets)
{
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_packet(&rig, 1, 0);
    send_super_packet(&rig, 2);
    send_super_packet(&rig, 3);
    queue_rig_send_packet(&rig, 4, 0);
    queue_rig_send_packet(&rig, 5, 0);
    ck_assert_int_eq(queue_rig_receive(&rig), 5);
    ck_assert(!(rig.batch[0]->flags & PACKET_CAN_SEGMENT));
    for (int i = 1; i <= 2; i++) {
        ck_assert_uint_eq(rig.batch[i]->flags & (PACKET_CAN_SEGMENT | PACKET_TRUNCATED),
                          PACKET_CAN_SEGMENT | PACKET_TRUNCATED);
        rig.batch[i]->verdict = VERDICT_SEGMENT;
    }
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 5), 0);
    expect_config(&rig, SEQUENCE_GSO, 0, NFQA_CFG_F_GSO);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, "single 1 accept; single 2 repeat; single 3 repeat; batch 5 accept");
    ck_assert_uint_eq(capture_counters(rig.capture)->segmented, 2);
    check_accounts(&rig);
    queue_rig_close(&rig);
}
END_TEST

/* A super-packet that comes back unsegmented is repeated only as often as packets can have waited when the flag was
 * cleared. */
START_TEST(a_super_packet_that_is_not_segmented)
{
    struct nfqueue_options options = options_for(-1);
    char text[TEXT_SIZE];
    struct rig rig;
    uint32_t id = 1;

    options.length = 3;
    options.batch = 1;
    queue_rig_open_with(&rig, options, 0);
    for (; id <= 1 + options.length + options.batch; id++) {
        send_super_packet(&rig, id);
        ck_assert_int_eq(queue_rig_receive(&rig), 1);
        ck_assert(rig.batch[0]->flags & PACKET_CAN_SEGMENT);
        rig.batch[0]->verdict = VERDICT_SEGMENT;
        ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
        if (id == 1)
            expect_config(&rig, SEQUENCE_GSO, 0, NFQA_CFG_F_GSO);
        ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    }
    send_super_packet(&rig, id);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert(!(rig.batch[0]->flags & PACKET_CAN_SEGMENT));
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_close(&rig);
}
END_TEST

/* Super-packets stay whole if the kernel refuses to change the flag, or the queue does not have it. */
START_TEST(super_packets_stay_whole)
{
    struct nfqueue_options options = options_for(-1);
    struct rig rig;

    queue_rig_open(&rig);
    queue_rig_send_error(&rig, -EOPNOTSUPP, SEQUENCE_GSO);
    send_super_packet(&rig, 1);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert(!(rig.batch[0]->flags & PACKET_CAN_SEGMENT));
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 0);
    queue_rig_close(&rig);

    options.gso = false;
    queue_rig_open_with(&rig, options, 0);
    send_super_packet(&rig, 1);
    ck_assert_int_eq(queue_rig_receive(&rig), 1);
    ck_assert(!(rig.batch[0]->flags & PACKET_CAN_SEGMENT));
    ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, 1), 0);
    queue_rig_close(&rig);
}
END_TEST

/* The next reader sets the flag again, because the dead one may have cleared it. */
START_TEST(the_flag_is_set_for_the_next_reader)
{
    struct nfqueue_options options = options_for(-1);
    char text[TEXT_SIZE];
    struct rig rig;

    options.kept = true;
    queue_rig_open_with(&rig, options, 0);
    nfqueue_confirm_bound(rig.capture, NFQA_CFG_F_GSO, true);
    expect_config(&rig, SEQUENCE_GSO, NFQA_CFG_F_GSO, NFQA_CFG_F_GSO);
    nfqueue_confirm_bound(rig.capture, 0, true);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    queue_rig_close(&rig);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("capture_segment");
    TCase *tc = tcase_create("super-packets");

    tcase_add_test(tc, segmented_super_packets);
    tcase_add_test(tc, a_super_packet_that_is_not_segmented);
    tcase_add_test(tc, super_packets_stay_whole);
    tcase_add_test(tc, the_flag_is_set_for_the_next_reader);
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
