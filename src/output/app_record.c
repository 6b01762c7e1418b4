/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records of transactions and files, written by the worker. The protocol writes the members of the event as fields
 * (sluice/fields.h), and the output thread formats them as JSON.
 */
#include <netinet/in.h>
#include <string.h>

#include "client.h"
#include "output_priv.h"

enum described { OF_TRANSACTION, OF_FILE, OF_ALERT }; /* the event in which the transaction is described */

static void describe(struct fields *fields, const struct app *app, const struct app_tx *tx, enum described event)
{
    const struct app_proto *proto = app_proto_by_id(app_tx_log_protocol(tx));

    if (!proto->log || !proto->log_key)
        return;
    fields_object_open(fields, proto->log_key);
    if (proto->describe && event != OF_TRANSACTION)
        proto->describe(tx, app_proto_settings(app, proto), fields);
    else
        proto->log(tx, app_proto_settings(app, proto), fields);
    if (proto->describe_alert && event == OF_ALERT)
        proto->describe_alert(tx, app_proto_settings(app, proto), fields);
    fields_object_close(fields);
    if (proto->log_top_level)
        proto->log_top_level(tx, app_proto_settings(app, proto), fields);
}

/* Writes the transaction of an alert, and with `app_layer` the protocol's fields and those files of the packet's
 * direction that have had no event yet, as Suricata does. */
static void describe_alert(struct record_scratch *scratch, const struct app *app, const struct app_tx *tx,
                           bool app_layer, enum flow_direction direction, struct record_transaction *out)
{
    struct fields *fields = &scratch->fields;
    const struct file *file = tx->files[direction].first;

    *out = (struct record_transaction){
        .id = tx->number, .sub_state = app_tx_sub_state_name(tx), .at = fields->length, .is_present = true
    };
    if (!app_layer)
        return;
    describe(fields, app, tx, OF_ALERT);
    while (file && file->logged)
        file = file->next;
    if (file) {
        fields_array_open(fields, "files");
        for (; file; file = file->next) {
            fields_object_open(fields, NULL);
            file_describe(file, tx->number, app_file_engine(app), fields);
            fields_object_close(fields);
        }
        fields_array_close(fields);
    }
    out->length = fields->length - out->at;
    const struct app_proto *proto = app_proto_by_id(app_tx_log_protocol(tx));

    if (proto->log_own)
        proto->log_own(tx, fields);
    out->own_length = fields->length - out->at - out->length;
}

/* --- Frames --------------------------------------------------------------------------------------- */

static void describe_frame(struct fields *fields, const struct packet *pkt, const struct frame_facts *frame)
{
    bool to_client = pkt->flags & PACKET_TO_CLIENT, in_stream = pkt->protocol == IPPROTO_TCP;
    uint8_t text[FRAME_PAYLOAD_MAX];

    fields_object_open(fields, "frame");
    fields_string(fields, "type", frame->type);
    fields_uint(fields, "id", frame->id);
    fields_string(fields, "direction", to_client ? "toclient" : "toserver");
    if (in_stream)
        fields_uint(fields, "stream_offset", frame->offset);
    fields_uint(fields, "length", frame->length);
    fields_bool(fields, "complete", frame->is_complete);
    if (frame->payload_length > 0) {
        fields_base64(fields, "payload", frame->payload, frame->payload_length);
        for (uint32_t i = 0; i < frame->payload_length; i++) {
            uint8_t byte = frame->payload[i];

            text[i] = (byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\r' ? byte : '.';
        }
        fields_bytes(fields, "payload_printable", text, frame->payload_length);
    }
    if (frame->has_tx)
        fields_uint(fields, "tx_id", frame->tx_number);
    fields_object_close(fields);
}

/* Returns the index of the first alert that has the same transaction as the alert with index `alert`; this may be
 * `alert` itself. */
static size_t first_alert_of_tx(const struct decision *decision, size_t alert)
{
    size_t first = 0;

    while (first < alert && decision->alerts[first].tx != decision->alerts[alert].tx)
        first++;
    return first;
}

void app_alert_collect(struct record_scratch *scratch, const struct eve_options *eve, const struct packet *pkt,
                       const struct decision *decision)
{
    enum flow_direction direction = pkt->flags & PACKET_TO_CLIENT ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    const struct app *app = decision->app;

    fields_init(&scratch->fields, scratch->field_bytes, sizeof(scratch->field_bytes));
    for (size_t i = 0; i < decision->alert_count && i < RECORD_MAX_ALERTS; i++) {
        const struct app_tx *tx = decision->alerts[i].tx;
        struct record_transaction *out = &scratch->transactions[i];
        size_t first = first_alert_of_tx(decision, i);

        *out = (struct record_transaction){ 0 };
        if (first < i)
            *out = scratch->transactions[first];
        else if (tx && app)
            describe_alert(scratch, app, tx, eve->alert.app_layer, direction, out);
        out->frame_at = scratch->fields.length;
        if (decision->alerts[i].frame)
            describe_frame(&scratch->fields, pkt, decision->alerts[i].frame);
        out->frame_length = scratch->fields.length - out->frame_at;
        if (first == i && eve->xff.alert.enabled)
            out->client = tx ? client_of_tx(&eve->xff.alert, tx) : client_of_flow(&eve->xff.alert, pkt->flow);
        scratch->has_transactions |= out->is_present || out->client.ip_version != 0;
    }
    scratch->has_transactions |= scratch->fields.length > 0;
}

/* --- Events of transactions and files ------------------------------------------------------------- */

size_t app_record_size(const struct record_scratch *scratch)
{
    return sizeof(struct packet_record) + scratch->variable_count * sizeof(struct record_variable) +
           scratch->text_count * sizeof(struct rule_capture) + scratch->fields.length;
}

/* Exchanges source and destination MAC address, for an event whose direction is opposite to that of the packet. */
static void swap_macs(struct packet_record *record)
{
    uint8_t source[MAC_SIZE];

    memcpy(source, record->ethernet + MAC_SIZE, MAC_SIZE);
    memmove(record->ethernet + MAC_SIZE, record->ethernet, MAC_SIZE);
    memcpy(record->ethernet, source, MAC_SIZE);
    record->link_reversed = !record->link_reversed;
}

/* Writes the record of an event. Its source is the client and its destination the server, whatever the direction of the
 * packet is. */
void app_record_write(struct packet_record *out, const struct record_scratch *scratch, uint32_t kind, const char *type,
                      const struct packet *pkt, const struct flow *flow, const struct app_tx *tx, unsigned generation)
{
    uint8_t *at = (uint8_t *)(out + 1);

    *out = (struct packet_record){
        .kinds = kind,
        .variable_count = scratch->variable_count,
        .text_count = scratch->text_count,
        .fields_copied = scratch->fields.length,
        .own_at = scratch->own_at,
        .generation = generation,
        .app_event_type = type,
        .app_tx_id = tx ? tx->number : 0,
        .client = scratch->client,
        .has_flow = true,
    };
    record_copy_packet(out, pkt);
    if (pkt->flow && pkt->flags & PACKET_TO_CLIENT)
        swap_macs(out);
    /* The pseudo packet at the end of a flow has no MAC addresses: use those of the flow. */
    if (!pkt->transport && flow->macs && flow->macs->count[FLOW_TO_SERVER] > 0 &&
        flow->macs->count[FLOW_TO_CLIENT] > 0) {
        memcpy(out->ethernet, flow->macs->address[FLOW_TO_CLIENT][0], MAC_SIZE);
        memcpy(out->ethernet + MAC_SIZE, flow->macs->address[FLOW_TO_SERVER][0], MAC_SIZE);
        out->has_flow_macs = true;
    }
    out->flow.id = flow->id;
    out->flow.parent_id = app_flow_parent(flow);
    out->flow.application = flow->application;
    out->endpoints.source = flow->client;
    out->endpoints.destination = flow->server;
    out->endpoints.source_port = flow->client_port;
    out->endpoints.destination_port = flow->server_port;
    at = record_append(at, scratch->variables, out->variable_count * sizeof(struct record_variable));
    at = record_append(at, scratch->texts, out->text_count * sizeof(struct rule_capture));
    record_append(at, scratch->field_bytes, out->fields_copied);
}

static void write_event(struct output_port *port, struct record_scratch *scratch, enum output_event kind,
                        const char *type, const struct packet *pkt, const struct flow *flow, const struct app_tx *tx,
                        bool from_server, unsigned generation)
{
    struct packet_record *record = output_reserve(port, app_record_size(scratch));

    if (!record) {
        output_count_lost(port, kind);
        return;
    }
    app_record_write(record, scratch, 1u << kind, type, pkt, flow, tx, generation);
    if (from_server) {
        swap_macs(record);
        record->to_client = true;
        record->endpoints.source = flow->server;
        record->endpoints.destination = flow->client;
        record->endpoints.source_port = flow->server_port;
        record->endpoints.destination_port = flow->client_port;
    }
    output_commit(port);
}

/* Adds the address of the client behind a proxy: as member "xff" of the object "sluice" or, with options->overwrite, in
 * place of the flow's client address. Suricata's schema has no such member, but for alerts. */
static void add_client(struct record_scratch *scratch, const struct xff_options *options, const struct app_tx *tx)
{
    struct record_client client = client_of_tx(options, tx);
    char text[ADDRESS_TEXT_SIZE];

    scratch->client = (struct record_client){ .ip_version = 0 };
    if (client.ip_version == 0)
        return;
    if (options->overwrite) {
        scratch->client = client;
        return;
    }
    address_format(&client.address, client.ip_version, false, text);
    fields_string(&scratch->fields, "xff", text);
}

/* Returns the first event of the transaction from number `event` on; APP_EVENT_WORDS * 64: none. */
static unsigned next_event(const struct app_tx *tx, unsigned event)
{
    for (unsigned word = event / 64; word < APP_EVENT_WORDS; word++) {
        uint64_t left = tx->events[word] & (word == event / 64 ? UINT64_MAX << event % 64 : UINT64_MAX);

        if (left != 0)
            return word * 64 + (unsigned)__builtin_ctzll(left);
    }
    return APP_EVENT_WORDS * 64;
}

void output_transaction(struct output_port *port, const struct packet *pkt, const struct flow *flow,
                        const struct app *app, const struct app_tx *tx, unsigned generation)
{
    struct record_scratch *scratch = output_scratch(port);
    const struct eve_options *eve = output_eve(port);
    const unsigned id = app_tx_log_protocol(tx);
    const struct app_proto *proto = app_proto_by_id(id);
    uint32_t wanted = output_wanted(port);

    if (!(wanted & APP_RECORD_KINDS))
        return;
    flow_variables_collect(scratch, NULL, eve->metadata ? flow : NULL);
    if (wanted & 1u << OUTPUT_APP && eve->app[id - 1] && proto->log_type && !tx->only_events) {
        bool from_server = proto->logs_from_server && proto->logs_from_server(tx, app_proto_settings(app, proto));

        fields_init(&scratch->fields, scratch->field_bytes, sizeof(scratch->field_bytes));
        describe(&scratch->fields, app, tx, OF_TRANSACTION);
        scratch->own_at = scratch->fields.length;
        if (proto->log_own)
            proto->log_own(tx, &scratch->fields);
        add_client(scratch, &eve->xff.http, tx);
        write_event(port, scratch, OUTPUT_APP, proto->log_type, pkt, flow, tx, from_server, generation);
    }
    if (!(wanted & 1u << OUTPUT_ANOMALY) || !eve->anomaly.application)
        return;
    scratch->client = (struct record_client){ .ip_version = 0 };
    for (unsigned event = next_event(tx, 0); app_get_event(tx->proto, event); event = next_event(tx, event + 1)) {
        fields_init(&scratch->fields, scratch->field_bytes, sizeof(scratch->field_bytes));
        fields_object_open(&scratch->fields, "anomaly");
        fields_string(&scratch->fields, "app_proto", tx->proto->name);
        fields_string(&scratch->fields, "type", "applayer");
        fields_string(&scratch->fields, "event", app_get_event(tx->proto, event)->name);
        fields_string(&scratch->fields, "layer", "proto_parser");
        fields_object_close(&scratch->fields);
        scratch->own_at = scratch->fields.length;
        write_event(port, scratch, OUTPUT_APP, "anomaly", pkt, flow, tx, pkt->flags & PACKET_TO_CLIENT, generation);
    }
}

void output_file(struct output_port *port, const struct packet *pkt, const struct flow *flow, const struct app *app,
                 const struct app_tx *tx, const struct file *file, enum flow_direction direction, unsigned generation)
{
    struct record_scratch *scratch = output_scratch(port);

    if (!(output_wanted(port) & 1u << OUTPUT_FILE))
        return;
    flow_variables_collect(scratch, NULL, output_eve(port)->metadata ? flow : NULL);
    fields_init(&scratch->fields, scratch->field_bytes, sizeof(scratch->field_bytes));
    describe(&scratch->fields, app, tx, OF_FILE);
    fields_object_open(&scratch->fields, "fileinfo");
    file_describe(file, tx->number, NULL, &scratch->fields);
    fields_object_close(&scratch->fields);
    scratch->own_at = scratch->fields.length;
    add_client(scratch, &output_eve(port)->xff.files, tx);
    write_event(port, scratch, OUTPUT_FILE, "fileinfo", pkt, flow, tx, direction == FLOW_TO_CLIENT, generation);
}

void output_frame(struct output_port *port, const struct packet *pkt, const struct frame_facts *frame,
                  unsigned generation)
{
    struct record_scratch *scratch = output_scratch(port);

    flow_variables_collect(scratch, NULL, output_eve(port)->metadata ? pkt->flow : NULL);
    fields_init(&scratch->fields, scratch->field_bytes, sizeof(scratch->field_bytes));
    scratch->client = (struct record_client){ .ip_version = 0 };
    describe_frame(&scratch->fields, pkt, frame);
    scratch->own_at = scratch->fields.length;
    write_event(port, scratch, OUTPUT_FRAME, "frame", pkt, pkt->flow, NULL, pkt->flags & PACKET_TO_CLIENT, generation);
}

bool output_wants_frames(const struct output_port *port)
{
    return output_wanted(port) & 1u << OUTPUT_FRAME;
}
