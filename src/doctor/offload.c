/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reports rules that add flows to a flowtable. The kernel forwards the packets of such a flow at ingress, so they
 * traverse no later hook. The position of the rule does not matter: even if it follows the queue rule, Sluice does not
 * receive the later packets of the flow.
 */
#include <linux/netfilter.h>
#include <string.h>

#include "doctor_priv.h"

void check_offload(struct context *context)
{
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));) {
        const struct netrules_flowtable *flowtable = rule->chain->table->flowtables;
        const char *devices;
        /* true: a queue rule at a hook other than input and output has a family in common with the rule */
        bool inspects = false;

        for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
            const struct netrules_chain *chain = feed->rule->chain;
            bool local = chain->base && (chain->hook == NF_INET_LOCAL_IN || chain->hook == NF_INET_LOCAL_OUT);

            inspects |= (feed->rule->families & rule->families) && !local;
        }
        if (!rule->flowtable || is_sluice_rule(context, rule) || !inspects)
            continue;
        while (flowtable && strcmp(flowtable->name, rule->flowtable) != 0)
            flowtable = flowtable->next;
        devices = flowtable && flowtable->devices ? flowtable->devices : "no devices";
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
    for (const struct netrules_table *table = context->ruleset->tables; table; table = table->next)
        for (const struct netrules_flowtable *flowtable = table->flowtables; flowtable; flowtable = flowtable->next) {
            bool used = find_own_table(context, table) != NULL;

            for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));)
                used |= rule->chain->table == table && rule->flowtable && strcmp(rule->flowtable, flowtable->name) == 0;
            if (!used)
                add_finding(context, DOCTOR_NOTE, "offload.unused",
                            "As long as no rule adds flows to it, all packets traverse the hooks.",
                            "None. A rule with `flow add` would take flows from inspection.",
                            "flowtable %s of table %s %s has no rule that adds flows", flowtable->name,
                            netrules_family_name(table->family), table->name);
        }
}
