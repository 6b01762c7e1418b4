/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * EVE's stats event. Counters come as a list of paths in any order; sorted, those of one object stand together, and
 * objects are opened and closed along the way.
 */
#include <stdlib.h>
#include <string.h>

#include "output_priv.h"

enum { MAX_DEPTH = 16 };

/* The objects that are open, as spans of the name that opened them. */
struct nesting {
    struct span part[MAX_DEPTH];
    size_t depth;
};

static bool same_span(struct span a, struct span b)
{
    return a.length == b.length && memcmp(a.at, b.at, a.length) == 0;
}

/* "engines[0]" is the first and only element of an array. */
static bool is_element(struct span part)
{
    return part.length > 3 && memcmp(part.at + part.length - 3, "[0]", 3) == 0;
}

static void open_part(struct text *out, struct span part)
{
    char key[128];
    size_t length = part.length < sizeof(key) - 1 ? part.length : sizeof(key) - 1;

    memcpy(key, part.at, length);
    key[length] = '\0';
    if (is_element(part)) {
        key[length - 3] = '\0';
        json_array_open(out, key);
        json_object_open(out, NULL);
    } else {
        json_object_open(out, key);
    }
}

static void close_part(struct text *out, struct span part)
{
    json_object_close(out);
    if (is_element(part))
        json_array_close(out);
}

/* Closes and opens what lies between the last name and this one; returns the name's last part. */
static const char *enter(struct nesting *nesting, struct text *out, const char *name)
{
    size_t depth = 0;
    const char *dot;

    for (; (dot = strchr(name, '.')) && depth < MAX_DEPTH; name = dot + 1, depth++) {
        struct span part = { .at = name, .length = (size_t)(dot - name) };

        if (depth < nesting->depth && same_span(part, nesting->part[depth]))
            continue;
        for (; nesting->depth > depth; nesting->depth--)
            close_part(out, nesting->part[nesting->depth - 1]);
        open_part(out, part);
        nesting->part[nesting->depth++] = part;
    }
    for (; nesting->depth > depth; nesting->depth--)
        close_part(out, nesting->part[nesting->depth - 1]);
    return name;
}

struct sorted_stat {
    const struct output_stat *stat;
    size_t index; /* in the record */
};

/* A dot sorts before all letters: "a.b" and "a.c" have no "a-b.c" between them. */
static int compare_names(const void *left, const void *right)
{
    const char *a = ((const struct sorted_stat *)left)->stat->name;
    const char *b = ((const struct sorted_stat *)right)->stat->name;

    while (*a && *a == *b) {
        a++;
        b++;
    }
    unsigned char x = *a == '.' ? 1 : (unsigned char)*a;
    unsigned char y = *b == '.' ? 1 : (unsigned char)*b;

    return (x > y) - (x < y);
}

/* NULL when out of memory. */
static struct sorted_stat *sorted(const struct output_stat *stats, size_t count)
{
    struct sorted_stat *order = calloc(count + 1, sizeof(*order));

    if (!order)
        return NULL;
    for (size_t i = 0; i < count; i++)
        order[i] = (struct sorted_stat){ .stat = &stats[i], .index = i };
    qsort(order, count, sizeof(*order), compare_names);
    return order;
}

static uint64_t previous_value(const struct eve *eve, size_t index, const char *name)
{
    bool known = index < eve->previous_count && strcmp(eve->previous[index].name, name) == 0;

    return known ? eve->previous[index].value : 0;
}

static void remember(struct eve *eve, const struct stats_record *record)
{
    struct output_stat *copy = realloc(eve->previous, (record->count + 1) * sizeof(*copy));

    if (!copy)
        return;
    memcpy(copy, record_stats(record), record->count * sizeof(*copy));
    eve->previous = copy;
    eve->previous_count = record->count;
}

static bool is_wanted(const struct eve_options *options, const struct output_stat *stat)
{
    bool of_thread = strncmp(stat->name, "threads.", 8) == 0;

    if (of_thread ? !options->stats.threads : !options->stats.totals)
        return false;
    return stat->value != 0 || options->stats.null_values;
}

static void counter(struct eve *eve, struct text *out, const char *key, const struct sorted_stat *entry)
{
    const struct output_stat *stat = entry->stat;
    char delta[128];

    json_uint(out, key, stat->value);
    if (!eve->options->eve.stats.deltas)
        return;
    snprintf(delta, sizeof(delta), "%s_delta", key);
    json_int(out, delta, (int64_t)(stat->value - previous_value(eve, entry->index, stat->name)));
}

void eve_stats(struct eve *eve, struct text *out, const struct stats_record *record)
{
    struct sorted_stat *order = sorted(record_stats(record), record->count);
    struct nesting nesting = { 0 };

    json_object_open(out, NULL);
    eve_timestamp(out, "timestamp", record->time_ns);
    json_string(out, "event_type", "stats");
    json_object_open(out, "stats");
    json_uint(out, "uptime", record->uptime_seconds);
    if (!order)
        out->failed = true;
    for (size_t i = 0; order && i < record->count; i++)
        if (is_wanted(&eve->options->eve, order[i].stat))
            counter(eve, out, enter(&nesting, out, order[i].stat->name), &order[i]);
    for (; nesting.depth > 0; nesting.depth--)
        close_part(out, nesting.part[nesting.depth - 1]);
    json_object_close(out);
    eve_end(eve, out);
    free(order);
    if (eve->options->eve.stats.deltas)
        remember(eve, record);
}

void output_stats_json(const struct output_stat *stats, size_t count, uint64_t uptime_seconds, struct text *out)
{
    struct sorted_stat *order = sorted(stats, count);
    struct nesting nesting = { 0 };

    json_object_open(out, NULL);
    json_uint(out, "uptime", uptime_seconds);
    if (!order)
        out->failed = true;
    for (size_t i = 0; order && i < count; i++)
        json_uint(out, enter(&nesting, out, order[i].stat->name), order[i].stat->value);
    for (; nesting.depth > 0; nesting.depth--)
        close_part(out, nesting.part[nesting.depth - 1]);
    json_object_close(out);
    free(order);
}
