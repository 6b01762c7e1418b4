/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fields of MQTT messages (MQTT 5.0 §2 and §3; MQTT 3.1.1). */
#include <errno.h>

#include "mqtt_priv.h"

enum { VERSION_5 = 5 };

const char *const mqtt_type_names[MQTT_TYPES] = {
    "unassigned", "connect", "connack",     "publish",  "puback",  "pubrec",   "pubrel",     "pubcomp",
    "subscribe",  "suback",  "unsubscribe", "unsuback", "pingreq", "pingresp", "disconnect", "auth",
};

int mqtt_read_length(struct cursor *cur, uint32_t *out)
{
    uint32_t value = 0;

    for (unsigned i = 0; i < 4; i++) {
        uint8_t byte;

        if (!cursor_u8(cur, &byte))
            return -EAGAIN;
        value |= (uint32_t)(byte & 0x7f) << 7 * i;
        if (!(byte & 0x80)) {
            *out = value;
            return 0;
        }
    }
    return -EBADMSG;
}

/* Reads bytes or text that a 16-bit length precedes. */
static bool read_string(struct cursor *cur, struct cursor *out)
{
    uint16_t length;

    if (!cursor_be16(cur, &length) || length > cursor_remaining(cur))
        return false;
    *out = cursor_of(cursor_read(cur, length), length);
    return true;
}

/* --- Properties ----------------------------------------------------------------------------------- */

enum property_type { NONE, BYTE, SHORT, LONG, VARIABLE, TEXT, PAIR };

static const struct {
    const char *name;
    enum property_type type;
} properties[] = {
    [1] = { "payload_format_indicator", BYTE },
    [2] = { "message_expiry_interval", LONG },
    [3] = { "content_type", TEXT },
    [8] = { "response_topic", TEXT },
    [9] = { "correlation_data", TEXT },
    [11] = { "subscription_identifier", VARIABLE },
    [17] = { "session_expiry_interval", LONG },
    [18] = { "assigned_client_identifier", TEXT },
    [19] = { "server_keep_alive", SHORT },
    [21] = { "authentication_method", TEXT },
    [22] = { "authentication_data", TEXT },
    [23] = { "request_problem_information", BYTE },
    [24] = { "will_delay_interval", LONG },
    [25] = { "request_response_information", BYTE },
    [26] = { "response_information", TEXT },
    [28] = { "server_reference", TEXT },
    [31] = { "reason_string", TEXT },
    [33] = { "receive_maximum", SHORT },
    [34] = { "topic_alias_maximum", SHORT },
    [35] = { "topic_alias", SHORT },
    [36] = { "maximum_qos", BYTE },
    [37] = { "retain_available", BYTE },
    [38] = { NULL, PAIR },
    [39] = { "maximum_packet_size", LONG },
    [40] = { "wildcard_subscription_available", BYTE },
    [41] = { "subscription_identifier_available", BYTE },
    [42] = { "shared_subscription_available", BYTE },
};

bool mqtt_next_property(struct cursor *list, struct mqtt_property *out)
{
    struct mqtt_property property = { .name = NULL };
    struct cursor at = *list;
    uint32_t id;
    uint16_t half = 0;
    uint8_t byte = 0;
    bool is_valid = false;

    if (cursor_remaining(&at) == 0 || mqtt_read_length(&at, &id) || id >= sizeof(properties) / sizeof(properties[0]))
        return false;
    property.name = properties[id].name;
    switch (properties[id].type) {
    case BYTE:
        is_valid = cursor_u8(&at, &byte);
        property.value = byte;
        break;
    case SHORT:
        is_valid = cursor_be16(&at, &half);
        property.value = half;
        break;
    case LONG:
        is_valid = cursor_be32(&at, &property.value);
        break;
    case VARIABLE:
        is_valid = mqtt_read_length(&at, &property.value) == 0;
        break;
    case PAIR:
        is_valid = read_string(&at, &property.key) && read_string(&at, &property.text);
        property.is_text = true;
        break;
    case TEXT:
        is_valid = read_string(&at, &property.text);
        property.is_text = true;
        break;
    case NONE:
        break;
    }
    if (!is_valid)
        return false;
    *list = at;
    *out = property;
    return true;
}

/* Reads the list of properties that version 5 has at this place. */
static bool read_properties(struct cursor *cur, uint8_t version, struct cursor *out)
{
    struct mqtt_property property;
    uint32_t length;

    if (version < VERSION_5)
        return true;
    if (mqtt_read_length(cur, &length) || length > cursor_remaining(cur))
        return false;
    *out = cursor_of(cursor_read(cur, length), length);

    struct cursor list = *out;

    while (mqtt_next_property(&list, &property))
        continue;
    return cursor_remaining(&list) == 0;
}

/* --- Messages ------------------------------------------------------------------------------------- */

static bool read_connect(struct cursor *cur, struct mqtt_fields *out)
{
    uint16_t keep_alive;

    if (!read_string(cur, &out->protocol) || !cursor_u8(cur, &out->version) || !cursor_u8(cur, &out->connect_flags) ||
        !cursor_be16(cur, &keep_alive) || !read_properties(cur, out->version, &out->properties) ||
        !read_string(cur, &out->client))
        return false;
    if (out->connect_flags & MQTT_WILL &&
        (!read_properties(cur, out->version, &out->will_properties) || !read_string(cur, &out->will_topic) ||
         !read_string(cur, &out->will_message)))
        return false;
    if (out->connect_flags & MQTT_USERNAME && !read_string(cur, &out->username))
        return false;
    return !(out->connect_flags & MQTT_PASSWORD) || read_string(cur, &out->password);
}

static bool read_id(struct cursor *cur, struct mqtt_fields *out)
{
    out->has_id = cursor_be16(cur, &out->id);
    return out->has_id;
}

/* Reads the reason code and the properties that version 5 may have at the end of a message. */
static bool read_reason(struct cursor *cur, uint8_t version, struct mqtt_fields *out)
{
    if (version < VERSION_5 || cursor_remaining(cur) == 0)
        return true;
    out->has_code = cursor_u8(cur, &out->code);
    return cursor_remaining(cur) == 0 || read_properties(cur, version, &out->properties);
}

static void read_rest(struct cursor *cur, struct cursor *out)
{
    *out = *cur;
    cur->at = cur->end;
}

static bool topics_are_valid(struct cursor list, bool is_subscribe)
{
    struct cursor topic;
    uint8_t qos;

    while (mqtt_next_topic(&list, is_subscribe, &topic, &qos))
        continue;
    return cursor_remaining(&list) == 0;
}

bool mqtt_next_topic(struct cursor *list, bool is_subscribe, struct cursor *topic, uint8_t *qos)
{
    struct cursor at = *list;

    if (cursor_remaining(&at) == 0 || !read_string(&at, topic) || (is_subscribe && !cursor_u8(&at, qos)))
        return false;
    *list = at;
    return true;
}

bool mqtt_read_fields(uint8_t first, struct cursor body, uint8_t version, struct mqtt_fields *out)
{
    uint8_t acknowledge;

    *out = (struct mqtt_fields){ .has_id = false };
    switch ((enum mqtt_type)(first >> 4)) {
    case MQTT_CONNECT:
        return read_connect(&body, out);
    case MQTT_CONNACK:
        if (!cursor_u8(&body, &acknowledge) || !cursor_u8(&body, &out->code))
            return false;
        out->has_code = true;
        out->session_present = acknowledge & 1;
        return read_properties(&body, version, &out->properties);
    case MQTT_PUBLISH:
        if (!read_string(&body, &out->topic) || ((first >> 1 & 3) > 0 && !read_id(&body, out)) ||
            !read_properties(&body, version, &out->properties))
            return false;
        read_rest(&body, &out->payload);
        return true;
    case MQTT_PUBACK:
    case MQTT_PUBREC:
    case MQTT_PUBREL:
    case MQTT_PUBCOMP:
        return read_id(&body, out) && read_reason(&body, version, out);
    case MQTT_SUBSCRIBE:
    case MQTT_UNSUBSCRIBE:
        if (!read_id(&body, out) || !read_properties(&body, version, &out->properties))
            return false;
        read_rest(&body, &out->list);
        return topics_are_valid(out->list, first >> 4 == MQTT_SUBSCRIBE);
    case MQTT_SUBACK:
    case MQTT_UNSUBACK:
        if (!read_id(&body, out) || !read_properties(&body, version, &out->properties))
            return false;
        read_rest(&body, &out->list);
        return true;
    case MQTT_DISCONNECT:
    case MQTT_AUTH:
        out->has_code = version >= VERSION_5; /* 0 if the message is empty */
        return read_reason(&body, version, out);
    default:
        return true;
    }
}

void mqtt_get_fields(const struct mqtt_tx *tx, const struct mqtt_message *message, struct mqtt_fields *out)
{
    struct cursor body =
        cursor_of(message->length > 0 ? tx->bytes.bytes + message->at : (const uint8_t *)"", message->length);

    mqtt_read_fields(message->first, body, tx->version, out);
}
