/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE's events of packets: alert, drop, anomaly, packet, metadata. */
#include <limits.h>
#include <netinet/in.h>
#include <string.h>

#include "output_priv.h"
#include "pcap_log.h"
#include "sluice/bytes.h"
#include "sluice/decode_event.h"
#include "sluice/json.h"
#include "sluice/stream_event.h"

/* --- Parts ---------------------------------------------------------------------------------------- */

static bool is_same(struct span a, struct span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* Writes {key: [value, ...]}; a key that occurs several times is written once, with all its values in their order. */
static void rule_metadata(struct text *out, const struct metadata *list)
{
    struct metadata_position position = { .next = list };
    struct span key, value, other_key, other;

    if (!list)
        return;
    json_member_object(out, "metadata");
    while (rule_metadata_next(&position, &key, &value)) {
        struct metadata_position before = { .next = list }, after = position;

        while (rule_metadata_next(&before, &other_key, &other) && !is_same(other_key, key))
            continue;
        if (other_key.at != key.at)
            continue;
        json_key(out, key.at, key.length);
        json_array_open(out, NULL);
        json_stringn(out, NULL, value.at, value.length);
        while (rule_metadata_next(&after, &other_key, &other)) {
            if (is_same(other_key, key))
                json_stringn(out, NULL, other.at, other.length);
        }
        json_array_close(out);
    }
    json_object_close(out);
}

static void references(struct text *out, const struct reference *list)
{
    if (!list)
        return;
    json_array_open(out, "references");
    for (const struct reference *entry = list; entry; entry = entry->next) {
        if (entry->prefix)
            json_printf(out, NULL, "%s%s", entry->prefix, entry->id);
        else
            json_printf(out, NULL, "%s:%s", entry->system, entry->id);
    }
    json_array_close(out);
}

/* Returns the client's address that a proxy reported for the alert's transaction; NULL: none. */
static const struct record_client *client_of(const struct packet_record *record, const struct alert *alert)
{
    const struct record_transaction *tx = record_transactions(record) + (alert - record_alerts(record));

    return record->has_transactions && tx->client.ip_version != 0 ? &tx->client : NULL;
}

enum alert_action { ALERT_ALLOWED, ALERT_BLOCKED, ALERT_WOULD_DROP };

static enum alert_action action_of(const struct alert *alert)
{
    return alert->blocked ? ALERT_BLOCKED : alert->would_drop ? ALERT_WOULD_DROP : ALERT_ALLOWED;
}

/* Writes the object "alert". `alert`: the alert of an alert event, whose options may add members; NULL for drop events,
 * whose objects have no optional members. */
static void alert_object(struct eve *eve, struct text *out, const struct packet_record *record, const struct rule *rule,
                         enum alert_action action, const struct alert *alert)
{
    const struct record_client *client = alert ? client_of(record, alert) : NULL;
    const struct rule_names *names = record->names ? record->names : eve->options->names;
    const struct eve_options *options = &eve->options->eve;
    bool has_context = false;

    json_member_object(out, "alert");
    json_member_string(out, "action", action == ALERT_BLOCKED ? "blocked" : "allowed");
    json_member_uint(out, "gid", rule->gid);
    json_member_uint(out, "signature_id", rule->sid);
    json_member_uint(out, "rev", rule->revision);
    json_member_string(out, "signature", rule->message ? rule->message : "");
    json_member_string(out, "category", rule->class_description ? rule->class_description : "");
    json_member_uint(out, "severity", rule->priority);
    if (record->filtered)
        json_member_string(out, "engine", rule->firewall ? "fw" : "td");
    if (rule->target != TARGET_NONE && record->endpoints.ip_version != 0) {
        eve_endpoint(eve, out, "source", record, rule->target == TARGET_DESTINATION);
        eve_endpoint(eve, out, "target", record, rule->target == TARGET_SOURCE);
    }
    if (alert && options->alert.reference)
        references(out, rule->references);
    if (alert && options->alert.rule_metadata)
        rule_metadata(out, rule->metadata);
    if (alert && options->alert.rule_raw)
        json_member_string(out, "rule", rule->text);
    if (client && !eve->client) {
        char text[ADDRESS_TEXT_SIZE];

        /* Write IPv6 addresses in the short form, as proxies do, regardless of eve.ipv6-compress. */
        address_format(&client->address, client->ip_version, false, text);
        json_member_string(out, "xff", text);
    }
    for (uint32_t i = 0; alert && i < alert->text_count; i++) {
        const struct rule_capture *text = &record_texts(record)[alert->first_text + i];
        const char *name = names ? rule_names_text(names, RULE_NAME_ALERT_TEXT, text->number) : NULL;

        if (!name)
            continue;
        if (!has_context)
            json_member_object(out, "context");
        has_context = true;
        if (text->is_json) {
            json_key(out, name, strlen(name));
            text_puts(out, rule_capture_json(text));
            out->need_comma = true;
        } else {
            eve_text(out, name, text);
        }
    }
    if (has_context)
        json_object_close(out);
    json_object_close(out);
}

/* Writes the object "firewall": the hook at which firewall rules matched or a default policy was applied. */
static void firewall_object(struct text *out, const struct filter_match *match)
{
    if (!match->hook)
        return;
    json_member_object(out, "firewall");
    json_printf(out, "hook", "%s:%s", match->protocol, match->hook);
    json_printf(out, "policy", "%s:%s%s", rule_action_name(match->policy.action), rule_scope_name(match->policy.scope),
                match->policy.alert ? ",alert" : "");
    json_object_close(out);
}

static void verdict_object(struct eve *eve, struct text *out, const struct packet_record *record)
{
    static const char *const targets[] = {
        [REJECT_SOURCE] = "to_client", [REJECT_DESTINATION] = "to_server", [REJECT_BOTH] = "both"
    };
    uint8_t protocol = record->endpoints.protocol;
    const char *action = "alert";

    if (record->verdict == VERDICT_DROP || (record->reject != REJECT_NONE && eve->options->inline_mode))
        action = "drop";
    else if (record->passed)
        action = "pass";
    else if (record->filtered)
        action = "accept";
    json_member_object(out, "verdict");
    json_member_string(out, "action", action);
    if (record->reject != REJECT_NONE) {
        json_member_string(out, "reject_target", targets[record->reject & REJECT_BOTH]);
        json_array_open(out, "reject");
        if (protocol == IPPROTO_TCP)
            json_string(out, NULL, "tcp-reset");
        else if (protocol == IPPROTO_UDP || protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6)
            json_string(out, NULL, "icmp-prohib");
        json_array_close(out);
    }
    json_object_close(out);
}

/* Writes bytes as text; bytes other than printable ASCII, CR and LF become dots. */
static void payload_printable(struct eve *eve, struct text *out, const uint8_t *bytes, size_t length)
{
    struct text *scratch = &eve->scratch;

    text_reset(scratch);
    text_append(scratch, (const char *)bytes, length);
    if (scratch->failed) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < length; i++) {
        char c = scratch->bytes[i];

        if (!((c >= 0x20 && c < 0x7f) || c == '\n' || c == '\r'))
            scratch->bytes[i] = '.';
    }
    json_stringn(out, "payload_printable", scratch->bytes, length);
}

static void payload_fields(struct eve *eve, struct text *out, const uint8_t *bytes, uint32_t length, uint32_t whole)
{
    const struct eve_options *options = &eve->options->eve;

    if (options->alert.payload)
        json_base64(out, "payload", bytes, length);
    if (options->alert.payload_length)
        json_member_uint(out, "payload_length", whole);
    if (options->alert.payload_printable)
        payload_printable(eve, out, bytes, length);
}

/* Writes the bytes of the stream as payload, with a note in place of each gap. */
static void stream_payload(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const char *bytes = (const char *)record_stream(record);
    const struct record_gap *gaps = record_gaps(record);
    uint32_t limit = eve->options->eve.alert.payload_buffer_size;
    struct text *whole = &eve->stream;
    uint32_t at = 0;

    text_reset(whole);
    for (uint32_t i = 0; i < record->gap_count; i++) {
        text_append(whole, bytes + at, gaps[i].at - at);
        text_printf(whole, "[%llu bytes missing]", (unsigned long long)gaps[i].missing);
        at = gaps[i].at;
    }
    text_append(whole, bytes + at, record->stream_copied - at);
    if (whole->failed)
        out->failed = true;

    uint32_t length = whole->length < limit ? (uint32_t)whole->length : limit;

    if (!whole->failed)
        payload_fields(eve, out, (const uint8_t *)whole->bytes, length, length);
}

static void payload(struct eve *eve, struct text *out, const struct packet_record *record, const struct alert *alert)
{
    const struct eve_options *options = &eve->options->eve;
    bool in_stream = alert->in_stream && record->endpoints.protocol == IPPROTO_TCP;

    if (!options->alert.payload && !options->alert.payload_printable && !options->alert.payload_length)
        return;
    if (in_stream && record->stream_copied > 0)
        stream_payload(eve, out, record);
    else if (!in_stream || record->payload_length > 0)
        payload_fields(eve, out, record_payload(record), record->payload_copied, record->payload_length);
    json_member_uint(out, "stream", in_stream);
}

/* --- Protocols ------------------------------------------------------------------------------------ */

static void sctp_object(struct text *out, const struct sctp_info *sctp)
{
    /* Names of chunk types as in Suricata's sctp.chunk_type (RFC 9260 section 3.2 and its extensions). */
    static const char *const names[256] = {
        [0] = "data",
        [1] = "init",
        [2] = "init_ack",
        [3] = "sack",
        [4] = "heartbeat",
        [5] = "heartbeat_ack",
        [6] = "abort",
        [7] = "shutdown",
        [8] = "shutdown_ack",
        [9] = "error",
        [10] = "cookie_echo",
        [11] = "cookie_ack",
        [12] = "ecne",
        [13] = "cwr",
        [14] = "shutdown_complete",
        [15] = "auth",
        [64] = "i_data",
        [128] = "asconf_ack",
        [130] = "re_config",
        [132] = "pad",
        [192] = "forward_tsn",
        [193] = "asconf",
        [194] = "i_forward_tsn",
    };
    static const struct {
        const char *name;
        uint8_t type;
    } flags[] = { { "has_init", 1 }, { "has_init_ack", 2 }, { "has_data", 0 }, { "has_abort", 6 } };
    uint32_t listed = sctp->chunk_count < SCTP_MAX_LISTED_CHUNKS ? sctp->chunk_count : SCTP_MAX_LISTED_CHUNKS;

    json_member_object(out, "sctp");
    json_member_uint(out, "vtag", sctp->verification_tag);
    json_member_uint(out, "chunk_cnt", sctp->chunk_count);
    json_array_open(out, "chunk_types");
    for (uint32_t i = 0; i < listed; i++) {
        const char *name = names[sctp->chunk_types[i]];

        json_string(out, NULL, name ? name : "unknown");
    }
    json_array_close(out);
    for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
        json_bool(out, flags[k].name, memchr(sctp->chunk_types, flags[k].type, listed) != NULL);
    json_object_close(out);
}

/* RGMP (RFC 3488), by which routers request groups from switches, has four IGMP message types. */
static void igmp_object(struct text *out, const struct igmp_info *igmp)
{
    enum { RGMP_FIRST_TYPE = 0xfc };

    json_member_object(out, igmp->type >= RGMP_FIRST_TYPE ? "rgmp" : "igmp");
    if (igmp->version)
        json_member_uint(out, "version", igmp->version);
    json_member_uint(out, "type", igmp->type);
    json_object_close(out);
}

/* --- Events --------------------------------------------------------------------------------------- */

void eve_direction(struct text *out, const struct packet_record *record)
{
    if (record->has_flow)
        json_member_string(out, "direction", record->to_client ? "to_client" : "to_server");
}

void eve_alert(struct eve *eve, struct text *out, const struct packet_record *record, const struct alert *alert)
{
    const struct record_transaction *tx = record_transactions(record) + (alert - record_alerts(record));
    const struct eve_options *options = &eve->options->eve;

    eve->client = options->xff.alert.overwrite ? client_of(record, alert) : NULL;
    eve->would_drop = action_of(alert) == ALERT_WOULD_DROP;
    if (record->has_transactions && tx->is_present) {
        eve->own = record_fields(record) + tx->at + tx->length;
        eve->own_length = tx->own_length;
    }
    eve_header(eve, out, record, "alert");
    eve->would_drop = false;
    eve->own_length = 0;
    if (record->has_flow)
        eve_application(out, record->flow.application);
    if (record->has_transactions && tx->is_present) {
        json_member_uint(out, "tx_id", tx->id);
        if (tx->sub_state)
            json_member_string(out, "sub_state", tx->sub_state);
        if (alert->tx_guessed)
            json_bool(out, "tx_guessed", true);
        if (!fields_render(record_fields(record) + tx->at, tx->length, out))
            out->failed = true;
    }
    if (record->has_transactions && tx->frame_length > 0 &&
        !fields_render(record_fields(record) + tx->frame_at, tx->frame_length, out))
        out->failed = true;
    alert_object(eve, out, record, alert->rule, action_of(alert), alert);
    firewall_object(out, &alert->filter);
    eve_tunnel(eve, out, record);
    if (record->has_transport && record->endpoints.protocol == IPPROTO_SCTP) {
        sctp_object(out, &record->sctp);
    } else if (record->has_transport && record->endpoints.protocol == IPPROTO_IGMP) {
        igmp_object(out, &record->igmp);
    }
    eve_direction(out, record);
    if (record->has_flow && options->alert.flow) {
        const struct endpoints *ends = &record->flow.ends;

        eve_flow_counts(out, &record->flow);
        if (eve->client)
            eve_address(eve, out, "src_ip", &eve->client->address, eve->client->ip_version);
        else
            eve_address(eve, out, "src_ip", &ends->source, ends->ip_version);
        eve_address(eve, out, "dest_ip", &ends->destination, ends->ip_version);
        if (protocol_has_ports(ends->protocol)) {
            json_member_uint(out, "src_port", ends->source_port);
            json_member_uint(out, "dest_port", ends->destination_port);
        }
        json_object_close(out);
    }
    if (record->endpoints.ip_version != 0)
        payload(eve, out, record, alert);
    if (options->alert.packet)
        eve_packet(out, record, UINT32_MAX);
    if (eve->pcap && record->capture_file) {
        char path[PATH_MAX];

        pcap_log_path(eve->pcap, record->capture_file, path, sizeof(path));
        json_member_string(out, "capture_file", path);
    }
    if (options->alert.verdict)
        verdict_object(eve, out, record);
    eve_end(eve, out);
    eve->client = NULL;
}

void eve_packet_headers(struct text *out, const struct packet_record *record)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } flags[] = { { "syn", TCP_SYN }, { "ack", TCP_ACK }, { "psh", TCP_PSH },
                  { "rst", TCP_RST }, { "urg", TCP_URG }, { "fin", TCP_FIN } };
    bool is_v4 = record->endpoints.ip_version == 4;

    if (record->endpoints.ip_version != 0) {
        json_member_uint(out, "len", record->ip_length);
        json_uint(out, is_v4 ? "tos" : "tc", record->tos);
        json_uint(out, is_v4 ? "ttl" : "hoplimit", record->ttl);
        json_uint(out, is_v4 ? "ipid" : "flowlbl", is_v4 ? record->ip_id : record->flow_label);
    }
    if (!record->has_transport)
        return;
    switch (record->endpoints.protocol) {
    case IPPROTO_TCP:
        json_member_uint(out, "tcpseq", record->tcp_sequence);
        json_member_uint(out, "tcpack", record->tcp_acknowledgment);
        json_member_uint(out, "tcpwin", record->tcp_window);
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
            json_bool(out, flags[i].name, record->tcp_flags & flags[i].bit);
        json_member_uint(out, "tcpres", record->tcp_reserved);
        json_member_uint(out, "tcpurgp", record->tcp_urgent);
        break;
    case IPPROTO_UDP:
        json_member_uint(out, "udplen", record->udp_length);
        break;
    case IPPROTO_ICMP:
        json_member_uint(out, "icmp_id", record->icmp_id);
        json_member_uint(out, "icmp_seq", record->icmp_sequence);
        break;
    default:
        break;
    }
}

void eve_drop(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const struct eve_options *options = &eve->options->eve;
    const struct alert *alerts = record_alerts(record);
    const struct rule *rule = NULL;
    bool dropped = record->verdict == VERDICT_DROP;
    enum alert_action action = dropped ? ALERT_BLOCKED : ALERT_WOULD_DROP;

    /* Tools count each event of type "drop" as a dropped packet, so a packet that was not dropped has an event of
     * another type, with the same members. */
    eve->would_drop = !dropped;
    eve_header(eve, out, record, dropped ? "drop" : "would_drop");
    eve->would_drop = false;
    eve_direction(out, record);
    json_member_object(out, "drop");
    eve_packet_headers(out, record);
    if (record->drop_reason != DROP_REASON_NONE)
        json_member_string(out, "reason", output_drop_reason_name((enum drop_reason)record->drop_reason));
    json_object_close(out);
    if (options->drop.verdict)
        verdict_object(eve, out, record);
    if (options->drop.alerts) {
        /* Use the rule of the first alert with this action. If there is none, use the rule that drops the packet: its
         * alert was not reported. */
        for (uint32_t i = 0; i < record->alert_count && !rule; i++) {
            if (action_of(&alerts[i]) == action)
                rule = alerts[i].rule;
        }
        if (!rule && !(record->drop_rule && record->drop_rule->firewall))
            rule = record->drop_rule;
        if (rule)
            alert_object(eve, out, record, rule, action, NULL);
    }
    firewall_object(out, &record->drop_filter);
    eve_end(eve, out);
}

void eve_anomaly(struct eve *eve, struct text *out, const struct packet_record *record, unsigned event)
{
    eve_header(eve, out, record, "anomaly");
    json_member_object(out, "anomaly");
    if (event >= APP_LAYER_EVENT_FIRST) {
        const char *name = app_layer_event_name((enum app_layer_event)event);
        char upper[64]; /* for long names like "APPLAYER_MISMATCH_PROTOCOL_BOTH_DIRECTIONS" */
        size_t length = 0;

        for (; name[length] && length < sizeof(upper); length++)
            upper[length] =
                (char)(name[length] >= 'a' && name[length] <= 'z' ? name[length] - 'a' + 'A' : name[length]);
        json_member_string(out, "app_proto", app_name_by_id(record->flow.application & 0xff));
        json_member_string(out, "type", "applayer");
        json_stringn(out, "event", upper, length);
        json_member_string(out, "layer", "proto_detect");
    } else if (event < DECODE_EVENT_COUNT) {
        json_member_string(out, "type", "decode");
        json_printf(out, "event", "decoder.%s", decode_event_name((enum decode_event)event));
    } else {
        json_member_string(out, "type", "stream");
        json_printf(out, "event", "stream.%s", stream_event_name((enum stream_event)event));
    }
    json_object_close(out);
    if (eve->options->eve.anomaly.packet_header)
        eve_packet(out, record, ANOMALY_PACKET_SIZE);
    eve_end(eve, out);
}

/* A metadata event has no members of its own: the header contains the captured texts and the variables of the flow. */
void eve_packet_metadata(struct eve *eve, struct text *out, const struct packet_record *record)
{
    eve_header(eve, out, record, "metadata");
    eve_end(eve, out);
}

void eve_tagged_packet(struct eve *eve, struct text *out, const struct packet_record *record)
{
    eve_header(eve, out, record, "packet");
    eve_packet(out, record, UINT32_MAX);
    eve_end(eve, out);
}

void eve_igmp(struct eve *eve, struct text *out, const struct packet_record *record)
{
    eve_header(eve, out, record, "igmp");
    eve_direction(out, record);
    igmp_object(out, &record->igmp);
    eve_end(eve, out);
}

void eve_arp(struct eve *eve, struct text *out, const struct packet_record *record)
{
    /* Offsets of the addresses in the message. */
    enum { SENDER_MAC = 8, SENDER_IP = 14, TARGET_MAC = 18, TARGET_IP = 24 };
    static const char *const opcodes[] = { "request", "reply", "request_reverse", "reply_reverse" }; /* from 1 on */
    const uint8_t *message = record->arp;
    struct address sender = { 0 }, target = { 0 };

    memcpy(sender.bytes, message + SENDER_IP, 4);
    memcpy(target.bytes, message + TARGET_IP, 4);
    eve_header(eve, out, record, "arp");
    json_member_object(out, "arp");
    json_member_string(out, "hw_type", "ethernet");
    json_member_string(out, "proto_type", "ipv4");
    json_member_string(out, "opcode", opcodes[load_be16(message + 6) - 1]);
    eve_mac(out, "src_mac", message + SENDER_MAC);
    eve_address(eve, out, "src_ip", &sender, 4);
    eve_mac(out, "dest_mac", message + TARGET_MAC);
    eve_address(eve, out, "dest_ip", &target, 4);
    json_object_close(out);
    eve_end(eve, out);
}
