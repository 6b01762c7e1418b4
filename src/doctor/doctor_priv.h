/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the doctor: the context of one examination, the walk through chains in the kernel's order, and the checks.
 */
#ifndef SLUICE_DOCTOR_PRIV_H
#define SLUICE_DOCTOR_PRIV_H

#include "sluice/arena.h"
#include "sluice/doctor.h"

/* A rule that feeds a queue of Sluice. */
struct feed {
    struct feed *next;
    const struct netrules_rule *rule;
    bool own; /* in the sluice table */
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
    struct arena *arena; /* the report's arena */
    struct doctor_finding **last;
    struct sluice_table *own;
    struct feed *feeds;         /* in the order of the ruleset */
    uint16_t first, last_queue; /* queue numbers of Sluice */
    bool own_queues;            /* the queue numbers are from the sluice table */
    uint32_t mark, mark_mask;   /* mark of inspected packets in repeat mode; mask 0: none */
    bool repeats;
    struct firewall_offload offload; /* of the sluice table, otherwise of the configuration */
    struct doctor_finding scratch;
    bool failed; /* out of memory */
};

/* Adds a finding: `what` is a format; `why` and `remedy` are constants or in the arena. Returns the finding, which the
 * caller completes; a scratch object when out of memory, never NULL. */
struct doctor_finding *add_finding(struct context *context, enum doctor_severity severity, const char *id,
                                   const char *why, const char *remedy, const char *what, ...)
    __attribute__((format(printf, 6, 7)));
void set_finding_rule(struct doctor_finding *finding, const struct netrules_rule *rule);

/* Returns the entry of `table` if it is a sluice table, otherwise NULL. */
const struct sluice_table *find_own_table(const struct context *context, const struct netrules_table *table);
/* Whether the rule is one of context->feeds. */
bool is_feed(const struct context *context, const struct netrules_rule *rule);
bool is_sluice_rule(const struct context *context, const struct netrules_rule *rule);

/* Whether the rule replaces an accept (mode chain): the firewall has accepted the packets that it matches, even without
 * a listener. */
bool replaces_accept(const struct context *context, const struct netrules_rule *rule);
/* Whether accepted packets return to the chain: by the configuration, or because the rule does not match marked
 * packets. */
bool repeats(const struct context *context, const struct netrules_rule *rule);

/* Returns the families of packets (NETRULES_IPV4...) that traverse the chain. */
unsigned families_of(const struct netrules_chain *chain);
bool same_hook(const struct netrules_chain *one, const struct netrules_chain *other);

/* Returns "queue 0" or "queues 0-3", allocated in the arena. */
const char *queues_text(struct context *context, unsigned first, unsigned last);

/* --- Walk through a base chain (walk.c) ------------------------------------------------------------- */

/* A rule on the walk; the conditions include those of the rules that jump to its chain. */
struct step {
    const struct netrules_rule *rule;
    bool conditional, established, only_loopback;
    bool in_branch;      /* not every packet reaches the rule's chain */
    bool accepts, drops; /* by its verdict or by a branch of its verdict map */
};

struct path {
    const struct netrules_chain *base;
    const struct netrules_rule *goal;
    bool reached;
    bool always; /* every packet that gets this far reaches the goal */
    const struct netrules_rule
        *blocker; /* ends the walk of every packet before the goal, which is then unreachable; or NULL */
    /* Called for each rule up to and including the goal, and for each rule after it. */
    void (*before)(const struct step *step, void *user);
    void (*after)(const struct step *step, void *user);
    void *user;
};

/* Walks from the base chain to the goal and to the end of the chain. Returns 0 or -ENOMEM. */
int walk(const struct netrules *ruleset, struct path *path);

/* Calls `each` for every base chain of the rule's table from which the rule can be reached. */
int for_each_base(const struct netrules *ruleset, const struct netrules_rule *rule,
                  void (*each)(const struct netrules_chain *base, void *user), void *user);

/* --- Texts of rules (live_rules.c) ------------------------------------------------------------------ */

/* As doctor_read_rule_texts(), from the output of `nft --handle --stateless list ruleset`. */
void set_rule_texts(struct doctor_report *report, const char *listing);

/* --- Checks: each adds its findings ----------------------------------------------------------------- */

void check_own_table(struct context *context);
void check_order(struct context *context);
void check_priorities(struct context *context);
void check_offload(struct context *context);
void check_queues(struct context *context);
void check_listeners(struct context *context);
void check_marks(struct context *context);
void check_offload_marks(struct context *context);
/* Fills context->offload from the installed rules. */
void find_offload(struct context *context);
/* Whether the rule queues offloaded flows to the next consumer (mode route): not a queue of Sluice. */
bool is_next_queue(const struct context *context, const struct netrules_rule *rule);
void check_families(struct context *context);
void check_managers(struct context *context);
void check_links(struct context *context);
void check_kernel(struct context *context);

/* Returns the program known to create such tables and chains, or NULL: Docker by its chain DOCKER-USER. */
const char *manager_of(const struct netrules_chain *chain);

#endif
