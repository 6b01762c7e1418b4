/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline of pipeline_app_rig.h is written, cleared, and another one takes its place that has read it: as between
 * two processes. */
#ifndef SLUICE_TESTS_HANDOVER_RIG_H
#define SLUICE_TESTS_HANDOVER_RIG_H

#include <sys/mman.h>
#include <unistd.h>

#include "pipeline_app_rig.h"
#include "sluice/handover.h"

static const struct handover_place rig_place = { 0, 1 };

int rig_memory_file(void);

/* Without the flows: they are not told of. */
void rig_discard_pipeline(void);

void rig_new_pipeline(const char *rules, const char *yaml);
struct handover_counts rig_write_state(int fd, int shared);
struct handover_counts rig_hand_over_to(const char *rules, const char *yaml);
struct handover_counts rig_hand_over(const char *rules);

#endif
