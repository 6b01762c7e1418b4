/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sockets that root opens for a service of another user: `sluice lend` runs before the daemon with all privileges,
 * opens the raw sockets of `reject`, and stores them with systemd, where the supervisor finds them by name. So the
 * service itself needs neither CAP_NET_RAW nor permission to open Internet sockets.
 *
 * systemd may still store sockets of a previous start. They are removed first, because otherwise each start would add
 * more.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "sluice/inject.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor.h"

#include "supervisor_priv.h"

enum { PATIENCE_US = 5000000 };

static const char *const names[INJECT_SOCKETS] = {
    [INJECT_IPV4] = "sluice-reject4",
    [INJECT_IPV6] = "sluice-reject6",
    [INJECT_FRAMES] = "sluice-reject-frames",
};

bool socket_preopen_accept(struct supervisor *supervisor, const char *name, int fd)
{
    for (int i = 0; i < INJECT_SOCKETS; i++) {
        if (strcmp(name, names[i]) != 0 || supervisor->reject_fds[i] >= 0)
            continue;
        supervisor->reject_fds[i] = fd;
        return true;
    }
    return false;
}

static int leave(const char *name, int fd)
{
    char state[64];
    int err;

    snprintf(state, sizeof(state), "FDSTOREREMOVE=1\nFDNAME=%s", name);
    err = sd_notify(0, state);
    if (err <= 0 || fd < 0)
        return err;
    snprintf(state, sizeof(state), "FDSTORE=1\nFDPOLL=0\nFDNAME=%s", name);
    return sd_pid_notify_with_fds(0, 0, state, &fd, 1);
}

int supervisor_preopen_sockets(char error[ENGINE_ERROR_SIZE])
{
    char cause[INJECT_ERROR_SIZE];
    int fds[INJECT_SOCKETS];
    int err = inject_open(fds, cause);

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    err = 1;
    for (int i = 0; i < INJECT_SOCKETS; i++) {
        if (err > 0)
            err = leave(names[i], fds[i]);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    if (err > 0)
        err = sd_notify_barrier(0, PATIENCE_US); /* waits until systemd has stored the sockets */
    if (err > 0)
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "systemd does not accept sockets: %s",
             err < 0 ? strerror(-err) : "this process may not notify it (the unit needs NotifyAccess=exec)");
    return err < 0 ? err : -ENOTCONN;
}
