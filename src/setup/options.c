/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the options of the modules from the configuration, and checks what the YAML schema cannot express. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* Old connections that are not idle have sent packets by then; until then each small packet costs the kernel a third
 * more. */
enum { CONNTRACK_SECONDS = 600 };

/* --- Queues --------------------------------------------------------------------------------------- */

/* Reads the settings of one queue: from its range if there is one, otherwise the general ones. */
struct queue_reader {
    const struct config *config;
    const char *range; /* "0-3" below `queues`, or NULL */
    char name[128];
};

static const char *general_name(struct queue_reader *reader, const char *setting)
{
    snprintf(reader->name, sizeof(reader->name), "queue.%s", setting);
    return reader->name;
}

static const char *ranged_name(struct queue_reader *reader, const char *setting)
{
    snprintf(reader->name, sizeof(reader->name), "queues.%s.%s", reader->range, setting);
    return reader->name;
}

static const char *queue_string(struct queue_reader *reader, const char *setting)
{
    const char *general = config_string(reader->config, general_name(reader, setting));

    return reader->range ? config_string_or(reader->config, ranged_name(reader, setting), general) : general;
}

static int64_t queue_number(struct queue_reader *reader, const char *setting)
{
    int64_t general = config_number(reader->config, general_name(reader, setting));

    return reader->range ? config_number_or(reader->config, ranged_name(reader, setting), general) : general;
}

static bool queue_bool(struct queue_reader *reader, const char *setting)
{
    bool general = config_bool(reader->config, general_name(reader, setting));

    return reader->range ? config_bool_or(reader->config, ranged_name(reader, setting), general) : general;
}

static bool parse_range(struct span text, uint16_t *low, uint16_t *high)
{
    struct span rest = text, part;
    uint64_t first, last;

    if (!span_next(&rest, '-', &part) || !span_to_uint(part, 0, UINT16_MAX, &first))
        return false;
    last = first;
    if (rest.at && !span_to_uint(span_trim(rest), first, UINT16_MAX, &last))
        return false;
    *low = (uint16_t)first;
    *high = (uint16_t)last;
    return true;
}

/* Returns the range below `queues` that contains this queue, or NULL. */
static const char *range_of(const struct config *config, uint16_t queue)
{
    const char *name;
    uint16_t low, high;

    for (size_t i = 0; (name = config_each(config, "queues", i)); i++) {
        if (parse_range(span_of(name), &low, &high) && queue >= low && queue <= high)
            return name;
    }
    return NULL;
}

static int read_mode(struct queue_reader *reader, struct nfqueue_options *out, char error[ENGINE_ERROR_SIZE])
{
    const char *verdict = queue_string(reader, "verdict");
    const char *mark = queue_string(reader, "mark");
    int64_t route_to;

    if (mark && !config_mark(mark, &out->mark, &out->mark_mask)) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "queue %u: mark '%s' is not VALUE/MASK with the value inside the mask, like 0x1/0x1",
                 (unsigned)out->queue, mark);
        return -EINVAL;
    }
    if (strcmp(verdict, "repeat") == 0) {
        out->mode = QUEUE_REPEAT;
        if (!mark || out->mark == 0) {
            snprintf(error, ENGINE_ERROR_SIZE,
                     "queue %u: verdict repeat needs a mark other than 0 (queue.mark: 0x1/0x1), otherwise packets "
                     "come back for ever",
                     (unsigned)out->queue);
            return -EINVAL;
        }
    } else if (strcmp(verdict, "route") == 0) {
        out->mode = QUEUE_ROUTE;
        route_to = queue_number(reader, "route-to");
        if (route_to < 0 || route_to == out->queue) {
            snprintf(error, ENGINE_ERROR_SIZE, "queue %u: verdict route needs queue.route-to, another queue's number",
                     (unsigned)out->queue);
            return -EINVAL;
        }
        out->route_to = (uint16_t)route_to;
        out->route_bypass = queue_bool(reader, "route-bypass");
    }
    return 0;
}

void setup_queue_mode(const struct config *config, uint16_t queue, struct queue_mode *out)
{
    struct queue_reader reader = { .config = config, .range = range_of(config, queue) };
    const char *mode = reader.range ? config_string_or(config, ranged_name(&reader, "ips-mode"), NULL) : NULL;

    out->of_range = mode != NULL;
    if (!ips_mode_parse(mode ? mode : config_string(config, "ips.mode"), &out->mode))
        out->mode = IPS_MODE_DROP;
}

static bool wants_conntrack(struct queue_reader *reader)
{
    const char *wanted = queue_string(reader, "conntrack");

    if (strcmp(wanted, "auto") == 0)
        return config_bool(reader->config, "stream.midstream") ||
               config_number(reader->config, "stream.midstream-grace") > 0;
    return strcmp(wanted, "always") == 0;
}

bool setup_conntrack_is_off(const struct config *config, uint16_t queue)
{
    struct queue_reader reader = { .config = config, .range = range_of(config, queue) };

    return strcmp(queue_string(&reader, "conntrack"), "no") == 0;
}

int64_t setup_conntrack_seconds(const struct config *config, uint16_t queue)
{
    struct queue_reader reader = { .config = config, .range = range_of(config, queue) };
    int64_t grace = config_number(config, "stream.midstream-grace");

    if (strcmp(queue_string(&reader, "conntrack"), "always") == 0)
        return 0;
    if (grace > 0 && strcmp(config_string(config, "stream.midstream-conntrack"), "only") == 0)
        return grace;
    return grace > 0 && grace < CONNTRACK_SECONDS ? grace : CONNTRACK_SECONDS;
}

static int read_queue(const struct config *config, uint16_t queue, struct nfqueue_options *out,
                      char error[ENGINE_ERROR_SIZE])
{
    struct queue_reader reader = { .config = config, .range = range_of(config, queue) };
    const char *marked;

    nfqueue_options_default(out);
    out->queue = queue;
    out->fail_open = queue_bool(&reader, "fail-open");
    out->gso = queue_bool(&reader, "gso");
    out->conntrack = wants_conntrack(&reader);
    out->length = (uint32_t)queue_number(&reader, "length");
    out->receive_buffer = (uint32_t)queue_number(&reader, "receive-buffer");
    out->batch = (uint32_t)queue_number(&reader, "batch");
    marked = queue_string(&reader, "marked-packets");
    out->marked_policy = strcmp(marked, "inspect") == 0 ? QUEUE_MARKED_INSPECT
                         : strcmp(marked, "drop") == 0  ? QUEUE_MARKED_DROP
                                                        : QUEUE_MARKED_ACCEPT;
    out->looping_policy =
        strcmp(queue_string(&reader, "looping-packets"), "accept") == 0 ? QUEUE_LOOPING_ACCEPT : QUEUE_LOOPING_DROP;
    out->truncated_policy = strcmp(queue_string(&reader, "truncated-packets"), "inspect") == 0 ? QUEUE_TRUNCATED_INSPECT
                                                                                               : QUEUE_TRUNCATED_DROP;
    out->repeat_limit = (uint32_t)queue_number(&reader, "repeat-limit");
    return read_mode(&reader, out, error);
}

int setup_queue_options(const struct config *config, struct nfqueue_options *out, size_t max, size_t *count,
                        char error[ENGINE_ERROR_SIZE])
{
    uint32_t queues[ENGINE_MAX_QUEUES];
    int named = config_ranges(config_string(config, "queue.numbers"), UINT16_MAX, queues,
                              max < ENGINE_MAX_QUEUES ? max : ENGINE_MAX_QUEUES);

    if (named <= 0) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "queue numbers '%s' are not a list like 0-3,8 of at most %d queues up to 65535",
                 config_string(config, "queue.numbers"), ENGINE_MAX_QUEUES);
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

int setup_plan_queues(const struct config *config, const struct firewall_options *firewall, struct nfqueue_options *out,
                      size_t *count, char error[ENGINE_ERROR_SIZE])
{
    int err = setup_queue_options(config, out, ENGINE_MAX_QUEUES, count, error);

    for (size_t i = 0; i < *count && !err; i++)
        offload_queue_options(config, firewall, &out[i]);
    return err;
}

/* --- Decode --------------------------------------------------------------------------------------- */

static int read_ports(const struct config *config, const char *name, struct decode_ports *out, struct diag *diag)
{
    int count;

    memset(out, 0, sizeof(*out));
    count = config_ports(config, name, out->port, DECODE_MAX_PORTS, &out->any, diag);
    if (count < 0)
        return count;
    out->count = (uint8_t)count;
    return 0;
}

int setup_decode_options(const struct config *config, struct decode_options *out, struct diag *diag)
{
    int err;

    decode_options_default(out);
    out->teredo_enabled = config_bool(config, "decoder.teredo.enabled");
    out->vxlan_enabled = config_bool(config, "decoder.vxlan.enabled");
    out->geneve_enabled = config_bool(config, "decoder.geneve.enabled");
    out->vxlan_permissive = strcmp(config_string(config, "decoder.vxlan.reserved-bits-check"), "permissive") == 0;
    out->erspan_type1 = config_bool(config, "decoder.erspan-type1");
    out->max_layers = (unsigned)config_number(config, "decoder.max-layers");
    err = read_ports(config, "decoder.teredo.ports", &out->teredo, diag);
    if (!err)
        err = read_ports(config, "decoder.vxlan.ports", &out->vxlan, diag);
    if (!err)
        err = read_ports(config, "decoder.geneve.ports", &out->geneve, diag);
    return err;
}

static void read_defrag_options(const struct config *config, unsigned workers, struct defrag_options *out)
{
    defrag_options_default(out);
    out->memcap = (size_t)config_number(config, "defrag.memcap") / workers;
    out->timeout_seconds = (uint32_t)config_number(config, "defrag.timeout");
    out->vlan_tracking = config_bool(config, "flow.vlan-tracking");
}

void setup_budget_options(const struct config *config, struct budget_options *out)
{
    const char *suspend = config_string(config, "detect.suspend-slow-rules");

    *out = (struct budget_options){
        .measure = config_number(config, "detect.packet-budget") > 0,
        .rule_ns = (uint64_t)config_number(config, "detect.rule-budget") * 1000,
        .suspend = strcmp(suspend, "all") == 0     ? SUSPEND_ALL
                   : strcmp(suspend, "alert") == 0 ? SUSPEND_ALERTS
                                                   : SUSPEND_NONE,
        .suspend_count = (uint32_t)config_number(config, "detect.suspend-count"),
        .window_ns = (uint64_t)config_number(config, "detect.suspend-window") * NS_PER_SECOND,
        .suspend_ns = (uint64_t)config_number(config, "detect.suspend-time") * NS_PER_SECOND,
    };
}

int setup_pipeline_options(const struct config *config, unsigned workers, bool inline_mode,
                           struct pipeline_options *out, struct diag *diag)
{
    int err;

    memset(out, 0, sizeof(*out));
    detector_options_default(&out->detector);
    out->detector.guess_transactions = config_bool(config, "detect.guess-applayer-tx");
    out->detector.guess_limit = (uint8_t)config_number(config, "detect.stream-tx-log-limit");
    out->detector.limits_match = strcmp(config_string(config, "detect.limit-policy"), "match") == 0;
    out->detector.pcre_match_limit = (uint32_t)config_number(config, "detect.pcre-match-limit");
    out->detector.pcre_depth_limit = (uint32_t)config_number(config, "detect.pcre-match-limit-recursion");
    out->drop_undecodable = strcmp(config_string(config, "decode-error-policy"), "drop") == 0;
    setup_flow_options(config, workers, &out->flow);
    setup_stream_options(config, workers, inline_mode, &out->stream);
    setup_file_depth(config, &out->stream);
    memcpy(out->detector.stream_inspection_window, out->stream.window, sizeof(out->detector.stream_inspection_window));
    out->host_memcap = (size_t)config_number(config, "host.memcap");
    setup_policy_options(config, &out->policy);
    out->policy.inline_mode = inline_mode;
    ips_mode_parse(config_string(config, "ips.mode"), &out->policy.mode);
    setup_exception_policies(config, inline_mode, out->policy.exceptions);
    read_defrag_options(config, workers, &out->defrag);
    out->bypass_at_depth = config_bool(config, "stream.bypass");
    offload_options_read(config, inline_mode, &out->offload);
    overload_options_read(config, &out->overload);
    err = host_os_table_parse(&out->host_os, config, diag);
    if (!err)
        err = setup_decode_options(config, &out->decode, diag);
    return err ? err : setup_app_options(config, workers, &out->app, diag);
}

int setup_inline_options(const struct config *config, unsigned workers, struct pipeline_options *out,
                         char error[ENGINE_ERROR_SIZE])
{
    struct diag *diag = diag_new();
    int err = diag ? setup_pipeline_options(config, workers, true, out, diag) : -ENOMEM;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "invalid settings of the decoder, flows or streams");
        if (diag)
            setup_print_diagnostics(diag);
    }
    diag_free(diag);
    return err;
}

/* Writes the path of the event file: eve.filename, in the log folder unless it is absolute. */
enum output_file_type setup_eve_type(const struct config *config)
{
    const char *type = config_string(config, "eve.filetype");

    if (strcmp(type, "unix_stream") == 0)
        return OUTPUT_FILE_UNIX_STREAM;
    return strcmp(type, "unix_dgram") == 0 ? OUTPUT_FILE_UNIX_DATAGRAM : OUTPUT_FILE_REGULAR;
}

int setup_eve_path(const struct config *config, const char *log_dir, char *out, size_t size,
                   char error[ENGINE_ERROR_SIZE])
{
    const char *folder = log_dir ? log_dir : config_string(config, "log-dir");
    const char *name = config_string(config, "eve.filename");
    int length = name[0] == '/' ? snprintf(out, size, "%s", name) : snprintf(out, size, "%s/%s", folder, name);

    if (length >= 0 && (size_t)length < size)
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "the path of the event file is too long");
    return -ENAMETOOLONG;
}

int setup_check_log_folder(const struct config *config, const char *log_dir, char error[ENGINE_ERROR_SIZE])
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct stat status;
    int err = setup_eve_path(config, log_dir, path, sizeof(path), error);
    char *slash;

    if (err || !config_bool(config, "eve.enabled"))
        return err;
    slash = strrchr(path, '/');
    if (!slash)
        return 0;
    slash[slash == path] = '\0';
    /* A start creates a missing folder, so check the nearest folder above it that exists. */
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
    size_t count = config_list_count(config, "action-order");
    unsigned seen = 0;

    for (size_t i = 0; i < count && i < 4; i++) {
        const char *name = config_list_get(config, "action-order", i);

        for (unsigned k = 0; k < 4; k++) {
            if (strcmp(rule_action_name(actions[k]), name) == 0) {
                order[i] = actions[k];
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
    policy_options_default(out);
    if (config_number(config, "packet-alert-max") > 0)
        out->packet_alert_max = (unsigned)config_number(config, "packet-alert-max");
    out->threshold_memcap = (size_t)config_number(config, "threshold.memcap");
}

static void read_alert_options(const struct config *config, struct eve_options *out)
{
    out->alert.payload = config_bool_or(config, "eve.types.alert.payload", out->alert.payload);
    out->alert.payload_printable =
        config_bool_or(config, "eve.types.alert.payload-printable", out->alert.payload_printable);
    out->alert.payload_length = config_bool_or(config, "eve.types.alert.payload-length", out->alert.payload_length);
    out->alert.payload_buffer_size =
        (uint32_t)config_number_or(config, "eve.types.alert.payload-buffer-size", out->alert.payload_buffer_size);
    out->alert.packet = config_bool_or(config, "eve.types.alert.packet", out->alert.packet);
    out->alert.verdict = config_bool_or(config, "eve.types.alert.verdict", out->alert.verdict);
    out->alert.reference = config_bool_or(config, "eve.types.alert.reference", out->alert.reference);
    out->alert.rule_raw = config_bool_or(config, "eve.types.alert.metadata.rule.raw", out->alert.rule_raw);
    out->alert.rule_metadata =
        config_bool_or(config, "eve.types.alert.metadata.rule.metadata", out->alert.rule_metadata);
    out->alert.reference = config_bool_or(config, "eve.types.alert.metadata.rule.reference", out->alert.reference);
    out->alert.flow = config_bool_or(config, "eve.types.alert.metadata.flow", out->alert.flow);
    out->alert.app_layer = config_bool_or(config, "eve.types.alert.metadata.app-layer", out->alert.app_layer);
    out->alert.tagged_packets = config_bool_or(config, "eve.types.alert.tagged-packets", out->alert.tagged_packets);
    if (!config_bool(config, "eve.types.alert.metadata"))
        out->alert.rule_raw = out->alert.rule_metadata = out->alert.flow = out->alert.app_layer = false;
}

/* An event type with a separate section uses nothing of the general one, as in Suricata. */
static void read_xff_options(const struct config *config, const char *type, struct xff_options *out)
{
    const char *section = config_has_section(config, type) ? type : "eve.xff";
    char enabled[64], mode[64], deployment[64], header[64];

    snprintf(enabled, sizeof(enabled), "%s.enabled", section);
    snprintf(mode, sizeof(mode), "%s.mode", section);
    snprintf(deployment, sizeof(deployment), "%s.deployment", section);
    snprintf(header, sizeof(header), "%s.header", section);
    *out = (struct xff_options){
        .enabled = config_bool(config, enabled),
        .overwrite = strcmp(config_string(config, mode), "overwrite") == 0,
        .first = strcmp(config_string(config, deployment), "forward") == 0,
        .header = config_string(config, header),
    };
}

static void read_anomaly_options(const struct config *config, struct eve_options *out)
{
    out->anomaly.decode = config_bool_or(config, "eve.types.anomaly.types.decode", out->anomaly.decode);
    out->anomaly.stream = config_bool_or(config, "eve.types.anomaly.types.stream", out->anomaly.stream);
    out->anomaly.application = config_bool_or(config, "eve.types.anomaly.types.applayer", out->anomaly.application);
    out->anomaly.packet_header = config_bool_or(config, "eve.types.anomaly.packethdr", out->anomaly.packet_header);
}

static void read_stream_options(const struct config *config, struct eve_options *out)
{
    static const struct {
        const char *name;
        uint16_t flag;
    } triggers[] = {
        { "eve.types.stream.event-set", PACKET_STREAM_EVENT },
        { "eve.types.stream.state-update", PACKET_STREAM_STATE_UPDATE },
        { "eve.types.stream.spurious-retransmission", PACKET_STREAM_SPURIOUS_RETRANSMISSION },
    };

    out->stream.all = config_bool_or(config, "eve.types.stream.all", false);
    for (unsigned i = 0; i < sizeof(triggers) / sizeof(triggers[0]); i++)
        out->stream.triggers |= config_bool_or(config, triggers[i].name, false) ? triggers[i].flag : 0;
}

void setup_eve_options(const struct config *config, struct eve_options *out)
{
    static const char *const types[OUTPUT_EVENT_COUNT] = {
        [OUTPUT_ALERT] = "eve.types.alert",       [OUTPUT_DROP] = "eve.types.drop",
        [OUTPUT_WOULD_DROP] = "eve.types.drop",   [OUTPUT_ANOMALY] = "eve.types.anomaly",
        [OUTPUT_STATS] = "eve.types.stats",       [OUTPUT_FLOW] = "eve.types.flow",
        [OUTPUT_NETFLOW] = "eve.types.netflow",   [OUTPUT_PACKET] = "eve.types.alert", /* when alert.tagged-packets */
        [OUTPUT_STREAM] = "eve.types.stream",     [OUTPUT_METADATA] = "eve.types.metadata",
        [OUTPUT_FIREWALL] = "eve.types.firewall", [OUTPUT_ENGINE] = "eve.types.engine",
        [OUTPUT_OVERLOAD] = "eve.types.overload",
    };

    eve_options_default(out);
    if (config_has_section(config, "eve.types")) {
        for (unsigned i = 0; i < OUTPUT_EVENT_COUNT; i++)
            out->enabled[i] = types[i] && config_has_section(config, types[i]);
    }
    out->community_id = config_bool(config, "eve.community-id");
    out->community_id_seed = (uint16_t)config_number(config, "eve.community-id-seed");
    out->ethernet = config_bool(config, "eve.ethernet");
    out->pcap_file = config_bool(config, "eve.pcap-file");
    out->metadata = config_bool(config, "eve.metadata");
    out->ipv6_compress = config_bool(config, "eve.ipv6-compress");
    setup_app_events(config, out);
    read_alert_options(config, out);
    read_anomaly_options(config, out);
    read_stream_options(config, out);
    read_xff_options(config, "eve.types.alert.xff", &out->xff.alert);
    read_xff_options(config, "eve.types.http.xff", &out->xff.http);
    read_xff_options(config, "eve.types.files.xff", &out->xff.files);
    out->drop.alerts = config_bool_or(config, "eve.types.drop.alerts", out->drop.alerts);
    out->drop.all_flows = strcmp(config_string_or(config, "eve.types.drop.flows", "start"), "all") == 0;
    out->drop.verdict = config_bool_or(config, "eve.types.drop.verdict", out->drop.verdict);
    out->drop.rate_limit = (uint32_t)config_number_or(config, "eve.types.drop.rate-limit", 1000);
    out->flow_rate_limit = (uint32_t)config_number_or(config, "eve.types.flow.rate-limit", 1000);
    out->stats.totals = config_bool_or(config, "eve.types.stats.totals", out->stats.totals);
    out->stats.threads = config_bool_or(config, "eve.types.stats.threads", out->stats.threads);
    out->stats.deltas = config_bool_or(config, "eve.types.stats.deltas", out->stats.deltas);
    out->stats.null_values = config_bool_or(config, "eve.types.stats.null-values", out->stats.null_values);
}
