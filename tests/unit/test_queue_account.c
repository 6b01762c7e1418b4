/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The queue account: the comparison of rule and queue counters, and cases in which it must report nothing. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "daemon/queue_account.h"

enum { PLACE = 7, MAX_STEPS = 6 };

/* One reading of the counters: the rule's, the queue's before and after it, and the packets to report. */
struct step {
    uint64_t handle, packets; /* handle 0: no rule */
    uint32_t before, after;   /* packet ids of the queue */
    uint32_t dropped;         /* packets dropped by the full queue */
    uint32_t port;            /* port id of the listener; 0: none */
    uint64_t reported;
    bool unbound;
};

static const struct {
    const char *name;
    bool foreign;
    struct step steps[MAX_STEPS];
} cases[] = {
    { "all packets are queued",
      false,
      { { 1, 10, 10, 10, 0, 5, 0, 0 }, { 1, 30, 30, 30, 0, 5, 0, 0 }, { 1, 40, 40, 40, 0, 5, 0, 0 } } },
    { "drops of a full queue are no passes",
      false,
      { { 1, 0, 0, 0, 0, 5, 0, 0 }, { 1, 30, 20, 20, 10, 5, 0, 0 }, { 1, 30, 20, 20, 10, 5, 0, 0 } } },
    { "passes are reported by the second reading",
      false,
      { { 1, 0, 0, 0, 0, 5, 0, 0 },
        { 1, 30, 20, 20, 0, 5, 0, 0 },
        { 1, 30, 20, 20, 0, 5, 10, 0 },
        { 1, 35, 21, 21, 0, 5, 0, 0 },
        { 1, 35, 21, 21, 0, 5, 4, 0 } } },
    { "packets on their way are none",
      false,
      { { 1, 0, 0, 0, 0, 5, 0, 0 },
        { 1, 30, 20, 28, 0, 5, 0, 0 },
        { 1, 30, 30, 30, 0, 5, 0, 0 },
        { 1, 40, 38, 39, 0, 5, 0, 0 },
        { 1, 50, 49, 49, 0, 5, 1, 0 } } },
    { "packets that come meanwhile hide passes for a time",
      false,
      { { 1, 0, 0, 0, 0, 5, 0, 0 },
        { 1, 120, 80, 120, 0, 5, 0, 0 },
        { 1, 160, 130, 140, 0, 5, 0, 0 },
        { 1, 160, 140, 140, 0, 5, 20, 0 } } },
    { "the first reading is in a flood",
      false,
      { { 1, 1000, 900, 1100, 0, 5, 0, 0 },
        { 1, 2000, 2000, 2000, 0, 5, 0, 0 },
        { 1, 2000, 2000, 2000, 0, 5, 0, 0 },
        { 1, 2005, 2000, 2000, 0, 5, 0, 0 },
        { 1, 2005, 2000, 2000, 0, 5, 5, 0 } } },
    { "our rule is new and began at 0",
      false,
      { { 0, 0, 0, 0, 0, 5, 0, 0 }, { 1, 30, 20, 20, 0, 5, 0, 0 }, { 1, 30, 20, 20, 0, 5, 10, 0 } } },
    { "our rule is replaced",
      false,
      { { 1, 50, 50, 50, 0, 5, 0, 0 },
        { 2, 5, 80, 80, 0, 5, 0, 0 },
        { 2, 9, 84, 84, 0, 5, 0, 0 },
        { 2, 12, 84, 84, 0, 5, 0, 0 },
        { 2, 12, 84, 84, 0, 5, 3, 0 } } },
    { "our rule is gone and comes back",
      false,
      { { 1, 50, 50, 50, 0, 5, 0, 0 },
        { 0, 0, 60, 60, 0, 5, 0, 0 },
        { 2, 5, 65, 65, 0, 5, 0, 0 },
        { 2, 5, 65, 65, 0, 5, 0, 0 } } },
    { "its counter is set back",
      false,
      { { 1, 50, 50, 50, 0, 5, 0, 0 },
        { 1, 5, 60, 60, 0, 5, 0, 0 },
        { 1, 10, 65, 65, 0, 5, 0, 0 },
        { 1, 10, 65, 65, 0, 5, 0, 0 } } },
    { "a rule of others is loaded with a counter",
      true,
      { { 0, 0, 0, 0, 0, 5, 0, 0 },
        { 1, 5000, 0, 0, 0, 5, 0, 0 },
        { 1, 5007, 7, 7, 0, 5, 0, 0 },
        { 1, 5010, 7, 7, 0, 5, 0, 0 },
        { 1, 5010, 7, 7, 0, 5, 3, 0 } } },
    { "a rule of others is loaded anew with an older counter",
      true,
      { { 1, 5000, 0, 0, 0, 5, 0, 0 }, { 1, 4000, 0, 0, 0, 5, 0, 0 }, { 1, 4000, 0, 0, 0, 5, 0, 0 } } },
    { "segments of super-packets hide, and do not pass",
      false,
      { { 1, 0, 0, 0, 0, 5, 0, 0 },
        { 1, 10, 400, 400, 0, 5, 0, 0 },
        { 1, 20, 800, 800, 0, 5, 0, 0 },
        { 1, 25, 800, 800, 0, 5, 0, 0 },
        { 1, 25, 800, 800, 0, 5, 5, 0 } } },
    { "ids begin again",
      false,
      { { 1, 0, UINT32_MAX - 5, UINT32_MAX - 5, 0, 5, 0, 0 },
        { 1, 20, 14, 14, 0, 5, 0, 0 },
        { 1, 20, 14, 14, 0, 5, 0, 0 } } },
    { "nobody listened, and then somebody else",
      false,
      { { 1, 10, 10, 10, 0, 5, 0, 0 },
        { 1, 30, 2, 2, 0, 6, 0, 1 },
        { 1, 30, 2, 2, 0, 6, 18, 0 },
        { 1, 40, 12, 12, 0, 6, 0, 0 } } },
    { "nobody listened from the beginning",
      false,
      { { 1, 0, 0, 0, 0, 0, 0, 0 }, { 1, 5, 0, 0, 0, 6, 0, 1 }, { 1, 5, 0, 0, 0, 6, 5, 0 } } },
};

static struct queue_account account;
static struct account_reading reading;

static void open_account(void)
{
    memset(&account, 0, sizeof(account));
}

START_TEST(only_what_is_certain)
{
    for (int i = 0; i < MAX_STEPS; i++) {
        const struct step *step = &cases[_i].steps[i];
        bool unbound;

        if (i > 0 && step->handle == 0 && step->after == 0)
            break;
        memset(&reading, 0, sizeof(reading));
        reading.queue_count = 1;
        reading.rule_count = step->handle > 0;
        reading.rules[0] = (struct account_rule){
            .place = PLACE, .handle = step->handle, .packets = step->packets, .own = !cases[_i].foreign
        };
        reading.before[0] = (struct queue_status){ .queue = 3, .port_id = step->port, .id_sequence = step->before };
        reading.after[0] = (struct queue_status){ .queue = 3, .port_id = step->port, .id_sequence = step->after };
        reading.before[0].queue_dropped = reading.after[0].queue_dropped = step->dropped;
        ck_assert_msg(queue_account_update(&account, &reading, &unbound) == step->reported, "%s: reading %d",
                      cases[_i].name, i);
        ck_assert_msg(unbound == step->unbound, "%s: listener at reading %d", cases[_i].name, i);
    }
}
END_TEST

START_TEST(what_was_reported_is_kept)
{
    bool unbound;

    memset(&reading, 0, sizeof(reading));
    reading.queue_count = 1;
    reading.before[0] = reading.after[0] = (struct queue_status){ .queue = 3, .port_id = 5 };
    queue_account_update(&account, &reading, &unbound);
    account.queues[0].queue_dropped = 284;
    queue_account_forget(&account, &reading);
    ck_assert(!account.valid);
    queue_account_update(&account, &reading, &unbound);
    ck_assert_uint_eq(account.queues[0].queue_dropped, 284);
}
END_TEST

START_TEST(a_file_is_whole_or_nothing)
{
    struct queue_account out = { .rule_count = 99 };
    int fd = memfd_create("account", 0);
    uint8_t byte;

    ck_assert_int_eq(queue_account_read(&out, fd), -ENODATA);
    account.certain = 17;
    account.rule_count = 2;
    ck_assert_int_eq(queue_account_write(&account, fd), 0);
    ck_assert_int_eq(queue_account_read(&out, fd), 0);
    ck_assert_mem_eq(&out, &account, sizeof(account));
    for (off_t at = 0; at < 200; at++) {
        ck_assert_int_eq(pread(fd, &byte, 1, at), 1);
        byte ^= 0x10;
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
        ck_assert_int_eq(queue_account_read(&out, fd), -EBADMSG);
        byte ^= 0x10;
        ck_assert_int_eq(pwrite(fd, &byte, 1, at), 1);
    }
    ck_assert_int_eq(ftruncate(fd, 100), 0);
    ck_assert_int_eq(queue_account_read(&out, fd), -EBADMSG);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("queue_account");
    TCase *tcase = tcase_create("account");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, open_account, NULL);
    tcase_add_loop_test(tcase, only_what_is_certain, 0, (int)(sizeof(cases) / sizeof(cases[0])));
    tcase_add_test(tcase, what_was_reported_is_kept);
    tcase_add_test(tcase, a_file_is_whole_or_nothing);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
