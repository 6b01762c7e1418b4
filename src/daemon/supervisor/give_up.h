/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether traffic passes or is dropped when engines keep dying: the settings engine.*-policy.
 */
#ifndef SLUICE_SUPERVISOR_GIVE_UP_H
#define SLUICE_SUPERVISOR_GIVE_UP_H

#include <stdbool.h>

struct supervisor;

/* Applies the failure policies for the causes of the deaths; called when no further engine is started. Returns true if
 * traffic passes. */
bool give_up_apply_policy(struct supervisor *supervisor);
/* Called when the first engine could not start: drops traffic if engine.start-policy is closed. Does nothing for the
 * other policies, or if another process has bound one of the queues. */
void give_up_at_start(struct supervisor *supervisor);
/* Returns whether the policies for all these causes (bits of enum engine_failure) are open. */
bool give_up_opens(const struct supervisor *supervisor, unsigned causes);

#endif
