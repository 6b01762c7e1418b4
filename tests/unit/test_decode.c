/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Decoding: one row per packet with the expected fields and counters; and every packet truncated at every length. */
#include <netinet/in.h>
#include <stdio.h>

#include "packet_text.h"

/* The expected fields of a packet. Offsets are from its first byte; -1: not present. */
struct expected {
    uint8_t ip_version, protocol, ttl, tos, vlan_count;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    int ethernet, ip, transport, payload;
    uint32_t payload_length;
    uint16_t transport_header_length;
    uint16_t source_port, destination_port;
    uint16_t ip_extension_length;
    uint16_t ether_type;
    const char *counters; /* counters that must be 1, other than decoder.pkts, separated by blanks */
};

#define TO_80 .source_port = 12345, .destination_port = 80
#define IPV4_UDP .ip_version = 4, .protocol = IPPROTO_UDP, .ttl = 64, .transport_header_length = 8, TO_80
#define IPV6_UDP .ip_version = 6, .protocol = IPPROTO_UDP, .ttl = 64, .transport_header_length = 8, TO_80
#define IPV4_TCP .ip_version = 4, .protocol = IPPROTO_TCP, .ttl = 64, .transport_header_length = 20, TO_80

static const struct {
    enum link_type link;
    const char *text;
    struct expected want;
} rows[] = {
    { LINK_RAW,
      IP4("11") UDP "616263",
      { IPV4_UDP, .ethernet = -1, .transport = 20, .payload = 28, .payload_length = 3, .counters = "raw ipv4 udp" } },
    { LINK_IPV4, IP4("11") UDP, { IPV4_UDP, .ethernet = -1, .transport = 20, .payload = -1, .counters = "ipv4 udp" } },
    { LINK_IPV6,
      IP6("11") UDP "61",
      { IPV6_UDP, .ethernet = -1, .transport = 40, .payload = 48, .payload_length = 1, .counters = "ipv6 udp" } },
    { LINK_ETHERNET,
      ETH("0800") IP4("06") TCP "6162 000000" /* padding is payload, because IP's length includes it */,
      { IPV4_TCP, .ip = 14, .transport = 34, .payload = 54, .payload_length = 5, .ether_type = 0x0800,
        .counters = "ethernet ipv4 tcp" } },
    { LINK_ETHERNET,
      ETH("0800") "4500001c 12344000 40110000 0a000001 0a000002 30390050 0008 0000 6161616161",
      { IPV4_UDP, .ip = 14, .transport = 34, .payload = -1, .ether_type = 0x0800, .counters = "ethernet ipv4 udp" } },
    { LINK_RAW,
      IP4("11") "30390050 0009 0000 616263", /* UDP's length is shorter than IP's */
      { IPV4_UDP, .ethernet = -1, .transport = 20, .payload = 28, .payload_length = 1, .counters = "raw ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("88a8") "2064 8100 0fff 9100 e001 0800" IP4("11") UDP,
      { IPV4_UDP, .vlan_count = 3, .vlan_id = { 0x064, 0xfff, 1 }, .ip = 26, .transport = 46, .payload = -1,
        .ether_type = 0x0800, .counters = "ethernet vlan vlan_qinq vlan_qinqinq ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("8926") "00000000 8100 0005 86dd" IP6("11") UDP,
      { IPV6_UDP, .vlan_count = 1, .vlan_id = { 5 }, .ip = 24, .transport = 64, .payload = -1, .ether_type = 0x86dd,
        .counters = "ethernet vntag vlan ipv6 udp" } },
    { LINK_ETHERNET,
      ETH("893f") "100000d80000 0800" IP4("11") UDP,
      { IPV4_UDP, .ip = 22, .transport = 42, .payload = -1, .ether_type = 0x0800,
        .counters = "ethernet etag ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("88e7") "00000001" ETH("0800") IP4("11") UDP,
      { IPV4_UDP, .ip = 32, .transport = 52, .payload = -1, .ether_type = 0x0800,
        .counters = "ethernet ieee8021ah ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("8864") "1100 0001 0024 0021" IP4("11") UDP,
      { IPV4_UDP, .ip = 22, .transport = 42, .payload = -1, .ether_type = 0x8864,
        .counters = "ethernet pppoe ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("8864") "1100 0001 0024 57" IP6("11") UDP,
      { IPV6_UDP, .ip = 21, .transport = 61, .payload = -1, .ether_type = 0x8864,
        .counters = "ethernet pppoe ipv6 udp" } },
    { LINK_PPP,
      "ff030021" IP4("11") UDP,
      { IPV4_UDP, .ethernet = -1, .ip = 4, .transport = 24, .payload = -1, .counters = "ppp ipv4 udp" } },
    { LINK_PPP,
      "21" IP4("11") UDP,
      { IPV4_UDP, .ethernet = -1, .ip = 1, .transport = 21, .payload = -1, .counters = "ppp ipv4 udp" } },
    { LINK_PPP,
      "ff032f" IP4("00") TCP,
      { IPV4_TCP, .ethernet = -1, .ip = 3, .transport = 23, .payload = -1, .counters = "ppp ipv4 tcp" } },
    { LINK_LINUX_SLL,
      "0000 0001 0006 020000000001 0000 0800" IP4("11") UDP,
      { IPV4_UDP, .ethernet = -1, .ip = 16, .transport = 36, .payload = -1, .ether_type = 0x0800,
        .counters = "sll ipv4 udp" } },
    { LINK_LINUX_SLL2,
      "86dd 0000 00000001 0001 00 06 0200000000010000" IP6("11") UDP,
      { IPV6_UDP, .ethernet = -1, .ip = 20, .transport = 60, .payload = -1, .ether_type = 0x86dd,
        .counters = "sll2 ipv6 udp" } },
    { LINK_NULL,
      "02000000" IP4("11") UDP,
      { IPV4_UDP, .ethernet = -1, .ip = 4, .transport = 24, .payload = -1, .counters = "null ipv4 udp" } },
    { LINK_NULL,
      "0000001e" IP6("11") UDP, /* captured on a machine of other byte order */
      { IPV6_UDP, .ethernet = -1, .ip = 4, .transport = 44, .payload = -1, .counters = "null ipv6 udp" } },
    { LINK_LOOP,
      "00000018" IP6("11") UDP,
      { IPV6_UDP, .ethernet = -1, .ip = 4, .transport = 44, .payload = -1, .counters = "null ipv6 udp" } },
    { LINK_CHDLC,
      "0f000800" IP4("11") UDP,
      { IPV4_UDP, .ethernet = -1, .ip = 4, .transport = 24, .payload = -1, .ether_type = 0x0800,
        .counters = "chdlc ipv4 udp" } },
    { LINK_UNSUPPORTED, IP4("11") UDP, { .ethernet = -1, .ip = -1, .transport = -1, .payload = -1, .counters = "" } },
    { LINK_ETHERNET,
      ETH("8847") "00010040 00020140" IP4("11") UDP,
      { IPV4_UDP, .ip = 22, .transport = 42, .payload = -1, .ether_type = 0x8847,
        .counters = "ethernet mpls ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("8848") "00000140" IP4("11") UDP,
      { IPV4_UDP, .ip = 18, .transport = 38, .payload = -1, .ether_type = 0x8848,
        .counters = "ethernet mpls ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("8847") "00002140" IP6("11") UDP,
      { IPV6_UDP, .ip = 18, .transport = 58, .payload = -1, .ether_type = 0x8847,
        .counters = "ethernet mpls ipv6 udp" } },
    { LINK_ETHERNET,
      ETH("8847") "00020140" IP6("11") UDP,
      { IPV6_UDP, .ip = 18, .transport = 58, .payload = -1, .ether_type = 0x8847,
        .counters = "ethernet mpls ipv6 udp" } },
    { LINK_ETHERNET,
      ETH("894f") "00020201 00000000" IP4("11") UDP,
      { IPV4_UDP, .ip = 22, .transport = 42, .payload = -1, .ether_type = 0x894f,
        .counters = "ethernet nsh ipv4 udp" } },
    { LINK_ETHERNET,
      ETH("894f") "00060102 00000000 00000000 00000000 00000000 00000000" IP6("11") UDP,
      { IPV6_UDP, .ip = 38, .transport = 78, .payload = -1, .ether_type = 0x894f,
        .counters = "ethernet nsh ipv6 udp" } },
    { LINK_ETHERNET,
      ETH("894f") "00020205 00000000 00000140" IP4("11") UDP,
      { IPV4_UDP, .ip = 26, .transport = 46, .payload = -1, .ether_type = 0x894f,
        .counters = "ethernet nsh mpls ipv4 udp" } },
    { LINK_RAW,
      IP4_OPTIONS("47", "11") "94040000 01010100" UDP,
      { IPV4_UDP, .ethernet = -1, .transport = 28, .payload = -1, .counters = "raw ipv4 udp" } },
    { LINK_RAW,
      IP4("fd") "6162",
      { .ip_version = 4,
        .protocol = 0xfd,
        .ttl = 64,
        .ethernet = -1,
        .transport = -1,
        .payload = 20,
        .payload_length = 2,
        .counters = "raw ipv4 event.ipv4.unknown_protocol" } },
    { LINK_RAW,
      IP4("01") "0800000000010002 6162",
      { .ip_version = 4,
        .protocol = IPPROTO_ICMP,
        .ttl = 64,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 8,
        .payload = 28,
        .payload_length = 2,
        .counters = "raw ipv4 icmpv4" } },
    { LINK_RAW,
      IP4("01") "0d00000000010002 000000010000000200000003 61",
      { .ip_version = 4,
        .protocol = IPPROTO_ICMP,
        .ttl = 64,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 20,
        .payload = 40,
        .payload_length = 1,
        .counters = "raw ipv4 icmpv4" } },
    { LINK_RAW,
      IP6("3a") "8000000000010002 61",
      { .ip_version = 6,
        .protocol = IPPROTO_ICMPV6,
        .ttl = 64,
        .ethernet = -1,
        .transport = 40,
        .transport_header_length = 8,
        .payload = 48,
        .payload_length = 1,
        .counters = "raw ipv6 icmpv6" } },
    { LINK_RAW,
      IP6("3a") "8700000000000000" IP6_TO,
      { .ip_version = 6,
        .protocol = IPPROTO_ICMPV6,
        .ttl = 64,
        .ethernet = -1,
        .transport = 40,
        .transport_header_length = 4,
        .payload = 44,
        .payload_length = 20,
        .counters = "raw ipv6 icmpv6" } },
    { LINK_RAW,
      IP4("02") "16000000 e0000001",
      { .ip_version = 4,
        .protocol = IPPROTO_IGMP,
        .ttl = 64,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 8,
        .payload = -1,
        .counters = "raw ipv4 igmp" } },
    { LINK_RAW,
      IP4("02") "11000000 e0000001 0000 0001 0a000001 6162",
      { .ip_version = 4,
        .protocol = IPPROTO_IGMP,
        .ttl = 64,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 16,
        .payload = 36,
        .payload_length = 2,
        .counters = "raw ipv4 igmp" } },
    { LINK_RAW,
      IP4("02") "22000000 0000 0002 01000001 e0000001 0a000001 02010000 e0000002 00000000",
      { .ip_version = 4,
        .protocol = IPPROTO_IGMP,
        .ttl = 64,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 32,
        .payload = -1,
        .counters = "raw ipv4 igmp" } },
    { LINK_RAW,
      IP4("84") "30390050 00000001 00000000 03000005 00000000 00000012 00000001 00020003 00000000 6162",
      { .ip_version = 4,
        .protocol = IPPROTO_SCTP,
        .ttl = 64,
        TO_80,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 12,
        .payload = 56,
        .payload_length = 2,
        .counters = "raw ipv4 sctp" } },
    { LINK_RAW,
      IP6("84") "30390050 00000001 00000000 03000004",
      { .ip_version = 6,
        .protocol = IPPROTO_SCTP,
        .ttl = 64,
        TO_80,
        .ethernet = -1,
        .transport = 40,
        .transport_header_length = 12,
        .payload = 52,
        .payload_length = 4,
        .counters = "raw ipv6 sctp" } },
    { LINK_RAW,
      IP4("32") "00000001 00000002 6162",
      { .ip_version = 4,
        .protocol = IPPROTO_ESP,
        .ttl = 64,
        .ethernet = -1,
        .transport = 20,
        .transport_header_length = 8,
        .payload = 28,
        .payload_length = 2,
        .counters = "raw ipv4 esp" } },

    /* --- IPv6 extension headers ------------------------------------------------------------------- */
    { LINK_RAW,
      IP6("00") "2b00050200000000 3c02020100000000" IP6_TO "1100c20400000000" UDP "61",
      { IPV6_UDP, .ip_extension_length = 40, .ethernet = -1, .transport = 80, .payload = 88, .payload_length = 1,
        .counters = "raw ipv6 udp" } },
    { LINK_RAW,
      IP6("33") "1104 0000 00000001 00000002" IP6_TO "00000000 00000000" /* too long by a field */,
      { .ip_version = 6,
        .protocol = IPPROTO_UDP,
        .ttl = 64,
        .ip_extension_length = 24,
        .ethernet = -1,
        .transport_header_length = 8,
        .destination_port = 2,
        .transport = 64,
        .payload = 72,
        .payload_length = 4,
        .counters = "raw ipv6 udp invalid event.udp.len_invalid" } },
    /* --- UDP with a wrong length: all bytes are payload ------------------------------------------- */
    { LINK_RAW,
      IP6("11") "30390050 0000 0000 616263",
      { IPV6_UDP, .ethernet = -1, .transport = 40, .payload = 48, .payload_length = 3,
        .counters = "raw ipv6 udp invalid event.udp.len_invalid" } },
    { LINK_RAW,
      IP4("11") "30390050 0007 0000 616263",
      { IPV4_UDP, .ethernet = -1, .transport = 20, .payload = 28, .payload_length = 3,
        .counters = "raw ipv4 udp invalid event.udp.len_invalid" } },
    { LINK_RAW,
      IP4("11") "30390050 000c 0000 616263",
      { IPV4_UDP, .ethernet = -1, .transport = 20, .payload = 28, .payload_length = 3,
        .counters = "raw ipv4 udp invalid event.udp.pkt_too_small" } },
    { LINK_RAW,
      IP6("11") "30390050 000a 0000 616263" /* all known stacks discard the rest */,
      { IPV6_UDP, .ethernet = -1, .transport = 40, .payload = 48, .payload_length = 2, .counters = "raw ipv6 udp" } },
    { LINK_RAW,
      IP6("2c") "1100000000000007" UDP,
      { IPV6_UDP, .ip_extension_length = 8, .ethernet = -1, .transport = 48, .payload = -1,
        .counters = "raw ipv6 udp event.ipv6.exthdr_useless_fh" } },
    { LINK_RAW,
      IP6("87") "1100000000000000" UDP,
      { IPV6_UDP, .ip_extension_length = 8, .ethernet = -1, .transport = 48, .payload = -1,
        .counters = "raw ipv6 udp" } },
    { LINK_RAW,
      IP6("3c") "3b00050200000000",
      { .ip_version = 6,
        .protocol = IPPROTO_NONE,
        .ttl = 64,
        .ip_extension_length = 8,
        .ethernet = -1,
        .transport = -1,
        .payload = -1,
        .counters = "raw ipv6" } },
    { LINK_RAW,
      IP6("01") "0800000000000000",
      { .ip_version = 6,
        .protocol = 0,
        .ttl = 64,
        .ethernet = -1,
        .transport = -1,
        .payload = -1,
        .counters = "raw ipv6 event.ipv6.icmpv4" } },

    /* --- fragments: no transport ------------------------------------------------------------------ */
    { LINK_RAW,
      "45000024 00072000 40110000 0a000001 0a000002 30390050 0020 0000 6162636465666768",
      { .ip_version = 4,
        .protocol = IPPROTO_UDP,
        .ttl = 64,
        .ethernet = -1,
        .transport = -1,
        .payload = -1,
        .counters = "raw ipv4" } },
    { LINK_RAW,
      IP6("00") "2c00050200000000 1100 0009 00000007 30390050 0020 0000",
      { .ip_version = 6,
        .protocol = IPPROTO_FRAGMENT,
        .ttl = 64,
        .ip_extension_length = 8,
        .ethernet = -1,
        .transport = -1,
        .payload = -1,
        .counters = "raw ipv6" } },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static int offset_of(const struct decoding *decoding, const uint8_t *at)
{
    return at ? (int)(at - decoding->bytes) : -1;
}

static void check_counters(const struct decoding *decoding, const char *names, int row)
{
    static const char *const derived[] = { "pkts", "bytes", "avg_pkt_size", "max_pkt_size" };
    char padded[512];

    snprintf(padded, sizeof(padded), " %s ", names);
    for (size_t i = 0; i < decode_counter_count(); i++) {
        const char *name = decode_counter_name(i);
        char wanted[96];
        bool skip = false;

        for (size_t k = 0; k < sizeof(derived) / sizeof(derived[0]); k++)
            skip |= strcmp(name, derived[k]) == 0;
        if (skip)
            continue;
        snprintf(wanted, sizeof(wanted), " %s ", name);
        ck_assert_msg(decode_counter_value(decoding->decoder, i) == (strstr(padded, wanted) != NULL),
                      "row %d: counter %s is %u", row, name, (unsigned)decode_counter_value(decoding->decoder, i));
    }
}

#define CHECK_FIELD(name)                                                                                              \
    ck_assert_msg(got->name == want->name, "row %d: " #name " is %d, not %d", _i, (int)got->name, (int)want->name)

START_TEST(leaves_its_fields)
{
    const struct expected *want = &rows[_i].want;
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, rows[_i].link, rows[_i].text);
    const struct packet *got = &decoding.packet;

    ck_assert_uint_eq(decoding.count, 1);
    ck_assert_ptr_eq(got->root, got);
    ck_assert_ptr_null(got->outer);
    CHECK_FIELD(ip_version);
    CHECK_FIELD(protocol);
    CHECK_FIELD(ttl);
    CHECK_FIELD(tos);
    CHECK_FIELD(vlan_count);
    CHECK_FIELD(payload_length);
    CHECK_FIELD(transport_header_length);
    CHECK_FIELD(source_port);
    CHECK_FIELD(destination_port);
    CHECK_FIELD(ip_extension_length);
    CHECK_FIELD(ether_type);
    ck_assert_mem_eq(got->vlan_id, want->vlan_id, sizeof(want->vlan_id));
    ck_assert_msg(offset_of(&decoding, got->ethernet) == want->ethernet, "row %d: ethernet", _i);
    ck_assert_msg(offset_of(&decoding, got->ip) == want->ip, "row %d: ip", _i);
    ck_assert_msg(offset_of(&decoding, got->transport) == want->transport, "row %d: transport", _i);
    ck_assert_msg(offset_of(&decoding, got->payload) == want->payload, "row %d: payload", _i);
    check_counters(&decoding, want->counters, _i);
    decoding_close(&decoding);
}
END_TEST

START_TEST(survives_being_cut)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    for (int row = 0; row < ROW_COUNT; row++) {
        size_t length = packet_from_text(rows[row].text, bytes);

        for (size_t cut = 0; cut <= length; cut++) {
            decoding_bytes(&decoding, rows[row].link, bytes, cut);
            ck_assert_uint_eq(decoding.count, 1);
            if (decoding.packet.payload)
                ck_assert(decoding.packet.payload + decoding.packet.payload_length <= decoding.bytes + cut);
        }
    }
    decoding_close(&decoding);
}
END_TEST

START_TEST(reads_ipv4)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, "45b80020 abcdc001 80110000 c0a80102 08080404 30390050000800000000 0000");
    const struct packet *pkt = &decoding.packet;

    ck_assert_uint_eq(pkt->tos, 0xb8);
    ck_assert_uint_eq(pkt->ttl, 128);
    ck_assert_uint_eq(pkt->ip_total_length, 32);
    ck_assert_uint_eq(pkt->ip_header_length, 20);
    ck_assert_uint_eq(pkt->fragment_id, 0xabcd);
    ck_assert(pkt->reserved_fragment_bit && pkt->dont_fragment && !pkt->more_fragments);
    ck_assert_uint_eq(pkt->fragment_offset, 8);
    ck_assert(pkt->flags & PACKET_FRAGMENT);
    ck_assert_mem_eq(pkt->source_address.bytes, "\xc0\xa8\x01\x02\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    ck_assert_mem_eq(pkt->destination_address.bytes, "\x08\x08\x04\x04\0\0\0\0\0\0\0\0\0\0\0\0", 16);
    decoding_close(&decoding);
}
END_TEST

START_TEST(reads_ipv6)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, "6b812345 0010 2c 07" IP6_FROM IP6_TO "1100 0b48 01020304 0000000000000000");
    const struct packet *pkt = &decoding.packet;

    ck_assert_uint_eq(pkt->tos, 0xb8);
    ck_assert_uint_eq(pkt->ttl, 7);
    ck_assert_uint_eq(pkt->ip_total_length, 56);
    ck_assert_uint_eq(pkt->ip_header_length, 40);
    ck_assert_uint_eq(pkt->fragment_id, 0x01020304);
    ck_assert_uint_eq(pkt->fragment_offset, 0x0b48);
    ck_assert(pkt->flags & PACKET_FRAGMENT);
    ck_assert(!pkt->more_fragments);
    ck_assert_mem_eq(pkt->source_address.bytes, pkt->ip + 8, 16);
    ck_assert_mem_eq(pkt->destination_address.bytes, pkt->ip + 24, 16);
    decoding_close(&decoding);
}
END_TEST

START_TEST(reads_tcp_options)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW,
                  IP4("06") "3039 0050 01020304 05060708 e512 0100 abcd 0007"
                            "020405b4 0402 080a0000000100000002 030307 2206 11223344 00 00000000 0000 00000000 61");
    const struct tcp_info *tcp = &decoding.packet.tcp;

    ck_assert_uint_eq(decoding.packet.event_count, 0);
    ck_assert_uint_eq(decoding.packet.transport_header_length, 56);
    ck_assert_uint_eq(decoding.packet.payload_length, 1);
    ck_assert_uint_eq(tcp->sequence, 0x01020304);
    ck_assert_uint_eq(tcp->acknowledgment, 0x05060708);
    ck_assert_uint_eq(tcp->flags, TCP_SYN | TCP_ACK);
    ck_assert_uint_eq(tcp->reserved, 5);
    ck_assert_uint_eq(tcp->window, 0x100);
    ck_assert_uint_eq(tcp->checksum, 0xabcd);
    ck_assert_uint_eq(tcp->urgent, 7);
    ck_assert(tcp->has_mss && tcp->mss == 1460);
    ck_assert(tcp->has_sack_permitted);
    ck_assert(tcp->has_timestamp && tcp->timestamp_value == 1 && tcp->timestamp_echo == 2);
    ck_assert(tcp->has_window_scale && tcp->window_scale == 7);
    ck_assert(tcp->has_fast_open && tcp->fast_open_length == 4);
    ck_assert_mem_eq(tcp->fast_open, "\x11\x22\x33\x44", 4);

    decoding_text(&decoding, LINK_RAW,
                  IP4("06") TCP_HEADER("b0") "01010512 00000001 00000002 00000003 00000004 fd04f989");
    ck_assert_uint_eq(tcp->sack_count, 2);
    ck_assert_mem_eq(tcp->sack, "\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4", 16);
    ck_assert(tcp->has_fast_open && tcp->fast_open_length == 0);
    ck_assert(!tcp->has_mss && !tcp->has_timestamp);
    decoding_close(&decoding);
}
END_TEST

START_TEST(reads_icmp)
{
    struct decoding decoding;
    const struct icmp_info *icmp = &decoding.packet.icmp;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, IP4("01") "0800000012345678");
    ck_assert(icmp->type == 8 && icmp->code == 0 && icmp->has_id);
    ck_assert(icmp->id == 0x1234 && icmp->sequence == 0x5678 && icmp->mtu == 0);
    decoding_text(&decoding, LINK_RAW, IP4("01") "03040000000005dc" IP4("06"));
    ck_assert(icmp->type == 3 && icmp->code == 4 && !icmp->has_id && icmp->mtu == 1500);
    decoding_text(&decoding, LINK_RAW, IP6("3a") "0200000000000500" IP6("3b"));
    ck_assert(icmp->type == 2 && !icmp->has_id && icmp->mtu == 1280);
    decoding_text(&decoding, LINK_RAW, IP6("3a") "8100000000070009");
    ck_assert(icmp->type == 129 && icmp->has_id && icmp->id == 7 && icmp->sequence == 9);
    decoding_text(&decoding, LINK_RAW, IP6("3a") "8101000000070009");
    ck_assert(icmp->code == 1 && !icmp->has_id);
    decoding_close(&decoding);
}
END_TEST

static const struct {
    const char *options;
    uint32_t seen;
} option_rows[] = {
    { "00000000 00000000", 1u << IP_OPTION_EOL },
    { "01010101 01010100", 1u << IP_OPTION_NOP | 1u << IP_OPTION_EOL },
    { "07070800 00000000", 1u << IP_OPTION_RR | 1u << IP_OPTION_EOL },
    { "19080000 00000000", 1u << IP_OPTION_QS },
    { "44080d00 00000000", 0 }, /* a pointer past the end */
    { "44080500 00000000", 1u << IP_OPTION_TS },
    { "82030000 00000000", 1u << IP_OPTION_SEC | 1u << IP_OPTION_EOL },
    { "85030000 00000000", 1u << IP_OPTION_ESEC | 1u << IP_OPTION_EOL },
    { "83070400 00000000", 1u << IP_OPTION_LSRR | 1u << IP_OPTION_EOL },
    { "89070400 00000000", 1u << IP_OPTION_SSRR | 1u << IP_OPTION_EOL },
    { "88040001 94040000", 1u << IP_OPTION_SATID | 1u << IP_OPTION_RTRALT },
};

START_TEST(reads_ipv4_options)
{
    char text[PACKET_TEXT_MAX] = IP4_OPTIONS("47", "11");
    struct decoding decoding;

    strcat(text, option_rows[_i].options);
    strcat(text, UDP);
    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, text);
    ck_assert_uint_eq(decoding.packet.ip_options_seen, option_rows[_i].seen);
    ck_assert_uint_eq(decoding.packet.destination_port, 80);
    decoding_close(&decoding);
}
END_TEST

START_TEST(reads_cipso)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, IP4_OPTIONS("49", "11") "8610 00000001 0104 0005 0706 61626364" UDP);
    ck_assert_uint_eq(decoding.packet.ip_options_seen, 1u << IP_OPTION_CIPSO);
    ck_assert_uint_eq(decoding.packet.event_count, 0);
    decoding_close(&decoding);
}
END_TEST

/* Fields of an earlier packet are reset, except for those that the capture sets. */
START_TEST(starts_anew)
{
    struct decoding decoding;
    struct packet *pkt = &decoding.packet;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_ETHERNET, ETH("8100") "0005 0800" IP4_OPTIONS("46", "06") "00000000" TCP);
    pkt->flags |= PACKET_GSO | PACKET_MARKED | PACKET_MALFORMED | PACKET_TO_CLIENT | PACKET_BAD_L4_CHECKSUM;
    pkt->verdict = VERDICT_DROP;
    pkt->new_length = 1;
    pkt->number = 7;
    packet_reset(pkt);
    ck_assert_uint_eq(pkt->flags, PACKET_GSO | PACKET_MARKED);
    ck_assert_uint_eq(pkt->number, 7);
    ck_assert_ptr_eq(pkt->data, decoding.bytes);
    ck_assert_ptr_eq(pkt->root, pkt);
    pkt->root = NULL;
    for (const uint8_t *at = (const uint8_t *)&pkt->outer; at < (const uint8_t *)(pkt + 1); at++)
        ck_assert_uint_eq(*at, 0);
    decoding_close(&decoding);
}
END_TEST

/* The payload of a frame; its header and outermost VLAN tag are in packet metadata. */
static const struct {
    const char *text;
    uint16_t type, vlan_protocol, tci;
    uint8_t ip_version, vlan_count;
    uint16_t vlan_id[PACKET_MAX_VLANS];
} bridge_rows[] = {
    { .text = IP4("11") UDP, .type = 0x0800, .ip_version = 4 },
    { .text = IP4("11") UDP,
      .type = 0x0800,
      .vlan_protocol = 0x8100,
      .tci = 0x2064,
      .ip_version = 4,
      .vlan_count = 1,
      .vlan_id = { 0x64 } },
    /* a tag with VLAN id 0 (priority only), and a second tag in the frame */
    { .text = "0007 0800" IP4("11") UDP,
      .type = 0x8100,
      .vlan_protocol = 0x88a8,
      .tci = 0x6000,
      .ip_version = 4,
      .vlan_count = 2,
      .vlan_id = { 0, 7 } },
    { .text = "0001 0800 06 04 0001 000000000001 0a000001 000000000000 0a000002", .type = 0x0806 },
    { .text = "ffff", .type = 0x1234 },
    { .text = "45", .type = 0x0800 },
    { .text = "", .type = 0x8100 },
};

START_TEST(reads_frames_of_a_bridge)
{
    static const uint8_t header[14] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 8, 0 };
    struct decoding decoding;
    struct packet *pkt = &decoding.packet;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_BRIDGE, bridge_rows[_i].text);
    ck_assert_ptr_null(pkt->ethernet);
    pkt->meta.hardware_protocol = bridge_rows[_i].type;
    pkt->meta.vlan_protocol = bridge_rows[_i].vlan_protocol;
    pkt->meta.vlan_tci = bridge_rows[_i].tci;
    pkt->frame_header = header;
    decoding.count = decode_packet(decoding.decoder, pkt, decoding.found);
    ck_assert_uint_eq(decoding.count, 1);
    ck_assert_ptr_eq(pkt->ethernet, header);
    ck_assert_uint_eq(pkt->ip_version, bridge_rows[_i].ip_version);
    ck_assert_uint_eq(pkt->vlan_count, bridge_rows[_i].vlan_count);
    for (unsigned i = 0; i < pkt->vlan_count; i++)
        ck_assert_uint_eq(pkt->vlan_id[i], bridge_rows[_i].vlan_id[i]);
    if (pkt->ip_version == 4)
        ck_assert_uint_eq(pkt->destination_port, 80);
    decoding_close(&decoding);
}
END_TEST

START_TEST(counts_sizes)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    ck_assert_uint_eq(decoding_counter(&decoding, "avg_pkt_size"), 0);
    decoding_text(&decoding, LINK_RAW, IP4("11") UDP);
    decoding_text(&decoding, LINK_RAW, IP4("11") UDP "61626364");
    ck_assert_uint_eq(decoding_counter(&decoding, "pkts"), 2);
    ck_assert_uint_eq(decoding_counter(&decoding, "bytes"), 60);
    ck_assert_uint_eq(decoding_counter(&decoding, "avg_pkt_size"), 30);
    ck_assert_uint_eq(decoding_counter(&decoding, "max_pkt_size"), 32);
    ck_assert_str_eq(decode_counter_name(decode_counter_count()), "");
    ck_assert_uint_eq(decode_counter_value(decoding.decoder, decode_counter_count()), 0);
    decoding_close(&decoding);
}
END_TEST

enum { BIG_LENGTH = 100000 };

/* BIG TCP: IP packets of BIG_LENGTH bytes with the length 0. */
static const struct {
    const char *text;
    uint32_t flags, length, payload;
    bool valid;
} big_rows[] = {
    { "45000000 12344000 40060000 0a000001 0a000002" TCP, PACKET_GSO, BIG_LENGTH, BIG_LENGTH - 40, true },
    { "45000000 12344000 40060000 0a000001 0a000002" TCP, 0, BIG_LENGTH, 0, false }, /* no super-packet */
    { "45000000 12344000 40110000 0a000001 0a000002" UDP, PACKET_GSO, BIG_LENGTH, 0, false },
    { "45000000 12344000 40060000 0a000001 0a000002" TCP, PACKET_GSO, 65535, 0, false }, /* the field could hold it */
    { "60000000 0000 06 40 fd000000000000000000000000000001 fd000000000000000000000000000002" TCP, PACKET_GSO,
      BIG_LENGTH, BIG_LENGTH - 60, true },
    { "60000000 0000 00 40 fd000000000000000000000000000001 fd000000000000000000000000000002 06 00 c204 00018670" TCP,
      PACKET_GSO, BIG_LENGTH, BIG_LENGTH - 68, true },
    { "60000000 0000 06 40 fd000000000000000000000000000001 fd000000000000000000000000000002" TCP, 0, BIG_LENGTH, 0,
      false },
};

START_TEST(reads_big_tcp)
{
    static uint8_t bytes[BIG_LENGTH];
    struct decoding decoding;
    struct packet *pkt = &decoding.packet;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, big_rows[_i].text);
    memset(bytes, 'x', sizeof(bytes));
    memcpy(bytes, decoding.bytes, pkt->length);
    pkt->data = bytes;
    pkt->length = pkt->wire_length = big_rows[_i].length;
    pkt->flags = big_rows[_i].flags;
    decode_packet(decoding.decoder, pkt, decoding.found);
    ck_assert_uint_eq(pkt->payload_length, big_rows[_i].payload);
    ck_assert(!(pkt->flags & PACKET_MALFORMED) == big_rows[_i].valid);
    if (big_rows[_i].valid)
        ck_assert_uint_eq(pkt->ip_total_length, BIG_LENGTH);
    decoding_close(&decoding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode");
    TCase *tcase = tcase_create("headers");
    SRunner *runner;

    tcase_add_loop_test(tcase, leaves_its_fields, 0, ROW_COUNT);
    tcase_add_test(tcase, survives_being_cut);
    tcase_add_loop_test(tcase, reads_ipv4_options, 0, sizeof(option_rows) / sizeof(option_rows[0]));
    tcase_add_test(tcase, reads_ipv4);
    tcase_add_test(tcase, reads_ipv6);
    tcase_add_test(tcase, reads_tcp_options);
    tcase_add_test(tcase, reads_icmp);
    tcase_add_test(tcase, reads_cipso);
    tcase_add_test(tcase, starts_anew);
    tcase_add_loop_test(tcase, reads_frames_of_a_bridge, 0, sizeof(bridge_rows) / sizeof(bridge_rows[0]));
    tcase_add_test(tcase, counts_sizes);
    tcase_add_loop_test(tcase, reads_big_tcp, 0, sizeof(big_rows) / sizeof(big_rows[0]));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
