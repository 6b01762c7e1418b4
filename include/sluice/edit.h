/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edits: the bytes of a packet's payload that rules replace by others of the same number. Noted while the rules are
 * asked, done once the packet is judged: no rule sees what another one made of it.
 *
 * A rule's edits are pending at first, each in a slot of the rule: a content that is tried at several places ends up
 * with the last one, which is where the rule matched. The rule's actions commit them.
 *
 * Threads:   a worker's own.
 * Ownership: bytes are lent by the rules.
 */
#ifndef SLUICE_EDIT_H
#define SLUICE_EDIT_H

#include <stdint.h>

enum { EDIT_MAX_PENDING = 16, EDIT_MAX = 64 };

struct packet_edit {
    const uint8_t *bytes;
    uint32_t offset; /* in the payload */
    uint16_t length;
};

struct packet_edits {
    struct packet_edit pending[EDIT_MAX_PENDING];
    struct packet_edit list[EDIT_MAX]; /* in their order: where two overlap, the later one counts */
    unsigned count;
    unsigned withheld; /* of alert-only rules: not in the list */
    uint64_t lost;     /* found no room in the list */
};

static inline void edit_note(struct packet_edits *edits, unsigned slot, uint32_t offset, uint16_t length,
                             const uint8_t *bytes)
{
    edits->pending[slot] = (struct packet_edit){ bytes, offset, length };
}

static inline void edit_commit(struct packet_edits *edits, unsigned slot)
{
    if (edits->count < EDIT_MAX)
        edits->list[edits->count++] = edits->pending[slot];
    else
        edits->lost++;
}

#endif
