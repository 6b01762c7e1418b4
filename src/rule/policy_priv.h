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
    POLICY_MATCH_IDS,     /* the line lists gid, sid and revision; see struct rule_policy.ids */
    POLICY_MATCH_TEXT,    /* re: regular expression over the text of the rule */
    POLICY_MATCH_MESSAGE, /* msg: regular expression over the message */
    POLICY_MATCH_CLASS,   /* classtype: name of the class */
    POLICY_MATCH_PATH,    /* filename: glob for the path of the rule file */
    POLICY_MATCH_GROUP,   /* group: glob for the name of the rule file */
    POLICY_MATCH_METADATA,
};

/* A part of the replacement of a modify line: literal text, or the text of a capture group of line->from. */
struct policy_piece {
    struct span text;
    uint32_t group; /* number of the capture group; used if text.at is NULL */
};

struct policy_line {
    const struct statement *statement;
    enum policy_verb verb;
    enum rule_action action; /* new action of the rules, for POLICY_ACTION */
    enum policy_match match;
    pcre2_code *pattern; /* expression that the rule must match: POLICY_MATCH_TEXT, POLICY_MATCH_MESSAGE */
    const char *name;    /* by `match`: name of the class, glob, or metadata key */
    const char *value;   /* metadata value: POLICY_MATCH_METADATA */
    pcre2_code *from;    /* expression whose matches are replaced: POLICY_MODIFY */
    struct policy_piece *to;
    size_t piece_count;
    const char *metadata; /* POLICY_ADD_METADATA: "KEY VALUE" */

    size_t matched;        /* number of rules that the line matches */
    size_t loaded;         /* number of matched rules that are enabled in the end */
    size_t changed;        /* number of rules that the line changed */
    size_t silent;         /* number of rules with noalert, which the line therefore did not change to drop or reject */
    size_t over_limit;     /* number of rules for which an expression of the line exceeded PCRE2's match limit */
    struct position first; /* position of the first rule that the line matches */
};

/* A rule that a policy line names; rule_policy.ids is sorted by gid, sid, line. */
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
    uint32_t *patterns; /* indexes of the lines that are not POLICY_MATCH_IDS, ascending */
    size_t pattern_count;

    pcre2_match_data *match;
    pcre2_match_context *limits;
    pcre2_jit_stack *stack; /* stack of PCRE2's JIT code; NULL if PCRE2 is built without JIT */

    /* Scratch for the current rule. */
    uint32_t *applied; /* indexes of the lines that match the rule; allocated for line_count entries */
    size_t applied_count;
    struct text text, changed;

    struct rule_policy_counts counts;
    /* rules that the policy or a comment disables; sorted by gid and sid in rule_policy_finish() */
    struct rule_disabled *disabled;
    size_t disabled_count, disabled_capacity;
};

/* Reads the files of the list's options into policy->lines and policy->ids. Returns 0 or -ENOMEM; mistakes are in the
 * diag. */
int policy_files_read(struct rule_policy *policy, struct diag *diag);

/* Removes the next option from `rest`, the text between the parentheses of a rule, and sets its name and value. Returns
 * false at the end of the text. */
bool policy_next_option(struct span *rest, struct span *name, struct span *value);

/* Warns about rules that test a flow bit which only disabled rules set. Returns 0 or -ENOMEM. */
int policy_check_flowbits(struct rule_policy *policy, struct diag *diag);

#endif
