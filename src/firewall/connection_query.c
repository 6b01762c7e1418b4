/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The conntrack table is keyed by two tuples per connection: the addresses and ports of original and reply packets as
 * they arrive, before NAT. Without NAT one of them is the packet's own tuple. With NAT it may be the packet's tuple
 * with source and destination exchanged: in the forward hook, a reply to a masqueraded client has the client's address
 * as destination, so only its exchanged tuple is in the table, as the original tuple. Two tuples are therefore
 * requested in one send: the packet's tuple, and the same tuple with source and destination exchanged.
 */
#include "sluice/connection_query.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum {
    REQUESTS = 2,
    REQUEST_SIZE = 512,
    ANSWER_SIZE = 4096,
    STALE_ANSWERS = 8,        /* maximum number of answers to earlier, failed requests that are skipped */
    QUERIES_A_SECOND = 20000, /* limit that keeps queries below about a tenth of a worker's time */
};
#define NS_PER_SECOND UINT64_C(1000000000)

struct connection_query {
    struct mnl_socket *socket;
    uint32_t sequence;
    uint64_t second; /* second of the packet time in which `count` queries were sent */
    unsigned count;
    char request[REQUESTS * REQUEST_SIZE], answer[ANSWER_SIZE];
};

int connection_query_open(struct connection_query **out)
{
    struct connection_query *query = calloc(1, sizeof(*query));
    struct packet none = { .ip_version = 4, .protocol = IPPROTO_TCP };
    struct conntrack ignored;
    int err = 0;

    if (!query)
        return -ENOMEM;
    query->socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
    if (!query->socket || mnl_socket_bind(query->socket, 0, MNL_SOCKET_AUTOPID) < 0)
        err = -errno;
    if (!err)
        err = connection_query_find(query, &none, &ignored);
    if (err && err != -ENOENT) {
        connection_query_close(query);
        return err == -EINVAL ? -EOPNOTSUPP : err; /* EINVAL: nfnetlink does not support conntrack */
    }
    *out = query;
    return 0;
}

void connection_query_close(struct connection_query *query)
{
    if (!query)
        return;
    if (query->socket)
        mnl_socket_close(query->socket);
    free(query);
}

/* --- Request ---------------------------------------------------------------------------------------- */

static void put_address(struct nlmsghdr *message, const struct packet *pkt, bool source, const struct address *address)
{
    if (pkt->ip_version == 4)
        mnl_attr_put(message, source ? CTA_IP_V4_SRC : CTA_IP_V4_DST, 4, address->bytes);
    else
        mnl_attr_put(message, source ? CTA_IP_V6_SRC : CTA_IP_V6_DST, 16, address->bytes);
}

/* Writes the request for the packet's tuple, with source and destination exchanged if `exchanged`. Returns its
 * length. */
static size_t put_request(char *at, uint32_t sequence, const struct packet *pkt, bool exchanged)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(at);
    struct nfgenmsg *head = mnl_nlmsg_put_extra_header(message, sizeof(*head));
    struct nlattr *tuple, *nested;

    message->nlmsg_type = NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET;
    message->nlmsg_flags = NLM_F_REQUEST;
    message->nlmsg_seq = sequence;
    *head = (struct nfgenmsg){ .nfgen_family = pkt->ip_version == 4 ? AF_INET : AF_INET6, .version = NFNETLINK_V0 };
    tuple = mnl_attr_nest_start(message, CTA_TUPLE_ORIG);
    nested = mnl_attr_nest_start(message, CTA_TUPLE_IP);
    put_address(message, pkt, true, exchanged ? &pkt->destination_address : &pkt->source_address);
    put_address(message, pkt, false, exchanged ? &pkt->source_address : &pkt->destination_address);
    mnl_attr_nest_end(message, nested);
    nested = mnl_attr_nest_start(message, CTA_TUPLE_PROTO);
    mnl_attr_put_u8(message, CTA_PROTO_NUM, pkt->protocol);
    mnl_attr_put_u16(message, CTA_PROTO_SRC_PORT, htons(exchanged ? pkt->destination_port : pkt->source_port));
    mnl_attr_put_u16(message, CTA_PROTO_DST_PORT, htons(exchanged ? pkt->source_port : pkt->destination_port));
    mnl_attr_nest_end(message, nested);
    mnl_attr_nest_end(message, tuple);
    return message->nlmsg_len;
}

/* --- Answer ----------------------------------------------------------------------------------------- */

static bool is_source(const struct conntrack_tuple *tuple, const struct address *address, uint16_t port)
{
    return tuple->source_port == port && address_equal(&tuple->source, address);
}

static bool is_destination(const struct conntrack_tuple *tuple, const struct address *address, uint16_t port)
{
    return tuple->destination_port == port && address_equal(&tuple->destination, address);
}

/* Returns true if the packet goes in the reply direction. If the requested tuple is the original tuple of the
 * connection, the packet goes in the original direction, otherwise in the reply direction; if source and destination
 * were exchanged in the request, it is the other way round. */
static bool goes_in_reply(const struct conntrack *conntrack, const struct packet *pkt, bool exchanged)
{
    const struct conntrack_tuple *original = &conntrack->tuple[CONNTRACK_ORIGINAL];
    bool is_original = exchanged ? is_source(original, &pkt->destination_address, pkt->destination_port) &&
                                       is_destination(original, &pkt->source_address, pkt->source_port)
                                 : is_source(original, &pkt->source_address, pkt->source_port) &&
                                       is_destination(original, &pkt->destination_address, pkt->destination_port);

    return is_original == exchanged;
}

static int read_answer(const struct nlmsghdr *message, const struct packet *pkt, bool exchanged, struct conntrack *out)
{
    const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
    size_t head = MNL_ALIGN(sizeof(struct nfgenmsg)), length = mnl_nlmsg_get_payload_len(message);

    if (message->nlmsg_type == NLMSG_ERROR)
        return length < sizeof(*error) ? -EBADMSG : error->error == 0 ? -ENOENT : error->error;
    if (message->nlmsg_type != (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_NEW) || length < head ||
        !conntrack_parse(out, (const uint8_t *)mnl_nlmsg_get_payload(message) + head, length - head))
        return -EBADMSG;
    out->info = goes_in_reply(out, pkt, exchanged) ? IP_CT_ESTABLISHED_REPLY : IP_CT_ESTABLISHED;
    return 0;
}

/* Receives the answer with the sequence number. The answer is already in the socket, because the kernel answers during
 * the send. Returns 0, -ENOENT if there is no such connection, or another -errno. */
static int receive_answer(struct connection_query *query, uint32_t sequence, const struct packet *pkt, bool exchanged,
                          struct conntrack *out)
{
    for (int i = 0; i < STALE_ANSWERS; i++) {
        ssize_t length =
            recv(mnl_socket_get_fd(query->socket), query->answer, sizeof(query->answer), MSG_DONTWAIT | MSG_TRUNC);
        const struct nlmsghdr *message = (const struct nlmsghdr *)query->answer;

        if (length < 0)
            return errno == EAGAIN ? -EBADMSG : -errno;
        if ((size_t)length <= sizeof(query->answer) && mnl_nlmsg_ok(message, (int)length) &&
            message->nlmsg_seq == sequence)
            return read_answer(message, pkt, exchanged, out);
    }
    return -EBADMSG;
}

static bool is_within_limit(struct connection_query *query, const struct packet *pkt)
{
    uint64_t second = pkt->time_ns / NS_PER_SECOND;

    if (second != query->second) {
        query->second = second;
        query->count = 0;
    }
    return query->count++ < QUERIES_A_SECOND;
}

int connection_query_find(struct connection_query *query, const struct packet *pkt, struct conntrack *out)
{
    uint32_t sequence = query->sequence + 1;
    struct conntrack other;
    size_t length;
    int err, other_err;

    if (!is_within_limit(query, pkt))
        return -EAGAIN;
    query->sequence += REQUESTS;
    length = put_request(query->request, sequence, pkt, false);
    length += put_request(query->request + length, sequence + 1, pkt, true);
    if (mnl_socket_sendto(query->socket, query->request, length) < 0)
        return -errno;
    err = receive_answer(query, sequence, pkt, false, out);
    other_err = receive_answer(query, sequence + 1, pkt, true, &other);
    if (err && !other_err) {
        *out = other;
        err = 0;
    }
    return err;
}
