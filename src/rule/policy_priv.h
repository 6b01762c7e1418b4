/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule policy: lines of files that enable, disable and change rules while they are read.
 *
 *   policy_file.c       parses the lines of the files into struct policy_line
 *   policy_apply.c      applies the lines to the text of a rule
 *   policy_flowbits.c   finds flow bits that no enabled rule sets
 *
 * The policy acts on the text of a rule before the parser sees it, so a disabled rule needs no memory and reports no
 * mistakes.
 */
#ifndef SLUICE_RULE_POLICY_PRIV_H
#define SLUICE_RULE_POLICY_PRIV_H

#include "policy_file.h"
#include "rule_priv.h"

struct rule_policy {
    struct rule_list *list;
    struct policy_lines lines; /* the ids are sorted by gid, sid, line */
    uint32_t *patterns;        /* indexes of the lines that are not POLICY_MATCH_IDS, ascending */
    size_t pattern_count;

    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack; /* stack of PCRE2's JIT code; NULL if PCRE2 is built without JIT */

    /* Scratch for the current rule. */
    uint32_t *applied; /* indexes of the lines that match the rule; allocated for lines.count entries */
    size_t applied_count;
    struct text text, changed;

    struct rule_policy_counts counts;
    /* rules that are disabled by the policy, or commented out; sorted by gid and sid in rule_policy_finish() */
    struct rule_disabled *disabled;
    size_t disabled_count, disabled_capacity;
};

/* Removes the next option from `rest`, the text between the parentheses of a rule, and sets its name and value. Returns
 * false at the end of the text. */
bool policy_next_option(struct span *rest, struct span *name, struct span *value);

/* Warns about rules that test a flow bit which only disabled rules set. Returns 0 or -ENOMEM. */
int policy_check_flowbits(struct rule_policy *policy, struct diag *diag);

#endif
