/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Modbus. A header with the transaction id and a length precedes each message. A response belongs to the oldest request
 * with the same transaction id, unit and function.
 */
#include <errno.h>

#include "modbus_priv.h"
#include "sluice/bytes.h"
#include "sluice/transfer.h"

enum {
    HEADER = 8,        /* transaction id, protocol id, length, unit, function */
    LENGTH_BEFORE = 2, /* unit and function are part of the length */
};

struct modbus_state {
    uint32_t skip[FLOW_DIRECTIONS]; /* rest of a message that is too long */
};

static const struct app_event events[MODBUS_EVENTS] = {
    [MODBUS_UNSOLICITED_RESPONSE] = { "unsolicited_response", "a response has no request" },
    [MODBUS_INVALID_FUNCTION_CODE] = { "invalid_function_code",
                                       "the function code is 0, or a request has an exception code" },
    [MODBUS_INVALID_LENGTH] = { "invalid_length", "the length of a message is invalid, or does not fit its function" },
    [MODBUS_INVALID_VALUE] = { "invalid_value", "a quantity or value is not allowed" },
    [MODBUS_INVALID_EXCEPTION_CODE] = { "invalid_exception_code", "the exception code is unknown" },
    [MODBUS_VALUE_MISMATCH] = { "value_mismatch", "a response contradicts its request" },
    [MODBUS_FLOODED] = { "flooded", "more than 500 requests have no response yet" },
    [MODBUS_INVALID_PROTOCOL_ID] = { "invalid_protocol_id", "the protocol id is not 0" },
};

static void report_errors(struct app_context *context, struct app_tx *tx, unsigned errors)
{
    static const struct {
        uint8_t error, event;
    } table[] = { { MODBUS_DATA_VALUE, MODBUS_INVALID_VALUE },
                  { MODBUS_DATA_LENGTH, MODBUS_INVALID_LENGTH },
                  { MODBUS_EXCEPTION_CODE, MODBUS_INVALID_EXCEPTION_CODE },
                  { MODBUS_FUNCTION_CODE, MODBUS_INVALID_FUNCTION_CODE },
                  { MODBUS_PROTOCOL_ID, MODBUS_INVALID_PROTOCOL_ID } };

    for (unsigned i = 0; i < sizeof(table) / sizeof(table[0]); i++)
        if (errors & table[i].error)
            app_event(context, tx, table[i].event);
}

static struct modbus_tx *new_tx(struct app_context *context)
{
    struct app_tx *oldest = app_tx_first_open(context);
    bool is_flood = oldest && app_tx_open_count(context) >= MODBUS_OPEN_MAX;
    struct modbus_tx *tx;

    if (is_flood) {
        app_tx_advance(oldest, FLOW_TO_SERVER, MODBUS_COMPLETE);
        app_tx_advance(oldest, FLOW_TO_CLIENT, MODBUS_COMPLETE);
    }
    tx = (struct modbus_tx *)app_tx_new(context);
    if (tx && is_flood)
        app_event(context, &tx->tx, MODBUS_FLOODED);
    return tx;
}

static bool handle_request(struct app_context *context, const struct modbus_message *start, const uint8_t *bytes,
                           uint32_t length)
{
    struct modbus_tx *tx = new_tx(context);

    if (!tx)
        return false;
    tx->request = *start;
    modbus_parse_request(&tx->request, bytes, length);
    report_errors(context, &tx->tx, tx->request.errors);
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, MODBUS_COMPLETE);
    return true;
}

static bool handle_response(struct app_context *context, const struct modbus_message *start, const uint8_t *bytes,
                            uint32_t length)
{
    struct modbus_tx *tx = (struct modbus_tx *)app_tx_first_open(context);
    struct modbus_message *response;

    while (tx && (tx->request.transaction != start->transaction || tx->request.unit != start->unit ||
                  ((tx->request.function ^ start->function) & ~MODBUS_EXCEPTION) != 0))
        tx = (struct modbus_tx *)app_tx_next_open(&tx->tx);
    if (!tx) {
        tx = new_tx(context);
        if (!tx)
            return false;
        tx->tx.directions = APP_TO_CLIENT;
        app_event(context, &tx->tx, MODBUS_UNSOLICITED_RESPONSE);
    }
    response = &tx->response;
    *response = *start;
    modbus_parse_response(response, tx->request.is_present ? &tx->request : NULL, bytes, length);
    /* As in Suricata, a wrong length or value in the response to a read or write is a mismatch. */
    if (response->access && response->errors & (MODBUS_DATA_LENGTH | MODBUS_DATA_VALUE))
        app_event(context, &tx->tx, MODBUS_VALUE_MISMATCH);
    else
        report_errors(context, &tx->tx, response->errors);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, MODBUS_COMPLETE);
    return true;
}

static struct app_result modbus_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct modbus_state *state = data;
    uint32_t *skip = &state->skip[in->direction];

    while (result.consumed < in->length && result.status == APP_OK) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed, length, stored;
        struct modbus_message start = { .is_present = true };

        if (*skip > 0) {
            stored = *skip < left ? *skip : left;
            *skip -= stored;
            result.consumed += stored;
            continue;
        }
        if (left < HEADER) {
            result.needed = HEADER;
            break;
        }
        start.transaction = load_be16(at);
        start.protocol = load_be16(at + 2);
        length = load_be16(at + 4);
        start.unit = at[6];
        start.function = at[7];
        start.errors = (uint8_t)((start.protocol != 0 ? MODBUS_PROTOCOL_ID : 0) |
                                 (length < LENGTH_BEFORE || length > MODBUS_LENGTH_MAX ? MODBUS_DATA_LENGTH : 0));
        length = length < LENGTH_BEFORE ? 0 : length - LENGTH_BEFORE;
        stored = length < MODBUS_DATA_MAX ? length : MODBUS_DATA_MAX;
        if (left < HEADER + stored) {
            result.needed = HEADER + stored;
            break;
        }
        if (in->direction == FLOW_TO_SERVER ? !handle_request(context, &start, at + HEADER, stored)
                                            : !handle_response(context, &start, at + HEADER, stored))
            result.status = APP_ERROR;
        if (load_be16(at + 4) < LENGTH_BEFORE) /* the position of the next message is unknown */
            result.status = APP_ERROR;
        result.consumed += HEADER + stored;
        *skip = length - stored;
    }
    return result;
}

/* Transfers a request whose response has not arrived. */
static void transfer_request(struct app_context *context, struct transfer *t, struct modbus_tx *tx)
{
    struct modbus_message *request;

    if (!tx) {
        tx = (struct modbus_tx *)app_tx_new(context);
        if (!tx)
            return;
        tx->request.is_present = true;
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, MODBUS_COMPLETE);
    }
    request = &tx->request;
    uint16_t *const words[] = { &request->transaction,   &request->protocol,      &request->read_address,
                                &request->read_quantity, &request->write_address, &request->write_quantity,
                                &request->write_value,   &request->subfunction };
    uint8_t *const bytes[] = { &request->unit,   &request->function, &request->access,     &request->category,
                               &request->errors, &request->mei,      &request->data_length };

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        transfer_u16(t, words[i]);
    for (size_t i = 0; i < sizeof(bytes) / sizeof(bytes[0]); i++)
        transfer_u8(t, bytes[i]);
    transfer_bool(t, &request->has_read);
    transfer_bool(t, &request->has_write);
    transfer_bytes(t, request->data, request->data_length);
    if (!t->error)
        app_transfer_tx(context, t, &tx->tx);
}

/* Returns the transaction or the next open one that has a request. */
static struct modbus_tx *skip_to_request(struct app_tx *tx)
{
    while (tx && !((struct modbus_tx *)tx)->request.is_present)
        tx = app_tx_next_open(tx);
    return (struct modbus_tx *)tx;
}

static void modbus_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct modbus_state *state = data;
    struct modbus_tx *tx = t->reading ? NULL : skip_to_request(app_tx_first_open(context));
    uint32_t count = 0;

    transfer_u32(t, &state->skip[FLOW_TO_SERVER]);
    transfer_u32(t, &state->skip[FLOW_TO_CLIENT]);
    for (struct modbus_tx *each = tx; each; each = skip_to_request(app_tx_next_open(&each->tx)))
        count++;
    transfer_u32(t, &count);
    transfer_require(t, count <= MODBUS_OPEN_MAX);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        transfer_request(context, t, tx);
        tx = tx ? skip_to_request(app_tx_next_open(&tx->tx)) : NULL;
    }
}

/* A header is too weak for other ports than those of Modbus. The first message must have a valid length, and the client
 * sends no exceptions. */
static enum app_probe_result modbus_probe(const struct app_probe *in)
{
    uint32_t length;

    if (!in->port_hint)
        return APP_NO;
    if (in->length < HEADER)
        return in->length > 3 && load_be16(in->bytes + 2) != 0 ? APP_NO : APP_UNSURE;
    length = load_be16(in->bytes + 4);
    if (load_be16(in->bytes + 2) != 0 || length < LENGTH_BEFORE || length > MODBUS_LENGTH_MAX)
        return APP_NO;
    return in->direction == FLOW_TO_SERVER && in->bytes[7] & MODBUS_EXCEPTION ? APP_NO : APP_YES;
}

static bool modbus_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.modbus",
      .type = SETTING_SECTION,
      .help = "Event type modbus: a Modbus request with its response" },
    { .name = NULL },
};

const struct app_proto app_modbus = {
    .name = "modbus",
    .help = "Modbus over TCP",
    .transports = APP_TCP,
    .tcp_ports = "502",
    .probe = modbus_probe,
    .state_size = sizeof(struct modbus_state),
    .feed = modbus_feed,
    .transfer = modbus_transfer,
    .tx_size = sizeof(struct modbus_tx),
    .complete = { MODBUS_COMPLETE, MODBUS_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = MODBUS_EVENTS,
    .conditions = modbus_conditions,
    .condition_count = MODBUS_CONDITIONS,
    .log_type = "modbus",
    .log_key = "modbus",
    .log = modbus_log,
    .logs_from_server = modbus_logs_from_server,
    .settings = setting_rows,
};
