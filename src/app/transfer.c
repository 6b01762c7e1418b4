/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of application state to another process. The framework's state of a flow is written unchanged: unconsumed
 * bytes, results of protocol detection, a pending change of protocol. Each protocol transfers its parser state (struct
 * app_proto's transfer); a protocol without that function restarts after the last byte, which is correct for protocols
 * whose messages are independent.
 *
 * A transaction ends with the process, unless its protocol recreates it: then `each_tx` adds the data attached by other
 * modules.
 *
 * Protocol ids depend on the build, so they are mapped by name. A flow whose protocol does not exist in the new build
 * is treated as one whose detection failed.
 */
#include "sluice/transfer.h"

#include <errno.h>
#include <string.h>

#include "app_priv.h"
#include "feed.h"

enum { NAME_ROOM = 64, PENDING_MAX = 16 << 20 };
enum { PART_FLAGS, PART_SIDE, PART_TAG, PART_FALLBACK, PART_STATE, PART_NEXT, PART_READING, PART_PARENT };

/* --- Names of protocols --------------------------------------------------------------------------- */

void app_id_map_write(struct transfer *t)
{
    for (size_t i = 0; i < app_list_count; i++)
        transfer_put_text(t, app_list[i]->name);
}

int app_id_map_read(struct transfer *t, const struct app *app, struct app_id_map *out)
{
    char name[NAME_ROOM];

    memset(out, 0, sizeof(*out));
    out->here[APP_FAILED] = APP_FAILED;
    for (unsigned id = 1; !t->error && t->at < t->limit; id++) {
        size_t length;
        const char *text = transfer_lend_text(t, &length);

        transfer_require(t, id < APP_FAILED && length > 0 && length < sizeof(name));
        if (t->error)
            break;
        memcpy(name, text, length);
        name[length] = '\0';
        out->here[id] = (uint8_t)app_id_by_name(name);
        if (out->here[id] == 0 || !app->options.enabled[out->here[id] - 1])
            out->here[id] = APP_FAILED;
    }
    return t->error;
}

static unsigned map_id(const struct app_id_map *numbers, unsigned id)
{
    return numbers->here[id & 0xff];
}

uint32_t app_map_application(const struct app_id_map *numbers, uint32_t application)
{
    return map_id(numbers, application) | map_id(numbers, application >> 8) << 8 |
           map_id(numbers, application >> 16) << 16 | map_id(numbers, application >> 24) << 24;
}

/* --- Framework state ----------------------------------------------------------------------------- */

static void transfer_buffer(struct transfer *t, struct heap *heap, struct buffer *buffer)
{
    uint32_t length = buffer->length;
    const uint8_t *bytes;

    transfer_u32(t, &length);
    if (!t->reading) {
        transfer_bytes(t, buffer->bytes, length);
        return;
    }
    transfer_require(t, length <= PENDING_MAX);
    bytes = t->error || length == 0 ? NULL : transfer_lend(t, length);
    if (bytes && buffer_append(heap, buffer, bytes, length, UINT32_MAX) < length)
        t->error = -ENOMEM;
}

static void transfer_side(struct transfer *t, struct heap *heap, struct app_side *side)
{
    if (!t->reading && side->seen > side->pending.length)
        side->seen = 0; /* the bytes were freed */
    transfer_buffer(t, heap, &side->pending);
    transfer_buffer(t, heap, &side->compared);
    transfer_u64(t, &side->offset);
    transfer_u32(t, &side->seen);
    transfer_u32(t, &side->needed);
    transfer_u8(t, &side->datagrams);
    transfer_bool(t, &side->failed);
    transfer_bool(t, &side->ended);
    transfer_bool(t, &side->has_begun);
    transfer_bool(t, &side->comparing);
    transfer_bool(t, &side->foreign);
    transfer_bool(t, &side->unparsed);
    side->truncated |= side->unparsed;
    transfer_require(t, side->seen <= side->pending.length);
}

static void transfer_flags(struct transfer *t, struct app_flow *af)
{
    transfer_u32(t, &af->next_file);
    transfer_bool(t, &af->stopped);
    transfer_bool(t, &af->stop_stream);
    transfer_bool(t, &af->bypass);
    transfer_bool(t, &af->change_wanted);
    transfer_bool(t, &af->change_optional);
    transfer_bool(t, &af->changing);
    transfer_u8(t, &af->protocol);
    transfer_u8(t, &af->change_to);
    transfer_u8(t, &af->previous_protocol);
    transfer_u8(t, &af->candidate);
    transfer_bool(t, &af->failed);
    transfer_bool(t, &af->ambiguous);
    transfer_u8(t, &af->omitted_urgent);
    transfer_u8(t, &af->urgent_count);
    transfer_bool(t, &af->urgent_unread);
    transfer_require(t, af->urgent_count <= UNKNOWN_URGENT_MAX && af->omitted_urgent < 1 << UNKNOWN_URGENT_MAX);
    if (t->error && t->reading) /* if the part is damaged, the flow may continue without it */
        af->urgent_count = af->omitted_urgent = af->candidate = 0;
    for (unsigned i = 0; i < af->urgent_count && !t->error; i++) {
        uint8_t direction = af->urgent[i].direction;

        transfer_u8(t, &direction);
        transfer_u64(t, &af->urgent[i].place);
        transfer_require(t, direction < FLOW_DIRECTIONS);
        if (!t->error)
            af->urgent[i].direction = (enum flow_direction)direction;
    }
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        transfer_bool(t, &af->keep_files[i]);
        transfer_u32(t, &af->store_sid[i]);
    }
}

static void transfer_tag(struct transfer *t, struct heap *heap, struct app_flow *af)
{
    transfer_u32(t, &af->tag_length);
    transfer_require(t, af->tag_length <= APP_TAG_MAX);
    if (!t->error && t->reading)
        af->tag = heap_alloc_uncleared(heap, af->tag_length + 1);
    if (!t->error && af->tag)
        transfer_bytes(t, af->tag, af->tag_length);
}

/* --- Transactions --------------------------------------------------------------------------------- */

void app_transfer_buffer(struct app_context *context, struct transfer *t, struct buffer *buffer)
{
    transfer_buffer(t, context->app->heap, buffer);
}

void app_transfer_tx(struct app_context *context, struct transfer *t, struct app_tx *tx)
{
    const struct app_transfer_options *options = context->moving;

    transfer_u64(t, &tx->id);
    transfer_u64(t, &tx->number);
    transfer_u64(t, &tx->begin_ns);
    transfer_bool(t, &tx->logged);
    transfer_u8(t, &tx->guessed);
    transfer_bool(t, &tx->log_never);
    transfer_u8(t, &tx->store_chains);
    transfer_bool(t, &tx->only_events);
    for (unsigned i = 0; i < APP_EVENT_WORDS; i++)
        transfer_u64(t, &tx->events[i]);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        uint32_t logged = 0; /* number of files whose event has been written */

        transfer_u8(t, &tx->inspected[i]);
        transfer_bool(t, &tx->fresh[i]);
        for (struct file *file = tx->files[i].first; file && !t->reading && file->logged; file = file->next)
            logged++;
        transfer_u32(t, &logged);
        for (struct file *file = tx->files[i].first; file && t->reading && logged > 0; file = file->next, logged--)
            file->logged = true;
    }
    if (!t->error && options->each_tx)
        options->each_tx(t, tx, options->user);
    tx->moved = true;
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && t->reading; direction++) {
        uint8_t inspected = tx->inspected[direction];
        bool fresh = tx->fresh[direction];

        /* Restore the transferred inspection state: recreating the transaction has marked all of its data as new. */
        app_tx_set_inspected(tx, direction);
        tx->inspected[direction] = inspected;
        if (fresh || tx->progress[direction] != inspected)
            app_tx_mark_changed(tx, direction);
    }
}

bool app_has_bits(const struct flow *flow)
{
    const struct app_tx *tx = app_transactions(flow);

    while (tx && !tx->bits)
        tx = tx->next;
    return tx != NULL;
}

void app_transfer_bits(struct transfer *t, struct flow *flow, const uint32_t *numbers, uint32_t count)
{
    enum { TRANSACTION_SIZE = 12 }; /* least number of bytes of a transaction */
    struct app_tx *tx = app_transactions(flow);
    uint32_t transactions = 0;

    for (const struct app_tx *other = tx; other && !t->reading; other = other->next)
        transactions += other->bits != NULL;
    transfer_u32(t, &transactions);
    transfer_require(t, transfer_has_room(t, transactions, TRANSACTION_SIZE));
    for (uint32_t i = 0; i < transactions && !t->error; i++) {
        uint32_t bits = 0, number = 0;
        struct app_tx *to;
        uint64_t id = 0;

        while (!t->reading && !tx->bits)
            tx = tx->next;
        if (!t->reading) {
            id = tx->id;
            bits = tx->bits->count;
        }
        transfer_u64(t, &id);
        transfer_u32(t, &bits);
        transfer_require(t, bits <= TX_MAX_BITS);
        /* Both lists have the same order. Bits of transactions that were not restored are skipped. */
        for (to = tx; to && to->id != id;)
            to = to->next;
        for (uint32_t at = 0; at < bits && !t->error; at++) {
            if (!t->reading)
                number = tx->bits->numbers[at];
            transfer_u32(t, &number);
            if (t->reading && !t->error && to && number < count && numbers[number] != 0)
                tx_bits_set(app_tx_heap(to), &to->bits, numbers[number]);
        }
        if (to)
            tx = to->next;
    }
}

/* --- Parsers -------------------------------------------------------------------------------------- */

/* Transfers a parser state. During the call af->proto is `proto`, which may be af->fallback. */
static void transfer_state(struct app_context *context, struct transfer *t, const struct app_proto *proto, void *state)
{
    const struct app_proto *own = context->af->proto;

    if (!proto->transfer)
        return;
    context->af->proto = proto;
    proto->transfer(context, state, t);
    context->af->proto = own;
}

/* Starts a parser and reads its state into *state. If the parser cannot be started, parsing of the reading stops. */
static void read_state(struct app_context *context, struct transfer *t, const struct app_proto *proto, void **state)
{
    struct app_flow *af = context->af;

    if (af->stopped || !proto)
        return;
    *state = heap_alloc(context->app->heap, proto->state_size > 0 ? proto->state_size : 1);
    if (*state && proto->start && proto->start(context, *state)) {
        heap_release(context->app->heap, *state);
        *state = NULL;
    }
    if (*state)
        transfer_state(context, t, proto, *state);
    if (!*state || t->error == -ENOMEM || context->no_memory) {
        af->stopped = true;
        t->error = 0;
    }
}

/* --- A flow --------------------------------------------------------------------------------------- */

static void write_flow(struct app_context *context, struct transfer *t)
{
    struct app_flow *af = context->af;
    bool has_proto = af->proto != NULL, has_fallback = af->fallback != NULL;
    uint64_t next_tx = af->next_tx;
    size_t start;

    /* Stopped readings are not transferred. If all other readings have stopped, `ambiguous` is cleared: otherwise the
     * next process would apply the exception policy, because app_has_joined_reading() finds no reading there. */
    af->ambiguous &= app_has_other_readings(af->main);
    start = transfer_part_start(t, PART_FLAGS);
    transfer_flags(t, af);
    transfer_bool(t, &has_proto);
    transfer_bool(t, &has_fallback);
    transfer_part_end(t, start);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        start = transfer_part_start(t, PART_SIDE);
        transfer_side(t, context->app->heap, &af->side[i]);
        transfer_part_end(t, start);
    }
    if (af->tag) {
        start = transfer_part_start(t, PART_TAG);
        transfer_tag(t, context->app->heap, af);
        transfer_part_end(t, start);
    }
    if (af->parent_id != 0) {
        start = transfer_part_start(t, PART_PARENT);
        transfer_u64(t, &af->parent_id);
        transfer_part_end(t, start);
    }
    if (has_fallback) {
        start = transfer_part_start(t, PART_FALLBACK);
        transfer_state(context, t, af->fallback, af->fallback_state);
        transfer_part_end(t, start);
    }
    if (has_proto && !af->stopped) {
        start = transfer_part_start(t, PART_STATE);
        transfer_state(context, t, af->proto, af->state);
        transfer_part_end(t, start);
    }
    for (struct app_flow *reading = af->next_reading; reading && af == af->main; reading = reading->next_reading) {
        if (reading->stopped)
            continue; /* a stopped reading has no state that is needed */
        start = transfer_part_start(t, PART_READING);
        context->af = reading;
        write_flow(context, t);
        context->af = af;
        transfer_part_end(t, start);
    }
    start = transfer_part_start(t, PART_NEXT);
    transfer_u64(t, &next_tx);
    transfer_u64(t, &af->first_tx);
    transfer_part_end(t, start);
}

/* Reads PART_FLAGS and maps protocol ids to those of this process. If a protocol does not exist here, parsing of the
 * reading stops. */
static void read_flags(struct app_context *context, struct transfer *t)
{
    const struct app_id_map *numbers = context->moving->numbers;
    struct app_flow *af = context->af;
    bool has_proto = false, has_fallback = false;

    transfer_require(t, !af->proto && !af->fallback); /* a second PART_FLAGS could exchange the protocol of a state */
    transfer_flags(t, af);
    transfer_bool(t, &has_proto);
    transfer_bool(t, &has_fallback);
    if (t->error)
        return;
    af->protocol = numbers->here[af->protocol];
    af->previous_protocol = numbers->here[af->previous_protocol];
    af->change_to = numbers->here[af->change_to];
    af->candidate = numbers->here[af->candidate];
    if (af->candidate == APP_FAILED || af->protocol == APP_FAILED || af->previous_protocol == APP_FAILED ||
        af->change_to == APP_FAILED)
        af->stopped = true;
    else if (has_proto && af->protocol != 0)
        af->proto = app_proto_by_id(af->protocol);
    else if (has_fallback && af->previous_protocol != 0)
        af->fallback = app_proto_by_id(af->previous_protocol);
}

static void read_flow(struct app_context *context, struct transfer *t);

/* Adds a reading besides the main one. Without memory the reading is omitted or stopped. */
static void read_reading(struct app_context *context, struct transfer *t)
{
    struct app_flow *main = context->af, **end = &main->next_reading, *reading;
    unsigned count = 0;

    for (; *end; end = &(*end)->next_reading)
        count++;
    transfer_require(t, main == main->main && count < READINGS_MAX + (1u << UNKNOWN_URGENT_MAX));
    reading = t->error ? NULL : heap_alloc(context->app->heap, sizeof(*reading));
    if (!reading)
        return;
    reading->flow = main->flow;
    reading->main = main;
    *end = context->af = reading;
    read_flow(context, t);
    context->af = main;
    if (t->error || (!reading->proto && !reading->omitted_urgent && !reading->candidate))
        reading->stopped = true;
}

static void read_flow(struct app_context *context, struct transfer *t)
{
    struct app_flow *af = context->af;
    struct heap *heap = context->app->heap;
    struct transfer part;
    unsigned sides = 0;
    uint16_t kind;

    while (!t->error && transfer_next_part(t, &kind, &part)) {
        switch (kind) {
        case PART_FLAGS:
            read_flags(context, &part);
            break;
        case PART_SIDE:
            transfer_require(&part, sides < FLOW_DIRECTIONS);
            if (part.error)
                break;
            transfer_side(&part, heap, &af->side[sides]);
            /* `excluded` is not transferred, because indices of protocols depend on the build. While the protocol is
             * unknown, the first bytes are probed again. */
            if (!af->proto)
                af->side[sides].seen = af->side[sides].needed = 0;
            sides++;
            if (part.error == -ENOMEM) {
                af->stopped = true;
                part.error = 0;
            }
            break;
        case PART_TAG:
            transfer_require(&part, !af->tag);
            if (!part.error)
                transfer_tag(&part, heap, af);
            break;
        case PART_FALLBACK:
            transfer_require(&part, !af->fallback_state);
            if (!part.error)
                read_state(context, &part, af->fallback, &af->fallback_state);
            break;
        case PART_STATE:
            transfer_require(&part, !af->state);
            if (!part.error)
                read_state(context, &part, af->proto, &af->state);
            break;
        case PART_NEXT:
            transfer_u64(&part, &af->next_tx);
            transfer_u64(&part, &af->first_tx);
            transfer_require(&part, af->first_tx <= af->next_tx);
            break;
        case PART_READING:
            read_reading(context, &part);
            break;
        case PART_PARENT:
            transfer_u64(&part, &af->parent_id);
            break;
        default:
            break; /* unknown part of a newer version */
        }
        t->error = part.error;
    }
    af->stopped |= t->error != 0;
    if (af->proto && !af->state) /* the parser's state is missing */
        af->proto = NULL, af->stopped = true;
    if (af->fallback && !af->fallback_state)
        af->fallback = NULL, af->stopped = true;
    if (!af->stopped)
        return;
    app_tx_complete_all(af);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        buffer_clear(heap, &af->side[i].pending);
}

void app_transfer_flow(struct transfer *t, struct app *app, struct flow *flow,
                       const struct app_transfer_options *options)
{
    struct app_context context = { .app = app, .af = flow->app, .now_ns = flow->last_ns, .moving = options };

    if (!t->reading) {
        write_flow(&context, t);
        return;
    }
    size_t before = app_flow_memory(app);

    if (flow->app || !(flow->app = heap_alloc(app->heap, sizeof(*flow->app))))
        return;
    context.af = flow->app;
    context.af->flow = flow;
    context.af->main = context.af;
    context.af->used_ns = flow->last_ns;
    app_memory_add(app, context.af);
    read_flow(&context, t);
    app_memory_update(app, context.af, before);
}
