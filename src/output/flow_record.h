/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The records of a flow that ended and of a statistics event.
 */
#ifndef SLUICE_OUTPUT_FLOW_RECORD_H
#define SLUICE_OUTPUT_FLOW_RECORD_H

#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice/app.h"
#include "sluice/output.h"
#include "sluice/stream.h"
#include "sluice/text.h"

#include "record.h"

/* A flow that ended. `kinds` must be the first member, as in all records of a port. The struct is followed by
 * variable_count times struct record_variable and text_count times struct rule_capture. */
struct flow_record {
    uint32_t kinds; /* bits 1 << enum output_event */
    uint32_t variable_count, text_count;
    uint32_t generation;
    uint16_t flags;        /* enum flow_flag */
    bool accepted;         /* by a firewall rule with accept:flow */
    uint8_t state, reason; /* enum flow_state, enum flow_end */
    uint64_t time_ns, end_ns;
    uint64_t tx_count; /* number of transactions of the flow */
    struct flow_facts flow;
    struct tcp_summary tcp; /* valid if has_session */
    struct flow_origin origin;
    uint16_t vlan_id[PACKET_MAX_VLANS];
    uint8_t vlan_count;
    uint8_t ttl_low[FLOW_DIRECTIONS], ttl_high[FLOW_DIRECTIONS];
    struct flow_macs macs;
    bool has_session, emergency;
    uint8_t offload; /* enum packet_offload */
    bool has_kernel, would_drop;
    /* packets and bytes that the kernel forwarded without queueing them; they are included in `flow` */
    uint64_t kernel_packets[FLOW_DIRECTIONS], kernel_bytes[FLOW_DIRECTIONS];
    /* for each cause: 0 if the exception did not occur, otherwise the applied enum exception_policy + 1 */
    uint8_t exceptions[EXCEPTION_COUNT];
};

static inline const struct record_variable *flow_record_variables(const struct flow_record *record)
{
    return (const struct record_variable *)(record + 1);
}

static inline const struct rule_capture *flow_record_texts(const struct flow_record *record)
{
    return (const struct rule_capture *)(flow_record_variables(record) + record->variable_count);
}

enum { APP_RECORD_KINDS = 1 << OUTPUT_APP | 1 << OUTPUT_FILE | 1 << OUTPUT_FRAME };
enum { FLOW_RECORD_KINDS = 1 << OUTPUT_FLOW | 1 << OUTPUT_NETFLOW };

/* A statistics event. The struct is followed by `count` times struct output_stat. */
struct stats_record {
    uint64_t time_ns, uptime_seconds;
    size_t count;
};

static inline const struct output_stat *record_stats(const struct stats_record *record)
{
    return (const struct output_stat *)(record + 1);
}

#endif
