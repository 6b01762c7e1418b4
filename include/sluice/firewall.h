/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Firewall: the sluice table, an nftables table that feeds the queues, installed and removed in one atomic transaction
 * through libnftnl.
 *
 * Objects of other programs are never changed. Where the kernel lacks nft_queue, the xt NFQUEUE target is put into the
 * same chains through nft_compat.
 *
 * Threads:   the main thread or the supervisor; needs CAP_NET_ADMIN, except firewall_print().
 */
#ifndef SLUICE_FIREWALL_H
#define SLUICE_FIREWALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/text.h"

enum attach_mode {
    ATTACH_NONE,   /* rules of the administrator or another program feed the queues */
    ATTACH_AFTER,  /* sluice table after all filter chains: receives the packets that the firewall accepted */
    ATTACH_BEFORE, /* sluice table before the filter chains: receives all packets */
    ATTACH_REPEAT, /* sluice table with the rule of repeat mode: packets without the mark are queued */
    ATTACH_CHAIN,  /* a regular chain `sluice_ips` for generated rulesets, which jump to it in place of accept */
    ATTACH_ROUTE,  /* as ATTACH_AFTER, for queues with QUEUE_ROUTE, whose accepted packets go to another queue */
};

enum firewall_hook { FIREWALL_FORWARD = 1 << 0, FIREWALL_INPUT = 1 << 1, FIREWALL_OUTPUT = 1 << 2 };
enum { FIREWALL_HOOK_COUNT = 3 };
enum firewall_family { FIREWALL_INET, FIREWALL_IPV4, FIREWALL_IPV6, FIREWALL_BRIDGE };

/* The expression that queues packets. */
enum queue_expression {
    QUEUE_EXPRESSION_AUTO,   /* native where the kernel has it */
    QUEUE_EXPRESSION_NATIVE, /* nft queue; distributed by symhash */
    QUEUE_EXPRESSION_XT,     /* the xt NFQUEUE target; distributed by address pair (the kernel's queue-balance) */
};

enum { FIREWALL_MAX_DEVICES = 16 };

/* Flows that the kernel accepts or drops without queueing, selected by bits of the connection mark. */
struct firewall_offload {
    bool accept, drop;
    /* Acknowledgments (TCP segments without payload and with no flag but ACK) of connections with this mark are
     * accepted without queueing. Only verdicts can set and remove the mark, so it needs NFQA_CT. */
    bool acknowledge;
    uint32_t accept_mark, accept_mask, drop_mark, drop_mask, acknowledge_mark, acknowledge_mask;
    /* True: on this kernel verdicts cannot set connection marks. They set the bits in the packet mark instead, and
     * rules of the sluice table save the bits in the connection mark. */
    bool saves;
    bool has_next;    /* mode route: accepted flows continue to this queue */
    bool next_bypass; /* if that queue has no listener, the flows are accepted; false: dropped */
    uint16_t next_queue;
    unsigned device_count; /* 0: no flowtable; otherwise a flowtable of these devices, whose names the caller owns */
    const char *devices[FIREWALL_MAX_DEVICES];
};

struct firewall_options {
    enum attach_mode mode;
    enum firewall_family family;
    unsigned hooks;    /* bits of enum firewall_hook */
    const char *table; /* default "sluice" */
    uint16_t queue_first, queue_last;
    bool bypass; /* without a listener packets continue with the next chain on the hook; the sluice table has no filter
                    rules that they would skip */
    bool has_priority; /* use `priority`; false: choose one by the live ruleset */
    int32_t priority;
    /* Keep the priorities of an installed sluice table with the same chains, because changing them drops the packets
     * that wait in the queues. A firewall_watch does so only at its first installation. */
    bool keep_place;
    uint32_t mark, mark_mask; /* ATTACH_REPEAT */
    uint32_t reject_mark;     /* packets with this mark (under reject_mask) were sent by Sluice and are never queued */
    uint32_t reject_mask;
    enum queue_expression expression;
    /* Create the sets of hosts and networks whose packets the kernel drops: sluice/blocklist.h. */
    bool blocklist;
    uint32_t blocklist_size; /* maximum number of hosts in each set */
    struct firewall_offload offload;
};

/* Reaction when another process changes the sluice table. */
enum monitor_mode { MONITOR_OFF, MONITOR_REPORT, MONITOR_REASSERT };

/* How a verdict marks a connection: nft.offload.verdict. */
enum offload_verdict { OFFLOAD_BY_EITHER, OFFLOAD_BY_CONNECTION, OFFLOAD_BY_PACKET_MARK };

/* nft.offload.acknowledgments */
enum acknowledgments { ACKNOWLEDGMENTS_QUEUED, ACKNOWLEDGMENTS_AUTO };

/* The settings nft.*; strings and lists are owned by the configuration. */
struct firewall_settings {
    struct firewall_options options; /* all members are set except the queues, their settings, and the devices */
    const char *const *hooks, *const *devices; /* names, NULL-terminated */
    enum monitor_mode monitor;
    uint32_t block_seconds;
    uint8_t block_priority; /* a dropping rule with this or a lower priority number blocks the host; 0: none */
    const char *const *block_classtypes;
    const char *lists_folder; /* absolute, below data-dir, or "none" */
    const char *const *block_files, *const *block_countries;
    uint32_t max_networks;     /* maximum number of networks in each set */
    const char *never_blocked; /* addresses in the syntax of rules, or "none" */
    enum acknowledgments acknowledgments;
    uint32_t acknowledgment_packets; /* packets of a flow from which on its acknowledgments are offloaded */
    unsigned offload_flows;          /* flows that are offloaded, as bits: 1 accepted flows, 2 dropped flows */
    enum offload_verdict offload_verdict;
    bool offload_passed;       /* offload also flows that a pass rule matches */
    const char *offload_ports; /* servers' ports whose flows are bypassed from the first packet on; NULL: none */
    uint32_t offload_interval_seconds; /* time between queries of the kernel's counters; 0: never */
};
extern const struct setting firewall_settings[];
void firewall_settings_read(const struct config *config, struct firewall_settings *out);

enum { FIREWALL_ERROR_SIZE = 512 };

/* Finds a mode by name. For an unknown name *found is false, and the mode is ATTACH_NONE. */
enum attach_mode firewall_mode_find(const char *name, bool *found);
const char *firewall_mode_name(enum attach_mode mode);
const char *firewall_family_name(enum firewall_family family);
const char *firewall_hook_name(enum firewall_hook hook);
const char *firewall_expression_name(enum queue_expression expression);

/* Prints the ruleset as it would be installed, with a header that explains it: `nft -f` syntax (in mode chain a
 * fragment for a table of the user, because chains of another table cannot be jump targets), or with
 * QUEUE_EXPRESSION_XT, which nft has no syntax for, iptables-restore syntax. The priority is chosen from the live
 * ruleset if it can be read, otherwise the mode's default. Returns 0, or -errno with a line in `error`. */
int firewall_print(const struct firewall_options *options, struct text *out, char error[FIREWALL_ERROR_SIZE]);

/* Replaces the sluice table in one transaction: completely or not at all, even if the process is killed in between.
 * Returns 0, or -errno with a line in `error` that says what to do (-EPERM, missing kernel module, a table of that name
 * that sluice did not create). If the base chains stay the same, only their rules are replaced, and no waiting packet
 * is lost. */
int firewall_install(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE]);

/* Stops feeding the queues: removes the rules of the base chains and keeps the chains, because the kernel drops all
 * packets that wait in any queue when a base chain is deleted. First step of a clean stop; firewall_remove() follows
 * when the queues are empty. In mode chain, `sluice_ips` then accepts all packets. Returns 0 also when there is no
 * table. */
int firewall_quiesce(const char *table, char error[FIREWALL_ERROR_SIZE]);

/* Removes the sluice table. Returns 0 also when there was none; fails when sluice did not create it, or when other
 * programs have put chains into it. */
int firewall_remove(const char *table, char error[FIREWALL_ERROR_SIZE]);

/* Returns true, and sets *mode, if a table with this comment was created by sluice. */
bool firewall_is_sluice_table(const char *comment, enum attach_mode *mode);

/* Generates the expected table: calls `each` with the nf_tables messages that create it, including their netlink
 * headers, until a call does not return 0. `options->expression` is native or xt; with `split` inet becomes two tables.
 * Priorities that are not given are the defaults. Returns 0, -ENOMEM, or the value other than 0 that `each`
 * returned. */
int firewall_expect(const struct firewall_options *options, bool split,
                    int (*each)(void *user, const void *bytes, size_t length), void *user);

struct firewall_status {
    bool installed;
    enum attach_mode mode;
    enum firewall_family family; /* inet also when it is two tables, ip and ip6 */
    enum queue_expression expression;
    uint16_t queue_first, queue_last;
    bool bypass;
    unsigned hooks;                          /* bits of enum firewall_hook; 0 in mode chain */
    int32_t priority;                        /* of the first attached hook in `priorities` */
    int32_t priorities[FIREWALL_HOOK_COUNT]; /* forward, input, output */
    bool feeding;            /* the chains have queue rules; false between firewall_quiesce() and firewall_remove() */
    uint64_t packets, bytes; /* sent to the queue, from the counters of the queue rules */
    bool blocklist;
    uint64_t blocked_packets, blocked_bytes; /* dropped because a host is blocked */
    /* has rules for offloaded flows, and for acknowledgments */
    bool offload_accept, offload_drop, offload_acknowledge;
};
/* Returns 0, also when there is no sluice table (out->installed is false), or -errno with a line in `error`. */
int firewall_status(const char *table, struct firewall_status *out, char error[FIREWALL_ERROR_SIZE]);

#endif
