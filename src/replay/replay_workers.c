/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several workers for one capture. The reading thread (reader) copies each packet into the ring of a worker, which it
 * chooses by a hash of the pair of addresses, like the kernel chooses a queue. So all packets of a flow reach one
 * worker, including fragments; an ICMP error reaches the worker of the packet that it quotes. Points in time at which
 * flows time out are sent to all workers.
 *
 * A packet with a tunnel has several pairs of addresses, and a flow may come through several tunnels. Therefore the
 * files are read once in advance, and all packets of a pair that occurs in a packet with a tunnel are sent to the first
 * worker. The same applies to both pairs of an ICMP error (its own and that of the quoted packet), because the error
 * may have a separate flow. These pairs are stored as bits by hash (`grouped`): a collision only reduces parallelism.
 * Pairs inside tunnels whose packets all arrive in fragments, or quoted by fragments, are not found; pipes are not read
 * in advance.
 *
 * Order: the reader numbers packets and points in time. A worker publishes its progress in `next`: all of its items
 * before that number are done. Each packet in a ring carries, for each worker, the number of the last item sent to that
 * worker before; the packet may access shared state when all other workers have completed these items. At a point in
 * time all workers end flows, in the order of the flows' starts, and their progress includes the flow (`ending_flow`).
 * Each wait is for earlier items only, so there is no deadlock. The output uses the same progress to write events in
 * order.
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
#include "sluice/replay_order.h"
#include "sluice/worker.h"

enum {
    CACHE_LINE = 64,
    RING_SIZE = 4 << 20,
    SPINS = 64,
    YIELDS = 256,
    PAUSE_NS = 20 * 1000,
    GROUPED_BITS = 1 << 20,
};

enum item_kind { ITEM_PACKET, ITEM_EXPIRE, ITEM_END };

/* An item of a ring. The struct is followed by one sequence number for each worker (the last item that was sent to the
 * worker before this item), and by the bytes of the packet. */
struct item {
    uint64_t sequence;
    uint64_t time_ns, number;
    uint32_t kind; /* enum item_kind */
    uint32_t length, wire_length, flags, link;
    uint32_t in_ifindex; /* of the capture file, for events */
};

struct replay_worker {
    struct replay_order order; /* must be the first member: a pointer to it is cast to struct replay_worker */
    struct replay_workers *all;
    struct worker *worker;
    unsigned index;
    struct ring *ring;
    const struct item *current; /* the item in the ring that the worker processes; NULL: none */
    bool is_in_order; /* the worker has waited for the current position: all earlier items of other workers are done */
    struct replay_position ending_flow; /* position of the flow that the worker ends; valid if the lowest bit of `next`
                                           is set; protected by `lock` */
    pthread_mutex_t lock;
    /* sequence number of the current item, times two; lowest bit 1: ending_flow is set */
    alignas(CACHE_LINE) _Atomic uint64_t next;
    /* sequence number of the last item sent to the worker; written by the reader */
    alignas(CACHE_LINE) _Atomic uint64_t last_sent;
};

struct replay_workers {
    const struct ruleset *ruleset;
    struct decoder *decoder; /* the reader's decoder, which finds the addresses of a packet */
    unsigned count, started;
    uint64_t sequence; /* number of the last item sent to any worker */
    /* A bit that is 1 sends all pairs of addresses with this hash (modulo GROUPED_BITS) to the first worker. */
    uint64_t grouped[GROUPED_BITS / 64];
    alignas(CACHE_LINE) _Atomic uint64_t published;
    struct replay_worker workers[];
};

/* Waits a little: spins first, then yields, then sleeps, so that long waits use little CPU time. `tries` counts the
 * calls of one wait. */
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

static const uint64_t *sent_before(const struct item *item)
{
    return (const uint64_t *)(item + 1);
}

/* --- Progress of a worker ------------------------------------------------------------------------- */

/* Publishes that the worker has begun an item: all of its earlier items are done. */
static void begin_item(struct replay_worker *worker, uint64_t sequence)
{
    worker->is_in_order = false;
    atomic_store_explicit(&worker->next, sequence << 1, memory_order_release);
}

/* Returns a position that the worker has reached; it may have advanced since. */
static struct replay_position get_position(struct replay_worker *worker)
{
    uint64_t next = atomic_load_explicit(&worker->next, memory_order_acquire), again;
    struct replay_position position = { .sequence = next >> 1 };

    if (!(next & 1))
        return position;
    pthread_mutex_lock(&worker->lock);
    again = atomic_load_explicit(&worker->next, memory_order_acquire);
    if (again & 1)
        position = worker->ending_flow;
    else
        position.sequence = again >> 1;
    pthread_mutex_unlock(&worker->lock);
    return position;
}

void replay_workers_progress(void *user, unsigned port, struct replay_position *out)
{
    struct replay_workers *all = user;
    struct replay_worker *worker = &all->workers[port];
    uint64_t published = atomic_load_explicit(&all->published, memory_order_acquire);
    uint64_t last_sent = atomic_load_explicit(&worker->last_sent, memory_order_acquire);

    *out = get_position(worker);
    if (out->sequence > last_sent && out->sequence <= published)
        /* the worker has done all items sent to it: its next item will be later than all published ones */
        *out = (struct replay_position){ .sequence = published + 1 };
}

/* --- Replay order --------------------------------------------------------------------------------- */

/* Waits until the other workers have done all items before this worker's current position. */
static void wait_for_order(struct replay_order *order)
{
    struct replay_worker *self = (struct replay_worker *)order;
    const uint64_t *before = sent_before(self->current);

    for (unsigned i = 0; !self->is_in_order && i < self->all->count; i++) {
        struct replay_worker *other = &self->all->workers[i];
        unsigned tries = 0;

        if (other == self)
            continue;
        if (self->current->kind == ITEM_PACKET) {
            while (atomic_load_explicit(&other->next, memory_order_acquire) >> 1 <= before[i])
                back_off(&tries);
            continue;
        }
        for (;;) { /* an item ITEM_EXPIRE or ITEM_END is sent to all workers: wait until the other worker has ended all
                      flows that come before this one */
            struct replay_position position = get_position(other);
            int comparison = replay_position_compare(&position, &self->ending_flow);

            if (comparison > 0 || (comparison == 0 && i > self->index))
                break;
            back_off(&tries);
        }
    }
    self->is_in_order = true;
}

/* Sets the worker's position to that of a flow that ends. If a packet ended the flow, the position stays that of the
 * packet. */
static void flow_ends(struct replay_order *order, uint64_t start_ns, uint64_t number)
{
    struct replay_worker *self = (struct replay_worker *)order;
    struct replay_position position = { .sequence = self->current->sequence, .start_ns = start_ns, .number = number };

    if (self->current->kind == ITEM_PACKET)
        return;
    self->is_in_order = false;
    pthread_mutex_lock(&self->lock);
    self->ending_flow = position;
    atomic_store_explicit(&self->next, position.sequence << 1 | 1, memory_order_release);
    pthread_mutex_unlock(&self->lock);
    output_port_set_position(self->worker->pipeline.output, &position);
}

/* --- Worker threads ------------------------------------------------------------------------------- */

static void inspect_packet(struct replay_worker *worker, const struct item *item)
{
    struct capture_counters *counters = &worker->worker->snapshot.capture;
    struct packet pkt = {
        .data = (const uint8_t *)(sent_before(item) + worker->all->count),
        .length = item->length,
        .wire_length = item->wire_length,
        .time_ns = item->time_ns,
        .number = item->number,
        .link = (enum link_type)item->link,
        .flags = item->flags,
        .meta.in_ifindex = item->in_ifindex,
    };
    bool dropped;

    pipeline_packet(&worker->worker->pipeline, worker->all->ruleset, &pkt, NULL);
    dropped = pkt.verdict == VERDICT_DROP;
    counters->packets++;
    counters->bytes += pkt.wire_length;
    counters->truncated += (pkt.flags & PACKET_TRUNCATED) != 0;
    counters->dropped += dropped;
    counters->accepted += !dropped;
    counters->replaced += !dropped && pkt.new_data && pkt.new_length > 0;
}

static void *run_worker(void *argument)
{
    struct replay_worker *worker = argument;
    struct pipeline *pipeline = &worker->worker->pipeline;
    bool ended = false;
    unsigned tries = 0;
    size_t size;

    while (!ended) {
        const struct item *item = ring_peek(worker->ring, &size);

        if (!item) {
            back_off(&tries);
            continue;
        }
        struct replay_position position = { .sequence = item->sequence };

        worker->current = item;
        output_port_set_position(pipeline->output, &position);
        begin_item(worker, item->sequence);
        if (item->kind == ITEM_PACKET)
            inspect_packet(worker, item);
        else if (item->kind == ITEM_EXPIRE)
            pipeline_expire_all(pipeline, worker->all->ruleset, item->time_ns);
        else
            pipeline_finish(pipeline, worker->all->ruleset, item->time_ns);
        ended = item->kind == ITEM_END;
        worker->current = NULL;
        ring_release(worker->ring);
        begin_item(worker, position.sequence + 1);
        tries = 0;
    }
    return NULL;
}

int replay_workers_start(struct replay_workers *all)
{
    for (; all->started < all->count; all->started++) {
        struct worker *worker = all->workers[all->started].worker;
        char name[16];
        int err = -pthread_create(&worker->thread, NULL, run_worker, &all->workers[all->started]);

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

/* Marks a pair of addresses, by its hash, as one whose packets are sent to the first worker. */
static void group_pair(struct replay_workers *all, uint32_t hash)
{
    all->grouped[hash % GROUPED_BITS / 64] |= UINT64_C(1) << hash % 64;
}

void replay_workers_group_addresses(struct replay_workers *all, struct packet *pkt)
{
    struct packet *found[DECODE_MAX_PACKETS];
    size_t count = decode_packet(all->decoder, pkt, found);

    for (size_t i = 0; i < count; i++) {
        uint32_t hash = hash_of_pair(found[i]), own;
        struct packet without_quoted = *found[i];

        if (count > 1)
            group_pair(all, hash);
        /* hash_of_pair() hashes an ICMP error by the packet that it quotes. Without `transport` it hashes the error's
         * own addresses. */
        without_quoted.transport = NULL;
        own = hash_of_pair(&without_quoted);
        if (own != hash) {
            group_pair(all, own);
            group_pair(all, hash);
        }
    }
}

/* Copies an item to the ring of a worker, with the current sequence number; waits while the ring is full. `bytes`:
 * item->length bytes of the packet. */
static void send_item(struct replay_workers *all, struct replay_worker *worker, const struct item *item,
                      const void *bytes)
{
    size_t size = sizeof(*item) + all->count * sizeof(uint64_t) + item->length;
    struct item *slot;
    unsigned tries = 0;

    while (!(slot = ring_reserve(worker->ring, size)))
        back_off(&tries);
    uint64_t *before = (uint64_t *)(slot + 1);

    *slot = *item;
    slot->sequence = all->sequence;
    for (unsigned i = 0; i < all->count; i++)
        before[i] = atomic_load_explicit(&all->workers[i].last_sent, memory_order_relaxed);
    if (item->length > 0)
        memcpy(before + all->count, bytes, item->length);
    atomic_store_explicit(&worker->last_sent, all->sequence, memory_order_release);
    ring_commit(worker->ring);
}

void replay_workers_send(struct replay_workers *all, struct packet *pkt)
{
    const struct item item = {
        .kind = ITEM_PACKET,
        .time_ns = pkt->time_ns,
        .number = pkt->number,
        .length = pkt->length,
        .wire_length = pkt->wire_length,
        .flags = pkt->flags, /* flags as captured: the worker decodes the packet again */
        .link = pkt->link,
        .in_ifindex = pkt->meta.in_ifindex,
    };
    struct packet *found[DECODE_MAX_PACKETS];
    bool grouped;
    uint32_t hash;

    decode_packet(all->decoder, pkt, found);
    hash = hash_of_pair(pkt);
    grouped = all->grouped[hash % GROUPED_BITS / 64] >> hash % 64 & 1;
    all->sequence++;
    send_item(all, &all->workers[grouped ? 0 : hash / GROUPED_BITS % all->count], &item, pkt->data);
    atomic_store_explicit(&all->published, all->sequence, memory_order_release);
}

static void send_all(struct replay_workers *all, enum item_kind kind, uint64_t time_ns)
{
    const struct item item = { .kind = kind, .time_ns = time_ns };

    all->sequence++;
    for (unsigned i = 0; i < all->started; i++)
        send_item(all, &all->workers[i], &item, NULL);
    atomic_store_explicit(&all->published, all->sequence, memory_order_release);
}

void replay_workers_expire(struct replay_workers *all, uint64_t now_ns)
{
    send_all(all, ITEM_EXPIRE, now_ns);
}

void replay_workers_wait(struct replay_workers *all)
{
    for (unsigned i = 0; i < all->started; i++) {
        struct replay_worker *worker = &all->workers[i];
        uint64_t last_sent = atomic_load_explicit(&worker->last_sent, memory_order_relaxed);
        unsigned tries = 0;

        while (last_sent > 0 && atomic_load_explicit(&worker->next, memory_order_acquire) >> 1 <= last_sent)
            back_off(&tries);
    }
}

void replay_workers_finish(struct replay_workers *all, uint64_t now_ns)
{
    send_all(all, ITEM_END, now_ns);
    for (unsigned i = 0; i < all->started; i++) {
        pthread_join(all->workers[i].worker->thread, NULL);
        worker_copy_counters(all->workers[i].worker);
    }
    all->started = 0;
}

/* --- Life cycle ----------------------------------------------------------------------------------- */

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
    for (unsigned i = 0; i < count && !err; i++) {
        struct replay_worker *worker = &all->workers[i];

        worker->order = (struct replay_order){ .wait = wait_for_order, .flow_ends = flow_ends };
        worker->all = all;
        worker->worker = &workers[i];
        worker->index = workers[i].index = i;
        pthread_mutex_init(&worker->lock, NULL);
        pipeline_set_replay_order(&workers[i].pipeline, &worker->order);
        err = ring_new(&worker->ring, RING_SIZE);
    }
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
