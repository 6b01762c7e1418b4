/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ruleset to install: which chains with which rules, and at which priorities, by the options and the live ruleset.
 * A plan is made without the kernel.
 *
 * Ownership: a plan allocates no memory; it refers to the options.
 */
#ifndef SLUICE_FIREWALL_PLAN_H
#define SLUICE_FIREWALL_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/firewall.h"

#include "survey.h"

enum { PLAN_CHAINS = 8, PLAN_RULES = 16, PLAN_FAMILIES = 2, BLOCK_SETS = 4 };

enum plan_rule {
    RULE_REJECT_MARK, /* accepts the packets of `reject`, which have Sluice's mark */
    RULE_LOOPBACK_IN,
    RULE_LOOPBACK_OUT,
    RULE_EXCEPTIONS,  /* mode chain: jump to the chain of exceptions, which belongs to the user */
    RULE_BLOCK4_FROM, /* these four drop packets from and to blocked hosts */
    RULE_BLOCK4_TO,
    RULE_BLOCK6_FROM,
    RULE_BLOCK6_TO,
    RULE_NETWORKS4_FROM, /* these four drop packets from and to blocked networks */
    RULE_NETWORKS4_TO,
    RULE_NETWORKS6_FROM,
    RULE_NETWORKS6_TO,
    RULE_OFFLOAD_DROP,
    RULE_OFFLOAD_FLOW, /* adds the flow of the packet to the flowtable */
    RULE_OFFLOAD_ACCEPT,
    RULE_ACKNOWLEDGE4, /* these two accept acknowledgments of marked connections */
    RULE_ACKNOWLEDGE6,
    RULE_QUEUE,
    RULE_SAVE_DROP, /* copies the drop mark of the packet to the connection */
    RULE_SAVE_ACCEPT,
    /* Drops packets with the drop mark. Not part of RULE_SAVE_DROP, because that rule ends at its ct expression if the
     * packet has no connection. */
    RULE_SAVED_DROP,
    RULE_SAVED_ACCEPT, /* clears the accept mark of the packet */
    RULE_ACCEPT,       /* only in mode chain, quiesced: accepts all packets */
    RULE_UNMARK,       /* mode repeat: clears the mark, so that later chains and other programs do not see it */
    RULE_KINDS,
};

struct plan_chain {
    const char *name;
    bool base;
    bool keep; /* the rules of the chain belong to the user, and stay */
    /* `unmarks`: the chain clears the mark of mode repeat; `saves`: it saves packet marks to connections. */
    bool unmarks, saves;
    uint32_t hook;
    int32_t priority;
    enum plan_rule rules[PLAN_RULES];
    unsigned rule_count;
};

struct plan {
    const struct firewall_options *options;
    enum queue_expression expression; /* native (nft queue) or xt (NFQUEUE target) */
    /* NFPROTO_*: inet, or ip and ip6 if the kernel does not support the xt target in inet. */
    uint32_t families[PLAN_FAMILIES];
    unsigned family_count;
    /* By index of the family and of the set (nft_set_name()): true if the set exists already. */
    bool has_set[PLAN_FAMILIES][BLOCK_SETS];
    struct plan_chain chains[PLAN_CHAINS];
    unsigned chain_count;
};

/* Fills the plan. `survey`: the live ruleset; NULL: chooses the default priorities. */
void nft_plan_make(struct plan *plan, const struct firewall_options *options, const struct survey *survey);
/* Replaces the family inet of the plan by two: ip and ip6. */
void nft_plan_split(struct plan *plan);

/* Returns the priority for a base chain of Sluice on a hook; `survey` as in nft_plan_make(). */
int32_t nft_choose_priority(const struct firewall_options *options, uint32_t hook, const struct survey *survey);

/* Whether a filter chain of another program at priority `theirs` is on the wrong side of Sluice's base chain at `ours`:
 * plan.c defines the sides. */
bool nft_is_misplaced(const struct firewall_options *options, uint32_t family, uint32_t hook, int32_t theirs,
                      int32_t ours);

#endif
