/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters: unit, kind and help of each counter in EVE's stats event, and its name and labels as a metric of
 * Prometheus. `sluice stats --describe`, docs/counters.md and `sluice metrics` print them, and an engine hand-over
 * decides by the kind whether the next engine continues a counter.
 *
 * To add a counter, add a row to src/counter/table.c. A counter without a row is still written to stats events and
 * exported as sluice_unlisted, and tests/netns/metrics.sh fails.
 *
 * Threads: the table is constant.
 */
#ifndef SLUICE_COUNTER_H
#define SLUICE_COUNTER_H

#include <stdbool.h>
#include <stddef.h>

enum counter_kind {
    COUNTER_TOTAL,   /* only increases; the next engine continues it after a hand-over, and a crash resets it to 0 */
    COUNTER_OUTSIDE, /* only increases; the kernel or the supervisor counts, so that it outlives engines */
    COUNTER_GAUGE,   /* a current value */
    COUNTER_MAXIMUM, /* the largest value since the start; the next engine continues it */
};

enum { COUNTER_LABELS = 4 /* maximum number of labels of a metric */ };

struct counter {
    const char *name; /* as in stats events; a part `*` stands for any text without dots, such as a queue's number */
    const char *unit; /* unit of the value: "packets", "bytes", "us" ...; "": a number without unit */
    enum counter_kind kind;
    /* Name of the metric without the prefix sluice_ and without unit: "queue_verdict" with the unit packets gives
     * sluice_queue_verdict_packets. "": the unit alone is the name. */
    const char *metric;
    /* Labels of the metric, separated by spaces: a name for each `*` (a name that is repeated joins the parts with
     * dots), and NAME=VALUE for fixed ones. */
    const char *labels;
    const char *help; /* one sentence without full stop */
};

/* Help of a metric that several rows share; a metric of one row has that row's help. */
struct counter_family {
    const char *metric, *unit; /* as in these rows */
    const char *help;
};

extern const struct counter counter_table[];           /* ends with a row without a name */
extern const struct counter_family counter_families[]; /* ends with a row without a metric */

/* Returns the row of a counter, NULL if it has none. An exact name precedes a pattern. */
const struct counter *counter_find(const char *name);
/* Returns whether `name` matches the pattern. Sets parts[] and lengths[] to the texts that the first COUNTER_LABELS `*`
 * of the pattern match; they point into `name`. */
bool counter_match(const char *pattern, const char *name, const char *parts[COUNTER_LABELS],
                   size_t lengths[COUNTER_LABELS]);
const char *counter_kind_name(enum counter_kind kind); /* "counter", "gauge", "maximum" */

#endif
