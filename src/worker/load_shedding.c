/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whether a flow belongs to a class that is shed in overload (overload.c). shed_flow() is called for each
 * inspected packet while classes are shed.
 *
 * Threads: the worker.
 */
#include "sluice/app.h"
#include "sluice/file.h"
#include "sluice/flow.h"
#include "sluice/overload.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"

#include "pipeline_priv.h"

enum { FILE_TRANSACTIONS = 4 };

/* Returns true if a parser of the flow has an open file of more than `bytes`, and no parser has an open file that will
 * be stored. Only the first FILE_TRANSACTIONS open transactions of each parser instance are checked. */
static bool carries_large_file(const struct flow *flow, uint64_t bytes)
{
    bool found = false;
    const struct app_tx *tx;

    for (unsigned reading = 0; app_get_open_transactions(flow, reading, &tx); reading++) {
        for (unsigned i = 0; tx && i < FILE_TRANSACTIONS; i++, tx = tx->link[APP_TX_OPEN].next) {
            for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
                const struct file_list *files = &tx->files[direction];

                if (!files->last || files->last->state != FILE_OPEN)
                    continue;
                if (files->store_requested || files->last->store_requested)
                    return false;
                found |= files->last->size > bytes;
            }
        }
    }
    return found;
}

static bool is_of_class(const struct pipeline *pipeline, const struct flow *flow, enum shed_class class)
{
    bool clean = !flow->history; /* true: no rule has matched, not even one with noalert */

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
        return false; /* SHED_NEW is handled by shed_new_flow() with overload.policy */
    }
}

void shed_flow(struct pipeline *pipeline, struct flow *flow)
{
    /* Do not shed a flow that has an alert, or that has data behind a gap: rules may still inspect that data. */
    if (flow->state != FLOW_ESTABLISHED || flow->flags & (FLOW_ALERTED | FLOW_DROPPED | FLOW_PASSED) ||
        stream_has_remaining_data(flow, FLOW_TO_SERVER) || stream_has_remaining_data(flow, FLOW_TO_CLIENT))
        return;
    for (enum shed_class class = 0; class < SHED_CLASSES; class ++) {
        if (!(pipeline->shedding >> class & 1) || !is_of_class(pipeline, flow, class))
            continue;
        policy_shed(pipeline->policy, flow);
        pipeline->counters.shed[class]++;
        return;
    }
}
