/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The packets of `reject`: every field, and packets that must not be answered. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/bytes.h"
#include "sluice/inject.h"

enum { PACKET_SIZE = 2000 };

/* --- packets as decode returns them --------------------------------------------------------------- */

struct sample {
    uint8_t bytes[PACKET_SIZE];
    struct packet pkt;
};

static struct address address_of(int version, const char *text)
{
    struct address address = { { 0 } };

    ck_assert_int_eq(inet_pton(version == 4 ? AF_INET : AF_INET6, text, address.bytes), 1);
    return address;
}

/* Makes an IP packet from 192.0.2.1 or 2001:db8::1 with `length` bytes of transport header and payload, which count up.
 */
static void sample_ip(struct sample *s, int version, uint8_t protocol, uint16_t header_length, uint32_t length)
{
    struct packet *pkt = &s->pkt;

    memset(s, 0, sizeof(*s));
    pkt->ip_version = (uint8_t)version;
    pkt->ip_header_length = version == 4 ? 20 : 40;
    pkt->source_address = address_of(version, version == 4 ? "192.0.2.1" : "2001:db8::1");
    pkt->destination_address = address_of(version, version == 4 ? "198.51.100.2" : "2001:db8:1::2");
    pkt->source_port = 40000;
    pkt->destination_port = 80;
    pkt->protocol = protocol;
    pkt->data = pkt->ip = s->bytes;
    pkt->length = pkt->wire_length = pkt->ip_header_length + length;
    pkt->ip_total_length = (uint16_t)pkt->length;
    pkt->transport = s->bytes + pkt->ip_header_length;
    pkt->transport_header_length = header_length;
    pkt->payload = pkt->transport + header_length;
    pkt->payload_length = length - header_length;
    for (size_t i = 0; i < pkt->length; i++)
        s->bytes[i] = (uint8_t)i;
    s->bytes[0] = version == 4 ? 0x45 : 0x60;
}

static void sample_tcp(struct sample *s, int version, uint8_t flags, uint32_t payload)
{
    sample_ip(s, version, IPPROTO_TCP, 20, 20 + payload);
    s->pkt.tcp.sequence = 0xfffffff0;
    s->pkt.tcp.acknowledgment = 0x01020304;
    s->pkt.tcp.flags = flags;
}

/* --- results -------------------------------------------------------------------------------------- */

/* Checksum as in RFC 1071: the sum of all 16-bit words, folded at the end. */
static uint16_t checksum(const uint8_t *bytes, size_t length, uint64_t sum)
{
    for (size_t i = 0; i < length; i++)
        sum += (uint64_t)bytes[i] << (i % 2 ? 0 : 8);
    while (sum > 0xffff)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static uint16_t checksum_with_pseudo_header(const uint8_t *packet, size_t length)
{
    size_t header = packet[0] >> 4 == 4 ? 20 : 40;
    size_t addresses = header == 20 ? 8 : 32;
    uint8_t protocol = header == 20 ? packet[9] : packet[6];
    uint64_t sum = checksum(packet + header - addresses, addresses, protocol + (length - header));

    return checksum(packet + header, length - header, sum);
}

static void check_ip(const uint8_t *answer, size_t length, const struct packet *pkt, enum reject_kind to,
                     uint8_t protocol)
{
    const struct address *from = to == REJECT_SOURCE ? &pkt->destination_address : &pkt->source_address;
    const struct address *destination = to == REJECT_SOURCE ? &pkt->source_address : &pkt->destination_address;

    if (pkt->ip_version == 4) {
        ck_assert_uint_eq(answer[0], 0x45);
        ck_assert_uint_eq(load_be16(answer + 2), length);
        ck_assert_uint_eq(load_be16(answer + 6), 0x4000);
        ck_assert_uint_eq(answer[8], 64);
        ck_assert_uint_eq(answer[9], protocol);
        ck_assert_mem_eq(answer + 12, from->bytes, 4);
        ck_assert_mem_eq(answer + 16, destination->bytes, 4);
        ck_assert_uint_eq(checksum(answer, 20, 0), 0xffff);
        return;
    }
    ck_assert_uint_eq(load_be32(answer), 0x60000000);
    ck_assert_uint_eq(load_be16(answer + 4), length - 40);
    ck_assert_uint_eq(answer[6], protocol);
    ck_assert_uint_eq(answer[7], 64);
    ck_assert_mem_eq(answer + 8, from->bytes, 16);
    ck_assert_mem_eq(answer + 24, destination->bytes, 16);
}

/* The whole RST for a known packet, with checksums computed by hand. */
START_TEST(reset_bytes)
{
    static const uint8_t expected[] = {
        0x45, 0,  0,    40,   0, 0, 0x40, 0, 64, 6, 0x4e, 0x99, 198,  51,   100, 2, 192,  0,    2, 1, /* IP */
        0,    80, 0x9c, 0x40, 1, 2, 3,    4, 0,  0, 0,    0,    0x50, 0x04, 0,   0, 0x23, 0x13, 0, 0, /* TCP */
    };
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_tcp(&s, 4, TCP_ACK | TCP_PSH, 100);
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_SOURCE, answer), sizeof(expected));
    ck_assert_mem_eq(answer, expected, sizeof(expected));
}
END_TEST

static const struct {
    uint8_t flags;
    uint32_t payload, cut;
    enum reject_kind to;
    uint32_t sequence, acknowledgment;
    uint8_t reset_flags;
} reset_cases[] = {
    /* to the sender: the sequence number that it expects, or an acknowledgment of all that it sent (RFC 9293
       section 3.10.7.1) */
    { TCP_ACK, 0, 0, REJECT_SOURCE, 0x01020304, 0, TCP_RST },
    { TCP_ACK | TCP_FIN, 10, 0, REJECT_SOURCE, 0x01020304, 0, TCP_RST },
    { TCP_SYN | TCP_ACK, 0, 0, REJECT_SOURCE, 0x01020304, 0, TCP_RST },
    { TCP_SYN, 0, 0, REJECT_SOURCE, 0, 0xfffffff1, TCP_RST | TCP_ACK },
    { TCP_SYN, 100, 0, REJECT_SOURCE, 0, 0x55, TCP_RST | TCP_ACK },
    { TCP_SYN | TCP_FIN, 0, 0, REJECT_SOURCE, 0, 0xfffffff2, TCP_RST | TCP_ACK },
    { 0, 16, 0, REJECT_SOURCE, 0, 0, TCP_RST | TCP_ACK },
    { TCP_FIN, 16, 16, REJECT_SOURCE, 0, 0x11, TCP_RST | TCP_ACK }, /* bytes that were not captured count, too */
    /* to the receiver: with the sequence number of the dropped packet */
    { TCP_ACK, 0, 0, REJECT_DESTINATION, 0xfffffff0, 0x01020304, TCP_RST | TCP_ACK },
    { TCP_ACK | TCP_PSH, 1000, 0, REJECT_DESTINATION, 0xfffffff0, 0x01020304, TCP_RST | TCP_ACK },
    { TCP_SYN | TCP_ACK, 0, 0, REJECT_DESTINATION, 0xfffffff1, 0x01020304, TCP_RST | TCP_ACK },
    { TCP_SYN, 0, 0, REJECT_DESTINATION, 0xfffffff1, 0, TCP_RST },
    { 0, 5, 0, REJECT_DESTINATION, 0xfffffff0, 0, TCP_RST },
};

static void check_reset(int version, int i)
{
    uint8_t answer[INJECT_MAX_PACKET];
    size_t header = version == 4 ? 20 : 40;
    struct sample s;

    sample_tcp(&s, version, reset_cases[i].flags, reset_cases[i].payload);
    s.pkt.wire_length += reset_cases[i].cut;
    ck_assert_uint_eq(inject_build(&s.pkt, reset_cases[i].to, answer), header + 20);
    check_ip(answer, header + 20, &s.pkt, reset_cases[i].to, IPPROTO_TCP);

    const uint8_t *tcp = answer + header;
    bool back = reset_cases[i].to == REJECT_SOURCE;

    ck_assert_uint_eq(load_be16(tcp), back ? 80 : 40000);
    ck_assert_uint_eq(load_be16(tcp + 2), back ? 40000 : 80);
    ck_assert_uint_eq(load_be32(tcp + 4), reset_cases[i].sequence);
    ck_assert_uint_eq(load_be32(tcp + 8), reset_cases[i].acknowledgment);
    ck_assert_uint_eq(tcp[12], 0x50);
    ck_assert_uint_eq(tcp[13], reset_cases[i].reset_flags);
    ck_assert_uint_eq(load_be16(tcp + 14), 0); /* window */
    ck_assert_uint_eq(load_be16(tcp + 18), 0); /* urgent */
    ck_assert_uint_eq(checksum_with_pseudo_header(answer, header + 20), 0xffff);
}

START_TEST(resets)
{
    check_reset(4, _i);
    check_reset(6, _i);
}
END_TEST

static const struct {
    int version;
    uint8_t protocol;
    uint32_t length; /* length of transport header and payload */
    size_t quoted;   /* quoted bytes, with the IP header */
} quote_cases[] = {
    { 4, IPPROTO_UDP, 8, 28 },      { 4, IPPROTO_UDP, 9, 29 },
    { 4, IPPROTO_UDP, 528, 548 },   { 4, IPPROTO_UDP, 1400, 548 }, /* 576 bytes in total */
    { 6, IPPROTO_UDP, 8, 48 },      { 6, IPPROTO_UDP, 1192, 1232 },
    { 6, IPPROTO_UDP, 1400, 1232 }, /* 1280 bytes in total */
    { 4, IPPROTO_SCTP, 40, 60 },    { 6, IPPROTO_ICMPV6, 8, 48 },
    { 4, IPPROTO_ICMP, 8, 28 },     { 4, 200, 30, 50 },
};

START_TEST(unreachables)
{
    int version = quote_cases[_i].version;
    size_t header = version == 4 ? 20 : 40;
    size_t quoted = quote_cases[_i].quoted;
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_ip(&s, version, quote_cases[_i].protocol, 8, quote_cases[_i].length);
    s.pkt.icmp.type = version == 4 ? 8 : 128; /* if ICMP, an echo request */
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_SOURCE, answer), header + 8 + quoted);
    check_ip(answer, header + 8 + quoted, &s.pkt, REJECT_SOURCE, version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
    ck_assert_uint_eq(answer[header], version == 4 ? 3 : 1);
    ck_assert_uint_eq(answer[header + 1], version == 4 ? 13 : 1);
    ck_assert_uint_eq(load_be32(answer + header + 4), 0);
    ck_assert_mem_eq(answer + header + 8, s.bytes, quoted);
    if (version == 4)
        ck_assert_uint_eq(checksum(answer + header, 8 + quoted, 0), 0xffff);
    else
        ck_assert_uint_eq(checksum_with_pseudo_header(answer, header + 8 + quoted), 0xffff);
}
END_TEST

/* Padding after the IP packet is not quoted. */
START_TEST(quote_ends_with_the_packet)
{
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_ip(&s, 4, IPPROTO_UDP, 8, 40);
    s.pkt.ip_total_length = 30;
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_SOURCE, answer), 20 + 8 + 30);
}
END_TEST

/* The receiver of a datagram gets an error about a datagram of its own, although it may not have sent one. */
START_TEST(unreachable_to_the_receiver)
{
    int version = _i == 0 ? 4 : 6;
    size_t header = version == 4 ? 20 : 40;
    size_t length = header + 8 + header + 8;
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_ip(&s, version, IPPROTO_UDP, 8, 100);
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_DESTINATION, answer), length);
    check_ip(answer, length, &s.pkt, REJECT_DESTINATION, version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6);
    check_ip(answer + header + 8, header + 8, &s.pkt, REJECT_SOURCE, IPPROTO_UDP);

    const uint8_t *udp = answer + header + 8 + header;

    ck_assert_uint_eq(load_be16(udp), 80);
    ck_assert_uint_eq(load_be16(udp + 2), 40000);
    ck_assert_uint_eq(load_be16(udp + 4), 8);
    ck_assert_uint_eq(checksum_with_pseudo_header(answer + header + 8, header + 8), 0xffff);
    if (version == 4)
        ck_assert_uint_eq(checksum(answer + header, length - header, 0), 0xffff);
    else
        ck_assert_uint_eq(checksum_with_pseudo_header(answer, length), 0xffff);
}
END_TEST

/* --- packets without answer ----------------------------------------------------------------------- */

static void is_reset(struct packet *pkt)
{
    pkt->tcp.flags = TCP_RST | TCP_ACK;
}

static void is_later_fragment(struct packet *pkt)
{
    pkt->fragment_offset = 1480;
}

static void has_no_ports(struct packet *pkt)
{
    pkt->transport = NULL;
}

static void is_no_ip(struct packet *pkt)
{
    pkt->ip_version = 0;
    pkt->ip = NULL;
}

static void is_tunneled(struct packet *pkt)
{
    pkt->flags |= PACKET_TUNNELED;
}

static void is_group_frame(struct packet *pkt)
{
    static const uint8_t ethernet[14] = { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff };

    pkt->ethernet = ethernet;
}

static void to_multicast(struct packet *pkt)
{
    pkt->destination_address = address_of(pkt->ip_version, pkt->ip_version == 4 ? "224.0.0.251" : "ff02::fb");
}

static void from_multicast(struct packet *pkt)
{
    pkt->source_address = address_of(pkt->ip_version, pkt->ip_version == 4 ? "239.1.1.1" : "ff05::1");
}

static void to_broadcast(struct packet *pkt)
{
    pkt->destination_address = address_of(pkt->ip_version, pkt->ip_version == 4 ? "255.255.255.255" : "ff02::1");
}

static void from_nowhere(struct packet *pkt)
{
    pkt->source_address = address_of(pkt->ip_version, pkt->ip_version == 4 ? "0.0.0.0" : "::");
}

static void (*const refusals[])(struct packet *) = {
    is_reset,     has_no_ports,   is_later_fragment, is_no_ip,     is_tunneled,
    to_multicast, from_multicast, to_broadcast,      from_nowhere, is_group_frame,
};
/* The first two cases are TCP. */
enum { TCP_REFUSALS = 2 };

START_TEST(no_answer)
{
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    for (int version = 4; version <= 6; version += 2)
        for (int udp = 0; udp <= (_i >= TCP_REFUSALS); udp++) {
            if (udp)
                sample_ip(&s, version, IPPROTO_UDP, 8, 100);
            else
                sample_tcp(&s, version, TCP_ACK, 10);
            ck_assert_uint_gt(inject_build(&s.pkt, REJECT_SOURCE, answer), 0);
            ck_assert_uint_gt(inject_build(&s.pkt, REJECT_DESTINATION, answer), 0);
            refusals[_i](&s.pkt);
            ck_assert_uint_eq(inject_build(&s.pkt, REJECT_SOURCE, answer), 0);
            ck_assert_uint_eq(inject_build(&s.pkt, REJECT_DESTINATION, answer), 0);
        }
}
END_TEST

START_TEST(first_fragments_are_answered)
{
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_ip(&s, 4, IPPROTO_UDP, 8, 100);
    s.pkt.more_fragments = true;
    s.pkt.flags |= PACKET_FRAGMENT;
    ck_assert_uint_gt(inject_build(&s.pkt, REJECT_SOURCE, answer), 0);
}
END_TEST

START_TEST(one_direction_at_a_time)
{
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_tcp(&s, 4, TCP_ACK, 10);
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_NONE, answer), 0);
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_BOTH, answer), 0);
}
END_TEST

static const struct {
    int version;
    uint8_t type;
    bool answered;
} icmp_cases[] = {
    { 4, 8, true },   { 4, 0, true },   { 4, 13, true },   { 4, 3, false },   { 4, 4, false }, { 4, 5, false },
    { 4, 11, false }, { 4, 12, false }, { 6, 128, true },  { 6, 129, true },  { 6, 1, false }, { 6, 2, false },
    { 6, 3, false },  { 6, 4, false },  { 6, 127, false }, { 6, 137, false },
};

START_TEST(icmp_errors_are_never_answered)
{
    uint8_t protocol = icmp_cases[_i].version == 4 ? IPPROTO_ICMP : IPPROTO_ICMPV6;
    uint8_t answer[INJECT_MAX_PACKET];
    struct sample s;

    sample_ip(&s, icmp_cases[_i].version, protocol, 8, 40);
    s.pkt.icmp.type = icmp_cases[_i].type;
    ck_assert_int_eq(inject_build(&s.pkt, REJECT_SOURCE, answer) > 0, icmp_cases[_i].answered);
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_DESTINATION, answer),
                      0); /* there is nothing that the error could quote */
    s.pkt.transport = NULL;
    ck_assert_uint_eq(inject_build(&s.pkt, REJECT_SOURCE, answer), 0);
}
END_TEST

/* --- over a bridge -------------------------------------------------------------------------------- */

#define MAC_SERVER "\x02\x00\x00\x00\x00\x02"
#define MAC_CLIENT "\x02\x00\x00\x00\x00\x01"
#define MAC_MANY "\x01\x00\x5e\x00\x00\x01"

/* Frames from client to server: Ethernet header, metadata of the kernel, and bytes before the IP header. */
static const struct {
    const char *header, *ahead;
    size_t ahead_length;
    uint16_t protocol, vlan_protocol, vlan_tci;
    const char *types; /* expected bytes after the MAC addresses of the answer */
    size_t types_length;
} frame_cases[] = {
    { MAC_SERVER MAC_CLIENT "\x08\x00", "", 0, 0x0800, 0, 0, "\x08\x00", 2 },
    { MAC_SERVER MAC_CLIENT "\x86\xdd", "", 0, 0x86dd, 0, 0, "\x86\xdd", 2 },
    { MAC_SERVER MAC_CLIENT "\x81\x00", "", 0, 0x0800, 0x8100, 0x6005, "\x81\x00\x60\x05\x08\x00", 6 },
    { MAC_SERVER MAC_CLIENT "\x88\xa8", "\x00\x07\x08\x00", 4, 0x8100, 0x88a8, 6,
      "\x88\xa8\x00\x06\x81\x00\x00\x07\x08\x00", 10 },
    { MAC_SERVER MAC_CLIENT "\x81\x00", "\x00\x07\x08\x00", 4, 0x8100, 0, 0, "\x81\x00\x00\x07\x08\x00", 6 },
    { MAC_MANY MAC_CLIENT "\x08\x00", "", 0, 0x0800, 0, 0, NULL, 0 },
    { MAC_SERVER MAC_MANY "\x08\x00", "", 0, 0x0800, 0, 0, NULL, 0 },
    { NULL, "", 0, 0x0800, 0, 0, NULL, 0 },
    { MAC_SERVER MAC_CLIENT "\x88\x64", "\x11\x00\x00\x01\x00\x2a\x00\x21", 8, 0x8864, 0, 0, NULL, 0 }, /* PPPoE */
    { MAC_SERVER MAC_CLIENT "\x81\x00", "\x00\x07\x08", 3, 0x8100, 0, 0, NULL, 0 },                     /* truncated */
    { MAC_SERVER MAC_CLIENT "\x81\x00", "\0\1\x81\0\0\2\x81\0\0\3\x81\0\0\4\x81\0\0\5\x81\0\0\6\x08\0", 24, 0x8100, 0,
      0, NULL, 0 }, /* no room in the buffer */
};

START_TEST(answers_cross_a_bridge)
{
    uint8_t header[INJECT_MAX_LINK_HEADER];
    struct packet root = {
        .link = LINK_BRIDGE,
        .frame_header = (const uint8_t *)frame_cases[_i].header,
        .data = (const uint8_t *)frame_cases[_i].ahead,
        .length = (uint32_t)frame_cases[_i].ahead_length,
        .meta = { .hardware_protocol = frame_cases[_i].protocol,
                  .vlan_protocol = frame_cases[_i].vlan_protocol,
                  .vlan_tci = frame_cases[_i].vlan_tci,
                  .in_physical_ifindex = 5,
                  .out_physical_ifindex = 6 },
    };
    struct packet whole = { .root = &root }; /* a reassembled datagram */
    size_t wanted = frame_cases[_i].types ? 12 + frame_cases[_i].types_length : 0;

    ck_assert_uint_eq(inject_link_header(&whole, REJECT_SOURCE, header), wanted);
    if (wanted > 0) {
        ck_assert_mem_eq(header, MAC_CLIENT MAC_SERVER, 12);
        ck_assert_mem_eq(header + 12, frame_cases[_i].types, wanted - 12);
        ck_assert_uint_eq(inject_link_header(&root, REJECT_DESTINATION, header), wanted);
        ck_assert_mem_eq(header, MAC_SERVER MAC_CLIENT, 12);
        ck_assert_mem_eq(header + 12, frame_cases[_i].types, wanted - 12);
    }
    ck_assert_uint_eq(inject_port(&whole, REJECT_SOURCE), 5);
    ck_assert_uint_eq(inject_port(&root, REJECT_DESTINATION), 6);
    root.link = LINK_RAW; /* a routed packet, without Ethernet header */
    ck_assert_uint_eq(inject_link_header(&root, REJECT_SOURCE, header), 0);
    ck_assert_uint_eq(inject_port(&root, REJECT_SOURCE), 0);
}
END_TEST

START_TEST(sockets_need_privilege)
{
    char error[INJECT_ERROR_SIZE] = "";
    struct injector *injector = NULL;

    if (geteuid() == 0)
        ck_assert_int_eq(setresuid(65534, 65534, 65534), 0); /* affects only this test, which has its own process */
    ck_assert_int_eq(injector_new(&injector, NULL, 1, error), -EPERM);
    ck_assert_ptr_null(injector);
    ck_assert_msg(strstr(error, "CAP_NET_RAW") != NULL, "%s", error);
    injector_free(NULL);
}
END_TEST

#define COUNT(table) (int)(sizeof(table) / sizeof(table[0]))

static Suite *make_suite(void)
{
    Suite *suite = suite_create("inject");
    TCase *answers = tcase_create("answers");
    TCase *silence = tcase_create("silence");

    tcase_add_test(answers, reset_bytes);
    tcase_add_loop_test(answers, resets, 0, COUNT(reset_cases));
    tcase_add_loop_test(answers, unreachables, 0, COUNT(quote_cases));
    tcase_add_test(answers, quote_ends_with_the_packet);
    tcase_add_loop_test(answers, unreachable_to_the_receiver, 0, 2);
    tcase_add_test(answers, first_fragments_are_answered);
    tcase_add_loop_test(answers, answers_cross_a_bridge, 0, COUNT(frame_cases));
    suite_add_tcase(suite, answers);

    tcase_add_loop_test(silence, no_answer, 0, COUNT(refusals));
    tcase_add_test(silence, one_direction_at_a_time);
    tcase_add_loop_test(silence, icmp_errors_are_never_answered, 0, COUNT(icmp_cases));
    tcase_add_test(silence, sockets_need_privilege);
    suite_add_tcase(suite, silence);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(make_suite());

    srunner_run_all(runner, CK_ENV);

    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
