/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy: from the rules that matched to the verdict and the alerts to report.
 *
 * Hits come in the order of actions. pass ends it: neither alerts nor drops after it count. Thresholds, suppressions
 * and rate filters decide what is reported; drops take effect as the field has it (a suppressed drop rule still drops,
 * a detection_filter that is not yet reached does neither).
 *
 * Mode alert-only enforces nothing: a packet that is to be dropped passes with packet.would_drop set, its flow is
 * inspected further with flow.would_drop set, and no reject packet is sent. The mode may change between two packets.
 *
 * Threads:   a policy belongs to one worker. State by host is shared between workers through policy_shared: sharded,
 *            locked, bounded by a memcap, and touched on a match only.
 */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/decision.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/packet.h"

struct policy_shared;
struct policy;
struct transfer;
struct turn;

/* Whether the drops of rules, exception policies, stream and defrag are enforced. */
enum ips_mode {
    IPS_MODE_DROP,
    IPS_MODE_ALERT_ONLY, /* no: the packets pass, and are counted */
};
const char *ips_mode_name(enum ips_mode mode); /* "drop", "alert-only" */
bool ips_mode_parse(const char *name, enum ips_mode *out);

struct policy_options {
    bool inline_mode;          /* drops take effect; otherwise they are reported as alerts with action allowed */
    enum ips_mode mode;        /* with inline_mode */
    unsigned packet_alert_max; /* alerts kept per packet */
    size_t threshold_memcap;   /* bytes */
    uint64_t seed;             /* of hashes: random where senders must not find addresses that collide */
    size_t tag_memcap;         /* bytes of tags of flows, of this worker; and of those of hosts, shared */
    size_t history_memcap;     /* bytes of what flows have met, of this worker */
    enum exception_policy exceptions[EXCEPTION_COUNT];
};
void policy_options_default(struct policy_options *options);

/* 0 or -ENOMEM. The shared part outlives all policies made with it; it is NULL-safe to free. */
int policy_shared_new(struct policy_shared **out, const struct policy_options *options);
void policy_shared_free(struct policy_shared *shared);
int policy_new(struct policy **out, const struct policy_options *options, struct policy_shared *shared);
void policy_free(struct policy *policy);
/* Others from now on; what was decided for flows stays. */
void policy_set_exceptions(struct policy *policy, const enum exception_policy exceptions[EXCEPTION_COUNT]);
/* For the packets that follow. */
void policy_set_mode(struct policy *policy, enum ips_mode mode);
/* Shared state is touched in this turn; NULL (at first): at once. */
void policy_set_turn(struct policy *policy, struct turn *turn);
/* Forgets what policy keeps with a flow that ends. */
void policy_flow_end(struct policy *policy, struct flow *flow);

/* To another process (sluice/transfer.h): what is kept with a flow, which has a history or tags when they are written;
 * and what is kept of hosts and rules. */
void policy_transfer_history(struct transfer *t, struct policy *policy, struct flow *flow);
/* How often each rule matched; reading adds to what is there, and gives numbers to the names of rules that are not
 * loaded. */
void policy_transfer_tallies(struct transfer *t, struct policy *policy, struct rule_names *names);
void policy_transfer_tag(struct transfer *t, struct policy *policy, struct flow *flow);
void policy_shared_transfer_thresholds(struct transfer *t, struct policy_shared *shared, uint64_t now_ns);
void policy_shared_transfer_tags(struct transfer *t, struct policy_shared *shared);

/* Applies the hits (rules of `rules`, which has the thresholds for all) to the packet: sets verdict, drop_reason and
 * reject of it (and of pkt->root when inside a tunnel). */
void policy_apply(struct policy *policy, const struct rule_list *rules, struct packet *pkt, const struct hit *hits,
                  size_t hit_count, struct decision *out);

/* True in passive mode for a flow that a rule would drop inline: as in Suricata, no more rules are evaluated for it. */
bool policy_demands_drop(const struct policy *policy, const struct flow *flow);

/* A flow that was decided before: drops the packet of a dropped flow. Returns true when no rules are evaluated for the
 * packet: its flow is dropped, passed or bypassed, or policy_demands_drop(). Alert-only releases a dropped flow
 * (flow.would_drop), and mode drop evaluates a released flow again. */
bool policy_flow(struct policy *policy, struct packet *pkt);

/* Does what is configured for the cause to the packet and its flow, counts it and keeps it in the flow. True when the
 * packet is not to be inspected further. */
bool policy_exception(struct policy *policy, struct packet *pkt, enum exception_cause cause);

/* Whether that drops the packet. */
bool policy_exception_drops(const struct policy *policy, enum exception_cause cause);

/* A flow that is to be looked at no longer because of overload: it is bypassed, counted and marked so. */
void policy_shed(struct policy *policy, struct flow *flow);

/* Drops a packet for a reason that is not a rule; without effect when drops have none. */
void policy_drop(struct policy *policy, struct packet *pkt, enum drop_reason reason);

/* What became of a rule's matches, by its number: kept over reloads. Written by the worker, read by anybody. */
enum { POLICY_MAX_TALLIES = 1 << 18 };
struct rule_tally {
    _Atomic uint64_t matches, alerts, drops, would_drops;
    _Atomic uint64_t last_ns; /* of the packet that matched last */
    _Atomic uint64_t limits;  /* packets in which the evaluation reached a limit of work; not kept over upgrades */
};
/* The evaluation of these rules reached a limit of work in a packet. */
void policy_count_limits(struct policy *policy, const struct rule *const *rules, size_t count);
/* NULL for rules that are not counted: number 0, and those past POLICY_MAX_TALLIES. */
const struct rule_tally *policy_tally(const struct policy *policy, uint32_t number);

/* Which rules matched in a flow: the first ones, each once. */
enum { FLOW_HISTORY_RULES = 6 };
struct flow_history_rule {
    uint32_t gid, sid;
    uint32_t count;
    uint8_t action;  /* enum rule_action, of the last match */
    bool reported;   /* an alert came of it */
    bool blocked;    /* a packet was dropped for it */
    bool would_drop; /* alert-only let a packet pass that it drops */
    bool silenced;   /* a threshold or a suppression kept it back */
    uint64_t first_ns, last_ns;
};
struct flow_history {
    uint32_t count;
    uint32_t others; /* matches of rules for which there was no room */
    struct flow_history_rule rules[FLOW_HISTORY_RULES];
};

struct policy_counters {
    uint64_t alerts, alerts_suppressed, alerts_overflow, dropped, rejected, passed;
    uint64_t threshold_memcap_hits;
    uint64_t exceptions[EXCEPTION_COUNT][EXCEPTION_POLICY_COUNT];
    uint64_t flow_drops; /* packets of flows that were dropped before */
};
const struct policy_counters *policy_counters(const struct policy *policy);
size_t policy_shared_memory(const struct policy_shared *shared);
uint64_t policy_thresholds_evicted(const struct policy *policy); /* of all workers: states that gave way to others */

#endif
