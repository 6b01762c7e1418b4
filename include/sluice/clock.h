/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time in nanoseconds. Tests and replay pass their own times instead. */
#ifndef SLUICE_CLOCK_H
#define SLUICE_CLOCK_H

#include <stdint.h>

#define NS_PER_SECOND UINT64_C(1000000000)

uint64_t clock_realtime_ns(void);  /* since 1970 */
uint64_t clock_monotonic_ns(void); /* CLOCK_MONOTONIC, for intervals */

#endif
