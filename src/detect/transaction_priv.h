/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rules on transactions of application protocols: their plans and groups, which are part of the ruleset, and the
 * detection state that is stored with each transaction.
 */
#ifndef SLUICE_DETECT_TRANSACTION_PRIV_H
#define SLUICE_DETECT_TRANSACTION_PRIV_H

#include "sluice/app.h"
#include "ruleset_priv.h"

struct detector;

/* --- Transactions --------------------------------------------------------------------------------- */

enum {
    TRANSACTION_BUFFERS = 128,   /* buffers with literals, per protocol and direction */
    TRANSACTION_VALUES = 1024,   /* values of a buffer with multiple values */
    TRANSACTION_CANDIDATES = 24, /* that one block of transaction state stores, per direction */
    TRANSACTION_BLOCKS = 8,
    TRANSACTION_POSITIONS = 6, /* growing values whose scan position is stored */
};

/*
 * How a rule is evaluated on transactions of one protocol, in one direction.
 *
 * A transactional rule (`=>`) is evaluated in the direction to the client, when the buffers of the other direction
 * still exist, except for growing ones. A rule that uses a growing buffer of the direction to the server has a second
 * plan, the half plan, with all conditions of that direction. A match of the half plan is stored for the direction to
 * the client.
 */
struct transaction_plan {
    struct transaction_plan *next;
    bool half;
    uint8_t proto, direction;         /* protocol id */
    uint8_t progress;                 /* lowest progress at which all buffers that do not grow can be read */
    bool grows, files, events;        /* the rule uses growing buffers, files or events, which may arrive at any time */
    bool on_event;                    /* the rule requires an event */
    bool packet_buffers;              /* some buffers of the rule are not transaction buffers */
    const struct app_buffer **access; /* per buffer of the rule; NULL for packet buffers */
    uint8_t *condition_progress;      /* per condition on the transaction: its lowest progress */
};

struct transaction_buffer {
    const struct app_buffer *access;
    enum flow_direction direction;
    const struct condition *transforms;
    struct prefilter *prefilter; /* separate, or that of the group */
};
struct transaction_unfiltered {
    uint32_t signature;
    uint8_t progress;
    bool always; /* evaluate at every transaction scan */
};
struct transaction_group {
    bool has_rules;
    struct transaction_buffer *buffers;
    uint32_t buffer_count;
    struct prefilter
        *growing; /* shared by all growing buffers, which mostly hold the same bytes: http.response_body, file.data */
    uint32_t merged_buffer;   /* the first growing buffer */
    struct prefilter *merged; /* the literals of `growing` and of any TCP stream; NULL for most groups */
    struct transaction_unfiltered *unfiltered;
    uint32_t unfiltered_count, unfiltered_capacity;
    uint32_t unfiltered_always; /* number of leading entries that need no event; the others are evaluated only if the
                                   transaction has one */
    struct signature_list by_payload;
};

/* Detection state of a transaction in one direction: one candidate. */
struct transaction_candidate {
    uint32_t signature;
    uint32_t matched; /* bits: buffers of the rule that matched */
    uint16_t
        files; /* number of files of the direction that are evaluated; the rule may match again with a later file */
    bool done; /* has matched; kept so that it does not match again */
    bool files_hold; /* the conditions of a transactional rule on files to the server hold */
};
struct transaction_grown {
    uint64_t to; /* offset in the buffer up to which it was scanned */
    uint16_t index;
    uint8_t buffer;
};
struct app_detection {
    struct app_detection *more; /* next block of candidates; only its `count` and `more` are used besides the list */
    uint32_t generation, count, grown_count;
    uint8_t progress; /* progress at the last scan */
    bool was_scanned, rescan;
    uint64_t scanned[TRANSACTION_BUFFERS / 64];
    struct transaction_grown grown[TRANSACTION_POSITIONS];
    struct transaction_candidate list[TRANSACTION_CANDIDATES];
};

/* --- transaction_groups.c ------------------------------------------------------------------------- */

bool rule_is_of_transaction(const struct rule *rule);
/* Returns the ids of the rule's application protocols as bits; 0: any. */
uint64_t rule_application_mask(const struct rule *rule);
static inline size_t transaction_group_count(void)
{
    return (app_list_count + 1) * FLOW_DIRECTIONS;
}
static inline uint32_t transaction_prefilter_count(const struct transaction_group *group)
{
    return group->buffer_count + 2;
}
/* Returns a prefilter of a group by number; NULL for a number without a separate one. */
static inline struct prefilter *transaction_prefilter(const struct transaction_group *group, uint32_t number)
{
    if (number >= group->buffer_count)
        return number == group->buffer_count ? group->growing : group->merged;
    return group->buffers[number].prefilter == group->growing ? NULL : group->buffers[number].prefilter;
}
int transaction_rule_add(struct ruleset *ruleset, uint32_t index); /* 0 or -ENOMEM */
int transaction_groups_merge(struct ruleset *ruleset); /* called after the last rule; returns 0 or -ENOMEM */
void transaction_groups_clear(struct ruleset *ruleset);

/* --- transaction.c -------------------------------------------------------------------------------- */

/* Returns the prefilter with which to search the packet's chunk if the chunk ends with the new bytes of a growing
 * transaction buffer, and writes these bytes to detector->merged. Otherwise NULL. */
const struct prefilter *transaction_merged_prefilter(const struct evaluation *ev);
/* Maps the state of a transaction (NULL: none) to this ruleset. */
void transaction_state_update(struct detector *detector, const struct ruleset *ruleset, struct app_detection *state);
/* Adds a candidate to the state at *slot, which may be NULL; does nothing if memory is exhausted. */
void transaction_add_candidate(struct detector *detector, const struct ruleset *ruleset, struct app_detection **slot,
                               const struct transaction_candidate *candidate);

#endif
