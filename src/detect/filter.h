/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Firewall rules of a ruleset, and their evaluation.
 *
 * Threads:   a struct filter is immutable after its creation and shared by all workers.
 * Ownership: the ruleset owns it.
 */
#ifndef SLUICE_DETECT_FILTER_H
#define SLUICE_DETECT_FILTER_H

#include <stdbool.h>

#include "sluice/app.h"
#include "sluice/detect.h"
#include "ruleset_priv.h"

#define FILTER_EARLIER (UINT32_C(1) << 31)

/* The rules and the default policy of a hook. */
struct filter_hook {
    const char *name;
    uint8_t progress; /* hooks of protocols: progress from which on it is evaluated */
    struct filter_policy policy;
    /* Indices of the signatures, in the order of the files; FILTER_EARLIER is set if the rule has `<` before a later
     * hook. */
    struct signature_list rules;
};

/* The hooks of a direction of a protocol, in the order in which a transaction reaches them. */
struct filter_side {
    struct filter_hook *hooks;
    unsigned count;
    /* The hooks of each sub-state: indices from `first` to before `end`; [0]: of a protocol without sub-states. */
    struct filter_range {
        uint8_t first, end;
    } range[APP_MAX_SUB_STATES + 1];
};

struct filter {
    struct filter_hook packet[FILTER_PACKET_HOOKS];
    struct filter_side *sides; /* [id of the protocol * FLOW_DIRECTIONS + direction] */
};

/* Builds the filter of a ruleset whose signatures have their transaction plans. Returns 0 or -ENOMEM. */
int filter_new(struct filter **out, const struct ruleset *ruleset, const struct filter_policies *policies);
void filter_free(struct filter *filter); /* NULL is allowed */

/* Evaluate the rules of a packet hook, or of the hooks that the transactions of the packet's direction have reached.
 * Return false if the packet is dropped. The decision is in detector->filter. */
bool filter_packet(struct evaluation *ev, enum filter_packet_hook hook);
/* Evaluates the rules with the hook pre_flow or pre_stream that are no firewall rules. */
void filter_early_rules(struct evaluation *ev, enum filter_packet_hook hook);
/* Returns the packet hook of a rule. */
enum filter_packet_hook filter_packet_hook_of(const struct rule *rule);
bool filter_transactions(struct evaluation *ev);

#endif
