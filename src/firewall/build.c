/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the plan as the netlink messages of a transaction. */
#include "firewall_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { USERDATA_SIZE = 256 };

/* --- Tables ----------------------------------------------------------------------------------------- */

static int set_comment(struct nftnl_table *table, const char *comment)
{
    struct nftnl_udata_buf *data = nftnl_udata_buf_alloc(USERDATA_SIZE);
    int err = -ENOMEM;

    if (data && nftnl_udata_put_strz(data, NFTNL_UDATA_TABLE_COMMENT, comment) &&
        nftnl_table_set_data(table, NFTNL_TABLE_USERDATA, nftnl_udata_buf_data(data), nftnl_udata_buf_len(data)) == 0)
        err = 0;
    if (data)
        nftnl_udata_buf_free(data);
    return err;
}

static int put_table(struct batch *batch, uint16_t type, uint32_t family, const char *name, const char *comment)
{
    struct nftnl_table *table = nftnl_table_alloc();
    struct nlmsghdr *message;
    int err = 0;

    if (!table)
        return -ENOMEM;
    nftnl_table_set_u32(table, NFTNL_TABLE_FAMILY, family);
    nftnl_table_set_str(table, NFTNL_TABLE_NAME, name);
    if (comment)
        err = set_comment(table, comment);
    if (!err) {
        message =
            nft_batch_open(batch, SUBJECT_TABLE, type, (uint16_t)family, type == NFT_MSG_NEWTABLE ? NLM_F_CREATE : 0);
        nftnl_table_nlmsg_build_payload(message, table);
        nft_batch_close(batch, message);
    }
    nftnl_table_free(table);
    return err;
}

int nft_build_delete_table(struct batch *batch, uint32_t family, const char *table)
{
    return put_table(batch, NFT_MSG_DELTABLE, family, table, NULL);
}

/* --- Chains ----------------------------------------------------------------------------------------- */

static int put_chain(struct batch *batch, uint32_t family, const char *table, const struct plan_chain *what)
{
    struct nftnl_chain *chain = nftnl_chain_alloc();
    struct nlmsghdr *message;

    if (!chain)
        return -ENOMEM;
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_FAMILY, family);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, table);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, what->name);
    if (what->base) {
        nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, "filter");
        nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, what->hook);
        nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, what->priority);
        nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_ACCEPT);
    }
    message = nft_batch_open(batch, SUBJECT_CHAIN, NFT_MSG_NEWCHAIN, (uint16_t)family, NLM_F_CREATE);
    nftnl_chain_nlmsg_build_payload(message, chain);
    nft_batch_close(batch, message);
    nftnl_chain_free(chain);
    return 0;
}

/* --- Rules ------------------------------------------------------------------------------------------ */

static struct nftnl_rule *rule_new(uint32_t family, const char *table, const char *chain)
{
    struct nftnl_rule *rule = nftnl_rule_alloc();

    if (!rule)
        return NULL;
    nftnl_rule_set_u32(rule, NFTNL_RULE_FAMILY, family);
    nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, table);
    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, chain);
    return rule;
}

static int put_rule(struct batch *batch, uint32_t family, const char *table, const char *chain, enum plan_rule kind,
                    const struct plan *plan)
{
    struct nftnl_rule *rule = rule_new(family, table, chain);
    int err = rule ? nft_rule_build(rule, kind, plan) : -ENOMEM;
    struct nlmsghdr *message;

    if (!err) {
        message = nft_batch_open(batch, kind == RULE_QUEUE ? SUBJECT_QUEUE : SUBJECT_RULE, NFT_MSG_NEWRULE,
                                 (uint16_t)family, NLM_F_CREATE | NLM_F_APPEND);
        nftnl_rule_nlmsg_build_payload(message, rule);
        nft_batch_close(batch, message);
    }
    if (rule)
        nftnl_rule_free(rule);
    return err;
}

int nft_build_rule(struct batch *batch, uint32_t family, const char *chain, enum plan_rule kind,
                   const struct plan *plan)
{
    return put_rule(batch, family, plan->options->table, chain, kind, plan);
}

int nft_build_flush_chain(struct batch *batch, uint32_t family, const char *table, const char *chain)
{
    struct nftnl_rule *rule = rule_new(family, table, chain); /* without a handle: deletes all rules of the chain */
    struct nlmsghdr *message;

    if (!rule)
        return -ENOMEM;
    message = nft_batch_open(batch, SUBJECT_RULE, NFT_MSG_DELRULE, (uint16_t)family, 0);
    nftnl_rule_nlmsg_build_payload(message, rule);
    nft_batch_close(batch, message);
    nftnl_rule_free(rule);
    return 0;
}

static int build_chain_rules(struct batch *batch, uint32_t family, const struct plan_chain *chain,
                             const struct plan *plan)
{
    int err = 0;

    for (unsigned i = 0; i < chain->rule_count && !err; i++)
        if (nft_rule_fits(chain->rules[i], family))
            err = nft_build_rule(batch, family, chain->name, chain->rules[i], plan);
    return err;
}

/* --- Whole tables ----------------------------------------------------------------------------------- */

static int build_table(struct batch *batch, unsigned family_index, const struct plan *plan)
{
    uint32_t family = plan->families[family_index];
    const char *name = plan->options->table;
    char comment[COMMENT_SIZE];
    int err;

    nft_comment(comment, plan->options->mode);
    err = put_table(batch, NFT_MSG_NEWTABLE, family, name, NULL);
    if (!err)
        err = nft_build_delete_table(batch, family, name);
    if (!err)
        err = put_table(batch, NFT_MSG_NEWTABLE, family, name, comment);
    if (!err)
        err = nft_build_sets(batch, family_index, plan);
    if (!err)
        err = nft_build_offload(batch, family_index, plan);
    for (unsigned i = 0; i < plan->chain_count && !err; i++) {
        err = put_chain(batch, family, name, &plan->chains[i]);
        if (!err)
            err = build_chain_rules(batch, family, &plan->chains[i], plan);
    }
    return err;
}

int nft_build_tables(struct batch *batch, const struct plan *plan)
{
    int err = 0;

    for (unsigned i = 0; i < plan->family_count && !err; i++)
        err = build_table(batch, i, plan);
    return err;
}

static int replace_chain_rules(struct batch *batch, uint32_t family, const struct plan_chain *chain,
                               const struct plan *plan)
{
    int err;

    if (chain->keep)
        return 0;
    err = nft_build_flush_chain(batch, family, plan->options->table, chain->name);
    return err ? err : build_chain_rules(batch, family, chain, plan);
}

int nft_build_rule_replacement(struct batch *batch, const struct plan *plan)
{
    int err = 0;

    for (unsigned f = 0; f < plan->family_count && !err; f++) {
        err = nft_build_sets(batch, f, plan);
        if (!err)
            err = nft_build_offload(batch, f, plan);
        for (unsigned i = 0; i < plan->chain_count && !err; i++)
            err = replace_chain_rules(batch, plan->families[f], &plan->chains[i], plan);
        if (!err)
            err = nft_build_set_removals(batch, f, plan);
    }
    return err;
}

int nft_build_probe(struct batch *batch, const struct plan *plan)
{
    static const struct plan_chain scratch = { .name = "probe" };
    char name[NAME_SIZE];
    int err = 0;

    snprintf(name, sizeof(name), "sluice_probe_%d", (int)getpid());
    for (unsigned i = 0; i < plan->family_count && !err; i++) {
        err = put_table(batch, NFT_MSG_NEWTABLE, plan->families[i], name, NULL);
        if (!err)
            err = put_chain(batch, plan->families[i], name, &scratch);
        if (!err)
            err = put_rule(batch, plan->families[i], name, scratch.name, RULE_QUEUE, plan);
    }
    return err;
}
