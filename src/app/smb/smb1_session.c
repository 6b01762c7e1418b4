/* SPDX-License-Identifier: GPL-2.0-or-later */
/* SMB 1 negotiation and session setup. */
#include <string.h>

#include "smb_priv.h"

enum { NEGOTIATE = 0x72, SESSION_SETUP = 0x73 };

/* --- Negotiation ------------------------------------------------------------------------------------- */

bool smb1_handle_negotiate_request(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = cursor_of(message->bytes + SMB1_HEADER, message->length - SMB1_HEADER);
    struct smb_tx *tx = smb_tx_find_negotiate(parser, 1);
    bool is_malformed = false;

    /* WordCount and ByteCount, then at least one dialect name */
    if (!cursor_skip(&cur, 3) || cursor_remaining(&cur) == 0 || !memchr(cur.at, 0, cursor_remaining(&cur)))
        return false;
    if (tx) {
        smb_tx_set_event(parser, tx, SMB_DUPLICATE_NEGOTIATE);
        return true;
    }
    tx = smb_tx_new(parser, SMB_NEGOTIATE, 1, NEGOTIATE, NULL);
    if (!tx)
        return true;
    /* Each dialect name is preceded by a byte with the value 2 and ends with a zero byte. */
    for (unsigned i = 0; i < SMB_DIALECTS_MAX && cursor_remaining(&cur) > 0; i++) {
        const uint8_t *end = memchr(cur.at, 0, cursor_remaining(&cur));

        if (!end)
            break;
        is_malformed |= end - cur.at < 2;
        if (end > cur.at)
            smb_store_bytes(parser, &tx->text[SMB_TEXT_DIALECTS], cur.at + 1, (size_t)(end - cur.at));
        cur.at = end + 1;
    }
    if (is_malformed)
        smb_tx_set_event(parser, tx, SMB_NEGOTIATE_MALFORMED_DIALECTS);
    return true;
}

/* Sets the negotiated dialect to the entry with this index of the client's list; false if there is none. */
static bool set_dialect(struct smb_parser *parser, const struct smb_tx *tx, uint16_t number)
{
    const struct buffer *names = &tx->text[SMB_TEXT_DIALECTS];
    struct cursor cur = cursor_of(names->bytes, names->length);
    struct smb_state *state = parser->state;

    for (; cursor_remaining(&cur) > 0; number--) {
        const uint8_t *end = memchr(cur.at, 0, cursor_remaining(&cur));
        size_t length = end ? (size_t)(end - cur.at) : cursor_remaining(&cur);

        if (number == 0) {
            state->dialect_length = (uint8_t)(length < SMB_DIALECT_NAME ? length : SMB_DIALECT_NAME);
            memcpy(state->dialect_name, cur.at, state->dialect_length);
            return true;
        }
        cursor_skip(&cur, length + (end != NULL));
    }
    return false;
}

bool smb1_handle_negotiate_response(struct smb_parser *parser, const struct smb_message *message)
{
    struct cursor cur = cursor_of(message->bytes + SMB1_HEADER, message->length - SMB1_HEADER);
    struct smb_tx *tx = smb_tx_find_negotiate(parser, 1);
    const uint8_t *words = cursor_read(&cur, 1), *fixed, *guid = NULL;

    if (!words)
        return false;
    fixed = words[0] == 0 ? NULL : cursor_read(&cur, 36); /* from DialectIndex to ByteCount */
    if (words[0] != 0 && !fixed)
        return false;
    if (fixed && load_le16(fixed + 34) >= SMB_GUID)
        guid = cursor_read(&cur, SMB_GUID);
    if (!tx)
        return true;
    if (guid) {
        tx->negotiate.has_server_guid = true;
        memcpy(tx->negotiate.server_guid, guid, SMB_GUID);
    }
    if (!set_dialect(parser, tx, fixed ? load_le16(fixed) : 0))
        smb_tx_set_event(parser, tx, SMB_NEGOTIATE_MALFORMED_DIALECTS);
    smb_tx_set_response(parser, tx, message);
    return true;
}

/* --- Session setup ----------------------------------------------------------------------------------- */

/* Stores the names of the operating system and the LAN manager. Names without a terminator are omitted. */
static void store_host_names(struct smb_parser *parser, const struct smb_message *message, struct smb_tx *tx,
                             struct cursor *cur, enum smb_text os, enum smb_text lm)
{
    if (smb1_read_string(parser, message, cur, &tx->text[os]))
        smb1_read_string(parser, message, cur, &tx->text[lm]);
}

enum { WORDS_WITH_PASSWORDS = 13 };

/* Parses a request without extended security: passwords, account and domain precede the host names. */
static bool read_setup_with_passwords(struct smb_parser *parser, const struct smb_message *message, struct smb_tx *tx,
                                      struct cursor *cur)
{
    const uint8_t *fixed = cursor_read(cur, 14); /* lengths of the two passwords, reserved, Capabilities, ByteCount */
    struct buffer unused = { .length = 0 };
    bool ok = fixed && cursor_skip(cur, (size_t)load_le16(fixed) + load_le16(fixed + 2));

    if (ok && smb1_read_string(parser, message, cur, &unused) && smb1_read_string(parser, message, cur, &unused))
        store_host_names(parser, message, tx, cur, SMB_TEXT_REQUEST_OS, SMB_TEXT_REQUEST_LM);
    buffer_clear(parser->heap, &unused);
    return ok;
}

/* Parses a request with extended security: a security blob precedes the host names. */
static bool read_setup_with_blob(struct smb_parser *parser, const struct smb_message *message, struct smb_tx *tx,
                                 struct cursor *cur)
{
    const uint8_t *fixed = cursor_read(cur, 12); /* SecurityBlobLength, reserved, Capabilities, ByteCount */
    uint16_t length = fixed ? load_le16(fixed) : 0;
    const uint8_t *blob = fixed ? cursor_read(cur, length) : NULL;

    if (!blob)
        return false;
    smb_read_security_blob(parser, tx, blob, length);
    store_host_names(parser, message, tx, cur, SMB_TEXT_REQUEST_OS, SMB_TEXT_REQUEST_LM);
    return true;
}

bool smb1_handle_session_setup_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    struct cursor cur = cursor_of(message->bytes + at, message->length - at);
    const uint8_t *fixed = cursor_read(&cur, 15); /* from WordCount to SessionKey */
    struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    struct smb_tx *tx;

    key.tree = 0;
    if (!fixed)
        return false;
    tx = smb_tx_new(parser, SMB_SESSION_SETUP, 1, SESSION_SETUP, &key);
    if (!tx)
        return true;
    tx->setup.has_request = fixed[0] == WORDS_WITH_PASSWORDS ? read_setup_with_passwords(parser, message, tx, &cur)
                                                             : read_setup_with_blob(parser, message, tx, &cur);
    if (!tx->setup.has_request)
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    return true;
}

/* Skips the security blob, if the word count includes its length, and parses the host names. */
static bool read_setup_response(struct smb_parser *parser, const struct smb_message *message, struct smb_tx *tx,
                                struct cursor *cur)
{
    const uint8_t *words = cursor_peek(cur, 1);
    uint16_t blob = 0;

    if (!words)
        return false;
    if (words[0] == 0)
        return cursor_skip(cur, 3);
    /* WordCount, AndX header, Action, SecurityBlobLength unless WordCount is 3, ByteCount */
    const uint8_t *fixed = cursor_read(cur, words[0] == 3 ? 9 : 11);

    if (!fixed)
        return false;
    if (words[0] != 3)
        blob = load_le16(fixed + 7);
    if (!cursor_skip(cur, blob))
        return false;
    store_host_names(parser, message, tx, cur, SMB_TEXT_RESPONSE_OS, SMB_TEXT_RESPONSE_LM);
    return true;
}

bool smb1_handle_session_setup_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    struct cursor cur = cursor_of(message->bytes + at, message->length - at);
    struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    struct smb_tx *tx = smb_tx_find(parser, SMB_SESSION_SETUP, 1, SESSION_SETUP, &key);

    if (!tx) { /* the first response assigns the session id; it was 0 in the request */
        key.session = 0;
        tx = smb_tx_find(parser, SMB_SESSION_SETUP, 1, SESSION_SETUP, &key);
    }
    if (!tx)
        return false;
    tx->setup.has_response = read_setup_response(parser, message, tx, &cur);
    if (!tx->setup.has_response)
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    tx->key = smb_message_key(message, SMB_KEY_HEADER);
    smb_tx_set_response(parser, tx, message);
    return true;
}
