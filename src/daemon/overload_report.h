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

/* Main's: tells of workers' overload and of packets that the kernel dropped. */
struct overload_report;
struct overload_report_options {
    struct worker *workers; /* lent for good, as all that follows */
    unsigned worker_count;
    struct output *output;
    struct ruleset *const *ruleset; /* the one in use */
    struct account_queue *queues; /* by worker: what has been reported of the kernel's drops, also by engines before */
};
/* Before the workers are started. 0 or -ENOMEM. */
int overload_report_new(struct overload_report **out, const struct overload_report_options *options);
void overload_report_free(struct overload_report *report); /* NULL is allowed */
/* A few times a second, or more often: what is new goes to events and the log. `last`: nothing comes after it. */
void overload_report_poll(struct overload_report *report, uint64_t now_ns, bool last);

#endif
