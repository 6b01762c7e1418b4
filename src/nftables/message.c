/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Adds nf_tables messages to a ruleset: tables, chains, flowtables, sets with their elements, and rules. libnftnl
 * parses them. */
#include "nftables_priv.h"

#include <errno.h>
#include <libmnl/libmnl.h>
#include <libnftnl/chain.h>
#include <libnftnl/flowtable.h>
#include <libnftnl/rule.h>
#include <libnftnl/set.h>
#include <libnftnl/table.h>
#include <libnftnl/udata.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <string.h>

enum {
    VERDICT_TYPE = 0xffffff00, /* data type that marks a set as a verdict map (NFT_DATA_VERDICT) */
    EXPRESSION_SIZE = 8192,    /* maximum size in bytes; larger expressions are treated as unknown */
};

bool nftables_verdict_of(uint32_t code, enum netrules_verdict *out)
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
        return true;
    }
    return false;
}

static const char *copy_string(struct netrules *ruleset, const char *string)
{
    return arena_strdup(ruleset->arena, string ? string : "");
}

/* Returns the table of an object, or NULL, and then the caller ignores the object. */
static struct netrules_table *find_table(const struct netrules *ruleset, uint32_t family, const char *name)
{
    for (struct netrules_table *table = ruleset->tables; table && name; table = table->next)
        if (table->family == family && !table->legacy && strcmp(table->name, name) == 0)
            return table;
    return NULL;
}

/* Stores the attribute of user data that is the comment; its type has the same number for tables and rules. */
static int store_comment(const struct nftnl_udata *attribute, void *user)
{
    const struct nftnl_udata **comment = user;

    if (nftnl_udata_type(attribute) == NFTNL_UDATA_RULE_COMMENT && nftnl_udata_len(attribute) > 0 && !*comment)
        *comment = attribute;
    return 0;
}

static const char *read_comment(struct netrules *ruleset, const void *data, uint32_t length)
{
    const struct nftnl_udata *comment = NULL;
    const char *text;

    if (!data || nftnl_udata_parse(data, length, store_comment, &comment) < 0 || !comment)
        return NULL;
    text = nftnl_udata_get(comment);
    return arena_strndup(ruleset->arena, text, strnlen(text, nftnl_udata_len(comment)));
}

/* Returns the names, separated by commas; NULL if there are none or memory is exhausted. */
static const char *join_devices(struct netrules *ruleset, const char *const *names)
{
    const char *all = NULL;

    for (; names && *names; names++) {
        all = all ? arena_printf(ruleset->arena, "%s,%s", all, *names) : copy_string(ruleset, *names);
        if (!all || strlen(all) > 1024) /* more names would make the text unreadable */
            break;
    }
    return all;
}

/* --- Objects ---------------------------------------------------------------------------------------- */

static int add_table(struct netrules *ruleset, const struct nlmsghdr *message)
{
    struct nftnl_table *from = nftnl_table_alloc();
    struct netrules_table *table = NULL;
    uint32_t family, length = 0;
    const void *data;
    const char *name;
    int err = from ? 0 : -ENOMEM;

    if (!err && nftnl_table_nlmsg_parse(message, from) < 0)
        err = -EBADMSG;
    if (!err) {
        family = nftnl_table_get_u32(from, NFTNL_TABLE_FAMILY);
        name = nftnl_table_get_str(from, NFTNL_TABLE_NAME);
        table = find_table(ruleset, family, name);
        name = table ? NULL : copy_string(ruleset, name);
        if (name)
            table = netrules_add_table(ruleset, family, false, name);
        err = table ? 0 : -ENOMEM;
    }
    if (!err) {
        data = nftnl_table_get_data(from, NFTNL_TABLE_USERDATA, &length);
        table->comment = read_comment(ruleset, data, length);
        table->dormant = nftnl_table_get_u32(from, NFTNL_TABLE_FLAGS) & NFT_TABLE_F_DORMANT;
    }
    nftnl_table_free(from);
    return err;
}

static int add_chain(struct netrules *ruleset, const struct nlmsghdr *message)
{
    struct nftnl_chain *from = nftnl_chain_alloc();
    struct netrules_table *table = NULL;
    struct netrules_chain *chain;
    const char *name, *device;
    int err = from ? 0 : -ENOMEM;

    if (!err && nftnl_chain_nlmsg_parse(message, from) < 0)
        err = -EBADMSG;
    if (!err)
        table = find_table(ruleset, nftnl_chain_get_u32(from, NFTNL_CHAIN_FAMILY),
                           nftnl_chain_get_str(from, NFTNL_CHAIN_TABLE));
    if (table) {
        name = copy_string(ruleset, nftnl_chain_get_str(from, NFTNL_CHAIN_NAME));
        chain = name ? netrules_add_chain(ruleset, table, name) : NULL;
        err = chain ? 0 : -ENOMEM;
    }
    if (table && !err) {
        chain->handle = (uint32_t)nftnl_chain_get_u64(from, NFTNL_CHAIN_HANDLE);
        chain->base = nftnl_chain_is_set(from, NFTNL_CHAIN_HOOKNUM);
        chain->hook = nftnl_chain_get_u32(from, NFTNL_CHAIN_HOOKNUM);
        chain->priority = nftnl_chain_get_s32(from, NFTNL_CHAIN_PRIO);
        device = nftnl_chain_get_str(from, NFTNL_CHAIN_DEV);
        chain->devices = device ? copy_string(ruleset, device)
                                : join_devices(ruleset, nftnl_chain_get_array(from, NFTNL_CHAIN_DEVICES));
        if (nftnl_chain_is_set(from, NFTNL_CHAIN_POLICY) && nftnl_chain_get_u32(from, NFTNL_CHAIN_POLICY) == NF_DROP)
            chain->policy = NETRULES_DROP;
        chain->type = copy_string(ruleset, nftnl_chain_get_str(from, NFTNL_CHAIN_TYPE));
        err = chain->type ? 0 : -ENOMEM;
    }
    nftnl_chain_free(from);
    return err;
}

static int add_flowtable(struct netrules *ruleset, const struct nlmsghdr *message)
{
    struct nftnl_flowtable *from = nftnl_flowtable_alloc();
    struct netrules_flowtable *flowtable, **link;
    struct netrules_table *table = NULL;
    int err = from ? 0 : -ENOMEM;

    if (!err && nftnl_flowtable_nlmsg_parse(message, from) < 0)
        err = -EBADMSG;
    if (!err)
        table = find_table(ruleset, nftnl_flowtable_get_u32(from, NFTNL_FLOWTABLE_FAMILY),
                           nftnl_flowtable_get_str(from, NFTNL_FLOWTABLE_TABLE));
    flowtable = table ? arena_alloc(ruleset->arena, sizeof(*flowtable)) : NULL;
    if (table && !flowtable)
        err = -ENOMEM;
    if (flowtable) {
        flowtable->table = table;
        flowtable->name = copy_string(ruleset, nftnl_flowtable_get_str(from, NFTNL_FLOWTABLE_NAME));
        flowtable->devices = join_devices(ruleset, nftnl_flowtable_get_array(from, NFTNL_FLOWTABLE_DEVICES));
        flowtable->hardware = nftnl_flowtable_get_u32(from, NFTNL_FLOWTABLE_FLAGS) & NFT_FLOWTABLE_HW_OFFLOAD;
        for (link = &table->flowtables; *link;)
            link = &(*link)->next;
        *link = flowtable;
        err = flowtable->name ? 0 : -ENOMEM;
    }
    nftnl_flowtable_free(from);
    return err;
}

/* --- Sets ------------------------------------------------------------------------------------------- */

struct netrules_set *nftables_find_set(const struct netrules_table *table, const char *name)
{
    for (struct netrules_set *set = table->sets; set && name; set = set->next)
        if (strcmp(set->name, name) == 0)
            return set;
    return NULL;
}

struct adding {
    struct netrules *ruleset;
    struct netrules_set *set;
};

static int add_element(struct nftnl_set_elem *from, void *user)
{
    const struct adding *adding = user;
    struct arena *arena = adding->ruleset->arena;
    struct netrules_set *set = adding->set;
    struct nftables_element *element;
    const char *target;
    uint32_t length = 0;
    const void *key = nftnl_set_elem_get(from, NFTNL_SET_ELEM_KEY, &length);

    if ((nftnl_set_elem_is_set(from, NFTNL_SET_ELEM_FLAGS) &&
         nftnl_set_elem_get_u32(from, NFTNL_SET_ELEM_FLAGS) & NFT_SET_ELEM_INTERVAL_END) ||
        set->element_count++ >= NFTABLES_ELEMENTS)
        return 0;
    element = arena_alloc(arena, sizeof(*element));
    if (!element)
        return -ENOMEM;
    element->key_length = key ? length : 0;
    element->key = arena_copy(arena, key, element->key_length);
    element->has_verdict = nftnl_set_elem_is_set(from, NFTNL_SET_ELEM_VERDICT) &&
                           nftables_verdict_of(nftnl_set_elem_get_u32(from, NFTNL_SET_ELEM_VERDICT), &element->verdict);
    target = nftnl_set_elem_get_str(from, NFTNL_SET_ELEM_CHAIN);
    element->target = target ? arena_strdup(arena, target) : NULL;
    element->next = set->elements;
    set->elements = element;
    return element->key && (element->target || !target) ? 0 : -ENOMEM;
}

static int add_set(struct netrules *ruleset, const struct nlmsghdr *message)
{
    bool elements = (message->nlmsg_type & 0xff) == NFT_MSG_NEWSETELEM;
    struct nftnl_set *from = nftnl_set_alloc();
    struct netrules_table *table = NULL;
    struct netrules_set *set = NULL;
    int err = from ? 0 : -ENOMEM;
    const char *name = NULL;

    if (!err && (elements ? nftnl_set_elems_nlmsg_parse(message, from) : nftnl_set_nlmsg_parse(message, from)) < 0)
        err = -EBADMSG;
    if (!err) {
        name = nftnl_set_get_str(from, NFTNL_SET_NAME);
        table =
            find_table(ruleset, nftnl_set_get_u32(from, NFTNL_SET_FAMILY), nftnl_set_get_str(from, NFTNL_SET_TABLE));
    }
    if (table && elements) {
        struct adding adding = { ruleset, nftables_find_set(table, name) };

        if (adding.set)
            err = nftnl_set_elem_foreach(from, add_element, &adding);
    } else if (table) {
        uint32_t flags = nftnl_set_get_u32(from, NFTNL_SET_FLAGS);

        set = arena_alloc(ruleset->arena, sizeof(*set));
        name = set ? copy_string(ruleset, name) : NULL;
        err = name ? 0 : -ENOMEM;
        if (name) {
            *set = (struct netrules_set){
                .next = table->sets,
                .table = table,
                .name = name,
                .anonymous = flags & NFT_SET_ANONYMOUS,
                .verdict_map =
                    flags & NFT_SET_MAP && nftnl_set_get_u32(from, NFTNL_SET_DATA_TYPE) == (uint32_t)VERDICT_TYPE,
            };
            table->sets = set;
        }
    }
    nftnl_set_free(from);
    return err;
}

/* --- Rules ------------------------------------------------------------------------------------------ */

/* Parses one expression. libnftnl rejects a whole rule if it does not know one of its expressions; therefore each
 * expression is copied to a rule of its own. If libnftnl cannot parse it, rule_expression() gets NULL and makes the
 * rule conditional. */
static void read_expression(struct rule_reader *reader, const struct nlattr *element)
{
    _Alignas(struct nlmsghdr) char buffer[EXPRESSION_SIZE] = { 0 };
    struct nlmsghdr *message = mnl_nlmsg_put_header(buffer);
    struct nftnl_expr_iter *iterator = NULL;
    struct nftnl_rule *rule = NULL;
    const char *name = "?";
    struct nlattr *nest;
    const struct nlattr *attribute;

    mnl_attr_for_each_nested(attribute, element)
    {
        if (mnl_attr_get_type(attribute) == NFTA_EXPR_NAME)
            name = netrules_copy_string(&reader->builder, mnl_attr_get_payload(attribute),
                                        mnl_attr_get_payload_len(attribute));
    }
    mnl_nlmsg_put_extra_header(message, sizeof(struct nfgenmsg));
    nest = mnl_attr_nest_start(message, NFTA_RULE_EXPRESSIONS);
    if (mnl_attr_put_check(message, EXPRESSION_SIZE - NLMSG_ALIGNTO, NFTA_LIST_ELEM, mnl_attr_get_payload_len(element),
                           mnl_attr_get_payload(element))) {
        mnl_attr_nest_end(message, nest);
        rule = nftnl_rule_alloc();
        reader->builder.failed |= !rule;
        if (rule && nftnl_rule_nlmsg_parse(message, rule) == 0)
            iterator = nftnl_expr_iter_create(rule);
    }
    rule_expression(reader, name, iterator ? nftnl_expr_iter_next(iterator) : NULL);
    if (iterator)
        nftnl_expr_iter_destroy(iterator);
    if (rule)
        nftnl_rule_free(rule);
}

static int add_rule(struct netrules *ruleset, const struct nlmsghdr *message)
{
    const struct nfgenmsg *head = mnl_nlmsg_get_payload(message);
    const struct nlattr *attribute, *attributes[NFTA_RULE_MAX + 1] = { NULL };
    struct netrules_table *table = NULL;
    struct netrules_chain *chain = NULL;
    struct netrules_rule *rule;
    struct rule_reader reader;
    const char *name;

    mnl_attr_for_each(attribute, message, sizeof(*head))
    {
        if (mnl_attr_get_type(attribute) <= NFTA_RULE_MAX)
            attributes[mnl_attr_get_type(attribute)] = attribute;
    }
    if (attributes[NFTA_RULE_TABLE])
        table = find_table(ruleset, head->nfgen_family, mnl_attr_get_str(attributes[NFTA_RULE_TABLE]));
    /* the kernel sends all rules of a chain one after another, so a rule is usually in the same chain as the rule
     * before */
    if (table && attributes[NFTA_RULE_CHAIN]) {
        name = mnl_attr_get_str(attributes[NFTA_RULE_CHAIN]);
        if (!table->recent || strcmp(table->recent->name, name) != 0)
            table->recent = netrules_find_chain(table, name);
        chain = (struct netrules_chain *)table->recent;
    }
    if (!chain)
        return 0;
    rule = netrules_add_rule(ruleset, chain);
    if (!rule)
        return -ENOMEM;
    attribute = attributes[NFTA_RULE_HANDLE];
    if (attribute && mnl_attr_validate(attribute, MNL_TYPE_U64) == 0)
        rule->handle = be64toh(mnl_attr_get_u64(attribute));
    attribute = attributes[NFTA_RULE_USERDATA];
    if (attribute)
        rule->comment = read_comment(ruleset, mnl_attr_get_payload(attribute), mnl_attr_get_payload_len(attribute));
    netrules_start_rule(&reader.builder, ruleset, rule);
    for (size_t i = 0; i < REGISTERS; i++)
        reader.registers[i] = (struct operand){ .mask = UINT32_MAX };
    if (attributes[NFTA_RULE_EXPRESSIONS]) {
        mnl_attr_for_each_nested(attribute, attributes[NFTA_RULE_EXPRESSIONS])
        {
            read_expression(&reader, attribute);
        }
    }
    return netrules_end_rule(&reader.builder);
}

/* --- Message types ---------------------------------------------------------------------------------- */

int nftables_add_message(struct netrules *ruleset, const void *bytes, size_t length)
{
    static const struct {
        uint16_t type;
        int (*add)(struct netrules *ruleset, const struct nlmsghdr *message);
    } kinds[] = {
        { NFT_MSG_NEWTABLE, add_table }, { NFT_MSG_NEWCHAIN, add_chain }, { NFT_MSG_NEWFLOWTABLE, add_flowtable },
        { NFT_MSG_NEWSET, add_set },     { NFT_MSG_NEWSETELEM, add_set }, { NFT_MSG_NEWRULE, add_rule },
    };
    const struct nlmsghdr *message = bytes;

    if (length > INT32_MAX || !mnl_nlmsg_ok(message, (int)length) ||
        mnl_nlmsg_get_payload_len(message) < sizeof(struct nfgenmsg) ||
        message->nlmsg_type >> 8 != NFNL_SUBSYS_NFTABLES)
        return -EBADMSG;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (kinds[i].type != (message->nlmsg_type & 0xff))
            continue;

        int err = kinds[i].add(ruleset, message);

        return err ? err : netrules_check_size(ruleset);
    }
    return -EBADMSG;
}
