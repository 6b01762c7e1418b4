/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TLS keywords: invalid values, normalised contents, and matching transactions. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "app_rig.h"
#include "rule_text.h"
#include "tls_builder.h"
#include "tls_samples.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define JA3 "ada70206e40642a3e4461f35503241d5"
#define SHA1 "48:2d:03:1d:57:2f:cf:98:2e:3c:dd:51:d4:22:23:b9:43:7c:b7:17"

/* --- Errors --------------------------------------------------------------------------------------- */

static const struct {
    const char *options;
    const char *message; /* expected message, or NULL */
} rules[] = {
    { "tls.sni; content:\"a\";", NULL },
    { "tls_sni; content:\"a\";", NULL },
    { "tls_cert_subject; content:\"CN=a\"; tls_cert_issuer; content:\"O=\";", NULL },
    { "ja3_hash; content:\"" JA3 "\";", NULL },
    { "ja3.hash; content:!\"" JA3 "\";", NULL },
    { "ja3.hash; pcre:\"/^ada/\";", NULL },
    { "ja3.hash; content:\"ada\";", "32 hexadecimal digits" },
    { "ja3s.hash; content:\"ada\";", "32 hexadecimal digits" },
    { "ja3.string; content:\"771,\";", NULL },
    { "ja4.hash; content:\"t13d\";", NULL },
    { "tls.cert_fingerprint; content:\"" SHA1 "\";", NULL },
    { "tls.cert_fingerprint; content:\"48:2d\";", "20 hexadecimal bytes" },
    { "tls.cert_fingerprint; content:\"48-2d-03-1d-57-2f-cf-98-2e-3c-dd-51-d4-22-23-b9-43-7c-b7-17\";",
      "20 hexadecimal bytes" },
    { "tls.cert_serial; content:\"5C:19\";", NULL },
    { "tls.cert_serial; content:\"5C\";", NULL },
    { "tls.cert_serial; content:\"5C19\";", "colons" },
    { "tls.fingerprint:\"" SHA1 "\";", NULL },
    { "tls.fingerprint:!\"" SHA1 "\";", NULL },
    { "tls.fingerprint:\"48:2d\";", "20 hexadecimal bytes" },
    { "tls.fingerprint:\"4g:2d:03:1d:57:2f:cf:98:2e:3c:dd:51:d4:22:23:b9:43:7c:b7:17\";", "20 hexadecimal bytes" },
    { "tls.subject:\"CN=a\";", NULL },
    { "tls.issuerdn:!\"CN=a\";", NULL },
    { "tls.subject:\"\";", "empty" },
    { "tls.version:1.2;", NULL },
    { "tls.version:\"1.3\";", NULL },
    { "tls.version:0x7f12;", NULL },
    { "tls.version:1.4;", "tls.version must be" },
    { "tls.version:0x;", "tls.version must be" },
    { "ssl_version:sslv2,SSLv3 , tls1.0;", NULL },
    { "ssl_version:!tls1.2;", NULL },
    { "ssl_version:!tls1.2,!tls1.3;", NULL },
    { "ssl_version:!tls1.0,tls1.3;", NULL },
    { "ssl_version:tls1.0,!tls1.3;", "negates the whole list" },
    { "ssl_version:tls1.2,tls1.2;", "listed twice" },
    { "ssl_version:tls1.4;", "ssl_version supports" },
    { "ssl_state:client_hello;", NULL },
    { "ssl_state:client_hello|server_hello, !client_keyx;", NULL },
    { "ssl_state:hello;", "ssl_state supports" },
    { "ssl_state:client_hello,;", NULL },
    { "tls.cert_chain_len:>2;", NULL },
    { "tls.cert_chain_len:many;", "many" },
    { "tls_cert_notbefore:>2015;", NULL },
    { "tls_cert_notafter:2015-10-22T12:30:00<>2016-01;", NULL },
    { "tls_cert_notafter:<1445852105;", NULL },
    { "tls_cert_notafter:2016<>2015;", "expected TIME" },
    { "tls_cert_notafter:2015-13;", "expected TIME" },
    { "tls_cert_notafter:2015-00;", "expected TIME" },
    { "tls_cert_notafter:2015-10-22x;", "expected TIME" },
    { "tls_cert_notafter:>;", "expected TIME" },
    { "tls_cert_expired;", NULL },
    { "tls_cert_valid;", NULL },
    { "tls.store;", NULL },
    { "tls_store; tls.subject:\"a\";", NULL },
    { "tls.store; tls.store;", "" },
    { "app-layer-event:tls.invalid_certificate;", NULL },
};

START_TEST(what_is_refused)
{
    struct rule_text text;

    rule_text_open(&text, rules[_i].options, strlen(rules[_i].options));
    if (rules[_i].message)
        ck_assert_msg(strstr(text.message, rules[_i].message), "%s: '%s'", rules[_i].options, text.message);
    else
        ck_assert_msg(text.rule != NULL, "%s: %s", rules[_i].options, text.message);
    rule_text_close(&text);
}
END_TEST

/* --- Contents ------------------------------------------------------------------------------------- */

static const struct {
    const char *options, *content;
} cases[] = {
    { "ja3.hash; content:\"ADA70206E40642A3E4461F35503241D5\";", JA3 },
    { "ja3s.hash; content:\"ADA70206E40642A3E4461F35503241d5\";", JA3 },
    { "ja4.hash; content:\"T13D\";", "t13d" },
    { "tls.cert_serial; content:\"5c:19:b7\";", "5C:19:B7" },
    { "tls.cert_fingerprint; content:\"48:2D:03:1D:57:2F:CF:98:2E:3C:DD:51:D4:22:23:B9:43:7C:B7:17\";", SHA1 },
    { "tls.sni; content:\"Example\";", "Example" },
};

START_TEST(contents_get_their_case)
{
    struct rule_text text;

    rule_text_open(&text, cases[_i].options, strlen(cases[_i].options));
    ck_assert_msg(text.rule != NULL, "%s", text.message);

    const struct condition *condition = text.rule->buffers->conditions;
    const struct content *content = condition_content(condition);

    ck_assert_uint_eq(content->length, strlen(cases[_i].content));
    ck_assert_mem_eq(content->bytes, cases[_i].content, content->length);
    rule_text_close(&text);
}
END_TEST

/* --- Transactions --------------------------------------------------------------------------------- */

/* Validity of tls_client, which is the first certificate of the server here, and a time between. */
enum { VALID_FROM = 1672531200, VALID_UNTIL = 1704067200, NOW = 1690000000 }; /* 2023-01-01, 2024-01-01 */

enum session {
    TLS12_SESSION, /* ClientHello of TLS 1.2 without a client certificate; the server sends three certificates */
    TLS12_WITHOUT_CERTIFICATES,
    TLS12_EMPTY_CLIENT_CHAIN, /* as the first; the client answers a CertificateRequest with an empty chain */
    TLS13_DRAFT_SESSION,      /* draft 28 */
    TLS13_EARLY_SESSION,      /* draft 26 with the number of early clients */
};

static const struct {
    enum session session;
    const char *options;
    enum flow_direction direction;
    bool holds;
} matches[] = {
    { TLS12_SESSION, "tls.version:1.2;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "tls.version:1.1;", FLOW_TO_SERVER, false },
    { TLS13_DRAFT_SESSION, "tls.version:1.3;", FLOW_TO_CLIENT, true }, /* a draft */
    { TLS13_DRAFT_SESSION, "tls.version:0x7f1c;", FLOW_TO_CLIENT, true },
    { TLS13_DRAFT_SESSION, "tls.version:0x0304;", FLOW_TO_CLIENT, false },
    { TLS13_EARLY_SESSION, "tls.version:1.3;", FLOW_TO_CLIENT, true },
    { TLS13_EARLY_SESSION, "tls.version:1.2;", FLOW_TO_CLIENT, false },
    { TLS13_EARLY_SESSION, "tls.version:0xfb1a;", FLOW_TO_CLIENT, true },
    { TLS13_EARLY_SESSION, "ssl_version:tls1.3;", FLOW_TO_CLIENT, true },
    { TLS13_EARLY_SESSION, "ssl_version:!tls1.3;", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "ssl_version:tls1.2;", FLOW_TO_SERVER, true },
    { TLS13_DRAFT_SESSION, "ssl_version:tls1.0,tls1.3;", FLOW_TO_CLIENT, true },
    { TLS13_DRAFT_SESSION, "ssl_version:sslv2,sslv3;", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "ssl_version:!tls1.2;", FLOW_TO_SERVER, false },
    { TLS12_SESSION, "ssl_version:!tls1.1;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "ssl_version:!tls1.1,!tls1.2;", FLOW_TO_SERVER, false },
    { TLS12_SESSION, "ssl_version:!tls1.0,!tls1.1;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "ssl_version:!tls1.0,tls1.1;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "ssl_version:!tls1.0,tls1.2;", FLOW_TO_SERVER, false },
    { TLS12_SESSION, "ssl_version:!tls1.2,tls1.0;", FLOW_TO_SERVER, false },
    { TLS12_SESSION, "ssl_state:client_hello;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "ssl_state:server_keyx;", FLOW_TO_SERVER, false },
    { TLS12_SESSION, "ssl_state:server_keyx|server_hello;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "ssl_state:!server_keyx;", FLOW_TO_SERVER, true },
    { TLS12_SESSION, "ssl_state:!client_hello;", FLOW_TO_SERVER, false },
    { TLS12_SESSION, "tls.subject:\"CN=client\";", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls.subject:\"CN=Client\";", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "tls.issuerdn:\"CA\";", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls.issuerdn:\"CN=client\";", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "tls.fingerprint:\"05:6A:1D:56:a6:7a:a8:4d:78:3b:54:7c:f5:75:87:83:cd:56:46:15\";", FLOW_TO_CLIENT,
      true },
    { TLS12_SESSION, "tls.fingerprint:\"15:6A:1D:56:a6:7a:a8:4d:78:3b:54:7c:f5:75:87:83:cd:56:46:15\";", FLOW_TO_CLIENT,
      false },
    { TLS12_SESSION, "tls.cert_chain_len:3;", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls.cert_chain_len:>3;", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "tls.cert_chain_len:0;", FLOW_TO_SERVER, false }, /* the client sent no certificate message */
    { TLS12_SESSION, "tls_cert_notbefore:2023;", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls_cert_notbefore:>2023-01-01;", FLOW_TO_CLIENT, true }, /* inclusive */
    { TLS12_SESSION, "tls_cert_notbefore:>2023-01-01 00:00:01;", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "tls_cert_notbefore:<2022-12-31T23:59:59;", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "tls_cert_notbefore:1672531200;", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls_cert_notafter:2023<>2024;", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls_cert_notafter:2023<>2023-12;", FLOW_TO_CLIENT, false },
    { TLS12_SESSION, "tls_cert_valid;", FLOW_TO_CLIENT, true },
    { TLS12_SESSION, "tls_cert_expired;", FLOW_TO_CLIENT, false },
};

static void clear(struct bytes *bytes)
{
    bytes->length = 0;
}

static void send_hellos(struct app_rig *rig, unsigned draft)
{
    static struct bytes extensions, message, bytes;
    const uint8_t versions[] = { 2, (uint8_t)(draft >> 8), (uint8_t)draft };

    clear(&extensions);
    clear(&message);
    clear(&bytes);
    if (draft)
        put_extension(&extensions, 43, versions, sizeof(versions));
    put_client_hello(&message, 0x0303, draft ? "1301" : "c02b", &extensions);
    put_records(&bytes, 22, 0x0301, &message, 16384);
    app_rig_send(rig, FLOW_TO_SERVER, bytes.at, bytes.length);
    clear(&extensions);
    clear(&message);
    clear(&bytes);
    if (draft)
        put_extension(&extensions, 43, versions + 1, 2);
    put_server_hello(&message, 0x0303, "session", draft ? 0x1301 : 0xc02b, &extensions);
    put_records(&bytes, 22, 0x0303, &message, 16384);
    app_rig_send(rig, FLOW_TO_CLIENT, bytes.at, bytes.length);
}

static void send_certificates(struct app_rig *rig, enum flow_direction direction, const struct certificate_bytes *chain)
{
    static struct bytes messages, bytes;

    clear(&messages);
    clear(&bytes);
    put_certificates(&messages, chain);
    if (direction == FLOW_TO_CLIENT) {
        put_message(&messages, 13, "request", 7);
        put_message(&messages, 14, "", 0);
    }
    put_records(&bytes, 22, 0x0303, &messages, 16384);
    app_rig_send(rig, direction, bytes.at, bytes.length);
}

static struct app_rig *start_session(enum session session)
{
    static const struct certificate_bytes chain[] = {
        { tls_client, sizeof(tls_client) }, { tls_leaf, sizeof(tls_leaf) }, { tls_root, sizeof(tls_root) }, { NULL, 0 }
    };
    struct app_rig *rig = app_rig_new("tls", NULL);

    send_hellos(rig, session == TLS13_DRAFT_SESSION ? 0x7f1c : session == TLS13_EARLY_SESSION ? 0xfb1a : 0);
    if (session == TLS12_SESSION || session == TLS12_EMPTY_CLIENT_CHAIN)
        send_certificates(rig, FLOW_TO_CLIENT, chain);
    if (session == TLS12_EMPTY_CLIENT_CHAIN)
        send_certificates(rig, FLOW_TO_SERVER, &chain[3]);
    ck_assert(!rig->failed);
    return rig;
}

static bool holds(enum session session, const char *options, enum flow_direction direction, int64_t seconds)
{
    struct app_rig *rig = start_session(session);

    rig->now_ns = (uint64_t)seconds * 1000000000u;
    bool result = app_rig_matches(rig, 0, direction, options);

    app_rig_free(rig);
    return result;
}

START_TEST(transactions_hold)
{
    ck_assert_msg(holds(matches[_i].session, matches[_i].options, matches[_i].direction, NOW) == matches[_i].holds,
                  "%s", matches[_i].options);
}
END_TEST

START_TEST(certificates_expire)
{
    ck_assert(!holds(TLS12_SESSION, "tls_cert_valid;", FLOW_TO_CLIENT, VALID_FROM - 1));
    ck_assert(!holds(TLS12_SESSION, "tls_cert_valid;", FLOW_TO_CLIENT, VALID_UNTIL + 1));
    ck_assert(holds(TLS12_SESSION, "tls_cert_expired;", FLOW_TO_CLIENT, VALID_UNTIL + 1));
    ck_assert(!holds(TLS12_WITHOUT_CERTIFICATES, "tls_cert_expired;", FLOW_TO_CLIENT, VALID_UNTIL + 1));
    ck_assert(!holds(TLS12_WITHOUT_CERTIFICATES, "tls_cert_valid;", FLOW_TO_CLIENT, NOW));
}
END_TEST

START_TEST(chain_of_a_client_may_be_empty)
{
    ck_assert(holds(TLS12_EMPTY_CLIENT_CHAIN, "tls.cert_chain_len:0;", FLOW_TO_SERVER, NOW));
    ck_assert(!holds(TLS12_EMPTY_CLIENT_CHAIN, "tls.cert_chain_len:>0;", FLOW_TO_SERVER, NOW));
    ck_assert(holds(TLS13_DRAFT_SESSION, "tls.cert_chain_len:0;", FLOW_TO_CLIENT, NOW)); /* encrypted */
}
END_TEST

static Suite *keyword_suite(void)
{
    Suite *suite = suite_create("app_tls_keyword");
    TCase *tcase = tcase_create("keywords");

    tcase_set_timeout(tcase, 60);
    tcase_add_loop_test(tcase, what_is_refused, 0, (int)COUNT(rules));
    tcase_add_loop_test(tcase, contents_get_their_case, 0, (int)COUNT(cases));
    tcase_add_loop_test(tcase, transactions_hold, 0, (int)COUNT(matches));
    tcase_add_test(tcase, certificates_expire);
    tcase_add_test(tcase, chain_of_a_client_may_be_empty);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    SRunner *runner = srunner_create(keyword_suite());

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
