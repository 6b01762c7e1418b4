/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rates of hosts and flows from passes over the flow tables. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/talkers.h"
#include "sluice/clock.h"

#define SECOND NS_PER_SECOND

static struct talkers *talkers;

static void setup(void)
{
    ck_assert_int_eq(talkers_new(&talkers, 1), 0);
}

static void teardown(void)
{
    talkers_free(talkers);
}

static struct address address_of(uint32_t number)
{
    struct address address = { 0 };

    memcpy(&address, &number, sizeof(number));
    return address;
}

static struct flow_sample flow_of(uint64_t id, uint32_t client, uint32_t server, uint64_t to_server, uint64_t to_client)
{
    return (struct flow_sample){
        .id = id,
        .start_ns = SECOND,
        .packets = { to_server / 100, to_client / 100 },
        .bytes = { to_server, to_client },
        .client = address_of(client),
        .server = address_of(server),
        .ip_version = 4,
        .protocol = 6,
    };
}

static void add(struct flow_sample flow, uint64_t second)
{
    talkers_add(talkers, &flow, second * SECOND, (1000 + second) * SECOND);
}

static const struct talkers_result *finish(uint64_t second)
{
    return talkers_finish(talkers, second * SECOND, (1000 + second) * SECOND);
}

/* The first pass has no rates; those of the second one are differences by the time between the visits. */
START_TEST(test_rates)
{
    const struct talkers_result *result;

    add(flow_of(1, 10, 20, 1000000, 5000), 10);
    add(flow_of(2, 11, 20, 300, 300), 10);
    result = finish(10);
    ck_assert_uint_eq(result->passes, 1);
    ck_assert_uint_eq(result->visited, 2);
    ck_assert_uint_eq(result->hosts[0].sent + result->hosts[0].received, 0);

    add(flow_of(2, 11, 20, 300, 300), 12);
    add(flow_of(1, 10, 20, 1004000, 5200), 12);
    result = finish(12);
    ck_assert_uint_eq(result->flow_count, 2);
    ck_assert_uint_eq(result->flows[0].flow.id, 1);
    ck_assert_uint_eq(result->flows[0].to_server, 2000);
    ck_assert_uint_eq(result->flows[0].to_client, 100);
    ck_assert_uint_eq(result->flows[0].packets, 21);
    ck_assert_uint_eq(result->host_count, 3);
    for (unsigned i = 0; i < 2; i++) { /* both ends of the flow, in any order */
        const struct talker_host *host = &result->hosts[i];
        struct address client = address_of(10);
        bool is_client = memcmp(&host->address, &client, sizeof(client)) == 0;

        ck_assert_uint_eq(host->sent, is_client ? 2000 : 100);
        ck_assert_uint_eq(host->received, is_client ? 100 : 2000);
        ck_assert_uint_eq(host->flows, is_client ? 1 : 2);
    }
}
END_TEST

/* A flow that began after the previous pass counts with all its bytes; an older one that was not seen then counts with
 * none, because it is not known when they passed. */
START_TEST(test_new_flows)
{
    const struct talkers_result *result;
    struct flow_sample young = flow_of(3, 30, 40, 8000, 0), old = flow_of(4, 31, 40, 800000, 0);

    add(flow_of(1, 10, 20, 1, 1), 10);
    finish(10);
    young.start_ns = 1011 * SECOND;
    add(young, 14);
    add(old, 14);
    result = finish(14);
    ck_assert_uint_eq(result->flows[0].flow.id, 3);
    ck_assert_uint_eq(result->flows[0].to_server, 2000);
    ck_assert_uint_eq(result->flows[1].to_server, 0);
}
END_TEST

/* A scan of 200,000 addresses fills both tables, but does not displace the host with the highest rate. */
START_TEST(test_flood)
{
    const struct talkers_result *result;

    for (uint64_t second = 10; second <= 12; second++) {
        for (uint32_t i = 0; i < 200000; i++) {
            struct flow_sample flow = flow_of(100 + i + second * 1000000, 1000 + i, 20, 60, 0);

            flow.start_ns = (1000 + second) * SECOND - SECOND / 2;
            add(flow, second);
            if (i == 100000)
                add(flow_of(1, 10, 21, 1000000 + second * 50000, 0), second);
        }
        result = finish(second);
        ck_assert_uint_eq(result->visited, 200001);
        ck_assert_uint_eq(result->host_count, TALKERS_MAX);
        ck_assert(result->hosts_dropped);
    }
    ck_assert_uint_eq(result->flows[0].flow.id, 1);
    ck_assert_uint_eq(result->flows[0].to_server, 50000);
    for (unsigned i = 0, found = 0; i < 3; i++) {
        struct address wanted = address_of(10);

        found |= memcmp(&result->hosts[i].address, &wanted, sizeof(wanted)) == 0;
        ck_assert(i < 2 || found);
    }
}
END_TEST

/* Counts that become smaller, and flows without addresses, do no harm. */
START_TEST(test_odd_flows)
{
    struct flow_sample flow = flow_of(5, 10, 20, 5000, 5000);
    const struct talkers_result *result;

    add(flow, 10);
    finish(10);
    add(flow_of(5, 10, 20, 10, 10), 11);
    flow.ip_version = 0;
    flow.id = 6;
    add(flow, 11);
    result = finish(11);
    ck_assert_uint_eq(result->visited, 2);
    ck_assert_uint_eq(result->flow_count, 1);
    ck_assert_uint_eq(result->flows[0].to_server, 0);
    result = finish(11);
    ck_assert_uint_eq(result->host_count, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("talkers");
    TCase *tests = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_rates);
    tcase_add_test(tests, test_new_flows);
    tcase_add_test(tests, test_flood);
    tcase_add_test(tests, test_odd_flows);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
