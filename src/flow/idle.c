/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Selects the flow that is evicted when the table is full and contains no new flows. Of the first IDLE_SAMPLES flows of
 * a list, the one that has been idle for the longest time is selected, and all of them move to the end of the list. So
 * packets need not move their flows in the list, the cost of a selection is bounded, and each flow is considered in
 * turn. TCP connections are in a separate list: the handshake has proved the client's address, so they are evicted
 * last, and, unless they are closed, only after they have been idle for PROVEN_IDLE_NS. Dropped flows must also be idle
 * for PROVEN_IDLE_NS, because after an eviction their next packets would begin new flows that are not dropped.
 */
#include "flow_priv.h"

enum { IDLE_SAMPLES = 16 };
#define PROVEN_IDLE_NS UINT64_C(10000000000)

static struct flow_list *list_of(struct flow_table *table, const struct flow *flow)
{
    return &table->settled[flow->class == FLOW_CLASS_TCP];
}

void settled_add(struct flow_table *table, struct flow *flow)
{
    struct flow_list *list = list_of(table, flow);

    flow->newer = NULL;
    flow->older = list->newest;
    *(list->newest ? &list->newest->newer : &list->oldest) = flow;
    list->newest = flow;
}

void settled_remove(struct flow_table *table, struct flow *flow)
{
    struct flow_list *list = list_of(table, flow);

    *(flow->newer ? &flow->newer->older : &list->newest) = flow->older;
    *(flow->older ? &flow->older->newer : &list->oldest) = flow->newer;
    flow->newer = flow->older = NULL;
}

static struct flow *find_idle(struct flow_table *table, struct flow_list *list, uint64_t now_ns)
{
    struct flow *idle = NULL, *flow;

    for (unsigned i = 0; i < IDLE_SAMPLES && (flow = list->oldest); i++) {
        bool is_proven = flow->class == FLOW_CLASS_TCP && flow->state != FLOW_CLOSED;
        uint64_t idle_ns = is_proven || flow->flags & FLOW_DROPPED ? PROVEN_IDLE_NS : 0;

        if (now_ns > flow->last_ns + idle_ns && (!idle || flow->last_ns < idle->last_ns))
            idle = flow;
        settled_remove(table, flow);
        settled_add(table, flow);
    }
    return idle;
}

struct flow *flow_table_find_idle_tcp(struct flow_table *table, uint64_t now_ns)
{
    return find_idle(table, &table->settled[true], now_ns);
}

struct flow *find_idle_flow(struct flow_table *table, uint64_t now_ns)
{
    struct flow *flow = find_idle(table, &table->settled[false], now_ns);

    return flow ? flow : find_idle(table, &table->settled[true], now_ns);
}

uint64_t flow_table_evicted(const struct flow_table *table)
{
    return table->counters[FLOW_COUNTER_GET_USED];
}
