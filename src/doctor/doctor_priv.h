/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the doctor: the context of one examination, the walk through chains in the kernel's order, and the checks.
 */
#ifndef SLUICE_DOCTOR_PRIV_H
#define SLUICE_DOCTOR_PRIV_H

#include "sluice/arena.h"
#include "sluice/doctor.h"

/* A rule that queues packets to a queue of Sluice. */
struct feed {
    struct feed *next;
    const struct netrules_rule *rule;
    bool own; /* true: the rule is in the sluice table; false: in a table of another program */
};

struct sluice_table {
    struct sluice_table *next;
    const struct netrules_table *table;
    enum attach_mode mode;
};

struct context {
    const struct netrules *ruleset;
    const struct doctor_host *host;
    const struct doctor_input *input;
    struct doctor_report *report;
    struct arena *arena;          /* the report's arena, from which findings and their texts are allocated */
    struct doctor_finding **last; /* the `next` member to which add_finding() links the next finding */
    struct sluice_table *own;     /* the installed sluice tables of the configured name; NULL: none */
    struct feed *feeds;           /* list of the rules that queue to Sluice, in the order of the ruleset */
    uint16_t first, last_queue;   /* range of Sluice's queue numbers */
    bool own_queues;              /* true: the queue numbers are those of the sluice table; false: the caller's */
    uint32_t mark, mark_mask;     /* mark of inspected packets in repeat mode; mask 0: none */
    bool repeats;                 /* true: repeat mode is configured or installed */
    /* offload options of the installed sluice table; if none is installed, of the configuration */
    struct firewall_offload offload;
    struct doctor_finding scratch;
    bool failed; /* true: memory was exhausted, so findings may be missing */
};

/* Adds a finding. `what` is a printf format; `why` and `remedy` are not copied and must be constants or in the arena.
 * Returns the finding, to which the caller may add the rule or chain. Never returns NULL: if memory is exhausted,
 * returns &context->scratch. */
struct doctor_finding *add_finding(struct context *context, enum doctor_severity severity, const char *id,
                                   const char *why, const char *remedy, const char *what, ...)
    __attribute__((format(printf, 6, 7)));
void set_finding_rule(struct doctor_finding *finding, const struct netrules_rule *rule);

/* Returns the entry of context->own for `table`, or NULL if `table` is not the sluice table. */
const struct sluice_table *find_own_table(const struct context *context, const struct netrules_table *table);
/* Returns whether the rule is one of context->feeds. */
bool is_feed(const struct context *context, const struct netrules_rule *rule);
bool is_sluice_rule(const struct context *context, const struct netrules_rule *rule);

/* Returns whether the queue rule replaces an accept of the firewall (mode chain). The firewall has decided to accept
 * its packets, so bypass lets nothing pass that the firewall would drop. */
bool replaces_accept(const struct context *context, const struct netrules_rule *rule);
/* Returns whether packets that Sluice accepts traverse the chain again (repeat mode): either the configuration says so,
 * or the rule compares the mark of inspected packets. */
bool repeats(const struct context *context, const struct netrules_rule *rule);

/* Returns the families of packets (NETRULES_IPV4...) that traverse the chain. */
unsigned families_of(const struct netrules_chain *chain);
/* Returns true if both are base chains at the same hook that packets of the same family traverse. */
bool same_hook(const struct netrules_chain *one, const struct netrules_chain *other);

/* Returns "queue 0" or "queues 0-3", allocated in the arena. */
const char *queues_text(struct context *context, unsigned first, unsigned last);

/* --- Walk through a base chain (walk.c) ------------------------------------------------------------- */

/* A rule that the walk reports. `conditional`, `established` and `only_loopback` include the conditions of the rules
 * that jump to the rule's chain. */
struct step {
    const struct netrules_rule *rule;
    bool conditional, established, only_loopback;
    bool in_branch;      /* true: a jump with a condition leads to the rule's chain, so not every packet reaches it */
    bool accepts, drops; /* the rule accepts or drops packets, by its verdict or by an element of its verdict map */
};

struct path {
    const struct netrules_chain *base;
    const struct netrules_rule *goal;
    bool reached;
    /* true: only unconditional rules lead to the goal; every packet that no earlier rule decides on reaches it */
    bool always;
    /* a rule before the goal with a verdict for every packet, which makes the goal unreachable; or NULL */
    const struct netrules_rule *blocker;
    /* before() is called for each rule up to and including the goal, after() for each later rule; either may be NULL.
     */
    void (*before)(const struct step *step, void *user);
    void (*after)(const struct step *step, void *user);
    void *user;
};

/* Walks through the base chain and the chains that it jumps to, and sets reached, always and blocker. Returns 0 or
 * -ENOMEM. */
int walk(const struct netrules *ruleset, struct path *path);

/* Calls `each` for every base chain of the rule's table from which the rule can be reached. Returns 0 or -ENOMEM. */
int for_each_base(const struct netrules *ruleset, const struct netrules_rule *rule,
                  void (*each)(const struct netrules_chain *base, void *user), void *user);

/* --- Checks: each adds its findings ----------------------------------------------------------------- */

void check_own_table(struct context *context);
void check_order(struct context *context);
void check_priorities(struct context *context);
void check_offload(struct context *context);
void check_queues(struct context *context);
void check_listeners(struct context *context);
void check_marks(struct context *context);
void check_offload_marks(struct context *context);
/* Sets context->offload from the rules of the installed sluice table, or from the configuration if none is installed.
 */
void find_offload(struct context *context);
/* Returns whether the rule of the sluice table queues offloaded flows to the next consumer (mode route), which is not a
 * queue of Sluice. */
bool is_next_queue(const struct context *context, const struct netrules_rule *rule);
void check_families(struct context *context);
void check_managers(struct context *context);
void check_links(struct context *context);
void check_kernel(struct context *context);

/* Returns the name of the program that is known to create chains and tables with these names, for example Docker for
 * the chain DOCKER-USER; NULL if none is known. */
const char *manager_of(const struct netrules_chain *chain);

#endif
