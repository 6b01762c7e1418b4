/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Plays scripts of TCP segments, for tests. Each line is a segment:
 *
 *     > S 0            the client's SYN; sequence numbers are relative to the side's ISN
 *     < SA 0,1         the server's SYN/ACK, which acknowledges 1
 *     > A 1,1 'abc'    data
 *
 * Flags are letters (S A F R P U). After the numbers may follow, in any order: 'data', win=N, ws=N, ts=VALUE/ECHO,
 * sackok, sack=A-B, urg=N, tfo, md5, badsum, t=SECONDS (time of this and later segments). After a | follow the expected
 * results: the state; events; =invalid, =drop, =midstream, =memcap or =reassembly (verdict and exception); "c:abc" or
 * "s:abc" (bytes of chunks of the client's or the server's stream); gap (a gap before these bytes).
 */
#ifndef STREAM_RIG_H
#define STREAM_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/decode.h"
#include "sluice/flow.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

#define SECOND UINT64_C(1000000000)

enum {
    CLIENT_ISN = 1000,
    SERVER_ISN = 0x80000000u - 7, /* the sequence numbers soon cross 2^31 */
    HEADERS = 40 + 40,
    YIELDED = 4096,
};

struct stream_rig {
    struct stream_options options;
    struct flow_options flow_options;
    struct flow_table *flows;
    struct stream *stream;
    struct decoder *decoder;
    uint32_t isn[FLOW_DIRECTIONS];
    uint64_t time_ns, number;
    unsigned client; /* number that is added to the client's address */
    uint8_t bytes[70000];
    struct packet packet;
    struct packet_conntrack conntrack; /* for later packets */
    struct flow *flow;
    struct stream_verdict verdict;
    char yielded[FLOW_DIRECTIONS][YIELDED];
    bool gap, end;
    bool keeps_flows; /* do not replace the flow when a connection reuses its ports */
};

extern struct stream_rig stream_rig;

void stream_rig_open(void);
void stream_rig_close(void);
void stream_rig_setup(void);
void stream_rig_teardown(void);

struct stream_line {
    bool from_server, bad_checksum, has_window, has_scale, has_timestamp, sack_permitted, fast_open, md5;
    uint8_t flags, window_scale;
    uint32_t seq, ack, timestamp, echo, sack_from, sack_to;
    uint16_t window, urgent;
    char data[512];
    size_t length;
};

void stream_rig_put_be16(uint8_t *at, uint32_t value);
size_t stream_rig_put_packet(const struct stream_line *line);
void stream_rig_take_views(enum flow_direction direction, bool all);
void stream_rig_send_line(const char *text);
const char *stream_rig_state_name(void);
void stream_rig_describe(char *out, size_t size);
void stream_rig_play(const char *name, const char *const *script);
uint64_t stream_rig_counter(const char *name); /* a counter of src/stream */

#endif
