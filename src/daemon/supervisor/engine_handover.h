/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Hand-over from a running engine to a new one, and the state files that go from one to the other. The files come from
 * an engine and are treated as hostile.
 */
#ifndef SLUICE_SUPERVISOR_ENGINE_HANDOVER_H
#define SLUICE_SUPERVISOR_ENGINE_HANDOVER_H

#include <stdbool.h>

#include "sluice/capture.h"

struct supervisor;

/* Files with the state of an engine, for the next engine. */
enum { HANDOVER_FILES_MAX = CAPTURE_MAX_QUEUES + 1 };
struct handover_file {
    int what; /* value of its CHANNEL_FILE message */
    int fd;
};

/* Starts a new engine beside the running one, which it will replace. */
void engine_handover_start(struct supervisor *supervisor);
/* Adds a state file of the running engine. Closes the file if it is not a sealed memory file, or if `what` is neither a
 * worker nor CHANNEL_SHARED_FILE, or has a file already. */
void engine_handover_add_file(struct supervisor *supervisor, int what, int fd);
void engine_handover_files_complete(struct supervisor *supervisor);
/* Requests the state files of the engine, for the next supervisor. */
void engine_handover_to_next_supervisor(struct supervisor *supervisor);
/* Sends the state files that the previous supervisor stored to the engine. */
void engine_handover_send_stored(struct supervisor *supervisor);
/* After the death of `engine`: discards its state files and lets the next engine replace it, at once or when the
 * next engine requests the queues. Returns false if there is no next engine. */
bool engine_handover_replace_dead(struct supervisor *supervisor);
void engine_handover_poll(struct supervisor *supervisor);
void engine_handover_cancel(struct supervisor *supervisor); /* kills the next engine */

#endif
