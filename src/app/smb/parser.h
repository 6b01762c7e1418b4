/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State of a flow, parsed message headers, and functions that find and complete transactions.
 */
#ifndef SLUICE_APP_SMB_PARSER_H
#define SLUICE_APP_SMB_PARSER_H

#include "app/dcerpc/dce.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

#include "table.h"
#include "tx.h"

/* --- State ------------------------------------------------------------------------------------------- */

/* State of a direction. */
struct smb_side {
    uint32_t chunk_left;     /* bytes of the current read or write that have not been received; 0: none */
    uint32_t skip;           /* bytes of the record after the data of the read or write, which are not parsed */
    uint64_t chunk_at;       /* offset in the file of the next byte of the read or write */
    struct smb_file_id file; /* file of the current read or write */
    bool lost;               /* after a gap: the parser searches for the start of the next record */
    bool ended;              /* the files of this direction were closed */
};

struct smb_state {
    struct smb_table reads, trees, names, pending, fragments;
    struct smb_side side[FLOW_DIRECTIONS];
    uint16_t dialect;                    /* negotiated DialectRevision of SMB 2 and 3; 0: none */
    uint8_t dialect_length;              /* bytes of dialect_name */
    char dialect_name[SMB_DIALECT_NAME]; /* negotiated dialect of SMB 1, not zero-terminated */
    uint32_t max_read, max_write;        /* negotiated; 0: unknown */
    struct dce_bindings *bindings;
};

/* --- transfer.c -------------------------------------------------------------------------------------- */

void smb_transfer(struct app_context *context, void *data, struct transfer *t);

/* Parser context during one call of the feed function. */
struct smb_parser {
    struct app_context *context;
    struct heap *heap;
    struct smb_state *state;
    const struct smb_settings *settings;
    enum flow_direction direction;
    const struct app_input *in;
    bool failed; /* out of memory, or too many transactions */
};

/* Header of a message; the message may not have been received completely. */
struct smb_message {
    uint8_t version; /* 1: SMB 1; 2: SMB 2 or 3 */
    uint16_t command;
    bool is_response, is_dos_status, is_unicode; /* is_dos_status: `status` is a DOS error code, not an NTSTATUS */
    uint32_t status, tree;
    uint64_t session, message; /* SessionId and MessageId; SMB 1: UID and MID */
    const uint8_t *bytes;      /* starts with the header */
    uint32_t length;           /* bytes received */
    uint32_t missing;          /* bytes of the record that have not been received */
};

/* --- tx.c -------------------------------------------------------------------------------------------- */

struct smb_key smb_message_key(const struct smb_message *message, enum smb_key_type type);
/* Allocates a transaction whose request is complete. Without memory, or if max_tx transactions are open, returns NULL
 * and sets parser->failed. */
struct smb_tx *smb_tx_new(struct smb_parser *parser, enum smb_kind kind, uint8_t version, uint16_t command,
                          const struct smb_key *key);
/* Finds an open transaction of `kind`, or of any kind (SMB_KINDS), by command and key; the tree ids are not compared.
 * Returns NULL if there is none. */
struct smb_tx *smb_tx_find(const struct smb_parser *parser, enum smb_kind kind, uint8_t version, uint16_t command,
                           const struct smb_key *key);
struct smb_tx *smb_tx_find_negotiate(const struct smb_parser *parser, uint8_t version);
struct smb_tx *smb_tx_find_last(const struct smb_parser *parser, uint8_t version, uint16_t command);
struct smb_tx *smb_tx_first_open(const struct smb_parser *parser);
struct smb_tx *smb_tx_next_open(const struct smb_tx *tx);
void smb_tx_complete(const struct smb_parser *parser, struct smb_tx *tx, enum flow_direction direction);
void smb_tx_complete_both(const struct smb_parser *parser, struct smb_tx *tx);
void smb_tx_set_status(struct smb_tx *tx, uint32_t status, bool is_dos_status);
void smb_tx_set_response(const struct smb_parser *parser, struct smb_tx *tx, const struct smb_message *message);
void smb_tx_set_event(struct smb_parser *parser, struct smb_tx *tx, enum smb_event event); /* tx NULL: no effect */
/* Reports an event that belongs to no transaction. */
void smb_report_event(struct smb_parser *parser, uint8_t version, enum smb_event event);
void smb_tx_free(struct app_context *context, struct app_tx *tx);
/* Stores text without its zero bytes, which is how Suricata decodes UTF-16. */
void smb_store_text(struct smb_parser *parser, struct buffer *out, const uint8_t *bytes, size_t length);
void smb_store_bytes(struct smb_parser *parser, struct buffer *out, const uint8_t *bytes, size_t length);

/* --- lookup.c: trees, reads, pending requests, names of open files ----------------------------------- */

/* Returns the entry of the tree to which the message refers; NULL if the tree is unknown. */
struct smb_entry *smb_tree_find(const struct smb_parser *parser, const struct smb_message *message);
void smb_tree_add(struct smb_parser *parser, const struct smb_message *message, const uint8_t *name, size_t length,
                  bool is_pipe);
void smb_tree_remove(struct smb_parser *parser, const struct smb_message *message);
void smb_read_add(struct smb_parser *parser, const struct smb_message *message, const struct smb_file_id *id,
                  uint64_t offset);
/* Removes the pending read that the response belongs to, and sets *id and *offset to its file and offset. Returns false
 * if there is none. */
bool smb_read_remove(struct smb_parser *parser, const struct smb_message *message, struct smb_file_id *id,
                     uint64_t *offset);
/* Data of a request that the parser needs again for the response: the name of the file that the request opens
 * (SMB_PENDING_NAME), or the id of the file (SMB_PENDING_ID). */
enum smb_pending { SMB_PENDING_NAME, SMB_PENDING_ID };
struct smb_entry *smb_pending_add(struct smb_parser *parser, enum smb_pending type, const struct smb_message *message);
struct smb_entry *smb_pending_find(const struct smb_parser *parser, enum smb_pending type, uint64_t session,
                                   uint64_t message);
void smb_name_add(struct smb_parser *parser, const struct smb_file_id *id, const uint8_t *name, size_t length);
const struct buffer *smb_name_find(const struct smb_parser *parser, const struct smb_file_id *id); /* NULL if unknown */
void smb_name_copy(struct smb_parser *parser, const struct smb_file_id *id, const char *fallback, struct buffer *out);

#endif
