/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checksums: valid packets, each byte of them changed in turn, and packets whose checksum is not verified. */
#include <netinet/in.h>

#include "packet_text.h"

enum { BAD_BOTH = PACKET_BAD_L3_CHECKSUM | PACKET_BAD_L4_CHECKSUM, NO_CHECKSUM = 0 };

/* Valid packets; their checksums were computed by other programs. */
static const struct {
    const char *text;
    uint16_t transport; /* expected checksum */
} rows[] = {
    /* UDP over IPv4, odd length */
    { "4500001f 00010000 4011 66cb 0a000001 0a000002 3039 0050 000b f6e9 616263", 0xf6e9 },
    /* the same without a checksum, which is valid */
    { "4500001f 00010000 4011 66cb 0a000001 0a000002 3039 0050 000b 0000 616263", 0xf6e9 },
    { "45000028 00010000 4006 66cd 0a000001 0a000002 3039 0050 00000001 00000002 5010 0100 6a46 0000", 0x6a46 },
    { "4500001c 00010000 4001 66de 0a000001 0a000002 0800 f7fb 0001 0003", 0xf7fb },
    { "4600002000010000 0102 3ac0 0a000001 e0000016 94040000 1600 09ff e0000000", 0x09ff },
};

enum { ROW_COUNT = sizeof(rows) / sizeof(rows[0]) };

static uint32_t bad_flags(struct packet *pkt)
{
    decode_check_checksums(pkt);
    return pkt->flags & BAD_BOTH;
}

START_TEST(accepts_right_packets)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, rows[_i].text);
    ck_assert_msg(bad_flags(&decoding.packet) == 0, "row %d: flags %x, transport should be %04x", _i,
                  decoding.packet.flags, decode_transport_checksum(&decoding.packet));
    ck_assert_msg(decode_transport_checksum(&decoding.packet) == rows[_i].transport, "row %d: %04x", _i,
                  decode_transport_checksum(&decoding.packet));
    decoding_close(&decoding);
}
END_TEST

/* A changed byte invalidates the checksum of the IP header or the transport, or changes the kind of packet. */
START_TEST(notices_every_byte)
{
    uint8_t bytes[PACKET_TEXT_MAX];
    size_t length = packet_from_text(rows[_i].text, bytes);
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    for (size_t i = 0; i < length; i++) {
        bytes[i] ^= 0x10;
        decoding_bytes(&decoding, LINK_RAW, bytes, length);
        bytes[i] ^= 0x10;
        struct packet *pkt = &decoding.packet;
        bool unchecked = pkt->protocol == IPPROTO_UDP && pkt->udp.checksum == 0 && i >= 20;

        if (pkt->ip_version == 4 && pkt->transport && !unchecked)
            ck_assert_msg(bad_flags(pkt) != 0, "row %d: byte %zu", _i, i);
    }
    decoding_close(&decoding);
}
END_TEST

/* A packet with the checksum that decode computes is valid, also over IPv6, for every protocol with a checksum. */
static const struct {
    const char *text;
    unsigned offset; /* offset of the checksum in the transport header */
} filled_rows[] = {
    { IP4("11") UDP, 6 },
    { IP4("11") UDP "6162636465", 6 },
    { IP4("06") TCP_HEADER("60") "020405b4 61", 16 },
    { IP4("01") "0000000000000000", 2 },
    { IP4("02") "11000000 e0000001 0000 0001 0a000001", 2 },
    { IP6("11") UDP "6162636465666768 69", 6 },
    { IP6("06") TCP "61", 16 },
    { IP6("3a") "8000000000010002 616263", 2 },
    { IP6("00") "3a00050200000000 8000000000010002 616263", 2 },
};

START_TEST(fills_in_what_it_accepts)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, filled_rows[_i].text);
    struct packet *pkt = &decoding.packet;
    uint16_t checksum = decode_transport_checksum(pkt);
    uint8_t *field = decoding.bytes + (pkt->transport - pkt->data) + filled_rows[_i].offset;

    ck_assert_uint_ne(checksum, 0);
    field[0] = (uint8_t)(checksum >> 8);
    field[1] = (uint8_t)checksum;
    decode_packet(decoding.decoder, pkt, decoding.found);
    ck_assert_uint_eq(bad_flags(pkt) & PACKET_BAD_L4_CHECKSUM, 0);
    ck_assert_uint_eq(decode_transport_checksum(pkt), checksum);
    field[1] ^= 1;
    decode_packet(decoding.decoder, pkt, decoding.found);
    ck_assert_uint_ne(bad_flags(pkt) & PACKET_BAD_L4_CHECKSUM, 0);
    decoding_close(&decoding);
}
END_TEST

static const struct {
    const char *text;
    uint32_t flags; /* flags that the capture sets */
    uint32_t bad;
} flag_rows[] = {
    { IP4("06") TCP, 0, BAD_BOTH },
    { IP4("06") TCP, PACKET_CHECKSUM_NOT_READY, PACKET_BAD_L3_CHECKSUM },
    { IP4("06") TCP, PACKET_TRUNCATED, 0 },
    { IP6("06") TCP, 0, PACKET_BAD_L4_CHECKSUM },
    { IP6("06") TCP, PACKET_CHECKSUM_NOT_READY, 0 },
    { "45000024 00072000 40110000 0a000001 0a000002 30390050 0020 1234 6162636465666768", 0, PACKET_BAD_L3_CHECKSUM },
    { IP6("2b") "0602040100000000" IP6_TO TCP, 0,
      0 }, /* the checksum covers the final destination of the routing header */
    { IP6("2b") "0602040000000000" IP6_TO TCP, 0, PACKET_BAD_L4_CHECKSUM },
    { IP6("11") UDP, 0, PACKET_BAD_L4_CHECKSUM }, /* a checksum of 0 is invalid over IPv6 */
    { IP6("11") UDP_PORTS("3039", "12b5") "08000000 00000100" ETH("0800") IP4("11") UDP, 0,
      0 }, /* except for tunnels */
    { IP6("84") "30390050 00000001 00000000", 0, 0 },
    { IP6("32") "00000001 00000002", 0, 0 },
    { "4500", 0, 0 },
};

START_TEST(leaves_out_what_cannot_be_checked)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, flag_rows[_i].text);
    decoding.packet.flags = flag_rows[_i].flags;
    decode_packet(decoding.decoder, &decoding.packet, decoding.found);
    ck_assert_msg(bad_flags(&decoding.packet) == flag_rows[_i].bad, "row %d", _i);
    decoding_close(&decoding);
}
END_TEST

START_TEST(has_none_for_others)
{
    struct decoding decoding;

    decoding_open(&decoding, NULL);
    decoding_text(&decoding, LINK_RAW, IP4("84") "30390050 00000001 00000000");
    ck_assert_uint_eq(decode_transport_checksum(&decoding.packet), NO_CHECKSUM);
    decoding_text(&decoding, LINK_RAW, "4500");
    ck_assert_uint_eq(decode_transport_checksum(&decoding.packet), NO_CHECKSUM);
    decoding_close(&decoding);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decode checksums");
    TCase *tcase = tcase_create("checksums");
    SRunner *runner;

    tcase_add_loop_test(tcase, accepts_right_packets, 0, ROW_COUNT);
    tcase_add_loop_test(tcase, notices_every_byte, 0, ROW_COUNT);
    tcase_add_loop_test(tcase, fills_in_what_it_accepts, 0, sizeof(filled_rows) / sizeof(filled_rows[0]));
    tcase_add_loop_test(tcase, leaves_out_what_cannot_be_checked, 0, sizeof(flag_rows) / sizeof(flag_rows[0]));
    tcase_add_test(tcase, has_none_for_others);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
