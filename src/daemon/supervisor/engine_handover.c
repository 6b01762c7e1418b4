/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A new engine takes the place of one that lives. It is begun aside, with memory of its own, and prepares all that
 * takes time: rules, memory, files. When it asks for the queues, the old one is told to stop between two packets and to
 * write down what it knows of traffic; the new one reads that, and has the queues. Packets wait in the kernel
 * meanwhile.
 *
 * Or the next engine is that of another keeper, which has yet to be started (leave.c): what the old one wrote waits for
 * it with systemd.
 *
 * Whatever goes wrong before, the old one goes on; it is told why. Should the old one die or not answer, the new one
 * takes over all the same, as after any death.
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
    HAND_OVER_MS = 10000, /* that writing may take */
    LEAVE_MS = 30000,     /* and the end of the old one, with its last events */
};
#define NS_PER_MS UINT64_C(1000000)

static void close_files(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->file_count; i++)
        close(supervisor->files[i].fd);
    supervisor->file_count = 0;
}

static void refuse(struct supervisor *supervisor, const char *why)
{
    log_error("upgrade failed, the running engine continues: %s", why);
    if (supervisor->engine.pid > 0 && supervisor->engine.ready)
        engine_process_send(&supervisor->engine, CHANNEL_REFUSED, 0, why, -1);
}

/* --- Aside ---------------------------------------------------------------------------------------- */

void engine_handover_start(struct supervisor *supervisor)
{
    struct engine_process *next_engine = &supervisor->next_engine;
    int err;

    if (supervisor->stopping || next_engine->pid > 0 || supervisor->previous_engine.pid > 0) {
        refuse(supervisor, supervisor->stopping ? "the daemon is stopping" : "another upgrade is in progress");
        return;
    }
    engine_memory_collect(&supervisor->engine.memory_map, &supervisor->record);
    err = engine_process_start(supervisor, next_engine, true);
    if (err) {
        refuse(supervisor, strerror(-err));
        return;
    }
    log_notice("preparing the next engine (process %d)", (int)next_engine->pid);
}

/* It died, or is not wanted any more. */
static void forget_heir(struct supervisor *supervisor)
{
    struct engine_process *next_engine = &supervisor->next_engine;

    close(next_engine->channel);
    engine_memory_close(&next_engine->memory_map);
    *next_engine = (struct engine_process){ .channel = -1 };
    supervisor->next_engine_waits = false;
    supervisor->hand_over_ns = 0;
}

static void end_heir(struct supervisor *supervisor)
{
    if (supervisor->next_engine.pid == 0)
        return;
    kill_and_reap(supervisor, supervisor->next_engine.pid);
    forget_heir(supervisor);
}

void engine_handover_cancel(struct supervisor *supervisor)
{
    end_heir(supervisor);
    close_files(supervisor);
}

/* --- The change ----------------------------------------------------------------------------------- */

static void give_files(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->file_count; i++)
        engine_process_send(&supervisor->engine, CHANNEL_FILE, supervisor->files[i].what, NULL,
                            supervisor->files[i].fd);
    close_files(supervisor);
}

/* The heir is the engine from now on, and has the queues. */
static void promote(struct supervisor *supervisor)
{
    bool living = supervisor->engine.pid > 0;

    engine_memory_collect(&supervisor->engine.memory_map, &supervisor->record);
    supervisor->record.reload_wanted = false; /* the heir has read the newest configuration */
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
        keeper_event(supervisor, ENGINE_EVENT_HANDOVER)->code = (int)supervisor->file_count;
    }
    engine_memory_restore(&supervisor->engine.memory_map, &supervisor->record);
    give_files(supervisor);
    supervisor_bind_for_engine(supervisor);
}

/* It is prepared: now, or when the old one has done its part. */
static void take_bind(struct supervisor *supervisor)
{
    supervisor->next_engine_waits = true;
    if (supervisor->engine.pid == 0) {
        promote(supervisor);
        return;
    }
    if (supervisor->hand_over_ns > 0)
        return;
    supervisor->hand_over_ns = clock_monotonic_ns() + HAND_OVER_MS * NS_PER_MS;
    engine_process_send(&supervisor->engine, CHANNEL_HAND_OVER, 0, NULL, -1);
}

/* A file that its writer can still change, or cut, would end its reader; one that is no memory file could block who
 * closes it. */
static bool is_file_of_engine(const struct supervisor *supervisor, int what, int fd)
{
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & needed) != needed)
        return false;
    for (unsigned i = 0; i < supervisor->file_count; i++) {
        if (supervisor->files[i].what == what)
            return false;
    }
    return what == CHANNEL_SHARED_FILE || (what >= 0 && what < ENGINE_MEMORY_MAX_WORKERS);
}

void engine_handover_add_file(struct supervisor *supervisor, int what, int fd)
{
    if (supervisor->file_count == HANDOVER_FILES_MAX || !is_file_of_engine(supervisor, what, fd)) {
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
        engine_process_set_deadline(&supervisor->engine, config_number(supervisor->config, "engine.stop-timeout"));
    } else if (supervisor->next_engine.pid > 0 && supervisor->next_engine_waits) {
        promote(supervisor);
    }
}

/* One that has not come to its first packet knows nothing of traffic. */
void engine_handover_to_next_supervisor(struct supervisor *supervisor)
{
    bool told = supervisor->hand_over_ns > 0;

    end_heir(supervisor);
    if (supervisor->engine.pid == 0)
        return;
    if (!supervisor->engine.ready) {
        kill(supervisor->engine.pid, SIGKILL);
        return;
    }
    supervisor->hand_over_ns = clock_monotonic_ns() + HAND_OVER_MS * NS_PER_MS;
    if (!told)
        engine_process_send(&supervisor->engine, CHANNEL_HAND_OVER, 0, NULL, -1);
}

/* Once only: an engine that dies of it is followed by one that begins anew. */
void engine_handover_send_stored(struct supervisor *supervisor)
{
    if (supervisor->file_count == 0)
        return;
    restart_handover_remove_files(supervisor);
    supervisor->record.handovers++;
    keeper_event(supervisor, ENGINE_EVENT_HANDOVER)->code = (int)supervisor->file_count;
    engine_memory_publish(&supervisor->engine.memory_map, &supervisor->record);
    give_files(supervisor);
}

bool engine_handover_replace_dead(struct supervisor *supervisor)
{
    if (supervisor->next_engine.pid == 0)
        return false;
    close_files(supervisor); /* they may lack something */
    if (supervisor->next_engine_waits)
        promote(supervisor);
    return true;
}

/* --- What the others say -------------------------------------------------------------------------- */

static void watch_heir(struct supervisor *supervisor)
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
            take_bind(supervisor);
            return;
        }
    }
    if (!engine_process_reap(supervisor, &supervisor->next_engine, &death))
        return;
    engine_death_describe(supervisor, &death, how);
    snprintf(why, sizeof(why), "it %s%s%s", how, supervisor->next_engine.failure[0] ? ": " : "",
             supervisor->next_engine.failure);
    forget_heir(supervisor);
    close_files(supervisor);
    refuse(supervisor, why);
}

/* All that it has to do is to write its last events; what it says is of no more interest. */
static void watch_former(struct supervisor *supervisor)
{
    struct engine_process *previous_engine = &supervisor->previous_engine;
    struct engine_death death;

    if (!engine_process_reap(supervisor, previous_engine, &death)) {
        if (clock_monotonic_ns() - supervisor->previous_engine_ns < LEAVE_MS * NS_PER_MS)
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
        watch_heir(supervisor);
    if (supervisor->previous_engine.pid > 0)
        watch_former(supervisor);
    if (supervisor->hand_over_ns == 0 || clock_monotonic_ns() < supervisor->hand_over_ns)
        return;
    supervisor->hand_over_ns = 0;
    log_error("killed the running engine, which did not hand over its flows in time; the next engine takes over "
              "without them");
    if (supervisor->engine.pid > 0)
        kill(supervisor->engine.pid, SIGKILL); /* the heir takes its place when it has died */
}
