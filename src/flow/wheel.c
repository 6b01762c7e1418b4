/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The timer wheel. A flow is in the slot of the time at which it expires without further packets. A packet does not
 * move it: it only writes the flow's own last_ns, and when a slot is emptied the refreshed flows move to their current
 * slot. So a packet touches no neighbour, and a flow costs one visit per timeout however busy it is.
 *
 * A slot is emptied when its time has passed completely, so that its flows have expired or were refreshed. A bit for
 * each slot marks those that are not empty, because captures may have hours without packets. The flows of the slot are
 * visited from a separate list (`pending`), because the budget of a call may end within it.
 *
 * Time comes from packets and may jump. After a jump forward by more than a turn, one turn visits all flows. After a
 * jump back by more than a turn, the wheel is set back and visits all flows within a turn from there. When the
 * emergency makes all timeouts shorter, flows are in slots that are due too late, so all slots are searched once.
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

/* Returns the distance to the first of `count` slots from `index` on that may contain flows, counted from 1; `count`
 * when none does. */
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

/* Fills `pending`; false if no slot is due. Takes at most one turn of steps, because `tick` is at most one turn behind.
 */
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

    /* Time has jumped by more than one turn. */
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

/* Removes all flows of a slot and puts them in front of a list. Returns the new list. */
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

    /* The flow that expires first is the first of the list. It mostly also began first. */
    for (uint64_t i = WHEEL_SLOTS; i > 0; i--)
        list = remove_slot(&wheel->slots[(wheel->tick + i) % WHEEL_SLOTS], list);
    wheel->sweep_left = 0;
    return remove_slot(&wheel->pending, list);
}
