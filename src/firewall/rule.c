/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules, each in three forms side by side: netlink, nft text, iptables text. A change to one form needs the same
 * change to the others.
 */
#include "firewall_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h> /* expr.h needs FILE */

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPBACK_INDEX = 1, XT_REVISION = 3, XT_SIZE = 8 /* XT_ALIGN(sizeof(struct xt_NFQ_info_v3)) */ };

_Static_assert(sizeof(struct xt_NFQ_info_v3) <= XT_SIZE, "the target's data");

/* Adds an expression; returns NULL when out of memory. */
static struct nftnl_expr *add(struct nftnl_rule *rule, const char *name)
{
    struct nftnl_expr *expression = nftnl_expr_alloc(name);

    if (expression)
        nftnl_rule_add_expr(rule, expression);
    return expression;
}

static bool add_meta(struct nftnl_rule *rule, uint32_t key)
{
    struct nftnl_expr *meta = add(rule, "meta");

    if (!meta)
        return false;
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, key);
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_DREG, NFT_REG_1);
    return true;
}

static bool add_compare(struct nftnl_rule *rule, uint32_t op, uint32_t value)
{
    struct nftnl_expr *compare = add(rule, "cmp");

    if (!compare)
        return false;
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_OP, op);
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_DATA, value);
    return true;
}

/* (mark & mask) ^ toggle */
static bool add_change(struct nftnl_rule *rule, uint32_t mask, uint32_t toggle)
{
    struct nftnl_expr *bitwise = add(rule, "bitwise");

    if (!bitwise)
        return false;
    nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
    nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
    nftnl_expr_set_u32(bitwise, NFTNL_EXPR_BITWISE_LEN, sizeof(mask));
    nftnl_expr_set(bitwise, NFTNL_EXPR_BITWISE_MASK, &mask, sizeof(mask));
    nftnl_expr_set(bitwise, NFTNL_EXPR_BITWISE_XOR, &toggle, sizeof(toggle));
    return true;
}

static bool add_mask(struct nftnl_rule *rule, uint32_t mask)
{
    return add_change(rule, mask, 0);
}

static bool add_mark_match(struct nftnl_rule *rule, uint32_t op, uint32_t mark, uint32_t mask)
{
    return add_meta(rule, NFT_META_MARK) && add_mask(rule, mask) && add_compare(rule, op, mark);
}

static bool add_verdict(struct nftnl_rule *rule, int verdict, const char *chain)
{
    struct nftnl_expr *immediate = add(rule, "immediate");

    if (!immediate)
        return false;
    nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
    nftnl_expr_set_u32(immediate, NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict);
    if (chain)
        nftnl_expr_set_str(immediate, NFTNL_EXPR_IMM_CHAIN, chain);
    return true;
}

static unsigned queue_count(const struct firewall_options *options)
{
    return options->queue_last - options->queue_first + 1u;
}

/* --- Queue ------------------------------------------------------------------------------------------ */

/* Adds the symmetric hash of addresses and ports: both directions of a flow get the same queue, different flows between
 * two hosts may not. */
static bool add_hash(struct nftnl_rule *rule, const struct firewall_options *options)
{
    struct nftnl_expr *hash = add(rule, "hash");

    if (!hash)
        return false;
    nftnl_expr_set_u32(hash, NFTNL_EXPR_HASH_TYPE, NFT_HASH_SYM);
    nftnl_expr_set_u32(hash, NFTNL_EXPR_HASH_DREG, NFT_REG_1);
    nftnl_expr_set_u32(hash, NFTNL_EXPR_HASH_MODULUS, queue_count(options));
    nftnl_expr_set_u32(hash, NFTNL_EXPR_HASH_OFFSET, options->queue_first);
    return true;
}

static bool add_native_queue(struct nftnl_rule *rule, const struct firewall_options *options)
{
    bool spread = queue_count(options) > 1;

    if (spread && !add_hash(rule, options))
        return false;

    struct nftnl_expr *queue = add(rule, "queue");

    if (!queue)
        return false;
    if (spread) {
        nftnl_expr_set_u32(queue, NFTNL_EXPR_QUEUE_SREG_QNUM, NFT_REG_1);
    } else {
        nftnl_expr_set_u16(queue, NFTNL_EXPR_QUEUE_NUM, options->queue_first);
        nftnl_expr_set_u16(queue, NFTNL_EXPR_QUEUE_TOTAL, 1);
    }
    if (options->bypass)
        nftnl_expr_set_u16(queue, NFTNL_EXPR_QUEUE_FLAGS, NFT_QUEUE_FLAG_BYPASS);
    return true;
}

static bool add_xt_queue(struct nftnl_rule *rule, const struct firewall_options *options)
{
    struct nftnl_expr *target = add(rule, "target");
    struct xt_NFQ_info_v3 *info = target ? calloc(1, XT_SIZE) : NULL;

    if (!info)
        return false;
    info->queuenum = options->queue_first;
    info->queues_total = (uint16_t)queue_count(options);
    info->flags = options->bypass ? NFQ_FLAG_BYPASS : 0;
    nftnl_expr_set_str(target, NFTNL_EXPR_TG_NAME, "NFQUEUE");
    nftnl_expr_set_u32(target, NFTNL_EXPR_TG_REV, XT_REVISION);
    nftnl_expr_set(target, NFTNL_EXPR_TG_INFO, info, XT_SIZE);
    return true; /* NOLINT(clang-analyzer-unix.Malloc): the expression owns `info` */
}

static bool build_queue(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;

    if (options->mode == ATTACH_REPEAT && !add_mark_match(rule, NFT_CMP_NEQ, options->mark, options->mark_mask))
        return false;
    if (!add(rule, "counter"))
        return false;
    return plan->expression == QUEUE_EXPRESSION_XT ? add_xt_queue(rule, options) : add_native_queue(rule, options);
}

static void print_queue(struct text *out, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;
    const char *flags = options->bypass ? "flags bypass " : "";

    if (options->mode == ATTACH_REPEAT)
        text_printf(out, "meta mark & 0x%08x != 0x%08x ", options->mark_mask, options->mark);
    if (queue_count(options) == 1) {
        text_printf(out, "counter queue %sto %u", flags, (unsigned)options->queue_first);
        return;
    }
    text_printf(out, "counter queue %sto symhash mod %u", flags, queue_count(options));
    if (options->queue_first > 0)
        text_printf(out, " offset %u", (unsigned)options->queue_first);
}

static void print_queue_iptables(struct text *out, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;

    if (options->mode == ATTACH_REPEAT)
        text_printf(out, "-m mark ! --mark 0x%x/0x%x ", options->mark, options->mark_mask);
    if (queue_count(options) == 1)
        text_printf(out, "-j NFQUEUE --queue-num %u", (unsigned)options->queue_first);
    else
        text_printf(out, "-j NFQUEUE --queue-balance %u:%u", (unsigned)options->queue_first,
                    (unsigned)options->queue_last);
    if (options->bypass && options->mode != ATTACH_REPEAT) /* a shared chain: see nft_plan_print_iptables() */
        text_puts(out, " --queue-bypass");
}

/* --- Other rules ------------------------------------------------------------------------------------ */

static bool build_reject_mark(struct nftnl_rule *rule, const struct plan *plan)
{
    return add_mark_match(rule, NFT_CMP_EQ, plan->options->reject_mark, plan->options->reject_mask) &&
           add_verdict(rule, NF_ACCEPT, NULL);
}

static void print_reject_mark(struct text *out, const struct plan *plan)
{
    text_printf(out, "meta mark & 0x%08x == 0x%08x accept", plan->options->reject_mask, plan->options->reject_mark);
}

/* In mode chain the chain replaces an accept; otherwise the rules of the calling chain continue. */
static void print_reject_mark_iptables(struct text *out, const struct plan *plan)
{
    text_printf(out, "-m mark --mark 0x%x/0x%x -j %s", plan->options->reject_mark, plan->options->reject_mask,
                plan->options->mode == ATTACH_CHAIN ? "ACCEPT" : "RETURN");
}

static bool build_loopback_in(struct nftnl_rule *rule, const struct plan *plan)
{
    (void)plan;
    return add_meta(rule, NFT_META_IIF) && add_compare(rule, NFT_CMP_EQ, LOOPBACK_INDEX) &&
           add_verdict(rule, NF_ACCEPT, NULL);
}

static void print_loopback_in(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "iif \"lo\" accept");
}

static void print_loopback_in_iptables(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "-i lo -j RETURN");
}

static bool build_loopback_out(struct nftnl_rule *rule, const struct plan *plan)
{
    (void)plan;
    return add_meta(rule, NFT_META_OIF) && add_compare(rule, NFT_CMP_EQ, LOOPBACK_INDEX) &&
           add_verdict(rule, NF_ACCEPT, NULL);
}

static void print_loopback_out(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "oif \"lo\" accept");
}

static void print_loopback_out_iptables(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "-o lo -j RETURN");
}

static bool build_exceptions(struct nftnl_rule *rule, const struct plan *plan)
{
    (void)plan;
    return add_verdict(rule, NFT_JUMP, CHAIN_EXCEPTIONS);
}

static void print_exceptions(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "jump " CHAIN_EXCEPTIONS);
}

static void print_exceptions_iptables(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "-j " CHAIN_EXCEPTIONS);
}

static bool build_accept(struct nftnl_rule *rule, const struct plan *plan)
{
    (void)plan;
    return add_verdict(rule, NF_ACCEPT, NULL);
}

static void print_accept(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "accept");
}

static void print_accept_iptables(struct text *out, const struct plan *plan)
{
    (void)plan;
    text_puts(out, "-j ACCEPT");
}

/* Clears the bits of the packet mark. */
static bool add_unmark(struct nftnl_rule *rule, uint32_t mask)
{
    struct nftnl_expr *meta;

    if (!add_meta(rule, NFT_META_MARK) || !add_mask(rule, ~mask) || !(meta = add(rule, "meta")))
        return false;
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_KEY, NFT_META_MARK);
    nftnl_expr_set_u32(meta, NFTNL_EXPR_META_SREG, NFT_REG_1);
    return true;
}

static bool build_unmark(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;

    return add_mark_match(rule, NFT_CMP_EQ, options->mark, options->mark_mask) && add_unmark(rule, options->mark_mask);
}

static void print_unmark(struct text *out, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;

    text_printf(out, "meta mark & 0x%08x == 0x%08x meta mark set meta mark & 0x%08x", options->mark_mask, options->mark,
                ~options->mark_mask);
}

static void print_unmark_iptables(struct text *out, const struct plan *plan)
{
    const struct firewall_options *options = plan->options;

    text_printf(out, "-m mark --mark 0x%x/0x%x -j MARK --set-xmark 0x0/0x%x", options->mark, options->mark_mask,
                options->mark_mask);
}

/* --- Offloaded flows -------------------------------------------------------------------------------- */

static bool add_connection_mark(struct nftnl_rule *rule)
{
    struct nftnl_expr *ct = add(rule, "ct");

    if (!ct)
        return false;
    nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_MARK);
    nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_DREG, NFT_REG_1);
    return true;
}

static bool add_connection_match(struct nftnl_rule *rule, uint32_t mark, uint32_t mask)
{
    return add_connection_mark(rule) && add_mask(rule, mask) && add_compare(rule, NFT_CMP_EQ, mark);
}

static bool add_counter(struct nftnl_rule *rule, const char *name)
{
    struct nftnl_expr *object = add(rule, "objref");

    if (!object)
        return false;
    nftnl_expr_set_u32(object, NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER);
    nftnl_expr_set_str(object, NFTNL_EXPR_OBJREF_IMM_NAME, name);
    return true;
}

static bool build_offload_drop(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    return add_connection_match(rule, offload->drop_mark, offload->drop_mask) && add_counter(rule, COUNTER_DROPPED) &&
           add_verdict(rule, NF_DROP, NULL);
}

static void print_offload_drop(struct text *out, const struct plan *plan)
{
    text_printf(out, "ct mark & 0x%08x == 0x%08x counter name \"" COUNTER_DROPPED "\" drop",
                plan->options->offload.drop_mask, plan->options->offload.drop_mark);
}

static void print_offload_drop_iptables(struct text *out, const struct plan *plan)
{
    text_printf(out, "-m connmark --mark 0x%x/0x%x -j DROP", plan->options->offload.drop_mark,
                plan->options->offload.drop_mask);
}

static bool build_offload_flow(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;
    struct nftnl_expr *flow;

    if (!add_connection_match(rule, offload->accept_mark, offload->accept_mask) || !(flow = add(rule, "flow_offload")))
        return false;
    nftnl_expr_set_str(flow, NFTNL_EXPR_FLOW_TABLE_NAME, FLOWTABLE);
    return true;
}

static void print_offload_flow(struct text *out, const struct plan *plan)
{
    text_printf(out, "ct mark & 0x%08x == 0x%08x flow add @" FLOWTABLE, plan->options->offload.accept_mask,
                plan->options->offload.accept_mark);
}

/* In mode route the queue of the next consumer follows for these flows, as for all. */
static struct firewall_options next_queue(const struct plan *plan)
{
    struct firewall_options options = *plan->options;

    options.queue_first = options.queue_last = options.offload.next_queue;
    options.bypass = options.offload.next_bypass;
    return options;
}

static bool build_offload_accept(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;
    struct firewall_options next = next_queue(plan);

    if (!add_connection_match(rule, offload->accept_mark, offload->accept_mask) || !add_counter(rule, COUNTER_ACCEPTED))
        return false;
    if (!offload->has_next)
        return add_verdict(rule, NF_ACCEPT, NULL);
    return plan->expression == QUEUE_EXPRESSION_XT ? add_xt_queue(rule, &next) : add_native_queue(rule, &next);
}

static void print_offload_accept(struct text *out, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    text_printf(out, "ct mark & 0x%08x == 0x%08x counter name \"" COUNTER_ACCEPTED "\" ", offload->accept_mask,
                offload->accept_mark);
    if (offload->has_next)
        text_printf(out, "queue %sto %u", offload->next_bypass ? "flags bypass " : "", (unsigned)offload->next_queue);
    else
        text_puts(out, "accept");
}

static void print_offload_accept_iptables(struct text *out, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    text_printf(out, "-m connmark --mark 0x%x/0x%x -j ", offload->accept_mark, offload->accept_mask);
    if (offload->has_next)
        text_printf(out, "NFQUEUE --queue-num %u%s", (unsigned)offload->next_queue,
                    offload->next_bypass ? " --queue-bypass" : "");
    else
        text_puts(out, plan->options->mode == ATTACH_CHAIN ? "ACCEPT" : "RETURN");
}

/* Copies the bits of the packet mark to the connection mark; all other bits of the connection mark stay. */
static bool add_save(struct nftnl_rule *rule, uint32_t mark, uint32_t mask)
{
    struct nftnl_expr *ct;

    if (!add_mark_match(rule, NFT_CMP_EQ, mark, mask) || !add_connection_mark(rule) || !add_change(rule, ~mask, mark) ||
        !(ct = add(rule, "ct")))
        return false;
    nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_KEY, NFT_CT_MARK);
    nftnl_expr_set_u32(ct, NFTNL_EXPR_CT_SREG, NFT_REG_1);
    return true;
}

static void print_save(struct text *out, uint32_t mark, uint32_t mask)
{
    text_printf(out, "meta mark & 0x%08x == 0x%08x ct mark set ct mark & 0x%08x | 0x%08x", mask, mark, ~mask, mark);
}

static bool build_save_drop(struct nftnl_rule *rule, const struct plan *plan)
{
    return add_save(rule, plan->options->offload.drop_mark, plan->options->offload.drop_mask);
}

static void print_save_drop(struct text *out, const struct plan *plan)
{
    print_save(out, plan->options->offload.drop_mark, plan->options->offload.drop_mask);
}

static bool build_saved_drop(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    return add_mark_match(rule, NFT_CMP_EQ, offload->drop_mark, offload->drop_mask) && add_verdict(rule, NF_DROP, NULL);
}

static void print_saved_drop(struct text *out, const struct plan *plan)
{
    text_printf(out, "meta mark & 0x%08x == 0x%08x drop", plan->options->offload.drop_mask,
                plan->options->offload.drop_mark);
}

static bool build_save_accept(struct nftnl_rule *rule, const struct plan *plan)
{
    return add_save(rule, plan->options->offload.accept_mark, plan->options->offload.accept_mask);
}

static void print_save_accept(struct text *out, const struct plan *plan)
{
    print_save(out, plan->options->offload.accept_mark, plan->options->offload.accept_mask);
}

static void print_save_accept_iptables(struct text *out, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    text_printf(out, "-m mark --mark 0x%x/0x%x -j CONNMARK --set-xmark 0x%x/0x%x", offload->accept_mark,
                offload->accept_mask, offload->accept_mark, offload->accept_mask);
}

static bool build_saved_accept(struct nftnl_rule *rule, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    return add_mark_match(rule, NFT_CMP_EQ, offload->accept_mark, offload->accept_mask) &&
           add_unmark(rule, offload->accept_mask);
}

static void print_saved_accept(struct text *out, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    text_printf(out, "meta mark & 0x%08x == 0x%08x meta mark set meta mark & 0x%08x", offload->accept_mask,
                offload->accept_mark, ~offload->accept_mask);
}

static void print_saved_accept_iptables(struct text *out, const struct plan *plan)
{
    const struct firewall_offload *offload = &plan->options->offload;

    text_printf(out, "-m mark --mark 0x%x/0x%x -j MARK --set-xmark 0x0/0x%x", offload->accept_mark,
                offload->accept_mask, offload->accept_mask);
}

/* --- Blocked hosts ---------------------------------------------------------------------------------- */

/* Offset of the address in the header, by the kind of rule. */
static const struct {
    const char *text;
    uint32_t offset, length;
} blocked_addresses[] = {
    [RULE_BLOCK4_FROM] = { "ip saddr", 12, 4 },
    [RULE_BLOCK4_TO] = { "ip daddr", 16, 4 },
    [RULE_BLOCK6_FROM] = { "ip6 saddr", 8, 16 },
    [RULE_BLOCK6_TO] = { "ip6 daddr", 24, 16 },
};

static bool is_of4(enum plan_rule kind)
{
    return kind <= RULE_BLOCK4_TO;
}

static bool is_block(enum plan_rule kind)
{
    return kind >= RULE_BLOCK4_FROM && kind <= RULE_BLOCK6_TO;
}

bool nft_rule_fits(enum plan_rule kind, uint32_t family)
{
    return !is_block(kind) || family != (is_of4(kind) ? (uint32_t)NFPROTO_IPV6 : (uint32_t)NFPROTO_IPV4);
}

/* Adds a match on the IP version where the table has both: in a bridge by the EtherType of the frame. */
static bool add_version(struct nftnl_rule *rule, bool of4)
{
    uint32_t family = nftnl_rule_get_u32(rule, NFTNL_RULE_FAMILY);
    uint16_t ethertype = htons(of4 ? ETH_P_IP : ETH_P_IPV6);
    uint8_t protocol = of4 ? NFPROTO_IPV4 : NFPROTO_IPV6;
    bool bridge = family == NFPROTO_BRIDGE;
    struct nftnl_expr *compare;

    if (!bridge && family != NFPROTO_INET)
        return true;
    if (!add_meta(rule, bridge ? NFT_META_PROTOCOL : NFT_META_NFPROTO) || !(compare = add(rule, "cmp")))
        return false;
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
    nftnl_expr_set_u32(compare, NFTNL_EXPR_CMP_OP, NFT_CMP_EQ);
    if (bridge)
        nftnl_expr_set(compare, NFTNL_EXPR_CMP_DATA, &ethertype, sizeof(ethertype));
    else
        nftnl_expr_set(compare, NFTNL_EXPR_CMP_DATA, &protocol, sizeof(protocol));
    return true;
}

static bool add_lookup(struct nftnl_rule *rule, enum plan_rule kind)
{
    struct nftnl_expr *payload = add(rule, "payload"), *lookup = payload ? add(rule, "lookup") : NULL;

    if (!lookup)
        return false;
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_OFFSET, blocked_addresses[kind].offset);
    nftnl_expr_set_u32(payload, NFTNL_EXPR_PAYLOAD_LEN, blocked_addresses[kind].length);
    nftnl_expr_set_u32(lookup, NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1);
    nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, is_of4(kind) ? SET_BLOCKED4 : SET_BLOCKED6);
    return true;
}

static bool build_block(struct nftnl_rule *rule, enum plan_rule kind)
{
    return add_version(rule, is_of4(kind)) && add_lookup(rule, kind) && add(rule, "counter") &&
           add_verdict(rule, NF_DROP, NULL);
}

static void print_block(struct text *out, enum plan_rule kind)
{
    text_printf(out, "%s @%s counter drop", blocked_addresses[kind].text, is_of4(kind) ? SET_BLOCKED4 : SET_BLOCKED6);
}

/* --- Rule table ------------------------------------------------------------------------------------- */

static const struct {
    bool (*build)(struct nftnl_rule *rule, const struct plan *plan);
    void (*print)(struct text *out, const struct plan *plan);
    void (*print_iptables)(struct text *out, const struct plan *plan);
} rules[RULE_KINDS] = {
    [RULE_REJECT_MARK] = { build_reject_mark, print_reject_mark, print_reject_mark_iptables },
    [RULE_LOOPBACK_IN] = { build_loopback_in, print_loopback_in, print_loopback_in_iptables },
    [RULE_LOOPBACK_OUT] = { build_loopback_out, print_loopback_out, print_loopback_out_iptables },
    [RULE_EXCEPTIONS] = { build_exceptions, print_exceptions, print_exceptions_iptables },
    [RULE_OFFLOAD_DROP] = { build_offload_drop, print_offload_drop, print_offload_drop_iptables },
    [RULE_OFFLOAD_FLOW] = { build_offload_flow, print_offload_flow, NULL },
    [RULE_OFFLOAD_ACCEPT] = { build_offload_accept, print_offload_accept, print_offload_accept_iptables },
    [RULE_SAVE_DROP] = { build_save_drop, print_save_drop, NULL },
    [RULE_SAVE_ACCEPT] = { build_save_accept, print_save_accept, print_save_accept_iptables },
    [RULE_SAVED_DROP] = { build_saved_drop, print_saved_drop, NULL },
    [RULE_SAVED_ACCEPT] = { build_saved_accept, print_saved_accept, print_saved_accept_iptables },
    [RULE_QUEUE] = { build_queue, print_queue, print_queue_iptables },
    [RULE_ACCEPT] = { build_accept, print_accept, print_accept_iptables },
    [RULE_UNMARK] = { build_unmark, print_unmark, print_unmark_iptables },
};

int nft_rule_build(struct nftnl_rule *rule, enum plan_rule kind, const struct plan *plan)
{
    return (is_block(kind) ? build_block(rule, kind) : rules[kind].build(rule, plan)) ? 0 : -ENOMEM;
}

void nft_rule_print(struct text *out, enum plan_rule kind, const struct plan *plan)
{
    if (is_block(kind))
        print_block(out, kind);
    else
        rules[kind].print(out, plan);
}

bool nft_rule_print_iptables(struct text *out, enum plan_rule kind, const struct plan *plan)
{
    if (is_block(kind) || !rules[kind].print_iptables) /* would need ipset; only nft has sets */
        return false;
    rules[kind].print_iptables(out, plan);
    return true;
}
