/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Applies hits to a packet. The hits (rules that matched) are in the order of evaluation. For each hit, suppressions
 * are evaluated first, then thresholds; then the rule's action is applied and the alert is reported. A pass ends the
 * evaluation.
 *
 * Dropping a packet inside a tunnel drops the packet that carries it, because only that one has a verdict.
 *
 * In alert-only mode the packet passes, and inspection of its flow continues because its later packets pass too. A drop
 * of the flow therefore sets flow.would_drop, and later packets of the flow are counted. FLOW_DROPPED is not set,
 * because it would end stream reassembly. An exception policy that drops acts like `ignore`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "policy_priv.h"
#include "sluice/pool.h"
#include "sluice/replay_order.h"

struct policy_shared {
    struct threshold_table *thresholds;
    struct host_tags *host_tags;
};

struct policy {
    struct policy_options options;
    struct policy_shared *shared;
    struct replay_order *order; /* replay ordering; NULL in the daemon and with a single worker */
    struct pool *flow_tags, *histories;
    struct pool *tally_pool; /* a pool of one object, the array of tallies: its unused pages need no memory */
    struct rule_tally *tallies;
    struct alert *alerts;
    struct policy_counters counters;
};

static const char *const mode_names[] = { [IPS_MODE_DROP] = "drop", [IPS_MODE_ALERT_ONLY] = "alert-only" };

const char *ips_mode_name(enum ips_mode mode)
{
    return mode_names[mode];
}

bool ips_mode_parse(const char *name, enum ips_mode *out)
{
    for (enum ips_mode mode = IPS_MODE_DROP; mode <= IPS_MODE_ALERT_ONLY; mode++) {
        if (strcmp(name, mode_names[mode]) == 0) {
            *out = mode;
            return true;
        }
    }
    return false;
}

int policy_shared_new(struct policy_shared **out, const struct policy_options *options)
{
    struct policy_shared *shared = calloc(1, sizeof(*shared));

    if (!shared)
        return -ENOMEM;
    if (threshold_table_new(&shared->thresholds, options->threshold_memcap, options->seed) ||
        host_tags_new(&shared->host_tags, options->tag_memcap, options->seed)) {
        policy_shared_free(shared);
        return -ENOMEM;
    }
    *out = shared;
    return 0;
}

void policy_shared_free(struct policy_shared *shared)
{
    if (!shared)
        return;
    threshold_table_free(shared->thresholds);
    host_tags_free(shared->host_tags);
    free(shared);
}

int policy_new(struct policy **out, const struct policy_options *options, struct policy_shared *shared)
{
    struct policy *policy = calloc(1, sizeof(*policy));

    if (!policy)
        return -ENOMEM;
    policy->options = *options;
    policy->shared = shared;
    policy->alerts = calloc(options->packet_alert_max + 1, sizeof(*policy->alerts));
    if (!policy->alerts || flow_tags_new(&policy->flow_tags, options->tag_memcap) ||
        pool_new(&policy->histories, sizeof(struct flow_history), options->history_memcap) ||
        pool_new(&policy->tally_pool, POLICY_MAX_TALLIES * sizeof(*policy->tallies), 0)) {
        policy_free(policy);
        return -ENOMEM;
    }
    policy->tallies = pool_alloc(policy->tally_pool);
    *out = policy;
    return 0;
}

void policy_transfer_tallies(struct transfer *t, struct policy *policy, struct rule_names *names)
{
    rule_tallies_transfer(t, policy->tallies, names);
}

void policy_free(struct policy *policy)
{
    if (!policy)
        return;
    free(policy->alerts);
    pool_free(policy->flow_tags);
    pool_free(policy->histories);
    pool_free(policy->tally_pool);
    free(policy);
}

void policy_set_replay_order(struct policy *policy, struct replay_order *order)
{
    policy->order = order;
}

void policy_set_mode(struct policy *policy, enum ips_mode mode)
{
    policy->options.mode = mode;
}

void policy_set_exceptions(struct policy *policy, const enum exception_policy exceptions[EXCEPTION_COUNT])
{
    memcpy(policy->options.exceptions, exceptions, sizeof(policy->options.exceptions));
}

void policy_flow_end(struct policy *policy, struct flow *flow)
{
    pool_release(policy->flow_tags, flow->tag);
    flow->tag = NULL;
    pool_release(policy->histories, flow->history);
    flow->history = NULL;
}

void policy_transfer_history(struct transfer *t, struct policy *policy, struct flow *flow)
{
    history_transfer(t, policy->histories, flow);
}

void policy_transfer_tag(struct transfer *t, struct policy *policy, struct flow *flow)
{
    tag_transfer_flow(t, policy->flow_tags, flow);
}

void policy_shared_transfer_thresholds(struct transfer *t, struct policy_shared *shared, uint64_t now_ns)
{
    threshold_table_transfer(t, shared->thresholds, now_ns);
}

void policy_shared_transfer_tags(struct transfer *t, struct policy_shared *shared)
{
    host_tags_transfer(t, shared->host_tags);
}

void policy_count_limits(struct policy *policy, const struct rule *const *rules, size_t count)
{
    for (size_t i = 0; i < count; i++)
        count_rule_limit(policy->tallies, rules[i]);
}

const struct rule_tally *policy_tally(const struct policy *policy, uint32_t number)
{
    return number > 0 && number < POLICY_MAX_TALLIES ? &policy->tallies[number] : NULL;
}

const struct policy_counters *policy_counters(const struct policy *policy)
{
    return &policy->counters;
}

uint64_t policy_thresholds_evicted(const struct policy *policy)
{
    return threshold_table_evicted(policy->shared->thresholds);
}

size_t policy_shared_memory(const struct policy_shared *shared)
{
    return threshold_table_memory(shared->thresholds);
}

/* --- Thresholds ----------------------------------------------------------------------------------- */

/* Evaluates the suppressions of a list or (`suppressions` false) its other thresholds. Stops at the first one whose
 * outcome is not OUTCOME_REPORT, and returns that outcome. */
static enum threshold_outcome evaluate_list(struct policy *policy, const struct threshold *list, bool suppressions,
                                            const struct rule *rule, const struct packet *pkt, enum rule_action *action)
{
    for (const struct threshold *t = list; t; t = t->next) {
        if ((t->kind == THRESHOLD_SUPPRESS) != suppressions)
            continue;
        if (t->kind == THRESHOLD_DETECTION_FILTER && rule->firewall)
            continue; /* policy_reaches_filter() has counted the match */
        if (!suppressions)
            replay_order_wait(policy->order);
        enum threshold_outcome outcome =
            threshold_apply(policy->shared->thresholds, t, rule, pkt, action, &policy->counters.threshold_memcap_hits);

        if (outcome != OUTCOME_REPORT)
            return outcome;
    }
    return OUTCOME_REPORT;
}

static enum threshold_outcome evaluate_thresholds(struct policy *policy, const struct rule_list *rules,
                                                  const struct rule *rule, const struct packet *pkt,
                                                  enum rule_action *action)
{
    const struct threshold *global = rule_list_global_thresholds(rules, rule->gid);
    enum threshold_outcome outcome = OUTCOME_REPORT;

    if (pkt->ip_version == 0 || (!rule->thresholds && !global))
        return OUTCOME_REPORT;
    for (int suppressions = 1; suppressions >= 0 && outcome == OUTCOME_REPORT; suppressions--) {
        outcome = evaluate_list(policy, rule->thresholds, suppressions, rule, pkt, action);
        if (outcome == OUTCOME_REPORT)
            outcome = evaluate_list(policy, global, suppressions, rule, pkt, action);
    }
    return outcome;
}

bool policy_reaches_filter(void *user, const struct rule *rule, const struct packet *pkt)
{
    struct policy *policy = user;
    enum rule_action action = rule->action;

    for (const struct threshold *t = rule->thresholds; t && pkt->ip_version != 0; t = t->next) {
        if (t->kind != THRESHOLD_DETECTION_FILTER)
            continue;
        replay_order_wait(policy->order);
        if (threshold_apply(policy->shared->thresholds, t, rule, pkt, &action,
                            &policy->counters.threshold_memcap_hits) == OUTCOME_IGNORE)
            return false;
    }
    return true;
}

/* --- Actions -------------------------------------------------------------------------------------- */

static enum reject_kind reject_kind_of(enum rule_action action)
{
    switch (action) {
    case ACTION_REJECT:
        return REJECT_SOURCE;
    case ACTION_REJECT_DESTINATION:
        return REJECT_DESTINATION;
    case ACTION_REJECT_BOTH:
        return REJECT_BOTH;
    default:
        return REJECT_NONE;
    }
}

static enum drop_reason drop_reason_of_root(const struct packet *pkt, enum drop_reason reason)
{
    return pkt->flags & PACKET_REASSEMBLED && !(pkt->root->flags & PACKET_CARRIES_TUNNEL) ? reason : DROP_REASON_TUNNEL;
}

static void drop_packet(struct packet *pkt, enum drop_reason reason)
{
    if (pkt->flags & PACKET_PSEUDO)
        return; /* pseudo packets are never sent */
    if (pkt->verdict != VERDICT_DROP) {
        pkt->verdict = VERDICT_DROP;
        pkt->drop_reason = reason;
    }
    if (pkt->root && pkt->root != pkt && pkt->root->verdict != VERDICT_DROP) {
        pkt->root->verdict = VERDICT_DROP;
        pkt->root->drop_reason = drop_reason_of_root(pkt, reason);
    }
}

/* Called instead of drop_packet() in alert-only mode. Like drop_packet(), it keeps the first reason. */
static void mark_would_drop(struct packet *pkt, enum drop_reason reason)
{
    if (pkt->flags & PACKET_PSEUDO)
        return;
    if (pkt->would_drop == DROP_REASON_NONE)
        pkt->would_drop = reason;
    if (pkt->root && pkt->root != pkt && pkt->root->would_drop == DROP_REASON_NONE)
        pkt->root->would_drop = drop_reason_of_root(pkt, reason);
}

static void set_flow_drop_reason(struct flow *flow, enum drop_reason reason, const struct rule *rule)
{
    flow->drop_by_exception = !rule;
    flow->drop_reason = (uint8_t)reason;
    flow->drop_gid = rule ? rule->gid : 0;
    flow->drop_sid = rule ? rule->sid : 0;
}

static void drop_flow(struct flow *flow, enum drop_reason reason, const struct rule *rule)
{
    if (flow->flags & (FLOW_DROPPED | FLOW_PASSED))
        return; /* the first decision stays in force */
    /* These flags may be set by a would_drop event of the flow. They are cleared, so that the drop event is written. */
    if (flow->would_drop)
        flow->flags &= (uint16_t) ~(FLOW_DROP_LOGGED | FLOW_DROP_LOGGED_TO_CLIENT);
    flow->flags |= FLOW_DROPPED;
    flow->would_drop = FLOW_WOULD_DROP_NO;
    set_flow_drop_reason(flow, reason, rule);
}

/* Called instead of drop_flow() in alert-only mode. */
static void mark_flow_would_drop(struct flow *flow, enum drop_reason reason, const struct rule *rule,
                                 enum flow_would_drop by)
{
    if (flow->flags & (FLOW_DROPPED | FLOW_PASSED) || flow->would_drop == FLOW_WOULD_DROP_BY_MODE ||
        flow->would_drop == by)
        return;
    flow->would_drop = (uint8_t)by;
    set_flow_drop_reason(flow, reason, rule);
}

static bool is_alert_only(const struct policy *policy, const struct rule *rule)
{
    return rule->alert_only || policy->options.mode == IPS_MODE_ALERT_ONLY;
}

static void apply_alert_only(struct policy *policy, struct packet *pkt, const struct hit *hit, enum rule_action action,
                             struct decision *decision)
{
    const struct rule *rule = hit->rule;
    enum drop_reason reason = action == rule->action ? DROP_REASON_RULES : DROP_REASON_RATE_FILTER;

    if (hit->of_flow && pkt->flow)
        mark_flow_would_drop(pkt->flow, DROP_REASON_RULES, rule,
                             policy->options.mode == IPS_MODE_ALERT_ONLY ? FLOW_WOULD_DROP_BY_MODE
                                                                         : FLOW_WOULD_DROP_BY_RULE);
    if (!decision->would_drop_rule)
        decision->would_drop_rule = rule;
    count_rule_would_drop(policy->tallies, rule);
    mark_would_drop(pkt, reason);
    pkt->would_reject |= reject_kind_of(action) != REJECT_NONE;
}

static void apply_action(struct policy *policy, struct packet *pkt, const struct hit *hit, enum rule_action action,
                         struct decision *decision)
{
    const struct rule *rule = hit->rule;
    struct flow *flow = hit->of_flow ? pkt->flow : NULL;

    if (action == ACTION_PASS && flow && !(flow->flags & FLOW_DROPPED) && pkt->verdict != VERDICT_DROP)
        flow->flags |= FLOW_PASSED;
    if (rule->bypass && pkt->flow)
        pkt->flow->flags |= FLOW_BYPASS_REQUESTED;
    if (!rule_action_drops(action))
        return;
    if (!policy->options.inline_mode) {
        /* IDS mode neither drops packets nor sends reject packets. The rule is recorded in the flow, because events
         * report the action that it demands, as in Suricata. */
        if (flow && flow->drop_sid == 0 && !(flow->flags & FLOW_PASSED))
            set_flow_drop_reason(flow, DROP_REASON_RULES, rule);
        pkt->reject |= reject_kind_of(action);
        return;
    }
    if (is_alert_only(policy, rule)) {
        apply_alert_only(policy, pkt, hit, action, decision);
        return;
    }
    if (flow)
        drop_flow(flow, DROP_REASON_RULES, rule);
    if (!decision->drop_rule)
        decision->drop_rule = rule;
    if (rule->block != RULE_BLOCK_NONE && !decision->block_rule)
        decision->block_rule = rule;
    count_rule_drop(policy->tallies, rule);
    drop_packet(pkt, action == rule->action ? DROP_REASON_RULES : DROP_REASON_RATE_FILTER);
    pkt->reject |= reject_kind_of(action);
}

static void report_alert(struct policy *policy, struct packet *pkt, const struct hit *hit, enum rule_action action,
                         struct decision *decision)
{
    bool drops = rule_action_drops(action) && policy->options.inline_mode;

    if (pkt->flow)
        pkt->flow->flags |= FLOW_ALERTED;
    if (decision->alert_count == policy->options.packet_alert_max) {
        policy->counters.alerts_overflow++;
        return;
    }
    policy->alerts[decision->alert_count++] = (struct alert){
        .rule = hit->rule,
        .action = action,
        .blocked = policy->options.inline_mode ? drops && !is_alert_only(policy, hit->rule)
                                               : reject_kind_of(action) != REJECT_NONE,
        .would_drop = drops && is_alert_only(policy, hit->rule),
        .in_stream = hit->in_stream,
        .tx = hit->tx,
        .tx_guessed = hit->tx_guessed,
        .frame = hit->frame,
        .first_text = hit->first_text,
        .text_count = hit->text_count,
        .filter = hit->filter,
    };
    count_rule_alert(policy->tallies, hit->rule);
    policy->counters.alerts++;
}

/* Returns whether a match of the rule is an alert. */
static bool reports_alert(const struct rule *rule, enum rule_action action)
{
    return rule->firewall || action == ACTION_PASS ? rule->alert : !rule->noalert;
}

static void record_match(struct policy *policy, const struct packet *pkt, const struct rule *rule,
                         enum rule_action action, enum threshold_outcome outcome)
{
    bool drops = outcome != OUTCOME_IGNORE && rule_action_drops(action) && policy->options.inline_mode;
    const struct history_match match = {
        .rule = rule,
        .action = action,
        .reported = outcome == OUTCOME_REPORT && reports_alert(rule, action),
        .blocked = drops && !is_alert_only(policy, rule),
        .would_drop = drops && is_alert_only(policy, rule),
        .silenced = outcome != OUTCOME_REPORT,
    };

    if (pkt->flow)
        history_record_match(policy->histories, pkt->flow, pkt, &match);
}

/* --- Firewall rules ------------------------------------------------------------------------------- */

/* Counts a match of a firewall rule, and reports its alert. Its action is part of the decision of all firewall rules.
 */
static void report_firewall_hit(struct policy *policy, const struct rule_list *rules, struct packet *pkt,
                                const struct hit *hit, struct decision *out)
{
    const struct rule *rule = hit->rule;
    enum rule_action action = rule->action;
    enum threshold_outcome outcome =
        rule->alert ? evaluate_thresholds(policy, rules, rule, pkt, &action) : OUTCOME_SILENT;

    count_rule_match(policy->tallies, rule, pkt);
    if (rule->alert || rule->scope == RULE_SCOPE_FLOW || rule_action_drops(rule->action))
        record_match(policy, pkt, rule, rule->action, outcome);
    if (rule->tag)
        tag_add(policy->flow_tags, policy->shared->host_tags, policy->order, pkt, rule);
    if (outcome == OUTCOME_REPORT)
        report_alert(policy, pkt, hit, rule->action, out);
    else if (rule->alert)
        policy->counters.alerts_suppressed++;
}

/* Drops the packet, and with scope flow its flow: also a flow that a pass rule has passed. */
static void apply_firewall_drop(struct policy *policy, struct packet *pkt, const struct filter_decision *filter,
                                struct decision *out)
{
    struct flow *flow = filter->match.policy.scope == RULE_SCOPE_FLOW ? pkt->flow : NULL;
    enum reject_kind reject = reject_kind_of(filter->match.policy.action);

    out->drop_filter = filter->match;
    if (policy->options.mode == IPS_MODE_ALERT_ONLY) {
        if (flow)
            mark_flow_would_drop(flow, filter->reason, filter->rule, FLOW_WOULD_DROP_BY_MODE);
        out->would_drop_rule = filter->rule;
        mark_would_drop(pkt, filter->reason);
        pkt->would_reject |= reject != REJECT_NONE;
        return;
    }
    if (flow) {
        flow->flags &= (uint16_t)~FLOW_PASSED;
        drop_flow(flow, filter->reason, filter->rule);
        flow->drop_by_exception = false;
    }
    out->drop_rule = filter->rule;
    if (filter->rule)
        count_rule_drop(policy->tallies, filter->rule);
    drop_packet(pkt, filter->reason);
    pkt->reject |= reject;
}

/* Applies the decision of the firewall rules. Returns true if it drops the packet. */
static bool apply_firewall(struct policy *policy, struct packet *pkt, const struct filter_decision *filter,
                           struct decision *out)
{
    for (uint32_t i = 0; i < filter->alert_count; i++) {
        const struct filter_alert *alert = &filter->alerts[i];
        const struct hit hit = { .rule = alert->rule, .tx = alert->tx, .filter = alert->match };

        report_alert(policy, pkt, &hit, alert->match.policy.action, out);
    }
    if (filter->verdict == FILTER_DROP) {
        apply_firewall_drop(policy, pkt, filter, out);
        return policy->options.mode != IPS_MODE_ALERT_ONLY;
    }
    if (filter->accept_flow && pkt->flow)
        pkt->flow->accepted = true;
    if (filter->pass != RULE_SCOPE_DEFAULT) {
        out->passed = true;
        policy->counters.passed++;
    }
    if (filter->pass == RULE_SCOPE_FLOW && pkt->flow)
        pkt->flow->flags |= FLOW_PASSED;
    return false;
}

/* --- Rules ---------------------------------------------------------------------------------------- */

void policy_apply(struct policy *policy, const struct rule_list *rules, struct packet *pkt, const struct hit *hits,
                  size_t hit_count, const struct filter_decision *filter, struct decision *out)
{
    size_t i = 0;

    *out = (struct decision){ .alerts = policy->alerts };
    if (filter && filter->verdict != FILTER_NONE) {
        out->filtered = true;
        for (; i < hit_count && hits[i].rule->firewall; i++)
            report_firewall_hit(policy, rules, pkt, &hits[i], out);
        if (apply_firewall(policy, pkt, filter, out)) {
            policy->counters.firewall_discarded += hit_count - i;
            hit_count = i;
        }
    }
    for (; i < hit_count; i++) {
        const struct rule *rule = hits[i].rule;
        enum rule_action action = rule->action;
        enum threshold_outcome outcome = evaluate_thresholds(policy, rules, rule, pkt, &action);

        count_rule_match(policy->tallies, rule, pkt);
        record_match(policy, pkt, rule, action, outcome);
        if (outcome == OUTCOME_IGNORE) {
            policy->counters.alerts_suppressed++;
            continue;
        }
        if (rule->tag)
            tag_add(policy->flow_tags, policy->shared->host_tags, policy->order, pkt, rule);
        apply_action(policy, pkt, &hits[i], action, out);
        if (action == ACTION_PASS) {
            out->passed = true;
            policy->counters.passed++;
            if (rule->alert && outcome == OUTCOME_REPORT)
                report_alert(policy, pkt, &hits[i], action, out);
            break;
        }
        if (outcome == OUTCOME_SILENT || rule->noalert)
            policy->counters.alerts_suppressed++;
        else
            report_alert(policy, pkt, &hits[i], action, out);
    }
    out->tagged = tag_count_packet(policy->shared->host_tags, rule_list_has_host_tags(rules), policy->order, pkt);
    if (out->drop_rule && !out->drop_rule->firewall) {
        policy->counters.dropped++;
        policy->counters.rejected += pkt->reject != REJECT_NONE;
    }
}

/* --- Decisions without a rule --------------------------------------------------------------------- */

void policy_drop(struct policy *policy, struct packet *pkt, enum drop_reason reason)
{
    if (policy->options.inline_mode && policy->options.mode == IPS_MODE_ALERT_ONLY)
        mark_would_drop(pkt, reason);
    else if (policy->options.inline_mode)
        drop_packet(pkt, reason);
}

bool policy_demands_drop(const struct policy *policy, const struct flow *flow)
{
    return !policy->options.inline_mode && flow->drop_sid != 0;
}

bool policy_flow(struct policy *policy, struct packet *pkt)
{
    struct flow *flow = pkt->flow;
    enum drop_reason reason = drop_reason_is_firewall((enum drop_reason)flow->drop_reason) ? DROP_REASON_FIREWALL_FLOW
                              : flow->drop_by_exception                                    ? DROP_REASON_EXCEPTION_FLOW
                                                                                           : DROP_REASON_FLOW;

    /* Alert-only releases a dropped flow. Its stream reassembly was stopped at the drop, so its packets are inspected
     * one by one. */
    if (flow->flags & FLOW_DROPPED && policy->options.mode == IPS_MODE_ALERT_ONLY) {
        flow->flags &= (uint16_t) ~(FLOW_DROPPED | FLOW_DROP_LOGGED | FLOW_DROP_LOGGED_TO_CLIENT);
        flow->would_drop = FLOW_WOULD_DROP_BY_MODE;
        flow->offload = OFFLOAD_NONE;
    }
    /* When drops are enforced again, only new matches drop the flow. Address-only rules are evaluated once per flow, so
     * their evaluation is repeated. */
    if (flow->would_drop == FLOW_WOULD_DROP_BY_MODE && policy->options.mode == IPS_MODE_DROP) {
        flow->would_drop = FLOW_WOULD_DROP_NO;
        flow->drop_gid = flow->drop_sid = 0;
        flow->flags &= (uint16_t) ~(FLOW_IP_ONLY_TO_SERVER | FLOW_IP_ONLY_TO_CLIENT | FLOW_DROP_LOGGED |
                                    FLOW_DROP_LOGGED_TO_CLIENT);
    }
    if (flow->flags & FLOW_DROPPED) {
        policy->counters.flow_drops++;
        policy_drop(policy, pkt, reason);
        return true;
    }
    if (flow->would_drop)
        mark_would_drop(pkt, reason);
    return flow->flags & FLOW_PASSED || flow->state == FLOW_BYPASSED || policy_demands_drop(policy, flow);
}

static const enum drop_reason exception_reasons[EXCEPTION_COUNT] = {
    [EXCEPTION_DEFRAG_MEMCAP] = DROP_REASON_DEFRAG_MEMCAP,
    [EXCEPTION_FLOW_MEMCAP] = DROP_REASON_FLOW_MEMCAP,
    [EXCEPTION_STREAM_MEMCAP] = DROP_REASON_STREAM_MEMCAP,
    [EXCEPTION_STREAM_REASSEMBLY] = DROP_REASON_STREAM_REASSEMBLY,
    [EXCEPTION_STREAM_MIDSTREAM] = DROP_REASON_STREAM_MIDSTREAM,
    [EXCEPTION_STREAM_INVALID] = DROP_REASON_STREAM_ERROR,
    [EXCEPTION_APP_ERROR] = DROP_REASON_APP_ERROR,
    [EXCEPTION_APP_MEMCAP] = DROP_REASON_APP_MEMCAP,
    [EXCEPTION_OVERLOAD] = DROP_REASON_OVERLOAD,
    [EXCEPTION_APP_AMBIGUOUS] = DROP_REASON_APP_AMBIGUOUS,
};

static bool is_drop_policy(enum exception_policy action)
{
    return action >= EXCEPTION_DROP_PACKET;
}

bool policy_exception_drops(const struct policy *policy, enum exception_cause cause)
{
    return policy->options.inline_mode && is_drop_policy(policy->options.exceptions[cause]);
}

bool policy_exception(struct policy *policy, struct packet *pkt, enum exception_cause cause)
{
    enum exception_policy action = policy->options.exceptions[cause];
    enum drop_reason reason = exception_reasons[cause];

    if (is_drop_policy(action) && !policy->options.inline_mode)
        action = EXCEPTION_IGNORE;
    if (is_drop_policy(action) && pkt->flow && pkt->flow->flags & FLOW_PASSED)
        return true; /* the first decision stays in force, also for later packets */
    if (is_drop_policy(action) && policy->options.mode == IPS_MODE_ALERT_ONLY) {
        mark_would_drop(pkt, reason);
        if (action > EXCEPTION_DROP_PACKET && pkt->flow)
            mark_flow_would_drop(pkt->flow, reason, NULL, FLOW_WOULD_DROP_BY_MODE);
        pkt->would_reject |= action >= EXCEPTION_REJECT;
        action = EXCEPTION_IGNORE;
    }
    policy->counters.exceptions[cause][action]++;
    if (pkt->flow) {
        struct flow *flow = pkt->flow;

        flow->exceptions[cause] = (uint8_t)(action + 1);
        if (action > EXCEPTION_DROP_PACKET)
            drop_flow(flow, reason, NULL);
        if (action == EXCEPTION_PASS_FLOW && !(flow->flags & FLOW_DROPPED))
            flow->flags |= FLOW_PASSED | FLOW_ACCEPTED_BY_EXCEPTION;
        if (action == EXCEPTION_BYPASS)
            flow->flags |= FLOW_BYPASS_REQUESTED;
    }
    if (is_drop_policy(action)) {
        drop_packet(pkt, reason);
        if (action >= EXCEPTION_REJECT)
            pkt->reject |= action == EXCEPTION_REJECT ? REJECT_SOURCE : REJECT_BOTH;
    }
    return action != EXCEPTION_IGNORE;
}

void policy_shed(struct policy *policy, struct flow *flow)
{
    policy->counters.exceptions[EXCEPTION_OVERLOAD][EXCEPTION_BYPASS]++;
    flow->exceptions[EXCEPTION_OVERLOAD] = EXCEPTION_BYPASS + 1;
    flow->flags |= FLOW_BYPASS_REQUESTED;
}
