/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of events, opened for an engine that can't do so any more: its sandbox is for the folders as they were at
 * the start, and a log folder that was removed and made anew is another one. A process of its own becomes the engine's
 * user, gives up what that gives up, opens what the configuration names (no path comes from the engine), and sends the
 * descriptor by the channel. So the engine gets nothing that its user may not write. The process has a time limit, so
 * neither a disk that does not answer nor an engine that does not read its channel blocks the keeper.
 */
#include "keeper_priv.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sluice/clock.h"

enum { LIMIT_SECONDS = 10 };

static void open_and_send(const struct keeper *keeper)
{
    char error[ENGINE_ERROR_SIZE] = "";
    int fd = engine_open_events(keeper->run, error);

    if (fd >= 0)
        lifeline_send_file(keeper->child.channel, LIFELINE_EVENTS_FILE, 0, fd);
    else
        lifeline_send(keeper->child.channel, LIFELINE_EVENTS_FILE, fd, error);
}

/* One at a time: the engine asks again. */
void opener_begin(struct keeper *keeper)
{
    if (keeper->opener > 0)
        return;
    keeper->opener_ns = clock_monotonic_ns() + LIMIT_SECONDS * NS_PER_SECOND;
    keeper->opener = fork();
    if (keeper->opener == 0) {
        open_and_send(keeper);
        _exit(EXIT_SUCCESS);
    }
}

void opener_reap(struct keeper *keeper)
{
    if (keeper->opener > 0 && waitpid(keeper->opener, NULL, WNOHANG) == keeper->opener)
        keeper->opener = 0;
    if (keeper->opener > 0 && clock_monotonic_ns() >= keeper->opener_ns)
        opener_end(keeper);
}

void opener_end(struct keeper *keeper)
{
    if (keeper->opener > 0)
        child_bury(keeper, keeper->opener);
    keeper->opener = 0;
}
