/* SPDX-License-Identifier: GPL-2.0-or-later */
/* TFTP: valid and invalid requests, EVE, identification. */
#include <check.h>

#include "../lib/app_rig.h"

#define BYTES(text) text, sizeof(text) - 1

static struct app_rig *udp_rig(uint16_t server_port)
{
    struct app_rig *rig = app_rig_new("tftp", NULL);

    rig->flow.server_port = server_port;
    return rig;
}

static const struct {
    const char *bytes;
    size_t length;
    const char *json; /* NULL: no request */
} rows[] = {
    { BYTES("\0\1rfc1350.txt\0octet\0"), "{\"packet\":\"read\",\"file\":\"rfc1350.txt\",\"mode\":\"octet\"}" },
    { BYTES("\0\2a/b\0NetASCII\0"), "{\"packet\":\"write\",\"file\":\"a/b\",\"mode\":\"netascii\"}" },
    { BYTES("\0\1a\0mail\0blksize\0"), "{\"packet\":\"read\",\"file\":\"a\",\"mode\":\"mail\"}" },
    { BYTES("\0\1\0octet\0"), "{\"packet\":\"read\",\"file\":\"\",\"mode\":\"octet\"}" },
    { BYTES("\0\1a\0octet"), NULL },
    { BYTES("\0\1a\0octets\0"), NULL },
    { BYTES("\0\1a\0octe\0"), NULL },
    { BYTES("\0\1a"), NULL },
    { BYTES("\0\1"), NULL },
    { BYTES("\0"), NULL },
    { BYTES("\0\3a\0octet\0"), NULL },
    { BYTES("\1\1a\0octet\0"), NULL },
};

START_TEST(requests_are_found)
{
    struct app_rig *rig = udp_rig(69);

    app_rig_send(rig, FLOW_TO_SERVER, rows[_i].bytes, rows[_i].length);
    ck_assert_int_eq(app_rig_tx(rig, 0) != NULL, rows[_i].json != NULL);
    if (rows[_i].json) {
        ck_assert_str_eq(app_rig_json(rig, 0), rows[_i].json);
        ck_assert_str_eq(app_rig_protocol(rig), "tftp");
        ck_assert_uint_eq(app_rig_tx(rig, 0)->directions, APP_TO_SERVER);
        ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    }
    app_rig_free(rig);
}
END_TEST

START_TEST(other_datagrams_are_passed_over)
{
    struct app_rig *rig = udp_rig(69);

    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        app_rig_send(rig, FLOW_TO_SERVER, rows[i].bytes, rows[i].length);
        app_rig_send(rig, FLOW_TO_CLIENT, rows[i].bytes, rows[i].length);
    }
    ck_assert(app_rig_tx(rig, 7) !=
              NULL); /* requests count in both directions: the first datagram may have been forged */
    ck_assert(!app_rig_tx(rig, 8));
    for (uint64_t id = 0; id < 8; id++)
        ck_assert_uint_eq(app_rig_tx(rig, id)->directions, APP_TO_SERVER);
    ck_assert(!rig->failed);
    app_rig_free(rig);
}
END_TEST

START_TEST(another_port_is_not_asked)
{
    struct app_rig *rig = udp_rig(6969);

    app_rig_send(rig, FLOW_TO_SERVER, rows[0].bytes, rows[0].length);
    ck_assert(!app_rig_tx(rig, 0));
    app_rig_free(rig);
}
END_TEST

START_TEST(long_names_are_cut)
{
    struct app_rig *rig = udp_rig(69);
    char request[1024] = "\0\1";

    memset(request + 2, 'a', 1000);
    memcpy(request + 1003, "octet", 6);
    app_rig_send(rig, FLOW_TO_SERVER, request, 1009);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0));
    ck_assert_uint_eq(strspn(strstr(app_rig_json(rig, 0), "aa"), "a"), 512);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tftp");
    TCase *tcase = tcase_create("tftp");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, requests_are_found, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_test(tcase, other_datagrams_are_passed_over);
    tcase_add_test(tcase, another_port_is_not_asked);
    tcase_add_test(tcase, long_names_are_cut);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
