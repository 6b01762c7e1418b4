/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Server replies. The first reply of the server is the greeting. Each further reply, with all its lines, belongs to the
 * oldest command with a pending reply. The reply to a message completes its transaction, whatever its code.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "smtp_priv.h"

static const uint16_t known_codes[] = {
    211, 214, 220, 221, 235, 250, 251, 252, 253, 334, 354, 421, 432, 450, 451, 452, 453, 454, 455, 458, 459,
    500, 501, 502, 503, 504, 521, 523, 524, 525, 530, 534, 535, 538, 550, 551, 552, 553, 554, 555, 556,
};

/* Returns the reply code; 0 when there is none or it is unknown. */
static unsigned parse_code(const uint8_t *line, uint32_t length)
{
    unsigned code = 0;

    if (length < 3)
        return 0;
    for (unsigned i = 0; i < 3; i++) {
        if (line[i] < '0' || line[i] > '9')
            return 0;
        code = code * 10 + (line[i] - '0');
    }
    for (unsigned i = 0; i < sizeof(known_codes) / sizeof(known_codes[0]); i++)
        if (known_codes[i] == code)
            return code;
    return 0;
}

bool smtp_is_reply(const uint8_t *line, uint32_t length)
{
    return parse_code(line, length) > 0;
}

/* Applies the effect of a complete reply to a command. Returns 0 or -errno. */
static int handle_reply(struct smtp_feed *f, const struct smtp_pending_reply *pending, unsigned code)
{
    struct smtp_tx *tx = smtp_find_tx(f, pending->tx);
    const bool is_current = tx && tx == f->current && !tx->request_complete;

    if (tx)
        app_tx_mark_changed(&tx->tx, FLOW_TO_CLIENT);
    switch (pending->command) {
    case SMTP_STARTTLS:
        if (code != 220) {
            smtp_event(f, tx, SMTP_TLS_REJECTED);
            return 0;
        }
        if (tx)
            smtp_complete_tx(f, tx);
        f->state->awaits_tls = true;
        app_change_protocol(f->context, "tls", true);
        return 0;
    case SMTP_DATA_COMMAND:
        if (code == 354) {
            if (is_current)
                f->state->mode = SMTP_IN_DATA;
            if (tx && tx->tx.progress[FLOW_TO_CLIENT] < SMTP_REPLIES_DATA)
                app_tx_advance(&tx->tx, FLOW_TO_CLIENT, SMTP_REPLIES_DATA);
            return 0;
        }
        smtp_event(f, tx, SMTP_DATA_REJECTED);
        if (is_current && code >= 400)
            smtp_drop_message(f, tx);
        return 0;
    case SMTP_HELO_AGAIN:
        if (code == 250 && tx) {
            smtp_abort_message(f, tx);
            smtp_complete_tx(f, tx);
        }
        return 0;
    case SMTP_MESSAGE:
    case SMTP_BDAT_LAST:
    case SMTP_RSET:
        if (tx)
            smtp_complete_tx(f, tx);
        return 0;
    case SMTP_OTHER:
        /* The server interpreted an unknown command as DATA if it replies 354: a message follows. */
        if (code != 354 || !is_current)
            return 0;
        f->state->mode = SMTP_IN_DATA;
        f->state->mid_line[FLOW_TO_SERVER] = false;
        return smtp_start_message(f, tx);
    default:
        return 0;
    }
}

/* Handles code 354, the reply to DATA: if a DATA command is in the queue, drops the commands before it. Their replies
 * were lost, or assigned to other commands. */
static void drop_commands_before_data(struct smtp_feed *f)
{
    struct smtp_state *state = f->state;
    uint32_t first = state->queue_first, end = first + state->queue_count, data = first;

    if (state->data_pending == 0)
        return;
    while (data < end && state->queue[data].command != SMTP_DATA_COMMAND)
        data++;
    for (uint32_t at = first; at < data; at++) {
        struct smtp_tx *tx = smtp_find_tx(f, state->queue[at].tx);

        if (state->queue[at].has_alternative)
            smtp_resolve_alternative(f, true);
        if (tx && tx->request_complete)
            smtp_complete_tx(f, tx);
    }
    state->queue_count = end - data;
    state->queue_first = data;
}

int smtp_parse_reply(struct smtp_feed *f, const uint8_t *line, uint32_t length, uint32_t end_length)
{
    struct smtp_state *state = f->state;
    unsigned code = parse_code(line, length);
    bool has_more_lines = length > 3 && line[3] == '-';

    if (length == 0 && end_length == 1)
        return 0;
    if (code == 354)
        drop_commands_before_data(f);
    const struct smtp_pending_reply *pending = state->queue_count > 0 ? &state->queue[state->queue_first] : NULL;

    if (code == 0) {
        smtp_event(f, pending ? smtp_find_tx(f, pending->tx) : f->current, SMTP_INVALID_REPLY);
        return -EINVAL;
    }
    /* The line is the greeting, or it is not a reply to any command. */
    if (!pending || (!state->greeted && code == 220 && pending->command != SMTP_STARTTLS)) {
        if (!state->greeted && code != 220)
            smtp_event(f, f->current, SMTP_INVALID_REPLY);
        state->greeted |= !has_more_lines;
        return 0;
    }
    state->greeted = true;
    f->replied = smtp_find_tx(f, pending->tx);
    /* The reply to EHLO lists the server's extensions, one per line (RFC 2920, RFC 3030). */
    if ((pending->command == SMTP_HELO || pending->command == SMTP_HELO_AGAIN) && code == 250 && length >= 4) {
        state->pipelining |= mime_equal_nocase(line + 4, length - 4, "pipelining");
        state->chunking |= mime_equal_nocase(line + 4, length - 4, "chunking");
    }
    if (has_more_lines)
        return 0;
    struct smtp_pending_reply done = *pending;

    state->in_auth = done.command == SMTP_AUTH && code == 334;
    state->data_pending -= done.command == SMTP_DATA_COMMAND;
    state->queue_first++;
    if (--state->queue_count == 0)
        state->queue_first = 0;
    if (done.has_alternative) {
        /* A server without CHUNKING rejects BDAT as an unknown command and interprets the chunk as commands. A server
         * with CHUNKING that refuses BDAT discards the chunk. */
        bool accepted = done.command == SMTP_DATA_COMMAND ? code < 400 : code < 400 || state->chunking;

        int err = handle_reply(f, &done, code);

        smtp_resolve_alternative(f, accepted);
        return err;
    }
    if (done.command == SMTP_DATA_COMMAND || done.command == SMTP_BDAT || done.command == SMTP_BDAT_LAST)
        state->is_ambiguous = false;
    return handle_reply(f, &done, code);
}

void smtp_clear_queue(struct smtp_feed *f)
{
    struct smtp_state *state = f->state;

    smtp_end_alternatives(f);
    state->is_ambiguous = false;
    for (uint32_t i = 0; i < state->queue_count; i++) {
        const struct smtp_pending_reply *pending = &state->queue[state->queue_first + i];
        struct smtp_tx *tx = smtp_find_tx(f, pending->tx);

        if (tx && tx->request_complete)
            smtp_complete_tx(f, tx);
        if (tx && pending->command == SMTP_DATA_COMMAND && tx == f->current && state->mode == SMTP_COMMANDS)
            state->mode = SMTP_IN_DATA;
    }
    state->queue_first = state->queue_count = state->data_pending = 0;
    state->replies_lost = state->greeted = true;
}
