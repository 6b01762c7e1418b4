/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "af_packet_ring.h"

#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stddef.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/clock.h"

enum { FRAME_HEADER_SIZE = TPACKET_ALIGN(sizeof(struct tpacket3_hdr)) + sizeof(struct sockaddr_ll) };

void ring_block_open(struct ring_block *out, uint8_t *bytes, uint32_t size)
{
    struct cursor cur = cursor_of(bytes, size);
    const uint8_t *taken = cursor_read(&cur, sizeof(struct tpacket_block_desc));
    struct tpacket_block_desc head;

    *out = (struct ring_block){ .bytes = bytes, .malformed = true };
    if (!taken)
        return;
    memcpy(&head, taken, sizeof(head));
    if (head.hdr.bh1.blk_len > size || head.hdr.bh1.offset_to_first_pkt > head.hdr.bh1.blk_len)
        return;
    out->size = head.hdr.bh1.blk_len;
    out->offset = head.hdr.bh1.offset_to_first_pkt;
    out->left = head.hdr.bh1.num_pkts;
    out->malformed = false;
}

bool ring_block_next(struct ring_block *block, struct ring_frame *out)
{
    struct cursor cur = cursor_of(block->bytes + block->offset, block->size - block->offset);
    const uint8_t *taken;
    struct tpacket3_hdr head;

    if (block->left == 0)
        return false;
    block->left--;
    taken = cursor_read(&cur, FRAME_HEADER_SIZE);
    if (!taken)
        goto malformed;
    memcpy(&head, taken, sizeof(head));
    if (head.tp_mac < FRAME_HEADER_SIZE || !cursor_skip(&cur, head.tp_mac - FRAME_HEADER_SIZE) ||
        !cursor_peek(&cur, head.tp_snaplen))
        goto malformed;
    *out = (struct ring_frame){
        .data = block->bytes + block->offset + head.tp_mac,
        .length = head.tp_snaplen,
        .wire_length = head.tp_len > head.tp_snaplen ? head.tp_len : head.tp_snaplen,
        .headroom = head.tp_mac - (uint32_t)FRAME_HEADER_SIZE,
        .time_ns = head.tp_sec * NS_PER_SECOND + head.tp_nsec,
        .status = head.tp_status,
    };
    if (head.tp_status & TP_STATUS_VLAN_VALID) {
        out->vlan_tci = (uint16_t)head.hv1.tp_vlan_tci;
        out->vlan_protocol = head.tp_status & TP_STATUS_VLAN_TPID_VALID ? head.hv1.tp_vlan_tpid : ETH_P_8021Q;
    }
    if (block->left == 0)
        return true;
    /* The offset of the next frame must lead forward, so that the chain ends. */
    if (head.tp_next_offset < FRAME_HEADER_SIZE || head.tp_next_offset > block->size - block->offset) {
        block->left = 0;
        block->malformed = true;
        return true;
    }
    block->offset += head.tp_next_offset;
    return true;

malformed:
    block->left = 0;
    block->malformed = true;
    return false;
}

bool ring_frame_restore_vlan(struct ring_frame *frame)
{
    uint8_t *tag;

    if (!(frame->status & TP_STATUS_VLAN_VALID) || frame->length < 2 * ETH_ALEN)
        return true; /* a frame that ends before its EtherType has no place for the tag */
    if (frame->headroom < RING_VLAN_SIZE)
        return false;
    frame->data -= RING_VLAN_SIZE;
    memmove(frame->data, frame->data + RING_VLAN_SIZE, 2 * ETH_ALEN);
    tag = frame->data + 2 * ETH_ALEN;
    store_be16(tag, frame->vlan_protocol);
    store_be16(tag + 2, frame->vlan_tci);
    frame->headroom -= RING_VLAN_SIZE;
    frame->length += RING_VLAN_SIZE;
    if (frame->wire_length <= UINT32_MAX - RING_VLAN_SIZE)
        frame->wire_length += RING_VLAN_SIZE;
    frame->status &= ~(uint32_t)TP_STATUS_VLAN_VALID;
    return true;
}
