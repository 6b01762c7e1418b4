/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Further outputs: selection of events, formats, rotation, and spools without a reader. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output_rig.h"
#include "sluice/output.h"
#include "sluice/rule.h"
#include "sluice/spool.h"

static char paths[3][80];
static struct output_destination destinations[3];

static void add_file(unsigned index, const char *name, enum output_format format, uint32_t kinds)
{
    snprintf(paths[index], sizeof(paths[index]), "%s/%s", output_rig->folder, name);
    destinations[index] = (struct output_destination){ .name = name,
                                                       .type = OUTPUT_FILE_REGULAR,
                                                       .format = format,
                                                       .path = paths[index],
                                                       .filter = { .kinds = kinds, .severity = UINT8_MAX } };
    output_rig->options.destinations = destinations;
    output_rig->options.destination_count = index + 1;
}

static void setup(void)
{
    output_rig_setup();
}

/* Removes the files of the test, whatever their names are. */
static void teardown(void)
{
    char path[400];
    struct dirent *entry;
    DIR *folder = opendir(output_rig->folder);

    while (folder && (entry = readdir(folder))) {
        snprintf(path, sizeof(path), "%s/%s", output_rig->folder, entry->d_name);
        if (entry->d_name[0] != '.')
            unlink(path);
    }
    if (folder)
        closedir(folder);
    output_rig_teardown();
}

/* Returns the text of a file, which the caller frees. */
static char *read_file(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = calloc(1, 1 << 16);

    ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_lt(fread(text, 1, (1 << 16) - 1, file), (1 << 16) - 1);
    fclose(file);
    return text;
}

static unsigned lines_of(const char *text)
{
    unsigned lines = 0;

    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

static void put_alert(uint8_t priority)
{
    sample_tcp(&output_rig->sample);
    sample_drop(&output_rig->sample);
    output_rig->sample.rule.priority = priority;
    output_rig_put(0);
}

START_TEST(test_destinations_select)
{
    char *text;

    add_file(0, "important.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    add_file(1, "drops.json", OUTPUT_EVE, 1u << OUTPUT_DROP);
    destinations[0].filter.severity = 2;
    output_rig->options.eve.sensor_name = "gateway \"1\"";
    output_rig->options.eve.suricata_version = true;
    output_rig_open(1);
    put_alert(2);
    output_stop(output_rig->output); /* before the rule of the sample changes */
    text = read_file(paths[0]);
    ck_assert_uint_eq(lines_of(text), 1);
    output_rig_expect(text, true, "\"event_type\":\"alert\"");
    output_rig_expect(text, true,
                      ",\"host\":\"gateway \\\"1\\\"\",\"suricata_version\":\"" RULE_SURICATA_VERSION "\"}\n");
    free(text);
    text = read_file(paths[1]);
    ck_assert_uint_eq(lines_of(text), 1);
    output_rig_expect(text, true, "\"event_type\":\"drop\"");
    free(text);
    text = read_file(output_rig->path);
    ck_assert_uint_eq(lines_of(text), 2);
    free(text);
}
END_TEST

START_TEST(test_destinations_severity)
{
    struct output_destination_counters counters;
    char *text;

    add_file(0, "important.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    destinations[0].filter.severity = 2;
    output_rig_open(1);
    put_alert(3);
    output_stop(output_rig->output);
    text = read_file(paths[0]);
    ck_assert_str_eq(text, "");
    free(text);
    ck_assert(output_destination_counters(output_rig->output, 0, &counters));
    ck_assert_uint_eq(counters.events, 0);
    ck_assert(!output_destination_counters(output_rig->output, 1, &counters));
}
END_TEST

/* The event file may get fewer events than a further output, or none. */
START_TEST(test_destinations_event_file)
{
    char *text;

    add_file(0, "alerts.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    output_rig->options.eve_filter.kinds = 1u << OUTPUT_DROP;
    output_rig->options.eve_filter.severity = UINT8_MAX;
    output_rig_open(1);
    put_alert(1);
    output_stop(output_rig->output);
    text = read_file(output_rig->path);
    ck_assert_uint_eq(lines_of(text), 1);
    output_rig_expect(text, true, "\"event_type\":\"drop\"");
    free(text);
    text = read_file(paths[0]);
    ck_assert_uint_eq(lines_of(text), 1);
    output_rig_expect(text, true, "\"event_type\":\"alert\"");
    free(text);
}
END_TEST

START_TEST(test_destinations_fast)
{
    char *text;

    add_file(0, "fast.log", OUTPUT_FAST, 1u << OUTPUT_ALERT);
    output_rig->options.eve_path = NULL;
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_drop(&output_rig->sample);
    output_rig->sample.rule.priority = 2;
    output_rig->sample.rule.message = "two\nlines";
    output_rig->sample.rule.class_description = "Misc Attack";
    output_rig_put(0);
    output_settle(output_rig->output);
    output_stop(output_rig->output);
    text = read_file(paths[0]);
    output_rig_expect(text, true, "01/01/2020-00:00:01.000123  [Drop] [**] [");
    output_rig_expect(text, true, "] two\\x0alines [**] [Classification: Misc Attack] [Priority: 2] {TCP} ");
    output_rig_expect(text, true, ":41234 -> ");
    output_rig_expect(text, true, ":80\n");
    ck_assert_uint_eq(lines_of(text), 1);
    free(text);
}
END_TEST

START_TEST(test_destinations_fast_icmp)
{
    char *text;

    add_file(0, "fast.log", OUTPUT_FAST, 1u << OUTPUT_ALERT);
    output_rig_open(1);
    sample_icmp(&output_rig->sample);
    output_rig->sample.rule.class_description = NULL;
    sample_alert(&output_rig->sample);
    output_rig_put(0);
    output_stop(output_rig->output);
    text = read_file(paths[0]);
    output_rig_expect(text, true, "[Classification: (null)]");
    output_rig_expect(text, true, "{ICMP} ");
    output_rig_expect(text, true, ":8 -> ");
    output_rig_expect(text, false, "[Drop]");
    free(text);
}
END_TEST

START_TEST(test_destinations_counters)
{
    static const struct output_stat stats[] = { { "flow.total", 7 }, { "decoder.pkts", 3 }, { "decoder.zero", 0 } };
    char *text;

    add_file(0, "stats.log", OUTPUT_COUNTERS, 1u << OUTPUT_STATS);
    output_rig_open(1);
    output_stats(output_rig->output, stats, 3, 90061, SAMPLE_TIME_NS);
    output_stop(output_rig->output);
    text = read_file(paths[0]);
    output_rig_expect(text, true, "Date: 01/01/2020 -- 00:00:01 (uptime: 1d, 01h 01m 01s)\n");
    output_rig_expect(text, true,
                      "decoder.pkts                                  | Total                     | 3\n"
                      "flow.total                                    | Total                     | 7\n---");
    output_rig_expect(text, false, "decoder.zero");
    free(text);
}
END_TEST

/* A file that reaches max-size is renamed; the newest renamed files are kept, and no line is lost or cut. */
START_TEST(test_destinations_rotation)
{
    unsigned lines = 0, files = 0;
    char path[400];
    struct dirent *entry;
    DIR *folder;

    add_file(0, "small.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    destinations[0].rotation = (struct output_rotation){ .max_size = 4000, .max_files = _i == 0 ? 0 : 2 };
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    for (int i = 0; i < 30; i++) {
        output_rig_put(0);
        output_settle(output_rig->output);
    }
    output_stop(output_rig->output);
    folder = opendir(output_rig->folder);
    ck_assert_ptr_nonnull(folder);
    while ((entry = readdir(folder))) {
        char *text;
        size_t length;

        if (strncmp(entry->d_name, "small.json", 10) != 0)
            continue;
        snprintf(path, sizeof(path), "%s/%s", output_rig->folder, entry->d_name);
        text = read_file(path);
        length = strlen(text);
        ck_assert_uint_le(length, 4000);
        ck_assert(length > 2 && text[0] == '{' && text[length - 2] == '}' && text[length - 1] == '\n');
        lines += lines_of(text);
        files++;
        free(text);
    }
    closedir(folder);
    if (_i == 0) {
        ck_assert_uint_eq(lines, 30);
        ck_assert_uint_gt(files, 3);
    } else {
        ck_assert_uint_eq(files, 3);
    }
}
END_TEST

START_TEST(test_rotation_interval)
{
    static const struct {
        const char *value;
        uint64_t seconds; /* 0: refused */
    } cases[] = { { "minute", 60 },  { "hour", 3600 }, { "day", 86400 }, { "30s", 30 },  { "10m", 600 },
                  { "2w", 1209600 }, { "30", 0 },      { "0s", 0 },      { "", 0 },      { "s", 0 },
                  { "-1h", 0 },      { "1y", 0 },      { "hours", 0 },   { "1h 30m", 0 } };

    for (int i = 0; i < ROWS(cases); i++) {
        uint64_t seconds = 0;

        ck_assert_msg(output_rotation_interval(cases[i].value, &seconds) == (cases[i].seconds > 0), "%s",
                      cases[i].value);
        ck_assert_uint_eq(seconds, cases[i].seconds);
    }
}
END_TEST

/* Without sluice-ship the events wait in the spool; those that do not fit are lost and counted. */
START_TEST(test_destinations_spool_full)
{
    struct output_destination_counters counters;

    destinations[0] = (struct output_destination){ .name = "server",
                                                   .type = OUTPUT_FILE_REDIS,
                                                   .buffer_size = SPOOL_MIN_SIZE,
                                                   .filter = { .kinds = 1u << OUTPUT_ALERT, .severity = UINT8_MAX } };
    output_rig->options.destinations = destinations;
    output_rig->options.destination_count = 1;
    output_rig->options.ship_socket = "/nonexistent/socket";
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    sample_alert(&output_rig->sample);
    for (int i = 0; i < 500; i++)
        output_rig_put(0);
    output_stop(output_rig->output);
    ck_assert(output_destination_counters(output_rig->output, 0, &counters));
    ck_assert_uint_eq(counters.events, 500);
    ck_assert_uint_gt(counters.waiting, 50);
    ck_assert_uint_gt(counters.lost_full, 50);
    ck_assert_uint_eq(counters.waiting + counters.lost_full, 500);
    ck_assert(!counters.is_shipped && !counters.connected);
    ck_assert_uint_eq(output_rig_counters().lost[OUTPUT_ALERT], 0); /* the event file has them all */
}
END_TEST

START_TEST(test_destinations_open_fails)
{
    char error[256] = "";

    add_file(0, "missing/x.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    ck_assert_int_eq(output_open(&output_rig->output, &output_rig->options, 1, error), -ENOENT);
    output_rig_expect(error, true, "cannot open output missing/x.json, file ");
    output_rig->output = NULL;
}
END_TEST

static char reported[200];

static void report(void *user, const char *name, const char *cause)
{
    (void)user;
    snprintf(reported, sizeof(reported), "%s: %s", name, cause);
}

static struct output_change *prepare(const struct output_options *options)
{
    struct output_change *change = NULL;

    reported[0] = '\0';
    ck_assert_int_eq(output_change_new(&change, output_rig->output, options, report, NULL), 0);
    return change;
}

static void apply(struct output_change *change)
{
    output_port_change(output_port(output_rig->output, 0), change);
    output_change(output_rig->output, change);
    output_settle(output_rig->output);
    output_change_end(output_rig->output);
}

static void expect_lines(const char *path, unsigned lines)
{
    char *text = read_file(path);

    ck_assert_msg(lines_of(text) == lines, "%s: %u lines, not %u: %s", path, lines_of(text), lines, text);
    free(text);
}

/* Reloads: an output stays with other events, one is removed, one is new, and one cannot be opened. Loop 1: a change
 * that is not applied, because the rules cannot be loaded, comes before. */
START_TEST(test_reload)
{
    struct output_destination_counters counters;
    struct output_options next;
    struct output_change *change;

    add_file(0, "stays.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    add_file(1, "ends.json", OUTPUT_EVE, 1u << OUTPUT_ALERT | 1u << OUTPUT_DROP);
    output_rig->options.eve.enabled[OUTPUT_DROP] = false;
    output_rig->options.eve_filter = (struct output_filter){ .kinds = 1u << OUTPUT_ALERT, .severity = UINT8_MAX };
    output_rig_open(1);
    ck_assert_int_eq(output_start(output_rig->output), 0);
    put_alert(1);
    output_settle(output_rig->output);
    expect_lines(paths[0], 1);
    expect_lines(paths[1], 1);

    next = output_rig->options;
    next.eve.enabled[OUTPUT_DROP] = true;
    destinations[0].filter.kinds = 1u << OUTPUT_DROP;
    add_file(1, "new.json", OUTPUT_EVE, 1u << OUTPUT_ALERT | 1u << OUTPUT_DROP);
    add_file(2, "no/folder.json", OUTPUT_EVE, 1u << OUTPUT_ALERT);
    next.destinations = destinations;
    next.destination_count = 3;
    for (int i = 0; i < _i; i++) {
        change = prepare(&next);
        output_change_free(change, output_rig->output);
    }
    change = prepare(&next);
    ck_assert_msg(strstr(reported, "no/folder.json: cannot open its file"), "%s", reported);
    apply(change);
    ck_assert(output_destination_counters(output_rig->output, 1, &counters));
    ck_assert_str_eq(counters.name, "new.json");
    ck_assert(!output_destination_counters(output_rig->output, 2, &counters));
    put_alert(1);
    output_settle(output_rig->output);
    expect_lines(paths[0], 2); /* the alert of the start, and a drop */
    expect_lines(paths[1], 2); /* an alert and a drop */
    ck_assert(output_destination_counters(output_rig->output, 0, &counters));
    ck_assert_uint_eq(counters.events, 2);

    /* A buffer for sluice-ship is not changed, and the outputs that are not configured any more end. */
    destinations[0] = (struct output_destination){ .name = "server",
                                                   .type = OUTPUT_FILE_SYSLOG,
                                                   .buffer_size = SPOOL_MIN_SIZE,
                                                   .filter = { .kinds = 1u << OUTPUT_ALERT, .severity = UINT8_MAX } };
    next.destination_count = 1;
    change = prepare(&next);
    ck_assert_msg(strstr(reported, "server: the buffer for sluice-ship"), "%s", reported);
    apply(change);
    ck_assert(!output_destination_counters(output_rig->output, 0, &counters));
    put_alert(1);
    output_settle(output_rig->output);
    expect_lines(paths[1], 2);
    expect_lines(output_rig->path, 3); /* the event file gets alerts only */
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output_destinations");
    TCase *tests = tcase_create("destinations");

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_destinations_select);
    tcase_add_test(tests, test_destinations_severity);
    tcase_add_test(tests, test_destinations_event_file);
    tcase_add_test(tests, test_destinations_fast);
    tcase_add_test(tests, test_destinations_fast_icmp);
    tcase_add_test(tests, test_destinations_counters);
    tcase_add_loop_test(tests, test_destinations_rotation, 0, 2);
    tcase_add_test(tests, test_rotation_interval);
    tcase_add_test(tests, test_destinations_spool_full);
    tcase_add_test(tests, test_destinations_open_fails);
    tcase_add_loop_test(tests, test_reload, 0, 2);
    suite_add_tcase(suite, tests);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
