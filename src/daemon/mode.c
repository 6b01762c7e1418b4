/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Mode drop or alert-only. The configuration sets the mode of each queue (ips.mode, queues.*.ips-mode), `sluice mode`
 * overrides it, for a time or until `sluice mode configured`. A worker reads its mode once for each batch.
 *
 * The override outlives the engine: it is stored in struct engine_memory, which the supervisor keeps for the engine
 * that follows a crash or an upgrade, and in the hand-over file, for a restart of the service. The configured mode is
 * stored in struct engine_memory, too, because the configuration that a reload has read may not be readable when an
 * engine dies.
 *
 * `sluice mode alert-only` holds for all queues. `sluice mode drop` does not change queues that queues.*.ips-mode sets
 * to alert-only.
 *
 * Connections with the drop mark of nft.offload never reach a queue, so alert-only removes the mark.
 *
 * Threads: the main thread.
 */
#include "mode.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sluice/clock.h"
#include "sluice/connections.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/policy.h"
#include "sluice/setup.h"
#include "sluice/text.h"
#include "sluice/worker.h"

/* An override in one word, which is written atomically, so that a crash never leaves half of it: mode + 1 in the bits
 * from MODE_SHIFT on, until_ns below; 0: no override. */
enum { MODE_SHIFT = 62 };
#define UNTIL_MASK ((UINT64_C(1) << MODE_SHIFT) - 1)
/* worker_heartbeat.mode contains a configured mode as mode + 1, plus this flag if queues.*.ips-mode has set it. */
enum { MODE_OF_RANGE = 0x100 };

static uint64_t pack(const struct mode_override *override)
{
    return override->is_set ? (uint64_t)(override->mode + 1) << MODE_SHIFT | (override->until_ns & UNTIL_MASK) : 0;
}

static struct mode_override unpack(uint64_t word)
{
    uint64_t mode = word >> MODE_SHIFT;

    if (mode == 0 || mode > IPS_MODE_ALERT_ONLY + 1)
        return (struct mode_override){ .is_set = false };
    return (struct mode_override){ .is_set = true, .mode = (enum ips_mode)(mode - 1), .until_ns = word & UNTIL_MASK };
}

static void keep_override(struct mode_control *control)
{
    uint64_t word = pack(&control->override);

    atomic_store(&control->memory->mode_override, word);
    control->shared->mode_override = word;
}

static bool is_expired(const struct mode_override *override)
{
    return override->is_set && override->until_ns > 0 && clock_monotonic_ns() >= override->until_ns;
}

static uint64_t ns_left(const struct mode_override *override)
{
    uint64_t now_ns = clock_monotonic_ns();

    return override->until_ns > now_ns ? override->until_ns - now_ns : 0;
}

/* Returns the time at which the override ends (clock_realtime_ns()); 0: no time limit. */
static uint64_t end_of(const struct mode_override *override)
{
    return override->is_set && override->until_ns > 0 ? clock_realtime_ns() + ns_left(override) : 0;
}

static enum ips_mode mode_of(const struct mode_control *control, const struct worker *worker)
{
    const struct queue_mode *configured = &worker->configured_mode;

    if (!control->override.is_set || (configured->of_range && configured->mode == IPS_MODE_ALERT_ONLY))
        return configured->mode;
    return control->override.mode;
}

/* --- Marks in the kernel -------------------------------------------------------------------------- */

/* Removes the drop marks of connections. First waits until no worker handles a batch in mode drop any more; queues that
 * stay in mode drop set the mark again. */
static void release_connections(const struct mode_control *control)
{
    const struct firewall_offload *offload = &control->firewall->offload;
    const struct connection_mark mark = { offload->drop_mark, offload->drop_mask };
    size_t changed = 0;
    int err;

    if (!offload->drop)
        return;
    for (unsigned i = 0; i < control->worker_count; i++) {
        if (control->workers[i].started && !worker_take_snapshot(&control->workers[i]))
            log_warning("%s: the worker does not answer, so connections that it still marks with nft.offload.drop-mark "
                        "may stay "
                        "dropped in mode alert-only",
                        control->workers[i].label);
    }
    err = connections_unmark(&mark, 1, &changed);
    if (err)
        log_error("the kernel still drops connections with nft.offload.drop-mark, because the mark cannot be removed: "
                  "%s; run `conntrack -D --mark 0x%x/0x%x`",
                  strerror(-err), (unsigned)mark.mark, (unsigned)mark.mask);
    else if (changed > 0)
        log_notice("removed nft.offload.drop-mark from %zu connections: the kernel does not drop them any more",
                   changed);
}

/* --- Changes -------------------------------------------------------------------------------------- */

/* Sets the mode of each worker. Returns true when the mode of a worker has changed. */
static bool apply(struct mode_control *control)
{
    bool changed = false, releases = false;

    for (unsigned i = 0; i < control->worker_count; i++) {
        struct worker *worker = &control->workers[i];
        enum ips_mode mode = mode_of(control, worker);
        uint32_t before = atomic_exchange(&worker->mode, (uint32_t)mode);

        changed |= before != (uint32_t)mode;
        releases |= before != (uint32_t)mode && mode == IPS_MODE_ALERT_ONLY;
    }
    if (releases)
        release_connections(control);
    return changed;
}

/* Returns "drop", "alert-only", or "mixed" when queues differ. */
static const char *name_of_all(const struct mode_control *control)
{
    uint32_t first = atomic_load(&control->workers[0].mode);

    for (unsigned i = 1; i < control->worker_count; i++) {
        if (atomic_load(&control->workers[i].mode) != first)
            return "mixed";
    }
    return ips_mode_name((enum ips_mode)first);
}

static void format_time(uint64_t time_ns, char *out, size_t size)
{
    time_t seconds = (time_t)(time_ns / NS_PER_SECOND);
    struct tm local;

    localtime_r(&seconds, &local);
    strftime(out, size, "%Y-%m-%d %H:%M:%S", &local);
}

static void report(struct mode_control *control, const char *cause)
{
    const struct output_engine event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_ENGINE_MODE,
        .mode = name_of_all(control),
        .cause = cause,
        .until_ns = end_of(&control->override),
    };
    char until[64] = "";

    if (event.until_ns > 0)
        format_time(event.until_ns, until, sizeof(until));
    if (strcmp(event.mode, "drop") == 0)
        log_notice("mode drop (%s)%s%s", cause, until[0] ? " until " : "", until);
    else
        log_notice(
            "mode %s (%s)%s%s: alert-only lets packets pass that are to be dropped, and ips.would_drop counts them%s",
            event.mode, cause, until[0] ? " until " : "", until,
            strcmp(event.mode, "mixed") == 0 ? "; `sluice mode` shows the mode of each queue" : "");
    output_engine(control->output, &event);
}

static void read_configured(struct mode_control *control, const struct config *config)
{
    for (unsigned i = 0; i < control->worker_count; i++) {
        struct worker *worker = &control->workers[i];
        struct queue_mode *mode = &worker->configured_mode;

        setup_queue_mode(config, worker->queue.queue, mode);
        atomic_store(&control->memory->worker[i].mode,
                     (uint32_t)(mode->mode + 1) | (mode->of_range ? (uint32_t)MODE_OF_RANGE : 0));
    }
}

static void use_previous(struct mode_control *control)
{
    for (unsigned i = 0; i < control->worker_count; i++) {
        uint32_t word = atomic_load(&control->memory->worker[i].mode);

        if ((word & ~(uint32_t)MODE_OF_RANGE) == IPS_MODE_ALERT_ONLY + 1)
            control->workers[i].configured_mode =
                (struct queue_mode){ .mode = IPS_MODE_ALERT_ONLY, .of_range = word & MODE_OF_RANGE };
    }
}

void mode_start(struct mode_control *control, const struct config *config)
{
    struct mode_override override = unpack(atomic_load(&control->memory->mode_override));
    bool expired;

    if (!override.is_set)
        override = unpack(control->shared->mode_override);
    if (config)
        read_configured(control, config);
    else
        use_previous(control);
    expired = is_expired(&override);
    control->override = expired ? (struct mode_override){ .is_set = false } : override;
    keep_override(control);
    for (unsigned i = 0; i < control->worker_count; i++) {
        enum ips_mode mode = mode_of(control, &control->workers[i]);

        atomic_store(&control->workers[i].mode, (uint32_t)mode);
        control->release_pending |= mode == IPS_MODE_ALERT_ONLY;
    }
    if (control->workers[0].is_ring)
        return; /* the mode of a sensor never changes */
    if (expired)
        report(control, "expired");
    else if (control->override.is_set || strcmp(name_of_all(control), "drop") != 0)
        report(control, "start");
}

void mode_reload(struct mode_control *control, const struct config *config)
{
    read_configured(control, config);
    if (apply(control))
        report(control, "reload");
    else if (control->override.is_set)
        log_notice("ips.mode is overridden: `sluice mode configured` returns to the configuration");
}

void mode_override(struct mode_control *control, enum ips_mode mode, uint64_t seconds)
{
    control->override = (struct mode_override){
        .is_set = true,
        .mode = mode,
        .until_ns = seconds > 0 ? clock_monotonic_ns() + seconds * NS_PER_SECOND : 0,
    };
    keep_override(control);
    apply(control);
    report(control, "command");
}

void mode_clear_override(struct mode_control *control)
{
    control->override.is_set = false;
    keep_override(control);
    apply(control);
    report(control, "command");
}

void mode_poll(struct mode_control *control)
{
    if (control->release_pending)
        release_connections(control);
    control->release_pending = false;
    if (!is_expired(&control->override))
        return;
    control->override.is_set = false;
    keep_override(control);
    apply(control);
    report(control, "expired");
}

/* --- Status --------------------------------------------------------------------------------------- */

void mode_json(const struct mode_control *control, struct text *out)
{
    uint64_t until_ns = end_of(&control->override);

    json_string(out, "mode", name_of_all(control));
    if (control->override.is_set)
        json_string(out, "override", ips_mode_name(control->override.mode));
    if (until_ns > 0) {
        output_time(out, "until", until_ns);
        json_uint(out, "remaining", (ns_left(&control->override) + NS_PER_SECOND - 1) / NS_PER_SECOND);
    }
    json_array_open(out, "queues");
    for (unsigned i = 0; i < control->worker_count; i++) {
        const struct worker *worker = &control->workers[i];

        json_object_open(out, NULL);
        json_uint(out, "queue", worker->queue.queue);
        json_string(out, "mode", ips_mode_name((enum ips_mode)atomic_load(&worker->mode)));
        json_string(out, "configured", ips_mode_name(worker->configured_mode.mode));
        json_object_close(out);
    }
    json_array_close(out);
    json_object_open(out, "failure_policy");
    for (unsigned i = 0; i < ENGINE_FAILURES; i++)
        json_string(out, engine_failure_name((enum engine_failure)i), control->opens & 1U << i ? "open" : "closed");
    json_object_close(out);
}
