/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan: which chains with which rules, and at which priorities.
 *
 * Priorities that the kernel and the legacy tables of iptables use count as occupied, even if no such table is loaded
 * now, so the legacy tables need not be read. Sluice never chooses the priority of another chain: two chains of equal
 * priority run in the order of their registration, which changes whenever the other ruleset is reloaded.
 */
#include "firewall_priv.h"

#include <linux/netfilter.h>
#include <linux/netfilter_bridge.h>
#include <linux/netfilter_ipv4.h>
#include <stddef.h>
#include <string.h>

enum {
    AHEAD_OF_ALL = -310, /* a priority before the tables of iptables and, on a bridge, of ebtables */
    /* Distance to the nearest chain of another program, so that there is room for a chain in between. */
    GAP = 10,
    /* Chains at this priority or above may follow Sluice's chain in any mode. They must run last, because the kernel
     * confirms connections there. */
    MEANT_LAST = 2147483647 - 1024,
    PRIORITY_SECURITY = 50,
    BRIDGE_FILTER = -200,
    BRIDGE_OTHER = 200,
    BRIDGE_NAT = -300,
};

/* Priorities that the kernel uses on a hook. The base chain of Sluice must come after `last` (modes after and route),
 * or before `first` but if possible after `floor` (modes before and repeat). */
struct kernel_priorities {
    int32_t floor, first, last;
};

static struct kernel_priorities kernel_priorities_of(enum firewall_family family, uint32_t hook)
{
    if (family == FIREWALL_BRIDGE) /* bridge: br_netfilter is at priority 0, and ebtables filters output at 200 */
        return (struct kernel_priorities){ BRIDGE_NAT, BRIDGE_FILTER, hook == NF_INET_LOCAL_OUT ? BRIDGE_OTHER : 0 };
    return (struct kernel_priorities){ NF_IP_PRI_MANGLE, NF_IP_PRI_FILTER, PRIORITY_SECURITY };
}

static bool is_kernel_priority(enum firewall_family family, int32_t priority)
{
    static const int32_t ip[] = { -450, -400, -300, -225, -200, -150, -100, 0, 50, 100, 225, 300 };
    static const int32_t bridge[] = { -300, -200, 0, 100, 200, 300 };
    const int32_t *list = family == FIREWALL_BRIDGE ? bridge : ip;
    size_t count = family == FIREWALL_BRIDGE ? sizeof(bridge) / sizeof(bridge[0]) : sizeof(ip) / sizeof(ip[0]);

    for (size_t i = 0; i < count; i++)
        if (list[i] == priority)
            return true;
    return false;
}

/* Whether a chain of family `other` sees packets of the configured family. */
static bool same_packets(enum firewall_family family, uint32_t other)
{
    switch (family) {
    case FIREWALL_BRIDGE:
        return other == NFPROTO_BRIDGE;
    case FIREWALL_IPV4:
        return other == NFPROTO_IPV4 || other == NFPROTO_INET;
    case FIREWALL_IPV6:
        return other == NFPROTO_IPV6 || other == NFPROTO_INET;
    default:
        return other == NFPROTO_IPV4 || other == NFPROTO_IPV6 || other == NFPROTO_INET;
    }
}

/* Returns true if the choice of a priority must consider the chain: it is on the hook, sees the same packets, and does
 * not belong to the sluice table that is replaced. */
static bool is_relevant(const struct firewall_options *options, const struct survey *survey,
                        const struct survey_chain *chain, uint32_t hook)
{
    if (!chain->base || chain->hook != hook || !same_packets(options->family, chain->family))
        return false;
    if (strcmp(chain->table, options->table) != 0)
        return true;

    const struct survey_table *table = nft_survey_find(survey, chain->family, chain->table);

    return !table || !table->ours;
}

static bool is_taken(const struct firewall_options *options, uint32_t hook, const struct survey *survey,
                     int32_t priority)
{
    for (size_t i = 0; survey && i < survey->chain_count; i++)
        if (survey->chains[i].priority == priority && is_relevant(options, survey, &survey->chains[i], hook))
            return true;
    return is_kernel_priority(options->family, priority);
}

/* Whether the chain is a filter chain of another program. Chains of another sluice table do not count, because each of
 * two instances would move behind the other at each restart. */
static bool is_filter(const struct firewall_options *options, const struct survey *survey,
                      const struct survey_chain *chain, uint32_t hook)
{
    const struct survey_table *table = nft_survey_find(survey, chain->family, chain->table);

    return chain->filter && is_relevant(options, survey, chain, hook) && !(table && table->ours);
}

static int32_t choose_after(const struct firewall_options *options, uint32_t hook, const struct survey *survey)
{
    int32_t last = kernel_priorities_of(options->family, hook).last;

    for (size_t i = 0; survey && i < survey->chain_count; i++) {
        const struct survey_chain *chain = &survey->chains[i];

        if (is_filter(options, survey, chain, hook) && chain->priority > last && chain->priority < MEANT_LAST)
            last = chain->priority;
    }
    last += GAP;
    while (is_taken(options, hook, survey, last))
        last++;
    return last;
}

/* Returns a priority before the first filter chain, and after the kernel's mangle (on a bridge: NAT) if there is
 * room. */
static int32_t choose_before(const struct firewall_options *options, uint32_t hook, const struct survey *survey)
{
    struct kernel_priorities kernel_priorities = kernel_priorities_of(options->family, hook);
    int32_t first = kernel_priorities.first;

    for (size_t i = 0; survey && i < survey->chain_count; i++) {
        const struct survey_chain *chain = &survey->chains[i];

        if (is_filter(options, survey, chain, hook) && chain->priority < first &&
            chain->priority > kernel_priorities.floor)
            first = chain->priority;
    }
    first = first - GAP > kernel_priorities.floor ? first - GAP
            : kernel_priorities.floor + 1 < first ? kernel_priorities.floor + 1
                                                  : first - 1;
    while (is_taken(options, hook, survey, first))
        first--;
    return first;
}

int32_t nft_choose_priority(const struct firewall_options *options, uint32_t hook, const struct survey *survey)
{
    if (options->has_priority)
        return options->priority;
    if (options->mode == ATTACH_BEFORE || options->mode == ATTACH_REPEAT)
        return choose_before(options, hook, survey);
    return choose_after(options, hook, survey);
}

bool nft_is_misplaced(const struct firewall_options *options, uint32_t family, uint32_t hook, int32_t theirs,
                      int32_t ours)
{
    if (!same_packets(options->family, family))
        return false;
    if (options->mode == ATTACH_BEFORE || options->mode == ATTACH_REPEAT)
        return theirs <= ours && theirs > kernel_priorities_of(options->family, hook).floor;
    return theirs >= ours && theirs < MEANT_LAST;
}

/* --- Chains ----------------------------------------------------------------------------------------- */

static void add_rule(struct plan_chain *chain, enum plan_rule rule)
{
    chain->rules[chain->rule_count++] = rule;
}

static void add_reject_rule(struct plan_chain *chain, const struct firewall_options *options)
{
    if (options->reject_mask != 0)
        add_rule(chain, RULE_REJECT_MARK);
}

/* Adds the rules that drop packets of blocked hosts and networks. They follow the rule that accepts packets of
 * `reject`, so that a reject can be sent to a blocked host. */
static void add_block_rules(struct plan_chain *chain, const struct firewall_options *options)
{
    if (!options->blocklist)
        return;
    for (enum plan_rule rule = RULE_BLOCK4_FROM; rule <= RULE_NETWORKS6_TO; rule++)
        if (nft_rule_fits(rule, options->family == FIREWALL_IPV4   ? NFPROTO_IPV4
                                : options->family == FIREWALL_IPV6 ? NFPROTO_IPV6
                                                                   : NFPROTO_INET))
            add_rule(chain, rule);
}

/* Adds the rules for offloaded flows. `forward`: the chain is on the forward hook of a router, where a flowtable
 * works. */
static void add_offload_rules(struct plan_chain *chain, const struct firewall_options *options, bool forward)
{
    if (options->offload.drop)
        add_rule(chain, RULE_OFFLOAD_DROP);
    if (options->offload.accept && forward && options->offload.device_count > 0)
        add_rule(chain, RULE_OFFLOAD_FLOW);
    if (options->offload.accept)
        add_rule(chain, RULE_OFFLOAD_ACCEPT);
    if (!options->offload.acknowledge)
        return;
    add_rule(chain, RULE_ACKNOWLEDGE4);
    add_rule(chain, RULE_ACKNOWLEDGE6);
}

static void add_base_chain(struct plan *plan, const char *name, uint32_t hook, const struct survey *survey)
{
    struct plan_chain *chain = &plan->chains[plan->chain_count++];
    bool routed = plan->options->family != FIREWALL_BRIDGE; /* a bridge has no loopback interface */

    *chain = (struct plan_chain){
        .name = name,
        .base = true,
        .hook = hook,
        .priority = nft_choose_priority(plan->options, hook, survey),
    };
    if (routed && hook == NF_INET_LOCAL_IN)
        add_rule(chain, RULE_LOOPBACK_IN);
    if (routed && hook == NF_INET_LOCAL_OUT)
        add_rule(chain, RULE_LOOPBACK_OUT);
    add_reject_rule(chain, plan->options);
    add_block_rules(chain, plan->options);
    add_offload_rules(chain, plan->options, routed && hook == NF_INET_FORWARD);
    add_rule(chain, RULE_QUEUE);
}

static void add_unmark_chain(struct plan *plan, const char *name, uint32_t hook, int32_t priority)
{
    struct plan_chain *chain = &plan->chains[plan->chain_count++];

    *chain = (struct plan_chain){ .name = name, .base = true, .unmarks = true, .hook = hook, .priority = priority };
    add_rule(chain, RULE_UNMARK);
}

/* Adds chains that clear the mark of repeat mode. The mark means that the packet was inspected on this hook. The kernel
 * keeps it when it encapsulates or decapsulates the packet, so packets that enter or leave a tunnel on this host would
 * pass as inspected. It is therefore cleared when the packet leaves the hook: in postrouting before all other chains,
 * which may save marks to connections, and on input after all filter chains. */
static void add_unmark_chains(struct plan *plan, const struct survey *survey)
{
    const struct firewall_options *options = plan->options;
    struct firewall_options last = *options;
    int32_t first = AHEAD_OF_ALL, input;

    while (is_taken(options, NF_INET_POST_ROUTING, survey, first))
        first--;
    if (options->hooks & (FIREWALL_FORWARD | FIREWALL_OUTPUT))
        add_unmark_chain(plan, CHAIN_UNMARK, NF_INET_POST_ROUTING, first);
    if (!(options->hooks & FIREWALL_INPUT))
        return;
    last.mode = ATTACH_AFTER;
    last.has_priority = false;
    input = nft_choose_priority(&last, NF_INET_LOCAL_IN, survey);
    if (options->has_priority && options->priority >= input)
        input = options->priority < INT32_MAX ? options->priority + 1 : INT32_MAX;
    add_unmark_chain(plan, CHAIN_UNMARK_INPUT, NF_INET_LOCAL_IN, input);
}

/* --- Copying packet marks to connections ------------------------------------------------------------ */

static void add_save_rules(struct plan_chain *chain, enum plan_rule save, enum plan_rule saved)
{
    add_rule(chain, save);
    add_rule(chain, saved);
}

static void add_save_chain(struct plan *plan, const char *name, uint32_t hook, int32_t priority, bool drop)
{
    struct plan_chain *chain = &plan->chains[plan->chain_count++];

    *chain = (struct plan_chain){ .name = name, .base = true, .saves = true, .hook = hook, .priority = priority };
    if (drop && plan->options->offload.drop)
        add_save_rules(chain, RULE_SAVE_DROP, RULE_SAVED_DROP);
    if (plan->options->offload.accept)
        add_save_rules(chain, RULE_SAVE_ACCEPT, RULE_SAVED_ACCEPT);
}

static bool saves_anything(const struct firewall_options *options)
{
    return options->offload.saves && (options->offload.accept || options->offload.drop);
}

/* Adds the chains that save packet marks to connections, directly after the chains that queue, so that no other chain
 * sees the mark. A packet whose flow is to be dropped arrives here accepted, and is dropped here: a packet dropped by
 * its verdict would lose the mark with it. */
static void add_save_chains(struct plan *plan)
{
    static const char *const names[FIREWALL_HOOK_COUNT] = { CHAIN_SAVE_FORWARD, CHAIN_SAVE_INPUT, CHAIN_SAVE_OUTPUT };
    unsigned queueing = plan->chain_count, hook = 0;

    if (!saves_anything(plan->options))
        return;
    for (unsigned i = 0; i < queueing; i++, hook++) {
        int32_t priority = plan->chains[i].priority;

        while (!(plan->options->hooks & 1u << hook))
            hook++;
        add_save_chain(plan, names[hook], plan->chains[i].hook, priority < INT32_MAX ? priority + 1 : INT32_MAX, true);
    }
}

/* Adds the chains that save packet marks in mode chain. It is not known on which hooks the user's rules queue packets,
 * and a later chain may accept a packet without passing these chains, so only accept marks are saved; drops remain
 * verdicts. */
static void add_save_chains_of_others(struct plan *plan)
{
    if (!saves_anything(plan->options) || !plan->options->offload.accept)
        return;
    add_save_chain(plan, CHAIN_SAVE, NF_INET_POST_ROUTING, AHEAD_OF_ALL, false);
    add_save_chain(plan, CHAIN_SAVE_LOCAL, NF_INET_LOCAL_IN, PRIORITY_SECURITY + GAP, false);
}

static void add_regular_chains(struct plan *plan)
{
    plan->chains[plan->chain_count++] = (struct plan_chain){ .name = CHAIN_EXCEPTIONS, .keep = true };

    struct plan_chain *chain = &plan->chains[plan->chain_count++];

    *chain = (struct plan_chain){ .name = CHAIN_IPS };
    add_reject_rule(chain, plan->options);
    add_block_rules(chain, plan->options);
    add_rule(chain, RULE_EXCEPTIONS);
    add_offload_rules(chain, plan->options, false);
    add_rule(chain, RULE_QUEUE);
    add_save_chains_of_others(plan);
}

void nft_plan_make(struct plan *plan, const struct firewall_options *options, const struct survey *survey)
{
    static const uint32_t hooks[FIREWALL_HOOK_COUNT] = { NF_INET_FORWARD, NF_INET_LOCAL_IN, NF_INET_LOCAL_OUT };
    static const uint32_t families[] = {
        [FIREWALL_INET] = NFPROTO_INET,
        [FIREWALL_IPV4] = NFPROTO_IPV4,
        [FIREWALL_IPV6] = NFPROTO_IPV6,
        [FIREWALL_BRIDGE] = NFPROTO_BRIDGE,
    };

    *plan = (struct plan){
        .options = options,
        .expression = options->expression == QUEUE_EXPRESSION_XT ? QUEUE_EXPRESSION_XT : QUEUE_EXPRESSION_NATIVE,
        .families = { families[options->family] },
        .family_count = 1,
    };
    if (options->mode == ATTACH_CHAIN) {
        add_regular_chains(plan);
        return;
    }
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++)
        if (options->hooks & 1u << i)
            add_base_chain(plan, firewall_hook_name(1u << i), hooks[i], survey);
    add_save_chains(plan);
    if (options->mode == ATTACH_REPEAT)
        add_unmark_chains(plan, survey);
}

void nft_plan_split(struct plan *plan)
{
    plan->families[0] = NFPROTO_IPV4;
    plan->families[1] = NFPROTO_IPV6;
    plan->family_count = 2;
}
