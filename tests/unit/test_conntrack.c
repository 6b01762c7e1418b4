/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Conntrack data of packets: parsing, direction, and meaning. */
#include <check.h>
#include <netinet/in.h>
#include <stdlib.h>

#include "conntrack_bytes.h"
#include "sluice/conntrack.h"

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

enum { ESTABLISHED_STATUS = IPS_SEEN_REPLY | IPS_ASSURED | IPS_CONFIRMED };

static const struct conntrack_text plain = {
    .client = "10.0.0.1",
    .server = "10.0.0.2",
    .client_port = 1234,
    .server_port = 80,
    .protocol = IPPROTO_TCP,
    .status = ESTABLISHED_STATUS,
    .tcp_state = TCP_CONNTRACK_ESTABLISHED,
    .scale = { 7, 9 },
    .flags = { IP_CT_TCP_FLAG_WINDOW_SCALE | IP_CT_TCP_FLAG_SACK_PERM, IP_CT_TCP_FLAG_WINDOW_SCALE },
};

static struct address address_of(const char *text)
{
    struct address address = { 0 };

    inet_pton(strchr(text, ':') ? AF_INET6 : AF_INET, text, address.bytes);
    return address;
}

static struct packet packet_of(const char *from, uint16_t from_port, const char *to, uint16_t to_port,
                               const struct conntrack_bytes *ct, uint32_t info)
{
    return (struct packet){
        .conntrack = { ct->bytes, (uint32_t)ct->length, info },
        .ip_version = strchr(from, ':') ? 6 : 4,
        .protocol = IPPROTO_TCP,
        .source_address = address_of(from),
        .destination_address = address_of(to),
        .source_port = from_port,
        .destination_port = to_port,
    };
}

/* --- Reading -------------------------------------------------------------------------------------- */

START_TEST(all_that_is_said)
{
    struct conntrack_bytes ct;
    struct conntrack read;
    struct address client = address_of("10.0.0.1"), nat = address_of("192.0.2.9");
    struct conntrack_text text = plain;

    text.after_client = "192.0.2.9";
    text.after_client_port = 40000;
    ct_build(&ct, &text);
    memset(&read, 0xa5, sizeof(read));
    ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
    ck_assert(address_equal(&read.tuple[CONNTRACK_ORIGINAL].source, &client));
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].source_port, 1234);
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].destination_port, 80);
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].ip_version, 4);
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].protocol, IPPROTO_TCP);
    ck_assert(address_equal(&read.tuple[CONNTRACK_REPLY].destination, &nat));
    ck_assert_uint_eq(read.tuple[CONNTRACK_REPLY].destination_port, 40000);
    ck_assert_uint_eq(read.id, 0xabcdef01);
    ck_assert_uint_eq(read.mark, 0x42);
    ck_assert_uint_eq(read.timeout_seconds, 431999);
    ck_assert_uint_eq(read.status, ESTABLISHED_STATUS);
    ck_assert(read.has_tcp);
    ck_assert_uint_eq(read.tcp_state, TCP_CONNTRACK_ESTABLISHED);
    ck_assert_uint_eq(read.window_scale[CONNTRACK_ORIGINAL], 7);
    ck_assert_uint_eq(read.window_scale[CONNTRACK_REPLY], 9);
    ck_assert_uint_eq(read.tcp_flags[CONNTRACK_ORIGINAL], 3);
    ck_assert_uint_eq(read.tcp_flags[CONNTRACK_REPLY], 1);
}
END_TEST

START_TEST(counts)
{
    struct conntrack_text text = plain;
    struct conntrack_bytes ct;
    struct conntrack read;

    ct_build(&ct, &text);
    ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
    ck_assert(!read.has_counts);
    text.packets[0] = UINT64_C(0x123456789a);
    text.packets[1] = 2;
    text.bytes[0] = 3;
    text.bytes[1] = UINT64_MAX;
    ct_build(&ct, &text);
    ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
    ck_assert(read.has_counts);
    ck_assert_mem_eq(read.packets, text.packets, sizeof(text.packets));
    ck_assert_mem_eq(read.bytes, text.bytes, sizeof(text.bytes));
}
END_TEST

/* The bytes of a tuple in a message. Headers of attributes are in host byte order. */
START_TEST(bytes_of_a_tuple)
{
    static const uint8_t big[] = {
        0, 52, 0x80, 1,                                                         /* the original tuple */
        0, 20, 0x80, 1, 0, 8, 0,  1, 10, 1, 2, 3, 0, 8, 0, 2, 10,   4,    5, 6, /* addresses */
        0, 28, 0x80, 2, 0, 5, 0,  1, 17, 0, 0, 0, 0, 6, 0, 2, 0x30, 0x39, 0,    /* protocol, ports */
        0, 0,  6,    0, 3, 0, 53, 0, 0,
    };
    static const size_t heads[] = { 0, 4, 8, 16, 24, 28, 36, 44 };
    uint8_t bytes[sizeof(big)];
    struct conntrack read;
    struct address source = address_of("10.1.2.3"), destination = address_of("10.4.5.6");

    memcpy(bytes, big, sizeof(big));
    for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
        for (size_t k = 0; k < 4; k += 2) {
            uint16_t value = (uint16_t)(big[heads[i] + k] << 8 | big[heads[i] + k + 1]);

            memcpy(bytes + heads[i] + k, &value, sizeof(value));
        }
    }
    ck_assert(conntrack_parse(&read, bytes, sizeof(bytes)));
    ck_assert(address_equal(&read.tuple[CONNTRACK_ORIGINAL].source, &source));
    ck_assert(address_equal(&read.tuple[CONNTRACK_ORIGINAL].destination, &destination));
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].protocol, 17);
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].source_port, 12345);
    ck_assert_uint_eq(read.tuple[CONNTRACK_ORIGINAL].destination_port, 53);
    ck_assert_uint_eq(read.tuple[CONNTRACK_REPLY].ip_version, 0);
    ck_assert(!read.has_tcp);
}
END_TEST

/* Truncated data is read within its bounds, and is invalid if it ends within an attribute. */
START_TEST(cut_anywhere)
{
    struct conntrack_bytes ct;
    int whole = 0;

    ct_build(&ct, &plain);
    for (size_t length = 0; length <= ct.length; length++) {
        uint8_t *copy = malloc(length ? length : 1); /* of exact size, so that a sanitizer detects reads past the end */
        struct conntrack read;

        memcpy(copy, ct.bytes, length);
        whole += conntrack_parse(&read, copy, length);
        free(copy);
    }
    ck_assert_int_eq(whole, 8); /* at the ends of the seven attributes, and for length 0 */
}
END_TEST

static const struct {
    uint16_t type, inner;
    size_t length;
    bool good;
} damage_cases[] = {
    { CTA_STATUS, 0, 3, false },
    { CTA_STATUS, 0, 0, false },
    { CTA_STATUS, 0, 4, true },
    { CTA_STATUS, 0, 9, true },
    { CTA_ID, 0, 2, false },
    { CTA_MARK, 0, 1, false },
    { CTA_TIMEOUT, 0, 3, false },
    { CTA_TUPLE_ORIG, 0, 0, true },
    { CTA_TUPLE_ORIG, 0, 3, false },
    { CTA_LABELS, 0, 16, true },
    { 0x3fff, 0, 1, true },
    { CTA_TUPLE_REPLY, CTA_TUPLE_IP, 2, false },
    { CTA_TUPLE_REPLY, CTA_TUPLE_PROTO, 1, false },
    { CTA_TUPLE_REPLY, CTA_TUPLE_ZONE, 1, true },
    { CTA_PROTOINFO, CTA_PROTOINFO_TCP, 3, false },
    { CTA_PROTOINFO, CTA_PROTOINFO_SCTP, 3, true },
};

START_TEST(attributes_of_the_wrong_length)
{
    static const uint8_t ones[16] = { 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0 };
    struct conntrack_bytes ct = { .length = 0 };
    struct conntrack read;

    if (damage_cases[_i].inner) {
        size_t at = ct_begin(&ct, damage_cases[_i].type);

        ct_attribute(&ct, damage_cases[_i].inner, ones, damage_cases[_i].length);
        ct_end(&ct, at);
    } else {
        ct_attribute(&ct, damage_cases[_i].type, ones, damage_cases[_i].length);
    }
    ck_assert_int_eq(conntrack_parse(&read, ct.bytes, ct.length), damage_cases[_i].good);
}
END_TEST

START_TEST(scales_have_a_limit)
{
    struct conntrack_text text = plain;
    struct conntrack_bytes ct;
    struct conntrack read;

    text.scale[0] = 15;
    text.scale[1] = 255;
    ct_build(&ct, &text);
    ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
    ck_assert_uint_eq(read.window_scale[0], 14);
    ck_assert_uint_eq(read.window_scale[1], 14);
}
END_TEST

/* --- Direction ------------------------------------------------------------------------------------ */

/* The client 10.0.0.1:1234 connects to 192.0.2.1:8080. DNAT changes that to 10.0.0.2:80, SNAT the client to
 * 198.51.100.7:5000. */
static const struct conntrack_text translated = {
    .client = "10.0.0.1",
    .server = "192.0.2.1",
    .client_port = 1234,
    .server_port = 8080,
    .after_client = "198.51.100.7",
    .after_server = "10.0.0.2",
    .after_client_port = 5000,
    .after_server_port = 80,
    .protocol = IPPROTO_TCP,
    .status = ESTABLISHED_STATUS,
    .tcp_state = TCP_CONNTRACK_ESTABLISHED,
};
static const struct conntrack_text six = {
    .client = "2001:db8::1",
    .server = "2001:db8::2",
    .client_port = 1234,
    .server_port = 80,
    .protocol = IPPROTO_TCP,
    .status = ESTABLISHED_STATUS,
    .tcp_state = TCP_CONNTRACK_ESTABLISHED,
};

static const struct {
    const struct conntrack_text *text;
    const char *from, *to;
    uint16_t from_port, to_port;
    uint32_t info;
    bool is_its, is_reply;
} whose_cases[] = {
    { &plain, "10.0.0.1", "10.0.0.2", 1234, 80, IP_CT_ESTABLISHED, true, false },
    { &plain, "10.0.0.1", "10.0.0.2", 1234, 80, IP_CT_NEW, true, false },
    { &plain, "10.0.0.2", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED_REPLY, true, true },
    /* the direction and the addresses contradict each other */
    { &plain, "10.0.0.1", "10.0.0.2", 1234, 80, IP_CT_ESTABLISHED_REPLY, false, false },
    { &plain, "10.0.0.2", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED, false, false },
    { &plain, "10.0.0.2", "10.0.0.1", 81, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
    { &plain, "10.0.0.2", "10.0.0.1", 80, 1235, IP_CT_ESTABLISHED_REPLY, false, false },
    { &plain, "10.0.0.3", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
    { &plain, "10.0.0.2", "10.0.0.3", 80, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
    /* untracked, with the numbers of old and new kernels */
    { &plain, "10.0.0.2", "10.0.0.1", 80, 1234, IP_CT_NUMBER, false, false },
    { &plain, "10.0.0.2", "10.0.0.1", 80, 1234, 7, false, false },
    { &plain, "10.0.0.2", "10.0.0.1", 80, 1234, UINT32_MAX, false, false },
    /* before NAT, between DNAT and SNAT, and after NAT */
    { &translated, "10.0.0.1", "192.0.2.1", 1234, 8080, IP_CT_ESTABLISHED, true, false },
    { &translated, "10.0.0.1", "10.0.0.2", 1234, 80, IP_CT_ESTABLISHED, true, false },
    { &translated, "198.51.100.7", "10.0.0.2", 5000, 80, IP_CT_ESTABLISHED, true, false },
    { &translated, "10.0.0.2", "198.51.100.7", 80, 5000, IP_CT_ESTABLISHED_REPLY, true, true },
    { &translated, "10.0.0.2", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED_REPLY, true, true },
    { &translated, "192.0.2.1", "10.0.0.1", 8080, 1234, IP_CT_ESTABLISHED_REPLY, true, true },
    { &translated, "192.0.2.1", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
    { &translated, "10.0.0.2", "10.0.0.1", 8080, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
    { &translated, "198.51.100.7", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
    { &six, "2001:db8::1", "2001:db8::2", 1234, 80, IP_CT_ESTABLISHED, true, false },
    { &six, "2001:db8::2", "2001:db8::1", 80, 1234, IP_CT_ESTABLISHED_REPLY, true, true },
    { &six, "10.0.0.2", "10.0.0.1", 80, 1234, IP_CT_ESTABLISHED_REPLY, false, false },
};

START_TEST(whose_it_is)
{
    struct conntrack_bytes ct;
    struct conntrack read;

    ct_build(&ct, whose_cases[_i].text);

    struct packet pkt = packet_of(whose_cases[_i].from, whose_cases[_i].from_port, whose_cases[_i].to,
                                  whose_cases[_i].to_port, &ct, whose_cases[_i].info);

    ck_assert_int_eq(conntrack_parse_packet(&read, &pkt), whose_cases[_i].is_its);
    ck_assert_int_eq(conntrack_is_reply(&pkt), whose_cases[_i].is_reply);
    if (whose_cases[_i].is_its)
        ck_assert_uint_eq(read.info, whose_cases[_i].info);
    pkt.protocol = IPPROTO_UDP;
    ck_assert(!conntrack_parse_packet(&read, &pkt));
    pkt.protocol = IPPROTO_TCP;
    pkt.conntrack.length--;
    ck_assert(!conntrack_parse_packet(&read, &pkt));
    pkt.conntrack = (struct packet_conntrack){ 0 };
    ck_assert(!conntrack_parse_packet(&read, &pkt));
    ck_assert(!conntrack_is_reply(&pkt));
}
END_TEST

/* For ICMP the type gives the direction, not the ports. */
START_TEST(only_protocols_with_ports)
{
    struct conntrack_text text = plain;
    struct conntrack_bytes ct;

    text.protocol = IPPROTO_ICMP;
    text.client_port = text.server_port = 0;
    ct_build(&ct, &text);

    struct packet pkt = packet_of("10.0.0.2", 0, "10.0.0.1", 0, &ct, IP_CT_ESTABLISHED_REPLY);

    pkt.protocol = IPPROTO_ICMP;
    ck_assert(!conntrack_is_reply(&pkt));
    text.protocol = IPPROTO_SCTP;
    ct_build(&ct, &text);
    pkt.protocol = IPPROTO_SCTP;
    ck_assert(conntrack_is_reply(&pkt));
}
END_TEST

/* --- Meaning -------------------------------------------------------------------------------------- */

static const struct {
    uint32_t info, status;
    int tcp_state;
    bool is_established, is_new;
} state_cases[] = {
    { IP_CT_ESTABLISHED, ESTABLISHED_STATUS, TCP_CONNTRACK_ESTABLISHED, true, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_ESTABLISHED, true, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_FIN_WAIT, true, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_CLOSE_WAIT, true, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_LAST_ACK, true, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_TIME_WAIT, false, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_CLOSE, false, false },
    { IP_CT_ESTABLISHED_REPLY, ESTABLISHED_STATUS, TCP_CONNTRACK_SYN_RECV, false, false },
    { IP_CT_ESTABLISHED, ESTABLISHED_STATUS, -1, false, false },
    /* picked up by conntrack (nf_conntrack_tcp_loose): only one side has sent packets */
    { IP_CT_NEW, 0, TCP_CONNTRACK_ESTABLISHED, false, true },
    { IP_CT_NEW, IPS_CONFIRMED, TCP_CONNTRACK_ESTABLISHED, false, true },
    { IP_CT_RELATED, IPS_CONFIRMED | IPS_EXPECTED, TCP_CONNTRACK_ESTABLISHED, false, true },
    { IP_CT_ESTABLISHED, IPS_CONFIRMED, TCP_CONNTRACK_ESTABLISHED, false, true },
    /* and its reply: seen, but not assured */
    { IP_CT_ESTABLISHED_REPLY, IPS_SEEN_REPLY | IPS_CONFIRMED, TCP_CONNTRACK_ESTABLISHED, false, false },
};

START_TEST(states)
{
    struct conntrack_text text = plain;
    struct conntrack_bytes ct;
    struct conntrack read;

    text.status = state_cases[_i].status;
    text.tcp_state = state_cases[_i].tcp_state;
    ct_build(&ct, &text);
    ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
    read.info = state_cases[_i].info;
    ck_assert_int_eq(conntrack_is_established(&read), state_cases[_i].is_established);
    ck_assert_int_eq(conntrack_is_new(&read), state_cases[_i].is_new);
}
END_TEST

START_TEST(scales_of_a_handshake_that_was_seen)
{
    struct conntrack_text text = plain;
    struct conntrack_bytes ct;
    struct conntrack read;

    for (int i = 0; i < 4; i++) {
        text.flags[0] = i & 1 ? IP_CT_TCP_FLAG_BE_LIBERAL : 0;
        text.flags[1] = i & 2 ? IP_CT_TCP_FLAG_BE_LIBERAL : 0;
        ct_build(&ct, &text);
        ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
        ck_assert_int_eq(conntrack_has_window_scales(&read), i == 0);
    }
    text.flags[0] = text.flags[1] = 0;
    text.tcp_state = -1;
    ct_build(&ct, &text);
    ck_assert(conntrack_parse(&read, ct.bytes, ct.length));
    ck_assert(!conntrack_has_window_scales(&read));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("conntrack");
    TCase *reading = tcase_create("reading"), *meaning = tcase_create("meaning");

    tcase_add_test(reading, all_that_is_said);
    tcase_add_test(reading, counts);
    tcase_add_test(reading, bytes_of_a_tuple);
    tcase_add_test(reading, cut_anywhere);
    tcase_add_loop_test(reading, attributes_of_the_wrong_length, 0, COUNT(damage_cases));
    tcase_add_test(reading, scales_have_a_limit);
    tcase_add_loop_test(meaning, whose_it_is, 0, COUNT(whose_cases));
    tcase_add_test(meaning, only_protocols_with_ports);
    tcase_add_loop_test(meaning, states, 0, COUNT(state_cases));
    tcase_add_test(meaning, scales_of_a_handshake_that_was_seen);
    suite_add_tcase(suite, reading);
    suite_add_tcase(suite, meaning);

    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
