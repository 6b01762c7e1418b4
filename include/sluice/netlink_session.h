/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A netlink socket for requests, one at a time: sends a request and passes each message of the answer to a libmnl
 * callback. */
#ifndef SLUICE_NETLINK_SESSION_H
#define SLUICE_NETLINK_SESSION_H

#include <libmnl/libmnl.h>

struct netlink_session {
    struct mnl_socket *socket;
    uint32_t sequence;
    char *buffer;    /* receive buffer for the answers; owned */
    mnl_cb_t handle; /* callback of the current request, called with `user` */
    void *user;
    _Alignas(struct nlmsghdr) char request[1024];
};

/* Opens a socket of the protocol (NETLINK_*). Returns 0 or -errno; netlink_session_close() may be called only after
 * success. */
int netlink_session_open(struct netlink_session *session, int protocol);
void netlink_session_close(struct netlink_session *session);

/* Starts a request in session->request and returns it; the caller may add attributes. `flags` are added to
 * NLM_F_REQUEST; `size` is the length of the protocol's header, whose first byte is the family. */
struct nlmsghdr *netlink_session_request(struct netlink_session *session, uint16_t type, uint16_t flags, uint8_t family,
                                         size_t size);

/* Sends the request and calls `handle` for each message of the answer. Returns 0 or -errno, including an error that
 * `handle` sets; -EINTR when the kernel reports that a dump was interrupted by a change. */
int netlink_session_query(struct netlink_session *session, const struct nlmsghdr *request, mnl_cb_t handle, void *user);

/* Converts 0 or -errno to the result of a libmnl callback: MNL_CB_OK or MNL_CB_ERROR with errno set. -EBADMSG becomes
 * MNL_CB_OK, so that unknown messages of a later kernel are ignored. */
int netlink_callback_result(int err);

#endif
