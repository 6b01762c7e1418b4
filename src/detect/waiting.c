/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rule becomes a candidate when its literal comes, and the rest of it may come in a later segment: it is remembered
 * with the flow and looked at again with each view until its literal has left the window. A rule without a literal is
 * looked at with each view, and when it matched it is muted: it must match anew for as long as the same bytes are in
 * the window.
 *
 * Few rules wait in few flows; the memory is reserved at the start. When it is used up, or a direction has more than
 * WAITING_MAX at once, the flow's window is scanned anew with each view from then on: that costs time, but misses
 * nothing.
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

/* Of the ruleset before: rules that have gone are forgotten, the others have other numbers. */
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

/* Where the numbers of an older ruleset mean nothing any more, the window is looked at again. */
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

/* Of the ruleset in use. */
static struct flow_detection *current(const struct evaluation *ev)
{
    waiting_bring_up_to_date(ev->input->packet->flow, ev->direction, ev->ruleset);
    return *slot_of(ev);
}

/* The entry of a check, or -1; nothing is remembered where there is no list. */
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

/* One that the scan has found again waits anew when it does not match. */
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

    if (at >= 0) { /* what waits has its literal where it was */
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
