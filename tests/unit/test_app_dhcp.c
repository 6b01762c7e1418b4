/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DHCP: valid and malformed options, short and extended EVE, buffers. */
#include <check.h>

#include "../lib/app_rig.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))
#define DATA(text) text, sizeof(text) - 1

static const char extended[] = "eve.types.dhcp.extended: yes\n";

static struct app_rig *udp_rig(const char *yaml)
{
    struct app_rig *rig = app_rig_new("dhcp", yaml);

    app_rig_start_flow(rig);
    rig->flow.client_port = 68;
    rig->flow.server_port = 67;
    return rig;
}

static void send_message(struct app_rig *rig, enum flow_direction direction, uint8_t type, const char *options,
                         size_t length)
{
    uint8_t bytes[1024] = { type, 1, 6, 0, 0x01, 0x02, 0x03, 0x04 };

    memcpy(bytes + 12, "\x0a\0\0\x05\x0a\0\0\x06\x0a\0\0\x07\x0a\0\0\x08\0\x11\x22\x33\x44\x55", 22);
    memcpy(bytes + 236, "\x63\x82\x53\x63", 4);
    memcpy(bytes + 240, options, length);
    app_rig_send(rig, direction, bytes, 240 + length);
}

#define HEADER(type)                                                                                                   \
    "{\"type\":\"" type "\",\"id\":16909060,\"client_mac\":\"00:11:22:33:44:55\",\"assigned_ip\":\"10.0.0.6\""

static const struct {
    const char *yaml;
    uint8_t type;
    const char *options;
    size_t length;
    const char *json;
    bool logged;
} messages[] = {
    { NULL, 1, DATA("\x35\x01\x03\xff"), HEADER("request") ",\"dhcp_type\":\"request\"}", false },
    { extended, 1,
      DATA("\x35\x01\x01\x3d\x07\x01\x11\x22\x33\x44\x55\x66\x32\x04\x0a\0\0\x09\x37\x04\x01\x03\x06\x63\x3c\x04MSFT"
           "\xff"),
      HEADER(
          "request") ",\"client_ip\":\"10.0.0.5\",\"client_id\":\"11:22:33:44:55:66\",\"dhcp_type\":\"discover\","
                     "\"requested_ip\":\"10.0.0.9\",\"vendor_class_identifier\":\"MSFT\",\"params\":[\"subnet_mask\","
                     "\"router\",\"dns_server\"]}",
      true },
    { NULL, 2, DATA("\x35\x01\x05\x33\x04\0\0\x0e\x10\x3a\x04\0\0\x07\x08\x0c\x02h\0\xff"),
      HEADER("reply") ",\"dhcp_type\":\"ack\",\"renewal_time\":1800,\"hostname\":\"h\\u0000\"}", true },
    { extended, 2,
      DATA("\x35\x01\x05\x33\x04\0\0\x0e\x10\x3b\x04\0\0\x0c\x4e\0\x01\x04\xff\xff\xff\0\x03\x04\x0a\0\0\x01\x06\x09"
           "\x0a\0\0\x02\x0a\0\0\x03\x01\x37\x01\x63\xff"),
      HEADER("reply") ",\"client_ip\":\"10.0.0.5\",\"relay_ip\":\"10.0.0.8\",\"next_server_ip\":\"10.0.0.7\","
                      "\"dhcp_type\":\"ack\",\"lease_time\":3600,\"rebinding_time\":3150,\"subnet_mask\":"
                      "\"255.255.255.0\",\"routers\":[\"10.0.0.1\"],\"dns_servers\":[\"10.0.0.2\",\"10.0.0.3\"]}",
      true },
    { NULL, 9, DATA("\x35\x01\x63\xff"), HEADER("<unknown>") ",\"dhcp_type\":\"unknown\"}", false },
    { NULL, 2, DATA("\x35\0\xff"), HEADER("reply") "}", false },
    /* Of two options with the same code the first one counts. */
    { NULL, 2, DATA("\x35\x01\x05\x35\x01\x06\xff"), HEADER("reply") ",\"dhcp_type\":\"ack\"}", true },
    { NULL, 2, DATA("\x35\x01\x05"), HEADER("reply") ",\"dhcp_type\":\"ack\",\"events\":[\"truncated_options\"]}",
      true },
    { NULL, 2, DATA("\x35\x01\x05\x0c\x05host"),
      HEADER("reply") ",\"dhcp_type\":\"ack\",\"events\":[\"truncated_options\"]}", true },
    { NULL, 2, DATA("\x35\x01\x05\x0c"), HEADER("reply") ",\"dhcp_type\":\"ack\",\"events\":[\"truncated_options\"]}",
      true },
    { NULL, 1, DATA(""), HEADER("request") ",\"events\":[\"truncated_options\"]}", false },
    { NULL, 2, DATA("\x3a\x03\0\0\x01\x35\x01\x05\xff"),
      HEADER("reply") ",\"dhcp_type\":\"ack\",\"events\":[\"malformed_options\"]}", true },
    { NULL, 2, DATA("\x3d\x01\x01\x35\x01\x05\xff"),
      HEADER("reply") ",\"dhcp_type\":\"ack\",\"events\":[\"malformed_options\"]}", true },
    { NULL, 2, DATA("\x33\0"), HEADER("reply") ",\"events\":[\"truncated_options\",\"malformed_options\"]}", false },
};

START_TEST(message_is_logged)
{
    struct app_rig *rig = udp_rig(messages[_i].yaml);
    enum flow_direction direction = messages[_i].type == 2 ? FLOW_TO_CLIENT : FLOW_TO_SERVER;

    send_message(rig, direction, messages[_i].type, messages[_i].options, messages[_i].length);
    ck_assert_str_eq(app_rig_protocol(rig), "dhcp");
    ck_assert_str_eq(app_rig_json(rig, 0), messages[_i].json);
    struct app_tx *tx = app_rig_tx(rig, 0);

    ck_assert_uint_eq(tx->directions, 1u << direction);
    tx->inspected[direction] = tx->progress[direction];
    ck_assert_int_eq(app_tx_needs_log(rig->app, tx, false), messages[_i].logged);
    app_rig_free(rig);
}
END_TEST

START_TEST(hostname_is_a_buffer)
{
    struct app_rig *rig = udp_rig(NULL);
    struct app_bytes bytes;

    send_message(rig, FLOW_TO_SERVER, 1,
                 DATA("\x0c\x03"
                      "abc\xff"));
    send_message(rig, FLOW_TO_SERVER, 1, DATA("\x0c\0\xff"));
    send_message(rig, FLOW_TO_SERVER, 1, DATA("\xff"));
    ck_assert(app_rig_buffer(rig, 0, "dhcp.hostname", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 3);
    ck_assert_mem_eq(bytes.bytes, "abc", 3);
    ck_assert(app_rig_buffer(rig, 1, "dhcp.hostname", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, 0);
    ck_assert(!app_rig_buffer(rig, 2, "dhcp.hostname", FLOW_TO_SERVER, 0, &bytes));
    app_rig_free(rig);
}
END_TEST

START_TEST(short_datagrams_are_passed_over)
{
    struct app_rig *rig = udp_rig(NULL);
    uint8_t bytes[239] = { 1, 1, 6 };

    app_rig_send(rig, FLOW_TO_SERVER, bytes, sizeof(bytes));
    ck_assert_ptr_null(app_rig_tx(rig, 0));
    app_rig_free(rig);
    rig = udp_rig(NULL);
    send_message(rig, FLOW_TO_SERVER, 1, DATA("\xff"));
    app_rig_send(rig, FLOW_TO_CLIENT, bytes, sizeof(bytes));
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0));
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_dhcp");
    TCase *tests = tcase_create("dhcp");

    tcase_add_loop_test(tests, message_is_logged, 0, ROWS(messages));
    tcase_add_test(tests, hostname_is_a_buffer);
    tcase_add_test(tests, short_datagrams_are_passed_over);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
