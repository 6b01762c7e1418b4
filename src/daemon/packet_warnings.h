/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Logs warnings about looping packets, exhausted limits and super-packets. */
#ifndef SLUICE_PACKET_WARNINGS_H
#define SLUICE_PACKET_WARNINGS_H

#include <stdint.h>

#include "sluice/worker.h"

/* The counters at the time of the last log line. */
struct packet_warnings {
    uint64_t looping;
    uint64_t limits; /* evaluations that reached a limit; logged again when the number has doubled */
    /* Super-packets that the kernel segmented: `large` of more than 65531 bytes, `udp` of several UDP datagrams. Each
     * number is logged again when it has doubled. */
    uint64_t large, udp;
};
void packet_warnings_log(struct packet_warnings *logged, struct worker *const *workers, unsigned count);

#endif
