/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes events and log lines about overload, and about packets that the kernel dropped.
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
    struct worker *workers; /* this and all following pointers must outlive the report */
    unsigned worker_count;
    struct output *output;
    struct ruleset *const *ruleset; /* points to the pointer to the ruleset in use */
    /* One for each worker: the kernel's drops that this and previous engines have reported. */
    struct account_queue *queues;
};
/* Called before the workers start. Returns 0 or -ENOMEM. */
int overload_report_new(struct overload_report **out, const struct overload_report_options *options);
void overload_report_free(struct overload_report *report); /* NULL is allowed */
/* Called several times a second: writes events and log lines about overload since the previous call. `last` true: reads
 * the kernel's counters even if that was done recently. */
void overload_report_poll(struct overload_report *report, uint64_t now_ns, bool last);

#endif
