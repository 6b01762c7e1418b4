/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The framework of application protocols, tested with protocols that this file defines. In `line` each line is a
 * transaction, in both directions. */
#include <check.h>

#include "../lib/app_rig.h"
#include "app/expect.h"

/* --- Protocols for the test ----------------------------------------------------------------------- */

struct line_state {
    unsigned calls, ends, gaps;
    uint64_t lost;
};
struct line_tx {
    struct app_tx base;
    struct buffer text[FLOW_DIRECTIONS];
};
enum { EVENT_ODD };

/* Of the parser that was started last. */
static struct {
    const struct line_state *state;
    char tag[16];
    uint32_t tag_length;
    unsigned fed; /* calls of any parser */
} parser;

static int start_parser(struct app_context *context, void *state)
{
    const void *tag = app_expectation_tag(context, &parser.tag_length);

    parser.state = state;
    ck_assert_uint_le(parser.tag_length, sizeof(parser.tag));
    if (parser.tag_length > 0)
        memcpy(parser.tag, tag, parser.tag_length);
    return 0;
}

static struct app_tx *tx_to_answer(struct app_context *context)
{
    struct app_tx *tx = app_tx_first(context);

    while (tx && tx->progress[FLOW_TO_CLIENT] > 0)
        tx = tx->next;
    return tx;
}

/* Executes the commands in a line of the protocol `line`. Returns true if the parser gets no more lines. */
static bool obey(struct app_context *context, const uint8_t *line, uint32_t length)
{
    struct app_expectation what = { .ip_version = 4, .server_port = 2121, .proto = "told" };

    if (length >= 6 && !memcmp(line, "CHANGE", 6)) {
        app_change_protocol(context, length >= 10 && !memcmp(line + 7, "bin", 3) ? "bin" : NULL, false);
        return true;
    }
    if (length >= 5 && !memcmp(line, "MAYBE", 5)) {
        app_change_protocol(context, "bin", true);
        return true;
    }
    if (length >= 5 && !memcmp(line, "CLOSE", 5)) {
        app_stop_parsing(context, true);
        return true;
    }
    if (length >= 3 && !memcmp(line, "ODD", 3))
        app_event(context, NULL, EVENT_ODD);
    else if (length >= 6 && !memcmp(line, "EXPECT", 6)) {
        what.client = app_context_flow(context)->client;
        what.server = app_context_flow(context)->server;
        ck_assert(app_expect(context, &what, line, length));
    }
    return false;
}

/* Returns -1 for an error, 1 if the parser gets no more lines, otherwise 0. */
static int take_line(struct app_context *context, const struct app_input *in, const uint8_t *line, uint32_t length)
{
    struct app_tx *tx = in->direction == FLOW_TO_SERVER ? app_tx_new(context) : tx_to_answer(context);
    struct line_tx *own = (struct line_tx *)tx;

    if (length >= 5 && !memcmp(line, "ERROR", 5))
        return -1;
    if (!tx)
        return in->direction == FLOW_TO_SERVER ? -1 : 0;
    buffer_append(app_heap(context), &own->text[in->direction], line, length, 1024);
    app_tx_advance(tx, in->direction, 1);
    return in->direction == FLOW_TO_SERVER && obey(context, line, length);
}

static struct app_result feed_lines(struct app_context *context, void *data, const struct app_input *in)
{
    struct line_state *state = data;
    uint32_t at = 0;
    int result = 0;

    parser.fed++;
    state->calls++;
    state->ends += in->end;
    state->gaps += in->gap > 0;
    state->lost += in->gap;
    while (at < in->length && result == 0) {
        const uint8_t *end = memchr(in->bytes + at, '\n', in->length - at);

        if (!end)
            break;
        result = take_line(context, in, in->bytes + at, (uint32_t)(end - in->bytes) - at);
        if (result < 0)
            return (struct app_result){ .status = APP_ERROR };
        at = (uint32_t)(end - in->bytes) + 1;
    }
    return (struct app_result){ .consumed = at };
}

static void free_line(struct app_context *context, struct app_tx *tx)
{
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        buffer_clear(app_heap(context), &((struct line_tx *)tx)->text[i]);
}

static void log_line(const struct app_tx *tx, const void *settings, struct fields *out)
{
    const struct line_tx *own = (const struct line_tx *)tx;

    (void)settings;
    if (own->text[FLOW_TO_SERVER].bytes)
        fields_bytes(out, "line", own->text[FLOW_TO_SERVER].bytes, own->text[FLOW_TO_SERVER].length);
    if (own->text[FLOW_TO_CLIENT].bytes)
        fields_bytes(out, "answer", own->text[FLOW_TO_CLIENT].bytes, own->text[FLOW_TO_CLIENT].length);
}

static const struct app_pattern line_patterns[] = {
    { .bytes = "LINE", .length = 4, .direction = FLOW_TO_SERVER },
    { .bytes = "hello", .length = 5, .nocase = true, .depth = 8, .direction = FLOW_TO_CLIENT },
};
static const struct app_event line_events[] = { { "odd", "an odd line" } };

static const struct app_proto app_line = {
    .name = "line",
    .transports = APP_TCP,
    .patterns = line_patterns,
    .pattern_count = 2,
    .state_size = sizeof(struct line_state),
    .start = start_parser,
    .feed = feed_lines,
    .pending_max = 100,
    .tx_size = sizeof(struct line_tx),
    .tx_free = free_line,
    .tx_max = 5,
    .events = line_events,
    .event_count = 1,
    .log_type = "line",
    .log_key = "line",
    .log = log_line,
};

/* A protocol that only an expectation of another flow identifies; it ignores gaps. */
static const struct app_proto app_told = {
    .name = "told",
    .transports = APP_TCP,
    .state_size = sizeof(struct line_state),
    .start = start_parser,
    .feed = feed_lines,
    .accepts_gaps = true,
    .tx_size = sizeof(struct line_tx),
    .tx_free = free_line,
    .log_type = "told",
    .log_key = "told",
    .log = log_line,
};

/* Parses units: a length byte and that number of bytes. Requests the bytes that it needs. Over UDP a datagram is a
 * unit. */
static struct app_result feed_units(struct app_context *context, void *data, const struct app_input *in)
{
    struct line_state *state = data;
    uint32_t at = 0;

    state->calls++;
    while (at < in->length && in->length - at > in->bytes[at]) {
        struct app_tx *tx = app_tx_new(context);

        if (!tx)
            return (struct app_result){ .status = APP_ERROR };
        tx->directions = 1u << in->direction;
        app_tx_advance(tx, in->direction, 1);
        at += 1u + in->bytes[at];
    }
    return (struct app_result){ .consumed = at, .needed = at < in->length ? 1u + in->bytes[at] : 0 };
}

static enum app_probe_result probe_units(const struct app_probe *in)
{
    if (in->bytes[0] != 3 && in->bytes[0] != 4)
        return APP_NO;
    if (in->length < 2)
        return APP_UNSURE;
    if (in->bytes[1] == 'r')
        return APP_REVERSED;
    return in->port_hint || in->bytes[1] == 'b' ? APP_YES : APP_NO;
}

static const struct app_proto app_bin = {
    .name = "bin",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "99,4242",
    .udp_ports = "4242",
    .probe = probe_units,
    .probe_any_port = true,
    .state_size = sizeof(struct line_state),
    .start = start_parser,
    .feed = feed_units,
    .tx_size = sizeof(struct app_tx),
};

const struct app_proto *const app_list[] = { &app_bin, &app_line, &app_told, NULL };
const size_t app_list_count = 3;
/* Replaces the generated list of keywords. */
const struct keyword *const keyword_list[] = { NULL };
const size_t keyword_list_count = 0;

static struct app_rig *rig;

static void setup(void)
{
    rig = app_rig_new("line", NULL);
}

static void teardown(void)
{
    app_rig_free(rig);
}

static const struct line_state *state(void)
{
    return parser.state;
}

static uint64_t counter(const char *name)
{
    return app_rig_counter(rig, name);
}

/* Checks that no parser gets more bytes. */
static void check_stopped(void)
{
    unsigned fed = parser.fed;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        app_rig_text(rig, direction, "LINE more\n");
    ck_assert_uint_eq(parser.fed, fed);
}

/* --- Identification ------------------------------------------------------------------------------- */

static const struct {
    const char *client, *server; /* first bytes of both sides; the client's arrive first */
    uint16_t port;
    const char *protocol;
} firsts[] = {
    { "LINE one\n", "", 80, "line" },
    { "nothing of the kind\n", "hello\n", 80, "line" },
    { "x\n", "***HELLO\n", 80, "line" },
    { "x\n", "****HELLO\n", 80, "failed" }, /* beyond the depth */
    { "LIN", "", 80, NULL },
    { "LINX", "nobody\n", 80, "failed" },
    { "\003bcd", "", 80, "bin" },
    { "\003xyz", "", 4242, "bin" }, /* identified by the port */
    { "\003xyz", "no way, no way", 80, "failed" },
    { "\003rev", "", 80, "bin" }, /* the direction is not swapped, because the first packet was seen */
};

START_TEST(finds_the_protocol)
{
    static const int cuts[] = { 0, 1 };

    for (size_t i = 0; i < 2; i++) {
        rig->cut = cuts[i];
        app_flow_free(rig->app, &rig->flow, NULL, NULL);
        app_rig_start_flow(rig);
        rig->flow.server_port = firsts[_i].port;
        app_rig_text(rig, FLOW_TO_SERVER, firsts[_i].client);
        app_rig_text(rig, FLOW_TO_CLIENT, firsts[_i].server);
        if (firsts[_i].protocol)
            ck_assert_str_eq(app_rig_protocol(rig), firsts[_i].protocol);
        else
            ck_assert_ptr_null(app_rig_protocol(rig));
    }
}
END_TEST

START_TEST(what_came_before_the_protocol_was_known_is_parsed)
{
    app_flow_free(rig->app, &rig->flow, NULL, NULL);

    uint64_t memory = counter("app_layer.memuse");

    app_rig_start_flow(rig);
    app_rig_text(rig, FLOW_TO_SERVER, "who knows\n");
    ck_assert_ptr_null(app_rig_tx(rig, 0));
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"line\":\"who knows\",\"answer\":\"hello\"}");
    ck_assert_uint_eq(counter("app_layer.flow.line"), 1);
    ck_assert_uint_gt(counter("app_layer.memuse"), memory);
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    ck_assert_uint_eq(counter("app_layer.memuse"), memory);
}
END_TEST

START_TEST(gives_up_after_so_many_bytes)
{
    static uint8_t bytes[5000];

    bytes[0] = 'L';
    bytes[1] = 'I';
    app_rig_send(rig, FLOW_TO_SERVER, bytes, sizeof(bytes));
    app_rig_send(rig, FLOW_TO_SERVER, bytes, sizeof(bytes));
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
    ck_assert_uint_eq(counter("app_layer.flow.failed_tcp"), 1);
    ck_assert_uint_lt(app_rig_memory(rig), sizeof(bytes)); /* the bytes are not kept */
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
    check_stopped();
}
END_TEST

START_TEST(a_protocol_that_is_off_is_not_found)
{
    app_rig_free(rig);
    rig = app_rig_new("line", "app-layer: { protocols: { line: { enabled: no } } }");
    app_rig_text(rig, FLOW_TO_SERVER, "LINE one\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
}
END_TEST

START_TEST(directions_that_differ_are_told)
{
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_uint_eq(rig->verdict.events, 0);
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    ck_assert_uint_eq(rig->verdict.events, 0);
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    rig->flow.server_port = 4242;
    app_rig_text(rig, FLOW_TO_SERVER, "\003xyz");
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_uint_eq(rig->verdict.events, 1u << (APP_LAYER_MISMATCH - APP_LAYER_EVENT_FIRST));
    ck_assert_str_eq(app_rig_protocol(rig), "bin");
    ck_assert_uint_eq(app_direction_protocol(&rig->flow, FLOW_TO_CLIENT), app_id_by_name("line"));
}
END_TEST

START_TEST(a_lost_beginning_is_no_beginning)
{
    app_rig_lose(rig, FLOW_TO_SERVER, 5);
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    ck_assert_ptr_null(app_rig_protocol(rig));
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_str_eq(app_rig_protocol(rig), "line"); /* the server's first packet was seen */
}
END_TEST

/* --- Feeding -------------------------------------------------------------------------------------- */

START_TEST(any_cut_gives_the_same)
{
    rig->cut = _i == 0 ? 0 : _i == 1 ? 1 : -1;
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nbb\nccc\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "A\nB\n");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"line\":\"LINE a\",\"answer\":\"A\"}");
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"line\":\"bb\",\"answer\":\"B\"}");
    ck_assert_str_eq(app_rig_json(rig, 2), "{\"line\":\"ccc\"}");
    ck_assert_ptr_null(app_rig_tx(rig, 3));
    ck_assert_uint_eq(counter("app_layer.tx.line"), 3);
}
END_TEST

START_TEST(a_parser_is_called_when_it_has_what_it_needs)
{
    rig->cut = 1;
    rig->flow.server_port = 4242;
    app_rig_text(rig, FLOW_TO_SERVER, "\004xyza");
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0));
    unsigned calls = state()->calls;

    app_rig_text(rig, FLOW_TO_SERVER, "\020123456789abcdef");
    ck_assert_uint_eq(state()->calls,
                      calls + 1); /* called once for the length byte, but not before the unit is complete */
    app_rig_text(rig, FLOW_TO_SERVER, "0");
    ck_assert_uint_eq(state()->calls, calls + 2);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 1));
}
END_TEST

START_TEST(what_is_not_consumed_is_bounded)
{
    static uint8_t bytes[90];

    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    app_rig_send(rig, FLOW_TO_SERVER, bytes, sizeof(bytes));
    ck_assert(!rig->failed);
    app_rig_send(rig, FLOW_TO_SERVER, bytes, sizeof(bytes));
    ck_assert(rig->failed);
    ck_assert_uint_eq(counter("app_layer.error.line.parser"), 1);
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT)); /* the direction has ended */
}
END_TEST

START_TEST(an_error_ends_parsing)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nERROR\n");
    ck_assert(rig->failed);
    check_stopped();
    ck_assert_ptr_null(app_rig_tx(rig, 2));
}
END_TEST

START_TEST(a_gap_ends_parsing_where_it_matters)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nhalf");
    app_rig_lose(rig, FLOW_TO_SERVER, 7);
    app_rig_text(rig, FLOW_TO_SERVER, "more\n");
    ck_assert(!rig->failed); /* a gap is no exception */
    check_stopped();
    ck_assert_uint_eq(counter("app_layer.error.line.gap"), 1);
}
END_TEST

START_TEST(a_gap_is_told_where_it_does_not)
{
    app_rig_expect(rig, "told", "x", 1);
    app_rig_text(rig, FLOW_TO_SERVER, "a\nhalf");
    app_rig_lose(rig, FLOW_TO_SERVER, 7);
    app_rig_text(rig, FLOW_TO_SERVER, "more\n");
    ck_assert_uint_eq(state()->gaps, 1);
    ck_assert_uint_eq(state()->lost, 7 + 4);
    ck_assert_str_eq(app_rig_json(rig, 1), "{\"line\":\"more\"}");
}
END_TEST

START_TEST(the_end_is_told_once)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    app_rig_end(rig, FLOW_TO_SERVER);
    ck_assert_uint_eq(state()->ends, 1);
    app_rig_close(rig);
    ck_assert_uint_eq(state()->ends, 2); /* the end of the other direction */
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    app_rig_close(rig);
    ck_assert_uint_eq(state()->ends, 2);
}
END_TEST

START_TEST(no_more_is_no_more)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nCLOSE\nrest\n");
    ck_assert(rig->stop_stream);
    ck_assert(!(rig->flow.flags & FLOW_BYPASS_REQUESTED)); /* app-layer bypass is not configured */
    ck_assert_ptr_null(app_rig_tx(rig, 2));
}
END_TEST

START_TEST(events_stay_on_their_transaction)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nODD\n");
    ck_assert(!app_rig_has_event(rig, 0, "odd"));
    ck_assert(app_rig_has_event(rig, 1, "odd"));
    ck_assert(app_tx_needs_inspection(app_rig_tx(rig, 1), FLOW_TO_CLIENT));
}
END_TEST

/* --- Change of protocol --------------------------------------------------------------------------- */

START_TEST(what_follows_a_change_is_another_protocol)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nCHANGE\n\003bcd");
    ck_assert_str_eq(app_rig_protocol(rig), "bin");
    ck_assert_uint_eq(app_original_protocol(&rig->flow), app_id_by_name("line"));
    ck_assert(app_tx_is_complete(app_rig_tx(rig, 0), FLOW_TO_CLIENT));
    ck_assert_uint_eq(app_rig_tx(rig, 2)->protocol, app_id_by_name("bin"));
}
END_TEST

START_TEST(another_protocol_than_announced_is_told)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nCHANGE bin\n");
    app_rig_text(rig, FLOW_TO_SERVER, "LINE b\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "hello\n");
    ck_assert_uint_eq(rig->verdict.events, 1u << (APP_LAYER_UNEXPECTED - APP_LAYER_EVENT_FIRST));
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
}
END_TEST

START_TEST(an_optional_change_that_does_not_come_is_none)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nMAYBE\nLINE b\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "one\n");
    ck_assert_str_eq(app_rig_protocol(rig), "line");
    ck_assert_str_eq(app_rig_json(rig, 2), "{\"line\":\"LINE b\"}");
    ck_assert_str_eq(app_rig_json(rig, 0), "{\"line\":\"LINE a\",\"answer\":\"one\"}");
}
END_TEST

/* --- Announced flows ------------------------------------------------------------------------------ */

START_TEST(an_announced_flow_gets_what_was_said_of_it)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nEXPECT me\n");
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    rig->flow.server_port = 2121;
    app_rig_text(rig, FLOW_TO_CLIENT, "data\n");
    ck_assert_str_eq(app_rig_protocol(rig), "told");
    ck_assert_uint_eq(parser.tag_length, 9);
    ck_assert_mem_eq(parser.tag, "EXPECT me", 9);

    app_flow_free(rig->app, &rig->flow, NULL, NULL); /* the flow had exactly one transaction */
    app_rig_start_flow(rig);
    rig->flow.server_port = 2121;
    app_rig_text(rig, FLOW_TO_CLIENT, "data\n");
    ck_assert_ptr_null(app_rig_protocol(rig));
}
END_TEST

START_TEST(an_announcement_does_not_last)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nEXPECT me\n");
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    rig->flow.server_port = 2121;
    rig->now_ns += UINT64_C(31) * 1000000000;
    app_rig_text(rig, FLOW_TO_CLIENT, "data\n");
    ck_assert_ptr_null(app_rig_protocol(rig));
}
END_TEST

static void announce(uint32_t client, uint16_t port, const char *tag)
{
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    memcpy(&rig->flow.client, &client, sizeof(client));
    rig->flow.server_port = port;
    app_rig_expect(rig, "told", tag, (uint32_t)strlen(tag));
}

/* Whether the connection is expected, with this tag. It begins, so that it is expected no longer. */
static bool is_expected(uint32_t client, uint16_t port, const char *tag)
{
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_rig_start_flow(rig);
    memcpy(&rig->flow.client, &client, sizeof(client));
    rig->flow.server_port = port;
    app_rig_text(rig, FLOW_TO_CLIENT, "data\n");
    if (!app_rig_protocol(rig))
        return false;
    ck_assert_str_eq(app_rig_protocol(rig), "told");
    ck_assert_uint_eq(parser.tag_length, strlen(tag));
    ck_assert_mem_eq(parser.tag, tag, strlen(tag));
    return true;
}

START_TEST(the_oldest_announcement_gives_way)
{
    for (uint32_t i = 0; i < EXPECTED_FLOWS_MAX + 3; i++) {
        rig->now_ns += 1000;
        announce(i, 2121, "x");
    }
    for (uint32_t i = 0; i < EXPECTED_FLOWS_MAX + 3; i++)
        ck_assert_int_eq(is_expected(i, 2121, "x"), i >= 3);
}
END_TEST

START_TEST(one_client_removes_no_announcements_of_others)
{
    const unsigned count = EXPECTED_FLOWS_MAX + 3;

    announce(1, 2121, "first");
    for (unsigned i = 0; i < count; i++) {
        rig->now_ns += 1000;
        announce(2, (uint16_t)(1024 + i), "other");
    }
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(is_expected(2, (uint16_t)(1024 + i), "other"), i >= count - EXPECTED_FLOWS_OF_CLIENT);
    ck_assert(is_expected(1, 2121, "first"));
}
END_TEST

START_TEST(a_later_announcement_of_the_same_connection_replaces_the_earlier_one)
{
    announce(1, 2121, "a");
    announce(1, 2121, "b");
    announce(1, 2122, "c");
    ck_assert(is_expected(1, 2121, "b"));
    ck_assert(!is_expected(1, 2121, "a"));
    ck_assert(is_expected(1, 2122, "c"));
}
END_TEST

/* --- Transactions --------------------------------------------------------------------------------- */

static void inspect_all(void)
{
    for (struct app_tx *tx = app_transactions(&rig->flow); tx; tx = tx->next) {
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            app_tx_set_inspected(tx, direction);
        }
    }
}

START_TEST(a_transaction_goes_when_all_have_seen_it)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nb\nc\n");
    app_rig_text(rig, FLOW_TO_CLIENT, "A\nB\n");
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0)); /* not inspected */
    inspect_all();
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0)); /* not logged */
    app_tx_set_logged(app_rig_tx(rig, 1));
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0));
    ck_assert_ptr_null(app_rig_tx(rig, 1));
    ck_assert_ptr_nonnull(app_rig_tx(rig, 2)); /* not answered */
    app_rig_text(rig, FLOW_TO_SERVER, "d\n");
    ck_assert_ptr_nonnull(app_rig_tx(rig, 3));
}
END_TEST

/* Returns the ids of the transactions in a list, in its order. */
static const char *ids_in(enum app_tx_list list)
{
    static char text[64];
    size_t length = 0;

    text[0] = '\0';
    for (const struct app_tx *tx = app_transaction_list(&rig->flow, list); tx; tx = tx->link[list].next)
        length += (size_t)snprintf(text + length, sizeof(text) - length, "%u", (unsigned)tx->id);
    return text;
}

START_TEST(a_list_has_what_changed_in_order)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\nb\nc\nd\n");
    ck_assert_str_eq(ids_in(APP_TX_CHANGED), "0123");
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_SERVER), "0123");
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_CLIENT), "");
    inspect_all();
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    ck_assert_str_eq(ids_in(APP_TX_CHANGED), "");
    app_rig_text(rig, FLOW_TO_CLIENT, "A\n");
    ck_assert_str_eq(ids_in(APP_TX_OPEN), "123");
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_CLIENT), "0");
    app_tx_mark_changed(app_rig_tx(rig, 3), FLOW_TO_CLIENT);
    app_tx_mark_changed(app_rig_tx(rig, 1), FLOW_TO_CLIENT);
    app_tx_mark_changed(app_rig_tx(rig, 2), FLOW_TO_CLIENT);
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_CLIENT), "0123");
    ck_assert_str_eq(ids_in(APP_TX_CHANGED), "0123");
    app_tx_set_inspected(app_rig_tx(rig, 1), FLOW_TO_CLIENT);
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_CLIENT), "023");
    app_tx_mark_changed(app_rig_tx(rig, 1), FLOW_TO_CLIENT);
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_CLIENT), "0123");
    app_skip_inspection(&rig->flow);
    ck_assert_str_eq(ids_in(APP_TX_UNINSPECTED + FLOW_TO_CLIENT), "");
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    ck_assert_ptr_nonnull(app_rig_tx(rig, 0));
    app_tx_set_logged(app_rig_tx(rig, 0));
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
    ck_assert_ptr_null(app_rig_tx(rig, 0));
    ck_assert_str_eq(ids_in(APP_TX_OPEN), "123");
}
END_TEST

START_TEST(open_transactions_are_bounded)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE 1\n2\n3\n4\n5\n");
    ck_assert(!rig->failed);
    app_rig_text(rig, FLOW_TO_SERVER, "6\n");
    ck_assert(rig->failed);
}
END_TEST

START_TEST(an_event_is_due_when_both_are_complete)
{
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), true));
    app_rig_text(rig, FLOW_TO_CLIENT, "A\n");
    ck_assert(app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
    app_rig_tx(rig, 0)->log_never = true;
    ck_assert(!app_tx_needs_log(rig->app, app_rig_tx(rig, 0), false));
}
END_TEST

START_TEST(without_memory_a_flow_is_an_exception)
{
    app_rig_free(rig);
    rig = app_rig_new_limited("line", NULL, 1);
    app_rig_text(rig, FLOW_TO_SERVER, "LINE a\n");
    ck_assert(rig->failed);
    ck_assert_uint_gt(app_rig_refused(rig), 0);
}
END_TEST

/* --- Datagrams ------------------------------------------------------------------------------------ */

static void datagrams(void)
{
    rig->transport = APP_UDP;
    rig->flow.protocol = IPPROTO_UDP;
    rig->flow.server_port = 4242;
}

START_TEST(a_datagram_is_one_unit)
{
    datagrams();
    app_rig_text(rig, FLOW_TO_SERVER, "\003xyz");
    ck_assert_str_eq(app_rig_protocol(rig), "bin");
    app_rig_text(rig, FLOW_TO_CLIENT, "\002no"); /* an identified protocol is not probed again */
    ck_assert_uint_eq(app_rig_tx(rig, 1)->directions, APP_TO_CLIENT);
    ck_assert_uint_eq(counter("app_layer.flow.bin_udp"), 1);
    ck_assert_uint_eq(counter("app_layer.tx.bin_udp"), 2);
}
END_TEST

START_TEST(an_answer_alone_turns_the_flow_round)
{
    datagrams();
    app_rig_text(rig, FLOW_TO_SERVER, "\003rev");
    ck_assert(rig->verdict.reversed);
    ck_assert_uint_eq(rig->flow.server_port, 40000);
    ck_assert_uint_eq(app_rig_tx(rig, 0)->directions, APP_TO_CLIENT);
}
END_TEST

START_TEST(each_datagram_is_identified)
{
    datagrams();
    for (unsigned i = 0; i < 300; i++)
        app_rig_text(rig, i % 2 ? FLOW_TO_CLIENT : FLOW_TO_SERVER, "zz");
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
    app_rig_text(rig, FLOW_TO_CLIENT, "\003bcd");
    ck_assert_str_eq(app_rig_protocol(rig), "bin");
}
END_TEST

START_TEST(datagrams_are_not_looked_at_for_ever)
{
    datagrams();
    for (unsigned i = 0; i < 2; i++) {
        app_rig_text(rig, FLOW_TO_SERVER, "zz");
        ck_assert_ptr_null(app_rig_protocol(rig));
        app_rig_text(rig, FLOW_TO_CLIENT, "zz");
    }
    ck_assert_str_eq(app_rig_protocol(rig), "failed");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("app");
    TCase *tcase = tcase_create("app");
    SRunner *runner = srunner_create(suite);

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, finds_the_protocol, 0, sizeof(firsts) / sizeof(firsts[0]));
    tcase_add_test(tcase, what_came_before_the_protocol_was_known_is_parsed);
    tcase_add_test(tcase, gives_up_after_so_many_bytes);
    tcase_add_test(tcase, a_protocol_that_is_off_is_not_found);
    tcase_add_test(tcase, directions_that_differ_are_told);
    tcase_add_test(tcase, a_lost_beginning_is_no_beginning);
    tcase_add_loop_test(tcase, any_cut_gives_the_same, 0, 3);
    tcase_add_test(tcase, a_parser_is_called_when_it_has_what_it_needs);
    tcase_add_test(tcase, what_is_not_consumed_is_bounded);
    tcase_add_test(tcase, an_error_ends_parsing);
    tcase_add_test(tcase, a_gap_ends_parsing_where_it_matters);
    tcase_add_test(tcase, a_gap_is_told_where_it_does_not);
    tcase_add_test(tcase, the_end_is_told_once);
    tcase_add_test(tcase, no_more_is_no_more);
    tcase_add_test(tcase, events_stay_on_their_transaction);
    tcase_add_test(tcase, what_follows_a_change_is_another_protocol);
    tcase_add_test(tcase, another_protocol_than_announced_is_told);
    tcase_add_test(tcase, an_optional_change_that_does_not_come_is_none);
    tcase_add_test(tcase, an_announced_flow_gets_what_was_said_of_it);
    tcase_add_test(tcase, an_announcement_does_not_last);
    tcase_add_test(tcase, the_oldest_announcement_gives_way);
    tcase_add_test(tcase, one_client_removes_no_announcements_of_others);
    tcase_add_test(tcase, a_later_announcement_of_the_same_connection_replaces_the_earlier_one);
    tcase_add_test(tcase, a_transaction_goes_when_all_have_seen_it);
    tcase_add_test(tcase, a_list_has_what_changed_in_order);
    tcase_add_test(tcase, open_transactions_are_bounded);
    tcase_add_test(tcase, an_event_is_due_when_both_are_complete);
    tcase_add_test(tcase, without_memory_a_flow_is_an_exception);
    tcase_add_test(tcase, a_datagram_is_one_unit);
    tcase_add_test(tcase, an_answer_alone_turns_the_flow_round);
    tcase_add_test(tcase, each_datagram_is_identified);
    tcase_add_test(tcase, datagrams_are_not_looked_at_for_ever);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
