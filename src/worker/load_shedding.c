/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides whether a flow belongs to a class that is shed in overload (overload.c). Called for each inspected packet
 * while classes are shed.
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

enum { FILE_TRANSACTIONS = 4 }; /* open transactions that are searched for files */

/* A flow with rule matches, or with data behind a gap that rules may still inspect, is not shed. */
static bool may_be_shed(const struct flow *flow)
{
    return flow->state == FLOW_ESTABLISHED && !(flow->flags & (FLOW_ALERTED | FLOW_DROPPED | FLOW_PASSED)) &&
           !stream_has_remaining_data(flow, FLOW_TO_SERVER) && !stream_has_remaining_data(flow, FLOW_TO_CLIENT);
}

/* Whether an open file of the transaction will be stored. */
static bool wants_file(const struct app_tx *tx)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        const struct file_list *files = &tx->files[direction];

        if (files->last && files->last->state == FILE_OPEN && (files->keep || files->last->store_wanted))
            return true;
    }
    return false;
}

static bool has_large_file(const struct app_tx *tx, uint64_t bytes)
{
    for (enum flow_direction direction = 0; direction < FLOW_DIRECTIONS; direction++) {
        const struct file_list *files = &tx->files[direction];

        if (files->last && files->last->state == FILE_OPEN && files->last->size > bytes)
            return true;
    }
    return false;
}

/* Whether a parser of the flow has a large open file, and no parser has a file that will be stored. */
static bool carries_large_file(const struct flow *flow, uint64_t bytes)
{
    bool found = false;
    const struct app_tx *tx;

    for (unsigned reading = 0; app_get_open_transactions(flow, reading, &tx); reading++) {
        for (unsigned i = 0; tx && i < FILE_TRANSACTIONS; i++, tx = tx->link[APP_TX_OPEN].next) {
            if (wants_file(tx))
                return false;
            found |= has_large_file(tx, bytes);
        }
    }
    return found;
}

static bool belongs_to(const struct pipeline *pipeline, const struct flow *flow, enum shed_class class)
{
    bool clean = !flow->history; /* no rule has matched, not even one with noalert */

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
        return false; /* the exception policy handles SHED_NEW */
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
