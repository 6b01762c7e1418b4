/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datagrams to parsers. The sender of the first packet, whose address may be forged, must not decide which protocol a
 * pair of ports speaks and which end is the client. So each datagram is identified by itself: it goes to the parser of
 * the flow's protocol, and to those of all other protocols that it may be a message of (reading.c).
 *
 * The first packet says which end is the client. Where a message says otherwise by its content, or the ports do, rules
 * of both directions are evaluated (app_verdict.either_direction).
 */
#include "app_priv.h"

enum {
    DATAGRAMS_MAX = 2,        /* of a direction that were not identified before that is noted of the flow */
    SERVICE_PORTS_END = 1024, /* below it are ports of services (RFC 6335: system ports) */
    EPHEMERAL_PORTS = 32768   /* from here on are ports that Linux and others give to clients */
};

static enum flow_direction opposite(enum flow_direction direction)
{
    return direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
}

static bool is_service_port(const struct app *app, uint16_t port)
{
    return port < SERVICE_PORTS_END || app->datagrams.services[port / 64] >> (port % 64) & 1;
}

/* A flow from the port of a service to one that is none: probably the service sent the first packet that was seen. */
static bool ports_are_reversed(const struct app *app, const struct flow *flow)
{
    if (is_service_port(app, flow->server_port))
        return false;
    return is_service_port(app, flow->client_port) ||
           (flow->client_port < EPHEMERAL_PORTS && flow->server_port >= EPHEMERAL_PORTS);
}

enum { PORTS_SEEN = 1, PORTS_KNOWN = 2, PORTS_REVERSED = 4 };

static uint8_t look_at_ports(const struct app *app, const struct flow *flow)
{
    return PORTS_SEEN | (app_knows_ports(app, flow->client_port, flow->server_port) ? PORTS_KNOWN : 0) |
           (ports_are_reversed(app, flow) ? PORTS_REVERSED : 0);
}

/* Whether bytes that the parser could not read look like a message of its protocol. */
static bool is_message(const struct app_flow *reading, const struct app_input *in)
{
    const struct app_probe probe = {
        .bytes = in->bytes,
        .length = in->length,
        .direction = in->direction,
        .transport = APP_UDP,
        .client_port = reading->flow->client_port,
        .server_port = reading->flow->server_port,
        .port_hint = true,
    };

    return !reading->proto->probe || reading->proto->probe(&probe) != APP_NO;
}

static void feed(struct feeding *f, struct app_flow *reading, enum flow_direction direction, const uint8_t *bytes,
                 uint32_t length)
{
    struct app_context context = { .app = f->app, .af = reading, .now_ns = f->now_ns };
    struct app_side *side = &reading->side[direction];
    const struct app_input in = {
        .direction = direction,
        .transport = APP_UDP,
        .bytes = bytes,
        .length = length,
        .offset = side->offset,
    };
    uint64_t refused = heap_refused(f->app->heap);
    struct app_result result = reading->proto->feed(&context, reading->state, &in);
    bool no_memory = heap_refused(f->app->heap) != refused;

    side->offset += length;
    f->verdict->either_direction |= context.either_direction;
    if (reading == reading->main)
        f->verdict->stop_stream |= context.stop_stream;
    if (result.status != APP_ERROR && !no_memory)
        return;
    app_count(f->app, reading, no_memory ? COUNT_ALLOC : COUNT_PARSER);
    if (no_memory || is_message(reading, &in)) /* anybody can send something else to the ports */
        f->verdict->exception = EXCEPTION_APP_ERROR;
}

static void note_unidentified(struct feeding *f, enum flow_direction direction)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];

    if (side->failed)
        return;
    side->failed = ++side->datagrams >= DATAGRAMS_MAX;
    app_note_direction(af, direction, APP_FAILED);
    app_note_detected(af, direction);
    if (!side->failed || !af->side[opposite(direction)].failed)
        return;
    app_note_flow(af, APP_FAILED);
    f->app->failed_flows[1]++;
}

/* The flow's first identified message makes the protocol and, if need be, who is the client. False without memory. */
static bool begin(struct feeding *f, struct app_claim *first, enum flow_direction *direction)
{
    struct app_flow *af = f->af;

    if (first->reversed) {
        app_swap_directions(f);
        *direction = opposite(*direction);
        f->verdict->either_direction = true;
    }
    app_note_flow(af, first->id);
    app_note_direction(af, *direction, first->id);
    app_note_detected(af, *direction);
    if (!app_start_parser(f, first->id)) {
        af->proto = NULL;
        f->verdict->exception = EXCEPTION_APP_ERROR;
        return false;
    }
    app_count(f->app, af, COUNT_FLOW);
    return true;
}

/* `claims` are of the direction that the packet had; `turned`: the flow was turned round since. */
static void feed_others(struct feeding *f, const struct app_claim *claims, unsigned count, bool turned,
                        enum flow_direction direction, const uint8_t *bytes, uint32_t length)
{
    for (unsigned i = 0; i < count; i++) {
        struct app_flow *reading = app_reading_find(f->af, claims[i].id);
        bool reversed = claims[i].reversed != turned;

        if (!reading && (reading = app_reading_add(f, claims[i].id)))
            app_note_detected(reading, direction);
        if (!reading || reading->stopped)
            continue;
        f->verdict->either_direction |= reversed;
        feed(f, reading, reversed ? opposite(direction) : direction, bytes, length);
    }
}

static void identify_and_feed(struct feeding *f, enum flow_direction direction, const uint8_t *bytes, uint32_t length)
{
    struct app_flow *af = f->af;
    const struct flow *flow = af->flow;
    const struct app_probe probe = {
        .bytes = bytes,
        .length = length,
        .direction = direction,
        .transport = APP_UDP,
        .client_port = flow->client_port,
        .server_port = flow->server_port,
    };
    struct app_claim claims[APP_MAX_PROTOCOLS];
    unsigned count, first = 0;

    if (af->proto && (app_of_direction(flow, direction) == 0 || app_of_direction(flow, direction) == APP_FAILED)) {
        app_note_direction(af, direction, af->protocol); /* the other direction has told which one it is */
        app_note_detected(af, direction);
    }
    count = app_identify_datagram(f->app, &probe, af->proto ? af->protocol : 0, claims);
    if (!af->proto && count == 0) {
        note_unidentified(f, direction);
        return;
    }
    if (!af->proto) {
        first = 1;
        if (!begin(f, &claims[0], &direction))
            return;
    }
    feed(f, f->af, direction, bytes, length);
    feed_others(f, claims + first, count - first, f->verdict->reversed, direction, bytes, length);
}

/* The usual datagram of an unknown protocol: it is none of a known one either, and there is nothing to note of the flow
 * any more. */
static bool is_nothing_new(const struct app *app, const struct app_flow *af, enum flow_direction direction,
                           const uint8_t *bytes, uint32_t length)
{
    return !af->proto && af->side[direction].failed && (af->ports & (PORTS_SEEN | PORTS_KNOWN)) == PORTS_SEEN &&
           app_is_no_message(app, bytes, length);
}

static void look_at_datagram(struct feeding *f, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                             uint32_t length)
{
    struct app *app = f->app;
    size_t before = app_flow_memory(app);
    uint64_t refused = heap_refused(app->heap);
    uint8_t ports = flow->app && flow->app->ports ? flow->app->ports : look_at_ports(app, flow);

    f->verdict->either_direction = ports & PORTS_REVERSED;
    f->af = app_get_flow(app, flow, f->verdict);
    if (!f->af)
        return;
    f->af->ports = ports;
    f->af->used_ns = f->now_ns;
    if (!f->af->stopped)
        identify_and_feed(f, direction, bytes, length);
    if (heap_refused(app->heap) != refused && f->verdict->exception == EXCEPTION_NONE)
        f->verdict->exception = EXCEPTION_APP_ERROR;
    app_memory_update(app, flow->app, before);
}

bool app_datagram(struct app *app, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                  uint32_t length, uint64_t now_ns, struct app_verdict *verdict)
{
    struct app_flow *af = flow->app;

    file_engine_tick(app->files);
    *verdict = (struct app_verdict){ 0 };
    if (length == 0)
        return false;
    if (af && is_nothing_new(app, af, direction, bytes, length)) {
        verdict->either_direction = af->ports & PORTS_REVERSED;
        af->used_ns = now_ns;
        return verdict->either_direction;
    }
    struct feeding f = { .app = app, .verdict = verdict, .now_ns = now_ns, .transport = APP_UDP };

    look_at_datagram(&f, flow, direction, bytes, length);
    return true;
}
