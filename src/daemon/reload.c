/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loads a new ruleset and new settings while packets are inspected. A thread of low priority reads the configuration
 * and the rules, compiles them, and allocates what each worker needs for them, without touching the running engine.
 * Rules that cannot be loaded are skipped, as at the start. If the configuration has an error, no rule could be loaded,
 * or the rules have new mistakes and reload.mistakes is refuse, the reload fails and the engine keeps ruleset and
 * settings. Otherwise the main thread gives each worker an update, which it applies between two batches by exchanging
 * pointers. When all workers have applied it, the old ruleset is freed as soon as the output thread has written the
 * events that refer to it.
 *
 * Event types and further outputs change with the rules: the builder opens the files of new outputs, each worker
 * records the new types of events from the same batch on, and the output thread then continues with the new set of
 * outputs (sluice/output.h). An output that cannot be opened now is a warning.
 *
 * The following state is kept for the new rules: flows with their pending candidates (src/detect/state_map.c); bits,
 * which are identified by the numbers of their names (struct rule_names); thresholds and tags, which are identified by
 * the ids of the rules; datasets.
 *
 * A second ruleset needs about as much memory as the first one. The memory of the rules is measured when they are
 * loaded. A reload fails if less than 125 % of this memory is available.
 *
 * Threads:   the main thread calls all functions. The builder uses the struct from reload_start() until `built`.
 * Ownership: the main thread owns the ruleset from reload_poll() on; the previous one is freed here.
 */
#include "reload.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/file.h"
#include "sluice/log.h"
#include "sluice/memory_group.h"
#include "sluice/output.h"
#include "sluice/overload.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/worker.h"

#include "confinement.h"

enum { BUILDER_NICE = 10, MEMORY_MARGIN_PERCENT = 125, LINE_SIZE = 256, END_SECONDS = 2 };

struct reload {
    struct reload_options options;
    enum reload_state state;
    struct config *config;          /* configuration of the rules in use; NULL: the configuration of the start */
    struct daemon_options settings; /* settings from the configuration in use */
    size_t rules_memory;            /* bytes of the rules in use */
    size_t rule_errors;             /* errors in the rules in use */

    /* used by the builder thread until `built`, then by the main thread */
    pthread_t builder;
    atomic_bool built;
    int error;
    struct diag *diag;
    struct config *new_config;
    struct ruleset *new_ruleset;
    struct output_change *new_outputs; /* NULL: the outputs have not changed */
    size_t new_memory;
    char cause[ENGINE_ERROR_SIZE];
    /* used by the main thread only */
    char late[ENGINE_ERROR_SIZE];  /* cause for the report of a hung reload, because the builder still uses `cause` */
    struct worker_update *updates; /* one for each worker */
    const struct ruleset *before;  /* the ruleset in use when the reload began */
    struct ruleset *old;           /* the previous ruleset, freed when the output thread has written its events */
    uint64_t ticket, begun_ns;
    struct reload_result result;
    /* true: the builder is hung, and the reload was reported as failed; false again when the builder has ended. */
    bool stuck;
    struct diag *no_diag; /* empty diagnostics for the report of a hung reload, because the builder still uses `diag` */
};

/* --- Memory --------------------------------------------------------------------------------------- */

size_t reload_memory_used(void)
{
    struct mallinfo2 info = mallinfo2();

    return info.uordblks + info.hblkhd;
}

static const struct config *config_in_use(const struct reload *reload)
{
    return reload->config ? reload->config : reload->options.run->config;
}

/* Checks before loading that enough memory is available: MEMORY_MARGIN_PERCENT of what the current ruleset uses.
 * Returns 0 or -ENOMEM. */
static int check_memory(struct reload *reload)
{
    uint64_t needed = (uint64_t)reload->rules_memory * MEMORY_MARGIN_PERCENT / 100;
    uint64_t limit = memory_group_available(), configured = reload->settings.reload_memory_max;
    FILE *file = fopen("/proc/meminfo", "re");
    unsigned long long kib;
    char line[LINE_SIZE];

    while (file && fgets(line, sizeof(line), file)) {
        if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1 && (uint64_t)kib << 10 < limit)
            limit = (uint64_t)kib << 10;
    }
    if (file)
        fclose(file);
    if (configured > 0 && configured < limit)
        limit = configured;
    if (needed <= limit)
        return 0;
    snprintf(reload->cause, sizeof(reload->cause),
             "a second set of rules needs about %llu MiB, and %llu MiB are available (reload.memory-max)",
             (unsigned long long)(needed >> 20), (unsigned long long)(limit >> 20));
    return -ENOMEM;
}

/* Checks after loading that the new ruleset does not use more than reload.memory-max. Returns 0 or -ENOMEM. */
static int check_growth(struct reload *reload, size_t used_before)
{
    uint64_t configured = reload->settings.reload_memory_max;
    size_t used = reload_memory_used() + rule_list_text_memory(ruleset_rules(reload->new_ruleset));

    reload->new_memory = used > used_before ? used - used_before : 0;
    if (configured == 0 || reload->new_memory <= configured)
        return 0;
    snprintf(reload->cause, sizeof(reload->cause), "the new rules take %zu MiB, more than reload.memory-max",
             reload->new_memory >> 20);
    return -ENOMEM;
}

/* --- Builder -------------------------------------------------------------------------------------- */

/* Returns -EINVAL if there are more than `before` errors, otherwise 0. `before`: the number of errors that do
 * not prevent a reload: those in the current rules, or 0 for a configuration. */
static int refuse_mistakes(struct reload *reload, size_t before, const char *where)
{
    size_t mistakes = diag_errors(reload->diag) - before;

    if (diag_errors(reload->diag) <= before)
        return 0;
    snprintf(reload->cause, sizeof(reload->cause), "%zu %smistake%s in %s", mistakes, before > 0 ? "new " : "",
             mistakes == 1 ? "" : "s", where);
    return -EINVAL;
}

static int read_config(struct reload *reload)
{
    const struct run_options *run = reload->options.run;
    int err = 0;

    if (!run->load_config)
        return 0;
    err = run->load_config(run->load_config_user, &reload->new_config, reload->diag);
    if (err)
        snprintf(reload->cause, sizeof(reload->cause), "the configuration could not be read");
    return err ? err : refuse_mistakes(reload, 0, "the configuration");
}

/* Checks whether the sandbox allows all files of the new configuration to be read. Without this check, the error would
 * only be the system's "Permission denied". Returns 0, or -errno with a line in `cause`. */
static int check_sandbox(struct reload *reload)
{
    const char *path = reload->new_config ? confinement_blocks_file(reload->new_config) : NULL;

    if (!path)
        return 0;
    snprintf(
        reload->cause, sizeof(reload->cause),
        "the sandbox (Landlock) does not allow to read %s, because its folder was not configured at the start; run "
        "`sluice upgrade` to use it, without packet loss",
        path);
    return -EACCES;
}

static int read_rules(struct reload *reload)
{
    const struct config *config = reload->new_config ? reload->new_config : config_in_use(reload);
    const struct rule_load_options load = {
        .config = config,
        .rule_files = reload->options.run->rule_files,
        .rule_file_count = reload->options.run->rule_file_count,
        .names = reload->options.names,
        .before = reload->before,
        .needs_rules = true,
    };
    struct daemon_options settings;
    int err = setup_load_ruleset(&reload->new_ruleset, &load, reload->diag, reload->cause);

    config_fill(config, daemon_settings, NULL, &settings);
    return err || settings.reload_skips_mistakes
               ? err
               : refuse_mistakes(reload, reload->rule_errors, "the rules (reload.mistakes)");
}

static void clear_updates(struct reload *reload)
{
    for (unsigned i = 0; reload->updates && i < reload->options.worker_count; i++) {
        detector_memory_free(reload->updates[i].room);
        file_magic_free(reload->updates[i].magic);
        reload->updates[i].room = NULL;
        reload->updates[i].magic = NULL;
    }
}

/* Allocates the update of each worker: the memory of its detector, and the settings that a reload applies. Returns 0 or
 * -errno. */
static int make_updates(struct reload *reload)
{
    bool needs_magic = ruleset_file_needs(reload->new_ruleset) & ~ruleset_file_needs(reload->before) & RULE_FILE_MAGIC;
    int err = 0;

    for (unsigned i = 0; i < reload->options.worker_count && !err; i++) {
        struct worker_update *update = &reload->updates[i];

        *update = (struct worker_update){ .ruleset = reload->new_ruleset, .outputs = reload->new_outputs };
        if (reload->new_config) {
            update->has_settings = true;
            setup_flow_options(reload->new_config, reload->options.worker_count, &update->flow);
            setup_exception_policies(reload->new_config, !reload->options.workers[0].is_ring, update->exceptions);
            overload_options_read(reload->new_config, &update->overload);
        }
        if (needs_magic)
            update->magic = file_magic_new();
        err = detector_memory_new(&update->room, reload->new_ruleset);
    }
    if (err)
        snprintf(reload->cause, sizeof(reload->cause), "out of memory");
    return err;
}

static void note_output_setting(const char *name, void *user)
{
    *(bool *)user |= strncmp(name, "outputs", 7) == 0 || strncmp(name, "eve.types", 9) == 0;
}

static void report_output(void *user, const char *name, const char *cause)
{
    diag_warning(user, (struct position){ .file = NULL },
                 "output %s: %s; the change takes effect with `sluice upgrade`, or at the next start", name, cause);
}

/* Opens changed outputs. Returns 0, or -errno with a line in `cause`. */
static int make_outputs(struct reload *reload)
{
    struct output_options options = { .inline_mode = !reload->options.workers[0].is_ring };
    struct setup_outputs *outputs;
    bool differs = false;
    int err;

    if (reload->new_config)
        config_each_difference(config_in_use(reload), reload->new_config, note_output_setting, &differs);
    if (!differs)
        return 0;
    outputs = malloc(sizeof(*outputs));
    if (!outputs) {
        snprintf(reload->cause, sizeof(reload->cause), "out of memory");
        return -ENOMEM;
    }
    err = setup_output_options(reload->new_config, reload->options.run->log_dir, &options, outputs, reload->cause);
    if (!err) {
        err = output_change_new(&reload->new_outputs, reload->options.output, &options, report_output, reload->diag);
        if (err)
            snprintf(reload->cause, sizeof(reload->cause), "out of memory");
    }
    free(outputs);
    return err;
}

static void discard_build(struct reload *reload)
{
    clear_updates(reload);
    output_change_free(reload->new_outputs, reload->options.output);
    reload->new_outputs = NULL;
    ruleset_free(reload->new_ruleset);
    config_free(reload->new_config);
    reload->new_ruleset = NULL;
    reload->new_config = NULL;
}

/* The builder thread. Lowers its own priority, which the threads that compile for it inherit. */
static void *build(void *argument)
{
    struct reload *reload = argument;
    size_t used = reload_memory_used();
    int err;

    pthread_setname_np(pthread_self(), "sluice-reload");
    setpriority(PRIO_PROCESS, 0, BUILDER_NICE);
    err = check_memory(reload);
    if (!err)
        err = read_config(reload);
    if (!err)
        err = check_sandbox(reload);
    if (!err)
        err = read_rules(reload);
    if (!err)
        err = make_outputs(reload);
    if (!err)
        err = make_updates(reload);
    if (!err)
        err = check_growth(reload, used);
    if (err)
        discard_build(reload);
    reload->error = err;
    atomic_store_explicit(&reload->built, true, memory_order_release);
    return NULL;
}

/* --- Main thread ---------------------------------------------------------------------------------- */

int reload_new(struct reload **out, const struct reload_options *options)
{
    struct reload *reload = calloc(1, sizeof(*reload));

    if (!reload)
        return -ENOMEM;
    reload->options = *options;
    config_fill(options->run->config, daemon_settings, NULL, &reload->settings);
    reload->rules_memory = options->rules_memory;
    reload->rule_errors = options->rule_errors;
    reload->updates = calloc(options->worker_count + 1u, sizeof(*reload->updates));
    reload->no_diag = diag_new();
    if (!reload->updates || !reload->no_diag) {
        reload_free(reload);
        return -ENOMEM;
    }
    *out = reload;
    return 0;
}

void reload_free(struct reload *reload)
{
    if (!reload)
        return;
    if (reload->state == RELOAD_BUILDING) {
        pthread_join(reload->builder, NULL);
        discard_build(reload);
    }
    clear_updates(reload);
    ruleset_free(reload->old);
    config_free(reload->config);
    config_free(reload->new_config);
    diag_free(reload->diag);
    diag_free(reload->no_diag);
    free(reload->updates);
    free(reload);
}

bool reload_end(struct reload *reload)
{
    struct timespec until;

    if (!reload || reload->state != RELOAD_BUILDING)
        return true;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += END_SECONDS;
    if (pthread_timedjoin_np(reload->builder, NULL, &until) != 0)
        return false;
    discard_build(reload);
    reload->state = RELOAD_IDLE;
    return true;
}

int reload_start(struct reload *reload, const struct ruleset *before)
{
    sigset_t all, previous;
    int err;

    if (reload->state != RELOAD_IDLE)
        return -EBUSY;
    diag_free(reload->diag);
    reload->diag = diag_new();
    if (!reload->diag)
        return -ENOMEM;
    reload->before = before;
    reload->begun_ns = clock_monotonic_ns();
    reload->cause[0] = '\0';
    atomic_store(&reload->built, false);
    sigfillset(&all); /* the builder blocks all signals: the main thread handles them */
    pthread_sigmask(SIG_SETMASK, &all, &previous);
    err = -pthread_create(&reload->builder, NULL, build, reload);
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (err)
        return err;
    reload->state = RELOAD_BUILDING;
    return 0;
}

static void fill_result(struct reload *reload, int error, const char *cause)
{
    const struct rule_list *rules = error ? NULL : ruleset_rules(reload->new_ruleset);

    reload->result = (struct reload_result){
        .number = reload->result.number + 1,
        .failures = reload->result.failures + (error != 0),
        .error = error,
        .generation = ruleset_generation(error ? reload->before : reload->new_ruleset),
        .rules = rules ? rule_list_count(rules) : 0,
        .failed = rules ? rule_list_failed(rules) : 0,
        .skipped = rules ? rule_list_skipped(rules) : 0,
        .seconds = (double)(clock_monotonic_ns() - reload->begun_ns) / NS_PER_SECOND,
        .time_ns = clock_realtime_ns(),
        .cause = cause,
        .diag = reload->stuck ? reload->no_diag : reload->diag,
    };
}

/* Gives the updates to the workers when the builder has finished. A hung builder thread cannot be ended: the reload is
 * reported as failed, and the result of the builder is discarded if it finishes later. */
static enum reload_event send_updates(struct reload *reload)
{
    const uint64_t limit = reload->settings.load_timeout;

    if (!atomic_load_explicit(&reload->built, memory_order_acquire)) {
        if (limit == 0 || reload->stuck || clock_monotonic_ns() - reload->begun_ns < limit * NS_PER_SECOND)
            return RELOAD_NOTHING;
        reload->stuck = true;
        snprintf(reload->late, sizeof(reload->late),
                 "not done within %u s (engine.load-timeout): check that the rule files and the configuration can be "
                 "read, then run `sluice upgrade` to replace the engine without packet loss",
                 (unsigned)limit);
        fill_result(reload, -ETIMEDOUT, reload->late);
        return RELOAD_FAILED;
    }
    pthread_join(reload->builder, NULL);
    if (reload->stuck) { /* the reload was reported as failed before */
        reload->stuck = false;
        reload->state = RELOAD_IDLE;
        if (!reload->error)
            discard_build(reload);
        return RELOAD_NOTHING;
    }
    if (reload->error) {
        fill_result(reload, reload->error, reload->cause);
        reload->state = RELOAD_IDLE;
        return RELOAD_FAILED;
    }
    for (unsigned i = 0; i < reload->options.worker_count; i++)
        worker_set_update(&reload->options.workers[i], &reload->updates[i]);
    reload->state = RELOAD_TAKING;
    return RELOAD_NOTHING;
}

/* Warns about a changed setting that a reload does not apply. */
static void note_unused(const char *name, void *user)
{
    static const char *const reloaded[] = {
        "ips.mode",
        "exception-policy",
        "defrag.memcap-policy",
        "flow.memcap-policy",
        "stream.memcap-policy",
        "stream.reassembly-memcap-policy",
        "stream.midstream-policy",
        "stream.invalid-policy",
        "app-layer.error-policy",
        "app-layer.memcap-policy",
        "flow.timeouts.",
        "stats.interval",
        "overload.",
        "vars.",
        "rule-files",
        "classification-file",
        "reference-config-file",
        "threshold-file",
        "rule-policy.",
        "action-order",
        "reputation.",
        "geoip-database",
        "datasets",
        "nft.blocklist.priority",
        "nft.blocklist.classtypes",
        "nft.blocklist.timeout",
        "nft.blocklist.files",
        "nft.blocklist.countries",
        "nft.blocklist.networks",
        "detect.sgh-mpm-caching",
        "data-dir",
        "engine.init-failure-fatal",
        "reload.",
    };
    static const char *const of_servers[] = { ".prefix", ".syslog.", ".redis.", ".kafka." };
    struct diag *diag = user;

    if (strcmp(name, "eve.types") == 0 || (strncmp(name, "eve.types.", 10) == 0 && !strchr(name + 10, '.')))
        return;
    if (strncmp(name, "outputs", 7) == 0) { /* make_outputs() reports the outputs that do not change */
        for (size_t i = 0; i < sizeof(of_servers) / sizeof(of_servers[0]); i++)
            if (strstr(name, of_servers[i]))
                diag_warning(diag, (struct position){ .file = NULL },
                             "'%s' has changed: it takes effect with `systemctl restart sluice-ship`", name);
        return;
    }
    for (size_t i = 0; i < sizeof(reloaded) / sizeof(reloaded[0]); i++) {
        if (strncmp(name, reloaded[i], strlen(reloaded[i])) == 0)
            return;
    }
    if (strncmp(name, "queues.", 7) == 0 && strstr(name, ".ips-mode"))
        return;
    diag_warning(diag, (struct position){ .file = NULL },
                 "'%s' has changed: it takes effect with `sluice upgrade`, or at the next start", name);
}

static enum reload_event finish_updates(struct reload *reload, struct ruleset **current)
{
    for (unsigned i = 0; i < reload->options.worker_count; i++) {
        const struct worker *worker = &reload->options.workers[i];

        /* A worker whose thread has ended never applies its update, and uses no ruleset. */
        if (worker_has_update(worker) && !atomic_load(&worker->error))
            return RELOAD_NOTHING;
    }
    clear_updates(reload);
    reload->rule_errors = diag_errors(reload->diag);
    if (reload->new_config) {
        /* Compare with the configuration of the start, because settings that a reload does not apply still have the
         * values from it. */
        config_each_difference(reload->options.run->config, reload->new_config, note_unused, reload->diag);
        config_free(reload->config);
        reload->config = reload->new_config;
        config_fill(reload->config, daemon_settings, NULL, &reload->settings);
        reload->new_config = NULL;
    }
    fill_result(reload, 0, reload->cause);
    reload->old = *current;
    *current = reload->new_ruleset;
    reload->new_ruleset = NULL;
    reload->rules_memory = reload->new_memory > 0 ? reload->new_memory : reload->rules_memory;
    if (reload->new_outputs)
        output_change(reload->options.output, reload->new_outputs);
    reload->new_outputs = NULL;
    reload->ticket = output_ticket(reload->options.output);
    reload->state = RELOAD_DRAINING;
    return RELOAD_DONE;
}

enum reload_event reload_poll(struct reload *reload, struct ruleset **current)
{
    switch (reload->state) {
    case RELOAD_BUILDING:
        return send_updates(reload);
    case RELOAD_TAKING:
        return finish_updates(reload, current);
    case RELOAD_DRAINING:
        if (!output_drained(reload->options.output, reload->ticket))
            break;
        output_change_end(reload->options.output);
        ruleset_free(reload->old);
        malloc_trim(0); /* return the memory to the system */
        reload->old = NULL;
        reload->state = RELOAD_IDLE;
        break;
    case RELOAD_IDLE:
        break;
    }
    return RELOAD_NOTHING;
}

enum reload_state reload_state(const struct reload *reload)
{
    return reload->state;
}

bool reload_is_stuck(const struct reload *reload)
{
    return reload->stuck;
}

const struct config *reload_config(const struct reload *reload)
{
    return config_in_use(reload);
}

const struct reload_result *reload_last(const struct reload *reload)
{
    return reload->result.number > 0 ? &reload->result : NULL;
}

void reload_log(const struct reload_result *result)
{
    setup_print_diagnostics(result->diag);
    if (result->error)
        log_error("reload failed, rules and settings unchanged (generation %u): %s", result->generation, result->cause);
    else
        log_notice("reloaded: generation %u, %zu rules, %zu failed, %zu skipped, in %.2f s", result->generation,
                   result->rules, result->failed, result->skipped, result->seconds);
}
