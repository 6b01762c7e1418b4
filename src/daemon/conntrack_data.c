/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests conntrack data for queued packets, if the configuration or the rules need it. */
#include "conntrack_data.h"

#include <errno.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <string.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/detect.h"
#include "sluice/log.h"
#include "sluice/setup.h"
#include "sluice/worker.h"

static const char unsupported[] =
    "this kernel cannot attach conntrack data to queued packets (CONFIG_NETFILTER_NETLINK_GLUE_CT is off or the module "
    "nf_conntrack_netlink is missing)";

void conntrack_data_plan(struct worker *worker, const struct config *config, const struct ruleset *ruleset)
{
    bool refused = setup_conntrack_is_off(config, worker->queue.queue);
    int64_t seconds;

    worker->conntrack_allowed = !refused;
    if (ruleset_needs_conntrack(ruleset) && !refused) { /* request it without time limit: the rules need it */
        worker->queue.conntrack = true;
        return;
    }
    if (ruleset_needs_conntrack(ruleset) && worker->index == 0)
        log_warning("rules with ctmark or ctstate never match in queues whose queue.conntrack is no");
    seconds = worker->queue.conntrack ? setup_conntrack_seconds(config, worker->queue.queue) : 0;
    if (seconds > 0)
        worker->conntrack_until_ns = clock_realtime_ns() + (uint64_t)seconds * NS_PER_SECOND;
}

void conntrack_data_log(const struct worker *workers, unsigned count, const struct config *config,
                        const struct ruleset *ruleset)
{
    unsigned wanted = 0, got = 0, limited = 0;
    struct stream_options stream;

    config_fill(config, stream_settings, NULL, &stream);
    for (unsigned i = 0; i < count; i++) {
        wanted += workers[i].queue.conntrack;
        got += (nfqueue_flags(workers[i].capture) & NFQA_CFG_F_CONNTRACK) != 0;
        limited += workers[i].conntrack_until_ns != 0;
    }
    if (got > 0)
        log_info("queued packets carry conntrack data%s", limited > 0 ? " for a time (queue.conntrack)" : "");
    else if (wanted > 0)
        log_info("%s", unsupported);
    if (got == 0 && count > 0 && !workers[0].connections && stream.conntrack == STREAM_CONNTRACK_ONLY)
        log_warning(
            "conntrack cannot be queried: no connection is picked up midstream (stream.midstream-conntrack: only)");
    if (got == 0 && wanted > 0 && ruleset_needs_conntrack(ruleset))
        log_warning("rules with ctmark or ctstate never match: queued packets carry no conntrack data");
}

void conntrack_data_check(const struct worker *workers, unsigned count, const struct ruleset *ruleset)
{
    for (unsigned i = 0; i < count && ruleset_needs_conntrack(ruleset); i++) {
        const uint16_t queue = workers[i].queue.queue;

        if (!workers[i].conntrack_allowed)
            log_warning("rules with ctmark or ctstate never match in queue %u: queue.conntrack is no", (unsigned)queue);
        else if (nfqueue_probe_flags(queue, NFQA_CFG_F_CONNTRACK) == -EOPNOTSUPP)
            log_warning("rules with ctmark or ctstate never match in queue %u: %s", (unsigned)queue, unsupported);
    }
}
