/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engine events. Suricata has events of this type, too, for the messages of its log. Here the object "engine" has the
 * message in the same form, and "sluice" has the object that docs/output.md describes.
 */
#include "output_priv.h"

#include <string.h>

static const char *const actions[OUTPUT_ENGINE_ACTIONS] = {
    [OUTPUT_ENGINE_RESTARTED] = "restarted",         [OUTPUT_ENGINE_QUARANTINED] = "quarantined",
    [OUTPUT_ENGINE_HANDED_OVER] = "handed_over",     [OUTPUT_ENGINE_RULES_LEFT_OUT] = "rules_left_out",
    [OUTPUT_ENGINE_RULE_LEFT_OUT] = "rule_left_out", [OUTPUT_ENGINE_MODE] = "mode",
    [OUTPUT_ENGINE_INTERFACE] = "interface",
};

const char *output_engine_action_name(enum output_engine_action action)
{
    return actions[action];
}

void engine_message(struct text *out, const struct output_engine *event)
{
    text_puts(out, output_engine_action_name(event->action));
    switch (event->action) {
    case OUTPUT_ENGINE_QUARANTINED:
        text_printf(out, ": a packet of %u bytes in queue %u", (unsigned)event->length, event->queue);
        break;
    case OUTPUT_ENGINE_HANDED_OVER:
        text_puts(out, " by the previous engine");
        break;
    case OUTPUT_ENGINE_RULES_LEFT_OUT:
        text_printf(out, ": %llu with mistakes, %llu unsupported, %llu unread files",
                    (unsigned long long)event->rules_failed, (unsigned long long)event->rules_skipped,
                    (unsigned long long)event->rule_files_failed);
        break;
    case OUTPUT_ENGINE_RULE_LEFT_OUT:
        text_printf(out, ": %s:%u: %s", event->path, event->line, event->reason);
        break;
    case OUTPUT_ENGINE_MODE:
        text_printf(out, ": %s (%s)", event->mode ? event->mode : "configured", event->cause);
        break;
    case OUTPUT_ENGINE_INTERFACE:
        text_printf(out, ": %s %s", event->interface, event->state);
        if (event->renamed[0])
            text_printf(out, ", renamed to %s", event->renamed);
        break;
    case OUTPUT_ENGINE_RESTARTED:
    case OUTPUT_ENGINE_ACTIONS:
        if (event->hung)
            text_puts(out, ": a worker hung");
        else if (event->signal)
            text_printf(out, " after signal %d", event->signal);
        else
            text_printf(out, " after exit code %d", event->code);
        break;
    }
}

void eve_engine(struct eve *eve, struct text *out, const struct output_engine *event)
{
    /* Names of log levels as in the JSON log of Suricata. */
    static const char *const levels[OUTPUT_ENGINE_ACTIONS] = {
        [OUTPUT_ENGINE_RESTARTED] = "Error",       [OUTPUT_ENGINE_QUARANTINED] = "Error",
        [OUTPUT_ENGINE_HANDED_OVER] = "Notice",    [OUTPUT_ENGINE_RULES_LEFT_OUT] = "Warning",
        [OUTPUT_ENGINE_RULE_LEFT_OUT] = "Warning", [OUTPUT_ENGINE_MODE] = "Notice",
        [OUTPUT_ENGINE_INTERFACE] = "Notice",
    };

    text_reset(&eve->scratch);
    engine_message(&eve->scratch, event);
    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", event->time_ns);
    json_string(out, "log_level", event->is_lost ? "Warning" : levels[event->action]);
    json_string(out, "event_type", "engine");
    json_object_open(out, "engine");
    if (!eve->scratch.failed)
        json_stringn(out, "message", eve->scratch.bytes, eve->scratch.length);
    json_object_close(out);
    json_object_open(out, "sluice");
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
    case OUTPUT_ENGINE_INTERFACE:
        json_string(out, "interface", event->interface);
        json_string(out, "state", event->state);
        if (event->renamed[0])
            json_string(out, "renamed", event->renamed);
        break;
    default:
        break;
    }
    json_object_close(out);
    json_object_close(out);
    eve_end(eve, out);
}
