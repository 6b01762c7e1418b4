/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files and sockets that events are written to, and the limit of events per second.
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

/* --- The file ------------------------------------------------------------------------------------- */

/* Counters that several threads read; each has one writer. */
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

/* The limits of one port. */
struct event_limits {
    struct event_limit drop, flow;
    _Atomic uint64_t limited[OUTPUT_EVENT_COUNT]; /* events that were not written */
};

/* As record_kinds(), without a drop that no rule caused if there were too many in this second. */
uint32_t event_limit_packet(struct event_limits *limits, uint32_t wanted, const struct eve_options *eve,
                            const struct packet *pkt, const struct decision *decision);
void event_limits_count(const struct event_limits *limits, struct output_counters *out);
/* Whether the events of a flow in which only one side has sent packets are not written, because of the limit. */
bool event_limit_flow(struct event_limits *limits, const struct eve_options *eve, uint32_t kinds,
                      const struct flow *flow);

struct sink_mark {
    size_t end;
    enum output_event kind;
};

enum { SINK_MAX_MARKS = 8192, SINK_MAX_BYTES = 1 << 18 };

/* Writeback of a file (write_out.c). Initialise with zeros. */
struct write_out {
    size_t waiting; /* bytes written to the file for which writeback has not started */
    unsigned windows_to_skip;
};

/* Called after bytes were appended to the file. */
void write_out_note(struct write_out *out, int fd, size_t written);

/* A file or socket to which lines are written (sink.c). */
struct sink {
    char *path; /* NULL: none */
    enum output_file_type type;
    int fd;            /* -1: not open: the file cannot be opened, or the socket has no reader */
    uint64_t tried_ns; /* monotonic time of the last check of the target */
    bool cut;          /* the file ends with a part of the first line in `buffer` */
    struct text buffer;
    struct sink_mark *marks;
    size_t mark_count;
    struct write_out write_out;
    struct event_counters *counters;
    /* Read by other threads. */
    _Atomic int error;       /* -errno of the last write or open that failed; 0: no error since */
    _Atomic bool needs_file; /* permission to open the file was denied */
};

/* Returns 0 or -errno. A socket need not have a reader yet. */
int sink_open(struct sink *sink, const char *path, enum output_file_type type, bool truncate,
              struct event_counters *counters);
bool sink_is_open(const struct sink *sink);
void sink_close(struct sink *sink);
/* Completes the line that was written since the last call, an event of this kind. */
void sink_end_event(struct sink *sink, enum output_event kind);
bool sink_is_full(const struct sink *sink);
void sink_flush(struct sink *sink);
void sink_finish(struct sink *sink); /* flushes; lines that cannot be written are lost */
void sink_reopen(struct sink *sink);
void sink_set_file(struct sink *sink, int fd); /* writes to this file from now on, and owns it */

#endif
