/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the live ruleset. A dump consists of many messages, between which other processes may change the ruleset.
 * Therefore the kernel's generation counter is read before and after; if it has changed, the result is -EINTR.
 */
#include "nftables_priv.h"

#include <errno.h>
#include <libnftnl/gen.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>

#include "sluice/netlink_session.h"

static int add_message(const struct nlmsghdr *message, void *user)
{
    return netlink_callback_result(nftables_add_message(user, message, message->nlmsg_len));
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

/* Reads the elements of anonymous sets and verdict maps, which are needed to interpret rules. Returns 0 or -errno. */
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
            err = err == -ENOENT ? -EINTR : err; /* the set was deleted in the meantime: the ruleset has changed */
        }
    return err;
}

/* Reads tables, chains and rules, and with `everything` also flowtables and sets. Returns 0, -EINTR if the ruleset
 * changed meanwhile, or another -errno. */
static int read_all(struct netlink_session *session, struct netrules *ruleset, bool everything)
{
    static const uint16_t types[] = { NFT_MSG_GETTABLE, NFT_MSG_GETCHAIN,   NFT_MSG_GETFLOWTABLE,
                                      NFT_MSG_GETSET,   NFT_MSG_GETSETELEM, NFT_MSG_GETRULE };
    uint32_t after = 0;
    int err = query_generation(session, &ruleset->generation);

    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]) && !err; i++) {
        bool needed = types[i] == NFT_MSG_GETTABLE || types[i] == NFT_MSG_GETCHAIN || types[i] == NFT_MSG_GETRULE;

        if (!needed && !everything)
            continue;
        if (types[i] == NFT_MSG_GETSETELEM)
            err = dump_elements(session, ruleset);
        else
            err = netlink_session_query(session, request_nft(session, types[i], NLM_F_DUMP, NFPROTO_UNSPEC),
                                        add_message, ruleset);
        if (types[i] == NFT_MSG_GETFLOWTABLE && (err == -EOPNOTSUPP || err == -EINVAL))
            err = 0; /* the kernel does not support flowtables */
    }
    if (!err)
        err = query_generation(session, &after);
    return !err && after != ruleset->generation ? -EINTR : err;
}

/* Reads one chain with its table and rules. Objects that do not exist are not added. Returns like read_all(). */
static int read_place(struct netlink_session *session, struct netrules *ruleset, const struct nftables_place *place)
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

int nftables_read_rules(struct netrules **out, const struct nftables_place *place)
{
    struct netrules *ruleset = netrules_new();
    struct netlink_session session;
    int err = ruleset ? netlink_session_open(&session, NETLINK_NETFILTER) : -ENOMEM;

    if (!err) {
        err = place ? read_place(&session, ruleset, place) : read_all(&session, ruleset, false);
        netlink_session_close(&session);
    }
    if (err)
        netrules_free(ruleset);
    else
        *out = ruleset;
    return err;
}

int nftables_read_generation(uint32_t *out)
{
    struct netlink_session session;
    int err = netlink_session_open(&session, NETLINK_NETFILTER);

    if (!err) {
        err = query_generation(&session, out);
        netlink_session_close(&session);
    }
    return err;
}

int nftables_read(struct netrules *ruleset)
{
    struct netlink_session session;
    int err = netlink_session_open(&session, NETLINK_NETFILTER);

    if (!err) {
        err = read_all(&session, ruleset, true);
        netlink_session_close(&session);
    }
    /* the kernel lacks nf_tables: the ruleset is empty */
    if (err == -EINVAL || err == -EOPNOTSUPP || err == -EPROTONOSUPPORT)
        err = ruleset->tables ? err : 0;
    return err;
}
