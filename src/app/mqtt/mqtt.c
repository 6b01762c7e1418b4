/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MQTT: protocol detection, messages and transactions. mqtt_priv.h lists the source files. */
#include <errno.h>
#include <string.h>

#include "mqtt_priv.h"

static const struct app_event events[MQTT_EVENTS] = {
    [MQTT_MISSING_CONNECT] = { "missing_connect", "CONNACK without a CONNECT" },
    [MQTT_MISSING_PUBLISH] = { "missing_publish", "PUBACK, PUBREC, PUBREL or PUBCOMP without a PUBLISH" },
    [MQTT_MISSING_SUBSCRIBE] = { "missing_subscribe", "SUBACK without a SUBSCRIBE" },
    [MQTT_MISSING_UNSUBSCRIBE] = { "missing_unsubscribe", "UNSUBACK without an UNSUBSCRIBE" },
    [MQTT_DOUBLE_CONNECT] = { "double_connect", "a second CONNECT in a connection" },
    [MQTT_UNINTRODUCED_MESSAGE] = { "unintroduced_message", "a message before CONNACK" },
    [MQTT_INVALID_QOS_LEVEL] = { "invalid_qos_level", "PUBLISH, SUBSCRIBE or UNSUBSCRIBE with QoS 3" },
    [MQTT_MISSING_MSG_ID] = { "missing_msg_id", "never set: such a message is malformed_traffic" },
    [MQTT_UNASSIGNED_MSG_TYPE] = { "unassigned_msg_type", "a message of type 0" },
    [MQTT_TOO_MANY_TRANSACTIONS] = { "too_many_transactions",
                                     "more than max-tx transactions without an answer; the oldest one ends" },
    [MQTT_MALFORMED_TRAFFIC] = { "malformed_traffic", "a message that cannot be parsed" },
    [MQTT_TOO_MANY_MESSAGES] = { "too_many_messages", "more than 64 messages in a transaction" },
};

enum { FRAME_PDU, FRAME_HEADER, FRAME_DATA };
static const char *const frames[] = { [FRAME_PDU] = "pdu", [FRAME_HEADER] = "header", [FRAME_DATA] = "data", NULL };

/* --- Transactions --------------------------------------------------------------------------------- */

static void complete(struct mqtt_tx *tx)
{
    tx->open = false;
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        if (tx->tx.directions >> i & 1)
            app_tx_advance(&tx->tx, (enum flow_direction)i, MQTT_COMPLETE);
}

struct mqtt_tx *mqtt_new_transaction(struct app_context *context, const struct mqtt_state *state,
                                     enum flow_direction direction)
{
    const struct mqtt_settings *settings = app_get_settings(context);
    struct mqtt_tx *oldest = (struct mqtt_tx *)app_tx_first_open(context), *tx;

    if (app_tx_open_count(context) >= settings->max_tx && oldest) {
        app_event(context, &oldest->tx, MQTT_TOO_MANY_TRANSACTIONS);
        complete(oldest);
    }
    tx = (struct mqtt_tx *)app_tx_new(context);
    if (!tx)
        return NULL;
    tx->version = state->version;
    tx->began = (uint8_t)direction;
    tx->subscribe_limit = (uint16_t)settings->subscribe_limit;
    tx->unsubscribe_limit = (uint16_t)settings->unsubscribe_limit;
    return tx;
}

bool mqtt_add_message(struct app_context *context, struct mqtt_tx *tx, const struct mqtt_message *message,
                      struct cursor body)
{
    struct heap *heap = app_heap(context);
    uint32_t length = (uint32_t)cursor_remaining(&body);
    struct mqtt_message added = *message;

    if (mqtt_message_count(tx) >= MQTT_MESSAGES_MAX) {
        app_event(context, &tx->tx, MQTT_TOO_MANY_MESSAGES);
        return true;
    }
    added.at = tx->bytes.length;
    added.length = length;
    if (length > 0 && buffer_append(heap, &tx->bytes, body.at, length, UINT32_MAX) < length)
        return false;
    return buffer_append(heap, &tx->messages, &added, sizeof(added), UINT32_MAX) == sizeof(added);
}

/* Returns the open transaction with this packet identifier, which messages of the direction may answer or continue.
 * `began` is the direction of its first message. */
static struct mqtt_tx *find_transaction(struct app_context *context, uint32_t id, enum flow_direction began)
{
    struct mqtt_tx *tx = (struct mqtt_tx *)app_tx_first_open(context);

    while (tx && !(tx->open && tx->id == id && tx->began == (uint8_t)began))
        tx = (struct mqtt_tx *)app_tx_next_open(&tx->tx);
    return tx;
}

/* The effect of a message type on transactions. */
enum effect {
    BEGINS,    /* the message starts a transaction that waits for answers */
    ANSWERS,   /* the message completes the transaction of the other side with the same identifier */
    CONTINUES, /* the message belongs to a transaction and does not complete it */
    STANDS,    /* the message is a transaction of its own */
};
static const struct {
    enum effect effect;
    bool of_same_side;       /* CONTINUES: the message has the direction of the first one */
    enum mqtt_event missing; /* ANSWERS, CONTINUES: the event if there is no such transaction */
} effects[MQTT_TYPES] = {
    [MQTT_UNASSIGNED] = { STANDS, false, 0 },
    [MQTT_CONNECT] = { BEGINS, false, 0 },
    [MQTT_CONNACK] = { ANSWERS, false, MQTT_MISSING_CONNECT },
    [MQTT_PUBLISH] = { BEGINS, false, 0 },
    [MQTT_PUBACK] = { ANSWERS, false, MQTT_MISSING_PUBLISH },
    [MQTT_PUBREC] = { CONTINUES, false, MQTT_MISSING_PUBLISH },
    [MQTT_PUBREL] = { CONTINUES, true, MQTT_MISSING_PUBLISH },
    [MQTT_PUBCOMP] = { ANSWERS, false, MQTT_MISSING_PUBLISH },
    [MQTT_SUBSCRIBE] = { BEGINS, false, 0 },
    [MQTT_SUBACK] = { ANSWERS, false, MQTT_MISSING_SUBSCRIBE },
    [MQTT_UNSUBSCRIBE] = { BEGINS, false, 0 },
    [MQTT_UNSUBACK] = { ANSWERS, false, MQTT_MISSING_UNSUBSCRIBE },
    [MQTT_PINGREQ] = { STANDS, false, 0 },
    [MQTT_PINGRESP] = { STANDS, false, 0 },
    [MQTT_DISCONNECT] = { STANDS, false, 0 },
    [MQTT_AUTH] = { STANDS, false, 0 },
};

/* Adds a message to its transaction. Returns false without memory. */
static bool handle_message(struct app_context *context, struct mqtt_state *state, const struct mqtt_message *message,
                           struct cursor body, const struct mqtt_fields *fields)
{
    enum mqtt_type type = mqtt_type_of(message);
    enum flow_direction direction = (enum flow_direction)message->direction;
    bool is_connection = type == MQTT_CONNECT || type == MQTT_CONNACK;
    bool is_introduced = state->connected || is_connection || type == MQTT_UNASSIGNED || message->skipped > 0;
    enum effect effect = message->skipped > 0 ? STANDS : effects[type].effect;
    uint32_t id = is_connection ? MQTT_CONNECT_ID : fields->id;
    struct mqtt_tx *tx = NULL;
    bool is_waiting;

    if (type == MQTT_CONNECT && fields->version > 0)
        state->version = fields->version;
    if (is_introduced && (effect == ANSWERS || effect == CONTINUES))
        tx = find_transaction(context, id,
                              effects[type].of_same_side    ? direction
                              : direction == FLOW_TO_SERVER ? FLOW_TO_CLIENT
                                                            : FLOW_TO_SERVER);
    is_waiting =
        is_introduced && effect == BEGINS && (is_connection || mqtt_qos_of(message) == 1 || mqtt_qos_of(message) == 2);
    if (type == MQTT_CONNECT && state->connected)
        is_waiting = false;
    if (!tx) {
        tx = mqtt_new_transaction(context, state, direction);
        if (!tx)
            return false;
        tx->open = is_waiting;
        tx->id = id;
        if (!is_waiting)
            tx->tx.directions = (uint8_t)(1u << direction);
        if (!is_introduced)
            app_event(context, &tx->tx, MQTT_UNINTRODUCED_MESSAGE);
        else if (effect == ANSWERS || effect == CONTINUES)
            app_event(context, &tx->tx, effects[type].missing);
        if (type == MQTT_CONNECT && state->connected)
            app_event(context, &tx->tx, MQTT_DOUBLE_CONNECT);
        if (type == MQTT_UNASSIGNED)
            app_event(context, &tx->tx, MQTT_UNASSIGNED_MSG_TYPE);
        if (effect == BEGINS && mqtt_qos_of(message) == 3)
            app_event(context, &tx->tx, MQTT_INVALID_QOS_LEVEL);
    } else {
        state->connected |= type == MQTT_CONNACK;
        is_waiting = effect == CONTINUES;
    }
    if (!mqtt_add_message(context, tx, message, body))
        return false;
    for (unsigned frame = FRAME_PDU; frame <= FRAME_DATA; frame++)
        app_frame_set_tx(context, direction, frame, &tx->tx);
    if (tx->tx.progress[direction] < MQTT_SEEN)
        app_tx_advance(&tx->tx, direction, MQTT_SEEN);
    app_tx_mark_changed(&tx->tx, direction);
    if (!is_waiting)
        complete(tx);
    return true;
}

/* --- Messages ------------------------------------------------------------------------------------- */

/* Sets an event on a transaction of its own. */
static void report_malformed(struct app_context *context, const struct mqtt_state *state, enum flow_direction direction)
{
    struct mqtt_tx *tx = mqtt_new_transaction(context, state, direction);

    if (!tx)
        return;
    tx->tx.directions = (uint8_t)(1u << direction);
    tx->tx.only_events = true;
    app_event(context, &tx->tx, MQTT_MALFORMED_TRAFFIC);
    complete(tx);
}

static struct app_result mqtt_feed(struct app_context *context, void *data, const struct app_input *in)
{
    const struct mqtt_settings *settings = app_get_settings(context);
    struct mqtt_state *state = data;
    struct app_result result = { .status = APP_OK };
    uint32_t *skip = &state->skip[in->direction];
    struct mqtt_fields fields;

    while (result.consumed < in->length) {
        struct cursor cur = cursor_of(in->bytes + result.consumed, in->length - result.consumed);
        uint32_t left = (uint32_t)cursor_remaining(&cur), length, header;
        struct mqtt_message message = { .direction = (uint8_t)in->direction };
        int err;

        if (*skip > 0) {
            uint32_t count = *skip < left ? *skip : left;

            *skip -= count;
            result.consumed += count;
            continue;
        }
        cursor_u8(&cur, &message.first);
        err = mqtt_read_length(&cur, &length);
        if (err == -EAGAIN) {
            result.needed = left + 1;
            return result;
        }
        header = left - (uint32_t)cursor_remaining(&cur);
        if (err == 0) {
            app_frame(context, in, result.consumed, (uint64_t)header + length, FRAME_PDU, NULL);
            app_frame(context, in, result.consumed, header, FRAME_HEADER, NULL);
            if (length > 0)
                app_frame(context, in, result.consumed + header, length, FRAME_DATA, NULL);
        }
        if (err == 0 && length > settings->max_length) {
            message.skipped = header + length;
            *skip = length;
            result.consumed += header;
            fields = (struct mqtt_fields){ .has_id = false };
            if (!handle_message(context, state, &message, cursor_of("", 0), &fields))
                return (struct app_result){ .status = APP_ERROR };
            continue;
        }
        if (err == 0 && cursor_remaining(&cur) < length) {
            result.needed = header + length;
            return result;
        }

        struct cursor body = cursor_of(err ? NULL : cur.at, err ? 0 : length);

        if (err || !mqtt_read_fields(message.first, body, state->version, &fields)) {
            report_malformed(context, state, in->direction);
            result.status = APP_ERROR;
            return result;
        }
        if (!handle_message(context, state, &message, body, &fields))
            return (struct app_result){ .status = APP_ERROR };
        result.consumed += header + length;
    }
    return result;
}

static void mqtt_tx_free(struct app_context *context, struct app_tx *base)
{
    struct mqtt_tx *tx = (struct mqtt_tx *)base;

    buffer_clear(app_heap(context), &tx->bytes);
    buffer_clear(app_heap(context), &tx->messages);
}

/* --- Detection ------------------------------------------------------------------------------------ */

/* On the port of MQTT a valid fixed header; on other ports the start of CONNECT. */
static enum app_probe_result mqtt_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    uint32_t length;
    uint8_t first;
    int err;

    if (!cursor_u8(&cur, &first))
        return APP_UNSURE;
    if (first >> 4 == MQTT_UNASSIGNED || (first >> 1 & 3) == 3 ||
        (!in->port_hint && (first != MQTT_CONNECT << 4 || in->direction != FLOW_TO_SERVER)))
        return APP_NO;
    err = mqtt_read_length(&cur, &length);
    if (err)
        return err == -EAGAIN ? APP_UNSURE : APP_NO;
    if (in->port_hint)
        return APP_YES;

    static const char name[] = "\0\4MQTT", old_name[] = "\0\6MQIsdp";
    size_t left = cursor_remaining(&cur);
    size_t longest = sizeof(name) - 1, old_longest = sizeof(old_name) - 1;

    if (left >= longest && memcmp(cur.at, name, longest) == 0)
        return APP_YES;
    if (left >= old_longest && memcmp(cur.at, old_name, old_longest) == 0)
        return APP_YES;
    if (memcmp(cur.at, name, left < longest ? left : longest) == 0 ||
        memcmp(cur.at, old_name, left < old_longest ? left : old_longest) == 0)
        return APP_UNSURE;
    return APP_NO;
}

/* --- Table ---------------------------------------------------------------------------------------- */

static const struct setting setting_rows[] = {
    { .name = "app-layer.protocols.mqtt.max-msg-length",
      SETTING_FIELD(mqtt_settings, max_length),
      .type = SETTING_SIZE,
      .low = 1,
      .high = MQTT_MESSAGE_LIMIT,
      .default_value = "1M",
      .help = "Longest message that is parsed; longer ones are skipped, and logged as truncated" },
    { .name = "app-layer.protocols.mqtt.max-tx",
      SETTING_FIELD(mqtt_settings, max_tx),
      .type = SETTING_NUMBER,
      .low = 1,
      .high = MQTT_TX_LIMIT,
      .default_value = "512",
      .help = "Transactions of a connection that wait for an answer; more end the oldest one" },
    { .name = "app-layer.protocols.mqtt.subscribe-topic-match-limit",
      SETTING_FIELD(mqtt_settings, subscribe_limit),
      .type = SETTING_NUMBER,
      .low = 1,
      .high = MQTT_TOPICS_LIMIT,
      .default_value = "100",
      .help = "Topics of a SUBSCRIBE message that rules inspect" },
    { .name = "app-layer.protocols.mqtt.unsubscribe-topic-match-limit",
      SETTING_FIELD(mqtt_settings, unsubscribe_limit),
      .type = SETTING_NUMBER,
      .low = 1,
      .high = MQTT_TOPICS_LIMIT,
      .default_value = "100",
      .help = "Topics of an UNSUBSCRIBE message that rules inspect" },
    { .name = "eve.types.mqtt",
      .type = SETTING_SECTION,
      .help = "Event type mqtt: a message of MQTT with its answers" },
    { .name = "eve.types.mqtt.passwords",
      SETTING_FIELD(mqtt_settings, passwords),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Write the passwords of CONNECT messages" },
    { .name = "eve.types.mqtt.string-log-limit",
      SETTING_FIELD(mqtt_settings, log_limit),
      .type = SETTING_SIZE,
      .low = 0,
      .high = 65536,
      .default_value = "1k",
      .help = "Bytes of a string that are written, above all of published messages" },
    { .name = NULL },
};

const struct app_proto app_mqtt = {
    .name = "mqtt",
    .help = "MQTT 3.1, 3.1.1 and 5.0",
    .transports = APP_TCP,
    .tcp_ports = "1883",
    .probe = mqtt_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct mqtt_state),
    .feed = mqtt_feed,
    .transfer = mqtt_transfer,
    .pending_max = MQTT_MESSAGE_LIMIT + MQTT_HEADER_MAX,
    .tx_size = sizeof(struct mqtt_tx),
    .tx_free = mqtt_tx_free,
    .complete = { MQTT_COMPLETE, MQTT_COMPLETE },
    .tx_max = 2 * MQTT_TX_LIMIT,
    .frames = frames,
    .events = events,
    .event_count = MQTT_EVENTS,
    .buffers = mqtt_buffers,
    .buffer_count = MQTT_BUFFERS,
    .conditions = mqtt_conditions,
    .condition_count = MQTT_CONDITIONS,
    .log_type = "mqtt",
    .log_key = "mqtt",
    .log = mqtt_log,
    .logs_from_server = mqtt_logs_from_server,
    .settings = setting_rows,
    .settings_size = sizeof(struct mqtt_settings),
};
