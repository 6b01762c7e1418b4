/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Events and log lines about overload and about packets that the kernel dropped.
 */
#ifndef SLUICE_OVERLOAD_REPORT_H
#define SLUICE_OVERLOAD_REPORT_H

#include <stdbool.h>
#include <stdint.h>

struct account_queue;
struct output;
struct ruleset;
struct worker;

struct overload_report;
struct overload_report_options {
    struct worker *workers; /* lent for good, as all that follows */
    unsigned worker_count;
    struct output *output;
    struct ruleset *const *ruleset; /* the one in use */
    struct account_queue *queues;   /* by worker: drops of the kernel that this and previous engines have reported */
};
/* Called before the workers start. 0 or -ENOMEM. */
int overload_report_new(struct overload_report **out, const struct overload_report_options *options);
void overload_report_free(struct overload_report *report); /* NULL is allowed */
/* Called at least a few times a second: writes events and log lines about what is new. `last`: the final call. */
void overload_report_poll(struct overload_report *report, uint64_t now_ns, bool last);

#endif
