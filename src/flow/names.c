/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of flow states and end reasons in EVE events, names of counters, and the default options. */
#include "flow_priv.h"
#include "sluice/pool.h"

static const char *const state_names[FLOW_STATE_COUNT] = {
    [FLOW_NEW] = "new",
    [FLOW_ESTABLISHED] = "established",
    [FLOW_CLOSED] = "closed",
    [FLOW_BYPASSED] = "bypassed",
};

static const char *const end_names[] = {
    [FLOW_END_TIMEOUT] = "timeout",
    [FLOW_END_FORCED] = "forced",
    [FLOW_END_SHUTDOWN] = "shutdown",
    [FLOW_END_REUSED] = "tcp_reuse",
};

static const char *const counter_names[FLOW_COUNTER_COUNT] = {
    [FLOW_COUNTER_MEMCAP] = "flow.memcap",
    [FLOW_COUNTER_TOTAL] = "flow.total",
    [FLOW_COUNTER_ACTIVE] = "flow.active",
    [FLOW_COUNTER_TCP] = "flow.tcp",
    [FLOW_COUNTER_UDP] = "flow.udp",
    [FLOW_COUNTER_ICMPV4] = "flow.icmpv4",
    [FLOW_COUNTER_ICMPV6] = "flow.icmpv6",
    [FLOW_COUNTER_TCP_REUSE] = "flow.tcp_reuse",
    [FLOW_COUNTER_GET_USED] = "flow.get_used",
    [FLOW_COUNTER_GET_USED_EVAL] = "flow.get_used_eval",
    [FLOW_COUNTER_GET_USED_FAILED] = "flow.get_used_failed",
    [FLOW_COUNTER_EVICTED] = "flow.evicted",
    [FLOW_COUNTER_EMERGENCY_ENTERED] = "flow.emerg_mode_entered",
    [FLOW_COUNTER_EMERGENCY_OVER] = "flow.emerg_mode_over",
    [FLOW_COUNTER_SPARE] = "flow.spare",
    [FLOW_COUNTER_MEMUSE] = "flow.memuse",
    [FLOW_COUNTER_VARIABLE_MEMCAP] = "flow.variable_memcap",
    [FLOW_COUNTER_BYPASSED_CLOSED] = "flow_bypassed.closed",
    [FLOW_COUNTER_BYPASSED_PACKETS] = "flow_bypassed.pkts",
    [FLOW_COUNTER_BYPASSED_BYTES] = "flow_bypassed.bytes",
    [FLOW_COUNTER_CONNTRACK_REPLY] = "flow.conntrack_reply",
    [FLOW_COUNTER_END_STATE + FLOW_NEW] = "flow.end.state.new",
    [FLOW_COUNTER_END_STATE + FLOW_ESTABLISHED] = "flow.end.state.established",
    [FLOW_COUNTER_END_STATE + FLOW_CLOSED] = "flow.end.state.closed",
    [FLOW_COUNTER_END_STATE + FLOW_BYPASSED] = "flow.end.state.local_bypassed",
    [FLOW_COUNTER_END_CAPTURED] = "flow.end.state.capture_bypassed",
};

const char *flow_state_name(enum flow_state state)
{
    return (unsigned)state < FLOW_STATE_COUNT ? state_names[state] : "";
}

const char *flow_end_name(enum flow_end reason)
{
    return (unsigned)reason < sizeof(end_names) / sizeof(end_names[0]) ? end_names[reason] : "";
}

size_t flow_counter_count(void)
{
    return FLOW_COUNTER_COUNT;
}

const char *flow_counter_name(size_t index)
{
    return index < FLOW_COUNTER_COUNT ? counter_names[index] : "";
}

uint64_t flow_counter_value(const struct flow_table *table, size_t index)
{
    switch (index) {
    case FLOW_COUNTER_ACTIVE:
        return pool_used(table->flows);
    case FLOW_COUNTER_SPARE:
        return pool_capacity(table->flows) - pool_used(table->flows);
    case FLOW_COUNTER_MEMUSE:
        return pool_memory(table->flows) + pool_memory(table->variables) + pool_memory(table->bucket_pool);
    default:
        return index < FLOW_COUNTER_COUNT ? table->counters[index] : 0;
    }
}
