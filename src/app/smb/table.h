/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events, status codes, and the tables that keep parameters of requests until they are needed.
 */
#ifndef SLUICE_APP_SMB_TABLE_H
#define SLUICE_APP_SMB_TABLE_H

#include "app/dcerpc/dce.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

enum {
    SMB_NBSS_HEADER = 4,
    SMB1_HEADER = 32,
    SMB2_HEADER = 64,
    SMB_RECORD_MAX = 256 << 10, /* parsed bytes of a record that does not contain file data */
    SMB_NAME_MAX = 4096,        /* bytes of a name that are stored */
    SMB_DIALECTS_MAX = 64,      /* dialects of a negotiation that are parsed */
    SMB_DIALECT_NAME = 32,      /* bytes of a dialect name that are stored */
    SMB_BUCKETS = 32,           /* hash buckets of a table */
    SMB_KEY = 32,               /* maximum bytes of a key in a table */
    SMB_GUID = 16,              /* bytes of a GUID or FileId */
    SMB_COMPLETE = 1,           /* transaction progress */
};

enum { SMB_DIRECTORY_FILE = 1, SMB_DELETE_ON_CLOSE = 0x1000 }; /* CreateOptions */

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

/* File id. SMB 2: the FileId of 16 bytes. SMB 1: the FID of two bytes, followed by the UID as four bytes (big-endian),
 * because FIDs are unique only within a session. */
struct smb_file_id {
    uint8_t length;
    uint8_t bytes[SMB_GUID];
};

/* --- table.c ----------------------------------------------------------------------------------------- */

/* Entry of one of the tables in struct smb_state. The table determines which of the last members are used. */
struct smb_entry {
    struct smb_entry *next, *newer, *older; /* next in the hash bucket; links in the order of smb_table_add() */
    uint8_t key_length;
    uint8_t key[SMB_KEY];
    bool is_pipe;          /* the tree is a pipe share */
    uint64_t offset;       /* offset of a read in the file */
    struct smb_file_id id; /* file of a read, close or SMB 1 transaction */
    struct buffer bytes;   /* name of a tree or file, or bytes of a DCE/RPC fragment */
};

struct smb_table {
    struct smb_entry *bucket[SMB_BUCKETS], *newest, *oldest;
    uint32_t count;
};

struct smb_table_key {
    uint8_t length;
    uint8_t bytes[SMB_KEY];
};

/* Returns the entry of the key; NULL for none. */
struct smb_entry *smb_table_find(struct smb_table *table, const struct smb_table_key *key);
/* Returns the entry of the key, with empty bytes. Adds it if there is none; if the table has `limit` entries, first
 * removes the oldest one. Returns NULL if out of memory. */
struct smb_entry *smb_table_add(struct heap *heap, struct smb_table *table, uint32_t limit,
                                const struct smb_table_key *key);
void smb_table_remove(struct heap *heap, struct smb_table *table, struct smb_entry *entry); /* NULL is allowed */
void smb_table_clear(struct heap *heap, struct smb_table *table);

#endif
