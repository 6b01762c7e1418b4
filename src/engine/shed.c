/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which class a flow belongs to, of those that are shed in overload (overload.c). It is asked with each packet of a flow, after that packet
 * was judged, and only while something is shed.
 *
 * Threads: a worker's.
 */
#include "engine_priv.h"

#include "sluice/app.h"

enum { FILE_TRANSACTIONS = 4 }; /* open ones that are looked at for their files */

/* Of what rules have told, or may still find in what waits behind a hole, nothing is given up. */
static bool may_be_shed(const struct flow *flow)
{
    return flow->state == FLOW_ESTABLISHED && !(flow->flags & (FLOW_ALERTED | FLOW_DROPPED | FLOW_PASSED)) &&
           !stream_has_rest(flow, FLOW_TO_SERVER) && !stream_has_rest(flow, FLOW_TO_CLIENT);
}

/* Not one that somebody wants to have stored. */
static bool has_large_file(const struct app_tx *tx, uint64_t bytes)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        const struct file_list *files = &tx->files[direction];

        if (files->last && files->last->state == FILE_OPEN && files->last->size > bytes && !files->keep &&
            !files->last->store_wanted)
            return true;
    }
    return false;
}

static bool carries_large_file(const struct flow *flow, uint64_t bytes)
{
    const struct app_tx *tx = flow->app ? app_transactions_in(flow, APP_TX_OPEN) : NULL;

    for (unsigned i = 0; tx && i < FILE_TRANSACTIONS; i++, tx = tx->link[APP_TX_OPEN].next) {
        if (has_large_file(tx, bytes))
            return true;
    }
    return false;
}

static bool belongs_to(const struct pipeline *pipeline, const struct flow *flow, enum shed_class class)
{
    bool clean = !flow->history; /* no rule has matched, not even silently */

    switch (class) {
    case SHED_ENCRYPTED:
        return flow->flags & FLOW_ENCRYPTED;
    case SHED_BULK:
        return clean &&
               flow->side[FLOW_TO_SERVER].bytes + flow->side[FLOW_TO_CLIENT].bytes > pipeline->shed_limits.bulk_bytes;
    case SHED_FILES:
        return clean && carries_large_file(flow, pipeline->shed_limits.file_bytes);
    case SHED_ESTABLISHED:
        return clean;
    default:
        return false; /* SHED_NEW: by exception policy */
    }
}

void shed_flow(struct pipeline *pipeline, struct flow *flow)
{
    if (!may_be_shed(flow))
        return;
    for (enum shed_class class = 0; class < SHED_CLASSES; class ++) {
        if (!(pipeline->shedding >> class & 1) || !belongs_to(pipeline, flow, class))
            continue;
        policy_shed(pipeline->policy, flow);
        pipeline->counters.shed[class]++;
        return;
    }
}
