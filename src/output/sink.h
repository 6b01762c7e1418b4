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

/* Counters as several threads see them: each has one writer. */
struct event_counters {
    _Atomic uint64_t written[OUTPUT_EVENT_COUNT], lost[OUTPUT_EVENT_COUNT];
    _Atomic uint64_t write_errors;
};

static inline void counter_add(_Atomic uint64_t *counter, uint64_t value)
{
    atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + value, memory_order_relaxed);
}

/* --- Limits in floods, limit.c -------------------------------------------------------------------- */

struct event_limit {
    uint64_t second;
    uint32_t count;
};

/* Of a port. */
struct event_limits {
    struct event_limit drop, flow;
    _Atomic uint64_t left_out[OUTPUT_EVENT_COUNT];
};

/* record_kinds() without a drop that no rule asked for, when there were too many in this second. */
uint32_t event_limit_packet(struct event_limits *limits, uint32_t wanted, const struct eve_options *eve,
                            const struct packet *pkt, const struct decision *decision);
void event_limits_count(const struct event_limits *limits, struct output_counters *out);
/* Whether the events of a flow that nobody answered are left out. */
bool event_limit_flow(struct event_limits *limits, const struct eve_options *eve, uint32_t kinds,
                      const struct flow *flow);

struct sink_mark {
    size_t end;
    enum output_event kind;
};

enum { SINK_MAX_MARKS = 8192, SINK_MAX_BYTES = 1 << 18 };

/* What of a file was written and is not yet on its way to the disk; see write_out.c. All zero: nothing. */
struct write_out {
    size_t waiting; /* bytes */
    unsigned windows_left_alone;
};

/* So many bytes more were appended to the file. */
void write_out_note(struct write_out *out, int fd, size_t written);

/* A file or socket for lines, that knows which of them have reached it; see sink.c. */
struct sink {
    char *path; /* NULL: none */
    enum output_file_type type;
    int fd;            /* -1: it has gone, or has not come yet */
    uint64_t tried_ns; /* monotonic: when it was looked after last */
    bool cut;          /* the file ends within the line that `buffer` begins with */
    struct text buffer;
    struct sink_mark *marks;
    size_t mark_count;
    struct write_out write_out;
    struct event_counters *counters;
    _Atomic int trouble;   /* -errno of the last write or opening that failed; 0: all is well. Read by others, as... */
    _Atomic bool shut_out; /* ... it was not allowed to open the file */
};

/* 0 or -errno; of a socket nobody need listen yet. */
int sink_open(struct sink *sink, const char *path, enum output_file_type type, bool truncate,
              struct event_counters *counters);
bool sink_is_open(const struct sink *sink);
void sink_close(struct sink *sink);
/* The line since the last call is complete: an event of this kind. */
void sink_end_event(struct sink *sink, enum output_event kind);
bool sink_is_full(const struct sink *sink);
void sink_flush(struct sink *sink);
void sink_finish(struct sink *sink); /* the last flush: what does not go is lost */
void sink_reopen(struct sink *sink);
void sink_take(struct sink *sink, int fd); /* a file that somebody else has opened, its own from now on */

#endif
