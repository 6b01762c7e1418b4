/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Packets on which engines die. One that an engine had in hand when it died is a suspect; it is judged anew with the others, because the
 * cause may have been another. When a second engine dies with the same bytes in hand they are dropped, kept in a file, and told of.
 */
#include "keeper_priv.h"

#include <xxhash.h>

#include "sluice/log.h"

bool quarantine_suspects(struct keeper *keeper, const struct lifeline_packet *packet)
{
    uint64_t hash = XXH3_64bits(packet->bytes, packet->length);
    struct keeper_suspect *suspect;

    for (unsigned i = 0; i < KEEPER_SUSPECTS; i++) {
        suspect = &keeper->suspects[i];
        if (suspect->deaths > 0 && suspect->hash == hash && suspect->length == packet->length)
            return ++suspect->deaths > 1;
    }
    suspect = &keeper->suspects[keeper->next_suspect++ % KEEPER_SUSPECTS];
    *suspect = (struct keeper_suspect){ .hash = hash, .length = packet->length, .deaths = 1 };
    return false;
}

void quarantine_tell(struct keeper *keeper, unsigned queue, const struct lifeline_packet *packet)
{
    (void)packet;
    atomic_fetch_add(&keeper->memory->quarantined, 1);
    log_error("queue %u: a packet on which two engines died is dropped", queue);
}
