/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMB 1 messages and the commands that they chain. smb1_session.c handles negotiation and session setup, smb1_file.c
 * file contents, smb1_transaction.c transactions and renames.
 */
#include <string.h>

#include "smb_priv.h"

enum {
    CLOSE = 0x04,
    RENAME = 0x07,
    WRITE = 0x0b,
    LOCKING = 0x24,
    TRANSACTION = 0x25,
    WRITE_AND_CLOSE = 0x2c,
    OPEN = 0x2d,
    READ_ANDX = 0x2e,
    WRITE_ANDX = 0x2f,
    TRANSACTION2 = 0x32,
    TRANSACTION2_SECONDARY = 0x33,
    TREE_DISCONNECT = 0x71,
    NEGOTIATE = 0x72,
    SESSION_SETUP = 0x73,
    LOGOFF = 0x74,
    TREE_CONNECT = 0x75,
    CREATE = 0xa2,
    CANCEL = 0xa4,
    NO_COMMAND = 0xff,
    CHAIN_MAX = 16,
};

enum { FLAG_RESPONSE = 0x80, FLAGS2_NT_STATUS = 0x4000, FLAGS2_UNICODE = 0x8000 };

bool smb1_header_read(const uint8_t *bytes, uint32_t length, struct smb_message *out)
{
    uint16_t flags;

    if (length < SMB1_HEADER || memcmp(bytes, "\xffSMB", 4) != 0)
        return false;
    flags = load_le16(bytes + 10);
    *out = (struct smb_message){
        .version = 1,
        .command = bytes[4],
        .is_response = bytes[9] & FLAG_RESPONSE,
        .is_dos_status = !(flags & FLAGS2_NT_STATUS),
        .is_unicode = flags & FLAGS2_UNICODE,
        .status = load_le32(bytes + 5),
        .tree = load_le16(bytes + 24),
        .session = load_le16(bytes + 28),
        .message = load_le16(bytes + 30),
        .bytes = bytes,
        .length = length,
    };
    return true;
}

/* SMB 1 file ids are unique within a session. */
struct smb_file_id smb1_file_id(const uint8_t *fid, const struct smb_message *message)
{
    return (struct smb_file_id){
        .length = 6,
        .bytes = { fid[0], fid[1], (uint8_t)(message->session >> 24), (uint8_t)(message->session >> 16),
                   (uint8_t)(message->session >> 8), (uint8_t)message->session },
    };
}

bool smb1_read_oem_string(struct smb_parser *parser, struct cursor *cur, struct buffer *out)
{
    const uint8_t *end = cursor_remaining(cur) > 0 ? memchr(cur->at, 0, cursor_remaining(cur)) : NULL;

    if (!end)
        return false;
    smb_store_bytes(parser, out, cur->at, (size_t)(end - cur->at));
    cur->at = end + 1;
    return true;
}

bool smb1_read_string(struct smb_parser *parser, const struct smb_message *message, struct cursor *cur,
                      struct buffer *out)
{
    struct cursor text;

    if (!message->is_unicode)
        return smb1_read_oem_string(parser, cur, out);
    if ((cur->at - message->bytes) % 2 != 0 && !cursor_skip(cur, 1))
        return false;
    text = *cur;
    for (;;) {
        const uint8_t *pair = cursor_read(cur, 2);

        if (!pair)
            return false;
        if (pair[0] == 0 && pair[1] == 0)
            break;
    }
    smb_store_text(parser, out, text.at, (size_t)(cur->at - text.at));
    return true;
}

static struct cursor body_at(const struct smb_message *message, uint32_t at)
{
    return cursor_of(message->bytes + at, message->length - at);
}

/* --- Trees ------------------------------------------------------------------------------------------- */

static bool handle_tree_connect_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_TREE);
    struct cursor cur = body_at(message, at);
    const uint8_t *fixed = cursor_read(&cur, 11); /* WordCount, AndX header, Flags, PasswordLength, ByteCount */
    struct buffer path = { .length = 0 }, service = { .length = 0 };
    struct smb_tx *tx = NULL;
    bool ok = fixed && cursor_skip(&cur, load_le16(fixed + 7)) && smb1_read_string(parser, message, &cur, &path) &&
              smb1_read_oem_string(parser, &cur, &service);

    if (ok)
        tx = smb_tx_new(parser, SMB_TREE_CONNECT, 1, TREE_CONNECT, &key);
    if (tx) {
        /* As in Suricata, without the first byte, usually the first of two backslashes. */
        buffer_consume(&path, path.length > 1);
        tx->text[SMB_TEXT_NAME] = path;
        tx->text[SMB_TEXT_REQUEST_SERVICE] = service;
        tx->tree.has_request_service = true;
        return true;
    }
    buffer_clear(parser->heap, &path);
    buffer_clear(parser->heap, &service);
    return ok;
}

static bool handle_tree_connect_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at,
                                         bool *found)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_TREE);
    struct smb_tx *tx = smb_tx_find(parser, SMB_TREE_CONNECT, 1, TREE_CONNECT, &key);
    struct cursor cur = body_at(message, at);
    const uint8_t *fixed = cursor_read(&cur, 5); /* WordCount, AndX header */
    struct buffer *service;

    *found = tx || message->status != SMB_STATUS_SUCCESS;
    if (tx && message->status != SMB_STATUS_SUCCESS)
        smb_tx_set_response(parser, tx, message);
    if (!tx || message->status != SMB_STATUS_SUCCESS)
        return true;
    /* Skips OptionalSupport (WordCount 3 and 7), two sets of access rights (WordCount 7), and ByteCount. */
    if (!fixed || !cursor_skip(&cur, (fixed[0] >= 3 ? 2u : 0u) + (fixed[0] == 7 ? 8u : 0u) + 2))
        return false;
    service = &tx->text[SMB_TEXT_RESPONSE_SERVICE];
    if (!smb1_read_oem_string(parser, &cur, service))
        return false;
    tx->tree.has_response_service = tx->tree.is_answered = true;
    tx->tree.is_pipe = service->length == 3 && memcmp(service->bytes, "IPC", 3) == 0;
    tx->key = smb_message_key(message, SMB_KEY_HEADER);
    smb_tree_add(parser, message, tx->text[SMB_TEXT_NAME].bytes, tx->text[SMB_TEXT_NAME].length, tx->tree.is_pipe);
    smb_tx_set_response(parser, tx, message);
    return true;
}

/* --- Files ------------------------------------------------------------------------------------------- */

static bool handle_create_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct cursor cur = body_at(message, at);
    const uint8_t *fixed = cursor_read(&cur, 51); /* from WordCount to ByteCount */
    struct smb_entry *pending;
    struct smb_tx *tx;

    if (!fixed)
        return false;
    pending = smb_pending_add(parser, SMB_PENDING_NAME, message);
    tx = pending ? smb_tx_new(parser, SMB_CREATE, 1, CREATE, &key) : NULL;
    if (!tx)
        return true;
    uint32_t options = load_le32(fixed + 40); /* CreateOptions */
    uint16_t length = load_le16(fixed + 6);   /* NameLength */

    if (message->is_unicode && (cur.at - message->bytes) % 2 != 0)
        cursor_skip(&cur, 1);
    cursor_limit(&cur, length);
    smb_store_text(parser, &pending->bytes, cur.at, cursor_remaining(&cur));
    smb_store_bytes(parser, &tx->text[SMB_TEXT_NAME], pending->bytes.bytes, pending->bytes.length);
    tx->create.disposition = load_le32(fixed + 36);
    tx->create.delete_on_close = options & SMB_DELETE_ON_CLOSE;
    tx->create.is_directory = options & SMB_DIRECTORY_FILE;
    return true;
}

static bool handle_create_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct cursor cur = body_at(message, at);
    const uint8_t *fixed = cursor_read(&cur, 69); /* from WordCount to Directory; FID at 6 */
    struct smb_entry *pending;
    struct smb_tx *tx;

    if (!fixed)
        return false;
    struct smb_file_id id = smb1_file_id(fixed + 6, message);

    pending = smb_pending_find(parser, SMB_PENDING_NAME, message->session, message->message);
    if (pending) {
        smb_name_add(parser, &id, pending->bytes.bytes, pending->bytes.length);
        smb_table_remove(parser->heap, &parser->state->pending, pending);
    }
    tx = smb_tx_find(parser, SMB_CREATE, 1, CREATE, &key);
    if (!tx)
        return true;
    tx->id = id;
    tx->id.length = 2;
    tx->create.created = load_le64(fixed + 12);
    tx->create.accessed = load_le64(fixed + 20);
    tx->create.modified = load_le64(fixed + 28);
    tx->create.changed = load_le64(fixed + 36);
    tx->create.size = load_le64(fixed + 48); /* AllocationSize; EndOfFile is at 56 */
    smb_tx_set_status(tx, message->status, false);
    smb_tx_complete(parser, tx, FLOW_TO_CLIENT);
    return true;
}

static void close_file(struct smb_parser *parser, const struct smb_file_id *id, enum flow_direction direction)
{
    struct smb_tx *tx = smb_file_find(parser, id, direction);

    if (!tx)
        return;
    smb_file_close(parser, tx);
    smb_tx_complete_both(parser, tx);
}

/* Closes a written file at the close request, because the client has sent all data before it. A file that is read is
 * closed at the close response. */
static bool handle_close_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    struct cursor cur = body_at(message, at);
    const uint8_t *fixed = cursor_read(&cur, 3); /* WordCount, FID */
    struct smb_entry *pending = fixed ? smb_pending_add(parser, SMB_PENDING_ID, message) : NULL;

    if (!pending)
        return fixed != NULL;
    pending->id = smb1_file_id(fixed + 1, message);
    close_file(parser, &pending->id, FLOW_TO_SERVER);
    return true;
}

static void handle_close_response(struct smb_parser *parser, const struct smb_message *message)
{
    struct smb_entry *pending = smb_pending_find(parser, SMB_PENDING_ID, message->session, message->message);

    if (!pending)
        return;
    close_file(parser, &pending->id, FLOW_TO_CLIENT);
    smb_table_remove(parser->heap, &parser->state->pending, pending);
}

static bool handle_read_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    struct cursor cur = body_at(message, at);
    const uint8_t *fixed = cursor_read(&cur, 21); /* from WordCount to Remaining; FID at 5, Offset at 7 */
    uint64_t offset = fixed ? load_le32(fixed + 7) : 0;

    if (!fixed)
        return false;
    if (fixed[0] == 12) {
        const uint8_t *high = cursor_read(&cur, 4); /* OffsetHigh */

        if (!high)
            return false;
        offset |= (uint64_t)load_le32(high) << 32;
    }
    struct smb_file_id id = smb1_file_id(fixed + 5, message);

    smb_read_add(parser, message, &id, offset);
    return true;
}

/* --- Messages ---------------------------------------------------------------------------------------- */

/* Whether a transaction is added for each request with this command. For READ_ANDX and WRITE_ANDX none is added; for
 * TRANSACTION and TRANSACTION2 only if they contain a call to a pipe, a rename or a deletion. */
static bool has_own_transaction(uint16_t command)
{
    return command != READ_ANDX && command != WRITE_ANDX && command != TRANSACTION && command != TRANSACTION2;
}

/* Whether the command has an AndX header, which chains another command. */
static bool has_andx_header(uint16_t command)
{
    return command == LOCKING || command == OPEN || command == READ_ANDX || command == WRITE_ANDX ||
           command == SESSION_SETUP || command == LOGOFF || command == TREE_CONNECT || command == CREATE;
}

void smb1_handle_generic_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command,
                                 bool is_malformed)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct smb_tx *tx;

    if (!has_own_transaction(command) && is_malformed)
        smb_report_event(parser, 1, SMB_MALFORMED_DATA);
    if (!has_own_transaction(command))
        return;
    tx = smb_tx_new(parser, SMB_GENERIC, 1, command, &key);
    if (tx && is_malformed)
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    if (tx && (command == CANCEL || command == TRANSACTION2_SECONDARY || command == LOCKING))
        smb_tx_complete(parser, tx, FLOW_TO_CLIENT); /* these commands have no response */
}

void smb1_handle_generic_response(struct smb_parser *parser, const struct smb_message *message, bool is_malformed)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_GENERIC);
    struct smb_tx *tx = smb_tx_find(parser, SMB_KINDS, 1, message->command, &key);

    if (!tx) {
        if (is_malformed)
            smb_report_event(parser, 1, SMB_MALFORMED_DATA);
        return;
    }
    if (is_malformed)
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    smb_tx_set_response(parser, tx, message);
    smb_tx_complete_both(parser, tx);
}

static void handle_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command, uint32_t at)
{
    bool ok = true, has_tx = false, malformed = false;

    switch (command) {
    case NEGOTIATE:
        ok = has_tx = smb1_handle_negotiate_request(parser, message);
        break;
    case SESSION_SETUP:
        ok = has_tx = smb1_handle_session_setup_request(parser, message, at);
        break;
    case TREE_CONNECT:
        ok = has_tx = handle_tree_connect_request(parser, message, at);
        break;
    case TREE_DISCONNECT:
        smb_tree_remove(parser, message);
        break;
    case CREATE:
        ok = has_tx = handle_create_request(parser, message, at);
        break;
    case CLOSE:
        ok = handle_close_request(parser, message, at);
        break;
    case READ_ANDX:
        ok = handle_read_request(parser, message, at);
        break;
    case WRITE_ANDX:
    case WRITE:
    case WRITE_AND_CLOSE:
        smb1_handle_write_request(parser, message, command, at);
        if (command == WRITE_AND_CLOSE && message->length >= at + 3) {
            struct smb_file_id id = smb1_file_id(message->bytes + at + 1, message);

            close_file(parser, &id, FLOW_TO_SERVER);
        }
        break;
    case TRANSACTION:
        smb1_handle_transaction_request(parser, message);
        return;
    case TRANSACTION2:
        has_tx = smb1_handle_transaction2_request(parser, message, &malformed);
        ok = !malformed;
        break;
    case RENAME:
        ok = has_tx = smb1_handle_rename_request(parser, message);
        break;
    default:
        break;
    }
    if (!has_tx && !parser->failed)
        smb1_handle_generic_request(parser, message, command, !ok);
}

static void handle_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    bool ok = true, found = false;
    struct smb_tx *tx;

    switch (message->command) {
    case NEGOTIATE:
        ok = smb1_handle_negotiate_response(parser, message);
        found = ok;
        break;
    case SESSION_SETUP:
        smb1_handle_session_setup_response(parser, message, at);
        return;
    case TREE_CONNECT:
        ok = handle_tree_connect_response(parser, message, at, &found);
        found = found && ok;
        break;
    case TREE_DISCONNECT:
        smb_tree_remove(parser, message);
        break;
    case CREATE:
        ok = message->status != SMB_STATUS_SUCCESS || handle_create_response(parser, message, at);
        found = ok && message->status == SMB_STATUS_SUCCESS;
        break;
    case CLOSE:
        handle_close_response(parser, message);
        break;
    case READ_ANDX:
        smb1_handle_read_response(parser, message, at);
        return;
    case TRANSACTION:
        smb1_handle_transaction_response(parser, message);
        return;
    case LOGOFF: /* the response does not contain the session id, so it is assigned to the last transaction */
        tx = smb_tx_find_last(parser, 1, message->command);
        if (tx)
            smb_tx_set_response(parser, tx, message);
        return;
    case WRITE_ANDX:
        return;
    default:
        break;
    }
    if (!found)
        smb1_handle_generic_response(parser, message, !ok);
}

void smb1_handle_message(struct smb_parser *parser, const struct smb_message *first)
{
    struct smb_message message = *first;
    bool to_server = parser->direction == FLOW_TO_SERVER;
    uint32_t at = SMB1_HEADER;

    if (message.is_response == to_server) {
        smb_report_event(parser, 1, to_server ? SMB_RESPONSE_TO_SERVER : SMB_REQUEST_TO_CLIENT);
        return;
    }
    for (unsigned steps = 0; steps < CHAIN_MAX && !parser->failed; steps++) {
        struct cursor cur = body_at(&message, at);
        const uint8_t *andx = cursor_read(&cur, 5); /* WordCount, AndXCommand, reserved, AndXOffset */

        if (to_server)
            handle_request(parser, &message, message.command, at);
        else
            handle_response(parser, &message, at);
        if (!has_andx_header(message.command) || !andx || andx[1] == NO_COMMAND || load_le16(andx + 3) <= at ||
            load_le16(andx + 3) >= message.length)
            return;
        message.command = andx[1];
        at = load_le16(andx + 3);
    }
}
