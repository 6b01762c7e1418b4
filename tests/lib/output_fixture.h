/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An output that writes to a folder of its own, and the lines that it has written. */
#ifndef OUTPUT_FIXTURE_H
#define OUTPUT_FIXTURE_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "event_samples.h"
#include "output/output_priv.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { MAX_EVENTS = 60000 };

struct fixture {
    char folder[32], path[64], old_path[80];
    struct output_options options;
    struct output *output;
    struct sample sample;
    struct rule_names *names;
    struct flow_table *flows;
    char *events[MAX_EVENTS];
    size_t count;
};

static struct fixture *f;

static inline void forget_flow(struct flow *flow, enum flow_end reason, void *user)
{
    (void)flow;
    (void)reason;
    (void)user;
}

static inline void setup(void)
{
    struct flow_options flows;

    f = calloc(1, sizeof(*f));
    strcpy(f->folder, "/tmp/sluice.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(f->folder));
    snprintf(f->path, sizeof(f->path), "%s/eve.json", f->folder);
    snprintf(f->old_path, sizeof(f->old_path), "%s.1", f->path);
    flow_options_default(&flows);
    flows.memcap = 1 << 20;
    ck_assert_int_eq(flow_table_new(&f->flows, &flows, forget_flow, NULL), 0);
    f->names = rule_names_new();
    output_options_default(&f->options);
    f->options.names = f->names;
    f->options.eve_path = f->path;
    f->options.eve.anomaly.decode = true;
    setenv("TZ", "UTC", 1);
}

static inline void teardown(void)
{
    output_close(f->output);
    flow_table_free(f->flows);
    rule_names_free(f->names);
    for (size_t i = 0; i < f->count; i++)
        free(f->events[i]);
    unlink(f->path);
    unlink(f->old_path);
    rmdir(f->folder);
    free(f);
}

static inline void open_output(unsigned ports)
{
    char error[256] = "";

    ck_assert_msg(output_open(&f->output, &f->options, ports, error) == 0, "%s", error);
}

/* Ends the output and reads what it has written: whole lines, each an object. */
static inline void finish(const char *path)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    output_stop(f->output);

    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    while ((length = getline(&line, &size, file)) > 0) {
        ck_assert_uint_lt(f->count, MAX_EVENTS);
        ck_assert_msg(line[0] == '{' && length > 2 && strcmp(line + length - 2, "}\n") == 0, "no whole line: %s", line);
        f->events[f->count] = strdup(line);
        f->count++;
    }
    free(line);
    fclose(file);
}

static inline void put(unsigned port)
{
    output_packet(output_port(f->output, port), &f->sample.packet, &f->sample.decision, 7);
}

static inline struct output_counters counters(void)
{
    struct output_counters counters;

    output_counters(f->output, &counters);
    return counters;
}

/* The event has (or has not) this piece of text. */
static inline void expect(const char *event, bool present, const char *piece)
{
    ck_assert_msg((strstr(event, piece) != NULL) == present, "%s should %shave %s", event, present ? "" : "not ",
                  piece);
}

/* The number after "key": */
static inline uint64_t number_at(const char *event, const char *key)
{
    char name[64];

    snprintf(name, sizeof(name), "\"%s\":", key);

    const char *at = strstr(event, name);

    ck_assert_msg(at != NULL, "%s in %s", key, event);
    return strtoull(at + strlen(name), NULL, 10);
}

#endif
