/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `sluice leave`: when systemd stops the service, only systemd knows whether the stop is part of a restart. A command
 * in ExecStop= asks it; the command may run as root while the supervisor runs as another user, and systemd answers root
 * directly, without a message bus. If it is a restart, the command sends SIGTERM to the supervisor with a value: how
 * many descriptors systemd can store (restart_handover.c).
 *
 * If systemd does not answer, the stop is an ordinary one.
 *
 * A command in ExecStopPost= asks again after the exit: a restart may have been cancelled by a stop, and then no
 * supervisor would follow for the table that was left.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "sluice/firewall.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor.h"

#include "supervisor_priv.h"

enum { PATIENCE_US = 1000000 };
static const char manager[] = "org.freedesktop.systemd1";

/* The job of the unit. */
struct job {
    char *unit; /* path of its object */
    char *type; /* NULL: no job */
    uint32_t kept;
};

static int open_private(sd_bus **out)
{
    sd_bus *bus = NULL;
    int err = sd_bus_new(&bus);

    if (err >= 0)
        err = sd_bus_set_address(bus, "unix:path=/run/systemd/private");
    if (err >= 0)
        err = sd_bus_start(bus);
    if (err >= 0)
        *out = bus;
    else
        sd_bus_unref(bus);
    return err;
}

static int find_unit(sd_bus *bus, uint32_t pid, struct job *job)
{
    sd_bus_message *reply = NULL;
    const char *path;
    int err = sd_bus_call_method(bus, manager, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                 "GetUnitByPID", NULL, &reply, "u", pid);

    if (err >= 0)
        err = sd_bus_message_read(reply, "o", &path);
    if (err >= 0) {
        job->unit = strdup(path);
        err = job->unit ? 0 : -ENOMEM;
    }
    sd_bus_message_unref(reply);
    return err;
}

static int find_type(sd_bus *bus, struct job *job)
{
    sd_bus_message *reply = NULL;
    const char *path;
    uint32_t number;
    int err =
        sd_bus_get_property(bus, manager, job->unit, "org.freedesktop.systemd1.Unit", "Job", NULL, &reply, "(uo)");

    if (err >= 0)
        err = sd_bus_message_read(reply, "(uo)", &number, &path);
    if (err >= 0 && number != 0)
        err =
            sd_bus_get_property_string(bus, manager, path, "org.freedesktop.systemd1.Job", "JobType", NULL, &job->type);
    sd_bus_message_unref(reply);
    return err;
}

static int ask(sd_bus *bus, uint32_t pid, struct job *job)
{
    int err = sd_bus_set_method_call_timeout(bus, PATIENCE_US);

    if (err >= 0)
        err = find_unit(bus, pid, job);
    if (err >= 0)
        err = find_type(bus, job);
    if (err >= 0)
        err = sd_bus_get_property_trivial(bus, manager, job->unit, "org.freedesktop.systemd1.Service",
                                          "NFileDescriptorStore", NULL, 'u', &job->kept);
    return err;
}

static void clear(struct job *job)
{
    free(job->unit);
    free(job->type);
}

/* Finds the job of the unit. 0 or -errno with `error`; the caller clears the job in any case. */
static int find(pid_t pid, struct job *job, char error[ENGINE_ERROR_SIZE])
{
    sd_bus *bus = NULL;
    int err = open_private(&bus);

    if (err < 0)
        err = sd_bus_open_system(&bus);
    if (err >= 0)
        err = ask(bus, (uint32_t)pid, job);
    sd_bus_flush_close_unref(bus);
    if (err < 0)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot ask systemd why it stops the service: %s", strerror(-err));
    return err < 0 ? err : 0;
}

static bool is(const struct job *job, const char *type)
{
    return job->type && strcmp(job->type, type) == 0;
}

/* The type of a restart job is "restart" until the service has stopped, whichever command started it. */
int supervisor_announce_restart(pid_t pid, char error[ENGINE_ERROR_SIZE])
{
    struct job job = { 0 };
    int err = find(pid, &job, error);

    if (!err && is(&job, "restart")) {
        const union sigval value = { .sival_int = restart_signal_value(job.kept) };

        err = sigqueue(pid, SIGTERM, value) ? -errno : 0;
        if (err)
            snprintf(error, ENGINE_ERROR_SIZE, "cannot notify process %d: %s", (int)pid, strerror(-err));
    }
    clear(&job);
    return err;
}

/* The job may have changed meanwhile: a stop cancels a restart. */
int supervisor_remove_left_table(const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    struct firewall_options firewall;
    struct job job = { 0 };
    char cause[FIREWALL_ERROR_SIZE];
    int err = find(getpid(), &job, error);

    if (!err && is(&job, "stop")) {
        err = firewall_options_read(&firewall, config, cause);
        if (!err && firewall.mode != ATTACH_NONE)
            err = firewall_remove(firewall.table, cause);
        if (err)
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    }
    clear(&job);
    return err;
}
