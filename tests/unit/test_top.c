/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model of `sluice top`: lines of given sizes from answers of the daemon. */
#include <check.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "cli/top.h"
#include "sluice/text.h"

static struct top_model *model;
static struct top_view view;
static struct top_screen screen;

static void setup(void)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    ck_assert_int_eq(top_model_new(&model), 0);
    top_view_init(&view);
    screen = (struct top_screen){ NULL, 0, 0 };
}

static void teardown(void)
{
    top_screen_clear(&screen);
    top_model_free(model);
}

/* Adds the answer of second `second`, in which each counter is `second` times its rate. `hosts`: number of talkers. */
static void answer(unsigned second, unsigned pid, unsigned queues, unsigned hosts, const char *message)
{
    struct control_reply reply;
    struct text text;
    const char *cause;

    text_init(&text);
    text_printf(
        &text,
        "{\"time_us\":%u000000,\"version\":\"9.9\",\"engine_pid\":%u,\"uptime\":90061,\"generation\":3,"
        "\"ips\":{\"mode\":\"drop\",\"queues\":[{\"queue\":7,\"mode\":\"alert-only\"}]},"
        "\"stats\":{\"ips\":{\"accepted\":%u,\"blocked\":%u,\"would_drop\":0,"
        "\"drop_reason\":{\"rules\":%u,\"flow_drop\":0}},"
        "\"flow\":{\"active\":12345,\"total\":%u},\"detect\":{\"alert\":%u,\"engines\":[{\"rules_loaded\":42}]},"
        "\"firewall\":{\"offload\":{\"accepted_packets\":%u}}},\"queues\":[",
        second, pid, 90 * second, 10 * second, 10 * second, 5 * second, 2 * second, 300 * second);
    for (unsigned i = 0; i < queues; i++)
        text_printf(&text,
                    "%s{\"queue\":%u,\"packets\":%u,\"bytes\":%u,\"dropped\":%u,\"cpu_us\":%u,\"waiting\":%u,"
                    "\"age_us\":1500,\"age_p99_us\":90,\"queue_dropped\":%u,\"overloaded\":%s,\"shedding\":[]}",
                    i ? "," : "", 7 + i, 100 * second, 100000 * second, 10 * second, 250000 * second, i,
                    i == 1 ? second : 0, i == 1 ? "true" : "false");
    text_puts(&text, "],\"talkers\":{\"rates\":true,\"hosts\":[");
    for (unsigned i = 0; i < hosts; i++)
        text_printf(&text, "%s{\"ip\":\"10.0.0.%u\",\"flows\":%u,\"sent\":%u,\"received\":0,\"packets\":1}",
                    i ? "," : "", i + 1, i, 1000 * (hosts - i));
    text_printf(&text,
                "],\"flows\":[{\"proto\":\"TCP\",\"src_ip\":\"fd00::1\",\"src_port\":1,\"dest_ip\":\"10.0.0.2\","
                "\"dest_port\":80,\"verdict\":\"dropped\",\"to_server\":125,\"to_client\":0,\"packets\":1}]},"
                "\"rules\":{\"timed\":true,\"list\":[{\"gid\":1,\"signature_id\":5,\"action\":\"drop\",\"signature\":"
                "\"%s\",\"matches\":%u,\"drops\":%u,\"evaluations\":%u,\"total_us\":%u},"
                "{\"gid\":3,\"signature_id\":6,\"action\":\"alert\",\"signature\":\"calm\",\"matches\":1}]},"
                "\"alerts\":[{\"timestamp\":\"2026-11-27T10:00:01.5+0000\",\"src_ip\":\"10.0.0.1\",\"proto\":\"TCP\","
                "\"src_port\":4,\"dest_ip\":\"10.0.0.2\",\"dest_port\":80,\"alert\":{\"action\":\"blocked\",\"gid\":1,"
                "\"signature_id\":5,\"signature\":\"%s\"}}]}",
                message, 4 * second, 4 * second, 20 * second, 100000 * second, message);
    reply.whole = control_value_parse(text.bytes, text.length, &cause);
    ck_assert_msg(reply.whole != NULL, "%s", cause);
    reply.message = reply.whole;
    top_model_update(model, &reply);
    text_clear(&text);
}

/* Renders, and checks that each line has at most the width of the screen, and no control characters. */
static void render(void)
{
    ck_assert_int_eq(top_render(model, &view, &screen), 0);
    if (view.height > 0)
        ck_assert_uint_le(screen.count, view.height);
    for (size_t i = 0; i < screen.count; i++) {
        wchar_t wide[TOP_LINE_SIZE];
        size_t length = mbstowcs(wide, screen.lines[i].text, TOP_LINE_SIZE);

        ck_assert_msg(length != (size_t)-1, "line %zu is not UTF-8: %s", i, screen.lines[i].text);
        ck_assert_int_ge(wcswidth(wide, length), 0);
        ck_assert_int_le(wcswidth(wide, length), (int)view.width);
    }
}

/* Returns the first line that contains the text, or NULL. */
static const struct top_line *find(const char *text)
{
    for (size_t i = 0; i < screen.count; i++)
        if (strstr(screen.lines[i].text, text))
            return &screen.lines[i];
    return NULL;
}

static void keys(const char *text)
{
    for (; *text; text++)
        ck_assert(top_handle_key(model, &view, *text));
}

START_TEST(test_numbers)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = { { 0, "0" },       { 0.04, "0.0" },    { 9.5, "9.5" },     { 10, "10" },          { 999, "999" },
                  { 1000, "1.0k" }, { 12345, "12.3k" }, { 999999, "1.0M" }, { 98100000, "98.1M" }, { 123e9, "123G" } };
    char out[TOP_NUMBER_SIZE];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        top_number(out, cases[i].value);
        ck_assert_str_eq(out, cases[i].text);
    }
}
END_TEST

START_TEST(test_put)
{
    static const struct {
        const char *text;
        unsigned width;
        bool left, utf8;
        const char *out;
    } cases[] = {
        { "abc", 5, true, false, "abc  " },
        { "abc", 5, false, false, "  abc" },
        { "abcdef", 3, true, false, "abc" },
        { "a\033[31mb\177\t", 12, true, true, "a?[31mb??   " },
        { "\xc2\x9b"
          "31m",
          5, true, true, "?31m " }, /* a control character of 8 bits */
        { "\xe2\x80\xae"
          "abc",
          4, true, true, "?abc" },            /* right-to-left override */
        { "\xff\xfe", 3, true, true, "?? " }, /* no UTF-8 */
        { "gr\xc3\xbc\xc3\x9f", 5, true, true, "gr\xc3\xbc\xc3\x9f " },
        { "gr\xc3\xbc\xc3\x9f", 5, true, false, "gr?? " },
        { "\xe6\x97\xa5\xe6\x9c\xac", 3, true, true, "\xe6\x97\xa5 " }, /* wide characters: no half */
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char out[64] = "";

        ck_assert_uint_eq(top_put(out, 0, sizeof(out), cases[i].text, cases[i].width, cases[i].left, cases[i].utf8),
                          strlen(cases[i].out));
        ck_assert_str_eq(out, cases[i].out);
    }
}
END_TEST

START_TEST(test_rates)
{
    answer(10, 1, 2, 2, "evil");
    render();
    ck_assert_ptr_nonnull(find("Verdicts      - accepted/s"));
    answer(12, 1, 2, 2, "evil");
    render();
    ck_assert_uint_eq(screen.count, TOP_HEIGHT);
    ck_assert_ptr_nonnull(find("sluice 9.9  up 1d 01:01:01  mode drop  42 rules (generation 3)"));
    ck_assert_ptr_nonnull(find("Traffic     200 packets/s    1.6M bit/s"));
    ck_assert_ptr_nonnull(find("Verdicts     90 accepted/s     10 dropped/s      0 would drop/s      2 alerts/s"));
    ck_assert_ptr_nonnull(find("Flows     12.3k active      5 new/s   offloaded: 60 % of packets"));
    ck_assert_ptr_nonnull(find("Lost          1 packets/s"));
    ck_assert_ptr_nonnull(find("1/2 overloaded"));
    ck_assert_ptr_nonnull(find("     7    25    100   800k      10     0  1.5 ms   90 us       0 alert-only ok"));
    ck_assert_int_eq(find("OVER")->style, TOP_BAD);
    /* counters of another engine have no rate */
    answer(14, 2, 2, 2, "evil");
    render();
    ck_assert_ptr_nonnull(find("Verdicts      - accepted/s"));
}
END_TEST

START_TEST(test_panels)
{
    answer(10, 1, 2, 2, "evil");
    answer(11, 1, 2, 2, "evil");
    render();
    ck_assert_ptr_nonnull(find("10.0.0.1                           0      16.0k          0       1 #########"));
    ck_assert_ptr_nonnull(find("[Talkers]"));
    keys("3");
    render();
    ck_assert_ptr_nonnull(find("TCP   [fd00::1]:1          10.0.0.2:80          -      dropped     1.0k      0"));
    keys("\t");
    render();
    ck_assert_ptr_nonnull(find("        5 drop           4       4       44     10"));
    ck_assert_ptr_nonnull(find("      3:6 alert"));
    keys("5");
    render();
    ck_assert_ptr_nonnull(find("      10      110        0        0 rules"));
    ck_assert_ptr_null(find("flow drop")); /* reasons that never occurred are not shown */
    keys("6");
    render();
    ck_assert_ptr_nonnull(find("blocked        5 evil"));
    ck_assert_int_eq(find("blocked        5 evil")->style, TOP_BAD);
    ck_assert(!top_handle_key(model, &view, 'q'));
}
END_TEST

START_TEST(test_sort_and_filter)
{
    answer(10, 1, 1, 40, "evil");
    answer(11, 1, 1, 40, "evil");
    render();
    ck_assert_ptr_nonnull(find("10.0.0.1 ")); /* highest rate first */
    ck_assert_ptr_null(find("10.0.0.40"));
    keys("R");
    render();
    ck_assert_ptr_nonnull(find("10.0.0.40"));
    keys("Rs"); /* by host: 1, 2, ... 10, as numbers */
    render();
    ck_assert_ptr_nonnull(find("*HOST"));
    ck_assert_str_eq(find("10.0.0.")->text, find("10.0.0.1 ")->text);
    keys("/0.37");
    render();
    ck_assert_ptr_nonnull(find("Filter: 0.37_"));
    keys("\r");
    render();
    ck_assert_ptr_nonnull(find("10.0.0.37"));
    ck_assert_ptr_null(find("10.0.0.1 "));
    keys("\033");
    for (int i = 0; i < 100; i++)
        ck_assert(top_handle_key(model, &view, TOP_KEY_PAGE_DOWN));
    render(); /* scrolled to the last row */
    ck_assert_ptr_nonnull(find("10.0.0.40"));
    ck_assert_ptr_null(find("10.0.0.39"));
    ck_assert(top_handle_key(model, &view, TOP_KEY_HOME));
    render();
    ck_assert_ptr_nonnull(find("10.0.0.1 "));
    keys("/nothing");
    render();
    ck_assert_ptr_nonnull(find("no row contains the filter"));
}
END_TEST

/* All sizes of screens and all panels: no line is too long, and nothing is read out of bounds. */
START_TEST(test_sizes)
{
    answer(10, 1, 20, 50, "\\u001b[2Jevil \\u65e5\\u672c\\u202e");
    answer(11, 1, 20, 50, "\\u001b[2Jevil \\u65e5\\u672c\\u202e");
    for (unsigned utf8 = 0; utf8 < 2; utf8++) {
        view.utf8 = utf8;
        for (view.panel = 0; view.panel < TOP_PANELS; view.panel++) {
            for (view.width = 1; view.width < 200; view.width += 17) {
                for (view.height = 1; view.height < 90; view.height += 9)
                    render();
            }
        }
    }
    view.panel = TOP_TALKERS;
    view.width = 132;
    view.height = 60;
    render();
    ck_assert_uint_eq(screen.count, 60);
    ck_assert_ptr_nonnull(find("SERVER"));
    ck_assert_ptr_nonnull(find("REASON"));
    ck_assert_ptr_nonnull(find("DESTINATION"));
    view.help = true;
    render();
    ck_assert_ptr_nonnull(find("Keys of sluice top"));
}
END_TEST

START_TEST(test_text_and_errors)
{
    view.height = 0; /* --batch: everything */
    render();
    ck_assert_ptr_nonnull(find("Waiting for the daemon"));
    answer(10, 1, 20, 50, "evil");
    answer(11, 1, 20, 50, "evil");
    render();
    for (enum top_panel panel = 0; panel < TOP_PANELS; panel++)
        ck_assert_ptr_nonnull(find(top_model_table(model, panel)->title));
    ck_assert_ptr_nonnull(find("10.0.0.50"));
    view.height = TOP_HEIGHT;
    top_model_set_error(model, "no daemon listens on /run/x");
    render();
    ck_assert_ptr_nonnull(find("The daemon does not answer"));
    ck_assert_ptr_nonnull(find("no daemon listens on /run/x"));
    top_model_set_error(model, "");
    render();
    ck_assert_ptr_nonnull(find("Verdicts"));
}
END_TEST

/* An answer of another version: missing members and other types. */
START_TEST(test_other_answers)
{
    static const char *const answers[] = {
        "{}",
        "{\"time_us\":\"x\",\"queues\":{},\"talkers\":[1],\"rules\":7,\"alerts\":[null,1,{}],\"stats\":[]}",
        "{\"time_us\":5000000,\"queues\":[1,{},{\"queue\":\"a\",\"shedding\":[1]}],\"talkers\":{\"hosts\":[{}],"
        "\"flows\":[{\"src_ip\":1}]},\"rules\":{\"list\":[{}]},\"stats\":{\"ips\":{\"drop_reason\":{\"a\":\"b\"}}}}",
    };

    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
            struct control_reply reply;
            const char *cause;

            reply.whole = control_value_parse(answers[i], strlen(answers[i]), &cause);
            ck_assert_ptr_nonnull(reply.whole);
            reply.message = reply.whole;
            top_model_update(model, &reply);
            view.height = round ? 0 : TOP_HEIGHT;
            render();
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("top");
    TCase *tests = tcase_create("all");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tests, setup, teardown);
    tcase_add_test(tests, test_numbers);
    tcase_add_test(tests, test_put);
    tcase_add_test(tests, test_rates);
    tcase_add_test(tests, test_panels);
    tcase_add_test(tests, test_sort_and_filter);
    tcase_add_test(tests, test_sizes);
    tcase_add_test(tests, test_text_and_errors);
    tcase_add_test(tests, test_other_answers);
    suite_add_tcase(suite, tests);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
