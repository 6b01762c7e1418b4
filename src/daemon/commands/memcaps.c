/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Commands that show and change memcaps. Each worker changes its own share between two batches. An engine
 * hand-over keeps the change (handover.c); after a start, or a crash of the engine, the configuration applies.
 */
#include "service.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/host.h"
#include "sluice/log.h"
#include "sluice/stats.h"
#include "sluice/text.h"
#include "sluice/worker.h"

enum { SIZE_TEXT = 32, KIB = 1 << 10, MIB = 1 << 20, GIB = 1 << 30 };

/* Suricata's name of each memcap, and Sluice's setting for it. Several names may have the same setting: all protocols
 * share a memcap, and the table of hosts also stores pairs of hosts. */
static const struct memcap_row {
    const char *name, *setting;
    unsigned memcap; /* enum worker_memcap, or PIPELINE_MEMCAP_HOST */
} rows[] = {
    { "stream", "stream.memcap", MEMCAP_STREAM },
    { "stream-reassembly", "stream.reassembly-memcap", MEMCAP_REASSEMBLY },
    { "flow", "flow.memcap", MEMCAP_FLOW },
    { "applayer-proto-http", "app-layer.memcap", MEMCAP_APP },
    { "applayer-proto-http-byterange", "app-layer.memcap", MEMCAP_APP },
    { "defrag", "defrag.memcap", MEMCAP_DEFRAG },
    { "ippair", "host.memcap", PIPELINE_MEMCAP_HOST },
    { "host", "host.memcap", PIPELINE_MEMCAP_HOST },
    { "ftp", "app-layer.memcap", MEMCAP_APP },
};

static const char *format_size(uint64_t bytes, char out[SIZE_TEXT])
{
    if (bytes >= GIB)
        snprintf(out, SIZE_TEXT, "%" PRIu64 "gb", bytes / GIB);
    else if (bytes >= MIB)
        snprintf(out, SIZE_TEXT, "%" PRIu64 "mb", bytes / MIB);
    else if (bytes >= KIB)
        snprintf(out, SIZE_TEXT, "%" PRIu64 "kb", bytes / KIB);
    else
        snprintf(out, SIZE_TEXT, "%" PRIu64 "b", bytes);
    return out;
}

void service_read_memcaps(struct service *service)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct text value;
        int64_t bytes = 0;

        text_init(&value);
        if (config_value_text(service->options.config, rows[i].setting, &value) == CONFIG_VALUE && !value.failed)
            config_size(value.bytes, &bytes);
        text_clear(&value);
        service->options.memcaps[rows[i].memcap].configured = (uint64_t)bytes;
    }
}

static uint64_t current_memcap(const struct service *service, const struct memcap_row *row)
{
    const struct memcap_state *state = &service->options.memcaps[row->memcap];

    return state->changed > 0 ? state->changed : state->configured;
}

static const struct memcap_row *find_row(struct control_request *request)
{
    const char *name = control_string(request, "config");

    if (!name) {
        control_fail(request, "config is not a string");
        return NULL;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (strcmp(rows[i].name, name) == 0 || strcmp(rows[i].setting, name) == 0)
            return &rows[i];
    }
    control_fail(request, "Memcap value not found: '%.40s'. Use 'memcap-list' to show all", name);
    return NULL;
}

void service_list_memcaps(void *user, struct control_request *request)
{
    struct text *out = control_answer(request);
    char size[SIZE_TEXT];

    json_array_open(out, NULL);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        json_object_open(out, NULL);
        json_string(out, "name", rows[i].name);
        json_string(out, "value", format_size(current_memcap(user, &rows[i]), size));
        json_string(out, "setting", rows[i].setting);
        json_object_close(out);
    }
    json_array_close(out);
}

void service_show_memcap(void *user, struct control_request *request)
{
    const struct memcap_row *row = find_row(request);
    struct text *out;
    char size[SIZE_TEXT];

    if (!row)
        return;
    out = control_answer(request);
    json_object_open(out, NULL);
    json_string(out, "value", format_size(current_memcap(user, row), size));
    json_object_close(out);
}

/* Returns the bytes in use that a memcap limits, summed over the workers. */
static uint64_t memory_in_use(struct service *service, const struct memcap_row *row)
{
    const struct service_options *options = &service->options;
    uint64_t used = 0;

    if (row->memcap == PIPELINE_MEMCAP_HOST)
        return host_table_memory_used(options->workers[0].pipeline.hosts);
    service_take_snapshots(service);
    for (unsigned i = 0; i < options->worker_count; i++) {
        const struct worker_snapshot *snapshot = &options->workers[i].snapshot;
        const struct {
            unsigned memcap;
            const char *counter;
            size_t count;
            const char *(*name)(size_t index);
            const uint64_t *values;
        } sources[] = {
            { MEMCAP_FLOW, "flow.memuse", flow_counter_count(), flow_counter_name, snapshot->flow },
            { MEMCAP_STREAM, "tcp.memuse", stream_counter_count(), stream_counter_name, snapshot->stream },
            { MEMCAP_REASSEMBLY, "tcp.reassembly_memuse", stream_counter_count(), stream_counter_name,
              snapshot->stream },
            { MEMCAP_DEFRAG, "defrag.memuse", defrag_counter_count(), defrag_counter_name, snapshot->defrag },
        };

        for (size_t k = 0; k < sizeof(sources) / sizeof(sources[0]); k++) {
            for (size_t j = 0; sources[k].memcap == row->memcap && j < sources[k].count; j++)
                used += strcmp(sources[k].name(j), sources[k].counter) == 0 ? sources[k].values[j] : 0;
        }
        for (size_t j = 0; row->memcap == MEMCAP_APP && j < app_counter_count(); j++)
            used += strcmp(app_counter_name(service->options.apps, j), "app_layer.memuse") == 0 ? snapshot->app[j] : 0;
    }
    return used;
}

/* Sends all workers their shares of a memcap, until one refuses it. Returns 0 or the error. *changed is the number of
 * workers that have changed the memcap. -EAGAIN: a worker does not answer. */
static int send_shares(struct service *service, unsigned memcap, uint64_t bytes, unsigned *changed)
{
    unsigned count = service->options.worker_count;

    for (*changed = 0; *changed < count; ++*changed) {
        struct worker_memcap_request *share = &service->memcap_requests[*changed];
        struct worker *worker = &service->options.workers[*changed];

        if (atomic_load(&worker->memcap_request))
            return -EAGAIN; /* the worker may still write to the request */
        *share = (struct worker_memcap_request){ .memcap = (enum worker_memcap)memcap, .size = bytes / count };
        if (!worker_set_memcap(worker, share))
            return -EAGAIN;
        if (share->error)
            return share->error;
    }
    return 0;
}

/* Changes the memcap in all workers or in none. Returns 0 or the error. */
static int change_memcap(struct service *service, const struct memcap_row *row, uint64_t bytes)
{
    unsigned changed, again;
    uint64_t before = current_memcap(service, row);
    int err;

    if (row->memcap == PIPELINE_MEMCAP_HOST)
        return host_table_set_memcap(service->options.workers[0].pipeline.hosts, bytes);
    err = send_shares(service, row->memcap, bytes, &changed);
    if (err && changed > 0 && send_shares(service, row->memcap, before, &again))
        log_warning("%s: some workers keep the refused memcap of %" PRIu64 " bytes until they answer or have less "
                    "memory in use; set the memcap again",
                    row->setting, bytes);
    return err;
}

void service_set_memcap(void *user, struct control_request *request)
{
    struct service *service = user;
    const struct memcap_row *row = find_row(request);
    const char *value = control_string(request, "memcap");
    const struct setting *setting;
    char size[SIZE_TEXT], low[SIZE_TEXT], high[SIZE_TEXT];
    int64_t bytes;
    size_t index = 0;
    int err;

    if (!row)
        return;
    if (!value) {
        control_fail(request, "memcap value is not a string");
        return;
    }
    if (!config_size(value, &bytes)) {
        control_fail(request,
                     "error parsing memcap specified, value not changed: '%.40s' is not a size such as 64mb or 1gb",
                     value);
        return;
    }
    if (bytes == 0) {
        control_fail(request, "Unlimited value is not allowed for '%s'", row->name);
        return;
    }
    while ((setting = config_setting(service->options.config, index)) && strcmp(setting->name, row->setting) != 0)
        index++;
    if (setting && (bytes < setting->low || bytes > setting->high)) {
        control_fail(request, "memcap value specified for '%s' must be from %s to %s, value not changed", row->name,
                     format_size((uint64_t)setting->low, low), format_size((uint64_t)setting->high, high));
        return;
    }
    if (row->memcap != PIPELINE_MEMCAP_HOST &&
        (uint64_t)bytes > MEMCAP_MAX_GROWTH * service->options.memcaps[row->memcap].configured)
        err = -ERANGE;
    else
        err = change_memcap(service, row, (uint64_t)bytes);
    switch (err) {
    case 0:
        service->options.memcaps[row->memcap].changed = (uint64_t)bytes;
        if (row->memcap < WORKER_MEMCAPS)
            stats_set_memcap(service->options.stats, (enum worker_memcap)row->memcap, (uint64_t)bytes);
        log_notice("a client of the control socket has set %s to %" PRId64 " bytes, until the next start", row->setting,
                   bytes);
        control_print(request, "memcap value for '%s' updated: %" PRId64, row->name, bytes);
        break;
    case -EBUSY:
        control_fail(request,
                     "memcap value specified for '%s' is less than the memory in use: %s, and hash tables of the "
                     "configured size; each worker has an equal share; value not changed",
                     row->name, format_size(memory_in_use(service, row), size));
        break;
    case -ERANGE:
        control_fail(request,
                     "memcap value specified for '%s' is more than %d times that of the configuration, value not "
                     "changed; change %s there and run `sluice upgrade`",
                     row->name, (int)MEMCAP_MAX_GROWTH, row->setting);
        break;
    case -EAGAIN:
        control_fail(request, "a worker does not answer, value not changed");
        break;
    default:
        control_fail(request, "memcap value for '%s' not changed: %s", row->name, strerror(-err));
    }
}
