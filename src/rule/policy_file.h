/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reader of the files of the rule policy.
 *
 * Ownership: texts of the lines are in the arena of the list; policy_lines_clear() frees the rest.
 */
#ifndef SLUICE_RULE_POLICY_FILE_H
#define SLUICE_RULE_POLICY_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "sluice/diag.h"
#include "sluice/rule.h"

#include "source.h"

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
    POLICY_MATCH_IDS,     /* the line lists gid, sid and revision; see struct policy_lines.ids */
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

/* A rule that a policy line names. */
struct policy_id {
    uint32_t gid, sid, revision;
    bool has_revision;
    uint32_t line;
};

/* Initialise it with zeros. */
struct policy_lines {
    struct policy_line *line; /* in the order in which they are applied */
    size_t count, capacity;
    struct policy_id *ids; /* in the order of the lines */
    size_t id_count, id_capacity;
};

/* Appends the lines of the files. A line with a mistake, and a file that cannot be read, are reported in `diag` and
 * skipped. Returns 0 or -ENOMEM. */
int policy_files_read(struct rule_list *list, const struct rule_policy_files *files, struct policy_lines *out,
                      struct diag *diag);
void policy_lines_clear(struct policy_lines *lines);

#endif
