/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/packet.h"

#include <string.h>

enum { RESET_LENGTH = sizeof(struct packet) - offsetof(struct packet, outer), BLOCK_LENGTH = 64 };

/* Clears the packet in blocks: for a single memset() the compiler emits an instruction that takes as long as decoding a
 * small packet. */
void packet_reset(struct packet *pkt)
{
    unsigned char *at = (unsigned char *)pkt + offsetof(struct packet, outer);
    size_t done = 0;

    pkt->flags &= PACKET_CAPTURE_FLAGS;
    for (; done + BLOCK_LENGTH <= RESET_LENGTH; done += BLOCK_LENGTH)
        memset(at + done, 0, BLOCK_LENGTH);
    memset(at + done, 0, RESET_LENGTH - done);
    pkt->root = pkt;
}
