/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands about the daemon and its queues. */
#include "service.h"

#include <string.h>
#include <unistd.h>

#include "sluice/detect.h"
#include "sluice/capture.h"
#include "sluice/daemon.h"
#include "sluice/log.h"
#include "sluice/stats.h"
#include "sluice/stream.h"
#include "sluice/supervisor_channel.h"
#include "sluice/text.h"
#include "sluice/worker.h"

uint64_t service_uptime(const struct service *service)
{
    return stats_uptime(service->options.stats, service->options.started_ns);
}

bool service_take_snapshots(struct service *service)
{
    const struct service_options *options = &service->options;
    bool all = true;

    for (unsigned i = 0; i < options->worker_count; i++)
        worker_request_snapshot(&options->workers[i]);
    for (unsigned i = 0; i < options->worker_count; i++)
        all &= worker_wait_snapshot(&options->workers[i]);
    return all;
}

void service_show_status(void *user, struct control_request *request)
{
    struct service *service = user;
    bool answering = service_take_snapshots(service);

    control_status_json(control_answer(request), &service->options, service_uptime(service), answering);
}

void service_show_stats(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct service_options *options = &service->options;

    if (!service_take_snapshots(service)) {
        control_fail(request, "a worker does not answer");
        return;
    }
    stats_json(options->stats, options->worker_list, options->worker_count, *options->ruleset, options->output,
               service_uptime(service), false, control_answer(request));
}

void service_list_queues(void *user, struct control_request *request)
{
    struct service *service = user;
    struct text *out;

    service_take_snapshots(service);
    out = control_answer(request);
    json_array_open(out, NULL);
    for (unsigned i = 0; i < service->options.worker_count; i++)
        control_queue_json(out, service->options.stats, &service->options.workers[i]);
    json_array_close(out);
}

void service_list_costs(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct service_options *options = &service->options;

    if (!service_take_snapshots(service)) {
        control_fail(request, "a worker does not answer");
        return;
    }
    explain_costs(control_answer(request), *options->ruleset, options->apps, options->workers, options->worker_count);
}

/* --- Suricata's commands about capture ------------------------------------------------------------ */

void service_dump_counters(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct service_options *options = &service->options;

    if (!service_take_snapshots(service)) {
        control_fail(request, "a worker does not answer");
        return;
    }
    stats_json(options->stats, options->worker_list, options->worker_count, *options->ruleset, options->output,
               service_uptime(service), true, control_answer(request));
}

void service_show_capture_mode(void *user, struct control_request *request)
{
    const struct service_options *options = &((const struct service *)user)->options;

    json_string(control_answer(request), NULL, options->sensor ? "AF_PACKET_DEV" : "NFQ");
}

void service_show_running_mode(void *user, struct control_request *request)
{
    (void)user;
    json_string(control_answer(request), NULL, "workers");
}

/* Lists the queues, which Sluice has instead of interfaces. A queue is named nfq0, as in the name W#01-nfq0 of its
 * worker in dump-counters. */
void service_list_interfaces(void *user, struct control_request *request)
{
    const struct service_options *options = &((const struct service *)user)->options;
    struct text *out = control_answer(request);

    json_object_open(out, NULL);
    json_uint(out, "count", options->worker_count);
    json_array_open(out, "ifaces");
    for (unsigned i = 0; i < options->worker_count; i++)
        json_printf(out, NULL, options->sensor ? "ring%u" : "nfq%u", (unsigned)options->workers[i].queue.queue);
    json_array_close(out);
    json_object_close(out);
}

void service_show_interface(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct service_options *options = &service->options;
    const char *name = control_string(request, "iface"), *number;
    const struct worker *worker = NULL;
    struct queue_status status = { 0 };
    struct text *out;
    uint64_t queue, checksums = 0;

    if (!name) {
        control_fail(request, "iface is not a string");
        return;
    }
    number = name + (strncmp(name, "nfq", strlen("nfq")) == 0 ? strlen("nfq") : 0);
    number += options->sensor && strncmp(name, "ring", strlen("ring")) == 0 ? strlen("ring") : 0;
    for (unsigned i = 0; i < options->worker_count && text_to_uint(number, strlen(number), 0, UINT16_MAX, &queue); i++)
        worker = options->workers[i].queue.queue == queue ? &options->workers[i] : worker;
    if (!worker) {
        control_fail(request, "Iface does not exist: '%.40s' is none of the queues; iface-list lists them", name);
        return;
    }
    if (!service_take_snapshots(service)) {
        control_fail(request, "a worker does not answer");
        return;
    }
    for (size_t i = 0; i < stream_counter_count(); i++)
        checksums += strcmp(stream_counter_name(i), "tcp.invalid_checksum") == 0 ? worker->snapshot.stream[i] : 0;
    capture_status(worker->capture, &status); /* if it fails, the counters of the kernel are shown as 0 */
    out = control_answer(request);
    json_object_open(out, NULL);
    json_uint(out, "pkts", stats_queue_total(options->stats, worker, "packets", worker->snapshot.capture.packets));
    json_uint(out, "invalid-checksums", checksums);
    json_uint(out, "drop", (uint64_t)status.queue_dropped + status.user_dropped);
    json_uint(out, "bypassed", worker->snapshot.pipeline.captured_packets + worker->snapshot.pipeline.local_packets);
    json_object_close(out);
}

void service_show_bypassed(void *user, struct control_request *request)
{
    (void)user;
    control_fail(request, "No interface using bypass: the kernel offloads flows, see firewall.offload in dump-counters "
                          "or `sluice stats firewall.offload`");
}

/* An attacker who has taken over the engine must not be able to end the inspection, so the supervisor has no message
 * for this. */
void service_refuse_shutdown(void *user, struct control_request *request)
{
    (void)user;
    control_fail(
        request,
        "the daemon cannot be stopped over the control socket: use `sluice shutdown`, stop the service, or send "
        "SIGTERM to process %d",
        (int)getppid());
}
