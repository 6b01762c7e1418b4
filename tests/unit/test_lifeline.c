/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/lifeline.h"

enum { SLOTS = 10000 };

START_TEST(messages_arrive_whole_and_in_order)
{
    struct lifeline_message message;
    char longer[2 * LIFELINE_TEXT_SIZE];
    int ends[2];

    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    ck_assert_int_eq(lifeline_pair(ends), 0);
    ck_assert_int_eq(lifeline_receive(ends[1], &message, 0), LIFELINE_NOTHING);
    ck_assert_int_eq(lifeline_send(ends[0], LIFELINE_SIGNAL, SIGHUP, NULL), 0);
    ck_assert_int_eq(lifeline_send(ends[0], LIFELINE_FAILED, -EIO, longer), 0);
    ck_assert_int_eq(lifeline_receive(ends[1], &message, -1), LIFELINE_SIGNAL);
    ck_assert_int_eq(message.value, SIGHUP);
    ck_assert_str_eq(message.text, "");
    ck_assert_int_eq(lifeline_receive(ends[1], &message, 0), LIFELINE_FAILED);
    ck_assert_int_eq(message.value, -EIO);
    ck_assert_uint_eq(strlen(message.text), LIFELINE_TEXT_SIZE - 1);
    close(ends[0]);
    ck_assert_int_eq(lifeline_receive(ends[1], &message, -1), LIFELINE_GONE);
    ck_assert_int_eq(lifeline_send(ends[1], LIFELINE_READY, 0, NULL), -EPIPE);
    close(ends[1]);
}
END_TEST

/* What was said before the end is still heard. */
START_TEST(last_words_are_heard)
{
    struct lifeline_message message;
    int ends[2];

    ck_assert_int_eq(lifeline_pair(ends), 0);
    ck_assert_int_eq(lifeline_send(ends[0], LIFELINE_FAILED, 0, "no memory"), 0);
    close(ends[0]);
    ck_assert_int_eq(lifeline_receive(ends[1], &message, -1), LIFELINE_FAILED);
    ck_assert_str_eq(message.text, "no memory");
    ck_assert_int_eq(lifeline_receive(ends[1], &message, -1), LIFELINE_GONE);
    close(ends[1]);
}
END_TEST

START_TEST(what_is_no_message_is_nothing)
{
    struct lifeline_message message = { .version = LIFELINE_VERSION + 1, .kind = LIFELINE_READY };
    int ends[2];

    ck_assert_int_eq(lifeline_pair(ends), 0);
    ck_assert_int_eq(send(ends[0], &message, sizeof(message), 0), sizeof(message)); /* another version */
    message.version = LIFELINE_VERSION;
    ck_assert_int_eq(send(ends[0], &message, 7, 0), 7);
    message.kind = LIFELINE_GONE; /* is not said by anybody */
    ck_assert_int_eq(send(ends[0], &message, sizeof(message), 0), sizeof(message));
    message.kind = LIFELINE_READY;
    memset(message.text, 'x', sizeof(message.text));
    ck_assert_int_eq(send(ends[0], &message, sizeof(message), 0), sizeof(message));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(lifeline_receive(ends[1], &message, 0), LIFELINE_NOTHING);
    ck_assert_int_eq(lifeline_receive(ends[1], &message, 0), LIFELINE_READY);
    ck_assert_uint_eq(strlen(message.text), LIFELINE_TEXT_SIZE - 1);
    close(ends[0]);
    close(ends[1]);
}
END_TEST

static const struct {
    uint64_t offset;
    uint32_t length;
    bool held;
} holds[] = {
    { 0, 1, true },
    { 100, 60, true },
    { 4096 * 3 - 10, 10, true },
    { 4096 * 3 - 10, 11, false }, /* past the slots of this worker */
    { 4096 * 3, 0, true },
    { UINT64_MAX, 2, false },
    { 4096 * 3 + 1, 0, false },
    { 0, UINT32_MAX, false },
};

/* What the dead one wrote is believed as far as it lies in its slots. */
START_TEST(shows_what_a_worker_held)
{
    struct lifeline_memory *memory = lifeline_memory_new(3, SLOTS);
    struct lifeline_packet packet;

    ck_assert_ptr_nonnull(memory);
    ck_assert_uint_eq(memory->slots_size, 4096 * 3);
    ck_assert(!lifeline_held(memory, 1, &packet));
    lifeline_hold(&memory->worker[1], holds[_i].offset, holds[_i].length, 77);
    ck_assert_int_eq(lifeline_held(memory, 1, &packet), holds[_i].held);
    if (holds[_i].held) {
        ck_assert_ptr_eq(packet.bytes, lifeline_slots(memory, 1) + holds[_i].offset);
        ck_assert_uint_eq(packet.length, holds[_i].length);
        ck_assert_uint_eq(packet.id, 77);
    }
    lifeline_let_go(&memory->worker[1]);
    ck_assert(!lifeline_held(memory, 1, &packet));
    lifeline_memory_free(memory);
}
END_TEST

START_TEST(memory_outlives_the_process)
{
    struct lifeline_memory *memory = lifeline_memory_new(2, SLOTS);
    struct lifeline_packet packet;
    pid_t pid;
    int status;

    ck_assert_ptr_nonnull(memory);
    pid = fork();
    if (pid == 0) {
        memcpy(lifeline_slots(memory, 1) + 5, "a packet", 8);
        lifeline_hold(&memory->worker[1], 5, 8, 3);
        lifeline_beat(&memory->worker[0]);
        atomic_store(&memory->crashed_worker, 1);
        _exit(7);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(WEXITSTATUS(status), 7);
    ck_assert(lifeline_held(memory, 1, &packet));
    ck_assert_mem_eq(packet.bytes, "a packet", 8);
    ck_assert_uint_eq(atomic_load(&memory->worker[0].epoch), 1);
    ck_assert_int_eq(atomic_load(&memory->crashed_worker), 1);
    lifeline_memory_reset(memory);
    ck_assert(!lifeline_held(memory, 1, &packet));
    ck_assert_int_eq(atomic_load(&memory->crashed_worker), -1);
    lifeline_memory_free(memory);
    lifeline_memory_free(NULL);
    ck_assert_ptr_null(lifeline_memory_new(LIFELINE_MAX_WORKERS + 1, SLOTS));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("lifeline");
    TCase *tcase = tcase_create("lifeline");

    tcase_add_test(tcase, messages_arrive_whole_and_in_order);
    tcase_add_test(tcase, last_words_are_heard);
    tcase_add_test(tcase, what_is_no_message_is_nothing);
    tcase_add_loop_test(tcase, shows_what_a_worker_held, 0, (int)(sizeof(holds) / sizeof(holds[0])));
    tcase_add_test(tcase, memory_outlives_the_process);
    suite_add_tcase(suite, tcase);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
