/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See output_rig.h. */
#include "default_options.h"
#include "output_rig.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct output_rig *output_rig;

static void forget_flow(struct flow *flow, enum flow_end reason, void *user)
{
    (void)flow;
    (void)reason;
    (void)user;
}

void output_rig_setup(void)
{
    struct flow_options flows;

    output_rig = calloc(1, sizeof(*output_rig));
    strcpy(output_rig->folder, "/tmp/sluice.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(output_rig->folder));
    snprintf(output_rig->path, sizeof(output_rig->path), "%s/eve.json", output_rig->folder);
    snprintf(output_rig->old_path, sizeof(output_rig->old_path), "%s.1", output_rig->path);
    flow_options_default(&flows);
    flows.memcap = 1 << 20;
    ck_assert_int_eq(flow_table_new(&output_rig->flows, &flows, forget_flow, NULL), 0);
    output_rig->names = rule_names_new();
    output_options_default(&output_rig->options);
    output_rig->options.names = output_rig->names;
    output_rig->options.eve_path = output_rig->path;
    output_rig->options.eve.anomaly.decode = true;
    setenv("TZ", "UTC", 1);
}

void output_rig_teardown(void)
{
    output_close(output_rig->output);
    flow_table_free(output_rig->flows);
    rule_names_free(output_rig->names);
    for (size_t i = 0; i < output_rig->count; i++)
        free(output_rig->events[i]);
    unlink(output_rig->path);
    unlink(output_rig->old_path);
    rmdir(output_rig->folder);
    free(output_rig);
}

void output_rig_open(unsigned ports)
{
    char error[256] = "";

    ck_assert_msg(output_open(&output_rig->output, &output_rig->options, ports, error) == 0, "%s", error);
}

void output_rig_finish(const char *path)
{
    char *line = NULL;
    size_t size = 0;
    ssize_t length;

    output_stop(output_rig->output);

    FILE *file = fopen(path, "r");

    ck_assert_ptr_nonnull(file);
    while ((length = getline(&line, &size, file)) > 0) {
        ck_assert_uint_lt(output_rig->count, MAX_EVENTS);
        ck_assert_msg(line[0] == '{' && length > 2 && strcmp(line + length - 2, "}\n") == 0, "no whole line: %s", line);
        output_rig->events[output_rig->count] = strdup(line);
        output_rig->count++;
    }
    free(line);
    fclose(file);
}

void output_rig_put(unsigned port)
{
    output_packet(output_port(output_rig->output, port), &output_rig->sample.packet, &output_rig->sample.decision, 7);
}

struct output_counters output_rig_counters(void)
{
    struct output_counters counters;

    output_counters(output_rig->output, &counters);
    return counters;
}

void output_rig_expect(const char *event, bool present, const char *piece)
{
    ck_assert_msg((strstr(event, piece) != NULL) == present, "%s should %shave %s", event, present ? "" : "not ",
                  piece);
}

uint64_t output_rig_number(const char *event, const char *key)
{
    char name[64];

    snprintf(name, sizeof(name), "\"%s\":", key);

    const char *at = strstr(event, name);

    ck_assert_msg(at != NULL, "%s in %s", key, event);
    return strtoull(at + strlen(name), NULL, 10);
}
