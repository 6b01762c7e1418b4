/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One engine, from fork to death. It is forked and not executed: so it has the configuration, the sockets and the
 * memory, and runs the program that the keeper runs, whatever file has its path by now.
 *
 * A worker hangs when its heartbeat has not changed for engine.hang-timeout. The keeper counts the times that it
 * looked, so a machine that slept, or was too busy to run the keeper, does not make workers hang.
 *
 * An engine that was taken over may try to keep the keeper busy. The keeper never waits for it: sends do not block, and
 * an engine that does not read, sends more messages than an engine has reason to, or closes its channel is killed.
 */
#include "keeper_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/log.h"

enum {
    ABORT_MS = 2000,        /* that writing a core may take */
    CREDIT_MAX = 1024,      /* messages in a burst: a hand-over has one file per worker */
    CREDIT_PER_SECOND = 50, /* after that */
    INVALID_COST = 64,      /* of one that is no message: in credit */
};

/* Signals stay blocked: a terminal sends its own to both, and the keeper passes on what there is to say. */
static void close_channel(const struct keeper_child *child)
{
    if (child->pid > 0)
        close(child->channel);
    if (child->lifeline.memory)
        close(child->lifeline.fd);
}

/* Closes descriptors that belong to the keeper: its ends of the channels to other engines, their memory, and their
 * files. The engine's own memory stays mapped. */
static void close_foreign(const struct keeper *keeper, const struct lifeline *own)
{
    close(keeper->signal_fd);
    close(keeper->status_fd);
    close(own->fd);
    close_channel(&keeper->child);
    close_channel(&keeper->heir);
    close_channel(&keeper->former);
    for (unsigned i = 0; i < keeper->file_count; i++)
        close(keeper->files[i].fd);
}

static void run_engine(struct keeper *keeper, const struct lifeline *lifeline, int channel, bool aside)
{
    const struct engine_inheritance inheritance = {
        .memory = lifeline->memory,
        .channel = channel,
        .queue_fds = keeper->queue_fds,
        .control_fd = keeper->control_fd,
        .reject_fds = keeper->reject_fds,
        .aside = aside,
        .account_fd = keeper->account_fd,
        .takes_over = aside || keeper->resumed || keeper->record.engines > 1,
    };
    char error[ENGINE_ERROR_SIZE] = "";
    int err;

    prctl(PR_SET_NAME, "sluice-engine");
    prctl(PR_SET_DUMPABLE, 1); /* or its files in /proc are root's; the sandbox clears it */
    memory_offer_engine();
    close_foreign(keeper, lifeline);
    err = engine_run(keeper->run, &inheritance, error);
    if (err)
        lifeline_send(channel, LIFELINE_FAILED, err, error);
    exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

int child_begin(struct keeper *keeper, struct keeper_child *child, bool aside)
{
    struct lifeline lifeline = { .fd = -1 };
    int ends[2];
    int err = lifeline_pair(ends);
    pid_t pid;

    if (err)
        return err;
    err = keeper_open_lifeline(keeper, &lifeline);
    if (err) {
        close(ends[0]);
        close(ends[1]);
        return err;
    }
    lifeline_set_nonblocking(ends[0]);
    keeper->record.engines++;
    lifeline_restore(&lifeline, &keeper->record);
    if (!aside) { /* one beside another reads the newest configuration */
        memset(keeper->pulses, 0, keeper->queue_count * sizeof(*keeper->pulses));
        atomic_store(&lifeline.memory->reload_wanted, keeper->record.reload_wanted);
        for (unsigned i = 0; i < keeper->queue_count; i++)
            atomic_store(&lifeline.memory->worker[i].mode, keeper->record.modes[i]);
    }
    fflush(NULL);
    pid = fork();
    if (pid == 0) {
        close(ends[0]);
        run_engine(keeper, &lifeline, ends[1], aside);
    }
    err = pid < 0 ? -errno : 0;
    close(ends[1]);
    if (err) {
        keeper->record.engines--;
        close(ends[0]);
        lifeline_close(&lifeline);
        return err;
    }
    *child = (struct keeper_child){
        .pid = pid,
        .channel = ends[0],
        .lifeline = lifeline,
        .before = memory_shortage(),
        .credit = CREDIT_MAX,
        .credit_ns = clock_monotonic_ns(),
    };
    child_give_time(child, config_number(keeper->config, "engine.load-timeout"));
    return 0;
}

/* --- Messages ------------------------------------------------------------------------------------- */

void child_accuse(struct keeper_child *child, const char *violation)
{
    if (child->pid <= 0 || child->violation)
        return;
    log_error("the engine %s, which no engine does: killing it, because it may have been taken over", violation);
    child->violation = violation;
    kill(child->pid, SIGKILL);
}

void child_tell(struct keeper_child *child, enum lifeline_kind kind, int32_t value, const char *text, int file)
{
    int err = file >= 0 ? lifeline_send_file(child->channel, kind, value, file)
                        : lifeline_send(child->channel, kind, value, text);

    if (err == -EAGAIN)
        child_accuse(child, "does not read its messages");
}

bool child_pay(struct keeper_child *child, enum lifeline_kind kind)
{
    uint64_t now_ns = clock_monotonic_ns();
    uint64_t earned = (now_ns - child->credit_ns) * CREDIT_PER_SECOND / NS_PER_SECOND;
    unsigned cost = kind == LIFELINE_INVALID ? INVALID_COST : 1;

    if (earned > 0) {
        child->credit = earned < CREDIT_MAX - child->credit ? child->credit + (unsigned)earned : CREDIT_MAX;
        child->credit_ns = now_ns;
    }
    if (child->credit >= cost) {
        child->credit -= cost;
        return true;
    }
    child_accuse(child, kind == LIFELINE_INVALID ? "sent invalid messages" : "sent too many messages");
    return false;
}

/* --- The end -------------------------------------------------------------------------------------- */

void child_bury(struct keeper *keeper, pid_t pid)
{
    kill(pid, SIGKILL);
    if (waitpid(pid, NULL, WNOHANG) != 0)
        return;
    for (unsigned i = 0; i < KEEPER_CORPSES; i++) {
        if (keeper->corpses[i] == 0) {
            keeper->corpses[i] = pid;
            return;
        }
    }
}

void child_reap_buried(struct keeper *keeper)
{
    for (unsigned i = 0; i < KEEPER_CORPSES; i++) {
        if (keeper->corpses[i] > 0 && waitpid(keeper->corpses[i], NULL, WNOHANG) != 0)
            keeper->corpses[i] = 0;
    }
}

/* Only a signal that a worker's thread got itself says that its packet may be the cause; or that it stood still with
 * it. */
static int blamed_worker(const struct keeper *keeper, const struct keeper_child *child,
                         const struct keeper_death *death)
{
    int worker = child->lifeline.memory ? (int)atomic_load(&child->lifeline.memory->crashed_worker) : -1;

    if (death->hung)
        return (int)child->hung_worker;
    return death->signal != 0 && worker >= 0 && (unsigned)worker < keeper->queue_count ? worker : -1;
}

static enum engine_failure classify(const struct keeper_child *child, const struct keeper_death *death)
{
    if (death->violation)
        return ENGINE_FAILURE_VIOLATION;
    if (death->hung)
        return ENGINE_FAILURE_HANG;
    if (death->want)
        return ENGINE_FAILURE_MEMORY;
    if (death->late == KEEPER_LATE_TO_LOAD || (!child->ready && !(child->begun && death->signal)))
        return ENGINE_FAILURE_START;
    return ENGINE_FAILURE_CRASH;
}

bool child_reap(struct keeper *keeper, struct keeper_child *child, struct keeper_death *out)
{
    int status;

    if (child->pid == 0 || waitpid(child->pid, &status, WNOHANG) != child->pid)
        return false;
    *out = (struct keeper_death){ .hung = child->hung, .late = child->late, .violation = child->violation };
    if (WIFSIGNALED(status))
        out->signal = WTERMSIG(status);
    else
        out->code = WEXITSTATUS(status);
    out->worker = blamed_worker(keeper, child, out);
    if (out->signal == SIGKILL && !out->hung && !out->late && !out->violation)
        out->want = memory_was_wanted(&child->before);
    out->failure = classify(child, out);
    child->pid = 0;
    return true;
}

static int seconds_of(const struct keeper *keeper, const char *name)
{
    return (int)config_number(keeper->config, name);
}

void child_describe(const struct keeper *keeper, const struct keeper_death *death, char out[CHILD_TEXT_SIZE])
{
    int length;

    if (death->violation) {
        snprintf(out, CHILD_TEXT_SIZE, "%s and was killed", death->violation);
    } else if (death->hung) {
        snprintf(out, CHILD_TEXT_SIZE, "hung and was killed");
    } else if (death->late == KEEPER_LATE_TO_LOAD) {
        snprintf(out, CHILD_TEXT_SIZE,
                 "was not ready within %d s (engine.load-timeout) and was killed: check that the rule files and the "
                 "configuration can be read",
                 seconds_of(keeper, "engine.load-timeout"));
    } else if (death->late == KEEPER_LATE_TO_STOP) {
        snprintf(out, CHILD_TEXT_SIZE, "did not stop within %d s (engine.stop-timeout) and was killed",
                 seconds_of(keeper, "engine.stop-timeout"));
    } else if (death->signal) {
        length =
            snprintf(out, CHILD_TEXT_SIZE, "was killed by signal %d (%s)", death->signal, strsignal(death->signal));
        memory_describe(death->want, out + length, CHILD_TEXT_SIZE - (size_t)length);
    } else {
        snprintf(out, CHILD_TEXT_SIZE, "exited with code %d", death->code);
    }
}

void child_give_time(struct keeper_child *child, int64_t seconds)
{
    child->due_ns = seconds > 0 ? clock_monotonic_ns() + (uint64_t)seconds * NS_PER_SECOND : 0;
}

void child_watch_time(struct keeper_child *child)
{
    if (child->pid == 0 || child->due_ns == 0 || child->late || child->violation ||
        clock_monotonic_ns() < child->due_ns)
        return;
    child->late = child->told_to_stop ? KEEPER_LATE_TO_STOP : KEEPER_LATE_TO_LOAD;
    log_error("the engine %s: killing it",
              child->told_to_stop ? "does not stop (engine.stop-timeout)" : "is not ready (engine.load-timeout)");
    kill(child->pid, SIGKILL);
}

static bool stands_still(struct keeper *keeper, unsigned worker, unsigned passed_ms, unsigned limit_ms)
{
    const struct lifeline_worker *life = &keeper->child.lifeline.memory->worker[worker];
    struct keeper_pulse *pulse = &keeper->pulses[worker];
    uint64_t epoch = atomic_load(&life->epoch);

    if (atomic_load(&life->state) != LIFELINE_RUNS || epoch != pulse->epoch)
        *pulse = (struct keeper_pulse){ .epoch = epoch };
    else
        pulse->still_ms += passed_ms;
    return limit_ms > 0 && pulse->still_ms >= limit_ms;
}

static void end_hung(struct keeper *keeper, unsigned worker)
{
    struct keeper_child *child = &keeper->child;

    log_error("the worker of queue %u is hung (engine.hang-timeout): killing the engine",
              (unsigned)keeper->queues[worker].options.queue);
    child->hung = true;
    child->hung_worker = worker;
    child->kill_ns = clock_monotonic_ns() + ABORT_MS * (NS_PER_SECOND / 1000);
    kill(child->pid, SIGABRT);
    kill(child->pid, SIGCONT);
}

bool child_watch(struct keeper *keeper, unsigned passed_ms)
{
    struct keeper_child *child = &keeper->child;
    unsigned limit_ms = (unsigned)config_number(keeper->config, "engine.hang-timeout") * 1000;

    if (child->pid == 0 || !child->lifeline.memory)
        return true;
    if (child->hung) {
        if (clock_monotonic_ns() >= child->kill_ns)
            kill(child->pid, SIGKILL);
        return false;
    }
    for (unsigned i = 0; i < keeper->queue_count && i < child->lifeline.workers; i++) {
        if (stands_still(keeper, i, passed_ms, limit_ms)) {
            end_hung(keeper, i);
            return false;
        }
    }
    return true;
}
