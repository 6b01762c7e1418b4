/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes the kernel's reports about the connections of offloaded flows, which arrive periodically and when a
 * connection ends.
 *
 * The packet and byte counts of the kernel cover the whole connection, and are stored unchanged. The flow counts the
 * queued packets itself; the difference is the number of packets that the kernel processed alone. If the counts have
 * changed since the last report, the timeout of the flow restarts. Without counts, a later expiry time of the
 * connection in the kernel shows that packets have arrived, because each packet extends it.
 */
#include "flow_priv.h"
#include "sluice/pool.h"

#define NS_PER_SECOND UINT64_C(1000000000)

void kernel_counts_free(struct flow_table *table, struct flow *flow)
{
    pool_release(table->kernels, flow->kernel);
    flow->kernel = NULL;
}

static uint64_t difference(uint64_t now, uint64_t before)
{
    return now > before ? now - before : 0;
}

/* Stores the counts of a report. Returns whether packets have arrived since the last report. */
static bool store_counts(struct flow_table *table, struct flow *flow, enum flow_direction direction,
                         const struct flow_report *report, uint64_t now_ns)
{
    struct flow_kernel_counts *kernel = flow->kernel, now = { .until_ns = 0 };
    bool moved;

    if (!kernel) {
        kernel = flow->kernel = pool_alloc(table->kernels);
        if (!kernel)
            return true; /* no memory: assume that packets have arrived */
        *kernel = (struct flow_kernel_counts){ .until_ns = 0 };
    }
    now.until_ns = now_ns + report->timeout_seconds * NS_PER_SECOND;
    moved = now.until_ns > kernel->until_ns + NS_PER_SECOND;
    if (report->has_counts) {
        for (int side = 0; side < FLOW_DIRECTIONS; side++) {
            const struct flow_side *seen = &flow->side[side];
            uint64_t packets = kernel->packets[side] > seen->packets ? kernel->packets[side] : seen->packets;
            uint64_t bytes = kernel->bytes[side] > seen->bytes ? kernel->bytes[side] : seen->bytes;

            now.packets[side] = report->packets[side ^ (int)direction];
            now.bytes[side] = report->bytes[side ^ (int)direction];
            /* Packets of a flow that is inspected are counted by the sluice table. */
            if (flow->offload == OFFLOAD_ACKNOWLEDGMENTS)
                continue;
            /* Count the difference to the last report, or to the number of inspected packets if that is higher. */
            table->counters[FLOW_COUNTER_BYPASSED_PACKETS] += difference(now.packets[side], packets);
            table->counters[FLOW_COUNTER_BYPASSED_BYTES] += difference(now.bytes[side], bytes);
        }
        moved = now.packets[0] != kernel->packets[0] || now.packets[1] != kernel->packets[1];
    }
    *kernel = now;
    return moved;
}

bool flow_table_update_offloaded(struct flow_table *table, const struct flow_report *report, uint64_t now_ns)
{
    struct flow_key key = {
        .source = report->client,
        .destination = report->server,
        .source_port = report->client_port,
        .destination_port = report->server_port,
        .ip_version = report->ip_version,
        .protocol = report->protocol,
    };
    enum flow_direction direction = FLOW_TO_SERVER;
    struct flow *flow = protocol_is_icmp(report->protocol) ? NULL : flow_find_key(table, &key, &direction);

    if (!flow || flow->offload == OFFLOAD_NONE)
        return false;
    if (store_counts(table, flow, direction, report, now_ns) && now_ns > flow->last_ns)
        flow->last_ns = now_ns;
    if (report->ended && flow->offload == OFFLOAD_ACCEPT) {
        table->counters[FLOW_COUNTER_BYPASSED_CLOSED]++;
        flow_table_end(table, flow, FLOW_END_TIMEOUT);
    }
    return true;
}
