/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pending candidates: a rule becomes a candidate when its literal is found, but the rest of its match may be in a later
 * segment. So the rule is stored with the flow and evaluated for each chunk until its literal has left the inspection
 * window.
 *
 * The memory is a pool of struct flow_detection with detector_options.flow_memcap bytes. When it is exhausted, or a
 * direction would need more than PENDING_MAX entries, FLOW_RESCAN is set: the flow's inspection window is scanned again
 * with each chunk from then on, which is slower, but misses no match.
 *
 * Threads:   flows and detector of one worker.
 * Ownership: flow->detection is freed by detect_flow_end().
 */
#ifndef SLUICE_DETECT_PENDING_H
#define SLUICE_DETECT_PENDING_H

#include <stdbool.h>
#include <stdint.h>

#include "sluice/flow.h"

struct evaluation;
struct ruleset;

enum { PENDING_MAX = 20 };

/* An entry of a flow's direction. `muted` false: a candidate whose literal was found and whose other conditions may
 * match later bytes. True: a rule without a literal that has matched bytes which are still in the inspection window,
 * and must not match them again. */
struct pending_candidate {
    uint64_t until; /* stream offset at which the entry expires */
    uint32_t signature;
    bool muted;
};
struct flow_detection {
    uint32_t generation, count;
    struct pending_candidate list[PENDING_MAX];
};

/* Maps the entries of a flow's direction to the signatures of this ruleset, if they belong to another one. */
void pending_update(struct flow *flow, enum flow_direction direction, const struct ruleset *ruleset);
/* Removes expired entries; called before the scan of a chunk. */
void pending_expire(struct evaluation *ev);
/* Adds the pending rules to the candidates; called after the scan of a chunk. */
void pending_add_candidates(struct evaluation *ev);
/* Stores a candidate of the chunk as an entry; sets FLOW_RESCAN if memory is exhausted or the list is full. */
void pending_add(struct evaluation *ev, uint32_t signature, bool muted);
void pending_remove(struct evaluation *ev, uint32_t signature);
bool pending_is_muted(const struct evaluation *ev, uint32_t signature);

#endif
