/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The doctor: examines a live ruleset for rules that keep packets from Sluice, drop them, or let them pass uninspected.
 * It changes nothing.
 *
 * The findings follow the kernel's semantics: a verdict accept ends its base chain only, and the packet continues with
 * the next base chain on the hook. An accept therefore keeps packets from the queue only if its rule comes before the
 * queue rule in the same base chain, or is in a chain that this base chain jumps to. Packets of an offloaded flow
 * traverse no hook, wherever the offloading rule is.
 *
 * Threads:   no global state.
 * Ownership: a report has its own arena; it points into the ruleset and the host state, which must live as long.
 */
#ifndef SLUICE_DOCTOR_H
#define SLUICE_DOCTOR_H

#include "sluice/firewall.h"
#include "sluice/netrules.h"

/* Reads the ruleset of nf_tables and the legacy tables of this host. Returns 0, or -errno with *out unchanged: -EPERM,
 * -EINTR or -EAGAIN when another process keeps changing the ruleset, -ENOMEM, -E2BIG when it is too large. */
int doctor_read_ruleset(struct netrules **out);

/* --- State of the host ------------------------------------------------------------------------------ */

/* A rule of policy routing that matches a mark: `ip rule`. */
struct doctor_route {
    struct doctor_route *next;
    bool ipv6;
    uint32_t priority, mark, mask, table;
    const char *text;
};

/* A network interface that is up, except the loopback. */
struct doctor_link {
    struct doctor_link *next;
    const char *name;
    uint32_t receive_size,
        send_size;   /* bytes of the largest super-packet: received (GRO), and sent by the host; 0: unknown */
    bool merges_udp; /* GRO merges UDP datagrams of a forwarded flow into one super-packet */
};

/* Version of the kernel; all 0: not known. */
struct doctor_kernel {
    unsigned major, minor, patch;
};

/* A queue with a listener. */
struct doctor_listener {
    struct doctor_listener *next;
    uint16_t queue;
    uint32_t port;      /* port id of its netlink socket */
    uint32_t process;   /* process id; 0: not found */
    const char *name;   /* name of the process, or NULL */
    uint32_t waiting;   /* packets in the queue */
    uint32_t dropped;   /* packets dropped because the queue or its socket buffer was full */
    uint32_t delivered; /* total packets, modulo 2^32 */
};

/* State of a host; all objects are allocated from `arena`. */
struct doctor_host {
    struct arena *arena;
    struct doctor_route *routes;
    struct doctor_listener *listeners;
    struct doctor_link *links;
    struct doctor_kernel kernel;
    bool forwards_ipv4, forwards_ipv6, has_ipv6; /* has_ipv6: an address with global scope */
};

/* Returns an empty state, to be filled from messages; NULL when out of memory. */
struct doctor_host *doctor_host_new(void);
void doctor_host_free(struct doctor_host *host);

/* Reads the state of this host. Returns 0, or -errno with *out unchanged: -EINTR when another process keeps changing
 * the policy routing or the interfaces, -ENOMEM. */
int doctor_host_read(struct doctor_host **out);

/* Adds the object of a message: RTM_NEWRULE, if the rule matches a mark; RTM_NEWLINK, if the interface is up and not
 * the loopback. `bytes` is the message as the kernel sends it, aligned. Returns 0, -ENOMEM, or -EBADMSG for a damaged
 * message or one of another type. */
int doctor_host_add_message(struct doctor_host *host, const void *bytes, size_t length);
/* Adds the listener in one line of /proc/net/netfilter/nfnetlink_queue; other lines are ignored. Returns 0 or -ENOMEM.
 */
int doctor_host_add_listener(struct doctor_host *host, const char *line);

/* Counts the connections that have this mark under the mask now. Returns 0 or -errno; counts none where the kernel has
 * no connection tracking. */
int doctor_count_connections(uint32_t mark, uint32_t mask, uint64_t *out);

/* --- Examination ------------------------------------------------------------------------------------ */

enum doctor_severity {
    DOCTOR_NOTE,    /* information; no change needed */
    DOCTOR_WARNING, /* some packets are possibly not inspected */
    DOCTOR_BROKEN,  /* packets pass uninspected, the firewall is open, or nothing is inspected */
};

struct doctor_finding {
    struct doctor_finding *next;
    enum doctor_severity severity;
    const char *id; /* stable identifier: "order.accept" */
    const char *what, *why, *remedy;
    const struct netrules_rule *rule;   /* the rule of the finding, or NULL */
    const char *text;                   /* text of the rule, in the syntax of nft or iptables; or NULL */
    const struct netrules_chain *chain; /* the chain of the rule or of the finding; or NULL */
    const char *other; /* description of another object that the finding concerns, such as a routing rule or a process;
                          or NULL */
};

/* Number of connections in conntrack that have Sluice's marks now. */
struct doctor_connections {
    uint64_t judged, answers; /* judged: connections with queue.mark. answers: connections with nft.reject-mark, the
                                 mark of packets that Sluice sends */
};

/* A queue of another program, to which accepted packets are routed (queue.verdict: route). */
enum { DOCTOR_NEXT_QUEUES = 16 };
struct doctor_next_queue {
    uint16_t queue;
    bool bypass; /* queue.route-bypass */
};

/* The intended setup. Members *_given are true for values that were given explicitly; the other values are taken from
 * the sluice table, if there is one. */
struct doctor_input {
    struct firewall_options options;
    bool queues_given, hooks_given, bypass_given, attach_given;
    bool repeats; /* accepted packets return with a mark: queue.verdict */
    struct doctor_connections connections;
    struct doctor_next_queue next[DOCTOR_NEXT_QUEUES];
    unsigned next_count;
};

struct doctor_report {
    struct arena *arena;
    struct doctor_finding *findings; /* highest severity first; within one severity in the order of the checks */
    size_t counts[3];                /* number of findings, by enum doctor_severity */
    uint16_t queue_first, queue_last;
    bool installed; /* there is a sluice table */
};

/* Returns 0 with *out, or -ENOMEM. */
int doctor_examine(struct doctor_report **out, const struct netrules *ruleset, const struct doctor_host *host,
                   const struct doctor_input *input);
void doctor_report_free(struct doctor_report *report);

/* Sets the texts of the findings' nft rules to what libnftables lists for their handles now. The text of a rule that
 * it does not list stays in the notation of libnftnl. For commands only: libnftables ends the process when out of
 * memory. */
void doctor_read_rule_texts(struct doctor_report *report);

enum doctor_severity doctor_worst(const struct doctor_report *report);
const char *doctor_severity_name(enum doctor_severity severity);

/* Write the report as text for an administrator, and as one JSON object. */
void doctor_print(struct text *out, const struct doctor_report *report);
void doctor_print_json(struct text *out, const struct doctor_report *report);

#endif
