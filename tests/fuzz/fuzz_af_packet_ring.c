/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a TPACKET_V3 ring. The contract: frames and the VLAN tags that are put back lie within the block, the
 * number of frames is bounded by its size, and a block that ends early is marked as malformed.
 */
#include <linux/if_packet.h>
#include <stdlib.h>
#include <string.h>

#include "capture/af_packet_ring.h"

enum { SMALLEST_FRAME = sizeof(struct tpacket3_hdr) };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_frame(const struct ring_frame *frame, const uint8_t *block, size_t size)
{
    if (frame->data < block || frame->data > block + size || frame->length > (size_t)(block + size - frame->data))
        abort();
    if (frame->wire_length < frame->length || frame->headroom > (size_t)(frame->data - block))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *block = malloc(size + 1); /* a copy of this size, because VLAN tags are written to it */
    struct ring_block reading;
    struct ring_frame frame;
    size_t frames = 0;

    if (!block)
        return 0;
    memcpy(block, data, size);
    ring_block_open(&reading, block, (uint32_t)size);

    const uint32_t announced = reading.left;

    while (ring_block_next(&reading, &frame)) {
        const uint32_t length = frame.length, status = frame.status;
        bool restored;

        check_frame(&frame, block, size);
        restored = ring_frame_restore_vlan(&frame);
        check_frame(&frame, block, size);
        if (frame.length != length && (!restored || frame.length != length + RING_VLAN_SIZE ||
                                       !(status & TP_STATUS_VLAN_VALID) || frame.status & TP_STATUS_VLAN_VALID))
            abort();
        if (++frames > size / SMALLEST_FRAME + 1)
            abort();
    }
    if (reading.left != 0 || (frames != announced && !reading.malformed))
        abort();
    free(block);
    return 0;
}
