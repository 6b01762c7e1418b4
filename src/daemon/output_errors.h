/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events that cannot be written.
 */
#ifndef SLUICE_OUTPUT_ERRORS_H
#define SLUICE_OUTPUT_ERRORS_H

#include <stdbool.h>
#include <stdint.h>

struct output;

struct output_errors {
    bool told;
    uint64_t next_ns; /* monotonic: not before */
};
/* Main's, now and then. `channel` is the keeper's. */
void output_errors_log(struct output_errors *output_errors, struct output *output, int channel);

#endif
