/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Defaults of the options. */
#include "sluice/output.h"

void eve_options_default(struct eve_options *options)
{
    *options = (struct eve_options){
        .enabled = { [OUTPUT_ALERT] = true,
                     [OUTPUT_DROP] = true,
                     [OUTPUT_WOULD_DROP] = true,
                     [OUTPUT_ANOMALY] = true,
                     [OUTPUT_STATS] = true,
                     [OUTPUT_FLOW] = true,
                     [OUTPUT_FIREWALL] = true,
                     [OUTPUT_ENGINE] = true,
                     [OUTPUT_OVERLOAD] = true,
                     [OUTPUT_PACKET] = true },
        .metadata = true,
        .alert = { .rule_metadata = true,
                   .tagged_packets = true,
                   .flow = true,
                   .app_layer = true,
                   .payload_buffer_size = 4096 },
        .drop = { .alerts = true },
        .stats = { .totals = true, .null_values = true },
    };
}

void output_options_default(struct output_options *options)
{
    *options = (struct output_options){ .inline_mode = true, .ring_size = (size_t)4 << 20 };
    eve_options_default(&options->eve);
}
