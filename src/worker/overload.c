/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Overload of a worker: packets arrive faster than they are inspected. Without this module the kernel would drop
 * whichever packet finds the queue full. Instead, the configured classes of flows lose inspection, in the configured
 * order.
 *
 * Overload begins as soon as the queue or the buffer of its socket is filled to the configured level, because a queue
 * fills within milliseconds. It also begins when packets have been older than the configured age for OLD_NS without a
 * pause; a single scheduling delay also produces old packets, but only for a moment. First one class is shed, and one
 * more each WIDEN_NS while level or age stay too high. Overload ends when both have been below half of their limits for
 * QUIET_NS; during that time no further flows are shed. Flows that were shed stay bypassed.
 *
 * Threads: the worker. The caller passes the time, so that tests can set it.
 */
#include "sluice/overload.h"

#include <string.h>

#include "sluice/config.h"

enum {
    OLD_NS = 20 * 1000 * 1000,
    WIDEN_NS = 50 * 1000 * 1000,
    QUIET_NS = 1000 * 1000 * 1000,
};

static const char *const class_names[SHED_CLASSES] = {
    [SHED_ENCRYPTED] = "encrypted",     [SHED_BULK] = "bulk", [SHED_FILES] = "files",
    [SHED_ESTABLISHED] = "established", [SHED_NEW] = "new",
};

const char *shed_class_name(enum shed_class class)
{
    return class_names[class];
}

void overload_options_read(const struct config *config, struct overload_options *out)
{
    unsigned seen = 0;

    *out = (struct overload_options){ .class_count = 0 };
    config_fill(config, overload_settings, NULL, out);
    for (const char *const *name = out->shed; *name; name++) {
        for (enum shed_class class = 0; class < SHED_CLASSES; class ++) {
            if (strcmp(*name, class_names[class]) != 0 || seen >> class & 1)
                continue;
            seen |= 1u << class;
            out->classes[out->class_count++] = (uint8_t) class;
        }
    }
}

/* --- State ---------------------------------------------------------------------------------------- */

/* Returns how long `so` has been true without a pause, in nanoseconds; 0: it is false. *since_ns stores when it became
 * true. */
static uint64_t lasted(bool so, uint64_t *since_ns, uint64_t now_ns)
{
    if (!so) {
        *since_ns = 0;
        return 0;
    }
    if (*since_ns == 0)
        *since_ns = now_ns;
    return now_ns - *since_ns;
}

static enum overload_change enter(struct overload *overload, uint64_t now_ns)
{
    overload->active = true;
    overload->class_count = overload->options.class_count > 0;
    overload->entered_ns = overload->widened_ns = now_ns;
    overload->quiet_since_ns = 0;
    overload->times++;
    return OVERLOAD_ENTERED;
}

static enum overload_change leave(struct overload *overload, uint64_t now_ns)
{
    overload->active = false;
    overload->class_count = 0;
    overload->old_since_ns = 0;
    overload->total_ns += now_ns - overload->entered_ns;
    return OVERLOAD_LEFT;
}

static enum overload_change widen(struct overload *overload, uint64_t now_ns)
{
    if (overload->class_count == overload->options.class_count || now_ns - overload->widened_ns < WIDEN_NS)
        return OVERLOAD_SAME;
    overload->class_count++;
    overload->widened_ns = now_ns;
    return OVERLOAD_WIDENED;
}

enum overload_change overload_update(struct overload *overload, unsigned fill_permille, uint64_t age_ns,
                                     uint64_t now_ns)
{
    const struct overload_options *options = &overload->options;
    bool full = fill_permille >= options->fill_permille;
    bool old = lasted(age_ns >= options->age_ns, &overload->old_since_ns, now_ns) >= OLD_NS;
    bool quiet = fill_permille < options->fill_permille / 2 && age_ns < options->age_ns / 2;

    if (!options->enabled)
        return overload->active ? leave(overload, now_ns) : OVERLOAD_SAME;
    if (!overload->active)
        return full || old ? enter(overload, now_ns) : OVERLOAD_SAME;
    if (lasted(quiet, &overload->quiet_since_ns, now_ns) >= QUIET_NS)
        return leave(overload, now_ns);
    return full || old ? widen(overload, now_ns) : OVERLOAD_SAME;
}

void overload_set_options(struct overload *overload, const struct overload_options *options)
{
    overload->options = *options;
    if (overload->class_count > options->class_count)
        overload->class_count = options->class_count;
}

unsigned overload_shedding(const struct overload *overload)
{
    unsigned bits = 0;

    for (unsigned i = 0; i < overload->class_count && overload->quiet_since_ns == 0; i++)
        bits |= 1u << overload->options.classes[i];
    return bits;
}
