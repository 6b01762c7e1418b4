/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packet marks. Sluice has two: the mark of inspected packets (queue.mark, repeat mode), and the mark of the packets
 * that Sluice sends (nft.reject-mark). This file finds rules of other programs that read or write bits of them. The
 * sluice table accepts packets with either mark, so a packet passes uninspected if another program sets one of them.
 */
#include <linux/netfilter.h>
#include <stdio.h>
#include <string.h>

#include "doctor_priv.h"

static const uint32_t ALL = 0xffffffff;

/* One of Sluice's marks. */
struct our_mark {
    const char *name; /* name of the setting, for findings */
    uint32_t value, mask;
    /* true: the mark of inspected packets (queue.mark); false: the mark of packets that Sluice sends (nft.reject-mark)
     */
    bool inspected;
    uint64_t connections; /* number of connections in conntrack that have the mark now */
};

/* Programs with registered or well-known marks. */
static const struct {
    uint32_t value, mask; /* the mask under which the program writes the value; all bits: it writes the whole mark */
    const char *name;
} known_users[] = {
    { 0x0100, 0x00000f00, "Cilium" },
    { 0x0200, 0x00000f00, "Cilium" },
    { 0x4000, 0x00004000, "Kubernetes (masquerading)" },
    { 0x8000, 0x00008000, "Kubernetes (dropping)" },
    { 0x20000, 0x00020000, "Weave Net" },
    { 0x40000, 0x00ff0000, "Tailscale" },
    { 0x80000, 0x00ff0000, "Tailscale" },
    { 0x1337, 0xffffffff, "Istio" },
    { 51820, 0xffffffff, "WireGuard (wg-quick)" },
    { 0x1e7700ce, 0xffffffff, "AWS App Mesh" },
    { 0x1bd00, 0xffffffff, "NetBird" },
};

static const char *known_user(uint32_t value, uint32_t mask)
{
    for (size_t i = 0; i < sizeof(known_users) / sizeof(known_users[0]); i++)
        if (known_users[i].value == value && known_users[i].mask == mask)
            return known_users[i].name;
    return NULL;
}

static const char *user_of(const struct netrules_rule *rule, const struct netrules_mark *mark)
{
    const char *manager = manager_of(rule->chain);
    const char *known = manager ? manager : known_user(mark->value, mark->mask);

    return known ? known : "another program";
}

/* --- Writers ---------------------------------------------------------------------------------------- */

static void report_set(struct context *context, const struct netrules_rule *rule, const struct netrules_mark *mark,
                       const struct our_mark *ours)
{
    const char *user = user_of(rule, mark);
    uint32_t common = mark->mask & ours->mask;

    /* The value agrees with Sluice's mark in the bits that the rule writes: such a packet is treated as inspected, or
     * as sent by Sluice. */
    if (((mark->value ^ ours->value) & common) == 0 && (mark->value & common) != 0)
        set_finding_rule(
            add_finding(context, DOCTOR_BROKEN, "mark.forged",
                        "The sluice table treats a packet with this mark as already inspected, or as sent by "
                        "Sluice, and lets it pass uninspected.",
                        "Choose bits that no other program uses for queue.mark and nft.reject-mark.",
                        "%s sets bits of Sluice's mark 0x%x/0x%x (%s): 0x%x under 0x%x", user, ours->value, ours->mask,
                        ours->name, mark->value, mark->mask),
            rule);
    else if (ours->inspected)
        set_finding_rule(
            add_finding(
                context, DOCTOR_WARNING, "mark.cleared",
                "An inspected packet may lose its mark here: if it reaches the queue rule again, it is "
                "inspected twice or loops.",
                "Choose other bits for queue.mark, or restrict the other rule by a mask that excludes these bits.",
                "%s overwrites bits of Sluice's mark 0x%x/0x%x (%s): 0x%x under 0x%x", user, ours->value, ours->mask,
                ours->name, mark->value, mark->mask),
            rule);
    else if (mark->mask != ALL)
        set_finding_rule(
            add_finding(
                context, DOCTOR_NOTE, "mark.cleared",
                "A packet that Sluice sends (reject) loses its mark here and may be inspected like forwarded traffic.",
                "Choose other bits for nft.reject-mark.",
                "%s overwrites bits of Sluice's mark 0x%x/0x%x (%s): 0x%x under 0x%x", user, ours->value, ours->mask,
                ours->name, mark->value, mark->mask),
            rule);
}

static void report_copy(struct context *context, const struct netrules_rule *rule, const struct netrules_mark *mark,
                        const struct our_mark *ours)
{
    bool saved = false, both;

    for (const struct netrules_rule *other = NULL; (other = netrules_next_rule(context->ruleset, other));)
        for (const struct netrules_mark *each = other->marks; each; each = each->next)
            saved |= each->kind == NETRULES_CONNECTION_MARK && each->use == NETRULES_MARK_COPY &&
                     (each->source & ours->mask);
    both = saved && (mark->source & ours->mask);
    if (!both && !ours->inspected)
        return;
    set_finding_rule(
        add_finding(context, both ? ours->inspected ? DOCTOR_BROKEN : DOCTOR_WARNING : DOCTOR_WARNING, "mark.restored",
                    both ? "The mark is copied from a packet to its connection and from there to every later "
                           "packet; those look inspected, or sent by Sluice, and pass uninspected."
                         : "The connection's mark replaces these bits of the packet's mark.",
                    "Save and restore marks under a mask that excludes these bits (CONNMARK "
                    "--nfmask/--ctmask; nft: ct mark set meta mark & MASK), or choose other bits.",
                    "%s restores bits of Sluice's mark 0x%x/0x%x (%s) from connections", user_of(rule, mark),
                    ours->value, ours->mask, ours->name),
        rule);
}

/* --- The rule that clears the mark ------------------------------------------------------------------ */

static bool clears(const struct netrules_rule *rule, const struct our_mark *ours)
{
    bool matches = false, clears = false;

    for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next) {
        if (mark->kind != NETRULES_PACKET_MARK || mark->mask != ours->mask)
            continue;
        matches |= mark->use == NETRULES_MARK_MATCH && mark->value == ours->value;
        clears |= mark->use == NETRULES_MARK_SET && mark->value == 0;
    }
    return matches && clears;
}

static void record_early(const struct netrules_chain *base, void *early)
{
    *(bool *)early |= base->hook != NF_INET_POST_ROUTING && base->hook != NF_INET_LOCAL_IN;
}

/* Returns whether the rule clears the mark after the inspection, at the hooks postrouting or input only. Where tunnels
 * begin or end, repeat mode needs such a rule, because the inner packet inherits the mark of the outer one. */
static bool is_clearing_rule(struct context *context, const struct netrules_rule *rule, const struct our_mark *ours)
{
    bool early = false;

    if (!ours->inspected || !clears(rule, ours))
        return false;
    context->failed |= for_each_base(context->ruleset, rule, record_early, &early) != 0;
    return !early;
}

static void check_mark(struct context *context, const struct netrules_rule *rule, const struct netrules_mark *mark,
                       const struct our_mark *ours)
{
    /* A rule that matches exactly Sluice's mark, wherever it is, belongs to the setup of repeat mode ("match the mark,
     * accept"). */
    bool of_sluice = is_sluice_rule(context, rule) || is_feed(context, rule) ||
                     (mark->use == NETRULES_MARK_MATCH && mark->mask == ours->mask && mark->value == ours->value);
    bool whole = mark->mask == ALL;

    if (!(mark->mask & ours->mask) || mark->kind != NETRULES_PACKET_MARK || of_sluice ||
        (mark->use == NETRULES_MARK_SET && is_clearing_rule(context, rule, ours)))
        return;
    switch (mark->use) {
    case NETRULES_MARK_SET:
        report_set(context, rule, mark, ours);
        break;
    case NETRULES_MARK_COPY:
        report_copy(context, rule, mark, ours);
        break;
    case NETRULES_MARK_MATCH:
        /* a rule that compares the whole mark does not concern packets that Sluice sends */
        if (whole && !ours->inspected)
            break;
        set_finding_rule(
            add_finding(
                context, whole ? DOCTOR_NOTE : DOCTOR_WARNING, "mark.matched",
                whole ? "The rule compares the whole mark: a packet that also has Sluice's bit no longer matches."
                      : "The rule uses the same bits: it may match packets with Sluice's mark.",
                "Choose other bits for queue.mark and nft.reject-mark, or compare under a mask that excludes them.",
                "%s matches bits of Sluice's mark 0x%x/0x%x (%s): 0x%x under 0x%x", user_of(rule, mark), ours->value,
                ours->mask, ours->name, mark->value, mark->mask),
            rule);
        break;
    case NETRULES_MARK_ANY:
        set_finding_rule(
            add_finding(context, ours->inspected ? DOCTOR_WARNING : DOCTOR_NOTE, "mark.any",
                        "A value from a map, a counter or a hash may contain Sluice's bits; a packet that has "
                        "them passes uninspected.",
                        "Keep these values below Sluice's bits, or choose other bits.",
                        "%s writes the whole mark, including Sluice's bits 0x%x/0x%x (%s)", user_of(rule, mark),
                        ours->value, ours->mask, ours->name),
            rule);
        break;
    }
}

/* If there is a warning about marks, reports the mark bits that no rule and no routing rule reads or writes. */
static void suggest_bits(struct context *context)
{
    uint32_t used = 0, bits;

    /* A rule that compares or writes the whole mark counts as using only the bits that are set in its value. */
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));)
        for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
            used |= mark->mask != ALL ? mark->mask : mark->value;
    for (const struct doctor_route *route = context->host->routes; route; route = route->next)
        used |= route->mask != ALL ? route->mask : route->mark;
    bits = ~used;
    for (const struct doctor_finding *finding = context->report->findings; finding; finding = finding->next) {
        if (strncmp(finding->id, "mark.", strlen("mark.")) != 0 || finding->severity == DOCTOR_NOTE || bits == 0)
            continue;
        add_finding(context, DOCTOR_NOTE, "mark.free",
                    "No rule and no routing rule on this host reads or writes these bits under a mask.",
                    "Use one of them, such as the highest, for queue.mark or nft.reject-mark.",
                    "unused mark bits: 0x%x", bits);
        return;
    }
}

static void check_ours(struct context *context, const struct our_mark *ours)
{
    bool cleared = false;

    if (ours->connections)
        add_finding(
            context, DOCTOR_WARNING, "mark.connections",
            "Another program has saved Sluice's mark, or the same bits for its own purpose, to "
            "connections: packets to which it is restored look inspected, or sent by Sluice, and pass uninspected.",
            "Choose bits that no other program uses for queue.mark and nft.reject-mark.",
            "%llu connections have Sluice's mark 0x%x/0x%x (%s)", (unsigned long long)ours->connections, ours->value,
            ours->mask, ours->name);
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));)
        cleared |= is_clearing_rule(context, rule, ours);
    if (ours->inspected && context->feeds && !cleared)
        add_finding(context, DOCTOR_NOTE, "mark.kept",
                    "Where a tunnel begins or ends on this host, the inner packet inherits the mark of the "
                    "outer packet (or the reverse), and passes uninspected.",
                    "Add a rule to postrouting: `meta mark & MASK == MARK meta mark set meta mark & REST` (REST: "
                    "0xffffffff without the bits of MASK), or `iptables -t mangle -A POSTROUTING -m mark --mark "
                    "MARK/MASK -j MARK --set-xmark "
                    "0x0/MASK`.",
                    "no rule clears Sluice's mark 0x%x/0x%x (%s) after the inspection", ours->value, ours->mask,
                    ours->name);
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));)
        for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
            check_mark(context, rule, mark, ours);
    for (const struct doctor_route *route = context->host->routes; route; route = route->next) {
        const char *known = known_user(route->mark, route->mask);
        bool whole = route->mask == ALL;
        struct doctor_finding *finding;

        if (!(route->mask & ours->mask) || (whole && !ours->inspected))
            continue;
        finding = add_finding(
            context, whole ? DOCTOR_NOTE : DOCTOR_WARNING, "mark.routed",
            whole ? "The routing rule compares the whole mark: a packet that also has Sluice's bit is routed "
                    "as if it had no mark."
                  : "The routing rule uses the same bits: it may route packets with Sluice's mark.",
            "Choose other bits for queue.mark and nft.reject-mark, or route under a mask that "
            "excludes them (`ip rule ... fwmark MARK/MASK`).",
            "%s routes by bits of Sluice's mark 0x%x/0x%x (%s)", known ? known : "policy routing", ours->value,
            ours->mask, ours->name);
        finding->other = route->text;
    }
}

void check_marks(struct context *context)
{
    const struct firewall_options *options = &context->input->options;
    const struct our_mark marks[] = {
        { "queue.mark", context->mark, context->repeats ? context->mark_mask : 0, true,
          context->input->connections.judged },
        { "nft.reject-mark", options->reject_mark, options->reject_mask, false, context->input->connections.answers },
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (marks[i].mask)
            check_ours(context, &marks[i]);
    suggest_bits(context);
}
