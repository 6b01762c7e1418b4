/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The last alerts in memory: numbers, overwriting, and copies while alerts are added. */
#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "output/output_priv.h"

enum { MANY = 20000 };

static struct recent_alerts *recent;
static struct rule rule;

static void setup(void)
{
    recent = recent_alerts_new();
    ck_assert_ptr_nonnull(recent);
    rule = (struct rule){ .gid = 1, .revision = 2, .priority = 3, .message = "message", .action = ACTION_DROP };
}

static void teardown(void)
{
    recent_alerts_free(recent);
}

/* Adds a packet with one alert, whose rule has the number `sid`. */
static void add(uint32_t sid)
{
    struct {
        struct packet_record record;
        struct alert alert;
    } packet = { .record = { .kinds = 1u << OUTPUT_ALERT, .alert_count = 1, .time_ns = sid } };

    rule.sid = sid;
    packet.record.endpoints.ip_version = 4;
    packet.record.meta.queue = 7;
    packet.alert.rule = &rule;
    packet.alert.blocked = sid % 2;
    recent_alerts_add(recent, &packet.record, true);
}

START_TEST(test_numbers)
{
    struct output_recent_alert alerts[OUTPUT_RECENT_ALERTS];
    uint64_t second;

    ck_assert_uint_eq(recent_alerts_copy(recent, 0, alerts, 10), 0);
    add(1);
    add(2);
    add(3);
    ck_assert_uint_eq(recent_alerts_copy(recent, 0, alerts, 10), 3);
    ck_assert_uint_eq(alerts[0].sid, 1);
    ck_assert(alerts[0].blocked && !alerts[1].blocked);
    ck_assert_uint_eq(alerts[0].queue, 7);
    ck_assert_str_eq(alerts[0].message, "message");
    ck_assert_str_eq(alerts[0].category, "");
    ck_assert_uint_eq(alerts[2].number, alerts[0].number + 2);
    second = alerts[1].number;
    ck_assert_uint_eq(recent_alerts_copy(recent, second, alerts, 10), 1);
    ck_assert_uint_eq(alerts[0].sid, 3);
    ck_assert_uint_eq(recent_alerts_copy(recent, second + 1, alerts, 10), 0);
    ck_assert_uint_eq(recent_alerts_copy(recent, UINT64_MAX, alerts, 10), 0);
    ck_assert_uint_eq(recent_alerts_copy(recent, 0, alerts, 2), 2); /* the newest ones */
    ck_assert_uint_eq(alerts[0].sid, 2);
    ck_assert_uint_eq(recent_alerts_copy(recent, 0, alerts, 0), 0);
}
END_TEST

START_TEST(test_overwriting)
{
    static struct output_recent_alert alerts[OUTPUT_RECENT_ALERTS];
    char message[1000];

    for (uint32_t i = 1; i <= 3000; i++)
        add(i);
    ck_assert_uint_eq(recent_alerts_copy(recent, 0, alerts, OUTPUT_RECENT_ALERTS), OUTPUT_RECENT_ALERTS);
    for (uint32_t i = 0; i < OUTPUT_RECENT_ALERTS; i++)
        ck_assert_uint_eq(alerts[i].sid, 3000 - OUTPUT_RECENT_ALERTS + 1 + i);
    /* a long message is cut */
    memset(message, 'x', sizeof(message) - 1);
    message[sizeof(message) - 1] = '\0';
    rule.message = message;
    add(1);
    ck_assert_uint_eq(recent_alerts_copy(recent, 0, alerts, 1), 1);
    ck_assert_uint_eq(strlen(alerts[0].message), OUTPUT_RECENT_MESSAGE - 1);
}
END_TEST

static void *add_many(void *argument)
{
    (void)argument;
    for (uint32_t i = 1; i <= MANY; i++)
        add(i);
    return NULL;
}

/* A reader that asks for the alerts after the last one it has gets each once and in order. */
START_TEST(test_threads)
{
    static struct output_recent_alert alerts[OUTPUT_RECENT_ALERTS];
    uint64_t after = 0;
    uint32_t sid = 0;
    pthread_t thread;

    ck_assert_int_eq(pthread_create(&thread, NULL, add_many, NULL), 0);
    while (sid < MANY) {
        size_t count = recent_alerts_copy(recent, after, alerts, OUTPUT_RECENT_ALERTS);

        for (size_t i = 0; i < count; i++) {
            ck_assert(after == 0 || alerts[i].number > after);
            ck_assert_uint_gt(alerts[i].sid, sid);
            ck_assert_uint_eq(alerts[i].time_ns, alerts[i].sid); /* no mixture of two alerts */
            sid = alerts[i].sid;
            after = alerts[i].number;
        }
    }
    pthread_join(thread, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("recent");
    TCase *tests = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_overwriting);
    tcase_add_test(tests, test_threads);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
