/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expected flows: data connections that an FTP control connection announces. The two connections may be assigned to
 * different workers, so all workers share the list. The list is short, and while it is empty a new flow only reads a
 * counter.
 *
 * When the list is full, the oldest entry is replaced. A client that already has PER_CLIENT entries replaces its own
 * oldest one, so a client that announces many connections does not remove those of others.
 */
#include <stdlib.h>
#include <string.h>

#include "app_priv.h"
#include "sluice/transfer.h"

enum { TAG_MAX = 4096, PER_CLIENT = 32, EXPECTATION_SECONDS = 30 };

static void remove_entry(struct app_shared *shared, struct expected_flow *entry)
{
    free(entry->tag);
    memset(entry, 0, sizeof(*entry));
    atomic_fetch_sub(&shared->count, 1);
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
 * PER_CLIENT entries, its oldest one is removed; otherwise, if the list is full, the oldest one of all clients. */
static struct expected_flow *alloc_entry(struct app_shared *shared, const struct app_expectation *what, uint64_t now_ns)
{
    const struct address *client = &what->client;
    const struct expected_flow *free = NULL, *oldest = NULL, *own_oldest = NULL;
    unsigned own = 0;

    for (size_t i = 0; i < EXPECTED_FLOWS_MAX; i++) {
        struct expected_flow *entry = &shared->expected_flows[i];

        if (entry->proto && (entry->until_ns < now_ns || is_same_connection(&entry->what, what)))
            remove_entry(shared, entry);
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
    const struct expected_flow *chosen = own >= PER_CLIENT ? own_oldest : free ? free : oldest;
    struct expected_flow *place = &shared->expected_flows[chosen - shared->expected_flows];

    if (place->proto)
        remove_entry(shared, place);
    return place;
}

bool app_expect(struct app_context *context, const struct app_expectation *what, const void *tag, uint32_t tag_length)
{
    struct app_shared *shared = context->app->shared;
    unsigned proto = app_id_by_name(what->proto);
    struct expected_flow *place;
    void *copy;

    if (!shared || proto == 0 || tag_length > TAG_MAX)
        return false;
    copy = malloc(tag_length + 1);
    if (!copy)
        return false;
    memcpy(copy, tag, tag_length);
    replay_order_wait(context->app->order);
    pthread_mutex_lock(&shared->lock);
    place = alloc_entry(shared, what, context->now_ns);
    *place = (struct expected_flow){
        .what = *what,
        .until_ns = context->now_ns + EXPECTATION_SECONDS * UINT64_C(1000000000),
        .tag = copy,
        .tag_length = tag_length,
        .proto = (uint8_t)proto,
    };
    atomic_fetch_add(&shared->count, 1);
    pthread_mutex_unlock(&shared->lock);
    return true;
}

unsigned app_consume_expectation(struct app *app, struct app_flow *af, uint64_t now_ns)
{
    struct app_shared *shared = app->shared;
    const struct flow *flow = af->flow;
    struct expected_flow entry = { .proto = 0 };

    if (!shared)
        return 0;
    replay_order_wait(app->order);
    if (atomic_load(&shared->count) == 0)
        return 0;
    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < EXPECTED_FLOWS_MAX && !entry.proto; i++) {
        struct expected_flow *expected = &shared->expected_flows[i];

        if (!expected->proto || expected->until_ns < now_ns || expected->what.ip_version != flow->ip_version ||
            expected->what.server_port != flow->server_port ||
            memcmp(&expected->what.client, &flow->client, sizeof(flow->client)) != 0 ||
            memcmp(&expected->what.server, &flow->server, sizeof(flow->server)) != 0)
            continue;
        entry = *expected;
        expected->tag = NULL; /* `entry` owns the tag now */
        remove_entry(shared, expected);
    }
    pthread_mutex_unlock(&shared->lock);
    if (!entry.proto)
        return 0;
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
    transfer_require(t, entry->tag_length <= TAG_MAX);
    entry->what.ip_version = version;
}

/* Reads an entry into expected_flows[*place] and increments *place. Drops the entry if there is no memory, if the list
 * is full, or if this build does not have the protocol. */
static void read_entry(struct transfer *t, struct app_shared *shared, size_t *place)
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
    shared->expected_flows[(*place)++] = entry;
    atomic_fetch_add(&shared->count, 1);
}

void app_shared_transfer(struct transfer *t, struct app_shared *shared)
{
    size_t place = 0;

    pthread_mutex_lock(&shared->lock);
    for (size_t i = 0; i < EXPECTED_FLOWS_MAX && !t->reading; i++) {
        struct expected_flow *entry = &shared->expected_flows[i];

        if (!entry->proto)
            continue;
        transfer_put_text(t, app_proto_by_id(entry->proto)->name);
        transfer_entry(t, entry);
        transfer_bytes(t, entry->tag, entry->tag_length);
    }
    while (t->reading && !t->error && t->at < t->limit && atomic_load(&shared->count) == place)
        read_entry(t, shared, &place);
    pthread_mutex_unlock(&shared->lock);
}
