/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice nft doctor`: reads the active ruleset and prints the doctor's findings. */
#include "cli_priv.h"

#include <errno.h>
#include <string.h>

#include "nft_priv.h"
#include "sluice/capture.h"
#include "sluice/doctor.h"
#include "sluice/setup.h"

static const char *error_text(int err)
{
    switch (err) {
    case -EPERM:
    case -EACCES:
        return "run as root or with CAP_NET_ADMIN";
    case -EINTR:
    case -EAGAIN:
        return "another process keeps changing the ruleset; try again";
    case -E2BIG:
        return "the ruleset is too large";
    default:
        return strerror(-err);
    }
}

/* Writes the queues to which verdicts route packets (queue.route-to) to `out`; none if the daemon would reject the
 * settings. */
static void find_next_queues(const struct config *config, const struct firewall_options *firewall,
                             struct doctor_input *out)
{
    struct nfqueue_options queues[CAPTURE_MAX_QUEUES];
    char error[ENGINE_ERROR_SIZE];
    size_t count = 0;

    if (setup_plan_queues(config, firewall, queues, &count, error))
        return;
    for (size_t i = 0; i < count; i++) {
        unsigned known = 0;

        while (known < out->next_count && out->next[known].queue != queues[i].route_to)
            known++;
        if (queues[i].mode != QUEUE_ROUTE || known < out->next_count || known == DOCTOR_NEXT_QUEUES)
            continue;
        out->next[out->next_count++] = (struct doctor_next_queue){ queues[i].route_to, queues[i].route_bypass };
    }
}

int nft_doctor(const struct config *config, const struct firewall_options *options, bool json)
{
    static const int codes[] = {
        [DOCTOR_NOTE] = EXIT_OK, [DOCTOR_WARNING] = EXIT_WARNINGS, [DOCTOR_BROKEN] = EXIT_BROKEN
    };
    struct doctor_input input = {
        .options = *options,
        .queues_given = config_is_set(config, "queue.numbers"),
        .hooks_given = config_is_set(config, "nft.hooks"),
        .bypass_given = config_is_set(config, "nft.bypass"),
        .attach_given = config_is_set(config, "nft.attach"),
    };
    struct queue_options queue = { .numbers = NULL };
    struct doctor_report *report;
    struct netrules *ruleset = NULL;
    struct doctor_host *host = NULL;
    struct text out;
    int err, code = EXIT_UNREADABLE;

    config_fill(config, queue_settings, NULL, &queue);
    input.repeats = queue.nfqueue.mode == QUEUE_REPEAT;
    /* Errors are ignored: without permission to list connections the counts stay 0. */
    if (options->mark_mask)
        doctor_count_connections(options->mark, options->mark_mask, &input.connections.judged);
    if (options->reject_mask)
        doctor_count_connections(options->reject_mark, options->reject_mask, &input.connections.answers);
    find_next_queues(config, options, &input);
    err = doctor_read_ruleset(&ruleset);
    if (!err)
        err = doctor_host_read(&host);
    if (err) {
        cli_error(&command_nft, "cannot read the ruleset: %s", error_text(err));
        goto free_ruleset;
    }
    err = doctor_examine(&report, ruleset, host, &input);
    if (err) {
        cli_error(&command_nft, "cannot examine the ruleset: %s", error_text(err));
        goto free_ruleset;
    }
    doctor_read_rule_texts(report);
    text_init(&out);
    if (json)
        doctor_print_json(&out, report);
    else
        doctor_print(&out, report);
    if (cli_write(&out) == EXIT_OK)
        code = codes[doctor_worst(report)];
    doctor_report_free(report);

free_ruleset:
    doctor_host_free(host);
    netrules_free(ruleset);
    return code;
}
