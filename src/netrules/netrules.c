/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The model: lists in one arena. Lists instead of arrays, because pointers to elements must stay valid while more is
 * read. */
#include "netrules_priv.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <stdlib.h>
#include <string.h>

struct netrules *netrules_new(void)
{
    struct arena *arena = arena_new(0);
    struct netrules *ruleset = arena ? arena_alloc(arena, sizeof(*ruleset)) : NULL;

    if (!ruleset) {
        arena_free(arena);
        return NULL;
    }
    ruleset->arena = arena;
    return ruleset;
}

void netrules_free(struct netrules *ruleset)
{
    if (ruleset)
        arena_free(ruleset->arena);
}

int netrules_check_size(const struct netrules *ruleset)
{
    return arena_used(ruleset->arena) > NETRULES_MEMORY ? -E2BIG : 0;
}

/* --- Lookup ----------------------------------------------------------------------------------------- */

const struct netrules_rule *netrules_next_rule(const struct netrules *ruleset, const struct netrules_rule *rule)
{
    const struct netrules_table *table = rule ? rule->chain->table : ruleset->tables;
    const struct netrules_chain *chain = rule ? rule->chain->next : table ? table->chains : NULL;

    if (rule && rule->next)
        return rule->next;
    while (table && !(chain && chain->rules)) {
        if (chain) {
            chain = chain->next;
        } else {
            table = table->next;
            chain = table ? table->chains : NULL;
        }
    }
    return table ? chain->rules : NULL;
}

const struct netrules_chain *netrules_find_chain(const struct netrules_table *table, const char *name)
{
    for (const struct netrules_chain *chain = table->chains; chain && name; chain = chain->next)
        if (strcmp(chain->name, name) == 0)
            return chain;
    return NULL;
}

struct netrules_set *netrules_find_set(const struct netrules_table *table, const char *name)
{
    for (struct netrules_set *set = table->sets; set && name; set = set->next)
        if (strcmp(set->name, name) == 0)
            return set;
    return NULL;
}

/* --- Adding ----------------------------------------------------------------------------------------- */

struct netrules_table *netrules_add_table(struct netrules *ruleset, uint32_t family, bool legacy, const char *name)
{
    struct netrules_table *table = arena_alloc(ruleset->arena, sizeof(*table)), **link = &ruleset->tables;

    if (!table)
        return NULL;
    *table = (struct netrules_table){ .family = family, .legacy = legacy, .name = name };
    while (*link)
        link = &(*link)->next;
    *link = table;
    return table;
}

struct netrules_chain *netrules_add_chain(struct netrules *ruleset, struct netrules_table *table, const char *name)
{
    struct netrules_chain *chain = arena_alloc(ruleset->arena, sizeof(*chain)), **link = &table->chains;

    if (!chain)
        return NULL;
    *chain = (struct netrules_chain){
        .table = table, .name = name, .number = ruleset->chain_count++, .policy = NETRULES_ACCEPT
    };
    while (*link)
        link = &(*link)->next;
    *link = chain;
    return chain;
}

static unsigned families_of(uint32_t family)
{
    switch (family) {
    case NFPROTO_IPV4:
        return NETRULES_IPV4;
    case NFPROTO_IPV6:
        return NETRULES_IPV6;
    case NFPROTO_ARP:
        return NETRULES_OTHER;
    default:
        return NETRULES_IPV4 | NETRULES_IPV6 | (family == NFPROTO_INET ? 0 : NETRULES_OTHER);
    }
}

struct netrules_rule *netrules_add_rule(struct netrules *ruleset, struct netrules_chain *chain)
{
    struct netrules_rule *rule = arena_alloc(ruleset->arena, sizeof(*rule));

    if (!rule)
        return NULL;
    *rule = (struct netrules_rule){ .chain = chain, .text = "", .families = families_of(chain->table->family) };
    if (chain->last)
        chain->last->next = rule;
    else
        chain->rules = rule;
    chain->last = rule;
    chain->rule_count++;
    return rule;
}

/* --- Names ------------------------------------------------------------------------------------------ */

const char *netrules_family_name(uint32_t family)
{
    static const char *const names[NFPROTO_NUMPROTO] = {
        [NFPROTO_INET] = "inet", [NFPROTO_IPV4] = "ip",       [NFPROTO_ARP] = "arp",
        [NFPROTO_IPV6] = "ip6",  [NFPROTO_BRIDGE] = "bridge", [NFPROTO_NETDEV] = "netdev",
    };

    return family < NFPROTO_NUMPROTO && names[family] ? names[family] : "?";
}

const char *netrules_hook_name(uint32_t family, uint32_t hook)
{
    static const char *const ip[] = { "prerouting", "input", "forward", "output", "postrouting", "ingress" };
    static const char *const netdev[] = { "ingress", "egress" };
    static const char *const arp[] = { "input", "output", "forward" };

    if (family == NFPROTO_NETDEV)
        return hook < 2 ? netdev[hook] : "?";
    if (family == NFPROTO_ARP)
        return hook < 3 ? arp[hook] : "?";
    return hook < sizeof(ip) / sizeof(ip[0]) ? ip[hook] : "?";
}
