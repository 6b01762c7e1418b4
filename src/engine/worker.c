/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One thread per queue: receive a batch, judge it, send the verdicts. It owns everything that it touches on the way;
 * between two batches it looks at what main wants of it: another ruleset, a snapshot of its counters, or to stop.
 */
#include "engine_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int worker_snapshot_init(struct worker *worker)
{
    worker->snapshot.decode = calloc(decode_counter_count(), sizeof(*worker->snapshot.decode));
    return worker->snapshot.decode ? 0 : -ENOMEM;
}

void worker_snapshot_clear(struct worker *worker)
{
    free(worker->snapshot.decode);
    worker->snapshot.decode = NULL;
}

void worker_copy_counters(struct worker *worker)
{
    struct worker_snapshot *snapshot = &worker->snapshot;
    const struct pipeline *pipeline = &worker->pipeline;

    snapshot->capture = *capture_counters(worker->capture);
    snapshot->pipeline = pipeline->counters;
    snapshot->policy = *policy_counters(pipeline->policy);
    snapshot->detect = *detector_counters(pipeline->detector);
    if (pipeline->injector)
        snapshot->inject = *injector_counters(pipeline->injector);
    for (size_t i = 0; i < decode_counter_count(); i++)
        snapshot->decode[i] = decode_counter_value(pipeline->decoder, i);
}

static void answer_main(struct worker *worker)
{
    if (atomic_load_explicit(&worker->snapshot_wanted, memory_order_acquire)) {
        worker_copy_counters(worker);
        atomic_store_explicit(&worker->snapshot_wanted, false, memory_order_release);
    }
}

bool worker_take_snapshot(struct worker *worker)
{
    const struct timespec pause = { .tv_nsec = 1000000 };

    atomic_store_explicit(&worker->snapshot_wanted, true, memory_order_release);
    for (int i = 0; i < 1000; i++) {
        if (!atomic_load_explicit(&worker->snapshot_wanted, memory_order_acquire))
            return true;
        nanosleep(&pause, NULL);
    }
    return false;
}

static void loop(struct worker *worker)
{
    struct packet *batch[CAPTURE_MAX_BATCH];
    size_t batch_size = worker->queue.batch ? worker->queue.batch : 1;
    const struct ruleset *prepared = NULL;

    while (!atomic_load_explicit(&worker->stop, memory_order_relaxed)) {
        int count = capture_receive(worker->capture, batch, batch_size, WORKER_WAIT_MS);

        if (count < 0 && count != -ENOBUFS) {
            atomic_store(&worker->error, count);
            break;
        }
        const struct ruleset *ruleset = atomic_load_explicit(&worker->ruleset, memory_order_acquire);

        if (ruleset != prepared) {
            if (detector_prepare(worker->pipeline.detector, ruleset)) {
                atomic_store(&worker->error, -ENOMEM);
                break;
            }
            prepared = ruleset;
        }
        for (int i = 0; i < count; i++)
            pipeline_packet(&worker->pipeline, ruleset, batch[i]);
        if (count > 0) {
            int err = capture_send_verdicts(worker->capture, batch, (size_t)count);

            if (err) {
                atomic_store(&worker->error, err);
                break;
            }
        }
        atomic_fetch_add_explicit(&worker->epoch, 1, memory_order_release);
        answer_main(worker);
    }
}

static void *run(void *arg)
{
    struct worker *worker = arg;

    if (worker->affinity)
        affinity_apply_worker(worker->affinity, worker->index);
    loop(worker);
    return NULL;
}

int worker_start(struct worker *worker)
{
    char name[16];
    int err = -pthread_create(&worker->thread, NULL, run, worker);

    if (err)
        return err;
    worker->started = true;
    snprintf(name, sizeof(name), "worker-q%u", (unsigned)worker->queue.queue);
    pthread_setname_np(worker->thread, name);
    return 0;
}
