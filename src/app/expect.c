/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flows that are announced by another flow: the data connections of FTP. The connection may be assigned to another
 * worker than its control connection, so the list is shared. It is short, and while it is empty a new flow only reads a
 * counter.
 *
 * When the list is full, the oldest entry is replaced. A client that already has PER_CLIENT entries replaces its own
 * oldest one, so a client that announces many connections does not remove those of others.
 */
#include <stdlib.h>
#include <string.h>

#include "app_priv.h"
#include "sluice/transfer.h"

enum { TAG_MAX = 4096, PER_CLIENT = 32 };

static void forget(struct app_shared *shared, struct announced *one)
{
    free(one->tag);
    memset(one, 0, sizeof(*one));
    atomic_fetch_sub(&shared->count, 1);
}

static const struct announced *older_of(const struct announced *one, const struct announced *other)
{
    return !other || one->until_ns < other->until_ns ? one : other;
}

static bool is_same(const struct app_expectation *one, const struct app_expectation *other)
{
    return one->ip_version == other->ip_version && one->server_port == other->server_port &&
           memcmp(&one->client, &other->client, sizeof(one->client)) == 0 &&
           memcmp(&one->server, &other->server, sizeof(one->server)) == 0;
}

/* Removes an earlier entry of the same connection. Returns an unused or expired entry, otherwise the oldest entry of
 * the client or of all clients. */
static struct announced *find_place(struct app_shared *shared, const struct app_expectation *what, uint64_t now_ns)
{
    const struct address *client = &what->client;
    const struct announced *free = NULL, *oldest = NULL, *own_oldest = NULL;
    unsigned own = 0;

    for (size_t i = 0; i < ANNOUNCED_MAX; i++) {
        struct announced *one = &shared->announced[i];

        if (one->proto && (one->until_ns < now_ns || is_same(&one->what, what)))
            forget(shared, one);
        if (!one->proto) {
            free = free ? free : one;
            continue;
        }
        oldest = older_of(one, oldest);
        if (memcmp(&one->what.client, client, sizeof(*client)) == 0) {
            own_oldest = older_of(one, own_oldest);
            own++;
        }
    }
    const struct announced *chosen = own >= PER_CLIENT ? own_oldest : free ? free : oldest;
    struct announced *place = &shared->announced[chosen - shared->announced];

    if (place->proto)
        forget(shared, place);
    return place;
}

bool app_expect(struct app_context *context, const struct app_expectation *what, const void *tag, uint32_t tag_length)
{
    struct app_shared *shared = context->app->shared;
    unsigned proto = app_find(what->proto);
    struct announced *place;
    void *copy;

    if (!shared || proto == 0 || tag_length > TAG_MAX)
        return false;
    copy = malloc(tag_length + 1);
    if (!copy)
        return false;
    memcpy(copy, tag, tag_length);
    turn_wait(context->app->turn);
    pthread_mutex_lock(&shared->lock);
    place = find_place(shared, what, context->now_ns);
    *place = (struct announced){
        .what = *what,
        .until_ns = context->now_ns + context->app->options.expectation_seconds * UINT64_C(1000000000),
        .tag = copy,
        .tag_length = tag_length,
        .proto = (uint8_t)proto,
    };
    atomic_fetch_add(&shared->count, 1);
    pthread_mutex_unlock(&shared->lock);
    return true;
}

static bool is_for(const struct announced *one, const struct flow *flow, uint64_t now_ns)
{
    return one->proto && one->until_ns >= now_ns && one->what.ip_version == flow->ip_version &&
           one->what.server_port == flow->server_port &&
           memcmp(&one->what.client, &flow->client, sizeof(flow->client)) == 0 &&
           memcmp(&one->what.server, &flow->server, sizeof(flow->server)) == 0;
}

/* Moves the expectation of the flow, with its tag, to *out; false if there is none. */
static bool take(struct app_shared *shared, const struct flow *flow, uint64_t now_ns, struct announced *out)
{
    for (size_t i = 0; i < ANNOUNCED_MAX; i++) {
        if (!is_for(&shared->announced[i], flow, now_ns))
            continue;
        *out = shared->announced[i];
        shared->announced[i].tag = NULL;
        forget(shared, &shared->announced[i]);
        return true;
    }
    return false;
}

unsigned app_take_expected(struct app *app, struct app_flow *af, uint64_t now_ns)
{
    struct app_shared *shared = app->shared;
    struct announced one;
    bool found;

    if (!shared)
        return 0;
    turn_wait(app->turn);
    if (atomic_load(&shared->count) == 0)
        return 0;
    pthread_mutex_lock(&shared->lock);
    found = take(shared, af->flow, now_ns, &one);
    pthread_mutex_unlock(&shared->lock);
    if (!found)
        return 0;
    af->tag = heap_take_raw(app->heap, one.tag_length + 1);
    if (af->tag) {
        memcpy(af->tag, one.tag, one.tag_length);
        af->tag_length = one.tag_length;
    }
    free(one.tag);
    return app->options.enabled[one.proto - 1] ? one.proto : 0;
}

const void *app_expected(const struct app_context *context, uint32_t *tag_length)
{
    *tag_length = context->af->tag_length;
    return context->af->tag;
}

/* --- Transfer to another process ----------------------------------------------------------------- */

static void transfer_announced(struct transfer *t, struct announced *one)
{
    uint8_t version = (uint8_t)one->what.ip_version;

    transfer_bytes(t, &one->what.client, sizeof(one->what.client));
    transfer_bytes(t, &one->what.server, sizeof(one->what.server));
    transfer_u8(t, &version);
    transfer_u16(t, &one->what.server_port);
    transfer_u64(t, &one->until_ns);
    transfer_u32(t, &one->tag_length);
    transfer_require(t, one->tag_length <= TAG_MAX);
    one->what.ip_version = version;
}

static void write_announced(struct transfer *t, struct announced *one)
{
    transfer_put_text(t, app_by_id(one->proto)->name);
    transfer_announced(t, one);
    transfer_bytes(t, one->tag, one->tag_length);
}

/* Drops entries for which there is no room, and those of protocols that this build does not have. */
static void read_announced(struct transfer *t, struct app_shared *shared, size_t *place)
{
    struct announced one = { .proto = 0 };
    const uint8_t *tag = NULL;
    size_t length = 0;
    const char *name = transfer_lend_text(t, &length);

    transfer_announced(t, &one);
    if (!t->error)
        tag = transfer_lend(t, one.tag_length);
    for (size_t i = 0; name && i < app_list_count; i++) {
        if (strlen(app_list[i]->name) == length && memcmp(app_list[i]->name, name, length) == 0)
            one.proto = (uint8_t)(i + 1);
    }
    if (t->error || one.proto == 0 || *place >= ANNOUNCED_MAX || !(one.tag = malloc((size_t)one.tag_length + 1)))
        return;
    memcpy(one.tag, tag, one.tag_length);
    one.what.proto = app_by_id(one.proto)->name;
    shared->announced[(*place)++] = one;
    atomic_fetch_add(&shared->count, 1);
}

void app_shared_transfer(struct transfer *t, struct app_shared *shared)
{
    size_t place = 0;

    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < ANNOUNCED_MAX && !t->reading; i++) {
        if (shared->announced[i].proto)
            write_announced(t, &shared->announced[i]);
    }
    while (t->reading && !t->error && t->at < t->limit && atomic_load(&shared->count) == place)
        read_announced(t, shared, &place);
    pthread_mutex_unlock(&shared->lock);
}
