/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB 2 and 3 messages. smb2_file.c handles file data, smb2_session.c negotiation, session setup, renames and
 * deletions. */
#include <string.h>

#include "smb_priv.h"

enum {
    NEGOTIATE = 0,
    SESSION_SETUP = 1,
    TREE_CONNECT = 3,
    TREE_DISCONNECT = 4,
    CREATE = 5,
    CLOSE = 6,
    READ = 8,
    WRITE = 9,
    IOCTL = 11,
    GET_INFO = 16,
    SET_INFO = 17,
};

enum { FLAG_RESPONSE = 1, FLAG_ASYNC = 2, PIPE_TRANSCEIVE = 0x0011c017 };

bool smb2_header_read(const uint8_t *bytes, uint32_t length, struct smb_message *out, uint32_t *next)
{
    uint32_t flags;

    if (length < SMB2_HEADER || memcmp(bytes, "\xfeSMB", 4) != 0)
        return false;
    flags = load_le32(bytes + 16);
    *next = load_le32(bytes + 20);
    *out = (struct smb_message){
        .version = 2,
        .command = load_le16(bytes + 12),
        .is_response = flags & FLAG_RESPONSE,
        .status = flags & FLAG_RESPONSE ? load_le32(bytes + 8) : 0,
        .tree = flags & FLAG_ASYNC ? 0 : load_le32(bytes + 36),
        .message = load_le64(bytes + 24),
        .session = load_le64(bytes + 40),
        .bytes = bytes,
        .length = length,
    };
    return true;
}

struct smb_file_id smb2_file_id(const uint8_t *guid)
{
    struct smb_file_id id = { .length = SMB_GUID };

    memcpy(id.bytes, guid, SMB_GUID);
    return id;
}

static struct cursor body_of(const struct smb_message *message)
{
    return cursor_of(message->bytes + SMB2_HEADER, message->length - SMB2_HEADER);
}

/* --- Trees ------------------------------------------------------------------------------------------- */

static bool handle_tree_connect_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 8);
    const struct smb_key key = smb_message_key(message, SMB_KEY_TREE);
    uint32_t at, length;
    struct smb_tx *tx;

    if (!fixed)
        return false;
    at = load_le16(fixed + 4);     /* PathOffset */
    length = load_le16(fixed + 6); /* PathLength */
    if (at < SMB2_HEADER + 8 || at > message->length || length > message->length - at)
        return false;
    tx = smb_tx_new(parser, SMB_TREE_CONNECT, 2, TREE_CONNECT, &key);
    if (tx)
        smb_store_text(parser, &tx->text[SMB_TEXT_NAME], message->bytes + at, length);
    return true;
}

/* Handles the response to a tree connect. Returns false if it is malformed. Sets *found if the request of the response
 * is known. */
static bool handle_tree_connect_response(struct smb_parser *parser, const struct smb_message *message, bool *found)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_TREE);
    struct smb_tx *tx = smb_tx_find(parser, SMB_TREE_CONNECT, 2, TREE_CONNECT, &key);
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 16); /* ShareType at 2 */

    *found = tx != NULL;
    if (tx && message->status != SMB_STATUS_SUCCESS) {
        smb_tx_set_response(parser, tx, message);
        return true;
    }
    if (!tx || !fixed)
        return fixed || message->status != SMB_STATUS_SUCCESS;
    tx->tree.is_answered = true;
    tx->tree.share_type = fixed[2];
    tx->tree.is_pipe = fixed[2] == 2;
    tx->key = smb_message_key(message, SMB_KEY_HEADER);
    smb_tree_add(parser, message, tx->text[SMB_TEXT_NAME].bytes, tx->text[SMB_TEXT_NAME].length, tx->tree.is_pipe);
    smb_tx_set_response(parser, tx, message);
    return true;
}

/* --- Files ------------------------------------------------------------------------------------------- */

static bool handle_create_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 56);
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    uint32_t options, length;
    struct smb_entry *pending;
    struct smb_tx *tx;

    if (!fixed)
        return false;
    options = load_le32(fixed + 40); /* CreateOptions */
    length = load_le16(fixed + 46);  /* NameLength; the name follows the fixed part */
    const uint8_t *name = cursor_read(&cur, length);

    if (!name)
        return false;
    pending = smb_pending_add(parser, SMB_PENDING_NAME, message);
    tx = pending ? smb_tx_new(parser, SMB_CREATE, 2, CREATE, &key) : NULL;
    if (!tx)
        return true;
    smb_store_text(parser, &pending->bytes, name, length);
    smb_store_bytes(parser, &tx->text[SMB_TEXT_NAME], pending->bytes.bytes, pending->bytes.length);
    tx->create.disposition = load_le32(fixed + 36);
    tx->create.delete_on_close = options & SMB_DELETE_ON_CLOSE;
    tx->create.is_directory = options & SMB_DIRECTORY_FILE;
    return true;
}

static bool handle_create_response(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 80);
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct smb_entry *pending;
    struct smb_tx *tx;

    if (!fixed)
        return false;
    struct smb_file_id id = smb2_file_id(fixed + 64);

    pending = smb_pending_find(parser, SMB_PENDING_NAME, message->session, message->message);
    if (pending) {
        smb_name_add(parser, &id, pending->bytes.bytes, pending->bytes.length);
        smb_table_remove(parser->heap, &parser->state->pending, pending);
    }
    tx = smb_tx_find(parser, SMB_CREATE, 2, CREATE, &key);
    if (!tx)
        return true;
    tx->id = id;
    tx->create.created = load_le64(fixed + 8);
    tx->create.accessed = load_le64(fixed + 16);
    tx->create.modified = load_le64(fixed + 24);
    tx->create.changed = load_le64(fixed + 32);
    tx->create.size = load_le64(fixed + 48); /* EndofFile */
    smb_tx_set_response(parser, tx, message);
    return true;
}

static bool handle_close_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 24); /* FileId at 8 */

    if (!fixed)
        return false;
    struct smb_file_id id = smb2_file_id(fixed + 8);

    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        struct smb_tx *tx = smb_file_find(parser, &id, direction);

        if (!tx)
            continue;
        smb_file_close(parser, tx);
        smb_tx_set_status(tx, SMB_STATUS_SUCCESS, false);
        smb_tx_complete_both(parser, tx);
    }
    return true;
}

static bool handle_read_request(struct smb_parser *parser, const struct smb_message *message, enum smb_event *event)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 48); /* Length at 4, Offset at 8, FileId at 16 */
    const struct smb_settings *settings = parser->settings;
    uint32_t length = fixed ? load_le32(fixed + 4) : 0;

    if (!fixed)
        return false;
    if ((parser->state->max_read && length > parser->state->max_read) ||
        (settings->max_read_size && length > settings->max_read_size)) {
        *event = SMB_READ_REQUEST_TOO_LARGE;
        return false;
    }
    struct smb_file_id id = smb2_file_id(fixed + 16);

    smb_read_add(parser, message, &id, load_le64(fixed + 8));
    return true;
}

/* --- Ioctl ------------------------------------------------------------------------------------------- */

static bool handle_ioctl_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 56);
    const struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    uint32_t length = fixed ? load_le32(fixed + 28) : 0; /* InputCount; CtlCode at 4, FileId at 8 */
    const uint8_t *bytes = fixed ? cursor_read(&cur, length) : NULL;
    struct smb_tx *tx;

    if (!bytes)
        return false;
    struct smb_file_id id = smb2_file_id(fixed + 8);

    if (load_le32(fixed + 4) == PIPE_TRANSCEIVE && smb_is_dcerpc_pipe(parser, &id)) {
        smb_handle_pipe_request(parser, message, bytes, length);
        return true;
    }
    tx = smb_tx_new(parser, SMB_IOCTL, 2, IOCTL, &key);
    if (tx)
        tx->ioctl.function = load_le32(fixed + 4);
    return true;
}

static void handle_ioctl_response(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = body_of(message);
    const uint8_t *fixed = cursor_read(&cur, 48);
    const struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    uint32_t length = fixed ? load_le32(fixed + 36) : 0; /* OutputCount; the input, if any, precedes the output */
    const uint8_t *bytes = fixed && cursor_skip(&cur, load_le32(fixed + 28)) ? cursor_read(&cur, length) : NULL;

    if (bytes) {
        struct smb_file_id id = smb2_file_id(fixed + 8);

        if (load_le32(fixed + 4) == PIPE_TRANSCEIVE && smb_is_dcerpc_pipe(parser, &id)) {
            smb_handle_pipe_response(parser, message, &(struct smb_file_id){ .length = 0 }, bytes, length);
            return;
        }
    }
    struct smb_tx *tx = smb_tx_find(parser, SMB_KINDS, 2, IOCTL, &key);

    if (!tx)
        return;
    if (!bytes && message->status == SMB_STATUS_SUCCESS)
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    smb_tx_set_response(parser, tx, message);
}

/* --- Messages ---------------------------------------------------------------------------------------- */

static void handle_request(struct smb_parser *parser, const struct smb_message *message)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    enum smb_event event = SMB_MALFORMED_DATA;
    bool ok = true, has_tx = false, malformed = false;

    switch (message->command) {
    case NEGOTIATE:
        ok = has_tx = smb2_handle_negotiate_request(parser, message);
        break;
    case SESSION_SETUP:
        ok = has_tx = smb2_handle_session_setup_request(parser, message);
        break;
    case TREE_CONNECT:
        ok = has_tx = handle_tree_connect_request(parser, message);
        break;
    case TREE_DISCONNECT:
        smb_tree_remove(parser, message);
        break;
    case CREATE:
        ok = has_tx = handle_create_request(parser, message);
        break;
    case CLOSE:
        ok = handle_close_request(parser, message);
        break;
    case READ:
        ok = handle_read_request(parser, message, &event);
        break;
    case WRITE:
        smb2_handle_write_request(parser, message);
        return;
    case IOCTL:
        ok = has_tx = handle_ioctl_request(parser, message);
        break;
    case SET_INFO:
        has_tx = smb2_handle_set_info_request(parser, message, &malformed);
        ok = !malformed;
        break;
    default:
        break;
    }
    if (has_tx || parser->failed)
        return;
    struct smb_tx *tx = NULL;

    if (message->command != READ && message->command != GET_INFO && message->command != SET_INFO)
        tx = smb_tx_new(parser, SMB_GENERIC, 2, message->command, &key);

    if (!ok && tx)
        smb_tx_set_event(parser, tx, event);
    else if (!ok)
        smb_report_event(parser, 2, event);
}

/* Handles a read beyond the end of the file: the client has read the whole file, although it has not closed it. */
static void handle_end_of_file(struct smb_parser *parser, const struct smb_message *message)
{
    struct smb_file_id id;
    uint64_t offset;
    struct smb_tx *tx =
        smb_read_remove(parser, message, &id, &offset) ? smb_file_find(parser, &id, FLOW_TO_CLIENT) : NULL;

    if (!tx)
        return;
    smb_file_close(parser, tx);
    smb_tx_set_status(tx, message->status, false);
    smb_tx_complete(parser, tx, FLOW_TO_SERVER);
}

static void handle_response(struct smb_parser *parser, const struct smb_message *message)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    bool success = message->status == SMB_STATUS_SUCCESS, ok = true, found = false;

    switch (message->command) {
    case NEGOTIATE:
        ok = smb2_handle_negotiate_response(parser, message, &found);
        break;
    case SESSION_SETUP:
        smb2_handle_session_setup_response(parser, message);
        return;
    case TREE_CONNECT:
        ok = handle_tree_connect_response(parser, message, &found);
        break;
    case TREE_DISCONNECT:
        smb_tree_remove(parser, message);
        break;
    case CREATE:
        found = success;
        ok = !success || handle_create_response(parser, message);
        break;
    case READ:
        if (success || message->status == (uint32_t)SMB_STATUS_BUFFER_OVERFLOW)
            smb2_handle_read_response(parser, message);
        else if (message->status == (uint32_t)SMB_STATUS_END_OF_FILE)
            handle_end_of_file(parser, message);
        return;
    case IOCTL:
        handle_ioctl_response(parser, message);
        return;
    default:
        break;
    }
    if (found && ok)
        return;
    struct smb_tx *tx = smb_tx_find(parser, SMB_KINDS, 2, message->command, &key);

    if (!tx)
        return;
    if (!ok)
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    smb_tx_set_response(parser, tx, message);
}

void smb2_handle_message(struct smb_parser *parser, const struct smb_message *message)
{
    bool to_server = parser->direction == FLOW_TO_SERVER;

    if (message->is_response == to_server)
        smb_report_event(parser, 2, to_server ? SMB_RESPONSE_TO_SERVER : SMB_REQUEST_TO_CLIENT);
    else if (to_server)
        handle_request(parser, message);
    else
        handle_response(parser, message);
}
