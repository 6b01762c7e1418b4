/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Identification of datagram protocols: the tables that exclude protocols must give the same result as probing every
 * protocol.
 */
#include <check.h>

#include "../lib/app_rig.h"
#include "app/identify.h"

#define DATA(text) text, sizeof(text) - 1

/* Messages of the protocols that are identified on any port, one for each of their heads. */
static const struct {
    const char *protocol, *bytes;
    size_t length;
} samples[] = {
    { "dns", DATA("\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x01x\x02zz\x00\x00\x01\x00\x01") },
    { "dns", DATA("\x12\x34\x81\x83\x00\x01\x00\x00\x00\x00\x00\x00\x01x\x02zz\x00\x00\x01\x00\x01") },
    { "krb5", DATA("\x6e\x0c\x30\x0a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x0e") },
    { "krb5", DATA("\x6a\x0c\x30\x0a\xa1\x03\x02\x01\x05\xa2\x03\x02\x01\x0a") },
    { "krb5", DATA("\x6b\x81\x8d\x30\x81\x8a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x0b") },
    { "krb5", DATA("\x7e\x84\x00\x00\x00\x8d\x30\x84\x00\x00\x00\x8a\xa0\x03\x02\x01\x05\xa1\x03\x02\x01\x1e") },
    { "nfs", DATA("\x01\x02\x03\x04\0\0\0\0\0\0\0\x02\0\x01\x86\xa3\0\0\0\x03\0\0\0\0\0\0\0\0\0\0\0\0"
                  "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") },
    { "dcerpc", DATA("\x04\0\x08\0\x10\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                     "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0") },
    { "sip", DATA("OPTIONS tel:1 SIP/2.0\r\n") },
    { NULL, DATA("xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") },
};
enum { SAMPLES = sizeof(samples) / sizeof(samples[0]), SAMPLE_MAX = 128 };

/* Unassigned ports, service ports, and ports for which the protocol is identified only from the client. */
static const uint16_t ports[] = { 9999, 40000, 53, 88, 67, 500, 123, 69, 2049, 5353, 5355, 5300 };
enum { PORTS = sizeof(ports) / sizeof(ports[0]) };

static struct app_options options; /* of the struct app under test */

/* Probes every protocol, those that the ports suggest first. */
static unsigned ask_all(const struct app *app, const struct app_probe *probe, struct app_datagram_match *out)
{
    unsigned count = 0;

    for (unsigned hinted = 2; hinted-- > 0;) {
        for (size_t i = 0; i < app_list_count; i++) {
            const struct app_proto *proto = app_list[i];
            struct app_probe asked = *probe;

            asked.port_hint = app_is_expected_at(app, i, APP_UDP, probe->client_port) ||
                              app_is_expected_at(app, i, APP_UDP, probe->server_port);
            if (!(proto->transports & APP_UDP) || !options.enabled[i] || asked.port_hint != hinted)
                continue;
            if (!proto->probe || (!hinted && !proto->probe_any_port))
                continue;
            enum app_probe_result guess = proto->probe(&asked);

            if (guess == APP_YES || guess == APP_REVERSED)
                out[count++] = (struct app_datagram_match){ .id = (uint8_t)(i + 1), .reversed = guess == APP_REVERSED };
        }
    }
    return count;
}

/* Returns whether the tables and ask_all() give the same result, in both directions. No assertion for each case,
 * because there are many. */
static bool is_same(const struct app *app, const uint8_t *bytes, uint32_t length, uint16_t client_port,
                    uint16_t server_port)
{
    bool same = true;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        const struct app_probe probe = {
            .bytes = bytes,
            .length = length,
            .direction = direction,
            .transport = APP_UDP,
            .client_port = client_port,
            .server_port = server_port,
        };
        struct app_datagram_match all[APP_MAX_PROTOCOLS], found[APP_MAX_PROTOCOLS];
        unsigned all_count = ask_all(app, &probe, all);

        same &= app_identify_datagram(app, &probe, 0, found) == all_count;
        for (unsigned i = 0; same && i < all_count; i++)
            same &= found[i].id == all[i].id && found[i].reversed == all[i].reversed;
        if (all_count > 0 && !app_has_known_port(app, client_port, server_port))
            same &= !app_matches_no_head(app, bytes, length);
    }
    return same;
}

START_TEST(samples_are_found_on_any_port)
{
    struct app_rig *rig = app_rig_new("dns", NULL);
    const struct app_probe probe = {
        .bytes = (const uint8_t *)samples[_i].bytes,
        .length = (uint32_t)samples[_i].length,
        .transport = APP_UDP,
        .client_port = 40000,
        .server_port = 9999,
    };
    struct app_datagram_match claims[APP_MAX_PROTOCOLS];
    unsigned count = app_identify_datagram(rig->app, &probe, 0, claims);

    ck_assert_uint_eq(count, samples[_i].protocol ? 1 : 0);
    if (count > 0) {
        ck_assert_str_eq(app_name_by_id(claims[0].id), samples[_i].protocol);
        ck_assert_uint_eq(app_identify_datagram(rig->app, &probe, claims[0].id, claims), 0);
    }
    app_rig_free(rig);
}
END_TEST

START_TEST(most_datagrams_ask_nobody)
{
    struct app_rig *rig = app_rig_new("dns", NULL);

    for (size_t i = 0; i < app_list_count; i++)
        if (app_list[i]->transports & APP_UDP)
            ck_assert(app_list[i]->pattern_count == 0 || app_list[i]->heads); /* ask_all() evaluates no patterns */
    ck_assert(app_matches_no_head(rig->app, (const uint8_t *)samples[SAMPLES - 1].bytes, 64));
    ck_assert(!app_has_known_port(rig->app, 40000, 9999));
    ck_assert(app_has_known_port(rig->app, 40000, 53));
    ck_assert(app_has_known_port(rig->app, 5353, 9999));
    app_rig_free(rig);
}
END_TEST

/* Repeats the test with ports that the settings change. */
static void move_ports(void)
{
    unsigned dns = app_id_by_name("dns") - 1, mdns = app_id_by_name("mdns") - 1, llmnr = app_id_by_name("llmnr") - 1;

    options.ports[dns][1] = (struct app_ports){ .set = true, .count = 1, .port = { 5300 } };
    options.ports[mdns][1] = options.ports[llmnr][1] = (struct app_ports){ .set = true };
}

static struct app *app_with(bool moved)
{
    struct app_rig *rig = app_rig_new("dns", NULL);
    struct app *app;

    options = rig->options;
    app_rig_free(rig);
    if (moved)
        move_ports();
    ck_assert_int_eq(app_new(&app, &options, NULL), 0);
    return app;
}

START_TEST(tables_say_what_all_protocols_say)
{
    struct app *app = app_with(_i % 2);
    uint8_t bytes[SAMPLE_MAX];

    for (unsigned s = 0; s < SAMPLES; s++) {
        bool same = true;

        for (unsigned at = 0; at < 16 && at < samples[s].length; at++) {
            for (unsigned value = 0; value <= UINT8_MAX; value++) {
                unsigned client = (at + value) % PORTS, server = (value / PORTS) % PORTS;

                memcpy(bytes, samples[s].bytes, samples[s].length);
                bytes[at] = (uint8_t)value;
                same &= is_same(app, bytes, (uint32_t)samples[s].length, 40000, 9999);
                same &= is_same(app, bytes, (uint32_t)samples[s].length, ports[client], ports[server]);
            }
        }
        for (uint32_t length = 1; length <= samples[s].length; length++)
            for (unsigned port = 0; port < PORTS; port++)
                same &= is_same(app, (const uint8_t *)samples[s].bytes, length, ports[port], 9999);
        ck_assert(same);
    }
    app_free(app);
}
END_TEST

/* A head may need the second and third byte of a message together. */
START_TEST(heads_admit_pairs_of_bytes)
{
    struct app *app = app_with(false);
    uint8_t bytes[SAMPLE_MAX];
    bool same = true;

    memcpy(bytes, samples[_i].bytes, samples[_i].length);
    for (unsigned value = 0; value <= UINT16_MAX; value++) {
        bytes[1] = (uint8_t)(value >> 8);
        bytes[2] = (uint8_t)value;
        same &= is_same(app, bytes, (uint32_t)samples[_i].length, 40000, 9999);
    }
    ck_assert(same);
    app_free(app);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app_identify");
    TCase *tcase = tcase_create("app_identify");
    SRunner *runner = srunner_create(suite);

    tcase_add_loop_test(tcase, samples_are_found_on_any_port, 0, SAMPLES);
    tcase_add_test(tcase, most_datagrams_ask_nobody);
    tcase_add_loop_test(tcase, tables_say_what_all_protocols_say, 0, 2);
    tcase_add_loop_test(tcase, heads_admit_pairs_of_bytes, 0, SAMPLES);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);

    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
