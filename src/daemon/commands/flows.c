/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about flows, and the explanation of a flow or rule. */
#include "service.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sluice/address.h"
#include "sluice/clock.h"
#include "sluice/flow.h"
#include "sluice/rule.h"
#include "sluice/text.h"
#include "sluice/worker.h"

enum { MAX_FLOWS = 1024, DEFAULT_FLOWS = 256, FLOW_PAGES = 64, MAX_WALK_PAGES = 2048 };

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

void service_list_flows(void *user, struct control_request *request)
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

void service_explain(void *user, struct control_request *request)
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

void service_show_flow_counters(void *user, struct control_request *request)
{
    struct service *service = user;
    int64_t id = control_number(request, "flow_id", -1);
    const struct wanted_flow wanted = { .kind = WORKER_BY_ID, .id = (uint64_t)id };
    const struct flow *flow = NULL;
    struct text *out;
    bool answering = true;

    if (id < 0) {
        control_fail(request, "flow_id is not an integer: it must be the flow_id of an event");
        return;
    }
    for (unsigned i = 0; i < service->options.worker_count && !flow; i++) {
        int found = find_flow(&service->options.workers[i], &service->queries[i], &wanted);

        answering &= found >= 0;
        flow = found > 0 ? &service->queries[i].flows[0].flow : NULL;
    }
    if (!flow) {
        control_fail(request,
                     answering ? "Not found: flow %lld has expired or was never seen"
                               : "Not found: flow %lld, but not all flows could be searched",
                     (long long)id);
        return;
    }
    out = control_answer(request);
    json_object_open(out, NULL);
    json_uint(out, "pkts_toclient", flow->side[FLOW_TO_CLIENT].packets);
    json_uint(out, "pkts_toserver", flow->side[FLOW_TO_SERVER].packets);
    json_uint(out, "bytes_toclient", flow->side[FLOW_TO_CLIENT].bytes);
    json_uint(out, "bytes_toserver", flow->side[FLOW_TO_SERVER].bytes);
    json_uint(out, "age", flow->last_ns > flow->start_ns ? (flow->last_ns - flow->start_ns) / NS_PER_SECOND : 0);
    json_object_close(out);
}
