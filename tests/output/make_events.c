/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes every kind of event with every set of options to the file named, for schema.py. */
#include <stdio.h>
#include <stdlib.h>

#include "event_samples.h"
#include "sluice/output.h"

typedef void (*sample_function)(struct sample *sample);

static const sample_function packets[] = {
    sample_tcp, sample_icmp, sample_udp6, sample_arp, sample_tunnel, sample_queue
};
static const sample_function decisions[] = { sample_alert, sample_drop, sample_reject };

static void all_options(struct eve_options *eve)
{
    eve->ethernet = eve->community_id = eve->pcap_file = true;
    eve->pcap_file_name = "x.pcap";
    eve->alert.payload = eve->alert.payload_printable = eve->alert.payload_length = eve->alert.packet = true;
    eve->alert.verdict = eve->alert.reference = eve->alert.rule_raw = true;
    eve->drop.verdict = true;
    eve->anomaly.packet_header = true;
}

static void write_stats(struct output *output)
{
    static const struct output_stat stats[] = { { "decoder.pkts", 3 }, { "decoder.bytes", 200 }, { "ips.blocked", 1 } };

    output_stats(output, stats, sizeof(stats) / sizeof(stats[0]), 10, SAMPLE_TIME_NS);
}

enum {
    PACKETS = sizeof(packets) / sizeof(packets[0]),
    DECISIONS = sizeof(decisions) / sizeof(decisions[0]),
    TARGETS = TARGET_DESTINATION + 1,
};

/* Rules are lent to the output until it has formatted the event, so each event has a sample of its own. */
static void write_packets(struct output *output, struct sample *samples)
{
    for (int i = 0; i < PACKETS * DECISIONS * TARGETS; i++) {
        struct sample *sample = &samples[i];

        packets[i / (DECISIONS * TARGETS)](sample);
        decisions[i / TARGETS % DECISIONS](sample);
        sample->rule.target = (enum target)(i % TARGETS);
        output_packet(output_port(output, 0), &sample->packet, &sample->decision, 1);
    }
}

int main(int argc, char **argv)
{
    struct sample *samples = calloc((size_t)PACKETS * DECISIONS * TARGETS, sizeof(*samples));
    char error[256];

    if (argc != 2 || !samples)
        return EXIT_FAILURE;
    for (int run = 0; run < 4; run++) {
        struct output_options options;
        struct output *output;

        output_options_default(&options);
        options.eve_path = argv[1];
        options.eve_truncate = run == 0;
        options.queue_fields = run & 1;
        options.eve.anomaly.decode = true;
        if (run & 2)
            all_options(&options.eve);
        if (output_open(&output, &options, 1, error)) {
            fprintf(stderr, "%s\n", error);
            return EXIT_FAILURE;
        }
        write_packets(output, samples);
        write_stats(output);
        output_stop(output);
        output_close(output);
    }
    free(samples);
    return EXIT_SUCCESS;
}
