/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The repeat guard: detection of looping packets, which come back from REPEAT without the mark. */
#include <stdlib.h>

#include "nfqueue_rig.h"

static void send_text(struct rig *rig, uint32_t id, const char *text)
{
    struct message m;

    packet_message(&m, id, 0, text, strlen(text));
    queue_rig_send(rig, &m);
}

static struct nfqueue_options repeat_options(uint32_t limit)
{
    struct nfqueue_options options = options_for(-1);

    options.mode = QUEUE_REPEAT;
    options.mark = options.mark_mask = 1;
    options.repeat_limit = limit;
    options.batch = 4;
    options.length = 16;
    return options;
}

/* Receives all packets; returns for each one 'L' (looping) or '.'. */
static const char *take_all(struct rig *rig)
{
    static char text[CAPTURE_MAX_BATCH + 1];
    int count = queue_rig_receive(rig);

    ck_assert_int_ge(count, 0);
    for (int i = 0; i < count; i++)
        text[i] = rig->batch[i]->flags & PACKET_LOOPING ? 'L' : '.';
    text[count] = '\0';
    ck_assert_int_eq(capture_send_verdicts(rig->capture, rig->batch, (size_t)count), 0);
    return text;
}

START_TEST(a_packet_in_circles_is_found)
{
    char text[TEXT_SIZE];
    struct rig rig;
    uint32_t id = 1;

    queue_rig_open_with(&rig, repeat_options(3), 0);
    for (int i = 0; i < 4; i++, id++) { /* received once, then repeated three times */
        send_text(&rig, id, "circle");
        ck_assert_str_eq(take_all(&rig), ".");
        ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
        ck_assert_msg(strstr(text, "repeat mark 0x1") != NULL, "%s", text);
    }
    send_text(&rig, id++, "other");
    send_text(&rig, id++, "circle");
    ck_assert_str_eq(take_all(&rig), ".L");
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_msg(strstr(text, "accept mark 0x1") != NULL, "%s", text);
    ck_assert_uint_eq(capture_counters(rig.capture)->looping, 1);
    queue_rig_close(&rig);
}
END_TEST

/* An equal packet that arrives after the queue was empty is a new packet. */
START_TEST(equal_packets_one_by_one_are_none)
{
    struct rig rig;
    uint32_t id = 1;

    queue_rig_open_with(&rig, repeat_options(3), 0);
    for (int i = 0; i < 50; i++) {
        send_text(&rig, id++, "heartbeat");
        ck_assert_str_eq(take_all(&rig), ".");
        ck_assert_str_eq(take_all(&rig), ""); /* the queue is empty */
    }
    for (int i = 0; i < 50; i++) { /* the same with other packets in between, which fill the batch */
        send_text(&rig, id++, "heartbeat");
        send_text(&rig, id++, "and more");
        ck_assert_str_eq(take_all(&rig), "..");
        send_text(&rig, id++, "something else");
        ck_assert_str_eq(take_all(&rig), ".");
    }
    for (int i = 0; i < 3; i++, id++) /* several equal packets at once are different packets */
        send_text(&rig, id, "heartbeat");
    ck_assert_str_eq(take_all(&rig), "...");
    ck_assert_uint_eq(capture_counters(rig.capture)->looping, 0);
    queue_rig_close(&rig);
}
END_TEST

/* In a queue that is never empty, a looping packet comes back behind the waiting ones, after at most a queue length. */
START_TEST(circles_in_a_full_queue)
{
    struct rig rig;
    uint32_t id = 1;
    unsigned looping = 0;

    queue_rig_open_with(&rig, repeat_options(3), 0);
    for (int i = 0; i < 4; i++) /* eight packets always wait */
        send_text(&rig, id++, "first");
    for (int i = 0; i < 4; i++)
        send_text(&rig, id++, "second");
    for (unsigned round = 0; round < 20; round++) {
        send_text(&rig, id++, "circle");
        for (int i = 0; i < 3; i++, id++) {
            struct message m;

            packet_message(&m, id, 0, &id, sizeof(id)); /* all packets differ */
            queue_rig_send(&rig, &m);
        }
        looping += strchr(take_all(&rig), 'L') != NULL;
    }
    ck_assert_uint_gt(looping, 10);
    queue_rig_close(&rig);
}
END_TEST

START_TEST(circles_without_a_limit)
{
    struct rig rig;

    queue_rig_open_with(&rig, repeat_options(0), 0);
    for (uint32_t id = 1; id < 200; id++) {
        send_text(&rig, id, "circle");
        ck_assert_str_eq(take_all(&rig), ".");
    }
    queue_rig_close(&rig);
}
END_TEST

/* More looping packets than table entries: all are detected, but not at once. */
START_TEST(many_circles)
{
    enum { CIRCLES = 200, LIMIT = 3 };
    bool found[CIRCLES] = { false };
    struct nfqueue_options options = repeat_options(LIMIT);
    unsigned left = CIRCLES;
    uint32_t id = 1;
    struct rig rig;

    options.batch = CAPTURE_MAX_BATCH;
    options.length = 64;
    queue_rig_open_with(&rig, options, 0);
    for (int round = 0; round < 60 && left > 0; round++) {
        for (uint32_t i = 0; i < CIRCLES; i++) {
            struct message m;

            if (found[i])
                continue;
            packet_message(&m, id++, 0, &i, sizeof(i));
            queue_rig_send(&rig, &m);
        }
        int count = queue_rig_receive(&rig);

        ck_assert_int_eq(count, (int)left);
        for (int i = 0; i < count; i++) {
            uint32_t which;

            memcpy(&which, rig.batch[i]->data, sizeof(which));
            found[which] = rig.batch[i]->flags & PACKET_LOOPING;
            left -= found[which];
        }
        ck_assert_int_eq(capture_send_verdicts(rig.capture, rig.batch, (size_t)count), 0);
        char text[TEXT_SIZE];
        queue_rig_sent(&rig, text);
    }
    ck_assert_uint_eq(left, 0);
    queue_rig_close(&rig);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("capture_repeat");
    TCase *tc = tcase_create("circles");

    tcase_add_test(tc, a_packet_in_circles_is_found);
    tcase_add_test(tc, equal_packets_one_by_one_are_none);
    tcase_add_test(tc, circles_in_a_full_queue);
    tcase_add_test(tc, circles_without_a_limit);
    tcase_add_test(tc, many_circles);
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
