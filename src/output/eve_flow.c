/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EVE's events of flows that ended, flow and netflow, and the flow's members in events of packets. Names, order and
 * conditions of the fields are Suricata's, except for the object "sluice". Its object "queue" contains the NFQUEUE
 * metadata of the first packet and the generation of the ruleset at the end.
 */
#include <netinet/in.h>
#include <string.h>

#include "community_id.h"
#include "output_priv.h"
#include "sluice/clock.h"
#include "sluice/hex.h"
#include "sluice/json.h"

/* --- Parts that events of packets have too -------------------------------------------------------- */

void eve_flow_counts(struct text *out, const struct flow_facts *flow)
{
    json_member_object(out, "flow");
    json_member_uint(out, "pkts_toserver", flow->packets[FLOW_TO_SERVER]);
    json_member_uint(out, "pkts_toclient", flow->packets[FLOW_TO_CLIENT]);
    json_member_uint(out, "bytes_toserver", flow->bytes[FLOW_TO_SERVER]);
    json_member_uint(out, "bytes_toclient", flow->bytes[FLOW_TO_CLIENT]);
    eve_timestamp(out, "start", flow->start_ns);
}

/* The array in which a flow bit is listed. Flow bits with the prefixes "traffic/id/" and "traffic/label/", by which
 * rules classify traffic, are listed in the object "traffic"; all others in "metadata". */
enum bit_list { LIST_TRAFFIC_ID, LIST_TRAFFIC_LABEL, LIST_FLOWBITS };

struct listed_bit {
    const char *text;
    enum bit_list list;
};

/* Returns the part of a name after a prefix; NULL: the name does not begin with the prefix. */
static const char *skip_prefix(const char *name, const char *prefix)
{
    while (*prefix)
        if (*name++ != *prefix++)
            return NULL;
    return name;
}

/* Writes the array of the flow bits of one list. Opens the object `object` before the first bit if it is not open. */
static void bits(struct text *out, const struct listed_bit *listed, uint32_t count, enum bit_list list,
                 const char *object, bool *is_open, const char *key)
{
    bool has_array = false;

    for (uint32_t i = 0; i < count; i++) {
        if (listed[i].list != list)
            continue;
        if (!*is_open)
            json_member_object(out, object);
        if (!has_array)
            json_member_array(out, key);
        *is_open = has_array = true;
        json_string(out, NULL, listed[i].text);
    }
    if (has_array)
        json_array_close(out);
}

void eve_text(struct text *out, const char *key, const struct rule_capture *text)
{
    char printable[FLOW_TEXT_MAX];

    for (unsigned i = 0; i < text->length; i++) {
        uint8_t c = text->bytes[i];

        printable[i] = (char)((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r' ? c : '.');
    }
    json_stringn(out, key, printable, text->length);
}

/* Writes captured texts as [{"name": "value"}, ...]. Opens the object "metadata" before the first text if it is not
 * open. */
static void texts(struct text *out, const struct eve_state *state, enum rule_name_kind kind, const char *key,
                  bool *is_open)
{
    bool has_array = false;

    for (uint32_t i = 0; i < state->text_count; i++) {
        const struct rule_capture *text = &state->texts[i];
        const char *name = text->kind == kind ? rule_names_text(state->names, kind, text->number) : NULL;

        if (!name || skip_prefix(name, RULE_ENTROPY_PREFIX))
            continue;
        if (!*is_open)
            json_member_object(out, "metadata");
        if (!has_array)
            json_array_open(out, key);
        *is_open = has_array = true;
        json_object_open(out, NULL);
        eve_text(out, name, text);
        json_object_close(out);
    }
    if (has_array)
        json_array_close(out);
}

/* Writes the values of the keyword entropy. Opens the object "metadata" if it is not open. */
static void entropies(struct text *out, const struct eve_state *state, bool *is_open)
{
    bool has_object = false;

    for (uint32_t i = 0; i < state->text_count; i++) {
        const struct rule_capture *text = &state->texts[i];
        const char *name =
            text->kind == RULE_NAME_FLOW_TEXT ? rule_names_text(state->names, text->kind, text->number) : NULL;
        double value;

        name = name ? skip_prefix(name, RULE_ENTROPY_PREFIX) : NULL;
        if (!name || text->length != sizeof(value))
            continue;
        if (!*is_open)
            json_member_object(out, "metadata");
        if (!has_object)
            json_member_object(out, "entropy");
        *is_open = has_object = true;
        memcpy(&value, text->bytes, sizeof(value));
        json_key(out, name, strlen(name));
        text_printf(out, "%.17g", value);
        out->need_comma = true;
    }
    if (has_object)
        json_object_close(out);
}

void eve_metadata(struct text *out, const struct eve_state *state)
{
    const struct rule_names *names = state->names;
    const struct record_variable *variables = state->variables;
    struct listed_bit listed[RECORD_MAX_VARIABLES];
    bool has_traffic = false, has_metadata = false, has_integers = false;
    uint32_t count = 0;

    if (!names || state->variable_count + state->text_count == 0)
        return;
    for (uint32_t i = 0; i < state->variable_count && count < RECORD_MAX_VARIABLES; i++) {
        const char *name = variables[i].is_bit ? rule_names_text(names, RULE_NAME_FLOWBIT, variables[i].number) : NULL;
        const char *id = name ? skip_prefix(name, "traffic/id/") : NULL;
        const char *label = name ? skip_prefix(name, "traffic/label/") : NULL;

        if (id)
            listed[count++] = (struct listed_bit){ id, LIST_TRAFFIC_ID };
        else if (label)
            listed[count++] = (struct listed_bit){ label, LIST_TRAFFIC_LABEL };
        else if (name)
            listed[count++] = (struct listed_bit){ name, LIST_FLOWBITS };
    }
    bits(out, listed, count, LIST_TRAFFIC_ID, "traffic", &has_traffic, "id");
    bits(out, listed, count, LIST_TRAFFIC_LABEL, "traffic", &has_traffic, "label");
    if (has_traffic)
        json_object_close(out);
    texts(out, state, RULE_NAME_PACKET_TEXT, "pktvars", &has_metadata);
    texts(out, state, RULE_NAME_FLOW_TEXT, "flowvars", &has_metadata);
    entropies(out, state, &has_metadata);
    bits(out, listed, count, LIST_FLOWBITS, "metadata", &has_metadata, "flowbits");
    for (uint32_t i = 0; i < state->variable_count; i++) {
        const char *name = variables[i].is_bit ? NULL : rule_names_text(names, RULE_NAME_FLOWINT, variables[i].number);

        if (!name)
            continue;
        if (!has_metadata)
            json_member_object(out, "metadata");
        if (!has_integers)
            json_member_object(out, "flowints");
        has_metadata = has_integers = true;
        json_uint(out, name, variables[i].value);
    }
    if (has_integers)
        json_object_close(out);
    if (has_metadata)
        json_object_close(out);
}

/* --- The header ----------------------------------------------------------------------------------- */

/* Opens the event and writes its common members. The source is the client or, if `reversed`, the server. */
static void flow_header(struct eve *eve, struct text *out, const struct flow_record *record, const char *event_type,
                        bool reversed, bool with_response)
{
    const struct endpoints *ends = &record->flow.ends;
    bool has_ports = protocol_has_ports(ends->protocol);

    json_object_open(out, NULL);
    eve_event_time(eve, out, record->time_ns);
    eve_flow_id(out, &record->flow);
    if (eve->options->queue_fields || (record->origin.in_ifindex & PACKET_FILE_INTERFACE))
        json_member_string(out, "in_iface", interface_name(&eve->interfaces, record->origin.in_ifindex));
    json_member_string(out, "event_type", event_type);
    eve_vlans(out, record->vlan_id, record->vlan_count);
    eve_address(eve, out, "src_ip", reversed ? &ends->destination : &ends->source, ends->ip_version);
    if (has_ports)
        json_member_uint(out, "src_port", reversed ? ends->destination_port : ends->source_port);
    eve_address(eve, out, "dest_ip", reversed ? &ends->source : &ends->destination, ends->ip_version);
    if (has_ports)
        json_member_uint(out, "dest_port", reversed ? ends->source_port : ends->destination_port);
    json_member_uint(out, "ip_v", ends->ip_version);
    eve_protocol(out, ends->protocol);
    if (ends->protocol == IPPROTO_ICMP || ends->protocol == IPPROTO_ICMPV6) {
        uint8_t type = (uint8_t)ends->source_port, code = (uint8_t)ends->destination_port, reply;
        bool has_reply = flow_icmp_reply_type(ends->protocol, type, &reply);

        json_member_uint(out, "icmp_type", reversed && has_reply ? reply : type);
        json_member_uint(out, "icmp_code", code);
        if (with_response && has_reply && record->flow.packets[FLOW_TO_CLIENT] > 0) {
            json_member_uint(out, "response_icmp_type", reply);
            json_member_uint(out, "response_icmp_code", code);
        }
    } else if (ends->protocol == IPPROTO_ESP) {
        json_member_uint(out, "spi", (uint32_t)ends->source_port << 16 | ends->destination_port);
    }
}

/* --- Common parts --------------------------------------------------------------------------------- */

static void macs(struct text *out, const char *key, const struct flow_record *record, enum flow_direction direction)
{
    if (record->macs.count[direction] == 0)
        return;
    json_array_open(out, key);
    for (unsigned i = 0; i < record->macs.count[direction]; i++)
        eve_mac(out, NULL, record->macs.address[direction][i]);
    json_array_close(out);
}

static void queue(struct eve *eve, struct text *out, const struct flow_record *record)
{
    const struct flow_origin *origin = &record->origin;
    struct interface_cache *names = &eve->interfaces;

    json_member_object(out, "queue");
    json_member_uint(out, "number", origin->queue);
    json_member_uint(out, "mark", origin->mark);
    json_member_string(out, "hook", eve_hook_name(origin->hook));
    json_member_string(out, "in_iface", interface_name(names, origin->in_ifindex));
    json_member_string(out, "out_iface", interface_name(names, origin->out_ifindex));
    json_member_string(out, "in_physical", interface_name(names, origin->in_physical_ifindex));
    json_member_string(out, "out_physical", interface_name(names, origin->out_physical_ifindex));
    if (origin->has_conntrack) {
        json_member_uint(out, "ct_id", origin->conntrack_id);
        json_member_uint(out, "ct_mark", origin->conntrack_mark);
    }
    json_member_uint(out, "ruleset", record->generation);
    json_object_close(out);
}

static void common_options(struct eve *eve, struct text *out, const struct flow_record *record, bool reversed)
{
    const struct eve_options *options = &eve->options->eve;
    const struct endpoints *ends = &record->flow.ends;
    const struct eve_state state = {
        .names = eve->options->names,
        .variables = flow_record_variables(record),
        .texts = flow_record_texts(record),
        .variable_count = record->variable_count,
        .text_count = record->text_count,
    };
    char id[COMMUNITY_ID_SIZE];

    eve_metadata(out, &state);
    if (options->ethernet && (record->macs.count[FLOW_TO_SERVER] > 0 || record->macs.count[FLOW_TO_CLIENT] > 0)) {
        json_member_object(out, "ether");
        macs(out, "dest_macs", record, reversed ? FLOW_TO_SERVER : FLOW_TO_CLIENT);
        macs(out, "src_macs", record, reversed ? FLOW_TO_CLIENT : FLOW_TO_SERVER);
        json_object_close(out);
    }
    if (options->community_id) {
        community_id(ends, (uint8_t)ends->source_port, (uint8_t)ends->destination_port, options->community_id_seed, id);
        json_member_string(out, "community_id", id);
    }
    if (eve->options->queue_fields || record->would_drop) {
        json_member_object(out, "sluice");
        if (eve->options->ring_fields)
            json_member_uint(out, "ring", record->origin.queue);
        else if (eve->options->queue_fields)
            queue(eve, out, record);
        if (record->would_drop)
            json_bool(out, "would_drop", true);
        json_object_close(out);
    }
}

static uint64_t age(const struct flow_record *record)
{
    return record->end_ns / NS_PER_SECOND - record->flow.start_ns / NS_PER_SECOND;
}

static void tcp_flags(struct text *out, uint8_t flags)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } names[] = { { "syn", TCP_SYN }, { "fin", TCP_FIN }, { "rst", TCP_RST }, { "psh", TCP_PSH },
                  { "ack", TCP_ACK }, { "urg", TCP_URG }, { "ecn", TCP_ECE }, { "cwr", TCP_CWR } };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (flags & names[i].bit)
            json_bool(out, names[i].name, true);
}

/* --- Events --------------------------------------------------------------------------------------- */

static void exceptions(struct text *out, const struct flow_record *record)
{
    bool is_open = false;

    for (int cause = 0; cause < EXCEPTION_COUNT; cause++) {
        uint8_t used = record->exceptions[cause];

        if (used == 0 || used > EXCEPTION_POLICY_COUNT)
            continue;
        if (!is_open)
            json_array_open(out, "exception_policy");
        is_open = true;
        json_object_open(out, NULL);
        json_member_string(out, "target", exception_cause_name((enum exception_cause)cause));
        json_member_string(out, "policy", exception_policy_name((enum exception_policy)(used - 1)));
        json_object_close(out);
    }
    if (is_open)
        json_array_close(out);
}

static void flags_hex(struct text *out, const char *key, uint8_t flags)
{
    char text[2];

    hex_write_byte(text, flags);
    json_stringn(out, key, text, sizeof(text));
}

/* Returns the application protocols of the flow. A flow that ended during a change of protocol has the previous
 * protocol, or APP_FAILED if the bytes of one direction belong to no protocol. A UDP flow that ended before its
 * protocol was detected has APP_FAILED. */
static uint32_t final_application(const struct flow_record *record)
{
    uint32_t application = record->flow.application, directions = application & 0xffff00, original = application >> 24;
    bool failed = (application >> 8 & 0xff) == APP_FAILED || (application >> 16 & 0xff) == APP_FAILED;

    if ((application & 0xff) != 0)
        return application;
    if (original != 0)
        return failed ? application | APP_FAILED : directions | original;
    return record->flow.ends.protocol == IPPROTO_UDP ? APP_FAILED : application;
}

void eve_flow(struct eve *eve, struct text *out, const struct flow_record *record)
{
    const struct tcp_summary *tcp = &record->tcp;

    flow_header(eve, out, record, "flow", false, true);
    eve_application(out, final_application(record));
    eve_flow_counts(out, &record->flow);
    if (record->has_kernel) {
        json_member_object(out, "bypassed");
        json_member_uint(out, "pkts_toserver", record->kernel_packets[FLOW_TO_SERVER]);
        json_member_uint(out, "pkts_toclient", record->kernel_packets[FLOW_TO_CLIENT]);
        json_member_uint(out, "bytes_toserver", record->kernel_bytes[FLOW_TO_SERVER]);
        json_member_uint(out, "bytes_toclient", record->kernel_bytes[FLOW_TO_CLIENT]);
        json_object_close(out);
    }
    eve_timestamp(out, "end", record->end_ns);
    json_member_uint(out, "age", age(record));
    if (record->emergency)
        json_bool(out, "emergency", true);
    json_member_string(out, "state", flow_state_name((enum flow_state)record->state));
    if (record->state == FLOW_BYPASSED)
        json_member_string(out, "bypass", record->offload == OFFLOAD_ACCEPT ? "capture" : "local");
    json_member_string(out, "reason", flow_end_name((enum flow_end)record->reason));
    json_bool(out, "alerted", record->flags & FLOW_ALERTED);
    if (record->flags & FLOW_DROPPED)
        json_member_string(out, "action", "drop");
    else if (record->accepted)
        json_member_string(out, "action", "accept");
    else if (record->flags & (FLOW_PASSED | FLOW_ACCEPTED_BY_EXCEPTION))
        json_member_string(out, "action", "pass");
    if (record->tx_count > 0)
        json_member_uint(out, "tx_cnt", record->tx_count);
    exceptions(out, record);
    json_object_close(out);
    common_options(eve, out, record, false);
    if (record->flow.ends.protocol == IPPROTO_TCP) {
        uint8_t all = tcp->flags[FLOW_TO_SERVER] | tcp->flags[FLOW_TO_CLIENT];

        json_member_object(out, "tcp");
        flags_hex(out, "tcp_flags", all);
        flags_hex(out, "tcp_flags_ts", tcp->flags[FLOW_TO_SERVER]);
        flags_hex(out, "tcp_flags_tc", tcp->flags[FLOW_TO_CLIENT]);
        tcp_flags(out, all);
        if (record->has_session) {
            json_member_string(out, "state", tcp_state_name(tcp->reported));
            if (tcp->has_gap[FLOW_TO_CLIENT])
                json_bool(out, "tc_gap", true);
            if (tcp->has_gap[FLOW_TO_SERVER])
                json_bool(out, "ts_gap", true);
            json_member_uint(out, "ts_max_regions", tcp->max_regions[FLOW_TO_SERVER]);
            json_member_uint(out, "tc_max_regions", tcp->max_regions[FLOW_TO_CLIENT]);
            if (tcp->urgent_oob[FLOW_TO_SERVER] > 0)
                json_member_uint(out, "ts_urgent_oob_data", tcp->urgent_oob[FLOW_TO_SERVER]);
            if (tcp->urgent_oob[FLOW_TO_CLIENT] > 0)
                json_member_uint(out, "tc_urgent_oob_data", tcp->urgent_oob[FLOW_TO_CLIENT]);
        }
        json_object_close(out);
    }
    eve_end(eve, out);
}

void eve_netflow(struct eve *eve, struct text *out, const struct flow_record *record, enum flow_direction direction)
{
    bool reversed = direction == FLOW_TO_CLIENT;
    uint8_t flags = record->tcp.flags[direction];

    flow_header(eve, out, record, "netflow", reversed, false);
    if ((final_application(record) & 0xff) == 0)
        json_member_string(out, "app_proto", "unknown");
    eve_application(out, final_application(record));
    json_member_object(out, "netflow");
    json_member_uint(out, "pkts", record->flow.packets[direction]);
    json_member_uint(out, "bytes", record->flow.bytes[direction]);
    eve_timestamp(out, "start", record->flow.start_ns);
    eve_timestamp(out, "end", record->end_ns);
    json_member_uint(out, "age", age(record));
    json_member_uint(out, "min_ttl", record->ttl_low[direction]);
    json_member_uint(out, "max_ttl", record->ttl_high[direction]);
    if (record->tx_count > 0)
        json_member_uint(out, "tx_cnt", record->tx_count);
    json_object_close(out);
    common_options(eve, out, record, reversed);
    if (record->flow.ends.protocol == IPPROTO_TCP) {
        json_member_object(out, "tcp");
        flags_hex(out, "tcp_flags", flags);
        tcp_flags(out, flags);
        json_object_close(out);
    }
    eve_end(eve, out);
}
