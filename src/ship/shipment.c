/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The thread of one spool. After an error it closes the connection and tries again, at first at once and then after a
 * delay that doubles up to MAX_DELAY_MS, and logs the error once until events are delivered again.
 */
#include "ship_priv.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sluice/log.h"

enum {
    WAIT_MS = 500,
    FIRST_DELAY_MS = 100,
    MAX_DELAY_MS = 5000,
    SLICE_MS = 50,
    GATHER_MS = 5, /* pause after a batch that was not full, so that a steady flow of events makes few batches */
};

struct shipment {
    char name[SPOOL_NAME_SIZE];
    struct spool *spool;
    const struct output_settings *settings;
    pthread_t thread;
    atomic_bool stop, orphan, ended, released;
    struct spool_event batch[SHIP_BATCH];
    uint64_t ends[SHIP_BATCH]; /* position in the spool behind each event of the batch */
};

const struct carrier_type *carrier_type_of(enum output_file_type type)
{
    switch (type) {
    case OUTPUT_FILE_UNIX_STREAM:
    case OUTPUT_FILE_UNIX_DATAGRAM:
        return &unix_carrier;
    case OUTPUT_FILE_SYSLOG:
        return &syslog_carrier;
    case OUTPUT_FILE_REDIS:
        return &redis_carrier;
    case OUTPUT_FILE_KAFKA:
        return &kafka_carrier;
    default:
        return NULL;
    }
}

/* Reads the events from `position` on. Returns how many, or -EBADMSG for a damaged spool. */
static int read_batch(struct shipment *shipment, uint64_t position)
{
    size_t bytes = 0;
    int count = 0, found;

    while (count < SHIP_BATCH && bytes < SHIP_BATCH_BYTES) {
        found = spool_read(shipment->spool, &position, &shipment->batch[count]);
        if (found < 0)
            return found;
        if (found == 0)
            break;
        bytes += shipment->batch[count].length;
        shipment->ends[count++] = position;
    }
    return count;
}

static void pause_ms(const struct shipment *shipment, unsigned delay_ms)
{
    for (unsigned waited = 0; waited < delay_ms && !atomic_load(&shipment->stop); waited += SLICE_MS) {
        unsigned ms = delay_ms - waited < SLICE_MS ? delay_ms - waited : SLICE_MS;

        nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000L }, NULL);
    }
}

static void *run(void *argument)
{
    struct shipment *shipment = argument;
    const struct carrier_type *type = carrier_type_of(shipment->settings->type);
    uint64_t position = spool_oldest(shipment->spool);
    char error[SHIP_ERROR_SIZE] = "";
    struct carrier *carrier = NULL;
    unsigned delay_ms = 0;
    bool logged = false;

    while (!atomic_load(&shipment->released) && !atomic_load(&shipment->stop))
        pause_ms(shipment, SLICE_MS);
    while (!atomic_load(&shipment->stop)) {
        struct ship_result result = { 0 };
        /* Read before the spool: if the engine has ended, the spool is complete. */
        bool orphan = atomic_load(&shipment->orphan);
        int count = read_batch(shipment, position), err = 0;

        if (count < 0) {
            log_error("output %s: the memory of the engine is damaged: its events are lost", shipment->name);
            break;
        }
        if (count == 0 && orphan)
            break;
        if (count == 0 && carrier) {
            spool_wait(shipment->spool, position, WAIT_MS);
            continue;
        }
        if (!carrier) /* connect also without events, so that `sluice status` shows whether the server can be reached */
            err = type->open(&carrier, shipment->settings, error);
        if (!err) {
            spool_set_connected(shipment->spool, true);
            if (count > 0)
                err = type->send(carrier, shipment->batch, (size_t)count, &shipment->stop, &result, error);
        }
        if (result.delivered + result.rejected > 0) {
            position = shipment->ends[result.delivered + result.rejected - 1];
            spool_release(shipment->spool, position, result.delivered, result.rejected);
            delay_ms = 0;
            if (logged && !err)
                log_notice("output %s: events are delivered again", shipment->name);
            logged &= err != 0;
        }
        if (!err) {
            if (count > 0 && count < SHIP_BATCH)
                pause_ms(shipment, GATHER_MS);
            continue;
        }
        spool_set_connected(shipment->spool, false);
        if (carrier)
            type->close(carrier);
        carrier = NULL;
        if (!logged && !atomic_load(&shipment->stop))
            log_error("output %s: %s; events wait in memory (buffer-size), and are sent when the server answers",
                      shipment->name, error);
        logged = true;
        pause_ms(shipment, delay_ms);
        delay_ms = delay_ms == 0 ? FIRST_DELAY_MS : delay_ms * 2 < MAX_DELAY_MS ? delay_ms * 2 : MAX_DELAY_MS;
    }
    if (carrier)
        type->close(carrier);
    spool_set_connected(shipment->spool, false);
    atomic_store(&shipment->ended, true);
    return NULL;
}

int shipment_start(struct shipment **out, const char *name, struct spool *spool, const struct output_settings *settings)
{
    struct shipment *shipment = calloc(1, sizeof(*shipment));
    sigset_t all, before;
    int err;

    if (!shipment) {
        spool_free(spool);
        return -ENOMEM;
    }
    strncpy(shipment->name, name, sizeof(shipment->name) - 1);
    shipment->spool = spool;
    shipment->settings = settings;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    err = pthread_create(&shipment->thread, NULL, run, shipment);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (err) {
        spool_free(spool);
        free(shipment);
        return -err;
    }
    *out = shipment;
    return 0;
}

void shipment_release(struct shipment *shipment)
{
    atomic_store(&shipment->released, true);
}

bool shipment_is_held(const struct shipment *shipment)
{
    return !atomic_load(&shipment->released);
}

void shipment_set_orphan(struct shipment *shipment)
{
    atomic_store(&shipment->orphan, true);
}

const char *shipment_name(const struct shipment *shipment)
{
    return shipment->name;
}

bool shipment_is_orphan(const struct shipment *shipment)
{
    return atomic_load(&shipment->orphan);
}

bool shipment_has_ended(const struct shipment *shipment)
{
    return atomic_load(&shipment->ended);
}

void shipment_stop(struct shipment *shipment)
{
    atomic_store(&shipment->stop, true);
}

void shipment_free(struct shipment *shipment)
{
    struct spool_counters counters;

    if (!shipment)
        return;
    shipment_stop(shipment);
    pthread_join(shipment->thread, NULL);
    spool_counters(shipment->spool, &counters);
    if (atomic_load(&shipment->orphan) && counters.written > counters.delivered + counters.rejected)
        log_error(
            "output %s: %llu events of an engine that has ended are lost, because the server did not confirm them",
            shipment->name, (unsigned long long)(counters.written - counters.delivered - counters.rejected));
    spool_free(shipment->spool);
    free(shipment);
}
