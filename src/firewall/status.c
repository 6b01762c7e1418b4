/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The status of the installation, as read from the kernel. */
#include "firewall_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <stdio.h>
#include <string.h>

/* Properties of one rule, read from its expressions. */
struct rule_properties {
    bool queues, blocks, offloads_accept, offloads_drop, acknowledges;
    enum queue_expression expression;
    unsigned first, count;
    bool bypass;
    unsigned hash_offset, hash_modulus;
    uint64_t packets, bytes;
};

struct status_reader {
    const struct survey *survey;
    const char *table;
    struct firewall_status *status;
};

/* --- Rules ------------------------------------------------------------------------------------------ */

static void read_counter(struct rule_properties *rule_properties, const struct nftnl_expr *expression)
{
    rule_properties->packets = nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_PACKETS);
    rule_properties->bytes = nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_BYTES);
}

static void read_hash(struct rule_properties *rule_properties, const struct nftnl_expr *expression)
{
    rule_properties->hash_modulus = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_MODULUS);
    rule_properties->hash_offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_OFFSET);
}

static void read_queue(struct rule_properties *rule_properties, const struct nftnl_expr *expression)
{
    rule_properties->queues = true;
    rule_properties->expression = QUEUE_EXPRESSION_NATIVE;
    rule_properties->bypass = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_FLAGS) & NFT_QUEUE_FLAG_BYPASS;
    if (nftnl_expr_is_set(expression, NFTNL_EXPR_QUEUE_SREG_QNUM)) {
        rule_properties->first = rule_properties->hash_offset;
        rule_properties->count = rule_properties->hash_modulus;
    } else {
        rule_properties->first = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_NUM);
        rule_properties->count = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_TOTAL);
    }
}

static void read_target(struct rule_properties *rule_properties, const struct nftnl_expr *expression)
{
    const char *name = nftnl_expr_get_str(expression, NFTNL_EXPR_TG_NAME);
    struct xt_NFQ_info_v3 info;
    uint32_t length = 0;
    const void *data = nftnl_expr_get(expression, NFTNL_EXPR_TG_INFO, &length);

    if (!name || strcmp(name, "NFQUEUE") != 0 || !data || length < sizeof(info))
        return;
    memcpy(&info, data, sizeof(info));
    rule_properties->queues = true;
    rule_properties->expression = QUEUE_EXPRESSION_XT;
    rule_properties->first = info.queuenum;
    rule_properties->count = info.queues_total;
    rule_properties->bypass = info.flags & NFQ_FLAG_BYPASS;
}

/* Sluice's rules look up only the sets of blocked hosts and networks, so a lookup of such a set shows that the rule
 * blocks. */
static void read_lookup(struct rule_properties *rule_properties, const struct nftnl_expr *expression)
{
    const char *set = nftnl_expr_get_str(expression, NFTNL_EXPR_LOOKUP_SET);

    rule_properties->blocks = set && nft_is_block_set(set, strlen(set));
}

static void read_object(struct rule_properties *rule_properties, const struct nftnl_expr *expression)
{
    const char *name = nftnl_expr_get_str(expression, NFTNL_EXPR_OBJREF_IMM_NAME);

    rule_properties->offloads_accept = name && strcmp(name, COUNTER_ACCEPTED) == 0;
    rule_properties->offloads_drop = name && strcmp(name, COUNTER_DROPPED) == 0;
    rule_properties->acknowledges = name && strcmp(name, COUNTER_ACKNOWLEDGMENTS) == 0;
}

static int read_expression(struct nftnl_expr *expression, void *user)
{
    static const struct {
        const char *name;
        void (*read)(struct rule_properties *rule_properties, const struct nftnl_expr *expression);
    } readers[] = {
        { "counter", read_counter }, { "hash", read_hash },     { "lookup", read_lookup },
        { "queue", read_queue },     { "target", read_target }, { "objref", read_object },
    };
    const char *name = nftnl_expr_get_str(expression, NFTNL_EXPR_NAME);

    for (size_t i = 0; name && i < sizeof(readers) / sizeof(readers[0]); i++)
        if (strcmp(readers[i].name, name) == 0)
            readers[i].read(user, expression);
    return 0;
}

static void add_properties(struct firewall_status *status, const struct rule_properties *rule_properties)
{
    if (rule_properties->blocks) {
        status->blocklist = true;
        status->blocked_packets += rule_properties->packets;
        status->blocked_bytes += rule_properties->bytes;
    }
    status->offload_accept |= rule_properties->offloads_accept;
    status->offload_drop |= rule_properties->offloads_drop;
    status->offload_acknowledge |= rule_properties->acknowledges;
    /* With offloads_accept and acknowledges the queue is not a queue of Sluice: the packets continue to the queue of
     * the next consumer. */
    if (!rule_properties->queues || rule_properties->offloads_accept || rule_properties->acknowledges)
        return;
    status->feeding = true;
    status->expression = rule_properties->expression;
    status->bypass = rule_properties->bypass;
    status->queue_first = (uint16_t)rule_properties->first;
    status->queue_last = (uint16_t)(rule_properties->first + (rule_properties->count ? rule_properties->count - 1 : 0));
    status->packets += rule_properties->packets;
    status->bytes += rule_properties->bytes;
}

static int read_rule(const struct nlmsghdr *message, void *user)
{
    const struct status_reader *status_reader = user;
    struct nftnl_rule *rule = nftnl_rule_alloc();
    struct rule_properties rule_properties = { .queues = false };
    const struct survey_table *table = NULL;

    if (!rule)
        return -ENOMEM;
    if (nftnl_rule_nlmsg_parse(message, rule) == 0) {
        const char *name = nftnl_rule_get_str(rule, NFTNL_RULE_TABLE);

        if (name && strcmp(name, status_reader->table) == 0)
            table = nft_survey_find(status_reader->survey, nftnl_rule_get_u32(rule, NFTNL_RULE_FAMILY), name);
    }
    if (table && table->ours) {
        nftnl_expr_foreach(rule, read_expression, &rule_properties);
        add_properties(status_reader->status, &rule_properties);
    }
    nftnl_rule_free(rule);
    return 0;
}

/* --- Tables and chains ------------------------------------------------------------------------------ */

static enum firewall_family family_of(uint32_t family)
{
    switch (family) {
    case NFPROTO_IPV4:
        return FIREWALL_IPV4;
    case NFPROTO_IPV6:
        return FIREWALL_IPV6;
    case NFPROTO_BRIDGE:
        return FIREWALL_BRIDGE;
    default:
        return FIREWALL_INET;
    }
}

/* Finds the sluice tables of this name. Returns 0, or -EEXIST with a line in `error` if there are tables of this name,
 * but Sluice created none of them. */
static int read_tables(const struct survey *survey, const char *name, struct firewall_status *out,
                       char error[FIREWALL_ERROR_SIZE])
{
    const struct survey_table *foreign = NULL;

    for (size_t i = 0; i < survey->table_count; i++) {
        const struct survey_table *table = &survey->tables[i];

        if (strcmp(table->name, name) != 0)
            continue;
        if (!table->ours) {
            foreign = table;
            continue;
        }
        out->family = out->installed ? FIREWALL_INET : family_of(table->family);
        out->mode = table->mode;
        out->installed = true;
    }
    if (foreign && !out->installed)
        return nft_fail(error, -EEXIST, "table '%s %s' exists and was not created by sluice",
                        nft_family_name(foreign->family), name);
    return 0;
}

static void read_chains(const struct survey *survey, const char *name, struct firewall_status *out)
{
    for (size_t i = 0; i < survey->chain_count; i++) {
        const struct survey_chain *chain = &survey->chains[i];
        const struct survey_table *table = nft_survey_find(survey, chain->family, chain->table);

        if (!chain->base || !table || !table->ours || strcmp(table->name, name) != 0)
            continue;
        for (unsigned k = 0; k < FIREWALL_HOOK_COUNT; k++) {
            if (strcmp(chain->name, firewall_hook_name(1u << k)) != 0)
                continue;
            out->hooks |= 1u << k;
            out->priorities[k] = chain->priority;
        }
    }
    for (unsigned i = FIREWALL_HOOK_COUNT; i-- > 0;)
        if (out->hooks & 1u << i)
            out->priority = out->priorities[i];
}

static int read_all(struct session *session, const char *table, struct firewall_status *out,
                    char error[FIREWALL_ERROR_SIZE])
{
    struct firewall_status status = { .installed = false };
    struct survey survey;
    struct status_reader status_reader = { &survey, table, &status };
    int err = nft_survey_read(&survey, session);

    if (err)
        return nft_explain(error, err, SUBJECT_BATCH, table);
    err = read_tables(&survey, table, &status, error);
    if (err)
        goto clear_survey;
    read_chains(&survey, table, &status);
    if (status.installed)
        err = nft_session_get(session, NFT_MSG_GETRULE, NFPROTO_UNSPEC, true, read_rule, &status_reader);
    if (err)
        nft_explain(error, err, SUBJECT_BATCH, table);
    else
        *out = status;
clear_survey:
    nft_survey_clear(&survey);
    return err;
}

int firewall_status(const char *table, struct firewall_status *out, char error[FIREWALL_ERROR_SIZE])
{
    struct session session;
    int err = nft_session_open(&session, error);

    if (err)
        return err;
    for (int i = 0; i < 8; i++) { /* EINTR: the rules have changed while they were read */
        err = read_all(&session, table, out, error);
        if (err != -EINTR)
            break;
    }
    nft_session_close(&session);
    return err;
}
