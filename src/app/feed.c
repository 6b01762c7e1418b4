/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Feeding of stream bytes to parsers. The parser gets the bytes of a direction without copying; bytes that it does not
 * consume are kept and passed again in front of the following ones, contiguous.
 *
 * Until the protocol is known, both directions are buffered up to a limit. Then the parser gets them, first the
 * direction whose bytes arrived first. The same happens when a parser announces another protocol (CONNECT, STARTTLS).
 *
 * Beyond the stream depth a direction is not parsed, and the other one may not have reached its depth: the parser
 * treats it as ended. Open transactions do not wait for it, and later ones start complete in that direction.
 *
 * Where endpoints may parse the bytes as another protocol than the detected one, the flow has further readings
 * (reading.c), and the same functions feed each of them; only the main reading reports to the verdict and the flow.
 *
 * A reading is `stopped` when its parser failed or lost bytes that it needs, when the rest is encrypted, or when no
 * protocol was found.
 */
#include <string.h>

#include "app_priv.h"
#include "sluice/stream.h"

static void feed_pending(struct feeding *f, enum flow_direction direction);
static void detect_protocol(struct feeding *f, enum flow_direction direction);
static void feed_known(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes);

/* --- State of the flow --------------------------------------------------------------------------- */

/* The protocol of a flow is that of its main reading. */
void app_set_direction_protocol(struct app_flow *af, enum flow_direction direction, unsigned id)
{
    unsigned shift = direction == FLOW_TO_SERVER ? 8 : 16;

    if (af == af->main)
        af->flow->application = (af->flow->application & ~(0xffu << shift)) | id << shift;
}

void app_set_flow_protocol(struct app_flow *af, unsigned id)
{
    if (af == af->main)
        af->flow->application = (af->flow->application & ~0xffu) | id;
}

void app_set_detected(struct app_flow *af, enum flow_direction direction)
{
    if (!af->omitted_urgent)
        af->main->detected |= (uint8_t)(1u << direction);
}

bool app_is_just_detected(struct flow *flow, enum flow_direction direction, bool next)
{
    struct app_flow *af = flow->app;
    uint8_t bit = (uint8_t)(1u << direction);

    if (!af || !(af->detected & bit))
        return false;
    if (next)
        af->detected &= (uint8_t)~bit;
    return true;
}

static void clear_pending(struct feeding *f)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        buffer_clear(f->app->heap, &f->af->side[direction].pending);
}

/* Stops parsing of the reading. */
static void stop_reading(struct feeding *f)
{
    f->af->stopped = true;
    app_tx_complete_all(f->af);
    clear_pending(f);
}

static void record_failure(struct feeding *f, enum app_count why)
{
    if (f->af->proto)
        app_count(f->app, f->af, why);
    if (why != COUNT_GAP)
        f->verdict->exception = f->af->resumed ? EXCEPTION_APP_MEMCAP : EXCEPTION_APP_ERROR;
}

static void fail_reading(struct feeding *f, enum app_count why)
{
    record_failure(f, why);
    f->af->failed = true;
    stop_reading(f);
}

/* Handles a parser failure in one direction. If the bytes of that direction belonged to another protocol from the
 * start, the peer may still read the other direction as the flow's protocol, so the parser continues with that one. */
static void fail_direction(struct feeding *f, enum flow_direction direction, enum app_count why)
{
    struct app_side *side = &f->af->side[direction];

    if (!(side->foreign || side->comparing) || f->af->side[!direction].unparsed) {
        fail_reading(f, why);
        return;
    }
    record_failure(f, why);
    side->unparsed = side->truncated = true;
    buffer_clear(f->app->heap, &side->pending);
    app_tx_complete_direction(f->af, direction);
}

/* If the server's bytes do not belong to the protocol, neither did the client's. As long as another reading parses them
 * as the right protocol, they are inspected, and the failure is no exception. */
static void fail_to_parse(struct feeding *f, enum flow_direction direction)
{
    bool has_joined_reading = direction == FLOW_TO_CLIENT && f->af == f->af->main && app_has_joined_reading(f->af);
    enum exception_cause before = f->verdict->exception;

    fail_direction(f, direction, COUNT_PARSER);
    if (!has_joined_reading)
        return;
    f->verdict->exception = before;
    f->af->ambiguous = true;
}

static void set_event(struct feeding *f, enum app_layer_event event)
{
    f->verdict->events |= (uint8_t)(1u << (event - APP_LAYER_EVENT_FIRST));
}

/* --- Known protocol ------------------------------------------------------------------------------ */

/* Starts detection of the following protocol; the unconsumed bytes are its first ones. */
static void begin_change(struct feeding *f)
{
    struct app_flow *af = f->af;

    af->change_wanted = false;
    af->changing = true;
    af->previous_protocol = af->protocol;
    if (af->change_optional) {
        af->fallback = af->proto;
        af->fallback_state = af->state;
    } else {
        struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };

        app_tx_complete_all(af);
        if (af->proto->stop)
            af->proto->stop(&context, af->state);
        heap_release(f->app->heap, af->state);
    }
    af->proto = NULL;
    af->state = NULL;
    if (af == af->main)
        af->flow->application = (uint32_t)af->previous_protocol << 24;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct app_side *side = &af->side[direction];

        side->excluded = 0;
        side->seen = side->needed = 0;
        side->failed = side->comparing = side->foreign = false;
        side->truncated &= !side->unparsed; /* set again when the stream depth is reached */
        side->unparsed = false;
        side->datagrams = 0;
    }
}

/* Calls the parser once; the unconsumed bytes are in side->pending afterwards. Returns false if parsing has ended. */
static bool call_parser(struct feeding *f, enum flow_direction direction, struct app_input *in, bool in_pending)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];
    const struct app_proto *proto = af->proto;
    struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };
    uint64_t refused = heap_refused_count(f->app->heap);
    static const uint8_t nothing[1];

    if (!in->bytes)
        in->bytes = nothing; /* NULL + 0 is undefined */

    struct app_result result = proto->feed(&context, af->state, in);
    uint32_t limit = proto->pending_max > 0 ? proto->pending_max : DEFAULT_PENDING_MAX;
    uint32_t consumed = result.consumed < in->length ? result.consumed : in->length;
    uint32_t left = in->length - consumed;

    if (heap_refused_count(f->app->heap) != refused) { /* the parser may have skipped data: do not hide that */
        fail_reading(f, COUNT_ALLOC);
        return false;
    }
    if (result.status == APP_ERROR || result.needed > limit || (left > limit && !af->stopped)) {
        fail_to_parse(f, direction);
        return false;
    }
    side->offset += consumed;
    side->seen = left;
    side->needed = result.needed;
    if (af->stopped) {
        clear_pending(f);
        return false;
    }
    if (in_pending)
        buffer_consume(&side->pending, consumed);
    else if (left > 0 && buffer_append(f->app->heap, &side->pending, in->bytes + consumed, left, limit) < left) {
        fail_reading(f, COUNT_ALLOC);
        return false;
    }
    if (left == 0 && side->pending.capacity > 0)
        buffer_clear(f->app->heap, &side->pending);
    return true;
}

static void handle_change(struct feeding *f, enum flow_direction direction)
{
    if (!f->af->change_wanted)
        return;
    begin_change(f);
    if (f->af->side[direction].pending.length > 0)
        detect_protocol(f, direction);
    /* The client may have started before it received the response that changes the protocol. */
    if (f->af->changing && !f->af->stopped && f->af->side[!direction].pending.length > 0)
        detect_protocol(f, !direction);
}

/* Feeds all pending bytes. */
static void feed_pending(struct feeding *f, enum flow_direction direction)
{
    struct app_side *side = &f->af->side[direction];
    struct app_input in = {
        .direction = direction,
        .transport = f->transport,
        .bytes = side->pending.bytes,
        .length = side->pending.length,
        .seen = side->seen,
        .offset = side->offset,
        .end = side->ended,
    };

    if (side->unparsed || (in.length < side->needed && !in.end))
        return;
    if (call_parser(f, direction, &in, true))
        handle_change(f, direction);
}

static uint64_t gap_before(const struct app_side *side, const struct app_stream_chunk *bytes)
{
    uint64_t expected = side->offset + side->pending.length;

    return bytes->offset > expected ? bytes->offset - expected : 0;
}

static bool handle_gap(struct feeding *f, enum flow_direction direction, struct app_input *in)
{
    struct app_side *side = &f->af->side[direction];

    if (!f->af->proto->accepts_gaps) {
        fail_direction(f, direction, COUNT_GAP);
        return false;
    }
    app_count(f->app, f->af, COUNT_GAP);
    in->gap += side->pending.length;
    side->offset += in->gap;
    side->seen = side->needed = 0;
    buffer_clear(f->app->heap, &side->pending);
    return true;
}

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

    *unsure = id == 0 && *unsure && probe.length < COMPARED_MAX;
    return id;
}

/* Keeps the bytes until more arrive. */
static bool keep_first_bytes(struct feeding *f, struct app_side *side, const struct app_stream_chunk *bytes)
{
    uint32_t room = COMPARED_MAX - side->compared.length, length = bytes->length < room ? bytes->length : room;

    return buffer_append(f->app->heap, &side->compared, bytes->bytes, length, COMPARED_MAX) == length;
}

/* Also parses a direction as another protocol, from its first byte on; the other direction is parsed from the current
 * position on. */
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
    /* app_feed_stream() feeds the remaining bytes. */
}

/* Probes the first bytes of a direction after the protocol was detected in the other one. If they indicate another
 * protocol, or none, an event is set, and the flow keeps the protocol that was detected first. */
static void compare_directions(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes)
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
        set_event(f, APP_LAYER_MISMATCH);
        side->foreign = true;
        add_reading_as(f, id, direction, bytes);
    }
    if (id == af->protocol && direction == FLOW_TO_CLIENT)
        af->ambiguous = false;
    if (id == af->protocol && af->stopped && !lost) /* the parser failed on the other direction */
        add_reading_as(f, id, direction, bytes);
    buffer_clear(f->app->heap, &side->compared);
    app_set_detected(af, direction);
    if (id == 0 && !unsure && !lost) {
        side->foreign = true;
        set_event(f, APP_LAYER_ONE_DIRECTION);
    }
}

static void feed_known(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes)
{
    struct app_side *side = &f->af->side[direction];
    struct app_input in = {
        .direction = direction,
        .transport = f->transport,
        .bytes = bytes->bytes,
        .length = bytes->length,
        .gap = gap_before(side, bytes),
        .end = bytes->end,
    };

    if (side->unparsed)
        return;
    if (in.gap > 0 && !handle_gap(f, direction, &in))
        return;
    in.offset = side->offset;
    if (side->pending.length == 0 && (in.length >= side->needed || in.end)) {
        if (call_parser(f, direction, &in, false))
            handle_change(f, direction);
        return;
    }
    uint32_t limit = (f->af->proto->pending_max > 0 ? f->af->proto->pending_max : DEFAULT_PENDING_MAX) + in.length;

    if (buffer_append(f->app->heap, &side->pending, in.bytes, in.length, limit) < in.length)
        fail_reading(f, COUNT_ALLOC);
    else
        feed_pending(f, direction);
}

/* --- Unknown protocol ---------------------------------------------------------------------------- */

bool app_start_parser(struct feeding *f, unsigned id)
{
    struct app_flow *af = f->af;
    const struct app_proto *proto = app_proto_by_id(id);
    struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };

    af->proto = proto;
    af->protocol = (uint8_t)id;
    af->state = heap_alloc(f->app->heap, proto->state_size > 0 ? proto->state_size : 1);
    if (!af->state || (proto->start && proto->start(&context, af->state))) {
        fail_reading(f, COUNT_ALLOC);
        return false;
    }
    return true;
}

static void free_fallback(struct feeding *f)
{
    struct app_flow *af = f->af;
    struct app_context context = { .app = f->app, .af = af, .now_ns = f->now_ns };

    if (!af->fallback)
        return;
    app_tx_complete_all(af);
    if (af->fallback->stop)
        af->fallback->stop(&context, af->fallback_state);
    heap_release(f->app->heap, af->fallback_state);
    af->fallback = NULL;
    af->fallback_state = NULL;
}

/* Feeds the pending bytes of both directions, those of `newest`, which arrived last, after the others. */
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

/* Feeds the bytes kept by the main reading to another reading. */
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
        direction == FLOW_TO_CLIENT && kept->has_begun; /* a banner, perhaps of the main reading's protocol */
    if (reading->stopped || bytes.length == 0)
        return;
    if (reading->proto)
        feed_known(&other, direction, &bytes);
    else if (buffer_append(f->app->heap, &side->pending, bytes.bytes, bytes.length, UINT32_MAX) < bytes.length)
        fail_reading(&other, COUNT_ALLOC);
}

/* Decides on a reading whose protocol is uncertain. Both directions are buffered until the client's bytes identify
 * it. */
static void decide_candidate(struct feeding *f, enum flow_direction newest)
{
    struct app_side *client = &f->af->side[FLOW_TO_SERVER];
    enum app_probe_result guess = app_reading_guess(f, app_proto_by_id(f->af->candidate), client);

    if (guess == APP_UNSURE && !client->ended && client->pending.length < CANDIDATE_MAX &&
        f->af->side[FLOW_TO_CLIENT].pending.length < CANDIDATE_MAX)
        return;
    if (guess != APP_YES) {
        stop_reading(f);
        return;
    }
    if (!app_start_parser(f, f->af->candidate))
        return;
    app_count(f->app, f->af, COUNT_FLOW);
    f->app->other_readings[f->transport == APP_UDP]++;
    f->af->main->ambiguous = true;
    feed_both(f, newest);
}

/* Servers of some protocols answer unreadable input with an error and continue to read. On their ports the bytes are
 * also parsed as that protocol. A protocol with parsed_alongside is parsed on any port if its probe accepts the bytes.
 */
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

/* Unidentified bytes of the other direction may still turn out to belong to another protocol, so they are kept for
 * comparison. */
static void start_comparing(struct feeding *f, enum flow_direction direction)
{
    struct app_side *side = &f->af->side[direction];

    if (f->af != f->af->main || f->af->previous_protocol > 0 || side->failed || side->ended || side->offset > 0 ||
        side->pending.length == 0 || side->pending.length >= COMPARED_MAX)
        return;
    buffer_append(f->app->heap, &side->compared, side->pending.bytes, side->pending.length, COMPARED_MAX);
    side->comparing = side->compared.length == side->pending.length;
}

static void start_protocol(struct feeding *f, unsigned id, enum flow_direction direction)
{
    struct app_flow *af = f->af;

    free_fallback(f);
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
        set_event(f, APP_LAYER_ONE_DIRECTION);
    feed_both(f, direction);
}

/* Ends detection: no protocol was found in either direction. */
static void end_detection(struct feeding *f, enum flow_direction direction)
{
    struct app_flow *af = f->af;

    if (af->changing && af->change_to > 0)
        set_event(f, af->change_to == app_id_by_name("tls") ? APP_LAYER_NO_TLS : APP_LAYER_UNEXPECTED);
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
    stop_reading(f);
}

/* If the start of the flow was not seen, client and server may be swapped: tests the bytes as those of the other
 * direction. */
static unsigned identify_reversed(struct feeding *f, struct app_side *side, const struct app_probe *probe)
{
    struct app_probe reversed = *probe;

    reversed.direction = probe->direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    reversed.client_port = probe->server_port;
    reversed.server_port = probe->client_port;
    return app_identify_by_pattern(f->app, side, &reversed);
}

/* Returns the id of the protocol of the server's port whose servers continue after unreadable input; 0 for none. */
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

/* Detects the protocol by the pending bytes of a direction. */
static void detect_protocol(struct feeding *f, enum flow_direction direction)
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
        id = identify_reversed(f, side, &probe);
        reversed = id > 0;
    }
    if (id > 0) {
        /* Client and server can be swapped only if the start of the connection was not seen. */
        if (reversed && af == af->main && stream_swap_sides(af->flow)) {
            app_swap_directions(f);
            direction = direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
        }
        start_protocol(f, id, direction);
        return;
    }
    side->failed |= !unsure || side->pending.length >= f->app->options.detect_limit || side->ended;
    if (side->failed && (id = survivor_at_port(f)) > 0) {
        start_protocol(f, id, direction);
        return;
    }
    if (side->failed)
        app_set_direction_protocol(af, direction, APP_FAILED);
    if ((af->side[FLOW_TO_SERVER].failed && af->side[FLOW_TO_CLIENT].failed) ||
        side->pending.length >= 2 * f->app->options.detect_limit)
        end_detection(f, direction);
}

static void begin_direction(struct feeding *f, enum flow_direction direction)
{
    struct app_side *side = &f->af->side[direction];
    bool is_first = !f->af->side[FLOW_TO_SERVER].has_begun && !f->af->side[FLOW_TO_CLIENT].has_begun;

    side->has_begun = true;
    if (is_first) {
        unsigned id = app_consume_expectation(f->app, f->af, f->now_ns);

        if (id > 0)
            start_protocol(f, id, direction);
    }
}

static void feed_unknown(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *bytes)
{
    struct app_side *side = &f->af->side[direction];

    uint64_t gap = gap_before(side, bytes);

    if (gap > 0 && f->af->candidate > 0) {
        stop_reading(f);
        return;
    }
    if (gap > 0) { /* the first bytes are lost */
        side->failed = true;
        side->offset += gap + side->pending.length;
        buffer_clear(f->app->heap, &side->pending);
    }
    if (buffer_append(f->app->heap, &side->pending, bytes->bytes, bytes->length, UINT32_MAX) < bytes->length) {
        fail_reading(f, COUNT_ALLOC);
        return;
    }
    if (f->af->candidate > 0)
        decide_candidate(f, direction);
    else if (side->pending.length > 0 || side->failed)
        detect_protocol(f, direction);
}

/* --- Functions for the pipeline ------------------------------------------------------------------ */

struct app_flow *app_get_flow(struct app *app, struct flow *flow, struct app_verdict *verdict)
{
    if (flow->app || (app_flow_protocol(flow) == APP_FAILED && flow->protocol != IPPROTO_UDP))
        return flow->app;
    flow->app = heap_alloc(app->heap, sizeof(*flow->app));
    if (!flow->app) {
        verdict->exception = EXCEPTION_APP_ERROR;
        return NULL;
    }
    flow->app->flow = flow;
    flow->app->main = flow->app;
    app_memory_add(app, flow->app);
    return flow->app;
}

/* Whether the client's first bytes after app_evict() start a message of the flow's protocol, or of any if unknown. */
static bool starts_message(struct feeding *f, struct flow *flow, enum flow_direction direction,
                           const struct app_stream_chunk *in, unsigned *id)
{
    struct app_side side = { .offset = 0 };
    const struct app_probe probe = {
        .bytes = in->bytes,
        .length = in->length,
        .direction = direction,
        .transport = APP_TCP,
        .client_port = flow->client_port,
        .server_port = flow->server_port,
    };

    *id = direction == FLOW_TO_SERVER ? app_identify_by_pattern(f->app, &side, &probe) : 0;
    return *id > 0 && (app_flow_protocol(flow) == 0 || app_flow_protocol(flow) == *id);
}

/* After app_evict() only stream rules inspect a flow until its client starts a message. */
static void resume_after_eviction(struct feeding *f, struct flow *flow, enum flow_direction direction,
                                  const struct app_stream_chunk *in)
{
    bool lost = flow->app_evicted == APP_EVICTED_WITHIN_MESSAGE, reported = flow->app_evicted == APP_EVICTED_REPORTED;
    unsigned id;

    if (in->length == 0)
        return;
    if (starts_message(f, flow, direction, in, &id)) {
        flow->app_evicted = 0;
        f->af = app_get_flow(f->app, flow, f->verdict);
    }
    if (f->af) {
        f->af->resumed = true;
        f->app->resumed_flows++;
        f->af->side[direction].offset = in->offset;
        f->af->side[!direction].offset = stream_parsed_offset(flow, !direction);
        f->af->side[direction].has_begun = f->af->side[!direction].has_begun = true;
        app_set_flow_protocol(f->af, id);
        app_set_direction_protocol(f->af, FLOW_TO_SERVER, id);
        app_set_direction_protocol(f->af, FLOW_TO_CLIENT, id);
        app_start_parser(f, id);
    }
    if (reported || (f->af && !lost))
        return;
    if (flow->app_evicted)
        flow->app_evicted = APP_EVICTED_REPORTED;
    set_event(f, APP_LAYER_EVICTED);
    f->verdict->exception = EXCEPTION_APP_MEMCAP;
}

/* Ends a direction for its parser when the stream depth is reached, unless it has already ended. */
static void truncate_direction(struct feeding *f, enum flow_direction direction)
{
    struct app_side *side = &f->af->side[direction];

    if (side->truncated || !stream_is_truncated(f->af->flow, direction))
        return;
    if (!side->ended && f->af->proto) {
        side->ended = true;
        feed_pending(f, direction);
    }
    side->ended = side->truncated = true;
    app_tx_complete_direction(f->af, direction);
}

static void truncate_at_depth(struct feeding *f)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !f->af->stopped; direction++)
        truncate_direction(f, direction);
}

static void feed_main(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *in)
{
    struct app_flow *af = f->af;
    struct app_side *side = &af->side[direction];

    if (af->stopped) {
        /* The parser failed before the protocol of this direction was compared. */
        if (!side->has_begun && in->length > 0 && af->failed && af->protocol > 0)
            side->has_begun = side->comparing = true;
        if (side->comparing && in->length > 0)
            compare_directions(f, direction, in);
        return;
    }
    side->ended |= in->end;
    if (!side->has_begun && in->length > 0) {
        side->comparing = af->proto != NULL;
        begin_direction(f, direction);
    }
    if (side->comparing && in->length > 0)
        compare_directions(f, direction, in);
    if (af->stopped)
        return;
    if (af->proto)
        feed_known(f, direction, in);
    else
        feed_unknown(f, direction, in);
    truncate_at_depth(f);
}

/* Skips the bytes that the reading got when it was created. */
void app_feed_other(struct feeding *f, enum flow_direction direction, struct app_stream_chunk in)
{
    struct app_side *side = &f->af->side[direction];
    uint64_t next = side->offset + side->pending.length;

    if (next > in.offset) {
        uint32_t known = next - in.offset < in.length ? (uint32_t)(next - in.offset) : in.length;

        in.bytes += known;
        in.length -= known;
        in.offset += known;
    }
    if (in.length == 0 && (!in.end || side->ended))
        return;
    side->has_begun = true;
    side->ended |= in.end;
    if (f->af->proto)
        feed_known(f, direction, &in);
    else
        feed_unknown(f, direction, &in);
    truncate_at_depth(f);
}

void app_feed_stream(struct app *app, struct flow *flow, enum flow_direction direction,
                     const struct app_stream_chunk *in, uint64_t now_ns, struct app_verdict *verdict)
{
    struct feeding f = { .app = app, .verdict = verdict, .now_ns = now_ns, .transport = APP_TCP };
    struct app_verdict unused = { 0 };
    size_t before = app_flow_memory(app);
    uint64_t refused = heap_refused_count(app->heap);

    file_engine_tick(app->files);
    *verdict = (struct app_verdict){ 0 };
    if (flow->app_evicted)
        resume_after_eviction(&f, flow, direction, in);
    else
        f.af = app_get_flow(app, flow, verdict);
    if (!f.af)
        return;
    flow->app->used_ns = now_ns;
    if (in->urgent_count > 0)
        app_add_urgent_readings(&f, direction, in);
    feed_main(&f, direction, in);
    f.verdict = &unused; /* an error of another reading does not affect the flow; `doubted` decides */
    for (struct app_flow *other = flow->app->next_reading; other; other = other->next_reading) {
        f.af = other;
        if (!other->stopped)
            app_feed_reading(&f, direction, in);
    }
    if (heap_refused_count(app->heap) != refused &&
        verdict->exception == EXCEPTION_NONE) /* in any reading, or for the comparison */
        verdict->exception = EXCEPTION_APP_ERROR;
    if (flow->app->urgent_unread && app_misses_readings(flow->app))
        verdict->exception = EXCEPTION_APP_ERROR;
    if (flow->app->ambiguous && !app_has_joined_reading(flow->app)) {
        flow->app->ambiguous = false;
        verdict->exception = EXCEPTION_APP_ERROR;
    }
    if (flow->app->drop_ambiguous) /* overrides a parser error: the policies may differ */
        verdict->exception = EXCEPTION_APP_AMBIGUOUS;
    flow->app->drop_ambiguous = false;
    verdict->stop_stream = flow->app->stop_stream && !app_has_other_readings(flow->app);
    app_memory_update(app, flow->app, before);
}

/* --- End of a flow ------------------------------------------------------------------------------- */

static void finish_reading(struct app *app, struct app_flow *af)
{
    struct app_verdict verdict = { 0 };
    struct feeding f = {
        .app = app,
        .af = af,
        .verdict = &verdict,
        .now_ns = af->flow->last_ns,
        .transport = af->flow->protocol == IPPROTO_UDP ? APP_UDP : APP_TCP,
    };

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (af->stopped || !af->proto || af->side[direction].ended || f.transport == APP_UDP)
            continue;
        af->side[direction].ended = true;
        feed_pending(&f, direction);
    }
    if (f.transport == APP_UDP && !af->proto && app_flow_protocol(af->flow) == 0 &&
        (af->side[FLOW_TO_SERVER].failed || af->side[FLOW_TO_CLIENT].failed))
        app_set_flow_protocol(af, APP_FAILED); /* the other direction never sent data */
    stop_reading(&f);
}

void app_flow_finish(struct app *app, struct flow *flow)
{
    for (struct app_flow *reading = flow->app; reading; reading = reading->next_reading) {
        if (!reading->stopped || reading->tx_count > 0)
            finish_reading(app, reading);
    }
}
