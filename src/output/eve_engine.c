/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of engines that died. They are ours alone; the fields are described in docs/output.md. */
#include "output_priv.h"

static const char *const actions[OUTPUT_ENGINE_ACTIONS] = {
    [OUTPUT_ENGINE_RESTARTED] = "restarted",
    [OUTPUT_ENGINE_QUARANTINED] = "quarantined",
    [OUTPUT_ENGINE_HANDED_OVER] = "handed_over",
};

const char *output_engine_action_name(enum output_engine_action action)
{
    return actions[action];
}

static void death(struct text *out, const struct output_engine *event)
{
    json_string(out, "cause", event->hung ? "hang" : event->signal ? "signal" : "exit");
    if (event->signal)
        json_int(out, "signal", event->signal);
    else
        json_int(out, "exit_code", event->code);
    json_uint(out, "repeated", event->packets);
}

static void packet(struct text *out, const struct output_engine *event)
{
    json_uint(out, "queue", event->queue);
    json_uint(out, "length", event->length);
    if (event->path[0])
        json_string(out, "file", event->path);
}

void eve_engine(struct eve *eve, struct text *out, const struct output_engine *event)
{
    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", event->time_ns);
    json_string(out, "event_type", "engine");
    json_object_open(out, "engine");
    json_string(out, "action", actions[event->action]);
    json_uint(out, "number", event->number);
    if (event->action == OUTPUT_ENGINE_QUARANTINED)
        packet(out, event);
    else if (event->action == OUTPUT_ENGINE_RESTARTED)
        death(out, event);
    json_object_close(out);
    eve_end(eve, out);
}
