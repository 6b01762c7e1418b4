/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's parent. It opens what outlives an engine, forks one, and from then on waits: for signals, which it
 * passes on; for what the engine says; for its death; and looks now and then whether all workers go on. It parses no
 * traffic, and holds next to nothing: the configuration, and sockets.
 *
 * An engine that can't start for the first time ends the keeper with its message. One that dies later is replaced, at
 * once when it had come to its first packet, with a growing delay when it had not, and so many times in a row at most.
 * Told to stop, the keeper ends when an engine has ended orderly: should one die on the way, the next one finishes what
 * it had begun. When systemd restarts the service it ends as well, and takes nothing down.
 */
#include "keeper_priv.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/sandbox.h"

enum {
    TICK_MS = 500,
    FIRST_DELAY_MS = 100, /* before the third engine in a row; each further one waits twice as long */
    MAX_DELAY_MS = 5000,
    STEADY_MS = 1000, /* an engine that was ready for so long has not died at its start */
    MESSAGES_PER_TURN = 64,
    LAST_TURNS = 16,
    GONE_MS =
        2000, /* that an engine may take to die after its channel was closed: the kernel has freed its memory before */
};
#define NS_PER_MS UINT64_C(1000000)

/* What is to be done next. */
enum step { GO_ON, END_WELL, END_FAILED };

/* --- Start ---------------------------------------------------------------------------------------- */

static int open_signals(struct keeper *keeper)
{
    static const int wanted[] = { SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGCHLD };
    sigset_t signals;

    sigemptyset(&signals);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        sigaddset(&signals, wanted[i]);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    signal(SIGPIPE, SIG_IGN);
    keeper->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return keeper->signal_fd < 0 ? -errno : 0;
}

/* A socket that can't be opened is an error with unix-command.enabled: yes, a warning with auto. Where another process
 * listens on it, which is most likely another daemon, it is an error with both. */
static int open_control(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    char cause[CONTROL_ERROR_SIZE];
    struct control_options options;
    bool needed;
    int fd;

    if (!engine_control_options(keeper->config, keeper->control_path, &options, &needed)) {
        keeper->control_path[0] = '\0';
        return 0;
    }
    if (keeper->control_fd >= 0)
        return 0;
    fd = control_listen(&options, cause);
    if (fd >= 0) {
        keeper->control_fd = fd;
        return 0;
    }
    keeper->control_path[0] = '\0';
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

int keeper_open_lifeline(const struct keeper *keeper, struct lifeline *out)
{
    size_t slots = 0;

    for (unsigned i = 0; i < keeper->queue_count; i++) {
        size_t size = nfqueue_slots_size(&keeper->queues[i].options);

        slots = size > slots ? size : slots;
    }
    return lifeline_open(out, keeper->queue_count, slots);
}

/* 0, or -errno with a line in `error` if security.sandbox requires what the system lacks. */
static int enter_sandbox(const struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    const char *sandbox = config_string(keeper->config, "security.sandbox");
    bool seccomp = config_bool(keeper->config, "security.seccomp");
    char cause[SANDBOX_ERROR_SIZE];
    int err;

    if (strcmp(sandbox, "no") == 0)
        return 0;
    err = sandbox_enter_keeper(seccomp, cause);
    if (!err)
        return 0;
    if (strcmp(sandbox, "yes") == 0) {
        snprintf(error, ENGINE_ERROR_SIZE, "security.sandbox: %s", cause);
        return err;
    }
    log_warning("%s: the keeper has more privileges than it needs", cause);
    return 0;
}

static int start(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    char cause[FIREWALL_ERROR_SIZE];
    int err = firewall_options_read(&keeper->firewall, keeper->config, cause);

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    notify_start(keeper);
    if (!keeper_was_renewed())
        memory_protect_keeper();
    err = enter_sandbox(keeper, error);
    if (err)
        return err;
    keeper->status_fd = nfqueue_open_status();
    if (keeper->status_fd == -EACCES)
        log_warning("cannot read /proc/net/netfilter/nfnetlink_queue without CAP_DAC_READ_SEARCH: packets that an "
                    "engine holds when "
                    "it dies get no verdict");
    err = open_signals(keeper);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot open signals: %s", strerror(-err));
    else
        err = queues_open(keeper, error);
    if (!err)
        err = open_control(keeper, error);
    if (!err) {
        keeper->account_fd = engine_open_account(keeper->queues[0].options.queue, keeper->account_path);
        err = queues_resume(keeper, error);
    }
    if (!err && keeper->child.pid > 0)
        succession_begin(keeper);
    return err;
}

/* --- What comes to pass --------------------------------------------------------------------------- */

struct lifeline_event *keeper_event(struct keeper *keeper, enum lifeline_event_kind kind)
{
    struct lifeline_record *record = &keeper->record;
    struct lifeline_event *event = &record->events[record->event_count++ % LIFELINE_EVENTS];

    *event = (struct lifeline_event){ .kind = kind, .time_ns = clock_realtime_ns() };
    return event;
}

static void pass_on(struct keeper *keeper, int signal_number)
{
    if (keeper->child.pid > 0 && keeper->child.ready)
        child_tell(&keeper->child, LIFELINE_SIGNAL, signal_number, NULL, -1);
}

static void tell_to_stop(struct keeper *keeper)
{
    struct keeper_child *child = &keeper->child;

    if (child->pid == 0 || child->told_to_stop || keeper->leaving)
        return;
    if (child->ready)
        child_tell(child, LIFELINE_SIGNAL, SIGTERM, NULL, -1);
    else if (!queues_are_bound(keeper))
        kill(child->pid, SIGKILL); /* it has done nothing that anybody could see */
    else
        return; /* when it is ready */
    child->told_to_stop = true;
    child_give_time(child, config_number(keeper->config, "engine.stop-timeout"));
}

static void take_signal(struct keeper *keeper, const struct signalfd_siginfo *info)
{
    switch (info->ssi_signo) {
    case SIGCHLD:
        return; /* looked for in any case */
    case SIGTERM:
    case SIGINT:
        if (keeper->leaving || leave_begin(keeper, info))
            return;
        if (!keeper->stopping)
            notify_stopping();
        keeper->stopping = true;
        if (keeper->hand_over_ns == 0) /* or the new engine stops, when it is ready */
            succession_end(keeper);
        keeper->begin_ns = 0; /* what waits is to be judged now */
        tell_to_stop(keeper);
        return;
    case SIGHUP:
        keeper->reload_wanted |= !keeper->child.ready;
        /* fall through */
    default:
        pass_on(keeper, (int)info->ssi_signo);
    }
}

static void take_signals(struct keeper *keeper)
{
    struct signalfd_siginfo info;

    while (read(keeper->signal_fd, &info, sizeof(info)) == sizeof(info))
        take_signal(keeper, &info);
}

void keeper_bind_for_child(struct keeper *keeper)
{
    char cause[LIFELINE_TEXT_SIZE] = "";
    int err = queues_bind(keeper, cause);

    keeper->child.begun = err == 0;
    child_tell(&keeper->child, LIFELINE_BOUND, err, cause, -1);
}

static void take_ready(struct keeper *keeper)
{
    keeper->child.ready = true;
    keeper->child.ready_ns = clock_monotonic_ns();
    child_give_time(&keeper->child, 0);
    notify_ready(keeper);
    keeper->once_ready = true;
    if (keeper->reload_wanted)
        pass_on(keeper, SIGHUP);
    keeper->reload_wanted = false;
    if (keeper->stopping)
        tell_to_stop(keeper);
}

/* First the program, then its engine: the new keeper begins with that. */
static void upgrade(struct keeper *keeper)
{
    char why[LIFELINE_TEXT_SIZE] = "one is being prepared";

    if (keeper->stopping || keeper->heir.pid > 0 || keeper->former.pid > 0 || keeper->trial ||
        !renew_begin(keeper, why))
        child_tell(&keeper->child, LIFELINE_REFUSED, 0, why, -1);
}

/* An engine that is being killed gets no new program: the next keeper would not know why it died. Nor would it know the
 * opener, and reap it. */
static void watch_trial(struct keeper *keeper)
{
    const struct keeper_child *child = &keeper->child;
    char why[LIFELINE_TEXT_SIZE];

    if (!keeper->trial || keeper->opener > 0)
        return;
    if (keeper->stopping || child->pid == 0 || child->violation || child->hung || child->late)
        renew_cancel(keeper);
    else if (renew_watch(keeper, why))
        child_tell(&keeper->child, LIFELINE_REFUSED, 0, why, -1);
}

static void take_message(struct keeper *keeper, const struct lifeline_message *message)
{
    switch (message->kind) {
    case LIFELINE_BIND:
        succession_give_left(keeper);
        keeper_bind_for_child(keeper);
        break;
    case LIFELINE_READY:
        take_ready(keeper);
        break;
    case LIFELINE_RELOADING:
        notify_reloading();
        break;
    case LIFELINE_RELOADED:
        notify_reloaded();
        break;
    case LIFELINE_STOPPING:
        keeper->child.stopped = true;
        break;
    case LIFELINE_UPGRADE:
        upgrade(keeper);
        break;
    case LIFELINE_HANDED:
        succession_handed(keeper);
        break;
    case LIFELINE_WANT_EVENTS:
        opener_begin(keeper);
        break;
    case LIFELINE_FAILED:
        snprintf(keeper->child.failure, sizeof(keeper->child.failure), "%s", message->text);
        break;
    default:
        break;
    }
}

/* The keeper accepts files only while a hand-over is in progress. */
static void take_file(struct keeper *keeper, int what, int file)
{
    if (file >= 0 && keeper->hand_over_ns > 0)
        succession_take_file(keeper, what, file);
    else if (file >= 0)
        close(file);
}

/* The number of messages is limited, so that signals and the other processes have their turn. */
bool keeper_take_messages(struct keeper *keeper)
{
    struct lifeline_message message;
    int file;

    for (int i = 0; i < MESSAGES_PER_TURN; i++) {
        enum lifeline_kind kind = lifeline_receive_file(keeper->child.channel, &message, &file, 0);

        if (kind == LIFELINE_NOTHING)
            return true;
        if (kind == LIFELINE_GONE)
            return false;
        if (!child_pay(&keeper->child, kind) || kind == LIFELINE_INVALID) {
            if (file >= 0)
                close(file);
        } else if (kind == LIFELINE_FILE) {
            take_file(keeper, message.value, file);
        } else {
            take_message(keeper, &message);
        }
    }
    return true;
}

/* --- Death ---------------------------------------------------------------------------------------- */

/* Only after those that do not get as far as the first packet there is a wait: while the others live, packets are
 * judged. */
static uint64_t delay_ms(unsigned stillborn)
{
    uint64_t delay = stillborn < 2 ? 0 : FIRST_DELAY_MS;

    for (unsigned i = 2; i < stillborn && delay < MAX_DELAY_MS; i++)
        delay *= 2;
    return delay < MAX_DELAY_MS ? delay : MAX_DELAY_MS;
}

static void tell_death(const struct keeper *keeper, const struct keeper_death *death, uint32_t repeated)
{
    const struct keeper_child *child = &keeper->child;
    char how[CHILD_TEXT_SIZE];

    child_describe(keeper, death, how);
    log_error("the engine %s%s%s; queued %u packets again that had no verdict", how, child->failure[0] ? ": " : "",
              child->failure, (unsigned)repeated);
}

/* How many in a row have died of themselves, and soon. One that somebody killed while it worked did not. */
static void count_failure(struct keeper *keeper, const struct keeper_death *death)
{
    const struct keeper_child *child = &keeper->child;
    bool killed = death->signal == SIGKILL && !death->hung && !death->late && !death->want && !death->violation;
    bool worked = child->ready || (child->begun && death->signal != 0);

    keeper->stillborn = worked ? 0 : keeper->stillborn + 1;
    if (child->ready && clock_monotonic_ns() - child->ready_ns >= STEADY_MS * NS_PER_MS)
        keeper->failures = keeper->causes = 0;
    if (child->ready && killed)
        return;
    keeper->failures++;
    keeper->causes |= 1U << death->failure;
}

/* What made one late will make the next one late: after the second there has been waiting enough. */
static unsigned restart_limit(const struct keeper *keeper, const struct keeper_death *death)
{
    unsigned limit = (unsigned)config_number(keeper->config, "engine.restart-limit");

    return death->late && limit > 1 ? 1 : limit;
}

static enum step give_up(struct keeper *keeper, const struct keeper_death *death, char error[ENGINE_ERROR_SIZE])
{
    char how[CHILD_TEXT_SIZE];
    bool open = surrender(keeper);

    child_describe(keeper, death, how);
    snprintf(error, ENGINE_ERROR_SIZE,
             "the engine died %u times in a row (engine.restart-limit); the last one %s; traffic %s", keeper->failures,
             how, open ? "passes uninspected" : "is dropped");
    return END_FAILED;
}

/* Another one, or none any more. */
static enum step replace(struct keeper *keeper, const struct keeper_death *death, char error[ENGINE_ERROR_SIZE])
{
    uint64_t now_ns = clock_monotonic_ns();
    uint32_t repeated = queues_repeat(keeper, death);
    struct lifeline_event *event;

    tell_death(keeper, death, repeated);
    count_failure(keeper, death);
    if (keeper->failures > restart_limit(keeper, death))
        return give_up(keeper, death, error);
    event = keeper_event(keeper, LIFELINE_EVENT_RESTART);
    event->signal = death->signal;
    event->code = death->code;
    event->hung = death->hung;
    event->repeated = repeated;
    keeper->record.restarts++;
    keeper->record.hangs += death->hung;
    keeper->begin_ns = keeper->stopping ? now_ns : now_ns + delay_ms(keeper->stillborn) * NS_PER_MS;
    notify_restarting(keeper);
    return GO_ON;
}

static void tell_first_failure(const struct keeper *keeper, const struct keeper_death *death,
                               char error[ENGINE_ERROR_SIZE])
{
    char how[CHILD_TEXT_SIZE];

    child_describe(keeper, death, how);
    if (keeper->child.failure[0])
        snprintf(error, ENGINE_ERROR_SIZE, "%s", keeper->child.failure);
    else
        snprintf(error, ENGINE_ERROR_SIZE, "the engine %s", how);
}

/* Nothing depends on it yet, and why it died is known: so the next one would. */
static bool is_first_failure(const struct keeper *keeper, const struct keeper_death *death)
{
    return !keeper->once_ready && (death->signal == 0 || death->late || death->want);
}

/* It was told to stop, and no packet needs another one. */
static enum step take_end(const struct keeper *keeper, const struct keeper_death *death, char error[ENGINE_ERROR_SIZE])
{
    char how[CHILD_TEXT_SIZE];

    if (!keeper->child.stopped || (!death->signal && !death->code))
        return END_WELL;
    child_describe(keeper, death, how);
    snprintf(error, ENGINE_ERROR_SIZE,
             "the engine died while it was stopping: it %s; events of its last flows may be lost", how);
    return END_FAILED;
}

/* It was to hand over to the next keeper's. */
static enum step take_leave(const struct keeper *keeper, const struct keeper_death *death,
                            char error[ENGINE_ERROR_SIZE])
{
    char how[CHILD_TEXT_SIZE];

    if (keeper->child.stopped)
        return take_end(keeper, death, error);
    child_describe(keeper, death, how);
    log_error("the engine %s before it handed over its flows: their state is lost", how);
    return END_WELL;
}

static enum step take_death(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    struct keeper_child *child = &keeper->child;
    struct keeper_death death;
    enum step step;

    if (!child_reap(keeper, child, &death))
        return GO_ON;
    for (int i = 0; i < LAST_TURNS && keeper_take_messages(keeper); i++) /* what it said last */
        ;
    lifeline_collect(&child->lifeline, &keeper->record);
    opener_end(keeper);
    if (keeper->leaving) {
        step = take_leave(keeper, &death, error);
    } else if (keeper->stopping && (child->stopped || !queues_are_bound(keeper))) {
        step = take_end(keeper, &death, error);
    } else if (is_first_failure(keeper, &death)) {
        tell_first_failure(keeper, &death, error);
        surrender_at_start(keeper);
        step = END_FAILED;
    } else {
        step = replace(keeper, &death, error);
    }
    close(child->channel);
    lifeline_close(&child->lifeline);
    *child = (struct keeper_child){ .channel = -1 };
    if (step == GO_ON)
        succession_took_place_of_dead(keeper);
    return step;
}

/* --- The loop ------------------------------------------------------------------------------------- */

static void tick(struct keeper *keeper)
{
    uint64_t now_ns = clock_monotonic_ns(), passed_ms = (now_ns - keeper->tick_ns) / NS_PER_MS;

    if (passed_ms < TICK_MS)
        return;
    keeper->tick_ns = now_ns;
    child_watch_time(&keeper->child);
    notify_tick(keeper, child_watch(keeper, TICK_MS)); /* no more: how long we did not look ourselves says nothing */
    if (keeper->child.ready)
        queues_relax(keeper);
}

static int wait_ms(const struct keeper *keeper)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (keeper->child.pid > 0 || keeper->begin_ns > now_ns + TICK_MS * NS_PER_MS)
        return TICK_MS;
    return keeper->begin_ns > now_ns ? (int)((keeper->begin_ns - now_ns) / NS_PER_MS) + 1 : 0;
}

static int begin_when_due(struct keeper *keeper)
{
    if (keeper->child.pid > 0 || keeper->heir.pid > 0 || clock_monotonic_ns() < keeper->begin_ns)
        return 0;
    return child_begin(keeper, &keeper->child, false);
}

/* The engine has closed its end of the channel and should exit soon. poll() would return at once, so the keeper sleeps
 * here. An engine that does not exit is killed, because it receives no messages any more. */
static void await_death(struct keeper *keeper)
{
    const struct timespec pause = { .tv_nsec = NS_PER_MS };
    uint64_t now_ns = clock_monotonic_ns();

    if (keeper->child.gone_ns == 0)
        keeper->child.gone_ns = now_ns + GONE_MS * NS_PER_MS;
    else if (now_ns >= keeper->child.gone_ns)
        child_accuse(&keeper->child, "closed its channel");
    nanosleep(&pause, NULL);
}

static enum step turn(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    struct pollfd fds[] = {
        { .fd = keeper->signal_fd, .events = POLLIN },
        { .fd = keeper->child.channel, .events = POLLIN },
        { .fd = keeper->heir.channel, .events = POLLIN },
        { .fd = renew_fd(keeper), .events = POLLIN },
    };
    int err;

    if (keeper->stopping && keeper->child.pid == 0 && (keeper->leaving || !queues_are_bound(keeper)))
        return END_WELL;
    err = begin_when_due(keeper);
    if (err && !keeper->once_ready) {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot start an engine: %s", strerror(-err));
        return END_FAILED;
    }
    if (err) {
        log_error("cannot start an engine: %s", strerror(-err));
        keeper->begin_ns = clock_monotonic_ns() + MAX_DELAY_MS / 5 * NS_PER_MS;
    }
    fds[1].fd = keeper->child.channel;
    fds[2].fd = keeper->heir.pid > 0 ? keeper->heir.channel : -1;
    poll(fds, sizeof(fds) / sizeof(fds[0]), wait_ms(keeper));
    if (keeper->child.pid > 0 && !keeper_take_messages(keeper))
        await_death(keeper);
    take_signals(keeper);
    succession_tick(keeper);
    watch_trial(keeper);
    opener_reap(keeper);
    child_reap_buried(keeper);
    tick(keeper);
    return keeper->child.pid > 0 ? take_death(keeper, error) : GO_ON;
}

static void keeper_clear(struct keeper *keeper)
{
    succession_end(keeper);
    renew_cancel(keeper);
    opener_end(keeper);
    notify_end(keeper);
    queues_close(keeper);
    if (keeper->control_fd >= 0)
        close(keeper->control_fd);
    if (keeper->control_path[0] && !keeper->leaving)
        unlink(keeper->control_path);
    if (keeper->signal_fd >= 0)
        close(keeper->signal_fd);
    if (keeper->status_fd >= 0)
        close(keeper->status_fd);
    if (keeper->account_fd >= 0)
        close(keeper->account_fd);
    for (int i = 0; i < INJECT_SOCKETS; i++)
        if (keeper->reject_fds[i] >= 0)
            close(keeper->reject_fds[i]);
    lifeline_close(&keeper->child.lifeline);
    free(keeper->pulses);
    free(keeper->queue_fds);
    free(keeper->queues);
}

int keeper_run(const struct run_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct keeper keeper = {
        .run = options,
        .config = options->config,
        .status_fd = -1,
        .signal_fd = -1,
        .control_fd = -1,
        .account_fd = -1,
        .reject_fds = { -1, -1, -1 },
        .child.channel = -1,
        .heir.channel = -1,
        .former.channel = -1,
    };
    enum step step = END_FAILED;

    if (start(&keeper, error) == 0) {
        do {
            step = turn(&keeper, error);
        } while (step == GO_ON);
    }
    if (step == END_WELL && !keeper.leaving && keeper.firewall.mode != ATTACH_NONE && keeper.account_path[0])
        unlink(keeper.account_path); /* the table is removed, so no packets come to the queues */
    keeper_clear(&keeper);
    return step == END_WELL ? 0 : -ECHILD;
}
