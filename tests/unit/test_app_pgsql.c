/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PostgreSQL: startup, authentication, queries of both protocols, COPY, encryption, malformed messages, events. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static const int cuts[] = { 0, 1, -1 };

static struct app_rig *pgsql_rig(int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("pgsql", yaml);

    app_rig_start_flow(rig);
    rig->flow.server_port = 5432;
    rig->cut = cut;
    return rig;
}

static void send_message(struct app_rig *rig, enum flow_direction direction, char type, const void *bytes,
                         size_t length)
{
    uint8_t message[512] = { (uint8_t)type, 0, 0, (uint8_t)((length + 4) >> 8), (uint8_t)(length + 4) };

    memcpy(message + 5, bytes, length);
    app_rig_send(rig, direction, message, 5 + length);
}

#define CLIENT(type, text) send_message(rig, FLOW_TO_SERVER, type, DATA(text))
#define SERVER(type, text) send_message(rig, FLOW_TO_CLIENT, type, DATA(text))

static void send_startup(struct app_rig *rig)
{
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\0\0\x24\0\3\0\0user\0bob\0DateStyle\0ISO\0x\0y\0\0"));
}

static void assert_query(const struct app_rig *rig, uint64_t id, const char *expected)
{
    struct app_bytes bytes = { 0 };

    ck_assert_int_eq(app_rig_buffer(rig, id, "pgsql.query", FLOW_TO_SERVER, 0, &bytes), expected != NULL);
    if (!expected)
        return;
    ck_assert_uint_eq(bytes.length, strlen(expected));
    ck_assert_mem_eq(bytes.bytes, expected, bytes.length);
}

START_TEST(simple_session_is_logged)
{
    struct app_rig *rig = pgsql_rig(cuts[_i], NULL);

    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\0\0\x08\x04\xd2\x16\x2f"));
    app_rig_send(rig, FLOW_TO_CLIENT, "N", 1);
    send_startup(rig);
    SERVER('R', "\0\0\0\x05salt");
    CLIENT('p', "md5abc\0");
    SERVER('R', "\0\0\0\0");
    SERVER('S', "TimeZone\0UTC\0");
    SERVER('K', "\0\0\0\x07\0\0\0\x09");
    SERVER('Z', "I");
    CLIENT('Q', "SELECT 1\0");
    SERVER('T', "\0\1?column?\0");
    SERVER('D', "\0\1\0\0\0\1"
                "1");
    SERVER('D', "\0\1\0\0\0\2"
                "12");
    SERVER('C', "SELECT 2\0");
    SERVER('Z', "I");
    CLIENT('Q', "SELEC\0");
    SERVER('E', "SERROR\0VERROR\0C42601\0Msyntax error\0Fscan.l\0L1\0Rf\0\0");
    SERVER('Z', "I");
    CLIENT('X', "");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"tx_id\":1,\"request\":{\"message\":\"SSL Request\"},\"response\":"
                                           "{\"ssl_accepted\":false}}");
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"tx_id\":2,\"request\":{\"protocol_version\":\"3.0\",\"startup_parameters\":{\"user\":\"bob\","
                     "\"optional_parameters\":[{\"date_style\":\"ISO\"},{\"x\":\"y\"}]}},\"response\":"
                     "{\"authentication_md5_password\":\"salt\"}}");
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"tx_id\":3,\"request\":{\"password_redacted\":true},\"response\":{\"message\":"
                     "\"authentication_ok\",\"parameter_status\":[{\"time_zone\":\"UTC\"}],\"process_id\":7,"
                     "\"secret_key\":9}}");
    ck_assert_str_eq(app_rig_json(rig, 3),
                     "{\"tx_id\":4,\"request\":{\"simple_query\":\"SELECT 1\"},\"response\":{\"field_count\":1,"
                     "\"data_rows\":2,\"data_size\":3,\"command_completed\":\"SELECT 2\"}}");
    ck_assert_str_eq(app_rig_json(rig, 4),
                     "{\"tx_id\":5,\"request\":{\"simple_query\":\"SELEC\"},\"response\":{\"severity_localizable\":"
                     "\"ERROR\",\"severity_non_localizable\":\"ERROR\",\"code\":\"42601\",\"message\":\"syntax error\","
                     "\"file\":\"scan.l\",\"line\":\"1\",\"routine\":\"f\"}}");
    ck_assert_str_eq(app_rig_json(rig, 5), "{\"tx_id\":6,\"request\":{\"message\":\"termination_message\"}}");
    ck_assert_ptr_null(app_rig_tx(rig, 6));
    assert_query(rig, 3, "SELECT 1");
    assert_query(rig, 2, NULL);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(scram_is_logged)
{
    struct app_rig *rig = pgsql_rig(cuts[_i], "eve: {types: [pgsql: {passwords: yes}]}");

    send_startup(rig);
    SERVER('R', "\0\0\0\x0aSCRAM-SHA-256\0\0");
    CLIENT('p', "SCRAM-SHA-256\0\0\0\0\x05n,,n=");
    SERVER('R', "\0\0\0\x0br=x");
    CLIENT('p', "c=biws");
    SERVER('R', "\0\0\0\x0cv=sig");
    SERVER('R', "\0\0\0\0");
    SERVER('Z', "I");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"response\":{\"message\":\"authentication_sasl\"}"));
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"tx_id\":2,\"request\":{\"sasl_authentication_mechanism\":\"scram_SHA256\",\"sasl_param\":"
                     "\"n,,n=\"},\"response\":{\"message\":\"authentication_sasl_continue\"}}");
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"tx_id\":3,\"request\":{\"sasl_response\":\"c=biws\"},\"response\":{"
                     "\"authentication_sasl_final\":\"v=sig\",\"message\":\"authentication_ok\"}}");
    app_rig_free(rig);

    rig = pgsql_rig(cuts[_i], "eve: {types: [pgsql: {passwords: yes}]}");
    send_startup(rig);
    SERVER('R', "\0\0\0\3");
    CLIENT('p', "secret\0");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"tx_id\":2,\"request\":{\"password\":\"secret\"}}");
    app_rig_free(rig);
}
END_TEST

/* Each Parse is a transaction, whose query is complete at once; the ReadyForQuery after Sync completes them all. */
START_TEST(extended_queries)
{
    struct app_rig *rig = pgsql_rig(cuts[_i], NULL);

    send_startup(rig);
    SERVER('R', "\0\0\0\0");
    SERVER('Z', "I");
    CLIENT('P', "one\0SELECT $1\0\0\0");
    assert_query(rig, 1, "SELECT $1");
    CLIENT('B', "\0one\0\0\0\0\0\0\0");
    CLIENT('E', "\0\0\0\0\0");
    CLIENT('P', "\0SELECT 2\0\0\0");
    CLIENT('S', "");
    CLIENT('Q', "SELECT 3\0");
    SERVER('1', "");
    SERVER('2', "");
    SERVER('C', "SELECT 1\0");
    SERVER('C', "SELECT 5\0");
    ck_assert_uint_eq(app_rig_tx(rig, 1)->progress[FLOW_TO_CLIENT], 1);
    ck_assert_uint_eq(app_rig_tx(rig, 2)->progress[FLOW_TO_CLIENT], 0);
    SERVER('Z', "I");
    ck_assert_uint_eq(app_rig_tx(rig, 2)->progress[FLOW_TO_CLIENT], 1);
    ck_assert_uint_eq(app_rig_tx(rig, 3)->progress[FLOW_TO_CLIENT], 0);
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"request\":{\"message\":\"extended_query\"},\"response\":"
                                           "{\"command_completed\":\"SELECT 1\"}}");
    ck_assert_str_eq(app_rig_json(rig, 3), "{\"tx_id\":2,\"request\":{\"simple_query\":\"SELECT 3\"}}");
    assert_query(rig, 2, "SELECT 2");
    CLIENT('B', "\0one\0\0\0\0\0\0\0"); /* executes a statement that was parsed before */
    ck_assert_ptr_nonnull(app_rig_tx(rig, 4));
    assert_query(rig, 4, NULL);
    app_rig_free(rig);
}
END_TEST

START_TEST(copies)
{
    struct app_rig *rig = pgsql_rig(cuts[_i], NULL);

    CLIENT('Q', "COPY t FROM STDIN\0");
    SERVER('G', "\0\0\2\0\0\0\0");
    CLIENT('d', "1\t2\n");
    CLIENT('d', "3\t45\n");
    CLIENT('c', "");
    SERVER('C', "COPY 2\0");
    SERVER('Z', "I");
    CLIENT('Q', "COPY t TO STDOUT\0");
    SERVER('H', "\0\0\3\0\0\0\0");
    SERVER('d', "12345");
    SERVER('c', "");
    SERVER('C', "COPY 1\0");
    SERVER('Z', "I");
    CLIENT('f', "no\0");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"tx_id\":1,\"request\":{\"simple_query\":\"COPY t FROM STDIN\"},"
                                           "\"response\":{\"copy_in_response\":{\"columns\":2}}}");
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"tx_id\":2,\"request\":{\"copy_data_in\":{\"msg_count\":2,\"data_size\":9},"
                     "\"message\":\"copy_done\"},\"response\":{\"command_completed\":\"COPY 2\"}}");
    ck_assert_str_eq(app_rig_json(rig, 2),
                     "{\"tx_id\":3,\"request\":{\"simple_query\":\"COPY t TO STDOUT\"},\"response\":{"
                     "\"copy_out_response\":{\"columns\":3},\"copy_data_out\":{\"row_count\":1,\"data_size\":5},"
                     "\"command_completed\":\"COPY 1\"}}");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"message\":\"copy_fail\""));
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    char answer;
    bool stops;
} upgrades[] = {
    { "\0\0\0\x08\x04\xd2\x16\x2f", 'S', false },
    { "\0\0\0\x08\x04\xd2\x16\x30", 'G', true },
};

/* After S TLS follows; after G the rest is encrypted. */
START_TEST(connection_is_encrypted)
{
    struct app_rig *rig = pgsql_rig(0, NULL);

    app_rig_send(rig, FLOW_TO_SERVER, upgrades[_i].bytes, 8);
    app_rig_send(rig, FLOW_TO_CLIENT, &upgrades[_i].answer, 1);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"ssl_accepted\":true"));
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"));
    ck_assert_str_eq(app_rig_protocol(rig), upgrades[_i].stops ? "pgsql" : "tls");
    ck_assert_int_eq(rig->stop_stream, upgrades[_i].stops);
    app_rig_free(rig);
}
END_TEST

/* Messages of the server outside of a transaction do not become its next response. */
START_TEST(notices_between_queries)
{
    struct app_rig *rig = pgsql_rig(cuts[_i], NULL);

    CLIENT('Q', "LISTEN a\0");
    SERVER('C', "LISTEN\0");
    SERVER('Z', "I");
    SERVER('S', "TimeZone\0UTC\0");
    SERVER('N', "SNOTICE\0\0");
    SERVER('A', "\0\0\0\1a\0b\0");
    SERVER('D', "\0\0");
    CLIENT('Q', "SELECT 1\0");
    SERVER('C', "SELECT 0\0");
    SERVER('Z', "I");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"tx_id\":2,\"response\":{\"data_rows\":1,\"data_size\":0}}");
    ck_assert_str_eq(app_rig_json(rig, 2), "{\"tx_id\":3,\"request\":{\"simple_query\":\"SELECT 1\"},\"response\":"
                                           "{\"command_completed\":\"SELECT 0\"}}");
    app_rig_free(rig);
}
END_TEST

START_TEST(cancel_request_is_complete)
{
    struct app_rig *rig = pgsql_rig(cuts[_i], NULL);

    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2"));
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"tx_id\":1,\"request\":{\"message\":\"cancel_request\",\"process_id\":1,"
                                           "\"secret_key\":2}}");
    ck_assert_uint_eq(app_rig_tx(rig, 0)->progress[FLOW_TO_CLIENT], 1);
    app_rig_free(rig);
}
END_TEST

static const struct {
    enum flow_direction direction;
    const char *bytes;
    size_t length;
    const char *event;
    bool fails;
} mistakes[] = {
    { FLOW_TO_SERVER, DATA("\0\0\0\x08\0\xff\0\xff"), "malformed_request", false },
    { FLOW_TO_SERVER,
      DATA("Q\0\0\0\x06"
           "ab"),
      "malformed_request", false },
    { FLOW_TO_SERVER,
      DATA("P\0\0\0\x06"
           "a\0"),
      "malformed_request", false },
    { FLOW_TO_SERVER, DATA("!\0\0\0\x04"), "malformed_request", false },
    { FLOW_TO_SERVER, DATA("Q\0\0\0\x03"), "invalid_length", true },
    { FLOW_TO_CLIENT, DATA("R\0\0\0\x06\0\0"), "malformed_response", false },
    { FLOW_TO_CLIENT, DATA("R\0\0\0\x08\0\0\0\4"), "malformed_response", false },
    { FLOW_TO_CLIENT, DATA("D\0\0\0\x06\0\3"), "malformed_response", false },
    { FLOW_TO_CLIENT, DATA("!\0\0\0\x04"), "malformed_response", false },
    { FLOW_TO_CLIENT, DATA("E\0\0\0\x01"), "invalid_length", true },
};

START_TEST(mistakes_have_events)
{
    static const char *const all[] = { "malformed_request", "malformed_response", "invalid_length" };

    for (size_t i = 0; i < ROWS(cuts); i++) {
        struct app_rig *rig = pgsql_rig(cuts[i], NULL);
        uint64_t id = mistakes[_i].bytes[0] == 0 ? 0 : 1;

        if (id == 1)
            send_startup(rig);
        if (id == 1)
            SERVER('Z', "I");
        app_rig_send(rig, mistakes[_i].direction, mistakes[_i].bytes, mistakes[_i].length);
        for (size_t k = 0; k < ROWS(all); k++)
            ck_assert_int_eq(app_rig_has_event(rig, id, all[k]), strcmp(all[k], mistakes[_i].event) == 0);
        ck_assert_int_eq(rig->failed, mistakes[_i].fails);
        app_rig_free(rig);
    }
}
END_TEST

/* A row of 16 MB is skipped; the message after it is parsed. */
START_TEST(large_rows_are_skipped)
{
    struct app_rig *rig = pgsql_rig(0, NULL);
    static uint8_t block[1 << 16];

    CLIENT('Q', "SELECT 1\0");
    app_rig_send(rig, FLOW_TO_CLIENT, DATA("D\x01\0\0\0\0\1\0\xff\xff\xf6"));
    for (unsigned i = 0; i < 255; i++)
        app_rig_send(rig, FLOW_TO_CLIENT, block, sizeof(block));
    app_rig_send(rig, FLOW_TO_CLIENT, block, sizeof(block) - 4 - 6);
    SERVER('C', "SELECT 1\0");
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"tx_id\":1,\"request\":{\"simple_query\":\"SELECT 1\"},\"response\":{\"data_rows\":1,"
                     "\"data_size\":16777206,\"command_completed\":\"SELECT 1\"}}");
    app_rig_free(rig);
}
END_TEST

START_TEST(flood_completes_the_oldest)
{
    struct app_rig *rig = pgsql_rig(0, NULL);

    for (unsigned i = 0; i < 1025; i++)
        CLIENT('Q', "SELECT 1\0");
    ck_assert(!app_rig_has_event(rig, 1023, "too_many_transactions"));
    ck_assert(app_rig_has_event(rig, 1024, "too_many_transactions"));
    ck_assert_uint_eq(app_rig_tx(rig, 0)->progress[FLOW_TO_CLIENT], 1);
    ck_assert_uint_eq(app_rig_tx(rig, 1)->progress[FLOW_TO_CLIENT], 0);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    size_t length;
    bool found;
} finds[] = {
    { 9999, DATA("\0\0\0\x08\x04\xd2\x16\x2f"), true },
    { 9999, DATA("\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\1\0\0\0\2"), true },
    { 9999, DATA("\0\0\0\x12\0\3\0\0user\0bob\0\0"), true },
    { 9999, DATA("\0\0\0\x12\0\3\0\0\1ser\0bob\0\0"), false },
    { 9999, DATA("\0\0\0\x12\0\4\0\0user\0bob\0\0"), false },
    { 9999, DATA("Q\0\0\0\x0dSELECT 1\0"), false },
    { 5432, DATA("Q\0\0\0\x0dSELECT 1\0"), true },
    { 5432, DATA("Q\xff\0\0\x0dSELECT 1\0"), false },
    { 5432, DATA("GET / HTTP/1.0"), false },
};

START_TEST(protocol_is_found)
{
    for (size_t i = 0; i < ROWS(cuts); i++) {
        struct app_rig *rig = pgsql_rig(cuts[i], NULL);

        rig->flow.server_port = finds[_i].port;
        app_rig_send(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
        ck_assert_int_eq(strcmp(app_rig_protocol(rig) ? app_rig_protocol(rig) : "", "pgsql") == 0, finds[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_pgsql");
    TCase *tests = tcase_create("pgsql");

    tcase_add_loop_test(tests, simple_session_is_logged, 0, ROWS(cuts));
    tcase_add_loop_test(tests, scram_is_logged, 0, ROWS(cuts));
    tcase_add_loop_test(tests, extended_queries, 0, ROWS(cuts));
    tcase_add_loop_test(tests, copies, 0, ROWS(cuts));
    tcase_add_loop_test(tests, connection_is_encrypted, 0, ROWS(upgrades));
    tcase_add_loop_test(tests, notices_between_queries, 0, ROWS(cuts));
    tcase_add_loop_test(tests, cancel_request_is_complete, 0, ROWS(cuts));
    tcase_add_loop_test(tests, mistakes_have_events, 0, ROWS(mistakes));
    tcase_add_test(tests, large_rows_are_skipped);
    tcase_add_test(tests, flood_completes_the_oldest);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
