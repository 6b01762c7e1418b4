/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Inside the doctor: the case with its findings, the way of a packet through chains, and the checks. */
#ifndef SLUICE_DOCTOR_PRIV_H
#define SLUICE_DOCTOR_PRIV_H

#include "sluice/arena.h"
#include "sluice/doctor.h"

/* A rule that feeds our queues. */
struct feed {
    struct feed *next;
    const struct netrules_rule *rule;
    bool own; /* in our table */
};

struct own_table {
    struct own_table *next;
    const struct netrules_table *table;
    enum attach_mode mode;
};

struct patient {
    const struct netrules *ruleset;
    const struct doctor_input *input;
    struct doctor_report *report;
    struct arena *arena; /* of the report */
    struct doctor_finding **last;
    struct own_table *own;
    struct feed *feeds, **last_feed; /* in the order of the ruleset */
    uint16_t first, last_queue;      /* ours */
    bool own_queues;                 /* they are what our own table has */
    uint32_t mark, mark_mask;        /* of judged packets in repeat mode; mask 0: none */
    bool repeats;
    struct firewall_offload offload; /* of our own table, or as it is configured */
    struct doctor_finding scratch;
    bool failed; /* out of memory */
};

/* Adds a finding; `what` is formatted, `why` and `remedy` are constants. The finding, to be completed; a scratch one
 * when out of memory, never NULL. */
struct doctor_finding *find_out(struct patient *patient, enum doctor_severity severity, const char *id, const char *why,
                                const char *remedy, const char *what, ...) __attribute__((format(printf, 6, 7)));
void about_rule(struct doctor_finding *finding, const struct netrules_rule *rule);

/* Our own table of that, or NULL. */
const struct own_table *own_of(const struct patient *patient, const struct netrules_table *table);
bool is_own(const struct patient *patient, const struct netrules_rule *rule);

/* Whether the rule replaces an accept (mode chain): the firewall has accepted the packets that it matches, even without
 * a listener. */
bool replaces_accept(const struct patient *patient, const struct netrules_rule *rule);
/* Whether accepted packets return to the chain: by the configuration, or because the rule does not match marked
 * packets. */
bool repeats(const struct patient *patient, const struct netrules_rule *rule);

/* Families of packets that meet a chain. */
unsigned families_of(const struct netrules_chain *chain);
bool same_hook(const struct netrules_chain *one, const struct netrules_chain *other);

/* "queue 0" or "queues 0-3"; lent by the arena. */
const char *queues_text(struct patient *patient, unsigned first, unsigned last);

/* --- The way of a packet through a base chain (walk.c) -------------------------------------------- */

/* A rule on the way, with what its callers ask for, too. */
struct step {
    const struct netrules_rule *rule;
    bool conditional, established, only_loopback;
    bool in_branch;      /* not every packet comes to the rule's chain */
    bool accepts, drops; /* itself or by a branch of its map */
};

struct way {
    const struct netrules_chain *base;
    const struct netrules_rule *goal;
    bool reached;
    bool always;                         /* every packet that comes so far comes to the goal */
    const struct netrules_rule *blocker; /* takes every packet before the goal, which is then never reached; or NULL */
    /* Called for each rule up to the goal, and for each behind it. */
    void (*before)(const struct step *step, void *user);
    void (*behind)(const struct step *step, void *user);
    void *user;
};

/* Goes from the base chain to the goal and on. 0 or -ENOMEM. */
int walk(const struct netrules *ruleset, struct way *way);

/* The base chains of the rule's table from which it can be reached: calls `each` for every one. */
int each_base(const struct netrules *ruleset, const struct netrules_rule *rule,
              void (*each)(const struct netrules_chain *base, void *user), void *user);

/* --- Checks: each adds its findings --------------------------------------------------------------- */

void check_own_table(struct patient *patient);
void check_order(struct patient *patient);
void check_priorities(struct patient *patient);
void check_offload(struct patient *patient);
void check_queues(struct patient *patient);
void check_listeners(struct patient *patient);
void check_marks(struct patient *patient);
void check_offload_marks(struct patient *patient);
/* Takes patient->offload from the rules that are there. */
void take_offload(struct patient *patient);
/* Where flows go on that our table accepts, in mode route: no queue of ours. */
bool is_next_queue(const struct patient *patient, const struct netrules_rule *rule);
void check_families(struct patient *patient);
void check_managers(struct patient *patient);
void check_links(struct patient *patient);
void check_kernel(struct patient *patient);

/* The program that is known to make such tables and chains, or NULL: Docker by its chain DOCKER-USER. */
const char *manager_of(const struct netrules_chain *chain);

#endif
