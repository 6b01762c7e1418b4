/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Queries systemd for the job of the unit, to tell a restart from a stop.
 */
#ifndef SLUICE_SUPERVISOR_SYSTEMD_JOB_H
#define SLUICE_SUPERVISOR_SYSTEMD_JOB_H

#include <stdint.h>

#include "sluice/daemon.h"

enum { SYSTEMD_JOB_TYPE_SIZE = 32 };
struct systemd_job {
    char type[SYSTEMD_JOB_TYPE_SIZE]; /* "restart", "stop", ...; "": the unit has no job */
    uint32_t descriptors;             /* number of descriptors in the unit's file descriptor store */
};

/* Finds the job of the unit that this process belongs to. Blocks for a few seconds at most. Returns 0, or -errno with a
 * line in `error`. */
int systemd_job_find(struct systemd_job *out, char error[ENGINE_ERROR_SIZE]);

#endif
