/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The answers of the commands `top` and `alerts` of the control socket, for `sluice top` and `sluice alerts`.
 *
 * An answer has counters, not rates: a client computes rates from two answers and their `time_us`, so that several
 * clients do not disturb each other. Only the rates of talkers are computed here (talkers.h).
 *
 * Rules are ranked by reading the counters of all rules, which takes about 0.2 us for each rule and worker.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sluice/address.h"
#include "sluice/app.h"
#include "sluice/clock.h"
#include "sluice/detect.h"
#include "sluice/output.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/stats.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "control_commands.h"
#include "mode.h"
#include "rule_cost.h"
#include "talkers.h"

static void put_address(struct text *out, const char *key, const struct address *address, int version)
{
    char text[ADDRESS_TEXT_SIZE];

    address_format(address, version, false, text);
    json_string(out, key, text);
}

static void put_protocol(struct text *out, uint8_t protocol)
{
    const char *name = output_protocol_name(protocol);

    if (name)
        json_string(out, "proto", name);
    else
        json_printf(out, "proto", "%u", (unsigned)protocol);
}

/* --- Rules ---------------------------------------------------------------------------------------- */

/* The rules with the highest keys, highest first. */
struct ranking {
    unsigned count, max;
    struct {
        uint64_t key;
        size_t rule; /* index in the rule list */
    } entry[LIVE_MAX_RULES];
};

static void rank(struct ranking *ranking, uint64_t key, size_t rule)
{
    unsigned at = ranking->count < ranking->max ? ranking->count : ranking->max - 1;

    if (key == 0 || ranking->max == 0 || (ranking->count == ranking->max && ranking->entry[at].key >= key))
        return;
    for (; at > 0 && ranking->entry[at - 1].key < key; at--)
        ranking->entry[at] = ranking->entry[at - 1];
    ranking->entry[at].key = key;
    ranking->entry[at].rule = rule;
    ranking->count += ranking->count < ranking->max;
}

static void put_rule(struct text *out, const struct rule *rule, const struct worker *workers, unsigned count)
{
    const struct rule_tally_sum sum = explain_sum_tallies(rule->number, workers, count);
    const struct rule_ids ids = { .gid = rule->gid, .sid = rule->sid, .number = rule->number };

    json_object_open(out, NULL);
    json_uint(out, "gid", rule->gid);
    json_uint(out, "signature_id", rule->sid);
    json_uint(out, "rev", rule->revision);
    json_string(out, "action", rule_action_name(rule->action));
    json_string(out, "signature", rule->message);
    json_uint(out, "matches", sum.matches);
    json_uint(out, "alerts", sum.alerts);
    json_uint(out, "drops", sum.drops);
    json_uint(out, "would_drops", sum.would_drops);
    if (sum.last_ns > 0)
        output_time(out, "last", sum.last_ns);
    if (detector_is_timed(workers[0].pipeline.detector)) {
        const struct output_overload_rule cost = rule_cost_get(workers, count, &ids);

        json_uint(out, "evaluations", cost.evaluations);
        json_uint(out, "total_us", cost.total_us);
        json_uint(out, "max_us", cost.max_us);
    }
    json_object_close(out);
}

/* Writes `max` rules of each of three rankings: most matches, latest match, and most time. A rule in several rankings
 * is written once. */
static void put_rules(struct text *out, const struct service_options *options, unsigned max)
{
    const struct rule_list *rules = ruleset_rules(*options->ruleset);
    struct ranking by[3] = { { .max = max }, { .max = max }, { .max = max } };
    size_t written[3 * LIVE_MAX_RULES], count = 0;
    bool timed = detector_is_timed(options->workers[0].pipeline.detector);

    for (size_t i = 0; i < rule_list_count(rules); i++) {
        const struct rule *rule = rule_list_get(rules, i);
        const struct rule_tally_sum sum = explain_sum_tallies(rule->number, options->workers, options->worker_count);
        const struct rule_ids ids = { .number = rule->number };

        rank(&by[0], sum.matches, i);
        rank(&by[1], sum.last_ns, i);
        if (timed)
            rank(&by[2], rule_cost_get(options->workers, options->worker_count, &ids).total_us, i);
    }
    json_object_open(out, "rules");
    json_bool(out, "timed", timed);
    json_array_open(out, "list");
    for (unsigned k = 0; k < sizeof(by) / sizeof(by[0]); k++) {
        for (unsigned i = 0; i < by[k].count; i++) {
            size_t seen = 0;

            while (seen < count && written[seen] != by[k].entry[i].rule)
                seen++;
            if (seen < count)
                continue;
            written[count++] = by[k].entry[i].rule;
            put_rule(out, rule_list_get(rules, by[k].entry[i].rule), options->workers, options->worker_count);
        }
    }
    json_array_close(out);
    json_object_close(out);
}

/* --- Talkers -------------------------------------------------------------------------------------- */

static void put_talkers(struct text *out, const struct talkers_result *result, unsigned max)
{
    json_object_open(out, "talkers");
    json_uint(out, "visited", result->visited);
    json_bool(out, "rates", result->passes > 1);
    json_bool(out, "hosts_dropped", result->hosts_dropped);
    json_array_open(out, "hosts");
    for (unsigned i = 0; i < result->host_count && i < max; i++) {
        const struct talker_host *host = &result->hosts[i];

        json_object_open(out, NULL);
        put_address(out, "ip", &host->address, host->ip_version);
        json_uint(out, "flows", host->flows);
        json_uint(out, "sent", host->sent);
        json_uint(out, "received", host->received);
        json_uint(out, "packets", host->packets);
        json_object_close(out);
    }
    json_array_close(out);
    json_array_open(out, "flows");
    for (unsigned i = 0; i < result->flow_count && i < max; i++) {
        const struct talker_flow *found = &result->flows[i];
        const struct flow_sample *flow = &found->flow;

        json_object_open(out, NULL);
        json_uint(out, "flow_id", flow->id);
        put_protocol(out, flow->protocol);
        put_address(out, "src_ip", &flow->client, flow->ip_version);
        json_uint(out, "src_port", flow->client_port);
        put_address(out, "dest_ip", &flow->server, flow->ip_version);
        json_uint(out, "dest_port", flow->server_port);
        json_string(out, "app_proto", app_name_by_id(flow->application));
        json_string(out, "verdict", explain_verdict(flow->flags, flow->would_drop, flow->state));
        json_uint(out, "to_server", found->to_server);
        json_uint(out, "to_client", found->to_client);
        json_uint(out, "packets", found->packets);
        json_uint(out, "bytes", flow->bytes[FLOW_TO_SERVER] + flow->bytes[FLOW_TO_CLIENT]);
        json_object_close(out);
    }
    json_array_close(out);
    json_object_close(out);
}

/* --- Alerts --------------------------------------------------------------------------------------- */

void live_alerts_json(struct text *out, struct output *output, uint64_t after, unsigned max)
{
    struct output_recent_alert *alerts = calloc(max + 1u, sizeof(*alerts));
    size_t count = alerts ? output_recent_alerts(output, after, alerts, max) : 0;

    if (!alerts)
        out->failed = true;
    json_array_open(out, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct output_recent_alert *alert = &alerts[i];

        json_object_open(out, NULL);
        json_uint(out, "number", alert->number);
        output_time(out, "timestamp", alert->time_ns);
        if (alert->flow_id)
            json_uint(out, "flow_id", alert->flow_id);
        json_string(out, "event_type", "alert");
        if (alert->ip_version) {
            put_address(out, "src_ip", &alert->source, alert->ip_version);
            if (alert->source_port || alert->destination_port)
                json_uint(out, "src_port", alert->source_port);
            put_address(out, "dest_ip", &alert->destination, alert->ip_version);
            if (alert->source_port || alert->destination_port)
                json_uint(out, "dest_port", alert->destination_port);
            put_protocol(out, alert->protocol);
        }
        json_string(out, "app_proto", app_name_by_id(alert->application));
        json_object_open(out, "alert");
        json_string(out, "action", alert->blocked ? "blocked" : "allowed");
        json_uint(out, "gid", alert->gid);
        json_uint(out, "signature_id", alert->sid);
        json_uint(out, "rev", alert->revision);
        json_string(out, "signature", alert->message);
        json_string(out, "category", alert->category);
        json_uint(out, "severity", alert->severity);
        json_object_close(out);
        json_object_open(out, "sluice");
        if (alert->has_queue) {
            json_object_open(out, "queue");
            json_uint(out, "number", alert->queue);
            json_object_close(out);
        }
        if (alert->would_drop)
            json_bool(out, "would_drop", true);
        json_object_close(out);
        json_object_close(out);
    }
    json_array_close(out);
    free(alerts);
}

/* --- The answer ----------------------------------------------------------------------------------- */

void live_json(struct text *out, const struct service_options *options, struct talkers *talkers,
               const struct live_request *request, uint64_t uptime)
{
    const struct talkers_result *result =
        talkers && request->talkers ? talkers_read(talkers, options->workers, options->worker_count) : NULL;

    json_object_open(out, NULL);
    json_uint(out, "time_us", clock_monotonic_ns() / 1000);
    json_string(out, "version", SLUICE_VERSION);
    json_uint(out, "pid", (uint64_t)getppid());
    json_uint(out, "engine_pid", (uint64_t)getpid());
    json_uint(out, "uptime", uptime);
    json_uint(out, "generation", ruleset_generation(*options->ruleset));
    json_object_open(out, "ips");
    mode_json(options->mode, out);
    json_object_close(out);
    json_key(out, "stats", strlen("stats"));
    stats_json(options->stats, options->worker_list, options->worker_count, *options->ruleset, options->output, uptime,
               false, out);
    json_array_open(out, "queues");
    for (unsigned i = 0; i < options->worker_count; i++)
        control_queue_json(out, options->stats, &options->workers[i]);
    json_array_close(out);
    if (result)
        put_talkers(out, result, request->talkers);
    if (request->rules)
        put_rules(out, options, request->rules);
    if (request->alerts) {
        json_key(out, "alerts", strlen("alerts"));
        live_alerts_json(out, options->output, request->after, request->alerts);
    }
    json_object_close(out);
}
