/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of connections with which our table tells what the kernel handles alone. Who gives a connection our mark lets
 * it pass uninspected; who takes it off only brings it back to the queue. Where our table saves them from marks of
 * packets, these matter as much.
 */
#include <string.h>

#include "doctor_priv.h"

bool is_next_queue(const struct patient *patient, const struct netrules_rule *rule)
{
    return rule->verdict == NETRULES_QUEUE && rule->sees_connection_mark && is_own(patient, rule);
}

/* --- What is there -------------------------------------------------------------------------------- */

static const struct netrules_mark *connection_mark(const struct netrules_rule *rule)
{
    for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
        if (mark->kind == NETRULES_CONNECTION_MARK && mark->use == NETRULES_MARK_MATCH)
            return mark;
    return NULL;
}

static void take_rule(struct firewall_offload *out, const struct netrules_rule *rule)
{
    const struct netrules_mark *mark = connection_mark(rule);

    if (!mark)
        return;
    if (rule->flowtable) {
        out->devices[0] = "?"; /* which ones is not compared */
        out->device_count = 1;
    } else if (rule->verdict == NETRULES_DROP) {
        out->drop = true;
        out->drop_mark = mark->value;
        out->drop_mask = mark->mask;
    } else {
        out->accept = true;
        out->accept_mark = mark->value;
        out->accept_mask = mark->mask;
        out->has_next = rule->verdict == NETRULES_QUEUE;
        out->next_queue = rule->queue.first;
        out->next_bypass = rule->queue.bypass;
    }
}

static void take_table(struct firewall_offload *out, const struct netrules_table *table)
{
    *out = (struct firewall_offload){ .accept = false };
    for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next) {
        out->saves |= strncmp(chain->name, "save_", strlen("save_")) == 0 ||
                      strncmp(chain->name, "sluice_save", strlen("sluice_save")) == 0;
        for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next)
            take_rule(out, rule);
    }
}

void take_offload(struct patient *patient)
{
    patient->offload = patient->input->options.offload;
    if (patient->own)
        take_table(&patient->offload, patient->own->table);
}

/* --- What others do ------------------------------------------------------------------------------- */

struct offload_mark {
    const char *name; /* of the setting */
    uint32_t value, mask;
};

static bool may_forge(const struct netrules_mark *mark, const struct offload_mark *ours)
{
    uint32_t common = mark->mask & ours->mask;

    if (mark->use == NETRULES_MARK_COPY)
        return (mark->source & ours->mask) != 0;
    return common && ((mark->value ^ ours->value) & common) == 0 && (mark->value & common) != 0;
}

static void report_forged(struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                          const struct offload_mark *ours)
{
    bool copies = mark->use == NETRULES_MARK_COPY;

    about_rule(find_out(patient, copies ? DOCTOR_WARNING : DOCTOR_BROKEN, "offload.forged",
                        "The kernel takes such a connection for one that we have judged: it passes uninspected, or is "
                        "dropped.",
                        "Choose bits that nobody has for the marks of nft.offload, or have them write under a mask "
                        "that leaves ours.",
                        "somebody %s bits of our mark of connections 0x%x/0x%x (%s)",
                        copies ? "copies what may be" : "sets", ours->value, ours->mask, ours->name),
               rule);
}

static void check_mark(struct patient *patient, const struct netrules_rule *rule, const struct netrules_mark *mark,
                       const struct offload_mark *ours)
{
    bool of_packets = mark->kind == NETRULES_PACKET_MARK;

    if (mark->use == NETRULES_MARK_MATCH || !(mark->mask & ours->mask) || (of_packets && !patient->offload.saves))
        return;
    if (mark->use != NETRULES_MARK_ANY && may_forge(mark, ours)) {
        if (!(of_packets &&
              mark->use == NETRULES_MARK_COPY)) /* from a connection that has it to its packet: the same */
            report_forged(patient, rule, mark, ours);
        return;
    }
    if (!of_packets)
        about_rule(find_out(patient, DOCTOR_NOTE, "offload.cleared",
                            "A connection that the kernel handles comes back to the queue when its mark is "
                            "overwritten, and gets it again with the next packet.",
                            "Have them write under a mask that leaves our bits, or choose others for nft.offload.",
                            "somebody overwrites our mark of connections 0x%x/0x%x (%s)", ours->value, ours->mask,
                            ours->name),
                   rule);
}

static void check_rules(struct patient *patient, const struct offload_mark *ours)
{
    for (const struct netrules_table *table = patient->ruleset->tables; table; table = table->next)
        for (const struct netrules_chain *chain = table->chains; chain; chain = chain->next)
            for (const struct netrules_rule *rule = chain->rules; rule && !own_of(patient, table); rule = rule->next)
                for (const struct netrules_mark *mark = rule->marks; mark; mark = mark->next)
                    check_mark(patient, rule, mark, ours);
}

void check_offload_marks(struct patient *patient)
{
    const struct firewall_offload *offload = &patient->offload;
    const struct offload_mark accept = { "nft.offload.accept-mark", offload->accept_mark, offload->accept_mask };
    const struct offload_mark drop = { "nft.offload.drop-mark", offload->drop_mark, offload->drop_mask };

    if (offload->accept)
        check_rules(patient, &accept);
    if (offload->drop)
        check_rules(patient, &drop);
}
