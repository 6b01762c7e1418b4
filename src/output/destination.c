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

int destinations_open(struct destinations *destinations, const struct output_options *options, char error[256])
{
    bool has_spool = false;
    int err = 0;

    *destinations = (struct destinations){ .ship_fd = -1 };
    if (options->destination_count == 0)
        return 0;
    destinations->list = calloc(options->destination_count, sizeof(*destinations->list));
    for (size_t i = 0; destinations->list && !err && i < options->destination_count; i++) {
        struct destination *destination = &destinations->list[destinations->count++];

        destination->options = options->destinations[i];
        destination->sink.fd = -1;
        destination->name = strdup(destination->options.name);
        if (!destination->name)
            err = -ENOMEM;
        else if (destination->options.type == OUTPUT_FILE_REGULAR)
            err = sink_open(&destination->sink, destination->options.path, OUTPUT_FILE_REGULAR, options->eve_truncate,
                            &destination->written);
        else
            err = spool_new(&destination->spool, destination->options.buffer_size);
        if (!err && !destination->spool)
            sink_set_rotation(&destination->sink, &destination->options.rotation);
        if (err)
            snprintf(error, 256, "cannot open output %.63s%s%.100s: %s", destination->options.name,
                     destination->options.path ? ", file " : "",
                     destination->options.path ? destination->options.path : "", strerror(-err));
        has_spool |= destination->spool != NULL;
        if (destination->options.format == OUTPUT_EVE)
            destinations->eve_kinds |= destination->options.filter.kinds;
        destinations->fast |= destination->options.format == OUTPUT_FAST;
        destinations->counters |= destination->options.format == OUTPUT_COUNTERS;
    }
    if (has_spool && !err)
        destinations->ship_socket = strdup(options->ship_socket);
    if (!destinations->list || (has_spool && !err && !destinations->ship_socket)) {
        err = -ENOMEM;
        snprintf(error, 256, "cannot open outputs: %s", strerror(ENOMEM));
    }
    return err;
}

void destinations_close(struct destinations *destinations)
{
    for (size_t i = 0; i < destinations->count; i++) {
        sink_close(&destinations->list[i].sink);
        spool_free(destinations->list[i].spool);
        free(destinations->list[i].name);
    }
    free(destinations->list);
    free(destinations->ship_socket);
    if (destinations->ship_fd >= 0)
        close(destinations->ship_fd);
    *destinations = (struct destinations){ .ship_fd = -1 };
}

void destinations_add(struct destinations *destinations, const struct destination_event *event)
{
    const struct spool_event copy = { .bytes = event->line,
                                      .length = (uint32_t)event->length,
                                      .kind = (uint8_t)event->kind,
                                      .severity = event->severity };

    for (size_t i = 0; i < destinations->count; i++) {
        struct destination *destination = &destinations->list[i];
        enum spool_result result;

        if (destination->options.format != event->format ||
            !output_filter_match(&destination->options.filter, event->kind, event->type, event->severity))
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
        if (destinations->list[i].spool)
            err = spool_send(fd, destinations->list[i].name, destinations->list[i].spool);
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
        struct destination *destination = &destinations->list[i];

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
        if (!destinations->list[i].spool)
            sink_finish(&destinations->list[i].sink);
}

void destinations_reopen(struct destinations *destinations)
{
    for (size_t i = 0; i < destinations->count; i++)
        if (!destinations->list[i].spool)
            sink_reopen(&destinations->list[i].sink);
}

bool destinations_counters(const struct destinations *destinations, size_t index,
                           struct output_destination_counters *out)
{
    const struct destination *destination = &destinations->list[index];
    struct spool_counters spool;

    if (index >= destinations->count)
        return false;
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
