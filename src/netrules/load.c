/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions that load a register: fields of packets, of their connections, of the host; hashes. Some of them also
 * write a field from a register. */
#include "netrules_priv.h"

#include <linux/netfilter/nf_tables.h>
#include <string.h>

/* Loads the operand, or writes "NAME set VALUE" when the expression has a source register. */
static void load_or_set(struct rule_builder *builder, const struct nftnl_expr *expression, struct operand operand,
                        uint16_t destination, uint16_t source)
{
    const struct operand *from;
    const char *value;

    operand.mask = ALL_BITS;
    if (!nftnl_expr_is_set(expression, source)) {
        rule_load(builder, nftnl_expr_get_u32(expression, destination), operand);
        return;
    }
    from = rule_operand(builder, nftnl_expr_get_u32(expression, source));
    value =
        from->origin == ORIGIN_IMMEDIATE ? rule_value(builder, operand.kind, from->bytes, operand.length) : from->text;
    if (cursor_remaining(&from->masked))
        value = rule_text(builder, "%s & %s", value,
                          rule_value(builder, from->kind, from->masked, cursor_remaining(&from->masked)));
    rule_word(builder, "%s set %s", operand.text, value);
    if (operand.origin != ORIGIN_PACKET_MARK && operand.origin != ORIGIN_CONNECTION_MARK)
        return;

    bool of_packet = operand.origin == ORIGIN_PACKET_MARK;
    struct netrules_mark mark = { .kind = of_packet ? NETRULES_PACKET_MARK : NETRULES_CONNECTION_MARK,
                                  .use = NETRULES_MARK_ANY,
                                  .mask = ALL_BITS };

    if (from->origin == operand.origin) { /* (mark & mask) ^ toggle: writes the bits outside `mask` */
        mark.use = NETRULES_MARK_SET;
        mark.mask = ~from->mask | from->toggle;
        mark.value = from->toggle;
    } else if (from->origin == (of_packet ? ORIGIN_CONNECTION_MARK : ORIGIN_PACKET_MARK)) {
        mark.use = NETRULES_MARK_COPY;
        mark.source = from->mask;
        mark.value = from->toggle;
    } else if (from->origin == ORIGIN_IMMEDIATE && cursor_remaining(&from->bytes) == sizeof(mark.value)) {
        mark.use = NETRULES_MARK_SET;
        memcpy(&mark.value, from->bytes.at, sizeof(mark.value));
    }
    rule_mark(builder, mark);
}

/* --- meta, ct --------------------------------------------------------------------------------------- */

struct key {
    uint32_t key;
    const char *text;
    enum value_kind kind;
    uint32_t length;
    enum origin origin;
};

static const struct key meta_keys[] = {
    { NFT_META_LEN, "meta length", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_PROTOCOL, "meta protocol", VALUE_ETHERTYPE, 2, ORIGIN_ETHERTYPE },
    { NFT_META_PRIORITY, "meta priority", VALUE_MARK, 4, ORIGIN_OTHER },
    { NFT_META_MARK, "meta mark", VALUE_MARK, 4, ORIGIN_PACKET_MARK },
    { NFT_META_IIF, "iif", VALUE_INTERFACE, 4, ORIGIN_DEVICE },
    { NFT_META_OIF, "oif", VALUE_INTERFACE, 4, ORIGIN_DEVICE },
    { NFT_META_IIFNAME, "iifname", VALUE_NAME, 16, ORIGIN_DEVICE },
    { NFT_META_OIFNAME, "oifname", VALUE_NAME, 16, ORIGIN_DEVICE },
    { NFT_META_IFTYPE, "iiftype", VALUE_HOST, 2, ORIGIN_OTHER },
    { NFT_META_SKUID, "meta skuid", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_SKGID, "meta skgid", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_NFPROTO, "meta nfproto", VALUE_NFPROTO, 1, ORIGIN_NFPROTO },
    { NFT_META_L4PROTO, "meta l4proto", VALUE_PROTOCOL, 1, ORIGIN_L4PROTO },
    { NFT_META_BRI_IIFNAME, "meta ibrname", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_META_BRI_OIFNAME, "meta obrname", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_META_PKTTYPE, "meta pkttype", VALUE_HOST, 1, ORIGIN_OTHER },
    { NFT_META_CPU, "meta cpu", VALUE_HOST, 4, ORIGIN_CPU },
    { NFT_META_IIFGROUP, "iifgroup", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_OIFGROUP, "oifgroup", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_CGROUP, "meta cgroup", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_IIFKIND, "iifkind", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_META_OIFKIND, "oifkind", VALUE_NAME, 16, ORIGIN_OTHER },
    { 0, NULL, VALUE_HEX, 4, ORIGIN_OTHER },
};

static const struct key ct_keys[] = {
    { NFT_CT_STATE, "state", VALUE_STATE, 4, ORIGIN_STATE },
    { NFT_CT_DIRECTION, "direction", VALUE_DIRECTION, 1, ORIGIN_OTHER },
    { NFT_CT_STATUS, "status", VALUE_STATUS, 4, ORIGIN_OTHER },
    { NFT_CT_MARK, "mark", VALUE_MARK, 4, ORIGIN_CONNECTION_MARK },
    { NFT_CT_EXPIRATION, "expiration", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_CT_HELPER, "helper", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_CT_L3PROTOCOL, "l3proto", VALUE_NFPROTO, 1, ORIGIN_OTHER },
    { NFT_CT_SRC, "saddr", VALUE_HEX, 16, ORIGIN_OTHER },
    { NFT_CT_DST, "daddr", VALUE_HEX, 16, ORIGIN_OTHER },
    { NFT_CT_PROTOCOL, "protocol", VALUE_PROTOCOL, 1, ORIGIN_OTHER },
    { NFT_CT_PROTO_SRC, "proto-src", VALUE_NUMBER, 2, ORIGIN_OTHER },
    { NFT_CT_PROTO_DST, "proto-dst", VALUE_NUMBER, 2, ORIGIN_OTHER },
    { NFT_CT_LABELS, "label", VALUE_HEX, 16, ORIGIN_OTHER },
    { NFT_CT_PKTS, "packets", VALUE_HOST, 8, ORIGIN_OTHER },
    { NFT_CT_BYTES, "bytes", VALUE_HOST, 8, ORIGIN_OTHER },
    { NFT_CT_ZONE, "zone", VALUE_HOST, 2, ORIGIN_OTHER },
    { NFT_CT_SRC_IP, "ip saddr", VALUE_ADDRESS4, 4, ORIGIN_OTHER },
    { NFT_CT_DST_IP, "ip daddr", VALUE_ADDRESS4, 4, ORIGIN_OTHER },
    { NFT_CT_SRC_IP6, "ip6 saddr", VALUE_ADDRESS6, 16, ORIGIN_OTHER },
    { NFT_CT_DST_IP6, "ip6 daddr", VALUE_ADDRESS6, 16, ORIGIN_OTHER },
    { 0, NULL, VALUE_HEX, 4, ORIGIN_OTHER },
};

static struct operand operand_of_key(struct rule_builder *builder, const struct key *keys, const char *prefix,
                                     uint32_t key)
{
    while (keys->text && keys->key != key)
        keys++;
    return (struct operand){ .origin = keys->origin,
                             .kind = keys->kind,
                             .length = keys->length,
                             .text = keys->text ? rule_text(builder, "%s%s", prefix, keys->text)
                                                : rule_text(builder, "%s%u", *prefix ? prefix : "meta ", key) };
}

static void load_meta(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    load_or_set(builder, expression,
                operand_of_key(builder, meta_keys, "", nftnl_expr_get_u32(expression, NFTNL_EXPR_META_KEY)),
                NFTNL_EXPR_META_DREG, NFTNL_EXPR_META_SREG);
}

static void load_ct(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    bool directed = nftnl_expr_is_set(expression, NFTNL_EXPR_CT_DIR);
    const char *prefix = !directed                                               ? "ct "
                         : nftnl_expr_get_u8(expression, NFTNL_EXPR_CT_DIR) == 0 ? "ct original "
                                                                                 : "ct reply ";
    struct operand ct = operand_of_key(builder, ct_keys, prefix, nftnl_expr_get_u32(expression, NFTNL_EXPR_CT_KEY));

    if (directed)
        ct.origin = ORIGIN_ORIGINAL_TUPLE;
    load_or_set(builder, expression, ct, NFTNL_EXPR_CT_DREG, NFTNL_EXPR_CT_SREG);
}

/* --- payload ---------------------------------------------------------------------------------------- */

enum header { HEADER_LINK, HEADER_IP, HEADER_IP6, HEADER_PORTS, HEADER_TCP, HEADER_ICMP };

static const struct field {
    enum header header;
    uint32_t offset, length;
    const char *text;
    enum value_kind kind;
    enum origin origin;
} fields[] = {
    { HEADER_LINK, 0, 6, "ether daddr", VALUE_ETHER, ORIGIN_OTHER },
    { HEADER_LINK, 6, 6, "ether saddr", VALUE_ETHER, ORIGIN_OTHER },
    { HEADER_LINK, 12, 2, "ether type", VALUE_ETHERTYPE, ORIGIN_ETHERTYPE },
    { HEADER_IP, 1, 1, "ip dscp", VALUE_HEX, ORIGIN_OTHER },
    { HEADER_IP, 2, 2, "ip length", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_IP, 6, 2, "ip frag-off", VALUE_HEX, ORIGIN_OTHER },
    { HEADER_IP, 8, 1, "ip ttl", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_IP, 9, 1, "ip protocol", VALUE_PROTOCOL, ORIGIN_L4PROTO },
    { HEADER_IP, 12, 4, "ip saddr", VALUE_ADDRESS4, ORIGIN_OTHER },
    { HEADER_IP, 16, 4, "ip daddr", VALUE_ADDRESS4, ORIGIN_OTHER },
    { HEADER_IP6, 4, 2, "ip6 length", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_IP6, 6, 1, "ip6 nexthdr", VALUE_PROTOCOL, ORIGIN_L4PROTO },
    { HEADER_IP6, 7, 1, "ip6 hoplimit", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_IP6, 8, 16, "ip6 saddr", VALUE_ADDRESS6, ORIGIN_OTHER },
    { HEADER_IP6, 24, 16, "ip6 daddr", VALUE_ADDRESS6, ORIGIN_OTHER },
    { HEADER_PORTS, 0, 2, "sport", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_PORTS, 2, 2, "dport", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_TCP, 13, 1, "tcp flags", VALUE_HEX, ORIGIN_OTHER },
    { HEADER_ICMP, 0, 1, "type", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_ICMP, 1, 1, "code", VALUE_NUMBER, ORIGIN_OTHER },
};

/* Whether the rule's conditions so far say that there is such a header at the base of the payload. */
static bool is_header(const struct rule_builder *builder, uint32_t base, enum header header)
{
    unsigned families = builder->rule->families, protocol = builder->protocol;

    if (header == HEADER_LINK)
        return base == NFT_PAYLOAD_LL_HEADER;
    if (header == HEADER_IP || header == HEADER_IP6)
        return base == NFT_PAYLOAD_NETWORK_HEADER && families == (header == HEADER_IP ? NETRULES_IPV4 : NETRULES_IPV6);
    if (base != NFT_PAYLOAD_TRANSPORT_HEADER)
        return false;
    if (header == HEADER_TCP)
        return protocol == 6;
    if (header == HEADER_ICMP)
        return protocol == 1 || protocol == 58;
    return protocol == 0 || protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

static void load_payload(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    static const char *const bases[] = { "ll", "nh", "th", "ih" };
    uint32_t base = nftnl_expr_get_u32(expression, NFTNL_EXPR_PAYLOAD_BASE);
    uint32_t offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_PAYLOAD_OFFSET);
    uint32_t length = nftnl_expr_get_u32(expression, NFTNL_EXPR_PAYLOAD_LEN);
    struct operand operand = { .kind = VALUE_HEX, .length = length };

    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]) && !operand.text; i++) {
        const struct field *field = &fields[i];
        bool prefix = field->kind == VALUE_ADDRESS4 || field->kind == VALUE_ADDRESS6;
        bool network = field->header == HEADER_IP || field->header == HEADER_IP6;
        const char *protocol = value_protocol(builder->protocol);

        if (field->offset != offset || !(field->length == length || (prefix && length < field->length)) ||
            !is_header(builder, base, field->header))
            continue;
        operand.kind = field->kind;
        operand.origin = field->origin;
        operand.text = field->header == HEADER_PORTS || field->header == HEADER_ICMP
                           ? rule_text(builder, "%s %s", protocol ? protocol : "th", field->text)
                           : field->text;
        /* The field implies the condition that only selects its header. */
        if (network ? builder->dependency_of == ORIGIN_NFPROTO || builder->dependency_of == ORIGIN_ETHERTYPE
                    : field->header != HEADER_LINK && builder->dependency_of == ORIGIN_L4PROTO)
            builder->dependency = NULL;
    }
    if (!operand.text)
        operand.text = rule_text(builder, "@%s,%u,%u", base < 4 ? bases[base] : "?", 8 * offset, 8 * length);
    load_or_set(builder, expression, operand, NFTNL_EXPR_PAYLOAD_DREG, NFTNL_EXPR_PAYLOAD_SREG);
}

/* --- Hashes and numbers ----------------------------------------------------------------------------- */

static void load_modulus(struct rule_builder *builder, uint32_t destination, struct operand operand)
{
    operand.text = rule_text(builder, "%s mod %u", operand.text, operand.modulus);
    if (operand.offset)
        operand.text = rule_text(builder, "%s offset %u", operand.text, operand.offset);
    operand.kind = VALUE_HOST;
    operand.length = 4;
    operand.mask = ALL_BITS;
    rule_load(builder, destination, operand);
}

/* A hash of conntrack's original tuple is the same for both directions; one of the packet's fields is not. */
static void load_hash(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    uint32_t source = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_SREG);
    bool symmetric = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_TYPE) == NFT_HASH_SYM;
    struct operand hash = {
        .text = symmetric
                    ? "symhash"
                    : rule_text(builder, "jhash %s",
                                rule_operands(builder, source, nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_LEN))),
        .origin = symmetric || rule_operand(builder, source)->origin == ORIGIN_ORIGINAL_TUPLE ? ORIGIN_SYMMETRIC_HASH
                                                                                              : ORIGIN_OTHER,
        .modulus = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_MODULUS),
        .offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_OFFSET),
    };

    load_modulus(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_HASH_DREG), hash);
}

static void load_numgen(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    bool counts = nftnl_expr_get_u32(expression, NFTNL_EXPR_NG_TYPE) == NFT_NG_INCREMENTAL;
    struct operand number = {
        .text = counts ? "numgen inc" : "numgen random",
        .modulus = nftnl_expr_get_u32(expression, NFTNL_EXPR_NG_MODULUS),
        .offset = nftnl_expr_get_u32(expression, NFTNL_EXPR_NG_OFFSET),
    };

    load_modulus(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_NG_DREG), number);
}

/* --- Other expressions ------------------------------------------------------------------------------ */

static void load_fib(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    static const char *const names[] = { "saddr", "daddr", "mark", "iif", "oif" };
    static const char *const results[] = { "?", "oif", "oifname", "type" };
    uint32_t result = nftnl_expr_get_u32(expression, NFTNL_EXPR_FIB_RESULT);
    uint32_t flags = nftnl_expr_get_u32(expression, NFTNL_EXPR_FIB_FLAGS);
    const char *from = NULL;

    for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (flags & 1u << i)
            from = from ? rule_text(builder, "%s . %s", from, names[i]) : names[i];
    rule_load(builder, nftnl_expr_get_u32(expression, NFTNL_EXPR_FIB_DREG),
              (struct operand){ .kind = result == NFT_FIB_RESULT_ADDRTYPE ? VALUE_TYPE : VALUE_HOST,
                                .length = 4,
                                .mask = ALL_BITS,
                                .text = rule_text(builder, "fib %s %s", from ? from : "?",
                                                  results[result <= NFT_FIB_RESULT_ADDRTYPE ? result : 0]) });
}

static void load_exthdr(struct rule_builder *builder, const struct nftnl_expr *expression)
{
    bool tcp = nftnl_expr_get_u32(expression, NFTNL_EXPR_EXTHDR_OP) == NFT_EXTHDR_OP_TCPOPT;
    struct operand header = { .kind = VALUE_HEX,
                              .length = 4,
                              .text = rule_text(builder, "%s %u", tcp ? "tcp option" : "exthdr",
                                                (unsigned)nftnl_expr_get_u8(expression, NFTNL_EXPR_EXTHDR_TYPE)) };

    load_or_set(builder, expression, header, NFTNL_EXPR_EXTHDR_DREG, NFTNL_EXPR_EXTHDR_SREG);
}

bool rule_load_expression(struct rule_builder *builder, const char *name, const struct nftnl_expr *expression)
{
    static const struct {
        const char *name;
        void (*load)(struct rule_builder *builder, const struct nftnl_expr *expression);
    } loads[] = {
        { "meta", load_meta },     { "ct", load_ct },   { "payload", load_payload }, { "hash", load_hash },
        { "numgen", load_numgen }, { "fib", load_fib }, { "exthdr", load_exthdr },
    };
    /* Only their names are shown. */
    static const struct {
        const char *name, *text;
        uint16_t destination;
    } names[] = {
        { "rt", "rt", NFTNL_EXPR_RT_DREG },
        { "socket", "socket", NFTNL_EXPR_SOCKET_DREG },
        { "osf", "osf", NFTNL_EXPR_OSF_DREG },
        { "xfrm", "ipsec", NFTNL_EXPR_XFRM_DREG },
        { "tunnel", "tunnel", NFTNL_EXPR_TUNNEL_DREG },
    };

    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        if (strcmp(loads[i].name, name) != 0)
            continue;
        loads[i].load(builder, expression);
        return true;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        rule_load(builder, nftnl_expr_get_u32(expression, names[i].destination),
                  (struct operand){ .kind = VALUE_HEX, .length = 4, .mask = ALL_BITS, .text = names[i].text });
        return true;
    }
    return false;
}
