/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One engine, from fork to death. The supervisor forks it without exec: the engine inherits configuration, sockets and
 * memory, and runs the same program as the supervisor, even if the program file has been replaced.
 *
 * A worker is hung when its heartbeat has not changed for engine.hang-timeout. Only time in which the supervisor ran
 * counts, so suspending the machine, or a load that delays the supervisor, does not make workers appear hung.
 *
 * An engine that an attacker has taken over may try to keep the supervisor busy. The supervisor never waits for it:
 * sending does not block, and an engine that does not read, sends too many messages, or closes its channel is killed.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/log.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum {
    ABORT_MS = 2000,        /* time limit for writing a core dump after SIGABRT */
    CREDIT_MAX = 1024,      /* maximum credit: messages in a burst; a hand-over sends one file for each worker */
    CREDIT_PER_SECOND = 50, /* credit that is added per second */
    INVALID_COST = 64,      /* credit that an invalid message costs */
};

/* Closes the supervisor's end of an engine's channel, and the file of its memory. */
static void close_channel(const struct engine_process *engine)
{
    if (engine->pid > 0)
        close(engine->channel);
    if (engine->memory_map.memory)
        close(engine->memory_map.fd);
}

/* Runs the engine in the forked process, and exits. Signals stay blocked in the engine, because a terminal sends them
 * to both processes: the engine gets them only from the supervisor, which forwards them. */
static void run_engine(struct supervisor *supervisor, const struct memory_map *memory_map, int channel, bool aside)
{
    const struct engine_inputs inputs = {
        .memory = memory_map->memory,
        .channel = channel,
        .queue_fds = supervisor->queue_fds,
        .control_fd = supervisor->control_fd,
        .reject_fds = supervisor->reject_fds,
        .aside = aside,
        .account_fd = supervisor->account_fd,
        .takes_over = aside || supervisor->resumed || supervisor->record.engines > 1,
    };
    char error[ENGINE_ERROR_SIZE] = "";
    int err;

    prctl(PR_SET_NAME, "sluice-engine");
    /* Otherwise /proc/PID of the engine would belong to root; the sandbox clears the flag again. */
    prctl(PR_SET_DUMPABLE, 1);
    memory_expose_engine();
    /* Close the descriptors of the supervisor and of other engines. The memory of this engine stays mapped. */
    close(supervisor->signal_fd);
    close(supervisor->status_fd);
    close(memory_map->fd);
    close_channel(&supervisor->engine);
    close_channel(&supervisor->next_engine);
    close_channel(&supervisor->previous_engine);
    for (unsigned i = 0; i < supervisor->file_count; i++)
        close(supervisor->files[i].fd);
    err = engine_run(supervisor->run, &inputs, error);
    if (err)
        channel_send(channel, CHANNEL_FAILED, err, error);
    exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

int engine_process_start(struct supervisor *supervisor, struct engine_process *engine, bool aside)
{
    struct memory_map memory_map = { .fd = -1 };
    int ends[2];
    int err = channel_open_pair(ends);
    pid_t pid;

    if (err)
        return err;
    err = supervisor_open_engine_memory(supervisor, &memory_map);
    if (err) {
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    channel_set_nonblocking(ends[0]);
    supervisor->record.engines++;
    engine_memory_restore(&memory_map, &supervisor->record);
    /* An engine beside a running one was started with the newest configuration and has no previous modes. */
    if (!aside) {
        memset(supervisor->pulses, 0, supervisor->queue_count * sizeof(*supervisor->pulses));
        atomic_store(&memory_map.memory->reload_wanted, supervisor->record.reload_wanted);
        for (unsigned i = 0; i < supervisor->queue_count; i++)
            atomic_store(&memory_map.memory->worker[i].mode, supervisor->record.modes[i]);
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_engine(supervisor, &memory_map, ends[1], aside);
    }
    err = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (err) {
        supervisor->record.engines--;
        close(ends[0]);
        engine_memory_close(&memory_map);
        return err;
    }
    *engine = (struct engine_process){
        .pid = pid,
        .channel = ends[0],
        .memory_map = memory_map,
        .before = memory_shortage_read(),
        .credit = CREDIT_MAX,
        .credit_ns = clock_monotonic_ns(),
    };
    engine_process_set_deadline(engine, supervisor->settings.load_timeout);
    return 0;
}

/* --- Messages ------------------------------------------------------------------------------------- */

void engine_process_kill_for(struct engine_process *engine, const char *violation)
{
    if (engine->pid <= 0 || engine->violation)
        return;
    log_error("killing the engine, because it %s: it does not follow the protocol and may be compromised", violation);
    engine->violation = violation;
    kill(engine->pid, SIGKILL);
}

void engine_process_send(struct engine_process *engine, enum channel_kind kind, int32_t value, const char *text,
                         int file)
{
    int err = file >= 0 ? channel_send_file(engine->channel, kind, value, file)
                        : channel_send(engine->channel, kind, value, text);

    if (err == -EAGAIN)
        engine_process_kill_for(engine, "does not read its messages");
}

bool engine_process_charge_message(struct engine_process *engine, enum channel_kind kind)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t earned = (now_ns - engine->credit_ns) * CREDIT_PER_SECOND / NS_PER_SECOND;
    unsigned cost = kind == CHANNEL_INVALID ? INVALID_COST : 1;

    if (earned > 0) {
        engine->credit = earned < CREDIT_MAX - engine->credit ? engine->credit + (unsigned)earned : CREDIT_MAX;
        engine->credit_ns = now_ns;
    }
    if (engine->credit >= cost) {
        engine->credit -= cost;
        return true;
    }
    engine_process_kill_for(engine, kind == CHANNEL_INVALID ? "sent invalid messages" : "sent too many messages");
    return false;
}

/* --- Death ---------------------------------------------------------------------------------------- */

void kill_and_reap(struct supervisor *supervisor, pid_t pid)
{
    kill(pid, SIGKILL);
    if (waitpid(pid, NULL, WNOHANG) != 0)
        return;
    for (unsigned i = 0; i < KILLED_PROCESSES_MAX; i++) {
        if (supervisor->killed_processes[i] == 0) {
            supervisor->killed_processes[i] = pid;
            return;
        }
    }
}

void reap_killed(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < KILLED_PROCESSES_MAX; i++) {
        if (supervisor->killed_processes[i] > 0 && waitpid(supervisor->killed_processes[i], NULL, WNOHANG) != 0)
            supervisor->killed_processes[i] = 0;
    }
}

bool engine_process_reap(struct supervisor *supervisor, struct engine_process *engine, struct engine_death *out)
{
    const struct engine_memory *memory = engine->memory_map.memory;
    int status, crashed = memory ? (int)atomic_load(&memory->crashed_worker) : -1;

    if (engine->pid == 0 || waitpid(engine->pid, &status, WNOHANG) != engine->pid)
        return false;
    *out = (struct engine_death){ .hung = engine->hung, .late = engine->late, .violation = engine->violation };
    if (WIFSIGNALED(status))
        out->signal = WTERMSIG(status);
    else
        out->code = WEXITSTATUS(status);

    /* The cause may be the current packet of a worker: the one that hung, or the one whose thread received the
     * signal. */
    out->worker = -1;
    if (out->hung)
        out->worker = (int)engine->hung_worker;
    else if (out->signal != 0 && crashed >= 0 && (unsigned)crashed < supervisor->queue_count)
        out->worker = crashed;
    if (out->signal == SIGKILL && !out->hung && !out->late && !out->violation)
        out->shortage = memory_shortage_since(&engine->before);

    if (out->violation)
        out->failure = ENGINE_FAILURE_VIOLATION;
    else if (out->hung)
        out->failure = ENGINE_FAILURE_HANG;
    else if (out->shortage)
        out->failure = ENGINE_FAILURE_MEMORY;
    else if (out->late == DEADLINE_MISSED_LOADING || (!engine->ready && !(engine->begun && out->signal)))
        out->failure = ENGINE_FAILURE_START;
    else
        out->failure = ENGINE_FAILURE_CRASH;
    engine->pid = 0;
    return true;
}

void engine_death_describe(const struct supervisor *supervisor, const struct engine_death *death,
                           char out[ENGINE_DEATH_TEXT_SIZE])
{
    int length;

    if (death->violation) {
        snprintf(out, ENGINE_DEATH_TEXT_SIZE, "%s and was killed", death->violation);
    } else if (death->hung) {
        snprintf(out, ENGINE_DEATH_TEXT_SIZE, "hung and was killed");
    } else if (death->late == DEADLINE_MISSED_LOADING) {
        snprintf(out, ENGINE_DEATH_TEXT_SIZE,
                 "was not ready within %d s (engine.load-timeout) and was killed: check that the rule files and the "
                 "configuration can be read",
                 supervisor->settings.load_timeout);
    } else if (death->late == DEADLINE_MISSED_STOPPING) {
        snprintf(out, ENGINE_DEATH_TEXT_SIZE, "did not stop within %d s (engine.stop-timeout) and was killed",
                 supervisor->settings.stop_timeout);
    } else if (death->signal) {
        length = snprintf(out, ENGINE_DEATH_TEXT_SIZE, "was killed by signal %d (%s)", death->signal,
                          strsignal(death->signal));
        memory_shortage_describe(death->shortage, out + length, ENGINE_DEATH_TEXT_SIZE - (size_t)length);
    } else {
        snprintf(out, ENGINE_DEATH_TEXT_SIZE, "exited with code %d", death->code);
    }
}

void engine_process_set_deadline(struct engine_process *engine, int64_t seconds)
{
    engine->due_ns = seconds > 0 ? clock_monotonic_ns() + (uint64_t)seconds * NS_PER_SECOND : 0;
}

void engine_process_check_deadline(struct engine_process *engine)
{
    if (engine->pid == 0 || engine->due_ns == 0 || engine->late || engine->violation ||
        clock_monotonic_ns() < engine->due_ns)
        return;
    engine->late = engine->stop_sent ? DEADLINE_MISSED_STOPPING : DEADLINE_MISSED_LOADING;
    log_error("the engine %s: killing it",
              engine->stop_sent ? "does not stop (engine.stop-timeout)" : "is not ready (engine.load-timeout)");
    kill(engine->pid, SIGKILL);
}

bool engine_process_check_heartbeats(struct supervisor *supervisor, unsigned passed_ms)
{
    struct engine_process *engine = &supervisor->engine;
    unsigned limit_ms = supervisor->settings.hang_timeout * 1000;

    if (engine->pid == 0 || !engine->memory_map.memory)
        return true;
    if (engine->hung) {
        if (clock_monotonic_ns() >= engine->kill_ns)
            kill(engine->pid, SIGKILL);
        return false;
    }
    for (unsigned i = 0; i < supervisor->queue_count && i < engine->memory_map.workers; i++) {
        const struct worker_heartbeat *heartbeat = &engine->memory_map.memory->worker[i];
        struct seen_heartbeat *seen = &supervisor->pulses[i];
        uint64_t epoch = atomic_load(&heartbeat->epoch);

        if (atomic_load(&heartbeat->state) != HEARTBEAT_RUNNING || epoch != seen->epoch)
            *seen = (struct seen_heartbeat){ .epoch = epoch };
        else
            seen->still_ms += passed_ms;
        if (limit_ms == 0 || seen->still_ms < limit_ms)
            continue;
        log_error("the worker of queue %u is hung (engine.hang-timeout): killing the engine",
                  (unsigned)supervisor->queues[i].options.queue);
        engine->hung = true;
        engine->hung_worker = i;
        engine->kill_ns = clock_monotonic_ns() + ABORT_MS * (NS_PER_SECOND / 1000);
        kill(engine->pid, SIGABRT);
        kill(engine->pid, SIGCONT);
        return false;
    }
    return true;
}
