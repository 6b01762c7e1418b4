/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of datagrams to parsers. The source address of the first packet may be forged, so its sender must not decide
 * which protocol a pair of ports speaks and which end is the client. Therefore each datagram is identified on its own:
 * it goes to the parser of the flow's protocol, and to those of all other protocols of which it may be a message
 * (reading.c).
 *
 * At first the sender of the first packet is taken as the client. If the content of a message or the ports contradict
 * that, rules of both directions are evaluated (app_verdict.either_direction).
 */
#include "app_priv.h"
#include "feed.h"

enum {
    DATAGRAMS_MAX = 2,        /* detection fails in a direction after this many unidentified datagrams */
    SERVICE_PORTS_END = 1024, /* lower ports are system ports (RFC 6335) */
    EPHEMERAL_PORTS = 32768   /* lowest port that Linux and other systems assign to clients */
};

/* Bits of app_flow.ports. SEEN: the other bits have been computed. KNOWN: one of the ports is a port of a protocol.
 * REVERSED: the ports suggest that the server sent the first packet. */
enum { PORTS_SEEN = 1, PORTS_KNOWN = 2, PORTS_REVERSED = 4 };

static enum flow_direction opposite(enum flow_direction direction)
{
    return direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
}

static bool is_service_port(const struct app *app, uint16_t port)
{
    return port < SERVICE_PORTS_END || app->datagrams.services[port / 64] >> (port % 64) & 1;
}

/* Whether a datagram that the parser rejected may be a message of the reading's protocol: false if the probe returns
 * APP_NO. */
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
    /* Data that is not a message of the protocol is no exception, because any host can send it to the port. */
    if (no_memory || is_message(reading, &in))
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

/* Sets the protocol of the flow to that of the first identified message, and starts its parser. If the message shows
 * that client and server are swapped, swaps them and *direction. Returns false without memory. */
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
    for (unsigned i = first; i < count; i++) {
        struct app_flow *reading = app_reading_find(f->af, matches[i].id);
        bool reversed = matches[i].reversed != f->verdict->reversed; /* start_flow() may have swapped the flow */

        if (!reading && (reading = app_reading_add(f, matches[i].id)))
            app_set_detected(reading, direction);
        if (!reading || reading->stopped)
            continue;
        f->verdict->either_direction |= reversed;
        feed_reading(f, reading, reversed ? opposite(direction) : direction, bytes, length);
    }
}

bool app_feed_datagram(struct app *app, struct flow *flow, enum flow_direction direction, const uint8_t *bytes,
                       uint32_t length, uint64_t now_ns, struct app_verdict *verdict)
{
    struct app_flow *af = flow->app;
    uint8_t ports;

    file_engine_tick(app->files);
    *verdict = (struct app_verdict){ 0 };
    if (length == 0)
        return false;
    /* Fast path: detection has failed, no probe would accept the datagram, and the state of the flow does not change.
     */
    if (af && !af->proto && af->side[direction].failed && (af->ports & (PORTS_SEEN | PORTS_KNOWN)) == PORTS_SEEN &&
        app_matches_no_head(app, bytes, length)) {
        verdict->either_direction = af->ports & PORTS_REVERSED;
        af->used_ns = now_ns;
        return verdict->either_direction;
    }
    ports = af ? af->ports : 0;
    if (!ports) {
        uint16_t client = flow->client_port, server = flow->server_port;

        ports = PORTS_SEEN | (app_has_known_port(app, client, server) ? PORTS_KNOWN : 0);
        /* The server probably sent the first packet if the port of the supposed server is not a service port, and the
         * packet came from a service port, or from a low port to an ephemeral one. */
        if (!is_service_port(app, server) &&
            (is_service_port(app, client) || (client < EPHEMERAL_PORTS && server >= EPHEMERAL_PORTS)))
            ports |= PORTS_REVERSED;
    }

    struct feeding f = { .app = app, .verdict = verdict, .now_ns = now_ns, .transport = APP_UDP };
    size_t before = app_flow_memory(app);
    uint64_t refused = heap_refused_count(app->heap);

    verdict->either_direction = ports & PORTS_REVERSED;
    f.af = app_get_flow(app, flow, verdict);
    if (!f.af)
        return true;
    f.af->ports = ports;
    f.af->used_ns = now_ns;
    if (!f.af->stopped)
        identify_and_feed(&f, direction, bytes, length);
    if (heap_refused_count(app->heap) != refused && verdict->exception == EXCEPTION_NONE)
        verdict->exception = EXCEPTION_APP_ERROR;
    app_memory_update(app, flow->app, before);
    return true;
}
