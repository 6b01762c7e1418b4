/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds SMB messages for tests. Tests write the bodies field by field; smb_send() sets the lengths in the headers. */
#ifndef SMB_MESSAGE_H
#define SMB_MESSAGE_H

#include "app_rig.h"

struct smb_wire {
    uint8_t bytes[8192];
    size_t length;
};

void wire_bytes(struct smb_wire *wire, const void *bytes, size_t length);
void wire_zeros(struct smb_wire *wire, size_t length);

/* Writes a little-endian number. */
void wire_number(struct smb_wire *wire, unsigned width, uint64_t value);

void wire_utf16(struct smb_wire *wire, const char *text);

struct smb2_ids {
    uint64_t message, session;
    uint32_t tree, status;
};

struct smb_wire smb2_begin(uint16_t command, bool is_response, struct smb2_ids ids);

struct smb1_ids {
    uint16_t tree, session, message;
    uint32_t status;
};

struct smb_wire smb1_begin(uint8_t command, bool is_response, struct smb1_ids ids);

/* Sets the length in the NetBIOS header. */
void smb_finish(struct smb_wire *wire);

void smb_send(struct app_rig *rig, enum flow_direction direction, struct smb_wire *wire);

#endif
