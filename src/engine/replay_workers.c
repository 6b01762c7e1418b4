/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several workers for one capture. The thread that reads the file copies each packet into the ring of a worker, chosen by the
 * pair of addresses as the kernel chooses a queue; the worker meets it as a capture of its own and has its own flows. So all
 * packets of a flow reach one worker, fragments and ICMP errors (by the packet that they quote) included, and those in
 * tunnels by the addresses outside; only a flow whose packets come through tunnels of different ends is torn apart.
 *
 * Order. The reader numbers the packets. A worker's `position` is the number up to which it has judged all that it was given:
 * it raises it when it begins a packet (to the number before) and when it is done with it. With each packet comes the
 * number that every other worker had been given last; a turn has come when all of them have got that far. Who waits, waits for smaller
 * numbers only, so two never wait for each other. The output asks the same positions to write events in the order of the packets.
 *
 * Threads: the reader gives and finishes; a worker's thread is its ring's only consumer. Positions pair a store (release)
 *          by the worker with a load (acquire) by who waits.
 */
#include "engine_priv.h"

#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluice/flow.h"
#include "sluice/ring.h"
#include "sluice/turn.h"

enum {
    CACHE_LINE = 64,
    RING_SIZE = 4 << 20,
    SPINS = 64,
    YIELDS = 256,
    PAUSE_NS = 20 * 1000,
};

/* What a ring carries: behind it a number for each worker, the last that it had been given before, then the bytes. */
struct given {
    uint64_t sequence;
    uint64_t time_ns, number;
    uint32_t length, wire_length, flags, link;
};

struct replay_worker {
    struct capture base; /* first: a struct capture * is one of these */
    struct turn turn;
    struct replay_workers *all;
    struct worker *worker;
    struct ring *ring;
    struct capture_counters counters;
    struct packet packet;
    const struct given *current; /* lent by the ring; NULL between packets */
    bool in_turn;                /* of the current packet */
    alignas(CACHE_LINE) _Atomic uint64_t position;
    alignas(CACHE_LINE) _Atomic uint64_t last_given; /* written by the reader */
};

struct replay_workers {
    const struct ruleset *ruleset;
    struct decoder *decoder; /* the reader's, to find the addresses */
    unsigned count, started;
    uint64_t sequence; /* of the last packet */
    alignas(CACHE_LINE) _Atomic uint64_t published;
    atomic_bool finished;
    struct replay_worker workers[];
};

/* The longer it takes, the less it costs others. */
static void back_off(unsigned *tries)
{
    const struct timespec pause = { .tv_nsec = PAUSE_NS };

    if (++*tries < SPINS)
        return;
    if (*tries < YIELDS)
        sched_yield();
    else
        nanosleep(&pause, NULL);
}

static const uint64_t *given_before(const struct given *given)
{
    return (const uint64_t *)(given + 1);
}

/* --- Turns ------------------------------------------------------------------------------------------------------------------ */

static void wait_for_turn(struct turn *turn)
{
    struct replay_worker *self = (struct replay_worker *)(void *)((char *)turn - offsetof(struct replay_worker, turn));
    const struct replay_workers *all = self->all;

    if (self->in_turn || !self->current)
        return;
    const uint64_t *before = given_before(self->current);

    for (unsigned i = 0; i < all->count; i++) {
        unsigned tries = 0;

        while (&all->workers[i] != self &&
               atomic_load_explicit(&all->workers[i].position, memory_order_acquire) < before[i])
            back_off(&tries);
    }
    self->in_turn = true;
}

uint64_t replay_workers_progress(void *user, unsigned port)
{
    struct replay_workers *all = user;
    struct replay_worker *worker = &all->workers[port];
    uint64_t published = atomic_load_explicit(&all->published, memory_order_acquire);
    uint64_t last_given = atomic_load_explicit(&worker->last_given, memory_order_acquire);
    uint64_t position = atomic_load_explicit(&worker->position, memory_order_acquire);

    return position >= last_given && published > position ? published : position;
}

/* --- A worker's ring as a capture --------------------------------------------------------------------------------------- */

static void take(struct replay_worker *worker, const struct given *given)
{
    struct packet *pkt = &worker->packet;

    memset(pkt, 0, sizeof(*pkt));
    pkt->data = (const uint8_t *)(given_before(given) + worker->all->count);
    pkt->length = given->length;
    pkt->wire_length = given->wire_length;
    pkt->time_ns = given->time_ns;
    pkt->number = given->number;
    pkt->link = (enum link_type)given->link;
    pkt->flags = given->flags;
    worker->current = given;
    worker->in_turn = false;
    worker->counters.packets++;
    worker->counters.bytes += pkt->wire_length;
    worker->counters.truncated += (pkt->flags & PACKET_TRUNCATED) != 0;
    output_port_place(worker->worker->pipeline.output, given->sequence);
    atomic_store_explicit(&worker->position, given->sequence - 1, memory_order_release);
}

static int receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    struct replay_worker *worker = (struct replay_worker *)capture;
    bool finished = atomic_load_explicit(&worker->all->finished, memory_order_acquire);
    size_t size;
    const struct given *given = ring_peek(worker->ring, &size);

    (void)wait_ms;
    assert(max > 0 && !worker->current);
    worker->counters.receive_calls++;
    if (!given)
        return finished ? -ENODATA : 0;
    take(worker, given);
    batch[0] = &worker->packet;
    return 1;
}

static int send_verdicts(struct capture *capture, struct packet *const *batch, size_t count)
{
    struct replay_worker *worker = (struct replay_worker *)capture;
    uint64_t sequence = worker->current->sequence;
    bool dropped = batch[0]->verdict == VERDICT_DROP;

    assert(count == 1);
    worker->counters.send_calls++;
    worker->counters.dropped += dropped;
    worker->counters.accepted += !dropped;
    worker->counters.replaced += !dropped && batch[0]->new_data && batch[0]->new_length > 0;
    worker->current = NULL;
    ring_release(worker->ring);
    atomic_store_explicit(&worker->position, sequence, memory_order_release);
    return 0;
}

static const struct capture_counters *counters(const struct capture *capture)
{
    return &((const struct replay_worker *)capture)->counters;
}

static void close_capture(struct capture *capture)
{
    (void)capture; /* it lives with the others */
}

static const struct capture_ops ring_capture_ops = {
    .name = "replay-ring",
    .receive = receive,
    .send_verdicts = send_verdicts,
    .counters = counters,
    .close = close_capture,
};

/* --- The workers' threads ----------------------------------------------------------------------------------------------- */

static void *run(void *argument)
{
    struct replay_worker *worker = argument;
    struct packet *pkt;
    unsigned tries = 0;
    int count;

    while ((count = capture_receive(&worker->base, &pkt, 1, 0)) >= 0) {
        if (count == 0) {
            back_off(&tries);
            continue;
        }
        tries = 0;
        replay_judge(worker->worker, worker->all->ruleset, &pkt, 1);
    }
    return NULL;
}

int replay_workers_start(struct replay_workers *all)
{
    for (; all->started < all->count; all->started++) {
        struct worker *worker = all->workers[all->started].worker;
        char name[16];
        int err = -pthread_create(&worker->thread, NULL, run, &all->workers[all->started]);

        if (err)
            return err;
        snprintf(name, sizeof(name), "replay-%u", worker->index);
        pthread_setname_np(worker->thread, name);
    }
    return 0;
}

/* --- The reader ----------------------------------------------------------------------------------------------------------- */

static unsigned choose(struct replay_workers *all, struct packet *pkt)
{
    struct packet *found[DECODE_MAX_PACKETS];

    decode_packet(all->decoder, pkt, found);
    return pkt->ip_version == 0 ? 0 : flow_packet_hash(pkt, 0, true) % all->count;
}

static size_t given_size(const struct replay_workers *all, const struct packet *pkt)
{
    return sizeof(struct given) + all->count * sizeof(uint64_t) + pkt->length;
}

static void fill(const struct replay_workers *all, struct given *given, const struct packet *pkt, uint32_t flags)
{
    uint64_t *before = (uint64_t *)(given + 1);

    *given = (struct given){
        .sequence = all->sequence,
        .time_ns = pkt->time_ns,
        .number = pkt->number,
        .length = pkt->length,
        .wire_length = pkt->wire_length,
        .flags = flags,
        .link = pkt->link,
    };
    for (unsigned i = 0; i < all->count; i++)
        before[i] = atomic_load_explicit(&all->workers[i].last_given, memory_order_relaxed);
    memcpy(before + all->count, pkt->data, pkt->length);
}

void replay_workers_give(struct replay_workers *all, struct packet *pkt)
{
    uint32_t flags = pkt->flags;
    struct replay_worker *worker = &all->workers[choose(all, pkt)];
    struct given *given;
    unsigned tries = 0;

    while (!(given = ring_reserve(worker->ring, given_size(all, pkt))))
        back_off(&tries);
    all->sequence++;
    fill(all, given, pkt, flags);
    atomic_store_explicit(&worker->last_given, all->sequence, memory_order_release);
    ring_commit(worker->ring);
    atomic_store_explicit(&all->published, all->sequence, memory_order_release);
}

void replay_workers_finish(struct replay_workers *all)
{
    atomic_store_explicit(&all->finished, true, memory_order_release);
    for (unsigned i = 0; i < all->started; i++) {
        pthread_join(all->workers[i].worker->thread, NULL);
        worker_copy_counters(all->workers[i].worker);
    }
    all->started = 0;
    atomic_store_explicit(&all->published, UINT64_MAX, memory_order_release);
}

/* --- Life cycle ------------------------------------------------------------------------------------------------------------- */

static int init_worker(struct replay_workers *all, unsigned index, struct worker *worker)
{
    struct replay_worker *own = &all->workers[index];

    own->base.ops = &ring_capture_ops;
    own->turn.wait = wait_for_turn;
    own->all = all;
    own->worker = worker;
    worker->index = index;
    worker->capture = &own->base;
    pipeline_set_turn(&worker->pipeline, &own->turn);
    return ring_new(&own->ring, RING_SIZE);
}

int replay_workers_new(struct replay_workers **out, struct worker *workers, unsigned count,
                       const struct ruleset *ruleset, const struct decode_options *decode)
{
    size_t size = sizeof(struct replay_workers) + count * sizeof(struct replay_worker);
    struct replay_workers *all = aligned_alloc(CACHE_LINE, size);
    int err;

    if (!all)
        return -ENOMEM;
    memset(all, 0, size);
    all->ruleset = ruleset;
    all->count = count;
    err = decoder_new(&all->decoder, decode);
    for (unsigned i = 0; i < count && !err; i++)
        err = init_worker(all, i, &workers[i]);
    if (err) {
        replay_workers_free(all);
        return err;
    }
    *out = all;
    return 0;
}

void replay_workers_free(struct replay_workers *all)
{
    if (!all)
        return;
    replay_workers_finish(all);
    for (unsigned i = 0; i < all->count; i++)
        ring_free(all->workers[i].ring);
    decoder_free(all->decoder);
    free(all);
}
uint32_t flow_packet_hash(const struct packet *pkt, uint64_t seed, bool addresses_only)
{ uint32_t h=0; (void)seed;(void)addresses_only; for(int i=0;i<16;i++){ h = h*31 + (pkt->source_address.bytes[i] ^ pkt->destination_address.bytes[i]);} return h*2654435761u>>8; }
