/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the live ruleset. A dump of nf_tables is many messages, between which other processes may change the ruleset:
 * the kernel's generation is read before and after, and an interrupted dump is repeated. Tables of ip_tables are
 * requested only when /proc lists them, because a request would create the table.
 */
#include "netrules_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_conntrack.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <linux/rtnetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "live_priv.h"

enum { TRIES = 32, RECEIVE_SIZE = 256 * 1024, REQUEST_SIZE = 512, RETRY_NS = 20 * 1000 * 1000 };

/* --- Netlink ---------------------------------------------------------------------------------------- */

struct session {
    int socket;
    uint32_t sequence;
    uint8_t *buffer;
};

struct request {
    _Alignas(struct nlmsghdr) uint8_t bytes[REQUEST_SIZE];
    size_t length;
};

static int session_open(struct session *session, int protocol)
{
    struct sockaddr_nl address = { .nl_family = AF_NETLINK };
    int err;

    *session = (struct session){ .socket = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol), .sequence = 1 };
    if (session->socket < 0)
        return -errno;
    session->buffer = malloc(RECEIVE_SIZE);
    err = session->buffer ? 0 : -ENOMEM;
    if (!err && bind(session->socket, (struct sockaddr *)&address, sizeof(address)) < 0)
        err = -errno;
    if (err) {
        free(session->buffer);
        close(session->socket);
    }
    return err;
}

static void session_close(struct session *session)
{
    free(session->buffer);
    close(session->socket);
}

/* The request fits: names have at most 256 bytes, and there are two. */
static void put(struct request *request, const void *bytes, size_t length)
{
    if (request->length + NLMSG_ALIGN(length) > sizeof(request->bytes))
        return;
    memcpy(request->bytes + request->length, bytes, length);
    request->length += NLMSG_ALIGN(length);
}

static void put_string(struct request *request, uint16_t type, const char *value)
{
    size_t length = strlen(value) + 1;
    struct nlattr head = { .nla_len = (uint16_t)(sizeof(head) + length), .nla_type = type };

    if (length > 256)
        return;
    put(request, &head, sizeof(head));
    put(request, value, length);
}

static void request_start(struct request *request, uint16_t type, uint16_t flags, const void *head, size_t length)
{
    struct nlmsghdr header = { .nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags };

    *request = (struct request){ .length = 0 };
    put(request, &header, sizeof(header));
    put(request, head, length);
}

static void request_nft(struct request *request, uint16_t type, uint16_t flags, uint32_t family)
{
    struct nfgenmsg head = { .nfgen_family = (uint8_t)family };

    request_start(request, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, &head, sizeof(head));
}

static int request_send(struct session *session, struct request *request)
{
    struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
    struct nlmsghdr header;

    memcpy(&header, request->bytes, sizeof(header));
    header.nlmsg_len = (uint32_t)request->length;
    header.nlmsg_seq = ++session->sequence;
    memcpy(request->bytes, &header, sizeof(header));
    if (sendto(session->socket, request->bytes, request->length, 0, (struct sockaddr *)&kernel, sizeof(kernel)) < 0)
        return -errno;
    return 0;
}

/* Handles one message of an answer. Returns ANSWER_MORE to continue, 0 after the last one, or -errno. */
enum { ANSWER_MORE = 1 };

typedef int message_function(void *user, const void *bytes, size_t length);

static int read_answer(const struct session *session, struct cursor message, const struct nlmsghdr *header,
                       message_function *handle, void *user)
{
    int32_t error = 0;
    struct cursor body = message;

    if (header->nlmsg_seq != session->sequence)
        return ANSWER_MORE;
    if (header->nlmsg_flags & NLM_F_DUMP_INTR)
        return -EINTR;
    if (header->nlmsg_type == NLMSG_ERROR || header->nlmsg_type == NLMSG_DONE) {
        const uint8_t *code;

        cursor_skip(&body, sizeof(*header));
        code = cursor_read(&body, sizeof(error));
        if (code)
            memcpy(&error, code, sizeof(error));
        return error;
    }

    int err = handle(user, message.at, cursor_remaining(&message));

    if (err)
        return err;
    return header->nlmsg_flags & NLM_F_MULTI ? ANSWER_MORE : 0;
}

/* Handles the messages of one datagram. */
static int read_answers(const struct session *session, size_t length, message_function *handle, void *user)
{
    struct cursor all = cursor_of(session->buffer, length);
    struct nlmsghdr header;
    const uint8_t *bytes;
    int more = ANSWER_MORE;

    while (more == ANSWER_MORE && (bytes = cursor_peek(&all, sizeof(header)))) {
        memcpy(&header, bytes, sizeof(header));
        if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > cursor_remaining(&all))
            return -EBADMSG;
        more = read_answer(session, cursor_of(bytes, header.nlmsg_len), &header, handle, user);
        if (!cursor_skip(&all, NLMSG_ALIGN(header.nlmsg_len)))
            break;
    }
    return more;
}

static int query(struct session *session, struct request *request, message_function *handle, void *user)
{
    int more = request_send(session, request);

    more = more ? more : ANSWER_MORE;
    while (more == ANSWER_MORE) {
        ssize_t length = recv(session->socket, session->buffer, RECEIVE_SIZE, MSG_TRUNC);

        if (length < 0 && errno == EINTR) /* a signal: continue */
            continue;
        if (length < 0)
            return -errno;
        if (length > RECEIVE_SIZE)
            return -EMSGSIZE;
        more = read_answers(session, (size_t)length, handle, user);
    }
    return more;
}

/* --- nf_tables -------------------------------------------------------------------------------------- */

static int add_message(void *user, const void *bytes, size_t length)
{
    int err = netrules_add_message(user, bytes, length);

    return err == -EBADMSG ? 0 : err; /* kinds of a later kernel */
}

static int read_generation(void *user, const void *bytes, size_t length)
{
    struct cursor message = cursor_of(bytes, length);

    cursor_skip(&message, NLMSG_HDRLEN);
    cursor_skip(&message, sizeof(struct nfgenmsg));
    *(uint32_t *)user = netrules_be32(netrules_attribute(message, NFTA_GEN_ID), 0);
    return 0;
}

static int query_generation(struct session *session, uint32_t *out)
{
    struct request request;

    request_nft(&request, NFT_MSG_GETGEN, 0, NFPROTO_UNSPEC);
    return query(session, &request, read_generation, out);
}

static int dump(struct session *session, struct netrules *ruleset, uint16_t type)
{
    struct request request;

    request_nft(&request, type, NLM_F_DUMP, NFPROTO_UNSPEC);
    return query(session, &request, add_message, ruleset);
}

/* Reads the elements of the sets that are needed to read rules. */
static int dump_elements(struct session *session, struct netrules *ruleset, const struct netrules_set *set)
{
    struct request request;

    if (!set->anonymous && !set->verdict_map)
        return 0;
    request_nft(&request, NFT_MSG_GETSETELEM, NLM_F_DUMP, set->table->family);
    put_string(&request, NFTA_SET_ELEM_LIST_TABLE, set->table->name);
    put_string(&request, NFTA_SET_ELEM_LIST_SET, set->name);

    int err = query(session, &request, add_message, ruleset);

    return err == -ENOENT ? -EINTR : err; /* deleted in the meantime */
}

static int dump_all_elements(struct session *session, struct netrules *ruleset)
{
    int err = 0;

    for (const struct netrules_table *table = ruleset->tables; table && !err; table = table->next)
        for (const struct netrules_set *set = table->sets; set && !err; set = set->next)
            err = dump_elements(session, ruleset, set);
    return err;
}

static int read_nft(struct session *session, struct netrules *ruleset)
{
    uint32_t after = 0;
    int err = query_generation(session, &ruleset->generation);

    if (!err)
        err = dump(session, ruleset, NFT_MSG_GETTABLE);
    if (!err)
        err = dump(session, ruleset, NFT_MSG_GETCHAIN);
    if (!err) {
        err = dump(session, ruleset, NFT_MSG_GETFLOWTABLE);
        err = err == -EOPNOTSUPP || err == -EINVAL ? 0 : err; /* a kernel without them */
    }
    if (!err)
        err = dump(session, ruleset, NFT_MSG_GETSET);
    if (!err)
        err = dump_all_elements(session, ruleset);
    if (!err)
        err = dump(session, ruleset, NFT_MSG_GETRULE);
    if (!err)
        err = query_generation(session, &after);
    return !err && after != ruleset->generation ? -EINTR : err;
}

/* Requests one table, one chain, or the rules of one chain. A missing object adds nothing. */
static int query_place(struct session *session, struct netrules *ruleset, uint16_t type,
                       const struct netrules_place *place)
{
    struct request request;
    int err;

    request_nft(&request, type, type == NFT_MSG_GETRULE ? NLM_F_DUMP : 0, place->family);
    if (type == NFT_MSG_GETTABLE) {
        put_string(&request, NFTA_TABLE_NAME, place->table);
    } else if (type == NFT_MSG_GETCHAIN) {
        put_string(&request, NFTA_CHAIN_TABLE, place->table);
        put_string(&request, NFTA_CHAIN_NAME, place->chain);
    } else {
        put_string(&request, NFTA_RULE_TABLE, place->table);
        put_string(&request, NFTA_RULE_CHAIN, place->chain);
    }
    err = query(session, &request, add_message, ruleset);
    return err == -ENOENT ? 0 : err;
}

int netrules_read_rules(struct netrules **out, const struct netrules_place *place)
{
    static const uint16_t types[] = { NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN, NFT_MSG_GETRULE };
    struct netrules *ruleset = netrules_new();
    struct session session;
    uint32_t after = 0;
    int err = ruleset ? session_open(&session, NETLINK_NETFILTER) : -ENOMEM;

    if (err) {
        netrules_free(ruleset);
        return err;
    }
    err = query_generation(&session, &ruleset->generation);
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !err; i++)
        err = place ? query_place(&session, ruleset, types[i], place) : dump(&session, ruleset, types[i]);
    if (!err)
        err = query_generation(&session, &after);
    if (!err && after != ruleset->generation)
        err = -EINTR;
    session_close(&session);
    if (err)
        netrules_free(ruleset);
    else
        *out = ruleset;
    return err;
}

int netrules_read_generation(uint32_t *out)
{
    struct session session;
    int err = session_open(&session, NETLINK_NETFILTER);

    if (err)
        return err;
    err = query_generation(&session, out);
    session_close(&session);
    return err;
}

/* --- Legacy tables ---------------------------------------------------------------------------------- */

static int read_entries(struct netrules *ruleset, int socket, bool ipv6, const struct ipt_getinfo *info)
{
    size_t head = offsetof(struct ipt_get_entries, entrytable);
    socklen_t length = (socklen_t)(head + info->size);
    struct ipt_get_entries *entries;
    int err;

    if (info->size > NETRULES_MEMORY)
        return -E2BIG;
    entries = calloc(1, length);
    if (!entries)
        return -ENOMEM;
    memcpy(entries->name, info->name, sizeof(entries->name));
    entries->size = info->size;
    err =
        getsockopt(socket, ipv6 ? SOL_IPV6 : SOL_IP, ipv6 ? IP6T_SO_GET_ENTRIES : IPT_SO_GET_ENTRIES, entries, &length)
            ? -errno
            : netrules_add_legacy(ruleset, ipv6, info, sizeof(*info), (const uint8_t *)entries + head, info->size);
    free(entries);
    return err;
}

/* Returns -EAGAIN when the size changed between the two requests. */
static int read_legacy_table(struct netrules *ruleset, int socket, bool ipv6, const char *name)
{
    struct ipt_getinfo info = { .valid_hooks = 0 };
    socklen_t length = sizeof(info);
    int err = -EAGAIN;

    for (int i = 0; i < TRIES && err == -EAGAIN; i++) {
        snprintf(info.name, sizeof(info.name), "%.*s", (int)sizeof(info.name) - 1, name);
        if (getsockopt(socket, ipv6 ? SOL_IPV6 : SOL_IP, ipv6 ? IP6T_SO_GET_INFO : IPT_SO_GET_INFO, &info, &length))
            return errno == ENOENT || errno == ENOPROTOOPT ? 0 : -errno;
        err = read_entries(ruleset, socket, ipv6, &info);
    }
    return err;
}

static int read_legacy(struct netrules *ruleset, bool ipv6)
{
    FILE *file = fopen(ipv6 ? "/proc/net/ip6_tables_names" : "/proc/net/ip_tables_names", "re");
    int one = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
    char name[64];

    while (file && one >= 0 && !err && fgets(name, sizeof(name), file)) {
        name[strcspn(name, "\n")] = '\0';
        err = read_legacy_table(ruleset, one, ipv6, name);
    }
    if (file)
        fclose(file);
    if (one >= 0)
        close(one);
    return err;
}

/* --- Policy routing --------------------------------------------------------------------------------- */

int netrules_add_route(struct netrules *ruleset, const void *bytes, size_t length)
{
    struct cursor message = cursor_of(bytes, length), mark, value;
    struct netrules_route *route, **link;
    struct fib_rule_hdr head;
    const uint8_t *at;

    if (!cursor_skip(&message, NLMSG_HDRLEN) || !(at = cursor_read(&message, sizeof(head))))
        return -EBADMSG;
    memcpy(&head, at, sizeof(head));
    mark = netrules_attribute(message, FRA_FWMARK);
    if (cursor_remaining(&mark) != sizeof(route->mark))
        return 0;
    route = arena_alloc(ruleset->arena, sizeof(*route));
    if (!route)
        return -ENOMEM;
    *route = (struct netrules_route){
        .ipv6 = head.family == AF_INET6, .inverted = head.flags & FIB_RULE_INVERT, .mask = ALL_BITS, .table = head.table
    };
    memcpy(&route->mark, mark.at, sizeof(route->mark));
    value = netrules_attribute(message, FRA_FWMASK);
    if (cursor_remaining(&value) == sizeof(route->mask))
        memcpy(&route->mask, value.at, sizeof(route->mask));
    value = netrules_attribute(message, FRA_PRIORITY);
    if (cursor_remaining(&value) == sizeof(route->priority))
        memcpy(&route->priority, value.at, sizeof(route->priority));
    value = netrules_attribute(message, FRA_TABLE);
    if (cursor_remaining(&value) == sizeof(route->table))
        memcpy(&route->table, value.at, sizeof(route->table));
    route->text = arena_printf(ruleset->arena, "ip%s rule %u: %sfwmark 0x%x/0x%x lookup %u", route->ipv6 ? " -6" : "",
                               route->priority, route->inverted ? "not " : "", route->mark, route->mask, route->table);
    for (link = &ruleset->routes; *link;)
        link = &(*link)->next;
    *link = route;
    return route->text ? netrules_check_size(ruleset) : -ENOMEM;
}

static int add_route(void *user, const void *bytes, size_t length)
{
    int err = netrules_add_route(user, bytes, length);

    return err == -EBADMSG ? 0 : err;
}

static int read_routes(struct netrules *ruleset, int family)
{
    struct fib_rule_hdr head = { .family = (uint8_t)family };
    struct session session;
    struct request request;
    int err = session_open(&session, NETLINK_ROUTE);

    if (err)
        return err;
    request_start(&request, RTM_GETRULE, NLM_F_DUMP, &head, sizeof(head));
    err = query(&session, &request, add_route, ruleset);
    session_close(&session);
    return err == -EOPNOTSUPP || err == -EAFNOSUPPORT ? 0 : err; /* a kernel without policy routing */
}

/* --- Links ------------------------------------------------------------------------------------------ */

static int add_link(void *user, const void *bytes, size_t length)
{
    int err = netrules_add_link(user, bytes, length);

    return err == -EBADMSG ? 0 : err;
}

static int read_links(struct netrules *ruleset)
{
    struct ifinfomsg head = { .ifi_family = AF_UNSPEC };
    struct session session;
    struct request request;
    int err = session_open(&session, NETLINK_ROUTE);

    if (err)
        return err;
    request_start(&request, RTM_GETLINK, NLM_F_DUMP, &head, sizeof(head));
    err = query(&session, &request, add_link, ruleset);
    session_close(&session);
    if (!err)
        netrules_read_features(ruleset);
    return err;
}

/* --- Connections ------------------------------------------------------------------------------------ */

struct counting {
    uint32_t mark, mask;
    uint64_t count;
};

/* The kernel sends only matching connections; a kernel without the filter sends all. */
static int count_connection(void *user, const void *bytes, size_t length)
{
    struct counting *counting = user;
    struct cursor message = cursor_of(bytes, length);

    if (!cursor_skip(&message, NLMSG_HDRLEN) || !cursor_skip(&message, sizeof(struct nfgenmsg)))
        return 0;
    counting->count += (netrules_be32(netrules_attribute(message, CTA_MARK), 0) & counting->mask) == counting->mark;
    return 0;
}

static void put_be32(struct request *request, uint16_t type, uint32_t value)
{
    struct nlattr head = { .nla_len = sizeof(head) + sizeof(value), .nla_type = type };
    uint32_t sent = htonl(value);

    put(request, &head, sizeof(head));
    put(request, &sent, sizeof(sent));
}

int netrules_count_connections(uint32_t mark, uint32_t mask, uint64_t *out)
{
    struct counting counting = { .mark = mark & mask, .mask = mask };
    struct nfgenmsg head = { .nfgen_family = AF_UNSPEC };
    struct session session;
    struct request request;
    int err = 0;

    if (access("/proc/sys/net/netfilter/nf_conntrack_count", F_OK) == 0)
        err = session_open(&session, NETLINK_NETFILTER);
    else
        session.socket = -1;
    if (!err && session.socket >= 0) {
        request_start(&request, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP, &head, sizeof(head));
        put_be32(&request, CTA_MARK, counting.mark);
        put_be32(&request, CTA_MARK_MASK, mask);
        err = query(&session, &request, count_connection, &counting);
        session_close(&session);
    }
    if (err == -EOPNOTSUPP || err == -EINVAL ||
        err == -EINTR) /* no marks; or connections began or ended during the listing */
        err = 0;
    if (!err)
        *out = counting.count;
    return err;
}

/* --- Reading everything ----------------------------------------------------------------------------- */

static int read_all(struct netrules *ruleset)
{
    struct session session;
    int err = session_open(&session, NETLINK_NETFILTER);

    if (!err) {
        err = read_nft(&session, ruleset);
        session_close(&session);
    }
    if (err == -EINVAL || err == -EOPNOTSUPP || err == -EPROTONOSUPPORT) /* a kernel without nf_tables */
        err = ruleset->tables ? err : 0;
    for (int i = 0; i < 2 && !err; i++)
        err = read_legacy(ruleset, i == 1);
    for (int i = 0; i < 2 && !err; i++)
        err = read_routes(ruleset, i ? AF_INET6 : AF_INET);
    if (!err)
        err = read_links(ruleset);
    if (!err)
        err = netrules_read_holders(ruleset);
    if (!err)
        netrules_read_host(ruleset);
    return err;
}

int netrules_read(struct netrules **out)
{
    static const struct timespec pause = { .tv_nsec = RETRY_NS };
    int err = -EINTR;

    for (int i = 0; i < TRIES && err == -EINTR; i++) {
        struct netrules *ruleset = netrules_new();

        if (i > 0)
            nanosleep(&pause, NULL);
        err = ruleset ? read_all(ruleset) : -ENOMEM;
        if (err)
            netrules_free(ruleset);
        else
            *out = ruleset;
    }
    return err;
}
