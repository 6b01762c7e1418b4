/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File and pipe data in SMB 2 and 3. */
#include "smb_priv.h"

enum { READ = 8, WRITE = 9, WRITE_FIXED = 48, READ_FIXED = 16 };

/* Data of a read or write. at: offset of the data in the message; received: bytes of the data received so far; offset:
 * offset of the data in the file. */
struct transfer {
    uint32_t at, length, received;
    struct smb_file_id id;
    uint64_t offset;
};

/* Returns `given`, the data offset in the message, if it is at least `minimum`, the offset after the fixed part;
 * otherwise returns `minimum`. */
static uint32_t data_offset(uint32_t given, uint32_t minimum)
{
    return given >= minimum ? given : minimum;
}

/* Sets transfer->at and transfer->received. Returns false if the data exceeds the record. */
static bool locate_data(const struct smb_message *message, uint32_t given, uint32_t fixed, struct transfer *transfer)
{
    uint64_t whole = (uint64_t)message->length + message->missing;

    transfer->at = data_offset(given, SMB2_HEADER + fixed);
    if ((uint64_t)transfer->at + transfer->length > whole)
        return false;
    transfer->received = message->length > transfer->at ? message->length - transfer->at : 0;
    if (transfer->received > transfer->length)
        transfer->received = transfer->length;
    return true;
}

/* Passes data of files to the file engine and data of DCE/RPC pipes to the DCE/RPC parser. Data of other pipes is
 * ignored. */
static void forward_data(struct smb_parser *parser, const struct smb_message *message, const struct transfer *transfer,
                         const char *fallback_name)
{
    const uint8_t *bytes = transfer->received > 0 ? message->bytes + transfer->at : message->bytes;
    const struct smb_entry *tree = smb_tree_find(parser, message);
    bool is_dcerpc = tree ? tree->is_pipe && smb_is_dcerpc_pipe(parser, &transfer->id)
                          : smb_looks_like_dcerpc(bytes, transfer->received);

    if (!is_dcerpc && (!tree || !tree->is_pipe)) {
        const struct smb_transfer file_data = {
            .id = &transfer->id,
            .offset = transfer->offset,
            .length = transfer->length,
            .received = transfer->received,
            .bytes = bytes,
            .fallback_name = fallback_name,
        };

        smb_file_transfer(parser, message, &file_data);
        return;
    }
    if (!is_dcerpc)
        return;
    if (!tree)
        smb_pipe_assume_dcerpc(parser, message, &transfer->id);
    if (parser->direction == FLOW_TO_SERVER)
        smb_handle_pipe_request(parser, message, bytes, transfer->received);
    else
        smb_handle_pipe_response(parser, message, &transfer->id, bytes, transfer->received);
}

void smb2_handle_write_request(struct smb_parser *parser, const struct smb_message *message)
{
    const uint8_t *fixed = message->bytes + SMB2_HEADER;
    const struct smb_settings *settings = parser->settings;
    struct transfer transfer;

    if (message->length < SMB2_HEADER + WRITE_FIXED) {
        smb_report_event(parser, 2, SMB_MALFORMED_DATA);
        return;
    }
    transfer = (struct transfer){
        /* DataOffset at 2 */
        .length = load_le32(fixed + 4),
        .offset = load_le64(fixed + 8),
        .id = smb2_file_id(fixed + 16),
    };
    if ((parser->state->max_write && transfer.length > parser->state->max_write) ||
        (settings->max_write_size && transfer.length > settings->max_write_size) ||
        !locate_data(message, load_le16(fixed + 2), WRITE_FIXED, &transfer)) {
        smb_report_event(parser, 2, SMB_WRITE_REQUEST_TOO_LARGE);
        return;
    }
    forward_data(parser, message, &transfer, "");
}

void smb2_handle_read_response(struct smb_parser *parser, const struct smb_message *message)
{
    const uint8_t *fixed = message->bytes + SMB2_HEADER;
    const struct smb_settings *settings = parser->settings;
    struct transfer transfer = { .length = 0 };

    if (message->length < SMB2_HEADER + READ_FIXED) {
        smb_report_event(parser, 2, SMB_MALFORMED_DATA);
        return;
    }
    transfer.length = load_le32(fixed + 4); /* DataLength; DataOffset at 2 */
    if ((parser->state->max_read && transfer.length > parser->state->max_read) ||
        (settings->max_read_size && transfer.length > settings->max_read_size) ||
        !locate_data(message, fixed[2], READ_FIXED, &transfer)) {
        smb_report_event(parser, 2, SMB_READ_RESPONSE_TOO_LARGE);
        return;
    }
    if (smb_read_remove(parser, message, &transfer.id, &transfer.offset))
        forward_data(parser, message, &transfer, "<unknown>");
}

/* File data is passed on as it is received, as soon as the message is complete up to its data. Pipe data is parsed when
 * it is complete. If the tree is unknown, the first bytes of the data decide whether it is DCE/RPC. */
enum smb_stream smb2_stream_kind(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t *needed)
{
    struct smb_message message;
    const struct smb_entry *tree;
    uint32_t next, fixed, at;

    *needed = SMB2_HEADER;
    if (!smb2_header_read(bytes, length, &message, &next))
        return length < SMB2_HEADER ? SMB_STREAM_UNSURE : SMB_STREAM_NO;
    if (next != 0 || message.command != (message.is_response ? READ : WRITE) ||
        message.is_response != (parser->direction == FLOW_TO_CLIENT))
        return SMB_STREAM_NO;
    fixed = message.is_response ? READ_FIXED : WRITE_FIXED;
    tree = smb_tree_find(parser, &message);
    *needed = SMB2_HEADER + fixed;
    if (length < *needed)
        return SMB_STREAM_UNSURE;
    if (tree && tree->is_pipe)
        return SMB_STREAM_NO;
    at = message.is_response ? bytes[SMB2_HEADER + 2] : load_le16(bytes + SMB2_HEADER + 2);
    at = data_offset(at, SMB2_HEADER + fixed);
    *needed = at + (tree ? 0 : DCE_HEADER);
    if (length < *needed)
        return SMB_STREAM_UNSURE;
    if (tree)
        return SMB_STREAM_YES;
    return smb_looks_like_dcerpc(bytes + at, length - at) ? SMB_STREAM_NO : SMB_STREAM_YES;
}
