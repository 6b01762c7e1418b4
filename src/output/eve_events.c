/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE's events of packets: alert, drop, anomaly, packet. */
#include <netinet/in.h>
#include <string.h>

#include "output_priv.h"
#include "sluice/decode_event.h"
#include "sluice/json.h"
#include "sluice/stream_event.h"

/* --- Parts ---------------------------------------------------------------------------------------- */

/* {key: [value, ...]}: each key once, with all its values in their order. */
static void rule_metadata(struct text *out, const struct metadata *list)
{
    if (!list)
        return;
    json_member_object(out, "metadata");
    for (const struct metadata *entry = list; entry; entry = entry->next) {
        const struct metadata *first = list;

        while (strcmp(first->key, entry->key) != 0)
            first = first->next;
        if (first != entry)
            continue;
        json_array_open(out, entry->key);
        for (const struct metadata *same = entry; same; same = same->next)
            if (strcmp(same->key, entry->key) == 0)
                json_string(out, NULL, same->value ? same->value : "");
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

static void source_and_target(struct eve *eve, struct text *out, const struct packet_record *record, enum target target)
{
    if (target == TARGET_NONE || record->endpoints.ip_version == 0)
        return;
    eve_endpoint(eve, out, "source", record, target == TARGET_DESTINATION);
    eve_endpoint(eve, out, "target", record, target == TARGET_SOURCE);
}

/* Of an alert; NULL when none is known. */
static const struct record_client *client_of(const struct packet_record *record, const struct alert *alert)
{
    const struct record_transaction *tx = record_transactions(record) + (alert - record_alerts(record));

    return record->has_transactions && tx->client.ip_version != 0 ? &tx->client : NULL;
}

/* Short, as proxies write it. */
static void xff(struct text *out, const struct record_client *client)
{
    char text[ADDRESS_TEXT_SIZE];

    address_format(&client->address, client->ip_version, false, text);
    json_member_string(out, "xff", text);
}

/* What the rule took out of the packet for its alert. */
static void alert_context(struct eve *eve, struct text *out, const struct packet_record *record,
                          const struct alert *alert)
{
    const struct rule_names *names = record->names ? record->names : eve->options->names;
    bool is_open = false;

    for (uint32_t i = alert->first_text; i < (uint32_t)alert->first_text + alert->text_count; i++) {
        const struct rule_capture *text = &record_texts(record)[i];
        const char *name = names ? rule_names_text(names, RULE_NAME_ALERT_TEXT, text->number) : NULL;

        if (!name)
            continue;
        if (!is_open)
            json_member_object(out, "context");
        is_open = true;
        eve_text(out, name, text);
    }
    if (is_open)
        json_object_close(out);
}

enum alert_action { ALERT_ALLOWED, ALERT_BLOCKED, ALERT_WOULD_DROP };

static enum alert_action action_of(const struct alert *alert)
{
    return alert->blocked ? ALERT_BLOCKED : alert->would_drop ? ALERT_WOULD_DROP : ALERT_ALLOWED;
}

/* The object "alert"; with `alert`, what the options of alert events add. */
static void alert_object(struct eve *eve, struct text *out, const struct packet_record *record, const struct rule *rule,
                         enum alert_action action, const struct alert *alert)
{
    const struct record_client *client = alert ? client_of(record, alert) : NULL;
    const struct eve_options *options = &eve->options->eve;

    json_member_object(out, "alert");
    json_member_string(out, "action", action == ALERT_BLOCKED ? "blocked" : "allowed");
    if (action == ALERT_WOULD_DROP)
        json_bool(out, "would_drop", true);
    json_member_uint(out, "gid", rule->gid);
    json_member_uint(out, "signature_id", rule->sid);
    json_member_uint(out, "rev", rule->revision);
    json_member_string(out, "signature", rule->message ? rule->message : "");
    json_member_string(out, "category", rule->class_description ? rule->class_description : "");
    json_member_uint(out, "severity", rule->priority);
    source_and_target(eve, out, record, rule->target);
    if (alert && options->alert.reference)
        references(out, rule->references);
    if (alert && options->alert.rule_metadata)
        rule_metadata(out, rule->metadata);
    if (alert && options->alert.rule_raw)
        json_member_string(out, "rule", rule->text);
    if (client && !eve->client)
        xff(out, client);
    if (alert && alert->text_count > 0)
        alert_context(eve, out, record, alert);
    json_object_close(out);
}

static void reject_part(struct text *out, const struct packet_record *record)
{
    static const char *const targets[] = {
        [REJECT_SOURCE] = "to_client", [REJECT_DESTINATION] = "to_server", [REJECT_BOTH] = "both"
    };

    json_member_string(out, "reject_target", targets[record->reject & REJECT_BOTH]);
    json_array_open(out, "reject");
    switch (record->endpoints.protocol) {
    case IPPROTO_TCP:
        json_string(out, NULL, "tcp-reset");
        break;
    case IPPROTO_UDP:
    case IPPROTO_ICMP:
    case IPPROTO_ICMPV6:
        json_string(out, NULL, "icmp-prohib");
        break;
    default:
        break;
    }
    json_array_close(out);
}

static void verdict_object(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const char *action = "alert";

    if (record->verdict == VERDICT_DROP || (record->reject != REJECT_NONE && eve->options->inline_mode))
        action = "drop";
    else if (record->passed)
        action = "pass";
    json_member_object(out, "verdict");
    json_member_string(out, "action", action);
    if (record->reject != REJECT_NONE)
        reject_part(out, record);
    json_object_close(out);
}

/* As text: what is not a printable letter or the end of a line becomes a dot. */
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

/* The stream's bytes, with words where some are missing. */
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

/* Names of chunk types as Suricata's sctp.chunk_type has them (RFC 9260 §3.2 and its extensions). */
static const char *sctp_chunk_name(uint8_t type)
{
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

    return names[type] ? names[type] : "unknown";
}

static void sctp_object(struct text *out, const struct sctp_info *sctp)
{
    static const struct {
        const char *name;
        uint8_t type;
    } flags[] = { { "has_init", 1 }, { "has_init_ack", 2 }, { "has_data", 0 }, { "has_abort", 6 } };
    uint32_t listed = sctp->chunk_count < SCTP_MAX_LISTED_CHUNKS ? sctp->chunk_count : SCTP_MAX_LISTED_CHUNKS;

    json_member_object(out, "sctp");
    json_member_uint(out, "vtag", sctp->verification_tag);
    json_member_uint(out, "chunk_cnt", sctp->chunk_count);
    json_array_open(out, "chunk_types");
    for (uint32_t i = 0; i < listed; i++)
        json_string(out, NULL, sctp_chunk_name(sctp->chunk_types[i]));
    json_array_close(out);
    for (size_t k = 0; k < sizeof(flags) / sizeof(flags[0]); k++)
        json_bool(out, flags[k].name, memchr(sctp->chunk_types, flags[k].type, listed) != NULL);
    json_object_close(out);
}

/* Routers tell switches by RGMP (RFC 3488) which groups they want; its messages are IGMP messages of four types. */
static void igmp_object(struct text *out, const struct igmp_info *igmp)
{
    enum { RGMP_FIRST_TYPE = 0xfc };

    json_member_object(out, igmp->type >= RGMP_FIRST_TYPE ? "rgmp" : "igmp");
    if (igmp->version)
        json_member_uint(out, "version", igmp->version);
    json_member_uint(out, "type", igmp->type);
    json_object_close(out);
}

static void protocol_object(struct text *out, const struct packet_record *record)
{
    if (!record->has_transport)
        return;
    if (record->endpoints.protocol == IPPROTO_SCTP)
        sctp_object(out, &record->sctp);
    else if (record->endpoints.protocol == IPPROTO_IGMP)
        igmp_object(out, &record->igmp);
}

/* --- Events --------------------------------------------------------------------------------------- */

void eve_direction(struct text *out, const struct packet_record *record)
{
    if (record->has_flow)
        json_member_string(out, "direction", record->to_client ? "to_client" : "to_server");
}

static void flow_object(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const struct endpoints *ends = &record->flow.ends;

    if (!record->has_flow || !eve->options->eve.alert.flow)
        return;
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

static void transaction(struct text *out, const struct packet_record *record, const struct alert *alert)
{
    const struct record_transaction *tx = record_transactions(record) + (alert - record_alerts(record));

    if (record->has_flow)
        eve_application(out, record->flow.application);
    if (!record->has_transactions || !tx->is_present)
        return;
    json_member_uint(out, "tx_id", tx->id);
    if (alert->tx_guessed)
        json_bool(out, "tx_guessed", true);
    if (!fields_render(record_fields(record) + tx->at, tx->length, out))
        out->failed = true;
}

void eve_alert(struct eve *eve, struct text *out, const struct packet_record *record, const struct alert *alert)
{
    const struct eve_options *options = &eve->options->eve;

    eve->client = options->xff.alert.overwrite ? client_of(record, alert) : NULL;
    eve_header(eve, out, record, "alert");
    transaction(out, record, alert);
    alert_object(eve, out, record, alert->rule, action_of(alert), alert);
    eve_tunnel(eve, out, record);
    protocol_object(out, record);
    eve_direction(out, record);
    flow_object(eve, out, record);
    if (record->endpoints.ip_version != 0)
        payload(eve, out, record, alert);
    if (options->alert.packet)
        eve_packet(out, record, UINT32_MAX);
    if (options->alert.verdict)
        verdict_object(eve, out, record);
    eve_end(eve, out);
    eve->client = NULL;
}

static void ip_header(struct text *out, const struct packet_record *record)
{
    bool is_v4 = record->endpoints.ip_version == 4;

    if (record->endpoints.ip_version == 0)
        return;
    json_member_uint(out, "len", record->ip_length);
    json_uint(out, is_v4 ? "tos" : "tc", record->tos);
    json_uint(out, is_v4 ? "ttl" : "hoplimit", record->ttl);
    json_uint(out, is_v4 ? "ipid" : "flowlbl", is_v4 ? record->ip_id : record->flow_label);
}

static void tcp_header(struct text *out, const struct packet_record *record)
{
    static const struct {
        const char *name;
        uint8_t bit;
    } flags[] = { { "syn", TCP_SYN }, { "ack", TCP_ACK }, { "psh", TCP_PSH },
                  { "rst", TCP_RST }, { "urg", TCP_URG }, { "fin", TCP_FIN } };

    json_member_uint(out, "tcpseq", record->tcp_sequence);
    json_member_uint(out, "tcpack", record->tcp_acknowledgment);
    json_member_uint(out, "tcpwin", record->tcp_window);
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
        json_bool(out, flags[i].name, record->tcp_flags & flags[i].bit);
    json_member_uint(out, "tcpres", record->tcp_reserved);
    json_member_uint(out, "tcpurgp", record->tcp_urgent);
}

void eve_packet_headers(struct text *out, const struct packet_record *record)
{
    ip_header(out, record);
    if (!record->has_transport)
        return;
    switch (record->endpoints.protocol) {
    case IPPROTO_TCP:
        tcp_header(out, record);
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

/* The alert that blocks (or would); the rule that drops where its alert is not reported. */
static void drop_alert(struct eve *eve, struct text *out, const struct packet_record *record, enum alert_action action)
{
    const struct alert *alerts = record_alerts(record);

    for (uint32_t i = 0; i < record->alert_count; i++)
        if (action_of(&alerts[i]) == action) {
            alert_object(eve, out, record, alerts[i].rule, action, NULL);
            return;
        }
    if (record->drop_rule)
        alert_object(eve, out, record, record->drop_rule, action, NULL);
}

void eve_drop(struct eve *eve, struct text *out, const struct packet_record *record)
{
    const struct eve_options *options = &eve->options->eve;
    bool dropped = record->verdict == VERDICT_DROP;
    const char *type = dropped ? "drop" : "would_drop"; /* tools that count drop events count what was dropped */

    eve_header(eve, out, record, type);
    eve_direction(out, record);
    json_member_object(out, type);
    eve_packet_headers(out, record);
    if (record->drop_reason != DROP_REASON_NONE)
        json_member_string(out, "reason", output_drop_reason_name((enum drop_reason)record->drop_reason));
    json_object_close(out);
    if (options->drop.verdict)
        verdict_object(eve, out, record);
    if (options->drop.alerts)
        drop_alert(eve, out, record, dropped ? ALERT_BLOCKED : ALERT_WOULD_DROP);
    eve_end(eve, out);
}

/* "APPLAYER_MISMATCH_PROTOCOL_BOTH_DIRECTIONS" */
static void upper_string(struct text *out, const char *key, const char *name)
{
    char upper[64];
    size_t length = 0;

    for (; name[length] && length < sizeof(upper); length++)
        upper[length] = (char)(name[length] >= 'a' && name[length] <= 'z' ? name[length] - ('a' - 'A') : name[length]);
    json_stringn(out, key, upper, length);
}

static void anomaly_object(struct text *out, const struct packet_record *record, unsigned event)
{
    json_member_object(out, "anomaly");
    if (event >= APP_LAYER_EVENT_FIRST) {
        json_member_string(out, "app_proto", app_name_by_id(record->flow.application & 0xff));
        json_member_string(out, "type", "applayer");
        upper_string(out, "event", app_layer_event_name((enum app_layer_event)event));
        json_member_string(out, "layer", "proto_detect");
    } else if (event < DECODE_EVENT_COUNT) {
        json_member_string(out, "type", "decode");
        json_printf(out, "event", "decoder.%s", decode_event_name((enum decode_event)event));
    } else {
        json_member_string(out, "type", "stream");
        json_printf(out, "event", "stream.%s", stream_event_name((enum stream_event)event));
    }
    json_object_close(out);
}

void eve_anomaly(struct eve *eve, struct text *out, const struct packet_record *record, unsigned event)
{
    eve_header(eve, out, record, "anomaly");
    anomaly_object(out, record, event);
    if (eve->options->eve.anomaly.packet_header)
        eve_packet(out, record, ANOMALY_PACKET_SIZE);
    eve_end(eve, out);
}

/* What rules took out of the packet, and the state of its flow: the header has it. */
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
