/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sluice/clock.h"

#include <time.h>

static uint64_t read_clock(clockid_t id)
{
    struct timespec now;

    clock_gettime(id, &now);
    return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_realtime_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

uint64_t clock_monotonic_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}
