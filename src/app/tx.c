/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions: one list per flow, in order of their start. A transaction is freed at any position of the list as soon
 * as both directions are complete and inspected and its event has been written.
 *
 * A transaction that needs work is added to the list for that work, so no packet has to walk all transactions. It is
 * appended, which nearly always keeps the order; if not, the list is sorted before it is read.
 */
#include "app_priv.h"
#include "progress.h"

enum { SORT_RUNS = 16 };

/* --- Lists ---------------------------------------------------------------------------------------- */

/* Returns the reading that contains the head of the list. For APP_TX_OPEN it is the reading of the transaction, because
 * a parser walks the open transactions of its reading. The other lists cover the whole flow, so their heads are in the
 * main reading. */
static struct app_flow *list_owner(const struct app_tx *tx, unsigned list)
{
    return list == APP_TX_OPEN ? tx->flow : tx->flow->main;
}

static void list_add(struct app_tx *tx, unsigned list)
{
    struct app_tx_link *ends = &list_owner(tx, list)->lists[list], *link = &tx->link[list];

    if (tx->listed >> list & 1)
        return;
    tx->listed |= (uint8_t)(1u << list);
    *link = (struct app_tx_link){ .previous = ends->previous };
    *(link->previous ? &link->previous->link[list].next : &ends->next) = tx;
    ends->previous = tx;
    if (link->previous && link->previous->id > tx->id)
        list_owner(tx, list)->unsorted |= (uint8_t)(1u << list);
    tx->flow->open_count += list == APP_TX_OPEN;
}

static void list_remove(struct app_tx *tx, unsigned list)
{
    struct app_tx_link *ends = &list_owner(tx, list)->lists[list], *link = &tx->link[list];

    if (!(tx->listed >> list & 1))
        return;
    tx->listed &= (uint8_t) ~(1u << list);
    *(link->previous ? &link->previous->link[list].next : &ends->next) = link->next;
    *(link->next ? &link->next->link[list].previous : &ends->previous) = link->previous;
    tx->flow->open_count -= list == APP_TX_OPEN;
}

/* Merges two sorted lists, of which only the `next` links are valid, and returns the first transaction. Either list may
 * be NULL. */
static struct app_tx *merge(struct app_tx *a, struct app_tx *b, unsigned list)
{
    struct app_tx *first = NULL, **end = &first;

    while (a && b) {
        struct app_tx **less = a->id < b->id ? &a : &b;

        *end = *less;
        end = &(*less)->link[list].next;
        *less = *end;
    }
    *end = a ? a : b;
    return first;
}

/* Sorts a list by merge sort: run[i] has 2^i transactions or none, the last run any number. The function is rarely
 * called. It is marked cold so that it is not inlined into sorted_list(), which is called for each packet. */
static __attribute__((noinline, cold)) void sort(struct app_flow *af, unsigned list)
{
    struct app_tx *run[SORT_RUNS] = { NULL }, *tx = af->lists[list].next, *next, *all = NULL;

    for (; tx; tx = next) {
        unsigned i = 0;

        next = tx->link[list].next;
        tx->link[list].next = NULL;
        for (; i < SORT_RUNS - 1 && run[i]; i++) {
            tx = merge(run[i], tx, list);
            run[i] = NULL;
        }
        run[i] = merge(run[i], tx, list);
    }
    for (unsigned i = 0; i < SORT_RUNS; i++)
        all = merge(run[i], all, list);
    af->lists[list] = (struct app_tx_link){ .next = all };
    for (tx = all; tx; tx = tx->link[list].next) {
        tx->link[list].previous = af->lists[list].previous;
        af->lists[list].previous = tx;
    }
    af->unsorted &= (uint8_t) ~(1u << list);
}

static const struct app_tx_link *sorted_list(struct app_flow *af, unsigned list)
{
    if (af->unsorted >> list & 1)
        sort(af, list);
    return &af->lists[list];
}

static void record_change(struct app_tx *tx, enum flow_direction direction)
{
    if (!tx->tentative)
        list_add(tx, APP_TX_UNINSPECTED + direction);
    list_add(tx, APP_TX_CHANGED);
}

void app_tx_confirm(struct app_tx *tx)
{
    tx->tentative = false;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (app_tx_needs_inspection(tx, direction))
            record_change(tx, direction);
    }
}

void app_tx_advance(struct app_tx *tx, enum flow_direction direction, uint8_t progress)
{
    if (tx->flow->side[direction].truncated)
        progress = app_complete_progress(tx->proto, direction);
    if (tx->progress[direction] == progress)
        return;
    tx->progress[direction] = progress;
    record_change(tx, direction);
    if (app_tx_is_complete(tx, FLOW_TO_SERVER) && app_tx_is_complete(tx, FLOW_TO_CLIENT))
        list_remove(tx, APP_TX_OPEN);
    else
        list_add(tx, APP_TX_OPEN);
}

void app_tx_mark_changed(struct app_tx *tx, enum flow_direction direction)
{
    tx->fresh[direction] = true;
    record_change(tx, direction);
}

void app_tx_set_inspected(struct app_tx *tx, enum flow_direction direction)
{
    tx->inspected[direction] = tx->progress[direction];
    tx->fresh[direction] = false;
    list_remove(tx, APP_TX_UNINSPECTED + direction);
    list_add(tx, APP_TX_CHANGED);
}

void app_tx_set_logged(struct app_tx *tx)
{
    tx->logged = true;
    list_add(tx, APP_TX_CHANGED);
}

struct app_tx *app_transaction_list(const struct flow *flow, enum app_tx_list list)
{
    return flow->app ? sorted_list(flow->app, list)->next : NULL;
}

void app_skip_inspection(const struct flow *flow)
{
    struct app_tx *tx;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        while ((tx = app_transaction_list(flow, APP_TX_UNINSPECTED + direction)))
            app_tx_set_inspected(tx, direction);
    }
}

/* --- Transactions -------------------------------------------------------------------------------- */

/* Completes the directions beyond the stream depth, for which no data will come. */
static void complete_truncated(struct app_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (tx->flow->side[direction].truncated)
            app_tx_advance(tx, direction, app_complete_progress(tx->proto, direction));
    }
}

enum { MATCHES_MAX = 1024 * sizeof(uint64_t) }; /* bytes of app_tx.matches */

/* Whether the transaction belongs to the current parser of the reading: its protocol is the current one, or one from
 * which app_refine_protocol() led to it. */
static bool has_same_parser(const struct app_tx *tx, const struct app_flow *af)
{
    return tx->flow == af && tx->proto->feed == af->proto->feed;
}

/* Whether the reading has the maximum number of transactions of its protocol. Transactions of the protocol before a
 * change are not counted; they may still be live because their event has not been written. */
static bool is_full(const struct app_flow *af)
{
    unsigned most = af->proto->tx_max > 0 ? af->proto->tx_max : APP_DEFAULT_TX_MAX, count = 0;

    if (af->tx_count < most)
        return false;
    for (const struct app_tx *tx = af->main->first; tx; tx = tx->next)
        count += has_same_parser(tx, af);
    return count >= most;
}

static struct app_tx *add_transaction(struct app_context *context, bool beside, uint64_t id)
{
    struct app_flow *af = context->af, *main = af->main;
    const struct app_proto *proto = af->proto;
    struct app_tx *tx;

    if (is_full(af))
        return NULL;
    tx = heap_alloc(context->app->heap, proto->tx_size);
    if (!tx) {
        context->no_memory = true;
        return NULL;
    }
    main->heap = context->app->heap;
    tx->flow = af;
    tx->proto = proto;
    tx->protocol = af->protocol;
    tx->beside = beside;
    tx->id = beside ? id : main->next_tx++;
    tx->number = tx->id - main->first_tx;
    tx->directions = APP_BOTH;
    tx->begin_ns = context->now_ns;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        tx->files[direction].store_requested = main->keep_files[direction];
        tx->files[direction].store_sid = main->store_sid[direction];
    }
    tx->previous = main->last;
    *(main->last ? &main->last->next : &main->first) = tx;
    main->last = tx;
    af->tx_count++;
    list_add(tx, APP_TX_OPEN);
    list_add(tx, APP_TX_CHANGED);
    complete_truncated(tx);
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && context->app->wanted & RULE_TX_START;
         direction++)
        app_tx_mark_changed(tx, direction);
    if (!beside)
        app_count(context->app, af, COUNT_TX);
    return tx;
}

struct app_tx *app_tx_new(struct app_context *context)
{
    return add_transaction(context, false, 0);
}

struct app_tx *app_tx_new_alternative(struct app_context *context, uint64_t id)
{
    struct app_tx *tx = add_transaction(context, true, id);

    if (!tx)
        return NULL;
    tx->log_never = true;
    context->af->main->has_alternative_tx = true;
    for (const struct app_tx *other = context->af->main->first; other != tx; other = other->next) {
        if (other->id != id)
            continue;
        buffer_append(context->app->heap, &tx->matches, other->matches.bytes, other->matches.length, MATCHES_MAX);
        break;
    }
    return tx;
}

static bool has_matched(const struct app_tx *tx, uint64_t rule)
{
    for (uint32_t at = 0; at < tx->matches.length; at += sizeof(rule)) {
        if (memcmp(tx->matches.bytes + at, &rule, sizeof(rule)) == 0)
            return true;
    }
    return false;
}

static void add_match(struct app_tx *tx, uint64_t rule)
{
    buffer_append(app_tx_heap(tx), &tx->matches, &rule, sizeof(rule), MATCHES_MAX);
}

bool app_tx_record_match(struct app_tx *tx, enum flow_direction direction, uint32_t gid, uint32_t sid)
{
    struct app_flow *main = tx->flow->main;
    uint64_t rule = (uint64_t)direction << 63 | (uint64_t)gid << 32 | sid;

    if (main->has_alternative_tx && has_matched(tx, rule))
        return false;
    add_match(tx, rule); /* for alternative transactions that are added later */
    for (struct app_tx *other = main->has_alternative_tx ? main->first : NULL; other; other = other->next) {
        if (other->id == tx->id && other != tx)
            add_match(other, rule);
    }
    return true;
}

struct heap *app_tx_heap(const struct app_tx *tx)
{
    return tx->flow->main->heap;
}

struct app_tx *app_tx_first(const struct app_context *context)
{
    struct app_tx *tx = context->af->main->first;

    while (tx && !has_same_parser(tx, context->af))
        tx = tx->next;
    return tx;
}

struct app_tx *app_tx_last(const struct app_context *context)
{
    struct app_tx *tx = context->af->main->last;

    while (tx && tx->flow != context->af)
        tx = tx->previous;
    return tx && has_same_parser(tx, context->af) ? tx : NULL;
}

struct app_tx *app_tx_first_open(const struct app_context *context)
{
    struct app_tx *tx = sorted_list(context->af, APP_TX_OPEN)->next;

    while (tx && !has_same_parser(tx, context->af))
        tx = tx->link[APP_TX_OPEN].next;
    return tx;
}

struct app_tx *app_tx_last_open(const struct app_context *context)
{
    struct app_tx *tx = sorted_list(context->af, APP_TX_OPEN)->previous;

    return tx && has_same_parser(tx, context->af) ? tx : NULL;
}

uint32_t app_tx_open_count(const struct app_context *context)
{
    return context->af->open_count;
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
    app_tx_mark_changed(tx, FLOW_TO_SERVER);
    app_tx_mark_changed(tx, FLOW_TO_CLIENT);
}

bool app_tx_is_complete(const struct app_tx *tx, enum flow_direction direction)
{
    return !(tx->directions >> direction & 1) || tx->progress[direction] >= app_complete_progress(tx->proto, direction);
}

void app_tx_complete_direction(struct app_flow *af, enum flow_direction direction)
{
    for (struct app_tx *tx = af->main->first; tx; tx = tx->next) {
        if (tx->flow != af || app_tx_is_complete(tx, direction))
            continue;
        app_tx_advance(tx, direction, app_complete_progress(tx->proto, direction));
        app_tx_mark_changed(tx, direction);
    }
}

void app_tx_complete_all(struct app_flow *af)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        app_tx_complete_direction(af, direction);
}

struct app_tx *app_transactions(const struct flow *flow)
{
    return flow->app ? flow->app->first : NULL;
}

uint64_t app_tx_count(const struct flow *flow)
{
    return flow->app ? flow->app->next_tx - flow->app->first_tx : flow->closed_txs;
}

uint64_t app_tx_total(const struct flow *flow)
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

unsigned app_tx_log_protocol(const struct app_tx *tx)
{
    const struct app_proto *proto = tx->proto->logs_as ? tx->proto->logs_as(tx) : tx->proto;

    return proto == tx->proto ? tx->protocol : app_index(proto) + 1;
}

bool app_tx_needs_log(const struct app *app, const struct app_tx *tx, bool flow_ends)
{
    const struct app_proto *proto;

    if (tx->logged || tx->log_never)
        return false;
    proto = tx->proto->logs_as ? tx->proto->logs_as(tx) : tx->proto;
    if (!proto->log_type)
        return false;
    if (!flow_ends && !(has_log_progress(tx, FLOW_TO_SERVER) && has_log_progress(tx, FLOW_TO_CLIENT)))
        return false;
    return !proto->wants_log || proto->wants_log(tx, app_proto_settings(app, proto));
}

void app_store_files(struct flow *flow, struct file_engine *files, enum flow_direction direction, uint32_t sid)
{
    struct app_flow *af = flow ? flow->app : NULL;

    if (!af)
        return;
    af->keep_files[direction] = true;
    af->store_sid[direction] = sid;
    for (struct app_tx *tx = af->first; tx; tx = tx->next)
        file_list_request_store(files, &tx->files[direction], sid);
}

static void unlink_transaction(struct app_flow *af, struct app_tx *tx)
{
    for (unsigned list = 0; list < APP_TX_LISTS; list++)
        list_remove(tx, list);
    *(tx->previous ? &tx->previous->next : &af->first) = tx->next;
    *(tx->next ? &tx->next->previous : &af->last) = tx->previous;
}

void app_tx_release(struct app *app, struct app_tx *tx, app_release_function *release, void *user)
{
    struct app_context context = { .app = app, .af = tx->flow };

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (release && tx->detection[direction])
            release(user, tx->detection[direction]);
        app_byterange_detach_files(app, tx, direction);
        file_list_clear(app->files, &tx->files[direction]);
    }
    if (tx->proto->tx_free)
        tx->proto->tx_free(&context, tx);
    context.af->tx_count--;
    buffer_clear(app->heap, &tx->matches);
    heap_release(app->heap, tx->bits);
    heap_release(app->heap, tx);
}

static bool is_done(const struct app_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        if (!app_tx_is_complete(tx, direction) || app_tx_needs_inspection(tx, direction))
            return false;
    }
    return true;
}

bool app_tx_is_pending(const struct app_tx *tx)
{
    return !is_done(tx);
}

void app_free_completed(struct app *app, struct flow *flow, app_release_function *release, void *user)
{
    size_t before = app_flow_memory(app);
    struct app_tx *tx;

    while ((tx = app_transaction_list(flow, APP_TX_CHANGED))) {
        list_remove(tx, APP_TX_CHANGED);
        if (!is_done(tx) || app_tx_needs_log(app, tx, false))
            continue;
        unlink_transaction(flow->app, tx);
        app_tx_release(app, tx, release, user);
    }
    if (flow->app)
        app_memory_update(app, flow->app, before);
}
