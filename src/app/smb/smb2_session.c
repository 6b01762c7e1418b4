/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB 2 and 3 negotiation, session setup, renames and deletions. */
#include <string.h>

#include "smb_priv.h"

enum { NEGOTIATE = 0, SESSION_SETUP = 1, SET_INFO = 17, RENAME_INFO = 10, DISPOSITION_INFO = 13 };

static struct cursor body_of(const struct smb_message *message)
{
    return cursor_of(message->bytes + SMB2_HEADER, message->length - SMB2_HEADER);
}

bool smb2_handle_negotiate_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 36);
    uint32_t count = fixed ? load_le16(fixed + 2) : 0; /* DialectCount; ClientGuid at 12 */
    const uint8_t *dialects = fixed ? cursor_read(&cur, 2 * (size_t)count) : NULL;
    struct smb_tx *tx;

    if (!dialects)
        return false;
    if (smb_tx_find_negotiate(parser, 2))
        return true;
    tx = smb_tx_new(parser, SMB_NEGOTIATE, 2, NEGOTIATE, NULL);
    if (!tx)
        return true;
    smb_store_bytes(parser, &tx->text[SMB_TEXT_DIALECTS], dialects,
                    2 * (size_t)(count < SMB_DIALECTS_MAX ? count : SMB_DIALECTS_MAX));
    tx->negotiate.has_client_guid = true;
    memcpy(tx->negotiate.client_guid, fixed + 12, SMB_GUID);
    return true;
}

/* Also handles the SMB 2 response to an SMB 1 negotiation. */
bool smb2_handle_negotiate_response(struct smb_parser *parser, const struct smb_message *message, bool *found)
{
    const struct smb_settings *settings = parser->settings;
    struct smb_state *state = parser->state;
    struct cursor cur = body_of(message);
    bool success = message->status == SMB_STATUS_SUCCESS;
    const uint8_t *fixed = cursor_read(&cur, success ? 40 : 4);
    struct smb_tx *tx = smb_tx_find_negotiate(parser, 2);

    *found = false;
    if (!fixed)
        return false;
    state->dialect = success ? load_le16(fixed + 4) : 0; /* DialectRevision; ServerGuid at 8 */
    state->max_read = success ? load_le32(fixed + 32) : 0;
    state->max_write = success ? load_le32(fixed + 36) : 0;
    if (!tx)
        tx = smb_tx_find_negotiate(parser, 1);
    *found = tx != NULL;
    if (!tx)
        return true;
    if (success) {
        tx->negotiate.has_server_guid = true;
        memcpy(tx->negotiate.server_guid, fixed + 8, SMB_GUID);
    }
    tx->negotiate.max_read = state->max_read;
    tx->negotiate.max_write = state->max_write;
    if (settings->max_read_size && state->max_read > settings->max_read_size)
        smb_tx_set_event(parser, tx, SMB_NEGOTIATE_MAX_READ_SIZE_TOO_LARGE);
    if (settings->max_write_size && state->max_write > settings->max_write_size)
        smb_tx_set_event(parser, tx, SMB_NEGOTIATE_MAX_WRITE_SIZE_TOO_LARGE);
    smb_tx_set_response(parser, tx, message);
    return true;
}

bool smb2_handle_session_setup_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    struct smb_tx *tx;

    if (!cursor_skip(&cur, 24))
        return false;
    tx = smb_tx_new(parser, SMB_SESSION_SETUP, 2, SESSION_SETUP, &key);
    if (tx)
        smb_read_security_blob(parser, tx, cur.at, cursor_remaining(&cur));
    return true;
}

/* The first response assigns the session id, which was 0 in the request. */
void smb2_handle_session_setup_response(struct smb_parser *parser, const struct smb_message *message)
{
    struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    struct smb_tx *tx = smb_tx_find(parser, SMB_SESSION_SETUP, 2, SESSION_SETUP, &key);

    if (!tx) {
        key.session = 0;
        tx = smb_tx_find(parser, SMB_SESSION_SETUP, 2, SESSION_SETUP, &key);
    }
    if (!tx)
        return;
    tx->key = smb_message_key(message, SMB_KEY_HEADER);
    smb_tx_set_status(tx, message->status, false);
    smb_tx_complete(parser, tx, FLOW_TO_CLIENT);
}

/* --- Set info ---------------------------------------------------------------------------------------- */

static void rename_file(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id,
                        const uint8_t *name, uint32_t length)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct smb_tx *tx = smb_tx_new(parser, SMB_RENAME, 2, SET_INFO, &key);

    if (!tx)
        return;
    tx->id = *id;
    smb_name_copy(parser, id, "<unknown>", &tx->text[SMB_TEXT_NAME]);
    smb_store_text(parser, &tx->text[SMB_TEXT_NEW_NAME], name, length);
}

/* Adds a transaction for a request that sets or clears deletion on close. In a compounded request the file may be
 * the one that the preceding CREATE opens. The id of the file is then still unknown, so the name in the CREATE is
 * stored. */
static void set_disposition(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id,
                            bool delete)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    const struct smb_entry *opened =
        message->message > 0 ? smb_pending_find(parser, SMB_PENDING_NAME, message->session, message->message - 1)
                             : NULL;
    struct smb_tx *tx = smb_tx_new(parser, SMB_SET_INFO, 2, SET_INFO, &key);

    if (!tx)
        return;
    tx->id = *id;
    tx->set_info.subcommand = 1;
    tx->set_info.level = DISPOSITION_INFO;
    tx->set_info.delete_on_close = delete;
    if (!smb_name_find(parser, id) && opened)
        smb_store_bytes(parser, &tx->text[SMB_TEXT_NAME], opened->bytes.bytes, opened->bytes.length);
    else
        smb_name_copy(parser, id, "<unknown>", &tx->text[SMB_TEXT_NAME]);
}

bool smb2_handle_set_info_request(struct smb_parser *parser, const struct smb_message *message, bool *is_malformed)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 32), *name; /* InfoType at 2, BufferLength at 4, FileId at 16 */
    uint8_t level = fixed && fixed[2] == 1 ? fixed[3] : 0;
    uint32_t length = fixed ? load_le32(fixed + 4) : 0;

    *is_malformed = !fixed || length > cursor_remaining(&cur);
    if (*is_malformed)
        return false;
    cursor_limit(&cur, length);
    struct smb_file_id id = smb2_file_id(fixed + 16);
    /* ReplaceIfExists, reserved, RootDirectory, FileNameLength; or DeletePending */
    const uint8_t *info = level == RENAME_INFO ? cursor_read(&cur, 20) : cursor_read(&cur, 1);

    *is_malformed = !info && (level == RENAME_INFO || level == DISPOSITION_INFO);
    if (!info || (level != RENAME_INFO && level != DISPOSITION_INFO))
        return false;
    if (level == DISPOSITION_INFO) {
        set_disposition(parser, message, &id, info[0] & 1);
        return true;
    }
    length = load_le32(info + 16);
    name = cursor_read(&cur, length);
    *is_malformed = !name;
    if (name)
        rename_file(parser, message, &id, name, length);
    return name != NULL;
}
