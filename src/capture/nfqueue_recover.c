/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue whose reader died while another process kept the socket. Three kinds of packets wait: those that the dead
 * reader received without issuing a verdict, those in the socket, and those that arrive in the meantime. Only the first
 * kind needs action: these packets reach no reader unless they are queued again.
 *
 * The dead reader received all packets before the first packet in the socket, so its last packet has the id of that
 * packet minus 1. If the socket is empty, the dead reader received the packet whose id the kernel assigned last. That
 * id is read first, then the socket. When the socket is read, it must contain all packets that have an id. Therefore a
 * message is sent in between for which the kernel takes the queue's lock: the send waits for a packet that is being
 * queued.
 *
 * Threads: the supervisor's only thread.
 */
#include "nfqueue_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/netlink.h>
#include <poll.h>

#include <libnetfilter_queue/libnetfilter_queue.h>

enum { PEEK_SIZE = 4096, MAX_ANSWERS = 1 << 20, SEND_TRIES = 1000 /* tries, once in a millisecond */ };

/* Sends a netlink message; retries for a limited time while the kernel has no memory for it. Returns 0 or -errno. */
static int send_message(int fd, const struct nlmsghdr *head)
{
    for (int tries = 0;; tries++) {
        if (nfqueue_send_to_kernel(fd, head) >= 0)
            return 0;
        if (errno != EINTR && ((errno != EAGAIN && errno != ENOBUFS && errno != ENOMEM) || tries == SEND_TRIES))
            return -errno;
        if (errno != EINTR)
            poll(NULL, 0, 1);
    }
}

int nfqueue_resize(int fd, uint16_t queue, uint32_t length, uint32_t receive_buffer)
{
    char buffer[256];
    struct nlmsghdr *head = nfqueue_config_put(queue, buffer, SEQUENCE_LENGTH);

    nfq_nlmsg_cfg_put_qmaxlen(head, length);
    if (receive_buffer)
        nfqueue_set_receive_buffer(fd, receive_buffer);
    return send_message(fd, head);
}

void nfqueue_set_fail_open(int fd, uint16_t queue, bool fail_open)
{
    char buffer[256];
    struct nlmsghdr *head = nfqueue_config_put(queue, buffer, SEQUENCE_LENGTH);

    mnl_attr_put_u32(head, NFQA_CFG_FLAGS, htonl(fail_open ? NFQA_CFG_F_FAIL_OPEN : 0));
    mnl_attr_put_u32(head, NFQA_CFG_MASK, htonl(NFQA_CFG_F_FAIL_OPEN));
    send_message(fd, head);
}

/* Returns true if the queue is not bound to this socket any more; false also if that cannot be determined. */
static bool is_lost(int fd, int status_fd, uint16_t queue)
{
    struct sockaddr_nl address = { 0 };
    socklen_t length = sizeof(address);
    struct queue_status status;
    int err;

    if (status_fd < 0 || getsockname(fd, (struct sockaddr *)&address, &length) || address.nl_family != AF_NETLINK)
        return false;
    err = nfqueue_find_status(status_fd, queue, &status);
    return err == -ENOENT || (err == 0 && status.port_id != address.nl_pid);
}

bool nfqueue_recover(int fd, int status_fd, const struct nfqueue_options *options, bool fail_open)
{
    char buffer[4096];
    struct nlmsghdr *head = nfqueue_config_put(options->queue, buffer, SEQUENCE_LENGTH);
    const struct timeval forever = { 0 };
    int unused = 0, one = 1, flags = fcntl(fd, F_GETFL);

    /* Reset the options of the socket, which the dead reader may have changed: a filter could hide packets from the
     * next reader, and limits and timeouts could stop it. */
    setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)); /* fails if no filter is attached */
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &forever, sizeof(forever));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &forever, sizeof(forever));
    setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
    if (flags >= 0)
        fcntl(fd, F_SETFL, flags & ~(O_NONBLOCK | O_ASYNC));
    nfqueue_set_socket_options(fd, options);
    if (is_lost(fd, status_fd, options->queue)) {
        for (int i = 0; i < MAX_ANSWERS && recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT) >= 0; i++)
            ; /* discard the answers for the dead reader: they precede the answer to the new binding */
        return false;
    }
    nfq_nlmsg_cfg_put_params(head, NFQNL_COPY_PACKET, NFQUEUE_MAX_COPY);
    send_message(fd, head);
    nfqueue_set_fail_open(fd, options->queue, fail_open);
    return true;
}

/* Sends a verdict for the dead reader. A mark in a verdict replaces the whole mark of the packet, so it is set only
 * where the packet would otherwise be queued again in a loop. Returns 0 or -errno. */
static int send_verdict(int fd, const struct nfqueue_options *options, int type, uint32_t id,
                        enum queue_backlog_verdict kind)
{
    char buffer[256];
    struct nlmsghdr *head = nfq_nlmsg_put(buffer, type, options->queue);
    uint32_t verdict = NF_REPEAT;

    if (kind == QUEUE_BACKLOG_DROP)
        verdict = NF_DROP;
    else if (kind == QUEUE_BACKLOG_ACCEPT)
        verdict = nfqueue_accept_verdict(options);
    head->nlmsg_seq = SEQUENCE_REPEAT_UNJUDGED;
    nfq_nlmsg_verdict_put(head, (int)id, (int)verdict);
    if (kind == QUEUE_BACKLOG_ACCEPT && options->mode == QUEUE_REPEAT)
        nfq_nlmsg_verdict_put_mark(head, options->mark);
    return send_message(fd, head);
}

int nfqueue_send_verdict(int fd, const struct nfqueue_options *options, uint32_t id, enum queue_backlog_verdict kind)
{
    return send_verdict(fd, options, NFQNL_MSG_VERDICT, id, kind);
}

int nfqueue_send_verdicts_up_to(int fd, const struct nfqueue_options *options, uint32_t id,
                                enum queue_backlog_verdict kind)
{
    return send_verdict(fd, options, NFQNL_MSG_VERDICT_BATCH, id, kind);
}

/* Reads the id of the first packet in the socket; discards answers for the dead reader. Returns false when the socket
 * has no packet. */
static bool first_unread(int fd, uint16_t queue, uint32_t *id)
{
    uint8_t bytes[PEEK_SIZE];
    struct nfqueue_result result;
    struct packet pkt;

    for (int i = 0; i < MAX_ANSWERS; i++) {
        ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        enum nfqueue_message_kind kind;

        if (n < 0 && (errno == EINTR || errno == ENOBUFS))
            continue;
        if (n <= 0)
            return false;
        kind = nfqueue_message_read(bytes, (size_t)n, queue, &pkt, &result);
        /* A packet longer than the buffer is NFQUEUE_DAMAGED, but its id is known. */
        if (kind == NFQUEUE_PACKET || kind == NFQUEUE_DAMAGED) {
            *id = pkt.meta.id;
            return true;
        }
        if (recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0)
            return false;
    }
    return false;
}

int nfqueue_read_backlog(int fd, int status_fd, uint16_t queue, uint32_t length, struct nfqueue_backlog *out)
{
    struct queue_status status;
    uint32_t first, unread;
    int err = nfqueue_find_status(status_fd, queue, &status);

    if (err)
        return err;
    err = nfqueue_resize(fd, queue, length, 0); /* makes the kernel take the queue's lock */
    if (err)
        return err;
    out->last_id = first_unread(fd, queue, &first) ? first - 1 : status.id_sequence;
    out->waiting = status.waiting;
    unread = status.id_sequence - out->last_id;
    out->taken = unread <= INT32_MAX && unread < status.waiting ? status.waiting - unread : 0;
    if (unread > INT32_MAX) /* the first packet in the socket was queued after id_sequence was read */
        out->taken = status.waiting;
    return 0;
}

bool nfqueue_owns_queue(int fd, int status_fd, uint16_t queue)
{
    struct sockaddr_nl address = { 0 };
    socklen_t length = sizeof(address);
    struct queue_status status;

    return getsockname(fd, (struct sockaddr *)&address, &length) == 0 && address.nl_family == AF_NETLINK &&
           nfqueue_find_status(status_fd, queue, &status) == 0 && status.port_id == address.nl_pid;
}
