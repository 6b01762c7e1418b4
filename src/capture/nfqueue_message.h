/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages that the kernel sends to the reader of a queue: packets, and answers to messages of the reader.
 *
 * Threads:   any; the functions have no state.
 * Ownership: pointers in a packet point into the message.
 */
#ifndef SLUICE_NFQUEUE_MESSAGE_H
#define SLUICE_NFQUEUE_MESSAGE_H

#include <stddef.h>
#include <stdint.h>

#include "sluice/capture.h"
#include "sluice/packet.h"

/* Limit of the kernel for the bytes of a packet in a message: the length of an attribute has 16 bits and includes its
 * header. */
enum { NFQUEUE_MAX_COPY = 65531 };

/* Values of nlmsg_seq in sent messages, which the kernel returns in its answers. In a verdict message the field
 * is the number of its packets. The values here are larger than any batch, so that the two differ. */
enum nfqueue_sequence {
    SEQUENCE_CONFIG = CAPTURE_MAX_BATCH + 1,
    SEQUENCE_REPEAT_UNJUDGED,
    SEQUENCE_CONNTRACK,
    SEQUENCE_GSO,
    SEQUENCE_LENGTH
};

enum nfqueue_message_kind {
    NFQUEUE_PACKET,  /* *pkt is filled in */
    NFQUEUE_DAMAGED, /* *pkt is filled in as far as the message could be read, and its id is known */
    NFQUEUE_RESULT,  /* NLMSG_ERROR: the kernel's answer to a sent message */
    NFQUEUE_NO_ID,   /* a packet whose id cannot be read, so that no verdict is possible */
    NFQUEUE_UNKNOWN, /* any other message */
};

struct nfqueue_result {
    int error; /* error in the answer: 0 or -errno */
    uint32_t sequence;
};

/* Reads one netlink message. For NFQUEUE_PACKET and NFQUEUE_DAMAGED fills in the members of *pkt that belong to the
 * capture, except `number`; time_ns is 0 if the kernel gives no time. For NFQUEUE_RESULT fills in *result. */
enum nfqueue_message_kind nfqueue_message_read(const uint8_t *bytes, size_t length, uint16_t queue, struct packet *pkt,
                                               struct nfqueue_result *result);

#endif
