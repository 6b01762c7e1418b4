/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces the pipeline of pipeline_app_rig.h by a new one that restores its transferred state, as an engine hand-over
 * does. */
#ifndef SLUICE_TESTS_HANDOVER_RIG_H
#define SLUICE_TESTS_HANDOVER_RIG_H

#include <sys/mman.h>
#include <unistd.h>

#include "pipeline_app_rig.h"
#include "sluice/handover.h"

static const struct handover_place rig_place = { 0, 1 };

int rig_memory_file(void);

/* Clears the pipeline. Its flows do not end: they are not reported. */
void rig_discard_pipeline(void);

void rig_new_pipeline(const char *rules, const char *yaml);
struct handover_counts rig_write_state(int fd, int shared);
struct handover_counts rig_hand_over_to(const char *rules, const char *yaml);
struct handover_counts rig_hand_over(const char *rules);

#endif
