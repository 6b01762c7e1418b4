/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings: a flow whose bytes may belong to several protocols is parsed as each of them. It is not known which one an
 * endpoint assumes, and rules of each protocol must find their messages.
 *
 * A receiver may take an urgent byte out of the stream or read it in the stream. Each of the first UNKNOWN_URGENT_MAX
 * urgent bytes before the protocol is known doubles the readings: the main reading has all bytes; each other reading
 * omits some of the urgent bytes and has a separate protocol detection. For a later byte the pipeline clears URG as
 * long as a parser is active (app_parses_without_urgent_byte()): receiver and parser then both read the byte in the
 * stream.
 *
 * Memory: a reading lives as long as its flow, which has at most READINGS_MAX of them besides the main one and those
 * that omit urgent bytes. All readings that have not stopped are transferred to the next process.
 */
#include "app_priv.h"
#include "feed.h"

struct app_flow *app_reading_find(struct app_flow *main, unsigned id)
{
    struct app_flow *reading = main;

    while (reading && ((reading->protocol != id && reading->candidate != id) || reading->omitted_urgent))
        reading = reading->next_reading;
    return reading;
}

/* Appends a reading without parser to the flow and returns it; NULL without memory. */
static struct app_flow *append_reading(struct feeding *f)
{
    struct app_flow *main = f->af->main, **end = &main->next_reading,
                    *reading = heap_alloc(f->app->heap, sizeof(*reading));

    if (!reading)
        return NULL;
    while (*end)
        end = &(*end)->next_reading;
    reading->flow = main->flow;
    reading->main = main;
    *end = reading;
    f->app->other_readings[f->transport == APP_UDP]++;
    return reading;
}

/* Like append_reading(), but also returns NULL if protocol `id` already has a reading (TCP: one that has not stopped),
 * or if there are READINGS_MAX. */
static struct app_flow *add_reading(struct feeding *f, unsigned id)
{
    const struct app_flow *same = app_reading_find(f->af->main, id);
    unsigned count = 0;

    /* The main reading has no parser during a protocol change (CONNECT, Upgrade), only the id of the previous one. */
    if (same == f->af->main && !same->proto)
        same = NULL;
    for (const struct app_flow *reading = f->af->main->next_reading; reading; reading = reading->next_reading)
        count += !reading->omitted_urgent;
    if (count >= READINGS_MAX || (same && !(same->stopped && f->transport == APP_TCP)))
        return NULL;
    return append_reading(f);
}

struct app_flow *app_reading_add(struct feeding *f, unsigned id)
{
    struct feeding other = *f;

    other.af = add_reading(f, id);
    if (!other.af)
        return NULL;
    app_start_parser(&other, id);
    app_count(f->app, other.af, COUNT_FLOW);
    return other.af;
}

struct app_flow *app_reading_add_candidate(struct feeding *f, unsigned id)
{
    struct app_flow *reading = add_reading(f, id);

    if (!reading)
        return NULL;
    reading->candidate = (uint8_t)id;
    f->app->other_readings[f->transport == APP_UDP]--; /* decide_candidate() counts it when the protocol is certain */
    return reading;
}

/* --- Readings without urgent bytes --------------------------------------------------------------- */

static bool is_unknown(const struct app_flow *af)
{
    return !af->proto && !af->stopped && !af->changing;
}

static bool has_urgent(const struct app_flow *main, enum flow_direction direction, uint64_t place)
{
    for (unsigned i = 0; i < main->urgent_count; i++) {
        if (main->urgent[i].direction == direction && main->urgent[i].place == place)
            return true;
    }
    return false;
}

/* Records the urgent byte and returns its bit in app_flow.omitted_urgent; 0 if it is already recorded, if there are
 * UNKNOWN_URGENT_MAX, or if the protocol is known. */
static unsigned record_urgent(struct app_flow *main, enum flow_direction direction, uint64_t place)
{
    if (!is_unknown(main) || main->urgent_count == UNKNOWN_URGENT_MAX || has_urgent(main, direction, place))
        return 0;
    main->urgent[main->urgent_count] = (struct urgent_byte){ .direction = direction, .place = place };
    return 1u << main->urgent_count++;
}

/* Whether detection has failed in the direction in all readings that have not stopped. If so, sets urgent_unread: the
 * other direction may still identify a protocol, and then the readings without the urgent byte are missing. */
static bool is_of_no_protocol(struct app_flow *main, enum flow_direction direction)
{
    for (const struct app_flow *reading = main; reading; reading = reading->next_reading) {
        if (!reading->stopped && !reading->side[direction].failed)
            return false;
    }
    main->urgent_unread = true;
    return true;
}

bool app_misses_readings(struct app_flow *main)
{
    const struct app_flow *reading = main;

    while (reading && !reading->proto)
        reading = reading->next_reading;
    if (!reading)
        return false;
    main->urgent_unread = false;
    return true;
}

bool app_parses_without_urgent_byte(const struct flow *flow, enum flow_direction direction, uint64_t place,
                                    const int64_t *places, unsigned count, bool is_data_mark)
{
    const struct app_flow *main = flow->app;
    unsigned to_come = 0;
    bool is_parsed;

    if (flow->app_evicted)
        return false;
    if (!main)
        return app_flow_protocol(flow) == APP_FAILED || count <= UNKNOWN_URGENT_MAX;
    if (has_urgent(main, direction, place))
        return true;
    for (unsigned i = 0; i < count; i++)
        to_come += !has_urgent(main, direction, (uint64_t)places[i]);
    if (is_unknown(main))
        return main->urgent_count + to_come <= UNKNOWN_URGENT_MAX || is_of_no_protocol(flow->app, direction);
    if (is_data_mark && main->proto && main->protocol == app_id_by_name("ftp"))
        return true; /* the mark of a Telnet command, which the FTP parser does not decode in any case (ftp.md) */
    is_parsed = main->side[FLOW_TO_SERVER].comparing || main->side[FLOW_TO_CLIENT].comparing;
    for (const struct app_flow *reading = main; reading && !is_parsed; reading = reading->next_reading)
        is_parsed = !reading->stopped;
    return !is_parsed;
}

/* Returns the stream offset of the next byte that the reading omits, at or after `at`; `end` if there is none before
 * `end`. */
static uint64_t next_urgent(const struct app_flow *af, enum flow_direction direction, uint64_t at, uint64_t end)
{
    const struct app_flow *main = af->main;

    for (unsigned i = 0; i < main->urgent_count; i++) {
        const struct urgent_byte *byte = &main->urgent[i];

        if (af->omitted_urgent >> i & 1 && byte->direction == direction && byte->place >= at && byte->place < end)
            end = byte->place;
    }
    return end;
}

/* The parser of a reading that omits urgent bytes gets the bytes before and after an omitted byte as consecutive bytes.
 */
void app_feed_reading(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *in)
{
    uint64_t end = in->offset + in->length, at = in->offset, next, left_out = 0;

    if (!f->af->omitted_urgent) {
        app_feed_other(f, direction, *in);
        return;
    }
    for (uint64_t before = 0; (before = next_urgent(f->af, direction, before, at)) < at; before++)
        left_out++;
    for (; !f->af->stopped; at = next + 1, left_out++) {
        next = next_urgent(f->af, direction, at, end);
        app_feed_other(f, direction,
                       (struct app_stream_chunk){ .bytes = in->bytes + (at - in->offset),
                                                  .length = (uint32_t)(next - at),
                                                  .offset = at - left_out,
                                                  .end = in->end && next == end });
        if (next == end)
            return;
    }
}

/* Creates a reading that omits the urgent bytes in the bit set `without`, and feeds it the bytes of both directions
 * that are pending in the main reading. */
static void add_reading_without(struct feeding *f, uint8_t without)
{
    struct app_verdict unused = { 0 };
    struct feeding other = *f;

    other.verdict = &unused;
    other.af = append_reading(f);
    if (other.af)
        other.af->omitted_urgent = without;
    for (enum flow_direction direction = 0; other.af && direction < FLOW_DIRECTIONS; direction++) {
        const struct app_side *kept = &f->af->side[direction];
        const struct app_stream_chunk bytes = {
            .bytes = kept->pending.bytes, .length = kept->pending.length, .offset = kept->offset, .end = kept->ended
        };

        other.af->side[direction].offset = kept->offset;
        if (kept->has_begun && !other.af->stopped)
            app_feed_reading(&other, direction, &bytes);
    }
}

/* Each new urgent byte doubles the readings as long as the protocol is unknown. */
void app_add_urgent_readings(struct feeding *f, enum flow_direction direction, const struct app_stream_chunk *in)
{
    for (unsigned i = 0; i < in->urgent_count; i++) {
        unsigned bit = record_urgent(f->af, direction, (uint64_t)in->urgent[i]);

        for (unsigned others = 0; others < bit; others++)
            add_reading_without(f, (uint8_t)(bit | others));
    }
}

bool app_has_other_readings(const struct app_flow *main)
{
    const struct app_flow *reading = main->next_reading;

    while (reading && reading->stopped)
        reading = reading->next_reading;
    return reading != NULL;
}

bool app_has_joined_reading(const struct app_flow *main)
{
    const struct app_flow *reading = main->next_reading;

    while (reading && (!reading->proto || !reading->proto->parsed_alongside || reading->failed))
        reading = reading->next_reading;
    return reading != NULL;
}

/* Whether the bytes may be the start of a line in a text protocol: a printable word of limited length. */
static bool is_text(const uint8_t *bytes, uint32_t length)
{
    enum { WORD_MAX = 64 };
    uint32_t at = 0;

    while (at < length && at <= WORD_MAX && bytes[at] > ' ' && bytes[at] <= '~')
        at++;
    return at == length || (at <= WORD_MAX && (bytes[at] == ' ' || (bytes[at] >= '\t' && bytes[at] <= '\r')));
}

enum app_probe_result app_reading_guess(const struct feeding *f, const struct app_proto *proto,
                                        const struct app_side *side)
{
    const struct app_probe probe = {
        .bytes = side->pending.bytes,
        .length = side->pending.length,
        .direction = FLOW_TO_SERVER,
        .transport = f->transport,
        .client_port = f->af->flow->client_port,
        .server_port = f->af->flow->server_port,
    };

    enum app_probe_result guess = proto->parsed_alongside && probe.length > 0 ? proto->probe(&probe) : APP_NO;

    return !proto->is_text || is_text(probe.bytes, probe.length) ? guess : APP_NO;
}

bool app_get_open_transactions(const struct flow *flow, unsigned reading, const struct app_tx **first)
{
    const struct app_flow *af = flow->app;

    for (; af && reading > 0; reading--)
        af = af->next_reading;
    *first = af ? af->lists[APP_TX_OPEN].next : NULL;
    return af != NULL;
}

uint64_t app_other_protocols(const struct flow *flow)
{
    uint64_t bits = 0;

    for (const struct app_flow *reading = flow->app ? flow->app->next_reading : NULL; reading;
         reading = reading->next_reading) {
        if (reading->protocol > 0)
            bits |= UINT64_C(1) << reading->protocol;
    }
    return bits;
}

void app_swap_directions(struct feeding *f)
{
    flow_swap(f->af->flow, NULL);
    for (struct app_flow *reading = f->af->main; reading; reading = reading->next_reading) {
        struct app_side side = reading->side[FLOW_TO_SERVER];

        reading->side[FLOW_TO_SERVER] = reading->side[FLOW_TO_CLIENT];
        reading->side[FLOW_TO_CLIENT] = side;
        reading->ports = 0;
    }
    f->verdict->reversed = true;
}
