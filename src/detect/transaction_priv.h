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
    TRANSACTION_BUFFERS = 128,   /* maximum number of buffers with literals, per protocol and direction */
    TRANSACTION_VALUES = 1024,   /* maximum number of inspected values of a multi-buffer */
    TRANSACTION_CANDIDATES = 24, /* candidates in one struct app_detection */
    TRANSACTION_BLOCKS = 8,      /* maximum number of struct app_detection per transaction and direction */
    TRANSACTION_POSITIONS = 6,   /* maximum number of growing values whose scan position is stored */
};

/*
 * How a rule is evaluated on transactions of one protocol, in one direction.
 *
 * A transactional rule (`=>`) is evaluated in the direction to the client. At that time the buffers of the direction to
 * the server still exist, except for the growing ones. A rule that uses a growing buffer of the direction to the server
 * therefore has a second plan, the half plan, with all conditions of that direction. A match of the half plan is stored
 * for the evaluation in the direction to the client.
 */
struct transaction_plan {
    struct transaction_plan *next;
    bool half;                        /* true: this is a half plan */
    uint8_t proto, direction;         /* application protocol id; enum flow_direction */
    uint8_t progress;                 /* lowest progress in `direction` at which the rule can be evaluated completely */
    uint8_t hook_progress;            /* progress in `direction` of the rule's hook; 0: none */
    uint8_t sub_state;                /* the sub-state of the rule's hook; 0: any */
    bool grows, files, events;        /* the rule uses growing buffers, files or events, which may arrive at any time */
    bool on_event;                    /* the rule requires an event */
    bool packet_buffers;              /* the rule has packet buffers */
    const struct app_buffer **access; /* per buffer of the rule; NULL: a packet buffer, or omitted by the half plan */
    uint8_t *condition_progress; /* per condition on the transaction: lowest progress at which it can be evaluated */
};

struct transaction_buffer {
    const struct app_buffer *access;
    enum flow_direction direction;
    const struct condition *transforms;
    struct prefilter *prefilter;      /* owned, or group.growing */
    struct signature_list signatures; /* with transforms: the signatures of the prefilter */
};
struct transaction_unfiltered {
    uint32_t signature;
    uint8_t progress;
    bool always; /* true: evaluated at every scan; false: once, when `progress` is reached */
};
struct transaction_group {
    bool has_rules;
    struct transaction_buffer *buffers;
    uint32_t buffer_count;
    struct prefilter *growing; /* shared by all growing buffers, which mostly contain the same bytes (http.response_body
                                  and file.data) */
    uint32_t merged_buffer;    /* index of the first growing buffer */
    struct prefilter *merged;  /* merged prefilter of `growing` and of TCP streams; NULL for most groups */
    struct transaction_unfiltered *unfiltered;
    uint32_t unfiltered_count, unfiltered_capacity;
    uint32_t unfiltered_always; /* number of leading entries that require no event; the others are evaluated only if the
                                   transaction has events */
    struct signature_list by_payload;
};

/* A candidate in the detection state of a transaction. */
struct transaction_candidate {
    uint32_t signature;
    uint32_t matched; /* a bit per buffer of the rule: the buffer matched */
    uint16_t files;   /* number of files that were evaluated; the rule may match again with a later file */
    bool done;        /* the rule has matched; the entry is kept so that it does not match again */
    bool files_hold;  /* the conditions of a transactional rule on files to the server hold */
    /* A content that did not occur in the first value of a growing buffer (note_absent()): 1 + the index of its
     * condition in the buffer (0: none), the index of the buffer in the rule, and the offset before which no occurrence
     * begins. */
    uint8_t absent_condition, absent_buffer;
    uint64_t absent_to;
};
/* The scan position of value `index` of the growing buffer number `buffer`. */
struct transaction_grown {
    uint64_t to; /* offset in the buffer before which bytes were scanned */
    uint16_t index;
    uint8_t buffer;
};
/* Detection state of a transaction in one direction. */
struct app_detection {
    struct app_detection *more; /* next block: only more, count and list are used; NULL: none */
    uint32_t generation, count, grown_count;
    uint8_t progress;         /* progress of the transaction at the last scan */
    bool was_scanned, rescan; /* rescan: candidates could not be stored, so all buffers are scanned each time */
    uint64_t scanned[TRANSACTION_BUFFERS / 64]; /* a bit per buffer that does not grow: it was scanned */
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
/* Returns the prefilter with this number, for iteration over all prefilters of a group; NULL for a buffer that uses
 * group.growing. */
static inline struct prefilter *transaction_prefilter(const struct transaction_group *group, uint32_t number)
{
    if (number >= group->buffer_count)
        return number == group->buffer_count ? group->growing : group->merged;
    return group->buffers[number].prefilter == group->growing ? NULL : group->buffers[number].prefilter;
}
/* Chooses the literal by which a plan finds its rule; false: none. The plan must be in signature->plans. */
bool transaction_plan_literal(const struct signature *signature, const struct transaction_plan *plan,
                              struct literal *out);
int transaction_rule_add(struct ruleset *ruleset, uint32_t index); /* 0 or -ENOMEM */
int transaction_groups_merge(struct ruleset *ruleset); /* called after the last rule; returns 0 or -ENOMEM */
void transaction_groups_clear(struct ruleset *ruleset);

/* --- transaction.c -------------------------------------------------------------------------------- */

/* If the chunk ends with the new bytes of a growing buffer, writes these bytes to detector->merged and returns the
 * merged prefilter with which to scan the chunk. Otherwise returns NULL. */
const struct prefilter *transaction_merged_prefilter(const struct evaluation *ev);
/* Maps the detection state of a transaction to this ruleset. `state` may be NULL. */
void transaction_state_update(struct detector *detector, const struct ruleset *ruleset, struct app_detection *state);
/* Adds a candidate to the state *slot, which is allocated if NULL. Does nothing if memory is exhausted or
 * TRANSACTION_BLOCKS blocks are full. */
void transaction_add_candidate(struct detector *detector, const struct ruleset *ruleset, struct app_detection **slot,
                               const struct transaction_candidate *candidate);

#endif
