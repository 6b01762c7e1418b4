/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * NFS versions 2, 3 and 4 (RFC 1094, 1813, 7530) over ONC RPC (RFC 5531). A call with its reply is a transaction.
 * Replies may arrive in any order and are matched to calls by the xid.
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
};
enum { NFS_COMPLETE = 1 };

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
};

struct nfs_text {
    uint32_t at, length; /* location in nfs_tx.text */
};

struct nfs_tx {
    struct app_tx tx;
    /* parsed: the call was parsed up to the arguments; otherwise the transaction only has events. answered: the reply
     * has been received. has_handle: handle_crc is set. has_target: the call has two names (rename). */
    bool parsed, answered, has_handle, has_target;
    uint8_t version;
    uint32_t xid, procedure; /* procedure: in version 4 the main operation of the compound */
    uint32_t auth_type, uid, gid;
    uint32_t rpc_status, status;
    uint32_t handle_crc;
    struct nfs_text machine, name, target; /* target: new name of a rename */
    struct buffer text;                    /* machine, name and target, concatenated */
};

struct nfs_handle_name {
    uint32_t crc;
    uint8_t handle_length, name_length;
    uint8_t *bytes; /* the handle, then the name */
};

struct nfs_state {
    uint64_t skip[FLOW_DIRECTIONS];     /* remaining bytes of the current record, which are skipped */
    bool lost[FLOW_DIRECTIONS];         /* after a gap: the start of the next record is unknown */
    bool in_fragments[FLOW_DIRECTIONS]; /* inside a record of several fragments, which is skipped */
    unsigned next_name;                 /* index in handle_names of the entry that is replaced next */
    struct nfs_handle_name handle_names[NFS_NAMES];
};

/* Context while a message is parsed. */
struct nfs_parse {
    struct heap *heap;
    struct nfs_state *state;
    struct nfs_tx *tx;
    bool no_memory;
};

/* --- xdr.c ------------------------------------------------------------------------------------------- */

/* Parses opaque data (RFC 4506 §4.10): a length, the bytes, and padding to a multiple of four. Returns false if the
 * data is truncated or longer than `limit`. */
bool nfs_read_opaque(struct cursor *cur, uint32_t limit, struct cursor *out);
bool nfs_skip_opaque(struct cursor *cur);
uint32_t nfs_crc32(struct cursor bytes);
/* Appends bytes to the text of the transaction, at most NFS_NAME_MAX; sets parse->no_memory on failure. */
void nfs_store(struct nfs_parse *parse, struct cursor bytes, struct nfs_text *out);

/* --- xdr.c: names of handles ------------------------------------------------------------------------- */

void nfs_name_add(struct nfs_parse *parse, struct cursor handle, struct cursor name);
bool nfs_name_find(const struct nfs_state *state, struct cursor handle, struct cursor *name);
void nfs_names_clear(struct heap *heap, struct nfs_state *state);

/* --- calls.c, compound.c: arguments and results; false if malformed ---------------------------------- */

bool nfs_read_call(struct nfs_parse *parse, struct cursor cur);
bool nfs_read_compound(struct nfs_parse *parse, struct cursor cur);
void nfs_read_reply(struct nfs_parse *parse, struct cursor cur);

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

enum { NFS_CONDITIONS = 2 };
extern const struct app_condition nfs_conditions[NFS_CONDITIONS];

void nfs_log(const struct app_tx *tx, const void *settings, struct fields *out);
void nfs_log_rpc(const struct app_tx *tx, const void *settings, struct fields *out);
bool nfs_wants_log(const struct app_tx *tx, const void *settings);

#endif
