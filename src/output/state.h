/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of the output, shared by output.c (ports, thread, interface) and format.c (events to lines). */
#ifndef SLUICE_OUTPUT_STATE_H
#define SLUICE_OUTPUT_STATE_H

#include <pthread.h>
#include <stdalign.h>

#include "chain_store.h"
#include "destination.h"
#include "output_priv.h"
#include "pcap_log.h"
#include "sluice/ring.h"

enum { CACHE_LINE = 64 };

struct output_port {
    alignas(CACHE_LINE) struct ring *ring;
    const struct output_options *options;
    struct replay_position position; /* position in the replay order of the records that are reserved next */
    size_t prefix; /* size of the struct replay_position in front of each record; 0: records have no order and no
                      position */
    struct record_scratch *scratch;
    struct pcap_port *pcap; /* NULL: packets are not logged */
    bool stores_chains;     /* tls-store is enabled */
    uint32_t wanted;        /* bits 1 << enum output_event */
    _Atomic uint64_t lost[OUTPUT_EVENT_COUNT];
    struct event_limits limits;
    struct event_limit chain_limit;
    _Atomic uint64_t chains_lost, chains_limited;
};

/* Ring for events of the main thread; `lost`: number of events that did not fit into the ring. */
struct event_ring {
    struct ring *ring;
    _Atomic uint64_t lost;
};

/* Event types and further outputs after a reload. */
struct output_change {
    struct output_options options; /* those of the start, with other event types and filters */
    struct destinations *destinations;
};

struct output {
    struct output_options options; /* of the start; event types and filters: eve.options, port.options, `wanted` */
    char *pcap_file_name;
    struct output_port *ports;
    unsigned port_count;
    struct event_ring stats, firewall, engine, overload;
    struct recent_alerts *recent;                /* NULL: alerts are not kept in memory */
    uint32_t wanted;                             /* kinds of events that the main thread records */
    _Atomic(struct output_change *) next_change; /* not adopted by the output thread yet; NULL: none */
    struct output_change *change;                /* the current one; NULL: as at the start */
    struct output_change *previous_change;       /* freed by output_change_end(), as `previous_destinations` */
    struct destinations *previous_destinations;
    atomic_uint generation; /* generation of the rules, for the events of the main thread */

    /* The following members, up to `counters`, are used by the output thread only. */
    struct eve eve;
    struct sink sink;
    /* The main thread also reads the counters of the set that it points to. */
    _Atomic(struct destinations *) destinations;
    struct pcap_log *pcap;      /* NULL: packets are not logged */
    struct chain_store *chains; /* NULL: certificate chains are not stored */
    struct text line;           /* buffer for an event that the event file does not get, or that is not JSON */
    struct text console;
    uint64_t flushed_ns;
    uint64_t formatted;                 /* number of records formatted so far */
    output_progress_function *progress; /* NULL: no replay order; events are written port by port */
    void *progress_user;
    struct replay_position *progress_seen; /* progress of each port, read at the beginning of the round */
    struct event_counters counters;

    pthread_t thread;
    bool started;
    int wake_fd;
    atomic_bool stop, reopen;
    /* descriptor passed to output_set_file(), which the output thread has not adopted yet; -1: none */
    atomic_int new_fd;
    /* numbers of the last round that has begun, of the last that has ended, and of the last that was flushed */
    _Atomic uint64_t rounds_begun, rounds_ended, rounds_flushed;
};

static inline bool has_sink(const struct output *output)
{
    return sink_is_open(&output->sink);
}

static inline struct destinations *output_destinations(const struct output *output)
{
    return atomic_load_explicit(&output->destinations, memory_order_acquire);
}

/* Writes the lines of all outputs (output.c). */
void output_flush(struct output *output);

/* --- format.c ------------------------------------------------------------------------------------- */

/* Each function formats the events of a record for all outputs that get them. */
void format_packet(struct output *output, const struct packet_record *record);
void format_app(struct output *output, const struct packet_record *record);
void format_flow(struct output *output, const struct flow_record *record);
void format_firewall(struct output *output, const void *record); /* struct output_firewall */
void format_engine(struct output *output, const void *record);   /* struct output_engine */
void format_overload(struct output *output, const void *record); /* struct output_overload */
void format_stats(struct output *output, const struct stats_record *record);

#endif
