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
#include "keeper_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/log.h"

enum {
    HAND_OVER_MS = 10000, /* that writing may take */
    LEAVE_MS = 30000,     /* and the end of the old one, with its last events */
};
#define NS_PER_MS UINT64_C(1000000)

static void close_files(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->file_count; i++)
        close(keeper->files[i].fd);
    keeper->file_count = 0;
}

static void refuse(struct keeper *keeper, const char *why)
{
    log_error("upgrade failed, the running engine continues: %s", why);
    if (keeper->child.pid > 0 && keeper->child.ready)
        child_tell(&keeper->child, LIFELINE_REFUSED, 0, why, -1);
}

/* --- Aside ---------------------------------------------------------------------------------------- */

void succession_begin(struct keeper *keeper)
{
    struct keeper_child *heir = &keeper->heir;
    int err;

    if (keeper->stopping || heir->pid > 0 || keeper->former.pid > 0) {
        refuse(keeper, keeper->stopping ? "the daemon is stopping" : "another upgrade is in progress");
        return;
    }
    lifeline_collect(&keeper->child.lifeline, &keeper->record);
    err = child_begin(keeper, heir, true);
    if (err) {
        refuse(keeper, strerror(-err));
        return;
    }
    log_notice("preparing the next engine (process %d)", (int)heir->pid);
}

/* It died, or is not wanted any more. */
static void forget_heir(struct keeper *keeper)
{
    struct keeper_child *heir = &keeper->heir;

    close(heir->channel);
    lifeline_close(&heir->lifeline);
    *heir = (struct keeper_child){ .channel = -1 };
    keeper->heir_waits = false;
    keeper->hand_over_ns = 0;
}

static void end_heir(struct keeper *keeper)
{
    if (keeper->heir.pid == 0)
        return;
    child_bury(keeper, keeper->heir.pid);
    forget_heir(keeper);
}

void succession_end(struct keeper *keeper)
{
    end_heir(keeper);
    close_files(keeper);
}

/* --- The change ----------------------------------------------------------------------------------- */

static void give_files(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->file_count; i++)
        child_tell(&keeper->child, LIFELINE_FILE, keeper->files[i].what, NULL, keeper->files[i].fd);
    close_files(keeper);
}

/* The heir is the engine from now on, and has the queues. */
static void promote(struct keeper *keeper)
{
    bool living = keeper->child.pid > 0;

    lifeline_collect(&keeper->child.lifeline, &keeper->record);
    keeper->record.reload_wanted = false; /* the heir has read the newest configuration */
    opener_end(keeper);
    if (living)
        keeper->former = keeper->child;
    else
        lifeline_close(&keeper->child.lifeline);
    keeper->former_ns = clock_monotonic_ns();
    keeper->child = keeper->heir;
    keeper->heir = (struct keeper_child){ .channel = -1 };
    keeper->heir_waits = false;
    keeper->hand_over_ns = 0;
    memset(keeper->pulses, 0, keeper->queue_count * sizeof(*keeper->pulses));
    if (living) {
        keeper->record.handovers++;
        keeper_event(keeper, LIFELINE_EVENT_HANDOVER)->code = (int)keeper->file_count;
    }
    lifeline_restore(&keeper->child.lifeline, &keeper->record);
    give_files(keeper);
    keeper_bind_for_child(keeper);
}

/* It is prepared: now, or when the old one has done its part. */
static void take_bind(struct keeper *keeper)
{
    keeper->heir_waits = true;
    if (keeper->child.pid == 0) {
        promote(keeper);
        return;
    }
    if (keeper->hand_over_ns > 0)
        return;
    keeper->hand_over_ns = clock_monotonic_ns() + HAND_OVER_MS * NS_PER_MS;
    child_tell(&keeper->child, LIFELINE_HAND_OVER, 0, NULL, -1);
}

/* A file that its writer can still change, or cut, would end its reader; one that is no memory file could block who
 * closes it. */
static bool is_file_of_engine(const struct keeper *keeper, int what, int fd)
{
    const int needed = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
    int seals = fcntl(fd, F_GET_SEALS);

    if (seals < 0 || (seals & needed) != needed)
        return false;
    for (unsigned i = 0; i < keeper->file_count; i++) {
        if (keeper->files[i].what == what)
            return false;
    }
    return what == LIFELINE_SHARED_FILE || (what >= 0 && what < LIFELINE_MAX_WORKERS);
}

void succession_take_file(struct keeper *keeper, int what, int fd)
{
    if (keeper->file_count == KEEPER_FILES || !is_file_of_engine(keeper, what, fd)) {
        log_error("ignored an invalid file of the hand-over: the state of some flows is lost");
        close(fd);
        return;
    }
    keeper->files[keeper->file_count++] = (struct keeper_file){ .what = what, .fd = fd };
}

void succession_handed(struct keeper *keeper)
{
    if (keeper->leaving) {
        leave_handed(keeper);
        keeper->hand_over_ns = 0;
        keeper->child.stopped = true;
        child_give_time(&keeper->child, config_number(keeper->config, "engine.stop-timeout"));
    } else if (keeper->heir.pid > 0 && keeper->heir_waits) {
        promote(keeper);
    }
}

/* One that has not come to its first packet knows nothing of traffic. */
void succession_leave(struct keeper *keeper)
{
    bool told = keeper->hand_over_ns > 0;

    end_heir(keeper);
    if (keeper->child.pid == 0)
        return;
    if (!keeper->child.ready) {
        kill(keeper->child.pid, SIGKILL);
        return;
    }
    keeper->hand_over_ns = clock_monotonic_ns() + HAND_OVER_MS * NS_PER_MS;
    if (!told)
        child_tell(&keeper->child, LIFELINE_HAND_OVER, 0, NULL, -1);
}

/* Once only: an engine that dies of it is followed by one that begins anew. */
void succession_give_left(struct keeper *keeper)
{
    if (keeper->file_count == 0)
        return;
    leave_forget_files(keeper);
    keeper->record.handovers++;
    keeper_event(keeper, LIFELINE_EVENT_HANDOVER)->code = (int)keeper->file_count;
    lifeline_publish(&keeper->child.lifeline, &keeper->record);
    give_files(keeper);
}

bool succession_took_place_of_dead(struct keeper *keeper)
{
    if (keeper->heir.pid == 0)
        return false;
    close_files(keeper); /* they may lack something */
    if (keeper->heir_waits)
        promote(keeper);
    return true;
}

/* --- What the others say -------------------------------------------------------------------------- */

static void watch_heir(struct keeper *keeper)
{
    struct lifeline_message message;
    struct keeper_death death;
    enum lifeline_kind kind;
    char how[CHILD_TEXT_SIZE], why[LIFELINE_TEXT_SIZE + CHILD_TEXT_SIZE + 16];

    while ((kind = lifeline_receive(keeper->heir.channel, &message, 0)) != LIFELINE_NOTHING && kind != LIFELINE_GONE) {
        if (!child_pay(&keeper->heir, kind))
            break;
        if (kind == LIFELINE_FAILED)
            snprintf(keeper->heir.failure, sizeof(keeper->heir.failure), "%s", message.text);
        if (kind == LIFELINE_BIND) {
            take_bind(keeper);
            return;
        }
    }
    if (!child_reap(keeper, &keeper->heir, &death))
        return;
    child_describe(keeper, &death, how);
    snprintf(why, sizeof(why), "it %s%s%s", how, keeper->heir.failure[0] ? ": " : "", keeper->heir.failure);
    forget_heir(keeper);
    close_files(keeper);
    refuse(keeper, why);
}

/* All that it has to do is to write its last events; what it says is of no more interest. */
static void watch_former(struct keeper *keeper)
{
    struct keeper_child *former = &keeper->former;
    struct keeper_death death;

    if (!child_reap(keeper, former, &death)) {
        if (clock_monotonic_ns() - keeper->former_ns < LEAVE_MS * NS_PER_MS)
            return;
        log_error(
            "killed the previous engine, which did not exit after the hand-over: events of its last flows are lost");
        child_bury(keeper, former->pid);
    }
    close(former->channel);
    lifeline_close(&former->lifeline);
    *former = (struct keeper_child){ .channel = -1 };
}

void succession_tick(struct keeper *keeper)
{
    child_watch_time(&keeper->heir);
    if (keeper->heir.pid > 0)
        watch_heir(keeper);
    if (keeper->former.pid > 0)
        watch_former(keeper);
    if (keeper->hand_over_ns == 0 || clock_monotonic_ns() < keeper->hand_over_ns)
        return;
    keeper->hand_over_ns = 0;
    log_error("killed the running engine, which did not hand over its flows in time; the next engine takes over "
              "without them");
    if (keeper->child.pid > 0)
        kill(keeper->child.pid, SIGKILL); /* the heir takes its place when it has died */
}
