/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Modbus: functions, the forms of the keyword, events, responses that contradict their requests, detection. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static struct app_rig *modbus_rig(int cut)
{
    struct app_rig *rig = app_rig_new("modbus", NULL);

    app_rig_start_flow(rig);
    rig->flow.server_port = 502;
    rig->cut = cut;
    return rig;
}

/* Sends function and data with a header for unit 10 and transaction 1. */
static void send_message(struct app_rig *rig, enum flow_direction direction, const char *bytes, size_t length)
{
    uint8_t message[300] = { 0, 1, 0, 0, (uint8_t)((length + 1) >> 8), (uint8_t)(length + 1), 10 };

    memcpy(message + 7, bytes, length);
    app_rig_send(rig, direction, message, 7 + length);
}

#define CLIENT(text) send_message(rig, FLOW_TO_SERVER, DATA(text))
#define SERVER(text) send_message(rig, FLOW_TO_CLIENT, DATA(text))

#define HEAD "\"transaction_id\":1,\"protocol_id\":0,\"unit_id\":10,"

START_TEST(transaction_is_logged)
{
    static const int cuts[] = { 0, 1, -1 };

    for (size_t i = 0; i < ROWS(cuts); i++) {
        struct app_rig *rig = modbus_rig(cuts[i]);

        CLIENT("\1\0\1\0\x09");
        SERVER("\1\2ab");
        CLIENT("\x08\0\4\0\0");
        SERVER("\x88\1");
        CLIENT("\6\0\1\0\2");
        SERVER("\6\0\1\0\2");
        ck_assert_str_eq(app_rig_json(rig, 0),
                         "{\"id\":1,\"request\":{" HEAD "\"function_raw\":1,\"function_code\":\"RdCoils\","
                         "\"access_type\":\"READ | COILS\",\"category\":\"PUBLIC_ASSIGNED\",\"error_flags\":\"NONE\","
                         "\"read\":{\"address\":1,\"quantity\":9}},\"response\":{" HEAD "\"function_raw\":1,"
                         "\"function_code\":\"RdCoils\",\"access_type\":\"READ | COILS\",\"category\":"
                         "\"PUBLIC_ASSIGNED\",\"error_flags\":\"NONE\",\"read\":{\"data\":\"ab\"}}}");
        ck_assert_ptr_nonnull(
            strstr(app_rig_json(rig, 1), "\"diagnostic\":{\"raw\":4,\"code\":\"ForceListenOnlyMode\""));
        ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"exception\":{\"raw\":1,\"code\":\"IllegalFunction\"}"));
        ck_assert_ptr_nonnull(
            strstr(app_rig_json(rig, 2), "\"access_type\":\"WRITE | HOLDING | SINGLE | WRITE_SINGLE\""));
        ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"write\":{\"address\":1,\"data\":2}"));
        ck_assert(!rig->failed);
        app_rig_free(rig);
    }
}
END_TEST

static const struct {
    const char *request;
    size_t length;
    const char *matches, *others; /* values of the keyword, separated by ; */
} rules[] = {
    { DATA("\1\0\1\0\x09"),
      "function 1;function assigned;function public;function !user;unit 10;unit 9<>11;unit >9, function 1;access read;"
      "access read coils;access read coils, address 0<>2;access read coils, address 9;access read, address <2;unit "
      "<11, access read, address 8<>20",
      "function 2;function user;function !assigned;unit 9;unit >10;unit 10, function 2;access write;access read "
      "holding;"
      "access read coils, address 10;access read, address 0;access read, address >9" },
    { DATA("\x08\0\4\0\0"), "function 8;function 8, subfunction 4;\"function 8\"",
      "function 8, subfunction 3;access read;function reserved" },
    { DATA("\x08\0\5\0\0"), "function reserved;function all", "function assigned" },
    { DATA("\x05\0\3\xff\0"), "access write coils, address 3, value 65280;access write, address 3, value >1",
      "access write, address 3, value 1;access write, address 4, value 65280;access read" },
    { DATA("\x0f\0\3\0\x0a\2\xff\1"), "access write coils, address 3, value 1;access write, address 11, value 1",
      "access write, address 12, value 1;access write, address 13, value 0;access write holding" },
    { DATA("\x10\0\3\0\2\4\0\1\0\7"), "access write holding, address 4, value 7;access write, address 4, value 6<>8",
      "access write holding, address 4, value 8;access write, address 5, value 7" },
    { DATA("\x17\0\1\0\2\0\x10\0\1\2\0\7"), "access read, address 2;access write, address 16, value 7",
      "access read, address 16;access write, address 2" },
    { DATA("\x16\0\4\0\xf2\0\x25"), "access write holding, address 4", "access write, address 4, value 242" },
    { DATA("\x41\0"), "function user;function 65", "function assigned;function reserved" },
    { DATA("\x20\0"), "function unassigned;function public", "function assigned" },
    { DATA("\x2b\x0e\1\0"), "function assigned;function 43", "function reserved" },
};

static void assert_values(const struct app_rig *rig, const char *values, bool expected)
{
    char list[512], options[128];

    snprintf(list, sizeof(list), "%s", values);
    for (char *save = NULL, *value = strtok_r(list, ";", &save); value; value = strtok_r(NULL, ";", &save)) {
        snprintf(options, sizeof(options), "modbus:%s;", value);
        ck_assert_msg(app_rig_matches(rig, 0, FLOW_TO_SERVER, options) == expected, "%s", options);
    }
}

START_TEST(keyword)
{
    struct app_rig *rig = modbus_rig(0);

    send_message(rig, FLOW_TO_SERVER, rules[_i].request, rules[_i].length);
    assert_values(rig, rules[_i].matches, true);
    assert_values(rig, rules[_i].others, false);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *request, *response;
    size_t request_length, response_length;
    const char *event; /* NULL: none */
} exchanges[] = {
#define ROW(a, b, event)                                                                                               \
    {                                                                                                                  \
        a, b, sizeof(a) - 1, sizeof(b) - 1, event                                                                      \
    }
    ROW("\3\0\1\0\2", "\3\4abcd", NULL),
    ROW("\3\0\1\0\2", "\3\2ab", "value_mismatch"),
    ROW("\3\0\1\0\2", "\3\4abc", "value_mismatch"),
    ROW("\3\0\1\0\0", "", "invalid_value"),
    ROW("\3\0\1\0\x7e", "", "invalid_value"),
    ROW("\3\0\1\0", "", "invalid_length"),
    ROW("\3\0\1\0\1\0", "", "invalid_length"),
    ROW("\5\0\1\0\1", "", "invalid_value"),
    ROW("\6\0\1\0\2", "\6\0\1\0\3", "value_mismatch"),
    ROW("\x0f\0\1\0\x09\2\1\1", "\x0f\0\1\0\x09", NULL),
    ROW("\x0f\0\1\0\x09\2\1\1", "\x0f\0\1\0\x08", "value_mismatch"),
    ROW("\x0f\0\1\0\x09\1\1", "", "invalid_value"),
    ROW("\x10\0\1\0\1\2\1", "", "invalid_length"),
    ROW("\0", "", "invalid_function_code"),
    ROW("\x11", "\x91\4", NULL),
    ROW("\x11", "\x91\x09", "invalid_exception_code"),
    ROW("\x11", "\x12", "unsolicited_response"),
#undef ROW
};

START_TEST(mistakes_have_events)
{
    static const char *const all[] = {
        "unsolicited_response",   "invalid_function_code", "invalid_length", "invalid_value",
        "invalid_exception_code", "value_mismatch",        "flooded",        "invalid_protocol_id"
    };
    struct app_rig *rig = modbus_rig(0);

    send_message(rig, FLOW_TO_SERVER, exchanges[_i].request, exchanges[_i].request_length);
    if (exchanges[_i].response_length > 0)
        send_message(rig, FLOW_TO_CLIENT, exchanges[_i].response, exchanges[_i].response_length);
    for (size_t k = 0; k < ROWS(all); k++) {
        bool has = app_rig_has_event(rig, 0, all[k]) || (app_rig_tx(rig, 1) && app_rig_has_event(rig, 1, all[k]));

        ck_assert_msg(has == (exchanges[_i].event && strcmp(all[k], exchanges[_i].event) == 0), "%s", all[k]);
    }
    app_rig_free(rig);
}
END_TEST

START_TEST(headers)
{
    static uint8_t block[500];
    struct app_rig *rig = modbus_rig(0);

    CLIENT("\x11");
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\2\0\1\0\2\x0a\x11"));
    ck_assert(app_rig_has_event(rig, 1, "invalid_protocol_id"));
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\3\0\0\1\xf6\x0a\x11")); /* 500 bytes of data */
    app_rig_send(rig, FLOW_TO_SERVER, block, sizeof(block));
    ck_assert(app_rig_has_event(rig, 2, "invalid_length"));
    CLIENT("\x11");
    ck_assert_ptr_nonnull(app_rig_tx(rig, 3));
    ck_assert(!rig->failed);
    app_rig_send(rig, FLOW_TO_SERVER, DATA("\0\3\0\0\0\1\x0a\x11"));
    ck_assert(app_rig_has_event(rig, 4, "invalid_length"));
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(flood_completes_the_oldest)
{
    struct app_rig *rig = modbus_rig(0);

    for (unsigned i = 0; i < 501; i++)
        CLIENT("\x11");
    ck_assert(!app_rig_has_event(rig, 499, "flooded"));
    ck_assert(app_rig_has_event(rig, 500, "flooded"));
    ck_assert_uint_eq(app_rig_tx(rig, 0)->progress[FLOW_TO_CLIENT], 1);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    size_t length;
    bool found;
} finds[] = {
    { 502, DATA("\0\1\0\0\0\2\x0a\x11"), true },    { 9999, DATA("\0\1\0\0\0\2\x0a\x11"), false },
    { 502, DATA("\0\1\0\1\0\2\x0a\x11"), false },   { 502, DATA("\0\1\0\0\0\1\x0a\x11"), false },
    { 502, DATA("\0\1\0\0\xff\2\x0a\x11"), false }, { 502, DATA("\0\1\0\0\0\3\x0a\x91\1"), false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = modbus_rig(_i & 1);
    const char *name;

    rig->flow.server_port = finds[_i].port;
    app_rig_send(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
    name = app_rig_protocol(rig);
    ck_assert_int_eq(name && strcmp(name, "modbus") == 0, finds[_i].found);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_modbus");
    TCase *tests = tcase_create("modbus");

    tcase_add_test(tests, transaction_is_logged);
    tcase_add_loop_test(tests, keyword, 0, ROWS(rules));
    tcase_add_loop_test(tests, mistakes_have_events, 0, ROWS(exchanges));
    tcase_add_test(tests, headers);
    tcase_add_test(tests, flood_completes_the_oldest);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
