/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses nested netlink attributes of conntrack into struct conntrack, and interprets them. Each level is a list of
 * attributes within the bytes of its parent. There are four levels, and a byte is read at most once per level, so the
 * work is bounded.
 *
 * Numbers in attributes are in network order; the headers of attributes are in host order.
 */
#include "sluice/conntrack.h"

#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nf_conntrack_tcp.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <string.h>

#include "sluice/netlink.h"

enum { IPV4_LENGTH = 4, IPV6_LENGTH = 16, WINDOW_SCALE_MAX = 14 };

/* --- Parsing -------------------------------------------------------------------------------------- */

/* Parses one attribute of a level into *out. Returns false if the attribute is too short. */
typedef bool attribute_reader(uint16_t type, struct cursor value, void *out);

static bool read_level(struct cursor nested, attribute_reader *read, void *out)
{
    while (cursor_remaining(&nested) > 0) {
        struct cursor value;
        uint16_t type;

        if (!netlink_read_attribute(&nested, &type, &value) || !read(type, value, out))
            return false;
    }
    return true;
}

static bool read_address(struct cursor value, size_t length, struct address *out)
{
    const uint8_t *bytes = cursor_read(&value, length);

    if (!bytes)
        return false;
    *out = (struct address){ 0 };
    memcpy(out->bytes, bytes, length);
    return true;
}

static bool read_ip(uint16_t type, struct cursor value, void *out)
{
    struct conntrack_tuple *tuple = out;

    switch (type) {
    case CTA_IP_V4_SRC:
        tuple->ip_version = 4;
        return read_address(value, IPV4_LENGTH, &tuple->source);
    case CTA_IP_V4_DST:
        tuple->ip_version = 4;
        return read_address(value, IPV4_LENGTH, &tuple->destination);
    case CTA_IP_V6_SRC:
        tuple->ip_version = 6;
        return read_address(value, IPV6_LENGTH, &tuple->source);
    case CTA_IP_V6_DST:
        tuple->ip_version = 6;
        return read_address(value, IPV6_LENGTH, &tuple->destination);
    default:
        return true;
    }
}

static bool read_protocol(uint16_t type, struct cursor value, void *out)
{
    struct conntrack_tuple *tuple = out;

    switch (type) {
    case CTA_PROTO_NUM:
        return cursor_u8(&value, &tuple->protocol);
    case CTA_PROTO_SRC_PORT:
        return cursor_be16(&value, &tuple->source_port);
    case CTA_PROTO_DST_PORT:
        return cursor_be16(&value, &tuple->destination_port);
    default:
        return true;
    }
}

static bool read_tuple(uint16_t type, struct cursor value, void *out)
{
    switch (type) {
    case CTA_TUPLE_IP:
        return read_level(value, read_ip, out);
    case CTA_TUPLE_PROTO:
        return read_level(value, read_protocol, out);
    default:
        return true;
    }
}

static bool read_scale(struct cursor value, uint8_t *out)
{
    if (!cursor_u8(&value, out))
        return false;
    if (*out > WINDOW_SCALE_MAX) /* RFC 7323 §2.3 */
        *out = WINDOW_SCALE_MAX;
    return true;
}

static bool read_tcp(uint16_t type, struct cursor value, void *out)
{
    struct conntrack *conntrack = out;

    switch (type) {
    case CTA_PROTOINFO_TCP_STATE:
        conntrack->has_tcp = true;
        return cursor_u8(&value, &conntrack->tcp_state);
    case CTA_PROTOINFO_TCP_WSCALE_ORIGINAL:
        return read_scale(value, &conntrack->window_scale[CONNTRACK_ORIGINAL]);
    case CTA_PROTOINFO_TCP_WSCALE_REPLY:
        return read_scale(value, &conntrack->window_scale[CONNTRACK_REPLY]);
    case CTA_PROTOINFO_TCP_FLAGS_ORIGINAL: /* struct nf_ct_tcp_flags: flags, and a mask that is needed only to set them
                                            */
        return cursor_u8(&value, &conntrack->tcp_flags[CONNTRACK_ORIGINAL]);
    case CTA_PROTOINFO_TCP_FLAGS_REPLY:
        return cursor_u8(&value, &conntrack->tcp_flags[CONNTRACK_REPLY]);
    default:
        return true;
    }
}

static bool read_protocol_info(uint16_t type, struct cursor value, void *out)
{
    return type != CTA_PROTOINFO_TCP || read_level(value, read_tcp, out);
}

static bool read_number(struct cursor value, uint64_t *out)
{
    const uint8_t *bytes = cursor_read(&value, sizeof(*out));

    if (bytes)
        *out = load_be64(bytes);
    return bytes != NULL;
}

struct side_counts {
    uint64_t *packets, *bytes;
};

static bool read_count(uint16_t type, struct cursor value, void *out)
{
    const struct side_counts *counts = out;

    switch (type) {
    case CTA_COUNTERS_PACKETS:
        return read_number(value, counts->packets);
    case CTA_COUNTERS_BYTES:
        return read_number(value, counts->bytes);
    default:
        return true;
    }
}

static bool read_counts(struct conntrack *conntrack, enum conntrack_direction direction, struct cursor value)
{
    struct side_counts counts = { &conntrack->packets[direction], &conntrack->bytes[direction] };

    conntrack->has_counts = true;
    return read_level(value, read_count, &counts);
}

static bool read_connection(uint16_t type, struct cursor value, void *out)
{
    struct conntrack *conntrack = out;

    switch (type) {
    case CTA_TUPLE_ORIG:
        return read_level(value, read_tuple, &conntrack->tuple[CONNTRACK_ORIGINAL]);
    case CTA_TUPLE_REPLY:
        return read_level(value, read_tuple, &conntrack->tuple[CONNTRACK_REPLY]);
    case CTA_STATUS:
        return cursor_be32(&value, &conntrack->status);
    case CTA_PROTOINFO:
        return read_level(value, read_protocol_info, conntrack);
    case CTA_TIMEOUT:
        return cursor_be32(&value, &conntrack->timeout_seconds);
    case CTA_MARK:
        return cursor_be32(&value, &conntrack->mark);
    case CTA_COUNTERS_ORIG:
        return read_counts(conntrack, CONNTRACK_ORIGINAL, value);
    case CTA_COUNTERS_REPLY:
        return read_counts(conntrack, CONNTRACK_REPLY, value);
    case CTA_ID:
        return cursor_be32(&value, &conntrack->id);
    default:
        return true;
    }
}

bool conntrack_parse(struct conntrack *out, const uint8_t *bytes, size_t length)
{
    memset(out, 0, sizeof(*out));
    return read_level(cursor_of(bytes, length), read_connection, out);
}

/* --- Connection of a packet ----------------------------------------------------------------------- */

static bool is_end(const struct address *address, uint16_t port, const struct address *other, uint16_t other_port)
{
    return port == other_port && address_equal(address, other);
}

static bool same_kind(const struct conntrack_tuple *tuple, const struct packet *pkt)
{
    return tuple->ip_version == pkt->ip_version && tuple->protocol == pkt->protocol;
}

/*
 * Returns whether the packet belongs to the connection. Each end of the packet may have its address from before or
 * after NAT; in the forward hook, between destination and source NAT, one end is translated and the other is not. The
 * original tuple contains the addresses that the client sees, the reply tuple those that the server sees.
 */
static bool ends_match(const struct conntrack *conntrack, const struct packet *pkt)
{
    const struct conntrack_tuple *original = &conntrack->tuple[CONNTRACK_ORIGINAL];
    const struct conntrack_tuple *reply = &conntrack->tuple[CONNTRACK_REPLY];
    bool is_reply = conntrack_may_be_reply(pkt);
    const struct address *client = is_reply ? &pkt->destination_address : &pkt->source_address;
    const struct address *server = is_reply ? &pkt->source_address : &pkt->destination_address;
    uint16_t client_port = is_reply ? pkt->destination_port : pkt->source_port;
    uint16_t server_port = is_reply ? pkt->source_port : pkt->destination_port;

    return (is_end(client, client_port, &original->source, original->source_port) ||
            is_end(client, client_port, &reply->destination, reply->destination_port)) &&
           (is_end(server, server_port, &original->destination, original->destination_port) ||
            is_end(server, server_port, &reply->source, reply->source_port));
}

bool conntrack_parse_packet(struct conntrack *out, const struct packet *pkt)
{
    const struct packet_conntrack *told = &pkt->conntrack;

    if (!told->bytes || told->info >= IP_CT_NUMBER || pkt->ip_version == 0)
        return false;
    if (!conntrack_parse(out, told->bytes, told->length))
        return false;
    out->info = told->info;
    return same_kind(&out->tuple[CONNTRACK_ORIGINAL], pkt) && same_kind(&out->tuple[CONNTRACK_REPLY], pkt) &&
           ends_match(out, pkt);
}

/* --- Interpretation ------------------------------------------------------------------------------- */

bool conntrack_may_be_reply(const struct packet *pkt)
{
    return pkt->conntrack.bytes && pkt->conntrack.info >= IP_CT_IS_REPLY && pkt->conntrack.info < IP_CT_NUMBER;
}

bool conntrack_is_reply(const struct packet *pkt)
{
    struct conntrack conntrack;

    if (!conntrack_may_be_reply(pkt))
        return false;
    if (pkt->protocol != IPPROTO_TCP && pkt->protocol != IPPROTO_UDP && pkt->protocol != IPPROTO_SCTP)
        return false;
    return conntrack_parse_packet(&conntrack, pkt);
}

bool conntrack_is_new(const struct conntrack *conntrack)
{
    return !(conntrack->status & IPS_SEEN_REPLY) || conntrack->info == IP_CT_NEW || conntrack->info == IP_CT_RELATED;
}

/* Returns true if both sides have sent packets and the connection is in conntrack's table. */
static bool was_established(const struct conntrack *conntrack)
{
    const uint32_t needed = IPS_SEEN_REPLY | IPS_ASSURED | IPS_CONFIRMED;

    return !conntrack_is_new(conntrack) && (conntrack->status & needed) == needed && conntrack->has_tcp;
}

bool conntrack_is_established(const struct conntrack *conntrack)
{
    return was_established(conntrack) && conntrack->tcp_state >= TCP_CONNTRACK_ESTABLISHED &&
           conntrack->tcp_state <= TCP_CONNTRACK_LAST_ACK;
}

bool conntrack_has_ended(const struct conntrack *conntrack)
{
    return was_established(conntrack) &&
           (conntrack->tcp_state == TCP_CONNTRACK_TIME_WAIT || conntrack->tcp_state == TCP_CONNTRACK_CLOSE);
}

bool conntrack_is_reply_direction(const struct conntrack *conntrack)
{
    return conntrack->info >= IP_CT_IS_REPLY && conntrack->info < IP_CT_NUMBER;
}

/* conntrack sets the flag "liberal" (IP_CT_TCP_FLAG_BE_LIBERAL) for connections that it picked up midstream, whose
 * window scales it does not know. If it has seen the handshake, the scale of a side without the option is 0, which is
 * correct. */
bool conntrack_has_window_scales(const struct conntrack *conntrack)
{
    const uint8_t flags = conntrack->tcp_flags[CONNTRACK_ORIGINAL] | conntrack->tcp_flags[CONNTRACK_REPLY];

    return conntrack->has_tcp && !(flags & IP_CT_TCP_FLAG_BE_LIBERAL);
}
