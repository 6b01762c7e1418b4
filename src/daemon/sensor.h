/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sensor: the rings of an engine that captures from interfaces (capture.method: af-packet), and reports about them.
 *
 * Threads: the main thread.
 */
#ifndef SLUICE_ENGINE_SENSOR_H
#define SLUICE_ENGINE_SENSOR_H

#include <stdbool.h>

#include "sluice/config.h"
#include "sluice/engine_limits.h"
#include "sluice/worker.h"

struct output;
struct sensor;
struct text;

/* Checks the interfaces, compiles the filter, and names the workers. `takes_over`: an interface may be missing, because
 * a previous engine has captured from it. Returns 0, or -errno with a line in `error`. */
int sensor_new(struct sensor **out, const struct config *config, struct worker *workers, unsigned count,
               bool takes_over, char error[ENGINE_ERROR_SIZE]);
void sensor_free(struct sensor *sensor); /* after the captures are closed; NULL is allowed */

/* Opens the rings of all workers. `output`: for events about the interfaces, until the last sensor_poll(). Returns 0,
 * or -errno with a line in `error`. */
int sensor_open(struct sensor *sensor, struct output *output, char error[ENGINE_ERROR_SIZE]);
/* Lets the rings receive packets. Returns 0, or -errno with a line in `error`. */
int sensor_start(struct sensor *sensor, char error[ENGINE_ERROR_SIZE]);
/* Logs that the sensor captures; `pinned`: from affinity_describe(). */
void sensor_log_start(const struct sensor *sensor, const char *pinned);
/* Logs interfaces that went down, disappeared, were renamed, or are back, and writes an event for each change. */
void sensor_poll(struct sensor *sensor);
/* Writes the member `interfaces` of the status. `sensor` may be NULL: no member. */
void sensor_json(const struct sensor *sensor, struct text *out);

#endif
