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
            if (rule->verdict == NETRULES_QUEUE && !rule->sees_connection_mark)
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
static struct firewall_options options_of(const struct patient *patient, const struct own_table *own)
{
    const struct doctor_input *input = patient->input;
    const struct netrules_rule *rule = queue_rule(own->table);
    struct firewall_options options = input->options;

    options.mode = own->mode;
    options.family = family_of(own->table->family);
    options.queue_first = patient->first;
    options.queue_last = patient->last_queue;
    options.mark = patient->mark;
    options.mark_mask = patient->mark_mask;
    options.offload = patient->offload;
    options.hooks = input->hooks_given ? options.hooks : hooks_of(own->table);
    if (rule) {
        options.expression = strstr(rule->text, "NFQUEUE") ? QUEUE_EXPRESSION_XT : QUEUE_EXPRESSION_NATIVE;
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

static void missing_rule(struct patient *patient, const struct netrules_chain *chain, const struct netrules_rule *rule,
                         bool feeds)
{
    bool queues = rule->verdict == NETRULES_QUEUE && !rule->sees_connection_mark;
    struct doctor_finding *finding;

    if (queues && !feeds)
        finding = find_out(patient, DOCTOR_BROKEN, "own.not-feeding",
                           "Packets at this hook are not inspected. A stopping daemon removes the rule first; if "
                           "none is stopping, another program removed it.",
                           REINSTALL, "chain %s of the sluice table feeds no queue", chain->name);
    else
        finding = find_out(patient, DOCTOR_WARNING, "own.altered",
                           "Another program changed the sluice table, or it was installed with options other than "
                           "the configured ones.",
                           REINSTALL, "chain %s of the sluice table lacks the rule `%s`", chain->name, rule->text);
    finding->chain = chain;
}

static void extra_rule(struct patient *patient, const struct netrules_rule *rule)
{
    about_rule(find_out(patient, rule->verdict == NETRULES_QUEUE ? DOCTOR_NOTE : DOCTOR_WARNING, "own.altered",
                        "The next installation replaces the sluice table, including this rule. An accept here "
                        "lets packets pass uninspected.",
                        "Put the rule into another table; exceptions of mode chain belong into sluice_exceptions.",
                        "the sluice table has a rule that Sluice did not create"),
               rule);
}

static bool feeds(const struct netrules_chain *chain)
{
    for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
        if (rule->verdict == NETRULES_QUEUE && !rule->sees_connection_mark)
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

static void compare_rules(struct patient *patient, const struct netrules_chain *live,
                          const struct netrules_chain *wanted)
{
    const struct netrules_rule *have = live->rules, *want = wanted->rules;

    while (want && !live->rules &&
           (want->verdict != NETRULES_QUEUE || want->sees_connection_mark)) /* a stopping daemon empties its chains */
        want = want->next;
    while (have || want) {
        if (have && want && same_rule(have, want)) {
            have = have->next;
            want = want->next;
        } else if (want && (!have || !has_rule(have, want))) {
            missing_rule(patient, live, want, feeds(live));
            want = want->next;
        } else {
            extra_rule(patient, have);
            have = have->next;
        }
    }
}

static void compare_chain(struct patient *patient, const struct own_table *own, const struct netrules_chain *wanted)
{
    const struct netrules_chain *live = netrules_find_chain(own->table, wanted->name);
    struct doctor_finding *finding;

    if (!live || live->base != wanted->base || live->hook != wanted->hook) {
        find_out(patient, DOCTOR_BROKEN, "own.chain-missing", "Packets at this hook are not inspected.", REINSTALL,
                 "the sluice table has no chain %s%s", wanted->name, live ? " on its hook" : "");
        return;
    }
    if (live->base && live->policy != NETRULES_ACCEPT) {
        finding = find_out(
            patient, DOCTOR_WARNING, "own.policy",
            "While Sluice stops, its chains have no rules and their policy applies: it was installed as accept.",
            REINSTALL, "the policy of Sluice's chain %s is drop", live->name);
        finding->chain = live;
    }
    if (patient->input->options.has_priority && live->base && live->priority != wanted->priority) {
        finding =
            find_out(patient, DOCTOR_WARNING, "own.altered", "The configuration sets another priority (nft.priority).",
                     REINSTALL, "Sluice's chain %s is at priority %d instead of %d", live->name, (int)live->priority,
                     (int)wanted->priority);
        finding->chain = live;
    }
    if (strcmp(wanted->name, "sluice_exceptions") != 0) /* which belongs to the user */
        compare_rules(patient, live, wanted);
}

static void compare_table(struct patient *patient, const struct own_table *own)
{
    struct firewall_options options = options_of(patient, own);
    struct netrules *expected = netrules_new();
    int err = expected ? firewall_expect(&options, false, add_expected, expected) : -ENOMEM;

    patient->failed |= err == -ENOMEM;
    for (const struct netrules_chain *chain = err ? NULL : expected->tables->chains; chain; chain = chain->next)
        compare_chain(patient, own, chain);
    netrules_free(expected);
}

/* --- Presence --------------------------------------------------------------------------------------- */

static void check_dormant(struct patient *patient, const struct own_table *own)
{
    if (own->table->dormant)
        find_out(patient, DOCTOR_BROKEN, "own.dormant",
                 "A dormant table is not attached to its hooks: nothing is inspected.",
                 "Run `nft add table inet sluice` to activate it, or `sluice nft install`.",
                 "Sluice's table %s %s is dormant", netrules_family_name(own->table->family), own->table->name);
}

/* Whether a rule feeds a queue of another program, which may route packets to Sluice. */
static bool has_other_consumer(const struct patient *patient)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                for (const struct netrules_holder *holder = patient->ruleset->holders; holder; holder = holder->next)
                    if (rule->verdict == NETRULES_QUEUE && rule->queue.first <= holder->queue &&
                        holder->queue <= rule->queue.last)
                        return true;
    return false;
}

static bool has_packets(const struct patient *patient)
{
    for (const struct netrules_holder *holder = patient->ruleset->holders; holder; holder = holder->next)
        if (holder->queue >= patient->first && holder->queue <= patient->last_queue && holder->delivered > 0)
            return true;
    return false;
}

/* Sluice behind another consumer needs no rule: the other program's verdict queues to it. */
static void check_no_rule(struct patient *patient)
{
    const char *queues = queues_text(patient, patient->first, patient->last_queue);

    if (has_other_consumer(patient))
        find_out(patient, has_packets(patient) ? DOCTOR_NOTE : DOCTOR_WARNING, "queue.routed",
                 "Packets reach Sluice only by the verdict of another program that reads queues (mode route).",
                 "Check that this program routes to Sluice's queue (Suricata: nfq.mode: route, nfq.route-queue).",
                 "no rule sends packets to %s, which has received %s", queues, has_packets(patient) ? "some" : "none");
    else
        find_out(patient, DOCTOR_BROKEN, "queue.no-rule", "No packet reaches Sluice: nothing is inspected.",
                 "Attach Sluice with `sluice nft install --mode after` or `sluice run --attach after`, or "
                 "write rules that queue to these numbers.",
                 "no rule sends packets to %s", queues);
}

static void check_missing(struct patient *patient)
{
    const struct doctor_input *input = patient->input;

    if (input->attach_given && input->options.mode != ATTACH_NONE &&
        !(input->options.mode == ATTACH_CHAIN && patient->feeds)) /* in mode chain the chain may be in another table */
        find_out(patient, DOCTOR_BROKEN, "own.missing",
                 "The configuration uses the sluice table (nft.attach), but it is not installed: packets "
                 "that only this table would queue are not inspected.",
                 REINSTALL, "there is no table '%s' created by sluice", input->options.table);
    else if (!patient->feeds)
        check_no_rule(patient);
}

static void check_foreign(struct patient *patient)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        if (!table->legacy && strcmp(table->name, patient->input->options.table) == 0 && !own_of(patient, table))
            find_out(patient, DOCTOR_WARNING, "own.foreign",
                     "Sluice does not change tables that it did not create, so it cannot install its table "
                     "under this name in this family.",
                     "Choose another name by --table NAME (nft.table), or delete that table.",
                     "table %s %s has the name of the sluice table but was not created by sluice",
                     netrules_family_name(table->family), table->name);
}

void check_own_table(struct patient *patient)
{
    check_foreign(patient);
    if (!patient->own)
        check_missing(patient);
    for (const struct own_table *own = patient->own; own; own = own->next) {
        check_dormant(patient, own);
        compare_table(patient, own);
    }
}
