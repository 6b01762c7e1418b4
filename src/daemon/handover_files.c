/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the state of an engine to the next engine, through the supervisor: one memory file for each worker, and one for
 * the state that all workers share. handover.c writes and reads the contents of the files.
 */
#include "handover_files.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "sluice/clock.h"
#include "sluice/handover.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/stats.h"
#include "sluice/supervisor_channel.h"
#include "sluice/worker.h"

static struct handover_place place_of(const struct engine_state *own, unsigned worker)
{
    return (struct handover_place){ worker, own->worker_count };
}

static int new_file(void)
{
    int fd = memfd_create("sluice-flows", MFD_CLOEXEC | MFD_ALLOW_SEALING);

    return fd < 0 ? -errno : fd;
}

static int send_and_close(const struct engine_state *own, int what, int fd, int err)
{
    if (!err)
        err = channel_send_file(own->channel, CHANNEL_FILE, what, fd);
    close(fd);
    return err;
}

/* If a file cannot be written, the next engine starts without that state, as after a crash. */
void engine_state_send(const struct engine_state *own)
{
    struct handover_counts counts = { 0 };
    uint64_t begin_ns = clock_monotonic_ns();
    int err = 0, one, fd;

    for (unsigned i = 0; i < own->worker_count; i++) {
        struct worker *worker = &own->workers[i];

        one = fd = new_file();
        if (fd >= 0) {
            one = handover_write(&worker->pipeline, atomic_load(&worker->ruleset), place_of(own, i), fd, &counts);
            one = send_and_close(own, (int)i, fd, one);
        }
        err = err ? err : one;
    }
    /* The counters are written after the flows, because handover_write() logs the transactions that it does not
     * transfer, and this changes counters. */
    for (unsigned i = 0; i < own->worker_count; i++)
        worker_copy_counters(&own->workers[i]);
    one = stats_hand_over(own->stats, own->worker_list, own->worker_count, own->ruleset, own->output, own->started_ns);
    err = err ? err : one;
    one = fd = new_file();
    own->shared->capture_file = output_pcap_newest(own->output);
    if (fd >= 0) {
        one = handover_write_shared(own->shared, own->ruleset, clock_realtime_ns(), fd);
        one = send_and_close(own, CHANNEL_SHARED_FILE, fd, one);
    }
    err = err ? err : one;
    channel_send(own->channel, CHANNEL_HANDED_OVER, err, NULL);
    if (err)
        log_error("cannot hand over all flows and counters to the next engine: %s", strerror(-err));
    log_notice("handed over %llu flows to the next engine in %.3f s", (unsigned long long)counts.flows,
               (double)(clock_monotonic_ns() - begin_ns) / NS_PER_SECOND);
}

void engine_state_receive(const struct engine_state *own, int what, int fd)
{
    struct handover_counts counts = { 0 };
    int err = 0;

    if (what == CHANNEL_SHARED_FILE)
        err = handover_read_shared(own->shared, own->ruleset, fd);
    /* Each worker reads the files of all previous workers, and uses the flows whose packets may reach its queue. */
    for (unsigned i = 0; what != CHANNEL_SHARED_FILE && i < own->worker_count && !err; i++)
        err = handover_read(&own->workers[i].pipeline, own->ruleset, place_of(own, i), fd, &counts);
    if (err)
        log_error("cannot restore the flows and counters of the previous engine: %s", strerror(-err));
    else if (what != CHANNEL_SHARED_FILE)
        log_info("restored %llu flows from the previous engine%s", (unsigned long long)counts.flows,
                 counts.left > 0 ? "; the flow table has no room for the others (flow.memcap)" : "");
    if (what == CHANNEL_SHARED_FILE && !err)
        output_pcap_begin_after(own->output, own->shared->capture_file);
    /* The shared file is the last one: the memcaps have been read from the files of the workers. */
    for (unsigned i = 0; what == CHANNEL_SHARED_FILE && i < WORKER_MEMCAPS; i++)
        if (own->shared->memcaps[i].changed > 0)
            stats_set_memcap(own->stats, (enum worker_memcap)i, own->shared->memcaps[i].changed);
    close(fd);
}

/* Waits until the output thread has written the events, before they are marked as reported: if this engine dies
 * earlier, the next engine writes them. The wait is limited, in case the disk is hung. */
static void wait_for_written(struct output *output)
{
    enum { TRIES = 100 };
    const struct timespec pause = { .tv_nsec = 1000000 };
    uint64_t ticket = output_ticket(output);

    for (unsigned i = 0; i < TRIES && !output_is_written(output, ticket); i++)
        nanosleep(&pause, NULL);
}

void engine_events_report(struct engine_memory *memory, struct output *output)
{
    static const enum output_engine_action actions[] = {
        [ENGINE_EVENT_RESTART] = OUTPUT_ENGINE_RESTARTED,
        [ENGINE_EVENT_QUARANTINE] = OUTPUT_ENGINE_QUARANTINED,
        [ENGINE_EVENT_HANDOVER] = OUTPUT_ENGINE_HANDED_OVER,
    };
    uint64_t first = atomic_load(&memory->reported), end = memory->event_count;

    if (end - first > ENGINE_EVENTS)
        first = end - ENGINE_EVENTS;
    for (uint64_t i = first; i < end; i++) {
        const struct engine_event *from = &memory->events[i % ENGINE_EVENTS];
        struct output_engine event = {
            .time_ns = from->time_ns,
            .number = i + 1,
            .action = actions[from->kind],
            .signal = from->signal,
            .code = from->code,
            .hung = from->hung,
            .packets = from->repeated,
            .queue = from->queue,
            .length = from->length,
        };

        snprintf(event.path, sizeof(event.path), "%s", from->path);
        output_engine(output, &event);
    }
    if (end > first)
        wait_for_written(output);
    atomic_store(&memory->reported, end);
}
