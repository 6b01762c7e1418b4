/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of the NFQUEUE capture:
 *
 *     nfqueue.c          open, receive, close
 *     nfqueue_config.c   the socket: its options, binding or adopting the queue, and error texts
 *     repeat_guard.c     detection of packets that are queued again in a loop
 *     nfqueue_verdict.c  selection, encoding and order of verdict messages
 *     verdict_sender.c   a thread that sends verdicts instead of the worker
 *     nfqueue_recover.c  recovery of a queue whose reader died
 *     queue_status.c     /proc/net/netfilter/nfnetlink_queue
 *
 * With headers of their own: nfqueue_message.c (from netlink message to struct packet; no socket) and queue_owner.c
 * (which process has a queue).
 */
#ifndef SLUICE_NFQUEUE_PRIV_H
#define SLUICE_NFQUEUE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "sluice/capture.h"
#include "nfqueue_message.h"

enum {
    NFQUEUE_VERDICT_SIZE = 32, /* a verdict message without the attributes below */
    NFQUEUE_MARK_SIZE = 8,
    NFQUEUE_PAYLOAD_SIZE = 8,     /* NFQA_PAYLOAD without the payload: header and padding */
    NFQUEUE_CONNECTION_SIZE = 20, /* NFQA_CT with a mark and its mask */
    /* A verdict message with all attributes except the payload. */
    NFQUEUE_ATTRIBUTES_SIZE = NFQUEUE_VERDICT_SIZE + NFQUEUE_MARK_SIZE + NFQUEUE_CONNECTION_SIZE,
};

/* State of a packet of the current receive. SLOT_RECEIVED: it has no verdict yet. SLOT_PLANNED: the caller has decided
 * the verdict. SLOT_ISSUED: the verdict message is written. */
enum slot_state { SLOT_RECEIVED, SLOT_PLANNED, SLOT_ISSUED };

/* The netlink messages of one send. `bytes` contains the messages; replaced payloads are sent from where they are. */
struct verdict_writer {
    uint8_t *bytes;
    size_t used;  /* number of bytes used */
    size_t start; /* beginning of the part of `bytes` that is not in `vectors` yet */
    size_t total; /* bytes of the whole send, payloads included */
    size_t limit; /* maximum size of a send */
    struct iovec *vectors;
    size_t vector_count;
    size_t message_count;
    bool accepts_only; /* true: no message drops a packet, marks a connection or has a payload */
    bool is_bulk;      /* true: the batch is large enough to wake the sender thread */
};

struct verdict_sender;

struct nfqueue {
    struct capture base; /* first member: a struct capture * points to it */
    struct nfqueue_options options;
    struct capture_counters counters;
    int fd;        /* the netlink socket; -1: none */
    int status_fd; /* /proc/net/netfilter/nfnetlink_queue, or -errno */
    int wait_ms;   /* value of SO_RCVTIMEO, in milliseconds; -1: no timeout; WAIT_UNKNOWN: not set yet */
    uint32_t flags;
    enum queue_offload offload; /* how connections are marked */
    uint32_t receive_buffer;
    uint32_t accept_verdict; /* NF_* of an accepted packet, with the queue number of NF_QUEUE in the upper half */

    uint8_t *memory; /* receive buffers, one slot per message; with options.slots the caller owns them */
    size_t memory_size;
    struct mmsghdr *messages;
    struct iovec *vectors;
    struct packet *packets;

    size_t received; /* number of packets in the current receive */
    size_t issued;   /* number of received packets that have a verdict */
    size_t prefix;   /* number of packets that have a verdict, counted from the first packet to the first without one */
    uint8_t states[CAPTURE_MAX_BATCH];

    uint32_t next_id; /* id that the next packet should have; valid if `id_known` */
    bool id_known;
    bool adopted;            /* true: bound by a previous reader, which may have left packets without a verdict */
    bool flags_known;        /* true: the kernel has granted `flags`; false: they were only requested */
    bool may_batch;          /* false: packets may wait in the kernel that a batch verdict must not include */
    bool conntrack_reliable; /* true: a packet without conntrack data has no connection */
    bool exact;              /* true: a separate verdict message for each packet, see nfqueue_set_exact() */
    bool segments;           /* true: NFQA_CFG_F_GSO is cleared until `segments_until_ns` (clock_monotonic_ns()) */
    bool gso_refused;        /* true: the kernel refused to change NFQA_CFG_F_GSO */
    /* With `segments`: how many super-packets may still wait that were queued before the flag was cleared. */
    uint32_t unsegmented;
    uint64_t segments_until_ns;
    bool refused;       /* true: -EPERM of a verdict was already returned to the caller */
    int deferred_error; /* error that the next receive returns; 0: none */
    struct verdict_writer writer;
    struct verdict_sender *sender; /* NULL: the worker sends all verdicts itself */
    uint32_t followers;            /* number of small messages passed to the sender since the last bulk batch */
    bool sender_used;              /* true: messages passed to the sender may not have been sent yet */
    struct repeat_guard *guard;    /* detects looping packets; NULL unless the mode is QUEUE_REPEAT with a limit */
};

/* --- nfqueue_verdict.c ------------------------------------------------------------------------------ */

/* Allocates the buffers of a writer for batches of `batch` packets. Returns 0 or -ENOMEM. */
int verdict_writer_init(struct verdict_writer *writer, size_t batch);
void verdict_writer_clear(struct verdict_writer *writer);

int nfqueue_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count);
/* Queues all packets again that wait for a verdict and have an id up to `id` (NF_REPEAT). Returns 0 or -errno. */
int nfqueue_send_repeat(struct nfqueue *queue, uint32_t id);

/* Sends all vectors in one send; retries for a limited time while the kernel has no memory for the send. Returns 0 or
 * -errno. */
int nfqueue_send(int fd, struct iovec *vectors, size_t count);

/* --- verdict_sender.c ------------------------------------------------------------------------------- */

/* Creates a sender for the socket `fd`, which the caller still owns. Returns 0 or -ENOMEM. */
int verdict_sender_new(struct verdict_sender **out, int fd);
void verdict_sender_free(struct verdict_sender *sender);
/* The sender thread: sends queued messages until it is stopped and no message is left. */
void verdict_sender_run(struct verdict_sender *sender);
void verdict_sender_stop(struct verdict_sender *sender);
/* Called by the worker: returns true if a queued message has not been sent yet. */
bool verdict_sender_is_busy(const struct verdict_sender *sender);
/* Queues a copy of one message of at most NFQUEUE_ATTRIBUTES_SIZE bytes; waits while the ring is full. Returns 0, or
 * -errno if a send has failed since the last call. */
int verdict_sender_queue(struct verdict_sender *sender, const uint8_t *bytes, size_t length);
/* Waits until all queued messages have been sent. Returns 0, or -errno if a send has failed since the last call. */
int verdict_sender_settle(struct verdict_sender *sender);

/* --- nfqueue.c -------------------------------------------------------------------------------------- */

/* Makes the kernel segment super-packets that it queues from now on. Called before the verdict that repeats a
 * super-packet. */
void nfqueue_segment(struct nfqueue *queue);
/* Returns the verdict word of an accepted packet: NF_*, with the queue number of NF_QUEUE in the upper half. */
uint32_t nfqueue_accept_verdict(const struct nfqueue_options *options);

/* --- nfqueue_config.c ------------------------------------------------------------------------------- */

/* Checks the options. Returns 0, or -EINVAL with a line in `error` when they contradict each other. */
int nfqueue_config_validate(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);
/* Opens or adopts queue->fd and reads back the settings in force. Returns 0, or -errno with a line in `error`. */
int nfqueue_config_open(struct nfqueue *queue, char error[CAPTURE_ERROR_SIZE]);
struct nlmsghdr;
/* Sends a message to the kernel's address, because another process may have connected the shared socket to another
 * address. Returns what sendto() returns. */
ssize_t nfqueue_send_to_kernel(int fd, const struct nlmsghdr *head);
/* Sets the options of the socket, its buffer sizes included. Returns 0 or -errno. */
int nfqueue_set_socket_options(int fd, const struct nfqueue_options *options);
/* Sets the size of the receive buffer. The size is limited to the system's maximum unless the process may exceed it. */
void nfqueue_set_receive_buffer(int fd, uint32_t bytes);
/* Starts a configuration message for the queue in `buffer`, which needs room for 20 bytes of headers and for the
 * attributes that the caller adds. Returns the message. */
struct nlmsghdr *nfqueue_config_put(uint16_t queue, char *buffer, enum nfqueue_sequence sequence);
/* Sets or clears NFQA_CFG_F_CONNTRACK of a bound queue, without waiting for an answer: the kernel answers only if it
 * rejects the change. Returns 0 or -errno. */
int nfqueue_config_conntrack(struct nfqueue *queue, bool on);
/* Sets or clears NFQA_CFG_F_GSO of a bound queue, without waiting for an answer. Returns 0 or -errno. */
int nfqueue_config_gso(struct nfqueue *queue, bool on);
/* Writes the formatted line to `error` and returns `err`. */
int nfqueue_config_fail(char error[CAPTURE_ERROR_SIZE], int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#endif
