/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LDAP over TCP and UDP (CLDAP). Each message is a BER sequence whose length gives the position of the next one. A
 * malformed operation sets an event and is skipped; bytes that are no LDAP message end the parser. After a successful
 * SASL bind both sides may encrypt all further messages; then parsing ends without an error.
 */
#include <errno.h>

#include "ldap_priv.h"
#include "sluice/der.h"
#include "sluice/transfer.h"

struct ldap_state {
    uint64_t skip[FLOW_DIRECTIONS]; /* rest of a message that is too long */
    bool sasl_requested;            /* the last bind request uses SASL */
    bool sasl_bound;
    bool tls_accepted; /* over TCP, TLS follows the last response that was parsed */
};

static const struct app_event events[LDAP_EVENTS] = {
    [LDAP_TOO_MANY_TRANSACTIONS] = { "too_many_transactions", "more than 256 requests have no response yet" },
    [LDAP_INVALID_DATA] = { "invalid_data", "a message is malformed" },
    [LDAP_REQUEST_NOT_FOUND] = { "request_not_found", "a response has no request" },
    [LDAP_TOO_MANY_RESPONSES] = { "too_many_responses", "a request has more than 500 responses" },
};

static const char *const request_steps[] = { "request_started", "request_parsed", "request_complete", NULL };
static const char *const response_steps[] = { "response_started", "response_in_progress", "response_complete", NULL };

/* Start of a message: the message id and the operation. `body` is the content of the operation; it is shorter than
 * body_length if the message is too long to be parsed. */
struct message {
    uint32_t id;
    uint8_t operation;
    uint64_t body_length;
    struct cursor body;
};

static bool is_request(uint8_t operation)
{
    return operation == LDAP_BIND_REQUEST || operation == LDAP_UNBIND_REQUEST || operation == LDAP_SEARCH_REQUEST ||
           operation == LDAP_MODIFY_REQUEST || operation == LDAP_ADD_REQUEST || operation == LDAP_DEL_REQUEST ||
           operation == LDAP_MOD_DN_REQUEST || operation == LDAP_COMPARE_REQUEST || operation == LDAP_ABANDON_REQUEST ||
           operation == LDAP_EXTENDED_REQUEST;
}

/* Parses the sequence of a message up to the operation's content. Returns DER_TRUNCATED if bytes are missing. */
static enum der_result parse_start(struct cursor cur, struct message *out)
{
    struct der_header header;
    enum der_result result = der_read_header(&cur, DER_DEFINITE, &header);
    uint8_t primitive;

    if (result != DER_OK)
        return result;
    if (header.number != 2 || header.identifier != DER_INTEGER)
        return DER_MALFORMED;
    if (header.length == 0 || header.length > 5)
        return DER_MALFORMED;
    if (cursor_remaining(&cur) < header.length)
        return DER_TRUNCATED;
    out->id = 0;
    for (uint64_t i = 0; i < header.length; i++) {
        uint8_t byte = 0;

        cursor_u8(&cur, &byte);
        if ((i == 0 && byte & 0x80) || (i == 0 && header.length == 5 && byte != 0))
            return DER_MALFORMED;
        out->id = out->id << 8 | byte;
    }
    result = der_read_header(&cur, DER_DEFINITE, &header);
    if (result != DER_OK)
        return result;
    out->operation = (uint8_t)header.number;
    primitive = out->operation == LDAP_UNBIND_REQUEST || out->operation == LDAP_DEL_REQUEST ||
                out->operation == LDAP_ABANDON_REQUEST;
    if (header.identifier != ((primitive ? 0x40 : DER_APPLICATION_CONSTRUCTED) | out->operation) ||
        !ldap_find_name(ldap_operation_names, out->operation))
        return DER_MALFORMED;
    out->body_length = header.length;
    cursor_limit(&cur, header.length < LDAP_MESSAGE_MAX ? (size_t)header.length : LDAP_MESSAGE_MAX);
    out->body = cur;
    return DER_OK;
}

static void complete(struct ldap_tx *tx)
{
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, LDAP_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, LDAP_COMPLETE);
}

static struct ldap_tx *new_tx(struct app_context *context)
{
    struct ldap_tx *tx = (struct ldap_tx *)app_tx_first_open(context);

    if (tx && app_tx_open_count(context) >= LDAP_OPEN_MAX) {
        app_event(context, &tx->tx, LDAP_TOO_MANY_TRANSACTIONS);
        complete(tx);
    }
    return (struct ldap_tx *)app_tx_new(context);
}

static struct ldap_tx *find_request(struct app_context *context, uint32_t id)
{
    struct app_tx *tx = app_tx_first_open(context);

    while (tx && (!((struct ldap_tx *)tx)->has_request || ((struct ldap_tx *)tx)->message_id != id))
        tx = app_tx_next_open(tx);
    return (struct ldap_tx *)tx;
}

static bool is_sasl_bind(const struct cursor *body)
{
    struct cursor cur = *body, name;
    const uint8_t *tag;
    uint32_t version;

    if (!ldap_read_number(&cur, DER_INTEGER, &version) || !der_read(&cur, DER_OCTET_STRING, &name))
        return false;
    tag = cursor_peek(&cur, 1);
    return tag && *tag == (DER_CONTEXT_CONSTRUCTED | 3);
}

/* Completes the transaction of the request that an AbandonRequest names; the server does not answer it any more. */
static void abandon(struct app_context *context, struct cursor body)
{
    struct ldap_tx *tx;
    uint32_t id = 0;
    uint8_t byte;

    while (cursor_u8(&body, &byte))
        id = id << 8 | byte;
    tx = find_request(context, id);
    if (tx)
        complete(tx);
}

/* Handles a request. Returns 0, -EINVAL or -ENOMEM. */
static int handle_request(struct app_context *context, struct ldap_state *state, const struct message *message)
{
    struct ldap_tx *tx = new_tx(context);
    int err = 0;

    if (!tx)
        return -ENOMEM;
    tx->has_request = true;
    tx->operation = message->operation;
    tx->message_id = message->id;
    if (message->operation == LDAP_ABANDON_REQUEST)
        abandon(context, message->body);
    if (message->operation == LDAP_BIND_REQUEST)
        state->sasl_requested = is_sasl_bind(&message->body);
    if (cursor_remaining(&message->body) == message->body_length)
        err = ldap_store_request(app_heap(context), tx, message->body);
    if (err == -EINVAL)
        app_event(context, &tx->tx, LDAP_INVALID_DATA);
    if (message->operation == LDAP_UNBIND_REQUEST || message->operation == LDAP_ABANDON_REQUEST)
        complete(tx);
    else
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, LDAP_COMPLETE);
    return err;
}

static bool is_success(const struct ldap_tx *tx)
{
    return tx->result_count > 0 && load_le32(tx->results.bytes + (tx->result_count - 1) * sizeof(uint32_t)) == 0;
}

/* Handles a response. Returns 0, -EINVAL or -ENOMEM. */
static int handle_response(struct app_context *context, struct ldap_state *state, const struct message *message)
{
    struct ldap_response response = { .operation = message->operation, .message_id = message->id };
    struct ldap_tx *tx = find_request(context, message->id);
    bool is_last = ldap_has_result(message->operation), is_orphan = !tx;
    struct cursor body = message->body;
    int err;

    if (is_orphan) {
        tx = new_tx(context);
        if (!tx)
            return -ENOMEM;
        tx->tx.directions = APP_TO_CLIENT;
        if (message->operation != LDAP_EXTENDED_RESPONSE) /* otherwise an unsolicited notification */
            app_event(context, &tx->tx, LDAP_REQUEST_NOT_FOUND);
    }
    if (tx->response_count >= LDAP_RESPONSES_MAX && !tx->has_too_many) {
        tx->has_too_many = true;
        app_event(context, &tx->tx, LDAP_TOO_MANY_RESPONSES);
    }
    if (!is_last && tx->response_count >= LDAP_RESPONSES_MAX)
        return 0;
    if (cursor_remaining(&body) != message->body_length ||
        cursor_remaining(&body) >
            LDAP_RESPONSES_SIZE -
                (size_t)(tx->responses.length < LDAP_RESPONSES_SIZE ? tx->responses.length : LDAP_RESPONSES_SIZE))
        body.end = body.at;
    err = ldap_store_response(app_heap(context), tx, &response, body);
    if (err == -EINVAL && cursor_remaining(&body) == message->body_length)
        app_event(context, &tx->tx, LDAP_INVALID_DATA);
    if (message->operation == LDAP_BIND_RESPONSE && state->sasl_requested && !err)
        state->sasl_bound = is_success(tx);
    if (message->operation == LDAP_EXTENDED_RESPONSE && tx->starts_tls && !err && is_success(tx))
        state->tls_accepted = true;
    if (is_last || is_orphan) {
        complete(tx);
    } else {
        app_tx_advance(&tx->tx, FLOW_TO_CLIENT, LDAP_RESPONDED);
        app_tx_mark_changed(&tx->tx, FLOW_TO_CLIENT);
    }
    return err;
}

/* Reports bytes that are no message, on a transaction of their own. */
static void report_invalid(struct app_context *context, enum flow_direction direction)
{
    struct ldap_tx *tx = new_tx(context);

    if (!tx)
        return;
    tx->tx.directions = (uint8_t)(1u << direction);
    tx->tx.only_events = true;
    complete(tx);
    app_event(context, &tx->tx, LDAP_INVALID_DATA);
}

enum { FRAME_PDU };
static const char *const frames[] = { [FRAME_PDU] = "pdu", NULL };

/* Parses the next message. Returns the number of bytes that were consumed; 0: `needed` bytes are needed, or the parser
 * stops (`failed`). */
static uint32_t parse_message(struct app_context *context, struct ldap_state *state, const struct app_input *in,
                              struct cursor cur, struct app_result *result)
{
    const uint8_t *start = cur.at;
    struct der_header header;
    struct message message;
    enum der_result parsed = der_read_header(&cur, DER_DEFINITE, &header);
    uint64_t total, stored;

    if (parsed == DER_OK && header.identifier != DER_SEQUENCE)
        parsed = DER_MALFORMED;
    if (parsed == DER_TRUNCATED && in->transport == APP_TCP && *start == DER_SEQUENCE) {
        result->needed = (uint32_t)cursor_remaining(&cur) + 1;
        return 0;
    }
    if (parsed == DER_OK) {
        total = (uint64_t)(cur.at - start) + header.length;
        app_frame(context, in, (uint32_t)(start - in->bytes), total, FRAME_PDU, NULL);
        stored = total < LDAP_MESSAGE_MAX ? total : LDAP_MESSAGE_MAX;
        if ((uint64_t)(cur.end - start) < stored && in->transport == APP_TCP) {
            result->needed = (uint32_t)stored;
            return 0;
        }
        if (header.length < cursor_remaining(&cur))
            cursor_limit(&cur, (size_t)header.length);
        if ((uint64_t)(cur.end - start) >= stored)
            parsed = parse_start(cur, &message);
        else
            parsed = DER_MALFORMED; /* a datagram with a part of a message */
        if (parsed == DER_OK && message.body_length > (uint64_t)(start + total - message.body.at))
            parsed = DER_MALFORMED;
    }
    if (parsed != DER_OK || is_request(message.operation) != (in->direction == FLOW_TO_SERVER)) {
        report_invalid(context, in->direction);
        result->status = APP_ERROR;
        return 0;
    }
    if (in->direction == FLOW_TO_SERVER ? handle_request(context, state, &message) == -ENOMEM
                                        : handle_response(context, state, &message) == -ENOMEM)
        result->status = APP_ERROR;
    state->skip[in->direction] = total - stored;
    return (uint32_t)stored;
}

static struct app_result ldap_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct ldap_state *state = data;
    uint64_t *skip = &state->skip[in->direction];

    while (result.consumed < in->length && result.status == APP_OK) {
        uint32_t left = in->length - result.consumed, consumed;
        struct cursor cur = cursor_of(in->bytes + result.consumed, left);

        if (*skip > 0) {
            consumed = *skip < left ? (uint32_t)*skip : left;
            *skip -= consumed;
            result.consumed += consumed;
            continue;
        }
        if (state->sasl_bound && *cur.at == 0) { /* the length before encrypted data (RFC 4422) */
            result.consumed = in->length;
            app_stop_parsing(context, false);
            return result;
        }
        consumed = parse_message(context, state, in, cur, &result);
        if (consumed == 0)
            break;
        result.consumed += consumed;
        if (state->tls_accepted && in->transport == APP_TCP) {
            app_change_protocol(context, "tls", false);
            break;
        }
    }
    if (in->transport == APP_UDP) {
        *skip = 0;
        result.consumed = in->length;
        result.status = APP_OK;
    }
    return result;
}

/* --- Transfer to the next engine ---------------------------------------------------------------------- */

/* Reads the content of an operation. Returns false on an error. */
static bool read_body(struct transfer *t, uint32_t length, uint32_t limit, struct cursor *out)
{
    const uint8_t *bytes = (const uint8_t *)"";

    transfer_require(t, length <= limit);
    if (!t->error && length > 0)
        bytes = transfer_lend(t, length);
    if (!bytes || t->error)
        return false;
    *out = cursor_of(bytes, length);
    return true;
}

static void transfer_request(struct app_context *context, struct transfer *t, struct ldap_tx *tx)
{
    uint32_t length = tx->request.length;
    bool has_dn = tx->has_dn;
    struct cursor body;

    transfer_u8(t, &tx->operation);
    transfer_u32(t, &tx->message_id);
    transfer_bool(t, &has_dn);
    transfer_u32(t, &length);
    if (!t->reading) {
        if (length > 0)
            transfer_bytes(t, tx->request.bytes, length);
        return;
    }
    transfer_require(t, is_request(tx->operation));
    if (!read_body(t, length, LDAP_MESSAGE_MAX, &body))
        return;
    tx->has_request = true;
    if (length > 0 && ldap_store_request(app_heap(context), tx, body) == -ENOMEM)
        t->error = -ENOMEM;
    tx->has_dn = has_dn;
}

static void transfer_response(struct app_context *context, struct transfer *t, struct ldap_tx *tx, uint32_t index)
{
    struct ldap_response response = { 0 };
    struct cursor body;

    if (!t->reading)
        response = *ldap_get_response(tx, index);
    transfer_u8(t, &response.operation);
    transfer_u32(t, &response.message_id);
    transfer_u32(t, &response.body.length);
    if (!t->reading) {
        if (response.body.length > 0)
            transfer_bytes(t, tx->responses.bytes + response.body.at, response.body.length);
        return;
    }
    transfer_require(t, ldap_find_name(ldap_operation_names, response.operation) && !is_request(response.operation));
    if (read_body(t, response.body.length, LDAP_RESPONSES_SIZE - tx->responses.length, &body) &&
        ldap_store_response(app_heap(context), tx, &response, body) == -ENOMEM)
        t->error = -ENOMEM;
}

static void transfer_transaction(struct app_context *context, struct transfer *t, struct ldap_tx *tx)
{
    uint32_t count = tx ? tx->response_count : 0;
    uint8_t progress = tx ? tx->tx.progress[FLOW_TO_CLIENT] : 0;

    transfer_u32(t, &count);
    transfer_u8(t, &progress);
    transfer_require(t, count <= LDAP_RESPONSES_MAX && progress < LDAP_COMPLETE);
    if (t->error)
        return;
    if (!tx)
        tx = (struct ldap_tx *)app_tx_new(context);
    if (!tx)
        return;
    transfer_request(context, t, tx);
    transfer_bool(t, &tx->has_too_many);
    for (uint32_t i = 0; i < count && !t->error; i++)
        transfer_response(context, t, tx, i);
    if (t->reading) {
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, LDAP_COMPLETE);
        app_tx_advance(&tx->tx, FLOW_TO_CLIENT, progress);
    }
    if (!t->error)
        app_transfer_tx(context, t, &tx->tx);
}

/* Returns the transaction or the next open one that has a request; responses can still arrive only for such ones. */
static struct ldap_tx *skip_to_request(struct app_tx *tx)
{
    while (tx && !((struct ldap_tx *)tx)->has_request)
        tx = app_tx_next_open(tx);
    return (struct ldap_tx *)tx;
}

static void ldap_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct ldap_state *state = data;
    struct ldap_tx *tx = t->reading ? NULL : skip_to_request(app_tx_first_open(context));
    uint32_t count = 0;

    transfer_u64(t, &state->skip[FLOW_TO_SERVER]);
    transfer_u64(t, &state->skip[FLOW_TO_CLIENT]);
    transfer_bool(t, &state->sasl_requested);
    transfer_bool(t, &state->sasl_bound);
    for (struct ldap_tx *each = tx; each; each = skip_to_request(app_tx_next_open(&each->tx)))
        count++;
    transfer_u32(t, &count);
    transfer_require(t, count <= LDAP_OPEN_MAX);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        transfer_transaction(context, t, tx);
        tx = tx ? skip_to_request(app_tx_next_open(&tx->tx)) : NULL;
    }
}

static void ldap_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct ldap_tx *ldap = (struct ldap_tx *)tx;
    struct buffer *const buffers[] = { &ldap->request,         &ldap->request_attributes.buffer,
                                       &ldap->response_list,   &ldap->responses,
                                       &ldap->results,         &ldap->dns.buffer,
                                       &ldap->messages.buffer, &ldap->response_attributes.buffer };

    for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); i++)
        buffer_clear(app_heap(context), buffers[i]);
}

/* The sequence, the message id and the operation are strict enough for any port. */
static enum app_probe_result ldap_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    struct der_header header;
    struct message message;
    enum der_result result;

    if (in->length == 0)
        return APP_UNSURE;
    if (in->transport == APP_UDP && in->length < 8 && !in->port_hint) /* too short for `heads` */
        return APP_NO;
    if (in->bytes[0] != DER_SEQUENCE)
        return APP_NO;
    result = der_read_header(&cur, DER_DEFINITE, &header);
    if (result == DER_OK)
        result = parse_start(cur, &message);
    if (result == DER_TRUNCATED)
        return in->transport == APP_TCP ? APP_UNSURE : APP_NO;
    if (result != DER_OK || message.body_length > header.length)
        return APP_NO;
    return is_request(message.operation) == (in->direction == FLOW_TO_SERVER) ? APP_YES : APP_REVERSED;
}

static bool ldap_logs_from_server(const struct app_tx *tx, const void *settings)
{
    (void)settings;
    return tx->directions == APP_TO_CLIENT;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.ldap", .type = SETTING_SECTION, .help = "Event type ldap: an LDAP request and its responses" },
    { .name = NULL },
};

/* A sequence with a length of one byte or longer. */
static const struct app_message_start heads[] = {
    { UINT64_C(0xff80ff0000000000), UINT64_C(0x3000020000000000) },
    { UINT64_C(0xff80000000000000), UINT64_C(0x3080000000000000) },
};

const struct app_proto app_ldap = {
    .name = "ldap",
    .help = "LDAP over TCP and UDP (CLDAP)",
    .transports = APP_TCP | APP_UDP,
    .tcp_ports = "389,3268",
    .udp_ports = "389,3268",
    .probe = ldap_probe,
    .probe_any_port = true,
    .heads = heads,
    .head_count = sizeof(heads) / sizeof(heads[0]),
    .state_size = sizeof(struct ldap_state),
    .feed = ldap_feed,
    .frames = frames,
    .transfer = ldap_transfer,
    .pending_max = LDAP_MESSAGE_MAX,
    .tx_size = sizeof(struct ldap_tx),
    .tx_free = ldap_tx_free,
    .complete = { LDAP_COMPLETE, LDAP_COMPLETE },
    .tx_max = 16384, /* more than the number of messages that can arrive at once */
    .steps = { request_steps, response_steps },
    .events = events,
    .event_count = LDAP_EVENTS,
    .buffers = ldap_buffers,
    .buffer_count = LDAP_BUFFERS,
    .conditions = ldap_conditions,
    .condition_count = LDAP_CONDITIONS,
    .log_type = "ldap",
    .log_key = "ldap",
    .log = ldap_log,
    .logs_from_server = ldap_logs_from_server,
    .settings = setting_rows,
};
