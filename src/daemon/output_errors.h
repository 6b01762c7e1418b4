/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Log lines about events that cannot be written. */
#ifndef SLUICE_OUTPUT_ERRORS_H
#define SLUICE_OUTPUT_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

struct output;

struct output_errors {
    bool logged;
    uint64_t next_ns; /* monotonic: time of the next check */
};
/* Called periodically by the main thread: logs output errors with a remedy, and requests the event file from the
 * supervisor if only that can open it. `channel`: to the supervisor. */
void output_errors_log(struct output_errors *output_errors, struct output *output, int channel);

#endif
