/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A detector with rules given as text, for tests that build packets. */
#ifndef DETECT_RIG_H
#define DETECT_RIG_H

#include "sluice/app.h"
#include "sluice/detect.h"
#include "sluice/packet.h"
#include "sluice/rule.h"

extern struct ruleset *detect_rig_ruleset;
extern struct detector *detect_rig_detector;

void detect_rig_load(const char *text);
void detect_rig_unload(void);

#endif
