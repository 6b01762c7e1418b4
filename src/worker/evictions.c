/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Counts entries that tables evicted to make room for new ones because a memcap was reached. */
#include <string.h>

#include "sluice/app.h"
#include "sluice/defrag.h"
#include "sluice/flow.h"
#include "sluice/host.h"
#include "sluice/overload.h"
#include "sluice/pipeline.h"
#include "sluice/policy.h"
#include "sluice/stream.h"
#include "sluice/worker.h"

static const char *const settings[EVICTION_TABLES] = {
    [EVICTION_APP] = "app-layer.memcap",       [EVICTION_FLOW] = "flow.memcap",
    [EVICTION_STREAM] = "stream.memcap",       [EVICTION_REASSEMBLY] = "stream.reassembly-memcap",
    [EVICTION_DEFRAG] = "defrag.memcap",       [EVICTION_HOST] = "host.memcap",
    [EVICTION_THRESHOLD] = "threshold.memcap",
};

const char *eviction_setting(enum eviction_table table)
{
    return settings[table];
}

bool eviction_is_shared(enum eviction_table table)
{
    return table == EVICTION_HOST || table == EVICTION_THRESHOLD;
}

void count_evictions(const struct pipeline *pipeline, uint64_t out[EVICTION_TABLES])
{
    struct app_memory_counts app;

    app_get_memory_counts(pipeline->app, &app);
    out[EVICTION_APP] = app.shed_flows + app.evicted_flows;
    out[EVICTION_FLOW] = flow_table_evicted(pipeline->flows);
    stream_count_evictions(pipeline->stream, &out[EVICTION_STREAM], &out[EVICTION_REASSEMBLY]);
    out[EVICTION_DEFRAG] = defrag_evicted(pipeline->defrag);
    out[EVICTION_HOST] = host_table_evicted(pipeline->hosts);
    out[EVICTION_THRESHOLD] = policy_thresholds_evicted(pipeline->policy);
}
