/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens the event file when the engine cannot open it: the sandbox of the engine permits the folders that existed at
 * the start, and a log folder that was removed and created again is another folder. A separate process switches to the
 * engine's user, drops its privileges, opens the file that the configuration names (the engine provides no path), and
 * sends the descriptor through the channel. So the engine gets no file that its user may not write. The process has a
 * time limit: neither a hung disk nor an engine that does not read its channel blocks the supervisor.
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

/* Does nothing while an opener runs: the engine repeats its request. */
void file_opener_start(struct supervisor *supervisor)
{
    if (supervisor->opener > 0)
        return;
    supervisor->opener_ns = clock_monotonic_ns() + LIMIT_SECONDS * NS_PER_SECOND;
    supervisor->opener = fork();
    if (supervisor->opener == 0) {
        char error[ENGINE_ERROR_SIZE] = "";
        int fd = daemon_open_event_file(supervisor->run, error);

        if (fd >= 0)
            channel_send_file(supervisor->engine.channel, CHANNEL_EVENTS_FILE, 0, fd);
        else
            channel_send(supervisor->engine.channel, CHANNEL_EVENTS_FILE, fd, error);
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
