/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A restart of the service: the supervisor exits, and the next one starts at once. Queues and table stay. The engine
 * stops between two packets and writes the state of its traffic to files, as for an engine hand-over; systemd stores
 * them with the sockets of the queues, in which packets wait. The next supervisor finds files and sockets by name, and
 * its engine continues with them.
 *
 * systemd sends SIGTERM for a restart as for a stop, so the supervisor queries the job of its unit (systemd_job.c). If
 * it gets no answer, the service stops as usual: the table is removed, and flows are lost.
 *
 * A trial of the installed program comes first. If the program would not start, the supervisor stops as usual and
 * removes the table, because otherwise packets would wait in the queues for an engine that never starts. If the engine
 * does not hand over, the next one starts as after any death.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "sluice/inject.h"
#include "sluice/log.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum { STORE_TIMEOUT_US = 5000000 };
static const char prefix[] = "sluice-flows-";
static const char shared[] = "shared";

/* --- Files stored with systemd -------------------------------------------------------------------- */

void stored_file_name(int what, char out[STORED_FILE_NAME_SIZE])
{
    if (what == CHANNEL_SHARED_FILE)
        snprintf(out, STORED_FILE_NAME_SIZE, "%s%s", prefix, shared);
    else
        snprintf(out, STORED_FILE_NAME_SIZE, "%s%d", prefix, what);
}

int stored_file_parse(const char *name)
{
    size_t length = sizeof(prefix) - 1;
    char *end;
    long what;

    if (strncmp(name, prefix, length) != 0)
        return -1;
    if (strcmp(name + length, shared) == 0)
        return CHANNEL_SHARED_FILE;
    what = strtol(name + length, &end, 10);
    return end > name + length && *end == '\0' && what >= 0 && what < ENGINE_MEMORY_MAX_WORKERS ? (int)what : -1;
}

static void forget(int what)
{
    char name[STORED_FILE_NAME_SIZE];

    stored_file_name(what, name);
    sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", name);
}

void restart_handover_remove_files(const struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->file_count; i++)
        forget(supervisor->files[i].what);
}

static void store(const struct handover_file *file)
{
    char name[STORED_FILE_NAME_SIZE], state[STORED_FILE_NAME_SIZE + 64];

    stored_file_name(file->what, name);
    snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    sd_pid_notify_with_fds(0, 0, state, &file->fd, 1);
}

/* --- Hand-over ------------------------------------------------------------------------------------ */

bool restart_handover_start(struct supervisor *supervisor, const struct systemd_job *job)
{
    uint32_t descriptors = supervisor->queue_count + (supervisor->control_fd >= 0);
    char why[CHANNEL_TEXT_SIZE] = "systemd does not store the sockets of the queues (FileDescriptorStoreMax=)";

    if (strcmp(job->type, "restart") != 0)
        return false;
    for (int i = 0; i < INJECT_SOCKETS; i++)
        descriptors += supervisor->reject_fds[i] >= 0;
    if (!supervisor->stored || job->descriptors < descriptors || !reexec_check_program(supervisor, why)) {
        log_error("this restart removes the sluice table, and flows are lost: %s", why);
        return false;
    }
    log_notice("restarting: the next daemon takes over the queues and flows");
    systemd_notify_stopping();
    supervisor->stopping = supervisor->leaving = true;
    queues_raise(supervisor);
    engine_handover_to_next_supervisor(supervisor);
    return true;
}

bool restart_handover_query(struct supervisor *supervisor)
{
    struct systemd_job job;
    char error[ENGINE_ERROR_SIZE];

    if (supervisor->is_sensor || supervisor->stopping || sd_booted() <= 0 || !getenv("NOTIFY_SOCKET"))
        return false;
    if (systemd_job_find(&job, error)) {
        log_warning("%s; if it does, flows are lost: the hand-over of a restart needs a D-Bus daemon", error);
        return false;
    }
    return restart_handover_start(supervisor, &job);
}

/* Waits until systemd has stored the files, because the supervisor exits next. */
void restart_handover_store_files(struct supervisor *supervisor)
{
    restart_handover_remove_files(supervisor);
    for (unsigned i = 0; i < supervisor->file_count; i++)
        store(&supervisor->files[i]);
    if (sd_notify_barrier(0, STORE_TIMEOUT_US) < 0)
        log_error("systemd does not confirm that it stored the flows: their state may be lost");
}
