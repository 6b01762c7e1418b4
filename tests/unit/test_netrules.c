/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's ruleset: rules that libnftnl builds, and recorded dumps of nft and iptables (from the fuzz corpus).
 * tests/netns/doctor*.sh test with the kernel.
 */
#include <check.h>
#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter_ipv4/ip_tables.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libnftnl/expr.h>
#include <libnftnl/flowtable.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>

#include "sluice/nftables.h"
#include "sluice/xtables.h"

static struct netrules *ruleset;

static void setup(void)
{
    ruleset = netrules_new();
    ck_assert_ptr_nonnull(ruleset);
}

static void teardown(void)
{
    netrules_free(ruleset);
}

/* --- Rules built by libnftnl ---------------------------------------------------------------------- */

enum { MESSAGE_SIZE = 8192 };

static void add(struct nlmsghdr *message)
{
    ck_assert_int_eq(nftables_add_message(ruleset, message, message->nlmsg_len), 0);
}

static struct nlmsghdr *begin(char buffer[MESSAGE_SIZE], uint16_t type)
{
    memset(buffer, 0, MESSAGE_SIZE);
    return nftnl_nlmsg_build_hdr(buffer, type, NFPROTO_INET, 0, 1);
}

static void add_table_and_chain(void)
{
    char buffer[MESSAGE_SIZE];
    struct nlmsghdr *message = begin(buffer, NFT_MSG_NEWTABLE);
    struct nftnl_table *table = nftnl_table_alloc();
    struct nftnl_chain *chain = nftnl_chain_alloc();

    nftnl_table_set_str(table, NFTNL_TABLE_NAME, "t");
    nftnl_table_set_u32(table, NFTNL_TABLE_FLAGS, NFT_TABLE_F_DORMANT);
    nftnl_table_nlmsg_build_payload(message, table);
    add(message);
    message = begin(buffer, NFT_MSG_NEWCHAIN);
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TABLE, "t");
    nftnl_chain_set_str(chain, NFTNL_CHAIN_NAME, "f");
    nftnl_chain_set_str(chain, NFTNL_CHAIN_TYPE, "filter");
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_HOOKNUM, NF_INET_FORWARD);
    nftnl_chain_set_s32(chain, NFTNL_CHAIN_PRIO, -7);
    nftnl_chain_set_u32(chain, NFTNL_CHAIN_POLICY, NF_DROP);
    nftnl_chain_nlmsg_build_payload(message, chain);
    add(message);
    nftnl_table_free(table);
    nftnl_chain_free(chain);
}

/* An expression: its name and attributes. Attributes of more than four bytes are not numbers. */
struct attribute {
    uint16_t type;
    uint8_t size; /* 0 ends the list; STRING: `text`; BYTES: `value` as four bytes of data */
    uint32_t value;
    const char *text;
};

enum { STRING = 100, BYTES = 101 };

struct expression {
    const char *name;
    struct attribute attributes[8];
};

static void set_attribute(struct nftnl_expr *expression, const struct attribute *attribute)
{
    switch (attribute->size) {
    case STRING:
        nftnl_expr_set_str(expression, attribute->type, attribute->text);
        break;
    case BYTES:
        nftnl_expr_set(expression, attribute->type, &attribute->value, sizeof(attribute->value));
        break;
    case 1:
        nftnl_expr_set_u8(expression, attribute->type, (uint8_t)attribute->value);
        break;
    case 2:
        nftnl_expr_set_u16(expression, attribute->type, (uint16_t)attribute->value);
        break;
    default:
        nftnl_expr_set_u32(expression, attribute->type, attribute->value);
        break;
    }
}

static const struct netrules_rule *add_rule(const struct expression *expressions)
{
    char buffer[MESSAGE_SIZE];
    struct nlmsghdr *message = begin(buffer, NFT_MSG_NEWRULE);
    struct nftnl_rule *rule = nftnl_rule_alloc();

    nftnl_rule_set_str(rule, NFTNL_RULE_TABLE, "t");
    nftnl_rule_set_str(rule, NFTNL_RULE_CHAIN, "f");
    nftnl_rule_set_u64(rule, NFTNL_RULE_HANDLE, 77);
    for (; expressions->name; expressions++) {
        struct nftnl_expr *expression = nftnl_expr_alloc(expressions->name);

        ck_assert_ptr_nonnull(expression);
        for (const struct attribute *attribute = expressions->attributes; attribute->size; attribute++)
            set_attribute(expression, attribute);
        nftnl_rule_add_expr(rule, expression);
    }
    nftnl_rule_nlmsg_build_payload(message, rule);
    add(message);
    nftnl_rule_free(rule);
    return ruleset->tables->chains->last;
}

#define META(key)                                                                                                      \
    {                                                                                                                  \
        "meta",                                                                                                        \
        {                                                                                                              \
            { NFTNL_EXPR_META_KEY, 4, (key), NULL },                                                                   \
            {                                                                                                          \
                NFTNL_EXPR_META_DREG, 4, NFT_REG_1, NULL                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
#define CMP(op, data)                                                                                                  \
    {                                                                                                                  \
        "cmp",                                                                                                         \
        {                                                                                                              \
            { NFTNL_EXPR_CMP_SREG, 4, NFT_REG_1, NULL }, { NFTNL_EXPR_CMP_OP, 4, (op), NULL },                         \
            {                                                                                                          \
                NFTNL_EXPR_CMP_DATA, BYTES, (data), NULL                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
#define BITS(mask, toggle)                                                                                             \
    {                                                                                                                  \
        "bitwise",                                                                                                     \
        {                                                                                                              \
            { NFTNL_EXPR_BITWISE_SREG, 4, NFT_REG_1, NULL }, { NFTNL_EXPR_BITWISE_DREG, 4, NFT_REG_1, NULL },          \
                { NFTNL_EXPR_BITWISE_LEN, 4, 4, NULL }, { NFTNL_EXPR_BITWISE_MASK, BYTES, (mask), NULL },              \
            {                                                                                                          \
                NFTNL_EXPR_BITWISE_XOR, BYTES, (toggle), NULL                                                          \
            }                                                                                                          \
        }                                                                                                              \
    }
#define VERDICT(code)                                                                                                  \
    {                                                                                                                  \
        "immediate",                                                                                                   \
        {                                                                                                              \
            { NFTNL_EXPR_IMM_DREG, 4, NFT_REG_VERDICT, NULL },                                                         \
            {                                                                                                          \
                NFTNL_EXPR_IMM_VERDICT, 4, (uint32_t)(code), NULL                                                      \
            }                                                                                                          \
        }                                                                                                              \
    }
#define HASH(kind, modulus, offset)                                                                                    \
    {                                                                                                                  \
        "hash",                                                                                                        \
        {                                                                                                              \
            { NFTNL_EXPR_HASH_TYPE, 4, (kind), NULL }, { NFTNL_EXPR_HASH_DREG, 4, NFT_REG_1, NULL },                   \
                { NFTNL_EXPR_HASH_SREG, 4, NFT_REG_1, NULL }, { NFTNL_EXPR_HASH_LEN, 4, 4, NULL },                     \
                { NFTNL_EXPR_HASH_MODULUS, 4, (modulus), NULL },                                                       \
            {                                                                                                          \
                NFTNL_EXPR_HASH_OFFSET, 4, (offset), NULL                                                              \
            }                                                                                                          \
        }                                                                                                              \
    }
#define QUEUE_CHOSEN(flags)                                                                                            \
    {                                                                                                                  \
        "queue",                                                                                                       \
        {                                                                                                              \
            { NFTNL_EXPR_QUEUE_SREG_QNUM, 4, NFT_REG_1, NULL },                                                        \
            {                                                                                                          \
                NFTNL_EXPR_QUEUE_FLAGS, 2, (flags), NULL                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
#define QUEUE(first, total, flags)                                                                                     \
    {                                                                                                                  \
        "queue",                                                                                                       \
        {                                                                                                              \
            { NFTNL_EXPR_QUEUE_NUM, 2, (first), NULL }, { NFTNL_EXPR_QUEUE_TOTAL, 2, (total), NULL },                  \
            {                                                                                                          \
                NFTNL_EXPR_QUEUE_FLAGS, 2, (flags), NULL                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
#define CT(key, direction)                                                                                             \
    {                                                                                                                  \
        "ct",                                                                                                          \
        {                                                                                                              \
            { NFTNL_EXPR_CT_KEY, 4, (key), NULL }, { NFTNL_EXPR_CT_DREG, 4, NFT_REG_1, NULL },                         \
            {                                                                                                          \
                NFTNL_EXPR_CT_DIR, (direction), 0, NULL                                                                \
            }                                                                                                          \
        }                                                                                                              \
    }

static const struct {
    struct expression expressions[6];
    enum netrules_verdict verdict;
    bool conditional, established;
    struct netrules_queue queue;
} built[] = {
    { { { "counter", { { 0 } } }, QUEUE(3, 1, 0) },
      NETRULES_QUEUE,
      false,
      false,
      { 3, 3, false, false, NETRULES_SPREAD_NONE } },
    { { QUEUE(0, 4, NFT_QUEUE_FLAG_BYPASS) },
      NETRULES_QUEUE,
      false,
      false,
      { 0, 3, true, false, NETRULES_SPREAD_ADDRESSES } },
    { { QUEUE(0, 4, NFT_QUEUE_FLAG_BYPASS | NFT_QUEUE_FLAG_CPU_FANOUT) },
      NETRULES_QUEUE,
      false,
      false,
      { 0, 3, true, false, NETRULES_SPREAD_CPU } },
    { { QUEUE(65534, 9, 0) }, NETRULES_QUEUE, false, false, { 65534, 65535, false, false, NETRULES_SPREAD_ADDRESSES } },
    { { HASH(NFT_HASH_SYM, 4, 8), QUEUE_CHOSEN(NFT_QUEUE_FLAG_BYPASS) },
      NETRULES_QUEUE,
      false,
      false,
      { 8, 11, true, false, NETRULES_SPREAD_FLOW } },
    { { CT(NFT_CT_PROTO_SRC, 1), HASH(NFT_HASH_JENKINS, 2, 0), QUEUE_CHOSEN(0) },
      NETRULES_QUEUE,
      false,
      false,
      { 0, 1, false, false, NETRULES_SPREAD_FLOW } },
    { { META(NFT_META_IIF), HASH(NFT_HASH_JENKINS, 2, 0), QUEUE_CHOSEN(0) },
      NETRULES_QUEUE,
      false,
      false,
      { 0, 1, false, false, NETRULES_SPREAD_OTHER } },
    { { META(NFT_META_CPU), QUEUE_CHOSEN(0) },
      NETRULES_QUEUE,
      false,
      false,
      { 0, 65535, false, true, NETRULES_SPREAD_CPU } },
    { { META(NFT_META_MARK), QUEUE_CHOSEN(0) },
      NETRULES_QUEUE,
      false,
      false,
      { 0, 65535, false, true, NETRULES_SPREAD_OTHER } },
    { { CT(NFT_CT_STATE, 0), BITS(6, 0), CMP(NFT_CMP_NEQ, 0), VERDICT(NF_ACCEPT) },
      NETRULES_ACCEPT,
      true,
      true,
      { 0 } },
    { { CT(NFT_CT_STATE, 0), BITS(8, 0), CMP(NFT_CMP_NEQ, 0), VERDICT(NF_DROP) }, NETRULES_DROP, true, false, { 0 } },
    { { VERDICT(NFT_RETURN) }, NETRULES_RETURN, false, false, { 0 } },
    { { { "reject", { { NFTNL_EXPR_REJECT_TYPE, 4, NFT_REJECT_TCP_RST, NULL } } } },
      NETRULES_DROP,
      false,
      false,
      { 0 } },
    { { { "flow_offload", { { NFTNL_EXPR_FLOW_TABLE_NAME, STRING, 0, "ft" } } } },
      NETRULES_CONTINUE,
      false,
      false,
      { 0 } },
};

START_TEST(rule_of_libnftnl_is_read)
{
    const struct netrules_rule *rule;

    add_table_and_chain();
    rule = add_rule(built[_i].expressions);
    ck_assert_uint_eq(rule->handle, 77);
    ck_assert_int_eq(rule->verdict, built[_i].verdict);
    ck_assert_int_eq(rule->conditional, built[_i].conditional);
    ck_assert_int_eq(rule->established, built[_i].established);
    ck_assert_uint_eq(rule->queue.first, built[_i].queue.first);
    ck_assert_uint_eq(rule->queue.last, built[_i].queue.last);
    ck_assert_int_eq(rule->queue.bypass, built[_i].queue.bypass);
    ck_assert_int_eq(rule->queue.unknown, built[_i].queue.unknown);
    ck_assert_int_eq(rule->queue.spread, built[_i].queue.spread);
    ck_assert_uint_eq(rule->families, NETRULES_IPV4 | NETRULES_IPV6);
    ck_assert_int_eq(rule->flowtable != NULL, strcmp(built[_i].expressions[0].name, "flow_offload") == 0);
}
END_TEST

START_TEST(table_and_chain_are_read)
{
    const struct netrules_chain *chain;

    add_table_and_chain();
    ck_assert(ruleset->tables->dormant && !ruleset->tables->legacy && !ruleset->tables->next);
    chain = netrules_find_chain(ruleset->tables, "f");
    ck_assert(chain && chain->base);
    ck_assert_int_eq(chain->priority, -7);
    ck_assert_uint_eq(chain->hook, NF_INET_FORWARD);
    ck_assert_int_eq(chain->policy, NETRULES_DROP);
    ck_assert_str_eq(chain->type, "filter");
    ck_assert_ptr_null(netrules_find_chain(ruleset->tables, "g"));
}
END_TEST

START_TEST(flowtable_is_read)
{
    const char *devices[] = { "eth0", "eth1", NULL };
    struct nftnl_flowtable *flowtable = nftnl_flowtable_alloc();
    char buffer[MESSAGE_SIZE];
    struct nlmsghdr *message;

    add_table_and_chain();
    message = begin(buffer, NFT_MSG_NEWFLOWTABLE);
    nftnl_flowtable_set_str(flowtable, NFTNL_FLOWTABLE_TABLE, "t");
    nftnl_flowtable_set_str(flowtable, NFTNL_FLOWTABLE_NAME, "ft");
    nftnl_flowtable_set_u32(flowtable, NFTNL_FLOWTABLE_HOOKNUM, 0);
    nftnl_flowtable_set_u32(flowtable, NFTNL_FLOWTABLE_PRIO, 0);
    nftnl_flowtable_set_array(flowtable, NFTNL_FLOWTABLE_DEVICES, devices);
    nftnl_flowtable_nlmsg_build_payload(message, flowtable);
    add(message);
    nftnl_flowtable_free(flowtable);
    ck_assert_ptr_nonnull(ruleset->tables->flowtables);
    ck_assert_str_eq(ruleset->tables->flowtables->name, "ft");
    ck_assert_str_eq(ruleset->tables->flowtables->devices, "eth0,eth1");
    ck_assert(!ruleset->tables->flowtables->hardware);
}
END_TEST

/* --- Marks ---------------------------------------------------------------------------------------- */

#define SET_META                                                                                                       \
    {                                                                                                                  \
        "meta",                                                                                                        \
        {                                                                                                              \
            { NFTNL_EXPR_META_KEY, 4, NFT_META_MARK, NULL },                                                           \
            {                                                                                                          \
                NFTNL_EXPR_META_SREG, 4, NFT_REG_1, NULL                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }
#define SET_CT                                                                                                         \
    {                                                                                                                  \
        "ct",                                                                                                          \
        {                                                                                                              \
            { NFTNL_EXPR_CT_KEY, 4, NFT_CT_MARK, NULL },                                                               \
            {                                                                                                          \
                NFTNL_EXPR_CT_SREG, 4, NFT_REG_1, NULL                                                                 \
            }                                                                                                          \
        }                                                                                                              \
    }
#define LOAD(data)                                                                                                     \
    {                                                                                                                  \
        "immediate",                                                                                                   \
        {                                                                                                              \
            { NFTNL_EXPR_IMM_DREG, 4, NFT_REG_1, NULL },                                                               \
            {                                                                                                          \
                NFTNL_EXPR_IMM_DATA, BYTES, (data), NULL                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }

static const struct {
    struct expression expressions[6];
    struct netrules_mark mark;
} marks[] = {
    { { META(NFT_META_MARK), CMP(NFT_CMP_EQ, 0x10) },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_MATCH, .value = 0x10, .mask = 0xffffffff } },
    { { META(NFT_META_MARK), BITS(0xf0, 0), CMP(NFT_CMP_NEQ, 0x10) },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_MATCH, .value = 0x10, .mask = 0xf0 } },
    { { LOAD(0xca6c), SET_META },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_SET, .value = 0xca6c, .mask = 0xffffffff } },
    { { META(NFT_META_MARK), BITS(~0x4000u, 0x4000), SET_META },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_SET, .value = 0x4000, .mask = 0x4000 } },
    { { META(NFT_META_MARK), BITS(0xff00ffff, 0x40000), SET_META },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_SET, .value = 0x40000, .mask = 0xff0000 } },
    { { META(NFT_META_MARK), BITS(0xfffffffe, 0), SET_META },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_SET, .value = 0, .mask = 1 } },
    { { CT(NFT_CT_MARK, 0), SET_META },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_COPY, .mask = 0xffffffff, .source = 0xffffffff } },
    { { META(NFT_META_MARK), BITS(0xff, 0), SET_CT },
      { .kind = NETRULES_CONNECTION_MARK, .use = NETRULES_MARK_COPY, .mask = 0xffffffff, .source = 0xff } },
    { { HASH(NFT_HASH_SYM, 4, 0), SET_META },
      { .kind = NETRULES_PACKET_MARK, .use = NETRULES_MARK_ANY, .mask = 0xffffffff } },
};

START_TEST(mark_is_read)
{
    const struct netrules_rule *rule;

    add_table_and_chain();
    rule = add_rule(marks[_i].expressions);
    ck_assert(rule->marks && !rule->marks->next);
    ck_assert_int_eq(rule->marks->kind, marks[_i].mark.kind);
    ck_assert_int_eq(rule->marks->use, marks[_i].mark.use);
    ck_assert_uint_eq(rule->marks->value, marks[_i].mark.value);
    ck_assert_uint_eq(rule->marks->mask, marks[_i].mark.mask);
    ck_assert_uint_eq(rule->marks->source, marks[_i].mark.source);
}
END_TEST

/* A counter counts the packets of a queue only if all packets that it counts are queued. */
START_TEST(counter_right_before_the_queue)
{
    static const struct {
        struct expression expressions[6];
        bool counted;
    } rules[] = {
        { { META(NFT_META_IIF), CMP(NFT_CMP_EQ, 3), { "counter", { { 0 } } }, QUEUE(3, 1, 0) }, true },
        { { { "counter", { { 0 } } }, HASH(NFT_HASH_SYM, 4, 8), QUEUE_CHOSEN(0) }, true },
        { { { "counter", { { 0 } } }, META(NFT_META_IIF), CMP(NFT_CMP_EQ, 3), QUEUE(3, 1, 0) }, false },
        { { QUEUE(3, 1, 0) }, false },
    };

    add_table_and_chain();
    ck_assert_int_eq(add_rule(rules[_i].expressions)->counted, rules[_i].counted);
}
END_TEST

/* --- Recorded ------------------------------------------------------------------------------------- */

static size_t read_file(const char *name, uint8_t **out)
{
    char path[4096];
    FILE *file;
    long size;

    ck_assert_ptr_nonnull(getenv("SLUICE_SOURCE"));
    snprintf(path, sizeof(path), "%s/tests/fuzz/corpus/netrules/%s", getenv("SLUICE_SOURCE"), name);
    file = fopen(path, "rb");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fseek(file, 0, SEEK_END), 0);
    size = ftell(file);
    rewind(file);
    *out = malloc((size_t)size);
    ck_assert_uint_eq(fread(*out, 1, (size_t)size, file), (size_t)size);
    fclose(file);
    return (size_t)size;
}

static void add_recorded(const char *name)
{
    uint8_t *bytes;
    size_t size = read_file(name, &bytes), at = 1;

    while (bytes[0] == 0 && at < size) {
        struct nlmsghdr header, *message;

        memcpy(&header, bytes + at, sizeof(header));
        message = malloc(header.nlmsg_len); /* an aligned copy */
        memcpy(message, bytes + at, header.nlmsg_len);
        ck_assert_int_eq(nftables_add_message(ruleset, message, header.nlmsg_len), 0);
        free(message);
        at += NLMSG_ALIGN(header.nlmsg_len);
    }
    if (bytes[0] >= 2)
        ck_assert_int_eq(xtables_add_table(ruleset, bytes[0] == 3, bytes + 1, sizeof(struct ipt_getinfo),
                                           bytes + 1 + sizeof(struct ipt_getinfo),
                                           size - 1 - sizeof(struct ipt_getinfo)),
                         0);
    free(bytes);
}

/* Returns the rules of a chain, in the first table with that name. */
static const struct netrules_rule *rules_of(const char *table_name, const char *chain_name)
{
    for (const struct netrules_table *table = ruleset->tables; table; table = table->next)
        if (strcmp(table->name, table_name) == 0 && netrules_find_chain(table, chain_name))
            return netrules_find_chain(table, chain_name)->rules;
    ck_abort_msg("no chain %s of %s", chain_name, table_name);
    return NULL;
}

static const struct {
    const char *file, *table, *chain;
    unsigned number;
    const char *text; /* NULL: not compared */
    enum netrules_verdict verdict;
    unsigned families;
} recorded[] = {
    { "nft", "firewall", "more", 1, NULL, NETRULES_ACCEPT, 3 },   /* tcp flags & 0x07 == 0x02 accept */
    { "nft", "firewall", "more", 3, NULL, NETRULES_ACCEPT, 3 },   /* fib daddr type local accept */
    { "nft", "firewall", "more", 5, NULL, NETRULES_CONTINUE, 1 }, /* meta mark set ip saddr map @m */
    { "nft", "firewall", "more", 8, NULL, NETRULES_DROP,
      3 }, /* tcp dport >= 1000 tcp dport <= 2000 reject with tcp reset */
    { "nft", "firewall", "more", 11, NULL, NETRULES_RETURN, 3 },   /* ct mark & 0xff == 0x1 return */
    { "nft", "firewall", "more", 13, NULL, NETRULES_CONTINUE, 3 }, /* meta mark set ct mark & 0xff */
    { "nft", "firewall", "more", 16, NULL, NETRULES_DROP, 2 },     /* meta nfproto ipv6 drop */
    { "nft", "firewall", "more", 19, NULL, NETRULES_ACCEPT, 1 },   /* ip protocol gre accept */
    { "nft", "firewall", "forward", 1, NULL, NETRULES_ACCEPT, 3 }, /* ct state established,related counter accept */
    { "nft", "firewall", "forward", 3, NULL, NETRULES_DROP, 1 },   /* ip saddr @blocked drop */
    { "nft", "firewall", "forward", 5, NULL, NETRULES_ACCEPT,
      1 }, /* iifname "eth*" ip saddr 10.0.0.0/8 udp dport 53 meta mark set meta mark | 0x40000000 accept */
    { "nft", "firewall", "forward", 6, NULL, NETRULES_CONTINUE, 2 }, /* ip6 daddr fe80::/10 ct mark set meta mark */
    { "nft", "firewall", "forward", 7, NULL, NETRULES_ACCEPT, 1 },   /* ip saddr 10.0.0.0/12 accept */
    { "nft", "firewall", "forward", 9, NULL, NETRULES_DROP, 3 },     /* limit rate 5/second log prefix "x" reject */
    { "nft", "raw", "OUTPUT", 1, "-m connmark --mark 0x3 [ counter ] -j NFQUEUE --queue-balance 1:4 --queue-cpu-fanout",
      NETRULES_QUEUE, 1 },
    { "queues", "sluice", "input", 3, NULL, NETRULES_QUEUE,
      3 }, /* meta mark & 0x1 != 0x1 counter -j NFQUEUE --queue-balance 0:3 --queue-bypass */
    { "legacy_filter", "filter", "INPUT", 2, "-s 10.0.0.0/8 -d 1.1.1.1/32 -i eth+ -j U", NETRULES_JUMP, 1 },
    { "legacy_filter", "filter", "FORWARD", 1, "-m conntrack ! --ctstate established,related -j REJECT", NETRULES_DROP,
      1 },
    { "legacy_filter", "filter", "U", 1, "-g V", NETRULES_GOTO, 1 },
    { "legacy_filter", "filter", "U", 2, "-j RETURN", NETRULES_RETURN, 1 },
    { "legacy_filter", "filter", "V", 1, "-p tcp -m multiport --dports 1,2:3 -j ACCEPT", NETRULES_ACCEPT, 1 },
    { "legacy_raw", "raw", "PREROUTING", 1, "-p udp -m udp --dport 53 -j CT --notrack", NETRULES_CONTINUE, 1 },
    { "legacy_mangle", "mangle", "POSTROUTING", 2, "-j MARK --set-xmark 0x1/0x1", NETRULES_CONTINUE, 1 },
    { "legacy6_filter", "filter", "FORWARD", 1, "-s fe80::/10 ! -d 2001:db8::1/128 -j DROP", NETRULES_DROP, 2 },
};

START_TEST(recorded_rule_is_read)
{
    const struct netrules_rule *rule;

    add_recorded(recorded[_i].file);
    rule = rules_of(recorded[_i].table, recorded[_i].chain);
    for (unsigned i = 1; rule && i < recorded[_i].number; i++)
        rule = rule->next;
    ck_assert_ptr_nonnull(rule);
    if (recorded[_i].text)
        ck_assert_str_eq(rule->text, recorded[_i].text);
    ck_assert_int_eq(rule->verdict, recorded[_i].verdict);
    ck_assert_uint_eq(rule->families, recorded[_i].families);
    ck_assert_int_eq(rule->counted, rule->verdict == NETRULES_QUEUE);
}
END_TEST

START_TEST(recorded_tables_are_whole)
{
    const struct netrules_rule *rule;

    add_recorded("legacy_filter");
    ck_assert(ruleset->tables->legacy);
    ck_assert_int_eq(netrules_find_chain(ruleset->tables, "INPUT")->policy, NETRULES_DROP);
    ck_assert_int_eq(netrules_find_chain(ruleset->tables, "FORWARD")->policy, NETRULES_ACCEPT);
    ck_assert_uint_eq(netrules_find_chain(ruleset->tables, "INPUT")->rule_count, 2);
    ck_assert(rules_of("filter", "INPUT")->only_loopback);
    ck_assert_str_eq(rules_of("filter", "V")->comment, "hey");
    ck_assert_str_eq(rules_of("filter", "INPUT")->next->target, "U");
    ck_assert_ptr_null(netrules_find_chain(ruleset->tables, "ERROR"));
    add_recorded("nft");
    rule = rules_of("firewall", "forward")->next; /* ct state vmap { invalid : drop, new : jump more } */
    ck_assert(rule->branches && rule->branches->next && !rule->branches->next->next);
    ck_assert(!rule->branches->established);
    ck_assert(rules_of("firewall", "forward")->established);
}
END_TEST

/* --- Errors and unknown names --------------------------------------------------------------------- */

START_TEST(what_is_no_message_is_refused)
{
    struct nlmsghdr header = { .nlmsg_len = sizeof(header) };

    ck_assert_int_eq(nftables_add_message(ruleset, &header, 3), -EBADMSG);
    ck_assert_int_eq(nftables_add_message(ruleset, &header, sizeof(header)), -EBADMSG);
    header.nlmsg_len = 4000;
    ck_assert_int_eq(nftables_add_message(ruleset, &header, sizeof(header)), -EBADMSG);
    ck_assert_int_eq(xtables_add_table(ruleset, false, &header, sizeof(header), &header, sizeof(header)), -EBADMSG);
    ck_assert_ptr_null(ruleset->tables);
}
END_TEST

/* An unknown expression counts as a condition, so that the rule is not taken for one that matches all packets. */
START_TEST(unknown_expression_is_a_condition)
{
    const struct netrules_rule *rule;

    add_recorded("native");
    rule = rules_of("t", "c");
    while (rule && !strstr(rule->text, "[ strange ]"))
        rule = rule->next;
    ck_assert_ptr_nonnull(rule);
    ck_assert(rule->conditional);
}
END_TEST

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

int main(void)
{
    Suite *suite = suite_create("netrules");
    TCase *reading = tcase_create("reading");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(reading, setup, teardown);
    tcase_add_loop_test(reading, rule_of_libnftnl_is_read, 0, COUNT(built));
    tcase_add_test(reading, table_and_chain_are_read);
    tcase_add_test(reading, flowtable_is_read);
    tcase_add_loop_test(reading, mark_is_read, 0, COUNT(marks));
    tcase_add_loop_test(reading, counter_right_before_the_queue, 0, 4);
    tcase_add_loop_test(reading, recorded_rule_is_read, 0, COUNT(recorded));
    tcase_add_test(reading, recorded_tables_are_whole);
    tcase_add_test(reading, what_is_no_message_is_refused);
    tcase_add_test(reading, unknown_expression_is_a_condition);
    suite_add_tcase(suite, reading);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
