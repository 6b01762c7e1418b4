/* SPDX-License-Identifier: GPL-2.0-or-later */
/* EVE object "mqtt": the messages of a transaction. Fields that the schema does not have are omitted. */
#include <stdio.h>

#include "mqtt_priv.h"

enum { TOPICS_LOGGED_MAX = 1024, CODES_LOGGED_MAX = 1024, PROPERTIES_LOGGED_MAX = 256 };

/* Writes a string. The end of a longer one than string-log-limit is replaced by a note, as in Suricata. */
static void log_text(struct fields *out, const char *key, struct cursor text, const struct mqtt_settings *settings)
{
    size_t length = cursor_remaining(&text);
    uint32_t limit = settings->log_limit;
    uint8_t cut[64 + 1024];
    int note;

    if (!text.at)
        return;
    if (length <= limit) {
        fields_bytes(out, key, text.at, length);
        return;
    }
    if (limit > sizeof(cut) - 64) { /* there is no room for the note */
        fields_bytes(out, key, text.at, limit);
        return;
    }
    memcpy(cut, text.at, limit);
    note = snprintf((char *)cut + limit, 64, "[truncated %zu additional bytes]", length - limit);
    fields_bytes(out, key, cut, limit + (size_t)note);
}

static void log_properties(struct fields *out, struct cursor list, const struct mqtt_settings *settings)
{
    struct mqtt_property property;

    if (!list.at)
        return;
    fields_object_open(out, "properties");
    for (unsigned i = 0; i < PROPERTIES_LOGGED_MAX && mqtt_next_property(&list, &property); i++) {
        if (!property.name)
            fields_bytes_named(out, property.key.at, cursor_remaining(&property.key), property.text.at,
                               cursor_remaining(&property.text));
        else if (property.is_text)
            log_text(out, property.name, property.text, settings);
        else
            fields_uint(out, property.name, property.value);
    }
    fields_object_close(out);
}

static void log_connect(struct fields *out, const struct mqtt_fields *fields, const struct mqtt_settings *settings)
{
    log_text(out, "protocol_string", fields->protocol, settings);
    fields_uint(out, "protocol_version", fields->version);
    log_text(out, "client_id", fields->client, settings);
    fields_object_open(out, "flags");
    fields_bool(out, "username", fields->connect_flags & MQTT_USERNAME);
    fields_bool(out, "password", fields->connect_flags & MQTT_PASSWORD);
    fields_bool(out, "will_retain", fields->connect_flags & MQTT_WILL_RETAIN);
    fields_bool(out, "will", fields->connect_flags & MQTT_WILL);
    fields_bool(out, "clean_session", fields->connect_flags & MQTT_CLEAN_SESSION);
    fields_object_close(out);
    log_text(out, "username", fields->username, settings);
    if (settings->passwords)
        log_text(out, "password", fields->password, settings);
    if (fields->connect_flags & MQTT_WILL) {
        fields_object_open(out, "will");
        log_text(out, "topic", fields->will_topic, settings);
        log_text(out, "message", fields->will_message, settings);
        log_properties(out, fields->will_properties, settings);
        fields_object_close(out);
    }
    log_properties(out, fields->properties, settings);
}

static void log_topics(struct fields *out, struct cursor list, bool is_subscribe, const struct mqtt_settings *settings)
{
    struct cursor topic;
    unsigned count = 0;
    uint8_t qos = 0;

    for (; count < TOPICS_LOGGED_MAX && mqtt_next_topic(&list, is_subscribe, &topic, &qos); count++) {
        if (count == 0)
            fields_array_open(out, "topics");
        if (!is_subscribe) {
            log_text(out, NULL, topic, settings);
            continue;
        }
        fields_object_open(out, NULL);
        log_text(out, "topic", topic, settings);
        fields_uint(out, "qos", qos & 3);
        fields_object_close(out);
    }
    if (count > 0)
        fields_array_close(out);
}

static void log_codes(struct fields *out, const char *key, struct cursor list)
{
    unsigned count = 0;
    uint8_t code;

    for (; count < CODES_LOGGED_MAX && cursor_u8(&list, &code); count++) {
        if (count == 0)
            fields_array_open(out, key);
        fields_uint(out, NULL, code);
    }
    if (count > 0)
        fields_array_close(out);
}

static void log_fields(struct fields *out, const struct mqtt_message *message, const struct mqtt_fields *fields,
                       const struct mqtt_settings *settings)
{
    if (fields->has_id && mqtt_type_of(message) != MQTT_PUBLISH)
        fields_uint(out, "message_id", fields->id);
    switch (mqtt_type_of(message)) {
    case MQTT_CONNECT:
        log_connect(out, fields, settings);
        break;
    case MQTT_CONNACK:
        fields_bool(out, "session_present", fields->session_present);
        fields_uint(out, "return_code", fields->code);
        log_properties(out, fields->properties, settings);
        break;
    case MQTT_PUBLISH:
        log_text(out, "topic", fields->topic, settings);
        if (fields->has_id)
            fields_uint(out, "message_id", fields->id);
        log_text(out, "message", fields->payload, settings);
        log_properties(out, fields->properties, settings);
        break;
    case MQTT_SUBSCRIBE:
    case MQTT_UNSUBSCRIBE:
        log_topics(out, fields->list, mqtt_type_of(message) == MQTT_SUBSCRIBE, settings);
        break;
    case MQTT_SUBACK:
        log_codes(out, "qos_granted", fields->list);
        break;
    case MQTT_UNSUBACK:
        log_codes(out, "reason_codes", fields->list);
        break;
    case MQTT_DISCONNECT:
        if (fields->has_code)
            fields_uint(out, "reason_code", fields->code);
        log_properties(out, fields->properties, settings);
        break;
    default:
        if (fields->has_code)
            fields_uint(out, "reason_code", fields->code);
    }
}

void mqtt_log(const struct app_tx *base, const void *data, struct fields *out)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)base;
    const struct mqtt_settings *settings = data;
    uint32_t written = 0; /* types that have been written: a retransmission would repeat the key */

    for (uint32_t i = 0; i < mqtt_message_count(tx); i++) {
        const struct mqtt_message *message = mqtt_message_at(tx, i);
        enum mqtt_type type = mqtt_type_of(message);
        struct mqtt_fields fields;

        if (type == MQTT_UNASSIGNED || type == MQTT_AUTH || written >> type & 1)
            continue;
        written |= 1u << type;
        fields_object_open(out, mqtt_type_names[type]);
        fields_uint(out, "qos", mqtt_qos_of(message));
        fields_bool(out, "retain", message->first & MQTT_RETAIN);
        fields_bool(out, "dup", message->first & MQTT_DUP);
        if (message->skipped == 0) {
            mqtt_get_fields(tx, message, &fields);
            log_fields(out, message, &fields, settings);
        } else if (type == MQTT_PUBLISH) {
            fields_bool(out, "truncated", true);
            fields_uint(out, "skipped_length", message->skipped);
        }
        fields_object_close(out);
    }
}

bool mqtt_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return ((const struct mqtt_tx *)tx)->began == FLOW_TO_CLIENT;
}
