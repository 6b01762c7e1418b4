/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The doctor: examines a live ruleset for rules that keep packets from Sluice, drop them, or let them pass uninspected.
 * It changes nothing.
 *
 * The findings follow the kernel's semantics: a verdict accept ends its base chain only, and the packet continues with
 * the next base chain on the hook. A rule is therefore ahead of the queue when it is in the same base chain, or in a
 * chain that this one jumps to. Packets of an offloaded flow traverse no hook, wherever the offloading rule is.
 *
 * Threads:   no global state.
 * Ownership: a report has its own arena; it points into the ruleset, which must live as long.
 */
#ifndef SLUICE_DOCTOR_H
#define SLUICE_DOCTOR_H

#include "sluice/firewall.h"
#include "sluice/netrules.h"

enum doctor_severity {
    DOCTOR_NOTE,    /* information; no change needed */
    DOCTOR_WARNING, /* some packets are not inspected, or may not be */
    DOCTOR_BROKEN,  /* packets pass uninspected, the firewall is open, or nothing is inspected */
};

struct doctor_finding {
    struct doctor_finding *next;
    enum doctor_severity severity;
    const char *id; /* stable identifier: "order.accept" */
    const char *what, *why, *remedy;
    const struct netrules_rule *rule;   /* the rule of the finding, or NULL */
    const struct netrules_chain *chain; /* the chain of the rule or of the finding; or NULL */
    const char *other;                  /* another object, such as a routing rule or a process; or NULL */
};

/* Number of connections in conntrack that have Sluice's marks now. */
struct doctor_connections {
    uint64_t judged, answers; /* queue.mark, nft.reject-mark */
};

/* The queue of a next consumer, to which accepted packets are routed. */
enum { DOCTOR_NEXT_QUEUES = 16 };
struct doctor_next_queue {
    uint16_t queue;
    bool bypass; /* queue.route-bypass */
};

/* The intended setup. Values that were not given explicitly are taken from the sluice table, if there is one. */
struct doctor_input {
    struct firewall_options options;
    bool queues_given, hooks_given, bypass_given, attach_given;
    bool repeats; /* accepted packets return with a mark: queue.verdict */
    struct doctor_connections connections;
    struct doctor_next_queue next[DOCTOR_NEXT_QUEUES];
    unsigned next_count;
};

struct doctor_report {
    struct arena *arena;
    struct doctor_finding *findings; /* highest severity first; within one severity in the order of the checks */
    size_t counts[3];                /* by severity */
    uint16_t queue_first, queue_last;
    bool installed; /* there is a sluice table */
};

/* Returns 0 with *out, or -ENOMEM. */
int doctor_examine(struct doctor_report **out, const struct netrules *ruleset, const struct doctor_input *input);
void doctor_report_free(struct doctor_report *report);

enum doctor_severity doctor_worst(const struct doctor_report *report);
const char *doctor_severity_name(enum doctor_severity severity);

/* Write the report as text for an administrator, and as one JSON object. */
void doctor_print(struct text *out, const struct doctor_report *report);
void doctor_print_json(struct text *out, const struct doctor_report *report);

#endif
