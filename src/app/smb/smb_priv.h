/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SMB 1 to 3 ([MS-CIFS], [MS-SMB], [MS-SMB2]) over NetBIOS sessions (RFC 1002) and directly over TCP.
 *
 * A request with its response is a transaction, as in Suricata: negotiation, session setup, tree connect, create,
 * ioctl, rename and others. All data read from one open file, or written to it, is one transaction until the file is
 * closed; DCE/RPC in a pipe has one transaction per call. Reads and writes themselves are not transactions.
 *
 * Small tables store what responses do not repeat, by ids of the request, and drop the oldest entry when full: names of
 * open files, trees, offsets of reads. File data is passed to the file engine as it is received; other records are
 * parsed when they are complete, of long ones only the start.
 */
#ifndef SLUICE_APP_SMB_PRIV_H
#define SLUICE_APP_SMB_PRIV_H

#include "app/dcerpc/dce.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    SMB_NBSS_HEADER = 4,
    SMB1_HEADER = 32,
    SMB2_HEADER = 64,
    SMB_RECORD_MAX = 256 << 10, /* parsed bytes of a record that does not contain file data */
    SMB_NAME_MAX = 4096,
    SMB_DIALECTS_MAX = 64,
    SMB_DIALECT_NAME = 32,
    SMB_BUCKETS = 32,
    SMB_KEY = 32,
    SMB_GUID = 16,
    SMB_COMPLETE = 1, /* transaction progress */
};

enum smb_event {
    SMB_INTERNAL_ERROR,
    SMB_MALFORMED_DATA,
    SMB_RECORD_OVERFLOW,
    SMB_MALFORMED_NTLMSSP_REQUEST,
    SMB_MALFORMED_NTLMSSP_RESPONSE,
    SMB_DUPLICATE_NEGOTIATE,
    SMB_NEGOTIATE_MALFORMED_DIALECTS,
    SMB_FILE_OVERLAP,
    SMB_REQUEST_TO_CLIENT,
    SMB_RESPONSE_TO_SERVER,
    SMB_NEGOTIATE_MAX_READ_SIZE_TOO_LARGE,
    SMB_NEGOTIATE_MAX_WRITE_SIZE_TOO_LARGE,
    SMB_READ_REQUEST_TOO_LARGE,
    SMB_READ_RESPONSE_TOO_LARGE,
    SMB_READ_QUEUE_SIZE_EXCEEDED,
    SMB_READ_QUEUE_CNT_EXCEEDED,
    SMB_WRITE_REQUEST_TOO_LARGE,
    SMB_WRITE_QUEUE_SIZE_EXCEEDED,
    SMB_WRITE_QUEUE_CNT_EXCEEDED,
    SMB_UNUSUAL_NTLMSSP_ORDER,
    SMB_TOO_MANY_TRANSACTIONS,
    SMB_EVENTS
};

enum smb_status {
    SMB_STATUS_SUCCESS = 0,
    SMB_STATUS_PENDING = 0x103,
    SMB_STATUS_BUFFER_OVERFLOW = (int)0x80000005,
    SMB_STATUS_END_OF_FILE = (int)0xc0000011,
};

/* Identifier of an open file: 16 bytes; in SMB 1 two bytes and the session. */
struct smb_id {
    uint8_t length;
    uint8_t bytes[SMB_GUID];
};

/* --- table.c ----------------------------------------------------------------------------------------- */

struct smb_entry {
    struct smb_entry *next, *newer, *older;
    uint8_t key_length;
    uint8_t key[SMB_KEY];
    bool is_pipe;        /* trees */
    uint64_t offset;     /* reads */
    struct smb_id id;    /* reads, closes and transactions */
    struct buffer bytes; /* a name, or bytes of a fragment */
};

struct smb_table {
    struct smb_entry *bucket[SMB_BUCKETS], *newest, *oldest;
    uint32_t count;
};

struct smb_table_key {
    uint8_t length;
    uint8_t bytes[SMB_KEY];
};

struct smb_entry *smb_table_find(struct smb_table *table, const struct smb_table_key *key);
/* Returns the entry of the key, with empty bytes; removes the oldest entry of a full table. NULL if out of memory. */
struct smb_entry *smb_table_add(struct heap *heap, struct smb_table *table, uint32_t limit,
                                const struct smb_table_key *key);
void smb_table_remove(struct heap *heap, struct smb_table *table, struct smb_entry *entry); /* NULL is allowed */
void smb_table_clear(struct heap *heap, struct smb_table *table);

/* --- Transactions ------------------------------------------------------------------------------------ */

enum smb_kind {
    SMB_GENERIC,
    SMB_NEGOTIATE,
    SMB_SESSION_SETUP,
    SMB_TREE_CONNECT,
    SMB_CREATE,
    SMB_FILE,
    SMB_DCERPC,
    SMB_IOCTL,
    SMB_RENAME,
    SMB_SET_INFO,
    SMB_KINDS
};

/* Ids of a message. The key type, as in Suricata, distinguishes transactions of different messages with the same
 * command. */
enum smb_key_type { SMB_KEY_NONE, SMB_KEY_GENERIC, SMB_KEY_HEADER, SMB_KEY_TREE };
struct smb_key {
    enum smb_key_type type;
    uint32_t tree;
    uint64_t session, message;
};

/* Indexes of smb_tx.text, by the kind of transaction. */
enum smb_text {
    SMB_TEXT_NAME = 0, /* of a file, share or pipe; the old name of a rename */
    SMB_TEXT_SHARE = 1,
    SMB_TEXT_NEW_NAME = 1,
    SMB_TEXT_REQUEST_SERVICE = 1,
    SMB_TEXT_RESPONSE_SERVICE = 2,
    SMB_TEXT_DIALECTS = 0, /* zero-terminated names, or 16-bit numbers */
    SMB_TEXT_DOMAIN = 0,
    SMB_TEXT_USER = 1,
    SMB_TEXT_HOST = 2,
    SMB_TEXT_REQUEST_OS = 3,
    SMB_TEXT_REQUEST_LM = 4,
    SMB_TEXT_RESPONSE_OS = 5,
    SMB_TEXT_RESPONSE_LM = 6,
    SMB_TEXT_REALM = 7,
    SMB_TEXT_SERVICE_NAMES = 8, /* zero-terminated */
    SMB_TEXTS = 9,
};

/* Out-of-order data of a file. */
struct smb_chunk {
    struct smb_chunk *next;
    uint64_t offset;
    struct buffer bytes;
};

struct smb_tx {
    struct dce_tx head;
    enum smb_kind kind;
    uint8_t version; /* 1, 2; 0: unknown */
    uint16_t command;
    bool has_status, is_dos_status;
    uint8_t error_class;
    uint32_t status;
    struct smb_key key;
    uint16_t dialect; /* the dialect at completion */
    uint8_t dialect_length;
    char dialect_name[SMB_DIALECT_NAME];
    struct buffer text[SMB_TEXTS];
    struct smb_id id;
    union {
        struct {
            bool has_client_guid, has_server_guid, has_response;
            uint8_t client_guid[SMB_GUID], server_guid[SMB_GUID];
            uint32_t max_read, max_write;
        } negotiate;
        struct {
            bool has_ntlmssp, has_version, has_warning, has_request, has_response;
            uint8_t version[8];
        } setup;
        struct {
            bool is_pipe, is_answered, has_request_service, has_response_service;
            uint8_t share_type;
        } tree;
        struct {
            uint32_t disposition;
            bool delete_on_close, is_directory;
            uint64_t created, accessed, modified, changed, size;
        } create;
        struct {
            enum flow_direction direction;
            struct file *file; /* NULL: closed */
            uint64_t tracked;  /* bytes passed to the file engine, gaps included */
            struct smb_chunk *chunks;
            uint32_t chunk_count;
            uint64_t queued;
        } file;
        struct {
            uint32_t function;
        } ioctl;
        struct {
            uint16_t subcommand, level;
            bool delete_on_close;
        } set_info;
        struct dce_call call;
    };
};

struct smb_settings {
    uint32_t max_read_size, max_write_size, max_read_queue_count, max_write_queue_count, max_tx;
    uint64_t max_read_queue_size, max_write_queue_size;
    uint32_t max_names, max_reads, max_trees, max_fragments, max_pending;
    bool logs[SMB_KINDS];
};

/* --- State ------------------------------------------------------------------------------------------- */

/* State of a direction. */
struct smb_side {
    uint32_t chunk_left; /* bytes that follow and belong to a file */
    uint32_t skip;       /* bytes after them that are not parsed */
    uint64_t chunk_at;   /* offset in the file */
    struct smb_id file;
    bool lost;  /* searching for the start of the next record */
    bool ended; /* the files of this direction were closed */
};

struct smb_state {
    struct smb_table reads, trees, names, pending, fragments;
    struct smb_side side[FLOW_DIRECTIONS];
    uint16_t dialect; /* SMB 2; 0: none */
    uint8_t dialect_length;
    char dialect_name[SMB_DIALECT_NAME];
    uint32_t max_read, max_write; /* negotiated; 0: unknown */
    struct dce_bindings *bindings;
};

/* --- transfer.c -------------------------------------------------------------------------------------- */

void smb_transfer(struct app_context *context, void *data, struct transfer *t);

/* Context while input is parsed. */
struct smb_parser {
    struct app_context *context;
    struct heap *heap;
    struct smb_state *state;
    const struct smb_settings *settings;
    enum flow_direction direction;
    bool failed; /* out of memory, or too many transactions */
};

/* A message, as far as it has been received. */
struct smb_message {
    uint8_t version;
    uint16_t command;
    bool is_response, is_dos_status, is_unicode;
    uint32_t status, tree;
    uint64_t session, message;
    const uint8_t *bytes; /* starts with the header */
    uint32_t length;
    uint32_t missing; /* bytes of the record that have not been received */
};

/* --- tx.c -------------------------------------------------------------------------------------------- */

struct smb_key smb_message_key(const struct smb_message *message, enum smb_key_type type);
/* Allocates a transaction whose request is complete. On failure returns NULL and sets parser->failed. */
struct smb_tx *smb_tx_new(struct smb_parser *parser, enum smb_kind kind, uint8_t version, uint16_t command,
                          const struct smb_key *key);
/* Finds an open transaction by command and ids (the tree is not compared), of `kind` or of any kind (SMB_KINDS). NULL
 * if there is none. */
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
void smb_tx_event(struct smb_parser *parser, struct smb_tx *tx, enum smb_event event); /* tx may be NULL */
/* Reports an event that belongs to no transaction. */
void smb_event(struct smb_parser *parser, uint8_t version, enum smb_event event);
void smb_tx_free(struct app_context *context, struct app_tx *tx);
/* Stores text without its zero bytes, which is how Suricata decodes UTF-16. */
void smb_store_text(struct smb_parser *parser, struct buffer *out, const uint8_t *bytes, size_t length);
void smb_store_bytes(struct smb_parser *parser, struct buffer *out, const uint8_t *bytes, size_t length);

/* --- lookup.c: trees, reads, pending requests, names of open files ----------------------------------- */

struct smb_entry *smb_tree_find(const struct smb_parser *parser, const struct smb_message *message);
void smb_tree_add(struct smb_parser *parser, const struct smb_message *message, const uint8_t *name, size_t length,
                  bool is_pipe);
void smb_tree_remove(struct smb_parser *parser, const struct smb_message *message);
void smb_read_add(struct smb_parser *parser, const struct smb_message *message, const struct smb_id *id,
                  uint64_t offset);
/* Gets and removes a pending read; false if there is none. */
bool smb_read_remove(struct smb_parser *parser, const struct smb_message *message, struct smb_id *id, uint64_t *offset);
enum smb_pending { SMB_PENDING_NAME, SMB_PENDING_ID };
struct smb_entry *smb_pending_add(struct smb_parser *parser, enum smb_pending type, const struct smb_message *message);
struct smb_entry *smb_pending_find(const struct smb_parser *parser, enum smb_pending type, uint64_t session,
                                   uint64_t message);
void smb_name_add(struct smb_parser *parser, const struct smb_id *id, const uint8_t *name, size_t length);
const struct buffer *smb_name_find(const struct smb_parser *parser, const struct smb_id *id); /* NULL if unknown */
void smb_name_copy(struct smb_parser *parser, const struct smb_id *id, const char *fallback, struct buffer *out);

/* --- file.c ------------------------------------------------------------------------------------------ */

struct smb_tx *smb_file_find(const struct smb_parser *parser, const struct smb_id *id, enum flow_direction direction);
/* `length` bytes of file data, of which `here` bytes have been received; the rest follows as the chunk of the
 * direction. */
struct smb_transfer {
    const struct smb_id *id;
    uint64_t offset;
    uint32_t length, here;
    const uint8_t *bytes;
    const char *unknown; /* name to use if the file's name is unknown */
};
void smb_file_transfer(struct smb_parser *parser, const struct smb_message *message,
                       const struct smb_transfer *transfer);
/* Processes more of the current chunk and returns how many of the bytes belonged to it. `bytes` NULL: a gap. */
uint32_t smb_file_data(struct smb_parser *parser, const uint8_t *bytes, uint64_t length);
void smb_file_close(struct smb_parser *parser, struct smb_tx *tx);
void smb_file_close_all(struct smb_parser *parser);
void smb_file_clear(struct heap *heap, struct smb_tx *tx);

/* --- pipe.c ------------------------------------------------------------------------------------------ */

bool smb_is_dcerpc_pipe(const struct smb_parser *parser, const struct smb_id *id);
bool smb_looks_like_dcerpc(const uint8_t *bytes, size_t length);
/* Marks the tree and the file as DCE/RPC from now on: they were opened before inspection started. */
void smb_pipe_assume_dcerpc(struct smb_parser *parser, const struct smb_message *message, const struct smb_id *id);
void smb_pipe_request(struct smb_parser *parser, const struct smb_message *message, const uint8_t *bytes,
                      size_t length);
void smb_pipe_response(struct smb_parser *parser, const struct smb_message *message, const struct smb_id *id,
                       const uint8_t *bytes, size_t length);

/* --- ntlmssp.c --------------------------------------------------------------------------------------- */

/* Parses the user, domain and host, or the Kerberos names, of a security blob. */
void smb_read_security_blob(struct smb_parser *parser, struct smb_tx *tx, const uint8_t *blob, size_t length);

/* --- smb1.c, smb1_session.c, smb1_file.c, smb1_transaction.c, smb2.c, smb2_file.c, smb2_session.c ---- */

bool smb1_header_read(const uint8_t *bytes, uint32_t length, struct smb_message *out);
void smb1_message(struct smb_parser *parser, const struct smb_message *message);
struct smb_id smb1_id(const uint8_t *fid, const struct smb_message *message);
void smb1_generic_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command,
                          bool is_malformed);
void smb1_generic_response(struct smb_parser *parser, const struct smb_message *message, bool is_malformed);
/* Parses a zero-terminated SMB 1 string at cur, which must point into the message: aligned UTF-16, or bytes. False if
 * there is none. */
bool smb1_text(struct smb_parser *parser, const struct smb_message *message, struct cursor *cur, struct buffer *out);
bool smb1_bytes(struct smb_parser *parser, struct cursor *cur, struct buffer *out); /* up to a zero byte */
/* Each parses the command at offset `at`, or after the header; false if it is malformed. */
bool smb1_session_setup_request(struct smb_parser *parser, const struct smb_message *message, uint32_t at);
bool smb1_session_setup_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at);
bool smb1_negotiate_request(struct smb_parser *parser, const struct smb_message *message);
bool smb1_negotiate_response(struct smb_parser *parser, const struct smb_message *message);
void smb1_transaction_request(struct smb_parser *parser, const struct smb_message *message);
void smb1_transaction_response(struct smb_parser *parser, const struct smb_message *message);
bool smb1_transaction2_request(struct smb_parser *parser, const struct smb_message *message, bool *is_malformed);
bool smb1_rename_request(struct smb_parser *parser, const struct smb_message *message);
void smb1_write_request(struct smb_parser *parser, const struct smb_message *message, uint16_t command, uint32_t at);
void smb1_read_response(struct smb_parser *parser, const struct smb_message *message, uint32_t at);

bool smb2_header_read(const uint8_t *bytes, uint32_t length, struct smb_message *out, uint32_t *next);
void smb2_message(struct smb_parser *parser, const struct smb_message *message);
struct smb_id smb2_id(const uint8_t *guid);
bool smb2_session_setup_request(struct smb_parser *parser, const struct smb_message *message);
void smb2_session_setup_response(struct smb_parser *parser, const struct smb_message *message);
bool smb2_negotiate_request(struct smb_parser *parser, const struct smb_message *message);
bool smb2_negotiate_response(struct smb_parser *parser, const struct smb_message *message, bool *found);
bool smb2_set_info_request(struct smb_parser *parser, const struct smb_message *message, bool *is_malformed);
void smb2_write_request(struct smb_parser *parser, const struct smb_message *message);
void smb2_read_response(struct smb_parser *parser, const struct smb_message *message);

/* Whether the record is file data, which is passed on without buffering; SMB_STREAM_UNSURE if more bytes are required
 * to decide. */
enum smb_stream { SMB_STREAM_NO, SMB_STREAM_UNSURE, SMB_STREAM_YES };
enum smb_stream smb1_stream_kind(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t *needed);
enum smb_stream smb2_stream_kind(struct smb_parser *parser, const uint8_t *bytes, uint32_t length, uint32_t *needed);

/* --- names.c, log.c, keywords.c, settings.c ---------------------------------------------------------- */

enum { SMB_NAME_TEXT = 24 }; /* size of a number as text */
const char *smb1_command_name(uint16_t command, char number[SMB_NAME_TEXT]);
const char *smb2_command_name(uint16_t command, char number[SMB_NAME_TEXT]);
const char *smb2_dialect_name(uint16_t dialect, char number[SMB_NAME_TEXT]);
const char *smb_status_name(uint32_t status, char number[SMB_NAME_TEXT]);
const char *smb_dos_status_name(uint8_t error_class, uint16_t code, char number[SMB_NAME_TEXT]);
const char *smb_function_name(uint32_t function, char number[SMB_NAME_TEXT]);

void smb_log(const struct app_tx *tx, const void *settings, struct fields *out);
bool smb_wants_log(const struct app_tx *tx, const void *settings);

extern const struct app_event smb_events[SMB_EVENTS];
enum { SMB_BUFFERS = 8, SMB_CONDITIONS = 6 };
extern const struct app_buffer smb_buffers[SMB_BUFFERS];
extern const struct app_condition smb_conditions[SMB_CONDITIONS];
extern const struct keyword keyword_smb_named_pipe, keyword_smb_share, keyword_smb_ntlmssp_user,
    keyword_smb_ntlmssp_domain, keyword_smb_version;

extern const struct setting smb_setting_rows[];
const struct smb_settings *smb_get_settings(const struct app_context *context); /* the defaults if there are none */
int smb_configure(const struct config *config, struct diag *diag, void **out);
void smb_unconfigure(void *settings);

#endif
