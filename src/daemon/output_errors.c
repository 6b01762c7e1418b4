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

enum { TROUBLE_SECONDS = 60, SHIP_SECONDS = 3 };

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

/* Logs, at most once a minute, that a further output has lost events, or that sluice-ship does not run. */
static void log_destination(struct output_errors *output_errors, struct destination_errors *errors,
                            const struct output_destination_counters *counters)
{
    const uint64_t lost = counters->lost_full + counters->lost_error + counters->rejected;
    const bool is_file = counters->type == OUTPUT_FILE_REGULAR;
    const uint64_t now_ns = clock_monotonic_ns();
    const bool unshipped = !is_file && !counters->is_shipped;

    if (strcmp(errors->name, counters->name) != 0) {
        *errors = (struct destination_errors){ .lost = errors->name[0] ? lost : 0 };
        snprintf(errors->name, sizeof(errors->name), "%s", counters->name);
    }
    if (!is_file && counters->is_shipped)
        output_errors->unshipped_ns = 0;
    else if (!is_file && output_errors->unshipped_ns == 0)
        output_errors->unshipped_ns = now_ns;
    if (errors->logged && lost == errors->lost && !unshipped &&
        (is_file ? counters->error == 0 : counters->connected)) {
        log_notice("output %s: events are delivered again", counters->name);
        errors->logged = false;
    }
    if (now_ns < errors->next_ns)
        return;
    if (unshipped && !errors->logged && now_ns - output_errors->unshipped_ns > SHIP_SECONDS * NS_PER_SECOND)
        log_error("output %s: sluice-ship does not listen on output.ship-socket, so events wait in memory "
                  "(buffer-size): run `systemctl start sluice-ship.socket`, or sluice-ship itself",
                  counters->name);
    else if (lost > errors->lost)
        log_error("output %s: %llu events were lost since the last report (%llu since the start), because %s",
                  counters->name, (unsigned long long)(lost - errors->lost), (unsigned long long)lost,
                  is_file                      ? strerror(-counters->error)
                  : unshipped                  ? "sluice-ship does not run"
                  : counters->rejected >= lost ? "they are too long for the buffer or the server"
                  : counters->connected        ? "the server is slower than the events arrive (buffer-size)"
                                               : "the server cannot be reached; sluice-ship logs why");
    else
        return;
    errors->lost = lost;
    errors->logged = true;
    errors->next_ns = now_ns + TROUBLE_SECONDS * NS_PER_SECOND;
}

void output_errors_log_end(const struct output *output)
{
    struct output_destination_counters counters;

    for (size_t i = 0; output_destination_counters(output, i, &counters); i++)
        if (counters.type != OUTPUT_FILE_REGULAR && !counters.is_shipped && counters.waiting > 0)
            log_error("output %s: %llu events are lost, because sluice-ship does not listen on output.ship-socket",
                      counters.name, (unsigned long long)counters.waiting);
}

/* Logs errors and their end, at most one error in a minute. */
void output_errors_log(struct output_errors *output_errors, struct output *output, int channel)
{
    uint64_t now_ns = clock_monotonic_ns();
    int error = output_error(output);
    struct output_destination_counters counters;

    struct destination_errors *packets = &output_errors->pcap;
    struct output_pcap_counters pcap;

    for (size_t i = 0; output_destination_counters(output, i, &counters); i++)
        log_destination(output_errors, &output_errors->destinations[i], &counters);
    if (output_pcap_counters(output, &pcap) && pcap.lost > packets->lost && now_ns >= packets->next_ns) {
        log_error("pcap-log: %llu packets were not written since the last report: %s%s",
                  (unsigned long long)(pcap.lost - packets->lost),
                  pcap.error ? strerror(-pcap.error) : "the disk is slower than they arrive (pcap-log.buffer-size)",
                  remedy(pcap.error));
        packets->lost = pcap.lost;
        packets->next_ns = now_ns + TROUBLE_SECONDS * NS_PER_SECOND;
    }
    struct destination_errors *left_out = &output_errors->chains;
    struct output_chain_counters chains;

    if (output_chain_counters(output, &chains) && chains.full + chains.lost + chains.errors > left_out->lost &&
        now_ns >= left_out->next_ns) {
        log_error("tls-store: %llu certificate chains were not written since the last report: %s%s",
                  (unsigned long long)(chains.full + chains.lost + chains.errors - left_out->lost),
                  chains.error      ? strerror(-chains.error)
                  : chains.full > 0 ? "the folder has tls-store.max-files chains; move them away, or raise it"
                                    : "the output thread is slower than they arrive (output.ring-size)",
                  remedy(chains.error));
        left_out->lost = chains.full + chains.lost + chains.errors;
        left_out->next_ns = now_ns + TROUBLE_SECONDS * NS_PER_SECOND;
    }
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
