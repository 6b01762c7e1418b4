/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Evaluation of the conditions of one buffer, with Suricata's semantics.
 *
 * Conditions are evaluated in order. The end of a match is the base of the next relative condition. When a condition
 * fails with INSPECT_NO, the nearest earlier condition with further possible positions (retry.more) continues at its
 * next position, and the conditions after it are evaluated again (backtracking). INSPECT_NEVER ends the evaluation,
 * because no other position of an earlier condition could change the result. A content whose position no condition
 * depends on (retry.alone) turns a failure after it into INSPECT_NEVER.
 *
 * Recursion: one level for each condition with further positions. Each level takes a step, so steps_left limits depth
 * and work. Search results of contents are cached, which limits the cost of a step.
 */
#include "inspect.h"

static enum inspect_result evaluate_conditions(struct inspection *in, const struct condition *condition)
{
    enum inspect_result no = INSPECT_NO;

    for (; condition; condition = condition->next) {
        struct inspect_retry retry = { 0 };
        uint32_t base = in->at;

        if (in->steps_left == 0)
            return inspection_record_limit(in, INSPECT_LIMIT_STEPS) ? INSPECT_YES : INSPECT_NEVER;
        in->steps_left--;
        enum inspect_result result = condition->keyword->content.inspect(in, condition, &retry);

        if (inspection_has_reached_limit(
                in)) /* the remaining conditions are not evaluated, because their base is unknown */
            return INSPECT_YES;
        if (result == INSPECT_YES && !retry.more) {
            if (retry.alone)
                no = INSPECT_NEVER;
            continue;
        }
        while (result == INSPECT_YES) { /* at each position of the condition, evaluate those after it */
            result = evaluate_conditions(in, condition->next);
            if (result != INSPECT_NO || !retry.more)
                break;
            in->at = base;
            retry.more = false;
            result = condition->keyword->content.inspect(in, condition, &retry);
        }
        return result == INSPECT_NO ? no : result;
    }
    return INSPECT_YES;
}

bool inspect_buffer(struct inspection *in, const struct condition *first)
{
    uint8_t before = 0;

    in->at = 0;
    in->search_count = 0;
    in->walk = inspect_buffer;
    if (in->limits) { /* ignore limits that were reached in other buffers */
        before = in->limits->reached;
        in->limits->reached = 0;
    }
    bool holds = evaluate_conditions(in, first) == INSPECT_YES;

    if (in->limits)
        in->limits->reached |= before;
    return holds;
}

bool inspect_is_absent(const struct inspection *in, const struct condition *condition)
{
    const struct content *content = condition_content(condition);

    if (!content || content->negated || content->relative || content->length > in->length)
        return false;
    for (uint32_t i = 0; i < in->search_count; i++) {
        const struct inspect_search *search = &in->searches[i];

        if (search->condition == condition)
            return search->from == 0 && search->until == in->length - content->length + 1;
    }
    return false;
}
