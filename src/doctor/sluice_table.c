/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compares the installed sluice table with the table that `sluice nft install` would create. The firewall module
 * supplies the expected table as nf_tables messages, which are parsed like the live ruleset. Rules are equal if they
 * have the same expressions.
 */
#include <errno.h>
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"
#include "sluice/nftables.h"

#define REINSTALL "Run `sluice nft install`, or restart the daemon with --attach MODE."

/* --- Options of the installed table ----------------------------------------------------------------- */

/* Returns the options with which to create the expected table: those that the user gave explicitly; otherwise those
 * that the installed table shows; for options that it does not show, the configured ones. */
static struct firewall_options options_of(const struct context *context, const struct sluice_table *own)
{
    static const struct {
        uint32_t protocol;
        enum firewall_family family;
    } families[] = { { NFPROTO_IPV4, FIREWALL_IPV4 },
                     { NFPROTO_IPV6, FIREWALL_IPV6 },
                     { NFPROTO_BRIDGE, FIREWALL_BRIDGE } };
    const struct doctor_input *input = context->input;
    const struct netrules_rule *queue_rule = NULL;
    struct firewall_options options = input->options;

    options.mode = own->mode;
    options.family = FIREWALL_INET;
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
        if (families[i].protocol == own->table->family)
            options.family = families[i].family;
    options.queue_first = context->first;
    options.queue_last = context->last_queue;
    options.mark = context->mark;
    options.mark_mask = context->mark_mask;
    options.offload = context->offload;
    if (!input->hooks_given)
        options.hooks = 0;
    for (unsigned i = 0; i < FIREWALL_HOOK_COUNT && !input->hooks_given; i++) {
        const struct netrules_chain *chain = netrules_find_chain(own->table, firewall_hook_name(1u << i));

        options.hooks |= chain && chain->base ? 1u << i : 0;
    }
    for (const struct netrules_chain *chain = own->table->chains; chain && !queue_rule; chain = chain->next)
        for (const struct netrules_rule *rule = chain->rules; rule && !queue_rule; rule = rule->next)
            if (rule->verdict == NETRULES_QUEUE && !rule->matches_connection_mark)
                queue_rule = rule;
    options.expression = QUEUE_EXPRESSION_NATIVE;
    if (queue_rule) {
        options.expression = queue_rule->xtables_queue ? QUEUE_EXPRESSION_XT : QUEUE_EXPRESSION_NATIVE;
        options.bypass = input->bypass_given ? options.bypass : queue_rule->queue.bypass;
    }
    return options;
}

static int add_expected(void *user, const void *bytes, size_t length)
{
    return nftables_add_message(user, bytes, length);
}

/* --- Comparison ------------------------------------------------------------------------------------- */

static bool same_rule(const struct netrules_rule *one, const struct netrules_rule *other)
{
    return strcmp(one->text, other->text) == 0;
}

static bool feeds(const struct netrules_chain *chain)
{
    for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
        if (rule->verdict == NETRULES_QUEUE && !rule->matches_connection_mark)
            return true;
    return false;
}

/* Returns whether the list contains the rule, from `list` on. compare_rules() uses it to distinguish a missing rule
 * from an additional one. */
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
    struct doctor_finding *finding;

    while (expected_rule && !live->rules &&
           (expected_rule->verdict != NETRULES_QUEUE ||
            /* in an empty chain only the missing queue rule is reported: a stopping daemon removes all rules */
            expected_rule->matches_connection_mark))
        expected_rule = expected_rule->next;
    while (live_rule || expected_rule) {
        if (live_rule && expected_rule && same_rule(live_rule, expected_rule)) {
            live_rule = live_rule->next;
            expected_rule = expected_rule->next;
        } else if (expected_rule && (!live_rule || !has_rule(live_rule, expected_rule))) {
            bool queues = expected_rule->verdict == NETRULES_QUEUE && !expected_rule->matches_connection_mark;
            unsigned number = 1;

            for (const struct netrules_rule *rule = expected_chain->rules; rule != expected_rule; rule = rule->next)
                number++;
            if (queues && !feeds(live))
                finding =
                    add_finding(context, DOCTOR_BROKEN, "own.not-feeding",
                                "Packets at this hook are not inspected. A stopping daemon removes the rule first; if "
                                "none is stopping, another program removed it.",
                                REINSTALL, "chain %s of the sluice table feeds no queue", live->name);
            else
                finding = add_finding(
                    context, DOCTOR_WARNING, "own.altered",
                    "Another program changed the sluice table, or it was installed with options other than "
                    "the configured ones.",
                    REINSTALL,
                    "chain %s of the sluice table lacks rule %u of those that `sluice nft print` shows for it",
                    live->name, number);
            finding->chain = live;
            expected_rule = expected_rule->next;
        } else {
            finding =
                add_finding(context, live_rule->verdict == NETRULES_QUEUE ? DOCTOR_NOTE : DOCTOR_WARNING, "own.altered",
                            "The next installation replaces the sluice table, including this rule. An accept here "
                            "lets packets pass uninspected.",
                            "Put the rule into another table; exceptions of mode chain belong into sluice_exceptions.",
                            "the sluice table has a rule that Sluice did not create");
            set_finding_rule(finding, live_rule);
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
        add_finding(context, DOCTOR_BROKEN, "own.chain-missing",
                    "If the chain queues packets, those at its hook are not inspected.", REINSTALL,
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
    /* the rules of sluice_exceptions belong to the user and are not compared */
    if (strcmp(expected_chain->name, "sluice_exceptions") != 0)
        compare_rules(context, live, expected_chain);
}

static void check_installed_table(struct context *context, const struct sluice_table *own)
{
    const char *family = netrules_family_name(own->table->family), *remedy;
    struct firewall_options options = options_of(context, own);
    struct netrules *expected;
    int err;

    if (own->table->dormant) {
        remedy = arena_printf(context->arena, "Run `nft add table %s %s` to activate it, or `sluice nft install`.",
                              family, own->table->name);
        context->failed |= !remedy;
        add_finding(context, DOCTOR_BROKEN, "own.dormant",
                    "A dormant table is not attached to its hooks: nothing is inspected.", remedy ? remedy : "",
                    "Sluice's table %s %s is dormant", family, own->table->name);
    }
    expected = netrules_new();
    err = expected ? firewall_expect(&options, false, add_expected, expected) : -ENOMEM;
    context->failed |= err == -ENOMEM;
    for (const struct netrules_chain *chain = err ? NULL : expected->tables->chains; chain; chain = chain->next)
        compare_chain(context, own, chain);
    netrules_free(expected);
}

/* --- Presence --------------------------------------------------------------------------------------- */

/* Reports that no rule queues to Sluice. This is correct behind another consumer, whose verdicts route packets to
 * Sluice's queue. */
static void check_no_rule(struct context *context)
{
    const char *queues = queues_text(context, context->first, context->last_queue);
    /* received: Sluice's queues have received packets; routed: a rule queues to another program, which may route to
     * Sluice */
    bool received = false, routed = false;

    for (const struct doctor_listener *listener = context->host->listeners; listener; listener = listener->next)
        received |=
            listener->queue >= context->first && listener->queue <= context->last_queue && listener->delivered > 0;
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));)
        for (const struct doctor_listener *listener = context->host->listeners; listener; listener = listener->next)
            routed |= rule->verdict == NETRULES_QUEUE && rule->queue.first <= listener->queue &&
                      listener->queue <= rule->queue.last;
    if (routed)
        add_finding(context, received ? DOCTOR_NOTE : DOCTOR_WARNING, "queue.routed",
                    "Packets reach Sluice only by the verdict of another program that reads queues (mode route).",
                    "Check that this program routes to Sluice's queue (Suricata: nfq.mode: route, nfq.route-queue).",
                    "no rule sends packets to %s, which has received %s", queues, received ? "some" : "none");
    else
        add_finding(context, DOCTOR_BROKEN, "queue.no-rule", "No packet reaches Sluice: nothing is inspected.",
                    "Attach Sluice with `sluice nft install --mode after` or `sluice run --attach after`, or "
                    "write rules that queue to these numbers.",
                    "no rule sends packets to %s", queues);
}

void check_own_table(struct context *context)
{
    const struct doctor_input *input = context->input;

    for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next)
        if (!table->legacy && strcmp(table->name, input->options.table) == 0 && !find_own_table(context, table))
            add_finding(context, DOCTOR_WARNING, "own.foreign",
                        "Sluice does not change tables that it did not create, so it cannot install its table "
                        "under this name in this family.",
                        "Choose another name by --table NAME (nft.table), or delete that table.",
                        "table %s %s has the name of the sluice table but was not created by sluice",
                        netrules_family_name(table->family), table->name);
    if (context->own)
        for (const struct sluice_table *own = context->own; own; own = own->next)
            check_installed_table(context, own);
    else if (input->attach_given && input->options.mode != ATTACH_NONE &&
             /* in mode chain the sluice chain may be in a table of another program */
             !(input->options.mode == ATTACH_CHAIN && context->feeds))
        add_finding(context, DOCTOR_BROKEN, "own.missing",
                    "The configuration uses the sluice table (nft.attach), but it is not installed: packets "
                    "that only this table would queue are not inspected.",
                    REINSTALL, "there is no table '%s' created by sluice", input->options.table);
    else if (!context->feeds)
        check_no_rule(context);
}
