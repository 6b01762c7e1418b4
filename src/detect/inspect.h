/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_DETECT_INSPECT_H
#define SLUICE_DETECT_INSPECT_H

#include "sluice/keyword.h"

/* Initial value of inspection.steps_left for each buffer: Suricata stops at the 3000th step. */
enum { INSPECT_STEPS = 2999 };

/*
 * Whether all conditions of the list hold in the buffer; an empty list does. The caller fills `in`; `at` is set here,
 * and `values` are kept from the rule's earlier buffers. steps_left is decremented for each evaluated condition.
 */
bool inspect_buffer(struct inspection *in, const struct condition *first);

#endif
