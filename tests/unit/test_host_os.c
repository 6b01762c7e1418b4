/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/host_os_table.h"

/* Reads the table from YAML. Returns 0 or an error; sets `errors` to the number of reported errors. */
static int read_table(struct host_os_table *table, const char *yaml, size_t *errors)
{
    struct diag *diag = diag_new();
    struct config *config;

    ck_assert_int_eq(daemon_new_config(&config), 0);
    config_parse(config, "test.yaml", yaml, strlen(yaml), CONFIG_STRICT, diag);
    int err = host_os_table_parse(table, config, diag);

    *errors = diag_errors(diag);
    config_free(config);
    diag_free(diag);
    return err;
}

static const char *const example = "host-os-policy:\n"
                                   "  windows: [0.0.0.0/0]\n"
                                   "  bsd: []\n"
                                   "  linux: [10.0.0.0/8, \"fd00::/16\", 192.168.1.77/24]\n"
                                   "  old-linux: 10.1.2.3\n"
                                   "  solaris: [10.1.0.0/16, 10.1.2.2, 10.1.2.4, \"fd00:0:0:1::/64\"]\n"
                                   "  macos: [\"fd00::5\", 255.255.255.255]\n"
                                   "  bsd-right: [172.16.0.0/12, 172.16.0.0/13]\n"
                                   "  windows2k3: 11.0.0.0/9\n"
                                   "  vista: 11.128.0.0/9\n";

static const struct {
    const char *address;
    enum host_os os;
} hosts[] = {
    { "8.8.8.8", HOST_OS_WINDOWS },
    { "0.0.0.0", HOST_OS_WINDOWS },
    { "10.2.0.1", HOST_OS_LINUX },
    { "10.0.0.0", HOST_OS_LINUX },
    { "10.255.255.255", HOST_OS_LINUX },
    { "11.0.0.0", HOST_OS_WINDOWS2K3 },
    { "11.127.255.255", HOST_OS_WINDOWS2K3 },
    { "11.128.0.0", HOST_OS_VISTA },
    { "12.0.0.0", HOST_OS_WINDOWS },
    { "10.1.2.3", HOST_OS_OLD_LINUX },
    { "10.1.2.2", HOST_OS_SOLARIS },
    { "10.1.2.5", HOST_OS_SOLARIS },
    { "192.168.1.1", HOST_OS_LINUX },
    { "192.168.2.1", HOST_OS_WINDOWS },
    { "172.23.0.1", HOST_OS_BSD_RIGHT },
    { "172.31.0.1", HOST_OS_BSD_RIGHT },
    { "172.32.0.1", HOST_OS_WINDOWS },
    { "255.255.255.255", HOST_OS_MACOS },
    { "255.255.255.254", HOST_OS_WINDOWS },
    { "fd00::4", HOST_OS_LINUX },
    { "fd00::5", HOST_OS_MACOS },
    { "fd00:0:0:1::9", HOST_OS_SOLARIS },
    { "fd00:0:0:2::9", HOST_OS_LINUX },
    { "fd01::5", HOST_OS_BSD },
    { "::", HOST_OS_BSD },
    { "ffff::1", HOST_OS_BSD },
};

START_TEST(takes_the_most_specific_network)
{
    static struct host_os_table table;
    struct address address;
    size_t errors;

    ck_assert_int_eq(read_table(&table, example, &errors), 0);
    ck_assert_uint_eq(errors, 0);
    struct host_os_policy policy = host_os_table_policy(&table);

    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        int version = address_parse(hosts[i].address, strlen(hosts[i].address), &address);

        ck_assert_msg(host_os_lookup(&policy, version, &address) == hosts[i].os, "%s", hosts[i].address);
    }
}
END_TEST

START_TEST(every_host_is_bsd_without_policy)
{
    static struct host_os_table table;
    struct address address = { { 10, 1, 1, 1 } };
    size_t errors;

    ck_assert_int_eq(read_table(&table, "defrag:\n  timeout: 30\n", &errors), 0);
    struct host_os_policy policy = host_os_table_policy(&table), none = { 0 };

    ck_assert_int_eq(host_os_lookup(&policy, 4, &address), HOST_OS_BSD);
    ck_assert_int_eq(host_os_lookup(&policy, 6, &address), HOST_OS_BSD);
    ck_assert_int_eq(host_os_lookup(&none, 4, &address), HOST_OS_BSD);
}
END_TEST

static const char *const wrong[] = {
    "host-os-policy:\n  windows: [10.0.0.0/33]\n",
    "host-os-policy:\n  windows: [10.0.0/8]\n",
    "host-os-policy:\n  windows: [\"fd00::/129\"]\n",
    "host-os-policy:\n  windows: [10.0.0.0/]\n",
    "host-os-policy:\n  windows: [any]\n",
    "host-os-policy:\n  beos: [10.0.0.0/8]\n",
    "host-os-policy:\n  windows: [10.0.0.0/8]\n  linux: [10.2.0.0/8]\n",
};

START_TEST(reports_mistakes)
{
    static struct host_os_table table;
    size_t errors;

    read_table(&table, wrong[_i], &errors);
    ck_assert_msg(errors == 1, "%s: %zu", wrong[_i], errors);
}
END_TEST

START_TEST(has_a_bound)
{
    static struct host_os_table table;
    static char yaml[64 + (HOST_OS_MAX_NETWORKS + 1) * 24];
    size_t errors, length = (size_t)sprintf(yaml, "host-os-policy:\n  linux:\n");

    for (unsigned i = 0; i <= HOST_OS_MAX_NETWORKS; i++) {
        if (i == HOST_OS_MAX_NETWORKS)
            ck_assert_int_eq(read_table(&table, yaml, &errors), 0);
        length += (size_t)sprintf(yaml + length, "    - 10.0.%u.%u\n", i / 256, i % 256);
    }
    ck_assert_int_lt(read_table(&table, yaml, &errors), 0);
    ck_assert_uint_eq(errors, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("host_os");
    TCase *tcase = tcase_create("host_os");
    SRunner *runner;

    tcase_add_test(tcase, takes_the_most_specific_network);
    tcase_add_test(tcase, every_host_is_bsd_without_policy);
    tcase_add_loop_test(tcase, reports_mistakes, 0, sizeof(wrong) / sizeof(wrong[0]));
    tcase_add_test(tcase, has_a_bound);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
