/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Further outputs (outputs.NAME). A regular file is written by the output thread, like the event file. All others need
 * servers, which may be slow or down, and libraries that parse what servers send. sluice-ship, a process of its own,
 * talks to them: the engine copies the events to a spool (sluice/spool.h), which never waits; if the spool is full, the
 * event is lost and counted. sluice-ship listens on a Unix socket. The output thread connects to it and sends it the
 * memory of each spool; when the connection closes because sluice-ship has ended, the thread connects again once a
 * second, and the next sluice-ship continues with the first event that was not confirmed.
 *
 * sluice-ship runs apart from the daemon for three reasons: neither the daemon nor its engine needs Internet sockets
 * (RestrictAddressFamilies= of the unit); the passwords and keys of servers, and the libraries, are in no process that
 * inspects packets; and it continues to deliver the events of an engine that has ended.
 */
#include "destination.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "output_priv.h"
#include "sluice/clock.h"
#include "sluice/spool.h"

enum { CONNECT_SECONDS = 1 };

bool output_filter_match(const struct output_filter *filter, enum output_event kind, const char *type, uint8_t severity)
{
    if (!(filter->kinds & 1u << kind))
        return false;
    if (kind == OUTPUT_ALERT)
        return severity <= filter->severity;
    if (kind != OUTPUT_APP)
        return true;
    for (size_t i = 0; i < app_list_count; i++)
        if (app_list[i]->log_type == type) /* records have this pointer, not a copy of the text */
            return filter->app[i];
    return false;
}

static void destination_free(struct destination *destination)
{
    if (!destination)
        return;
    if (destination->options.type == OUTPUT_FILE_REGULAR)
        sink_close(&destination->sink);
    spool_free(destination->spool);
    free(destination->name);
    free(destination);
}

/* Opens the file, or allocates the spool. Returns 0 or -errno. */
static int destination_new(struct destination **out, const struct output_destination *options, bool truncate)
{
    struct destination *destination = calloc(1, sizeof(*destination));
    int err;

    if (!destination)
        return -ENOMEM;
    destination->options = *options;
    destination->options.path = NULL; /* the sink has a copy */
    destination->sink.fd = -1;
    destination->name = strdup(options->name);
    if (!destination->name)
        err = -ENOMEM;
    else if (options->type == OUTPUT_FILE_REGULAR)
        err = sink_open(&destination->sink, options->path, OUTPUT_FILE_REGULAR, truncate, &destination->written);
    else
        err = spool_new(&destination->spool, options->buffer_size);
    if (err) {
        destination_free(destination);
        return err;
    }
    destination->options.name = destination->name;
    if (options->type == OUTPUT_FILE_REGULAR)
        sink_set_rotation(&destination->sink, &options->rotation);
    *out = destination;
    return 0;
}

/* Adds an output to the set. */
static void add_destination(struct destinations *destinations, struct destination *destination,
                            const struct output_filter *filter)
{
    size_t at = destinations->count++;

    destinations->list[at] = destination;
    destinations->filters[at] = *filter;
    if (destination->options.format == OUTPUT_EVE)
        destinations->eve_kinds |= filter->kinds;
    destinations->fast |= destination->options.format == OUTPUT_FAST && filter->kinds != 0;
    destinations->counters |= destination->options.format == OUTPUT_COUNTERS && filter->kinds != 0;
}

int destinations_open(struct destinations *destinations, const struct output_options *options, char error[256])
{
    bool has_spool = false;
    int err = 0;

    *destinations = (struct destinations){ .ship_fd = -1 };
    for (size_t i = 0; !err && i < options->destination_count; i++) {
        const struct output_destination *wanted = &options->destinations[i];
        struct destination *destination = NULL;

        err = destination_new(&destination, wanted, options->eve_truncate);
        if (err) {
            snprintf(error, 256, "cannot open output %.63s%s%.100s: %s", wanted->name, wanted->path ? ", file " : "",
                     wanted->path ? wanted->path : "", strerror(-err));
            return err;
        }
        has_spool |= destination->spool != NULL;
        add_destination(destinations, destination, &wanted->filter);
    }
    if (has_spool && !(destinations->ship_socket = strdup(options->ship_socket))) {
        snprintf(error, 256, "cannot open outputs: %s", strerror(ENOMEM));
        return -ENOMEM;
    }
    return 0;
}

/* --- Reload --------------------------------------------------------------------------------------- */

static struct destination *find_destination(const struct destinations *destinations, const char *name)
{
    for (size_t i = 0; i < destinations->count; i++)
        if (strcmp(destinations->list[i]->name, name) == 0)
            return destinations->list[i];
    return NULL;
}

/* Whether the file or server of the output is the same, so that only its events may have changed. */
static bool is_same(const struct destination *destination, const struct output_destination *options)
{
    const struct output_rotation *a = &destination->options.rotation, *b = &options->rotation;

    if (destination->options.type != options->type || destination->options.format != options->format)
        return false;
    if (options->type != OUTPUT_FILE_REGULAR)
        return destination->options.buffer_size == options->buffer_size;
    return strcmp(destination->sink.path, options->path) == 0 && a->interval_seconds == b->interval_seconds &&
           a->max_size == b->max_size && a->max_files == b->max_files;
}

int destinations_prepare(struct destinations *next, const struct destinations *current,
                         const struct output_options *options, output_report *report, void *user)
{
    const struct output_filter nothing = { .kinds = 0 };
    char text[256];

    *next = (struct destinations){ .ship_fd = -1 };
    for (size_t i = 0; i < options->destination_count; i++) {
        const struct output_destination *wanted = &options->destinations[i];
        struct destination *before = find_destination(current, wanted->name), *destination = before;
        const bool is_file = wanted->type == OUTPUT_FILE_REGULAR && (!before || !before->spool);
        int err = 0;

        if ((!before || !is_same(before, wanted)) && is_file)
            err = destination_new(&destination, wanted, false);
        if (err == -ENOMEM) {
            destinations_close(next, current);
            return err;
        }
        if (err) {
            snprintf(text, sizeof(text), "cannot open its file %.100s: %s", wanted->path, strerror(-err));
            report(user, wanted->name, text);
            destination = before;
        } else if ((!before || !is_same(before, wanted)) && !is_file) {
            report(user, wanted->name, "the buffer for sluice-ship is not changed by a reload");
        }
        if (destination)
            add_destination(next, destination, &wanted->filter);
    }
    /* The buffer of a removed output stays until its events are delivered; it gets no more events. */
    for (size_t i = 0; i < current->count && next->count < OUTPUT_MAX_DESTINATIONS; i++)
        if (current->list[i]->spool && !find_destination(next, current->list[i]->name))
            add_destination(next, current->list[i], &nothing);
    return 0;
}

static bool has_destination(const struct destinations *destinations, const struct destination *destination)
{
    for (size_t i = 0; destinations && i < destinations->count; i++)
        if (destinations->list[i] == destination)
            return true;
    return false;
}

void destinations_move(struct destinations *next, struct destinations *current)
{
    for (size_t i = 0; i < current->count; i++)
        if (!current->list[i]->spool && !has_destination(next, current->list[i]))
            sink_finish(&current->list[i]->sink);
    next->ship_socket = current->ship_socket;
    next->ship_fd = current->ship_fd;
    next->ship_tried_ns = current->ship_tried_ns;
    atomic_store_explicit(&next->is_shipped, atomic_load_explicit(&current->is_shipped, memory_order_relaxed),
                          memory_order_relaxed);
    current->ship_socket = NULL;
    current->ship_fd = -1;
}

void destinations_close(struct destinations *destinations, const struct destinations *kept)
{
    for (size_t i = 0; i < destinations->count; i++)
        if (!has_destination(kept, destinations->list[i]))
            destination_free(destinations->list[i]);
    free(destinations->ship_socket);
    if (destinations->ship_fd >= 0)
        close(destinations->ship_fd);
    *destinations = (struct destinations){ .ship_fd = -1 };
}

/* --- Events --------------------------------------------------------------------------------------- */

void destinations_add(struct destinations *destinations, const struct destination_event *event)
{
    const struct spool_event copy = { .bytes = event->line,
                                      .length = (uint32_t)event->length,
                                      .kind = (uint8_t)event->kind,
                                      .severity = event->severity };

    for (size_t i = 0; i < destinations->count; i++) {
        struct destination *destination = destinations->list[i];
        enum spool_result result;

        if (destination->options.format != event->format ||
            !output_filter_match(&destinations->filters[i], event->kind, event->type, event->severity))
            continue;
        counter_add(&destination->events, 1);
        if (event->failed) {
            counter_add(&destination->written.lost[event->kind], 1);
            continue;
        }
        if (!destination->spool) {
            text_append(&destination->sink.buffer, event->line, event->length);
            sink_end_event(&destination->sink, event->kind);
            if (sink_is_full(&destination->sink))
                sink_flush(&destination->sink);
            continue;
        }
        result = event->length > SPOOL_MAX_SIZE ? SPOOL_TOO_LONG : spool_write(destination->spool, &copy);
        if (result == SPOOL_FULL) {
            /* The events since the last publication may be what fills the spool: let the reader begin. */
            spool_publish(destination->spool);
            counter_add(&destination->lost_full, 1);
        } else if (result == SPOOL_TOO_LONG) {
            counter_add(&destination->too_long, 1);
        }
        destination->has_news |= result == SPOOL_WRITTEN;
    }
}

/* Connects to sluice-ship and sends it the spools. Returns whether that succeeded. */
static bool connect_ship(struct destinations *destinations)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    int fd, err = 0;

    if (strlen(destinations->ship_socket) >= sizeof(address.sun_path))
        return false;
    strcpy(address.sun_path, destinations->ship_socket);
    fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return false;
    if (connect(fd, (const struct sockaddr *)&address, sizeof(address)))
        err = -errno;
    for (size_t i = 0; !err && i < destinations->count; i++)
        if (destinations->list[i]->spool)
            err = spool_send(fd, destinations->list[i]->name, destinations->list[i]->spool);
    if (err) {
        close(fd);
        return false;
    }
    destinations->ship_fd = fd;
    return true;
}

void destinations_flush(struct destinations *destinations)
{
    uint64_t now_ns;
    char byte;

    for (size_t i = 0; i < destinations->count; i++) {
        struct destination *destination = destinations->list[i];

        if (!destination->spool)
            sink_flush(&destination->sink);
        else if (destination->has_news)
            spool_publish(destination->spool);
        destination->has_news = false;
    }
    if (!destinations->ship_socket)
        return;
    now_ns = clock_monotonic_ns();
    if (destinations->ship_tried_ns != 0 && now_ns - destinations->ship_tried_ns < CONNECT_SECONDS * NS_PER_SECOND)
        return;
    destinations->ship_tried_ns = now_ns;
    if (destinations->ship_fd >= 0 && recv(destinations->ship_fd, &byte, 1, MSG_DONTWAIT) == 0) {
        close(destinations->ship_fd);
        destinations->ship_fd = -1;
    }
    atomic_store_explicit(&destinations->is_shipped, destinations->ship_fd >= 0 || connect_ship(destinations),
                          memory_order_relaxed);
}

void destinations_finish(struct destinations *destinations)
{
    destinations_flush(destinations);
    for (size_t i = 0; i < destinations->count; i++)
        if (!destinations->list[i]->spool)
            sink_finish(&destinations->list[i]->sink);
}

void destinations_reopen(struct destinations *destinations)
{
    for (size_t i = 0; i < destinations->count; i++)
        if (!destinations->list[i]->spool)
            sink_reopen(&destinations->list[i]->sink);
}

bool destinations_counters(const struct destinations *destinations, size_t index,
                           struct output_destination_counters *out)
{
    const struct destination *destination;
    struct spool_counters spool;

    if (index >= destinations->count)
        return false;
    destination = destinations->list[index];
    *out = (struct output_destination_counters){
        .name = destination->name,
        .type = destination->options.type,
        .events = atomic_load_explicit(&destination->events, memory_order_relaxed),
        .lost_full = atomic_load_explicit(&destination->lost_full, memory_order_relaxed),
        .rejected = atomic_load_explicit(&destination->too_long, memory_order_relaxed),
    };
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        out->lost_error += atomic_load_explicit(&destination->written.lost[kind], memory_order_relaxed);
    if (destination->spool) {
        spool_counters(destination->spool, &spool);
        out->delivered = spool.delivered;
        out->rejected += spool.rejected;
        out->waiting = spool.written - spool.delivered - spool.rejected;
        out->connects = spool.connects;
        out->connected = spool.connected;
        out->is_shipped = atomic_load_explicit(&destinations->is_shipped, memory_order_relaxed);
        return true;
    }
    for (int kind = 0; kind < OUTPUT_EVENT_COUNT; kind++)
        out->delivered += atomic_load_explicit(&destination->written.written[kind], memory_order_relaxed);
    out->error = atomic_load_explicit(&destination->sink.error, memory_order_relaxed);
    out->connected = out->error == 0;
    return true;
}
