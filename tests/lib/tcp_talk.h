/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Generates random TCP conversations of two correct hosts as a gateway between them sees them, for tests with
 * stream_rig.h.
 *
 * The gateway sees a segment at once; the receiver gets it some time later, or never. So segments cross, are lost after
 * the gateway, and are retransmitted with another segmentation. Windows are small, closed, probed and opened. Timestamp
 * clocks stand still, jump and wrap. Either side closes first, both close at once, only one closes, or one resets.
 */
#ifndef TCP_TALK_H
#define TCP_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALK_MAX = 160, TALK_STEPS = 400, TALK_BYTES = 1600 };

/* A segment as the gateway sees it. */
struct talk_segment {
    uint8_t bytes[TALK_BYTES];
    size_t length;
    uint64_t time_ns;
    bool from_server, lost;
    int seen; /* index of the last segment that its sender had received; -1: none */
};

struct talk_host {
    uint32_t isn, una, next, expected;
    uint32_t edge, told_edge; /* right edge of the window that it was granted, and that it has granted */
    uint32_t clock, recent;
    uint8_t scale;
    unsigned at; /* index of the next segment to receive */
    int seen;
    uint32_t left; /* bytes that it still has to send */
    bool open, synced, wants_fin, fin_sent, fin_got, reset, owes_ack, is_shut;
};

struct talk {
    struct talk_segment segments[TALK_MAX];
    unsigned count;
    struct talk_host host[2];
    bool timestamps, scales, probes_with_byte;
    unsigned loss; /* loss rate in percent */
    uint32_t state;
};

extern struct talk talk;

uint32_t talk_random(uint32_t below);
void talk_make(uint32_t seed);

#endif
