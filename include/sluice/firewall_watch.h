/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Monitors the sluice table: installs it, takes an image of it as the kernel reports it, and compares it with that
 * image whenever another program changes the ruleset. The kernel sends notifications of each transaction
 * (NFNLGRP_NFTABLES) with the process that made it. If the socket buffer was full, the loss is detected and a
 * comparison finds the change.
 *
 * Threads:   one at a time; a watch has its own netlink sockets. Nothing here blocks except on the kernel's answers.
 */
#ifndef SLUICE_FIREWALL_WATCH_H
#define SLUICE_FIREWALL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/blocklist.h"
#include "sluice/firewall.h"
#include "sluice/ranges.h"

enum { FIREWALL_NAME_SIZE = 64, FIREWALL_PROCESS_SIZE = 32 };

struct firewall_watch;

/* Starts to receive notifications, then installs as firewall_install() does. The options must outlive the watch. */
int firewall_watch_open(struct firewall_watch **out, const struct firewall_options *options,
                        char error[FIREWALL_ERROR_SIZE]);
/* Ends the monitoring; the table stays installed. NULL is allowed. */
void firewall_watch_close(struct firewall_watch *watch);

/* Returns a descriptor that is readable when there are notifications. */
int firewall_watch_fd(const struct firewall_watch *watch);

/* A chain of another program on the wrong side of Sluice's chain: after it in mode after, before it in mode before. */
struct firewall_misplaced_chain {
    bool found;
    const char *family, *hook;
    int32_t priority;
    char table[FIREWALL_NAME_SIZE], chain[FIREWALL_NAME_SIZE];
};

/* Summary of the changes by other programs that firewall_watch_receive() has received. */
struct firewall_change {
    unsigned transactions; /* number of transactions of other programs; 0: none was reported */
    bool lost;             /* the kernel could not deliver some notifications */
    bool ours;             /* the sluice table was changed */
    bool elements;         /* hosts in the sets of the sluice table were changed */
    bool removals;         /* chains were deleted; with a base chain the kernel drops all packets that wait in queues */
    uint32_t generation;   /* the ruleset's generation after the last transaction */
    /* Id, in the initial pid namespace, of the process that made the last transaction that changed the sluice table. If
     * no transaction changed the table, id of the process that made the last transaction. 0: unknown. */
    uint32_t pid;
    char process[FIREWALL_PROCESS_SIZE];
    struct firewall_misplaced_chain intruder; /* a misplaced chain that was added */
};
/* Receives all pending notifications; does not block. */
void firewall_watch_receive(struct firewall_watch *watch, struct firewall_change *out);

enum firewall_damage {
    FIREWALL_DAMAGE_TABLE = 1 << 0, /* deleted, or replaced by a table that sluice did not create */
    FIREWALL_DAMAGE_CHAINS = 1 << 1,
    FIREWALL_DAMAGE_RULES = 1 << 2,
    FIREWALL_DAMAGE_SETS = 1 << 3,
};
enum { FIREWALL_DAMAGES = 4 };
/* Returns the name of a bit of enum firewall_damage by its number: 0 "table", 1 "chains" ... */
const char *firewall_damage_name(unsigned number);

struct firewall_check {
    unsigned damage;                         /* bits of enum firewall_damage; 0: the table is as installed */
    bool drops;                              /* a base chain of Sluice has the policy drop */
    uint64_t blocked_packets, blocked_bytes; /* from and to blocked hosts, since the watch was opened */
    /* packets and bytes of offloaded flows, and acknowledgments that were not queued, since the watch was opened */
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes, acknowledgment_packets,
        acknowledgment_bytes;
};
/* Compares the table with its image and reads its counters. Returns 0, or -errno with a line in `error`. */
int firewall_watch_check(struct firewall_watch *watch, struct firewall_check *out, char error[FIREWALL_ERROR_SIZE]);

/* Installs the table again, and blocks the remembered hosts again if `damage` (of firewall_watch_check()) has removed
 * them. Returns 0, or -errno with a line in `error`. */
int firewall_watch_reinstall(struct firewall_watch *watch, unsigned damage, char error[FIREWALL_ERROR_SIZE]);

/* Blocks at most FIREWALL_WATCH_HOSTS hosts for their timeouts. Leaves out hosts that are already blocked for at least
 * this time. Sets added[i] to whether hosts[i] was added. Returns 0, or -errno with all added[] false; -ENFILE: the
 * blocklist is full. */
enum { FIREWALL_WATCH_HOSTS = 64 };
int firewall_watch_block(struct firewall_watch *watch, const struct blocked_host *hosts, size_t count,
                         bool added[FIREWALL_WATCH_HOSTS], char error[FIREWALL_ERROR_SIZE]);
/* Reads the blocked hosts from the kernel and remembers them for firewall_watch_reinstall(). Needed after another
 * process has changed the blocklist. */
int firewall_watch_remember_hosts(struct firewall_watch *watch);
/* Replaces the blocked networks in one transaction, and remembers them for firewall_watch_reinstall(). networks[0]:
 * IPv4, [1]: IPv6; both normalised (sluice/ranges.h). The lists are moved to the watch, or freed after an error: they
 * are empty when this returns. Returns 0, or -errno with a line in `error` and the old networks still blocked. */
int firewall_watch_block_networks(struct firewall_watch *watch, struct range_list networks[2],
                                  char error[FIREWALL_ERROR_SIZE]);
/* Calls `each` for every remembered host that has not expired, with its remaining time in expires_ms, until a call
 * returns other than 0. Returns 0 or the value of that call. */
int firewall_watch_each_host(const struct firewall_watch *watch, blocklist_each_function *each, void *user);
size_t firewall_watch_hosts(const struct firewall_watch *watch); /* number of remembered hosts that have not expired */

#endif
