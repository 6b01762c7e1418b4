/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * PostgreSQL. A connection starts with packets without a type: requests for TLS or GSSAPI encryption, a cancel request,
 * or a startup packet. Then each message has a type and a length. A message is parsed when its first PGSQL_MESSAGE_MAX
 * bytes have arrived; the rest of it, data rows and COPY data are skipped without being stored.
 *
 * Each simple query, and each Parse of the extended query protocol, is a transaction, so that rules decide on the
 * packet with the query. The other messages of the extended query protocol belong to the transaction of the preceding
 * Parse. ReadyForQuery completes a simple query, or all extended ones up to the next Sync.
 */
#include <errno.h>

#include "pgsql_priv.h"
#include "sluice/bytes.h"
#include "sluice/transfer.h"

enum {
    HEADER = 5, /* type and length; the length includes itself, but not the type */
    CODE_CANCEL = 80877102,
    CODE_SSL = 80877103,
    CODE_GSSENC = 80877104,
    STARTUP_MIN = 8,
    PROBE_LENGTH_MAX = 1 << 24, /* maximum length of the first message when the connection is seen from its middle */
};

/* Type of the next message `p` of the client, which depends on the authentication that the server has requested. */
enum authentication { AUTHENTICATION_PASSWORD, AUTHENTICATION_SASL, AUTHENTICATION_SASL_CONTINUE };

struct pgsql_state {
    uint64_t skip[FLOW_DIRECTIONS]; /* remaining bytes to skip */
    uint64_t sequence;              /* pgsql_tx.sequence of the last transaction */
    bool started;                   /* the client sends messages with types from now on */
    bool encryption_requested;      /* the next byte of the server answers a request for encryption */
    uint8_t encryption;             /* enum pgsql_request of that request */
    uint8_t authentication;         /* enum authentication */
};

static const struct app_event events[PGSQL_EVENTS] = {
    [PGSQL_TOO_MANY_TRANSACTIONS] = { "too_many_transactions", "more than 1024 requests have no response yet" },
    [PGSQL_MALFORMED_REQUEST] = { "malformed_request", "a message of the client is malformed or unknown" },
    [PGSQL_MALFORMED_RESPONSE] = { "malformed_response", "a message of the server is malformed or unknown" },
    [PGSQL_INVALID_LENGTH] = { "invalid_length", "a message has an invalid length; parsing ends" },
};

/* A message whose stored part is complete. */
struct message {
    struct app_context *context;
    struct pgsql_state *state;
    uint8_t type;
    bool no_memory;
    bool malformed;
    uint64_t length; /* of the content, which may be longer than `content` */
    struct cursor content;
};

/* --- Transactions ------------------------------------------------------------------------------------ */

static void complete(struct pgsql_tx *tx)
{
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, PGSQL_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, PGSQL_COMPLETE);
}

/* A response without request ends with the next request, because nothing shows where it ends. */
static struct pgsql_tx *new_tx(struct message *message, enum pgsql_request request)
{
    struct pgsql_tx *oldest = (struct pgsql_tx *)app_tx_first_open(message->context), *tx;
    bool is_flood = oldest && app_tx_open_count(message->context) >= PGSQL_OPEN_MAX;

    if (is_flood || (oldest && oldest->request == PGSQL_NO_REQUEST))
        complete(oldest);
    tx = (struct pgsql_tx *)app_tx_new(message->context);
    if (!tx) {
        message->no_memory = true;
        return NULL;
    }
    tx->request = (uint8_t)request;
    if (request != PGSQL_EXTENDED)
        tx->sequence = ++message->state->sequence;
    if (is_flood)
        app_event(message->context, &tx->tx, PGSQL_TOO_MANY_TRANSACTIONS);
    return tx;
}

/* Adds a transaction whose request is this message alone. */
static struct pgsql_tx *add_request(struct message *message, enum pgsql_request request)
{
    struct pgsql_tx *tx = new_tx(message, request);

    if (tx)
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, PGSQL_COMPLETE);
    return tx;
}

/* Returns the transaction that the server answers; creates one if the request was not seen. */
static struct pgsql_tx *answered_tx(struct message *message)
{
    struct app_tx *tx = app_tx_first_open(message->context);

    return tx ? (struct pgsql_tx *)tx : add_request(message, PGSQL_NO_REQUEST);
}

static void store(struct message *message, struct buffer *buffer, struct cursor bytes, uint32_t limit,
                  struct pgsql_text *out)
{
    uint32_t length = (uint32_t)cursor_remaining(&bytes), at = buffer->length, stored;

    if (length > limit - at)
        length = limit - at;
    stored = buffer_append(app_heap(message->context), buffer, cursor_peek(&bytes, length), length, limit);
    if (stored != length)
        message->no_memory = true;
    if (out)
        *out = (struct pgsql_text){ .at = at, .length = stored, .is_present = true };
}

static void store_response(struct message *message, struct pgsql_tx *tx, struct cursor bytes, struct pgsql_text *out)
{
    store(message, &tx->response_text, bytes, PGSQL_RESPONSE_MAX, out);
}

/* Consumes a string up to and including its terminating zero; *out excludes the zero. If the message is longer than its
 * stored part, the string may end with that part. */
static bool read_string(const struct message *message, struct cursor *cur, struct cursor *out)
{
    size_t left = cursor_remaining(cur);
    const uint8_t *text = cursor_peek(cur, left), *end = left > 0 ? memchr(text, 0, left) : NULL;

    if (!end && message->length <= PGSQL_MESSAGE_MAX)
        return false;
    *out = cursor_of(text, end ? (size_t)(end - text) : left);
    return cursor_skip(cur, end ? (size_t)(end - text) + 1 : left);
}

/* --- Requests ---------------------------------------------------------------------------------------- */

static void handle_query(struct message *message)
{
    struct cursor query;
    struct pgsql_tx *tx = new_tx(message, PGSQL_QUERY);

    if (!tx)
        return;
    message->malformed = !read_string(message, &message->content, &query);
    if (!message->malformed)
        store(message, &tx->request_text, query, PGSQL_MESSAGE_MAX, &tx->text);
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, PGSQL_COMPLETE);
}

static void handle_parse(struct message *message)
{
    struct cursor name, query;
    struct pgsql_tx *tx = new_tx(message, PGSQL_EXTENDED);

    if (!tx)
        return;
    message->malformed =
        !read_string(message, &message->content, &name) || !read_string(message, &message->content, &query);
    if (!message->malformed)
        store(message, &tx->request_text, query, PGSQL_MESSAGE_MAX, &tx->text);
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, PGSQL_COMPLETE);
}

/* Bind, Close, Describe, Execute, Flush, FunctionCall, Sync. */
static void handle_extended(struct message *message)
{
    struct pgsql_tx *tx = (struct pgsql_tx *)app_tx_last_open(message->context);

    if (!tx || tx->request != PGSQL_EXTENDED || tx->synced)
        tx = add_request(message, PGSQL_EXTENDED);
    /* The server answers a FunctionCall with ReadyForQuery, too. */
    if (tx && (message->type == 'S' || message->type == 'F'))
        tx->synced = true;
}

/* A password, data of SASL, or of GSSAPI and SSPI, which are logged as passwords. */
static void handle_password(struct message *message)
{
    struct cursor text, *content = &message->content;
    enum pgsql_request request = message->state->authentication == AUTHENTICATION_SASL            ? PGSQL_SASL_INITIAL
                                 : message->state->authentication == AUTHENTICATION_SASL_CONTINUE ? PGSQL_SASL_RESPONSE
                                                                                                  : PGSQL_PASSWORD;
    struct pgsql_tx *tx = add_request(message, request);
    uint32_t length;

    if (!tx)
        return;
    if (request == PGSQL_SASL_INITIAL) {
        message->malformed = !read_string(message, content, &text);
        if (message->malformed)
            return;
        store(message, &tx->request_text, text, PGSQL_MESSAGE_MAX, &tx->mechanism);
        message->malformed = !cursor_be32(content, &length);
        message->state->authentication = AUTHENTICATION_SASL_CONTINUE;
    } else if (request == PGSQL_PASSWORD && cursor_remaining(content) > 0 && content->end[-1] == 0) {
        cursor_limit(content, cursor_remaining(content) - 1);
    }
    store(message, &tx->request_text, *content, PGSQL_MESSAGE_MAX, &tx->text);
}

static void handle_copy_data(struct message *message)
{
    struct pgsql_tx *tx = (struct pgsql_tx *)app_tx_last_open(message->context);

    if (!tx || tx->request != PGSQL_COPY || tx->tx.progress[FLOW_TO_SERVER] == PGSQL_COMPLETE)
        tx = new_tx(message, PGSQL_COPY);
    if (!tx)
        return;
    if (message->type == 'd') {
        tx->copied_in += tx->copied_in < UINT32_MAX;
        tx->copied_in_size += (uint32_t)message->length;
        return;
    }
    tx->copy_failed = message->type == 'f';
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, PGSQL_COMPLETE);
}

static void handle_terminate(struct message *message)
{
    struct pgsql_tx *tx = add_request(message, PGSQL_TERMINATE);

    if (tx)
        complete(tx);
}

/* --- Responses --------------------------------------------------------------------------------------- */

static void handle_authentication(struct message *message)
{
    static const struct {
        const char *name;
        bool completes; /* the client sends a new message now, which begins another transaction */
        uint8_t next;   /* enum authentication of that message */
    } types[] = {
        [0] = { "authentication_ok", false, AUTHENTICATION_PASSWORD },
        [2] = { "authentication_kerberos_v5", true, AUTHENTICATION_PASSWORD },
        [3] = { "authentication_cleartext_password", true, AUTHENTICATION_PASSWORD },
        [5] = { NULL, true, AUTHENTICATION_PASSWORD }, /* MD5: logged with its salt */
        [7] = { "authentication_gss", true, AUTHENTICATION_PASSWORD },
        [8] = { "authentication_gss_continue", true, AUTHENTICATION_PASSWORD },
        [9] = { "authentication_sspi", true, AUTHENTICATION_PASSWORD },
        [10] = { "authentication_sasl", true, AUTHENTICATION_SASL },
        [11] = { "authentication_sasl_continue", true, AUTHENTICATION_SASL_CONTINUE },
        [12] = { NULL, false, AUTHENTICATION_PASSWORD }, /* SASLFinal: logged with its data */
    };
    struct pgsql_tx *tx = answered_tx(message);
    uint32_t type;

    if (!tx)
        return;
    message->malformed = !cursor_be32(&message->content, &type) || type >= sizeof(types) / sizeof(types[0]) ||
                         (!types[type].name && type != 5 && type != 12);
    if (message->malformed)
        return;
    if (type == 5)
        store_response(message, tx, message->content, &tx->salt);
    else if (type == 12)
        store_response(message, tx, message->content, &tx->sasl_final);
    else
        tx->authentication = types[type].name;
    message->state->authentication = types[type].next;
    if (types[type].completes)
        complete(tx);
}

/* ParameterStatus and NoticeResponse also come outside of transactions; they are not logged then. */
static void handle_parameter_status(struct message *message)
{
    struct pgsql_tx *tx = (struct pgsql_tx *)app_tx_first_open(message->context);
    struct cursor content = message->content, name, value;

    if (!tx)
        return;
    message->malformed =
        !read_string(message, &message->content, &name) || !read_string(message, &message->content, &value);
    if (!message->malformed && cursor_remaining(&content) <= PGSQL_RESPONSE_MAX - tx->parameters.length)
        store(message, &tx->parameters, content, PGSQL_RESPONSE_MAX, NULL);
}

static void handle_key_data(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);

    if (!tx)
        return;
    tx->has_key = cursor_be32(&message->content, &tx->backend_process_id) &&
                  cursor_be32(&message->content, &tx->backend_secret_key);
    message->malformed = !tx->has_key;
}

static void handle_ready(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);
    bool is_last;

    do {
        struct pgsql_tx *next = tx ? (struct pgsql_tx *)app_tx_next_open(&tx->tx) : NULL;

        is_last = !tx || tx->request != PGSQL_EXTENDED || tx->synced;
        if (tx)
            complete(tx);
        tx = next;
    } while (!is_last && tx);
}

static void handle_row_description(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);

    if (!tx)
        return;
    tx->has_field_count = cursor_be16(&message->content, &tx->field_count);
    message->malformed = !tx->has_field_count;
}

/* Counts the bytes of the values, without the lengths before them. */
static void handle_data_row(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);
    uint16_t columns = 0;

    if (!tx)
        return;
    message->malformed = !cursor_be16(&message->content, &columns) || message->length < 2 + 4 * (uint64_t)columns;
    if (message->malformed)
        return;
    tx->rows++;
    tx->rows_size += message->length - 2 - 4 * (uint64_t)columns;
}

static void handle_command_complete(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);
    struct cursor command;

    if (!tx)
        return;
    message->malformed = !read_string(message, &message->content, &command);
    if (message->malformed)
        return;
    store_response(message, tx, command, &tx->command);
    /* The next command of a pipeline is answered from now on, unless this is the last one before the Sync. */
    if (tx->request == PGSQL_EXTENDED && !tx->synced && app_tx_next_open(&tx->tx))
        complete(tx);
}

/* ErrorResponse and NoticeResponse. */
static void handle_error(struct message *message)
{
    struct pgsql_tx *tx =
        message->type == 'N' ? (struct pgsql_tx *)app_tx_first_open(message->context) : answered_tx(message);
    struct cursor content = message->content, text;

    if (!tx)
        return;
    while (cursor_remaining(&message->content) > 1 && !message->malformed)
        message->malformed = !cursor_skip(&message->content, 1) || !read_string(message, &message->content, &text);
    if (!message->malformed && cursor_remaining(&content) <= PGSQL_RESPONSE_MAX - tx->error.length)
        store(message, &tx->error, content, PGSQL_RESPONSE_MAX, NULL);
}

/* CopyInResponse, CopyOutResponse, CopyBothResponse: the client may send data now. */
static void handle_copy_response(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);
    uint16_t columns;

    if (!tx)
        return;
    message->malformed = !cursor_skip(&message->content, 1) || !cursor_be16(&message->content, &columns);
    if (message->malformed)
        return;
    if (message->type == 'H') {
        tx->has_copy_out = true;
        tx->copy_out_columns = columns;
        return;
    }
    tx->has_copy_in = true;
    tx->copy_in_columns = columns;
    complete(tx);
}

static void handle_copied_data(struct message *message)
{
    struct pgsql_tx *tx = answered_tx(message);

    if (!tx)
        return;
    tx->copied_out++;
    tx->copied_out_size += message->length;
}

/* CopyDone, ParseComplete and so on: messages without contents that are logged. */
static void handle_nothing(struct message *message)
{
    (void)message;
}

/* --- Messages ---------------------------------------------------------------------------------------- */

/* How a message is handled, and how many bytes of its content are stored for that. */
struct message_type {
    void (*handle)(struct message *message);
    uint32_t stored;
};

static const struct message_type requests[128] = {
    ['B'] = { handle_extended, 0 },
    ['C'] = { handle_extended, 0 },
    ['D'] = { handle_extended, 0 },
    ['E'] = { handle_extended, 0 },
    ['F'] = { handle_extended, 0 },
    ['H'] = { handle_extended, 0 },
    ['P'] = { handle_parse, PGSQL_MESSAGE_MAX },
    ['Q'] = { handle_query, PGSQL_MESSAGE_MAX },
    ['S'] = { handle_extended, 0 },
    ['X'] = { handle_terminate, 0 },
    ['c'] = { handle_copy_data, 0 },
    ['d'] = { handle_copy_data, 0 },
    ['f'] = { handle_copy_data, 0 },
    ['p'] = { handle_password, PGSQL_MESSAGE_MAX },
};

static const struct message_type responses[128] = {
    ['1'] = { handle_nothing, 0 },
    ['2'] = { handle_nothing, 0 },
    ['3'] = { handle_nothing, 0 },
    ['A'] = { handle_nothing, 0 },
    ['C'] = { handle_command_complete, PGSQL_MESSAGE_MAX },
    ['D'] = { handle_data_row, 2 },
    ['E'] = { handle_error, PGSQL_MESSAGE_MAX },
    ['G'] = { handle_copy_response, 3 },
    ['H'] = { handle_copy_response, 3 },
    ['I'] = { handle_nothing, 0 },
    ['K'] = { handle_key_data, 8 },
    ['N'] = { handle_error, PGSQL_MESSAGE_MAX },
    ['R'] = { handle_authentication, PGSQL_MESSAGE_MAX },
    ['S'] = { handle_parameter_status, PGSQL_MESSAGE_MAX },
    ['T'] = { handle_row_description, 2 },
    ['V'] = { handle_nothing, 0 },
    ['W'] = { handle_copy_response, 3 },
    ['Z'] = { handle_ready, 0 },
    ['c'] = { handle_nothing, 0 },
    ['d'] = { handle_copied_data, 0 },
    ['n'] = { handle_nothing, 0 },
    ['s'] = { handle_nothing, 0 },
    ['t'] = { handle_nothing, 0 },
    ['v'] = { handle_nothing, 0 },
};

static const struct message_type *find_type(enum flow_direction direction, uint8_t type)
{
    const struct message_type *types = direction == FLOW_TO_SERVER ? requests : responses;

    return type < 128 && types[type].handle ? &types[type] : NULL;
}

static void report(struct message *message, enum flow_direction direction, enum pgsql_event event)
{
    struct app_tx *tx =
        direction == FLOW_TO_SERVER ? app_tx_last_open(message->context) : app_tx_first_open(message->context);

    if (!tx)
        tx = (struct app_tx *)new_tx(message, PGSQL_NO_REQUEST);
    if (!tx)
        return;
    app_event(message->context, tx, event);
    if (((struct pgsql_tx *)tx)->request == PGSQL_NO_REQUEST)
        app_tx_advance(tx, direction, PGSQL_COMPLETE);
}

/* Handles a packet without a type. Its length has been checked. */
static void handle_startup_packet(struct message *message)
{
    struct pgsql_tx *tx;
    uint32_t code = 0;

    cursor_be32(&message->content, &code);
    if (code == CODE_SSL || code == CODE_GSSENC) {
        message->state->encryption_requested = true;
        message->state->encryption = code == CODE_SSL ? PGSQL_SSL_REQUEST : PGSQL_GSSENC_REQUEST;
        add_request(message, message->state->encryption);
    } else if (code == CODE_CANCEL) {
        tx = add_request(message, PGSQL_CANCEL);
        if (!tx)
            return;
        message->malformed =
            !cursor_be32(&message->content, &tx->process_id) || !cursor_be32(&message->content, &tx->secret_key);
        complete(tx);
    } else if (code >> 16 == 3 || code >> 16 == 2) {
        tx = add_request(message, PGSQL_STARTUP);
        if (!tx)
            return;
        tx->major = (uint16_t)(code >> 16);
        tx->minor = (uint16_t)code;
        message->state->started = true;
        store(message, &tx->request_text, message->content, PGSQL_STARTUP_MAX, &tx->text);
    } else {
        add_request(message, PGSQL_NO_REQUEST);
        message->malformed = true;
    }
}

/* Parses the next message. Returns the number of its bytes that were consumed; 0: *needed bytes are needed, or the
 * parser stops (*failed). */
static uint32_t parse_message(struct message *message, const struct app_input *in, uint32_t at, uint32_t *needed,
                              bool *failed)
{
    struct pgsql_state *state = message->state;
    const uint8_t *bytes = in->bytes + at;
    uint32_t left = in->length - at, header = HEADER, stored;
    bool is_untyped = in->direction == FLOW_TO_SERVER && !state->started && bytes[0] == 0;
    const struct message_type *type = NULL;
    uint64_t length;

    if (in->direction == FLOW_TO_SERVER && bytes[0] != 0)
        state->started = true;
    if (is_untyped)
        header = 4;
    *needed = header;
    if (left < header)
        return 0;
    length = load_be32(bytes + header - 4);
    if (length < 4 || (is_untyped && (length < STARTUP_MIN || length > PGSQL_STARTUP_MAX))) {
        report(message, in->direction, PGSQL_INVALID_LENGTH);
        *failed = true;
        return 0;
    }
    message->length = length - 4;
    if (!is_untyped)
        type = find_type(in->direction, bytes[0]);
    stored = is_untyped ? PGSQL_STARTUP_MAX : type ? type->stored : 0;
    if (message->length < stored)
        stored = (uint32_t)message->length;
    *needed = header + stored;
    if (left < *needed)
        return 0;
    message->type = bytes[0];
    message->malformed = !is_untyped && !type;
    message->content = cursor_of(bytes + header, stored);
    if (is_untyped)
        handle_startup_packet(message);
    else if (type)
        type->handle(message);
    if (message->malformed)
        report(message, in->direction,
               in->direction == FLOW_TO_SERVER ? PGSQL_MALFORMED_REQUEST : PGSQL_MALFORMED_RESPONSE);
    state->skip[in->direction] = message->length - stored;
    return header + stored;
}

/* Handles the answer to a request for encryption, one byte. A server that does not know the request sends an error,
 * with the type E. */
static void handle_encryption_answer(struct message *message, uint8_t answer)
{
    struct pgsql_tx *tx = answered_tx(message);

    message->state->encryption_requested = false;
    if (!tx)
        return;
    tx->ssl_answered = true;
    tx->ssl_accepted = answer == 'S' || answer == 'G';
    complete(tx);
    if (tx->ssl_accepted && message->state->encryption == PGSQL_SSL_REQUEST)
        app_change_protocol(message->context, "tls", false);
    else if (tx->ssl_accepted)
        app_stop_parsing(message->context, true);
}

static struct app_result pgsql_feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct message message = { .context = context, .state = data };
    uint64_t *skip = &message.state->skip[in->direction];
    bool failed = false;

    while (result.consumed < in->length && !message.no_memory) {
        uint32_t at = result.consumed, consumed, needed = 0;
        uint8_t byte = in->bytes[at];

        if (*skip > 0) {
            consumed = *skip < in->length - at ? (uint32_t)*skip : in->length - at;
            *skip -= consumed;
            result.consumed += consumed;
            continue;
        }
        if (in->direction == FLOW_TO_CLIENT && message.state->encryption_requested) {
            if (byte == 'S' || byte == 'N' || byte == 'G') {
                result.consumed++;
                handle_encryption_answer(&message, byte);
                if (byte != 'N')
                    break;
                continue;
            }
            message.state->encryption_requested = false;
        }
        consumed = parse_message(&message, in, at, &needed, &failed);
        if (consumed == 0) {
            result.needed = needed;
            break;
        }
        result.consumed += consumed;
    }
    if (failed || message.no_memory)
        result.status = APP_ERROR;
    return result;
}

static void pgsql_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct pgsql_state *state = data;

    (void)context;
    transfer_u64(t, &state->skip[FLOW_TO_SERVER]);
    transfer_u64(t, &state->skip[FLOW_TO_CLIENT]);
    transfer_u64(t, &state->sequence);
    transfer_bool(t, &state->started);
    transfer_bool(t, &state->encryption_requested);
    transfer_u8(t, &state->encryption);
    transfer_u8(t, &state->authentication);
}

static void pgsql_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct pgsql_tx *pgsql = (struct pgsql_tx *)tx;

    buffer_clear(app_heap(context), &pgsql->request_text);
    buffer_clear(app_heap(context), &pgsql->response_text);
    buffer_clear(app_heap(context), &pgsql->parameters);
    buffer_clear(app_heap(context), &pgsql->error);
}

/* --- Detection --------------------------------------------------------------------------------------- */

/* A startup packet or a request for encryption is recognised on any port. */
static enum app_probe_result probe_startup(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    uint32_t length, code;
    uint8_t first = 0;

    if (!cursor_be32(&cur, &length) || !cursor_be32(&cur, &code))
        return in->bytes[0] == 0 && (in->length < 2 || in->bytes[1] == 0) ? APP_UNSURE : APP_NO;
    if (length < STARTUP_MIN || length > PGSQL_STARTUP_MAX)
        return APP_NO;
    if ((length == 8 && (code == CODE_SSL || code == CODE_GSSENC)) || (length == 16 && code == CODE_CANCEL))
        return APP_YES;
    if (code >> 16 != 3)
        return in->port_hint ? APP_YES : APP_NO;
    if (in->port_hint)
        return APP_YES;
    if (length == STARTUP_MIN || (code & 0xffff) > 9)
        return APP_NO;
    if (!cursor_u8(&cur, &first))
        return APP_UNSURE;
    /* the first character of a parameter's name, or of an option of the protocol (_pq_.) */
    return (first >= 'a' && first <= 'z') || first == '_' ? APP_YES : APP_NO;
}

static enum app_probe_result pgsql_probe(const struct app_probe *in)
{
    struct cursor cur = cursor_of(in->bytes, in->length);
    uint8_t type;
    uint32_t length;

    if (in->length == 0)
        return APP_UNSURE;
    if (in->direction == FLOW_TO_SERVER && in->bytes[0] == 0)
        return probe_startup(in);
    if (!in->port_hint || !find_type(in->direction, in->bytes[0]))
        return APP_NO;
    if (in->direction == FLOW_TO_CLIENT && in->length == 1 && (in->bytes[0] == 'S' || in->bytes[0] == 'N'))
        return APP_YES;
    if (!cursor_u8(&cur, &type) || !cursor_be32(&cur, &length))
        return APP_UNSURE;
    return length >= 4 && length <= PROBE_LENGTH_MAX ? APP_YES : APP_NO;
}

static const struct setting setting_rows[] = {
    { .name = "eve.types.pgsql",
      .type = SETTING_SECTION,
      .help = "Event type pgsql: a request to a PostgreSQL server and its responses" },
    { .name = "eve.types.pgsql.passwords",
      SETTING_FIELD(pgsql_settings, passwords),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Log passwords; no: the event only says that there was one (password_redacted)" },
    { .name = NULL },
};

const struct app_proto app_pgsql = {
    .name = "pgsql",
    .help = "PostgreSQL",
    .transports = APP_TCP,
    .tcp_ports = "5432",
    .probe = pgsql_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct pgsql_state),
    .feed = pgsql_feed,
    .transfer = pgsql_transfer,
    .pending_max = HEADER + PGSQL_MESSAGE_MAX,
    .tx_size = sizeof(struct pgsql_tx),
    .tx_free = pgsql_tx_free,
    .complete = { PGSQL_COMPLETE, PGSQL_COMPLETE },
    .tx_max = 32768, /* more than the number of messages that can arrive at once */
    .events = events,
    .event_count = PGSQL_EVENTS,
    .buffers = pgsql_buffers,
    .buffer_count = PGSQL_BUFFERS,
    .log_type = "pgsql",
    .log_key = "pgsql",
    .log = pgsql_log,
    .settings = setting_rows,
    .settings_size = sizeof(struct pgsql_settings),
};
