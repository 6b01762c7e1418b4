/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions that load a register: fields of packets, of their connections, of the host; hashes. */
#include "netrules_priv.h"

#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <string.h>

enum { MARK_LENGTH = 4 };

static struct operand operand_of(const char *text, enum value_kind kind, uint32_t length)
{
    return (struct operand){ .kind = kind, .text = text, .length = length, .mask = ALL_BITS };
}

/* --- meta ------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t key;
    const char *text;
    enum value_kind kind;
    uint32_t length;
    enum origin origin;
} meta_keys[] = {
    { NFT_META_LEN, "meta length", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_PROTOCOL, "meta protocol", VALUE_ETHERTYPE, 2, ORIGIN_ETHERTYPE },
    { NFT_META_PRIORITY, "meta priority", VALUE_MARK, 4, ORIGIN_OTHER },
    { NFT_META_MARK, "meta mark", VALUE_MARK, MARK_LENGTH, ORIGIN_PACKET_MARK },
    { NFT_META_IIF, "iif", VALUE_INTERFACE, 4, ORIGIN_IN },
    { NFT_META_OIF, "oif", VALUE_INTERFACE, 4, ORIGIN_OUT },
    { NFT_META_IIFNAME, "iifname", VALUE_NAME, 16, ORIGIN_IN },
    { NFT_META_OIFNAME, "oifname", VALUE_NAME, 16, ORIGIN_OUT },
    { NFT_META_IFTYPE, "iiftype", VALUE_HOST, 2, ORIGIN_OTHER },
    { NFT_META_OIFTYPE, "oiftype", VALUE_HOST, 2, ORIGIN_OTHER },
    { NFT_META_SKUID, "meta skuid", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_SKGID, "meta skgid", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_NFTRACE, "meta nftrace", VALUE_HOST, 1, ORIGIN_OTHER },
    { NFT_META_RTCLASSID, "rtclassid", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_SECMARK, "meta secmark", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_NFPROTO, "meta nfproto", VALUE_NFPROTO, 1, ORIGIN_NFPROTO },
    { NFT_META_L4PROTO, "meta l4proto", VALUE_PROTOCOL, 1, ORIGIN_L4PROTO },
    { NFT_META_BRI_IIFNAME, "meta ibrname", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_META_BRI_OIFNAME, "meta obrname", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_META_PKTTYPE, "meta pkttype", VALUE_HOST, 1, ORIGIN_OTHER },
    { NFT_META_CPU, "meta cpu", VALUE_HOST, 4, ORIGIN_CPU },
    { NFT_META_IIFGROUP, "iifgroup", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_OIFGROUP, "oifgroup", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_CGROUP, "meta cgroup", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_PRANDOM, "meta random", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_META_SECPATH, "meta secpath", VALUE_HOST, 1, ORIGIN_OTHER },
    { NFT_META_IIFKIND, "iifkind", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_META_OIFKIND, "oifkind", VALUE_NAME, 16, ORIGIN_OTHER },
};

static struct operand meta_operand(struct rule_builder *builder, uint32_t key)
{
    for (size_t i = 0; i < sizeof(meta_keys) / sizeof(meta_keys[0]); i++) {
        struct operand operand = operand_of(meta_keys[i].text, meta_keys[i].kind, meta_keys[i].length);

        if (meta_keys[i].key != key)
            continue;
        operand.origin = meta_keys[i].origin;
        return operand;
    }
    return operand_of(arena_printf(builder->ruleset->arena, "meta %u", key), VALUE_HEX, 4);
}

/* Returns the effect of a statement that writes a mark of one kind. */
static struct netrules_mark written(enum netrules_mark_kind kind, const struct operand *from)
{
    enum origin same = kind == NETRULES_PACKET_MARK ? ORIGIN_PACKET_MARK : ORIGIN_CONNECTION_MARK;
    enum origin other = kind == NETRULES_PACKET_MARK ? ORIGIN_CONNECTION_MARK : ORIGIN_PACKET_MARK;
    struct netrules_mark mark = { .kind = kind, .use = NETRULES_MARK_ANY, .mask = ALL_BITS };

    if (from->origin == same) { /* (mark & mask) ^ toggle: writes the bits outside `mask` */
        mark.use = NETRULES_MARK_SET;
        mark.mask = ~from->mask | from->toggle;
        mark.value = from->toggle;
    } else if (from->origin == other) {
        mark.use = NETRULES_MARK_COPY;
        mark.source = from->mask;
        mark.value = from->toggle;
    } else if (from->origin == ORIGIN_IMMEDIATE && from->byte_count == MARK_LENGTH) {
        mark.use = NETRULES_MARK_SET;
        memcpy(&mark.value, from->bytes, sizeof(mark.value));
    }
    return mark;
}

/* Writes "NAME set VALUE" for a register. */
static void write_set(struct rule_builder *builder, const struct operand *to, const struct operand *from)
{
    struct text value;

    text_init(&value);
    if (from->origin == ORIGIN_IMMEDIATE)
        value_write(&value, to->kind, cursor_of(from->bytes, from->byte_count), to->length);
    else
        text_puts(&value, from->text);
    if (from->masked) {
        text_puts(&value, " & ");
        value_write(&value, from->kind, cursor_of(from->masked, from->masked_count), from->masked_count);
    }
    rule_word(builder, "%s set %s", to->text, value.bytes ? value.bytes : "?");
    text_clear(&value);
}

static void load_meta(struct rule_builder *builder, struct cursor data)
{
    struct cursor source = netrules_attribute(data, NFTA_META_SREG);
    struct operand meta = meta_operand(builder, netrules_be32(netrules_attribute(data, NFTA_META_KEY), ALL_BITS));
    const struct operand *from;

    if (!cursor_remaining(&source)) {
        rule_load(builder, netrules_attribute(data, NFTA_META_DREG), meta);
        return;
    }
    from = rule_operand(builder, source);
    if (!meta.text) {
        builder->failed = true;
        return;
    }
    write_set(builder, &meta, from);
    if (meta.origin == ORIGIN_PACKET_MARK)
        rule_mark(builder, written(NETRULES_PACKET_MARK, from));
}

/* --- ct --------------------------------------------------------------------------------------------- */

static const struct {
    uint32_t key;
    const char *text;
    enum value_kind kind;
    uint32_t length;
    enum origin origin;
} ct_keys[] = {
    { NFT_CT_STATE, "state", VALUE_STATE, 4, ORIGIN_STATE },
    { NFT_CT_DIRECTION, "direction", VALUE_DIRECTION, 1, ORIGIN_OTHER },
    { NFT_CT_STATUS, "status", VALUE_STATUS, 4, ORIGIN_OTHER },
    { NFT_CT_MARK, "mark", VALUE_MARK, MARK_LENGTH, ORIGIN_CONNECTION_MARK },
    { NFT_CT_SECMARK, "secmark", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_CT_EXPIRATION, "expiration", VALUE_HOST, 4, ORIGIN_OTHER },
    { NFT_CT_HELPER, "helper", VALUE_NAME, 16, ORIGIN_OTHER },
    { NFT_CT_L3PROTOCOL, "l3proto", VALUE_NFPROTO, 1, ORIGIN_OTHER },
    { NFT_CT_SRC, "saddr", VALUE_HEX, 16, ORIGIN_OTHER },
    { NFT_CT_DST, "daddr", VALUE_HEX, 16, ORIGIN_OTHER },
    { NFT_CT_PROTOCOL, "protocol", VALUE_PROTOCOL, 1, ORIGIN_OTHER },
    { NFT_CT_PROTO_SRC, "proto-src", VALUE_PORT, 2, ORIGIN_OTHER },
    { NFT_CT_PROTO_DST, "proto-dst", VALUE_PORT, 2, ORIGIN_OTHER },
    { NFT_CT_LABELS, "label", VALUE_HEX, 16, ORIGIN_OTHER },
    { NFT_CT_PKTS, "packets", VALUE_HOST, 8, ORIGIN_OTHER },
    { NFT_CT_BYTES, "bytes", VALUE_HOST, 8, ORIGIN_OTHER },
    { NFT_CT_AVGPKT, "avgpkt", VALUE_HOST, 8, ORIGIN_OTHER },
    { NFT_CT_ZONE, "zone", VALUE_HOST, 2, ORIGIN_OTHER },
    { NFT_CT_SRC_IP, "ip saddr", VALUE_ADDRESS4, 4, ORIGIN_OTHER },
    { NFT_CT_DST_IP, "ip daddr", VALUE_ADDRESS4, 4, ORIGIN_OTHER },
    { NFT_CT_SRC_IP6, "ip6 saddr", VALUE_ADDRESS6, 16, ORIGIN_OTHER },
    { NFT_CT_DST_IP6, "ip6 daddr", VALUE_ADDRESS6, 16, ORIGIN_OTHER },
    { NFT_CT_ID, "id", VALUE_HEX, 4, ORIGIN_OTHER },
};

static struct operand ct_operand(struct rule_builder *builder, struct cursor data)
{
    static const char *const names[] = { "original ", "reply " };
    uint32_t key = netrules_be32(netrules_attribute(data, NFTA_CT_KEY), ALL_BITS);
    struct cursor direction = netrules_attribute(data, NFTA_CT_DIRECTION);
    bool directed = cursor_remaining(&direction) == 1 && direction.at[0] < 2;
    const char *prefix = directed ? names[direction.at[0]] : "";
    struct operand operand;

    for (size_t i = 0; i < sizeof(ct_keys) / sizeof(ct_keys[0]); i++) {
        if (ct_keys[i].key != key)
            continue;
        operand = operand_of(arena_printf(builder->ruleset->arena, "ct %s%s", prefix, ct_keys[i].text), ct_keys[i].kind,
                             ct_keys[i].length);
        operand.origin = directed ? ORIGIN_ORIGINAL_TUPLE : ct_keys[i].origin;
        return operand;
    }
    return operand_of(arena_printf(builder->ruleset->arena, "ct %s%u", prefix, key), VALUE_HEX, 4);
}

static void load_ct(struct rule_builder *builder, struct cursor data)
{
    struct cursor source = netrules_attribute(data, NFTA_CT_SREG);
    struct operand ct = ct_operand(builder, data);
    const struct operand *from;

    if (!cursor_remaining(&source)) {
        rule_load(builder, netrules_attribute(data, NFTA_CT_DREG), ct);
        return;
    }
    from = rule_operand(builder, source);
    if (!ct.text) {
        builder->failed = true;
        return;
    }
    write_set(builder, &ct, from);
    if (ct.origin == ORIGIN_CONNECTION_MARK)
        rule_mark(builder, written(NETRULES_CONNECTION_MARK, from));
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
    { HEADER_IP, 4, 2, "ip id", VALUE_NUMBER, ORIGIN_OTHER },
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
    { HEADER_PORTS, 0, 2, "sport", VALUE_PORT, ORIGIN_OTHER },
    { HEADER_PORTS, 2, 2, "dport", VALUE_PORT, ORIGIN_OTHER },
    { HEADER_TCP, 13, 1, "tcp flags", VALUE_HEX, ORIGIN_OTHER },
    { HEADER_ICMP, 0, 1, "type", VALUE_NUMBER, ORIGIN_OTHER },
    { HEADER_ICMP, 1, 1, "code", VALUE_NUMBER, ORIGIN_OTHER },
};

static bool has_ports(unsigned protocol)
{
    return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 || protocol == 136;
}

static bool is_header(const struct rule_builder *builder, uint32_t base, enum header header)
{
    unsigned families = builder->rule->families;

    switch (header) {
    case HEADER_LINK:
        return base == NFT_PAYLOAD_LL_HEADER;
    case HEADER_IP:
        return base == NFT_PAYLOAD_NETWORK_HEADER && families == NETRULES_IPV4;
    case HEADER_IP6:
        return base == NFT_PAYLOAD_NETWORK_HEADER && families == NETRULES_IPV6;
    case HEADER_TCP:
        return base == NFT_PAYLOAD_TRANSPORT_HEADER && builder->protocol == 6;
    case HEADER_ICMP:
        return base == NFT_PAYLOAD_TRANSPORT_HEADER && (builder->protocol == 1 || builder->protocol == 58);
    default:
        return base == NFT_PAYLOAD_TRANSPORT_HEADER && (builder->protocol == 0 || has_ports(builder->protocol));
    }
}

static const struct field *find_field(const struct rule_builder *builder, uint32_t base, uint32_t offset,
                                      uint32_t length)
{
    for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
        const struct field *field = &fields[i];
        bool prefix = field->kind == VALUE_ADDRESS4 || field->kind == VALUE_ADDRESS6;

        if (field->offset == offset && (field->length == length || (prefix && length < field->length)) &&
            is_header(builder, base, field->header))
            return field;
    }
    return NULL;
}

/* Returns "tcp dport" once the rule has matched TCP. */
static const char *field_text(struct rule_builder *builder, const struct field *field)
{
    const char *protocol = value_protocol(builder->protocol);

    if (field->header != HEADER_PORTS && field->header != HEADER_ICMP)
        return field->text;
    return arena_printf(builder->ruleset->arena, "%s %s", protocol ? protocol : "th", field->text);
}

/* Omits the condition that only selects the header of the field. */
static void imply(struct rule_builder *builder, const struct field *field)
{
    bool network = field->header == HEADER_IP || field->header == HEADER_IP6;

    if (network ? builder->dependency_of == ORIGIN_NFPROTO || builder->dependency_of == ORIGIN_ETHERTYPE
                : field->header != HEADER_LINK && builder->dependency_of == ORIGIN_L4PROTO)
        builder->dependency = NULL;
}

static void load_payload(struct rule_builder *builder, struct cursor data)
{
    static const char *const bases[] = { "ll", "nh", "th", "ih" };
    uint32_t base = netrules_be32(netrules_attribute(data, NFTA_PAYLOAD_BASE), ALL_BITS);
    uint32_t offset = netrules_be32(netrules_attribute(data, NFTA_PAYLOAD_OFFSET), 0);
    uint32_t length = netrules_be32(netrules_attribute(data, NFTA_PAYLOAD_LEN), 0);
    struct cursor source = netrules_attribute(data, NFTA_PAYLOAD_SREG);
    const struct field *field = find_field(builder, base, offset, length);
    struct operand operand;

    if (field) {
        imply(builder, field);
        operand = operand_of(field_text(builder, field), field->kind, length);
        operand.origin = field->origin;
    } else {
        operand = operand_of(
            arena_printf(builder->ruleset->arena, "@%s,%u,%u", base < 4 ? bases[base] : "?", 8 * offset, 8 * length),
            VALUE_HEX, length);
    }
    if (!operand.text)
        builder->failed = true;
    else if (cursor_remaining(&source))
        write_set(builder, &operand, rule_operand(builder, source));
    else
        rule_load(builder, netrules_attribute(data, NFTA_PAYLOAD_DREG), operand);
}

/* --- Hashes and numbers ----------------------------------------------------------------------------- */

static const char *modulus_text(struct rule_builder *builder, const char *head, uint32_t modulus, uint32_t offset)
{
    if (!head)
        return NULL;
    return offset ? arena_printf(builder->ruleset->arena, "%s mod %u offset %u", head, modulus, offset)
                  : arena_printf(builder->ruleset->arena, "%s mod %u", head, modulus);
}

/* A hash of conntrack's original tuple is the same for both directions; one of the packet's fields is not. */
static enum origin jhash_origin(const struct rule_builder *builder, struct cursor source)
{
    return rule_operand(builder, source)->origin == ORIGIN_ORIGINAL_TUPLE ? ORIGIN_ORIGINAL_JHASH : ORIGIN_JHASH;
}

static void load_hash(struct rule_builder *builder, struct cursor data)
{
    struct cursor source = netrules_attribute(data, NFTA_HASH_SREG);
    uint32_t type = netrules_be32(netrules_attribute(data, NFTA_HASH_TYPE), NFT_HASH_JENKINS);
    uint32_t modulus = netrules_be32(netrules_attribute(data, NFTA_HASH_MODULUS), 0);
    uint32_t offset = netrules_be32(netrules_attribute(data, NFTA_HASH_OFFSET), 0);
    uint32_t length = netrules_be32(netrules_attribute(data, NFTA_HASH_LEN), 4);
    const char *head = type == NFT_HASH_SYM
                           ? "symhash"
                           : arena_printf(builder->ruleset->arena, "jhash %s", rule_operands(builder, source, length));
    struct operand hash = operand_of(modulus_text(builder, head, modulus, offset), VALUE_HOST, 4);

    hash.origin = type == NFT_HASH_SYM ? ORIGIN_SYMHASH : jhash_origin(builder, source);
    hash.modulus = modulus;
    hash.offset = offset;
    rule_load(builder, netrules_attribute(data, NFTA_HASH_DREG), hash);
}

static void load_numgen(struct rule_builder *builder, struct cursor data)
{
    uint32_t type = netrules_be32(netrules_attribute(data, NFTA_NG_TYPE), NFT_NG_INCREMENTAL);
    uint32_t modulus = netrules_be32(netrules_attribute(data, NFTA_NG_MODULUS), 0);
    uint32_t offset = netrules_be32(netrules_attribute(data, NFTA_NG_OFFSET), 0);
    const char *head = type == NFT_NG_INCREMENTAL ? "numgen inc" : "numgen random";
    struct operand number = operand_of(modulus_text(builder, head, modulus, offset), VALUE_HOST, 4);

    number.modulus = modulus;
    number.offset = offset;
    rule_load(builder, netrules_attribute(data, NFTA_NG_DREG), number);
}

/* --- Other expressions ------------------------------------------------------------------------------ */

static void load_fib(struct rule_builder *builder, struct cursor data)
{
    static const char *const flags[] = { "saddr", "daddr", "mark", "iif", "oif" };
    uint32_t result = netrules_be32(netrules_attribute(data, NFTA_FIB_RESULT), 0);
    uint32_t set = netrules_be32(netrules_attribute(data, NFTA_FIB_FLAGS), 0);
    const char *what = result == NFT_FIB_RESULT_ADDRTYPE  ? "type"
                       : result == NFT_FIB_RESULT_OIFNAME ? "oifname"
                                                          : "oif";
    const char *of = "";

    for (unsigned i = 0; i < sizeof(flags) / sizeof(flags[0]) && of; i++)
        if (set & 1u << i)
            of = *of ? arena_printf(builder->ruleset->arena, "%s . %s", of, flags[i]) : flags[i];
    rule_load(builder, netrules_attribute(data, NFTA_FIB_DREG),
              operand_of(arena_printf(builder->ruleset->arena, "fib %s %s", of ? of : "?", what),
                         result == NFT_FIB_RESULT_ADDRTYPE ? VALUE_TYPE : VALUE_HOST, 4));
}

/* Expressions that are shown by their name only. */
static void load_unnamed(struct rule_builder *builder, const char *name, struct cursor destination)
{
    rule_load(builder, destination, operand_of(name, VALUE_HEX, 4));
}

static void load_exthdr(struct rule_builder *builder, struct cursor data)
{
    struct cursor type = netrules_attribute(data, NFTA_EXTHDR_TYPE),
                  source = netrules_attribute(data, NFTA_EXTHDR_SREG);
    unsigned number = cursor_remaining(&type) == 1 ? type.at[0] : 0;
    uint32_t op = netrules_be32(netrules_attribute(data, NFTA_EXTHDR_OP), NFT_EXTHDR_OP_IPV6);
    const char *text =
        arena_printf(builder->ruleset->arena, op == NFT_EXTHDR_OP_TCPOPT ? "tcp option %u" : "exthdr %u", number);

    if (!text)
        builder->failed = true;
    else if (cursor_remaining(&source))
        rule_word(builder, "%s set", text);
    else
        load_unnamed(builder, text, netrules_attribute(data, NFTA_EXTHDR_DREG));
}

static void load_rt(struct rule_builder *builder, struct cursor data)
{
    load_unnamed(builder, "rt", netrules_attribute(data, NFTA_RT_DREG));
}

static void load_socket(struct rule_builder *builder, struct cursor data)
{
    load_unnamed(builder, "socket", netrules_attribute(data, NFTA_SOCKET_DREG));
}

static void load_osf(struct rule_builder *builder, struct cursor data)
{
    load_unnamed(builder, "osf", netrules_attribute(data, NFTA_OSF_DREG));
}

static void load_xfrm(struct rule_builder *builder, struct cursor data)
{
    load_unnamed(builder, "ipsec", netrules_attribute(data, NFTA_XFRM_DREG));
}

static void load_tunnel(struct rule_builder *builder, struct cursor data)
{
    load_unnamed(builder, "tunnel", netrules_attribute(data, NFTA_TUNNEL_DREG));
}

bool rule_load_expression(struct rule_builder *builder, const char *name, struct cursor data)
{
    static const struct {
        const char *name;
        void (*load)(struct rule_builder *builder, struct cursor data);
    } loads[] = {
        { "meta", load_meta },     { "ct", load_ct },   { "payload", load_payload }, { "hash", load_hash },
        { "numgen", load_numgen }, { "fib", load_fib }, { "exthdr", load_exthdr },   { "rt", load_rt },
        { "socket", load_socket }, { "osf", load_osf }, { "xfrm", load_xfrm },       { "tunnel", load_tunnel },
    };

    for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
        if (strcmp(loads[i].name, name) != 0)
            continue;
        loads[i].load(builder, data);
        return true;
    }
    return false;
}
