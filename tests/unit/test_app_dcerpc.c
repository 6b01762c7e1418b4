/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DCE/RPC: calls and their fragments, bindings, gaps, datagrams, limits. */
#include <check.h>

#include "../lib/app_rig.h"
#include "app/dcerpc/dce.h"

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

/* The interface svcctl, 367abb81-9844-35f1-ad32-98f038001003 [C706], in little endian. */
static const uint8_t svcctl[16] = { 0x81, 0xbb, 0x7a, 0x36, 0x44, 0x98, 0xf1, 0x35,
                                    0xad, 0x32, 0x98, 0xf0, 0x38, 0x00, 0x10, 0x03 };

struct fragment {
    uint8_t bytes[1024];
    size_t length;
};

static void put(struct fragment *to, const void *bytes, size_t length)
{
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

static void put_u16(struct fragment *to, unsigned value)
{
    const uint8_t bytes[2] = { (uint8_t)value, (uint8_t)(value >> 8) };

    put(to, bytes, 2);
}

static struct fragment begin(uint8_t type, uint8_t flags, uint8_t call)
{
    struct fragment fragment = { .length = DCE_HEADER };
    const uint8_t header[DCE_HEADER] = { 5, 0, type, flags, 0x10, 0, 0, 0, 0, 0, 0, 0, call, 0, 0, 0 };

    memcpy(fragment.bytes, header, DCE_HEADER);
    return fragment;
}

static void send_fragment(struct app_rig *rig, enum flow_direction direction, struct fragment *fragment)
{
    fragment->bytes[8] = (uint8_t)fragment->length;
    fragment->bytes[9] = (uint8_t)(fragment->length >> 8);
    app_rig_send(rig, direction, fragment->bytes, fragment->length);
}

static void send_bind(struct app_rig *rig, uint8_t type, uint8_t call, unsigned contexts)
{
    struct fragment bind = begin(type, 3, call);
    const uint8_t fixed[12] = { 0, 16, 0, 16, 0, 0, 0, 0, (uint8_t)contexts }, syntax[20] = { 4 };

    put(&bind, fixed, sizeof(fixed));
    for (unsigned i = 0; i < contexts; i++) {
        put_u16(&bind, i);
        put_u16(&bind, 1);
        put(&bind, svcctl, sizeof(svcctl));
        put_u16(&bind, 2);
        put_u16(&bind, 0);
        put(&bind, syntax, sizeof(syntax));
    }
    send_fragment(rig, FLOW_TO_SERVER, &bind);
}

static void send_ack(struct app_rig *rig, uint8_t type, uint8_t call, const uint8_t *results, unsigned count)
{
    struct fragment ack = begin(type, 3, call);
    const uint8_t fixed[16] = { 0, 16, 0, 16, 1, 0, 0, 0, 4, 0, '1', '3', '5', 0, 0, 0 };
    const uint8_t counts[4] = { (uint8_t)count }, rest[22] = { 0 };

    put(&ack, fixed, sizeof(fixed));
    put(&ack, counts, sizeof(counts));
    for (unsigned i = 0; i < count; i++) {
        put_u16(&ack, results[i]);
        put(&ack, rest, sizeof(rest));
    }
    send_fragment(rig, FLOW_TO_CLIENT, &ack);
}

static void send_stub(struct app_rig *rig, uint8_t type, uint8_t flags, uint8_t call, uint8_t context, const char *stub)
{
    struct fragment fragment = begin(type, flags, call);
    const uint8_t fixed[8] = { (uint8_t)strlen(stub), 0, 0, 0, context, 0, type == DCE_REQUEST ? 12 : 0, 0 };

    put(&fragment, fixed, sizeof(fixed));
    put(&fragment, stub, strlen(stub));
    send_fragment(rig, type == DCE_REQUEST ? FLOW_TO_SERVER : FLOW_TO_CLIENT, &fragment);
}

static struct app_rig *start(int cut)
{
    struct app_rig *rig = app_rig_new("dcerpc", NULL);

    rig->cut = cut;
    rig->flow.server_port = 49667;
    return rig;
}

static void assert_stub(const struct app_rig *rig, uint64_t id, enum flow_direction direction, const char *want)
{
    struct app_bytes bytes;
    bool there = app_rig_buffer(rig, id, "dcerpc.stub_data", direction, 0, &bytes);

    ck_assert(there == (want != NULL));
    if (want) {
        ck_assert_uint_eq(bytes.length, strlen(want));
        ck_assert_mem_eq(bytes.bytes, want, bytes.length);
        ck_assert(bytes.little);
    }
}

START_TEST(call_is_read)
{
    struct app_rig *rig = start(cuts[_i]);
    static const uint8_t accepted[] = { 0 };

    send_bind(rig, DCE_BIND, 1, 1);
    send_ack(rig, DCE_BIND_ACK, 1, accepted, 1);
    send_stub(rig, DCE_REQUEST, 3, 2, 0, "arguments");
    assert_stub(rig, 1, FLOW_TO_SERVER, "arguments");
    assert_stub(rig, 1, FLOW_TO_CLIENT, NULL);
    send_stub(rig, DCE_RESPONSE, 3, 2, 0, "results");
    ck_assert_str_eq(app_rig_protocol(rig), "dcerpc");
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"request\":\"BIND\",\"interfaces\":[{\"uuid\":\"367abb81-9844-35f1-ad32-98f038001003\","
        "\"version\":\"2.0\",\"ack_result\":0,\"service\":\"svcctl\"}],\"response\":\"BINDACK\",\"call_id\":1,"
        "\"rpc_version\":\"5.0\"}");
    ck_assert_str_eq(
        app_rig_json(rig, 1),
        "{\"request\":\"REQUEST\",\"req\":{\"opnum\":12,\"frag_cnt\":1,\"stub_data_size\":9},\"interfaces\":["
        "{\"uuid\":\"367abb81-9844-35f1-ad32-98f038001003\",\"version\":\"2.0\",\"ack_result\":0,"
        "\"service\":\"svcctl\",\"procedure\":\"CreateServiceW\"}],\"response\":\"RESPONSE\",\"res\":{"
        "\"frag_cnt\":1,\"stub_data_size\":15},\"call_id\":2,\"rpc_version\":\"5.0\"}");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    app_rig_free(rig);
}
END_TEST

START_TEST(fragments_are_put_together)
{
    struct app_rig *rig = start(cuts[_i]);

    send_stub(rig, DCE_REQUEST, DCE_FIRST_FRAGMENT, 2, 0, "one ");
    send_stub(rig, DCE_REQUEST, 0, 2, 0, "two ");
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    send_stub(rig, DCE_REQUEST, DCE_LAST_FRAGMENT, 2, 0, "three");
    assert_stub(rig, 0, FLOW_TO_SERVER, "one two three");
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    send_stub(rig, DCE_REQUEST, 3, 2, 0, "a call of the same number");
    assert_stub(rig, 1, FLOW_TO_SERVER, "a call of the same number");
    app_rig_free(rig);
}
END_TEST

/* A stub without end is inspected when it reaches the limit. */
START_TEST(stub_has_a_limit)
{
    struct app_rig *rig = app_rig_new("dcerpc", "app-layer:\n  protocols:\n    dcerpc:\n      max-stub-size: 1024\n");
    char stub[257];

    memset(stub, 'x', 256);
    stub[256] = '\0';
    rig->cut = cuts[_i];
    for (unsigned i = 0; i < 5; i++) {
        ck_assert(i < 5 && (i == 0 || !app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER)));
        send_stub(rig, DCE_REQUEST, i == 0, 2, 0, stub);
    }
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    ck_assert_uint_eq(((struct dce_tx *)app_rig_tx(rig, 0))->call->stub[FLOW_TO_SERVER].length, 1024);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static bool has_interface(const struct app_rig *rig, uint64_t id)
{
    const struct dce_call *call = ((struct dce_tx *)app_rig_tx(rig, id))->call;

    for (uint32_t i = 0; call->bindings && i < call->bindings->count; i++)
        if (call->bindings->at[i].acked && call->bindings->at[i].result == 0)
            return true;
    return false;
}

/* A call keeps the binding that was valid when it was made. */
START_TEST(bindings_are_kept_apart)
{
    struct app_rig *rig = start(cuts[_i]);
    static const uint8_t refused[] = { 2, 2 }, mixed[] = { 2, 0, 3 };

    send_bind(rig, DCE_BIND, 1, 2);
    send_ack(rig, DCE_BIND_ACK, 1, refused, 2);
    send_stub(rig, DCE_REQUEST, 3, 2, 0, "x");
    send_bind(rig, DCE_ALTER_CONTEXT, 3, 3);
    send_ack(rig, DCE_ALTER_CONTEXT_RESPONSE, 3, mixed, 3);
    send_stub(rig, DCE_REQUEST, 3, 4, 1, "y");
    ck_assert(!has_interface(rig, 0));
    ck_assert(!has_interface(rig, 1));
    ck_assert(has_interface(rig, 2));
    ck_assert(has_interface(rig, 3));
    app_rig_free(rig);
}
END_TEST

START_TEST(gap_is_survived)
{
    struct app_rig *rig = start(cuts[_i]);
    static const uint8_t accepted[] = { 0 };

    send_bind(rig, DCE_BIND, 1, 1);
    send_ack(rig, DCE_BIND_ACK, 1, accepted, 1);
    app_rig_lose(rig, FLOW_TO_SERVER, 100);
    app_rig_text(rig, FLOW_TO_SERVER, "the rest of something");
    send_ack(rig, DCE_ALTER_CONTEXT_RESPONSE, 1, accepted, 1);
    send_stub(rig, DCE_REQUEST, 3, 2, 0, "found");
    ck_assert(!rig->failed);
    ck_assert_str_eq(app_rig_json(rig, 1),
                     "{\"request\":\"REQUEST_LOST\",\"response\":\"ALTER_CONTEXT_RESP\",\"call_id\":1,"
                     "\"rpc_version\":\"5.0\"}");
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_SERVER));
    assert_stub(rig, 2, FLOW_TO_SERVER, "found");
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    size_t length;
    bool is_found;
} openings[] = {
    { "\x05\x00\x0b\x03\x10\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00", 16, true },
    { "\x05\x01\x0b\x03\x10\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00", 16, false }, /* another version */
    { "\x05\x00\x20\x03\x10\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00", 16, false }, /* unknown type */
    { "\x05\x00\x0b\x03\x11\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00", 16, true },
    { "\x05\x00\x0b\x03\x20\x00\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00", 16, false }, /* unknown byte order */
    { "\x05\x00\x0b\x03\x10\x04\x00\x00\x10\x00\x00\x00\x01\x00\x00\x00", 16, false }, /* unknown format of numbers */
    { "\x05\x00\x0b\x03\x10\x00\x00\x00\x0f\x00\x00\x00\x01\x00\x00\x00", 16, false }, /* too short */
};

START_TEST(opening_tells)
{
    struct app_rig *rig = start(cuts[_i % CUTS]);
    const char *protocol;

    app_rig_send(rig, FLOW_TO_SERVER, openings[_i / CUTS].bytes, openings[_i / CUTS].length);
    protocol = app_rig_protocol(rig);
    ck_assert(openings[_i / CUTS].is_found == (protocol && strcmp(protocol, "dcerpc") == 0));
    app_rig_free(rig);
}
END_TEST

START_TEST(broken_length_fails)
{
    struct app_rig *rig = start(cuts[_i]);
    struct fragment request = begin(DCE_REQUEST, 3, 1);

    put(&request, "1234", 4);
    send_fragment(rig, FLOW_TO_SERVER, &request);
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

static size_t make_datagram(uint8_t *out, uint8_t type, uint8_t flags, uint8_t sequence, const char *stub)
{
    memset(out, 0, 80);
    out[0] = 4;
    out[1] = type;
    out[2] = flags;
    out[4] = 0x10;
    memcpy(out + 24, svcctl, 16);
    memcpy(out + 40, svcctl, 16);
    out[60] = 2;
    out[64] = sequence;
    out[68] = 12;
    out[74] = (uint8_t)strlen(stub);
    memcpy(out + 80, stub, strlen(stub));
    return 80 + strlen(stub);
}

static void send_datagram(struct app_rig *rig, uint8_t type, uint8_t flags, uint8_t sequence, const char *stub)
{
    uint8_t bytes[256];
    size_t length = make_datagram(bytes, type, flags, sequence, stub);

    app_rig_send(rig, type == DCE_REQUEST ? FLOW_TO_SERVER : FLOW_TO_CLIENT, bytes, length);
}

START_TEST(datagrams_are_read)
{
    struct app_rig *rig = app_rig_new("dcerpc", NULL);

    rig->transport = APP_UDP;
    rig->flow.protocol = IPPROTO_UDP;
    rig->flow.server_port = 1034;
    send_datagram(rig, DCE_REQUEST, 4, 9, "in ");
    send_datagram(rig, DCE_REQUEST, 6, 9, "parts");
    send_datagram(rig, 1, 0, 9, ""); /* a ping has no call */
    send_datagram(rig, DCE_RESPONSE, 0, 9, "results");
    assert_stub(rig, 0, FLOW_TO_SERVER, "in parts");
    assert_stub(rig, 0, FLOW_TO_CLIENT, "results");
    ck_assert(has_interface(rig, 0));
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"request\":\"REQUEST\",\"req\":{\"opnum\":12,\"frag_cnt\":2,\"stub_data_size\":8},\"response\":"
                     "\"RESPONSE\",\"res\":{\"frag_cnt\":1,\"stub_data_size\":7},\"activityuuid\":"
                     "\"367abb81-9844-35f1-ad32-98f038001003\",\"seqnum\":9,\"rpc_version\":\"4.0\"}");
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    app_rig_free(rig);
}
END_TEST

START_TEST(oldest_call_makes_room)
{
    struct app_rig *rig = app_rig_new("dcerpc", "app-layer:\n  protocols:\n    dcerpc:\n      max-tx: 2\n");

    rig->cut = cuts[_i];
    for (uint8_t call = 1; call < 4; call++)
        send_stub(rig, DCE_REQUEST, 3, call, 0, "x");
    ck_assert(!rig->failed);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    app_rig_free(rig);
}
END_TEST

START_TEST(names_are_found)
{
    uint8_t uuid[DCE_UUID];
    char text[DCE_UUID_TEXT];
    size_t length = 0;

    dce_uuid_read(svcctl, true, uuid);
    dce_uuid_text(uuid, text);
    ck_assert_str_eq(text, "367abb81-9844-35f1-ad32-98f038001003");
    ck_assert_int_eq(strncmp(dce_procedure_name(uuid, 0, &length), "CloseServiceHandle", length), 0);
    ck_assert_int_eq(strncmp(dce_procedure_name(uuid, 64, &length), "OpenSCManager2", length), 0);
    ck_assert_ptr_null(dce_procedure_name(uuid, 55, &length));
    ck_assert_ptr_null(dce_procedure_name(uuid, 65, &length));
    uuid[15]++;
    ck_assert_ptr_null(dce_service_name(uuid));
    ck_assert_str_eq(dce_type_name(DCE_FAULT), "FAULT");
    ck_assert_ptr_null(dce_type_name(DCE_TYPES));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_dcerpc");
    TCase *tests = tcase_create("dcerpc");

    tcase_add_loop_test(tests, call_is_read, 0, CUTS);
    tcase_add_loop_test(tests, fragments_are_put_together, 0, CUTS);
    tcase_add_loop_test(tests, stub_has_a_limit, 0, CUTS);
    tcase_add_loop_test(tests, bindings_are_kept_apart, 0, CUTS);
    tcase_add_loop_test(tests, gap_is_survived, 0, CUTS);
    tcase_add_loop_test(tests, opening_tells, 0, (int)(sizeof(openings) / sizeof(openings[0])) * CUTS);
    tcase_add_loop_test(tests, broken_length_fails, 0, CUTS);
    tcase_add_test(tests, datagrams_are_read);
    tcase_add_loop_test(tests, oldest_call_makes_room, 0, CUTS);
    tcase_add_test(tests, names_are_found);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
