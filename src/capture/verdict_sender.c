/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A thread that sends verdicts in place of the worker. The kernel processes an accepted packet within the send: it
 * forwards the packet, or delivers the packet to a receiver on this host. For bulk transfers in packets of MTU size
 * this is half of a worker's time, while another CPU may be idle. The worker passes a message on when it has verdicts
 * for many such packets; sending fewer takes less time than waking a thread. Before the worker sends anything itself,
 * it waits until all passed messages have been sent, so that packets keep their order. To avoid this wait, it also
 * passes on up to SENDER_FOLLOWERS small messages while the thread is still sending.
 *
 * The worker learns late that a send of the thread has failed. Until then a batch verdict of the worker may accept the
 * packets of the failed message, which would be wrong for packets to be dropped. Therefore a message is passed on only
 * if all its verdicts accept packets.
 *
 * The ring has one producer and one consumer: two counters that only grow, each written by one side, and futexes to
 * sleep on them.
 */
#include <assert.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nfqueue_priv.h"

enum { MESSAGES = 16 /* maximum number of messages queued and not sent; a power of two */ };

struct message {
    uint32_t length;
    uint8_t bytes[NFQUEUE_ATTRIBUTES_SIZE];
};

struct verdict_sender {
    int fd;
    alignas(64) _Atomic uint32_t queued; /* number of messages queued so far; written by the worker */
    _Atomic bool worker_waits;
    alignas(64) _Atomic uint32_t sent; /* number of messages sent so far; written by the sender thread */
    _Atomic bool sleeps;
    _Atomic int error;
    struct message messages[MESSAGES];
};

/* Sleeps until *number is not `value`, or until a wake-up. */
static void wait_for(_Atomic uint32_t *number, uint32_t value)
{
    syscall(SYS_futex, number, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void wake(_Atomic uint32_t *number)
{
    syscall(SYS_futex, number, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

int verdict_sender_new(struct verdict_sender **out, int fd)
{
    struct verdict_sender *sender = aligned_alloc(64, (sizeof(*sender) + 63) / 64 * 64);

    if (!sender)
        return -ENOMEM;
    memset(sender, 0, sizeof(*sender));
    sender->fd = fd;
    *out = sender;
    return 0;
}

void verdict_sender_free(struct verdict_sender *sender)
{
    free(sender);
}

/* --- Sender thread ---------------------------------------------------------------------------------- */

void verdict_sender_run(struct verdict_sender *sender)
{
    for (uint32_t sent = 0;;) {
        const struct message *message = &sender->messages[sent % MESSAGES];

        while (atomic_load(&sender->queued) == sent) {
            atomic_store(&sender->sleeps, true);
            if (atomic_load(&sender->queued) == sent)
                wait_for(&sender->queued, sent);
            atomic_store(&sender->sleeps, false);
        }
        if (message->length == 0)
            return;

        struct iovec piece = { (void *)message->bytes, message->length };
        int err = nfqueue_send(sender->fd, &piece, 1);

        if (err)
            atomic_store(&sender->error, err);
        atomic_store(&sender->sent, ++sent);
        if (atomic_load(&sender->worker_waits))
            wake(&sender->sent);
    }
}

/* --- Worker side ------------------------------------------------------------------------------------ */

bool verdict_sender_is_busy(const struct verdict_sender *sender)
{
    return atomic_load_explicit(&sender->sent, memory_order_acquire) !=
           atomic_load_explicit(&sender->queued, memory_order_relaxed);
}

static void wait_until_left(struct verdict_sender *sender, uint32_t left)
{
    uint32_t queued = atomic_load_explicit(&sender->queued, memory_order_relaxed), sent;

    while (queued - (sent = atomic_load(&sender->sent)) > left) {
        atomic_store(&sender->worker_waits, true);
        if (atomic_load(&sender->sent) == sent)
            wait_for(&sender->sent, sent);
        atomic_store(&sender->worker_waits, false);
    }
}

static int consume_error(struct verdict_sender *sender)
{
    return atomic_load_explicit(&sender->error, memory_order_relaxed) ? atomic_exchange(&sender->error, 0) : 0;
}

int verdict_sender_settle(struct verdict_sender *sender)
{
    wait_until_left(sender, 0);
    return consume_error(sender);
}

int verdict_sender_queue(struct verdict_sender *sender, const uint8_t *bytes, size_t length)
{
    uint32_t queued = atomic_load_explicit(&sender->queued, memory_order_relaxed);
    struct message *message = &sender->messages[queued % MESSAGES];

    assert(length <= sizeof(message->bytes));
    wait_until_left(sender, MESSAGES - 1);
    if (length > 0)
        memcpy(message->bytes, bytes, length);
    message->length = (uint32_t)length;
    atomic_store(&sender->queued, queued + 1);
    if (atomic_load(&sender->sleeps))
        wake(&sender->queued);
    return consume_error(sender);
}

/* Stops the sender thread after the last message: an empty message tells it to end. Called after the worker has
 * ended. */
void verdict_sender_stop(struct verdict_sender *sender)
{
    verdict_sender_queue(sender, NULL, 0);
}
