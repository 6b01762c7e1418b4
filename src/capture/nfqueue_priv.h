/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the NFQUEUE capture share:
 *
 *     nfqueue.c          open, receive, close
 *     nfqueue_config.c   the socket: its options, binding or adopting the queue, and errors in words
 *     repeat_guard.c     packets that come back without the mark for ever
 *     nfqueue_message.c  from netlink message to struct packet; touches no socket
 *     nfqueue_verdict.c  which verdicts are sent, as what, in which order
 *     verdict_sender.c   a thread that sends them in place of the worker
 *     nfqueue_keep.c     a queue whose reader died
 *     queue_status.c     /proc/net/netfilter/nfnetlink_queue
 *     queue_owner.c      which process holds a queue
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
    NFQUEUE_MAX_COPY = 65531,  /* the kernel's limit: an attribute's length has 16 bits and counts its header */
    NFQUEUE_VERDICT_SIZE = 32, /* a verdict message without the attributes below */
    NFQUEUE_MARK_SIZE = 8,
    NFQUEUE_PAYLOAD_SIZE = 8,     /* header and padding */
    NFQUEUE_CONNECTION_SIZE = 20, /* NFQA_CT with a mark and its mask */
    NFQUEUE_ATTRIBUTES_SIZE = NFQUEUE_VERDICT_SIZE + NFQUEUE_MARK_SIZE + NFQUEUE_CONNECTION_SIZE, /* but the payload */
    QUEUE_OWNER_SIZE = 96,
};

/* nlmsg_seq of what we send, which comes back in the kernel's answer. For verdicts it is the number of packets that the
 * message judges; the others are beyond any batch. */
enum nfqueue_sequence {
    SEQUENCE_CONFIG = CAPTURE_MAX_BATCH + 1,
    SEQUENCE_REPEAT_UNJUDGED,
    SEQUENCE_CONNTRACK,
    SEQUENCE_GSO,
    SEQUENCE_LENGTH
};

/* What became of a packet of the current receive. */
enum slot_state { SLOT_LENT, SLOT_PLANNED, SLOT_JUDGED };

/* Netlink messages of one send. Verdicts lie in `bytes`, replaced payloads stay where they are. */
struct verdict_writer {
    uint8_t *bytes;
    size_t used;  /* of bytes */
    size_t start; /* of the piece of `bytes` that is not in `vectors` yet */
    size_t total; /* bytes of the whole send, payloads included */
    size_t limit; /* that a send must not exceed */
    struct iovec *vectors;
    size_t vector_count;
    size_t message_count;
    bool accepts_only; /* none of the messages drops, says something of a connection or has a payload */
    bool is_bulk;      /* what this call judges: worth another thread's while */
};

struct verdict_sender;

struct nfqueue {
    struct capture base; /* first: a struct capture * is one of these */
    struct nfqueue_options options;
    struct capture_counters counters;
    int fd;        /* the socket; -1: none */
    int status_fd; /* /proc/net/netfilter/nfnetlink_queue, or -errno */
    int wait_ms;   /* what SO_RCVTIMEO says now */
    uint32_t flags;
    enum queue_offload offload; /* as it came out */
    uint32_t receive_buffer;
    uint32_t accept_verdict; /* the verdict word of an accepted packet */

    uint8_t *memory; /* a slot for each message of a receive; lent when there are options.slots */
    size_t memory_size;
    struct mmsghdr *messages;
    struct iovec *vectors;
    struct packet *packets;

    size_t lent;   /* packets of the current receive */
    size_t judged; /* of these, how many were judged */
    size_t prefix; /* of these, how many from the first on were judged without a hole */
    uint8_t states[CAPTURE_MAX_BATCH];

    uint32_t next_id; /* the id that the next packet should have, when `id_known` */
    bool id_known;
    bool adopted;         /* a former reader may have left packets behind, until `id_known` */
    bool flags_known;     /* `flags` are those that the kernel took */
    bool may_batch;       /* false once packets may wait in the kernel that a batch verdict must not touch */
    bool tells_conntrack; /* a packet without a connection has none */
    bool exact;           /* no batches: see nfqueue_set_exact() */
    bool segments;        /* NFQA_CFG_F_GSO is cleared until `segments_until_ns` (clock_monotonic_ns()) */
    bool gso_refused;     /* the kernel refused to change that flag */
    uint32_t unsegmented; /* `segments`: super-packets that may still have been queued before */
    uint64_t segments_until_ns;
    bool refused;       /* -EPERM was seen, and told */
    int deferred_error; /* for the next receive */
    struct verdict_writer writer;
    struct verdict_sender *sender; /* NULL: the worker sends all */
    uint32_t followers;            /* given away since the last bulk */
    bool gave_away;                /* something since it was seen that nothing is left there */
    struct repeat_guard *guard;    /* QUEUE_REPEAT with a limit; NULL */
};

/* --- nfqueue_message.c ---------------------------------------------------------------------------- */

enum nfqueue_message_kind {
    NFQUEUE_PACKET,  /* the packet is filled in */
    NFQUEUE_DAMAGED, /* so it is, as far as it could be read, and its id is known */
    NFQUEUE_RESULT,  /* NLMSG_ERROR: an answer to something that we sent */
    NFQUEUE_NO_ID,   /* a packet whose id cannot be read, so that it cannot be judged either */
    NFQUEUE_UNKNOWN, /* anything else */
};

struct nfqueue_result {
    int error; /* 0 or -errno */
    uint32_t sequence;
};

/*
 * Reads one netlink message. The capture part of *pkt is written for the first two kinds (but `number`; time_ns is 0
 * where the kernel gives no time), *result for NFQUEUE_RESULT.
 */
enum nfqueue_message_kind nfqueue_message_read(const uint8_t *bytes, size_t length, uint16_t queue, struct packet *pkt,
                                               struct nfqueue_result *result);

/* --- nfqueue_verdict.c ---------------------------------------------------------------------------- */

/* 0 or -ENOMEM. */
int verdict_writer_init(struct verdict_writer *writer, size_t batch);
void verdict_writer_clear(struct verdict_writer *writer);

int nfqueue_send_verdicts(struct capture *capture, struct packet *const *batch, size_t count);
/* Queues again whatever waits for a verdict and has an id up to `id`. */
int nfqueue_send_repeat(struct nfqueue *queue, uint32_t id);

/* All of it in one send, tried again while the kernel has no memory for it. 0 or -errno. */
int nfqueue_send(int fd, struct iovec *vectors, size_t count);

/* --- verdict_sender.c ----------------------------------------------------------------------------- */

/* For the socket, lent. 0 or -ENOMEM. */
int verdict_sender_new(struct verdict_sender **out, int fd);
void verdict_sender_free(struct verdict_sender *sender);
/* A thread's: sends what it is given, until it is stopped and nothing is left. */
void verdict_sender_run(struct verdict_sender *sender);
void verdict_sender_stop(struct verdict_sender *sender);
/* The worker's. Something was given that has not been sent yet. */
bool verdict_sender_is_busy(const struct verdict_sender *sender);
/* Gives one message, of NFQUEUE_ATTRIBUTES_SIZE at most; waits where too many are under way. 0, or -errno of a send
 * before. */
int verdict_sender_give(struct verdict_sender *sender, const uint8_t *bytes, size_t length);
/* Waits until all that was given has been sent. 0, or -errno of a send. */
int verdict_sender_settle(struct verdict_sender *sender);

/* --- nfqueue.c ------------------------------------------------------------------------------------ */

/* Has the kernel segment what it queues from now on: before the verdict that repeats a super-packet. */
void nfqueue_segment(struct nfqueue *queue);
/* The verdict word of an accepted packet. */
uint32_t nfqueue_accept_verdict(const struct nfqueue_options *options);

/* --- nfqueue_config.c ----------------------------------------------------------------------------- */

/* -EINVAL with a line in `error` when the options contradict each other. */
int nfqueue_config_validate(const struct nfqueue_options *options, char error[CAPTURE_ERROR_SIZE]);
/* Opens or adopts queue->socket and reads back what is in force. 0, or -errno with a line in `error`. */
int nfqueue_config_open(struct nfqueue *queue, char error[CAPTURE_ERROR_SIZE]);
/* As far as the system lets us. */
struct nlmsghdr;
/* Sends a message to the kernel, even if another process has connected the socket to another address. */
ssize_t nfqueue_send_to_kernel(int fd, const struct nlmsghdr *head);
int nfqueue_set_socket_options(int fd, const struct nfqueue_options *options);
void nfqueue_set_receive_buffer(int fd, uint32_t bytes);
/* The head of a configuration message for the queue. `buffer`: of 256 bytes. */
struct nlmsghdr *nfqueue_config_put(uint16_t queue, char *buffer, enum nfqueue_sequence sequence);
/* Sets or clears NFQA_CFG_F_CONNTRACK of a bound queue, without waiting: only a refusal is answered. 0 or -errno. */
int nfqueue_config_conntrack(struct nfqueue *queue, bool on);
/* The same for NFQA_CFG_F_GSO. */
int nfqueue_config_gso(struct nfqueue *queue, bool on);
/* Writes the line and returns err. */
int nfqueue_config_fail(char error[CAPTURE_ERROR_SIZE], int err, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* --- queue_owner.c -------------------------------------------------------------------------------- */

/* "process 4711 (suricata)" for the process that holds the netlink port, or a text that says less. */
void queue_owner_describe(uint32_t port_id, char out[QUEUE_OWNER_SIZE]);

#endif
