/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines and filters of `sluice alerts`. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/alert_line.h"

#define EVENT                                                                                                          \
    "{\"timestamp\":\"2026-11-27T10:00:01.123456+0000\",\"event_type\":\"alert\",\"src_ip\":\"10.1.0.2\","             \
    "\"src_port\":41234,\"dest_ip\":\"fd00::1\",\"dest_port\":80,\"proto\":\"TCP\",\"app_proto\":\"http\","            \
    "\"alert\":{\"action\":\"blocked\",\"gid\":1,\"signature_id\":2100498,\"rev\":7,\"signature\":\"id check\","       \
    "\"category\":\"Potentially Bad Traffic\",\"severity\":2},\"sluice\":{\"queue\":{\"number\":1}}}"
#define LINE                                                                                                           \
    "2026-11-27T10:00:01.123456+0000 DROP [1:2100498:7] id check [Potentially Bad Traffic, priority 2] {TCP} "         \
    "10.1.0.2:41234 -> [fd00::1]:80 (http, queue 1)"

/* Returns the result of alert_line_read() and its text in `out`. */
static int read_line(const char *line, const struct alert_filter *filter, bool json, char *out, size_t size)
{
    struct text text;
    int found;

    text_init(&text);
    found = alert_line_read(line, strlen(line), filter, json, &text);
    snprintf(out, size, "%s", text.length > 0 ? text.bytes : "");
    text_clear(&text);
    return found;
}

START_TEST(test_lines)
{
    static const struct {
        const char *line;
        int found;
        const char *out;
    } cases[] = {
        { EVENT, 1, LINE },
        { "{\"event_type\":\"flow\"}", 0, "" },
        { "{\"event_type\":\"drop\",\"alert\":{\"gid\":1}}", 0, "" },
        { "{\"event_type\":\"alert\",\"alert\":1}", 0, "" },
        { "{\"event_type\":\"alert\",\"alert\":{", -EBADMSG, "" },
        { "\"alert\"", 0, "" },
        { "{\"event_type\":\"alert\",\"alert\":{\"signature\":\"a\\u001b[2Jb\\u202e\"},\"sluice\":{\"would_drop\":true}"
          "}",
          1, " WOULD_DROP [0:0:0] a\\x1b[2Jb\\xe2\\x80\\xae [priority 0]" },
        { "{\"timestamp\":\"x\\n\",\"event_type\":\"alert\",\"src_ip\":\"\\u0007\",\"proto\":\"ICMP\",\"alert\":{}}", 1,
          "x\\x0a ALERT [0:0:0]  [priority 0] {ICMP} \\x07 -> " },
    };
    const struct alert_filter all = { 0 };
    char out[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ck_assert_int_eq(read_line(cases[i].line, &all, false, out, sizeof(out)), cases[i].found);
        ck_assert_str_eq(out, cases[i].out);
    }
    ck_assert_int_eq(read_line(EVENT, &all, true, out, sizeof(out)), 1);
    ck_assert_str_eq(out, EVENT);
}
END_TEST

START_TEST(test_filters)
{
    static const struct {
        const char *sid, *source, *destination, *host;
        unsigned severity;
        int found;
    } cases[] = {
        { "2100498", NULL, NULL, NULL, 0, 1 },     { "1:2100498", NULL, NULL, NULL, 0, 1 },
        { "2:2100498", NULL, NULL, NULL, 0, 0 },   { "2100499", NULL, NULL, NULL, 0, 0 },
        { NULL, "10.1.0.0/16", NULL, NULL, 0, 1 }, { NULL, "10.1.0.3", NULL, NULL, 0, 0 },
        { NULL, "fd00::/8", NULL, NULL, 0, 0 },    { NULL, "0.0.0.0/0", NULL, NULL, 0, 1 },
        { NULL, NULL, "fd00::/8", NULL, 0, 1 },    { NULL, NULL, "10.1.0.0/16", NULL, 0, 0 },
        { NULL, NULL, NULL, "10.1.0.2", 0, 1 },    { NULL, NULL, NULL, "fd00::1/128", 0, 1 },
        { NULL, NULL, NULL, "10.2.0.0/16", 0, 0 }, { NULL, NULL, NULL, NULL, 1, 0 },
        { NULL, NULL, NULL, NULL, 2, 1 },          { "2100498", "10.0.0.0/8", "fd00::1", "10.1.0.2", 3, 1 },
    };
    char out[512];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct alert_filter filter = { .severity = cases[i].severity };

        if (cases[i].sid)
            ck_assert_int_eq(alert_sid_parse(cases[i].sid, &filter), 0);
        if (cases[i].source)
            ck_assert_int_eq(alert_network_parse(cases[i].source, &filter.source), 0);
        if (cases[i].destination)
            ck_assert_int_eq(alert_network_parse(cases[i].destination, &filter.destination), 0);
        if (cases[i].host)
            ck_assert_int_eq(alert_network_parse(cases[i].host, &filter.host), 0);
        ck_assert_msg(read_line(EVENT, &filter, false, out, sizeof(out)) == cases[i].found, "case %zu", i);
    }
}
END_TEST

START_TEST(test_wrong_filters)
{
    static const char *const networks[] = { "",          "10.0.0", "10.0.0.0/33", "fd00::/129",
                                            "10.0.0.0/", "/8",     "x",           "10.0.0.1/8/8" };
    static const char *const sids[] = { "", "x", "1:", ":1", "1:2:3", "-1", "4294967296", "1 2" };
    struct alert_filter filter = { 0 };

    for (size_t i = 0; i < sizeof(networks) / sizeof(networks[0]); i++)
        ck_assert_msg(alert_network_parse(networks[i], &filter.host) == -EINVAL, "%s", networks[i]);
    for (size_t i = 0; i < sizeof(sids) / sizeof(sids[0]); i++)
        ck_assert_msg(alert_sid_parse(sids[i], &filter) == -EINVAL, "%s", sids[i]);
    ck_assert_int_eq(filter.host.version, 0);
    ck_assert(!filter.has_sid);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("alert_line");
    TCase *tests = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tests, test_lines);
    tcase_add_test(tests, test_filters);
    tcase_add_test(tests, test_wrong_filters);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
