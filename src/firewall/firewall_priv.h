/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inside the firewall module: one netlink session, what the live ruleset holds (survey), what is to be there (plan),
 * the rules as text and as netlink side by side, and the batch that brings them into the kernel.
 */
#ifndef SLUICE_FIREWALL_PRIV_H
#define SLUICE_FIREWALL_PRIV_H

#include "sluice/blocklist.h"
#include "sluice/firewall.h"
#include "sluice/firewall_watch.h"

enum {
    NAME_SIZE = 256,    /* NFT_NAME_MAXLEN of the kernel */
    COMMENT_SIZE = 129, /* NFTNL_UDATA_COMMENT_MAXLEN and the NUL */
    PLAN_CHAINS = 8,
    PLAN_RULES = 12,
    PLAN_FAMILIES = 2,
    BATCH_SIZE = 128 * 1024,
    BATCH_MESSAGES = 512,
};

/* The sets of blocked hosts. */
#define SET_BLOCKED4 "blocked_ipv4"
#define SET_BLOCKED6 "blocked_ipv6"

/* Counters of flows that are offloaded, and the flowtable. */
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

/* --- Netlink session (netlink.c) ------------------------------------------------------------------ */

struct mnl_socket;
struct nlmsghdr;

struct session {
    struct mnl_socket *socket;
    uint32_t sequence;
};

int nft_session_open(struct session *session, char error[FIREWALL_ERROR_SIZE]);
void nft_session_close(struct session *session);

/* Requests a dump, or one object with `dump` false, and calls `each` for every answer. 0 or -errno; -EINTR when the
 * ruleset changed meanwhile. */
int nft_session_get(struct session *session, uint16_t type, uint16_t family, bool dump,
                    int (*each)(const struct nlmsghdr *message, void *user), void *user);

/* The same within one table, and there of one object: the attributes of the request. NULL names are left out. */
struct session_question {
    uint16_t type, family;
    bool dump;
    const char *table; /* attribute 1 of every kind of object */
    uint16_t name_attribute;
    const char *name;
};
int nft_session_ask(struct session *session, const struct session_question *question,
                    int (*each)(const struct nlmsghdr *message, void *user), void *user);
/* For the elements that are in `set`. */
struct nftnl_set;
int nft_session_ask_elements(struct session *session, uint16_t family, const struct nftnl_set *set,
                             int (*each)(const struct nlmsghdr *message, void *user), void *user);

/* Counter of the kernel that every change of the ruleset moves. */
int nft_session_generation(struct session *session, uint32_t *out);

/* What a message of a batch is about, so that an error can say it. */
enum subject {
    SUBJECT_BATCH,
    SUBJECT_TABLE,
    SUBJECT_CHAIN,
    SUBJECT_RULE,
    SUBJECT_QUEUE,
    SUBJECT_SET,
    SUBJECT_ELEMENT,
    SUBJECT_COUNTER,
    SUBJECT_FLOWTABLE
};

struct batch {
    uint32_t first; /* sequence number of the first message */
    unsigned count;
    size_t length;
    uint8_t subjects[BATCH_MESSAGES];
    char bytes[BATCH_SIZE];
};

/* Begins a transaction that fails with -ERESTART unless the ruleset is still that of `generation` (0: any). */
struct batch *nft_batch_new(struct session *session, uint32_t generation);
void nft_batch_free(struct batch *batch);
/* Room for one message is always there: a plan is small and bounded (asserted). */
struct nlmsghdr *nft_batch_open(struct batch *batch, enum subject subject, uint16_t type, uint16_t family,
                                uint16_t flags);
void nft_batch_close(struct batch *batch, const struct nlmsghdr *message);

/* Sends it: with `commit` false the kernel only validates, and forgets. 0 or -errno of the first message that failed,
 * then *subject says which. */
int nft_batch_send(struct session *session, struct batch *batch, bool commit, enum subject *subject);

/* --- What is there (survey.c) --------------------------------------------------------------------- */

struct survey_table {
    uint32_t family;
    char name[NAME_SIZE];
    bool ours;             /* made by sluice, by its comment */
    bool dormant;          /* its chains are off their hooks */
    enum attach_mode mode; /* if ours */
};

struct survey_chain {
    uint32_t family;
    char table[NAME_SIZE], name[NAME_SIZE];
    bool base, filter; /* attached to a hook; with type filter */
    bool drops;        /* by policy */
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

int nft_survey_take(struct survey *survey, struct session *session);
void nft_survey_clear(struct survey *survey);
const struct survey_table *nft_survey_find(const struct survey *survey, uint32_t family, const char *name);
/* Whether a chain of that name looks after marks of packets that have had their verdict, and whether it is one that we
 * put into our tables. */
bool nft_survey_tends_marks(const struct survey_chain *chain);
bool nft_survey_is_own_chain(const struct survey_chain *chain);

/* The names of the chains that we put into our tables. */
enum { NFT_OWN_CHAINS = 12 };
const char *nft_own_chain(unsigned index);

/* --- What is to be there (plan.c) ----------------------------------------------------------------- */

enum plan_rule {
    RULE_REJECT_MARK, /* our own answers are not inspected */
    RULE_LOOPBACK_IN,
    RULE_LOOPBACK_OUT,
    RULE_EXCEPTIONS,  /* mode chain: the user's own chain first */
    RULE_BLOCK4_FROM, /* packets from and to blocked hosts */
    RULE_BLOCK4_TO,
    RULE_BLOCK6_FROM,
    RULE_BLOCK6_TO,
    RULE_OFFLOAD_DROP,
    RULE_OFFLOAD_FLOW, /* into the flowtable */
    RULE_OFFLOAD_ACCEPT,
    RULE_QUEUE,
    RULE_SAVE_DROP, /* from the mark of the packet to that of its connection */
    RULE_SAVE_ACCEPT,
    RULE_SAVED_DROP, /* whether it was saved or not: without a connection the rule before does not go on */
    RULE_SAVED_ACCEPT,
    RULE_ACCEPT, /* mode chain, quiesced */
    RULE_UNMARK, /* mode repeat: the mark is not for those who come after */
    RULE_KINDS,
};

struct plan_chain {
    const char *name;
    bool base;
    bool keep; /* its rules are the user's */
    bool unmarks, saves;
    uint32_t hook;
    int32_t priority;
    enum plan_rule rules[PLAN_RULES];
    unsigned rule_count;
};

struct plan {
    const struct firewall_options *options;
    enum queue_expression expression; /* native or xt */
    uint32_t families[PLAN_FAMILIES]; /* NFPROTO_*: inet is two where the kernel can't have it in one */
    unsigned family_count;
    bool has_set[PLAN_FAMILIES][2]; /* by family and version: the sets of blocked hosts that are there already */
    struct plan_chain chains[PLAN_CHAINS];
    unsigned chain_count;
};

/* `survey` may be NULL: then the usual priorities. */
void nft_plan_make(struct plan *plan, const struct firewall_options *options, const struct survey *survey);
/* inet as two tables, ip and ip6. */
void nft_plan_split(struct plan *plan);

/* The priority of an own chain on a hook. */
int32_t nft_choose_priority(const struct firewall_options *options, uint32_t hook, const struct survey *survey);

/* --- Rules as text and as netlink (rule.c), the texts around them (print.c) ----------------------- */

struct nftnl_rule;

int nft_rule_build(struct nftnl_rule *rule, enum plan_rule kind, const struct plan *plan);
void nft_rule_print(struct text *out, enum plan_rule kind, const struct plan *plan);
/* As an argument list for iptables-restore; false when iptables has no such rule. */
bool nft_rule_print_iptables(struct text *out, enum plan_rule kind, const struct plan *plan);

/* Whether tables of that family have the rule: those on blocked hosts are for one version of IP. */
bool nft_rule_fits(enum plan_rule kind, uint32_t family);

void nft_plan_print(struct text *out, const struct plan *plan);
void nft_plan_print_iptables(struct text *out, const struct plan *plan);

/* The comment by which our tables are known. */
void nft_comment(char out[COMMENT_SIZE], enum attach_mode mode);
bool nft_comment_parse(const char *comment, enum attach_mode *mode);

/* --- Sets of blocked hosts (blocklist_set.c) ------------------------------------------------------ */

/* Of version 4 (index 0) and 6 (index 1). */
const char *nft_set_name(unsigned index);
bool nft_set_fits(unsigned index, uint32_t family);
void nft_set_print(struct text *out, const char *indent, unsigned index, const struct plan *plan);
/* Those that the plan wants and that are not there, or (build_gone) those that are there and that it does not want. */
int nft_build_sets(struct batch *batch, unsigned family_index, const struct plan *plan);
int nft_build_sets_gone(struct batch *batch, unsigned family_index, const struct plan *plan);
/* 0, -ENOENT, or another -errno. */
int nft_set_find(struct session *session, uint32_t family, const char *table, unsigned index);

/* --- Counters and flowtable of offloaded flows (offload.c) ---------------------------------------- */

void nft_offload_print(struct text *out, const char *indent, const struct plan *plan);
/* There already or not. */
int nft_build_offload(struct batch *batch, unsigned family_index, const struct plan *plan);

struct offload_counts {
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes;
};
/* Adds up those of the tables; what is not there counts nothing. */
int nft_offload_counts(struct session *session, const char *table, const uint32_t *families, unsigned count,
                       struct offload_counts *out);

/* --- Blocked hosts (blocklist.c) ------------------------------------------------------------------ */

enum { BLOCKLIST_GROUP = 64 }; /* hosts in one transaction */

/* The families of the tables that have the sets, by version. */
struct set_targets {
    const char *table;
    uint32_t families[2][PLAN_FAMILIES];
    unsigned count[2];
};
int nft_hosts_each(struct session *session, const struct set_targets *targets, blocklist_each_function *each,
                   void *user);
/* 0 with *found, -ENOENT, or another -errno. */
int nft_host_find(struct session *session, uint32_t family, const char *table, const struct blocked_host *host,
                  struct blocked_host *found);
/* `may_be_there`: some of them may be blocked already, and are from now on for their timeouts. */
int nft_hosts_add(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                  size_t count, bool may_be_there, enum subject *subject);

/* --- How the kernel shows our tables (image.c) ---------------------------------------------------- */

/* In the order of enum firewall_damage. */
enum image_part { IMAGE_TABLE, IMAGE_CHAINS, IMAGE_RULES, IMAGE_SETS, IMAGE_PARTS };

struct image {
    struct text parts[IMAGE_PARTS];
    bool drops; /* a base chain's policy is drop */
    uint64_t blocked_packets, blocked_bytes;
    struct offload_counts offload;
};
int nft_image_take(struct image *out, struct session *session, const char *table, const uint32_t *families,
                   unsigned count);
void nft_image_clear(struct image *image);
/* One object as the kernel shows it; the message is whole. */
void nft_image_add(struct image *image, enum image_part part, const char *table, const struct nlmsghdr *message);
/* Bits 1 << enum image_part. */
unsigned nft_image_differs(const struct image *a, const struct image *b);

/* What an installation found out of the kernel, and the families of its tables. */
struct installed {
    bool known;
    enum queue_expression expression;
    uint32_t families[PLAN_FAMILIES];
    unsigned family_count;
};
/* firewall_install() by a session that is open. What is known already is not asked again: that is an aborted
 * transaction or two, each of which takes the kernel some milliseconds. */
int nft_install(struct session *session, const struct firewall_options *options, struct installed *installed,
                char error[FIREWALL_ERROR_SIZE]);

/* What a base chain has of itself on a hook, beyond which a filter chain of others is in our way: see plan.c. */
bool nft_is_in_the_way(const struct firewall_options *options, uint32_t family, uint32_t hook, int32_t theirs,
                       int32_t ours);

/* --- What others change (hear.c) ------------------------------------------------------------------ */

struct hearing {
    const struct firewall_options *options;
    const struct image *image;     /* our table as it was installed */
    uint32_t own_port;             /* messages with it are of our own doing */
    struct firewall_change *heard; /* of the transaction that is being told; kept from one receive to the next */
    uint32_t *generation;          /* up to which all has been told, our own transactions among it */
};
/* Messages as they were received, one behind the other. Whole transactions are added to *out. */
void nft_hear(const struct hearing *hearing, const uint8_t *bytes, size_t length, struct firewall_change *out);

/* --- Messages (build.c), and what went wrong (explain.c) ------------------------------------------ */

int nft_build_delete_table(struct batch *batch, uint32_t family, const char *table);
/* The idiom that replaces a table whether it is there or not: new, delete, new. */
int nft_build_tables(struct batch *batch, const struct plan *plan);
/* Other rules for the chains that are there. */
int nft_build_rules_again(struct batch *batch, const struct plan *plan);
int nft_build_flush_chain(struct batch *batch, uint32_t family, const char *table, const char *chain);
int nft_build_rule(struct batch *batch, uint32_t family, const char *chain, enum plan_rule kind,
                   const struct plan *plan);
/* A table of another name with one chain without hook, for a validation that changes nothing. */
int nft_build_probe(struct batch *batch, const struct plan *plan);

/* Settles plan->expression and the families by what the kernel takes. */
int nft_probe(struct session *session, struct plan *plan, char error[FIREWALL_ERROR_SIZE]);

const char *nft_hook_name(uint32_t hook); /* "forward" of NF_INET_FORWARD; NULL for a hook that has no chain of ours */
const char *nft_family_name(uint32_t family); /* "inet" of NFPROTO_INET */
int nft_check_options(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE]);
int nft_fail(char error[FIREWALL_ERROR_SIZE], int err, const char *format, ...) __attribute__((format(printf, 3, 4)));
int nft_explain(char error[FIREWALL_ERROR_SIZE], int err, enum subject subject, const char *table);

#endif
