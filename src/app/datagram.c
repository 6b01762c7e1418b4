/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of datagrams to parsers. The source address of the first packet may be forged, so its sender must not decide
 * which protocol a pair of ports speaks and which end is the client. Therefore each datagram is identified on its own:
 * it goes to the parser of the flow's protocol, and to those of all other protocols of which it may be a message
 * (reading.c).
 *
 * The first packet defines which end is the client. If the content of a message or the ports contradict that, rules of
 * both directions are evaluated (app_verdict.either_direction).
 */
#include "app_priv.h"
#include "feed.h"

enum {
    DATAGRAMS_MAX = 2,        /* unidentified datagrams of a direction after which detection has failed in it */
    SERVICE_PORTS_END = 1024, /* lower ports are system ports (RFC 6335) */
    EPHEMERAL_PORTS = 32768   /* lowest port that Linux and other systems assign to clients */
};

static enum flow_direction opposite(enum flow_direction direction)
{
    return direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
}

static bool is_service_port(const struct app *app, uint16_t port)
{
    return port < SERVICE_PORTS_END || app->datagrams.services[port / 64] >> (port % 64) & 1;
}

/* A flow from a service port to a port that is none: probably the service sent the first packet seen. */
static bool ports_are_reversed(const struct app *app, const struct flow *flow)
{
    if (is_service_port(app, flow->server_port))
        return false;
    return is_service_port(app, flow->client_port) ||
           (flow->client_port < EPHEMERAL_PORTS && flow->server_port >= EPHEMERAL_PORTS);
}

enum { PORTS_SEEN = 1, PORTS_KNOWN = 2, PORTS_REVERSED = 4 };

static uint8_t classify_ports(const struct app *app, const struct flow *flow)
{
    return PORTS_SEEN | (app_has_known_port(app, flow->client_port, flow->server_port) ? PORTS_KNOWN : 0) |
           (ports_are_reversed(app, flow) ? PORTS_REVERSED : 0);
}

/* Whether bytes that the parser rejected look like a message of its protocol. */
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

static void feed_reading(struct feeding *f, struct app_flow *reading, enum flow_direction direction,
                         const uint8_t *bytes, uint32_t length)
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
    uint64_t refused = heap_refused_count(f->app->heap);
    struct app_result result = reading->proto->feed(&context, reading->state, &in);
    bool no_memory = heap_refused_count(f->app->heap) != refused;

    side->offset += length;
    f->verdict->either_direction |= context.either_direction;
    if (reading == reading->main)
        f->verdict->stop_stream |= context.stop_stream;
    if (result.status != APP_ERROR && !no_memory)
        return;
    app_count(f->app, reading, no_memory ? COUNT_ALLOC : COUNT_PARSER);
    if (no_memory ||
        is_message(reading, &in)) /* otherwise it is unrelated data, which anybody can send to these ports */
        f->verdict->exception = EXCEPTION_APP_ERROR;
}

static void record_unidentified(struct feeding *f, enum flow_direction direction)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];

    if (side->failed)
        return;
    side->failed = ++side->datagrams >= DATAGRAMS_MAX;
    app_set_direction_protocol(af, direction, APP_FAILED);
    app_set_detected(af, direction);
    if (!side->failed || !af->side[opposite(direction)].failed)
        return;
    app_set_flow_protocol(af, APP_FAILED);
    f->app->failed_flows[1]++;
}

/* Sets the protocol of the flow, and swaps client and server if necessary, from the first identified message. Returns
 * false without memory. */
static bool start_flow(struct feeding *f, struct app_datagram_match *first, enum flow_direction *direction)
{
    struct app_flow *af = f->af;

    if (first->reversed) {
        app_swap_directions(f);
        *direction = opposite(*direction);
        f->verdict->either_direction = true;
    }
    app_set_flow_protocol(af, first->id);
    app_set_direction_protocol(af, *direction, first->id);
    app_set_detected(af, *direction);
    if (!app_start_parser(f, first->id)) {
        af->proto = NULL;
        f->verdict->exception = EXCEPTION_APP_ERROR;
        return false;
    }
    app_count(f->app, af, COUNT_FLOW);
    return true;
}

/* Feeds the datagram to the other readings. The directions in `matches` refer to the original direction of the packet;
 * `swapped`: the flow has been swapped since. */
static void feed_others(struct feeding *f, const struct app_datagram_match *matches, unsigned count, bool swapped,
                        enum flow_direction direction, const uint8_t *bytes, uint32_t length)
{
    for (unsigned i = 0; i < count; i++) {
        struct app_flow *reading = app_reading_find(f->af, matches[i].id);
        bool reversed = matches[i].reversed != swapped;

        if (!reading && (reading = app_reading_add(f, matches[i].id)))
            app_set_detected(reading, direction);
        if (!reading || reading->stopped)
            continue;
        f->verdict->either_direction |= reversed;
        feed_reading(f, reading, reversed ? opposite(direction) : direction, bytes, length);
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
    struct app_datagram_match matches[APP_MAX_PROTOCOLS];
    unsigned count, first = 0;

    if (af->proto &&
        (app_direction_protocol(flow, direction) == 0 || app_direction_protocol(flow, direction) == APP_FAILED)) {
        app_set_direction_protocol(af, direction, af->protocol); /* the protocol is known from the other direction */
        app_set_detected(af, direction);
    }
    count = app_identify_datagram(f->app, &probe, af->proto ? af->protocol : 0, matches);
    if (!af->proto && count == 0) {
        record_unidentified(f, direction);
        return;
    }
    if (!af->proto) {
        first = 1;
        if (!start_flow(f, &matches[0], &direction))
            return;
    }
    feed_reading(f, f->af, direction, bytes, length);
    feed_others(f, matches + first, count - first, f->verdict->reversed, direction, bytes, length);
}

/* Fast path for datagrams of an unknown protocol: no known protocol claims the datagram, and the state of the flow does
 * not change. */
static bool is_unchanged(const struct app *app, const struct app_flow *af, enum flow_direction direction,
                         const uint8_t *bytes, uint32_t length)
{
    return !af->proto && af->side[direction].failed && (af->ports & (PORTS_SEEN | PORTS_KNOWN)) == PORTS_SEEN &&
           app_matches_no_head(app, bytes, length);
}

static void process_datagram(struct feeding *f, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                             uint32_t length)
{
    struct app *app = f->app;
    size_t before = app_flow_memory(app);
    uint64_t refused = heap_refused_count(app->heap);
    uint8_t ports = flow->app && flow->app->ports ? flow->app->ports : classify_ports(app, flow);

    f->verdict->either_direction = ports & PORTS_REVERSED;
    f->af = app_get_flow(app, flow, f->verdict);
    if (!f->af)
        return;
    f->af->ports = ports;
    f->af->used_ns = f->now_ns;
    if (!f->af->stopped)
        identify_and_feed(f, direction, bytes, length);
    if (heap_refused_count(app->heap) != refused && f->verdict->exception == EXCEPTION_NONE)
        f->verdict->exception = EXCEPTION_APP_ERROR;
    app_memory_update(app, flow->app, before);
}

bool app_feed_datagram(struct app *app, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                       uint32_t length, uint64_t now_ns, struct app_verdict *verdict)
{
    struct app_flow *af = flow->app;

    file_engine_tick(app->files);
    *verdict = (struct app_verdict){ 0 };
    if (length == 0)
        return false;
    if (af && is_unchanged(app, af, direction, bytes, length)) {
        verdict->either_direction = af->ports & PORTS_REVERSED;
        af->used_ns = now_ns;
        return verdict->either_direction;
    }
    struct feeding f = { .app = app, .verdict = verdict, .now_ns = now_ns, .transport = APP_UDP };

    process_datagram(&f, flow, direction, bytes, length);
    return true;
}
