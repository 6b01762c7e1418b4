/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An output that writes to a temporary folder, and the events that it has written. */
#ifndef OUTPUT_RIG_H
#define OUTPUT_RIG_H

#include "event_samples.h"
#include "sluice/output.h"

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

enum { MAX_EVENTS = 60000 };

struct output_rig {
    char folder[32], path[64], old_path[80];
    struct output_options options;
    struct output *output;
    struct sample sample;
    struct rule_names *names;
    struct flow_table *flows;
    char *events[MAX_EVENTS];
    size_t count;
};

extern struct output_rig *output_rig;

void output_rig_setup(void);
void output_rig_teardown(void);
void output_rig_open(unsigned ports);

/* Closes the output and reads its events; each line must be a JSON object. */
void output_rig_finish(const char *path);

void output_rig_put(unsigned port);
struct output_counters output_rig_counters(void);

/* Checks that the event contains the text `piece`, or does not contain it if `present` is false. */
void output_rig_expect(const char *event, bool present, const char *piece);

/* Returns the number after "key": in the event. */
uint64_t output_rig_number(const char *event, const char *key);

#endif
