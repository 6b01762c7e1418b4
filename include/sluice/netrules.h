/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The live ruleset of everybody: nf_tables of all families, the legacy tables of iptables, the policy routing by marks,
 * and who holds which queue. It is read, never changed: dumps over netlink and getsockopt.
 *
 * What matters to a queue is decoded (queues, verdicts, marks, offload); of the rest a rule keeps a text that a person
 * can read. The messages are read by the checked cursor and not by libnftnl, which passes over expressions that it does
 * not know: a rule must not look as if it always matched because its condition is newer than a library.
 *
 * Threads:   one; needs CAP_NET_ADMIN.
 * Ownership: all of it lies in the ruleset's arena.
 */
#ifndef SLUICE_NETRULES_H
#define SLUICE_NETRULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct netrules_chain;

/* --- Rules ---------------------------------------------------------------------------------------- */

enum netrules_verdict {
    NETRULES_CONTINUE,
    NETRULES_ACCEPT, /* ends this base chain only; the next one on the hook goes on */
    NETRULES_DROP,   /* reject too */
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
    uint16_t first, last; /* `last` 65535 and `unknown` when a map or a mark chooses */
    bool bypass, unknown;
    enum netrules_spread spread;
};

enum netrules_mark_kind { NETRULES_PACKET_MARK, NETRULES_CONNECTION_MARK };
enum netrules_mark_use {
    NETRULES_MARK_MATCH, /* compares `value` under `mask` */
    NETRULES_MARK_SET,   /* writes the bits of `mask`, to `value` */
    NETRULES_MARK_COPY,  /* writes the bits of `mask` with those of the other kind */
    NETRULES_MARK_ANY,   /* writes the bits of `mask` with what a map, a number generator or an address says */
};

struct netrules_mark {
    struct netrules_mark *next;
    enum netrules_mark_kind kind;
    enum netrules_mark_use use;
    uint32_t value, mask;
    uint32_t source; /* copied: the bits of the other kind that come over */
};

/* Where an element of a verdict map leads. */
struct netrules_branch {
    struct netrules_branch *next;
    enum netrules_verdict verdict;
    const char *target; /* of a jump or goto */
    bool established;   /* the element is a connection's state established */
};

enum { NETRULES_IPV4 = 1 << 0, NETRULES_IPV6 = 1 << 1, NETRULES_OTHER = 1 << 2 };

struct netrules_rule {
    struct netrules_rule *next;
    const struct netrules_chain *chain;
    uint64_t handle;  /* nft; of the legacy tables the number in its chain, as iptables counts */
    const char *text; /* as nft or iptables write it; counters without their values */
    const char *comment;
    enum netrules_verdict verdict;
    const char *target; /* chain of a jump or goto */
    struct netrules_branch *branches;
    struct netrules_queue queue; /* of NETRULES_QUEUE */
    bool counted;                /* the same: `packets` is how many the rule has sent to the queue */
    uint64_t packets;
    struct netrules_mark *marks; /* in the order of the rule */
    const char *flowtable;       /* flow add */
    unsigned families;           /* that can match */
    bool conditional;            /* does not take every packet */
    bool established;            /* takes connections that are established */
    bool only_loopback;          /* takes packets of the interface lo only */
    bool notrack;
    bool sees_connection_mark; /* one of its conditions is a connection's mark */
};

/* --- Tables and chains ---------------------------------------------------------------------------- */

struct netrules_table;

struct netrules_chain {
    struct netrules_chain *next;
    const struct netrules_table *table;
    const char *name;
    unsigned number; /* among all chains of the ruleset */
    bool base;
    uint32_t hook; /* NF_INET_*; of netdev tables NF_NETDEV_* */
    int32_t priority;
    const char *type;
    const char *devices; /* names with commas, or NULL */
    enum netrules_verdict policy;
    uint32_t handle;
    struct netrules_rule *rules;
    struct netrules_rule *last; /* of them */
    size_t rule_count;
};

struct netrules_flowtable {
    struct netrules_flowtable *next;
    const struct netrules_table *table;
    const char *name, *devices;
    bool hardware;
};

struct netrules_element {
    struct netrules_element *next;
    const uint8_t *key;
    size_t key_length;
    bool has_verdict;
    enum netrules_verdict verdict;
    const char *target;
};

struct netrules_set {
    struct netrules_set *next;
    const struct netrules_table *table;
    const char *name;
    bool anonymous, verdict_map, interval;
    uint32_t key_length;
    struct netrules_element *elements; /* of anonymous sets and verdict maps; at most a few thousand */
};

struct netrules_table {
    struct netrules_table *next;
    uint32_t family; /* NFPROTO_* */
    bool legacy;     /* of ip_tables or ip6_tables */
    const char *name, *comment;
    bool dormant;
    bool owned; /* by the process that made it: nobody else may write there */
    struct netrules_chain *chains;
    struct netrules_flowtable *flowtables;
    struct netrules_set *sets;
    const struct netrules_chain *recent; /* found last: rules come chain by chain */
};

/* --- Beside the tables ---------------------------------------------------------------------------- */

/* A rule of policy routing that asks for a mark: `ip rule`. */
struct netrules_route {
    struct netrules_route *next;
    bool ipv6, inverted;
    uint32_t priority, mark, mask, table;
    const char *text;
};

/* A network interface that is up, except the loopback. */
struct netrules_link {
    struct netrules_link *next;
    const char *name;
    uint32_t receive_size,
        send_size;   /* bytes of the largest super-packet: received (GRO), and sent by the host; 0: unknown */
    bool merges_udp; /* GRO merges UDP datagrams of a forwarded flow into one super-packet */
};

/* Version of the kernel; all 0: not known. */
struct netrules_kernel {
    unsigned major, minor, patch;
};

/* A queue that somebody holds. */
struct netrules_holder {
    struct netrules_holder *next;
    uint16_t queue;
    uint32_t port;      /* of its netlink socket */
    uint32_t process;   /* 0: not found */
    const char *name;   /* of the process, or NULL */
    uint32_t waiting;   /* packets */
    uint32_t dropped;   /* because the queue was full, and because its socket was */
    uint32_t delivered; /* packets ever, modulo 2^32 */
};

struct netrules {
    struct arena *arena;
    uint32_t generation; /* of nf_tables */
    struct netrules_table *tables;
    unsigned chain_count; /* of all tables */
    struct netrules_route *routes;
    struct netrules_holder *holders;
    struct netrules_link *links;
    struct netrules_kernel kernel;
    bool forwards_ipv4, forwards_ipv6, has_ipv6; /* of this host: sysctls, and an IPv6 address that is not local */
};

/* Reads all there is, in one generation of nf_tables. 0, or -errno with nothing in *out: -EPERM, -EINTR when somebody
 * keeps changing the ruleset, -ENOMEM, -E2BIG when there are more rules than anybody can have written. */
int netrules_read(struct netrules **out);
void netrules_free(struct netrules *ruleset);

/* A chain by its names. */
struct netrules_place {
    uint32_t family; /* NFPROTO_* */
    const char *table, *chain;
};
/* Reads the tables, chains and rules of nf_tables; with `place` only that chain, if it exists. Unlike netrules_read()
 * it does not retry: -EINTR when the ruleset changed during the read. */
int netrules_read_rules(struct netrules **out, const struct netrules_place *place);
/* The number of changes of nf_tables up to now. 0 or -errno. */
int netrules_read_generation(uint32_t *out);

/* How many connections have this mark under the mask now. 0 or -errno; none where the kernel has no connection
 * tracking. */
int netrules_count_connections(uint32_t mark, uint32_t mask, uint64_t *out);

const struct netrules_chain *netrules_find_chain(const struct netrules_table *table, const char *name);
const char *netrules_family_name(uint32_t family); /* "inet" of NFPROTO_INET */
const char *netrules_hook_name(uint32_t family, uint32_t hook);

/* --- Messages ------------------------------------------------------------------------------------- */

/* An empty ruleset, to be filled from messages; NULL when out of memory. */
struct netrules *netrules_new(void);

/*
 * Adds what one nf_tables message says: NFT_MSG_NEWTABLE, NEWCHAIN, NEWFLOWTABLE, NEWSET, NEWSETELEM, NEWRULE; `bytes`
 * is the message with its netlink header. What belongs to a table or chain that is not there is passed over. 0, -ENOMEM
 * or -E2BIG; -EBADMSG when it is not a message of these.
 */
int netrules_add_message(struct netrules *ruleset, const void *bytes, size_t length);

/* Adds a table of ip_tables or ip6_tables, from what IPT_SO_GET_INFO (struct ipt_getinfo) and IPT_SO_GET_ENTRIES (the
 * entries alone) gave. 0 or -errno as above. */
int netrules_add_legacy(struct netrules *ruleset, bool ipv6, const void *info, size_t info_length, const void *entries,
                        size_t length);

/* Adds one message RTM_NEWRULE if it asks for a mark. */
int netrules_add_route(struct netrules *ruleset, const void *bytes, size_t length);

/* Adds one message RTM_NEWLINK if the interface is up. */
int netrules_add_link(struct netrules *ruleset, const void *bytes, size_t length);

#endif
