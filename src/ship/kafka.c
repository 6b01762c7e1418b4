/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kafka clusters, through librdkafka. A batch is produced without copies: the events stay in the spool until librdkafka
 * has reported the delivery of each of them. The memory of librdkafka is therefore bounded by a batch.
 *
 * An event that the cluster refuses because it is too long is rejected; any other error, also of an unknown topic, ends
 * the batch, and the events that were not delivered are sent again.
 */
#include "ship_priv.h"

#include <errno.h>
#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/clock.h"

enum { POLL_MS = 100 };

enum delivery { PENDING, DELIVERED, REJECTED, FAILED };

struct carrier {
    rd_kafka_t *producer;
    const struct output_settings *settings;
    struct text text[SHIP_BATCH]; /* events with their prefix */
    enum delivery state[SHIP_BATCH];
    size_t pending;
    rd_kafka_resp_err_t failure; /* the first error of the batch */
};

static int fail(char error[SHIP_ERROR_SIZE], const struct output_settings *settings, const char *what)
{
    snprintf(error, SHIP_ERROR_SIZE, "Kafka cluster %.80s, topic %.60s: %.100s",
             settings->kafka.brokers[0] ? settings->kafka.brokers[0] : "", settings->kafka.topic, what);
    return -EIO;
}

/* Called by rd_kafka_poll() for each message: the message's opaque pointer points to its element of `state`. */
static void note_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *opaque)
{
    struct carrier *carrier = opaque;
    enum delivery *state = message->_private;

    (void)producer;
    carrier->pending--;
    *state = !message->err ? DELIVERED : message->err == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ? REJECTED : FAILED;
    if (*state == FAILED && carrier->failure == RD_KAFKA_RESP_ERR_NO_ERROR)
        carrier->failure = message->err;
}

/* librdkafka would write its log lines to stderr in its own format. Errors of messages are reported by note_delivery.
 */
static void ignore_log(const rd_kafka_t *producer, int level, const char *facility, const char *line)
{
    (void)producer;
    (void)level;
    (void)facility;
    (void)line;
}

static void close_kafka(struct carrier *carrier)
{
    if (carrier->producer) {
        rd_kafka_purge(carrier->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
        rd_kafka_flush(carrier->producer, SHIP_TIMEOUT_MS);
        rd_kafka_destroy(carrier->producer);
    }
    for (size_t i = 0; i < SHIP_BATCH; i++)
        text_clear(&carrier->text[i]);
    free(carrier);
}

/* Sets a property. Returns 0, or -EINVAL with the reason of librdkafka in `error`. */
static int set(rd_kafka_conf_t *configuration, const struct output_settings *settings, const char *name,
               const char *value, char error[SHIP_ERROR_SIZE])
{
    char why[SHIP_ERROR_SIZE];

    if (rd_kafka_conf_set(configuration, name, value, why, sizeof(why)) == RD_KAFKA_CONF_OK)
        return 0;
    fail(error, settings, why);
    return -EINVAL;
}

static int open_kafka(struct carrier **out, const struct output_settings *settings, char error[SHIP_ERROR_SIZE])
{
    /* A batch ends when its last message is delivered, so librdkafka must not wait long for further messages
     * (linger.ms). */
    static const char *const fixed[][2] = { { "client.id", "sluice" },
                                            { "linger.ms", "5" },
                                            { "message.timeout.ms", "10000" },
                                            { "queue.buffering.max.messages", "2000" },
                                            { "compression.type", "lz4" } };
    struct carrier *carrier = calloc(1, sizeof(*carrier));
    rd_kafka_conf_t *configuration = rd_kafka_conf_new();
    const struct rd_kafka_metadata *metadata;
    char why[SHIP_ERROR_SIZE];
    struct text brokers;
    int err = 0;

    text_init(&brokers);
    for (const char *const *broker = settings->kafka.brokers; *broker; broker++)
        text_printf(&brokers, "%s%s", broker == settings->kafka.brokers ? "" : ",", *broker);
    if (!carrier || !configuration || brokers.failed || !brokers.bytes)
        err = fail(error, settings, strerror(ENOMEM));
    for (size_t i = 0; !err && i < sizeof(fixed) / sizeof(fixed[0]); i++)
        err = set(configuration, settings, fixed[i][0], fixed[i][1], error);
    if (!err)
        err = set(configuration, settings, "bootstrap.servers", brokers.bytes, error);
    text_clear(&brokers);
    for (const char *const *property = settings->kafka.properties; *property && !err; property++) {
        char name[SHIP_ERROR_SIZE];
        const char *equals = strchr(*property, '=');

        snprintf(name, sizeof(name), "%.*s", (int)(equals - *property), *property);
        err = set(configuration, settings, name, equals + 1, error);
    }
    if (!err) {
        carrier->settings = settings;
        rd_kafka_conf_set_opaque(configuration, carrier);
        rd_kafka_conf_set_dr_msg_cb(configuration, note_delivery);
        rd_kafka_conf_set_log_cb(configuration, ignore_log);
        carrier->producer = rd_kafka_new(RD_KAFKA_PRODUCER, configuration, why, sizeof(why));
        if (carrier->producer)
            configuration = NULL; /* the producer owns it */
        else
            err = fail(error, settings, why);
    }
    if (configuration)
        rd_kafka_conf_destroy(configuration);
    if (!err) {
        rd_kafka_resp_err_t failed = rd_kafka_metadata(carrier->producer, 0, NULL, &metadata, SHIP_TIMEOUT_MS);

        if (failed == RD_KAFKA_RESP_ERR_NO_ERROR)
            rd_kafka_metadata_destroy(metadata);
        else
            err = fail(error, settings, rd_kafka_err2str(failed));
    }
    if (err && carrier)
        close_kafka(carrier);
    if (err)
        return err;
    *out = carrier;
    return 0;
}

static int send_to_kafka(struct carrier *carrier, const struct spool_event *events, size_t count,
                         const atomic_bool *stop, struct ship_result *out, char error[SHIP_ERROR_SIZE])
{
    const struct output_settings *settings = carrier->settings;
    size_t done = 0;

    *out = (struct ship_result){ 0 };
    carrier->failure = RD_KAFKA_RESP_ERR_NO_ERROR;
    carrier->pending = 0;
    for (size_t i = 0; i < count; i++) {
        const void *bytes = events[i].bytes;
        size_t length = events[i].length;
        rd_kafka_resp_err_t failed;

        if (settings->prefix) {
            text_reset(&carrier->text[i]);
            text_puts(&carrier->text[i], settings->prefix);
            text_append(&carrier->text[i], events[i].bytes, events[i].length);
            if (carrier->text[i].failed)
                return fail(error, settings, strerror(ENOMEM));
            bytes = carrier->text[i].bytes;
            length = carrier->text[i].length;
        }
        carrier->state[i] = PENDING;
        failed = rd_kafka_producev(carrier->producer, RD_KAFKA_V_TOPIC(settings->kafka.topic),
                                   RD_KAFKA_V_VALUE((void *)bytes, length), RD_KAFKA_V_OPAQUE(&carrier->state[i]),
                                   RD_KAFKA_V_END);
        if (failed == RD_KAFKA_RESP_ERR_NO_ERROR) {
            carrier->pending++;
            continue;
        }
        carrier->state[i] = failed == RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE ? REJECTED : FAILED;
        if (carrier->state[i] == FAILED && carrier->failure == RD_KAFKA_RESP_ERR_NO_ERROR)
            carrier->failure = failed;
    }
    while (carrier->pending > 0 && !atomic_load(stop)) /* each message is reported within message.timeout.ms */
        rd_kafka_poll(carrier->producer, POLL_MS);
    /* The results count from the first event, so delivered events behind a failed one are sent again. */
    for (; done < count && (carrier->state[done] == DELIVERED || carrier->state[done] == REJECTED); done++) {
        out->delivered += carrier->state[done] == DELIVERED;
        out->rejected += carrier->state[done] == REJECTED;
    }
    if (done == count)
        return 0;
    return fail(error, settings,
                carrier->failure == RD_KAFKA_RESP_ERR_NO_ERROR ? "stopped" : rd_kafka_err2str(carrier->failure));
}

const struct carrier_type kafka_carrier = { .open = open_kafka, .send = send_to_kafka, .close = close_kafka };
