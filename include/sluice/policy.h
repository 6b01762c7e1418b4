/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy: derives the verdict and the reported alerts from the rules that matched.
 *
 * Hits are sorted by action order. A pass ends the evaluation: later hits neither alert nor drop. Thresholds,
 * suppressions and rate filters decide what is reported; drops take effect as in Suricata (a suppressed drop rule still
 * drops; a detection_filter below its count neither drops nor alerts).
 *
 * Mode alert-only enforces nothing: a packet with a drop decision passes with packet.would_drop set, inspection of its
 * flow continues with flow.would_drop set, and no reject packet is sent. The mode may change between two packets.
 *
 * Threads:   a policy belongs to one worker. Per-host state is shared between workers through policy_shared: sharded,
 *            locked, bounded by a memcap, and accessed on a match only.
 */
#ifndef SLUICE_POLICY_H
#define SLUICE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/decision.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/packet.h"

struct policy_shared;
struct policy;
struct transfer;
struct replay_order;

/* Mode of a queue (ips.mode): whether drops by rules, exception policies, stream and defrag are enforced. */
enum ips_mode {
    IPS_MODE_DROP,
    IPS_MODE_ALERT_ONLY, /* drops are not enforced: the packets pass and are counted */
};
const char *ips_mode_name(enum ips_mode mode); /* returns "drop" or "alert-only" */
bool ips_mode_parse(const char *name, enum ips_mode *out);

struct policy_options {
    bool inline_mode;   /* drops take effect; otherwise (IDS) they are reported as alerts with action "allowed" */
    enum ips_mode mode; /* ignored unless inline_mode is true */
    unsigned packet_alert_max; /* maximum number of alerts kept per packet */
    size_t threshold_memcap;   /* bytes */
    uint64_t seed; /* seed of hashes; random in a daemon, so that senders cannot choose addresses with the same hash */
    size_t tag_memcap;     /* bytes for the flow tags of this worker; also the limit of the host tags, which all workers
                              share */
    size_t history_memcap; /* bytes for the flow histories of this worker */
    enum exception_policy exceptions[EXCEPTION_COUNT];
};
extern const struct setting policy_settings[];   /* of struct policy_options */
extern const struct setting ips_mode_settings[]; /* of policy_options.mode, also for single queues */

/* The settings of exception policies. */
struct exception_options {
    enum exception_policy master; /* EXCEPTION_POLICY_COUNT: auto, which depends on the mode */
    /* EXCEPTION_POLICY_COUNT: auto or not set, so that `master` applies */
    enum exception_policy policies[EXCEPTION_COUNT];
};
extern const struct setting exception_settings[];

/* 0 or -ENOMEM. The policy_shared must outlive all policies created with it. Both free functions accept NULL. */
int policy_shared_new(struct policy_shared **out, const struct policy_options *options);
void policy_shared_free(struct policy_shared *shared);
int policy_new(struct policy **out, const struct policy_options *options, struct policy_shared *shared);
void policy_free(struct policy *policy);
/* Replaces the exception policies; decisions already made for flows stay in force. */
void policy_set_exceptions(struct policy *policy, const enum exception_policy exceptions[EXCEPTION_COUNT]);
/* Sets the mode for all following packets. */
void policy_set_mode(struct policy *policy, enum ips_mode mode);
/* Sets the replay order. The policy waits for its turn in this order before it accesses shared state. NULL (default):
 * it does not wait. */
void policy_set_replay_order(struct policy *policy, struct replay_order *order);
/* Frees the tags and the history of a flow that ends. */
void policy_flow_end(struct policy *policy, struct flow *flow);

/* State transfer to another process (sluice/transfer.h): history and tags of a flow, and state by host and rule. The
 * writer calls policy_transfer_history() only for flows with a history, and policy_transfer_tag() only for flows with
 * tags. */
void policy_transfer_history(struct transfer *t, struct policy *policy, struct flow *flow);
/* Transfers the match counters of rules. The reader adds them to its current values, and assigns numbers to the names
 * of rules that are not loaded. */
void policy_transfer_tallies(struct transfer *t, struct policy *policy, struct rule_names *names);
void policy_transfer_tag(struct transfer *t, struct policy *policy, struct flow *flow);
void policy_shared_transfer_thresholds(struct transfer *t, struct policy_shared *shared, uint64_t now_ns);
void policy_shared_transfer_tags(struct transfer *t, struct policy_shared *shared);

/* Applies the decision of the firewall rules, then the rules that matched (hits) to the packet: sets verdict,
 * drop_reason and reject of `pkt` and, if it is inside a tunnel, of pkt->root. The rules of the hits belong to `rules`,
 * which also has the global thresholds. Hits of firewall rules come first. After a drop by the firewall rules, the hits
 * of other rules are discarded. `filter` NULL: no firewall rules. */
void policy_apply(struct policy *policy, const struct rule_list *rules, struct packet *pkt, const struct hit *hits,
                  size_t hit_count, const struct filter_decision *filter, struct decision *out);

/* Counts a match of a firewall rule with detection_filter. Returns whether the rule takes effect; true for rules
 * without it. `user` is the policy: detect calls the function as detect_input.reaches_filter. */
bool policy_reaches_filter(void *user, const struct rule *rule, const struct packet *pkt);

/* Returns true in passive mode for a flow that a rule would drop inline. As in Suricata, no more rules are evaluated
 * for such a flow. */
bool policy_demands_drop(const struct policy *policy, const struct flow *flow);

/* Applies an earlier decision on the flow: drops the packet of a dropped flow. Returns true when no rules are evaluated
 * for the packet: its flow is dropped, passed or bypassed, or policy_demands_drop() is true. Alert-only releases a
 * dropped flow (flow.would_drop), and mode drop evaluates a released flow again. */
bool policy_flow(struct policy *policy, struct packet *pkt);

/* Applies the configured exception policy to the packet and its flow, counts it and records it in the flow. Returns
 * true when the packet needs no further inspection. */
bool policy_exception(struct policy *policy, struct packet *pkt, enum exception_cause cause);

/* Returns whether policy_exception() would drop a packet for this cause. */
bool policy_exception_drops(const struct policy *policy, enum exception_cause cause);

/* Requests a bypass of the flow because of overload (load shedding); counts and records it as an exception. */
void policy_shed(struct policy *policy, struct flow *flow);

/* Drops a packet for a reason other than a rule. Alert-only: sets packet.would_drop instead. No effect in IDS mode. */
void policy_drop(struct policy *policy, struct packet *pkt, enum drop_reason reason);

/* Match counters of a rule, indexed by rule number; they survive reloads. Written by the worker, read by any thread. */
enum { POLICY_MAX_TALLIES = 1 << 18 };
struct rule_tally {
    _Atomic uint64_t matches, alerts, drops, would_drops;
    _Atomic uint64_t last_ns; /* time of the last matching packet */
    _Atomic uint64_t limits;  /* packets in which the evaluation reached a work limit; an engine hand-over does not
                                 transfer this counter */
};
/* Counts, for each of these rules, a packet in which the evaluation of the rule reached a work limit. */
void policy_count_limits(struct policy *policy, const struct rule *const *rules, size_t count);
/* Returns the counters of a rule; NULL for number 0 and numbers from POLICY_MAX_TALLIES on, which are not counted. */
const struct rule_tally *policy_tally(const struct policy *policy, uint32_t number);

/* Rules that matched in a flow: the first FLOW_HISTORY_RULES different ones. */
enum { FLOW_HISTORY_RULES = 6 };
struct flow_history_rule {
    uint32_t gid, sid;
    uint32_t count;
    uint8_t action;  /* enum rule_action, of the last match */
    bool reported;   /* an alert was reported */
    bool blocked;    /* a packet was dropped */
    bool would_drop; /* a drop was not enforced because of alert-only */
    bool silenced;   /* a threshold or a suppression prevented an alert */
    uint64_t first_ns, last_ns;
};
struct flow_history {
    uint32_t count;
    uint32_t others; /* number of matches of rules beyond FLOW_HISTORY_RULES, which are not listed */
    struct flow_history_rule rules[FLOW_HISTORY_RULES];
};

struct policy_counters {
    uint64_t alerts, alerts_suppressed, alerts_overflow, dropped, rejected, passed;
    uint64_t threshold_memcap_hits;
    uint64_t exceptions[EXCEPTION_COUNT][EXCEPTION_POLICY_COUNT];
    uint64_t firewall_discarded; /* hits of other rules in packets that the firewall rules dropped */
    uint64_t flow_drops;         /* packets dropped because their flow is dropped */
};
const struct policy_counters *policy_counters(const struct policy *policy);
size_t policy_shared_memory(const struct policy_shared *shared);
uint64_t policy_thresholds_evicted(const struct policy *policy); /* threshold states evicted because of the memcap; the
                                                                    table is shared by all workers */

#endif
