/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The application engine of a worker: its heap, its file engine and its counters. feed.c feeds the bytes to the
 * parsers.
 */
#include "app_priv.h"
#include "feed.h"
#include "frame.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const transports[] = { "tcp", "udp" };
static const char *const count_formats[COUNT_KINDS] = {
    [COUNT_FLOW] = "app_layer.flow.%s",           [COUNT_TX] = "app_layer.tx.%s",
    [COUNT_PARSER] = "app_layer.error.%s.parser", [COUNT_ALLOC] = "app_layer.error.%s.alloc",
    [COUNT_GAP] = "app_layer.error.%s.gap",
};

void app_parse_ports(struct app_ports *ports, const char *text)
{
    while (text && *text && ports->count < APP_PORTS_MAX) {
        char *end;

        ports->port[ports->count++] = (uint16_t)strtoul(text, &end, 10);
        text = *end == ',' ? end + 1 : NULL;
    }
}

/* Sets app->ports: the ports in the settings; if none are set, the default ports of the protocol. */
static void init_ports(struct app *app)
{
    for (size_t i = 0; i < app_list_count; i++) {
        const char *const own[2] = { app_list[i]->tcp_ports, app_list[i]->udp_ports };

        for (unsigned transport = 0; transport < 2; transport++) {
            app->ports[i][transport] = app->options.ports[i][transport];
            if (!app->ports[i][transport].set)
                app_parse_ports(&app->ports[i][transport], own[transport]);
        }
    }
}

int app_new(struct app **out, const struct app_options *options, struct app_shared *shared)
{
    struct app *app = calloc(1, sizeof(*app));
    int err;

    _Static_assert(APP_MAX_PROTOCOLS <= 64, "app_side.excluded has a bit for each");
    if (!app)
        return -ENOMEM;
    app->options = *options;
    app->shared = shared;
    init_ports(app);
    app_init_identification(app);
    err = heap_new(&app->heap, options->memcap);
    if (err)
        goto free_app;
    err = file_engine_new(&app->files, &options->files, app->heap);
    if (err)
        goto free_heap;
    app->reserve = app_memory_reserve(app->heap);
    *out = app;
    return 0;

free_heap:
    heap_free(app->heap);
free_app:
    free(app);
    return err;
}

int app_set_memcap(struct app *app, size_t memcap)
{
    int err = heap_set_memcap(app->heap, memcap);

    if (!err)
        app->reserve = app_memory_reserve(app->heap);
    return err;
}

void app_free(struct app *app)
{
    if (!app)
        return;
    file_engine_free(app->files);
    heap_free(app->heap);
    free(app);
}

void app_set_replay_order(struct app *app, struct replay_order *order)
{
    app->order = order;
}

struct file_engine *app_file_engine(const struct app *app)
{
    return app->files;
}

void app_set_needs(struct app *app, unsigned needs)
{
    app->wanted = needs;
    file_engine_set_needs(app->files, needs & RULE_FILE_DIGESTS, needs & RULE_FILE_MAGIC);
    file_engine_set_may_store(app->files, needs & RULE_FILE_STORE);
}

const void *app_proto_settings(const struct app *app, const struct app_proto *proto)
{
    return app->options.settings[app_index(proto)];
}

/* --- Functions for parsers ----------------------------------------------------------------------- */

struct heap *app_heap(struct app_context *context)
{
    return context->app->heap;
}

struct file_engine *app_files(struct app_context *context)
{
    return context->app->files;
}

const void *app_get_settings(const struct app_context *context)
{
    return app_proto_settings(context->app, context->af->proto);
}

const void *app_get_settings_of(const struct app_context *context, const struct app_proto *proto)
{
    return app_proto_settings(context->app, proto);
}

const struct flow *app_context_flow(const struct app_context *context)
{
    return context->af->flow;
}

uint64_t app_packet_time_ns(const struct app_context *context)
{
    return context->now_ns;
}

unsigned app_get_needs(const struct app_context *context)
{
    return context->app->wanted;
}

uint32_t app_next_file_id(struct app_context *context)
{
    return context->af->main->next_file++;
}

void app_change_protocol(struct app_context *context, const char *name, bool optional)
{
    struct app_flow *af = context->af;
    unsigned id = name ? app_id_by_name(name) : 0;

    if (name && !optional && (id == 0 || !context->app->options.enabled[id - 1])) {
        app_stop_parsing(context, false);
        return;
    }
    af->change_wanted = true;
    af->change_optional = optional;
    af->change_to = (uint8_t)id;
}

bool app_set_tag(struct app_context *context, const void *bytes, uint32_t length)
{
    struct app_flow *af = context->af;
    void *tag = length <= APP_TAG_MAX ? heap_alloc_uncleared(context->app->heap, length + 1) : NULL;

    if (!tag)
        return false;
    memcpy(tag, bytes, length);
    heap_release(context->app->heap, af->tag);
    af->tag = tag;
    af->tag_length = length;
    return true;
}

bool app_refine_protocol(struct app_context *context, const struct app_proto *proto)
{
    struct app_flow *af = context->af;
    unsigned id = app_index(proto) + 1;

    if (!context->app->options.enabled[id - 1])
        return false;
    if (af->protocol == id)
        return true;
    if (af == af->main)
        af->flow->application = (uint32_t)af->protocol << 24;
    for (struct app_tx *tx = af->main->first; tx; tx = tx->next) {
        if (tx->flow != af || tx->proto != af->proto || tx->detection[FLOW_TO_SERVER] || tx->detection[FLOW_TO_CLIENT])
            continue;
        tx->proto = proto;
        tx->protocol = (uint8_t)id;
    }
    af->proto = proto;
    af->protocol = (uint8_t)id;
    app_set_flow_protocol(af, id);
    app_set_direction_protocol(af, FLOW_TO_SERVER, id);
    app_set_direction_protocol(af, FLOW_TO_CLIENT, id);
    /* Rules with app-layer-protocol alone are evaluated again, unless they will be in any case. */
    if (!af->side[FLOW_TO_SERVER].comparing && !af->side[FLOW_TO_CLIENT].comparing) {
        app_set_detected(af, FLOW_TO_SERVER);
        app_set_detected(af, FLOW_TO_CLIENT);
    }
    app_count(context->app, af, COUNT_FLOW);
    return true;
}

void app_stop_parsing(struct app_context *context, bool whole)
{
    context->af->stopped = true;
    context->af->stop_stream = context->stop_stream = whole;
}

void app_report_ambiguous_direction(struct app_context *context)
{
    context->either_direction = true;
}

void app_drop_ambiguous(struct app_context *context)
{
    context->af->main->drop_ambiguous = true;
}

void app_allow_bypass(struct app_context *context)
{
    context->af->bypass = true;
}

bool app_may_bypass(const struct flow *flow)
{
    return flow->app && flow->app->bypass && !app_has_other_readings(flow->app);
}

/* --- Counters ------------------------------------------------------------------------------------- */

enum { PER_PROTOCOL = 2 * COUNT_KINDS };

/* Counters that belong to no protocol; they come after those of the protocols. */
static const char *const other_counters[] = {
    "app_layer.flow.failed_tcp",
    "app_layer.flow.failed_udp",
    "app_layer.flow.also_tcp",
    "app_layer.flow.also_udp",
    "app_layer.memuse",
    "app_layer.memcap.shed_flows",
    "app_layer.memcap.evicted_flows",
    "app_layer.memcap.resumed_flows",
    "app_layer.byterange.reassembled_files",
    "app_layer.byterange.abandoned_files",
    "app_layer.frames.lost",
};
enum {
    FAILED_TCP,
    FAILED_UDP,
    ALSO_TCP,
    ALSO_UDP,
    MEMUSE,
    SHED_FLOWS,
    EVICTED_FLOWS,
    RESUMED_FLOWS,
    REASSEMBLED_FILES,
    ABANDONED_FILES,
    LOST_FRAMES,
    OTHER_COUNTERS
};
_Static_assert(sizeof(other_counters) / sizeof(other_counters[0]) == OTHER_COUNTERS, "a name for each");

static uint64_t get_other_counter(const struct app *app, unsigned which)
{
    switch (which) {
    case ALSO_TCP:
    case ALSO_UDP:
        return app->other_readings[which == ALSO_UDP];
    case MEMUSE:
        return heap_memory(app->heap);
    case SHED_FLOWS:
        return app->shed_flows;
    case EVICTED_FLOWS:
        return app->evicted_flows;
    case RESUMED_FLOWS:
        return app->resumed_flows;
    case REASSEMBLED_FILES:
        return app->reassembled_files;
    case ABANDONED_FILES:
        return app->abandoned_files;
    case LOST_FRAMES:
        return app->lost_frames;
    default:
        return app->failed_flows[which == FAILED_UDP];
    }
}

static bool uses_both_transports(const struct app_proto *proto)
{
    return proto->transports == (APP_TCP | APP_UDP);
}

/* Maps a counter index to protocol, transport and kind; a protocol with a single transport has counters for that
 * transport only. Returns false for a counter that belongs to no protocol; *transport is then its index in
 * other_counters. */
static bool find_counter(size_t index, size_t *proto, unsigned *transport, enum app_count *kind)
{
    for (size_t i = 0; i < app_list_count; i++) {
        size_t count = uses_both_transports(app_list[i]) ? PER_PROTOCOL : COUNT_KINDS;

        if (index < count) {
            *proto = i;
            *transport = uses_both_transports(app_list[i]) ? (unsigned)(index / COUNT_KINDS)
                                                           : app_list[i]->transports == APP_UDP;
            *kind = (enum app_count)(index % COUNT_KINDS);
            return true;
        }
        index -= count;
    }
    *transport = (unsigned)index;
    return false;
}

size_t app_counter_count(void)
{
    size_t count = OTHER_COUNTERS;

    for (size_t i = 0; i < app_list_count; i++)
        count += uses_both_transports(app_list[i]) ? PER_PROTOCOL : COUNT_KINDS;
    return count;
}

static const char *format_counter_name(struct arena *arena, const struct app_proto *proto, unsigned transport,
                                       enum app_count kind)
{
    char called[64];

    snprintf(called, sizeof(called), uses_both_transports(proto) ? "%s_%s" : "%s", proto->name, transports[transport]);
    for (char *at = called; (at = strchr(at, '-')) != NULL;)
        *at = '_'; /* counters have Suricata's names: ftp_data for the protocol ftp-data */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    return arena_printf(arena, count_formats[kind], called);
#pragma GCC diagnostic pop
}

/* The order is that of find_counter(). */
static int format_counter_names(struct app_shared *shared)
{
    size_t count = 0;

    shared->arena = arena_new(0);
    shared->name_count = app_counter_count();
    shared->names = calloc(shared->name_count, sizeof(*shared->names));
    if (!shared->arena || !shared->names)
        return -ENOMEM;
    for (size_t i = 0; i < app_list_count; i++) {
        for (unsigned transport = 0; transport <= uses_both_transports(app_list[i]); transport++)
            for (enum app_count kind = 0; kind < COUNT_KINDS; kind++)
                shared->names[count++] = format_counter_name(shared->arena, app_list[i], transport, kind);
    }
    for (unsigned i = 0; i < OTHER_COUNTERS; i++)
        shared->names[count++] = other_counters[i];
    for (size_t i = 0; i < count; i++)
        if (!shared->names[i])
            return -ENOMEM;
    return 0;
}

const char *app_counter_name(const struct app_shared *shared, size_t index)
{
    return shared->names[index];
}

uint64_t app_counter_value(const struct app *app, size_t index)
{
    unsigned transport;
    enum app_count kind;
    size_t proto;

    if (!find_counter(index, &proto, &transport, &kind))
        return get_other_counter(app, transport);
    return app->counters[proto][transport][kind];
}

/* --- State shared by workers --------------------------------------------------------------------- */

int app_shared_new(struct app_shared **out)
{
    struct app_shared *shared = calloc(1, sizeof(*shared));

    if (!shared)
        return -ENOMEM;
    expected_flows_init(&shared->expected);
    if (format_counter_names(shared)) {
        app_shared_free(shared);
        return -ENOMEM;
    }
    *out = shared;
    return 0;
}

void app_shared_free(struct app_shared *shared)
{
    if (!shared)
        return;
    expected_flows_clear(&shared->expected);
    arena_free(shared->arena);
    free(shared->names);
    free(shared);
}

/* --- The end of a flow ---------------------------------------------------------------------------- */

static void free_reading(struct app *app, struct app_flow *af)
{
    struct app_context context = { .app = app, .af = af };

    if (af->proto && af->proto->stop && af->state)
        af->proto->stop(&context, af->state);
    if (af->fallback && af->fallback->stop)
        af->fallback->stop(&context, af->fallback_state);
    app_free_frames(app, af);
    heap_release(app->heap, af->state);
    heap_release(app->heap, af->fallback_state);
    heap_release(app->heap, af->tag);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        buffer_clear(app->heap, &af->side[direction].pending);
        buffer_clear(app->heap, &af->side[direction].compared);
    }
    heap_release(app->heap, af);
}

void app_flow_free(struct app *app, struct flow *flow, app_release_function *release, void *user)
{
    struct app_tx *next;

    if (!flow->app)
        return;
    app_memory_remove(app, flow->app);
    for (struct app_tx *tx = flow->app->first; tx; tx = next) {
        next = tx->next;
        app_tx_release(app, tx, release, user);
    }
    for (struct app_flow *reading = flow->app, *after; reading; reading = after) {
        after = reading->next_reading;
        free_reading(app, reading);
    }
    flow->app = NULL;
}

void app_release_closed(struct app *app, struct flow *flow)
{
    const struct app_flow *af = flow->app;

    if (!af || af->next_reading || af->first || af->detected || af->parent_id || af->frames[FLOW_TO_SERVER] ||
        af->frames[FLOW_TO_CLIENT] || app_has_incomplete_message(flow) || app_tx_count(flow) > UINT32_MAX)
        return;
    flow->closed_txs = (uint32_t)app_tx_count(flow);
    app_flow_free(app, flow, NULL, NULL);
}
