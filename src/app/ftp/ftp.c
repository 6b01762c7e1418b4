/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * FTP control connection. A transaction is a command with its reply. A reply belongs to the oldest command that has not
 * been answered; if there is none, as for the greeting, it is a transaction without a command. After a preliminary
 * reply (1yz) another reply to the same command follows.
 *
 * A line longer than the limit is truncated. A data transfer command announces its data connection (app_expect). The
 * addresses are those of the control connection, regardless of the address in PORT or PASV, so that an endpoint cannot
 * make unrelated connections be parsed as FTP data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "ftp_priv.h"
#include "sluice/text.h"
#include "sluice/transfer.h"

struct ftp_state {
    bool skip[FLOW_DIRECTIONS]; /* the rest of the current line is skipped: it is too long */
    bool in_multiline_reply; /* the current reply has several lines; its last line begins with `code`, without a hyphen
                                after it */
    uint8_t code[3];
    uint16_t dynamic_port; /* negotiated port that no data transfer command has used; 0 for none */
    bool active;           /* the client listens on dynamic_port (active mode); false: the server (passive mode) */
    bool file_refused;     /* the server apparently refused a file transfer on dynamic_port */
};

static const struct app_event events[FTP_EVENTS] = {
    [FTP_REQUEST_COMMAND_TOO_LONG] = { "request_command_too_long", "a command line exceeds max-line-length" },
    [FTP_RESPONSE_COMMAND_TOO_LONG] = { "response_command_too_long", "a reply line exceeds max-line-length" },
    [FTP_TOO_MANY_TRANSACTIONS] = { "too_many_transactions", "the number of unanswered commands exceeds max-tx" },
    [FTP_FILE_BEFORE_PORT] = { "file_before_port",
                               "a data transfer command was sent before a data port was negotiated" },
    [FTP_FILE_WITHOUT_NAME] = { "file_without_name", "a RETR or STOR command has no file name" },
};

/* --- Lines ------------------------------------------------------------------------------------------- */

/* A command line or a line of a reply. */
struct line {
    const uint8_t *bytes;
    uint32_t length, consumed; /* bytes without the line end; bytes of the input that the line occupies */
    bool truncated;            /* the line is longer than the limit */
};

static void trim(struct line *line)
{
    while (line->length > 0 && (line->bytes[line->length - 1] == '\r' || line->bytes[line->length - 1] == ' '))
        line->length--;
}

/* Sets *out to the next line, without its end and without blanks before the end. Returns false if the line end has not
 * been received. The first `seen` bytes contain no line end. A line longer than `limit` is truncated; *skip is set if
 * the rest of it is still to be received. */
static bool next_line(bool *skip, const uint8_t *bytes, uint32_t length, uint32_t seen, uint32_t limit,
                      struct line *out)
{
    const uint8_t *end = memchr(bytes + seen, '\n', length - seen);

    *out = (struct line){ .bytes = bytes, .length = (uint32_t)(end ? end - bytes : length) };
    if (!end && out->length < limit)
        return false;
    out->consumed = out->length + (end != NULL);
    if (out->length >= limit) {
        out->length = limit;
        out->truncated = true;
        *skip = !end;
    }
    trim(out);
    return true;
}

/* Returns the number of bytes that belong to the rest of a truncated line. */
static uint32_t skip_rest(bool *skip, const uint8_t *bytes, uint32_t length)
{
    const uint8_t *end = memchr(bytes, '\n', length);

    *skip = !end;
    return end ? (uint32_t)(end + 1 - bytes) : length;
}

/* --- Transactions ------------------------------------------------------------------------------------ */

static struct ftp_tx *new_tx(struct app_context *context)
{
    return (struct ftp_tx *)app_tx_new(context);
}

/* Returns the oldest command without a complete reply; NULL if all commands are answered. */
static struct ftp_tx *oldest_tx(const struct app_context *context)
{
    return (struct ftp_tx *)app_tx_first_open(context);
}

static void complete_tx(struct ftp_tx *tx)
{
    tx->done = true;
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, FTP_COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, FTP_COMPLETE);
}

/* --- Commands ---------------------------------------------------------------------------------------- */

static bool is_auth_tls(const struct buffer *line, uint32_t argument_at)
{
    return line->length >= argument_at + 3 && strncasecmp((const char *)line->bytes + argument_at, "tls", 3) == 0;
}

static enum ftp_command get_command(const struct buffer *line, uint32_t command_length, uint32_t argument_at)
{
    enum ftp_command command = line->length ? ftp_command_find(line->bytes, command_length) : FTP_OTHER;

    return command == FTP_AUTH_TLS && !is_auth_tls(line, argument_at) ? FTP_OTHER : command;
}

static void split_request(struct ftp_tx *tx)
{
    ftp_split_command(tx->request.bytes, tx->request.length, false, &tx->command_length, &tx->argument_at);
    ftp_split_command(tx->telnet.bytes, tx->telnet.length, true, &tx->telnet_command_length, &tx->telnet_argument_at);
    if (tx->telnet.length == tx->request.length && tx->telnet_argument_at == tx->argument_at &&
        tx->telnet_command_length == tx->command_length)
        tx->telnet.length = 0; /* both interpretations of the line have the same command and argument */
    tx->command = get_command(&tx->request, tx->command_length, tx->argument_at);
    if (tx->command == FTP_OTHER)
        tx->command = get_command(&tx->telnet, tx->telnet_command_length, tx->telnet_argument_at);
}

/* Returns the argument of the command. If the two interpretations of the line differ, returns that of servers with
 * Telnet. */
static const uint8_t *get_argument(const struct ftp_tx *tx, uint32_t *length)
{
    const struct buffer *line = tx->telnet.length > 0 ? &tx->telnet : &tx->request;
    uint32_t at = tx->telnet.length > 0 ? tx->telnet_argument_at : tx->argument_at;

    *length = line->length - at;
    return line->bytes + at;
}

static void handle_port_command(struct app_context *context, struct ftp_state *state, struct ftp_tx *tx)
{
    const struct flow *flow = app_context_flow(context);
    uint32_t length;
    const uint8_t *text = get_argument(tx, &length);
    struct ftp_address address;
    bool found = tx->command == FTP_PORT
                     ? ftp_parse_host_port(text, length, &address) || ftp_parse_loose_host_port(text, length, &address)
                     : ftp_parse_extended_address(text, length, &address);

    if (!found)
        return;
    state->dynamic_port = tx->dynamic_port = address.port;
    state->active = tx->active = true;
    state->file_refused = false;
    tx->is_bounce = address.ip_version != 0 &&
                    (address.ip_version != flow->ip_version || !address_equal(&address.address, &flow->client));
}

/* Announces the data connection of a data transfer command, on the negotiated port. */
static void announce_data(struct app_context *context, struct ftp_state *state, struct ftp_tx *tx)
{
    const struct flow *flow = app_context_flow(context);
    struct app_expectation expectation = {
        .client = state->active ? flow->server : flow->client,
        .server = state->active ? flow->client : flow->server,
        .ip_version = flow->ip_version,
        .server_port = state->dynamic_port,
        .proto = "ftp-data",
    };
    struct ftp_tag tag = { .command = (uint8_t)tx->command };
    uint32_t length;
    const uint8_t *name = get_argument(tx, &length);
    bool keeps_expected_file = state->file_refused && !ftp_transfers_file(tx->command);

    tag.direction = ftp_is_upload(tx->command) == state->active ? FLOW_TO_CLIENT : FLOW_TO_SERVER;
    if (ftp_transfers_file(tx->command)) {
        tag.name_length = (uint16_t)(length < FTP_NAME_MAX ? length : FTP_NAME_MAX);
        if (tag.name_length > 0)
            memcpy(tag.name, name, tag.name_length);
    }
    /* A reply may have been assigned to the wrong command, so that the file transfer was not refused after all: a
     * listing on the same port does not replace the expected file. */
    if (!keeps_expected_file)
        app_expect(context, &expectation, &tag, (uint32_t)offsetof(struct ftp_tag, name) + tag.name_length);
    tx->data_port = state->dynamic_port;
    tx->data_active = state->active;
    state->dynamic_port = 0;
    state->active = false;
}

/* Assigns the negotiated port, or the port of a refused command, to a data transfer command that the client sent before
 * the reply that made the port available (pipelining). */
static void announce_waiting_data(struct app_context *context, struct ftp_state *state)
{
    struct app_tx *tx = app_tx_first_open(context);

    for (; tx && state->dynamic_port; tx = app_tx_next_open(tx)) {
        struct ftp_tx *ftp = (struct ftp_tx *)tx;

        if (ftp_transfers_data(ftp->command) && ftp->data_port == 0)
            announce_data(context, state, ftp);
    }
}

static void apply_command(struct app_context *context, struct ftp_state *state, struct ftp_tx *tx)
{
    uint32_t length;

    if (tx->command == FTP_PORT || tx->command == FTP_EPRT) {
        handle_port_command(context, state, tx);
        return;
    }
    if (!ftp_transfers_data(tx->command))
        return;
    get_argument(tx, &length);
    if (length == 0 && (tx->command == FTP_RETR || tx->command == FTP_STOR))
        app_event(context, &tx->tx, FTP_FILE_WITHOUT_NAME);
    if (state->dynamic_port == 0)
        app_event(context, &tx->tx, FTP_FILE_BEFORE_PORT);
    else
        announce_data(context, state, tx);
}

static int handle_request(struct app_context *context, struct ftp_state *state, const struct line *line)
{
    const struct ftp_settings *settings = app_get_settings(context);

    if (line->length == 0)
        return 0;
    if (app_tx_open_count(context) >= settings->tx_max && oldest_tx(context)) {
        app_event(context, &oldest_tx(context)->tx, FTP_TOO_MANY_TRANSACTIONS);
        return -EINVAL;
    }
    struct ftp_tx *tx = new_tx(context);

    if (!tx || buffer_append(app_heap(context), &tx->request, line->bytes, line->length, UINT16_MAX) < line->length)
        return -ENOMEM;
    if (ftp_interpret_telnet(app_heap(context), line->bytes, line->length, &tx->telnet))
        return -ENOMEM;
    split_request(tx);
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, FTP_COMPLETE);
    tx->request_truncated = line->truncated;
    if (line->truncated)
        app_event(context, &tx->tx, FTP_REQUEST_COMMAND_TOO_LONG);
    apply_command(context, state, tx);
    return 0;
}

/* --- Replies ----------------------------------------------------------------------------------------- */

/* Whether the line begins with three digits, followed by a blank, a hyphen or the end of the line. */
static bool has_code(const struct line *line)
{
    if (line->length < 3)
        return false;
    for (unsigned i = 0; i < 3; i++)
        if (line->bytes[i] < '0' || line->bytes[i] > '9')
            return false;
    return line->length == 3 || line->bytes[3] == ' ' || line->bytes[3] == '-';
}

static bool is_continued(const struct line *line)
{
    return has_code(line) && line->length > 3 && line->bytes[3] == '-';
}

/* Stores a line of the reply. As in Suricata, a line with a hyphen after the code is stored as a whole, without a code.
 */
static int store_reply(struct app_context *context, struct ftp_tx *tx, const struct line *line)
{
    struct heap *heap = app_heap(context);
    bool coded = has_code(line) && !is_continued(line);
    uint32_t text = coded ? (line->length > 4 ? 4 : line->length) : 0, length = line->length - text;

    if (tx->reply_count >= FTP_REPLIES_MAX || tx->replies.length + length > FTP_REPLY_BYTES) {
        tx->reply_truncated = true;
        return 0;
    }
    if (tx->reply_count == tx->reply_room) {
        uint16_t room = tx->reply_room ? (uint16_t)(tx->reply_room * 2) : 4;
        struct ftp_reply *grown = heap_grow(heap, tx->reply, tx->reply_count * sizeof(*grown), room * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        tx->reply = grown;
        tx->reply_room = room;
    }
    struct ftp_reply *reply = &tx->reply[tx->reply_count];

    *reply = (struct ftp_reply){ .at = tx->replies.length, .length = length, .has_code = coded };
    if (coded)
        memcpy(reply->code, line->bytes, 3);
    if (buffer_append(heap, &tx->replies, line->bytes + text, length, UINT32_MAX) < length)
        return -ENOMEM;
    tx->reply_count++;
    return 0;
}

static bool code_equals(const struct line *line, const char *code)
{
    return memcmp(line->bytes, code, 3) == 0;
}

/* Applies the effect of a reply on data ports and on the protocol. `line` is the last line of the reply and has a
 * code. */
static void apply_reply(struct app_context *context, struct ftp_state *state, struct ftp_tx *tx,
                        const struct line *line)
{
    struct ftp_address address;
    bool found = false;

    if (code_equals(line, "227"))
        found = ftp_parse_host_port(line->bytes + 3, line->length - 3, &address);
    else if (code_equals(line, "229"))
        found = ftp_parse_extended_address(line->bytes + 3, line->length - 3, &address);
    else if (tx->command == FTP_AUTH_TLS && code_equals(line, "234"))
        app_change_protocol(context, "tls", false);
    if (found) {
        state->dynamic_port = tx->dynamic_port = address.port;
        state->active = tx->active = state->file_refused = false;
    } else if (tx->data_port != 0 && line->bytes[0] >= '4' && state->dynamic_port == 0) {
        state->dynamic_port = tx->data_port; /* after a refused command servers keep the data port open */
        state->active = tx->data_active;
        state->file_refused |= ftp_transfers_file(tx->command);
    }
    announce_waiting_data(context, state);
}

/* Returns the command that a reply line answers, or NULL if there is none. This is the oldest open command. If it has
 * no reply line yet, 227 and 229 answer the first PASV and EPSV instead, and the commands before that are completed:
 * some servers also answer empty lines, so there may be more replies than commands. */
static struct ftp_tx *find_answered_command(const struct app_context *context, const struct ftp_state *state,
                                            const struct line *line)
{
    struct ftp_tx *oldest = oldest_tx(context);
    enum ftp_command command = FTP_OTHER;

    if (state->in_multiline_reply || !oldest || oldest->reply_count > 0 || line->length < 3)
        return oldest;
    if (code_equals(line, "227"))
        command = FTP_PASV;
    else if (code_equals(line, "229"))
        command = FTP_EPSV;
    if (command == FTP_OTHER || oldest->command == command)
        return oldest;
    for (struct app_tx *tx = &oldest->tx; tx; tx = app_tx_next_open(tx)) {
        if (((struct ftp_tx *)tx)->command != command)
            continue;
        while ((oldest = oldest_tx(context)) && &oldest->tx != tx)
            complete_tx(oldest);
        return oldest;
    }
    return NULL;
}

/* Whether the line completes the reply to a command; updates the state of multi-line replies. The first line of a
 * multi-line reply (RFC 959 4.2) has a hyphen after the code, its last line the same code and no hyphen. A preliminary
 * (1yz) reply does not complete the reply. */
static bool completes_reply(struct ftp_state *state, const struct line *line)
{
    bool coded = has_code(line), has_hyphen = is_continued(line);

    if (state->in_multiline_reply) {
        if (!coded || has_hyphen || memcmp(line->bytes, state->code, 3) != 0)
            return false;
        state->in_multiline_reply = false;
    } else if (has_hyphen) {
        state->in_multiline_reply = true;
        memcpy(state->code, line->bytes, 3);
        return false;
    }
    return !coded || line->bytes[0] != '1';
}

/* Handles a line of a reply. Sets *changed if TLS follows the reply. Returns 0 or -errno. */
static int handle_reply(struct app_context *context, struct ftp_state *state, const struct line *line, bool *changed)
{
    struct ftp_tx *tx;

    if (line->length == 0 && !state->in_multiline_reply)
        return 0;
    tx = find_answered_command(context, state, line);
    if (!tx)
        tx = new_tx(context);
    if (!tx)
        return -ENOMEM;
    if (line->truncated) {
        tx->reply_truncated = true;
        app_event(context, &tx->tx, FTP_RESPONSE_COMMAND_TOO_LONG);
    }
    int err = store_reply(context, tx, line);

    if (err || !completes_reply(state, line))
        return err;
    if (has_code(line)) {
        *changed = tx->command == FTP_AUTH_TLS && memcmp(line->bytes, "234", 3) == 0;
        apply_reply(context, state, tx, line);
    }
    complete_tx(tx);
    return 0;
}

static struct app_result ftp_feed(struct app_context *context, void *data, const struct app_input *in)
{
    const struct ftp_settings *settings = app_get_settings(context);
    struct ftp_state *state = data;
    struct app_result result = { .status = APP_OK };
    bool *skip = &state->skip[in->direction], changed = false;
    uint32_t seen = in->seen;

    while (result.consumed < in->length && !changed) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed;
        struct line line;

        if (*skip) {
            result.consumed += skip_rest(skip, at, left);
            seen = 0;
            continue;
        }
        if (!next_line(skip, at, left, seen, settings->line_max, &line)) {
            if (!in->end || in->direction != FLOW_TO_SERVER)
                break;
            /* ProFTPD executes a command without a line end when the client closes the connection. */
            line.consumed = left;
            trim(&line);
        }
        seen = 0;
        int err = in->direction == FLOW_TO_SERVER ? handle_request(context, state, &line)
                                                  : handle_reply(context, state, &line, &changed);

        result.consumed += line.consumed;
        if (err)
            return (struct app_result){ .status = APP_ERROR };
    }
    return result;
}

static void ftp_tx_free(struct app_context *context, struct app_tx *tx)
{
    struct ftp_tx *ftp = (struct ftp_tx *)tx;

    buffer_clear(app_heap(context), &ftp->request);
    buffer_clear(app_heap(context), &ftp->telnet);
    buffer_clear(app_heap(context), &ftp->replies);
    heap_release(app_heap(context), ftp->reply);
}

/* --- State transfer to the next engine --------------------------------------------------------------- */

static void transfer_reply(struct transfer *t, const struct ftp_tx *tx, struct ftp_reply *reply)
{
    transfer_u32(t, &reply->at);
    transfer_u32(t, &reply->length);
    transfer_bool(t, &reply->has_code);
    transfer_bytes(t, reply->code, sizeof(reply->code));
    transfer_require(t, reply->at <= tx->replies.length && reply->length <= tx->replies.length - reply->at);
}

static void transfer_replies(struct app_context *context, struct transfer *t, struct ftp_tx *tx)
{
    app_transfer_buffer(context, t, &tx->replies);
    transfer_u16(t, &tx->reply_count);
    transfer_require(t, tx->reply_count <= FTP_REPLIES_MAX);
    if (t->reading && !t->error && tx->reply_count > 0) {
        tx->reply = heap_alloc(app_heap(context), tx->reply_count * sizeof(*tx->reply));
        tx->reply_room = tx->reply ? tx->reply_count : 0;
    }
    if (t->error || !tx->reply)
        tx->reply_count = tx->reply_room = 0;
    for (uint16_t i = 0; i < tx->reply_count && !t->error; i++)
        transfer_reply(t, tx, &tx->reply[i]);
}

static void transfer_tx(struct app_context *context, struct transfer *t, struct ftp_tx *tx)
{
    app_transfer_buffer(context, t, &tx->request);
    transfer_replies(context, t, tx);
    transfer_u16(t, &tx->dynamic_port);
    transfer_u16(t, &tx->data_port);
    transfer_bool(t, &tx->data_active);
    transfer_bool(t, &tx->active);
    transfer_bool(t, &tx->is_bounce);
    transfer_bool(t, &tx->request_truncated);
    transfer_bool(t, &tx->reply_truncated);
    if (t->error)
        return;
    if (t->reading && tx->request.length > 0) {
        if (ftp_interpret_telnet(app_heap(context), tx->request.bytes, tx->request.length, &tx->telnet)) {
            t->error = -ENOMEM;
            return;
        }
        split_request(tx);
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, FTP_COMPLETE);
    }
    app_transfer_tx(context, t, &tx->tx);
}

static void transfer_open_txs(struct app_context *context, struct transfer *t)
{
    uint32_t count = t->reading ? 0 : app_tx_open_count(context);
    struct ftp_tx *tx = t->reading ? NULL : oldest_tx(context);

    transfer_u32(t, &count);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        if (t->reading)
            tx = new_tx(context);
        if (!tx)
            return;
        transfer_tx(context, t, tx);
        tx = (struct ftp_tx *)app_tx_next_open(&tx->tx);
    }
}

static void ftp_transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct ftp_state *state = data;

    transfer_bool(t, &state->skip[FLOW_TO_SERVER]);
    transfer_bool(t, &state->skip[FLOW_TO_CLIENT]);
    transfer_bool(t, &state->in_multiline_reply);
    transfer_bytes(t, state->code, sizeof(state->code));
    transfer_u16(t, &state->dynamic_port);
    transfer_bool(t, &state->active);
    transfer_bool(t, &state->file_refused);
    transfer_open_txs(context, t);
}

/* --- Detection --------------------------------------------------------------------------------------- */

enum { PROBE_MAX = 512 };

static bool starts_with(const struct app_probe *in, const char *word)
{
    size_t length = strlen(word);

    return in->length >= length && strncasecmp((const char *)in->bytes, word, length) == 0;
}

/* Returns the end of the first line within the first PROBE_MAX bytes, or NULL. */
static const uint8_t *find_line_end(const struct app_probe *in)
{
    return memchr(in->bytes, '\n', in->length < PROBE_MAX ? in->length : PROBE_MAX);
}

/* Accepts a first line with one of the commands in `words`. POP3, IMAP, SMTP and IRC use some of these words, too. On
 * ports other than those of FTP their lines are excluded: POP3, IMAP and SMTP by port, IRC by several arguments, or
 * PASS in the first line. */
static enum app_probe_result probe_client(const struct app_probe *in)
{
    static const char *const words[] = { "USER ", "PASS ", "PORT ", "FEAT", "AUTH TLS" };
    const uint8_t *end = find_line_end(in);
    bool known = false;

    for (unsigned i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        size_t length = strlen(words[i]);

        known |= strncasecmp((const char *)in->bytes, words[i], in->length < length ? in->length : length) == 0;
    }
    if (!known)
        return APP_NO;
    if (!end && in->length < PROBE_MAX)
        return APP_UNSURE;
    if (in->port_hint || !end)
        return in->port_hint ? APP_YES : APP_NO;
    if (in->server_port == 110 || in->server_port == 143 || in->server_port == 25 || in->length < 5 ||
        starts_with(in, "PASS "))
        return APP_NO;
    return starts_with(in, "AUTH TLS") ||
                   !memchr(in->bytes + 5, ' ', (size_t)(end - in->bytes) > 5 ? (size_t)(end - in->bytes - 5) : 0)
               ? APP_YES
               : APP_NO;
}

static bool contains_ftp(const uint8_t *bytes, size_t length)
{
    for (size_t i = 0; i + 3 <= length; i++)
        if (strncasecmp((const char *)bytes + i, "ftp", 3) == 0)
            return true;
    return false;
}

/* Accepts a greeting with code 220: on a port of FTP any text, on other ports a text that contains "FTP" or begins with
 * a parenthesis. */
static enum app_probe_result probe_server(const struct app_probe *in)
{
    const uint8_t *end = find_line_end(in);

    if (strncmp((const char *)in->bytes, "220", in->length < 3 ? in->length : 3) != 0)
        return APP_NO;
    if (in->length < 5)
        return APP_UNSURE;
    if (in->bytes[3] != ' ' && in->bytes[3] != '-')
        return APP_NO;
    if (in->port_hint || in->bytes[4] == '(')
        return APP_YES;
    if (!end)
        return in->length < PROBE_MAX ? APP_UNSURE : APP_NO;
    return contains_ftp(in->bytes, (size_t)(end - in->bytes)) ? APP_YES : APP_NO;
}

static enum app_probe_result ftp_probe(const struct app_probe *in)
{
    if (in->length == 0)
        return APP_UNSURE;
    return in->direction == FLOW_TO_SERVER ? probe_client(in) : probe_server(in);
}

/* --- Settings ---------------------------------------------------------------------------------------- */

static const struct setting setting_rows[] = {
    { .name = "eve.types.ftp",
      .type = SETTING_SECTION,
      .help = "Event types ftp and ftp_data: an FTP command with its reply, and a data connection" },
    { .name = "app-layer.protocols.ftp.max-line-length",
      SETTING_FIELD(ftp_settings, line_max),
      .type = SETTING_SIZE,
      .default_value = "4096",
      .low = 64,
      .high = 32768,
      .help = "Maximum length of a command or of a line of a reply, in bytes; the rest is cut off" },
    { .name = "app-layer.protocols.ftp.max-tx",
      SETTING_FIELD(ftp_settings, tx_max),
      .type = SETTING_NUMBER,
      .default_value = "1024",
      .low = 1,
      .high = 4096,
      .help = "Maximum number of commands without a reply; beyond it the connection is no longer parsed" },
    { .name = NULL },
};

const struct app_proto app_ftp = {
    .name = "ftp",
    .help = "FTP control connections",
    .transports = APP_TCP,
    .tcp_ports = "21",
    .continues_after_errors = true,
    .probe = ftp_probe,
    .probe_any_port = true,
    .state_size = sizeof(struct ftp_state),
    .feed = ftp_feed,
    .transfer = ftp_transfer,
    .tx_size = sizeof(struct ftp_tx),
    .tx_free = ftp_tx_free,
    .complete = { FTP_COMPLETE, FTP_COMPLETE },
    .tx_max = 8192,
    .events = events,
    .event_count = FTP_EVENTS,
    .buffers = ftp_buffers,
    .buffer_count = FTP_BUFFERS,
    .conditions = ftp_conditions,
    .condition_count = FTP_CONDITIONS,
    .log_type = "ftp",
    .log_key = "ftp",
    .log = ftp_log,
    .settings = setting_rows,
    .settings_size = sizeof(struct ftp_settings),
};
