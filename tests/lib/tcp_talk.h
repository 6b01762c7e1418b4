/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * TCP conversations of two correct hosts, made up: what goes by between them, for tests with stream_rig.h.
 *
 * What a host sends goes by at once and reaches the other some time later, or never; what the other sends in the
 * meantime goes by before it has got it. So segments cross, are lost behind us, are sent again, cut in another way.
 * Windows are small, closed, probed and opened; clocks of timestamps stand still, jump and wrap; either side closes
 * first, both at once, only one, or one resets.
 */
#ifndef TCP_TALK_H
#define TCP_TALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { TALK_MAX = 160, TALK_STEPS = 400, TALK_BYTES = 1600 };

/* One segment, as it goes by. */
struct talk_segment {
    uint8_t bytes[TALK_BYTES];
    size_t length;
    uint64_t time_ns;
    bool from_server, lost;
    int seen; /* the last segment that its sender had got; -1: none */
};

struct talk_host {
    uint32_t isn, una, next, expected, edge,
        told_edge; /* edge: what the other lets it send; told_edge: what it lets the other send */
    uint32_t clock, recent;
    uint8_t scale;
    unsigned at; /* of what the other sends: what reaches it next */
    int seen;
    uint32_t left; /* bytes that it wants to send yet */
    bool open, synced, wants_fin, fin_sent, fin_got, reset, owes_ack, is_shut;
};

struct talk {
    struct talk_segment segments[TALK_MAX];
    unsigned count;
    struct talk_host host[2];
    bool timestamps, scales, probes_with_byte;
    unsigned loss; /* of 100 */
    uint32_t state;
};

extern struct talk talk;

uint32_t talk_random(uint32_t below);
void talk_make(uint32_t seed);

#endif
