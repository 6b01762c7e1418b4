/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sandbox of the engine: applies the settings security.sandbox and run-as. */
#ifndef SLUICE_CONFINEMENT_H
#define SLUICE_CONFINEMENT_H

#include "sluice/daemon.h"
#include "sluice/sandbox.h"

struct confinement {
    bool wanted; /* true: the engine changes its user or is sandboxed (security.sandbox is not no, or run-as is set) */
    struct sandbox_user user;
    struct sandbox *sandbox; /* NULL until confinement_start() */
};
/* Called before anything is opened: creates missing folders of logs, data and the pattern cache for the configured
 * user, and switches to that user. Warns about folders that it cannot create. Returns 0, or -errno with a line in
 * `error`. */
int confinement_switch_user(struct confinement *out, const struct run_options *options, char error[ENGINE_ERROR_SIZE]);
/* Called after all files are open and before the first thread starts: drops capabilities, applies Landlock and seccomp,
 * and logs the result. The files that `options` and the configuration `newer` name stay readable; `newer` may be
 * NULL. Returns 0, or -errno with a line in `error`. */
int confinement_start(struct confinement *confinement, const struct run_options *options, const struct config *newer,
                      char error[ENGINE_ERROR_SIZE]);
/* Returns the path of a file that the configuration names and that the engine could read by the file's permissions, but
 * that the sandbox blocks; NULL: there is none. */
const char *confinement_blocks_file(const struct config *config);
void confinement_clear(struct confinement *confinement);
struct text;
/* Writes the member `sandbox` into the open JSON object. */
void confinement_json(const struct confinement *confinement, struct text *out);

#endif
