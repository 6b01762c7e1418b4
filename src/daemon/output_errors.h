/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs events that could not be written. */
#ifndef SLUICE_OUTPUT_ERRORS_H
#define SLUICE_OUTPUT_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/output.h"

/* What was logged about a further output. */
struct destination_errors {
    char name[64]; /* of the output; a reload may change the outputs */
    uint64_t lost; /* lost events that were reported */
    uint64_t next_ns;
    bool logged; /* an error was logged, and its end has not been logged yet */
};

struct output_errors {
    struct destination_errors destinations[OUTPUT_MAX_DESTINATIONS];
    struct destination_errors pcap;   /* errors of pcap-log */
    struct destination_errors chains; /* errors of tls-store */
    uint64_t unshipped_ns;            /* since when sluice-ship has not had the spool of events; 0: it has the spool */
    bool logged;                      /* true: an error was logged, and its end has not been logged yet */
    uint64_t next_ns;                 /* no error is logged before this time (clock_monotonic_ns()) */
};
/* Called periodically by the main thread: logs output errors with a remedy, and requests the event file from the
 * supervisor if the engine itself is not permitted to open it. `channel`: the socket to the supervisor. */
void output_errors_log(struct output_errors *output_errors, struct output *output, int channel);
/* Called after output_stop(): logs events that wait for a sluice-ship which does not run, and are therefore lost. */
void output_errors_log_end(const struct output *output);

#endif
