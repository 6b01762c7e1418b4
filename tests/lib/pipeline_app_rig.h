/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The pipeline of pipeline_rig.h with all application protocols, as configured by a text, by default with nothing. */
#ifndef SLUICE_TESTS_PIPELINE_APP_RIG_H
#define SLUICE_TESTS_PIPELINE_APP_RIG_H

#include "pipeline_rig.h"

#include "sluice/daemon.h"

extern struct config *rig_config;

/* Again: the options of before are forgotten. */
void rig_configure_applications(const char *yaml);

void rig_setup_applications(void);
void rig_close_applications(void);

#endif
