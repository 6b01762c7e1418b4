/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to capture: reads the blocks of a TPACKET_V3 ring. A block has a header and a chain of frames, each with a
 * header of its own. The kernel writes them; offsets and lengths are checked nevertheless, so that a wrong one
 * cannot make the program read outside of the block.
 */
#ifndef SLUICE_AF_PACKET_RING_H
#define SLUICE_AF_PACKET_RING_H

#include <stdbool.h>
#include <stdint.h>

enum { RING_VLAN_SIZE = 4 }; /* size of a VLAN tag: PACKET_RESERVE */

struct ring_frame {
    uint8_t *data; /* first byte of the link header */
    uint32_t length, wire_length;
    uint32_t headroom; /* unused bytes before `data` */
    uint64_t time_ns;
    uint32_t status; /* TP_STATUS_* */
    uint16_t vlan_tci, vlan_protocol;
};

/* The position in a block. */
struct ring_block {
    uint8_t *bytes;
    uint32_t size;
    uint32_t offset; /* of the next frame */
    uint32_t left;   /* number of frames that follow */
    bool malformed;  /* a header was invalid: the rest of the block was skipped */
};

/* Begins to read a block of `size` bytes that the kernel has released to the program. */
void ring_block_open(struct ring_block *out, uint8_t *bytes, uint32_t size);
/* Reads the next frame. Returns false at the end of the block. */
bool ring_block_next(struct ring_block *block, struct ring_frame *out);

/* Puts the VLAN tag that the kernel has removed from an Ethernet frame back into it. Does nothing for a frame without
 * removed tag. Returns false if there is no room for the tag. */
bool ring_frame_restore_vlan(struct ring_frame *frame);

#endif
