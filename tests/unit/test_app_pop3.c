/* SPDX-License-Identifier: GPL-2.0-or-later */
/* POP3: detection, commands and responses, messages, STLS, events, limits, lost bytes. */
#include <check.h>

#include "../lib/app_rig.h"

static const int cuts[] = { 0, 1, 5, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]), PORT = 110 };

static struct app_rig *rig;

static void start(const char *yaml, int cut)
{
    rig = app_rig_new("pop3", yaml);
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

static void assert_json(uint64_t id, const char *want)
{
    const char *json = app_rig_json(rig, id);

    ck_assert_msg(json != NULL, "%s", want);
    ck_assert_msg(strcmp(json, want) == 0, "%s", json);
}

static void assert_json_has(uint64_t id, const char *part, bool there)
{
    const char *json = app_rig_json(rig, id);

    ck_assert_msg(json && (strstr(json, part) != NULL) == there, "%s", json);
}

static void assert_file(uint64_t id, const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, id, "file.data", FLOW_TO_CLIENT, 0, &bytes);

    ck_assert(there == (want != NULL));
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%.*s",
                      (int)bytes.length, (const char *)bytes.bytes);
}

#define MESSAGE                                                                                                        \
    "Subject: report\r\nFrom: a@example.org\r\nContent-Type: multipart/mixed; boundary=x\r\n\r\n--x\r\n"               \
    "Content-Disposition: attachment; filename=a.txt\r\nContent-Transfer-Encoding: base64\r\n\r\naGVsbG8=\r\n"         \
    "--x--\r\n"

START_TEST(responses_belong_to_commands)
{
    start(NULL, cuts[_i]);
    server("+OK POP3 ready <1.2@example.org>\r\n");
    client("user alice\r\nPASS secret\r\nSTAT\r\nXTND a  b\r\nLIST\r\n");
    server("+OK\r\n-ERR no\r\n+OK 2 320\r\n-ERR what\r\n+OK 2 messages\r\n1 120\r\n..2 200\r\n.\r\n");
    client("QUIT\r\n");
    server("+OK bye\r\n");
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_protocol(rig), "pop3");
    assert_json(0, "{\"response\":{\"success\":true,\"status\":\"OK\",\"header\":\"POP3 ready <1.2@example.org>\","
                   "\"data\":[]}}");
    assert_json(1, "{\"request\":{\"command\":\"USER\",\"args\":[\"alice\"]},\"response\":{\"success\":true,"
                   "\"status\":\"OK\",\"header\":\"\",\"data\":[]}}");
    assert_json(2, "{\"request\":{\"command\":\"PASS\",\"args\":[\"secret\"]},\"response\":{\"success\":false,"
                   "\"status\":\"ERR\",\"header\":\"no\",\"data\":[]}}");
    assert_json(3, "{\"request\":{\"command\":\"STAT\",\"args\":[]},\"response\":{\"success\":true,\"status\":\"OK\","
                   "\"header\":\"2 320\",\"data\":[]}}");
    assert_json(4, "{\"request\":{\"command\":\"XTND\",\"args\":[\"a\",\"b\"]},\"response\":{\"success\":false,"
                   "\"status\":\"ERR\",\"header\":\"what\",\"data\":[]},\"events\":[\"unknown_command\"]}");
    assert_json(5, "{\"request\":{\"command\":\"LIST\",\"args\":[]},\"response\":{\"success\":true,\"status\":\"OK\","
                   "\"header\":\"2 messages\",\"data\":[\"1 120\",\".2 200\"]}}");
    assert_json_has(6, "\"header\":\"bye\"", true);
    app_rig_free(rig);
}
END_TEST

START_TEST(passwords_may_be_left_out)
{
    start("eve: {types: {pop3: {passwords: no}}}", 0);
    server("+OK ready\r\n");
    client("PASS secret\r\nAPOP alice digest\r\nUSER alice\r\n");
    server("+OK\r\n+OK\r\n+OK\r\n");
    assert_json_has(1, "{\"request\":{\"command\":\"PASS\",\"args\":[]},", true);
    assert_json_has(2, "{\"request\":{\"command\":\"APOP\",\"args\":[]},", true);
    assert_json_has(3, "{\"request\":{\"command\":\"USER\",\"args\":[\"alice\"]},", true);
    app_rig_free(rig);
}
END_TEST

START_TEST(messages_have_files)
{
    static const char *const commands[] = { "RETR 1", "top 1 99" };

    start(NULL, cuts[_i % CUTS]);
    server("+OK ready\r\n");
    client(commands[_i / CUTS]);
    client("\r\n");
    server("+OK message follows\r\n" MESSAGE "..\r\n");
    assert_file(1, "hello");
    server(".\r\n");
    client("DELE 1\r\n");
    server("+OK deleted\r\n");
    ck_assert(!rig->failed);
    assert_file(1, "hello");
    assert_json_has(1, "\"email\":{\"from\":\"a@example.org\",\"status\":\"PARSE_DONE\",\"attachment\":[\"a.txt\"]",
                    true);
    assert_json_has(1, "\"subject\":\"report\"", true);
    assert_json_has(1, "\"data\":[]", _i / CUTS == 0);
    assert_json_has(2, "\"header\":\"deleted\"", true);
    app_rig_free(rig);
}
END_TEST

/* A bare LF does not end a line with a dot, unless the server ends its lines with LF. */
START_TEST(bare_line_feeds_do_not_end_messages)
{
    start(NULL, cuts[_i % CUTS]);
    server("+OK ready\r\n");
    client("RETR 1\r\nNOOP\r\n");
    if (_i / CUTS == 0) {
        server("+OK\r\nSubject: x\n.\n+OK no response\r\n.\n\r\nbody\n.\r\n\r\n.\r\n+OK noop\r\n");
    } else {
        server("+OK\nSubject: x\n\nbody\n.\n+OK noop\n");
    }
    ck_assert(!rig->failed);
    assert_json_has(2, "\"header\":\"noop\"", true);
    app_rig_free(rig);
}
END_TEST

START_TEST(a_challenge_is_answered)
{
    start(NULL, cuts[_i]);
    server("+OK ready\r\n");
    client("AUTH CRAM-MD5\r\n");
    server("+ PDE4OTYuNjk3\r\n");
    client("QUIT=\r\n");
    server("+OK logged in\r\n");
    client("AUTH\r\n");
    server("+OK\r\nPLAIN\r\nLOGIN\r\n.\r\n");
    ck_assert(!rig->failed);
    assert_json_has(1, "\"header\":\"logged in\"", true);
    assert_json_has(2, "\"data\":[\"PLAIN\",\"LOGIN\"]},\"events\":[\"incorrect_argument_count\"]", true);
    ck_assert_ptr_null(app_rig_json(rig, 3));
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *command, *event;
} bad_commands[] = {
    { "RETR", "incorrect_argument_count" },
    { "TOP 1", "incorrect_argument_count" },
    { "STAT 1", "incorrect_argument_count" },
    { "LIST 1 2", "incorrect_argument_count" },
    { "APOP alice", "incorrect_argument_count" },
    { "SASL", "incorrect_argument_count" },
    { "HELO a", "unknown_command" },
    { "\xff\xfe", "unknown_command" },
    { "USER  alice", NULL },
    { "UIDL 1", NULL },
    { "AUTH PLAIN AGFsaWNlAHNlY3JldA==", NULL },
};

START_TEST(bad_commands_have_events)
{
    const unsigned row = (unsigned)_i / CUTS;

    start(NULL, cuts[_i % CUTS]);
    server("+OK ready\r\n");
    client(bad_commands[row].command);
    client("\r\n");
    ck_assert(!rig->failed);
    ck_assert(app_rig_has_event(rig, 1, "incorrect_argument_count") ==
              (bad_commands[row].event && strcmp(bad_commands[row].event, "incorrect_argument_count") == 0));
    ck_assert(app_rig_has_event(rig, 1, "unknown_command") ==
              (bad_commands[row].event && strcmp(bad_commands[row].event, "unknown_command") == 0));
    app_rig_free(rig);
}
END_TEST

START_TEST(long_lines_have_events)
{
    static const int lengths[] = { 253, 254, 510, 511, 5000 };
    char line[6000];

    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        memset(line, 'a', sizeof(line));
        line[lengths[i]] = '\0';
        start(NULL, cuts[_i]);
        server("+OK ready\r\n");
        memcpy(line, "USER ", 5);
        client(line);
        client("\r\nNOOP\r\n");
        memcpy(line, "+OK a", 5);
        server(line);
        server("\r\n+OK noop\r\n");
        ck_assert(!rig->failed);
        ck_assert(app_rig_has_event(rig, 1, "request_too_long") == (lengths[i] > 253));
        ck_assert(app_rig_has_event(rig, 1, "response_too_long") == (lengths[i] > 510));
        ck_assert(!app_rig_has_event(rig, 2, "request_too_long"));
        assert_json_has(2, "\"header\":\"noop\"", true);
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(unanswered_commands_are_limited)
{
    start("app-layer: {protocols: {pop3: {max-tx: 3}}}", 0);
    server("+OK ready\r\n");
    client("NOOP\r\nNOOP\r\nNOOP\r\n");
    ck_assert(!rig->failed);
    ck_assert(!app_rig_has_event(rig, 3, "too_many_transactions"));
    client("NOOP\r\n");
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 3, "too_many_transactions"));
    app_rig_free(rig);
}
END_TEST

START_TEST(tls_follows_stls)
{
    static const char hello[] = "\x16\3\1\0\x2f\1\0\0\x2b\3\3" /* client hello without extensions */
                                "0123456789abcdef0123456789abcdef\0\0\4\xc0\x2f\0\x35\1\0";

    start(NULL, cuts[_i % CUTS]);
    server("+OK ready\r\n");
    client("STLS\r\n");
    server(_i / CUTS == 0 ? "+OK begin\r\n" : "-ERR no\r\n");
    if (_i / CUTS == 0) {
        app_rig_send(rig, FLOW_TO_SERVER, hello, sizeof(hello) - 1);
        ck_assert_str_eq(app_rig_protocol(rig), "tls");
    } else {
        client("CAPA\r\n");
        server("+OK\r\nTOP\r\n.\r\n");
        ck_assert_str_eq(app_rig_protocol(rig), "pop3");
        assert_json_has(2, "\"data\":[\"TOP\"]", true);
    }
    app_rig_free(rig);
}
END_TEST

START_TEST(lost_bytes_end_open_transactions)
{
    start(NULL, cuts[_i]);
    server("+OK ready\r\n");
    client("RETR 1\r\nNOOP\r\n");
    server("+OK\r\n" MESSAGE);
    app_rig_lose(rig, FLOW_TO_CLIENT, 100);
    server("t of a line\r\nmore\r\n.\r\n");
    client("STAT\r\n");
    server("+OK 1 2\r\n");
    ck_assert(!rig->failed);
    assert_json_has(3, "\"command\":\"STAT\"", true);
    assert_json_has(3, "\"header\":\"1 2\"", true);
    app_rig_lose(rig, FLOW_TO_SERVER, 10);
    client("P\r\nSTAT\r\n");
    server("+OK 3 4\r\n");
    assert_json_has(4, "\"header\":\"3 4\"", true);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    enum flow_direction direction;
    const char *text, *protocol;
} firsts[] = {
    { PORT, FLOW_TO_CLIENT, "+OK\r\n", "pop3" },
    { PORT, FLOW_TO_CLIENT, "-ERR busy\r\n", "pop3" },
    { PORT, FLOW_TO_SERVER, "user a\r\n", "pop3" },
    { 9999, FLOW_TO_CLIENT, "+OK Pop server\r\n", "pop3" },
    { 9999, FLOW_TO_CLIENT, "+OK Dovecot <5.1@example.org>\r\n", "pop3" },
    { 9999, FLOW_TO_SERVER, "CAPA\r\n", "pop3" },
    { 9999, FLOW_TO_CLIENT, "+OK\r\n", NULL }, /* Redis */
    { 9999, FLOW_TO_CLIENT, "+OKAY pop\r\n", NULL },
    { 9999, FLOW_TO_SERVER, "USER anonymous\r\n", "ftp" },
    { 9999, FLOW_TO_SERVER, "NOOP\r\n", NULL },
};

START_TEST(the_first_line_identifies_the_protocol)
{
    const unsigned row = (unsigned)_i / CUTS;

    start(NULL, cuts[_i % CUTS]);
    rig->flow.server_port = firsts[row].port;
    app_rig_text(rig, firsts[row].direction, firsts[row].text);
    const char *name = app_rig_protocol(rig);

    ck_assert_msg(firsts[row].protocol ? name && strcmp(name, firsts[row].protocol) == 0
                                       : !name || strcmp(name, "pop3") != 0,
                  "%s: %s", firsts[row].text, name ? name : "none");
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_pop3");
    TCase *tests = tcase_create("pop3");

    tcase_add_loop_test(tests, responses_belong_to_commands, 0, CUTS);
    tcase_add_test(tests, passwords_may_be_left_out);
    tcase_add_loop_test(tests, messages_have_files, 0, 2 * CUTS);
    tcase_add_loop_test(tests, bare_line_feeds_do_not_end_messages, 0, 2 * CUTS);
    tcase_add_loop_test(tests, a_challenge_is_answered, 0, CUTS);
    tcase_add_loop_test(tests, bad_commands_have_events, 0,
                        (int)(sizeof(bad_commands) / sizeof(bad_commands[0])) * CUTS);
    tcase_add_loop_test(tests, long_lines_have_events, 0, CUTS);
    tcase_add_test(tests, unanswered_commands_are_limited);
    tcase_add_loop_test(tests, tls_follows_stls, 0, 2 * CUTS);
    tcase_add_loop_test(tests, lost_bytes_end_open_transactions, 0, CUTS);
    tcase_add_loop_test(tests, the_first_line_identifies_the_protocol, 0,
                        (int)(sizeof(firsts) / sizeof(firsts[0])) * CUTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
