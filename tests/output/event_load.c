/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes alerts to the outputs of a configuration at a fixed rate, as a worker does:
 *
 *     event_load CONFIG LOG_DIR RATE COUNT DRAIN_SECONDS
 *
 * RATE is in events per second, COUNT the number of events. The member flow_id of the events is 1, 2, ... At the end it
 * waits up to DRAIN_SECONDS until no event waits in a spool. Prints one line of JSON: the counters of each further
 * output, "ring_lost" (events lost between worker and output thread), and "max_call_us", the longest call of
 * output_packet().
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "default_options.h"
#include "event_samples.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/daemon.h"
#include "sluice/diag.h"
#include "sluice/folder.h"
#include "sluice/output.h"
#include "sluice/setup.h"

enum { ARGUMENTS = 6, SLICE_MS = 5 };

static void sleep_ms(long ms)
{
    const struct timespec pause = { .tv_nsec = ms * 1000000 };

    nanosleep(&pause, NULL);
}

static bool is_drained(const struct output *output)
{
    struct output_destination_counters counters;

    for (size_t i = 0; output_destination_counters(output, i, &counters); i++)
        if (counters.waiting > 0 ||
            counters.events != counters.delivered + counters.lost_full + counters.lost_error + counters.rejected)
            return false;
    return true;
}

static void print_counters(const struct output *output, uint64_t max_ns)
{
    struct output_destination_counters counters;
    struct output_counters events;

    output_counters(output, &events);
    printf("{\"ring_lost\":%" PRIu64 ",\"max_call_us\":%" PRIu64, events.lost[OUTPUT_ALERT], max_ns / 1000);
    for (size_t i = 0; output_destination_counters(output, i, &counters); i++)
        printf(",\"%s\":{\"events\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"waiting\":%" PRIu64
               ",\"lost_full\":%" PRIu64 ",\"lost_error\":%" PRIu64 ",\"rejected\":%" PRIu64 ",\"connects\":%" PRIu64
               "}",
               counters.name, counters.events, counters.delivered, counters.waiting, counters.lost_full,
               counters.lost_error, counters.rejected, counters.connects);
    printf("}\n");
}

int main(int argc, char **argv)
{
    struct output_options options = { 0 };
    struct setup_outputs *outputs = calloc(1, sizeof(*outputs));
    struct sample *sample = calloc(1, sizeof(*sample));
    struct diag *diag = diag_new();
    char error[ENGINE_ERROR_SIZE] = "";
    struct config *config;
    struct output *output;
    uint64_t begun_ns, until_ns, max_ns = 0, number = 0;

    if (argc != ARGUMENTS || !outputs || !sample || !diag || daemon_new_config(&config))
        return EXIT_FAILURE;

    const uint64_t rate = strtoull(argv[3], NULL, 10), count = strtoull(argv[4], NULL, 10);

    if (config_load(config, argv[1], CONFIG_STRICT, diag) || diag_errors(diag) > 0) {
        diag_print(diag, stderr, false);
        return EXIT_FAILURE;
    }
    folder_create(argv[2]); /* if this fails, output_open() reports the error */
    if (setup_output_options(config, argv[2], &options, outputs, error) || output_open(&output, &options, 1, error) ||
        output_start(output)) {
        fprintf(stderr, "%s\n", error);
        return EXIT_FAILURE;
    }
    sample_tcp(sample);
    sample_alert(sample);
    sample_flow(sample);
    begun_ns = clock_monotonic_ns();
    while (number < count) {
        uint64_t due = (clock_monotonic_ns() - begun_ns) * rate / NS_PER_SECOND;

        for (; number < due && number < count; number++) {
            uint64_t before_ns = clock_monotonic_ns(), took_ns;

            sample->flow.id = number + 1;
            output_packet(output_port(output, 0), &sample->packet, &sample->decision, 1);
            took_ns = clock_monotonic_ns() - before_ns;
            max_ns = took_ns > max_ns ? took_ns : max_ns;
        }
        sleep_ms(SLICE_MS);
    }
    output_settle(output);
    until_ns = clock_monotonic_ns() + strtoull(argv[5], NULL, 10) * NS_PER_SECOND;
    while (!is_drained(output) && clock_monotonic_ns() < until_ns)
        sleep_ms(SLICE_MS);
    print_counters(output, max_ns);
    output_stop(output);
    output_close(output);
    config_free(config);
    diag_free(diag);
    free(outputs);
    free(sample);
    return EXIT_SUCCESS;
}
