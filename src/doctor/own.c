/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our own table: there, switched on, and as it was installed. What it is to hold is asked of the firewall module as
 * messages and read like live ones, so the comparison is between two rulesets of one form, rule by rule as text.
 */
#include <errno.h>
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

#define REINSTALL "Install it again: `sluice nft install`, or restart the daemon with --attach."

/* --- What it was installed as --------------------------------------------------------------------- */

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

/* The options that would have made this table: what was asked for on purpose, and otherwise what is there. */
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

/* --- Comparing ------------------------------------------------------------------------------------ */

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
        finding =
            find_out(patient, DOCTOR_BROKEN, "own.not-feeding",
                     "What passes this hook is not inspected. A daemon that is stopping takes the rule away first; if "
                     "none is, somebody else did.",
                     REINSTALL, "chain %s of our table feeds no queue", chain->name);
    else
        finding =
            find_out(patient, DOCTOR_WARNING, "own.altered",
                     "Somebody changed the table that Sluice made, or it was made with other options than those of "
                     "the configuration.",
                     REINSTALL, "chain %s of our table lacks the rule `%s`", chain->name, rule->text);
    finding->chain = chain;
}

static void extra_rule(struct patient *patient, const struct netrules_rule *rule)
{
    about_rule(
        find_out(patient, rule->verdict == NETRULES_QUEUE ? DOCTOR_NOTE : DOCTOR_WARNING, "own.altered",
                 "The table is Sluice's: it is replaced as a whole at the next installation, and the rule goes with "
                 "it. An accept here lets packets pass uninspected.",
                 "Put the rule into a table of your own; exceptions of mode chain belong into sluice_exceptions.",
                 "a rule in our table that Sluice did not make"),
        rule);
}

static bool feeds(const struct netrules_chain *chain)
{
    for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
        if (rule->verdict == NETRULES_QUEUE && !rule->sees_connection_mark)
            return true;
    return false;
}

/* Both lists side by side; a rule that one has more is looked for ahead in the other. */
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
           (want->verdict != NETRULES_QUEUE || want->sees_connection_mark)) /* a daemon that stops empties its chains */
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
        find_out(patient, DOCTOR_BROKEN, "own.chain-missing", "What passes this hook is not inspected.", REINSTALL,
                 "our table has no chain %s%s", wanted->name, live ? " on its hook" : "");
        return;
    }
    if (live->base && live->policy != NETRULES_ACCEPT) {
        finding =
            find_out(patient, DOCTOR_WARNING, "own.policy",
                     "Between two steps of a stop our chains have no rule, and their policy decides: it was accept.",
                     REINSTALL, "the policy of our chain %s is drop", live->name);
        finding->chain = live;
    }
    if (patient->input->options.has_priority && live->base && live->priority != wanted->priority) {
        finding = find_out(
            patient, DOCTOR_WARNING, "own.altered", "The configuration names another place (nft.priority).", REINSTALL,
            "our chain %s is at priority %d and not at %d", live->name, (int)live->priority, (int)wanted->priority);
        finding->chain = live;
    }
    if (strcmp(wanted->name, "sluice_exceptions") != 0) /* which is the user's */
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

/* --- There at all --------------------------------------------------------------------------------- */

static void check_dormant(struct patient *patient, const struct own_table *own)
{
    if (own->table->dormant)
        find_out(patient, DOCTOR_BROKEN, "own.dormant",
                 "A dormant table is not attached to its hooks: nothing is inspected.",
                 "Wake it by `nft add table inet sluice`, or install it again.", "our table %s %s is dormant",
                 netrules_family_name(own->table->family), own->table->name);
}

/* Whether a rule feeds a queue of another program, which may route to ours. */
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

/* Sluice behind another consumer has no rule: that program's verdict queues to it. */
static void check_no_rule(struct patient *patient)
{
    const char *queues = queues_text(patient, patient->first, patient->last_queue);

    if (has_other_consumer(patient))
        find_out(patient, has_packets(patient) ? DOCTOR_NOTE : DOCTOR_WARNING, "queue.routed",
                 "Packets reach Sluice only by a verdict of another program that reads queues (mode route).",
                 "Check that this program routes to Sluice's queue (Suricata: nfq.mode: route, nfq.route-queue).",
                 "no rule sends packets to %s, which has received %s", queues, has_packets(patient) ? "some" : "none");
    else
        find_out(patient, DOCTOR_BROKEN, "queue.no-rule", "No packet reaches Sluice: nothing is inspected.",
                 "Attach: `sluice nft install --mode after`, or `sluice run --attach after`; or write rules of your "
                 "own that queue "
                 "to these numbers.",
                 "no rule sends packets to %s", queues);
}

static void check_missing(struct patient *patient)
{
    const struct doctor_input *input = patient->input;

    if (input->attach_given && input->options.mode != ATTACH_NONE &&
        !(input->options.mode == ATTACH_CHAIN && patient->feeds)) /* the chain is in another table */
        find_out(
            patient, DOCTOR_BROKEN, "own.missing",
            "The configuration attaches by an own table (nft.attach), and there is none: what only that table would "
            "feed is not inspected.",
            REINSTALL, "there is no table '%s' made by sluice", input->options.table);
    else if (!patient->feeds)
        check_no_rule(patient);
}

static void check_foreign(struct patient *patient)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        if (!table->legacy && strcmp(table->name, patient->input->options.table) == 0 && !own_of(patient, table))
            find_out(patient, DOCTOR_WARNING, "own.foreign",
                     "Sluice does not touch what it did not make, so it can't install its own table under this name in "
                     "this family.",
                     "Choose another name by --table NAME (nft.table), or delete that table.",
                     "table %s %s has our name and was not made by sluice", netrules_family_name(table->family),
                     table->name);
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
