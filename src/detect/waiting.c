/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pending candidates. A rule becomes a candidate when its literal is found, but the rest of its match may be in a
 * later segment: the rule is stored with the flow and evaluated with each chunk until its literal has left the
 * inspection window. A rule without a literal is evaluated with each chunk; after a match it is muted: as long as the
 * same bytes are in the window, it must match new bytes.
 *
 * Few rules are pending in few flows; the memory is reserved at start. When it is exhausted, or a direction has more
 * than PENDING_MAX entries, the flow's inspection window is scanned again with each chunk from then on: slower, but
 * without missed matches.
 */
#include <string.h>

#include "detect_priv.h"

static struct flow_detection **slot_of(const struct evaluation *ev)
{
    return &ev->input->packet->flow->detection[ev->direction];
}

static void forget(struct flow_detection *detection, uint32_t at)
{
    detection->list[at] = detection->list[--detection->count];
}

/* Maps the entries of the previous ruleset: removed rules are dropped, the others get their new numbers. */
static void carry_over(struct flow_detection *detection, const struct ruleset *ruleset)
{
    for (uint32_t i = detection->count; i-- > 0;) {
        uint32_t check = carry_check(ruleset, detection->list[i].check);

        if (check == CARRIED_NOWHERE)
            forget(detection, i);
        else
            detection->list[i].check = check;
    }
}

/* Entries of an older ruleset cannot be mapped, so the window is scanned again. */
void waiting_bring_up_to_date(struct flow *flow, enum flow_direction direction, const struct ruleset *ruleset)
{
    struct flow_detection *detection = flow->detection[direction];

    if (!detection || detection->generation == ruleset->generation)
        return;
    if (carry_knows(ruleset, detection->generation)) {
        carry_over(detection, ruleset);
    } else if (detection->count > 0) {
        detection->count = 0;
        flow->flags |= FLOW_RESCAN;
    }
    detection->generation = ruleset->generation;
}

/* Returns the state for the current ruleset. */
static struct flow_detection *current(const struct evaluation *ev)
{
    waiting_bring_up_to_date(ev->input->packet->flow, ev->direction, ev->ruleset);
    return *slot_of(ev);
}

/* Returns the index of the signature's entry, or -1; `detection` may be NULL. */
static int find(const struct flow_detection *detection, uint32_t check)
{
    for (uint32_t i = 0; detection && i < detection->count; i++) {
        if (detection->list[i].check == check)
            return (int)i;
    }
    return -1;
}

static void expire(struct flow_detection *detection, uint64_t offset)
{
    for (uint32_t i = detection->count; i-- > 0;) {
        if (detection->list[i].until <= offset)
            forget(detection, i);
    }
}

void waiting_expire(struct evaluation *ev)
{
    struct flow_detection *detection = current(ev);

    if (detection)
        expire(detection, ev->view->offset);
}

bool waiting_is_muted(const struct evaluation *ev, uint32_t check)
{
    const struct flow_detection *detection = current(ev);
    int at = find(detection, check);

    return at >= 0 && detection->list[at].muted;
}

/* An entry whose literal the scan found again is removed; it is stored again if the rule does not match. */
void waiting_add_candidates(struct evaluation *ev)
{
    struct flow_detection *detection = current(ev);

    if (!detection)
        return;
    for (uint32_t i = detection->count; i-- > 0;) {
        uint32_t check = detection->list[i].check;

        if (detection->list[i].muted)
            continue;
        if (ev->detector->seen[check] == ev->detector->serial)
            forget(detection, i);
        else
            detector_add_candidate(ev->detector, check);
    }
}

void waiting_put(struct evaluation *ev, uint32_t check, bool muted)
{
    struct flow_detection *detection = current(ev);
    uint64_t until = ev->view->offset + ev->view->length + ev->detector->stream_window[ev->direction];
    int at = find(detection, check);

    if (at >= 0) { /* the literal of a pending candidate has not moved */
        if (muted)
            detection->list[at].until = until;
        return;
    }
    if (!detection) {
        detection = pool_take(ev->detector->waiting);
        if (detection)
            *detection = (struct flow_detection){ .generation = ev->ruleset->generation };
        *slot_of(ev) = detection;
    }
    if (!detection || detection->count == WAITING_MAX) {
        ev->input->packet->flow->flags |= FLOW_RESCAN;
        ev->detector->counters.flow_memcap_hits++;
        return;
    }
    detection->list[detection->count++] = (struct waiting){
        .until = until,
        .check = check,
        .muted = muted,
    };
    ev->detector->counters.waiting++;
}

void waiting_remove(struct evaluation *ev, uint32_t check)
{
    struct flow_detection *detection = current(ev);
    int at = find(detection, check);

    if (at >= 0)
        forget(detection, (uint32_t)at);
}

void detect_flow_end(struct detector *detector, struct flow *flow)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        pool_give(detector->waiting, flow->detection[direction]);
        flow->detection[direction] = NULL;
    }
}
