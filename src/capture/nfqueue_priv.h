/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Private declarations of the NFQUEUE capture:
 *
 *     nfqueue.c          open, receive, close
 *     nfqueue_config.c   the socket: its options, binding or adopting the queue, and error texts
 *     repeat_guard.c     detection of packets that are queued again in a loop
 *     nfqueue_message.c  from netlink message to struct packet; no socket
 *     nfqueue_verdict.c  selection, encoding and order of verdict messages
 *     verdict_sender.c   a thread that sends verdicts in place of the worker
 *     nfqueue_recover.c  a queue whose reader died
 *     queue_status.c     /proc/net/netfilter/nfnetlink_queue
 *     queue_owner.c      which process has a queue
 */
#ifndef SLUICE_NFQUEUE_PRIV_H
#define SLUICE_NFQUEUE_PRIV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "sluice/capture.h"

enum {
    NFQUEUE_MAX_COPY = 65531,  /* the kernel's limit: an attribute's length has 16 bits and includes its header */
    NFQUEUE_VERDICT_SIZE = 32, /* a verdict message without the attributes below */
    NFQUEUE_MARK_SIZE = 8,
    NFQUEUE_PAYLOAD_SIZE = 8,     /* header and padding */
    NFQUEUE_CONNECTION_SIZE = 20, /* NFQA_CT with a mark and its mask */
    NFQUEUE_ATTRIBUTES_SIZE =
        NFQUEUE_VERDICT_SIZE + NFQUEUE_MARK_SIZE + NFQUEUE_CONNECTION_SIZE, /* all except the payload */
    QUEUE_OWNER_SIZE = 96,
};

/* nlmsg_seq of sent messages, which the kernel returns in its answer. For verdicts it is the number of packets in the
 * message; the other values exceed any batch. */
enum nfqueue_sequence {
    SEQUENCE_CONFIG = CAPTURE_MAX_BATCH + 1,
    SEQUENCE_REPEAT_UNJUDGED,
    SEQUENCE_CONNTRACK,
    SEQUENCE_GSO,
    SEQUENCE_LENGTH
};

/* State of a packet of the current receive. */
enum slot_state { SLOT_RECEIVED, SLOT_PLANNED, SLOT_ISSUED };

/* Netlink messages of one send. Verdicts are in `bytes`; replaced payloads are referenced in place. */
struct verdict_writer {
    uint8_t *bytes;
    size_t used;  /* of bytes */
    size_t start; /* of the part of `bytes` that is not in `vectors` yet */
    size_t total; /* bytes of the whole send, payloads included */
    size_t limit; /* maximum size of a send */
    struct iovec *vectors;
    size_t vector_count;
    size_t message_count;
    bool accepts_only; /* no message drops, changes a connection or has a payload */
    bool is_bulk;      /* the verdicts of this call are worth waking the sender thread */
};

struct verdict_sender;

struct nfqueue {
    struct capture base; /* first member: a struct capture * points to it */
    struct nfqueue_options options;
    struct capture_counters counters;
    int fd;        /* the socket; -1: none */
    int status_fd; /* /proc/net/netfilter/nfnetlink_queue, or -errno */
    int wait_ms;   /* current value of SO_RCVTIMEO */
    uint32_t flags;
    enum queue_offload offload; /* the method in use */
    uint32_t receive_buffer;
    uint32_t accept_verdict; /* the verdict word of an accepted packet */

    uint8_t *memory; /* one slot for each message of a receive; owned by the caller with options.slots */
    size_t memory_size;
    struct mmsghdr *messages;
    struct iovec *vectors;
    struct packet *packets;

    size_t received; /* packets of the current receive */
    size_t issued;   /* number of these with a verdict */
    size_t prefix;   /* number of these, from the first on, with a verdict and without a gap */
    uint8_t states[CAPTURE_MAX_BATCH];

    uint32_t next_id; /* the expected id of the next packet, when `id_known` */
    bool id_known;
    bool adopted;            /* a previous reader may have left packets behind, until `id_known` */
    bool flags_known;        /* `flags` are those that the kernel granted */
    bool may_batch;          /* false once packets may wait in the kernel that a batch verdict must not include */
    bool conntrack_reliable; /* a packet without conntrack data has no connection */
    bool exact;              /* no batch verdicts: see nfqueue_set_exact() */
    bool segments;           /* NFQA_CFG_F_GSO is cleared until `segments_until_ns` (clock_monotonic_ns()) */
    bool gso_refused;        /* the kernel refused to change that flag */
    uint32_t unsegmented;    /* `segments`: super-packets that may still have been queued before */
    uint64_t segments_until_ns;
    bool refused;       /* -EPERM was returned and reported */
    int deferred_error; /* for the next receive */
    struct verdict_writer writer;
    struct verdict_sender *sender; /* NULL: the worker sends everything */
    uint32_t followers;            /* messages passed to the sender since the last bulk */
    bool sender_used;              /* messages may still be with the sender */
    struct repeat_guard *guard;    /* QUEUE_REPEAT with a limit; NULL otherwise */
};

/* --- nfqueue_message.c ------------------------------------------------------------------------------ */

enum nfqueue_message_kind {
    NFQUEUE_PACKET,  /* the packet is filled in */
    NFQUEUE_DAMAGED, /* the packet is filled in as far as it could be read, and its id is known */
    NFQUEUE_RESULT,  /* NLMSG_ERROR: the answer to a sent message */
    NFQUEUE_NO_ID,   /* a packet whose id cannot be read, so that no verdict is possible */
    NFQUEUE_UNKNOWN, /* any other message */
};

struct nfqueue_result {
    int error; /* 0 or -errno */
    uint32_t sequence;
};

/* Reads one netlink message. The capture part of *pkt is written for the first two kinds (except `number`; time_ns is 0
 * where the kernel gives no time), *result for NFQUEUE_RESULT. */
enum nfqueue_message_kind nfqueue_message_read(const uint8_t *bytes, size_t length, uint16_t queue, struct packet *pkt,
                                               struct nfqueue_result *result);

/* --- nfqueue_verdict.c ------------------------------------------------------------------------------ */

/* Returns 0 or -ENOMEM. */
int verdict_writer_init(struct verdict_writer *writer, size_t batch);
void verdict_writer_clear(struct verdict_writer *writer);

int nfqueue_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count);
/* Queues all packets again that wait for a verdict and have an id up to `id`. */
int nfqueue_send_repeat(struct nfqueue *queue, uint32_t id);

/* Sends all vectors in one send, and retries while the kernel has no memory for it. Returns 0 or -errno. */
int nfqueue_send(int fd, struct iovec *vectors, size_t count);

/* --- verdict_sender.c ------------------------------------------------------------------------------- */

/* Creates a sender for the socket, which stays the caller's. Returns 0 or -ENOMEM. */
int verdict_sender_new(struct verdict_sender **out, int fd);
void verdict_sender_free(struct verdict_sender *sender);
/* Main function of the sender thread: sends queued messages until it is stopped and none is left. */
void verdict_sender_run(struct verdict_sender *sender);
void verdict_sender_stop(struct verdict_sender *sender);
/* For the worker: whether a queued message has not been sent yet. */
bool verdict_sender_is_busy(const struct verdict_sender *sender);
/* Queues one message of at most NFQUEUE_ATTRIBUTES_SIZE bytes; waits while the ring is full. Returns 0, or -errno of an
 * earlier send. */
int verdict_sender_queue(struct verdict_sender *sender, const uint8_t *bytes, size_t length);
/* Waits until all queued messages have been sent. Returns 0, or -errno of a send. */
int verdict_sender_settle(struct verdict_sender *sender);

/* --- nfqueue.c -------------------------------------------------------------------------------------- */

/* Makes the kernel segment packets that it queues from now on: called before the verdict that repeats a super-packet.
 */
void nfqueue_segment(struct nfqueue *queue);
/* Returns the verdict word of an accepted packet. */
uint32_t nfqueue_accept_verdict(const struct nfqueue_options *options);

/* --- nfqueue_config.c ------------------------------------------------------------------------------- */

/* Returns -EINVAL with a line in `error` when the options contradict each other. */
int nfqueue_config_validate(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);
/* Opens or adopts queue->socket and reads back the settings in force. Returns 0, or -errno with a line in `error`. */
int nfqueue_config_open(struct nfqueue *queue, char error[CAPTURE_ERROR_SIZE]);
/* Sets the receive buffer, up to the limits of the system. */
struct nlmsghdr;
/* Sends a message to the kernel, even if another process has connected the socket to another address. */
ssize_t nfqueue_send_to_kernel(int fd, const struct nlmsghdr *head);
int nfqueue_set_socket_options(int fd, const struct nfqueue_options *options);
void nfqueue_set_receive_buffer(int fd, uint32_t bytes);
/* Starts a configuration message for the queue in `buffer`, which has 256 bytes. */
struct nlmsghdr *nfqueue_config_put(uint16_t queue, char *buffer, enum nfqueue_sequence sequence);
/* Sets or clears NFQA_CFG_F_CONNTRACK of a bound queue, without waiting: the kernel answers only rejections. Returns 0
 * or -errno. */
int nfqueue_config_conntrack(struct nfqueue *queue, bool on);
/* The same for NFQA_CFG_F_GSO. */
int nfqueue_config_gso(struct nfqueue *queue, bool on);
/* Formats the line and returns err. */
int nfqueue_config_fail(char error[CAPTURE_ERROR_SIZE], int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- queue_owner.c ---------------------------------------------------------------------------------- */

/* Writes "process 4711 (suricata)" for the process that has the netlink port, or a less specific text. */
void queue_owner_describe(uint32_t port_id, char out[QUEUE_OWNER_SIZE]);

#endif
