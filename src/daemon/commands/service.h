/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private to the commands of the control socket: the service, and the functions that run commands, by the file that has
 * them. src/daemon/control_commands.c has the table of commands.
 *
 * A function that runs a command has the form of control_command.run (sluice/control.h); its `user` is the service.
 */
#ifndef SLUICE_DAEMON_COMMANDS_SERVICE_H
#define SLUICE_DAEMON_COMMANDS_SERVICE_H

#include "daemon/control_commands.h"
#include "sluice/control.h"

enum {
    SERVICE_MAX_TICKETS = 64,
};

/* A client that waits for the result of a reload. */
struct waiting_client {
    uint64_t ticket;
    unsigned number; /* number of the reload that the client waits for */
    bool brief;      /* the client sent Suricata's name of the command: the answer is "done" */
};

struct service {
    struct service_options options;
    struct control_server *server; /* NULL: no control socket */
    struct worker_query *queries;  /* one for each worker */
    struct talkers *talkers;       /* created by the first request for talkers */
    struct waiting_client waiting[SERVICE_MAX_TICKETS];
    unsigned waiting_count;
    struct worker_memcap_request *memcap_requests; /* one for each worker */
    /* Ticket of the client that requested an upgrade and waits for the next engine; UINT64_MAX: none. */
    uint64_t upgrade;
    int events_error; /* last error of the event file that was logged; 0: none */
};

typedef void service_command(void *user, struct control_request *request);

/* --- state.c: the daemon and its queues ----------------------------------------------------------- */

uint64_t service_uptime(const struct service *service);
/* Requests the snapshots of all workers before it waits for any, so that it waits only as long as the slowest worker.
 * Returns true if all workers have answered. */
bool service_take_snapshots(struct service *service);

service_command service_show_status, service_show_stats, service_dump_counters, service_list_queues, service_list_costs,
    service_show_capture_mode, service_show_running_mode, service_list_interfaces, service_show_interface,
    service_show_bypassed, service_refuse_shutdown;

/* --- memcaps.c ------------------------------------------------------------------------------------ */

/* Sets memcap_state.configured of all memcaps; called once, before clients can change them. */
void service_read_memcaps(struct service *service);
service_command service_list_memcaps, service_show_memcap, service_set_memcap;

/* --- datasets.c ----------------------------------------------------------------------------------- */

service_command service_list_datasets, service_add_to_dataset, service_remove_from_dataset, service_look_up_in_dataset,
    service_clear_dataset, service_dump_datasets;

/* --- hostbits.c ----------------------------------------------------------------------------------- */

service_command service_add_hostbit, service_remove_hostbit, service_list_hostbits;

/* --- unsupported.c: commands of Suricata that are refused ------------------------------------------ */

service_command service_refuse_tenant, service_refuse_json_dataset, service_refuse_pcap;

/* --- blocklist.c, live.c -------------------------------------------------------------------------- */

service_command service_list_blocklists, service_reread_blocklists;
service_command service_show_top, service_list_alerts, service_analyse;

/* --- settings.c ----------------------------------------------------------------------------------- */

service_command service_show_setting;

/* --- flows.c -------------------------------------------------------------------------------------- */

service_command service_list_flows, service_explain, service_show_flow_counters;

/* --- rules.c: lists of rules, and reloads --------------------------------------------------------- */

service_command service_list_rules, service_list_failed_rules, service_list_failures, service_show_ruleset,
    service_show_reload_time, service_reload, service_reload_later, service_reload_brief, service_reload_later_brief;

#endif
