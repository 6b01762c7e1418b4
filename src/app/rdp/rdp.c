/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * RDP up to the MCS Connect-Response. Messages are in TPKT packets (RFC 1006), first those of X.224: connection request
 * and confirm, in which the two sides negotiate a security protocol. With all but standard RDP security TLS follows,
 * and the connection is parsed as TLS from then on. Without it the connect messages are parsed; the rest is encrypted.
 */
#include "rdp_priv.h"
#include "sluice/bytes.h"
#include "sluice/der.h"
#include "sluice/transfer.h"

enum {
    TPKT_HEADER = 4,
    X224_REQUEST = 0xe0,
    X224_CONFIRM = 0xd0,
    X224_DATA = 0xf0,
    MCS_CONNECT_INITIAL = 101, /* BER application tags */
    MCS_CONNECT_RESPONSE = 102,
    NEGOTIATION_REQUEST = 1,
    NEGOTIATION_RESPONSE = 2,
    NEGOTIATION_FAILURE = 3,
    NEGOTIATION_SIZE = 8,
    PROTOCOL_RDP = 0,
};

struct rdp_state {
    bool changed; /* a change to TLS was announced; it is announced once, because the parser gets the same bytes again
                     if they are not TLS */
};

static struct rdp_tx *new_tx(struct app_context *context, enum flow_direction direction, enum rdp_type type)
{
    struct rdp_tx *tx = (struct rdp_tx *)app_tx_new(context);

    if (!tx)
        return NULL;
    tx->type = (uint8_t)type;
    tx->tx.directions = (uint8_t)(1u << direction);
    app_tx_advance(&tx->tx, direction, RDP_COMPLETE);
    return tx;
}

static void parse_negotiation(struct rdp_tx *tx, struct cursor cur, uint8_t expected)
{
    const uint8_t *bytes = cursor_read(&cur, NEGOTIATION_SIZE);

    if (!bytes || load_le16(bytes + 2) != NEGOTIATION_SIZE ||
        (bytes[0] != expected && (expected != NEGOTIATION_RESPONSE || bytes[0] != NEGOTIATION_FAILURE)))
        return;
    tx->has_negotiation = true;
    tx->failed = bytes[0] == NEGOTIATION_FAILURE;
    tx->flags = bytes[1];
    tx->protocol = load_le32(bytes + 4);
}

/* Parses a connection request: an optional cookie or routing token, which is a line, then the negotiation. */
static void parse_request(struct rdp_tx *tx, struct cursor cur)
{
    static const char cookie[] = "Cookie: mstshash=";
    size_t left = cursor_remaining(&cur);
    const uint8_t *line = cursor_peek(&cur, left), *end = left > 0 ? memchr(line, '\n', left) : NULL;

    if (end && line[0] != NEGOTIATION_REQUEST) {
        size_t length = (size_t)(end - line), prefix = sizeof(cookie) - 1;

        cursor_skip(&cur, length + 1);
        if (length > 0 && line[length - 1] == '\r')
            length--;
        tx->has_cookie = length >= prefix && memcmp(line, cookie, prefix) == 0;
        if (tx->has_cookie) {
            length -= prefix;
            tx->cookie_length = (uint8_t)(length < RDP_COOKIE_MAX ? length : RDP_COOKIE_MAX);
            memcpy(tx->cookie, line + prefix, tx->cookie_length);
        }
    }
    parse_negotiation(tx, cur, NEGOTIATION_REQUEST);
}

/* Handles an MCS message. Returns false if there is no memory. */
static bool handle_mcs(struct app_context *context, enum flow_direction direction, struct cursor cur)
{
    bool to_server = direction == FLOW_TO_SERVER;
    struct der_header header;
    struct rdp_tx *tx;

    if (der_read_header(&cur, DER_ANY, &header) != DER_OK ||
        header.number != (uint32_t)(to_server ? MCS_CONNECT_INITIAL : MCS_CONNECT_RESPONSE))
        return true;
    tx = new_tx(context, direction, to_server ? RDP_CONNECT_REQUEST : RDP_CONNECT_RESPONSE);
    if (tx && to_server)
        rdp_parse_connect(tx, cur.at, (uint32_t)cursor_remaining(&cur));
    else if (tx)
        app_stop_parsing(context, false);
    return tx != NULL;
}

/* Handles the content of a TPKT packet. Returns false if there is no memory. */
static bool handle_packet(struct app_context *context, struct rdp_state *state, enum flow_direction direction,
                          struct cursor cur)
{
    bool to_server = direction == FLOW_TO_SERVER;
    uint8_t length, code;
    struct rdp_tx *tx;

    if (!cursor_u8(&cur, &length) || !cursor_u8(&cur, &code))
        return true;
    if (code == X224_DATA)
        return !cursor_skip(&cur, 1) || handle_mcs(context, direction, cur);
    if (code != (to_server ? X224_REQUEST : X224_CONFIRM) || !cursor_skip(&cur, 5)) /* references and class */
        return true;
    tx = new_tx(context, direction, to_server ? RDP_INITIAL_REQUEST : RDP_INITIAL_RESPONSE);
    if (!tx)
        return false;
    if (to_server) {
        parse_request(tx, cur);
        return true;
    }
    parse_negotiation(tx, cur, NEGOTIATION_RESPONSE);
    if (tx->has_negotiation && !tx->failed && tx->protocol != PROTOCOL_RDP && !state->changed) {
        state->changed = true;
        app_change_protocol(context, "tls", true);
    }
    return true;
}

static struct app_result rdp_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct rdp_state *state = data;

    while (in->length - result.consumed >= TPKT_HEADER && result.status == APP_OK) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t length = load_be16(at + 2), left = in->length - result.consumed;
        bool had_changed = state->changed;

        if (at[0] == 0x16 && !had_changed) { /* TLS without a negotiation */
            state->changed = true;
            app_change_protocol(context, "tls", true);
            return result;
        }
        if (at[0] != 3) { /* a fast-path message */
            app_stop_parsing(context, false);
            result.consumed = in->length;
            return result;
        }
        if (length < TPKT_HEADER) {
            result.status = APP_ERROR;
            return result;
        }
        if (left < length) {
            result.needed = length;
            return result;
        }
        result.consumed += length;
        if (!handle_packet(context, state, in->direction, cursor_of(at + TPKT_HEADER, length - TPKT_HEADER)))
            result.status = APP_ERROR;
        if (state->changed && !had_changed)
            return result;
    }
    result.needed = in->length > result.consumed ? TPKT_HEADER : 0;
    return result;
}

static void rdp_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct rdp_state *state = data;

    (void)context;
    transfer_bool(t, &state->changed);
}

/* A connection request whose lengths agree is recognised on any port; on the ports of RDP, any TPKT packet is. */
static enum app_probe_result rdp_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    uint8_t version, reserved, length, code;
    uint16_t size;

    if (!cursor_u8(&cur, &version))
        return APP_UNSURE;
    if (version != 3)
        return APP_NO;
    if (!cursor_u8(&cur, &reserved))
        return APP_UNSURE;
    if (reserved != 0)
        return APP_NO;
    if (!cursor_be16(&cur, &size) || !cursor_u8(&cur, &length) || !cursor_u8(&cur, &code))
        return APP_UNSURE;
    if (size < TPKT_HEADER + 2)
        return APP_NO;
    if (in->port_hint)
        return APP_YES;
    if (size != TPKT_HEADER + 1 + length || code != (in->direction == FLOW_TO_SERVER ? X224_REQUEST : X224_CONFIRM))
        return APP_NO;
    /* Other protocols begin with this request, too; only that of RDP has a cookie or a negotiation. */
    if (length == 6)
        return APP_NO;
    if (!cursor_skip(&cur, 5) || !cursor_u8(&cur, &code))
        return APP_UNSURE;
    return code == 'C' || code == NEGOTIATION_REQUEST || code == NEGOTIATION_RESPONSE || code == NEGOTIATION_FAILURE
               ? APP_YES
               : APP_NO;
}

static bool rdp_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.rdp",
      .type = SETTING_SECTION,
      .help = "Event type rdp: a message of the start of a Remote Desktop connection" },
    { .name = NULL },
};

const struct app_proto app_rdp = {
    .name = "rdp",
    .help = "Remote Desktop Protocol",
    .transports = APP_TCP,
    .tcp_ports = "3389",
    .probe = rdp_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct rdp_state),
    .feed = rdp_feed,
    .transfer = rdp_transfer,
    .tx_size = sizeof(struct rdp_tx),
    .complete = { RDP_COMPLETE, RDP_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .log_type = "rdp",
    .log_key = "rdp",
    .log = rdp_log,
    .log_own = rdp_log_own,
    .logs_from_server = rdp_logs_from_server,
    .settings = setting_rows,
};
