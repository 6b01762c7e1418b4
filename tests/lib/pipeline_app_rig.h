/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline of pipeline_rig.h with all application protocols, and YAML settings (none by default). */
#ifndef SLUICE_TESTS_PIPELINE_APP_RIG_H
#define SLUICE_TESTS_PIPELINE_APP_RIG_H

#include "pipeline_rig.h"

#include "sluice/daemon.h"

extern struct config *rig_config;

/* Replaces all earlier settings. */
void rig_configure_applications(const char *yaml);

void rig_setup_applications(void);
void rig_close_applications(void);

#endif
