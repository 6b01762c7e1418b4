/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OPC UA: chunks, their limits and order, values in bodies, events, identification. */
#include <check.h>

#include "../lib/app_rig.h"

/* Parts of messages. Sizes are below 256 bytes, so only the first byte of a size is not 0. */
#define SIZE(size) size "\0\0\0"
#define HELLO "HELF" SIZE("\x25") "\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\0\0\5\0\0\0opc:x"
#define ACKNOWLEDGE "ACKF" SIZE("\x1c") "\0\0\0\0\0\x20\0\0\0\x20\0\0\0\0\0\0\0\0\0\0"
#define MESSAGE(chunk, size, number) "MSG" chunk SIZE(size) "\7\0\0\0\1\0\0\0\1\0\0\0" number "\0\0\0"
/* The 32 bytes before the body of an OpenSecureChannel without a security policy, which means no security. */
#define OPEN(size) "OPNF" SIZE(size) "\7\0\0\0\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0\0\0\1\0\0\0"
/* Headers of 29 and 24 bytes after the type id. */
#define REQUEST_HEADER "\0\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0"
#define RESPONSE_HEADER "\0\0\0\0\0\0\0\0\5\0\0\0\0\0\x1f\x80\0\xff\xff\xff\xff\0\0\0"
#define OPENED OPEN("\x41") "\1\0\xbe\1" REQUEST_HEADER
/* The start of a WriteValue, up to the value. */
#define WRITE_HEAD "\1\2\1\0\x0d\0\0\0\xff\xff\xff\xff\1"
#define SEND(rig, direction, text) app_rig_send(rig, direction, text, sizeof(text) - 1)

static const int cuts[] = { 0, 1, 7, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

static struct app_rig *opcua_rig(int cut, uint16_t port, const char *yaml)
{
    struct app_rig *rig = app_rig_new("opcua", yaml);

    rig->transport = APP_TCP;
    app_rig_start_flow(rig);
    rig->flow.server_port = port;
    rig->cut = cut;
    return rig;
}

START_TEST(messages_are_parsed)
{
    struct app_rig *rig = opcua_rig(cuts[_i], 4840, NULL);
    struct app_bytes bytes = { 0 };

    SEND(rig, FLOW_TO_SERVER, HELLO);
    SEND(rig, FLOW_TO_CLIENT, ACKNOWLEDGE);
    SEND(rig, FLOW_TO_SERVER, OPENED);
    /* A write in two chunks, with a message between them. */
    SEND(rig, FLOW_TO_SERVER, MESSAGE("C", "\x1d", "\2") "\1\0\xa1\2\0");
    SEND(rig, FLOW_TO_SERVER, MESSAGE("F", "\x39", "\3") "\1\0\x15\2" REQUEST_HEADER); /* without parameters */
    SEND(rig, FLOW_TO_SERVER,
         MESSAGE("F", "\x4d", "\2") "\0\0\0\0\0\0\0\0\0\5\0\0\0\0\0\0\0\xff\xff\xff\xff\0\0\0\0\0\0\0"
                                    "\1\0\0\0" WRITE_HEAD "\x0c\3\0\0\0on!");
    SEND(rig, FLOW_TO_CLIENT, MESSAGE("F", "\x34", "\2") "\1\0\x8d\1" RESPONSE_HEADER);
    ck_assert_str_eq(app_rig_protocol(rig), "opcua");
    ck_assert_str_eq(app_rig_json(rig, 0),
                     "{\"opcua\":{\"msg_type\":\"HEL\",\"version\":0,\"endpoint_url\":\"opc:x\"}}");
    ck_assert(app_rig_matches(rig, 1, FLOW_TO_CLIENT, "opcua.msg_type:ACK;"));
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "opcua.service:OpenSecureChannelRequest;"));
    ck_assert(app_rig_buffer(rig, 2, "opcua.security_policy", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 0);
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_SERVER, "opcua.service:WriteRequest;"));
    ck_assert(app_rig_buffer(rig, 3, "opcua.item", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(bytes.length == 8 && memcmp(bytes.bytes, "ns=2;i=1", 8) == 0);
    ck_assert(!app_rig_buffer(rig, 3, "opcua.item", FLOW_TO_SERVER, 1, &bytes));
    ck_assert(app_rig_buffer(rig, 3, "opcua.body", FLOW_TO_SERVER, 0, &bytes));
    ck_assert(bytes.length == 58 && memcmp(bytes.bytes + bytes.length - 3, "on!", 3) == 0);
    ck_assert(!app_rig_has_event(rig, 3, "invalid_body"));
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_SERVER, "opcua.msg_type:!CLO;"));
    ck_assert(!app_rig_matches(rig, 3, FLOW_TO_SERVER, "opcua.msg_type:!message;"));
    ck_assert(!app_rig_matches(rig, 3, FLOW_TO_SERVER, "opcua.status:0;"));
    ck_assert(app_rig_matches(rig, 4, FLOW_TO_SERVER, "opcua.service:BrowseNextRequest;"));
    ck_assert(app_rig_matches(rig, 5, FLOW_TO_CLIENT, "opcua.status:0x801f0000;"));
    ck_assert_ptr_null(app_rig_tx(rig, 6));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Bytes above max-body are skipped; a message without security is not parsed when it is incomplete. */
START_TEST(bodies_are_limited)
{
    struct app_rig *rig = opcua_rig(cuts[_i], 4840, "app-layer: { protocols: { opcua: { max-body: 1024 } } }\n");
    uint8_t chunk[24 + 700] = MESSAGE("C", "\xd4", "\2") "\1\0\x77\2" REQUEST_HEADER;
    struct app_bytes bytes = { 0 };

    chunk[5] = sizeof(chunk) >> 8;
    SEND(rig, FLOW_TO_SERVER, HELLO OPENED);
    app_rig_send(rig, FLOW_TO_SERVER, chunk, sizeof(chunk));
    chunk[3] = 'F';
    app_rig_send(rig, FLOW_TO_SERVER, chunk, sizeof(chunk));
    SEND(rig, FLOW_TO_SERVER, HELLO);
    ck_assert(app_rig_has_event(rig, 2, "body_too_large"));
    ck_assert(!app_rig_has_event(rig, 2, "invalid_body"));
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "opcua.service:ReadRequest;"));
    ck_assert(app_rig_buffer(rig, 2, "opcua.body", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 1024);
    ck_assert(app_rig_matches(rig, 3, FLOW_TO_SERVER, "opcua.msg_type:HEL;"));
    app_rig_free(rig);
}
END_TEST

/* The ninth message that waits for chunks completes the oldest one, which has an incomplete chunk. */
START_TEST(open_messages_are_limited)
{
    struct app_rig *rig = opcua_rig(cuts[_i], 4840, NULL);
    char chunk[] = MESSAGE("C", "\x19", "\2") "\1";

    SEND(rig, FLOW_TO_SERVER, HELLO);
    SEND(rig, FLOW_TO_CLIENT, MESSAGE("C", "\x1a", "\x63") "\1"); /* a byte is missing */
    for (char number = 1; number <= 8; number++) {
        chunk[20] = number;
        app_rig_send(rig, FLOW_TO_SERVER, chunk, sizeof(chunk) - 1);
    }
    SEND(rig, FLOW_TO_CLIENT, "\0" ACKNOWLEDGE);
    ck_assert(!app_rig_has_event(rig, 8, "too_many_messages"));
    ck_assert(app_rig_has_event(rig, 9, "too_many_messages"));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
    ck_assert(!app_tx_is_complete(app_rig_tx(rig, 2), FLOW_TO_SERVER));
    ck_assert(app_rig_matches(rig, 10, FLOW_TO_CLIENT, "opcua.msg_type:ACK;"));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* Values to write in a request with two items: the second item shows where the value of the first one ends. */
static const struct {
    const char *value;
    uint32_t length;
    bool is_valid;
} values[] = {
    { "\0", 1, true },                   /* null */
    { "\1\1", 2, true },                 /* Boolean */
    { "\x0b\0\0\0\0\0\0\0\0", 9, true }, /* Double */
    { "\x0b\0\0\0\0\0\0\0", 8, false },
    { "\x0c\xff\xff\xff\xff", 5, true }, /* a null string */
    { "\x0c\2\0\0\0a", 6, false },
    { "\x0c\xfe\xff\xff\xff", 5, false },
    { "\x11\2\1\0\1\0\0\0", 8, true }, /* NodeId */
    { "\x11\6\1\0\1\0\0\0", 8, false },
    { "\x12\xc0\1\1\0\0\0u\1\0\0\0", 12, true }, /* ExpandedNodeId with a URI and a server */
    { "\x14\1\0\1\0\0\0n", 8, true },            /* QualifiedName */
    { "\x15\2\1\0\0\0t", 7, true },              /* LocalizedText */
    { "\x16\0\1\1\1\0\0\0x", 9, true },          /* ExtensionObject */
    { "\x16\0\1\0", 4, true },
    { "\x17\x3f\1\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 28, true }, /* DataValue with all members */
    { "\x19\x7f\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0i\0\0\0\0\0", 28, true },  /* DiagnosticInfo with another */
    { "\x1a\1\0\0\0x", 6, true },                                                 /* an unassigned type */
    { "\x20\1", 2, false },                                                       /* an invalid type */
    { "\x86\2\0\0\0\0\0\0\0\0\0\0\0", 13, true },                                 /* an array of Int32 */
    { "\x86\xff\xff\xff\xff", 5, true },                                          /* a null array */
    { "\x86\xff\xff\xff\x7f\0\0\0\0", 9, false },
    { "\xc1\2\0\0\0\1\1\1\0\0\0\2\0\0\0", 15, true }, /* with a dimension */
    { "\xc1\2\0\0\0\1\1\2\0\0\0\2\0\0\0", 15, false },
    { "\x98\2\0\0\0\1\1\x0c\0\0\0\0", 12, true },                                     /* an array of variants */
    { "\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\1\1", 17, true }, /* in 15 variants */
    { "\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\x18\1\1", 18, false },
};
enum { VALUES = sizeof(values) / sizeof(values[0]) };

START_TEST(values_are_skipped)
{
    static const char head[] = MESSAGE("F", "\0", "\2") "\1\0\xa1\2" REQUEST_HEADER "\2\0\0\0" WRITE_HEAD;
    static const char next[] = "\0\x55\x0d\0\0\0\xff\xff\xff\xff\0"; /* the second item: i=85, no value */
    struct app_rig *rig = opcua_rig(_i % 2, 4840, NULL);
    struct app_bytes bytes = { 0 };
    uint8_t message[256];
    uint32_t length = 0;

    SEND(rig, FLOW_TO_SERVER, HELLO OPENED);
    memcpy(message, head, sizeof(head) - 1);
    length = sizeof(head) - 1;
    memcpy(message + length, values[_i].value, values[_i].length);
    length += values[_i].length;
    memcpy(message + length, next, sizeof(next) - 1);
    length += sizeof(next) - 1;
    message[4] = (uint8_t)length;
    app_rig_send(rig, FLOW_TO_SERVER, message, length);
    ck_assert(app_rig_matches(rig, 2, FLOW_TO_SERVER, "opcua.service:WriteRequest;"));
    ck_assert_int_eq(app_rig_buffer(rig, 2, "opcua.item", FLOW_TO_SERVER, 1, &bytes) && bytes.length == 4 &&
                         memcmp(bytes.bytes, "i=85", 4) == 0,
                     values[_i].is_valid);
    ck_assert_int_eq(app_rig_has_event(rig, 2, "invalid_body"), !values[_i].is_valid);
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *bytes;
    uint32_t length;
    const char *event;
    bool ends;
} faults[] = {
    { "MSGF\x17\0\0\0", 8, "invalid_size", true },
    { "HELF\x1f\0\0\0", 8, "invalid_size", true },
    { "HELF\0\0\1\0", 8, "invalid_size", true },
    { "MSGA\0\0\1\0", 8, "invalid_size", true },
    { "MSHF\x20\0\0\0", 8, "invalid_type", true },
    { "MSGX\x20\0\0\0", 8, "invalid_chunk_type", true },
    { "ACKC\x1c\0\0\0\0\0\0\0\0\x20\0\0\0\x20\0\0\0\0\0\0\0\0\0\0", 28, "invalid_chunk_type", false },
    { "ACKF\x1c\0\0\0\1\0\0\0\0\x20\0\0\0\x20\0\0\0\0\0\0\0\0\0\0", 28, "abnormal_version", false },
    { "ERRF\x10\0\0\0\1\0\0\0\1\0\0\0", 16, "invalid_string", false },
    { "RHEF\x10\0\0\0\0\0\0\0\1\0\0\0", 16, "invalid_string", false },
    { "OPNF\x20\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0\0\0\0\0", 32, "invalid_string", false },
    { MESSAGE("F", "\x19", "\2") "\0", 25, "invalid_type_id", false },
    { MESSAGE("F", "\x18", "\2"), 24, "invalid_type_id", false },
    { MESSAGE("F", "\x1a", "\2") "\0\1", 26, "invalid_type_id", false },
    { MESSAGE("F", "\x1c", "\2") "\1\1\xa1\2", 28, "nonzero_namespace_index", false },
    { MESSAGE("F", "\x1c", "\2") "\1\0\xa1\2", 28, "invalid_body", false },
    { MESSAGE("A", "\x20", "\2") "\0\0\0\x80\1\0\0\0", 32, "invalid_string", false },
};
enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

START_TEST(faults_have_events)
{
    struct app_rig *rig = opcua_rig(_i % 2, 4840, NULL);

    SEND(rig, FLOW_TO_SERVER, HELLO OPENED);
    app_rig_send(rig, FLOW_TO_SERVER, faults[_i].bytes, faults[_i].length);
    ck_assert(!app_rig_has_event(rig, 1, faults[_i].event));
    ck_assert(app_rig_has_event(rig, 2, faults[_i].event));
    ck_assert_int_eq(rig->failed, faults[_i].ends);
    app_rig_free(rig);
}
END_TEST

static const struct {
    uint16_t port;
    const char *bytes;
    uint32_t length;
    bool found;
} starts[] = {
    { 4840, HELLO, 37, true },
    { 9999, HELLO, 37, true },
    { 9999, "HELF\x24\0\0\0\0\0\0\0\0\0\1\0\0\0\1\0\0\0\0\0\0\0\0\0\5\0\0\0opc:", 36, false }, /* a longer text */
    { 9999, "RHEF\x16\0\0\0\1\0\0\0a\1\0\0\0b", 18, true },
    { 9999, ACKNOWLEDGE, 28, true },
    { 9999, "HELO mail\r\n", 11, false },
    { 9999, MESSAGE("F", "\x18", "\2"), 24, false },
    { 4840, MESSAGE("C", "\x18", "\2"), 24, true },
    { 4840, "MSGF\x17\0\0\0", 8, false },
    { 4840, "GET / HTTP/1.1\r\n", 16, false },
};
enum { STARTS = sizeof(starts) / sizeof(starts[0]) };

START_TEST(protocol_is_identified)
{
    for (unsigned i = 0; i < CUTS; i++) {
        struct app_rig *rig = opcua_rig(cuts[i], starts[_i].port, NULL);
        const char *protocol;

        app_rig_send(rig, FLOW_TO_SERVER, starts[_i].bytes, starts[_i].length);
        protocol = app_rig_protocol(rig);
        ck_assert_int_eq(protocol && strcmp(protocol, "opcua") == 0, starts[_i].found);
        app_rig_free(rig);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_opcua");
    TCase *tests = tcase_create("opcua");

    tcase_add_loop_test(tests, messages_are_parsed, 0, CUTS);
    tcase_add_loop_test(tests, bodies_are_limited, 0, CUTS);
    tcase_add_loop_test(tests, open_messages_are_limited, 0, CUTS);
    tcase_add_loop_test(tests, values_are_skipped, 0, VALUES);
    tcase_add_loop_test(tests, faults_have_events, 0, FAULTS);
    tcase_add_loop_test(tests, protocol_is_identified, 0, STARTS);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
