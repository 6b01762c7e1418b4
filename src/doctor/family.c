/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks for each hook that both IPv4 and IPv6 are queued. */
#include <linux/netfilter.h>

#include "doctor_priv.h"

struct coverage {
    const struct netrules_rule *rule;    /* the queue rule being checked */
    unsigned families[NF_INET_NUMHOOKS]; /* families (NETRULES_IPV4...) of which packets are queued, by hook */
    const struct netrules_rule *rules[NF_INET_NUMHOOKS];
};

static void record_coverage(const struct netrules_chain *base, void *user)
{
    struct coverage *coverage = user;

    if (base->hook >= NF_INET_NUMHOOKS || !(families_of(base) & (NETRULES_IPV4 | NETRULES_IPV6)))
        return;
    coverage->families[base->hook] |= coverage->rule->families & families_of(base);
    coverage->rules[base->hook] = coverage->rule;
}

static void report(struct context *context, unsigned hook, unsigned missing, const struct netrules_rule *rule)
{
    const struct doctor_host *host = context->host;
    /* missing: the family that is not queued; alive: the host handles packets of this family at the hook */
    bool six = missing == NETRULES_IPV6, forward = hook == NF_INET_FORWARD, alive;

    if (six)
        alive = forward ? host->forwards_ipv6 : host->has_ipv6;
    else
        alive = !forward || host->forwards_ipv4;

    set_finding_rule(
        add_finding(
            context, alive ? DOCTOR_WARNING : DOCTOR_NOTE, six ? "family.ipv6" : "family.ipv4",
            six ? "IPv6 packets at this hook pass uninspected: a table of family ip, and iptables, handle IPv4 only."
                : "IPv4 packets at this hook pass uninspected: a table of family ip6, and ip6tables, handle IPv6 only.",
            "Use a table of family inet (`sluice nft install`, nft.family: inet), or add a queue "
            "rule in the other family.",
            "%s packets are not queued at hook %s%s", six ? "IPv6" : "IPv4", netrules_hook_name(NFPROTO_INET, hook),
            alive ? "" : ", but this host handles no such packets at this hook"),
        rule);
}

void check_families(struct context *context)
{
    struct coverage coverage = { .rule = NULL };

    for (const struct feed *feed = context->feeds; feed; feed = feed->next) {
        coverage.rule = feed->rule;
        if (for_each_base(context->ruleset, feed->rule, record_coverage, &coverage))
            context->failed = true;
    }
    for (unsigned hook = 0; hook < NF_INET_NUMHOOKS; hook++) {
        if (coverage.families[hook] == NETRULES_IPV4)
            report(context, hook, NETRULES_IPV6, coverage.rules[hook]);
        if (coverage.families[hook] == NETRULES_IPV6)
            report(context, hook, NETRULES_IPV4, coverage.rules[hook]);
    }
}
