/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspects capture files with the same pipeline as packets of a queue. No event is lost, and the same captures and
 * rules always give the same events, with any batch size (queue.batch) and any number of workers.
 *
 * Threads: with one worker, the calling thread reads and inspects. With several, it reads and sends the packets to
 * their threads (replay_workers.c).
 */
#include "sluice/replay.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/config.h"
#include "sluice/decode.h"
#include "sluice/detect.h"
#include "sluice/diag.h"
#include "sluice/file_store.h"
#include "sluice/folder.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/load_progress.h"
#include "sluice/rule.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/stats.h"
#include "sluice/worker.h"

#include "replay_workers.h"

struct replay {
    const struct replay_options *options;
    struct ruleset *ruleset;
    struct output *output;
    struct pipeline_shared shared;
    struct stats *stats;
    struct worker *workers;
    unsigned worker_count;
    struct replay_workers *threads; /* NULL: one worker, in the calling thread */
    struct checksum_sample checksum_sample;
    struct capture *capture;    /* the open file */
    uint64_t first_ns, last_ns; /* of the packets */
    uint64_t unsupported;       /* packets of the open file whose link type is */
};

/* Ends flows at each full second of the capture, so that the result does not depend on batches. */
static bool begins_second(struct replay *replay, const struct packet *pkt)
{
    bool begins = pkt->time_ns / NS_PER_SECOND != replay->last_ns / NS_PER_SECOND;

    if (replay->first_ns == 0)
        replay->first_ns = pkt->time_ns;
    replay->last_ns = pkt->time_ns;
    replay->unsupported += pkt->link == LINK_UNSUPPORTED;
    return begins;
}

static int judge(struct replay *replay, struct packet **batch, int count)
{
    struct worker *worker = &replay->workers[0];

    for (int i = 0; i < count; i++) {
        if (begins_second(replay, batch[i]))
            pipeline_expire_all(&worker->pipeline, replay->ruleset, batch[i]->time_ns);
        pcap_file_prefetch(batch[i]);
        pipeline_packet(&worker->pipeline, replay->ruleset, batch[i], i + 1 < count ? batch[i + 1] : NULL);
    }
    return capture_send_verdicts(worker->capture, batch, (size_t)count);
}

static void hand_out(struct replay *replay, struct packet **batch, int count)
{
    for (int i = 0; i < count; i++) {
        if (begins_second(replay, batch[i]))
            replay_workers_expire(replay->threads, batch[i]->time_ns);
        pcap_file_prefetch(batch[i]);
        replay_workers_send(replay->threads, batch[i]);
    }
}

/* Errors of a file are reported when it is inspected. */
static void survey(struct replay *replay, const char *path)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    char cause[CAPTURE_ERROR_SIZE];
    struct capture *capture = NULL;
    struct stat status;
    int count;

    if (stat(path, &status) || !S_ISREG(status.st_mode) || pcap_file_open(&capture, path, cause))
        return;
    while ((count = capture_receive(capture, batch, CAPTURE_MAX_BATCH, 0)) >= 0)
        for (int i = 0; i < count; i++)
            replay_workers_group_addresses(replay->threads, batch[i]);
    capture_close(capture);
}

/* Inspects the packets of the open capture. Returns -ENODATA at its end, or the error. */
static int replay_packets(struct replay *replay)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    const struct config *config = replay->options->config;
    size_t batch_size =
        config_is_set(config, "queue.batch") ? (size_t)config_number(config, "queue.batch") : PCAP_FILE_BATCH;
    int err = 0;

    while (!err) {
        int count = capture_receive(replay->capture, batch, batch_size, 0);

        if (count < 0)
            return count;
        if (replay->threads)
            hand_out(replay, batch, count);
        else
            err = judge(replay, batch, count);
    }
    return err;
}

/* The worker of the calling thread has read the file: its counters continue with the next file. */
static void end_file(struct replay *replay)
{
    struct worker *worker = &replay->workers[0];
    struct capture_counters before = worker->snapshot.capture;

    if (!replay->threads) {
        worker_copy_counters(worker);
        worker->snapshot.capture.packets += before.packets;
        worker->snapshot.capture.bytes += before.bytes;
        worker->capture = NULL;
    }
    capture_close(replay->capture);
    replay->capture = NULL;
}

static int replay_file(struct replay *replay, const char *path, char error[ENGINE_ERROR_SIZE])
{
    char cause[CAPTURE_ERROR_SIZE];
    int err = pcap_file_open(&replay->capture, path, cause);

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    replay->unsupported = 0;
    if (!replay->threads)
        replay->workers[0].capture = replay->capture;
    err = replay_packets(replay);
    if (err == -EBADMSG && capture_counters(replay->capture)->packets > 0) {
        /* Warns about a truncated capture, of which the packets before the end were inspected. */
        log_warning("%s: %s; the rest of the file is skipped", path, pcap_file_error(replay->capture));
        err = -ENODATA;
    }
    if (err == -EBADMSG)
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", path, pcap_file_error(replay->capture));
    else if (err != -ENODATA)
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", path, strerror(-err));
    if (replay->unsupported > 0) {
        char link[CAPTURE_LINK_SIZE];

        pcap_file_link(replay->capture, link);
        log_warning("%s: link type %s is not supported: %llu packets not inspected", path, link,
                    (unsigned long long)replay->unsupported);
    }
    end_file(replay);
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
    setup_eve_options(options->config, &out.eve);
    out.eve.drop.rate_limit = out.eve.flow_rate_limit =
        0; /* the capture is all there is, and must give the same events again */
    err = setup_eve_path(options->config, options->log_dir, path, sizeof(path), error);
    if (err)
        return err;
    out.eve_path = config_bool(options->config, "eve.enabled") ? path : NULL;
    out.eve_truncate = true;
    out.lossless = true;
    if (out.eve_path && options->log_dir)
        folder_create(options->log_dir); /* or output_open() says what is wrong */
    out.inline_mode = options->inline_mode;
    out.names = rule_list_names(ruleset_rules(replay->ruleset));
    out.ring_size = (size_t)config_number(options->config, "output.ring-size");
    if (options->console) {
        out.console = stdout;
        out.console_colour = isatty(STDOUT_FILENO);
    }
    if (options->capture_count > 0)
        out.eve.pcap_file_name = options->captures[0];
    err = output_open(&replay->output, &out, replay->worker_count, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    return err;
}

static enum checksum_checks checksum_checks(const struct config *config)
{
    const char *value = config_string(config, "replay.checksum-checks");

    if (strcmp(value, "auto") == 0)
        return CHECKSUMS_AUTO;
    return strcmp(value, "yes") == 0 ? CHECKSUMS_CHECK : CHECKSUMS_IGNORE;
}

static int read_pipeline_options(struct replay *replay, struct pipeline_options *out, char error[ENGINE_ERROR_SIZE])
{
    const struct config *config = replay->options->config;
    struct diag *diag = diag_new();
    int err =
        diag ? setup_pipeline_options(config, replay->worker_count, replay->options->inline_mode, out, diag) : -ENOMEM;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "invalid settings of the decoder, flows or streams");
        if (diag)
            print_mistakes(diag);
        diag_free(diag);
        return err;
    }
    diag_free(diag);
    out->drop_undecodable &= replay->options->inline_mode;
    out->offload.accept = out->offload.drop = false; /* there is no kernel that would take them */
    out->checksums = checksum_checks(config);
    out->checksum_sample = &replay->checksum_sample;
    return 0;
}

static int open_worker(struct replay *replay, unsigned index, const struct pipeline_options *options)
{
    struct worker *worker = &replay->workers[index];
    int err = worker_snapshot_init(worker);

    if (!err)
        err = pipeline_init(&worker->pipeline, options, &replay->shared, index, output_port(replay->output, index));
    if (!err)
        pipeline_set_ruleset(&worker->pipeline, replay->ruleset);
    return err ? err : detector_prepare(worker->pipeline.detector, replay->ruleset);
}

static int open_threads(struct replay *replay, const struct decode_options *decode)
{
    int err = replay_workers_new(&replay->threads, replay->workers, replay->worker_count, replay->ruleset, decode);

    if (err)
        return err;
    output_set_progress(replay->output, replay_workers_progress, replay->threads);
    for (size_t i = 0; i < replay->options->capture_count; i++)
        survey(replay, replay->options->captures[i]);
    return replay_workers_start(replay->threads);
}

static int open_workers(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    struct pipeline_options options;
    int err = read_pipeline_options(replay, &options, error);

    if (err)
        return err;
    err = pipeline_shared_init(&replay->shared, &options);
    if (!err)
        err = setup_file_store(&replay->shared.files, replay->options->config, replay->options->log_dir,
                               replay->worker_count, true, error);
    if (err)
        return err;
    for (unsigned i = 0; i < replay->worker_count && !err; i++)
        err = open_worker(replay, i, &options);
    if (!err)
        err = stats_new(&replay->stats, replay->worker_count, false, replay->options->config, &replay->shared);
    if (!err && replay->worker_count > 1)
        err = open_threads(replay, &options.decode);
    if (!err && replay->shared.files)
        err = file_store_start(replay->shared.files);
    if (!err)
        err = output_start(replay->output);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot create workers: %s", strerror(-err));
    return err;
}

static int load(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    struct load_progress progress;
    struct diag *diag = diag_new();
    int err = -ENOMEM;

    if (diag) {
        load_progress_start(&progress, diag);
        err = setup_load_rules(&replay->ruleset, options->config, options->rule_files, options->rule_file_count, diag);
        load_progress_stop(&progress);
        print_mistakes(diag);
    }
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded");
    diag_free(diag);
    return err;
}

static int make_workers(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    if (replay->worker_count > REPLAY_MAX_WORKERS) {
        snprintf(error, ENGINE_ERROR_SIZE, "a replay has at most %d workers", REPLAY_MAX_WORKERS);
        return -EINVAL;
    }
    replay->workers = calloc(replay->worker_count, sizeof(*replay->workers));
    if (!replay->workers)
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
    return replay->workers ? 0 : -ENOMEM;
}

static void replay_clear(struct replay *replay)
{
    stats_free(replay->stats);
    replay_workers_free(replay->threads);
    for (unsigned i = 0; replay->workers && i < replay->worker_count; i++) {
        pipeline_clear(&replay->workers[i].pipeline);
        worker_snapshot_clear(&replay->workers[i]);
    }
    free(replay->workers);
    output_close(replay->output);
    pipeline_shared_clear(&replay->shared);
    ruleset_free(replay->ruleset);
}

/* Inspects the rest of all flows and ends them. */
static void finish(struct replay *replay)
{
    struct worker *worker = &replay->workers[0];

    if (replay->threads) {
        replay_workers_finish(replay->threads, replay->last_ns);
    } else if (replay->worker_count == 1) {
        pipeline_finish(&worker->pipeline, replay->ruleset, replay->last_ns);
        worker_copy_counters(worker);
    }
}

/* Writes the stats event after all others, with the last time of the capture, whose packets may not be in order. */
static void write_stats(struct replay *replay)
{
    struct worker *workers[REPLAY_MAX_WORKERS];
    uint64_t duration_ns = replay->last_ns > replay->first_ns ? replay->last_ns - replay->first_ns : 0;

    for (unsigned i = 0; i < replay->worker_count; i++)
        workers[i] = &replay->workers[i];
    output_settle(replay->output);
    if (replay->shared.files)
        file_store_stop(replay->shared.files);
    stats_write(replay->stats, workers, replay->worker_count, replay->ruleset, replay->output,
                duration_ns / NS_PER_SECOND, replay->last_ns);
}

/* A replay fails if not all events could be written. */
static int check_written(const struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    struct output_counters counters;

    output_counters(replay->output, &counters);
    if (counters.write_errors == 0)
        return 0;
    snprintf(error, ENGINE_ERROR_SIZE, "cannot write all events to '%s': check whether the disk is full",
             config_string(replay->options->config, "eve.filename"));
    return -EIO;
}

static int save_datasets(const struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    int err = setup_save_datasets(replay->ruleset);

    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot save all datasets");
    return err;
}

int replay_run(const struct replay_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct replay replay = { .options = options, .worker_count = options->workers > 0 ? options->workers : 1 };
    int err = load(&replay, error);

    if (!err)
        err = make_workers(&replay, error);
    if (!err)
        err = open_output(&replay, error);
    if (!err)
        err = open_workers(&replay, error);
    for (size_t i = 0; i < options->capture_count && !err; i++)
        err = replay_file(&replay, options->captures[i], error);
    if (replay.stats) {
        finish(&replay);
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
