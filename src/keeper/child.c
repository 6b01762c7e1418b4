/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One engine, from fork to death. It is forked and not executed: it has the configuration, the sockets and the memory by that, and the
 * keeper is the same file that was started, whatever lies under its name by now.
 *
 * A worker stands still when it has not been seen to go on for so long, measured by how often we looked: a machine that slept, or was
 * too busy to run us, is not held against it.
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

enum { ABORT_MS = 2000 /* that writing a core may take */ };

/* Signals stay blocked: a terminal sends its own to both, and the keeper passes on what there is to say. */
static void run_engine(struct keeper *keeper, struct lifeline_memory *memory, int channel, bool aside)
{
    const struct engine_inheritance inheritance = {
        .memory = memory,
        .channel = channel,
        .queue_fds = keeper->queue_fds,
        .control_fd = keeper->control_fd,
        .reject_fds = keeper->reject_fds,
        .aside = aside,
        .account_fd = keeper->account_fd,
        .takes_over = aside || keeper->resumed || atomic_load(&memory->engines) > 1,
    };
    char error[ENGINE_ERROR_SIZE] = "";
    int err;

    prctl(PR_SET_NAME, "sluice-engine");
    memory_offer_engine();
    close(keeper->signal_fd);
    close(keeper->status_fd);
    err = engine_run(keeper->run, &inheritance, error);
    if (err)
        lifeline_send(channel, LIFELINE_FAILED, err, error);
    exit(err ? EXIT_FAILURE : EXIT_SUCCESS);
}

int child_begin(struct keeper *keeper, struct keeper_child *child, bool aside)
{
    struct lifeline_memory *memory = child->memory;
    int ends[2];
    int err = lifeline_pair(ends);

    if (err)
        return err;
    lifeline_memory_reset(memory);
    if (!aside)
        memset(keeper->pulses, 0, keeper->queue_count * sizeof(*keeper->pulses));
    atomic_fetch_add(&memory->engines, 1);
    fflush(NULL);
    *child = (struct keeper_child){ .channel = ends[0], .memory = memory, .before = memory_shortage() };
    child_give_time(child, config_number(keeper->config, "engine.load-timeout"));
    child->pid = fork();
    if (child->pid == 0) {
        close(ends[0]);
        run_engine(keeper, memory, ends[1], aside);
    }
    err = child->pid < 0 ? -errno : 0;
    close(ends[1]);
    if (err) {
        close(ends[0]);
        *child = (struct keeper_child){ .channel = -1, .memory = memory };
    }
    return err;
}

/* Only a signal that a worker's thread got itself says that its packet may be the cause; or that it stood still with it. */
static int blamed_worker(const struct keeper *keeper, const struct keeper_child *child,
                         const struct keeper_death *death)
{
    int worker = (int)atomic_load(&child->memory->crashed_worker);

    if (death->hung)
        return (int)child->hung_worker;
    return death->signal != 0 && worker >= 0 && (unsigned)worker < keeper->queue_count ? worker : -1;
}

bool child_reap(struct keeper *keeper, struct keeper_child *child, struct keeper_death *out)
{
    int status;

    if (child->pid == 0 || waitpid(child->pid, &status, WNOHANG) != child->pid)
        return false;
    *out = (struct keeper_death){ .hung = child->hung, .late = child->late };
    if (WIFSIGNALED(status))
        out->signal = WTERMSIG(status);
    else
        out->code = WEXITSTATUS(status);
    out->worker = blamed_worker(keeper, child, out);
    if (out->signal == SIGKILL && !out->hung && !out->late)
        out->want = memory_was_wanted(&child->before);
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

    if (death->hung) {
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
    if (child->pid == 0 || child->due_ns == 0 || child->late || clock_monotonic_ns() < child->due_ns)
        return;
    child->late = child->told_to_stop ? KEEPER_LATE_TO_STOP : KEEPER_LATE_TO_LOAD;
    log_error("the engine %s: killing it",
              child->told_to_stop ? "does not stop (engine.stop-timeout)" : "is not ready (engine.load-timeout)");
    kill(child->pid, SIGKILL);
}

static bool stands_still(struct keeper *keeper, unsigned worker, unsigned passed_ms, unsigned limit_ms)
{
    const struct lifeline_worker *life = &keeper->memory->worker[worker];
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

    if (child->pid == 0)
        return true;
    if (child->hung) {
        if (clock_monotonic_ns() >= child->kill_ns)
            kill(child->pid, SIGKILL);
        return false;
    }
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        if (stands_still(keeper, i, passed_ms, limit_ms)) {
            end_hung(keeper, i);
            return false;
        }
    }
    return true;
}
