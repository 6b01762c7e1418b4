/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Live view: what top_model.c and top_render.c share. */
#ifndef SLUICE_CLI_TOP_PRIV_H
#define SLUICE_CLI_TOP_PRIV_H

#include "sluice/arena.h"
#include "top.h"

enum { TOP_HISTORY = 120 };

struct top_model {
    struct arena *arena;              /* texts of the rows */
    struct control_reply now, before; /* the last two answers; `whole` NULL: none */
    double seconds;                   /* time between them; 0: rates are not known */
    struct top_table tables[TOP_PANELS];
    double history[TOP_HISTORY]; /* packets per second of the last updates, the newest last */
    unsigned history_count;
    char error[CONTROL_ERROR_SIZE];
    char clock[16]; /* local time of the last answer */
};

/* Returns the number at a path such as "stats.ips.accepted"; 0 if it is missing. */
int64_t top_value(const struct control_value *value, const char *path);
/* Returns the increase per second of the number at a path between two values; 0 if it is not known. */
double top_rate(const struct top_model *model, const struct control_value *now, const struct control_value *before,
                const char *path);
/* Return the increase per second between the last two answers: of the number at a path, and of the member `name`,
 * summed over all queues. */
double top_total_rate(const struct top_model *model, const char *path);
double top_queues_rate(const struct top_model *model, const char *name);

#endif
