/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB 1 transactions: DCE/RPC in pipes, renames and deletions. */
#include <string.h>

#include "smb_priv.h"

enum { TRANSACTION = 0x25, TRANSACTION2 = 0x32, RENAME = 0x07 };
enum { SET_PATH_INFO = 6, SET_FILE_INFO = 8, LEVEL_RENAME = 1010, LEVEL_DISPOSITION = 1013 };

/* Returns the bytes at the offset `at`, which a field of the message gives. Returns NULL if they are outside of the
 * message. */
static const uint8_t *get_part(const struct smb_message *message, uint32_t at, uint32_t length)
{
    return at >= SMB1_HEADER && at <= message->length && length <= message->length - at ? message->bytes + at : NULL;
}

/* --- Pipes ------------------------------------------------------------------------------------------- */

static bool handle_pipe_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = cursor_of(message->bytes + SMB1_HEADER, message->length - SMB1_HEADER);
    const uint8_t *fixed = cursor_read(&cur, 29), *setup, *bytes; /* from WordCount to SetupCount */
    struct smb_entry *pending;
    uint16_t length = fixed ? load_le16(fixed + 23) : 0; /* DataCount; DataOffset at 25 */

    if (!fixed)
        return false;
    if (fixed[0] != 16 || fixed[27] != 2 || length == 0)
        return true;
    setup = cursor_read(&cur, 4); /* function, FID */
    bytes = get_part(message, load_le16(fixed + 25), length);
    if (!setup || !bytes)
        return false;
    pending = smb_pending_add(parser, SMB_PENDING_ID, message);
    if (!pending)
        return true;
    pending->id = smb1_file_id(setup + 2, message);
    if (smb_is_dcerpc_pipe(parser, &pending->id))
        smb_handle_pipe_request(parser, message, bytes, length);
    return true;
}

void smb1_handle_transaction_request(struct smb_parser *parser, const struct smb_message *message)
{
    if (!handle_pipe_request(parser, message))
        smb1_handle_generic_request(parser, message, TRANSACTION, true);
}

static bool handle_pipe_response(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = cursor_of(message->bytes + SMB1_HEADER, message->length - SMB1_HEADER);
    const uint8_t *words = cursor_peek(&cur, 1), *fixed, *bytes;
    struct smb_entry *pending = smb_pending_find(parser, SMB_PENDING_ID, message->session, message->message);
    struct smb_file_id id = pending ? pending->id : (struct smb_file_id){ .length = 0 };

    smb_table_remove(parser->heap, &parser->state->pending, pending);
    if (!words)
        return false;
    if (words[0] == 0)
        return true;
    fixed = cursor_read(&cur, 21); /* from WordCount to SetupCount; DataCount at 13, DataOffset at 15 */
    if (!fixed)
        return false;
    bytes = get_part(message, load_le16(fixed + 15), load_le16(fixed + 13));
    if (!bytes)
        return false;
    bool overflow = message->status == (uint32_t)SMB_STATUS_BUFFER_OVERFLOW;

    if (!smb_is_dcerpc_pipe(parser, &id) && !(overflow && pending))
        return true;
    id.length = id.length > 2 ? 2 : id.length; /* without the UID, because the key of fragments contains the session */
    smb_handle_pipe_response(parser, message, &id, bytes, load_le16(fixed + 13));
    return true;
}

void smb1_handle_transaction_response(struct smb_parser *parser, const struct smb_message *message)
{
    bool ok = handle_pipe_response(parser, message);

    smb1_handle_generic_response(parser, message, !ok);
}

/* --- Renames and deletions --------------------------------------------------------------------------- */

bool smb1_handle_rename_request(struct smb_parser *parser, const struct smb_message *message)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct cursor cur = cursor_of(message->bytes + SMB1_HEADER, message->length - SMB1_HEADER);
    struct buffer names[2] = { { .length = 0 }, { .length = 0 } };
    struct smb_tx *tx = NULL;
    /* WordCount, SearchAttributes, ByteCount; each name follows a BufferFormat byte */
    bool ok = cursor_skip(&cur, 6) && smb1_read_string(parser, message, &cur, &names[0]) && cursor_skip(&cur, 1) &&
              smb1_read_string(parser, message, &cur, &names[1]);

    if (ok)
        tx = smb_tx_new(parser, SMB_RENAME, 1, RENAME, &key);
    for (unsigned i = 0; i < 2; i++) {
        if (tx)
            tx->text[SMB_TEXT_NAME + i] = names[i];
        else
            buffer_clear(parser->heap, &names[i]);
    }
    return ok;
}

/* The file that SET_PATH_INFO names, or that SET_FILE_INFO identifies by its FID. */
struct info_target {
    uint16_t subcommand, level;
    bool has_id; /* the file is identified by `id`; false: by `name` */
    struct smb_file_id id;
    struct cursor name;
};

/* Allocates a transaction for a rename or deletion of the target. */
static struct smb_tx *new_info_tx(struct smb_parser *parser, const struct smb_message *message, enum smb_kind kind,
                                  const struct info_target *target)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct smb_tx *tx = smb_tx_new(parser, kind, 1, TRANSACTION2, &key);
    struct cursor name = target->name;

    if (!tx)
        return NULL;
    if (!target->has_id) {
        smb1_read_string(parser, message, &name, &tx->text[SMB_TEXT_NAME]);
        return tx;
    }
    smb_name_copy(parser, &target->id, "<unknown>", &tx->text[SMB_TEXT_NAME]);
    tx->id = target->id;
    tx->id.length = 2;
    return tx;
}

static bool handle_set_info(struct smb_parser *parser, const struct smb_message *message,
                            const struct info_target *target, struct cursor data)
{
    const uint8_t *fixed = cursor_read(&data, target->level == LEVEL_RENAME ? 12 : 1), *name;
    uint32_t length;
    struct smb_tx *tx;

    if (!fixed)
        return false;
    if (target->level == LEVEL_DISPOSITION) {
        tx = new_info_tx(parser, message, SMB_SET_INFO, target);
        if (tx) {
            tx->set_info.subcommand = target->subcommand;
            tx->set_info.level = target->level;
            tx->set_info.delete_on_close = fixed[0] & 1;
        }
        return true;
    }
    length = load_le32(fixed + 8);
    name = cursor_read(&data, length);
    if (!name)
        return false;
    tx = new_info_tx(parser, message, SMB_RENAME, target);
    if (tx)
        smb_store_text(parser, &tx->text[SMB_TEXT_NEW_NAME], name, length);
    return true;
}

static bool read_target(const struct smb_message *message, const uint8_t *parameters, uint16_t length,
                        struct info_target *out)
{
    struct cursor cur = cursor_of(parameters, length);
    const uint8_t *fixed;

    out->has_id = out->subcommand == SET_FILE_INFO;
    fixed = cursor_read(&cur, out->has_id ? 4 : 6); /* FID and InformationLevel, or InformationLevel and reserved */
    if (!fixed)
        return false;
    out->level = load_le16(fixed + (out->has_id ? 2 : 0));
    if (out->has_id)
        out->id = smb1_file_id(fixed, message);
    else
        out->name = cur;
    return true;
}

bool smb1_handle_transaction2_request(struct smb_parser *parser, const struct smb_message *message, bool *is_malformed)
{
    struct cursor cur = cursor_of(message->bytes + SMB1_HEADER, message->length - SMB1_HEADER);
    const uint8_t *fixed = cursor_read(&cur, 31), *parameters, *data; /* from WordCount to the first setup word */
    struct info_target target = { .subcommand = fixed ? load_le16(fixed + 29) : 0 };

    *is_malformed = !fixed;
    if (!fixed || (target.subcommand != SET_PATH_INFO && target.subcommand != SET_FILE_INFO))
        return false;
    /* ParameterCount at 19, ParameterOffset at 21, DataCount at 23, DataOffset at 25 */
    parameters = get_part(message, load_le16(fixed + 21), load_le16(fixed + 19));
    data = get_part(message, load_le16(fixed + 25), load_le16(fixed + 23));
    *is_malformed = !parameters || !data || !read_target(message, parameters, load_le16(fixed + 19), &target);
    if (*is_malformed || (target.level != LEVEL_RENAME && target.level != LEVEL_DISPOSITION))
        return false;
    *is_malformed = !handle_set_info(parser, message, &target, cursor_of(data, load_le16(fixed + 23)));
    return !*is_malformed;
}
