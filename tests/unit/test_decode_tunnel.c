/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tunnels: inner packets and their order, references between packets, depth, options, reassembly. */
#include <netinet/in.h>

#include "default_options.h"
#include "packet_text.h"

#define INNER4 IP4("11") UDP "61"
#define INNER6 IP6("11") UDP "61"
#define GRE(type) IP4("2f") "0000" type
#define VXLAN(flags) IP4("11") UDP_PORTS("3039", "12b5") flags "000100 00"

/* One packet inside another. */
static const struct {
    const char *text;
    enum packet_source source;
    uint8_t ip_version; /* IP version of the inner packet */
    uint8_t vlan_count;
    uint16_t offset; /* offset of the inner packet */
    const char *counter;
} rows[] = {
    { IP4("04") INNER4, PACKET_SOURCE_IPV4, 4, 0, 20, "ipv4_in_ipv4" },
    { IP4("29") INNER6, PACKET_SOURCE_IPV4, 6, 0, 20, "ipv6_in_ipv4" },
    { IP6("04") INNER4, PACKET_SOURCE_IPV6, 4, 0, 40, "ipv4_in_ipv6" },
    { IP6("29") INNER6, PACKET_SOURCE_IPV6, 6, 0, 40, "ipv6_in_ipv6" },
    { IP6("3c") "2900040100000000" INNER6, PACKET_SOURCE_IPV6, 6, 0, 48, "ipv6_in_ipv6" }, /* as Linux sends it */
    { IP6("2f") "00000800" INNER4, PACKET_SOURCE_GRE, 4, 0, 44, "gre" },
    { GRE("0800") INNER4, PACKET_SOURCE_GRE, 4, 0, 24, "gre" },
    { GRE("86dd") INNER6, PACKET_SOURCE_GRE, 6, 0, 24, "gre" },
    { IP4("2f") "b0000800 00000000 00000007 00000001" INNER4, PACKET_SOURCE_GRE, 4, 0, 36, "gre" },
    { IP4("2f") "40000800 00000000 08000004 0a000003 00000000" INNER4, PACKET_SOURCE_GRE, 4, 0, 40, "gre" },
    { GRE("6558") ETH("0800") INNER4, PACKET_SOURCE_GRE, 4, 0, 24, "ethernet" },
    { GRE("8100") "0007 0800" INNER4, PACKET_SOURCE_GRE, 4, 1, 24, "vlan" },
    { GRE("880b") "ff030021" INNER4, PACKET_SOURCE_GRE, 4, 0, 24, "ppp" },
    { IP4("2f") "3081880b 00210001 00000001 00000002 21" INNER4, PACKET_SOURCE_GRE, 4, 0, 36, "ppp" },
    { GRE("88be") ETH("0800") INNER4, PACKET_SOURCE_ERSPAN, 4, 0, 24, "erspan" },
    { IP4("2f") "100088be 00000001 10070000 00000000" ETH("0800") INNER4, PACKET_SOURCE_ERSPAN, 4, 1, 28, "erspan" },
    { IP4("2f") "100088be 00000001 10000000 00000000" ETH("0800") INNER4, PACKET_SOURCE_ERSPAN, 4, 0, 28, "erspan" },
    { IP4("2f") "100022eb 00000001 20070000 00000000 00000000" ETH("0800") INNER4, PACKET_SOURCE_ERSPAN, 4, 1, 28,
      "erspan" },
    { IP4("2f") "100022eb 00000001 20070000 00000000 00000001 0000000000000000" ETH("0800") INNER4,
      PACKET_SOURCE_ERSPAN, 4, 1, 28, "erspan" },
    { VXLAN("08000000") ETH("0800") INNER4, PACKET_SOURCE_VXLAN, 4, 0, 50, "vxlan" },
    { VXLAN("0c000003") ETH("0800") INNER4, PACKET_SOURCE_VXLAN, 4, 0, 50, "vxlan" }, /* reserved bits */
    { VXLAN("08000000") ETH("86dd") INNER6, PACKET_SOURCE_VXLAN, 6, 0, 50, "vxlan" },
    { VXLAN("08000000") ETH("8100") "0009 0800" INNER4, PACKET_SOURCE_VXLAN, 4, 1, 50, "vxlan" },
    { IP4("11") UDP_PORTS("3039", "17c1") "00000800 00000100" INNER4, PACKET_SOURCE_GENEVE, 4, 0, 36, "geneve" },
    { IP4("11") UDP_PORTS("17c1", "3039") "000086dd 00000100" INNER6, PACKET_SOURCE_GENEVE, 6, 0, 36, "geneve" },
    { IP4("11") UDP_PORTS("3039", "17c1") "03006558 00000100 01080001 11111111 01080000" ETH("0800") INNER4,
      PACKET_SOURCE_GENEVE, 4, 0, 48, "geneve" },
    { IP4("11") UDP_PORTS("3039", "0868") "30ff001d 00000007" INNER4, PACKET_SOURCE_GTP, 4, 0, 36, "gtp" },
    { IP4("11") UDP_PORTS("0868", "3039") "30ff0031 00000007" INNER6, PACKET_SOURCE_GTP, 6, 0, 36, "gtp" },
    { IP4("11") UDP_PORTS("3039", "0868") "32ff0021 00000007 00010000" INNER4, PACKET_SOURCE_GTP, 4, 0, 40, "gtp" },
    { IP4("11") UDP_PORTS("3039", "0868") "34ff002d 00000007 00000085 01100040 02c00000 00000000" INNER4,
      PACKET_SOURCE_GTP, 4, 0, 52, "gtp" },
    { IP4("11") UDP_PORTS("3039", "0dd8") INNER6, PACKET_SOURCE_TEREDO, 6, 0, 28, "teredo" },
    { IP4("11") UDP_PORTS("0dd8", "3039") "0000 1234 0a000003" INNER6, PACKET_SOURCE_TEREDO, 6, 0, 36, "teredo" },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

START_TEST(finds_the_packet_inside)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, rows[_i].text);
    ck_assert_msg(decoding.count == 2, "row %d: %zu packets", _i, decoding.count);
    const struct packet *inner = decoding.found[0], *outer = decoding.found[1];

    ck_assert_ptr_eq(outer, &decoding.packet);
    ck_assert_uint_eq(outer->flags & (PACKET_CARRIES_TUNNEL | PACKET_TUNNELED | PACKET_MALFORMED),
                      PACKET_CARRIES_TUNNEL);
    ck_assert_uint_eq(inner->flags & (PACKET_CARRIES_TUNNEL | PACKET_TUNNELED | PACKET_MALFORMED), PACKET_TUNNELED);
    ck_assert_ptr_eq(inner->outer, outer);
    ck_assert_ptr_eq(inner->root, outer);
    ck_assert_uint_eq(inner->tunnel_depth, 1);
    ck_assert_uint_eq(outer->tunnel_depth, 0);
    ck_assert_msg(inner->source == rows[_i].source, "row %d: source %d", _i, inner->source);
    ck_assert_uint_eq(inner->ip_version, rows[_i].ip_version);
    ck_assert_uint_eq(inner->vlan_count, rows[_i].vlan_count);
    ck_assert_uint_eq(inner->destination_port, 80);
    ck_assert_uint_eq(inner->payload_length, 1);
    ck_assert_uint_eq(*inner->payload, 'a');
    ck_assert_msg(inner->data == decoding.bytes + rows[_i].offset, "row %d: begins at %td", _i,
                  inner->data - decoding.bytes);
    ck_assert_ptr_eq(inner->data + inner->length, decoding.bytes + decoding.packet.length);
    ck_assert_uint_eq(decoding_counter(&decoding, rows[_i].counter), 1);
    ck_assert_uint_eq(decoding_counter(&decoding, "pkts"), 1);
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
            decoding_bytes(&decoding, LINK_RAW, bytes, cut);
            ck_assert_uint_le(decoding.count, 2);
        }
    }
    decoding_close(&decoding);
}
END_TEST

/* Packets that look like tunnels but have no valid inner packet, with the length of the payload that is inspected
 * instead. */
static const struct {
    const char *text;
    uint32_t payload_length;
    const char *events_counter; /* a counter that must be 1; NULL: no event */
} lone_rows[] = {
    { IP4("04") "4500001500000000 40110000 0a000001 0a000002", 20, NULL }, /* inner packet truncated */
    { GRE("86dd") "60000000", 4, NULL },
    { GRE("1234") "6162", 2, NULL },
    { GRE("0806") "0001", 2, NULL },
    { IP4("2f") "2001880b 00000001", 0, NULL }, /* PPTP acknowledgment without payload */
    { VXLAN("00000000") ETH("0800") INNER4, 51, NULL },
    { VXLAN("08000000") ETH("0806") "0001", 24, NULL },
    { VXLAN("08000000") "020000", 11, NULL },
    { VXLAN("08000000") ETH("88cc") "0001", 24, "event.vxlan.unknown_payload_type" },
    { IP4("11") UDP_PORTS("12b5", "3039") "08000000 00000100" ETH("0800") INNER4, 51,
      NULL },                                                                     /* from the VXLAN port, not to it */
    { IP4("11") UDP_PORTS("3039", "17c1") "40000800 00000100" INNER4, 37, NULL }, /* version 1 */
    { IP4("11") UDP_PORTS("3039", "17c1") "00010800 00000100" INNER4, 37, NULL }, /* reserved flag */
    { IP4("11") UDP_PORTS("3039", "17c1") "01000800 00000100 01080001" INNER4, 41, NULL }, /* option too long */
    { IP4("11") UDP_PORTS("3039", "17c1") "00000806 00000100", 8, NULL },
    { IP4("11") UDP_PORTS("3039", "0868") "3001001d 00000007" INNER4, 37, NULL }, /* GTP-U's echo request */
    { IP4("11") UDP_PORTS("3039", "0868") "48ff001d 00000007" INNER4, 37, NULL }, /* version 2 */
    { IP4("11") UDP_PORTS("3039", "0868") "20ff001d 00000007" INNER4, 37, NULL }, /* GTP' */
    { IP4("11") UDP_PORTS("3039", "0868") "30ff001e 00000007" INNER4, 37, NULL }, /* longer than the datagram */
    { IP4("11") UDP_PORTS("3039", "0868") "34ff0021 00000007 00000085" INNER4, 41, NULL }, /* extension too long */
    { IP4("11") UDP_PORTS("3039", "0868") "34ff0025 00000007 00000085 00000000" INNER4, 45, NULL }, /* of length 0 */
    { IP4("11") UDP_PORTS("3039", "0868") "30ff0004 00000007 ff030021", 12, NULL },                 /* PPP */
    { IP4("11") UDP_PORTS("3039", "0dd8") "60000000 0008 1140" IP6_FROM IP6_TO "30390050 0008 0000 00", 49,
      NULL }, /* IPv6 payload length is shorter */
    { IP4("11") UDP_PORTS("3039", "0dd8") "{6 60000000 0000 11 00" IP6_FROM IP6_TO UDP, 48, NULL },
    { IP4("11") UDP_PORTS("3039", "0dd8") IP6("11") "30390050 0007 0000", 48, NULL }, /* inner packet invalid */
    { IP4("11") UDP_PORTS("3039", "0dd8") "0001 1234 0a000003" INNER6, 57, NULL },
};

START_TEST(leaves_the_carrier_alone)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, lone_rows[_i].text);
    ck_assert_msg(decoding.count == 1, "row %d: %zu packets", _i, decoding.count);
    ck_assert(!(decoding.packet.flags & PACKET_CARRIES_TUNNEL));
    ck_assert_msg(decoding.packet.payload_length == lone_rows[_i].payload_length, "row %d: payload of %u", _i,
                  decoding.packet.payload_length);
    ck_assert_uint_eq(decoding.packet.event_count, lone_rows[_i].events_counter ? 1 : 0);
    if (lone_rows[_i].events_counter)
        ck_assert_uint_eq(decoding_counter(&decoding, lone_rows[_i].events_counter), 1);
    decoding_close(&decoding);
}
END_TEST

START_TEST(finds_innermost_first)
{
    static const enum packet_source sources[] = { PACKET_SOURCE_IPV6, PACKET_SOURCE_VXLAN, PACKET_SOURCE_GRE,
                                                  PACKET_SOURCE_WIRE };
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_ETHERNET,
                  ETH("8100") "0003 0800" GRE("0800") VXLAN("08000000") ETH("86dd") IP6("04") INNER4);
    ck_assert_uint_eq(decoding.count, 4);
    for (size_t i = 0; i < decoding.count; i++) {
        const struct packet *pkt = decoding.found[i];

        ck_assert_uint_eq(pkt->source, sources[i]);
        ck_assert_uint_eq(pkt->tunnel_depth, 3 - i);
        ck_assert_ptr_eq(pkt->outer, i + 1 < decoding.count ? decoding.found[i + 1] : NULL);
        ck_assert_ptr_eq(pkt->root, &decoding.packet);
        ck_assert_uint_eq(pkt->vlan_count, pkt == &decoding.packet ? 1 : 0);
    }
    decoding_close(&decoding);
}
END_TEST

/* VXLAN in a mirrored frame (ERSPAN), and a mirrored frame in VXLAN. */
START_TEST(erspan_and_vxlan_nest)
{
    static const struct {
        const char *text;
        enum packet_source innermost, middle;
    } nested[] = {
        { GRE("88be") ETH("0800") VXLAN("08000000") ETH("0800") INNER4, PACKET_SOURCE_VXLAN, PACKET_SOURCE_ERSPAN },
        { VXLAN("08000000") ETH("0800") GRE("88be") ETH("0800") INNER4, PACKET_SOURCE_ERSPAN, PACKET_SOURCE_VXLAN },
    };
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, nested[_i].text);
    ck_assert_uint_eq(decoding.count, 3);
    ck_assert_int_eq(decoding.found[0]->source, nested[_i].innermost);
    ck_assert_int_eq(decoding.found[1]->source, nested[_i].middle);
    ck_assert_uint_eq(decoding.found[0]->destination_port, 80);
    ck_assert_uint_eq(*decoding.found[0]->payload, 'a');
    ck_assert_uint_eq(decoding_counter(&decoding, "erspan"), 1);
    ck_assert_uint_eq(decoding_counter(&decoding, "vxlan"), 1);
    decoding_close(&decoding);
}
END_TEST

START_TEST(hands_down_what_capture_says)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, IP4("04") INNER4);
    decoding.packet.flags = PACKET_CHECKSUM_NOT_READY | PACKET_GSO;
    decoding.packet.time_ns = 5;
    decoding.packet.number = 6;
    decoding.packet.meta.queue = 7;
    decoding.count = decode_packet(decoding.decoder, &decoding.packet, decoding.found);
    const struct packet *inner = decoding.found[0];

    ck_assert_uint_eq(inner->flags, PACKET_CHECKSUM_NOT_READY | PACKET_GSO | PACKET_TUNNELED);
    ck_assert(inner->time_ns == 5 && inner->number == 6 && inner->meta.queue == 7);
    decoding_close(&decoding);
}
END_TEST

/* As many inner packets as the layer limit allows: the outermost packet is one layer, each inner one two. */
START_TEST(stops_at_max_layers)
{
    char text[PACKET_TEXT_MAX] = "";
    struct decode_options options;
    struct decoding decoding;

    for (int i = 0; i < 40; i++)
        strcat(text, IP4("04"));
    decode_options_default(&options);
    options.max_layers = (unsigned)_i;
    decoding_open(&decoding, &options);
    text[strlen(IP4("04")) * 20] = '\0';
    decoding_text(&decoding, LINK_RAW, text);
    size_t want = _i < 2 ? 1 : (size_t)_i / 2;

    ck_assert_msg(decoding.count == want, "%d layers: %zu packets", _i, decoding.count);
    ck_assert(packet_has_event(decoding.found[0], DECODE_EVENT_TOO_MANY_LAYERS));
    ck_assert(decoding.found[0]->flags & PACKET_MALFORMED);
    ck_assert_uint_eq(decoding_counter(&decoding, "too_many_layers"), 1);
    ck_assert_uint_eq(decoding_counter(&decoding, "invalid"), decoding.count == 1);
    decoding_close(&decoding);
}
END_TEST

START_TEST(obeys_options)
{
    struct decode_options options;
    struct decoding decoding;

    decode_options_default(&options);
    options.teredo_enabled = options.vxlan_enabled = options.geneve_enabled = options.gtp_enabled = false;
    options.erspan_type1 = false;
    decoding_open(&decoding, &options);
    for (int i = 0; i < ROW_COUNT; i++) {
        bool off = rows[i].source == PACKET_SOURCE_TEREDO || rows[i].source == PACKET_SOURCE_VXLAN ||
                   rows[i].source == PACKET_SOURCE_GENEVE || rows[i].source == PACKET_SOURCE_GTP ||
                   strstr(rows[i].text, GRE("88be")) == rows[i].text;

        decoding_text(&decoding, LINK_RAW, rows[i].text);
        ck_assert_msg(decoding.count == (off ? 1 : 2), "row %d", i);
    }
    decoding_close(&decoding);
}
END_TEST

START_TEST(checks_reserved_bits_of_vxlan)
{
    struct decode_options options;
    struct decoding decoding;

    decode_options_default(&options);
    options.vxlan_permissive = false;
    decoding_open(&decoding, &options);
    decoding_text(&decoding, LINK_RAW, VXLAN("88000000") ETH("0800") INNER4);
    ck_assert_uint_eq(decoding.count, 1);
    decoding_text(&decoding, LINK_RAW, VXLAN("08000000") ETH("0800") INNER4);
    ck_assert_uint_eq(decoding.count, 2);
    decoding_close(&decoding);
}
END_TEST

START_TEST(knows_other_ports)
{
    struct decode_options options;
    struct decoding decoding;

    decode_options_default(&options);
    options.vxlan = (struct decode_ports){ .count = 2, .port = { 1, 80 } };
    options.teredo = (struct decode_ports){ .any = true };
    decoding_open(&decoding, &options);
    decoding_text(&decoding, LINK_RAW, VXLAN("08000000") ETH("0800") INNER4);
    ck_assert_uint_eq(decoding.count, 1);
    decoding_text(&decoding, LINK_RAW, IP4("11") UDP "88001234 00000101" ETH("0800") INNER4);
    ck_assert_uint_eq(decoding.count, 2);
    decoding_text(&decoding, LINK_RAW, IP4("11") UDP INNER6);
    ck_assert_uint_eq(decoding.count, 2);
    ck_assert_uint_eq(decoding.found[0]->source, PACKET_SOURCE_TEREDO);
    decoding_close(&decoding);
}
END_TEST

/* Decodes a datagram as if the packet just decoded had completed it. */
static size_t reassemble(struct decoding *decoding, struct packet *pkt, const struct packet *fragment, const char *text,
                         uint8_t bytes[PACKET_TEXT_MAX])
{
    memset(pkt, 0xff, sizeof(*pkt));
    pkt->data = bytes;
    pkt->length = pkt->wire_length = (uint32_t)packet_from_text(text, bytes);
    return decode_reassembled(decoding->decoder, pkt, fragment, decoding->found);
}

START_TEST(decodes_a_reassembled_datagram)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct decoding decoding;
    struct packet whole;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_ETHERNET,
                  ETH("8100") "0003 0800 45000018 00070002 40040000 0a000001 0a000002 00000000");
    decoding.packet.number = 9;
    ck_assert(decoding.packet.flags & PACKET_FRAGMENT);
    size_t count = reassemble(&decoding, &whole, &decoding.packet, IP4("04") INNER4, bytes);

    ck_assert_uint_eq(count, 2);
    ck_assert_ptr_eq(decoding.found[1], &whole);
    ck_assert_ptr_eq(decoding.found[0]->outer, &whole);
    ck_assert_ptr_eq(decoding.found[0]->root, &decoding.packet);
    ck_assert_ptr_eq(whole.root, &decoding.packet);
    ck_assert_ptr_null(whole.outer);
    ck_assert_uint_eq(whole.flags, PACKET_REASSEMBLED | PACKET_CARRIES_TUNNEL | PACKET_ETHERNET);
    ck_assert_uint_eq(whole.source, PACKET_SOURCE_DEFRAG);
    ck_assert_uint_eq(whole.number, 9);
    ck_assert(whole.vlan_count == 1 && whole.vlan_id[0] == 3);
    ck_assert_uint_eq(whole.verdict, VERDICT_ACCEPT);
    ck_assert_uint_eq(decoding_counter(&decoding, "pkts"), 1);
    decoding_close(&decoding);
}
END_TEST

START_TEST(reassembles_inside_a_tunnel)
{
    uint8_t bytes[PACKET_TEXT_MAX], more[PACKET_TEXT_MAX];
    struct decoding decoding;
    struct packet whole, again;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, GRE("86dd") IP6("2c") "2900 0008 00000007 0000000000000000");
    ck_assert_uint_eq(decoding.count, 2);
    const struct packet *fragment = decoding.found[0];

    ck_assert(fragment->flags & PACKET_FRAGMENT);
    ck_assert_uint_eq(reassemble(&decoding, &whole, fragment, IP6("29") INNER6, bytes), 2);
    ck_assert_ptr_eq(whole.outer, &decoding.packet);
    ck_assert_uint_eq(whole.flags & PACKET_TUNNELED, PACKET_TUNNELED);
    ck_assert_uint_eq(whole.tunnel_depth, 1);
    ck_assert_uint_eq(decoding.found[0]->tunnel_depth, 2);
    /* Earlier packets stay valid: the fragment, and the inner packet of the first datagram. */
    const struct packet *first = decoding.found[0];

    ck_assert_uint_eq(reassemble(&decoding, &again, fragment, IP6("29") INNER6, more), 2);
    ck_assert_ptr_ne(decoding.found[0], first);
    ck_assert(fragment->flags & PACKET_FRAGMENT);
    ck_assert_ptr_eq(first->outer, &whole);
    decoding_close(&decoding);
}
END_TEST

/* The number of inner packets is limited, also if one packet completes many datagrams. */
START_TEST(reassembly_is_bounded)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    struct decoding decoding;
    struct packet whole;
    size_t count = 2;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, "45000018 00070002 40040000 0a000001 0a000002 00000000");
    for (int i = 0; i < 100; i++)
        count = reassemble(&decoding, &whole, &decoding.packet, IP4("04") INNER4, bytes);
    ck_assert_uint_eq(count, 1);
    ck_assert(packet_has_event(&whole, DECODE_EVENT_TOO_MANY_LAYERS));
    decoding_close(&decoding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode tunnels");
    TCase *tcase = tcase_create("tunnels");
    SRunner *runner;

    tcase_add_loop_test(tcase, finds_the_packet_inside, 0, ROW_COUNT);
    tcase_add_test(tcase, survives_being_cut);
    tcase_add_loop_test(tcase, leaves_the_carrier_alone, 0, sizeof(lone_rows) / sizeof(lone_rows[0]));
    tcase_add_loop_test(tcase, stops_at_max_layers, 1, DECODE_MAX_LAYERS + 1);
    tcase_add_test(tcase, finds_innermost_first);
    tcase_add_loop_test(tcase, erspan_and_vxlan_nest, 0, 2);
    tcase_add_test(tcase, hands_down_what_capture_says);
    tcase_add_test(tcase, obeys_options);
    tcase_add_test(tcase, checks_reserved_bits_of_vxlan);
    tcase_add_test(tcase, knows_other_ports);
    tcase_add_test(tcase, decodes_a_reassembled_datagram);
    tcase_add_test(tcase, reassembles_inside_a_tunnel);
    tcase_add_test(tcase, reassembly_is_bounded);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
