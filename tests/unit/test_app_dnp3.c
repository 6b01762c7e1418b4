/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DNP3: link frames, reassembly, objects, conditions, events, detection. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static const char select_request[] =
    "\x05\x64\x1a\xc4\x02\x00\x03\x00\x40\xf2\xc1\xc1\x03\x0c\x01\x28\x01\x00\x07\x00\x03\x01\x64\x00\x00"
    "\x00\x17\x2a\x64\x00\x00\x00\x00\x00\x5b";
static const char response[] =
    "\x05\x64\x21\x44\x03\x00\x02\x00\x5d\x7a\xc1\xc1\x81\x90\x00\x01\x02\x00\x00\x02\x81\x01\x02\x0a\x02"
    "\x07\x9c\x0b\x01\x01\x1e\x01\x17\x01\x05\x01\xfe\xff\xff\xff\x43\x01";
static const char unsolicited[] = "\x05\x64\x0a\x44\x03\x00\x02\x00\x53\x82\xc2\xf2\x82\x00\x00\xe1\xe8";
static const char read_request[] =
    "\x05\x64\x0e\xc4\x02\x00\x03\x00\xef\xc7\xc3\xc3\x01\x3c\x02\x06\x3c\x03\x06\x37\x16";
static const char unknown_object[] =
    "\x05\x64\x11\xc4\x02\x00\x03\x00\xcc\xfb\xc4\xc4\x02\x6e\x05\x07\x01\x61\x62\x63\x64\x65\x9f\xbf";
static const char bad_link[] = "\x05\x64\x0e\xc4\x02\x00\x03\x00\xee\xc7\xc3\xc3\x01\x3c\x02\x06\x3c\x03\x06\x37\x16";
static const char bad_data[] = "\x05\x64\x0e\xc4\x02\x00\x03\x00\xef\xc7\xc3\xc2\x01\x3c\x02\x06\x3c\x03\x06\x37\x16";
static const char too_short[] = "\x05\x64\x04\xc4\x02\x00\x03\x00\x00\x00";
static const char segments[] =
    "\x05\x64\x09\xc4\x02\x00\x03\x00\xd1\x19\x40\xc6\x01\x3c\xb2\x63\x05\x64\x08\xc4\x02\x00\x03\x00\x36"
    "\xac\x81\x02\x06\xc1\x1d";
static const char no_data[] = "\x05\x64\x05\xc4\x02\x00\x03\x00\x63\xce";

static const int cuts[] = { 0, 1, -1 };

static struct app_rig *dnp3_rig(int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("dnp3", yaml);

    app_rig_start_flow(rig);
    rig->flow.server_port = 20000;
    rig->cut = cut;
    return rig;
}

START_TEST(messages_are_logged)
{
    struct app_rig *rig = dnp3_rig(cuts[_i], NULL);
    struct app_bytes data = { 0 };

    app_rig_send(rig, FLOW_TO_SERVER, DATA(select_request));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(response));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(unsolicited));
    app_rig_send(rig, FLOW_TO_SERVER, DATA(segments));
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"type\":\"request\",\"control\":{\"dir\":true,\"pri\":true,\"fcb\":false,\"fcv\":false,\"function_code\":4},"
        "\"src\":3,\"dst\":2,\"application\":{\"control\":{\"fir\":true,\"fin\":true,\"con\":false,\"uns\":false,"
        "\"sequence\":1},\"function_code\":3,\"objects\":[{\"group\":12,\"variation\":1,\"qualifier\":40,\"prefix_"
        "code\":2,"
        "\"range_code\":8,\"start\":0,\"stop\":0,\"count\":1,\"points\":[{\"prefix\":7,\"index\":7,\"op_type\":3,"
        "\"qu\":0,"
        "\"cr\":0,\"tcc\":0,\"count\":1,\"ontime\":100,\"offtime\":100,\"status_code\":0,\"reserved\":0}]}],"
        "\"complete\":"
        "true}}");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"type\":\"response\",\"control\":{\"dir\":false"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"iin\":{\"indicators\":[\"device_restart\",\"need_time\"]}"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1),
                                 "{\"prefix\":0,\"index\":0,\"online\":1,\"restart\":0,\"comm_lost\":0,"
                                 "\"remote_forced\":0,\"local_forced\":0,\"chatter_filter\":0,\"reserved\":0,"
                                 "\"state\":1}"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"prefix\":5,\"index\":5,\"online\":1"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 1), "\"value\":-2}"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"type\":\"unsolicited_response\""));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 3), "\"group\":60,\"variation\":2"));
    ck_assert(app_rig_buffer(rig, 3, "dnp3.data", FLOW_TO_SERVER, 0, &data));
    ck_assert_uint_eq(data.length, 5);
    ck_assert_mem_eq(data.bytes, "\xc6\x01\x3c\x02\x06", 5);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint64_t id;
    const char *matches, *others;
} conditions[] = {
    { 0, "dnp3.func:select;", "dnp3.func:operate;" },
    { 0, "dnp3_func:3;", "dnp3_func:4;" },
    { 0, "dnp3.obj:12,1;", "dnp3.obj:12,2;" },
    { 1, "dnp3.func:response;", "dnp3.func:130;" },
    { 1, "dnp3.ind:device_restart;", "dnp3.ind:device_trouble;" },
    { 1, "dnp3_ind:device_trouble, need_time;", "dnp3_ind:0x20;" },
    { 1, "dnp3_obj:30,1;", "dnp3_obj:1,1;" },
};

START_TEST(keywords)
{
    struct app_rig *rig = dnp3_rig(0, NULL);
    enum flow_direction direction = conditions[_i].id ? FLOW_TO_CLIENT : FLOW_TO_SERVER;

    app_rig_send(rig, FLOW_TO_SERVER, DATA(select_request));
    app_rig_send(rig, FLOW_TO_CLIENT, DATA(response));
    ck_assert(app_rig_matches(rig, conditions[_i].id, direction, conditions[_i].matches));
    ck_assert(!app_rig_matches(rig, conditions[_i].id, direction, conditions[_i].others));
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    const char *yaml, *event;
} mistakes[] = {
    { DATA(too_short), NULL, "len_too_small" },
    { DATA(no_data), NULL, "len_too_small" },
    { DATA(bad_link), NULL, "bad_link_crc" },
    { DATA(bad_data), NULL, "bad_transport_crc" },
    { DATA(unknown_object), NULL, "unknown_object" },
    { DATA(read_request), "app-layer: {protocols: {dnp3: {max-objects: 1}}}", "too_many_objects" },
    { DATA(read_request), NULL, NULL },
};

START_TEST(mistakes_have_events)
{
    static const char *const all[] = { "len_too_small",  "bad_link_crc",     "bad_transport_crc",
                                       "unknown_object", "too_many_objects", "too_many_points" };

    for (size_t i = 0; i < ROWS(cuts); i++) {
        struct app_rig *rig = dnp3_rig(cuts[i], mistakes[_i].yaml);

        app_rig_send(rig, FLOW_TO_SERVER, DATA(select_request));
        app_rig_send(rig, FLOW_TO_SERVER, mistakes[_i].bytes, mistakes[_i].length);
        app_rig_send(rig, FLOW_TO_SERVER, DATA(select_request));
        for (size_t k = 0; k < ROWS(all); k++)
            ck_assert_int_eq(app_rig_has_event(rig, 1, all[k]),
                             mistakes[_i].event && strcmp(all[k], mistakes[_i].event) == 0);
        ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 2), "\"function_code\":3,")); /* parsing resumes */
        ck_assert(!rig->failed);
        app_rig_free(rig);
    }
}
END_TEST

START_TEST(points_have_a_limit)
{
    struct app_rig *rig = dnp3_rig(0, "app-layer: {protocols: {dnp3: {max-points: 2}}}");

    app_rig_send(rig, FLOW_TO_CLIENT, DATA(response));
    ck_assert(app_rig_has_event(rig, 0, "too_many_points"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"complete\":false"));
    app_rig_free(rig);
}
END_TEST

START_TEST(unanswered_requests_are_a_flood)
{
    struct app_rig *rig = dnp3_rig(0, NULL);

    for (unsigned i = 0; i < 33; i++)
        app_rig_send(rig, FLOW_TO_SERVER, DATA(read_request));
    ck_assert(!app_rig_has_event(rig, 31, "flooded"));
    ck_assert(app_rig_has_event(rig, 32, "flooded"));
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    size_t length;
    bool found;
} finds[] = {
    { 9999, DATA(read_request), true },
    { 9999, DATA(bad_link), false },
    { 20000, DATA(bad_link), true },
    { 20000, DATA("\x05\x65\x08\xc4\x02\x00\x03\x00\x00\x00"), false },
};

START_TEST(protocol_is_found)
{
    struct app_rig *rig = dnp3_rig(_i & 1, NULL);
    const char *name;

    rig->flow.server_port = finds[_i].port;
    app_rig_send(rig, FLOW_TO_SERVER, finds[_i].bytes, finds[_i].length);
    name = app_rig_protocol(rig);
    ck_assert_int_eq(name && strcmp(name, "dnp3") == 0, finds[_i].found);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_dnp3");
    TCase *tests = tcase_create("dnp3");

    tcase_add_loop_test(tests, messages_are_logged, 0, ROWS(cuts));
    tcase_add_loop_test(tests, keywords, 0, ROWS(conditions));
    tcase_add_loop_test(tests, mistakes_have_events, 0, ROWS(mistakes));
    tcase_add_test(tests, points_have_a_limit);
    tcase_add_test(tests, unanswered_requests_are_a_flood);
    tcase_add_loop_test(tests, protocol_is_found, 0, ROWS(finds));
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
