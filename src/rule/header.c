/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses the action, the first word of a rule. */
#include <errno.h>

#include "rule_priv.h"

static const struct {
    const char *word;
    enum rule_action action;
} actions[] = {
    { "alert", ACTION_ALERT },
    { "pass", ACTION_PASS },
    { "drop", ACTION_DROP },
    { "reject", ACTION_REJECT },
    { "rejectsrc", ACTION_REJECT },
    { "rejectdst", ACTION_REJECT_DESTINATION },
    { "rejectboth", ACTION_REJECT_BOTH },
};

/* Actions of Suricata 8 and Snort that Sluice does not support. */
static const struct {
    const char *word, *hint;
} unsupported_actions[] = {
    { "config", NULL },
    { "accept", "use 'pass'" },
    { "sdrop", "use 'drop' with 'noalert;'" },
    { "log", "use 'alert'" },
    { "block", "use 'drop'" },
    { "react", "use 'reject'" },
    { "rewrite", "use 'replace'" },
    { "file_id", NULL },
    { "activate", "use flowbits" },
    { "dynamic", "use flowbits" },
};

const char *rule_action_name(enum rule_action action)
{
    static const char *const names[ACTION_COUNT] = {
        [ACTION_ALERT] = "alert",
        [ACTION_PASS] = "pass",
        [ACTION_DROP] = "drop",
        [ACTION_REJECT] = "reject",
        [ACTION_REJECT_DESTINATION] = "rejectdst",
        [ACTION_REJECT_BOTH] = "rejectboth",
    };

    return names[action];
}

int action_parse(struct span word, enum rule_action *out, const char **hint)
{
    for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
        if (span_equal_nocase(word, actions[i].word)) {
            *out = actions[i].action;
            return 0;
        }
    }
    for (size_t i = 0; i < sizeof(unsupported_actions) / sizeof(unsupported_actions[0]); i++) {
        if (span_equal_nocase(word, unsupported_actions[i].word)) {
            *hint = unsupported_actions[i].hint;
            return -ENOTSUP;
        }
    }
    return -EINVAL;
}
