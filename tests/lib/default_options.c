/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "default_options.h"

#include <stdlib.h>
#include <string.h>

#include "sluice/config.h"
#include "sluice/setup.h"

static struct config *config_of(const struct setting *rows)
{
    const struct setting *const tables[] = { rows, NULL };
    struct config *config;

    if (config_new(&config, tables))
        abort();
    return config;
}

/* Lists end with the configuration: no test reads one. */
static void fill(const struct setting *rows, void *options)
{
    struct config *config = config_of(rows);

    config_fill(config, rows, NULL, options);
    config_free(config);
}

void decode_options_default(struct decode_options *options)
{
    struct config *config = config_of(decode_settings);

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
    struct config *config = config_of(overload_settings);

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
    struct config *config = config_of(queue_settings);
    struct queue_options queue;

    queue_options_read(config, NULL, &queue);
    *options = queue.nfqueue;
    config_free(config);
}

void firewall_options_default(struct firewall_options *options)
{
    struct config *config = config_of(firewall_settings);
    struct firewall_settings settings;

    firewall_settings_read(config, &settings);
    *options = settings.options;
    options->mode = ATTACH_AFTER;
    config_free(config);
}
