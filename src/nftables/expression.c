/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interprets the expressions of an nf_tables rule, parsed by libnftnl: which packets the rule matches and what it does
 * with them, as far as this affects queues. The text of a rule is written in libnftnl's notation.
 */
#include "nftables_priv.h"

#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

#include "sluice/xtables.h"

enum {
    LOOPBACK_INDEX = 1,
    ESTABLISHED = 2, /* NF_CT_STATE_BIT(IP_CT_ESTABLISHED) */
    ETHERTYPE_OFFSET = 12,
    TEXT_SIZE = 1024,
};

/* --- Registers -------------------------------------------------------------------------------------- */

static const struct operand unknown = { .mask = UINT32_MAX };

/* Returns the register that the attribute names: a register of 4 bytes, or the first 4 bytes of a 16-byte register
 * (enum nft_registers). Returns NULL if it is the verdict register or the attribute is missing. */
static struct operand *register_of(struct rule_reader *reader, const struct nftnl_expr *expression, uint16_t attribute)
{
    uint32_t number = nftnl_expr_get_u32(expression, attribute);

    if (number >= NFT_REG_1 && number <= NFT_REG_4)
        return &reader->registers[(number - NFT_REG_1) * 4];
    if (number >= NFT_REG32_00 && number <= NFT_REG32_15)
        return &reader->registers[number - NFT_REG32_00];
    return NULL;
}

static void load_register(struct rule_reader *reader, const struct nftnl_expr *expression, uint16_t destination,
                          struct operand operand)
{
    struct operand *to = register_of(reader, expression, destination);

    if (to)
        *to = operand;
}

static struct operand operand_of(struct rule_reader *reader, const struct nftnl_expr *expression, uint16_t source)
{
    const struct operand *from = register_of(reader, expression, source);

    return from ? *from : unknown;
}

static struct cursor bytes_of(const struct nftnl_expr *expression, uint16_t attribute)
{
    uint32_t length = 0;
    const void *bytes = nftnl_expr_get(expression, attribute, &length);

    return bytes ? cursor_of(bytes, length) : (struct cursor){ .at = NULL };
}

/* Returns a string attribute, or "" if the expression lacks it. */
static const char *string_of(const struct nftnl_expr *expression, uint16_t attribute)
{
    const char *string = nftnl_expr_get_str(expression, attribute);

    return string ? string : "";
}

/* Returns the first four bytes, or fewer if there are no more, as a number in host byte order. */
static uint32_t host_word(struct cursor bytes)
{
    uint32_t word = 0;

    if (bytes.at)
        memcpy(&word, bytes.at, cursor_remaining(&bytes) < sizeof(word) ? cursor_remaining(&bytes) : sizeof(word));
    return word;
}

/* --- Loading and setting ---------------------------------------------------------------------------- */

/* Interprets an expression that reads a field into its destination register or, if it has a source register, writes the
 * field from it. Records the writing of a mark. */
static void load_or_set(struct rule_reader *reader, const struct nftnl_expr *expression, enum origin origin,
                        uint16_t destination, uint16_t source)
{
    bool of_packet = origin == ORIGIN_PACKET_MARK;
    struct netrules_mark mark = { .kind = of_packet ? NETRULES_PACKET_MARK : NETRULES_CONNECTION_MARK,
                                  .use = NETRULES_MARK_ANY,
                                  .mask = UINT32_MAX };
    struct operand from;

    if (!nftnl_expr_is_set(expression, source)) {
        load_register(reader, expression, destination, (struct operand){ .origin = origin, .mask = UINT32_MAX });
        return;
    }
    if (!of_packet && origin != ORIGIN_CONNECTION_MARK)
        return;
    from = operand_of(reader, expression, source);
    if (from.origin == origin) { /* the new mark is (old mark & from.mask) ^ from.toggle */
        mark.use = NETRULES_MARK_SET;
        mark.mask = ~from.mask | from.toggle;
        mark.value = from.toggle;
    } else if (from.origin == (of_packet ? ORIGIN_CONNECTION_MARK : ORIGIN_PACKET_MARK)) {
        mark.use = NETRULES_MARK_COPY;
        mark.source = from.mask;
        mark.value = from.toggle;
    } else if (from.origin == ORIGIN_IMMEDIATE) {
        mark.use = NETRULES_MARK_SET;
        mark.value = from.value;
    }
    netrules_add_mark(&reader->builder, mark);
}

static void read_meta(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    static const enum origin origins[] = {
        [NFT_META_PROTOCOL] = ORIGIN_ETHERTYPE,     [NFT_META_MARK] = ORIGIN_PACKET_MARK,
        [NFT_META_IIF] = ORIGIN_INTERFACE,          [NFT_META_OIF] = ORIGIN_INTERFACE,
        [NFT_META_IIFNAME] = ORIGIN_INTERFACE_NAME, [NFT_META_OIFNAME] = ORIGIN_INTERFACE_NAME,
        [NFT_META_NFPROTO] = ORIGIN_NFPROTO,        [NFT_META_CPU] = ORIGIN_CPU,
    };
    uint32_t key = nftnl_expr_get_u32(expression, NFTNL_EXPR_META_KEY);

    load_or_set(reader, expression, key < sizeof(origins) / sizeof(origins[0]) ? origins[key] : ORIGIN_OTHER,
                NFTNL_EXPR_META_DREG, NFTNL_EXPR_META_SREG);
}

static void read_ct(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    uint32_t key = nftnl_expr_get_u32(expression, NFTNL_EXPR_CT_KEY);
    enum origin origin = nftnl_expr_is_set(expression, NFTNL_EXPR_CT_DIR) ? ORIGIN_ORIGINAL_TUPLE
                         : key == NFT_CT_STATE                            ? ORIGIN_STATE
                         : key == NFT_CT_MARK                             ? ORIGIN_CONNECTION_MARK
                                                                          : ORIGIN_OTHER;

    load_or_set(reader, expression, origin, NFTNL_EXPR_CT_DREG, NFTNL_EXPR_CT_SREG);
}

static void read_payload(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    bool ethertype = nftnl_expr_get_u32(expression, NFTNL_EXPR_PAYLOAD_BASE) == NFT_PAYLOAD_LL_HEADER &&
                     nftnl_expr_get_u32(expression, NFTNL_EXPR_PAYLOAD_OFFSET) == ETHERTYPE_OFFSET &&
                     nftnl_expr_get_u32(expression, NFTNL_EXPR_PAYLOAD_LEN) == sizeof(uint16_t);

    load_or_set(reader, expression, ethertype ? ORIGIN_ETHERTYPE : ORIGIN_OTHER, NFTNL_EXPR_PAYLOAD_DREG,
                NFTNL_EXPR_PAYLOAD_SREG);
}

/* Interprets a hash expression. A hash of conntrack's original tuple is the same for both directions of a connection; a
 * hash of the packet's fields is not, unless it is a symhash. */
static void read_hash(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    bool symmetric = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_TYPE) == NFT_HASH_SYM ||
                     operand_of(reader, expression, NFTNL_EXPR_HASH_SREG).origin == ORIGIN_ORIGINAL_TUPLE;

    load_register(reader, expression, NFTNL_EXPR_HASH_DREG,
                  (struct operand){ .origin = symmetric ? ORIGIN_SYMMETRIC_HASH : ORIGIN_OTHER,
                                    .mask = UINT32_MAX,
                                    .modulus = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_MODULUS),
                                    .offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_OFFSET) });
}

static void read_numgen(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    load_register(reader, expression, NFTNL_EXPR_NG_DREG,
                  (struct operand){ .mask = UINT32_MAX,
                                    .modulus = nftnl_expr_get_u32(expression, NFTNL_EXPR_NG_MODULUS),
                                    .offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_NG_OFFSET) });
}

static void read_bitwise(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    struct operand operand = operand_of(reader, expression, NFTNL_EXPR_BITWISE_SREG);
    struct cursor masked = bytes_of(expression, NFTNL_EXPR_BITWISE_MASK);
    struct cursor toggled = bytes_of(expression, NFTNL_EXPR_BITWISE_XOR);
    uint32_t mask = host_word(masked), toggle = host_word(toggled);

    if (nftnl_expr_get_u32(expression, NFTNL_EXPR_BITWISE_OP) != NFT_BITWISE_BOOL ||
        cursor_remaining(&masked) != sizeof(mask) || cursor_remaining(&toggled) != sizeof(toggle))
        operand.origin = ORIGIN_OTHER;
    operand.mask &= mask;
    operand.toggle = (operand.toggle & mask) ^ toggle;
    load_register(reader, expression, NFTNL_EXPR_BITWISE_DREG, operand);
}

static void read_immediate(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    struct netrules_rule *rule = reader->builder.rule;
    struct cursor bytes = bytes_of(expression, NFTNL_EXPR_IMM_DATA);
    const char *target;

    if (nftnl_expr_get_u32(expression, NFTNL_EXPR_IMM_DREG) != NFT_REG_VERDICT) {
        load_register(
            reader, expression, NFTNL_EXPR_IMM_DREG,
            (struct operand){ .origin = cursor_remaining(&bytes) == sizeof(uint32_t) ? ORIGIN_IMMEDIATE : ORIGIN_OTHER,
                              .mask = UINT32_MAX,
                              .value = host_word(bytes) });
        return;
    }
    if (!nftables_verdict_of(nftnl_expr_get_u32(expression, NFTNL_EXPR_IMM_VERDICT), &rule->verdict)) {
        rule->conditional = true;
        return;
    }
    target = nftnl_expr_get_str(expression, NFTNL_EXPR_IMM_CHAIN);
    rule->target = target ? netrules_copy_string(&reader->builder, target, NFT_NAME_MAXLEN) : NULL;
}

/* --- Conditions ------------------------------------------------------------------------------------- */

/* Records the comparison of an operand with a value if the operand is a mark. */
static void match_mark(struct rule_reader *reader, const struct operand *operand, uint32_t value)
{
    if (operand->origin == ORIGIN_PACKET_MARK || operand->origin == ORIGIN_CONNECTION_MARK)
        netrules_add_mark(&reader->builder,
                          (struct netrules_mark){ .kind = operand->origin == ORIGIN_PACKET_MARK
                                                              ? NETRULES_PACKET_MARK
                                                              : NETRULES_CONNECTION_MARK,
                                                  .use = NETRULES_MARK_MATCH,
                                                  .mask = operand->mask,
                                                  .value = (value ^ operand->toggle) & operand->mask });
}

static void read_cmp(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    const struct operand operand = operand_of(reader, expression, NFTNL_EXPR_CMP_SREG);
    struct cursor value = bytes_of(expression, NFTNL_EXPR_CMP_DATA);
    struct netrules_rule *rule = reader->builder.rule;
    uint32_t op = nftnl_expr_get_u32(expression, NFTNL_EXPR_CMP_OP), word = host_word(value);
    size_t length = cursor_remaining(&value);

    rule->conditional = true;
    match_mark(reader, &operand, word);
    if (op == NFT_CMP_NEQ && operand.origin == ORIGIN_STATE && operand.mask != UINT32_MAX && !operand.toggle &&
        word == 0)
        /* "ct state established,related" tests whether any of these bits is set */
        rule->established |= (operand.mask & ESTABLISHED) != 0;
    if (op != NFT_CMP_EQ)
        return;
    if (operand.origin == ORIGIN_NFPROTO && length == 1)
        rule->families &= word == NFPROTO_IPV4 ? NETRULES_IPV4 : word == NFPROTO_IPV6 ? NETRULES_IPV6 : NETRULES_OTHER;
    if (operand.origin == ORIGIN_ETHERTYPE && length == sizeof(uint16_t))
        rule->families &= load_be16(value.at) == 0x0800   ? NETRULES_IPV4
                          : load_be16(value.at) == 0x86dd ? NETRULES_IPV6
                                                          : NETRULES_OTHER;
    if ((operand.origin == ORIGIN_INTERFACE && word == LOOPBACK_INDEX) ||
        (operand.origin == ORIGIN_INTERFACE_NAME && length >= sizeof("lo") &&
         memcmp(value.at, "lo", sizeof("lo")) == 0))
        rule->only_loopback = true;
    if (operand.origin == ORIGIN_STATE && word == ESTABLISHED)
        rule->established = true;
}

static void read_range(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    const struct operand operand = operand_of(reader, expression, NFTNL_EXPR_RANGE_SREG);

    reader->builder.rule->conditional = true;
    match_mark(reader, &operand, 0);
}

static void read_lookup(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    const struct netrules_set *set =
        nftables_find_set(reader->builder.rule->chain->table, string_of(expression, NFTNL_EXPR_LOOKUP_SET));
    const struct operand operand = operand_of(reader, expression, NFTNL_EXPR_LOOKUP_SREG);
    bool inverted = nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_FLAGS) & NFT_LOOKUP_F_INV;
    bool map = nftnl_expr_is_set(expression, NFTNL_EXPR_LOOKUP_DREG);
    bool verdicts = map && nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_DREG) == NFT_REG_VERDICT;

    reader->builder.rule->conditional = true;
    match_mark(reader, &operand, 0);
    for (const struct nftables_element *element = set ? set->elements : NULL; element; element = element->next) {
        bool established = operand.origin == ORIGIN_STATE && element->key_length == sizeof(uint32_t) &&
                           host_word(cursor_of(element->key, element->key_length)) & ESTABLISHED;

        if (verdicts && element->has_verdict)
            netrules_add_branch(&reader->builder, (struct netrules_branch){ .verdict = element->verdict,
                                                                            .target = element->target,
                                                                            .established = established });
        else if (!map && !inverted && established)
            reader->builder.rule->established = true;
    }
    if (map)
        load_register(reader, expression, NFTNL_EXPR_LOOKUP_DREG, unknown);
}

static void read_dynset(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    /* with an expression for each element, such as a limit, the rule matches conditionally */
    if (nftnl_expr_is_set(expression, NFTNL_EXPR_DYNSET_EXPR))
        reader->builder.rule->conditional = true;
}

static void read_object(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    /* a quota or a limit, which does not match every packet */
    if (nftnl_expr_get_u32(expression, NFTNL_EXPR_OBJREF_IMM_TYPE) != NFT_OBJECT_COUNTER)
        reader->builder.rule->conditional = true;
}

/* --- Statements ------------------------------------------------------------------------------------- */

static void read_queue(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    const struct operand by = operand_of(reader, expression, NFTNL_EXPR_QUEUE_SREG_QNUM);
    bool chosen = nftnl_expr_is_set(expression, NFTNL_EXPR_QUEUE_SREG_QNUM);
    uint16_t flags = nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_FLAGS);
    uint32_t first = chosen ? by.offset : nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_NUM);
    uint32_t total = chosen ? by.modulus : nftnl_expr_get_u16(expression, NFTNL_EXPR_QUEUE_TOTAL);
    uint64_t last = total ? (uint64_t)first + total - 1 : first;
    struct netrules_queue queue = { .first = (uint16_t)first,
                                    .last = last > UINT16_MAX ? UINT16_MAX : (uint16_t)last,
                                    .bypass = flags & NFT_QUEUE_FLAG_BYPASS,
                                    .spread = flags & NFT_QUEUE_FLAG_CPU_FANOUT ? NETRULES_SPREAD_CPU
                                                                                : NETRULES_SPREAD_ADDRESSES };

    if (chosen) {
        queue.spread = by.origin == ORIGIN_SYMMETRIC_HASH ? NETRULES_SPREAD_FLOW
                       : by.origin == ORIGIN_CPU          ? NETRULES_SPREAD_CPU
                                                          : NETRULES_SPREAD_OTHER;
        if (!total || last > UINT16_MAX) { /* a mark or a map selects the queue, so it may be any */
            queue.first = 0;
            queue.last = UINT16_MAX;
            queue.unknown = true;
        }
    }
    if (queue.first == queue.last)
        queue.spread = NETRULES_SPREAD_NONE;
    netrules_set_queue(&reader->builder, queue);
}

static void read_reject(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    (void)expression;
    reader->builder.rule->verdict = NETRULES_DROP;
}

static void read_offload(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    reader->builder.rule->flowtable =
        netrules_copy_string(&reader->builder, string_of(expression, NFTNL_EXPR_FLOW_TABLE_NAME), NFT_NAME_MAXLEN);
}

static void read_match(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    xtables_add_match(&reader->builder, string_of(expression, NFTNL_EXPR_MT_NAME),
                      nftnl_expr_get_u32(expression, NFTNL_EXPR_MT_REV), bytes_of(expression, NFTNL_EXPR_MT_INFO));
}

static void read_target(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    xtables_add_target(&reader->builder, string_of(expression, NFTNL_EXPR_TG_NAME),
                       nftnl_expr_get_u32(expression, NFTNL_EXPR_TG_REV), bytes_of(expression, NFTNL_EXPR_TG_INFO));
}

/* --- All expressions -------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*read)(struct rule_reader *reader, const struct nftnl_expr *expression);
} expressions[] = {
    { "meta", read_meta },     { "ct", read_ct },         { "payload", read_payload },
    { "hash", read_hash },     { "numgen", read_numgen }, { "bitwise", read_bitwise },
    { "cmp", read_cmp },       { "range", read_range },   { "lookup", read_lookup },
    { "dynset", read_dynset }, { "objref", read_object }, { "immediate", read_immediate },
    { "queue", read_queue },   { "reject", read_reject }, { "flow_offload", read_offload },
    { "match", read_match },   { "target", read_target },
};

/* Expressions that load a value which is not interpreted: the register becomes unknown. */
static const struct {
    const char *name;
    uint16_t destination;
} loads[] = {
    { "byteorder", NFTNL_EXPR_BYTEORDER_DREG }, { "fib", NFTNL_EXPR_FIB_DREG },
    { "exthdr", NFTNL_EXPR_EXTHDR_DREG },       { "rt", NFTNL_EXPR_RT_DREG },
    { "socket", NFTNL_EXPR_SOCKET_DREG },       { "osf", NFTNL_EXPR_OSF_DREG },
    { "xfrm", NFTNL_EXPR_XFRM_DREG },           { "tunnel", NFTNL_EXPR_TUNNEL_DREG },
};

/* Statements of which only the name is interpreted. conditional: it does not match every packet; ends: no packet
 * continues after it; has_state: its attributes change with the traffic, so they are not written to the text, because
 * equal rules must have equal texts. */
static const struct {
    const char *name;
    bool conditional, ends, has_state;
} statements[] = {
    { "counter", false, false, true }, { "last", false, false, true },      { "quota", true, false, true },
    { "limit", true, false, false },   { "connlimit", true, false, false }, { "synproxy", true, true, false },
    { "fwd", false, true, false },     { "log", false, false, false },      { "nat", false, false, false },
    { "masq", false, false, false },   { "redir", false, false, false },    { "dup", false, false, false },
    { "tproxy", false, false, false }, { "notrack", false, false, false },
};

/* Writes the text of a lookup expression. libnftnl's text is not used, because equal rules must have equal texts:
 * libnftnl writes flags only if the kernel reports them, even as 0, and the kernel generates the name of an anonymous
 * set, so its elements are written instead. */
static void write_lookup(struct rule_reader *reader, const struct nftnl_expr *expression)
{
    const char *name = string_of(expression, NFTNL_EXPR_LOOKUP_SET);
    const struct netrules_set *set = nftables_find_set(reader->builder.rule->chain->table, name);
    struct text elements;

    text_init(&elements);
    for (const struct nftables_element *element = set && set->anonymous ? set->elements : NULL; element;
         element = element->next) {
        text_puts(&elements, " ");
        for (size_t i = 0; i < element->key_length; i++)
            text_printf(&elements, "%02x", element->key[i]);
        if (element->has_verdict)
            text_printf(&elements, " : %d %s", (int)element->verdict, element->target ? element->target : "");
    }
    netrules_write(&reader->builder, "[ lookup reg %u dreg %u flags %u set %s ]",
                   nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_SREG),
                   nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_DREG),
                   nftnl_expr_get_u32(expression, NFTNL_EXPR_LOOKUP_FLAGS),
                   set && set->anonymous && elements.bytes ? elements.bytes : name);
    reader->builder.failed |= elements.failed;
    text_clear(&elements);
}

void rule_expression(struct rule_reader *reader, const char *name, const struct nftnl_expr *expression)
{
    struct netrules_builder *builder = &reader->builder;
    char text[TEXT_SIZE] = "";
    bool known = false, has_state = false;

    /* The counter counts the queued packets only if no expression but a hash, which every packet passes, is between it
     * and the queue statement. */
    if (strcmp(name, "counter") == 0) {
        builder->counted = expression != NULL;
        builder->packets = expression ? nftnl_expr_get_u64(expression, NFTNL_EXPR_CTR_PACKETS) : 0;
    } else if (strcmp(name, "hash") != 0 && strcmp(name, "queue") != 0 && strcmp(name, "target") != 0) {
        builder->counted = false;
    }
    for (size_t i = 0; i < sizeof(statements) / sizeof(statements[0]); i++) {
        if (strcmp(statements[i].name, name) != 0)
            continue;
        known = true;
        has_state = statements[i].has_state;
        builder->rule->conditional |= statements[i].conditional;
        if (statements[i].ends)
            builder->rule->verdict = NETRULES_STOLEN;
    }
    for (size_t i = 0; expression && i < sizeof(loads) / sizeof(loads[0]); i++) {
        if (strcmp(loads[i].name, name) != 0)
            continue;
        known = true;
        load_register(reader, expression, loads[i].destination, unknown);
    }
    for (size_t i = 0; expression && i < sizeof(expressions) / sizeof(expressions[0]); i++) {
        if (strcmp(expressions[i].name, name) != 0)
            continue;
        known = true;
        expressions[i].read(reader, expression);
    }
    builder->rule->conditional |= !known;
    if (expression && (strcmp(name, "match") == 0 || strcmp(name, "target") == 0))
        return; /* xtables_add_match() and xtables_add_target() have written the text */
    if (expression && strcmp(name, "lookup") == 0) {
        write_lookup(reader, expression);
        return;
    }
    if (expression && !has_state && nftnl_expr_snprintf(text, sizeof(text), expression, NFTNL_OUTPUT_DEFAULT, 0) < 0)
        text[0] = '\0';
    netrules_write(builder, "[ %s %s]", name, text);
}
