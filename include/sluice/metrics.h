/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics: the counters of the daemon in the text formats of Prometheus, for `sluice metrics`.
 *
 * The metrics are made from replies of the control socket, by the table of counters (sluice/counter.h). Nothing of this
 * module runs in the engine. `sluice metrics` queries the daemon; a process without privileges (src/metrics/http)
 * answers HTTP requests, and requests each text from `sluice metrics` through a socket pair (struct metrics_request).
 *
 * Formats: Prometheus text format 0.0.4 (prometheus.io, "Exposition formats") and OpenMetrics 1.0.
 */
#ifndef SLUICE_METRICS_H
#define SLUICE_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sluice/config.h"
#include "sluice/text.h"

struct control_value;
struct counter;

enum metrics_format { METRICS_TEXT, METRICS_OPENMETRICS, METRICS_FORMATS };

/* Returns the format that the header `Accept` of a request prefers; `accept` may be NULL. */
enum metrics_format metrics_negotiate(const char *accept);
const char *metrics_content_type(enum metrics_format format);

/* --- Metrics -------------------------------------------------------------------------------------- */

/* Numbers of the process that answers HTTP requests. */
struct metrics_http_counts {
    uint64_t requests;
    uint64_t closed; /* connections closed because they took longer than metrics.timeout */
};

struct metrics_input {
    /* Replies of the commands status, stats and queues of the control socket; NULL: the daemon did not reply. */
    const struct control_value *status, *stats, *queues;
    double query_seconds;                   /* duration of these commands */
    const struct metrics_http_counts *http; /* NULL: the metrics are not for HTTP */
};

enum { METRICS_NAME_SIZE = 160 };
/* Writes the name of a counter's samples, such as "sluice_flows_total". */
void metrics_sample_name(const struct counter *counter, char out[METRICS_NAME_SIZE]);

/* Appends all metrics. `out->failed` is set when out of memory. */
void metrics_write(const struct metrics_input *input, enum metrics_format format, struct text *out);

/* --- Settings ------------------------------------------------------------------------------------- */

enum { METRICS_MAX_CLIENTS = 64, METRICS_MAX_TEXT = 16 << 20 };

struct metrics_options {
    const char *listen; /* "127.0.0.1:9931", "[::1]:9931", or the path of a Unix socket */
    bool allow_remote;  /* `listen` may be an address that other hosts can reach */
    unsigned mode;      /* permissions of the Unix socket */
    const char *group;  /* group of the Unix socket; NULL: unchanged */
    uint32_t clients;   /* maximum number of connections at the same time */
    uint32_t timeout;   /* seconds after which a connection is closed */
};
extern const struct setting metrics_settings[];

enum { METRICS_ERROR_SIZE = 256 };
/* Opens the socket of metrics.listen. Returns its descriptor, or -errno with a line in `error`. */
int metrics_listen(const struct metrics_options *options, char error[METRICS_ERROR_SIZE]);

/* --- Between the two processes ---------------------------------------------------------------------- */

/* Descriptors that the HTTP process inherits: the listening socket and its end of a socket pair (SOCK_STREAM). */
enum { METRICS_LISTEN_FD = 3, METRICS_CHANNEL_FD = 4 };
/* Name of the program; it is started from the folder of `sluice`, or from SLUICE_LIBEXECDIR. */
#define METRICS_HTTP_PROGRAM "sluice-metrics-http"

/* Requests one text. The answer is its length (uint32_t), then its bytes; length 0: out of memory. The first request of
 * the HTTP process has the format METRICS_FORMATS, which says that it is ready, and gets no answer. */
struct metrics_request {
    uint32_t format; /* enum metrics_format */
    struct metrics_http_counts counts;
};

#endif
