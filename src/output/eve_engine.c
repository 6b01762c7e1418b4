/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Engine events: they exist only in Sluice; docs/output.md describes the fields. */
#include "output_priv.h"

static const char *const actions[OUTPUT_ENGINE_ACTIONS] = {
    [OUTPUT_ENGINE_RESTARTED] = "restarted",         [OUTPUT_ENGINE_QUARANTINED] = "quarantined",
    [OUTPUT_ENGINE_HANDED_OVER] = "handed_over",     [OUTPUT_ENGINE_RULES_LEFT_OUT] = "rules_left_out",
    [OUTPUT_ENGINE_RULE_LEFT_OUT] = "rule_left_out", [OUTPUT_ENGINE_MODE] = "mode",
};

const char *output_engine_action_name(enum output_engine_action action)
{
    return actions[action];
}

void eve_engine(struct eve *eve, struct text *out, const struct output_engine *event)
{
    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", event->time_ns);
    json_string(out, "event_type", "engine");
    json_object_open(out, "engine");
    json_string(out, "action", actions[event->action]);
    if (event->number > 0)
        json_uint(out, "number", event->number);
    switch (event->action) {
    case OUTPUT_ENGINE_RESTARTED:
        json_string(out, "cause", event->hung ? "hang" : event->signal ? "signal" : "exit");
        if (event->signal)
            json_int(out, "signal", event->signal);
        else
            json_int(out, "exit_code", event->code);
        json_uint(out, "repeated", event->packets);
        break;
    case OUTPUT_ENGINE_QUARANTINED:
        json_uint(out, "queue", event->queue);
        json_uint(out, "length", event->length);
        if (event->path[0])
            json_string(out, "file", event->path);
        break;
    case OUTPUT_ENGINE_RULES_LEFT_OUT:
        json_uint(out, "rules_loaded", event->rules_loaded);
        json_uint(out, "rules_failed", event->rules_failed);
        json_uint(out, "rules_skipped", event->rules_skipped);
        json_uint(out, "rule_files_failed", event->rule_files_failed);
        break;
    case OUTPUT_ENGINE_RULE_LEFT_OUT:
        json_string(out, "kind", event->kind);
        json_string(out, "file", event->path);
        if (event->line > 0)
            json_uint(out, "line", event->line);
        if (event->sid > 0) {
            json_uint(out, "gid", event->gid);
            json_uint(out, "signature_id", event->sid);
        }
        json_string(out, "reason", event->reason);
        break;
    case OUTPUT_ENGINE_MODE:
        json_string(out, "mode", event->mode ? event->mode : "configured");
        json_string(out, "cause", event->cause);
        if (event->until_ns > 0)
            eve_timestamp(out, "until", event->until_ns);
        break;
    default:
        break;
    }
    json_object_close(out);
    eve_end(eve, out);
}
