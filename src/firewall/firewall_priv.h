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

/* The sets of blocked hosts. */
#define SET_BLOCKED4 "blocked_ipv4"
#define SET_BLOCKED6 "blocked_ipv6"

/* Counters of offloaded flows, and the flowtable. */
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
    bool ours;             /* created by sluice, according to its comment */
    bool dormant;          /* its chains are detached from their hooks */
    enum attach_mode mode; /* if ours */
};

struct survey_chain {
    uint32_t family;
    char table[NAME_SIZE], name[NAME_SIZE];
    bool base, filter; /* attached to a hook; with type filter */
    bool drops;        /* the policy is drop */
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
/* Whether the chain handles marks of packets with a verdict; whether the chain is one that Sluice puts into its tables.
 */
bool nft_survey_handles_marks(const struct survey_chain *chain);
bool nft_survey_is_own_chain(const struct survey_chain *chain);

/* The names of the chains in the sluice tables. */
enum { NFT_OWN_CHAINS = 12 };
const char *nft_own_chain(unsigned index);

/* --- Ruleset to install (plan.c) -------------------------------------------------------------------- */

enum plan_rule {
    RULE_REJECT_MARK, /* packets that Sluice sends (reject) are not inspected */
    RULE_LOOPBACK_IN,
    RULE_LOOPBACK_OUT,
    RULE_EXCEPTIONS,  /* mode chain: jump to the chain of the user first */
    RULE_BLOCK4_FROM, /* packets from and to blocked hosts */
    RULE_BLOCK4_TO,
    RULE_BLOCK6_FROM,
    RULE_BLOCK6_TO,
    RULE_OFFLOAD_DROP,
    RULE_OFFLOAD_FLOW, /* adds the flow to the flowtable */
    RULE_OFFLOAD_ACCEPT,
    RULE_QUEUE,
    RULE_SAVE_DROP, /* copies the packet mark to the connection mark */
    RULE_SAVE_ACCEPT,
    RULE_SAVED_DROP, /* whether it was saved or not: for a packet without a connection, the previous rule ends at the ct
                        expression */
    RULE_SAVED_ACCEPT,
    RULE_ACCEPT, /* mode chain, quiesced */
    RULE_UNMARK, /* mode repeat: the mark is not for later chains and other programs */
    RULE_KINDS,
};

struct plan_chain {
    const char *name;
    bool base;
    bool keep; /* its rules belong to the user */
    bool unmarks, saves;
    uint32_t hook;
    int32_t priority;
    enum plan_rule rules[PLAN_RULES];
    unsigned rule_count;
};

struct plan {
    const struct firewall_options *options;
    enum queue_expression expression; /* native or xt */
    uint32_t families[PLAN_FAMILIES]; /* NFPROTO_*: inet becomes two where the kernel does not support it in one */
    unsigned family_count;
    bool has_set[PLAN_FAMILIES][2]; /* by family and IP version: the sets of blocked hosts that exist already */
    struct plan_chain chains[PLAN_CHAINS];
    unsigned chain_count;
};

/* Fills the plan. `survey` may be NULL: then the default priorities apply. */
void nft_plan_make(struct plan *plan, const struct firewall_options *options, const struct survey *survey);
/* Splits inet into two tables, ip and ip6. */
void nft_plan_split(struct plan *plan);

/* Returns the priority of a base chain of Sluice on a hook. */
int32_t nft_choose_priority(const struct firewall_options *options, uint32_t hook, const struct survey *survey);

/* --- Rules as text and as netlink messages (rule.c), printing (print.c) ----------------------------- */

struct nftnl_rule;

int nft_rule_build(struct nftnl_rule *rule, enum plan_rule kind, const struct plan *plan);
void nft_rule_print(struct text *out, enum plan_rule kind, const struct plan *plan);
/* Prints the rule as arguments of iptables-restore; false when iptables has no such rule. */
bool nft_rule_print_iptables(struct text *out, enum plan_rule kind, const struct plan *plan);

/* Whether tables of that family have the rule: rules on blocked hosts are for one IP version. */
bool nft_rule_fits(enum plan_rule kind, uint32_t family);

void nft_plan_print(struct text *out, const struct plan *plan);
void nft_plan_print_iptables(struct text *out, const struct plan *plan);

/* The comment that identifies the sluice tables. */
void nft_comment(char out[COMMENT_SIZE], enum attach_mode mode);
bool nft_comment_parse(const char *comment, enum attach_mode *mode);

/* --- Sets of blocked hosts (blocklist_set.c) -------------------------------------------------------- */

/* The sets have index 0 (IPv4) and 1 (IPv6). */
const char *nft_set_name(unsigned index);
bool nft_set_fits(unsigned index, uint32_t family);
void nft_set_print(struct text *out, const char *indent, unsigned index, const struct plan *plan);
/* Add messages that create the sets that the plan needs and that do not exist, or (gone) delete existing sets that the
 * plan does not need. */
int nft_build_sets(struct batch *batch, unsigned family_index, const struct plan *plan);
int nft_build_set_removals(struct batch *batch, unsigned family_index, const struct plan *plan);
/* Returns 0, -ENOENT, or another -errno. */
int nft_set_find(struct session *session, uint32_t family, const char *table, unsigned index);

/* --- Counters and flowtable of offloaded flows (offload.c) ------------------------------------------ */

void nft_offload_print(struct text *out, const char *indent, const struct plan *plan);
/* Adds the messages whether the objects exist or not. */
int nft_build_offload(struct batch *batch, unsigned family_index, const struct plan *plan);

struct offload_counts {
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes;
};
/* Adds up the counters of the tables; missing counters count as 0. */
int nft_offload_counts(struct session *session, const char *table, const uint32_t *families, unsigned count,
                       struct offload_counts *out);

/* --- Blocked hosts (blocklist.c) -------------------------------------------------------------------- */

enum { BLOCKLIST_GROUP = 64 }; /* hosts in one transaction */

/* The families of the tables that have the sets, by IP version. */
struct set_targets {
    const char *table;
    uint32_t families[2][PLAN_FAMILIES];
    unsigned count[2];
};
int nft_hosts_each(struct session *session, const struct set_targets *targets, blocklist_each_function *each,
                   void *user);
/* Returns 0 with *found, -ENOENT, or another -errno. */
int nft_host_find(struct session *session, uint32_t family, const char *table, const struct blocked_host *host,
                  struct blocked_host *found);
/* `may_be_there`: some of the hosts may be blocked already; their timeouts start again. */
int nft_hosts_add(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                  size_t count, bool may_be_there, enum subject *subject);

/* The result of probing the kernel for an installation, and the families of its tables. */
struct installed {
    bool known;
    enum queue_expression expression;
    uint32_t families[PLAN_FAMILIES];
    unsigned family_count;
};
/* firewall_install() on an open session. Known results are not probed again: a probe is an aborted transaction or two,
 * each of which takes the kernel some milliseconds. */
int nft_install(struct session *session, const struct firewall_options *options, struct installed *installed,
                char error[FIREWALL_ERROR_SIZE]);

/* Whether a filter chain of another program at priority `theirs` is on the wrong side of Sluice's base chain at `ours`:
 * see plan.c. */
bool nft_is_misplaced(const struct firewall_options *options, uint32_t family, uint32_t hook, int32_t theirs,
                      int32_t ours);

/* --- Messages (build.c) and error texts (explain.c) ------------------------------------------------- */

int nft_build_delete_table(struct batch *batch, uint32_t family, const char *table);
/* Replaces a table whether it exists or not: new, delete, new. */
int nft_build_tables(struct batch *batch, const struct plan *plan);
/* Replaces the rules of existing chains. */
int nft_build_rule_replacement(struct batch *batch, const struct plan *plan);
int nft_build_flush_chain(struct batch *batch, uint32_t family, const char *table, const char *chain);
int nft_build_rule(struct batch *batch, uint32_t family, const char *chain, enum plan_rule kind,
                   const struct plan *plan);
/* Builds a table of another name with one chain without hook, for a validation that changes nothing. */
int nft_build_probe(struct batch *batch, const struct plan *plan);

/* Sets plan->expression and the families to what the kernel supports. */
int nft_probe(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE]);

const char *nft_hook_name(uint32_t hook); /* "forward" for NF_INET_FORWARD; NULL for a hook without a chain of Sluice */
const char *nft_family_name(uint32_t family); /* "inet" for NFPROTO_INET */
int nft_check_options(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE]);
int nft_fail(char error[FIREWALL_ERROR_SIZE], int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int nft_explain(char error[FIREWALL_ERROR_SIZE], int err, enum subject subject, const char *table);

#endif
