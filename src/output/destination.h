/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Further outputs: a selection of the events for a file, or for a server through a spool (destination.c).
 *
 * A reload may replace the set of outputs: destinations_prepare() makes the next set, which shares the outputs that
 * stay with the current set.
 *
 * Threads: the output thread, except for destinations_open(), destinations_prepare(), destinations_close() and
 * destinations_counters().
 */
#ifndef SLUICE_OUTPUT_DESTINATION_H
#define SLUICE_OUTPUT_DESTINATION_H

#include "sink.h"

struct spool;

struct destination {
    struct output_destination options; /* without `filter`, which belongs to the set */
    char *name;
    struct sink sink; /* regular files */
    struct event_counters written;
    struct spool *spool; /* other types; NULL for files */
    bool has_news;       /* events were written to the spool since it was published */
    _Atomic uint64_t events, lost_full, too_long;
};

struct destinations {
    struct destination *list[OUTPUT_MAX_DESTINATIONS];
    struct output_filter filters[OUTPUT_MAX_DESTINATIONS];
    size_t count;
    uint32_t eve_kinds;  /* kinds of events that outputs in EVE format get: bits 1 << enum output_event */
    bool fast, counters; /* true: at least one output has the format */
    char *ship_socket;
    int ship_fd; /* socket to sluice-ship; -1: not connected */
    uint64_t ship_tried_ns;
    atomic_bool is_shipped;
};

/* An event for the outputs of one format. */
struct destination_event {
    enum output_format format;
    enum output_event kind;
    const char *type; /* OUTPUT_APP: log_type of the protocol */
    uint8_t severity; /* OUTPUT_ALERT: priority of the rule */
    bool failed;      /* the event could not be formatted, because there was no memory: it is lost */
    const char *line; /* without a newline */
    size_t length;
};

/* Opens the files and allocates the spools. Returns 0, or -errno with a line in `error`. */
int destinations_open(struct destinations *destinations, const struct output_options *options, char error[256]);
/* Makes the set of outputs that follows `current`. Outputs without a change of their file or server stay. An output
 * that cannot be opened now is reported by `report`; the previous one of its name stays, if there is one. Returns 0 or
 * -ENOMEM; then nothing has to be closed. */
int destinations_prepare(struct destinations *next, const struct destinations *current,
                         const struct output_options *options, output_report *report, void *user);
/* Writes the lines of the outputs that are not in `next`, and moves the connection to sluice-ship. */
void destinations_move(struct destinations *next, struct destinations *current);
/* Closes the outputs that are not in `kept`; NULL: all. */
void destinations_close(struct destinations *destinations, const struct destinations *kept);
void destinations_add(struct destinations *destinations, const struct destination_event *event);
/* Writes the lines of files, publishes the events in spools, and connects to sluice-ship if necessary. */
void destinations_flush(struct destinations *destinations);
void destinations_finish(struct destinations *destinations);
void destinations_reopen(struct destinations *destinations);
bool destinations_counters(const struct destinations *destinations, size_t index,
                           struct output_destination_counters *out);
/* Whether the filter selects the event. */
bool output_filter_match(const struct output_filter *filter, enum output_event kind, const char *type,
                         uint8_t severity);

#endif
