/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tags: after a match of a rule with `tag`, subsequent packets of its flow, or to and from one of its hosts, are logged
 * for a given number of packets, seconds or bytes.
 *
 * Flow tags are attached to the flow; host tags are in a table shared by the workers, which is searched only while it
 * has unexpired entries. A flow or host has at most TAGS_MAX tags. Each of the first MATCH_LIMIT - 1 repeated matches
 * restarts its tag, unless the tag is exclusive. Further ones do not, so that a sender cannot cause unlimited packet
 * logging.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"
#include "sluice/clock.h"
#include "sluice/pool.h"
#include "sluice/shared_table.h"
#include "sluice/transfer.h"
#include "sluice/replay_order.h"

enum { TAGS_MAX = 4, MATCH_LIMIT = 10, HOST_TAG_SECONDS = 3600 };

struct tag {
    uint32_t gid, sid, index; /* index: position among the tags of the rule */
    uint32_t count, used;     /* limit, and amount used so far, in `unit`; `used` has no meaning for seconds */
    uint64_t first_ns;
    uint8_t unit; /* enum tag_unit */
    uint8_t matches;
    bool exclusive, match_counted; /* `exclusive`: repeated matches do not restart the tag; `match_counted`: the packet
                                      that matched was counted */
};

struct tag_list {
    uint32_t count;
    struct tag tags[TAGS_MAX];
};

struct flow_tag {
    struct tag_list list;
};

struct host_tag_key {
    struct address address;
    uint64_t ip_version; /* 64 bits wide, so that the key has no padding: keys are compared as bytes */
};

struct host_tag {
    struct shared_entry entry;
    struct host_tag_key key;
    struct tag_list list;
};

struct host_tags {
    struct shared_table *table;
    atomic_uint_least64_t last_expiry_ns; /* latest expiry of any host tag */
};

int host_tags_new(struct host_tags **out, size_t memcap, uint64_t seed)
{
    const struct shared_table_options options = {
        .entry_size = sizeof(struct host_tag),
        .key_size = sizeof(struct host_tag_key),
        .memcap = memcap,
        .seed = seed,
    };
    struct host_tags *tags = calloc(1, sizeof(*tags));

    if (!tags)
        return -ENOMEM;
    if (shared_table_new(&tags->table, &options)) {
        free(tags);
        return -ENOMEM;
    }
    *out = tags;
    return 0;
}

void host_tags_free(struct host_tags *tags)
{
    if (!tags)
        return;
    shared_table_free(tags->table);
    free(tags);
}

int flow_tags_new(struct pool **out, size_t memcap)
{
    return pool_new(out, sizeof(struct flow_tag), memcap);
}

/* --- Tag lists ------------------------------------------------------------------------------------ */

static void add_tag(struct tag_list *list, const struct rule *rule, uint32_t index, const struct rule_tag *tag,
                    uint64_t now_ns)
{
    for (uint32_t i = 0; i < list->count; i++) {
        struct tag *old = &list->tags[i];

        if (old->gid != rule->gid || old->sid != rule->sid || old->index != index)
            continue;
        if (!old->exclusive && ++old->matches < MATCH_LIMIT) {
            old->first_ns = now_ns;
            old->used = 0;
        }
        return;
    }
    if (list->count == TAGS_MAX)
        return;
    list->tags[list->count++] = (struct tag){
        .gid = rule->gid,
        .sid = rule->sid,
        .index = index,
        .count = tag->count,
        .unit = (uint8_t)tag->unit,
        .exclusive = tag->exclusive,
        .first_ns = now_ns,
    };
}

static bool has_ended(const struct tag *tag, uint64_t now_ns)
{
    if (tag->unit == TAG_SECONDS)
        return now_ns > tag->first_ns && (now_ns - tag->first_ns) / NS_PER_SECOND > tag->count;
    return tag->used > tag->count;
}

/* Counts the packet for all tags of the list and removes tags that have ended. Returns true if a tag requests that the
 * packet be logged. */
static bool count_packet_in_list(struct tag_list *list, const struct packet *pkt)
{
    bool log_requested = false;

    for (uint32_t i = list->count; i-- > 0;) {
        struct tag *tag = &list->tags[i];
        uint32_t more = tag->unit == TAG_PACKETS ? 1 : pkt->wire_length;

        tag->used = tag->used > UINT32_MAX - more ? UINT32_MAX : tag->used + more;
        if (!tag->match_counted)
            tag->match_counted = true; /* the packet that matched is reported by its alert */
        else if (has_ended(tag, pkt->time_ns))
            *tag = list->tags[--list->count];
        else
            log_requested = true;
    }
    return log_requested;
}

/* --- Hosts ---------------------------------------------------------------------------------------- */

static struct host_tag_key make_host_key(const struct packet *pkt, const struct address *address)
{
    return (struct host_tag_key){ .address = *address, .ip_version = pkt->ip_version };
}

/* Raises *maximum atomically: other workers may raise it at the same time, because they hold locks of other shards. */
static void raise_maximum(atomic_uint_least64_t *maximum, uint64_t value)
{
    uint_least64_t old = atomic_load_explicit(maximum, memory_order_relaxed);

    while (old < value &&
           !atomic_compare_exchange_weak_explicit(maximum, &old, value, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void add_host_tag(struct host_tags *tags, const struct packet *pkt, const struct rule *rule, uint32_t index,
                         const struct rule_tag *tag)
{
    struct host_tag_key key = make_host_key(pkt, tag->of_source ? &pkt->source_address : &pkt->destination_address);
    struct shared_shard *shard = shared_table_lock(tags->table, &key);
    bool fresh;
    struct host_tag *host = shared_shard_get(shard, &key, pkt->time_ns, &fresh);

    if (host) {
        add_tag(&host->list, rule, index, tag, pkt->time_ns);
        host->entry.expires_ns = pkt->time_ns + HOST_TAG_SECONDS * NS_PER_SECOND;
        raise_maximum(&tags->last_expiry_ns, host->entry.expires_ns);
    }
    shared_table_unlock(shard);
}

static bool count_packet_for_host(struct host_tags *tags, const struct packet *pkt, const struct address *address)
{
    struct host_tag_key key = make_host_key(pkt, address);
    struct shared_shard *shard = shared_table_lock(tags->table, &key);
    struct host_tag *host = shared_shard_find(shard, &key);
    bool log_requested = false;

    if (host) {
        log_requested = host->entry.expires_ns > pkt->time_ns && count_packet_in_list(&host->list, pkt);
        if (host->list.count == 0)
            shared_shard_remove(shard, host);
    }
    shared_table_unlock(shard);
    return log_requested;
}

/* --- Packets -------------------------------------------------------------------------------------- */

static void add_flow_tag(struct pool *pool, struct flow *flow, const struct packet *pkt, const struct rule *rule,
                         uint32_t index, const struct rule_tag *tag)
{
    if (!flow->tag) {
        flow->tag = pool_alloc(pool);
        if (!flow->tag)
            return; /* without memory for the tags, only the logging of packets is lost */
        memset(flow->tag, 0, sizeof(*flow->tag));
    }
    add_tag(&flow->tag->list, rule, index, tag, pkt->time_ns);
}

void tag_add(struct pool *pool, struct host_tags *hosts, struct replay_order *order, struct packet *pkt,
             const struct rule *rule)
{
    uint32_t index = 0;

    for (const struct rule_tag *tag = rule->tag; tag; tag = tag->next, index++) {
        if (tag->scope == TAG_SESSION) {
            if (pkt->flow)
                add_flow_tag(pool, pkt->flow, pkt, rule, index, tag);
        } else if (pkt->ip_version != 0) {
            replay_order_wait(order);
            add_host_tag(hosts, pkt, rule, index, tag);
        }
    }
}

bool tag_count_packet(struct host_tags *hosts, bool has_host_tags, struct replay_order *order, struct packet *pkt)
{
    struct flow *flow = pkt->flow;
    if (pkt->flags & PACKET_PSEUDO)
        return false; /* pseudo packets are never sent, so they are neither logged nor counted */
    bool log_requested = flow && flow->tag && count_packet_in_list(&flow->tag->list, pkt);

    if (!has_host_tags || pkt->ip_version == 0)
        return log_requested;
    replay_order_wait(order);
    if (atomic_load_explicit(&hosts->last_expiry_ns, memory_order_relaxed) < pkt->time_ns)
        return log_requested;
    log_requested |= count_packet_for_host(hosts, pkt, &pkt->source_address);
    log_requested |= count_packet_for_host(hosts, pkt, &pkt->destination_address);
    return log_requested;
}

/* --- State transfer ------------------------------------------------------------------------------- */

static void transfer_tag(struct transfer *t, struct tag *tag)
{
    transfer_u32(t, &tag->gid);
    transfer_u32(t, &tag->sid);
    transfer_u32(t, &tag->index);
    transfer_u32(t, &tag->count);
    transfer_u32(t, &tag->used);
    transfer_u64(t, &tag->first_ns);
    transfer_u8(t, &tag->unit);
    transfer_u8(t, &tag->matches);
    transfer_bool(t, &tag->exclusive);
    transfer_bool(t, &tag->match_counted);
    transfer_require(t, tag->unit <= TAG_BYTES);
}

static void transfer_list(struct transfer *t, struct tag_list *list)
{
    transfer_u32(t, &list->count);
    transfer_require(t, list->count <= TAGS_MAX);
    for (uint32_t i = 0; i < list->count && !t->error; i++)
        transfer_tag(t, &list->tags[i]);
}

void tag_transfer_flow(struct transfer *t, struct pool *pool, struct flow *flow)
{
    struct tag_list list = { .count = 0 };

    if (!t->reading) {
        transfer_list(t, &flow->tag->list);
        return;
    }
    transfer_list(t, &list);
    if (!t->error && !flow->tag && (flow->tag = pool_alloc(pool)))
        flow->tag->list = list;
}

static void transfer_host(struct transfer *t, struct host_tag *host)
{
    transfer_bytes(t, &host->key, sizeof(host->key));
    transfer_u64(t, &host->entry.expires_ns);
    transfer_list(t, &host->list);
}

static void write_host(struct shared_shard *shard, void *entry, void *user)
{
    (void)shard;
    transfer_host(user, entry);
}

static void read_host(struct transfer *t, struct host_tags *tags)
{
    struct host_tag read = { .list = { .count = 0 } }, *host;
    struct shared_shard *shard;
    bool fresh = false;

    transfer_host(t, &read);
    if (t->error)
        return;
    shard = shared_table_lock(tags->table, &read.key);
    host = shared_shard_get(shard, &read.key, 0, &fresh);
    if (host && fresh) {
        host->list = read.list;
        host->entry.expires_ns = read.entry.expires_ns;
        raise_maximum(&tags->last_expiry_ns, read.entry.expires_ns);
    }
    shared_table_unlock(shard);
}

void host_tags_transfer(struct transfer *t, struct host_tags *tags)
{
    if (!t->reading)
        shared_table_each(tags->table, write_host, t);
    while (t->reading && !t->error && t->at < t->limit)
        read_host(t, tags);
}
