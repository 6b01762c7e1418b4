/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The commands of the control socket. The main thread waits here for signals and clients. It reads the workers'
 * counters from snapshots and requests flows from the workers, which reply between two batches of packets.
 *
 * Threads:   the main thread.
 * Ownership: the service keeps the queries until its end, because a worker that does not answer in time may still write
 * to its query later.
 */
#include "control_commands.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/address.h"
#include "sluice/config.h"
#include "sluice/control.h"
#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"
#include "sluice/flow.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/stats.h"
#include "sluice/supervisor_channel.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "confinement.h"
#include "mode.h"
#include "reload.h"
#include "rule_cost.h"
#include "talkers.h"

#define NO_TICKET UINT64_MAX

enum {
    MAX_TICKETS = 64,
    MAX_RULES = 1024,
    MAX_FLOWS = 1024,
    DEFAULT_FLOWS = 256,
    FLOW_PAGES = 64,
    MAX_WALK_PAGES = 2048,
    MAX_MODE_SECONDS = 366 * 86400
};

/* A client that waits for the result of a reload. */
struct waiting_client {
    uint64_t ticket;
    unsigned number; /* number of the reload that the client waits for */
};

struct service {
    struct service_options options;
    struct control_server *server; /* NULL: no control socket */
    struct worker_query *queries;  /* one for each worker */
    struct talkers *talkers;       /* created by the first request for talkers */
    struct waiting_client waiting[MAX_TICKETS];
    unsigned waiting_count;
    /* Ticket of the client that requested an upgrade and waits for the next engine; NO_TICKET: none. */
    uint64_t upgrade;
    int events_error; /* last error of the event file that was logged; 0: none */
};

static uint64_t uptime(const struct service *service)
{
    return stats_uptime(service->options.stats, service->options.started_ns);
}

/* Requests the snapshots of all workers before it waits for any, so that it waits only as long as the slowest worker.
 * Returns true if all workers have answered. */
static bool take_snapshots(struct service *service)
{
    const struct service_options *options = &service->options;
    bool all = true;

    for (unsigned i = 0; i < options->worker_count; i++)
        worker_request_snapshot(&options->workers[i]);
    for (unsigned i = 0; i < options->worker_count; i++)
        all &= worker_wait_snapshot(&options->workers[i]);
    return all;
}

/* --- status, stats, queues ------------------------------------------------------------------------ */

static void status(void *user, struct control_request *request)
{
    struct service *service = user;
    bool answering = take_snapshots(service);

    control_status_json(control_answer(request), &service->options, uptime(service), answering);
}

static void stats(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct service_options *options = &service->options;

    if (!take_snapshots(service)) {
        control_fail(request, "a worker does not answer");
        return;
    }
    stats_json(options->stats, options->worker_list, options->worker_count, *options->ruleset, options->output,
               uptime(service), control_answer(request));
}

static void queues(void *user, struct control_request *request)
{
    struct service *service = user;
    struct text *out;

    take_snapshots(service);
    out = control_answer(request);
    json_array_open(out, NULL);
    for (unsigned i = 0; i < service->options.worker_count; i++)
        control_queue_json(out, service->options.stats, &service->options.workers[i]);
    json_array_close(out);
}

static void costs(void *user, struct control_request *request)
{
    const struct service_options *options = &((const struct service *)user)->options;

    if (!detector_is_timed(options->workers[0].pipeline.detector)) {
        control_fail(request, "rules are not timed: set detect.packet-budget or detect.rule-budget");
        return;
    }
    explain_costs(control_answer(request), ruleset_rules(*options->ruleset), options->workers, options->worker_count);
}

/* --- top, alerts ---------------------------------------------------------------------------------- */

/* Reads a number from 0 to `max`. Returns false after an error answer. */
static bool read_count(struct control_request *request, const char *name, unsigned max, unsigned *out)
{
    int64_t value = control_number(request, name, 0);

    if (value < 0 || value > max) {
        control_fail(request, "\"%s\" must be a number from 0 to %u", name, max);
        return false;
    }
    *out = (unsigned)value;
    return true;
}

static void top(void *user, struct control_request *request)
{
    struct service *service = user;
    int64_t after = control_number(request, "after", 0);
    struct live_request wanted = { .after = after > 0 ? (uint64_t)after : 0 };

    if (!read_count(request, "rules", LIVE_MAX_RULES, &wanted.rules) ||
        !read_count(request, "talkers", LIVE_MAX_TALKERS, &wanted.talkers) ||
        !read_count(request, "alerts", OUTPUT_RECENT_ALERTS, &wanted.alerts))
        return;
    if (wanted.talkers && !service->talkers && talkers_new(&service->talkers, service->options.worker_count)) {
        control_fail(request, "out of memory");
        return;
    }
    if (!take_snapshots(service))
        control_fail(request, "a worker does not answer");
    else
        live_json(control_answer(request), &service->options, service->talkers, &wanted, uptime(service));
}

static void alerts(void *user, struct control_request *request)
{
    struct service *service = user;
    int64_t after = control_number(request, "after", 0), limit = control_number(request, "limit", OUTPUT_RECENT_ALERTS);

    if (limit < 1 || limit > OUTPUT_RECENT_ALERTS || after < 0)
        control_fail(request, "\"limit\" must be 1 to %d, and \"after\" the \"number\" of an alert",
                     OUTPUT_RECENT_ALERTS);
    else
        live_alerts_json(control_answer(request), service->options.output, (uint64_t)after, (unsigned)limit);
}

/* --- flows ---------------------------------------------------------------------------------------- */

/* The place where the next page of a list of flows begins: "WORKER:BUCKET". */
struct place {
    unsigned worker;
    size_t bucket;
};

static bool read_place(const char *text, struct place *out)
{
    struct span rest = span_of(text), first;
    uint64_t worker, bucket;

    if (!span_next(&rest, ':', &first) || !rest.at || !span_to_uint(first, 0, UINT_MAX, &worker) ||
        !span_to_uint(rest, 0, SIZE_MAX, &bucket))
        return false;
    *out = (struct place){ (unsigned)worker, (size_t)bucket };
    return true;
}

/* Writes a page of flows of one worker. Returns false when the worker does not answer. */
static bool put_page(struct service *service, struct text *out, struct place *place, size_t *count)
{
    struct worker_query *query = &service->queries[place->worker];
    struct worker *worker = &service->options.workers[place->worker];
    const struct rule_list *rules = ruleset_rules(*service->options.ruleset);

    if (worker_has_query(worker))
        return false;
    query->kind = WORKER_PAGE;
    query->cursor = place->bucket;
    if (!worker_query_flows(worker, query))
        return false;
    for (size_t i = 0; i < query->count; i++)
        explain_flow(out, &query->flows[i], rules, place->worker, false);
    *count += query->count;
    place->bucket = query->cursor;
    place->worker += query->cursor == 0;
    return true;
}

static void flows(void *user, struct control_request *request)
{
    struct service *service = user;
    int64_t limit = control_number(request, "limit", DEFAULT_FLOWS);
    const char *from = control_string(request, "from");
    struct place place = { 0, 0 };
    size_t count = 0;
    bool answering = true;

    if (limit < 1 || limit > MAX_FLOWS || (from && !read_place(from, &place))) {
        control_fail(request, "\"limit\" must be 1 to %d, and \"from\" the value of \"next\" in an answer", MAX_FLOWS);
        return;
    }
    struct text *out = control_answer(request);

    json_object_open(out, NULL);
    json_array_open(out, "flows");
    for (unsigned i = 0;
         i < FLOW_PAGES && count < (size_t)limit && place.worker < service->options.worker_count && answering; i++)
        answering = put_page(service, out, &place, &count);
    json_array_close(out);
    if (place.worker < service->options.worker_count)
        json_printf(out, "next", "%u:%zu", place.worker, place.bucket);
    json_object_close(out);
    if (!answering)
        control_fail(request, "worker %u does not answer", place.worker);
}

/* --- explain -------------------------------------------------------------------------------------- */

static bool read_end(struct control_request *request, const char *address, const char *port, struct address *out,
                     uint16_t *number, int *version)
{
    const char *text = control_string(request, address);
    int64_t value = control_number(request, port, 0);

    *version = text ? address_parse(text, strlen(text), out) : -EINVAL;
    *number = (uint16_t)value;
    return (*version == 4 || *version == 6) && value >= 0 && value <= UINT16_MAX;
}

static bool read_ends(struct control_request *request, struct flow_ends *ends)
{
    int64_t protocol = control_number(request, "proto", -1), vlan = control_number(request, "vlan", 0);
    int versions[2];

    memset(ends, 0, sizeof(*ends));
    if (protocol < 0 || protocol > UINT8_MAX || vlan < 0 || vlan > 4095 ||
        !read_end(request, "src_ip", "src_port", &ends->address[0], &ends->port[0], &versions[0]) ||
        !read_end(request, "dest_ip", "dest_port", &ends->address[1], &ends->port[1], &versions[1]) ||
        versions[0] != versions[1])
        return false;
    ends->protocol = (uint8_t)protocol;
    ends->ip_version = (uint8_t)versions[0];
    ends->vlan_count = vlan > 0;
    ends->vlan_id[0] = (uint16_t)vlan;
    return true;
}

struct wanted_flow {
    enum worker_query_kind kind;
    struct flow_ends ends;
    uint64_t id;
};

/* Searches the flows of one worker, page by page. Returns 1 if the flow was found, 0 if not, or -EBUSY if the worker
 * does not answer or has too many flows to search. */
static int find_flow(struct worker *worker, struct worker_query *query, const struct wanted_flow *wanted)
{
    size_t cursor = 0;

    for (unsigned i = 0; i < MAX_WALK_PAGES; i++) {
        if (worker_has_query(worker))
            return -EBUSY;
        query->kind = wanted->kind;
        query->ends = wanted->ends;
        query->id = wanted->id;
        query->cursor = cursor;
        if (!worker_query_flows(worker, query))
            return -EBUSY;
        cursor = query->cursor;
        if (query->count > 0 || query->kind == WORKER_BY_ENDS || cursor == 0)
            return query->count > 0;
    }
    return -EBUSY;
}

static void explain_found(struct service *service, struct control_request *request, const struct wanted_flow *wanted)
{
    const struct rule_list *rules = ruleset_rules(*service->options.ruleset);
    unsigned ended = service->options.worker_count;
    bool answering = true;

    for (unsigned i = 0; i < service->options.worker_count; i++) {
        const struct worker_query *query = &service->queries[i];
        int found = find_flow(&service->options.workers[i], &service->queries[i], wanted);

        answering &= found >= 0;
        if (found > 0 && !query->flows[0].ended) {
            explain_flow(control_answer(request), &query->flows[0], rules, i, true);
            return;
        }
        if (found > 0)
            ended = i;
    }
    if (ended < service->options.worker_count)
        explain_flow(control_answer(request), &service->queries[ended].flows[0], rules, ended, true);
    else
        control_fail(request, answering ? "flow not found: it has expired or was never seen"
                                        : "flow not found, but not all flows could be searched");
}

static void explain_sid(struct service *service, struct control_request *request, int64_t sid)
{
    const struct service_options *options = &service->options;
    int64_t gid = control_number(request, "gid", 1);
    struct rule_ids ids = { .gid = (uint32_t)gid, .sid = (uint32_t)sid };
    const struct rule_list *rules = ruleset_rules(*options->ruleset);
    char name[32];

    if (sid < 0 || sid > UINT32_MAX || gid < 0 || gid > UINT32_MAX) {
        control_fail(request, "\"sid\" and \"gid\" must be numbers from 0 to 4294967295");
        return;
    }
    snprintf(name, sizeof(name), "%u:%u", (unsigned)gid, (unsigned)sid);
    ids.number = rule_names_find(options->names, RULE_NAME_RULE, span_of(name));
    if (ids.number == 0 && !rule_list_find(rules, ids.gid, ids.sid) &&
        !rule_list_find_failure(rules, ids.gid, ids.sid) && !rule_list_find_disabled(rules, ids.gid, ids.sid))
        control_fail(request, "no rule file has rule %s; `sluice rules` lists the loaded rules", name);
    else
        explain_rule(control_answer(request), rules, &ids, options->workers, options->worker_count);
}

static void explain(void *user, struct control_request *request)
{
    int64_t sid = control_number(request, "sid", -1), id = control_number(request, "flow_id", -1);
    struct wanted_flow wanted = { .kind = id >= 0 ? WORKER_BY_ID : WORKER_BY_ENDS, .id = (uint64_t)id };

    if (id < 0 && sid >= 0)
        explain_sid(user, request, sid);
    else if (id >= 0 || read_ends(request, &wanted.ends))
        explain_found(user, request, &wanted);
    else
        control_fail(request, "a flow needs \"proto\", \"src_ip\", \"src_port\", \"dest_ip\", \"dest_port\"");
}

/* --- rules ---------------------------------------------------------------------------------------- */

/* A page of a list: the arguments `from` and `limit` of a request; the answer has `next` if there are more entries. */
struct page {
    size_t from, end;
};

static struct page get_page(const struct control_request *request, size_t count)
{
    int64_t from = control_number(request, "from", 0), limit = control_number(request, "limit", MAX_RULES);
    struct page page = { .from = from < 0 || (uint64_t)from > count ? count : (size_t)from };

    if (limit < 0 || limit > MAX_RULES)
        limit = MAX_RULES;
    page.end = count - page.from < (size_t)limit ? count : page.from + (size_t)limit;
    return page;
}

static void list_rules(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct rule_list *rules = ruleset_rules(*service->options.ruleset);
    struct page page = get_page(request, rule_list_count(rules));
    struct text *out = control_answer(request);

    json_object_open(out, NULL);
    json_uint(out, "loaded", rule_list_count(rules));
    json_array_open(out, "rules");
    for (size_t i = page.from; i < page.end; i++) {
        const struct rule *rule = rule_list_get(rules, i);

        json_object_open(out, NULL);
        json_uint(out, "gid", rule->gid);
        json_uint(out, "signature_id", rule->sid);
        json_uint(out, "rev", rule->revision);
        json_string(out, "action", rule_action_name(rule->action));
        json_string(out, "signature", rule->message);
        json_string(out, "category", rule->class_name);
        json_string(out, "file", rule->file);
        json_uint(out, "line", rule->line);
        json_object_close(out);
    }
    json_array_close(out);
    if (page.end < rule_list_count(rules))
        json_uint(out, "next", page.end);
    json_object_close(out);
}

static void list_failed_rules(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct rule_list *rules = ruleset_rules(*service->options.ruleset);
    size_t count = rule_list_failure_count(rules);
    struct page page = get_page(request, count);
    struct text *out = control_answer(request);

    json_object_open(out, NULL);
    json_uint(out, "failed", rule_list_failed(rules));
    json_uint(out, "skipped", rule_list_skipped(rules));
    json_uint(out, "files_failed", rule_list_unreadable_files(rules));
    json_array_open(out, "rules");
    for (size_t i = page.from; i < page.end; i++) {
        const struct rule_failure *failure = rule_list_failure(rules, i);

        json_object_open(out, NULL);
        json_string(out, "kind", rule_failure_kind_name(failure->kind));
        json_string(out, "file", failure->file);
        if (failure->line > 0)
            json_uint(out, "line", failure->line);
        if (failure->sid > 0) {
            json_uint(out, "gid", failure->gid);
            json_uint(out, "signature_id", failure->sid);
        }
        json_string(out, "reason", failure->reason);
        json_object_close(out);
    }
    json_array_close(out);
    if (page.end < count)
        json_uint(out, "next", page.end);
    json_object_close(out);
}

/* --- reload --------------------------------------------------------------------------------------- */

static void put_mistakes(struct text *out, const struct diag *diag)
{
    const struct diag_entry *entries[SELECTED_DIAGNOSTICS];
    size_t picked = setup_select_diagnostics(diag, entries);

    for (size_t i = 0; i < picked; i++) {
        const struct diag_entry *entry = entries[i];

        text_puts(out, "\n");
        if (entry->file && entry->line > 0)
            text_printf(out, "%s:%u:%u: ", entry->file, (unsigned)entry->line, (unsigned)entry->column);
        else if (entry->file)
            text_printf(out, "%s: ", entry->file);
        text_printf(out, "%s: ", diag_severity_name(entry->severity));
        text_puts(out, entry->message);
    }
    if (diag_count(diag) > picked)
        text_printf(out, "\n... and %zu more (`sluice check` shows all)", diag_count(diag) - picked);
}

static void put_failure(struct text *out, const struct reload_result *result)
{
    struct text message;

    text_init(&message);
    text_printf(&message, "rules and settings unchanged (generation %u): %s", result->generation, result->cause);
    put_mistakes(&message, result->diag);
    json_stringn(out, NULL, message.bytes ? message.bytes : "", message.length);
    text_clear(&message);
}

static void put_success(struct text *out, const struct reload_result *result)
{
    struct text mistakes;

    text_init(&mistakes);
    put_mistakes(&mistakes, result->diag);
    json_object_open(out, NULL);
    json_uint(out, "generation", result->generation);
    json_uint(out, "rules", result->rules);
    json_uint(out, "failed", result->failed);
    json_uint(out, "skipped", result->skipped);
    json_double(out, "seconds", result->seconds);
    if (mistakes.length > 1)
        json_stringn(out, "mistakes", mistakes.bytes + 1, mistakes.length - 1);
    json_object_close(out);
    text_clear(&mistakes);
}

void service_tell_reload(struct service *service, const struct reload_result *result)
{
    for (unsigned i = service->waiting_count; i-- > 0;) {
        const struct waiting_client client = service->waiting[i];
        struct text *out;

        if (client.number > result->number)
            continue;
        service->waiting[i] = service->waiting[--service->waiting_count];
        out = service->server ? control_answer_later(service->server, client.ticket, result->error == 0) : NULL;
        if (!out)
            continue; /* the client has closed the connection */
        if (result->error)
            put_failure(out, result);
        else
            put_success(out, result);
        control_finish_later(service->server, client.ticket);
    }
}

/* Starts a reload. A running reload may have read the files before they were changed, so the client waits for the next
 * one. */
static void start_reload(struct service *service, struct control_request *request, bool wait)
{
    const struct reload_result *last = reload_last(service->options.reload);
    bool busy = reload_state(service->options.reload) == RELOAD_BUILDING ||
                reload_state(service->options.reload) == RELOAD_TAKING;
    unsigned number = (last ? last->number : 0) + (busy ? 2 : 1);

    if (reload_is_stuck(service->options.reload)) {
        control_fail(request, "the previous reload is hung: run `sluice upgrade` to replace the engine");
        return;
    }
    if (wait && service->waiting_count == MAX_TICKETS) {
        control_fail(request, "too many clients wait for a reload");
        return;
    }
    if (wait)
        service->waiting[service->waiting_count++] =
            (struct waiting_client){ .ticket = control_defer(request), .number = number };
    else
        json_string(control_answer(request), NULL, "the reload has begun");
    service->options.begin_reload(service->options.user);
}

static void reload_rules(void *user, struct control_request *request)
{
    start_reload(user, request, true);
}

static void reload_rules_later(void *user, struct control_request *request)
{
    start_reload(user, request, false);
}

/* --- mode ----------------------------------------------------------------------------------------- */

static void mode(void *user, struct control_request *request)
{
    struct mode_control *control = ((struct service *)user)->options.mode;
    const char *name = control_string(request, "mode");
    int64_t seconds = control_number(request, "seconds", 0);
    enum ips_mode wanted;
    struct text *out;

    if (seconds < 0 || seconds > MAX_MODE_SECONDS) {
        control_fail(request, "\"seconds\" must be a number from 0 (no end) to %d", MAX_MODE_SECONDS);
        return;
    }
    if (name && strcmp(name, "configured") == 0) {
        mode_clear_override(control);
    } else if (name && ips_mode_parse(name, &wanted)) {
        mode_override(control, wanted, (uint64_t)seconds);
    } else if (name) {
        control_fail(request, "\"mode\" must be drop, alert-only or configured");
        return;
    }
    out = control_answer(request);
    json_object_open(out, NULL);
    mode_json(control, out);
    json_object_close(out);
}

/* --- upgrade -------------------------------------------------------------------------------------- */

static void upgrade(void *user, struct control_request *request)
{
    struct service *service = user;

    if (service->upgrade != NO_TICKET) {
        control_fail(request, "an upgrade is in progress");
        return;
    }
    if (channel_send(service->options.channel, CHANNEL_UPGRADE, 0, NULL)) {
        control_fail(request, "the supervisor does not answer");
        return;
    }
    service->upgrade = control_defer(request);
}

static void tell_upgrade(struct service *service, bool ok, const char *message)
{
    uint64_t ticket = service->upgrade;
    struct text *out = NULL;

    service->upgrade = NO_TICKET;
    if (ticket != NO_TICKET && service->server)
        out = control_answer_later(service->server, ticket, ok);
    if (!out)
        return;
    json_string(out, NULL, message);
    control_finish_later(service->server, ticket);
}

void service_tell_hand_over(struct service *service)
{
    tell_upgrade(service, true, "handed over");
}

/* --- Other commands ------------------------------------------------------------------------------- */

static void reopen(void *user, struct control_request *request)
{
    struct service *service = user;

    output_reopen(service->options.output);
    json_string(control_answer(request), NULL, "done");
}

static void put_uptime(void *user, struct control_request *request)
{
    json_uint(control_answer(request), NULL, uptime(user));
}

static void put_version(void *user, struct control_request *request)
{
    (void)user;
    json_string(control_answer(request), NULL, SLUICE_VERSION);
}

static void list_commands(void *user, struct control_request *request);

static void blocklist_lists(void *user, struct control_request *request)
{
    const struct service *service = user;

    if (!attachment_describe_lists(service->options.attachment, control_answer(request)))
        control_fail(request, "there is no blocklist: set nft.attach, and nft.blocklist.enabled: yes");
}

static void blocklist_reread(void *user, struct control_request *request)
{
    const struct service *service = user;
    uint64_t reading = attachment_reread_lists(service->options.attachment, NULL);

    if (reading > 0)
        json_uint(control_answer(request), NULL, reading);
    else
        control_fail(request, "there is no blocklist: set nft.attach, and nft.blocklist.enabled: yes");
}

static const struct control_command commands[] = {
    { "status", NULL, "Show the state of the daemon", status },
    { "stats", "dump-counters", "Show all counters", stats },
    { "queues", NULL, "Show the queues with their counters", queues },
    { "costs", NULL, "Show the rules that take most time, if rules are timed", costs },
    { "top", NULL,
      "Show one reading for `sluice top`: counters, queues, and if requested talkers, rules, alerts (numbers), after",
      top },
    { "alerts", NULL, "List the last alerts, oldest first: limit, after (the number of an alert)", alerts },
    { "flows", NULL, "List the flows: limit, from", flows },
    { "explain", NULL,
      "Explain the verdict on a flow (flow_id; or proto, src_ip, src_port, dest_ip, dest_port, vlan) or the state of a "
      "rule (sid, gid)",
      explain },
    { "rules", NULL, "List the loaded rules: limit, from", list_rules },
    { "failed-rules", "ruleset-failed-rules",
      "List the rules and rule files that were left out, each with the reason: limit, from", list_failed_rules },
    { "reload", "reload-rules", "Reload rules and settings; the answer is sent when all workers use them",
      reload_rules },
    { "reload-nonblocking", "ruleset-reload-nonblocking", "Reload rules and settings; the answer is sent at once",
      reload_rules_later },
    { "ruleset-reload-rules", NULL, "Same as reload", reload_rules },
    { "mode", NULL,
      "Show the mode of each queue; with mode (drop, alert-only, configured) change it, for `seconds` if set", mode },
    { "blocklist-lists", NULL, "Show the lists of hosts and networks that are blocked", blocklist_lists },
    { "blocklist-reread", NULL,
      "Read the lists of hosts and networks to block again; the answer is the number of the reading",
      blocklist_reread },
    { "reopen", "reopen-log-files", "Reopen the event file by its name, after a log rotation", reopen },
    { "upgrade", NULL,
      "Replace the running daemon with the installed binary, without packet loss; the answer is sent when it has taken "
      "over",
      upgrade },
    { "uptime", NULL, "Show the seconds since the start; upgrades do not reset them", put_uptime },
    { "version", NULL, "Show the version of the program", put_version },
    { "command-list", "help", "List the commands", list_commands },
    { NULL, NULL, NULL, NULL },
};

static void list_commands(void *user, struct control_request *request)
{
    struct text *out = control_answer(request);

    (void)user;
    json_object_open(out, NULL);
    for (const struct control_command *command = commands; command->name; command++)
        json_string(out, command->name, command->help);
    json_object_close(out);
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

bool daemon_control_options(const struct config *config, char path[CONTROL_PATH_SIZE], struct control_options *out,
                            bool *needed)
{
    struct daemon_options options = { .control_group = NULL };

    config_fill(config, daemon_settings, NULL, &options);
    if (options.control == SETTING_NO)
        return false;
    *out = (struct control_options){
        .path = path,
        .mode = options.control_mode,
        .group = options.control_group,
        .max_clients = options.control_clients,
        .commands = commands,
    };
    *needed = options.control == SETTING_YES;
    snprintf(path, CONTROL_PATH_SIZE, "%s%s", strchr(options.control_name, '/') ? "" : SLUICE_RUNDIR "/",
             options.control_name);
    return true;
}

static int open_server(struct service *service, char error[ENGINE_ERROR_SIZE])
{
    char path[CONTROL_PATH_SIZE], cause[CONTROL_ERROR_SIZE];
    struct control_options options;
    bool needed;
    int err;

    if (service->options.control_fd < 0 || !daemon_control_options(service->options.config, path, &options, &needed))
        return 0;
    options.user = service;
    options.inherits = true;
    options.listen_fd = service->options.control_fd;
    err = control_server_new(&service->server, &options, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}

int service_new(struct service **out, const struct service_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct service *service = calloc(1, sizeof(*service));
    int err = -ENOMEM;

    snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
    if (!service)
        return err;
    service->options = *options;
    service->upgrade = NO_TICKET;
    service->queries = calloc(options->worker_count, sizeof(*service->queries));
    if (service->queries)
        err = open_server(service, error);
    if (err)
        service_free(service);
    else
        *out = service;
    return err;
}

void service_free(struct service *service)
{
    if (!service)
        return;
    control_server_free(service->server);
    free(service->queries);
    talkers_free(service->talkers);
    free(service);
}

/* Handles the answer of the supervisor to CHANNEL_OPEN_EVENTS (output_errors.c): the event file that the sandbox
 * prevented the engine from opening, or an error. */
static void take_events_file(struct service *service, const struct channel_message *message, int file)
{
    if (file >= 0) {
        output_set_file(service->options.output, file);
        log_notice("the supervisor opened the event file, because the sandbox kept the engine from opening it");
    } else if (message->value != service->events_error) {
        log_error("cannot write events to %s; the folder must exist and belong to user %s (chown)", message->text,
                  service->options.confinement->user.name);
    }
    service->events_error = file >= 0 ? 0 : message->value;
}

int service_wait(struct service *service, int timeout_ms)
{
    struct pollfd fds[] = {
        { .fd = service->options.channel, .events = POLLIN },
        { .fd = service->server ? control_server_fd(service->server) : -1, .events = POLLIN },
    };
    struct channel_message message;
    int file = -1;

    poll(fds, sizeof(fds) / sizeof(fds[0]), timeout_ms);
    if (service->server)
        control_server_run(service->server);
    switch (channel_receive_file(service->options.channel, &message, &file, 0)) {
    case CHANNEL_EVENTS_FILE:
        take_events_file(service, &message, file);
        return 0;
    case CHANNEL_SIGNAL:
        return message.value;
    case CHANNEL_HAND_OVER:
        return SERVICE_HAND_OVER;
    case CHANNEL_REFUSED:
        tell_upgrade(service, false, message.text);
        return 0;
    case CHANNEL_CLOSED:
        return -EPIPE;
    default:
        if (file >= 0)
            close(file);
        return 0;
    }
}
