/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `sluice nft doctor`: reads the live ruleset, has it judged, prints what was found. */
#include "cli_priv.h"

#include <errno.h>
#include <string.h>

#include "nft_priv.h"
#include "sluice/capture.h"
#include "sluice/doctor.h"
#include "sluice/setup.h"

static const char *explain(int err)
{
    switch (err) {
    case -EPERM:
    case -EACCES:
        return "the firewall can be read by root or with CAP_NET_ADMIN only";
    case -EINTR:
        return "somebody keeps changing the ruleset; try again";
    case -E2BIG:
        return "the ruleset is larger than anybody can have written";
    default:
        return strerror(-err);
    }
}

static int print(const struct doctor_report *report, bool json)
{
    static const int codes[] = {
        [DOCTOR_NOTE] = EXIT_OK, [DOCTOR_WARNING] = EXIT_WARNINGS, [DOCTOR_BROKEN] = EXIT_BROKEN
    };
    struct text out;

    text_init(&out);
    if (json)
        doctor_print_json(&out, report);
    else
        doctor_print(&out, report);
    return cli_write(&out) ? EXIT_NOT_JUDGED : codes[doctor_worst(report)];
}

static int judge(const struct netrules *ruleset, const struct doctor_input *input, bool json)
{
    struct doctor_report *report;
    int err = doctor_examine(&report, ruleset, input), code;

    if (err) {
        cli_error(&command_nft, "%s", explain(err));
        return EXIT_NOT_JUDGED;
    }
    code = print(report, json);
    doctor_report_free(report);
    return code;
}

/* Of connections that can't be counted there are none. */
static struct doctor_connections count_connections(const struct firewall_options *options)
{
    struct doctor_connections out = { .judged = 0 };

    if (options->mark_mask)
        netrules_count_connections(options->mark, options->mark_mask, &out.judged);
    if (options->reject_mask)
        netrules_count_connections(options->reject_mark, options->reject_mask, &out.answers);
    return out;
}

/* Settings that no daemon would start with have none. */
static void find_next_queues(const struct config *config, const struct firewall_options *firewall,
                             struct doctor_input *out)
{
    struct nfqueue_options queues[ENGINE_MAX_QUEUES];
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
    struct doctor_input input = {
        .options = *options,
        .queues_given = config_is_set(config, "queue.numbers"),
        .hooks_given = config_is_set(config, "nft.hooks"),
        .bypass_given = config_is_set(config, "nft.bypass"),
        .attach_given = config_is_set(config, "nft.attach"),
        .repeats = strcmp(config_string(config, "queue.verdict"), "repeat") == 0,
        .connections = count_connections(options),
    };
    struct netrules *ruleset;
    int err = netrules_read(&ruleset), code;

    find_next_queues(config, options, &input);

    if (err) {
        cli_error(&command_nft, "the ruleset can't be read: %s", explain(err));
        return EXIT_NOT_JUDGED;
    }
    code = judge(ruleset, &input, json);
    netrules_free(ruleset);
    return code;
}
