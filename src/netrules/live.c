/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the live ruleset. A dump of nf_tables is many messages, between which other processes may change the ruleset:
 * the kernel's generation is read before and after, and an interrupted dump is repeated. Tables of ip_tables are
 * requested only when /proc lists them, because a request would create the table.
 */
#include "netrules_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <libnftnl/gen.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "sluice/netlink_session.h"

enum { TRIES = 32, RETRY_NS = 20 * 1000 * 1000 };

/* --- nf_tables -------------------------------------------------------------------------------------- */

static int add_message(const struct nlmsghdr *message, void *user)
{
    return netlink_callback_result(netrules_add_message(user, message, message->nlmsg_len));
}

static int read_generation(const struct nlmsghdr *message, void *user)
{
    struct nftnl_gen *generation = nftnl_gen_alloc();

    if (!generation)
        return netlink_callback_result(-ENOMEM);
    if (nftnl_gen_nlmsg_parse(message, generation) == 0)
        *(uint32_t *)user = nftnl_gen_get_u32(generation, NFTNL_GEN_ID);
    nftnl_gen_free(generation);
    return MNL_CB_OK;
}

static struct nlmsghdr *request_nft(struct netlink_session *session, uint16_t type, uint16_t flags, uint32_t family)
{
    return netlink_session_request(session, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), flags, (uint8_t)family,
                                   sizeof(struct nfgenmsg));
}

static int query_generation(struct netlink_session *session, uint32_t *out)
{
    return netlink_session_query(session, request_nft(session, NFT_MSG_GETGEN, 0, NFPROTO_UNSPEC), read_generation,
                                 out);
}

static int dump(struct netlink_session *session, struct netrules *ruleset, uint16_t type)
{
    return netlink_session_query(session, request_nft(session, type, NLM_F_DUMP, NFPROTO_UNSPEC), add_message, ruleset);
}

/* Reads the elements of the sets that are needed to read rules. */
static int dump_elements(struct netlink_session *session, struct netrules *ruleset)
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
            err = netlink_session_query(session, message, add_message, ruleset);
            err = err == -ENOENT ? -EINTR : err; /* deleted in the meantime */
        }
    return err;
}

/* Reads tables, chains and rules, and with `everything` also what those of the other tables need. */
static int read_nft(struct netlink_session *session, struct netrules *ruleset, bool everything)
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
static int read_place(struct netlink_session *session, struct netrules *ruleset, const struct netrules_place *place)
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
        err = netlink_session_query(session, message, add_message, ruleset);
        err = err == -ENOENT ? 0 : err;
    }
    if (!err)
        err = query_generation(session, &after);
    return !err && after != ruleset->generation ? -EINTR : err;
}

int netrules_read_rules(struct netrules **out, const struct netrules_place *place)
{
    struct netrules *ruleset = netrules_new();
    struct netlink_session session;
    int err = ruleset ? netlink_session_open(&session, NETLINK_NETFILTER) : -ENOMEM;

    if (!err) {
        err = place ? read_place(&session, ruleset, place) : read_nft(&session, ruleset, false);
        netlink_session_close(&session);
    }
    if (err)
        netrules_free(ruleset);
    else
        *out = ruleset;
    return err;
}

int netrules_read_generation(uint32_t *out)
{
    struct netlink_session session;
    int err = netlink_session_open(&session, NETLINK_NETFILTER);

    if (!err) {
        err = query_generation(&session, out);
        netlink_session_close(&session);
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

/* --- Reading everything ----------------------------------------------------------------------------- */

static int read_all(struct netrules *ruleset)
{
    struct netlink_session session;
    int err = netlink_session_open(&session, NETLINK_NETFILTER);

    if (!err) {
        err = read_nft(&session, ruleset, true);
        netlink_session_close(&session);
    }
    if (err == -EINVAL || err == -EOPNOTSUPP || err == -EPROTONOSUPPORT) /* a kernel without nf_tables */
        err = ruleset->tables ? err : 0;
    if (!err)
        err = read_legacy(ruleset, false);
    if (!err)
        err = read_legacy(ruleset, true);
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
