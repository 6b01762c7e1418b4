/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the packets of `reject` through two raw sockets that accept whole IP packets, and one packet socket for the
 * ports of a bridge. The packets get the mark nft.reject-mark, so that the sluice table does not queue them. The
 * sockets never receive (IPPROTO_RAW, and protocol 0 of packet sockets, are for sending only) and never block: a packet
 * that the kernel has no room for is counted and discarded, because the packet it answers was dropped anyway.
 */
#include "sluice/inject.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NO_SOCKET = -1 };

struct injector {
    /* NO_SOCKET: the host does not support the IP version, or does not permit packet sockets. */
    int fd[INJECT_SOCKETS];
    struct inject_counters counters;
};

static int fail(char error[INJECT_ERROR_SIZE], int err, const char *what, const char *remedy)
{
    snprintf(error, INJECT_ERROR_SIZE, "reject: %s: %s%s", what, strerror(-err), err == -EPERM ? remedy : "");
    return err;
}

static void close_all(const int fds[INJECT_SOCKETS])
{
    for (int i = 0; i < INJECT_SOCKETS; i++)
        if (fds[i] != NO_SOCKET)
            close(fds[i]);
}

/* Opens a raw socket. Returns 0, or -errno with a line in `error`. If the host does not support the protocol, returns 0
 * and leaves *out unchanged (NO_SOCKET). */
static int open_raw(int family, int *out, char error[INJECT_ERROR_SIZE])
{
    int one = 1, err;
    int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW);

    if (fd < 0 && errno == EAFNOSUPPORT)
        return 0;
    if (fd < 0)
        return fail(error, -errno, "cannot open a raw socket",
                    "; it needs CAP_NET_RAW: run as root or with that capability");
    if (setsockopt(fd, family == AF_INET ? (int)IPPROTO_IP : (int)IPPROTO_IPV6,
                   family == AF_INET ? IP_HDRINCL : IPV6_HDRINCL, &one, sizeof(one)) < 0) {
        err = fail(error, -errno, "the kernel does not accept whole IP packets on a raw socket", "");
        close(fd);
        return err;
    }
    *out = fd;
    return 0;
}

/* Opens the sockets. Only a bridge needs to send frames, so a failure to open the packet socket is not an error. */
int inject_open(int out[INJECT_SOCKETS], char error[INJECT_ERROR_SIZE])
{
    int fds[INJECT_SOCKETS] = { NO_SOCKET, NO_SOCKET, NO_SOCKET };
    int err = open_raw(AF_INET, &fds[INJECT_IPV4], error);

    if (!err)
        err = open_raw(AF_INET6, &fds[INJECT_IPV6], error);
    if (err) {
        close_all(fds);
        return err;
    }
    fds[INJECT_FRAMES] = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    memcpy(out, fds, sizeof(fds));
    return 0;
}

int injector_new(struct injector **out, const int *sockets, uint32_t mark, char error[INJECT_ERROR_SIZE])
{
    struct injector *injector = malloc(sizeof(*injector));
    bool inherited = false;
    int err = 0;

    if (!injector)
        return fail(error, -ENOMEM, "cannot start", "");
    *injector = (struct injector){ .fd = { NO_SOCKET, NO_SOCKET, NO_SOCKET } };
    for (int i = 0; sockets && i < INJECT_SOCKETS && !err; i++) {
        if (sockets[i] == NO_SOCKET)
            continue;
        inherited = true;
        injector->fd[i] = fcntl(sockets[i], F_DUPFD_CLOEXEC, 0);
        if (injector->fd[i] < 0)
            err = fail(error, -errno, "cannot duplicate a socket", "");
    }
    if (!inherited)
        err = inject_open(injector->fd, error);
    for (int i = 0; i < INJECT_SOCKETS && !err; i++) {
        if (injector->fd[i] != NO_SOCKET && setsockopt(injector->fd[i], SOL_SOCKET, SO_MARK, &mark, sizeof(mark)) < 0)
            err = fail(error, -errno, "cannot set the mark of sent packets",
                       "; it needs CAP_NET_ADMIN: run as root or with that capability");
    }
    if (err) {
        injector_free(injector);
        return err;
    }
    *out = injector;
    return 0;
}

void injector_free(struct injector *injector)
{
    if (!injector)
        return;
    close_all(injector->fd);
    free(injector);
}

const struct inject_counters *injector_counters(const struct injector *injector)
{
    return &injector->counters;
}

static int send_answer(struct injector *injector, const struct packet *pkt, enum reject_kind to)
{
    uint8_t bytes[INJECT_MAX_LINK_HEADER + INJECT_MAX_PACKET], header[INJECT_MAX_LINK_HEADER];
    uint8_t *answer = bytes + INJECT_MAX_LINK_HEADER;
    size_t length = inject_build(pkt, to, answer), link;
    uint32_t port = inject_port(pkt, to);
    union {
        struct sockaddr any;
        struct sockaddr_ll frame;
        struct sockaddr_in ipv4;
        struct sockaddr_in6 ipv6;
    } target = { 0 };
    socklen_t size;
    int fd, err = 0;

    if (length == 0)
        return 0;
    link = port ? inject_link_header(pkt, to, header) : 0;
    if (link > 0) { /* on a bridge: send the whole frame */
        answer -= link;
        length += link;
        memcpy(answer, header, link);
        target.frame = (struct sockaddr_ll){ .sll_family = AF_PACKET, .sll_ifindex = (int)port };
        size = sizeof(target.frame);
        fd = injector->fd[INJECT_FRAMES];
    } else if (pkt->ip_version == 4) {
        target.ipv4.sin_family = AF_INET;
        memcpy(&target.ipv4.sin_addr, answer + 16, sizeof(target.ipv4.sin_addr));
        size = sizeof(target.ipv4);
        fd = injector->fd[INJECT_IPV4];
    } else {
        target.ipv6.sin6_family = AF_INET6;
        memcpy(&target.ipv6.sin6_addr, answer + 24, sizeof(target.ipv6.sin6_addr));
        /* A link-local address needs the interface, because it may exist on several links. */
        if (IN6_IS_ADDR_LINKLOCAL(&target.ipv6.sin6_addr))
            target.ipv6.sin6_scope_id = to == REJECT_SOURCE ? pkt->meta.in_ifindex : pkt->meta.out_ifindex;
        size = sizeof(target.ipv6);
        fd = injector->fd[INJECT_IPV6];
    }
    if (fd == NO_SOCKET)
        err = -EAFNOSUPPORT;
    else if (sendto(fd, answer, length, MSG_DONTWAIT, &target.any, size) < 0)
        err = -errno;
    injector->counters.sent += err == 0;
    injector->counters.failed += err != 0;
    return err;
}

int injector_reject(struct injector *injector, const struct packet *pkt)
{
    int first = 0, err;

    if (pkt->reject & REJECT_SOURCE)
        first = send_answer(injector, pkt, REJECT_SOURCE);
    if (pkt->reject & REJECT_DESTINATION) {
        err = send_answer(injector, pkt, REJECT_DESTINATION);
        first = first ? first : err;
    }
    return first;
}
