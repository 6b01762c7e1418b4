/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A restart of the service: the keeper ends, and the next one follows at once. Nothing is taken down then. The engine
 * stops between two packets and writes what it knows of traffic, as for an engine that takes its place; systemd keeps
 * these files with the sockets of the queues, in which packets wait. The next keeper finds both by their names, and its
 * engine goes on with them.
 *
 * Before that the program is asked whether it would start: if not, the restart is a stop, and a start that fails, as
 * traffic would wait for nobody. An engine that does not hand over is followed as after any death.
 */
#include "keeper_priv.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "sluice/log.h"

enum {
    ASKED = 0x5e00000, /* in the number that comes with the signal; below it, what systemd keeps */
    MAX_KEPT = 0xffff,
    PATIENCE_US = 5000000,
};
static const char prefix[] = "sluice-flows-";
static const char shared[] = "shared";

/* --- The signal ----------------------------------------------------------------------------------- */

int leave_number(uint32_t kept)
{
    return ASKED | (int)(kept < MAX_KEPT ? kept : MAX_KEPT);
}

bool leave_is_asked(const struct signalfd_siginfo *info, uint32_t *kept)
{
    if (info->ssi_signo != SIGTERM || info->ssi_code != SI_QUEUE || (info->ssi_int & ~MAX_KEPT) != ASKED)
        return false;
    *kept = (uint32_t)info->ssi_int & MAX_KEPT;
    return true;
}

/* --- Files with systemd --------------------------------------------------------------------------- */

void leave_file_name(int what, char out[LEAVE_NAME_SIZE])
{
    if (what == LIFELINE_SHARED_FILE)
        snprintf(out, LEAVE_NAME_SIZE, "%s%s", prefix, shared);
    else
        snprintf(out, LEAVE_NAME_SIZE, "%s%d", prefix, what);
}

int leave_file_of(const char *name)
{
    size_t length = sizeof(prefix) - 1;
    char *end;
    long what;

    if (strncmp(name, prefix, length) != 0)
        return -1;
    if (strcmp(name + length, shared) == 0)
        return LIFELINE_SHARED_FILE;
    what = strtol(name + length, &end, 10);
    return end > name + length && *end == '\0' && what >= 0 && what < LIFELINE_MAX_WORKERS ? (int)what : -1;
}

static void forget(int what)
{
    char name[LEAVE_NAME_SIZE];

    leave_file_name(what, name);
    sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

void leave_forget_files(const struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->file_count; i++)
        forget(keeper->files[i].what);
}

static void store(const struct keeper_file *file)
{
    char name[LEAVE_NAME_SIZE], state[LEAVE_NAME_SIZE + 64];

    leave_file_name(file->what, name);
    snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    sd_pid_notify_with_fds(0, 0, state, &file->fd, 1);
}

/* --- The end -------------------------------------------------------------------------------------- */

static uint32_t descriptors(const struct keeper *keeper)
{
    uint32_t count = keeper->queue_count + (keeper->control_fd >= 0);

    for (int i = 0; i < INJECT_SOCKETS; i++)
        count += keeper->reject_fds[i] >= 0;
    return count;
}

static bool can_leave(struct keeper *keeper, uint32_t kept, char why[LIFELINE_TEXT_SIZE])
{
    if (!keeper->stored || kept < descriptors(keeper)) {
        snprintf(why, LIFELINE_TEXT_SIZE, "systemd does not keep the queues (FileDescriptorStoreMax)");
        return false;
    }
    return keeper_can_renew(keeper, why);
}

bool leave_begin(struct keeper *keeper, const struct signalfd_siginfo *info)
{
    char why[LIFELINE_TEXT_SIZE];
    uint32_t kept;

    if (keeper->stopping || !leave_is_asked(info, &kept))
        return false;
    if (!can_leave(keeper, kept, why)) {
        log_error("this restart removes the sluice table, and flows are lost: %s", why);
        return false;
    }
    log_notice("restarting: the next daemon takes over the queues and flows");
    notify_stopping();
    keeper->stopping = keeper->leaving = true;
    queues_raise(keeper);
    succession_leave(keeper);
    return true;
}

/* They must be with systemd before we are gone. */
void leave_handed(struct keeper *keeper)
{
    leave_forget_files(keeper);
    for (unsigned i = 0; i < keeper->file_count; i++)
        store(&keeper->files[i]);
    if (sd_notify_barrier(0, PATIENCE_US) < 0)
        log_error("systemd does not confirm that it stored the flows: their state may be lost");
}
