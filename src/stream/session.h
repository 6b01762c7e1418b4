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
    STREAM_REWRITE_SIZE = 128 * 1024, /* buffer for a rewritten packet, at most a super-packet with its headers */
    STREAM_READING_SIZE = 128 * 1024, /* buffer for an inspection window without its urgent bytes */
    SACK_RANGES = 6,                  /* maximum number of stored SACK ranges per peer */
    URGENT_MAX = 4,           /* maximum number of stored urgent bytes per direction; each one doubles the readings */
    WINDOW_SCALE_MAX = 14,    /* RFC 7323 §2.3; assumed where the handshake was not seen */
    WINDOW_UNKNOWN = 1 << 26, /* assumed window, in bytes, of a session whose window was not seen */
};

enum session_flag {
    SESSION_MIDSTREAM = 1 << 0,             /* picked up: the handshake was not seen completely */
    SESSION_MIDSTREAM_ESTABLISHED = 1 << 1, /* picked up within the data, and only one side has sent segments since */
    SESSION_MIDSTREAM_SYNACK = 1 << 2,      /* picked up at the SYN/ACK */
    SESSION_TIMESTAMP = 1 << 3,             /* timestamps of segments are checked (PAWS) */
    SESSION_WINDOW_SCALE = 1 << 4,          /* the SYN had the window scale option */
    SESSION_ASYNC = 1 << 5,                 /* only one side is seen */
    SESSION_FOUR_WAY = 1 << 6,              /* the server answered the SYN with a SYN instead of a SYN/ACK */
    SESSION_EVASION = 1 << 7,               /* the handshake's ACK had a wrong acknowledgment number */
    SESSION_SYN_SACK = 1 << 8,              /* the SYN permitted SACK */
    SESSION_SACK = 1 << 9,                  /* both sides permitted SACK, or the handshake was not seen */
    SESSION_CONFIRMED = 1 << 10,            /* the server has sent a segment after the handshake */
    SESSION_FAST_OPEN = 1 << 11, /* SYN or SYN/ACK had the fast open option, or data of the SYN is in the stream */
    SESSION_FAST_OPEN_IGNORED = 1 << 12, /* the server did not accept the SYN's data */
    SESSION_SCALES_KNOWN = 1 << 13,      /* picked up, with the window scales from conntrack */
    SESSION_FAST_OPEN_TAKEN = 1 << 14,   /* the SYN's data was acknowledged: the cookie proved the client's address */
    SESSION_NEEDS_ANSWER = 1 << 15,      /* the server may still hold the previous connection of these ports */
};

enum peer_flag {
    PEER_KEEPALIVE = 1 << 0,      /* its last segment was a keep-alive */
    PEER_TIMESTAMP = 1 << 1,      /* its SYN had a timestamp option */
    PEER_ZERO_TIMESTAMP = 1 << 2, /* its first timestamp was zero */
    PEER_RESET_RECEIVED = 1 << 3, /* the other side sent it a reset, which it may have ignored */
    PEER_DEPTH_REACHED = 1 << 4,  /* the reassembly depth was reached */
    PEER_STOPPED = 1 << 5,        /* reassembly has stopped */
    PEER_WINDOW_PROBE = 1 << 6,   /* its last segment probed a zero window */
    PEER_URGENT = 1 << 7,         /* urgent_offset is valid */
    PEER_URGENT_LIMIT = 1 << 8,   /* the limit of urgent bytes was exceeded */
    PEER_OS_KNOWN = 1 << 9,       /* `os` is valid */
    PEER_FIN = 1 << 10,           /* it has sent a FIN; fin_seq is valid */
    PEER_FLUSH = 1 << 11,         /* acknowledged bytes are inspected even if they are less than a chunk */
    PEER_CHALLENGED = 1 << 12,    /* its SYN was answered by a challenge ACK (of an older connection that only the other
                                     side still has) or by a SYN/ACK for another SYN: it sends a reset */
    PEER_HEARD = 1 << 13,         /* picked up: it has sent a segment, which announced a window */
    PEER_END_YIELDED = 1 << 14,   /* the parsers have received the end of this peer's stream */
    PEER_ACKS_MISSED = 1 << 15,   /* acknowledgments of its data may not have been seen: last_ack and next_win may be
                                     lower than those of the receiver */
};

struct sack_range {
    uint32_t from, to;
};

/* One side of a session: the sequence numbers that it sends, and those that the other side has acknowledged. */
struct tcp_peer {
    uint32_t isn, next_seq, last_ack;
    uint32_t next_win, window; /* right edge of the window; size of the window as last advertised by the other side */
    uint32_t max_window;       /* largest `window` so far: MAX.SND.WND of RFC 5961 §5.2 */
    uint32_t last_timestamp, last_seconds; /* timestamp value accepted last, and the packet's time in seconds */
    uint32_t fin_seq;                      /* sequence number of its FIN, if PEER_FIN */
    uint16_t flags;                        /* enum peer_flag */
    uint8_t window_scale, tcp_flags;
    uint8_t os; /* enum host_os of this side, if PEER_OS_KNOWN */
    uint8_t sack_count;
    struct sack_range sack[SACK_RANGES]; /* ascending, disjoint, beyond last_ack */
    int64_t next_offset;                 /* stream offset of next_seq */
    int64_t edge;                        /* stream offset behind the highest byte that was seen */
    int64_t urgent_offset;      /* stream offset of the out-of-band byte, received or announced; valid if PEER_URGENT */
    uint32_t urgent_oob;        /* number of bytes left out of the stream as out-of-band */
    uint8_t urgent_count;       /* number of entries in `urgent` */
    int64_t urgent[URGENT_MAX]; /* STREAM_URGENT_BOTH: stream offsets of urgent bytes, in order of announcement */
    struct assembly assembly;
};

/* A queued SYN or SYN/ACK. If several are queued, the answer shows which one was accepted (handshake.c). */
struct handshake_entry {
    struct handshake_entry *next;
    uint32_t seq, ack, timestamp, seconds; /* seconds: time of the packet */
    uint16_t window;
    uint8_t window_scale;
    bool has_timestamp, has_window_scale, has_sack;
};

struct tcp_session {
    uint8_t state, previous;       /* enum tcp_state; `previous`: before the last change */
    uint8_t reported;              /* enum tcp_state that events show; unchanged once the flow is dropped */
    uint8_t queued, repeated_syns; /* number of entries in `queue`; number of repeated SYNs */
    bool is_holder;                /* the session is in the list stream.holders */
    uint16_t flags;                /* enum session_flag */
    struct handshake_entry *queue; /* NULL: empty */
    struct flow *flow;
    struct tcp_session *newer, *older;               /* links of the session_list of its state */
    struct tcp_session *newer_holder, *older_holder; /* links of stream.holders, if is_holder */
    struct tcp_peer peer[FLOW_DIRECTIONS];
};

/* Sessions that may be evicted, in the order in which they were added. */
struct session_list {
    struct tcp_session *newest, *oldest;
    size_t count; /* not counted in stream.holders */
};

#endif
