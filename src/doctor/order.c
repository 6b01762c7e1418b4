/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks the rules before and after the queue rule. After an accept in another base chain the kernel continues with the
 * next chain at the hook (nf_hook_slow), so the queue rule is still reached. A terminal verdict in the queue rule's own
 * base chain ends it: an accept before the queue rule is a finding, a drop is not, because it is the firewall's
 * decision.
 */
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

enum {
    /* chains at this priority or above, such as conntrack's, must run last, so they may follow Sluice's chain */
    MEANT_LAST = 2147483647 - 1024,
    /* this and the following are the kernel's priorities (enum nf_ip_hook_priorities) */
    CONNTRACK = -200,
    MANGLE = -150,
    NAT_DESTINATION = -100,
    NAT_SOURCE = 100,
};

/* --- Rules before the queue rule in its base chain -------------------------------------------------- */

enum { MAX_COVERED = 64 };

struct ahead {
    struct context *context;
    const struct feed *feed;
    const struct netrules_rule *first; /* first rule before the queue rule that accepts some packets; NULL: none */
    size_t count; /* number of such rules; `first` and `count` exclude rules for established connections */
    const struct netrules_rule *established;
    /* first rule after the queue rule that accepts established connections; NULL: none */
    const struct netrules_rule *replies;
    /* Chains with an earlier rule that queues established connections: a later accept in the same chain lets none of
     * their packets pass uninspected. covers_all: true if every packet passes such a rule. */
    const struct netrules_chain *covered[MAX_COVERED];
    size_t covered_count;
    bool covers_all;
};

static bool has_mark(const struct netrules_rule *rule, uint32_t value, uint32_t mask)
{
    const struct netrules_mark *mark = rule->marks;

    return mask && mark && mark->kind == NETRULES_PACKET_MARK && mark->use == NETRULES_MARK_MATCH &&
           mark->mask == mask && mark->value == value;
}

/* Returns whether the rule is an accept that `sluice nft print` writes: a rule in the sluice table or its chain
 * sluice_exceptions, or one for packets that Sluice sends or has inspected. */
static bool is_expected(const struct ahead *ahead, const struct netrules_rule *rule)
{
    const struct context *context = ahead->context;
    const struct sluice_table *own = find_own_table(context, rule->chain->table);
    const struct firewall_options *options = &context->input->options;

    if (own && own->mode != ATTACH_CHAIN)
        return true;
    return strcmp(rule->chain->name, "sluice_exceptions") == 0 ||
           has_mark(rule, options->reject_mark, options->reject_mask) ||
           (context->repeats && has_mark(rule, context->mark, context->mark_mask));
}

/* --- Established connections ------------------------------------------------------------------------ */

/* Records a rule that sends established connections to a queue of Sluice, by its verdict or by a jump. */
static void record_coverage(struct ahead *ahead, const struct netrules_rule *rule, bool established, bool in_branch)
{
    bool jumps = rule->verdict == NETRULES_JUMP || rule->verdict == NETRULES_GOTO;
    const struct netrules_chain *target = jumps ? netrules_find_chain(rule->chain->table, rule->target) : NULL;
    bool feeds = is_feed(ahead->context, rule);

    for (const struct feed *feed = ahead->context->feeds; target && feed; feed = feed->next)
        feeds |= feed->rule->chain == target;
    if (!established || !feeds)
        return;
    ahead->covers_all |= !in_branch;
    if (ahead->covered_count < MAX_COVERED)
        ahead->covered[ahead->covered_count++] = rule->chain;
}

static bool accepts_established(const struct ahead *ahead, const struct step *step)
{
    bool covered = ahead->covers_all;

    for (size_t i = 0; i < ahead->covered_count; i++)
        covered |= ahead->covered[i] == step->rule->chain;
    return step->accepts && step->established && !step->only_loopback && !is_expected(ahead, step->rule) && !covered;
}

static void record_after(const struct step *step, void *user)
{
    struct ahead *ahead = user;

    record_coverage(ahead, step->rule, step->established || !step->rule->conditional, step->in_branch);
    if (!ahead->replies && accepts_established(ahead, step))
        ahead->replies = step->rule;
}

static void record_ahead(const struct step *step, void *user)
{
    struct ahead *ahead = user;

    record_coverage(ahead, step->rule, step->established || !step->rule->conditional, step->in_branch);
    if (!step->accepts || !step->conditional || step->only_loopback || is_expected(ahead, step->rule))
        return; /* an unconditional accept is reported as path.blocker */
    if (!ahead->established && accepts_established(ahead, step))
        ahead->established = step->rule;
    if (step->established)
        return;
    if (!ahead->first)
        ahead->first = step->rule;
    ahead->count++;
}

struct order {
    struct context *context;
    const struct feed *feed;
    size_t bases;
};

static void check_base(const struct netrules_chain *base, void *user)
{
    struct order *order = user;
    struct ahead ahead = { .context = order->context, .feed = order->feed };
    struct path path = {
        .base = base, .goal = order->feed->rule, .before = record_ahead, .after = record_after, .user = &ahead
    };

    if (repeats(order->context, order->feed->rule))
        /* the rule queues all packets without the mark, so no packet reaches a later accept uninspected */
        path.after = NULL;
    order->bases++;
    if (walk(order->context->ruleset, &path)) {
        order->context->failed = true;
        return;
    }
    /* if the blocker queues to Sluice, its packets are inspected */
    if (path.blocker && !is_feed(order->context, path.blocker))
        set_finding_rule(
            add_finding(order->context, DOCTOR_BROKEN, "order.unreachable",
                        "The rule's verdict ends this chain for every packet, so no packet reaches the queue "
                        "rule after it: nothing at this hook is inspected.",
                        "Put the queue rule before it. Better: give Sluice its own base chain, which no verdict "
                        "of another chain ends: `sluice nft install --mode after`.",
                        "a rule ahead of the queue ends the chain for every packet (queue rule: chain %s, %s %llu)",
                        order->feed->rule->chain->name, order->feed->rule->chain->table->legacy ? "number" : "handle",
                        (unsigned long long)order->feed->rule->handle),
            path.blocker);
    if (ahead.established)
        set_finding_rule(
            add_finding(order->context, DOCTOR_BROKEN, "order.accept-established",
                        "Packets of established connections leave the chain here: the queue receives the first "
                        "packet of each connection and never its contents.",
                        "Put the queue rule before it. Better: give Sluice its own base chain after those of the "
                        "firewall: `sluice nft install --mode after`.",
                        "established connections are accepted ahead of the queue, in the same base chain"),
            ahead.established);
    if (ahead.replies && !ahead.established)
        set_finding_rule(
            add_finding(order->context, DOCTOR_BROKEN, "order.accept-replies",
                        "The queue rule has conditions, such as a port, that packets of the other direction do "
                        "not meet. This rule accepts those packets, so they pass uninspected.",
                        "Queue established connections, too, instead of this rule or before it: `ct state "
                        "established,related jump sluice_ips`. Better: give Sluice its own base chain after "
                        "those of the firewall: `sluice nft install --mode after`.",
                        "established connections are accepted after the queue rule, which matches only some packets"),
            ahead.replies);
    if (ahead.first)
        set_finding_rule(
            add_finding(order->context, DOCTOR_WARNING, "order.accept",
                        "An accept ends the base chain: the accepted packets never reach the queue rule after it "
                        "and pass uninspected.",
                        "If this is not intended, put the queue rule before it. Better: give Sluice its own base "
                        "chain after those of the firewall: `sluice nft install --mode after`.",
                        "%zu rule%s accept%s packets ahead of the queue, in the same base chain; the first is",
                        ahead.count, ahead.count == 1 ? "" : "s", ahead.count == 1 ? "s" : ""),
            ahead.first);
}

void check_order(struct context *context)
{
    for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
        bool chain_mode = feed->own && find_own_table(context, feed->rule->chain->table)->mode == ATTACH_CHAIN;
        struct order order = { .context = context, .feed = feed };

        if (for_each_base(context->ruleset, feed->rule, check_base, &order)) {
            context->failed = true;
            continue;
        }
        if (order.bases > 0)
            continue;
        set_finding_rule(
            add_finding(context, DOCTOR_BROKEN, "order.unused",
                        "A chain without a hook receives packets only from rules that jump to it. No packet "
                        "reaches such a rule, or a rule before the queue rule ends the chain for every packet.",
                        chain_mode
                            ? "Put base chains that `jump sluice_ips` in place of `accept` into this table, or include "
                              "the output of `sluice nft print --mode chain` in your ruleset."
                            : "Jump to it from a base chain, or use `sluice nft install --mode after`.",
                        "no packet reaches the queue rule in chain %s", feed->rule->chain->name),
            feed->rule);
    }
}

/* --- Priorities ------------------------------------------------------------------------------------- */

static bool may_drop(const struct netrules_chain *chain)
{
    if (chain->policy == NETRULES_DROP)
        return true;
    for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
        if (rule->verdict == NETRULES_DROP || rule->verdict == NETRULES_JUMP || rule->verdict == NETRULES_GOTO ||
            rule->branches)
            return true;
    return false;
}

static void compare_priorities(struct context *context, const struct netrules_chain *ours, enum attach_mode mode,
                               const struct netrules_chain *other)
{
    bool before = mode == ATTACH_BEFORE || mode == ATTACH_REPEAT;
    struct doctor_finding *finding = NULL;

    if (other->priority == ours->priority)
        finding =
            add_finding(context, DOCTOR_WARNING, "order.same-priority",
                        "Chains of equal priority run in the order of their registration, which changes with "
                        "every reload of the other program.",
                        "Run `sluice nft install` again, which chooses an unused priority, or set nft.priority.",
                        "another chain has the same priority %d as Sluice's chain %s", (int)ours->priority, ours->name);
    else if (!before && other->priority > ours->priority && other->priority < MEANT_LAST && may_drop(other))
        finding = add_finding(context, DOCTOR_WARNING, "order.filter-behind",
                              "In this mode Sluice should receive the packets that the firewall accepted. This chain "
                              "runs later: packets that it drops are inspected, alerted and counted although they "
                              "never pass.",
                              "Run `sluice nft install` again, which chooses a priority after it.",
                              "a filter chain runs after Sluice's chain %s (%d)", ours->name, (int)ours->priority);
    else if (before && other->priority < ours->priority && other->priority > MANGLE && may_drop(other))
        finding = add_finding(
            context, DOCTOR_NOTE, "order.filter-before",
            "In this mode Sluice should receive all packets. It does not receive those that this chain drops.",
            "If this is not intended, run `sluice nft install` again, which chooses a priority before it.",
            "a filter chain runs before Sluice's chain %s (%d)", ours->name, (int)ours->priority);
    if (finding)
        finding->chain = other;
}

/* Reports a queue rule with a priority before conntrack, or outside the range from DNAT (-100) to SNAT (100): only in
 * this range do the packets of both directions have the inside addresses. */
static void check_place(const struct netrules_chain *base, void *user)
{
    struct order *order = user;
    const struct netrules_rule *rule = order->feed->rule;
    bool first = base->hook == NF_INET_PRE_ROUTING || base->hook == NF_INET_LOCAL_OUT;
    bool translates = false; /* true: a nat chain has rules for a family of this chain */

    if (base->table->family == NFPROTO_BRIDGE || base->table->family == NFPROTO_NETDEV)
        return;
    for (const struct netrules_table *table = order->context->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            translates |= chain->base && chain->rules && (families_of(chain) & families_of(base)) &&
                          (strcmp(chain->type, "nat") == 0 || (table->legacy && strcmp(table->name, "nat") == 0));
    if (first && base->priority < CONNTRACK)
        set_finding_rule(
            add_finding(order->context, DOCTOR_WARNING, "order.before-conntrack",
                        "Connection tracking has not processed the packet yet at this point: fragments may not "
                        "be reassembled, and the initiator of connections that began before the daemon is not "
                        "known.",
                        "Queue at a priority above -200, or at the hook forward.",
                        "the queue rule is before connection tracking (%s, priority %d)",
                        netrules_hook_name(base->table->family, base->hook), (int)base->priority),
            rule);
    else if (((base->hook == NF_INET_PRE_ROUTING && base->priority < NAT_DESTINATION) ||
              (base->hook == NF_INET_POST_ROUTING && base->priority >= NAT_SOURCE)) &&
             translates)
        set_finding_rule(
            add_finding(order->context, DOCTOR_WARNING, "order.nat",
                        "Addresses are translated at this hook: Sluice receives one direction before and the "
                        "other after the translation. The two do not match as one connection, and may go to "
                        "different queues.",
                        "Queue at the hook forward, where both directions have the inside addresses.",
                        "the queue rule is on the outer side of address translation (%s, priority %d)",
                        netrules_hook_name(base->table->family, base->hook), (int)base->priority),
            rule);
}

void check_priorities(struct context *context)
{
    for (const struct sluice_table *own = context->own; own; own = own->next)
        for (const struct netrules_chain *ours = own->table->chains; ours; ours = ours->next) {
            if (!ours->base || own->mode == ATTACH_CHAIN)
                continue;
            for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next) {
                enum attach_mode ignored;

                if (find_own_table(context, table) ||
                    /* tables of any Sluice instance are not compared */
                    firewall_is_sluice_table(table->comment, &ignored))
                    continue;
                if (table->dormant || (table->legacy && strcmp(table->name, "nat") == 0))
                    continue;
                for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
                    if (same_hook(ours, chain) && strcmp(chain->type, "filter") == 0 &&
                        (chain->rules || chain->policy == NETRULES_DROP))
                        compare_priorities(context, ours, own->mode, chain);
            }
        }
    for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
        struct order order = { .context = context, .feed = feed };

        if (for_each_base(context->ruleset, feed->rule, check_place, &order))
            context->failed = true;
    }
}
