/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "default_options.h"

#include <stdlib.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/setup.h"

static struct config *config_of(const struct setting *rows, const struct setting *more)
{
    const struct setting *const tables[] = { rows, more, NULL };
    struct config *config;

    if (config_new(&config, tables))
        abort();
    return config;
}

/* Lists in the options are freed with the configuration; no test reads them. */
static void fill(const struct setting *rows, void *options)
{
    struct config *config = config_of(rows, NULL);

    config_fill(config, rows, NULL, options);
    config_free(config);
}

void decode_options_default(struct decode_options *options)
{
    struct config *config = config_of(decode_settings, NULL);

    if (decode_options_read(config, options, NULL))
        abort();
    config_free(config);
}

void defrag_options_default(struct defrag_options *options)
{
    *options = (struct defrag_options){ .vlan_tracking = true };
    fill(defrag_settings, options);
}

void flow_options_default(struct flow_options *options)
{
    *options = (struct flow_options){ .seed = 0 };
    fill(flow_settings, options);
}

void overload_options_default(struct overload_options *options)
{
    struct config *config = config_of(overload_settings, NULL);

    overload_options_read(config, options);
    config_free(config);
}

void stream_options_default(struct stream_options *options)
{
    *options = (struct stream_options){ .inline_mode = true };
    fill(stream_settings, options);
    memcpy(options->window, options->chunk, sizeof(options->window));
    options->overlap = STREAM_OVERLAP_DROP;
    options->urgent = STREAM_URGENT_OOB;
}

void nfqueue_options_default(struct nfqueue_options *options)
{
    struct config *config = config_of(queue_settings, NULL);
    struct queue_options queue;

    queue_options_read(config, NULL, &queue);
    *options = queue.nfqueue;
    config_free(config);
}

void detector_options_default(struct detector_options *options)
{
    struct config *config = config_of(detector_settings, NULL);
    struct stream_options stream;

    setup_detector_options(config, options);
    stream_options_default(&stream);
    memcpy(options->stream_inspection_window, stream.window, sizeof(options->stream_inspection_window));
    config_free(config);
}

void ruleset_options_default(struct ruleset_options *options)
{
    struct config *config = config_of(rules_settings, NULL);
    char error[ENGINE_ERROR_SIZE];

    *options = (struct ruleset_options){ .generation = 1 };
    if (setup_action_order(config, options->action_order, error))
        abort();
    config_free(config);
}

void policy_options_default(struct policy_options *options)
{
    struct config *config = config_of(policy_settings, ips_mode_settings);

    setup_policy_options(config, options);
    config_free(config);
}

void output_options_default(struct output_options *options)
{
    struct config *config;
    struct log_options log;

    if (daemon_new_config(&config))
        abort();
    config_fill(config, output_settings, NULL, &log);
    *options = (struct output_options){ .inline_mode = true, .ring_size = log.ring_size };
    setup_eve_options(config, &options->eve);
    options->eve.drop.rate_limit = options->eve.flow_rate_limit = 0;
    config_free(config);
}

void datasets_options_default(struct datasets_options *options)
{
    struct rules_options rules;

    fill(rules_settings, &rules);
    *options = rules.datasets;
    options->data_dir = NULL;
    options->seed = 0;
}

struct datasets *datasets_new_default(const char *data_dir)
{
    struct datasets_options options;
    struct datasets *datasets;

    datasets_options_default(&options);
    options.data_dir = data_dir;
    if (datasets_new(&datasets, &options))
        abort();
    return datasets;
}

void firewall_options_default(struct firewall_options *options)
{
    struct config *config = config_of(firewall_settings, NULL);
    struct firewall_settings settings;

    firewall_settings_read(config, &settings);
    *options = settings.options;
    options->mode = ATTACH_AFTER;
    config_free(config);
}
