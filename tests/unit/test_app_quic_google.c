/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Google's QUIC: packets with public and long headers, CHLO messages, and their fingerprint. */
#include <check.h>

#include "app_rig.h"
#include "sluice/hex.h"
#include "tls_builder.h"

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

static struct app_rig *rig_new(void)
{
    struct app_rig *rig = app_rig_new("quic", NULL);

    rig->flow.server_port = 443;
    return rig;
}

static void assert_log(struct app_rig *rig, uint64_t id, const char *part)
{
    const char *json = app_rig_json(rig, id);

    ck_assert_msg(json && strstr(json, part), "transaction %u is %s, without %s", (unsigned)id, json, part);
}

static void assert_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                          const char *value)
{
    struct app_bytes bytes;

    ck_assert_msg(app_rig_buffer(rig, id, keyword, direction, 0, &bytes), "%s is not there", keyword);
    ck_assert_msg(bytes.length == strlen(value) && memcmp(bytes.bytes, value, bytes.length) == 0,
                  "%s is '%.*s', not '%s'", keyword, (int)bytes.length, bytes.bytes, value);
}

/* A CHLO with PAD, SNI, VER, CCS, UAID and PDMD. */
static void put_chlo(struct bytes *out)
{
    static const struct {
        const char *tag, *value;
    } entries[] = { { "PAD\0", "----" }, { "SNI\0", "www.example.com" }, { "VER\0", "Q046" },
                    { "CCS\0", "c" },    { "UAID", "Sluice/1.0" },       { "PDMD", "X509" } };
    uint32_t end = 0;

    put_bytes(out, "CHLO", 4);
    put_u8(out, ROWS(entries));
    put_bytes(out, "\0\0\0", 3);
    for (size_t i = 0; i < ROWS(entries); i++) {
        end += (uint32_t)strlen(entries[i].value);
        put_bytes(out, entries[i].tag, 4);
        put_u8(out, end);
        put_bytes(out, "\0\0\0", 3);
    }
    for (size_t i = 0; i < ROWS(entries); i++)
        put_bytes(out, entries[i].value, strlen(entries[i].value));
}

static const struct {
    const char *header; /* up to the packet number, in hexadecimal */
    const char *version, *cyu;
    uint8_t frames[16]; /* frames before the CHLO */
    size_t length;
} google[] = {
    { "0d000102030405060751303339"
      "01",
      "Q039",
      "39,PAD-SNI-VER-CCS-UAID-PDMD",
      { 0x07 },
      1 },
    { "09000102030405060751303433"
      "01",
      "Q043",
      "43,PAD-SNI-VER-CCS-UAID-PDMD",
      { 0x06, 0x01, 0x40, 0x05, 0x00, 0x10, 0x01, 0x00 },
      8 },
    { "ff513034345005cad2cc06c4d0e4"
      "00000001",
      "Q044",
      "44,PAD-SNI-VER-CCS-UAID-PDMD",
      { 0x07 },
      0 },
    { "ff513034355005cad2cc06c4d0e4"
      "00000001",
      "Q045",
      "44,PAD-SNI-VER-CCS-UAID-PDMD",
      { 0x07 },
      0 },
    { "c3513034365005cad2cc06c4d0e4"
      "00000001",
      "Q046",
      "46,PAD-SNI-VER-CCS-UAID-PDMD",
      { 0x65, 0x00, 0x05, 0, 0, 0x01, 0x00, 0x05, 0x01, 0x00, 0x02, 0x01, 0x00 },
      0 },
};

START_TEST(google_hellos_are_parsed)
{
    static struct bytes datagram;
    struct app_rig *rig = rig_new();
    struct app_bytes bytes;
    size_t length = strlen(google[_i].header) / 2, stream;
    uint8_t byte;

    datagram.length = 0;
    for (size_t i = 0; i < length; i++) {
        ck_assert(hex_byte(google[_i].header + 2 * i, &byte));
        put_u8(&datagram, byte);
        if (i == 12 && google[_i].header[1] == 'd') /* the nonce after the version */
            for (unsigned k = 0; k < 32; k++)
                put_u8(&datagram, k);
    }
    put_bytes(&datagram, "hash-hash-12", 12);
    put_bytes(&datagram, google[_i].frames, google[_i].length);
    put_bytes(&datagram, "\xa0\x01", 2); /* STREAM 1 with a length */
    stream = open_vector(&datagram, 2);
    put_chlo(&datagram);
    close_vector(&datagram, stream, 2);
    put_bytes(&datagram, "\0\0\0", 3);
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    ck_assert_str_eq(app_rig_protocol(rig), "quic");
    assert_buffer(rig, 0, "quic.version", FLOW_TO_SERVER, google[_i].version);
    assert_buffer(rig, 0, "quic.sni", FLOW_TO_SERVER, "www.example.com");
    assert_buffer(rig, 0, "quic.ua", FLOW_TO_SERVER, "Sluice/1.0");
    assert_buffer(rig, 0, "quic.cyu.string", FLOW_TO_SERVER, google[_i].cyu);
    ck_assert(app_rig_buffer(rig, 0, "quic.cyu.hash", FLOW_TO_SERVER, 0, &bytes) && bytes.length == 32);
    ck_assert(!app_rig_buffer(rig, 0, "ja3.string", FLOW_TO_SERVER, 0, &bytes));
    assert_log(rig, 0, google[_i].version);
    assert_log(rig, 0, "\"sni\":\"www.example.com\",\"ua\":\"Sluice/1.0\",\"cyu\":[{\"hash\":\"");
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* The fingerprint of a published CHLO. */
START_TEST(cyu_hash_is_that_of_others)
{
    static const char tags[] = "PAD\0SNI\0VER\0CCS\0PDMDICSLMIDSCFCWSFCW";
    static struct bytes datagram;
    struct app_rig *rig = rig_new();

    datagram.length = 0;
    put_bytes(&datagram, "\x09\0\x01\x02\x03\x04\x05\x06\x07Q043\x01hash-hash-12\x80\x01", 28);
    put_bytes(&datagram, "CHLO\x09\0\0\0", 8);
    for (unsigned i = 0; i < 9; i++) {
        put_bytes(&datagram, tags + 4 * i, 4);
        put_bytes(&datagram, "\0\0\0\0", 4);
    }
    app_rig_send(rig, FLOW_TO_SERVER, datagram.at, datagram.length);
    assert_buffer(rig, 0, "quic.cyu.string", FLOW_TO_SERVER, "43,PAD-SNI-VER-CCS-PDMD-ICSL-MIDS-CFCW-SFCW");
    assert_buffer(rig, 0, "quic.cyu.hash", FLOW_TO_SERVER, "e030dea1f2eea44ac7db5fe4de792acd");
    app_rig_free(rig);
}
END_TEST

/* A value beyond the message. */
START_TEST(broken_chlo_has_event)
{
    struct app_rig *rig = rig_new();

    app_rig_send(rig, FLOW_TO_SERVER,
                 "\x09\0\x01\x02\x03\x04\x05\x06\x07Q043\x01hash-hash-12\x80\x01"
                 "CHLO\x01\0\0\0SNI\0\xff\0\0\0abc",
                 28 + 19);
    ck_assert(app_rig_has_event(rig, 0, "error_on_data"));
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_quic_google");
    TCase *tests = tcase_create("google");
    SRunner *runner;
    int failed;

    tcase_add_loop_test(tests, google_hellos_are_parsed, 0, ROWS(google));
    tcase_add_test(tests, cyu_hash_is_that_of_others);
    tcase_add_test(tests, broken_chlo_has_event);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}
