/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sensor.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/capture.h"
#include "sluice/clock.h"
#include "sluice/log.h"
#include "sluice/output.h"
#include "sluice/text.h"

struct watched_interface {
    struct af_packet_interface *interface;
    struct worker *workers; /* those of its rings */
    enum af_packet_state logged_state;
    int logged_error;
    uint64_t logged_losses;
    char name[IF_NAMESIZE]; /* the name that was logged last */
};

struct sensor {
    struct watched_interface *interfaces;
    unsigned count, rings; /* rings of each interface */
    struct output *output; /* borrowed */
};

static const char *const states[] = {
    [AF_PACKET_CAPTURING] = "capturing",
    [AF_PACKET_DOWN] = "down",
    [AF_PACKET_GONE] = "gone",
    [AF_PACKET_FAILED] = "failed",
};

int sensor_new(struct sensor **out, const struct config *config, struct worker *workers, unsigned count,
               bool takes_over, char error[ENGINE_ERROR_SIZE])
{
    struct sensor *sensor = calloc(1, sizeof(*sensor));
    struct af_packet_options options;
    char cause[CAPTURE_ERROR_SIZE] = "out of memory";
    int err = -ENOMEM;

    af_packet_options_read(config, &options);
    if (!sensor)
        goto fail;
    sensor->rings = options.workers;
    sensor->interfaces = calloc(count / options.workers, sizeof(*sensor->interfaces));
    if (!sensor->interfaces)
        goto fail;
    for (unsigned i = 0; i < count / options.workers; i++) {
        struct watched_interface *watched = &sensor->interfaces[i];

        err = af_packet_interface_new(&watched->interface, &options, i, takes_over, cause);
        if (err)
            goto fail;
        sensor->count++;
        watched->workers = &workers[i * options.workers];
        snprintf(watched->name, sizeof(watched->name), "%s", options.interfaces[i]);
        for (unsigned k = 0; k < options.workers; k++) {
            snprintf(watched->workers[k].label, sizeof(watched->workers[k].label), "ring %u of %s", k, watched->name);
            watched->workers[k].last_wait_ms = 2 * (int)options.block_timeout_ms;
        }
    }
    *out = sensor;
    return 0;

fail:
    snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
    sensor_free(sensor);
    return err;
}

void sensor_free(struct sensor *sensor)
{
    if (!sensor)
        return;
    for (unsigned i = 0; i < sensor->count; i++)
        af_packet_interface_free(sensor->interfaces[i].interface);
    free(sensor->interfaces);
    free(sensor);
}

int sensor_open(struct sensor *sensor, struct output *output, char error[ENGINE_ERROR_SIZE])
{
    char cause[CAPTURE_ERROR_SIZE];

    sensor->output = output;
    for (unsigned i = 0; i < sensor->count; i++) {
        struct watched_interface *watched = &sensor->interfaces[i];

        for (unsigned k = 0; k < sensor->rings; k++) {
            struct worker *worker = &watched->workers[k];
            int err = af_packet_open(&worker->capture, watched->interface, worker->queue.queue, cause);

            if (err) {
                snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
                return err;
            }
        }
    }
    return 0;
}

int sensor_start(struct sensor *sensor, char error[ENGINE_ERROR_SIZE])
{
    char cause[CAPTURE_ERROR_SIZE];

    for (unsigned i = 0; i < sensor->count * sensor->rings; i++) {
        int err = af_packet_start(sensor->interfaces[0].workers[i].capture, cause);

        if (err) {
            snprintf(error, ENGINE_ERROR_SIZE, "%s", cause);
            return err;
        }
    }
    return 0;
}

void sensor_log_start(const struct sensor *sensor, const char *pinned)
{
    for (unsigned i = 0; i < sensor->count; i++)
        log_info("capturing from %s with %u ring%s", sensor->interfaces[i].name, sensor->rings,
                 sensor->rings == 1 ? "" : "s");
    log_info("%s", pinned);
}

/* Returns the worst state of the rings of an interface, with the largest number of losses. */
static struct af_packet_status find_status(const struct sensor *sensor, const struct watched_interface *watched)
{
    struct af_packet_status worst = { .state = AF_PACKET_CAPTURING };
    uint64_t losses = 0;

    for (unsigned i = 0; i < sensor->rings; i++) {
        struct af_packet_status status;

        af_packet_status(watched->workers[i].capture, &status);
        if (i == 0 || status.state > worst.state)
            worst = status;
        losses = status.link_losses > losses ? status.link_losses : losses;
    }
    worst.link_losses = losses;
    return worst;
}

static void log_state(struct watched_interface *watched, const struct af_packet_status *status)
{
    const char *name = af_packet_interface_name(watched->interface);

    switch (status->state) {
    case AF_PACKET_CAPTURING:
        log_notice("capturing from %s again", name);
        break;
    case AF_PACKET_DOWN:
        log_warning("interface %s is down: no packets are inspected until it is up (`ip link set %s up`)", name, name);
        break;
    case AF_PACKET_GONE:
        log_warning("interface %s has disappeared (removed, or moved to another network namespace): no packets are "
                    "inspected until an interface with this name is up",
                    name);
        break;
    case AF_PACKET_FAILED:
        log_error("cannot capture from %s again: %s; retrying every half second", name, strerror(-status->error));
        break;
    }
}

static void report(const struct sensor *sensor, const struct watched_interface *watched, enum af_packet_state state)
{
    const char *name = af_packet_interface_name(watched->interface);
    struct output_engine event = {
        .time_ns = clock_realtime_ns(),
        .action = OUTPUT_ENGINE_INTERFACE,
        .state = states[state],
        .is_lost = state != AF_PACKET_CAPTURING,
    };

    snprintf(event.interface, sizeof(event.interface), "%s", name);
    if (strcmp(watched->name, name) != 0)
        snprintf(event.renamed, sizeof(event.renamed), "%s", watched->name);
    output_engine(sensor->output, &event);
}

void sensor_poll(struct sensor *sensor)
{
    for (unsigned i = 0; sensor && i < sensor->count; i++) {
        struct watched_interface *watched = &sensor->interfaces[i];
        const struct af_packet_status status = find_status(sensor, watched);
        char name[IF_NAMESIZE];

        /* The number of losses also shows a loss that has begun and ended since the last call. */
        if (status.state != watched->logged_state || status.error != watched->logged_error ||
            status.link_losses != watched->logged_losses) {
            log_state(watched, &status);
            report(sensor, watched, status.state);
        }
        watched->logged_state = status.state;
        watched->logged_error = status.error;
        watched->logged_losses = status.link_losses;
        if (status.state != AF_PACKET_CAPTURING || !if_indextoname(status.ifindex, name) ||
            strcmp(name, watched->name) == 0)
            continue;
        if (strcmp(name, af_packet_interface_name(watched->interface)) != 0)
            log_warning("interface %s was renamed to %s: capturing continues; change af-packet.interfaces, because the "
                        "next start looks for %s",
                        watched->name, name, af_packet_interface_name(watched->interface));
        snprintf(watched->name, sizeof(watched->name), "%s", name);
        report(sensor, watched, status.state);
    }
}

void sensor_json(const struct sensor *sensor, struct text *out)
{
    if (!sensor)
        return;
    json_array_open(out, "interfaces");
    for (unsigned i = 0; i < sensor->count; i++) {
        const struct watched_interface *watched = &sensor->interfaces[i];
        const struct af_packet_status worst = find_status(sensor, watched);
        uint64_t packets = 0, dropped = 0;

        for (unsigned k = 0; k < sensor->rings; k++) {
            struct af_packet_status status;

            af_packet_status(watched->workers[k].capture, &status);
            packets += status.packets;
            dropped += status.dropped;
        }
        json_object_open(out, NULL);
        json_string(out, "name", af_packet_interface_name(watched->interface));
        json_string(out, "state", states[worst.state]);
        json_uint(out, "rings", sensor->rings);
        json_uint(out, "kernel_packets", packets);
        json_uint(out, "kernel_drops", dropped);
        json_uint(out, "link_losses", worst.link_losses);
        json_object_close(out);
    }
    json_array_close(out);
}
