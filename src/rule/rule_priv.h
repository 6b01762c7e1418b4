/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private parts of the rule module, from a file's bytes to the rules of a list:
 *
 *   source.c         files, statements (lines and their continuations), positions for diagnostics
 *   map.c            hash table from text to pointers
 *   ranges.c         sorted ranges of numbers: union and difference
 *   set.c            grammar of groups, negation and variables, for addresses and ports
 *   address_set.c    addresses; port_set.c  ports
 *   header.c         actions, scopes, hooks; protocol.c  protocols
 *   parser.c         one rule; builder.c  functions that keywords call while a rule is parsed
 *   plausibility.c   warnings about a missing ';' and about rules that drop everything
 *   applications.c   application protocols and directions of a rule
 *   requires.c       `requires`: versions, features and keywords that a rule needs
 *   keyword_table.c  keywords by name; known_keywords.c  keywords of Suricata and Snort that are not supported
 */
#ifndef SLUICE_RULE_PRIV_H
#define SLUICE_RULE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/arena.h"
#include "sluice/diag.h"
#include "sluice/keyword.h"
#include "sluice/rule.h"
#include "sluice/text.h"

#include "source.h"
#include "map.h"
#include "set.h"
#include "known_keywords.h"
#include "class_config.h"
#include "threshold_config.h"

/* --- Header --------------------------------------------------------------------------------------- */

struct rule_parser;

/* Parses an action. Returns 0, -EINVAL, or -ENOTSUP for an action that only Suricata or Snort supports; *hint is then a
 * suggested replacement, or NULL. */
int action_parse(struct span word, enum rule_action *out, const char **hint);
/* Parses the first word of a rule, actions with their scopes, and the part of the protocol behind the `:`, a hook.
 * Mistakes are reported. */
void actions_parse(struct rule_parser *parser, struct span words);
void hook_parse(struct rule_parser *parser, struct span name);
/* Called after the options of a firewall rule: reports what a firewall rule needs, and what it can't have. */
void firewall_rule_check(struct rule_parser *parser);
/* Reports conditions that a rule with the hook pre_flow or pre_stream can't have. */
void early_rule_check(struct rule_parser *parser);

enum protocol_result { PROTOCOL_OK, PROTOCOL_NOT_SUPPORTED, PROTOCOL_UNKNOWN };
enum protocol_result protocol_parse(struct span word, const char *const *applications, struct rule_protocol *out);
const char *protocol_nearest(struct span word); /* returns NULL if no name is similar */

/* --- The rule policy ------------------------------------------------------------------------------ */

struct rule_policy;

/* The result of applying the policy to a rule. */
struct rule_decision {
    struct statement statement; /* a copy of the original statement, with the text as the policy changed it */
    bool enabled, alert_only, changed;
    bool comment; /* true: the statement is a comment that is not a disabled rule */
    struct rule_change *changes;
};

/* Reads the policy files of the list's options. Returns 0 or -ENOMEM. Mistakes are reported in the diag. */
int rule_policy_new(struct rule_policy **out, struct rule_list *list, struct diag *diag);
void rule_policy_free(struct rule_policy *policy);
/* Applies the policy to a statement of a rule file. Returns 0 or -ENOMEM. */
int rule_policy_apply(struct rule_policy *policy, const struct statement *statement, struct rule_decision *out,
                      struct diag *diag);
/* Called after the last rule: reports policy lines without effect, and flow bits that rules test but only disabled
 * rules set. Returns 0 or -ENOMEM. */
int rule_policy_finish(struct rule_policy *policy, struct diag *diag);

/* --- Shared resources ----------------------------------------------------------------------------- */

/* Reads the reputation files. Returns 0 or -ENOMEM. */
int rule_resources_open(struct rule_list *list, struct diag *diag);
void rule_resources_close(struct rule_list *list);

/* --- List and parser ------------------------------------------------------------------------------ */

/* A rule of the list, with data that only this module uses. */
struct rule_entry {
    struct rule *rule;
    const struct statement *statement;
    struct span sid_text;
};

/* An unsupported feature or unknown keyword (`tag`), and the number of rules that were not loaded because of it. */
struct missing {
    const char *tag;
    const char *nearest; /* for an unknown keyword: the most similar name, or NULL */
    size_t rules;
    size_t last_statement; /* value of rule_list.statements at the last count, so that a rule is counted once */
};

struct rule_list {
    struct arena *arena;
    struct arena *texts; /* a cold arena: files, and parts of rules that only events, diagnostics and a reload read */
    struct rule_names *names;
    bool own_names, own_datasets, has_host_tags;
    struct reputation *reputation; /* NULL: none is configured */
    struct geoip *geoip;           /* NULL: not opened yet, or opening failed */
    struct script_set *scripts;    /* NULL: no rule has a script */
    bool geoip_failed;             /* true: opening failed and the cause was reported; it is not tried again */
    struct rule_list_options options;
    struct map classes, references; /* name -> struct rule_class, name -> struct reference_system */
    struct set_cache address_sets, port_sets;
    struct map missing;

    struct rule_entry *entries;
    size_t count, capacity, firewall_count;
    bool loads_firewall;  /* the rules of the current file are firewall rules */
    struct rule **by_sid; /* the loaded rules by sid, then gid; set by rule_list_finish() */
    size_t statements;    /* rules in the files, including rejected ones; see rule_list_read() */
    size_t failed, skipped, unmet, replaced, copies, unread_files;
    struct rule_failure *failures;
    size_t failure_count, failure_capacity;
    const char **files; /* real paths of the files that were loaded */
    size_t file_count, file_capacity;
    int64_t started, modified; /* see rule_list_started() and rule_list_modified() */
    bool finished;

    struct rule_policy *policy;

    struct threshold_lines threshold_lines;
    struct global_suppression *suppressions; /* suppressions with sig_id 0, one list per gid; sorted by gid */
    size_t suppression_count;
    struct threshold *suppressions_for_all;
    size_t threshold_count;
};

enum { RULE_REASON_SIZE = 256 };

/* Counts a rule or a file (line 0) that was not loaded, and stores the reason. Returns 0 or -ENOMEM. */
int rule_list_add_failure(struct rule_list *list, const struct rule_failure *failure);

enum { PARSER_MAX_ONCE = 64, PARSER_MAX_TRANSFORMS = 16, APPLICATIONS_MAX = 48 };

struct application_set {
    const char *names[APPLICATIONS_MAX];
    unsigned count;
};

/* A transform of a buffer. `value` is its value as written in the rule, by which same_transforms() compares
 * transforms. */
struct transform {
    struct condition condition; /* first member: rules refer to it */
    struct span value;
};

/* A statement being parsed: a rule, or a line of threshold.config (then `rule` is NULL). */
struct rule_parser {
    struct rule_list *list;
    struct diag *diag;
    const struct statement *statement;
    struct rule *rule;
    unsigned mistakes, unsupported;
    bool unmet; /* true: the rule needs a version, feature or keyword that Sluice does not have (`requires`) */
    /* the first mistake; without mistakes, the first unsupported feature, or the requirement that is not met */
    char reason[RULE_REASON_SIZE];
    bool out_of_memory;
    bool names_addresses; /* true: a side of the header lists addresses; see plausibility_names_addresses() */
    bool unusual_flags;   /* true: `tcp.flags` tests a flag other than those that occur in every connection */

    const struct keyword *keyword; /* the keyword that is being parsed */
    struct span keyword_name, keyword_value;
    bool negated; /* true: the keyword's value begins with `!` */
    struct span sid_text;
    struct span arrow; /* position of `->`, `<>` or `=>`, for error messages */

    struct rule_buffer *buffer;           /* the selected buffer; see current_buffer() in builder.c */
    struct condition *last_condition;     /* the content condition that was added last, in any buffer... */
    struct rule_buffer *condition_buffer; /* ...and its buffer */
    struct condition *last_content;       /* the last content, which modifiers may change... */
    struct rule_buffer *content_buffer;   /* ...and its buffer */
    struct condition *last_packet_condition;

    struct application_set applications; /* application protocols that the rule can still match; empty: any */
    bool has_application_keyword;
    /* directions that the keywords and `flow` still allow, as bits 1 << enum flow_direction */
    unsigned keyword_directions, flow_directions;
    /* direction that the current option names (`to_server` or `to_client`), as a bit; 0: none */
    unsigned forced_directions;
    unsigned used_directions; /* in rules with `=>`: directions of the keywords so far, as bits */

    struct span values[RULE_MAX_VALUES];
    unsigned value_count;
    const struct keyword *once[PARSER_MAX_ONCE];
    unsigned once_count;
};
void rule_parser_init(struct rule_parser *parser, struct rule_list *list, const struct statement *statement,
                      struct diag *diag);
/* Removes the next option from `rest`, the text of options. Returns false if there is none. Sets *terminated to whether
 * a `;` ends the option; without one, the option extends to the end of the text. */
bool rule_parser_next_option(struct span *rest, struct span *option, bool *terminated);
/* Evaluates the options `requires` of the statement. Returns 0 if they are met; 1 if not, with parser->reason; or
 * -EINVAL after reporting a mistake in one. */
int requires_check(struct rule_parser *parser);
/* Called when the transforms of the selected buffer are known: if the rule already has an equal buffer, removes the new
 * one and selects the earlier one. */
void rule_parser_settle_buffer(struct rule_parser *parser);

/* Called after the header (applications_start), for each keyword (applications_take), and at the end of the rule
 * (applications_finish). Contradicting protocols and directions are reported; then -errno is returned, otherwise 0. */
void applications_start(struct rule_parser *parser);
int applications_take(struct rule_parser *parser, const struct keyword *keyword);
int applications_finish(struct rule_parser *parser);
/* If the keyword may be in either direction, removes `to_server` or `to_client` from the start of its value and sets
 * forced_directions. Returns 0, or -errno after an error was reported. */
int applications_cut_direction(struct rule_parser *parser, struct span *value);
/* Returns the directions of a keyword in a rule with `=>`, as bits 1 << enum flow_direction, for struct rule_buffer and
 * conditions on transactions; 0 for other rules and for keywords of no application protocol. */
uint8_t applications_directions(const struct rule_parser *parser, const struct keyword *keyword);

/* Reports an option that became part of `value` because a ';' is missing. Returns -EINVAL for an error, otherwise 0. */
int plausibility_check_value(struct rule_parser *parser, struct span value);
/* Warns about a rule that drops all traffic of its header. */
void plausibility_check_rule(struct rule_parser *parser);
/* Returns whether an address field lists addresses, not only `any` and variables of networks such as $HOME_NET. */
bool plausibility_names_addresses(struct span word);

/* Reports an unknown keyword as a mistake, counted by `tag` like an unsupported feature. Returns -EINVAL. */
int rule_parser_unknown(struct rule_parser *parser, struct span where, const char *tag, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Returns the entry for a tag, or NULL if memory is exhausted. An unknown tag is added, and *fresh is set to true. */
struct missing *rule_list_missing(struct rule_list *list, const char *tag, bool *fresh);

/* Parses the statement as a rule; *out is written only if it has no mistake. Returns 0, -EINVAL or -ENOMEM. */
int rule_parse(struct rule_parser *parser, struct rule **out);

/* Returns the span, truncated to the maximum length of quoted text in messages. */
struct span span_shown(struct span span);

#endif
