/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the flow that frees memory when app-layer.memcap is nearly used up. Otherwise connections that are idle in
 * the middle of a body would use all of it, and the parsers of all other connections would fail.
 *
 * Flows are in lists by the amount of memory they use, in powers of four. The list with the largest total frees memory:
 * when a thousand connections hold bodies, small requests stay; when a million connections hold a little, a large
 * download stays. Of the IDLE_SAMPLES oldest entries of that list the flow with the longest idle time is selected, so
 * no packet has to move its flow within a list, and the cost is bounded.
 *
 * A part of the memcap is reserved for the current packet: parsers allocate memory while a packet is processed, when no
 * other flow can be inspected and freed. The reserve must also have room for the buffer of a body as one object:
 * otherwise an allocation fails although many single slabs are free.
 */
#include "app_priv.h"

enum {
    IDLE_SAMPLES = 16,     /* flows of the list that are compared */
    SMALLEST_BITS = 11,    /* flows in the first list use less than 2 KiB */
    RESERVE_SHARE = 8,     /* the reserve is 1/8 of the memcap */
    RESERVE_SMALL = 2,     /* upper bound of the reserve: 1/2 of the memcap */
    RESERVE_MIN = 1 << 20, /* lower bound of the reserve in bytes, unless it exceeds the upper bound */
    CONTIGUOUS =
        256 << 10 /* size of an object for which the reserve must have room, at most a quarter of the reserve */
};

size_t app_memory_reserve(const struct heap *heap)
{
    size_t capacity = heap_capacity(heap), reserve = capacity / RESERVE_SHARE;

    if (reserve < RESERVE_MIN)
        reserve = RESERVE_MIN;
    return reserve < capacity / RESERVE_SMALL ? reserve : capacity / RESERVE_SMALL;
}

static unsigned size_class_of(size_t held)
{
    unsigned class = 0;

    for (size_t rest = held >> SMALLEST_BITS; rest > 0 && class < APP_SIZE_CLASSES - 1; rest >>= 2)
        class ++;
    return class;
}

static void list_add(struct app *app, struct app_flow *af, unsigned class)
{
    struct app_size_class *list = &app->classes[class];

    af->size_class = (uint8_t) class;
    af->older = list->newest;
    af->newer = NULL;
    *(list->newest ? &list->newest->newer : &list->oldest) = af;
    list->newest = af;
}

static void list_remove(struct app *app, struct app_flow *af)
{
    struct app_size_class *list = &app->classes[af->size_class];

    *(af->older ? &af->older->newer : &list->oldest) = af->newer;
    *(af->newer ? &af->newer->older : &list->newest) = af->older;
}

void app_memory_add(struct app *app, struct app_flow *af)
{
    list_add(app, af, 0);
}

static void set_flow_memory(struct app *app, struct app_flow *af, size_t held)
{
    unsigned class = size_class_of(held);

    app->classes[af->size_class].bytes -= af->memory_used;
    app->classes[class].bytes += held;
    af->memory_used = held;
    if (class == af->size_class)
        return;
    list_remove(app, af);
    list_add(app, af, class);
}

void app_memory_update(struct app *app, struct app_flow *af, size_t before)
{
    size_t after = app_flow_memory(app);

    if (after != before)
        set_flow_memory(app, af, af->memory_used + after - before);
}

void app_memory_move(struct app *app, struct app_flow *from, struct app_flow *to, size_t size)
{
    set_flow_memory(app, from, from->memory_used - size);
    if (to)
        set_flow_memory(app, to, to->memory_used + size);
}

void app_memory_remove(struct app *app, struct app_flow *af)
{
    app->classes[af->size_class].bytes -= af->memory_used;
    list_remove(app, af);
}

/* --- Memory relief ------------------------------------------------------------------------------- */

bool app_has_incomplete_message(const struct flow *flow)
{
    const struct app_flow *af = flow->app;

    return af->open_count > 0 || af->side[FLOW_TO_SERVER].pending.length > 0 ||
           af->side[FLOW_TO_CLIENT].pending.length > 0;
}

bool app_is_memory_low(const struct app *app)
{
    size_t available = heap_available(app->heap), contiguous;

    if (available >= 4 * app->reserve) /* the usual case */
        return false;
    contiguous = app->reserve / 4 < CONTIGUOUS ? app->reserve / 4 : CONTIGUOUS;
    return available < app->reserve || !heap_can_allocate(app->heap, contiguous);
}

struct flow *app_find_idle_flow(struct app *app)
{
    struct app_size_class *largest = &app->classes[0];
    struct app_flow *idle = NULL, *af;

    for (unsigned i = 1; i < APP_SIZE_CLASSES; i++) {
        if (app->classes[i].bytes > largest->bytes)
            largest = &app->classes[i];
    }
    for (unsigned i = 0; i < IDLE_SAMPLES && (af = largest->oldest); i++) {
        if (!idle || af->used_ns < idle->used_ns)
            idle = af;
        list_remove(app, af);
        list_add(app, af, af->size_class);
    }
    return idle ? idle->flow : NULL;
}

bool app_shed_files(struct app *app, struct flow *flow)
{
    struct app_flow *af = flow->app;
    struct app_context context = { .app = app, .af = af, .now_ns = flow->last_ns };
    size_t before = app_flow_memory(app), released;

    for (struct app_tx *tx = af->first; tx; tx = tx->next) {
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
            file_list_shed(app->files, &tx->files[direction]);
        if (tx->proto->shed)
            tx->proto->shed(&context, tx);
    }
    released = before - app_flow_memory(app);
    if (released == 0)
        return false;
    app->shed_bytes += released;
    app->shed_flows++;
    app_memory_update(app, af, before);
    return true;
}

void app_evict(struct app *app, struct flow *flow, bool within_message, app_release_function *release, void *user)
{
    struct app_flow *af = flow->app;

    app->evicted_bytes += af->memory_used;
    app->evicted_flows++;
    if (flow->protocol == IPPROTO_TCP) /* a datagram contains whole messages */
        flow->app_evicted = within_message ? APP_EVICTED_WITHIN_MESSAGE : APP_EVICTED_BETWEEN_MESSAGES;
    app_flow_free(app, flow, release, user);
}

void app_get_memory_counts(const struct app *app, struct app_memory_counts *out)
{
    *out = (struct app_memory_counts){
        .memcap = heap_capacity(app->heap),
        .used = heap_memory(app->heap),
        .shed_flows = app->shed_flows,
        .shed_bytes = app->shed_bytes,
        .evicted_flows = app->evicted_flows,
        .evicted_bytes = app->evicted_bytes,
        .resumed_flows = app->resumed_flows,
    };
}
