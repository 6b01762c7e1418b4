/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model of packet filter rules: tables, chains and rules of nf_tables (read by the module nftables) and of the legacy
 * tables of iptables (module xtables), which the module doctor examines.
 *
 * Properties that matter to a queue are decoded (queues, verdicts, marks, offload). Each rule also has a text, by which
 * rules are compared.
 *
 * Ownership: all data is in the ruleset's arena.
 */
#ifndef SLUICE_NETRULES_H
#define SLUICE_NETRULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/text.h"

struct arena;
struct netrules_chain;

/* --- Rules ------------------------------------------------------------------------------------------ */

enum netrules_verdict {
    NETRULES_CONTINUE,
    NETRULES_ACCEPT, /* ends this base chain only; the packet continues with the next one on the hook */
    NETRULES_DROP,   /* also for reject */
    NETRULES_JUMP,
    NETRULES_GOTO,
    NETRULES_RETURN,
    NETRULES_QUEUE,
    NETRULES_STOLEN, /* another part of the kernel takes the packet: fwd, synproxy */
};

enum netrules_spread {
    NETRULES_SPREAD_NONE,      /* the rule sends packets to one queue */
    NETRULES_SPREAD_ADDRESSES, /* the kernel's own hash of addresses and protocol: the same queue for both directions */
    NETRULES_SPREAD_FLOW,  /* symhash, or a hash of conntrack's original tuple (addresses and ports): the same queue for
                              both directions */
    NETRULES_SPREAD_CPU,   /* the number of the CPU: queue flag fanout, or meta cpu */
    NETRULES_SPREAD_OTHER, /* both directions of a flow may get different queues: numgen, jhash of the packet's own
                              fields, a map */
};

struct netrules_queue {
    /* queue numbers; when a map or a mark selects the queue, `last` is 65535 and `unknown` is true */
    uint16_t first, last;
    bool bypass, unknown;
    enum netrules_spread spread;
};

enum netrules_mark_kind { NETRULES_PACKET_MARK, NETRULES_CONNECTION_MARK };
enum netrules_mark_use {
    NETRULES_MARK_MATCH, /* compares `value` under `mask` */
    NETRULES_MARK_SET,   /* writes `value` to the bits of `mask` */
    NETRULES_MARK_COPY,  /* copies the bits `source` of the other kind of mark to the bits of `mask` */
    NETRULES_MARK_ANY,   /* sets the bits of `mask` to a value that is not known here: from a map, a number generator or
                            an address */
};

struct netrules_mark {
    struct netrules_mark *next;
    enum netrules_mark_kind kind;
    enum netrules_mark_use use;
    uint32_t value, mask;
    uint32_t source; /* NETRULES_MARK_COPY: the bits of the other kind of mark that are copied */
};

/* A branch of a rule: the verdict of one element of its verdict map. */
struct netrules_branch {
    struct netrules_branch *next;
    enum netrules_verdict verdict;
    const char *target; /* chain of a jump or goto */
    bool established;   /* the element matches the conntrack state established */
};

enum { NETRULES_IPV4 = 1 << 0, NETRULES_IPV6 = 1 << 1, NETRULES_OTHER = 1 << 2 };

struct netrules_rule {
    struct netrules_rule *next;
    const struct netrules_chain *chain;
    /* nft: the kernel's handle; legacy tables: the number of the rule in its chain, as iptables counts */
    uint64_t handle;
    const char *text; /* nft: the expressions in libnftnl's notation, without the values of counters. Legacy tables, and
                         extensions of xtables in nft rules: in the syntax of iptables */
    const char *comment;
    enum netrules_verdict verdict;
    const char *target; /* chain of a jump or goto */
    struct netrules_branch *branches;
    struct netrules_queue queue; /* for NETRULES_QUEUE */
    bool xtables_queue; /* NETRULES_QUEUE only. true: the xtables target NFQUEUE; false: the queue statement of nft */
    bool counted; /* NETRULES_QUEUE only. true: `packets` is the number of packets that the rule has sent to the queue;
                     false: the rule has no counter */
    uint64_t packets;
    struct netrules_mark *marks; /* in the order in which the rule uses them */
    const char *flowtable;       /* name of the flowtable of a `flow add` statement; NULL: none */
    unsigned families;  /* bits NETRULES_IPV4, NETRULES_IPV6, NETRULES_OTHER: families of packets that can match */
    bool conditional;   /* false: the rule matches every packet of its families */
    bool established;   /* has a condition that the conntrack state is established */
    bool only_loopback; /* the rule matches only packets of the interface lo */
    bool matches_connection_mark; /* has a condition on the connection mark */
};

/* --- Tables and chains ------------------------------------------------------------------------------ */

struct netrules_table;
struct netrules_set; /* private to the module nftables: sets are read for the rules that use them */

struct netrules_chain {
    struct netrules_chain *next;
    const struct netrules_table *table;
    const char *name;
    unsigned number; /* index among all chains of the ruleset, from 0 */
    bool base;
    uint32_t hook; /* NF_INET_*; in netdev tables NF_NETDEV_* */
    int32_t priority;
    const char *type;
    const char *devices; /* interface names separated by commas, for chains of a hook of an interface; NULL: none */
    enum netrules_verdict policy;
    uint32_t handle;
    struct netrules_rule *rules;
    struct netrules_rule *last; /* last element of `rules` */
    size_t rule_count;
};

struct netrules_flowtable {
    struct netrules_flowtable *next;
    const struct netrules_table *table;
    const char *name, *devices;
    bool hardware;
};

struct netrules_table {
    struct netrules_table *next;
    uint32_t family; /* NFPROTO_* */
    bool legacy;     /* table of ip_tables or ip6_tables */
    const char *name, *comment;
    bool dormant;
    struct netrules_chain *chains;
    struct netrules_flowtable *flowtables;
    struct netrules_set *sets;
    /* cache: the chain found by the last lookup, because rules arrive chain by chain */
    const struct netrules_chain *recent;
};

struct netrules {
    struct arena *arena;
    uint32_t generation; /* of nf_tables */
    struct netrules_table *tables;
    unsigned chain_count; /* number of chains in all tables */
};

void netrules_free(struct netrules *ruleset);

/* Iterates over all rules: returns the rule after `rule`, the first one for NULL, and NULL after the last one. */
const struct netrules_rule *netrules_next_rule(const struct netrules *ruleset, const struct netrules_rule *rule);
const struct netrules_chain *netrules_find_chain(const struct netrules_table *table, const char *name);
const char *netrules_family_name(uint32_t family); /* "inet" for NFPROTO_INET */
const char *netrules_hook_name(uint32_t family, uint32_t hook);

/* --- Building a ruleset ----------------------------------------------------------------------------- */

enum { NETRULES_MEMORY = 512 << 20 }; /* larger rulesets are rejected */

/* Returns an empty ruleset; NULL when out of memory. */
struct netrules *netrules_new(void);
/* Returns 0, or -E2BIG when the arena exceeds NETRULES_MEMORY. */
int netrules_check_size(const struct netrules *ruleset);

/* Add an element at the end of its list; `name` must live as long as the ruleset. All return NULL when out of memory.
 */
struct netrules_table *netrules_add_table(struct netrules *ruleset, uint32_t family, bool legacy, const char *name);
struct netrules_chain *netrules_add_chain(struct netrules *ruleset, struct netrules_table *table, const char *name);
struct netrules_rule *netrules_add_rule(struct netrules *ruleset, struct netrules_chain *chain);

/* A rule under construction: its expressions are read one after the other. */
struct netrules_builder {
    struct netrules *ruleset;
    struct netrules_rule *rule;
    struct text text;
    struct netrules_mark **last_mark;
    struct netrules_branch **last_branch;
    bool counted; /* the last statement was a counter, which counts packets of the next statement */
    uint64_t packets;
    bool failed; /* out of memory */
};

void netrules_start_rule(struct netrules_builder *builder, struct netrules *ruleset, struct netrules_rule *rule);
/* Stores the text in the rule. Returns 0 or -ENOMEM. */
int netrules_end_rule(struct netrules_builder *builder);
/* Appends formatted text, after a space, to the text of the rule. */
void netrules_write(struct netrules_builder *builder, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Returns a copy of the text up to a NUL, or of all `length` bytes, in the arena; "?" when out of memory. */
const char *netrules_copy_string(struct netrules_builder *builder, const char *bytes, size_t length);
/* Add an effect of the rule: a use of a mark, its queue, a verdict of its verdict map. */
void netrules_add_mark(struct netrules_builder *builder, struct netrules_mark mark);
void netrules_set_queue(struct netrules_builder *builder, struct netrules_queue queue);
void netrules_add_branch(struct netrules_builder *builder, struct netrules_branch branch);

#endif
