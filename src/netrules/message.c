/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of nf_tables: tables, chains, flowtables, sets with their elements, rules. Numbers in attributes are in
 * network order (nf_tables.h), except the bytes of values, which are in the order of the packet or the host.
 */
#include "netrules_priv.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

enum {
    COMMENT_TYPE = 0, /* the first of each kind of userdata is the comment (libnftnl, udata.h) */
    VERDICT_TYPE = 0xffffff00,
    TABLE_OWNED = 1 << 1, /* NFT_TABLE_F_OWNER */
};

/* --- Attributes ------------------------------------------------------------------------------------- */

struct cursor netrules_attribute(struct cursor nest, uint16_t type)
{
    struct cursor value;
    uint16_t found;

    while (netlink_read_attribute(&nest, &found, &value))
        if (found == type)
            return value;
    return (struct cursor){ .at = NULL };
}

uint32_t netrules_be32(struct cursor value, uint32_t otherwise)
{
    uint32_t out;

    return cursor_be32(&value, &out) ? out : otherwise;
}

uint64_t netrules_be64(struct cursor value, uint64_t otherwise)
{
    const uint8_t *bytes = cursor_read(&value, sizeof(uint64_t));

    return bytes ? load_be64(bytes) : otherwise;
}

const char *netrules_string(struct arena *arena, struct cursor value)
{
    size_t length = cursor_remaining(&value);

    return length ? arena_strndup(arena, (const char *)value.at, strnlen((const char *)value.at, length)) : "";
}

static int verdict_of(uint32_t code, enum netrules_verdict *out)
{
    static const struct {
        int code;
        enum netrules_verdict verdict;
    } codes[] = {
        { NF_DROP, NETRULES_DROP },   { NF_ACCEPT, NETRULES_ACCEPT },      { NF_STOLEN, NETRULES_STOLEN },
        { NF_QUEUE, NETRULES_QUEUE }, { NFT_CONTINUE, NETRULES_CONTINUE }, { NFT_BREAK, NETRULES_CONTINUE },
        { NFT_JUMP, NETRULES_JUMP },  { NFT_GOTO, NETRULES_GOTO },         { NFT_RETURN, NETRULES_RETURN },
    };

    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        if ((uint32_t)codes[i].code != code)
            continue;
        *out = codes[i].verdict;
        return 0;
    }
    return -EINVAL;
}

int netrules_read_verdict(struct arena *arena, struct cursor data, enum netrules_verdict *verdict, const char **target)
{
    struct cursor chain = netrules_attribute(data, NFTA_VERDICT_CHAIN);

    if (verdict_of(netrules_be32(netrules_attribute(data, NFTA_VERDICT_CODE), NF_MAX_VERDICT + 1), verdict))
        return -EINVAL;
    *target = cursor_remaining(&chain) ? netrules_string(arena, chain) : NULL;
    return cursor_remaining(&chain) && !*target ? -ENOMEM : 0;
}

/* Reads a comment from userdata: type, length, value. */
static const char *read_comment(struct arena *arena, struct cursor userdata)
{
    uint8_t type, length;

    while (cursor_u8(&userdata, &type) && cursor_u8(&userdata, &length)) {
        const uint8_t *value = cursor_read(&userdata, length);

        if (!value)
            break;
        if (type == COMMENT_TYPE && length > 0)
            return netrules_string(arena, cursor_of(value, length));
    }
    return NULL;
}

/* Returns the names in a nested list, separated by commas; NULL for none. */
static const char *read_devices(struct arena *arena, struct cursor list)
{
    const char *all = NULL;
    struct cursor value;
    uint16_t type;

    while (netlink_read_attribute(&list, &type, &value)) {
        const char *name = netrules_string(arena, value);

        if (!name || !*name)
            continue;
        all = all ? arena_printf(arena, "%s,%s", all, name) : name;
        if (!all || strlen(all) > 1024) /* more names would not be readable */
            break;
    }
    return all;
}

/* --- Tables, chains, flowtables --------------------------------------------------------------------- */

static struct netrules_table *table_of(const struct netrules *ruleset, uint32_t family, struct cursor name)
{
    const char *text = netrules_string(ruleset->arena, name);

    return text ? netrules_find_table(ruleset, family, false, text) : NULL;
}

static int add_table(struct netrules *ruleset, uint32_t family, struct cursor message)
{
    const char *name = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_TABLE_NAME));
    uint32_t flags = netrules_be32(netrules_attribute(message, NFTA_TABLE_FLAGS), 0);
    struct netrules_table *table = name ? netrules_find_table(ruleset, family, false, name) : NULL;

    if (name && !table)
        table = netrules_add_table(ruleset, family, false, name);
    if (!table)
        return -ENOMEM;
    table->comment = read_comment(ruleset->arena, netrules_attribute(message, NFTA_TABLE_USERDATA));
    table->dormant = flags & NFT_TABLE_F_DORMANT;
    table->owned = flags & TABLE_OWNED;
    return 0;
}

static void read_hook(struct netrules *ruleset, struct netrules_chain *chain, struct cursor hook)
{
    struct cursor one = netrules_attribute(hook, NFTA_HOOK_DEV), several = netrules_attribute(hook, NFTA_HOOK_DEVS);

    chain->base = cursor_remaining(&hook) > 0;
    chain->hook = netrules_be32(netrules_attribute(hook, NFTA_HOOK_HOOKNUM), 0);
    chain->priority = (int32_t)netrules_be32(netrules_attribute(hook, NFTA_HOOK_PRIORITY), 0);
    if (cursor_remaining(&several))
        chain->devices = read_devices(ruleset->arena, several);
    else if (cursor_remaining(&one))
        chain->devices = netrules_string(ruleset->arena, one);
}

static int add_chain(struct netrules *ruleset, uint32_t family, struct cursor message)
{
    struct netrules_table *table = table_of(ruleset, family, netrules_attribute(message, NFTA_CHAIN_TABLE));
    const char *name = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_CHAIN_NAME));
    struct netrules_chain *chain;

    if (!table)
        return 0;
    chain = name ? netrules_add_chain(ruleset, table, name) : NULL;
    if (!chain)
        return -ENOMEM;
    chain->handle = (uint32_t)netrules_be64(netrules_attribute(message, NFTA_CHAIN_HANDLE), 0);
    read_hook(ruleset, chain, netrules_attribute(message, NFTA_CHAIN_HOOK));
    chain->type = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_CHAIN_TYPE));
    if (netrules_be32(netrules_attribute(message, NFTA_CHAIN_POLICY), NF_ACCEPT) == NF_DROP)
        chain->policy = NETRULES_DROP;
    return chain->type ? 0 : -ENOMEM;
}

static int add_flowtable(struct netrules *ruleset, uint32_t family, struct cursor message)
{
    struct netrules_table *table = table_of(ruleset, family, netrules_attribute(message, NFTA_FLOWTABLE_TABLE));
    struct cursor hook = netrules_attribute(message, NFTA_FLOWTABLE_HOOK);
    struct netrules_flowtable *flowtable, **link;

    if (!table)
        return 0;
    flowtable = arena_alloc(ruleset->arena, sizeof(*flowtable));
    if (!flowtable)
        return -ENOMEM;
    flowtable->table = table;
    flowtable->name = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_FLOWTABLE_NAME));
    flowtable->devices = read_devices(ruleset->arena, netrules_attribute(hook, NFTA_FLOWTABLE_HOOK_DEVS));
    flowtable->hardware =
        netrules_be32(netrules_attribute(message, NFTA_FLOWTABLE_FLAGS), 0) & NFT_FLOWTABLE_HW_OFFLOAD;
    for (link = &table->flowtables; *link;)
        link = &(*link)->next;
    *link = flowtable;
    return flowtable->name ? 0 : -ENOMEM;
}

/* --- Sets ------------------------------------------------------------------------------------------- */

static int add_set(struct netrules *ruleset, uint32_t family, struct cursor message)
{
    struct netrules_table *table = table_of(ruleset, family, netrules_attribute(message, NFTA_SET_TABLE));
    uint32_t flags = netrules_be32(netrules_attribute(message, NFTA_SET_FLAGS), 0);
    struct netrules_set *set;

    if (!table)
        return 0;
    set = arena_alloc(ruleset->arena, sizeof(*set));
    if (!set)
        return -ENOMEM;
    set->table = table;
    set->name = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_SET_NAME));
    set->anonymous = flags & NFT_SET_ANONYMOUS;
    set->interval = flags & NFT_SET_INTERVAL;
    set->key_length = netrules_be32(netrules_attribute(message, NFTA_SET_KEY_LEN), 0);
    set->verdict_map = (flags & NFT_SET_MAP) &&
                       netrules_be32(netrules_attribute(message, NFTA_SET_DATA_TYPE), 0) == (uint32_t)VERDICT_TYPE;
    set->next = table->sets;
    table->sets = set;
    return set->name ? 0 : -ENOMEM;
}

static int add_element(struct netrules *ruleset, struct netrules_set *set, struct cursor element)
{
    struct cursor key = netrules_attribute(netrules_attribute(element, NFTA_SET_ELEM_KEY), NFTA_DATA_VALUE);
    struct cursor verdict = netrules_attribute(netrules_attribute(element, NFTA_SET_ELEM_DATA), NFTA_DATA_VERDICT);
    struct netrules_element *out;
    int err = 0;

    if (netrules_be32(netrules_attribute(element, NFTA_SET_ELEM_FLAGS), 0) & NFT_SET_ELEM_INTERVAL_END)
        return 0;
    out = arena_alloc(ruleset->arena, sizeof(*out));
    if (!out)
        return -ENOMEM;
    out->key = arena_copy(ruleset->arena, key.at, cursor_remaining(&key));
    out->key_length = cursor_remaining(&key);
    if (cursor_remaining(&verdict)) {
        err = netrules_read_verdict(ruleset->arena, verdict, &out->verdict, &out->target);
        out->has_verdict = err == 0;
    }
    out->next = set->elements;
    set->elements = out;
    return err == -ENOMEM || !out->key ? -ENOMEM : 0;
}

static size_t count_elements(const struct netrules_set *set)
{
    size_t count = 0;

    for (const struct netrules_element *element = set->elements; element; element = element->next)
        count++;
    return count;
}

static int add_elements(struct netrules *ruleset, uint32_t family, struct cursor message)
{
    struct netrules_table *table = table_of(ruleset, family, netrules_attribute(message, NFTA_SET_ELEM_LIST_TABLE));
    const char *name = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_SET_ELEM_LIST_SET));
    struct netrules_set *set = table && name ? (struct netrules_set *)netrules_find_set(table, name) : NULL;
    struct cursor list = netrules_attribute(message, NFTA_SET_ELEM_LIST_ELEMENTS), element;
    size_t count = set ? count_elements(set) : 0;
    uint16_t type;
    int err = 0;

    while (set && !err && count++ < NETRULES_ELEMENTS && netlink_read_attribute(&list, &type, &element))
        err = add_element(ruleset, set, element);
    return err;
}

/* --- Rules ------------------------------------------------------------------------------------------ */

static int read_expressions(struct netrules *ruleset, struct netrules_rule *rule, struct cursor list)
{
    struct rule_builder builder;
    struct cursor expression;
    uint16_t type;

    rule_builder_start(&builder, ruleset, rule);
    while (!builder.failed && netlink_read_attribute(&list, &type, &expression)) {
        const char *name = netrules_string(ruleset->arena, netrules_attribute(expression, NFTA_EXPR_NAME));

        if (!name)
            builder.failed = true;
        else
            rule_expression(&builder, name, netrules_attribute(expression, NFTA_EXPR_DATA));
    }
    return rule_builder_end(&builder);
}

/* Returns the chain of a rule; rules arrive chain by chain. */
static struct netrules_chain *chain_of(struct netrules_table *table, const char *name)
{
    if (!table->recent || !name || strcmp(table->recent->name, name) != 0)
        table->recent = netrules_find_chain(table, name);
    return (struct netrules_chain *)table->recent;
}

static int add_rule(struct netrules *ruleset, uint32_t family, struct cursor message)
{
    struct netrules_table *table = table_of(ruleset, family, netrules_attribute(message, NFTA_RULE_TABLE));
    const char *name = netrules_string(ruleset->arena, netrules_attribute(message, NFTA_RULE_CHAIN));
    struct netrules_chain *chain = table ? chain_of(table, name) : NULL;
    struct netrules_rule *rule;

    if (!chain)
        return 0;
    rule = netrules_add_rule(ruleset, chain);
    if (!rule)
        return -ENOMEM;
    rule->handle = netrules_be64(netrules_attribute(message, NFTA_RULE_HANDLE), 0);
    rule->comment = read_comment(ruleset->arena, netrules_attribute(message, NFTA_RULE_USERDATA));
    return read_expressions(ruleset, rule, netrules_attribute(message, NFTA_RULE_EXPRESSIONS));
}

/* --- Message types ---------------------------------------------------------------------------------- */

static const struct {
    uint16_t type;
    int (*add)(struct netrules *ruleset, uint32_t family, struct cursor message);
} kinds[] = {
    { NFT_MSG_NEWTABLE, add_table }, { NFT_MSG_NEWCHAIN, add_chain },      { NFT_MSG_NEWFLOWTABLE, add_flowtable },
    { NFT_MSG_NEWSET, add_set },     { NFT_MSG_NEWSETELEM, add_elements }, { NFT_MSG_NEWRULE, add_rule },
};

int netrules_add_message(struct netrules *ruleset, const void *bytes, size_t length)
{
    struct cursor message = cursor_of(bytes, length);
    const uint8_t *head = cursor_read(&message, sizeof(struct nlmsghdr));
    struct nlmsghdr header;
    struct nfgenmsg family;

    if (!head)
        return -EBADMSG;
    memcpy(&header, head, sizeof(header));
    if (header.nlmsg_len < sizeof(header) || header.nlmsg_len > length)
        return -EBADMSG;
    cursor_limit(&message, header.nlmsg_len - sizeof(header));
    head = cursor_read(&message, sizeof(family));
    if (!head || header.nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES)
        return -EBADMSG;
    memcpy(&family, head, sizeof(family));
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].type != (header.nlmsg_type & 0xff))
            continue;

        int err = kinds[i].add(ruleset, family.nfgen_family, message);

        return err ? err : netrules_check_size(ruleset);
    }
    return -EBADMSG;
}
