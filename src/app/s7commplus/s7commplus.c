/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * S7comm-plus over TPKT and COTP (app/s7comm/tpkt.h). Each data TPDU has a message, or a part of one, which starts
 * with a header of four bytes: 0x72, version and length. Each part is a transaction. Version 3 has a digest before the
 * opcode.
 *
 * Other TPDUs, such as those that open the connection, are skipped. A wrong TPKT header ends parsing, because the end
 * of the packet is unknown then.
 */
#include <errno.h>

#include "app/s7comm/tpkt.h"
#include "s7commplus_priv.h"

enum {
    PROTOCOL = 0x72,
    HEADER = 4,
    VERSION_WITH_DIGEST = 3,
    FUNCTION_AT = 3, /* after the opcode and two reserved bytes */
};

static const struct app_event events[S7COMMPLUS_EVENTS] = {
    [S7COMMPLUS_INVALID_TPKT] = { "invalid_tpkt", "a packet has an invalid TPKT or COTP header" },
    [S7COMMPLUS_INVALID_LENGTH] = { "invalid_length", "a message is longer than its packet, or has no header" },
};

const struct s7commplus_name s7commplus_opcodes[] = {
    { "request", S7COMMPLUS_REQUEST },
    { "response", S7COMMPLUS_RESPONSE },
    { "notification", S7COMMPLUS_NOTIFICATION },
    { "response2", S7COMMPLUS_RESPONSE_2 },
    { NULL, 0 },
};

const struct s7commplus_name s7commplus_functions[] = {
    { "explore", 0x04bb },     { "createobject", 0x04ca }, { "deleteobject", 0x04d4 }, { "setvariable", 0x04f2 },
    { "getlink", 0x0524 },     { "setmultivar", 0x0542 },  { "getmultivar", 0x054c },  { "beginsequence", 0x0556 },
    { "endsequence", 0x0560 }, { "invoke", 0x056b },       { "getvarsubstr", 0x0586 }, { NULL, 0 },
};

/* --- Messages ---------------------------------------------------------------------------------------- */

static bool is_opcode(uint8_t opcode)
{
    const struct s7commplus_name *name = s7commplus_opcodes;

    while (name->name && name->value != opcode)
        name++;
    return name->name;
}

static bool parse_message(struct app_context *context, struct s7commplus_tx *tx, struct cursor cur)
{
    uint8_t protocol, digest = 0, opcode;
    uint16_t length;

    if (!cursor_u8(&cur, &protocol) || !cursor_u8(&cur, &tx->version) || !cursor_be16(&cur, &length) ||
        protocol != PROTOCOL || length > cursor_remaining(&cur)) {
        app_event(context, &tx->tx, S7COMMPLUS_INVALID_LENGTH);
        return true;
    }
    tx->is_parsed = true;
    uint32_t rest = (uint32_t)cursor_remaining(&cur);

    if (rest > 0 && buffer_append(app_heap(context), &tx->content, cur.at, rest, UINT16_MAX) < rest)
        return false;
    cursor_limit(&cur, length);
    if (tx->version == VERSION_WITH_DIGEST && (!cursor_u8(&cur, &digest) || !cursor_skip(&cur, digest)))
        return true;
    const uint8_t *at = cursor_peek(&cur, FUNCTION_AT + 2);

    if (!at || !cursor_u8(&cur, &opcode) || !is_opcode(opcode))
        return true;
    tx->has_function = true;
    tx->opcode = opcode;
    tx->function = load_be16(at + FUNCTION_AT);
    return true;
}

static struct s7commplus_tx *new_tx(struct app_context *context, enum flow_direction direction)
{
    struct s7commplus_tx *tx = (struct s7commplus_tx *)app_tx_new(context);

    if (tx) {
        tx->tx.directions = (uint8_t)(1u << direction);
        app_tx_advance(&tx->tx, direction, S7COMMPLUS_COMPLETE);
    }
    return tx;
}

static struct app_result s7commplus_feed(struct app_context *context, void *state, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };

    (void)state;
    while (result.status == APP_OK && result.consumed < in->length) {
        struct s7commplus_tx *tx = NULL;
        struct tpkt packet;
        enum tpkt_result kind = tpkt_parse(in->bytes + result.consumed, in->length - result.consumed, &packet);
        bool has_message = kind == TPKT_DATA && cursor_remaining(&packet.data) > 0;

        if (kind == TPKT_INCOMPLETE) {
            result.needed = packet.length;
            return result;
        }
        if (has_message || kind == TPKT_INVALID)
            tx = new_tx(context, in->direction);
        if ((has_message || kind == TPKT_INVALID) && !tx)
            return (struct app_result){ .status = APP_ERROR };
        if (kind == TPKT_INVALID)
            app_event(context, &tx->tx, S7COMMPLUS_INVALID_TPKT);
        if (kind == TPKT_INVALID || (has_message && !parse_message(context, tx, packet.data)))
            result.status = APP_ERROR;
        if (tx)
            tx->tx.log_never = !tx->is_parsed;
        result.consumed += kind == TPKT_INVALID ? 0 : packet.length;
    }
    return result;
}

static void s7commplus_tx_free(struct app_context *context, struct app_tx *tx)
{
    buffer_clear(app_heap(context), &((struct s7commplus_tx *)tx)->content);
}

/* --- Detection and settings -------------------------------------------------------------------------- */

/* On the port of ISO transport: the first data TPDU has a message. The TPDUs before it open the connection, as those of
 * other protocols (S7comm, MMS) do. */
static enum app_probe_result s7commplus_probe(const struct app_probe *in)
{
    return in->port_hint ? tpkt_probe(in, PROTOCOL, HEADER) : APP_NO;
}

static bool s7commplus_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.s7commplus",
      .type = SETTING_SECTION,
      .help = "Event type s7commplus: a message of S7comm-plus" },
    { .name = NULL },
};

const struct app_proto app_s7commplus = {
    .name = "s7commplus",
    .help = "S7comm-plus of Siemens S7-1200 and S7-1500",
    .transports = APP_TCP,
    .tcp_ports = "102",
    .probe = s7commplus_probe,
    .feed = s7commplus_feed,
    .pending_max = UINT16_MAX,
    .tx_size = sizeof(struct s7commplus_tx),
    .tx_free = s7commplus_tx_free,
    .complete = { S7COMMPLUS_COMPLETE, S7COMMPLUS_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = S7COMMPLUS_EVENTS,
    .buffers = s7commplus_buffers,
    .buffer_count = S7COMMPLUS_BUFFERS,
    .conditions = s7commplus_conditions,
    .condition_count = S7COMMPLUS_CONDITIONS,
    .log_type = "s7commplus",
    .log_own = s7commplus_log_own,
    .logs_from_server = s7commplus_logs_from_server,
    .settings = setting_rows,
};
