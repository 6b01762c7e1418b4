/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the sluice table with what an installation would create. The firewall module supplies the expected table as
 * nf_tables messages, which are read like the live ruleset, so that rules are compared as text.
 */
#include <errno.h>
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

#define REINSTALL "Run `sluice nft install`, or restart the daemon with --attach."

/* --- Options of the installed table ----------------------------------------------------------------- */

static const struct netrules_rule *queue_rule(const struct netrules_table *table)
{
    for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
        for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
            if (rule->verdict == NETRULES_QUEUE && !rule->matches_connection_mark)
                return rule;
    return NULL;
}

static unsigned hooks_of(const struct netrules_table *table)
{
    unsigned hooks = 0;

    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT; i++) {
        const struct netrules_chain *chain = netrules_find_chain(table, firewall_hook_name(1u << i));

        hooks |= chain && chain->base ? 1u << i : 0;
    }
    return hooks;
}

static enum firewall_family family_of(uint32_t family)
{
    switch (family) {
    case NFPROTO_IPV4:
        return FIREWALL_IPV4;
    case NFPROTO_IPV6:
        return FIREWALL_IPV6;
    case NFPROTO_BRIDGE:
        return FIREWALL_BRIDGE;
    default:
        return FIREWALL_INET;
    }
}

/* Returns the options that would have created this table: those given explicitly, otherwise those of the live table. */
static struct firewall_options options_of(const struct context *context, const struct sluice_table *own)
{
    const struct doctor_input *input = context->input;
    const struct netrules_rule *rule = queue_rule(own->table);
    struct firewall_options options = input->options;

    options.mode = own->mode;
    options.family = family_of(own->table->family);
    options.queue_first = context->first;
    options.queue_last = context->last_queue;
    options.mark = context->mark;
    options.mark_mask = context->mark_mask;
    options.offload = context->offload;
    options.hooks = input->hooks_given ? options.hooks : hooks_of(own->table);
    if (rule) {
        options.expression = rule->xtables_queue ? QUEUE_EXPRESSION_XT : QUEUE_EXPRESSION_NATIVE;
        options.bypass = input->bypass_given ? options.bypass : rule->queue.bypass;
    } else {
        options.expression = QUEUE_EXPRESSION_NATIVE;
    }
    return options;
}

static int add_expected(void *user, const void *bytes, size_t length)
{
    return netrules_add_message(user, bytes, length);
}

/* --- Comparison ------------------------------------------------------------------------------------- */

static bool same_rule(const struct netrules_rule *one, const struct netrules_rule *other)
{
    return strcmp(one->text, other->text) == 0;
}

static void report_missing_rule(struct context *context, const struct netrules_chain *chain,
                                const struct netrules_rule *rule, bool feeds)
{
    bool queues = rule->verdict == NETRULES_QUEUE && !rule->matches_connection_mark;
    struct doctor_finding *finding;

    if (queues && !feeds)
        finding = add_finding(context, DOCTOR_BROKEN, "own.not-feeding",
                              "Packets at this hook are not inspected. A stopping daemon removes the rule first; if "
                              "none is stopping, another program removed it.",
                              REINSTALL, "chain %s of the sluice table feeds no queue", chain->name);
    else
        finding = add_finding(context, DOCTOR_WARNING, "own.altered",
                              "Another program changed the sluice table, or it was installed with options other than "
                              "the configured ones.",
                              REINSTALL, "chain %s of the sluice table lacks the rule `%s`", chain->name, rule->text);
    finding->chain = chain;
}

static void report_extra_rule(struct context *context, const struct netrules_rule *rule)
{
    set_finding_rule(
        add_finding(context, rule->verdict == NETRULES_QUEUE ? DOCTOR_NOTE : DOCTOR_WARNING, "own.altered",
                    "The next installation replaces the sluice table, including this rule. An accept here "
                    "lets packets pass uninspected.",
                    "Put the rule into another table; exceptions of mode chain belong into sluice_exceptions.",
                    "the sluice table has a rule that Sluice did not create"),
        rule);
}

static bool feeds(const struct netrules_chain *chain)
{
    for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
        if (rule->verdict == NETRULES_QUEUE && !rule->matches_connection_mark)
            return true;
    return false;
}

/* Whether the list contains the rule. compare_rules() reads both lists in parallel and searches ahead for a rule that
 * only one has. */
static bool has_rule(const struct netrules_rule *list, const struct netrules_rule *rule)
{
    for (; list; list = list->next)
        if (same_rule(list, rule))
            return true;
    return false;
}

static void compare_rules(struct context *context, const struct netrules_chain *live,
                          const struct netrules_chain *expected_chain)
{
    const struct netrules_rule *live_rule = live->rules, *expected_rule = expected_chain->rules;

    while (expected_rule && !live->rules &&
           (expected_rule->verdict != NETRULES_QUEUE ||
            expected_rule->matches_connection_mark)) /* a stopping daemon empties its chains */
        expected_rule = expected_rule->next;
    while (live_rule || expected_rule) {
        if (live_rule && expected_rule && same_rule(live_rule, expected_rule)) {
            live_rule = live_rule->next;
            expected_rule = expected_rule->next;
        } else if (expected_rule && (!live_rule || !has_rule(live_rule, expected_rule))) {
            report_missing_rule(context, live, expected_rule, feeds(live));
            expected_rule = expected_rule->next;
        } else {
            report_extra_rule(context, live_rule);
            live_rule = live_rule->next;
        }
    }
}

static void compare_chain(struct context *context, const struct sluice_table *own,
                          const struct netrules_chain *expected_chain)
{
    const struct netrules_chain *live = netrules_find_chain(own->table, expected_chain->name);
    struct doctor_finding *finding;

    if (!live || live->base != expected_chain->base || live->hook != expected_chain->hook) {
        add_finding(context, DOCTOR_BROKEN, "own.chain-missing", "Packets at this hook are not inspected.", REINSTALL,
                    "the sluice table has no chain %s%s", expected_chain->name, live ? " on its hook" : "");
        return;
    }
    if (live->base && live->policy != NETRULES_ACCEPT) {
        finding = add_finding(
            context, DOCTOR_WARNING, "own.policy",
            "While Sluice stops, its chains have no rules and their policy applies: it was installed as accept.",
            REINSTALL, "the policy of Sluice's chain %s is drop", live->name);
        finding->chain = live;
    }
    if (context->input->options.has_priority && live->base && live->priority != expected_chain->priority) {
        finding = add_finding(context, DOCTOR_WARNING, "own.altered",
                              "The configuration sets another priority (nft.priority).", REINSTALL,
                              "Sluice's chain %s is at priority %d instead of %d", live->name, (int)live->priority,
                              (int)expected_chain->priority);
        finding->chain = live;
    }
    if (strcmp(expected_chain->name, "sluice_exceptions") != 0) /* which belongs to the user */
        compare_rules(context, live, expected_chain);
}

static void compare_table(struct context *context, const struct sluice_table *own)
{
    struct firewall_options options = options_of(context, own);
    struct netrules *expected = netrules_new();
    int err = expected ? firewall_expect(&options, false, add_expected, expected) : -ENOMEM;

    context->failed |= err == -ENOMEM;
    for (const struct netrules_chain *chain = err ? NULL : expected->tables->chains; chain; chain = chain->next)
        compare_chain(context, own, chain);
    netrules_free(expected);
}

/* --- Presence --------------------------------------------------------------------------------------- */

static void check_dormant(struct context *context, const struct sluice_table *own)
{
    if (own->table->dormant)
        add_finding(context, DOCTOR_BROKEN, "own.dormant",
                    "A dormant table is not attached to its hooks: nothing is inspected.",
                    "Run `nft add table inet sluice` to activate it, or `sluice nft install`.",
                    "Sluice's table %s %s is dormant", netrules_family_name(own->table->family), own->table->name);
}

/* Whether a rule feeds a queue of another program, which may route packets to Sluice. */
static bool has_other_consumer(const struct context *context)
{
    for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                for (const struct netrules_listener *holder = context->ruleset->holders; holder; holder = holder->next)
                    if (rule->verdict == NETRULES_QUEUE && rule->queue.first <= holder->queue &&
                        holder->queue <= rule->queue.last)
                        return true;
    return false;
}

static bool has_packets(const struct context *context)
{
    for (const struct netrules_listener *holder = context->ruleset->holders; holder; holder = holder->next)
        if (holder->queue >= context->first && holder->queue <= context->last_queue && holder->delivered > 0)
            return true;
    return false;
}

/* Sluice behind another consumer needs no rule: the other program's verdict queues to it. */
static void check_no_rule(struct context *context)
{
    const char *queues = queues_text(context, context->first, context->last_queue);

    if (has_other_consumer(context))
        add_finding(context, has_packets(context) ? DOCTOR_NOTE : DOCTOR_WARNING, "queue.routed",
                    "Packets reach Sluice only by the verdict of another program that reads queues (mode route).",
                    "Check that this program routes to Sluice's queue (Suricata: nfq.mode: route, nfq.route-queue).",
                    "no rule sends packets to %s, which has received %s", queues,
                    has_packets(context) ? "some" : "none");
    else
        add_finding(context, DOCTOR_BROKEN, "queue.no-rule", "No packet reaches Sluice: nothing is inspected.",
                    "Attach Sluice with `sluice nft install --mode after` or `sluice run --attach after`, or "
                    "write rules that queue to these numbers.",
                    "no rule sends packets to %s", queues);
}

static void check_missing(struct context *context)
{
    const struct doctor_input *input = context->input;

    if (input->attach_given && input->options.mode != ATTACH_NONE &&
        !(input->options.mode == ATTACH_CHAIN && context->feeds)) /* in mode chain the chain may be in another table */
        add_finding(context, DOCTOR_BROKEN, "own.missing",
                    "The configuration uses the sluice table (nft.attach), but it is not installed: packets "
                    "that only this table would queue are not inspected.",
                    REINSTALL, "there is no table '%s' created by sluice", input->options.table);
    else if (!context->feeds)
        check_no_rule(context);
}

static void check_foreign(struct context *context)
{
    for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next)
        if (!table->legacy && strcmp(table->name, context->input->options.table) == 0 &&
            !find_own_table(context, table))
            add_finding(context, DOCTOR_WARNING, "own.foreign",
                        "Sluice does not change tables that it did not create, so it cannot install its table "
                        "under this name in this family.",
                        "Choose another name by --table NAME (nft.table), or delete that table.",
                        "table %s %s has the name of the sluice table but was not created by sluice",
                        netrules_family_name(table->family), table->name);
}

void check_own_table(struct context *context)
{
    check_foreign(context);
    if (!context->own)
        check_missing(context);
    for (const struct sluice_table *own = context->own; own; own = own->next) {
        check_dormant(context, own);
        compare_table(context, own);
    }
}
