/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker sees of its queue while it receives. As long as a receive takes all there is it costs two looks at the
 * clock for each batch. When a receive was full, more may be waiting; then the kernel is asked how much, at most each
 * LOOK_NS.
 *
 * An age is that of the oldest packet of a batch when the verdicts of the batch are on their way: no packet of it has
 * waited longer.
 *
 * Who takes over a queue finds what has come meanwhile. That is no overload unless it lasts for START_NS: flows would
 * be shed for nothing.
 *
 * Threads: a worker's.
 */
#include <string.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/overload.h"
#include "sluice/packet.h"
#include "sluice/ring.h"

enum { LOOK_NS = 5 * 1000 * 1000 };
#define WAIT_NS UINT64_C(200000000)      /* WORKER_WAIT_MS: how long a receive waits for packets */
#define MAX_SLEEP_NS UINT64_C(300000000) /* one that took longer was stopped, or got no CPU */
#define START_NS (3 * NS_PER_SECOND)
#define MAX_STAMP_AGE_NS (60 * NS_PER_SECOND) /* what is older was stamped by another clock */

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
        out->total_ns += watch->asked_ns - watch->overload.entered_ns;
}

void queue_watch_receiving(struct queue_watch *watch, uint64_t now_ns)
{
    watch->asked_ns = now_ns;
    if (watch->started_ns == 0)
        watch->started_ns = now_ns;
}

static unsigned permille(uint64_t part, uint64_t whole)
{
    uint64_t value = whole > 0 ? part * 1000 / whole : 0;

    return value < 1000 ? (unsigned)value : 1000;
}

static void look(struct queue_watch *watch, struct capture *capture, uint64_t now_ns)
{
    struct queue_level level;
    unsigned packets, bytes;

    watch->looked_ns = now_ns;
    if (capture_level(capture, &level))
        return;
    packets = permille(level.waiting, level.length);
    bytes = permille(level.buffered, level.buffer);
    watch->fill_permille = packets > bytes ? packets : bytes;
    if (level.has_sequence)
        queue_age_mark(&watch->age, level.id_sequence, now_ns, false);
}

/*
 * The time that a receive waits for packets is not their age. When the worker was stopped in it, the signal ends the
 * receive without packets: those that wait may have come at any time since the last mark. When it got no CPU they have
 * come at any time of the receive; as it would have ended after WAIT_NS, its first packet has waited for about the
 * rest. That is counted, but sheds no flow: it is not certain.
 */
static void note_sleep(struct queue_watch *watch, struct capture *capture, bool received, uint64_t now_ns)
{
    uint64_t slept_ns = now_ns - watch->asked_ns;
    struct queue_level level;

    watch->late_ns = received && slept_ns > MAX_SLEEP_NS ? slept_ns - WAIT_NS : 0;
    if (received || slept_ns <= MAX_SLEEP_NS)
        queue_age_slept(&watch->age, slept_ns);
    else if (capture_level(capture, &level) == 0 && level.has_sequence && level.waiting == 0)
        queue_age_mark(&watch->age, level.id_sequence, now_ns, true);
}

/* What the kernel says itself goes ahead of what we can know. */
static uint64_t age_of(struct queue_watch *watch, const struct packet *pkt, uint64_t now_ns)
{
    uint64_t known_ns = queue_age_of(&watch->age, pkt->meta.id, now_ns), real_ns;

    if (!(pkt->flags & PACKET_KERNEL_TIME))
        return known_ns;
    real_ns = clock_realtime_ns();
    return real_ns >= pkt->time_ns && real_ns - pkt->time_ns < MAX_STAMP_AGE_NS ? real_ns - pkt->time_ns : known_ns;
}

void queue_watch_received(struct queue_watch *watch, struct capture *capture, struct packet *const *batch, int count,
                          uint64_t now_ns)
{
    const struct capture_counters *counters = capture_counters(capture);
    bool full = counters->full_batches != watch->full_batches;

    watch->received_ns = now_ns;
    watch->full_batches = counters->full_batches;
    note_sleep(watch, capture, count > 0, now_ns);
    if (full && now_ns - watch->looked_ns >= LOOK_NS)
        look(watch, capture, now_ns);
    if (count <= 0)
        return;
    watch->oldest_ns = age_of(watch, batch[0], now_ns);
    if (!full) {
        queue_age_mark(&watch->age, batch[count - 1]->meta.id, now_ns, true);
        watch->fill_permille = 0;
    }
}

static void tell(struct queue_watch *watch, enum overload_change change, uint64_t age_ns,
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
    if (!begun) /* this batch has packets from before */
        return 0;
    change = overload_update(&watch->overload, watch->fill_permille, age_ns, now_ns);
    if (change != OVERLOAD_SAME)
        tell(watch, change, age_ns, shed, now_ns);
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
