/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What follows a literal in its rule. A literal of two bytes stands in most super-packets by chance, and what the rule
 * asks next (that a number before it is the payload's length, say) is seldom so: where that is decided by the place
 * alone, it is asked as soon as the literal is found, and a rule of which nothing more can come does not become a
 * candidate.
 *
 * It is asked as the walk over the conditions would (inspect.c), so whoever fails here fails there. One that holds at
 * this place and has others to offer ends it: only the walk goes back.
 */
#include <string.h>

#include "detect_priv.h"

struct follow follow_of(const struct condition *literal)
{
    struct follow follow = { .first = literal->next };

    for (const struct condition *c = literal->next;
         c && c->keyword->decided_by_place && c->keyword->decided_by_place(c) && follow.count < FOLLOW_MOST;
         c = c->next)
        follow.count++;
    return follow;
}

bool follow_may_hold(const struct follow *follow, const uint8_t *bytes, uint32_t length, uint32_t end)
{
    const struct condition *condition = follow->first;
    struct inspection in;

    memset(&in, 0, offsetof(struct inspection, values));
    in.search_count = 0;
    in.data = bytes;
    in.length = length;
    in.at = end;
    for (uint32_t i = 0; i < follow->count; i++, condition = condition->next) {
        struct inspect_retry retry = { 0 };

        if (condition->keyword->inspect(&in, condition, &retry) != INSPECT_YES)
            return false;
        if (retry.more)
            return true;
    }
    return true;
}
