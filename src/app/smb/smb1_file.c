/* SPDX-License-Identifier: GPL-2.0-or-later */
/* File and pipe data in SMB 1. */
#include "smb_priv.h"

enum { WRITE = 0x0b, WRITE_AND_CLOSE = 0x2c, READ_ANDX = 0x2e, WRITE_ANDX = 0x2f, NO_COMMAND = 0xff };
enum { WRITE_ANDX_FIXED = 27, READ_ANDX_FIXED = 27 };

struct transfer {
    const uint8_t *fid;
    uint32_t at, length,
        received; /* at: offset of the data in the message; received: bytes of the data received so far */
    uint64_t offset;
};

/* Returns `given`, the data offset in the message, if it is at least `minimum`, the offset after the fixed part;
 * otherwise returns `minimum`. */
static uint32_t data_offset(uint32_t given, uint32_t minimum)
{
    return given >= minimum ? given : minimum;
}

/* Sets transfer->received. Returns false if the data exceeds the record. */
static bool locate_data(const struct smb_message *message, struct transfer *transfer)
{
    uint64_t whole = (uint64_t)message->length + message->missing;

    if ((uint64_t)transfer->at + transfer->length > whole)
        return false;
    transfer->received = message->length > transfer->at ? message->length - transfer->at : 0;
    if (transfer->received > transfer->length)
        transfer->received = transfer->length;
    return true;
}

static bool parse_write_andx(const struct smb_message *message, uint32_t at, struct transfer *out)
{
    struct cursor cur = cursor_of(message->bytes + at, message->length - at);
    const uint8_t *fixed = cursor_read(&cur, WRITE_ANDX_FIXED);

    if (!fixed)
        return false;
    out->fid = fixed + 5;
    out->offset = load_le32(fixed + 7);
    out->length = (uint32_t)load_le16(fixed + 19) << 16 | load_le16(fixed + 21); /* DataLengthHigh, DataLength */
    if (fixed[0] == 14) { /* the words include OffsetHigh, which follows the data offset */
        if (message->length - at < WRITE_ANDX_FIXED + 4)
            return false;
        out->offset |= (uint64_t)load_le32(fixed + WRITE_ANDX_FIXED - 2) << 32;
    }
    out->at = data_offset(load_le16(fixed + 23), at + (fixed[0] == 14 ? 31 : 27));
    return true;
}

static bool parse_write(const struct smb_message *message, uint32_t at, bool closes, struct transfer *out)
{
    struct cursor cur = cursor_of(message->bytes + at, message->length - at);
    const uint8_t *fixed = cursor_read(&cur, closes ? 15 : 16);

    if (!fixed)
        return false;
    out->fid = fixed + 1;
    out->offset = load_le32(fixed + 5);
    out->length = load_le16(fixed + (closes ? 3 : 14)); /* CountOfBytesToWrite, or DataLength */
    out->at = at + (closes ? 15 : 16);
    if (closes && load_le16(fixed + 13) > out->length) /* padding before the data */
        out->at += load_le16(fixed + 13) - out->length;
    return true;
}

static bool is_pipe(const struct smb_parser *parser, const struct smb_message *message)
{
    const struct smb_entry *tree = smb_tree_find(parser, message);

    return tree && tree->is_pipe;
}

static void forward_to_file(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id,
                            const struct transfer *transfer, const char *fallback_name)
{
    const struct smb_transfer file = {
        .id = id,
        .offset = transfer->offset,
        .length = transfer->length,
        .received = transfer->received,
        .bytes = transfer->received > 0 ? message->bytes + transfer->at : message->bytes,
        .fallback_name = fallback_name,
    };

    smb_file_transfer(parser, message, &file);
}

void smb1_handle_write_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command,
                               uint32_t at)
{
    struct transfer transfer;
    bool ok = command == WRITE_ANDX ? parse_write_andx(message, at, &transfer)
                                    : parse_write(message, at, command == WRITE_AND_CLOSE, &transfer);

    if (!ok) {
        smb_report_event(parser, 1, SMB_MALFORMED_DATA);
        return;
    }
    if (!locate_data(message, &transfer)) {
        smb_report_event(parser, 1, SMB_WRITE_REQUEST_TOO_LARGE);
        return;
    }
    struct smb_file_id id = smb1_file_id(transfer.fid, message);

    if (!is_pipe(parser, message))
        forward_to_file(parser, message, &id, &transfer, "<unknown>");
    else if (transfer.received > 0)
        smb_handle_pipe_request(parser, message, message->bytes + transfer.at, transfer.received);
}

void smb1_handle_read_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at)
{
    struct cursor cur = cursor_of(message->bytes + at, message->length - at);
    const uint8_t *fixed = cursor_read(&cur, READ_ANDX_FIXED);
    struct transfer transfer = { .length = 0 };
    struct smb_file_id id;

    if (message->status != SMB_STATUS_SUCCESS)
        return;
    if (!fixed) {
        smb_report_event(parser, 1, SMB_MALFORMED_DATA);
        return;
    }
    transfer.length = load_le16(fixed + 11) | (uint32_t)load_le16(fixed + 15) << 16; /* DataLength, DataLengthHigh */
    transfer.at = data_offset(load_le16(fixed + 13), at + READ_ANDX_FIXED);
    if (!locate_data(message, &transfer)) {
        smb_report_event(parser, 1, SMB_READ_RESPONSE_TOO_LARGE);
        return;
    }
    if (!smb_read_remove(parser, message, &id, &transfer.offset))
        return;
    if (!is_pipe(parser, message)) {
        forward_to_file(parser, message, &id, &transfer, "");
        return;
    }
    id.length = 2; /* as in smb1_transaction.c: without the UID, because the key of fragments contains the session */
    if (transfer.received > 0)
        smb_handle_pipe_response(parser, message, &id, message->bytes + transfer.at, transfer.received);
}

enum smb_stream smb1_stream_kind(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t *needed)
{
    struct smb_message message;

    *needed = SMB1_HEADER;
    if (!smb1_header_read(bytes, length, &message))
        return length < SMB1_HEADER ? SMB_STREAM_UNSURE : SMB_STREAM_NO;
    if (message.command != (message.is_response ? READ_ANDX : WRITE_ANDX) ||
        message.is_response != (parser->direction == FLOW_TO_CLIENT) || is_pipe(parser, &message))
        return SMB_STREAM_NO;
    *needed = SMB1_HEADER + 31;
    if (length < *needed)
        return SMB_STREAM_UNSURE;
    if (bytes[SMB1_HEADER + 1] != NO_COMMAND)
        return SMB_STREAM_NO;
    *needed = data_offset(load_le16(bytes + SMB1_HEADER + (message.is_response ? 13 : 23)), *needed);
    return length < *needed ? SMB_STREAM_UNSURE : SMB_STREAM_YES;
}
