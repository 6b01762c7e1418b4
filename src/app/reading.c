/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings: a flow whose bytes may be those of several protocols is parsed as each of them. Which one an endpoint takes them for is not known here, and
 * rules of each protocol must find their messages.
 *
 * Memory: a reading lives as long as its flow; it has READINGS_MAX at most. Only the main reading goes to the next process.
 */
#include "app_priv.h"

struct app_flow *app_reading_find(struct app_flow *main, unsigned id)
{
    struct app_flow *reading = main;

    while (reading && reading->protocol != id)
        reading = reading->next_reading;
    return reading;
}

struct app_flow *app_reading_add(struct feeding *f, unsigned id)
{
    struct app_flow *main = f->af->main, **end = &main->next_reading, *reading;
    struct feeding other = *f;
    unsigned count = 0;

    for (; *end; end = &(*end)->next_reading)
        count++;
    if (count == READINGS_MAX || app_reading_find(main, id))
        return NULL;
    reading = heap_take(f->app->heap, sizeof(*reading));
    if (!reading)
        return NULL;
    reading->flow = main->flow;
    reading->main = main;
    *end = other.af = reading;
    app_start_parser(&other, id);
    app_count(f->app, reading, COUNT_FLOW);
    f->app->other_readings[f->transport == APP_UDP]++;
    return reading;
}

bool app_has_other_readings(const struct app_flow *main)
{
    const struct app_flow *reading = main->next_reading;

    while (reading && reading->stopped)
        reading = reading->next_reading;
    return reading != NULL;
}

uint64_t app_other_protocols(const struct flow *flow)
{
    uint64_t bits = 0;

    for (const struct app_flow *reading = flow->app ? flow->app->next_reading : NULL; reading;
         reading = reading->next_reading)
        bits |= UINT64_C(1) << reading->protocol;
    return bits;
}

void app_swap_directions(struct feeding *f)
{
    flow_swap(f->af->flow, NULL);
    for (struct app_flow *reading = f->af->main; reading; reading = reading->next_reading) {
        struct app_side side = reading->side[FLOW_TO_SERVER];

        reading->side[FLOW_TO_SERVER] = reading->side[FLOW_TO_CLIENT];
        reading->side[FLOW_TO_CLIENT] = side;
    }
    f->verdict->reversed = true;
}
