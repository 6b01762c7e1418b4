/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules of the sluice table. describe() describes each rule once, as a list of terms: matches, then statements.
 * Each term can be written as netlink expressions, as nft text and as iptables text; iptables lacks some terms.
 */
#include "firewall_priv.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h> /* expr.h of libnftnl needs FILE */

#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <linux/if_ether.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_conntrack_common.h>
#include <linux/netfilter/xt_NFQUEUE.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

enum { LOOPBACK_INDEX = 1, XT_REVISION = 3, XT_SIZE = 8 /* XT_ALIGN(sizeof(struct xt_NFQ_info_v3)) */ };

_Static_assert(sizeof(struct xt_NFQ_info_v3) <= XT_SIZE, "the target's data");

/* --- Description ------------------------------------------------------------------------------------ */

enum term_kind {
    TERM_MARK,            /* mark & mask == value */
    TERM_OTHER_MARK,      /* mark & mask != value */
    TERM_CONNECTION_MARK, /* ct mark & mask == value */
    TERM_FROM_LOOPBACK,
    TERM_TO_LOOPBACK,
    TERM_ASSURED,         /* ct status assured */
    TERM_ACKNOWLEDGMENT4, /* an acknowledgment over IPv4 without options, no fragment; over IPv6 without extension
                              headers */
    TERM_ACKNOWLEDGMENT6,
    TERM_BLOCKED,             /* source or destination address is in a set of blocked hosts or networks (`blocked`) */
    TERM_COUNTER,             /* the counter object `name`; NULL: a counter of the rule itself */
    TERM_CLEAR_MARK,          /* mark = mark & ~mask */
    TERM_SET_CONNECTION_MARK, /* ct mark = ct mark & ~mask | value */
    TERM_ADD_TO_FLOWTABLE,
    TERM_JUMP, /* jump to the chain `name` */
    TERM_QUEUE,
    TERM_DROP,
    /* As iptables text: -j ACCEPT in mode chain, where the chain replaces an accept; in other modes -j RETURN, so that
     * the calling chain continues. */
    TERM_ACCEPT,
};

struct term {
    enum term_kind kind;
    uint32_t value, mask;
    const char *name;
    const struct blocked_address *blocked;
    struct {
        uint16_t first, last;
        bool bypass;
        /* The rule is among rules of the user, so the iptables text omits bypass: see iptables_note(). */
        bool in_shared_chain;
    } queue;
};

struct description {
    struct term terms[5];
    unsigned count;
};

struct blocked_address {
    const char *text, *set;
    uint32_t offset, length; /* offset and length of the address in the IP header */
    bool of4;
};

static const struct blocked_address blocked_addresses[] = {
    [RULE_BLOCK4_FROM] = { "ip saddr", SET_BLOCKED4, 12, 4, true },
    [RULE_BLOCK4_TO] = { "ip daddr", SET_BLOCKED4, 16, 4, true },
    [RULE_BLOCK6_FROM] = { "ip6 saddr", SET_BLOCKED6, 8, 16, false },
    [RULE_BLOCK6_TO] = { "ip6 daddr", SET_BLOCKED6, 24, 16, false },
    [RULE_NETWORKS4_FROM] = { "ip saddr", SET_NETWORKS4, 12, 4, true },
    [RULE_NETWORKS4_TO] = { "ip daddr", SET_NETWORKS4, 16, 4, true },
    [RULE_NETWORKS6_FROM] = { "ip6 saddr", SET_NETWORKS6, 8, 16, false },
    [RULE_NETWORKS6_TO] = { "ip6 daddr", SET_NETWORKS6, 24, 16, false },
};

bool nft_rule_fits(enum plan_rule kind, uint32_t family)
{
    if (kind == RULE_ACKNOWLEDGE4 || kind == RULE_ACKNOWLEDGE6)
        return family != (kind == RULE_ACKNOWLEDGE4 ? (uint32_t)NFPROTO_IPV6 : (uint32_t)NFPROTO_IPV4);
    if (kind < RULE_BLOCK4_FROM || kind > RULE_NETWORKS6_TO)
        return true;
    return family != (blocked_addresses[kind].of4 ? (uint32_t)NFPROTO_IPV6 : (uint32_t)NFPROTO_IPV4);
}

static void add_term(struct description *rule, struct term term)
{
    rule->terms[rule->count++] = term;
}

static void describe(enum plan_rule kind, const struct plan *plan, struct description *rule)
{
    const struct firewall_options *options = plan->options;
    const struct firewall_offload *offload = &options->offload;
    const struct term accept_mark = { .kind = TERM_MARK, .value = offload->accept_mark, .mask = offload->accept_mask },
                      drop_mark = { .kind = TERM_MARK, .value = offload->drop_mark, .mask = offload->drop_mask },
                      accept = { .kind = TERM_ACCEPT }, drop = { .kind = TERM_DROP };
    /* In mode route, packets that skip Sluice do not skip the queue of the next consumer. */
    const struct term next = { .kind = TERM_QUEUE,
                               .queue = { offload->next_queue, offload->next_queue, offload->next_bypass, false } };
    const struct term skip = offload->has_next ? next : accept;

    rule->count = 0;
    switch (kind) {
    case RULE_REJECT_MARK:
        add_term(rule, (struct term){ .kind = TERM_MARK, .value = options->reject_mark, .mask = options->reject_mask });
        add_term(rule, accept);
        break;
    case RULE_LOOPBACK_IN:
    case RULE_LOOPBACK_OUT:
        add_term(rule, (struct term){ .kind = kind == RULE_LOOPBACK_IN ? TERM_FROM_LOOPBACK : TERM_TO_LOOPBACK });
        add_term(rule, accept);
        break;
    case RULE_EXCEPTIONS:
        add_term(rule, (struct term){ .kind = TERM_JUMP, .name = CHAIN_EXCEPTIONS });
        break;
    case RULE_BLOCK4_FROM:
    case RULE_BLOCK4_TO:
    case RULE_BLOCK6_FROM:
    case RULE_BLOCK6_TO:
    case RULE_NETWORKS4_FROM:
    case RULE_NETWORKS4_TO:
    case RULE_NETWORKS6_FROM:
    case RULE_NETWORKS6_TO:
        add_term(rule, (struct term){ .kind = TERM_BLOCKED, .blocked = &blocked_addresses[kind] });
        add_term(rule, (struct term){ .kind = TERM_COUNTER });
        add_term(rule, drop);
        break;
    case RULE_OFFLOAD_DROP:
        add_term(rule, (struct term){ .kind = TERM_CONNECTION_MARK, .value = drop_mark.value, .mask = drop_mark.mask });
        add_term(rule, (struct term){ .kind = TERM_COUNTER, .name = COUNTER_DROPPED });
        add_term(rule, drop);
        break;
    case RULE_OFFLOAD_FLOW:
        add_term(rule,
                 (struct term){ .kind = TERM_CONNECTION_MARK, .value = accept_mark.value, .mask = accept_mark.mask });
        add_term(rule, (struct term){ .kind = TERM_ADD_TO_FLOWTABLE });
        break;
    case RULE_OFFLOAD_ACCEPT:
        add_term(rule,
                 (struct term){ .kind = TERM_CONNECTION_MARK, .value = accept_mark.value, .mask = accept_mark.mask });
        add_term(rule, (struct term){ .kind = TERM_COUNTER, .name = COUNTER_ACCEPTED });
        add_term(rule, skip);
        break;
    case RULE_ACKNOWLEDGE4:
    case RULE_ACKNOWLEDGE6:
        add_term(rule, (struct term){ .kind = TERM_CONNECTION_MARK,
                                      .value = offload->acknowledge_mark,
                                      .mask = offload->acknowledge_mask });
        add_term(rule, (struct term){ .kind = TERM_ASSURED });
        add_term(rule,
                 (struct term){ .kind = kind == RULE_ACKNOWLEDGE4 ? TERM_ACKNOWLEDGMENT4 : TERM_ACKNOWLEDGMENT6 });
        add_term(rule, (struct term){ .kind = TERM_COUNTER, .name = COUNTER_ACKNOWLEDGMENTS });
        add_term(rule, skip);
        break;
    case RULE_QUEUE:
        if (options->mode == ATTACH_REPEAT)
            add_term(rule,
                     (struct term){ .kind = TERM_OTHER_MARK, .value = options->mark, .mask = options->mark_mask });
        add_term(rule, (struct term){ .kind = TERM_COUNTER });
        add_term(rule, (struct term){ .kind = TERM_QUEUE,
                                      .queue = { options->queue_first, options->queue_last, options->bypass,
                                                 options->mode == ATTACH_REPEAT } });
        break;
    case RULE_SAVE_DROP:
    case RULE_SAVE_ACCEPT:
        add_term(rule, kind == RULE_SAVE_DROP ? drop_mark : accept_mark);
        add_term(rule, (struct term){ .kind = TERM_SET_CONNECTION_MARK,
                                      .value = rule->terms[0].value,
                                      .mask = rule->terms[0].mask });
        break;
    case RULE_SAVED_DROP:
        add_term(rule, drop_mark);
        add_term(rule, drop);
        break;
    case RULE_SAVED_ACCEPT:
        add_term(rule, accept_mark);
        add_term(rule, (struct term){ .kind = TERM_CLEAR_MARK, .mask = accept_mark.mask });
        break;
    case RULE_UNMARK:
        add_term(rule, (struct term){ .kind = TERM_MARK, .value = options->mark, .mask = options->mark_mask });
        add_term(rule, (struct term){ .kind = TERM_CLEAR_MARK, .mask = options->mark_mask });
        break;
    case RULE_ACCEPT:
    default:
        add_term(rule, accept);
        break;
    }
}

/* --- Netlink expressions ---------------------------------------------------------------------------- */

struct attribute {
    uint16_t type;
    uint32_t value;
};

/* Adds an expression with 32-bit attributes; the list `attributes` ends with type 0. Returns NULL when out of
 * memory. */
static struct nftnl_expr *add_expression(struct nftnl_rule *rule, const char *name, const struct attribute *attributes)
{
    struct nftnl_expr *expression = nftnl_expr_alloc(name);

    if (!expression)
        return NULL;
    for (; attributes->type; attributes++)
        nftnl_expr_set_u32(expression, attributes->type, attributes->value);
    nftnl_rule_add_expr(rule, expression);
    return expression;
}

#define ADD(rule, name, ...)                                                                                           \
    add_expression(rule, name, (const struct attribute[]){ __VA_ARGS__ __VA_OPT__(, ){ 0, 0 } })

static bool load_meta(struct nftnl_rule *rule, uint32_t key)
{
    return ADD(rule, "meta", { NFTNL_EXPR_META_KEY, key }, { NFTNL_EXPR_META_DREG, NFT_REG_1 });
}

static bool load_connection_mark(struct nftnl_rule *rule)
{
    return ADD(rule, "ct", { NFTNL_EXPR_CT_KEY, NFT_CT_MARK }, { NFTNL_EXPR_CT_DREG, NFT_REG_1 });
}

/* Adds the expression register = register & mask ^ toggle. Returns false when out of memory. */
static bool change_register(struct nftnl_rule *rule, uint32_t mask, uint32_t toggle)
{
    return ADD(rule, "bitwise", { NFTNL_EXPR_BITWISE_SREG, NFT_REG_1 }, { NFTNL_EXPR_BITWISE_DREG, NFT_REG_1 },
               { NFTNL_EXPR_BITWISE_LEN, sizeof(mask) }, { NFTNL_EXPR_BITWISE_MASK, mask },
               { NFTNL_EXPR_BITWISE_XOR, toggle });
}

static bool compare(struct nftnl_rule *rule, uint32_t op, const void *value, uint32_t length)
{
    struct nftnl_expr *expression = ADD(rule, "cmp", { NFTNL_EXPR_CMP_SREG, NFT_REG_1 }, { NFTNL_EXPR_CMP_OP, op });

    return expression && nftnl_expr_set(expression, NFTNL_EXPR_CMP_DATA, value, length) == 0;
}

static bool compare_masked(struct nftnl_rule *rule, uint32_t op, const struct term *term)
{
    return change_register(rule, term->mask, 0) && compare(rule, op, &term->value, sizeof(term->value));
}

static bool build_loopback(struct nftnl_rule *rule, uint32_t key)
{
    const uint32_t index = LOOPBACK_INDEX;

    return load_meta(rule, key) && compare(rule, NFT_CMP_EQ, &index, sizeof(index));
}

static bool build_verdict(struct nftnl_rule *rule, int verdict, const char *chain)
{
    struct nftnl_expr *immediate =
        ADD(rule, "immediate", { NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT }, { NFTNL_EXPR_IMM_VERDICT, (uint32_t)verdict });

    return immediate && (!chain || nftnl_expr_set_str(immediate, NFTNL_EXPR_IMM_CHAIN, chain) == 0);
}

/* Adds the queue statement. With several queues, a symmetric hash of addresses and ports selects one, so that both
 * directions of a flow use the same queue, and several flows between two hosts can use different ones. */
static bool build_native_queue(struct nftnl_rule *rule, const struct term *term)
{
    const uint32_t count = term->queue.last - term->queue.first + 1u;
    struct nftnl_expr *queue;

    if (count > 1 && !ADD(rule, "hash", { NFTNL_EXPR_HASH_TYPE, NFT_HASH_SYM }, { NFTNL_EXPR_HASH_DREG, NFT_REG_1 },
                          { NFTNL_EXPR_HASH_MODULUS, count }, { NFTNL_EXPR_HASH_OFFSET, term->queue.first }))
        return false;
    if (!(queue = ADD(rule, "queue")))
        return false;
    if (count > 1) {
        nftnl_expr_set_u32(queue, NFTNL_EXPR_QUEUE_SREG_QNUM, NFT_REG_1);
    } else {
        nftnl_expr_set_u16(queue, NFTNL_EXPR_QUEUE_NUM, term->queue.first);
        nftnl_expr_set_u16(queue, NFTNL_EXPR_QUEUE_TOTAL, 1);
    }
    if (term->queue.bypass)
        nftnl_expr_set_u16(queue, NFTNL_EXPR_QUEUE_FLAGS, NFT_QUEUE_FLAG_BYPASS);
    return true;
}

static bool build_xt_queue(struct nftnl_rule *rule, const struct term *term)
{
    struct nftnl_expr *target = ADD(rule, "target", { NFTNL_EXPR_TG_REV, XT_REVISION });
    struct xt_NFQ_info_v3 *info = target ? calloc(1, XT_SIZE) : NULL;

    if (!info)
        return false;
    info->queuenum = term->queue.first;
    info->queues_total = (uint16_t)(term->queue.last - term->queue.first + 1);
    info->flags = term->queue.bypass ? NFQ_FLAG_BYPASS : 0;
    nftnl_expr_set_str(target, NFTNL_EXPR_TG_NAME, "NFQUEUE");
    nftnl_expr_set(target, NFTNL_EXPR_TG_INFO, info, XT_SIZE);
    return true; /* NOLINT(clang-analyzer-unix.Malloc): the expression owns `info` */
}

/* Adds a match on the IP version, if the table has packets of both: in a bridge by the EtherType. */
static bool build_version(struct nftnl_rule *rule, bool of4)
{
    const uint16_t ethertype = htons(of4 ? ETH_P_IP : ETH_P_IPV6);
    const uint8_t protocol = of4 ? NFPROTO_IPV4 : NFPROTO_IPV6;

    switch (nftnl_rule_get_u32(rule, NFTNL_RULE_FAMILY)) {
    case NFPROTO_BRIDGE:
        return load_meta(rule, NFT_META_PROTOCOL) && compare(rule, NFT_CMP_EQ, &ethertype, sizeof(ethertype));
    case NFPROTO_INET:
        return load_meta(rule, NFT_META_NFPROTO) && compare(rule, NFT_CMP_EQ, &protocol, sizeof(protocol));
    default:
        return true;
    }
}

static bool load_payload(struct nftnl_rule *rule, uint32_t into, uint32_t base, uint32_t offset, uint32_t length)
{
    return ADD(rule, "payload", { NFTNL_EXPR_PAYLOAD_DREG, into }, { NFTNL_EXPR_PAYLOAD_BASE, base },
               { NFTNL_EXPR_PAYLOAD_OFFSET, offset }, { NFTNL_EXPR_PAYLOAD_LEN, length });
}

static bool look_up(struct nftnl_rule *rule, const char *set)
{
    struct nftnl_expr *lookup = ADD(rule, "lookup", { NFTNL_EXPR_LOOKUP_SREG, NFT_REG_1 });

    return lookup && nftnl_expr_set_str(lookup, NFTNL_EXPR_LOOKUP_SET, set) == 0;
}

static bool build_blocked(struct nftnl_rule *rule, const struct blocked_address *blocked)
{
    return build_version(rule, blocked->of4) &&
           load_payload(rule, NFT_REG_1, NFT_PAYLOAD_NETWORK_HEADER, blocked->offset, blocked->length) &&
           look_up(rule, blocked->set);
}

/* Adds the match of some bits of the network header: 1 or 2 bytes at `offset`, in host order, are `value` under `mask`.
 */
static bool compare_bits(struct nftnl_rule *rule, uint32_t offset, uint32_t length, uint16_t mask, uint16_t value)
{
    const uint8_t masks[2] = { (uint8_t)(mask >> 8), (uint8_t)mask },
                  values[2] = { (uint8_t)(value >> 8), (uint8_t)value };
    const uint8_t zeros[2] = { 0, 0 };
    const size_t from = sizeof(values) - length;
    struct nftnl_expr *bits;

    if (!load_payload(rule, NFT_REG_1, NFT_PAYLOAD_NETWORK_HEADER, offset, length))
        return false;
    bits = ADD(rule, "bitwise", { NFTNL_EXPR_BITWISE_SREG, NFT_REG_1 }, { NFTNL_EXPR_BITWISE_DREG, NFT_REG_1 },
               { NFTNL_EXPR_BITWISE_LEN, length });
    return bits && nftnl_expr_set(bits, NFTNL_EXPR_BITWISE_MASK, masks + from, length) == 0 &&
           nftnl_expr_set(bits, NFTNL_EXPR_BITWISE_XOR, zeros + from, length) == 0 &&
           compare(rule, NFT_CMP_EQ, values + from, length);
}

/* Adds the match for an acknowledgment. The IP header has a fixed length and TCP follows it directly. The length of the
 * packet and the two bytes of the TCP header with its length and the flags must be in the set, so that the segment has
 * no payload and no flag but ACK. */
static bool build_acknowledgment(struct nftnl_rule *rule, bool of4)
{
    enum { IPV4_WORDS = 0, IPV4_LENGTH = 2, IPV4_FRAGMENT = 6, IPV4_PROTOCOL = 9 };
    enum { IPV6_LENGTH = 4, IPV6_NEXT = 6, TCP_HEAD = 12 };
    enum { FRAGMENT_BITS = 0xbfff }; /* all but DF: the reserved bit, MF and the offset */
    const uint8_t protocol = IPPROTO_TCP;

    return build_version(rule, of4) &&
           (!of4 ||
            (compare_bits(rule, IPV4_WORDS, 1, 0x0f, 5) && compare_bits(rule, IPV4_FRAGMENT, 2, FRAGMENT_BITS, 0))) &&
           load_payload(rule, NFT_REG_1, NFT_PAYLOAD_NETWORK_HEADER, of4 ? IPV4_PROTOCOL : IPV6_NEXT, 1) &&
           compare(rule, NFT_CMP_EQ, &protocol, 1) &&
           load_payload(rule, NFT_REG_1, NFT_PAYLOAD_NETWORK_HEADER, of4 ? IPV4_LENGTH : IPV6_LENGTH, 2) &&
           load_payload(rule, NFT_REG32_01, NFT_PAYLOAD_TRANSPORT_HEADER, TCP_HEAD, 2) &&
           look_up(rule, of4 ? SET_ACKNOWLEDGMENTS4 : SET_ACKNOWLEDGMENTS6);
}

static bool build_term(struct nftnl_rule *rule, const struct term *term, enum queue_expression expression)
{
    const uint32_t none = 0;
    struct nftnl_expr *object;

    switch (term->kind) {
    case TERM_MARK:
        return load_meta(rule, NFT_META_MARK) && compare_masked(rule, NFT_CMP_EQ, term);
    case TERM_OTHER_MARK:
        return load_meta(rule, NFT_META_MARK) && compare_masked(rule, NFT_CMP_NEQ, term);
    case TERM_CONNECTION_MARK:
        return load_connection_mark(rule) && compare_masked(rule, NFT_CMP_EQ, term);
    case TERM_FROM_LOOPBACK:
        return build_loopback(rule, NFT_META_IIF);
    case TERM_TO_LOOPBACK:
        return build_loopback(rule, NFT_META_OIF);
    case TERM_ASSURED:
        return ADD(rule, "ct", { NFTNL_EXPR_CT_KEY, NFT_CT_STATUS }, { NFTNL_EXPR_CT_DREG, NFT_REG_1 }) &&
               change_register(rule, IPS_ASSURED, 0) && compare(rule, NFT_CMP_NEQ, &none, sizeof(none));
    case TERM_ACKNOWLEDGMENT4:
    case TERM_ACKNOWLEDGMENT6:
        return build_acknowledgment(rule, term->kind == TERM_ACKNOWLEDGMENT4);
    case TERM_BLOCKED:
        return build_blocked(rule, term->blocked);
    case TERM_COUNTER:
        if (!term->name)
            return ADD(rule, "counter");
        object = ADD(rule, "objref", { NFTNL_EXPR_OBJREF_IMM_TYPE, NFT_OBJECT_COUNTER });
        return object && nftnl_expr_set_str(object, NFTNL_EXPR_OBJREF_IMM_NAME, term->name) == 0;
    case TERM_CLEAR_MARK:
        return load_meta(rule, NFT_META_MARK) && change_register(rule, ~term->mask, 0) &&
               ADD(rule, "meta", { NFTNL_EXPR_META_KEY, NFT_META_MARK }, { NFTNL_EXPR_META_SREG, NFT_REG_1 });
    case TERM_SET_CONNECTION_MARK:
        return load_connection_mark(rule) && change_register(rule, ~term->mask, term->value) &&
               ADD(rule, "ct", { NFTNL_EXPR_CT_KEY, NFT_CT_MARK }, { NFTNL_EXPR_CT_SREG, NFT_REG_1 });
    case TERM_ADD_TO_FLOWTABLE:
        object = ADD(rule, "flow_offload");
        return object && nftnl_expr_set_str(object, NFTNL_EXPR_FLOW_TABLE_NAME, FLOWTABLE) == 0;
    case TERM_JUMP:
        return build_verdict(rule, NFT_JUMP, term->name);
    case TERM_QUEUE:
        return expression == QUEUE_EXPRESSION_XT ? build_xt_queue(rule, term) : build_native_queue(rule, term);
    case TERM_DROP:
        return build_verdict(rule, NF_DROP, NULL);
    default:
        return build_verdict(rule, NF_ACCEPT, NULL);
    }
}

int nft_rule_build(struct nftnl_rule *rule, enum plan_rule kind, const struct plan *plan)
{
    struct description description;

    describe(kind, plan, &description);
    for (unsigned i = 0; i < description.count; i++) {
        if (!build_term(rule, &description.terms[i], plan->expression))
            return -ENOMEM;
    }
    return 0;
}

/* --- nft text --------------------------------------------------------------------------------------- */

static void print_term(struct text *out, const struct term *term)
{
    const unsigned first = term->queue.first, count = term->queue.last - first + 1u;

    switch (term->kind) {
    case TERM_MARK:
    case TERM_OTHER_MARK:
        text_printf(out, "meta mark & 0x%08x %s 0x%08x", term->mask,
                    term->kind == TERM_MARK ? "==" : "!=", term->value);
        break;
    case TERM_CONNECTION_MARK:
        text_printf(out, "ct mark & 0x%08x == 0x%08x", term->mask, term->value);
        break;
    case TERM_FROM_LOOPBACK:
        text_puts(out, "iif \"lo\"");
        break;
    case TERM_TO_LOOPBACK:
        text_puts(out, "oif \"lo\"");
        break;
    case TERM_ASSURED:
        text_puts(out, "ct status assured");
        break;
    case TERM_ACKNOWLEDGMENT4:
        text_puts(out, "ip hdrlength 5 ip frag-off & 0xbfff == 0 ip protocol tcp "
                       "ip length . @th,96,16 @" SET_ACKNOWLEDGMENTS4);
        break;
    case TERM_ACKNOWLEDGMENT6:
        text_puts(out, "ip6 nexthdr tcp ip6 length . @th,96,16 @" SET_ACKNOWLEDGMENTS6);
        break;
    case TERM_BLOCKED:
        text_printf(out, "%s @%s", term->blocked->text, term->blocked->set);
        break;
    case TERM_COUNTER:
        text_puts(out, "counter");
        if (term->name)
            text_printf(out, " name \"%s\"", term->name);
        break;
    case TERM_CLEAR_MARK:
        text_printf(out, "meta mark set meta mark & 0x%08x", ~term->mask);
        break;
    case TERM_SET_CONNECTION_MARK:
        text_printf(out, "ct mark set ct mark & 0x%08x | 0x%08x", ~term->mask, term->value);
        break;
    case TERM_ADD_TO_FLOWTABLE:
        text_puts(out, "flow add @" FLOWTABLE);
        break;
    case TERM_JUMP:
        text_printf(out, "jump %s", term->name);
        break;
    case TERM_QUEUE:
        text_printf(out, "queue %sto ", term->queue.bypass ? "flags bypass " : "");
        if (count == 1)
            text_printf(out, "%u", first);
        else
            text_printf(out, "symhash mod %u", count);
        if (count > 1 && first > 0)
            text_printf(out, " offset %u", first);
        break;
    case TERM_DROP:
        text_puts(out, "drop");
        break;
    case TERM_ACCEPT:
        text_puts(out, "accept");
        break;
    }
}

void nft_rule_print(struct text *out, enum plan_rule kind, const struct plan *plan)
{
    struct description description;

    describe(kind, plan, &description);
    for (unsigned i = 0; i < description.count; i++) {
        if (i > 0)
            text_puts(out, " ");
        print_term(out, &description.terms[i]);
    }
}

/* --- iptables text ---------------------------------------------------------------------------------- */

/* Prints a term as iptables arguments. Returns false when iptables cannot express the term. */
static bool print_iptables_term(struct text *out, const struct term *term, const struct plan *plan)
{
    const unsigned first = term->queue.first, last = term->queue.last;

    switch (term->kind) {
    case TERM_MARK:
    case TERM_OTHER_MARK:
        text_printf(out, "-m mark %s--mark 0x%x/0x%x", term->kind == TERM_MARK ? "" : "! ", term->value, term->mask);
        return true;
    case TERM_CONNECTION_MARK:
        text_printf(out, "-m connmark --mark 0x%x/0x%x", term->value, term->mask);
        return true;
    case TERM_FROM_LOOPBACK:
        text_puts(out, "-i lo");
        return true;
    case TERM_TO_LOOPBACK:
        text_puts(out, "-o lo");
        return true;
    case TERM_CLEAR_MARK:
        text_printf(out, "-j MARK --set-xmark 0x0/0x%x", term->mask);
        return true;
    case TERM_SET_CONNECTION_MARK:
        text_printf(out, "-j CONNMARK --set-xmark 0x%x/0x%x", term->value, term->mask);
        return true;
    case TERM_JUMP:
        text_printf(out, "-j %s", term->name);
        return true;
    case TERM_QUEUE:
        text_puts(out, "-j NFQUEUE ");
        if (first == last)
            text_printf(out, "--queue-num %u", first);
        else
            text_printf(out, "--queue-balance %u:%u", first, last);
        if (term->queue.bypass && !term->queue.in_shared_chain)
            text_puts(out, " --queue-bypass");
        return true;
    case TERM_DROP:
        text_puts(out, "-j DROP");
        return true;
    case TERM_ACCEPT:
        text_puts(out, plan->options->mode == ATTACH_CHAIN ? "-j ACCEPT" : "-j RETURN");
        return true;
    default: /* iptables has no flowtables, would need ipset for sets, and cannot compare lengths of headers exactly */
        return false;
    }
}

bool nft_rule_print_iptables(struct text *out, enum plan_rule kind, const struct plan *plan)
{
    struct description description;
    const size_t start = out->length;

    describe(kind, plan, &description);
    for (unsigned i = 0; i < description.count; i++) {
        const struct term *term = &description.terms[i];

        if (term->kind == TERM_COUNTER) /* printed as nothing, because each rule of iptables has a counter */
            continue;
        if (out->length > start)
            text_puts(out, " ");
        if (!print_iptables_term(out, term, plan))
            return false;
    }
    return true;
}
