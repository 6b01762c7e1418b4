/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The flow table: buckets, a pool of flows, and a timer wheel. A lookup uses the time of the packet to decide whether a
 * flow has expired; the wheel only frees memory. So the result of a lookup does not depend on the progress of the
 * wheel.
 *
 * When the pool is empty, the table is in emergency until a part of the pool is free again (EMERGENCY_OVER): timeouts
 * are shorter, and a new flow replaces the oldest flow in state FLOW_NEW. So a flood mostly replaces its own flows.
 * Flows in other states, in most of which both ends have sent packets, are evicted only when there is no flow in
 * FLOW_NEW (idle.c).
 *
 * Threads:   a table belongs to one worker.
 * Ownership: flows belong to the pool of the table, from create_flow() to flow_table_end().
 */
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "bucket.h"
#include "flow_priv.h"
#include "sluice/conntrack.h"
#include "sluice/pool.h"

enum {
    VARIABLE_SHARE = 16,   /* 1/16 of the memcap is for bits and integers */
    TEXT_SHARE = 64,       /* 1/64 for texts */
    KERNEL_SHARE = 32,     /* 1/32 for the kernel's counts of offloaded flows */
    MAC_SHARE = 4,         /* 1/4 for MAC addresses, if they are recorded */
    FLOWS_PER_BUCKET = 4,  /* a full table has two to four flows in a bucket; buckets take 1/20 to 1/10 */
    MAX_BUCKETS = 1 << 30, /* maximum number of buckets, because bucket_mask has 32 bits */
    EMERGENCY_OVER = 70,   /* the emergency ends when at most this percentage of the flows is in use; cf. Suricata's
                              emergency-recovery */
    RECLAIM_VISITS = 8, /* maximum number of flows visited in the wheel to find an expired one when the pool is empty;
                           low, so that no packet waits long */
    LAST_RESORT_VISITS = 64, /* used instead of RECLAIM_VISITS if no flow is in state FLOW_NEW */
    VISITS_PER_EXPIRED = 8,  /* flow_table_expire() visits at most this number of flows for each flow that it may end */
};

/* --- Creation and removal of a table -------------------------------------------------------------- */

static int new_pools(struct flow_table *table, size_t memcap)
{
    size_t for_macs = table->options.mac_addresses ? memcap / MAC_SHARE : 0;
    size_t for_variables = memcap / VARIABLE_SHARE, for_texts = memcap / TEXT_SHARE, buckets = 1;
    size_t for_kernels = memcap / KERNEL_SHARE;

    while (buckets < MAX_BUCKETS && buckets < memcap / sizeof(struct flow) / FLOWS_PER_BUCKET)
        buckets *= 2;
    size_t taken = for_variables + for_texts + for_kernels + for_macs + buckets * sizeof(struct bucket);

    if (pool_new(&table->flows, sizeof(struct flow), memcap > taken ? memcap - taken : 0) ||
        pool_new(&table->variables, variable_size(), for_variables) ||
        pool_new(&table->texts, variable_text_size(), for_texts) ||
        pool_new(&table->kernels, sizeof(struct flow_kernel_counts), for_kernels) ||
        (for_macs > 0 && pool_new(&table->macs, sizeof(struct flow_macs), for_macs)) ||
        pool_new(&table->bucket_pool, buckets * sizeof(struct bucket), 0))
        return -ENOMEM;
    table->buckets = pool_alloc(table->bucket_pool);
    table->bucket_mask = (uint32_t)(buckets - 1);
    table->leave_emergency_at = pool_capacity(table->flows) * EMERGENCY_OVER / 100;
    return 0;
}

void flow_table_trim(struct flow_table *table)
{
    pool_trim(table->flows);
    pool_trim(table->variables);
    pool_trim(table->texts);
    pool_trim(table->kernels);
}

int flow_table_set_memcap(struct flow_table *table, size_t memcap)
{
    const struct {
        struct pool *pool;
        size_t memcap;
    } shares[] = {
        { table->variables, memcap / VARIABLE_SHARE },
        { table->texts, memcap / TEXT_SHARE },
        { table->kernels, memcap / KERNEL_SHARE },
        { table->macs, table->macs ? memcap / MAC_SHARE : 0 },
    };
    size_t taken = ((size_t)table->bucket_mask + 1) * sizeof(struct bucket), flows;
    int err;

    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]); i++)
        taken += shares[i].memcap;
    flows = memcap > taken ? memcap - taken : 0;
    err = flows > 0 ? pool_check_memcap(table->flows, flows) : -EBUSY;
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]) && !err; i++)
        err = shares[i].pool ? pool_check_memcap(shares[i].pool, shares[i].memcap) : 0;
    if (!err)
        err = pool_set_memcap(table->flows, flows);
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]) && !err; i++)
        err = shares[i].pool ? pool_set_memcap(shares[i].pool, shares[i].memcap) : 0;
    table->leave_emergency_at = pool_capacity(table->flows) * EMERGENCY_OVER / 100;
    return err;
}

static void set_timeouts(struct flow_table *table)
{
    const uint64_t second = 1000000000;

    for (int kind = 0; kind < FLOW_CLASS_COUNT; kind++) {
        for (int state = 0; state < FLOW_STATE_COUNT; state++) {
            uint64_t normal = table->options.timeouts[kind].seconds[state] * second;
            uint64_t emergency = table->options.emergency[kind].seconds[state] * second;

            table->timeout_ns[false][kind][state] = normal;
            table->timeout_ns[true][kind][state] = emergency < normal ? emergency : normal;
        }
    }
}

/* Flows whose timeout has become shorter are in slots that are emptied too late, so all slots are searched once. */
void flow_table_set_timeouts(struct flow_table *table, const struct flow_options *options)
{
    memcpy(table->options.timeouts, options->timeouts, sizeof(table->options.timeouts));
    memcpy(table->options.emergency, options->emergency, sizeof(table->options.emergency));
    set_timeouts(table);
    table->wheel.sweep_left = WHEEL_SLOTS;
}

int flow_table_new(struct flow_table **out, const struct flow_options *options, flow_end_function *end, void *user)
{
    struct flow_table *table = calloc(1, sizeof(*table));

    if (!table)
        return -ENOMEM;
    table->options = *options;
    table->end = end;
    table->user = user;
    set_timeouts(table);
    key_secret_init(&table->secret, options->seed);
    if (new_pools(table, options->memcap)) {
        flow_table_free(table);
        return -ENOMEM;
    }
    *out = table;
    return 0;
}

void flow_table_free(struct flow_table *table)
{
    if (!table)
        return;
    pool_free(table->flows);
    pool_free(table->variables);
    pool_free(table->texts);
    pool_free(table->kernels);
    pool_free(table->macs);
    pool_free(table->bucket_pool);
    free(table);
}

/* --- The list of new flows, by their start -------------------------------------------------------- */

static void link_new(struct flow_table *table, struct flow *flow)
{
    flow->newer = NULL;
    flow->older = table->newest;
    if (table->newest)
        table->newest->newer = flow;
    else
        table->oldest = flow;
    table->newest = flow;
}

static void link_flow(struct flow_table *table, struct flow *flow)
{
    if (flow->state == FLOW_NEW)
        link_new(table, flow);
    else
        settled_add(table, flow);
}

static void unlink_flow(struct flow_table *table, struct flow *flow)
{
    if (flow->state == FLOW_NEW) {
        if (flow->newer)
            flow->newer->older = flow->older;
        else
            table->newest = flow->older;
        if (flow->older)
            flow->older->newer = flow->newer;
        else
            table->oldest = flow->newer;
        flow->newer = flow->older = NULL;
    } else {
        settled_remove(table, flow);
    }
}

void flow_set_state(struct flow_table *table, struct flow *flow, enum flow_state state)
{
    uint64_t before = flow_timeout_ns(table, flow);

    if (flow->state == state)
        return;
    unlink_flow(table, flow);
    flow->state = (uint8_t)state;
    link_flow(table, flow);
    /* If the timeout is shorter, the flow moves to an earlier slot of the timer wheel now; if it is longer, the flow
     * moves when its slot is emptied. */
    if (flow_timeout_ns(table, flow) < before) {
        wheel_remove(flow);
        wheel_add(table, flow);
    }
}

/* --- End of flows --------------------------------------------------------------------------------- */

void flow_table_end(struct flow_table *table, struct flow *flow, enum flow_end reason)
{
    /* Called while the flow is in the table, so that the callback may set its state or variables. */
    if (table->end)
        table->end(flow, reason, table->user);
    if (flow->state == FLOW_BYPASSED && flow->offload == OFFLOAD_ACCEPT)
        table->counters[FLOW_COUNTER_END_CAPTURED]++;
    else
        table->counters[FLOW_COUNTER_END_STATE + flow->state]++;
    if (reason == FLOW_END_REUSED)
        table->counters[FLOW_COUNTER_TCP_REUSE]++;
    bucket_remove(bucket_of(table, flow->hash), flow);
    wheel_remove(flow);
    unlink_flow(table, flow);
    variables_free(table, flow);
    kernel_counts_free(table, flow);
    macs_free(table, flow);
    pool_release(table->flows, flow);
    if (table->emergency && pool_used(table->flows) <= table->leave_emergency_at) {
        table->emergency = false;
        table->wheel.sweep_left = 0;
        table->counters[FLOW_COUNTER_EMERGENCY_OVER]++;
    }
}

size_t flow_table_expire(struct flow_table *table, uint64_t now_ns, size_t budget)
{
    size_t visits = budget > SIZE_MAX / VISITS_PER_EXPIRED ? SIZE_MAX : budget * VISITS_PER_EXPIRED, ended = 0;
    struct flow *flow;

    while (ended < budget && (flow = wheel_next_expired(table, now_ns, &visits))) {
        flow_table_end(table, flow, FLOW_END_TIMEOUT);
        ended++;
    }
    return ended;
}

static bool began_before(const struct flow *a, const struct flow *b)
{
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->first_number < b->first_number;
}

/* Cuts off the first run of a list, the longest sequence at its start that is in order. Sets *end to the link behind
 * the last flow of the run. Returns the rest of the list. */
static struct flow *cut_run(struct flow *list, struct flow ***end)
{
    struct flow *rest;

    while (list->wheel_next && !began_before(list->wheel_next, list))
        list = list->wheel_next;
    *end = &list->wheel_next;
    rest = list->wheel_next;
    list->wheel_next = NULL;
    return rest;
}

/* Merges two runs and appends them to the list that ends at `tail`. Returns the new end of this list. */
static struct flow **merge_runs(struct flow *left, struct flow **left_end, struct flow *right, struct flow **right_end,
                                struct flow **tail)
{
    while (left && right) {
        struct flow **first = began_before(right, left) ? &right : &left;

        *tail = *first;
        tail = &(*first)->wheel_next;
        *first = *tail;
    }
    *tail = left ? left : right;
    return left ? left_end : right_end;
}

/* Sorts a list by the start of the flows: a natural merge sort, which needs no memory, and little time for lists that
 * are nearly sorted, as the slots of the wheel are. */
static struct flow *sort_by_start(struct flow *list)
{
    size_t runs = 2;

    while (runs > 1) {
        struct flow *rest = list, **tail = &list, **left_end, **right_end;

        for (runs = 0; rest; runs++) {
            struct flow *left = rest, *right = cut_run(left, &left_end);

            rest = right ? cut_run(right, &right_end) : NULL;
            tail = merge_runs(left, left_end, right, right ? right_end : NULL, tail);
        }
        *tail = NULL;
    }
    return list;
}

/* Ends the flows of a list, linked by wheel_next. They must not be in the wheel. */
static void end_list(struct flow_table *table, struct flow *flow, enum flow_end reason)
{
    while (flow) {
        struct flow *next = flow->wheel_next;

        bucket_prefetch_end(table, next, next ? next->wheel_next : NULL);
        flow_table_end(table, flow, reason);
        flow = next;
    }
}

void flow_table_expire_all(struct flow_table *table, uint64_t now_ns)
{
    size_t visits = SIZE_MAX;
    struct flow *list = NULL, *flow;

    while ((flow = wheel_next_expired(table, now_ns, &visits))) {
        wheel_remove(flow);
        flow->wheel_next = list;
        list = flow;
    }
    end_list(table, sort_by_start(list), FLOW_END_TIMEOUT);
}

void flow_table_end_all(struct flow_table *table, enum flow_end reason)
{
    end_list(table, sort_by_start(wheel_remove_all(&table->wheel)), reason);
}

/* --- Start of flows ------------------------------------------------------------------------------- */

/* Enters the emergency, ends a flow, and returns the memory of a new one; NULL if no flow may be evicted. */
static struct flow *evict_for_new_flow(struct flow_table *table, uint64_t now_ns)
{
    size_t planned = table->oldest ? RECLAIM_VISITS : LAST_RESORT_VISITS, visits = planned;

    if (!table->emergency) {
        table->emergency = true;
        table->wheel.sweep_left = WHEEL_SLOTS;
        table->counters[FLOW_COUNTER_EMERGENCY_ENTERED]++;
    }
    struct flow *victim = wheel_next_expired(table, now_ns, &visits);

    table->counters[FLOW_COUNTER_GET_USED_EVAL] += planned - visits;
    if (victim) {
        flow_table_end(table, victim, FLOW_END_TIMEOUT);
    } else if (table->oldest) {
        struct flow *oldest = table->oldest, *next = oldest->newer;

        table->counters[FLOW_COUNTER_GET_USED]++;
        bucket_prefetch_end(table, next, next ? next->newer : NULL);
        flow_table_end(table, oldest, FLOW_END_FORCED);
    } else if ((victim = find_idle_flow(table, now_ns))) {
        table->counters[FLOW_COUNTER_GET_USED]++;
        table->counters[FLOW_COUNTER_EVICTED]++;
        flow_table_end(table, victim, FLOW_END_FORCED);
    } else {
        table->counters[FLOW_COUNTER_GET_USED_FAILED]++;
        table->counters[FLOW_COUNTER_MEMCAP]++;
        return NULL;
    }
    return pool_alloc(table->flows);
}

static enum flow_class class_of(uint8_t protocol)
{
    switch (protocol) {
    case IPPROTO_TCP:
        return FLOW_CLASS_TCP;
    case IPPROTO_UDP:
        return FLOW_CLASS_UDP;
    default:
        return protocol_is_icmp(protocol) ? FLOW_CLASS_ICMP : FLOW_CLASS_OTHER;
    }
}

/* Fills *out with the kernel's data about the packet. Conntrack data is parsed here, once per flow. */
static void fill_origin(struct flow_origin *out, const struct packet *pkt)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;
    const struct queue_meta *meta = &root->meta;
    struct conntrack conntrack;

    *out = (struct flow_origin){
        .in_ifindex = meta->in_ifindex,
        .out_ifindex = meta->out_ifindex,
        .in_physical_ifindex = meta->in_physical_ifindex,
        .out_physical_ifindex = meta->out_physical_ifindex,
        .mark = meta->mark,
        .queue = meta->queue,
        .hook = meta->hook,
    };
    out->has_conntrack =
        root->conntrack.bytes && conntrack_parse(&conntrack, root->conntrack.bytes, root->conntrack.length);
    if (!out->has_conntrack)
        return;
    out->conntrack_id = conntrack.id;
    out->conntrack_mark = conntrack.mark;
}

static struct flow *create(struct flow_table *table, const struct packet *pkt, const struct flow_key *key,
                           uint32_t hash)
{
    struct flow *flow = pool_alloc(table->flows);

    if (!flow)
        flow = evict_for_new_flow(table, pkt->time_ns);
    if (!flow)
        return NULL;
    memset(flow, 0, sizeof(*flow));
    flow->hash = hash;
    flow->client = key->source;
    flow->server = key->destination;
    flow->client_port = key->source_port;
    flow->server_port = protocol_is_icmp(key->protocol) ? pkt->icmp.code : key->destination_port;
    memcpy(flow->vlan_id, pkt->vlan_id, sizeof(flow->vlan_id));
    flow->vlan_count = pkt->vlan_count;
    flow->tunnel_depth = pkt->tunnel_depth;
    flow->ip_version = key->ip_version;
    flow->protocol = key->protocol;
    flow->class = (uint8_t)class_of(key->protocol);
    flow->start_ns = flow->last_ns = pkt->time_ns;
    flow->first_number = pkt->number;
    fill_origin(&flow->origin, pkt);
    flow->id = key_flow_id(key, pkt->time_ns, pkt->number);
    flow->emergency = table->emergency;
    bucket_add(bucket_of(table, hash), flow);
    link_new(table, flow);
    wheel_add(table, flow);
    table->counters[FLOW_COUNTER_TOTAL]++;
    if (flow->protocol == IPPROTO_TCP)
        table->counters[FLOW_COUNTER_TCP]++;
    else if (flow->protocol == IPPROTO_UDP)
        table->counters[FLOW_COUNTER_UDP]++;
    else if (flow->protocol == IPPROTO_ICMP)
        table->counters[FLOW_COUNTER_ICMPV4]++;
    else if (flow->protocol == IPPROTO_ICMPV6)
        table->counters[FLOW_COUNTER_ICMPV6]++;
    return flow;
}

void flow_add_transferred(struct flow_table *table, struct flow *flow)
{
    flow->class = (uint8_t)class_of(flow->protocol);
    bucket_add(bucket_of(table, flow->hash), flow);
    link_flow(table, flow);
    wheel_set_start(table, flow->last_ns);
    wheel_add(table, flow);
}

/*
 * Creates a flow. The first sender is the client, unless conntrack data shows that the packet is a reply, because the
 * connection began before the program. In this case both directions have sent packets, so the state is
 * FLOW_ESTABLISHED, except for TCP, whose state the stream module determines.
 */
static struct flow *create_flow(struct flow_table *table, const struct packet *pkt, const struct flow_key *key,
                                uint32_t hash, enum flow_direction *direction)
{
    struct flow_key turned = *key;
    struct flow *flow;

    *direction = FLOW_TO_SERVER;
    if (!conntrack_is_reply(pkt))
        return create(table, pkt, key, hash);
    turned.source = key->destination;
    turned.destination = key->source;
    turned.source_port = key->destination_port;
    turned.destination_port = key->source_port;
    flow = create(table, pkt, &turned, hash);
    if (!flow)
        return NULL;
    *direction = FLOW_TO_CLIENT;
    table->counters[FLOW_COUNTER_CONNTRACK_REPLY]++;
    if (flow->class != FLOW_CLASS_TCP)
        flow_set_state(table, flow, FLOW_ESTABLISHED);
    return flow;
}

/* --- Lookup --------------------------------------------------------------------------------------- */

static struct flow *find_in_bucket(const struct bucket *bucket, const struct flow_table *table,
                                   const struct flow_key *key, uint32_t hash, enum flow_direction *direction)
{
    uint32_t places = bucket_places(bucket);
    struct flow *flow;

    for (uint32_t i = 0; i < places; i++) {
        if (bucket->hashes[i] == hash && key_matches(key, bucket->flows[i], &table->options, direction))
            return bucket->flows[i];
    }
    if (bucket->count <= BUCKET_PLACES)
        return NULL;
    flow = bucket->flows[BUCKET_LAST]->next;
    while (flow && (flow->hash != hash || !key_matches(key, flow, &table->options, direction)))
        flow = flow->next;
    return flow;
}

static struct flow *find_flow(struct flow_table *table, const struct flow_key *key, uint32_t hash, uint64_t now_ns,
                              enum flow_direction *direction)
{
    struct flow *flow = find_in_bucket(bucket_of(table, hash), table, key, hash, direction);

    if (!flow || !flow_has_expired(table, flow, now_ns))
        return flow;
    flow_table_end(table, flow, FLOW_END_TIMEOUT);
    return NULL;
}

struct flow *flow_find_key(struct flow_table *table, const struct flow_key *key, enum flow_direction *direction)
{
    uint32_t hash = key_hash(key, &table->secret);

    return find_in_bucket(bucket_of(table, hash), table, key, hash, direction);
}

size_t flow_table_list(struct flow_table *table, size_t *cursor, size_t buckets, const struct flow **out, size_t max)
{
    size_t at = *cursor, end = (size_t)table->bucket_mask + 1, count = 0;

    if (at < end && buckets < end - at)
        end = at + buckets;
    for (; at < end && count < max; at++) {
        const struct bucket *bucket = &table->buckets[at];
        const struct flow *flow = NULL;
        uint32_t place = 0;

        /* A page contains all flows of a bucket, because they may change their slots before the next page. A bucket
         * with more than `max` flows is truncated. */
        if (count > 0 && bucket->count > max - count)
            break;
        while (count < max && (flow = bucket_next(bucket, flow, &place)))
            out[count++] = flow;
    }
    *cursor = at > table->bucket_mask ? 0 : at;
    return count;
}

const struct flow *flow_table_find_id(const struct flow_table *table, uint64_t id, size_t *cursor, size_t buckets)
{
    size_t at = *cursor, end = (size_t)table->bucket_mask + 1;
    const struct flow *found = NULL;

    if (at < end && buckets < end - at)
        end = at + buckets;
    for (; at < end && !found; at++) {
        uint32_t place = 0;

        do
            found = bucket_next(&table->buckets[at], found, &place);
        while (found && found->id != id);
    }
    *cursor = found || at > table->bucket_mask ? 0 : at;
    return found;
}

const struct flow *flow_table_find(struct flow_table *table, const struct flow_ends *ends)
{
    struct flow_key key = {
        .source = ends->address[0],
        .destination = ends->address[1],
        .source_port = ends->port[0],
        .destination_port = ends->port[1],
        .vlan_count = ends->vlan_count,
        .ip_version = ends->ip_version,
        .protocol = ends->protocol,
    };
    enum flow_direction direction;
    uint32_t hash;

    memcpy(key.vlan_id, ends->vlan_id, sizeof(key.vlan_id));
    if (protocol_is_icmp(key.protocol))
        key.destination_port = icmp_answer(key.protocol, (uint8_t)key.source_port);
    key_mask(&key, &table->options);
    hash = key_hash(&key, &table->secret);
    return find_in_bucket(bucket_of(table, hash), table, &key, hash, &direction);
}

static void set_direction(struct packet *pkt, enum flow_direction direction)
{
    if (direction == FLOW_TO_CLIENT)
        pkt->flags |= PACKET_TO_CLIENT;
    else
        pkt->flags &= ~(uint32_t)PACKET_TO_CLIENT;
}

void flow_table_prefetch(const struct flow_table *table, struct packet *pkt)
{
    struct flow_key key;

    if (!key_of_packet(&key, pkt))
        return;
    key_mask(&key, &table->options);
    pkt->flow_hash = key_hash(&key, &table->secret);
    __builtin_prefetch(bucket_of(table, pkt->flow_hash), 1);
}

/* Returns the flow of the packet that an ICMP error quotes, or NULL. */
static struct flow *find_quoted(struct flow_table *table, struct packet *error)
{
    enum flow_direction quoted;
    struct flow_key key;

    if (!icmp_quoted_key(&key, error))
        return NULL;
    key_mask(&key, &table->options);
    struct flow *flow = find_flow(table, &key, key_hash(&key, &table->secret), error->time_ns, &quoted);

    if (flow)
        set_direction(error, quoted == FLOW_TO_SERVER ? FLOW_TO_CLIENT : FLOW_TO_SERVER);
    return flow;
}

struct flow *flow_table_get(struct flow_table *table, struct packet *pkt, enum exception_cause *exception)
{
    enum flow_direction direction = FLOW_TO_SERVER;
    struct flow_key key;
    struct flow *flow;

    *exception = EXCEPTION_NONE;
    if (!key_of_packet(&key, pkt))
        return NULL;
    if (icmp_is_error(pkt)) {
        flow = find_quoted(table, pkt);
        if (flow || pkt->protocol == IPPROTO_ICMP)
            return flow;
    }
    key_mask(&key, &table->options);
    uint32_t hash = pkt->flow_hash ? pkt->flow_hash : key_hash(&key, &table->secret);

    flow = find_flow(table, &key, hash, pkt->time_ns, &direction);
    if (!flow) {
        flow = create_flow(table, pkt, &key, hash, &direction);
        if (!flow)
            *exception = EXCEPTION_FLOW_MEMCAP;
    }
    set_direction(pkt, direction);
    return flow;
}

/* --- Update by a packet --------------------------------------------------------------------------- */

void flow_update(struct flow_table *table, struct flow *flow, struct packet *pkt)
{
    const uint16_t both = FLOW_SERVER_SEEN | FLOW_CLIENT_SEEN;
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    struct flow_side *side = &flow->side[direction];

    if (pkt->time_ns > flow->last_ns)
        flow->last_ns = pkt->time_ns;
    if (side->packets == 0) {
        side->ttl_low = side->ttl_high = pkt->ttl;
    } else if (pkt->ttl < side->ttl_low) {
        side->ttl_low = pkt->ttl;
    } else if (pkt->ttl > side->ttl_high) {
        side->ttl_high = pkt->ttl;
    }
    side->packets++;
    side->bytes += pkt->length;
    if (table->options.mac_addresses)
        macs_record(table, flow, pkt, direction);
    /* An ICMP error may be from a router, so it sets neither FLOW_SERVER_SEEN nor FLOW_CLIENT_SEEN, unless the flow
     * itself consists of ICMPv6 errors. */
    if (icmp_is_error(pkt) && !(flow->protocol == pkt->protocol && flow->client_port == pkt->icmp.type))
        flow->flags |= FLOW_ICMP_ERROR_SEEN;
    else
        flow->flags |= direction == FLOW_TO_CLIENT ? FLOW_SERVER_SEEN : FLOW_CLIENT_SEEN;
    if (flow->state == FLOW_NEW && flow->class != FLOW_CLASS_TCP && (flow->flags & both) == both)
        flow_set_state(table, flow, FLOW_ESTABLISHED);
    /* As in Suricata, rules treat a closed connection as established. */
    if (flow->state == FLOW_ESTABLISHED || flow->state == FLOW_CLOSED)
        pkt->flags |= PACKET_ESTABLISHED;
}

static void swap_bytes(void *a, void *b, size_t size)
{
    uint8_t copy[sizeof(struct flow_side)];

    assert(size <= sizeof(copy));
    memcpy(copy, a, size);
    memcpy(a, b, size);
    memcpy(b, copy, size);
}

void flow_swap(struct flow *flow, struct packet *pkt)
{
    const uint16_t both = FLOW_SERVER_SEEN | FLOW_CLIENT_SEEN;

    if (protocol_is_icmp(flow->protocol))
        return;
    swap_bytes(&flow->client, &flow->server, sizeof(flow->client));
    swap_bytes(&flow->client_port, &flow->server_port, sizeof(flow->client_port));
    swap_bytes(&flow->side[0], &flow->side[1], sizeof(flow->side[0]));
    swap_bytes(&flow->detection[0], &flow->detection[1], sizeof(flow->detection[0]));
    macs_swap(flow);
    if ((flow->flags & both) != 0 && (flow->flags & both) != both)
        flow->flags ^= both;
    flow->flags ^= FLOW_SWAPPED;
    if (pkt)
        pkt->flags ^= PACKET_TO_CLIENT;
}
