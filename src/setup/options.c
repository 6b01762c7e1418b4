/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of the modules from the configuration, and checks what the tables of settings cannot express. */
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "setup_priv.h"

#include "sluice/block_lists.h"
#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/decode.h"
#include "sluice/defrag.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/firewall.h"
#include "sluice/host_os_table.h"
#include "sluice/offload.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/stream.h"
#include "sluice/text.h"

/* Seconds after the start in which a queue requests conntrack data. By then all connections older than the daemon have
 * sent packets, unless they are idle. Attaching the data to a small packet costs the kernel a third more time. */
enum { CONNTRACK_SECONDS = 600 };

/* --- Queues --------------------------------------------------------------------------------------- */

/* Returns the name of the entry below `queues` that contains the queue, such as "3" or "0-3", or NULL. */
static const char *range_of(const struct config *config, uint16_t queue)
{
    const char *name;

    for (size_t i = 0; (name = config_each(config, "queues", i)); i++) {
        struct span rest = span_of(name), part;
        uint64_t first, last;

        if (!span_next(&rest, '-', &part) || !span_to_uint(part, 0, UINT16_MAX, &first))
            continue;
        last = first;
        if (rest.at && !span_to_uint(span_trim(rest), first, UINT16_MAX, &last))
            continue;
        if (queue >= first && queue <= last)
            return name;
    }
    return NULL;
}

bool setup_is_sensor(const struct config *config)
{
    struct af_packet_options options;

    af_packet_options_read(config, &options);
    return options.method == CAPTURE_AF_PACKET;
}

void setup_queue_mode(const struct config *config, uint16_t queue, struct queue_mode *out)
{
    const enum ips_mode not_set = (enum ips_mode)(IPS_MODE_ALERT_ONLY + 1);
    struct policy_options options = { .mode = not_set };
    const char *range = range_of(config, queue);

    if (setup_is_sensor(config)) { /* a sensor drops nothing, whatever the mode is */
        *out = (struct queue_mode){ .mode = IPS_MODE_ALERT_ONLY, .of_range = true };
        return;
    }
    if (range)
        config_fill(config, ips_mode_settings, range, &options);
    out->of_range = options.mode != not_set;
    if (!out->of_range)
        config_fill(config, ips_mode_settings, NULL, &options);
    out->mode = options.mode;
}

bool setup_conntrack_is_off(const struct config *config, uint16_t queue)
{
    struct queue_options options;

    queue_options_read(config, range_of(config, queue), &options);
    return options.conntrack == QUEUE_CONNTRACK_NO;
}

int64_t setup_conntrack_seconds(const struct config *config, uint16_t queue)
{
    struct inspection_options inspection;
    struct stream_options stream;
    struct queue_options options;

    queue_options_read(config, range_of(config, queue), &options);
    if (options.conntrack == QUEUE_CONNTRACK_ALWAYS)
        return 0;
    config_fill(config, inspection_settings, NULL, &inspection);
    config_fill(config, stream_settings, NULL, &stream);
    const int64_t grace = inspection.midstream_grace_seconds;

    if (grace > 0 && stream.conntrack == STREAM_CONNTRACK_ONLY)
        return grace;
    return grace > 0 && grace < CONNTRACK_SECONDS ? grace : CONNTRACK_SECONDS;
}

static int read_queue(const struct config *config, uint16_t queue, struct nfqueue_options *out,
                      char error[ENGINE_ERROR_SIZE])
{
    struct inspection_options inspection;
    struct stream_options stream;
    struct queue_options options;

    queue_options_read(config, range_of(config, queue), &options);
    config_fill(config, inspection_settings, NULL, &inspection);
    config_fill(config, stream_settings, NULL, &stream);
    *out = options.nfqueue;
    out->queue = queue;
    out->conntrack = options.conntrack == QUEUE_CONNTRACK_AUTO
                         ? stream.midstream || inspection.midstream_grace_seconds > 0
                         : options.conntrack == QUEUE_CONNTRACK_ALWAYS;
    if (out->mode == QUEUE_REPEAT && out->mark == 0) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "queue %u: the verdict 'repeat' needs a mark other than 0, otherwise packets come back in a loop; set "
                 "queue.mark, for example to 0x1/0x1",
                 (unsigned)queue);
        return -EINVAL;
    }
    if (out->mode == QUEUE_ROUTE && out->route_to == queue) {
        snprintf(error, ENGINE_ERROR_SIZE, "queue %u: the verdict 'route' needs another queue: set queue.route-to",
                 (unsigned)queue);
        return -EINVAL;
    }
    return 0;
}

int setup_queue_options(const struct config *config, struct nfqueue_options *out, size_t max, size_t *count,
                        char error[ENGINE_ERROR_SIZE])
{
    uint32_t queues[CAPTURE_MAX_QUEUES];
    struct queue_options options;

    config_fill(config, queue_settings, NULL, &options);
    int named = config_ranges(options.numbers, UINT16_MAX, queues, max < CAPTURE_MAX_QUEUES ? max : CAPTURE_MAX_QUEUES);

    if (named <= 0) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "queue.numbers '%s' is not a list such as 0-3,8 of at most %d queues up to 65535", options.numbers,
                 CAPTURE_MAX_QUEUES);
        return -EINVAL;
    }
    for (int i = 0; i < named; i++) {
        int err = read_queue(config, (uint16_t)queues[i], &out[i], error);

        if (err)
            return err;
    }
    *count = (size_t)named;
    return 0;
}

/* Plans the rings of a sensor. */
static int plan_rings(const struct config *config, struct nfqueue_options *out, size_t *count,
                      char error[ENGINE_ERROR_SIZE])
{
    struct af_packet_options options;
    struct queue_options queue;
    size_t interfaces = 0;
    uint64_t memory;

    af_packet_options_read(config, &options);
    queue_options_read(config, NULL, &queue);
    for (; options.interfaces[interfaces]; interfaces++) {
        const char *name = options.interfaces[interfaces];

        if (name[0] == '\0' || strlen(name) >= IF_NAMESIZE) {
            snprintf(error, ENGINE_ERROR_SIZE, "af-packet.interfaces: '%.64s' is not the name of an interface", name);
            return -EINVAL;
        }
        for (size_t i = 0; i < interfaces; i++) {
            if (strcmp(options.interfaces[i], name) == 0) {
                snprintf(error, ENGINE_ERROR_SIZE, "af-packet.interfaces names %s twice", name);
                return -EINVAL;
            }
        }
    }
    if (interfaces == 0) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "no interface to capture from: give `sluice sensor --interface NAME`, or set af-packet.interfaces");
        return -EINVAL;
    }
    if (interfaces > CAPTURE_MAX_QUEUES / options.workers) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "%zu interfaces with %u workers each are more than %d workers: lower "
                 "af-packet.workers",
                 interfaces, (unsigned)options.workers, CAPTURE_MAX_QUEUES);
        return -EINVAL;
    }
    if (options.ring_size < 2 * (uint64_t)options.block_size) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "a ring needs two blocks at least: raise af-packet.ring-size, or lower "
                 "af-packet.block-size");
        return -EINVAL;
    }
    memory = interfaces * options.workers * options.ring_size;
    if (memory > options.memcap) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "the rings need %llu MiB, more than af-packet.memcap (%llu MiB): raise it, or "
                 "lower af-packet.ring-size or af-packet.workers",
                 (unsigned long long)(memory >> 20), (unsigned long long)(options.memcap >> 20));
        return -EINVAL;
    }
    *count = interfaces * options.workers;
    for (size_t i = 0; i < *count; i++)
        out[i] = (struct nfqueue_options){
            .queue = (uint16_t)i,
            .batch = queue.nfqueue.batch,
            .truncated_policy = QUEUE_TRUNCATED_INSPECT,
            .inherited_fd = -1,
        };
    return 0;
}

int setup_plan_queues(const struct config *config, const struct firewall_options *firewall, struct nfqueue_options *out,
                      size_t *count, char error[ENGINE_ERROR_SIZE])
{
    int err;

    if (setup_is_sensor(config))
        return plan_rings(config, out, count, error);
    err = setup_queue_options(config, out, CAPTURE_MAX_QUEUES, count, error);

    for (size_t i = 0; i < *count && !err; i++)
        offload_queue_options(config, firewall, &out[i]);
    return err;
}

int setup_firewall_options(const struct config *config, struct firewall_options *out, char error[ENGINE_ERROR_SIZE])
{
    struct firewall_settings settings;
    struct firewall_options *options = &settings.options;
    struct queue_options queue;
    uint32_t queues[CAPTURE_MAX_QUEUES];
    int count;

    firewall_settings_read(config, &settings);
    /* the settings for single queues are not read: one nftables rule distributes over all queues */
    queue_options_read(config, NULL, &queue);
    count = config_ranges(queue.numbers, UINT16_MAX, queues, CAPTURE_MAX_QUEUES);
    if (count <= 0) {
        snprintf(error, ENGINE_ERROR_SIZE, "queue.numbers '%s' contains no queues", queue.numbers);
        return -EINVAL;
    }
    for (int i = 1; i < count && options->mode != ATTACH_NONE; i++) {
        if (queues[i] == queues[i - 1] + 1)
            continue;
        snprintf(error, ENGINE_ERROR_SIZE,
                 "attaching (nft.attach) needs queues in one range such as 0-3, got queue.numbers '%s'", queue.numbers);
        return -EINVAL;
    }
    if (setup_is_sensor(config)) { /* passive: without table, and without offloading */
        options->mode = ATTACH_NONE;
        options->blocklist = options->offload.accept = options->offload.drop = false;
    }
    options->queue_first = (uint16_t)queues[0];
    options->queue_last = (uint16_t)queues[count - 1];
    options->mark = queue.nfqueue.mark;
    options->mark_mask = queue.nfqueue.mark_mask;
    if (options->mode == ATTACH_ROUTE && queue.has_route) {
        options->offload.has_next = true;
        options->offload.next_queue = queue.nfqueue.route_to;
        options->offload.next_bypass = queue.nfqueue.route_bypass;
    }
    for (const char *const *device = settings.devices; *device; device++) {
        if (options->offload.device_count == FIREWALL_MAX_DEVICES) {
            snprintf(error, ENGINE_ERROR_SIZE, "nft.offload.flowtable has too many devices; the maximum is %d",
                     FIREWALL_MAX_DEVICES);
            return -EINVAL;
        }
        options->offload.devices[options->offload.device_count++] = *device;
    }
    *out = *options;
    return 0;
}

/* --- Pipeline ------------------------------------------------------------------------------------- */

void setup_detector_options(const struct config *config, struct detector_options *out)
{
    *out = (struct detector_options){ .flow_memcap = 16 << 20, .transaction_memcap = 32 << 20 };
    config_fill(config, detector_settings, NULL, out);
}

void setup_budget_options(const struct config *config, struct budget_options *out)
{
    struct detector_options detector;

    setup_detector_options(config, &detector);
    *out = detector.budget;
    out->measure = out->packet_ns > 0;
}

int setup_pipeline_options(const struct config *config, unsigned workers, bool inline_mode,
                           struct pipeline_options *out, struct diag *diag)
{
    struct inspection_options inspection;
    int err;

    memset(out, 0, sizeof(*out));
    config_fill(config, inspection_settings, NULL, &inspection);
    setup_detector_options(config, &out->detector);
    /* no time budgets: only the daemon has them, from setup_budget_options() */
    out->detector.budget = (struct budget_options){ .suspend = SUSPEND_NONE };
    out->drop_undecodable = inspection.drop_undecodable;
    setup_flow_options(config, workers, &out->flow);
    setup_stream_options(config, workers, inline_mode, &out->stream);
    setup_file_depth(config, &out->stream);
    memcpy(out->detector.stream_inspection_window, out->stream.window, sizeof(out->detector.stream_inspection_window));
    out->host_memcap = inspection.host_memcap;
    setup_policy_options(config, &out->policy);
    out->policy.inline_mode = inline_mode;
    setup_exception_policies(config, inline_mode, out->policy.exceptions);
    config_fill(config, defrag_settings, NULL, &out->defrag);
    out->defrag.memcap /= workers;
    out->defrag.vlan_tracking = out->flow.vlan_tracking;
    out->bypass_at_depth = inspection.bypass_at_depth;
    offload_options_read(config, inline_mode, &out->offload);
    overload_options_read(config, &out->overload);
    err = host_os_table_parse(&out->host_os, config, diag);
    if (!err)
        err = decode_options_read(config, &out->decode, diag);
    return err ? err : setup_app_options(config, workers, &out->app, diag);
}

int setup_daemon_options(const struct config *config, unsigned workers, struct pipeline_options *out,
                         char error[ENGINE_ERROR_SIZE])
{
    const bool is_sensor = setup_is_sensor(config);
    struct diag *diag = diag_new();
    int err = diag ? setup_pipeline_options(config, workers, !is_sensor, out, diag) : -ENOMEM;
    struct af_packet_options capture;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "invalid settings (host-os-policy, decoder or app-layer): see the errors above");
        if (diag)
            setup_print_diagnostics(diag);
    }
    af_packet_options_read(config, &capture);
    out->kernel_checksums = !is_sensor || capture.checksums == AF_PACKET_CHECKSUMS_KERNEL;
    out->checksums = is_sensor && capture.checksums == AF_PACKET_CHECKSUMS_NO ? CHECKSUMS_IGNORE : CHECKSUMS_CHECK;
    out->drop_undecodable &= !is_sensor;
    diag_free(diag);
    return err;
}

int setup_eve_path(const struct config *config, const char *log_dir, char *out, size_t size,
                   char error[ENGINE_ERROR_SIZE])
{
    struct log_options log;
    int length;

    config_fill(config, output_settings, NULL, &log);
    length = log.eve_name[0] == '/' ? snprintf(out, size, "%s", log.eve_name)
                                    : snprintf(out, size, "%s/%s", log_dir ? log_dir : log.dir, log.eve_name);
    if (length >= 0 && (size_t)length < size)
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "the path of the event file is too long");
    return -ENAMETOOLONG;
}

int setup_check_log_folder(const struct config *config, const char *log_dir, char error[ENGINE_ERROR_SIZE])
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct log_options log;
    struct stat status;
    int err = setup_eve_path(config, log_dir, path, sizeof(path), error);
    char *slash;

    config_fill(config, output_settings, NULL, &log);
    if (err || !log.eve)
        return err;
    slash = strrchr(path, '/');
    if (!slash)
        return 0;
    slash[slash == path] = '\0';
    /* The daemon creates a missing folder at its start, so check the nearest existing parent folder. */
    snprintf(folder, sizeof(folder), "%s", path);
    while (stat(folder, &status) && errno == ENOENT && (slash = strrchr(folder, '/')) && slash > folder)
        *slash = '\0';
    if (stat(folder, &status))
        err = -errno;
    else if (!S_ISDIR(status.st_mode))
        err = -ENOTDIR;
    else if (strcmp(folder, path) != 0 && access(folder, W_OK | X_OK))
        err = -errno;
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot use log folder %.400s: %s (--log-dir, log-dir)", path,
                 strerror(-err));
    return err;
}

/* --- Policy, events ------------------------------------------------------------------------------- */

int setup_action_order(const struct config *config, enum rule_action order[4], char error[ENGINE_ERROR_SIZE])
{
    static const enum rule_action actions[4] = { ACTION_PASS, ACTION_DROP, ACTION_REJECT, ACTION_ALERT };
    struct rules_options rules;
    unsigned seen = 0, count = 0;

    config_fill(config, rules_settings, NULL, &rules);
    for (const char *const *name = rules.action_order; *name; name++, count++) {
        for (unsigned k = 0; k < 4 && count < 4; k++) {
            if (strcmp(rule_action_name(actions[k]), *name) == 0) {
                order[count] = actions[k];
                seen |= 1u << k;
            }
        }
    }
    if (count != 4 || seen != 0xf) {
        snprintf(error, ENGINE_ERROR_SIZE, "action-order must name pass, drop, reject and alert once each");
        return -EINVAL;
    }
    return 0;
}

void setup_policy_options(const struct config *config, struct policy_options *out)
{
    *out = (struct policy_options){ .inline_mode = true, .tag_memcap = 1 << 20, .history_memcap = 8 << 20 };
    config_fill(config, policy_settings, NULL, out);
    config_fill(config, ips_mode_settings, NULL, out);
}

void setup_eve_options(const struct config *config, struct eve_options *out)
{
    memset(out, 0, sizeof(*out));
    config_fill(config, eve_settings, NULL, out);
    if (!out->types)
        eve_enable_default_types(out);
    out->enabled[OUTPUT_WOULD_DROP] = out->enabled[OUTPUT_DROP];
    /* tagged packets are logged if alerts are, subject to alert.tagged_packets */
    out->enabled[OUTPUT_PACKET] = out->enabled[OUTPUT_ALERT];
    setup_app_events(config, out);
    if (!out->alert.metadata)
        out->alert.rule_raw = out->alert.rule_metadata = out->alert.flow = out->alert.app_layer = false;
    out->stream.triggers = (out->stream.event_set ? PACKET_STREAM_EVENT : 0) |
                           (out->stream.state_update ? PACKET_STREAM_STATE_UPDATE : 0) |
                           (out->stream.spurious_retransmission ? PACKET_STREAM_SPURIOUS_RETRANSMISSION : 0);
    /* As in Suricata, an event type with an xff section of its own ignores the common xff section completely. */
    if (!out->xff.alert.is_set)
        out->xff.alert = out->xff.common;
    if (!out->xff.http.is_set)
        out->xff.http = out->xff.common;
    if (!out->xff.files.is_set)
        out->xff.files = out->xff.common;
}

void setup_block_lists(struct block_lists_options *out, const struct config *config, char *folder)
{
    struct firewall_settings firewall;
    struct rules_options rules = { .files = NULL };
    const char *name;

    firewall_settings_read(config, &firewall);
    config_fill(config, rules_settings, NULL, &rules);
    name = firewall.lists_folder;
    snprintf(folder, PATH_MAX, "%s%s%s", name[0] == '/' ? "" : rules.datasets.data_dir, name[0] == '/' ? "" : "/",
             name);
    *out = (struct block_lists_options){
        .folder = strcmp(name, "none") == 0 ? NULL : folder,
        .files = firewall.block_files,
        .countries = firewall.block_countries,
        .geoip_database = rules.list.geoip_database,
    };
}
