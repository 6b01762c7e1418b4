/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Header keywords and buffers: the text of an option, a packet, and whether it matches. */
#include <check.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/decode_event.h"
#include "sluice/keyword.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define EVENT(event) .events[(event) / 64] = UINT64_C(1) << ((event) % 64)

/* --- Packets -------------------------------------------------------------------------------------- */

#define ETHERNET 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 8, 0
#define IPV4 0x45, 0, 0, 40, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2
#define IPV6                                                                                                           \
    0x60, 0, 0, 0, 0, 0, 0, 64, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10,  \
        11, 12, 13, 14, 15, 17
#define TCP_HEADER 0, 80, 1, 2, 0, 0, 3, 0xe8, 0, 0, 7, 0xd0, 0x60, 0xc2, 0x20, 0, 0, 0, 0, 0, 2, 4, 5, 0x78

static const uint8_t tcp_bytes[] = { ETHERNET, IPV4, TCP_HEADER, 'd', 'a', 't', 'a' };
static const uint8_t options_bytes[] = { 0x46, 0, 0, 48, 0,    0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1,
                                         10,   0, 0, 2,  0x94, 4, 0, 0, 0,  53, 1, 2, 0,  8, 0, 0 };
static const uint8_t tcp6_bytes[] = { IPV6, TCP_HEADER };
static const uint8_t fragment6_bytes[] = { IPV6, 17, 0, 5, 0xa9, 0, 0, 0, 9, 'x', 'x', 'x' };
static const uint8_t echo_bytes[] = { IPV4, 8, 0, 0, 0, 2, 0x9a, 0, 5, 'p', 'i', 'n', 'g' };
static const uint8_t advert_bytes[] = { IPV4, 9, 0, 0, 0, 2, 2, 0, 30, 1, 1, 1, 1,
                                        0,    0, 0, 1, 2, 2, 2, 2, 0,  0, 0, 2, 0xff };
static const uint8_t cut_advert_bytes[] = { IPV4, 9, 0, 0, 0, 200, 200, 0, 30, 1, 1 };
static const uint8_t time_bytes[] = { IPV4, 13, 0, 0, 0, 0, 7, 0, 8, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0xff };
static const uint8_t too_big_bytes[] = { IPV6, 2, 0, 0, 0, 0, 0, 5, 0, 'q', 'u', 'o', 't' };
static const uint8_t igmp_bytes[] = { IPV4, 0x22, 0, 0, 0, 0, 0, 0, 1 };
static const uint8_t sctp_bytes[] = { IPV4, 0, 80, 1,   2,   0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, /* the common header */
                                      3,    0, 0,  8,   0,   0,    0,    1,                      /* SACK */
                                      0,    3, 0,  21,  0,   0,    0,    1,    0,    0, 0, 0, 0,
                                      0,    0, 3,  'f', 'i', 'r',  's',  't',  0,    0, 0, /* DATA, padded */
                                      0,    3, 0,  20,  0,   0,    0,    2,    0,    0, 0, 1, 0,
                                      0,    0, 3,  'n', 'e', 'x',  't' };
static const uint8_t cut_sctp_bytes[] = { IPV4, 0, 80, 1, 2, 0, 0, 0, 7, 0, 0, 0, 0, 1, 0, 0, 4, 0, 3, 0, 90, 1, 1 };
static const uint8_t arp_bytes[] = { ETHERNET, 0, 1 };

enum packet_name {
    TCP_SYNC,
    TCP_DATA,
    TCP_NULL,
    TCP_URGENT,
    TCP6_RESET,
    UDP4,
    UDP4_NO_CHECKSUM,
    UDP6_BAD,
    FRAGMENT4,
    FRAGMENT6,
    ATOMIC6,
    IP_RESERVED,
    ECHO,
    ECHO6,
    ADVERT,
    CUT_ADVERT,
    TIME,
    UNREACHABLE,
    TOO_BIG,
    TOO_BIG_CODE,
    IGMP4,
    SCTP4,
    CUT_SCTP,
    ARP4,
    PACKETS,
};

#define AT(bytes, offset) ((bytes) + (offset))
#define BYTES(b) .data = (b), .length = sizeof(b)
#define LINKED(b, transport_offset, l)                                                                                 \
    BYTES(b), .ethernet = (b), .ip = AT(b, 14), .transport = AT(b, 14 + (transport_offset)),                           \
              .transport_header_length = (l), .ip_total_length = sizeof(b) - 14
#define RAW(b, transport_offset, l)                                                                                    \
    BYTES(b), .ip = (b), .transport = AT(b, transport_offset), .transport_header_length = (l),                         \
              .ip_total_length = sizeof(b)
#define IS4(p) .ip_version = 4, .ip_header_length = 20, .protocol = (p), .ttl = 64
#define IS6(p) .ip_version = 6, .ip_header_length = 40, .protocol = (p), .ttl = 255

static const struct packet packets[PACKETS] = {
    [TCP_SYNC] = { LINKED(tcp_bytes, 20, 24), IS4(IPPROTO_TCP), .tos = 0x12, .fragment_id = 0x1234,
                   .dont_fragment = true, .vlan_count = 2, .vlan_id = { 100, 200 },
                   .destination_address = { .bytes = { 10 } },
                   .tcp = { .sequence = 1000,
                            .acknowledgment = 2000,
                            .window = 8192,
                            .has_mss = true,
                            .mss = 1400,
                            .has_window_scale = true,
                            .window_scale = 7,
                            .flags = TCP_SYN | TCP_ECE | TCP_CWR } },
    [TCP_DATA] = { LINKED(tcp_bytes, 20, 24), IS4(IPPROTO_TCP), .tcp = { .window = 0, .flags = TCP_PSH | TCP_ACK },
                   .flags = PACKET_BAD_L4_CHECKSUM },
    [TCP_NULL] = { LINKED(tcp_bytes, 20, 24), IS4(IPPROTO_TCP) },
    [TCP_URGENT] = { LINKED(tcp_bytes, 20, 24), IS4(IPPROTO_TCP), .vlan_count = 1, .vlan_id = { 7 },
                     .tcp = { .flags = TCP_FIN | TCP_PSH | TCP_URG } },
    [TCP6_RESET] = { RAW(tcp6_bytes, 40, 24), IS6(IPPROTO_TCP), .tos = 0x12, .fragment_id = 0x1234,
                     .dont_fragment = true, .ip_options_seen = 1, .tcp = { .flags = TCP_RST, .sequence = UINT32_MAX } },
    [UDP4] = { RAW(options_bytes, 24, 8), .ip_version = 4, .ip_header_length = 24, .protocol = IPPROTO_UDP, .ttl = 1,
               .ip_options_seen = 1u << IP_OPTION_RTRALT | 1u << IP_OPTION_EOL, .udp = { .length = 8, .checksum = 1 },
               .flags = PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM },
    [UDP4_NO_CHECKSUM] = { RAW(options_bytes, 24, 8), IS4(IPPROTO_UDP), .flags = PACKET_BAD_L4_CHECKSUM },
    [UDP6_BAD] = { RAW(tcp6_bytes, 40, 8), IS6(IPPROTO_UDP), .flags = PACKET_BAD_L4_CHECKSUM,
                   .udp = { .checksum = 9 } },
    [FRAGMENT4] = { BYTES(tcp_bytes), .ip = AT(tcp_bytes, 14), IS4(IPPROTO_UDP), .more_fragments = true,
                    .fragment_offset = 1480, .flags = PACKET_FRAGMENT },
    [FRAGMENT6] = { BYTES(fragment6_bytes), .ip = fragment6_bytes, IS6(IPPROTO_UDP), .ip_extension_length = 8,
                    .more_fragments = true, .fragment_offset = 1448, .flags = PACKET_FRAGMENT },
    [ATOMIC6] = { BYTES(fragment6_bytes), .ip = fragment6_bytes, IS6(IPPROTO_UDP), .ip_extension_length = 80,
                  EVENT(DECODE_EVENT_IPV6_EXTHDR_USELESS_FH) },
    [IP_RESERVED] = { BYTES(tcp_bytes), .ip = AT(tcp_bytes, 14), IS4(200), .reserved_fragment_bit = true,
                      .more_fragments = true, .ip_options_seen = 1u << IP_OPTION_LSRR,
                      EVENT(DECODE_EVENT_IPV4_UNKNOWN_PROTOCOL) },
    [ECHO] = { RAW(echo_bytes, 20, 8), IS4(IPPROTO_ICMP),
               .icmp = { .type = 8, .has_id = true, .id = 666, .sequence = 5 } },
    [ECHO6] = { RAW(too_big_bytes, 40, 8), IS6(IPPROTO_ICMPV6), .flags = PACKET_BAD_L4_CHECKSUM,
                .icmp = { .type = 128, .has_id = true, .id = 1, .sequence = UINT16_MAX } },
    [ADVERT] = { RAW(advert_bytes, 20, 8), IS4(IPPROTO_ICMP), .icmp = { .type = 9 } },
    [CUT_ADVERT] = { RAW(cut_advert_bytes, 20, 8), IS4(IPPROTO_ICMP), .icmp = { .type = 9 } },
    [TIME] = { RAW(time_bytes, 20, 8), IS4(IPPROTO_ICMP),
               .icmp = { .type = 13, .has_id = true, .id = 7, .sequence = 8 } },
    [UNREACHABLE] = { RAW(echo_bytes, 20, 8), IS4(IPPROTO_ICMP), .icmp = { .type = 3, .code = 1 },
                      .flags = PACKET_BAD_L4_CHECKSUM },
    [TOO_BIG] = { RAW(too_big_bytes, 40, 8), IS6(IPPROTO_ICMPV6), .icmp = { .type = 2, .mtu = 1280 } },
    [TOO_BIG_CODE] = { RAW(too_big_bytes, 40, 8), IS6(IPPROTO_ICMPV6), .icmp = { .type = 2, .code = 1, .mtu = 1280 } },
    [IGMP4] = { RAW(igmp_bytes, 20, 8), IS4(IPPROTO_IGMP), .source_address = { .bytes = { 1 } } },
    [SCTP4] = { RAW(sctp_bytes, 20, 12), IS4(IPPROTO_SCTP) },
    [CUT_SCTP] = { RAW(cut_sctp_bytes, 20, 12), IS4(IPPROTO_SCTP) },
    [ARP4] = { BYTES(arp_bytes), .ethernet = arp_bytes, .vlan_count = 3, .vlan_id = { 1, 2, 3 },
               EVENT(DECODE_EVENT_ARP_UNSUPPORTED_OPCODE) },
};

/* --- Rules ---------------------------------------------------------------------------------------- */

static struct keyword_table *keywords;
static struct rule_variables *variables;
static struct rule_list *list;
static struct diag *diag;

static void setup(void)
{
    keywords = keyword_table_new(keyword_list, keyword_list_count);
    variables = rule_variables_new();
    diag = diag_new();
    const struct rule_list_options options = { .keywords = keywords, .variables = variables };

    ck_assert_int_eq(rule_list_new(&list, &options, diag), 0);
}

static void teardown(void)
{
    rule_list_free(list);
    diag_free(diag);
    rule_variables_free(variables);
    keyword_table_free(keywords);
}

#define HEADER "alert pkthdr any any -> any any ("

/* Parses a rule with this option. Returns NULL if it is rejected. */
static const struct rule *parse(const char *option)
{
    char text[256];
    int length = snprintf(text, sizeof(text), HEADER "%s; sid:1;)\n", option);

    ck_assert_int_eq(rule_list_parse(list, "test.rules", text, (size_t)length, diag), 0);
    ck_assert_int_eq(rule_list_finish(list, diag), 0);
    return rule_list_count(list) ? rule_list_get(list, 0) : NULL;
}

static bool matches(const struct rule *rule, const struct packet *pkt)
{
    struct match_input in = { .packet = pkt };

    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        if (c->keyword->packet.match(&in, c->data) == c->negated)
            return false;
    return true;
}

static const struct match_case {
    const char *option;
    enum packet_name packet;
    bool expected;
} match_cases[] = {
    { "ttl:64", TCP_SYNC, true },
    { "ttl:63", TCP_SYNC, false },
    { "ttl:255", TCP6_RESET, true },
    { "ttl:<65", TCP_SYNC, true },
    { "ttl:<64", TCP_SYNC, false },
    { "ttl:<=64", TCP_SYNC, true },
    { "ttl:>63", TCP_SYNC, true },
    { "ttl:>64", TCP_SYNC, false },
    { "ttl:>=64", TCP_SYNC, true },
    { "ttl:63-65", TCP_SYNC, true },
    { "ttl:64-70", TCP_SYNC, false },
    { "ttl:60-64", TCP_SYNC, false },
    { "ttl:!64-70", TCP_SYNC, true },
    { "ttl:!63-65", TCP_SYNC, false },
    { "ttl:!64", TCP_SYNC, false },
    { "ttl:!=65", TCP_SYNC, true },
    { "ttl:0x40", TCP_SYNC, true },
    { "ttl:= 64", TCP_SYNC, true },
    { "ttl: 60 <> 70", TCP_SYNC, true },
    { "ttl:&0x40=0x40", TCP_SYNC, true },
    { "ttl:&0x3f=0", TCP_SYNC, true },
    { "ttl:&0xc0!=0", TCP_SYNC, true },
    { "ttl:& 0x80 != 0", TCP_SYNC, false },
    { "ttl:<1", ARP4, false },
    { "ttl:!64", ARP4, false },
    { "tos:18", TCP_SYNC, true },
    { "tos:x12", TCP_SYNC, true },
    { "tos:X12", TCP_SYNC, true },
    { "tos:!x12", TCP_SYNC, false },
    { "tos:!8", TCP_SYNC, true },
    { "tos:\"18\"", TCP_SYNC, true },
    { "tos:18", TCP6_RESET, false },
    { "tos:!8", TCP6_RESET, false },
    { "id:4660", TCP_SYNC, true },
    { "id:\"4660\"", TCP_SYNC, true },
    { "id:4661", TCP_SYNC, false },
    { "id:!4661", TCP_SYNC, true },
    { "id:4660", TCP6_RESET, false },
    { "ipopts:rtralt", UDP4, true },
    { "ipopts:EOL", UDP4, true },
    { "ipopts:any", UDP4, true },
    { "ipopts:any", TCP_SYNC, false },
    { "ipopts:lsrr", IP_RESERVED, true },
    { "ipopts:ssrr", IP_RESERVED, false },
    { "ipopts:rr", TCP6_RESET, false },
    { "ip_proto:6", TCP_SYNC, true },
    { "ip_proto:tcp", TCP_SYNC, true },
    { "ip_proto:TCP", TCP6_RESET, true },
    { "ip_proto:!tcp", TCP_SYNC, false },
    { "ip_proto:!17", TCP_SYNC, true },
    { "ip_proto:ipv6-icmp", ECHO6, true },
    { "ip_proto:!ipv6-icmp", ECHO, true },
    { "ip_proto:>134", IP_RESERVED, true },
    { "ip_proto:<7", TCP_SYNC, true },
    { "ip_proto:>5; ip_proto:<7", TCP_SYNC, true },
    { "ip_proto:>5; ip_proto:<7", UDP4, false },
    { "ip_proto:0", ARP4, false },
    { "ip_proto:!6", ARP4, false },
    { "sameip", TCP_DATA, true },
    { "sameip", TCP_SYNC, false },
    { "sameip", IGMP4, false },
    { "sameip", ARP4, false },
    { "fragbits:D", TCP_SYNC, true },
    { "fragbits:M", TCP_SYNC, false },
    { "fragbits:!D", TCP_SYNC, false },
    { "fragbits:!M", TCP_SYNC, true },
    { "fragbits:M", FRAGMENT4, true },
    { "fragbits:M+", FRAGMENT4, true },
    { "fragbits:M", IP_RESERVED, false },
    { "fragbits:+M", IP_RESERVED, true },
    { "fragbits:MR", IP_RESERVED, true },
    { "fragbits:+RD", IP_RESERVED, false },
    { "fragbits:*RD", IP_RESERVED, true },
    { "fragbits:*MDR", TCP_DATA, false },
    { "fragbits:!MDR", TCP_DATA, true },
    { "fragbits:!MDR", TCP6_RESET, false },
    { "fragbits:D", TCP6_RESET, false },
    { "fragoffset:185", FRAGMENT4, true },
    { "fragoffset:1480", FRAGMENT4, false },
    { "fragoffset:>0", FRAGMENT4, true },
    { "fragoffset:>0", TCP_SYNC, false },
    { "fragoffset:0", TCP_SYNC, true },
    { "fragoffset:!0", FRAGMENT4, true },
    { "fragoffset:1448", FRAGMENT6, true },
    { "fragoffset:0", ATOMIC6, true },
    { "fragoffset:0", TCP6_RESET, false },
    { "fragoffset:0", ARP4, false },
    { "tcp.flags:S", TCP_SYNC, false },
    { "tcp.flags:S,12", TCP_SYNC, true },
    { "tcp.flags:s,ce", TCP_SYNC, true },
    { "tcp.flags:S , CE", TCP_SYNC, true },
    { "flags:SEC", TCP_SYNC, true },
    { "flags:S12", TCP_SYNC, true },
    { "flags:S+", TCP_SYNC, true },
    { "flags:+SE", TCP_SYNC, true },
    { "flags:+SA", TCP_SYNC, false },
    { "flags:*SA", TCP_SYNC, true },
    { "flags:AR*", TCP_SYNC, false },
    { "flags:!S", TCP_SYNC, false },
    { "flags:!SA", TCP_SYNC, true },
    { "flags:-A", TCP_SYNC, true },
    { "flags:PA", TCP_DATA, true },
    { "flags:A", TCP_DATA, false },
    { "flags:=AP", TCP_DATA, true },
    { "flags:0", TCP_NULL, true },
    { "flags:0", TCP_DATA, false },
    { "flags:!0", TCP_DATA, true },
    { "flags:!0", TCP_NULL, false },
    { "flags:FPU,12", TCP_URGENT, true },
    { "flags:0x18", TCP_DATA, true },
    { "flags:&0x10!=0", TCP_DATA, true },
    { "flags:&0x10!=0", TCP_URGENT, false },
    { "flags:0", UDP4, false },
    { "flags:!A", UDP4, false },
    { "flags:R", TCP6_RESET, true },
    { "tcp.seq:1000", TCP_SYNC, true },
    { "seq:1001", TCP_SYNC, false },
    { "seq:4294967295", TCP6_RESET, true },
    { "seq:0", UDP4, false },
    { "tcp.ack:2000", TCP_SYNC, true },
    { "ack:0", TCP_SYNC, false },
    { "ack:0", TCP_NULL, true },
    { "ack:0", SCTP4, false },
    { "tcp.window:8192", TCP_SYNC, true },
    { "window:8kb", TCP_SYNC, true },
    { "window:!8192", TCP_SYNC, false },
    { "window:0", TCP_DATA, true },
    { "window:!0", TCP_DATA, false },
    { "window:!1", ECHO, false },
    { "tcp.mss:1400", TCP_SYNC, true },
    { "tcp.mss:<536", TCP_SYNC, false },
    { "tcp.mss:1399-1401", TCP_SYNC, true },
    { "tcp.mss:<536", TCP_DATA, false },
    { "tcp.mss:<536", UDP4, false },
    { "tcp.wscale:7", TCP_SYNC, true },
    { "tcp.wscale:>7", TCP_SYNC, false },
    { "tcp.wscale:<15", TCP_DATA, false },
    { "tcp.wscale:<15", ECHO, false },
    { "itype:8", ECHO, true },
    { "itype:7<>20", ECHO, true },
    { "itype:8<>20", ECHO, false },
    { "itype:<15", ECHO, true },
    { "itype:128", ECHO6, true },
    { "itype:!8", TCP_SYNC, false },
    { "itype:0", IGMP4, false },
    { "icode:0", ECHO, true },
    { "icode:>0", ECHO, false },
    { "icode:1", UNREACHABLE, true },
    { "icode:0", UDP4, false },
    { "icmp_id:666", ECHO, true },
    { "icmp_id:\"666\"", ECHO, true },
    { "icmp_id:667", ECHO, false },
    { "icmp_id:0", UNREACHABLE, false },
    { "icmp_id:1", ECHO6, true },
    { "icmp_id:0", TCP_SYNC, false },
    { "icmp_seq:5", ECHO, true },
    { "icmp_seq:>4", ECHO, true },
    { "icmp_seq:65535", ECHO6, true },
    { "icmp_seq:0", UNREACHABLE, false },
    { "icmp_seq:0", UDP4, false },
    { "icmpv6.mtu:1280", TOO_BIG, true },
    { "icmpv6.mtu:<1280", TOO_BIG, false },
    { "icmpv6.mtu:1280", TOO_BIG_CODE, false },
    { "icmpv6.mtu:!1280", ECHO6, false },
    { "icmpv6.mtu:0", UNREACHABLE, false },
    { "igmp.type:0x22", IGMP4, true },
    { "igmp.type:!0x22", IGMP4, false },
    { "igmp.type:8", ECHO, false },
    { "decode-event:ipv4.unknown_protocol", IP_RESERVED, true },
    { "decode-event:ipv4.unknown_protocol", TCP_SYNC, false },
    { "decode-event:arp.unsupported_opcode", ARP4, true },
    { "engine-event:ipv6.exthdr_useless_fh", ATOMIC6, true },
    { "ipv4-csum:valid", TCP_SYNC, true },
    { "ipv4-csum:invalid", TCP_SYNC, false },
    { "ipv4-csum:invalid", UDP4, true },
    { "ipv4-csum:\"INVALID\"", UDP4, true },
    { "ipv4-csum:valid", TCP6_RESET, false },
    { "ipv4-csum:valid", ARP4, false },
    { "tcpv4-csum:invalid", TCP_DATA, true },
    { "tcpv4-csum:valid", TCP_SYNC, true },
    { "tcpv4-csum:valid", TCP6_RESET, false },
    { "tcpv4-csum:invalid", UDP4, false },
    { "tcpv6-csum:valid", TCP6_RESET, true },
    { "tcpv6-csum:valid", TCP_SYNC, false },
    { "udpv4-csum:invalid", UDP4, true },
    { "udpv4-csum:invalid", UDP4_NO_CHECKSUM, false },
    { "udpv4-csum:valid", UDP4_NO_CHECKSUM, false },
    { "udpv4-csum:invalid", UDP6_BAD, false },
    { "udpv6-csum:invalid", UDP6_BAD, true },
    { "udpv6-csum:invalid", UDP4, false },
    { "icmpv4-csum:invalid", UNREACHABLE, true },
    { "icmpv4-csum:valid", ECHO, true },
    { "icmpv4-csum:invalid", ECHO6, false },
    { "icmpv6-csum:invalid", ECHO6, true },
    { "icmpv6-csum:valid", TOO_BIG, true },
    { "icmpv6-csum:valid", ECHO, false },
    { "igmp-csum:valid", IGMP4, true },
    { "igmp-csum:invalid", IGMP4, false },
    { "igmp-csum:valid", ECHO, false },
    { "vlan.id:100", TCP_SYNC, true },
    { "vlan.id:200", TCP_SYNC, true },
    { "vlan.id:300", TCP_SYNC, false },
    { "vlan.id:100,0", TCP_SYNC, true },
    { "vlan.id:100,1", TCP_SYNC, false },
    { "vlan.id:200,-1", TCP_SYNC, true },
    { "vlan.id:!300,2", TCP_SYNC, false },
    { "vlan.id:300,oob_or 2", TCP_SYNC, true },
    { "vlan.id:<300,all", TCP_SYNC, true },
    { "vlan.id:>100,all", TCP_SYNC, false },
    { "vlan.id:>100,any", TCP_SYNC, true },
    { "vlan.id:>0,all", TCP_DATA, false },
    { "vlan.id:>0,all_or_absent", TCP_DATA, true },
    { "vlan.id:100,or_absent", TCP_DATA, true },
    { "vlan.id:7,or_absent", TCP_SYNC, false },
    { "vlan.id:>1,nb 2", ARP4, true },
    { "vlan.id:>1,nb>2", ARP4, false },
    { "vlan.id:1,any,1:3", ARP4, false },
    { "vlan.id:2,any,1:3", ARP4, true },
    { "vlan.id:3,any,-1:0", ARP4, true },
    { "vlan.id:count 3", ARP4, true },
    { "vlan.id:count >3", ARP4, false },
    { "vlan.id:!5", TCP_DATA, false },
    { "vlan.layers:0", TCP_DATA, true },
    { "vlan.layers:2", TCP_SYNC, true },
    { "vlan.layers:>2", ARP4, true },
    { "vlan.layers:>2", TCP_SYNC, false },
    { "sctp.vtag:0x11223344", SCTP4, true },
    { "sctp.vtag:7", CUT_SCTP, true },
    { "sctp.vtag:!7", CUT_SCTP, false },
    { "sctp.vtag:!7", TCP_SYNC, false },
    { "sctp.chunk_cnt:3", SCTP4, true },
    { "sctp.chunk_cnt:1", CUT_SCTP, true },
    { "sctp.chunk_cnt:0", TCP_SYNC, false },
    { "sctp.chunk_type:data", SCTP4, true },
    { "sctp.chunk_type:SACK", SCTP4, true },
    { "sctp.chunk_type:init", SCTP4, false },
    { "sctp.chunk_type:init", CUT_SCTP, true },
    { "sctp.chunk_type:!init", CUT_SCTP, false },
    { "sctp.chunk_type:!data", SCTP4, true },
    { "sctp.chunk_type:<192", TCP_SYNC, false },
    { "prefilter", ARP4, true },
};

START_TEST(matches_as_the_field_has_it)
{
    const struct match_case *c = &match_cases[_i];
    const struct rule *rule = parse(c->option);

    diag_print(diag, stderr, false);
    ck_assert_uint_eq(diag_count(diag), 0);
    ck_assert_ptr_nonnull(rule);
    ck_assert_msg(matches(rule, &packets[c->packet]) == c->expected, "%s: expected %d", c->option, c->expected);
}
END_TEST

/* --- Errors --------------------------------------------------------------------------------------- */

static const struct {
    const char *option, *at; /* the error points at the last occurrence of `at` in the option */
} mistakes[] = {
    { "ttl:abc", "abc" },
    { "ttl:256", "256" },
    { "ttl:0x100", "0x100" },
    { "ttl:-1", "-1" },
    { "ttl:1kb", "1kb" },
    { "ttl:<0", "<0" },
    { "ttl:>255", ">255" },
    { "ttl:>=0", ">=0" },
    { "ttl:<=255", "<=255" },
    { "ttl:!<5", "!<5" },
    { "ttl:!>5", "!>5" },
    { "ttl:!", "" },
    { "ttl:>", "" },
    { "ttl:10-11", "10-11" },
    { "ttl:20-10", "20-10" },
    { "ttl:10-", "" },
    { "ttl:10-300", "300" },
    { "ttl:300-310", "300-" },
    { "ttl:&5", "5" },
    { "ttl:&0x0f=0x10", "0x10" },
    { "ttl:&0x1ff=0", "0x1ff" },
    { "ttl:5 6", "5 6" },
    { "ttl:5;ttl:x", "x" },
    { "tos:256", "256" },
    { "tos:x121", "x121" },
    { "tos:boom", "boom" },
    { "id:65537", "65537" },
    { "id:12what", "12what" },
    { "ipopts:invalid", "invalid" },
    { "ip_proto:256", "256" },
    { "ip_proto:nothing", "nothing" },
    { "fragbits:G", "G" },
    { "fragbits:MG", "G" },
    { "fragbits:+M*", "*" },
    { "fragbits:+", "+" },
    { "fragoffset:65536", "65536" },
    { "fragoffset:badc", "badc" },
    { "tcp.flags:G", "G" },
    { "tcp.flags:+S*", "*" },
    { "tcp.flags:S,", "" },
    { "tcp.flags:S,X", "X" },
    { "tcp.flags:S,12,A", "A" },
    { "tcp.flags:A,A", "A" },
    { "tcp.flags:0S", "0S" },
    { "tcp.flags:+0", "+0" },
    { "tcp.flags:0x100", "0x100" },
    { "tcp.seq:4294967296", "4294967296" },
    { "tcp.ack:-5", "-5" },
    { "tcp.window:1235402", "1235402" },
    { "tcp.window:64kb", "64kb" },
    { "tcp.mss:536-", "" },
    { "tcp.wscale:300", "300" },
    { "itype:> 8 <> 20", "> 8" },
    { "icode:256", "256" },
    { "icmp_id:65536", "65536" },
    { "icmp_seq:seq", "seq" },
    { "icmpv6.mtu:4294967296", "4294967296" },
    { "igmp.type:0x100", "0x100" },
    { "decode-event:ipv4.nothing", "ipv4.nothing" },
    { "engine-event:stream.3whs_nothing", "stream.3whs_nothing" },
    { "ipv4-csum:maybe", "maybe" },
    { "tcpv4-csum:maybe", "maybe" },
    { "vlan.id:4096", "4096" },
    { "vlan.id:200abc", "200abc" },
    { "vlan.id:600,abc", "abc" },
    { "vlan.id:600,100", "100" },
    { "vlan.id:123,-4", "-4" },
    { "vlan.id:1,any,2", "2" },
    { "vlan.id:1,any,2:1", "2:1" },
    { "vlan.id:1,any,0:2,4", "4" },
    { "vlan.id:count x", "x" },
    { "vlan.layers:4", "4" },
    { "sctp.vtag:tag", "tag" },
    { "sctp.chunk_type:unknown", "unknown" },
    { "sctp.chunk_cnt:65536", "65536" },
};

/* Returns the column (from 1) at which `at` begins in the line. */
static unsigned column_of(const char *option, const char *at)
{
    const char *found = option + strlen(option), *next = option;

    while (*at && (next = strstr(next, at))) {
        found = next;
        next++;
    }
    return (unsigned)(strlen(HEADER) + (size_t)(found - option) + 1);
}

START_TEST(points_at_the_mistake)
{
    ck_assert_ptr_null(parse(mistakes[_i].option));
    ck_assert_uint_eq(diag_errors(diag), 1);
    const struct diag_entry *entry = diag_get(diag, 0);

    ck_assert_msg(entry->column == column_of(mistakes[_i].option, mistakes[_i].at), "%s: column %u: %s",
                  mistakes[_i].option, entry->column, entry->message);
}
END_TEST

/* --- Buffers -------------------------------------------------------------------------------------- */

static const struct buffer_case {
    const char *name;
    enum packet_name packet;
    const uint8_t *expected; /* NULL: the packet does not have this buffer */
    uint32_t length;
} buffer_cases[] = {
    { "tcp.hdr", TCP_SYNC, AT(tcp_bytes, 34), 24 },
    { "tcp.hdr", TCP6_RESET, AT(tcp6_bytes, 40), 24 },
    { "tcp.hdr", UDP4, NULL, 0 },
    { "tcp.hdr", FRAGMENT4, NULL, 0 },
    { "udp.hdr", UDP4, AT(options_bytes, 24), 8 },
    { "udp.hdr", TCP_SYNC, NULL, 0 },
    { "udp.hdr", FRAGMENT4, NULL, 0 },
    { "ipv4.hdr", TCP_SYNC, AT(tcp_bytes, 14), 20 },
    { "ipv4.hdr", UDP4, options_bytes, 24 },
    { "ipv4.hdr", TCP6_RESET, NULL, 0 },
    { "ipv4.hdr", ARP4, NULL, 0 },
    { "ipv6.hdr", TCP6_RESET, tcp6_bytes, 40 },
    { "ipv6.hdr", FRAGMENT6, fragment6_bytes, 48 },
    { "ipv6.hdr", ATOMIC6, NULL, 0 }, /* its extension headers end past the packet */
    { "ipv6.hdr", TCP_SYNC, NULL, 0 },
    { "icmpv4.hdr", ECHO, AT(echo_bytes, 20), 8 },
    { "icmpv4.hdr", ADVERT, AT(advert_bytes, 20), 24 },
    { "icmpv4.hdr", CUT_ADVERT, AT(cut_advert_bytes, 20), 8 },
    { "icmpv4.hdr", TIME, AT(time_bytes, 20), 20 },
    { "icmpv4.hdr", TOO_BIG, NULL, 0 },
    { "icmpv4.hdr", TCP_SYNC, NULL, 0 },
    { "icmpv6.hdr", TOO_BIG, AT(too_big_bytes, 40), 8 },
    { "icmpv6.hdr", ECHO, NULL, 0 },
    { "igmp.hdr", IGMP4, AT(igmp_bytes, 20), 8 },
    { "igmp.hdr", ECHO, NULL, 0 },
    { "ether.hdr", TCP_SYNC, tcp_bytes, 14 },
    { "ether.hdr", ARP4, arp_bytes, 14 },
    { "ether.hdr", ECHO, NULL, 0 },
    { "sctp.hdr", SCTP4, AT(sctp_bytes, 20), sizeof(sctp_bytes) - 20 },
    { "sctp.hdr", TCP_SYNC, NULL, 0 },
    { "sctp.chunk_data", SCTP4, AT(sctp_bytes, 56), 5 },
    { "sctp.chunk_data", CUT_SCTP, NULL, 0 },
    { "sctp.chunk_data", TCP_SYNC, NULL, 0 },
};

START_TEST(lends_the_header)
{
    const struct buffer_case *c = &buffer_cases[_i];
    const struct keyword *keyword = keyword_table_find(keywords, span_of(c->name));
    struct match_input in = { .packet = &packets[c->packet] };
    uint32_t length = 0;

    ck_assert_ptr_nonnull(keyword);
    ck_assert_int_eq(keyword->kind, KEYWORD_BUFFER);
    ck_assert_ptr_eq(keyword->buffer.get(&in, &length), c->expected);
    if (c->expected)
        ck_assert_uint_eq(length, c->length);
}
END_TEST

START_TEST(selects_the_buffer)
{
    char option[64];

    snprintf(option, sizeof(option), "%s; content:\"x\"", buffer_cases[_i].name);
    const struct rule *rule = parse(option);

    ck_assert_ptr_nonnull(rule);
    ck_assert_ptr_nonnull(rule->buffers);
    ck_assert_str_eq(rule->buffers->keyword->name, buffer_cases[_i].name);
    ck_assert_ptr_nonnull(rule->buffers->conditions);
}
END_TEST

/* --- The whole ------------------------------------------------------------------------------------ */

static const char *const event_options[] = { "decode-event:tcp.pkt_too_small", "engine-event:tcp.pkt_too_small" };

START_TEST(names_the_event_without_which_it_cant_hold)
{
    const struct rule *rule = parse(event_options[_i]);
    const struct condition *condition = rule->packet_conditions;

    ck_assert_int_eq(condition->keyword->hints->event(condition->data), DECODE_EVENT_TCP_PKT_TOO_SMALL);
}
END_TEST

static const char *const checksum_keywords[] = { "ipv4-csum",  "tcpv4-csum",  "tcpv6-csum",  "udpv4-csum",
                                                 "udpv6-csum", "icmpv4-csum", "icmpv6-csum", "igmp-csum" };

START_TEST(asks_for_checksums)
{
    const struct keyword *keyword = keyword_table_find(keywords, span_of(checksum_keywords[_i]));

    ck_assert_ptr_nonnull(keyword);
    ck_assert_uint_ne(keyword->flags & KEYWORD_NEEDS_CHECKSUMS, 0);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("keyword_header");
    TCase *tc = tcase_create("header");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_loop_test(tc, matches_as_the_field_has_it, 0, COUNT(match_cases));
    tcase_add_loop_test(tc, points_at_the_mistake, 0, COUNT(mistakes));
    tcase_add_loop_test(tc, lends_the_header, 0, COUNT(buffer_cases));
    tcase_add_loop_test(tc, selects_the_buffer, 0, COUNT(buffer_cases));
    tcase_add_loop_test(tc, names_the_event_without_which_it_cant_hold, 0, COUNT(event_options));
    tcase_add_loop_test(tc, asks_for_checksums, 0, COUNT(checksum_keywords));
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    SRunner *runner = srunner_create(suite());

    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
