/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/netlink_session.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum { RECEIVE_SIZE = 256 * 1024 };

int netlink_session_open(struct netlink_session *session, int protocol)
{
    int err = 0;

    *session = (struct netlink_session){ .socket = mnl_socket_open2(protocol, SOCK_CLOEXEC) };
    if (!session->socket)
        return -errno;
    session->buffer = malloc(RECEIVE_SIZE);
    if (!session->buffer)
        err = -ENOMEM;
    else if (mnl_socket_bind(session->socket, 0, MNL_SOCKET_AUTOPID) < 0)
        err = -errno;
    if (err)
        netlink_session_close(session);
    return err;
}

void netlink_session_close(struct netlink_session *session)
{
    free(session->buffer);
    mnl_socket_close(session->socket);
}

struct nlmsghdr *netlink_session_request(struct netlink_session *session, uint16_t type, uint16_t flags, uint8_t family,
                                         size_t size)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(session->request);

    message->nlmsg_type = type;
    message->nlmsg_flags = NLM_F_REQUEST | flags;
    message->nlmsg_seq = ++session->sequence;
    *(uint8_t *)mnl_nlmsg_put_extra_header(message, size) = family;
    return message;
}

/* Calls the caller's function for a message. Stops after an answer of one message (without NLM_F_MULTI), because no
 * NLMSG_DONE follows it. */
static int handle_answer(const struct nlmsghdr *message, void *user)
{
    const struct netlink_session *session = user;
    int more = session->handle(message, session->user);

    return more == MNL_CB_OK && !(message->nlmsg_flags & NLM_F_MULTI) ? MNL_CB_STOP : more;
}

int netlink_session_query(struct netlink_session *session, const struct nlmsghdr *request, mnl_cb_t handle, void *user)
{
    int more = mnl_socket_sendto(session->socket, request, request->nlmsg_len) < 0 ? MNL_CB_ERROR : MNL_CB_OK;

    session->handle = handle;
    session->user = user;
    while (more > MNL_CB_STOP) {
        ssize_t length = mnl_socket_recvfrom(session->socket, session->buffer, RECEIVE_SIZE);

        if (length < 0 && errno == EINTR) /* a signal: continue */
            continue;
        more = length < 0 ? MNL_CB_ERROR
                          : mnl_cb_run(session->buffer, (size_t)length, session->sequence,
                                       mnl_socket_get_portid(session->socket), handle_answer, session);
    }
    return more == MNL_CB_ERROR ? -errno : 0;
}

int netlink_callback_result(int err)
{
    errno = -err;
    return err && err != -EBADMSG ? MNL_CB_ERROR : MNL_CB_OK;
}
