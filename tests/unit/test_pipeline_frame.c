/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames in the whole pipeline: a rule drops the packet with the last byte of its match, matches once in a frame for
 * any segmentation, and inspects both sides of a gap. Nothing is stored if no rule selects frames.
 */
#include "pipeline_app_rig.h"

static const char hello[] = "\x10\x10\0\4MQTT\4\2\0\x3c\0\4name";
static const char welcome[] = "\x20\x02\0\0";

static void open_with(const char *rules)
{
    rig_open(rules);
    rig_handshake();
}

static uint64_t counter(const char *name)
{
    for (size_t i = 0; i < app_counter_count(); i++) {
        if (strcmp(app_counter_name(rig.shared.apps, i), name) == 0)
            return app_counter_value(rig.pipeline.app, i);
    }
    ck_abort_msg("no counter %s", name);
    return 0;
}

static void introduce(void)
{
    rig_send_bytes(RIG_CLIENT, hello, sizeof(hello) - 1);
    rig_send_bytes(RIG_SERVER, welcome, sizeof(welcome) - 1);
}

START_TEST(the_packet_with_the_last_byte_is_dropped)
{
    open_with("drop mqtt any any -> any any (frame:mqtt.data; content:\"BAD\"; endswith; sid:1;)\n"
              "alert mqtt any any -> any any (frame:mqtt.header; content:\"|30|\"; startswith; bsize:2; sid:2;)");
    introduce();
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "\x30", 1), "");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "\x08\0\3topB", 7), "2");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "A", 1), "");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_ACCEPT);
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "D", 1), "1");
    ck_assert_int_eq(rig.packet.verdict, VERDICT_DROP);
}
END_TEST

/* The message is cut into segments of `size` bytes. */
static void send_cut(const uint8_t *bytes, size_t length, size_t size, char *all, size_t room)
{
    for (size_t at = 0; at < length; at += size) {
        const char *hits = rig_send_bytes(RIG_CLIENT, bytes + at, length - at < size ? length - at : size);

        if (*hits)
            snprintf(all + strlen(all), room - strlen(all), "%s ", hits);
    }
}

START_TEST(a_rule_matches_once_in_a_frame)
{
    static const size_t sizes[] = { 1, 7, 100, 1000, 4000, 60000 };
    enum { BODY = 9000 };
    static uint8_t message[BODY + 3] = "\x30\xa8\x46\0\3top";
    char all[256] = "";

    memset(message + 8, 'x', sizeof(message) - 8);
    memcpy(message + 2000, "NEEDLE", 6);
    memcpy(message + 2600, "NEEDLE", 6);
    memcpy(message + 7000, "NEEDLE", 6);
    open_with("alert mqtt any any -> any any (frame:pdu; content:\"NEEDLE\"; sid:1;)\n"
              "alert mqtt any any -> any any (frame:pdu; content:\"|30|\"; startswith; content:\"top\"; sid:2;)\n"
              "alert mqtt any any -> any any (frame:pdu; content:\"xxxx\"; endswith; content:\"NEEDLE\"; sid:3;)\n"
              "alert mqtt any any -> any any (frame:data; pcre:\"/^..top/s\"; sid:4;)");
    introduce();
    send_cut(message, sizeof(message), sizes[_i], all, sizeof(all));
    ck_assert_int_eq(strstr(all, "1") != NULL, 1);
    ck_assert_ptr_eq(strchr(strstr(all, "1") + 1, '1'), NULL);
    ck_assert_ptr_eq(strchr(strstr(all, "2") + 1, '2'), NULL);
    ck_assert_ptr_eq(strchr(strstr(all, "3") + 1, '3'), NULL);
    ck_assert_ptr_eq(strchr(strstr(all, "4") + 1, '4'), NULL);
}
END_TEST

START_TEST(frames_are_inspected_passively)
{
    char all[64] = "";

    rig_passive();
    open_with("alert mqtt any any -> any any (frame:pdu; content:\"NEEDLE\"; endswith; sid:1;)\n"
              "alert mqtt any any -> any any (frame:header; content:\"|20|\"; sid:2;)");
    strcat(all, rig_send_bytes(RIG_CLIENT, hello, sizeof(hello) - 1));
    strcat(all, rig_send_bytes(RIG_SERVER, welcome, sizeof(welcome) - 1));
    strcat(all, rig_send_bytes(RIG_CLIENT, "\x30\x0b\0\3topNEE", 10));
    strcat(all, rig_acknowledge(RIG_SERVER));
    strcat(all, rig_send_bytes(RIG_CLIENT, "DLE", 3));
    strcat(all, rig_acknowledge(RIG_SERVER));
    strcat(all, rig_acknowledge(RIG_CLIENT));
    ck_assert_str_eq(all, "21");
}
END_TEST

/* SMB continues after a gap inside of data that it skips; what follows is another piece of the frame. */
START_TEST(a_gap_divides_a_frame)
{
    static const char record[] = "\0\0\0\x60\xfdSMB";
    static uint8_t filler[40];

    rig_passive();
    open_with(
        "alert smb any any -> any any (frame:smb3.pdu; content:\"|fd|SMB\"; startswith; content:\"END\"; sid:1;)\n"
        "alert smb any any -> any any (frame:smb3.pdu; content:\"END\"; endswith; sid:2;)\n"
        "alert smb any any -> any any (frame:smb3.hdr; content:\"|fd|SMB\"; startswith; sid:3;)\n"
        "alert smb any any -> any any (frame:smb3.data; content:\"END\"; startswith; sid:4;)");
    char all[64] = "";

    strcat(all, rig_send_bytes(RIG_CLIENT, record, 8));
    strcat(all, rig_send_bytes(RIG_CLIENT, filler, 40));
    strcat(all, rig_send_bytes(RIG_CLIENT, filler, 8));
    strcat(all, rig_acknowledge(RIG_SERVER));
    rig.next[RIG_CLIENT] += 41;
    strcat(all, rig_send_bytes(RIG_CLIENT, "END", 3));
    strcat(all, rig_acknowledge(RIG_SERVER));
    strcat(all, rig_acknowledge(RIG_CLIENT));
    ck_assert_str_eq(all, "32");
}
END_TEST

/* One segment may bring more frames than the list of a direction has room for. */
START_TEST(the_list_of_frames_is_bounded)
{
    enum { PINGS = 1500 };
    static uint8_t pings[PINGS * 2];

    for (size_t i = 0; i < sizeof(pings); i += 2)
        pings[i] = 0xc0;
    open_with("alert mqtt any any -> any any (frame:header; content:\"|c0 00|\"; bsize:2; sid:1;)\n"
              "alert mqtt any any -> any any (frame:pdu; content:\"|c0 00|\"; bsize:2; sid:2;)");
    introduce();
    ck_assert_str_ne(rig_send_bytes(RIG_CLIENT, pings, sizeof(pings)), "");
    ck_assert_uint_eq(counter("app_layer.frames.lost"), 2 * PINGS - APP_FRAMES_MAX);
    ck_assert_str_ne(rig_send_bytes(RIG_CLIENT, pings, 2), ""); /* the list is empty again */
    ck_assert_uint_eq(counter("app_layer.frames.lost"), 2 * PINGS - APP_FRAMES_MAX);
}
END_TEST

START_TEST(nothing_is_stored_without_a_rule)
{
    open_with("alert mqtt any any -> any any (mqtt.type:CONNECT; sid:1;)");
    introduce();
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        ck_assert(!app_has_frames(rig.packet.flow, direction));
    rig_reload("alert mqtt any any -> any any (frame:pdu; content:\"|30|\"; startswith; content:\"t\"; sid:1;)");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "\x30\x09\0\3to", 6), "1");
    ck_assert(app_has_frames(rig.packet.flow, FLOW_TO_SERVER));
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "pabcd", 5), "");
    ck_assert(!app_has_frames(rig.packet.flow, FLOW_TO_SERVER));
}
END_TEST

/* In a frame of the whole stream a rule matches again in new bytes only. */
START_TEST(the_frame_of_the_stream)
{
    open_with("alert tcp any any -> any any (flow:to_server; frame:mqtt.stream; content:\"AGAIN\"; sid:1;)");
    introduce();
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "\x30\x0a\0\3topAGAIN", 12), "1");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "\xc0\0", 2), "");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "\x30\x0a\0\3topAG", 9), "");
    ck_assert_str_eq(rig_send_bytes(RIG_CLIENT, "AIN", 3), "1");
}
END_TEST

static const struct {
    const char *rule;
    bool valid;
} rules[] = {
    { "alert tls any any -> any any (frame:tls.pdu; content:\"a\"; sid:1;)", true },
    { "alert tls any any -> any any (frame:pdu; content:\"a\"; sid:1;)", true },
    { "alert ssl any any -> any any (frame:pdu; content:\"a\"; sid:1;)", true },
    { "alert tcp any any -> any any (frame:tls.pdu; content:\"a\"; sid:1;)", true },
    { "alert tcp any any -> any any (frame:pdu; content:\"a\"; sid:1;)", false },
    { "alert http any any -> any any (frame:http1.request; content:\"a\"; sid:1;)", true },
    { "alert http1 any any -> any any (frame:response; content:\"a\"; frame:response; content:\"b\"; sid:1;)", true },
    { "alert smb any any -> any any (frame:smb1.hdr; content:\"a\"; sid:1;)", true },
    { "alert smb any any -> any any (frame:tls.pdu; content:\"a\"; sid:1;)", false },
    { "alert tls any any -> any any (frame:smb1.pdu; content:\"a\"; sid:1;)", false },
    { "alert tcp any any -> any any (frame:tls; content:\"a\"; sid:1;)", false },
    { "alert tcp-pkt any any -> any any (frame:tls.pdu; content:\"a\"; sid:1;)", false },
    { "alert udp any any -> any any (frame:tls.pdu; content:\"a\"; sid:1;)", false },
    { "alert udp any any -> any any (frame:dns.pdu; content:\"a\"; sid:1;)", true },
    { "alert udp any any -> any any (frame:dns.stream; content:\"a\"; sid:1;)", false },
    { "alert icmp any any -> any any (frame:dns.pdu; content:\"a\"; sid:1;)", false },
    { "alert tls any any -> any any (content:\"abc\"; frame:tls.pdu; content:\"a\"; sid:1;)", false },
    { "alert tls any any -> any any (tls.version:1.0; frame:tls.pdu; content:\"a\"; sid:1;)", false },
    { "alert tls any any -> any any (frame:tls.pdu; content:\"a\"; tls.sni; content:\"b\"; sid:1;)", false },
    { "alert smb any any -> any any (frame:smb2.data; content:\"a\"; filesize:1; sid:1;)", false },
    { "alert tls any any -> any any (frame:; content:\"a\"; sid:1;)", false },
    { "alert tls any any => any any (frame:tls.pdu; content:\"a\"; sid:1;)", false },
};

START_TEST(rules_are_checked)
{
    struct rule_list_options options = { .applications = rig.applications };
    struct diag *diag = diag_new();
    struct rule_list *list;

    ck_assert_ptr_nonnull(diag);
    rig_open("");
    options.keywords = rig.keywords;
    options.variables = rig.variables;
    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
    ck_assert_int_eq(rule_list_parse(list, "test", rules[_i].rule, strlen(rules[_i].rule), diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    ck_assert_msg((rule_list_count(list) == 1) == rules[_i].valid, "%s", rules[_i].rule);
    ck_assert_uint_eq(diag_errors(diag), !rules[_i].valid);
    rule_list_free(list);
    diag_free(diag);
}
END_TEST

int main(void)
{
    TCase *tcase = tcase_create("frame");

    tcase_add_checked_fixture(tcase, rig_setup_applications, rig_close_applications);
    tcase_add_test(tcase, the_packet_with_the_last_byte_is_dropped);
    tcase_add_loop_test(tcase, a_rule_matches_once_in_a_frame, 0, 6);
    tcase_add_test(tcase, frames_are_inspected_passively);
    tcase_add_test(tcase, a_gap_divides_a_frame);
    tcase_add_test(tcase, the_list_of_frames_is_bounded);
    tcase_add_test(tcase, nothing_is_stored_without_a_rule);
    tcase_add_test(tcase, the_frame_of_the_stream);
    tcase_add_loop_test(tcase, rules_are_checked, 0, sizeof(rules) / sizeof(rules[0]));
    return rig_run(tcase, "pipeline_frame");
}
