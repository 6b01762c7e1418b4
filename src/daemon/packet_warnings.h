/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Log lines about packets that need attention.
 */
#ifndef SLUICE_PACKET_WARNINGS_H
#define SLUICE_PACKET_WARNINGS_H

#include <stdint.h>

#include "sluice/worker.h"

/* How many of these packets the log has reported. */
struct packet_warnings {
    uint64_t looping;
    uint64_t limits; /* that the evaluation of rules reached: logged when their number has doubled */
    uint64_t large,
        udp; /* super-packets that were segmented: logged first, and then each time that their number has doubled */
};
void packet_warnings_log(struct packet_warnings *logged, struct worker *const *workers, unsigned count);

#endif
