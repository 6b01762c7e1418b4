/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The configuration: syntax and values of files, and positions of errors. */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/config.h"
#include "sluice/output.h"
#include "sluice/daemon.h"
#include "sluice/text.h"

static struct config *config;
static struct diag *diag;

static void setup(void)
{
    ck_assert_int_eq(daemon_new_config(&config), 0);
    diag = diag_new();
    ck_assert_ptr_nonnull(diag);
}

static void teardown(void)
{
    config_free(config);
    diag_free(diag);
}

static void parse(const char *text)
{
    ck_assert_int_eq(config_parse(config, "test.yaml", text, strlen(text), CONFIG_STRICT, diag), 0);
}

static void parse_clean(const char *text)
{
    parse(text);
    for (size_t i = 0; i < diag_count(diag); i++)
        diag_print_entry(diag_get(diag, i), stderr, false);
    ck_assert_uint_eq(diag_count(diag), 0);
}

/* Returns the value of a setting, by config_fill() with a row for it. Numbers, booleans and enums are in canonical
 * form. */
static const char *string_of(const char *name)
{
    const struct setting rows[] = { { .name = name, .type = SETTING_STRING, .size = sizeof(char *) },
                                    { .name = NULL } };
    const char *value = NULL;

    config_fill(config, rows, NULL, &value);
    return value;
}

static int64_t number_of(const char *name)
{
    return strtoll(string_of(name), NULL, 10);
}

static const char *const *list_of(const char *name)
{
    const struct setting rows[] = { { .name = name, .type = SETTING_LIST, .size = sizeof(char **) }, { .name = NULL } };
    const char *const *list = NULL;

    config_fill(config, rows, NULL, &list);
    return list;
}

static size_t count_of(const char *name)
{
    const char *const *list = list_of(name);
    size_t count = 0;

    while (list[count])
        count++;
    return count;
}

static bool has_section(const char *name)
{
    const struct setting rows[] = { { .name = name, .type = SETTING_SECTION, .size = sizeof(bool) }, { .name = NULL } };
    bool present = false;

    config_fill(config, rows, NULL, &present);
    return present;
}

/* --- Values --------------------------------------------------------------------------------------- */

START_TEST(defaults_come_from_the_table)
{
    ck_assert_str_eq(string_of("queue.numbers"), "0");
    ck_assert_str_eq(string_of("queue.verdict"), "accept");
    ck_assert_ptr_null(string_of("queue.mark"));
    ck_assert_int_eq(number_of("queue.length"), 4096);
    ck_assert_int_eq(number_of("threshold.memcap"), 16 << 20);
    ck_assert_ptr_null(string_of("queue.route-to"));
    ck_assert_str_eq(string_of("queue.gso"), "yes");
    ck_assert_str_eq(string_of("queue.fail-open"), "no");
    ck_assert(!config_is_set(config, "queue.length"));
    ck_assert_uint_eq(count_of("action-order"), 4);
    ck_assert_str_eq(list_of("action-order")[2], "reject");
    ck_assert_ptr_null(list_of("action-order")[4]);
    ck_assert_uint_eq(count_of("rule-files"), 0);
    ck_assert_uint_eq(config_position(config, "queue.length").line, 0);
}
END_TEST

static const struct {
    const char *text, *name, *value; /* as string_of() */
} good_values[] = {
    { "queue.length: 100", "queue.length", "100" },
    { "queue: {length: 0x10}", "queue.length", "16" },
    { "queue:\n  length: 100\n", "queue.length", "100" },
    { "queue: {receive-buffer: 1 MiB}", "queue.receive-buffer", "1048576" },
    { "queue: {receive-buffer: 4k}", "queue.receive-buffer", "4096" },
    { "queue: {receive-buffer: 2mb}", "queue.receive-buffer", "2097152" },
    { "queue: {receive-buffer: 65536}", "queue.receive-buffer", "65536" },
    { "queue: {receive-buffer: 512 B}", "queue.receive-buffer", "512" },
    { "queue: {fail-open: on}", "queue.fail-open", "yes" },
    { "queue: {fail-open: TRUE}", "queue.fail-open", "yes" },
    { "queue: {fail-open: \"yes\"}", "queue.fail-open", "yes" },
    { "queue: {gso: off}", "queue.gso", "no" },
    { "queue: {verdict: Repeat}", "queue.verdict", "repeat" },
    { "replay: {checksum-checks: true}", "replay.checksum-checks", "yes" },
    { "replay: {checksum-checks: no}", "replay.checksum-checks", "no" },
    { "replay: {checksum-checks: auto}", "replay.checksum-checks", "auto" },
    { "queue: {mark: 0x1/0x1}", "queue.mark", "0x1/0x1" },
    { "queue: {numbers: '0-3,8'}", "queue.numbers", "0-3,8" },
    { "queue: {numbers: 7}", "queue.numbers", "7" },
    { "queue: {length: }", "queue.length", "4096" },
    { "queue: {length: ~}", "queue.length", "4096" },
    { "threshold-file: t.config", "threshold-file", "t.config" },
    { "threshold-file: /etc/t.config", "threshold-file", "/etc/t.config" },
    { "vars: {address-groups: {A: '[10.0.0.0/8,!10.1.0.0/16]'}}", "vars.address-groups.A",
      "[10.0.0.0/8,!10.1.0.0/16]" },
    { "vars: {address-groups: {A: [10.0.0.0/8, [\"::1\", $B]]}}", "vars.address-groups.A", "[10.0.0.0/8,[::1,$B]]" },
    { "vars: {port-groups: {P: 80}}", "vars.port-groups.P", "80" },
    { "queues: {\"0-3\": {verdict: repeat}}", "queues.0-3.verdict", "repeat" },
    { "nft: {priority: -150}", "nft.priority", "-150" },
    { "%YAML 1.1\n---\nqueue: {length: 5}\n...\n", "queue.length", "5" },
    { "\xEF\xBB\xBFqueue: {length: 6}", "queue.length", "6" },
    { "", "queue.length", "4096" },
    { "# nothing\n", "queue.length", "4096" },
    { "queue: &q {length: 7}\nqueues: {\"0\": *q}", "queues.0.length", "7" },
    { "queue: {length: !!int 8}", "queue.length", "8" },
};

START_TEST(takes_good_values)
{
    const char *name = good_values[_i].name;

    parse_clean(good_values[_i].text);
    ck_assert_str_eq(string_of(name), good_values[_i].value);
}
END_TEST

static const struct {
    const char *text;
    unsigned line, column;
    const char *message; /* a part of the expected message */
} bad_values[] = {
    { "queue:\n  length: abc\n", 2, 11, "'queue.length' needs a number from 1 to 1048576, got 'abc'" },
    { "queue: {length: 0}", 1, 17, "got '0'" },
    { "queue: {length: 99999999}", 1, 17, "from 1 to 1048576" },
    { "queue: {length: 99999999999999999999999}", 1, 17, "from 1 to 1048576" },
    { "queue: {length: 5x}", 1, 17, "got '5x'" },
    { "queue: {length: [1, 2]}", 1, 17, "got a list" },
    { "queue: {length: {a: 1}}", 1, 17, "got a mapping" },
    { "queue: {receive-buffer: 4 parsecs}", 1, 25, "needs a size" },
    { "queue: {receive-buffer: 9999999999999999 G}", 1, 25, "needs a size" },
    { "queue: {gso: maybe}", 1, 14, "needs yes or no, got 'maybe'" },
    { "queue: {verdict: accpet}", 1, 18, "needs accept, repeat or route, got 'accpet'" },
    { "queue: {verdict: yes}", 1, 18, "needs accept, repeat or route" },
    { "queue: {mark: 1}", 1, 15, "MARK/MASK" },
    { "queue: {mark: 0x2/0x1}", 1, 15, "MARK/MASK" },
    { "queue: {mark: 0x1/0}", 1, 15, "MARK/MASK" },
    { "queue: {numbers: 3-1}", 1, 18, "queue numbers" },
    { "queue: {numbers: '0,0'}", 1, 18, "queue numbers" },
    { "queue: {numbers: 65536}", 1, 18, "queue numbers" },
    { "queue: {numbers: '0,'}", 1, 18, "queue numbers" },
    { "nft: {table: a b}", 1, 14, "letters, digits" },
    { "nft: {table: 5a}", 1, 14, "does not begin with a digit" },
    { "queue: 5", 1, 8, "'queue' needs settings below it, got '5'" },
    { "queue: [length]", 1, 8, "'queue' needs settings below it, got a list" },
    { "action-order: [pass, dorp]", 1, 22, "needs pass, drop, reject or alert, got 'dorp'" },
    { "action-order: [pass, [drop]]", 1, 22, "got a list" },
    { "action-order: {pass: drop}", 1, 15, "needs a list, got a mapping" },
    { "threading: {worker-cpu-set: [0-3, x]}", 1, 35, "CPU numbers" },
    { "nft: {table: 'a b'}", 1, 14, "a name of letters" },
    { "vars: {address-groups: {A: {b: c}}}", 1, 28, "needs a single value, got a mapping" },
    { "vars: {address-groups: {A: [{b: c}]}}", 1, 29, "needs single values in its list, got a mapping" },
    { "vars:\n  address-groups:\n    E: !$HOME_NET\n", 3, 8, "must be in quotes" },
    { "rule-files: [*.rules]", 1, 15, "must be in quotes" },
    { "queue: {lenght: 5}", 1, 9, "unknown setting 'queue.lenght', did you mean 'queue.length'?" },
    { "queue: {nonsense: 5}", 1, 9, "unknown setting 'queue.nonsense' (`sluice settings queue` lists those of" },
    { "queue: {queue: {length: 5}}", 1, 9, "unknown setting 'queue.queue' (`sluice settings queue` lists those of" },
    { "queue-numbers: 5", 1, 1, "unknown setting 'queue-numbers'" },
    { "fail-open: yes", 1, 1, "did you mean 'queue.fail-open'?" },
    { "default-log-dir: /x", 1, 1, "did you mean 'log-dir'?" },
    { "streams: {midstream: true}", 1, 1, "unknown setting 'streams'" },
    { "eve: {types: {alret: {}}}", 1, 15, "did you mean 'eve.types.alert'?" },
    { "eve: {types: {htttp: {}}}", 1, 15, "did you mean 'eve.types.http'?" },
    { "queue: {.length: 5}", 1, 9, "unknown setting" },
    { "queue..length: 5", 1, 1, "unknown setting" },
    { "packet-alert-max: 1\npacket-alert-max: 2", 2, 1, "'packet-alert-max' is set twice, first in line 1" },
    { "queue.length: 1\nqueue: {length: 2}", 2, 9, "'queue.length' is set twice, first in line 1" },
    { "queue: {length: 1}\n---\nqueue: {length: 2}", 2, 1, "a second document" },
    { "- a\n- b\n", 1, 1, "a configuration is a mapping" },
    { "abc", 1, 1, "a configuration is a mapping" },
    { "queue: {length: 1", 1, 18, "YAML" },
    { "queue: *nothing", 1, 8, "no anchor '&nothing'" },
    { "a: &a [*a]", 1, 8, "no anchor '&a'" },
    { "<<: {a: b}", 1, 1, "merge keys" },
    { "? [a]\n: b", 1, 3, "a key must be a plain name" },
    { "include: [[a]]", 1, 11, "'include' needs the name of a file" },
    { "include: /nonexistent/file.yaml", 1, 10, "cannot read '/nonexistent/file.yaml': No such file" },
    { "queue: {length: \"1\\0\"}", 1, 17, "NUL" },
};

START_TEST(points_at_the_mistake)
{
    const struct diag_entry *entry;

    parse(bad_values[_i].text);
    ck_assert_uint_ge(diag_errors(diag), 1);
    entry = diag_get(diag, 0);
    ck_assert_msg(strstr(entry->message, bad_values[_i].message), "%s: %s", bad_values[_i].text, entry->message);
    ck_assert_uint_eq(entry->line, bad_values[_i].line);
    ck_assert_uint_eq(entry->column, bad_values[_i].column);
    ck_assert_str_eq(entry->file, "test.yaml");
}
END_TEST

START_TEST(a_mistake_leaves_the_default_and_the_rest_is_read)
{
    parse("queue: {length: abc, batch: 32, verdict: no}\nnonsense: 1\nstats: {interval: 5}\n");
    ck_assert_uint_eq(diag_errors(diag), 3);
    ck_assert_int_eq(number_of("queue.length"), 4096);
    ck_assert_int_eq(number_of("queue.batch"), 32);
    ck_assert_str_eq(string_of("queue.verdict"), "accept");
    ck_assert_int_eq(number_of("stats.interval"), 5);
}
END_TEST

START_TEST(unknown_settings_are_warnings_when_lenient)
{
    const char *text = "nonsense: {midstream: true}\nqueue: {length: 0}\n";

    ck_assert_int_eq(config_parse(config, "t", text, strlen(text), CONFIG_LENIENT, diag), 0);
    ck_assert_uint_eq(diag_warnings(diag), 1);
    ck_assert_uint_eq(diag_errors(diag), 1); /* a wrong value is still an error */
}
END_TEST

START_TEST(positions_are_of_the_value)
{
    struct position at;

    parse_clean("# a comment\nqueue:\n    mark: 0x1/0xff\n");
    at = config_position(config, "queue.mark");
    ck_assert_uint_eq(at.line, 3);
    ck_assert_uint_eq(at.column, 11);
    ck_assert_uint_eq(at.width, 8);
    ck_assert_str_eq(at.file, "test.yaml");
    ck_assert_int_eq(strncmp(at.line_text, "    mark: 0x1/0xff", 18), 0);
}
END_TEST

START_TEST(lines_count_by_any_line_break)
{
    parse("a: 1\r\nb: 2\r\nqueue: {length: x}\r\n");
    ck_assert_uint_eq(diag_get(diag, 2)->line, 3);
    ck_assert_int_eq(strncmp(diag_get(diag, 2)->line_text, "queue: {length: x}", 18), 0);
}
END_TEST

/* --- Lists and sections --------------------------------------------------------------------------- */

START_TEST(a_single_value_is_a_list_of_one)
{
    parse_clean("rule-files: a.rules\nthreading: {worker-cpu-set: 0-3}\nnft: {hooks: 'forward, input'}");
    ck_assert_uint_eq(count_of("rule-files"), 1);
    ck_assert_str_eq(list_of("rule-files")[0], "a.rules");
    ck_assert_uint_eq(count_of("threading.worker-cpu-set"), 1);
    ck_assert_uint_eq(count_of("nft.hooks"), 2);
    ck_assert_str_eq(list_of("nft.hooks")[1], "input");
}
END_TEST

START_TEST(an_empty_list_is_set)
{
    parse_clean("nft: {hooks: []}");
    ck_assert(config_is_set(config, "nft.hooks"));
    ck_assert_uint_eq(count_of("nft.hooks"), 0);
}
END_TEST

static const struct {
    const char *text;
    bool alert, drop, stats, metadata;
    size_t count; /* SIZE_MAX: those of the default */
} event_types[] = {
    { "", true, true, true, true, SIZE_MAX },
    { "eve: {pcap-file: yes}", true, true, true, true, SIZE_MAX },
    { "eve: {types: {}}", false, false, false, true, 0 },
    { "eve: {types: }", false, false, false, true, 0 },
    { "eve: {types: no}", false, false, false, true, 0 },
    { "eve: {types: {alert: {}}}", true, false, false, true, 1 },
    { "eve: {types: {alert: , drop: yes, stats: no}}", true, true, false, true, 3 },
    { "eve: {types: {alert: {metadata: no}}}", true, false, false, false, 1 },
    { "eve: {types: {alert: {metadata: {rule: {raw: yes}}}}}", true, false, false, true, 1 },
    { "eve: {types: [alert, drop: {alerts: yes}]}", true, true, false, true, 2 },
};

START_TEST(event_types_are_what_is_named)
{
    const struct setting *row = eve_settings;
    size_t count = 0, all = 0;

    parse_clean(event_types[_i].text);
    ck_assert_int_eq(has_section("eve.types.alert"), event_types[_i].alert);
    ck_assert_int_eq(has_section("eve.types.drop"), event_types[_i].drop);
    ck_assert_int_eq(has_section("eve.types.stats"), event_types[_i].stats);
    ck_assert_int_eq(has_section("eve.types.alert.metadata"), event_types[_i].metadata);
    while (config_each(config, "eve.types", count))
        count++;
    while (strcmp(row->name, "eve.types") != 0)
        row++;
    while (row->choices[all])
        all++;
    ck_assert_uint_gt(all, 20);
    ck_assert_uint_eq(count, event_types[_i].count == SIZE_MAX ? all : event_types[_i].count);
}
END_TEST

START_TEST(later_event_types_are_warned_about)
{
    parse("eve: {types: {ndpi: {extended: yes, custom: [a, {b: c}]}, imap: , telnet: no, drop: {flows: all}}}");
    ck_assert_uint_eq(diag_errors(diag), 0);
    ck_assert_uint_eq(diag_warnings(diag), 2);
    ck_assert_str_eq(diag_get(diag, 0)->message,
                     "'eve.types.ndpi' is accepted, but Sluice does not write events of this type yet");
}
END_TEST

START_TEST(each_goes_in_the_order_of_the_file)
{
    parse_clean("queues: {\"4\": {length: 1}, \"0-3\": {length: 2}}\nvars: {address-groups: {B: any, A: any}}");
    ck_assert_str_eq(config_each(config, "queues", 0), "4");
    ck_assert_str_eq(config_each(config, "queues", 1), "0-3");
    ck_assert_ptr_null(config_each(config, "queues", 2));
    ck_assert_str_eq(config_each(config, "vars.address-groups", 0), "B");
    ck_assert_ptr_null(config_each(config, "vars.port-groups", 0));
}
END_TEST

START_TEST(later_files_win)
{
    parse_clean("queue: {length: 1, batch: 2}\neve: {types: {alert: {payload: yes}}}\nnft: {hooks: [input, output]}");
    parse_clean("queue: {length: 3}\neve: {types: {alert: no}}\nnft: {hooks: [forward]}");
    ck_assert_int_eq(number_of("queue.length"), 3);
    ck_assert_int_eq(number_of("queue.batch"), 2);
    ck_assert(!has_section("eve.types.alert"));
    ck_assert_uint_eq(count_of("nft.hooks"), 1);
    parse_clean("eve: {types: {alert: {packet: yes}}}");
    ck_assert(has_section("eve.types.alert"));
    ck_assert_str_eq(string_of("eve.types.alert.payload"), "no");
}
END_TEST

/* --- Command line --------------------------------------------------------------------------------- */

static const struct {
    const char *assignment;
    int err;
    const char *name, *value;
} assignments[] = {
    { "queue.length=5", 0, "queue.length", "5" },
    { "queue.mark=0x1/0x1", 0, "queue.mark", "0x1/0x1" },
    { "vars.address-groups.EXTERNAL_NET=!$HOME_NET", 0, "vars.address-groups.EXTERNAL_NET", "!$HOME_NET" },
    { "vars.address-groups.HOME_NET=[10.0.0.0/8,!10.1.1.1]", 0, "vars.address-groups.HOME_NET",
      "[10.0.0.0/8,!10.1.1.1]" },
    { "queue.length=", 0, "queue.length", "4096" },
    { "log-dir=a=b", 0, "log-dir", "a=b" },
    { "nft.hooks=[forward, input]", 0, NULL, NULL },
    { "nft.hooks=forward,input", 0, NULL, NULL },
    { "eve.types={alert: {payload: yes}}", 0, "eve.types.alert.payload", "yes" },
    { "eve.types.drop=no", 0, NULL, NULL },
    { "queue.length", -EINVAL, NULL, NULL },
    { "=5", -EINVAL, NULL, NULL },
    { "", -EINVAL, NULL, NULL },
    { "queue.length=x", -EINVAL, NULL, NULL },
    { "queue.lenght=5", -EINVAL, NULL, NULL },
    { "queue=5", -EINVAL, NULL, NULL },
    { "nft.hooks=[forward", -EINVAL, NULL, NULL },
};

START_TEST(one_setting_from_the_command_line)
{
    ck_assert_int_eq(config_set(config, assignments[_i].assignment, diag), assignments[_i].err);
    ck_assert_uint_eq(diag_errors(diag), assignments[_i].err ? 1 : 0);
    if (assignments[_i].name)
        ck_assert_str_eq(string_of(assignments[_i].name), assignments[_i].value);
}
END_TEST

START_TEST(the_command_line_wins_and_may_repeat)
{
    parse_clean("queue: {length: 1}");
    ck_assert_int_eq(config_set(config, "queue.length=2", diag), 0);
    ck_assert_int_eq(config_set(config, "queue.length=3", diag), 0);
    ck_assert_int_eq(number_of("queue.length"), 3);
}
END_TEST

/* --- Files ---------------------------------------------------------------------------------------- */

static char folder[64];

static void write_file(const char *name, const char *text)
{
    char path[256];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static int load(const char *name)
{
    char path[256];

    snprintf(path, sizeof(path), "%s/%s", folder, name);
    return config_load(config, path, CONFIG_STRICT, diag);
}

static void setup_files(void)
{
    char path[128];

    setup();
    snprintf(folder, sizeof(folder), "%s/config.XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/sub", folder);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void teardown_files(void)
{
    static const char *const names[] = { "main.yaml", "sub/a.yaml", "sub/b.yaml", "sub", "" };
    char path[256];

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
        remove(path);
    }
    teardown();
}

START_TEST(paths_are_relative_to_their_file)
{
    char want[256];

    write_file("main.yaml", "rule-files: [a.rules, /b.rules]\ninclude: sub/a.yaml\n");
    write_file("sub/a.yaml", "threshold-file: t.config\ninclude: [b.yaml]\n");
    write_file("sub/b.yaml", "queue: {length: 9}\n");
    ck_assert_int_eq(load("main.yaml"), 0);
    ck_assert_uint_eq(diag_count(diag), 0);
    snprintf(want, sizeof(want), "%s/a.rules", folder);
    ck_assert_str_eq(list_of("rule-files")[0], want);
    ck_assert_str_eq(list_of("rule-files")[1], "/b.rules");
    snprintf(want, sizeof(want), "%s/sub/t.config", folder);
    ck_assert_str_eq(string_of("threshold-file"), want);
    ck_assert_int_eq(number_of("queue.length"), 9);
}
END_TEST

START_TEST(mistakes_name_the_included_file)
{
    char want[256];

    write_file("main.yaml", "include: sub/a.yaml\nqueue: {length: y}\n");
    write_file("sub/a.yaml", "\n\nqueue: {batch: x}\n");
    ck_assert_int_eq(load("main.yaml"), 0);
    ck_assert_uint_eq(diag_errors(diag), 2);
    snprintf(want, sizeof(want), "%s/sub/a.yaml", folder);
    ck_assert_str_eq(diag_get(diag, 0)->file, want);
    ck_assert_uint_eq(diag_get(diag, 0)->line, 3);
    ck_assert_uint_eq(diag_get(diag, 1)->line, 2);
}
END_TEST

START_TEST(what_stands_later_wins_over_an_include)
{
    write_file("main.yaml", "queue: {length: 1}\ninclude: sub/a.yaml\npacket-alert-max: 3\n");
    write_file("sub/a.yaml", "queue: {length: 2}\npacket-alert-max: 2\n");
    ck_assert_int_eq(load("main.yaml"), 0);
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_int_eq(number_of("queue.length"), 2);
    ck_assert_int_eq(number_of("packet-alert-max"), 3);
}
END_TEST

START_TEST(an_include_of_itself_ends)
{
    write_file("main.yaml", "include: [main.yaml, main.yaml]\n");
    ck_assert_int_eq(load("main.yaml"), 0);
    ck_assert_uint_ge(diag_errors(diag), 1);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "includes itself"));
}
END_TEST

START_TEST(a_missing_file_is_reported)
{
    ck_assert_int_eq(load("absent.yaml"), -ENOENT);
    ck_assert_int_eq(load("sub"), -EISDIR);
    ck_assert_uint_eq(diag_errors(diag), 2);
}
END_TEST

/* --- Bounds --------------------------------------------------------------------------------------- */

static void repeat(struct text *text, const char *string, size_t count)
{
    for (size_t i = 0; i < count; i++)
        text_puts(text, string);
}

START_TEST(depth_is_bounded)
{
    struct text text;

    text_init(&text);
    text_puts(&text, "eve: {types: {http: ");
    repeat(&text, "[", 5000);
    repeat(&text, "]", 5000);
    text_puts(&text, "}}");
    parse(text.bytes);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "levels"));
    text_clear(&text);
}
END_TEST

START_TEST(aliases_cant_explode)
{
    struct text text;

    text_init(&text);
    text_puts(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (unsigned i = 1; i < 9; i++) {
        text_printf(&text, "a%u: &a%u [", i, i);
        for (unsigned k = 0; k < 10; k++)
            text_printf(&text, "%s*a%u", k ? ", " : "", i - 1);
        text_puts(&text, "]\n");
    }
    parse(text.bytes);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "more than"));
    text_clear(&text);
}
END_TEST

START_TEST(members_are_bounded)
{
    struct text text;

    text_init(&text);
    for (unsigned i = 0; i < 5000; i++)
        text_printf(&text, "k%u: 1\n", i);
    parse(text.bytes);
    ck_assert_ptr_nonnull(strstr(diag_get(diag, 0)->message, "more than 4096 members"));
    text_clear(&text);
}
END_TEST

/* --- Variables and ports -------------------------------------------------------------------------- */

static const char *variable(enum config_variable_kind kind, const char *name)
{
    struct config_variable row;

    for (size_t i = 0; config_variable(config, kind, i, &row); i++)
        if (strcmp(row.name, name) == 0)
            return row.value;
    return NULL;
}

START_TEST(variables_have_defaults_by_name)
{
    struct config_variable row;
    size_t homes = 0;

    ck_assert_str_eq(variable(CONFIG_ADDRESS_VARIABLE, "EXTERNAL_NET"), "!$HOME_NET");
    parse_clean(
        "vars: {address-groups: {MINE: 10.0.0.1, HOME_NET: 10.0.0.0/8}, port-groups: {HTTP_PORTS: '[80,8080]'}}");
    ck_assert(config_variable(config, CONFIG_ADDRESS_VARIABLE, 0, &row));
    ck_assert_str_eq(row.name, "MINE");
    ck_assert_str_eq(variable(CONFIG_ADDRESS_VARIABLE, "HOME_NET"), "10.0.0.0/8");
    ck_assert_str_eq(variable(CONFIG_ADDRESS_VARIABLE, "EXTERNAL_NET"), "!$HOME_NET");
    ck_assert_str_eq(variable(CONFIG_PORT_VARIABLE, "HTTP_PORTS"), "[80,8080]");
    ck_assert_str_eq(variable(CONFIG_PORT_VARIABLE, "SSH_PORTS"), "22");
    ck_assert_ptr_null(variable(CONFIG_PORT_VARIABLE, "HOME_NET"));
    for (size_t i = 0; config_variable(config, CONFIG_ADDRESS_VARIABLE, i, &row); i++)
        homes += strcmp(row.name, "HOME_NET") == 0;
    ck_assert_uint_eq(homes, 1);
}
END_TEST

static const struct {
    const char *value;
    int count;
    uint16_t first, last;
    bool any;
} port_lists[] = {
    { "$TEREDO_PORTS", 1, 3544, 3544, false },
    { "any", 0, 0, 0, true },
    { "[3544, 3545]", 2, 3544, 3545, false },
    { "'[1:3,$VXLAN_PORTS]'", 4, 1, 4789, false },
    { "9", 1, 9, 9, false },
    { "$NOTHING", -EINVAL, 0, 0, false },
    { "$LOOP", -EINVAL, 0, 0, false },
    { "65536", -EINVAL, 0, 0, false },
    { "'3:1'", -EINVAL, 0, 0, false },
    { "'1:100'", -EINVAL, 0, 0, false },
    { "'!80'", -EINVAL, 0, 0, false },
    { "'1,'", -EINVAL, 0, 0, false },
};

START_TEST(ports_of_tunnels)
{
    uint16_t ports[16] = { 0 };
    bool any = false;
    char text[256];

    snprintf(text, sizeof(text), "vars: {port-groups: {LOOP: $LOOP}}\ndecoder: {teredo: {ports: %s}}",
             port_lists[_i].value);
    parse_clean(text);
    ck_assert_int_eq(
        config_ports(config, "decoder.teredo.ports", string_of("decoder.teredo.ports"), ports, 16, &any, diag),
        port_lists[_i].count);
    ck_assert_uint_eq(diag_errors(diag), port_lists[_i].count < 0);
    if (port_lists[_i].count < 0)
        return;
    ck_assert_int_eq(any, port_lists[_i].any);
    ck_assert_uint_eq(ports[0], port_lists[_i].first);
    if (port_lists[_i].count > 0)
        ck_assert_uint_eq(ports[port_lists[_i].count - 1], port_lists[_i].last);
}
END_TEST

START_TEST(ranges_and_marks)
{
    uint32_t out[8], mark = 7, mask = 7;

    ck_assert_int_eq(config_ranges("0-3, 8", 10, out, 8), 5);
    ck_assert_uint_eq(out[0], 0);
    ck_assert_uint_eq(out[4], 8);
    ck_assert_int_eq(config_ranges("0-7", 10, out, 8), 8);
    ck_assert_int_eq(config_ranges("0-8", 10, out, 8), -EINVAL);
    ck_assert_int_eq(config_ranges("11", 10, out, 8), -EINVAL);
    ck_assert_int_eq(config_ranges("1-2-3", 10, out, 8), -EINVAL);
    ck_assert_int_eq(config_ranges("-1", 10, out, 8), -EINVAL);
    ck_assert_int_eq(config_ranges("1,1-2", 10, out, 8), -EINVAL);
    ck_assert(config_mark("0x10/0xf0", &mark, &mask));
    ck_assert_uint_eq(mark, 0x10);
    ck_assert_uint_eq(mask, 0xf0);
    ck_assert(!config_mark("0x1/0x1/0x1", &mark, &mask));
    ck_assert(!config_mark("/0x1", &mark, &mask));
    ck_assert_uint_eq(mark, 0x10); /* untouched on failure */
}
END_TEST

static const struct {
    const char *text;
    int64_t seconds; /* -1: not a valid time */
} durations[] = {
    { "0", 0 },       { "90", 90 },     { "90s", 90 },     { "15m", 900 }, { "2 min", 120 },
    { "12h", 43200 }, { "7d", 604800 }, { "2w", 1209600 }, { "", -1 },     { "d", -1 },
    { "-1", -1 },     { "1.5d", -1 },   { "7days", -1 },   { "7d ", -1 },  { "99999999999999999999", -1 },
};

START_TEST(durations_have_units)
{
    uint64_t seconds = 7;
    bool is_one = config_duration(durations[_i].text, &seconds);

    ck_assert_int_eq(is_one, durations[_i].seconds >= 0);
    ck_assert_uint_eq(seconds, is_one ? (uint64_t)durations[_i].seconds : 7);
}
END_TEST

/* --- Printing ------------------------------------------------------------------------------------- */

static char *print(const struct config *from)
{
    struct text text;

    text_init(&text);
    config_print(from, &text);
    ck_assert(!text.failed);
    return text.bytes;
}

static const char *const printed[] = {
    "",
    "queue: {length: 5}\neve: {types: {alert: {metadata: no}, drop: {alerts: yes}}}",
    "eve: {types: {}}",
    "eve: {types: {stats: {totals: no}}}",
    "vars: {address-groups: {A: '[1.2.3.4,!$B]', B: \"a\\\"b\\\\c\"}}\nqueues: {\"0-3\": {mark: 0x1/0x1}}",
    "rule-files: ['- x', '*.rules', '', '~', \"tab\\there\"]\nnft: {hooks: []}",
    "log-dir: \"caf\\u00e9 \\x01 \\L \\N \\uFEFF \\U0001F600 \\U0010FFFF\"",
};

START_TEST(what_is_printed_reads_back)
{
    struct config *again;
    char *first, *second;

    parse(printed[_i]);
    first = print(config);
    ck_assert_int_eq(daemon_new_config(&again), 0);
    ck_assert_int_eq(config_parse(again, "again", first, strlen(first), CONFIG_STRICT, diag), 0);
    ck_assert_uint_eq(diag_count(diag), 0);
    second = print(again);
    ck_assert_str_eq(first, second);
    free(first);
    free(second);
    config_free(again);
}
END_TEST

START_TEST(prints_what_is_in_effect)
{
    char *text;

    parse_clean("queue: {length: 5}\neve: {types: [alert]}");
    text = print(config);
    ck_assert_ptr_nonnull(strstr(text, "queue:\n    numbers: 0\n    verdict: accept\n"));
    ck_assert_ptr_nonnull(strstr(text, "    length: 5\n"));
    ck_assert_ptr_nonnull(strstr(text, "        HOME_NET: \"[192.168.0.0/16,"));
    ck_assert_ptr_nonnull(strstr(text, "payload-buffer-size: 4096"));
    ck_assert_ptr_null(strstr(text, "anomaly"));
    free(text);
}
END_TEST

/* Each row can be printed and checked. */
START_TEST(rows_are_complete)
{
    const struct setting *row;

    for (size_t i = 0; (row = config_setting(config, i)); i++) {
        ck_assert_msg(row->help && row->help[0], "%s", row->name);
        ck_assert_msg(row->type != SETTING_ENUM || row->choices, "%s", row->name);
        ck_assert_msg(row->low <= row->high, "%s", row->name);
        if (row->type == SETTING_NUMBER ||
            row->type == SETTING_SIZE) { /* the type of the field must have all values of the range */
            uint64_t high = (uint64_t)row->high * (row->scale ? row->scale : 1);

            ck_assert_msg(row->size == 0 || row->size == 8 || (row->low >= 0 && high >> (8 * row->size) == 0), "%s",
                          row->name);
        }
        for (size_t k = 0; k < i; k++)
            ck_assert_str_ne(row->name, config_setting(config, k)->name);
    }
}
END_TEST

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static void add_value_tests(Suite *suite)
{
    TCase *tcase = tcase_create("values");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, rows_are_complete);
    tcase_add_test(tcase, defaults_come_from_the_table);
    tcase_add_loop_test(tcase, takes_good_values, 0, ROWS(good_values));
    tcase_add_loop_test(tcase, points_at_the_mistake, 0, ROWS(bad_values));
    tcase_add_test(tcase, a_mistake_leaves_the_default_and_the_rest_is_read);
    tcase_add_test(tcase, unknown_settings_are_warnings_when_lenient);
    tcase_add_test(tcase, positions_are_of_the_value);
    tcase_add_test(tcase, lines_count_by_any_line_break);
    tcase_add_test(tcase, a_single_value_is_a_list_of_one);
    tcase_add_test(tcase, an_empty_list_is_set);
    tcase_add_loop_test(tcase, event_types_are_what_is_named, 0, ROWS(event_types));
    tcase_add_test(tcase, later_event_types_are_warned_about);
    tcase_add_test(tcase, each_goes_in_the_order_of_the_file);
    tcase_add_test(tcase, later_files_win);
    tcase_add_loop_test(tcase, one_setting_from_the_command_line, 0, ROWS(assignments));
    tcase_add_test(tcase, the_command_line_wins_and_may_repeat);
    suite_add_tcase(suite, tcase);
}

static void add_file_tests(Suite *suite)
{
    TCase *tcase = tcase_create("files");

    tcase_add_checked_fixture(tcase, setup_files, teardown_files);
    tcase_add_test(tcase, paths_are_relative_to_their_file);
    tcase_add_test(tcase, mistakes_name_the_included_file);
    tcase_add_test(tcase, what_stands_later_wins_over_an_include);
    tcase_add_test(tcase, an_include_of_itself_ends);
    tcase_add_test(tcase, a_missing_file_is_reported);
    suite_add_tcase(suite, tcase);
}

/* --- Differences ---------------------------------------------------------------------------------- */

static const struct {
    const char *one, *other, *names;
} differences[] = {
    { "", "", "" },
    { "stats: {interval: 8}", "stats: {interval: 8}", "" },
    { "", "queue: {numbers: 0}", "" }, /* the default */
    { "stats: {interval: 1}", "stats: {interval: 2}", "stats.interval " },
    { "stats: {interval: 1}\nqueue: {length: 5}", "", "stats.interval queue.length " },
    { "rule-files: [/a, /b]", "rule-files: [/a]", "rule-files " },
    { "rule-files: [/a, /b]", "rule-files: [/b, /a]", "rule-files " },
    { "vars: {address-groups: {A: 1.2.3.4}}", "vars: {address-groups: {A: 1.2.3.5}}", "vars.address-groups " },
    { "vars: {address-groups: {A: 1.2.3.4}}", "vars: {address-groups: {B: 1.2.3.4}}", "vars.address-groups " },
    { "queues: {\"0\": {length: 5}}", "", "queues " },
    { "eve: {types: {alert: {}}}", "eve: {types: {alert: {}, drop: {}}}", "eve.types " },
};

static void append_name(const char *name, void *user)
{
    text_printf(user, "%s ", name);
}

START_TEST(differences_are_named)
{
    struct config *other;
    struct text names;

    text_init(&names);
    text_puts(&names, "");
    parse_clean(differences[_i].one);
    ck_assert_int_eq(daemon_new_config(&other), 0);
    ck_assert_int_eq(
        config_parse(other, "other", differences[_i].other, strlen(differences[_i].other), CONFIG_STRICT, diag), 0);
    config_each_difference(config, other, append_name, &names);
    ck_assert_str_eq(names.bytes, differences[_i].names);
    text_reset(&names);
    text_puts(&names, "");
    config_each_difference(other, config, append_name, &names);
    ck_assert_str_eq(names.bytes, differences[_i].names);
    text_clear(&names);
    config_free(other);
}
END_TEST

START_TEST(modes_are_octal)
{
    unsigned mode = 0;

    ck_assert(config_mode("0660", &mode) && mode == 0660);
    ck_assert(config_mode("600", &mode) && mode == 0600);
    ck_assert(!config_mode("0680", &mode) && !config_mode("1777", &mode) && !config_mode("", &mode));
    ck_assert(!config_mode("06600", &mode) && !config_mode("rw", &mode));
}
END_TEST

static void add_meaning_tests(Suite *suite)
{
    TCase *tcase = tcase_create("meaning");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, depth_is_bounded);
    tcase_add_test(tcase, aliases_cant_explode);
    tcase_add_test(tcase, members_are_bounded);
    tcase_add_test(tcase, variables_have_defaults_by_name);
    tcase_add_loop_test(tcase, ports_of_tunnels, 0, ROWS(port_lists));
    tcase_add_test(tcase, ranges_and_marks);
    tcase_add_loop_test(tcase, durations_have_units, 0, ROWS(durations));
    tcase_add_loop_test(tcase, what_is_printed_reads_back, 0, ROWS(printed));
    tcase_add_test(tcase, prints_what_is_in_effect);
    tcase_add_loop_test(tcase, differences_are_named, 0, ROWS(differences));
    tcase_add_test(tcase, modes_are_octal);
    suite_add_tcase(suite, tcase);
}

int main(void)
{
    Suite *suite = suite_create("config");
    SRunner *runner = srunner_create(suite);

    add_value_tests(suite);
    add_file_tests(suite);
    add_meaning_tests(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
