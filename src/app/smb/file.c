/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contents of files that are read or written, in the order of the file. */
#include "smb_priv.h"

#include <string.h>

static bool is_same_id(const struct smb_file_id *a, const struct smb_file_id *b)
{
    return a->length == b->length && memcmp(a->bytes, b->bytes, a->length) == 0;
}

struct smb_tx *smb_file_find(const struct smb_parser *parser, const struct smb_file_id *id,
                             enum flow_direction direction)
{
    for (struct smb_tx *tx = smb_tx_first_open(parser); tx; tx = smb_tx_next_open(tx))
        if (tx->kind == SMB_FILE && tx->file.direction == direction && is_same_id(&tx->id, id))
            return tx;
    return NULL;
}

/* Like smb_file_find(), but only files to which data can still be appended. */
static struct smb_tx *find_open_file(const struct smb_parser *parser, const struct smb_file_id *id,
                                     enum flow_direction direction)
{
    for (struct smb_tx *tx = smb_tx_first_open(parser); tx; tx = smb_tx_next_open(tx))
        if (tx->kind == SMB_FILE && tx->file.file && tx->file.direction == direction && is_same_id(&tx->id, id))
            return tx;
    return NULL;
}

static struct smb_tx *add_file(struct smb_parser *parser, const struct smb_message *message,
                               const struct smb_transfer *transfer)
{
    /* to the server: WRITE_ANDX and SMB 2 WRITE; to the client: READ_ANDX and SMB 2 READ */
    static const uint16_t commands[FLOW_DIRECTIONS][2] = {
        [FLOW_TO_SERVER] = { 0x2f, 9 }, [FLOW_TO_CLIENT] = { 0x2e, 8 }
    };
    const struct smb_entry *tree = smb_tree_find(parser, message);
    struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);

    key.message = 0;
    if (message->version == 1)
        key = (struct smb_key){ .type = SMB_KEY_NONE };
    struct smb_tx *tx =
        smb_tx_new(parser, SMB_FILE, message->version, commands[parser->direction][message->version - 1], &key);

    if (!tx)
        return NULL;
    app_tx_advance(&tx->head.tx, FLOW_TO_SERVER, 0);
    tx->id = *transfer->id;
    tx->file.direction = parser->direction;
    smb_name_copy(parser, transfer->id, transfer->fallback_name, &tx->text[SMB_TEXT_NAME]);
    if (tree)
        smb_store_bytes(parser, &tx->text[SMB_TEXT_SHARE], tree->bytes.bytes, tree->bytes.length);
    tx->file.file =
        file_open(app_files(parser->context), &tx->head.tx.files[parser->direction], app_next_file_id(parser->context),
                  tx->text[SMB_TEXT_NAME].bytes, tx->text[SMB_TEXT_NAME].length);
    parser->failed |= !tx->file.file;
    return parser->failed ? NULL : tx;
}

/* --- Data -------------------------------------------------------------------------------------------- */

uint32_t smb_file_data(struct smb_parser *parser, const uint8_t *bytes, uint64_t length)
{
    struct smb_side *side = &parser->state->side[parser->direction];
    uint32_t consumed = length < side->chunk_left ? (uint32_t)length : side->chunk_left;
    struct smb_tx *tx = consumed > 0 ? find_open_file(parser, &side->file, parser->direction) : NULL;
    uint64_t at = side->chunk_at;

    side->chunk_left -= consumed;
    side->chunk_at += consumed;
    if (tx && file_chunks_add(app_files(parser->context), &tx->file.chunks, tx->file.file, at, bytes, consumed))
        app_tx_mark_changed(&tx->head.tx, tx->file.direction);
    return consumed;
}

static bool fits_in_queue(struct smb_parser *parser, struct smb_tx *tx, uint32_t length)
{
    const struct smb_settings *settings = parser->settings;
    bool writes = parser->direction == FLOW_TO_SERVER;
    uint64_t size = writes ? settings->max_write_queue_size : settings->max_read_queue_size;
    uint32_t count = writes ? settings->max_write_queue_count : settings->max_read_queue_count;

    if (size > 0 && tx->file.chunks.queued + length > size)
        smb_tx_set_event(parser, tx, writes ? SMB_WRITE_QUEUE_SIZE_EXCEEDED : SMB_READ_QUEUE_SIZE_EXCEEDED);
    else if (count > 0 && tx->file.chunks.count >= count)
        smb_tx_set_event(parser, tx, writes ? SMB_WRITE_QUEUE_CNT_EXCEEDED : SMB_READ_QUEUE_CNT_EXCEEDED);
    else
        return true;
    return false;
}

void smb_file_transfer(struct smb_parser *parser, const struct smb_message *message,
                       const struct smb_transfer *transfer)
{
    struct smb_side *side = &parser->state->side[parser->direction];
    struct smb_tx *tx = find_open_file(parser, transfer->id, parser->direction);

    if (!tx)
        tx = add_file(parser, message, transfer);
    if (!tx)
        return;
    if (transfer->offset < tx->file.chunks.tracked)
        smb_tx_set_event(parser, tx, SMB_FILE_OVERLAP);
    if (!fits_in_queue(parser, tx, transfer->length) || transfer->offset > UINT64_MAX - transfer->length)
        return;
    side->file = *transfer->id;
    side->chunk_at = transfer->offset;
    side->chunk_left = transfer->length;
    smb_file_data(parser, transfer->bytes, transfer->received);
}

void smb_file_close(struct smb_parser *parser, struct smb_tx *tx)
{
    bool is_whole = tx->file.file && !tx->file.file->has_gaps && !tx->file.chunks.first;

    if (tx->file.file)
        file_close(app_files(parser->context), tx->file.file, is_whole ? FILE_CLOSED : FILE_TRUNCATED);
    tx->file.file = NULL;
    app_tx_mark_changed(&tx->head.tx, tx->file.direction);
    file_chunks_clear(app_files(parser->context), &tx->file.chunks);
}

void smb_file_close_all(struct smb_parser *parser)
{
    for (struct smb_tx *tx = smb_tx_first_open(parser); tx; tx = smb_tx_next_open(tx)) {
        if (tx->kind != SMB_FILE || !tx->file.file || tx->file.direction != parser->direction)
            continue;
        file_close(app_files(parser->context), tx->file.file, FILE_TRUNCATED);
        tx->file.file = NULL;
        app_tx_mark_changed(&tx->head.tx, tx->file.direction);
    }
}
