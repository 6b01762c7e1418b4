/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the firewall module: the netlink session, the live ruleset (survey), the ruleset to install (plan), rules
 * as text and as netlink messages, and the batch that sends them to the kernel.
 */
#ifndef SLUICE_FIREWALL_PRIV_H
#define SLUICE_FIREWALL_PRIV_H

#include "sluice/blocklist.h"
#include "sluice/firewall.h"
#include "sluice/firewall_watch.h"

#include "session.h"

enum {
    NAME_SIZE = 256,    /* NFT_NAME_MAXLEN of the kernel */
    COMMENT_SIZE = 129, /* NFTNL_UDATA_COMMENT_MAXLEN and the NUL */
    PLAN_CHAINS = 8,
    PLAN_RULES = 12,
    PLAN_FAMILIES = 2,
};

/* The names of the sets of blocked hosts. */
#define SET_BLOCKED4 "blocked_ipv4"
#define SET_BLOCKED6 "blocked_ipv6"

/* The names of the counters of offloaded flows, and of the flowtable. */
#define COUNTER_ACCEPTED "offload_accepted"
#define COUNTER_DROPPED "offload_dropped"
#define FLOWTABLE "offload"

#define CHAIN_IPS "sluice_ips"
#define CHAIN_EXCEPTIONS "sluice_exceptions"
#define CHAIN_UNMARK "unmark"
#define CHAIN_UNMARK_INPUT "unmark_input"
#define CHAIN_SAVE_FORWARD "save_forward"
#define CHAIN_SAVE_INPUT "save_input"
#define CHAIN_SAVE_OUTPUT "save_output"
#define CHAIN_SAVE "sluice_save"
#define CHAIN_SAVE_LOCAL "sluice_save_input"

/* --- Live ruleset (survey.c) ------------------------------------------------------------------------ */

struct survey_table {
    uint32_t family;
    char name[NAME_SIZE];
    bool ours;             /* the table was created by Sluice, according to its comment */
    bool dormant;          /* the chains of the table are detached from their hooks */
    enum attach_mode mode; /* the mode that the comment of a sluice table names */
};

struct survey_chain {
    uint32_t family;
    char table[NAME_SIZE], name[NAME_SIZE];
    bool base, filter; /* `base`: attached to a hook; `filter`: of type filter */
    bool drops;        /* the policy of the chain is drop */
    uint32_t hook;
    int32_t priority;
};

struct survey {
    uint32_t generation;
    struct survey_table *tables;
    size_t table_count;
    struct survey_chain *chains;
    size_t chain_count;
};

int nft_survey_read(struct survey *survey, struct session *session);
void nft_survey_clear(struct survey *survey);
const struct survey_table *nft_survey_find(const struct survey *survey, uint32_t family, const char *name);
/* nft_survey_handles_marks(): whether the chain handles marks of packets that have a verdict.
 * nft_survey_is_own_chain(): whether Sluice creates a chain of this name in its tables. */
bool nft_survey_handles_marks(const struct survey_chain *chain);
bool nft_survey_is_own_chain(const struct survey_chain *chain);

/* Returns the name of a chain that Sluice creates; `index` is less than NFT_OWN_CHAINS. */
enum { NFT_OWN_CHAINS = 12 };
const char *nft_own_chain(unsigned index);

/* --- Ruleset to install (plan.c) -------------------------------------------------------------------- */

enum plan_rule {
    RULE_REJECT_MARK, /* accepts the packets of `reject`, which have Sluice's mark */
    RULE_LOOPBACK_IN,
    RULE_LOOPBACK_OUT,
    RULE_EXCEPTIONS,  /* mode chain: jump to the chain of exceptions, which belongs to the user */
    RULE_BLOCK4_FROM, /* these four drop packets from and to blocked hosts */
    RULE_BLOCK4_TO,
    RULE_BLOCK6_FROM,
    RULE_BLOCK6_TO,
    RULE_OFFLOAD_DROP,
    RULE_OFFLOAD_FLOW, /* adds the flow of the packet to the flowtable */
    RULE_OFFLOAD_ACCEPT,
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
    bool keep;           /* the rules of the chain belong to the user, and stay */
    bool unmarks, saves; /* true: the chain clears the mark of mode repeat; saves packet marks to connections */
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
    /* By index of the family and IP version: true if the set of blocked hosts exists already. */
    bool has_set[PLAN_FAMILIES][2];
    struct plan_chain chains[PLAN_CHAINS];
    unsigned chain_count;
};

/* Fills the plan. `survey`: the live ruleset; NULL: chooses the default priorities. */
void nft_plan_make(struct plan *plan, const struct firewall_options *options, const struct survey *survey);
/* Replaces the family inet of the plan by two: ip and ip6. */
void nft_plan_split(struct plan *plan);

/* Returns the priority for a base chain of Sluice on a hook; `survey` as in nft_plan_make(). */
int32_t nft_choose_priority(const struct firewall_options *options, uint32_t hook, const struct survey *survey);

/* --- Rules as text and as netlink messages (rule.c), printing (print.c) ----------------------------- */

struct nftnl_rule;

int nft_rule_build(struct nftnl_rule *rule, enum plan_rule kind, const struct plan *plan);
void nft_rule_print(struct text *out, enum plan_rule kind, const struct plan *plan);
/* Prints the rule as arguments of iptables-restore. Returns false when iptables has no such rule. */
bool nft_rule_print_iptables(struct text *out, enum plan_rule kind, const struct plan *plan);

/* Whether tables of that family contain the rule: rules for blocked hosts are for one IP version. */
bool nft_rule_fits(enum plan_rule kind, uint32_t family);

void nft_plan_print(struct text *out, const struct plan *plan);
void nft_plan_print_iptables(struct text *out, const struct plan *plan);

/* Writes the comment that identifies a sluice table of the mode. */
void nft_comment(char out[COMMENT_SIZE], enum attach_mode mode);
bool nft_comment_parse(const char *comment, enum attach_mode *mode);

/* --- Sets of blocked hosts (blocklist_set.c) -------------------------------------------------------- */

/* Returns the name of a set of blocked hosts; index 0: IPv4, 1: IPv6. */
const char *nft_set_name(unsigned index);
bool nft_set_fits(unsigned index, uint32_t family);
void nft_set_print(struct text *out, const char *indent, unsigned index, const struct plan *plan);
/* Add messages for the sets of blocked hosts: nft_build_sets() creates sets that the plan needs and that do not exist;
 * nft_build_set_removals() deletes existing sets that the plan does not need. Return 0 or -errno. */
int nft_build_sets(struct batch *batch, unsigned family_index, const struct plan *plan);
int nft_build_set_removals(struct batch *batch, unsigned family_index, const struct plan *plan);
/* Returns 0 if the set exists, -ENOENT if not, or another -errno. */
int nft_set_find(struct session *session, uint32_t family, const char *table, unsigned index);

/* --- Counters and flowtable of offloaded flows (offload.c) ------------------------------------------ */

void nft_offload_print(struct text *out, const char *indent, const struct plan *plan);
/* Adds the messages that create the counters and the flowtable, which may exist already. Returns 0 or -errno. */
int nft_build_offload(struct batch *batch, unsigned family_index, const struct plan *plan);

struct offload_counts {
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes;
};
/* Adds up the counters of offloaded flows in the tables of all families; missing counters count as 0. Returns 0 or
 * -errno. */
int nft_offload_counts(struct session *session, const char *table, const uint32_t *families, unsigned count,
                       struct offload_counts *out);

/* --- Blocked hosts (blocklist.c) -------------------------------------------------------------------- */

enum { BLOCKLIST_GROUP = 64 }; /* maximum number of hosts in one transaction */

/* For each IP version (0: IPv4, 1: IPv6) the families of the tables that have a set of blocked hosts. */
struct set_targets {
    const char *table;
    uint32_t families[2][PLAN_FAMILIES];
    unsigned count[2];
};
int nft_hosts_each(struct session *session, const struct set_targets *targets, blocklist_each_function *each,
                   void *user);
/* Returns 0 with the blocked host in *found, -ENOENT if it is not blocked, or another -errno. */
int nft_host_find(struct session *session, uint32_t family, const char *table, const struct blocked_host *host,
                  struct blocked_host *found);
/* Blocks hosts. `may_be_there`: some of them may be blocked already; their timeouts start again. Returns 0, or -errno
 * with the kind of the failed object in *subject. */
int nft_hosts_add(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                  size_t count, bool may_be_there, enum subject *subject);

/* The result of probing the kernel for an installation: the expression and the families that it supports. `known`
 * false: the kernel was not probed yet. */
struct installed {
    bool known;
    enum queue_expression expression;
    uint32_t families[PLAN_FAMILIES];
    unsigned family_count;
};
/* Does firewall_install() on an open session. Uses *installed if it is known, because a probe needs one or two aborted
 * transactions, each of which takes the kernel some milliseconds. */
int nft_install(struct session *session, const struct firewall_options *options, struct installed *installed,
                char error[FIREWALL_ERROR_SIZE]);

/* Whether a filter chain of another program at priority `theirs` is on the wrong side of Sluice's base chain at `ours`:
 * plan.c defines the sides. */
bool nft_is_misplaced(const struct firewall_options *options, uint32_t family, uint32_t hook, int32_t theirs,
                      int32_t ours);

/* --- Messages (build.c) and error texts (explain.c) ------------------------------------------------- */

int nft_build_delete_table(struct batch *batch, uint32_t family, const char *table);
/* Adds messages that replace the tables, whether they exist or not: create, delete, create. Returns 0 or -errno. */
int nft_build_tables(struct batch *batch, const struct plan *plan);
/* Adds messages that replace the rules of existing chains. Returns 0 or -errno. */
int nft_build_rule_replacement(struct batch *batch, const struct plan *plan);
int nft_build_flush_chain(struct batch *batch, uint32_t family, const char *table, const char *chain);
int nft_build_rule(struct batch *batch, uint32_t family, const char *chain, enum plan_rule kind,
                   const struct plan *plan);
/* Adds messages for a table of another name with one chain without a hook, to validate the queue rule without changing
 * the ruleset. Returns 0 or -errno. */
int nft_build_probe(struct batch *batch, const struct plan *plan);

/* Sets plan->expression and plan->families to what the kernel supports. Returns 0, or -errno with a line in `error`. */
int nft_probe(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE]);

const char *nft_hook_name(uint32_t hook); /* "forward" for NF_INET_FORWARD; NULL for a hook without a chain of Sluice */
const char *nft_family_name(uint32_t family); /* "inet" for NFPROTO_INET */
int nft_check_options(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE]);
int nft_fail(char error[FIREWALL_ERROR_SIZE], int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int nft_explain(char error[FIREWALL_ERROR_SIZE], int err, enum subject subject, const char *table);

#endif
