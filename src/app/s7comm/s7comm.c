/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * S7comm over TPKT and COTP (tpkt.h). A PDU is in one data TPDU or, if the controller announced a small maximum size of
 * TPDUs, in several, of which the last one has the EOT bit set. PDUs are parsed when they are complete. TPDUs that open
 * the connection are skipped.
 *
 * An invalid TPKT header ends parsing, because the end of the packet is unknown.
 */
#include <errno.h>

#include "s7comm_priv.h"
#include "sluice/transfer.h"
#include "tpkt.h"

enum { PROTOCOL = 0x32, HEADER = 10 };

struct s7comm_state {
    struct buffer part[FLOW_DIRECTIONS]; /* data of the incomplete PDU from previous TPDUs */
};

static const struct app_event events[S7COMM_EVENTS] = {
    [S7COMM_INVALID_TPKT] = { "invalid_tpkt", "a packet has an invalid TPKT or COTP header" },
    [S7COMM_INVALID_PROTOCOL] = { "invalid_protocol", "a PDU does not start with 0x32" },
    [S7COMM_INVALID_ROSCTR] = { "invalid_rosctr", "the type of a PDU is unknown" },
    [S7COMM_INVALID_LENGTH] = { "invalid_length", "the lengths in the header of a PDU contradict its length" },
    [S7COMM_INVALID_PARAMETER] = { "invalid_parameter", "the parameters are invalid for the function" },
    [S7COMM_TOO_LONG] = { "too_long", "a PDU in several packets is longer than 65535 bytes" },
};

static struct s7comm_tx *new_tx(struct app_context *context, enum flow_direction direction)
{
    struct s7comm_tx *tx = (struct s7comm_tx *)app_tx_new(context);

    if (tx)
        tx->tx.directions = (uint8_t)(1u << direction);
    return tx;
}

/* Adds a transaction with a PDU (bytes is not NULL) or with an event only. Returns false if there is no memory. */
static bool add_pdu(struct app_context *context, enum flow_direction direction, const uint8_t *bytes, uint32_t length,
                    enum s7comm_event event)
{
    struct s7comm_tx *tx = new_tx(context, direction);
    bool failed = false;

    if (!tx)
        return false;
    if (bytes)
        event = s7comm_parse(app_heap(context), tx, bytes, length, &failed);
    tx->tx.log_never = !tx->is_parsed;
    if (event != S7COMM_EVENTS)
        app_event(context, &tx->tx, event);
    app_tx_advance(&tx->tx, direction, S7COMM_COMPLETE);
    return !failed;
}

/* Handles the data of a TPDU. Returns false if there is no memory. */
static bool handle_data(struct app_context *context, struct buffer *part, enum flow_direction direction,
                        const struct tpkt *packet)
{
    uint32_t length = (uint32_t)cursor_remaining(&packet->data);
    bool ok;

    if (part->length == 0 && packet->is_last)
        return length == 0 || add_pdu(context, direction, packet->data.at, length, S7COMM_EVENTS);
    if (part->length + length > S7COMM_PDU_MAX) {
        buffer_clear(app_heap(context), part);
        return add_pdu(context, direction, NULL, 0, S7COMM_TOO_LONG);
    }
    if (length > 0 && buffer_append(app_heap(context), part, packet->data.at, length, S7COMM_PDU_MAX) < length)
        return false;
    if (!packet->is_last)
        return true;
    ok = part->length == 0 || add_pdu(context, direction, part->bytes, part->length, S7COMM_EVENTS);
    buffer_clear(app_heap(context), part);
    return ok;
}

static struct app_result s7comm_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct s7comm_state *state = data;

    while (result.status == APP_OK && result.consumed < in->length) {
        struct tpkt packet;
        enum tpkt_result kind = tpkt_parse(in->bytes + result.consumed, in->length - result.consumed, &packet);

        if (kind == TPKT_INCOMPLETE) {
            result.needed = packet.length;
            break;
        }
        if (kind == TPKT_INVALID) {
            add_pdu(context, in->direction, NULL, 0, S7COMM_INVALID_TPKT);
            result.status = APP_ERROR;
            break;
        }
        if (kind == TPKT_DATA && !handle_data(context, &state->part[in->direction], in->direction, &packet))
            result.status = APP_ERROR;
        result.consumed += packet.length;
    }
    return result;
}

static void s7comm_stop(struct app_context *context, void *data)
{
    struct s7comm_state *state = data;

    buffer_clear(app_heap(context), &state->part[FLOW_TO_SERVER]);
    buffer_clear(app_heap(context), &state->part[FLOW_TO_CLIENT]);
}

static void s7comm_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct s7comm_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        app_transfer_buffer(context, t, &state->part[direction]);
        transfer_require(t, state->part[direction].length <= S7COMM_PDU_MAX);
    }
}

static void s7comm_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct s7comm_tx *)tx)->content);
    buffer_clear(app_heap(context), &((struct s7comm_tx *)tx)->items);
}

/* --- Detection and settings -------------------------------------------------------------------------- */

static enum app_probe_result s7comm_probe(const struct app_probe *in)
{
    return in->port_hint ? tpkt_probe(in, PROTOCOL, HEADER) : APP_NO;
}

static bool s7comm_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.s7comm", .type = SETTING_SECTION, .help = "Event type s7comm: a PDU of S7comm" },
    { .name = NULL },
};

const struct app_proto app_s7comm = {
    .name = "s7comm",
    .help = "S7comm of Siemens S7-300 and S7-400",
    .transports = APP_TCP,
    .tcp_ports = "102",
    .probe = s7comm_probe,
    .state_size = sizeof(struct s7comm_state),
    .stop = s7comm_stop,
    .feed = s7comm_feed,
    .transfer = s7comm_transfer,
    .pending_max = UINT16_MAX,
    .tx_size = sizeof(struct s7comm_tx),
    .tx_free = s7comm_tx_free,
    .complete = { S7COMM_COMPLETE, S7COMM_COMPLETE },
    .tx_max = 16384, /* more than the number of PDUs that can arrive at once */
    .events = events,
    .event_count = S7COMM_EVENTS,
    .buffers = s7comm_buffers,
    .buffer_count = S7COMM_BUFFERS,
    .conditions = s7comm_conditions,
    .condition_count = S7COMM_CONDITIONS,
    .log_type = "s7comm",
    .log_own = s7comm_log_own,
    .logs_from_server = s7comm_logs_from_server,
    .settings = setting_rows,
};
