/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes flows, rules and costs as JSON for `sluice explain` and `sluice costs`. A member has the name that EVE gives
 * it, if EVE has the value. */
#include <netinet/in.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/app.h"
#include "sluice/clock.h"
#include "sluice/daemon.h"
#include "sluice/decode.h"
#include "sluice/detect.h"
#include "sluice/exception.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/stream.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "control_commands.h"
#include "rule_cost.h"

/* --- Flows ---------------------------------------------------------------------------------------- */

static void put_address(struct text *out, const char *key, const struct address *address, int version)
{
    char text[ADDRESS_TEXT_SIZE];

    address_format(address, version, false, text);
    json_string(out, key, text);
}

static void put_ends(struct text *out, const struct flow *flow)
{
    const char *name = output_protocol_name(flow->protocol);
    bool has_ports = flow->protocol == IPPROTO_TCP || flow->protocol == IPPROTO_UDP || flow->protocol == IPPROTO_SCTP;
    bool is_icmp = flow->protocol == IPPROTO_ICMP || flow->protocol == IPPROTO_ICMPV6;

    put_address(out, "src_ip", &flow->client, flow->ip_version);
    if (has_ports)
        json_uint(out, "src_port", flow->client_port);
    put_address(out, "dest_ip", &flow->server, flow->ip_version);
    if (has_ports)
        json_uint(out, "dest_port", flow->server_port);
    if (name)
        json_string(out, "proto", name);
    else
        json_printf(out, "proto", "%u", (unsigned)flow->protocol);
    if (is_icmp) {
        json_uint(out, "icmp_type", flow->client_port);
        json_uint(out, "icmp_code", flow->server_port);
    }
    if (flow->vlan_count == 0)
        return;
    json_array_open(out, "vlan");
    for (unsigned i = 0; i < flow->vlan_count; i++)
        json_uint(out, NULL, flow->vlan_id[i]);
    json_array_close(out);
}

const char *explain_verdict(unsigned flags, unsigned would_drop, unsigned state)
{
    if (flags & FLOW_DROPPED)
        return "dropped";
    if (would_drop)
        return "would_drop";
    if (state == FLOW_BYPASSED)
        return "bypassed";
    return flags & FLOW_PASSED ? "passed" : "inspected";
}

static const char *message_of(const struct rule_list *rules, uint32_t gid, uint32_t sid)
{
    const struct rule *rule = rule_list_find(rules, gid, sid);

    return rule ? rule->message : NULL;
}

static void put_exceptions(struct text *out, const struct flow *flow)
{
    bool begun = false;

    for (enum exception_cause cause = EXCEPTION_NONE + 1; cause < EXCEPTION_COUNT; cause++) {
        if (flow->exceptions[cause] == 0)
            continue;
        if (!begun)
            json_array_open(out, "exceptions");
        begun = true;
        json_object_open(out, NULL);
        json_string(out, "cause", exception_cause_name(cause));
        json_string(out, "policy", exception_policy_name(flow->exceptions[cause] - 1u));
        json_object_close(out);
    }
    if (begun)
        json_array_close(out);
}

/* Writes the rules that have matched in the flow. */
static void put_history(struct text *out, const struct flow_copy *copy, const struct rule_list *rules)
{
    json_array_open(out, "rules");
    for (uint32_t i = 0; copy->has_history && i < copy->history.count; i++) {
        const struct flow_history_rule *rule = &copy->history.rules[i];

        json_object_open(out, NULL);
        json_uint(out, "gid", rule->gid);
        json_uint(out, "signature_id", rule->sid);
        json_string(out, "signature", message_of(rules, rule->gid, rule->sid));
        json_string(out, "action", rule_action_name(rule->action));
        json_uint(out, "matches", rule->count);
        json_bool(out, "reported", rule->reported);
        json_bool(out, "blocked", rule->blocked);
        if (rule->would_drop)
            json_bool(out, "would_drop", true);
        json_bool(out, "held_back", rule->silenced);
        output_time(out, "first", rule->first_ns);
        output_time(out, "last", rule->last_ns);
        json_object_close(out);
    }
    json_array_close(out);
    if (copy->has_history && copy->history.others > 0)
        json_uint(out, "matches_of_other_rules", copy->history.others);
}

void explain_flow(struct text *out, const struct flow_copy *copy, const struct rule_list *rules, unsigned worker,
                  bool all)
{
    const struct flow *flow = &copy->flow;

    json_object_open(out, NULL);
    json_uint(out, "flow_id", flow->id);
    json_uint(out, "worker", worker);
    put_ends(out, flow);
    if (copy->ended)
        json_bool(out, "over", true);
    json_string(out, "app_proto", app_name_by_id(app_flow_protocol(flow)));
    json_object_open(out, "flow");
    json_uint(out, "pkts_toserver", flow->side[FLOW_TO_SERVER].packets);
    json_uint(out, "pkts_toclient", flow->side[FLOW_TO_CLIENT].packets);
    json_uint(out, "bytes_toserver", flow->side[FLOW_TO_SERVER].bytes);
    json_uint(out, "bytes_toclient", flow->side[FLOW_TO_CLIENT].bytes);
    output_time(out, "start", flow->start_ns);
    output_time(out, "last", flow->last_ns);
    json_uint(out, "age", flow->last_ns > flow->start_ns ? (flow->last_ns - flow->start_ns) / NS_PER_SECOND : 0);
    json_string(out, "state", flow_state_name(flow->state));
    if (flow->protocol == IPPROTO_TCP && !(flow->flags & FLOW_NO_STREAM))
        json_string(out, "tcp_state", tcp_state_name(copy->tcp.state));
    json_bool(out, "alerted", flow->flags & FLOW_ALERTED);
    json_object_close(out);
    json_string(out, "verdict", explain_verdict(flow->flags, flow->would_drop, flow->state));
    if (flow->flags & FLOW_DROPPED || flow->would_drop) {
        json_object_open(out, flow->flags & FLOW_DROPPED ? "drop" : "would_drop");
        json_string(out, "reason", output_drop_reason_name(flow->drop_reason));
        if (flow->drop_sid != 0) {
            json_uint(out, "gid", flow->drop_gid);
            json_uint(out, "signature_id", flow->drop_sid);
            json_string(out, "signature", message_of(rules, flow->drop_gid, flow->drop_sid));
        }
        json_object_close(out);
    }
    put_exceptions(out, flow);
    if (all)
        put_history(out, copy, rules);
    json_object_close(out);
}

/* --- Rules ---------------------------------------------------------------------------------------- */

struct rule_tally_sum explain_sum_tallies(uint32_t number, const struct worker *workers, unsigned count)
{
    struct rule_tally_sum sum = { 0 };

    for (unsigned i = 0; i < count; i++) {
        const struct rule_tally *tally = policy_tally(workers[i].pipeline.policy, number);
        uint64_t last_ns = tally ? atomic_load_explicit(&tally->last_ns, memory_order_relaxed) : 0;

        if (!tally)
            continue;
        sum.matches += atomic_load_explicit(&tally->matches, memory_order_relaxed);
        sum.alerts += atomic_load_explicit(&tally->alerts, memory_order_relaxed);
        sum.drops += atomic_load_explicit(&tally->drops, memory_order_relaxed);
        sum.would_drops += atomic_load_explicit(&tally->would_drops, memory_order_relaxed);
        sum.limits += atomic_load_explicit(&tally->limits, memory_order_relaxed);
        sum.last_ns = last_ns > sum.last_ns ? last_ns : sum.last_ns;
    }
    return sum;
}

static unsigned count_suspended(uint32_t number, const struct worker *workers, unsigned count)
{
    uint64_t now_ns = clock_monotonic_ns();
    unsigned suspended = 0;

    for (unsigned i = 0; i < count; i++) {
        const struct rule_cost *cost = detector_cost(workers[i].pipeline.detector, number);

        suspended += cost && atomic_load_explicit(&cost->suspended_until_ns, memory_order_relaxed) > now_ns;
    }
    return suspended;
}

static void put_cost_members(struct text *out, const struct output_overload_rule *cost)
{
    json_uint(out, "evaluations", cost->evaluations);
    json_uint(out, "total_us", cost->total_us);
    json_uint(out, "max_us", cost->max_us);
    json_uint(out, "over_budget", cost->over_budget);
}

/* Writes the counters that show how much detection has to do, from the last snapshots of the workers. */
static void put_totals(struct text *out, const struct app_shared *apps, const struct worker *workers, unsigned count)
{
    static const char transactions[] = "app_layer.tx.";
    uint64_t packets = 0, bytes = 0, tx = 0;
    struct detect_counters sum = { 0 };

    for (unsigned i = 0; i < count; i++) {
        const struct worker_snapshot *snapshot = &workers[i].snapshot;

        for (size_t k = 0; k < decode_counter_count(); k++) {
            packets += strcmp(decode_counter_name(k), "pkts") == 0 ? snapshot->decode[k] : 0;
            bytes += strcmp(decode_counter_name(k), "bytes") == 0 ? snapshot->decode[k] : 0;
        }
        for (size_t k = 0; k < app_counter_count(); k++)
            tx += strncmp(app_counter_name(apps, k), transactions, strlen(transactions)) == 0 ? snapshot->app[k] : 0;
        sum.scans += snapshot->detect.scans;
        sum.bytes_scanned += snapshot->detect.bytes_scanned;
        sum.candidates += snapshot->detect.candidates;
        sum.evaluations += snapshot->detect.evaluations;
        sum.matches += snapshot->detect.matches;
    }
    json_object_open(out, "total");
    json_uint(out, "packets", packets);
    json_uint(out, "bytes", bytes);
    json_uint(out, "transactions", tx);
    json_uint(out, "scans", sum.scans);
    json_uint(out, "bytes_scanned", sum.bytes_scanned);
    json_uint(out, "candidates", sum.candidates);
    json_uint(out, "evaluations", sum.evaluations);
    json_uint(out, "matches", sum.matches);
    json_object_close(out);
}

void explain_costs(struct text *out, const struct ruleset *ruleset, const struct app_shared *apps,
                   const struct worker *workers, unsigned count)
{
    const struct rule_list *rules = ruleset_rules(ruleset);
    struct output_overload_rule costs[EXPLAIN_COSTS];
    struct search_sum searches[EXPLAIN_SEARCHES];
    unsigned found;

    json_object_open(out, NULL);
    put_totals(out, apps, workers, count);
    json_bool(out, "measured", count > 0 && detector_is_timed(workers[0].pipeline.detector));
    json_array_open(out, "searches");
    found = search_cost_ranking(workers, count, ruleset, searches, EXPLAIN_SEARCHES);
    for (unsigned i = 0; i < found; i++) {
        json_object_open(out, NULL);
        ruleset_describe_search(ruleset, searches[i].number, out);
        json_uint(out, "scans", searches[i].scans);
        json_uint(out, "bytes", searches[i].bytes);
        json_uint(out, "candidates", searches[i].candidates);
        json_object_close(out);
    }
    json_array_close(out);
    json_array_open(out, "rules");
    found = rule_cost_ranking(workers, count, rules, costs, EXPLAIN_COSTS);
    for (unsigned i = 0; i < found; i++) {
        json_object_open(out, NULL);
        json_uint(out, "gid", costs[i].gid);
        json_uint(out, "signature_id", costs[i].sid);
        json_string(out, "signature", message_of(rules, costs[i].gid, costs[i].sid));
        put_cost_members(out, &costs[i]);
        json_object_close(out);
    }
    json_array_close(out);
    json_object_close(out);
}

static void put_thresholds(struct text *out, const struct rule *rule)
{
    static const char *const kinds[] = {
        [THRESHOLD_LIMIT] = "limit",
        [THRESHOLD_THRESHOLD] = "threshold",
        [THRESHOLD_BOTH] = "both",
        [THRESHOLD_BACKOFF] = "backoff",
        [THRESHOLD_DETECTION_FILTER] = "detection_filter",
        [THRESHOLD_RATE_FILTER] = "rate_filter",
        [THRESHOLD_SUPPRESS] = "suppress",
    };

    if (!rule->thresholds)
        return;
    json_array_open(out, "thresholds");
    for (const struct threshold *t = rule->thresholds; t; t = t->next) {
        json_object_open(out, NULL);
        json_string(out, "type", kinds[t->kind]);
        if (t->kind != THRESHOLD_SUPPRESS) {
            json_uint(out, "count", t->count);
            json_uint(out, "seconds", t->seconds);
        } else if (t->addresses) {
            json_string(out, "addresses", t->addresses->text);
        }
        json_object_close(out);
    }
    json_array_close(out);
}

static void put_changes(struct text *out, const struct rule_change *changes)
{
    if (!changes)
        return;
    json_array_open(out, "policy");
    for (const struct rule_change *change = changes; change; change = change->next) {
        json_object_open(out, NULL);
        json_string(out, "file", change->at.file);
        json_uint(out, "line", change->at.line);
        json_string(out, "text", change->text);
        json_object_close(out);
    }
    json_array_close(out);
}

/* Writes the members of the answer about a rule. */
static void put_rule(struct text *out, const struct rule_list *rules, const struct rule_ids *ids,
                     const struct worker *workers, unsigned count)
{
    const struct rule *rule = rule_list_find(rules, ids->gid, ids->sid);
    const struct rule_failure *failure = rule ? NULL : rule_list_find_failure(rules, ids->gid, ids->sid);
    const struct rule_disabled *disabled = rule ? NULL : rule_list_find_disabled(rules, ids->gid, ids->sid);
    const struct rule_tally_sum sum = explain_sum_tallies(ids->number, workers, count);

    json_uint(out, "gid", ids->gid);
    json_uint(out, "signature_id", ids->sid);
    json_bool(out, "loaded", rule != NULL);
    if (count > 0) {
        json_uint(out, "matches", sum.matches);
        json_uint(out, "alerts", sum.alerts);
        json_uint(out, "drops", sum.drops);
        json_uint(out, "would_drops", sum.would_drops);
        json_uint(out, "inspection_limits", sum.limits);
    }
    if (sum.last_ns > 0)
        output_time(out, "last", sum.last_ns);
    if (count > 0 && detector_is_timed(workers[0].pipeline.detector)) {
        const struct output_overload_rule cost = rule_cost_get(workers, count, ids);

        json_object_open(out, "cost");
        put_cost_members(out, &cost);
        json_uint(out, "suspended_in_queues", count_suspended(ids->number, workers, count));
        json_object_close(out);
    }
    if (rule) {
        json_uint(out, "rev", rule->revision);
        json_string(out, "action", rule_action_name(rule->action));
        json_string(out, "signature", rule->message);
        json_string(out, "category", rule->class_description);
        json_uint(out, "severity", rule->priority);
        json_bool(out, "noalert", rule->noalert);
        json_bool(out, "alert_only", rule->alert_only);
        json_string(out, "file", rule->file);
        json_uint(out, "line", rule->line);
        json_string(out, "rule", rule->text);
        put_changes(out, rule->changes);
        put_thresholds(out, rule);
    } else if (failure) {
        json_string(out, "left_out_for", rule_failure_kind_name(failure->kind));
        json_string(out, "reason", failure->reason);
        json_string(out, "file", failure->file);
        json_uint(out, "line", failure->line);
        put_changes(out, failure->changes);
    } else if (disabled) {
        json_string(out, "disabled_by", !disabled->commented || disabled->changes ? "policy" : "comment");
        json_string(out, "file", disabled->file);
        json_uint(out, "line", disabled->line);
        json_string(out, "rule", disabled->text);
        put_changes(out, disabled->changes);
    }
}

void explain_rule(struct text *out, const struct rule_list *rules, const struct rule_ids *ids,
                  const struct worker *workers, unsigned count)
{
    json_object_open(out, NULL);
    put_rule(out, rules, ids, workers, count);
    json_object_close(out);
}

void explain_analysis(struct text *out, const struct ruleset *ruleset, uint32_t gid, uint32_t sid,
                      const struct worker *workers, unsigned count)
{
    const struct rule_list *rules = ruleset_rules(ruleset);
    const struct rule *rule = rule_list_find(rules, gid, sid);
    const struct rule_ids ids = { .gid = gid, .sid = sid, .number = rule ? rule->number : 0 };

    json_object_open(out, NULL);
    json_string(out, "source", count > 0 ? "daemon" : "configuration");
    put_rule(out, rules, &ids, workers, count);
    if (rule) {
        json_object_open(out, "analysis");
        ruleset_analyse(ruleset, rule, out);
        json_object_close(out);
    }
    json_object_close(out);
}
