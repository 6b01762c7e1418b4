/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Engine hand-over: a new engine replaces a running one. The new engine starts beside it, with separate memory, and
 * prepares what takes time: rules, memory, files. When it requests the queues, the old engine stops between two packets
 * and writes the state of its traffic to files; the new engine reads them and gets the queues. Until then packets wait
 * in the kernel.
 *
 * For a restart of the service (restart_handover.c) the new engine belongs to the next supervisor; systemd stores the
 * files until it starts.
 *
 * If anything fails before the hand-over, the old engine continues and gets the reason. If the old engine dies or
 * does not answer, the new engine replaces it as after any death.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/log.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum {
    HAND_OVER_MS = 10000, /* time limit for writing the files */
    EXIT_MS = 30000,      /* time limit for the exit of the old engine, which first writes its last events */
};
#define NS_PER_MS UINT64_C(1000000)

static void close_files(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->file_count; i++)
        close(supervisor->files[i].fd);
    supervisor->file_count = 0;
}

static void report_failure(struct supervisor *supervisor, const char *why)
{
    log_error("upgrade failed, the running engine continues: %s", why);
    if (supervisor->engine.pid > 0 && supervisor->engine.ready)
        engine_process_send(&supervisor->engine, CHANNEL_REFUSED, 0, why, -1);
}

/* --- Next engine ---------------------------------------------------------------------------------- */

void engine_handover_start(struct supervisor *supervisor)
{
    struct engine_process *next_engine = &supervisor->next_engine;
    int err;

    if (supervisor->stopping || next_engine->pid > 0 || supervisor->previous_engine.pid > 0) {
        report_failure(supervisor, supervisor->stopping ? "the daemon is stopping" : "another upgrade is in progress");
        return;
    }
    engine_memory_collect(&supervisor->engine.memory_map, &supervisor->record);
    err = engine_process_start(supervisor, next_engine, true);
    if (err) {
        report_failure(supervisor, strerror(-err));
        return;
    }
    log_notice("preparing the next engine (process %d)", (int)next_engine->pid);
}

/* Frees the state of a next engine that has died or is no longer needed. */
static void clear_next_engine(struct supervisor *supervisor)
{
    struct engine_process *next_engine = &supervisor->next_engine;

    close(next_engine->channel);
    engine_memory_close(&next_engine->memory_map);
    *next_engine = (struct engine_process){ .channel = -1 };
    supervisor->next_engine_waits = false;
    supervisor->hand_over_ns = 0;
}

static void kill_next_engine(struct supervisor *supervisor)
{
    if (supervisor->next_engine.pid == 0)
        return;
    kill_and_reap(supervisor, supervisor->next_engine.pid);
    clear_next_engine(supervisor);
}

void engine_handover_cancel(struct supervisor *supervisor)
{
    kill_next_engine(supervisor);
    close_files(supervisor);
}

/* --- Replacement ---------------------------------------------------------------------------------- */

static void send_files(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->file_count; i++)
        engine_process_send(&supervisor->engine, CHANNEL_FILE, supervisor->files[i].what, NULL,
                            supervisor->files[i].fd);
    close_files(supervisor);
}

/* Makes the next engine the current one, and gives it the queues and the state files. */
static void replace_engine(struct supervisor *supervisor)
{
    bool living = supervisor->engine.pid > 0;

    engine_memory_collect(&supervisor->engine.memory_map, &supervisor->record);
    supervisor->record.reload_wanted = false; /* the next engine was started with the newest configuration */
    file_opener_stop(supervisor);
    if (living)
        supervisor->previous_engine = supervisor->engine;
    else
        engine_memory_close(&supervisor->engine.memory_map);
    supervisor->previous_engine_ns = clock_monotonic_ns();
    supervisor->engine = supervisor->next_engine;
    supervisor->next_engine = (struct engine_process){ .channel = -1 };
    supervisor->next_engine_waits = false;
    supervisor->hand_over_ns = 0;
    memset(supervisor->pulses, 0, supervisor->queue_count * sizeof(*supervisor->pulses));
    if (living) {
        supervisor->record.handovers++;
        supervisor_add_event(supervisor, ENGINE_EVENT_HANDOVER)->code = (int)supervisor->file_count;
    }
    engine_memory_restore(&supervisor->engine.memory_map, &supervisor->record);
    send_files(supervisor);
    supervisor_bind_for_engine(supervisor);
}

void engine_handover_add_file(struct supervisor *supervisor, int what, int fd)
{
    /* The file must be sealed: a writer that could still change or truncate it could crash the reader. Only memory
     * files can be sealed, and closing a file that is not in memory could block. */
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);
    bool valid = seals >= 0 && (seals & needed) == needed && supervisor->file_count < HANDOVER_FILES_MAX &&
                 (what == CHANNEL_SHARED_FILE || (what >= 0 && what < ENGINE_MEMORY_MAX_WORKERS));

    for (unsigned i = 0; i < supervisor->file_count; i++)
        valid &= supervisor->files[i].what != what;
    if (!valid) {
        log_error("ignored an invalid file of the hand-over: the state of some flows is lost");
        close(fd);
        return;
    }
    supervisor->files[supervisor->file_count++] = (struct handover_file){ .what = what, .fd = fd };
}

void engine_handover_files_complete(struct supervisor *supervisor)
{
    if (supervisor->leaving) {
        restart_handover_store_files(supervisor);
        supervisor->hand_over_ns = 0;
        supervisor->engine.stopped = true;
        engine_process_set_deadline(&supervisor->engine, supervisor->settings.stop_timeout);
    } else if (supervisor->next_engine.pid > 0 && supervisor->next_engine_waits) {
        replace_engine(supervisor);
    }
}

/* Kills an engine that is not ready, because it has inspected no packets and has no state to hand over. */
void engine_handover_to_next_supervisor(struct supervisor *supervisor)
{
    bool requested = supervisor->hand_over_ns > 0;

    kill_next_engine(supervisor);
    if (supervisor->engine.pid == 0)
        return;
    if (!supervisor->engine.ready) {
        kill(supervisor->engine.pid, SIGKILL);
        return;
    }
    supervisor->hand_over_ns = clock_monotonic_ns() + HAND_OVER_MS * NS_PER_MS;
    if (!requested)
        engine_process_send(&supervisor->engine, CHANNEL_HAND_OVER, 0, NULL, -1);
}

/* Sends the files only once: if an engine crashes while it reads them, the next one starts without them. */
void engine_handover_send_stored(struct supervisor *supervisor)
{
    if (supervisor->file_count == 0)
        return;
    restart_handover_remove_files(supervisor);
    supervisor->record.handovers++;
    supervisor_add_event(supervisor, ENGINE_EVENT_HANDOVER)->code = (int)supervisor->file_count;
    engine_memory_publish(&supervisor->engine.memory_map, &supervisor->record);
    send_files(supervisor);
}

bool engine_handover_replace_dead(struct supervisor *supervisor)
{
    if (supervisor->next_engine.pid == 0)
        return false;
    close_files(supervisor); /* the engine died while it sent them, so they may be incomplete */
    if (supervisor->next_engine_waits)
        replace_engine(supervisor);
    return true;
}

/* --- Messages of both engines --------------------------------------------------------------------- */

static void poll_next_engine(struct supervisor *supervisor)
{
    struct channel_message message;
    struct engine_death death;
    enum channel_kind kind;
    char how[ENGINE_DEATH_TEXT_SIZE], why[CHANNEL_TEXT_SIZE + ENGINE_DEATH_TEXT_SIZE + 16];

    while ((kind = channel_receive(supervisor->next_engine.channel, &message, 0)) != CHANNEL_NOTHING &&
           kind != CHANNEL_CLOSED) {
        if (!engine_process_charge_message(&supervisor->next_engine, kind))
            break;
        if (kind == CHANNEL_FAILED)
            snprintf(supervisor->next_engine.failure, sizeof(supervisor->next_engine.failure), "%s", message.text);
        if (kind == CHANNEL_BIND) {
            /* The next engine requests the queues. It gets them when the old engine has sent its files, or at once if
             * there is no old engine. */
            supervisor->next_engine_waits = true;
            if (supervisor->engine.pid == 0) {
                replace_engine(supervisor);
            } else if (supervisor->hand_over_ns == 0) {
                supervisor->hand_over_ns = clock_monotonic_ns() + HAND_OVER_MS * NS_PER_MS;
                engine_process_send(&supervisor->engine, CHANNEL_HAND_OVER, 0, NULL, -1);
            }
            return;
        }
    }
    if (!engine_process_reap(supervisor, &supervisor->next_engine, &death))
        return;
    engine_death_describe(supervisor, &death, how);
    snprintf(why, sizeof(why), "it %s%s%s", how, supervisor->next_engine.failure[0] ? ": " : "",
             supervisor->next_engine.failure);
    clear_next_engine(supervisor);
    close_files(supervisor);
    report_failure(supervisor, why);
}

/* Waits for the exit of the previous engine, which still writes its last events; its messages are ignored. */
static void poll_previous_engine(struct supervisor *supervisor)
{
    struct engine_process *previous_engine = &supervisor->previous_engine;
    struct engine_death death;

    if (!engine_process_reap(supervisor, previous_engine, &death)) {
        if (clock_monotonic_ns() - supervisor->previous_engine_ns < EXIT_MS * NS_PER_MS)
            return;
        log_error(
            "killed the previous engine, which did not exit after the hand-over: events of its last flows are lost");
        kill_and_reap(supervisor, previous_engine->pid);
    }
    close(previous_engine->channel);
    engine_memory_close(&previous_engine->memory_map);
    *previous_engine = (struct engine_process){ .channel = -1 };
}

void engine_handover_poll(struct supervisor *supervisor)
{
    engine_process_check_deadline(&supervisor->next_engine);
    if (supervisor->next_engine.pid > 0)
        poll_next_engine(supervisor);
    if (supervisor->previous_engine.pid > 0)
        poll_previous_engine(supervisor);
    if (supervisor->hand_over_ns == 0 || clock_monotonic_ns() < supervisor->hand_over_ns)
        return;
    supervisor->hand_over_ns = 0;
    log_error("killed the running engine, which did not hand over its flows in time; the next engine takes over "
              "without them");
    if (supervisor->engine.pid > 0)
        kill(supervisor->engine.pid, SIGKILL); /* when it has died, the next engine replaces it */
}
