/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The data model of a ruleset. Tables, chains and rules are linked lists in one arena, not arrays, because pointers to
 * elements must stay valid while more elements are added. */
#include "sluice/netrules.h"

#include <errno.h>
#include <linux/netfilter.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sluice/arena.h"

enum { WORD_SIZE = 2048 };

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

/* --- Rule builder ----------------------------------------------------------------------------------- */

void netrules_start_rule(struct netrules_builder *builder, struct netrules *ruleset, struct netrules_rule *rule)
{
    *builder = (struct netrules_builder){
        .ruleset = ruleset, .rule = rule, .last_mark = &rule->marks, .last_branch = &rule->branches
    };
    text_init(&builder->text);
}

int netrules_end_rule(struct netrules_builder *builder)
{
    const char *text = NULL;

    if (!builder->text.failed)
        text = arena_strndup(builder->ruleset->arena, builder->text.bytes ? builder->text.bytes : "",
                             builder->text.length);
    text_clear(&builder->text);
    builder->rule->text = text ? text : "";
    if (builder->rule->verdict != NETRULES_JUMP && builder->rule->verdict != NETRULES_GOTO)
        builder->rule->target = NULL; /* set by an earlier expression, but the final verdict has no target */
    return builder->failed || !text ? -ENOMEM : 0;
}

void netrules_write(struct netrules_builder *builder, const char *format, ...)
{
    char word[WORD_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(word, sizeof(word), format, args);
    va_end(args);
    if (builder->text.length)
        text_puts(&builder->text, " ");
    text_printable(&builder->text, word, strlen(word));
}

const char *netrules_copy_string(struct netrules_builder *builder, const char *bytes, size_t length)
{
    const char *copy = arena_strndup(builder->ruleset->arena, bytes ? bytes : "", bytes ? strnlen(bytes, length) : 0);

    builder->failed |= !copy;
    return copy ? copy : "?";
}

void netrules_add_mark(struct netrules_builder *builder, struct netrules_mark mark)
{
    struct netrules_mark *copy = arena_copy(builder->ruleset->arena, &mark, sizeof(mark));

    if (!copy) {
        builder->failed = true;
        return;
    }
    *builder->last_mark = copy;
    builder->last_mark = &copy->next;
    if (mark.kind == NETRULES_CONNECTION_MARK && mark.use == NETRULES_MARK_MATCH)
        builder->rule->matches_connection_mark = true;
}

void netrules_set_queue(struct netrules_builder *builder, struct netrules_queue queue)
{
    builder->rule->verdict = NETRULES_QUEUE;
    builder->rule->queue = queue;
    builder->rule->counted = builder->counted;
    builder->rule->packets = builder->packets;
}

void netrules_add_branch(struct netrules_builder *builder, struct netrules_branch branch)
{
    struct netrules_branch *copy = arena_copy(builder->ruleset->arena, &branch, sizeof(branch));

    if (!copy) {
        builder->failed = true;
        return;
    }
    *builder->last_branch = copy;
    builder->last_branch = &copy->next;
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
