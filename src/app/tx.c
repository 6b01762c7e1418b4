/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions: a list for each flow, in the order of their begin. They are freed from anywhere in it, as soon as both directions
 * are complete and have been inspected and the event has been written.
 */
#include "app_priv.h"

static uint8_t end_of(const struct app_proto *proto, enum flow_direction direction)
{
    return proto->complete[direction] > 0 ? proto->complete[direction] : 1;
}

struct app_tx *app_tx_new(struct app_context *context)
{
    struct app_flow *af = context->af;
    const struct app_proto *proto = af->proto;
    struct app_tx *tx;

    if (af->tx_count >= (proto->tx_max > 0 ? proto->tx_max : DEFAULT_TX_MAX))
        return NULL;
    tx = heap_take(context->app->heap, proto->tx_size);
    if (!tx) {
        context->no_memory = true;
        return NULL;
    }
    tx->proto = proto;
    tx->protocol = af->protocol;
    tx->id = af->next_tx++;
    tx->directions = APP_BOTH;
    tx->begin_ns = context->now_ns;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        tx->files[direction].keep = af->keep_files[direction];
        tx->files[direction].keep_sid = af->keep_sid[direction];
    }
    if (af->last)
        af->last->next = tx;
    else
        af->first = tx;
    af->last = tx;
    af->tx_count++;
    app_count(context->app, af, COUNT_TX);
    return tx;
}

struct app_tx *app_tx_first(const struct app_context *context)
{
    struct app_tx *tx = context->af->first;

    while (tx && tx->proto != context->af->proto)
        tx = tx->next;
    return tx;
}

struct app_tx *app_tx_last(const struct app_context *context)
{
    struct app_tx *tx = context->af->last;

    return tx && tx->proto == context->af->proto ? tx : NULL;
}

void app_event(struct app_context *context, struct app_tx *tx, unsigned event)
{
    if (!tx)
        tx = app_tx_last(context);
    if (!tx)
        tx = app_tx_new(context);
    if (!tx)
        return;
    tx->events[event / 64] |= UINT64_C(1) << (event % 64);
    tx->fresh[FLOW_TO_SERVER] = tx->fresh[FLOW_TO_CLIENT] = true;
}

bool app_tx_is_complete(const struct app_tx *tx, enum flow_direction direction)
{
    return !(tx->directions >> direction & 1) || tx->progress[direction] >= end_of(tx->proto, direction);
}

void app_tx_complete_all(struct app_flow *af)
{
    for (struct app_tx *tx = af->first; tx; tx = tx->next) {
        for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
            if (app_tx_is_complete(tx, direction))
                continue;
            tx->progress[direction] = end_of(tx->proto, direction);
            tx->fresh[direction] = true;
        }
    }
}

struct app_tx *app_transactions(const struct flow *flow)
{
    return flow->app ? flow->app->first : NULL;
}

uint64_t app_tx_count(const struct flow *flow)
{
    return flow->app ? flow->app->next_tx : 0;
}

static bool has_log_progress(const struct app_tx *tx, enum flow_direction direction)
{
    uint8_t wanted = tx->proto->log_progress[direction];

    if (wanted == 0)
        return app_tx_is_complete(tx, direction);
    return !(tx->directions >> direction & 1) || tx->progress[direction] >= wanted;
}

bool app_tx_wants_log(const struct app *app, const struct app_tx *tx, bool flow_ends)
{
    const struct app_proto *proto = tx->proto;

    if (tx->logged || tx->log_never || !proto->log_type)
        return false;
    if (!flow_ends && !(has_log_progress(tx, FLOW_TO_SERVER) && has_log_progress(tx, FLOW_TO_CLIENT)))
        return false;
    return !proto->wants_log || proto->wants_log(tx, app_proto_settings(app, proto));
}

void app_keep_files(struct flow *flow, struct file_engine *files, enum flow_direction direction, uint32_t sid)
{
    struct app_flow *af = flow ? flow->app : NULL;

    if (!af)
        return;
    af->keep_files[direction] = true;
    af->keep_sid[direction] = sid;
    for (struct app_tx *tx = af->first; tx; tx = tx->next)
        file_list_keep(files, &tx->files[direction], sid);
}

void app_tx_release(struct app *app, struct app_flow *af, struct app_tx *tx, app_release_function *release, void *user)
{
    struct app_context context = { .app = app, .af = af };

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (release && tx->detection[direction])
            release(user, tx->detection[direction]);
        file_list_clear(app->files, &tx->files[direction]);
    }
    if (tx->proto->tx_free)
        tx->proto->tx_free(&context, tx);
    heap_give(app->heap, tx);
    af->tx_count--;
}

static bool is_done(const struct app_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (!app_tx_is_complete(tx, direction) || app_tx_wants_inspection(tx, direction))
            return false;
    }
    return true;
}

void app_tidy(struct app *app, struct flow *flow, app_release_function *release, void *user)
{
    struct app_flow *af = flow->app;
    struct app_tx *before = NULL, *next;

    if (!af)
        return;
    for (struct app_tx *tx = af->first; tx; tx = next) {
        next = tx->next;
        if (!is_done(tx) || app_tx_wants_log(app, tx, false)) {
            before = tx;
            continue;
        }
        if (before)
            before->next = next;
        else
            af->first = next;
        if (af->last == tx)
            af->last = before;
        app_tx_release(app, af, tx, release, user);
    }
}
