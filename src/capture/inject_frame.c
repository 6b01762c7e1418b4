/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds frames of `reject` packets for a bridge. A transparent gateway has no addresses and no routes, so the packet
 * is sent as a frame out of the port on the receiver's side. The frame has the Ethernet addresses and VLAN tags of the
 * rejected packet; in a frame to its sender the addresses are exchanged. Switches learn nothing new from the source
 * address, because frames of the other end arrive from this port anyway.
 */
#include "sluice/inject.h"

#include <linux/if_ether.h>
#include <string.h>

#include "sluice/bytes.h"

enum { TAG_LENGTH = 4, VLAN_QINQ_OLD = 0x9100 };

/* A frame that is being built; `at`: its length so far, at most INJECT_MAX_LINK_HEADER. */
struct frame {
    uint8_t *bytes;
    size_t at;
};

static bool put_bytes(struct frame *frame, const void *bytes, size_t length)
{
    if (length > INJECT_MAX_LINK_HEADER - frame->at)
        return false;
    memcpy(frame->bytes + frame->at, bytes, length);
    frame->at += length;
    return true;
}

static bool put16(struct frame *frame, uint16_t value)
{
    const uint8_t bytes[] = { (uint8_t)(value >> 8), (uint8_t)value };

    return put_bytes(frame, bytes, sizeof(bytes));
}

size_t inject_link_header(const struct packet *pkt, enum reject_kind to, uint8_t out[INJECT_MAX_LINK_HEADER])
{
    const struct packet *root = pkt->root ? pkt->root : pkt;
    const uint8_t *header = root->frame_header;
    const uint8_t *receiver = header, *sender = header ? header + ETH_ALEN : NULL;
    struct cursor rest = cursor_of(root->data, root->length);
    uint16_t type = root->meta.hardware_protocol;
    struct frame frame = { .bytes = out };

    if (root->link != LINK_BRIDGE || !header || header[0] & 1 || header[ETH_ALEN] & 1)
        return 0;
    if (!put_bytes(&frame, to == REJECT_SOURCE ? sender : receiver, ETH_ALEN) ||
        !put_bytes(&frame, to == REJECT_SOURCE ? receiver : sender, ETH_ALEN))
        return 0;
    /* Order of the tags: first the tag that the kernel keeps outside of the bytes, then the tags in the bytes, then the
     * EtherType. */
    if (root->meta.vlan_protocol != 0 &&
        (!put16(&frame, root->meta.vlan_protocol) || !put16(&frame, root->meta.vlan_tci)))
        return 0;
    while (type == ETH_P_8021Q || type == ETH_P_8021AD || type == VLAN_QINQ_OLD) {
        const uint8_t *tag = cursor_read(&rest, TAG_LENGTH);

        if (!tag || !put16(&frame, type) || !put_bytes(&frame, tag, 2))
            return 0;
        type = load_be16(tag + 2);
    }
    /* The frame must contain IP directly; headers of other encapsulations (such as PPPoE) are not built. */
    if ((type != ETH_P_IP && type != ETH_P_IPV6) || !put16(&frame, type))
        return 0;
    return frame.at;
}

uint32_t inject_port(const struct packet *pkt, enum reject_kind to)
{
    const struct packet *root = pkt->root ? pkt->root : pkt;

    if (root->link != LINK_BRIDGE)
        return 0;
    return to == REJECT_SOURCE ? root->meta.in_physical_ifindex : root->meta.out_physical_ifindex;
}
