/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transfer of MQTT flows to the next engine: the state of the connection, and the transactions that wait for answers,
 * with their messages as received. */
#include <errno.h>

#include "mqtt_priv.h"
#include "sluice/transfer.h"

static void transfer_message(struct app_context *context, struct transfer *t, struct mqtt_tx *tx, uint32_t index)
{
    struct mqtt_message message = { .first = 0 };
    struct mqtt_fields fields;
    const uint8_t *bytes = NULL;

    if (!t->reading)
        message = *mqtt_message_at(tx, index);
    transfer_u8(t, &message.first);
    transfer_u8(t, &message.direction);
    transfer_u32(t, &message.length);
    transfer_u32(t, &message.skipped);
    transfer_require(t, message.direction < FLOW_DIRECTIONS && message.length <= MQTT_MESSAGE_LIMIT);
    if (t->error)
        return;
    if (!t->reading) {
        if (message.length > 0)
            transfer_bytes(t, tx->bytes.bytes + message.at, message.length);
        return;
    }
    bytes = message.length > 0 ? transfer_lend(t, message.length) : (const uint8_t *)"";
    if (!bytes)
        return;

    struct cursor body = cursor_of(bytes, message.length);

    transfer_require(t, message.skipped > 0 || mqtt_read_fields(message.first, body, tx->version, &fields));
    if (!t->error && !mqtt_add_message(context, tx, &message, body))
        t->error = -ENOMEM;
}

static void transfer_transaction(struct app_context *context, struct transfer *t, const struct mqtt_state *state,
                                 struct mqtt_tx *tx)
{
    uint32_t count = tx ? mqtt_message_count(tx) : 0, id = tx ? tx->id : 0;
    uint8_t version = tx ? tx->version : 0, began = tx ? tx->began : 0;
    uint8_t progress[FLOW_DIRECTIONS] = { 0 };

    transfer_u32(t, &count);
    transfer_u32(t, &id);
    transfer_u8(t, &version);
    transfer_u8(t, &began);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++) {
        progress[i] = tx ? tx->tx.progress[i] : 0;
        transfer_u8(t, &progress[i]);
        transfer_require(t, progress[i] < MQTT_COMPLETE);
    }
    transfer_require(t, count > 0 && count <= MQTT_MESSAGES_MAX && id <= MQTT_CONNECT_ID && began < FLOW_DIRECTIONS);
    if (t->error)
        return;
    if (!tx) {
        tx = mqtt_new_transaction(context, state, (enum flow_direction)began);
        if (!tx)
            return;
        tx->version = version;
        tx->id = id;
        tx->open = true;
        for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
            app_tx_advance(&tx->tx, (enum flow_direction)i, progress[i]);
    }
    for (uint32_t i = 0; i < count && !t->error; i++)
        transfer_message(context, t, tx, i);
    if (!t->error)
        app_transfer_tx(context, t, &tx->tx);
}

void mqtt_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct mqtt_state *state = data;
    struct mqtt_tx *tx = t->reading ? NULL : (struct mqtt_tx *)app_tx_first_open(context);
    uint32_t count = 0;

    transfer_u8(t, &state->version);
    transfer_bool(t, &state->connected);
    for (unsigned i = 0; i < FLOW_DIRECTIONS; i++)
        transfer_u32(t, &state->skip[i]);
    for (struct mqtt_tx *each = tx; each; each = (struct mqtt_tx *)app_tx_next_open(&each->tx))
        count += each->open;
    transfer_u32(t, &count);
    transfer_require(t, count <= 2 * MQTT_TX_LIMIT);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        while (tx && !tx->open)
            tx = (struct mqtt_tx *)app_tx_next_open(&tx->tx);
        transfer_transaction(context, t, state, tx);
        tx = tx ? (struct mqtt_tx *)app_tx_next_open(&tx->tx) : NULL;
    }
}
