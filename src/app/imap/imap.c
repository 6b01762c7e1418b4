/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * IMAP (RFC 9051, RFC 3501): commands, responses, and the messages in them. A transaction is a command with its tagged
 * response, or an untagged FETCH response with messages, which may answer any command.
 *
 * A line may contain literals: {5} at its end announces five bytes, after which the line continues. The literals of a
 * FETCH response, and the one of APPEND, are parsed as messages; others are skipped. Of a line its first bytes are
 * stored, and its last ones, which may announce a literal.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "app/smtp/mail.h"
#include "sluice/app.h"
#include "sluice/transfer.h"

enum {
    LINE_MAX_LENGTH = 4096, /* bytes of a line that are stored, without its literals */
    TAIL_MAX = 24,          /* last bytes of a line, which announce a literal */
    TAG_MAX = 64,           /* bytes of a tag that are compared */
    WORD_MAX = 16,
};

enum command {
    COMMAND_OTHER,
    COMMAND_APPEND,
    COMMAND_AUTHENTICATE,
    COMMAND_COMPRESS,
    COMMAND_IDLE,
    COMMAND_STARTTLS,
    COMMANDS,
};

static const char *const command_names[COMMANDS] = {
    [COMMAND_APPEND] = "APPEND", [COMMAND_AUTHENTICATE] = "AUTHENTICATE", [COMMAND_COMPRESS] = "COMPRESS",
    [COMMAND_IDLE] = "IDLE",     [COMMAND_STARTTLS] = "STARTTLS",
};

enum { COMPLETE = 1 };

struct imap_tx {
    struct app_tx tx;
    uint8_t command;   /* enum command */
    bool is_fetch;     /* a FETCH response; otherwise a command */
    uint32_t tag_hash; /* hash_tag() of the tag, 0 without a tag; computed, not transferred */
    uint8_t tag_length;
    uint8_t tag[TAG_MAX];
    char name[WORD_MAX + 1];   /* the command, in upper case */
    char status[WORD_MAX + 1]; /* of the tagged response: OK, NO or BAD; empty: none yet */
    struct mail mail;
};

/* A line that is being received, in a direction. */
struct line {
    struct buffer text; /* its first bytes, without literals */
    uint8_t tail[TAIL_MAX];
    uint8_t tail_length;
    bool continues;   /* a literal of the line was received */
    bool is_message;  /* the current literal is a message */
    bool mid_line;    /* message: the first pieces of its current line were parsed */
    bool waits;       /* client: the literal needs a continuation request, which has not arrived */
    uint64_t literal; /* bytes of the current literal that have not been received */
};

struct imap_state {
    struct line line[FLOW_DIRECTIONS];
    uint64_t current[FLOW_DIRECTIONS]; /* id + 1 of the transaction of the line; 0: none */
    bool challenged; /* the server has sent a continuation request: the next line belongs to AUTHENTICATE */
    bool awaits_tls; /* STARTTLS was accepted; further data of IMAP means that no TLS followed */
};

struct imap_settings {
    uint32_t tx_max;
};

/* Context of one call of feed(). */
struct feeding {
    struct app_context *context;
    struct imap_state *state;
    enum flow_direction direction;
    struct imap_tx *current; /* the last result of find_tx() */
    int err;
};

/* --- Transactions --------------------------------------------------------------------------------- */

/* Returns the transaction of the current line; NULL for none. */
static struct imap_tx *find_tx(struct feeding *f)
{
    const uint64_t number = f->state->current[f->direction];
    struct app_tx *tx = app_tx_first_open(f->context);

    if (number == 0)
        return NULL;
    if (f->current && f->current->tx.id + 1 == number)
        return f->current;
    while (tx && tx->id + 1 != number)
        tx = app_tx_next_open(tx);
    f->current = (struct imap_tx *)tx;
    return f->current;
}

/* Adds a transaction, to which the current line belongs. Returns NULL, with f->err set, if there are too many. */
static struct imap_tx *new_tx(struct feeding *f)
{
    const struct imap_settings *settings = app_get_settings(f->context);
    struct imap_tx *tx =
        app_tx_open_count(f->context) < settings->tx_max ? (struct imap_tx *)app_tx_new(f->context) : NULL;

    if (!tx) {
        f->err = -ENOMEM;
        return NULL;
    }
    f->state->current[f->direction] = tx->tx.id + 1;
    return tx;
}

static void complete_tx(struct imap_tx *tx)
{
    app_tx_advance(&tx->tx, FLOW_TO_SERVER, COMPLETE);
    app_tx_advance(&tx->tx, FLOW_TO_CLIENT, COMPLETE);
}

static void free_tx(struct app_context *context, struct app_tx *tx)
{
    mail_clear(app_heap(context), &((struct imap_tx *)tx)->mail);
}

static void free_state(struct app_context *context, void *data)
{
    struct imap_state *state = data;

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++)
        buffer_clear(app_heap(context), &state->line[direction].text);
}

/* --- Words ---------------------------------------------------------------------------------------- */

struct word {
    const uint8_t *bytes;
    uint32_t length;
};

/* Returns the next word of a line and advances *at; its length is 0 at the end. */
static struct word next_word(const uint8_t *line, uint32_t length, uint32_t *at)
{
    uint32_t start;

    while (*at < length && line[*at] == ' ')
        ++*at;
    start = *at;
    while (*at < length && line[*at] != ' ')
        ++*at;
    return (struct word){ line + start, *at - start };
}

static bool word_equals(struct word word, const char *text)
{
    return mime_equal_nocase(word.bytes, word.length, text);
}

/* Stores a word in upper case, at most WORD_MAX bytes of it. */
static void store_word(char out[WORD_MAX + 1], struct word word)
{
    uint32_t length = word.length < WORD_MAX ? word.length : WORD_MAX;

    for (uint32_t i = 0; i < length; i++)
        out[i] = (char)(word.bytes[i] >= 'a' && word.bytes[i] <= 'z' ? word.bytes[i] - 'a' + 'A' : word.bytes[i]);
    out[length] = '\0';
}

/* Returns whether the line ends with the announcement of a literal: {5}, {5+} or ~{5}. Sets its length. */
static bool parse_literal(const struct line *line, uint64_t *length, bool *waits)
{
    uint32_t end = line->tail_length, at;
    uint64_t value = 0, scale = 1;

    if (end < 3 || line->tail[end - 1] != '}')
        return false;
    at = --end;
    *waits = line->tail[at - 1] != '+' && line->tail[at - 1] != '-';
    at -= !*waits;
    end = at;
    while (at > 0 && line->tail[at - 1] >= '0' && line->tail[at - 1] <= '9' && end - at < 18) {
        value += scale * (uint64_t)(line->tail[--at] - '0');
        scale *= 10;
    }
    *length = value;
    return at < end && at > 0 && line->tail[at - 1] == '{';
}

/* Hashes at most TAG_MAX bytes of a tag (FNV-1a). The result is not 0. */
static uint32_t hash_tag(const uint8_t *tag, uint32_t length)
{
    uint32_t hash = 2166136261;

    for (uint32_t i = 0; i < length && i < TAG_MAX; i++)
        hash = (hash ^ tag[i]) * 16777619;
    return hash > 0 ? hash : 1;
}

/* --- Commands ------------------------------------------------------------------------------------- */

/* Handles the start of a command line, up to its first literal or its end. Returns its transaction; NULL: none. */
static struct imap_tx *begin_command(struct feeding *f, const uint8_t *text, uint32_t length)
{
    struct word tag, name;
    struct imap_tx *tx;
    uint32_t at = 0;

    if (f->state->challenged) {
        f->state->challenged = false;
        return NULL;
    }
    tag = next_word(text, length, &at);
    name = next_word(text, length, &at);
    if (name.length == 0) /* DONE, which ends IDLE; or an empty line */
        return NULL;
    tx = new_tx(f);
    if (!tx)
        return NULL;
    tx->tag_length = (uint8_t)(tag.length < TAG_MAX ? tag.length : TAG_MAX);
    memcpy(tx->tag, tag.bytes, tx->tag_length);
    tx->tag_hash = hash_tag(tx->tag, tx->tag_length);
    store_word(tx->name, name);
    for (enum command i = COMMAND_OTHER + 1; i < COMMANDS; i++)
        if (word_equals(name, command_names[i]))
            tx->command = (uint8_t)i;
    return tx;
}

/* --- Responses ------------------------------------------------------------------------------------ */

/* Handles a tagged response. */
static void complete_command(struct feeding *f, struct word tag, struct word status)
{
    const uint32_t hash = hash_tag(tag.bytes, tag.length), length = tag.length < TAG_MAX ? tag.length : TAG_MAX;
    struct app_tx *tx = app_tx_first_open(f->context);
    struct imap_tx *imap = NULL;

    for (; tx; tx = app_tx_next_open(tx)) {
        imap = (struct imap_tx *)tx;
        if (imap->tag_hash == hash && imap->tag_length == length && memcmp(imap->tag, tag.bytes, length) == 0)
            break;
    }
    if (!tx)
        return;
    store_word(imap->status, status);
    /* The server refuses a literal: the client does not send it. */
    struct line *line = &f->state->line[FLOW_TO_SERVER];

    if (line->waits && f->state->current[FLOW_TO_SERVER] == tx->id + 1) {
        line->waits = line->is_message = line->continues = false;
        line->literal = 0;
        f->state->current[FLOW_TO_SERVER] = 0;
    }
    f->state->challenged = false;
    if (word_equals(status, "OK") && imap->command == COMMAND_STARTTLS) {
        f->state->awaits_tls = true;
        app_change_protocol(f->context, "tls", true);
    }
    if (word_equals(status, "OK") && imap->command == COMMAND_COMPRESS)
        app_stop_parsing(f->context, false);
    complete_tx(imap);
}

static bool is_number(struct word word)
{
    for (uint32_t i = 0; i < word.length; i++)
        if (word.bytes[i] < '0' || word.bytes[i] > '9')
            return false;
    return word.length > 0;
}

/* Handles the start of a line of the server, up to its first literal or its end. `has_literal`: a literal follows.
 * Returns the transaction of a FETCH response with messages; NULL: none. */
static struct imap_tx *begin_response(struct feeding *f, const uint8_t *text, uint32_t length, bool has_literal)
{
    uint32_t at = 0;
    struct word first = next_word(text, length, &at), second = next_word(text, length, &at);
    struct imap_tx *tx;

    if (word_equals(first, "+")) {
        struct imap_tx *newest = (struct imap_tx *)app_tx_last_open(f->context);

        f->state->line[FLOW_TO_SERVER].waits = false;
        f->state->challenged = newest && newest->command == COMMAND_AUTHENTICATE;
        return NULL;
    }
    if (!word_equals(first, "*")) {
        if (word_equals(second, "OK") || word_equals(second, "NO") || word_equals(second, "BAD"))
            complete_command(f, first, second);
        return NULL;
    }
    if (!has_literal || !is_number(second) || !word_equals(next_word(text, length, &at), "FETCH"))
        return NULL;
    tx = new_tx(f);
    if (tx)
        tx->is_fetch = true;
    return tx;
}

/* --- Lines and literals --------------------------------------------------------------------------- */

/* Handles a line, or the part of a line between two literals. */
static void end_line(struct feeding *f, struct line *line)
{
    const bool to_server = f->direction == FLOW_TO_SERVER, begins = !line->continues;
    static const uint8_t nothing[1];
    const uint8_t *text = line->text.length > 0 ? line->text.bytes : nothing;
    uint64_t length = 0;
    bool waits = false, has_literal = parse_literal(line, &length, &waits);
    struct imap_tx *tx;

    if (begins)
        f->state->current[f->direction] = 0;
    if (begins && to_server)
        tx = begin_command(f, text, line->text.length);
    else if (begins)
        tx = begin_response(f, text, line->text.length, has_literal);
    else
        tx = find_tx(f);
    line->text.length = 0;
    line->tail_length = 0;
    line->continues = has_literal;
    if (f->err)
        return;
    if (has_literal) {
        line->literal = length;
        line->waits = to_server && waits;
        line->is_message = tx && length > 0 && (tx->is_fetch || tx->command == COMMAND_APPEND);
        line->mid_line = false;
        if (line->is_message)
            f->err = mail_begin(f->context, &tx->mail, f->direction);
        return;
    }
    buffer_clear(app_heap(f->context), &line->text);
    if (tx && to_server)
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, COMPLETE);
    else if (tx)
        complete_tx(tx);
    f->state->current[f->direction] = 0;
}

/* Consumes a part of a line. Returns the number of bytes. */
static uint32_t consume_line(struct feeding *f, struct line *line, const uint8_t *bytes, uint32_t length)
{
    const uint8_t *end = memchr(bytes, '\n', length);
    uint32_t size = end ? (uint32_t)(end - bytes) : length, kept;

    kept = line->text.length < LINE_MAX_LENGTH ? LINE_MAX_LENGTH - line->text.length : 0;
    kept = size < kept ? size : kept;
    if (buffer_append(app_heap(f->context), &line->text, bytes, kept, LINE_MAX_LENGTH) < kept) {
        f->err = -ENOMEM;
        return 0;
    }
    if (size >= TAIL_MAX) {
        memcpy(line->tail, bytes + size - TAIL_MAX, TAIL_MAX);
        line->tail_length = TAIL_MAX;
    } else if (size > 0) {
        uint32_t old = line->tail_length < TAIL_MAX - size ? line->tail_length : TAIL_MAX - size;

        memmove(line->tail, line->tail + line->tail_length - old, old);
        memcpy(line->tail + old, bytes, size);
        line->tail_length = (uint8_t)(old + size);
    }
    if (!end)
        return size;
    if (line->text.length > 0 && line->text.bytes[line->text.length - 1] == '\r')
        line->text.length--;
    if (line->tail_length > 0 && line->tail[line->tail_length - 1] == '\r')
        line->tail_length--;
    end_line(f, line);
    return size + 1;
}

/* Consumes a part of a literal. Returns the number of bytes; 0 when more are needed. */
static uint32_t consume_literal(struct feeding *f, struct line *line, const uint8_t *bytes, uint32_t length,
                                uint32_t seen)
{
    uint32_t size = length < line->literal ? length : (uint32_t)line->literal;
    struct imap_tx *tx = line->is_message ? find_tx(f) : NULL;

    line->waits = false;
    if (tx) {
        struct mime_line piece = { .begins = !line->mid_line };
        uint32_t done = mime_next_piece(bytes, size, seen < size ? seen : size, &piece);

        if (done == 0 && size < line->literal)
            return 0;
        if (done == 0) /* the literal ends within a line */
            piece = (struct mime_line){ .bytes = bytes, .length = done = size, .begins = piece.begins };
        line->mid_line = piece.end_length == 0;
        mail_line(f->context, &tx->mail, &tx->tx, &piece);
        size = done;
    }
    line->literal -= size;
    if (line->literal == 0 && tx)
        mail_end(f->context, &tx->mail, &tx->tx, true);
    return size;
}

static struct app_result feed(struct app_context *context, void *data, const struct app_input *in)
{
    struct imap_state *state = data;
    struct feeding f = { .context = context, .state = state, .direction = in->direction };
    struct line *line = &state->line[in->direction];
    struct app_result result = { .status = APP_OK };
    uint32_t seen = in->seen;

    state->awaits_tls = false; /* the data that follows an accepted STARTTLS is not TLS: IMAP continues */
    while (result.consumed < in->length && !state->awaits_tls && !f.err) {
        const uint8_t *at = in->bytes + result.consumed;
        uint32_t left = in->length - result.consumed;
        uint32_t size =
            line->literal > 0 ? consume_literal(&f, line, at, left, seen) : consume_line(&f, line, at, left);

        if (size == 0)
            break;
        result.consumed += size;
        seen = 0;
    }
    if (in->end && line->literal > 0 && line->is_message) {
        struct imap_tx *tx = find_tx(&f);

        line->is_message = false;
        if (tx)
            mail_end(context, &tx->mail, &tx->tx, false);
    }
    if (f.err)
        result.status = APP_ERROR;
    return result;
}

/* --- State transfer to the next engine ------------------------------------------------------------ */

static void transfer_line(struct app_context *context, struct transfer *t, struct line *line)
{
    app_transfer_buffer(context, t, &line->text);
    transfer_u8(t, &line->tail_length);
    transfer_require(t, line->text.length <= LINE_MAX_LENGTH && line->tail_length <= TAIL_MAX);
    if (t->error)
        line->tail_length = 0;
    transfer_bytes(t, line->tail, line->tail_length);
    transfer_bool(t, &line->continues);
    transfer_bool(t, &line->is_message);
    transfer_bool(t, &line->mid_line);
    transfer_bool(t, &line->waits);
    transfer_u64(t, &line->literal);
}

static void transfer_tx(struct app_context *context, struct transfer *t, struct imap_tx *tx)
{
    uint8_t progress = tx->tx.progress[FLOW_TO_SERVER];

    transfer_u8(t, &tx->command);
    transfer_bool(t, &tx->is_fetch);
    transfer_u8(t, &tx->tag_length);
    transfer_require(t, tx->command < COMMANDS && tx->tag_length <= TAG_MAX);
    if (t->error)
        return;
    transfer_bytes(t, tx->tag, tx->tag_length);
    tx->tag_hash = tx->is_fetch ? 0 : hash_tag(tx->tag, tx->tag_length);
    transfer_bytes(t, tx->name, WORD_MAX);
    transfer_bytes(t, tx->status, WORD_MAX);
    transfer_u8(t, &progress);
    transfer_require(t, progress <= COMPLETE);
    if (!t->error)
        mail_transfer(context, t, &tx->mail, &tx->tx);
    if (t->error)
        return;
    if (t->reading)
        app_tx_advance(&tx->tx, FLOW_TO_SERVER, progress);
    app_transfer_tx(context, t, &tx->tx);
}

static void transfer(struct app_context *context, void *data, struct transfer *t)
{
    struct imap_state *state = data;
    uint32_t count = t->reading ? 0 : app_tx_open_count(context);
    struct app_tx *tx = t->reading ? NULL : app_tx_first_open(context);

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        transfer_line(context, t, &state->line[direction]);
        transfer_u64(t, &state->current[direction]);
    }
    transfer_bool(t, &state->challenged);
    transfer_bool(t, &state->awaits_tls);
    transfer_u32(t, &count);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        if (t->reading)
            tx = app_tx_new(context);
        if (!tx)
            return;
        transfer_tx(context, t, (struct imap_tx *)tx);
        tx = app_tx_next_open(tx);
    }
}

/* --- Protocol detection --------------------------------------------------------------------------- */

enum { PROBE_MAX = 128 };

/* Compares the first bytes with a text, which ends in a separator. Sets *possible if they are the start of it. */
static bool begins_with(const uint8_t *bytes, uint32_t length, const char *text, bool *possible)
{
    uint32_t size = (uint32_t)strlen(text);

    if (strncasecmp((const char *)bytes, text, length < size ? length : size) != 0)
        return false;
    if (length > size)
        return bytes[size] == ' ' || bytes[size] == '\r' || bytes[size] == '\n';
    *possible = true;
    return false;
}

/* Accepts a tag and a command. On ports other than those of IMAP the tag must contain a digit, and the command must be
 * one with which sessions begin. */
static enum app_probe_result probe_client(const struct app_probe *in)
{
    static const char *const firsts[] = { "CAPABILITY", "LOGIN", "AUTHENTICATE", "STARTTLS", "ID" };
    static const char *const others[] = { "NOOP",      "LOGOUT", "SELECT", "EXAMINE", "LIST",   "LSUB",   "STATUS",
                                          "NAMESPACE", "FETCH",  "UID",    "SEARCH",  "APPEND", "ENABLE", "IDLE" };
    bool possible = false, has_digit = false;
    uint32_t at = 0;

    while (at < in->length && at < PROBE_MAX && in->bytes[at] > ' ' && in->bytes[at] < 127 &&
           !memchr("(){%*\"\\+", in->bytes[at], 8)) {
        has_digit |= in->bytes[at] >= '0' && in->bytes[at] <= '9';
        at++;
    }
    if (at == in->length)
        return at < PROBE_MAX ? APP_UNSURE : APP_NO;
    if (at == 0 || in->bytes[at] != ' ' || (!has_digit && !in->port_hint))
        return APP_NO;
    at++;
    for (unsigned i = 0; i < sizeof(firsts) / sizeof(firsts[0]); i++)
        if (begins_with(in->bytes + at, in->length - at, firsts[i], &possible))
            return APP_YES;
    for (unsigned i = 0; in->port_hint && i < sizeof(others) / sizeof(others[0]); i++)
        if (begins_with(in->bytes + at, in->length - at, others[i], &possible))
            return APP_YES;
    return possible ? APP_UNSURE : APP_NO;
}

static enum app_probe_result probe(const struct app_probe *in)
{
    static const char *const greetings[] = { "* OK", "* PREAUTH", "* BYE" };
    bool possible = in->length == 0;

    if (in->direction == FLOW_TO_SERVER)
        return probe_client(in);
    for (unsigned i = 0; i < sizeof(greetings) / sizeof(greetings[0]); i++)
        if (begins_with(in->bytes, in->length, greetings[i], &possible))
            return APP_YES;
    return possible ? APP_UNSURE : APP_NO;
}

/* --- Protocol table ------------------------------------------------------------------------------- */

/* Suricata has no events and no object of IMAP: they are members of the object "sluice" of alerts. */
static void log_own(const struct app_tx *base, struct fields *out)
{
    const struct imap_tx *tx = (const struct imap_tx *)base;

    fields_object_open(out, "imap");
    fields_string(out, "command", tx->is_fetch ? "FETCH" : tx->name);
    if (tx->status[0])
        fields_string(out, "status", tx->status);
    mail_log(&tx->mail, base, out);
    fields_object_close(out);
}

static const struct app_buffer buffers[] = {
    { &keyword_file_data, APP_BOTH, 0, .get = app_file_data, .grows = true },
};

static const struct setting setting_rows[] = {
    { .name = "app-layer.protocols.imap.max-tx",
      SETTING_FIELD(imap_settings, tx_max),
      .type = SETTING_NUMBER,
      .default_value = "256",
      .low = 1,
      .high = 4096,
      .help = "Maximum number of commands without a response; beyond it the connection is no longer parsed" },
    { .name = NULL },
};

const struct app_proto app_imap = {
    .name = "imap",
    .help = "IMAP, including its messages",
    .transports = APP_TCP,
    .tcp_ports = "143",
    .probe = probe,
    .probe_any_port = true,
    .state_size = sizeof(struct imap_state),
    .stop = free_state,
    .feed = feed,
    .transfer = transfer,
    .tx_size = sizeof(struct imap_tx),
    .tx_free = free_tx,
    .complete = { COMPLETE, COMPLETE },
    .tx_max = 8192,
    .buffers = buffers,
    .buffer_count = sizeof(buffers) / sizeof(buffers[0]),
    .log_own = log_own,
    .settings = setting_rows,
    .settings_size = sizeof(struct imap_settings),
};
