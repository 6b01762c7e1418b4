/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Passes the memory of a spool to another process. */
#include "sluice/spool.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { OFFER_VERSION = 1 };

struct offer {
    uint32_t version;
    char name[SPOOL_NAME_SIZE];
};

union control {
    struct cmsghdr header; /* aligns the buffer */
    char bytes[CMSG_SPACE(sizeof(int))];
};

int spool_send(int socket, const char *name, const struct spool *spool)
{
    struct offer offer = { .version = OFFER_VERSION };
    struct iovec part = { .iov_base = &offer, .iov_len = sizeof(offer) };
    union control control = { 0 };
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
    };
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    int fd = spool_fd(spool);

    strncpy(offer.name, name, sizeof(offer.name) - 1);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof(fd));
    memcpy(CMSG_DATA(rights), &fd, sizeof(fd));
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int spool_receive(int socket, char name[SPOOL_NAME_SIZE], int *fd)
{
    struct offer offer;
    struct iovec part = { .iov_base = &offer, .iov_len = sizeof(offer) };
    union control control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof(control.bytes)
    };
    ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    struct cmsghdr *rights;
    int received = -1;

    if (length <= 0)
        return length == 0 ? 0 : -errno;
    rights = CMSG_FIRSTHDR(&message);
    if (rights && rights->cmsg_level == SOL_SOCKET && rights->cmsg_type == SCM_RIGHTS &&
        rights->cmsg_len == CMSG_LEN(sizeof(received)))
        memcpy(&received, CMSG_DATA(rights), sizeof(received));
    if (received < 0)
        return -EPROTO;
    if (length != sizeof(offer) || message.msg_flags & (MSG_TRUNC | MSG_CTRUNC) || offer.version != OFFER_VERSION ||
        !memchr(offer.name, '\0', sizeof(offer.name))) {
        close(received);
        return -EPROTO;
    }
    memcpy(name, offer.name, sizeof(offer.name));
    *fd = received;
    return 1;
}
