/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The list of expected flows: see expect.h. It is searched from its beginning, because it is short. */
#include "expect.h"

#include <stdlib.h>
#include <string.h>

#include "app_priv.h"
#include "sluice/transfer.h"

void expected_flows_init(struct expected_flows *expected)
{
    memset(expected, 0, sizeof(*expected));
    pthread_mutex_init(&expected->lock, NULL);
}

void expected_flows_clear(struct expected_flows *expected)
{
    for (size_t i = 0; i < EXPECTED_FLOWS_MAX; i++)
        free(expected->list[i].tag);
    pthread_mutex_destroy(&expected->lock);
}

static void remove_entry(struct expected_flows *expected, struct expected_flow *entry)
{
    free(entry->tag);
    memset(entry, 0, sizeof(*entry));
    atomic_fetch_sub(&expected->count, 1);
}

static const struct expected_flow *older_entry(const struct expected_flow *entry, const struct expected_flow *other)
{
    return !other || entry->until_ns < other->until_ns ? entry : other;
}

static bool is_same_connection(const struct app_expectation *entry, const struct app_expectation *other)
{
    return entry->ip_version == other->ip_version && entry->server_port == other->server_port &&
           memcmp(&entry->client, &other->client, sizeof(entry->client)) == 0 &&
           memcmp(&entry->server, &other->server, sizeof(entry->server)) == 0;
}

/* Removes expired entries and an earlier entry of the same connection. Returns a free entry. If the client has
 * EXPECTED_FLOWS_OF_CLIENT entries, its oldest one is removed; otherwise, if the list is full, the oldest one of all
 * clients. */
static struct expected_flow *alloc_entry(struct expected_flows *expected, const struct app_expectation *what,
                                         uint64_t now_ns)
{
    const struct address *client = &what->client;
    const struct expected_flow *free = NULL, *oldest = NULL, *own_oldest = NULL;
    unsigned own = 0;

    for (size_t i = 0; i < EXPECTED_FLOWS_MAX; i++) {
        struct expected_flow *entry = &expected->list[i];

        if (entry->proto && (entry->until_ns < now_ns || is_same_connection(&entry->what, what)))
            remove_entry(expected, entry);
        if (!entry->proto) {
            free = free ? free : entry;
            continue;
        }
        oldest = older_entry(entry, oldest);
        if (memcmp(&entry->what.client, client, sizeof(*client)) == 0) {
            own_oldest = older_entry(entry, own_oldest);
            own++;
        }
    }
    const struct expected_flow *chosen = own >= EXPECTED_FLOWS_OF_CLIENT ? own_oldest : free ? free : oldest;
    struct expected_flow *place = &expected->list[chosen - expected->list];

    if (place->proto)
        remove_entry(expected, place);
    return place;
}

bool app_shared_expect(struct app_shared *shared, const struct app_expectation *what, const void *tag,
                       uint32_t tag_length, uint64_t now_ns)
{
    struct expected_flows *expected = &shared->expected;
    unsigned proto = app_id_by_name(what->proto);
    struct expected_flow *place;
    void *copy;

    if (proto == 0 || tag_length > APP_TAG_MAX)
        return false;
    copy = malloc(tag_length + 1);
    if (!copy)
        return false;
    memcpy(copy, tag, tag_length);
    pthread_mutex_lock(&expected->lock);
    place = alloc_entry(expected, what, now_ns);
    *place = (struct expected_flow){
        .what = *what,
        .until_ns = now_ns + EXPECTATION_SECONDS * UINT64_C(1000000000),
        .tag = copy,
        .tag_length = tag_length,
        .proto = (uint8_t)proto,
    };
    atomic_fetch_add(&expected->count, 1);
    pthread_mutex_unlock(&expected->lock);
    return true;
}

bool app_expect(struct app_context *context, const struct app_expectation *what, const void *tag, uint32_t tag_length)
{
    const struct app *app = context->app;
    struct app_expectation announced = *what;

    if (!app->shared)
        return false;
    announced.parent_id = context->af->flow->id;
    replay_order_wait(app->order);
    return app_shared_expect(app->shared, &announced, tag, tag_length, context->now_ns);
}

unsigned app_consume_expectation(struct app *app, struct app_flow *af, uint64_t now_ns)
{
    const struct flow *flow = af->flow;
    struct expected_flow entry = { .proto = 0 };
    struct expected_flows *expected;

    if (!app->shared)
        return 0;
    expected = &app->shared->expected;
    replay_order_wait(app->order);
    if (atomic_load(&expected->count) == 0)
        return 0;
    pthread_mutex_lock(&expected->lock);
    for (size_t i = 0; i < EXPECTED_FLOWS_MAX && !entry.proto; i++) {
        struct expected_flow *one = &expected->list[i];

        if (!one->proto || one->until_ns < now_ns || one->what.ip_version != flow->ip_version ||
            one->what.server_port != flow->server_port ||
            memcmp(&one->what.client, &flow->client, sizeof(flow->client)) != 0 ||
            memcmp(&one->what.server, &flow->server, sizeof(flow->server)) != 0)
            continue;
        entry = *one;
        one->tag = NULL; /* `entry` owns the tag now */
        remove_entry(expected, one);
    }
    pthread_mutex_unlock(&expected->lock);
    if (!entry.proto)
        return 0;
    af->parent_id = entry.what.parent_id;
    af->tag = heap_alloc_uncleared(app->heap, entry.tag_length + 1);
    if (af->tag) {
        memcpy(af->tag, entry.tag, entry.tag_length);
        af->tag_length = entry.tag_length;
    }
    free(entry.tag);
    return app->options.enabled[entry.proto - 1] ? entry.proto : 0;
}

const void *app_expectation_tag(const struct app_context *context, uint32_t *tag_length)
{
    *tag_length = context->af->tag_length;
    return context->af->tag;
}

uint64_t app_flow_parent(const struct flow *flow)
{
    return flow->app ? flow->app->main->parent_id : 0;
}

/* --- Transfer to another process ----------------------------------------------------------------- */

static void transfer_entry(struct transfer *t, struct expected_flow *entry)
{
    uint8_t version = (uint8_t)entry->what.ip_version;

    transfer_bytes(t, &entry->what.client, sizeof(entry->what.client));
    transfer_bytes(t, &entry->what.server, sizeof(entry->what.server));
    transfer_u8(t, &version);
    transfer_u16(t, &entry->what.server_port);
    transfer_u64(t, &entry->until_ns);
    transfer_u32(t, &entry->tag_length);
    transfer_require(t, entry->tag_length <= APP_TAG_MAX);
    entry->what.ip_version = version;
}

/* Reads an entry into expected->list[*place] and increments *place. Drops the entry if there is no memory, if the
 * list is full, or if this build does not have the protocol. */
static void read_entry(struct transfer *t, struct expected_flows *expected, size_t *place)
{
    struct expected_flow entry = { .proto = 0 };
    const uint8_t *tag = NULL;
    size_t length = 0;
    const char *name = transfer_lend_text(t, &length);

    transfer_entry(t, &entry);
    if (!t->error)
        tag = transfer_lend(t, entry.tag_length);
    for (size_t i = 0; name && i < app_list_count; i++) {
        if (strlen(app_list[i]->name) == length && memcmp(app_list[i]->name, name, length) == 0)
            entry.proto = (uint8_t)(i + 1);
    }
    if (t->error || entry.proto == 0 || *place >= EXPECTED_FLOWS_MAX ||
        !(entry.tag = malloc((size_t)entry.tag_length + 1)))
        return;
    memcpy(entry.tag, tag, entry.tag_length);
    entry.what.proto = app_proto_by_id(entry.proto)->name;
    expected->list[(*place)++] = entry;
    atomic_fetch_add(&expected->count, 1);
}

void app_shared_transfer(struct transfer *t, struct app_shared *shared)
{
    struct expected_flows *expected = &shared->expected;
    size_t place = 0;

    pthread_mutex_lock(&expected->lock);
    for (size_t i = 0; i < EXPECTED_FLOWS_MAX && !t->reading; i++) {
        struct expected_flow *entry = &expected->list[i];

        if (!entry->proto)
            continue;
        transfer_put_text(t, app_proto_by_id(entry->proto)->name);
        transfer_entry(t, entry);
        transfer_bytes(t, entry->tag, entry->tag_length);
    }
    while (t->reading && !t->error && t->at < t->limit && atomic_load(&expected->count) == place)
        read_entry(t, expected, &place);
    pthread_mutex_unlock(&expected->lock);
}
