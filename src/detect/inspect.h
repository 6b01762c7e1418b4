/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_DETECT_INSPECT_H
#define SLUICE_DETECT_INSPECT_H

#include "sluice/keyword.h"

/* For inspection.steps_left, set before each buffer: Suricata gives up at the 3000th. */
enum { INSPECT_STEPS = 2999 };

/*
 * Whether all conditions of the list hold in the buffer; an empty list does. The caller filled `in`; `at` is set here,
 * and `values` are kept from the rule's earlier buffers. steps_left counts down by one for each condition that is
 * looked at.
 */
bool inspect_buffer(struct inspection *in, const struct condition *first);

#endif
