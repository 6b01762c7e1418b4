/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The job of the service's unit. systemd stops a service with SIGTERM for a stop and for a restart; only the type of
 * the unit's job distinguishes them. A restart job has the type "restart" until the service has stopped, whichever
 * command started it. Any user may read these properties on the system bus.
 *
 * The supervisor queries the job at SIGTERM (restart_handover.c). `sluice leave --after` in ExecStopPost= queries it
 * again after the exit: a stop may have cancelled the restart, and then no supervisor follows, and the table that this
 * supervisor left must be removed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/firewall.h"
#include "sluice/setup.h"

#include "supervisor_priv.h"

enum { TIMEOUT_US = 5000000, US_TO_NS = 1000 };
static const char manager[] = "org.freedesktop.systemd1";

/* Connects to the system bus, and waits for a limited time until the bus answers: sd_bus_call() would wait without
 * limit, and at a shutdown the socket of a bus that has stopped may still accept connections. Returns 0 or -errno. */
static int connect_bus(sd_bus **bus)
{
    const uint64_t end_ns = clock_monotonic_ns() + (uint64_t)TIMEOUT_US * US_TO_NS;
    int err = sd_bus_open_system(bus);

    while (err >= 0) {
        int ready = sd_bus_is_ready(*bus);
        uint64_t now_ns = clock_monotonic_ns();

        if (ready != 0)
            return ready < 0 ? ready : sd_bus_set_method_call_timeout(*bus, TIMEOUT_US);
        if (now_ns >= end_ns)
            return -ETIMEDOUT;
        err = sd_bus_process(*bus, NULL);
        if (err == 0) /* 0: nothing was processed, so wait for messages */
            err = sd_bus_wait(*bus, (end_ns - now_ns) / US_TO_NS);
    }
    return err;
}

int systemd_job_find(struct systemd_job *out, char error[ENGINE_ERROR_SIZE])
{
    struct systemd_job found = { .type = "" };
    sd_bus *bus = NULL;
    sd_bus_message *unit_reply = NULL, *job_reply = NULL;
    const char *unit, *job;
    char *type = NULL;
    uint32_t number = 0;
    int err = connect_bus(&bus);

    if (err >= 0)
        err = sd_bus_call_method(bus, manager, "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
                                 "GetUnitByPID", NULL, &unit_reply, "u", (uint32_t)getpid());
    if (err >= 0)
        err = sd_bus_message_read(unit_reply, "o", &unit);
    if (err >= 0)
        err = sd_bus_get_property(bus, manager, unit, "org.freedesktop.systemd1.Unit", "Job", NULL, &job_reply, "(uo)");
    if (err >= 0)
        err = sd_bus_message_read(job_reply, "(uo)", &number, &job);
    if (err >= 0 && number != 0)
        err = sd_bus_get_property_string(bus, manager, job, "org.freedesktop.systemd1.Job", "JobType", NULL, &type);
    if (err >= 0)
        err = sd_bus_get_property_trivial(bus, manager, unit, "org.freedesktop.systemd1.Service",
                                          "NFileDescriptorStore", NULL, 'u', &found.descriptors);
    if (err >= 0) {
        snprintf(found.type, sizeof(found.type), "%s", type ? type : "");
        *out = found;
    } else {
        snprintf(error, ENGINE_ERROR_SIZE, "cannot query systemd on D-Bus whether the service restarts: %s",
                 strerror(-err));
    }
    free(type);
    sd_bus_message_unref(job_reply);
    sd_bus_message_unref(unit_reply);
    sd_bus_close_unref(bus);
    return err < 0 ? err : 0;
}

int supervisor_remove_left_table(const struct config *config, char error[ENGINE_ERROR_SIZE])
{
    struct firewall_options firewall;
    struct systemd_job job;
    char cause[FIREWALL_ERROR_SIZE];
    int err = systemd_job_find(&job, error);

    if (err || strcmp(job.type, "stop") != 0)
        return err;
    err = setup_firewall_options(config, &firewall, cause);
    if (!err && firewall.mode != ATTACH_NONE)
        err = firewall_remove(firewall.table, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}
