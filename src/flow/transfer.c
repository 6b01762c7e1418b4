/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfers flows to the next process. The flows of the table are written field by field; the reader creates them in
 * its own table, with another hash seed and another position of the wheel. Flows in state FLOW_NEW are written last, in
 * the order of their start, because they are evicted in this order.
 *
 * Variables are stored by the number of their name, and the next process may number names differently, so numbers are
 * translated. A variable whose name no rule of the next process uses is omitted.
 */
#include <errno.h>
#include <string.h>

#include "bucket.h"
#include "flow_priv.h"
#include "sluice/pool.h"
#include "sluice/transfer.h"

/* --- The flow's own fields ------------------------------------------------------------------------ */

void flow_transfer(struct transfer *t, struct flow *flow)
{
    transfer_bytes(t, &flow->client, sizeof(flow->client));
    transfer_bytes(t, &flow->server, sizeof(flow->server));
    transfer_u16(t, &flow->client_port);
    transfer_u16(t, &flow->server_port);
    for (unsigned i = 0; i < PACKET_MAX_VLANS; i++)
        transfer_u16(t, &flow->vlan_id[i]);
    transfer_u8(t, &flow->vlan_count);
    transfer_u8(t, &flow->ip_version);
    transfer_u8(t, &flow->protocol);
    transfer_u8(t, &flow->tunnel_depth);
    transfer_require(t, flow->vlan_count <= PACKET_MAX_VLANS && (flow->ip_version == 4 || flow->ip_version == 6));
    transfer_u8(t, &flow->state);
    transfer_u16(t, &flow->flags);
    transfer_u64(t, &flow->id);
    transfer_u64(t, &flow->start_ns);
    transfer_u64(t, &flow->last_ns);
    transfer_u64(t, &flow->first_number);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        /* Version 3 of the format has a MAC address and a flag here. They are not used any more, because the next
         * packets contain the addresses again. */
        uint8_t unused[MAC_SIZE + 1] = { 0 };
        struct flow_side *side = &flow->side[i];

        transfer_u64(t, &side->packets);
        transfer_u64(t, &side->bytes);
        transfer_u8(t, &side->ttl_low);
        transfer_u8(t, &side->ttl_high);
        transfer_bytes(t, unused, sizeof(unused));
    }
    transfer_u32(t, &flow->origin.in_ifindex);
    transfer_u32(t, &flow->origin.out_ifindex);
    transfer_u32(t, &flow->origin.in_physical_ifindex);
    transfer_u32(t, &flow->origin.out_physical_ifindex);
    transfer_u32(t, &flow->origin.mark);
    transfer_u32(t, &flow->origin.conntrack_id);
    transfer_u32(t, &flow->origin.conntrack_mark);
    transfer_u16(t, &flow->origin.queue);
    transfer_u8(t, &flow->origin.hook);
    transfer_bool(t, &flow->origin.has_conntrack);
    transfer_u32(t, &flow->application);
    transfer_u32(t, &flow->drop_sid);
    transfer_u32(t, &flow->drop_gid);
    /* The format has no fields for the causes behind EXCEPTION_OVERLOAD, which were added later. Their effect is in
     * drop_reason. */
    for (unsigned i = 0; i <= EXCEPTION_OVERLOAD; i++) {
        transfer_u8(t, &flow->exceptions[i]);
        transfer_require(t, flow->exceptions[i] <= EXCEPTION_POLICY_COUNT);
    }
    transfer_bool(t, &flow->emergency);
    transfer_u8(t, &flow->would_drop);
    transfer_bool(t, &flow->drop_by_exception);
    transfer_u8(t, &flow->drop_reason);
    transfer_u8(t, &flow->app_evicted);
    transfer_u8(t, &flow->offload);
    transfer_require(t, flow->drop_reason < DROP_REASON_COUNT && flow->offload <= OFFLOAD_ACKNOWLEDGMENTS &&
                            flow->would_drop <= FLOW_WOULD_DROP_BY_RULE);
    transfer_require(t, flow->state < FLOW_STATE_COUNT);
}

/* --- Adding to the table -------------------------------------------------------------------------- */

struct flow *flow_table_add_copy(struct flow_table *table, const struct flow *from)
{
    struct flow_key key = {
        .source = from->client,
        .destination = from->server,
        .source_port = from->client_port,
        .destination_port = from->server_port,
        .vlan_count = from->vlan_count,
        .ip_version = from->ip_version,
        .protocol = from->protocol,
        .tunnel_depth = from->tunnel_depth,
    };
    enum flow_direction direction;
    struct flow *flow;

    memcpy(key.vlan_id, from->vlan_id, sizeof(key.vlan_id));
    if (protocol_is_icmp(key.protocol))
        key.destination_port = icmp_answer(key.protocol, (uint8_t)key.source_port);
    key_mask(&key, &table->options);
    if (flow_find_key(table, &key, &direction) || !(flow = pool_alloc(table->flows)))
        return NULL;
    *flow = *from;
    flow->hash = key_hash(&key, &table->secret);
    flow_add_transferred(table, flow);
    return flow;
}

/* Returns a number that is different after each packet of the flow, and never 0. */
static uint32_t packets_so_far(const struct flow *flow)
{
    return (uint32_t)(flow->side[0].packets + flow->side[1].packets) << 1 | 1;
}

void flow_set_duplicate(struct flow *flow)
{
    flow->visit = packets_so_far(flow);
}

bool flow_is_duplicate(const struct flow *flow)
{
    return flow->visit == packets_so_far(flow);
}

/* --- Writing the table ---------------------------------------------------------------------------- */

void flow_table_each(struct flow_table *table, flow_each_function *each, void *user)
{
    for (size_t i = 0; i <= table->bucket_mask; i++) {
        struct flow *flow = NULL;
        uint32_t place = 0;

        while ((flow = bucket_next(&table->buckets[i], flow, &place)))
            if (flow->state != FLOW_NEW)
                each(flow, user);
    }
    for (struct flow *flow = table->oldest; flow; flow = flow->newer)
        each(flow, user);
}

size_t flow_table_count(const struct flow_table *table)
{
    return pool_used(table->flows);
}

/* --- Kernel counts -------------------------------------------------------------------------------- */

void flow_transfer_kernel(struct transfer *t, struct flow_table *table, struct flow *flow)
{
    struct flow_kernel_counts counts = { .until_ns = 0 };

    if (flow->kernel)
        counts = *flow->kernel;
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        transfer_u64(t, &counts.packets[i]);
        transfer_u64(t, &counts.bytes[i]);
    }
    transfer_u64(t, &counts.until_ns);
    if (!t->reading || t->error || (!flow->kernel && !(flow->kernel = pool_alloc(table->kernels))))
        return;
    *flow->kernel = counts;
}

bool flow_table_transfer_seed(struct transfer *t, struct flow_table *table)
{
    uint64_t seed = table->options.seed;

    transfer_u64(t, &seed);
    if (t->reading && !t->error && pool_used(table->flows) == 0) {
        table->options.seed = seed;
        key_secret_init(&table->secret, seed);
    }
    return seed == table->options.seed;
}
