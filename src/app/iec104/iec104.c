/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IEC 60870-5-104 over TCP. A message (APDU) starts with the byte 0x68 and its length, which is followed by four bytes
 * of control field (APCI); a message of format I has an ASDU after it. Messages have at most 255 bytes, so they are
 * parsed when they are complete.
 *
 * A wrong start byte or length ends parsing, because the end of the message is unknown then.
 */
#include <errno.h>
#include <string.h>

#include "iec104_priv.h"
#include "sluice/bytes.h"

enum {
    START = 0x68,
    PREFIX = 2,  /* start byte and length */
    CONTROL = 4, /* bytes of the control field */
    LENGTH_MAX = 253,
    ASDU_HEADER = 6, /* type, count, cause, originator, common address */
};

static const struct app_event events[IEC104_EVENTS] = {
    [IEC104_INVALID_START] = { "invalid_start", "a message does not start with 0x68" },
    [IEC104_INVALID_LENGTH] = { "invalid_length", "the length of a message is invalid, or too short for its format" },
    [IEC104_INVALID_CONTROL] = { "invalid_control", "the control field has reserved bits or an unknown function" },
};

/* --- Messages ---------------------------------------------------------------------------------------- */

/* Parses a control field. Returns IEC104_EVENTS, or the event that it causes. */
static enum iec104_event parse_control(struct iec104_tx *tx, const uint8_t *control, uint32_t length)
{
    tx->is_parsed = true;
    tx->received = (uint16_t)(load_le16(control + 2) >> 1);
    if (!(control[0] & 1)) {
        tx->format = IEC104_I;
        tx->sent = (uint16_t)(load_le16(control) >> 1);
        if (length < CONTROL + ASDU_HEADER)
            return IEC104_INVALID_LENGTH;
        return control[2] & 1 ? IEC104_INVALID_CONTROL : IEC104_EVENTS;
    }
    tx->format = control[0] & 2 ? IEC104_U : IEC104_S;
    tx->function = tx->format == IEC104_U ? control[0] : 0;
    if (length != CONTROL)
        return IEC104_INVALID_LENGTH;
    if (tx->format == IEC104_U)
        return !iec104_function_name(control[0]) || control[1] || control[2] || control[3] ? IEC104_INVALID_CONTROL
                                                                                           : IEC104_EVENTS;
    return control[0] != 1 || control[1] || control[2] & 1 ? IEC104_INVALID_CONTROL : IEC104_EVENTS;
}

static void parse_asdu(struct iec104_tx *tx, const uint8_t *asdu)
{
    tx->has_asdu = true;
    tx->type = asdu[0];
    tx->is_sequence = asdu[1] & 0x80;
    tx->count = asdu[1] & 0x7f;
    tx->is_test = asdu[2] & 0x80;
    tx->is_negative = asdu[2] & 0x40;
    tx->cause = asdu[2] & 0x3f;
    tx->originator = asdu[3];
    tx->address = load_le16(asdu + 4);
}

static struct iec104_tx *new_tx(struct app_context *context, enum flow_direction direction)
{
    struct iec104_tx *tx = (struct iec104_tx *)app_tx_new(context);

    if (tx)
        tx->tx.directions = (uint8_t)(1u << direction);
    return tx;
}

static struct app_result iec104_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };

    (void)state;
    while (result.consumed < in->length) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed, length;
        struct iec104_tx *tx;

        if (left < PREFIX) {
            result.needed = PREFIX;
            return result;
        }
        length = at[1];
        bool is_valid = at[0] == START && length >= CONTROL && length <= LENGTH_MAX;

        if (is_valid && left < PREFIX + length) {
            result.needed = PREFIX + length;
            return result;
        }
        tx = new_tx(context, in->direction);
        if (!tx)
            return (struct app_result){ .status = APP_ERROR };
        enum iec104_event event = !is_valid ? (at[0] == START ? IEC104_INVALID_LENGTH : IEC104_INVALID_START)
                                            : parse_control(tx, at + PREFIX, length);

        if (is_valid && tx->format == IEC104_I && length >= CONTROL + ASDU_HEADER)
            parse_asdu(tx, at + PREFIX + CONTROL);
        tx->tx.log_never = !is_valid;
        if (event != IEC104_EVENTS)
            app_event(context, &tx->tx, event);
        app_tx_advance(&tx->tx, in->direction, IEC104_COMPLETE);
        if (!is_valid) {
            result.status = APP_ERROR;
            return result;
        }
        result.consumed += PREFIX + length;
    }
    return result;
}

/* --- Detection and settings -------------------------------------------------------------------------- */

/* A connection starts with STARTDT act of the client, which is distinctive enough for any port. On the port of the
 * protocol any message without an event is accepted. */
static enum app_probe_result iec104_probe(const struct app_probe *in)
{
    static const uint8_t start[] = { START, CONTROL, 0x07, 0, 0, 0 };
    uint32_t compared = in->length < sizeof(start) ? in->length : (uint32_t)sizeof(start);
    struct iec104_tx tx = { .is_parsed = false };

    if (in->direction == FLOW_TO_SERVER && memcmp(in->bytes, start, compared) == 0)
        return compared < sizeof(start) ? APP_UNSURE : APP_YES;
    if (!in->port_hint || (in->length > 0 && in->bytes[0] != START) ||
        (in->length > 1 && (in->bytes[1] < CONTROL || in->bytes[1] > LENGTH_MAX)))
        return APP_NO;
    if (in->length < PREFIX + CONTROL)
        return APP_UNSURE;
    return parse_control(&tx, in->bytes + PREFIX, in->bytes[1]) == IEC104_EVENTS ? APP_YES : APP_NO;
}

static bool iec104_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

/* Acknowledgements and control of the connection are not logged: they are frequent, and say nothing about the process.
 */
static bool iec104_wants_log(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return ((const struct iec104_tx *)tx)->has_asdu;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.iec104", .type = SETTING_SECTION, .help = "Event type iec104: an ASDU of IEC 60870-5-104" },
    { .name = NULL },
};

const struct app_proto app_iec104 = {
    .name = "iec104",
    .help = "IEC 60870-5-104",
    .transports = APP_TCP,
    .tcp_ports = "2404",
    .probe = iec104_probe,
    .probe_any_port = true,
    .feed = iec104_feed,
    .tx_size = sizeof(struct iec104_tx),
    .complete = { IEC104_COMPLETE, IEC104_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = IEC104_EVENTS,
    .conditions = iec104_conditions,
    .condition_count = IEC104_CONDITIONS,
    .log_type = "iec104",
    .log_own = iec104_log_own,
    .wants_log = iec104_wants_log,
    .logs_from_server = iec104_logs_from_server,
    .settings = setting_rows,
};
