/* SPDX-License-Identifier: GPL-2.0-or-later */
/* BitTorrent DHT: requests, responses, errors, malformed messages, detection. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static struct app_rig *dht_rig(void)
{
    struct app_rig *rig = app_rig_new("bittorrent-dht", NULL);

    app_rig_start_flow(rig);
    rig->flow.server_port = 6881;
    return rig;
}

#define ID "abcdefghij0123456789"
#define ID_HEX "6162636465666768696a30313233343536373839"

static const struct {
    const char *message;
    size_t length;
    const char *json;
} messages[] = {
    { DATA("d1:ad2:id20:" ID "12:implied_porti1e9:info_hash20:" ID
           "4:porti6881e5:token3:tok6:target3:abce1:q13:announce_peer"
           "1:t2:aa1:v4:UT011:y1:qe"),
      "{\"transaction_id\":\"6161\",\"client_version\":\"55543031\",\"request_type\":\"announce_peer\",\"request\":{"
      "\"id\":"
      "\"" ID_HEX "\",\"target\":\"616263\",\"info_hash\":\"" ID_HEX "\",\"token\":\"746f6b\",\"implied_port\":1,"
      "\"port\":6881}}" },
    { DATA("d1:rd2:id20:" ID "5:nodes26:" ID "\x0a\0\0\1\x1a\xe1"
           "6:nodes638:" ID "\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"
           "\0\x50"
           "5:token1:t6:valuesl6:\x0a\0\0\2\0\x51"
           "3:odd18:\x20\1\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\2\0\x52"
           "ee1:t1:b1:y1:re"),
      "{\"transaction_id\":\"62\",\"response\":{\"id\":\"" ID_HEX "\",\"nodes\":[{\"id\":\"" ID_HEX
      "\",\"ip\":\"10.0.0.1\","
      "\"port\":6881}],\"nodes6\":[{\"id\":\"" ID_HEX
      "\",\"ip\":\"2001:0db8:0000:0000:0000:0000:0000:0001\",\"port\":80}],"
      "\"values\":[{\"ip\":\"10.0.0.2\",\"port\":81},{\"ip\":\"2001:0db8:0000:0000:0000:0000:0000:0002\",\"port\":82}],"
      "\"token\":\"74\"}}" },
    { DATA("d1:eli201e7:A Errore1:t1:c1:y1:ee"),
      "{\"transaction_id\":\"63\",\"error\":{\"num\":201,\"msg\":\"A Error\"}}" },
};

START_TEST(messages_are_logged)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_rig *rig = dht_rig();

        app_rig_send(rig, direction, messages[_i].message, messages[_i].length);
        ck_assert_str_eq(app_rig_protocol(rig), "bittorrent-dht");
        ck_assert_str_eq(app_rig_json(rig, 0), messages[_i].json);
        ck_assert_uint_eq(app_rig_tx(rig, 0)->directions, 1u << direction);
        app_rig_free(rig);
    }
}
END_TEST

static const struct {
    const char *message;
    size_t length;
    bool log_never;
} malformed[] = {
    { DATA("d1:ad2:id20:" ID "e1:q4:ping1:t2:aae"), true },       /* no type */
    { DATA("d1:ad2:id20:" ID "e1:q4:ping1:y1:qe"), false },       /* no transaction id */
    { DATA("d1:ad2:id20:" ID "e1:t2:aa1:y1:qe"), false },         /* no method */
    { DATA("d1:rd2:id20:" ID "e1:t2:aa1:y1:qe"), false },         /* no arguments */
    { DATA("d1:ad2:id20:" ID "e1:q4:ping1:t9:aa1:y1:qe"), true }, /* a string that ends after the datagram */
    { DATA("d1:ad2:id20:" ID "1:xi1-ee1:q4:ping1:t2:aa1:y1:qe"), true },
    { DATA("d1:ad2:id20:" ID "1:xllllllllllllllllllleeeeeeeeeeeeeeeeeee1:q4:ping1:t2:aa1:y1:qe"), true },
};

START_TEST(malformed_messages_have_an_event)
{
    struct app_rig *rig = dht_rig();

    app_rig_send(rig, FLOW_TO_SERVER, malformed[_i].message, malformed[_i].length);
    ck_assert(app_rig_has_event(rig, 0, "malformed_packet"));
    ck_assert_int_eq(app_rig_tx(rig, 0)->log_never, malformed[_i].log_never);
    app_rig_send(rig, FLOW_TO_SERVER, messages[2].message, messages[2].length);
    ck_assert(!app_rig_has_event(rig, 1, "malformed_packet"));
    app_rig_free(rig);
}
END_TEST

START_TEST(other_datagrams_are_not_found)
{
    static const char *const others[] = { "d1:ad2:xd20:" ID "ee", "d1:ad2:id20:" ID "ex", "l1:ad2:id20:" ID "ee" };
    struct app_rig *rig = dht_rig();
    const char *name;

    app_rig_send(rig, FLOW_TO_SERVER, others[_i], strlen(others[_i]));
    name = app_rig_protocol(rig);
    ck_assert(!name || strcmp(name, "bittorrent-dht") != 0);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_bittorrent_dht");
    TCase *tests = tcase_create("bittorrent_dht");

    tcase_add_loop_test(tests, messages_are_logged, 0, ROWS(messages));
    tcase_add_loop_test(tests, malformed_messages_have_an_event, 0, ROWS(malformed));
    tcase_add_loop_test(tests, other_datagrams_are_not_found, 0, 3);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
