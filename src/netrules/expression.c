/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions of nf_tables that compare, write or decide, as libnftnl parses them. */
#include "netrules_priv.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <net/if.h>
#include <string.h>

enum { LOOPBACK_INDEX = 1, ESTABLISHED = 2 /* NF_CT_STATE_BIT(IP_CT_ESTABLISHED) */, SHOWN_ELEMENTS = 8 };

static const char *const verdict_words[] = {
    "continue", "accept", "drop", "jump", "goto", "return", "queue", "stolen"
};

struct cursor expression_bytes(const struct nftnl_expr *expression, uint16_t attribute)
{
    uint32_t length = 0;
    const void *bytes = nftnl_expr_get(expression, attribute, &length);

    return bytes ? cursor_of(bytes, length) : (struct cursor){ .at = NULL };
}

/* Returns a string attribute in the arena; "" when the expression lacks it. */
static const char *string_of(struct rule_builder *builder, const struct nftnl_expr *expression, uint16_t attribute)
{
    const char *string = nftnl_expr_get_str(expression, attribute);

    return string ? rule_text(builder, "%s", string) : "";
}

static const struct operand *operand_of(const struct rule_builder *builder, const struct nftnl_expr *expression,
                                        uint16_t attribute)
{
    return rule_operand(builder, nftnl_expr_get_u32(expression, attribute));
}

/* --- Comparisons ------------------------------------------------------------------------------------ */

static uint32_t host_word(struct cursor bytes)
{
    uint32_t word = 0;

    if (bytes.at)
        memcpy(&word, bytes.at, cursor_remaining(&bytes) < sizeof(word) ? cursor_remaining(&bytes) : sizeof(word));
    return word;
}

static size_t field_of(const struct operand *operand)
{
    return operand->kind == VALUE_NAME ? IFNAMSIZ : operand->length;
}

static void evaluate_mark(struct rule_builder *builder, const struct operand *operand, uint32_t value)
{
    if (operand->origin == ORIGIN_PACKET_MARK || operand->origin == ORIGIN_CONNECTION_MARK)
        rule_mark(builder,
                  (struct netrules_mark){
                      .kind = operand->origin == ORIGIN_PACKET_MARK ? NETRULES_PACKET_MARK : NETRULES_CONNECTION_MARK,
                      .use = NETRULES_MARK_MATCH,
                      .mask = operand->mask,
                      .value = (value ^ operand->toggle) & operand->mask,
                  });
}

/* Derives properties of the rule from a comparison for equality. */
static void evaluate_equal(struct rule_builder *builder, const struct operand *operand, struct cursor value)
{
    struct netrules_rule *rule = builder->rule;
    size_t length = cursor_remaining(&value);
    uint16_t type = length == 2 ? load_be16(value.at) : 0;

    if (operand->origin == ORIGIN_NFPROTO && length == 1)
        rule->families &= value.at[0] == NFPROTO_IPV4   ? NETRULES_IPV4
                          : value.at[0] == NFPROTO_IPV6 ? NETRULES_IPV6
                                                        : NETRULES_OTHER;
    if (operand->origin == ORIGIN_ETHERTYPE && length == 2)
        rule->families &= type == 0x0800 ? NETRULES_IPV4 : type == 0x86dd ? NETRULES_IPV6 : NETRULES_OTHER;
    if (operand->origin == ORIGIN_L4PROTO && length == 1)
        builder->protocol = value.at[0];
    if (operand->origin == ORIGIN_DEVICE && (operand->kind == VALUE_NAME ? length >= 3 && memcmp(value.at, "lo", 3) == 0
                                                                         : host_word(value) == LOOPBACK_INDEX))
        rule->only_loopback = true;
    if (operand->origin == ORIGIN_STATE && host_word(value) == ESTABLISHED)
        rule->established = true;
}

/* Returns the length of the prefix that the mask of an address is, or -1. */
static int prefix_of(const struct operand *operand)
{
    size_t count = 8 * cursor_remaining(&operand->masked), bits = 0;

    if (operand->kind != VALUE_ADDRESS4 && operand->kind != VALUE_ADDRESS6)
        return -1;
    while (bits < count && operand->masked.at[bits / 8] & 0x80 >> bits % 8)
        bits++;
    for (size_t i = bits; i < count; i++)
        if (operand->masked.at[i / 8] & 0x80 >> i % 8)
            return -1;
    return (int)bits;
}

static void compare(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    static const char *const ops[] = { "", "!= ", "< ", "<= ", "> ", ">= " };
    const struct operand *operand = operand_of(builder, expression, NFTNL_EXPR_CMP_SREG);
    struct cursor value = expression_bytes(expression, NFTNL_EXPR_CMP_DATA), mask = operand->masked;
    uint32_t op = nftnl_expr_get_u32(expression, NFTNL_EXPR_CMP_OP);
    const char *sign = op < sizeof(ops) / sizeof(ops[0]) ? ops[op] : "?? ", *written, *text;
    bool masked = cursor_remaining(&mask) > 0;

    evaluate_mark(builder, operand, host_word(value));
    if ((operand->kind == VALUE_STATE || operand->kind == VALUE_STATUS) && masked && op == NFT_CMP_NEQ &&
        host_word(value) == 0) { /* "ct state established,related": any of these bits */
        rule_condition(builder, "%s %s", operand->text, rule_value(builder, operand->kind, mask, 4));
        if (operand->origin == ORIGIN_STATE && host_word(mask) & ESTABLISHED)
            builder->rule->established = true;
        return;
    }
    written = rule_value(builder, operand->kind, value, field_of(operand));
    if (!masked)
        text = rule_text(builder, "%s %s%s", operand->text, sign, written);
    else if (prefix_of(operand) >= 0)
        text = rule_text(builder, "%s %s%s/%d", operand->text, sign, written, prefix_of(operand));
    else
        text =
            rule_text(builder, "%s & %s %s%s", operand->text,
                      rule_value(builder, operand->kind, mask, cursor_remaining(&mask)), *sign ? sign : "== ", written);
    if (op == NFT_CMP_EQ)
        evaluate_equal(builder, operand, value);
    if (op == NFT_CMP_EQ && (operand->origin == ORIGIN_NFPROTO || operand->origin == ORIGIN_L4PROTO ||
                             operand->origin == ORIGIN_ETHERTYPE)) {
        builder->rule->conditional = true;
        rule_dependency(builder, operand->origin, text);
    } else {
        rule_condition(builder, "%s", text);
    }
}

static void compare_range(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    const struct operand *operand = operand_of(builder, expression, NFTNL_EXPR_RANGE_SREG);
    bool inverted = nftnl_expr_get_u32(expression, NFTNL_EXPR_RANGE_OP) == NFT_RANGE_NEQ;
    struct cursor from = expression_bytes(expression, NFTNL_EXPR_RANGE_FROM_DATA);
    struct cursor to = expression_bytes(expression, NFTNL_EXPR_RANGE_TO_DATA);

    evaluate_mark(builder, operand, 0);
    rule_condition(builder, "%s %s%s-%s", operand->text, inverted ? "!= " : "",
                   rule_value(builder, operand->kind, from, field_of(operand)),
                   rule_value(builder, operand->kind, to, field_of(operand)));
}

/* --- Changes of registers --------------------------------------------------------------------------- */

static bool is_all(struct cursor bytes, uint8_t value)
{
    for (const uint8_t *at = bytes.at; at < bytes.end; at++)
        if (*at != value)
            return false;
    return true;
}

static void change_bits(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    struct operand operand = *operand_of(builder, expression, NFTNL_EXPR_BITWISE_SREG);
    struct cursor masked = expression_bytes(expression, NFTNL_EXPR_BITWISE_MASK);
    struct cursor toggled = expression_bytes(expression, NFTNL_EXPR_BITWISE_XOR);
    uint32_t op = nftnl_expr_get_u32(expression, NFTNL_EXPR_BITWISE_OP);
    bool one_word = cursor_remaining(&masked) == 4 && cursor_remaining(&toggled) == 4;
    uint32_t mask = host_word(masked), toggle = host_word(toggled);

    if (op != 0 || (!one_word && !is_all(toggled, 0))) { /* shifts, and forms that are not written by hand */
        operand.origin = ORIGIN_OTHER;
        operand.text = rule_text(builder, "%s %s", operand.text, op ? "shifted" : "changed");
        operand.kind = VALUE_HEX;
    } else if (toggle) { /* "meta mark | 0x1", "meta mark & 0xff | 0x1" */
        operand.mask &= mask;
        operand.toggle = (operand.toggle & mask) ^ toggle;
        operand.text = mask == ~toggle ? rule_text(builder, "%s | 0x%x", operand.text, toggle)
                                       : rule_text(builder, "%s & 0x%x %c 0x%x", operand.text, mask,
                                                   toggle & mask ? '^' : '|', toggle);
    } else if (!is_all(masked, 0xff)) {
        operand.mask &= one_word ? mask : ALL_BITS;
        operand.toggle &= operand.mask;
        operand.masked = rule_bytes(builder, masked);
    }
    rule_load(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_BITWISE_DREG), operand);
}

static void change_order(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    struct operand operand = *operand_of(builder, expression, NFTNL_EXPR_BYTEORDER_SREG);

    operand.origin = ORIGIN_OTHER;
    if (operand.kind == VALUE_HOST)
        operand.kind = VALUE_NUMBER;
    else if (operand.kind == VALUE_MARK || operand.kind == VALUE_NUMBER)
        operand.kind = operand.kind == VALUE_NUMBER ? VALUE_HOST : VALUE_HEX;
    rule_load(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_BYTEORDER_DREG), operand);
}

static void load_immediate(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    struct operand operand = { .origin = ORIGIN_IMMEDIATE, .mask = ALL_BITS };
    enum netrules_verdict verdict;
    const char *target = NULL;

    if (nftnl_expr_get_u32(expression, NFTNL_EXPR_IMM_DREG) != NFT_REG_VERDICT) {
        operand.bytes = rule_bytes(builder, expression_bytes(expression, NFTNL_EXPR_IMM_DATA));
        operand.length = (uint32_t)cursor_remaining(&operand.bytes);
        operand.text = rule_value(builder, VALUE_HEX, operand.bytes, operand.length);
        rule_load(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_IMM_DREG), operand);
        return;
    }
    if (!netrules_verdict_of(nftnl_expr_get_u32(expression, NFTNL_EXPR_IMM_VERDICT), &verdict)) {
        rule_condition(builder, "?");
        return;
    }
    if (nftnl_expr_is_set(expression, NFTNL_EXPR_IMM_CHAIN))
        target = string_of(builder, expression, NFTNL_EXPR_IMM_CHAIN);
    rule_verdict(builder, verdict, target);
    rule_word(builder, target ? "%s %s" : "%s", verdict_words[verdict], target);
}

/* --- Sets ------------------------------------------------------------------------------------------- */

static bool is_established_key(const struct operand *operand, const struct netrules_element *element)
{
    return operand->origin == ORIGIN_STATE && element->key_length == 4 &&
           host_word(cursor_of(element->key, 4)) & ESTABLISHED;
}

/* Returns "@name", or the elements of an anonymous set of single values; the kernel's order differs from that of the
 * input, but is stable. */
static const char *set_text(struct rule_builder *builder, const struct operand *operand, const char *name,
                            const struct netrules_set *set)
{
    const struct netrules_element *element = set ? set->elements : NULL;
    const char *text = "{";

    if (!set || !set->anonymous)
        return rule_text(builder, "@%s", name);
    if (set->interval || set->key_length > 16 || !operand->length || set->key_length > (operand->length + 3) / 4 * 4)
        return "{ ... }";
    for (int i = 0; element && i < SHOWN_ELEMENTS; element = element->next, i++) {
        text = rule_text(
            builder, "%s%s%s", text, i ? ", " : " ",
            rule_value(builder, operand->kind, cursor_of(element->key, element->key_length), field_of(operand)));
        if (element->has_verdict)
            text = rule_text(builder, "%s : %s%s%s", text, verdict_words[element->verdict], element->target ? " " : "",
                             element->target ? element->target : "");
    }
    return rule_text(builder, "%s%s}", text, element ? ", ... " : " ");
}

static void look_up(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    uint32_t source = nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_SREG);
    uint32_t destination = nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_DREG);
    const char *name = string_of(builder, expression, NFTNL_EXPR_LOOKUP_SET);
    const struct netrules_set *set = netrules_find_set(builder->rule->chain->table, name);
    const struct operand *operand = rule_operand(builder, source);
    const char *key = rule_operands(builder, source, set ? set->key_length : operand->length);
    const char *elements = set_text(builder, operand, name, set);
    bool inverted = nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_FLAGS) & NFT_LOOKUP_F_INV;
    bool map = nftnl_expr_is_set(expression, NFTNL_EXPR_LOOKUP_DREG), verdicts = map && destination == NFT_REG_VERDICT;

    builder->rule->conditional = true;
    evaluate_mark(builder, operand, 0);
    for (const struct netrules_element *element = set ? set->elements : NULL; element; element = element->next) {
        bool established = is_established_key(operand, element);

        if (verdicts && element->has_verdict)
            rule_branch(builder, (struct netrules_branch){ .verdict = element->verdict,
                                                           .target = element->target,
                                                           .established = established });
        else if (!map && !inverted && established)
            builder->rule->established = true;
    }
    if (map && !verdicts)
        rule_load(
            builder, destination,
            (struct operand){ .text = rule_text(builder, "%s map %s", key, elements), .length = 4, .mask = ALL_BITS });
    else
        rule_word(builder, "%s %s%s", key, verdicts ? "vmap " : inverted ? "!= " : "", elements);
}

static void update_set(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    static const char *const ops[] = { "add", "update", "delete" };
    const struct operand *key = operand_of(builder, expression, NFTNL_EXPR_DYNSET_SREG_KEY);
    uint32_t op = nftnl_expr_get_u32(expression, NFTNL_EXPR_DYNSET_OP);

    if (nftnl_expr_is_set(expression, NFTNL_EXPR_DYNSET_EXPR)) /* a limit for each element */
        builder->rule->conditional = true;
    rule_word(builder, "%s @%s { %s }", op < 3 ? ops[op] : "?",
              string_of(builder, expression, NFTNL_EXPR_DYNSET_SET_NAME), key->text);
}

/* --- Statements ------------------------------------------------------------------------------------- */

static void queue(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    const struct operand *by = operand_of(builder, expression, NFTNL_EXPR_QUEUE_SREG_QNUM);
    bool chosen = nftnl_expr_is_set(expression, NFTNL_EXPR_QUEUE_SREG_QNUM);
    uint16_t flags = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_FLAGS);
    bool bypass = flags & NFT_QUEUE_FLAG_BYPASS, fanout = flags & NFT_QUEUE_FLAG_CPU_FANOUT;
    uint32_t first = chosen ? by->offset : nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_NUM);
    uint32_t total = chosen ? by->modulus : nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_TOTAL);
    uint64_t last = total ? (uint64_t)first + total - 1 : first;
    struct netrules_queue queue = { .first = (uint16_t)first,
                                    .last = last > UINT16_MAX ? UINT16_MAX : (uint16_t)last,
                                    .bypass = bypass,
                                    .spread = fanout ? NETRULES_SPREAD_CPU : NETRULES_SPREAD_ADDRESSES };

    if (chosen) {
        queue.spread = by->origin == ORIGIN_SYMMETRIC_HASH ? NETRULES_SPREAD_FLOW
                       : by->origin == ORIGIN_CPU          ? NETRULES_SPREAD_CPU
                                                           : NETRULES_SPREAD_OTHER;
        if (!total || last > UINT16_MAX) { /* a mark or a map selects any queue */
            queue.first = 0;
            queue.last = UINT16_MAX;
            queue.unknown = true;
        }
    }
    if (queue.first == queue.last)
        queue.spread = NETRULES_SPREAD_NONE;
    rule_queue(builder, queue);
    rule_word(builder, "queue");
    if (flags)
        rule_word(builder, "flags %s%s%s", bypass ? "bypass" : "", bypass && fanout ? "," : "", fanout ? "fanout" : "");
    if (chosen)
        rule_word(builder, "to %s", by->text);
    else if (queue.first == queue.last)
        rule_word(builder, "to %u", (unsigned)queue.first);
    else
        rule_word(builder, "to %u-%u", (unsigned)queue.first, (unsigned)queue.last);
}

static void reject(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    bool reset = nftnl_expr_get_u32(expression, NFTNL_EXPR_REJECT_TYPE) == NFT_REJECT_TCP_RST;

    rule_verdict(builder, NETRULES_DROP, NULL);
    rule_word(builder, reset ? "reject with tcp reset" : "reject");
}

static void offload(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    builder->rule->flowtable = string_of(builder, expression, NFTNL_EXPR_FLOW_TABLE_NAME);
    rule_word(builder, "flow add @%s", builder->rule->flowtable);
}

static void log_packet(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    const char *prefix = string_of(builder, expression, NFTNL_EXPR_LOG_PREFIX);

    rule_word(builder, *prefix ? "log prefix \"%s\"" : "log", prefix);
}

static void limit(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    uint64_t rate = nftnl_expr_get_u64(expression, NFTNL_EXPR_LIMIT_RATE);
    uint64_t unit = nftnl_expr_get_u64(expression, NFTNL_EXPR_LIMIT_UNIT);
    const char *name = unit == 60      ? "minute"
                       : unit == 3600  ? "hour"
                       : unit == 86400 ? "day"
                       : unit > 86400  ? "week"
                                       : "second";

    rule_condition(builder, "limit rate %llu/%s", (unsigned long long)rate, name);
}

static void nat(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    rule_word(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_NAT_TYPE) == NFT_NAT_SNAT ? "snat" : "dnat");
}

static void object(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    if (nftnl_expr_get_u32(expression, NFTNL_EXPR_OBJREF_IMM_TYPE) != NFT_OBJECT_COUNTER)
        builder->rule->conditional = true; /* quotas and limits */
    rule_word(builder, "object \"%s\"", string_of(builder, expression, NFTNL_EXPR_OBJREF_IMM_NAME));
}

static void match(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    rule_xt_match(builder, string_of(builder, expression, NFTNL_EXPR_MT_NAME),
                  nftnl_expr_get_u32(expression, NFTNL_EXPR_MT_REV), expression_bytes(expression, NFTNL_EXPR_MT_INFO));
}

static void target(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    rule_xt_target(builder, string_of(builder, expression, NFTNL_EXPR_TG_NAME),
                   nftnl_expr_get_u32(expression, NFTNL_EXPR_TG_REV), expression_bytes(expression, NFTNL_EXPR_TG_INFO));
}

static const struct {
    const char *name;
    void (*read)(struct rule_builder *builder, const struct nftnl_expr *expression);
} expressions[] = {
    { "cmp", compare },
    { "range", compare_range },
    { "bitwise", change_bits },
    { "byteorder", change_order },
    { "lookup", look_up },
    { "dynset", update_set },
    { "immediate", load_immediate },
    { "reject", reject },
    { "queue", queue },
    { "log", log_packet },
    { "flow_offload", offload },
    { "limit", limit },
    { "nat", nat },
    { "objref", object },
    { "match", match },
    { "target", target },
};

/* Statements that need no more than their name: whether they are conditions, and whether they end the rule. */
static const struct {
    const char *name, *word;
    bool conditional, ends;
} words[] = {
    { "counter", "counter", false, false }, { "last", "last", false, false },
    { "masq", "masquerade", false, false }, { "redir", "redirect", false, false },
    { "dup", "dup", false, false },         { "fwd", "fwd", false, true },
    { "tproxy", "tproxy", false, false },   { "synproxy", "synproxy", true, true },
    { "quota", "quota", true, false },      { "connlimit", "ct count", true, false },
    { "notrack", "notrack", false, false },
};

void rule_expression(struct rule_builder *builder, const char *name, const struct nftnl_expr *expression)
{
    /* A counter counts for the queue only if nothing but a hash, which every packet passes, is between the two. */
    if (strcmp(name, "counter") == 0) {
        builder->counted = expression != NULL;
        builder->packets = expression ? nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_PACKETS) : 0;
    } else if (strcmp(name, "hash") != 0 && strcmp(name, "queue") != 0 && strcmp(name, "target") != 0) {
        builder->counted = false;
    }
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].name, name) != 0)
            continue;
        rule_word(builder, "%s", words[i].word);
        builder->rule->conditional |= words[i].conditional;
        if (words[i].ends)
            rule_verdict(builder, NETRULES_STOLEN, NULL);
        return;
    }
    for (size_t i = 0; expression && i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        if (strcmp(expressions[i].name, name) != 0)
            continue;
        expressions[i].read(builder, expression);
        return;
    }
    if (!expression || !rule_load_expression(builder, name, expression))
        rule_condition(builder, "[%s]", name);
}
