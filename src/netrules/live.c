/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the live ruleset. A dump of nf_tables is many messages, between which other processes may change the ruleset:
 * the kernel's generation is read before and after, and an interrupted dump is repeated. Tables of ip_tables are
 * requested only when /proc lists them, because a request would create the table.
 */
#include "netrules_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/gen.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_link.h>
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

enum { TRIES = 32, RECEIVE_SIZE = 256 * 1024, REQUEST_SIZE = 1024, RETRY_NS = 20 * 1000 * 1000 };
enum { GSO_IPV4_MAX_SIZE = 63, GRO_IPV4_MAX_SIZE = 64 }; /* IFLA_*, since Linux 6.3 */

/* --- Netlink ---------------------------------------------------------------------------------------- */

struct session {
    struct mnl_socket *socket;
    uint32_t sequence;
    char *buffer;    /* of RECEIVE_SIZE bytes */
    mnl_cb_t handle; /* of the current request */
    void *user;
    _Alignas(struct nlmsghdr) char request[REQUEST_SIZE];
};

static int session_open(struct session *session, int protocol)
{
    int err = 0;

    *session = (struct session){ .socket = mnl_socket_open2(protocol, SOCK_CLOEXEC) };
    if (!session->socket)
        return -errno;
    session->buffer = malloc(RECEIVE_SIZE);
    if (!session->buffer)
        err = -ENOMEM;
    else if (mnl_socket_bind(session->socket, 0, MNL_SOCKET_AUTOPID) < 0)
        err = -errno;
    if (err) {
        free(session->buffer);
        mnl_socket_close(session->socket);
    }
    return err;
}

static void session_close(struct session *session)
{
    free(session->buffer);
    mnl_socket_close(session->socket);
}

/* Starts a request in session->request; `size` is the length of its header. */
static struct nlmsghdr *request(struct session *session, uint16_t type, uint16_t flags, uint8_t family, size_t size)
{
    struct nlmsghdr *message = mnl_nlmsg_put_header(session->request);

    message->nlmsg_type = type;
    message->nlmsg_flags = NLM_F_REQUEST | flags;
    message->nlmsg_seq = ++session->sequence;
    *(uint8_t *)mnl_nlmsg_put_extra_header(message, size) = family; /* the first field of all headers */
    return message;
}

/* Ends after an answer of one message, which no NLMSG_DONE follows. */
static int handle_answer(const struct nlmsghdr *message, void *user)
{
    const struct session *session = user;
    int more = session->handle(message, session->user);

    return more == MNL_CB_OK && !(message->nlmsg_flags & NLM_F_MULTI) ? MNL_CB_STOP : more;
}

/* Sends the request and calls `handle` for each message of the answer. Returns 0 or -errno, also from `handle`. */
static int query(struct session *session, const struct nlmsghdr *message, mnl_cb_t handle, void *user)
{
    int more = mnl_socket_sendto(session->socket, message, message->nlmsg_len) < 0 ? MNL_CB_ERROR : MNL_CB_OK;

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

/* Converts 0 or -errno to the result of a callback. Messages of a later kernel are ignored. */
static int callback_result(int err)
{
    errno = -err;
    return err && err != -EBADMSG ? MNL_CB_ERROR : MNL_CB_OK;
}

/* --- nf_tables -------------------------------------------------------------------------------------- */

static int add_message(const struct nlmsghdr *message, void *user)
{
    return callback_result(netrules_add_message(user, message, message->nlmsg_len));
}

static int read_generation(const struct nlmsghdr *message, void *user)
{
    struct nftnl_gen *generation = nftnl_gen_alloc();

    if (!generation)
        return callback_result(-ENOMEM);
    if (nftnl_gen_nlmsg_parse(message, generation) == 0)
        *(uint32_t *)user = nftnl_gen_get_u32(generation, NFTNL_GEN_ID);
    nftnl_gen_free(generation);
    return MNL_CB_OK;
}

static struct nlmsghdr *request_nft(struct session *session, uint16_t type, uint16_t flags, uint32_t family)
{
    return request(session, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, (uint8_t)family,
                   sizeof(struct nfgenmsg));
}

static int query_generation(struct session *session, uint32_t *out)
{
    return query(session, request_nft(session, NFT_MSG_GETGEN, 0, NFPROTO_UNSPEC), read_generation, out);
}

static int dump(struct session *session, struct netrules *ruleset, uint16_t type)
{
    return query(session, request_nft(session, type, NLM_F_DUMP, NFPROTO_UNSPEC), add_message, ruleset);
}

/* Reads the elements of the sets that are needed to read rules. */
static int dump_elements(struct session *session, struct netrules *ruleset)
{
    int err = 0;

    for (const struct netrules_table *table = ruleset->tables; table && !err; table = table->next)
        for (const struct netrules_set *set = table->sets; set && !err; set = set->next) {
            struct nlmsghdr *message;

            if (!set->anonymous && !set->verdict_map)
                continue;
            message = request_nft(session, NFT_MSG_GETSETELEM, NLM_F_DUMP, table->family);
            mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_TABLE, table->name);
            mnl_attr_put_strz(message, NFTA_SET_ELEM_LIST_SET, set->name);
            err = query(session, message, add_message, ruleset);
            err = err == -ENOENT ? -EINTR : err; /* deleted in the meantime */
        }
    return err;
}

/* Reads tables, chains and rules, and with `everything` also what those of the other tables need. */
static int read_nft(struct session *session, struct netrules *ruleset, bool everything)
{
    static const uint16_t types[] = { NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN,   NFT_MSG_GETFLOWTABLE,
                                      NFT_MSG_GETSET,   NFT_MSG_GETSETELEM, NFT_MSG_GETRULE };
    uint32_t after = 0;
    int err = query_generation(session, &ruleset->generation);

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !err; i++) {
        bool needed = types[i] == NFT_MSG_GETTABLE || types[i] == NFT_MSG_GETCHAIN || types[i] == NFT_MSG_GETRULE;

        if (!needed && !everything)
            continue;
        err = types[i] == NFT_MSG_GETSETELEM ? dump_elements(session, ruleset) : dump(session, ruleset, types[i]);
        if (types[i] == NFT_MSG_GETFLOWTABLE && (err == -EOPNOTSUPP || err == -EINVAL))
            err = 0; /* a kernel without them */
    }
    if (!err)
        err = query_generation(session, &after);
    return !err && after != ruleset->generation ? -EINTR : err;
}

/* Reads one chain with its table and rules. A missing object adds nothing. */
static int read_place(struct session *session, struct netrules *ruleset, const struct netrules_place *place)
{
    static const struct {
        uint16_t type, flags, table, chain;
    } requests[] = { { NFT_MSG_GETTABLE, 0, NFTA_TABLE_NAME, 0 },
                     { NFT_MSG_GETCHAIN, 0, NFTA_CHAIN_TABLE, NFTA_CHAIN_NAME },
                     { NFT_MSG_GETRULE, NLM_F_DUMP, NFTA_RULE_TABLE, NFTA_RULE_CHAIN } };
    uint32_t after = 0;
    int err = query_generation(session, &ruleset->generation);

    for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]) && !err; i++) {
        struct nlmsghdr *message = request_nft(session, requests[i].type, requests[i].flags, place->family);

        mnl_attr_put_strz(message, requests[i].table, place->table);
        if (requests[i].chain)
            mnl_attr_put_strz(message, requests[i].chain, place->chain);
        err = query(session, message, add_message, ruleset);
        err = err == -ENOENT ? 0 : err;
    }
    if (!err)
        err = query_generation(session, &after);
    return !err && after != ruleset->generation ? -EINTR : err;
}

int netrules_read_rules(struct netrules **out, const struct netrules_place *place)
{
    struct netrules *ruleset = netrules_new();
    struct session session;
    int err = ruleset ? session_open(&session, NETLINK_NETFILTER) : -ENOMEM;

    if (!err) {
        err = place ? read_place(&session, ruleset, place) : read_nft(&session, ruleset, false);
        session_close(&session);
    }
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

    if (!err) {
        err = query_generation(&session, out);
        session_close(&session);
    }
    return err;
}

/* --- Legacy tables ---------------------------------------------------------------------------------- */

/* Returns -EAGAIN when the size changed between the two requests. */
static int read_legacy_table(struct netrules *ruleset, int socket, bool ipv6, const char *name)
{
    int level = ipv6 ? SOL_IPV6 : SOL_IP;
    size_t head = offsetof(struct ipt_get_entries, entrytable);
    struct ipt_getinfo info = { .valid_hooks = 0 };
    struct ipt_get_entries *entries;
    socklen_t length = sizeof(info);
    int err;

    snprintf(info.name, sizeof(info.name), "%.*s", (int)sizeof(info.name) - 1, name);
    if (getsockopt(socket, level, ipv6 ? IP6T_SO_GET_INFO : IPT_SO_GET_INFO, &info, &length))
        return errno == ENOENT || errno == ENOPROTOOPT ? 0 : -errno;
    if (info.size > NETRULES_MEMORY)
        return -E2BIG;
    length = (socklen_t)(head + info.size);
    entries = calloc(1, length);
    if (!entries)
        return -ENOMEM;
    memcpy(entries->name, info.name, sizeof(entries->name));
    entries->size = info.size;
    if (getsockopt(socket, level, ipv6 ? IP6T_SO_GET_ENTRIES : IPT_SO_GET_ENTRIES, entries, &length))
        err = -errno;
    else
        err = netrules_add_legacy(ruleset, ipv6, &info, sizeof(info), (const uint8_t *)entries + head, info.size);
    free(entries);
    return err;
}

static int read_legacy(struct netrules *ruleset, bool ipv6)
{
    FILE *file = fopen(ipv6 ? "/proc/net/ip6_tables_names" : "/proc/net/ip_tables_names", "re");
    int one = socket(ipv6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
    char name[64];

    while (file && one >= 0 && !err && fgets(name, sizeof(name), file)) {
        name[strcspn(name, "\n")] = '\0';
        err = -EAGAIN;
        for (int i = 0; i < TRIES && err == -EAGAIN; i++)
            err = read_legacy_table(ruleset, one, ipv6, name);
    }
    if (file)
        fclose(file);
    if (one >= 0)
        close(one);
    return err;
}

/* --- Policy routing and links ----------------------------------------------------------------------- */

/* Reads an attribute of 32 bits in host order; false when the message lacks it. */
static bool read_u32(const struct nlattr *attribute, uint16_t type, uint32_t *out)
{
    if (mnl_attr_get_type(attribute) != type || mnl_attr_validate(attribute, MNL_TYPE_U32) < 0)
        return false;
    *out = mnl_attr_get_u32(attribute);
    return true;
}

int netrules_add_route(struct netrules *ruleset, const void *bytes, size_t length)
{
    const struct nlmsghdr *message = bytes;
    const struct fib_rule_hdr *head;
    const struct nlattr *attribute;
    struct netrules_route *route, **link;
    bool marked = false;

    if (length > INT32_MAX || !mnl_nlmsg_ok(message, (int)length) || mnl_nlmsg_get_payload_len(message) < sizeof(*head))
        return -EBADMSG;
    route = arena_alloc(ruleset->arena, sizeof(*route));
    if (!route)
        return -ENOMEM;
    head = mnl_nlmsg_get_payload(message);
    *route = (struct netrules_route){ .ipv6 = head->family == AF_INET6, .mask = ALL_BITS, .table = head->table };
    mnl_attr_for_each(attribute, message, sizeof(*head))
    {
        marked |= read_u32(attribute, FRA_FWMARK, &route->mark);
        read_u32(attribute, FRA_FWMASK, &route->mask);
        read_u32(attribute, FRA_PRIORITY, &route->priority);
        read_u32(attribute, FRA_TABLE, &route->table);
    }
    if (!marked)
        return 0;
    route->text = arena_printf(ruleset->arena, "ip%s rule %u: %sfwmark 0x%x/0x%x lookup %u", route->ipv6 ? " -6" : "",
                               route->priority, head->flags & FIB_RULE_INVERT ? "not " : "", route->mark, route->mask,
                               route->table);
    for (link = &ruleset->routes; *link;)
        link = &(*link)->next;
    *link = route;
    return route->text ? netrules_check_size(ruleset) : -ENOMEM;
}

static void raise_to(uint32_t *largest, const struct nlattr *attribute, uint16_t type)
{
    uint32_t size;

    if (read_u32(attribute, type, &size) && size > *largest)
        *largest = size;
}

int netrules_add_link(struct netrules *ruleset, const void *bytes, size_t length)
{
    const struct nlmsghdr *message = bytes;
    const struct ifinfomsg *head;
    const struct nlattr *attribute;
    struct netrules_link *link, **last = &ruleset->links;

    if (length > INT32_MAX || !mnl_nlmsg_ok(message, (int)length) || mnl_nlmsg_get_payload_len(message) < sizeof(*head))
        return -EBADMSG;
    head = mnl_nlmsg_get_payload(message);
    if (head->ifi_flags & IFF_LOOPBACK || !(head->ifi_flags & IFF_UP))
        return 0;
    link = arena_alloc(ruleset->arena, sizeof(*link));
    if (!link)
        return -ENOMEM;
    mnl_attr_for_each(attribute, message, sizeof(*head))
    {
        if (mnl_attr_get_type(attribute) == IFLA_IFNAME && mnl_attr_get_payload_len(attribute) > 0)
            link->name = arena_printf(ruleset->arena, "%.*s", (int)mnl_attr_get_payload_len(attribute),
                                      (const char *)mnl_attr_get_payload(attribute));
        raise_to(&link->receive_size, attribute, IFLA_GRO_MAX_SIZE);
        raise_to(&link->receive_size, attribute, GRO_IPV4_MAX_SIZE);
        raise_to(&link->send_size, attribute, IFLA_GSO_MAX_SIZE);
        raise_to(&link->send_size, attribute, GSO_IPV4_MAX_SIZE);
    }
    if (!link->name)
        return 0;
    while (*last)
        last = &(*last)->next;
    *last = link;
    return netrules_check_size(ruleset);
}

static int add_route_or_link(const struct nlmsghdr *message, void *user)
{
    return callback_result(message->nlmsg_type == RTM_NEWLINK ? netrules_add_link(user, message, message->nlmsg_len)
                                                              : netrules_add_route(user, message, message->nlmsg_len));
}

/* --- Connections ------------------------------------------------------------------------------------ */

struct counting {
    uint32_t mark, mask;
    uint64_t count;
};

/* The kernel sends only matching connections; a kernel without the filter sends all. */
static int count_connection(const struct nlmsghdr *message, void *user)
{
    struct counting *counting = user;
    const struct nlattr *attribute;
    uint32_t mark = 0;

    mnl_attr_for_each(attribute, message, sizeof(struct nfgenmsg)) read_u32(attribute, CTA_MARK, &mark);
    counting->count += (ntohl(mark) & counting->mask) == counting->mark;
    return MNL_CB_OK;
}

int netrules_count_connections(uint32_t mark, uint32_t mask, uint64_t *out)
{
    struct counting counting = { .mark = mark & mask, .mask = mask };
    struct nlmsghdr *message;
    struct session session;
    int err = 0;

    if (access("/proc/sys/net/netfilter/nf_conntrack_count", F_OK) == 0) {
        err = session_open(&session, NETLINK_NETFILTER);
        if (err)
            return err;
        message = request(&session, NFNL_SUBSYS_CTNETLINK << 8 | IPCTNL_MSG_CT_GET, NLM_F_DUMP, AF_UNSPEC,
                          sizeof(struct nfgenmsg));
        mnl_attr_put_u32(message, CTA_MARK, htonl(counting.mark));
        mnl_attr_put_u32(message, CTA_MARK_MASK, htonl(mask));
        err = query(&session, message, count_connection, &counting);
        session_close(&session);
    }
    if (err && err != -EOPNOTSUPP && err != -EINVAL && err != -EINTR) /* no marks; or a listing that changed */
        return err;
    *out = counting.count;
    return 0;
}

/* --- Reading everything ----------------------------------------------------------------------------- */

static int read_all(struct netrules *ruleset)
{
    struct session session;
    int err = session_open(&session, NETLINK_NETFILTER);

    if (!err) {
        err = read_nft(&session, ruleset, true);
        session_close(&session);
    }
    if (err == -EINVAL || err == -EOPNOTSUPP || err == -EPROTONOSUPPORT) /* a kernel without nf_tables */
        err = ruleset->tables ? err : 0;
    if (!err)
        err = read_legacy(ruleset, false);
    if (!err)
        err = read_legacy(ruleset, true);
    if (!err)
        err = session_open(&session, NETLINK_ROUTE);
    if (err)
        return err;
    for (int i = 0; i < 2 && !err; i++) {
        err = query(&session,
                    request(&session, RTM_GETRULE, NLM_F_DUMP, i ? AF_INET6 : AF_INET, sizeof(struct fib_rule_hdr)),
                    add_route_or_link, ruleset);
        if (err == -EOPNOTSUPP || err == -EAFNOSUPPORT) /* a kernel without policy routing */
            err = 0;
    }
    if (!err)
        err = query(&session, request(&session, RTM_GETLINK, NLM_F_DUMP, AF_UNSPEC, sizeof(struct ifinfomsg)),
                    add_route_or_link, ruleset);
    session_close(&session);
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
