/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Transactions. */
#include <string.h>

#include "smb_priv.h"

struct smb_key smb_message_key(const struct smb_message *message, enum smb_key_type type)
{
    return (struct smb_key){
        .type = type,
        .tree = type == SMB_KEY_TREE ? 0 : message->tree,
        .session = message->session,
        .message = message->message,
    };
}

/* Returns the oldest transaction that is not complete in both directions; NULL for none. */
struct smb_tx *smb_tx_first_open(const struct smb_parser *parser)
{
    return (struct smb_tx *)app_tx_first_open(parser->context);
}

struct smb_tx *smb_tx_next_open(const struct smb_tx *tx)
{
    return (struct smb_tx *)app_tx_next_open(&tx->head.tx);
}

static void store_dialect(const struct smb_parser *parser, struct smb_tx *tx)
{
    tx->dialect = parser->state->dialect;
    tx->dialect_length = parser->state->dialect_length;
    memcpy(tx->dialect_name, parser->state->dialect_name, sizeof(tx->dialect_name));
}

static struct smb_tx *alloc_tx(struct smb_parser *parser, enum smb_kind kind, uint8_t version, uint16_t command,
                               const struct smb_key *key)
{
    struct smb_tx *tx = (struct smb_tx *)app_tx_new(parser->context);

    if (!tx) {
        parser->failed = true;
        return NULL;
    }
    tx->kind = kind;
    tx->version = version;
    tx->command = command;
    if (key)
        tx->key = *key;
    store_dialect(parser, tx);
    return tx;
}

struct smb_tx *smb_tx_new(struct smb_parser *parser, enum smb_kind kind, uint8_t version, uint16_t command,
                          const struct smb_key *key)
{
    bool fits = app_tx_open_count(parser->context) < parser->settings->max_tx;
    struct smb_tx *tx = alloc_tx(parser, kind, version, command, key);

    if (!tx)
        return NULL;
    app_tx_advance(&tx->head.tx, FLOW_TO_SERVER, SMB_COMPLETE);
    if (fits)
        return tx;
    app_event(parser->context, &tx->head.tx, SMB_TOO_MANY_TRANSACTIONS);
    tx->kind = SMB_GENERIC;
    tx->head.tx.only_events = true;
    parser->failed = true;
    return NULL;
}

struct smb_tx *smb_tx_find(const struct smb_parser *parser, enum smb_kind kind, uint8_t version, uint16_t command,
                           const struct smb_key *key)
{
    for (struct smb_tx *tx = smb_tx_first_open(parser); tx; tx = smb_tx_next_open(tx))
        if ((kind == SMB_KINDS || tx->kind == kind) && tx->version == version && tx->command == command &&
            tx->key.type == key->type && tx->key.session == key->session && tx->key.message == key->message)
            return tx;
    return NULL;
}

struct smb_tx *smb_tx_find_negotiate(const struct smb_parser *parser, uint8_t version)
{
    struct smb_tx *tx = smb_tx_first_open(parser);

    while (tx && (tx->kind != SMB_NEGOTIATE || tx->version != version))
        tx = smb_tx_next_open(tx);
    return tx;
}

struct smb_tx *smb_tx_find_last(const struct smb_parser *parser, uint8_t version, uint16_t command)
{
    struct smb_tx *last = (struct smb_tx *)app_tx_last_open(parser->context);

    return last && last->version == version && last->command == command ? last : NULL;
}

void smb_tx_complete(const struct smb_parser *parser, struct smb_tx *tx, enum flow_direction direction)
{
    if (tx->head.tx.progress[direction] >= SMB_COMPLETE)
        return;
    app_tx_advance(&tx->head.tx, direction, SMB_COMPLETE);
    app_tx_mark_changed(&tx->head.tx, direction);
    store_dialect(parser, tx);
}

void smb_tx_complete_both(const struct smb_parser *parser, struct smb_tx *tx)
{
    smb_tx_complete(parser, tx, FLOW_TO_SERVER);
    smb_tx_complete(parser, tx, FLOW_TO_CLIENT);
}

void smb_tx_set_status(struct smb_tx *tx, uint32_t status, bool is_dos_status)
{
    tx->has_status = true;
    tx->is_dos_status = is_dos_status;
    tx->error_class = (uint8_t)status;
    tx->status = is_dos_status ? status >> 16 : status;
}

void smb_tx_set_response(const struct smb_parser *parser, struct smb_tx *tx, const struct smb_message *message)
{
    smb_tx_set_status(tx, message->status, message->is_dos_status);
    if (message->version != 2 || message->status != SMB_STATUS_PENDING)
        smb_tx_complete(parser, tx, FLOW_TO_CLIENT);
}

void smb_tx_set_event(struct smb_parser *parser, struct smb_tx *tx, enum smb_event event)
{
    if (tx)
        app_event(parser->context, &tx->head.tx, event);
}

void smb_report_event(struct smb_parser *parser, uint8_t version, enum smb_event event)
{
    struct smb_tx *tx = alloc_tx(parser, SMB_GENERIC, version, 0, NULL);

    if (!tx)
        return;
    tx->head.tx.only_events = true;
    smb_tx_complete_both(parser, tx);
    app_event(parser->context, &tx->head.tx, event);
}

void smb_tx_free(struct app_context *context, struct app_tx *head)
{
    struct heap *heap = app_heap(context);
    struct smb_tx *tx = (struct smb_tx *)head;

    if (tx->kind == SMB_FILE)
        file_chunks_clear(app_files(context), &tx->file.chunks);
    if (tx->kind == SMB_DCERPC)
        dce_call_clear(heap, &tx->call);
    for (unsigned i = 0; i < SMB_TEXTS; i++)
        buffer_clear(heap, &tx->text[i]);
}

void smb_store_bytes(struct smb_parser *parser, struct buffer *out, const uint8_t *bytes, size_t length)
{
    if (length > SMB_NAME_MAX)
        length = SMB_NAME_MAX;
    if (buffer_append(parser->heap, out, bytes, (uint32_t)length, SMB_NAME_MAX) < length && out->length < SMB_NAME_MAX)
        parser->failed = true;
}

void smb_store_text(struct smb_parser *parser, struct buffer *out, const uint8_t *bytes, size_t length)
{
    uint8_t chunk[64];
    size_t filled = 0;

    for (size_t i = 0; i < length && out->length < SMB_NAME_MAX; i++) {
        if (bytes[i] != 0)
            chunk[filled++] = bytes[i];
        if (filled < sizeof(chunk) && i + 1 < length)
            continue;
        smb_store_bytes(parser, out, chunk, filled);
        filled = 0;
    }
}
