/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs output errors with their remedy, and requests the event file from the supervisor if the engine cannot open it.
 */
#include "output_errors.h"

#include <errno.h>
#include <string.h>

#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/supervisor_channel.h"

enum { TROUBLE_SECONDS = 60 };

static const char *remedy(int error)
{
    switch (error) {
    case -ENOSPC:
    case -EDQUOT:
        return ": make room on its disk";
    case -ENOENT:
    case -ECONNREFUSED:
        return ": check that its folder exists, and that the reader of the socket runs";
    case -EAGAIN:
        return ": the reader of the socket is too slow";
    case -EACCES:
    case -EPERM:
        return ": the daemon may not open it; the supervisor tries to open a regular file";
    default:
        return "";
    }
}

static uint64_t events_lost(const struct output *output)
{
    struct output_counters counters;
    uint64_t lost = 0;

    output_counters(output, &counters);
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        lost += counters.lost[kind];
    return lost;
}

/* Logs errors and their end, at most one error in a minute. */
void output_errors_log(struct output_errors *output_errors, struct output *output, int channel)
{
    uint64_t now_ns = clock_monotonic_ns();
    int error = output_error(output);

    if (output_needs_file(output))
        channel_send(channel, CHANNEL_OPEN_EVENTS, 0, NULL);
    if (error && !output_errors->logged && now_ns >= output_errors->next_ns) {
        log_error("events are lost: cannot write the file or socket of eve.filename: %s%s", strerror(-error),
                  remedy(error));
        output_errors->next_ns = now_ns + TROUBLE_SECONDS * NS_PER_SECOND;
        output_errors->logged = true;
    } else if (!error && output_errors->logged) {
        log_notice("events are written again; %llu events were lost since the start",
                   (unsigned long long)events_lost(output));
        output_errors->logged = false;
    }
}
