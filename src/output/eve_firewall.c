/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events of the sluice table and its blocklist. They exist only in Sluice; docs/output.md describes the fields. */
#include "output_priv.h"

static const char *const actions[OUTPUT_FIREWALL_ACTIONS] = {
    [OUTPUT_FIREWALL_ALTERED] = "altered",         [OUTPUT_FIREWALL_REASSERTED] = "reasserted",
    [OUTPUT_FIREWALL_RESTORED] = "restored",       [OUTPUT_FIREWALL_FAILED] = "failed",
    [OUTPUT_FIREWALL_MISPLACED] = "misplaced",     [OUTPUT_FIREWALL_MOVED] = "moved",
    [OUTPUT_FIREWALL_FLUSHED] = "flushed",         [OUTPUT_FIREWALL_BLOCKED] = "blocked",
    [OUTPUT_FIREWALL_NO_LISTENER] = "no_listener",
};

const char *output_firewall_action_name(enum output_firewall_action action)
{
    return actions[action];
}

void eve_firewall(struct eve *eve, struct text *out, const struct output_firewall *event)
{
    const struct firewall_misplaced_chain *chain = &event->intruder;

    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", event->time_ns);
    json_string(out, "event_type", "firewall");
    json_object_open(out, "sluice");
    json_object_open(out, "firewall");
    json_string(out, "action", actions[event->action]);
    if (event->table[0])
        json_string(out, "table", event->table);
    if (event->damage != 0) {
        json_array_open(out, "damage");
        for (unsigned i = 0; i < FIREWALL_DAMAGES; i++)
            if (event->damage & 1u << i)
                json_string(out, NULL, firewall_damage_name(i));
        json_array_close(out);
    }
    if (event->damage != 0 || event->action == OUTPUT_FIREWALL_NO_LISTENER) {
        json_bool(out, "uninspected", event->uninspected);
        json_bool(out, "dropped", event->dropped);
    }
    if (event->has_duration) {
        json_uint(out, "duration_us", event->duration_ns / 1000);
        json_uint(out, "at_most_us", event->at_most_ns / 1000);
    }
    if (event->lost)
        json_bool(out, "notifications_lost", true);
    if (event->action == OUTPUT_FIREWALL_FLUSHED || event->action == OUTPUT_FIREWALL_NO_LISTENER)
        json_uint(out, "packets", event->packets);
    if (chain->found) {
        json_object_open(out, "chain");
        json_string(out, "family", chain->family);
        json_string(out, "table", chain->table);
        json_string(out, "name", chain->chain);
        json_string(out, "hook", chain->hook);
        json_int(out, "priority", chain->priority);
        json_object_close(out);
    }
    if (event->host_version != 0) {
        eve_address(eve, out, "host", &event->host, event->host_version);
        if (event->host_seconds > 0)
            json_uint(out, "timeout", event->host_seconds);
        if (event->sid > 0) {
            json_uint(out, "gid", event->gid);
            json_uint(out, "signature_id", event->sid);
        }
    }
    if (event->generation > 0)
        json_uint(out, "generation", event->generation);
    if (event->process[0]) {
        json_object_open(out, "process");
        json_uint(out, "pid", event->pid);
        json_string(out, "name", event->process);
        json_object_close(out);
    }
    if (event->error[0])
        json_string(out, "error", event->error);
    if (eve->generation > 0)
        json_uint(out, "ruleset", eve->generation);
    json_object_close(out);
    json_object_close(out);
    eve_end(eve, out);
}
