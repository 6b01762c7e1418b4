/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transactions.
 */
#ifndef SLUICE_APP_SMB_TX_H
#define SLUICE_APP_SMB_TX_H

#include "app/dcerpc/dce.h"
#include "sluice/app.h"
#include "sluice/bytes.h"

#include "table.h"

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

/* The ids by which a response finds its transaction. As in Suricata, the type is part of the key: transactions whose
 * ids are compared at different levels (tree, message) are not mistaken for each other. */
enum smb_key_type { SMB_KEY_NONE, SMB_KEY_GENERIC, SMB_KEY_HEADER, SMB_KEY_TREE };
struct smb_key {
    enum smb_key_type type;
    uint32_t tree;
    uint64_t session, message;
};

/* Indexes of smb_tx.text. Each kind of transaction uses a few of them, so indexes have several names. */
enum smb_text {
    SMB_TEXT_NAME = 0, /* name of a file, share or pipe; old name of a rename */
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

struct smb_tx {
    struct dce_tx head;
    enum smb_kind kind;
    uint8_t version; /* 1: SMB 1; 2: SMB 2 or 3; 0: unknown */
    uint16_t command;
    /* has_status: the response has been received, and `status` is set. is_dos_status: `status` is a DOS error code of
     * error_class; otherwise it is an NTSTATUS. */
    bool has_status, is_dos_status;
    uint8_t error_class;
    uint32_t status;
    struct smb_key key;
    uint16_t dialect; /* negotiated dialect when the transaction was created or completed */
    uint8_t dialect_length;
    char dialect_name[SMB_DIALECT_NAME];
    struct buffer text[SMB_TEXTS];
    struct smb_file_id id;
    union {
        struct {
            bool has_client_guid, has_server_guid, has_response;
            uint8_t client_guid[SMB_GUID], server_guid[SMB_GUID];
            uint32_t max_read, max_write;
        } negotiate;
        struct {
            /* has_ntlmssp: an NTLMSSP message was parsed. has_version: it has a version. has_warning: its fields are in
             * an unusual order (SMB_UNUSUAL_NTLMSSP_ORDER). */
            bool has_ntlmssp, has_version, has_warning, has_request, has_response;
            uint8_t version[8];
        } setup;
        struct {
            /* is_pipe: the share is a pipe share, according to the response. is_answered: the response has been
             * received. has_..._service: the text of that name is set. */
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
            struct file_chunks chunks;
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
    /* max_read_size and max_write_size: bytes of one read or write; a larger one sets an event. ..._queue_count and
     * ..._queue_size: out-of-order chunks and bytes queued for a file. 0: unlimited. max_tx: number of transactions
     * without a response. */
    uint32_t max_read_size, max_write_size, max_read_queue_count, max_write_queue_count, max_tx;
    uint64_t max_read_queue_size, max_write_queue_size;
    /* Maximum numbers of entries of the tables in struct smb_state. */
    uint32_t max_names, max_reads, max_trees, max_fragments, max_pending;
    const char *const *types; /* names of the kinds to log; empty: all */
    bool logs[SMB_KINDS];     /* by kind: whether transactions of it are logged */
};

#endif
