/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several workers for one capture. The reading thread copies each packet into the ring of a worker, which it chooses by
 * the pair of addresses as the kernel chooses a queue. So all packets of a flow reach one worker, including fragments,
 * and ICMP errors by the packet that they quote. Points in time at which flows time out are sent to all workers.
 *
 * A packet with a tunnel has several pairs of addresses, and a flow may come through several tunnels. Therefore the
 * files are read once in advance, and all pairs that occur with a tunnel belong to the first worker, as do both pairs
 * of an ICMP error, which may have a separate flow. They are stored as bits by hash: a collision only costs
 * parallelism. Pairs inside tunnels whose packets all arrive in fragments, or quoted by fragments, are not found; pipes
 * are not read in advance.
 *
 * Order: the reader numbers packets and points in time. A worker publishes its progress in `next`: all of its items
 * before that number are done. Each packet carries the last numbers that the other workers had been sent; its turn
 * comes when all of them have passed these. At a point in time all workers end flows, in the order of the flows'
 * starts, and `next` also names the flow. Each wait is for earlier items only, so there is no deadlock. The output uses
 * the same progress to write events in order.
 *
 * Threads: the reader sends and finishes; a worker's thread is the only consumer of its ring. `next` pairs a store
 * (release) by the worker with a load (acquire) by the waiting thread; a lock protects the current flow, and is never
 * taken for packets.
 */
#include "replay_workers.h"

#include <errno.h>
#include <sched.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluice/capture.h"
#include "sluice/decode.h"
#include "sluice/flow.h"
#include "sluice/output.h"
#include "sluice/packet.h"
#include "sluice/pipeline.h"
#include "sluice/ring.h"
#include "sluice/turn.h"
#include "sluice/worker.h"

enum {
    CACHE_LINE = 64,
    RING_SIZE = 4 << 20,
    SPINS = 64,
    YIELDS = 256,
    PAUSE_NS = 20 * 1000,
    ENTANGLED_BITS = 1 << 20,
};

enum given_kind { GIVEN_PACKET, GIVEN_MOMENT, GIVEN_END };

/* What a ring carries: behind it a number for each worker, the last that it had been given before; then the bytes. */
struct given {
    uint64_t sequence;
    uint64_t time_ns, number;
    uint32_t kind; /* enum given_kind */
    uint32_t length, wire_length, flags, link;
};

struct replay_worker {
    struct turn turn; /* first: a struct turn * is one of these */
    struct replay_workers *all;
    struct worker *worker;
    unsigned index;
    struct ring *ring;
    const struct given *current; /* lent by the ring; NULL between two */
    bool in_turn;                /* of what it is at */
    struct replay_position at;   /* the flow that ends, when the lowest bit of `next` is set; under the lock */
    pthread_mutex_t lock;
    alignas(CACHE_LINE) _Atomic uint64_t next;       /* a sequence, times two */
    alignas(CACHE_LINE) _Atomic uint64_t last_given; /* written by the reader */
};

struct replay_workers {
    const struct ruleset *ruleset;
    struct decoder *decoder; /* the reader's, to find the addresses */
    unsigned count, started;
    uint64_t sequence;                       /* of the last that was given */
    uint64_t entangled[ENTANGLED_BITS / 64]; /* pairs of addresses that are the first worker's, by their hash */
    alignas(CACHE_LINE) _Atomic uint64_t published;
    struct replay_worker workers[];
};

/* Waits with increasing delays, so that long waits cost little CPU time. */
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

/* --- Progress of a worker ------------------------------------------------------------------------- */

static void come_to(struct replay_worker *worker, uint64_t sequence)
{
    worker->in_turn = false;
    atomic_store_explicit(&worker->next, sequence << 1, memory_order_release);
}

static void come_to_flow(struct replay_worker *worker, const struct replay_position *place)
{
    worker->in_turn = false;
    pthread_mutex_lock(&worker->lock);
    worker->at = *place;
    atomic_store_explicit(&worker->next, place->sequence << 1 | 1, memory_order_release);
    pthread_mutex_unlock(&worker->lock);
}

/* Reads the progress of a worker; it may already be further. */
static struct replay_position place_of(struct replay_worker *worker)
{
    uint64_t next = atomic_load_explicit(&worker->next, memory_order_acquire), again;
    struct replay_position place = { .sequence = next >> 1 };

    if (!(next & 1))
        return place;
    pthread_mutex_lock(&worker->lock);
    again = atomic_load_explicit(&worker->next, memory_order_acquire);
    if (again & 1)
        place = worker->at;
    else
        place.sequence = again >> 1;
    pthread_mutex_unlock(&worker->lock);
    return place;
}

void replay_workers_progress(void *user, unsigned port, struct replay_position *out)
{
    struct replay_workers *all = user;
    struct replay_worker *worker = &all->workers[port];
    uint64_t published = atomic_load_explicit(&all->published, memory_order_acquire);
    uint64_t last_given = atomic_load_explicit(&worker->last_given, memory_order_acquire);

    *out = place_of(worker);
    if (out->sequence > last_given && out->sequence <= published)
        *out = (struct replay_position){ .sequence = published + 1 }; /* it has nothing to do */
}

/* --- Turns ---------------------------------------------------------------------------------------- */

static void wait_for_packets(const struct replay_worker *self)
{
    const uint64_t *before = given_before(self->current);

    for (unsigned i = 0; i < self->all->count; i++) {
        struct replay_worker *other = &self->all->workers[i];
        unsigned tries = 0;

        while (other != self && atomic_load_explicit(&other->next, memory_order_acquire) >> 1 <= before[i])
            back_off(&tries);
    }
}

static void wait_for_flows(const struct replay_worker *self)
{
    for (unsigned i = 0; i < self->all->count; i++) {
        unsigned tries = 0;

        while (i != self->index) {
            struct replay_position other = place_of(&self->all->workers[i]);
            int order = replay_position_compare(&other, &self->at);

            if (order > 0 || (order == 0 && i > self->index))
                break;
            back_off(&tries);
        }
    }
}

static void wait_for_turn(struct turn *turn)
{
    struct replay_worker *self = (struct replay_worker *)turn;

    if (self->in_turn)
        return;
    if (self->current->kind == GIVEN_PACKET)
        wait_for_packets(self);
    else
        wait_for_flows(self);
    self->in_turn = true;
}

/* A flow may also end because of a packet: then the turn is that of the packet. */
static void flow_ends(struct turn *turn, uint64_t start_ns, uint64_t number)
{
    struct replay_worker *self = (struct replay_worker *)turn;
    struct replay_position place = { .sequence = self->current->sequence, .start_ns = start_ns, .number = number };

    if (self->current->kind == GIVEN_PACKET)
        return;
    come_to_flow(self, &place);
    output_port_place(self->worker->pipeline.output, &place);
}

/* --- Worker threads ------------------------------------------------------------------------------- */

static struct packet packet_of(const struct replay_worker *worker, const struct given *given)
{
    return (struct packet){
        .data = (const uint8_t *)(given_before(given) + worker->all->count),
        .length = given->length,
        .wire_length = given->wire_length,
        .time_ns = given->time_ns,
        .number = given->number,
        .link = (enum link_type)given->link,
        .flags = given->flags,
    };
}

/* Counts a packet as a capture does. */
static void count(struct capture_counters *counters, const struct packet *pkt)
{
    bool dropped = pkt->verdict == VERDICT_DROP;

    counters->packets++;
    counters->bytes += pkt->wire_length;
    counters->truncated += (pkt->flags & PACKET_TRUNCATED) != 0;
    counters->dropped += dropped;
    counters->accepted += !dropped;
    counters->replaced += !dropped && pkt->new_data && pkt->new_length > 0;
}

static void judge(struct replay_worker *worker, const struct given *given)
{
    struct packet pkt = packet_of(worker, given);

    pipeline_packet(&worker->worker->pipeline, worker->all->ruleset, &pkt, NULL);
    count(&worker->worker->snapshot.capture, &pkt);
}

static void do_given(struct replay_worker *worker, const struct given *given)
{
    struct replay_position place = { .sequence = given->sequence };
    struct pipeline *pipeline = &worker->worker->pipeline;

    worker->current = given;
    output_port_place(pipeline->output, &place);
    come_to(worker, given->sequence);
    if (given->kind == GIVEN_PACKET)
        judge(worker, given);
    else if (given->kind == GIVEN_MOMENT)
        pipeline_expire_all(pipeline, worker->all->ruleset, given->time_ns);
    else
        pipeline_finish(pipeline, worker->all->ruleset, given->time_ns);
    worker->current = NULL;
}

static void *run(void *argument)
{
    struct replay_worker *worker = argument;
    bool over = false;
    unsigned tries = 0;
    size_t size;

    while (!over) {
        const struct given *given = ring_peek(worker->ring, &size);

        if (!given) {
            back_off(&tries);
            continue;
        }
        uint64_t sequence = given->sequence;

        over = given->kind == GIVEN_END;
        do_given(worker, given);
        ring_release(worker->ring);
        come_to(worker, sequence + 1);
        tries = 0;
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

/* --- Reader --------------------------------------------------------------------------------------- */

static uint32_t hash_of_pair(const struct packet *pkt)
{
    return flow_packet_hash(pkt, 0, true);
}

static void entangle(struct replay_workers *all, uint32_t hash)
{
    all->entangled[hash % ENTANGLED_BITS / 64] |= UINT64_C(1) << hash % 64;
}

static bool is_entangled(const struct replay_workers *all, uint32_t hash)
{
    return all->entangled[hash % ENTANGLED_BITS / 64] >> hash % 64 & 1;
}

/* An ICMP error is hashed by the packet that it quotes; without one, by its own addresses. */
static void survey_error(struct replay_workers *all, const struct packet *pkt)
{
    struct packet itself = *pkt;

    itself.transport = NULL;
    if (hash_of_pair(&itself) == hash_of_pair(pkt))
        return;
    entangle(all, hash_of_pair(&itself));
    entangle(all, hash_of_pair(pkt));
}

void replay_workers_group_addresses(struct replay_workers *all, struct packet *pkt)
{
    struct packet *found[DECODE_MAX_PACKETS];
    size_t count = decode_packet(all->decoder, pkt, found);

    for (size_t i = 0; i < count && count > 1; i++)
        entangle(all, hash_of_pair(found[i]));
    for (size_t i = 0; i < count; i++)
        survey_error(all, found[i]);
}

static unsigned choose(struct replay_workers *all, struct packet *pkt)
{
    struct packet *found[DECODE_MAX_PACKETS];
    uint32_t hash;

    decode_packet(all->decoder, pkt, found);
    hash = hash_of_pair(pkt);
    return is_entangled(all, hash) ? 0 : hash / ENTANGLED_BITS % all->count;
}

/* `what` says all but the sequence, which is that of the last. */
static void give(struct replay_workers *all, struct replay_worker *worker, const struct given *what, const void *bytes)
{
    size_t size = sizeof(*what) + all->count * sizeof(uint64_t) + what->length;
    struct given *given;
    unsigned tries = 0;

    while (!(given = ring_reserve(worker->ring, size)))
        back_off(&tries);
    uint64_t *before = (uint64_t *)(given + 1);

    *given = *what;
    given->sequence = all->sequence;
    for (unsigned i = 0; i < all->count; i++)
        before[i] = atomic_load_explicit(&all->workers[i].last_given, memory_order_relaxed);
    if (what->length > 0)
        memcpy(before + all->count, bytes, what->length);
    atomic_store_explicit(&worker->last_given, all->sequence, memory_order_release);
    ring_commit(worker->ring);
}

void replay_workers_send(struct replay_workers *all, struct packet *pkt)
{
    const struct given given = {
        .kind = GIVEN_PACKET,
        .time_ns = pkt->time_ns,
        .number = pkt->number,
        .length = pkt->length,
        .wire_length = pkt->wire_length,
        .flags = pkt->flags, /* before it is decoded */
        .link = pkt->link,
    };

    all->sequence++;
    give(all, &all->workers[choose(all, pkt)], &given, pkt->data);
    atomic_store_explicit(&all->published, all->sequence, memory_order_release);
}

static void give_all(struct replay_workers *all, enum given_kind kind, uint64_t time_ns)
{
    const struct given given = { .kind = kind, .time_ns = time_ns };

    all->sequence++;
    for (unsigned i = 0; i < all->started; i++)
        give(all, &all->workers[i], &given, NULL);
    atomic_store_explicit(&all->published, all->sequence, memory_order_release);
}

void replay_workers_expire(struct replay_workers *all, uint64_t now_ns)
{
    give_all(all, GIVEN_MOMENT, now_ns);
}

void replay_workers_finish(struct replay_workers *all, uint64_t now_ns)
{
    give_all(all, GIVEN_END, now_ns);
    for (unsigned i = 0; i < all->started; i++) {
        pthread_join(all->workers[i].worker->thread, NULL);
        worker_copy_counters(all->workers[i].worker);
    }
    all->started = 0;
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

static int init_worker(struct replay_workers *all, unsigned index, struct worker *worker)
{
    struct replay_worker *own = &all->workers[index];

    own->turn = (struct turn){ .wait = wait_for_turn, .flow_ends = flow_ends };
    own->all = all;
    own->worker = worker;
    own->index = worker->index = index;
    pthread_mutex_init(&own->lock, NULL);
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
    replay_workers_finish(all, 0);
    for (unsigned i = 0; i < all->count; i++)
        ring_free(all->workers[i].ring);
    decoder_free(all->decoder);
    free(all);
}
