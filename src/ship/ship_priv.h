/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sluice-ship: sends the events in spools (sluice/spool.h) to servers.
 *
 *   main.c      options, user, the socket on which engines offer spools, end
 *   shipment.c  one thread for each spool: reads events, gives them to a carrier, releases them, repeats
 *   local.c     carriers of Unix sockets and syslog
 *   redis.c     carrier of Redis and Valkey servers (hiredis)
 *   kafka.c     carrier of Kafka clusters (librdkafka)
 *
 * An event is released when the server has confirmed it. After an error the connection is opened again, and all events
 * that were not confirmed are sent again: each event arrives at least once, and more than once only if a connection
 * broke between its arrival and its confirmation.
 */
#ifndef SLUICE_SHIP_PRIV_H
#define SLUICE_SHIP_PRIV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/output.h"
#include "sluice/spool.h"
#include "sluice/text.h"

enum {
    SHIP_BATCH = 1000,          /* maximum number of events that a carrier gets at once */
    SHIP_BATCH_BYTES = 1 << 20, /* after this many bytes a batch ends */
    SHIP_ERROR_SIZE = 256,
    SHIP_TIMEOUT_MS = 5000, /* maximum time to connect to a server, and to wait for its answer */
};

/* Result of sending a batch: the first `delivered + rejected` events must not be sent again. */
struct ship_result {
    size_t delivered, rejected;
};

/* State of one carrier. All functions are called by the thread of the shipment. */
struct carrier;
struct carrier_type {
    /* Connects to the server. Returns 0, or -errno with a line in `error`. */
    int (*open)(struct carrier **out, const struct output_settings *settings, char error[SHIP_ERROR_SIZE]);
    /* Sends the events and waits until the server has confirmed them, at most about SHIP_TIMEOUT_MS. Returns 0, or
     * -errno with a line in `error` if the connection is to be closed; `out` is valid in both cases. Returns early if
     * *stop is true. */
    int (*send)(struct carrier *carrier, const struct spool_event *events, size_t count, const atomic_bool *stop,
                struct ship_result *out, char error[SHIP_ERROR_SIZE]);
    void (*close)(struct carrier *carrier);
};
/* The carrier of an output; NULL for a regular file. */
const struct carrier_type *carrier_type_of(enum output_file_type type);
extern const struct carrier_type unix_carrier, syslog_carrier, redis_carrier, kafka_carrier;

/* Writes the header of a syslog message (RFC 5424, 6.2, or RFC 3164, 4.1.1 and 4.1.2), with a blank at its end. */
struct syslog_header {
    const char *identity, *host;
    unsigned facility, level, pid;
    bool old_format;
    const char *type; /* RFC 5424: MSGID */
};
void syslog_write_header(struct text *out, const struct syslog_header *header, uint64_t time_ns);

/* --- shipment.c ----------------------------------------------------------------------------------- */

struct shipment;

/* Starts a thread that sends the events of the spool, which the shipment then owns. `settings` must be valid until
 * shipment_free(). Returns 0 or -errno. */
int shipment_start(struct shipment **out, const char *name, struct spool *spool,
                   const struct output_settings *settings);
/* shipment_start() starts a shipment held: it sends nothing until shipment_release(). The events of earlier engines for
 * the same output are sent first, because an output has one connection at a time. */
void shipment_release(struct shipment *shipment);
bool shipment_is_held(const struct shipment *shipment);
/* Records that the engine has ended: the thread then ends when all events have been sent. */
void shipment_set_orphan(struct shipment *shipment);
const char *shipment_name(const struct shipment *shipment);
bool shipment_is_orphan(const struct shipment *shipment);
bool shipment_has_ended(const struct shipment *shipment);
/* Makes the thread end after the batch that it sends now. */
void shipment_stop(struct shipment *shipment);
/* Stops and joins the thread. If the engine has ended, logs how many of its events are lost because they were not
 * confirmed. NULL is allowed. */
void shipment_free(struct shipment *shipment);

#endif
