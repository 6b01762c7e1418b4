/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Measures level and age of a worker's queue while it receives. While each receive empties the queue, the cost is two
 * clock reads for each batch. A full receive means that more packets may wait: then the worker reads the level of the
 * queue from the kernel, at most once in LEVEL_INTERVAL_NS.
 *
 * The age of a batch is that of its oldest packet when the verdicts are sent: no packet of the batch waited longer.
 *
 * An engine that starts on an existing queue finds packets that have waited. They are not treated as overload until the
 * queue was empty once, at most for START_NS; otherwise flows would be shed without need.
 *
 * Threads: the worker.
 */
#include <string.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/overload.h"
#include "sluice/packet.h"
#include "sluice/ring.h"

enum { LEVEL_INTERVAL_NS = 5 * 1000 * 1000 };
#define WAIT_NS UINT64_C(200000000)      /* WORKER_WAIT_MS in nanoseconds: how long a receive waits for packets */
#define MAX_SLEEP_NS UINT64_C(300000000) /* a receive that took longer: the worker was stopped, or got no CPU time */
#define START_NS (3 * NS_PER_SECOND)
#define MAX_STAMP_AGE_NS (60 * NS_PER_SECOND) /* an older time stamp is from another clock */

void queue_watch_copy(const struct queue_watch *watch, struct queue_watch_counters *out)
{
    *out = (struct queue_watch_counters){
        .ages = watch->ages,
        .fill_permille = watch->fill_permille,
        .shedding = overload_shedding(&watch->overload),
        .overloaded = watch->overload.active,
        .times = watch->overload.times,
        .total_ns = watch->overload.total_ns,
        .slow_packets = watch->slow_packets,
        .slowest_ns = watch->slowest_ns,
    };
    if (watch->overload.active)
        out->total_ns += watch->receive_ns - watch->overload.entered_ns;
}

void queue_watch_receiving(struct queue_watch *watch, uint64_t now_ns)
{
    watch->receive_ns = now_ns;
    if (watch->started_ns == 0)
        watch->started_ns = now_ns;
}

static unsigned permille(uint64_t part, uint64_t whole)
{
    uint64_t value = whole > 0 ? part * 1000 / whole : 0;

    return value < 1000 ? (unsigned)value : 1000;
}

/*
 * Called after each receive: estimates the age of its first packet and the level of the queue. The time that a receive
 * waits for packets is not their age. Two cases of a receive that took longer than MAX_SLEEP_NS:
 * - It returned no packets: the worker was stopped (SIGSTOP). Packets in the queue may have arrived at any time since
 * the last mark.
 * - It returned packets: the worker got no CPU time. The first packet is assumed to have arrived after WAIT_NS, when
 * the receive should have ended. That age (late_ns) is counted, but no flow is shed for it, because it is an estimate.
 */
void queue_watch_received(struct queue_watch *watch, struct capture *capture, struct packet *const *batch, int count,
                          uint64_t now_ns)
{
    const struct capture_counters *counters = capture_counters(capture);
    const uint64_t slept_ns = now_ns - watch->receive_ns;
    const bool full = counters->full_batches != watch->full_batches, received = count > 0;
    struct queue_level level;

    watch->received_ns = now_ns;
    watch->full_batches = counters->full_batches;
    watch->late_ns = received && slept_ns > MAX_SLEEP_NS ? slept_ns - WAIT_NS : 0;
    if (received || slept_ns <= MAX_SLEEP_NS)
        queue_age_slept(&watch->age, slept_ns);
    else if (capture_level(capture, &level) == 0 && level.has_sequence && level.waiting == 0)
        queue_age_mark(&watch->age, level.id_sequence, now_ns, true);

    if (full && now_ns - watch->level_ns >= LEVEL_INTERVAL_NS) {
        watch->level_ns = now_ns;
        if (capture_level(capture, &level) == 0) {
            unsigned packets = permille(level.waiting, level.length), bytes = permille(level.buffered, level.buffer);

            watch->fill_permille = packets > bytes ? packets : bytes;
            if (level.has_sequence)
                queue_age_mark(&watch->age, level.id_sequence, now_ns, false);
        }
    }
    if (!received)
        return;
    watch->oldest_ns = queue_age_of(&watch->age, batch[0]->meta.id, now_ns);
    if (batch[0]->flags & PACKET_KERNEL_TIME) { /* prefer the kernel's time stamp to the estimate */
        uint64_t real_ns = clock_realtime_ns(), stamp_ns = batch[0]->time_ns;

        if (real_ns >= stamp_ns && real_ns - stamp_ns < MAX_STAMP_AGE_NS)
            watch->oldest_ns = real_ns - stamp_ns;
    }
    if (!full) {
        queue_age_mark(&watch->age, batch[count - 1]->meta.id, now_ns, true);
        watch->fill_permille = 0;
    }
}

/* Sends the start, a change or the end of overload to the main thread, which writes events and log lines. */
static void send_notice(struct queue_watch *watch, enum overload_change change, uint64_t age_ns,
                        const uint64_t shed[SHED_CLASSES], uint64_t now_ns)
{
    const struct overload *overload = &watch->overload;
    struct overload_notice *notice;

    if (change == OVERLOAD_ENTERED)
        memcpy(watch->shed, shed, sizeof(watch->shed));
    notice = watch->notices ? ring_reserve(watch->notices, sizeof(*notice)) : NULL;
    if (!notice) {
        watch->missed++;
        return;
    }
    *notice = (struct overload_notice){
        .change = change,
        .time_ns = clock_realtime_ns(),
        .fill_permille = watch->fill_permille,
        .age_ns = age_ns,
        .duration_ns = now_ns - overload->entered_ns,
        .class_count = overload->options.class_count,
        .shed_count = overload->class_count,
    };
    memcpy(notice->classes, overload->options.classes, sizeof(notice->classes));
    for (unsigned i = 0; i < SHED_CLASSES; i++)
        notice->shed[i] = shed[i] - watch->shed[i];
    ring_commit(watch->notices);
}

unsigned queue_watch_update(struct queue_watch *watch, int count, const uint64_t shed[SHED_CLASSES], uint64_t now_ns)
{
    uint64_t age_ns = count > 0 ? watch->oldest_ns + (now_ns - watch->received_ns) : 0;
    enum overload_change change;
    bool begun = watch->begun || now_ns - watch->started_ns >= START_NS;

    if (count > 0)
        queue_age_count(&watch->ages,
                        watch->oldest_ns > watch->late_ns ? age_ns : age_ns - watch->oldest_ns + watch->late_ns,
                        (uint32_t)count);
    else
        watch->fill_permille = 0;
    watch->begun = begun || watch->age.drained || count == 0;
    if (!begun) /* the batch may contain packets from before the start */
        return 0;
    change = overload_update(&watch->overload, watch->fill_permille, age_ns, now_ns);
    if (change != OVERLOAD_SAME)
        send_notice(watch, change, age_ns, shed, now_ns);
    return overload_shedding(&watch->overload);
}

void queue_watch_time(struct queue_watch *watch, uint64_t took_ns)
{
    if (took_ns <= watch->packet_budget_ns)
        return;
    watch->slow_packets++;
    if (took_ns > watch->slowest_ns)
        watch->slowest_ns = took_ns;
}
