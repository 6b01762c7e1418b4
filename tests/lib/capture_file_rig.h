/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture file in a temporary folder, for tests that read captures. */
#ifndef CAPTURE_FILE_RIG_H
#define CAPTURE_FILE_RIG_H

#include <stddef.h>

#include "sluice/capture.h"

extern char capture_rig_directory[256];
extern char capture_rig_path[300]; /* of the file */

void capture_rig_setup(void);
void capture_rig_teardown(void); /* removes file and folder */
void capture_rig_write(const void *bytes, size_t length);
struct capture *capture_rig_open(void); /* opens the file; the caller closes the capture */

#endif
