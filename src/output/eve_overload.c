/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of overload: full queues, packets that the kernel dropped, rules that exceed their budget. They exist only in
 * Sluice; docs/output.md describes the fields. */
#include "output_priv.h"

static const char *const actions[OUTPUT_OVERLOAD_ACTIONS] = {
    [OUTPUT_OVERLOAD_ENTERED] = "entered",   [OUTPUT_OVERLOAD_WIDENED] = "widened",
    [OUTPUT_OVERLOAD_LEFT] = "left",         [OUTPUT_OVERLOAD_LOST] = "lost",
    [OUTPUT_OVERLOAD_SLOW] = "slow",         [OUTPUT_OVERLOAD_SUSPENDED] = "suspended",
    [OUTPUT_OVERLOAD_RESUMED] = "resumed",   [OUTPUT_OVERLOAD_NO_LISTENER] = "no_listener",
    [OUTPUT_OVERLOAD_LISTENER] = "listener", [OUTPUT_OVERLOAD_EVICTED] = "evicted",
};

const char *output_overload_action_name(enum output_overload_action action)
{
    return actions[action];
}

/* Writes the fill of the queue and the classes of flows that are bypassed. */
static void load_shedding(struct text *out, const struct output_overload *event)
{
    json_double(out, "queue_fill", event->fill_permille / 10.0);
    json_uint(out, "queue_age_us", event->age_us);
    if (event->action != OUTPUT_OVERLOAD_ENTERED)
        json_uint(out, "duration_us", event->duration_us);
    json_array_open(out, "shedding");
    for (unsigned i = 0; i < event->class_count; i++) {
        if (event->classes[i].shed)
            json_string(out, NULL, event->classes[i].name);
    }
    json_array_close(out);
    if (event->action == OUTPUT_OVERLOAD_ENTERED)
        return;
    json_object_open(out, "shed");
    for (unsigned i = 0; i < event->class_count; i++)
        json_uint(out, event->classes[i].name, event->classes[i].flows);
    json_object_close(out);
}

static void rules(struct text *out, const struct output_overload *event)
{
    json_array_open(out, "rules");
    for (unsigned i = 0; i < event->rule_count; i++) {
        const struct output_overload_rule *rule = &event->rules[i];

        json_object_open(out, NULL);
        json_uint(out, "gid", rule->gid);
        json_uint(out, "signature_id", rule->sid);
        json_uint(out, "evaluations", rule->evaluations);
        json_uint(out, "over_budget", rule->over_budget);
        json_uint(out, "total_us", rule->total_us);
        json_uint(out, "max_us", rule->max_us);
        if (rule->seconds > 0)
            json_uint(out, "seconds", rule->seconds);
        json_object_close(out);
    }
    json_array_close(out);
}

void eve_overload(struct eve *eve, struct text *out, const struct output_overload *event)
{
    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", event->time_ns);
    json_string(out, "event_type", "overload");
    json_object_open(out, "sluice");
    json_object_open(out, "overload");
    json_string(out, "action", actions[event->action]);
    if (event->has_queue)
        json_uint(out, "queue", event->queue);
    switch (event->action) {
    case OUTPUT_OVERLOAD_ENTERED:
    case OUTPUT_OVERLOAD_WIDENED:
    case OUTPUT_OVERLOAD_LEFT:
        load_shedding(out, event);
        break;
    case OUTPUT_OVERLOAD_LOST:
        json_uint(out, "queue_dropped", event->queue_dropped);
        json_uint(out, "user_dropped", event->user_dropped);
        json_uint(out, "missing", event->missing);
        json_uint(out, "fail_open", event->fail_open);
        json_uint(out, "unqueued", event->unqueued);
        json_bool(out, "passed_uninspected", event->passed);
        break;
    case OUTPUT_OVERLOAD_SLOW:
        json_uint(out, "packets", event->packets);
        rules(out, event);
        break;
    case OUTPUT_OVERLOAD_SUSPENDED:
    case OUTPUT_OVERLOAD_RESUMED:
        rules(out, event);
        break;
    case OUTPUT_OVERLOAD_NO_LISTENER:
        json_bool(out, "bypass", event->passed);
        break;
    case OUTPUT_OVERLOAD_LISTENER:
        json_uint(out, "duration_us", event->duration_us);
        json_uint(out, "packets", event->packets);
        json_bool(out, "bypass", event->passed);
        break;
    case OUTPUT_OVERLOAD_EVICTED:
        json_string(out, "memcap", event->setting);
        json_uint(out, "evicted", event->evicted);
        break;
    case OUTPUT_OVERLOAD_ACTIONS:
        break;
    }
    if (eve->generation > 0)
        json_uint(out, "ruleset", eve->generation);
    json_object_close(out);
    json_object_close(out);
    eve_end(eve, out);
}
