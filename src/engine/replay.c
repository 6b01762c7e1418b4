/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture files through the same pipeline as packets from a queue. One worker in the calling thread, events lossless, so
 * that the same capture and rules always give the same events.
 */
#include "engine_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sluice/diag.h"
#include "sluice/log.h"

enum { REPLAY_BATCH = 64 };

struct replay {
    const struct replay_options *options;
    struct ruleset *ruleset;
    struct output *output;
    struct policy_shared *shared;
    struct stats *stats;
    struct worker worker;
    uint64_t first_ns, last_ns; /* of the packets */
};

static int replay_file(struct replay *replay, const char *path, char error[ENGINE_ERROR_SIZE])
{
    struct packet *batch[REPLAY_BATCH];
    char cause[CAPTURE_ERROR_SIZE];
    struct capture_counters before = { 0 };
    int count, err;

    err = pcap_file_open(&replay->worker.capture, path, cause);
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    while ((count = capture_receive(replay->worker.capture, batch, REPLAY_BATCH, 0)) >= 0) {
        for (int i = 0; i < count; i++) {
            if (replay->first_ns == 0)
                replay->first_ns = batch[i]->time_ns;
            replay->last_ns = batch[i]->time_ns;
            pipeline_packet(&replay->worker.pipeline, replay->ruleset, batch[i]);
        }
        err = capture_send_verdicts(replay->worker.capture, batch, (size_t)count);
        if (err)
            break;
    }
    if (count < 0 && count != -ENODATA) {
        err = count;
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", path, pcap_file_error(replay->worker.capture));
    }
    before = replay->worker.snapshot.capture;
    worker_copy_counters(&replay->worker);
    replay->worker.snapshot.capture.packets += before.packets;
    replay->worker.snapshot.capture.bytes += before.bytes;
    capture_close(replay->worker.capture);
    replay->worker.capture = NULL;
    return err;
}

static void print_mistakes(const struct diag *diag)
{
    diag_print(diag, stderr, isatty(STDERR_FILENO));
}

static int open_output(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    struct output_options out;
    char cause[256];
    char path[4096];
    int err;

    output_options_default(&out);
    engine_eve_options(options->config, &out.eve);
    err = engine_eve_path(options->config, options->log_dir, path, sizeof(path), error);
    if (err)
        return err;
    out.eve_path = config_bool(options->config, "eve.enabled") ? path : NULL;
    out.eve_truncate = true;
    out.lossless = true;
    out.inline_mode = options->inline_mode;
    out.ring_size = (size_t)config_number(options->config, "output.ring-size");
    if (options->console) {
        out.console = stdout;
        out.console_colour = isatty(STDOUT_FILENO);
    }
    if (options->capture_count > 0)
        out.eve.pcap_file_name = options->captures[0];
    err = output_open(&replay->output, &out, 1, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err ? err : output_start(replay->output);
}

static enum checksum_checks checksum_checks(const struct config *config)
{
    const char *value = config_string(config, "replay.checksum-checks");

    if (strcmp(value, "auto") == 0)
        return CHECKSUMS_AUTO;
    return strcmp(value, "yes") == 0 ? CHECKSUMS_CHECK : CHECKSUMS_IGNORE;
}

static int open_pipeline(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct config *config = replay->options->config;
    struct pipeline_options pipeline;
    struct diag *diag = diag_new();
    int err = diag ? engine_pipeline_options(config, &pipeline, diag) : -ENOMEM;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "the decoder's settings cannot be used");
        if (diag)
            print_mistakes(diag);
        diag_free(diag);
        return err;
    }
    diag_free(diag);
    pipeline.policy.inline_mode = replay->options->inline_mode;
    pipeline.drop_undecodable &= replay->options->inline_mode;
    pipeline.checksums = checksum_checks(config);
    err = policy_shared_new(&replay->shared, &pipeline.policy);
    if (!err)
        err = worker_snapshot_init(&replay->worker);
    if (!err)
        err = pipeline_init(&replay->worker.pipeline, &pipeline, replay->shared, output_port(replay->output, 0));
    if (!err)
        err = detector_prepare(replay->worker.pipeline.detector, replay->ruleset);
    if (!err)
        err = stats_new(&replay->stats, 1, false, config_bool(config, "stats.decoder-events"));
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
    return err;
}

static int load(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    struct diag *diag = diag_new();
    int err = -ENOMEM;

    if (diag)
        err = engine_load_rules(&replay->ruleset, options->config, options->rule_files, options->rule_file_count, diag);
    if (diag)
        print_mistakes(diag);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded");
    diag_free(diag);
    return err;
}

static void replay_clear(struct replay *replay)
{
    stats_free(replay->stats);
    pipeline_clear(&replay->worker.pipeline);
    worker_snapshot_clear(&replay->worker);
    output_close(replay->output);
    policy_shared_free(replay->shared);
    ruleset_free(replay->ruleset);
}

/* The statistics count the events written: they are all to be there, or two runs would differ. */
static void wait_for_output(const struct replay *replay)
{
    const struct timespec pause = { .tv_nsec = 200000 };

    if (!replay->stats)
        return;
    uint64_t ticket = output_ticket(replay->output);

    while (!output_drained(replay->output, ticket))
        nanosleep(&pause, NULL);
}

int engine_replay(const struct replay_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct replay replay = { .options = options };
    struct worker *workers[1] = { &replay.worker };
    int err = load(&replay, error);

    if (!err)
        err = open_output(&replay, error);
    if (!err)
        err = open_pipeline(&replay, error);
    for (size_t i = 0; i < options->capture_count && !err; i++)
        err = replay_file(&replay, options->captures[i], error);
    wait_for_output(&replay);
    if (replay.stats)
        stats_write(replay.stats, workers, 1, replay.ruleset, replay.output,
                    (replay.last_ns - replay.first_ns) / 1000000000u, replay.last_ns);
    if (replay.output)
        output_stop(replay.output);
    replay_clear(&replay);
    return err;
}
