/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions that compare, write or decide. An unknown expression makes the rule conditional, so that it does not
 * appear to match every packet.
 */
#include "netrules_priv.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nf_tables_compat.h>
#include <net/if.h>
#include <string.h>

enum { LOOPBACK_INDEX = 1, ESTABLISHED = 2 /* NF_CT_STATE_BIT(IP_CT_ESTABLISHED) */, SHOWN_ELEMENTS = 8 };

/* --- Comparisons ------------------------------------------------------------------------------------ */

static uint32_t host_word(struct cursor bytes)
{
    uint32_t word = 0;

    if (bytes.at)
        memcpy(&word, bytes.at, cursor_remaining(&bytes) < sizeof(word) ? cursor_remaining(&bytes) : sizeof(word));
    return word;
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
    if ((operand->origin == ORIGIN_IN || operand->origin == ORIGIN_OUT) &&
        (operand->kind == VALUE_NAME ? length >= 3 && memcmp(value.at, "lo", 3) == 0
                                     : host_word(value) == LOOPBACK_INDEX))
        rule->only_loopback = true;
    if (operand->origin == ORIGIN_STATE && host_word(value) == ESTABLISHED)
        rule->established = true;
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

/* Returns the length of the prefix that the mask is, or -1. */
static int prefix_of(const struct operand *operand)
{
    int bits = 0;
    bool ended = false;

    for (size_t i = 0; i < 8 * operand->masked_count; i++) {
        bool set = operand->masked[i / 8] & 0x80 >> i % 8;

        if (set && ended)
            return -1;
        ended = !set;
        bits += set;
    }
    return bits;
}

static bool is_address(const struct operand *operand)
{
    return operand->kind == VALUE_ADDRESS4 || operand->kind == VALUE_ADDRESS6;
}

static size_t field_of(const struct operand *operand)
{
    return operand->kind == VALUE_NAME ? IFNAMSIZ : operand->length;
}

/* "ct state established,related": nft's syntax for "any of these bits". */
static bool write_any_bits(struct rule_builder *builder, const struct operand *operand, uint32_t op, uint32_t value)
{
    struct text bits;

    if ((operand->kind != VALUE_STATE && operand->kind != VALUE_STATUS) || !operand->masked || op != NFT_CMP_NEQ ||
        value != 0)
        return false;
    text_init(&bits);
    value_write(&bits, operand->kind, cursor_of(operand->masked, operand->masked_count), 4);
    rule_word(builder, "%s %s", operand->text, bits.bytes ? bits.bytes : "?");
    text_clear(&bits);
    if (operand->origin == ORIGIN_STATE && host_word(cursor_of(operand->masked, operand->masked_count)) & ESTABLISHED)
        builder->rule->established = true;
    return true;
}

/* Returns the text of a comparison, including earlier operations on the register. */
static const char *compared(struct rule_builder *builder, const struct operand *operand, const char *op,
                            const char *value)
{
    struct arena *arena = builder->ruleset->arena;
    int prefix = is_address(operand) ? prefix_of(operand) : -1;
    struct text mask;
    const char *out;

    if (!operand->masked)
        return arena_printf(arena, "%s %s%s", operand->text, op, value);
    if (prefix >= 0)
        return arena_printf(arena, "%s %s%s/%d", operand->text, op, value, prefix);
    text_init(&mask);
    value_write(&mask, operand->kind, cursor_of(operand->masked, operand->masked_count), operand->masked_count);
    out = arena_printf(arena, "%s & %s %s%s", operand->text, mask.bytes ? mask.bytes : "?", *op ? op : "== ", value);
    text_clear(&mask);
    return out;
}

static bool is_dependency(const struct operand *operand)
{
    return operand->origin == ORIGIN_NFPROTO || operand->origin == ORIGIN_L4PROTO ||
           operand->origin == ORIGIN_ETHERTYPE;
}

static void compare(struct rule_builder *builder, struct cursor data)
{
    static const char *const ops[] = { "", "!= ", "< ", "<= ", "> ", ">= " };
    const struct operand *operand = rule_operand(builder, netrules_attribute(data, NFTA_CMP_SREG));
    struct cursor value = netrules_attribute(netrules_attribute(data, NFTA_CMP_DATA), NFTA_DATA_VALUE);
    uint32_t op = netrules_be32(netrules_attribute(data, NFTA_CMP_OP), NFT_CMP_EQ);
    struct text written;
    const char *text;

    rule_condition(builder);
    evaluate_mark(builder, operand, host_word(value));
    if (write_any_bits(builder, operand, op, host_word(value)))
        return;
    text_init(&written);
    value_write(&written, operand->kind, value, field_of(operand));
    text = compared(builder, operand, op < 6 ? ops[op] : "?? ", written.bytes ? written.bytes : "?");
    text_clear(&written);
    if (!text) {
        builder->failed = true;
        return;
    }
    if (op == NFT_CMP_EQ)
        evaluate_equal(builder, operand, value);
    if (op == NFT_CMP_EQ && is_dependency(operand))
        rule_dependency(builder, operand->origin, text);
    else
        rule_word(builder, "%s", text);
}

static void compare_range(struct rule_builder *builder, struct cursor data)
{
    const struct operand *operand = rule_operand(builder, netrules_attribute(data, NFTA_RANGE_SREG));
    bool inverted = netrules_be32(netrules_attribute(data, NFTA_RANGE_OP), NFT_RANGE_EQ) == NFT_RANGE_NEQ;
    struct text range;

    rule_condition(builder);
    evaluate_mark(builder, operand, 0);
    text_init(&range);
    value_write(&range, operand->kind,
                netrules_attribute(netrules_attribute(data, NFTA_RANGE_FROM_DATA), NFTA_DATA_VALUE), field_of(operand));
    text_puts(&range, "-");
    value_write(&range, operand->kind,
                netrules_attribute(netrules_attribute(data, NFTA_RANGE_TO_DATA), NFTA_DATA_VALUE), field_of(operand));
    rule_word(builder, "%s %s%s", operand->text, inverted ? "!= " : "", range.bytes ? range.bytes : "?");
    text_clear(&range);
}

/* --- Changes of registers --------------------------------------------------------------------------- */

static bool is_all(struct cursor bytes, uint8_t value)
{
    for (const uint8_t *at = bytes.at; at < bytes.end; at++)
        if (*at != value)
            return false;
    return true;
}

/* "meta mark | 0x1", "meta mark & 0xff | 0x1": nft's syntax for changes of a mark. */
static const char *changed_text(struct rule_builder *builder, const struct operand *operand, uint32_t mask,
                                uint32_t toggle)
{
    struct arena *arena = builder->ruleset->arena;

    if (!(toggle & mask) && toggle)
        return mask == ~toggle ? arena_printf(arena, "%s | 0x%x", operand->text, toggle)
                               : arena_printf(arena, "%s & 0x%x | 0x%x", operand->text, mask, toggle);
    if (toggle)
        return arena_printf(arena, "%s & 0x%x ^ 0x%x", operand->text, mask, toggle);
    return arena_printf(arena, "%s & 0x%x", operand->text, mask);
}

static void change_bits(struct rule_builder *builder, struct cursor data)
{
    struct operand operand = *rule_operand(builder, netrules_attribute(data, NFTA_BITWISE_SREG));
    struct cursor mask = netrules_attribute(netrules_attribute(data, NFTA_BITWISE_MASK), NFTA_DATA_VALUE);
    struct cursor toggle = netrules_attribute(netrules_attribute(data, NFTA_BITWISE_XOR), NFTA_DATA_VALUE);
    uint32_t op = netrules_be32(netrules_attribute(data, NFTA_BITWISE_OP), 0);
    bool one_word = cursor_remaining(&mask) == 4 && cursor_remaining(&toggle) == 4;

    if (op != 0 || (!one_word && !is_all(toggle, 0))) { /* shifts, and forms that are not written by hand */
        operand.origin = ORIGIN_OTHER;
        operand.text = arena_printf(builder->ruleset->arena, "%s %s", operand.text, op ? "shifted" : "changed");
        operand.kind = VALUE_HEX;
    } else if (one_word && !is_all(toggle, 0)) {
        operand.mask = operand.mask & host_word(mask);
        operand.toggle = (operand.toggle & host_word(mask)) ^ host_word(toggle);
        operand.text = changed_text(builder, &operand, host_word(mask), host_word(toggle));
    } else if (!is_all(mask, 0xff)) {
        operand.mask &= one_word ? host_word(mask) : ALL_BITS;
        operand.toggle &= operand.mask;
        operand.masked = arena_copy(builder->ruleset->arena, mask.at, cursor_remaining(&mask));
        operand.masked_count = cursor_remaining(&mask);
        builder->failed |= !operand.masked;
    }
    rule_load(builder, netrules_attribute(data, NFTA_BITWISE_DREG), operand);
}

static void change_order(struct rule_builder *builder, struct cursor data)
{
    struct operand operand = *rule_operand(builder, netrules_attribute(data, NFTA_BYTEORDER_SREG));

    operand.origin = ORIGIN_OTHER;
    if (operand.kind == VALUE_HOST)
        operand.kind = VALUE_NUMBER;
    else if (operand.kind == VALUE_MARK || operand.kind == VALUE_NUMBER)
        operand.kind = operand.kind == VALUE_NUMBER ? VALUE_HOST : VALUE_HEX;
    rule_load(builder, netrules_attribute(data, NFTA_BYTEORDER_DREG), operand);
}

/* --- Sets and maps ---------------------------------------------------------------------------------- */

static bool is_established_key(const struct operand *operand, const struct netrules_element *element)
{
    return operand->origin == ORIGIN_STATE && element->key_length == 4 &&
           host_word(cursor_of(element->key, element->key_length)) & ESTABLISHED;
}

static void add_branches(struct rule_builder *builder, const struct operand *operand, const struct netrules_set *set)
{
    for (const struct netrules_element *element = set ? set->elements : NULL; element; element = element->next)
        if (element->has_verdict)
            rule_branch(builder, (struct netrules_branch){
                                     .verdict = element->verdict,
                                     .target = element->target,
                                     .established = is_established_key(operand, element),
                                 });
}

static void write_element(struct text *out, const struct operand *operand, const struct netrules_element *element)
{
    static const char *const verdicts[] = { "continue", "accept", "drop", "jump", "goto", "return", "queue", "stolen" };

    value_write(out, operand->kind, cursor_of(element->key, element->key_length), field_of(operand));
    if (!element->has_verdict)
        return;
    text_printf(out, " : %s", verdicts[element->verdict]);
    if (element->target)
        text_printf(out, " %s", element->target);
}

static size_t text_of_elements(struct text *out, const struct operand *operand, const struct netrules_element *element)
{
    size_t count = 0;

    for (; element && count < SHOWN_ELEMENTS; element = element->next, count++) {
        text_puts(out, count ? ", " : " ");
        write_element(out, operand, element);
    }
    text_puts(out, element ? ", ... " : " ");
    return count;
}

/* Writes "@name", or the elements of an anonymous set of single values; the kernel's order differs from that of the
 * input, but is stable. */
static void write_set(struct rule_builder *builder, struct text *out, const struct operand *operand, const char *name)
{
    const struct netrules_set *set = netrules_find_set(builder->table, name);
    bool simple = set && set->anonymous && !set->interval && set->key_length <= 16 && operand->length &&
                  set->key_length <= (operand->length + 3) / 4 * 4;

    if (!set || !set->anonymous) {
        text_printf(out, "@%s", name);
        return;
    }
    text_puts(out, "{");
    if (simple)
        text_of_elements(out, operand, set->elements);
    else
        text_puts(out, " ... ");
    text_puts(out, "}");
}

/* Derives properties from an anonymous set: whether it contains the state established. */
static void evaluate_set(struct rule_builder *builder, const struct operand *operand, const struct netrules_set *set)
{
    for (const struct netrules_element *element = set ? set->elements : NULL; element; element = element->next)
        if (is_established_key(operand, element))
            builder->rule->established = true;
}

static void lookup(struct rule_builder *builder, struct cursor data)
{
    const char *name = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_LOOKUP_SET));
    struct cursor source = netrules_attribute(data, NFTA_LOOKUP_SREG),
                  into = netrules_attribute(data, NFTA_LOOKUP_DREG);
    const struct netrules_set *set = netrules_find_set(builder->table, name);
    const struct operand *operand = rule_operand(builder, source);
    const char *key = rule_operands(builder, source, set ? set->key_length : operand->length);
    bool inverted = netrules_be32(netrules_attribute(data, NFTA_LOOKUP_FLAGS), 0) & NFT_LOOKUP_F_INV;
    bool verdicts = cursor_remaining(&into) && netrules_be32(into, NFT_REG_1) == NFT_REG_VERDICT;
    struct text text;

    rule_condition(builder);
    if (!name) {
        builder->failed = true;
        return;
    }
    text_init(&text);
    text_printf(&text, "%s %s", key, verdicts ? "vmap " : cursor_remaining(&into) ? "map " : inverted ? "!= " : "");
    write_set(builder, &text, operand, name);
    evaluate_mark(builder, operand, 0);
    if (verdicts) {
        add_branches(builder, operand, set);
        rule_word(builder, "%s", text.bytes ? text.bytes : "?");
    } else if (cursor_remaining(&into)) {
        const char *copy = arena_strdup(builder->ruleset->arena, text.bytes ? text.bytes : "?");

        rule_load(builder, into, (struct operand){ .origin = ORIGIN_MAP, .text = copy, .length = 4, .mask = ALL_BITS });
    } else {
        if (!inverted)
            evaluate_set(builder, operand, set);
        rule_word(builder, "%s", text.bytes ? text.bytes : "?");
    }
    text_clear(&text);
}

static void update_set(struct rule_builder *builder, struct cursor data)
{
    static const char *const ops[] = { "add", "update", "delete" };
    const char *name = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_DYNSET_SET_NAME));
    const struct operand *key = rule_operand(builder, netrules_attribute(data, NFTA_DYNSET_SREG_KEY));
    uint32_t op = netrules_be32(netrules_attribute(data, NFTA_DYNSET_OP), 0);
    struct cursor expression = netrules_attribute(data, NFTA_DYNSET_EXPR);

    if (cursor_remaining(&expression)) /* a limit for each element */
        rule_condition(builder);
    rule_word(builder, "%s @%s { %s }", op < 3 ? ops[op] : "?", name ? name : "?", key->text);
}

/* --- Verdicts --------------------------------------------------------------------------------------- */

static void read_verdict(struct rule_builder *builder, struct cursor data)
{
    static const char *const words[] = { "continue", "accept", "drop", "jump", "goto", "return", "queue", "stolen" };
    enum netrules_verdict verdict;
    const char *target;

    if (netrules_read_verdict(builder->ruleset->arena, data, &verdict, &target)) {
        rule_condition(builder);
        rule_word(builder, "?");
        return;
    }
    rule_verdict(builder, verdict, target);
    rule_word(builder, target ? "%s %s" : "%s", words[verdict], target);
}

static void immediate(struct rule_builder *builder, struct cursor data)
{
    struct cursor into = netrules_attribute(data, NFTA_IMMEDIATE_DREG),
                  what = netrules_attribute(data, NFTA_IMMEDIATE_DATA);
    struct cursor value = netrules_attribute(what, NFTA_DATA_VALUE);
    struct operand operand = { .origin = ORIGIN_IMMEDIATE, .mask = ALL_BITS, .byte_count = cursor_remaining(&value) };
    struct text text;

    if (netrules_be32(into, NFT_REG_1) == NFT_REG_VERDICT) {
        read_verdict(builder, netrules_attribute(what, NFTA_DATA_VERDICT));
        return;
    }
    text_init(&text);
    value_write(&text, VALUE_HEX, value, operand.byte_count);
    operand.bytes = arena_copy(builder->ruleset->arena, value.at, operand.byte_count);
    operand.text = arena_strdup(builder->ruleset->arena, text.bytes ? text.bytes : "?");
    operand.length = (uint32_t)operand.byte_count;
    text_clear(&text);
    builder->failed |= !operand.bytes;
    rule_load(builder, into, operand);
}

static void reject(struct rule_builder *builder, struct cursor data)
{
    uint32_t type = netrules_be32(netrules_attribute(data, NFTA_REJECT_TYPE), NFT_REJECT_ICMP_UNREACH);

    rule_verdict(builder, NETRULES_DROP, NULL);
    rule_word(builder, type == NFT_REJECT_TCP_RST ? "reject with tcp reset" : "reject");
}

/* --- Queues ----------------------------------------------------------------------------------------- */

static enum netrules_spread spread_of(enum origin origin)
{
    switch (origin) {
    case ORIGIN_SYMHASH:
    case ORIGIN_ORIGINAL_JHASH:
        return NETRULES_SPREAD_FLOW;
    case ORIGIN_CPU:
        return NETRULES_SPREAD_CPU;
    default:
        return NETRULES_SPREAD_OTHER;
    }
}

/* Returns the queues that an expression selects: with a modulus a range, otherwise any. */
static struct netrules_queue chosen_queue(const struct operand *by)
{
    struct netrules_queue queue = { .spread = spread_of(by->origin), .last = UINT16_MAX, .unknown = true };

    if (by->modulus && by->offset + (uint64_t)by->modulus - 1 <= UINT16_MAX) {
        queue.first = (uint16_t)by->offset;
        queue.last = (uint16_t)(by->offset + by->modulus - 1);
        queue.unknown = false;
    }
    if (queue.first == queue.last)
        queue.spread = NETRULES_SPREAD_NONE;
    return queue;
}

static uint16_t be16_of(struct cursor value, uint16_t otherwise)
{
    uint16_t out;

    return cursor_be16(&value, &out) ? out : otherwise;
}

static struct netrules_queue numbered_queue(struct cursor data, uint16_t flags)
{
    uint16_t first = be16_of(netrules_attribute(data, NFTA_QUEUE_NUM), 0);
    uint16_t total = be16_of(netrules_attribute(data, NFTA_QUEUE_TOTAL), 1);
    uint32_t last = total ? first + total - 1u : first;

    return (struct netrules_queue){
        .first = first,
        .last = last > UINT16_MAX ? UINT16_MAX : (uint16_t)last,
        .spread = total <= 1                          ? NETRULES_SPREAD_NONE
                  : flags & NFT_QUEUE_FLAG_CPU_FANOUT ? NETRULES_SPREAD_CPU
                                                      : NETRULES_SPREAD_ADDRESSES,
    };
}

static void queue(struct rule_builder *builder, struct cursor data)
{
    struct cursor source = netrules_attribute(data, NFTA_QUEUE_SREG_QNUM);
    uint16_t flags = be16_of(netrules_attribute(data, NFTA_QUEUE_FLAGS), 0);
    bool chosen = cursor_remaining(&source) > 0;
    struct netrules_queue queue = chosen ? chosen_queue(rule_operand(builder, source)) : numbered_queue(data, flags);

    queue.bypass = flags & NFT_QUEUE_FLAG_BYPASS;
    rule_queue(builder, queue);
    rule_word(builder, "queue");
    if (flags)
        rule_word(builder, "flags %s%s%s", queue.bypass ? "bypass" : "",
                  queue.bypass && flags & NFT_QUEUE_FLAG_CPU_FANOUT ? "," : "",
                  flags & NFT_QUEUE_FLAG_CPU_FANOUT ? "fanout" : "");
    if (chosen)
        rule_word(builder, "to %s", rule_operand(builder, source)->text);
    else if (queue.first == queue.last)
        rule_word(builder, "to %u", (unsigned)queue.first);
    else
        rule_word(builder, "to %u-%u", (unsigned)queue.first, (unsigned)queue.last);
}

/* --- Other statements ------------------------------------------------------------------------------- */

static void offload(struct rule_builder *builder, struct cursor data)
{
    const char *name = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_FLOW_TABLE_NAME));

    builder->rule->flowtable = name;
    rule_word(builder, "flow add @%s", name ? name : "?");
    builder->failed |= !name;
}

static void log_packet(struct rule_builder *builder, struct cursor data)
{
    const char *prefix = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_LOG_PREFIX));

    if (prefix && *prefix)
        rule_word(builder, "log prefix \"%s\"", prefix);
    else
        rule_word(builder, "log");
}

static void no_track(struct rule_builder *builder, struct cursor data)
{
    (void)data;
    builder->rule->notrack = true;
    rule_word(builder, "notrack");
}

static void limit(struct rule_builder *builder, struct cursor data)
{
    uint64_t rate = netrules_be64(netrules_attribute(data, NFTA_LIMIT_RATE), 0);
    uint64_t unit = netrules_be64(netrules_attribute(data, NFTA_LIMIT_UNIT), 1);
    const char *name = unit == 1       ? "second"
                       : unit == 60    ? "minute"
                       : unit == 3600  ? "hour"
                       : unit == 86400 ? "day"
                                       : "week";

    rule_condition(builder);
    rule_word(builder, "limit rate %llu/%s", (unsigned long long)rate, name);
}

static void nat(struct rule_builder *builder, struct cursor data)
{
    rule_word(builder, netrules_be32(netrules_attribute(data, NFTA_NAT_TYPE), 0) == NFT_NAT_SNAT ? "snat" : "dnat");
}

static void object(struct rule_builder *builder, struct cursor data)
{
    const char *name = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_OBJREF_IMM_NAME));

    if (netrules_be32(netrules_attribute(data, NFTA_OBJREF_IMM_TYPE), 0) != NFT_OBJECT_COUNTER)
        rule_condition(builder); /* quotas and limits */
    rule_word(builder, "object \"%s\"", name ? name : "");
}

static void match(struct rule_builder *builder, struct cursor data)
{
    const char *name = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_MATCH_NAME));

    if (name)
        rule_xt_match(builder, name, netrules_be32(netrules_attribute(data, NFTA_MATCH_REV), 0),
                      netrules_attribute(data, NFTA_MATCH_INFO));
}

static void target(struct rule_builder *builder, struct cursor data)
{
    const char *name = netrules_string(builder->ruleset->arena, netrules_attribute(data, NFTA_TARGET_NAME));

    if (name)
        rule_xt_target(builder, name, netrules_be32(netrules_attribute(data, NFTA_TARGET_REV), 0),
                       netrules_attribute(data, NFTA_TARGET_INFO));
}

static const struct {
    const char *name;
    void (*take)(struct rule_builder *builder, struct cursor data);
} expressions[] = {
    { "cmp", compare },          { "range", compare_range },
    { "bitwise", change_bits },  { "byteorder", change_order },
    { "lookup", lookup },        { "dynset", update_set },
    { "immediate", immediate },  { "reject", reject },
    { "queue", queue },          { "log", log_packet },
    { "flow_offload", offload }, { "notrack", no_track },
    { "limit", limit },          { "nat", nat },
    { "objref", object },        { "match", match },
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
};

static bool write_named(struct rule_builder *builder, const char *name)
{
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        if (strcmp(words[i].name, name) != 0)
            continue;
        rule_word(builder, "%s", words[i].word);
        builder->rule->conditional |= words[i].conditional;
        if (words[i].ends)
            rule_verdict(builder, NETRULES_STOLEN, NULL);
        return true;
    }
    return false;
}

/* A counter counts for the queue only if nothing but a hash, which every packet passes, is between the two. */
static void track_counter(struct rule_builder *builder, const char *name, struct cursor data)
{
    if (strcmp(name, "counter") == 0) {
        builder->counted = true;
        builder->packets = netrules_be64(netrules_attribute(data, NFTA_COUNTER_PACKETS), 0);
    } else if (strcmp(name, "hash") != 0 && strcmp(name, "queue") != 0 && strcmp(name, "target") != 0) {
        builder->counted = false;
    }
}

void rule_expression(struct rule_builder *builder, const char *name, struct cursor data)
{
    track_counter(builder, name, data);
    if (rule_load_expression(builder, name, data) || write_named(builder, name))
        return;
    for (size_t i = 0; i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        if (strcmp(expressions[i].name, name) != 0)
            continue;
        expressions[i].take(builder, data);
        return;
    }
    rule_condition(builder);
    rule_word(builder, "[%s]", name);
}
