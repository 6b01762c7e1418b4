/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Building a ruleset: each rule has its check (check.c), and each check goes either into a
 * prefilter by its literal, or into the list of a decoder event, or into the lists that are evaluated for every packet of
 * a kind. The databases are compiled at the same time, one thread each: that is where loading spends its time.
 */
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

void ruleset_options_default(struct ruleset_options *options)
{
    *options = (struct ruleset_options){
        .action_order = { ACTION_PASS, ACTION_DROP, ACTION_REJECT, ACTION_ALERT },
        .generation = 1,
    };
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
    struct check *added = &ruleset->checks[check];

    added->has_literal = true;
    added->may_wait |= added->scope != SCOPE_PACKET && literal->is_part;
    ruleset->scans_packets |= admits(added, TRAFFIC_TCP) && added->scope != SCOPE_STREAM;
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        if (!admits(added, traffic))
            continue;
        if (!ruleset->payload[traffic] && prefilter_new(&ruleset->payload[traffic]))
            return -ENOMEM;
        if (prefilter_add(ruleset->payload[traffic], literal, check))
            return -ENOMEM;
    }
    return 0;
}

/* The decoder event without which the rule can't match, or -1. */
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
    if (check->has_payload && check->scope != SCOPE_PACKET && admits(check, TRAFFIC_TCP) &&
        list_add(&ruleset->stream_unfiltered, index))
        return -ENOMEM;
    for (enum traffic traffic = 0; traffic < TRAFFIC_COUNT; traffic++) {
        struct check_list *list = check->ip_only ? &ruleset->ip_only[traffic] : &ruleset->unfiltered[traffic];

        if (admits(check, traffic) && list_add(list, index))
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
    ruleset->by_event = calloc(RULESET_MAX_EVENTS, sizeof(*ruleset->by_event));
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
    err = checks_make(ruleset, options);
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
        free(ruleset->ip_only[traffic].index);
    }
    for (uint32_t i = 0; i < ruleset->buffer_count; i++)
        prefilter_free(ruleset->buffers[i].prefilter);
    for (unsigned i = 0; ruleset->by_event && i < RULESET_MAX_EVENTS; i++)
        free(ruleset->by_event[i].index);
    free(ruleset->by_event);
    free(ruleset->without_ip.index);
    free(ruleset->stream_unfiltered.index);
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
