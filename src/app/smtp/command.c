/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Client commands. A transaction starts with the first command of the session, and with the first command after a
 * message or RSET. RSET and QUIT start one only if they are the first command of the session.
 */
#include <errno.h>
#include <string.h>

#include "smtp_priv.h"

static const struct {
    const char *word;
    uint8_t length;
    enum smtp_command command;
} commands[] = {
    { "starttls", 8, SMTP_STARTTLS }, { "data", 4, SMTP_DATA_COMMAND }, { "bdat", 4, SMTP_BDAT },
    { "helo", 4, SMTP_HELO },         { "ehlo", 4, SMTP_HELO },         { "lhlo", 4, SMTP_HELO },
    { "mail", 4, SMTP_MAIL },         { "rcpt", 4, SMTP_RCPT },         { "rset", 4, SMTP_RSET },
    { "quit", 4, SMTP_QUIT },         { "auth", 4, SMTP_AUTH },
};

/* Commands that do not change the state of the parser. */
static const char *const ignored_commands[] = {
    "noop", "vrfy", "expn", "help", "turn", "etrn", "send", "soml", "saml"
};

static bool has_prefix(const uint8_t *line, uint32_t length, const char *word, uint32_t word_length)
{
    return length >= word_length && mime_equal_nocase(line, word_length, word);
}

static enum smtp_command find_command(const uint8_t *line, uint32_t length)
{
    for (unsigned i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
        if (has_prefix(line, length, commands[i].word, commands[i].length))
            return commands[i].command;
    return SMTP_OTHER;
}

/* --- Reply queue ---------------------------------------------------------------------------------- */

static bool reserve_queue_entry(struct heap *heap, struct smtp_state *state)
{
    if (state->queue_first + state->queue_count < state->queue_room)
        return true;
    if (state->queue_first > 0 && state->queue_count <= state->queue_room / 2) {
        memmove(state->queue, state->queue + state->queue_first, state->queue_count * sizeof(*state->queue));
        state->queue_first = 0;
        return true;
    }
    uint32_t room = state->queue_room ? state->queue_room * 2 : 8;
    struct smtp_pending_reply *grown =
        heap_grow(heap, state->queue, state->queue_room * sizeof(*grown), room * sizeof(*grown));

    if (!grown)
        return false;
    state->queue = grown;
    state->queue_room = room;
    return true;
}

int smtp_queue_command(struct smtp_feed *f, enum smtp_command command, const struct smtp_tx *tx)
{
    struct smtp_state *state = f->state;

    if (state->queue_count >= SMTP_QUEUE_MAX)
        return -EINVAL;
    if (!reserve_queue_entry(app_heap(f->context), state))
        return -ENOMEM;
    struct smtp_pending_reply *end = state->queue + state->queue_first + state->queue_count;

    if (state->queue_count > 0 &&
        (end[-1].command == SMTP_STARTTLS || (end[-1].command == SMTP_DATA_COMMAND && !end[-1].has_alternative)))
        smtp_event(f, f->current, SMTP_INVALID_PIPELINED_SEQUENCE);
    *end = (struct smtp_pending_reply){ .command = command, .tx = tx ? tx->tx.id + 1 : 0 };
    state->queue_count++;
    state->data_pending += command == SMTP_DATA_COMMAND;
    return 0;
}

/* --- Command arguments ---------------------------------------------------------------------------- */

static bool is_blank(uint8_t byte)
{
    return byte == ' ' || byte == '\t';
}

/* Returns the first word at or after offset `at`, and its length in *size. */
static const uint8_t *find_argument(const uint8_t *line, uint32_t length, uint32_t at, uint32_t *size)
{
    uint32_t end;

    while (at < length && is_blank(line[at]))
        at++;
    if (at > length)
        at = length;
    for (end = at; end < length && !is_blank(line[end]);)
        end++;
    *size = end - at;
    return line + at;
}

/* Returns the address after MAIL FROM: or RCPT TO:, with its angle brackets and without parameters of extensions.
 * Servers accept blanks before and after the brackets and within them; Exim also accepts text before them. */
static const uint8_t *find_address(const uint8_t *line, uint32_t length, uint32_t *size)
{
    const uint8_t *colon = memchr(line, ':', length);
    uint32_t at = colon ? (uint32_t)(colon + 1 - line) : length;
    const uint8_t *open = at < length ? memchr(line + at, '<', length - at) : NULL;
    uint32_t end;

    if (!open)
        return find_argument(line, length, at, size);
    at = (uint32_t)(open - line);
    for (end = at; end < length && line[end] != '>';)
        end++;
    if (end == length)
        return find_argument(line, length, at, size);
    *size = end + 1 - at;
    return open;
}

static int store_argument(struct heap *heap, struct buffer *buffer, const uint8_t *bytes, uint32_t length)
{
    return buffer_append(heap, buffer, bytes, length, SMTP_LINE_MAX) < length ? -ENOMEM : 0;
}

/* Appends the argument of a further HELO or MAIL FROM command to `others` if it differs from `first`, the argument of
 * the first such command: some servers use a later command than the first, and some use the whole rest of the HELO
 * line. When the buffer is full, the arguments in it are dropped. */
static void add_differing_argument(struct heap *heap, struct buffer *others, const struct buffer *first,
                                   const uint8_t *text, uint32_t length)
{
    while (length > 0 && is_blank(text[length - 1]))
        length--;
    if (length == 0 || (length == first->length && memcmp(text, first->bytes, length) == 0))
        return;
    if (others->length + length + 1 > SMTP_LINE_MAX)
        buffer_clear(heap, others);
    if (buffer_append(heap, others, text, length, SMTP_LINE_MAX) < length ||
        buffer_append(heap, others, "\n", 1, SMTP_LINE_MAX) < 1)
        buffer_clear(heap, others);
}

static int handle_helo(struct smtp_feed *f, struct smtp_tx *tx, const uint8_t *line, uint32_t length)
{
    struct heap *heap = app_heap(f->context);
    uint32_t size;
    const uint8_t *name = find_argument(line, length, 5, &size);

    if (f->state->has_helo)
        smtp_event(f, tx, SMTP_DUPLICATE_FIELDS);
    if (f->state->has_helo || name + size < line + length)
        add_differing_argument(heap, &tx->other_helos, &tx->helo, name, (uint32_t)(line + length - name));
    if (f->state->has_helo)
        return 0;
    f->state->has_helo = tx->has_helo = true;
    int err = store_argument(heap, &f->state->helo, name, size);

    return err ? err : store_argument(heap, &tx->helo, name, size);
}

static int handle_mail(struct smtp_feed *f, struct smtp_tx *tx, const uint8_t *line, uint32_t length)
{
    uint32_t size;
    const uint8_t *address = find_address(line, length, &size);

    if (tx->has_mail_from) {
        smtp_event(f, tx, SMTP_DUPLICATE_FIELDS);
        add_differing_argument(app_heap(f->context), &tx->other_senders, &tx->mail_from, address, size);
        return 0;
    }
    tx->has_mail_from = true;
    return store_argument(app_heap(f->context), &tx->mail_from, address, size);
}

static int handle_rcpt(struct smtp_feed *f, struct smtp_tx *tx, const uint8_t *line, uint32_t length)
{
    struct heap *heap = app_heap(f->context);
    uint32_t size;
    const uint8_t *address = find_address(line, length, &size);

    if (tx->recipient_count == SMTP_RECIPIENTS_MAX || tx->recipient_text.length + size > SMTP_RECIPIENT_BYTES) {
        smtp_event(f, tx, SMTP_TOO_MANY_RECIPIENTS);
        return 0;
    }
    if (tx->recipient_count == tx->recipient_room) {
        uint32_t room = tx->recipient_room ? tx->recipient_room * 2 : 2;
        struct smtp_text *grown =
            heap_grow(heap, tx->recipients, tx->recipient_count * sizeof(*grown), room * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        tx->recipients = grown;
        tx->recipient_room = room;
    }
    tx->recipients[tx->recipient_count] = (struct smtp_text){ .at = tx->recipient_text.length, .length = size };
    if (buffer_append(heap, &tx->recipient_text, address, size, SMTP_RECIPIENT_BYTES) < size)
        return -ENOMEM;
    tx->recipient_count++;
    return 0;
}

static int handle_data(struct smtp_feed *f, struct smtp_tx **tx)
{
    int err;

    if ((*tx)->mime || (*tx)->raw) {
        smtp_event(f, *tx, SMTP_UNPARSABLE_CONTENT);
        smtp_abort_message(f, *tx);
        smtp_complete_tx(f, *tx);
        *tx = smtp_new_tx(f);
        if (!*tx)
            return -ENOMEM;
    }
    err = smtp_start_message(f, *tx);
    f->state->mid_line[FLOW_TO_SERVER] = false;
    return err;
}

/* Handles "BDAT length [LAST]"; *command becomes SMTP_OTHER if the arguments have another form. Returns 0 or -errno. */
static int handle_bdat(struct smtp_feed *f, struct smtp_tx *tx, enum smtp_command *command, const uint8_t *line,
                       uint32_t length)
{
    struct smtp_state *state = f->state;
    uint32_t size, rest = 0;
    const uint8_t *number = find_argument(line, length, 4, &size), *last;
    bool is_valid = length >= 6 && is_blank(line[4]) && size > 0 && size <= 18;
    uint64_t value = 0;

    for (uint32_t i = 0; is_valid && i < size; i++) {
        is_valid = number[i] >= '0' && number[i] <= '9';
        value = value * 10 + (uint64_t)(number[i] - '0');
    }
    if (is_valid) {
        last = find_argument(line, length, (uint32_t)(number - line) + size, &rest);
        is_valid = rest == 0 || mime_equal_nocase(last, rest, "last");
    }
    if (!is_valid) {
        smtp_event(f, tx, SMTP_INVALID_BDAT);
        *command = SMTP_OTHER;
        return 0;
    }
    state->chunk_left = value;
    state->chunk_is_last = rest > 0;
    if (state->chunk_is_last)
        *command = SMTP_BDAT_LAST;
    if (state->partial.length == 0 && !tx->has_data)
        state->mid_line[FLOW_TO_SERVER] = false;
    state->mode = SMTP_IN_CHUNK;
    return smtp_start_message(f, tx);
}

/* --- Command lines -------------------------------------------------------------------------------- */

static int handle_command(struct smtp_feed *f, struct smtp_tx **tx, enum smtp_command *command, const uint8_t *line,
                          uint32_t length)
{
    switch (*command) {
    case SMTP_HELO:
        if ((*tx)->has_mail_from || (*tx)->has_data)
            *command = SMTP_HELO_AGAIN;
        return handle_helo(f, *tx, line, length);
    case SMTP_MAIL:
        return handle_mail(f, *tx, line, length);
    case SMTP_RCPT:
        return handle_rcpt(f, *tx, line, length);
    case SMTP_DATA_COMMAND:
        return handle_data(f, tx);
    case SMTP_BDAT:
        return handle_bdat(f, *tx, command, line, length);
    case SMTP_RSET:
        buffer_clear(app_heap(f->context), &f->state->partial);
        if (*tx) {
            smtp_abort_message(f, *tx);
            (*tx)->request_complete = true;
            app_tx_advance(&(*tx)->tx, FLOW_TO_SERVER, SMTP_COMPLETE);
        }
        return 0;
    default:
        return 0;
    }
}

int smtp_parse_command(struct smtp_feed *f, const uint8_t *line, uint32_t length)
{
    /* Servers ignore blanks before a command. */
    while (!f->state->in_auth && length > 0 && is_blank(*line)) {
        line++;
        length--;
    }
    enum smtp_command command = f->state->in_auth ? SMTP_AUTH : find_command(line, length);
    struct smtp_state *state = f->state;
    struct smtp_tx *tx = f->current;
    bool starts_tx = (command != SMTP_RSET && command != SMTP_QUIT) || f->state->tx_count == 0;
    bool is_command = command != SMTP_OTHER;

    for (unsigned i = 0; !is_command && i < sizeof(ignored_commands) / sizeof(ignored_commands[0]); i++)
        is_command = has_prefix(line, length, ignored_commands[i], 4);
    bool chunk_too_long = state->after_chunk && !is_command;

    state->after_chunk = state->in_auth = false;
    if (chunk_too_long)
        smtp_event(f, tx, SMTP_BDAT_CHUNK_TOO_LONG);
    if ((!tx || tx->request_complete) && starts_tx) {
        tx = smtp_new_tx(f);
        if (!tx)
            return -ENOMEM;
    }
    if (!f->state->greeted)
        smtp_event(f, tx, SMTP_NO_WELCOME);
    int err = handle_command(f, &tx, &command, line, length);

    if (err)
        return err;
    if (tx)
        app_tx_mark_changed(&tx->tx, FLOW_TO_SERVER);
    err = smtp_queue_command(f, command, tx);
    if (err)
        return err;
    if (command == SMTP_DATA_COMMAND && state->replies_lost)
        state->mode = SMTP_IN_DATA;
    else if (command == SMTP_DATA_COMMAND)
        state->is_ambiguous = true;
    if (state->mode == SMTP_IN_CHUNK && state->chunk_left == 0)
        smtp_end_chunk(f);
    else if (state->mode == SMTP_IN_CHUNK && !state->chunking && !state->replies_lost)
        state->is_ambiguous = true;
    return 0;
}
