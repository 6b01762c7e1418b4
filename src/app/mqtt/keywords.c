/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Buffers and conditions of MQTT. Rules of a direction see the messages of that direction. */
#include <errno.h>

#include "mqtt_priv.h"
#include "sluice/arena.h"
#include "sluice/number_range.h"
#include "sluice/text.h"

static const char *const applications[] = { "mqtt", NULL };

/* Returns the next message of the direction from *index on, or NULL; messages that were skipped only if with_skipped.
 */
static const struct mqtt_message *next_message(const struct mqtt_tx *tx, enum flow_direction direction, uint32_t *index,
                                               bool with_skipped)
{
    while (*index < mqtt_message_count(tx)) {
        const struct mqtt_message *message = mqtt_message_at(tx, (*index)++);

        if (message->direction == (uint8_t)direction && (with_skipped || message->skipped == 0))
            return message;
    }
    return NULL;
}

/* --- Buffers -------------------------------------------------------------------------------------- */

/* Values of app_buffer.part. */
enum part { CLIENT_ID, USERNAME, PASSWORD, PROTOCOL, WILL_TOPIC, WILL_MESSAGE, TOPIC, PAYLOAD, SUBSCRIBE, UNSUBSCRIBE };

static struct cursor field_of(const struct mqtt_fields *fields, int part)
{
    switch ((enum part)part) {
    case CLIENT_ID:
        return fields->client;
    case USERNAME:
        return fields->username;
    case PASSWORD:
        return fields->password;
    case PROTOCOL:
        return fields->protocol;
    case WILL_TOPIC:
        return fields->will_topic;
    case WILL_MESSAGE:
        return fields->will_message;
    case TOPIC:
        return fields->topic;
    default:
        return fields->payload;
    }
}

static bool get_field(const struct app_tx *base, struct app_selector which, struct app_bytes *out)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)base;
    const struct mqtt_message *message;
    struct mqtt_fields fields;
    struct cursor value;

    for (uint32_t i = 0; (message = next_message(tx, which.direction, &i, false));) {
        mqtt_get_fields(tx, message, &fields);
        value = field_of(&fields, which.part);
        if (!value.at)
            continue;
        *out = (struct app_bytes){ .bytes = value.at, .length = (uint32_t)cursor_remaining(&value) };
        return true;
    }
    return false;
}

/* Topic number which.index of the SUBSCRIBE or UNSUBSCRIBE message, which is the first one of its transaction. */
static bool get_topic(const struct app_tx *base, struct app_selector which, struct app_bytes *out)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)base;
    bool is_subscribe = which.part == SUBSCRIBE;
    unsigned limit = is_subscribe ? tx->subscribe_limit : tx->unsubscribe_limit;
    enum mqtt_type type = is_subscribe ? MQTT_SUBSCRIBE : MQTT_UNSUBSCRIBE;
    const struct mqtt_message *message;
    struct mqtt_fields fields;
    struct cursor topic;
    uint32_t first = 0;
    uint8_t qos;

    message = next_message(tx, which.direction, &first, false);
    if (!message || mqtt_type_of(message) != type || which.index >= limit)
        return false;
    mqtt_get_fields(tx, message, &fields);
    for (unsigned i = 0; mqtt_next_topic(&fields.list, is_subscribe, &topic, &qos); i++) {
        if (i < which.index)
            continue;
        *out = (struct app_bytes){ .bytes = topic.at, .length = (uint32_t)cursor_remaining(&topic) };
        return true;
    }
    return false;
}

const struct keyword keyword_mqtt_connect_clientid = {
    .name = "mqtt.connect.clientid",
    .help = "client identifier of CONNECT",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_connect_username = {
    .name = "mqtt.connect.username",
    .help = "user name of CONNECT",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_connect_password = {
    .name = "mqtt.connect.password",
    .help = "password of CONNECT",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_connect_protocol_string = {
    .name = "mqtt.connect.protocol_string",
    .help = "protocol name of CONNECT: MQTT or MQIsdp",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_connect_willtopic = {
    .name = "mqtt.connect.willtopic",
    .help = "topic of the will message of CONNECT",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_connect_willmessage = {
    .name = "mqtt.connect.willmessage",
    .help = "will message of CONNECT",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_publish_topic = {
    .name = "mqtt.publish.topic",
    .help = "topic of PUBLISH",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_mqtt_publish_message = {
    .name = "mqtt.publish.message",
    .help = "message of PUBLISH",
    .kind = KEYWORD_BUFFER,
    .scope = { applications, APP_BOTH },
};

const struct keyword keyword_mqtt_subscribe_topic = {
    .name = "mqtt.subscribe.topic",
    .help = "each topic of SUBSCRIBE",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct keyword keyword_mqtt_unsubscribe_topic = {
    .name = "mqtt.unsubscribe.topic",
    .help = "each topic of UNSUBSCRIBE",
    .kind = KEYWORD_BUFFER,
    .flags = KEYWORD_MULTI,
    .scope = { applications, APP_TO_SERVER },
};

const struct app_buffer mqtt_buffers[MQTT_BUFFERS] = {
    { &keyword_mqtt_connect_clientid, APP_TO_SERVER, MQTT_SEEN, .get = get_field, .part = CLIENT_ID },
    { &keyword_mqtt_connect_username, APP_TO_SERVER, MQTT_SEEN, .get = get_field, .part = USERNAME },
    { &keyword_mqtt_connect_password, APP_TO_SERVER, MQTT_SEEN, .get = get_field, .part = PASSWORD },
    { &keyword_mqtt_connect_protocol_string, APP_TO_SERVER, MQTT_SEEN, .get = get_field, .part = PROTOCOL },
    { &keyword_mqtt_connect_willtopic, APP_TO_SERVER, MQTT_SEEN, .get = get_field, .part = WILL_TOPIC },
    { &keyword_mqtt_connect_willmessage, APP_TO_SERVER, MQTT_SEEN, .get = get_field, .part = WILL_MESSAGE },
    { &keyword_mqtt_publish_topic, APP_BOTH, MQTT_SEEN, .get = get_field, .part = TOPIC },
    { &keyword_mqtt_publish_message, APP_BOTH, MQTT_SEEN, .get = get_field, .part = PAYLOAD },
    { &keyword_mqtt_subscribe_topic, APP_TO_SERVER, MQTT_SEEN, .get = get_topic, .part = SUBSCRIBE },
    { &keyword_mqtt_unsubscribe_topic, APP_TO_SERVER, MQTT_SEEN, .get = get_topic, .part = UNSUBSCRIBE },
};

/* --- Numbers -------------------------------------------------------------------------------------- */

static int number_parse(struct rule_parser *parser, struct span value)
{
    return number_range_transaction_condition(parser, value, UINT8_MAX, NULL);
}

static bool version_match(const struct match_input *in, const void *data)
{
    return number_range_has(data, ((const struct mqtt_tx *)in->transaction)->version);
}

static bool qos_match(const struct match_input *in, const void *data)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)in->transaction;
    const struct mqtt_message *message;

    for (uint32_t i = 0; (message = next_message(tx, in->direction, &i, true));)
        if (number_range_has(data, mqtt_qos_of(message)))
            return true;
    return false;
}

/* Evaluates codes of all messages of the direction, or of CONNACK only. */
static bool code_matches(const struct match_input *in, const void *range, bool only_connack)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)in->transaction;
    const struct mqtt_message *message;
    struct mqtt_fields fields;
    uint8_t code;

    for (uint32_t i = 0; (message = next_message(tx, in->direction, &i, false));) {
        mqtt_get_fields(tx, message, &fields);
        if (only_connack && mqtt_type_of(message) != MQTT_CONNACK)
            continue;
        if (fields.has_code && number_range_has(range, fields.code))
            return true;
        while (mqtt_type_of(message) == MQTT_UNSUBACK && cursor_u8(&fields.list, &code))
            if (number_range_has(range, code))
                return true;
    }
    return false;
}

static bool reason_match(const struct match_input *in, const void *data)
{
    return code_matches(in, data, false);
}

static bool return_code_match(const struct match_input *in, const void *data)
{
    return code_matches(in, data, true);
}

/* --- Types ---------------------------------------------------------------------------------------- */

struct type_condition {
    uint8_t type;
    bool has_index;
    uint32_t index; /* place of the message in the transaction */
};

static int type_parse(struct rule_parser *parser, struct span value)
{
    struct type_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));
    struct span text = span_trim(value), name;
    uint64_t number;

    if (!condition)
        return -ENOMEM;
    span_next(&text, ',', &name);
    name = span_trim(name);
    if (text.at) {
        if (!span_to_uint(span_trim(text), 0, MQTT_MESSAGES_MAX - 1, &number))
            return rule_parser_error(parser, text, "expected the place of a message in its transaction, 0 to 63");
        condition->has_index = true;
        condition->index = (uint32_t)number;
    }
    for (uint8_t type = MQTT_CONNECT; type < MQTT_TYPES; type++)
        if (span_equal_nocase(name, mqtt_type_names[type]))
            condition->type = type;
    if (condition->type == MQTT_UNASSIGNED && !span_equal_nocase(name, mqtt_type_names[MQTT_UNASSIGNED]))
        return rule_parser_error(parser, name, "expected a type: CONNECT, CONNACK, PUBLISH, SUBSCRIBE ...");
    return rule_parser_add_transaction_condition(parser, condition, false);
}

static bool type_match(const struct match_input *in, const void *data)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)in->transaction;
    const struct type_condition *condition = data;
    const struct mqtt_message *message;

    if (condition->has_index)
        return condition->index < mqtt_message_count(tx) &&
               mqtt_type_of(mqtt_message_at(tx, condition->index)) == condition->type;
    for (uint32_t i = 0; (message = next_message(tx, in->direction, &i, true));)
        if (mqtt_type_of(message) == condition->type)
            return true;
    return false;
}

/* --- Flags ---------------------------------------------------------------------------------------- */

struct flags_condition {
    uint8_t set, clear; /* flags that must be set, and that must not */
};
struct flag_name {
    const char *name;
    uint8_t flag;
};
static const struct flag_name header_flags[] = { { "retain", MQTT_RETAIN }, { "dup", MQTT_DUP }, { NULL, 0 } };
static const struct flag_name connect_flags[] = {
    { "username", MQTT_USERNAME },       { "password", MQTT_PASSWORD },           { "will", MQTT_WILL },
    { "will_retain", MQTT_WILL_RETAIN }, { "clean_session", MQTT_CLEAN_SESSION }, { NULL, 0 },
};

static int flags_parse(struct rule_parser *parser, struct span value)
{
    const struct flag_name *names = rule_parser_keyword(parser) == &keyword_mqtt_flags ? header_flags : connect_flags;
    struct flags_condition *condition = arena_alloc(rule_parser_arena(parser), sizeof(*condition));

    if (!condition)
        return -ENOMEM;
    for (struct span word; span_next(&value, ',', &word);) {
        const struct flag_name *name = names;
        bool is_negated = false;

        word = span_trim(word);
        if (word.length > 0 && *word.at == '!') {
            is_negated = true;
            word = span_trim((struct span){ word.at + 1, word.length - 1 });
        }
        while (name->name && !span_equal(word, name->name))
            name++;
        if (!name->name)
            return rule_parser_error(parser, word, "expected a flag: %s, %s ..., with ! if it must not be set",
                                     names[0].name, names[1].name);
        *(is_negated ? &condition->clear : &condition->set) |= name->flag;
    }
    return rule_parser_add_transaction_condition(parser, condition, false);
}

static bool flags_match_byte(const struct flags_condition *condition, uint8_t flags)
{
    return (flags & condition->set) == condition->set && (flags & condition->clear) == 0;
}

static bool flags_match(const struct match_input *in, const void *data)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)in->transaction;
    const struct mqtt_message *message;

    for (uint32_t i = 0; (message = next_message(tx, in->direction, &i, true));)
        if (flags_match_byte(data, message->first))
            return true;
    return false;
}

static bool connect_flags_match(const struct match_input *in, const void *data)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)in->transaction;
    const struct mqtt_message *message;
    struct mqtt_fields fields;

    for (uint32_t i = 0; (message = next_message(tx, in->direction, &i, false));) {
        mqtt_get_fields(tx, message, &fields);
        if (mqtt_type_of(message) == MQTT_CONNECT && flags_match_byte(data, fields.connect_flags))
            return true;
    }
    return false;
}

/* --- Session -------------------------------------------------------------------------------------- */

static int session_parse(struct rule_parser *parser, struct span value)
{
    static const bool truths[] = { false, true };
    struct span text = span_trim(value);
    bool is_true = span_equal(text, "yes") || span_equal(text, "true");

    if (!is_true && !span_equal(text, "no") && !span_equal(text, "false"))
        return rule_parser_error(parser, text, "expected yes or no");
    return rule_parser_add_transaction_condition(parser, &truths[is_true], false);
}

static bool session_match(const struct match_input *in, const void *data)
{
    const struct mqtt_tx *tx = (const struct mqtt_tx *)in->transaction;
    const struct mqtt_message *message;
    struct mqtt_fields fields;

    for (uint32_t i = 0; (message = next_message(tx, in->direction, &i, false));) {
        mqtt_get_fields(tx, message, &fields);
        if (mqtt_type_of(message) == MQTT_CONNACK && fields.session_present == *(const bool *)data)
            return true;
    }
    return false;
}

const struct keyword keyword_mqtt_type = {
    .name = "mqtt.type",
    .value = "TYPE or TYPE,PLACE",
    .help = "type of a message: CONNECT, CONNACK, PUBLISH, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBSCRIBE, SUBACK, "
            "UNSUBSCRIBE, UNSUBACK, PINGREQ, PINGRESP, DISCONNECT, AUTH or UNASSIGNED",
    .manual = "With PLACE the type is that of this message in the transaction, 0 for the first one.",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_BOTH },
    .parse = type_parse,
    .transaction = { .match = type_match },
};

const struct keyword keyword_mqtt_flags = {
    .name = "mqtt.flags",
    .value = "[!]FLAG,...",
    .help = "flags of a message that are set, or not set: retain, dup",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_BOTH },
    .parse = flags_parse,
    .transaction = { .match = flags_match },
};

const struct keyword keyword_mqtt_qos = {
    .name = "mqtt.qos",
    .value = NUMBER_RANGE_FORM,
    .help = "QoS of a message: 0, 1 or 2",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = qos_match },
};

const struct keyword keyword_mqtt_protocol_version = {
    .name = "mqtt.protocol_version",
    .value = NUMBER_RANGE_FORM,
    .help = "version in CONNECT, for all messages of the connection: 3, 4 (3.1.1) or 5",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = version_match },
};

const struct keyword keyword_mqtt_reason_code = {
    .name = "mqtt.reason_code",
    .value = NUMBER_RANGE_FORM,
    .help = "reason code of CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, UNSUBACK, DISCONNECT or AUTH",
    .kind = KEYWORD_TRANSACTION,
    .flags = KEYWORD_GROWS,
    .scope = { applications, APP_BOTH },
    .parse = number_parse,
    .transaction = { .match = reason_match },
};

const struct keyword keyword_mqtt_connect_flags = {
    .name = "mqtt.connect.flags",
    .value = "[!]FLAG,...",
    .help = "flags of CONNECT that are set, or not set: username, password, will, will_retain, clean_session",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_SERVER },
    .parse = flags_parse,
    .transaction = { .match = connect_flags_match },
};

const struct keyword keyword_mqtt_connack_session_present = {
    .name = "mqtt.connack.session_present",
    .value = "yes or no",
    .help = "whether CONNACK says that the server has a session of the client",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = session_parse,
    .transaction = { .match = session_match },
};

const struct keyword keyword_mqtt_connack_return_code = {
    .name = "mqtt.connack.return_code",
    .value = NUMBER_RANGE_FORM,
    .help = "return code of CONNACK",
    .kind = KEYWORD_TRANSACTION,
    .scope = { applications, APP_TO_CLIENT },
    .parse = number_parse,
    .transaction = { .match = return_code_match },
};

const struct app_condition mqtt_conditions[MQTT_CONDITIONS] = {
    { &keyword_mqtt_type, APP_BOTH, MQTT_SEEN },
    { &keyword_mqtt_flags, APP_BOTH, MQTT_SEEN },
    { &keyword_mqtt_qos, APP_BOTH, MQTT_SEEN },
    { &keyword_mqtt_protocol_version, APP_BOTH, MQTT_SEEN },
    { &keyword_mqtt_reason_code, APP_BOTH, MQTT_SEEN },
    { &keyword_mqtt_connect_flags, APP_TO_SERVER, MQTT_SEEN },
    { &keyword_mqtt_connack_session_present, APP_TO_CLIENT, MQTT_SEEN },
    { &keyword_mqtt_connack_return_code, APP_TO_CLIENT, MQTT_SEEN },
};
