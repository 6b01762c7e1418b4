/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transfer of detection state to a new ruleset. Flows and transactions store signature numbers together with the
 * ruleset's generation. A ruleset that replaces another one maps the signatures of the previous one. A rule whose gid,
 * sid and text are unchanged is the same rule. Its pending candidates stay pending, and it does not match again in
 * transactions in which it has matched.
 *
 * The map contains only numbers, no pointers to the previous ruleset, which is freed when no worker uses it any more.
 * State of an older ruleset than the previous one is discarded, and the bytes are scanned again.
 *
 * Threads: built by the thread that loads the rules, read-only from then on.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "detect_priv.h"

int state_map_new(struct ruleset *ruleset, const struct ruleset *before)
{
    struct state_map *state_map = &ruleset->state_map;
    uint32_t *signature_of =
        calloc(rule_list_count(ruleset->rules) + 1, sizeof(*signature_of)); /* index: of the rule */

    state_map->signatures = calloc((size_t)before->signature_count + 1, sizeof(*state_map->signatures));
    if (!signature_of || !state_map->signatures) {
        free(signature_of);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < ruleset->signature_count; i++)
        signature_of[ruleset->signatures[i].rule->index] = i;
    for (uint32_t i = 0; i < before->signature_count; i++) {
        const struct rule *old = before->signatures[i].rule;
        const struct rule *rule = rule_list_find(ruleset->rules, old->gid, old->sid);
        bool is_same = rule && old->text && rule->text && strcmp(old->text, rule->text) == 0;

        state_map->signatures[i] = is_same ? signature_of[rule->index] : SIGNATURE_NONE;
    }
    state_map->generation = before->generation;
    state_map->count = before->signature_count;
    free(signature_of);
    return 0;
}

bool state_map_covers(const struct ruleset *ruleset, uint32_t generation)
{
    return ruleset->state_map.signatures && ruleset->state_map.generation == generation;
}

uint32_t state_map_signature(const struct ruleset *ruleset, uint32_t signature)
{
    return signature < ruleset->state_map.count ? ruleset->state_map.signatures[signature] : SIGNATURE_NONE;
}
