/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and sockets to which events are written, and limits of events per second.
 */
#ifndef SLUICE_OUTPUT_SINK_H
#define SLUICE_OUTPUT_SINK_H

#include <net/if.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sluice/app.h"
#include "sluice/output.h"
#include "sluice/stream.h"
#include "sluice/text.h"

#include "write_out.h"

/* --- The file ------------------------------------------------------------------------------------- */

/* Counters that any thread may read; only one thread writes each of them, so counter_add() needs no atomic addition. */
struct event_counters {
    _Atomic uint64_t written[OUTPUT_EVENT_COUNT], lost[OUTPUT_EVENT_COUNT];
    _Atomic uint64_t write_errors;
};

static inline void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value, memory_order_relaxed);
}

/* --- Limits of events in floods (limit.c) --------------------------------------------------------- */

struct event_limit {
    uint64_t second;
    uint32_t count;
};

/* State of the event limits of one port. */
struct event_limits {
    struct event_limit drop, flow;
    _Atomic uint64_t limited[OUTPUT_EVENT_COUNT]; /* number of events that were not written because of a limit */
};

/* Counts an event. Returns true if it exceeds the limit of `most` events in this second of packet time; most == 0: no
 * limit. */
bool event_limit_exceeds(struct event_limit *limit, uint32_t most, uint64_t time_ns);
/* Returns the result of record_kinds(), without drop events of drops that no rule caused if drop.rate_limit is exceeded
 * in this second. */
uint32_t event_limit_packet(struct event_limits *limits, uint32_t wanted, const struct eve_options *eve,
                            const struct packet *pkt, const struct decision *decision);
void event_limits_count(const struct event_limits *limits, struct output_counters *out);
/* Returns true, and counts the events, if the flow and netflow events of this flow must not be written because
 * flow_rate_limit is exceeded in this second. The limit applies only to flows without alerts: those in state FLOW_NEW,
 * those in which one side has sent no packet, and TCP connections of at most two packets. */
bool event_limit_flow(struct event_limits *limits, const struct eve_options *eve, uint32_t kinds,
                      const struct flow *flow);

struct sink_mark {
    size_t end;
    enum output_event kind;
};

enum { SINK_MAX_MARKS = 8192, SINK_MAX_BYTES = 1 << 18 };

/* A file or socket to which lines are written (sink.c). */
struct sink {
    char *path; /* NULL: none */
    enum output_file_type type;
    struct output_rotation rotation;
    uint64_t size;        /* bytes in the file, to find out whether a rotation is due */
    uint64_t rotate_at_s; /* realtime of the next rotation; 0: none */
    int fd;               /* -1: not open, because the file cannot be opened or the socket has no reader */
    uint64_t tried_ns;    /* monotonic time of the last check of the target */
    bool cut;             /* the last write ended within a line; `buffer` begins with the rest of that line */
    struct text buffer;
    struct sink_mark *marks;
    size_t mark_count;
    struct write_out write_out;
    struct event_counters *counters;
    /* Other threads read these members. */
    _Atomic int error;       /* -errno of the last write or open that failed; 0: no error since */
    _Atomic bool needs_file; /* permission to open the file was denied: another process must open it */
};

/* Opens the file, or tries to connect to the socket, which need not have a reader yet. Returns 0 or -errno. */
int sink_open(struct sink *sink, const char *path, enum output_file_type type, bool truncate,
              struct event_counters *counters);
void sink_set_rotation(struct sink *sink, const struct output_rotation *rotation); /* of a regular file */
bool sink_is_open(const struct sink *sink);
void sink_close(struct sink *sink);
/* Adds a newline to the text that was added to `buffer` since the last call: the line of an event of this kind. */
void sink_end_event(struct sink *sink, enum output_event kind);
bool sink_is_full(const struct sink *sink);
void sink_flush(struct sink *sink);
void sink_finish(struct sink *sink); /* writes all lines; those that cannot be written are counted as lost */
void sink_reopen(struct sink *sink);
void sink_set_file(struct sink *sink, int fd); /* replaces the open file by `fd`, which the sink then owns */

/* --- rotate.c ------------------------------------------------------------------------------------------------- */

/* Reads size and time of a file that was opened, from which the next rotation is computed. */
void rotate_begin(struct sink *sink);
/* Renames the file if a rotation is due, and removes the oldest renamed files. Returns true if the file was renamed, so
 * that it must be opened again. */
bool rotate_if_due(struct sink *sink);
/* For setting.check: NULL if output_rotation_interval() accepts the value, otherwise the expected form. */
const char *output_check_rotation(const char *value);

#endif
