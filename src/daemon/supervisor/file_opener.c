/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of events, opened for an engine that can't do so any more: its sandbox is for the folders as they were at
 * the start, and a log folder that was removed and made anew is another one. A process of its own becomes the engine's
 * user, gives up what that gives up, opens what the configuration names (no path comes from the engine), and sends the
 * descriptor by the channel. So the engine gets nothing that its user may not write. The process has a time limit, so
 * neither a disk that does not answer nor an engine that does not read its channel blocks the keeper.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/daemon.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum { LIMIT_SECONDS = 10 };

static void open_and_send(const struct supervisor *supervisor)
{
    char error[ENGINE_ERROR_SIZE] = "";
    int fd = daemon_open_event_file(supervisor->run, error);

    if (fd >= 0)
        channel_send_file(supervisor->engine.channel, CHANNEL_EVENTS_FILE, 0, fd);
    else
        channel_send(supervisor->engine.channel, CHANNEL_EVENTS_FILE, fd, error);
}

/* One at a time: the engine asks again. */
void file_opener_start(struct supervisor *supervisor)
{
    if (supervisor->opener > 0)
        return;
    supervisor->opener_ns = clock_monotonic_ns() + LIMIT_SECONDS * NS_PER_SECOND;
    supervisor->opener = fork();
    if (supervisor->opener == 0) {
        open_and_send(supervisor);
        _exit(EXIT_SUCCESS);
    }
}

void file_opener_reap(struct supervisor *supervisor)
{
    if (supervisor->opener > 0 && waitpid(supervisor->opener, NULL, WNOHANG) == supervisor->opener)
        supervisor->opener = 0;
    if (supervisor->opener > 0 && clock_monotonic_ns() >= supervisor->opener_ns)
        file_opener_stop(supervisor);
}

void file_opener_stop(struct supervisor *supervisor)
{
    if (supervisor->opener > 0)
        kill_and_reap(supervisor, supervisor->opener);
    supervisor->opener = 0;
}
