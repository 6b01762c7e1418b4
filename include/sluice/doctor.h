/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The doctor: judges a live ruleset by what it does to the packets that Sluice is to see. It changes nothing.
 *
 * What it holds rules to is what the kernel does: a verdict accept ends its own base chain only, the next one on the
 * hook goes on; so a rule is ahead of the queue when it is in the same base chain, or in one that this jumps to. A flow
 * that was offloaded comes to no hook at all, wherever the rule that offloads it stands.
 *
 * Threads:   none of its own; nothing is shared.
 * Ownership: a report lies in its own arena; it lends from the ruleset, which must live as long.
 */
#ifndef SLUICE_DOCTOR_H
#define SLUICE_DOCTOR_H

#include "sluice/firewall.h"
#include "sluice/netrules.h"

enum doctor_severity {
    DOCTOR_NOTE,    /* to know, not to change */
    DOCTOR_WARNING, /* some packets are not seen, or may not be */
    DOCTOR_BROKEN,  /* packets pass uninspected, or the firewall is open, or nothing is seen at all */
};

struct doctor_finding {
    struct doctor_finding *next;
    enum doctor_severity severity;
    const char *id; /* stable: "order.accept" */
    const char *what, *why, *remedy;
    const struct netrules_rule *rule;   /* in question, or NULL */
    const struct netrules_chain *chain; /* of the rule, or in question itself; or NULL */
    const char *other;                  /* what is neither: a policy route, a process; or NULL */
};

/* Connections that have our marks now, by conntrack. */
struct doctor_connections {
    uint64_t judged, answers; /* queue.mark, nft.reject-mark */
};

/* The queue of a next consumer, to which accepted packets are routed. */
enum { DOCTOR_NEXT_QUEUES = 16 };
struct doctor_next_queue {
    uint16_t queue;
    bool bypass; /* queue.route-bypass */
};

/* What is wanted. What was not said on purpose is taken from the own table, if there is one. */
struct doctor_input {
    struct firewall_options options;
    bool queues_given, hooks_given, bypass_given, attach_given;
    bool repeats; /* accepted packets come back with a mark: queue.verdict */
    struct doctor_connections connections;
    struct doctor_next_queue next[DOCTOR_NEXT_QUEUES];
    unsigned next_count;
};

struct doctor_report {
    struct arena *arena;
    struct doctor_finding *findings; /* the worst first, those of one severity in the order of the checks */
    size_t counts[3];                /* by severity */
    uint16_t queue_first, queue_last;
    bool installed; /* there is an own table */
};

/* 0 with *out, or -ENOMEM. */
int doctor_judge(struct doctor_report **out, const struct netrules *ruleset, const struct doctor_input *input);
void doctor_report_free(struct doctor_report *report);

enum doctor_severity doctor_worst(const struct doctor_report *report);
const char *doctor_severity_name(enum doctor_severity severity);

/* As lines for a person, and as one JSON object. */
void doctor_print(struct text *out, const struct doctor_report *report);
void doctor_print_json(struct text *out, const struct doctor_report *report);

#endif
