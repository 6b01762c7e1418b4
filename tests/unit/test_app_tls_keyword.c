/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TLS keywords: invalid values, normalised contents, and matching transactions. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/rule_text.h"
#include "app/tls/tls_priv.h"

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
    { "tls.store;", "not supported" },
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

enum { VALID_FROM = 1420070400, VALID_UNTIL = 1451606400, NOW = 1430000000 }; /* 2015-01-01, 2016-01-01, between */

static const struct {
    const char *options;
    enum flow_direction direction;
    bool holds;
} matches[] = {
    { "tls.version:1.2;", FLOW_TO_SERVER, true },
    { "tls.version:1.1;", FLOW_TO_SERVER, false },
    { "tls.version:1.3;", FLOW_TO_CLIENT, true }, /* a draft */
    { "tls.version:0x7f1c;", FLOW_TO_CLIENT, true },
    { "tls.version:0x0304;", FLOW_TO_CLIENT, false },
    { "ssl_version:tls1.2;", FLOW_TO_SERVER, true },
    { "ssl_version:tls1.0,tls1.3;", FLOW_TO_CLIENT, true },
    { "ssl_version:sslv2,sslv3;", FLOW_TO_CLIENT, false },
    { "ssl_version:!tls1.2;", FLOW_TO_SERVER, false },
    { "ssl_version:!tls1.1;", FLOW_TO_SERVER, true },
    { "ssl_version:!tls1.1,!tls1.2;", FLOW_TO_SERVER, false },
    { "ssl_version:!tls1.0,!tls1.1;", FLOW_TO_SERVER, true },
    { "ssl_version:!tls1.0,tls1.1;", FLOW_TO_SERVER, true },
    { "ssl_version:!tls1.0,tls1.2;", FLOW_TO_SERVER, false },
    { "ssl_version:!tls1.2,tls1.0;", FLOW_TO_SERVER, false },
    { "ssl_state:client_hello;", FLOW_TO_SERVER, true },
    { "ssl_state:server_keyx;", FLOW_TO_SERVER, false },
    { "ssl_state:server_keyx|server_hello;", FLOW_TO_SERVER, true },
    { "ssl_state:!server_keyx;", FLOW_TO_SERVER, true },
    { "ssl_state:!client_hello;", FLOW_TO_SERVER, false },
    { "tls.subject:\"CN=www\";", FLOW_TO_CLIENT, true },
    { "tls.subject:\"CN=WWW\";", FLOW_TO_CLIENT, false },
    { "tls.issuerdn:\"CA\";", FLOW_TO_CLIENT, true },
    { "tls.issuerdn:\"CN=www\";", FLOW_TO_CLIENT, false },
    { "tls.fingerprint:\"48:2D:03:1d:57:2f:cf:98:2e:3c:dd:51:d4:22:23:b9:43:7c:b7:17\";", FLOW_TO_CLIENT, true },
    { "tls.fingerprint:\"49:2D:03:1d:57:2f:cf:98:2e:3c:dd:51:d4:22:23:b9:43:7c:b7:17\";", FLOW_TO_CLIENT, false },
    { "tls.cert_chain_len:3;", FLOW_TO_CLIENT, true },
    { "tls.cert_chain_len:>3;", FLOW_TO_CLIENT, false },
    { "tls.cert_chain_len:0;", FLOW_TO_SERVER, false }, /* the client sent no certificate message */
    { "tls_cert_notbefore:2015;", FLOW_TO_CLIENT, true },
    { "tls_cert_notbefore:>2015-01-01;", FLOW_TO_CLIENT, true }, /* inclusive */
    { "tls_cert_notbefore:>2015-01-01 00:00:01;", FLOW_TO_CLIENT, false },
    { "tls_cert_notbefore:<2014-12-31T23:59:59;", FLOW_TO_CLIENT, false },
    { "tls_cert_notbefore:1420070400;", FLOW_TO_CLIENT, true },
    { "tls_cert_notafter:2015<>2016;", FLOW_TO_CLIENT, true },
    { "tls_cert_notafter:2015<>2015-12;", FLOW_TO_CLIENT, false },
    { "tls_cert_valid;", FLOW_TO_CLIENT, true },
    { "tls_cert_expired;", FLOW_TO_CLIENT, false },
};

static void fill(struct tls_tx *tx, char *names)
{
    struct tls_certificates *certificates = &tx->side[FLOW_TO_CLIENT].certificates;

    memset(tx, 0, sizeof(*tx));
    tx->flags = TLS_SAW_CLIENT_HELLO | TLS_SAW_SERVER_HELLO;
    tx->side[FLOW_TO_SERVER].version = TLS_12;
    tx->side[FLOW_TO_CLIENT].version = 0x7f1c;
    certificates->decoded = true;
    certificates->count = 3;
    certificates->text = names;
    certificates->subject = (struct tls_piece){ 0, 6 };
    certificates->issuer = (struct tls_piece){ 6, 5 };
    memcpy(certificates->fingerprint, SHA1, sizeof(certificates->fingerprint));
    certificates->not_before = VALID_FROM;
    certificates->not_after = VALID_UNTIL;
}

static bool holds(const struct tls_tx *tx, const char *options, enum flow_direction direction, int64_t seconds)
{
    struct packet packet = { .time_ns = (uint64_t)seconds * 1000000000u };
    const struct match_input in = {
        .packet = &packet,
        .transaction = (struct app_tx *)&tx->tx,
        .direction = direction,
    };
    struct rule_text text;

    rule_text_open(&text, options, strlen(options));
    ck_assert_msg(text.rule != NULL, "%s", text.message);

    const struct condition *condition = text.rule->transaction_conditions;
    bool result = condition->keyword->transaction.match(&in, condition->data);

    rule_text_close(&text);
    return result;
}

START_TEST(transactions_hold)
{
    struct tls_tx tx;
    char names[] = "CN=wwwCN=CA";

    fill(&tx, names);
    ck_assert_msg(holds(&tx, matches[_i].options, matches[_i].direction, NOW) == matches[_i].holds, "%s",
                  matches[_i].options);
}
END_TEST

START_TEST(certificates_expire)
{
    struct tls_tx tx;
    char names[] = "CN=wwwCN=CA";

    fill(&tx, names);
    ck_assert(!holds(&tx, "tls_cert_valid;", FLOW_TO_CLIENT, VALID_FROM - 1));
    ck_assert(!holds(&tx, "tls_cert_valid;", FLOW_TO_CLIENT, VALID_UNTIL + 1));
    ck_assert(holds(&tx, "tls_cert_expired;", FLOW_TO_CLIENT, VALID_UNTIL + 1));
    tx.side[FLOW_TO_CLIENT].certificates.decoded = false; /* without a certificate neither matches */
    ck_assert(!holds(&tx, "tls_cert_expired;", FLOW_TO_CLIENT, VALID_UNTIL + 1));
    ck_assert(!holds(&tx, "tls_cert_valid;", FLOW_TO_CLIENT, NOW));
}
END_TEST

START_TEST(chain_of_a_client_may_be_empty)
{
    struct tls_tx tx;
    char names[] = "CN=wwwCN=CA";

    fill(&tx, names);
    tx.flags |= TLS_SAW_CLIENT_CERTIFICATE;
    ck_assert(holds(&tx, "tls.cert_chain_len:0;", FLOW_TO_SERVER, NOW));
    ck_assert(!holds(&tx, "tls.cert_chain_len:>0;", FLOW_TO_SERVER, NOW));
    tx.side[FLOW_TO_CLIENT].certificates.count = 0; /* TLS 1.3: encrypted */
    ck_assert(holds(&tx, "tls.cert_chain_len:0;", FLOW_TO_CLIENT, NOW));
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
