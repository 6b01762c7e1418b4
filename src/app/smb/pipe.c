/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * DCE/RPC in named pipes: in writes and reads, ioctls, or SMB 1 transactions. Bindings apply to the whole connection,
 * as in Suricata.
 */
#include <errno.h>
#include <string.h>

#include "smb_priv.h"

enum { FRAGMENT_MAX = UINT16_MAX, SMB1_TRANSACTION = 0x25, SMB2_READ = 8, SMB2_WRITE = 9 };

static const char assumed[] =
    "suricata::dcerpc"; /* Suricata's name for pipes that were opened before inspection started */

bool smb_is_dcerpc_pipe(const struct smb_parser *parser, const struct smb_file_id *id)
{
    static const char *const services[] = {
        "svcctl", "srvsvc", "atsvc", "lsarpc", "samr", "spoolss", "winreg", assumed
    };
    const struct buffer *name = smb_name_find(parser, id);
    const uint8_t *text = name ? name->bytes : NULL;
    uint32_t length = name ? name->length : 0;

    if (length > 1 && text[0] == '\\')
        text++, length--;
    for (unsigned i = 0; length > 0 && i < sizeof(services) / sizeof(services[0]); i++)
        if (strlen(services[i]) == length && memcmp(services[i], text, length) == 0)
            return true;
    return false;
}

bool smb_looks_like_dcerpc(const uint8_t *bytes, size_t length)
{
    struct dce_header header;

    return dce_header_read(bytes, length, &header) && header.major == 5 && header.minor < 3 && header.length > 0 &&
           header.type < DCE_TYPES;
}

void smb_pipe_assume_dcerpc(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id)
{
    smb_tree_add(parser, message, (const uint8_t *)assumed, sizeof(assumed) - 1, true);
    if (!smb_is_dcerpc_pipe(parser, id))
        smb_name_add(parser, id, (const uint8_t *)assumed, sizeof(assumed) - 1);
}

/* Whether the message may belong to the call of the transaction: the sessions must be equal. In SMB 2, an ioctl and its
 * response must also have the same message id; a call in a write and its response in a read have different ones. */
static bool is_same_message(const struct smb_tx *tx, const struct smb_message *message)
{
    return tx->key.session == message->session &&
           (message->version == 1 || message->command == SMB2_READ || message->command == SMB2_WRITE ||
            tx->key.message == message->message);
}

static struct smb_tx *find_call(const struct smb_parser *parser, const struct smb_message *message, uint32_t call_id)
{
    for (struct smb_tx *tx = smb_tx_first_open(parser); tx; tx = smb_tx_next_open(tx))
        if (tx->kind == SMB_DCERPC && tx->call.call_id == call_id && is_same_message(tx, message) &&
            tx->head.tx.progress[parser->direction] < SMB_COMPLETE)
            return tx;
    return NULL;
}

static struct smb_tx *new_call(struct smb_parser *parser, const struct smb_message *message,
                               const struct dce_header *header)
{
    const struct smb_key key = smb_message_key(message, SMB_KEY_HEADER);
    struct smb_tx *tx = smb_tx_new(parser, SMB_DCERPC, message->version, message->command, &key);

    if (!tx)
        return NULL;
    tx->head.call = &tx->call;
    tx->call.in_pipe = true;
    tx->call.little = header->little;
    tx->call.minor = header->minor;
    tx->call.call_id = header->call_id;
    tx->call.bindings = dce_bindings_ref(parser->state->bindings);
    return tx;
}

static void update_bindings(struct smb_parser *parser, struct smb_tx *tx)
{
    dce_bindings_unref(parser->heap, tx->call.bindings);
    tx->call.bindings = dce_bindings_ref(parser->state->bindings);
}

/* --- Requests ---------------------------------------------------------------------------------------- */

void smb_handle_pipe_request(struct smb_parser *parser, const struct smb_message *message, const uint8_t *bytes,
                             size_t length)
{
    struct dce_header header;
    struct dce_body request;
    struct smb_tx *tx;

    if (!dce_header_read(bytes, length, &header)) {
        smb_report_event(parser, message->version, SMB_MALFORMED_DATA);
        return;
    }
    const uint8_t *body = bytes + DCE_HEADER;
    bool continues_call = header.type == DCE_REQUEST && !(header.flags & DCE_FIRST_FRAGMENT);

    length -= DCE_HEADER;
    tx = continues_call ? find_call(parser, message, header.call_id) : new_call(parser, message, &header);
    if (!tx)
        return;
    tx->call.request = header.type;
    tx->call.has_request = true;
    if (header.type == DCE_REQUEST) {
        app_tx_advance(&tx->head.tx, FLOW_TO_SERVER, 0);
        if (!dce_request_read(&header, body, length, &request)) {
            smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
            smb_tx_complete(parser, tx, FLOW_TO_SERVER);
            return;
        }
        if (!tx->call.has_opnum) {
            tx->call.has_opnum = true;
            tx->call.opnum = request.opnum;
            tx->call.context = request.context;
        }
        if (!dce_stub_append(parser->heap, &tx->call, FLOW_TO_SERVER, request.stub, request.stub_length,
                             DCE_STUB_MAX) ||
            header.flags & DCE_LAST_FRAGMENT)
            smb_tx_complete(parser, tx, FLOW_TO_SERVER);
    } else if (header.type == DCE_BIND) {
        int err = dce_bind_parse(parser->heap, &parser->state->bindings, &header, body, length, false);

        parser->failed |= err == -ENOMEM;
        if (err == -EINVAL)
            smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
        update_bindings(parser, tx);
    } else if (header.type >= DCE_TYPES) {
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    }
}

/* --- Responses --------------------------------------------------------------------------------------- */

/* Parses a complete DCE/RPC fragment. */
static void parse_response_fragment(struct smb_parser *parser, const struct smb_message *message, const uint8_t *bytes,
                                    size_t length)
{
    struct dce_header header;
    struct dce_body response;
    struct smb_tx *tx;
    bool more = false;

    if (!dce_header_read(bytes, length, &header)) {
        smb_report_event(parser, message->version, SMB_MALFORMED_DATA);
        return;
    }
    bytes += DCE_HEADER;
    length -= DCE_HEADER;
    tx = find_call(parser, message, header.call_id);
    if (!tx && header.type != DCE_BIND_ACK)
        tx = new_call(parser, message, &header);
    if (!tx)
        return;
    tx->call.response = header.type;
    tx->call.has_response = true;
    smb_tx_set_status(tx, message->status, false);
    if (header.type == DCE_BIND_ACK) {
        int err = dce_bind_ack_parse(parser->heap, &parser->state->bindings, &header, bytes, length, true);

        parser->failed |= err == -ENOMEM;
        if (err == -EINVAL)
            smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
        update_bindings(parser, tx);
    } else if (header.type == DCE_RESPONSE && dce_response_read(&header, bytes, length, &response)) {
        more = dce_stub_append(parser->heap, &tx->call, FLOW_TO_CLIENT, response.stub, response.stub_length,
                               DCE_STUB_MAX) &&
               !(header.flags & DCE_LAST_FRAGMENT);
    } else if (header.type == DCE_RESPONSE || header.type >= DCE_TYPES) {
        smb_tx_set_event(parser, tx, SMB_MALFORMED_DATA);
    }
    if (!more)
        smb_tx_complete(parser, tx, FLOW_TO_CLIENT);
}

/* Appends to a DCE/RPC fragment that is split over several responses, and parses it when it is complete. */
static void append_fragment(struct smb_parser *parser, const struct smb_message *message, struct smb_entry *entry,
                            const uint8_t *bytes, size_t length)
{
    struct dce_header header;

    parser->failed |= buffer_append(parser->heap, &entry->bytes, bytes, (uint32_t)length, FRAGMENT_MAX) < length &&
                      entry->bytes.length < FRAGMENT_MAX;
    if (message->status == (uint32_t)SMB_STATUS_BUFFER_OVERFLOW &&
        (message->command == SMB1_TRANSACTION || !dce_header_read(entry->bytes.bytes, entry->bytes.length, &header) ||
         entry->bytes.length < header.length))
        return;
    parse_response_fragment(parser, message, entry->bytes.bytes, entry->bytes.length);
    smb_table_remove(parser->heap, &parser->state->fragments, entry);
}

void smb_handle_pipe_response(struct smb_parser *parser, const struct smb_message *message,
                              const struct smb_file_id *id, const uint8_t *bytes, size_t length)
{
    struct smb_table *fragments = &parser->state->fragments;
    struct smb_table_key key = { .length = (uint8_t)(12 + id->length) };
    bool overflow = message->status == (uint32_t)SMB_STATUS_BUFFER_OVERFLOW;

    if (message->status != SMB_STATUS_SUCCESS && !overflow) {
        const struct smb_key header = smb_message_key(message, SMB_KEY_HEADER);
        struct smb_tx *tx = smb_tx_find(parser, SMB_KINDS, message->version, message->command, &header);

        if (tx)
            smb_tx_set_response(parser, tx, message);
        return;
    }
    memcpy(key.bytes, &message->session, 8);
    memcpy(key.bytes + 8, &message->tree, 4);
    memcpy(key.bytes + 12, id->bytes, id->length);
    if (length > FRAGMENT_MAX)
        length = FRAGMENT_MAX;
    struct smb_entry *entry = smb_table_find(fragments, &key);

    if (!entry && overflow)
        entry = smb_table_add(parser->heap, fragments, parser->settings->max_fragments, &key);
    if (entry)
        append_fragment(parser, message, entry, bytes, length);
    else if (overflow)
        parser->failed = true;
    else if (length > 0)
        parse_response_fragment(parser, message, bytes, length);
}
