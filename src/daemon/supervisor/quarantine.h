/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets on which engines die: suspects, of which the supervisor remembers the last QUARANTINE_SUSPECTS, and the files
 * to which it writes the packets that it drops.
 */
#ifndef SLUICE_SUPERVISOR_QUARANTINE_H
#define SLUICE_SUPERVISOR_QUARANTINE_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/supervisor_channel.h"

struct supervisor;

enum { QUARANTINE_MAX_LENGTH = 1 << 16 }; /* bytes; an IP packet cannot be longer */

enum { QUARANTINE_SUSPECTS = 64 };
struct suspect_packet {
    uint64_t hash;
    uint32_t length; /* bytes of the packet; an entry with deaths == 0 is unused */
    unsigned deaths;
};
/* The packets on which engines died; a new one replaces the oldest. Initialise it with zeros. */
struct quarantine {
    struct suspect_packet suspects[QUARANTINE_SUSPECTS];
    unsigned next;
};

/* Records a packet on which an engine died. Returns true if another engine died on the same packet before: drop it
 * then. */
bool quarantine_is_repeated(struct quarantine *quarantine, const struct current_packet *packet);
/* Writes the packet to a file, logs it, and adds an event. */
void quarantine_packet(struct supervisor *supervisor, unsigned queue, const struct current_packet *packet);

#endif
