/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Records of flows that ended, written by the worker. Flow variables are copied with the numbers of their names, at
 * most RECORD_MAX_VARIABLES; the output thread looks up the names. */
#include <string.h>

#include "output_priv.h"

void flow_facts_copy(struct flow_facts *out, const struct flow *flow)
{
    out->id = flow->id;
    out->parent_id = app_flow_parent(flow);
    out->start_ns = flow->start_ns;
    out->application = flow->application;
    for (int direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        out->packets[direction] = flow->side[direction].packets;
        out->bytes[direction] = flow->side[direction].bytes;
    }
    out->ends = (struct endpoints){
        .source = flow->client,
        .destination = flow->server,
        .source_port = flow->client_port,
        .destination_port = flow->server_port,
        .ip_version = flow->ip_version,
        .protocol = flow->protocol,
    };
}

static void add_variable(uint32_t number, bool is_bit, uint32_t value, void *user)
{
    struct record_scratch *scratch = user;

    if (scratch->variable_count < RECORD_MAX_VARIABLES)
        scratch->variables[scratch->variable_count++] =
            (struct record_variable){ .number = number, .value = value, .is_bit = is_bit };
}

static void add_text(uint32_t number, const uint8_t *bytes, uint32_t length, void *user)
{
    struct record_scratch *scratch = user;
    struct rule_capture *text = &scratch->texts[scratch->text_count];

    if (scratch->text_count == RECORD_MAX_TEXTS)
        return;
    *text = (struct rule_capture){ .number = number, .kind = RULE_NAME_FLOW_TEXT, .length = (uint8_t)length };
    memcpy(text->bytes, bytes, length);
    scratch->text_count++;
}

void flow_variables_collect(struct record_scratch *scratch, const struct rule_captures *texts, const struct flow *flow)
{
    scratch->variable_count = 0;
    scratch->text_count = texts ? texts->count : 0;
    if (texts)
        memcpy(scratch->texts, texts->list, texts->count * sizeof(texts->list[0]));
    if (!flow || !flow->variables)
        return;
    flow_each_variable(flow, add_variable, scratch);
    flow_each_text(flow, add_text, scratch);
}

uint64_t flow_record_event_count(enum output_event kind, const struct flow *flow)
{
    return kind == OUTPUT_NETFLOW && flow->side[FLOW_TO_CLIENT].packets > 0 ? 2 : 1;
}

void flow_record_collect(struct record_scratch *scratch, const struct eve_options *eve, const struct flow *flow)
{
    flow_variables_collect(scratch, NULL, eve->metadata ? flow : NULL);
}

size_t flow_record_size(const struct record_scratch *scratch)
{
    return sizeof(struct flow_record) + scratch->variable_count * sizeof(struct record_variable) +
           scratch->text_count * sizeof(struct rule_capture);
}

/* Returns how many of the packets (or bytes) that the kernel counted were not seen by this program; 0 if the kernel
 * counted less. */
static uint64_t not_seen(uint64_t all, uint64_t seen)
{
    return all > seen ? all - seen : 0;
}

void flow_record_write(struct flow_record *out, const struct record_scratch *scratch, uint32_t kinds,
                       const struct flow *flow, enum flow_end reason, unsigned generation)
{
    /* In passive mode nothing is dropped, but the event of a flow in which a drop rule matched has action "drop", as in
     * Suricata's IDS mode. Inline such a flow is FLOW_DROPPED already. */
    bool is_drop_demanded = flow->drop_sid != 0 && flow->would_drop == FLOW_WOULD_DROP_NO;

    *out = (struct flow_record){
        .kinds = kinds,
        .variable_count = scratch->variable_count,
        .text_count = scratch->text_count,
        .generation = generation,
        .accepted = flow->accepted,
        .flags = flow->flags | (is_drop_demanded ? FLOW_DROPPED : 0),
        .state = flow->state,
        .reason = (uint8_t)reason,
        .time_ns = flow->last_ns,
        .end_ns = flow->last_ns,
        .tx_count = app_tx_count(flow),
        .origin = flow->origin,
        .vlan_count = flow->vlan_count < PACKET_MAX_VLANS ? flow->vlan_count : PACKET_MAX_VLANS,
        .has_session = flow->tcp != NULL,
        .emergency = flow->emergency,
        .offload = flow->offload,
        .would_drop = flow->would_drop != FLOW_WOULD_DROP_NO,
    };
    flow_facts_copy(&out->flow, flow);
    /* With OFFLOAD_ACKNOWLEDGMENTS the kernel's counts only keep the flow from timing out: they are not updated up to
     * its end. */
    out->has_kernel = flow->kernel && (flow->offload == OFFLOAD_ACCEPT || flow->offload == OFFLOAD_DROP);
    for (int direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        const struct flow_side *side = &flow->side[direction];

        out->ttl_low[direction] = side->ttl_low;
        out->ttl_high[direction] = side->ttl_high;
        if (!out->has_kernel)
            continue;
        /* The kernel counts all packets of the connection. The difference to `side` are packets that it forwarded
         * without queueing them. */
        out->kernel_packets[direction] = not_seen(flow->kernel->packets[direction], side->packets);
        out->kernel_bytes[direction] = not_seen(flow->kernel->bytes[direction], side->bytes);
        out->flow.packets[direction] += out->kernel_packets[direction];
        out->flow.bytes[direction] += out->kernel_bytes[direction];
    }
    if (flow->macs)
        out->macs = *flow->macs;
    memcpy(out->vlan_id, flow->vlan_id, sizeof(out->vlan_id));
    memcpy(out->exceptions, flow->exceptions, sizeof(out->exceptions));
    if (out->has_session) {
        stream_summary(flow, &out->tcp);
        /* Segments after the drop do not reach the peers: report the state in which the flow was dropped. */
        if (flow->flags & FLOW_DROPPED && flow->state != FLOW_BYPASSED)
            out->state = (uint8_t)stream_flow_state(out->tcp.reported);
    }
    if (scratch->variable_count > 0)
        memcpy(out + 1, scratch->variables, scratch->variable_count * sizeof(struct record_variable));
    if (scratch->text_count > 0)
        memcpy((struct record_variable *)(out + 1) + scratch->variable_count, scratch->texts,
               scratch->text_count * sizeof(struct rule_capture));
}
