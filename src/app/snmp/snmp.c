/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SNMP over UDP. Requests and responses are not paired: each message is a transaction of one direction. A datagram that
 * is not an SNMP message sets an event, and the next datagram is parsed again, because datagrams are independent.
 */
#include <errno.h>

#include "snmp_priv.h"
#include "sluice/transfer.h"

struct snmp_state {
    uint8_t version; /* of the first message of the flow; 0: none yet */
};

static const struct app_event events[SNMP_EVENTS] = {
    [SNMP_MALFORMED_DATA] = { "malformed_data", "a message is malformed, or has an unknown version" },
    [SNMP_UNKNOWN_SECURITY_MODEL] = { "unknown_security_model",
                                      "a message of version 3 has a security model other than USM" },
    [SNMP_VERSION_MISMATCH] = { "version_mismatch", "the version of a message is not that of the flow" },
};

static struct app_result snmp_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct snmp_state *state = data;
    struct snmp_tx *tx;
    int err;

    if (in->length == 0)
        return result;
    tx = (struct snmp_tx *)app_tx_new(context);
    if (!tx) {
        result.status = APP_ERROR;
        return result;
    }
    tx->tx.directions = (uint8_t)(1u << in->direction);
    app_tx_advance(&tx->tx, in->direction, SNMP_COMPLETE);
    err = snmp_parse(app_heap(context), tx, in->bytes, in->length);
    if (err == -ENOMEM)
        result.status = APP_ERROR;
    tx->parsed = !err;
    if (err) {
        tx->tx.log_never = true;
        app_event(context, &tx->tx, SNMP_MALFORMED_DATA);
        return result;
    }
    if (state->version == 0)
        state->version = tx->version;
    if (tx->version != state->version)
        app_event(context, &tx->tx, SNMP_VERSION_MISMATCH);
    if (tx->unknown_security_model)
        app_event(context, &tx->tx, SNMP_UNKNOWN_SECURITY_MODEL);
    return result;
}

static void snmp_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct snmp_state *state = data;

    (void)context;
    transfer_u8(t, &state->version);
}

static void snmp_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct snmp_tx *)tx)->text);
}

/* If the first message of a flow comes from port 161 and does not go there, the request was sent before inspection
 * started: client and server are swapped. */
static enum app_probe_result snmp_probe(const struct app_probe *in)
{
    struct cursor message = cursor_of(in->bytes, in->length);
    uint8_t version;
    bool from_server = in->direction == FLOW_TO_CLIENT;
    uint16_t source = from_server ? in->server_port : in->client_port;
    uint16_t destination = from_server ? in->client_port : in->server_port;

    if (snmp_read_version(&message, &version) != APP_YES)
        return APP_NO;
    if (!from_server && source == SNMP_PORT && destination != SNMP_PORT && destination != SNMP_TRAP_PORT)
        return APP_REVERSED;
    return APP_YES;
}

static bool snmp_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.snmp", .type = SETTING_SECTION, .help = "Event type snmp: an SNMP message" },
    { .name = NULL },
};

const struct app_proto app_snmp = {
    .name = "snmp",
    .help = "SNMP 1, 2c and 3",
    .transports = APP_UDP,
    .udp_ports = "161,162",
    .probe = snmp_probe,
    .state_size = sizeof(struct snmp_state),
    .feed = snmp_feed,
    .transfer = snmp_transfer,
    .tx_size = sizeof(struct snmp_tx),
    .tx_free = snmp_tx_free,
    .complete = { SNMP_COMPLETE, SNMP_COMPLETE },
    .events = events,
    .event_count = SNMP_EVENTS,
    .buffers = snmp_buffers,
    .buffer_count = SNMP_BUFFERS,
    .conditions = snmp_conditions,
    .condition_count = SNMP_CONDITIONS,
    .log_type = "snmp",
    .log_key = "snmp",
    .log = snmp_log,
    .log_own = snmp_log_own,
    .logs_from_server = snmp_logs_from_server,
    .settings = setting_rows,
};
