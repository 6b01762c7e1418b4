/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The settings of the daemon: control socket, reload, sandbox, engines and statistics. */
#include "sluice/daemon.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sluice/affinity.h"
#include "sluice/app.h"
#include "sluice/capture.h"
#include "sluice/config.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/firewall.h"
#include "sluice/host_os_table.h"
#include "sluice/metrics.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/policy.h"
#include "sluice/setup.h"
#include "sluice/stream.h"

enum { MAX_TABLES = APP_MAX_PROTOCOLS + 28 };

static const char no_effect[] = "has no effect yet";
static const char *const refuse_or_skip[] = { "refuse", "skip", NULL };
static const char *const failure_policies[] = {
    [FAILURE_POLICY_AUTO] = "auto", [FAILURE_POLICY_OPEN] = "open", [FAILURE_POLICY_CLOSED] = "closed", NULL
};

static const char *check_mode(const char *value)
{
    unsigned mode;

    return config_mode(value, &mode) ? NULL : "permissions in octal such as 0660";
}

static void store_mode(const char *value, void *options)
{
    config_mode(value, &((struct daemon_options *)options)->control_mode);
}

const struct setting daemon_settings[] = {
    { .name = "unix-command.enabled",
      SETTING_FIELD(daemon_options, control),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Open the control socket, which `sluice status` and other commands use; with auto the daemon runs "
              "without it when it can't be opened" },
    { .name = "unix-command.filename",
      SETTING_FIELD(daemon_options, control_name),
      .type = SETTING_STRING,
      .default_value = SLUICE_RUNDIR "/control.socket",
      .help = "Path of the control socket; a name without / lies in " SLUICE_RUNDIR },
    { .name = "control.mode",
      .store = store_mode,
      .type = SETTING_STRING,
      .default_value = "0660",
      .check = check_mode,
      .help = "Permissions of the control socket, in octal; whoever may write to it may send commands, reload "
              "among them" },
    { .name = "control.group",
      SETTING_FIELD(daemon_options, control_group),
      .type = SETTING_STRING,
      .help = "Group of the control socket; unset: group of the daemon" },
    { .name = "control.clients",
      SETTING_FIELD(daemon_options, control_clients),
      .type = SETTING_NUMBER,
      .default_value = "8",
      .low = 1,
      .high = 64,
      .help = "Maximum number of control socket requests that are being answered at a time; beyond it a request "
              "replaces a client that does not read its answer" },
    { .name = "pid-file",
      SETTING_FIELD(daemon_options, pid_file),
      .type = SETTING_STRING,
      .help = "File with the process id of the daemon, to which signals are sent; removed at the end; a name without / "
              "lies in " SLUICE_RUNDIR "; unset: none" },
    { .name = "reload.mistakes",
      SETTING_FIELD(daemon_options, reload_skips_mistakes),
      .type = SETTING_ENUM,
      .default_value = "skip",
      .choices = refuse_or_skip,
      .help = "Reaction of a reload when rules have more mistakes than the rules in use: skip leaves out the rules "
              "with mistakes, as a start does; refuse keeps the rules in use" },
    { .name = "reload.memory-max",
      SETTING_FIELD(daemon_options, reload_memory_max),
      .type = SETTING_SIZE,
      .default_value = "0",
      .high = INT64_C(1) << 40,
      .help = "Memory that a reload may take for the new rules, beside those in use; 0: what the machine or the "
              "control group has left" },
    { .name = "run-as.user",
      SETTING_FIELD(daemon_options, user),
      .type = SETTING_STRING,
      .help = "User that the engine runs as when root starts the daemon; unset: sluice, if this user exists" },
    { .name = "run-as.group",
      SETTING_FIELD(daemon_options, group),
      .type = SETTING_STRING,
      .help = "Group that the engine runs as; unset: group of the user" },
    { .name = "security.sandbox",
      SETTING_FIELD(daemon_options, sandbox),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = setting_auto_choices,
      .help = "Sandbox the engine: run as run-as.user with CAP_NET_ADMIN only, with a Landlock and a seccomp "
              "filter. auto logs what the kernel lacks, yes does not start without all of it" },
    { .name = "security.seccomp",
      SETTING_FIELD(daemon_options, seccomp),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Restrict system calls in the sandbox (seccomp)" },
    { .name = "security.landlock.enabled",
      SETTING_FIELD(daemon_options, landlock),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Restrict file access in the sandbox (Landlock)" },
    { .name = "security.landlock.directories.read",
      SETTING_FIELD(daemon_options, folders_to_read),
      .type = SETTING_PATHS,
      .help = "Further folders that the sandbox may read, for example those of files that rules name" },
    { .name = "security.landlock.directories.write",
      SETTING_FIELD(daemon_options, folders_to_write),
      .type = SETTING_PATHS,
      .help = "Further folders that the sandbox may write to" },
    { .name = "security.limit-noproc",
      .type = SETTING_BOOL,
      .help = "Accepted without effect: the seccomp filter allows no new processes" },
    { .name = "engine.hang-timeout",
      SETTING_FIELD(daemon_options, hang_timeout),
      .type = SETTING_NUMBER,
      .default_value = "10",
      .low = 0,
      .high = 3600,
      .help = "Seconds without progress of a worker after which the engine is killed and replaced; 0: unlimited" },
    { .name = "engine.load-timeout",
      SETTING_FIELD(daemon_options, load_timeout),
      .type = SETTING_NUMBER,
      .default_value = "300",
      .low = 0,
      .high = 86400,
      .help = "Seconds that an engine may take to start, and a reload to load its rules; then the engine is "
              "killed, or the reload is reported as failed; 0: unlimited" },
    { .name = "engine.stop-timeout",
      SETTING_FIELD(daemon_options, stop_timeout),
      .type = SETTING_NUMBER,
      .default_value = "30",
      .low = 0,
      .high = 3600,
      .help = "Seconds that an engine may take to stop before it is killed; 0: unlimited" },
    { .name = "engine.restart-limit",
      SETTING_FIELD(daemon_options, restart_limit),
      .type = SETTING_NUMBER,
      .default_value = "20",
      .low = 0,
      .high = 1000000,
      .help = "Number of engines in a row that may die before they have inspected packets for a second; when one "
              "more dies, engine.failure-policy decides" },
    { .name = "engine.failure-policy",
      SETTING_FIELD(daemon_options, failure_policy),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = failure_policies,
      .help = "Treatment of traffic when engines keep dying: open (remove the sluice table, packets pass "
              "uninspected), closed (keep the table, packets are dropped), auto (open if nft.bypass is yes)" },
    { .name = "engine.crash-policy",
      SETTING_FIELD(daemon_options, failure_policies[ENGINE_FAILURE_CRASH]),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = failure_policies,
      .help = "Treatment of traffic when engines die while they inspect packets; auto: engine.failure-policy. When "
              "deaths in "
              "a row have several causes, closed wins" },
    { .name = "engine.hang-policy",
      SETTING_FIELD(daemon_options, failure_policies[ENGINE_FAILURE_HANG]),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = failure_policies,
      .help = "Treatment of traffic when workers hang (engine.hang-timeout); auto: engine.failure-policy" },
    { .name = "engine.memory-policy",
      SETTING_FIELD(daemon_options, failure_policies[ENGINE_FAILURE_MEMORY]),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = failure_policies,
      .help =
          "Treatment of traffic when the kernel kills engines because memory ran out; auto: engine.failure-policy" },
    { .name = "engine.start-policy",
      SETTING_FIELD(daemon_options, failure_policies[ENGINE_FAILURE_START]),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = failure_policies,
      .help =
          "Treatment of traffic when no engine starts any more; auto: engine.failure-policy. At the first start of the "
          "daemon only closed takes effect; otherwise the firewall stays as it is" },
    { .name = "engine.violation-policy",
      SETTING_FIELD(daemon_options, failure_policies[ENGINE_FAILURE_VIOLATION]),
      .type = SETTING_ENUM,
      .default_value = "auto",
      .choices = failure_policies,
      .help = "Treatment of traffic when engines are killed because they may have been taken over: they sent invalid "
              "or too many messages, or did not read theirs; auto: engine.failure-policy" },
    { .name = "stats.interval",
      SETTING_FIELD(daemon_options, stats_interval),
      .type = SETTING_NUMBER,
      .default_value = "10",
      .low = 0,
      .high = 86400,
      .help = "Seconds between two stats events; 0: only at the end and on SIGUSR1" },
    { .name = "stats.stream-events",
      SETTING_FIELD(daemon_options, stats_stream_events),
      .type = SETTING_BOOL,
      .default_value = "no",
      .help = "Add a counter for each event of TCP tracking" },
    { .name = "stats.exception-policy.global-stats",
      SETTING_FIELD(daemon_options, stats_exceptions),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Add counters of the exception policies" },
    { .name = "stats.exception-policy.per-app-proto-errors",
      .type = SETTING_BOOL,
      .warning = no_effect,
      .help = "Add counters of parser errors by protocol" },
    { .name = "stats.decoder-events",
      SETTING_FIELD(daemon_options, stats_decoder_events),
      .type = SETTING_BOOL,
      .default_value = "yes",
      .help = "Add a counter for each event of the decoder" },
    { .name = NULL },
};

int daemon_new_config(struct config **out)
{
    /* All settings, in the order in which `sluice settings` and sluice.yaml(5) list them. */
    static const struct setting *const modules[] = {
        rules_settings,      firewall_rules_settings, dataset_settings,
        policy_settings,     daemon_settings,         detector_settings,
        queue_settings,      af_packet_settings,      ips_mode_settings,
        firewall_settings,   affinity_settings,       decode_settings,
        inspection_settings, flow_settings,           stream_settings,
        exception_settings,  overload_settings,       defrag_settings,
        host_os_settings,    output_settings,         destination_settings,
        eve_settings,        file_settings,           metrics_settings,
        pcap_log_settings,   tls_store_settings,
    };
    const size_t count = sizeof(modules) / sizeof(modules[0]);
    const struct setting *tables[MAX_TABLES];

    memcpy(tables, modules, sizeof(modules));
    tables[count + app_setting_tables(tables + count)] = NULL;
    return config_new(out, tables);
}
