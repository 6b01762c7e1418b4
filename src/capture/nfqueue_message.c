/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads NFQUEUE messages into struct packet.
 *
 * The attributes are not parsed with libnetfilter_queue (nfq_nlmsg_parse()), because this runs for each packet: here it
 * is one pass without a callback and a table of pointers for each attribute, and every length is checked by the cursor.
 * The kernel writes the messages, so damage is not expected, but damaged messages are handled: a packet whose id is
 * known is always delivered, even with invalid attributes, because it waits in the kernel for a verdict. Decoding such
 * a packet fails for lack of bytes, and the exception policy decides its verdict.
 *
 * All values in attributes are in network order; netlink headers are in host order.
 */
#include "nfqueue_message.h"

#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <string.h>

#include "sluice/bytes.h"
#include "sluice/clock.h"
#include "sluice/netlink.h"

enum { PACKET_MESSAGE = NFNL_SUBSYS_QUEUE << 8 | NFQNL_MSG_PACKET };

static bool read_hardware_address(struct cursor value, struct queue_meta *meta)
{
    uint16_t length;

    if (!cursor_be16(&value, &length) || !cursor_skip(&value, 2) || length > sizeof(meta->hardware_address))
        return false;

    const uint8_t *bytes = cursor_read(&value, length);

    if (!bytes)
        return false;
    memcpy(meta->hardware_address, bytes, length);
    meta->hardware_address_length = (uint8_t)length;
    return true;
}

static bool read_vlan(struct cursor nested, struct queue_meta *meta)
{
    while (cursor_remaining(&nested) > 0) {
        struct cursor value;
        uint16_t type;

        if (!netlink_read_attribute(&nested, &type, &value))
            return false;
        if (type == NFQA_VLAN_TCI && !cursor_be16(&value, &meta->vlan_tci))
            return false;
        if (type == NFQA_VLAN_PROTO && !cursor_be16(&value, &meta->vlan_protocol))
            return false;
    }
    return true;
}

static bool read_attribute(uint16_t type, struct cursor value, struct packet *pkt, bool *has_id)
{
    struct queue_meta *meta = &pkt->meta;
    const uint8_t *bytes;
    uint32_t info;

    switch (type) {
    case NFQA_PACKET_HDR:
        bytes = cursor_read(&value, sizeof(struct nfqnl_msg_packet_hdr));
        if (!bytes)
            return false;
        meta->id = load_be32(bytes);
        meta->hardware_protocol = load_be16(bytes + offsetof(struct nfqnl_msg_packet_hdr, hw_protocol));
        meta->hook = bytes[offsetof(struct nfqnl_msg_packet_hdr, hook)];
        *has_id = true;
        return true;
    case NFQA_MARK:
        return cursor_be32(&value, &meta->mark);
    case NFQA_TIMESTAMP:
        bytes = cursor_read(&value, sizeof(struct nfqnl_msg_packet_timestamp));
        if (!bytes)
            return false;
        pkt->time_ns = load_be64(bytes) * NS_PER_SECOND + load_be64(bytes + sizeof(uint64_t)) * 1000;
        return true;
    case NFQA_IFINDEX_INDEV:
        return cursor_be32(&value, &meta->in_ifindex);
    case NFQA_IFINDEX_OUTDEV:
        return cursor_be32(&value, &meta->out_ifindex);
    case NFQA_IFINDEX_PHYSINDEV:
        return cursor_be32(&value, &meta->in_physical_ifindex);
    case NFQA_IFINDEX_PHYSOUTDEV:
        return cursor_be32(&value, &meta->out_physical_ifindex);
    case NFQA_HWADDR:
        return read_hardware_address(value, meta);
    case NFQA_VLAN:
        return read_vlan(value, meta);
    case NFQA_L2HDR:
        pkt->frame_header = cursor_read(&value, ETH_HLEN); /* NULL if the attribute is shorter */
        return true;
    case NFQA_CAP_LEN:
        return cursor_be32(&value, &pkt->wire_length);
    case NFQA_SKB_INFO:
        if (!cursor_be32(&value, &info))
            return false;
        pkt->flags |= info & NFQA_SKB_CSUMNOTREADY ? PACKET_CHECKSUM_NOT_READY : 0;
        pkt->flags |= info & NFQA_SKB_CSUM_NOTVERIFIED ? PACKET_CHECKSUM_UNVERIFIED : 0;
        pkt->flags |= info & NFQA_SKB_GSO ? PACKET_GSO : 0;
        return true;
    case NFQA_CT:
        pkt->conntrack.bytes = value.at;
        pkt->conntrack.length = (uint32_t)cursor_remaining(&value);
        return true;
    case NFQA_CT_INFO:
        return cursor_be32(&value, &pkt->conntrack.info);
    case NFQA_PAYLOAD:
        pkt->data = value.at;
        pkt->length = (uint32_t)cursor_remaining(&value);
        return true;
    default:
        return true;
    }
}

static enum nfqueue_message_kind read_packet(struct cursor cur, uint16_t queue, struct packet *pkt)
{
    const uint8_t *head = cursor_read(&cur, sizeof(struct nfgenmsg));
    bool has_id = false, whole = true;

    if (!head)
        return NFQUEUE_NO_ID;
    if (load_be16(head + offsetof(struct nfgenmsg, res_id)) != queue)
        return NFQUEUE_UNKNOWN;

    pkt->data = cur.at;
    pkt->length = pkt->wire_length = 0;
    pkt->time_ns = 0;
    pkt->flags = 0;
    pkt->meta = (struct queue_meta){ .queue = queue };
    pkt->conntrack = (struct packet_conntrack){ .info = IP_CT_NUMBER };
    pkt->frame_header = NULL;
    while (whole && cursor_remaining(&cur) > 0) {
        struct cursor value;
        uint16_t type;

        whole = netlink_read_attribute(&cur, &type, &value) && read_attribute(type, value, pkt, &has_id);
    }
    if (!has_id)
        return NFQUEUE_NO_ID;

    if (pkt->wire_length > pkt->length)
        pkt->flags |= PACKET_TRUNCATED;
    else
        pkt->wire_length = pkt->length;
    /* The payload starts with the network header. It is an IP header, except in frames of a bridge, which may carry any
     * protocol. */
    pkt->link = head[offsetof(struct nfgenmsg, nfgen_family)] == NFPROTO_BRIDGE ? LINK_BRIDGE : LINK_RAW;
    return whole ? NFQUEUE_PACKET : NFQUEUE_DAMAGED;
}

enum nfqueue_message_kind nfqueue_message_read(const uint8_t *bytes, size_t length, uint16_t queue, struct packet *pkt,
                                               struct nfqueue_result *result)
{
    struct cursor cur = cursor_of(bytes, length);
    const uint8_t *taken = cursor_read(&cur, sizeof(struct nlmsghdr));
    struct nlmsghdr head;

    if (!taken)
        return NFQUEUE_UNKNOWN;
    memcpy(&head, taken, sizeof(head));
    if (head.nlmsg_len < sizeof(head))
        return NFQUEUE_UNKNOWN;
    cursor_limit(&cur, head.nlmsg_len - sizeof(head));
    if (head.nlmsg_type == PACKET_MESSAGE) {
        enum nfqueue_message_kind kind = read_packet(cur, queue, pkt);

        return kind == NFQUEUE_PACKET && head.nlmsg_len > length ? NFQUEUE_DAMAGED : kind;
    }
    if (head.nlmsg_type != NLMSG_ERROR || !(taken = cursor_read(&cur, sizeof(result->error))))
        return NFQUEUE_UNKNOWN;
    memcpy(&result->error, taken, sizeof(result->error));
    result->sequence = head.nlmsg_seq;
    return NFQUEUE_RESULT;
}
