/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Policy: from the rules that matched to the verdict and the alerts to report.
 *
 * Hits come in the order of actions. pass ends it: neither alerts nor drops after it count. Thresholds, suppressions and
 * rate filters decide what is reported; drops take effect as the field has it (a suppressed drop rule still drops,
 * a detection_filter that is not yet reached does neither).
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
#include "sluice/packet.h"

struct policy_shared;
struct policy;
struct turn;

struct policy_options {
    bool inline_mode;          /* drops take effect; otherwise they are reported as alerts with action allowed */
    unsigned packet_alert_max; /* alerts kept per packet */
    size_t threshold_memcap;   /* bytes */
};
void policy_options_default(struct policy_options *options);

/* 0 or -ENOMEM. The shared part outlives all policies made with it; it is NULL-safe to free. */
int policy_shared_new(struct policy_shared **out, const struct policy_options *options);
void policy_shared_free(struct policy_shared *shared);
int policy_new(struct policy **out, const struct policy_options *options, struct policy_shared *shared);
void policy_free(struct policy *policy);
/* Thresholds are touched in this turn; NULL (at first): at once. */
void policy_set_turn(struct policy *policy, struct turn *turn);

/* Applies the hits (rules of `rules`, which has the thresholds for all) to the packet: sets verdict, drop_reason and reject of it (and of pkt->root when inside a tunnel). */
void policy_apply(struct policy *policy, const struct rule_list *rules, struct packet *pkt, const struct hit *hits,
                  size_t hit_count, struct decision *out);

struct policy_counters {
    uint64_t alerts, alerts_suppressed, alerts_overflow, dropped, rejected, passed;
    uint64_t threshold_memcap_hits;
};
const struct policy_counters *policy_counters(const struct policy *policy);
size_t policy_shared_memory(const struct policy_shared *shared);

#endif
