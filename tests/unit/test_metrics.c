/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The table of counters, and metrics in both formats from replies of the control socket. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/value.h"
#include "metrics/metrics_priv.h"
#include "sluice/control.h"
#include "sluice/counter.h"
#include "sluice/metrics.h"

/* --- Counters ------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *row;
} found[] = {
    { "flow.total", "flow.total" },
    { "queue.17.packets", "queue.*.packets" },
    { "decoder.pkts", "decoder.pkts" },
    { "decoder.ipv4", "decoder.*" },
    { "decoder.event.ipv4.pkt_too_small", "decoder.event.*.*" },
    { "detect.engines[0].rules_loaded", "detect.engines.rules_loaded" },
    { "detect.waiting", "detect.waiting" },
    { "ips.exception.overload.pass_flow", "ips.exception.*.*" },
    { "exception_policy.tcp.midstream.drop_flow", "exception_policy.*.*.*" },
    { "output.write_errors", "output.write_errors" },
    { "output.alert.lost", "output.*.lost" },
    { "queue..packets", NULL },
    { "queue.1.packets.x", NULL },
    { "flow.totals", NULL },
    { "", NULL },
};

START_TEST(counters_have_rows)
{
    const struct counter *row = counter_find(found[_i].name);

    if (!found[_i].row)
        ck_assert_ptr_null(row);
    else
        ck_assert_str_eq(row ? row->name : "none", found[_i].row);
}
END_TEST

static bool same_kind(const struct counter *a, const struct counter *b)
{
    bool total_a = a->kind == COUNTER_TOTAL || a->kind == COUNTER_OUTSIDE;
    bool total_b = b->kind == COUNTER_TOTAL || b->kind == COUNTER_OUTSIDE;

    return total_a == total_b;
}

START_TEST(rows_are_complete)
{
    static const char *const units[] = { "times", "us", "ms", "s" }; /* the last three become seconds */

    for (const struct counter *row = counter_table; row->name; row++) {
        size_t stars = 0, names = 0;
        bool has_family = false;

        ck_assert_msg(*row->help && row->help[strlen(row->help) - 1] != '.', "%s", row->name);
        ck_assert_msg(*row->metric || *row->unit, "%s has no metric", row->name);
        ck_assert_msg(strcmp(row->unit, units[0]) != 0, "%s: name what is counted", row->name);
        for (const char *at = row->name; *at; at++)
            stars += *at == '*';
        for (struct span rest = span_of(row->labels), label; span_next(&rest, ' ', &label);)
            names += label.length > 0 && !memchr(label.at, '=', label.length);
        ck_assert_msg(stars == names, "%s: each * needs a label", row->name);
        for (const struct counter_family *family = counter_families; family->metric; family++)
            has_family |= strcmp(family->metric, row->metric) == 0;
        for (const struct counter *other = row + 1; other->name; other++) {
            ck_assert_str_ne(row->name, other->name);
            if (strcmp(row->metric, other->metric) != 0 || strcmp(row->unit, other->unit) != 0)
                continue;
            ck_assert_msg(same_kind(row, other), "%s and %s", row->name, other->name);
            ck_assert_msg(strcmp(row->labels, other->labels) != 0 || strchr(row->name, '*'),
                          "%s and %s are the same metric", row->name, other->name);
            ck_assert_msg(has_family || strcmp(row->help, other->help) == 0, "%s needs a row in counter_families",
                          row->name);
        }
    }
}
END_TEST

/* --- Accept --------------------------------------------------------------------------------------- */

static const struct {
    const char *accept;
    enum metrics_format format;
} accepts[] = {
    { NULL, METRICS_TEXT },
    { "", METRICS_TEXT },
    { "*/*", METRICS_TEXT },
    { "text/html", METRICS_TEXT },
    { "text/plain", METRICS_TEXT },
    { "application/openmetrics-text", METRICS_OPENMETRICS },
    { "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
      "text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
      METRICS_OPENMETRICS },
    { "APPLICATION/OpenMetrics-Text ; Version=1.0.0 ; Q=0.4 , text/plain;q=0.3", METRICS_OPENMETRICS },
    { "application/openmetrics-text;version=0.0.1", METRICS_TEXT },
    { "application/openmetrics-text;version=2.0.0", METRICS_TEXT },
    { "text/plain;q=0.9,application/openmetrics-text;version=1.0.0;q=0.8", METRICS_TEXT },
    { "application/openmetrics-text;q=0", METRICS_TEXT },
    { "application/openmetrics-text;q=1.001", METRICS_TEXT },
    { "application/openmetrics-text;q=2", METRICS_TEXT },
    { "application/openmetrics-text;q", METRICS_TEXT },
    { "application/openmetrics-text;q=", METRICS_TEXT },
    { "application/openmetrics-text;q=0.1234", METRICS_TEXT },
    { "application/openmetrics-text;q=.5", METRICS_TEXT },
    { "application/openmetrics-text;q=0.001", METRICS_OPENMETRICS },
    { "application/openmetrics-text;version", METRICS_TEXT },
    { ",;,=;;,", METRICS_TEXT },
};

START_TEST(the_client_selects_the_format)
{
    ck_assert_int_eq(metrics_negotiate(accepts[_i].accept), accepts[_i].format);
}
END_TEST

/* --- Addresses ------------------------------------------------------------------------------------ */

static const struct {
    const char *text;
    bool valid, loopback;
} addresses[] = {
    { "127.0.0.1:9931", true, true },
    { "127.8.9.1:1", true, true },
    { "[::1]:9931", true, true },
    { "/run/sluice-metrics/http.socket", true, true },
    { "0.0.0.0:9931", true, false },
    { "192.0.2.1:9931", true, false },
    { "[::]:9931", true, false },
    { "[2001:db8::1]:9931", true, false },
    { "[::ffff:127.0.0.1]:9931", true, false },
    { "localhost:9931", false, false },
    { "127.0.0.1", false, false },
    { "127.0.0.1:", false, false },
    { "127.0.0.1:0", false, false },
    { "127.0.0.1:65536", false, false },
    { "127.0.0.1:x", false, false },
    { ":9931", false, false },
    { "::1:9931", false, false },
    { "[::1:9931", false, false },
    { "[::1]9931", false, false },
    { "[]:9931", false, false },
    { "]:9931", false, false },
    { "run/socket", false, false },
    { "", false, false },
};

START_TEST(addresses_are_parsed)
{
    struct metrics_address address;

    ck_assert_int_eq(metrics_parse_address(addresses[_i].text, &address), addresses[_i].valid ? 0 : -22);
    if (addresses[_i].valid)
        ck_assert_int_eq(address.loopback, addresses[_i].loopback);
}
END_TEST

START_TEST(a_long_path_is_refused)
{
    struct metrics_address address;
    char path[200];

    memset(path, 'a', sizeof(path));
    path[0] = '/';
    path[sizeof(path) - 1] = '\0';
    ck_assert_int_eq(metrics_parse_address(path, &address), -22);
}
END_TEST

/* --- Metrics -------------------------------------------------------------------------------------- */

static const char stats_reply[] =
    "{\"uptime\":7,\"flow\":{\"total\":3,\"active\":2,\"memuse\":100,\"tcp\":2,\"udp\":1},\"tcp\":{\"memuse\":5},"
    "\"decoder\":{\"event\":{\"ipv4\":{\"trunc_pkt\":9}}},\"detect\":{\"engines\":[{\"id\":0,\"rules_loaded\":4}]},"
    "\"ips\":{\"drop_reason\":{\"rules\":6},\"overload\":{\"milliseconds\":1500}},"
    "\"queue\":{\"10\":{\"packets\":11,\"age_max_us\":2500},\"2\":{\"packets\":12}},"
    "\"exception_policy\":{\"tcp\":{\"midstream\":{\"pass_flow\":1}}},\"of\":{\"a\\\"b\\\\c\\nd\":8},\"text\":\"no "
    "number\"}";
static const char status_reply[] =
    "{\"version\":\"1\\\"2\",\"workers_answer\":true,\"ips\":{\"queues\":[{\"queue\":2,\"mode\":\"alert-only\"},"
    "{\"queue\":10,\"mode\":\"drop\"}]}}";
static const char queues_reply[] = "[{\"queue\":2,\"worker\":0},{\"queue\":10,\"worker\":1}]";

static char *write_metrics(bool up, enum metrics_format format)
{
    const struct metrics_http_counts http = { .requests = 21, .closed = 1 };
    const char *cause;
    struct control_value *stats = value_parse(stats_reply, strlen(stats_reply), &cause);
    struct control_value *status = value_parse(status_reply, strlen(status_reply), &cause);
    struct control_value *queues = value_parse(queues_reply, strlen(queues_reply), &cause);
    const struct metrics_input input = {
        .stats = up ? stats : NULL,
        .status = up ? status : NULL,
        .queues = up ? queues : NULL,
        .query_seconds = 0.25,
        .http = &http,
    };
    struct text out;

    ck_assert(stats && status && queues);
    text_init(&out);
    metrics_write(&input, format, &out);
    ck_assert(!out.failed);
    control_value_free(stats);
    control_value_free(status);
    control_value_free(queues);
    return out.bytes;
}

static const char *const lines[] = {
    "sluice_up 1\n",
    "sluice_query_seconds 0.250000\n",
    "sluice_metrics_requests_total 21\n",
    "sluice_build_info{version=\"1\\\"2\"} 1\n",
    "sluice_workers_answer 1\n",
    "sluice_alert_only{queue=\"2\"} 1\n",
    "sluice_alert_only{queue=\"10\"} 0\n",
    "sluice_uptime_seconds_total 7\n",
    "sluice_flows_total 3\n",
    "sluice_active_flows 2\n",
    "sluice_memory_bytes{table=\"flow\"} 100\nsluice_memory_bytes{table=\"stream\"} 5\n",
    "sluice_transport_flows_total{transport=\"tcp\"} 2\nsluice_transport_flows_total{transport=\"udp\"} 1\n",
    "sluice_decoder_events_total{event=\"ipv4.trunc_pkt\"} 9\n",
    "sluice_ruleset_rules{state=\"loaded\"} 4\n",
    "sluice_dropped_packets_total{reason=\"rules\"} 6\n",
    "sluice_overloaded_seconds_total 1.5\n",
    "sluice_queue_received_packets_total{queue=\"10\",worker=\"1\"} 11\n"
    "sluice_queue_received_packets_total{queue=\"2\",worker=\"0\"} 12\n",
    "sluice_queue_age_max_seconds{queue=\"10\",worker=\"1\"} 0.0025\n",
    "sluice_exception_policy_applications_total{cause=\"tcp.midstream\",policy=\"pass_flow\"} 1\n",
    "sluice_unlisted{counter=\"of.a\\\"b\\\\c\\nd\"} 8\n",
};

START_TEST(samples_are_written)
{
    char *text = write_metrics(true, METRICS_TEXT), *metrics = write_metrics(true, METRICS_OPENMETRICS);

    ck_assert_msg(strstr(text, lines[_i]) != NULL, "%s is missing in:\n%s", lines[_i], text);
    ck_assert_msg(strstr(metrics, lines[_i]) != NULL, "%s is missing in:\n%s", lines[_i], metrics);
    free(text);
    free(metrics);
}
END_TEST

START_TEST(headers_depend_on_the_format)
{
    char *text = write_metrics(true, METRICS_TEXT), *metrics = write_metrics(true, METRICS_OPENMETRICS);

    ck_assert(strstr(text, "# HELP sluice_flows_total Flows created.\n# TYPE sluice_flows_total counter\n"));
    ck_assert(!strstr(text, "# UNIT") && !strstr(text, "# EOF"));
    ck_assert(strstr(text, "# TYPE sluice_unlisted untyped\n"));
    ck_assert(strstr(metrics, "# HELP sluice_flows Flows created.\n# TYPE sluice_flows counter\n# UNIT sluice_flows "
                              "flows\nsluice_flows_total 3\n"));
    ck_assert(strstr(metrics, "# TYPE sluice_memory_bytes gauge\n# UNIT sluice_memory_bytes bytes\n"));
    ck_assert(strstr(metrics, "# TYPE sluice_unlisted unknown\n"));
    ck_assert_str_eq(metrics + strlen(metrics) - 6, "# EOF\n");
    free(text);
    free(metrics);
}
END_TEST

START_TEST(a_daemon_that_is_down_is_reported)
{
    char *text = write_metrics(false, METRICS_OPENMETRICS);

    ck_assert(strstr(text, "sluice_up 0\n") && strstr(text, "# EOF\n"));
    ck_assert(!strstr(text, "sluice_build_info") && !strstr(text, "sluice_flows"));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = tcase_create("metrics");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, counters_have_rows, 0, sizeof(found) / sizeof(found[0]));
    tcase_add_test(tcase, rows_are_complete);
    tcase_add_loop_test(tcase, the_client_selects_the_format, 0, sizeof(accepts) / sizeof(accepts[0]));
    tcase_add_loop_test(tcase, addresses_are_parsed, 0, sizeof(addresses) / sizeof(addresses[0]));
    tcase_add_test(tcase, a_long_path_is_refused);
    tcase_add_loop_test(tcase, samples_are_written, 0, sizeof(lines) / sizeof(lines[0]));
    tcase_add_test(tcase, headers_depend_on_the_format);
    tcase_add_test(tcase, a_daemon_that_is_down_is_reported);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed > 0;
}
