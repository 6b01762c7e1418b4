/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "smb_message.h"

void wire_bytes(struct smb_wire *wire, const void *bytes, size_t length)
{
    app_rig_require(wire->length + length <= sizeof(wire->bytes), "the message has no more room");
    memcpy(wire->bytes + wire->length, bytes, length);
    wire->length += length;
}

void wire_zeros(struct smb_wire *wire, size_t length)
{
    static const uint8_t zeros[256];

    wire_bytes(wire, zeros, length);
}

void wire_number(struct smb_wire *wire, unsigned width, uint64_t value)
{
    for (unsigned i = 0; i < width; i++) {
        uint8_t byte = (uint8_t)(value >> 8 * i);

        wire_bytes(wire, &byte, 1);
    }
}

void wire_utf16(struct smb_wire *wire, const char *text)
{
    for (; *text; text++)
        wire_number(wire, 2, (uint8_t)*text);
}

struct smb_wire smb2_begin(uint16_t command, bool is_response, struct smb2_ids ids)
{
    struct smb_wire wire = { .length = 4 }; /* NetBIOS header */

    wire_bytes(&wire, "\xfeSMB", 4);
    wire_number(&wire, 2, 64);
    wire_number(&wire, 2, 0);
    wire_number(&wire, 4, ids.status);
    wire_number(&wire, 2, command);
    wire_number(&wire, 2, 1);
    wire_number(&wire, 4, is_response);
    wire_number(&wire, 4, 0);
    wire_number(&wire, 8, ids.message);
    wire_number(&wire, 4, 0);
    wire_number(&wire, 4, ids.tree);
    wire_number(&wire, 8, ids.session);
    wire_zeros(&wire, 16);
    return wire;
}

struct smb_wire smb1_begin(uint8_t command, bool is_response, struct smb1_ids ids)
{
    struct smb_wire wire = { .length = 4 };

    wire_bytes(&wire, "\xffSMB", 4);
    wire_number(&wire, 1, command);
    wire_number(&wire, 4, ids.status);
    wire_number(&wire, 1, is_response ? 0x80 : 0);
    wire_number(&wire, 2, 0xc001); /* Flags2: UTF-16 names, NT status codes */
    wire_zeros(&wire, 12);
    wire_number(&wire, 2, ids.tree);
    wire_number(&wire, 2, 1);
    wire_number(&wire, 2, ids.session);
    wire_number(&wire, 2, ids.message);
    return wire;
}

void smb_finish(struct smb_wire *wire)
{
    size_t length = wire->length - 4;

    wire->bytes[0] = 0;
    wire->bytes[1] = (uint8_t)(length >> 16);
    wire->bytes[2] = (uint8_t)(length >> 8);
    wire->bytes[3] = (uint8_t)length;
}

void smb_send(struct app_rig *rig, enum flow_direction direction, struct smb_wire *wire)
{
    smb_finish(wire);
    app_rig_send(rig, direction, wire->bytes, wire->length);
}
