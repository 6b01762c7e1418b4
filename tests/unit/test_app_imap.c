/* SPDX-License-Identifier: GPL-2.0-or-later */
/* IMAP and Telnet: detection, commands and responses, literals, messages, STARTTLS, limits. */
#include <check.h>

#include "../lib/app_rig.h"

static const int cuts[] = { 0, 1, 5, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]), PORT = 143 };

static struct app_rig *rig;

static void start(const char *yaml, int cut)
{
    rig = app_rig_new("imap", yaml);
    rig->cut = cut;
    rig->flow.server_port = PORT;
}

static void client(const char *text)
{
    app_rig_text(rig, FLOW_TO_SERVER, text);
}

static void server(const char *text)
{
    app_rig_text(rig, FLOW_TO_CLIENT, text);
}

static void assert_file(uint64_t id, enum flow_direction direction, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_tx(rig, id) && app_rig_buffer(rig, id, "file.data", direction, 0, &bytes);

    ck_assert(there == (want != NULL));
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%.*s",
                      (int)bytes.length, (const char *)bytes.bytes);
}

static unsigned count_open(void)
{
    const struct app_tx *first;
    unsigned count = 0;

    ck_assert(app_get_open_transactions(&rig->flow, 0, &first));
    for (; first; first = first->link[APP_TX_OPEN].next)
        count++;
    return count;
}

/* 163 bytes */
#define MESSAGE                                                                                                        \
    "Subject: report\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n"                                      \
    "Content-Disposition: attachment; filename=a.txt\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n"
_Static_assert(sizeof(MESSAGE) - 1 == 163, "the literals announce this length");

START_TEST(responses_complete_commands)
{
    start(NULL, cuts[_i]);
    server("* OK ready\r\n");
    client("a1 login alice secret\r\na2 SELECT INBOX\r\na3 NOOP\r\n");
    ck_assert_uint_eq(count_open(), 3);
    server("* 2 EXISTS\r\na2 OK done\r\n");
    ck_assert_uint_eq(count_open(), 2);
    server("A1 OK\r\na1 what\r\na1 NO\r\na3 BAD\r\n");
    ck_assert_uint_eq(count_open(), 0);
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "imap");
    app_rig_free(rig);
}
END_TEST

START_TEST(fetched_messages_have_files)
{
    start(NULL, cuts[_i]);
    server("* OK ready\r\n");
    client("a1 UID FETCH 1:2 (BODY[])\r\n");
    server("* 1 FETCH (UID 7 BODY[] {163}\r\n" MESSAGE);
    assert_file(1, FLOW_TO_CLIENT, "hello");
    server(" FLAGS (\\Seen))\r\n* 2 FETCH (BODY[HEADER] {5}\r\na: b\n BODY[] {163}\r\n" MESSAGE ")\r\na1 OK\r\n");
    ck_assert(!rig->failed);
    ck_assert_uint_eq(count_open(), 0);
    assert_file(1, FLOW_TO_CLIENT, "hello");
    assert_file(2, FLOW_TO_CLIENT, "hello");
    assert_file(0, FLOW_TO_CLIENT, NULL);
    app_rig_free(rig);
}
END_TEST

static const char *const literals[] = { "{163}", "{163+}", "{163-}", "~{163}" };

START_TEST(appended_messages_have_files)
{
    start(NULL, cuts[_i % CUTS]);
    server("* OK ready\r\n");
    client("a1 APPEND ");
    client("{5+}\r\nInbox (\\Seen) ");
    client(literals[_i / CUTS]);
    client("\r\n");
    server("+ go\r\n");
    client(MESSAGE);
    client("\r\na2 NOOP\r\n");
    ck_assert(!rig->failed);
    assert_file(0, FLOW_TO_SERVER, "hello");
    server("a1 OK\r\na2 OK\r\n");
    ck_assert_uint_eq(count_open(), 0);
    app_rig_free(rig);
}
END_TEST

START_TEST(a_refused_literal_is_not_sent)
{
    start(NULL, cuts[_i]);
    server("* OK ready\r\n");
    client("a1 APPEND box {100}\r\n");
    server("a1 NO full\r\n");
    client("a2 NOOP\r\n");
    ck_assert_uint_eq(count_open(), 1);
    server("a2 OK\r\n");
    ck_assert_uint_eq(count_open(), 0);
    app_rig_free(rig);
}
END_TEST

START_TEST(responses_to_challenges_are_no_commands)
{
    start(NULL, cuts[_i]);
    server("* OK ready\r\n");
    client("a1 AUTHENTICATE PLAIN\r\n");
    server("+ \r\n");
    client("not a command\r\n");
    ck_assert_uint_eq(count_open(), 1);
    server("a1 OK\r\n");
    client("a2 IDLE\r\n");
    server("+ idling\r\n");
    client("DONE\r\n");
    ck_assert_uint_eq(count_open(), 1);
    app_rig_free(rig);
}
END_TEST

START_TEST(tls_follows_starttls)
{
    static const char hello[] = "\x16\3\1\0\x2f\1\0\0\x2b\3\3" /* client hello without extensions */
                                "0123456789abcdef0123456789abcdef\0\0\4\xc0\x2f\0\x35\1\0";

    start(NULL, cuts[_i % CUTS]);
    server("* OK ready\r\n");
    client("a1 StartTLS\r\n");
    server(_i / CUTS == 0 ? "a1 OK begin\r\n" : "a1 BAD no\r\n");
    if (_i / CUTS == 0) {
        app_rig_send(rig, FLOW_TO_SERVER, hello, sizeof(hello) - 1);
        ck_assert_str_eq(app_rig_protocol(rig), "tls");
    } else {
        client("a2 NOOP\r\n");
        ck_assert_uint_eq(count_open(), 1);
        ck_assert_str_eq(app_rig_protocol(rig), "imap");
    }
    app_rig_free(rig);
}
END_TEST

START_TEST(compression_ends_parsing)
{
    start(NULL, cuts[_i]);
    server("* OK ready\r\n");
    client("a1 COMPRESS DEFLATE\r\n");
    server("a1 OK\r\n");
    client("a2 NOOP\r\n");
    ck_assert(!rig->failed);
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    app_rig_free(rig);
}
END_TEST

START_TEST(the_literal_at_the_end_of_a_long_line_is_found)
{
    char line[9000];

    start(NULL, cuts[_i]);
    memset(line, 'x', sizeof(line));
    memcpy(line, "* 1 FETCH ", 10);
    line[sizeof(line) - 1] = '\0';
    server("* OK ready\r\n");
    server(line);
    server(" {163}\r\n" MESSAGE ")\r\n");
    ck_assert(!rig->failed);
    assert_file(0, FLOW_TO_CLIENT, "hello");
    app_rig_free(rig);
}
END_TEST

START_TEST(unanswered_commands_are_limited)
{
    start("app-layer: {protocols: {imap: {max-tx: 2}}}", 0);
    server("* OK ready\r\n");
    client("1 NOOP\r\n2 NOOP\r\n");
    ck_assert(!rig->failed);
    client("3 NOOP\r\n");
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    enum flow_direction direction;
    const char *text, *protocol;
} firsts[] = {
    { 9999, FLOW_TO_CLIENT, "* OK ready\r\n", "imap" },
    { 9999, FLOW_TO_CLIENT, "* preauth\r\n", "imap" },
    { 9999, FLOW_TO_CLIENT, "* OKAY\r\n", NULL },
    { 9999, FLOW_TO_SERVER, "a001 CAPABILITY\r\n", "imap" },
    { 9999, FLOW_TO_SERVER, "x LOGIN a b\r\n", NULL },
    { PORT, FLOW_TO_SERVER, "x LOGIN a b\r\n", "imap" },
    { 9999, FLOW_TO_SERVER, "a1 SELECT b\r\n", NULL },
    { PORT, FLOW_TO_SERVER, "a1 SELECT b\r\n", "imap" },
    { 23, FLOW_TO_CLIENT, "login: ", NULL },
    { 23, FLOW_TO_CLIENT, "Welcome\r\nlogin: ", "telnet" },
    { 23, FLOW_TO_CLIENT, "\xff\xfd\x18", "telnet" },
    { 23, FLOW_TO_SERVER, "GET / HTTP/1.1\r\n", "http" },
    { 9999, FLOW_TO_CLIENT, "login: ", NULL },
    { 9999, FLOW_TO_CLIENT, "\xff\xfd\x18\xff\xfb\x01", "telnet" },
    { 9999, FLOW_TO_SERVER, "\xff\xfd\x18\xff\xfa\x18", "telnet" },
    { 9999, FLOW_TO_CLIENT, "\xff\xfd\x18login", NULL },
    { 9999, FLOW_TO_CLIENT, "\xff\xf4\x18\xff\xfb\x01", NULL },
};

START_TEST(the_first_bytes_identify_the_protocol)
{
    const unsigned row = (unsigned)_i / CUTS;

    start(NULL, cuts[_i % CUTS]);
    rig->flow.server_port = firsts[row].port;
    app_rig_text(rig, firsts[row].direction, firsts[row].text);
    const char *name = app_rig_protocol(rig);

    ck_assert_msg(firsts[row].protocol ? name && strcmp(name, firsts[row].protocol) == 0
                                       : !name || (strcmp(name, "imap") != 0 && strcmp(name, "telnet") != 0),
                  "%s: %s", firsts[row].text, name ? name : "none");
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_imap");
    TCase *tests = tcase_create("imap");

    tcase_add_loop_test(tests, responses_complete_commands, 0, CUTS);
    tcase_add_loop_test(tests, fetched_messages_have_files, 0, CUTS);
    tcase_add_loop_test(tests, appended_messages_have_files, 0, (int)(sizeof(literals) / sizeof(literals[0])) * CUTS);
    tcase_add_loop_test(tests, a_refused_literal_is_not_sent, 0, CUTS);
    tcase_add_loop_test(tests, responses_to_challenges_are_no_commands, 0, CUTS);
    tcase_add_loop_test(tests, tls_follows_starttls, 0, 2 * CUTS);
    tcase_add_loop_test(tests, compression_ends_parsing, 0, CUTS);
    tcase_add_loop_test(tests, the_literal_at_the_end_of_a_long_line_is_found, 0, CUTS);
    tcase_add_test(tests, unanswered_commands_are_limited);
    tcase_add_loop_test(tests, the_first_bytes_identify_the_protocol, 0,
                        (int)(sizeof(firsts) / sizeof(firsts[0])) * CUTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
