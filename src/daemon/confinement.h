/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sandbox of the engine: applies the settings security.sandbox and run-as. */
#ifndef SLUICE_CONFINEMENT_H
#define SLUICE_CONFINEMENT_H

#include "sluice/daemon.h"
#include "sluice/sandbox.h"

struct confinement {
    bool wanted; /* security.sandbox is on, or run-as is set */
    struct sandbox_user user;
    struct sandbox *sandbox; /* NULL until confinement_start() */
};
/* Before anything is opened: creates missing folders of logs, data and the pattern cache for the configured user, and
 * switches to that user. Warns about folders that it cannot create. 0 or -errno with `error`. */
int confinement_switch_user(struct confinement *out, const struct run_options *options, char error[ENGINE_ERROR_SIZE]);
/* After all files are open and before the first thread: drops capabilities, applies Landlock and seccomp, and logs it.
 * Files that `newer` names stay readable as well; NULL: only those of the options. 0 or -errno with `error`. */
int confinement_start(struct confinement *confinement, const struct run_options *options, const struct config *newer,
                      char error[ENGINE_ERROR_SIZE]);
/* Returns a file of the configuration that the sandbox, but not its permissions, prevents from being read; NULL: none.
 */
const char *confinement_blocks_file(const struct config *config);
void confinement_clear(struct confinement *confinement);
struct text;
/* Writes the member `sandbox`. */
void confinement_json(const struct confinement *confinement, struct text *out);

#endif
