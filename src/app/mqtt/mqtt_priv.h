/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * MQTT 3.1, 3.1.1 and 5.0 (OASIS).
 *
 *   mqtt.c        protocol detection, transactions, the protocol's table, settings
 *   message.c     the fields of a message
 *   keywords.c    rule buffers and conditions
 *   log.c         EVE object
 *   transfer.c    state transfer to the next engine
 *
 * A transaction is a message with its answers: CONNECT and CONNACK; PUBLISH with PUBACK, or with PUBREC, PUBREL and
 * PUBCOMP; SUBSCRIBE and SUBACK; UNSUBSCRIBE and UNSUBACK. Other messages are transactions of their own. A transaction
 * stores its messages as received; their fields are read when they are needed. Rules of a direction see the messages of
 * that direction.
 */
#ifndef SLUICE_APP_MQTT_PRIV_H
#define SLUICE_APP_MQTT_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    MQTT_HEADER_MAX = 5,          /* type, and remaining length in up to 4 bytes */
    MQTT_MESSAGE_LIMIT = 4 << 20, /* maximum of max-msg-length */
    MQTT_TOPICS_LIMIT = 1000,     /* maximum of subscribe-topic-match-limit */
    MQTT_TX_LIMIT = 8192,         /* maximum of max-tx */
    MQTT_MESSAGES_MAX = 64,       /* messages of a transaction; retransmissions make them more than 4 */
    MQTT_CONNECT_ID = 0x10000,    /* stands for the packet identifier that CONNECT does not have */
};

enum mqtt_type {
    MQTT_UNASSIGNED,
    MQTT_CONNECT,
    MQTT_CONNACK,
    MQTT_PUBLISH,
    MQTT_PUBACK,
    MQTT_PUBREC,
    MQTT_PUBREL,
    MQTT_PUBCOMP,
    MQTT_SUBSCRIBE,
    MQTT_SUBACK,
    MQTT_UNSUBSCRIBE,
    MQTT_UNSUBACK,
    MQTT_PINGREQ,
    MQTT_PINGRESP,
    MQTT_DISCONNECT,
    MQTT_AUTH,
    MQTT_TYPES,
};
extern const char *const mqtt_type_names[MQTT_TYPES]; /* lower case */

enum mqtt_event {
    MQTT_MISSING_CONNECT,
    MQTT_MISSING_PUBLISH,
    MQTT_MISSING_SUBSCRIBE,
    MQTT_MISSING_UNSUBSCRIBE,
    MQTT_DOUBLE_CONNECT,
    MQTT_UNINTRODUCED_MESSAGE,
    MQTT_INVALID_QOS_LEVEL,
    MQTT_MISSING_MSG_ID,
    MQTT_UNASSIGNED_MSG_TYPE,
    MQTT_TOO_MANY_TRANSACTIONS,
    MQTT_MALFORMED_TRAFFIC,
    MQTT_TOO_MANY_MESSAGES,
    MQTT_EVENTS,
};

/* Progress of a direction. MQTT_SEEN: it has messages. */
enum { MQTT_SEEN = 1, MQTT_COMPLETE = 2 };

/* Flags of CONNECT (MQTT 5.0 §3.1.2.3). */
enum {
    MQTT_CLEAN_SESSION = 0x02,
    MQTT_WILL = 0x04,
    MQTT_WILL_RETAIN = 0x20,
    MQTT_PASSWORD = 0x40,
    MQTT_USERNAME = 0x80,
};
/* Flags of the fixed header, except the QoS. */
enum { MQTT_RETAIN = 0x01, MQTT_DUP = 0x08 };

/* A message of a transaction. */
struct mqtt_message {
    uint8_t first;       /* first byte: type and flags */
    uint8_t direction;   /* enum flow_direction */
    uint32_t at, length; /* location of the message without its fixed header in mqtt_tx.bytes */
    uint32_t skipped;    /* bytes of a message that is too long and was not stored; 0: it is stored */
};

static inline enum mqtt_type mqtt_type_of(const struct mqtt_message *message)
{
    return (enum mqtt_type)(message->first >> 4);
}

static inline uint8_t mqtt_qos_of(const struct mqtt_message *message)
{
    return message->first >> 1 & 3;
}

struct mqtt_tx {
    struct app_tx tx;
    uint8_t version;                             /* protocol version of the connection; 0: not known */
    uint8_t began;                               /* direction of the first message */
    bool open;                                   /* answers may follow, with this packet identifier */
    uint32_t id;                                 /* packet identifier, or MQTT_CONNECT_ID */
    uint16_t subscribe_limit, unsubscribe_limit; /* topics that rules inspect */
    struct buffer bytes;                         /* the messages, without their fixed headers */
    struct buffer messages;                      /* array of struct mqtt_message */
};

static inline uint32_t mqtt_message_count(const struct mqtt_tx *tx)
{
    return tx->messages.length / (uint32_t)sizeof(struct mqtt_message);
}

static inline const struct mqtt_message *mqtt_message_at(const struct mqtt_tx *tx, uint32_t index)
{
    return (const struct mqtt_message *)tx->messages.bytes + index;
}

struct mqtt_state {
    uint8_t version;
    bool connected;                 /* CONNACK was seen */
    uint32_t skip[FLOW_DIRECTIONS]; /* remaining bytes of a message that is skipped */
};

/* The fields of a message. Cursors are NULL if the message does not have the field. */
struct mqtt_fields {
    uint8_t version, connect_flags;                                                                /* CONNECT */
    struct cursor protocol, client, will_properties, will_topic, will_message, username, password; /* CONNECT */
    bool session_present;                                                                          /* CONNACK */
    bool has_id, has_code;
    uint16_t id;                  /* packet identifier */
    uint8_t code;                 /* reason code or return code */
    struct cursor topic, payload; /* PUBLISH */
    struct cursor list;           /* topics of SUBSCRIBE and UNSUBSCRIBE; codes of SUBACK and UNSUBACK */
    struct cursor properties;     /* version 5 */
};

/* --- message.c ------------------------------------------------------------------------------------ */

/* Reads a number of variable length (MQTT 5.0 §1.5.5). Returns 0, -EAGAIN if it is incomplete, or -EBADMSG. */
int mqtt_read_length(struct cursor *cur, uint32_t *out);
/* Reads the fields of a message without its fixed header. `version` is that of the connection. Returns false if the
 * message is malformed. */
bool mqtt_read_fields(uint8_t first, struct cursor body, uint8_t version, struct mqtt_fields *out);
/* Reads the fields of a stored message, which is valid; the message must not have been skipped. */
void mqtt_get_fields(const struct mqtt_tx *tx, const struct mqtt_message *message, struct mqtt_fields *out);
/* Reads the next topic of SUBSCRIBE or, with is_subscribe false, UNSUBSCRIBE. */
bool mqtt_next_topic(struct cursor *list, bool is_subscribe, struct cursor *topic, uint8_t *qos);

/* A property of version 5. Either value or text is set. */
struct mqtt_property {
    const char *name; /* NULL: `key` is the name, of a user property */
    bool is_text;
    struct cursor key, text;
    uint32_t value;
};
/* Reads the next property; returns false at the end, or if it is invalid. */
bool mqtt_next_property(struct cursor *list, struct mqtt_property *out);

/* --- mqtt.c --------------------------------------------------------------------------------------- */

/* Appends a message to the transaction. Returns false without memory. */
bool mqtt_add_message(struct app_context *context, struct mqtt_tx *tx, const struct mqtt_message *message,
                      struct cursor body);
struct mqtt_tx *mqtt_new_transaction(struct app_context *context, const struct mqtt_state *state,
                                     enum flow_direction direction);

struct mqtt_settings {
    uint32_t max_length, max_tx, subscribe_limit, unsubscribe_limit;
    bool passwords;
    uint32_t log_limit;
};

/* --- keywords.c, log.c, transfer.c ---------------------------------------------------------------- */

enum { MQTT_BUFFERS = 10, MQTT_CONDITIONS = 8 };
extern const struct keyword keyword_mqtt_flags;
extern const struct app_buffer mqtt_buffers[MQTT_BUFFERS];
extern const struct app_condition mqtt_conditions[MQTT_CONDITIONS];

void mqtt_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool mqtt_logs_from_server(const struct app_tx *tx, const void *settings);
void mqtt_transfer(struct app_context *context, void *data, struct transfer *t);

#endif
