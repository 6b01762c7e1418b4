/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sockets of the queues, and the packets that wait in them while no engine runs. Packets that a dead engine had
 * received without a verdict are queued again; packets in the socket wait for the next engine. The length of the queue
 * and the socket buffer are raised, so that packets that arrive before the next engine has inspected the backlog are
 * not dropped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sluice/capture.h"
#include "sluice/log.h"
#include "sluice/setup.h"
#include "sluice/engine_limits.h"
#include "sluice/supervisor_channel.h"

#include "supervisor_priv.h"

enum {
    RAISED_LENGTH = 1 << 17,            /* raised length of each queue, in packets */
    RAISED_BUFFERS = 512 * 1024 * 1024, /* raised buffers of all sockets together, in bytes */
};

/* --- Sockets -------------------------------------------------------------------------------------- */

int queues_open(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    struct nfqueue_options options[CAPTURE_MAX_QUEUES];
    char cause[CAPTURE_ERROR_SIZE];
    size_t count = 0;
    int err = setup_plan_queues(supervisor->config, &supervisor->firewall, options, &count, error);

    if (err)
        return err;
    supervisor->queues = calloc(count, sizeof(*supervisor->queues));
    supervisor->queue_fds = calloc(count, sizeof(*supervisor->queue_fds));
    supervisor->pulses = calloc(count, sizeof(*supervisor->pulses));
    if (!supervisor->queues || !supervisor->queue_fds || !supervisor->pulses) {
        snprintf(error, ENGINE_ERROR_SIZE, "out of memory");
        return -ENOMEM;
    }
    supervisor->queue_count = (unsigned)count;
    for (size_t i = 0; i < count; i++) {
        supervisor->queues[i].options = options[i];
        supervisor->queues[i].fd = supervisor->queue_fds[i] = -1;
    }
    if (supervisor->is_sensor) { /* the engine opens its rings itself */
        systemd_get_sockets(supervisor);
        return 0;
    }
    if (reexec_has_happened() && reexec_resume(supervisor))
        log_error("cannot restore the queues of the previous supervisor: packets that wait in them are lost");
    systemd_get_sockets(supervisor);
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];

        if (queue->fd < 0)
            queue->fd = nfqueue_socket(&queue->options, cause);
        if (queue->fd < 0) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
            return queue->fd;
        }
        if (queue->buffer == 0)
            queue->buffer = nfqueue_socket_buffer(queue->fd);
        supervisor->queue_fds[i] = queue->fd;
    }
    return 0;
}

bool queues_are_bound(const struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        if (supervisor->queues[i].bound)
            return true;
    }
    return false;
}

int queues_bind(struct supervisor *supervisor, char error[CHANNEL_TEXT_SIZE])
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];
        char cause[CAPTURE_ERROR_SIZE];
        uint32_t flags;
        int err;

        if (queue->bound || supervisor->is_sensor)
            continue;
        if (supervisor->engine.memory_map.memory)
            queue->options.conntrack |= atomic_load(&supervisor->engine.memory_map.memory->worker[i].conntrack) != 0;
        err = nfqueue_bind(queue->fd, &queue->options, false, &flags, cause);
        if (err) {
            snprintf(error, CHANNEL_TEXT_SIZE, "%s", cause);
            supervisor->queue_is_taken |= err == -EBUSY || err == -EPERM;
            return err;
        }
        queue->bound = true;
        supervisor->record.flags[i] = flags;
    }
    engine_memory_publish(&supervisor->engine.memory_map, &supervisor->record);
    return 0;
}

/* Closes the sockets. The kernel then drops the packets that still wait. */
void queues_close(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        if (supervisor->queues[i].fd >= 0)
            close(supervisor->queues[i].fd);
        supervisor->queues[i].fd = -1;
    }
}

/* --- Recovery after a death ----------------------------------------------------------------------- */

static uint32_t raised_length(const struct supervised_queue *queue)
{
    return queue->options.length > RAISED_LENGTH ? queue->options.length : RAISED_LENGTH;
}

static uint32_t raised_buffer(const struct supervisor *supervisor, const struct supervised_queue *queue)
{
    uint32_t share = RAISED_BUFFERS / supervisor->queue_count;

    return share > queue->buffer ? share : queue->buffer;
}

/* Queues again the packets of this queue for which an engine has issued no verdict, except a packet that is
 * quarantined. Returns their number; 0 also after an error, which is logged. */
static uint32_t repeat_packets(struct supervisor *supervisor, unsigned number, const struct engine_death *death)
{
    struct supervised_queue *queue = &supervisor->queues[number];
    uint16_t name = queue->options.queue;
    struct nfqueue_backlog backlog;
    struct current_packet packet;
    int err;

    nfqueue_resize(queue->fd, name, raised_length(queue), raised_buffer(supervisor, queue));
    queue->raised = true;
    err = nfqueue_read_backlog(queue->fd, supervisor->status_fd, name, raised_length(queue), &backlog);
    if (!err && backlog.waiting > 0) {
        if (death->worker == (int)number &&
            engine_memory_copy_packet(&supervisor->engine.memory_map, number, supervisor->packet,
                                      sizeof(supervisor->packet), &packet) &&
            quarantine_is_repeated(&supervisor->quarantine, &packet) &&
            nfqueue_send_verdict(queue->fd, &queue->options, packet.id, QUEUE_BACKLOG_DROP) == 0)
            quarantine_packet(supervisor, name, &packet);
        err = nfqueue_send_verdicts_up_to(queue->fd, &queue->options, backlog.last_id, QUEUE_BACKLOG_REPEAT);
    }
    if (err) {
        log_error("queue %u: cannot queue the packets again that the engine held: %s", (unsigned)name, strerror(-err));
        return 0;
    }
    return backlog.taken;
}

uint32_t queues_repeat(struct supervisor *supervisor, const struct engine_death *death)
{
    const bool open = give_up_opens(supervisor, 1U << death->failure);
    char cause[CHANNEL_TEXT_SIZE];
    uint32_t count = 0;
    bool lost = false;

    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];
        bool fail_open = supervisor->record.flags[i] & NFQA_CFG_F_FAIL_OPEN;

        if (!queue->bound)
            continue;
        /* Set the options of the queue again, because the dead engine had the socket and CAP_NET_ADMIN and may have
         * changed them or unbound the queue. While no engine runs, a full queue accepts packets only if the failure
         * policy for this cause of death is open. */
        if (nfqueue_recover(queue->fd, supervisor->status_fd, &queue->options, fail_open && open)) {
            count += repeat_packets(supervisor, i, death);
            continue;
        }
        log_error("queue %u: the engine gave up the queue, and the kernel dropped the packets that waited; binding it "
                  "again",
                  (unsigned)queue->options.queue);
        queue->bound = false;
        lost = true;
    }
    supervisor->record.repeated += count;
    /* Bind lost queues again at once, because until then the kernel drops packets or, with nft.bypass, lets them
     * pass. */
    if (lost && queues_bind(supervisor, cause))
        log_error("%s", cause);
    return count;
}

void queues_disable_fail_open(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        if (supervisor->queues[i].bound)
            nfqueue_set_fail_open(supervisor->queues[i].fd, supervisor->queues[i].options.queue, false);
    }
}

void queues_raise(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];

        if (!queue->bound)
            continue;
        nfqueue_resize(queue->fd, queue->options.queue, raised_length(queue), raised_buffer(supervisor, queue));
        queue->raised = true;
    }
}

/* Keeps raised limits while more than a quarter of the configured length waits, because lower limits would drop
 * arriving packets. */
void queues_restore_limits(struct supervisor *supervisor)
{
    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];
        struct queue_status status;

        if (!queue->raised || nfqueue_find_status(supervisor->status_fd, queue->options.queue, &status) ||
            status.waiting > queue->options.length / 4)
            continue;
        nfqueue_resize(queue->fd, queue->options.queue, queue->options.length, queue->buffer);
        if (supervisor->record.flags[i] & NFQA_CFG_F_FAIL_OPEN)
            nfqueue_set_fail_open(queue->fd, queue->options.queue, true);
        queue->raised = false;
    }
}

uint64_t queues_accept(struct supervisor *supervisor)
{
    uint64_t count = 0;

    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        const struct supervised_queue *queue = &supervisor->queues[i];
        struct queue_status status;

        if (!queue->bound || nfqueue_find_status(supervisor->status_fd, queue->options.queue, &status) ||
            status.waiting == 0)
            continue;
        if (nfqueue_send_verdicts_up_to(queue->fd, &queue->options, status.id_sequence, QUEUE_BACKLOG_ACCEPT) == 0)
            count += status.waiting;
    }
    return count;
}

int queues_resume(struct supervisor *supervisor, char error[ENGINE_ERROR_SIZE])
{
    const struct engine_death no_death = { .worker = -1 };
    char cause[CAPTURE_ERROR_SIZE];
    uint32_t flags, count = 0;
    bool adopted = false;

    for (unsigned i = 0; i < supervisor->queue_count; i++) {
        struct supervised_queue *queue = &supervisor->queues[i];
        int err;

        if (!queue->adopted)
            continue;
        err = nfqueue_bind(queue->fd, &queue->options, true, &flags, cause);
        if (err) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
            return err;
        }
        queue->bound = true;
        supervisor->record.flags[i] = flags;
        count += repeat_packets(supervisor, i, &no_death);
        adopted = supervisor->resumed = true;
    }
    supervisor->record.repeated += count;
    if (adopted)
        log_notice("took over the queues of the previous daemon; queued %u packets again that had no verdict",
                   (unsigned)count);
    return 0;
}
