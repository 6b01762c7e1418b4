/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A TCP session and its two peers.
 */
#ifndef SLUICE_STREAM_SESSION_H
#define SLUICE_STREAM_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/pool.h"
#include "sluice/stream.h"
#include "sluice/stream_event.h"

#include "assembly.h"

enum {
    STREAM_EVENT_COUNT = STREAM_EVENT_END - STREAM_EVENT_FIRST,
    STREAM_REWRITE_SIZE = 128 * 1024, /* a super-packet with its headers */
    STREAM_READING_SIZE = 128 * 1024, /* an inspection window without its urgent bytes */
    SACK_RANGES = 6,
    URGENT_MAX = 4,           /* each doubles the number of readings */
    WINDOW_SCALE_MAX = 14,    /* RFC 7323 §2.3; assumed where the handshake was not seen */
    WINDOW_UNKNOWN = 1 << 26, /* bytes that may be in flight in a session whose window was not seen */
};

enum session_flag {
    SESSION_MIDSTREAM = 1 << 0,
    SESSION_MIDSTREAM_ESTABLISHED = 1 << 1, /* and the other side has not sent a segment yet */
    SESSION_MIDSTREAM_SYNACK = 1 << 2,
    SESSION_TIMESTAMP = 1 << 3,
    SESSION_WINDOW_SCALE = 1 << 4, /* offered by the SYN */
    SESSION_ASYNC = 1 << 5,        /* only one side is seen */
    SESSION_FOUR_WAY = 1 << 6,     /* the server answered the SYN with a SYN instead of a SYN/ACK */
    SESSION_EVASION = 1 << 7,      /* handshake's ACK with a wrong number */
    SESSION_SYN_SACK = 1 << 8,
    SESSION_SACK = 1 << 9,
    SESSION_CONFIRMED = 1 << 10, /* the server has sent a segment after the handshake */
    SESSION_FAST_OPEN = 1 << 11,
    SESSION_FAST_OPEN_IGNORED = 1 << 12, /* the server did not accept the SYN's data */
    SESSION_SCALES_KNOWN = 1 << 13,      /* picked up, and conntrack knew the window scales */
    SESSION_FAST_OPEN_TAKEN = 1 << 14,   /* the SYN's data was acknowledged: the cookie proved the client's address */
    SESSION_NEEDS_ANSWER = 1 << 15,      /* the server may still hold the previous connection of these ports */
};

enum peer_flag {
    PEER_KEEPALIVE = 1 << 0,
    PEER_TIMESTAMP = 1 << 1,
    PEER_ZERO_TIMESTAMP = 1 << 2,
    PEER_RESET_RECEIVED = 1 << 3, /* and possibly ignored by the receiver */
    PEER_DEPTH_REACHED = 1 << 4,
    PEER_STOPPED = 1 << 5, /* reassembly has stopped */
    PEER_WINDOW_PROBE = 1 << 6,
    PEER_URGENT = 1 << 7, /* urgent_offset is valid */
    PEER_URGENT_LIMIT = 1 << 8,
    PEER_OS_KNOWN = 1 << 9,
    PEER_FIN = 1 << 10,
    PEER_FLUSH = 1 << 11,       /* acknowledged bytes are inspected even if they are less than a chunk */
    PEER_CHALLENGED = 1 << 12,  /* its SYN was answered by an ACK of a connection that it does not have */
    PEER_HEARD = 1 << 13,       /* picked up: it has announced a window */
    PEER_END_YIELDED = 1 << 14, /* the parsers have received the end of this peer's stream */
};

struct sack_range {
    uint32_t from, to;
};

/* One side: what it sends, and what the other side has acknowledged of it. */
struct tcp_peer {
    uint32_t isn, next_seq, last_ack;
    uint32_t next_win, window; /* right edge of what it may send, and the window last advertised to it */
    uint32_t max_window;       /* the largest advertised so far: MAX.SND.WND of RFC 5961 §5.2 */
    uint32_t last_timestamp, last_seconds;
    uint32_t fin_seq; /* sequence number of its FIN, when PEER_FIN */
    uint16_t flags;   /* enum peer_flag */
    uint8_t window_scale, tcp_flags;
    uint8_t os; /* enum host_os of this side, when PEER_OS_KNOWN */
    uint8_t sack_count;
    struct sack_range sack[SACK_RANGES]; /* ascending, disjoint, beyond last_ack */
    int64_t next_offset;                 /* offset of next_seq in the stream */
    int64_t edge;                        /* end of the last byte that was seen */
    int64_t urgent_offset;               /* offset of the out-of-band byte, received or announced */
    uint32_t urgent_oob;
    uint8_t urgent_count;
    int64_t urgent[URGENT_MAX]; /* STREAM_URGENT_BOTH: offsets of urgent bytes, in the order of their announcement */
    struct assembly assembly;
};

/* A SYN or SYN/ACK, recorded because there were several. */
struct handshake_entry {
    struct handshake_entry *next;
    uint32_t seq, ack, timestamp, seconds;
    uint16_t window;
    uint8_t window_scale;
    bool has_timestamp, has_window_scale, has_sack;
};

struct tcp_session {
    uint8_t state, previous; /* enum tcp_state; `previous`: before the last change */
    uint8_t reported;        /* enum tcp_state in events: no longer changes once the flow is dropped */
    uint8_t queued, repeated_syns;
    bool is_holder;
    uint16_t flags; /* enum session_flag */
    struct handshake_entry *queue;
    struct flow *flow;
    struct tcp_session *newer, *older;               /* links of the session_list of its state */
    struct tcp_session *newer_holder, *older_holder; /* when is_holder: links among the sessions that have held data */
    struct tcp_peer peer[FLOW_DIRECTIONS];
};

/* Sessions that may be evicted, in the order in which they were added. */
struct session_list {
    struct tcp_session *newest, *oldest;
};

#endif
