/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice status`: shows the version, rules, mode, queues and problems of the daemon. */
#include "query.h"

#include <inttypes.h>

static const struct cli_option options[] = {
    CLI_ROW_CONFIG,
    QUERY_ROW_SOCKET,
    QUERY_ROW_JSON,
    { .name = NULL },
};

static void print_sandbox(const struct control_value *sandbox)
{
    const bool raw = control_value_bool(control_value_member(sandbox, "net_raw_only"));

    if (!raw && !control_value_bool(control_value_member(sandbox, "net_admin_only")))
        printf("no sandbox\n");
    else
        printf("sandbox: user %s, %s only%s%s\n", query_string(sandbox, "user"), raw ? "CAP_NET_RAW" : "CAP_NET_ADMIN",
               query_number(sandbox, "landlock") > 0 ? ", Landlock" : "",
               control_value_bool(control_value_member(sandbox, "seccomp")) ? ", seccomp" : "");
}

/* Prints the numbers of packets that the kernel accepted or dropped before they reached a worker. */
static void print_uninspected(const struct control_value *message)
{
    const struct control_value *uninspected = control_value_member(message, "uninspected");

    if (query_number(uninspected, "fail_open") > 0)
        printf("uninspected: %" PRId64 " packets passed because a queue was full (queue.fail-open)\n",
               query_number(uninspected, "fail_open"));
    if (query_number(uninspected, "bypass") > 0)
        printf("uninspected: %" PRId64 " packets passed while no daemon listened (bypass), in %.1f s\n",
               query_number(uninspected, "bypass"), (double)query_number(uninspected, "bypass_ms") / 1000);
    if (query_number(message, "unqueued") > 0)
        printf("%" PRId64 " packets dropped by the kernel before they reached a queue\n",
               query_number(message, "unqueued"));
    if (control_value_bool(control_value_member(message, "fail_open")) &&
        !control_value_bool(control_value_member(message, "passes_counted")))
        printf("queue.fail-open: packets that pass while a queue is full cannot be counted (no nftables rule with a "
               "counter "
               "feeds the queues)\n");
}

/* Prints the share of traffic that the kernel handled without queueing it (nft.offload). */
static void print_offload(const struct control_value *offload)
{
    const struct control_value *rules = control_value_member(offload, "first_rules");
    double packets = (double)query_number(offload, "packets"), bytes = (double)query_number(offload, "bytes");
    double all_packets = packets + (double)query_number(offload, "queued_packets");
    double all_bytes = bytes + (double)query_number(offload, "queued_bytes");

    if (!offload)
        return;
    printf("offload: %.1f %% of packets and %.1f %% of bytes never reached a queue (%" PRId64
           " packets, of which %" PRId64 " acknowledgments)\n",
           all_packets > 0 ? 100 * packets / all_packets : 0, all_bytes > 0 ? 100 * bytes / all_bytes : 0,
           query_number(offload, "packets"), query_number(offload, "acknowledgments"));
    if (query_number(offload, "acknowledgment_rules") == 0)
        return;
    printf("acknowledgments are queued, because %" PRId64 " rule%s can match or count them:",
           query_number(offload, "acknowledgment_rules"),
           query_number(offload, "acknowledgment_rules") == 1 ? "" : "s");
    for (size_t i = 0; i < control_value_count(rules); i++)
        printf(" %" PRId64 ":%" PRId64, query_number(control_value_item(rules, i), "gid"),
               query_number(control_value_item(rules, i), "sid"));
    puts((size_t)query_number(offload, "acknowledgment_rules") > control_value_count(rules) ? " ..." : "");
}

static void print_next_queues(const struct control_value *next)
{
    for (size_t i = 0; i < control_value_count(next); i++) {
        const struct control_value *queue = control_value_item(next, i);

        if (!control_value_bool(control_value_member(queue, "listening")))
            printf("queue %" PRId64 " (queue.route-to) has no listener: accepted packets %s\n",
                   query_number(queue, "queue"),
                   control_value_bool(control_value_member(queue, "bypass")) ? "pass without the next consumer"
                                                                             : "are dropped");
    }
}

/* Prints the interfaces of a sensor. */
static void print_interfaces(const struct control_value *interfaces)
{
    for (size_t i = 0; i < control_value_count(interfaces); i++) {
        const struct control_value *interface = control_value_item(interfaces, i);

        printf("interface %s: %s, %" PRId64 " packets, %" PRId64 " dropped by the kernel, link lost %" PRId64
               " times\n",
               query_string(interface, "name"), query_string(interface, "state"),
               query_number(interface, "kernel_packets"), query_number(interface, "kernel_drops"),
               query_number(interface, "link_losses"));
    }
}

static void print(const struct control_value *message)
{
    const struct control_value *rules = control_value_member(message, "rules");
    const struct control_value *reload = control_value_member(message, "reload");
    const struct control_value *outputs = control_value_member(message, "outputs");
    const struct control_value *overloaded = control_value_member(message, "overloaded");
    const struct control_value *engine = control_value_member(message, "engine");
    int64_t seconds = query_number(message, "uptime");

    printf("sluice %s, process %" PRId64 ", up for %" PRId64 " d %02" PRId64 ":%02" PRId64 ":%02" PRId64 "\n",
           query_string(message, "version"), query_number(message, "pid"), seconds / 86400, seconds / 3600 % 24,
           seconds / 60 % 60, seconds % 60);
    printf("%" PRId64 " rules, %" PRId64 " failed, %" PRId64 " skipped, generation %" PRId64 "\n",
           query_number(rules, "loaded"), query_number(rules, "failed"), query_number(rules, "skipped"),
           query_number(rules, "generation"));
    if (query_number(rules, "files_failed") > 0)
        printf("%" PRId64 " rule files could not be read (sluice rules --failed)\n",
               query_number(rules, "files_failed"));
    mode_print(control_value_member(message, "ips"));
    printf("%" PRId64 " %s: %" PRId64 " packets, %" PRId64 " dropped, %" PRId64 " passed by alert-only, %" PRId64
           " alerts%s\n",
           query_number(message, "queues"), control_value_member(message, "interfaces") ? "rings" : "queues",
           query_number(message, "packets"), query_number(message, "dropped"), query_number(message, "would_drop"),
           query_number(message, "alerts"),
           control_value_bool(control_value_member(message, "workers_answer")) ? "" : "; a worker does not answer");
    print_interfaces(control_value_member(message, "interfaces"));
    print_sandbox(control_value_member(message, "sandbox"));
    if (query_number(message, "events_lost") > 0)
        printf("%" PRId64
               " events lost: the event files or their readers failed or were too slow (sluice stats output)\n",
               query_number(message, "events_lost"));
    for (size_t i = 0; i < control_value_count(outputs); i++) {
        const struct control_value *output = control_value_item(outputs, i);

        printf("output %s: %" PRId64 " events delivered, %" PRId64 " waiting, %" PRId64 " lost%s\n",
               query_string(output, "name"), query_number(output, "delivered"), query_number(output, "waiting"),
               query_number(output, "lost"),
               !control_value_bool(control_value_member(output, "shipped"))     ? "; sluice-ship does not run"
               : !control_value_bool(control_value_member(output, "connected")) ? "; not connected"
                                                                                : "");
    }
    for (size_t i = 0; i < control_value_count(overloaded); i++) {
        int64_t queue = 0;

        control_value_number(control_value_item(overloaded, i), &queue);
        printf("%s %" PRId64 " is overloaded (sluice queues)\n",
               control_value_member(message, "interfaces") ? "ring" : "queue", queue);
    }
    print_offload(control_value_member(message, "offload"));
    print_uninspected(message);
    print_next_queues(control_value_member(message, "next_queues"));
    if (query_number(engine, "restarts") > 0)
        printf("the engine died %" PRId64 " times: %" PRId64 " packets were queued again, %" PRId64
               " are in quarantine\n",
               query_number(engine, "restarts"), query_number(engine, "repeated"), query_number(engine, "quarantined"));
    if (control_value_member(reload, "last"))
        printf("last reload: %s, %s%s\n", query_string(reload, "last"),
               control_value_bool(control_value_member(reload, "ok")) ? "done" : "refused: ",
               query_string(reload, "error"));
}

static int run_status(int argc, char **argv)
{
    return query_simple(&command_status, QUERY_SECONDS, argc, argv, print);
}

const struct command command_status = {
    .name = "status",
    .usage = "[OPTION]...",
    .summary = "Show the status of the running daemon",
    .options = options,
    .run = run_status,
};
