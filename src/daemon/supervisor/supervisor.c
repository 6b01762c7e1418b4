/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The main loop of the supervisor. It opens the resources that outlive an engine, forks an engine, and then waits for
 * signals, which it forwards, for messages of the engine, and for its death; it also checks the heartbeats of all
 * workers. It parses no traffic and holds only the configuration and sockets.
 *
 * If the first engine exits with an error before it is ready, the supervisor exits with that error. An engine that dies
 * later is replaced, at most engine.restart-limit times in a row. The replacement starts at once, but after a growing
 * delay if several engines in a row died before they inspected packets. On a stop request, the supervisor exits after
 * an engine has stopped in order (inspected the packets that wait, and written its events). If the engine dies before
 * that, another one is started to do so. When systemd restarts the service, the supervisor exits and leaves queues and
 * table.
 */
#include "sluice/supervisor.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/control.h"
#include "sluice/daemon.h"
#include "sluice/firewall.h"
#include "sluice/inject.h"
#include "sluice/log.h"
#include "sluice/sandbox.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum {
    TICK_MS = 500,
    FIRST_DELAY_MS = 100, /* delay after two engines in a row that failed to start; doubled after each further one */
    MAX_DELAY_MS = 5000,
    /* The death of an engine that was ready for this long restarts the count of consecutive failures. */
    STEADY_MS = 1000,
    MESSAGES_PER_TURN = 64,
    LAST_TURNS = 16,
    /* Time limit for the exit of an engine after it has closed its channel; freeing its memory takes time. */
    EXIT_MS = 2000,
};
#define NS_PER_MS UINT64_C(1000000)

/* The next step of the main loop. */
enum step { CONTINUE, END_WELL, END_FAILED };

/* --- Start ---------------------------------------------------------------------------------------- */

/* Opens the control socket. A failure is an error with unix-command.enabled: yes, and a warning with auto. It is an
 * error with both if another process listens on the path, most likely another daemon. Returns 0, or -errno with a line
 * in `error`. */
static int open_control(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    char cause[CONTROL_ERROR_SIZE];
    struct control_options options;
    bool needed;
    int fd;

    if (!daemon_control_options(supervisor->config, supervisor->control_path, &options, &needed)) {
        supervisor->control_path[0] = '\0';
        return 0;
    }
    if (supervisor->control_fd >= 0)
        return 0;
    fd = control_listen(&options, cause);
    if (fd >= 0) {
        supervisor->control_fd = fd;
        return 0;
    }
    supervisor->control_path[0] = '\0';
    if (fd == -EADDRINUSE) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "%.300s: stop it if it is another sluice, or set unix-command.filename to another path or "
                 "unix-command.enabled to no",
                 cause);
        return fd;
    }
    if (!needed) {
        log_warning("%s; running without a control socket: sluice status, reload and the like will not work", cause);
        return 0;
    }
    snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return fd;
}

int supervisor_open_engine_memory(const struct supervisor *supervisor, struct memory_map *out)
{
    size_t slots = 0;

    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        size_t size = supervisor->is_sensor ? 0 : nfqueue_slots_size(&supervisor->queues[i].options);

        slots = size > slots ? size : slots;
    }
    return engine_memory_open(out, supervisor->queue_count, slots);
}

static int start_supervisor(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    static const int handled[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
    char cause[FIREWALL_ERROR_SIZE], sandbox_error[SANDBOX_ERROR_SIZE];
    int err = setup_firewall_options(supervisor->config, &supervisor->firewall, cause);
    sigset_t signals;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    systemd_start(supervisor);
    if (!reexec_has_happened())
        memory_protect_supervisor();
    if (supervisor->settings.sandbox != SETTING_NO) {
        err = sandbox_enter_supervisor(supervisor->settings.seccomp, sandbox_error);
        if (err && supervisor->settings.sandbox == SETTING_YES) {
            snprintf(error, ENGINE_ERROR_SIZE, "security.sandbox: %s", sandbox_error);
            return err;
        }
        if (err)
            log_warning("%s: the supervisor has more privileges than it needs", sandbox_error);
    }
    if (!supervisor->is_sensor)
        supervisor->status_fd = nfqueue_open_status();
    if (supervisor->status_fd == -EACCES)
        log_warning("cannot read /proc/net/netfilter/nfnetlink_queue without CAP_DAC_READ_SEARCH: packets that an "
                    "engine holds when it dies get no verdict");
    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(handled) / sizeof(handled[0]); i++)
        sigaddset(&signals, handled[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    supervisor->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (supervisor->signal_fd < 0) {
        err = -errno;
        snprintf(error, ENGINE_ERROR_SIZE, "cannot create a signalfd: %s", strerror(-err));
        return err;
    }
    err = queues_open(supervisor, error);
    if (!err)
        err = open_control(supervisor, error);
    if (!err && !supervisor->is_sensor) {
        supervisor->account_fd = queue_account_open_file(supervisor->queues[0].options.queue, supervisor->account_path);
        err = queues_resume(supervisor, error);
    }
    if (!err && (err = pid_file_write(supervisor, error)) && reexec_has_happened()) {
        log_warning("%s", error); /* continue without a pid file: no other process reads the queues */
        err = 0;
    }
    if (!err && supervisor->engine.pid > 0)
        engine_handover_start(supervisor);
    return err;
}

/* --- Messages and signals ------------------------------------------------------------------------- */

struct engine_event *supervisor_add_event(struct supervisor *supervisor, enum engine_event_kind kind)
{
    struct supervisor_record *record = &supervisor->record;
    struct engine_event *event = &record->events[record->event_count++ % ENGINE_EVENTS];

    *event = (struct engine_event){ .kind = kind, .time_ns = clock_realtime_ns() };
    return event;
}

static void forward_signal(struct supervisor *supervisor, int signal_number)
{
    if (supervisor->engine.pid > 0 && supervisor->engine.ready)
        engine_process_send(&supervisor->engine, CHANNEL_SIGNAL, signal_number, NULL, -1);
}

static void stop_engine(struct supervisor *supervisor)
{
    struct engine_process *engine = &supervisor->engine;

    if (engine->pid == 0 || engine->stop_sent || supervisor->leaving)
        return;
    if (engine->ready)
        engine_process_send(engine, CHANNEL_SIGNAL, SIGTERM, NULL, -1);
    else if (!queues_are_bound(supervisor))
        kill(engine->pid, SIGKILL); /* without bound queues the engine has had no effect on traffic */
    else
        return; /* the engine gets SIGTERM as soon as it is ready */
    engine->stop_sent = true;
    engine_process_set_deadline(engine, supervisor->settings.stop_timeout);
}

static void handle_signals(struct supervisor *supervisor)
{
    struct signalfd_siginfo info;

    while (read(supervisor->signal_fd, &info, sizeof(info)) == sizeof(info)) {
        switch (info.ssi_signo) {
        case SIGCHLD:
            break; /* each step of the main loop reaps dead processes */
        case SIGTERM:
        case SIGINT:
            if (supervisor->leaving || (info.ssi_signo == SIGTERM && restart_handover_query(supervisor)))
                break;
            if (!supervisor->stopping)
                systemd_notify_stopping();
            supervisor->stopping = true;
            /* During a hand-over the next engine is stopped as soon as it is ready. */
            if (supervisor->hand_over_ns == 0)
                engine_handover_cancel(supervisor);
            supervisor->begin_ns = 0; /* start the next engine at once, to inspect the packets that wait */
            stop_engine(supervisor);
            break;
        case SIGUSR2:
            supervisor->reload_wanted |= !supervisor->engine.ready;
            /* fall through */
        default:
            forward_signal(supervisor, (int)info.ssi_signo);
        }
    }
}

void supervisor_bind_for_engine(struct supervisor *supervisor)
{
    char cause[CHANNEL_TEXT_SIZE] = "";
    int err = queues_bind(supervisor, cause);

    supervisor->engine.begun = err == 0;
    engine_process_send(&supervisor->engine, CHANNEL_BOUND, err, cause, -1);
}

/* Checks the trial of an upgrade. Cancels it if the engine is dead or being killed, because the supervisor of the new
 * program would not know why the engine died. Postpones it while the file opener runs, because the new supervisor would
 * not reap the opener. */
static void poll_trial(struct supervisor *supervisor)
{
    const struct engine_process *engine = &supervisor->engine;
    char why[CHANNEL_TEXT_SIZE];

    if (!supervisor->trial || supervisor->opener > 0)
        return;
    if (supervisor->stopping || engine->pid == 0 || engine->violation || engine->hung || engine->late)
        reexec_cancel(supervisor);
    else if (reexec_poll(supervisor, why))
        engine_process_send(&supervisor->engine, CHANNEL_REFUSED, 0, why, -1);
}

static void handle_message(struct supervisor *supervisor, const struct channel_message *message)
{
    struct engine_process *engine = &supervisor->engine;
    char why[CHANNEL_TEXT_SIZE] = "the daemon is stopping, or another upgrade is in progress";

    switch (message->kind) {
    case CHANNEL_BIND:
        engine_handover_send_stored(supervisor);
        supervisor_bind_for_engine(supervisor);
        break;
    case CHANNEL_READY:
        engine->ready = true;
        engine->ready_ns = clock_monotonic_ns();
        engine_process_set_deadline(engine, 0);
        systemd_notify_ready(supervisor);
        supervisor->once_ready = true;
        if (supervisor->reload_wanted)
            forward_signal(supervisor, SIGUSR2);
        supervisor->reload_wanted = false;
        if (supervisor->stopping)
            stop_engine(supervisor);
        break;
    case CHANNEL_RELOADING:
        systemd_notify_reloading();
        break;
    case CHANNEL_RELOADED:
        systemd_notify_reloaded();
        break;
    case CHANNEL_STOPPING:
        engine->stopped = true;
        break;
    case CHANNEL_UPGRADE:
        /* First execute the installed program; its supervisor then starts an engine hand-over. */
        if (supervisor->is_sensor || supervisor->stopping || supervisor->next_engine.pid > 0 ||
            supervisor->previous_engine.pid > 0 || supervisor->trial || !reexec_start_trial(supervisor, why))
            engine_process_send(engine, CHANNEL_REFUSED, 0, why, -1);
        break;
    case CHANNEL_HANDED_OVER:
        engine_handover_files_complete(supervisor);
        break;
    case CHANNEL_OPEN_EVENTS:
        file_opener_start(supervisor);
        break;
    case CHANNEL_FAILED:
        snprintf(engine->failure, sizeof(engine->failure), "%s", message->text);
        break;
    default:
        break;
    }
}

/* Reads at most MESSAGES_PER_TURN messages, so that an engine cannot keep the supervisor from signals and other
 * processes. */
bool supervisor_read_messages(struct supervisor *supervisor)
{
    struct channel_message message;
    int file;

    for (int i = 0; i < MESSAGES_PER_TURN; i++) {
        enum channel_kind kind = channel_receive_file(supervisor->engine.channel, &message, &file, 0);

        if (kind == CHANNEL_NOTHING)
            return true;
        if (kind == CHANNEL_CLOSED)
            return false;
        if (!engine_process_charge_message(&supervisor->engine, kind) || kind == CHANNEL_INVALID) {
            if (file >= 0)
                close(file);
        } else if (kind != CHANNEL_FILE) {
            handle_message(supervisor, &message);
        } else if (file >= 0 && supervisor->hand_over_ns > 0) {
            engine_handover_add_file(supervisor, message.value, file);
        } else if (file >= 0) {
            close(file); /* a state file, but no hand-over is in progress */
        }
    }
    return true;
}

/* --- Death ---------------------------------------------------------------------------------------- */

/* Starts another engine after a death, or applies the failure policy if too many engines died in a row. Returns the
 * next step. */
static enum step replace_engine(struct supervisor *supervisor, const struct engine_death *death,
                                char error[ENGINE_ERROR_SIZE])
{
    const struct engine_process *engine = &supervisor->engine;
    const uint64_t now_ns = clock_monotonic_ns();
    const uint32_t repeated = queues_repeat(supervisor, death);
    const bool killed =
        death->signal == SIGKILL && !death->hung && !death->late && !death->shortage && !death->violation;
    const bool worked = engine->ready || (engine->begun && death->signal != 0);
    unsigned limit = supervisor->settings.restart_limit;
    uint64_t delay_ms = 0;
    char how[ENGINE_DEATH_TEXT_SIZE];
    struct engine_event *event;

    engine_death_describe(supervisor, death, how);
    if (supervisor->is_sensor)
        log_error("the engine %s%s%s; packets are not inspected until the next engine captures", how,
                  engine->failure[0] ? ": " : "", engine->failure);
    else
        log_error("the engine %s%s%s; queued %u packets again that had no verdict", how, engine->failure[0] ? ": " : "",
                  engine->failure, (unsigned)repeated);

    /* Engines that failed to start (`worked` false) delay the next start. An engine that was killed by another process
     * after it was ready does not count as a failure. */
    supervisor->failed_starts = worked ? 0 : supervisor->failed_starts + 1;
    if (engine->ready && now_ns - engine->ready_ns >= STEADY_MS * NS_PER_MS)
        supervisor->failures = supervisor->causes = 0;
    if (!engine->ready || !killed) {
        supervisor->failures++;
        supervisor->causes |= 1U << death->failure;
    }
    if (death->late && limit > 1)
        limit = 1; /* another engine would most likely miss its deadline for the same reason */
    if (supervisor->failures > limit) {
        bool open = supervisor->is_sensor || give_up_apply_policy(supervisor);

        snprintf(error, ENGINE_ERROR_SIZE,
                 "the engine died %u times in a row (engine.restart-limit); the last one %s; traffic %s",
                 supervisor->failures, how,
                 supervisor->is_sensor ? "is not inspected any more"
                 : open                ? "passes uninspected"
                                       : "is dropped");
        return END_FAILED;
    }
    event = supervisor_add_event(supervisor, ENGINE_EVENT_RESTART);
    event->signal = death->signal;
    event->code = death->code;
    event->hung = death->hung;
    event->repeated = repeated;
    supervisor->record.restarts++;
    supervisor->record.hangs += death->hung;
    if (supervisor->failed_starts >= 2 && !supervisor->stopping) {
        delay_ms = FIRST_DELAY_MS;
        for (unsigned i = 2; i < supervisor->failed_starts && delay_ms < MAX_DELAY_MS; i++)
            delay_ms *= 2;
        delay_ms = delay_ms < MAX_DELAY_MS ? delay_ms : MAX_DELAY_MS;
    }
    supervisor->begin_ns = now_ns + delay_ms * NS_PER_MS;
    systemd_notify_restarting(supervisor);
    return CONTINUE;
}

/* Called when an engine has ended and no other is needed. Returns END_WELL, or END_FAILED with a line in `error` if the
 * engine died after it had reported that it is stopping (CHANNEL_STOPPING). */
static enum step evaluate_end(const struct supervisor *supervisor, const struct engine_death *death,
                              char error[ENGINE_ERROR_SIZE])
{
    char how[ENGINE_DEATH_TEXT_SIZE];

    if (!supervisor->engine.stopped || (!death->signal && !death->code))
        return END_WELL;
    engine_death_describe(supervisor, death, how);
    snprintf(error, ENGINE_ERROR_SIZE,
             "the engine died while it was stopping: it %s; events of its last flows may be lost", how);
    return END_FAILED;
}

/* Reaps the engine if it has died. Returns the next step. */
static enum step handle_death(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    struct engine_process *engine = &supervisor->engine;
    char how[ENGINE_DEATH_TEXT_SIZE];
    struct engine_death death;
    enum step step;

    if (!engine_process_reap(supervisor, engine, &death))
        return CONTINUE;
    for (int i = 0; i < LAST_TURNS && supervisor_read_messages(supervisor); i++)
        continue; /* read the last messages of the engine */
    engine_memory_collect(&engine->memory_map, &supervisor->record);
    file_opener_stop(supervisor);
    engine_death_describe(supervisor, &death, how);
    if (supervisor->leaving && !engine->stopped) {
        log_error("the engine %s before it handed over its flows: their state is lost", how);
        step = END_WELL;
    } else if (supervisor->leaving || (supervisor->stopping && (engine->stopped || !queues_are_bound(supervisor)))) {
        step = evaluate_end(supervisor, &death, error);
    } else if (!supervisor->once_ready && (death.signal == 0 || death.late || death.shortage)) {
        /* No engine has been ready yet, and this one failed with an error or was killed for a reason that the next
         * engine would have, too. */
        if (engine->failure[0])
            snprintf(error, ENGINE_ERROR_SIZE, "%s", engine->failure);
        else
            snprintf(error, ENGINE_ERROR_SIZE, "the engine %s", how);
        if (!supervisor->is_sensor)
            give_up_at_start(supervisor);
        step = END_FAILED;
    } else {
        step = replace_engine(supervisor, &death, error);
    }
    close(engine->channel);
    engine_memory_close(&engine->memory_map);
    *engine = (struct engine_process){ .channel = -1 };
    if (step == CONTINUE)
        engine_handover_replace_dead(supervisor);
    return step;
}

/* --- Main loop ------------------------------------------------------------------------------------ */

/* One step of the main loop: starts an engine if it is time for that, waits, and handles what has happened. */
static enum step process_events(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    struct pollfd fds[] = {
        { .fd = supervisor->signal_fd, .events = POLLIN },
        { .events = POLLIN },
        { .events = POLLIN },
        { .fd = reexec_fd(supervisor), .events = POLLIN },
    };
    struct engine_process *engine = &supervisor->engine;
    uint64_t now_ns = clock_monotonic_ns(), passed_ms;
    int wait_ms = TICK_MS, err = 0;

    if (supervisor->stopping && engine->pid == 0 && (supervisor->leaving || !queues_are_bound(supervisor)))
        return END_WELL;
    if (engine->pid == 0 && supervisor->next_engine.pid == 0 && now_ns >= supervisor->begin_ns)
        err = engine_process_start(supervisor, engine, false);
    if (err && !supervisor->once_ready) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot start an engine: %s", strerror(-err));
        return END_FAILED;
    }
    if (err) {
        log_error("cannot start an engine: %s", strerror(-err));
        supervisor->begin_ns = now_ns + MAX_DELAY_MS / 5 * NS_PER_MS;
    }
    fds[1].fd = engine->channel;
    fds[2].fd = supervisor->next_engine.pid > 0 ? supervisor->next_engine.channel : -1;
    if (engine->pid == 0 && supervisor->begin_ns <= now_ns + TICK_MS * NS_PER_MS)
        wait_ms = supervisor->begin_ns > now_ns ? (int)((supervisor->begin_ns - now_ns) / NS_PER_MS) + 1 : 0;
    poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms);

    if (engine->pid > 0 && !supervisor_read_messages(supervisor)) {
        /* The engine has closed its end of the channel, so poll() would return at once: sleep instead. The engine
         * should exit soon; if it does not, it is killed, because it can receive no messages any more. */
        const struct timespec pause = { .tv_nsec = NS_PER_MS };

        now_ns = clock_monotonic_ns();
        if (engine->exit_deadline_ns == 0)
            engine->exit_deadline_ns = now_ns + EXIT_MS * NS_PER_MS;
        else if (now_ns >= engine->exit_deadline_ns)
            engine_process_kill_for(engine, "closed its channel");
        nanosleep(&pause, NULL);
    }
    handle_signals(supervisor);
    engine_handover_poll(supervisor);
    poll_trial(supervisor);
    file_opener_reap(supervisor);
    reap_killed(supervisor);

    now_ns = clock_monotonic_ns();
    passed_ms = (now_ns - supervisor->tick_ns) / NS_PER_MS;
    if (passed_ms >= TICK_MS) {
        supervisor->tick_ns = now_ns;
        engine_process_check_deadline(engine);
        /* Count TICK_MS rather than passed_ms, because when the supervisor got no CPU time the workers may not have got
         * any, either. */
        systemd_notify_watchdog(supervisor, engine_process_check_heartbeats(supervisor, TICK_MS));
        if (engine->ready)
            queues_restore_limits(supervisor);
    }
    return engine->pid > 0 ? handle_death(supervisor, error) : CONTINUE;
}

static void supervisor_clear(struct supervisor *supervisor)
{
    engine_handover_cancel(supervisor);
    reexec_cancel(supervisor);
    file_opener_stop(supervisor);
    pid_file_remove(supervisor);
    systemd_notify_end(supervisor);
    queues_close(supervisor);
    if (supervisor->control_fd >= 0)
        close(supervisor->control_fd);
    if (supervisor->control_path[0] && !supervisor->leaving)
        unlink(supervisor->control_path);
    if (supervisor->signal_fd >= 0)
        close(supervisor->signal_fd);
    if (supervisor->status_fd >= 0)
        close(supervisor->status_fd);
    if (supervisor->account_fd >= 0)
        close(supervisor->account_fd);
    for (int i = 0; i < INJECT_SOCKETS; i++)
        if (supervisor->reject_fds[i] >= 0)
            close(supervisor->reject_fds[i]);
    engine_memory_close(&supervisor->engine.memory_map);
    free(supervisor->pulses);
    free(supervisor->queue_fds);
    free(supervisor->queues);
}

int supervisor_run(const struct run_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct supervisor supervisor = {
        .run = options,
        .config = options->config,
        .status_fd = -1,
        .signal_fd = -1,
        .control_fd = -1,
        .account_fd = -1,
        .reject_fds = { -1, -1, -1 },
        .engine.channel = -1,
        .next_engine.channel = -1,
        .previous_engine.channel = -1,
    };
    enum step step = END_FAILED;

    config_fill(supervisor.config, daemon_settings, NULL, &supervisor.settings);
    supervisor.is_sensor = setup_is_sensor(supervisor.config);

    if (start_supervisor(&supervisor, error) == 0) {
        do {
            step = process_events(&supervisor, error);
        } while (step == CONTINUE);
    }
    if (step == END_WELL && !supervisor.leaving && supervisor.firewall.mode != ATTACH_NONE &&
        supervisor.account_path[0])
        unlink(supervisor.account_path); /* remove the account file: no packets come to the queues without the table */
    supervisor_clear(&supervisor);
    return step == END_WELL ? 0 : -ECHILD;
}
