/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Watching the own table: it is installed, remembered as the kernel then shows it, and compared with that whenever
 * somebody changes the ruleset. The kernel tells of every transaction (NFNLGRP_NFTABLES) with who made it; when it
 * could not (the socket's buffer was full), that is known and a comparison finds out.
 *
 * Threads:   one at a time; a watch has netlink sockets of its own. Nothing here waits but for the kernel's answers.
 */
#ifndef SLUICE_FIREWALL_WATCH_H
#define SLUICE_FIREWALL_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/blocklist.h"
#include "sluice/firewall.h"

enum { FIREWALL_NAME_SIZE = 64, FIREWALL_PROCESS_SIZE = 32 };

struct firewall_watch;

/* Listens, then installs as firewall_install() does. The options are lent for good. */
int firewall_watch_open(struct firewall_watch **out, const struct firewall_options *options,
                        char error[FIREWALL_ERROR_SIZE]);
/* Leaves the table as it is. NULL is allowed. */
void firewall_watch_close(struct firewall_watch *watch);

/* Readable when there is something to receive. */
int firewall_watch_fd(const struct firewall_watch *watch);

/* Somebody else's chain that is where ours wants to be: behind it in mode after, ahead of it in mode before. */
struct firewall_intruder {
    bool found;
    const char *family, *hook;
    int32_t priority;
    char table[FIREWALL_NAME_SIZE], chain[FIREWALL_NAME_SIZE];
};

/* What was heard of others' changes. */
struct firewall_change {
    unsigned transactions;
    bool lost;     /* the kernel could not tell of some */
    bool ours;     /* our table was meant */
    bool elements; /* hosts in our sets */
    bool removals; /* chains went: with one that had a hook all packets that waited in queues */
    uint32_t generation;
    uint32_t pid; /* who: of the transaction that meant our table, or of the last; as the first namespace counts; 0: not
                     known */
    char process[FIREWALL_PROCESS_SIZE];
    struct firewall_intruder intruder;
};
/* All that has come since the last time; does not wait. */
void firewall_watch_receive(struct firewall_watch *watch, struct firewall_change *out);

enum firewall_damage {
    FIREWALL_DAMAGE_TABLE = 1 << 0, /* gone, or not ours any more */
    FIREWALL_DAMAGE_CHAINS = 1 << 1,
    FIREWALL_DAMAGE_RULES = 1 << 2,
    FIREWALL_DAMAGE_SETS = 1 << 3,
};
enum { FIREWALL_DAMAGES = 4 };
/* "table", "chains"... by the bit's number. */
const char *firewall_damage_name(unsigned number);

struct firewall_check {
    unsigned damage;                         /* enum firewall_damage; 0: all is as it was installed */
    bool drops;                              /* a chain of ours drops what no rule takes */
    uint64_t blocked_packets, blocked_bytes; /* that blocked hosts sent or were sent, since the watch began */
    uint64_t accepted_packets, accepted_bytes, dropped_packets,
        dropped_bytes; /* of flows that are offloaded; the same */
};
int firewall_watch_check(struct firewall_watch *watch, struct firewall_check *out, char error[FIREWALL_ERROR_SIZE]);

/* Installs again, and blocks the hosts that were blocked when the damage took them along. 0 or -errno with a line in
 * `error`. */
int firewall_watch_reassert(struct firewall_watch *watch, unsigned damage, char error[FIREWALL_ERROR_SIZE]);

/* Blocks at most FIREWALL_WATCH_HOSTS hosts for their timeouts, but for those that are blocked for as long already:
 * added[i] says it. 0 or -errno with all of them false: -ENFILE when the list is full. */
enum { FIREWALL_WATCH_HOSTS = 64 };
int firewall_watch_block(struct firewall_watch *watch, const struct blocked_host *hosts, size_t count,
                         bool added[FIREWALL_WATCH_HOSTS], char error[FIREWALL_ERROR_SIZE]);
/* Remembers who is blocked, for firewall_watch_reassert(), should somebody else have changed it. */
int firewall_watch_remember_hosts(struct firewall_watch *watch);
size_t firewall_watch_hosts(const struct firewall_watch *watch); /* remembered, and not over */

#endif
