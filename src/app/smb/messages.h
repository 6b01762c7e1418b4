/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parsers of messages, and functions for files, pipes, logs and rules.
 */
#ifndef SLUICE_APP_SMB_MESSAGES_H
#define SLUICE_APP_SMB_MESSAGES_H

#include "app/dcerpc/dce.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

#include "table.h"
#include "tx.h"
#include "parser.h"

/* --- file.c ------------------------------------------------------------------------------------------ */

/* Returns the open transaction of a file, or NULL. */
struct smb_tx *smb_file_find(const struct smb_parser *parser, const struct smb_file_id *id,
                             enum flow_direction direction);
/* Data of one read or write: `length` bytes, of which `received` bytes have arrived. smb_file_data() appends the
 * rest. */
struct smb_transfer {
    const struct smb_file_id *id;
    uint64_t offset; /* offset of the data in the file */
    uint32_t length, received;
    const uint8_t *bytes;
    const char *fallback_name; /* name of the file if it is unknown */
};
/* Starts a read or write: passes the received data to the transaction of the file, which is created if necessary. */
void smb_file_transfer(struct smb_parser *parser, const struct smb_message *message,
                       const struct smb_transfer *transfer);
/* Appends more data of the current read or write to the file. Returns the number of bytes that belong to the read or
 * write; bytes after them are not consumed. `bytes` NULL: `length` bytes were lost. */
uint32_t smb_file_data(struct smb_parser *parser, const uint8_t *bytes, uint64_t length);
/* Closes the file of the transaction; smb_file_close_all() closes all open files of the parser's direction. */
void smb_file_close(struct smb_parser *parser, struct smb_tx *tx);
void smb_file_close_all(struct smb_parser *parser);

/* --- pipe.c ------------------------------------------------------------------------------------------ */

/* Whether the name of the open file is that of a DCE/RPC service. */
bool smb_is_dcerpc_pipe(const struct smb_parser *parser, const struct smb_file_id *id);
/* Whether the bytes start with a plausible DCE/RPC header. */
bool smb_looks_like_dcerpc(const uint8_t *bytes, size_t length);
/* Marks the tree and the file as a DCE/RPC pipe. Called when DCE/RPC data is found in an unknown tree: the tree and the
 * file were opened before inspection started. */
void smb_pipe_assume_dcerpc(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id);
void smb_handle_pipe_request(struct smb_parser *parser, const struct smb_message *message, const uint8_t *bytes,
                             size_t length);
void smb_handle_pipe_response(struct smb_parser *parser, const struct smb_message *message,
                              const struct smb_file_id *id, const uint8_t *bytes, size_t length);

/* --- ntlmssp.c --------------------------------------------------------------------------------------- */

/* Parses the user, domain and host, or the Kerberos names, of a security blob. */
void smb_read_security_blob(struct smb_parser *parser, struct smb_tx *tx, const uint8_t *blob, size_t length);

/* --- smb1.c, smb1_session.c, smb1_file.c, smb1_transaction.c, smb2.c, smb2_file.c, smb2_session.c ---- */

/* Parses the header of a message. Returns false if it is incomplete or has another protocol id. */
bool smb1_header_read(const uint8_t *bytes, uint32_t length, struct smb_message *out);
void smb1_handle_message(struct smb_parser *parser, const struct smb_message *message);
struct smb_file_id smb1_file_id(const uint8_t *fid, const struct smb_message *message);
/* Add a transaction for a command that has no parser of its own, and complete it with its response. */
void smb1_handle_generic_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command,
                                 bool is_malformed);
void smb1_handle_generic_response(struct smb_parser *parser, const struct smb_message *message, bool is_malformed);
/* Parses a zero-terminated SMB 1 string at cur, which must point into the message: UTF-16 at an even offset if the
 * message is Unicode, otherwise bytes. Returns false if no zero follows. */
bool smb1_read_string(struct smb_parser *parser, const struct smb_message *message, struct cursor *cur,
                      struct buffer *out);
bool smb1_read_oem_string(struct smb_parser *parser, struct cursor *cur, struct buffer *out); /* up to a zero byte */
/* Each parses one command, at offset `at` of the message or after its header. Returns false if it is malformed;
 * smb1_handle_session_setup_response(): if the request is unknown. */
bool smb1_handle_session_setup_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at);
bool smb1_handle_session_setup_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at);
bool smb1_handle_negotiate_request(struct smb_parser *parser, const struct smb_message *message);
bool smb1_handle_negotiate_response(struct smb_parser *parser, const struct smb_message *message);
void smb1_handle_transaction_request(struct smb_parser *parser, const struct smb_message *message);
void smb1_handle_transaction_response(struct smb_parser *parser, const struct smb_message *message);
/* Returns true for renames and deletions, for which it adds a transaction. */
bool smb1_handle_transaction2_request(struct smb_parser *parser, const struct smb_message *message, bool *is_malformed);
bool smb1_handle_rename_request(struct smb_parser *parser, const struct smb_message *message);
void smb1_handle_write_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command,
                               uint32_t at);
void smb1_handle_read_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at);

/* Parses the header of a message. *next: offset of the next message of a compounded record; 0: none. Returns false if
 * the header is incomplete or has another protocol id. */
bool smb2_header_read(const uint8_t *bytes, uint32_t length, struct smb_message *out, uint32_t *next);
void smb2_handle_message(struct smb_parser *parser, const struct smb_message *message);
struct smb_file_id smb2_file_id(const uint8_t *guid);
bool smb2_handle_session_setup_request(struct smb_parser *parser, const struct smb_message *message);
void smb2_handle_session_setup_response(struct smb_parser *parser, const struct smb_message *message);
bool smb2_handle_negotiate_request(struct smb_parser *parser, const struct smb_message *message);
/* *found: the request of the response is known. Returns false if the message is malformed. */
bool smb2_handle_negotiate_response(struct smb_parser *parser, const struct smb_message *message, bool *found);
/* Returns true for renames and deletions, for which it adds a transaction. */
bool smb2_handle_set_info_request(struct smb_parser *parser, const struct smb_message *message, bool *is_malformed);
void smb2_handle_write_request(struct smb_parser *parser, const struct smb_message *message);
void smb2_handle_read_response(struct smb_parser *parser, const struct smb_message *message);

/* Whether the record is a read or write of a file, whose data is passed to the file engine without buffering;
 * SMB_STREAM_UNSURE if *needed bytes are required to decide. */
enum smb_stream { SMB_STREAM_NO, SMB_STREAM_UNSURE, SMB_STREAM_YES };
enum smb_stream smb1_stream_kind(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t *needed);
enum smb_stream smb2_stream_kind(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t *needed);

/* --- names.c, log.c, keywords.c, settings.c ---------------------------------------------------------- */

enum { SMB_NAME_TEXT = 24 }; /* bytes of a number as text */
/* Each returns the name of the number in EVE events, or, if it has none, the number as text in `number`. */
const char *smb1_command_name(uint16_t command, char number[SMB_NAME_TEXT]);
const char *smb2_command_name(uint16_t command, char number[SMB_NAME_TEXT]);
const char *smb2_dialect_name(uint16_t dialect, char number[SMB_NAME_TEXT]);
const char *smb_status_name(uint32_t status, char number[SMB_NAME_TEXT]);
const char *smb_dos_status_name(uint8_t error_class, uint16_t code, char number[SMB_NAME_TEXT]);
const char *smb_function_name(uint32_t function, char number[SMB_NAME_TEXT]);

void smb_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool smb_wants_log(const struct app_tx *tx, const void *settings);

extern const struct app_event smb_events[SMB_EVENTS];
enum { SMB_BUFFERS = 6, SMB_CONDITIONS = 3 };
extern const struct app_buffer smb_buffers[SMB_BUFFERS];
extern const struct app_condition smb_conditions[SMB_CONDITIONS];

extern const struct setting smb_setting_rows[];
int smb_configure(const struct config *config, void *settings);

#endif
