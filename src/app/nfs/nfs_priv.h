/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS versions 2, 3 and 4 (RFC 1094, 1813, 7530) over ONC RPC (RFC 5531). A call with its reply is a transaction.
 * Replies may arrive in any order and are matched to calls by the xid. As in Suricata, all reads of a file form one
 * transaction, and so do all writes of a file: file.c.
 *
 * Calls identify files by handles. The names of the last NFS_NAMES handles in replies are stored per flow, so that
 * events can contain names.
 */
#ifndef SLUICE_APP_NFS_PRIV_H
#define SLUICE_APP_NFS_PRIV_H

#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    NFS_PROGRAM = 100003,
    NFS_HANDLE_MAX = 128,
    NFS_NAME_MAX = 255,        /* longer names are cut */
    NFS_NAMES = 64,            /* handles with a stored name */
    NFS_READ_MAX = 16384,      /* bytes of a TCP message that are parsed; the rest is skipped */
    NFS_RECORD_MAX = 64 << 20, /* a longer record is malformed */
    NFS_CALLS_MAX = 1000,      /* calls that wait for a reply */
    NFS_OPERATIONS_MAX = 64,   /* parsed operations of a compound call */
    NFS_ENTRIES_MAX = 512,     /* directory entries per reply */
    NFS_FILES_MAX = 64,        /* open transactions of files */
    NFS_QUEUE_MAX = 2 << 20,   /* bytes of a file that are queued until the bytes before them arrive */
    NFS_CHUNKS_MAX = 64,       /* parts of a file that are queued */
};
/* NFS_STARTED: the first call has been parsed. NFS_COMPLETE: of a file that is written, all data has been received. */
enum { NFS_STARTED = 1, NFS_COMPLETE = 2 };

enum nfs_event {
    NFS_MALFORMED_DATA,
    NFS_NON_EXISTING_VERSION,
    NFS_UNSUPPORTED_VERSION,
    NFS_TOO_MANY_TRANSACTIONS,
    NFS_EVENTS,
};

enum { RPC_AUTH_UNIX = 1, RPC_AUTH_GSS = 6 };

/* Procedures that are parsed: the numbers of version 3, and those of version 2. */
enum {
    NFS3_GETATTR = 1,
    NFS3_LOOKUP = 3,
    NFS3_ACCESS = 4,
    NFS3_READ = 6,
    NFS3_WRITE = 7,
    NFS3_CREATE = 8,
    NFS3_MKDIR = 9,
    NFS3_REMOVE = 12,
    NFS3_RMDIR = 13,
    NFS3_RENAME = 14,
    NFS3_READDIRPLUS = 17,
    NFS3_COMMIT = 21,
    NFS2_GETATTR = 1,
    NFS2_LOOKUP = 4,
    NFS2_READ = 6,
    NFS2_WRITE = 8,
    NFS2_CREATE = 9,
    NFS2_REMOVE = 10,
    NFS2_RENAME = 11,
    NFS2_MKDIR = 14,
    NFS2_RMDIR = 15,
    NFS4_READ = 25,
    NFS4_WRITE = 38,
};

struct nfs_settings {
    bool has_version_2_writes; /* inspect files written with version 2 */
};

struct nfs_text {
    uint32_t at, length; /* location in nfs_tx.text */
};

/* The transfer of a file. */
struct nfs_file {
    enum flow_direction direction; /* of the data: to the server for writes */
    struct file *file;             /* NULL: no data yet, or complete */
    struct file_chunks chunks;
    /* is_last: the file is complete. has_end: the offset of its end is known. */
    bool is_last, has_end;
    uint64_t end;
    uint32_t last_xid; /* call that completed the file */
    uint32_t messages; /* replies with data of a read; calls of a write, without the first */
    uint32_t pending;  /* calls without a reply */
};

struct nfs_tx {
    struct app_tx tx;
    /* parsed: the call was parsed up to the arguments; otherwise the transaction only has events. answered: the reply
     * has been received. has_handle: handle_crc is set. has_target: the call has two names (rename). is_file: the
     * transaction is the transfer of a file. */
    bool parsed, answered, has_handle, has_target, is_file;
    uint8_t version;
    uint32_t xid, procedure; /* procedure: in version 4 the main operation of the compound */
    uint32_t auth_type, uid, gid;
    uint32_t rpc_status, status;
    uint32_t handle_crc;
    struct nfs_text machine, name, target; /* target: new name of a rename */
    struct nfs_text handle;                /* of a file */
    struct buffer text;                    /* machine, name, target and handle, concatenated */
    struct nfs_file file;
};

struct nfs_handle_name {
    uint32_t crc;
    uint8_t handle_length, name_length;
    uint8_t *bytes; /* the handle, then the name */
};

/* A call of a file's transaction that waits for its reply. */
enum nfs_request_kind { NFS_REQUEST_READ, NFS_REQUEST_WRITE, NFS_REQUEST_CLOSE };
struct nfs_request {
    struct nfs_request *next;
    enum nfs_request_kind kind;
    uint32_t xid;
    uint64_t tx_id;
    uint64_t offset; /* of the read in the file */
};

struct nfs_side {
    uint64_t skip; /* remaining bytes of the current record, which are not parsed */
    /* The first chunk_left bytes of them are data of the file of transaction tx_id, at offset chunk_at. */
    uint32_t chunk_left;
    uint64_t chunk_at, tx_id;
    bool lost;         /* after a gap: the start of the next record is unknown */
    bool in_fragments; /* inside a record of several fragments, which is skipped */
};

struct nfs_state {
    struct nfs_side side[FLOW_DIRECTIONS];
    struct nfs_request *oldest_request, *newest_request;
    uint32_t request_count, file_count; /* file_count: transactions of files that are not complete */
    unsigned next_name;                 /* index in handle_names of the entry that is replaced next */
    struct nfs_handle_name handle_names[NFS_NAMES];
};

/* Context while a message is parsed. */
struct nfs_parse {
    struct app_context *context;
    struct heap *heap;
    struct nfs_state *state;
    struct nfs_tx *tx; /* transaction of the message. While a call is parsed, it is not in the list of transactions yet.
                          NULL: a reply that only belongs to transactions of files */
    uint32_t xid;
    uint32_t missing; /* bytes of the message that have not been received */
    bool in_datagram;
    bool is_file_call; /* the call only reads or writes a file: it belongs to the transaction of the file */
    bool no_memory;
};

/* Data of a file in a message. */
struct nfs_data {
    uint64_t offset;
    uint32_t length;
    struct cursor received; /* the bytes received so far */
};

/* --- xdr.c ------------------------------------------------------------------------------------------- */

/* Parses opaque data (RFC 4506 §4.10): a length, the bytes, and padding to a multiple of four. Returns false if the
 * data is truncated or longer than `limit`. */
bool nfs_read_opaque(struct cursor *cur, uint32_t limit, struct cursor *out);
bool nfs_skip_opaque(struct cursor *cur);
/* Parses the data of a read or write, of which the end may not have been received yet. */
bool nfs_read_data(const struct nfs_parse *parse, struct cursor *cur, struct nfs_data *out);
uint32_t nfs_crc32(struct cursor bytes);
/* Appends bytes to the text of the transaction, at most NFS_NAME_MAX; sets parse->no_memory on failure. */
void nfs_store(struct nfs_parse *parse, struct cursor bytes, struct nfs_text *out);
struct cursor nfs_text_bytes(const struct nfs_tx *tx, const struct nfs_text *text);

/* --- xdr.c: names of handles ------------------------------------------------------------------------- */

void nfs_name_add(struct nfs_parse *parse, struct cursor handle, struct cursor name);
bool nfs_name_find(const struct nfs_state *state, struct cursor handle, struct cursor *name);
void nfs_names_clear(struct heap *heap, struct nfs_state *state);

/* --- calls.c, compound.c: arguments and results; false if malformed ---------------------------------- */

bool nfs_read_call(struct nfs_parse *parse, struct cursor cur);
bool nfs_read_compound(struct nfs_parse *parse, struct cursor cur);
void nfs_read_reply(struct nfs_parse *parse, struct cursor cur);
void nfs_read_compound_reply(struct nfs_parse *parse, struct cursor cur);
/* Parses the result of a read in version 2 or 3, and passes its data to the file. */
bool nfs_read_read_reply(struct nfs_parse *parse, uint8_t version, struct cursor cur);

/* --- file.c: files that are read and written --------------------------------------------------------- */

/* A call reads a file from `offset` on. */
void nfs_file_read_call(struct nfs_parse *parse, struct cursor handle, uint64_t offset);
/* A call writes to a file. ends_file: it is the only one, because the server stores the data before it replies. */
void nfs_file_write_call(struct nfs_parse *parse, struct cursor handle, const struct nfs_data *data, bool ends_file);
/* A call completes the writes to a file: COMMIT, CLOSE. */
void nfs_file_close_call(struct nfs_parse *parse, struct cursor handle);
/* A reply has data of a file that is read: `data` without the offset. is_end: the file ends with the data. size: size
 * of the file; UINT64_MAX: not in the reply. */
void nfs_file_read_reply(struct nfs_parse *parse, struct nfs_data *data, bool is_end, uint64_t size);
/* Completes the calls with parse->xid, to which a reply has been received; call it after nfs_file_read_reply(). */
void nfs_file_reply(struct nfs_parse *parse, uint32_t rpc_status, uint32_t status);
/* Forgets the calls with parse->xid, which is used by a new call: a retransmission. */
void nfs_file_forget_calls(struct nfs_parse *parse);
/* Appends the next bytes of the current record to the file to which they belong. bytes == NULL: they were lost. */
void nfs_file_data(struct app_context *context, struct nfs_state *state, enum flow_direction direction,
                   const uint8_t *bytes, uint64_t length);
/* Returns the transaction of a file to which a call with this xid belongs; NULL for none. */
struct nfs_tx *nfs_file_find_call(struct app_context *context, const struct nfs_state *state, uint32_t xid);
/* Completes a transaction, also that of a file of which data is missing. */
void nfs_complete_tx(struct app_context *context, struct nfs_state *state, struct nfs_tx *tx);
/* Closes all open files in the direction. */
void nfs_files_close(struct app_context *context, struct nfs_state *state, enum flow_direction direction);
void nfs_requests_clear(struct heap *heap, struct nfs_state *state);
/* Completes the oldest transaction if there are NFS_CALLS_MAX open ones. */
void nfs_limit_calls(struct app_context *context, struct nfs_state *state);

/* --- numbers.c --------------------------------------------------------------------------------------- */

enum { NFS_NUMBER_TEXT = 16 };
/* Returns the name of the procedure, or its number as text in `text` if it has no name. */
const char *nfs_procedure_name(uint8_t version, uint32_t procedure, char text[NFS_NUMBER_TEXT]);
/* Returns the number of a procedure by its name, ignoring case; -1 if the version has no such procedure. */
int32_t nfs_procedure_number(uint8_t version, const char *name, size_t length);
const char *nfs_status_name(uint32_t status, char text[NFS_NUMBER_TEXT]);
const char *nfs_rpc_status_name(uint32_t status, char text[NFS_NUMBER_TEXT]);
const char *nfs_auth_name(uint32_t type, char text[NFS_NUMBER_TEXT]);

/* --- keywords.c, log.c ------------------------------------------------------------------------------- */

enum { NFS_BUFFERS = 1, NFS_CONDITIONS = 2 };
extern const struct app_buffer nfs_buffers[NFS_BUFFERS];
extern const struct app_condition nfs_conditions[NFS_CONDITIONS];

void nfs_log(const struct app_tx *tx, const void *settings, struct fields *out);
void nfs_log_rpc(const struct app_tx *tx, const void *settings, struct fields *out);
bool nfs_wants_log(const struct app_tx *tx, const void *settings);

#endif
