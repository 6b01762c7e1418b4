/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The walk over the conditions of one buffer, as Suricata does it.
 *
 * Conditions are looked at in their order. Where one matched says where relative ones start. When a condition fails
 * with INSPECT_NO, the nearest earlier one that has more places to offer (retry.more) tries the next, and the rest is
 * walked again from there; INSPECT_GIVE_UP ends the whole walk, because no other place can help. A content on whose
 * place nothing depends (retry.alone) turns a failure after it into INSPECT_GIVE_UP.
 *
 * Recursion: a level for each condition with more places on the way, and each costs a step, so both depth and work are
 * bounded by steps_left. What a step of a content costs is bounded by what the walk remembers of its searches.
 */
#include "inspect.h"

static enum inspect_result walk(struct inspection *in, const struct condition *condition);

/* The rest after `condition`, which matched and has more places: for each of them until the rest holds. */
static enum inspect_result walk_places(struct inspection *in, const struct condition *condition, uint32_t base,
                                       struct inspect_retry retry)
{
    for (;;) {
        enum inspect_result result = walk(in, condition->next);

        if (result != INSPECT_NO || !retry.more)
            return result;
        in->at = base;
        retry.more = false;
        result = condition->keyword->inspect(in, condition, &retry);
        if (result != INSPECT_YES)
            return result;
    }
}

static enum inspect_result walk(struct inspection *in, const struct condition *condition)
{
    enum inspect_result no = INSPECT_NO;

    for (; condition; condition = condition->next) {
        struct inspect_retry retry = { 0 };
        uint32_t base = in->at;

        if (in->steps_left == 0)
            return inspection_reaches_limit(in, INSPECT_LIMIT_STEPS) ? INSPECT_YES : INSPECT_GIVE_UP;
        in->steps_left--;
        enum inspect_result result = condition->keyword->inspect(in, condition, &retry);

        if (inspection_has_reached_limit(in)) /* where the rest of the conditions begins is not known */
            return INSPECT_YES;
        if (result == INSPECT_YES && retry.more)
            result = walk_places(in, condition, base, retry);
        if (result != INSPECT_YES)
            return result == INSPECT_NO ? no : result;
        if (retry.more)
            return INSPECT_YES;
        if (retry.alone)
            no = INSPECT_GIVE_UP;
    }
    return INSPECT_YES;
}

bool inspect_buffer(struct inspection *in, const struct condition *first)
{
    uint8_t before = 0;

    in->at = 0;
    in->search_count = 0;
    in->walk = inspect_buffer;
    if (in->limits) { /* those that other buffers reached say nothing of this one */
        before = in->limits->reached;
        in->limits->reached = 0;
    }
    bool holds = walk(in, first) == INSPECT_YES;

    if (in->limits)
        in->limits->reached |= before;
    return holds;
}
