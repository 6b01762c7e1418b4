/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Client addresses behind proxies (xff): parsing, and their place in events. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "output/client.h"
#include "output_rig.h"

#include "app_rig.h"

/* --- Reading -------------------------------------------------------------------------------------- */

static const struct {
    const char *header, *first, *last; /* expected addresses; NULL: none */
} headers[] = {
    { "192.0.2.1", "192.0.2.1", "192.0.2.1" },
    { "192.0.2.1, 192.0.2.2, 192.0.2.3", "192.0.2.1", "192.0.2.3" },
    { "192.0.2.1,192.0.2.2", "192.0.2.1", "192.0.2.2" },
    { " \t192.0.2.1 ,\t192.0.2.2 \t", "192.0.2.1", "192.0.2.2" },
    { "192.0.2.1:5678", "192.0.2.1", "192.0.2.1" },
    { "[2001:db8::1]:80, 192.0.2.2:81", "2001:db8::1", "192.0.2.2" },
    { "[2001:db8::1]", "2001:db8::1", "2001:db8::1" },
    { "2001:DB8:0::1", "2001:db8::1", "2001:db8::1" },
    { "[::ffff:192.0.2.1]:1234", "::ffff:192.0.2.1", "::ffff:192.0.2.1" },
    { "[192.0.2.1:1234", NULL, NULL },
    { "[", NULL, NULL },
    { "[]", NULL, NULL },
    { ":", NULL, NULL },
    { "999.999.999.999:1234", NULL, NULL },
    { "unknown, 192.0.2.2", NULL, "192.0.2.2" },
    { "192.0.2.1, unknown", "192.0.2.1", NULL },
    { "192.0.2.1,", "192.0.2.1", NULL },
    { ",192.0.2.1", NULL, "192.0.2.1" },
    { "192.0.2.1\"},{\"", NULL, NULL },
    { "192.0.2.1/24", NULL, NULL },
    { "", NULL, NULL },
    { "  ", NULL, NULL },
};

static void expect_client(const char *header, size_t length, bool first, const char *wanted)
{
    uint8_t *bytes = malloc(length + 1); /* of exact size, so that a sanitizer detects reads past the end */
    struct record_client client;
    char text[ADDRESS_TEXT_SIZE];

    memcpy(bytes, header, length);
    client = client_parse(bytes, (uint32_t)length, first);
    free(bytes);
    ck_assert_msg((client.ip_version != 0) == (wanted != NULL), "%s", header);
    if (!wanted)
        return;
    address_format(&client.address, client.ip_version, false, text);
    ck_assert_str_eq(text, wanted);
}

START_TEST(reads_one_address)
{
    expect_client(headers[_i].header, strlen(headers[_i].header), true, headers[_i].first);
    expect_client(headers[_i].header, strlen(headers[_i].header), false, headers[_i].last);
}
END_TEST

START_TEST(entries_have_an_end)
{
    char many[4096];

    memset(many, '1', sizeof(many));
    expect_client(many, sizeof(many), true, NULL);
    expect_client(many, sizeof(many), false, NULL);
    memcpy(many + sizeof(many) - 11, ", 192.0.2.1", 11);
    expect_client(many, sizeof(many), true, NULL);
    expect_client(many, sizeof(many), false, "192.0.2.1");
    many[sizeof(many) - 129] = '[';
    memset(many + sizeof(many) - 128, ' ', 128);
    expect_client(many, sizeof(many), false, NULL);
}
END_TEST

/* --- Events --------------------------------------------------------------------------------------- */

#define REQUEST(headers) "GET /a HTTP/1.1\r\nHost: h\r\n" headers "\r\n"
#define ANSWER "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
#define TWO "x-forwarded-FOR: 192.0.2.1, 192.0.2.2\r\n"

enum mode { OFF, EXTRA, OVERWRITE };
enum { WITHOUT_TX = 1, TO_SERVER = 2, NO_METADATA = 4 };

static const struct event_case {
    const char *request;
    enum mode mode;
    bool first;
    unsigned how;
    const char *type;
    bool present;
    const char *piece;
} events[] = {
    { REQUEST(TWO), EXTRA, false, 0, "alert", true, "\"severity\":3,\"xff\":\"192.0.2.2\"}" },
    { REQUEST(TWO), EXTRA, true, 0, "alert", true, "\"xff\":\"192.0.2.1\"}" },
    { REQUEST(TWO), EXTRA, true, NO_METADATA, "alert", true, "\"xff\":\"192.0.2.1\"}" },
    { REQUEST(TWO), EXTRA, true, NO_METADATA, "alert", false, "\"http\":{" },
    { REQUEST(TWO), EXTRA, true, WITHOUT_TX, "alert", true, "\"xff\":\"192.0.2.1\"}" },
    { REQUEST(TWO), EXTRA, false, 0, "alert", true, "\"dest_ip\":\"10.0.0.1\"" },
    { REQUEST(TWO), OFF, false, 0, "alert", false, "\"xff\":\"192.0.2.2\"}" },
    { REQUEST(""), EXTRA, false, 0, "alert", false, "\"xff\":" },
    { REQUEST(""), OVERWRITE, false, 0, "alert", true, "\"dest_ip\":\"10.0.0.1\"" },
    { REQUEST("X-Forwarded-For: nobody\r\n"), EXTRA, false, NO_METADATA, "alert", false, "\"xff\":" },
    { REQUEST("X-Forwarded-For: 192.0.2.1\r\nX-Forwarded-For: 192.0.2.3\r\n"), EXTRA, false, 0, "alert", true,
      "\"xff\":\"192.0.2.3\"}" },
    { REQUEST("X-Forwarded-Fo: 192.0.2.1\r\nX-Forwarded-Form: 192.0.2.3\r\n"), EXTRA, false, 0, "alert", false,
      "\"xff\":" },
    { REQUEST(TWO), OVERWRITE, false, 0, "alert", true,
      "\"src_ip\":\"10.0.0.2\",\"src_port\":80,\"dest_ip\":\"192.0.2.2\",\"dest_port\":40000" },
    { REQUEST(TWO), OVERWRITE, false, TO_SERVER, "alert", true,
      "\"src_ip\":\"192.0.2.2\",\"src_port\":40000,\"dest_ip\":\"10.0.0.2\",\"dest_port\":80" },
    { REQUEST(TWO), OVERWRITE, true, WITHOUT_TX, "alert", true, "\"dest_ip\":\"192.0.2.1\",\"dest_port\":40000" },
    { REQUEST(TWO), OVERWRITE, false, 0, "alert", false, "\"xff\":\"192.0.2.2\"}" },
    { REQUEST(TWO), OVERWRITE, false, 0, "alert", false, "10.0.0.1" }, /* not in "flow" either */
    { REQUEST("X-Forwarded-For: [2001:db8::1]:80\r\n"), OVERWRITE, false, 0, "alert", true,
      "\"dest_ip\":\"2001:0db8:0000:0000:0000:0000:0000:0001\"" },
    { REQUEST("X-Forwarded-For: [2001:db8:0::1]:80\r\n"), EXTRA, false, 0, "alert", true, "\"xff\":\"2001:db8::1\"}" },
    { REQUEST(TWO), EXTRA, false, 0, "http", true, "\"sluice\":{\"xff\":\"192.0.2.2\"" },
    { REQUEST(TWO), OFF, false, 0, "http", false, "\"sluice\":{\"xff\":" },
    { REQUEST(TWO), OVERWRITE, false, 0, "http", true,
      "\"src_ip\":\"192.0.2.2\",\"src_port\":40000,\"dest_ip\":\"10.0.0.2\"" },
    { REQUEST(TWO), OVERWRITE, false, 0, "http", false, "\"sluice\":{\"xff\":" },
    { REQUEST(TWO), EXTRA, false, 0, "fileinfo", true, "\"sluice\":{\"xff\":\"192.0.2.2\"" },
    { REQUEST(TWO), OVERWRITE, false, 0, "fileinfo", true,
      "\"src_ip\":\"10.0.0.2\",\"src_port\":80,\"dest_ip\":\"192.0.2.2\",\"dest_port\":40000" },
};

static const char *event_of(const char *type)
{
    char piece[64];

    snprintf(piece, sizeof(piece), "\"event_type\":\"%s\"", type);
    for (size_t i = 0; i < output_rig->count; i++) {
        if (strstr(output_rig->events[i], piece))
            return output_rig->events[i];
    }
    ck_abort_msg("no %s event", type);
}

static void configure(const struct event_case *c)
{
    const struct xff_options xff = {
        .enabled = c->mode != OFF,
        .overwrite = c->mode == OVERWRITE,
        .first = c->first,
        .header = "X-Forwarded-For",
    };
    struct eve_options *eve = &output_rig->options.eve;

    eve->xff.alert = eve->xff.http = eve->xff.files = xff;
    eve->enabled[OUTPUT_APP] = eve->enabled[OUTPUT_FILE] = true;
    eve->app[app_id_by_name("http") - 1] = true;
    eve->anomaly.application = false;
    if (c->how & NO_METADATA)
        eve->alert.app_layer = false;
}

/* Makes the sample's packet a packet of the rig's flow. */
static void put_into_flow(struct app_rig *rig, bool to_client)
{
    struct packet *pkt = &output_rig->sample.packet;
    const struct flow *flow = &rig->flow;

    pkt->flow = &rig->flow;
    pkt->source_address = to_client ? flow->server : flow->client;
    pkt->destination_address = to_client ? flow->client : flow->server;
    pkt->source_port = to_client ? flow->server_port : flow->client_port;
    pkt->destination_port = to_client ? flow->client_port : flow->server_port;
    if (to_client)
        pkt->flags |= PACKET_TO_CLIENT;
    else
        pkt->flags &= ~PACKET_TO_CLIENT;
}

START_TEST(events_have_the_client)
{
    const struct event_case *c = &events[_i];
    static const struct rule rule = { .gid = 1, .sid = 1, .priority = 3, .action = ACTION_ALERT };
    struct app_rig *rig = app_rig_new("http", NULL);

    configure(c);
    output_rig_open(1);
    sample_tcp(&output_rig->sample);
    app_rig_text(rig, FLOW_TO_SERVER, c->request);
    app_rig_text(rig, FLOW_TO_CLIENT, ANSWER);
    put_into_flow(rig, !(c->how & TO_SERVER));

    const struct app_tx *tx = app_rig_tx(rig, 0);
    struct alert alerts[] = { { .rule = &rule, .tx = c->how & WITHOUT_TX ? NULL : tx },
                              { .rule = &rule, .tx = c->how & WITHOUT_TX ? NULL : tx } };

    ck_assert_ptr_nonnull(tx);
    output_rig->sample.decision = (struct decision){ .alerts = alerts, .alert_count = 2, .app = rig->app };
    output_rig_put(0);
    output_transaction(output_port(output_rig->output, 0), &output_rig->sample.packet, &rig->flow, rig->app, tx, 7);
    ck_assert_ptr_nonnull(tx->files[FLOW_TO_CLIENT].first);
    output_file(output_port(output_rig->output, 0), &output_rig->sample.packet, &rig->flow, rig->app, tx,
                tx->files[FLOW_TO_CLIENT].first, FLOW_TO_CLIENT, 7);
    output_rig_finish(output_rig->path);
    ck_assert_uint_eq(output_rig->count, 4);
    output_rig_expect(event_of(c->type), c->present, c->piece);
    if (strcmp(c->type, "alert") == 0)
        output_rig_expect(output_rig->events[1], c->present, c->piece);
    app_rig_free(rig);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("output_client");
    TCase *tcase = tcase_create("client");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, output_rig_setup, output_rig_teardown);
    tcase_add_loop_test(tcase, reads_one_address, 0, ROWS(headers));
    tcase_add_test(tcase, entries_have_an_end);
    tcase_add_loop_test(tcase, events_have_the_client, 0, ROWS(events));
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
