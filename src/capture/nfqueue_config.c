/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Binding a queue. A single configuration message binds the queue and sets copy mode, length and flags, because a queue
 * that exists without a copy mode drops packets. The kernel rejects unknown flags before it changes anything, so a
 * rejection is followed by a request with fewer flags.
 *
 * From the moment of binding, packets may reach the socket before the acknowledgment. The answer is therefore read with
 * MSG_PEEK: if the first message is a packet, the queue works, and the message stays for the first receive.
 *
 * This does not work for an adopted queue, which is already bound, because the acknowledgment is behind its packets in
 * the socket. For such a queue, a second socket probes the flags before they are set (nfqueue_probe_flags()).
 *
 * NETLINK_NO_ENOBUFS is set because netlink otherwise marks an overrun socket as congested and drops all packets until
 * the last waiting packet was read. It hides no losses: gaps in the packet ids show each one.
 */
#include "nfqueue_priv.h"
#include "queue_owner.h"

#include <arpa/inet.h>
#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <libnetfilter_queue/libnetfilter_queue.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    /* Bytes of receive buffer to request for each packet of the queue length. The kernel grants twice as much; a small
     * packet uses 832 bytes of the buffer, a packet of 1500 bytes about 2600. */
    BYTES_PER_PACKET = 2048,
    MIN_RECEIVE_BUFFER = 256 * 1024, /* room for a few super-packets even with the shortest queue */
    MAX_RECEIVE_BUFFER = 64 * 1024 * 1024,
    SEND_BUFFER = 256 * 1024, /* a send must fit into the buffer; each replaced super-packet adds 64 kB to the send */
    SEND_OVERHEAD = 1024,     /* part of the buffer that the kernel keeps free */
    MAX_TRIES = 3,
};

int nfqueue_config_fail(char error[CAPTURE_ERROR_SIZE], int err, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(error, CAPTURE_ERROR_SIZE, format, args);
    va_end(args);
    return err;
}

int nfqueue_config_validate(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE])
{
    unsigned queue = options->queue;

    if (options->batch == 0 || options->batch > CAPTURE_MAX_BATCH)
        return nfqueue_config_fail(error, -EINVAL, "queue %u: batch must be 1 to %d packets", queue, CAPTURE_MAX_BATCH);
    if (options->length == 0)
        return nfqueue_config_fail(error, -EINVAL, "queue %u: the length must be 1 packet or more", queue);
    if (options->mode == QUEUE_REPEAT && options->mark_mask == 0)
        return nfqueue_config_fail(
            error, -EINVAL,
            "queue %u: queue.verdict: repeat needs queue.mark with a mask that is not 0; otherwise "
            "packets would be queued again in a loop",
            queue);
    if (options->mode == QUEUE_ROUTE && options->route_to == options->queue)
        return nfqueue_config_fail(error, -EINVAL, "queue %u: queue.route-to is the same queue: choose another one",
                                   queue);
    return 0;
}

/* --- Socket options --------------------------------------------------------------------------------- */

/* Sets the size of a socket buffer. The size is limited to the system's maximum unless the process may exceed it. */
static void set_buffer(int fd, int force, int plain, uint32_t bytes)
{
    int value = (int)bytes;

    if (setsockopt(fd, SOL_SOCKET, force, &value, sizeof(value)) < 0)
        setsockopt(fd, SOL_SOCKET, plain, &value, sizeof(value));
}

void nfqueue_set_receive_buffer(int fd, uint32_t bytes)
{
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, bytes);
}

static uint32_t get_buffer(int fd, int option)
{
    int value = 0;
    socklen_t length = sizeof(value);

    return getsockopt(fd, SOL_SOCKET, option, &value, &length) < 0 || value < 0 ? 0 : (uint32_t)value;
}

int nfqueue_set_socket_options(int fd, const struct nfqueue_options *options)
{
    uint64_t bytes = (uint64_t)options->length * BYTES_PER_PACKET;
    int one = 1;

    if (bytes < MIN_RECEIVE_BUFFER)
        bytes = MIN_RECEIVE_BUFFER;
    if (options->receive_buffer)
        bytes = options->receive_buffer;
    if (bytes > MAX_RECEIVE_BUFFER)
        bytes = MAX_RECEIVE_BUFFER;
    set_buffer(fd, SO_RCVBUFFORCE, SO_RCVBUF, (uint32_t)bytes);
    set_buffer(fd, SO_SNDBUFFORCE, SO_SNDBUF, SEND_BUFFER);
    if (setsockopt(fd, SOL_NETLINK, NETLINK_NO_ENOBUFS, &one, sizeof(one)) < 0)
        return -errno;
    /* The kernel shall not copy the rejected request into error messages. Older kernels do not know this option and
     * send the copy. */
    setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
    return 0;
}

/* Returns the size of the receive buffer as it was requested: the kernel grants twice the requested size. */
uint32_t nfqueue_socket_buffer(int fd)
{
    return get_buffer(fd, SO_RCVBUF) / 2;
}

/* --- Binding ---------------------------------------------------------------------------------------- */

/* Reads the kernel's answer, which is already in the socket because nfnetlink processes a message during the send. Sets
 * *first to true if the answer is the first message: all packets follow it and have the requested attributes. Returns 0
 * if the request was accepted or a packet is the first message, otherwise -errno. */
static int read_answer(int fd, bool *first)
{
    uint8_t bytes[4096];
    struct packet ignored;
    struct nfqueue_result result;
    ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);

    *first = false;
    if (n < 0)
        return errno == EAGAIN ? -EPROTO : -errno;
    if (nfqueue_message_read(bytes, (size_t)n, 0, &ignored, &result) != NFQUEUE_RESULT)
        return 0; /* a packet: the queue works, and the packet stays for the first receive */
    *first = true;
    return recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) < 0 ? -errno : result.error;
}

struct nlmsghdr *nfqueue_config_put(uint16_t queue, char *buffer, enum nfqueue_sequence sequence)
{
    struct nlmsghdr *head = nfq_nlmsg_put(buffer, NFQNL_MSG_CONFIG, queue);

    head->nlmsg_seq = sequence;
    return head;
}

/* Adds all flags in one attribute pair: if there are several pairs, the kernel uses the last. */
static void put_flags(struct nlmsghdr *head, uint32_t flags, uint32_t mask)
{
    mnl_attr_put_u32(head, NFQA_CFG_FLAGS, htonl(flags));
    mnl_attr_put_u32(head, NFQA_CFG_MASK, htonl(mask));
}

ssize_t nfqueue_send_to_kernel(int fd, const struct nlmsghdr *head)
{
    const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };

    return sendto(fd, head, head->nlmsg_len, MSG_NOSIGNAL | MSG_DONTWAIT, (const struct sockaddr *)&kernel,
                  sizeof(kernel));
}

/* Sends the configuration and reads the answer. Does not bind an adopted queue, because the kernel rejects a second
 * bind even on the same socket. Returns 0 or -errno. */
static int request_config(struct nfqueue *queue, uint32_t flags)
{
    const struct nfqueue_options *options = &queue->options;
    char buffer[256];
    struct nlmsghdr *head = nfqueue_config_put(queue->options.queue, buffer, SEQUENCE_CONFIG);
    bool first;
    int err;

    head->nlmsg_flags |= NLM_F_ACK;
    if (!queue->adopted)
        nfq_nlmsg_cfg_put_cmd(head, AF_UNSPEC, NFQNL_CFG_CMD_BIND);
    nfq_nlmsg_cfg_put_params(head, NFQNL_COPY_PACKET, NFQUEUE_MAX_COPY);
    nfq_nlmsg_cfg_put_qmaxlen(head, options->length);
    if (flags)
        put_flags(head, flags, flags);
    if (nfqueue_send_to_kernel(queue->fd, head) < 0)
        return -errno;
    err = read_answer(queue->fd, &first);
    queue->conntrack_reliable = !err && first && flags & NFQA_CFG_F_CONNTRACK;
    return err;
}

int nfqueue_config_conntrack(struct nfqueue *queue, bool on)
{
    char buffer[64];
    struct nlmsghdr *head = nfqueue_config_put(queue->options.queue, buffer, SEQUENCE_CONNTRACK);

    put_flags(head, on ? NFQA_CFG_F_CONNTRACK : 0, NFQA_CFG_F_CONNTRACK);
    if (send(queue->fd, head, head->nlmsg_len, MSG_NOSIGNAL) < 0)
        return -errno;
    queue->flags = on ? queue->flags | NFQA_CFG_F_CONNTRACK : queue->flags & ~(uint32_t)NFQA_CFG_F_CONNTRACK;
    queue->conntrack_reliable &= on;
    return 0;
}

int nfqueue_config_gso(struct nfqueue *queue, bool on)
{
    char buffer[64];
    struct nlmsghdr *head = nfqueue_config_put(queue->options.queue, buffer, SEQUENCE_GSO);

    put_flags(head, on ? NFQA_CFG_F_GSO : 0, NFQA_CFG_F_GSO);
    return send(queue->fd, head, head->nlmsg_len, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Returns 0 if the kernel supports all flags, otherwise -errno; changes nothing. The kernel checks the flags of a
 * configuration message before it looks up the queue. A socket that does not own the queue therefore gets EOPNOTSUPP
 * for a flag that the kernel lacks, and EPERM or ENODEV when the kernel supports all of them. */
int nfqueue_probe_flags(uint16_t queue, uint32_t flags)
{
    char buffer[64];
    struct nlmsghdr *head = nfqueue_config_put(queue, buffer, SEQUENCE_CONFIG);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    int err = fd < 0 ? -errno : -EAGAIN;
    bool first;

    head->nlmsg_flags |= NLM_F_ACK;
    put_flags(head, flags, flags);
    /* EAGAIN: the kernel has loaded a module, and the request must be repeated. */
    for (int tries = 0; tries < MAX_TRIES && err == -EAGAIN && fd >= 0; tries++)
        err = send(fd, head, head->nlmsg_len, MSG_NOSIGNAL) < 0 ? -errno : read_answer(fd, &first);
    if (fd >= 0)
        close(fd);
    return err == -EPERM || err == -ENODEV ? 0 : err;
}

static bool asks_for_connections(const struct nfqueue_options *options)
{
    return options->offload == QUEUE_OFFLOAD_AUTO || options->offload == QUEUE_OFFLOAD_CONNECTION;
}

static uint32_t wanted_flags(const struct nfqueue_options *options)
{
    return (options->gso ? NFQA_CFG_F_GSO : 0) | (options->fail_open ? NFQA_CFG_F_FAIL_OPEN : 0) |
           (options->conntrack || asks_for_connections(options) ? NFQA_CFG_F_CONNTRACK : 0);
}

/* Binds the queue with all needed flags. If the kernel lacks one of them, tries again with fewer, and omits the least
 * important ones first. Sets queue->flags to the granted flags. The kernel returns EAGAIN after it has loaded a module
 * that a flag needs. Returns 0 or -errno. */
static int bind_queue(struct nfqueue *queue)
{
    enum { CONNTRACK = NFQA_CFG_F_CONNTRACK, GSO = NFQA_CFG_F_GSO, FAIL_OPEN = NFQA_CFG_F_FAIL_OPEN };
    static const uint32_t without[] = {
        0,
        CONNTRACK,
        GSO,
        GSO | CONNTRACK,
        FAIL_OPEN,
        FAIL_OPEN | CONNTRACK,
        FAIL_OPEN | GSO,
        FAIL_OPEN | GSO | CONNTRACK,
    };
    uint32_t wanted = wanted_flags(&queue->options);
    int err = -EOPNOTSUPP;

    for (size_t i = 0; i < sizeof(without) / sizeof(without[0]) && err == -EOPNOTSUPP; i++) {
        if ((without[i] & wanted) != without[i])
            continue;
        queue->flags = wanted & ~without[i];
        err = queue->adopted ? nfqueue_probe_flags(queue->options.queue, queue->flags) : 0;
        if (err == -EOPNOTSUPP)
            continue;
        for (int tries = 0; tries == 0 || (err == -EAGAIN && tries < MAX_TRIES); tries++)
            err = request_config(queue, queue->flags);
    }
    return err;
}

/* Chooses how connections are marked. A kernel that can attach conntrack data to packets can also change connections by
 * a verdict: both use the same hook (CONFIG_NETFILTER_NETLINK_GLUE_CT). Only attaching is costly, so
 * NFQA_CFG_F_CONNTRACK is cleared again if it was requested only to learn this. If the kernel cannot, or the granted
 * flags are not known (adopted queue), QUEUE_OFFLOAD_AUTO marks packets and QUEUE_OFFLOAD_CONNECTION becomes
 * QUEUE_OFFLOAD_NONE. */
static void choose_offload(struct nfqueue *queue)
{
    const struct nfqueue_options *options = &queue->options;
    bool able = queue->flags & NFQA_CFG_F_CONNTRACK && queue->flags_known;

    queue->offload = options->offload;
    if (asks_for_connections(options) && able)
        queue->offload = QUEUE_OFFLOAD_CONNECTION;
    else if (options->offload == QUEUE_OFFLOAD_AUTO)
        queue->offload = QUEUE_OFFLOAD_PACKET_MARK;
    else if (options->offload == QUEUE_OFFLOAD_CONNECTION)
        queue->offload = QUEUE_OFFLOAD_NONE;
    if (able && !options->conntrack)
        nfqueue_config_conntrack(queue, false); /* on failure, packets carry conntrack data that is not used */
}

static int fail_taken(uint32_t port_id, unsigned number, char error[CAPTURE_ERROR_SIZE])
{
    char owner[QUEUE_OWNER_SIZE];

    queue_owner_describe(port_id, owner);
    return nfqueue_config_fail(
        error, -EBUSY, "queue %u is in use by %s: stop that process or choose another queue number", number, owner);
}

int nfqueue_is_free(int status_fd, uint16_t queue, char error[CAPTURE_ERROR_SIZE])
{
    struct queue_status status;

    if (status_fd < 0 || nfqueue_find_status(status_fd, queue, &status) < 0)
        return 0;
    return fail_taken(status.port_id, queue, error);
}

static int explain_bind_error(const struct nfqueue *queue, int err, char error[CAPTURE_ERROR_SIZE])
{
    unsigned number = queue->options.queue;
    struct queue_status status;

    switch (err) {
    case -EPERM: /* CAP_NET_ADMIN is missing, or another socket has bound the queue */
        if (capng_get_caps_process() != 0 || !capng_have_capability(CAPNG_EFFECTIVE, CAP_NET_ADMIN))
            return nfqueue_config_fail(
                error, -EPERM, "queue %u: binding needs CAP_NET_ADMIN: run as root or with that capability", number);
        if (queue->status_fd < 0 || nfqueue_find_status(queue->status_fd, queue->options.queue, &status) < 0)
            return nfqueue_config_fail(
                error, -EPERM,
                "queue %u: the kernel refused to bind it: another process has the queue, or this process "
                "may not administer the network namespace",
                number);
        return fail_taken(status.port_id, number, error);
    case -EINVAL: /* nfnetlink does not support NFQUEUE */
        return nfqueue_config_fail(error, err,
                                   "queue %u: the kernel has no nfnetlink_queue: modprobe nfnetlink_queue, or use a "
                                   "kernel with CONFIG_NETFILTER_NETLINK_QUEUE",
                                   number);
    case -EOPNOTSUPP:
        return nfqueue_config_fail(error, err, "queue %u: the kernel does not support queues with these settings",
                                   number);
    default:
        return nfqueue_config_fail(error, err, "queue %u: cannot bind it: %s", number, strerror(-err));
    }
}

int nfqueue_socket(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE])
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
    int err;

    if (fd < 0)
        return nfqueue_config_fail(error, -errno,
                                   "queue %u: cannot open a netfilter socket: %s (the kernel needs nfnetlink)",
                                   options->queue, strerror(errno));
    err = bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ? -errno
                                                                           : nfqueue_set_socket_options(fd, options);
    if (!err)
        return fd;
    close(fd);
    return nfqueue_config_fail(error, err, "queue %u: cannot set up the netfilter socket: %s", options->queue,
                               strerror(-err));
}

int nfqueue_bind(int fd, const struct nfqueue_options *options, bool bound, uint32_t *flags,
                 char error[CAPTURE_ERROR_SIZE])
{
    struct nfqueue queue = { .options = *options, .fd = fd, .status_fd = nfqueue_open_status(), .adopted = bound };
    int err = bind_queue(&queue);

    if (err)
        err = explain_bind_error(&queue, err, error);
    else
        *flags = queue.flags;
    if (queue.status_fd >= 0)
        close(queue.status_fd);
    return err;
}

/* --- Adopting --------------------------------------------------------------------------------------- */

/* Adopts the inherited descriptor of a queue that another process has bound. Returns 0, or -errno with a line in
 * `error`. */
static int adopt_queue(struct nfqueue *queue, char error[CAPTURE_ERROR_SIZE])
{
    const struct nfqueue_options *options = &queue->options;
    struct sockaddr_nl address = { 0 };
    socklen_t length = sizeof(address);
    struct queue_status status;
    int fd = options->inherited_fd, status_flags, err;

    queue->fd = fd;
    queue->adopted = true;
    if (getsockname(fd, (struct sockaddr *)&address, &length) < 0)
        return nfqueue_config_fail(error, -errno, "queue %u: descriptor %d is not a socket: %s", options->queue, fd,
                                   strerror(errno));
    /* If the kernel reports the port id of the queue, the id must equal the port id of the descriptor. */
    if (address.nl_family == AF_NETLINK && queue->status_fd >= 0 && !options->kept) {
        err = nfqueue_find_status(queue->status_fd, options->queue, &status);
        if (err == -ENOENT || (err == 0 && status.port_id != address.nl_pid))
            return nfqueue_config_fail(error, -EBADF,
                                       "queue %u: the inherited descriptor %d is not the socket of this queue",
                                       options->queue, fd);
    }
    status_flags = fcntl(fd, F_GETFL);
    if (status_flags < 0 || fcntl(fd, F_SETFL, status_flags & ~O_NONBLOCK) < 0 || fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
        return nfqueue_config_fail(error, -errno, "queue %u: cannot adopt descriptor %d: %s", options->queue, fd,
                                   strerror(errno));
    if (options->kept)
        return 0; /* nfqueue_confirm_bound() sets the flags later */
    /* The granted flags are not known: assume that the requested ones were granted. The previous reader may have
     * cleared NFQA_CFG_F_CONNTRACK, so request that again. */
    queue->flags = wanted_flags(options);
    if (!options->conntrack || nfqueue_config_conntrack(queue, true))
        queue->flags &= ~(uint32_t)NFQA_CFG_F_CONNTRACK;
    return 0;
}

void nfqueue_confirm_bound(struct capture *capture, uint32_t flags, bool again)
{
    struct nfqueue *queue = (struct nfqueue *)capture;

    queue->flags = flags;
    queue->flags_known = true;
    choose_offload(queue);
    /* The previous reader may have cleared NFQA_CFG_F_GSO for some seconds: nfqueue_segment(). */
    if (again && flags & NFQA_CFG_F_GSO)
        queue->gso_refused = nfqueue_config_gso(queue, true) != 0;
    if (!queue->options.conntrack)
        return;
    /* The flag may be off because the rules of the previous reader did not need conntrack data. */
    if (again && !(flags & NFQA_CFG_F_CONNTRACK) &&
        nfqueue_probe_flags(queue->options.queue, NFQA_CFG_F_CONNTRACK) == 0)
        flags |= NFQA_CFG_F_CONNTRACK;
    if (flags & NFQA_CFG_F_CONNTRACK && nfqueue_config_conntrack(queue, true))
        queue->flags &= ~(uint32_t)NFQA_CFG_F_CONNTRACK;
}

int nfqueue_config_open(struct nfqueue *queue, char error[CAPTURE_ERROR_SIZE])
{
    size_t send_buffer;
    int err;

    if (queue->options.inherited_fd >= 0) {
        err = adopt_queue(queue, error);
        if (err) {
            queue->fd = -1; /* so that closing the capture does not close the caller's descriptor */
            return err;
        }
    } else {
        queue->fd = nfqueue_socket(&queue->options, error);
        if (queue->fd < 0)
            return queue->fd;
        err = bind_queue(queue);
        if (err)
            return explain_bind_error(queue, err, error);
    }
    queue->flags_known = !queue->adopted;
    send_buffer = get_buffer(queue->fd, SO_SNDBUF);
    queue->receive_buffer = get_buffer(queue->fd, SO_RCVBUF);
    queue->writer.limit = send_buffer > SEND_OVERHEAD ? send_buffer - SEND_OVERHEAD : 0;
    if (!queue->options.kept)
        choose_offload(queue);
    return 0;
}
