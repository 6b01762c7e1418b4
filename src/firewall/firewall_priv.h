/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the firewall module. These parts of it have their own headers: the netlink session and its transactions
 * (session.h), the live ruleset (survey.h), the ruleset to install (plan.h), its rules as text and as netlink messages
 * (rule.h), the messages of a transaction (build.h), and errors of the kernel as text (explain.h).
 */
#ifndef SLUICE_FIREWALL_PRIV_H
#define SLUICE_FIREWALL_PRIV_H

#include "sluice/blocklist.h"
#include "sluice/firewall.h"
#include "sluice/firewall_watch.h"
#include "sluice/ranges.h"

#include "build.h"
#include "explain.h"
#include "plan.h"
#include "rule.h"
#include "session.h"
#include "survey.h"

/* The names of the sets of blocked hosts, and of blocked networks. */
#define SET_BLOCKED4 "blocked_ipv4"
#define SET_BLOCKED6 "blocked_ipv6"
#define SET_NETWORKS4 "blocked_networks_ipv4"
#define SET_NETWORKS6 "blocked_networks_ipv6"

/* The names of the counters of offloaded flows and acknowledgments, of the flowtable, and of the sets of the lengths
 * that segments without payload have. */
#define COUNTER_ACCEPTED "offload_accepted"
#define COUNTER_DROPPED "offload_dropped"
#define COUNTER_ACKNOWLEDGMENTS "offload_acknowledgments"
#define FLOWTABLE "offload"
#define SET_ACKNOWLEDGMENTS4 "acknowledgments_ipv4"
#define SET_ACKNOWLEDGMENTS6 "acknowledgments_ipv6"

#define CHAIN_IPS "sluice_ips"
#define CHAIN_EXCEPTIONS "sluice_exceptions"
#define CHAIN_UNMARK "unmark"
#define CHAIN_UNMARK_INPUT "unmark_input"
#define CHAIN_SAVE_FORWARD "save_forward"
#define CHAIN_SAVE_INPUT "save_input"
#define CHAIN_SAVE_OUTPUT "save_output"
#define CHAIN_SAVE "sluice_save"
#define CHAIN_SAVE_LOCAL "sluice_save_input"

/* --- Sets of blocked hosts and networks (blocklist_set.c) ------------------------------------------- */

/* Returns the name of a set; index 0: IPv4 hosts, 1: IPv6 hosts, 2: IPv4 networks, 3: IPv6 networks. */
const char *nft_set_name(unsigned index);
bool nft_is_block_set(const char *name, size_t length); /* whether it is the name of one of these sets */
bool nft_set_fits(unsigned index, uint32_t family);
void nft_set_print(struct text *out, const char *indent, unsigned index, const struct plan *plan);
/* Add messages for the sets: nft_build_sets() creates sets that the plan needs and that do not exist;
 * nft_build_set_removals() deletes existing sets that the plan does not need. Return 0 or -errno. */
int nft_build_sets(struct batch *batch, unsigned family_index, const struct plan *plan);
int nft_build_set_removals(struct batch *batch, unsigned family_index, const struct plan *plan);
/* Returns 0 if the set exists, -ENOENT if not, or another -errno. */
int nft_set_find(struct session *session, uint32_t family, const char *table, unsigned index);

/* --- Counters and flowtable of offloaded flows (offload.c) ------------------------------------------ */

void nft_offload_print(struct text *out, const char *indent, const struct plan *plan);
/* Adds the messages that create the counters, the flowtable, and the sets of acknowledgments, which may exist already.
 * Returns 0 or -errno. */
int nft_build_offload(struct batch *batch, unsigned family_index, const struct plan *plan);
/* Lengths of a segment without payload: `ip length` (IPv4, without options) or the length behind the IPv6 header, with
 * the two bytes of the TCP header that have the length of this header and the flags ACK. */
struct acknowledgment_length {
    uint16_t length, head;
};
enum { ACKNOWLEDGMENT_LENGTHS = 11 }; /* TCP headers of 5 to 15 words */
struct acknowledgment_length nft_acknowledgment_length(bool of4, unsigned index);

struct offload_counts {
    uint64_t accepted_packets, accepted_bytes, dropped_packets, dropped_bytes, acknowledgment_packets,
        acknowledgment_bytes;
};
/* Adds up the counters of offloaded flows and acknowledgments in the tables of all families; missing counters count as
 * 0. Returns 0 or -errno. */
int nft_offload_counts(struct session *session, const char *table, const uint32_t *families, unsigned count,
                       struct offload_counts *out);

/* --- Blocked hosts (blocklist.c) -------------------------------------------------------------------- */

enum { BLOCKLIST_GROUP = 64 }; /* maximum number of hosts in one transaction */

/* For each IP version (0: IPv4, 1: IPv6) the families of the tables that have a set of blocked hosts. */
struct set_targets {
    const char *table;
    uint32_t families[2][PLAN_FAMILIES];
    unsigned count[2];
};
int nft_hosts_each(struct session *session, const struct set_targets *targets, blocklist_each_function *each,
                   void *user);
/* Returns 0 with the blocked host in *found, -ENOENT if it is not blocked, or another -errno. */
int nft_host_find(struct session *session, uint32_t family, const char *table, const struct blocked_host *host,
                  struct blocked_host *found);
/* Blocks hosts. `may_be_there`: some of them may be blocked already; their timeouts start again. Returns 0, or -errno
 * with the kind of the failed object in *subject. */
int nft_hosts_add(struct session *session, const struct set_targets *targets, const struct blocked_host *hosts,
                  size_t count, bool may_be_there, enum subject *subject);

/* --- Blocked networks (blocklist_networks.c) -------------------------------------------------------- */

/* Replaces the blocked networks of all tables in one transaction; networks[0]: IPv4, [1]: IPv6, both normalised.
 * Returns 0, or -errno with the kind of the failed object in *subject. */
int nft_networks_replace(struct session *session, const struct set_targets *targets,
                         const struct range_list networks[2], enum subject *subject);

/* --- Installation (firewall.c), printing (print.c) -------------------------------------------------- */

/* The result of probing the kernel for an installation: the expression and the families that it supports. `known`
 * false: the kernel was not probed yet. */
struct installed {
    bool known;
    enum queue_expression expression;
    uint32_t families[PLAN_FAMILIES];
    unsigned family_count;
};
/* Does firewall_install() on an open session. Uses *installed if it is known, because a probe needs one or two aborted
 * transactions, each of which takes the kernel some milliseconds. */
int nft_install(struct session *session, const struct firewall_options *options, struct installed *installed,
                char error[FIREWALL_ERROR_SIZE]);

/* Print the plan for administrators, with a header that explains it. */
void nft_plan_print(struct text *out, const struct plan *plan);
void nft_plan_print_iptables(struct text *out, const struct plan *plan);

/* --- Names, checks and error texts (options.c) ------------------------------------------------------ */

const char *nft_hook_name(uint32_t hook); /* "forward" for NF_INET_FORWARD; NULL for a hook without a chain of Sluice */
const char *nft_family_name(uint32_t family); /* "inet" for NFPROTO_INET */
int nft_check_options(const struct firewall_options *options, char error[FIREWALL_ERROR_SIZE]);
int nft_fail(char error[FIREWALL_ERROR_SIZE], int err, const char *format, ...) __attribute__((format(printf, 3, 4)));

#endif
