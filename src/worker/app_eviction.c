/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * When app-layer.memcap is nearly reached, the parsers of idle flows free memory before the next packet is inspected:
 * first bodies and files, then the parser state. Before the state of a flow is freed, rules inspect the rest of its
 * data, and its transactions are logged.
 */
#include "sluice/app.h"
#include "sluice/detect.h"
#include "sluice/flow.h"
#include "sluice/pipeline.h"

#include "pipeline_priv.h"

enum { EVICT_PER_PACKET = 8 };

void evict_app_memory(struct pipeline *pipeline)
{
    for (unsigned i = 0; i < EVICT_PER_PACKET && app_is_memory_low(pipeline->app); i++) {
        struct flow *flow = app_find_idle_flow(pipeline->app);
        bool inspected =
            flow && pipeline->ruleset && !(flow->flags & (FLOW_DROPPED | FLOW_PASSED)) && flow->state != FLOW_BYPASSED;

        if (!flow)
            return;
        if (inspected)
            pipeline_inspect_unseen(pipeline, flow);
        if (app_shed_files(pipeline->app, flow))
            continue;
        bool within_message = app_has_incomplete_message(flow);

        app_flow_finish(pipeline->app, flow);
        if (inspected)
            pipeline_inspect_unseen(pipeline, flow);
        pipeline_log_remaining(pipeline, flow);
        app_evict(pipeline->app, flow, within_message, detect_release_transaction, pipeline->detector);
    }
}
