/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * POP3. The server answers each command in order, so a response belongs to the oldest command without one; a response
 * without a command, such as the greeting, is a separate transaction. The command and the status determine whether
 * the response has further lines, up to a line with a dot. A response to RETR or TOP contains a message, which is
 * parsed as MIME line by line.
 *
 * Clients differ in whether a bare LF ends a line, and with it a message. Here the line with the dot and the line
 * before it must end in CRLF, unless the server ends the first line of the response with a bare LF, too. If a client
 * ends the message earlier, the following responses are inspected as a part of the message.
 *
 * After lost bytes commands and responses can no longer be assigned with certainty: the open transactions end.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "pop3_priv.h"
#include "sluice/transfer.h"

struct pop3_state {
    bool skip[FLOW_DIRECTIONS]; /* the rest of the current line is skipped: it is too long, or bytes were lost */
    bool in_data;               /* the oldest command is being answered by lines up to a dot */
    bool mid_line;              /* in_data: the first pieces of the current line were parsed */
    bool after_crlf;            /* in_data: the previous line ended with CRLF */
    bool bare_lf;               /* in_data: the server ends lines with LF */
    bool in_auth;               /* the server has sent a challenge: the next line of the client is the response */
    bool awaits_tls;            /* STLS was accepted; further data of POP3 means that no TLS followed */
};

static const struct app_event events[POP3_EVENTS] = {
    [POP3_TOO_MANY_TRANSACTIONS] = { "too_many_transactions", "the number of unanswered commands exceeds max-tx" },
    [POP3_REQUEST_TOO_LONG] = { "request_too_long", "a command is longer than 255 bytes" },
    [POP3_INCORRECT_ARGUMENT_COUNT] = { "incorrect_argument_count", "a command has too few or too many arguments" },
    [POP3_UNKNOWN_COMMAND] = { "unknown_command", "the command is not one of POP3" },
    [POP3_RESPONSE_TOO_LONG] = { "response_too_long", "the first line of a response is longer than 512 bytes" },
};

/* --- Commands ------------------------------------------------------------------------------------- */

enum { ANY = 255 };

static const struct {
    const char *word;
    uint8_t low, high; /* number of arguments */
} commands[POP3_COMMANDS] = {
    [POP3_QUIT] = { "QUIT", 0, 0 },   [POP3_STAT] = { "STAT", 0, 0 }, [POP3_LIST] = { "LIST", 0, 1 },
    [POP3_RETR] = { "RETR", 1, 1 },   [POP3_DELE] = { "DELE", 1, 1 }, [POP3_NOOP] = { "NOOP", 0, 0 },
    [POP3_RSET] = { "RSET", 0, 0 },   [POP3_TOP] = { "TOP", 2, 2 },   [POP3_UIDL] = { "UIDL", 0, 1 },
    [POP3_USER] = { "USER", 1, 1 },   [POP3_PASS] = { "PASS", 1, 1 }, [POP3_APOP] = { "APOP", 2, 2 },
    [POP3_CAPA] = { "CAPA", 0, 0 },   [POP3_STLS] = { "STLS", 0, 0 }, [POP3_AUTH] = { "AUTH", 1, 2 },
    [POP3_SASL] = { "SASL", 1, ANY }, [POP3_UTF8] = { "UTF8", 0, 0 }, [POP3_LANG] = { "LANG", 0, 1 },
};

static enum pop3_command find_command(const uint8_t *word, uint32_t length)
{
    for (enum pop3_command i = POP3_UNKNOWN + 1; i < POP3_COMMANDS; i++)
        if (strlen(commands[i].word) == length && strncasecmp((const char *)word, commands[i].word, length) == 0)
            return i;
    return POP3_UNKNOWN;
}

const uint8_t *pop3_next_word(const struct buffer *line, uint32_t *at, uint32_t *length)
{
    uint32_t start;

    while (*at < line->length && line->bytes[*at] == ' ')
        ++*at;
    start = *at;
    while (*at < line->length && line->bytes[*at] != ' ')
        ++*at;
    *length = *at - start;
    return *length > 0 ? line->bytes + start : NULL;
}

/* Sets the command and the number of its arguments from the command line. */
static void split_request(struct pop3_tx *tx)
{
    uint32_t at = 0, length = 0;
    const uint8_t *word = pop3_next_word(&tx->request, &at, &length);

    tx->command = (uint8_t)(word ? find_command(word, length) : POP3_UNKNOWN);
    tx->argument_count = 0;
    while (tx->argument_count < UINT8_MAX && pop3_next_word(&tx->request, &at, &length))
        tx->argument_count++;
}

/* Whether a positive response to the command has further lines. */
static bool has_data(const struct pop3_tx *tx)
{
    switch ((enum pop3_command)tx->command) {
    case POP3_RETR:
    case POP3_TOP:
    case POP3_CAPA:
        return true;
    case POP3_LIST:
    case POP3_UIDL:
    case POP3_AUTH: /* lists the mechanisms */
    case POP3_LANG:
        return tx->argument_count == 0;
    default:
        return false;
    }
}

static bool has_message(const struct pop3_tx *tx)
{
    return tx->command == POP3_RETR || tx->command == POP3_TOP;
}

/* --- Transactions --------------------------------------------------------------------------------- */

static struct pop3_tx *oldest_tx(const struct app_context *context)
{
    return (struct pop3_tx *)app_tx_first_open(context);
}

static void complete_tx(struct pop3_tx *tx)
{
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, POP3_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, POP3_COMPLETE);
}

static void free_tx(struct app_context *context, struct app_tx *base)
{
    struct pop3_tx *tx = (struct pop3_tx *)base;
    struct heap *heap = app_heap(context);

    buffer_clear(heap, &tx->request);
    buffer_clear(heap, &tx->header);
    buffer_clear(heap, &tx->data);
    mail_clear(heap, &tx->mail);
}

/* Handles a command line. Returns 0 or -errno. */
static int handle_command(struct app_context *context, struct pop3_state *state, const uint8_t *line, uint32_t length,
                          bool truncated)
{
    const struct pop3_settings *settings = app_get_settings(context);
    struct pop3_tx *tx;

    if (state->in_auth) {
        state->in_auth = false;
        return 0;
    }
    if (length == 0)
        return 0;
    if (app_tx_open_count(context) >= settings->tx_max) {
        app_event(context, app_tx_last_open(context), POP3_TOO_MANY_TRANSACTIONS);
        return -EINVAL;
    }
    tx = (struct pop3_tx *)app_tx_new(context);
    if (!tx || buffer_append(app_heap(context), &tx->request, line, length, POP3_LINE_MAX) < length)
        return -ENOMEM;
    split_request(tx);
    if (tx->command == POP3_UNKNOWN)
        app_event(context, &tx->tx, POP3_UNKNOWN_COMMAND);
    else if (tx->argument_count < commands[tx->command].low || tx->argument_count > commands[tx->command].high)
        app_event(context, &tx->tx, POP3_INCORRECT_ARGUMENT_COUNT);
    if (truncated || length + 2 > POP3_COMMAND_LIMIT)
        app_event(context, &tx->tx, POP3_REQUEST_TOO_LONG);
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, POP3_COMPLETE);
    return 0;
}

/* --- Responses ------------------------------------------------------------------------------------ */

/* Returns the length of the status at the start of a response, with the blank after it; 0: there is none. */
static uint32_t status_length(const uint8_t *line, uint32_t length, bool *success)
{
    static const char *const words[] = { "-ERR", "+OK" };

    for (unsigned i = 0; i < 2; i++) {
        uint32_t size = (uint32_t)strlen(words[i]);

        if (length < size || strncasecmp((const char *)line, words[i], size) != 0 ||
            (length > size && line[size] != ' '))
            continue;
        *success = i == 1;
        return size + (length > size);
    }
    return 0;
}

/* Handles the first line of a response. Returns 0 or -errno. */
static int handle_status(struct app_context *context, struct pop3_state *state, const uint8_t *line, uint32_t length,
                         bool truncated, bool bare_lf)
{
    struct pop3_tx *tx = oldest_tx(context);
    bool success = false;
    uint32_t at = status_length(line, length, &success);

    if (length > 0 && line[0] == '+' && (length == 1 || line[1] == ' ') && tx) { /* a challenge of AUTH */
        state->in_auth = true;
        return 0;
    }
    if (at == 0)
        return 0; /* no response: a line of an answer to an unknown command, or after lost bytes */
    if (!tx)
        tx = (struct pop3_tx *)app_tx_new(context);
    if (!tx || buffer_append(app_heap(context), &tx->header, line + at, length - at, POP3_LINE_MAX) < length - at)
        return -ENOMEM;
    state->in_auth = false;
    tx->has_response = true;
    tx->success = success;
    if (truncated || length + 2 > POP3_HEADER_LIMIT)
        app_event(context, &tx->tx, POP3_RESPONSE_TOO_LONG);
    if (success && has_data(tx)) {
        state->in_data = true;
        state->mid_line = false;
        state->bare_lf = bare_lf;
        state->after_crlf = !bare_lf;
        app_tx_mark_changed(&tx->tx, FLOW_TO_CLIENT);
        return has_message(tx) ? mail_begin(context, &tx->mail, FLOW_TO_CLIENT) : 0;
    }
    if (success && tx->command == POP3_STLS) {
        state->awaits_tls = true;
        app_change_protocol(context, "tls", true);
    }
    complete_tx(tx);
    return 0;
}

static void end_data(struct app_context *context, struct pop3_state *state, bool complete)
{
    struct pop3_tx *tx = oldest_tx(context);

    state->in_data = state->mid_line = false;
    if (!tx)
        return;
    if (tx->mail.mime)
        mail_end(context, &tx->mail, &tx->tx, complete);
    complete_tx(tx);
}

/* Consumes a line of a response, or a piece of a long line. Returns the number of bytes; 0 when more are needed, or
 * with *err set. */
static uint32_t consume_data(struct app_context *context, struct pop3_state *state, const uint8_t *bytes,
                             uint32_t length, uint32_t seen, int *err)
{
    struct pop3_tx *tx = oldest_tx(context);
    struct mime_line line = { .begins = !state->mid_line };
    uint32_t size = mime_next_piece(bytes, length, seen, &line);
    const bool ends_regularly = state->bare_lf ? line.end_length > 0 : line.end_length == 2 && state->after_crlf;

    if (size == 0)
        return 0;
    if (line.begins && line.length == 1 && line.bytes[0] == '.' && ends_regularly) {
        end_data(context, state, true);
        return size;
    }
    state->mid_line = line.end_length == 0;
    state->after_crlf = line.end_length == 2;
    if (line.begins && line.length > 0 && line.bytes[0] == '.') {
        line.bytes++;
        line.length--;
    }
    if (!tx)
        return size;
    mail_line(context, &tx->mail, &tx->tx, &line);
    if (tx->command == POP3_RETR || tx->data.length + line.length + 1 > POP3_DATA_MAX)
        return size;
    if (buffer_append(app_heap(context), &tx->data, line.bytes, line.length, POP3_DATA_MAX) < line.length ||
        (line.end_length > 0 && buffer_append(app_heap(context), &tx->data, "\n", 1, POP3_DATA_MAX) < 1))
        *err = -ENOMEM;
    return size;
}

/* --- Lines ---------------------------------------------------------------------------------------- */

/* Consumes a command line or the first line of a response. Parameters and result are those of consume_data(). */
static uint32_t consume_line(struct app_context *context, struct pop3_state *state, enum flow_direction direction,
                             const uint8_t *bytes, uint32_t length, uint32_t seen, int *err)
{
    const uint8_t *end = length > seen ? memchr(bytes + seen, '\n', length - seen) : NULL;
    uint32_t size = end ? (uint32_t)(end - bytes) : length, line;
    const bool truncated = size >= POP3_LINE_MAX;

    if (!end && !truncated)
        return 0;
    if (truncated) {
        size = POP3_LINE_MAX;
        state->skip[direction] = true;
    }
    line = size - (size > 0 && bytes[size - 1] == '\r');
    *err = direction == FLOW_TO_SERVER ? handle_command(context, state, bytes, line, truncated)
                                       : handle_status(context, state, bytes, line, truncated, line == size);
    return size + !truncated;
}

static void handle_gap(struct app_context *context, struct pop3_state *state, const struct app_input *in)
{
    struct pop3_tx *tx = oldest_tx(context);

    if (in->direction == FLOW_TO_CLIENT && state->in_data && tx && tx->mail.mime)
        mail_gap(context, &tx->mail, &tx->tx, in->gap);
    if (state->in_data)
        end_data(context, state, false);
    while ((tx = oldest_tx(context)))
        complete_tx(tx);
    state->in_auth = false;
    state->skip[in->direction] = true;
}

static struct app_result feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct app_result result = { .status = APP_OK };
    struct pop3_state *state = data;
    uint32_t seen = in->seen;
    int err = 0;

    state->awaits_tls = false; /* the data that follows an accepted STLS is not TLS: POP3 continues */
    if (in->gap)
        handle_gap(context, state, in);
    while (result.consumed < in->length && !state->awaits_tls) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed, size;

        if (state->skip[in->direction]) {
            const uint8_t *end = memchr(at, '\n', left);

            state->skip[in->direction] = !end;
            size = end ? (uint32_t)(end + 1 - at) : left;
        } else if (in->direction == FLOW_TO_CLIENT && state->in_data) {
            size = consume_data(context, state, at, left, seen, &err);
        } else {
            size = consume_line(context, state, in->direction, at, left, seen, &err);
        }
        if (err)
            return (struct app_result){ .status = APP_ERROR };
        if (size == 0)
            break;
        result.consumed += size;
        seen = 0;
    }
    if (in->end && in->direction == FLOW_TO_CLIENT && state->in_data)
        end_data(context, state, false);
    return result;
}

/* --- State transfer to the next engine ------------------------------------------------------------ */

static void transfer_tx(struct app_context *context, struct transfer *t, struct pop3_tx *tx)
{
    app_transfer_buffer(context, t, &tx->request);
    app_transfer_buffer(context, t, &tx->header);
    app_transfer_buffer(context, t, &tx->data);
    transfer_bool(t, &tx->has_response);
    transfer_bool(t, &tx->success);
    transfer_require(t, tx->request.length <= POP3_LINE_MAX && tx->header.length <= POP3_LINE_MAX &&
                            tx->data.length <= POP3_DATA_MAX);
    if (!t->error)
        mail_transfer(context, t, &tx->mail, &tx->tx);
    if (t->error)
        return;
    if (t->reading && tx->request.length > 0) {
        split_request(tx);
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, POP3_COMPLETE);
    }
    app_transfer_tx(context, t, &tx->tx);
}

static void transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct pop3_state *state = data;
    uint32_t count = t->reading ? 0 : app_tx_open_count(context);
    struct pop3_tx *tx = t->reading ? NULL : oldest_tx(context);

    transfer_bool(t, &state->skip[FLOW_TO_SERVER]);
    transfer_bool(t, &state->skip[FLOW_TO_CLIENT]);
    transfer_bool(t, &state->in_data);
    transfer_bool(t, &state->mid_line);
    transfer_bool(t, &state->after_crlf);
    transfer_bool(t, &state->bare_lf);
    transfer_bool(t, &state->in_auth);
    transfer_bool(t, &state->awaits_tls);
    transfer_u32(t, &count);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        if (t->reading)
            tx = (struct pop3_tx *)app_tx_new(context);
        if (!tx)
            return;
        transfer_tx(context, t, tx);
        tx = (struct pop3_tx *)app_tx_next_open(&tx->tx);
    }
}

/* --- Protocol detection --------------------------------------------------------------------------- */

enum { PROBE_MAX = 512 };

/* Accepts a known command. On ports other than those of POP3, it must be one that other protocols do not have. */
static enum app_probe_result probe_client(const struct app_probe *in)
{
    uint32_t length = 0;
    enum pop3_command command;

    while (length < in->length && length < 5 && in->bytes[length] > ' ')
        length++;
    if (length == in->length && length < 5) {
        for (enum pop3_command i = POP3_UNKNOWN + 1; i < POP3_COMMANDS; i++)
            if (strncasecmp((const char *)in->bytes, commands[i].word, length) == 0)
                return APP_UNSURE;
        return APP_NO;
    }
    command = length < 5 ? find_command(in->bytes, length) : POP3_UNKNOWN;
    if (command == POP3_UNKNOWN)
        return APP_NO;
    return in->port_hint || command == POP3_CAPA || command == POP3_APOP || command == POP3_STLS ? APP_YES : APP_NO;
}

/* Accepts a greeting: on a port of POP3 any positive or negative one, on other ports one with the word POP or with the
 * timestamp of APOP, because other protocols use "+OK", too. */
static enum app_probe_result probe_server(const struct app_probe *in)
{
    static const char *const words[] = { "+OK", "-ERR" };
    const uint8_t *end = memchr(in->bytes, '\n', in->length < PROBE_MAX ? in->length : PROBE_MAX);
    uint32_t length = end ? (uint32_t)(end - in->bytes) : in->length;
    bool success;

    for (unsigned i = 0; i < 2; i++)
        if (in->length <= strlen(words[i]) && strncasecmp((const char *)in->bytes, words[i], in->length) == 0)
            return APP_UNSURE;
    if (length > 0 && in->bytes[length - 1] == '\r')
        length--;
    if (status_length(in->bytes, length, &success) == 0)
        return APP_NO;
    if (in->port_hint)
        return APP_YES;
    if (!end)
        return in->length < PROBE_MAX ? APP_UNSURE : APP_NO;
    return success &&
                   (mime_contains(in->bytes, length, "pop") ||
                    (memchr(in->bytes, '<', length) && memchr(in->bytes, '@', length) && in->bytes[length - 1] == '>'))
               ? APP_YES
               : APP_NO;
}

static enum app_probe_result probe(const struct app_probe *in)
{
    if (in->length == 0)
        return APP_UNSURE;
    return in->direction == FLOW_TO_SERVER ? probe_client(in) : probe_server(in);
}

/* --- Protocol table ------------------------------------------------------------------------------- */

static const struct app_buffer buffers[] = {
    { &keyword_file_data, APP_TO_CLIENT, 0, .get = app_file_data, .grows = true },
};

static const struct setting setting_rows[] = {
    { .name = "app-layer.protocols.pop3.max-tx",
      SETTING_FIELD(pop3_settings, tx_max),
      .type = SETTING_NUMBER,
      .default_value = "256",
      .low = 1,
      .high = 4096,
      .help = "Maximum number of commands without a response; beyond it the connection is no longer parsed" },
    { .name = "eve.types.pop3", .type = SETTING_SECTION, .help = "Event type pop3: a POP3 command with its response" },
    { .name = "eve.types.pop3.passwords",
      SETTING_FIELD(pop3_settings, passwords),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Log the arguments of PASS, APOP and AUTH" },
    { .name = NULL },
};

const struct app_proto app_pop3 = {
    .name = "pop3",
    .help = "POP3, including its messages",
    .transports = APP_TCP,
    .tcp_ports = "110",
    .continues_after_errors = true,
    .probe = probe,
    .probe_any_port = true,
    .state_size = sizeof(struct pop3_state),
    .feed = feed,
    .transfer = transfer,
    .accepts_gaps = true,
    .tx_size = sizeof(struct pop3_tx),
    .tx_free = free_tx,
    .complete = { POP3_COMPLETE, POP3_COMPLETE },
    .tx_max = 8192,
    .events = events,
    .event_count = POP3_EVENTS,
    .buffers = buffers,
    .buffer_count = sizeof(buffers) / sizeof(buffers[0]),
    .log_type = "pop3",
    .log_key = "pop3",
    .log = pop3_log,
    .log_top_level = pop3_log_email,
    .settings = setting_rows,
    .settings_size = sizeof(struct pop3_settings),
};
