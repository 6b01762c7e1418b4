/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Connection marks of offloaded flows (nft.offload). If a rule of another program sets such a mark, the kernel accepts
 * or drops the connection without inspection; if a rule clears it, the connection's packets are only queued again.
 * Where the sluice table saves packet marks to connections, setting the packet mark has the same effect.
 */
#include <string.h>

#include "doctor_priv.h"

bool is_next_queue(const struct context *context, const struct netrules_rule *rule)
{
    return rule->verdict == NETRULES_QUEUE && rule->matches_connection_mark && is_sluice_rule(context, rule);
}

/* --- Configured and installed marks ----------------------------------------------------------------- */

void find_offload(struct context *context)
{
    const struct firewall_offload *configured = &context->input->options.offload;
    struct firewall_offload *out = &context->offload;

    *out = context->input->options.offload;
    if (!context->own)
        return;
    *out = (struct firewall_offload){ .accept = false };
    for (const struct netrules_chain *chain = context->own->table->chains; chain; chain = chain->next) {
        out->saves |= strncmp(chain->name, "save_", strlen("save_")) == 0 ||
                      strncmp(chain->name, "sluice_save", strlen("sluice_save")) == 0;
        for (const struct netrules_rule *rule = chain->rules; rule; rule = rule->next) {
            const struct netrules_mark *mark = rule->marks;

            while (mark && !(mark->kind == NETRULES_CONNECTION_MARK && mark->use == NETRULES_MARK_MATCH))
                mark = mark->next;
            if (!mark)
                continue;
            if (mark->value == configured->acknowledge_mark && mark->mask == configured->acknowledge_mask) {
                out->acknowledge = true;
                out->acknowledge_mark = mark->value;
                out->acknowledge_mask = mark->mask;
                out->has_next |= rule->verdict == NETRULES_QUEUE;
                out->next_queue = rule->verdict == NETRULES_QUEUE ? rule->queue.first : out->next_queue;
                out->next_bypass |= rule->verdict == NETRULES_QUEUE && rule->queue.bypass;
            } else if (rule->flowtable) {
                out->devices[0] = "?"; /* only whether there is a flowtable matters, not its device names */
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
    }
}

/* --- Rules of other programs ------------------------------------------------------------------------ */

struct offload_mark {
    const char *name; /* name of the setting, for findings */
    uint32_t value, mask;
};

static void check_mark(struct context *context, const struct netrules_rule *rule, const struct netrules_mark *mark,
                       const struct offload_mark *ours)
{
    bool of_packets = mark->kind == NETRULES_PACKET_MARK, copies = mark->use == NETRULES_MARK_COPY, forges;
    uint32_t common = mark->mask & ours->mask;

    if (mark->use == NETRULES_MARK_MATCH || !common || (of_packets && !context->offload.saves))
        return;
    if (copies)
        forges = (mark->source & ours->mask) != 0;
    else
        forges = mark->use == NETRULES_MARK_SET && ((mark->value ^ ours->value) & common) == 0 &&
                 (mark->value & common) != 0;
    if (forges && of_packets && copies)
        return; /* the rule restores the connection's mark to its packet, so saving it again changes nothing */
    if (forges)
        set_finding_rule(
            add_finding(context, copies ? DOCTOR_WARNING : DOCTOR_BROKEN, "offload.forged",
                        "The kernel treats such a connection as one with a verdict: its packets pass "
                        "uninspected, or are dropped.",
                        "Choose bits for the marks of nft.offload that no other program uses, or restrict the "
                        "other rule by a mask that excludes these bits.",
                        "a rule of another program %s bits of Sluice's connection mark 0x%x/0x%x (%s)",
                        copies ? "may copy other values to" : "sets", ours->value, ours->mask, ours->name),
            rule);
    else if (!of_packets)
        set_finding_rule(
            add_finding(
                context, DOCTOR_NOTE, "offload.cleared",
                "When the mark of an offloaded connection is overwritten, its packets return to the "
                "queue; the next verdict sets the mark again.",
                "Restrict the other rule by a mask that excludes these bits, or choose other bits for nft.offload.",
                "a rule of another program overwrites Sluice's connection mark 0x%x/0x%x (%s)", ours->value, ours->mask,
                ours->name),
            rule);
}

static void check_rules(struct context *context, const struct offload_mark *ours)
{
    for (const struct netrules_rule *rule = NULL; (rule = netrules_next_rule(context->ruleset, rule));)
        for (const struct netrules_mark *mark = rule->marks; mark && !is_sluice_rule(context, rule); mark = mark->next)
            check_mark(context, rule, mark, ours);
}

void check_offload_marks(struct context *context)
{
    const struct firewall_offload *offload = &context->offload;
    const struct offload_mark accept = { "nft.offload.accept-mark", offload->accept_mark, offload->accept_mask };
    const struct offload_mark drop = { "nft.offload.drop-mark", offload->drop_mark, offload->drop_mask };
    const struct offload_mark acknowledge = { "nft.offload.acknowledgment-mark", offload->acknowledge_mark,
                                              offload->acknowledge_mask };

    if (offload->accept)
        check_rules(context, &accept);
    if (offload->drop)
        check_rules(context, &drop);
    if (offload->acknowledge)
        check_rules(context, &acknowledge);
}
