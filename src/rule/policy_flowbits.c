/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds flow bits that no rule sets because of the rule policy. A rule with `flowbits:isset,x` matches only after a
 * rule with `flowbits:set,x`; if the policy disables every rule that sets the bit, the rule with isset is loaded and
 * never matches. suricata-update enables the disabled rules again. Sluice leaves them disabled and gives one warning
 * for each bit, at the policy line that disabled a rule that sets it.
 */
#include <string.h>

#include "policy_priv.h"

/* Calls `each` for every flow bit that a `flowbits` option of the rule's text names with one of the two commands;
 * `other` may be NULL. Stops when `each` returns an error, and returns it; otherwise 0. */
static int each_flowbit(const char *text, const char *command, const char *other,
                        int (*each)(void *user, struct span bit), void *user)
{
    struct span rest = span_of(strchr(text, '(')), name, value, word;
    int err = 0;

    if (!rest.at)
        return 0;
    rest.at++;
    rest.length--;
    while (!err && policy_next_option(&rest, &name, &value)) {
        if (!span_equal_nocase(name, "flowbits") || !span_next(&value, ',', &word) || !value.at)
            continue;
        if (span_equal_nocase(word, command) || (other && span_equal_nocase(word, other)))
            err = each(user, span_trim(value));
    }
    return err;
}

struct bits {
    struct map map;
    void *value;               /* value that add_bit() stores for each bit */
    const struct map *without; /* bits that add_bit() omits; NULL: none */
};

static int add_bit(void *user, struct span bit)
{
    struct bits *bits = user;

    if (map_get(&bits->map, bit) || (bits->without && map_get(bits->without, bit)))
        return 0;
    return map_put(&bits->map, bit, bits->value);
}

struct lookup {
    const struct map *unset; /* flow bit -> struct rule_disabled, a disabled rule that sets it */
    struct map reported;
    const struct rule *rule;
    struct diag *diag;
};

static int report_bit(void *user, struct span bit)
{
    struct lookup *lookup = user;
    const struct rule_disabled *disabled = map_get(lookup->unset, bit);
    const struct rule_change *by = NULL;

    if (!disabled || map_get(&lookup->reported, bit))
        return 0;
    for (const struct rule_change *change = disabled->changes; change; change = change->next)
        by = change->disables ? change : by;
    diag_warning(lookup->diag, by ? by->at : (struct position){ .file = disabled->file, .line = disabled->line },
                 "this line disables rule %u:%u, which sets the flow bit '" SPAN_FORMAT
                 "': rule %u:%u, which tests it, can't match",
                 disabled->gid, disabled->sid, SPAN_ARGS(span_shown(bit)), lookup->rule->gid, lookup->rule->sid);
    return map_put(&lookup->reported, bit, user);
}

int policy_check_flowbits(struct rule_policy *policy, struct diag *diag)
{
    const struct rule_list *list = policy->list;
    struct bits set = { .value = policy }, unset = { .without = &set.map };
    struct lookup lookup = { .unset = &unset.map, .diag = diag };
    int err = 0;

    if (policy->counts.disabled == 0)
        return 0;
    map_init(&set.map, false);
    map_init(&unset.map, false);
    map_init(&lookup.reported, false);
    for (size_t i = 0; !err && i < list->count; i++)
        err = each_flowbit(list->entries[i].rule->text, "set", "toggle", add_bit, &set);
    for (size_t i = 0; !err && i < policy->disabled_count; i++) {
        unset.value = &policy->disabled[i];
        if (!policy->disabled[i].commented)
            err = each_flowbit(policy->disabled[i].text, "set", "toggle", add_bit, &unset);
    }
    for (size_t i = 0; !err && unset.map.count > 0 && i < list->count; i++) {
        lookup.rule = list->entries[i].rule;
        err = each_flowbit(lookup.rule->text, "isset", NULL, report_bit, &lookup);
    }
    map_clear(&set.map);
    map_clear(&unset.map);
    map_clear(&lookup.reported);
    return err;
}
