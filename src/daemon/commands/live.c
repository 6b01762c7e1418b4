/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Commands of `sluice top`, `sluice alerts` and `sluice analyse`. */
#include "service.h"

#include "daemon/talkers.h"
#include "sluice/daemon.h"
#include "sluice/detect.h"
#include "sluice/output.h"
#include "sluice/rule.h"

/* Reads a number from 0 to `max`. Returns false after an error answer. */
static bool read_count(struct control_request *request, const char *name, unsigned max, unsigned *out)
{
    int64_t value = control_number(request, name, 0);

    if (value < 0 || value > max) {
        control_fail(request, "\"%s\" must be a number from 0 to %u", name, max);
        return false;
    }
    *out = (unsigned)value;
    return true;
}

void service_show_top(void *user, struct control_request *request)
{
    struct service *service = user;
    int64_t after = control_number(request, "after", 0);
    struct live_request wanted = { .after = after > 0 ? (uint64_t)after : 0 };

    if (!read_count(request, "rules", LIVE_MAX_RULES, &wanted.rules) ||
        !read_count(request, "talkers", LIVE_MAX_TALKERS, &wanted.talkers) ||
        !read_count(request, "alerts", OUTPUT_RECENT_ALERTS, &wanted.alerts))
        return;
    if (wanted.talkers && !service->talkers && talkers_new(&service->talkers, service->options.worker_count)) {
        control_fail(request, "out of memory");
        return;
    }
    /* An idle worker answers only when it wakes up. Send both queries first, so that it answers them together. */
    if (wanted.talkers)
        talkers_request(service->talkers, service->options.workers, service->options.worker_count);
    if (!service_take_snapshots(service))
        control_fail(request, "a worker does not answer");
    else
        live_json(control_answer(request), &service->options, service->talkers, &wanted, service_uptime(service));
}

void service_list_alerts(void *user, struct control_request *request)
{
    struct service *service = user;
    int64_t after = control_number(request, "after", 0), limit = control_number(request, "limit", OUTPUT_RECENT_ALERTS);

    if (limit < 1 || limit > OUTPUT_RECENT_ALERTS || after < 0)
        control_fail(request, "\"limit\" must be 1 to %d, and \"after\" the \"number\" of an alert",
                     OUTPUT_RECENT_ALERTS);
    else
        live_alerts_json(control_answer(request), service->options.output, (uint64_t)after, (unsigned)limit);
}

void service_analyse(void *user, struct control_request *request)
{
    const struct service_options *options = &((const struct service *)user)->options;
    const struct rule_list *rules = ruleset_rules(*options->ruleset);
    int64_t sid = control_number(request, "sid", -1), gid = control_number(request, "gid", 1);
    uint32_t ids[2] = { (uint32_t)gid, (uint32_t)sid };

    if (sid < 0 || sid > UINT32_MAX || gid < 0 || gid > UINT32_MAX)
        control_fail(request, "\"sid\" and \"gid\" must be numbers from 0 to 4294967295");
    else if (!rule_list_find(rules, ids[0], ids[1]) && !rule_list_find_failure(rules, ids[0], ids[1]) &&
             !rule_list_find_disabled(rules, ids[0], ids[1]))
        control_fail(request, "no rule file has rule %u:%u; `sluice rules` lists the loaded rules", ids[0], ids[1]);
    else
        explain_analysis(control_answer(request), *options->ruleset, ids[0], ids[1], options->workers,
                         options->worker_count);
}
