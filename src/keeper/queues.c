/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets of the queues, and the packets that wait in them while there is no engine. Those that the dead one took
 * out of the socket and did not judge are queued again; those in the socket are for the next one; for those that come
 * meanwhile queue and socket get more room, until what has piled up is judged.
 */
#include "keeper_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/log.h"

enum {
    RAISED_LENGTH = 1 << 17,            /* packets that wait for an engine, in each queue */
    RAISED_BUFFERS = 512 * 1024 * 1024, /* of all sockets */
};

/* --- Sockets -------------------------------------------------------------------------------------- */

static int plan(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    struct nfqueue_options options[ENGINE_MAX_QUEUES];
    size_t count = 0;
    int err = engine_plan_queues(keeper->config, &keeper->firewall, options, &count, error);

    if (err)
        return err;
    keeper->queues = calloc(count, sizeof(*keeper->queues));
    keeper->queue_fds = calloc(count, sizeof(*keeper->queue_fds));
    keeper->pulses = calloc(count, sizeof(*keeper->pulses));
    if (!keeper->queues || !keeper->queue_fds || !keeper->pulses) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    keeper->queue_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        keeper->queues[i].options = options[i];
        keeper->queues[i].fd = -1;
    }
    return 0;
}

int queues_open(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    char cause[CAPTURE_ERROR_SIZE];
    int err = plan(keeper, error);

    if (err)
        return err;
    if (keeper_was_renewed() && keeper_resume(keeper))
        log_error("cannot restore the queues of the previous keeper: packets that wait in them are lost");
    notify_take(keeper);
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        struct keeper_queue *queue = &keeper->queues[i];

        if (queue->fd < 0)
            queue->fd = nfqueue_socket(&queue->options, cause);
        if (queue->fd < 0) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
            return queue->fd;
        }
        if (queue->buffer == 0)
            queue->buffer = nfqueue_socket_buffer(queue->fd);
        keeper->queue_fds[i] = queue->fd;
    }
    return 0;
}

bool queues_are_bound(const struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        if (keeper->queues[i].bound)
            return true;
    }
    return false;
}

int queues_bind(struct keeper *keeper, char error[LIFELINE_TEXT_SIZE])
{
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        struct keeper_queue *queue = &keeper->queues[i];
        char cause[CAPTURE_ERROR_SIZE];
        uint32_t flags;
        int err;

        if (queue->bound)
            continue;
        if (keeper->child.lifeline.memory)
            queue->options.conntrack |= atomic_load(&keeper->child.lifeline.memory->worker[i].conntrack) != 0;
        err = nfqueue_bind(queue->fd, &queue->options, false, &flags, cause);
        if (err) {
            snprintf(error, LIFELINE_TEXT_SIZE, "%s", cause);
            keeper->queue_is_taken |= err == -EBUSY || err == -EPERM;
            return err;
        }
        queue->bound = true;
        keeper->record.flags[i] = flags;
    }
    lifeline_publish(&keeper->child.lifeline, &keeper->record);
    return 0;
}

/* The kernel drops what waits. */
void queues_close(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        if (keeper->queues[i].fd >= 0)
            close(keeper->queues[i].fd);
        keeper->queues[i].fd = -1;
    }
}

/* --- What a dead engine leaves -------------------------------------------------------------------- */

static uint32_t raised_length(const struct keeper_queue *queue)
{
    return queue->options.length > RAISED_LENGTH ? queue->options.length : RAISED_LENGTH;
}

static uint32_t raised_buffer(const struct keeper *keeper, const struct keeper_queue *queue)
{
    uint32_t share = RAISED_BUFFERS / keeper->queue_count;

    return share > queue->buffer ? share : queue->buffer;
}

static void drop_held(struct keeper *keeper, unsigned number, const struct keeper_death *death)
{
    const struct keeper_queue *queue = &keeper->queues[number];
    struct lifeline_packet packet;

    if (death->worker != (int)number ||
        !lifeline_copy_held(&keeper->child.lifeline, number, keeper->packet, sizeof(keeper->packet), &packet) ||
        !quarantine_suspects(keeper, &packet))
        return;
    if (nfqueue_judge_one(queue->fd, &queue->options, packet.id, QUEUE_JUDGE_DROP) == 0)
        quarantine_tell(keeper, queue->options.queue, &packet);
}

/* The dead engine had the socket and CAP_NET_ADMIN, and may have changed or given up the queue. While no engine runs, a
 * full queue lets packets pass only if the configuration accepts that for this death. */
static bool recover(struct keeper *keeper, unsigned number, bool open)
{
    struct keeper_queue *queue = &keeper->queues[number];
    bool fail_open = keeper->record.flags[number] & NFQA_CFG_F_FAIL_OPEN;

    if (nfqueue_recover(queue->fd, keeper->status_fd, &queue->options, fail_open && open))
        return true;
    log_error(
        "queue %u: the engine gave up the queue, and the kernel dropped the packets that waited; binding it again",
        (unsigned)queue->options.queue);
    queue->bound = false;
    return false;
}

static uint32_t repeat(struct keeper *keeper, unsigned number, const struct keeper_death *death)
{
    struct keeper_queue *queue = &keeper->queues[number];
    uint16_t name = queue->options.queue;
    struct nfqueue_backlog backlog;
    int err;

    nfqueue_resize(queue->fd, name, raised_length(queue), raised_buffer(keeper, queue));
    queue->raised = true;
    err = nfqueue_survey(queue->fd, keeper->status_fd, name, raised_length(queue), &backlog);
    if (!err && backlog.waiting > 0) {
        drop_held(keeper, number, death);
        err = nfqueue_judge_up_to(queue->fd, &queue->options, backlog.last_id, QUEUE_JUDGE_REPEAT);
    }
    if (err) {
        log_error("queue %u: cannot queue the packets again that the engine held: %s", (unsigned)name, strerror(-err));
        return 0;
    }
    return backlog.taken;
}

uint32_t queues_repeat(struct keeper *keeper, const struct keeper_death *death)
{
    char cause[LIFELINE_TEXT_SIZE];
    uint32_t count = 0;
    bool lost = false;

    for (unsigned i = 0; i < keeper->queue_count; i++) {
        if (!keeper->queues[i].bound)
            continue;
        if (recover(keeper, i, surrender_opens(keeper, 1U << death->failure)))
            count += repeat(keeper, i, death);
        else
            lost = true;
    }
    keeper->record.repeated += count;
    if (lost && queues_bind(keeper, cause)) /* at once: until then nft.bypass decides what becomes of packets */
        log_error("%s", cause);
    return count;
}

void queues_forbid_fail_open(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        if (keeper->queues[i].bound)
            nfqueue_set_fail_open(keeper->queues[i].fd, keeper->queues[i].options.queue, false);
    }
}

void queues_raise(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        struct keeper_queue *queue = &keeper->queues[i];

        if (!queue->bound)
            continue;
        nfqueue_resize(queue->fd, queue->options.queue, raised_length(queue), raised_buffer(keeper, queue));
        queue->raised = true;
    }
}

/* Less room than what waits takes would drop what comes next. */
void queues_relax(struct keeper *keeper)
{
    for (unsigned i = 0; i < keeper->queue_count; i++) {
        struct keeper_queue *queue = &keeper->queues[i];
        struct queue_status status;

        if (!queue->raised || nfqueue_find_status(keeper->status_fd, queue->options.queue, &status) ||
            status.waiting > queue->options.length / 4)
            continue;
        nfqueue_resize(queue->fd, queue->options.queue, queue->options.length, queue->buffer);
        if (keeper->record.flags[i] & NFQA_CFG_F_FAIL_OPEN)
            nfqueue_set_fail_open(queue->fd, queue->options.queue, true);
        queue->raised = false;
    }
}

uint64_t queues_accept(struct keeper *keeper)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < keeper->queue_count; i++) {
        const struct keeper_queue *queue = &keeper->queues[i];
        struct queue_status status;

        if (!queue->bound || nfqueue_find_status(keeper->status_fd, queue->options.queue, &status) ||
            status.waiting == 0)
            continue;
        if (nfqueue_judge_up_to(queue->fd, &queue->options, status.id_sequence, QUEUE_JUDGE_ACCEPT) == 0)
            count += status.waiting;
    }
    return count;
}

int queues_resume(struct keeper *keeper, char error[ENGINE_ERROR_SIZE])
{
    const struct keeper_death nobody = { .worker = -1 };
    char cause[CAPTURE_ERROR_SIZE];
    uint32_t flags, count = 0;
    bool adopted = false;

    for (unsigned i = 0; i < keeper->queue_count; i++) {
        struct keeper_queue *queue = &keeper->queues[i];
        int err;

        if (!queue->adopted)
            continue;
        err = nfqueue_bind(queue->fd, &queue->options, true, &flags, cause);
        if (err) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
            return err;
        }
        queue->bound = true;
        keeper->record.flags[i] = flags;
        count += repeat(keeper, i, &nobody);
        adopted = keeper->resumed = true;
    }
    keeper->record.repeated += count;
    if (adopted)
        log_notice("took over the queues of the previous daemon; queued %u packets again that had no verdict",
                   (unsigned)count);
    return 0;
}
