/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hand-over to the next supervisor, when systemd restarts the service: the state files of the engine are stored with
 * systemd under their names.
 */
#ifndef SLUICE_SUPERVISOR_RESTART_HANDOVER_H
#define SLUICE_SUPERVISOR_RESTART_HANDOVER_H

#include <stdbool.h>

#include "systemd_job.h"

struct supervisor;

/* Called at SIGTERM: queries systemd, and starts the hand-over to the next supervisor if the stop is part of a restart.
 * Returns false if the stop is not part of a restart, if a hand-over is not possible, or if systemd does not answer. */
bool restart_handover_query(struct supervisor *supervisor);
/* Starts the hand-over if the job is a restart. Returns false if it is not, or if a hand-over is not possible. */
bool restart_handover_start(struct supervisor *supervisor, const struct systemd_job *job);
/* Stores the complete state files of the engine with systemd. */
void restart_handover_store_files(struct supervisor *supervisor);
/* Names under which systemd stores the state files. stored_file_parse() returns -1 for other names. */
enum { STORED_FILE_NAME_SIZE = 32 };
void stored_file_name(int what, char out[STORED_FILE_NAME_SIZE]);
int stored_file_parse(const char *name);
/* Removes the state files from systemd. */
void restart_handover_remove_files(const struct supervisor *supervisor);

#endif
