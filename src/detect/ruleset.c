/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building a ruleset: rules are put into the order of evaluation, each gets a check, and each check goes either into a
 * prefilter by its literal, or into the list of an event, or into the lists that are evaluated for every packet of
 * a kind. The databases are compiled at the same time, one thread each: that is where loading spends its time.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"
#include "sluice/stream_event.h"

void ruleset_options_default(struct ruleset_options *options)
{
    *options = (struct ruleset_options){
        .action_order = { ACTION_PASS, ACTION_DROP, ACTION_REJECT, ACTION_ALERT },
        .generation = 1,
    };
}

/* --- Order --------------------------------------------------------------------------------------------------------------- */

static unsigned action_rank(const struct ruleset_options *options, enum rule_action action)
{
    if (action == ACTION_REJECT_DESTINATION || action == ACTION_REJECT_BOTH)
        action = ACTION_REJECT;
    for (unsigned i = 0; i < 4; i++) {
        if (options->action_order[i] == action)
            return i;
    }
    return 4;
}

struct order_key {
    const struct rule *rule;
    unsigned rank;
};

static int compare_keys(const void *left, const void *right)
{
    const struct order_key *a = left, *b = right;

    if (a->rank != b->rank)
        return a->rank < b->rank ? -1 : 1;
    if (a->rule->priority != b->rule->priority)
        return a->rule->priority < b->rule->priority ? -1 : 1;
    return a->rule->index < b->rule->index ? -1 : a->rule->index > b->rule->index;
}

static void fill_check(struct check *check, const struct rule *rule)
{
    const struct rule_protocol *protocol = &rule->protocol;
    unsigned admitted = 0, last = 0;

    for (unsigned i = 0; i < 256; i++) {
        if (protocol->ip_protocols[i / 64] >> (i % 64) & 1) {
            admitted++;
            last = i;
        }
    }
    *check = (struct check){
        .rule = rule,
        .source = rule->source->any ? NULL : rule->source,
        .destination = rule->destination->any ? NULL : rule->destination,
        .source_port = rule->source_port->any ? NULL : rule->source_port,
        .destination_port = rule->destination_port->any ? NULL : rule->destination_port,
        .conditions = rule->packet_conditions,
        .buffers = rule->buffers,
        .protocol = (uint8_t)last,
        .one_protocol = admitted == 1,
        .any_protocol = admitted == 256,
        .bidirectional = rule->bidirectional,
        .ipv4 = protocol->ipv4,
        .ipv6 = protocol->ipv6,
        .any_packet = protocol->any_packet,
    };
}

static int order_rules(struct ruleset *ruleset, const struct ruleset_options *options)
{
    size_t count = rule_list_count(ruleset->rules);
    struct order_key *keys = calloc(count + 1, sizeof(*keys));

    ruleset->checks = calloc(count + 1, sizeof(*ruleset->checks));
    if (!keys || !ruleset->checks) {
        free(keys);
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        keys[i].rule = rule_list_get(ruleset->rules, i);
        keys[i].rank = action_rank(options, keys[i].rule->action);
    }
    qsort(keys, count, sizeof(*keys), compare_keys);
    for (size_t i = 0; i < count; i++)
        fill_check(&ruleset->checks[i], keys[i].rule);
    ruleset->check_count = (uint32_t)count;
    free(keys);
    return 0;
}

/* --- Groups -------------------------------------------------------------------------------------------------------------- */

static int list_add(struct check_list *list, uint32_t check)
{
    if (list->count == list->capacity) {
        uint32_t capacity = list->capacity ? list->capacity * 2 : 16;
        uint32_t *index = realloc(list->index, capacity * sizeof(*index));

        if (!index)
            return -ENOMEM;
        list->index = index;
        list->capacity = capacity;
    }
    list->index[list->count++] = check;
    return 0;
}

static bool admits_protocol(const struct check *check, unsigned protocol)
{
    return check->rule->protocol.ip_protocols[protocol / 64] >> (protocol % 64) & 1;
}

static bool admits(const struct check *check, enum traffic traffic)
{
    if (traffic == TRAFFIC_TCP)
        return admits_protocol(check, IPPROTO_TCP);
    if (traffic == TRAFFIC_UDP)
        return admits_protocol(check, IPPROTO_UDP);
    return !check->one_protocol || (check->protocol != IPPROTO_TCP && check->protocol != IPPROTO_UDP);
}

static struct prefilter *buffer_prefilter(struct ruleset *ruleset, const struct keyword *buffer)
{
    struct buffer_prefilter *slot = ruleset->buffers;

    for (uint32_t i = 0; i < ruleset->buffer_count; i++, slot++) {
        if (slot->buffer == buffer)
            return slot->prefilter;
    }
    if (ruleset->buffer_count == RULESET_MAX_BUFFERS || prefilter_new(&slot->prefilter))
        return NULL;
    slot->buffer = buffer;
    ruleset->buffer_count++;
    return slot->prefilter;
}

static int add_to_payload(struct ruleset *ruleset, uint32_t check, const struct literal *literal)
{
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (!admits(&ruleset->checks[check], traffic))
            continue;
        if (!ruleset->payload[traffic] && prefilter_new(&ruleset->payload[traffic]))
            return -ENOMEM;
        if (prefilter_add(ruleset->payload[traffic], literal, check))
            return -ENOMEM;
    }
    return 0;
}

/* The decoder or stream event without which the rule can't match, or -1. */
static int needed_event(const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next) {
        if (c->keyword->event && !c->negated)
            return c->keyword->event(c->data);
    }
    return -1;
}

static int add_unfiltered(struct ruleset *ruleset, uint32_t index)
{
    const struct check *check = &ruleset->checks[index];

    if (check->any_packet && list_add(&ruleset->without_ip, index))
        return -ENOMEM;
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (admits(check, traffic) && list_add(&ruleset->unfiltered[traffic], index))
            return -ENOMEM;
    }
    return 0;
}

static int group_check(struct ruleset *ruleset, uint32_t index)
{
    const struct rule *rule = ruleset->checks[index].rule;
    struct literal literal;
    int event = needed_event(rule);

    if (event >= 0)
        return list_add(&ruleset->by_event[event], index);
    if (!literal_choose(rule, &literal))
        return add_unfiltered(ruleset, index);
    if (!literal.buffer)
        return add_to_payload(ruleset, index, &literal);

    struct prefilter *prefilter = buffer_prefilter(ruleset, literal.buffer);

    /* No room for one more kind of buffer: the rule still works, it is only looked at more often. */
    return prefilter ? prefilter_add(prefilter, &literal, index) : add_unfiltered(ruleset, index);
}

static void note_demands(struct ruleset *ruleset, const struct rule *rule)
{
    for (const struct condition *c = rule->packet_conditions; c; c = c->next)
        ruleset->needs_checksums |= (c->keyword->flags & KEYWORD_NEEDS_CHECKSUMS) != 0;
}

static int group_rules(struct ruleset *ruleset)
{
    ruleset->by_event = calloc(STREAM_EVENT_END, sizeof(*ruleset->by_event));
    if (!ruleset->by_event)
        return -ENOMEM;
    for (uint32_t i = 0; i < ruleset->check_count; i++) {
        int err = group_check(ruleset, i);

        if (err)
            return err;
        note_demands(ruleset, ruleset->checks[i].rule);
    }
    return 0;
}

/* --- Compiling ----------------------------------------------------------------------------------------------------------- */

struct compile_job {
    struct prefilter *prefilter;
    pthread_t thread;
    bool started;
    int err;
    char error[256];
};

static void *compile_one(void *arg)
{
    struct compile_job *job = arg;

    job->err = prefilter_compile(job->prefilter, job->error);
    return NULL;
}

static int compile_all(struct ruleset *ruleset, struct diag *diag)
{
    struct compile_job jobs[TRAFFIC_COUNT + RULESET_MAX_BUFFERS] = { 0 };
    unsigned count = 0;
    int err = 0;

    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (ruleset->payload[traffic])
            jobs[count++].prefilter = ruleset->payload[traffic];
    }
    for (uint32_t i = 0; i < ruleset->buffer_count; i++)
        jobs[count++].prefilter = ruleset->buffers[i].prefilter;
    for (unsigned i = 0; i < count; i++) {
        jobs[i].started = pthread_create(&jobs[i].thread, NULL, compile_one, &jobs[i]) == 0;
        if (!jobs[i].started)
            compile_one(&jobs[i]);
    }
    for (unsigned i = 0; i < count; i++) {
        if (jobs[i].started)
            pthread_join(jobs[i].thread, NULL);
        if (jobs[i].err && !err) {
            err = jobs[i].err;
            diag_error(diag, (struct position){ 0 }, "%s", jobs[i].error);
        }
    }
    return err;
}

int ruleset_new(struct ruleset **out, struct rule_list *rules, const struct ruleset_options *options, struct diag *diag)
{
    struct ruleset *ruleset = calloc(1, sizeof(*ruleset));
    int err = -ENOMEM;

    if (!ruleset)
        return -ENOMEM;
    ruleset->rules = rules;
    ruleset->generation = options->generation;
    err = order_rules(ruleset, options);
    if (!err)
        err = group_rules(ruleset);
    if (!err)
        err = compile_all(ruleset, diag);
    if (err) {
        ruleset->rules = NULL; /* stays the caller's */
        ruleset_free(ruleset);
        return err;
    }
    *out = ruleset;
    return 0;
}

void ruleset_free(struct ruleset *ruleset)
{
    if (!ruleset)
        return;
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        prefilter_free(ruleset->payload[traffic]);
        free(ruleset->unfiltered[traffic].index);
    }
    for (uint32_t i = 0; i < ruleset->buffer_count; i++)
        prefilter_free(ruleset->buffers[i].prefilter);
    for (unsigned i = 0; ruleset->by_event && i < STREAM_EVENT_END; i++)
        free(ruleset->by_event[i].index);
    free(ruleset->by_event);
    free(ruleset->without_ip.index);
    free(ruleset->checks);
    rule_list_free(ruleset->rules);
    free(ruleset);
}

const struct rule_list *ruleset_rules(const struct ruleset *ruleset)
{
    return ruleset->rules;
}

unsigned ruleset_generation(const struct ruleset *ruleset)
{
    return ruleset->generation;
}

bool ruleset_needs_checksums(const struct ruleset *ruleset)
{
    return ruleset->needs_checksums;
}
