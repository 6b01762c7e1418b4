/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Flowtables: the kernel forwards the packets of an offloaded flow at ingress, so they traverse no hook. The position
 * of the offloading rule does not matter: even after the queue rule it hides all later packets from Sluice.
 */
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

static bool sees_forward(const struct context *context, unsigned families)
{
    for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
        const struct netrules_chain *chain = feed->rule->chain;

        if (!(feed->rule->families & families))
            continue;
        if (!chain->base || (chain->hook != NF_INET_LOCAL_IN && chain->hook != NF_INET_LOCAL_OUT))
            return true;
    }
    return false;
}

static const struct netrules_flowtable *flowtable_of(const struct netrules_rule *rule)
{
    for (const struct netrules_flowtable *table = rule->chain->table->flowtables; table; table = table->next)
        if (strcmp(table->name, rule->flowtable) == 0)
            return table;
    return NULL;
}

static void check_rule(struct context *context, const struct netrules_rule *rule)
{
    const struct netrules_flowtable *flowtable = rule->flowtable ? flowtable_of(rule) : NULL;
    const char *devices = flowtable && flowtable->devices ? flowtable->devices : "no devices";

    if (!rule->flowtable || is_sluice_rule(context, rule) || !sees_forward(context, rule->families))
        return;
    set_finding_rule(
        add_finding(
            context, rule->matches_connection_mark ? DOCTOR_NOTE : DOCTOR_BROKEN, "offload.flowtable",
            "Packets of an offloaded flow traverse no hook: Sluice receives the first packets of a "
            "connection and none of the later ones, wherever this rule is.",
            rule->matches_connection_mark
                ? "None, as long as only Sluice sets this connection mark (rules with nfq_set_mark, nft.offload)."
                : "Remove the rule (firewalld: NftablesFlowtable=off in firewalld.conf; OpenWrt: "
                  "flow_offloading '0'), or offload only flows that need no inspection, selected by a "
                  "connection mark.",
            "flows are offloaded to flowtable %s (%s%s)", rule->flowtable, devices,
            flowtable && flowtable->hardware ? ", in hardware" : ""),
        rule);
}

static bool is_used(const struct netrules_table *table, const struct netrules_flowtable *flowtable)
{
    for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
        for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
            if (rule->flowtable && strcmp(rule->flowtable, flowtable->name) == 0)
                return true;
    return false;
}

void check_offload(struct context *context)
{
    for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next) {
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                check_rule(context, rule);
        for (const struct netrules_flowtable *flowtable = table->flowtables; flowtable; flowtable = flowtable->next)
            if (!find_own_table(context, table) && !is_used(table, flowtable))
                add_finding(context, DOCTOR_NOTE, "offload.unused",
                            "As long as no rule adds flows to it, all packets traverse the hooks.",
                            "None. A rule with `flow add` would take flows from inspection.",
                            "flowtable %s of table %s %s has no rule that adds flows", flowtable->name,
                            netrules_family_name(table->family), table->name);
    }
}
