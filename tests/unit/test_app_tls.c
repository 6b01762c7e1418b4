/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app_rig.h"
#include "tls_builder.h"
#include "tls_samples.h"

static const int cuts[] = { 0, 1, 3, 1000, -1 };
enum { CUT_COUNT = sizeof(cuts) / sizeof(cuts[0]) };

/* The limits of tls.md. */
enum { ALPN_MAX = 2048, SERVER_NAMES_MAX = 64, MESSAGE_MAX = 132 << 10 };

#define JA3_ALWAYS "app-layer.protocols.tls.ja3-fingerprints: yes\napp-layer.protocols.tls.ja4-fingerprints: yes\n"

static struct app_rig *rig_new(int cut, const char *yaml)
{
    struct app_rig *rig = app_rig_new("tls", yaml);

    rig->cut = cut;
    rig->flow.server_port = 443;
    return rig;
}

static void send_all(struct app_rig *rig, enum flow_direction direction, const struct bytes *bytes)
{
    app_rig_send(rig, direction, bytes->at, bytes->length);
}

static void clear(struct bytes *bytes)
{
    bytes->length = 0;
}

static void assert_buffer(const struct app_rig *rig, const char *keyword, enum flow_direction direction, unsigned index,
                          const char *value)
{
    struct app_bytes bytes;

    if (!value) {
        ck_assert_msg(!app_rig_buffer(rig, 0, keyword, direction, index, &bytes), "%s %u is there", keyword, index);
        return;
    }
    ck_assert_msg(app_rig_buffer(rig, 0, keyword, direction, index, &bytes), "%s %u is not there", keyword, index);
    ck_assert_msg(bytes.length == strlen(value) && memcmp(bytes.bytes, value, bytes.length) == 0,
                  "%s is '%.*s', not '%s'", keyword, (int)bytes.length, bytes.bytes, value);
}

/* --- A session of TLS 1.2 ------------------------------------------------------------------------- */

static void client_flight(struct bytes *out, size_t limit)
{
    static struct bytes extensions, hello;

    clear(&extensions);
    clear(&hello);
    clear(out);
    put_extension(&extensions, 0x1a1a, "", 0); /* GREASE */
    put_sni(&extensions, "www.example.com");
    put_extension(&extensions, 23, "", 0);
    put_number_extension(&extensions, 10, "2a2a,001d,0017");
    put_extension(&extensions, 11, "\x01\x00", 2);
    put_alpn(&extensions, "h2,http/1.1");
    put_number_extension(&extensions, 13, "0403,0804");
    put_client_hello(&hello, 0x0303, "0a0a,c02b,c02f,00ff", &extensions);
    put_records(out, 22, 0x0301, &hello, limit);
}

static void server_flight(struct bytes *out, size_t limit, bool wants_client)
{
    static const struct certificate_bytes chain[] = { { tls_leaf, sizeof(tls_leaf) },
                                                      { tls_root, sizeof(tls_root) },
                                                      { NULL, 0 } };
    static struct bytes extensions, messages;

    clear(&extensions);
    clear(&messages);
    clear(out);
    put_extension(&extensions, 0xff01, "\0", 1);
    put_alpn(&extensions, "http/1.1");
    put_server_hello(&messages, 0x0303, "other", 0xc02f, &extensions);
    put_certificates(&messages, chain);
    put_message(&messages, 12, "key", 3);
    if (wants_client)
        put_message(&messages, 13, "request", 7);
    put_message(&messages, 14, "", 0);
    put_records(out, 22, 0x0303, &messages, limit);
}

static void client_end(struct bytes *out, bool has_certificate)
{
    static const struct certificate_bytes chain[] = { { tls_client, sizeof(tls_client) }, { NULL, 0 } };
    static struct bytes content;

    clear(&content);
    clear(out);
    if (has_certificate)
        put_certificates(&content, chain);
    put_message(&content, 16, "key", 3);
    put_records(out, 22, 0x0303, &content, 16384);
    put_bytes(out, "\x14\x03\x03\x00\x01\x01", 6);
    put_bytes(out,
              "\x16\x03\x03\x00\x05"
              "\x01\x02\x03\x04\x05",
              10); /* encrypted */
}

#define SUBJECT                                                                                                        \
    "C=US, ST=WA, O=Ex\xc3\xa4mple, Inc., OU=A + serialNumber=77, OID(1.3.6.1.4.1.99999.7)=x, "                        \
    "CN=www.example.com, Email=a@example.com"
#define SERIAL "00:AB:01:CD:02:EF"
#define FINGERPRINT "48:2d:03:1d:57:2f:cf:98:2e:3c:dd:51:d4:22:23:b9:43:7c:b7:17"

static const char session_json[] =
    "{\"subject\":\"" SUBJECT "\",\"issuerdn\":\"C=DE, O=Test CA, CN=Root 1\",\"subjectaltname\":[\"www.example.com\","
    "\"*.example.net\",\"b@example.com\",\"https://example.com/"
    "\",\"192.0.2.1\",\"2001:db8::1\",\"CN=dir\",\"1.2.3.4\"],"
    "\"serial\":\"" SERIAL "\",\"fingerprint\":\"" FINGERPRINT "\",\"sni\":\"www.example.com\",\"version\":\"TLS 1.2\","
    "\"notbefore\":\"2023-01-02T03:04:05\",\"notafter\":\"2051-12-31T23:59:59\",\"ja4\":\"t12d0306h2_0e67c0ef781e_"
    "060f71bfff68\",\"client_alpns\":[\"h2\",\"http/1.1\"],"
    "\"server_alpns\":[\"http/1.1\"]}";

/* Record sizes: several messages in a record, a message in many records, and a message header in two records. */
static const size_t record_sizes[] = { 16384, 700, 100, 7, 3, 1 };

START_TEST(session_of_tls12)
{
    static struct bytes bytes;
    size_t limit = record_sizes[_i / CUT_COUNT];
    struct app_rig *rig = rig_new(cuts[_i % CUT_COUNT], NULL);

    client_flight(&bytes, limit);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert_str_eq(app_rig_protocol(rig), "tls");
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_SERVER), "client_hello_done");
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "server_in_progress");
    assert_buffer(rig, "tls.sni", FLOW_TO_SERVER, 0, "www.example.com");

    server_flight(&bytes, limit, false);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "server_handshake_done");
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_SERVER), "client_handshake_done");
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    ck_assert_str_eq(app_rig_json(rig, 0), session_json);

    client_end(&bytes, false);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert_str_eq(app_rig_json(rig, 0), session_json); /* and no event from encrypted records */
    ck_assert(!rig->failed && !rig->stop_stream);
    app_rig_close(rig);
    ck_assert_ptr_null(app_rig_json(rig, 1));
    app_rig_free(rig);
}
END_TEST

START_TEST(buffers_of_a_session)
{
    static struct bytes bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);
    struct app_bytes raw;

    client_flight(&bytes, 100);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    assert_buffer(rig, "tls.cert_subject", FLOW_TO_CLIENT, 0, NULL);
    server_flight(&bytes, 16384, false);
    send_all(rig, FLOW_TO_CLIENT, &bytes);

    assert_buffer(rig, "tls.alpn", FLOW_TO_SERVER, 0, "h2");
    assert_buffer(rig, "tls.alpn", FLOW_TO_SERVER, 1, "http/1.1");
    assert_buffer(rig, "tls.alpn", FLOW_TO_SERVER, 2, NULL);
    assert_buffer(rig, "tls.alpn", FLOW_TO_CLIENT, 0, "http/1.1");
    assert_buffer(rig, "tls.random", FLOW_TO_SERVER, 0, "@ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_");
    assert_buffer(rig, "tls.random_time", FLOW_TO_CLIENT, 0, "@ABC");
    assert_buffer(rig, "tls.random_bytes", FLOW_TO_CLIENT, 0, "DEFGHIJKLMNOPQRSTUVWXYZ[\\]^_");
    assert_buffer(rig, "ja3.string", FLOW_TO_SERVER, 0, "771,49195-49199-255,0-23-10-11-16-13,29-23,0");
    assert_buffer(rig, "ja3s.string", FLOW_TO_CLIENT, 0, "771,49199,65281-16");
    assert_buffer(rig, "tls.cert_subject", FLOW_TO_CLIENT, 0, SUBJECT);
    assert_buffer(rig, "tls.cert_issuer", FLOW_TO_CLIENT, 0, "C=DE, O=Test CA, CN=Root 1");
    assert_buffer(rig, "tls.cert_serial", FLOW_TO_CLIENT, 0, SERIAL);
    assert_buffer(rig, "tls.cert_fingerprint", FLOW_TO_CLIENT, 0, FINGERPRINT);
    assert_buffer(rig, "tls.subjectaltname", FLOW_TO_CLIENT, 7, "1.2.3.4");
    assert_buffer(rig, "tls.subjectaltname", FLOW_TO_CLIENT, 8, NULL);
    assert_buffer(rig, "tls.cert_subject", FLOW_TO_SERVER, 0, NULL);
    ck_assert(app_rig_buffer(rig, 0, "tls.certs", FLOW_TO_CLIENT, 1, &raw));
    ck_assert_uint_eq(raw.length, sizeof(tls_root));
    ck_assert_mem_eq(raw.bytes, tls_root, raw.length);
    assert_buffer(rig, "tls.certs", FLOW_TO_CLIENT, 2, NULL);
    app_rig_free(rig);
}
END_TEST

START_TEST(client_certificate)
{
    static struct bytes bytes;
    struct app_rig *rig =
        rig_new(cuts[_i], "eve.types.tls.custom: [subject, client, client_chain, client_certificate]\n");

    client_flight(&bytes, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    server_flight(&bytes, 16384, true);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false)); /* the client's certificate may still arrive */
    client_end(&bytes, true);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    assert_buffer(rig, "tls.cert_subject", FLOW_TO_SERVER, 0, "CN=client");
    ck_assert_ptr_nonnull(
        strstr(app_rig_json(rig, 0), "\"client\":{\"subject\":\"CN=client\",\"issuerdn\":\"C=DE, O=Test CA"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"notafter\":\"2024-01-01T00:00:00\",\"certificate\":\"MIHt"));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"chain\":[\"MIHt"));
    app_rig_free(rig);
}
END_TEST

/* --- Fingerprints: the examples of github.com/salesforce/ja3 and of JA4.md ------------------------ */

struct ja3_case {
    unsigned version;
    const char *ciphers; /* hexadecimal */
    const char *extensions, *groups;
    const char *string, *hash;
};

static const struct ja3_case ja3_cases[] = {
    { 0x0301, "002f,0035,0005,000a,c009,c00a,c013,c014,0032,0038,0013,0004", "0000,000a,000b", "0017,0018,0019",
      "769,47-53-5-10-49161-49162-49171-49172-50-56-19-4,0-10-11,23-24-25,0", "ada70206e40642a3e4461f35503241d5" },
    { 0x0301, "0004,0005,000a,0009,0064,0062,0003,0006,0013,0012,0063", NULL, NULL,
      "769,4-5-10-9-100-98-3-6-19-18-99,,,", "de350869b8c85de67a350c8d186f11e6" },
    { 0x0301, "0a0a,0004,0005,000a,0009,0064,0062,0003,0006,0013,0012,0063,fafa", "baba", NULL,
      "769,4-5-10-9-100-98-3-6-19-18-99,,,", "de350869b8c85de67a350c8d186f11e6" },
};

static void put_listed_extensions(struct bytes *out, const char *list, const char *groups)
{
    static struct bytes types;

    clear(&types);
    put_numbers(&types, list);
    for (size_t i = 0; i + 1 < types.length; i += 2) {
        unsigned type = (unsigned)types.at[i] << 8 | types.at[i + 1];

        if (type == 0)
            put_sni(out, "example.com");
        else if (type == 10)
            put_number_extension(out, 10, groups);
        else if (type == 11)
            put_extension(out, 11, "\x01\x00", 2);
        else
            put_extension(out, type, "", 0);
    }
}

START_TEST(ja3_of_the_specification)
{
    static struct bytes extensions, hello, bytes;
    const struct ja3_case *c = &ja3_cases[_i];
    struct app_rig *rig = rig_new(0, JA3_ALWAYS);
    char expected[256];

    clear(&extensions);
    clear(&hello);
    clear(&bytes);
    if (c->extensions)
        put_listed_extensions(&extensions, c->extensions, c->groups);
    put_client_hello(&hello, c->version, c->ciphers, c->extensions ? &extensions : NULL);
    put_records(&bytes, 22, 0x0301, &hello, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    assert_buffer(rig, "ja3.string", FLOW_TO_SERVER, 0, c->string);
    assert_buffer(rig, "ja3.hash", FLOW_TO_SERVER, 0, c->hash);
    snprintf(expected, sizeof(expected), "\"ja3\":{\"hash\":\"%s\",\"string\":\"%s\"}", c->hash, c->string);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), expected));
    app_rig_free(rig);
}
END_TEST

START_TEST(ja3s_of_a_server)
{
    static struct bytes extensions, messages, bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    clear(&extensions);
    clear(&messages);
    clear(&bytes);
    put_listed_extensions(&extensions, "ff01,0000,000b,0023,0005,0010", NULL);
    put_server_hello(&messages, 0x0301, "x", 47, &extensions);
    put_records(&bytes, 22, 0x0301, &messages, 16384);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    assert_buffer(rig, "ja3s.string", FLOW_TO_CLIENT, 0, "769,47,65281-0-11-35-5-16");
    assert_buffer(rig, "ja3s.hash", FLOW_TO_CLIENT, 0, "836ce314215654b5b1f85f97c73e506f");
    app_rig_free(rig);
}
END_TEST

START_TEST(ja4_of_the_specification)
{
    static struct bytes extensions, hello, bytes;
    struct app_rig *rig = rig_new(cuts[_i], JA3_ALWAYS);

    clear(&extensions);
    clear(&hello);
    clear(&bytes);
    put_listed_extensions(&extensions, "4a4a,001b,0000,0033", NULL);
    put_alpn(&extensions, "h2,http/1.1");
    put_listed_extensions(&extensions, "4469,0017,002d", NULL);
    put_number_extension(&extensions, 13, "0403,0804,0401,0503,0805,0501,0806,0601");
    put_listed_extensions(&extensions, "0005,0023,0012", NULL);
    put_extension(&extensions, 43, "\x06\xba\xba\x03\x04\x03\x03", 7);
    put_listed_extensions(&extensions, "ff01,000b,000a,0015,1a1a", "001d");
    put_client_hello(&hello, 0x0303, "8a8a,1301,1302,1303,c02b,c02f,c02c,c030,cca9,cca8,c013,c014,009c,009d,002f,0035",
                     &extensions);
    put_records(&bytes, 22, 0x0301, &hello, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    assert_buffer(rig, "ja4.hash", FLOW_TO_SERVER, 0, "t13d1516h2_8daaf6152771_e5627efa2ab1");
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"ja4\":\"t13d1516h2_8daaf6152771_e5627efa2ab1\""));
    app_rig_free(rig);
}
END_TEST

/* Events have the JA4 of the client hello unless the settings leave it out. */
START_TEST(ja4_in_events)
{
    static const struct {
        const char *settings;
        bool is_there;
    } events[] = {
        { NULL, true },
        { "eve: { types: { tls: { extended: no } } }", false },
        { "eve: { types: { tls: { extended: no, ja4: yes } } }", true },
        { "app-layer: { protocols: { tls: { ja4-fingerprints: no } } }", false },
    };

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        static struct bytes extensions, hello, bytes;
        struct app_rig *rig = rig_new(0, events[i].settings);

        clear(&extensions);
        clear(&hello);
        clear(&bytes);
        put_number_extension(&extensions, 13, "0403");
        put_client_hello(&hello, 0x0303, "1301", &extensions);
        put_records(&bytes, 22, 0x0301, &hello, 16384);
        send_all(rig, FLOW_TO_SERVER, &bytes);
        ck_assert_msg((strstr(app_rig_json(rig, 0), "\"ja4\":\"t12i010100_") != NULL) == events[i].is_there, "%s: %s",
                      events[i].settings, app_rig_json(rig, 0));
        app_rig_free(rig);
    }
}
END_TEST

/* The two characters of the first ALPN name, as JA4.md has them. */
static const struct {
    const char *name;
    const char *code;
} ja4_alpn_cases[] = {
    { "h2", "h2" },         { "http/1.1", "h1" },      { "b", "bb" },
    { "\xab", "ab" },       { "\xab\xcd", "ad" },      { "0\xab", "3b" },
    { "01\xab\xcd", "3d" }, { "0\xab\xcd\x31", "01" }, { "\x2a\x2a", "00" },
};

START_TEST(ja4_alpn)
{
    static struct bytes extensions, hello, bytes;
    struct app_rig *rig = rig_new(0, NULL);
    struct app_bytes hash;

    clear(&extensions);
    clear(&hello);
    clear(&bytes);
    put_alpn(&extensions, ja4_alpn_cases[_i].name);
    put_client_hello(&hello, 0x0303, "1301", &extensions);
    put_records(&bytes, 22, 0x0301, &hello, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert(app_rig_buffer(rig, 0, "ja4.hash", FLOW_TO_SERVER, 0, &hash));
    ck_assert_uint_eq(hash.length, 36);
    ck_assert_mem_eq(hash.bytes, "t12i0101", 8);
    ck_assert_mem_eq(hash.bytes + 8, ja4_alpn_cases[_i].code, 2);
    app_rig_free(rig);
}
END_TEST

/* A protocol's settings may leave out "protocols". */
static const char *const off_settings[] = {
    "app-layer.protocols.tls.ja3-fingerprints: no\napp-layer.protocols.tls.ja4-fingerprints: no\n",
    "app-layer: {tls: {ja3-fingerprints: no, ja4-fingerprints: no}}\n",
};

START_TEST(fingerprints_that_are_off)
{
    static struct bytes bytes;
    struct app_rig *rig = rig_new(0, off_settings[_i]);

    client_flight(&bytes, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    assert_buffer(rig, "ja3.hash", FLOW_TO_SERVER, 0, NULL);
    assert_buffer(rig, "ja4.hash", FLOW_TO_SERVER, 0, NULL);
    app_rig_free(rig);
}
END_TEST

/* --- TLS 1.3, resumption, SSLv2 ------------------------------------------------------------------- */

static void hellos_of_tls13(struct app_rig *rig, unsigned draft)
{
    static struct bytes extensions, messages, bytes;
    const uint8_t offered[] = { 4, 0x7a, 0x7a, (uint8_t)(draft >> 8), (uint8_t)draft };

    clear(&extensions);
    clear(&messages);
    clear(&bytes);
    put_sni(&extensions, "a.example");
    put_extension(&extensions, 43, offered, sizeof(offered));
    put_client_hello(&messages, 0x0303, "1301", &extensions);
    put_records(&bytes, 22, 0x0301, &messages, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    clear(&extensions);
    clear(&messages);
    clear(&bytes);
    put_extension(&extensions, 43, offered + 3, 2);
    put_server_hello(&messages, 0x0303, "session", 0x1301, &extensions);
    put_records(&bytes, 22, 0x0303, &messages, 16384);
    put_bytes(&bytes, "\x14\x03\x03\x00\x01\x01", 6);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
}

static const uint8_t application_record[] = { 23, 3, 3, 0, 6, 's', 'e', 'c', 'r', 'e', 't' };

START_TEST(tls13)
{
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    hellos_of_tls13(rig, 0x0304);
    ck_assert(!rig->stop_stream);
    app_rig_send(rig, FLOW_TO_CLIENT, application_record, sizeof(application_record));
    ck_assert(rig->stop_stream && !rig->failed);
    ck_assert_str_eq(
        app_rig_json(rig, 0),
        "{\"sni\":\"a.example\",\"version\":\"TLS 1.3\",\"ja4\":\"t13d010200_0f2cb44170f4_9b00d4eb1ff0\"}");
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    app_rig_free(rig);
}
END_TEST

static const struct {
    unsigned version;
    const char *text;
} draft_cases[] = { { 0x7f1c, "TLS 1.3 draft-28" }, { 0x7f13, "TLS 1.3 draft-19" }, { 0xfb1a, "TLS 1.3 draft-26-fb" } };

START_TEST(drafts_of_tls13)
{
    struct app_rig *rig = rig_new(0, NULL);

    hellos_of_tls13(rig, draft_cases[_i].version);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), draft_cases[_i].text));
    app_rig_free(rig);
}
END_TEST

START_TEST(everything_is_looked_at)
{
    struct app_rig *rig = rig_new(cuts[_i], "app-layer.protocols.tls.encryption-handling: full\n");

    hellos_of_tls13(rig, 0x0304);
    app_rig_send(rig, FLOW_TO_CLIENT, application_record, sizeof(application_record));
    ck_assert(!rig->stop_stream);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_SERVER), "client_handshake_done");
    app_rig_send(rig, FLOW_TO_CLIENT, "\x15\x03\x03\x00\x02\x02\x28", 7); /* a fatal alert */
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_SERVER), "client_finished");
    app_rig_send(rig, FLOW_TO_CLIENT, "and nothing more", 16);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(session_that_is_resumed)
{
    static struct bytes messages, bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    client_flight(&bytes, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    clear(&messages);
    clear(&bytes);
    put_server_hello(&messages, 0x0303, "session", 0xc02f, NULL);
    put_records(&bytes, 22, 0x0303, &messages, 16384);
    put_bytes(&bytes, "\x14\x03\x03\x00\x01\x01", 6);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    client_end(&bytes, false);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"session_resumed\":true"));
    app_rig_free(rig);
}
END_TEST

START_TEST(unknown_version_is_logged_as_a_number)
{
    static struct bytes messages, bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    client_flight(&bytes, 100);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    clear(&messages);
    clear(&bytes);
    put_server_hello(&messages, 0x7e01, "x", 47, NULL);
    put_records(&bytes, 22, 0x0301, &messages, 16384);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    app_rig_close(rig);
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0), "\"version\":\"32257\""));
    app_rig_free(rig);
}
END_TEST

START_TEST(hello_of_sslv2)
{
    static const uint8_t hello[] = { 0x80, 0x14, 1,    3,   1,   0,   3,   0,   0,   0,   8,
                                     0,    0,    0x0a, 'c', 'h', 'a', 'l', 'l', 'e', 'n', 'g' };
    static struct bytes bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    app_rig_send(rig, FLOW_TO_SERVER, hello, sizeof(hello));
    ck_assert_str_eq(app_rig_protocol(rig), "tls");
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_SERVER), "client_hello_done");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"version\":\"TLSv1\"}");
    server_flight(&bytes, 100, false); /* the server answers with TLS */
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    client_end(&bytes, false);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "server_handshake_done");
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(session_of_sslv2)
{
    static const uint8_t hello[] = { 0x80, 0x0c, 1, 0, 2, 0, 3, 0, 0, 0, 0, 1, 0, 0x80 };
    static const uint8_t answer[] = { 0x80, 0x0b, 4, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0 };
    static const uint8_t key[] = { 0x80, 0x04, 2, 1, 0, 0x80 };
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    rig->flow.server_port = 4433; /* SSLv2 is identified on any port */
    app_rig_send(rig, FLOW_TO_SERVER, hello, sizeof(hello));
    app_rig_send(rig, FLOW_TO_CLIENT, answer, sizeof(answer));
    app_rig_send(rig, FLOW_TO_SERVER, key, sizeof(key));
    ck_assert(rig->stop_stream);
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "server_handshake_done");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"version\":\"SSLv2\"}");
    app_rig_send(rig, FLOW_TO_CLIENT, "\0\x28\7 is encrypted", 16);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

/* --- Errors --------------------------------------------------------------------------------------- */

struct bad_case {
    const char *bytes;
    size_t length;
    enum flow_direction direction;
    const char *event;
    bool fails;
};

#define CASE(text, direction, event, fails)                                                                            \
    {                                                                                                                  \
        text, sizeof(text) - 1, direction, event, fails                                                                \
    }
#define ZEROS8 "\0\0\0\0\0\0\0\0"
#define RANDOM32 ZEROS8 ZEROS8 ZEROS8 ZEROS8

/* A ClientHello of TLS 1.2 with one cipher suite and these extensions; all lengths are string literals. */
#define HELLO(total, message, list, extensions)                                                                        \
    "\x16\x03\x01\x00" total "\x01\x00\x00" message "\x03\x03" RANDOM32                                                \
    "\x00\x00\x02\x13\x01\x01\x00\x00" list extensions

static const struct bad_case bad_cases[] = {
    CASE("\x16\x03\x01\x00\x00", FLOW_TO_SERVER, "invalid_record_length", false),
    CASE("\x16\x03\x7f\x00\x04\x00\x00\x00\x00", FLOW_TO_SERVER, "invalid_record_version", false),
    CASE("\x16\x03\x01\x44\x01", FLOW_TO_SERVER, "invalid_record_length", true),
    CASE("\x16\x03\x03\x00\x04\x00\x00\x00\x00\x19\x03\x03\x00\x01\x00", FLOW_TO_SERVER, "invalid_record_type", true),
    CASE("\x16\x03\x03\x00\x04\x00\x00\x00\x00\x15\x03\x03\x00\x01\x00", FLOW_TO_SERVER, "invalid_alert_message", true),
    CASE("\x16\x03\x03\x00\x04\x00\x00\x00\x00\x16\x05\x05\x00\x01\x00", FLOW_TO_SERVER, "invalid_record_version",
         false),
    CASE("\x16\x03\x01\x00\x04\x63\x00\x00\x00", FLOW_TO_SERVER, "invalid_handshake_message", false),
    CASE("\x16\x03\x01\x00\x04\x02\x00\x00\x00", FLOW_TO_SERVER, "invalid_handshake_message", false),
    CASE("\x16\x03\x01\x00\x05\x01\x00\x00\x01\x03", FLOW_TO_SERVER, "handshake_invalid_length", false),
    CASE("\x16\x03\x01\x00\x04\x01\x02\x10\x01", FLOW_TO_SERVER, "handshake_invalid_length", true),
    CASE(HELLO("\x33", "\x2f", "\x04", "\x00\x00\x00\x02"), FLOW_TO_SERVER, "handshake_invalid_length", false),
    CASE(HELLO("\x3a", "\x36", "\x0b", "\x00\x00\x00\x07\x00\x05\x01\x00\x02\x61\x62"), FLOW_TO_SERVER,
         "invalid_sni_type", false),
    CASE(HELLO("\x38", "\x34", "\x09", "\x00\x00\x00\x05\x00\x03\x00\x00\x00"), FLOW_TO_SERVER, "invalid_sni_length",
         false),
    CASE(HELLO("\x3a", "\x36", "\x0b", "\x00\x00\x00\x07\x00\x05\x00\x00\x03\x61\x62"), FLOW_TO_SERVER,
         "invalid_sni_length", false),
    CASE(HELLO("\x45", "\x41", "\x16",
               "\x00\x00\x00\x07\x00\x05\x00\x00\x02\x61\x62\x00\x00\x00\x07\x00\x05\x00\x00\x02\x63\x64"),
         FLOW_TO_SERVER, "multiple_sni_extensions", false),
    CASE("\x16\x03\x03\x00\x0a\x0b\x00\x00\x06\x00\x00\x09\x00\x00\x01", FLOW_TO_CLIENT, "invalid_handshake_message",
         false),
    CASE("\x16\x03\x03\x00\x0b\x0b\x00\x00\x07\x00\x00\x04\x00\x00\x09\x30", FLOW_TO_CLIENT, "invalid_certificate",
         false),
    CASE("\x16\x03\x03\x00\x0b\x0b\x00\x00\x07\x00\x00\x04\x00\x00\x01\x30", FLOW_TO_CLIENT,
         "certificate_invalid_length", false),
    CASE("\x18\x03\x01\x00\x03\x01\x40\x00", FLOW_TO_SERVER, "overflow_heartbeat_message", true),
    CASE("\x18\x03\x01\x00\x05\x01\x00\x01\x61\x00", FLOW_TO_SERVER, "invalid_heartbeat_message", true),
    CASE("\x18\x03\x01\x00\x03\x07\x00\x00", FLOW_TO_SERVER, "invalid_heartbeat_message", true),
    CASE("\x80\x02\x01\x00", FLOW_TO_SERVER, "invalid_ssl_record", true),
    CASE("\x80\x01\x00", FLOW_TO_SERVER, "error_message_encountered", false),
    CASE("\x80\x00\x01", FLOW_TO_SERVER, "invalid_sslv2_header", true),
};

/* A valid first record identifies the protocol before the bad bytes. */
START_TEST(bad_bytes)
{
    const struct bad_case *c = &bad_cases[_i / CUT_COUNT];
    struct app_rig *rig = rig_new(cuts[_i % CUT_COUNT], NULL);

    app_rig_send(rig, c->direction, "\x16\x03\x03\x00\x04\x00\x00\x00\x00", 9); /* HelloRequest */
    app_rig_send(rig, c->direction, c->bytes, c->length);
    ck_assert_msg(app_rig_has_event(rig, 0, c->event), "no %s: %s", c->event, app_rig_json(rig, 0));
    ck_assert_int_eq(rig->failed, c->fails);
    app_rig_free(rig);
}
END_TEST

START_TEST(good_bytes_have_no_events)
{
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    app_rig_send(rig, FLOW_TO_SERVER, HELLO("\x3a", "\x36", "\x0b", "\x00\x00\x00\x07\x00\x05\x00\x00\x02\x61\x62"),
                 5 + 0x3a);
    ck_assert_ptr_null(strstr(app_rig_json(rig, 0), "events"));
    assert_buffer(rig, "tls.sni", FLOW_TO_SERVER, 0, "ab");
    app_rig_free(rig);
}
END_TEST

START_TEST(heartbeat_that_leaks)
{
    static struct bytes bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    client_flight(&bytes, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    client_end(&bytes, false);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    app_rig_send(rig, FLOW_TO_SERVER,
                 "\x18\x03\x03\x00\x04"
                 "abcd",
                 9);
    app_rig_send(rig, FLOW_TO_CLIENT,
                 "\x18\x03\x03\x00\x04"
                 "abcd",
                 9);
    ck_assert(!app_rig_has_event(rig, 0, "dataleak_heartbeat_mismatch"));
    app_rig_send(rig, FLOW_TO_SERVER,
                 "\x18\x03\x03\x00\x04"
                 "abcd",
                 9);
    app_rig_send(rig, FLOW_TO_CLIENT,
                 "\x18\x03\x03\x00\x05"
                 "abcde",
                 10);
    ck_assert(app_rig_has_event(rig, 0, "dataleak_heartbeat_mismatch"));
    app_rig_free(rig);
}
END_TEST

/* --- Unreadable certificates in a chain ----------------------------------------------------------- */

START_TEST(second_certificate_is_read)
{
    static struct bytes messages, bytes;
    static const struct certificate_bytes chain[] = { { "\x30\x01\x00", 3 },
                                                      { tls_client, sizeof(tls_client) },
                                                      { NULL, 0 } };
    struct app_rig *rig = rig_new(cuts[_i], NULL);
    struct app_bytes certificate;

    clear(&messages);
    clear(&bytes);
    put_server_hello(&messages, 0x0303, "", 0xc02f, NULL);
    put_certificates(&messages, chain);
    put_records(&bytes, 22, 0x0303, &messages, 50);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    ck_assert(app_rig_has_event(rig, 0, "certificate_invalid_length"));
    assert_buffer(rig, "tls.cert_subject", FLOW_TO_CLIENT, 0, "CN=client");
    for (unsigned i = 0; i < 2; i++) {
        ck_assert(app_rig_buffer(rig, 0, "tls.certs", FLOW_TO_CLIENT, i, &certificate));
        ck_assert_uint_eq(certificate.length, chain[i].length);
        ck_assert_mem_eq(certificate.bytes, chain[i].bytes, chain[i].length);
    }
    assert_buffer(rig, "tls.certs", FLOW_TO_CLIENT, 2, NULL);
    app_rig_free(rig);
}
END_TEST

START_TEST(limits)
{
    static struct bytes extensions, messages, bytes;
    struct app_rig *rig = rig_new(0, NULL);
    struct app_bytes name;

    clear(&extensions);
    clear(&messages);
    clear(&bytes);
    put_u16(&extensions, 16);
    size_t extension = open_vector(&extensions, 2), list = open_vector(&extensions, 2);

    for (unsigned i = 0; i < ALPN_MAX; i++)
        put_vector(&extensions, 1, "x", 1);
    close_vector(&extensions, list, 2);
    close_vector(&extensions, extension, 2);
    put_client_hello(&messages, 0x0303, "1301", &extensions);
    put_records(&bytes, 22, 0x0301, &messages, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert(app_rig_buffer(rig, 0, "tls.alpn", FLOW_TO_SERVER, ALPN_MAX - 1, &name));
    ck_assert(!app_rig_buffer(rig, 0, "tls.alpn", FLOW_TO_SERVER, ALPN_MAX, &name));

    clear(&messages);
    clear(&bytes);
    put_u8(&messages, 11);
    size_t message = open_vector(&messages, 3);

    for (unsigned i = 0; i < MESSAGE_MAX / 4 + 1; i++)
        put_bytes(&messages, "abcd", 4);
    close_vector(&messages, message, 3);
    put_message(&messages, 14, "", 0);
    put_records(&bytes, 22, 0x0303, &messages, 16384);
    send_all(rig, FLOW_TO_CLIENT, &bytes);
    ck_assert(app_rig_has_event(rig, 0, "handshake_invalid_length"));
    ck_assert_str_eq(app_rig_progress(rig, 0, FLOW_TO_CLIENT), "server_hello_done"); /* later messages are parsed */
    app_rig_free(rig);
}
END_TEST

/* A ClientHello with too many server names is a parser error, because rules would not see all names. */
START_TEST(too_many_names)
{
    static struct bytes extensions, messages, bytes;
    struct app_rig *rig = rig_new(0, NULL);
    bool of_servers = _i;

    clear(&extensions);
    clear(&messages);
    clear(&bytes);
    put_u16(&extensions, of_servers ? 0 : 16);
    size_t extension = open_vector(&extensions, 2), list = open_vector(&extensions, 2);

    for (unsigned i = 0; i < (of_servers ? SERVER_NAMES_MAX : ALPN_MAX) + 1; i++) {
        if (of_servers)
            put_u8(&extensions, 0);
        put_vector(&extensions, of_servers ? 2 : 1, "x", 1);
    }
    close_vector(&extensions, list, 2);
    close_vector(&extensions, extension, 2);
    put_client_hello(&messages, 0x0303, "1301", &extensions);
    put_records(&bytes, 22, 0x0301, &messages, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    ck_assert(app_rig_has_event(rig, 0, "handshake_invalid_length"));
    ck_assert(rig->failed);
    app_rig_free(rig);
}
END_TEST

static void put_name(struct bytes *extensions, unsigned type, const char *name)
{
    put_u8(extensions, type);
    put_vector(extensions, 2, name, strlen(name));
}

/* Servers differ in which of several names they use, and in which errors they tolerate. So each name is inspected, also
 * after a malformed extension. */
START_TEST(all_names_are_inspected)
{
    static struct bytes extensions, messages, bytes;
    struct app_rig *rig = rig_new(cuts[_i], NULL);

    clear(&extensions);
    clear(&messages);
    clear(&bytes);
    put_u16(&extensions, 0);
    size_t extension = open_vector(&extensions, 2), list = open_vector(&extensions, 2);

    put_name(&extensions, 1, "typed.test");
    put_name(&extensions, 0, "first.test");
    put_name(&extensions, 0, "second.test");
    close_vector(&extensions, list, 2);
    close_vector(&extensions, extension, 2);
    put_u16(&extensions, 10);
    put_vector(&extensions, 2, "\x00\x09\x00", 3); /* supported groups, truncated */
    put_u16(&extensions, 16);
    put_vector(&extensions, 2, "\x00\x03\x02h2\x01z", 7); /* bytes after the end of the list */
    put_u16(&extensions, 0);
    extension = open_vector(&extensions, 2), list = open_vector(&extensions, 2);
    put_name(&extensions, 0, "third.test");
    close_vector(&extensions, list, 2);
    close_vector(&extensions, extension, 2);
    put_client_hello(&messages, 0x0303, "1301", &extensions);
    put_records(&bytes, 22, 0x0301, &messages, 16384);
    send_all(rig, FLOW_TO_SERVER, &bytes);
    assert_buffer(rig, "tls.sni", FLOW_TO_SERVER, 0, "first.test");
    assert_buffer(rig, "tls.sni", FLOW_TO_SERVER, 1, "second.test");
    assert_buffer(rig, "tls.sni", FLOW_TO_SERVER, 2, "third.test");
    assert_buffer(rig, "tls.sni", FLOW_TO_SERVER, 3, NULL);
    assert_buffer(rig, "tls.alpn", FLOW_TO_SERVER, 1, "z");
    assert_buffer(rig, "tls.alpn", FLOW_TO_SERVER, 0, "h2");
    assert_buffer(rig, "tls.alpn", FLOW_TO_SERVER, 2, NULL);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

static Suite *tls_suite(void)
{
    Suite *suite = suite_create("app_tls");
    TCase *tcase = tcase_create("tls");
    const int record_cases = (int)(sizeof(record_sizes) / sizeof(record_sizes[0])) * CUT_COUNT;
    const int bad_count = (int)(sizeof(bad_cases) / sizeof(bad_cases[0])) * CUT_COUNT;

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, session_of_tls12, 0, record_cases);
    tcase_add_loop_test(tcase, buffers_of_a_session, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, client_certificate, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, ja3_of_the_specification, 0, (int)(sizeof(ja3_cases) / sizeof(ja3_cases[0])));
    tcase_add_loop_test(tcase, ja3s_of_a_server, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, ja4_of_the_specification, 0, CUT_COUNT);
    tcase_add_test(tcase, ja4_in_events);
    tcase_add_loop_test(tcase, ja4_alpn, 0, (int)(sizeof(ja4_alpn_cases) / sizeof(ja4_alpn_cases[0])));
    tcase_add_loop_test(tcase, fingerprints_that_are_off, 0, (int)(sizeof(off_settings) / sizeof(off_settings[0])));
    tcase_add_loop_test(tcase, tls13, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, drafts_of_tls13, 0, (int)(sizeof(draft_cases) / sizeof(draft_cases[0])));
    tcase_add_loop_test(tcase, everything_is_looked_at, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, session_that_is_resumed, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, unknown_version_is_logged_as_a_number, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, hello_of_sslv2, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, session_of_sslv2, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, bad_bytes, 0, bad_count);
    tcase_add_loop_test(tcase, good_bytes_have_no_events, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, heartbeat_that_leaks, 0, CUT_COUNT);
    tcase_add_loop_test(tcase, second_certificate_is_read, 0, CUT_COUNT);
    tcase_add_test(tcase, limits);
    tcase_add_loop_test(tcase, too_many_names, 0, 2);
    tcase_add_loop_test(tcase, all_names_are_inspected, 0, CUT_COUNT);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(tls_suite());

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
