/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes metrics. The counters of the reply to `stats` are flattened to a list of samples, each with its row of the
 * table of counters. Samples of one metric must be adjacent, so they are written in the order of the table: for the
 * first row of a metric its header, then the samples of all its rows.
 *
 * A metric has the unit of its counters; times are converted to seconds. A counter that has no row is exported as
 * sluice_unlisted, because a daemon of a newer version may have it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/array.h"
#include "sluice/control.h"
#include "sluice/counter.h"
#include "sluice/metrics.h"

enum { NAME_SIZE = 256, MAX_DEPTH = 8, MAX_SAMPLES = 1 << 16 };

struct sample {
    const struct counter *row; /* NULL: not in the table */
    char *name;                /* allocated */
    int64_t value;
};

struct writer {
    const struct metrics_input *input;
    bool openmetrics;
    struct text *out;
    struct sample *samples;
    size_t count, capacity;
    char name[NAME_SIZE]; /* name of the current member of the reply */
    unsigned depth;
};

/* --- Samples of counters -------------------------------------------------------------------------- */

static void add_member(const char *key, const struct control_value *value, void *user)
{
    struct writer *writer = user;
    size_t length = strlen(writer->name);
    int64_t number;

    snprintf(writer->name + length, sizeof(writer->name) - length, "%s%s", length > 0 ? "." : "", key);
    if (control_value_is_array(value))
        value = control_value_item(value, 0);
    if (control_value_is_object(value) && writer->depth < MAX_DEPTH) {
        writer->depth++;
        control_value_each(value, add_member, writer);
        writer->depth--;
    } else if (control_value_number(value, &number) && writer->count < MAX_SAMPLES) {
        char *name = strdup(writer->name);

        if (name && array_grow(&writer->samples, writer->count, &writer->capacity, sizeof(*writer->samples)) == 0)
            writer->samples[writer->count++] = (struct sample){ counter_find(name), name, number };
        else
            writer->out->failed = true;
    }
    writer->name[length] = '\0';
}

/* --- Metrics -------------------------------------------------------------------------------------- */

/* Returns the unit of the metric. Sets *factor to the factor that converts a value in the counter's unit to it. */
static const char *base_unit(const char *unit, double *factor)
{
    static const struct {
        const char *unit;
        double factor;
    } seconds[] = { { "s", 1 }, { "ms", 1e-3 }, { "us", 1e-6 } };

    for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
        if (strcmp(unit, seconds[i].unit) == 0) {
            *factor = seconds[i].factor;
            return "seconds";
        }
    }
    *factor = 1;
    return unit;
}

static bool only_increases(const struct counter *row)
{
    return row->kind == COUNTER_TOTAL || row->kind == COUNTER_OUTSIDE;
}

/* Writes the name of the metric; its samples have the same name, followed by _total if the counter only increases. */
static void metric_name(const struct counter *row, char out[METRICS_NAME_SIZE])
{
    double factor;
    const char *unit = base_unit(row->unit, &factor);

    snprintf(out, METRICS_NAME_SIZE, "sluice%s%s%s%s", *row->metric ? "_" : "", row->metric, *unit ? "_" : "", unit);
}

void metrics_sample_name(const struct counter *counter, char out[METRICS_NAME_SIZE])
{
    size_t length;

    metric_name(counter, out);
    length = strlen(out);
    snprintf(out + length, METRICS_NAME_SIZE - length, "%s", only_increases(counter) ? "_total" : "");
}

static bool same_metric(const struct counter *a, const struct counter *b)
{
    double factor;

    return strcmp(a->metric, b->metric) == 0 && strcmp(base_unit(a->unit, &factor), base_unit(b->unit, &factor)) == 0;
}

static const char *help_of(const struct counter *row)
{
    double factor;

    for (const struct counter_family *family = counter_families; family->metric; family++) {
        if (strcmp(family->metric, row->metric) == 0 && strcmp(family->unit, base_unit(row->unit, &factor)) == 0)
            return family->help;
    }
    return row->help;
}

/* Writes the header of a metric; `unit` is "" for none. In the text format 0.0.4 the name of a counter's metric ends in
 * _total, and there are no units. */
static void write_header(struct writer *writer, const char *name, bool total, const char *unit, const char *help)
{
    const char *end = total && !writer->openmetrics ? "_total" : "";

    text_printf(writer->out, "# HELP %s%s %s.\n# TYPE %s%s %s\n", name, end, help, name, end,
                total ? "counter" : "gauge");
    if (writer->openmetrics && *unit)
        text_printf(writer->out, "# UNIT %s %s\n", name, unit);
}

static void write_escaped(struct text *out, const char *value, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (value[i] == '\n') {
            text_puts(out, "\\n");
            continue;
        }
        if (value[i] == '"' || value[i] == '\\')
            text_append(out, "\\", 1);
        text_append(out, value + i, 1);
    }
}

static void write_label(struct text *out, bool *first, struct span name, const char *value, size_t length)
{
    text_printf(out, "%s" SPAN_FORMAT "=\"", *first ? "{" : ",", SPAN_ARGS(name));
    write_escaped(out, value, length);
    text_append(out, "\"", 1);
    *first = false;
}

/* Returns the index of the worker that reads the queue whose number is in `queue`, or -1. */
static int64_t worker_of(const struct control_value *queues, struct span queue)
{
    uint64_t wanted;

    if (!span_to_uint(queue, 0, UINT16_MAX, &wanted))
        return -1;
    for (size_t i = 0; i < control_value_count(queues); i++) {
        const struct control_value *item = control_value_item(queues, i);
        int64_t number, worker;

        if (control_value_number(control_value_member(item, "queue"), &number) && number == (int64_t)wanted &&
            control_value_number(control_value_member(item, "worker"), &worker))
            return worker;
    }
    return -1;
}

static void write_labels(const struct writer *writer, const struct sample *sample)
{
    const char *parts[COUNTER_LABELS] = { NULL };
    size_t lengths[COUNTER_LABELS] = { 0 }, part = 0;
    struct span rest = span_of(sample->row->labels), label;
    bool first = true;

    counter_match(sample->row->name, sample->name, parts, lengths);
    while (span_next(&rest, ' ', &label)) {
        struct span value = label, name;

        span_next(&value, '=', &name);
        if (value.at) {
            write_label(writer->out, &first, name, value.at, value.length);
            continue;
        }
        if (label.length == 0 || part == COUNTER_LABELS || !parts[part])
            continue;

        /* A name that is repeated joins adjacent parts. */
        const char *at = parts[part];
        size_t length = lengths[part++];
        struct span after = rest, next;

        while (span_next(&after, ' ', &next) && next.length == label.length &&
               memcmp(next.at, label.at, next.length) == 0 && part < COUNTER_LABELS && parts[part]) {
            length = (size_t)(parts[part] + lengths[part] - at);
            part++;
            rest = after;
        }
        write_label(writer->out, &first, label, at, length);
        if (span_equal(label, "queue")) {
            int64_t worker = worker_of(writer->input->queues, (struct span){ at, length });
            char number[24];

            snprintf(number, sizeof(number), "%" PRId64, worker);
            if (worker >= 0)
                write_label(writer->out, &first, span_of("worker"), number, strlen(number));
        }
    }
    if (!first)
        text_append(writer->out, "}", 1);
}

/* Writes the metric that `row` is the first row of, with the samples of all its rows. */
static void write_metric(struct writer *writer, const struct counter *row)
{
    bool total = only_increases(row), has_header = false;
    double factor;
    const char *unit = base_unit(row->unit, &factor);
    char name[METRICS_NAME_SIZE];

    metric_name(row, name);
    for (size_t i = 0; i < writer->count; i++) {
        const struct sample *sample = &writer->samples[i];

        if (!sample->row || !same_metric(sample->row, row))
            continue;
        if (!has_header)
            write_header(writer, name, total, unit, help_of(row));
        has_header = true;
        text_printf(writer->out, "%s%s", name, total ? "_total" : "");
        write_labels(writer, sample);
        base_unit(sample->row->unit, &factor);
        if (factor == 1)
            text_printf(writer->out, " %" PRId64 "\n", sample->value);
        else
            text_printf(writer->out, " %.9g\n", (double)sample->value * factor);
    }
}

static void write_counters(struct writer *writer)
{
    bool has_header = false;

    for (const struct counter *row = counter_table; row->name; row++) {
        const struct counter *before = counter_table;

        while (before != row && !same_metric(before, row))
            before++;
        if (before == row)
            write_metric(writer, row);
    }
    for (size_t i = 0; i < writer->count; i++) {
        if (writer->samples[i].row)
            continue;
        if (!has_header)
            text_printf(writer->out,
                        "# HELP sluice_unlisted Counters that this version of the program does not know.\n"
                        "# TYPE sluice_unlisted %s\n",
                        writer->openmetrics ? "unknown" : "untyped");
        has_header = true;
        text_puts(writer->out, "sluice_unlisted{counter=\"");
        write_escaped(writer->out, writer->samples[i].name, strlen(writer->samples[i].name));
        text_printf(writer->out, "\"} %" PRId64 "\n", writer->samples[i].value);
    }
}

/* --- State ---------------------------------------------------------------------------------------- */

static void write_state(struct writer *writer)
{
    const struct control_value *status = writer->input->status;
    const struct control_value *queues = control_value_member(control_value_member(status, "ips"), "queues");
    const char *version = control_value_string(control_value_member(status, "version"));

    write_header(writer, "sluice_up", false, "", "1 if the daemon answered the queries for these metrics, otherwise 0");
    text_printf(writer->out, "sluice_up %d\n", status && writer->input->stats ? 1 : 0);
    write_header(writer, "sluice_query_seconds", false, "seconds", "Time that the daemon took to answer these queries");
    text_printf(writer->out, "sluice_query_seconds %.6f\n", writer->input->query_seconds);
    if (writer->input->http) {
        write_header(writer, "sluice_metrics_requests", true, "requests", "HTTP requests for metrics");
        text_printf(writer->out, "sluice_metrics_requests_total %" PRIu64 "\n", writer->input->http->requests);
        write_header(writer, "sluice_metrics_closed_connections", true, "connections",
                     "Connections closed because they took longer than metrics.timeout");
        text_printf(writer->out, "sluice_metrics_closed_connections_total %" PRIu64 "\n", writer->input->http->closed);
    }
    if (!status)
        return;
    write_header(writer, "sluice_build_info", false, "", "Version of the daemon; the value is always 1");
    text_puts(writer->out, "sluice_build_info{version=\"");
    write_escaped(writer->out, version ? version : "", version ? strlen(version) : 0);
    text_puts(writer->out, "\"} 1\n");
    write_header(writer, "sluice_workers_answer", false, "", "1 if all workers answer queries, 0 if one is hung");
    text_printf(writer->out, "sluice_workers_answer %d\n",
                control_value_bool(control_value_member(status, "workers_answer")));
    write_header(writer, "sluice_alert_only", false, "", "1 if the mode of the queue is alert-only, 0 if it is drop");
    for (size_t i = 0; i < control_value_count(queues); i++) {
        const struct control_value *queue = control_value_item(queues, i);
        const char *mode = control_value_string(control_value_member(queue, "mode"));
        int64_t number = 0;

        control_value_number(control_value_member(queue, "queue"), &number);
        text_printf(writer->out, "sluice_alert_only{queue=\"%" PRId64 "\"} %d\n", number,
                    mode && strcmp(mode, "alert-only") == 0);
    }
}

void metrics_write(const struct metrics_input *input, enum metrics_format format, struct text *out)
{
    struct writer writer = { .input = input, .openmetrics = format == METRICS_OPENMETRICS, .out = out };

    write_state(&writer);
    control_value_each(input->stats, add_member, &writer);
    write_counters(&writer);
    if (writer.openmetrics)
        text_puts(out, "# EOF\n");
    for (size_t i = 0; i < writer.count; i++)
        free(writer.samples[i].name);
    free(writer.samples);
}
