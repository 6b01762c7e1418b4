/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marked connections through ctnetlink, with two sockets. One receives notifications when connections end. A socket
 * filter passes only notifications about connections with a mark of Sluice, because on a busy gateway many thousands of
 * other connections end each second. The other socket sends requests; for a listing, the kernel selects the connections
 * by one mark at a time.
 *
 * A request to remove a mark contains the tuple of the connection as listed, and a mask, so that other bits of the mark
 * stay.
 */
#include "sluice/connections.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/filter.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sluice/netlink.h"

enum {
    RECEIVE_SIZE = 64 * 1024,
    RECEIVE_BUFFER = 4 * 1024 * 1024,
    RECEIVES = 1024, /* maximum number of receives per call */
    REQUEST_SIZE = 1024,
    TUPLE_SIZE = 256,    /* maximum size of the attributes that identify a connection */
    UNMARK_GROUP = 4096, /* maximum number of connections that are listed before their marks are removed */
    UNMARK_ROUNDS = 1 << 12,
};

struct connections {
    struct mnl_socket *listener, *requester;
    struct connection_mark marks[CONNECTIONS_MAX_MARKS];
    unsigned mark_count;
    uint32_t sequence;
    char *buffer;
};

/* --- Messages --------------------------------------------------------------------------------------- */

static struct cursor attributes_of(const struct nlmsghdr *message)
{
    size_t head = MNL_ALIGN(sizeof(struct nfgenmsg)), length = mnl_nlmsg_get_payload_len(message);
    const uint8_t *bytes = mnl_nlmsg_get_payload(message);

    return length >= head ? cursor_of(bytes + head, length - head) : cursor_of(bytes, 0);
}

static struct nlmsghdr *put_head(char *buffer, unsigned type, uint16_t flags, uint32_t sequence)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
    struct nfgenmsg *head = mnl_nlmsg_put_extra_header(message, sizeof(*head));

    message->nlmsg_type = (uint16_t)(NFNL_SUBSYS_CTNETLINK << 8 | type);
    message->nlmsg_flags = NLM_F_REQUEST | flags;
    message->nlmsg_seq = sequence;
    *head = (struct nfgenmsg){ .nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0 };
    return message;
}

static bool has_mark(const struct conntrack *conntrack, const struct connection_mark *mark)
{
    return (conntrack->mark & mark->mask) == mark->mark;
}

/* --- Ends of connections ---------------------------------------------------------------------------- */

/* Attaches a socket filter that passes messages with one of the marks. If a message has no mark attribute, the filter
 * compares the message type instead of a mark; the receiver discards messages that pass in this way. Returns 0 or
 * -errno. */
static int attach_filter(struct connections *connections, int fd)
{
    enum { ATTRIBUTES_AT = NLMSG_HDRLEN + sizeof(struct nfgenmsg), HEAD = 4, EACH = 4, TAIL = 1 };
    struct sock_filter code[HEAD + EACH * CONNECTIONS_MAX_MARKS + TAIL] = {
        BPF_STMT(BPF_LD | BPF_IMM, ATTRIBUTES_AT),
        BPF_STMT(BPF_LDX | BPF_IMM, CTA_MARK),
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_NLATTR)),
        BPF_STMT(BPF_MISC | BPF_TAX, 0),
    };
    struct sock_fprog program = { .filter = code };
    unsigned count = HEAD;

    for (unsigned i = 0; i < connections->mark_count; i++) {
        code[count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_IND, NLA_HDRLEN);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, connections->marks[i].mask);
        code[count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, connections->marks[i].mark, 0, 1);
        code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    }
    code[count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
    program.len = (unsigned short)count;
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) < 0 ? -errno : 0;
}

static int listen_to_ends(struct connections *connections)
{
    int group = NFNLGRP_CONNTRACK_DESTROY, size = RECEIVE_BUFFER, fd;

    connections->listener = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!connections->listener)
        return -errno;
    fd = mnl_socket_get_fd(connections->listener);
    attach_filter(connections, fd); /* an error is ignored: all notifications arrive then, and the receiver selects */
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (mnl_socket_bind(connections->listener, 0, MNL_SOCKET_AUTOPID) < 0 ||
        mnl_socket_setsockopt(connections->listener, NETLINK_ADD_MEMBERSHIP, &group, sizeof(group)) < 0)
        return -errno;
    return 0;
}

static void report_ends(const struct connections *connections, size_t length, connection_function *each, void *user)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)connections->buffer;
    int left = (int)length;

    for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
        struct cursor attributes = attributes_of(message);
        struct conntrack conntrack;
        bool marked = false;

        if (message->nlmsg_type != (NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_DELETE) ||
            !conntrack_parse(&conntrack, attributes.at, cursor_remaining(&attributes)))
            continue;
        for (unsigned i = 0; i < connections->mark_count; i++)
            marked |= has_mark(&conntrack, &connections->marks[i]);
        if (marked)
            each(&conntrack, true, user);
    }
}

bool connections_receive(struct connections *connections, connection_function *each, void *user)
{
    bool complete = true;

    for (int i = 0; i < RECEIVES; i++) {
        ssize_t length = recv(mnl_socket_get_fd(connections->listener), connections->buffer, RECEIVE_SIZE, 0);

        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == ENOBUFS) {
            complete = false;
            continue;
        }
        if (length <= 0)
            break;
        report_ends(connections, (size_t)length, each, user);
    }
    return complete;
}

/* --- Listing ---------------------------------------------------------------------------------------- */

struct listing {
    const struct connection_mark *mark;
    connection_function *each;
    void *user;
};

static int list_one(const struct nlmsghdr *message, void *user)
{
    const struct listing *listing = user;
    struct cursor attributes = attributes_of(message);
    struct conntrack conntrack;

    if (conntrack_parse(&conntrack, attributes.at, cursor_remaining(&attributes)) &&
        has_mark(&conntrack, listing->mark))
        listing->each(&conntrack, false, listing->user);
    return MNL_CB_OK;
}

/* Reads the answers to a request up to the last, and calls `each` for every one. Returns 0 or -errno. */
static int read_answers(struct connections *connections, mnl_cb_t each, void *user)
{
    unsigned port = mnl_socket_get_portid(connections->requester);
    int more = MNL_CB_OK;

    while (more > MNL_CB_STOP) {
        ssize_t length = mnl_socket_recvfrom(connections->requester, connections->buffer, RECEIVE_SIZE);

        more = length < 0 ? MNL_CB_ERROR
                          : mnl_cb_run(connections->buffer, (size_t)length, connections->sequence, port, each, user);
    }
    if (more != MNL_CB_ERROR)
        return 0;

    int err = -errno;

    while (recv(mnl_socket_get_fd(connections->requester), connections->buffer, RECEIVE_SIZE, MSG_DONTWAIT) > 0)
        ; /* discard the other answers, so that the next request does not read them */
    return err;
}

static int list_mark(struct connections *connections, const struct connection_mark *mark, mnl_cb_t each, void *user)
{
    char request[REQUEST_SIZE];
    struct nlmsghdr *message = put_head(request, IPCTNL_MSG_CT_GET, NLM_F_DUMP, ++connections->sequence);

    mnl_attr_put_u32(message, CTA_MARK, htonl(mark->mark));
    mnl_attr_put_u32(message, CTA_MARK_MASK, htonl(mark->mask));
    if (mnl_socket_sendto(connections->requester, message, message->nlmsg_len) < 0)
        return -errno;

    int err = read_answers(connections, each, user);

    return err == -EINTR ? 0 : err; /* EINTR: connections began or ended during the listing */
}

int connections_list(struct connections *connections, connection_function *each, void *user)
{
    int err = 0;

    for (unsigned i = 0; i < connections->mark_count && !err; i++) {
        struct listing listing = { &connections->marks[i], each, user };

        err = list_mark(connections, &connections->marks[i], list_one, &listing);
    }
    return err;
}

/* --- Removal of marks ------------------------------------------------------------------------------- */

/* Identifies a connection: the netlink attributes of its tuple and zone, as listed. */
struct id {
    uint16_t length;
    uint8_t family, bytes[TUPLE_SIZE];
};

struct unmarking {
    const struct connection_mark *mark;
    struct id *ids;
    size_t count;
};

static void add_attribute(struct id *id, const struct nlattr *attribute)
{
    size_t length = NLA_ALIGN(attribute->nla_len);

    if (id->length + length > sizeof(id->bytes))
        return;
    memset(id->bytes + id->length, 0, length);
    memcpy(id->bytes + id->length, attribute, attribute->nla_len);
    id->length = (uint16_t)(id->length + length);
}

static int record_id(const struct nlmsghdr *message, void *user)
{
    struct unmarking *unmarking = user;
    const struct nfgenmsg *head = mnl_nlmsg_get_payload(message);
    struct cursor attributes = attributes_of(message);
    const struct nlattr *attribute;
    struct conntrack conntrack;
    struct id *id = &unmarking->ids[unmarking->count];

    if (unmarking->count == UNMARK_GROUP ||
        !conntrack_parse(&conntrack, attributes.at, cursor_remaining(&attributes)) ||
        !has_mark(&conntrack, unmarking->mark))
        return MNL_CB_OK;
    *id = (struct id){ .family = head->nfgen_family };
    mnl_attr_for_each(attribute, message, sizeof(*head))
    {
        uint16_t type = mnl_attr_get_type(attribute);

        if (type == CTA_TUPLE_ORIG || type == CTA_ZONE)
            add_attribute(id, attribute);
    }
    unmarking->count++;
    return MNL_CB_OK;
}

/* Removes the bits in `mask` from the mark of a connection. Returns 0, also when the connection has ended, or
 * -errno. */
static int unmark_connection(struct connections *connections, const struct id *id, uint32_t mask)
{
    char request[REQUEST_SIZE];
    struct nlmsghdr *message = put_head(request, IPCTNL_MSG_CT_NEW, NLM_F_ACK, ++connections->sequence);
    struct nfgenmsg *head = mnl_nlmsg_get_payload(message);
    int err;

    head->nfgen_family = id->family;
    memcpy(mnl_nlmsg_get_payload_tail(message), id->bytes, id->length);
    message->nlmsg_len += id->length;
    mnl_attr_put_u32(message, CTA_MARK, 0);
    mnl_attr_put_u32(message, CTA_MARK_MASK, htonl(mask));
    if (mnl_socket_sendto(connections->requester, message, message->nlmsg_len) < 0)
        return -errno;
    err = read_answers(connections, NULL, NULL);
    return err == -ENOENT ? 0 : err;
}

static int unmark_all(struct connections *connections, const struct connection_mark *mark, struct unmarking *unmarking,
                      size_t *changed)
{
    for (int round = 0; round < UNMARK_ROUNDS; round++) {
        int err;

        unmarking->mark = mark;
        unmarking->count = 0;
        err = list_mark(connections, mark, record_id, unmarking);
        for (size_t i = 0; i < unmarking->count && !err; i++)
            err = unmark_connection(connections, &unmarking->ids[i], mark->mask);
        if (err)
            return err;
        *changed += unmarking->count;
        if (unmarking->count < UNMARK_GROUP)
            return 0;
    }
    return -EAGAIN;
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

static int open_requester(struct connections *connections)
{
    connections->requester = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
    if (!connections->requester || mnl_socket_bind(connections->requester, 0, MNL_SOCKET_AUTOPID) < 0)
        return -errno;
    return 0;
}

static int connections_new(struct connections **out, const struct connection_mark *marks, unsigned count)
{
    struct connections *connections = calloc(1, sizeof(*connections));
    int err;

    if (!connections)
        return -ENOMEM;
    memcpy(connections->marks, marks, count * sizeof(*marks));
    connections->mark_count = count;
    connections->buffer = malloc(RECEIVE_SIZE);
    err = connections->buffer ? open_requester(connections) : -ENOMEM;
    if (err) {
        connections_close(connections);
        return err;
    }
    *out = connections;
    return 0;
}

int connections_open(struct connections **out, const struct connection_mark *marks, unsigned count)
{
    struct connections *connections;
    int err = connections_new(&connections, marks, count);

    if (err)
        return err;
    err = listen_to_ends(connections);
    if (err)
        connections_close(connections);
    else
        *out = connections;
    return err;
}

void connections_close(struct connections *connections)
{
    if (!connections)
        return;
    if (connections->listener)
        mnl_socket_close(connections->listener);
    if (connections->requester)
        mnl_socket_close(connections->requester);
    free(connections->buffer);
    free(connections);
}

int connections_fd(const struct connections *connections)
{
    return mnl_socket_get_fd(connections->listener);
}

int connections_unmark(const struct connection_mark *marks, unsigned count, size_t *changed)
{
    struct unmarking unmarking = { .ids = calloc(UNMARK_GROUP, sizeof(struct id)) };
    struct connections *connections = NULL;
    int err = unmarking.ids ? connections_new(&connections, marks, count) : -ENOMEM;

    *changed = 0;
    for (unsigned i = 0; i < count && !err; i++)
        err = unmark_all(connections, &marks[i], &unmarking, changed);
    connections_close(connections);
    free(unmarking.ids);
    return err;
}

bool connections_have_counters(void)
{
    int fd = open("/proc/sys/net/netfilter/nf_conntrack_acct", O_RDONLY | O_CLOEXEC);
    char value = '0';

    if (fd < 0)
        return false;
    if (read(fd, &value, 1) < 1)
        value = '0';
    close(fd);
    return value == '1';
}
