/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live ruleset of all programs: nf_tables of all families and the legacy tables of iptables. It is read through
 * netlink dumps and getsockopt, and never changed.
 *
 * Properties that matter to a queue are decoded (queues, verdicts, marks, offload). Each rule also has a text, by which
 * rules are compared. libnftnl parses the messages of nf_tables; an expression that it does not know makes the rule
 * conditional.
 *
 * Threads:   one; needs CAP_NET_ADMIN.
 * Ownership: all data is in the ruleset's arena.
 */
#ifndef SLUICE_NETRULES_H
#define SLUICE_NETRULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct netrules_chain;

/* --- Rules ------------------------------------------------------------------------------------------ */

enum netrules_verdict {
    NETRULES_CONTINUE,
    NETRULES_ACCEPT, /* ends this base chain only; the packet continues with the next one on the hook */
    NETRULES_DROP,   /* reject, too */
    NETRULES_JUMP,
    NETRULES_GOTO,
    NETRULES_RETURN,
    NETRULES_QUEUE,
    NETRULES_STOLEN, /* sent elsewhere: fwd, synproxy */
};

enum netrules_spread {
    NETRULES_SPREAD_NONE,      /* one queue */
    NETRULES_SPREAD_ADDRESSES, /* the kernel's own hash: addresses and protocol, symmetric */
    NETRULES_SPREAD_FLOW,      /* symhash, or a hash of conntrack's original tuple: addresses and ports, symmetric */
    NETRULES_SPREAD_CPU,       /* fanout, meta cpu */
    NETRULES_SPREAD_OTHER,     /* directions may differ: numgen, jhash of the packet's own fields, a map */
};

struct netrules_queue {
    uint16_t first, last; /* `last` 65535 and `unknown` when a map or a mark selects the queue */
    bool bypass, unknown;
    enum netrules_spread spread;
};

enum netrules_mark_kind { NETRULES_PACKET_MARK, NETRULES_CONNECTION_MARK };
enum netrules_mark_use {
    NETRULES_MARK_MATCH, /* compares `value` under `mask` */
    NETRULES_MARK_SET,   /* writes `value` to the bits of `mask` */
    NETRULES_MARK_COPY,  /* writes the bits of `mask` with those of the other kind of mark */
    NETRULES_MARK_ANY,   /* writes the bits of `mask` with the result of a map, a number generator or an address */
};

struct netrules_mark {
    struct netrules_mark *next;
    enum netrules_mark_kind kind;
    enum netrules_mark_use use;
    uint32_t value, mask;
    uint32_t source; /* copied: the bits of the other kind that are transferred */
};

/* The verdict of an element of a verdict map. */
struct netrules_branch {
    struct netrules_branch *next;
    enum netrules_verdict verdict;
    const char *target; /* chain of a jump or goto */
    bool established;   /* the element matches the connection state established */
};

enum { NETRULES_IPV4 = 1 << 0, NETRULES_IPV6 = 1 << 1, NETRULES_OTHER = 1 << 2 };

struct netrules_rule {
    struct netrules_rule *next;
    const struct netrules_chain *chain;
    uint64_t handle;  /* nft; in legacy tables the number of the rule in its chain, as iptables counts */
    const char *text; /* nft: the expressions in libnftnl's notation, without the values of counters; extensions of
                         xtables, and rules of legacy tables, in the syntax of iptables */
    const char *comment;
    enum netrules_verdict verdict;
    const char *target; /* chain of a jump or goto */
    struct netrules_branch *branches;
    struct netrules_queue queue; /* for NETRULES_QUEUE */
    bool xtables_queue;          /* for NETRULES_QUEUE: by the target NFQUEUE of xtables, not by nft's own statement */
    bool counted;                /* for NETRULES_QUEUE: `packets` is how many packets the rule has sent to the queue */
    uint64_t packets;
    struct netrules_mark *marks;  /* in the order of the rule */
    const char *flowtable;        /* flow add */
    unsigned families;            /* families of packets that can match */
    bool conditional;             /* does not match every packet */
    bool established;             /* matches established connections */
    bool only_loopback;           /* matches only packets of the interface lo */
    bool matches_connection_mark; /* one of its conditions is a connection mark */
};

/* --- Tables and chains ------------------------------------------------------------------------------ */

struct netrules_table;
struct netrules_set; /* private: sets are read for the rules that use them */

struct netrules_chain {
    struct netrules_chain *next;
    const struct netrules_table *table;
    const char *name;
    unsigned number; /* among all chains of the ruleset */
    bool base;
    uint32_t hook; /* NF_INET_*; in netdev tables NF_NETDEV_* */
    int32_t priority;
    const char *type;
    const char *devices; /* names separated by commas, or NULL */
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
    const struct netrules_chain *recent; /* the chain found last: rules arrive chain by chain */
};

struct netrules {
    struct arena *arena;
    uint32_t generation; /* of nf_tables */
    struct netrules_table *tables;
    unsigned chain_count; /* of all tables */
};

/* Reads the whole ruleset, in one generation of nf_tables. Returns 0, or -errno with *out unchanged: -EPERM, -EINTR
 * when another process keeps changing the ruleset, -ENOMEM, -E2BIG when the ruleset exceeds the memory limit. */
int netrules_read(struct netrules **out);
void netrules_free(struct netrules *ruleset);

/* Identifies a chain. */
struct netrules_place {
    uint32_t family; /* NFPROTO_* */
    const char *table, *chain;
};
/* Reads the tables, chains and rules of nf_tables; with `place` only that chain, if it exists. Unlike netrules_read()
 * it does not retry: -EINTR when the ruleset changed during the read. */
int netrules_read_rules(struct netrules **out, const struct netrules_place *place);
/* Reads the generation of nf_tables, which counts its changes. Returns 0 or -errno. */
int netrules_read_generation(uint32_t *out);

/* Iterates over all rules: returns the rule after `rule`, the first one for NULL, and NULL after the last one. */
const struct netrules_rule *netrules_next_rule(const struct netrules *ruleset, const struct netrules_rule *rule);
const struct netrules_chain *netrules_find_chain(const struct netrules_table *table, const char *name);
const char *netrules_family_name(uint32_t family); /* "inet" for NFPROTO_INET */
const char *netrules_hook_name(uint32_t family, uint32_t hook);

/* --- Messages --------------------------------------------------------------------------------------- */

/* Returns an empty ruleset, to be filled from messages; NULL when out of memory. */
struct netrules *netrules_new(void);

/* Adds the object of one nf_tables message: NFT_MSG_NEWTABLE, NEWCHAIN, NEWFLOWTABLE, NEWSET, NEWSETELEM, NEWRULE;
 * `bytes` is a message as the kernel sends it: aligned, with its netlink header, and with a NUL after each string.
 * Objects of unknown tables or chains are ignored. Returns 0, -ENOMEM or -E2BIG; -EBADMSG for other messages. */
int netrules_add_message(struct netrules *ruleset, const void *bytes, size_t length);

/* Adds a table of ip_tables or ip6_tables, from the results of IPT_SO_GET_INFO (struct ipt_getinfo) and
 * IPT_SO_GET_ENTRIES (only the entries). Returns 0 or -errno as above. */
int netrules_add_legacy(struct netrules *ruleset, bool ipv6, const void *info, size_t info_length, const void *entries,
                        size_t length);

#endif
