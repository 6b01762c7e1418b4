/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "app_rig.h"
#include "app/expect.h"
#include "memory_watch.h"
#include "rule_text.h"

void app_rig_require(bool condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "app_rig: %s\n", what);
        abort();
    }
}

void app_rig_start_flow(struct app_rig *rig)
{
    memset(&rig->flow, 0, sizeof(rig->flow));
    rig->flow.protocol = rig->transport == APP_UDP ? IPPROTO_UDP : IPPROTO_TCP;
    rig->flow.ip_version = 4;
    rig->flow.client.bytes[0] = rig->flow.server.bytes[0] = 10;
    rig->flow.client.bytes[3] = 1;
    rig->flow.server.bytes[3] = 2;
    rig->flow.client_port = 40000;
    rig->flow.server_port = 80; /* tests of port hints change it */
    rig->offset[0] = rig->offset[1] = 0;
    rig->failed = rig->stop_stream = false;
}

static void app_rig_configure(struct app_options *options, const char *yaml)
{
    struct config *config = NULL;
    struct diag *diag = diag_new();

    app_rig_require(diag && daemon_new_config(&config) == 0, "the tables of settings are broken");
    if (yaml)
        app_rig_require(config_parse(config, "rig.yaml", yaml, strlen(yaml), CONFIG_STRICT, diag) == 0 &&
                            diag_errors(diag) == 0,
                        "the settings are wrong");
    app_rig_require(app_options_configure(options, config, diag) == 0, "the settings are refused");
    config_free(config);
    diag_free(diag);
}

/* Default options, which most rigs use. They are read once and never freed. */
static const struct app_options *app_rig_default_options(void)
{
    static struct app_options options;
    static bool configured;

    if (!configured)
        app_rig_configure(&options, NULL);
    configured = true;
    return &options;
}

/* `only`: the only protocol that is enabled; NULL: all are. */
static struct app_rig *app_rig_open(const char *proto, const char *yaml, size_t memcap, const char *only)
{
    struct app_rig *rig = calloc(1, sizeof(*rig));

    app_rig_require(rig && app_id_by_name(proto) > 0, "no such protocol");
    if (yaml)
        app_rig_configure(&rig->options, yaml);
    else
        rig->options = *app_rig_default_options();
    rig->has_own_options = yaml != NULL;
    rig->options.memcap = memcap;
    for (size_t i = 0; only && i < app_list_count; i++)
        rig->options.enabled[i] = strcmp(app_list[i]->name, only) == 0;
    app_rig_require(app_shared_new(&rig->shared) == 0 && app_new(&rig->app, &rig->options, rig->shared) == 0,
                    "no memory");
    rig->heap = memory_watch_heap();
    rig->transport = app_proto_by_id(app_id_by_name(proto))->transports & APP_TCP ? APP_TCP : APP_UDP;
    rig->now_ns = UINT64_C(1700000000) * 1000000000;
    rig->random = 1;
    app_rig_start_flow(rig);
    return rig;
}

struct app_rig *app_rig_new_limited(const char *proto, const char *yaml, size_t memcap)
{
    return app_rig_open(proto, yaml, memcap, NULL);
}

struct app_rig *app_rig_new_alone(const char *proto, size_t memcap)
{
    return app_rig_open(proto, NULL, memcap, proto);
}

struct app_rig *app_rig_new(const char *proto, const char *yaml)
{
    return app_rig_new_limited(proto, yaml, 64 << 20);
}

static void app_rig_clear_json(struct app_rig *rig)
{
    for (size_t i = 0; i < rig->json_count; i++)
        text_clear(&rig->json[i]);
    free(rig->json);
}

/* Returns the text of a transaction; creates it if there is none. */
static struct text *app_rig_text_of(struct app_rig *rig, uint64_t id)
{
    if (id >= rig->json_count) {
        size_t count = (size_t)id + 8;

        rig->json = realloc(rig->json, count * sizeof(*rig->json));
        app_rig_require(rig->json != NULL, "no memory");
        while (rig->json_count < count)
            text_init(&rig->json[rig->json_count++]);
    }
    return &rig->json[id];
}

void app_rig_free(struct app_rig *rig)
{
    app_flow_free(rig->app, &rig->flow, NULL, NULL);
    app_byterange_clear(rig->app);
    app_rig_require(app_rig_memory(rig) == 0, "memory of the heap was not given back");
    app_free(rig->app);
    app_shared_free(rig->shared);
    if (rig->has_own_options)
        app_options_clear(&rig->options);
    app_rig_clear_json(rig);
    free(rig);
}

/* Writes the log of a transaction and its events as one object: {"members":...,"events":["a"]}. */
static void app_rig_render(struct app_rig *rig, const struct app_tx *tx, struct text *out)
{
    const struct app_proto *proto = app_proto_by_id(app_tx_log_protocol(tx));
    static uint8_t bytes[256 << 10];
    struct fields fields;

    text_reset(out);
    json_object_open(out, NULL);
    if (proto->log || proto->log_own) {
        fields_init(&fields, bytes, sizeof(bytes));
        if (proto->log)
            proto->log(tx, app_proto_settings(rig->app, proto), &fields);
        else
            proto->log_own(tx, &fields);
        if (proto->log_top_level)
            proto->log_top_level(tx, app_proto_settings(rig->app, proto), &fields);
        app_rig_require(fields.depth == 0, "an object of the log was left open");
        app_rig_require(fields_render(bytes, fields.length, out), "the log is not well-formed");
    }
    bool any = false;
    for (unsigned event = 0; app_get_event(tx->proto, event); event++) {
        if (!app_tx_has_event(tx, event))
            continue;
        if (!any)
            json_array_open(out, "events");
        any = true;
        json_string(out, NULL, app_get_event(tx->proto, event)->name);
    }
    if (any)
        json_array_close(out);
    json_object_close(out);
}

struct app_tx *app_rig_tx(const struct app_rig *rig, uint64_t id)
{
    struct app_tx *tx = app_transactions(&rig->flow);

    while (tx && tx->id != id)
        tx = tx->next;
    return tx;
}

const char *app_rig_json(struct app_rig *rig, uint64_t id)
{
    const struct app_tx *tx = app_rig_tx(rig, id);

    if (id >= RIG_MAX_TX)
        return NULL;
    if (tx)
        app_rig_render(rig, tx, app_rig_text_of(rig, id));
    return id < rig->json_count ? rig->json[id].bytes : NULL;
}

/* Reads all bytes with memcpy(), which a sanitizer checks faster than a loop. */
static void app_rig_read(const struct app_bytes *bytes)
{
    static uint8_t copy[4096];

    for (uint32_t at = 0, size; at < bytes->length; at += size) {
        size = bytes->length - at < sizeof(copy) ? bytes->length - at : (uint32_t)sizeof(copy);
        memcpy(copy, bytes->bytes + at, size);
        __asm__ volatile("" : : "r"(copy) : "memory"); /* prevents the compiler from removing the copy */
    }
}

/* The buffers of a protocol, and of the one that it extends. */
static size_t app_rig_buffer_count(const struct app_proto *proto)
{
    return proto->buffer_count + (proto->extends ? proto->extends->buffer_count : 0);
}

static const struct app_buffer *app_rig_buffer_row(const struct app_proto *proto, size_t index)
{
    return index < proto->buffer_count ? &proto->buffers[index] : &proto->extends->buffers[index - proto->buffer_count];
}

/* Reads all available buffers of a transaction, as rules would. */
static void app_rig_read_all(struct app_tx *tx)
{
    for (size_t i = 0; i < app_rig_buffer_count(tx->proto); i++) {
        const struct app_buffer *buffer = app_rig_buffer_row(tx->proto, i);
        struct app_bytes bytes = { 0 };

        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            struct app_selector which = { direction, 0, buffer->part };

            if (!(buffer->directions >> direction & 1) ||
                (tx->progress[direction] < buffer->progress && !app_tx_is_complete(tx, direction)))
                continue;
            for (; which.index < 64 && buffer->get(tx, which, &bytes); which.index++) {
                app_rig_require(bytes.bytes != NULL, "a buffer that is there has bytes");
                app_rig_read(&bytes);
                if (!(buffer->keyword->flags & KEYWORD_MULTI))
                    break;
            }
        }
    }
}

/* After 1,024 pieces of a flow, open transactions are read only after every 64th piece. Otherwise the time would grow
 * with the number of pieces times that of transactions. */
static void app_rig_after(struct app_rig *rig)
{
    bool reads_open = ++rig->pieces <= 1024 || rig->pieces % 64 == 0;

    if (rig->after)
        rig->after(rig);
    if (!rig->tidy || rig->after)
        return;
    for (struct app_tx *tx = app_transactions(&rig->flow); tx; tx = tx->next) {
        if (!reads_open && !(app_tx_is_complete(tx, FLOW_TO_SERVER) && app_tx_is_complete(tx, FLOW_TO_CLIENT)))
            continue;
        app_rig_read_all(tx);
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            app_tx_set_inspected(tx, direction);
        }
        if (tx->id < RIG_MAX_TX && !tx->beside)
            app_rig_render(rig, tx, app_rig_text_of(rig, tx->id));
        if (app_tx_needs_log(rig->app, tx, false))
            app_tx_set_logged(tx);
    }
    app_free_completed(rig->app, &rig->flow, NULL, NULL);
}

static void app_rig_piece(struct app_rig *rig, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                          bool end)
{
    if (rig->transport == APP_UDP) {
        app_feed_datagram(rig->app, &rig->flow, direction, bytes, length, rig->now_ns, &rig->verdict);
    } else {
        const struct app_stream_chunk in = {
            .bytes = bytes, .length = length, .offset = rig->offset[direction], .end = end
        };

        app_feed_stream(rig->app, &rig->flow, direction, &in, rig->now_ns, &rig->verdict);
        rig->offset[direction] += length;
    }
    rig->failed |= rig->verdict.exception != EXCEPTION_NONE;
    rig->stop_stream |= rig->verdict.stop_stream;
    app_rig_after(rig);
}

static uint32_t app_rig_cut(struct app_rig *rig, uint32_t left)
{
    uint32_t size;

    if (rig->cut == 0 || rig->transport == APP_UDP)
        return left;
    rig->random = rig->random * 1664525 + 1013904223;
    size = rig->cut > 0 ? (uint32_t)rig->cut : 1 + (rig->random >> 16) % 64;
    return size < left ? size : left;
}

void app_rig_send(struct app_rig *rig, enum flow_direction direction, const void *bytes, size_t length)
{
    for (uint32_t at = 0, size; at < length; at += size) {
        uint8_t *copy;

        size = app_rig_cut(rig, (uint32_t)length - at);
        copy = malloc(size);
        app_rig_require(copy != NULL, "no memory");
        memcpy(copy, (const uint8_t *)bytes + at, size);
        app_rig_piece(rig, direction, copy, size, false);
        free(copy);
    }
}

void app_rig_text(struct app_rig *rig, enum flow_direction direction, const char *text)
{
    app_rig_send(rig, direction, text, strlen(text));
}

void app_rig_lose(struct app_rig *rig, enum flow_direction direction, uint32_t length)
{
    rig->offset[direction] += length;
}

void app_rig_end(struct app_rig *rig, enum flow_direction direction)
{
    app_rig_piece(rig, direction, (const uint8_t *)"", 0, true);
}

void app_rig_close(struct app_rig *rig)
{
    app_flow_finish(rig->app, &rig->flow);
    app_rig_after(rig);
}

void app_rig_expect(struct app_rig *rig, const char *proto, const void *tag, uint32_t tag_length)
{
    const struct app_expectation what = {
        .client = rig->flow.client,
        .server = rig->flow.server,
        .ip_version = rig->flow.ip_version,
        .server_port = rig->flow.server_port,
        .proto = proto,
    };

    app_rig_require(app_shared_expect(rig->shared, &what, tag, tag_length, rig->now_ns), "nothing can be expected");
}

const char *app_rig_protocol(const struct app_rig *rig)
{
    return app_name_by_id(app_flow_protocol(&rig->flow));
}

bool app_rig_has_event(const struct app_rig *rig, uint64_t id, const char *name)
{
    const struct app_tx *tx = app_rig_tx(rig, id);

    for (unsigned event = 0; tx && app_get_event(tx->proto, event); event++) {
        if (strcasecmp(app_get_event(tx->proto, event)->name, name) == 0)
            return app_tx_has_event(tx, event);
    }
    return false;
}

const char *app_rig_progress(const struct app_rig *rig, uint64_t id, enum flow_direction direction)
{
    const struct app_tx *tx = app_rig_tx(rig, id);

    app_rig_require(tx && tx->proto->steps[direction], "there is no such transaction, or its progress has no names");
    return tx->proto->steps[direction][tx->progress[direction]];
}

bool app_rig_buffer(const struct app_rig *rig, uint64_t id, const char *keyword, enum flow_direction direction,
                    unsigned index, struct app_bytes *out)
{
    const struct app_tx *tx = app_rig_tx(rig, id);

    for (size_t i = 0; tx && i < app_rig_buffer_count(tx->proto); i++) {
        const struct app_buffer *buffer = app_rig_buffer_row(tx->proto, i);

        if (!(buffer->directions >> direction & 1) || strcmp(buffer->keyword->name, keyword) != 0)
            continue;
        if (tx->progress[direction] < buffer->progress && !app_tx_is_complete(tx, direction))
            return false;
        memset(out, 0, sizeof(*out));
        return buffer->get(tx, (struct app_selector){ direction, index, buffer->part }, out);
    }
    app_rig_require(!tx, "the protocol has no such buffer in this direction");
    return false;
}

uint64_t app_rig_counter(const struct app_rig *rig, const char *name)
{
    for (size_t i = 0; i < app_counter_count(); i++) {
        if (strcmp(app_counter_name(rig->shared, i), name) == 0)
            return app_counter_value(rig->app, i);
    }
    fprintf(stderr, "app_rig: no counter %s\n", name);
    abort();
}

size_t app_rig_memory(const struct app_rig *rig)
{
    struct app_memory_counts counts;

    app_get_memory_counts(rig->app, &counts);
    return counts.used;
}

uint64_t app_rig_refused(const struct app_rig *rig)
{
    return heap_refused_count(rig->heap);
}

bool app_rig_matches(const struct app_rig *rig, uint64_t id, enum flow_direction direction, const char *options)
{
    struct packet packet = { .time_ns = rig->now_ns };
    const struct match_input in = {
        .packet = &packet,
        .transaction = app_rig_tx(rig, id),
        .direction = direction,
    };
    struct rule_text text;

    rule_text_open(&text, options, strlen(options));
    app_rig_require(text.rule && text.rule->transaction_conditions && !text.rule->transaction_conditions->next,
                    "the rule has mistakes, or other than one condition on transactions");
    app_rig_require(in.transaction != NULL, "there is no such transaction");

    const struct condition *condition = text.rule->transaction_conditions;
    bool matches = condition->keyword->transaction.match(&in, condition->data) != condition->negated;

    rule_text_close(&text);
    return matches;
}
