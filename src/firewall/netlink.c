/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A netlink session and its transactions.
 *
 * A batch is one datagram: the kernel commits it completely or not at all, even if the sender is killed in between. The
 * kernel processes the batch during sendto(), so all errors are in the socket when sendto() returns. A batch without
 * its end message is validated and discarded; this is how the kernel is probed.
 */
#include "firewall_priv.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/common.h>
#include <libnftnl/gen.h>
#include <libnftnl/set.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>

enum { MESSAGE_MAX = 4096, RECEIVE_SIZE = 64 * 1024, TABLE_ATTRIBUTE = 1 };

int nft_session_open(struct session *session, char error[FIREWALL_ERROR_SIZE])
{
    struct mnl_socket *socket = mnl_socket_open2(NETLINK_NETFILTER, SOCK_CLOEXEC);
    int err;

    if (!socket)
        return nft_fail(error, -errno,
                        "cannot open a netfilter netlink socket (%m): the kernel needs CONFIG_NETFILTER_NETLINK");
    if (mnl_socket_bind(socket, 0, MNL_SOCKET_AUTOPID) < 0) {
        err = nft_fail(error, -errno, "cannot bind a netlink socket: %m");
        mnl_socket_close(socket);
        return err;
    }
    *session = (struct session){ .socket = socket, .sequence = (uint32_t)time(NULL) };
    return 0;
}

void nft_session_close(struct session *session)
{
    if (session->socket)
        mnl_socket_close(session->socket);
    session->socket = NULL;
}

/* --- Requests --------------------------------------------------------------------------------------- */

struct query {
    int (*each)(const struct nlmsghdr *message, void *user);
    void *user;
};

static int handle_answer(const struct nlmsghdr *message, void *data)
{
    const struct query *query = data;
    int err = query->each(message, query->user);

    if (!err)
        return MNL_CB_OK;
    errno = -err;
    return MNL_CB_ERROR;
}

int nft_session_get(struct session *session, uint16_t type, uint16_t family, bool dump,
                    int (*each)(const struct nlmsghdr *message, void *user), void *user)
{
    const struct session_query query = { .type = type, .family = family, .dump = dump };

    return nft_session_query(session, &query, each, user);
}

static void put_name(struct nlmsghdr *message, uint16_t attribute, const char *name)
{
    if (name)
        mnl_attr_put_strz(message, attribute, name);
}

/* Sends a request and reads the answers up to the last. Returns 0 or -errno. */
static int send_query(struct session *session, const struct nlmsghdr *message,
                      int (*each)(const struct nlmsghdr *message, void *user), void *user)
{
    struct query query = { each, user };
    char *buffer = malloc(RECEIVE_SIZE);
    ssize_t length;
    int more = MNL_CB_OK, err = 0;

    if (!buffer)
        return -ENOMEM;
    if (mnl_socket_sendto(session->socket, message, message->nlmsg_len) < 0)
        more = MNL_CB_ERROR;
    while (more > MNL_CB_STOP) {
        length = mnl_socket_recvfrom(session->socket, buffer, RECEIVE_SIZE);
        more = length < 0 ? MNL_CB_ERROR
                          : mnl_cb_run(buffer, (size_t)length, session->sequence,
                                       mnl_socket_get_portid(session->socket), handle_answer, &query);
    }
    if (more == MNL_CB_ERROR)
        err = -errno;
    free(buffer);
    return err;
}

int nft_session_query(struct session *session, const struct session_query *query,
                      int (*each)(const struct nlmsghdr *message, void *user), void *user)
{
    char request[MNL_NLMSG_HDRLEN + 64 + 2 * (MNL_ATTR_HDRLEN + NAME_SIZE)];
    struct nlmsghdr *message = nftnl_nlmsg_build_hdr(request, query->type, query->family,
                                                     query->dump ? NLM_F_DUMP : NLM_F_ACK, ++session->sequence);

    put_name(message, TABLE_ATTRIBUTE, query->table);
    put_name(message, query->name_attribute, query->name);
    return send_query(session, message, each, user);
}

int nft_session_query_elements(struct session *session, uint16_t family, const struct nftnl_set *set,
                               int (*each)(const struct nlmsghdr *message, void *user), void *user)
{
    char request[MESSAGE_MAX];
    struct nlmsghdr *message =
        nftnl_nlmsg_build_hdr(request, NFT_MSG_GETSETELEM, family, NLM_F_ACK, ++session->sequence);

    nftnl_set_elems_nlmsg_build_payload(message, (struct nftnl_set *)set);
    return send_query(session, message, each, user);
}

static int read_generation(const struct nlmsghdr *message, void *user)
{
    struct nftnl_gen *generation = nftnl_gen_alloc();

    if (!generation)
        return -ENOMEM;
    if (nftnl_gen_nlmsg_parse(message, generation) == 0)
        *(uint32_t *)user = nftnl_gen_get_u32(generation, NFTNL_GEN_ID);
    nftnl_gen_free(generation);
    return 0;
}

int nft_session_generation(struct session *session, uint32_t *out)
{
    uint32_t generation = 0;
    int err = nft_session_get(session, NFT_MSG_GETGEN, AF_UNSPEC, false, read_generation, &generation);

    if (!err)
        *out = generation;
    return err;
}

/* --- Transactions ----------------------------------------------------------------------------------- */

static void put_mark(struct batch *batch, uint16_t type, uint32_t generation)
{
    assert(batch->count < BATCH_MESSAGES && batch->length + MESSAGE_MAX <= batch->size);

    struct nlmsghdr *message = mnl_nlmsg_put_header(batch->bytes + batch->length);
    struct nfgenmsg *header = mnl_nlmsg_put_extra_header(message, sizeof(*header));

    message->nlmsg_type = type;
    message->nlmsg_flags = NLM_F_REQUEST;
    message->nlmsg_seq = batch->first + batch->count;
    *header = (struct nfgenmsg){ .nfgen_family = AF_UNSPEC, .res_id = htons(NFNL_SUBSYS_NFTABLES) };
    if (generation)
        mnl_attr_put_u32(message, NFNL_BATCH_GENID, htonl(generation));
    batch->subjects[batch->count++] = SUBJECT_BATCH;
    batch->length += message->nlmsg_len;
}

static struct batch *make_batch(struct session *session, uint32_t generation, size_t size)
{
    struct batch *batch = calloc(1, sizeof(*batch) + size);

    if (!batch)
        return NULL;
    batch->size = size;
    batch->first = session->sequence + 1;
    session->sequence += BATCH_MESSAGES;
    put_mark(batch, NFNL_MSG_BATCH_BEGIN, generation);
    return batch;
}

struct batch *nft_batch_new(struct session *session, uint32_t generation)
{
    return make_batch(session, generation, BATCH_SIZE);
}

struct batch *nft_batch_new_larger(struct session *session, size_t more)
{
    return make_batch(session, 0, BATCH_SIZE + more);
}

void nft_batch_free(struct batch *batch)
{
    free(batch);
}

struct nlmsghdr *nft_batch_open(struct batch *batch, enum subject subject, uint16_t type, uint16_t family,
                                uint16_t flags)
{
    assert(batch->count < BATCH_MESSAGES && batch->length + MESSAGE_MAX <= batch->size);
    batch->subjects[batch->count] = (uint8_t)subject;
    return nftnl_nlmsg_build_hdr(batch->bytes + batch->length, type, family, flags, batch->first + batch->count++);
}

void nft_batch_close(struct batch *batch, const struct nlmsghdr *message)
{
    assert(batch->length + message->nlmsg_len <= batch->size);
    batch->length += MNL_ALIGN(message->nlmsg_len);
}

/* Returns the first error in a datagram, with the kind of the failed object in *subject; 0 if there is none. */
static int find_error(const char *bytes, size_t length, const struct batch *batch, enum subject *subject)
{
    const struct nlmsghdr *message = (const struct nlmsghdr *)bytes;
    int left = (int)length;

    for (; mnl_nlmsg_ok(message, left); message = mnl_nlmsg_next(message, &left)) {
        const struct nlmsgerr *error = mnl_nlmsg_get_payload(message);
        uint32_t at = message->nlmsg_seq - batch->first;

        if (message->nlmsg_type != NLMSG_ERROR || message->nlmsg_len < mnl_nlmsg_size(sizeof(*error)) ||
            error->error == 0 || at >= batch->count)
            continue;
        *subject = batch->subjects[at];
        return error->error;
    }
    return 0;
}

/* Reads the kernel's answers, which are in the socket when the send returns. Returns the first error, or 0. */
static int read_errors(struct session *session, const struct batch *batch, enum subject *subject)
{
    char *buffer = malloc(RECEIVE_SIZE);
    ssize_t length;
    int first = 0;

    if (!buffer)
        return -ENOMEM;
    while ((length = recv(mnl_socket_get_fd(session->socket), buffer, RECEIVE_SIZE, MSG_DONTWAIT)) > 0) {
        enum subject about = SUBJECT_BATCH;
        int err = find_error(buffer, (size_t)length, batch, &about);

        if (!err || first)
            continue;
        first = err;
        *subject = about;
    }
    if (length < 0 && errno != EAGAIN && !first)
        first = -errno;
    free(buffer);
    return first;
}

int nft_batch_send(struct session *session, struct batch *batch, bool commit, enum subject *subject)
{
    *subject = SUBJECT_BATCH;
    if (commit)
        put_mark(batch, NFNL_MSG_BATCH_END, 0);
    /* The kernel takes a datagram only if it fits into the send buffer of the socket. */
    if (batch->length > BATCH_SIZE) {
        const int room = (int)batch->length + BATCH_SIZE;

        setsockopt(mnl_socket_get_fd(session->socket), SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof(room));
    }
    if (mnl_socket_sendto(session->socket, batch->bytes, batch->length) < 0)
        return -errno;
    return read_errors(session, batch, subject);
}
