/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of the protocol, limits of the parser, events, and the ids of files.
 */
#ifndef SLUICE_APP_SMB_NUMBERS_H
#define SLUICE_APP_SMB_NUMBERS_H

#include <stdint.h>

enum {
    SMB_NBSS_HEADER = 4,
    SMB1_HEADER = 32,
    SMB2_HEADER = 64,
    SMB_RECORD_MAX = 256 << 10, /* parsed bytes of a record that does not contain file data */
    SMB_NAME_MAX = 4096,        /* bytes of a name that are stored */
    SMB_DIALECTS_MAX = 64,      /* dialects of a negotiation that are parsed */
    SMB_DIALECT_NAME = 32,      /* bytes of a dialect name that are stored */
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

#endif
