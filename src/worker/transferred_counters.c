/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Counters that continue after an engine hand-over, so that graphs of them stay monotonic. The previous engine writes
 * its counters by name, because the next engine may have another version; the next engine adds them to its own. After a
 * crash no counters are transferred: they start at 0, as `uptime` does, and engine.restarts shows the reason.
 *
 * The kind of a counter (sluice/counter.h) decides: gauges (memory, live flows) and counters of the kernel or the
 * supervisor, which continue anyway, are not added. For a maximum, the larger one of the two values is used.
 *
 * Threads:   the main thread.
 * Ownership: struct pipeline_shared; names are copies.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sluice/counter.h"
#include "sluice/output.h"
#include "sluice/transfer.h"
#include "sluice/worker.h"

enum { CARRIED_MAX = 1 << 16, CARRIED_SIZE = 10 /* minimum number of bytes of a counter in the file */ };

struct transferred_counters {
    struct output_stat *values; /* sorted by name if `sorted` */
    size_t count, room;
    bool sorted;
};

/* Returns the kind of the counter. A counter that counter_find() does not know counts as COUNTER_TOTAL. */
static enum counter_kind kind_of(const char *name)
{
    const struct counter *counter = counter_find(name);

    return counter ? counter->kind : COUNTER_TOTAL;
}

struct transferred_counters *transferred_counters_new(void)
{
    return calloc(1, sizeof(struct transferred_counters));
}

static void forget(struct transferred_counters *carried)
{
    for (size_t i = 0; i < carried->count; i++)
        free((char *)carried->values[i].name);
    carried->count = 0;
}

void transferred_counters_free(struct transferred_counters *carried)
{
    if (!carried)
        return;
    forget(carried);
    free(carried->values);
    free(carried);
}

static int put_counter(struct transferred_counters *carried, const char *name, size_t length, uint64_t value)
{
    char *copy;

    if (carried->count == carried->room) {
        size_t room = carried->room > 0 ? carried->room * 2 : 256;
        struct output_stat *more = realloc(carried->values, room * sizeof(*more));

        if (!more)
            return -ENOMEM;
        carried->values = more;
        carried->room = room;
    }
    copy = strndup(name, length);
    if (!copy)
        return -ENOMEM;
    carried->values[carried->count++] = (struct output_stat){ copy, value };
    carried->sorted = false;
    return 0;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct output_stat *)a)->name, ((const struct output_stat *)b)->name);
}

static const struct output_stat *find_counter(struct transferred_counters *carried, const char *name)
{
    const struct output_stat wanted = { name, 0 };

    if (!carried || carried->count == 0)
        return NULL;
    if (!carried->sorted)
        qsort(carried->values, carried->count, sizeof(*carried->values), by_name);
    carried->sorted = true;
    return bsearch(&wanted, carried->values, carried->count, sizeof(*carried->values), by_name);
}

uint64_t transferred_counters_add(struct transferred_counters *carried, const char *name, uint64_t value)
{
    const struct output_stat *found = find_counter(carried, name);

    switch (found ? kind_of(name) : COUNTER_GAUGE) {
    case COUNTER_TOTAL:
        return value + found->value;
    case COUNTER_MAXIMUM:
        return found->value > value ? found->value : value;
    default:
        return value;
    }
}

int transferred_counters_replace(struct transferred_counters *carried, const struct output_stat *values, size_t count)
{
    int err = 0;

    forget(carried);
    for (size_t i = 0; i < count && !err; i++) {
        enum counter_kind kind = kind_of(values[i].name);

        if (values[i].value > 0 && (kind == COUNTER_TOTAL || kind == COUNTER_MAXIMUM))
            err = put_counter(carried, values[i].name, strlen(values[i].name), values[i].value);
    }
    return err;
}

static void read_one(struct transfer *t, struct transferred_counters *carried)
{
    const char *name;
    uint64_t value = 0;
    size_t length = 0;

    name = transfer_lend_text(t, &length);
    transfer_u64(t, &value);
    transfer_require(t, name && length > 0 && !memchr(name, 0, length));
    if (!t->error && put_counter(carried, name, length, value))
        t->error = -ENOMEM;
}

void transferred_counters_transfer(struct transfer *t, struct transferred_counters *carried)
{
    uint32_t count = (uint32_t)carried->count;

    transfer_u32(t, &count);
    transfer_require(t, count <= CARRIED_MAX && transfer_has_room(t, count, CARRIED_SIZE));
    if (t->reading && !t->error)
        forget(carried);
    for (uint32_t i = 0; i < count && !t->error; i++) {
        if (t->reading) {
            read_one(t, carried);
            continue;
        }
        transfer_put_text(t, carried->values[i].name);
        transfer_u64(t, &carried->values[i].value);
    }
}
