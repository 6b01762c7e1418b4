/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notifications to systemd. Only the supervisor, the main process, sends them: readiness, reloads, the end, and
 * watchdog notifications while the heartbeats of all workers continue. systemd stores the sockets of the queues and the
 * control socket, so that packets wait in the queues while no supervisor runs; the next supervisor finds the sockets by
 * name.
 *
 * Without systemd these functions do nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/log.h"

#include "supervisor_priv.h"

enum { NAME_SIZE = 32, US_TO_NS = 1000 };
static const char control_name[] = "sluice-control";

static void queue_name(const struct supervised_queue *queue, char out[NAME_SIZE])
{
    snprintf(out, NAME_SIZE, "sluice-q%u", (unsigned)queue->options.queue);
}

/* --- Stored descriptors --------------------------------------------------------------------------- */

static bool adopt_descriptor(struct supervisor *supervisor, const char *name, int fd)
{
    char wanted[NAME_SIZE];

    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];

        queue_name(queue, wanted);
        if (strcmp(name, wanted) != 0 || queue->fd >= 0 || supervisor->is_sensor ||
            !nfqueue_owns_queue(fd, supervisor->status_fd, queue->options.queue))
            continue;
        queue->fd = fd;
        queue->adopted = true;
        return true;
    }
    if (strcmp(name, control_name) == 0 && supervisor->control_fd < 0) {
        supervisor->control_fd = fd;
        return true;
    }
    if (stored_file_parse(name) >= 0) {
        engine_handover_add_file(supervisor, stored_file_parse(name), fd);
        return true;
    }
    return socket_preopen_accept(supervisor, name, fd);
}

/* Closes a stored descriptor that is not used any more, and removes it from systemd. */
static void remove_unused_socket(const char *name, int fd)
{
    char state[NAME_SIZE + 64];

    log_warning("closed descriptor %s of systemd's file descriptor store, because it is not used any more", name);
    close(fd);
    snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%.31s", name);
    sd_notify(0, state);
}

void systemd_get_sockets(struct supervisor *supervisor)
{
    char **names = NULL;
    int count = sd_listen_fds_with_names(1, &names);

    for (int i = 0; i < count && names; i++) {
        if (!adopt_descriptor(supervisor, names[i], SD_LISTEN_FDS_START + i))
            remove_unused_socket(names[i], SD_LISTEN_FDS_START + i);
        free(names[i]);
    }
    free(names);
}

static void store(const char *name, int fd)
{
    char state[NAME_SIZE + 64];

    snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    sd_pid_notify_with_fds(0, 0, state, &fd, 1);
}

static void store_all(const struct supervisor *supervisor)
{
    char name[NAME_SIZE];

    for (unsigned i = 0; i < supervisor->queue_count && !supervisor->is_sensor; i++) {
        queue_name(&supervisor->queues[i], name);
        store(name, supervisor->queues[i].fd);
    }
    if (supervisor->control_fd >= 0)
        store(control_name, supervisor->control_fd);
}

void systemd_remove_queue(unsigned number)
{
    sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=sluice-q%u", number);
}

/* Called when the supervisor ends. Unless another supervisor follows, removes the control socket from systemd's store,
 * because its path is removed, too. After a stop systemd itself closes the sockets of the queues. */
void systemd_notify_end(const struct supervisor *supervisor)
{
    if (supervisor->control_fd >= 0 && supervisor->once_ready && !supervisor->leaving)
        sd_notifyf(0, "FDSTOREREMOVE=1\nFDNAME=%s", control_name);
}

/* --- Notifications -------------------------------------------------------------------------------- */

void systemd_start(struct supervisor *supervisor)
{
    uint64_t every_us = 0;

    /* The variables of the environment stay: after `sluice upgrade` the next program reads them in this process. */
    if (sd_watchdog_enabled(0, &every_us) > 0)
        supervisor->watchdog_ns = every_us * US_TO_NS / 3;
}

void systemd_notify_ready(struct supervisor *supervisor)
{
    if (!supervisor->stored) /* systemd ignores sockets that it already stores */
        store_all(supervisor);
    supervisor->stored = true;
    sd_notifyf(0, "READY=1\nMAINPID=%d\nSTATUS=inspecting %u %s", (int)getpid(), supervisor->queue_count,
               supervisor->is_sensor ? "rings" : "queues");
}

void systemd_notify_reloading(void)
{
    sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%llu", (unsigned long long)(clock_monotonic_ns() / US_TO_NS));
}

void systemd_notify_reloaded(void)
{
    sd_notify(0, "READY=1");
}

void systemd_notify_restarting(const struct supervisor *supervisor)
{
    sd_notifyf(0, "STATUS=the engine died, another one is started (%llu times now)",
               (unsigned long long)supervisor->record.restarts);
}

void systemd_notify_stopping(void)
{
    sd_notify(0, "STOPPING=1");
}

/* `alive`: no worker is hung. While no engine runs, the notification only shows that the supervisor runs;
 * engine.restart-limit limits the number of engine starts. */
void systemd_notify_watchdog(struct supervisor *supervisor, bool alive)
{
    uint64_t now_ns = clock_monotonic_ns();

    if (supervisor->watchdog_ns == 0 || !alive || now_ns < supervisor->watchdog_next_ns)
        return;
    supervisor->watchdog_next_ns = now_ns + supervisor->watchdog_ns;
    sd_notify(0, "WATCHDOG=1");
}
