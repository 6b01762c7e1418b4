/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of detection state to a new ruleset. Flows and transactions store signature numbers together with the
 * ruleset's generation. A ruleset that replaces another one maps the signatures of its predecessor: a rule with the
 * same ids and the same text is the same rule, so its pending candidates stay pending, and what has matched does not
 * match again.
 *
 * The map consists of numbers and is built together with the ruleset: the old ruleset may be freed when no worker uses
 * it any more. State older than the previous ruleset is dropped, and the bytes are scanned again.
 *
 * Threads: built by the thread that loads the rules, read-only from then on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

static bool is_same_rule(const struct rule *one, const struct rule *other)
{
    return one->text && other->text && strcmp(one->text, other->text) == 0;
}

int carry_make(struct ruleset *ruleset, const struct ruleset *before)
{
    struct carried *carried = &ruleset->carried;
    uint32_t *check_of = calloc(rule_list_count(ruleset->rules) + 1, sizeof(*check_of)); /* by the rule's index */

    carried->to = calloc((size_t)before->check_count + 1, sizeof(*carried->to));
    if (!check_of || !carried->to) {
        free(check_of);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < ruleset->check_count; i++)
        check_of[ruleset->checks[i].rule->index] = i;
    for (uint32_t i = 0; i < before->check_count; i++) {
        const struct rule *old = before->checks[i].rule, *now = rule_list_find(ruleset->rules, old->gid, old->sid);

        carried->to[i] = now && is_same_rule(old, now) ? check_of[now->index] : CARRIED_NOWHERE;
    }
    carried->generation = before->generation;
    carried->count = before->check_count;
    free(check_of);
    return 0;
}

bool carry_knows(const struct ruleset *ruleset, uint32_t generation)
{
    return ruleset->carried.to && ruleset->carried.generation == generation;
}

uint32_t carry_check(const struct ruleset *ruleset, uint32_t check)
{
    return check < ruleset->carried.count ? ruleset->carried.to[check] : CARRIED_NOWHERE;
}
