/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks: who else reads or writes our bits. Ours are the mark of judged packets in repeat mode, and that of our own
 * answers (reject), with which our table lets packets pass. So a packet that somebody else gives such a mark passes
 * uninspected.
 */
#include <linux/netfilter.h>
#include <stdio.h>
#include <string.h>

#include "doctor_priv.h"

static const uint32_t ALL = 0xffffffff;

/* One of our marks. */
struct our_mark {
    const char *name; /* of the setting */
    uint32_t value, mask;
    bool judged;          /* that of repeat mode */
    uint64_t connections; /* that have it now */
};

/* Registered or well known users: of bits, or of whole marks. */
static const struct {
    uint32_t value, mask; /* their mask; all bits: they write the whole mark */
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

    return known ? known : "somebody";
}

/* --- Writers -------------------------------------------------------------------------------------- */

/* Whether what is written may be our mark: then the packet looks as if it had been judged, or were our own. */
static bool may_forge(const struct netrules_mark *mark, const struct our_mark *ours)
{
    uint32_t common = mark->mask & ours->mask;

    return common && ((mark->value ^ ours->value) & common) == 0 && (mark->value & common) != 0;
}

static void report_set(struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                       const struct our_mark *ours)
{
    const char *user = user_of(rule, mark);

    if (may_forge(mark, ours))
        about_rule(
            find_out(patient, DOCTOR_BROKEN, "mark.forged",
                     "A packet with this mark looks as if it had been judged already, or were an answer of ours: our "
                     "rules let it pass uninspected.",
                     "Choose bits that nobody has for queue.mark and nft.reject-mark.",
                     "%s sets bits of our mark 0x%x/0x%x (%s): 0x%x under 0x%x", user, ours->value, ours->mask,
                     ours->name, mark->value, mark->mask),
            rule);
    else if (ours->judged)
        about_rule(
            find_out(
                patient, DOCTOR_WARNING, "mark.cleared",
                "A packet that we have judged may lose its mark there: where it comes to the queue's rule again it "
                "is inspected twice, or circles.",
                "Choose other bits for queue.mark, or have them write under a mask that leaves ours.",
                "%s overwrites bits of our mark 0x%x/0x%x (%s): 0x%x under 0x%x", user, ours->value, ours->mask,
                ours->name, mark->value, mark->mask),
            rule);
    else if (mark->mask != ALL)
        about_rule(
            find_out(
                patient, DOCTOR_NOTE, "mark.cleared",
                "An answer of ours that passes there loses its mark and may be inspected as if it were somebody's.",
                "Choose other bits for nft.reject-mark.",
                "%s overwrites bits of our mark 0x%x/0x%x (%s): 0x%x under 0x%x", user, ours->value, ours->mask,
                ours->name, mark->value, mark->mask),
            rule);
}

/* Whether somebody saves our bits to the connection. */
static bool is_saved(const struct patient *patient, uint32_t mask)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
                    if (mark->kind == NETRULES_CONNECTION_MARK && mark->use == NETRULES_MARK_COPY &&
                        (mark->source & mask))
                        return true;
    return false;
}

static void report_copy(struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                        const struct our_mark *ours)
{
    bool both = is_saved(patient, ours->mask) && (mark->source & ours->mask);

    if (!both && !ours->judged)
        return;
    about_rule(
        find_out(
            patient, both ? ours->judged ? DOCTOR_BROKEN : DOCTOR_WARNING : DOCTOR_WARNING, "mark.restored",
            both ? "Our mark goes from a packet to its connection and from there to every later packet, which then "
                   "looks as if it had been judged and passes uninspected."
                 : "What the connection has replaces our bits of the packet's mark.",
            "Have them save and restore under a mask that leaves our bits (CONNMARK --nfmask/--ctmask; nft: ct mark "
            "set meta mark & MASK), or choose other bits.",
            "%s restores bits of our mark 0x%x/0x%x (%s) from connections", user_of(rule, mark), ours->value,
            ours->mask, ours->name),
        rule);
}

/* --- Readers -------------------------------------------------------------------------------------- */

static void report_match(struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                         const struct our_mark *ours)
{
    bool whole = mark->mask == ALL;

    if (whole && !ours->judged) /* our answers are none of theirs, and are not taken for it */
        return;
    about_rule(find_out(patient, whole ? DOCTOR_NOTE : DOCTOR_WARNING, "mark.matched",
                        whole ? "It compares the whole mark: a packet that has our bit too is not recognised any more."
                              : "Our bits are theirs: what it decides for their packets it may decide for ours.",
                        "Choose other bits for queue.mark and nft.reject-mark, or have them compare under a mask.",
                        "%s asks for bits of our mark 0x%x/0x%x (%s): 0x%x under 0x%x", user_of(rule, mark),
                        ours->value, ours->mask, ours->name, mark->value, mark->mask),
               rule);
}

static bool is_feed(const struct patient *patient, const struct netrules_rule *rule)
{
    for (const struct feed *feed = patient->feeds; feed; feed = feed->next)
        if (feed->rule == rule)
            return true;
    return false;
}

/* "mark is ours -> accept" in other people's chains is how repeat mode is written. */
static bool is_ours(const struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                    const struct our_mark *ours)
{
    return is_own(patient, rule) || is_feed(patient, rule) ||
           (mark->use == NETRULES_MARK_MATCH && mark->mask == ours->mask && mark->value == ours->value);
}

/* --- The rule that removes our mark --------------------------------------------------------------- */

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

static void note_early(const struct netrules_chain *base, void *early)
{
    *(bool *)early |= base->hook != NF_INET_POST_ROUTING && base->hook != NF_INET_LOCAL_IN;
}

/* Removes the mark of packets that leave the host or have arrived: repeat mode needs that where tunnels begin or end.
 */
static bool is_unmark(struct patient *patient, const struct netrules_rule *rule, const struct our_mark *ours)
{
    bool early = false;

    if (!ours->judged || !clears(rule, ours))
        return false;
    patient->failed |= each_base(patient->ruleset, rule, note_early, &early) != 0;
    return !early;
}

static bool has_unmark(struct patient *patient, const struct our_mark *ours)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                if (is_unmark(patient, rule, ours))
                    return true;
    return false;
}

static void check_unmark(struct patient *patient, const struct our_mark *ours)
{
    if (ours->judged && patient->feeds && !has_unmark(patient, ours))
        find_out(patient, DOCTOR_NOTE, "mark.kept",
                 "Where a tunnel begins or ends on this host, the packet inside gets the mark of the packet outside, "
                 "and passes "
                 "uninspected.",
                 "Add a rule to postrouting: `meta mark & MASK == MARK meta mark set meta mark & ~MASK`, or `iptables "
                 "-t mangle -A "
                 "POSTROUTING -m mark --mark MARK/MASK -j MARK --set-xmark 0x0/MASK`.",
                 "no rule removes our mark 0x%x/0x%x (%s) when the packet has passed", ours->value, ours->mask,
                 ours->name);
}

static void check_mark(struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                       const struct our_mark *ours)
{
    if (!(mark->mask & ours->mask) || mark->kind != NETRULES_PACKET_MARK || is_ours(patient, rule, mark, ours) ||
        (mark->use == NETRULES_MARK_SET && is_unmark(patient, rule, ours)))
        return;
    switch (mark->use) {
    case NETRULES_MARK_SET:
        report_set(patient, rule, mark, ours);
        break;
    case NETRULES_MARK_COPY:
        report_copy(patient, rule, mark, ours);
        break;
    case NETRULES_MARK_MATCH:
        report_match(patient, rule, mark, ours);
        break;
    case NETRULES_MARK_ANY:
        about_rule(find_out(patient, ours->judged ? DOCTOR_WARNING : DOCTOR_NOTE, "mark.any",
                            "What a map, a counter or a hash writes may have our bits; a packet that has them passes "
                            "uninspected.",
                            "See that their values stay below our bits, or choose other bits.",
                            "%s writes the whole mark, with our 0x%x/0x%x (%s)", user_of(rule, mark), ours->value,
                            ours->mask, ours->name),
                   rule);
        break;
    }
}

static void check_route(struct patient *patient, const struct netrules_route *route, const struct our_mark *ours)
{
    const char *known = known_user(route->mark, route->mask);
    bool whole = route->mask == ALL;
    struct doctor_finding *finding;

    if (!(route->mask & ours->mask) || (whole && !ours->judged))
        return;
    finding =
        find_out(patient, whole ? DOCTOR_NOTE : DOCTOR_WARNING, "mark.routed",
                 whole ? "It compares the whole mark: a packet that has our bit too is routed as if it had no mark."
                       : "Our bits are theirs: a packet with our mark may be routed by their table.",
                 "Choose other bits for queue.mark and nft.reject-mark, or route under a mask (`ip rule ... fwmark "
                 "MARK/MASK`).",
                 "%s routes by bits of our mark 0x%x/0x%x (%s)", known ? known : "policy routing", ours->value,
                 ours->mask, ours->name);
    finding->other = route->text;
}

/* Bits that no rule and no policy route reads or writes, but for whole marks. */
static uint32_t free_bits(const struct patient *patient)
{
    uint32_t used = 0;

    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
                    used |= mark->mask != ALL ? mark->mask : mark->value;
    for (const struct netrules_route *route = patient->ruleset->routes; route; route = route->next)
        used |= route->mask != ALL ? route->mask : route->mark;
    return ~used;
}

static void suggest(struct patient *patient)
{
    uint32_t bits = free_bits(patient);

    for (const struct doctor_finding *finding = patient->report->findings; finding; finding = finding->next) {
        if (strncmp(finding->id, "mark.", strlen("mark.")) != 0 || finding->severity == DOCTOR_NOTE || bits == 0)
            continue;
        find_out(patient, DOCTOR_NOTE, "mark.free",
                 "No rule and no policy route here reads or writes them under a mask.",
                 "Take one of them, such as the highest, for queue.mark or nft.reject-mark.",
                 "bits of marks that are free: 0x%x", bits);
        return;
    }
}

static void check_connections(struct patient *patient, const struct our_mark *ours)
{
    if (ours->connections)
        find_out(patient, DOCTOR_WARNING, "mark.connections",
                 "Somebody has saved our mark, or the same bits of his own, to connections: where it is restored, "
                 "their packets "
                 "look as if they had been judged and pass uninspected.",
                 "Choose bits that nobody has for queue.mark and nft.reject-mark.",
                 "%llu connections have our mark 0x%x/0x%x (%s)", (unsigned long long)ours->connections, ours->value,
                 ours->mask, ours->name);
}

static void check_ours(struct patient *patient, const struct our_mark *ours)
{
    check_connections(patient, ours);
    check_unmark(patient, ours);
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
                for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
                    check_mark(patient, rule, mark, ours);
    for (const struct netrules_route *route = patient->ruleset->routes; route; route = route->next)
        check_route(patient, route, ours);
}

void check_marks(struct patient *patient)
{
    const struct firewall_options *options = &patient->input->options;
    const struct our_mark marks[] = {
        { "queue.mark", patient->mark, patient->repeats ? patient->mark_mask : 0, true,
          patient->input->connections.judged },
        { "nft.reject-mark", options->reject_mark, options->reject_mask, false, patient->input->connections.answers },
    };

    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
        if (marks[i].mask)
            check_ours(patient, &marks[i]);
    suggest(patient);
}
