/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Capture files through the same pipeline as packets from a queue. One worker in the calling thread, events lossless, so
 * that the same capture and rules always give the same events, whatever the size of a batch (queue.batch).
 */
#include "engine_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/diag.h"
#include "sluice/log.h"

struct replay {
    const struct replay_options *options;
    struct ruleset *ruleset;
    struct output *output;
    struct pipeline_shared shared;
    struct stats *stats;
    struct worker worker;
    uint64_t first_ns, last_ns; /* of the packets */
};

/* With each second of the capture, so that it does not depend on batches. */
static void expire(struct replay *replay, uint64_t now_ns)
{
    if (now_ns / NS_PER_SECOND != replay->last_ns / NS_PER_SECOND)
        pipeline_expire(&replay->worker.pipeline, replay->ruleset, now_ns, SIZE_MAX);
}

/* Judges the packets of the open capture until it ends: -ENODATA, or what ails it. */
static int replay_packets(struct replay *replay, uint64_t *unsupported)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    size_t batch_size = (size_t)config_number(replay->options->config, "queue.batch");

    for (;;) {
        int count = capture_receive(replay->worker.capture, batch, batch_size, 0);

        if (count < 0)
            return count;
        for (int i = 0; i < count; i++) {
            if (replay->first_ns == 0)
                replay->first_ns = batch[i]->time_ns;
            expire(replay, batch[i]->time_ns);
            replay->last_ns = batch[i]->time_ns;
            *unsupported += batch[i]->link == LINK_UNSUPPORTED;
            pipeline_packet(&replay->worker.pipeline, replay->ruleset, batch[i]);
        }
        int err = capture_send_verdicts(replay->worker.capture, batch, (size_t)count);

        if (err)
            return err;
    }
}

static int replay_file(struct replay *replay, const char *path, char error[ENGINE_ERROR_SIZE])
{
    char cause[CAPTURE_ERROR_SIZE];
    uint64_t unsupported = 0;
    int err = pcap_file_open(&replay->worker.capture, path, cause);

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    err = replay_packets(replay, &unsupported);
    if (err == -EBADMSG)
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", path, pcap_file_error(replay->worker.capture));
    else if (err != -ENODATA)
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", path, strerror(-err));
    if (unsupported > 0)
        log_warning("%s: its link type is not supported: %llu packets counted, not inspected", path,
                    (unsigned long long)unsupported);

    struct capture_counters before = replay->worker.snapshot.capture;

    worker_copy_counters(&replay->worker);
    replay->worker.snapshot.capture.packets += before.packets;
    replay->worker.snapshot.capture.bytes += before.bytes;
    capture_close(replay->worker.capture);
    replay->worker.capture = NULL;
    return err == -ENODATA ? 0 : err;
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
    int err = diag ? engine_pipeline_options(config, 1, replay->options->inline_mode, &pipeline, diag) : -ENOMEM;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "the settings of the decoder, flows or streams cannot be used");
        if (diag)
            print_mistakes(diag);
        diag_free(diag);
        return err;
    }
    diag_free(diag);
    pipeline.drop_undecodable &= replay->options->inline_mode;
    pipeline.checksums = checksum_checks(config);
    err = pipeline_shared_init(&replay->shared, &pipeline);
    if (!err)
        err = worker_snapshot_init(&replay->worker);
    if (!err)
        err = pipeline_init(&replay->worker.pipeline, &pipeline, &replay->shared, output_port(replay->output, 0));
    if (!err)
        err = detector_prepare(replay->worker.pipeline.detector, replay->ruleset);
    if (!err)
        err = stats_new(&replay->stats, 1, false, config);
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
    pipeline_shared_clear(&replay->shared);
    ruleset_free(replay->ruleset);
}

/* Of the whole run, behind all events. The packets of a capture need not be in the order of their times. */
static void write_stats(struct replay *replay)
{
    struct worker *workers[1] = { &replay->worker };
    uint64_t duration_ns = replay->last_ns > replay->first_ns ? replay->last_ns - replay->first_ns : 0;

    output_settle(replay->output);
    stats_write(replay->stats, workers, 1, replay->ruleset, replay->output, duration_ns / NS_PER_SECOND,
                replay->last_ns);
}

/* A replay whose events are not all in the file has failed: nobody would look for them elsewhere. */
static int check_written(const struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    struct output_counters counters;

    output_counters(replay->output, &counters);
    if (counters.write_errors == 0)
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "not all events could be written to '%s': is the disk full?",
             config_string(replay->options->config, "eve.filename"));
    return -EIO;
}

static int save_datasets(const struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    int err = engine_save_datasets(replay->ruleset);

    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "not all datasets could be saved");
    return err;
}

int engine_replay(const struct replay_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct replay replay = { .options = options };
    int err = load(&replay, error);

    if (!err)
        err = open_output(&replay, error);
    if (!err)
        err = open_pipeline(&replay, error);
    for (size_t i = 0; i < options->capture_count && !err; i++)
        err = replay_file(&replay, options->captures[i], error);
    if (replay.stats) {
        pipeline_finish(&replay.worker.pipeline, replay.ruleset);
        worker_copy_counters(&replay.worker);
        write_stats(&replay);
    }
    if (replay.output)
        output_stop(replay.output);
    if (!err)
        err = check_written(&replay, error);
    if (!err)
        err = save_datasets(&replay, error);
    replay_clear(&replay);
    return err;
}
