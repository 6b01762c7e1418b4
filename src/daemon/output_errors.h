/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs events that could not be written. */
#ifndef SLUICE_OUTPUT_ERRORS_H
#define SLUICE_OUTPUT_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

struct output;

struct output_errors {
    bool logged;      /* true: an error was logged, and its end has not been logged yet */
    uint64_t next_ns; /* no error is logged before this time (clock_monotonic_ns()) */
};
/* Called periodically by the main thread: logs output errors with a remedy, and requests the event file from the
 * supervisor if the engine itself is not permitted to open it. `channel`: the socket to the supervisor. */
void output_errors_log(struct output_errors *output_errors, struct output *output, int channel);

#endif
