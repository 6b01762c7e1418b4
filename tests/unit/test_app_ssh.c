/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SSH: banners and their line ends, records, HASSH, the end of parsing, settings. */
#include <check.h>

#include "../lib/app_rig.h"

enum { BANNER_MAX = 256 }; /* ssh.md */

static const int cuts[] = { 0, 1, 5, -1 };
enum { CUTS = sizeof(cuts) / sizeof(cuts[0]) };

/* Writes a KEXINIT message with four lists of algorithms for each direction. */
static size_t make_kex(uint8_t *out)
{
    static const char *const lists[] = { "kex-a,kex-b", "ssh-ed25519", "enc-c", "enc-s", "mac-c",
                                         "mac-s",       "none",        "zlib",  "",      "" };
    size_t at = 6;

    memset(out, 0, 512);
    at += 16;
    for (unsigned i = 0; i < 10; i++) {
        size_t length = strlen(lists[i]);

        out[at + 3] = (uint8_t)length;
        memcpy(out + at + 4, lists[i], length);
        at += 4 + length;
    }
    at += 5 + 4; /* and padding */
    out[2] = (uint8_t)((at - 4) >> 8);
    out[3] = (uint8_t)(at - 4);
    out[4] = 4;
    out[5] = 20;
    return at;
}

static const uint8_t newkeys[] = { 0, 0, 0, 12, 10, 21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };

static void assert_buffer(const struct app_rig *rig, const char *keyword, enum flow_direction direction,
                          const char *want)
{
    struct app_bytes bytes = { 0 };
    bool there = app_rig_buffer(rig, 0, keyword, direction, 0, &bytes);

    ck_assert_msg(there == (want != NULL), "%s", keyword);
    if (want)
        ck_assert_msg(bytes.length == strlen(want) && memcmp(bytes.bytes, want, bytes.length) == 0, "%s: %.*s", keyword,
                      (int)bytes.length, (const char *)bytes.bytes);
}

START_TEST(session_is_read)
{
    struct app_rig *rig = app_rig_new("ssh", NULL);
    uint8_t kex[512];
    size_t length = make_kex(kex);

    rig->cut = cuts[_i];
    app_rig_text(rig, FLOW_TO_CLIENT, "SSH-2.0-OpenSSH_9.6 Debian-1\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-libssh2_1.11\n");
    assert_buffer(rig, "ssh.proto", FLOW_TO_SERVER, "2.0");
    assert_buffer(rig, "ssh.software", FLOW_TO_SERVER, "libssh2_1.11");
    assert_buffer(rig, "ssh.software", FLOW_TO_CLIENT, "OpenSSH_9.6");
    assert_buffer(rig, "ssh.hassh", FLOW_TO_SERVER, NULL);
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    app_rig_send(rig, FLOW_TO_SERVER, kex, length);
    app_rig_send(rig, FLOW_TO_CLIENT, kex, length);
    assert_buffer(rig, "ssh.hassh.string", FLOW_TO_SERVER, "kex-a,kex-b;enc-c;mac-c;none");
    assert_buffer(rig, "ssh.hassh.server.string", FLOW_TO_CLIENT, "kex-a,kex-b;enc-s;mac-s;zlib");
    assert_buffer(rig, "ssh.hassh", FLOW_TO_SERVER, "a049be38308c5c8352bcb474c61ac664");
    app_rig_send(rig, FLOW_TO_SERVER, newkeys, sizeof(newkeys));
    ck_assert(!rig->stop_stream);
    app_rig_text(rig, FLOW_TO_SERVER, "encrypted");
    app_rig_send(rig, FLOW_TO_CLIENT, newkeys, sizeof(newkeys));
    ck_assert(rig->stop_stream);
    app_rig_text(rig, FLOW_TO_CLIENT, "encrypted");
    ck_assert(!rig->failed);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_SERVER));
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    ck_assert_ptr_nonnull(strstr(app_rig_json(rig, 0),
                                 "{\"client\":{\"proto_version\":\"2.0\",\"software_version\":\"libssh2_1.11\","
                                 "\"hassh\":{\"hash\":\""));
    app_rig_free(rig);
}
END_TEST

static const struct {
    const char *sent, *proto, *software;
    const char *event;
    bool fails;
} banners[] = {
    { "SSH-2.0-x\r\n", "2.0", "x", NULL, false },
    { "SSH-1.99-Cisco_server-1.24\n", "1.99", "Cisco_server-1.24", NULL, false },
    { "SSH-2.0-x comment here\r\n", "2.0", "x", NULL, false },
    { "SSH-2.0-x\rmore", "2.0", "x", NULL, false },
    { "SSH-2.0-\r\n", "2.0", NULL, NULL, false },
    { "SSH-2.0\r\n", NULL, NULL, "invalid_banner", true },
    { "SSH--x\r\n", NULL, NULL, "invalid_banner", true },
};

START_TEST(banner_is_read)
{
    struct app_rig *rig = app_rig_new("ssh", NULL);

    rig->cut = cuts[_i % CUTS];
    app_rig_text(rig, FLOW_TO_SERVER, banners[_i / CUTS].sent);
    assert_buffer(rig, "ssh.proto", FLOW_TO_SERVER, banners[_i / CUTS].proto);
    assert_buffer(rig, "ssh.software", FLOW_TO_SERVER, banners[_i / CUTS].software);
    ck_assert_int_eq(rig->failed, banners[_i / CUTS].fails);
    if (banners[_i / CUTS].event)
        ck_assert(app_rig_has_event(rig, 0, banners[_i / CUTS].event));
    app_rig_free(rig);
}
END_TEST

/* A long banner is truncated; parsing continues after the end of its line. */
START_TEST(long_banner_is_cut)
{
    struct app_rig *rig = app_rig_new("ssh", NULL);
    struct app_bytes bytes;
    uint8_t kex[512];
    char banner[600] = "SSH-2.0-";

    rig->cut = cuts[_i];
    memset(banner + 8, 'A', 500);
    strcpy(banner + 508, "\r\n");
    app_rig_text(rig, FLOW_TO_SERVER, banner);
    ck_assert(app_rig_has_event(rig, 0, "long_banner"));
    ck_assert(app_rig_buffer(rig, 0, "ssh.software", FLOW_TO_SERVER, 0, &bytes));
    ck_assert_uint_eq(bytes.length, BANNER_MAX - strlen("SSH-2.0-"));
    app_rig_send(rig, FLOW_TO_SERVER, kex, make_kex(kex));
    assert_buffer(rig, "ssh.hassh.string", FLOW_TO_SERVER, "kex-a,kex-b;enc-c;mac-c;none");
    app_rig_free(rig);
}
END_TEST

START_TEST(bad_record_fails)
{
    struct app_rig *rig = app_rig_new("ssh", NULL);

    rig->cut = cuts[_i];
    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-x\r\n");
    app_rig_send(rig, FLOW_TO_SERVER, "\0\0\0\1\0\0", 6);
    ck_assert(rig->failed);
    ck_assert(app_rig_has_event(rig, 0, "invalid_record"));
    app_rig_free(rig);
}
END_TEST

/* A long KEXINIT is skipped with an event; a malformed one gives no fingerprint. */
START_TEST(odd_offers_are_skipped)
{
    struct app_rig *rig = app_rig_new("ssh", NULL);
    static const uint8_t broken[] = { 0, 0, 0, 10, 4, 20, 1, 2, 3, 4, 5, 6, 7, 8 };
    static const uint8_t head[] = { 0, 2, 0, 0, 4, 20 };
    static uint8_t body[(2 << 16) - 2];

    rig->cut = _i ? 100 : 0;
    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-x\r\n");
    app_rig_send(rig, FLOW_TO_SERVER, broken, sizeof(broken));
    assert_buffer(rig, "ssh.hassh", FLOW_TO_SERVER, NULL);
    ck_assert(!app_rig_has_event(rig, 0, "long_kex_record"));
    app_rig_text(rig, FLOW_TO_CLIENT, "SSH-2.0-y\r\n");
    app_rig_send(rig, FLOW_TO_CLIENT, head, sizeof(head));
    app_rig_send(rig, FLOW_TO_CLIENT, body, sizeof(body));
    ck_assert(app_rig_has_event(rig, 0, "long_kex_record"));
    app_rig_send(rig, FLOW_TO_CLIENT, newkeys, sizeof(newkeys));
    app_rig_send(rig, FLOW_TO_SERVER, newkeys, sizeof(newkeys));
    ck_assert(!rig->failed && rig->stop_stream);
    app_rig_free(rig);
}
END_TEST

START_TEST(settings_are_kept)
{
    struct app_rig *rig =
        app_rig_new("ssh", "app-layer:\n  protocols:\n    ssh:\n      hassh: no\n      encryption-handling: full\n");
    uint8_t kex[512];

    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-x\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "SSH-2.0-y\r\n");
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    app_rig_send(rig, FLOW_TO_SERVER, kex, make_kex(kex));
    assert_buffer(rig, "ssh.hassh", FLOW_TO_SERVER, NULL);
    app_rig_send(rig, FLOW_TO_SERVER, newkeys, sizeof(newkeys));
    app_rig_send(rig, FLOW_TO_CLIENT, newkeys, sizeof(newkeys));
    ck_assert(!rig->stop_stream);
    app_rig_free(rig);
}
END_TEST

/* encryption-handling: the flow may be bypassed with `bypass` only. */
START_TEST(an_encrypted_session_is_bypassed)
{
    const char *settings = _i ? "app-layer.protocols.ssh.encryption-handling: bypass\n" : NULL;
    struct app_rig *rig = app_rig_new("ssh", settings);

    app_rig_text(rig, FLOW_TO_SERVER, "SSH-2.0-x\r\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "SSH-2.0-y\r\n");
    app_rig_send(rig, FLOW_TO_SERVER, newkeys, sizeof(newkeys));
    ck_assert(!app_may_bypass(&rig->flow));
    app_rig_send(rig, FLOW_TO_CLIENT, newkeys, sizeof(newkeys));
    ck_assert(rig->stop_stream);
    ck_assert_int_eq(app_may_bypass(&rig->flow), _i);
    app_rig_free(rig);
}
END_TEST

/* A session with only one banner is logged at its end. */
START_TEST(half_a_session_is_logged)
{
    struct app_rig *rig = app_rig_new("ssh", NULL);

    app_rig_text(rig, FLOW_TO_CLIENT, "SSH-2.0-y\r\n");
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    app_rig_close(rig);
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), true));
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"server\":{\"proto_version\":\"2.0\",\"software_version\":\"y\"}}");
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_ssh");
    TCase *tests = tcase_create("ssh");

    tcase_add_loop_test(tests, session_is_read, 0, CUTS);
    tcase_add_loop_test(tests, banner_is_read, 0, (int)(sizeof(banners) / sizeof(banners[0])) * CUTS);
    tcase_add_loop_test(tests, long_banner_is_cut, 0, CUTS);
    tcase_add_loop_test(tests, bad_record_fails, 0, CUTS);
    tcase_add_loop_test(tests, odd_offers_are_skipped, 0, 2);
    tcase_add_test(tests, settings_are_kept);
    tcase_add_loop_test(tests, an_encrypted_session_is_bypassed, 0, 2);
    tcase_add_test(tests, half_a_session_is_logged);
    suite_add_tcase(suite, tests);
    SRunner *runner = srunner_create(suite);

    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? 1 : 0;
}
