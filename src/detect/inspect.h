/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef SLUICE_DETECT_INSPECT_H
#define SLUICE_DETECT_INSPECT_H

#include "sluice/keyword.h"

/* Initial value of inspection.steps_left for each buffer: Suricata stops at the 3000th step. */
enum { INSPECT_STEPS = 2999 };

/*
 * Returns true if all conditions of the list hold in the buffer, or the list is empty. The caller sets the members of
 * `in` except `at`. in->values contains the values that the rule's earlier buffers set. Each evaluated condition
 * decrements in->steps_left.
 */
bool inspect_buffer(struct inspection *in, const struct condition *first);

/* Returns whether the last inspect_buffer() searched the whole buffer for the condition's content and did not find it.
 * Returns false for other conditions, for a negated or relative content, for one that was searched only in a part of
 * the buffer or not at all, and if the buffer is shorter than the content. */
bool inspect_is_absent(const struct inspection *in, const struct condition *condition);

#endif
