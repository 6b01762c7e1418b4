/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The last OUTPUT_RECENT_ALERTS alerts, for `sluice alerts` and `sluice top`. They are copies, because a ruleset may be
 * freed while they are kept.
 *
 * Threads: the output thread adds alerts, the main thread copies them. The lock is held for one packet or one copy; no
 * worker uses it.
 */
#include "recent.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/clock.h"

struct recent_alerts {
    pthread_mutex_t lock;
    uint64_t first, next; /* number of the first alert of this engine; number of the next one */
    struct output_recent_alert ring[OUTPUT_RECENT_ALERTS]; /* alert N is at (N - first) % OUTPUT_RECENT_ALERTS */
};

struct recent_alerts *recent_alerts_new(void)
{
    struct recent_alerts *recent = calloc(1, sizeof(*recent));

    if (!recent)
        return NULL;
    pthread_mutex_init(&recent->lock, NULL);
    recent->first = recent->next = clock_realtime_ns() / 1000;
    return recent;
}

void recent_alerts_free(struct recent_alerts *recent)
{
    if (!recent)
        return;
    pthread_mutex_destroy(&recent->lock);
    free(recent);
}

static void copy_text(char *out, size_t size, const char *text)
{
    size_t length = text ? strnlen(text, size - 1) : 0;

    memcpy(out, text ? text : "", length);
    out[length] = '\0';
}

void recent_alerts_add(struct recent_alerts *recent, const struct packet_record *record, bool has_queue)
{
    const struct endpoints *ends = &record->endpoints;

    pthread_mutex_lock(&recent->lock);
    for (uint32_t i = 0; i < record->alert_count; i++) {
        const struct alert *alert = &record_alerts(record)[i];
        const struct rule *rule = alert->rule;
        struct output_recent_alert *out = &recent->ring[(recent->next - recent->first) % OUTPUT_RECENT_ALERTS];

        *out = (struct output_recent_alert){
            .number = recent->next++,
            .time_ns = record->time_ns,
            .flow_id = record->has_flow ? record->flow.id : 0,
            .gid = rule->gid,
            .sid = rule->sid,
            .revision = rule->revision,
            .severity = rule->priority,
            .rule_action = (uint8_t)rule->action,
            .blocked = alert->blocked,
            .would_drop = alert->would_drop,
            .has_queue = has_queue,
            .queue = record->meta.queue,
            .ip_version = ends->ip_version,
            .protocol = ends->protocol,
            .source_port = ends->source_port,
            .destination_port = ends->destination_port,
            .source = ends->source,
            .destination = ends->destination,
            .application = record->has_flow ? record->flow.application & 0xff : 0,
        };
        copy_text(out->message, sizeof(out->message), rule->message);
        copy_text(out->category, sizeof(out->category), rule->class_description);
    }
    pthread_mutex_unlock(&recent->lock);
}

size_t recent_alerts_copy(struct recent_alerts *recent, uint64_t after, struct output_recent_alert *out, size_t max)
{
    uint64_t from;
    size_t count;

    pthread_mutex_lock(&recent->lock);
    from = recent->next - recent->first > OUTPUT_RECENT_ALERTS ? recent->next - OUTPUT_RECENT_ALERTS : recent->first;
    if (after >= from)
        from = after < recent->next ? after + 1 : recent->next;
    if (recent->next - from > max)
        from = recent->next - max;
    count = (size_t)(recent->next - from);
    for (size_t i = 0; i < count; i++)
        out[i] = recent->ring[(from + i - recent->first) % OUTPUT_RECENT_ALERTS];
    pthread_mutex_unlock(&recent->lock);
    return count;
}
