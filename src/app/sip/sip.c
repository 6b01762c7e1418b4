/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SIP over UDP and TCP. Each message, a request or a response, is a transaction in its own direction, because either
 * side sends both. A datagram has one message; in a stream, Content-Length separates them.
 *
 * A message is parsed when it is complete, so its rules match on its last packet. A body of more than SIP_BODY_MAX
 * bytes is skipped instead. In a stream a start line or a Content-Length that is invalid ends parsing, because the end
 * of the message is unknown then.
 */
#include <errno.h>
#include <string.h>

#include "sip_priv.h"
#include "sluice/text.h"
#include "sluice/transfer.h"

/* State of a direction of a stream. The transaction of a message that waits for its body is the direction's only open
 * transaction. */
struct sip_side {
    bool in_body;  /* the head of a message has been parsed; its body is incomplete */
    uint32_t body; /* with in_body: length of the body */
    uint64_t skip; /* remaining bytes of a body that is skipped */
};

struct sip_state {
    struct sip_side side[FLOW_DIRECTIONS];
};

static const struct app_event events[SIP_EVENTS] = {
    [SIP_INVALID_DATA] = { "invalid_data", "a message has an invalid start line or Content-Length, or is too long" },
};

/* --- Frames ------------------------------------------------------------------------------------------ */

enum {
    FRAME_PDU,
    FRAME_REQUEST_LINE,
    FRAME_REQUEST_HEADERS,
    FRAME_REQUEST_BODY,
    FRAME_RESPONSE_LINE,
    FRAME_RESPONSE_HEADERS,
    FRAME_RESPONSE_BODY,
};
static const char *const frames[] = {
    [FRAME_PDU] = "pdu",
    [FRAME_REQUEST_LINE] = "request.line",
    [FRAME_REQUEST_HEADERS] = "request.headers",
    [FRAME_REQUEST_BODY] = "request.body",
    [FRAME_RESPONSE_LINE] = "response.line",
    [FRAME_RESPONSE_HEADERS] = "response.headers",
    [FRAME_RESPONSE_BODY] = "response.body",
    NULL,
};

/* Announces the frames of the message at index `at` of the input, which has a complete head of `head` bytes with the
 * empty line at its end, and `body` bytes behind it. */
static void announce_message(struct app_context *context, const struct app_input *in, uint32_t at, uint32_t head,
                             uint64_t body, const struct sip_tx *tx)
{
    const uint8_t *bytes = in->bytes + at, *line_end = memchr(bytes, '\n', head);
    uint32_t line = line_end ? (uint32_t)(line_end - bytes) + 1 : head, end = head;
    bool is_response = head >= 4 && memcmp(bytes, "SIP/", 4) == 0;
    unsigned first = is_response ? FRAME_RESPONSE_LINE : FRAME_REQUEST_LINE;

    if (end > line && bytes[end - 1] == '\n') /* the empty line does not belong to the headers */
        end -= end > line + 1 && bytes[end - 2] == '\r' ? 2 : 1;
    app_frame(context, in, at, head + body, FRAME_PDU, &tx->tx);
    app_frame(context, in, at, line, first, &tx->tx);
    if (end > line)
        app_frame(context, in, at + line, end - line, first + 1, &tx->tx);
    if (body > 0)
        app_frame(context, in, at + head, body, first + 2, &tx->tx);
}

/* --- Messages ---------------------------------------------------------------------------------------- */

static struct sip_tx *new_tx(struct app_context *context, enum flow_direction direction)
{
    struct sip_tx *tx = (struct sip_tx *)app_tx_new(context);

    if (tx)
        tx->tx.directions = (uint8_t)(1u << direction);
    return tx;
}

/* Ends a message that may have failed. Without a start line it is not logged. Returns false if out of memory. */
static bool end_message(struct app_context *context, struct sip_tx *tx, enum flow_direction direction, int err)
{
    if (err) {
        tx->tx.log_never = !tx->is_parsed;
        app_event(context, &tx->tx, SIP_INVALID_DATA);
    }
    app_tx_advance(&tx->tx, direction, SIP_COMPLETE);
    return err != -ENOMEM;
}

/* Returns the number of line ends before a message. They have no meaning (RFC 3261 7.5); clients send them to keep NAT
 * bindings alive. */
static uint32_t count_line_ends(const uint8_t *bytes, uint32_t length)
{
    uint32_t at = 0;

    while (at < length && (bytes[at] == '\r' || bytes[at] == '\n'))
        at++;
    return at;
}

/* --- UDP --------------------------------------------------------------------------------------------- */

static struct app_result feed_datagram(struct app_context *context, const struct app_input *in)
{
    static const uint8_t keep_alive[4];
    uint32_t start = count_line_ends(in->bytes, in->length), length = in->length - start;
    const uint8_t *bytes = in->bytes + start;
    struct app_result result = { .status = APP_OK, .consumed = in->length };
    struct sip_tx *tx;
    uint64_t body;
    int err;

    if (length <= sizeof(keep_alive) && memcmp(bytes, keep_alive, length) == 0)
        return result;
    uint32_t found = text_find_head_end(bytes, length, 0), head = found > 0 ? found : length;

    tx = new_tx(context, in->direction);
    if (!tx)
        return (struct app_result){ .status = APP_ERROR };
    err = sip_parse_head(app_heap(context), tx, bytes, head, &body);
    if (app_wants_frames(context))
        announce_message(context, in, start, head, length - head, tx);
    if (!err) /* some receivers read a body of a wrong Content-Length to the end of the datagram */
        err = sip_parse_body(app_heap(context), tx, bytes + head, length - head);
    if (!end_message(context, tx, in->direction, err))
        result.status = APP_ERROR;
    return result;
}

/* --- TCP --------------------------------------------------------------------------------------------- */

/* Parses a head. Returns false if parsing must end. */
static bool feed_head(struct app_context *context, struct sip_side *side, const struct app_input *in, uint32_t at,
                      uint32_t length)
{
    enum flow_direction direction = in->direction;
    struct sip_tx *tx = new_tx(context, direction);
    uint64_t body;
    int err;

    if (!tx)
        return false;
    err = length > SIP_HEAD_MAX ? -EINVAL : sip_parse_head(app_heap(context), tx, in->bytes + at, length, &body);
    if (!err && app_wants_frames(context))
        announce_message(context, in, at, length, body != UINT64_MAX ? body : 0, tx);
    if (err || body == 0 || body == UINT64_MAX || body > SIP_BODY_MAX) {
        side->skip = !err && body != UINT64_MAX ? body : 0;
        return end_message(context, tx, direction, err) && !err;
    }
    side->in_body = true;
    side->body = (uint32_t)body;
    app_tx_advance(&tx->tx, direction, SIP_HEAD);
    return true;
}

static struct sip_tx *find_open_tx(const struct app_context *context, enum flow_direction direction)
{
    for (struct app_tx *tx = app_tx_first_open(context); tx; tx = app_tx_next_open(tx)) {
        if (tx->directions == 1u << direction)
            return (struct sip_tx *)tx;
    }
    return NULL;
}

static bool feed_body(struct app_context *context, struct sip_side *side, enum flow_direction direction,
                      const uint8_t *bytes, uint32_t length)
{
    struct sip_tx *tx = find_open_tx(context, direction);

    side->in_body = false;
    return !tx || end_message(context, tx, direction, sip_parse_body(app_heap(context), tx, bytes, length));
}

static struct app_result feed_stream(struct app_context *context, struct sip_side *side, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    bool goes_on = true;

    while (goes_on && result.consumed < in->length) {
        const uint8_t *bytes = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed, taken;

        if (side->skip > 0) {
            taken = side->skip < left ? (uint32_t)side->skip : left;
            side->skip -= taken;
        } else if (side->in_body) {
            taken = side->body < left ? side->body : left;
            if (left < side->body && !in->end) {
                result.needed = side->body;
                return result;
            }
            goes_on = feed_body(context, side, in->direction, bytes, taken);
        } else if ((taken = count_line_ends(bytes, left)) == 0) {
            uint32_t from = in->seen > result.consumed ? in->seen - result.consumed : 0;

            taken = text_find_head_end(bytes, left, from);
            app_frame(context, in, result.consumed, APP_FRAME_UNKNOWN, FRAME_PDU, NULL);
            if (taken == 0 && left <= SIP_HEAD_MAX)
                return result;
            goes_on = feed_head(context, side, in, result.consumed, taken > 0 ? taken : left);
        }
        result.consumed += taken;
    }
    if (!goes_on)
        result.status = APP_ERROR;
    return result;
}

static struct app_result sip_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct sip_state *state = data;

    if (in->transport == APP_UDP)
        return feed_datagram(context, in);
    return feed_stream(context, &state->side[in->direction], in);
}

/* --- State ------------------------------------------------------------------------------------------- */

static void sip_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct sip_tx *sip = (struct sip_tx *)tx;

    buffer_clear(app_heap(context), &sip->text);
    buffer_clear(app_heap(context), &sip->fields);
    buffer_clear(app_heap(context), &sip->sdp);
}

/* Transfers the head of a message that waits for its body; the reader parses it again. */
static void transfer_tx(struct app_context *context, struct transfer *t, enum flow_direction direction)
{
    struct sip_tx *tx = t->reading ? new_tx(context, direction) : find_open_tx(context, direction);
    struct buffer head = { 0 };
    bool exists = tx != NULL;
    uint64_t body;

    transfer_bool(t, &exists);
    if (!exists || !tx || t->error)
        return;
    if (!t->reading) {
        app_transfer_buffer(context, t, &tx->text);
    } else {
        app_transfer_buffer(context, t, &head);
        transfer_require(t, head.length > 0);
        if (!t->error)
            transfer_require(t, sip_parse_head(app_heap(context), tx, head.bytes, head.length, &body) == 0);
        if (!t->error)
            app_tx_advance(&tx->tx, direction, SIP_HEAD);
        buffer_clear(app_heap(context), &head);
    }
    if (!t->error)
        app_transfer_tx(context, t, &tx->tx);
}

static void sip_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct sip_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS && !t->error; direction++) {
        struct sip_side *side = &state->side[direction];

        transfer_bool(t, &side->in_body);
        transfer_u32(t, &side->body);
        transfer_u64(t, &side->skip);
        transfer_require(t, side->body <= SIP_BODY_MAX);
        if (side->in_body && !t->error)
            transfer_tx(context, t, direction);
    }
}

/* --- Detection and settings -------------------------------------------------------------------------- */

/* The first line of a message is distinctive enough for any port. */
static enum app_probe_result sip_probe(const struct app_probe *in)
{
    uint32_t start = in->port_hint || in->transport == APP_TCP ? count_line_ends(in->bytes, in->length) : 0;
    bool is_request = false;
    enum app_probe_result guess = start < in->length
                                      ? sip_probe_line(in->bytes + start, in->length - start, &is_request)
                                  : in->port_hint ? APP_UNSURE
                                                  : APP_NO;

    if (guess == APP_UNSURE && in->transport == APP_UDP)
        return APP_NO;
    /* A response as the first message of a flow shows that its sender is the server. */
    return guess == APP_YES && !is_request && in->direction == FLOW_TO_SERVER ? APP_REVERSED : guess;
}

static bool sip_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

/* Methods of SIP with a URI. Some are methods of HTTP, too, whose patterns are shorter. */
#define REQUEST(method)                                                                                                \
    {                                                                                                                  \
        .bytes = method " sip:", .length = sizeof(method " sip:") - 1, .nocase = true, .direction = FLOW_TO_SERVER     \
    }

static const struct app_pattern patterns[] = {
    REQUEST("REGISTER"), REQUEST("INVITE"),  REQUEST("ACK"),
    REQUEST("BYE"),      REQUEST("CANCEL"),  REQUEST("UPDATE"),
    REQUEST("REFER"),    REQUEST("PRACK"),   REQUEST("SUBSCRIBE"),
    REQUEST("NOTIFY"),   REQUEST("PUBLISH"), REQUEST("MESSAGE"),
    REQUEST("INFO"),     REQUEST("OPTIONS"), { .bytes = "SIP/2.0 ", .length = 8, .direction = FLOW_TO_CLIENT },
};

/* Three upper-case letters: the start of every method and of "SIP/2.0". Line ends before them are allowed on the ports
 * of SIP only. */
static const struct app_message_start heads[] = { { UINT64_C(0xe0e0e00000000000), UINT64_C(0x4040400000000000) } };

static const struct setting setting_rows[] = {
    { .name = "eve.types.sip", .type = SETTING_SECTION, .help = "Event type sip: a SIP request or response" },
    { .name = NULL },
};

const struct app_proto app_sip = {
    .name = "sip",
    .help = "SIP with SDP: telephony",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "5060,5061",
    .udp_ports = "5060,5061",
    .patterns = patterns,
    .pattern_count = sizeof(patterns) / sizeof(patterns[0]),
    .probe = sip_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .state_size = sizeof(struct sip_state),
    .feed = sip_feed,
    .transfer = sip_transfer,
    .pending_max = SIP_HEAD_MAX > SIP_BODY_MAX ? SIP_HEAD_MAX : SIP_BODY_MAX,
    .tx_size = sizeof(struct sip_tx),
    .tx_free = sip_tx_free,
    .complete = { SIP_COMPLETE, SIP_COMPLETE },
    .tx_max = 8192, /* more than the number of messages of minimum size that can arrive at once */
    .frames = frames,
    .events = events,
    .event_count = SIP_EVENTS,
    .buffers = sip_buffers,
    .buffer_count = SIP_BUFFERS,
    .log_type = "sip",
    .log_key = "sip",
    .log = sip_log,
    .logs_from_server = sip_logs_from_server,
    .settings = setting_rows,
};
