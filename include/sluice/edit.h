/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Edits: replacements of payload bytes by rules, of the same length. They are recorded while rules are evaluated, and
 * applied after the verdict: no rule sees the replacements of another.
 *
 * While a rule is evaluated its edits are pending, each content in a slot of its own: when a content is tried at
 * several offsets, the last offset stays, which is where the rule matched. The rule's actions commit the edits:
 * edit_commit().
 *
 * Threads:   belongs to one worker.
 * Ownership: the replacement bytes belong to the rules.
 */
#ifndef SLUICE_EDIT_H
#define SLUICE_EDIT_H

#include <stdint.h>

enum { EDIT_MAX_PENDING = 16, EDIT_MAX = 64 };

struct packet_edit {
    const uint8_t *bytes;
    uint32_t offset; /* offset in the payload */
    uint16_t length;
};

struct packet_edits {
    struct packet_edit pending[EDIT_MAX_PENDING];
    struct packet_edit list[EDIT_MAX]; /* in the order of the matches; where two overlap, the later one applies */
    unsigned count;                    /* edits in `list` */
    unsigned withheld;                 /* edits of alert-only rules: not in the list */
    uint64_t lost;                     /* edits for which the list had no room */
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
