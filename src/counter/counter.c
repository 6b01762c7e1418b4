/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the row of a counter: an exact name, or a pattern whose parts `*` match any text without dots. */
#include "sluice/counter.h"

#include <string.h>

bool counter_match(const char *pattern, const char *name, const char *parts[COUNTER_LABELS],
                   size_t lengths[COUNTER_LABELS])
{
    size_t part = 0;

    for (; *pattern; pattern++) {
        if (strncmp(name, "[0]", 3) == 0) /* "detect.engines[0].id": an array of one element */
            name += 3;
        if (*pattern != '*') {
            if (*name++ != *pattern)
                return false;
            continue;
        }

        size_t length = strcspn(name, ".");

        if (length == 0)
            return false;
        if (part < COUNTER_LABELS) {
            parts[part] = name;
            lengths[part] = length;
        }
        part++;
        name += length;
    }
    return *name == '\0';
}

const struct counter *counter_find(const char *name)
{
    const struct counter *found = NULL;
    const char *parts[COUNTER_LABELS];
    size_t lengths[COUNTER_LABELS];

    if (strncmp(name, "threads.", strlen("threads.")) == 0) { /* of one worker: "threads.W#01-nfq0.NAME" */
        const char *dot = strchr(name + strlen("threads."), '.');

        name = dot ? dot + 1 : name;
    }
    for (const struct counter *row = counter_table; row->name; row++) {
        if (strcmp(row->name, name) == 0)
            return row;
        if (!found && counter_match(row->name, name, parts, lengths))
            found = row;
    }
    return found;
}

const char *counter_kind_name(enum counter_kind kind)
{
    static const char *const names[] = {
        [COUNTER_TOTAL] = "counter",
        [COUNTER_OUTSIDE] = "counter",
        [COUNTER_GAUGE] = "gauge",
        [COUNTER_MAXIMUM] = "maximum",
    };

    return names[kind];
}
