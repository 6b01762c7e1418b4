/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NFQUEUE capture: one netlink socket, one queue, one worker.
 *
 * A receive is one recvmmsg() with MSG_WAITFORONE: it sleeps in the kernel until the first message arrives (at most
 * SO_RCVTIMEO, which is set only when the caller's timeout changes) and returns all further messages without a second
 * system call. All verdicts of the batch are sent in one sendmsg(), see nfqueue_verdict.c. A busy queue therefore costs
 * two system calls for each batch, the minimum for any consumer.
 *
 * Each message has a memory slot large enough for the largest packet; the kernel touches pages only as far as packets
 * fill them, so the resident size follows the traffic. Slots start at different offsets within a page: with equal
 * offsets, the headers of a whole batch would compete for a few lines of the first-level cache.
 *
 * The kernel numbers packets without gaps, in the order they reach the socket. A gap therefore means packets for which
 * the socket buffer had no room; they were dropped, or passed on when the queue is fail-open.
 *
 * Threads:    opened by any thread, then used by its worker only.
 * Life cycle: closing the last descriptor of the socket destroys the queue, and the kernel drops the packets that wait
 * there. Another process may hold a descriptor of the same socket, so close() only closes and never unbinds.
 */
#include "nfqueue_priv.h"

#include <assert.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nfnetlink_queue.h>
#include <linux/sock_diag.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <unistd.h>

#include "repeat_guard.h"
#include "sluice/clock.h"

enum {
    /* The summands: payload; headers and attributes; a step that gives slots different offsets within a page. */
    SLOT_SIZE = 65536 + 4096 + 256,
    WAIT_UNKNOWN = -2,
};

/* --- Receiving -------------------------------------------------------------------------------------- */

static int receive_messages(struct nfqueue *queue, size_t max, int wait_ms)
{
    if (wait_ms < 0)
        wait_ms = -1;
    if (queue->guard && wait_ms != 0) {
        /* Receive waiting packets first. If none wait, all repeated packets have come back, so packets that arrive
         * during the sleep are new. */
        int n = receive_messages(queue, max, 0);

        if (n != 0)
            return n;
        repeat_guard_receive(queue->guard, true);
    }
    if (wait_ms != 0 && wait_ms != queue->wait_ms) { /* rarely true, because workers always wait for the same time */
        struct timeval timeout = { 0 };              /* no timeout */

        if (wait_ms > 0)
            timeout = (struct timeval){ .tv_sec = wait_ms / 1000, .tv_usec = wait_ms % 1000 * 1000L };
        if (setsockopt(queue->fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0)
            return -errno;
        queue->wait_ms = wait_ms;
    }

    int n = recvmmsg(queue->fd, queue->messages, (unsigned)max, wait_ms ? MSG_WAITFORONE : MSG_DONTWAIT, NULL);

    if (n >= 0)
        return n;
    if (errno == EAGAIN || errno == EINTR)
        return 0;
    if (errno == ENOBUFS)
        queue->counters.receive_overruns++;
    return -errno;
}

/* --- Super-packets ---------------------------------------------------------------------------------- */

/* Makes the kernel segment super-packets for QUEUE_SEGMENT_SECONDS. Super-packets that already wait, in the kernel or
 * in this batch, are not segmented; `unsegmented` is the largest possible number of them. */
void nfqueue_segment(struct nfqueue *queue)
{
    queue->segments_until_ns = clock_monotonic_ns() + QUEUE_SEGMENT_SECONDS * NS_PER_SECOND;
    queue->unsegmented -= queue->segments && queue->unsegmented > 0;
    if (queue->segments)
        return;
    queue->segments = true;
    queue->unsegmented = queue->options.length + queue->options.batch;
    queue->gso_refused |= nfqueue_config_gso(queue, false) != 0;
}

/* --- Messages --------------------------------------------------------------------------------------- */

/* Tracks the packet ids and counts gaps. The first id of an adopted queue shows that the previous reader has received
 * all packets with lower ids. If some of these packets have no verdict, they are queued again, unless another process
 * does that (options.kept). */
static void track_ids(struct nfqueue *queue, uint32_t id)
{
    uint32_t gap = id - queue->next_id;

    if (queue->id_known && gap != 0 && gap <= INT32_MAX) {
        queue->counters.lost += gap;
        queue->counters.receive_overruns++;
    }
    if (!queue->id_known && queue->adopted && !queue->options.kept && id > 1) {
        int err = nfqueue_send_repeat(queue, id - 1);

        queue->deferred_error = err ? err : queue->deferred_error;
    }
    queue->id_known = true;
    queue->next_id = id + 1;
}

static void add_to_batch(struct nfqueue *queue, struct packet *pkt)
{
    struct capture_counters *counters = &queue->counters;
    const struct nfqueue_options *options = &queue->options;

    track_ids(queue, pkt->meta.id);
    if (options->mode == QUEUE_REPEAT && ((pkt->meta.mark ^ options->mark) & options->mark_mask) == 0)
        pkt->flags |= PACKET_MARKED;
    else if (queue->guard && repeat_guard_count(queue->guard, pkt) > options->repeat_limit)
        pkt->flags |= PACKET_LOOPING;
    if (pkt->flags & PACKET_GSO && queue->flags & NFQA_CFG_F_GSO && !queue->gso_refused &&
        (!queue->segments || queue->unsegmented > 0))
        pkt->flags |= PACKET_CAN_SEGMENT;
    counters->packets++;
    counters->bytes += pkt->wire_length;
    counters->truncated += (pkt->flags & PACKET_TRUNCATED) != 0;
    counters->gso += (pkt->flags & PACKET_GSO) != 0;
    counters->marked += (pkt->flags & PACKET_MARKED) != 0;
    counters->looping += (pkt->flags & PACKET_LOOPING) != 0;
    pkt->number = counters->packets;

    /* Packets that the previous reader left in the socket, or that arrived while the queue was bound, may have been
     * queued before conntrack data was requested. All packets after the first one with conntrack data were queued
     * later: if they have no conntrack data, they have no connection. */
    if (pkt->conntrack.bytes) {
        counters->conntrack++;
        queue->conntrack_reliable = (queue->flags & NFQA_CFG_F_CONNTRACK) != 0;
    } else if (queue->conntrack_reliable) {
        pkt->conntrack.info = PACKET_CONNTRACK_NONE;
    }

    /* Reset the fields that determine the verdict, because this packet may never be decoded. */
    pkt->verdict = VERDICT_ACCEPT;
    pkt->drop_reason = DROP_REASON_NONE;
    pkt->reject = REJECT_NONE;
    pkt->mark_set = false;
    pkt->new_data = NULL;
    pkt->new_length = 0;
    queue->states[queue->received++] = SLOT_RECEIVED;
}

static void handle_message(struct nfqueue *queue, const uint8_t *bytes, size_t length, uint64_t *now_ns)
{
    struct packet *pkt = &queue->packets[queue->received];
    struct nfqueue_result result;

    switch (nfqueue_message_read(bytes, length, queue->options.queue, pkt, &result)) {
    case NFQUEUE_DAMAGED:
        queue->counters.malformed_messages++;
        /* fall through */
    case NFQUEUE_PACKET:
        if (pkt->time_ns > 0) {
            pkt->flags |= PACKET_KERNEL_TIME;
        } else {
            *now_ns = *now_ns ? *now_ns : clock_realtime_ns();
            pkt->time_ns = *now_ns;
        }
        add_to_batch(queue, pkt);
        return;
    case NFQUEUE_RESULT:
        /* Error 0: an acknowledgment, for which no request waits. Otherwise the kernel has refused a request. */
        if (result.error == 0)
            return;
        if (result.sequence == SEQUENCE_CONNTRACK) {
            queue->flags &= ~(uint32_t)NFQA_CFG_F_CONNTRACK;
        } else if (result.sequence == SEQUENCE_GSO) {
            queue->gso_refused = true;
        } else if (result.error == -ENOENT) {
            /* Answer to a verdict message: its packets do not exist any more. Answer to SEQUENCE_REPEAT_UNJUDGED: no
             * packet waited for a verdict, so nothing is counted. */
            queue->counters.verdict_lost += result.sequence <= CAPTURE_MAX_BATCH ? result.sequence : 0;
        } else {
            queue->counters.verdict_errors++;
            if (result.error == -EPERM && !queue->refused) {
                queue->refused = true;
                queue->deferred_error = -EPERM;
            }
        }
        return;
    case NFQUEUE_NO_ID: /* the packet waits in the kernel, and a batch verdict for its neighbours would accept it */
        queue->may_batch = false;
        /* fall through */
    case NFQUEUE_UNKNOWN:
        queue->counters.malformed_messages++;
    }
}

static int nfqueue_receive(struct capture *capture, struct packet **batch, size_t max, int wait_ms)
{
    struct nfqueue *queue = (struct nfqueue *)capture;
    uint64_t now_ns = 0;
    int err = queue->deferred_error;

    assert(queue->issued == queue->received); /* a packet without a verdict would wait in the kernel indefinitely */
    queue->received = queue->issued = queue->prefix = 0;
    queue->deferred_error = 0;
    if (err)
        return err;

    if (max > queue->options.batch)
        max = queue->options.batch;
    if (queue->segments && clock_monotonic_ns() >= queue->segments_until_ns) {
        queue->segments = false;
        queue->gso_refused |= nfqueue_config_gso(queue, true) != 0;
    }

    int n = receive_messages(queue, max, wait_ms);

    queue->counters.receive_calls++;
    queue->counters.full_batches += n == (int)max;
    if (queue->guard)
        repeat_guard_receive(queue->guard, n >= 0 && n < (int)max);
    if (n <= 0)
        return n;
    if (queue->messages[0].msg_len == 0) /* never from the kernel: in tests, the peer of the socket has closed it */
        return -ECONNRESET;
    for (int i = 0; i < n; i++)
        handle_message(queue, queue->vectors[i].iov_base, queue->messages[i].msg_len, &now_ns);
    for (size_t i = 0; i < queue->received; i++)
        batch[i] = &queue->packets[i];
    return (int)queue->received;
}

/* --- Other operations ------------------------------------------------------------------------------- */

static const struct capture_counters *nfqueue_counters(const struct capture *capture)
{
    return &((const struct nfqueue *)capture)->counters;
}

static int nfqueue_status(struct capture *capture, struct queue_status *out)
{
    const struct nfqueue *queue = (const struct nfqueue *)capture;

    return queue->status_fd < 0 ? queue->status_fd : nfqueue_find_status(queue->status_fd, queue->options.queue, out);
}

/* Reads the fill levels of the queue and of the socket buffer. Without status_fd, which only root can open, reads only
 * the level of the buffer. Returns 0, or -ENOTSUP if neither can be read. */
static int nfqueue_level(struct capture *capture, struct queue_level *out)
{
    const struct nfqueue *queue = (const struct nfqueue *)capture;
    uint32_t memory[SK_MEMINFO_VARS] = { 0 };
    socklen_t size = sizeof(memory);
    struct queue_status status;

    *out = (struct queue_level){ .length = queue->options.length };
    if (getsockopt(queue->fd, SOL_SOCKET, SO_MEMINFO, memory, &size) == 0) {
        out->buffered = memory[SK_MEMINFO_RMEM_ALLOC];
        out->buffer = memory[SK_MEMINFO_RCVBUF];
    }
    if (nfqueue_status(capture, &status) == 0) {
        out->waiting = status.waiting;
        out->id_sequence = status.id_sequence;
        out->has_sequence = true;
    }
    return out->has_sequence || out->buffer > 0 ? 0 : -ENOTSUP;
}

void nfqueue_set_exact(struct capture *capture, bool exact)
{
    ((struct nfqueue *)capture)->exact = exact;
}

int nfqueue_add_sender(struct capture *capture)
{
    struct nfqueue *queue = (struct nfqueue *)capture;

    return verdict_sender_new(&queue->sender, queue->fd);
}

void nfqueue_run_sender(struct capture *capture)
{
    verdict_sender_run(((struct nfqueue *)capture)->sender);
}

void nfqueue_stop_sender(struct capture *capture)
{
    verdict_sender_stop(((struct nfqueue *)capture)->sender);
}

int nfqueue_fd(const struct capture *capture)
{
    return ((const struct nfqueue *)capture)->fd;
}

uint32_t nfqueue_receive_buffer(const struct capture *capture)
{
    return ((const struct nfqueue *)capture)->receive_buffer;
}

uint32_t nfqueue_flags(const struct capture *capture)
{
    return ((const struct nfqueue *)capture)->flags;
}

enum queue_offload nfqueue_offload(const struct capture *capture)
{
    return ((const struct nfqueue *)capture)->offload;
}

int nfqueue_stop_conntrack(struct capture *capture)
{
    struct nfqueue *queue = (struct nfqueue *)capture;

    if (!(queue->flags & NFQA_CFG_F_CONNTRACK))
        return 0;
    return nfqueue_config_conntrack(queue, false);
}

int nfqueue_start_conntrack(struct capture *capture)
{
    struct nfqueue *queue = (struct nfqueue *)capture;

    if (queue->flags & NFQA_CFG_F_CONNTRACK)
        return 0;
    return nfqueue_config_conntrack(queue, true);
}

/* --- Life cycle ------------------------------------------------------------------------------------- */

size_t nfqueue_slots_size(const struct nfqueue_options *options)
{
    return (size_t)options->batch * SLOT_SIZE;
}

static int allocate(struct nfqueue *queue)
{
    const struct nfqueue_options *options = &queue->options;
    size_t batch = options->batch;
    size_t size = nfqueue_slots_size(options);
    void *memory = options->slots;
    uint64_t seed; /* random, so that senders cannot construct different packets with equal hashes */
    int err = 0;

    if (!memory)
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return -ENOMEM;
    queue->memory = memory;
    queue->memory_size = size;
    queue->messages = calloc(batch, sizeof(*queue->messages));
    queue->vectors = calloc(batch, sizeof(*queue->vectors));
    queue->packets = calloc(batch, sizeof(*queue->packets));
    if (!queue->messages || !queue->vectors || !queue->packets)
        return -ENOMEM;
    for (size_t i = 0; i < batch; i++) {
        queue->vectors[i] = (struct iovec){ .iov_base = queue->memory + i * SLOT_SIZE, .iov_len = SLOT_SIZE };
        queue->messages[i].msg_hdr.msg_iov = &queue->vectors[i];
        queue->messages[i].msg_hdr.msg_iovlen = 1;
    }
    if (options->mode == QUEUE_REPEAT && options->repeat_limit > 0) {
        if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
            return -EIO;
        err = repeat_guard_new(&queue->guard, options->length, options->batch, seed);
    }
    return err ? err : verdict_writer_init(&queue->writer, batch);
}

static void nfqueue_close(struct capture *capture)
{
    struct nfqueue *queue = (struct nfqueue *)capture;

    if (queue->fd >= 0)
        close(queue->fd);
    if (queue->status_fd >= 0)
        close(queue->status_fd);
    verdict_writer_clear(&queue->writer);
    verdict_sender_free(queue->sender);
    repeat_guard_free(queue->guard);
    free(queue->packets);
    free(queue->vectors);
    free(queue->messages);
    if (queue->memory && !queue->options.slots)
        munmap(queue->memory, queue->memory_size);
    free(queue);
}

static const struct capture_ops nfqueue_ops = {
    .name = "nfqueue",
    .receive = nfqueue_receive,
    .send_verdicts = nfqueue_send_verdicts,
    .counters = nfqueue_counters,
    .status = nfqueue_status,
    .level = nfqueue_level,
    .close = nfqueue_close,
};

uint32_t nfqueue_accept_verdict(const struct nfqueue_options *options)
{
    switch (options->mode) {
    case QUEUE_REPEAT:
        return NF_REPEAT;
    case QUEUE_ROUTE:
        return NF_QUEUE_NR((uint32_t)options->route_to) | (options->route_bypass ? NF_VERDICT_FLAG_QUEUE_BYPASS : 0);
    default:
        return NF_ACCEPT;
    }
}

int nfqueue_open(struct capture **out, const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE])
{
    int err = nfqueue_config_validate(options, error);

    if (err)
        return err;

    struct nfqueue *queue = calloc(1, sizeof(*queue));

    if (!queue)
        return nfqueue_config_fail(error, -ENOMEM, "queue %u: out of memory", options->queue);
    queue->base.ops = &nfqueue_ops;
    queue->options = *options;
    queue->fd = -1;
    queue->accept_verdict = nfqueue_accept_verdict(options);
    queue->wait_ms = WAIT_UNKNOWN;
    queue->may_batch = true;
    queue->status_fd = nfqueue_open_status();
    err = allocate(queue);
    if (err) {
        nfqueue_config_fail(error, err, "queue %u: %s", options->queue,
                            err == -ENOMEM ? "out of memory" : "cannot read random numbers (getrandom)");
        goto close_queue;
    }
    /* The last step, because an adopted descriptor changes its owner only on success. */
    err = nfqueue_config_open(queue, error);
    if (err)
        goto close_queue;
    *out = &queue->base;
    return 0;

close_queue:
    nfqueue_close(&queue->base);
    return err;
}
