/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pending candidates: see pending.h.
 *
 * A rule without a literal is evaluated for each chunk, so it need not be stored as a candidate. It gets an entry after
 * a match, and is then muted: while the matched bytes are in the window, only a match that includes new bytes counts.
 * Most flows have no entries, and the others have few, so a pool of fixed size is sufficient.
 */
#include "pending.h"

#include <string.h>

#include "detect_priv.h"

static struct flow_detection **get_slot(const struct evaluation *ev)
{
    return &ev->input->packet->flow->detection[ev->direction];
}

static void remove_entry(struct flow_detection *detection, uint32_t at)
{
    detection->list[at] = detection->list[--detection->count];
}

/* Entries of the previous ruleset are mapped to the new signatures, or removed if the rule was removed. Entries of an
 * older ruleset cannot be mapped, so FLOW_RESCAN is set. */
void pending_update(struct flow *flow, enum flow_direction direction, const struct ruleset *ruleset)
{
    struct flow_detection *detection = flow->detection[direction];

    if (!detection || detection->generation == ruleset->generation)
        return;
    if (!state_map_covers(ruleset, detection->generation)) {
        if (detection->count > 0)
            flow->flags |= FLOW_RESCAN;
        detection->count = 0;
    }
    for (uint32_t i = detection->count; i-- > 0;) {
        uint32_t signature = state_map_signature(ruleset, detection->list[i].signature);

        if (signature == SIGNATURE_NONE)
            remove_entry(detection, i);
        else
            detection->list[i].signature = signature;
    }
    detection->generation = ruleset->generation;
}

/* Returns the entries of the flow's direction, mapped to the current ruleset; NULL: none. */
static struct flow_detection *get_current(const struct evaluation *ev)
{
    pending_update(ev->input->packet->flow, ev->direction, ev->ruleset);
    return *get_slot(ev);
}

/* Returns the index of the signature's entry, or -1; `detection` may be NULL. */
static int find_entry(const struct flow_detection *detection, uint32_t signature)
{
    for (uint32_t i = 0; detection && i < detection->count; i++) {
        if (detection->list[i].signature == signature)
            return (int)i;
    }
    return -1;
}

void pending_expire(struct evaluation *ev)
{
    struct flow_detection *detection = get_current(ev);

    for (uint32_t i = detection ? detection->count : 0; i-- > 0;) {
        if (detection->list[i].until <= ev->chunk->offset)
            remove_entry(detection, i);
    }
}

bool pending_is_muted(const struct evaluation *ev, uint32_t signature)
{
    const struct flow_detection *detection = get_current(ev);
    int at = find_entry(detection, signature);

    return at >= 0 && detection->list[at].muted;
}

/* If the scan has found the literal of an entry again, the entry is removed: the evaluation stores it again, with a
 * later expiry, if the rule does not match. */
void pending_add_candidates(struct evaluation *ev)
{
    struct flow_detection *detection = get_current(ev);

    if (!detection)
        return;
    for (uint32_t i = detection->count; i-- > 0;) {
        uint32_t signature = detection->list[i].signature;

        if (detection->list[i].muted)
            continue;
        if (candidates_contain(&ev->detector->candidates, signature))
            remove_entry(detection, i);
        else
            candidates_add(&ev->detector->candidates, signature);
    }
}

void pending_add(struct evaluation *ev, uint32_t signature, bool muted)
{
    struct flow_detection *detection = get_current(ev);
    uint64_t until = ev->chunk->offset + ev->chunk->length + ev->detector->stream_inspection_window[ev->direction];
    int at = find_entry(detection, signature);

    if (at >= 0) { /* `until` of a pending candidate is not changed, because its literal stays at its position */
        if (muted)
            detection->list[at].until = until;
        return;
    }
    if (!detection) {
        detection = pool_alloc(ev->detector->pending);
        if (detection)
            *detection = (struct flow_detection){ .generation = ev->ruleset->generation };
        *get_slot(ev) = detection;
    }
    if (!detection || detection->count == PENDING_MAX) {
        ev->input->packet->flow->flags |= FLOW_RESCAN;
        ev->detector->counters.flow_memcap_hits++;
        return;
    }
    detection->list[detection->count++] = (struct pending_candidate){
        .until = until,
        .signature = signature,
        .muted = muted,
    };
    ev->detector->counters.waiting++;
}

void pending_remove(struct evaluation *ev, uint32_t signature)
{
    struct flow_detection *detection = get_current(ev);
    int at = find_entry(detection, signature);

    if (at >= 0)
        remove_entry(detection, (uint32_t)at);
}

void detect_flow_end(struct detector *detector, struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        pool_release(detector->pending, flow->detection[direction]);
        flow->detection[direction] = NULL;
    }
}
