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
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/config.h"
#include "sluice/control.h"
#include "sluice/daemon.h"
#include "sluice/engine_limits.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/supervisor_channel.h"
#include "sluice/text.h"
#include "sluice/worker.h"

#include "confinement.h"
#include "daemon/commands/service.h"
#include "mode.h"
#include "talkers.h"

#define NO_TICKET UINT64_MAX

enum { MAX_MODE_SECONDS = 366 * 86400 };

/* --- mode ----------------------------------------------------------------------------------------- */

static void mode(void *user, struct control_request *request)
{
    struct mode_control *control = ((struct service *)user)->options.mode;
    const char *name = control_string(request, "mode");
    int64_t seconds = control_number(request, "seconds", 0);
    enum ips_mode wanted;
    struct text *out;

    if (name && control->workers[0].is_ring) {
        control_fail(request, "a sensor (capture.method: af-packet) drops nothing: it has no other mode");
        return;
    }
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
    if (service->options.sensor) {
        control_fail(request,
                     "a sensor has no hand-over: restart the daemon to run the installed program; packets that "
                     "arrive meanwhile are not inspected, and flows are lost");
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
    json_uint(control_answer(request), NULL, service_uptime(user));
}

static void put_version(void *user, struct control_request *request)
{
    (void)user;
    json_string(control_answer(request), NULL, SLUICE_VERSION);
}

static service_command list_commands, describe_commands;

/* A command with the name of a Suricata command answers in the same form as that command. */
static const struct control_command commands[] = {
    { "status", NULL, "Show the state of the daemon", service_show_status },
    { "stats", NULL, "Show all counters", service_show_stats },
    { "dump-counters", NULL, "Show all counters, and those of each worker below `threads`", service_dump_counters },
    { "queues", NULL, "Show the queues with their counters", service_list_queues },
    { "iface-list", NULL, "List the queues, as Suricata lists its interfaces", service_list_interfaces },
    { "iface-stat", NULL, "Show the counters of a queue: iface", service_show_interface },
    { "iface-bypassed-stat", "ebpf-bypassed-stat", "Show the counters of offloaded flows", service_show_bypassed },
    { "capture-mode", NULL, "Show the capture mode: NFQ", service_show_capture_mode },
    { "running-mode", NULL, "Show the running mode: workers", service_show_running_mode },
    { "costs", NULL, "Show how much detection searches and evaluates, and the rules that take most time",
      service_list_costs },
    { "top", NULL,
      "Show the data of `sluice top`: counters, queues, and if requested talkers, rules, alerts (numbers), after",
      service_show_top },
    { "alerts", NULL, "List the last alerts, oldest first: limit, after (the number of an alert)",
      service_list_alerts },
    { "flows", NULL, "List the flows: limit, from", service_list_flows },
    { "get-flow-stats-by-id", NULL, "Show the packets, bytes and age of a flow: flow_id", service_show_flow_counters },
    { "explain", NULL,
      "Explain the verdict on a flow (flow_id; or proto, src_ip, src_port, dest_ip, dest_port, vlan) or the state of a "
      "rule (sid, gid)",
      service_explain },
    { "analyse", NULL, "Show how a rule is compiled: its groups, pattern, buffers and conditions (sid, gid)",
      service_analyse },
    { "rules", NULL, "List the loaded rules: limit, from", service_list_rules },
    { "failed-rules", NULL, "List the rules and rule files that were left out, each with the reason: limit, from",
      service_list_failed_rules },
    { "ruleset-failed-rules", NULL, "List the rules that were left out", service_list_failures },
    { "ruleset-stats", NULL, "Show the numbers of rules that were loaded and left out", service_show_ruleset },
    { "ruleset-reload-time", NULL, "Show when the rules were loaded", service_show_reload_time },
    { "reload", NULL, "Reload rules and settings; the answer is sent when all workers use them", service_reload },
    { "reload-nonblocking", NULL, "Reload rules and settings; the answer is sent at once", service_reload_later },
    { "reload-rules", "ruleset-reload-rules", "Same as reload; the answer is \"done\"", service_reload_brief },
    { "ruleset-reload-nonblocking", NULL, "Same as reload-nonblocking; the answer is \"done\"",
      service_reload_later_brief },
    { "mode", NULL,
      "Show the mode of each queue; with mode (drop, alert-only, configured) change it, for `seconds` if set", mode },
    { "conf-get", NULL, "Show the value of a setting: variable", service_show_setting },
    { "memcap-list", NULL, "List the memcaps", service_list_memcaps },
    { "memcap-show", NULL, "Show a memcap: config", service_show_memcap },
    { "memcap-set", NULL, "Change a memcap until the next start: config, memcap", service_set_memcap },
    { "datasets", NULL, "List the datasets, each with its type and the number of its values", service_list_datasets },
    { "dataset-add", NULL, "Add a value to a dataset: setname, settype, datavalue", service_add_to_dataset },
    { "dataset-remove", NULL, "Remove a value from a dataset: setname, settype, datavalue",
      service_remove_from_dataset },
    { "dataset-lookup", NULL, "Look a value up in a dataset: setname, settype, datavalue", service_look_up_in_dataset },
    { "dataset-clear", NULL, "Remove all values of a dataset: setname, settype", service_clear_dataset },
    { "dataset-dump", NULL, "Write the datasets that have a file to it", service_dump_datasets },
    { "add-hostbit", NULL, "Set a bit on a host: ipaddress, hostbit, expire (seconds)", service_add_hostbit },
    { "remove-hostbit", NULL, "Clear a bit of a host: ipaddress, hostbit", service_remove_hostbit },
    { "list-hostbit", NULL, "List the bits of a host: ipaddress", service_list_hostbits },
    { "blocklist-lists", NULL, "Show the lists of hosts and networks that are blocked", service_list_blocklists },
    { "blocklist-reread", NULL,
      "Read the lists of hosts and networks to block again; the answer is the number of the reading",
      service_reread_blocklists },
    { "reopen", "reopen-log-files", "Reopen the event file by its name, after a log rotation", reopen },
    { "upgrade", NULL,
      "Replace the running daemon with the installed binary, without packet loss; the answer is sent when it has taken "
      "over",
      upgrade },
    { "shutdown", NULL, "Refused: stop the daemon with `sluice shutdown`, or by its service manager",
      service_refuse_shutdown },
    { "uptime", NULL, "Show the seconds since the start; upgrades do not reset them", put_uptime },
    { "version", NULL, "Show the version of the program", put_version },
    { "command-list", NULL, "List the commands", list_commands },
    { "help", NULL, "List the commands, each with its description", describe_commands },
    { "register-tenant", "register-tenant-handler", "Not supported", service_refuse_tenant },
    { "unregister-tenant", "unregister-tenant-handler", "Not supported", service_refuse_tenant },
    { "reload-tenant", "reload-tenants", "Not supported", service_refuse_tenant },
    { "dataset-add-json", NULL, "Not supported", service_refuse_json_dataset },
    { "pcap-file", "pcap-file-continuous", "Only in `sluice replay --unix-socket`", service_refuse_pcap },
    { "pcap-file-number", "pcap-file-list", "Only in `sluice replay --unix-socket`", service_refuse_pcap },
    { "pcap-last-processed", "pcap-interrupt", "Only in `sluice replay --unix-socket`", service_refuse_pcap },
    { "pcap-current", NULL, "Only in `sluice replay --unix-socket`", service_refuse_pcap },
    { NULL, NULL, NULL, NULL },
};

static void list_commands(void *user, struct control_request *request)
{
    (void)user;
    control_list_commands(request, commands, false);
}

static void describe_commands(void *user, struct control_request *request)
{
    (void)user;
    control_list_commands(request, commands, true);
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
    service_read_memcaps(service);
    service->queries = calloc(options->worker_count, sizeof(*service->queries));
    service->memcap_requests = calloc(options->worker_count, sizeof(*service->memcap_requests));
    if (service->queries && service->memcap_requests)
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
    free(service->memcap_requests);
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
