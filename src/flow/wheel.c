/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timer wheel. A flow is in the slot for the time at which it expires without further packets. A packet does not
 * move its flow in the wheel, but only updates last_ns. When a slot is emptied, flows that have not expired move to the
 * slot for their new expiry time. So a packet does not access adjacent flows of the list, and a flow is visited once
 * per timeout regardless of its number of packets.
 *
 * A slot is emptied when its time has passed completely, so that each of its flows has expired or had further packets.
 * A bitmap marks slots that may contain flows, so that empty slots are skipped fast when a capture has hours without
 * packets. The flows of an emptied slot move to a separate list (`pending`), because a call may visit only some of
 * them.
 *
 * The wheel uses the time of packets, which may jump. After a jump forward by more than a turn of the wheel, all slots
 * are emptied once. After a jump back by more than a turn, the wheel is set back, and all slots are emptied within a
 * turn from there. When timeouts become shorter (emergency), flows are in slots that are emptied too late, so all slots
 * are searched once.
 */
#include "bucket.h"
#include "flow_priv.h"

enum { BITS = 64 };

void wheel_remove(struct flow *flow)
{
    if (!flow->wheel_link)
        return;
    *flow->wheel_link = flow->wheel_next;
    if (flow->wheel_next)
        flow->wheel_next->wheel_link = flow->wheel_link;
    flow->wheel_link = NULL;
    flow->wheel_next = NULL;
}

void wheel_add(struct flow_table *table, struct flow *flow)
{
    struct wheel *wheel = &table->wheel;
    uint64_t timeout_ns = flow_timeout_ns(table, flow);
    uint64_t deadline_ns = timeout_ns > UINT64_MAX - flow->last_ns ? UINT64_MAX : flow->last_ns + timeout_ns;
    uint64_t tick = deadline_ns >> WHEEL_TICK_SHIFT;
    struct flow **slot;

    if (tick <= wheel->tick)
        tick = wheel->tick + 1;
    else if (tick - wheel->tick > WHEEL_SLOTS)
        tick = wheel->tick + WHEEL_SLOTS;
    slot = &wheel->slots[tick % WHEEL_SLOTS];
    flow->wheel_next = *slot;
    flow->wheel_link = slot;
    if (*slot)
        (*slot)->wheel_link = &flow->wheel_next;
    *slot = flow;
    wheel->used[tick % WHEEL_SLOTS / BITS] |= UINT64_C(1) << tick % BITS;
}

static void empty_slot(struct wheel *wheel, uint64_t index)
{
    struct flow **slot = &wheel->slots[index % WHEEL_SLOTS];

    wheel->used[index % WHEEL_SLOTS / BITS] &= ~(UINT64_C(1) << index % BITS);
    wheel->pending = *slot;
    if (wheel->pending)
        wheel->pending->wheel_link = &wheel->pending;
    *slot = NULL;
}

/* Searches `count` slots from `index` on. Returns n if the n-th slot, counted from 1, is the first one that may contain
 * flows; `count` if there is none. */
static uint64_t next_used(const struct wheel *wheel, uint64_t index, uint64_t count)
{
    uint64_t passed = 0;

    while (passed < count) {
        uint64_t at = (index + passed) % WHEEL_SLOTS;
        uint64_t word = wheel->used[at / BITS] >> at % BITS;

        if (word) {
            passed += (uint64_t)__builtin_ctzll(word) + 1;
            break;
        }
        passed += BITS - at % BITS;
    }
    return passed < count ? passed : count;
}

/* Moves the flows of the next due slot to `pending`. Returns false if no due slot contains flows. The loop is bounded
 * by a turn, because `tick` is at most one turn behind. */
static bool next_slot(struct wheel *wheel, uint64_t now)
{
    while (wheel->tick + 1 < now) {
        wheel->tick += next_used(wheel, wheel->tick + 1, now - wheel->tick - 1);
        empty_slot(wheel, wheel->tick);
        if (wheel->pending)
            return true;
    }
    while (wheel->sweep_left > 0) {
        empty_slot(wheel, --wheel->sweep_left);
        if (wheel->pending)
            return true;
    }
    return false;
}

struct flow *wheel_next_expired(struct flow_table *table, uint64_t now_ns, size_t *visits)
{
    struct wheel *wheel = &table->wheel;
    uint64_t now = now_ns >> WHEEL_TICK_SHIFT;

    /* Limit the distance after a jump of time by more than one turn. */
    if (now > wheel->tick + WHEEL_SLOTS + 1)
        wheel->tick = now - WHEEL_SLOTS - 1;
    else if (now + WHEEL_SLOTS < wheel->tick)
        wheel->tick = now > 0 ? now - 1 : 0;
    while (*visits > 0 && (wheel->pending || next_slot(wheel, now))) {
        struct flow *flow = wheel->pending, *next = flow->wheel_next;

        bucket_prefetch_end(table, next, next ? next->wheel_next : NULL);
        --*visits;
        if (flow_has_expired(table, flow, now_ns))
            return flow;
        wheel_remove(flow);
        wheel_add(table, flow);
    }
    return NULL;
}

void wheel_set_start(struct flow_table *table, uint64_t now_ns)
{
    if (table->wheel.tick == 0)
        table->wheel.tick = now_ns >> WHEEL_TICK_SHIFT;
}

/* Removes all flows of a slot and inserts them at the head of the list `before`. Returns the new head. */
static struct flow *remove_slot(struct flow **head, struct flow *before)
{
    struct flow *flow;

    while ((flow = *head)) {
        wheel_remove(flow);
        flow->wheel_next = before;
        before = flow;
    }
    return before;
}

struct flow *wheel_remove_all(struct wheel *wheel)
{
    struct flow *list = NULL;

    /* The list begins with the flows that expire first, most of which also began first, so that sort_by_start() is
     * fast. */
    for (uint64_t i = WHEEL_SLOTS; i > 0; i--)
        list = remove_slot(&wheel->slots[(wheel->tick + i) % WHEEL_SLOTS], list);
    wheel->sweep_left = 0;
    return remove_slot(&wheel->pending, list);
}
