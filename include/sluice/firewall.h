/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Firewall: the own nftables table that feeds the queues, installed and removed in one atomic transaction by libnftnl.
 *
 * Nothing that belongs to somebody else is ever edited. Where the kernel lacks nft_queue, the xt NFQUEUE target is put
 * into the same chains through nft_compat.
 *
 * Threads:   the main thread or the keeper; needs CAP_NET_ADMIN, except firewall_print().
 */
#ifndef SLUICE_FIREWALL_H
#define SLUICE_FIREWALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/text.h"

enum attach_mode {
    ATTACH_NONE,   /* somebody else's rules feed the queues */
    ATTACH_AFTER,  /* own table, after every filter chain found: sees what the firewall accepted */
    ATTACH_BEFORE, /* own table, ahead of the filter chains: sees everything */
    ATTACH_REPEAT, /* own table with the rule as repeat mode needs it: packets without the mark are queued */
    ATTACH_CHAIN,  /* a regular chain `sluice_ips` for generated rulesets that jump to it in place of accept */
    ATTACH_ROUTE,  /* as after, for queues whose verdict is the next consumer's queue */
};

enum firewall_hook { FIREWALL_FORWARD = 1 << 0, FIREWALL_INPUT = 1 << 1, FIREWALL_OUTPUT = 1 << 2 };
enum { FIREWALL_HOOK_COUNT = 3 };
enum firewall_family { FIREWALL_INET, FIREWALL_IPV4, FIREWALL_IPV6, FIREWALL_BRIDGE };

/* How the rule reaches the queue. */
enum queue_expression {
    QUEUE_EXPRESSION_AUTO,   /* native where the kernel has it */
    QUEUE_EXPRESSION_NATIVE, /* nft queue; spread by symhash */
    QUEUE_EXPRESSION_XT,     /* the xt NFQUEUE target; spread by address pair (the kernel's queue-balance) */
};

enum { FIREWALL_MAX_DEVICES = 16 };

/* Flows that the kernel accepts or drops without us, by bits of their connections' marks. */
struct firewall_offload {
    bool accept, drop;
    uint32_t accept_mark, accept_mask, drop_mark, drop_mask;
    /* Verdicts can't set marks of connections here: they set the same bits as marks of packets, and our table saves
     * them. */
    bool saves;
    bool has_next; /* mode route: accepted flows go on to this queue */
    bool next_bypass;
    uint16_t next_queue;
    unsigned device_count; /* with a flowtable of these; lent */
    const char *devices[FIREWALL_MAX_DEVICES];
};

struct firewall_options {
    enum attach_mode mode;
    enum firewall_family family;
    unsigned hooks;    /* enum firewall_hook */
    const char *table; /* default "sluice" */
    uint16_t queue_first, queue_last;
    bool bypass;       /* without a listener packets go on with the next hook entry; safe in our own table */
    bool has_priority; /* otherwise chosen from the live ruleset */
    int32_t priority;
    /* A table of ours with the same chains stays where it is when it is installed first: another place would cost the
     * packets that wait in the queues. */
    bool keep_place;
    uint32_t mark, mark_mask; /* ATTACH_REPEAT; and reject packets, which are never queued */
    uint32_t reject_mark;     /* packets with this mark (whole word under reject_mask) are ours */
    uint32_t reject_mask;
    enum queue_expression expression;
    bool blocklist;          /* with sets of hosts whose packets the kernel drops: sluice/blocklist.h */
    uint32_t blocklist_size; /* hosts in each of them at most */
    struct firewall_offload offload;
};
void firewall_options_default(struct firewall_options *options);

enum { FIREWALL_ERROR_SIZE = 512 };

/* From the settings nft.*, queue.numbers and queue.mark; strings are lent by the configuration. 0 or -EINVAL with a
 * line in `error`. */
struct config;
int firewall_options_read(struct firewall_options *out, const struct config *config, char error[FIREWALL_ERROR_SIZE]);

/* Of a wrong name *found is false, and the mode is ATTACH_NONE. */
enum attach_mode firewall_mode_find(const char *name, bool *found);
const char *firewall_mode_name(enum attach_mode mode);
const char *firewall_family_name(enum firewall_family family);
const char *firewall_hook_name(enum firewall_hook hook);
const char *firewall_expression_name(enum queue_expression expression);

/*
 * The ruleset as text with a head that explains it, as installed: `nft -f` syntax (in mode chain a fragment for a table
 * of one's own, because chains of another table can't be jumped to), or with QUEUE_EXPRESSION_XT, which nft has no
 * words for, iptables-restore's. The priority is from the live ruleset if it can be read, otherwise the mode's usual
 * one. 0 or -errno with a line in `error`.
 */
int firewall_print(const struct firewall_options *options, struct text *out, char error[FIREWALL_ERROR_SIZE]);

/*
 * Replaces our table by a new one in one transaction: whole or not at all, also when killed meanwhile. 0 or -errno with
 * a line in `error` that says what and what to do (-EPERM, missing kernel part, table of that name that is not ours).
 * Where the base chains stay the same only their rules are exchanged, and no waiting packet is lost.
 */
int firewall_install(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE]);

/*
 * Stops feeding the queues: removes the rules of our base chains and leaves the chains, because a base chain that goes
 * makes the kernel drop all packets that wait in any queue. First step of a clean stop; when the queues are empty,
 * firewall_remove() follows. In mode chain `sluice_ips` then accepts. 0 also when there is no table.
 */
int firewall_quiesce(const char *table, char error[FIREWALL_ERROR_SIZE]);

/* Removes our table; 0 also when there was none. Refused when it is not ours, or somebody put chains into it. */
int firewall_remove(const char *table, char error[FIREWALL_ERROR_SIZE]);

/* Whether a table with this comment is ours, and of which mode. */
bool firewall_is_own(const char *comment, enum attach_mode *mode);

/*
 * What is to be there: calls `each` with the nf_tables messages that make the table, with their netlink headers, until
 * one is not 0. `options->expression` is native or xt; with `split` inet is two tables. Priorities that are not given
 * are the usual ones. 0, -ENOMEM or what `each` returned.
 */
int firewall_expect(const struct firewall_options *options, bool split,
                    int (*each)(void *user, const void *bytes, size_t length), void *user);

struct firewall_status {
    bool installed;
    enum attach_mode mode;
    enum firewall_family family; /* inet also when it is two tables, ip and ip6 */
    enum queue_expression expression;
    uint16_t queue_first, queue_last;
    bool bypass;
    unsigned hooks;                          /* enum firewall_hook; 0 in mode chain */
    int32_t priority;                        /* of the first hook below that is attached */
    int32_t priorities[FIREWALL_HOOK_COUNT]; /* forward, input, output */
    bool feeding;                            /* false between firewall_quiesce() and firewall_remove() */
    uint64_t packets, bytes;                 /* sent to the queue, by our rules' counters */
    bool blocklist;
    uint64_t blocked_packets, blocked_bytes; /* dropped because a host is blocked */
    bool offload_accept, offload_drop;       /* rules for flows that are offloaded */
};
int firewall_status(const char *table, struct firewall_status *out, char error[FIREWALL_ERROR_SIZE]);

#endif
