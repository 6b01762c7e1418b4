/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rule policy: lines of files that enable, disable and change rules while they are read.
 *
 *   policy_file.c       from lines to decisions
 *   policy_apply.c      from decisions to the text of a rule
 *   policy_flowbits.c   flow bits that no rule sets any more
 *
 * The policy acts on the text of a rule before the parser sees it, so a disabled rule needs no memory and reports no
 * mistakes.
 */
#ifndef SLUICE_RULE_POLICY_PRIV_H
#define SLUICE_RULE_POLICY_PRIV_H

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "rule_priv.h"

enum { POLICY_MAX_GROUPS = 99 };

enum policy_verb {
    POLICY_DISABLE,
    POLICY_ENABLE,
    POLICY_ACTION, /* drop, reject, alert, pass */
    POLICY_ALERT_ONLY,
    POLICY_MODIFY,
    POLICY_ADD_METADATA,
};

enum policy_match {
    POLICY_MATCH_ALL,
    POLICY_MATCH_IDS,     /* found by struct rule_policy.ids */
    POLICY_MATCH_TEXT,    /* re: */
    POLICY_MATCH_MESSAGE, /* msg: */
    POLICY_MATCH_CLASS,   /* classtype: */
    POLICY_MATCH_PATH,    /* filename: */
    POLICY_MATCH_GROUP,   /* group: */
    POLICY_MATCH_METADATA,
};

/* A part of the replacement of a modify line: text, or a group of its expression. */
struct policy_piece {
    struct span text;
    uint32_t group; /* if text.at is NULL */
};

struct policy_line {
    const struct statement *statement;
    enum policy_verb verb;
    enum rule_action action; /* POLICY_ACTION */
    enum policy_match match;
    pcre2_code *pattern; /* POLICY_MATCH_TEXT, POLICY_MATCH_MESSAGE */
    const char *name;    /* the class, the glob, or the key of the metadata */
    const char *value;   /* POLICY_MATCH_METADATA */
    pcre2_code *from;    /* POLICY_MODIFY */
    struct policy_piece *to;
    size_t piece_count;
    const char *metadata; /* POLICY_ADD_METADATA: "KEY VALUE" */

    size_t matched;        /* rules that it matches */
    size_t loaded;         /* matched rules that the policy leaves enabled */
    size_t changed;        /* rules that it changed */
    size_t silent;         /* rules with noalert that it did not change to drop or reject */
    size_t over_limit;     /* rules for which an expression exceeded the match limit */
    struct position first; /* the first rule that it matches */
};

/* A rule that a line names; ordered by gid, sid, line. */
struct policy_id {
    uint32_t gid, sid, revision;
    bool has_revision;
    uint32_t line;
};

struct rule_policy {
    struct rule_list *list;
    struct policy_line *lines; /* in the order in which they are applied */
    size_t line_count, line_capacity;
    struct policy_id *ids;
    size_t id_count, id_capacity;
    uint32_t *patterns; /* lines that match by anything else than ids, ascending */
    size_t pattern_count;

    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack; /* NULL if PCRE2 has no JIT */

    /* Scratch for the current rule. */
    uint32_t *applied; /* lines that match the rule; room for line_count */
    size_t applied_count;
    struct text text, changed;

    struct rule_policy_counts counts;
    struct rule_disabled *disabled; /* after rule_policy_finish(): ordered by gid, sid */
    size_t disabled_count, disabled_capacity;
};

/* Reads the files of the list's options into policy->lines and policy->ids. Returns 0 or -ENOMEM; mistakes are in the
 * diag. */
int policy_files_read(struct rule_policy *policy, struct diag *diag);

/* Removes the next option from `rest`, the text between the parentheses of a rule; false at its end. */
bool policy_next_option(struct span *rest, struct span *name, struct span *value);

/* Warns about rules that test flow bits that only disabled rules set. Returns 0 or -ENOMEM. */
int policy_check_flowbits(struct rule_policy *policy, struct diag *diag);

#endif
