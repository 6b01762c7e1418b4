/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Status of the installation, read back from the kernel. */
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

/* Properties of one rule, from its expressions. */
struct seen {
    bool queues, blocks, offloads_accept, offloads_drop;
    enum queue_expression expression;
    unsigned first, count;
    bool bypass;
    unsigned hash_offset, hash_modulus;
    uint64_t packets, bytes;
};

struct reading {
    const struct survey *survey;
    const char *table;
    struct firewall_status *status;
};

/* --- Rules ------------------------------------------------------------------------------------------ */

static void read_counter(struct seen *seen, const struct nftnl_expr *expression)
{
    seen->packets = nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_PACKETS);
    seen->bytes = nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_BYTES);
}

static void read_hash(struct seen *seen, const struct nftnl_expr *expression)
{
    seen->hash_modulus = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_MODULUS);
    seen->hash_offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_OFFSET);
}

static void read_queue(struct seen *seen, const struct nftnl_expr *expression)
{
    seen->queues = true;
    seen->expression = QUEUE_EXPRESSION_NATIVE;
    seen->bypass = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_FLAGS) & NFT_QUEUE_FLAG_BYPASS;
    if (nftnl_expr_is_set(expression, NFTNL_EXPR_QUEUE_SREG_QNUM)) {
        seen->first = seen->hash_offset;
        seen->count = seen->hash_modulus;
    } else {
        seen->first = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_NUM);
        seen->count = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_TOTAL);
    }
}

static void read_target(struct seen *seen, const struct nftnl_expr *expression)
{
    const char *name = nftnl_expr_get_str(expression, NFTNL_EXPR_TG_NAME);
    struct xt_NFQ_info_v3 info;
    uint32_t length = 0;
    const void *data = nftnl_expr_get(expression, NFTNL_EXPR_TG_INFO, &length);

    if (!name || strcmp(name, "NFQUEUE") != 0 || !data || length < sizeof(info))
        return;
    memcpy(&info, data, sizeof(info));
    seen->queues = true;
    seen->expression = QUEUE_EXPRESSION_XT;
    seen->first = info.queuenum;
    seen->count = info.queues_total;
    seen->bypass = info.flags & NFQ_FLAG_BYPASS;
}

/* The sets that Sluice's rules look up are those of blocked hosts. */
static void read_lookup(struct seen *seen, const struct nftnl_expr *expression)
{
    const char *set = nftnl_expr_get_str(expression, NFTNL_EXPR_LOOKUP_SET);

    seen->blocks = set && (strcmp(set, SET_BLOCKED4) == 0 || strcmp(set, SET_BLOCKED6) == 0);
}

static void read_object(struct seen *seen, const struct nftnl_expr *expression)
{
    const char *name = nftnl_expr_get_str(expression, NFTNL_EXPR_OBJREF_IMM_NAME);

    seen->offloads_accept = name && strcmp(name, COUNTER_ACCEPTED) == 0;
    seen->offloads_drop = name && strcmp(name, COUNTER_DROPPED) == 0;
}

static int read_expression(struct nftnl_expr *expression, void *user)
{
    static const struct {
        const char *name;
        void (*read)(struct seen *seen, const struct nftnl_expr *expression);
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

static bool is_in_our_table(const struct reading *reading, const struct nftnl_rule *rule)
{
    const char *name = nftnl_rule_get_str(rule, NFTNL_RULE_TABLE);
    const struct survey_table *table =
        name ? nft_survey_find(reading->survey, nftnl_rule_get_u32(rule, NFTNL_RULE_FAMILY), name) : NULL;

    return table && table->ours && strcmp(name, reading->table) == 0;
}

static void take_seen(struct firewall_status *status, const struct seen *seen)
{
    if (seen->blocks) {
        status->blocklist = true;
        status->blocked_packets += seen->packets;
        status->blocked_bytes += seen->bytes;
    }
    status->offload_accept |= seen->offloads_accept;
    status->offload_drop |= seen->offloads_drop;
    if (!seen->queues || seen->offloads_accept) /* accepted flows may continue to the queue of another consumer */
        return;
    status->feeding = true;
    status->expression = seen->expression;
    status->bypass = seen->bypass;
    status->queue_first = (uint16_t)seen->first;
    status->queue_last = (uint16_t)(seen->first + (seen->count ? seen->count - 1 : 0));
    status->packets += seen->packets;
    status->bytes += seen->bytes;
}

static int read_rule(const struct nlmsghdr *message, void *user)
{
    const struct reading *reading = user;
    struct nftnl_rule *rule = nftnl_rule_alloc();
    struct seen seen = { .queues = false };

    if (!rule)
        return -ENOMEM;
    if (nftnl_rule_nlmsg_parse(message, rule) == 0 && is_in_our_table(reading, rule)) {
        nftnl_expr_foreach(rule, read_expression, &seen);
        take_seen(reading->status, &seen);
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

/* Returns -EEXIST when a table of that name exists that sluice did not create. */
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

static void read_hook(const struct survey_chain *chain, struct firewall_status *out)
{
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++) {
        if (strcmp(chain->name, firewall_hook_name(1u << i)) != 0)
            continue;
        out->hooks |= 1u << i;
        out->priorities[i] = chain->priority;
    }
}

static void read_chains(const struct survey *survey, const char *name, struct firewall_status *out)
{
    for (size_t i = 0; i < survey->chain_count; i++) {
        const struct survey_chain *chain = &survey->chains[i];
        const struct survey_table *table = nft_survey_find(survey, chain->family, chain->table);

        if (chain->base && table && table->ours && strcmp(table->name, name) == 0)
            read_hook(chain, out);
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
    struct reading reading = { &survey, table, &status };
    int err = nft_survey_take(&survey, session);

    if (err)
        return nft_explain(error, err, SUBJECT_BATCH, table);
    err = read_tables(&survey, table, &status, error);
    if (err)
        goto clear_survey;
    read_chains(&survey, table, &status);
    if (status.installed)
        err = nft_session_get(session, NFT_MSG_GETRULE, NFPROTO_UNSPEC, true, read_rule, &reading);
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
    for (int i = 0; i < 8; i++) { /* the rules may change while they are read */
        err = read_all(&session, table, out, error);
        if (err != -EINTR)
            break;
    }
    nft_session_close(&session);
    return err;
}
