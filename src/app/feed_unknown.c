/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol detection by the bytes of a stream: until the protocol of a flow is known, both directions are buffered up
 * to a limit. When the protocol has been detected in one direction, the first bytes of the other direction are compared
 * with it.
 */
#include "app_priv.h"
#include "feed.h"
#include "sluice/stream.h"

/* Bytes of a direction after which detection fails in it; after twice as many, detection ends in both directions. */
enum { DETECT_LIMIT = 4096 };

/* --- Detection ------------------------------------------------------------------------------------ */

bool app_start_parser(struct feeding *f, unsigned id)
{
    struct app_flow *af = f->af;
    const struct app_proto *proto = app_proto_by_id(id);
    struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };

    af->proto = proto;
    af->protocol = (uint8_t)id;
    af->state = heap_alloc(f->app->heap, proto->state_size > 0 ? proto->state_size : 1);
    if (!af->state || (proto->start && proto->start(&context, af->state))) {
        feed_fail(f, COUNT_ALLOC);
        return false;
    }
    return true;
}

/* Feeds the pending bytes of both directions to the parser: first those of the other direction, then those of `newest`,
 * which arrived last. */
static void feed_both(struct feeding *f, enum flow_direction newest)
{
    enum flow_direction other = newest == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        f->af->side[direction].seen = f->af->side[direction].needed = 0;
    }
    if (f->af->side[other].pending.length > 0)
        feed_pending(f, other);
    if (!f->af->stopped && f->af->proto && f->af->side[newest].pending.length > 0)
        feed_pending(f, newest);
}

/* Feeds the pending bytes of a direction of the reading f->af to another reading, `reading`. */
static void feed_kept(struct feeding *f, struct app_flow *reading, enum flow_direction direction)
{
    const struct app_side *kept = &f->af->side[direction];
    struct app_side *side = &reading->side[direction];
    struct app_verdict unused = { 0 };
    struct feeding other = *f;
    const struct app_stream_chunk bytes = {
        .bytes = kept->pending.bytes, .length = kept->pending.length, .offset = kept->offset, .end = kept->ended
    };

    other.af = reading;
    other.verdict = &unused;
    side->offset = kept->offset;
    side->has_begun = kept->has_begun;
    side->ended = kept->ended;
    side->foreign =
        direction == FLOW_TO_CLIENT && kept->has_begun; /* may be a greeting of the main reading's protocol */
    if (reading->stopped || bytes.length == 0)
        return;
    if (reading->proto)
        feed_known(&other, direction, &bytes);
    else if (buffer_append(f->app->heap, &side->pending, bytes.bytes, bytes.length, UINT32_MAX) < bytes.length)
        feed_fail(&other, COUNT_ALLOC);
}

/* Decides whether a reading added by app_reading_add_candidate() starts its parser or stops. Both directions are
 * buffered until the client's bytes identify the protocol, or CANDIDATE_MAX bytes of a direction are pending. */
static void decide_candidate(struct feeding *f, enum flow_direction newest)
{
    struct app_side *client = &f->af->side[FLOW_TO_SERVER];
    enum app_probe_result guess = app_reading_guess(f, app_proto_by_id(f->af->candidate), client);

    if (guess == APP_UNSURE && !client->ended && client->pending.length < CANDIDATE_MAX &&
        f->af->side[FLOW_TO_CLIENT].pending.length < CANDIDATE_MAX)
        return;
    if (guess != APP_YES) {
        feed_stop(f);
        return;
    }
    if (!app_start_parser(f, f->af->candidate))
        return;
    app_count(f->app, f->af, COUNT_FLOW);
    f->app->other_readings[f->transport == APP_UDP]++;
    f->af->main->ambiguous = true;
    feed_both(f, newest);
}

/* Adds readings as protocols besides `id`, the detected one. Servers of protocols with continues_after_errors answer
 * unreadable input with an error and continue to read, so the bytes on their ports are also parsed as these protocols.
 * A protocol with parsed_alongside is parsed on any port if its probe accepts the client's bytes. */
static void add_readings_by_port(struct feeding *f, unsigned id, enum flow_direction newest)
{
    enum flow_direction other = newest == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;

    if (f->af != f->af->main || f->transport != APP_TCP)
        return;
    for (uint64_t others = f->app->alongside_protocols; others; others &= others - 1) {
        unsigned i = (unsigned)__builtin_ctzll(others);
        struct app_flow *reading;
        bool survives = f->af->previous_protocol == 0 && app_list[i]->continues_after_errors &&
                        app_is_expected_at(f->app, i, APP_TCP, f->af->flow->server_port);
        enum app_probe_result guess =
            survives ? APP_YES : app_reading_guess(f, app_list[i], &f->af->side[FLOW_TO_SERVER]);

        if (i + 1 == id || !f->app->options.enabled[i] || (guess != APP_YES && guess != APP_UNSURE))
            continue;
        reading = guess == APP_YES ? app_reading_add(f, i + 1) : app_reading_add_candidate(f, i + 1);
        if (!reading)
            return;
        f->af->ambiguous |= guess == APP_YES && app_list[i]->parsed_alongside;
        feed_kept(f, reading, other);
        feed_kept(f, reading, newest);
    }
}

/* Keeps the pending bytes of a direction for feed_compare_directions(), if none of the probes could decide on them:
 * they may still turn out to belong to another protocol than the one detected in the other direction. */
static void start_comparing(struct feeding *f, enum flow_direction direction)
{
    struct app_side *side = &f->af->side[direction];

    if (f->af != f->af->main || f->af->previous_protocol > 0 || side->failed || side->ended || side->offset > 0 ||
        side->pending.length == 0 || side->pending.length >= COMPARED_MAX)
        return;
    buffer_append(f->app->heap, &side->compared, side->pending.bytes, side->pending.length, COMPARED_MAX);
    side->comparing = side->compared.length == side->pending.length;
}

void feed_start_protocol(struct feeding *f, unsigned id, enum flow_direction direction)
{
    struct app_flow *af = f->af;

    if (af->fallback) { /* the optional change succeeded: free the parser of the previous protocol */
        struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };

        app_tx_complete_all(af);
        if (af->fallback->stop)
            af->fallback->stop(&context, af->fallback_state);
        heap_release(f->app->heap, af->fallback_state);
        af->fallback = NULL;
        af->fallback_state = NULL;
    }
    start_comparing(f, !direction);
    add_readings_by_port(f, id, direction);
    if (af->changing && af == af->main)
        af->first_tx = af->next_tx;
    af->changing = false;
    app_set_flow_protocol(af, id);
    app_set_direction_protocol(af, direction, id);
    app_set_detected(af, direction);
    if (af->side[!direction].has_begun)
        app_set_direction_protocol(af, !direction, id);
    if (!app_start_parser(f, id))
        return;
    app_count(f->app, af, COUNT_FLOW);
    af->side[!direction].foreign = af->side[!direction].has_begun && af->side[!direction].failed;
    if (af->side[!direction].foreign)
        feed_set_event(f, APP_LAYER_ONE_DIRECTION);
    feed_both(f, direction);
}

/* Ends detection without a protocol. After an optional change the parser of the previous protocol continues. */
static void end_detection(struct feeding *f, enum flow_direction direction)
{
    struct app_flow *af = f->af;

    if (af->changing && af->change_to > 0)
        feed_set_event(f, af->change_to == app_id_by_name("tls") ? APP_LAYER_NO_TLS : APP_LAYER_UNEXPECTED);
    if (af->fallback) {
        af->proto = af->fallback;
        af->protocol = af->previous_protocol;
        af->state = af->fallback_state;
        af->fallback = NULL;
        af->fallback_state = NULL;
        af->changing = false;
        if (af == af->main)
            af->flow->application = 0;
        app_set_flow_protocol(af, af->previous_protocol);
        app_set_direction_protocol(af, FLOW_TO_SERVER, af->previous_protocol);
        app_set_direction_protocol(af, FLOW_TO_CLIENT, af->previous_protocol);
        feed_both(f, direction);
        return;
    }
    app_set_flow_protocol(af, APP_FAILED);
    app_set_detected(af, FLOW_TO_SERVER);
    app_set_detected(af, FLOW_TO_CLIENT);
    f->app->failed_flows[0] += af == af->main;
    feed_stop(f);
}

/* Returns the id of a protocol with continues_after_errors that is expected at the server's port; 0 for none. Also
 * returns 0 after a protocol change, and if the reading is neither the main one nor one that omits urgent bytes. */
static unsigned survivor_at_port(const struct feeding *f)
{
    if ((f->af != f->af->main && !f->af->omitted_urgent) || f->af->previous_protocol > 0)
        return 0;
    for (unsigned i = 0; i < app_list_count; i++) {
        if (app_list[i]->continues_after_errors &&
            app_is_expected_at(f->app, i, f->transport, f->af->flow->server_port))
            return i + 1;
    }
    return 0;
}

void feed_detect_protocol(struct feeding *f, enum flow_direction direction)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];
    const struct app_probe probe = {
        .bytes = side->pending.bytes,
        .length = side->pending.length,
        .direction = direction,
        .transport = f->transport,
        .client_port = af->flow->client_port,
        .server_port = af->flow->server_port,
    };
    bool unsure = false, reversed = false;
    unsigned id = 0;

    if (!side->failed)
        id = app_identify(f->app, side, &probe, af->changing ? af->change_to : 0, &unsure, &reversed);
    if (id == 0 && f->transport == APP_TCP && stream_is_midstream(af->flow)) {
        /* Client and server may be swapped: test the bytes as those of the other direction. */
        struct app_probe swapped = probe;

        swapped.direction = direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
        swapped.client_port = probe.server_port;
        swapped.server_port = probe.client_port;
        id = app_identify_by_pattern(f->app, side, &swapped);
        reversed = id > 0;
    }
    if (id > 0) {
        /* Client and server can be swapped only if the start of the connection was not seen. */
        if (reversed && af == af->main && stream_swap_sides(af->flow)) {
            app_swap_directions(f);
            direction = direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
        }
        feed_start_protocol(f, id, direction);
        return;
    }
    side->failed |= !unsure || side->pending.length >= DETECT_LIMIT || side->ended;
    if (side->failed && (id = survivor_at_port(f)) > 0) {
        feed_start_protocol(f, id, direction);
        return;
    }
    if (side->failed)
        app_set_direction_protocol(af, direction, APP_FAILED);
    if ((af->side[FLOW_TO_SERVER].failed && af->side[FLOW_TO_CLIENT].failed) ||
        side->pending.length >= 2 * DETECT_LIMIT)
        end_detection(f, direction);
}

void feed_unknown(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes)
{
    struct app_side *side = &f->af->side[direction];

    uint64_t gap = feed_gap_before(side, bytes);

    if (gap > 0 && f->af->candidate > 0) {
        feed_stop(f);
        return;
    }
    if (gap > 0) { /* the protocol cannot be detected in this direction: some of its first bytes are lost */
        side->failed = true;
        side->offset += gap + side->pending.length;
        buffer_clear(f->app->heap, &side->pending);
    }
    if (buffer_append(f->app->heap, &side->pending, bytes->bytes, bytes->length, UINT32_MAX) < bytes->length) {
        feed_fail(f, COUNT_ALLOC);
        return;
    }
    if (f->af->candidate > 0)
        decide_candidate(f, direction);
    else if (side->pending.length > 0 || side->failed)
        feed_detect_protocol(f, direction);
}

/* --- Comparison of the directions ----------------------------------------------------------------- */

/* Identifies the protocol by the first bytes of a direction; *unsure: more bytes may identify it. */
static unsigned identify_first_bytes(struct feeding *f, enum flow_direction direction,
                                     const struct app_stream_chunk *bytes, bool *unsure)
{
    struct app_side *side = &f->af->side[direction];
    const struct buffer *kept = &side->compared;
    const struct app_probe probe = {
        .bytes = kept->length > 0 ? kept->bytes : bytes->bytes,
        .length = kept->length > 0               ? kept->length
                  : bytes->length < COMPARED_MAX ? bytes->length
                                                 : COMPARED_MAX,
        .direction = direction,
        .transport = f->transport,
        .client_port = f->af->flow->client_port,
        .server_port = f->af->flow->server_port,
    };
    bool reversed;
    unsigned id = app_identify(f->app, side, &probe, 0, unsure, &reversed);

    const struct app_proto *current = app_proto_by_id(f->af->protocol), *found = app_proto_by_id(id);

    *unsure = id == 0 && *unsure && probe.length < COMPARED_MAX;
    /* The current protocol may have refined the one that the bytes identify. */
    return current && found && current->extends == found ? f->af->protocol : id;
}

/* Appends bytes to side->compared, up to COMPARED_MAX in total. Returns false without memory. */
static bool keep_first_bytes(struct feeding *f, struct app_side *side, const struct app_stream_chunk *bytes)
{
    uint32_t room = COMPARED_MAX - side->compared.length, length = bytes->length < room ? bytes->length : room;

    return buffer_append(f->app->heap, &side->compared, bytes->bytes, length, COMPARED_MAX) == length;
}

/* Adds a reading as protocol `id` that parses `direction` from its first byte on, and the other direction from its
 * current position on. */
static void add_reading_as(struct feeding *f, unsigned id, enum flow_direction direction,
                           const struct app_stream_chunk *bytes)
{
    const struct app_side *main = f->af->side;
    enum flow_direction opposite = direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    struct app_flow *reading = app_reading_add(f, id);
    struct app_verdict unused = { 0 };
    struct feeding other = *f;

    if (!reading)
        return;
    other.af = reading;
    other.verdict = &unused;
    reading->side[opposite].offset = main[opposite].offset + main[opposite].pending.length;
    reading->side[opposite].has_begun = main[opposite].has_begun;
    reading->side[opposite].ended = main[opposite].ended;
    reading->side[opposite].foreign = true;
    reading->side[direction].has_begun = true;
    if (main[direction].compared.length > 0 && bytes->offset > 0) {
        const struct app_stream_chunk first = {
            .bytes = main[direction].compared.bytes,
            .length = main[direction].compared.length,
        };

        feed_known(&other, direction, &first);
    }
    /* app_feed_stream() feeds `bytes` to the new reading. */
}

void feed_compare_directions(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];
    bool unsure = false, later = side->compared.length > 0, lost = bytes->offset != side->compared.length;
    unsigned id = 0;

    if (!lost && later)
        lost = !keep_first_bytes(f, side, bytes);
    if (!lost)
        id = identify_first_bytes(f, direction, bytes, &unsure);
    if (unsure && !bytes->end && (later || keep_first_bytes(f, side, bytes)))
        return;
    side->comparing = false;
    app_set_direction_protocol(af, direction, af->protocol);
    if (id > 0 && id != af->protocol && !lost) {
        app_set_direction_protocol(af, direction, id);
        feed_set_event(f, APP_LAYER_MISMATCH);
        side->foreign = true;
        add_reading_as(f, id, direction, bytes);
    }
    if (id == af->protocol && direction == FLOW_TO_CLIENT)
        af->ambiguous = false;
    /* The parser has failed on the other direction, but this direction belongs to its protocol. */
    if (id == af->protocol && af->stopped && !lost)
        add_reading_as(f, id, direction, bytes);
    buffer_clear(f->app->heap, &side->compared);
    app_set_detected(af, direction);
    if (id == 0 && !unsure && !lost) {
        side->foreign = true;
        feed_set_event(f, APP_LAYER_ONE_DIRECTION);
    }
}
