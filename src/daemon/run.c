/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine is a child process of the supervisor (src/daemon/supervisor). The supervisor owns the sockets of the
 * queues and receives the signals. The engine first completes the steps that take long or are likely to fail: loading
 * rules, opening the output, allocating memory. Then it requests the queues, starts the workers, installs the sluice
 * table, and reports that it is ready. It stops in the reverse order: the table stops sending packets to the queues,
 * the workers inspect the packets that wait, and then the supervisor closes the sockets.
 *
 * If the previous engine died, the queues are bound and the table is installed already; the new engine keeps both.
 *
 * When the supervisor has died, the engine exits but leaves the table: the next supervisor may get the queues from
 * systemd; otherwise the bypass flag of the queue rules decides whether packets pass.
 *
 * The calling thread is the main thread: it waits for the supervisor, writes statistics, and detects workers that
 * failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "sluice/affinity.h"
#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/engine_limits.h"
#include "sluice/file_store.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
#include "sluice/load_progress.h"
#include "sluice/log.h"
#include "sluice/offload.h"
#include "sluice/output.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/stats.h"
#include "sluice/supervisor_channel.h"
#include "sluice/worker.h"

#include "acknowledgments.h"
#include "attachment.h"
#include "confinement.h"
#include "conntrack_data.h"
#include "control_commands.h"
#include "drain.h"
#include "handover_files.h"
#include "mode.h"
#include "offload_follower.h"
#include "output_errors.h"
#include "overload_report.h"
#include "packet_warnings.h"
#include "queue_monitor.h"
#include "reload.h"
#include "sensor.h"

enum {
    POLL_MS = 250,
    RELOAD_POLL_MS = 5,
    MMAP_THRESHOLD = 256 * 1024,
    TRIM_THRESHOLD = 1024 * 1024,
};

struct engine {
    const struct run_options *options;
    const struct engine_inputs *inherited;
    /* Configuration of the rules if a previous engine had reloaded before it died; NULL: options->config. */
    struct config *newer;
    struct rule_names *names; /* numbers of names in rules; must outlive all rulesets */
    struct ruleset *ruleset;
    size_t rules_memory, rule_errors;
    struct reload *reload;
    struct service *service;
    bool reload_wanted; /* start another reload after the current one */
    struct output *output;
    struct pipeline_shared shared;
    struct stats *stats;
    struct affinity affinity;
    struct firewall_options firewall;
    bool attached;
    bool orphaned;                             /* the supervisor has died: exit, but leave the table installed */
    bool hands_over;                           /* the next engine has requested the state of this one */
    struct attachment *attachment;             /* NULL: the sluice table is not monitored */
    struct offload_follower *offload_follower; /* NULL: no flows are offloaded, or the kernel does not report them */
    struct confinement confinement;
    int queues_fd;         /* /proc/net/netfilter/nfnetlink_queue, which only root may open; negative: not open */
    bool is_sensor;        /* captures from interfaces instead of queues */
    struct sensor *sensor; /* NULL: no sensor */
    struct queue_monitor *monitor;
    struct overload_report *overload;
    struct mode_control mode;
    struct worker *workers;
    struct worker **worker_list;
    unsigned worker_count;
    uint64_t started_ns; /* start of the engine (clock_monotonic_ns()) */
    uint64_t stats_interval_ns;
    struct output_errors output_errors;
    struct packet_warnings packet_warnings;
};

/* --- Start ---------------------------------------------------------------------------------------- */

static int try_rules(struct engine *engine, const struct config *config, struct diag *diag,
                     char error[ENGINE_ERROR_SIZE])
{
    const struct rule_load_options load = {
        .config = config,
        .rule_files = engine->options->rule_files,
        .rule_file_count = engine->options->rule_file_count,
        .names = engine->names,
        .after_death = !engine->inherited->aside && atomic_load(&engine->inherited->memory->restarts) > 0,
        .needs_rules = engine->inherited->aside,
    };

    return setup_load_ruleset(&engine->ruleset, &load, diag, error);
}

static int load_rules(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    const struct run_options *options = engine->options;
    uint64_t begin = clock_monotonic_ns();
    struct load_progress progress;
    struct diag *diag = diag_new();
    size_t used = reload_memory_used();
    int err = -ENOMEM;

    snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded: out of memory");
    engine->names = rule_names_new();
    if (diag && options->load_config && atomic_load(&engine->inherited->memory->reload_wanted)) {
        /* A previous engine that died had applied a newer configuration by a reload: load the rules with it. A reload
         * after the start applies the other settings. */
        struct diag *mistakes = diag_new();

        if (!mistakes || options->load_config(options->load_config_user, &engine->newer, mistakes) ||
            diag_errors(mistakes) > 0) {
            log_warning("the configuration file has mistakes: using the configuration that the daemon started with");
            config_free(engine->newer);
            engine->newer = NULL;
        }
        diag_free(mistakes);
    }
    if (diag && engine->names) {
        load_progress_start(&progress, diag);
        err = engine->newer ? try_rules(engine, engine->newer, diag, error) : -ENOENT;
        if (err)
            err = try_rules(engine, options->config, diag, error);
        load_progress_stop(&progress);
        setup_print_diagnostics(diag);
        engine->rule_errors = diag_errors(diag);
    }
    diag_free(diag);
    if (err)
        return err;
    engine->rules_memory = reload_memory_used() - used + rule_list_text_memory(ruleset_rules(engine->ruleset));
    malloc_trim(0); /* return memory that was used for parsing and compiling to the system */

    const struct rule_list *rules = ruleset_rules(engine->ruleset);
    const struct ruleset_databases databases = ruleset_databases(engine->ruleset);

    log_info("%zu rules loaded in %.2f s", rule_list_count(rules),
             (double)(clock_monotonic_ns() - begin) / NS_PER_SECOND);
    setup_log_skipped_rules(rules);
    if (databases.cached > 0)
        log_info("%u of %u pattern databases come from the cache", databases.cached, databases.count);
    if (rule_list_count(rules) == 0 && rule_list_failure_count(rules) == 0)
        log_warning("no rules are configured: every packet will be accepted");
    return 0;
}

static int open_output(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    struct output_options out = { .inline_mode = !engine->is_sensor, .ring_fields = engine->is_sensor };
    struct setup_outputs *outputs = malloc(sizeof(*outputs));
    char cause[256];
    int err;

    if (!outputs) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot set up event output: %s", strerror(ENOMEM));
        return -ENOMEM;
    }
    err = setup_output_options(engine->options->config, engine->options->log_dir, &out, outputs, error);
    if (!err) {
        out.names = engine->names;
        out.queue_fields = true;
        out.recent_alerts = true;
        if (engine->options->console) {
            out.console = stdout;
            out.console_colour = isatty(STDOUT_FILENO);
        }
        err = output_open(&engine->output, &out, engine->worker_count, cause);
        if (err)
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        else
            output_set_generation(engine->output, ruleset_generation(engine->ruleset));
    }
    free(outputs);
    return err;
}

static int plan_workers(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    struct nfqueue_options queues[CAPTURE_MAX_QUEUES];
    size_t count = 0;
    int err = setup_plan_queues(engine->options->config, &engine->firewall, queues, &count, error);

    if (err)
        return err;
    err = affinity_plan(&engine->affinity, engine->options->config, (unsigned)count, error);
    if (err)
        return err;
    engine->workers = calloc(count, sizeof(*engine->workers));
    engine->worker_list = calloc(count, sizeof(struct worker *));
    if (!engine->workers || !engine->worker_list) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        engine->workers[i].index = (unsigned)i;
        engine->workers[i].queue = queues[i];
        engine->workers[i].queue.inherited_fd = engine->inherited->queue_fds[i];
        engine->workers[i].queue.kept = true;
        engine->workers[i].queue.slots = engine_memory_slots(engine->inherited->memory, (unsigned)i);
        engine->workers[i].memory = engine->inherited->memory;
        engine->workers[i].affinity = &engine->affinity;
        engine->workers[i].is_ring = engine->is_sensor;
        snprintf(engine->workers[i].label, sizeof(engine->workers[i].label), "queue %u", (unsigned)queues[i].queue);
        engine->worker_list[i] = &engine->workers[i];
    }
    engine->worker_count = (unsigned)count;
    return engine->is_sensor ? sensor_new(&engine->sensor, engine->options->config, engine->workers,
                                          engine->worker_count, engine->inherited->takes_over, error)
                             : 0;
}

/* Allocates all parts of a worker except its queue. Returns 0, or -errno with a line in `error`. */
static int prepare_worker(struct engine *engine, struct worker *worker, const struct pipeline_options *options,
                          char error[ENGINE_ERROR_SIZE])
{
    char cause[INJECT_ERROR_SIZE];
    int err = worker_snapshot_init(worker);

    if (!err)
        err = pipeline_init(&worker->pipeline, options, &engine->shared, worker->index,
                            output_port(engine->output, worker->index));
    if (!err)
        err = detector_prepare(worker->pipeline.detector, engine->ruleset);
    if (!err && !(worker->pipeline.ended = ended_flows_new()))
        err = -ENOMEM;
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return err;
    }
    pipeline_set_ruleset(&worker->pipeline, engine->ruleset);
    if (!engine->is_sensor) {
        conntrack_data_plan(worker, engine->options->config, engine->ruleset);
        worker_open_connections(worker, engine->options->config);
        atomic_store(&worker->memory->worker[worker->index].conntrack, worker->queue.conntrack);
    }
    overload_set_options(&worker->watch.overload, &options->overload);
    worker->watch.packet_budget_ns = options->detector.budget.packet_ns;
    worker->reports = offload_follower_port(engine->offload_follower, worker->index);
    worker->pipeline.blocks = attachment_port(engine->attachment, worker->index);
    if (!engine->is_sensor) { /* the packets of a ring are not in the memory that the supervisor reads */
        worker->pipeline.heartbeat = &worker->memory->worker[worker->index];
        worker->pipeline.slots = worker->queue.slots;
    }
    worker->pipeline.memcaps = engine->shared.memcaps;
    worker->pipeline.marked_policy = worker->queue.marked_policy;
    worker->pipeline.looping_policy = worker->queue.looping_policy;
    worker->pipeline.truncated_policy = worker->queue.truncated_policy;
    atomic_store(&worker->ruleset, engine->ruleset);
    if (engine->is_sensor)
        return 0;
    if (injector_new(&worker->pipeline.injector, engine->inherited->reject_fds, engine->firewall.reject_mark, cause)) {
        if (worker->index == 0)
            log_warning("reject rules drop without sending a reset or ICMP error: %s", cause);
    }
    return 0;
}

static int open_attachment(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    const struct attachment_options options = {
        .config = engine->options->config,
        .firewall = &engine->firewall,
        .output = engine->output,
        .workers = engine->workers,
        .worker_count = engine->worker_count,
        .after_death = atomic_load(&engine->inherited->memory->restarts) > 0,
    };
    int err = attachment_new(&engine->attachment, &options, error);

    if (err)
        return err;
    stats_set_attachment(engine->stats, engine->attachment);
    stats_set_engine_memory(engine->stats, engine->inherited->memory);
    err = offload_follower_new(&engine->offload_follower, options.config, options.firewall, options.worker_count);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
    stats_set_follower(engine->stats, engine->offload_follower);
    return err;
}

static int open_overload_report(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    const struct queue_monitor_options monitor = {
        .firewall = &engine->firewall,
        .workers = engine->workers,
        .worker_count = engine->worker_count,
        .output = engine->output,
        .account_fd = engine->inherited->account_fd,
        .queues_fd = engine->queues_fd,
        .takes_over = engine->inherited->takes_over,
    };
    int err = queue_monitor_new(&engine->monitor, &monitor);

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return err;
    }
    stats_set_monitor(engine->stats, engine->monitor);

    const struct overload_report_options options = {
        .workers = engine->workers,
        .worker_count = engine->worker_count,
        .output = engine->output,
        .ruleset = &engine->ruleset,
        .queues = queue_monitor_queues(engine->monitor),
    };

    err = overload_report_new(&engine->overload, &options);

    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
    return err;
}

static void warn_about_file_store(const struct engine *engine)
{
    if (!engine->shared.files && ruleset_file_needs(engine->ruleset) & RULE_FILE_STORE)
        log_warning("rules with filestore store nothing: file-store is not configured");
}

static int prepare_workers(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    struct inspection_options inspection;
    struct pipeline_options options;
    int err = setup_daemon_options(engine->options->config, engine->worker_count, &options, error);

    if (err)
        return err;
    setup_budget_options(engine->options->config, &options.detector.budget);
    config_fill(engine->options->config, inspection_settings, NULL, &inspection);
    if (getrandom(&options.flow.seed, sizeof(options.flow.seed), 0) != sizeof(options.flow.seed)) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot read random numbers for the flow hash: %s", strerror(errno));
        return -EIO;
    }
    options.policy.seed = options.stream.seed = options.flow.seed;
    options.stream.midstream_until_ns = clock_realtime_ns() + inspection.midstream_grace_seconds * NS_PER_SECOND;
    err = pipeline_shared_init(&engine->shared, &options);
    if (!err && !(engine->shared.counters = transferred_counters_new()))
        err = -ENOMEM;
    if (!err)
        err = stats_new(&engine->stats, engine->worker_count, true, engine->options->config, &engine->shared);
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return err;
    }
    err = open_attachment(engine, error);
    if (err)
        return err;
    err = open_overload_report(engine, error);
    if (err)
        return err;
    err = setup_file_store(&engine->shared.files, engine->options->config, engine->options->log_dir,
                           engine->worker_count, false, error);
    if (!err)
        warn_about_file_store(engine);
    for (unsigned i = 0; i < engine->worker_count && !err; i++)
        err = prepare_worker(engine, &engine->workers[i], &options, error);
    return err;
}

/* Starts the output threads. Called after the sandbox has started, like all functions that start threads: the sandbox
 * applies to the calling thread and to threads that it starts. */
static int start_output(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    int err;

    affinity_apply_output(&engine->affinity); /* the output threads inherit the affinity */
    err = engine->shared.files ? file_store_start(engine->shared.files) : 0;
    if (!err)
        err = output_start(engine->output);
    affinity_apply_management(&engine->affinity);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot start the output thread: %s", strerror(-err));
    return err;
}

static struct engine_state get_engine_state(struct engine *engine)
{
    return (struct engine_state){
        .workers = engine->workers,
        .worker_count = engine->worker_count,
        .shared = &engine->shared,
        .ruleset = engine->ruleset,
        .stats = engine->stats,
        .worker_list = engine->worker_list,
        .output = engine->output,
        .started_ns = engine->started_ns,
        .channel = engine->inherited->channel,
    };
}

/* Requests the queues. From the binding on packets wait in a queue, so this is the last step before the worker threads
 * start. Returns 0, or -errno with a line in `error`. */
static int bind_queues(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    const struct engine_inputs *inherited = engine->inherited;
    const struct engine_state state = get_engine_state(engine);
    struct channel_message message;
    enum channel_kind kind;
    int file;

    if (channel_send(inherited->channel, CHANNEL_BIND, 0, NULL))
        kind = CHANNEL_CLOSED;
    else
        do { /* signals are not handled yet */
            kind = channel_receive_file(inherited->channel, &message, &file, -1);
            if (file >= 0)
                engine_state_receive(&state, message.value, file);
        } while (kind != CHANNEL_BOUND && kind != CHANNEL_CLOSED);
    if (kind == CHANNEL_CLOSED) {
        snprintf(error, ENGINE_ERROR_SIZE, "the supervisor has died");
        return -EPIPE;
    }
    snprintf(error, ENGINE_ERROR_SIZE, "%s", message.text);
    return message.value;
}

static int start_workers(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    /* The configuration of the last reload stays in use. If its file cannot be read any more, `config` is NULL, and
     * mode_start() keeps the modes of the previous engine. */
    const bool reloaded = atomic_load(&engine->inherited->memory->reload_wanted);
    const struct config *config = engine->newer || reloaded ? engine->newer : engine->options->config;
    char pinned[512];

    int err = engine->is_sensor ? sensor_start(engine->sensor, error) : 0;

    if (err)
        return err;
    for (unsigned i = 0; i < engine->worker_count && !engine->is_sensor; i++)
        nfqueue_confirm_bound(engine->workers[i].capture, atomic_load(&engine->inherited->memory->flags[i]),
                              engine->inherited->takes_over);
    if (!engine->is_sensor) {
        conntrack_data_log(engine->workers, engine->worker_count, engine->options->config, engine->ruleset);
        offload_probe_kernel(engine->workers, engine->worker_count, &engine->firewall.offload, &engine->shared.offload);
        acknowledgments_apply(engine->attachment, engine->ruleset);
    }
    queue_monitor_load(engine->monitor);
    engine->mode = (struct mode_control){
        .workers = engine->workers,
        .worker_count = engine->worker_count,
        .memory = engine->inherited->memory,
        .output = engine->output,
        .firewall = &engine->firewall,
        .shared = &engine->shared,
    };
    for (unsigned i = 0; i < ENGINE_FAILURES; i++)
        if (engine_failure_opens(engine->options->config, (enum engine_failure)i, engine->firewall.bypass))
            engine->mode.opens |= 1U << i;
    mode_start(&engine->mode, config);
    for (unsigned i = 0; i < engine->worker_count; i++) {
        engine->workers[i].sandbox = engine->confinement.sandbox;
        err = worker_start(&engine->workers[i]);
        if (err) {
            snprintf(error, ENGINE_ERROR_SIZE, "cannot start a thread: %s", strerror(-err));
            return err;
        }
    }
    affinity_describe(&engine->affinity, engine->worker_count, pinned, sizeof(pinned));
    if (engine->is_sensor)
        sensor_log_start(engine->sensor, pinned);
    else
        log_info("bound %u queue%s, receive buffer %u KiB; %s", engine->worker_count,
                 engine->worker_count == 1 ? "" : "s",
                 (unsigned)(nfqueue_receive_buffer(engine->workers[0].capture) / 1024), pinned);
    return 0;
}

static int attach(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    char cause[FIREWALL_ERROR_SIZE];
    struct firewall_status status;
    int err;

    if (engine->firewall.mode == ATTACH_NONE)
        return 0;
    if (engine->attachment) {
        err = attachment_start(engine->attachment, error);
    } else {
        err = firewall_install(&engine->firewall, cause);
        if (err)
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    }
    if (err)
        return err;
    engine->attached = true;
    if (firewall_status(engine->firewall.table, &status, cause) == 0)
        log_info("installed nftables table %s: mode %s, priority %d, %s", engine->firewall.table,
                 firewall_mode_name(engine->firewall.mode), (int)status.priority,
                 status.expression == QUEUE_EXPRESSION_NATIVE ? "native queue statement" : "xt NFQUEUE target");
    return 0;
}

/* --- Main loop ------------------------------------------------------------------------------------ */

static void notify_supervisor(const struct engine *engine, enum channel_kind kind, int32_t value)
{
    /* An error is ignored: service_wait() notices that the supervisor has died. */
    channel_send(engine->inherited->channel, kind, value, NULL);
}

static void begin_reload(struct engine *engine)
{
    int err;

    if (reload_is_stuck(engine->reload)) {
        log_error("the previous reload is hung; run `sluice upgrade` to replace the engine without packet loss");
        return;
    }
    if (reload_state(engine->reload) != RELOAD_IDLE) {
        engine->reload_wanted = true;
        return;
    }
    engine->reload_wanted = false;
    notify_supervisor(engine, CHANNEL_RELOADING, 0);
    err = reload_start(engine->reload, engine->ruleset);
    if (err) {
        log_error("reload failed, rules and settings unchanged: %s", strerror(-err));
        notify_supervisor(engine, CHANNEL_RELOADED, err);
    }
}

static void set_stats_interval(struct engine *engine, const struct config *config)
{
    struct daemon_options options;

    config_fill(config, daemon_settings, NULL, &options);
    engine->stats_interval_ns = options.stats_interval * NS_PER_SECOND;
}

/* Advances a running reload, or starts the requested one. When a reload is done, applies the new ruleset and settings
 * to the main thread's modules. */
static void poll_reload(struct engine *engine)
{
    if (reload_poll(engine->reload, &engine->ruleset) != RELOAD_NOTHING) {
        reload_log(reload_last(engine->reload));
        if (!reload_last(engine->reload)->error) {
            const struct config *config = reload_config(engine->reload);

            atomic_store(&engine->inherited->memory->reload_wanted, 1);
            output_set_generation(engine->output, ruleset_generation(engine->ruleset));
            setup_exception_policies(config, !engine->is_sensor, engine->shared.exceptions);
            if (!engine->is_sensor)
                mode_reload(&engine->mode, config);
            set_stats_interval(engine, config);
            attachment_reread_lists(engine->attachment, config);
            warn_about_file_store(engine);
            conntrack_data_check(engine->workers, engine->is_sensor ? 0 : engine->worker_count, engine->ruleset);
            acknowledgments_apply(engine->attachment, engine->ruleset);
            setup_log_skipped_rules(ruleset_rules(engine->ruleset));
            setup_report_skipped_rules(ruleset_rules(engine->ruleset), engine->output);
        }
        service_tell_reload(engine->service, reload_last(engine->reload));
        notify_supervisor(engine, CHANNEL_RELOADED, reload_last(engine->reload)->error);
    }
    if (engine->reload_wanted && reload_state(engine->reload) == RELOAD_IDLE)
        begin_reload(engine);
}

static int main_loop(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    uint64_t last_stats_ns = clock_monotonic_ns(), now_ns;

    set_stats_interval(engine, engine->options->config);
    if (atomic_load(&engine->inherited->memory->reload_wanted))
        begin_reload(engine);

    for (;;) {
        bool reloading = reload_state(engine->reload) != RELOAD_IDLE && !reload_is_stuck(engine->reload);
        int signal_number = service_wait(engine->service, reloading ? RELOAD_POLL_MS : POLL_MS);

        for (unsigned i = 0; i < engine->worker_count; i++) {
            int err = atomic_load(&engine->workers[i].error);

            if (err) {
                snprintf(error, ENGINE_ERROR_SIZE, "the worker of %s ended: %s", engine->workers[i].label,
                         strerror(-err));
                return err;
            }
        }
        engine->orphaned = signal_number == -EPIPE;
        engine->hands_over = signal_number == SERVICE_HAND_OVER;
        if (signal_number == SIGTERM || signal_number == SIGINT || engine->orphaned || engine->hands_over)
            return 0;
        if (signal_number == SIGHUP)
            output_reopen(engine->output);
        if (signal_number == SIGUSR2)
            begin_reload(engine);
        poll_reload(engine);
        mode_poll(&engine->mode);
        output_errors_log(&engine->output_errors, engine->output, engine->inherited->channel);
        now_ns = clock_monotonic_ns();
        overload_report_poll(engine->overload, now_ns, false);
        queue_monitor_poll(engine->monitor, now_ns, false);
        sensor_poll(engine->sensor);
        for (unsigned i = 0; i < engine->worker_count; i++)
            script_log_worker(&engine->workers[i]);
        if (signal_number != SIGUSR1 &&
            (engine->stats_interval_ns == 0 || now_ns - last_stats_ns < engine->stats_interval_ns))
            continue;
        for (unsigned i = 0; i < engine->worker_count; i++)
            worker_request_snapshot(&engine->workers[i]);
        for (unsigned i = 0; i < engine->worker_count; i++) {
            if (!worker_wait_snapshot(&engine->workers[i]))
                log_warning("the worker of %s does not answer: its statistics are those of the last interval",
                            engine->workers[i].label);
        }
        packet_warnings_log(&engine->packet_warnings, engine->worker_list, engine->worker_count);
        stats_write(engine->stats, engine->worker_list, engine->worker_count, engine->ruleset, engine->output,
                    stats_uptime(engine->stats, engine->started_ns), clock_realtime_ns());
        last_stats_ns = clock_monotonic_ns();
    }
}

/* --- Stop ----------------------------------------------------------------------------------------- */

static void detach(struct engine *engine)
{
    char cause[FIREWALL_ERROR_SIZE];

    attachment_stop(engine->attachment); /* stop the thread first, because it would install the table again */
    if (!engine->attached)
        return;
    if (firewall_quiesce(engine->firewall.table, cause))
        log_warning("%s", cause);
    drain_queues(engine->queues_fd);
    if (firewall_remove(engine->firewall.table, cause))
        log_warning("%s", cause);
    engine->attached = false;
}

static void engine_clear(struct engine *engine)
{
    for (unsigned i = 0; i < engine->worker_count; i++) {
        capture_close(engine->workers[i].capture);
        pipeline_clear(&engine->workers[i].pipeline);
        worker_close_connections(&engine->workers[i]);
        worker_snapshot_clear(&engine->workers[i]);
    }
    service_free(engine->service);
    reload_free(engine->reload);
    overload_report_free(engine->overload);
    queue_monitor_free(engine->monitor);
    stats_free(engine->stats);
    attachment_free(engine->attachment);
    offload_follower_free(engine->offload_follower);
    output_close(engine->output);
    pipeline_shared_clear(&engine->shared);
    ruleset_free(engine->ruleset);
    rule_names_free(engine->names);
    confinement_clear(&engine->confinement);
    sensor_free(engine->sensor);
    if (engine->queues_fd >= 0)
        close(engine->queues_fd);
    config_free(engine->newer);
    free(engine->worker_list);
    free(engine->workers);
}

static void reload_for_client(void *user)
{
    begin_reload(user);
}

static int open_service(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    const struct service_options options = {
        .config = engine->options->config,
        .workers = engine->workers,
        .worker_list = engine->worker_list,
        .worker_count = engine->worker_count,
        .ruleset = &engine->ruleset,
        .apps = engine->shared.apps,
        .memcaps = engine->shared.memcaps,
        .names = engine->names,
        .stats = engine->stats,
        .output = engine->output,
        .reload = engine->reload,
        .confinement = &engine->confinement,
        .monitor = engine->monitor,
        .sensor = engine->sensor,
        .started_ns = engine->started_ns,
        .memory = engine->inherited->memory,
        .attachment = engine->attachment,
        .mode = &engine->mode,
        .channel = engine->inherited->channel,
        .control_fd = engine->inherited->control_fd,
        .begin_reload = reload_for_client,
        .user = engine,
    };

    return service_new(&engine->service, &options, error);
}

/* `die` true: the kernel kills this process when the supervisor dies; false: it no longer does. Used during the start,
 * because this thread may be blocked by reading files and not notice that the supervisor has died. */
static void die_with_supervisor(bool die)
{
    prctl(PR_SET_PDEATHSIG, die ? SIGKILL : 0);
}

static int start_engine(struct engine *engine, char error[ENGINE_ERROR_SIZE])
{
    char cause[FIREWALL_ERROR_SIZE];
    int err = confinement_switch_user(&engine->confinement, engine->options, error);

    /* Fix the mmap threshold, because glibc raises it to the size of freed blocks, up to 32 MiB. Then the workers'
     * tables would reuse heap memory that was freed after the rules were compiled: calloc() clears reused memory, which
     * makes pages resident that are never used. Also, blocks of rules would be in the heap, and other blocks would
     * prevent that their memory is returned to the system. */
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD);
    /* Limit the free memory at the end of the heaps of other threads, which malloc_trim() does not return. */
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD);

    if (err)
        return err;
    die_with_supervisor(true);
    err = setup_firewall_options(engine->options->config, &engine->firewall, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    else
        err = plan_workers(engine, error);
    engine->firewall.keep_place = engine->inherited->takes_over;
    if (!err)
        err = load_rules(engine, error);
    if (!err)
        err = open_output(engine, error);
    if (!err)
        err = prepare_workers(engine, error);
    if (err)
        return err;

    const struct reload_options reload = {
        .run = engine->options,
        .workers = engine->workers,
        .worker_count = engine->worker_count,
        .output = engine->output,
        .names = engine->names,
        .rules_memory = engine->rules_memory,
        .rule_errors = engine->rule_errors,
    };

    if (reload_new(&engine->reload, &reload)) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    stats_set_reload(engine->stats, engine->reload);
    engine->started_ns = clock_monotonic_ns();
    err = open_service(engine, error);
    if (!err && engine->is_sensor)
        err = sensor_open(engine->sensor, engine->output, error);
    /* Opens the captures without binding the queues: the supervisor binds them later. */
    for (unsigned i = 0; i < engine->worker_count && !err && !engine->is_sensor; i++) {
        char reason[CAPTURE_ERROR_SIZE];

        err = nfqueue_open(&engine->workers[i].capture, &engine->workers[i].queue, reason);
        if (err)
            snprintf(error, ENGINE_ERROR_SIZE, "%s", reason);
    }
    die_with_supervisor(false);
    if (!err)
        err = confinement_start(&engine->confinement, engine->options, engine->newer, error);
    if (!err)
        err = start_output(engine, error);
    if (!err)
        err = bind_queues(engine, error);
    if (!err)
        err = start_workers(engine, error);
    if (err)
        return err;
    if (offload_follower_start(engine->offload_follower))
        log_warning("cannot start the conntrack thread: flow events do not count packets of offloaded flows");
    if (!engine->is_sensor)
        queue_monitor_begin(engine->monitor);
    return attach(engine, error);
}

/* Exits without freeing memory, because the thread of a reload still reads files and uses it. */
static void exit_without_cleanup(void)
{
    fflush(NULL);
    _exit(EXIT_SUCCESS);
}

/* `well`: the engine stops without an error. After an error the sluice table stays installed, for the next engine. */
static void stop_engine(struct engine *engine, bool well)
{
    const struct engine_state state = get_engine_state(engine);

    if (well) { /* two readings, because they must agree; the table must still be installed */
        queue_monitor_poll(engine->monitor, clock_monotonic_ns(), true);
        queue_monitor_poll(engine->monitor, clock_monotonic_ns(), true);
    }
    if (well && !engine->orphaned && !engine->hands_over)
        detach(engine);
    attachment_stop(engine->attachment);
    offload_follower_stop(engine->offload_follower); /* its last reports update the flows that end now */
    for (unsigned i = 0; i < engine->worker_count && engine->hands_over; i++)
        atomic_store(&engine->workers[i].leave, true);
    for (unsigned i = 0; i < engine->worker_count; i++)
        atomic_store(&engine->workers[i].stop, true);
    for (unsigned i = 0; i < engine->worker_count; i++) {
        struct worker *worker = &engine->workers[i];

        if (!worker->started)
            continue;
        worker_join(worker);
        worker_copy_counters(worker);
        worker->started = false;
    }
    if (well && engine->hands_over) {
        engine_state_send(&state);
        service_tell_hand_over(engine->service);
    } else if (well) {
        notify_supervisor(engine, CHANNEL_STOPPING, 0);
    }
    packet_warnings_log(&engine->packet_warnings, engine->worker_list, engine->worker_count);
    for (unsigned i = 0; i < engine->worker_count; i++)
        script_log_worker(&engine->workers[i]);
    overload_report_poll(engine->overload, clock_monotonic_ns(), true);
    if (engine->shared.files)
        file_store_stop(engine->shared.files);
    if (well)
        setup_save_datasets(engine->ruleset);
    if (well && !engine->hands_over) /* after a hand-over the counters continue in the next engine */
        stats_write(engine->stats, engine->worker_list, engine->worker_count, engine->ruleset, engine->output,
                    stats_uptime(engine->stats, engine->started_ns), clock_realtime_ns());
    if (engine->output) {
        output_stop(engine->output);
        output_errors_log_end(engine->output);
    }
    if (well)
        stats_log_summary(engine->worker_list, engine->worker_count);
    if (reload_end(engine->reload))
        engine_clear(engine);
    else if (well)
        exit_without_cleanup();
}

int engine_run(const struct run_options *options, const struct engine_inputs *inheritance,
               char error[ENGINE_ERROR_SIZE])
{
    const bool is_sensor = setup_is_sensor(options->config);
    struct engine engine = {
        .options = options,
        .inherited = inheritance,
        .is_sensor = is_sensor,
        .queues_fd = is_sensor ? -EBADF : nfqueue_open_status(),
    };
    int err = crash_report_start();

    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot install signal handlers: %s", strerror(-err));
    else
        err = start_engine(&engine, error);
    if (!err) {
        engine_events_report(inheritance->memory, engine.output);
        setup_report_skipped_rules(ruleset_rules(engine.ruleset), engine.output);
        log_notice("ready");
        notify_supervisor(&engine, CHANNEL_READY, (int32_t)engine.worker_count);
        err = main_loop(&engine, error);
    }
    stop_engine(&engine, !err);
    return err;
}
