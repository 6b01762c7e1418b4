/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Inspects capture files with the same pipeline as packets of a queue. No event is lost, and the same captures and
 * rules always give the same events, with any batch size (queue.batch) and any number of workers.
 *
 * Threads: with one worker, the calling thread reads and inspects the packets. With several, the calling thread reads
 * the packets and sends them to the threads of the workers (replay_workers.c).
 */
#include "sluice/replay.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
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
#include "sluice/daemon.h"
#include "sluice/stats.h"
#include "sluice/worker.h"

#include "capture_folder.h"
#include "replay_workers.h"

enum { WATCH_MS = 1000 };

/* A capture file. */
struct input {
    const char *path; /* of the options or of a folder */
    bool is_in_folder;
};

struct replay {
    const struct replay_options *options;
    struct capture_folder **folders; /* for each capture of the options; NULL: it is a file */
    struct input *inputs;            /* all files, in the order of the replay; none with options->continuous */
    size_t input_count;
    struct ruleset *ruleset;
    struct output *output;
    struct pipeline_shared shared;
    struct stats *stats;
    struct worker *workers;
    unsigned worker_count;
    struct replay_workers *threads; /* NULL: one worker, in the calling thread */
    struct checksum_sample checksum_sample;
    bool names_files;           /* events have the name of the capture file */
    struct capture *capture;    /* the capture file that is read now */
    uint64_t first_ns, last_ns; /* times of the first and the last packet read so far */
    int stop_fd;                /* the replay ends when this descriptor is readable; 0: no descriptor */
    bool owns_stop_fd;          /* stop_fd is a signalfd of this replay */
    sigset_t signals_before;    /* the signal mask before it */
    uint64_t unsupported;       /* number of packets of the open file with an unsupported link type */
};

/* Records the packet's time. Returns true if the packet is the first of a second of the capture. The caller then ends
 * flows that have timed out; because this depends on packet times only, the result does not depend on batches. */
static bool begins_second(struct replay *replay, const struct packet *pkt)
{
    bool begins = pkt->time_ns / NS_PER_SECOND != replay->last_ns / NS_PER_SECOND;

    if (replay->first_ns == 0)
        replay->first_ns = pkt->time_ns;
    replay->last_ns = pkt->time_ns;
    replay->unsupported += pkt->link == LINK_UNSUPPORTED;
    return begins;
}

static bool is_stopped(const struct replay *replay)
{
    struct pollfd stop = { .fd = replay->stop_fd, .events = POLLIN };

    return replay->stop_fd > 0 && poll(&stop, 1, 0) > 0;
}

/* Inspects the packets of the open capture file. Returns -ENODATA at its end or when the replay is stopped, or
 * the -errno of an error. */
static int replay_packets(struct replay *replay)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    struct worker *worker = &replay->workers[0];
    const struct config *config = replay->options->config;
    struct queue_options queue;
    size_t batch_size = PCAP_FILE_BATCH;
    int count = -ENODATA, err = 0;

    if (config_is_set(config, "queue.batch")) {
        config_fill(config, queue_settings, NULL, &queue);
        batch_size = queue.nfqueue.batch;
    }
    while (!err && !is_stopped(replay) && (count = capture_receive(replay->capture, batch, batch_size, 0)) >= 0) {
        for (int i = 0; i < count; i++) {
            bool expire = begins_second(replay, batch[i]);
            const char *interface = pcap_file_interface_name(replay->capture, batch[i]);

            /* Each file numbers its interfaces in its own way. */
            if (batch[i]->meta.in_ifindex > 0)
                batch[i]->meta.in_ifindex = interface ? output_add_file_interface(replay->output, interface) : 0;

            pcap_file_prefetch(batch[i]);
            if (replay->threads) {
                if (expire)
                    replay_workers_expire(replay->threads, batch[i]->time_ns);
                replay_workers_send(replay->threads, batch[i]);
                continue;
            }
            if (expire)
                pipeline_expire_all(&worker->pipeline, replay->ruleset, batch[i]->time_ns);
            pipeline_packet(&worker->pipeline, replay->ruleset, batch[i], i + 1 < count ? batch[i + 1] : NULL);
        }
        if (!replay->threads)
            err = capture_send_verdicts(worker->capture, batch, (size_t)count);
    }
    if (count >= 0) /* is_stopped() has ended the loop: treat this like the end of the file */
        count = -ENODATA;
    return err ? err : count;
}

/* Returns 0 when the whole file was inspected, 1 when the rest of it was skipped, or -errno with a line in `error`. */
static int replay_file(struct replay *replay, const char *path, char error[ENGINE_ERROR_SIZE])
{
    bool is_cut = false;
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    char cause[CAPTURE_ERROR_SIZE];
    int err = pcap_file_open(&replay->capture, path, replay->stop_fd, cause);

    if (err == -ECANCELED)
        return 0;
    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        return err;
    }
    replay->unsupported = 0;
    if (!replay->threads)
        replay->workers[0].capture = replay->capture;
    err = replay_packets(replay);
    if (err == -EBADMSG && capture_counters(replay->capture)->packets > 0) {
        /* The capture file is truncated: the packets before its end were inspected. */
        log_warning("%s: %s; the rest of the file is skipped", name, pcap_file_error(replay->capture));
        err = -ENODATA;
        is_cut = true;
    }
    if (err == -EBADMSG)
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", name, pcap_file_error(replay->capture));
    else if (err != -ENODATA)
        snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", name, strerror(-err));
    if (replay->unsupported > 0) {
        char link[CAPTURE_LINK_SIZE];

        pcap_file_link(replay->capture, link);
        log_warning("%s: link type %s is not supported: %llu packets not inspected", name, link,
                    (unsigned long long)replay->unsupported);
    }
    if (!replay->threads) { /* keep the counters of earlier files, because each file has a new capture */
        struct worker *worker = &replay->workers[0];
        struct capture_counters before = worker->snapshot.capture;

        worker_copy_counters(worker);
        worker->snapshot.capture.packets += before.packets;
        worker->snapshot.capture.bytes += before.bytes;
        worker->capture = NULL;
    }
    capture_close(replay->capture);
    replay->capture = NULL;
    return err == -ENODATA ? is_cut : err;
}

/* Inspects a file. A file of a folder that cannot be inspected is left out with a message. */
static int replay_input(struct replay *replay, const struct input *input, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    int err;

    if (replay->names_files) {
        if (replay->threads)
            replay_workers_wait(replay->threads);
        if (output_set_pcap_file(replay->output, input->path)) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s: out of memory", input->path);
            return -ENOMEM;
        }
    }
    err = replay_file(replay, input->path, error);
    if (err < 0 && input->is_in_folder && err != -ENOMEM) {
        log_warning("%s; the file is skipped", error);
        error[0] = '\0';
        return 0;
    }
    if (err == 0 && options->deletes && !is_stopped(replay)) {
        if (replay->threads)
            replay_workers_wait(replay->threads);
        if (unlink(input->path))
            log_warning("cannot delete %s: %s", input->path, strerror(errno));
        if (options->done_marker && input->is_in_folder) {
            char marker[4096];
            int length = snprintf(marker, sizeof(marker), "%s%s", input->path, options->done_marker);

            if (length > 0 && (size_t)length < sizeof(marker) && unlink(marker))
                log_warning("cannot delete %s: %s", marker, strerror(errno));
        }
    }
    return err < 0 ? err : 0;
}

static void print_diag(const struct diag *diag)
{
    diag_print(diag, stderr, isatty(STDERR_FILENO));
}

/* A replay writes no events to servers, and overwrites no files outside of its log folder. */
static void keep_relative_files(const struct config *config, struct setup_outputs *outputs)
{
    size_t kept = 0;

    for (size_t i = 0; i < outputs->count; i++) {
        struct output_settings settings = { 0 };

        config_fill(config, destination_settings, outputs->list[i].name, &settings);
        if (settings.type == OUTPUT_FILE_REGULAR && !(settings.filename && settings.filename[0] == '/'))
            outputs->list[kept++] = outputs->list[i];
    }
    outputs->count = kept;
}

static int open_output(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    struct output_options out = { 0 };
    struct setup_outputs *outputs = malloc(sizeof(*outputs));
    char cause[256] = "";
    int err = outputs ? setup_output_options(options->config, options->log_dir, &out, outputs, error) : -ENOMEM;

    if (!outputs)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot set up event output: %s", strerror(ENOMEM));
    if (err) {
        free(outputs);
        return err;
    }
    out.eve_truncate = !options->appends;
    out.lossless = true;
    out.eve_type = OUTPUT_FILE_REGULAR;
    out.eve_rotation = (struct output_rotation){ 0 };
    /* no rate limits, because each run must write the same events */
    out.eve.drop.rate_limit = out.eve.flow_rate_limit = 0;
    keep_relative_files(options->config, outputs);
    out.destination_count = outputs->count;
    if ((out.eve_path || outputs->count > 0) && options->log_dir)
        folder_create(options->log_dir); /* if this fails, output_open() reports the error */
    out.inline_mode = options->inline_mode;
    out.names = rule_list_names(ruleset_rules(replay->ruleset));
    if (options->console) {
        out.console = stdout;
        out.console_colour = isatty(STDOUT_FILENO);
    }
    replay->names_files = out.eve.pcap_file;
    err = output_open(&replay->output, &out, replay->worker_count, cause);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    free(outputs);
    return err;
}

static int read_pipeline_options(struct replay *replay, struct pipeline_options *out, char error[ENGINE_ERROR_SIZE])
{
    const struct config *config = replay->options->config;
    struct inspection_options inspection;
    struct diag *diag = diag_new();
    int err =
        diag ? setup_pipeline_options(config, replay->worker_count, replay->options->inline_mode, out, diag) : -ENOMEM;

    if (err) {
        snprintf(error, ENGINE_ERROR_SIZE,
                 "invalid settings (host-os-policy, decoder or app-layer): see the errors above");
        if (diag)
            print_diag(diag);
    }
    diag_free(diag);
    if (err)
        return err;
    out->drop_undecodable &= replay->options->inline_mode;
    /* a replay has no connections in the kernel that could be offloaded */
    out->offload.accept = out->offload.drop = false;
    config_fill(config, inspection_settings, NULL, &inspection);
    out->checksums = inspection.checksums;
    out->detector.budget.measure = replay->options->costs != NULL;
    out->checksum_sample = &replay->checksum_sample;
    return 0;
}

/* Returns whether the bytes of a capture can be read only once. */
static bool is_pipe(const char *path)
{
    struct stat status;

    return strcmp(path, "-") == 0 || stat(path, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode));
}

/* Reads all captures once to find pairs of addresses whose packets must reach the same worker. Errors of a file are
 * ignored here and reported when the file is inspected. */
static void group_addresses(struct replay *replay)
{
    struct packet *batch[CAPTURE_MAX_BATCH];

    for (size_t i = 0; i < replay->input_count; i++) {
        const char *path = replay->inputs[i].path;
        char cause[CAPTURE_ERROR_SIZE];
        struct capture *capture = NULL;
        int count;

        if (is_pipe(path) || pcap_file_open(&capture, path, 0, cause))
            continue;
        while ((count = capture_receive(capture, batch, CAPTURE_MAX_BATCH, 0)) >= 0)
            for (int k = 0; k < count; k++)
                replay_workers_group_addresses(replay->threads, batch[k]);
        capture_close(capture);
    }
}

static int add_input(struct replay *replay, const char *path, bool is_in_folder)
{
    size_t count = replay->input_count;
    struct input *more = replay->inputs;

    if ((count & (count - 1)) == 0) /* the room is the next power of two */
        more = realloc(more, (count ? 2 * count : 1) * sizeof(*more));
    if (!more)
        return -ENOMEM;
    replay->inputs = more;
    more[replay->input_count++] = (struct input){ path, is_in_folder };
    return 0;
}

/* Lists the files of a folder in the order of their first packets. */
static int list_folder(struct replay *replay, size_t index)
{
    const struct replay_options *options = replay->options;
    const struct capture_folder_options folder = {
        .recursive = options->recursive,
        .opens_files = true,
        .delay_seconds = options->delay_seconds,
        .done_marker = options->done_marker,
    };
    const char *path;
    size_t before = replay->input_count;
    int err = capture_folder_new(&replay->folders[index], options->captures[index], &folder);

    if (err || options->continuous)
        return err;
    err = capture_folder_scan(replay->folders[index]);
    while (!err && (path = capture_folder_next(replay->folders[index])))
        err = add_input(replay, path, true);
    if (!err && replay->input_count == before)
        log_warning("folder %s contains no capture file", options->captures[index]);
    return err;
}

/* Lists the files of the captures. Opens and closes each, so that a file which is no capture is reported before the
 * files of the output are created. */
static int list_inputs(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    int err = 0;

    replay->folders = calloc(options->capture_count + 1, sizeof(struct capture_folder *));
    if (!replay->folders) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    for (size_t i = 0; i < options->capture_count && !err; i++) {
        const char *path = options->captures[i];
        char cause[CAPTURE_ERROR_SIZE];
        struct capture *capture = NULL;
        struct stat status;

        if (strcmp(path, "-") != 0 && stat(path, &status) == 0 && S_ISDIR(status.st_mode)) {
            err = list_folder(replay, i);
            if (err)
                snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", path, strerror(-err));
            continue;
        }
        err = is_pipe(path) ? 0 : pcap_file_open(&capture, path, 0, cause);
        if (err)
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
        else if ((err = add_input(replay, path, false)))
            snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        if (capture)
            capture_close(capture);
    }
    return err;
}

/* Inspects the files of the folders when they are ready, until the replay is stopped. */
static int watch_folders(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    const struct replay_options *options = replay->options;
    struct pollfd stop = { .fd = replay->stop_fd, .events = POLLIN };
    int err = 0;

    while (!err && !is_stopped(replay)) {
        bool inspected = false;

        for (size_t i = 0; i < options->capture_count && !err; i++) {
            struct input input = { .is_in_folder = true };

            err = capture_folder_scan(replay->folders[i]);
            if (err)
                snprintf(error, ENGINE_ERROR_SIZE, "%s: %s", options->captures[i], strerror(-err));
            while (!err && !is_stopped(replay) && (input.path = capture_folder_next(replay->folders[i]))) {
                err = replay_input(replay, &input, error);
                inspected = true;
            }
        }
        if (!err && !inspected)
            poll(&stop, 1, WATCH_MS);
    }
    return err;
}

static int open_workers(struct replay *replay, char error[ENGINE_ERROR_SIZE])
{
    struct pipeline_options options;
    int err = read_pipeline_options(replay, &options, error);

    if (err)
        return err;
    options.offload.skips = true;
    err = pipeline_shared_init(&replay->shared, &options);
    if (!err)
        err = setup_file_store(&replay->shared.files, replay->options->config, replay->options->log_dir,
                               replay->worker_count, true, error);
    if (err)
        return err;
    for (unsigned i = 0; i < replay->worker_count && !err; i++) {
        struct worker *worker = &replay->workers[i];

        err = worker_snapshot_init(worker);
        if (!err)
            err = pipeline_init(&worker->pipeline, &options, &replay->shared, i, output_port(replay->output, i));
        if (!err) {
            pipeline_set_ruleset(&worker->pipeline, replay->ruleset);
            err = detector_prepare(worker->pipeline.detector, replay->ruleset);
        }
    }
    if (!err)
        err = stats_new(&replay->stats, replay->worker_count, false, replay->options->config, &replay->shared);
    if (!err && replay->worker_count > 1) {
        err = replay_workers_new(&replay->threads, replay->workers, replay->worker_count, replay->ruleset,
                                 &options.decode);
        if (!err) {
            output_set_progress(replay->output, replay_workers_progress, replay->threads);
            group_addresses(replay);
            err = replay_workers_start(replay->threads);
        }
    }
    if (!err && replay->shared.files)
        err = file_store_start(replay->shared.files);
    if (!err)
        err = output_start(replay->output);
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "cannot create workers: %s", strerror(-err));
    return err;
}

int replay_load_rules(const struct replay_options *options, struct ruleset **out, char error[ENGINE_ERROR_SIZE])
{
    struct load_progress progress;
    struct diag *diag = diag_new();
    int err = -ENOMEM;

    if (diag) {
        load_progress_start(&progress, diag);
        err = setup_load_rules(out,
                               &(struct rule_load_options){ .config = options->config,
                                                            .rule_files = options->rule_files,
                                                            .rule_file_count = options->rule_file_count,
                                                            .names = options->names },
                               diag);
        load_progress_stop(&progress);
        print_diag(diag);
    }
    if (err)
        snprintf(error, ENGINE_ERROR_SIZE, "the rules could not be loaded");
    diag_free(diag);
    return err;
}

static void replay_clear(struct replay *replay)
{
    for (size_t i = 0; replay->folders && i < replay->options->capture_count; i++)
        capture_folder_free(replay->folders[i]);
    free(replay->folders);
    free(replay->inputs);
    stats_free(replay->stats);
    replay_workers_free(replay->threads);
    for (unsigned i = 0; replay->workers && i < replay->worker_count; i++) {
        pipeline_clear(&replay->workers[i].pipeline);
        worker_snapshot_clear(&replay->workers[i]);
    }
    free(replay->workers);
    output_close(replay->output);
    pipeline_shared_clear(&replay->shared);
    if (!replay->options->ruleset)
        ruleset_free(replay->ruleset);
}

/* Inspects the rest of all flows, then writes the stats event after all other events, with the time of the last packet
 * that was read. */
static void finish(struct replay *replay)
{
    struct worker *workers[REPLAY_MAX_WORKERS];
    uint64_t duration_ns = replay->last_ns > replay->first_ns ? replay->last_ns - replay->first_ns : 0;

    for (unsigned i = 0; i < replay->worker_count; i++)
        workers[i] = &replay->workers[i];
    if (replay->threads) {
        replay_workers_finish(replay->threads, replay->last_ns);
    } else if (replay->worker_count == 1) {
        pipeline_finish(&workers[0]->pipeline, replay->ruleset, replay->last_ns);
        worker_copy_counters(workers[0]);
    }
    output_settle(replay->output);
    if (replay->shared.files)
        file_store_stop(replay->shared.files);
    stats_write(replay->stats, workers, replay->worker_count, replay->ruleset, replay->output,
                duration_ns / NS_PER_SECOND, replay->last_ns);
    if (replay->options->costs)
        explain_costs(replay->options->costs, replay->ruleset, replay->shared.apps, replay->workers,
                      replay->worker_count);
}

/* A pipe can be read, and a folder be watched, for days: from now on, SIGINT and SIGTERM end such a replay as the end
 * of the pipe does. They end the replay of other files at once. */
static void open_stop_signals(struct replay *replay)
{
    const struct replay_options *options = replay->options;
    bool is_live = options->continuous;
    sigset_t signals;

    replay->stop_fd = options->stop_fd;
    for (size_t i = 0; i < options->capture_count; i++)
        is_live |= is_pipe(options->captures[i]);
    if (!is_live || options->stop_fd > 0)
        return;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, &replay->signals_before);
    replay->stop_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    replay->owns_stop_fd = replay->stop_fd > 0;
    if (!replay->owns_stop_fd)
        pthread_sigmask(SIG_SETMASK, &replay->signals_before, NULL);
}

static void close_stop_signals(struct replay *replay)
{
    struct signalfd_siginfo info;

    if (!replay->owns_stop_fd)
        return;
    /* A signal that was not read would end the program when it is unblocked. */
    while (read(replay->stop_fd, &info, sizeof(info)) == sizeof(info))
        continue;
    close(replay->stop_fd);
    pthread_sigmask(SIG_SETMASK, &replay->signals_before, NULL);
}

int replay_run(const struct replay_options *options, char error[ENGINE_ERROR_SIZE])
{
    struct replay replay = { .options = options,
                             .worker_count = options->workers > 0 ? options->workers : 1,
                             .ruleset = options->ruleset };
    struct output_counters counters;
    int err = list_inputs(&replay, error);

    if (!err && !options->ruleset)
        err = replay_load_rules(options, &replay.ruleset, error);

    if (!err && replay.worker_count > REPLAY_MAX_WORKERS) {
        snprintf(error, ENGINE_ERROR_SIZE, "a replay has at most %d workers", REPLAY_MAX_WORKERS);
        err = -EINVAL;
    }
    if (!err && !(replay.workers = calloc(replay.worker_count, sizeof(*replay.workers)))) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        err = -ENOMEM;
    }
    if (!err) {
        open_stop_signals(&replay);
        err = open_output(&replay, error);
    }
    if (!err)
        err = open_workers(&replay, error);
    for (size_t i = 0; i < replay.input_count && !err && !is_stopped(&replay); i++)
        err = replay_input(&replay, &replay.inputs[i], error);
    if (!err && options->continuous)
        err = watch_folders(&replay, error);
    if (replay.stats)
        finish(&replay);
    for (unsigned i = 0; replay.stats && i < replay.worker_count; i++)
        script_log_worker(&replay.workers[i]);
    if (replay.output)
        output_stop(replay.output);
    if (!err) {
        output_counters(replay.output, &counters);
        if (counters.write_errors > 0) {
            struct log_options log;

            config_fill(options->config, output_settings, NULL, &log);
            snprintf(error, ENGINE_ERROR_SIZE, "cannot write all events to '%s': check whether the disk is full",
                     log.eve_name);
            err = -EIO;
        }
    }
    if (!err && (err = setup_save_datasets(replay.ruleset)))
        snprintf(error, ENGINE_ERROR_SIZE, "cannot save all datasets");
    close_stop_signals(&replay);
    replay_clear(&replay);
    return err;
}
