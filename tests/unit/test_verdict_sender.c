/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdict sender: its verdicts are the same, in the same order, as without it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "nfqueue_rig.h"

enum { LARGE = 1400, SMALL = 60, BULK = 40, ROUNDS = 600 };

static void *run(void *capture)
{
    nfqueue_run_sender(capture);
    return NULL;
}

static pthread_t start(struct rig *rig)
{
    pthread_t thread;

    ck_assert_int_eq(nfqueue_add_sender(rig->capture), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, rig->capture), 0);
    return thread;
}

static void stop(struct rig *rig, pthread_t thread)
{
    nfqueue_stop_sender(rig->capture);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    queue_rig_close(rig);
}

static void send_packet(struct rig *rig, uint32_t id, size_t length)
{
    static const uint8_t payload[LARGE];
    struct message m;

    packet_message(&m, id, 0, payload, length);
    queue_rig_send(rig, &m);
}

/* Receives `count` packets, the last one with `id`, and sends the same verdict for all. */
static int pass(struct rig *rig, uint32_t id, uint32_t count, size_t length, enum verdict verdict)
{
    for (uint32_t i = 0; i < count; i++)
        send_packet(rig, id - count + 1 + i, length);
    ck_assert_int_eq(queue_rig_receive(rig), (int)count);
    for (uint32_t i = 0; i < count; i++)
        rig->batch[i]->verdict = verdict;
    return capture_send_verdicts(rig->capture, rig->batch, count);
}

static uint64_t given(const struct rig *rig)
{
    return capture_counters(rig->capture)->given_sends;
}

START_TEST(only_bulk_is_given_away)
{
    char text[TEXT_SIZE];
    struct rig rig;

    queue_rig_open(&rig);

    pthread_t thread = start(&rig);

    ck_assert_int_eq(pass(&rig, 40, BULK, SMALL, VERDICT_ACCEPT), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1); /* sent at once, by the worker */
    ck_assert_int_eq(pass(&rig, 45, 5, LARGE, VERDICT_ACCEPT), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_uint_eq(given(&rig), 0);
    ck_assert_int_eq(pass(&rig, 85, BULK, LARGE, VERDICT_ACCEPT), 0);
    ck_assert_uint_eq(given(&rig), 1);
    ck_assert_int_eq(nfqueue_wait_sent(rig.capture), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_str_eq(text, "batch 85 accept");
    ck_assert_int_eq(pass(&rig, 125, BULK, LARGE, VERDICT_DROP), 0); /* drops are sent by the worker */
    ck_assert_uint_eq(given(&rig), 1);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 1);
    ck_assert_uint_eq(capture_counters(rig.capture)->send_calls, 4);
    stop(&rig, thread);
}
END_TEST

static uint32_t random_state;

static uint32_t random_number(void)
{
    return random_state = random_state * 1664525 + 1013904223;
}

/* Processes rounds of packets, few or many, large or small, with some drops. Returns all messages that were sent. */
static char *judge_rounds(struct rig *rig, uint32_t seed)
{
    char *all = calloc(ROUNDS, 256), text[TEXT_SIZE];
    size_t used = 0;
    uint32_t id = 0;

    ck_assert_ptr_nonnull(all);
    random_state = seed;
    for (int round = 0; round < ROUNDS; round++) {
        int count = random_number() >> 31 ? BULK : 1 + (int)(random_number() >> 30);
        size_t length = random_number() >> 30 ? LARGE : SMALL;

        for (int i = 0; i < count; i++)
            send_packet(rig, ++id, length);
        ck_assert_int_eq(queue_rig_receive(rig), count);
        if (random_number() >> 30 == 0)
            rig->batch[random_number() % (unsigned)count]->verdict = VERDICT_DROP;
        ck_assert_int_eq(capture_send_verdicts(rig->capture, rig->batch, (size_t)count), 0);
        if (round % 8 == 7 || round == ROUNDS - 1) { /* the socket has room for so many messages */
            ck_assert_int_eq(nfqueue_wait_sent(rig->capture), 0);
            queue_rig_sent(rig, text);
            used += (size_t)snprintf(all + used, (size_t)ROUNDS * 256 - used, "%s; ", text);
        }
    }
    check_accounts(rig);
    return all;
}

START_TEST(verdicts_are_the_same_and_in_order)
{
    struct rig alone, with;

    queue_rig_open(&alone);
    queue_rig_open(&with);

    pthread_t thread = start(&with);
    char *expected = judge_rounds(&alone, (uint32_t)_i + 1), *got = judge_rounds(&with, (uint32_t)_i + 1);

    ck_assert_str_eq(got, expected);
    ck_assert_uint_gt(given(&with), ROUNDS / 8);
    ck_assert_uint_lt(given(&with), ROUNDS);
    ck_assert_uint_eq(given(&alone), 0);
    free(got);
    free(expected);
    queue_rig_close(&alone);
    stop(&with, thread);
}
END_TEST

/* More verdicts than there is room for: the worker waits, and none is lost. */
START_TEST(worker_waits_for_a_slow_sender)
{
    char text[TEXT_SIZE], expected[TEXT_SIZE] = "";
    pthread_t thread;
    struct rig rig;

    queue_rig_open(&rig);
    ck_assert_int_eq(nfqueue_add_sender(rig.capture), 0);
    for (uint32_t i = 1; i <= 16; i++) /* although the thread does not run yet */
        ck_assert_int_eq(pass(&rig, i * BULK, BULK, LARGE, VERDICT_ACCEPT), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 0);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, rig.capture), 0);
    for (uint32_t i = 17; i <= 100; i++)
        ck_assert_int_eq(pass(&rig, i * BULK, BULK, i % 2 ? LARGE : SMALL, VERDICT_ACCEPT), 0);
    ck_assert_int_eq(nfqueue_wait_sent(rig.capture), 0);
    for (uint32_t i = 1; i <= 100; i++)
        append_text(expected, "%sbatch %u accept", i > 1 ? "; " : "", i * BULK);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 100);
    ck_assert_str_eq(text, expected);
    stop(&rig, thread);
}
END_TEST

/* A failed send is reported once, with these verdicts, the next ones or when the worker waits for the sender. No batch
 * verdict may include its packets. */
START_TEST(failed_send_is_told)
{
    struct rig rig;

    queue_rig_open(&rig);

    pthread_t thread = start(&rig);

    for (uint32_t id = 1; id <= BULK; id++)
        send_packet(&rig, id, LARGE);
    ck_assert_int_eq(queue_rig_receive(&rig), BULK);
    shutdown(rig.kernel, SHUT_RDWR);

    int err = capture_send_verdicts(rig.capture, rig.batch, BULK);

    if (!err) /* the thread may have reported it already */
        err = nfqueue_wait_sent(rig.capture);
    ck_assert_int_eq(err, -EPIPE);
    ck_assert_int_eq(nfqueue_wait_sent(rig.capture), 0);
    ck_assert_uint_eq(capture_counters(rig.capture)->verdict_errors, 1);
    stop(&rig, thread);
}
END_TEST

/* A stopped sender sends its remaining verdicts first. */
START_TEST(nothing_is_left_at_the_end)
{
    char text[TEXT_SIZE];
    pthread_t thread;
    struct rig rig;

    queue_rig_open(&rig);
    ck_assert_int_eq(nfqueue_add_sender(rig.capture), 0);
    for (uint32_t i = 1; i <= 3; i++)
        ck_assert_int_eq(pass(&rig, i * BULK, BULK, LARGE, VERDICT_ACCEPT), 0);
    nfqueue_stop_sender(rig.capture);
    ck_assert_int_eq(pthread_create(&thread, NULL, run, rig.capture), 0);
    ck_assert_int_eq(pthread_join(thread, NULL), 0);
    ck_assert_uint_eq(queue_rig_sent(&rig, text), 3);
    ck_assert_str_eq(text, "batch 40 accept; batch 80 accept; batch 120 accept");
    queue_rig_close(&rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("verdict_sender");
    TCase *tcase = tcase_create("verdict_sender");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, only_bulk_is_given_away);
    tcase_add_loop_test(tcase, verdicts_are_the_same_and_in_order, 0, 4);
    tcase_add_test(tcase, worker_waits_for_a_slow_sender);
    tcase_add_test(tcase, failed_send_is_told);
    tcase_add_test(tcase, nothing_is_left_at_the_end);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
